// One direction of a network: does a packet's fate follow the definitions in docs/guide/impair.md?
//
// Statistical bounds are five standard errors for the fixed seed and count, or the Kolmogorov and
// Smirnov distance that one in a million samples exceeds (2.7 / sqrt(n)), so a right program passes
// and a wrong constant fails.
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

static FlImpair *make(const FlImpairDef *def)
{
    FlImpair *impair = NULL;
    assert_int_equal(fl_impair_create(def, &impair), FL_OK);
    return impair;
}

static FlImpairDef jittery(FlImpairShape shape)
{
    FlImpairDef def = fl_impair_def_default();
    def.settings.delay_ns = FL_MS(500);
    def.settings.jitter_ns = FL_MS(20);
    def.settings.shape = shape;
    return def;
}

// Jitter of `count` packets sent `step` apart, in units of the setting.
static void measure(const FlImpairDef *def, FlTime step, double *out, int32_t count)
{
    FlImpair *impair = make(def);
    for (int32_t i = 0; i < count; i++) {
        FlTime now = step * i;
        FlFate fate = fl_impair_send(impair, now, 100);
        assert_int_equal(fate.outcome, FL_OUTCOME_DELIVERED);
        FlTime jitter = fate.deliver_at[0] - now - def->settings.delay_ns;
        out[i] = (double)jitter / (double)def->settings.jitter_ns;
    }
    assert_int_equal(fl_impair_stats(impair).clamped_count, 0);
    fl_impair_destroy(impair);
}

static double *samples(const FlImpairDef *def, FlTime step, int32_t count)
{
    double *out = malloc((size_t)count * sizeof *out);
    assert_non_null(out);
    measure(def, step, out, count);
    return out;
}

static double mean_of(const double *x, int32_t count)
{
    double sum = 0.0;
    for (int32_t i = 0; i < count; i++) {
        sum += x[i];
    }
    return sum / count;
}

static double deviation_of(const double *x, int32_t count)
{
    double mean = mean_of(x, count);
    double sum = 0.0;
    for (int32_t i = 0; i < count; i++) {
        sum += (x[i] - mean) * (x[i] - mean);
    }
    return sqrt(sum / count);
}

static double correlation_of(const double *x, int32_t count, int32_t lag)
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

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

// ---------------------------------------------------------------- definitions, written
// independently

static double normal_below(double z)
{
    return 0.5 * erfc(-z / sqrt(2.0));
}

static double uniform_below(double x)
{
    return 0.5 * (x + 1.0);
}

#define CUT_MEAN (1.5 - 1.0 / 40.5)
#define CUT_DEVIATION sqrt(1.0 + 2.0 * (1.0 - 1.0 / 4.5) - CUT_MEAN * CUT_MEAN)

static double pareto_below(double x)
{
    double value = x * CUT_DEVIATION + CUT_MEAN;
    return value >= 4.5 ? 1.0 : value <= 1.0 ? 0.0 : 1.0 - pow(value, -3.0);
}

// The mixture's value at the share that the normal value z has below it, before it is scaled.
static double raw_mixture(double z)
{
    double above = 0.5 * erfc(z / sqrt(2.0));
    double pareto = above <= pow(4.5, -3.0) ? 4.5 : pow(above, -1.0 / 3.0);
    return 0.25 * z + pareto;
}

// Mean and deviation of the mixture by the midpoint rule over z.
static void mixture_moments(double *mean, double *deviation)
{
    double sum = 0.0;
    double square = 0.0;
    const double step = 1e-4;
    for (double z = -9.0 + step / 2; z < 9.0; z += step) {
        double weight = exp(-0.5 * z * z) / sqrt(2.0 * FL_PI) * step;
        sum += weight * raw_mixture(z);
        square += weight * raw_mixture(z) * raw_mixture(z);
    }
    *mean = sum;
    *deviation = sqrt(square - sum * sum);
}

