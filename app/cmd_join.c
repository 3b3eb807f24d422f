// fairlead join: a player in the terminal.
#include <stddef.h>

#include "app/command.h"
#include "app/options.h"
#include "app/play_run.h"
#include "app/play_setup.h"

static const char who[] = "fairlead join";

static const char summary[] =
    "Joins a game of tanks and drives a tank with the keys: w a s d or arrows drive and turn, "
    "space\n"
    "fires, q quits. The argument is the invite that `fairlead serve` printed, or HOST[:PORT] of\n"
    "an open host; without one it is this machine's.";

typedef struct Choices {
    const char *where;
    const char *policy;
    int64_t seed;
    double seconds, timeout;
    bool bot, headless, json;
} Choices;

static int parse(Choices *c, int argc, char **argv)
{
    const Option options[] = {
        {.value = "INVITE|ADDRESS", .text = &c->where, .help = "whom to join (127.0.0.1:4600)"},
        {.name = "policy",
         .value = "NAME",
         .text = &c->policy,
         .help = "who gets our tank's updates when (base)"},
        {.name = "bot", .flag = &c->bot, .help = "let a bot drive, and look on"},
        {.name = "seed",
         .value = "S",
         .integer = &c->seed,
         .max = 9007199254740992.0,
         .help = "of the bot (1)"},
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

int cmd_join(int argc, char **argv)
{
    Choices c = {.policy = "base", .seed = 1, .timeout = 10.0};
    int status = parse(&c, argc, argv);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    PlayGuestDef def = {.who = who,
                        .where = c.where,
                        .tank_count = 1,
                        .keys = !c.bot,
                        .direct = PLAY_PLAYERS_MAX,
                        .frame_hz = 60,
                        .policy = c.policy,
                        .seed = (uint64_t)c.seed,
                        .timeout_s = c.timeout};
    play_run_prepare();
    PlayNode *node = NULL;
    status = play_guest_open(&def, &node);
    if (status == OPTIONS_GO_ON) {
        PlayRun run = {.who = who,
                       .command = "join",
                       .nodes = &node,
                       .node_count = 1,
                       .seconds = c.seconds,
                       .headless = c.headless,
                       .json = c.json,
                       .keys = !c.bot,
                       .hint = "w a s d or arrows: drive and turn; space: fire; q: quit",
                       .seed = (uint64_t)c.seed};
        status = play_run(&run);
    }
    play_node_destroy(node);
    return status;
}
