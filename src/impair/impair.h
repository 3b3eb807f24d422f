// Module `impair`, for the lab and for `fairlead wan`: settings by their words, changes over time,
// and packets on their way.
#ifndef FAIRLEAD_IMPAIR_IMPAIR_INNER_H
#define FAIRLEAD_IMPAIR_IMPAIR_INNER_H

#include "fairlead/impair.h"

/// Something wrong with settings or a schedule, in words for people.
typedef struct FlImpairError {
    int32_t line; ///< Of the schedule, from 1; 0 where there are no lines.
    char text[116];
} FlImpairError;

/// Are these settings in range, and do they fit together? `error` may be NULL.
/// Errors: FL_BAD_VALUE, with the reason in `error`.
FL_NODISCARD FlResult fl__impair_settings_check(const FlImpairSettings *settings,
                                                FlImpairError *error);

// ---------------------------------------------------------------- changes over time

/// Directions of a pair, as bits.
typedef enum FlDirection {
    FL_DIRECTION_UP = 1, ///< From the client to the server, or from the pair's first to its second.
    FL_DIRECTION_DOWN = 2,
    FL_DIRECTION_BOTH = 3,
} FlDirection;

/// One setting, changed at one time. Made by fl__impair_schedule_parse().
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
/// with the words of fl__impair_settings_set(), ordered by time. `text` need not end in a zero
/// byte.
///
/// Errors: FL_BAD_VALUE (line and reason in `error`, may be NULL), FL_FULL (more changes than
/// `capacity`); *count_out is 0 then.
FL_NODISCARD FlResult fl__impair_schedule_parse(const char *text, size_t text_bytes,
                                                FlImpairChange *out, int32_t capacity,
                                                int32_t *count_out, FlImpairError *error);

/// Puts the changes with from < at <= to that concern this pair and direction into `settings`, in
/// their order. Start with `from` = -1 so that `at 0` counts.
///
/// Errors: FL_BAD_VALUE when the settings after one of the moments do not fit together, with the
/// line and the reason in `error` (may be NULL).
FL_NODISCARD FlResult fl__impair_schedule_apply(const FlImpairChange *changes, int32_t count,
                                                FlTime from, FlTime to, int32_t pair,
                                                FlDirection direction, FlImpairSettings *settings,
                                                FlImpairError *error);

/// Time of the first change after `after`, or FL_FOREVER.
FlTime fl__impair_schedule_next(const FlImpairChange *changes, int32_t count, FlTime after);

// ---------------------------------------------------------------- packets in flight

/// A bounded queue of packets by delivery time; equal times come out in the order in which they
/// went in.
typedef struct FlFlight FlFlight;

typedef struct FlFlightDef {
    int32_t capacity;     ///< Packets at once. All memory is reserved at creation.
    int32_t packet_bytes; ///< Largest packet.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl__flight_def_default(); leave alone.
} FlFlightDef;

/// 4096 packets of up to 1500 bytes, about 6 MiB: one player's match with delays of seconds.
FlFlightDef fl__flight_def_default(void);

/// Errors: FL_NO_MEMORY. *out is NULL then.
FL_NODISCARD FlResult fl__flight_create(const FlFlightDef *def, FlFlight **out);

/// NULL is ignored.
void fl__flight_destroy(FlFlight *flight);

/// Copies a packet in, due at `at`; `tag` comes back with it.
/// Errors: FL_WOULD_BLOCK (full), FL_BAD_VALUE (larger than packet_bytes). Both are counted.
FL_NODISCARD FlResult fl__flight_push(FlFlight *flight, FlTime at, uint64_t tag, const void *data,
                                      int32_t bytes);

typedef struct FlFlightPacket {
    FlTime at;
    uint64_t tag;
    const void *data; ///< Valid until the next push.
    int32_t bytes;
} FlFlightPacket;

/// Takes out up to `capacity` packets due at or before `now`, earliest first. Returns how many.
int32_t fl__flight_take(FlFlight *flight, FlTime now, FlFlightPacket *out, int32_t capacity);

/// When the next packet is due, or FL_FOREVER.
FlTime fl__flight_next(const FlFlight *flight);

typedef struct FlFlightStats {
    int32_t count;          ///< In flight now.
    int32_t peak_count;     ///< Most at once so far.
    uint64_t full_count;    ///< Refused because the queue was full.
    uint64_t too_big_count; ///< Refused because they were larger than packet_bytes.
} FlFlightStats;

FlFlightStats fl__flight_stats(const FlFlight *flight);

/// Sets one setting by its word, as a command line or a schedule gives it: ("delay", "200"),
/// ("loss", "2.5"). The words and their units are in docs/guide/impair.md. Leaves `settings` as it
/// was on failure.
///
/// Errors: FL_NOT_FOUND (no such word), FL_BAD_VALUE; both with the reason in `error` (may be
/// NULL).
FL_NODISCARD FlResult fl__impair_settings_set(FlImpairSettings *settings, const char *word,
                                              const char *value, FlImpairError *error);

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

FlImpairStats fl__impair_stats(const FlImpair *impair);

/// Other settings from `now` on. What waits for the bottleneck keeps its bytes.
/// Errors: FL_BAD_VALUE, and nothing changes.
FL_NODISCARD FlResult fl__impair_set(FlImpair *impair, FlTime now,
                                     const FlImpairSettings *settings);

#endif