static double mixture_below(double x)
{
    static double mean, deviation;
    if (deviation <= 0.0) {
        mixture_moments(&mean, &deviation);
    }
    double low = -9.0;
    double high = 9.0;
    for (int32_t i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        if ((raw_mixture(middle) - mean) / deviation < x) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return normal_below(low);
}

// ---------------------------------------------------------------- distributions

// Largest distance between the samples' distribution and the definition. Sorts. Where the
// definition jumps (the Pareto cut) only the sides of the jump are compared.
static double distance(double *x, int32_t count, double (*below)(double))
{
    qsort(x, (size_t)count, sizeof *x, by_value);
    double worst = 0.0;
    for (int32_t i = 0; i < count && x[i] < x[count - 1]; i++) {
        double should = below(x[i]);
        double off = fmax(fabs(should - (double)i / count), fabs(should - (i + 1.0) / count));
        worst = fmax(worst, off);
    }
    return worst;
}

static void check_shape(FlImpairShape shape, double deviation, double fourth,
                        double (*below)(double))
{
    FlImpairDef def = jittery(shape);
    double *x = samples(&def, FL_US(700), SAMPLES);
    // Standard errors: of the mean d/sqrt(n), of the deviation about d * sqrt((kurtosis - 1) / 4n).
    assert_true(fabs(mean_of(x, SAMPLES)) < 5.0 * deviation / sqrt(SAMPLES));
    double error = deviation * sqrt((fourth - 1.0) / (4.0 * SAMPLES));
    assert_true(fabs(deviation_of(x, SAMPLES) - deviation) < 5.0 * error);
    assert_true(fabs(correlation_of(x, SAMPLES, 1)) < 5.0 / sqrt(SAMPLES));
    assert_true(distance(x, SAMPLES, below) < 2.7 / sqrt(SAMPLES));
    free(x);
}

static void uniform_jitter_has_its_definition(void **state)
{
    (void)state;
    check_shape(FL_SHAPE_UNIFORM, 1.0 / sqrt(3.0), 1.8, uniform_below);
}

static void normal_jitter_has_its_definition(void **state)
{
    (void)state;
    check_shape(FL_SHAPE_NORMAL, 1.0, 3.0, normal_below);
}

static void pareto_jitter_has_its_definition(void **state)
{
    (void)state;
    check_shape(FL_SHAPE_PARETO, 1.0, 13.0, pareto_below);
}

static void pareto_normal_jitter_has_its_definition(void **state)
{
    (void)state;
    check_shape(FL_SHAPE_PARETO_NORMAL, 1.0, 10.0, mixture_below);
}

static void shapes_have_mean_zero_and_deviation_one_by_quadrature(void **state)
{
    (void)state;
    const int32_t steps = 1000000;
    for (int32_t shape = FL_SHAPE_NORMAL; shape <= FL_SHAPE_PARETO_NORMAL; shape++) {
        double sum = 0.0;
        double square = 0.0;
        for (int32_t i = 0; i < steps; i++) {
            double x = fl__shape_from_unit((FlImpairShape)shape, (i + 0.5) / steps);
            sum += x / steps;
            square += x * x / steps;
        }
        assert_true(fabs(sum) < 2e-6);
        assert_true(fabs(square - 1.0) < 1e-4); // the midpoint rule loses a little of the tails
    }
}

static void constant_delay_ignores_jitter(void **state)
{
    (void)state;
    FlImpairDef def = jittery(FL_SHAPE_CONSTANT);
    double *x = samples(&def, FL_MS(1), 1000);
    for (int32_t i = 0; i < 1000; i++) {
        assert_true(fabs(x[i]) < 1e-12);
    }
    free(x);
}

static void normal_quantile_and_share_are_inverse_and_match_libm(void **state)
{
    (void)state;
    for (double z = -8.0; z <= 8.0; z += 0.0137) {
        assert_true(fabs(fl__normal_share(z) - normal_below(z)) < 1e-15);
    }
    for (double u = 1e-9; u < 1.0; u += 0.000731) {
        assert_true(fabs(normal_below(fl__normal_quantile(u)) - u) < 1e-15);
    }
    assert_true(fabs(fl__normal_quantile(1e-14) + 7.6506280929352686) < 1e-12);
    assert_true(fl__normal_share(-40.0) >= 0.0 && fl__normal_share(40.0) <= 1.0);
}

static void negative_delays_count_as_zero(void **state)
{
    (void)state;
    FlImpairDef def = jittery(FL_SHAPE_NORMAL);
    def.settings.delay_ns = 0;
    FlImpair *impair = make(&def);
    for (int32_t i = 0; i < 10000; i++) {
        FlFate fate = fl_impair_send(impair, FL_MS(i), 10);
        assert_true(fate.deliver_at[0] >= FL_MS(i));
    }
    uint64_t clamped = fl_impair_stats(impair).clamped_count;
    assert_in_range(clamped, 4750, 5250); // half, five standard errors
    fl_impair_destroy(impair);
}

// ---------------------------------------------------------------- correlation in time

static void slow_delay_has_the_correlation_asked_for(void **state)
{
    (void)state;
    const struct {
        int32_t ppm;
        FlTime lag;
    } cases[] = {{900000, FL_MS(20)}, {500000, FL_MS(5)}, {200000, FL_MS(1)}, {990000, FL_MS(10)}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        FlImpairDef def = jittery(FL_SHAPE_NORMAL);
        def.settings.correlation_ppm = cases[c].ppm;
        def.settings.correlation_lag_ns = cases[c].lag;
        const int32_t count = 1000000;
        double *x = samples(&def, FL_MS(1), count);
        double memory = pow(cases[c].ppm * 1e-6, 1e6 / (double)cases[c].lag);
        // n correlated values are worth n (1 - m) / (1 + m) independent ones.
        double worth = count * (1.0 - memory) / (1.0 + memory);
        assert_true(fabs(mean_of(x, count)) < 5.0 / sqrt(worth));
        assert_true(fabs(deviation_of(x, count) - 1.0) < 5.0 / sqrt(2.0 * worth));
        for (int32_t lag = 1; lag <= 64; lag *= 2) {
            double should = pow(memory, lag);
            assert_true(fabs(correlation_of(x, count, lag) - should) < 5.0 / sqrt(worth));
        }
        free(x);
    }
}

// Lags across the lattice's anchors matter most: there a wrong construction forgets.
static void slow_delay_is_stationary_at_the_anchors(void **state)
{
    (void)state;
    double memory = 0.99;
    int32_t top = fl__lattice_top(memory);
    uint64_t width = UINT64_C(1) << top;
    double sum = 0.0;
    const int32_t count = 20000;
    Sway sway;
    fl__sway_setup(&sway, 5, 0, memory);
    for (int32_t i = 1; i <= count; i++) {
        uint64_t anchor = width * (uint64_t)i;
        sum += fl__sway_at(&sway, anchor - 8) * fl__sway_at(&sway, anchor + 8);
    }
    assert_true(fabs(sum / count - pow(memory, 16)) < 5.0 * sqrt(2.0 / count));
}

static void slow_delay_keeps_the_shape(void **state)
{
    (void)state;
    double (*const below[])(double) = {uniform_below, normal_below, pareto_below, mixture_below};
    for (int32_t i = 0; i < 4; i++) {
        FlImpairDef def = jittery((FlImpairShape)(FL_SHAPE_UNIFORM + i));
        def.settings.correlation_ppm = 500000;
        def.settings.correlation_lag_ns = FL_MS(1);
        double *x = samples(&def, FL_MS(40), 50000); // so far apart, they are independent
        assert_true(distance(x, 50000, below[i]) < 2.7 / sqrt(50000));
        free(x);
    }
}

static void processes_answer_the_same_in_any_order(void **state)
{
    (void)state;
    Sway walked, jumped;
    fl__sway_setup(&walked, 7, 3, 0.999);
    Burst burst_walked, burst_jumped;
    fl__burst_setup(&burst_walked, 7, 3, FL_MS(400), FL_MS(30));
    static double value[20000];
    static bool bad[20000];
    for (uint64_t slot = 0; slot < 20000; slot++) {
        value[slot] = fl__sway_at(&walked, slot);
        bad[slot] = fl__burst_at(&burst_walked, slot);
    }
    FlRandom random = {99, 0, 0};
    for (int32_t i = 0; i < 20000; i++) {
        uint64_t slot = fl_random_below(&random, 20000);
        if (i % 10 == 0) { // a cold start must not matter either
            fl__sway_setup(&jumped, 7, 3, 0.999);
            fl__burst_setup(&burst_jumped, 7, 3, FL_MS(400), FL_MS(30));
        }
        assert_memory_equal(&(double){fl__sway_at(&jumped, slot)}, &value[slot], sizeof(double));
        assert_int_equal(fl__burst_at(&burst_jumped, slot), bad[slot]);
        (void)fl__sway_at(&jumped, slot + UINT64_C(3600000) * 24 * 365); // a year of silence
    }
}

static void packets_of_one_millisecond_share_a_slow_delay(void **state)
{
    (void)state;
    FlImpairDef def = jittery(FL_SHAPE_UNIFORM);
    def.settings.correlation_ppm = 500000;
    FlImpair *impair = make(&def);
    FlTime first = fl_impair_send(impair, FL_MS(5), 10).deliver_at[0] - FL_MS(5);
    FlTime second = fl_impair_send(impair, FL_MS(5) + 999999, 10).deliver_at[0] - FL_MS(5) - 999999;
    FlTime third = fl_impair_send(impair, FL_MS(6), 10).deliver_at[0] - FL_MS(6);
    assert_int_equal(first, second);
    assert_int_not_equal(first, third);
    fl_impair_destroy(impair);
}

// ---------------------------------------------------------------- loss

static double loss_share(FlImpairDef def, int32_t count, FlTime step)
{
    FlImpair *impair = make(&def);
    int32_t lost = 0;
    for (int32_t i = 0; i < count; i++) {
        lost += fl_impair_send(impair, step * i, 10).copy_count == 0;
    }
    fl_impair_destroy(impair);
    return (double)lost / count;
}

static void random_loss_has_its_rate(void **state)
{
    (void)state;
    const int32_t rates[] = {0, 1000, 25000, 300000, 500000, 999999, 1000000};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        FlImpairDef def = fl_impair_def_default();
        def.settings.loss_ppm = rates[i];
        double p = rates[i] * 1e-6;
        double error = sqrt(p * (1.0 - p) / SAMPLES);
        assert_true(fabs(loss_share(def, SAMPLES, FL_US(300)) - p) <= 5.0 * error);
    }
}

