// The placed path of one remote entity.
#include "fairlead/show.h"

#include "support.h"

static FlUpdate update_at(FlTime time, double x, uint32_t life)
{
    FlState state = {.time = time, .position = fl_vec3(x, 0.0, 0.0)};
    state.velocity = fl_vec3(10.0, 0.0, 0.0);
    FlUpdate update = {1, life & 3u, fl_motion_make(FL_MODEL_LINEAR, &state)};
    return update;
}

static bool arrive(FlShow *show, FlTime stamp, double x, uint32_t life, FlTime arrival)
{
    FlUpdate update = update_at(stamp, x, life);
    return fl_show_arrive(show, &update, stamp, arrival);
}

static double x_at(const FlShow *show, FlTime time)
{
    FlPose pose;
    assert_int_equal(fl_show_pose(show, time, &pose), FL_OK);
    return pose.position.x;
}

static uint32_t life_at(const FlShow *show, FlTime time)
{
    const FlPiece *piece = fl_path_at(&show->placed, time);
    assert_non_null(piece);
    return piece->life;
}

static void an_update_is_shown_from_its_arrival_at_the_time_it_is_stamped_with(void **state)
{
    (void)state;
    FlShow show;
    FlPose pose;
    fl_show_init(&show);
    assert_int_equal(fl_show_pose(&show, FL_SEC(5), &pose), FL_NOT_FOUND);
    assert_true(arrive(&show, FL_MS(1000), 0.0, 0, FL_MS(1200)));
    assert_int_equal(fl_show_pose(&show, FL_MS(1199), &pose), FL_NOT_FOUND);
    assert_true(same_double(pose.position.x, 0.0)); // set to empty
    check_near(x_at(&show, FL_MS(1200)), 2.0, 1e-12);
    check_near(x_at(&show, FL_MS(1700)), 7.0, 1e-12);
    // The next one changes nothing before it came.
    assert_true(arrive(&show, FL_MS(1500), 100.0, 0, FL_MS(1800)));
    check_near(x_at(&show, FL_MS(1799)), 7.99, 1e-12);
    check_near(x_at(&show, FL_MS(1800)), 103.0, 1e-12);
}

static void an_update_from_the_future_waits_for_its_time(void **state)
{
    (void)state;
    FlShow show; // the sender's clock is ahead of ours
    fl_show_init(&show);
    assert_true(arrive(&show, FL_MS(900), 0.0, 0, FL_MS(950)));
    assert_true(arrive(&show, FL_MS(1010), 50.0, 0, FL_MS(1000)));
    check_near(x_at(&show, FL_MS(1009)), 1.09, 1e-12);
    check_near(x_at(&show, FL_MS(1010)), 50.0, 1e-12);
}

static void what_is_older_than_what_is_shown_is_ignored_and_counted(void **state)
{
    (void)state;
    FlShow show;
    fl_show_init(&show);
    assert_true(arrive(&show, FL_MS(1000), 0.0, 0, FL_MS(1100)));
    assert_false(arrive(&show, FL_MS(990), 50.0, 0, FL_MS(1110)));
    assert_int_equal(show.overtaken, 1);
    assert_false(arrive(&show, FL_MS(1000), 50.0, 0, FL_MS(1120))); // the same again
    assert_int_equal(show.overtaken, 1);
    check_near(x_at(&show, FL_MS(1200)), 2.0, 1e-12);
}

static void arrivals_that_seem_to_go_back_lose_no_update(void **state)
{
    (void)state;
    FlShow show; // a clock that was slewed, and rounding
    fl_show_init(&show);
    assert_true(arrive(&show, FL_MS(1000), 0.0, 0, FL_MS(1100)));
    assert_true(arrive(&show, FL_MS(1050), 70.0, 0, FL_MS(1099)));
    check_near(x_at(&show, FL_MS(1100)), 70.5, 1e-12);
}

static void lives_go_on_counting_past_the_two_bits_that_travel(void **state)
{
    (void)state;
    FlShow show;
    fl_show_init(&show);
    for (uint32_t life = 2; life < 40; life++) {
        FlTime time = FL_SEC((FlTime)life);
        assert_true(arrive(&show, time, (double)life, life, time + FL_MS(1)));
        assert_int_equal(life_at(&show, FL_FOREVER), life);
    }
    FlTime time = FL_SEC(50); // of several cuts one may go unnoticed only if it was the fourth
    assert_true(arrive(&show, time, 0.0, 41, time));
    assert_int_equal(life_at(&show, FL_FOREVER), 41);
    assert_true(arrive(&show, time + 1, 0.0, 44, time + 1));
    assert_int_equal(life_at(&show, FL_FOREVER), 44);
}

static void of_two_updates_with_one_stamp_the_one_after_the_cut_is_newer(void **state)
{
    (void)state;
    FlShow show;
    fl_show_init(&show);
    assert_true(arrive(&show, FL_SEC(1), 0.0, 0, FL_MS(1100)));
    assert_true(arrive(&show, FL_SEC(1), 70.0, 1, FL_MS(1101)));
    assert_false(arrive(&show, FL_SEC(1), 0.0, 0, FL_MS(1102)));
    check_near(x_at(&show, FL_MS(1200)), 72.0, 1e-12);
    assert_true(arrive(&show, FL_SEC(1), 80.0, 3, FL_MS(1103)));
    assert_int_equal(life_at(&show, FL_MS(1200)), 3);
}

static void the_recent_past_can_still_be_asked_for(void **state)
{
    (void)state;
    FlShow show;
    FlPose pose;
    fl_show_init(&show);
    for (int32_t i = 0; i < 3 * FL_SHOW_PIECES; i++) {
        FlTime time = FL_SEC(i);
        assert_true(arrive(&show, time, 100.0 * i, 0, time + FL_MS(100)));
    }
    int32_t last = 3 * FL_SHOW_PIECES - 1;
    int32_t first = last - FL_SHOW_PIECES + 1;
    for (int32_t i = first; i <= last; i++) {
        check_near(x_at(&show, FL_SEC(i) + FL_MS(500)), 100.0 * i + 5.0, 1e-9);
    }
    assert_int_equal(fl_show_pose(&show, FL_SEC(first), &pose), FL_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_is_shown_from_its_arrival_at_the_time_it_is_stamped_with),
        cmocka_unit_test(an_update_from_the_future_waits_for_its_time),
        cmocka_unit_test(what_is_older_than_what_is_shown_is_ignored_and_counted),
        cmocka_unit_test(arrivals_that_seem_to_go_back_lose_no_update),
        cmocka_unit_test(lives_go_on_counting_past_the_two_bits_that_travel),
        cmocka_unit_test(of_two_updates_with_one_stamp_the_one_after_the_cut_is_newer),
        cmocka_unit_test(the_recent_past_can_still_be_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
