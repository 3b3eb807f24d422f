// The tanks demo as its parent sees it: orders out, rows in, JSON for the page.
//
// Errors are counted here, from the rows: at every look the distance between the exported tank and
// where each receiver has it, times the time between two looks. That is what the papers call the
// accumulated export error (AEE), by a true common clock; the owner's ledger, which knows only
// reports, is told beside it.
#include "app/demo/demo_tanks.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/cli/options.h"
#include "app/demo/demo.h"
#include "app/demo/demo_json.h"
#include "app/page/web_choices.h"
#include "app/play/play_maps.h"

#define SMOOTHING 0.02 // of the error shown as "now": half a second
#define JITTER_MAX_MS 180
#define LOSS_MAX_PERCENT 30

static const FlTime delays[TANKS_DEMO_RECEIVERS] = {FL_MS(200), FL_MS(500), FL_MS(800)};

static const char *const clocks[] = {"global", "local", "one-way"}; // as FlTimeMode

/// One receiver, as followed by the parent.
typedef struct Follow {
    double aee;
    double now; ///< Distance, smoothed.
} Follow;

typedef struct TanksDemo {
    Demo shell;
    TanksDemoSetup setup;
    TanksOrder order;
    uint32_t restarts;
    Follow follow[TANKS_DEMO_RECEIVERS];
    DemoRow real, exported, seen[TANKS_DEMO_RECEIVERS];
    bool fresh[TANKS_DEMO_RECEIVERS]; ///< A receiver's row is of this look, not of one before.
} TanksDemo;

// ---------------------------------------------------------------- shared with the processes

FlSessionDef demo_tanks_session(const TanksDemoSetup *setup, int32_t actor, FlTimeMode clock)
{
    FlSessionDef def = fl_session_def_default();
    def.role = actor == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    def.world = tanks_wire_world(&setup->world, DEMO_THINGS_MAX * 4);
    def.peer_capacity = TANKS_DEMO_RECEIVERS + 1;
    def.entity_capacity = DEMO_THINGS_MAX * 2; // old ones linger while new ones come
    def.tuning.path_capacity = 256;
    def.join_timeout_ns = FL_SEC(15);
    def.host = setup->host;
    def.tuning.time_mode = clock;
    def.seed = setup->seed + (uint64_t)actor;
    return def;
}

FlImpairSettings demo_tanks_way(FlTime delay_ns, const TanksOrder *order)
{
    FlImpairSettings way = fl_impair_def_default().settings;
    way.delay_ns = delay_ns;
    way.jitter_ns = order->jitter_ns < delay_ns ? order->jitter_ns : delay_ns;
    way.shape = order->jitter_ns > 0 ? FL_SHAPE_UNIFORM : FL_SHAPE_CONSTANT;
    way.loss_ppm = order->loss_ppm;
    return way;
}

TanksNews demo_tanks_news(const TanksDemoSetup *setup, const DemoActor *actor, TanksNews *last)
{
    TanksNews news;
    for (int32_t i = 0; i < TANKS_DEMO_PLAYERS_MAX; i++) {
        news.number1[i] = atomic_load(&setup->board->number1[i]);
    }
    for (int32_t r = 0; r < TANKS_DEMO_RECEIVERS; r++) {
        news.peer1[r] = atomic_load(&setup->board->receiver[r].peer1);
    }
    demo_actor_board(actor, &news, last, (int32_t)sizeof news);
    return news;
}

// ---------------------------------------------------------------- making

static int tanks_choose(void *self, const DemoDef *def)
{
    TanksDemo *demo = self;
    const char *policy = def->policy != NULL ? def->policy : "base";
    demo->shell.order = &demo->order;
    demo->shell.driven = &demo->order.driven;
    if (fl_send_parse(policy, &demo->order.policy) != FL_OK) {
        return command_fail(EXIT_BAD_INPUT, def->who, "no such policy: %s", policy);
    }
    demo->setup.first = demo->order;
    return OPTIONS_GO_ON;
}

static bool tanks_make(void *self, const DemoDef *def)
{
    TanksDemo *demo = self;
    TanksDemoSetup *setup = &demo->setup;
    TanksRules rules = tanks_rules_default();
    rules.half_extent = def->players > 16 ? 220.0 : 150.0; // room enough, and never alone
    rules.building_count = 12;
    rules.respawn_ns = FL_SEC(2);
    rules.map_seed = def->seed;
    setup->player_count = def->players > 0 ? def->players : 8;
    setup->seed = def->seed;
    setup->host_net = demo->shell.host_net;
    setup->board = demo->shell.board;
    memcpy(setup->delay_ns, delays, sizeof delays);
    return tanks_world_init(&rules, &setup->world) == FL_OK;
}

