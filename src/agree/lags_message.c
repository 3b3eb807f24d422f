// What peers say about lags, and actions on their way.
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
//   8     asks       -      0 or 1: told again, something of this round has not come
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
//   8     asks       -      0 or 1: told again, something of this round has not come
//   64    stamp      ns     since when, on the sender's clock
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

#include <string.h>

#define KIND_ACTION 4
#define MEASURE_LIMIT (INT64_C(1) << 60)

static void put_time(FlWriter *w, FlTime time)
{
    fl_writer_put(w, (uint64_t)time, 64);
}

static FlTime take_time(FlReader *r)
{
    return (FlTime)fl_reader_take(r, 64);
}

static bool take_bool(FlReader *r)
{
    uint64_t value = fl_reader_take(r, 8);
    if (value > 1) {
        fl_reader_fail(r);
    }
    return value == 1;
}

static bool is_whole(const FlReader *r)
{
    return !r->failed && r->bit_count == r->size_bits;
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

void fl__lags_write(FlWriter *writer, int32_t self, const Fl__LagsSaid *said)
{
    fl_writer_put(writer, (uint64_t)said->kind, 8);
    if (said->kind == FL__LAGS_VECTOR) {
        write_vector(writer, self, &said->vector);
        return;
    }
    if (said->kind == FL__LAGS_READY) {
        fl_writer_put(writer, said->round, 32);
        fl_writer_put(writer, said->asks ? 1 : 0, 8);
    }
    put_time(writer, said->stamp);
}

static void read_vector(FlReader *r, int32_t from, Fl__LagsVector *vector)
{
    vector->round = (uint32_t)fl_reader_take(r, 32);
    vector->asks = take_bool(r);
    vector->members = fl_reader_take(r, 64);
    uint64_t plays = fl_reader_take(r, 8);
    vector->plays = (Fl__LagsPlays)(plays <= FL__LAGS_ALONE ? plays : FL__LAGS_NOT);
    vector->a = vector->plays != FL__LAGS_NOT ? take_time(r) : 0;
    bool a_sound = vector->a <= 2 * MEASURE_LIMIT && vector->a >= -2 * MEASURE_LIMIT;
    if (plays > FL__LAGS_ALONE || !a_sound || vector->round == 0 ||
        !fl__lags_has(vector->members, from)) {
        fl_reader_fail(r);
    }
    for (int32_t i = 0; i < FL_LAGS_PEERS && !r->failed; i++) {
        if (i != from && fl__lags_has(vector->members, i)) {
            vector->v[i] = take_time(r);
            if (vector->v[i] > MEASURE_LIMIT || vector->v[i] < -MEASURE_LIMIT) {
                fl_reader_fail(r);
            }
        }
    }
}

bool fl__lags_read(FlReader *reader, int32_t from, Fl__LagsSaid *said)
{
    memset(said, 0, sizeof *said);
    uint64_t kind = fl_reader_take(reader, 8);
    said->kind = (Fl__LagsKind)kind;
    switch (kind) {
    case FL__LAGS_PROBE:
        said->stamp = take_time(reader);
        break;
    case FL__LAGS_VECTOR:
        read_vector(reader, from, &said->vector);
        break;
    case FL__LAGS_READY:
        said->round = (uint32_t)fl_reader_take(reader, 32);
        said->asks = take_bool(reader);
        said->stamp = take_time(reader);
        if (said->round == 0) {
            fl_reader_fail(reader);
        }
        break;
    default:
        fl_reader_fail(reader);
        break;
    }
    return is_whole(reader);
}

// ---------------------------------------------------------------- actions

void fl_action_write(FlWriter *writer, const FlOrdered *action)
{
    FL_ASSERT(action->count >= 0 && action->count <= FL_ACTION_BYTES);
    fl_writer_put(writer, KIND_ACTION, 8);
    fl_writer_put(writer, action->sequence, 32);
    put_time(writer, action->play);
    put_time(writer, action->stamp);
    fl_writer_put(writer, action->type, 16);
    fl_writer_bytes(writer, action->bytes, action->count);
}

bool fl_action_read(FlReader *reader, FlOrdered *action)
{
    memset(action, 0, sizeof *action);
    if (fl_reader_take(reader, 8) != KIND_ACTION) {
        fl_reader_fail(reader);
    }
    action->sequence = (uint32_t)fl_reader_take(reader, 32);
    action->play = take_time(reader);
    action->stamp = take_time(reader);
    action->type = (uint16_t)fl_reader_take(reader, 16);
    action->count = fl_reader_left(reader);
    if (action->count > FL_ACTION_BYTES) {
        fl_reader_fail(reader);
    }
    action->bytes = fl_reader_bytes(reader, action->count);
    if (reader->failed) {
        memset(action, 0, sizeof *action);
    }
    return is_whole(reader);
}