static void bursts_follow_gilbert_and_elliott(void **state)
{
    (void)state;
    Burst burst;
    fl__burst_setup(&burst, 11, 2, FL_MS(90), FL_MS(10));
    const int32_t slots = 2000000;
    int32_t bad_count = 0;
    int32_t begin_count = 0;
    int32_t end_count = 0;
    int32_t longer_than_20 = 0;
    int32_t run = 0;
    for (int32_t i = 0; i < slots; i++) {
        bool bad = fl__burst_at(&burst, (uint64_t)i);
        bad_count += bad;
        begin_count += bad && run == 0;
        if (!bad && run > 0) {
            end_count++;
            longer_than_20 += run > 20;
        }
        run = bad ? run + 1 : 0;
    }
    double p = 1.0 / 90.0;
    double r = 1.0 / 10.0;
    double share = p / (p + r);
    double memory = 1.0 - p - r;
    double worth = slots * (1.0 - memory) / (1.0 + memory);
    assert_true(fabs((double)bad_count / slots - share) <
                5.0 * sqrt(share * (1.0 - share) / worth));
    // Bursts end with probability r a slot, good times with p: geometric lengths.
    assert_true(fabs((double)end_count / bad_count - r) < 5.0 * sqrt(r * (1.0 - r) / bad_count));
    double good_count = slots - bad_count;
    assert_true(fabs(begin_count / good_count - p) < 5.0 * sqrt(p * (1.0 - p) / good_count));
    double tail = pow(1.0 - r, 20);
    assert_true(fabs((double)longer_than_20 / end_count - tail) < 5.0 * sqrt(tail / end_count));
}

