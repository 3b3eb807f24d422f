// The racing demo as its parent sees it: orders out, rows in, JSON for the page.
//
// At every look the two screens are compared: who leads on each, and where each has the cars. That
// is the measure of the racing experiments (docs/guide/racing_experiment.md), live.
#include "app/demo/demo_racing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/cli/options.h"
#include "app/demo/demo.h"
#include "app/demo/demo_json.h"
#include "app/page/web_choices.h"
#include "app/play/play_maps.h"
#include "lab/world/distant.h"

#define RECENT_LOOKS 1000 // 10 s
#define SMOOTHING 0.02
#define STOP_DRIVING FL_SEC(6)
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

struct Demo {
    DemoStage stage;
    RacingSetup setup;
    RacingOrder order;
    FlTime driven_at;
    int64_t look; ///< The newest that was read.
    DemoRow rows[RACING_PLAYERS];
    bool has_picture;
    uint32_t race; ///< Of the rows.
    int64_t compared, disagreed;
    uint8_t recent[RECENT_LOOKS]; ///< Bits: compared, disagreed.
    double off[RACING_PLAYERS];   ///< Of each car at the other player's, m, smoothed.
    json_t *refused;              ///< A scheme that was asked for, and is none; NULL: none was.
};

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

static int act(void *ctx, const DemoActor *actor)
{
    Demo *demo = ctx;
    RacingSetup *setup = &demo->setup;
    demo_actor_begin(actor, "racing", &setup->host, &setup->board->looks.begin);
    int status = demo_racing_play(setup, actor);
    demo_actor_end(actor);
    return status;
}

// ---------------------------------------------------------------- making

static bool make_course(const DemoDef *def, RacingSetup *setup)
{
    RacingDef game = racing_def_default();
    game.seed = def->seed;
    game.time_limit = 0;
    setup->seed = def->seed;
    return racing_create(&game, &setup->game) == FL_OK;
}

static bool make_setup(const DemoDef *def, RacingSetup *setup)
{
    if (!make_course(def, setup) || distant_net_open(&setup->host_net) != FL_OK) {
        return false;
    }
    setup->host = fl_net_address(setup->host_net);
    return true;
}

static void racing_close(Demo *demo)
{
    demo_stage_close(&demo->stage);
    fl_net_destroy(demo->setup.host_net);
    racing_destroy(demo->setup.game);
    json_decref(demo->refused);
    free(demo);
}

/// With the settings that it begins with.
static int make_demo(const DemoDef *def, Demo **out)
{
    const char *name = def->scheme != NULL ? def->scheme : "nc";
    RaceScheme scheme;
    *out = NULL;
    if (!race_scheme_parse(name, &scheme)) {
        return command_fail(EXIT_BAD_INPUT, def->who, "no such scheme: %s", name);
    }
    int status = demo_record_check(&def->record, RACING_PLAYERS);
    Demo *demo = status == OPTIONS_GO_ON ? calloc(1, sizeof *demo) : NULL;
    if (demo == NULL) {
        return status != OPTIONS_GO_ON ? status
                                       : command_fail(EXIT_FAILED, def->who, "out of memory");
    }
    demo->order.scheme = scheme;
    demo->order.delay_ns = FL_MS(75);
    demo->order.jitter_ns = FL_MS(10);
    demo->setup.first = demo->order;
    *out = demo;
    return OPTIONS_GO_ON;
}

static int racing_again(const DemoDef *def, const DemoActor *actor)
{
    Demo *demo;
    int status = make_demo(def, &demo);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    FL_ASSERT(demo != NULL);
    demo->setup.board = calloc(1, sizeof *demo->setup.board);
    bool ok = demo->setup.board != NULL && actor->number < RACING_PLAYERS &&
              make_course(def, &demo->setup);
    status = ok ? act(demo, actor) : command_fail(EXIT_FAILED, def->who, "cannot begin again");
    racing_destroy(demo->setup.game);
    free(demo->setup.board);
    free(demo);
    return status;
}

