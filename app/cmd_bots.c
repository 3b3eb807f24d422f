// fairlead bots: many players in one process, each with its own session and socket.
#include <stdlib.h>

#include "app/command.h"
#include "app/options.h"
#include "app/play_run.h"
#include "app/play_setup.h"

static const char who[] = "fairlead bots";

static const char summary[] =
    "Joins a game of tanks with bots: real sessions on sockets of their own, in one process and "
    "one\n"
    "thread. The argument is as for `fairlead join`. Headless; Ctrl-C ends it. What every node\n"
    "must always find true is checked all the time: see the summary of --json.";

typedef struct Choices {
    const char *where;
    const char *policy;
    int64_t count, seed, frames, direct;
    double seconds, timeout;
    bool headless, json;
} Choices;

static int parse(Choices *c, int argc, char **argv)
{
    const Option options[] = {
        {.value = "INVITE|ADDRESS", .text = &c->where, .help = "whom to join (127.0.0.1:4600)"},
        {.name = "count",
         .value = "N",
         .integer = &c->count,
         .min = 1,
         .max = PLAY_PLAYERS_MAX,
         .help = "so many (1)"},
        {.name = "policy",
         .value = "NAME",
         .text = &c->policy,
         .help = "who gets their tanks' updates when (base)"},
        {.name = "frames",
         .value = "HZ",
         .integer = &c->frames,
         .min = 1,
         .max = 60,
         .help = "play so often a second, with as many of the 60 ticks as are due (30)"},
        {.name = "direct",
         .value = "N",
         .integer = &c->direct,
         .min = 1,
         .max = PLAY_PLAYERS_MAX,
         .help = "in a mesh or hybrid: each talks to at most so many directly (16)"},
        {.name = "seed",
         .value = "S",
         .integer = &c->seed,
         .max = 9007199254740992.0,
         .help = "of the bots (1)"},
        {.name = "seconds",
         .value = "T",
         .number = &c->seconds,
         .min = 0.01,
         .max = 1e8,
         .help = "leave after so long (never)"},
        {.name = "timeout",
         .value = "T",
         .number = &c->timeout,
         .min = 1,
         .max = 600,
         .help = "give a silent host up after so long (10)"},
        {.name = "headless", .flag = &c->headless, .help = "as always"},
        {.name = "json", .flag = &c->json, .help = "print JSON at the end, and nothing else"},
    };
    const CommandLine line = {who, summary, options, sizeof options / sizeof *options};
    return options_parse(&line, argc, argv);
}

static int open_all(const Choices *c, PlayNode **nodes)
{
    int status = OPTIONS_GO_ON;
    for (int64_t i = 0; i < c->count && status == OPTIONS_GO_ON; i++) {
        PlayGuestDef def = {.who = who,
                            .where = c->where,
                            .tank_count = 1,
                            .direct = (int32_t)c->direct,
                            .frame_hz = (int32_t)c->frames,
                            .policy = c->policy,
                            .seed = (uint64_t)c->seed,
                            .timeout_s = c->timeout};
        status = play_guest_open(&def, &nodes[i]);
    }
    return status;
}

int cmd_bots(int argc, char **argv)
{
    Choices c = {
        .policy = "base", .count = 1, .seed = 1, .frames = 30, .direct = 16, .timeout = 10.0};
    int status = parse(&c, argc, argv);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    PlayNode *nodes[PLAY_PLAYERS_MAX] = {NULL};
    play_run_prepare();
    status = open_all(&c, nodes);
    if (status == OPTIONS_GO_ON) {
        PlayRun run = {.who = who,
                       .command = "bots",
                       .nodes = nodes,
                       .node_count = (int32_t)c.count,
                       .seconds = c.seconds,
                       .headless = true,
                       .json = c.json,
                       .seed = (uint64_t)c.seed};
        status = play_run(&run);
    }
    for (int64_t i = 0; i < c.count; i++) {
        play_node_destroy(nodes[i]);
    }
    return status;
}
