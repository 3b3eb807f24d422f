// The fit: from eight blocks to one line, the peer's offset over time, and how good it is.
//
// The offset is half the difference of the two directions' locations. Three figures locate a delay
// distribution: its lower edge (the least delayed packet), its upper edge, and its mean. Over n
// packets their errors fall as
//
//      uniform jitter    both edges ~ 1/n            mean ~ 1/sqrt(n)
//      queueing tails    lower edge ~ 1/n            mean ~ 1/sqrt(n), upper edge useless
//      normal jitter     both edges ~ 1/sqrt(log n)  mean ~ 1/sqrt(n)
//
// and which network this is, is not known. So all three are computed, each with the
// variance that the blocks themselves show, and weighted by it. An edge's error is about as large
// as the gaps between the outermost samples: at a hard edge of density f both are exponential with
// mean 1/(n f), at a soft edge both have the scale of the tail.
//
// All three share one drift. The likeliest one maximises
//
//      channel_lower(drift) / scale_lower + channel_upper(drift) / scale_upper
//          - (drift - drift_of_means)^2 / (2 variance)
//
// where a channel is the room between the two directions' edges when parallel lines of that drift
// are laid against them. The sum is concave, so bisection on its slope finds the top.
//
// Times are seconds of the peer's clock relative to fit_at_s, the newest sample. Measurements, and
// what was tried instead: docs/decisions/0005-clock-estimator.md.
#include "clock/private.h"

// Before anything is known the drift is evenly anywhere within 200 ppm: deviation 200 / sqrt(3).
#define DRIFT_PRIOR 115e-6

// Without two samples to compare, jitter is taken to be 100 ms.
#define JITTER_UNKNOWN_S2 0.01

// Fewer samples cannot tell correlation from chance; more correlation than this is a moving route.
#define CORRELATION_COUNT 16
#define CORRELATION_LIMIT 0.95

// Edges need this many blocks: with two there is one gap, and one gap is chance.
#define EDGE_BLOCKS 3
// Gaps looked at behind the outermost sample.
#define EDGE_GAPS 5
// Rounded stamps blur an edge; it is not believed to be sharper than this part of their error.
#define EDGE_BLUR 0.15
// Further than this many deviations from the mean an edge is the end of a tail.
#define EDGE_REACH 2.0
// Variance of half the difference of two exponentials is 1/2; a little more, being estimated.
#define EDGE_VARIANCE 0.6
// How much less an edge says about the drift than a mean of the same variance. Calibrated.
#define EDGE_SLOPE_VARIANCE 2.0

enum { LOWER = 0, UPPER = 1, EDGES = 2 };

typedef struct View {
    int32_t count;
    double total[2]; // Samples per direction.
    double at[FL_CLOCK_BLOCKS];
    double samples[2][FL_CLOCK_BLOCKS];
    double mean[2][FL_CLOCK_BLOCKS];
    double edge[EDGES][2][FL_CLOCK_BLOCKS]; // The upper one negated: both are minima.
} View;

typedef struct Line {
    double offset; // At pivot.
    double pivot;
    double weight; // 1 / variance there.
    double slope;
    double slope_variance;
} Line;

/// What one figure says: an offset at time 0, resting on samples around `pivot`.
typedef struct Vote {
    double offset;
    double pivot;
    double weight;
} Vote;

// ---------------------------------------------------------------- what the blocks hold

double fl__clock_jitter2(const FlClock *clock, int32_t way)
{
    double rounding = (double)clock->stamp_error_s;
    double measured = JITTER_UNKNOWN_S2;
    if (clock->sample_count[way] > 1) {
        measured = fl__max((double)clock->step_s2[way], (double)clock->spread_s2[way]);
    }
    return measured + rounding * rounding + 1e-12;
}

double fl__clock_mean_variance(const FlClock *clock, int32_t way, double count)
{
    double spread = fl__clock_jitter2(clock, way);
    double correlation = 0.0;
    if (clock->spread_count[way] >= CORRELATION_COUNT) {
        double rounding = (double)clock->stamp_error_s;
        correlation = 1.0 - ((double)clock->step_s2[way] + rounding * rounding) / spread;
        correlation = fl__max(0.0, fl__min(CORRELATION_LIMIT, correlation));
    }
    // The sum of a geometrically fading correlation over all neighbours.
    return spread * (1.0 + correlation) / (1.0 - correlation) / count;
}

