// The arena demo as its parent sees it: orders out, rows and figures in, JSON for the page.
//
// How wrong the screen is, is measured here, from rows: at every look the distance between where a
// player is shown and where it truly is, apart for the few that its player looks at most and the
// rest. That is asked of every mode, also of those that do not care who looks.
#include "app/demo/demo_arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/cli/options.h"
#include "app/demo/demo.h"
#include "app/demo/demo_json.h"
#include "app/page/web_choices.h"
#include "app/play/play_maps.h"

#define SMOOTHING 0.01         // of errors: a second
#define STOP_DRIVING FL_SEC(6) // without a key the bot takes over again
#define LOOKED_AT 4            // as the experiments have it
#define PLAYERS 16             // unless told otherwise
#define KBPS_MIN 32.0
#define KBPS_MAX 512.0
#define KBPS 108.0 // as published
#define RTT_MAX_MS 400
#define RTT_MS 60
#define LOSS_MAX_PERCENT 20

/// Some players, as followed by the parent.
typedef struct Follow {
    double error; ///< Distance, smoothed.
    bool known;
} Follow;

struct Demo {
    DemoStage stage;
    ArenaSetup setup;
    ArenaOrder order;
    int64_t look; ///< The newest that was read.
    FlTime driven_at;
    DemoRow seen, one;                       ///< The screen's; and room for a process's.
    DemoThing truth[ARENA_DEMO_PLAYERS_MAX]; ///< By number.
    Follow follow[2];                        ///< Focus, and the rest.
    bool has_picture;
};

// ---------------------------------------------------------------- making

static int act(void *ctx, const DemoActor *actor)
{
    Demo *demo = ctx;
    FlAddress nowhere = {0}; // the host's door is on the board, and opens later
    demo_actor_begin(actor, "arena", &nowhere, &demo->setup.board->looks.begin);
    int status = demo_arena_play(&demo->setup, actor);
    demo_actor_end(actor);
    return status;
}

static bool mode_find(const char *word, ArenaMode *mode)
{
    for (int32_t m = 0; m < ARENA_MODES; m++) {
        if (strcmp(word, arena_mode_name((ArenaMode)m)) == 0) {
            *mode = (ArenaMode)m;
            return true;
        }
    }
    return false;
}

static void demo_close(Demo *demo)
{
    demo_stage_close(&demo->stage);
    if (demo->setup.game != NULL) {
        arena_destroy(demo->setup.game);
    }
    free(demo);
}

static bool make_setup(const DemoDef *def, ArenaSetup *setup)
{
    ArenaDef arena = arena_def_default();
    setup->player_count = def->players > 0 ? def->players : PLAYERS;
    setup->seed = def->seed;
    arena.player_count = setup->player_count;
    arena.seed = def->seed;
    return arena_create(&arena, &setup->game) == FL_OK;
}

/// With the settings that it begins with.
static int make_demo(const DemoDef *def, Demo **out)
{
    *out = NULL;
    ArenaOrder order = {.mode = ARENA_MODE_OURS, .kbps = KBPS, .games = 1, .rtt_ns = FL_MS(RTT_MS)};
    if (def->scheme != NULL && !mode_find(def->scheme, &order.mode)) {
        return command_fail(EXIT_BAD_INPUT, def->who, "no such scheme: %s; hibw, lobw, donny, ours",
                            def->scheme);
    }
    int status = demo_record_check(&def->record, ARENA_DEMO_PROCESSES);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    Demo *demo = calloc(1, sizeof *demo);
    if (demo == NULL) {
        return command_fail(EXIT_FAILED, def->who, "out of memory");
    }
    demo->order = order;
    demo->setup.first = order;
    *out = demo;
    return OPTIONS_GO_ON;
}

static int demo_again(const DemoDef *def, const DemoActor *actor)
{
    Demo *demo;
    int status = make_demo(def, &demo);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    FL_ASSERT(demo != NULL);
    demo->setup.board = calloc(1, sizeof *demo->setup.board);
    bool ok = demo->setup.board != NULL && actor->number < ARENA_DEMO_PROCESSES &&
              make_setup(def, &demo->setup);
    status = ok ? act(demo, actor) : command_fail(EXIT_FAILED, def->who, "cannot begin again");
    free(demo->setup.board);
    demo_close(demo);
    return status;
}

