// Module `wire`, for the modules above it.
#ifndef FAIRLEAD_WIRE_WIRE_INNER_H
#define FAIRLEAD_WIRE_WIRE_INNER_H

#include "fairlead/wire.h"

/// True when all of it was read and nothing failed: ask at a message's end.
static inline bool fl__reader_whole(const FlReader *reader)
{
    return !reader->failed && reader->bit_count == reader->size_bits;
}

static inline uint16_t fl__reader_u16(FlReader *reader)
{
    return (uint16_t)fl_reader_take(reader, 16);
}

/// A byte that is 0 or 1; others fail.
bool fl__reader_bool(FlReader *reader);

/// Copies the next `count` whole bytes. Past the end: fails and copies nothing.
void fl__reader_copy(FlReader *reader, void *bytes, int32_t count);

/// True when sequence a was issued after b, taking 16 bits as a circle (exactly half way round:
/// false).
static inline bool fl__seq_newer(uint16_t a, uint16_t b)
{
    uint16_t ahead = (uint16_t)(a - b);
    return ahead != 0 && ahead < 0x8000u;
}

/// The number nearest to `near` whose low `width` bits (1 to 62) are `low`; at exactly half way,
/// the later one.
int64_t fl__unwrap(int64_t near, uint64_t low, int32_t width);

/// The nearest index (half way: the one further from the origin). False, and index 0, if the value
/// is outside the range by half a step or more, or NaN. Never clamps. Rounding twice changes
/// nothing: the value of an index has that index.
FL_NODISCARD bool fl__quantise(const FlQuantiser *quantiser, double value, uint32_t *index);

/// What an index, at most `last`, stands for. Never -0.0.
static inline double fl__dequantise(const FlQuantiser *quantiser, uint32_t index)
{
    FL_ASSERT(index <= quantiser->last);
    int64_t steps = (int64_t)index - (int64_t)quantiser->zero;
    return quantiser->origin + (double)steps * quantiser->step;
}

/// A rotation as which of w, x, y, z is the largest (2 bits) and the other three (`part_width` bits
/// each, 3 to 20), in this order from the lowest bit. Turned wrong by at most 3.5 / (sqrt(2) *
/// 2^(part_width - 1)) radians. Any finite quaternion will do; q and -q are the same.
uint64_t fl__rotation_index(FlQuat rotation, int32_t part_width);

/// The unit quaternion of an index. False, and the identity, for an index that fl__rotation_index
/// never gives.
FL_NODISCARD bool fl__rotation_from_index(uint64_t index, int32_t part_width, FlQuat *rotation);

/// Marks what was read as something no writer makes.
static inline void fl__reader_fail(FlReader *reader)
{
    reader->failed = true;
}

#endif