static int tanks_act(void *self, const DemoActor *actor)
{
    TanksDemo *demo = self;
    demo->setup.host = demo->shell.host;
    return actor->number == 0 ? demo_tanks_own(&demo->setup, actor)
                              : demo_tanks_receive(&demo->setup, actor);
}

// ---------------------------------------------------------------- following

static void count_errors(TanksDemo *demo)
{
    const DemoThing *exported = &demo->exported.thing[0];
    for (int32_t r = 0; r < TANKS_DEMO_RECEIVERS; r++) {
        const DemoThing *placed = &demo->seen[r].thing[0];
        if (!demo->fresh[r] || !exported->there || !placed->there ||
            exported->life != placed->life) {
            continue;
        }
        double off = hypot(exported->x - placed->x, exported->y - placed->y);
        demo->follow[r].aee += off * fl_span_seconds(DEMO_LOOK_EVERY);
        demo->follow[r].now += (off - demo->follow[r].now) * SMOOTHING;
    }
}

static bool read_look(TanksDemo *demo, int64_t look)
{
    DemoLooks *looks = &demo->setup.board->looks;
    bool whole = demo_look_read(looks, TANKS_ROW_REAL, look, &demo->real) &&
                 demo_look_read(looks, TANKS_ROW_EXPORTED, look, &demo->exported);
    for (int32_t r = 0; r < TANKS_DEMO_RECEIVERS; r++) {
        demo->fresh[r] = demo_look_read(looks, TANKS_ROW_SEEN + r, look, &demo->seen[r]);
    }
    return whole;
}

/// A look after another restart begins new counts.
static void begin_again(TanksDemo *demo)
{
    uint32_t restarts = (uint32_t)demo->exported.thing[0].value;
    if (restarts != demo->restarts) {
        demo->restarts = restarts;
        memset(demo->follow, 0, sizeof demo->follow);
    }
}

static bool tanks_follow(void *self, int64_t look)
{
    TanksDemo *demo = self;
    if (!read_look(demo, look)) {
        return false;
    }
    begin_again(demo);
    count_errors(demo);
    return true;
}

// ---------------------------------------------------------------- JSON

/// Four numbers a tank.
static json_t *things_json(const TanksDemo *demo, const DemoRow *row)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < demo->setup.player_count; i++) {
        demo_json_thing(list, &row->thing[i]);
    }
    return list;
}

static json_t *screen_json(const TanksDemo *demo, const DemoRow *row)
{
    return json_pack("{s:o,s:o}", "tanks", things_json(demo, row), "shots", demo_json_shots(row));
}

static json_t *receiver_json(const TanksDemo *demo, int32_t r)
{
    TanksReceiver *receiver = &demo->setup.board->receiver[r];
    const DemoThing *placed = &demo->seen[r].thing[0];
    bool in = atomic_load(&receiver->peer1) != 0;
    return json_pack("{s:b,s:b,s:f,s:f,s:f,s:i,s:f}", "in", in, "sees", placed->there, "aee",
                     demo->follow[r].aee, "now", demo->follow[r].now, "ledger",
                     atomic_load(&receiver->ledger), "sent", (int)atomic_load(&receiver->sent),
                     "delay_ms", (double)atomic_load(&receiver->delay_ns) / 1e6);
}

static json_t *tanks_frame(const void *self)
{
    const TanksDemo *demo = self;
    double mean = 0.0;
    double square = 0.0;
    json_t *screens = json_array();
    json_t *receivers = json_array();
    json_t *exported = json_array();
    json_array_append_new(screens, screen_json(demo, &demo->real));
    demo_json_thing(exported, &demo->exported.thing[0]);
    for (int32_t r = 0; r < TANKS_DEMO_RECEIVERS; r++) {
        json_array_append_new(screens, screen_json(demo, &demo->seen[r]));
        json_array_append_new(receivers, receiver_json(demo, r));
        mean += demo->follow[r].aee / TANKS_DEMO_RECEIVERS;
    }
    for (int32_t r = 0; r < TANKS_DEMO_RECEIVERS; r++) {
        double apart = demo->follow[r].aee - mean;
        square += apart * apart / TANKS_DEMO_RECEIVERS;
    }
    return json_pack("{s:s,s:I,s:i,s:i,s:b,s:o,s:o,s:o,s:f,s:f}", "type", "frame", "t",
                     (json_int_t)demo_time_ms(&demo->shell), "life", (int)demo->real.thing[0].life,
                     "count", (int)demo->restarts, "driven", demo->order.driven, "screens", screens,
                     "exported", exported, "receivers", receivers, "mean", mean, "sd",
                     sqrt(square));
}