static int demo_open(const DemoDef *def, Demo **out)
{
    Demo *demo;
    *out = NULL;
    int status = make_demo(def, &demo);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    FL_ASSERT(demo != NULL);
    bool ok = demo_stage_open(&demo->stage, sizeof(ArenaBoard)) && make_setup(def, &demo->setup);
    if (ok) {
        demo->setup.board = demo->stage.board;
        demo->stage.record = def->record;
        demo_looks_init(&demo->setup.board->looks, fl_net_now());
        ok = demo_stage_start(&demo->stage, ARENA_DEMO_PROCESSES, act, demo);
    }
    if (!ok) {
        demo_close(demo);
        return command_fail(EXIT_FAILED, def->who, "cannot start the processes of the demo");
    }
    *out = demo;
    return OPTIONS_GO_ON;
}

static bool demo_alive(Demo *demo)
{
    return demo_stage_alive(&demo->stage);
}

// ---------------------------------------------------------------- following

/// False: the screen has not written this one. Truths that are not there yet are not compared.
static bool read_look(Demo *demo, int64_t look)
{
    DemoLooks *looks = &demo->setup.board->looks;
    memset(demo->truth, 0, sizeof demo->truth);
    for (int32_t p = 0; p < ARENA_DEMO_PROCESSES; p++) {
        bool there = demo_look_read(looks, ARENA_ROW_TRUE + p, look, &demo->one);
        for (int32_t i = 0; there && i < demo->setup.player_count; i++) {
            if (demo->one.thing[i].there) {
                demo->truth[i] = demo->one.thing[i];
            }
        }
    }
    return demo_look_read(looks, ARENA_ROW_SEEN, look, &demo->seen);
}

/// The attention from which on a player is one of the few that are looked at most.
static int32_t looked_at_from(const Demo *demo)
{
    int32_t top[LOOKED_AT] = {0};
    for (int32_t i = 1; i < demo->setup.player_count; i++) {
        int32_t value = atomic_load(&demo->setup.board->screen.attention[i]);
        for (int32_t k = 0; k < LOOKED_AT; k++) {
            if (value > top[k]) {
                int32_t down = top[k];
                top[k] = value;
                value = down;
            }
        }
    }
    return top[LOOKED_AT - 1] > 0 ? top[LOOKED_AT - 1] : 1;
}

static void count_errors(Demo *demo)
{
    double sum[2] = {0.0, 0.0};
    int32_t count[2] = {0, 0};
    int32_t from = looked_at_from(demo);
    for (int32_t i = 1; i < demo->setup.player_count; i++) {
        const DemoThing *shown = &demo->seen.thing[i];
        const DemoThing *truth = &demo->truth[i];
        if (shown->there && truth->there && shown->alive && truth->alive &&
            shown->life == truth->life) {
            int32_t kind = atomic_load(&demo->setup.board->screen.attention[i]) >= from ? 0 : 1;
            sum[kind] += hypot(shown->x - truth->x, shown->y - truth->y);
            count[kind]++;
        }
    }
    for (int32_t k = 0; k < 2; k++) {
        Follow *follow = &demo->follow[k];
        if (count[k] > 0) {
            double mean = sum[k] / count[k];
            follow->error += (mean - follow->error) * (follow->known ? SMOOTHING : 1.0);
            follow->known = true;
        }
    }
}

static void follow(Demo *demo, FlTime now)
{
    int64_t newest = demo_looks_due(&demo->setup.board->looks, now, &demo->look);
    while (demo->look < newest) {
        demo->look++;
        if (read_look(demo, demo->look)) {
            demo->has_picture = true;
            count_errors(demo);
        }
    }
    if (demo->order.driven && now - demo->driven_at > STOP_DRIVING) {
        demo->order.driven = false;
        demo_stage_order(&demo->stage, &demo->order, sizeof demo->order);
    }
}

// ---------------------------------------------------------------- JSON

static void add(json_t *list, int64_t number)
{
    json_array_append_new(list, json_integer(number));
}

