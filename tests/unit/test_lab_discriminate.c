// Telling two kinds apart: what differs is found, by one figure or by several, and what does not is
// not.
#include "lab/figures/discriminate.h"

#include "fairlead/base.h"
#include "unit/support.h"

enum { SAMPLES = 1200 };

static double gauss(FlRandom *r)
{
    double sum = -6.0;
    for (int32_t i = 0; i < 12; i++) {
        sum += fl_random_between(r, 0.0, 1.0);
    }
    return sum;
}

static void make(DiscriminateSample *samples, uint64_t seed)
{
    FlRandom r = random_stream(seed);
    for (int32_t i = 0; i < SAMPLES; i++) {
        samples[i].label = i % 2 == 0;
        samples[i].match = i / 100;
        for (int32_t f = 0; f < DISCRIMINATE_FIGURES; f++) {
            samples[i].figures[f] = gauss(&r);
        }
    }
}

static void equals_cannot_be_told_apart(void **state)
{
    (void)state;
    static DiscriminateSample samples[SAMPLES];
    make(samples, 8100);
    double area = discriminate(samples, SAMPLES);
    assert_true(area > 0.46 && area < 0.56);
}

// Two normal distributions that are d deviations apart: the area is that below d / sqrt(2).
static void a_shift_of_one_figure_is_found_as_well_as_can_be(void **state)
{
    (void)state;
    static DiscriminateSample samples[SAMPLES];
    make(samples, 8101);
    for (int32_t i = 0; i < SAMPLES; i++) {
        samples[i].figures[5] -= samples[i].label ? 1.5 : 0.0;
    }
    check_near(discriminate(samples, SAMPLES), 0.856, 0.03);
}

static void spread_alone_is_found_by_squares(void **state)
{
    (void)state;
    static DiscriminateSample samples[SAMPLES];
    make(samples, 8102);
    for (int32_t i = 0; i < SAMPLES; i++) {
        samples[i].figures[3] *= samples[i].label ? 4.0 : 1.0;
    }
    assert_true(discriminate(samples, SAMPLES) > 0.8);
}

// What holds in the matches that are learnt from alone is not counted.
static void a_sign_that_changes_with_the_match_is_nothing(void **state)
{
    (void)state;
    static DiscriminateSample samples[SAMPLES];
    make(samples, 8103);
    for (int32_t i = 0; i < SAMPLES; i++) {
        bool up = samples[i].label == (samples[i].match % 2 == 0);
        samples[i].figures[0] += up ? 2.0 : 0.0;
    }
    assert_true(discriminate(samples, SAMPLES) < 0.5);
}

static void one_match_or_one_kind_says_nothing(void **state)
{
    (void)state;
    static DiscriminateSample samples[SAMPLES];
    make(samples, 8104);
    for (int32_t i = 0; i < SAMPLES; i++) {
        samples[i].match = 4;
    }
    assert_true(isnan(discriminate(samples, SAMPLES)));
    assert_true(isnan(discriminate(samples, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_cannot_be_told_apart),
        cmocka_unit_test(a_shift_of_one_figure_is_found_as_well_as_can_be),
        cmocka_unit_test(spread_alone_is_found_by_squares),
        cmocka_unit_test(a_sign_that_changes_with_the_match_is_nothing),
        cmocka_unit_test(one_match_or_one_kind_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
