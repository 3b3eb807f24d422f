// Blocks: what is kept of the samples. Eight stretches of time, each with the count, mean, smallest
// and largest sample of both directions: 32 bytes a block, whatever the packet rate.
//
// Why these three figures: which of them locates a delay distribution best depends on its shape,
// which is not known in advance (fit.c chooses). Why blocks: the clocks drift apart while samples
// come in, and only figures at different times show by how much. Blocks start short, so that a
// young clock has several, and when all are in use neighbours are merged and the span doubles,
// until eight blocks reach back two minutes; from then on the oldest is forgotten.
//
// Why the drift is taken out of a sample before it goes in: a block spans up to 16 s, over which
// 200 ppm are 3 ms; the smallest sample would be the first or the last, not the least delayed.
#include "clock/private.h"

#include <string.h>

#define SPAN_FIRST_S 0.5f
#define SPAN_LAST_S 16.0f

static void add_to_mean(float *mean, float value, uint32_t count)
{
    *mean += (value - *mean) / (float)count;
}

void fl__clock_block_add(FlClock *clock, int32_t way, double at_s, double sample_s)
{
    FlClockBlock *block = &clock->block[clock->block_count - 1];
    if (block->count[way] == UINT16_MAX) {
        return; // More than 4000 packets a second: enough is known of this stretch.
    }
    float sample = (float)sample_s;
    bool first = block->count[way]++ == 0;
    add_to_mean(&block->at_s, (float)at_s, (uint32_t)block->count[0] + block->count[1]);
    add_to_mean(&block->mean_s[way], sample, block->count[way]);
    if (first || sample < block->low_s[way]) {
        block->low_s[way] = sample;
    }
    if (first || sample > block->high_s[way]) {
        block->high_s[way] = sample;
    }
}

static void merge_way(FlClockBlock *into, const FlClockBlock *from, int32_t way)
{
    if (from->count[way] == 0) {
        return;
    }
    bool first = into->count[way] == 0;
    uint32_t total = (uint32_t)into->count[way] + from->count[way];
    float share = (float)from->count[way] / (float)total;
    into->mean_s[way] += (from->mean_s[way] - into->mean_s[way]) * share;
    if (first || from->low_s[way] < into->low_s[way]) {
        into->low_s[way] = from->low_s[way];
    }
    if (first || from->high_s[way] > into->high_s[way]) {
        into->high_s[way] = from->high_s[way];
    }
    into->count[way] = (uint16_t)(total < UINT16_MAX ? total : UINT16_MAX);
}

static FlClockBlock merged(const FlClockBlock *a, const FlClockBlock *b)
{
    FlClockBlock both = *a;
    float a_count = (float)a->count[0] + (float)a->count[1];
    float b_count = (float)b->count[0] + (float)b->count[1];
    both.at_s += (b->at_s - a->at_s) * (b_count / (a_count + b_count));
    merge_way(&both, b, FL_CLOCK_IN);
    merge_way(&both, b, FL_CLOCK_OUT);
    return both;
}

static void make_room(FlClock *clock)
{
    if (clock->block_span_s >= SPAN_LAST_S) {
        memmove(clock->block, clock->block + 1, (FL_CLOCK_BLOCKS - 1) * sizeof clock->block[0]);
        clock->block_count--;
        return;
    }
    for (int32_t k = 0; k < FL_CLOCK_BLOCKS / 2; k++) {
        clock->block[k] = merged(&clock->block[2 * k], &clock->block[2 * k + 1]);
    }
    clock->block_count = FL_CLOCK_BLOCKS / 2;
    clock->block_span_s *= 2.0f;
}

void fl__clock_block_open(FlClock *clock)
{
    if (clock->block_count == 0) {
        clock->block_span_s = SPAN_FIRST_S;
    }
    if (clock->block_count == FL_CLOCK_BLOCKS) {
        make_room(clock);
    }
    memset(&clock->block[clock->block_count++], 0, sizeof clock->block[0]);
    clock->block_due = clock->now + (FlTime)((double)clock->block_span_s * 1e9);
}

static void shift(float *value, double by)
{
    *value = (float)((double)*value + by);
}

