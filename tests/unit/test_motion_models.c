// Motions: each model against the numerical integral of its own velocity, and at its edges.
#include "support.h"

#include "motion/private.h"

#define MODELS 5
static const FlModel all_models[MODELS] = {FL_MODEL_STILL, FL_MODEL_LINEAR, FL_MODEL_QUADRATIC,
                                           FL_MODEL_CIRCULAR, FL_MODEL_CUBIC};

static FlMotion random_motion(FlRandom *r, FlModel model)
{
    FlState from = random_state(r, 100.0, 20.0);
    if (model != FL_MODEL_CUBIC) {
        return fl_motion_make(model, &from);
    }
    FlState to = random_state(r, 100.0, 20.0);
    to.time = from.time + random_time(r, FL_MS(50), FL_SEC(10));
    return fl__motion_cubic(&from, &to);
}

// ---------------------------------------------------------------- position and velocity agree

// The integral of the velocity over [from, to], by Simpson's rule: exact for polynomials up to the
// third degree, and with steps of a hundredth of a radian for arcs too, to 1e-9.
static FlVec3 summed_velocity(const FlMotion *m, FlTime from, FlTime to)
{
    const int32_t steps = 2000; // even
    FlVec3 sum = fl_vec3(0.0, 0.0, 0.0);
    FlTime step = (to - from) / steps;
    for (int32_t i = 0; i <= steps; i++) {
        double weight = i == 0 || i == steps ? 1.0 : i % 2 == 1 ? 4.0 : 2.0;
        sum = fl_vec3_add_scaled(sum, fl__motion_velocity(m, from + step * i), weight);
    }
    return fl_vec3_scale(sum, (double)(step * steps) / 1e9 / (3.0 * steps));
}

static void check_position_sums_velocity(const FlMotion *m, FlTime from, FlTime to)
{
    to = from + (to - from) / 2000 * 2000;
    FlVec3 way = fl_vec3_sub(fl_motion_position(m, to), fl_motion_position(m, from));
    check_vec3_near(way, summed_velocity(m, from, to), 1e-9);
}

static void position_is_the_sum_of_velocity_after_the_start(void **state)
{
    (void)state;
    FlRandom r = random_stream(40);
    for (int32_t i = 0; i < CASES(1000); i++) {
        FlMotion m = random_motion(&r, all_models[i % MODELS]);
        FlTime end = m.model == FL_MODEL_CUBIC ? m.time + m.curve_ns : m.time + FL_SEC(5);
        check_position_sums_velocity(&m, m.time, end);
        check_position_sums_velocity(&m, end, end + FL_SEC(5));
    }
}

static void position_is_the_sum_of_velocity_before_the_start(void **state)
{
    (void)state;
    FlRandom r = random_stream(41);
    for (int32_t i = 0; i < CASES(1000); i++) {
        FlMotion m = random_motion(&r, all_models[i % MODELS]);
        check_position_sums_velocity(&m, m.time - FL_SEC(5), m.time);
    }
}

static void slope_of_position_is_velocity(void **state)
{
    (void)state;
    FlRandom r = random_stream(42);
    const FlTime h = FL_US(500);
    for (int32_t i = 0; i < CASES(200000); i++) {
        FlMotion m = random_motion(&r, all_models[i % MODELS]);
        FlTime t = m.time + random_time(&r, -FL_SEC(15), FL_SEC(15));
        FlTime edges[2] = {m.time, m.time + m.curve_ns};
        for (int32_t e = 0; e < 2; e++) { // where a cubic's slope has a corner, look beside it
            t = llabs(t - edges[e]) <= h ? edges[e] + 2 * h : t;
        }
        FlVec3 rise = fl_vec3_sub(fl_motion_position(&m, t + h), fl_motion_position(&m, t - h));
        FlVec3 slope = fl_vec3_scale(rise, 1e9 / (double)(2 * h));
        // A symmetric quotient is off by h^2/6 of the third derivative.
        double third = fl_vec3_length(m.jerk) + fl_vec3_length(m.velocity) * 9.0;
        check_vec3_near(slope, fl__motion_velocity(&m, t), third * 5e-8 + 1e-9);
    }
}

