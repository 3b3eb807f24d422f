// One direction of a network: do delays follow the definitions in docs/guide/impair.md?
#include "impair_support.h"

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
    uint64_t clamped = fl__impair_stats(impair).clamped_count;
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
