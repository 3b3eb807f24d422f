// fairlead serve: hosts a game of tanks.
#include <stdio.h>
#include <string.h>

#include "app/command.h"
#include "app/options.h"
#include "app/play_run.h"
#include "app/play_setup.h"

static const char who[] = "fairlead serve";

static const char summary[] =
    "Hosts a game of tanks over UDP, and prints how others get in. Without --open only who has "
    "the\n"
    "invite may join. On a terminal it shows the arena; q or Ctrl-C ends it. docs/guide/play.md\n"
    "tells more.";

typedef struct Choices {
    const char *game;
    const char *address;
    const char *topology;
    const char *policy;
    int64_t port, players, bots, seed;
    double seconds, timeout;
    bool play, sealed, open, headless, json;
} Choices;

static int parse(Choices *c, int argc, char **argv)
{
    const Option options[] = {
        {.value = "GAME", .text = &c->game, .help = "tanks"},
        {.name = "port",
         .value = "P",
         .integer = &c->port,
         .max = 65535,
         .help = "listen here (4600); 0: any free one"},
        {.name = "address",
         .value = "HOST[:P]",
         .text = &c->address,
         .help = "where others reach us: a public address, or that of `fairlead wan`\n(127.0.0.1, "
                 "and this machine's in its network)"},
        {.name = "topology",
         .value = "NAME",
         .text = &c->topology,
         .help = "star: everything through us; mesh: players directly; hybrid: directly\nwhere "
                 "that works, else through us (star)"},
        {.name = "players",
         .value = "N",
         .integer = &c->players,
         .min = 1,
         .max = PLAY_PLAYERS_MAX,
         .help = "let in so many, watchers included (16)"},
        {.name = "bots",
         .value = "N",
         .integer = &c->bots,
         .max = PLAY_OWN_MAX,
         .help = "with so many tanks of our own (0)"},
        {.name = "play", .flag = &c->play, .help = "with a tank for you, too"},
        {.name = "policy",
         .value = "NAME",
         .text = &c->policy,
         .help = "who gets our tanks' updates when: base, base/3, schedule1, schedule2,\n"
                 "probabilistic, deterministic, equal-50, ... (base)"},
        {.name = "sealed",
         .flag = &c->sealed,
         .help = "by invite only, nobody else reads or forges (this is the default)"},
        {.name = "open", .flag = &c->open, .help = "anybody may join, nothing is sealed"},
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
         .help = "end after so long (never)"},
        {.name = "timeout",
         .value = "T",
         .number = &c->timeout,
         .min = 1,
         .max = 600,
         .help = "give a silent player up after so long (10)"},
        {.name = "headless", .flag = &c->headless, .help = "a line a second instead of the arena"},
        {.name = "json",
         .flag = &c->json,
         .help = "print JSON: the address and invite at once, figures at the end"},
    };
    const CommandLine line = {who, summary, options, sizeof options / sizeof *options};
    return options_parse(&line, argc, argv);
}

static int check(const Choices *c, PlayHostDef *def)
{
    if (c->game != NULL && strcmp(c->game, "tanks") != 0) {
        return command_fail(EXIT_BAD_INPUT, who, "there is no game '%s' here; tanks is one",
                            c->game);
    }
    if (c->open && c->sealed) {
        return command_fail(EXIT_BAD_INPUT, who, "--open and --sealed exclude each other");
    }
    if (!play_topology_find(c->topology, &def->topology)) {
        return command_fail(EXIT_BAD_INPUT, who, "--topology: '%s' is none of star, mesh, hybrid",
                            c->topology);
    }
    return OPTIONS_GO_ON;
}

static void announce_json(const PlayDoor *door, const char *bound, const char *address)
{
    printf("{\"listening\": \"%s\", \"address\": \"%s\", \"invite\": \"%s\"}\n", bound, address,
           door->invite);
}

static void announce(const PlayDoor *door, bool json)
{
    char bound[FL_ADDRESS_TEXT_BYTES];
    char address[FL_ADDRESS_TEXT_BYTES];
    char lan[FL_ADDRESS_TEXT_BYTES];
    fl_address_format(door->bound, bound);
    fl_address_format(door->address, address);
    fl_address_format(door->lan, lan);
    bool sealed = door->invite[0] != '\0';
    bool has_lan = door->lan.family != FL_FAMILY_NONE;
    if (json) {
        announce_json(door, bound, address);
    } else {
        printf("listening on %s; others get in with\n  fairlead join %s\n", bound,
               sealed ? door->invite : address);
        if (has_lan) {
            printf("and from other machines of this network with\n  fairlead join %s\n",
                   sealed ? door->lan_invite : lan);
        }
    }
    fflush(stdout);
}

static void make_hint(const PlayDoor *door, bool play, char *hint, size_t size)
{
    char address[FL_ADDRESS_TEXT_BYTES];
    fl_address_format(door->address, address);
    snprintf(hint, size, "%sfairlead join %s",
             play ? "w a s d or arrows: drive; space: fire; q: quit | " : "q ends it | ",
             door->invite[0] != '\0' ? door->invite : address);
}

int cmd_serve(int argc, char **argv)
{
    Choices c = {.topology = "star",
                 .policy = "base",
                 .port = PLAY_PORT,
                 .players = 16,
                 .seed = 1,
                 .timeout = 10.0};
    PlayHostDef def = {.who = who};
    int status = parse(&c, argc, argv);
    status = status == OPTIONS_GO_ON ? check(&c, &def) : status;
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    def.port = c.port;
    def.address = c.address;
    def.players = (int32_t)c.players;
    def.open = c.open;
    def.tank_count = (int32_t)c.bots + (c.play ? 1 : 0);
    def.keys = c.play;
    def.policy = c.policy;
    def.seed = (uint64_t)c.seed;
    def.timeout_s = c.timeout;
    play_run_prepare();
    PlayNode *node = NULL;
    PlayDoor door;
    status = play_host_open(&def, &node, &door);
    if (status == OPTIONS_GO_ON) {
        char hint[FL_SEAL_INVITE_TEXT + 128];
        make_hint(&door, c.play, hint, sizeof hint);
        announce(&door, c.json);
        PlayRun run = {.who = who,
                       .command = "serve",
                       .nodes = &node,
                       .node_count = 1,
                       .seconds = c.seconds,
                       .headless = c.headless,
                       .json = c.json,
                       .keys = c.play,
                       .hint = hint,
                       .seed = (uint64_t)c.seed};
        status = play_run(&run);
    }
    play_node_destroy(node);
    return status;
}
