// The distance integral of all pairs of models against the reference.
#include "integral_support.h"

// ---------------------------------------------------------------- all pairs

static void every_pair_of_models_is_right_to_six_digits(void **state)
{
    (void)state;
    FlRandom r = random_stream(80);
    Worst worst[sizeof makers / sizeof makers[0]] = {{0}};
    int32_t wrong = 0;
    for (int32_t i = 0; i < CASES(16000); i++) {
        Case c = makers[i % MAKERS](&r);
        double size = case_size(&c);
        double got = fl__distance_integral(&c.a, &c.b, c.from, c.to);
        long double want = reference(&c.a, &c.b, c.from, c.to, size);
        double error = excused_error(got, want, size, (double)(c.to - c.from) / 1e9);
        worst_note(&worst[i % MAKERS], error, i);
        if (!(error <= 1e-6) && wrong++ == 0) {
            print_error("case %d (%s): got %.17g, wanted %.17Lg, relative error %.3g\n", i,
                        maker_names[i % MAKERS], got, want, error);
            print_case(&c);
        }
    }
    for (int32_t i = 0; i < MAKERS; i++) {
        print_message("             %s: worst %.3g\n", maker_names[i], worst[i].error);
    }
    assert_int_equal(wrong, 0);
}

// Two points in relative motion along one line meet at `c`: a corner whose place is known, and an
// integral too. Wherever the corner lies between the points that a rule looks at, it must be seen.
static void a_corner_is_seen_wherever_it_lies(void **state)
{
    (void)state;
    FlState from = {.velocity = {1.0, 0.0, 0.0}, .acceleration = {1e-30, 0.0, 0.0}}; // not straight
    FlMotion a = fl_motion_make(FL_MODEL_QUADRATIC, &from);
    Worst worst = {0};
    int32_t count = CASES(20000);
    for (int32_t i = 0; i < count; i++) {
        double c = (i + 0.5) / count;
        FlState at = {.position = {c, 0.0, 0.0}};
        FlMotion b = fl_motion_make(FL_MODEL_STILL, &at);
        double got = fl__distance_integral(&a, &b, 0, FL_SEC(1));
        double want = 0.5 * (c * c + (1.0 - c) * (1.0 - c));
        worst_note(&worst, fabs(got - want) / want, i);
    }
    check_worst(&worst, 1e-6, "a corner anywhere");
}

// ---------------------------------------------------------------- many turns

static void from_the_centre_of_a_circle_everything_is_its_radius_away(void **state)
{
    (void)state;
    FlState on = {.velocity = {7.0, 0.0, 0.0}, .turn_rate = 1.0};
    FlState in = {.position = {0.0, 7.0, 0.0}};
    FlMotion a = fl_motion_make(FL_MODEL_CIRCULAR, &on);
    FlMotion b = fl_motion_make(FL_MODEL_STILL, &in);
    for (double turns = 0.01; turns < 2000.0; turns *= 1.7) {
        FlTime to = turns_long(turns);
        check_near(fl__distance_integral(&a, &b, 0, to), 7.0 * ((double)to / 1e9),
                   7e-9 * ((double)to / 1e9));
    }
}

// From a point on the circle the mean chord is 4 R / pi, and the two touch once in every turn.
static double error_over_turns(double turns)
{
    FlState on = {.velocity = {7.0, 0.0, 0.0}, .turn_rate = 1.0};
    FlState in = {.position = {0.0, 0.0, 0.0}};
    FlMotion a = fl_motion_make(FL_MODEL_CIRCULAR, &on);
    FlMotion b = fl_motion_make(FL_MODEL_STILL, &in);
    // Half a radian off, so that the corners meet the panels everywhere.
    double got = fl__distance_integral(&a, &b, FL_MS(500), FL_MS(500) + turns_long(turns));
    double want = 4.0 * 7.0 / FL_PI * (2.0 * FL_PI * turns);
    return fabs(got - want) / want;
}

