// fairlead/impair.h: a wide-area network in numbers, the same for the lab and for `fairlead wan`.
//
// An FlImpair is one direction between one pair. Asked about a packet it answers with the packet's
// fate: lost and why, or delivered and when, once or twice. It holds no packets and reads no clock.
//
// The network is there whether or not anybody sends: a fate is a function of (seed, link, the
// packet's 1 ms send slot, its index in that slot), and what lasts longer than a packet (slow
// delay, loss bursts) is a process in time. So two policies that send different numbers of packets
// still meet the same network, and switching one fault off leaves the others' pattern alone. See
// docs/guide/impair.md and docs/decisions/0006.
//
// Threads: objects share nothing; use each from one thread at a time.
#ifndef FAIRLEAD_IMPAIR_H
#define FAIRLEAD_IMPAIR_H

#include "fairlead/base.h"

// ---------------------------------------------------------------- settings

/// How the delay is spread around its mean. The exact definitions are in docs/guide/impair.md.
typedef enum FlImpairShape {
    FL_SHAPE_CONSTANT = 0, ///< Always the mean; jitter is ignored.
    FL_SHAPE_UNIFORM = 1,  ///< Mean plus or minus up to `jitter_ns`: jitter is the half-width here.
    FL_SHAPE_NORMAL = 2,   ///< Bell curve; jitter is the standard deviation, here and below.
    FL_SHAPE_PARETO = 3,   ///< A steep start and a long tail: exponent 3, cut as NIST Net does.
    FL_SHAPE_PARETO_NORMAL = 4, ///< NIST Net's: a quarter normal, three quarters Pareto.
} FlImpairShape;

/// What one direction does to packets. Whole numbers throughout, so that a setting has one meaning
/// everywhere.
typedef struct FlImpairSettings {
    FlTime delay_ns;         ///< Mean delay, 0 to 1 hour. A delay drawn below zero counts as zero.
    FlTime jitter_ns;        ///< Deviation (half-width for uniform), 0 to 10 minutes.
    FlImpairShape shape;     ///< Of the jitter.
    int32_t correlation_ppm; ///< Of delays one lag apart; 0: each packet draws its own.
    FlTime correlation_lag_ns; ///< 1 ms to 1 minute.
    bool keep_order;        ///< True: no packet overtakes an earlier one, it waits for it instead.
    int32_t loss_ppm;       ///< Independent loss of each packet.
    FlTime burst_gap_ns;    ///< Mean good time between bursts, at least 1 ms; 0: no bursts.
    FlTime burst_length_ns; ///< Mean length of a burst, at least 1 ms.
    int32_t burst_loss_ppm; ///< Loss within a burst, on top of `loss_ppm`.
    int32_t duplicate_ppm;  ///< Packets that arrive twice.
    int64_t rate_bytes_s;   ///< Bytes per second through the bottleneck; 0: no limit.
    FlTime queue_ns;        ///< A packet that would wait longer for the bottleneck is dropped.
    int32_t packet_extra_bytes; ///< Headers counted with each packet at the bottleneck.
} FlImpairSettings;

// ---------------------------------------------------------------- one direction between one pair

typedef struct FlImpair FlImpair;

typedef struct FlImpairDef {
    FlImpairSettings settings;
    uint64_t seed; ///< Of the whole network.
    uint32_t link; ///< Which direction of which pair; fl_impair_link() makes one from two numbers.
    /// False: a packet's luck hangs on its 1 ms send slot and its index in it (virtual time). True:
    /// on its number on this link, for real time, where no run hits the same milliseconds twice.
    /// Slow delay and bursts are processes in time either way.
    bool luck_by_count;
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_impair_def_default(); leave alone.
} FlImpairDef;

/// A perfect network in virtual time, seed 1, link 0. Where something gets switched on, the rest is
/// set for that: jitter is normal, correlation is meant at 20 ms, a burst lasts 50 ms and loses
/// everything, the bottleneck's queue holds 200 ms and counts 28 header bytes a packet (IPv4 and
/// UDP).
FL_API FlImpairDef fl_impair_def_default(void);

/// Whether a definition is sound; `error` says which field, its value and its range. Errors:
/// FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_impair_def_problem(const FlImpairDef *def, FlError *error);

/// A link number for the direction from one node to another.
static inline uint32_t fl_impair_link(uint16_t from, uint16_t to)
{
    return (uint32_t)from << 16 | to;
}

/// Errors: FL_BAD_VALUE (settings out of range; docs/guide/impair.md has the ranges), FL_NO_MEMORY.
/// *out is NULL then.
FL_API FL_NODISCARD FlResult fl_impair_create(const FlImpairDef *def, FlImpair **out);

/// NULL is ignored.
FL_API void fl_impair_destroy(FlImpair *impair);

/// What becomes of a packet.
typedef enum FlOutcome {
    FL_OUTCOME_DELIVERED = 0,
    FL_OUTCOME_LOST_RANDOM = 1, ///< By `loss_ppm`.
    FL_OUTCOME_LOST_BURST = 2,  ///< In a burst.
    FL_OUTCOME_QUEUE_FULL = 3,  ///< At the bottleneck.
} FlOutcome;

typedef struct FlFate {
    FlOutcome outcome;
    int32_t copy_count;   ///< 0 when lost, 1, or 2 when duplicated.
    FlTime deliver_at[2]; ///< For each copy.
} FlFate;

/// Decides the fate of a packet of `bytes` (without packet_extra_bytes) sent at `now`. Times are
/// expected in order; an earlier time counts as the newest so far.
FL_API FlFate fl_impair_send(FlImpair *impair, FlTime now, int32_t bytes);

#endif
