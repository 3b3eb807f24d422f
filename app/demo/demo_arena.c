// The arena demo as its parent sees it: orders out, rows and figures in, JSON for the page.
//
// How wrong the screen is, is measured here, from rows: at every look the distance between where a
// player is shown and where it truly is, apart for the few that its player looks at most and the
// rest. That is asked of every mode, also of those that do not care who looks.
#include "app/demo/demo_arena.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/cli/options.h"
#include "app/demo/demo.h"
#include "app/demo/demo_json.h"
#include "app/page/web_choices.h"
#include "app/play/play_maps.h"

#define SMOOTHING 0.01 // of errors: a second
#define LOOKED_AT 4    // as the experiments have it
#define PLAYERS 16     // unless told otherwise
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

typedef struct ArenaDemo {
    Demo shell;
    ArenaSetup setup;
    ArenaOrder order;
    DemoRow seen, one;                       ///< The screen's; and room for a process's.
    DemoThing truth[ARENA_DEMO_PLAYERS_MAX]; ///< By number.
    Follow follow[2];                        ///< Focus, and the rest.
} ArenaDemo;

// ---------------------------------------------------------------- making

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

enum { TOPOLOGIES = 2 };

static const struct {
    const char *name, *help;
} topologies[TOPOLOGIES] = {
    {"mesh", "all talk to all directly"},
    {"crowd", "all pass on for all, by a lobby that does not play"},
};

static bool topology_find(const char *word, bool *crowd)
{
    for (int32_t t = 0; t < TOPOLOGIES; t++) {
        if (strcmp(word, topologies[t].name) == 0) {
            *crowd = t == 1;
            return true;
        }
    }
    return false;
}

static int arena_choose(void *self, const DemoDef *def)
{
    ArenaDemo *demo = self;
    demo->order =
        (ArenaOrder){.mode = ARENA_MODE_OURS, .kbps = KBPS, .games = 1, .rtt_ns = FL_MS(RTT_MS)};
    demo->shell.order = &demo->order;
    demo->shell.driven = &demo->order.driven;
    if (def->scheme != NULL && !mode_find(def->scheme, &demo->order.mode)) {
        return command_fail(EXIT_BAD_INPUT, def->who, "no such scheme: %s; hibw, lobw, donny, ours",
                            def->scheme);
    }
    if (def->topology != NULL && !topology_find(def->topology, &demo->order.crowd)) {
        return command_fail(EXIT_BAD_INPUT, def->who, "no such topology here: %s; mesh, crowd",
                            def->topology);
    }
    demo->setup.first = demo->order;
    return OPTIONS_GO_ON;
}

static bool arena_make(void *self, const DemoDef *def)
{
    ArenaDemo *demo = self;
    ArenaSetup *setup = &demo->setup;
    ArenaDef arena = arena_def_default();
    setup->player_count = def->players > 0 ? def->players : PLAYERS;
    setup->seed = def->seed;
    setup->board = demo->shell.board;
    arena.player_count = setup->player_count;
    arena.seed = def->seed;
    ArenaDef crowd = arena;
    crowd.player_count++;
    return arena_create(&arena, &setup->game) == FL_OK &&
           arena_create(&crowd, &setup->crowd) == FL_OK;
}

static void arena_unmake(void *self)
{
    ArenaDemo *demo = self;
    arena_destroy(demo->setup.game);
    arena_destroy(demo->setup.crowd);
}

static int arena_act(void *self, const DemoActor *actor)
{
    ArenaDemo *demo = self;
    return demo_arena_play(&demo->setup, actor);
}

// ---------------------------------------------------------------- following

/// False: the screen has not written this one. Truths that are not there yet are not compared.
static bool read_look(ArenaDemo *demo, int64_t look)
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
static int32_t looked_at_from(const ArenaDemo *demo)
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

static void count_errors(ArenaDemo *demo)
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

static bool arena_follow(void *self, int64_t look)
{
    ArenaDemo *demo = self;
    if (!read_look(demo, look)) {
        return false;
    }
    count_errors(demo);
    return true;
}

// ---------------------------------------------------------------- JSON

static void add(json_t *list, int64_t number)
{
    json_array_append_new(list, json_integer(number));
}

/// How each is shown: 0 not at all, 1 as told, 2 its replica walks to where it is told to be, 3 its
/// replica is guided.
static json_t *players_json(const ArenaDemo *demo)
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
static json_t *upload_json(const ArenaDemo *demo)
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

