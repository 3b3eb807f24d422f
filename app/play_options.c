// Options and the run of those who join, in one place.
#include "app/play_options.h"

#include <string.h>

#include "app/command.h"

PlayChoices play_choices_default(void)
{
    PlayChoices choices = {.policy = "base",
                           .rules = {.laps = -1, .cars = -1, .races = -1},
                           .port = PLAY_PORT,
                           .players = 16,
                           .count = 1,
                           .frames = 60,
                           .direct = PLAY_PLAYERS_MAX,
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
    play_options_add(table, (Option){.value = "GAME",
                                     .text = &choices->plain[0],
                                     .help = "tanks or racing (that of the invite, else tanks)"});
    play_options_add(table, (Option){.value = "INVITE|ADDRESS",
                                     .text = &choices->plain[1],
                                     .help = "whom to join (127.0.0.1:4600)"});
}

void play_options_drive(PlayOptions *table, PlayChoices *choices)
{
    play_options_add(
        table, (Option){.name = "policy",
                        .value = "NAME",
                        .text = &choices->policy,
                        .help = "who gets our updates when: base, base/3, schedule1, schedule2,\n"
                                "probabilistic, deterministic, equal-50, ... (base)"});
    play_options_add(table, (Option){.name = "seed",
                                     .value = "S",
                                     .integer = &choices->seed,
                                     .max = 9007199254740992.0,
                                     .help = "of the bots, and of a race's grid (1)"});
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
}

// ---------------------------------------------------------------- joining

// One plain argument is a game if there is one of that name, else whom to join.
static int choose(const char *who, const PlayChoices *choices, PlayGuestDef *def)
{
    const char *first = choices->plain[0];
    def->part.game = first != NULL ? play_game_find(first) : NULL;
    def->where = choices->plain[1];
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
                                 .timeout_s = choices->timeout},
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
    play_tape_begin(tape, nodes[0]->game->name);
    return play_run(&run);
}

int play_guests_run(const PlayGuests *guests, const PlayOptions *table, PlayChoices *choices,
                    PlayTape *tape, int argc, char **argv)
{
    const CommandLine line = {guests->who, guests->summary, table->options, table->count};
    int status = options_parse(&line, argc, argv);
    FL_ASSERT(choices->count >= 1 && choices->count <= PLAY_PLAYERS_MAX);
    PlayGuestDef def = guest_def(guests, choices);
    PlayNode *nodes[PLAY_PLAYERS_MAX] = {NULL};
    int32_t opened = 0;
    status = status == OPTIONS_GO_ON ? choose(guests->who, choices, &def) : status;
    if (status == OPTIONS_GO_ON && tape == NULL) {
        status = play_tape_record(guests->who, choices->record, argc, argv, &tape);
    }
    def.part.tape = tape;
    play_run_prepare();
    while (status == OPTIONS_GO_ON && opened < choices->count) {
        status = play_guest_open(&def, &nodes[opened]);
        opened += status == OPTIONS_GO_ON ? 1 : 0;
    }
    if (status == OPTIONS_GO_ON) {
        status = play(guests, choices, tape, nodes, opened);
    }
    for (int32_t i = 0; i < opened; i++) {
        play_node_destroy(nodes[i]);
    }
    return play_tape_finish(tape, status);
}
