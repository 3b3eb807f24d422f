// fairlead watch: a spectator, who sees what a player sees and has no tank.
#include <stddef.h>

#include "app/command.h"
#include "app/options.h"
#include "app/play_run.h"
#include "app/play_setup.h"

static const char who[] = "fairlead watch";

static const char summary[] =
    "Joins a game of tanks without a tank and shows the whole arena. The argument is as for\n"
    "`fairlead join`. q or Ctrl-C ends it.";

typedef struct Choices {
    const char *where;
    double seconds, timeout;
    bool headless, json;
} Choices;

static int parse(Choices *c, int argc, char **argv)
{
    const Option options[] = {
        {.value = "INVITE|ADDRESS", .text = &c->where, .help = "whom to join (127.0.0.1:4600)"},
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
        {.name = "headless", .flag = &c->headless, .help = "a line a second instead of the arena"},
        {.name = "json", .flag = &c->json, .help = "print JSON at the end, and nothing else"},
    };
    const CommandLine line = {who, summary, options, sizeof options / sizeof *options};
    return options_parse(&line, argc, argv);
}

int cmd_watch(int argc, char **argv)
{
    Choices c = {.timeout = 10.0};
    int status = parse(&c, argc, argv);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    PlayGuestDef def = {.who = who,
                        .where = c.where,
                        .direct = PLAY_PLAYERS_MAX,
                        .policy = "base",
                        .timeout_s = c.timeout};
    play_run_prepare();
    PlayNode *node = NULL;
    status = play_guest_open(&def, &node);
    if (status == OPTIONS_GO_ON) {
        PlayRun run = {.who = who,
                       .command = "watch",
                       .nodes = &node,
                       .node_count = 1,
                       .seconds = c.seconds,
                       .headless = c.headless,
                       .json = c.json,
                       .hint = "watching; q ends it"};
        status = play_run(&run);
    }
    play_node_destroy(node);
    return status;
}
