// Private to the clock room.
//
// One picture for both directions. Let x be the peer's clock and y the local clock at the same
// event, both relative to the anchor. Each sample is one event on the peer's clock (a packet
// received was sent, a packet acked arrived), with a local time that is later (received) or earlier
// (acked) than the event by the packet's delay:
//
//      lead   = x - y                       received: offset - delay   acked: offset + delay
//      sample = delay -+ offset, level      the anchor's drift taken out, received negated
//
// A sample is therefore always "a delay, minus or plus the same unknown offset". Small samples are
// small delays in both directions, and the offset is half the difference of the two directions.
#ifndef FAIRLEAD_CLOCK_PRIVATE_H
#define FAIRLEAD_CLOCK_PRIVATE_H

#include "fairlead/clock.h"

#include "base/private.h"
#include "clock/clock.h"

// Samples that the variances remember.
#define FL__CLOCK_MEMORY 1024u

// Contradictions up to this are a drift somewhat above its limit, or a coarse receive stamp: the
// newer sample wins.
#define FL__CLOCK_PINCH_S 0.001

/// What the offset lies between.
typedef struct Fl__Fence {
    double low;
    double high;
} Fl__Fence;

/// By how much every fence is weaker at another time.
static inline double fl__clock_fence_age(const FlClock *clock, double at_s)
{
    return fabs(at_s - clock->bound_at_s) * (double)clock->drift_limit;
}

static inline Fl__Fence fl__clock_fence(const FlClock *clock, double at_s)
{
    double age = fl__clock_fence_age(clock, at_s);
    Fl__Fence fence = {clock->bound_low_s - age, clock->bound_high_s + age};
    return fence;
}

/// Half the smallest round trip as it counts at another time: more by the drift limit times its
/// age.
static inline double fl__clock_half_trip(const FlClock *clock, double at_s)
{
    double age = fabs(at_s - (double)clock->trip_at_s);
    return (double)clock->half_trip_s + (double)clock->drift_limit * age;
}

/// Adds a sample to the newest block.
void fl__clock_block_add(FlClock *clock, int32_t way, double at_s, double sample_s);

/// Opens a new block, making room by halving the resolution or forgetting the oldest.
void fl__clock_block_open(FlClock *clock);

/// Moves the anchor to the newest fit: relative times stay small, and what blocks hold stays level.
void fl__clock_rebase(FlClock *clock);

/// True when the newest block shows both directions shifted oppositely: a clock was set by less
/// than a round trip.
bool fl__clock_stepped(const FlClock *clock);

/// Variance of one direction's samples; never zero, since stamps are rounded.
double fl__clock_jitter2(const FlClock *clock, int32_t way);

/// Variance of the mean of `count` samples of one direction, which may depend on each other.
double fl__clock_mean_variance(const FlClock *clock, int32_t way, double count);

/// Estimates offset, slope and their variances from the blocks.
void fl__clock_fit(FlClock *clock);

#endif
