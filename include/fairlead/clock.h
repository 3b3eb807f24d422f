// fairlead/clock.h: what time it is at the other end, how sure that is, and one time for everybody.
//
// Two peers cannot look at each other's clock. What they have is stamps: each packet says when it
// left (on the sender's clock), and each acknowledgement says when a packet came in (on the
// receiver's clock). So two kinds of sample reach an FlClock, independently and in any order:
//
//      remote clock   ──────sent──────────────────arrived──────▶
//                             ╲                    ╱
//               fl_clock_received ╲                  ╱ fl_clock_acked
//                               ▼                ╱
//      local clock    ────────arrived──────────sent────────────▶
//
// A packet never arrives before it was sent, whatever the network does. That alone encloses the
// remote clock: the *bound*, which is never exceeded. Where in the enclosure the truth lies cannot
// be observed; assuming that both directions are delayed alike, it can be estimated far better: the
// *deviation* says how well.
//
// FlClock is the estimate of one peer's clock. FlSessionClock is the time the whole session agrees
// on: it follows one reference peer's clock, runs at most 2 % fast or slow while it catches up, and
// never goes back.
//
// Both are plain structs without pointers or allocation: copy them, put them in arrays, reset them
// with init. Nothing here reads a clock. Theory and measurements:
// docs/decisions/0005-clock-estimator.md.
//
// Threads: objects share nothing; one thread at a time per object.
#ifndef FAIRLEAD_CLOCK_H
#define FAIRLEAD_CLOCK_H

#include "fairlead/base.h"

// ---------------------------------------------------------------- a peer's clock

/// A sample whose delay must have been longer than this is not believed.
#define FL_CLOCK_DELAY_LIMIT_NS FL_SEC(5)

/// A link to the reference that has nothing to say sends one small packet each way this often; what
/// the clock promises for idle links holds then. At 75 bytes with UDP and IP headers: 60 bytes/s.
#define FL_CLOCK_IDLE_INTERVAL_NS FL_MS(1250)

/// What is counted per clock. X(name, word, meaning)
#define FL_CLOCK_COUNT_TABLE(X)                                                                    \
    X(RECEIVED, "received", "samples used of packets received")                                    \
    X(ACKED, "acked", "samples used of our own packets, from acknowledgements")                    \
    X(EARLY, "early", "samples dropped: arrived before they could have been sent")                 \
    X(LATE, "late", "samples dropped: under way longer than FL_CLOCK_DELAY_LIMIT_NS")              \
    X(OUTDATED, "outdated", "samples dropped: sent before the clocks were last acquired")          \
    X(RANGE, "range", "samples dropped: a stamp outside any sensible range")                       \
    X(PINCHED, "pinched", "samples that contradicted the bound by less than 1 ms, and moved it")   \
    X(REACQUIRED, "reacquired",                                                                    \
      "started over because samples kept contradicting (a clock jumped)")                          \
    X(STEPPED, "stepped", "started over because both directions shifted oppositely (a small step)")

typedef enum FlClockCount {
#define FL_CLOCK_COUNT_ROW(name, word, meaning) FL_CLOCK_##name,
    FL_CLOCK_COUNT_TABLE(FL_CLOCK_COUNT_ROW)
#undef FL_CLOCK_COUNT_ROW
        FL_CLOCK_COUNTS
} FlClockCount;

/// What the two machines promise each other. The defaults are right for computers on the Internet.
typedef struct FlClockDef {
    double drift_limit_ppm; ///< The two clocks' rates differ by at most this. More: a wider bound.
    FlTime stamp_step_ns;   ///< Stamps from the peer are rounded to multiples of this on the wire.
    uint32_t cookie;        ///< Set by fl_clock_def_default(); leave alone.
} FlClockDef;

/// 250 ppm (crystals differ by up to 200), stamps in 0.25 ms steps as on Fairlead's wire.
FL_API FlClockDef fl_clock_def_default(void);

/// Whether a definition is sound; `error` says which field, its value and its range. Errors:
/// FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_clock_def_problem(const FlClockDef *def, FlError *error);

enum {
    FL_CLOCK_IN = 0,  ///< Remote to local: what fl_clock_received tells about.
    FL_CLOCK_OUT = 1, ///< Local to remote: what fl_clock_acked tells about.
    FL_CLOCK_BLOCKS = 8
};

/// Private: what is kept of the samples of a stretch of time. See src/clock/blocks.c.
typedef struct FlClockBlock {
    float at_s;
    uint16_t count[2];
    float mean_s[2];
    float low_s[2];
    float high_s[2];
} FlClockBlock;

