// fairlead watch: a spectator, who sees what a player sees and has nothing of its own.
#include "app/commands/commands.h"
#include "app/play/play_options.h"

static const char summary[] =
    "Joins a game without a tank or car and shows all of it. The argument is as for\n"
    "`fairlead join`. q or Ctrl-C ends it.";

int play_watch_again(PlayTape *tape, int argc, char **argv)
{
    PlayChoices choices = play_choices_default();
    PlayOptions table = {.count = 0};
    play_options_join(&table, &choices);
    play_options_run(&table, &choices);
    PlayGuests guests = {.who = "fairlead watch", .command = "watch", .summary = summary};
    return play_guests_run(&guests, &table, &choices, tape, argc, argv);
}

int cmd_watch(int argc, char **argv)
{
    return play_watch_again(NULL, argc, argv);
}
