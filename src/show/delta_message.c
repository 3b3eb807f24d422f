// DELTA: what a peer knows of the proposals for a common Δ.       spec/WIRE.md section 7.10
//
//   bits  field    unit   valid
//   16    period   -      low bits of the number of the newer period
//   11    newer    1 ms   largest proposal known for it, 0..2000
//   11    older    1 ms   the same for the period before; 0..2000, or 2047: none known
//   2     padding  -      0
#include "private.h"

#include "wire/wire.h"

_Static_assert((16 + 11 + 11 + 7) / 8 == FL_DELTA_BYTES, "what show.h says of a DELTA's size");

#define STEPS_MAX (FL_SHOW_DELTA_MAX_NS / FL_DELTA_STEP_NS)

static bool in_range(const FlDeltaMsg *msg)
{
    return msg->newer <= STEPS_MAX && (msg->older <= STEPS_MAX || msg->older == FL_DELTA_UNKNOWN);
}

void fl__delta_encode(FlWriter *writer, const FlDeltaMsg *msg)
{
    FL_ASSERT(in_range(msg));
    fl_writer_put(writer, msg->period, 16);
    fl_writer_put(writer, msg->newer, 11);
    fl_writer_put(writer, msg->older, 11);
    fl_writer_align(writer);
}

bool fl__delta_decode(FlReader *reader, FlDeltaMsg *msg)
{
    msg->period = (uint16_t)fl_reader_take(reader, 16);
    msg->newer = (uint16_t)fl_reader_take(reader, 11);
    msg->older = (uint16_t)fl_reader_take(reader, 11);
    fl_reader_align(reader);
    if (!reader->failed && !in_range(msg)) {
        fl__reader_fail(reader);
    }
    if (reader->failed) {
        FlDeltaMsg empty = {0};
        *msg = empty;
    }
    return !reader->failed;
}