static void view_blocks(const FlClock *clock, View *v)
{
    v->count = 0;
    v->total[FL_CLOCK_IN] = v->total[FL_CLOCK_OUT] = 0.0;
    for (int32_t k = 0; k < clock->block_count; k++) {
        const FlClockBlock *block = &clock->block[k];
        if (block->count[FL_CLOCK_IN] == 0 || block->count[FL_CLOCK_OUT] == 0) {
            continue; // One direction alone says nothing about the offset.
        }
        int32_t m = v->count++;
        v->at[m] = (double)block->at_s - clock->fit_at_s;
        for (int32_t way = 0; way < 2; way++) {
            v->samples[way][m] = block->count[way];
            v->total[way] += block->count[way];
            v->mean[way][m] = (double)block->mean_s[way];
            v->edge[LOWER][way][m] = (double)block->low_s[way];
            v->edge[UPPER][way][m] = -(double)block->high_s[way];
        }
    }
}

/// By how much a slope lifts a value of this edge and direction per second.
static double tilt(int32_t edge, int32_t way, double slope)
{
    return (edge == LOWER) == (way == FL_CLOCK_IN) ? slope : -slope;
}

// ---------------------------------------------------------------- means

/// Least squares through the blocks' means, with the prior on the drift. When blocks scatter more
/// than their samples explain, all weights are lowered alike.
static Line fit_means(const FlClock *clock, const View *v, double prior_slope)
{
    double weight[FL_CLOCK_BLOCKS] = {0}, offset[FL_CLOCK_BLOCKS] = {0};
    double unit_in = fl__clock_mean_variance(clock, FL_CLOCK_IN, 1.0);
    double unit_out = fl__clock_mean_variance(clock, FL_CLOCK_OUT, 1.0);
    double n = 0.0, sx = 0.0, sy = 0.0;
    for (int32_t k = 0; k < v->count; k++) {
        double variance =
            unit_in / v->samples[FL_CLOCK_IN][k] + unit_out / v->samples[FL_CLOCK_OUT][k];
        weight[k] = 4.0 / variance;
        offset[k] = 0.5 * (v->mean[FL_CLOCK_OUT][k] - v->mean[FL_CLOCK_IN][k]);
        n += weight[k];
        sx += weight[k] * v->at[k];
        sy += weight[k] * offset[k];
    }
    Line line = {.offset = sy / n, .pivot = sx / n};
    double prior_weight = 1.0 / (DRIFT_PRIOR * DRIFT_PRIOR);
    double spread = 0.0, moment = 0.0, scatter = 0.0;
    for (int32_t k = 0; k < v->count; k++) {
        double x = v->at[k] - line.pivot, y = offset[k] - line.offset;
        spread += weight[k] * x * x;
        moment += weight[k] * x * y;
        scatter += weight[k] * y * y;
    }
    double slope = (prior_weight * prior_slope + moment) / (prior_weight + spread);
    double inflation = 1.0;
    if (v->count > 3) {
        double chi2 = scatter - 2.0 * slope * moment + slope * slope * spread;
        inflation = fl__max(1.0, chi2 / (v->count - 2));
    }
    line.weight = n / inflation;
    line.slope_variance = 1.0 / (prior_weight + spread / inflation);
    line.slope = (prior_weight * prior_slope + moment / inflation) * line.slope_variance;
    return line;
}

// ---------------------------------------------------------------- edges

/// The blocks' outermost samples of one direction along a slope, from the outermost inwards.
typedef struct Rank {
    double level[FL_CLOCK_BLOCKS];
    double samples[FL_CLOCK_BLOCKS];
} Rank;

static void rank_blocks(const View *v, int32_t edge, int32_t way, double slope, Rank *r)
{
    double by = tilt(edge, way, slope);
    for (int32_t k = 0; k < v->count; k++) {
        double level = v->edge[edge][way][k] + by * v->at[k];
        int32_t j = k;
        for (; j > 0 && r->level[j - 1] > level; j--) {
            r->level[j] = r->level[j - 1];
            r->samples[j] = r->samples[j - 1];
        }
        r->level[j] = level;
        r->samples[j] = v->samples[way][k];
    }
}

/// The expected error of the outermost sample, from the gaps behind it. A block's outermost sample
/// stands for all its samples, so a gap counts by those that lie beyond it. Gaps further in are
/// alike at a hard edge and fall as 1/i at a soft one: they are weighted by the root, in between.
static double gap_scale(const View *v, const Rank *r, int32_t way)
{
    static const double root[EDGE_GAPS] = {1.0, 1.4142135623730951, 1.7320508075688772, 2.0,
                                           2.2360679774997898};
    double rest = v->total[way];
    double sum = 0.0;
    int32_t gaps = v->count - 1 < EDGE_GAPS ? v->count - 1 : EDGE_GAPS;
    for (int32_t i = 0; i < gaps; i++) {
        rest -= r->samples[i];
        sum += root[i] * (r->level[i + 1] - r->level[i]) * rest;
    }
    return sum / (gaps * v->total[way]);
}

