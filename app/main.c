// The program `fairlead`: one table of commands.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/commands/commands.h"

static const char summary[] =
    "Accurate, fair and consistent state for real-time multiplayer games.\n"
    "The program of the Fairlead library: measure games, networks and policies.";

static const Command commands[] = {
    {"bench", "time contenders against each other", cmd_bench},
    {"bots", "join a game of tanks, racing or arena with bots", cmd_bots},
    {"demo", "a live match with far-away players, and a page that shows it", cmd_demo},
    {"join", "play tanks, racing or arena in the terminal", cmd_join},
    {"lab", "experiments in virtual time, and the papers' claims", cmd_lab},
    {"page", "show a session of your own game on a page", cmd_page},
    {"replay", "play a recorded session again, exactly", cmd_replay},
    {"serve", "host a game of tanks, racing or arena", cmd_serve},
    {"trace", "recorded games: what they hold, what dead reckoning would cost", cmd_trace},
    {"wan", "a bad network in front of any UDP game", cmd_wan},
    {"watch", "look on at a game of tanks, racing or arena", cmd_watch},
};

/// A full disk shows only when the last bytes go out.
static int flush_output(int status)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return status;
    }
    const char *why = errno != 0 ? strerror(errno) : "write error";
    command_fail(EXIT_FAILED, "fairlead", "cannot write the output: %s", why);
    return status != 0 ? status : EXIT_FAILED;
}

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "--version") == 0) {
        printf("fairlead %s\n", FL_VERSION);
        return flush_output(0);
    }
    return flush_output(command_dispatch("fairlead", summary, commands,
                                         sizeof commands / sizeof *commands, argc, argv));
}
