// fairlead bench rollback: what a repair of 30 ticks of the 16-car race costs, and where it goes.
//
// The yardstick is a timeline that goes back 30 ticks and plays them again, as it does when an
// input comes half a second late. Its parts are then done by themselves as often as it does them:
// loading once, saving and stepping 30 times, hashing what is shown. The rest is the timeline's
// own.
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>

#include "racing/racing.h"

enum { DEPTH = 30, CARS = 16, REPEATS = 50, BEGUN = 240 };

typedef struct Rollback {
    RacingGame *game;
    FlTimeline *timeline;
    RacingState state; // in the thick of it
    RacingState saves[DEPTH];
    RacingInput inputs[CARS];
    int64_t tick;
    uint8_t turn; // so that every repair repairs something
} Rollback;

static void step(void *ctx, void *state, int64_t tick, const FlTimelineInputs *inputs)
{
    const Rollback *r = (const Rollback *)ctx;
    RacingInput in[CARS] = {{0}};
    (void)tick;
    for (int32_t i = 0; i < CARS; i++) {
        if (inputs->of[i] != NULL && !racing_input_decode(inputs->of[i], &in[i])) {
            in[i] = (RacingInput){0};
        }
    }
    racing_step(r->game, (RacingState *)state, in);
}

static uint64_t hash(void *ctx, const void *bytes)
{
    (void)ctx;
    return racing_hash((const RacingState *)bytes);
}

// Everybody's input for a tick but car 0's, which is the one that comes late.
static bool give(Rollback *r, int32_t first_car, int64_t tick)
{
    bool taken = true;
    for (int32_t i = first_car; i < CARS; i++) {
        uint8_t bytes[RACING_INPUT_BYTES];
        racing_input_encode(r->inputs[i], bytes);
        taken = taken && fl_timeline_input(r->timeline, i, tick, bytes) == FL_OK;
    }
    return taken;
}

// A late input of car 0: back 30 ticks, and again. The present goes on by a tick each time, as in a
// game, and that one is counted with it.
static double work_timeline(void *ctx)
{
    Rollback *r = (Rollback *)ctx;
    for (int32_t n = 0; n < REPEATS; n++) {
        int64_t present = r->tick + 1;
        RacingInput input = {.throttle = 15, .steer = (int8_t)(r->turn++ % 2 == 0 ? 5 : -5)};
        uint8_t bytes[RACING_INPUT_BYTES];
        racing_input_encode(input, bytes);
        bool taken = give(r, 1, r->tick) &&
                     fl_timeline_input(r->timeline, 0, r->tick - DEPTH, bytes) == FL_OK;
        FL_ASSERT(taken);
        fl_timeline_advance(r->timeline, present);
        r->tick = present;
    }
    return (double)fl_timeline_figures(r->timeline).replayed;
}

static double work_step(void *ctx)
{
    Rollback *r = (Rollback *)ctx;
    RacingState state = r->state;
    for (int32_t n = 0; n < REPEATS; n++) {
        state = r->state;
        for (int32_t i = 0; i < DEPTH; i++) {
            racing_step(r->game, &state, r->inputs);
        }
    }
    return state.car[3].x;
}

static double work_save(void *ctx)
{
    Rollback *r = (Rollback *)ctx;
    for (int32_t n = 0; n < REPEATS; n++) {
        for (int32_t i = 0; i < DEPTH; i++) {
            r->state.unused = (uint32_t)(n + i); // another one each time, for the compiler
            memcpy(&r->saves[i], &r->state, sizeof r->state);
        }
    }
    r->state.unused = 0;
    return r->saves[DEPTH / 2].car[3].x;
}

static double work_load(void *ctx)
{
    Rollback *r = (Rollback *)ctx;
    double sum = 0.0;
    for (int32_t n = 0; n < REPEATS; n++) {
        RacingState state;
        memcpy(&state, &r->saves[n % DEPTH], sizeof state);
        sum += state.car[n % CARS].x;
    }
    return sum;
}

static double work_hash(void *ctx)
{
    const Rollback *r = (const Rollback *)ctx;
    uint64_t sum = 0;
    for (int32_t n = 0; n < 2 * REPEATS; n++) { // what is shown, and what is settled
        sum += racing_hash(&r->saves[n % DEPTH]);
    }
    return (double)(sum >> 32);
}

// ---------------------------------------------------------------- making

static bool open_race(Rollback *r)
{
    RacingDef def = racing_def_default();
    def.car_count = CARS;
    def.time_limit = 0;
    def.seed = 4;
    FlTimelineDef line = fl_timeline_def_default();
    line.state_bytes = sizeof(RacingState);
    line.game = (FlTimelineGame){.step_fn = step, .hash_fn = hash, .ctx = r};
    if (racing_create(&def, &r->game) != FL_OK ||
        fl_timeline_create(&line, &r->timeline) != FL_OK) {
        return false;
    }
    racing_start(r->game, &r->state);
    for (int32_t tick = 0; tick < BEGUN; tick++) {
        for (int32_t i = 0; i < CARS; i++) {
            r->inputs[i] = racing_bot_drive(r->game, 4, &r->state, i);
        }
        racing_step(r->game, &r->state, r->inputs);
    }
    bool taken = true;
    fl_timeline_begin(r->timeline, 0, &r->state);
    for (int32_t i = 0; i < CARS; i++) {
        taken = taken && fl_timeline_enter(r->timeline, i, 0) == FL_OK;
    }
    for (; r->tick < DEPTH && taken; r->tick++) {
        taken = give(r, 1, r->tick);
    }
    fl_timeline_advance(r->timeline, r->tick);
    return taken;
}

const char *bench_rollback(const BenchSettings *settings, BenchReport *report)
{
    static const BenchContender contenders[] = {
        {"all of it, and one new tick", work_timeline},
        {"30 steps", work_step},
        {"30 saves", work_save},
        {"one load", work_load},
        {"two hashes", work_hash},
    };
    (void)settings;
    Rollback *r = (Rollback *)calloc(1, sizeof *r);
    bool made = r != NULL && open_race(r);
    if (made) {
        bench_contest(report, "30 ticks back, 16 cars", contenders,
                      (int32_t)(sizeof contenders / sizeof *contenders), r, REPEATS, 41);
    }
    if (r != NULL) {
        fl_timeline_destroy(r->timeline);
        racing_destroy(r->game);
    }
    free(r);
    return made ? NULL : "out of memory";
}
