// Means, intervals, correlations, histograms.
#include "lab/figures/stats.h"

double student_t95(int32_t degrees)
{
    // Up to nine degrees the expansion below is off in the fifth digit.
    static const double few[] = {12.7062047, 4.3026527, 3.1824463, 2.7764451, 2.5705818,
                                 2.4469119,  2.3646243, 2.3060041, 2.2621572};
    FL_ASSERT(degrees >= 1);
    if (degrees <= (int32_t)(sizeof few / sizeof *few)) {
        return few[degrees - 1];
    }
    // Abramowitz and Stegun 26.7.5: Student's quantile from the normal one.
    const double z = 1.959963984540054;
    double n = degrees;
    double z2 = z * z;
    double g1 = z * (z2 + 1.0) / 4.0;
    double g2 = z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
    double g3 = z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    double g4 = z * ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92160.0;
    return z + (g1 + (g2 + (g3 + g4 / n) / n) / n) / n;
}

/// From the sum of squared deviations.
static double half_width(double squares, int32_t count)
{
    if (count < 2) {
        return (double)INFINITY;
    }
    return student_t95(count - 1) * sqrt(squares / (double)(count - 1) / (double)count);
}

Estimate estimate_mean(const double *values, int32_t count)
{
    Estimate e = {count, (double)NAN, (double)INFINITY};
    if (count <= 0) {
        return e;
    }
    double sum = 0.0;
    for (int32_t i = 0; i < count; i++) {
        sum += values[i];
    }
    e.mean = sum / count;
    double squares = 0.0;
    for (int32_t i = 0; i < count; i++) {
        squares += (values[i] - e.mean) * (values[i] - e.mean);
    }
    e.ci95 = half_width(squares, count);
    return e;
}

Estimate estimate_pooled(const double *values, const double *weights, int32_t count)
{
    Estimate e = {count, (double)NAN, (double)INFINITY};
    double sum = 0.0;
    double weight = 0.0;
    for (int32_t i = 0; i < count; i++) {
        sum += weights[i] > 0.0 ? values[i] * weights[i] : 0.0; // a run of nothing may be NaN
        weight += weights[i];
    }
    if (count <= 0 || !(weight > 0.0)) {
        return e;
    }
    e.mean = sum / weight;
    double squares = 0.0;
    for (int32_t i = 0; i < count; i++) {
        double share = weights[i] * (double)count / weight; // 1 where all runs are alike
        double off = weights[i] > 0.0 ? share * (values[i] - e.mean) : 0.0;
        squares += off * off;
    }
    e.ci95 = half_width(squares, count);
    return e;
}

Estimate estimate_ratio(const double *above, const double *below, int32_t count)
{
    Estimate e = {count, (double)NAN, (double)INFINITY};
    if (count <= 0) {
        return e;
    }
    double sum = 0.0;
    for (int32_t i = 0; i < count; i++) {
        sum += above[i] / below[i];
    }
    e.mean = sum / count;
    double squares = 0.0;
    for (int32_t i = 0; i < count; i++) {
        double off = above[i] / below[i] - e.mean;
        squares += off * off;
    }
    e.ci95 = half_width(squares, count);
    return e;
}

// ---------------------------------------------------------------- what goes together

/// Sums of deviations from the means, fed one pair at a time: no array of ranks is needed.
typedef struct Joint {
    int32_t count;
    double mean_a, mean_b;
    double aa, bb, ab;
} Joint;

static void joint_add(Joint *j, double a, double b)
{
    j->count++;
    double off_a = a - j->mean_a;
    double off_b = b - j->mean_b;
    j->mean_a += off_a / j->count;
    j->mean_b += off_b / j->count;
    j->aa += off_a * (a - j->mean_a);
    j->bb += off_b * (b - j->mean_b);
    j->ab += off_a * (b - j->mean_b);
}

static double joint_correlation(const Joint *j)
{
    if (j->count < 2 || !(j->aa > 0.0) || !(j->bb > 0.0)) {
        return (double)NAN;
    }
    return fmin(fmax(j->ab / sqrt(j->aa * j->bb), -1.0), 1.0);
}

/// From 1 on; equal ones get the mean of the places they take.
static double rank_of(const double *values, int32_t count, int32_t which)
{
    int32_t below = 0;
    int32_t equal = 0;
    for (int32_t i = 0; i < count; i++) {
        below += values[i] < values[which] ? 1 : 0;
        equal += values[i] == values[which] ? 1 : 0;
    }
    return below + 0.5 * (equal + 1);
}

double correlation_of_values(const double *a, const double *b, int32_t count)
{
    Joint j = {0};
    for (int32_t i = 0; i < count; i++) {
        joint_add(&j, a[i], b[i]);
    }
    return joint_correlation(&j);
}

double correlation_of_ranks(const double *a, const double *b, int32_t count)
{
    Joint j = {0};
    for (int32_t i = 0; i < count; i++) {
        joint_add(&j, rank_of(a, count, i), rank_of(b, count, i));
    }
    return joint_correlation(&j);
}

// ---------------------------------------------------------------- many samples

enum { TALLY_BINS = TALLY_OCTAVES * TALLY_STEPS + 2 };

static int32_t bin_of(double sample)
{
    if (sample < ldexp(1.0, TALLY_LOW)) {
        return 0;
    }
    int exponent;
    double half = frexp(sample, &exponent); // in [0.5, 1)
    int32_t octave = exponent - 1 - TALLY_LOW;
    if (octave >= TALLY_OCTAVES) {
        return TALLY_BINS - 1;
    }
    return 1 + octave * TALLY_STEPS + (int32_t)((half - 0.5) * 2.0 * TALLY_STEPS);
}

/// Where a bin begins; the first after the last is where the last ends.
static double bin_low(int32_t bin)
{
    if (bin == 0) {
        return 0.0;
    }
    int32_t octave = (bin - 1) / TALLY_STEPS;
    double step = (double)((bin - 1) % TALLY_STEPS) / TALLY_STEPS;
    return ldexp(1.0 + step, octave + TALLY_LOW);
}

void tally_add(Tally *tally, double sample)
{
    FL_ASSERT(sample >= 0.0);
    tally->count++;
    tally->sum += sample;
    tally->max = sample > tally->max ? sample : tally->max;
    tally->bins[bin_of(sample)]++;
}

void tally_merge(Tally *tally, const Tally *other)
{
    tally->count += other->count;
    tally->sum += other->sum;
    tally->max = other->max > tally->max ? other->max : tally->max;
    for (int32_t i = 0; i < TALLY_BINS; i++) {
        tally->bins[i] += other->bins[i];
    }
}

double tally_mean(const Tally *tally)
{
    return tally->count > 0 ? tally->sum / (double)tally->count : (double)NAN;
}

double tally_quantile(const Tally *tally, double share)
{
    if (tally->count == 0) {
        return (double)NAN;
    }
    double wanted = share * (double)tally->count;
    double below = 0.0;
    for (int32_t i = 0; i < TALLY_BINS; i++) {
        double here = tally->bins[i];
        if (here > 0.0 && below + here >= wanted) {
            double low = bin_low(i);
            double high = i == 0 ? 0.0 : i == TALLY_BINS - 1 ? tally->max : bin_low(i + 1);
            double value = low + (high - low) * (wanted - below) / here;
            return value < tally->max ? value : tally->max;
        }
        below += here;
    }
    return tally->max;
}
