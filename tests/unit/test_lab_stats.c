// lab/figures/stats: means with intervals, correlations, quantiles from a histogram.
#include "support.h"

#include "lab/figures/stats.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y ? 1 : 0;
}

// From tables of Student's distribution.
static void student_s_factor_is_that_of_the_tables(void **state)
{
    (void)state;
    check_near(student_t95(1), 12.706, 5e-4);
    check_near(student_t95(2), 4.303, 5e-4);
    check_near(student_t95(9), 2.2622, 5e-5);
    check_near(student_t95(10), 2.2281, 5e-5);
    check_near(student_t95(15), 2.1314, 5e-5);
    check_near(student_t95(30), 2.0423, 5e-5);
    check_near(student_t95(120), 1.9799, 5e-5);
    check_near(student_t95(1000000), 1.95996, 5e-5);
    for (int32_t n = 1; n < 200; n++) {
        assert_true(student_t95(n) > student_t95(n + 1));
    }
}

static void a_mean_by_hand(void **state)
{
    (void)state;
    const double values[] = {1.0, 2.0, 3.0, 4.0, 5.0};
    Estimate e = estimate_mean(values, 5);
    assert_int_equal(e.count, 5);
    check_near(e.mean, 3.0, 1e-12);
    check_near(e.ci95, 2.7764451 * sqrt(2.5 / 5.0), 1e-7);
    assert_true(isinf(estimate_mean(values, 1).ci95));
    assert_true(isnan(estimate_mean(values, 0).mean));
}

static void a_ratio_is_taken_run_by_run(void **state)
{
    (void)state;
    const double above[] = {1.0, 100.0};
    const double below[] = {2.0, 100.0};
    check_near(estimate_ratio(above, below, 2).mean, 0.75, 1e-12);
}

static void equal_weights_are_no_weights(void **state)
{
    (void)state;
    FlRandom r = random_stream(1);
    for (int32_t i = 0; i < 100; i++) {
        double values[20];
        double weights[20];
        int32_t count = 2 + (int32_t)fl_random_below(&r, 19);
        double weight = fl_random_between(&r, 0.1, 10.0);
        for (int32_t k = 0; k < count; k++) {
            values[k] = fl_random_normal(&r);
            weights[k] = weight;
        }
        Estimate a = estimate_mean(values, count);
        Estimate b = estimate_pooled(values, weights, count);
        check_near(b.mean, a.mean, 1e-12);
        check_near(b.ci95, a.ci95, 1e-9);
    }
}

static void a_run_without_weight_says_nothing(void **state)
{
    (void)state;
    const double values[] = {3.0, (double)NAN, 5.0};
    const double weights[] = {1.0, 0.0, 3.0};
    Estimate e = estimate_pooled(values, weights, 3);
    check_near(e.mean, 4.5, 1e-12);
    assert_true(isfinite(e.ci95));
    const double nothing[] = {0.0, 0.0, 0.0};
    assert_true(isnan(estimate_pooled(values, nothing, 3).mean));
}

/// Of many small samples from a known distribution the truth lies in 95 % of the intervals.
static void the_interval_holds_the_truth_as_often_as_it_says(void **state)
{
    (void)state;
    FlRandom r = random_stream(2);
    const int32_t cases = 4000;
    int32_t inside = 0;
    for (int32_t i = 0; i < cases; i++) {
        double values[6];
        for (int32_t k = 0; k < 6; k++) {
            values[k] = 7.0 + 3.0 * fl_random_normal(&r);
        }
        Estimate e = estimate_mean(values, 6);
        inside += estimate_low(e) <= 7.0 && 7.0 <= estimate_high(e) ? 1 : 0;
    }
    check_near((double)inside / cases, 0.95, 0.015);
}

static void quantiles_are_those_of_the_sorted_samples(void **state)
{
    (void)state;
    static const double shares[] = {0.0, 0.05, 0.5, 0.95, 0.99, 1.0};
    static Tally tally;
    static double samples[5000];
    FlRandom r = random_stream(3);
    for (int32_t i = 0; i < CASES(30); i++) {
        memset(&tally, 0, sizeof tally);
        int32_t count = 1000 + (int32_t)fl_random_below(&r, 4000);
        double sum = 0.0;
        for (int32_t k = 0; k < count; k++) {
            samples[k] = fabs(random_scale(&r, -4.0, 4.0));
            sum += samples[k];
            tally_add(&tally, samples[k]);
        }
        qsort(samples, (size_t)count, sizeof *samples, by_value);
        check_near(tally_mean(&tally), sum / count, 1e-9 * sum);
        check_same(tally.max, samples[count - 1]);
        for (size_t s = 0; s < sizeof shares / sizeof *shares; s++) {
            double got = tally_quantile(&tally, shares[s]);
            int32_t at = (int32_t)(shares[s] * count);
            double low = samples[at > 0 ? at - 1 : 0];
            double high = samples[at < count ? at : count - 1];
            assert_true(got >= low * (1.0 - 1.0 / TALLY_STEPS));
            assert_true(got <= high * (1.0 + 1.0 / TALLY_STEPS));
        }
    }
}

