// What callers ask of a peer's clock: the line of the fit, kept where the bound allows it.
#include "clock/private.h"

// 99.9 % of errors lie within this many standard deviations. 3.3 would do for a normal error of
// known variance; edges have longer tails, and the variance is itself an estimate. Calibrated over
// the networks of tests/scene/test_clock_networks.c.
#define DEVIATION_FACTOR 4.8

// Of the 1 ms that the bound may exceed half a round trip by. The rest is for what the drift does
// while a packet is under way, or a report waits to be sent.
#define BOUND_SPARE_S 0.0005

// Nothing received for longer than packets are apart, or under way.
#define SILENCE_S 2.0

// A smallest round trip of which none came near for so long is of a route that is gone.
#define TRIP_STALE_S 60.0

/// The offset at one time, and how far off it can be.
typedef struct Estimate {
    double offset;
    double bound;
    double bent; // How far from the fitted line.
} Estimate;

bool fl__clock_known(const FlClock *clock)
{
    return clock->sample_count[FL_CLOCK_IN] > 0 && clock->sample_count[FL_CLOCK_OUT] > 0;
}

/// In silence, and when the smallest round trip is of a route that is gone, fences stay where they
/// are while the line moves on with the drift. Then the line must not be held to their middle, so
/// the bound may grow by the drift limit once more.
static double drift_room(const FlClock *clock, double at_s)
{
    double silence = fl__max(0.0, at_s - clock->bound_at_s - SILENCE_S);
    double stale = fabs(at_s - (double)clock->trip_at_s) - TRIP_STALE_S;
    return (double)clock->drift_limit * fl__max(silence, stale);
}

// The bound is the distance to the further fence, so it is smallest in the middle. The line is
// followed away from there only as far as the bound stays within half the smallest round trip
// + drift x age + 1 ms. Since the least delayed packets of the two directions seldom belong to the
// same round trip there mostly is room; without a round trip there is none.
static Estimate estimate_at(const FlClock *clock, double at_s)
{
    Fl__Fence fence = fl__clock_fence(clock, at_s);
    double middle = 0.5 * (fence.low + fence.high);
    double half = 0.5 * (fence.high - fence.low);
    double line = clock->anchor_drift * at_s + clock->fit_offset_s +
                  clock->fit_slope * (at_s - clock->fit_at_s);
    double room = 0.0;
    if (clock->has_trip) {
        double limit = fl__clock_half_trip(clock, at_s) + drift_room(clock, at_s) + BOUND_SPARE_S;
        room = fl__max(0.0, fl__min(half, limit - (double)clock->stamp_error_s - half));
    }
    double off = fl__max(-room, fl__min(room, line - middle));
    // The truth is up to a bound away in time, too, where fences are weaker: b = far + b * limit.
    double far = half + fabs(off);
    Estimate e = {middle + off, far / (1.0 - (double)clock->drift_limit),
                  fabs(line - middle - off)};
    return e;
}

/// The peer's time at a local time, relative to the anchors: where x - y = offset(x). The offset
/// changes by less than 1 in 1000 with x, so each round adds three digits.
static double at_local(const FlClock *clock, double local_s)
{
    double at_s = local_s;
    for (int32_t i = 0; i < 3; i++) {
        at_s = local_s + estimate_at(clock, at_s).offset;
    }
    return at_s;
}

static double deviation_at(const FlClock *clock, double at_s)
{
    double away = at_s - clock->fit_pivot_s;
    double variance =
        (double)clock->fit_variance_s2 + (double)clock->fit_slope_variance * away * away;
    // Jitter averages the rounding of stamps out; without jitter all are rounded the same way.
    double rounding = (double)clock->stamp_error_s;
    double jitter =
        sqrt(0.5 * ((double)clock->step_s2[FL_CLOCK_IN] + (double)clock->step_s2[FL_CLOCK_OUT]));
    double bias = rounding * rounding / (rounding + jitter + 1e-9);
    return DEVIATION_FACTOR * sqrt(variance) + bias;
}

