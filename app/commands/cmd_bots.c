// fairlead bots: many players in one process, each with its own session and socket.
#include "app/commands/commands.h"
#include "app/play/play_options.h"

static const char summary[] =
    "Joins a game with bots: real sessions on sockets of their own, in one process and one\n"
    "thread. The argument is as for `fairlead join`. Headless; Ctrl-C ends it. What every node\n"
    "must always find true is checked all the time: see the summary of --json.";

int play_bots_again(PlayTape *tape, int argc, char **argv)
{
    PlayChoices choices = play_choices_default();
    choices.frames = 30;
    choices.direct = 64; // as many as the arena has places; only those it meets take memory
    PlayOptions table = {.count = 0};
    play_options_join(&table, &choices);
    play_options_add(&table, (Option){.name = "count",
                                      .value = "N",
                                      .integer = &choices.count,
                                      .min = 1,
                                      .max = PLAY_COUNT_MAX,
                                      .help = "so many (1)"});
    play_options_add(
        &table,
        (Option){.name = "frames",
                 .value = "HZ",
                 .integer = &choices.frames,
                 .min = 1,
                 .max = 60,
                 .help = "play so often a second, with as many of the 60 ticks as are due (30)"});
    play_options_add(
        &table,
        (Option){.name = "direct",
                 .value = "N",
                 .integer = &choices.direct,
                 .min = 1,
                 .max = PLAY_COUNT_MAX,
                 .help = "in a mesh or hybrid: each talks to at most so many directly (64)"});
    play_options_add(&table, (Option){.name = "topology",
                                      .value = "NAME",
                                      .text = &choices.topology,
                                      .help = "crowd: reserve for that only; else the host says "
                                              "it (any)"});
    play_options_drive(&table, &choices);
    play_options_run(&table, &choices);
    PlayGuests guests = {.who = "fairlead bots",
                         .command = "bots",
                         .summary = summary,
                         .own_count = 1,
                         .headless = true};
    return play_guests_run(&guests, &table, &choices, tape, argc, argv);
}

int cmd_bots(int argc, char **argv)
{
    return play_bots_again(NULL, argc, argv);
}
