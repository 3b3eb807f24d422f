// When an owner must speak. The first five are the traps that the thesis's appendix C fell into
// (erratum 6 of the papers' digest), one by one.
#include "support.h"

#include "motion/motion.h"

static FlTriggerDef only_distance(double distance)
{
    FlTriggerDef def = {.distance = distance, .angle = (double)INFINITY, .silence_ns = FL_FOREVER};
    return def;
}

static FlState at(FlTime time, double x, double y, double z)
{
    FlState state = {.time = time, .position = {x, y, z}};
    return state;
}

static FlMotion still_at_origin(void)
{
    FlState state = {0};
    return fl_motion_make(FL_MODEL_STILL, &state);
}

// ---------------------------------------------------------------- erratum 6

static void slow_drift_triggers_when_it_has_added_up(void **state)
{
    (void)state;
    FlTriggerDef def = only_distance(0.1);
    FlMotion exported = still_at_origin();
    for (int32_t frame = 0; frame <= 200; frame++) { // a millimetre per frame
        FlState real = at(FL_MS(16) * frame, 0.001 * frame, 0.0, 0.0);
        FlTrigger want = frame > 100 ? FL_TRIGGER_DISTANCE : FL_TRIGGER_NONE;
        if (frame != 100) { // 0.001 * 100 is 0.1 or a bit beside it
            assert_int_equal(fl__trigger_check(&def, &exported, &real), want);
        }
    }
}

static void motion_along_one_axis_alone_counts(void **state)
{
    (void)state;
    FlTriggerDef def = only_distance(0.1);
    FlMotion exported = still_at_origin();
    for (int32_t axis = 0; axis < 6; axis++) {
        double d = axis % 2 == 0 ? 0.11 : -0.11;
        FlState far =
            at(1, axis / 2 == 0 ? d : 0.0, axis / 2 == 1 ? d : 0.0, axis / 2 == 2 ? d : 0.0);
        assert_int_equal(fl__trigger_check(&def, &exported, &far), FL_TRIGGER_DISTANCE);
        FlState near = far;
        near.position = fl_vec3_scale(far.position, 0.9);
        assert_int_equal(fl__trigger_check(&def, &exported, &near), FL_TRIGGER_NONE);
    }
}

static void silence_counts_from_any_last_update(void **state)
{
    (void)state;
    FlExporterDef def = fl_exporter_def_default();
    def.model = FL_MODEL_LINEAR;
    def.trigger.silence_ns = FL_SEC(1);
    FlExporter exporter;
    fl_exporter_init(&exporter, &def);
    FlTime spoken = 0;
    int32_t silences = 0;
    for (int32_t frame = 0; frame < 1000; frame++) {
        FlTime now = FL_MS(10) * frame;
        // Jumps 2 m every 1.7 s, and stands still in between.
        FlState real = at(now, 2.0 * (double)(now / FL_MS(1700)), 0.0, 0.0);
        FlMotion motion;
        FlTrigger trigger = fl_exporter_feed(&exporter, &real, &motion);
        FlTime silent = now - spoken;
        if (trigger == FL_TRIGGER_SILENCE) {
            silences++;
            assert_true(silent == FL_SEC(1)); // not earlier, whatever the last update was for
        } else if (frame > 0) {
            assert_true(silent < FL_SEC(1));
        }
        if (trigger != FL_TRIGGER_NONE) {
            fl_exporter_commit(&exporter, &motion);
            spoken = now;
        }
    }
    assert_int_equal(silences, 6); // one in each of the gaps of 1.7 s
}

static void being_ahead_or_behind_on_the_line_counts(void **state)
{
    (void)state;
    FlTriggerDef def = only_distance(0.1);
    FlState start = {.velocity = {10.0, 0.0, 0.0}};
    FlMotion exported = fl_motion_make(FL_MODEL_LINEAR, &start);
    FlTime t = FL_SEC(2);
    FlState on_time = at(t, 20.0, 0.0, 0.0), ahead = at(t, 20.2, 0.0, 0.0),
            behind = at(t, 19.8, 0.0, 0.0), stopped = at(t, 0.0, 0.0, 0.0);
    assert_int_equal(fl__trigger_check(&def, &exported, &on_time), FL_TRIGGER_NONE);
    assert_int_equal(fl__trigger_check(&def, &exported, &ahead), FL_TRIGGER_DISTANCE);
    assert_int_equal(fl__trigger_check(&def, &exported, &behind), FL_TRIGGER_DISTANCE);
    assert_int_equal(fl__trigger_check(&def, &exported, &stopped), FL_TRIGGER_DISTANCE);
}

static void distance_is_the_true_one_not_that_of_an_axis(void **state)
{
    (void)state;
    FlTriggerDef def = only_distance(0.1);
    FlMotion exported = still_at_origin();
    FlState flat_corner = at(1, 0.08, 0.08, 0.0), corner = at(1, 0.06, -0.06, 0.06),
            inside = at(1, 0.057, 0.057, -0.057);
    assert_int_equal(fl__trigger_check(&def, &exported, &flat_corner), FL_TRIGGER_DISTANCE);
    assert_int_equal(fl__trigger_check(&def, &exported, &corner), FL_TRIGGER_DISTANCE);
    assert_int_equal(fl__trigger_check(&def, &exported, &inside), FL_TRIGGER_NONE);
}

