// One peer's clock: which samples are believed, and what becomes of them.
//
// The bound needs no statistics. A packet received shows a time that the peer's clock had passed
// when ours showed its arrival; a packet acked shows one that it had not reached yet. Such a fence
// is weaker later, by the drift limit times its age, and all fences weaken alike: of all ever seen
// only the tightest on each side matters, and two numbers hold them.
//
// A sample beyond the opposite fence would have a negative delay, which no network can do. One is
// the peer's mistake, and is dropped. When they go on a clock was set, and everything starts over.
#include "clock/private.h"

#include <string.h>

#define COOKIE 0x464c434bu // "FLCK"

// No clock shows 126 years, and none is 36 years away from where it was at its last sample.
#define STAMP_LIMIT ((FlTime)4000000000000000000)
#define APART_LIMIT ((FlTime)1 << 60)

// This many samples of one direction dropped in a row, negative delays among them, are a clock that
// was set ...
#define STREAK_EARLY 8
#define STREAK_EARLY_LEAST 2
// ... but only late ones may be a network that held everything back and now lets go: be patient.
#define STREAK_LATE 64

// A fit costs about a microsecond, so once there are some samples not each causes one.
#define FIT_INTERVAL_NS FL_MS(250)
#define FIT_ALWAYS_COUNT 32

// RFC 6298: alpha and beta.
#define AVERAGE_WEIGHT 0.125
#define DEVIATION_WEIGHT 0.25

// ---------------------------------------------------------------- settings

FlClockDef fl_clock_def_default(void)
{
    FlClockDef def = {.drift_limit_ppm = 250.0, .stamp_step_ns = FL_US(250), .cookie = COOKIE};
    return def;
}

FlResult fl_clock_def_problem(const FlClockDef *def, FlError *error)
{
    static const Fl__Rule rules[] = {
        FL__COOKIE(FlClockDef, "fl_clock_def_default", COOKIE),
        FL__REAL(FlClockDef, drift_limit_ppm, 0.0, 10000.0),
        FL__WHOLE(FlClockDef, stamp_step_ns, 0, FL_SEC(1)),
    };
    return fl__def_problem(def, rules, sizeof rules / sizeof rules[0], error);
}

void fl_clock_init(FlClock *clock, const FlClockDef *def)
{
    FL_ASSERT(clock != NULL && def != NULL && def->cookie == COOKIE);
    FL_ASSERT(def->drift_limit_ppm >= 0.0 && def->drift_limit_ppm <= 10000.0);
    FL_ASSERT(def->stamp_step_ns >= 0 && def->stamp_step_ns <= FL_SEC(1));
    memset(clock, 0, sizeof *clock);
    clock->drift_limit = (float)(def->drift_limit_ppm * 1e-6);
    clock->stamp_error_s = (float)(0.5 * fl_span_seconds(def->stamp_step_ns));
    clock->acked_floor = INT64_MIN;
}

static bool started(const FlClock *clock)
{
    return clock->block_count > 0;
}

static void start_over(FlClock *clock, FlClockCount why, FlTime local)
{
    FlClock fresh;
    memset(&fresh, 0, sizeof fresh);
    memcpy(fresh.count, clock->count, sizeof fresh.count);
    fresh.count[why]++;
    fresh.drift_limit = clock->drift_limit;
    fresh.stamp_error_s = clock->stamp_error_s;
    fresh.acked_floor = local;
    *clock = fresh;
}

static void begin(FlClock *clock, FlTime remote, FlTime local)
{
    clock->anchor_remote = remote;
    clock->anchor_local = local;
    clock->bound_low_s = -HUGE_VAL;
    clock->bound_high_s = HUGE_VAL;
    clock->now = local;
    clock->acked_sent = INT64_MIN;
    clock->fit_due = local;
    fl__clock_block_open(clock);
}

// ---------------------------------------------------------------- which samples are believed

/// FL_CLOCK_RECEIVED or FL_CLOCK_ACKED for a sample to use, otherwise why not.
static FlClockCount judge(const FlClock *clock, int32_t way, double at_s, double lead_s)
{
    Fl__Fence fence = fl__clock_fence(clock, at_s);
    double limit = fl_span_seconds(FL_CLOCK_DELAY_LIMIT_NS);
    double error = (double)clock->stamp_error_s;
    bool in = way == FL_CLOCK_IN;
    double before = in ? lead_s - fence.high : fence.low - lead_s;
    double beyond = in ? fence.low - lead_s : lead_s - fence.high;
    if (before > error + FL__CLOCK_PINCH_S) {
        return FL_CLOCK_EARLY;
    }
    if (beyond > error + limit) {
        return FL_CLOCK_LATE;
    }
    return in ? FL_CLOCK_RECEIVED : FL_CLOCK_ACKED;
}

