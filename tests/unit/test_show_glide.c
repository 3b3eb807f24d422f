// Smooth convergence: what it promises, on the bare curve and on what players see.
#include "show/private.h"

#include "lab/figures/jumps.h"
#include "support.h"

typedef struct Case {
    FlVec3 offset, velocity;
    double seconds;
    Fl__Bound bound;
} Case;

static Case random_case(FlRandom *r)
{
    Case c;
    double size = fabs(random_scale(r, -6.0, 3.0));
    double fast = fabs(random_scale(r, -4.0, 3.0));
    c.offset = random_vec3(r, size);
    c.velocity = random_vec3(r, fast);
    if (random_chance(r, 8)) {
        c.offset = fl_vec3(0.0, 0.0, 0.0);
    } else if (random_chance(r, 4)) { // straight at the goal, or away from it
        c.velocity = fl_vec3_scale(c.offset, random_scale(r, -3.0, 3.0));
    } else if (random_chance(r, 8)) {
        c.velocity = fl_vec3(0.0, 0.0, 0.0);
    }
    c.seconds = fabs(random_scale(r, -2.0, 1.0));
    double base = fabs(random_scale(r, -4.0, 3.0));
    c.bound.velocity = random_vec3(r, base);
    c.bound.limit = random_chance(r, 3) ? 0.0 : fabs(random_scale(r, -2.0, 3.0));
    c.bound.least = random_chance(r, 8) ? (double)INFINITY : fabs(random_scale(r, -2.0, 3.0));
    return c;
}

static void a_glide_starts_where_it_is_told_and_ends_at_nothing(void **state)
{
    (void)state;
    FlRandom random = random_stream(7200);
    for (int32_t i = 0; i < CASES(20000); i++) {
        Case c = random_case(&random);
        FlShowGlide glide = fl__glide_make(c.offset, c.velocity, c.seconds, &c.bound);
        double size = fl_vec3_length(c.offset) + fl_vec3_length(c.velocity) * c.seconds;
        check_vec3_near(fl__glide_offset(&glide, 0.0), c.offset, 1e-14 * size);
        check_vec3_near(fl__glide_velocity(&glide, 0.0), c.velocity, 0.0);
        FlVec3 nothing = {0.0, 0.0, 0.0};
        assert_true(same_vec3(fl__glide_offset(&glide, glide.glide_s), nothing));
        assert_true(same_vec3(fl__glide_velocity(&glide, glide.glide_s), nothing));
        double allowed = fmax(c.seconds, size / c.bound.least + 0.5 * c.seconds) * (1.0 + 1e-12);
        assert_true(glide.glide_s >= c.seconds && glide.glide_s <= allowed);
    }
}

static void its_velocity_is_the_rate_of_its_offset(void **state)
{
    (void)state;
    FlRandom random = random_stream(7201);
    Worst worst = {0};
    for (int32_t i = 0; i < CASES(20000); i++) {
        Case c = random_case(&random);
        FlShowGlide glide = fl__glide_make(c.offset, c.velocity, c.seconds, &c.bound);
        // Over a step that is small against both times, wherever it falls: breaks included.
        double at = glide.glide_s * fl_random_between(&random, 0.0, 1.1);
        at = random_chance(&random, 2) ? glide.drift_s * fl_random_between(&random, 0.0, 1.0) : at;
        double h = 1e-5 * fmin(glide.glide_s, glide.drift_s > 0.0 ? glide.drift_s : 1.0);
        if (at < h || h < 1e-7 * at) { // too small against the time itself to be told
            continue;
        }
        FlVec3 before = fl__glide_offset(&glide, at - h);
        FlVec3 after = fl__glide_offset(&glide, at + h);
        FlVec3 rate = fl_vec3_scale(fl_vec3_sub(after, before), 0.5 / h);
        FlVec3 said = fl__glide_velocity(&glide, at);
        double scale = fl_vec3_length(c.velocity);
        scale += fl_vec3_length(glide.left) / (glide.glide_s - glide.ramp_s);
        double digits = 1e-15 * fl_vec3_length(before) / h;
        worst_note(&worst, (fl_vec3_distance(rate, said) - digits) / (scale + 1e-300), i);
    }
    check_worst(&worst, 1e-7, "rates");
}

static void it_never_passes_the_goal_and_never_exceeds_its_speed(void **state)
{
    (void)state;
    FlRandom random = random_stream(7202);
    Worst beyond = {0};
    Worst speed = {0};
    for (int32_t i = 0; i < CASES(20000); i++) {
        Case c = random_case(&random);
        FlShowGlide glide = fl__glide_make(c.offset, c.velocity, c.seconds, &c.bound);
        double far = fl_vec3_length(c.offset);
        // Relative to what it joins, and in the world if that moves straight on.
        double had = fl_vec3_length(fl_vec3_add(c.velocity, c.bound.velocity));
        double joined = fl_vec3_length(c.bound.velocity);
        double bound = fmax(fmax(had, c.bound.limit), joined + c.bound.least);
        for (int32_t k = 0; k <= 100; k++) {
            double at =
                (k < 50 ? glide.drift_s : glide.glide_s) * fl_random_between(&random, 0.0, 1.0);
            FlVec3 offset = fl__glide_offset(&glide, at);
            if (far > 1e-6 * fl_vec3_length(c.velocity) * c.seconds) {
                double ahead = fl_vec3_dot(offset, c.offset) / far;
                worst_note(&beyond, -ahead / (far + fl_vec3_length(glide.left)), i);
            }
            FlVec3 moving = fl_vec3_add(fl__glide_velocity(&glide, at), c.bound.velocity);
            double fast = fl_vec3_length(moving);
            worst_note(&speed, isinf(bound) ? 0.0 : fast / bound - 1.0, i);
        }
    }
    check_worst(&beyond, 1e-12, "beyond the goal");
    check_worst(&speed, 1e-12, "above the speed");
}

