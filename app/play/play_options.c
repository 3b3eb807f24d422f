// Options and the run of those who join, in one place.
#include "app/play/play_options.h"

#include <stdio.h>
#include <string.h>

#include "app/cli/command.h"

PlayChoices play_choices_default(void)
{
    PlayChoices choices = {.rules = {.laps = -1, .cars = -1, .races = -1},
                           .port = PLAY_PORT,
                           .web = {.port = 8080},
                           .players = 16,
                           .count = 1,
                           .frames = 60,
                           .direct = PLAY_DIRECT_USUAL,
                           .seed = 1,
                           .timeout = 10.0};
    return choices;
}

void play_options_add(PlayOptions *table, Option option)
{
    FL_ASSERT(table->count < PLAY_OPTIONS_MAX);
    table->options[table->count++] = option;
}

// ---------------------------------------------------------------- what commands share

void play_options_join(PlayOptions *table, PlayChoices *choices)
{
    play_options_add(table,
                     (Option){.value = "GAME",
                              .text = &choices->plain[0],
                              .help = "tanks, racing or arena (that of the invite, else tanks)"});
    play_options_add(table, (Option){.value = "INVITE|ADDRESS",
                                     .text = &choices->plain[1],
                                     .help = "whom to join (127.0.0.1:4600)"});
    play_options_add(table, (Option){.name = "secret-file",
                                     .value = "FILE",
                                     .text = &choices->secret_file,
                                     .help = "read the invite from here, so that nobody sees it "
                                             "among\nprocesses; -: from standard input"});
    play_options_add(table, (Option){.name = "name",
                                     .value = "NAME",
                                     .text = &choices->name,
                                     .help = "what the host calls us: one word (our number)"});
    play_options_authority(table, choices);
    choices->players = PLAY_PLAYERS_USUAL;
    play_options_add(table, (Option){.name = "players",
                                     .value = "N",
                                     .integer = &choices->players,
                                     .min = 1,
                                     .max = PLAY_PLAYERS_MAX,
                                     .help = "of an open host with more than 255: as many as it "
                                             "lets in;\nan invite says it itself (255)"});
}

void play_options_drive(PlayOptions *table, PlayChoices *choices)
{
    play_options_add(
        table,
        (Option){
            .name = "policy",
            .value = "NAME",
            .text = &choices->policy,
            .help =
                "who gets our updates when: base, base/3, schedule1, schedule2,\n"
                "probabilistic, deterministic, equal-50, focus, ... (base;\narena: focus+equal)"});
    play_options_add(table, (Option){.name = "seed",
                                     .value = "S",
                                     .integer = &choices->seed,
                                     .max = 9007199254740992.0,
                                     .help = "of the bots, and of a race's grid (1)"});
}

void play_options_authority(PlayOptions *table, PlayChoices *choices)
{
    play_options_add(table, (Option){.name = "authority",
                                     .value = "WHO",
                                     .text = &choices->authority,
                                     .help = "tanks: who decides where tanks are: owner, each for "
                                             "its own, or\nhost, which gets inputs only (owner; an "
                                             "invite says it itself)"});
}

int play_authority_game(const char *who, const char *authority, const PlayGame **game)
{
    bool host = authority != NULL && strcmp(authority, "host") == 0;
    if (authority != NULL && !host && strcmp(authority, "owner") != 0) {
        return command_fail(EXIT_BAD_INPUT, who, "--authority: '%s' is neither owner nor host",
                            authority);
    }
    const PlayGame *named = *game != NULL ? *game : play_game_at(0);
    if (host && named->served == NULL) {
        return command_fail(EXIT_BAD_INPUT, who, "--authority host: %s is not played that way",
                            named->name);
    }
    *game = host ? named->served : *game;
    return OPTIONS_GO_ON;
}

static void add_web(PlayOptions *table, PlayWebDef *web)
{
    play_options_add(table, (Option){.name = "web",
                                     .value = "[PORT]",
                                     .flag = &web->wanted,
                                     .integer = &web->port,
                                     .max = 65535,
                                     .help = "show it on a page at this port (8080); 0: any free "
                                             "one"});
    play_options_add(table, (Option){.name = "web-address",
                                     .value = "HOST",
                                     .text = &web->address,
                                     .help = "listen for the page here, 0.0.0.0: everywhere; then "
                                             "looking on\nneeds the token, too (this machine "
                                             "alone)"});
    play_options_add(table, (Option){.name = "web-token",
                                     .value = "TEXT",
                                     .text = &web->token,
                                     .help = "who shows it may change things (a random one)"});
}

void play_options_run(PlayOptions *table, PlayChoices *choices)
{
    play_options_add(table, (Option){.name = "seconds",
                                     .value = "T",
                                     .number = &choices->seconds,
                                     .min = 0.01,
                                     .max = 1e8,
                                     .help = "end after so long (never)"});
    play_options_add(table, (Option){.name = "timeout",
                                     .value = "T",
                                     .number = &choices->timeout,
                                     .min = 1,
                                     .max = 600,
                                     .help = "give up who is silent for so long (10)"});
    play_options_add(table, (Option){.name = "headless",
                                     .flag = &choices->headless,
                                     .help = "a line a second instead of the picture"});
    play_options_add(table, (Option){.name = "json",
                                     .flag = &choices->json,
                                     .help = "print JSON: figures at the end, and nothing else\n"
                                             "(serve: its address and invite at once)"});
    play_options_add(table, (Option){.name = "record",
                                     .value = "FILE",
                                     .text = &choices->record,
                                     .help = "for `fairlead replay`. It will hold the session's "
                                             "keys:\ngive it to nobody who may not join"});
    add_web(table, &choices->web);
}