// The new line is  lead' = lead - slope * x + drift' * to - moved,  with x measured from `to`
// afterwards.
void fl__clock_rebase(FlClock *clock)
{
    double slope = clock->fit_slope;
    double drift = clock->anchor_drift + slope;
    FlTime to_ns = fl_span_from_seconds(clock->fit_at_s);
    double to = fl_span_seconds(to_ns);
    FlTime moved_ns = fl_span_from_seconds(drift * to + clock->fit_offset_s - slope * to);
    double moved = fl_span_seconds(moved_ns);
    double level = drift * to - moved;

    for (int32_t k = 0; k < clock->block_count; k++) {
        FlClockBlock *block = &clock->block[k];
        double by = level - slope * (double)block->at_s;
        for (int32_t way = 0; way < 2; way++) {
            double signed_by = way == FL_CLOCK_OUT ? by : -by;
            shift(&block->mean_s[way], signed_by);
            shift(&block->low_s[way], signed_by);
            shift(&block->high_s[way], signed_by);
        }
        shift(&block->at_s, -to);
    }
    double by = level - slope * to;
    shift(&clock->average_s[FL_CLOCK_IN], -by);
    shift(&clock->average_s[FL_CLOCK_OUT], by);
    shift(&clock->last_s[FL_CLOCK_IN], -by);
    shift(&clock->last_s[FL_CLOCK_OUT], by);

    clock->anchor_remote += to_ns;
    clock->anchor_local += to_ns - moved_ns;
    clock->anchor_drift = drift;
    clock->bound_at_s -= to;
    shift(&clock->trip_at_s, -to);
    clock->bound_low_s -= moved;
    clock->bound_high_s -= moved;
    clock->fit_offset_s += by;
    clock->fit_at_s -= to;
    clock->fit_pivot_s -= to;
    clock->fit_slope = 0.0;
}

// ---------------------------------------------------------------- small steps of a clock

#define STEP_BLOCKS 6       // Blocks before the suspect that show how much blocks scatter anyway.
#define STEP_LEAST_S 0.005  // Smaller steps heal when the blocks are forgotten.
#define STEP_DEVIATIONS 8.0 // At six blocks of scatter chance does this 1 time in 5000.
#define STEP_REACH_S 32.0   // The line's own error is taken this far from where it is known best.

typedef struct Shift {
    double mean[2];
    double low[2];
    double scatter2; // Variance of one block's offset.
} Shift;

static double block_offset(const FlClockBlock *block)
{
    return 0.5 * ((double)block->mean_s[FL_CLOCK_OUT] - (double)block->mean_s[FL_CLOCK_IN]);
}

static Shift newest_shift(const FlClock *clock)
{
    Shift s = {{0.0, 0.0}, {0.0, 0.0}, 0.0};
    int32_t before = clock->block_count - 1;
    const FlClockBlock *newest = &clock->block[before];
    double offset = 0.0;
    for (int32_t k = 0; k < before; k++) {
        offset += block_offset(&clock->block[k]) / before;
    }
    for (int32_t k = 0; k < before; k++) {
        double off = block_offset(&clock->block[k]) - offset;
        s.scatter2 += off * off / (before - 1);
    }
    for (int32_t way = 0; way < 2; way++) {
        double low = (double)clock->block[0].low_s[way];
        for (int32_t k = 0; k < before; k++) {
            s.mean[way] +=
                ((double)newest->mean_s[way] - (double)clock->block[k].mean_s[way]) / before;
            low = fl__min(low, (double)clock->block[k].low_s[way]);
        }
        s.low[way] = (double)newest->low_s[way] - low;
    }
    return s;
}

/// Variance by which the newest block's offset may be off without any step.
static double step_variance(const FlClock *clock, const Shift *s)
{
    const FlClockBlock *newest = &clock->block[clock->block_count - 1];
    double own = 0.0;
    for (int32_t way = 0; way < 2; way++) {
        own += 0.25 * fl__clock_mean_variance(clock, way, newest->count[way]);
    }
    double line = (double)clock->fit_slope_variance * STEP_REACH_S * STEP_REACH_S;
    return fl__max(s->scatter2, own) + line;
}

// A route that changes moves one direction, or both alike. A clock that is set moves both,
// oppositely, by the same amount, in the middle of the delays and at their lower edge. Blocks are
// judged by the line as it stood before the newest was part of it: the anchor's.
bool fl__clock_stepped(const FlClock *clock)
{
    if (clock->block_count < STEP_BLOCKS + 1) {
        return false;
    }
    Shift s = newest_shift(clock);
    double apart = 0.5 * (s.mean[FL_CLOCK_OUT] - s.mean[FL_CLOCK_IN]);
    double alike = 0.5 * (s.mean[FL_CLOCK_OUT] + s.mean[FL_CLOCK_IN]);
    double low_apart = 0.5 * (s.low[FL_CLOCK_OUT] - s.low[FL_CLOCK_IN]);
    double size = fabs(apart);
    double chance = STEP_DEVIATIONS * sqrt(step_variance(clock, &s));
    return size > STEP_LEAST_S && size > chance && fabs(alike) < 0.25 * size &&
           fabs(low_apart - apart) < 0.5 * size;
}
