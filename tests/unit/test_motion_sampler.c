// Velocity, acceleration and turn rate from what was seen: exact for the motions they describe.
#include "support.h"

#include "motion/motion.h"

static FlState sample(FlTime time, FlVec3 position)
{
    FlState state = {.time = time, .position = position};
    return state;
}

static void first_sample_stands_and_the_second_moves(void **state)
{
    (void)state;
    FlSampler sampler = {0};
    FlState first = sample(FL_SEC(1), fl_vec3(1.0, 2.0, 3.0));
    first.velocity = fl_vec3(9.0, 9.0, 9.0); // what was in there does not matter
    first.turn_rate = 9.0;
    assert_int_equal(fl_sampler_add(&sampler, &first, false), FL_OK);
    check_vec3_near(first.velocity, fl_vec3(0.0, 0.0, 0.0), 0.0);
    check_near(first.turn_rate, 0.0, 0.0);
    FlState second = sample(FL_MS(1500), fl_vec3(2.0, 0.0, 3.0));
    assert_int_equal(fl_sampler_add(&sampler, &second, false), FL_OK);
    check_vec3_near(second.velocity, fl_vec3(2.0, -4.0, 0.0), 0.0);
    check_vec3_near(second.acceleration, fl_vec3(0.0, 0.0, 0.0), 0.0);
    check_near(second.turn_rate, 0.0, 0.0);
}

// Frames of any length, as a game has them.
static FlTime next_frame(FlRandom *r, FlTime time)
{
    return time + random_time(r, FL_MS(5), FL_MS(40));
}

static void constant_velocity_is_found_whatever_the_frames(void **state)
{
    (void)state;
    FlRandom r = random_stream(120);
    for (int32_t i = 0; i < CASES(5000); i++) {
        FlState truth = random_state(&r, 100.0, 20.0);
        FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, &truth);
        FlSampler sampler = {0};
        FlTime time = truth.time;
        for (int32_t k = 0; k < 8; k++) {
            FlState s = sample(time, fl_motion_position(&motion, time));
            assert_int_equal(fl_sampler_add(&sampler, &s, false), FL_OK);
            if (k >= 1) {
                check_vec3_near(s.velocity, truth.velocity, 1e-11);
                check_vec3_near(s.acceleration, fl_vec3(0.0, 0.0, 0.0), 1e-8);
                check_near(s.turn_rate, 0.0, k == 1 ? 0.0 : 1e-6);
            }
            time = next_frame(&r, time);
        }
    }
}

// The velocity between two samples is that of the middle of the interval, to the digit; and with
// middles as far apart as they are, so is the acceleration.
static void constant_acceleration_is_found_whatever_the_frames(void **state)
{
    (void)state;
    FlRandom r = random_stream(121);
    for (int32_t i = 0; i < CASES(5000); i++) {
        FlState truth = random_state(&r, 100.0, 20.0);
        FlMotion motion = fl_motion_make(FL_MODEL_QUADRATIC, &truth);
        FlSampler sampler = {0};
        FlTime time = truth.time, before = time;
        for (int32_t k = 0; k < 8; k++) {
            FlState s = sample(time, fl_motion_position(&motion, time));
            assert_int_equal(fl_sampler_add(&sampler, &s, false), FL_OK);
            if (k >= 1) {
                FlVec3 middle = fl__motion_velocity(&motion, before + (time - before) / 2);
                check_vec3_near(s.velocity, middle, 1e-7);
            }
            if (k >= 2) {
                check_vec3_near(s.acceleration, truth.acceleration, 1e-7);
            }
            before = time;
            time = next_frame(&r, time);
        }
    }
}

static void constant_turn_rate_is_found_whatever_the_frames(void **state)
{
    (void)state;
    FlRandom r = random_stream(122);
    for (int32_t i = 0; i < CASES(5000); i++) {
        FlState truth = random_state(&r, 100.0, 20.0);
        truth.velocity.x += truth.velocity.x < 0.0 ? -1.0 : 1.0; // moving at all
        FlMotion motion = fl_motion_make(FL_MODEL_CIRCULAR, &truth);
        FlSampler sampler = {0};
        FlTime time = truth.time;
        for (int32_t k = 0; k < 8; k++) {
            FlState s = sample(time, fl_motion_position(&motion, time));
            assert_int_equal(fl_sampler_add(&sampler, &s, false), FL_OK);
            if (k >= 2) {
                check_near(s.turn_rate, truth.turn_rate, 1e-7);
            }
            time = next_frame(&r, time);
        }
    }
}

