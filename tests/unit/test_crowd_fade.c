// How far entities at best effort still get: learnt from their updates.
#include "crowd_support.h"

// It runs at 4 m a second for 0.3 s of every second, and stands for the rest.
static FlMotion update_at(int32_t second)
{
    FlState state = {.time = FL_SEC(second)};
    state.position.x = 1.2 * second;
    state.velocity.x = 4.0;
    return fl_motion_make(FL_MODEL_LINEAR, &state);
}

static FlCrowdKnown known_of(const FlMotion *motion)
{
    FlCrowdKnown known = {.stamp = motion->time, .position = motion->position};
    known.velocity[0] = (float)motion->velocity.x;
    return known;
}

static void a_thing_that_stops_is_not_expected_to_go_on(void **state)
{
    (void)state;
    FlCrowd *crowd = crowd_make(1, 20, 0);
    for (int32_t second = 0; second < 400; second++) {
        FlMotion before = update_at(second);
        FlMotion now = update_at(second + 1);
        FlCrowdKnown known = known_of(&before);
        fl__crowd_fade_learn(crowd, &known, &now);
    }
    FlMotion last = update_at(500);
    FlCrowdKnown known = known_of(&last);
    FlVec3 there = fl__crowd_fade_position(crowd, &known, FL_SEC(501));
    double off = fabs(there.x - (last.position.x + 1.2));
    assert_true(off < 0.3); // straight on 2.8, standing still 1.2
    fl__crowd_fade(crowd, &last);
    assert_true(fabs(fl_motion_position(&last, FL_SEC(501)).x - there.x) < 1e-6);
    assert_true(fl_motion_position(&last, FL_SEC(500)).x - last.position.x == 0.0);
    fl__crowd_destroy(crowd);
}

// Before anything is known it is a guess, and a cut teaches nothing: its life is another.
static void what_goes_straight_on_is_expected_to(void **state)
{
    (void)state;
    FlCrowd *crowd = crowd_make(1, 20, 0);
    for (int32_t second = 0; second < 400; second++) {
        FlMotion before = update_at(second);
        FlMotion now = update_at(second + 1);
        before.velocity.x = 1.2;
        FlCrowdKnown known = known_of(&before);
        fl__crowd_fade_learn(crowd, &known, &now);
    }
    FlMotion last = update_at(500);
    last.velocity.x = 1.2;
    FlCrowdKnown known = known_of(&last);
    FlVec3 there = fl__crowd_fade_position(crowd, &known, FL_SEC(501));
    assert_true(fabs(there.x - (last.position.x + 1.2)) < 0.01);
    fl__crowd_destroy(crowd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thing_that_stops_is_not_expected_to_go_on),
        cmocka_unit_test(what_goes_straight_on_is_expected_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
