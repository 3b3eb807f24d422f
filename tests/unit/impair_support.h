// What the tests of one direction of a network share: directions, and measuring them.
//
// Statistical bounds are five standard errors for the fixed seed and count, or the Kolmogorov and
// Smirnov distance that one in a million samples exceeds (2.7 / sqrt(n)), so a right program passes
// and a wrong constant fails.
#ifndef FAIRLEAD_TESTS_IMPAIR_SUPPORT_H
#define FAIRLEAD_TESTS_IMPAIR_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fairlead/impair.h"
#include "impair/private.h"

#define SAMPLES 200000

static inline FlImpair *make(const FlImpairDef *def)
{
    FlImpair *impair = NULL;
    assert_int_equal(fl_impair_create(def, &impair), FL_OK);
    return impair;
}

static inline FlImpairDef jittery(FlImpairShape shape)
{
    FlImpairDef def = fl_impair_def_default();
    def.settings.delay_ns = FL_MS(500);
    def.settings.jitter_ns = FL_MS(20);
    def.settings.shape = shape;
    return def;
}

// Jitter of `count` packets sent `step` apart, in units of the setting.
static inline void measure(const FlImpairDef *def, FlTime step, double *out, int32_t count)
{
    FlImpair *impair = make(def);
    for (int32_t i = 0; i < count; i++) {
        FlTime now = step * i;
        FlFate fate = fl_impair_send(impair, now, 100);
        assert_int_equal(fate.outcome, FL_OUTCOME_DELIVERED);
        FlTime jitter = fate.deliver_at[0] - now - def->settings.delay_ns;
        out[i] = (double)jitter / (double)def->settings.jitter_ns;
    }
    assert_int_equal(fl__impair_stats(impair).clamped_count, 0);
    fl_impair_destroy(impair);
}

static inline double *samples(const FlImpairDef *def, FlTime step, int32_t count)
{
    double *out = malloc((size_t)count * sizeof *out);
    assert_non_null(out);
    measure(def, step, out, count);
    return out;
}

static inline double mean_of(const double *x, int32_t count)
{
    double sum = 0.0;
    for (int32_t i = 0; i < count; i++) {
        sum += x[i];
    }
    return sum / count;
}

static inline double deviation_of(const double *x, int32_t count)
{
    double mean = mean_of(x, count);
    double sum = 0.0;
    for (int32_t i = 0; i < count; i++) {
        sum += (x[i] - mean) * (x[i] - mean);
    }
    return sqrt(sum / count);
}

static inline double correlation_of(const double *x, int32_t count, int32_t lag)
{
    double mean = mean_of(x, count);
    double variance = 0.0;
    double together = 0.0;
    for (int32_t i = 0; i < count; i++) {
        variance += (x[i] - mean) * (x[i] - mean);
    }
    for (int32_t i = 0; i + lag < count; i++) {
        together += (x[i] - mean) * (x[i + lag] - mean);
    }
    return together / variance;
}

static inline int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

#endif