static void given_velocities_are_kept_and_differentiated(void **state)
{
    (void)state;
    FlRandom r = random_stream(123);
    for (int32_t i = 0; i < CASES(5000); i++) {
        FlState truth = random_state(&r, 100.0, 20.0);
        truth.velocity.x += truth.velocity.x < 0.0 ? -1.0 : 1.0;
        FlMotion arc = fl_motion_make(FL_MODEL_CIRCULAR, &truth);
        FlMotion parabola = fl_motion_make(FL_MODEL_QUADRATIC, &truth);
        FlSampler turning = {0}, speeding = {0};
        FlTime time = truth.time;
        for (int32_t k = 0; k < 6; k++) {
            FlState s = sample(time, fl_motion_position(&arc, time));
            s.velocity = fl__motion_velocity(&arc, time);
            FlVec3 given = s.velocity;
            assert_int_equal(fl_sampler_add(&turning, &s, true), FL_OK);
            assert_true(same_vec3(s.velocity, given));
            check_near(s.turn_rate, k == 0 ? 0.0 : truth.turn_rate, 1e-10);
            s = sample(time, fl_motion_position(&parabola, time));
            s.velocity = fl__motion_velocity(&parabola, time);
            assert_int_equal(fl_sampler_add(&speeding, &s, true), FL_OK);
            FlVec3 want = k == 0 ? fl_vec3(0.0, 0.0, 0.0) : truth.acceleration;
            check_vec3_near(s.acceleration, want, 1e-10);
            time = next_frame(&r, time);
        }
    }
}

static void what_came_straight_back_did_not_turn(void **state)
{
    (void)state;
    FlSampler sampler = {0};
    const double x[] = {0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0};
    for (int32_t i = 0; i < 7; i++) {
        FlState s = sample(FL_MS(100) * i, fl_vec3(x[i], 0.0, 0.0));
        assert_int_equal(fl_sampler_add(&sampler, &s, false), FL_OK);
        check_near(s.turn_rate, 0.0, 0.0);
        assert_true(fl__state_finite(&s));
    }
}

static void a_cut_forgets_what_was_before(void **state)
{
    (void)state;
    FlSampler sampler = {0};
    for (int32_t i = 0; i < 5; i++) {
        FlState s = sample(FL_MS(100) * i, fl_vec3(i * i, 0.0, 0.0));
        assert_int_equal(fl_sampler_add(&sampler, &s, false), FL_OK);
    }
    sampler = (FlSampler){0};
    FlState born = sample(FL_MS(600), fl_vec3(1000.0, 0.0, 0.0));
    assert_int_equal(fl_sampler_add(&sampler, &born, false), FL_OK);
    check_vec3_near(born.velocity, fl_vec3(0.0, 0.0, 0.0), 0.0);
    FlState next = sample(FL_MS(700), fl_vec3(1001.0, 0.0, 0.0));
    assert_int_equal(fl_sampler_add(&sampler, &next, false), FL_OK);
    check_vec3_near(next.velocity, fl_vec3(10.0, 0.0, 0.0), 1e-12);
    check_vec3_near(next.acceleration, fl_vec3(0.0, 0.0, 0.0), 0.0); // from three samples only
    // After a cut even an earlier time is a beginning.
    sampler = (FlSampler){0};
    FlState earlier = sample(0, fl_vec3(0.0, 0.0, 0.0));
    assert_int_equal(fl_sampler_add(&sampler, &earlier, false), FL_OK);
}