static bool reject(FlClock *clock, int32_t way, FlClockCount why, FlTime local)
{
    clock->count[why]++;
    clock->reject_streak[way]++;
    if (why == FL_CLOCK_EARLY) {
        clock->early_streak[way]++;
    }
    bool set =
        clock->reject_streak[way] >= STREAK_EARLY && clock->early_streak[way] >= STREAK_EARLY_LEAST;
    if (set || clock->reject_streak[way] >= STREAK_LATE) {
        start_over(clock, FL_CLOCK_REACQUIRED, local);
    }
    return false;
}

/// A sample that makes all before it in its direction later than any that is believed.
static bool outdates_all(const FlClock *clock, int32_t way, double at_s, double lead_s)
{
    Fl__Fence fence = fl__clock_fence(clock, at_s);
    double gain = way == FL_CLOCK_IN ? lead_s - fence.low : fence.high - lead_s;
    return clock->sample_count[way] > 0 && gain > fl_span_seconds(FL_CLOCK_DELAY_LIMIT_NS);
}

static bool within(FlTime value, FlTime limit)
{
    return value <= limit && value >= -limit;
}

/// Differences of sensible stamps cannot overflow.
static bool sensible(const FlClock *clock, FlTime remote, FlTime local)
{
    if (!within(remote, STAMP_LIMIT) || !within(local, STAMP_LIMIT)) {
        return false;
    }
    return !started(clock) || (within(fl_span(remote, clock->anchor_remote), APART_LIMIT) &&
                               within(fl_span(local, clock->anchor_local), APART_LIMIT));
}

// ---------------------------------------------------------------- what a sample teaches

static void tighten_fence(FlClock *clock, int32_t way, double at_s, double lead_s)
{
    if (at_s > clock->bound_at_s) {
        Fl__Fence fence = fl__clock_fence(clock, at_s);
        clock->bound_low_s = fence.low;
        clock->bound_high_s = fence.high;
        clock->bound_at_s = at_s;
    }
    double slack = fl__clock_fence_age(clock, at_s) + (double)clock->stamp_error_s;
    if (way == FL_CLOCK_IN) {
        clock->bound_low_s = fl__max(clock->bound_low_s, lead_s - slack);
    } else {
        clock->bound_high_s = fl__min(clock->bound_high_s, lead_s + slack);
    }
    if (clock->bound_low_s > clock->bound_high_s) {
        double newer = way == FL_CLOCK_IN ? clock->bound_low_s : clock->bound_high_s;
        clock->bound_low_s = newer;
        clock->bound_high_s = newer;
        clock->count[FL_CLOCK_PINCHED]++;
    }
}

static void learn_variance(float *variance, double square, uint32_t count)
{
    uint32_t memory = count < FL__CLOCK_MEMORY ? count : FL__CLOCK_MEMORY;
    *variance = (float)((double)*variance + (square - (double)*variance) / memory);
}

/// Spread about the block's mean, and from sample to sample. If delays were independent of each
/// other both would agree; the less the second is, the less the samples are worth (fit.c).
static void learn_jitter(FlClock *clock, int32_t way, double sample_s)
{
    if (clock->sample_count[way] > 0) {
        double step = sample_s - (double)clock->last_s[way];
        learn_variance(&clock->step_s2[way], 0.5 * step * step, clock->sample_count[way]);
    }
    const FlClockBlock *block = &clock->block[clock->block_count - 1];
    if (block->count[way] > 0) {
        double count = block->count[way];
        double off = sample_s - (double)block->mean_s[way];
        if (clock->spread_count[way] < FL__CLOCK_MEMORY) {
            clock->spread_count[way]++;
        }
        learn_variance(&clock->spread_s2[way], off * off * count / (count + 1.0),
                       clock->spread_count[way]);
    }
}

static void smooth(float *average, float *deviation, double value)
{
    double off = value - (double)*average;
    *deviation = (float)((double)*deviation + DEVIATION_WEIGHT * (fabs(off) - (double)*deviation));
    *average = (float)((double)*average + AVERAGE_WEIGHT * off);
}

static void learn_delay(FlClock *clock, int32_t way, double sample_s)
{
    if (clock->sample_count[way] == 0) {
        // RFC 6298 starts the deviation at half the delay, but this sample has an offset in it.
        clock->average_s[way] = (float)sample_s;
    }
    smooth(&clock->average_s[way], &clock->average_dev_s[way], sample_s);
}

