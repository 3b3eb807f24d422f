// sin, cos, log, exp and atan2 of base: right to the last digits, and the same bits everywhere.
//
// The references are the C library's long double functions: eleven bits more than a double has, so
// an error of half a unit in a double's last place is seen to three digits.
#include "support.h"

#include "base/kernels.h"

#define PI_LONG 3.141592653589793238462643383279502884L

// How far `got` is from the truth, in units of the truth's last place as a double.
static double ulps(double got, long double want)
{
    double rounded = fabs((double)want);
    if (isnan(got) || isinf(rounded)) {
        return same_double(got, (double)want) ? 0.0 : (double)INFINITY;
    }
    int exponent = 0;
    (void)frexp(rounded, &exponent);
    int lowest = exponent - DBL_MANT_DIG;
    double unit = ldexp(1.0, lowest < -1074 ? -1074 : lowest);
    return (double)(fabsl((long double)got - want) / (long double)unit);
}

static void measure_sincos(Worst *worst, double x, int64_t number)
{
    double s, c;
    fl_sincos(x, &s, &c);
    worst_note(worst, ulps(s, sinl((long double)x)), number);
    worst_note(worst, ulps(c, cosl((long double)x)), number);
}

static void sine_and_cosine_keep_the_last_place_up_to_1e5(void **state)
{
    (void)state;
    FlRandom r = random_stream(1);
    Worst worst = {0};
    for (int32_t i = 0; i < CASES(100000); i++) {
        measure_sincos(&worst, fl_random_between(&r, -10.0, 10.0), i);
        measure_sincos(&worst, fl_random_between(&r, -1e5, 1e5), i);
        measure_sincos(&worst, random_scale(&r, -323.0, 5.0), i);
    }
    check_worst(&worst, 1.0, "sincos to 1e5, ulp");
}

static void sine_and_cosine_keep_two_last_places_up_to_1e9(void **state)
{
    (void)state;
    FlRandom r = random_stream(2);
    Worst worst = {0};
    for (int32_t i = 0; i < CASES(100000); i++) {
        measure_sincos(&worst, fl_random_between(&r, -1e9, 1e9), i);
        measure_sincos(&worst, random_scale(&r, 5.0, 9.0), i);
        measure_sincos(&worst, fl_random_between(&r, 1e6 - 10.0, 1e6 + 10.0), i);
    }
    check_worst(&worst, 2.0, "sincos to 1e9, ulp");
}

// The doubles around k quarter turns, where one of the two is nearly zero and all that counts is
// how many digits of pi the reduction knows; and around odd eighths, where the quadrant is chosen.
static void sine_and_cosine_hold_at_the_edges_of_quadrants(void **state)
{
    (void)state;
    FlRandom r = random_stream(3);
    Worst near = {0}, far = {0};
    for (int32_t i = 0; i < CASES(200000); i++) {
        // Every edge up to 1e5, then those beyond at random.
        uint64_t k = i < 130000 ? (uint64_t)i : fl_random_below(&r, UINT64_C(1) << 30);
        double x = (double)((long double)k * (PI_LONG / 4.0L)) * random_sign(&r);
        Worst *worst = fabs(x) < 1e5 ? &near : &far;
        measure_sincos(worst, x, i);
        measure_sincos(worst, nextafter(x, -(double)INFINITY), i);
        measure_sincos(worst, nextafter(x, (double)INFINITY), i);
    }
    // The ones known to come closest to a zero (found by trying all quarter turns up to 2e6).
    const double closest[] = {0x1.93c05c9ed3cbcp+18, 0x1.edb9bbd6273d1p+19, 0x1.4165940f0dba5p+25,
                              0x1.00ca11c50181fp+27};
    for (size_t i = 0; i < sizeof closest / sizeof closest[0]; i++) {
        measure_sincos(&far, closest[i], -1 - (int64_t)i);
    }
    check_worst(&near, 1.0, "sincos at quadrant edges to 1e5, ulp");
    check_worst(&far, 2.0, "sincos at quadrant edges to 1e9, ulp");
}