/// How many deviations the outermost sample lies from the mean.
static double reach(const FlClock *clock, const View *v, const Rank *r, int32_t edge, int32_t way,
                    double slope)
{
    double by = tilt(edge, way, slope);
    double sign = edge == LOWER ? 1.0 : -1.0;
    double mean = 0.0;
    for (int32_t k = 0; k < v->count; k++) {
        mean += v->samples[way][k] * (sign * v->mean[way][k] + by * v->at[k]);
    }
    return (mean / v->total[way] - r->level[0]) / sqrt(fl__clock_jitter2(clock, way));
}

static double edge_scale(const FlClock *clock, const View *v, int32_t edge, double slope)
{
    FL_ASSERT(v->count >= EDGE_BLOCKS);
    double scale = EDGE_BLUR * (double)clock->stamp_error_s + 1e-9;
    double far = 0.0;
    for (int32_t way = 0; way < 2; way++) {
        Rank r;
        rank_blocks(v, edge, way, slope, &r);
        scale += 0.5 * gap_scale(v, &r, way);
        far += 0.5 * reach(clock, v, &r, edge, way, slope);
    }
    // Gaps are few and chance makes them small now and then. The shape is known from all samples:
    // a uniform jitter ends at 1.7 deviations, a normal one has no end.
    double tail = far / EDGE_REACH;
    return tail > 1.0 ? scale * tail * tail * tail * tail : scale;
}

typedef struct Touch {
    double level;
    double at;
} Touch;

/// Where a line of this slope touches the edge.
static Touch touch(const View *v, int32_t edge, int32_t way, double slope)
{
    double by = tilt(edge, way, slope);
    Touch t = {v->edge[edge][way][0] + by * v->at[0], v->at[0]};
    for (int32_t k = 1; k < v->count; k++) {
        double level = v->edge[edge][way][k] + by * v->at[k];
        if (level < t.level) {
            t.level = level;
            t.at = v->at[k];
        }
    }
    return t;
}

static Vote edge_vote(const View *v, int32_t edge, double slope, double scale)
{
    Touch in = touch(v, edge, FL_CLOCK_IN, slope);
    Touch out = touch(v, edge, FL_CLOCK_OUT, slope);
    double half = 0.5 * (out.level - in.level);
    Vote vote = {edge == LOWER ? half : -half, 0.5 * (in.at + out.at),
                 1.0 / (EDGE_VARIANCE * scale * scale)};
    return vote;
}

// The four edges that lines are laid against, side by side. A positive slope lifts the first two
// over time and lowers the others.
enum { LIGHTS = 4 };
static const int32_t LIGHT_EDGE[LIGHTS] = {LOWER, UPPER, LOWER, UPPER};
static const int32_t LIGHT_WAY[LIGHTS] = {FL_CLOCK_IN, FL_CLOCK_OUT, FL_CLOCK_OUT, FL_CLOCK_IN};

typedef struct Likelihood {
    int32_t count;
    double edge[LIGHTS][FL_CLOCK_BLOCKS];
    double at[LIGHTS][FL_CLOCK_BLOCKS]; // Negated where a positive slope lowers the edge.
    double scale[EDGES];
    double slope;
    double slope_variance;
} Likelihood;

static void likelihood_init(Likelihood *l, const View *v, const Line *means,
                            const double scale[EDGES])
{
    l->count = v->count;
    l->scale[LOWER] = scale[LOWER];
    l->scale[UPPER] = scale[UPPER];
    l->slope = means->slope;
    l->slope_variance = means->slope_variance;
    for (int32_t light = 0; light < LIGHTS; light++) {
        const double *edge = v->edge[LIGHT_EDGE[light]][LIGHT_WAY[light]];
        for (int32_t k = 0; k < v->count; k++) {
            l->at[light][k] = light < 2 ? v->at[k] : -v->at[k];
            l->edge[light][k] = edge[k];
        }
    }
}

/// How fast it grows with the slope: the channels, by where lines of that slope touch the edges,
/// and the pull of the means.
static double growth(const Likelihood *l, double slope)
{
    double at[LIGHTS];
    for (int32_t light = 0; light < LIGHTS; light++) {
        double level = l->edge[light][0] + slope * l->at[light][0];
        int32_t touched = 0;
        for (int32_t k = 1; k < l->count; k++) {
            double here = l->edge[light][k] + slope * l->at[light][k];
            touched = here < level ? k : touched;
            level = here < level ? here : level;
        }
        at[light] = l->at[light][touched];
    }
    return (at[0] + at[2]) / l->scale[LOWER] + (at[1] + at[3]) / l->scale[UPPER] -
           (slope - l->slope) / l->slope_variance;
}