// ---------------------------------------------------------------- joining

// One plain argument is a game if there is one of that name, else whom to join.
static int choose(const char *who, const PlayChoices *choices, PlayGuestDef *def)
{
    const char *first = choices->plain[0];
    def->part.game = first != NULL ? play_game_find(first) : NULL;
    def->where = choices->plain[1];
    def->name = choices->name;
    if (def->name != NULL &&
        (strlen(def->name) >= FL_NAME_BYTES || strpbrk(def->name, " \t\r\n") != NULL)) {
        return command_fail(EXIT_BAD_INPUT, who, "--name: one word of at most 31 bytes");
    }
    FlTopology topology = FL_TOPOLOGY_STAR;
    if (choices->topology != NULL && !play_topology_find(choices->topology, &topology)) {
        return command_fail(EXIT_BAD_INPUT, who,
                            "--topology: '%s' is none of star, mesh, hybrid, crowd",
                            choices->topology);
    }
    def->crowd = topology == FL_TOPOLOGY_CROWD;
    if (choices->secret_file != NULL && def->where != NULL) {
        return command_fail(EXIT_BAD_INPUT, who, "--secret-file says whom to join");
    }
    if (first == NULL || def->part.game != NULL) {
        return OPTIONS_GO_ON;
    }
    if (def->where != NULL) {
        return command_fail(EXIT_BAD_INPUT, who, "there is no game '%s' here; there are %s", first,
                            play_game_names());
    }
    def->where = first;
    return OPTIONS_GO_ON;
}

static PlayGuestDef guest_def(const PlayGuests *guests, const PlayChoices *choices)
{
    PlayGuestDef def = {.part = {.who = guests->who,
                                 .own_count = guests->own_count,
                                 .keys = guests->keys && !choices->bot,
                                 .policy = choices->policy,
                                 .seed = (uint64_t)choices->seed,
                                 .timeout_s = choices->timeout,
                                 .players = (int32_t)choices->players},
                        .direct = (int32_t)choices->direct,
                        .frame_hz = (int32_t)choices->frames};
    return def;
}

static int play(const PlayGuests *guests, const PlayChoices *choices, PlayTape *tape,
                PlayNode *const *nodes, int32_t count)
{
    bool keys = guests->keys && !choices->bot;
    PlayRun run = {.who = guests->who,
                   .command = guests->command,
                   .nodes = nodes,
                   .node_count = count,
                   .seconds = choices->seconds,
                   .headless = choices->headless || guests->headless,
                   .json = choices->json,
                   .keys = keys,
                   .hint = keys ? nodes[0]->game->keys : "watching; q ends it",
                   .seed = (uint64_t)choices->seed,
                   .tape = tape};
    int status = play_web_open(guests->who, &choices->web, tape, &run.web);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    if (run.web != NULL) {
        printf(choices->json ? "{\"page\": \"%s\"}\n" : "the page: %s\n",
               play_web_address(run.web));
        fflush(stdout);
    }
    play_tape_begin(tape, nodes[0]->game->name);
    status = play_run(&run);
    play_web_close(run.web);
    return status;
}

// The first line of a file, or of standard input. What it says is recorded, too: it is not there
// when that is replayed.
static int read_secret(const char *who, const char *path, PlayTape *tape, char *text, size_t size)
{
    memset(text, 0, size);
    if (!play_tape_replays(tape)) {
        bool input = strcmp(path, "-") == 0;
        FILE *file = input ? stdin : fopen(path, "r");
        bool read = file != NULL && fgets(text, (int)size, file) != NULL;
        if (file != NULL && !input) {
            fclose(file);
        }
        if (!read) {
            return command_fail(EXIT_BAD_INPUT, who, "--secret-file %s: cannot read it", path);
        }
        text[strcspn(text, "\r\n")] = '\0';
    }
    play_tape_secret(tape, (uint8_t *)text, (int32_t)size);
    return OPTIONS_GO_ON;
}

int play_guests_run(const PlayGuests *guests, const PlayOptions *table, PlayChoices *choices,
                    PlayTape *tape, int argc, char **argv)
{
    const CommandLine line = {guests->who, guests->summary, table->options, table->count};
    int status = options_parse(&line, argc, argv);
    FL_ASSERT(choices->count >= 1 && choices->count <= PLAY_COUNT_MAX);
    PlayGuestDef def = guest_def(guests, choices);
    PlayNode *nodes[PLAY_COUNT_MAX] = {NULL};
    int32_t opened = 0;
    status = status == OPTIONS_GO_ON ? choose(guests->who, choices, &def) : status;
    if (status == OPTIONS_GO_ON) {
        status = play_authority_game(guests->who, choices->authority, &def.part.game);
    }
    if (status == OPTIONS_GO_ON && tape == NULL) {
        status = play_tape_record(guests->who, choices->record, argc, argv, &tape);
    }
    def.part.tape = tape;
    char secret[256];
    if (status == OPTIONS_GO_ON && choices->secret_file != NULL) {
        status = read_secret(guests->who, choices->secret_file, tape, secret, sizeof secret);
        def.where = secret;
    }
    play_run_prepare();
    while (status == OPTIONS_GO_ON && opened < choices->count) {
        status = play_guest_open(&def, &nodes[opened]);
        opened += status == OPTIONS_GO_ON ? 1 : 0;
        def.part.kin = nodes[0];
    }
    if (status == OPTIONS_GO_ON) {
        status = play(guests, choices, tape, nodes, opened);
    }
    for (int32_t i = opened - 1; i >= 0; i--) { // the first outlives its kin
        play_node_destroy(nodes[i]);
    }
    return play_tape_finish(tape, status);
}
