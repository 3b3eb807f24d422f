// The same trajectory told from another time.
#include "support.h"

#include "motion/motion.h"

#define MODELS 5
static const FlModel all_models[MODELS] = {FL_MODEL_STILL, FL_MODEL_LINEAR, FL_MODEL_QUADRATIC,
                                           FL_MODEL_CIRCULAR, FL_MODEL_CUBIC};

static FlMotion random_motion(FlRandom *r, FlModel model)
{
    FlState from = random_state(r, 100.0, 20.0);
    from.facing = random_chance(r, 2) ? fl_facing_yaw(fl_random_between(r, -3.0, 3.0), 0.7)
                                      : fl_facing_free(random_quat(r), random_vec3(r, 1.0));
    FlState to = random_state(r, 100.0, 20.0);
    to.time = from.time + random_time(r, FL_MS(100), FL_SEC(10));
    FlMotion motion =
        model == FL_MODEL_CUBIC ? fl__motion_cubic(&from, &to) : fl_motion_make(model, &from);
    motion.horizon_ns = random_chance(r, 3) ? random_time(r, 0, FL_SEC(15)) : FL_FOREVER;
    return motion;
}

static void told_from_another_time_it_is_in_the_same_places(void **state)
{
    (void)state;
    FlRandom r = random_stream(190);
    for (int32_t i = 0; i < CASES(100000); i++) {
        FlMotion m = random_motion(&r, all_models[i % MODELS]);
        FlTime time = m.time + random_time(&r, -FL_SEC(5), FL_SEC(20));
        FlMotion again = fl__motion_rebase(&m, time);
        assert_true(again.time == time || (time == m.time && again.time == m.time));
        FlTime later = time > m.time ? time : m.time;
        FlTime t = later + random_time(&r, 0, FL_SEC(20));
        // A cubic that is told from before its start keeps its polynomial: 25 s of it are large.
        double size =
            1e3 + 1e3 * fl_vec3_length(again.acceleration) + 1e4 * fl_vec3_length(again.jerk);
        check_vec3_near(fl_motion_position(&again, t), fl_motion_position(&m, t), 4e-15 * size);
        check_vec3_near(fl__motion_velocity(&again, t), fl__motion_velocity(&m, t), 4e-15 * size);
        FlFacing fa = fl__motion_facing(&again, t), fm = fl__motion_facing(&m, t);
        assert_true(fa.kind == fm.kind);
        check_near(fl__facing_angle(&fa, &fm), 0.0, 1e-13);
    }
}

static void past_its_horizon_it_is_still_and_past_its_curve_linear(void **state)
{
    (void)state;
    FlRandom r = random_stream(191);
    for (int32_t i = 0; i < CASES(5000); i++) {
        FlMotion m = random_motion(&r, all_models[i % MODELS]);
        if (m.horizon_ns != FL_FOREVER) {
            FlMotion ended = fl__motion_rebase(&m, m.time + m.horizon_ns + FL_MS(i % 2));
            assert_true(ended.model == FL_MODEL_STILL && ended.facing.yaw_rate == 0.0);
            check_near(fl_vec3_length(ended.facing.spin), 0.0, 0.0);
        }
        m.horizon_ns = FL_FOREVER;
        if (m.model == FL_MODEL_CUBIC) {
            FlMotion straight = fl__motion_rebase(&m, m.time + m.curve_ns + FL_MS(i % 2));
            assert_true(straight.model == FL_MODEL_LINEAR && straight.curve_ns == 0);
            check_near(fl_vec3_length(straight.acceleration) + fl_vec3_length(straight.jerk), 0.0,
                       0.0);
        }
    }
}

static void told_from_its_own_time_it_is_itself(void **state)
{
    (void)state;
    FlRandom r = random_stream(192);
    for (int32_t i = 0; i < 500; i++) {
        FlMotion m = random_motion(&r, all_models[i % MODELS]);
        m.horizon_ns = FL_FOREVER;
        FlMotion again = fl__motion_rebase(&m, m.time);
        assert_memory_equal(&again, &m, sizeof m);
    }
}

static void what_is_left_of_the_horizon_stays(void **state)
{
    (void)state;
    FlState s = {.velocity = {1.0, 0.0, 0.0}};
    FlMotion m = fl_motion_make(FL_MODEL_LINEAR, &s);
    m.horizon_ns = FL_SEC(2);
    assert_true(fl__motion_rebase(&m, FL_MS(500)).horizon_ns == FL_MS(1500));
    assert_true(fl__motion_rebase(&m, -FL_MS(500)).horizon_ns == FL_MS(2500));
    m.horizon_ns = FL_FOREVER;
    assert_true(fl__motion_rebase(&m, FL_SEC(100)).horizon_ns == FL_FOREVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(told_from_another_time_it_is_in_the_same_places),
        cmocka_unit_test(past_its_horizon_it_is_still_and_past_its_curve_linear),
        cmocka_unit_test(told_from_its_own_time_it_is_itself),
        cmocka_unit_test(what_is_left_of_the_horizon_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
