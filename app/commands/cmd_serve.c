// fairlead serve: hosts a game.
#include <stdio.h>

#include "app/cli/command.h"
#include "app/commands/commands.h"
#include "app/play/play_key.h"
#include "app/play/play_options.h"

#include "fairlead/net.h"

static const char who[] = "fairlead serve";

static const char summary[] =
    "Hosts a game over UDP, and prints how others get in. Without --open only who has the invite\n"
    "may join. On a terminal it shows the game; q or Ctrl-C ends it. docs/guide/play.md tells "
    "more.";

// ---------------------------------------------------------------- options

static void add_game(PlayOptions *table, PlayChoices *c)
{
    play_options_add(
        table,
        (Option){.value = "GAME", .text = &c->plain[0], .help = "tanks, racing or arena (tanks)"});
    play_options_add(table,
                     (Option){.name = "bots",
                              .value = "N",
                              .integer = &c->bots,
                              .max = PLAY_OWN_MAX,
                              .help = "with so many tanks or cars of our own, or a player (0)"});
    play_options_add(table,
                     (Option){.name = "play", .flag = &c->play, .help = "with one for you, too"});
    play_options_drive(table, c);
    play_options_authority(table, c);
    play_options_add(table, (Option){.name = "course",
                                     .value = "NAME",
                                     .text = &c->rules.course,
                                     .help = "racing: ring, bean or serpent (bean)"});
    play_options_add(table, (Option){.name = "laps",
                                     .value = "N",
                                     .integer = &c->rules.laps,
                                     .min = 1,
                                     .max = 100,
                                     .help = "racing: so many (3)"});
    play_options_add(table, (Option){.name = "cars",
                                     .value = "N",
                                     .integer = &c->rules.cars,
                                     .min = 2,
                                     .max = 16,
                                     .help = "racing: at most so many, and when they are there it\n"
                                             "starts at once (16)"});
    play_options_add(table, (Option){.name = "races",
                                     .value = "N",
                                     .integer = &c->rules.races,
                                     .max = 1e6,
                                     .help = "racing: end after so many; 0: never (0)"});
    play_options_add(table,
                     (Option){.name = "show",
                              .value = "SCHEME",
                              .text = &c->rules.show,
                              .help = "racing: how everybody sees the others: nc, causality,\n"
                                      "dr, dr+causality, adaptive or best (best)"});
}

static void add_door(PlayOptions *table, PlayChoices *c)
{
    play_options_add(table, (Option){.name = "port",
                                     .value = "P",
                                     .integer = &c->port,
                                     .max = 65535,
                                     .help = "listen here (4600); 0: any free one"});
    play_options_add(
        table, (Option){.name = "address",
                        .value = "HOST[:P]",
                        .text = &c->address,
                        .help = "where others reach us: a public address, or that of `fairlead "
                                "wan`\n(127.0.0.1, and this machine's in its network)"});
    play_options_add(
        table, (Option){.name = "topology",
                        .value = "NAME",
                        .text = &c->topology,
                        .help = "star: everything through us; mesh: players directly; hybrid: "
                                "directly\nwhere they can, else through us; crowd: each other's, "
                                "for many\n(tanks star, the others mesh)"});
    play_options_add(table, (Option){.name = "players",
                                     .value = "N",
                                     .integer = &c->players,
                                     .min = 1,
                                     .max = PLAY_PLAYERS_MAX,
                                     .help = "let in so many, watchers included (16)"});
    play_options_add(
        table, (Option){.name = "upload-kbps",
                        .value = "N",
                        .integer = &c->upload_kbps,
                        .max = 7999999,
                        .help = "send at most so many kbit/s in all, headers counted; 8 or more, "
                                "0: as\nmuch as there is to send (0)"});
    play_options_add(table, (Option){.name = "invites",
                                     .value = "N",
                                     .integer = &c->invites,
                                     .max = PLAY_PLAYERS_MAX,
                                     .help = "print so many invites, one for each player: who is "
                                             "banned\ncannot come back with another's (0: one for "
                                             "all)"});
    play_options_add(
        table,
        (Option){.name = "sealed",
                 .flag = &c->sealed,
                 .help = "by invite only, nobody else reads or forges (this is the default)"});
    play_options_add(table,
                     (Option){.name = "key",
                              .value = "FILE",
                              .text = &c->key,
                              .help = "keep our key here (made if missing): invites are then good\n"
                                      "after a restart, too"});
    play_options_add(
        table,
        (Option){.name = "open", .flag = &c->open, .help = "anybody may join, nothing is sealed"});
}

