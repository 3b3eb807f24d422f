// The racing demo as its parent sees it: orders out, rows in, JSON for the page.
//
// At every look the two screens are compared: who leads on each, and where each has the cars. That
// is the measure of the racing experiments (docs/guide/racing_experiment.md), live.
#include "app/demo/demo_racing.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/cli/options.h"
#include "app/demo/demo.h"
#include "app/demo/demo_json.h"
#include "app/page/web_choices.h"
#include "app/play/play_maps.h"

#define RECENT_LOOKS 1000 // 10 s
#define SMOOTHING 0.02
#define DELAY_MAX_MS 300
#define JITTER_MAX_MS 60
#define LOSS_MAX_PERCENT 30

static const struct {
    const char *name, *help;
} schemes[] = {
    {"nc", "no control: every sample is sent, and shown on arrival"},
    {"causality", "every sample, shown 100 ms after it was made; later ones are discarded"},
    {"dr", "sent when the prediction is off; shown at once"},
    {"dr+causality", "the same, shown as of 100 ms ago"},
    {"adaptive", "the same, as of a delay that both agree on"},
    {"best", "as of 100 ms ago, by velocity, smoothly; the own car by what was told of it"},
};

typedef struct RacingDemo {
    Demo shell;
    RacingSetup setup;
    RacingOrder order;
    DemoRow rows[RACING_PLAYERS];
    uint32_t race; ///< Of the rows.
    int64_t compared, disagreed;
    uint8_t recent[RECENT_LOOKS]; ///< Bits: compared, disagreed.
    double off[RACING_PLAYERS];   ///< Of each car at the other player's, m, smoothed.
} RacingDemo;

RacingNews demo_racing_news(const RacingSetup *setup, const DemoActor *actor, RacingNews *last)
{
    RacingBoard *board = setup->board;
    RacingNews news;
    memset(&news, 0, sizeof news); // it is compared, gaps included
    news.race = atomic_load(&board->race);
    news.start = atomic_load(&board->start); // not before the race: the host writes it first
    for (int32_t p = 0; p < RACING_PLAYERS; p++) {
        news.number1[p] = atomic_load(&board->player[p].number1);
        news.in[p] = atomic_load(&board->player[p].in) ? 1 : 0;
        news.half_laps[p] = atomic_load(&board->player[p].half_laps);
    }
    demo_actor_board(actor, &news, last, (int32_t)sizeof news);
    return news;
}

// ---------------------------------------------------------------- making

static int racing_choose(void *self, const DemoDef *def)
{
    RacingDemo *demo = self;
    const char *name = def->scheme != NULL ? def->scheme : "nc";
    demo->shell.order = &demo->order;
    demo->shell.driven = &demo->order.driven;
    if (!race_scheme_parse(name, &demo->order.scheme)) {
        return command_fail(EXIT_BAD_INPUT, def->who, "no such scheme: %s", name);
    }
    demo->order.delay_ns = FL_MS(75);
    demo->order.jitter_ns = FL_MS(10);
    demo->setup.first = demo->order;
    return OPTIONS_GO_ON;
}

static bool racing_make(void *self, const DemoDef *def)
{
    RacingDemo *demo = self;
    RacingDef game = racing_def_default();
    game.seed = def->seed;
    game.time_limit = 0;
    demo->setup.seed = def->seed;
    demo->setup.host_net = demo->shell.host_net;
    demo->setup.board = demo->shell.board;
    return racing_create(&game, &demo->setup.game) == FL_OK;
}

static void racing_unmake(void *self)
{
    RacingDemo *demo = self;
    racing_destroy(demo->setup.game);
}

static int racing_act(void *self, const DemoActor *actor)
{
    RacingDemo *demo = self;
    demo->setup.host = demo->shell.host;
    return demo_racing_play(&demo->setup, actor);
}

// ---------------------------------------------------------------- following

