// The distance integral: its algebra, its inverse, and the chord version.
#include "integral_support.h"

// ---------------------------------------------------------------- algebra

static void order_of_the_two_motions_hardly_matters(void **state)
{
    (void)state;
    FlRandom r = random_stream(84);
    for (int32_t i = 0; i < CASES(10000); i++) {
        Case c = makers[i % MAKERS](&r);
        double ab = fl__distance_integral(&c.a, &c.b, c.from, c.to);
        double ba = fl__distance_integral(&c.b, &c.a, c.from, c.to);
        double floor = 1e-15 * case_size(&c) * ((double)(c.to - c.from) / 1e9);
        check_near(ab, ba, 1e-9 * ab + floor);
    }
}

static void parts_of_an_interval_add_up(void **state)
{
    (void)state;
    FlRandom r = random_stream(85);
    for (int32_t i = 0; i < CASES(10000); i++) {
        Case c = makers[i % MAKERS](&r);
        FlTime cut = random_time(&r, c.from, c.to);
        double whole = fl__distance_integral(&c.a, &c.b, c.from, c.to);
        double parts = fl__distance_integral(&c.a, &c.b, c.from, cut) +
                       fl__distance_integral(&c.a, &c.b, cut, c.to);
        double floor = 4e-15 * case_size(&c) * ((double)(c.to - c.from) / 1e9);
        check_near(parts, whole, 2e-6 * whole + floor);
    }
}

static void a_detour_is_never_shorter(void **state)
{
    (void)state;
    FlRandom r = random_stream(86);
    for (int32_t i = 0; i < CASES(10000); i++) {
        Case c = random_pair(&r);
        FlMotion m = random_motion(&r, random_model(&r));
        double direct = fl__distance_integral(&c.a, &c.b, c.from, c.to);
        double detour = fl__distance_integral(&c.a, &m, c.from, c.to) +
                        fl__distance_integral(&m, &c.b, c.from, c.to);
        assert_true(direct <= detour * (1.0 + 1e-6));
    }
}

static void an_unused_turn_or_bend_changes_nothing(void **state)
{
    (void)state;
    FlRandom r = random_stream(87);
    for (int32_t i = 0; i < CASES(10000); i++) {
        Case c = random_pair(&r);
        c.a = random_motion(&r, FL_MODEL_LINEAR);
        c.b = random_motion(&r, FL_MODEL_LINEAR);
        double straight = fl__distance_integral(&c.a, &c.b, c.from, c.to);
        c.a.model = i % 2 == 0 ? FL_MODEL_CIRCULAR : FL_MODEL_QUADRATIC; // rates are zero
        double same = fl__distance_integral(&c.a, &c.b, c.from, c.to);
        check_near(same, straight, 1e-12 * straight + 1e-14);
        c.a.turn_rate = i % 2 == 0 ? 1e-200 : 0.0;
        c.a.acceleration.x = i % 2 == 0 ? 0.0 : 1e-200;
        same = fl__distance_integral(&c.a, &c.b, c.from, c.to);
        check_near(same, straight, 1e-6 * straight);
    }
}

static void what_is_not_finite_gives_nan_for_every_model(void **state)
{
    (void)state;
    FlRandom r = random_stream(88);
    for (int32_t i = 0; i < 500; i++) {
        Case c = random_pair(&r);
        c.b = random_motion(&r, all_models[i % MODELS]);
        // A field that the model uses: its own, or the position.
        double *field[MODELS] = {&c.b.position.x, &c.b.velocity.y, &c.b.acceleration.z,
                                 &c.b.turn_rate, &c.b.jerk.x};
        double *broken = random_chance(&r, 2) ? field[i % MODELS] : &c.b.position.z;
        *broken = random_chance(&r, 2) ? (double)NAN : (double)INFINITY;
        assert_true(isnan(fl__distance_integral(&c.a, &c.b, c.from, c.to)));
        assert_true(isnan(fl__distance_integral(&c.b, &c.a, c.from, c.to)));
        assert_true(isnan(fl__distance_integral_chord(&c.a, &c.b, c.from, c.to)));
        check_same(fl__distance_integral(&c.a, &c.b, c.to, c.from), 0.0);
        FlTime when = 77;
        assert_int_equal(fl__distance_integral_reaches(&c.a, &c.b, c.from, c.to, 1.0, &when),
                         FL_BAD_VALUE);
        assert_true(when == c.to);
    }
}