static void thousands_of_radians_with_a_corner_in_every_turn_are_right(void **state)
{
    (void)state;
    Worst worst = {0};
    for (int32_t turns = 1; turns <= 1500; turns += 1 + turns / 8) {
        worst_note(&worst, error_over_turns(turns), turns);
    }
    check_worst(&worst, 1e-6, "up to 9400 rad");
}

// Nobody follows a day of circling turn by turn: then three digits are enough, but soon.
static void millions_of_radians_are_estimated_in_bounded_time(void **state)
{
    (void)state;
    Worst worst = {0}, slowest = {0};
    // Multiples of powers of two, too: equal steps must not fall in step with the turns.
    const int32_t turns[] = {5000, 8192, 16384, 20000, 8192 * 11, 8192 * 40, 200000, 2000000};
    for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
        double before = processor_seconds();
        worst_note(&worst, error_over_turns(turns[i]), turns[i]);
        worst_note(&slowest, processor_seconds() - before, turns[i]);
    }
    check_worst(&worst, 1e-3, "up to 1e7 rad");
    check_worst(&slowest, SLOW(0.5), "seconds for up to 1e7 rad");
}

static void long_turns_of_all_pairs_are_right(void **state)
{
    (void)state;
    FlRandom r = random_stream(81);
    Worst worst = {0};
    for (int32_t i = 0; i < CASES(60); i++) {
        Case c = random_pair(&r);
        c.a = random_motion(&r, FL_MODEL_CIRCULAR);
        c.a.turn_rate = random_scale(&r, 0.0, 2.0);
        c.b.turn_rate *= fabs(random_scale(&r, -1.0, 1.0));
        c.to = c.from + random_time(&r, FL_SEC(5), FL_SEC(20));
        double size = case_size(&c);
        double got = fl__distance_integral(&c.a, &c.b, c.from, c.to);
        long double want = reference(&c.a, &c.b, c.from, c.to, size);
        worst_note(&worst, excused_error(got, want, size, (double)(c.to - c.from) / 1e9), i);
    }
    check_worst(&worst, 1e-6, "up to 4000 rad, all pairs");
}

// ---------------------------------------------------------------- where the distance is rounding

// The same curve told again from another of its points. Nothing is left but rounding: the answer
// must be as small as that, and must not be searched for in it.
static void a_curve_told_again_is_no_distance_but_rounding(void **state)
{
    (void)state;
    FlRandom r = random_stream(82);
    for (int32_t i = 0; i < CASES(20000); i++) {
        FlMotion a = random_motion(&r, i % 2 == 0 ? FL_MODEL_CIRCULAR : FL_MODEL_QUADRATIC);
        FlTime again = a.time + random_time(&r, 0, FL_SEC(5));
        FlState state_again = {.time = again,
                               .position = fl_motion_position(&a, again),
                               .velocity = fl__motion_velocity(&a, again),
                               .acceleration = a.acceleration,
                               .turn_rate = a.turn_rate};
        Case c = {.a = a, .b = fl_motion_make(a.model, &state_again), .from = again};
        c.to = again + random_time(&r, 0, FL_SEC(5));
        double seconds = (double)(c.to - c.from) / 1e9;
        double got = fl__distance_integral(&c.a, &c.b, c.from, c.to);
        assert_true(got >= 0.0 && got <= 4e-15 * case_size(&c) * seconds + 1e-300);
        check_same(fl__distance_integral(&a, &a, c.from, c.to), 0.0);
    }
}