static json_t *arena_frame(const void *self)
{
    const ArenaDemo *demo = self;
    ArenaScreenFigures *screen = &demo->setup.board->screen;
    return json_pack("{s:s,s:I,s:i,s:b,s:i,s:o,s:o,s:o,s:I,s:o,s:o,s:[o,o]}", "type", "frame", "t",
                     (json_int_t)demo_time_ms(&demo->shell), "game", (int)demo->order.games,
                     "driven", demo->order.driven, "peers", (int)atomic_load(&screen->peers),
                     "players", players_json(demo), "upload", upload_json(demo), "own",
                     own_json(screen), "items", (json_int_t)atomic_load(&screen->items), "shots",
                     demo_json_shots(&demo->seen), "sums", sums_json(screen), "error",
                     error_json(&demo->follow[0]), error_json(&demo->follow[1]));
}

static json_t *arena_hello(const void *self)
{
    const ArenaDemo *demo = self;
    json_t *modes = json_array();
    json_t *names = json_array();
    json_t *ways = json_array();
    for (int32_t t = 0; t < TOPOLOGIES; t++) {
        web_choices_add(ways, topologies[t].name, topologies[t].help);
    }
    for (int32_t m = 0; m < ARENA_MODES; m++) {
        web_choices_add(modes, arena_mode_name((ArenaMode)m), arena_mode_meaning((ArenaMode)m));
    }
    for (int32_t i = 0; i < demo->setup.player_count; i++) {
        json_array_append_new(names, json_string(arena_character_name(i % ARENA_CHARACTER_COUNT)));
    }
    return json_pack("{s:s,s:s,s:s,s:i,s:i,s:o,s:o,s:o,s:o,s:f,s:f,s:i,s:i}", "type", "hello",
                     "demo", "arena", "version", FL_VERSION, "players",
                     (int)demo->setup.player_count, "tick_hz", ARENA_TICK_HZ, "world",
                     play_map_arena(demo->setup.game), "modes", modes, "topologies", ways, "names",
                     names, "kbps_min", KBPS_MIN, "kbps_max", KBPS_MAX, "rtt_max_ms", RTT_MAX_MS,
                     "loss_max_percent", LOSS_MAX_PERCENT);
}

static json_t *arena_settings(const void *self)
{
    const ArenaDemo *demo = self;
    const ArenaOrder *order = &demo->order;
    return json_pack("{s:s,s:s,s:s,s:f,s:f,s:f}", "type", "settings", "mode",
                     arena_mode_name(order->mode), "topology",
                     topologies[order->crowd ? 1 : 0].name, "kbps", order->kbps, "rtt_ms",
                     (double)order->rtt_ns / 1e6, "loss_percent", order->loss_ppm / 1e4);
}

// ---------------------------------------------------------------- commands

/// Everybody meets again: what was measured before is over.
static void arena_restart(void *self)
{
    ArenaDemo *demo = self;
    demo->order.games++;
    memset(demo->follow, 0, sizeof demo->follow);
}

static void arena_set(void *self, const json_t *what)
{
    ArenaDemo *demo = self;
    const char *mode = json_string_value(json_object_get(what, "mode"));
    ArenaOrder *order = &demo->order;
    const char *topology = json_string_value(json_object_get(what, "topology"));
    ArenaMode before = order->mode;
    bool before_crowd = order->crowd;
    double before_kbps = order->kbps;
    if (mode != NULL) {
        (void)mode_find(mode, &order->mode);
    }
    if (topology != NULL) {
        (void)topology_find(topology, &order->crowd);
    }
    (void)demo_json_number(what, "kbps", KBPS_MIN, KBPS_MAX, &order->kbps);
    demo_json_ms(what, "rtt_ms", RTT_MAX_MS, &order->rtt_ns);
    demo_json_percent(what, "loss_percent", LOSS_MAX_PERCENT, &order->loss_ppm);
    if (order->mode != before || order->crowd != before_crowd || order->kbps > before_kbps ||
        order->kbps < before_kbps) {
        arena_restart(demo);
    }
}

static void arena_drive(void *self, const DemoKeys *keys)
{
    ArenaDemo *demo = self;
    demo->order.keys = (ArenaKeys){.drive = keys->drive, .turn = keys->turn, .fire = keys->fire};
}

const DemoKind demo_arena = {
    .name = "arena",
    .help = "one player's screen in a match of many: whom it looks at, and what that costs",
    .players_min = 2,
    .players_max = ARENA_DEMO_PLAYERS_MAX,
    .has_scheme = true,
    .has_topology = true,
    .process_count = ARENA_DEMO_PROCESSES, // no host yet: its door is on the board, and opens later
    .self_bytes = sizeof(ArenaDemo),
    .board_bytes = sizeof(ArenaBoard),
    .looks_at = offsetof(ArenaBoard, looks),
    .order_bytes = sizeof(ArenaOrder),
    .choose = arena_choose,
    .make = arena_make,
    .unmake = arena_unmake,
    .act = arena_act,
    .follow = arena_follow,
    .hello = arena_hello,
    .settings = arena_settings,
    .frame = arena_frame,
    .set = arena_set,
    .drive = arena_drive,
    .restart = arena_restart,
};