/// The estimate of one peer's clock. The fields are private; they stand here so that the struct can
/// be embedded.
typedef struct FlClock {
    FlTime anchor_remote; // The origin of the relative times below ...
    FlTime anchor_local;  // ... on both clocks.
    double anchor_drift;  // Blocks and averages hold samples with this drift taken out.

    double bound_at_s; // The enclosure: at this time the offset lies in [low, high].
    double bound_low_s;
    double bound_high_s;
    float half_trip_s; // Half the smallest round trip, allowing for its age, ...
    float trip_at_s;   // ... and when that was.

    double fit_at_s; // The estimate: a line through (at, offset), slope on top of the anchor's.
    double fit_offset_s;
    double fit_slope;
    double fit_pivot_s;       // The time where the line is known best, ...
    float fit_variance_s2;    // ... how well there, ...
    float fit_slope_variance; // ... and how well its slope.

    FlTime now;         // Arrival of the newest packet believed, on the local clock.
    FlTime acked_sent;  // Sending of the newest packet acked, likewise.
    FlTime acked_floor; // What was sent before this is not believed: it was before a clock was set.
    FlTime fit_due;     // From this local time on a sample causes a new fit.
    FlTime block_due;   // From this local time on a sample opens a new block.

    float block_span_s;
    float drift_limit;
    float stamp_error_s;
    float last_s[2];    // The newest sample of each direction.
    float spread_s2[2]; // Variance of the samples about their block's mean, ...
    float step_s2[2];   // ... and the part of it that shows from one sample to the next.
    float average_s[2]; // RFC 6298, per direction.
    float average_dev_s[2];
    float trip_s; // RFC 6298, round trip.
    float trip_dev_s;

    uint32_t count[FL_CLOCK_COUNTS];
    uint32_t sample_count[2]; // Since (re)acquisition.
    uint16_t spread_count[2];
    uint8_t block_count;
    uint8_t reject_streak[2]; // Samples dropped in a row, per direction, ...
    uint8_t early_streak[2];  // ... and how many of them for a negative delay.
    bool has_trip;
    bool trip_open; // The newest packet received has no acknowledgement paired with it yet.

    FlClockBlock block[FL_CLOCK_BLOCKS];
} FlClock;

/// Forgets everything. `def` is copied.
FL_API void fl_clock_init(FlClock *clock, const FlClockDef *def);

/// A packet of the peer came in: it left at `sent_remote` on the peer's clock and arrived at
/// `arrived_local` on ours. False when the sample was not believed (and counted). Any two numbers
/// are safe.
FL_API bool fl_clock_received(FlClock *clock, FlTime sent_remote, FlTime arrived_local);

/// The peer reported that a packet of ours, sent at `sent_local` on our clock, arrived at
/// `arrived_remote` on its own. Tell each packet once, and before it the packet that carried the
/// report to fl_clock_received: the two together are a round trip. Of several reports in one packet
/// tell the oldest first. False when the sample was not believed (and counted). Any two numbers are
/// safe.
FL_API bool fl_clock_acked(FlClock *clock, FlTime sent_local, FlTime arrived_remote);

/// What the peer's clock shows when ours shows `local`. Unknown: `local` itself.
FL_API FlTime fl_clock_remote_at(const FlClock *clock, FlTime local);

/// How much is known about the peer's clock at one moment.
typedef struct FlClockReading {
    bool known;
    FlTime remote; ///< The peer's clock.
    /// |remote - truth| never exceeds this, unless a clock was set just now. At most half the
    /// smallest round trip + drift limit x its age + 1 ms; silence beyond 2 s and age beyond 60 s
    /// count twice.
    FlTime bound_ns;
    FlTime deviation_ns; ///< 99.9 % of errors stay below this if both directions are delayed alike.
    double drift_ppm;    ///< The peer's clock gains this much on ours.
} FlClockReading;

/// The reading at `local` on our clock. Unknown: known is false, and bound and deviation are
/// FL_FOREVER.
FL_API FlClockReading fl_clock_read(const FlClock *clock, FlTime local);

/// A delay, smoothed as TCP smooths its round trip (RFC 6298: weights 1/8 and 1/4).
typedef struct FlDelay {
    FlTime average_ns;
    FlTime deviation_ns; ///< Mean absolute deviation, not a standard deviation.
    FlTime minimum_ns;   ///< Smallest of the last two minutes.
} FlDelay;

typedef struct FlClockDelays {
    bool known;
    FlDelay in;  ///< Remote to local. As uncertain as the reading: deviation_ns, at worst bound_ns.
    FlDelay out; ///< Local to remote, likewise.
    FlDelay trip; ///< There and back without the rest there. Needs no assumption about the clocks.
} FlClockDelays;

// ---------------------------------------------------------------- session time

// ---------------------------------------------------------------- which time an update is shown at

/// How a receiver decides at what session time an update's state was true (papers: accuracy,
/// library).
typedef enum FlTimeMode {
    FL_TIME_GLOBAL,  ///< At its stamp: synchronised clocks, no error after arrival.
    FL_TIME_LOCAL,   ///< On arrival: no clocks needed; wrong by speed times delay.
    FL_TIME_ONE_WAY, ///< The link's one-way delay before arrival: wrong by speed times jitter.
} FlTimeMode;

#endif