static int check(const PlayChoices *c, PlayHostDef *def)
{
    const PlayGame *game = c->plain[0] != NULL ? play_game_find(c->plain[0]) : play_game_at(0);
    if (game == NULL) {
        return command_fail(EXIT_BAD_INPUT, who, "there is no game '%s' here; there are %s",
                            c->plain[0], play_game_names());
    }
    if (c->upload_kbps > 0 && c->upload_kbps < 8) {
        return command_fail(EXIT_BAD_INPUT, who, "--upload-kbps: 8 at least, or 0 for no limit");
    }
    if (c->open && c->sealed) {
        return command_fail(EXIT_BAD_INPUT, who, "--open and --sealed exclude each other");
    }
    if (c->open && c->key != NULL) {
        return command_fail(EXIT_BAD_INPUT, who, "--open takes no --key: nobody needs an invite");
    }
    if (c->invites > 0 && (c->open || c->key != NULL)) {
        return command_fail(EXIT_BAD_INPUT, who, "--invites goes with neither --open nor --key");
    }
    int status = play_authority_game(who, c->authority, &game);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    def->part.game = game;
    def->topology = game->topology;
    if (c->topology != NULL && !play_topology_find(c->topology, &def->topology)) {
        return command_fail(EXIT_BAD_INPUT, who,
                            "--topology: '%s' is none of star, mesh, hybrid, crowd", c->topology);
    }
    if (game->played != NULL && def->topology != FL_TOPOLOGY_STAR) {
        return command_fail(EXIT_BAD_INPUT, who, "--authority host goes with --topology star");
    }
    return OPTIONS_GO_ON;
}

// ---------------------------------------------------------------- how others get in

static void announce_json(const PlayDoor *door, const char *bound, const char *address,
                          const char *page)
{
    bool forwarded = door->address.port != door->bound.port;
    printf("{\"listening\": \"%s\", \"address\": \"%s\", \"forwarded\": %s, \"invite\": \"%s\", "
           "\"page\": \"%s\"}\n",
           bound, address, forwarded ? "true" : "false", door->invite, page);
}

static void announce(const PlayDoor *door, const char *page, bool each, bool json)
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
        announce_json(door, bound, address, page);
    } else {
        if (each) {
            printf("listening on %s\n", bound);
        } else {
            printf("listening on %s; others get in with\n  fairlead join %s\n", bound,
                   sealed ? door->invite : address);
        }
        if (door->address.port != door->bound.port) {
            printf("we do not listen on port %u: a router or `fairlead wan` must pass it on to "
                   "port %u\n",
                   (unsigned)door->address.port, (unsigned)door->bound.port);
        }
        if (has_lan && !each) {
            printf("and from other machines of this network with\n  fairlead join %s\n",
                   sealed ? door->lan_invite : lan);
        }
        if (*page != '\0') {
            printf("the page: %s\n", page);
        }
    }
    fflush(stdout);
}

static void make_hint(const PlayDoor *door, const char *keys, const char *page, char *hint,
                      size_t size)
{
    char address[FL_ADDRESS_TEXT_BYTES];
    fl_address_format(door->address, address);
    snprintf(hint, size, "%s%s%s | fairlead join %s", keys, *page != '\0' ? " | " : "", page,
             door->invite[0] != '\0' ? door->invite : address);
}