// ---------------------------------------------------------------- the rest

static void thresholds_are_exact(void **state)
{
    (void)state;
    FlTriggerDef def = {.distance = 0.5, .angle = 0.25, .silence_ns = FL_SEC(1)};
    FlMotion exported = still_at_origin();
    exported.facing = fl_facing_yaw(0.0, 0.0);
    FlState real = at(0, 0.5, 0.0, 0.0);
    real.facing = fl_facing_yaw(0.25, 0.0);
    assert_int_equal(fl__trigger_check(&def, &exported, &real), FL_TRIGGER_NONE); // not "further"
    real.position.x = nextafter(0.5, 1.0);
    assert_int_equal(fl__trigger_check(&def, &exported, &real), FL_TRIGGER_DISTANCE);
    real.position.x = 0.0;
    real.facing.yaw = nextafter(0.25, 1.0);
    assert_int_equal(fl__trigger_check(&def, &exported, &real), FL_TRIGGER_ANGLE);
    real.facing.yaw = 0.0;
    real.time = FL_SEC(1) - 1;
    assert_int_equal(fl__trigger_check(&def, &exported, &real), FL_TRIGGER_NONE);
    real.time = FL_SEC(1);
    assert_int_equal(fl__trigger_check(&def, &exported, &real), FL_TRIGGER_SILENCE);
}

static void thresholds_of_zero_are_thresholds(void **state)
{
    (void)state;
    FlTriggerDef def = {.distance = 0.0, .angle = (double)INFINITY, .silence_ns = FL_FOREVER};
    FlMotion exported = still_at_origin();
    FlState same = at(5, 0.0, 0.0, 0.0), other = at(5, 1e-12, 0.0, 0.0);
    assert_int_equal(fl__trigger_check(&def, &exported, &same), FL_TRIGGER_NONE);
    assert_int_equal(fl__trigger_check(&def, &exported, &other), FL_TRIGGER_DISTANCE);
    def.silence_ns = 0;
    assert_int_equal(fl__trigger_check(&def, &exported, &same), FL_TRIGGER_SILENCE);
}

static void thresholds_can_be_switched_off(void **state)
{
    (void)state;
    FlTriggerDef def = only_distance((double)INFINITY);
    FlMotion exported = still_at_origin();
    exported.facing = fl_facing_yaw(0.0, 0.0);
    FlState real = at(INT64_MAX - 1, 1e100, 0.0, 0.0);
    real.facing = fl_facing_yaw(3.0, 0.0);
    assert_int_equal(fl__trigger_check(&def, &exported, &real), FL_TRIGGER_NONE);
}

static void turning_away_triggers_for_headings_and_for_free_rotations(void **state)
{
    (void)state;
    FlRandom r = random_stream(110);
    FlTriggerDef def = {.distance = (double)INFINITY, .angle = 0.1, .silence_ns = FL_FOREVER};
    for (int32_t i = 0; i < CASES(20000); i++) {
        double yaw = fl_random_between(&r, -20.0, 20.0), rate = fl_random_between(&r, -4.0, 4.0);
        double off = fl_random_between(&r, -0.2, 0.2);
        FlTime t = random_time(&r, 0, FL_SEC(3));
        if (fabs(fabs(off) - 0.1) < 1e-9) {
            continue;
        }
        FlTrigger want = fabs(off) > 0.1 ? FL_TRIGGER_ANGLE : FL_TRIGGER_NONE;
        FlMotion exported = still_at_origin();
        exported.facing = fl_facing_yaw(yaw, rate);
        FlState real = at(t, 0.0, 0.0, 0.0);
        real.facing = fl_facing_yaw(yaw + rate * ((double)t / 1e9) + off, rate);
        assert_int_equal(fl__trigger_check(&def, &exported, &real), want);
        // The same about any axis.
        FlVec3 spin = random_vec3(&r, 2.0);
        FlQuat start = random_quat(&r);
        exported.facing = fl_facing_free(start, spin);
        FlFacing now = fl__facing_after(&exported.facing, (double)t / 1e9);
        FlVec3 axis = random_vec3(&r, 1.0);
        axis = fl_vec3_scale(axis, off / fl_vec3_length(axis));
        FlQuat turned = fl__quat_multiply(fl__quat_from_vector(axis), now.rotation);
        real.facing = fl_facing_free(turned, spin);
        assert_int_equal(fl__trigger_check(&def, &exported, &real), want);
        // What has no facing does not turn.
        real.facing = fl_facing_none();
        assert_int_equal(fl__trigger_check(&def, &exported, &real), FL_TRIGGER_NONE);
    }
}