/// How each is shown: 0 not at all, 1 as told, 2 its replica walks to where it is told to be, 3 its
/// replica is guided.
static json_t *players_json(const Demo *demo)
{
    ArenaBoard *board = demo->setup.board;
    json_t *seen = json_array();
    json_t *truth = json_array();
    json_t *how = json_array();
    json_t *serves = json_array();
    json_t *attention = json_array();
    json_t *scores = json_array();
    for (int32_t i = 0; i < demo->setup.player_count; i++) {
        const DemoThing *thing = &demo->seen.thing[i];
        int32_t mode = (int32_t)thing->value;
        int32_t shown = mode == FL_GUIDE_NEAR ? 1 : mode == FL_GUIDE_NEARING ? 2 : 3;
        demo_json_thing(seen, thing);
        demo_json_thing(truth, &demo->truth[i]);
        add(how, thing->there ? shown : 0);
        add(serves, atomic_load(&board->player[i].serves));
        add(attention, atomic_load(&board->screen.attention[i]));
        add(scores, atomic_load(&board->player[i].score));
    }
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "seen", seen, "truth", truth, "how", how,
                     "serves", serves, "attention", attention, "scores", scores);
}

/// What the screen's player has sent to each and how it serves them; what everybody has sent.
static json_t *upload_json(const Demo *demo)
{
    ArenaBoard *board = demo->setup.board;
    json_t *to = json_array();
    json_t *serves = json_array();
    json_t *all = json_array();
    for (int32_t i = 0; i < demo->setup.player_count; i++) {
        add(to, (int64_t)atomic_load(&board->screen.sent_to[i]));
        add(serves, atomic_load(&board->screen.serves_to[i]));
        add(all, (int64_t)atomic_load(&board->player[i].sent));
    }
    return json_pack("{s:o,s:o,s:o}", "to", to, "serves", serves, "all", all);
}

static json_t *own_json(ArenaScreenFigures *screen)
{
    return json_pack("{s:i,s:i,s:i,s:i,s:s}", "health", (int)atomic_load(&screen->health), "armour",
                     (int)atomic_load(&screen->armour), "score", (int)atomic_load(&screen->score),
                     "deaths", (int)atomic_load(&screen->deaths), "weapon",
                     arena_weapon_name((ArenaWeapon)atomic_load(&screen->weapon)));
}

/// Running sums, from which whoever reads them makes means over a time of its own.
static json_t *sums_json(ArenaScreenFigures *screen)
{
    return json_pack(
        "{s:I,s:I,s:I,s:I,s:I,s:I}", "frames", (json_int_t)atomic_load(&screen->frames), "focus",
        (json_int_t)atomic_load(&screen->focus_pairs), "effort",
        (json_int_t)atomic_load(&screen->effort_due), "pairs",
        (json_int_t)atomic_load(&screen->pairs), "jumps", (json_int_t)atomic_load(&screen->jumps),
        "replica_ticks", (json_int_t)atomic_load(&screen->replica_ticks));
}

static json_t *error_json(const Follow *follow)
{
    return follow->known ? json_real(follow->error) : json_null();
}

static json_t *demo_frame(Demo *demo, FlTime now)
{
    follow(demo, now);
    if (!demo->has_picture) {
        return NULL;
    }
    ArenaScreenFigures *screen = &demo->setup.board->screen;
    int64_t time_ms = demo->look * (DEMO_LOOK_EVERY / FL_MS(1));
    return json_pack("{s:s,s:I,s:i,s:b,s:i,s:o,s:o,s:o,s:I,s:o,s:o,s:[o,o]}", "type", "frame", "t",
                     (json_int_t)time_ms, "game", (int)demo->order.games, "driven",
                     demo->order.driven, "peers", (int)atomic_load(&screen->peers), "players",
                     players_json(demo), "upload", upload_json(demo), "own", own_json(screen),
                     "items", (json_int_t)atomic_load(&screen->items), "shots",
                     demo_json_shots(&demo->seen), "sums", sums_json(screen), "error",
                     error_json(&demo->follow[0]), error_json(&demo->follow[1]));
}