// ---------------------------------------------------------------- the inverse

// Asks when `goal` is reached and holds the answer against the integral itself.
static void check_reached(const Case *c, double goal, double tolerance)
{
    FlTime when = c->from - 1;
    double whole = fl__distance_integral(&c->a, &c->b, c->from, c->to);
    double slack = tolerance * whole;
    FlResult result = fl__distance_integral_reaches(&c->a, &c->b, c->from, c->to, goal, &when);
    if (goal > whole + slack) {
        assert_int_equal(result, FL_NOT_FOUND);
        assert_true(when == c->to);
        return;
    }
    if (goal < whole - slack) {
        assert_int_equal(result, FL_OK);
    }
    if (result != FL_OK) {
        return; // too close to tell
    }
    assert_true(when >= c->from && when <= c->to);
    // The nearest nanosecond: half of one to either side is not yet and no longer enough.
    double before = fl__distance_integral(&c->a, &c->b, c->from, when - 1);
    double at = fl__distance_integral(&c->a, &c->b, c->from, when);
    double after = fl__distance_integral(&c->a, &c->b, c->from, when + 1);
    if (!(goal >= 0.5 * (before + at) - slack && goal <= 0.5 * (at + after) + slack)) {
        print_error("goal %.17g: at %lld the integral is %.17g, before %.17g, after %.17g\n", goal,
                    (long long)when, at, before, after);
        print_case(c);
        fail();
    }
}

static FlMotion random_line(FlRandom *r)
{
    return random_motion(r, random_chance(r, 5) ? FL_MODEL_STILL : FL_MODEL_LINEAR);
}

static void inverse_of_straight_pairs_is_right_to_the_nanosecond(void **state)
{
    (void)state;
    FlRandom r = random_stream(90);
    for (int32_t i = 0; i < CASES(16000); i++) {
        Case c;
        c.a = random_line(&r);
        c.b = random_line(&r);
        c.from = random_time(&r, -FL_SEC(1), FL_SEC(4));
        c.to = c.from + random_span(&r, 0.0, i % 3 == 0 ? 15.0 : 11.0);
        if (random_chance(&r, 3)) {
            make_meet(&c, random_chance(&r, 2) ? c.from : random_time(&r, c.from, c.to));
        }
        double whole = fl__distance_integral(&c.a, &c.b, c.from, c.to);
        double share = random_chance(&r, 5) ? pow(10.0, fl_random_between(&r, -12.0, 0.0))
                                            : fl_random_between(&r, 0.0, 1.1);
        check_reached(&c, whole * share, 2e-14);
    }
}

static void inverse_of_all_pairs_agrees_with_the_integral(void **state)
{
    (void)state;
    FlRandom r = random_stream(91);
    for (int32_t i = 0; i < CASES(2000); i++) {
        Case c = makers[i % MAKERS](&r);
        double whole = fl__distance_integral(&c.a, &c.b, c.from, c.to);
        check_reached(&c, whole * fl_random_between(&r, 0.0, 1.1), 2e-6);
    }
}

static void a_goal_is_reached_exactly_at_the_latest_time(void **state)
{
    (void)state;
    FlState at = {.position = {3.0, 4.0, 0.0}}, origin = {0};
    FlMotion a = fl_motion_make(FL_MODEL_STILL, &at), b = fl_motion_make(FL_MODEL_STILL, &origin);
    FlTime when = 0;
    assert_int_equal(fl__distance_integral_reaches(&a, &b, 0, FL_SEC(2), 10.0, &when), FL_OK);
    assert_true(when == FL_SEC(2));
    assert_int_equal(fl__distance_integral_reaches(&a, &b, 0, FL_SEC(2), 10.1, &when),
                     FL_NOT_FOUND);
    assert_true(when == FL_SEC(2));
    assert_int_equal(fl__distance_integral_reaches(&a, &b, 0, FL_FOREVER, 5e6, &when), FL_OK);
    assert_true(llabs(when - FL_SEC(1000000)) <= 1);
    assert_int_equal(fl__distance_integral_reaches(&a, &b, 0, FL_FOREVER, 1e-9, &when), FL_OK);
    assert_true(when == 0); // a fifth of a nanosecond
    assert_int_equal(fl__distance_integral_reaches(&a, &b, 0, FL_FOREVER, 4e-9, &when), FL_OK);
    assert_true(when == 1);
}