static json_t *tanks_hello(const void *self)
{
    const TanksDemo *demo = self;
    json_t *screens = json_array();
    json_t *modes = json_array();
    for (int32_t r = 0; r < TANKS_DEMO_RECEIVERS; r++) {
        json_array_append_new(screens, json_pack("{s:i}", "delay_ms", (int)(delays[r] / FL_MS(1))));
    }
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        json_array_append_new(modes, json_string(clocks[i]));
    }
    return json_pack("{s:s,s:s,s:s,s:i,s:o,s:o,s:o,s:o,s:i,s:i}", "type", "hello", "demo", "tanks",
                     "version", FL_VERSION, "players", (int)demo->setup.player_count, "world",
                     play_map_tanks(&demo->setup.world), "receivers", screens, "policies",
                     web_choices_policies(), "clocks", modes, "jitter_max_ms", JITTER_MAX_MS,
                     "loss_max_percent", LOSS_MAX_PERCENT);
}

static json_t *tanks_settings(const void *self)
{
    const TanksDemo *demo = self;
    char policy[FL_SEND_TEXT_BYTES];
    fl_send_text(&demo->order.policy, policy);
    return json_pack("{s:s,s:s,s:f,s:f,s:s,s:O?}", "type", "settings", "policy", policy,
                     "jitter_ms", (double)demo->order.jitter_ns / 1e6, "loss_percent",
                     demo->order.loss_ppm / 1e4, "clock", clocks[demo->order.clock], "refused",
                     demo->shell.refused);
}

// ---------------------------------------------------------------- commands

static void tanks_set(void *self, const json_t *what)
{
    TanksDemo *demo = self;
    const char *policy = json_string_value(json_object_get(what, "policy"));
    const char *clock = json_string_value(json_object_get(what, "clock"));
    FlSend send;
    bool known = policy != NULL && fl_send_parse(policy, &send) == FL_OK;
    if (known) {
        demo->order.policy = send;
        demo->order.policies++;
    }
    web_choices_refuse(&demo->shell.refused, json_object_get(what, "policy"), known);
    demo_json_ms(what, "jitter_ms", JITTER_MAX_MS, &demo->order.jitter_ns);
    demo_json_percent(what, "loss_percent", LOSS_MAX_PERCENT, &demo->order.loss_ppm);
    for (size_t i = 0; clock != NULL && i < sizeof clocks / sizeof *clocks; i++) {
        if (strcmp(clock, clocks[i]) == 0) {
            demo->order.clock = (FlTimeMode)i;
        }
    }
}

static void tanks_drive(void *self, const DemoKeys *keys)
{
    TanksDemo *demo = self;
    demo->order.input = (TanksInput){.drive = keys->drive, .turn = keys->turn, .fire = keys->fire};
}

static void tanks_restart(void *self)
{
    TanksDemo *demo = self;
    demo->order.restarts++;
}

const DemoKind demo_tanks = {
    .name = "tanks",
    .help = "one owner, receivers 200, 500 and 800 ms away: how wrong, and how unequally",
    .players_min = 1,
    .players_max = TANKS_DEMO_PLAYERS_MAX,
    .has_policy = true,
    .process_count = TANKS_DEMO_RECEIVERS + 1,
    .has_host = true,
    .self_bytes = sizeof(TanksDemo),
    .board_bytes = sizeof(TanksBoard),
    .looks_at = offsetof(TanksBoard, looks),
    .order_bytes = sizeof(TanksOrder),
    .choose = tanks_choose,
    .make = tanks_make,
    .act = tanks_act,
    .follow = tanks_follow,
    .hello = tanks_hello,
    .settings = tanks_settings,
    .frame = tanks_frame,
    .set = tanks_set,
    .drive = tanks_drive,
    .restart = tanks_restart,
};