static void facing_is_kept(void **state)
{
    (void)state;
    FlSampler sampler = {0};
    FlState s = sample(1, fl_vec3(0.0, 0.0, 0.0));
    s.facing = fl_facing_yaw(1.5, -0.5);
    assert_int_equal(fl_sampler_add(&sampler, &s, false), FL_OK);
    assert_true(s.facing.kind == FL_FACING_YAW && s.facing.yaw == 1.5 && s.facing.yaw_rate == -0.5);
}

static FlSampler warmed_up(void)
{
    FlSampler sampler;
    memset(&sampler, 0, sizeof sampler); // padding too: the sampler is compared byte by byte
    for (int32_t i = 0; i < 3; i++) {
        FlState s = sample(FL_MS(10) * i, fl_vec3(i, 0.0, 0.0));
        assert_int_equal(fl_sampler_add(&sampler, &s, false), FL_OK);
    }
    return sampler;
}

static void times_that_do_not_advance_are_refused_and_change_nothing(void **state)
{
    (void)state;
    FlSampler sampler = warmed_up(), before;
    memcpy(&before, &sampler, sizeof before);
    const FlTime wrong[] = {FL_MS(20), FL_MS(20) - 1, 0, INT64_MIN};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        FlState s = sample(wrong[i], fl_vec3(5.0, 5.0, 5.0));
        assert_int_equal(fl_sampler_add(&sampler, &s, false), FL_OUT_OF_ORDER);
        assert_int_equal(fl_sampler_add(&sampler, &s, true), FL_OUT_OF_ORDER);
        assert_memory_equal(&sampler, &before, sizeof sampler);
    }
}

static void what_is_not_finite_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    FlSampler sampler = warmed_up(), before;
    memcpy(&before, &sampler, sizeof before);
    const double odd[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t i = 0; i < 3; i++) {
        FlState s = sample(FL_MS(30), fl_vec3(0.0, odd[i], 0.0));
        assert_int_equal(fl_sampler_add(&sampler, &s, false), FL_BAD_VALUE);
        assert_int_equal(fl_sampler_add(&sampler, &s, true), FL_BAD_VALUE);
        s = sample(FL_MS(30), fl_vec3(0.0, 0.0, 0.0));
        s.velocity.x = odd[i];
        assert_int_equal(fl_sampler_add(&sampler, &s, true), FL_BAD_VALUE);
        s = sample(FL_MS(30), fl_vec3(0.0, 0.0, 0.0));
        s.facing = fl_facing_yaw(odd[i], 0.0);
        assert_int_equal(fl_sampler_add(&sampler, &s, false), FL_BAD_VALUE);
        assert_memory_equal(&sampler, &before, sizeof sampler);
    }
}

// A success is a state that can be used: finite, however wild the samples.
static void every_state_that_is_made_is_finite(void **state)
{
    (void)state;
    FlRandom r = random_stream(124);
    FlSampler sampler = {0};
    FlTime time = 0;
    for (int32_t i = 0; i < CASES(20000); i++) {
        double size = random_chance(&r, 10) ? 308.0 : 3.0;
        FlState s = sample(time, fl_vec3(random_scale(&r, size - 1.0, size), 0.0, 0.0));
        FlResult result = fl_sampler_add(&sampler, &s, false);
        if (result == FL_OK && !fl__state_finite(&s)) {
            print_error("x %a at %lld gave velocity %a\n", s.position.x, (long long)time,
                        s.velocity.x);
            fail();
        }
        time += random_chance(&r, 2) ? 1 : FL_MS(10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_sample_stands_and_the_second_moves),
        cmocka_unit_test(constant_velocity_is_found_whatever_the_frames),
        cmocka_unit_test(constant_acceleration_is_found_whatever_the_frames),
        cmocka_unit_test(constant_turn_rate_is_found_whatever_the_frames),
        cmocka_unit_test(given_velocities_are_kept_and_differentiated),
        cmocka_unit_test(what_came_straight_back_did_not_turn),
        cmocka_unit_test(a_cut_forgets_what_was_before),
        cmocka_unit_test(facing_is_kept),
        cmocka_unit_test(times_that_do_not_advance_are_refused_and_change_nothing),
        cmocka_unit_test(what_is_not_finite_is_refused_and_changes_nothing),
        cmocka_unit_test(every_state_that_is_made_is_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