static void velocity_and_position_at_the_start_are_the_states(void **state)
{
    (void)state;
    FlRandom r = random_stream(43);
    for (int32_t i = 0; i < CASES(20000); i++) {
        FlState s = random_state(&r, 1e6, 1e3);
        s.facing = fl_facing_yaw(1.0, 2.0);
        for (int32_t k = 0; k < 4; k++) {
            FlMotion m = fl_motion_make(all_models[k], &s);
            assert_true(same_vec3(fl_motion_position(&m, s.time), s.position));
            FlVec3 v = k == 0 ? fl_vec3(0.0, 0.0, 0.0) : s.velocity;
            assert_true(same_vec3(fl__motion_velocity(&m, s.time), v));
            assert_true(m.time == s.time && m.horizon_ns == FL_FOREVER);
            assert_true(m.facing.kind == FL_FACING_YAW && m.facing.yaw == 1.0);
        }
    }
}

static void fields_that_a_model_does_not_use_are_zero(void **state)
{
    (void)state;
    FlRandom r = random_stream(44);
    FlState s = random_state(&r, 10.0, 10.0);
    for (int32_t k = 0; k < 4; k++) {
        FlMotion m = fl_motion_make(all_models[k], &s);
        FlModel model = all_models[k];
        FlVec3 zero = fl_vec3(0.0, 0.0, 0.0);
        assert_true(same_vec3(m.velocity, model == FL_MODEL_STILL ? zero : s.velocity));
        assert_true(same_vec3(m.acceleration, model == FL_MODEL_QUADRATIC ? s.acceleration : zero));
        assert_true(m.turn_rate == (model == FL_MODEL_CIRCULAR ? s.turn_rate : 0.0));
        assert_true(same_vec3(m.jerk, zero) && m.curve_ns == 0);
    }
}

// ---------------------------------------------------------------- circular

// The arc in long double, from the textbook: the displacement is v*t led by sin(phi)/phi along and
// (1-cos(phi))/phi across. Small angles by their series.
static void arc_reference(const FlMotion *m, FlTime time, long double *x, long double *y)
{
    long double t = ((long double)time - (long double)m->time) / 1e9L;
    long double phi = (long double)m->turn_rate * t;
    long double along, across;
    if (fabsl(phi) < 1e-3L) {
        along = 1.0L - phi * phi / 6.0L * (1.0L - phi * phi / 20.0L * (1.0L - phi * phi / 42.0L));
        across =
            phi / 2.0L *
            (1.0L - phi * phi / 12.0L * (1.0L - phi * phi / 30.0L * (1.0L - phi * phi / 56.0L)));
    } else {
        along = sinl(phi) / phi;
        across = (1.0L - cosl(phi)) / phi;
    }
    long double vx = (long double)m->velocity.x, vy = (long double)m->velocity.y;
    *x = (long double)m->position.x + (vx * along - vy * across) * t;
    *y = (long double)m->position.y + (vy * along + vx * across) * t;
}

static void arcs_are_exact_for_every_turn_rate_down_to_nothing(void **state)
{
    (void)state;
    FlRandom r = random_stream(45);
    Worst worst = {0};
    for (int32_t i = 0; i < CASES(200000); i++) {
        FlState s = random_state(&r, 100.0, 20.0);
        s.turn_rate = random_scale(&r, i % 2 == 0 ? -323.0 : -10.0, 2.0);
        FlMotion m = fl_motion_make(FL_MODEL_CIRCULAR, &s);
        FlTime span = random_span(&r, 0.0, 11.0) * (random_chance(&r, 2) ? 1 : -1);
        FlVec3 p = fl_motion_position(&m, m.time + span);
        long double x, y;
        arc_reference(&m, m.time + span, &x, &y);
        double t = fabs((double)span) * 1e-9;
        // What the rounding of phi = rate * t may turn, on top of the rounding of the sum.
        double phi = fabs(s.turn_rate) * t;
        double way = fl_vec3_length(s.velocity) * fmin(t, 2.0 / fabs(s.turn_rate));
        double unit = DBL_EPSILON * (fl_vec3_length(s.position) + way * (1.0 + phi));
        worst_note(&worst, (double)fabsl((long double)p.x - x) / unit, i);
        worst_note(&worst, (double)fabsl((long double)p.y - y) / unit, i);
    }
    check_worst(&worst, 4.0, "arc, epsilons of its own size");
}

