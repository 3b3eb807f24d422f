// Messages about lags, and actions.
//
// PROBE: something to measure.                                  spec/WIRE.md section 8.8
//
//   bits  field      unit   valid
//   8     kind       -      1
//   64    stamp      ns     when it was sent, on the sender's clock
//
// VECTOR: what the sender measured, in a round.                 spec/WIRE.md section 8.8
//
//   bits  field      unit   valid
//   8     kind       -      2
//   32    round      -      from 1
//   8     asks       -      0 or 1: sent again, something of this round has not come
//   64    members    -      a bit each, the sender's own set
//   8     plays      -      0: no actions yet, 1: those of all, 2: its own, being alone so far
//   64    a          ns     -2^61..2^61: its A; only if it plays
//   per member but the sender, by rising numbers:
//   64    v          ns     -2^60..2^60: the longest that anything of it took
//
// READY: the sender's lags are those of a round, or above.      spec/WIRE.md section 8.8
//
//   bits  field      unit   valid
//   8     kind       -      3
//   32    round      -      from 1
//   8     asks       -      0 or 1: sent again, something of this round has not come
//   64    stamp      ns     since when, on the sender's clock
//
// OFFSET: at which play times the sender's motions are shown.   spec/WIRE.md section 8.8
//
//   bits  field      unit   valid
//   8     kind       -      5
//   64    at         ns     -2^61..2^61: a time by which the sender stamps motions, since when
//   64    from       ns     -2^61..2^61: play time is `at` and this,
//   64    to         ns     `from` - 2^31..`from` + 2^31: and comes to be any time and this,
//   32    slew       ppm    1000..500000: by so much of the time that goes
//
// ACTION: something that a player did.                          spec/WIRE.md section 8.8
//
//   bits  field      unit   valid
//   8     kind       -      4
//   32    sequence   -      counts the sender's actions
//   64    play       ns     its play time
//   64    stamp      ns     when it was done, on the sender's clock
//   16    type       -      the game's own
//   then the game's bytes to the end, at most 160
#include "private.h"

#include "wire/wire.h"

#include <string.h>

#define KIND_ACTION 4
#define MEASURE_LIMIT (INT64_C(1) << 60)
#define RAMP_LIMIT (INT64_C(1) << 31) // longer ones are steps

static void put_time(FlWriter *w, FlTime time)
{
    fl_writer_put(w, (uint64_t)time, 64);
}

static FlTime take_time(FlReader *r)
{
    return (FlTime)fl_reader_take(r, 64);
}

static void write_vector(FlWriter *w, int32_t self, const Fl__LagsVector *vector)
{
    fl_writer_put(w, vector->round, 32);
    fl_writer_put(w, vector->asks ? 1 : 0, 8);
    fl_writer_put(w, vector->members, 64);
    fl_writer_put(w, (uint64_t)vector->plays, 8);
    if (vector->plays != FL__LAGS_NOT) {
        put_time(w, vector->a);
    }
    for (int32_t i = 0; i < FL_LAGS_PEERS; i++) {
        if (i != self && fl__lags_has(vector->members, i)) {
            put_time(w, vector->v[i]);
        }
    }
}

static void write_offset(FlWriter *w, const Fl__LagsOffset *offset)
{
    put_time(w, offset->ramp.at);
    put_time(w, offset->ramp.from);
    put_time(w, offset->ramp.to);
    fl_writer_put(w, (uint64_t)offset->slew_ppm, 32);
}

void fl__lags_write(FlWriter *writer, int32_t self, const Fl__LagsBody *body)
{
    fl_writer_put(writer, (uint64_t)body->kind, 8);
    if (body->kind == FL__LAGS_VECTOR) {
        write_vector(writer, self, &body->vector);
        return;
    }
    if (body->kind == FL__LAGS_OFFSET) {
        write_offset(writer, &body->offset);
        return;
    }
    if (body->kind == FL__LAGS_READY) {
        fl_writer_put(writer, body->round, 32);
        fl_writer_put(writer, body->asks ? 1 : 0, 8);
    }
    put_time(writer, body->stamp);
}

static bool is_sound(FlTime time)
{
    return time <= 2 * MEASURE_LIMIT && time >= -2 * MEASURE_LIMIT;
}

