// fairlead/impair.h: a wide-area network in numbers, the same for the lab and for `fairlead wan`.
//
// An FlImpair is one direction between one pair. Asked about a packet it answers with the packet's
// fate: lost and why, or delivered and when, once or twice. It holds no packets and reads no clock.
// Packets in flight wait in an FlFlight, a bounded queue ordered by delivery time.
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

/// A perfect network: no delay, no loss, no limit. Where something gets switched on, the rest is
/// set for that: jitter is normal, correlation is meant at 20 ms, a burst lasts 50 ms and loses
/// everything, the bottleneck's queue holds 200 ms and counts 28 header bytes a packet (IPv4 and
/// UDP).
FL_API FlImpairSettings fl_impair_settings_default(void);

/// Something wrong with settings or a schedule, in words for people.
typedef struct FlImpairError {
    int32_t line; ///< Of the schedule, from 1; 0 where there are no lines.
    char text[116];
} FlImpairError;

/// Are these settings in range, and do they fit together? `error` may be NULL.
/// Errors: FL_BAD_VALUE, with the reason in `error`.
FL_API FL_NODISCARD FlResult fl_impair_settings_check(const FlImpairSettings *settings,
                                                      FlImpairError *error);

/// Sets one setting by its word, as a command line or a schedule gives it: ("delay", "200"),
/// ("loss", "2.5"). The words and their units are in docs/guide/impair.md. Leaves `settings` as it
/// was on failure.
///
/// Errors: FL_NOT_FOUND (no such word), FL_BAD_VALUE; both with the reason in `error` (may be
/// NULL).
FL_API FL_NODISCARD FlResult fl_impair_settings_set(FlImpairSettings *settings, const char *word,
                                                    const char *value, FlImpairError *error);

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

/// A perfect network in virtual time, seed 1, link 0.
FL_API FlImpairDef fl_impair_def_default(void);

/// A link number for the direction from one node to another.
static inline uint32_t fl_impair_link(uint16_t from, uint16_t to)
{
    return (uint32_t)from << 16 | to;
}

/// Errors: FL_BAD_VALUE (settings, see fl_impair_settings_check), FL_NO_MEMORY. *out is NULL then.
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

/// Other settings from `now` on. What waits for the bottleneck keeps its bytes.
/// Errors: FL_BAD_VALUE, and nothing changes.
FL_API FL_NODISCARD FlResult fl_impair_set(FlImpair *impair, FlTime now,
                                           const FlImpairSettings *settings);

/// The settings in force.
FL_API FlImpairSettings fl_impair_settings(const FlImpair *impair);

/// Counts since creation. packets = delivered + lost_random + lost_burst + queue_full.
typedef struct FlImpairStats {
    uint64_t packet_count;      ///< Packets asked about.
    uint64_t byte_count;        ///< Their bytes, without headers.
    uint64_t delivered_count;   ///< Packets delivered, second copies not counted.
    uint64_t delivered_bytes;   ///< Their bytes.
    uint64_t lost_random_count; ///< By reason, as FlOutcome.
    uint64_t lost_burst_count;
    uint64_t queue_full_count;
    uint64_t duplicated_count; ///< Second copies.
    uint64_t clamped_count;    ///< Delays drawn below zero, taken as zero: this raises the mean.
    uint64_t overtaken_count;  ///< Copies due before one of an earlier packet.
    uint64_t held_count;       ///< Copies that had to wait to keep order.
    FlTime delay_sum_ns;       ///< Of the first copies: queueing, delay and waiting together.
} FlImpairStats;

FL_API FlImpairStats fl_impair_stats(const FlImpair *impair);

// ---------------------------------------------------------------- changes over time

/// Directions of a pair, as bits.
typedef enum FlDirection {
    FL_DIRECTION_UP = 1, ///< From the client to the server, or from the pair's first to its second.
    FL_DIRECTION_DOWN = 2,
    FL_DIRECTION_BOTH = 3,
} FlDirection;