static void no_turn_rate_at_all_is_the_straight_line_to_the_bit(void **state)
{
    (void)state;
    FlRandom r = random_stream(46);
    for (int32_t i = 0; i < CASES(50000); i++) {
        FlState s = random_state(&r, 100.0, 20.0);
        s.turn_rate = random_chance(&r, 2) ? 0.0 : -0.0;
        FlMotion arc = fl_motion_make(FL_MODEL_CIRCULAR, &s);
        FlMotion line = fl_motion_make(FL_MODEL_LINEAR, &s);
        FlTime t = s.time + random_time(&r, -FL_SEC(100), FL_SEC(100));
        assert_true(same_vec3(fl_motion_position(&arc, t), fl_motion_position(&line, t)));
        assert_true(same_vec3(fl__motion_velocity(&arc, t), fl__motion_velocity(&line, t)));
    }
}

// Through all sizes of turn rate the way to the straight line shrinks with it and never jumps.
static void position_goes_over_to_the_straight_line_without_a_jump(void **state)
{
    (void)state;
    FlRandom r = random_stream(47);
    for (int32_t i = 0; i < CASES(300); i++) {
        FlState s = random_state(&r, 1.0, 20.0);
        FlTime t = s.time + random_span(&r, 6.0, 11.0);
        double seconds = (double)(t - s.time) / 1e9;
        double way = fl_vec3_length(s.velocity) * seconds;
        FlMotion line = fl_motion_make(FL_MODEL_LINEAR, &s);
        FlVec3 straight = fl_motion_position(&line, t);
        double size = fl_vec3_length(s.position) + way;
        for (double power = -3.0; power > -324.0; power -= 0.25) {
            s.turn_rate = pow(10.0, power);
            FlMotion arc = fl_motion_make(FL_MODEL_CIRCULAR, &s);
            double apart = fl_vec3_distance(fl_motion_position(&arc, t), straight);
            assert_true(apart <= 0.51 * s.turn_rate * seconds * way + 2.0 * DBL_EPSILON * size);
            FlVec3 turned = fl__motion_velocity(&arc, t);
            double turn = fl_vec3_distance(turned, s.velocity) / fl_vec3_length(s.velocity);
            assert_true(turn <= 1.01 * s.turn_rate * seconds + 4.0 * DBL_EPSILON);
        }
    }
}

static void arc_keeps_speed_and_its_distance_from_the_centre(void **state)
{
    (void)state;
    FlRandom r = random_stream(48);
    for (int32_t i = 0; i < CASES(50000); i++) {
        FlState s = random_state(&r, 100.0, 20.0);
        s.turn_rate = random_scale(&r, -1.0, 1.0);
        FlMotion m = fl_motion_make(FL_MODEL_CIRCULAR, &s);
        FlVec3 centre = fl_vec3(s.position.x - s.velocity.y / s.turn_rate,
                                s.position.y + s.velocity.x / s.turn_rate, s.position.z);
        double radius = hypot(s.velocity.x, s.velocity.y) / fabs(s.turn_rate);
        FlTime t = s.time + random_time(&r, -FL_SEC(100), FL_SEC(100));
        FlVec3 p = fl_motion_position(&m, t), v = fl__motion_velocity(&m, t);
        check_near(hypot(p.x - centre.x, p.y - centre.y), radius, 1e-11 + 1e-12 * radius);
        check_near(hypot(v.x, v.y), hypot(s.velocity.x, s.velocity.y), 1e-13);
        check_near(p.z, s.position.z + s.velocity.z * ((double)(t - s.time) / 1e9), 1e-11);
        check_near(v.z, s.velocity.z, 0.0);
        // Counter-clockwise seen from above if the rate is positive.
        FlVec3 soon = fl__motion_velocity(&m, s.time + FL_MS(10));
        double cross = s.velocity.x * soon.y - s.velocity.y * soon.x;
        assert_true(cross * s.turn_rate > 0.0);
    }
}