static FlTime plus_seconds(FlTime time, double seconds)
{
    return fl_time_add(time, fl_span_from_seconds(seconds));
}

FlClockReading fl_clock_read(const FlClock *clock, FlTime local)
{
    FlClockReading r = {false, local, FL_FOREVER, FL_FOREVER, 0.0};
    if (!fl__clock_known(clock)) {
        return r;
    }
    FlTime y = fl_span(local, clock->anchor_local);
    double at_s = at_local(clock, fl_span_seconds(y));
    Estimate e = estimate_at(clock, at_s);
    r.known = true;
    r.remote = fl_time_add(clock->anchor_remote, plus_seconds(y, e.offset));
    r.bound_ns = fl_span_from_seconds(e.bound);
    r.deviation_ns = fl_span_from_seconds(fl__min(e.bound, deviation_at(clock, at_s) + e.bent));
    r.drift_ppm = (clock->anchor_drift + clock->fit_slope) * 1e6;
    return r;
}

FlTime fl_clock_remote_at(const FlClock *clock, FlTime local)
{
    return fl_clock_read(clock, local).remote;
}

FlTime fl__clock_local_at(const FlClock *clock, FlTime remote)
{
    if (!fl__clock_known(clock)) {
        return remote;
    }
    FlTime x = fl_span(remote, clock->anchor_remote);
    Estimate e = estimate_at(clock, fl_span_seconds(x));
    return fl_time_add(clock->anchor_local, plus_seconds(x, -e.offset));
}

// ---------------------------------------------------------------- delays

static double least_sample(const FlClock *clock, int32_t way)
{
    double least = HUGE_VAL;
    for (int32_t k = 0; k < clock->block_count; k++) {
        if (clock->block[k].count[way] > 0) {
            least = fl__min(least, (double)clock->block[k].low_s[way]);
        }
    }
    return least;
}

static FlDelay delay(double average, double deviation, double least)
{
    FlDelay d = {fl_span_from_seconds(fl__max(0.0, average)), fl_span_from_seconds(deviation),
                 fl_span_from_seconds(fl__max(0.0, least))};
    return d;
}

FlClockDelays fl__clock_delays(const FlClock *clock)
{
    FlClockDelays d = {0};
    if (!fl__clock_known(clock)) {
        return d;
    }
    // Samples are level along the anchor's line, so what is left of the offset is taken there too.
    double at_s = clock->fit_at_s;
    double offset = estimate_at(clock, at_s).offset - clock->anchor_drift * at_s;
    double least_in = least_sample(clock, FL_CLOCK_IN);
    double least_out = least_sample(clock, FL_CLOCK_OUT);
    d.known = true;
    d.in = delay((double)clock->average_s[FL_CLOCK_IN] + offset,
                 (double)clock->average_dev_s[FL_CLOCK_IN], least_in + offset);
    d.out = delay((double)clock->average_s[FL_CLOCK_OUT] - offset,
                  (double)clock->average_dev_s[FL_CLOCK_OUT], least_out - offset);
    d.trip = delay((double)clock->trip_s, (double)clock->trip_dev_s, least_in + least_out);
    return d;
}

// ---------------------------------------------------------------- counters

uint32_t fl__clock_count(const FlClock *clock, FlClockCount which)
{
    FL_ASSERT((int)which >= 0 && which < FL_CLOCK_COUNTS);
    return clock->count[which];
}

const char *fl__clock_count_name(FlClockCount which)
{
    static const char *const names[FL_CLOCK_COUNTS] = {
#define NAME_ROW(name, word, meaning) word,
        FL_CLOCK_COUNT_TABLE(NAME_ROW)
#undef NAME_ROW
    };
    FL_ASSERT((int)which >= 0 && which < FL_CLOCK_COUNTS);
    return names[which];
}