static void burst_loss_comes_on_top_of_random_loss(void **state)
{
    (void)state;
    FlImpairDef def = fl_impair_def_default();
    def.settings.loss_ppm = 100000;
    def.settings.burst_gap_ns = FL_MS(30);
    def.settings.burst_length_ns = FL_MS(10);
    def.settings.burst_loss_ppm = 800000;
    double share = loss_share(def, SAMPLES, FL_MS(50)); // far apart: nearly independent
    double should = 0.75 * 0.1 + 0.25 * (1.0 - 0.9 * 0.2);
    assert_true(fabs(share - should) < 5.0 * sqrt(should * (1.0 - should) / SAMPLES));
}

static void duplication_has_its_rate_and_its_own_delay(void **state)
{
    (void)state;
    FlImpairDef def = jittery(FL_SHAPE_NORMAL);
    def.settings.duplicate_ppm = 100000;
    FlImpair *impair = make(&def);
    int32_t twice = 0;
    int32_t same = 0;
    for (int32_t i = 0; i < SAMPLES; i++) {
        FlFate fate = fl_impair_send(impair, FL_US(500) * i, 10);
        assert_in_range(fate.copy_count, 1, 2);
        twice += fate.copy_count == 2;
        same += fate.copy_count == 2 && fate.deliver_at[0] == fate.deliver_at[1];
    }
    assert_true(fabs((double)twice / SAMPLES - 0.1) < 5.0 * sqrt(0.09 / SAMPLES));
    assert_int_equal(same, 0);
    FlImpairStats stats = fl_impair_stats(impair);
    assert_int_equal(stats.duplicated_count, twice);
    assert_int_equal(stats.delivered_count, SAMPLES);
    fl_impair_destroy(impair);
}

// ---------------------------------------------------------------- order and rate

static void keep_order_never_overtakes(void **state)
{
    (void)state;
    for (int32_t keep = 0; keep < 2; keep++) {
        FlImpairDef def = jittery(FL_SHAPE_NORMAL);
        def.settings.keep_order = keep != 0;
        def.settings.duplicate_ppm = 50000;
        FlImpair *impair = make(&def);
        FlTime last = 0;
        int32_t earlier = 0;
        for (int32_t i = 0; i < 10000; i++) {
            FlFate fate = fl_impair_send(impair, FL_MS(i), 10);
            for (int32_t c = 0; c < fate.copy_count; c++) {
                earlier += fate.deliver_at[c] < last;
                last = fate.deliver_at[c] > last ? fate.deliver_at[c] : last;
            }
        }
        FlImpairStats stats = fl_impair_stats(impair);
        assert_int_equal(stats.overtaken_count, earlier);
        assert_int_equal(earlier > 0, keep == 0);
        assert_int_equal(stats.held_count > 0, keep == 1);
        fl_impair_destroy(impair);
    }
}