// A tank that backs up turns its nose one way and its way the same: velocity stays opposite to yaw.
static void reversing_keeps_the_velocity_opposite_to_the_heading(void **state)
{
    (void)state;
    FlRandom r = random_stream(49);
    for (int32_t i = 0; i < CASES(50000); i++) {
        double yaw = fl_random_between(&r, -3.0, 3.0);
        double rate = fl_random_between(&r, -3.0, 3.0);
        double speed = fl_random_between(&r, 0.1, 25.0);
        FlState s = {.position = random_vec3(&r, 50.0), .turn_rate = rate};
        s.velocity = fl_vec3(-speed * fl__cos(yaw), -speed * fl__sin(yaw), 0.0);
        s.facing = fl_facing_yaw(yaw, rate);
        FlMotion m = fl_motion_make(FL_MODEL_CIRCULAR, &s);
        FlTime t = random_time(&r, 0, FL_SEC(20));
        FlPose pose = fl_motion_pose(&m, t);
        FlVec3 behind = fl_vec3(-speed * cos(pose.yaw), -speed * sin(pose.yaw), 0.0);
        check_vec3_near(pose.velocity, behind, 1e-11);
        FlVec3 nose = fl__quat_rotate(pose.rotation, fl_vec3(1.0, 0.0, 0.0));
        check_vec3_near(fl_vec3_scale(nose, -speed), pose.velocity, 1e-11);
    }
}

// ---------------------------------------------------------------- quadratic and cubic

static void ballistic_shot_flies_the_parabola(void **state)
{
    (void)state;
    FlRandom r = random_stream(50);
    for (int32_t i = 0; i < CASES(50000); i++) {
        FlState s = random_state(&r, 100.0, 200.0);
        s.acceleration = fl_vec3(0.0, 0.0, -9.81);
        FlMotion m = fl_motion_make(FL_MODEL_QUADRATIC, &s);
        FlTime span = random_time(&r, -FL_SEC(30), FL_SEC(30));
        double t = (double)span / 1e9;
        FlVec3 p = fl_motion_position(&m, s.time + span);
        check_near(p.x, s.position.x + s.velocity.x * t, 1e-11);
        check_near(p.z, s.position.z + s.velocity.z * t - 0.5 * 9.81 * t * t, 1e-11);
    }
}

static void cubic_meets_both_states_in_position_and_velocity(void **state)
{
    (void)state;
    FlRandom r = random_stream(51);
    for (int32_t i = 0; i < CASES(100000); i++) {
        FlState from = random_state(&r, 100.0, 20.0), to = random_state(&r, 100.0, 20.0);
        to.time = from.time + random_span(&r, 5.0, 12.0);
        double seconds = (double)(to.time - from.time) / 1e9;
        FlMotion m = fl__motion_cubic(&from, &to);
        assert_true(m.model == FL_MODEL_CUBIC && m.curve_ns == to.time - from.time);
        assert_true(same_vec3(fl_motion_position(&m, from.time), from.position));
        assert_true(same_vec3(fl__motion_velocity(&m, from.time), from.velocity));
        double size = 300.0 + 60.0 * seconds;
        check_vec3_near(fl_motion_position(&m, to.time), to.position, 1e-14 * size);
        check_vec3_near(fl__motion_velocity(&m, to.time), to.velocity, 2e-14 * size / seconds);
    }
}

static void cubic_is_straight_before_and_after_its_curve(void **state)
{
    (void)state;
    FlRandom r = random_stream(52);
    for (int32_t i = 0; i < CASES(50000); i++) {
        FlState from = random_state(&r, 100.0, 20.0), to = random_state(&r, 100.0, 20.0);
        to.time = from.time + random_time(&r, FL_MS(100), FL_SEC(10));
        FlMotion m = fl__motion_cubic(&from, &to);
        FlTime away = random_time(&r, 0, FL_SEC(100));
        double s = (double)away / 1e9;
        check_vec3_near(fl_motion_position(&m, to.time + away),
                        fl_vec3_add_scaled(to.position, to.velocity, s), 1e-10 + 1e-11 * s);
        check_vec3_near(fl__motion_velocity(&m, to.time + away), to.velocity, 1e-11);
        check_vec3_near(fl_motion_position(&m, from.time - away),
                        fl_vec3_add_scaled(from.position, from.velocity, -s), 1e-11);
        assert_true(same_vec3(fl__motion_velocity(&m, from.time - away), from.velocity));
        // No step at the joints: a nanosecond to either side is a nanosecond's way.
        for (int32_t e = 0; e < 2; e++) {
            FlTime joint = e == 0 ? from.time : to.time;
            FlVec3 before = fl_motion_position(&m, joint - 1);
            FlVec3 after = fl_motion_position(&m, joint + 1);
            assert_true(fl_vec3_distance(before, after) < 1e-9 * 100.0 + 1e-12);
        }
    }
}

