// fairlead/wire.h: values as bits, and the world that says how many.
//
// Packets are written and read bit by bit, lowest bit first: bit 0 of byte 0 is the first. Both
// sides remember the first failure (no room, no bits left, a value out of range) and go on
// harmlessly, so that a message's code reads straight down and asks once at its end. spec/WIRE.md
// describes every message.
//
// Threads: no shared state.
#ifndef FAIRLEAD_WIRE_H
#define FAIRLEAD_WIRE_H

#include "fairlead/base.h"

// ---------------------------------------------------------------- bits

/// Writes into the caller's bytes. Once failed, it stays failed and writes nothing more.
typedef struct FlWriter {
    uint8_t *bytes;
    int32_t capacity_bits;
    int32_t bit_count; ///< Written so far.
    bool failed;
} FlWriter;

FL_API void fl_writer_init(FlWriter *writer, void *bytes, int32_t capacity_bytes);

/// The low `width` bits of value, 0 to 64 of them; a value that needs more fails.
FL_API void fl_writer_put(FlWriter *writer, uint64_t value, int32_t width);

/// Zero bits up to the next whole byte.
FL_API void fl_writer_align(FlWriter *writer);

/// Whole bytes; the writer must be at a byte's start.
FL_API void fl_writer_bytes(FlWriter *writer, const void *bytes, int32_t count);

/// Bytes begun so far.
static inline int32_t fl_writer_size(const FlWriter *writer)
{
    return (writer->bit_count + 7) / 8;
}

/// Reads bytes that somebody sent. Once failed, it stays failed and reads zeros.
typedef struct FlReader {
    const uint8_t *bytes;
    int32_t size_bits;
    int32_t bit_count; ///< Read so far.
    bool failed;
} FlReader;

FL_API void fl_reader_init(FlReader *reader, const void *bytes, int32_t size_bytes);

/// The next `width` bits, 0 to 64 of them. Past the end: fails and gives 0.
FL_API uint64_t fl_reader_take(FlReader *reader, int32_t width);

/// Skips to the next whole byte; bits that are not zero fail, since no writer makes them.
FL_API void fl_reader_align(FlReader *reader);

/// The next `count` whole bytes in place, or NULL. The reader must be at a byte's start.
FL_API const uint8_t *fl_reader_bytes(FlReader *reader, int32_t count);

/// Whole bytes not begun yet.
static inline int32_t fl_reader_left(const FlReader *reader)
{
    return (reader->size_bits - reader->bit_count) / 8;
}

/// Marks what was read as something no writer makes.
static inline void fl_reader_fail(FlReader *reader)
{
    reader->failed = true;
}

// ---------------------------------------------------------------- numbers on a circle

/// True when sequence a was issued after b, taking 16 bits as a circle (exactly half way round:
/// false).
static inline bool fl_seq_newer(uint16_t a, uint16_t b)
{
    uint16_t ahead = (uint16_t)(a - b);
    return ahead != 0 && ahead < 0x8000u;
}

/// The number nearest to `near` whose low `width` bits (1 to 62) are `low`; at exactly half way,
/// the later one.
FL_API int64_t fl_unwrap(int64_t near, uint64_t low, int32_t width);

#endif