static void bottleneck_delays_by_the_bytes_before(void **state)
{
    (void)state;
    FlImpairDef def = fl_impair_def_default();
    def.settings.rate_bytes_s = 1000; // a byte a millisecond
    def.settings.queue_ns = FL_SEC(10);
    def.settings.delay_ns = FL_MS(40);
    def.settings.packet_extra_bytes = 28;
    FlImpair *impair = make(&def);
    assert_int_equal(fl_impair_send(impair, 0, 72).deliver_at[0], FL_MS(140));
    assert_int_equal(fl_impair_send(impair, 0, 22).deliver_at[0], FL_MS(190));
    assert_int_equal(fl_impair_send(impair, FL_MS(100), 22).deliver_at[0], FL_MS(240));
    assert_int_equal(fl_impair_send(impair, FL_MS(900), 22).deliver_at[0], FL_MS(990));
    fl_impair_destroy(impair);
}

static void bottleneck_carries_its_rate_and_drops_the_rest(void **state)
{
    (void)state;
    FlImpairDef def = fl_impair_def_default();
    def.settings.rate_bytes_s = 123457;
    def.settings.queue_ns = FL_MS(200);
    FlImpair *impair = make(&def);
    FlTime longest = 0;
    const int32_t count = 100000; // 10 s at about 2.5 times the rate
    for (int32_t i = 0; i < count; i++) {
        FlTime now = FL_US(100) * i;
        FlFate fate = fl_impair_send(impair, now, 3);
        if (fate.copy_count > 0 && fate.deliver_at[0] - now > longest) {
            longest = fate.deliver_at[0] - now;
        }
    }
    FlImpairStats stats = fl_impair_stats(impair);
    double carried = (double)stats.delivered_count * 31.0;
    assert_true(fabs(carried - 123457.0 * 10.2) < 100.0); // the rate for 10 s and the queue's 0.2 s
    assert_int_equal(stats.queue_full_count, (uint64_t)count - stats.delivered_count);
    FlTime one = FL_SEC(31) / 123457;
    assert_true(longest > FL_MS(200) && longest <= FL_MS(200) + one + 1);
    fl_impair_destroy(impair);
}

static void a_new_rate_keeps_the_bytes_that_wait(void **state)
{
    (void)state;
    FlImpairDef def = fl_impair_def_default();
    def.settings.rate_bytes_s = 1000;
    def.settings.queue_ns = FL_SEC(10);
    def.settings.packet_extra_bytes = 0;
    FlImpair *impair = make(&def);
    assert_int_equal(fl_impair_send(impair, 0, 1000).deliver_at[0], FL_SEC(1));
    FlImpairSettings faster = def.settings;
    faster.rate_bytes_s = 10000;
    assert_int_equal(fl_impair_set(impair, FL_MS(500), &faster), FL_OK);
    assert_int_equal(fl_impair_send(impair, FL_MS(500), 500).deliver_at[0], FL_MS(600));
    fl_impair_destroy(impair);
}

// ---------------------------------------------------------------- common random numbers

static FlImpairDef everything(uint32_t link)
{
    FlImpairDef def = jittery(FL_SHAPE_PARETO_NORMAL);
    def.link = link;
    def.seed = 42;
    def.settings.loss_ppm = 100000;
    def.settings.duplicate_ppm = 100000;
    def.settings.burst_gap_ns = FL_MS(300);
    return def;
}

static bool same_fate(FlFate a, FlFate b)
{
    return a.outcome == b.outcome && a.copy_count == b.copy_count &&
           a.deliver_at[0] == b.deliver_at[0] && a.deliver_at[1] == b.deliver_at[1];
}

static void more_packets_elsewhere_change_no_fate(void **state)
{
    (void)state;
    for (int32_t correlated = 0; correlated < 2; correlated++) {
        FlImpairDef def = everything(1);
        def.settings.correlation_ppm = correlated * 800000;
        FlImpair *sparse = make(&def);
        FlImpair *dense = make(&def);
        for (int32_t i = 0; i < 20000; i++) {
            FlTime now = FL_MS(10) * i + FL_US(i % 1000);
            FlFate expected = fl_impair_send(sparse, now, 50);
            if (i % 3 != 0) { // earlier slots get traffic that the other policy does not send
                (void)fl_impair_send(dense, FL_MS(10) * i - FL_MS(3), 1200);
                (void)fl_impair_send(dense, FL_MS(10) * i - FL_MS(1), 1200);
            }
            assert_true(same_fate(expected, fl_impair_send(dense, now, 700)));
            (void)fl_impair_send(dense, now, 3); // a second one in the slot changes only itself
        }
        fl_impair_destroy(sparse);
        fl_impair_destroy(dense);
    }
}