static void cubic_to_a_state_that_is_not_later_is_linear(void **state)
{
    (void)state;
    FlRandom r = random_stream(53);
    for (int32_t i = 0; i < 100; i++) {
        FlState from = random_state(&r, 100.0, 20.0), to = random_state(&r, 100.0, 20.0);
        to.time = from.time - (i % 2 == 0 ? 0 : i);
        FlMotion m = fl__motion_cubic(&from, &to);
        assert_true(m.model == FL_MODEL_LINEAR && m.time == from.time);
        FlMotion line = fl_motion_make(FL_MODEL_LINEAR, &from);
        FlTime t = from.time + FL_SEC(i);
        assert_true(same_vec3(fl_motion_position(&m, t), fl_motion_position(&line, t)));
    }
}

// A cubic between two states of one parabola, line or cubic is that curve itself.
static void cubic_between_two_states_of_a_parabola_is_the_parabola(void **state)
{
    (void)state;
    FlRandom r = random_stream(54);
    for (int32_t i = 0; i < CASES(50000); i++) {
        FlState s = random_state(&r, 100.0, 20.0);
        FlMotion parabola = fl_motion_make(FL_MODEL_QUADRATIC, &s);
        FlState to = {.time = s.time + random_time(&r, FL_MS(100), FL_SEC(5))};
        to.position = fl_motion_position(&parabola, to.time);
        to.velocity = fl__motion_velocity(&parabola, to.time);
        FlMotion m = fl__motion_cubic(&s, &to);
        FlTime t = random_time(&r, s.time, to.time);
        check_vec3_near(fl_motion_position(&m, t), fl_motion_position(&parabola, t), 1e-11);
    }
}

// ---------------------------------------------------------------- horizon

static void motion_stands_still_from_its_horizon_on_without_a_jump(void **state)
{
    (void)state;
    FlRandom r = random_stream(55);
    for (int32_t i = 0; i < CASES(50000); i++) {
        FlMotion free = random_motion(&r, all_models[i % MODELS]);
        free.facing = fl_facing_yaw(0.3, 2.0);
        FlMotion m = free;
        m.horizon_ns = random_time(&r, 0, FL_SEC(12));
        FlTime end = m.time + m.horizon_ns;
        FlVec3 stop = fl_motion_position(&free, end);
        FlTime later = end + random_time(&r, 0, FL_SEC(100));
        assert_true(same_vec3(fl_motion_position(&m, end), stop));
        assert_true(same_vec3(fl_motion_position(&m, later), stop));
        check_vec3_near(fl__motion_velocity(&m, later), fl_vec3(0.0, 0.0, 0.0), 0.0);
        check_near(fl__motion_facing(&m, later).yaw, fl__motion_facing(&free, end).yaw, 0.0);
        // Before it nothing is different, and it is met without a step.
        FlTime earlier = end - 1 - random_time(&r, 0, FL_SEC(20));
        assert_true(same_vec3(fl_motion_position(&m, earlier), fl_motion_position(&free, earlier)));
        assert_true(
            same_vec3(fl__motion_velocity(&m, earlier), fl__motion_velocity(&free, earlier)));
        double step = fl_vec3_distance(fl_motion_position(&m, end - 1), stop);
        double speed = fl_vec3_length(fl__motion_velocity(&free, end));
        assert_true(step <= 1.1e-9 * speed + 1e-12);
    }
}

static void motion_without_a_horizon_never_stops(void **state)
{
    (void)state;
    FlState s = {.time = -FL_SEC(1), .velocity = {1.0, 0.0, 0.0}};
    FlMotion m = fl_motion_make(FL_MODEL_LINEAR, &s);
    check_near(fl__motion_velocity(&m, INT64_MAX - FL_SEC(2)).x, 1.0, 0.0);
    check_near(fl__motion_velocity(&m, INT64_MAX).x, 1.0, 0.0);
}