/// A packet acked and the packet that brought the acknowledgement make a round trip, and the offset
/// cancels. One per packet received, as in QUIC: a packet that overtook others brings many
/// acknowledgements, and pairing it with each would find round trips shorter than any real one.
static void learn_trip(FlClock *clock, double sample_s)
{
    if (!clock->trip_open) {
        return;
    }
    clock->trip_open = false;
    double trip = fl__max(0.0, sample_s + (double)clock->last_s[FL_CLOCK_IN]);
    if (!clock->has_trip || 0.5 * trip <= fl__clock_half_trip(clock, clock->bound_at_s)) {
        clock->half_trip_s = (float)(0.5 * trip);
        clock->trip_at_s = (float)clock->bound_at_s;
    }
    if (!clock->has_trip) {
        clock->has_trip = true;
        clock->trip_s = (float)trip;
        clock->trip_dev_s = (float)(0.5 * trip);
        return;
    }
    smooth(&clock->trip_s, &clock->trip_dev_s, trip);
}

static void learn(FlClock *clock, int32_t way, double at_s, double lead_s)
{
    tighten_fence(clock, way, at_s, lead_s);
    double level_s = lead_s - clock->anchor_drift * at_s;
    double sample_s = way == FL_CLOCK_OUT ? level_s : -level_s;
    learn_jitter(clock, way, sample_s);
    learn_delay(clock, way, sample_s);
    if (way == FL_CLOCK_OUT) {
        learn_trip(clock, sample_s);
    }
    fl__clock_block_add(clock, way, at_s, sample_s);
    clock->last_s[way] = (float)sample_s;
    clock->sample_count[way]++;
    if (at_s > clock->fit_at_s) {
        clock->fit_offset_s += clock->fit_slope * (at_s - clock->fit_at_s);
        clock->fit_at_s = at_s;
    }
}

// ---------------------------------------------------------------- samples

static void next_block_if_due(FlClock *clock, FlTime local)
{
    const FlClockBlock *newest = &clock->block[clock->block_count - 1];
    bool both = newest->count[FL_CLOCK_IN] > 0 && newest->count[FL_CLOCK_OUT] > 0;
    if (clock->now < clock->block_due || !both) {
        return;
    }
    if (fl__clock_stepped(clock)) {
        start_over(clock, FL_CLOCK_STEPPED, local);
        return;
    }
    fl__clock_fit(clock);
    fl__clock_rebase(clock);
    fl__clock_block_open(clock);
}

static void fit_if_due(FlClock *clock)
{
    uint32_t count = clock->sample_count[FL_CLOCK_IN];
    if (!fl__clock_known(clock) || (clock->now < clock->fit_due && count > FIT_ALWAYS_COUNT)) {
        return;
    }
    fl__clock_fit(clock);
    clock->fit_due = clock->now + FIT_INTERVAL_NS;
}

static bool add_sample(FlClock *clock, int32_t way, FlTime remote, FlTime local)
{
    if (!sensible(clock, remote, local)) {
        return reject(clock, way, FL_CLOCK_RANGE, local);
    }
    if (started(clock)) {
        next_block_if_due(clock, local);
    }
    if (!started(clock)) {
        begin(clock, remote, local);
    }
    FlTime x = remote - clock->anchor_remote;
    FlTime y = local - clock->anchor_local;
    double at_s = fl_span_seconds(x);
    double lead_s = fl_span_seconds(x - y);
    FlClockCount verdict = judge(clock, way, at_s, lead_s);
    if (verdict != FL_CLOCK_RECEIVED && verdict != FL_CLOCK_ACKED) {
        return reject(clock, way, verdict, local);
    }
    if (outdates_all(clock, way, at_s, lead_s)) {
        start_over(clock, FL_CLOCK_REACQUIRED, local);
        begin(clock, remote, local);
        at_s = 0.0;
        lead_s = 0.0;
    }
    clock->count[verdict]++;
    clock->reject_streak[way] = 0;
    clock->early_streak[way] = 0;
    learn(clock, way, at_s, lead_s);
    if (way == FL_CLOCK_IN && local > clock->now) {
        clock->now = local;
    }
    fit_if_due(clock);
    return true;
}

bool fl_clock_received(FlClock *clock, FlTime sent_remote, FlTime arrived_local)
{
    bool used = add_sample(clock, FL_CLOCK_IN, sent_remote, arrived_local);
    clock->trip_open = used;
    return used;
}

bool fl_clock_acked(FlClock *clock, FlTime sent_local, FlTime arrived_remote)
{
    if (sent_local < clock->acked_floor) {
        clock->count[FL_CLOCK_OUTDATED]++;
        return false;
    }
    bool used = add_sample(clock, FL_CLOCK_OUT, arrived_remote, sent_local);
    if (used && sent_local > clock->acked_sent) {
        clock->acked_sent = sent_local;
    }
    return used;
}