static void read_vector(FlReader *r, int32_t from, Fl__LagsVector *vector)
{
    vector->round = (uint32_t)fl_reader_take(r, 32);
    vector->asks = fl__reader_bool(r);
    vector->members = fl_reader_take(r, 64);
    uint64_t plays = fl_reader_take(r, 8);
    vector->plays = (Fl__LagsPlays)(plays <= FL__LAGS_ALONE ? plays : FL__LAGS_NOT);
    vector->a = vector->plays != FL__LAGS_NOT ? take_time(r) : 0;
    if (plays > FL__LAGS_ALONE || !is_sound(vector->a) || vector->round == 0 ||
        !fl__lags_has(vector->members, from)) {
        fl__reader_fail(r);
    }
    for (int32_t i = 0; i < FL_LAGS_PEERS && !r->failed; i++) {
        if (i != from && fl__lags_has(vector->members, i)) {
            vector->v[i] = take_time(r);
            if (vector->v[i] > MEASURE_LIMIT || vector->v[i] < -MEASURE_LIMIT) {
                fl__reader_fail(r);
            }
        }
    }
}

static void read_offset(FlReader *r, Fl__LagsOffset *offset)
{
    offset->ramp.at = take_time(r);
    offset->ramp.from = take_time(r);
    offset->ramp.to = take_time(r);
    uint64_t slew = fl_reader_take(r, 32);
    bool sound = slew >= FL__SLEW_LEAST && slew <= FL__SLEW_MOST && is_sound(offset->ramp.at) &&
                 is_sound(offset->ramp.from) && is_sound(offset->ramp.to) &&
                 offset->ramp.to - offset->ramp.from <= RAMP_LIMIT &&
                 offset->ramp.from - offset->ramp.to <= RAMP_LIMIT;
    offset->slew_ppm = sound ? (int32_t)slew : 0;
    if (!sound) {
        fl__reader_fail(r);
    }
}

bool fl__lags_read(FlReader *reader, int32_t from, Fl__LagsBody *body)
{
    memset(body, 0, sizeof *body);
    uint64_t kind = fl_reader_take(reader, 8);
    body->kind = (Fl__LagsKind)kind;
    switch (kind) {
    case FL__LAGS_PROBE:
        body->stamp = take_time(reader);
        break;
    case FL__LAGS_VECTOR:
        read_vector(reader, from, &body->vector);
        break;
    case FL__LAGS_READY:
        body->round = (uint32_t)fl_reader_take(reader, 32);
        body->asks = fl__reader_bool(reader);
        body->stamp = take_time(reader);
        if (body->round == 0) {
            fl__reader_fail(reader);
        }
        break;
    case FL__LAGS_OFFSET:
        read_offset(reader, &body->offset);
        break;
    default:
        fl__reader_fail(reader);
        break;
    }
    return fl__reader_whole(reader);
}

// ---------------------------------------------------------------- actions

void fl__action_write(FlWriter *writer, const FlOrdered *action)
{
    FL_ASSERT(action->count >= 0 && action->count <= FL_ACTION_BYTES);
    fl_writer_put(writer, KIND_ACTION, 8);
    fl_writer_put(writer, action->sequence, 32);
    put_time(writer, action->play);
    put_time(writer, action->stamp);
    fl_writer_put(writer, action->type, 16);
    fl_writer_bytes(writer, action->bytes, action->count);
}

bool fl__action_read(FlReader *reader, FlOrdered *action)
{
    memset(action, 0, sizeof *action);
    if (fl_reader_take(reader, 8) != KIND_ACTION) {
        fl__reader_fail(reader);
    }
    action->sequence = (uint32_t)fl_reader_take(reader, 32);
    action->play = take_time(reader);
    action->stamp = take_time(reader);
    action->type = (uint16_t)fl_reader_take(reader, 16);
    action->count = fl_reader_left(reader);
    if (action->count > FL_ACTION_BYTES) {
        fl__reader_fail(reader);
    }
    action->bytes = fl_reader_bytes(reader, action->count);
    if (reader->failed) {
        memset(action, 0, sizeof *action);
    }
    return fl__reader_whole(reader);
}