// ---------------------------------------------------------------- facing

static void yaw_turns_at_its_rate_and_free_spin_like_many_small_turns(void **state)
{
    (void)state;
    FlRandom r = random_stream(56);
    for (int32_t i = 0; i < CASES(200); i++) {
        FlVec3 spin = random_vec3(&r, 4.0);
        FlFacing start = fl_facing_free(random_quat(&r), spin);
        double seconds = fl_random_between(&r, -3.0, 3.0);
        const int32_t steps = 1000;
        FlQuat q = start.rotation;
        double dt = seconds / steps;
        // Each small turn as (1, w dt/2), made a unit again: wrong by dt^3 |w|^3 / 12 per step.
        FlQuat small = {1.0, 0.5 * dt * spin.x, 0.5 * dt * spin.y, 0.5 * dt * spin.z};
        small = fl__quat_normalise(small);
        for (int32_t k = 0; k < steps; k++) {
            q = fl__quat_multiply(small, q);
        }
        FlFacing after = fl__facing_after(&start, seconds);
        double turn = fl_vec3_length(spin) * fabs(dt);
        check_near(fl__quat_angle(q, after.rotation), 0.0, steps * turn * turn * turn / 10.0);
        FlFacing back = fl__facing_after(&after, -seconds);
        check_near(fl__quat_angle(back.rotation, start.rotation), 0.0, 1e-14);
        FlFacing yaw = fl_facing_yaw(1.0, spin.z);
        check_near(fl__facing_after(&yaw, seconds).yaw, 1.0 + spin.z * seconds, 1e-15);
        FlFacing none = fl_facing_none();
        assert_true(fl__facing_after(&none, seconds).kind == FL_FACING_NONE);
    }
}

static void facing_of_a_motion_follows_its_time(void **state)
{
    (void)state;
    FlRandom r = random_stream(57);
    for (int32_t i = 0; i < CASES(20000); i++) {
        FlState s = random_state(&r, 10.0, 10.0);
        s.facing = fl_facing_free(random_quat(&r), random_vec3(&r, 3.0));
        FlMotion m = fl_motion_make(all_models[i % 4], &s);
        FlTime t = s.time + random_time(&r, -FL_SEC(10), FL_SEC(10));
        FlFacing want = fl__facing_after(&s.facing, fl_span_seconds(t - s.time));
        FlPose pose = fl_motion_pose(&m, t);
        check_near(fl__quat_angle(pose.rotation, want.rotation), 0.0, 1e-14);
        check_near(pose.yaw, fl__quat_yaw(want.rotation), 1e-15);
        assert_true(same_vec3(pose.position, fl_motion_position(&m, t)));
        assert_true(same_vec3(pose.velocity, fl__motion_velocity(&m, t)));
        double length = pose.rotation.w * pose.rotation.w + pose.rotation.x * pose.rotation.x +
                        pose.rotation.y * pose.rotation.y + pose.rotation.z * pose.rotation.z;
        check_near(length, 1.0, 1e-14);
    }
}

static void pose_of_what_has_no_facing_looks_along_x(void **state)
{
    (void)state;
    FlState s = {.velocity = {1.0, 2.0, 3.0}};
    FlMotion m = fl_motion_make(FL_MODEL_LINEAR, &s);
    FlPose pose = fl_motion_pose(&m, FL_SEC(1));
    assert_true(pose.yaw == 0.0 && pose.rotation.w == 1.0 && pose.rotation.z == 0.0);
}