// ---------------------------------------------------------------- what players see

#define TOP_SPEED 20.0

static FlUpdate random_straight(FlRandom *r, FlTime time, uint32_t life)
{
    FlState state = {.time = time};
    state.position = random_vec3(r, 5.0); // anywhere: no network could be that bad
    FlVec3 way = random_vec3(r, 1.0);
    double length = fl_vec3_length(way);
    state.velocity =
        fl_vec3_scale(way, TOP_SPEED * fl_random_between(r, 0.0, 1.0) / (length + 1e-9));
    state.facing = fl_facing_free(random_quat(r), fl_vec3(0.0, 0.0, 0.0));
    FlUpdate update = {1, life & 3u, fl_motion_make(FL_MODEL_LINEAR, &state)};
    return update;
}

static FlShowDef smooth_def(FlRandom *r)
{
    FlShowDef def = fl_show_def_default();
    def.hold = random_chance(r, 2) ? FL_HOLD_AT_ONCE : FL_HOLD_RECKONED;
    def.placement = random_chance(r, 3) ? FL_PLACEMENT_SNAP : FL_PLACEMENT_TIMESTAMPED;
    def.convergence = FL_CONVERGENCE_SMOOTH;
    def.delta_ns = random_time(r, 0, FL_MS(150));
    def.smooth_ns = random_time(r, FL_MS(30), FL_MS(400));
    def.speed_limit = TOP_SPEED * (1.0 + JUMP_TOLERANCE) * 0.999999;
    def.snap_distance = (double)INFINITY;
    return def;
}

// Frames at random times, for one life or more; the worst step over what top speed allows.
static void watch(FlRandom *r, const FlShow *show, FlTime *now, FlTime until, Jumps *jumps)
{
    while (*now < until) {
        *now += random_time(r, FL_US(10), FL_MS(30));
        *now = *now < until ? *now : until - 1;
        FlPose pose;
        if (fl_show_pose(show, *now, &pose) == FL_OK) {
            assert_true(fl_vec3_length(pose.velocity) <= TOP_SPEED * (1.0 + JUMP_TOLERANCE));
            (void)jumps_see(jumps, *now, pose.position, fl_show_life(show, *now));
        }
        *now += *now == until - 1 ? 1 : 0;
    }
}

static void with_straight_motion_no_jump_is_ever_seen(void **state)
{
    (void)state;
    FlRandom random = random_stream(7203);
    uint64_t steps = 0;
    for (int32_t i = 0; i < CASES(300); i++) {
        FlShow show;
        Jumps jumps;
        FlShowDef def = smooth_def(&random);
        fl_show_init(&show, &def);
        jumps_init(&jumps, TOP_SPEED);
        FlTime stamp = 0;
        FlTime now = 0;
        for (uint32_t k = 0; k < 60; k++) {
            stamp += random_time(&random, FL_MS(5), FL_MS(300));
            FlTime arrival = stamp + random_time(&random, 0, FL_MS(200));
            FlUpdate update = random_straight(&random, stamp, k / 20);
            watch(&random, &show, &now, arrival, &jumps);
            (void)fl_show_arrive(&show, &update, stamp, arrival);
        }
        assert_int_equal(jumps.jump_count, 0);
        steps += jumps.step_count;
    }
    print_message("             %llu steps watched\n", (unsigned long long)steps);
    assert_true(steps > 1000);
}

static void position_velocity_and_facing_do_not_break_when_an_update_comes(void **state)
{
    (void)state;
    FlRandom random = random_stream(7204);
    Worst moved = {0};
    Worst changed = {0};
    Worst turned = {0};
    for (int32_t i = 0; i < CASES(3000); i++) {
        FlShow show;
        FlShowDef def = smooth_def(&random);
        def.placement = (FlPlacement)fl_random_below(&random, FL_PLACEMENT_COUNT);
        fl_show_init(&show, &def);
        FlTime stamp = 0;
        for (int32_t k = 0; k < 6; k++) {
            stamp += random_time(&random, FL_MS(5), FL_MS(300));
            FlTime arrival = stamp + random_time(&random, 0, FL_MS(200));
            arrival = arrival > show.ready + def.delta_ns ? arrival : show.ready + def.delta_ns + 2;
            FlUpdate update = random_straight(&random, stamp, 0);
            FlPose before;
            FlPose after;
            FlResult there = fl_show_pose(&show, arrival, &before);
            (void)fl_show_arrive(&show, &update, stamp, arrival);
            if (there == FL_OK && fl_show_pose(&show, arrival, &after) == FL_OK) {
                worst_note(&moved, fl_vec3_distance(before.position, after.position), i);
                worst_note(&changed, fl_vec3_distance(before.velocity, after.velocity), i);
                worst_note(&turned, fl__quat_angle(before.rotation, after.rotation), i);
            }
        }
    }
    check_worst(&moved, 1e-10, "position");
    check_worst(&changed, 1e-10, "velocity");
    check_worst(&turned, 1e-7, "facing"); // an angle's cosine has no more digits
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_glide_starts_where_it_is_told_and_ends_at_nothing),
        cmocka_unit_test(its_velocity_is_the_rate_of_its_offset),
        cmocka_unit_test(it_never_passes_the_goal_and_never_exceeds_its_speed),
        cmocka_unit_test(with_straight_motion_no_jump_is_ever_seen),
        cmocka_unit_test(position_velocity_and_facing_do_not_break_when_an_update_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