// One line for each player, or an array. A replay makes them, too, and prints nothing.
static int announce_each(const PlayHostDef *def, PlayNode *node, const PlayDoor *door, bool json)
{
    bool prints = !play_tape_replays(def->part.tape);
    FlAddress at = door->lan.family != FL_FAMILY_NONE ? door->lan : door->address;
    char text[FL_SEAL_INVITE_TEXT];
    int status = OPTIONS_GO_ON;
    for (int32_t i = 0; i < def->invites && status == OPTIONS_GO_ON; i++) {
        status = play_host_invite(def, node, at, text);
        if (prints && json) {
            printf("%s\"%s\"", i == 0 ? "{\"invites\": [" : ", ", text);
        } else if (prints) {
            printf("%s  %s\n", i == 0 ? "one invite for each player (fairlead join):\n" : "", text);
        }
    }
    if (prints && json) {
        printf("]}\n");
    }
    fl_wipe(text, sizeof text);
    fflush(stdout);
    return status;
}

static PlayHostDef host_def(const PlayChoices *c)
{
    PlayHostDef def = {.part = {.who = who,
                                .own_count = (int32_t)c->bots + (c->play ? 1 : 0),
                                .keys = c->play,
                                .policy = c->policy,
                                .seed = (uint64_t)c->seed,
                                .timeout_s = c->timeout,
                                .players = (int32_t)c->players},
                       .rules = c->rules,
                       .port = c->port,
                       .address = c->address,
                       .upload_bytes_s = (double)c->upload_kbps * 125.0,
                       .open = c->open,
                       .invites = (int32_t)c->invites,
                       .keyed = c->key != NULL};
    return def;
}

static int play(const PlayChoices *c, const PlayHostDef *def, PlayNode *node, const PlayDoor *door)
{
    PlayTape *tape = def->part.tape;
    char hint[FL_SEAL_INVITE_TEXT + 360];
    PlayWeb *web = NULL;
    int status = play_web_open(who, &c->web, tape, &web);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    const char *page = play_web_address(web);
    make_hint(door, c->play ? def->part.game->keys : "q ends it", page, hint, sizeof hint);
    if (!play_tape_replays(tape)) {
        announce(door, page, def->invites > 0, c->json);
    }
    if (def->invites > 0) {
        status = announce_each(def, node, door, c->json);
    }
    PlayConsole console = {.own_invites = def->invites > 0};
    play_tape_begin(tape, def->part.game->name);
    PlayRun run = {.who = who,
                   .command = "serve",
                   .nodes = &node,
                   .node_count = 1,
                   .seconds = c->seconds,
                   .headless = c->headless,
                   .json = c->json,
                   .keys = c->play,
                   .hint = hint,
                   .seed = (uint64_t)c->seed,
                   .tape = tape,
                   .web = web,
                   .console = &console};
    status = status == OPTIONS_GO_ON ? play_run(&run) : status;
    play_web_close(web);
    return status;
}

int play_serve_again(PlayTape *tape, int argc, char **argv)
{
    PlayChoices c = play_choices_default();
    PlayOptions table = {.count = 0};
    add_game(&table, &c);
    add_door(&table, &c);
    play_options_run(&table, &c);
    const CommandLine line = {who, summary, table.options, table.count};
    int status = options_parse(&line, argc, argv);
    PlayHostDef def = host_def(&c);
    status = status == OPTIONS_GO_ON ? check(&c, &def) : status;
    if (status == OPTIONS_GO_ON && tape == NULL && c.key != NULL) {
        status = play_key_read(who, c.key, def.key);
    }
    if (status == OPTIONS_GO_ON && tape == NULL) {
        status = play_tape_record(who, c.record, argc, argv, &tape);
    }
    def.part.tape = tape;
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    FL_ASSERT(def.part.game != NULL);
    play_run_prepare();
    PlayNode *node = NULL;
    PlayDoor door;
    status = play_host_open(&def, &node, &door);
    if (status == OPTIONS_GO_ON) {
        status = play(&c, &def, node, &door);
    }
    play_node_destroy(node);
    return play_tape_finish(tape, status);
}

int cmd_serve(int argc, char **argv)
{
    return play_serve_again(NULL, argc, argv);
}
