// fairlead join: a player in the terminal.
#include "app/commands/commands.h"
#include "app/play/play_options.h"

static const char summary[] = "Joins a game and drives with the keys: w a s d or arrows drive and "
                              "turn, space fires (tanks),\n"
                              "q quits. The argument is the invite that `fairlead serve` printed, "
                              "which says what is played,\n"
                              "or HOST[:PORT] of an open host; without one it is this machine's.";

int play_join_again(PlayTape *tape, int argc, char **argv)
{
    PlayChoices choices = play_choices_default();
    PlayOptions table = {.count = 0};
    play_options_join(&table, &choices);
    play_options_drive(&table, &choices);
    play_options_add(
        &table,
        (Option){.name = "bot", .flag = &choices.bot, .help = "let a bot drive, and look on"});
    play_options_run(&table, &choices);
    PlayGuests guests = {.who = "fairlead join",
                         .command = "join",
                         .summary = summary,
                         .own_count = 1,
                         .keys = true};
    return play_guests_run(&guests, &table, &choices, tape, argc, argv);
}

int cmd_join(int argc, char **argv)
{
    return play_join_again(NULL, argc, argv);
}