static void check_agrees_with_the_definition_for_any_model(void **state)
{
    (void)state;
    FlRandom r = random_stream(111);
    const FlModel models[] = {FL_MODEL_STILL, FL_MODEL_LINEAR, FL_MODEL_QUADRATIC,
                              FL_MODEL_CIRCULAR};
    FlTriggerDef def = {.distance = 1.0, .angle = (double)INFINITY, .silence_ns = FL_SEC(2)};
    for (int32_t i = 0; i < CASES(100000); i++) {
        FlState from = random_state(&r, 10.0, 5.0);
        FlMotion exported = fl_motion_make(models[i % 4], &from);
        exported.horizon_ns = random_chance(&r, 4) ? FL_MS(500) : FL_FOREVER;
        FlState real = random_state(&r, 10.0, 5.0);
        real.time = from.time + random_time(&r, -FL_MS(100), FL_SEC(3));
        FlVec3 told = fl_motion_position(&exported, real.time);
        real.position = fl_vec3_add(told, random_vec3(&r, 1.2));
        FlTrigger got = fl__trigger_check(&def, &exported, &real);
        double apart =
            sqrt(pow(real.position.x - told.x, 2.0) + pow(real.position.y - told.y, 2.0) +
                 pow(real.position.z - told.z, 2.0));
        FlTrigger want = real.time < from.time                ? FL_TRIGGER_REFUSED
                         : apart > 1.0                        ? FL_TRIGGER_DISTANCE
                         : real.time - from.time >= FL_SEC(2) ? FL_TRIGGER_SILENCE
                                                              : FL_TRIGGER_NONE;
        assert_int_equal(got, want);
    }
}

static void what_is_not_finite_or_older_is_refused(void **state)
{
    (void)state;
    FlTriggerDef def = fl__trigger_def_default();
    FlState start = {.time = FL_SEC(5), .velocity = {1.0, 0.0, 0.0}};
    FlMotion exported = fl_motion_make(FL_MODEL_LINEAR, &start);
    FlState older = at(FL_SEC(5) - 1, 0.0, 0.0, 0.0);
    assert_int_equal(fl__trigger_check(&def, &exported, &older), FL_TRIGGER_REFUSED);
    FlState same_time = at(FL_SEC(5), 0.0, 0.0, 0.0);
    assert_int_equal(fl__trigger_check(&def, &exported, &same_time), FL_TRIGGER_NONE);
    const double odd[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t i = 0; i < 3; i++) {
        FlState bad = at(FL_SEC(6), 0.0, odd[i], 0.0);
        assert_int_equal(fl__trigger_check(&def, &exported, &bad), FL_TRIGGER_REFUSED);
        bad = at(FL_SEC(6), 0.0, 0.0, 0.0);
        bad.velocity.z = odd[i];
        assert_int_equal(fl__trigger_check(&def, &exported, &bad), FL_TRIGGER_REFUSED);
        bad.velocity.z = 0.0;
        bad.turn_rate = odd[i];
        assert_int_equal(fl__trigger_check(&def, &exported, &bad), FL_TRIGGER_REFUSED);
        bad.turn_rate = 0.0;
        bad.facing = fl_facing_yaw(odd[i], 0.0);
        assert_int_equal(fl__trigger_check(&def, &exported, &bad), FL_TRIGGER_REFUSED);
    }
}

// A prediction that ran out of numbers is wrong, not right.
static void a_prediction_that_overflowed_triggers(void **state)
{
    (void)state;
    FlTriggerDef def = only_distance(0.1);
    const FlModel models[] = {FL_MODEL_LINEAR, FL_MODEL_QUADRATIC, FL_MODEL_CIRCULAR};
    FlState start = {.position = {1e308, -1e308, 1.0},
                     .velocity = {-1e308, 1e308, 1e308},
                     .acceleration = {1e308, -1e308, -1e308},
                     .turn_rate = 1e300};
    FlState real = at(FL_SEC(1000), 0.0, 0.0, 0.0);
    for (int32_t i = 0; i < 3; i++) {
        FlMotion exported = fl_motion_make(models[i], &start);
        assert_int_equal(fl__trigger_check(&def, &exported, &real), FL_TRIGGER_DISTANCE);
    }
}

static void defaults_are_those_of_an_action_game(void **state)
{
    (void)state;
    FlTriggerDef def = fl__trigger_def_default();
    check_near(def.distance, 0.1, 0.0);
    check_near(def.angle, 0.05, 0.0);
    assert_true(def.silence_ns == FL_SEC(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_drift_triggers_when_it_has_added_up),
        cmocka_unit_test(motion_along_one_axis_alone_counts),
        cmocka_unit_test(silence_counts_from_any_last_update),
        cmocka_unit_test(being_ahead_or_behind_on_the_line_counts),
        cmocka_unit_test(distance_is_the_true_one_not_that_of_an_axis),
        cmocka_unit_test(thresholds_are_exact),
        cmocka_unit_test(thresholds_of_zero_are_thresholds),
        cmocka_unit_test(thresholds_can_be_switched_off),
        cmocka_unit_test(turning_away_triggers_for_headings_and_for_free_rotations),
        cmocka_unit_test(check_agrees_with_the_definition_for_any_model),
        cmocka_unit_test(what_is_not_finite_or_older_is_refused),
        cmocka_unit_test(a_prediction_that_overflowed_triggers),
        cmocka_unit_test(defaults_are_those_of_an_action_game),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