static void sine_and_cosine_of_anything_finite_lie_on_the_circle(void **state)
{
    (void)state;
    FlRandom r = random_stream(4);
    for (int32_t i = 0; i < CASES(100000); i++) {
        double x = random_scale(&r, 8.0, 308.0);
        double s, c;
        fl_sincos(x, &s, &c);
        check_near(s * s + c * c, 1.0, 1e-15);
        check_same(fl__sin(x), s);
        check_same(fl__cos(x), c);
        double minus_s, same_c;
        fl_sincos(-x, &minus_s, &same_c);
        check_same(minus_s, -s);
        check_same(same_c, c);
    }
    check_near(fl__cos(DBL_MAX) * fl__cos(DBL_MAX) + fl__sin(DBL_MAX) * fl__sin(DBL_MAX), 1.0,
               1e-15);
}

static void sine_and_cosine_of_the_special_values_are_defined(void **state)
{
    (void)state;
    const double odd[] = {(double)INFINITY, -(double)INFINITY, (double)NAN};
    for (size_t i = 0; i < 3; i++) {
        double s = 0.0, c = 0.0;
        fl_sincos(odd[i], &s, &c);
        assert_true(isnan(s) && isnan(c));
    }
    check_same(fl__sin(0.0), 0.0);
    check_same(fl__cos(0.0), 1.0);
    check_same(fl__cos(-0.0), 1.0);
    check_same(fl__sin(4.9406564584124654e-324), 4.9406564584124654e-324);
    check_same(fl__sin(-DBL_MIN), -DBL_MIN);
}

static void logarithm_keeps_the_last_places(void **state)
{
    (void)state;
    FlRandom r = random_stream(5);
    Worst worst = {0};
    for (int32_t i = 0; i < CASES(100000); i++) {
        double x = fabs(random_scale(&r, -323.5, 308.25));
        worst_note(&worst, ulps(fl__log(x), logl((long double)x)), i);
        x = fl_random_between(&r, 0.5, 2.0);
        worst_note(&worst, ulps(fl__log(x), logl((long double)x)), i);
        x = 1.0 + random_scale(&r, -16.0, -1.0);
        worst_note(&worst, ulps(fl__log(x), logl((long double)x)), i);
    }
    const double ends[] = {
        4.9406564584124654e-324, DBL_MIN, DBL_MAX, 1e290, 1e-290, 1.0, 0.70710678118654746,
        1.41421356237309515};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        worst_note(&worst, ulps(fl__log(ends[i]), logl((long double)ends[i])), -1);
    }
    check_worst(&worst, 1.5, "log, ulp");
    check_same(fl__log(1.0), 0.0);
    assert_true(fl__log(0.0) == -(double)INFINITY && fl__log(-0.0) == -(double)INFINITY);
    assert_true(fl__log((double)INFINITY) == (double)INFINITY);
    assert_true(isnan(fl__log(-1e-300)) && isnan(fl__log(-(double)INFINITY)) &&
                isnan(fl__log((double)NAN)));
}

static void logarithm_of_one_plus_something_small_loses_nothing(void **state)
{
    (void)state;
    FlRandom r = random_stream(6);
    Worst worst = {0};
    for (int32_t i = 0; i < CASES(100000); i++) {
        double x = random_scale(&r, -323.0, 0.0);
        x = x > -1.0 ? x : -0.5;
        worst_note(&worst, ulps(fl__log1p(x), log1pl((long double)x)), i);
        x = fabs(random_scale(&r, 0.0, 308.25));
        worst_note(&worst, ulps(fl__log1p(x), log1pl((long double)x)), i);
        x = fl_random_between(&r, -1.0, 3.0);
        worst_note(&worst, ulps(fl__log1p(x), log1pl((long double)x)), i);
        x = -1.0 + fabs(random_scale(&r, -16.0, -0.1));
        worst_note(&worst, ulps(fl__log1p(x), log1pl((long double)x)), i);
        x = fabs(random_scale(&r, -20.0, 300.0));
        worst_note(&worst, ulps(fl__log1p_positive(x), log1pl((long double)x)), i);
    }
    check_worst(&worst, 1.5, "log1p, ulp");
    assert_true(fl__log1p(-1.0) == -(double)INFINITY);
    assert_true(fl__log1p((double)INFINITY) == (double)INFINITY);
    assert_true(isnan(fl__log1p(-1.5)) && isnan(fl__log1p((double)NAN)) &&
                isnan(fl__log1p(-(double)INFINITY)));
    check_same(fl__log1p(0.0), 0.0);
    check_same(fl__log1p(-0.0), -0.0);
}