static int racing_open(const DemoDef *def, Demo **out)
{
    Demo *demo;
    *out = NULL;
    int status = make_demo(def, &demo);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    FL_ASSERT(demo != NULL);
    bool ok = demo_stage_open(&demo->stage, sizeof(RacingBoard)) && make_setup(def, &demo->setup);
    if (ok) {
        demo->setup.board = demo->stage.board;
        demo->stage.record = def->record;
        demo_looks_init(&demo->setup.board->looks, fl_net_now());
        ok = demo_stage_start(&demo->stage, RACING_PLAYERS, act, demo);
    }
    if (!ok) {
        racing_close(demo);
        return command_fail(EXIT_FAILED, def->who, "cannot start the processes of the demo");
    }
    *out = demo;
    return OPTIONS_GO_ON;
}

static bool racing_alive(Demo *demo)
{
    return demo_stage_alive(&demo->stage);
}

// ---------------------------------------------------------------- following

static void count_again(Demo *demo)
{
    demo->compared = 0;
    demo->disagreed = 0;
    memset(demo->recent, 0, sizeof demo->recent);
}

/// How far the first car is ahead on a player's screen, m.
static double gap_at(const Demo *demo, int32_t player)
{
    return demo->rows[player].thing[0].value - demo->rows[player].thing[1].value;
}

/// Both screens show the same race, and it has begun.
static bool comparable(const Demo *demo)
{
    const DemoThing *first = &demo->rows[0].thing[RACING_TRUTH];
    const DemoThing *second = &demo->rows[1].thing[RACING_TRUTH];
    return first->alive && second->alive && first->life == second->life;
}

static bool disagree(const Demo *demo)
{
    return (gap_at(demo, 0) > 0.0) != (gap_at(demo, 1) > 0.0);
}

static void compare(Demo *demo)
{
    bool counts = comparable(demo);
    bool differs = counts && disagree(demo);
    demo->compared += counts ? 1 : 0;
    demo->disagreed += differs ? 1 : 0;
    demo->recent[demo->look % RECENT_LOOKS] = (uint8_t)((counts ? 1 : 0) | (differs ? 2 : 0));
    for (int32_t p = 0; counts && p < RACING_PLAYERS; p++) {
        double own = demo->rows[p].thing[p].value;
        double there = demo->rows[1 - p].thing[p].value;
        demo->off[p] += (own - there - demo->off[p]) * SMOOTHING;
    }
}

static void follow(Demo *demo, FlTime now)
{
    DemoLooks *looks = &demo->setup.board->looks;
    int64_t newest = demo_looks_due(looks, now, &demo->look);
    while (demo->look < newest) {
        demo->look++;
        if (demo_look_read(looks, 0, demo->look, &demo->rows[0]) &&
            demo_look_read(looks, 1, demo->look, &demo->rows[1])) {
            demo->has_picture = true;
            compare(demo);
        }
    }
    if (demo->order.driven && now - demo->driven_at > STOP_DRIVING) {
        demo->order.driven = false;
        demo_stage_order(&demo->stage, &demo->order, sizeof demo->order);
    }
}

// ---------------------------------------------------------------- JSON

/// Share of the comparisons of the last 10 s, in percent.
static double recent_rate(const Demo *demo)
{
    int32_t compared = 0;
    int32_t disagreed = 0;
    for (int32_t i = 0; i < RECENT_LOOKS; i++) {
        compared += demo->recent[i] & 1;
        disagreed += demo->recent[i] >> 1;
    }
    return compared > 0 ? 100.0 * disagreed / compared : 0.0;
}

static json_t *screen_json(const Demo *demo, int32_t p)
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
static const char *phase_of(const Demo *demo)
{
    int32_t tick = atomic_load(&demo->setup.board->player[0].tick);
    if (demo->rows[0].thing[0].life == 0) {
        return "waiting";
    }
    return tick == 0 ? "grid" : tick < RACING_OVER_TICK ? "race" : "over";
}