static void count_again(RacingDemo *demo)
{
    demo->compared = 0;
    demo->disagreed = 0;
    memset(demo->recent, 0, sizeof demo->recent);
}

/// How far the first car is ahead on a player's screen, m.
static double gap_at(const RacingDemo *demo, int32_t player)
{
    return demo->rows[player].thing[0].value - demo->rows[player].thing[1].value;
}

/// Both screens show the same race, and it has begun.
static bool comparable(const RacingDemo *demo)
{
    const DemoThing *first = &demo->rows[0].thing[RACING_TRUTH];
    const DemoThing *second = &demo->rows[1].thing[RACING_TRUTH];
    return first->alive && second->alive && first->life == second->life;
}

static bool disagree(const RacingDemo *demo)
{
    return (gap_at(demo, 0) > 0.0) != (gap_at(demo, 1) > 0.0);
}

static void compare(RacingDemo *demo, int64_t look)
{
    bool counts = comparable(demo);
    bool differs = counts && disagree(demo);
    demo->compared += counts ? 1 : 0;
    demo->disagreed += differs ? 1 : 0;
    demo->recent[look % RECENT_LOOKS] = (uint8_t)((counts ? 1 : 0) | (differs ? 2 : 0));
    for (int32_t p = 0; counts && p < RACING_PLAYERS; p++) {
        double own = demo->rows[p].thing[p].value;
        double there = demo->rows[1 - p].thing[p].value;
        demo->off[p] += (own - there - demo->off[p]) * SMOOTHING;
    }
}

static bool racing_follow(void *self, int64_t look)
{
    RacingDemo *demo = self;
    for (int32_t p = 0; p < RACING_PLAYERS; p++) {
        if (!demo_look_read(demo->shell.looks, p, look, &demo->rows[p])) {
            return false;
        }
    }
    compare(demo, look);
    return true;
}

// ---------------------------------------------------------------- JSON

/// Share of the comparisons of the last 10 s, in percent.
static double recent_rate(const RacingDemo *demo)
{
    int32_t compared = 0;
    int32_t disagreed = 0;
    for (int32_t i = 0; i < RECENT_LOOKS; i++) {
        compared += demo->recent[i] & 1;
        disagreed += demo->recent[i] >> 1;
    }
    return compared > 0 ? 100.0 * disagreed / compared : 0.0;
}

static json_t *screen_json(const RacingDemo *demo, int32_t p)
{
    RacingPlayer *player = &demo->setup.board->player[p];
    json_t *cars = json_array();
    for (int32_t c = 0; c < RACING_PLAYERS; c++) {
        demo_json_thing(cars, &demo->rows[p].thing[c]);
    }
    return json_pack("{s:o,s:f,s:b,s:i,s:f}", "cars", cars, "gap", gap_at(demo, p), "in",
                     (int)atomic_load(&player->in), "told", (int)atomic_load(&player->told),
                     "behind_ms", (double)atomic_load(&player->delta_ns) / 1e6);
}

/// Where the race is, for people: cars move a second before they are compared.
static const char *phase_of(const RacingDemo *demo)
{
    int32_t tick = atomic_load(&demo->setup.board->player[0].tick);
    if (demo->rows[0].thing[0].life == 0) {
        return "waiting";
    }
    return tick == 0 ? "grid" : tick < RACING_OVER_TICK ? "race" : "over";
}

static json_t *racing_frame(const void *self)
{
    const RacingDemo *demo = self;
    double rate =
        demo->compared > 0 ? 100.0 * (double)demo->disagreed / (double)demo->compared : 0.0;
    json_t *truth = json_array();
    json_t *screens = json_array();
    json_t *off = json_array();
    for (int32_t p = 0; p < RACING_PLAYERS; p++) {
        demo_json_thing(truth, &demo->rows[p].thing[RACING_TRUTH]);
        json_array_append_new(screens, screen_json(demo, p));
        json_array_append_new(off, json_real(demo->off[p] / RACE_CAR_LENGTH));
    }
    return json_pack("{s:s,s:I,s:i,s:s,s:i,s:b,s:b,s:b,s:o,s:o,s:o,s:f,s:f}", "type", "frame", "t",
                     (json_int_t)demo_time_ms(&demo->shell), "race",
                     (int)demo->rows[0].thing[0].life, "phase", phase_of(demo), "count",
                     (int)demo->order.restarts, "driven", demo->order.driven, "compared",
                     comparable(demo), "agree", !disagree(demo), "screens", screens, "truth", truth,
                     "off", off, "rate", rate, "recent", recent_rate(demo));
}

