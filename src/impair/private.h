// Private to module `impair`: chance by address, the processes in time, and the words of a
// schedule.
#ifndef FAIRLEAD_IMPAIR_PRIVATE_H
#define FAIRLEAD_IMPAIR_PRIVATE_H

#include "fairlead/impair.h"

#include "base/private.h"
#include "impair/impair.h"

// ---------------------------------------------------------------- slots and draws

/// The network's own tick: fates and processes know time in these steps.
#define SLOT_NS FL_MS(1)

/// Time as a slot. Slots are unsigned (time before zero wraps to the top), so that halving them is
/// plain shifting.
static inline uint64_t slot_of(FlTime now)
{
    FlTime slot = now / SLOT_NS;
    if (now % SLOT_NS < 0) {
        slot--; // round down, also before zero
    }
    return (uint64_t)slot;
}

/// Streams of this module under one seed. The tag keeps them apart from the streams of other users
/// of the same seed.
typedef enum Purpose {
    PURPOSE_PACKET = 0, ///< Independent luck of packets.
    PURPOSE_SWAY = 1,   ///< Slow delay.
    PURPOSE_BURST = 2,  ///< Loss bursts.
} Purpose;

static inline uint64_t stream_of(uint32_t link, Purpose purpose)
{
    return UINT64_C(0x696d70) << 40 | (uint64_t)purpose << 32 | link;
}

/// Uniform in (0, 1), never at an end, so that every quantile is finite.
static inline double open_unit(uint64_t bits)
{
    return ((double)(bits >> 11) + 0.5) * (1.0 / 9007199254740992.0);
}

// ---------------------------------------------------------------- distributions

/// Standard normal: what value has the share `u` of all below it? 0 < u < 1.
double fl__normal_quantile(double u);

/// Standard normal: which share lies below z?
double fl__normal_share(double z);

/// The variate of a shape that has share `u` below it: mean 0, deviation 1 (uniform: half-width 1).
double fl__shape_from_unit(FlImpairShape shape, double u);

/// The same from a standard normal value with that share below it.
double fl__shape_from_normal(FlImpairShape shape, double z);

// ---------------------------------------------------------------- processes in time

#define LATTICE_LEVELS 23

/// What differs between processes. Both answer from (seed, link, slot) and the values given, from
/// nothing else.
typedef struct LatticeRule {
    double (*anchor)(const void *process, uint64_t slot); ///< A value on its own.
    /// The value in the middle of a span of 2^(level+1) slots with these ends.
    double (*middle)(const void *process, int32_t level, uint64_t slot, double left, double right);
} LatticeRule;

/// Cached way from the anchors down to the last slot asked for. See lattice.c.
typedef struct Lattice {
    int32_t top;    ///< Anchors are 2^top slots apart.
    uint32_t known; ///< Bit k: level k holds a cell.
    uint64_t cell[LATTICE_LEVELS];
    double left[LATTICE_LEVELS];
    double right[LATTICE_LEVELS];
} Lattice;

/// How far apart the anchors of a process must be that forgets by `memory` (0 <= memory < 1) a
/// slot, so that they are independent. Answers -1 if no lattice is that wide.
int32_t fl__lattice_top(double memory);
void fl__lattice_reset(Lattice *lattice, int32_t top);
double fl__lattice_at(Lattice *lattice, const LatticeRule *rule, const void *process,
                      uint64_t slot);

/// Slow delay: a standard normal value that changes with time, correlated by `memory` from slot to
/// slot.
typedef struct Sway {
    uint64_t seed;
    uint64_t stream;
    double pull[LATTICE_LEVELS];   ///< By half-span 2^level: weight of the ends' sum in the middle.
    double spread[LATTICE_LEVELS]; ///< And the deviation around it.
    Lattice lattice;
} Sway;

/// Memory from slot to slot when packets `lag` apart shall correlate by `ppm`.
double fl__sway_memory(int32_t ppm, FlTime lag);
void fl__sway_setup(Sway *sway, uint64_t seed, uint32_t link, double memory);
double fl__sway_at(Sway *sway, uint64_t slot);

/// Loss bursts: Gilbert and Elliott's two states as a process in time.
typedef struct Burst {
    uint64_t seed;
    uint64_t stream;
    double share;                  ///< Of time in a burst.
    double memory[LATTICE_LEVELS]; ///< Over 2^level slots.
    Lattice lattice;
} Burst;

/// Memory from slot to slot; negative when the spans are too short for 1 ms slots.
double fl__burst_memory(FlTime gap, FlTime length);
void fl__burst_setup(Burst *burst, uint64_t seed, uint32_t link, FlTime gap, FlTime length);
bool fl__burst_at(Burst *burst, uint64_t slot);

// ---------------------------------------------------------------- words

/// A piece of text; not ended by a zero byte.
typedef struct Words {
    const char *text;
    size_t bytes;
} Words;

bool fl__words_equal(Words words, const char *text);

/// A decimal number without sign or exponent, in millionths. At most 12 digits before and 6 after
/// the point.
bool fl__words_number(Words words, int64_t *millionths);

/// Finds a setting's word; -1 if there is none.
int32_t fl__setting_find(Words word);

/// Reads a value of that setting, in its range, into the form in which it is stored. False with the
/// reason in `error`.
bool fl__setting_read(int32_t setting, Words value, int64_t *stored, FlImpairError *error);

void fl__setting_store(int32_t setting, int64_t stored, FlImpairSettings *settings);

/// What is wrong with a single setting, or NULL. Whether they fit together is
/// fl__impair_settings_check()'s to say.
const char *fl__settings_range_problem(const FlImpairSettings *settings);

/// Writes the reason and answers FL_BAD_VALUE; `error` may be NULL. The line is left alone.
FlResult fl__impair_wrong(FlImpairError *error, const char *reason);

/// The same with some of the offending text between two parts of the reason.
FlResult fl__impair_wrong_about(FlImpairError *error, const char *before, Words about,
                                const char *after);

/// Memory that a queue takes.
size_t fl__flight_bytes(const FlFlightDef *def);

#endif