static void a_tally_takes_zeros_and_monsters(void **state)
{
    (void)state;
    static Tally tally;
    memset(&tally, 0, sizeof tally);
    assert_true(isnan(tally_quantile(&tally, 0.5)));
    for (int32_t i = 0; i < 99; i++) {
        tally_add(&tally, 0.0);
    }
    tally_add(&tally, 1e300);
    check_same(tally_quantile(&tally, 0.5), 0.0);
    check_same(tally_quantile(&tally, 1.0), 1e300);
}

static void merged_tallies_are_one_tally(void **state)
{
    (void)state;
    static Tally a;
    static Tally b;
    static Tally both;
    FlRandom r = random_stream(4);
    for (int32_t i = 0; i < 3000; i++) {
        double sample = fl_random_between(&r, 0.0, 1.0);
        tally_add(i % 3 == 0 ? &a : &b, sample);
        tally_add(&both, sample);
    }
    tally_merge(&a, &b);
    assert_int_equal(a.count, both.count);
    check_near(a.sum, both.sum, 1e-9);
    check_same(a.max, both.max);
    assert_memory_equal(a.bins, both.bins, sizeof a.bins);
}

// ---------------------------------------------------------------- correlations

static void correlations_by_hand(void **state)
{
    (void)state;
    const double a[] = {1.0, 2.0, 3.0, 4.0};
    const double b[] = {1.0, 3.0, 2.0, 100.0};
    check_near(correlation_of_values(a, b, 4), 148.0 / sqrt(5.0 * 7205.0), 1e-12);
    check_near(correlation_of_ranks(a, b, 4), 0.8, 1e-12);
    const double tied[] = {5.0, 5.0, 7.0, 9.0}; // ranks 1.5, 1.5, 3, 4
    check_near(correlation_of_ranks(a, tied, 4), 4.5 / sqrt(5.0 * 4.5), 1e-12);
    const double flat[] = {2.0, 2.0, 2.0, 2.0};
    assert_true(isnan(correlation_of_values(a, flat, 4)));
    assert_true(isnan(correlation_of_ranks(flat, b, 4)));
    assert_true(isnan(correlation_of_values(a, b, 1)));
}

static void ranks_see_order_and_values_see_lines(void **state)
{
    (void)state;
    FlRandom r = random_stream(6);
    for (int32_t trial = 0; trial < 200; trial++) {
        double a[16];
        double b[16];
        double line[16];
        double bent[16];
        for (int32_t i = 0; i < 16; i++) {
            a[i] = fl_random_between(&r, 0.0, 1.0);
            b[i] = fl_random_between(&r, 0.0, 1.0) + 0.5 * a[i];
            line[i] = 7.0 - 3.0 * b[i];
            bent[i] = exp(9.0 * b[i]);
        }
        double values = correlation_of_values(a, b, 16);
        double ranks = correlation_of_ranks(a, b, 16);
        assert_true(fabs(values) <= 1.0 && fabs(ranks) <= 1.0);
        check_near(correlation_of_values(b, a, 16), values, 1e-12);
        check_near(correlation_of_values(a, line, 16), -values, 1e-12);
        check_near(correlation_of_ranks(a, bent, 16), ranks, 1e-12);
        check_near(correlation_of_values(b, line, 16), -1.0, 1e-12);
        check_near(correlation_of_ranks(b, bent, 16), 1.0, 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(correlations_by_hand),
        cmocka_unit_test(ranks_see_order_and_values_see_lines),
        cmocka_unit_test(student_s_factor_is_that_of_the_tables),
        cmocka_unit_test(a_mean_by_hand),
        cmocka_unit_test(a_ratio_is_taken_run_by_run),
        cmocka_unit_test(equal_weights_are_no_weights),
        cmocka_unit_test(a_run_without_weight_says_nothing),
        cmocka_unit_test(the_interval_holds_the_truth_as_often_as_it_says),
        cmocka_unit_test(quantiles_are_those_of_the_sorted_samples),
        cmocka_unit_test(a_tally_takes_zeros_and_monsters),
        cmocka_unit_test(merged_tallies_are_one_tally),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
