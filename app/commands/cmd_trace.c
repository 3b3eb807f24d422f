// fairlead trace: the commands on recorded games.
#include "app/cli/command.h"
#include "app/commands/commands.h"

static const char summary[] =
    "Recorded games: CSV files, gzipped or not, with a header naming at least t, id, x, y, z.\n"
    "docs/guide/traces.md describes them and every figure printed.";

static const Command commands[] = {
    {"info", "what a trace holds", cmd_trace_info},
    {"reckon", "what dead reckoning would cost and look like on it", cmd_trace_reckon},
};

int cmd_trace(int argc, char **argv)
{
    return command_dispatch("fairlead trace", summary, commands, sizeof commands / sizeof *commands,
                            argc, argv);
}
