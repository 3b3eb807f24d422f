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

/// Writes into `bytes`, from the first bit on.
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

/// Reads bytes that a peer sent. Once failed, it stays failed and reads zeros.
typedef struct FlReader {
    const uint8_t *bytes;
    int32_t size_bits;
    int32_t bit_count; ///< Read so far.
    bool failed;
} FlReader;

/// Reads these bytes, from the first bit on.
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

// ---------------------------------------------------------------- numbers on a circle

// ---------------------------------------------------------------- quantisers

/// Even steps over a range: index i, 0 to `last`, stands for origin + (i - zero) * step. Positions
/// count from the range's low end (zero = 0), signed values from nothing at all (origin = 0), so
/// that standing still stays standing still.
typedef struct FlQuantiser {
    double origin;
    double step;
    uint32_t zero;
    uint32_t last; ///< 0: there is one value only, and it takes no bits.
    int32_t width; ///< Bits of an index.
} FlQuantiser;

/// A finite angle as one of 2^width (1 to 30) directions: the nearest.
FL_API uint32_t fl_circle_index(double angle, int32_t width);

/// The direction's angle in (-pi, pi].
FL_API double fl_circle_angle(uint32_t index, int32_t width);

// ---------------------------------------------------------------- world

/// What all peers of a game agree on before they talk: how large and how fast it gets, and how
/// exactly it is sent. Field widths follow from it. What lies outside still travels, in a wide form
/// of several times the size (see fl_update_round); nothing is clamped.
typedef struct FlWorldDef {
    FlVec3 low, high; ///< Corners of the box that positions keep to. An axis with low == high is
                      ///< not sent at all: that is how a flat world is said.
    double precision; ///< Step of positions, and of velocities per second; 1e-9 to 1e9.
    double top_speed; ///< Along each axis, per second; above 0.
    double top_acceleration; ///< Along each axis, per second squared; 0: rarely used, always wide.
    double top_turn_rate;    ///< rad/s; of circular motion, of yaw, of spin about each axis.
    double angle_precision;  ///< rad: no orientation is further off; 1e-5 to 1.
    int32_t entity_capacity; ///< Entities are numbered 0 to this minus 1; 1 to 65536.
    uint32_t application_version; ///< The game's own: peers of another version never meet.
    uint32_t cookie;              ///< Set by fl_world_def_default(); leave alone.
} FlWorldDef;

/// Right for an action game in metres: 1 km across and high around the origin, 1 cm, 160 m/s (a
/// rocket; 576 km/h), 100 m/s^2, 10 rad/s, 0.01 rad (0.6 degrees), 1024 entities. A linear update
/// then takes 16 bytes.
FL_API FlWorldDef fl_world_def_default(void);

/// Whether a definition is sound; `error` says which field, its value and its range. Not sound: not
/// finite; low above high; an axis that is there but shorter than a step; a field of more than 32
/// bits; coordinates beyond 2^44 steps, where doubles get too coarse; anything outside the ranges
/// above. Errors: FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_world_def_problem(const FlWorldDef *def, FlError *error);

/// Where each kind of value has its quantiser in FlWorld. Vectors have three in a row.
enum {
    FL_QUANTISER_POSITION = 0,
    FL_QUANTISER_VELOCITY = 3,
    FL_QUANTISER_ACCELERATION = 6,
    FL_QUANTISER_TURN_RATE = 9,
    FL_QUANTISER_SPIN = 10, ///< The first is that of yaw rates too.
    FL_QUANTISER_COUNT = 13,
};

/// Raised whenever the bytes of any message change their meaning.
#define FL_WIRE_VERSION 4u

/// The definition and what follows from it. A value: copy it freely.
typedef struct FlWorld {
    FlWorldDef def;
    FlQuantiser quantiser[FL_QUANTISER_COUNT];
    int32_t entity_width;
    int32_t yaw_width;
    int32_t rotation_part_width;
    uint64_t protocol_id; ///< A hash of the definition and FL_WIRE_VERSION; peers whose ids differ
                          ///< must not talk.
} FlWorld;

/// Errors: FL_BAD_VALUE, and an empty world, if fl_world_def_problem has something to say.
FL_API FL_NODISCARD FlResult fl_world_init(const FlWorldDef *def, FlWorld *world);

#endif