static void fate_hangs_on_the_index_in_the_slot(void **state)
{
    (void)state;
    FlImpairDef def = everything(1);
    FlImpair *a = make(&def);
    FlImpair *b = make(&def);
    int32_t differ = 0;
    for (int32_t i = 0; i < 1000; i++) {
        FlFate first = fl_impair_send(a, FL_MS(i), 50);
        FlFate second = fl_impair_send(a, FL_MS(i) + 10, 50);
        // Same slot and index, other moment in the slot: the same luck, so the same delay.
        FlFate also_first = fl_impair_send(b, FL_MS(i) + 300000, 50);
        assert_int_equal(first.outcome, also_first.outcome);
        for (int32_t c = 0; c < first.copy_count; c++) {
            assert_int_equal(first.deliver_at[c] + 300000, also_first.deliver_at[c]);
        }
        differ += !same_fate(first, second);
    }
    assert_true(differ > 800);
    fl_impair_destroy(a);
    fl_impair_destroy(b);
}

static void links_and_seeds_are_independent(void **state)
{
    (void)state;
    FlImpairDef one = jittery(FL_SHAPE_NORMAL);
    FlImpairDef other_link = one;
    other_link.link = fl_impair_link(0, 1);
    FlImpairDef other_seed = one;
    other_seed.seed = 2;
    const FlImpairDef *others[] = {&other_link, &other_seed};
    double *x = samples(&one, FL_MS(1), SAMPLES);
    for (int32_t i = 0; i < 2; i++) {
        double *y = samples(others[i], FL_MS(1), SAMPLES);
        double together = 0.0;
        for (int32_t k = 0; k < SAMPLES; k++) {
            together += x[k] * y[k];
        }
        assert_true(fabs(together / SAMPLES) < 5.0 / sqrt(SAMPLES));
        free(y);
    }
    free(x);
}

static void switching_one_fault_off_leaves_the_others_alone(void **state)
{
    (void)state;
    FlImpairDef all = everything(4);
    FlImpairDef no_loss = all;
    no_loss.settings.loss_ppm = 0;
    no_loss.settings.burst_gap_ns = 0;
    FlImpairDef no_jitter = all;
    no_jitter.settings.jitter_ns = 0;
    FlImpair *a = make(&all);
    FlImpair *b = make(&no_loss);
    FlImpair *c = make(&no_jitter);
    for (int32_t i = 0; i < 20000; i++) {
        FlFate fate = fl_impair_send(a, FL_MS(2) * i, 50);
        FlFate delivered = fl_impair_send(b, FL_MS(2) * i, 50);
        assert_true(fate.copy_count == 0 || same_fate(fate, delivered));
        FlFate steady = fl_impair_send(c, FL_MS(2) * i, 50);
        assert_int_equal(fate.outcome, steady.outcome);
        assert_int_equal(fate.copy_count, steady.copy_count);
    }
    fl_impair_destroy(a);
    fl_impair_destroy(b);
    fl_impair_destroy(c);
}

static void luck_by_count_follows_the_number_not_the_time(void **state)
{
    (void)state;
    FlImpairDef def = everything(9);
    def.settings.burst_gap_ns = 0; // a process in time, with or without luck by count
    def.luck_by_count = true;
    FlImpair *a = make(&def);
    FlImpair *b = make(&def);
    for (int32_t i = 0; i < 5000; i++) {
        FlTime later = FL_US(1713) * i;
        FlFate x = fl_impair_send(a, FL_MS(1) * i, 50);
        FlFate y = fl_impair_send(b, later, 50);
        assert_int_equal(x.outcome, y.outcome);
        assert_int_equal(x.copy_count, y.copy_count);
        assert_true(x.copy_count == 0 || x.deliver_at[0] - FL_MS(1) * i == y.deliver_at[0] - later);
    }
    fl_impair_destroy(a);
    fl_impair_destroy(b);
}

// ---------------------------------------------------------------- determinism

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15) + (hash >> 29);
}

// The same on every machine and with every compiler: a changed hash is a changed network.
static void fates_have_their_golden_hash(void **state)
{
    (void)state;
    uint64_t hash = 1;
    for (int32_t shape = FL_SHAPE_CONSTANT; shape <= FL_SHAPE_PARETO_NORMAL; shape++) {
        for (int32_t correlated = 0; correlated < 2; correlated++) {
            FlImpairDef def = everything(77);
            def.settings.shape = (FlImpairShape)shape;
            def.settings.correlation_ppm = correlated * 900000;
            def.settings.rate_bytes_s = 50000;
            FlImpair *impair = make(&def);
            for (int32_t i = 0; i < 5000; i++) {
                FlFate fate = fl_impair_send(impair, FL_US(1234) * i - FL_SEC(1), i % 200);
                hash = mix(hash, (uint64_t)fate.outcome);
                hash = mix(hash, (uint64_t)fate.deliver_at[0]);
                hash = mix(hash, (uint64_t)fate.deliver_at[1]);
            }
            fl_impair_destroy(impair);
        }
    }
    assert_int_equal(hash, UINT64_C(0x38677aedcd6f5f52));
}

