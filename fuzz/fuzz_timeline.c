// Timelines' messages from a stranger, and a timeline that is told what they say.
//
// Byte 0 chooses the message. What is read must be written again as the same bytes; then it is told
// to a timeline, which must come through whatever the ticks are.
#include "fuzz.h"

#include <string.h>

#include "fairlead/timeline.h"

enum { INPUT_BYTES = 2, STATE_BYTES = 24, NEAR = 100000 };

static void step(void *ctx, void *state, int64_t tick, const FlTimelineInputs *inputs)
{
    uint8_t *bytes = (uint8_t *)state;
    (void)ctx;
    for (int32_t p = 0; p < 4; p++) {
        bytes[p] = (uint8_t)(bytes[p] * 3 + (inputs->of[p] != NULL ? inputs->of[p][0] : tick));
    }
}

static FlTimeline *make(void)
{
    FlTimelineDef def = fl_timeline_def_default();
    def.player_capacity = FL_TIMELINE_PLAYERS;
    def.history_ticks = 32;
    def.input_bytes = INPUT_BYTES;
    def.state_bytes = STATE_BYTES;
    def.game.step_fn = step;
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

static void tell_stretch(FlTimeline *timeline, const FlStretchMessage *m)
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
    FlStretchMessage stretch;
    FlEnterMessage enter;
    FlSnapshotMessage snapshot;
    if (kind == 0 && fl_hashes_message_read(r, NEAR, &hashes)) {
        for (int32_t i = 0; i < hashes.count; i++) {
            fl_timeline_hash_heard(timeline, 1, hashes.first + i, hashes.hash[i]);
        }
        fl_hashes_message_write(w, &hashes);
        return true;
    }
    if (kind == 1 && fl_stretch_message_read(r, NEAR, INPUT_BYTES, &stretch)) {
        tell_stretch(timeline, &stretch);
        fl_stretch_message_write(w, INPUT_BYTES, &stretch);
        return true;
    }
    if (kind == 2 && fl_enter_message_read(r, NEAR, &enter)) {
        FlResult entered = fl_timeline_enter(timeline, enter.player, enter.tick);
        (void)entered;
        fl_enter_message_write(w, &enter);
        return true;
    }
    if (kind == 3 && fl_snapshot_message_read(r, &snapshot)) {
        FlResult begun = fl_timeline_begin_part(timeline, snapshot.tick, snapshot.offset,
                                                snapshot.bytes, snapshot.count);
        (void)begun;
        fl_snapshot_message_write(w, &snapshot);
        return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t again[4096];
    if (size < 1 || size > sizeof again) {
        return 0;
    }
    FlTimeline *timeline = make();
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
        fl_timeline_advance(timeline, tick);
    }
    fl_timeline_destroy(timeline);
    return 0;
}