static void no_goal_is_reached_at_once_and_a_wrong_one_is_refused(void **state)
{
    (void)state;
    FlRandom r = random_stream(92);
    for (int32_t i = 0; i < 500; i++) {
        Case c = makers[i % MAKERS](&r);
        FlTime when = 77;
        const double none[] = {0.0, -0.0, -1.0, -DBL_MAX};
        assert_int_equal(
            fl__distance_integral_reaches(&c.a, &c.b, c.from, c.to, none[i % 4], &when), FL_OK);
        assert_true(when == c.from);
        const double odd[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
        assert_int_equal(fl__distance_integral_reaches(&c.a, &c.b, c.from, c.to, odd[i % 3], &when),
                         FL_BAD_VALUE);
        assert_int_equal(fl__distance_integral_reaches(&c.a, &c.b, c.to, c.from, 1e-300, &when),
                         FL_NOT_FOUND);
        assert_true(when == c.from);
    }
}

static void identical_motions_never_reach_anything_and_say_so_soon(void **state)
{
    (void)state;
    FlRandom r = random_stream(93);
    double before = processor_seconds();
    for (int32_t i = 0; i < 500; i++) {
        FlMotion m = random_motion(&r, all_models[i % MODELS]);
        FlTime when = 0;
        assert_int_equal(fl__distance_integral_reaches(&m, &m, m.time, FL_FOREVER, 1e-12, &when),
                         FL_NOT_FOUND);
        assert_true(when == FL_FOREVER);
        assert_int_equal(fl__distance_integral_reaches(&m, &m, INT64_MIN, FL_FOREVER, 1e-12, &when),
                         FL_NOT_FOUND);
    }
    assert_true(processor_seconds() - before < SLOW(1.0));
}

static void searching_until_forever_takes_a_bounded_number_of_steps(void **state)
{
    (void)state;
    FlRandom r = random_stream(94);
    Worst slowest = {0};
    for (int32_t i = 0; i < CASES(2000); i++) {
        Case c = random_pair(&r);
        c.a = random_line(&r);
        c.b = random_line(&r);
        if (random_chance(&r, 2)) {
            make_meet(&c, c.from + random_span(&r, 0.0, 17.0));
        }
        double goal = fabs(random_scale(&r, -15.0, 25.0));
        FlTime when = 0;
        double before = processor_seconds();
        FlResult result =
            fl__distance_integral_reaches(&c.a, &c.b, c.from, FL_FOREVER, goal, &when);
        worst_note(&slowest, processor_seconds() - before, i);
        assert_true(result == FL_OK || result == FL_NOT_FOUND);
        double at = fl__distance_integral(&c.a, &c.b, c.from, when);
        double after = fl__distance_integral(&c.a, &c.b, c.from, fl_time_add(when, 1));
        double now = fl__distance_integral(&c.a, &c.b, when, fl_time_add(when, 1));
        assert_true(result == FL_OK ? after >= goal * (1.0 - 1e-9) - now
                                    : at <= goal * (1.0 + 1e-9));
    }
    check_worst(&slowest, SLOW(0.01), "seconds for one search until forever");
}

// A tank that circles round a flag stays within 20 m of it for good; asking when that has added up
// to more than it ever will must not mean driving all the rounds of 292 years.
static void searching_along_a_circle_until_forever_ends(void **state)
{
    (void)state;
    FlState on = {.velocity = {10.0, 0.0, 0.0}, .turn_rate = 1.0};
    FlState in = {.position = {3.0, 0.0, 0.0}};
    FlMotion a = fl_motion_make(FL_MODEL_CIRCULAR, &on);
    FlMotion b = fl_motion_make(FL_MODEL_STILL, &in);
    Worst slowest = {0};
    for (double goal = 1e2; goal < 2e8; goal *= 1e3) {
        FlTime when = 0;
        double before = processor_seconds();
        assert_int_equal(fl__distance_integral_reaches(&a, &b, 0, FL_FOREVER, goal, &when), FL_OK);
        worst_note(&slowest, processor_seconds() - before, (int64_t)goal);
        check_near((double)when / 1e9, goal / 13.027, 0.1 * goal); // the mean distance
    }
    check_worst(&slowest, SLOW(4.0), "seconds to search along a circle until forever");
}

// ---------------------------------------------------------------- the chord

static void chord_version_is_right_for_straight_pairs(void **state)
{
    (void)state;
    FlRandom r = random_stream(95);
    for (int32_t i = 0; i < CASES(20000); i++) {
        Case c;
        c.a = random_line(&r);
        c.b = random_line(&r);
        c.from = random_time(&r, -FL_SEC(1), FL_SEC(4));
        c.to = c.from + random_span(&r, 0.0, 11.0);
        double want = fl__distance_integral(&c.a, &c.b, c.from, c.to);
        double floor = 1e-15 * case_size(&c) * ((double)(c.to - c.from) / 1e9);
        check_near(fl__distance_integral_chord(&c.a, &c.b, c.from, c.to), want,
                   1e-12 * want + floor);
    }
    Case c = random_pair(&r);
    check_same(fl__distance_integral_chord(&c.a, &c.b, c.from, c.from), 0.0);
    check_same(fl__distance_integral_chord(&c.a, &c.b, c.to, c.from), 0.0);
}

// Two half circles with the same ends, one to the left and one to the right: the chord sees nothing
// of the two radii between them. The mean distance across is 4 R / pi.
static void chord_version_does_not_see_how_an_arc_bulges(void **state)
{
    (void)state;
    FlTime half = turns_long(0.5);
    FlState left = {.velocity = {0.0, -5.0, 0.0}, .turn_rate = 1.0};
    FlState right = {.velocity = {0.0, 5.0, 0.0}, .turn_rate = -1.0};
    FlMotion a = fl_motion_make(FL_MODEL_CIRCULAR, &left);
    FlMotion b = fl_motion_make(FL_MODEL_CIRCULAR, &right);
    check_near(fl__distance_integral_chord(&a, &b, 0, half), 0.0, 1e-7);
    check_near(fl__distance_integral(&a, &b, 0, half), 4.0 * 5.0 / FL_PI * FL_PI, 2e-5);
    // Against its own chord an arc is as far off as its sagitta says, for the chord version not.
    FlState chord = {.velocity = {10.0 / FL_PI, 0.0, 0.0}};
    FlMotion line = fl_motion_make(FL_MODEL_LINEAR, &chord);
    check_near(fl__distance_integral_chord(&a, &line, 0, half), 0.0, 1e-7);
    assert_true(fl__distance_integral(&a, &line, 0, half) > 5.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_of_the_two_motions_hardly_matters),
        cmocka_unit_test(parts_of_an_interval_add_up),
        cmocka_unit_test(a_detour_is_never_shorter),
        cmocka_unit_test(an_unused_turn_or_bend_changes_nothing),
        cmocka_unit_test(what_is_not_finite_gives_nan_for_every_model),
        cmocka_unit_test(inverse_of_straight_pairs_is_right_to_the_nanosecond),
        cmocka_unit_test(inverse_of_all_pairs_agrees_with_the_integral),
        cmocka_unit_test(a_goal_is_reached_exactly_at_the_latest_time),
        cmocka_unit_test(no_goal_is_reached_at_once_and_a_wrong_one_is_refused),
        cmocka_unit_test(identical_motions_never_reach_anything_and_say_so_soon),
        cmocka_unit_test(searching_until_forever_takes_a_bounded_number_of_steps),
        cmocka_unit_test(searching_along_a_circle_until_forever_ends),
        cmocka_unit_test(chord_version_is_right_for_straight_pairs),
        cmocka_unit_test(chord_version_does_not_see_how_an_arc_bulges),
    };
    return cmocka_run_group_tests(tests, make_rules, NULL);
}