static void exponential_keeps_the_last_places(void **state)
{
    (void)state;
    FlRandom r = random_stream(7);
    Worst worst = {0};
    for (int32_t i = 0; i < CASES(100000); i++) {
        double x = fl_random_between(&r, -746.0, 710.0);
        worst_note(&worst, ulps(fl__exp(x), expl((long double)x)), i);
        x = random_scale(&r, -320.0, 1.0);
        worst_note(&worst, ulps(fl__exp(x), expl((long double)x)), i);
        x = fl_random_between(&r, -746.0, -707.0); // subnormal results
        worst_note(&worst, ulps(fl__exp(x), expl((long double)x)), i);
    }
    check_worst(&worst, 1.0, "exp, ulp");
    check_same(fl__exp(0.0), 1.0);
    assert_true(isinf(fl__exp(709.79)) && isfinite(fl__exp(709.78)));
    assert_true(fl__exp(-745.2) == 0.0 && fl__exp(-745.1) > 0.0);
    assert_true(fl__exp((double)INFINITY) == (double)INFINITY && fl__exp(-(double)INFINITY) == 0.0);
    assert_true(isnan(fl__exp((double)NAN)));
}

static void exponential_never_falls(void **state)
{
    (void)state;
    FlRandom r = random_stream(8);
    for (int32_t i = 0; i < CASES(100000); i++) {
        double x = fl_random_between(&r, -740.0, 709.0);
        assert_true(fl__exp(nextafter(x, 1e9)) >= fl__exp(x) * (1.0 - 3e-16));
    }
}

static void angle_of_a_point_keeps_the_last_places(void **state)
{
    (void)state;
    FlRandom r = random_stream(9);
    Worst worst = {0};
    for (int32_t i = 0; i < CASES(100000); i++) {
        double x = fl_random_between(&r, -1.0, 1.0);
        double y = fl_random_between(&r, -1.0, 1.0);
        worst_note(&worst, ulps(fl_atan2(y, x), atan2l((long double)y, (long double)x)), i);
        x = random_scale(&r, -300.0, 300.0);
        y = random_scale(&r, -300.0, 300.0);
        worst_note(&worst, ulps(fl_atan2(y, x), atan2l((long double)y, (long double)x)), i);
        y = x * fl_random_between(&r, 0.9, 1.1);
        worst_note(&worst, ulps(fl_atan2(y, x), atan2l((long double)y, (long double)x)), i);
        y = random_scale(&r, -323.0, -290.0); // quotients that are subnormal
        x = random_scale(&r, -20.0, 20.0);
        worst_note(&worst, ulps(fl_atan2(y, x), atan2l((long double)y, (long double)x)), i);
    }
    check_worst(&worst, 2.0, "atan2, ulp");
}

static void angle_of_axes_and_infinities_is_defined(void **state)
{
    (void)state;
    const double inf = (double)INFINITY;
    check_same(fl_atan2(0.0, 0.0), 0.0);
    check_same(fl_atan2(0.0, -0.0), 0.0);
    check_same(fl_atan2(-0.0, -0.0), 0.0);
    check_same(fl_atan2(1.0, 0.0), FL_PI / 2.0);
    check_same(fl_atan2(-1.0, 0.0), -FL_PI / 2.0);
    check_same(fl_atan2(0.0, -1.0), FL_PI);
    check_same(fl_atan2(-0.0, -1.0), FL_PI); // (-pi, pi]: the closed end
    check_same(fl_atan2(inf, inf), FL_PI / 4.0);
    check_same(fl_atan2(-inf, -inf), -(FL_PI - FL_PI / 4.0));
    check_same(fl_atan2(1.0, inf), 0.0);
    check_same(fl_atan2(1.0, -inf), FL_PI);
    check_same(fl_atan2(inf, -3.0), FL_PI / 2.0);
    assert_true(isnan(fl_atan2((double)NAN, 1.0)) && isnan(fl_atan2(1.0, (double)NAN)));
    assert_true(isnan(fl_atan2((double)NAN, inf)));
}