static json_t *racing_frame(Demo *demo, FlTime now)
{
    follow(demo, now);
    if (!demo->has_picture) {
        return NULL;
    }
    int64_t time_ms = demo->look * (DEMO_LOOK_EVERY / FL_MS(1));
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
                     (json_int_t)time_ms, "race", (int)demo->rows[0].thing[0].life, "phase",
                     phase_of(demo), "count", (int)demo->order.restarts, "driven",
                     demo->order.driven, "compared", comparable(demo), "agree", !disagree(demo),
                     "screens", screens, "truth", truth, "off", off, "rate", rate, "recent",
                     recent_rate(demo));
}

static json_t *racing_hello(const Demo *demo)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        web_choices_add(list, schemes[i].name, schemes[i].help);
    }
    return json_pack("{s:s,s:s,s:s,s:o,s:o,s:i,s:i,s:i}", "type", "hello", "demo", "racing",
                     "version", FL_VERSION, "course", play_map_racing(demo->setup.game), "schemes",
                     list, "delay_max_ms", DELAY_MAX_MS, "jitter_max_ms", JITTER_MAX_MS,
                     "loss_max_percent", LOSS_MAX_PERCENT);
}

static json_t *racing_settings(const Demo *demo)
{
    return json_pack("{s:s,s:s,s:f,s:f,s:f,s:O?}", "type", "settings", "scheme",
                     demo->order.scheme.name, "delay_ms", (double)demo->order.delay_ns / 1e6,
                     "jitter_ms", (double)demo->order.jitter_ns / 1e6, "loss_percent",
                     demo->order.loss_ppm / 1e4, "refused", demo->refused);
}

// ---------------------------------------------------------------- commands

static void set(Demo *demo, const json_t *what)
{
    const char *name = json_string_value(json_object_get(what, "scheme"));
    RaceScheme scheme;
    double number;
    bool known = name != NULL && race_scheme_parse(name, &scheme);
    if (known) {
        demo->order.scheme = scheme;
        demo->order.schemes++;
    }
    web_choices_refuse(&demo->refused, json_object_get(what, "scheme"), known);
    if (demo_json_number(what, "delay_ms", 0.0, DELAY_MAX_MS, &number)) {
        demo->order.delay_ns = (FlTime)(number * 1e6);
    }
    if (demo_json_number(what, "jitter_ms", 0.0, JITTER_MAX_MS, &number)) {
        demo->order.jitter_ns = (FlTime)(number * 1e6);
    }
    if (demo_json_number(what, "loss_percent", 0.0, LOSS_MAX_PERCENT, &number)) {
        demo->order.loss_ppm = (int32_t)(number * 1e4);
    }
    count_again(demo); // of other settings, another rate
}

static void drive(Demo *demo, const json_t *input, FlTime now)
{
    double along = 0.0;
    double turn = 0.0;
    bool by_hand = demo_json_number(input, "drive", -1.0, 1.0, &along) &&
                   demo_json_number(input, "turn", -1.0, 1.0, &turn);
    RacingInput wanted = {.throttle = (int8_t)(along > 0.0 ? 15.0 * along : 0.0),
                          .steer = (int8_t)(40.0 * turn),
                          .brake = (int8_t)(along < 0.0 ? -15.0 * along : 0.0)};
    demo->order.driven = by_hand;
    demo->order.input = wanted;
    demo->driven_at = now;
}

static bool racing_command(Demo *demo, const json_t *command, FlTime now)
{
    const json_t *settings = json_object_get(command, "set");
    const json_t *input = json_object_get(command, "drive");
    if (json_is_object(settings)) {
        set(demo, settings);
    }
    if (input != NULL) {
        drive(demo, input, now);
    }
    if (json_is_true(json_object_get(command, "restart"))) {
        demo->order.restarts++;
        count_again(demo);
    }
    demo_stage_order(&demo->stage, &demo->order, sizeof demo->order);
    return json_is_object(settings);
}

const DemoKind demo_racing = {
    .name = "racing",
    .help = "two players and a network between them: who leads, on whose screen",
    .players_min = RACING_PLAYERS,
    .players_max = RACING_PLAYERS,
    .has_scheme = true,
    .open = racing_open,
    .hello = racing_hello,
    .settings = racing_settings,
    .frame = racing_frame,
    .command = racing_command,
    .alive = racing_alive,
    .close = racing_close,
    .again = racing_again,
};