static json_t *demo_hello(const Demo *demo)
{
    json_t *modes = json_array();
    json_t *names = json_array();
    for (int32_t m = 0; m < ARENA_MODES; m++) {
        web_choices_add(modes, arena_mode_name((ArenaMode)m), arena_mode_meaning((ArenaMode)m));
    }
    for (int32_t i = 0; i < demo->setup.player_count; i++) {
        json_array_append_new(names, json_string(arena_character_name(i % ARENA_CHARACTER_COUNT)));
    }
    return json_pack("{s:s,s:s,s:s,s:i,s:i,s:o,s:o,s:o,s:f,s:f,s:i,s:i}", "type", "hello", "demo",
                     "arena", "version", FL_VERSION, "players", (int)demo->setup.player_count,
                     "tick_hz", ARENA_TICK_HZ, "world", play_map_arena(demo->setup.game), "modes",
                     modes, "names", names, "kbps_min", KBPS_MIN, "kbps_max", KBPS_MAX,
                     "rtt_max_ms", RTT_MAX_MS, "loss_max_percent", LOSS_MAX_PERCENT);
}

static json_t *demo_settings(const Demo *demo)
{
    const ArenaOrder *order = &demo->order;
    return json_pack("{s:s,s:s,s:f,s:f,s:f}", "type", "settings", "mode",
                     arena_mode_name(order->mode), "kbps", order->kbps, "rtt_ms",
                     (double)order->rtt_ns / 1e6, "loss_percent", order->loss_ppm / 1e4);
}

// ---------------------------------------------------------------- commands

/// Everybody meets again: what was measured before is over.
static void begin_again(Demo *demo)
{
    demo->order.games++;
    memset(demo->follow, 0, sizeof demo->follow);
}

static bool set(Demo *demo, const json_t *what)
{
    const char *mode = json_string_value(json_object_get(what, "mode"));
    ArenaOrder *order = &demo->order;
    ArenaMode before = order->mode;
    double kbps = order->kbps;
    double number;
    if (mode != NULL) {
        (void)mode_find(mode, &order->mode);
    }
    if (demo_json_number(what, "kbps", KBPS_MIN, KBPS_MAX, &number)) {
        order->kbps = number;
    }
    if (demo_json_number(what, "rtt_ms", 0.0, RTT_MAX_MS, &number)) {
        order->rtt_ns = (FlTime)(number * 1e6);
    }
    if (demo_json_number(what, "loss_percent", 0.0, LOSS_MAX_PERCENT, &number)) {
        order->loss_ppm = (int32_t)(number * 1e4);
    }
    if (order->mode != before || order->kbps > kbps || order->kbps < kbps) {
        begin_again(demo);
    }
    return true;
}

static void drive(Demo *demo, const json_t *input, FlTime now)
{
    ArenaKeys wanted = {.fire = json_is_true(json_object_get(input, "fire"))};
    demo->order.driven = demo_json_number(input, "drive", -1.0, 1.0, &wanted.drive) &&
                         demo_json_number(input, "turn", -1.0, 1.0, &wanted.turn);
    demo->order.keys = wanted;
    demo->driven_at = now;
}

static bool demo_command(Demo *demo, const json_t *command, FlTime now)
{
    const json_t *settings = json_object_get(command, "set");
    const json_t *input = json_object_get(command, "drive");
    bool changed = json_is_object(settings) && set(demo, settings);
    if (input != NULL) {
        drive(demo, input, now);
    }
    if (json_is_true(json_object_get(command, "restart"))) {
        begin_again(demo);
    }
    demo_stage_order(&demo->stage, &demo->order, sizeof demo->order);
    return changed;
}

const DemoKind demo_arena = {
    .name = "arena",
    .help = "one player's screen in a match of many: whom it looks at, and what that costs",
    .players_min = 2,
    .players_max = ARENA_DEMO_PLAYERS_MAX,
    .has_scheme = true,
    .open = demo_open,
    .again = demo_again,
    .hello = demo_hello,
    .settings = demo_settings,
    .frame = demo_frame,
    .command = demo_command,
    .alive = demo_alive,
    .close = demo_close,
};