// An owner that estimates its turn rate tells arcs whose rates differ in the last digits. That must
// cost no more than any other pair: ten thousand evaluations, not a hundred million.
static void nearly_equal_arcs_cost_no_more_than_others(void **state)
{
    (void)state;
    FlRandom r = random_stream(83);
    Worst slowest = {0};
    for (int32_t i = 0; i < 6; i++) {
        FlMotion a = random_motion(&r, FL_MODEL_CIRCULAR);
        FlTime again = a.time + FL_MS(700);
        FlState state_again = {.time = again,
                               .position = fl_motion_position(&a, again),
                               .velocity = fl__motion_velocity(&a, again),
                               .turn_rate = a.turn_rate * (1.0 + (i + 1) * 3e-13)};
        FlMotion b = fl_motion_make(FL_MODEL_CIRCULAR, &state_again);
        double before = processor_seconds();
        double got = fl__distance_integral(&a, &b, again, again + FL_SEC(1));
        worst_note(&slowest, processor_seconds() - before, i);
        assert_true(got >= 0.0 && got < 1e-10);
    }
    check_worst(&slowest, SLOW(0.02), "seconds for one integral of nearly equal arcs");
}

static void an_arc_that_hardly_turns_costs_no_more_than_others(void **state)
{
    (void)state;
    Worst slowest = {0}, error = {0};
    for (int32_t power = -300; power <= -4; power += power < -20 ? 20 : 1) {
        FlState s = {.position = {100.0, 50.0, 3.0}, .velocity = {10.0, 3.0, 0.0}};
        s.turn_rate = pow(10.0, power);
        FlMotion a = fl_motion_make(FL_MODEL_CIRCULAR, &s);
        FlMotion b = fl_motion_make(FL_MODEL_LINEAR, &s);
        double before = processor_seconds();
        double got = fl__distance_integral(&a, &b, 0, FL_SEC(1));
        worst_note(&slowest, processor_seconds() - before, power);
        double want = sqrt(109.0) * s.turn_rate / 6.0; // to first order
        worst_note(&error, (fabs(got - want) - 5e-15 * 120.0) / want, power);
    }
    check_worst(&slowest, SLOW(0.004), "seconds for one integral of an arc that hardly turns");
    check_worst(&error, 1e-6, "an arc that hardly turns");
}

// ---------------------------------------------------------------- the same bits

static void golden_hash_of_all_integrals_is_the_same_in_every_build(void **state)
{
    (void)state;
    FlRandom r = random_stream(96);
    Hash hash = hash_start();
    for (int32_t i = 0; i < 1500; i++) { // no pow() here, and not CASES: same inputs everywhere
        FlMotion a = random_motion(&r, random_model(&r));
        FlMotion b = random_motion(&r, random_model(&r));
        a.horizon_ns = i % 4 == 0 ? FL_SEC(2) : FL_FOREVER;
        FlTime from = random_time(&r, -FL_SEC(1), FL_SEC(4));
        FlTime to = from + random_time(&r, 1, FL_SEC(6));
        double integral = fl__distance_integral(&a, &b, from, to);
        hash_double(&hash, integral);
        hash_double(&hash, fl__distance_integral_chord(&a, &b, from, to));
        FlTime when = 0;
        FlResult result = fl__distance_integral_reaches(&a, &b, from, to, 0.6 * integral, &when);
        hash_bits(&hash, (uint64_t)when);
        hash_bits(&hash, (uint64_t)(int64_t)result);
    }
    check_hash(hash, UINT64_C(0x50b9ca7a1a267c38));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_models_is_right_to_six_digits),
        cmocka_unit_test(a_corner_is_seen_wherever_it_lies),
        cmocka_unit_test(from_the_centre_of_a_circle_everything_is_its_radius_away),
        cmocka_unit_test(thousands_of_radians_with_a_corner_in_every_turn_are_right),
        cmocka_unit_test(millions_of_radians_are_estimated_in_bounded_time),
        cmocka_unit_test(long_turns_of_all_pairs_are_right),
        cmocka_unit_test(a_curve_told_again_is_no_distance_but_rounding),
        cmocka_unit_test(nearly_equal_arcs_cost_no_more_than_others),
        cmocka_unit_test(an_arc_that_hardly_turns_costs_no_more_than_others),
        cmocka_unit_test(golden_hash_of_all_integrals_is_the_same_in_every_build),
    };
    return cmocka_run_group_tests(tests, make_rules, NULL);
}