static void angle_between_facings_wraps_and_mixes_kinds(void **state)
{
    (void)state;
    FlRandom r = random_stream(58);
    FlFacing none = fl_facing_none();
    for (int32_t i = 0; i < CASES(50000); i++) {
        double a = fl_random_between(&r, -30.0, 30.0), b = fl_random_between(&r, -30.0, 30.0);
        FlFacing ya = fl_facing_yaw(a, 0.0), yb = fl_facing_yaw(b, 0.0);
        FlFacing fb = fl_facing_free(fl__quat_from_yaw(b), fl_vec3(0.0, 0.0, 0.0));
        double want = acos(fmin(1.0, fmax(-1.0, cos(a - b))));
        check_near(fl__facing_angle(&ya, &yb), want, 2e-8); // acos is blunt at its ends
        check_near(fl__facing_angle(&ya, &fb), fl__facing_angle(&ya, &yb), 1e-13);
        check_near(fl__facing_angle(&yb, &ya), fl__facing_angle(&ya, &yb), 1e-14);
        check_near(fl__facing_angle(&ya, &none), 0.0, 0.0);
        check_near(fl__facing_angle(&none, &fb), 0.0, 0.0);
    }
    FlFacing just_below = fl_facing_yaw(FL_PI - 0.01, 0.0);
    FlFacing just_above = fl_facing_yaw(-FL_PI + 0.01, 0.0);
    check_near(fl__facing_angle(&just_below, &just_above), 0.02, 1e-14);
}

// ---------------------------------------------------------------- names and edges

static void models_are_found_by_their_words(void **state)
{
    (void)state;
    const char *words[] = {"still", "linear", "quadratic", "circular", "cubic", "auto"};
    for (int32_t i = 0; i < 6; i++) {
        FlModel model = FL_MODEL_AUTO;
        assert_int_equal(fl__model_find(words[i], &model), FL_OK);
        assert_int_equal(model, i);
        assert_string_equal(fl__model_name(model), words[i]);
    }
    const char *wrong[] = {"", "Linear", "linear ", "lin", "circle"};
    for (int32_t i = 0; i < 5; i++) {
        FlModel model = FL_MODEL_AUTO;
        assert_int_equal(fl__model_find(wrong[i], &model), FL_NOT_FOUND);
        assert_int_equal(model, FL_MODEL_STILL); // outputs are emptied first
    }
}

static void the_ends_of_time_give_finite_places(void **state)
{
    (void)state;
    FlRandom r = random_stream(59);
    const FlTime ends[] = {INT64_MIN, INT64_MIN + 1, 0, INT64_MAX - 1, INT64_MAX};
    for (int32_t i = 0; i < CASES(2000); i++) {
        FlMotion m = random_motion(&r, all_models[i % MODELS]);
        m.facing = fl_facing_free(random_quat(&r), random_vec3(&r, 1.0));
        for (size_t a = 0; a < 5; a++) {
            m.time = ends[a];
            for (size_t b = 0; b < 5; b++) {
                FlPose pose = fl_motion_pose(&m, ends[b]);
                assert_true(fl_vec3_finite(pose.position) && fl_vec3_finite(pose.velocity));
                assert_true(fl__quat_finite(pose.rotation));
                m.horizon_ns = FL_SEC(1);
                assert_true(fl_vec3_finite(fl_motion_position(&m, ends[b])));
                m.horizon_ns = FL_FOREVER;
            }
        }
    }
    FlState early = {.time = INT64_MIN}, late = {.time = INT64_MAX, .position = {1.0, 0.0, 0.0}};
    FlMotion cubic = fl__motion_cubic(&early, &late);
    assert_true(fl__motion_finite(&cubic));
    assert_true(fl_vec3_finite(fl_motion_position(&cubic, 0)));
}

static void what_is_not_finite_is_told_and_stays_nan(void **state)
{
    (void)state;
    FlRandom r = random_stream(60);
    const double odd[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t o = 0; o < 3; o++) {
        FlState good = random_state(&r, 10.0, 10.0);
        assert_true(fl__state_finite(&good));
        FlState bad[9];
        for (size_t k = 0; k < 9; k++) {
            bad[k] = good;
        }
        bad[0].position.x = odd[o];
        bad[1].position.z = odd[o];
        bad[2].velocity.y = odd[o];
        bad[3].acceleration.x = odd[o];
        bad[4].turn_rate = odd[o];
        bad[5].facing = fl_facing_yaw(odd[o], 0.0);
        bad[6].facing = fl_facing_yaw(0.0, odd[o]);
        bad[7].facing = fl_facing_free(fl__quat_identity(), fl_vec3(0.0, odd[o], 0.0));
        FlQuat broken = {1.0, odd[o], 0.0, 0.0};
        bad[8].facing = fl_facing_free(broken, fl_vec3(0.0, 0.0, 0.0));
        for (size_t k = 0; k < 9; k++) {
            assert_false(fl__state_finite(&bad[k]));
        }
        FlMotion circular = fl_motion_make(FL_MODEL_CIRCULAR, &bad[4]);
        assert_false(fl__motion_finite(&circular));
        FlVec3 p = fl_motion_position(&circular, good.time + FL_SEC(1));
        assert_true(isnan(p.x) && isnan(p.y) && isfinite(p.z));
        FlMotion linear = fl_motion_make(FL_MODEL_LINEAR, &bad[4]);
        assert_true(fl__motion_finite(&linear)); // a line has no turn rate
        FlMotion quadratic = fl_motion_make(FL_MODEL_QUADRATIC, &bad[3]);
        assert_false(fl__motion_finite(&quadratic));
    }
    FlState s = random_state(&r, 10.0, 10.0);
    FlMotion m = fl_motion_make(FL_MODEL_LINEAR, &s);
    m.velocity.x = (double)NAN;
    assert_true(isnan(fl_motion_position(&m, s.time + 5).x));
    assert_true(isfinite(fl_motion_position(&m, s.time + 5).y));
}