static void wrapped_angle_points_the_same_way(void **state)
{
    (void)state;
    FlRandom r = random_stream(10);
    for (int32_t i = 0; i < CASES(200000); i++) {
        double angle = random_chance(&r, 2) ? fl_random_between(&r, -100.0, 100.0)
                                            : random_scale(&r, -320.0, 12.0);
        double wrapped = fl_angle_wrap(angle);
        assert_true(wrapped > -FL_PI && wrapped <= FL_PI);
        // Half of the angle's own last place is what pi's last digits may cost.
        double unit = fmax(fabs(angle) * DBL_EPSILON, 1e-16);
        long double apart = remainderl((long double)angle - (long double)wrapped, 2.0L * PI_LONG);
        check_near((double)apart, 0.0, unit);
        check_same(fl_angle_wrap(wrapped), wrapped);
    }
    check_same(fl_angle_wrap(FL_PI), FL_PI);
    check_same(fl_angle_wrap(-FL_PI), FL_PI);
    check_same(fl_angle_wrap(nextafter(-FL_PI, 0.0)), nextafter(-FL_PI, 0.0));
    check_near(fl_angle_wrap(nextafter(FL_PI, 4.0)), -FL_PI, 1e-15);
    assert_true(fl_angle_wrap(nextafter(FL_PI, 4.0)) > -FL_PI);
    assert_true(isnan(fl_angle_wrap((double)NAN)) && isnan(fl_angle_wrap((double)INFINITY)));
}

// The same for gcc and clang, -O0 and -O3, with and without sanitizers. If this fails and nothing
// in base was changed on purpose, a compiler has rounded differently: that is the bug.
static void golden_hash_of_the_mathematics_is_the_same_in_every_build(void **state)
{
    (void)state;
    FlRandom r = random_stream(11);
    Hash hash = hash_start();
    for (int32_t i = 0; i < 20000; i++) { // not CASES: the hash must not know about sanitizers
        // Built from bits, not by pow(): the inputs must be the same everywhere too.
        double any = double_of(fl_random_next(&r));
        double middling = fl_random_between(&r, -50.0, 50.0);
        double far = fl_random_between(&r, -1e9, 1e9);
        double s, c;
        fl_sincos(middling, &s, &c);
        hash_double(&hash, s);
        hash_double(&hash, c);
        fl_sincos(far, &s, &c);
        hash_double(&hash, s);
        hash_double(&hash, c);
        fl_sincos(any, &s, &c);
        hash_double(&hash, s);
        hash_double(&hash, c);
        hash_double(&hash, fl__log(any));
        hash_double(&hash, fl__log(fabs(middling)));
        hash_double(&hash, fl__log1p(any));
        hash_double(&hash, fl__log1p(fabs(middling)));
        hash_double(&hash, fl__exp(middling));
        hash_double(&hash, fl__exp(14.0 * middling));
        hash_double(&hash, fl_atan2(middling, far * 1e-7));
        hash_double(&hash, fl_atan2(any, middling));
        hash_double(&hash, fl_angle_wrap(far));
        hash_double(&hash, fl_random_normal(&r));
        FlVec3 turn = random_vec3(&r, 4.0);
        FlQuat q = fl__quat_from_vector(turn);
        hash_vec3(&hash, fl__quat_rotate(fl__quat_normalise(q), fl_vec3(far, middling, 1.0)));
        hash_double(&hash, fl__quat_yaw(q));
        hash_double(&hash, fl__quat_angle(q, fl__quat_from_yaw(middling)));
    }
    check_hash(hash, UINT64_C(0x9a8776056dd11af2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sine_and_cosine_keep_the_last_place_up_to_1e5),
        cmocka_unit_test(sine_and_cosine_keep_two_last_places_up_to_1e9),
        cmocka_unit_test(sine_and_cosine_hold_at_the_edges_of_quadrants),
        cmocka_unit_test(sine_and_cosine_of_anything_finite_lie_on_the_circle),
        cmocka_unit_test(sine_and_cosine_of_the_special_values_are_defined),
        cmocka_unit_test(logarithm_keeps_the_last_places),
        cmocka_unit_test(logarithm_of_one_plus_something_small_loses_nothing),
        cmocka_unit_test(exponential_keeps_the_last_places),
        cmocka_unit_test(exponential_never_falls),
        cmocka_unit_test(angle_of_a_point_keeps_the_last_places),
        cmocka_unit_test(angle_of_axes_and_infinities_is_defined),
        cmocka_unit_test(wrapped_angle_points_the_same_way),
        cmocka_unit_test(golden_hash_of_the_mathematics_is_the_same_in_every_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