/// Between these two the growth changes its sign.
typedef struct Bracket {
    double above; // It grows at slopes up to here, ...
    double below; // ... and not from here on.
} Bracket;

// Slopes closer together than this may be the same to a level's rounding.
#define SLOPES_APART 1e-12

/// Looks for the change of sign around the slope of the last fit, where it most often still is.
static Bracket bracket_near(const Likelihood *l, double near, double least, double most)
{
    Bracket b = {least, most};
    double step = (most - least) / 2048.0;
    bool up = growth(l, near) > 0.0;
    *(up ? &b.above : &b.below) = near;
    double at = near;
    for (int32_t i = 0; i < 6; i++) {
        at += up ? step : -step;
        step *= 4.0;
        if (at <= least || at >= most) {
            break;
        }
        bool still = growth(l, at) > 0.0;
        *(still ? &b.above : &b.below) = at;
        if (still != up) {
            break;
        }
    }
    return b;
}

/// Bisection. The growth falls with the slope, so what lies outside of the bracket is known without
/// being asked for.
static double likeliest_slope(const Likelihood *l, double near, double least, double most)
{
    Bracket b = {least, most};
    if (near > least && near < most) {
        b = bracket_near(l, near, least, most);
    }
    for (int32_t i = 0; i < 14; i++) { // To 0.03 ppm.
        double slope = 0.5 * (least + most);
        bool grows = slope < b.above - SLOPES_APART ||
                     (slope < b.below + SLOPES_APART && growth(l, slope) > 0.0);
        *(grows ? &least : &most) = slope;
    }
    return 0.5 * (least + most);
}

// ---------------------------------------------------------------- all together

static double time_variance(const View *v)
{
    double mean = 0.0, square = 0.0;
    for (int32_t k = 0; k < v->count; k++) {
        mean += v->at[k] / v->count;
    }
    for (int32_t k = 0; k < v->count; k++) {
        square += (v->at[k] - mean) * (v->at[k] - mean) / v->count;
    }
    return square;
}

/// The votes' weighted mean. Votes that disagree more than their variances allow (the directions'
/// delays are not distributed alike) make it worth less.
static Vote count_votes(const Vote *votes, int32_t count)
{
    Vote sum = {0.0, 0.0, 0.0};
    for (int32_t i = 0; i < count; i++) {
        sum.weight += votes[i].weight;
        sum.offset += votes[i].weight * votes[i].offset;
        sum.pivot += votes[i].weight * votes[i].pivot;
    }
    sum.offset /= sum.weight;
    sum.pivot /= sum.weight;
    double chi2 = 0.0;
    for (int32_t i = 0; i < count; i++) {
        double off = votes[i].offset - sum.offset;
        chi2 += votes[i].weight * off * off;
    }
    if (count > 1) {
        sum.weight /= fl__max(1.0, chi2 / (count - 1));
    }
    return sum;
}

void fl__clock_fit(FlClock *clock)
{
    View v;
    view_blocks(clock, &v);
    if (v.count == 0) {
        return;
    }
    Line means = fit_means(clock, &v, -clock->anchor_drift);
    double slope = means.slope;
    int32_t edges = v.count >= EDGE_BLOCKS ? EDGES : 0;
    double scale[EDGES] = {0};
    for (int32_t e = 0; e < edges; e++) {
        scale[e] = edge_scale(clock, &v, e, clock->fit_slope);
    }
    if (edges > 0) {
        double limit = (double)clock->drift_limit;
        Likelihood l;
        likelihood_init(&l, &v, &means, scale);
        slope = likeliest_slope(&l, clock->fit_slope, -clock->anchor_drift - limit,
                                -clock->anchor_drift + limit);
    }
    Vote votes[1 + EDGES] = {{means.offset - slope * means.pivot, means.pivot, means.weight}};
    double slope_weight = 1.0 / means.slope_variance;
    double spread = time_variance(&v) / EDGE_SLOPE_VARIANCE;
    for (int32_t e = 0; e < edges; e++) {
        votes[1 + e] = edge_vote(&v, e, slope, scale[e]);
        slope_weight += votes[1 + e].weight * spread;
    }
    Vote result = count_votes(votes, 1 + edges);
    clock->fit_offset_s = result.offset;
    clock->fit_slope = slope;
    clock->fit_pivot_s = clock->fit_at_s + result.pivot;
    clock->fit_variance_s2 = (float)(1.0 / result.weight);
    clock->fit_slope_variance = (float)(1.0 / slope_weight);
}