static json_t *racing_hello(const void *self)
{
    const RacingDemo *demo = self;
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        web_choices_add(list, schemes[i].name, schemes[i].help);
    }
    return json_pack("{s:s,s:s,s:s,s:o,s:o,s:i,s:i,s:i}", "type", "hello", "demo", "racing",
                     "version", FL_VERSION, "course", play_map_racing(demo->setup.game), "schemes",
                     list, "delay_max_ms", DELAY_MAX_MS, "jitter_max_ms", JITTER_MAX_MS,
                     "loss_max_percent", LOSS_MAX_PERCENT);
}

static json_t *racing_settings(const void *self)
{
    const RacingDemo *demo = self;
    return json_pack("{s:s,s:s,s:f,s:f,s:f,s:O?}", "type", "settings", "scheme",
                     demo->order.scheme.name, "delay_ms", (double)demo->order.delay_ns / 1e6,
                     "jitter_ms", (double)demo->order.jitter_ns / 1e6, "loss_percent",
                     demo->order.loss_ppm / 1e4, "refused", demo->shell.refused);
}

// ---------------------------------------------------------------- commands

static void racing_set(void *self, const json_t *what)
{
    RacingDemo *demo = self;
    const char *name = json_string_value(json_object_get(what, "scheme"));
    RaceScheme scheme;
    bool known = name != NULL && race_scheme_parse(name, &scheme);
    if (known) {
        demo->order.scheme = scheme;
        demo->order.schemes++;
    }
    web_choices_refuse(&demo->shell.refused, json_object_get(what, "scheme"), known);
    demo_json_ms(what, "delay_ms", DELAY_MAX_MS, &demo->order.delay_ns);
    demo_json_ms(what, "jitter_ms", JITTER_MAX_MS, &demo->order.jitter_ns);
    demo_json_percent(what, "loss_percent", LOSS_MAX_PERCENT, &demo->order.loss_ppm);
    count_again(demo); // of other settings, another rate
}

static void racing_drive(void *self, const DemoKeys *keys)
{
    RacingDemo *demo = self;
    double along = keys->drive;
    demo->order.input = (RacingInput){.throttle = (int8_t)(along > 0.0 ? 15.0 * along : 0.0),
                                      .steer = (int8_t)(40.0 * keys->turn),
                                      .brake = (int8_t)(along < 0.0 ? -15.0 * along : 0.0)};
}

static void racing_restart(void *self)
{
    RacingDemo *demo = self;
    demo->order.restarts++;
    count_again(demo);
}

const DemoKind demo_racing = {
    .name = "racing",
    .help = "two players and a network between them: who leads, on whose screen",
    .players_min = RACING_PLAYERS,
    .players_max = RACING_PLAYERS,
    .has_scheme = true,
    .process_count = RACING_PLAYERS,
    .has_host = true,
    .self_bytes = sizeof(RacingDemo),
    .board_bytes = sizeof(RacingBoard),
    .looks_at = offsetof(RacingBoard, looks),
    .order_bytes = sizeof(RacingOrder),
    .choose = racing_choose,
    .make = racing_make,
    .unmake = racing_unmake,
    .act = racing_act,
    .follow = racing_follow,
    .hello = racing_hello,
    .settings = racing_settings,
    .frame = racing_frame,
    .set = racing_set,
    .drive = racing_drive,
    .restart = racing_restart,
};
