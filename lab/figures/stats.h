// What numbers say about what they were drawn from: means with 95 % intervals, correlations,
// quantiles.
//
// The unit of chance is the run (one seed, one tank): samples within a run depend on each other, so
// intervals are made from one figure per run, with Student's t. Quantiles come from a histogram of
// fixed size, so that a long experiment takes no more memory than a short one.
#ifndef LAB_STATS_H
#define LAB_STATS_H

#include "fairlead/base.h"

/// A mean, and how sure it is.
typedef struct Estimate {
    int32_t count; ///< Runs.
    double mean;   ///< NaN without any.
    double ci95;   ///< Half the width of the 95 % interval. INFINITY with fewer than two runs.
} Estimate;

/// The factor for a two-sided 95 % interval: the 0.975 quantile of Student's t. `degrees` from 1.
double student_t95(int32_t degrees);

/// The plain mean of one figure per run.
Estimate estimate_mean(const double *values, int32_t count);

/// The mean of everything, where run i had the mean values[i] over a time (or so many samples)
/// weights[i] >= 0: sum(values * weights) / sum(weights). The runs are what is independent.
Estimate estimate_pooled(const double *values, const double *weights, int32_t count);

/// The mean of above[i] / below[i]: ratios are taken run by run.
Estimate estimate_ratio(const double *above, const double *below, int32_t count);

static inline double estimate_low(Estimate e)
{
    return e.mean - e.ci95;
}

static inline double estimate_high(Estimate e)
{
    return e.mean + e.ci95;
}

// ---------------------------------------------------------------- what goes together

/// Pearson's correlation of `count` pairs; NaN with fewer than two, or if either does not vary.
double correlation_of_values(const double *a, const double *b, int32_t count);

/// Spearman's: that of their ranks, equal ones sharing theirs. Takes count^2 steps.
double correlation_of_ranks(const double *a, const double *b, int32_t count);

// ---------------------------------------------------------------- many samples

/// Steps of an octave, octaves from 2^TALLY_LOW on: a quantile is right to 1/512 of itself.
enum { TALLY_STEPS = 512, TALLY_LOW = -30, TALLY_OCTAVES = 60 };

/// Sum, maximum and distribution of samples >= 0. 123 KB.
typedef struct Tally {
    int64_t count;
    double sum;
    double max;
    uint32_t bins[TALLY_OCTAVES * TALLY_STEPS + 2]; ///< First: below 2^TALLY_LOW; last: beyond.
} Tally;

/// NaN and negative samples are our own mistake.
void tally_add(Tally *tally, double sample);

/// Adds all of another's samples.
void tally_merge(Tally *tally, const Tally *other);

/// NaN of nothing.
double tally_mean(const Tally *tally);

/// The value below which a share (0 to 1) of the samples lies; 0 for what is below 2^TALLY_LOW, and
/// never above the maximum. NaN of nothing.
double tally_quantile(const Tally *tally, double share);

#endif
