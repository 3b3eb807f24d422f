// Timelines' messages from a stranger, and a timeline that is told what they say.
//
// Byte 0 chooses the message and what the timeline is like. What is read must be written again as
// the same bytes; then a timeline gets it, which must come through whatever the ticks are, while
// its players go on: their inputs come late, and some twice.
#include "fuzz.h"

#include <string.h>

#include "fairlead/timeline.h"

#include "agree/timeline.h"

enum { INPUT_BYTES = 2, STATE_BYTES = 24, NEAR = 100000 };

static void step(void *ctx, void *state, int64_t tick, const FlTimelineInputs *inputs)
{
    uint8_t *bytes = (uint8_t *)state;
    (void)ctx;
    for (int32_t p = 0; p < 4; p++) {
        bytes[p] = (uint8_t)(bytes[p] * 3 + (inputs->of[p] != NULL ? inputs->of[p][0] : tick));
    }
}

// A game that keeps its state itself.
typedef struct Game {
    uint8_t state[STATE_BYTES];
} Game;

static void step_own(void *ctx, void *state, int64_t tick, const FlTimelineInputs *inputs)
{
    (void)state;
    step(ctx, ((Game *)ctx)->state, tick, inputs);
}

static void save(void *ctx, void *bytes)
{
    memcpy(bytes, ((Game *)ctx)->state, STATE_BYTES);
}

static void load(void *ctx, const void *bytes)
{
    memcpy(((Game *)ctx)->state, bytes, STATE_BYTES);
}

static void guess(void *ctx, int32_t player, int64_t tick, const uint8_t *last, uint8_t *input)
{
    (void)ctx;
    input[0] = (uint8_t)(last[0] + player);
    input[1] = (uint8_t)tick;
}

static FlTimeline *make(uint8_t how, Game *game)
{
    FlTimelineDef def = fl_timeline_def_default();
    def.player_capacity = FL_TIMELINE_PLAYERS;
    def.history_ticks = 32;
    def.input_bytes = INPUT_BYTES;
    def.state_bytes = STATE_BYTES;
    def.game.step_fn = step;
    def.control = (FlControl)(how / 4 % 3);
    def.lag_ticks = how / 4 % 3 == FL_CONTROL_CONSTANT ? 6 : 0;
    def.stress_ticks = how / 16 % 2 != 0 ? 5 : 0;
    def.save_every = how / 16 % 4 == 0 ? 4 : 1;
    if (how / 32 % 2 != 0) {
        FlTimelineGame own = {.step_fn = step_own, .save_fn = save, .load_fn = load, .ctx = game};
        def.game = own;
        def.game.guess_fn = guess;
    }
    FlTimeline *timeline;
    const uint8_t state[STATE_BYTES] = {0};
    if (fl_timeline_create(&def, &timeline) != FL_OK) {
        return NULL;
    }
    fl_timeline_begin(timeline, NEAR - 10, state);
    for (int32_t p = 0; p < 4; p++) {
        FlResult entered = fl_timeline_enter(timeline, p, NEAR - 10);
        FL_ASSERT(entered == FL_OK);
    }
    fl_timeline_advance(timeline, NEAR);
    return timeline;
}

static void feed_tick_range(FlTimeline *timeline, const FlTickRangeMessage *m)
{
    for (int32_t i = 0; i < m->count; i++) {
        FlResult taken =
            fl_timeline_input(timeline, m->player, m->first + i, m->bytes + i * INPUT_BYTES);
        (void)taken;
    }
    FlResult left = fl_timeline_leave(timeline, m->player, m->newest + 1);
    (void)left;
}

// Reads, tells and writes again. False: it is none.
static bool one(int32_t kind, FlTimeline *timeline, FlReader *r, FlWriter *w)
{
    FlHashesMessage hashes;
    FlTickRangeMessage range;
    FlEnterMessage enter;
    FlSnapshotMessage snapshot;
    if (kind == 0 && fl__hashes_message_read(r, NEAR, &hashes)) {
        for (int32_t i = 0; i < hashes.count; i++) {
            fl__timeline_hash_received(timeline, 1, hashes.first + i, hashes.hash[i]);
        }
        fl__hashes_message_write(w, &hashes);
        return true;
    }
    if (kind == 1 && fl__tick_range_message_read(r, NEAR, INPUT_BYTES, &range)) {
        feed_tick_range(timeline, &range);
        fl__tick_range_message_write(w, INPUT_BYTES, &range);
        return true;
    }
    if (kind == 2 && fl__enter_message_read(r, NEAR, &enter)) {
        FlResult entered = fl_timeline_enter(timeline, enter.player, enter.tick);
        (void)entered;
        fl__enter_message_write(w, &enter);
        return true;
    }
    if (kind == 3 && fl__snapshot_message_read(r, &snapshot)) {
        FlResult begun = fl__timeline_begin_part(timeline, snapshot.tick, snapshot.offset,
                                                 snapshot.bytes, snapshot.count);
        (void)begun;
        fl__snapshot_message_write(w, &snapshot);
        return true;
    }
    return false;
}

// Inputs up to so many ticks ago, a hash that may be wrong, and all that a game may ask.
static void play_on(FlTimeline *timeline, int64_t tick, uint8_t how)
{
    for (int32_t p = 0; p < 4; p++) {
        for (int64_t t = tick - 12 - p; t < tick - how % 4 * p; t++) {
            uint8_t input[INPUT_BYTES] = {(uint8_t)t, (uint8_t)p};
            (void)!fl_timeline_input(timeline, p, t, input);
        }
    }
    fl_timeline_advance(timeline, tick);
    int64_t settled;
    int64_t present;
    uint16_t hash;
    (void)fl_timeline_settled(timeline, &settled);
    (void)fl_timeline_present(timeline, &present);
    FL_ASSERT(settled <= present);
    if (fl__timeline_hash(timeline, settled, &hash) == FL_OK) {
        fl__timeline_hash_received(timeline, 1, settled, (uint16_t)(hash + how % 2));
        fl__timeline_hash_received(timeline, 1, settled + 3, hash);
    }
    FL_ASSERT(fl_timeline_figures(timeline).dropped < 1000000);
    fl_timeline_lag(timeline, how / 8 % 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t again[4096];
    if (size < 1 || size > sizeof again) {
        return 0;
    }
    Game game = {0};
    FlTimeline *timeline = make(data[0], &game);
    if (timeline == NULL) {
        return 0;
    }
    FlReader r;
    FlWriter w;
    fl_reader_init(&r, data + 1, (int32_t)size - 1);
    fl_writer_init(&w, again, sizeof again);
    if (one(data[0] % 4, timeline, &r, &w)) {
        FL_ASSERT(!w.failed && fl_writer_size(&w) == (int32_t)size - 1);
        FL_ASSERT(memcmp(again, data + 1, size - 1) == 0);
    }
    for (int64_t tick = NEAR; tick < NEAR + 60; tick += 7) {
        play_on(timeline, tick, data[size - 1]);
    }
    fl_timeline_destroy(timeline);
    return 0;
}