static void time_that_runs_back_counts_as_the_newest(void **state)
{
    (void)state;
    FlImpairDef def = fl_impair_def_default();
    FlImpair *impair = make(&def);
    assert_int_equal(fl_impair_send(impair, FL_SEC(5), 10).deliver_at[0], FL_SEC(5));
    assert_int_equal(fl_impair_send(impair, FL_SEC(3), 10).deliver_at[0], FL_SEC(5));
    fl_impair_destroy(impair);
}

static void extreme_times_do_no_harm(void **state)
{
    (void)state;
    FlImpairDef def = everything(0);
    def.settings.rate_bytes_s = 1000;
    def.settings.correlation_ppm = 500000;
    const FlTime times[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - FL_SEC(1), INT64_MAX};
    FlImpair *impair = make(&def);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        FlFate fate = fl_impair_send(impair, times[i], 65535);
        assert_true(fate.copy_count == 0 || fate.deliver_at[0] >= times[i]);
    }
    fl_impair_destroy(impair);
}

// ---------------------------------------------------------------- settings

static void bad_settings_are_refused_with_a_reason(void **state)
{
    (void)state;
    const struct {
        const char *word;
        const char *value;
    } bad[] = {
        {"delay", "-1"},
        {"delay", "3600001"},
        {"delay", ""},
        {"delay", "."},
        {"delay", "1e3"},
        {"delay", "1.0000001"},
        {"delay", "nan"},
        {"delay", "1.2.3"},
        {"jitter", "600001"},
        {"loss", "100.01"},
        {"loss", "5%"},
        {"duplicate", "101"},
        {"correlation", "1"},
        {"correlation", "1.5"},
        {"correlation-lag", "0"},
        {"queue", "600001"},
        {"burst-loss", "200"},
        {"burst-gap", "0.5"},
        {"burst-length", "0"},
        {"rate", "0.0001"},
        {"rate", "999999999999"},
        {"extra", "1001"},
        {"keep-order", "yes"},
        {"distribution", "cauchy"},
        {"distribution", "Normal"},
        {"loss", "9999999999999"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        FlImpairSettings settings = fl_impair_settings_default();
        FlImpairSettings before = settings;
        FlImpairError error = {0, ""};
        assert_int_equal(fl_impair_settings_set(&settings, bad[i].word, bad[i].value, &error),
                         FL_BAD_VALUE);
        assert_true(strlen(error.text) > 5);
        assert_memory_equal(&settings, &before, sizeof before);
        assert_int_equal(fl_impair_settings_set(&settings, bad[i].word, bad[i].value, NULL),
                         FL_BAD_VALUE);
    }
    FlImpairSettings settings = fl_impair_settings_default();
    FlImpairError error;
    assert_int_equal(fl_impair_settings_set(&settings, "delai\x1b[2J", "1", &error), FL_NOT_FOUND);
    assert_string_equal(error.text, "there is no setting 'delai?[2J'");
}

static void settings_that_do_not_fit_together_are_refused(void **state)
{
    (void)state;
    FlImpairDef def = fl_impair_def_default();
    FlImpair *impair = NULL;
    def.settings.correlation_ppm = 999999;
    assert_int_equal(fl_impair_create(&def, &impair), FL_BAD_VALUE);
    assert_null(impair);
    def = fl_impair_def_default();
    def.settings.burst_gap_ns = FL_SEC(1000);
    def.settings.burst_length_ns = FL_SEC(1000);
    assert_int_equal(fl_impair_settings_check(&def.settings, NULL), FL_BAD_VALUE);
    def.settings.burst_gap_ns = FL_US(1500);
    def.settings.burst_length_ns = FL_US(1500);
    assert_int_equal(fl_impair_settings_check(&def.settings, NULL), FL_BAD_VALUE);
    def.settings.burst_length_ns = FL_US(3000);
    assert_int_equal(fl_impair_settings_check(&def.settings, NULL), FL_OK);
}

static void words_set_what_they_say(void **state)
{
    (void)state;
    FlImpairSettings s = fl_impair_settings_default();
    const char *const words[][2] = {
        {"delay", "200"},       {"jitter", "0.000001"},    {"distribution", "paretonormal"},
        {"correlation", ".25"}, {"keep-order", "on"},      {"loss", "2.5"},
        {"burst-gap", "1500"},  {"burst-length", "7."},    {"burst-loss", "50"},
        {"duplicate", "0.01"},  {"rate", "512"},           {"queue", "80"},
        {"extra", "48"},        {"correlation-lag", "16"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_int_equal(fl_impair_settings_set(&s, words[i][0], words[i][1], NULL), FL_OK);
    }
    assert_int_equal(s.delay_ns, FL_MS(200));
    assert_int_equal(s.jitter_ns, 1);
    assert_int_equal(s.shape, FL_SHAPE_PARETO_NORMAL);
    assert_int_equal(s.correlation_ppm, 250000);
    assert_int_equal(s.correlation_lag_ns, FL_MS(16));
    assert_true(s.keep_order);
    assert_int_equal(s.loss_ppm, 25000);
    assert_int_equal(s.burst_gap_ns, FL_MS(1500));
    assert_int_equal(s.burst_length_ns, FL_MS(7));
    assert_int_equal(s.burst_loss_ppm, 500000);
    assert_int_equal(s.duplicate_ppm, 100);
    assert_int_equal(s.rate_bytes_s, 64000);
    assert_int_equal(s.queue_ns, FL_MS(80));
    assert_int_equal(s.packet_extra_bytes, 48);
}

// ---------------------------------------------------------------- memory

static int32_t alive;
static int32_t made;

static void *counting_alloc(void *ctx, size_t size, size_t align)
{
    (void)align;
    int32_t *fail_at = ctx;
    if (fail_at != NULL && made == *fail_at) {
        return NULL;
    }
    alive++;
    made++;
    return malloc(size);
}

static void counting_free(void *ctx, void *ptr, size_t size)
{
    (void)ctx;
    (void)size;
    alive--;
    free(ptr);
}

static void sending_allocates_nothing_and_failure_leaks_nothing(void **state)
{
    (void)state;
    int32_t fail_at = 0;
    FlImpairDef def = everything(0);
    def.alloc = (FlAlloc){counting_alloc, counting_free, &fail_at};
    FlImpair *impair = NULL;
    assert_int_equal(fl_impair_create(&def, &impair), FL_NO_MEMORY);
    assert_null(impair);
    def.alloc.ctx = NULL;
    impair = make(&def);
    int32_t before = made;
    for (int32_t i = 0; i < 1000; i++) {
        (void)fl_impair_send(impair, FL_MS(i), 10);
    }
    assert_int_equal(made, before);
    fl_impair_destroy(impair);
    fl_impair_destroy(NULL);
    assert_int_equal(alive, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_jitter_has_its_definition),
        cmocka_unit_test(normal_jitter_has_its_definition),
        cmocka_unit_test(pareto_jitter_has_its_definition),
        cmocka_unit_test(pareto_normal_jitter_has_its_definition),
        cmocka_unit_test(shapes_have_mean_zero_and_deviation_one_by_quadrature),
        cmocka_unit_test(constant_delay_ignores_jitter),
        cmocka_unit_test(normal_quantile_and_share_are_inverse_and_match_libm),
        cmocka_unit_test(negative_delays_count_as_zero),
        cmocka_unit_test(slow_delay_has_the_correlation_asked_for),
        cmocka_unit_test(slow_delay_is_stationary_at_the_anchors),
        cmocka_unit_test(slow_delay_keeps_the_shape),
        cmocka_unit_test(processes_answer_the_same_in_any_order),
        cmocka_unit_test(packets_of_one_millisecond_share_a_slow_delay),
        cmocka_unit_test(random_loss_has_its_rate),
        cmocka_unit_test(bursts_follow_gilbert_and_elliott),
        cmocka_unit_test(burst_loss_comes_on_top_of_random_loss),
        cmocka_unit_test(duplication_has_its_rate_and_its_own_delay),
        cmocka_unit_test(keep_order_never_overtakes),
        cmocka_unit_test(bottleneck_delays_by_the_bytes_before),
        cmocka_unit_test(bottleneck_carries_its_rate_and_drops_the_rest),
        cmocka_unit_test(a_new_rate_keeps_the_bytes_that_wait),
        cmocka_unit_test(more_packets_elsewhere_change_no_fate),
        cmocka_unit_test(fate_hangs_on_the_index_in_the_slot),
        cmocka_unit_test(links_and_seeds_are_independent),
        cmocka_unit_test(switching_one_fault_off_leaves_the_others_alone),
        cmocka_unit_test(luck_by_count_follows_the_number_not_the_time),
        cmocka_unit_test(fates_have_their_golden_hash),
        cmocka_unit_test(time_that_runs_back_counts_as_the_newest),
        cmocka_unit_test(extreme_times_do_no_harm),
        cmocka_unit_test(bad_settings_are_refused_with_a_reason),
        cmocka_unit_test(settings_that_do_not_fit_together_are_refused),
        cmocka_unit_test(words_set_what_they_say),
        cmocka_unit_test(sending_allocates_nothing_and_failure_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