static void golden_hash_of_places_is_the_same_in_every_build(void **state)
{
    (void)state;
    FlRandom r = random_stream(61);
    Hash hash = hash_start();
    for (int32_t i = 0; i < 20000; i++) { // not CASES: the hash must not know about sanitizers
        FlMotion m = random_motion(&r, all_models[i % MODELS]);
        m.facing = i % 2 == 0 ? fl_facing_yaw(m.position.x, m.turn_rate)
                              : fl_facing_free(random_quat(&r), m.velocity);
        m.horizon_ns = i % 3 == 0 ? FL_SEC(4) : FL_FOREVER;
        FlPose pose = fl_motion_pose(&m, m.time + random_time(&r, -FL_SEC(10), FL_SEC(10)));
        hash_vec3(&hash, pose.position);
        hash_vec3(&hash, pose.velocity);
        hash_double(&hash, pose.yaw);
        hash_double(&hash, pose.rotation.w);
        hash_vec3(&hash, fl_vec3(pose.rotation.x, pose.rotation.y, pose.rotation.z));
    }
    check_hash(hash, UINT64_C(0x5facf134d034d067));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(position_is_the_sum_of_velocity_after_the_start),
        cmocka_unit_test(position_is_the_sum_of_velocity_before_the_start),
        cmocka_unit_test(slope_of_position_is_velocity),
        cmocka_unit_test(velocity_and_position_at_the_start_are_the_states),
        cmocka_unit_test(fields_that_a_model_does_not_use_are_zero),
        cmocka_unit_test(arcs_are_exact_for_every_turn_rate_down_to_nothing),
        cmocka_unit_test(no_turn_rate_at_all_is_the_straight_line_to_the_bit),
        cmocka_unit_test(position_goes_over_to_the_straight_line_without_a_jump),
        cmocka_unit_test(arc_keeps_speed_and_its_distance_from_the_centre),
        cmocka_unit_test(reversing_keeps_the_velocity_opposite_to_the_heading),
        cmocka_unit_test(ballistic_shot_flies_the_parabola),
        cmocka_unit_test(cubic_meets_both_states_in_position_and_velocity),
        cmocka_unit_test(cubic_is_straight_before_and_after_its_curve),
        cmocka_unit_test(cubic_to_a_state_that_is_not_later_is_linear),
        cmocka_unit_test(cubic_between_two_states_of_a_parabola_is_the_parabola),
        cmocka_unit_test(motion_stands_still_from_its_horizon_on_without_a_jump),
        cmocka_unit_test(motion_without_a_horizon_never_stops),
        cmocka_unit_test(yaw_turns_at_its_rate_and_free_spin_like_many_small_turns),
        cmocka_unit_test(facing_of_a_motion_follows_its_time),
        cmocka_unit_test(pose_of_what_has_no_facing_looks_along_x),
        cmocka_unit_test(angle_between_facings_wraps_and_mixes_kinds),
        cmocka_unit_test(models_are_found_by_their_words),
        cmocka_unit_test(the_ends_of_time_give_finite_places),
        cmocka_unit_test(what_is_not_finite_is_told_and_stays_nan),
        cmocka_unit_test(golden_hash_of_places_is_the_same_in_every_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