/// One setting, changed at one time. Made by fl_impair_schedule_parse().
typedef struct FlImpairChange {
    FlTime at; ///< From the start.
    int64_t value;
    int32_t pair; ///< -1: every pair.
    uint8_t directions;
    uint8_t word; ///< Index into the table of words.
    int32_t line; ///< Where it stands in the schedule.
} FlImpairChange;

/// Reads a schedule: lines such as
///
///     at 12.5 up delay 200 jitter 30 loss 5   # seconds, whom, settings
///     at 20 pair 3 down rate 512
///     at 30 loss 0
///
/// with the words of fl_impair_settings_set(), ordered by time. `text` need not end in a zero byte.
///
/// Errors: FL_BAD_VALUE (line and reason in `error`, may be NULL), FL_FULL (more changes than
/// `capacity`); *count_out is 0 then.
FL_API FL_NODISCARD FlResult fl_impair_schedule_parse(const char *text, size_t text_bytes,
                                                      FlImpairChange *out, int32_t capacity,
                                                      int32_t *count_out, FlImpairError *error);

/// Puts the changes with from < at <= to that concern this pair and direction into `settings`, in
/// their order. Start with `from` = -1 so that `at 0` counts.
///
/// Errors: FL_BAD_VALUE when the settings after one of the moments do not fit together, with the
/// line and the reason in `error` (may be NULL).
FL_API FL_NODISCARD FlResult fl_impair_schedule_apply(const FlImpairChange *changes, int32_t count,
                                                      FlTime from, FlTime to, int32_t pair,
                                                      FlDirection direction,
                                                      FlImpairSettings *settings,
                                                      FlImpairError *error);

/// Time of the first change after `after`, or FL_FOREVER.
FL_API FlTime fl_impair_schedule_next(const FlImpairChange *changes, int32_t count, FlTime after);

// ---------------------------------------------------------------- packets in flight

/// A bounded queue of packets by delivery time; equal times come out in the order in which they
/// went in.
typedef struct FlFlight FlFlight;

typedef struct FlFlightDef {
    int32_t capacity;     ///< Packets at once. All memory is reserved at creation.
    int32_t packet_bytes; ///< Largest packet.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_flight_def_default(); leave alone.
} FlFlightDef;

/// 4096 packets of up to 1500 bytes, about 6 MiB: one player's match with delays of seconds.
FL_API FlFlightDef fl_flight_def_default(void);

/// Memory that a queue takes.
FL_API size_t fl_flight_bytes(const FlFlightDef *def);

/// Errors: FL_NO_MEMORY. *out is NULL then.
FL_API FL_NODISCARD FlResult fl_flight_create(const FlFlightDef *def, FlFlight **out);

/// NULL is ignored.
FL_API void fl_flight_destroy(FlFlight *flight);

/// Copies a packet in, due at `at`; `tag` comes back with it.
/// Errors: FL_WOULD_BLOCK (full), FL_BAD_VALUE (larger than packet_bytes). Both are counted.
FL_API FL_NODISCARD FlResult fl_flight_push(FlFlight *flight, FlTime at, uint64_t tag,
                                            const void *data, int32_t bytes);

typedef struct FlFlightPacket {
    FlTime at;
    uint64_t tag;
    const void *data; ///< Valid until the next push.
    int32_t bytes;
} FlFlightPacket;

/// Takes out up to `capacity` packets due at or before `now`, earliest first. Returns how many.
FL_API int32_t fl_flight_take(FlFlight *flight, FlTime now, FlFlightPacket *out, int32_t capacity);

/// When the next packet is due, or FL_FOREVER.
FL_API FlTime fl_flight_next(const FlFlight *flight);

typedef struct FlFlightStats {
    int32_t count;          ///< In flight now.
    int32_t peak_count;     ///< Most at once so far.
    uint64_t full_count;    ///< Refused because the queue was full.
    uint64_t too_big_count; ///< Refused because they were larger than packet_bytes.
} FlFlightStats;

FL_API FlFlightStats fl_flight_stats(const FlFlight *flight);

#endif
