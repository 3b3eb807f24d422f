// One remote entity: holds, placements, cuts and odd values by example. The twin in
// test_show_twin.c has them all against each other.
#include "fairlead/show.h"

#include "show/show.h"

#include "support.h"

// The default, but placed and shown are the same.
static FlShowDef at_once(void)
{
    FlShowDef def = fl_show_def_default();
    def.convergence = FL_CONVERGENCE_AT_ONCE;
    return def;
}

static void init_at_once(FlShow *show)
{
    FlShowDef def = at_once();
    fl_show_init(show, &def);
}

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
    init_at_once(&show);
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
    init_at_once(&show);
    assert_true(arrive(&show, FL_MS(900), 0.0, 0, FL_MS(950)));
    assert_true(arrive(&show, FL_MS(1010), 50.0, 0, FL_MS(1000)));
    check_near(x_at(&show, FL_MS(1009)), 1.09, 1e-12);
    check_near(x_at(&show, FL_MS(1010)), 50.0, 1e-12);
}

static void what_is_older_than_what_is_shown_is_ignored_and_counted(void **state)
{
    (void)state;
    FlShow show;
    init_at_once(&show);
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
    init_at_once(&show);
    assert_true(arrive(&show, FL_MS(1000), 0.0, 0, FL_MS(1100)));
    assert_true(arrive(&show, FL_MS(1050), 70.0, 0, FL_MS(1099)));
    check_near(x_at(&show, FL_MS(1100)), 70.5, 1e-12);
}

static void lives_go_on_counting_past_the_two_bits_that_travel(void **state)
{
    (void)state;
    FlShow show;
    init_at_once(&show);
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
    init_at_once(&show);
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
    init_at_once(&show);
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

// ---------------------------------------------------------------- holds

static FlShowDef held(FlHold hold, FlTime delta)
{
    FlShowDef def = at_once();
    def.hold = hold;
    def.delta_ns = delta;
    return def;
}

static void causality_shows_everything_delta_later_and_discards_what_is_late(void **state)
{
    (void)state;
    FlShow show;
    FlPose pose;
    FlShowDef def = held(FL_HOLD_CAUSALITY, FL_MS(100));
    def.placement = FL_PLACEMENT_SNAP;
    fl_show_init(&show, &def);
    assert_true(arrive(&show, FL_MS(1000), 1.0, 0, FL_MS(1020)));
    assert_int_equal(fl_show_pose(&show, FL_MS(1100) - 1, &pose), FL_NOT_FOUND);
    check_near(x_at(&show, FL_MS(1100)), 1.0, 0.0);
    assert_false(arrive(&show, FL_MS(1033), 2.0, 0, FL_MS(1133) + 1)); // a nanosecond late
    assert_int_equal(show.late, 1);
    check_near(x_at(&show, FL_MS(1150)), 1.0, 0.0);
    assert_true(arrive(&show, FL_MS(1066), 3.0, 0, FL_MS(1166))); // just in time
    check_near(x_at(&show, FL_MS(1165)), 1.0, 0.0);
    check_near(x_at(&show, FL_MS(1166)), 3.0, 0.0);
    // Out of order, but both in time.
    assert_true(arrive(&show, FL_MS(1132), 5.0, 0, FL_MS(1170)));
    assert_true(arrive(&show, FL_MS(1099), 4.0, 0, FL_MS(1171)));
    check_near(x_at(&show, FL_MS(1198)), 3.0, 0.0);
    check_near(x_at(&show, FL_MS(1199)), 4.0, 0.0);
    check_near(x_at(&show, FL_MS(1232)), 5.0, 0.0);
    assert_int_equal(show.late, 1);
}

static void cuts_are_counted_though_what_told_of_them_was_discarded(void **state)
{
    (void)state;
    FlShow show;
    FlShowDef def = held(FL_HOLD_CAUSALITY, FL_MS(100));
    fl_show_init(&show, &def);
    assert_true(arrive(&show, FL_MS(1000), 1.0, 0, FL_MS(1020)));
    for (uint32_t life = 1; life < 4; life++) {
        FlTime time = FL_MS(1000) + FL_MS(100) * (FlTime)life;
        assert_false(arrive(&show, time, 2.0, life, time + FL_MS(101)));
    }
    assert_true(arrive(&show, FL_MS(1500), 3.0, 4, FL_MS(1510))); // the same two bits as the first
    assert_int_equal(fl_show_life(&show, FL_MS(1599)), 0);
    assert_int_equal(fl_show_life(&show, FL_MS(1600)), 4);
}

static void reckoned_uses_what_is_late_from_its_arrival_on(void **state)
{
    (void)state;
    FlShow show;
    FlShowDef def = held(FL_HOLD_RECKONED, FL_MS(100));
    fl_show_init(&show, &def);
    assert_true(arrive(&show, FL_MS(1000), 0.0, 0, FL_MS(1050)));
    assert_true(arrive(&show, FL_MS(1100), 50.0, 0, FL_MS(1260)));
    assert_int_equal(show.late, 1);
    check_near(x_at(&show, FL_MS(1259)), 1.59, 1e-12); // as of 1159, by the first
    check_near(x_at(&show, FL_MS(1260)), 50.6, 1e-12); // as of 1160, by the second
    assert_false(arrive(&show, FL_MS(1050), 70.0, 0, FL_MS(1270)));
    assert_int_equal(show.overtaken, 1);
}

// By lags the caller says which time is shown; all else is as with a Δ.
static void by_lags_times_are_as_given_and_late_ones_count(void **state)
{
    (void)state;
    FlRandom r = random_stream(7100);
    for (int32_t k = 0; k < FL_PLACEMENT_COUNT * FL_CONVERGENCE_COUNT; k++) {
        FlShow lags;
        FlShow reckoned;
        FlShowDef def = held(FL_HOLD_RECKONED, FL_MS(150));
        def.placement = (FlPlacement)(k % FL_PLACEMENT_COUNT);
        def.convergence = (FlConvergence)(k / FL_PLACEMENT_COUNT);
        fl_show_init(&reckoned, &def);
        def.hold = FL_HOLD_LAGS;
        fl_show_init(&lags, &def);
        for (int32_t i = 0; i < 60; i++) {
            FlTime time = FL_MS(40) * i;
            FlTime arrival = time + random_time(&r, FL_MS(100), FL_MS(180));
            double x = fl_random_between(&r, 0.0, 3.0) + 0.4 * i;
            assert_true(arrive(&reckoned, time, x, 0, arrival) ==
                        arrive(&lags, time, x, 0, arrival - FL_MS(150)));
            if (i > 5) {
                FlTime at = arrival + random_time(&r, 0, FL_MS(30));
                check_near(x_at(&lags, at - FL_MS(150)), x_at(&reckoned, at), 0.0);
            }
        }
        assert_true(lags.late > 0 && lags.late == reckoned.late);
    }
}

static void own_entities_are_shown_as_late_as_everybody_elses(void **state)
{
    (void)state;
    FlShow own;
    FlShow other;
    FlShowDef def = held(FL_HOLD_RECKONED, FL_MS(80));
    fl_show_init(&own, &def);
    fl_show_init(&other, &def);
    for (int32_t i = 0; i < 40; i++) {
        FlState truth = {.time = FL_MS(16) * i};
        truth.position = fl_vec3((double)(i * i), 0.0, 0.0);
        truth.velocity = fl_vec3(3.0, 0.0, 0.0);
        FlUpdate update = {1, 0, fl_motion_make(FL_MODEL_LINEAR, &truth)};
        assert_true(fl_show_own(&own, FL_MODEL_LINEAR, &truth, 0));
        assert_true(fl_show_arrive(&other, &update, truth.time, truth.time + FL_MS(i % 2)));
        if (i > 6) {
            check_near(x_at(&own, truth.time), x_at(&other, truth.time), 0.0);
        }
    }
    assert_int_equal(own.crowded, 0);
}

// A sender that is ahead of us fills the room; then nothing comes until all of it is in use.
static void after_a_pause_there_is_room_where_too_many_waited(void **state)
{
    (void)state;
    for (int32_t waiting = 1; waiting <= FL_SHOW_UPDATES + 4; waiting++) {
        FlShow show;
        FlShowDef def = held(FL_HOLD_RECKONED, FL_MS(500));
        fl_show_init(&show, &def);
        for (int32_t i = 0; i < waiting; i++) {
            assert_true(arrive(&show, FL_SEC(10) + FL_MS(20) * i, (double)i, 0, FL_SEC(10)));
        }
        uint64_t crowded = show.crowded;
        assert_true(arrive(&show, FL_SEC(13), 70.0, 0, FL_SEC(13)));
        assert_true(show.update_count <= FL_SHOW_UPDATES);
        assert_int_equal(show.crowded, crowded); // what was shown is given up first
        check_near(x_at(&show, FL_MS(13500)), 70.0, 1e-12);
    }
}

static void if_too_many_wait_they_are_thinned_out_evenly(void **state)
{
    (void)state;
    FlShow show;
    FlShowDef def = held(FL_HOLD_CAUSALITY, FL_SEC(1));
    def.placement = FL_PLACEMENT_INTERPOLATED;
    fl_show_init(&show, &def);
    Worst worst = {0};
    for (int32_t i = 0; i < 600; i++) { // 60 wait where 16 have room
        FlTime time = FL_SEC(10) + i * FL_SEC(1) / 60;
        assert_true(arrive(&show, time, 10.0 * fl_span_seconds(time), 0, time));
        assert_true(show.update_count <= FL_SHOW_UPDATES);
        if (i > 60) {
            worst_note(&worst, fabs(x_at(&show, time) - 10.0 * fl_span_seconds(time) + 10.0), i);
        }
    }
    assert_true(show.crowded > 400);
    check_worst(&worst, 1e-9, "a straight line stays one");
    for (int32_t i = 1; i < show.update_count; i++) {
        FlTime gap = show.updates[i].stamp - show.updates[i - 1].stamp;
        assert_true(gap < FL_MS(300));
    }
}

// ---------------------------------------------------------------- placements

static FlShowDef placed_by(FlPlacement placement)
{
    FlShowDef def = at_once();
    def.placement = placement;
    return def;
}

static void prediction_goes_by_the_last_positions_and_not_by_what_updates_say(void **state)
{
    (void)state;
    FlShow first;
    FlShow higher;
    FlShowDef def = placed_by(FL_PLACEMENT_FIRST_ORDER);
    fl_show_init(&first, &def);
    def.placement = FL_PLACEMENT_HIGHER_ORDER;
    fl_show_init(&higher, &def);
    for (int32_t i = 0; i < 3; i++) { // x = 5 t^2, though the updates say 10 m/s
        FlTime time = FL_MS(100) * i;
        assert_true(arrive(&first, time, 0.05 * i * i, 0, time));
        assert_true(arrive(&higher, time, 0.05 * i * i, 0, time));
    }
    check_near(x_at(&first, FL_MS(300)), 0.2 + 1.5 * 0.1, 1e-12);
    check_near(x_at(&higher, FL_MS(300)), 0.45, 1e-12);
    check_near(x_at(&higher, FL_MS(400)), 0.8, 1e-12);
    check_near(x_at(&higher, FL_MS(500)), 1.2, 1e-12); // straight on: watched for 200 ms only
    // One update alone stands, two go straight; a cut starts over.
    assert_true(arrive(&higher, FL_MS(600), 9.0, 1, FL_MS(600)));
    check_near(x_at(&higher, FL_MS(650)), 9.0, 0.0);
    assert_true(arrive(&higher, FL_MS(700), 10.0, 1, FL_MS(700)));
    check_near(x_at(&higher, FL_MS(750)), 10.5, 1e-12);
}

static void a_straggler_sharpens_a_prediction(void **state)
{
    (void)state;
    FlShow show;
    FlShowDef def = placed_by(FL_PLACEMENT_FIRST_ORDER);
    fl_show_init(&show, &def);
    assert_true(arrive(&show, FL_MS(0), 0.0, 0, FL_MS(10)));
    assert_true(arrive(&show, FL_MS(200), 2.0, 0, FL_MS(210)));
    check_near(x_at(&show, FL_MS(300)), 3.0, 1e-12);
    assert_true(arrive(&show, FL_MS(100), 0.0, 0, FL_MS(250))); // it started only then
    check_near(x_at(&show, FL_MS(249)), 2.49, 1e-12);
    check_near(x_at(&show, FL_MS(300)), 4.0, 1e-12);
    assert_int_equal(show.overtaken, 0);
}

static void interpolation_leads_from_update_to_update_and_extrapolates_when_starved(void **state)
{
    (void)state;
    FlShow show;
    FlShowDef def = held(FL_HOLD_RECKONED, FL_MS(200));
    def.placement = FL_PLACEMENT_INTERPOLATED;
    fl_show_init(&show, &def);
    assert_true(arrive(&show, FL_MS(1000), 0.0, 0, FL_MS(1010)));
    assert_true(arrive(&show, FL_MS(1100), 2.0, 0, FL_MS(1110))); // 10 m/s at both, 20 between
    check_near(x_at(&show, FL_MS(1200)), 0.0, 1e-12);
    check_near(x_at(&show, FL_MS(1250)), 1.0, 1e-12);
    check_near(x_at(&show, FL_MS(1300)), 2.0, 1e-12);
    check_near(x_at(&show, FL_MS(1350)), 2.5, 1e-12); // starved
    FlPose pose;
    assert_int_equal(fl_show_pose(&show, FL_MS(1250), &pose), FL_OK);
    check_near(pose.velocity.x, 25.0, 1e-9); // 1.5 × 20 - 0.5 × 10
}

static void interpolated_facing_turns_the_short_way_unless_its_rate_says_otherwise(void **state)
{
    (void)state;
    for (int32_t fast = 0; fast < 2; fast++) {
        FlShow show;
        FlShowDef def = held(FL_HOLD_RECKONED, FL_MS(200));
        def.placement = FL_PLACEMENT_INTERPOLATED;
        fl_show_init(&show, &def);
        double rate = fast ? 52.0 : 0.0; // rad/s: 5.2 rad in 100 ms
        for (int32_t i = 0; i < 2; i++) {
            FlState at = {.time = FL_MS(100) * i};
            at.facing = fl_facing_yaw(i == 0 ? 3.0 : -3.0, rate);
            FlUpdate update = {1, 0, fl_motion_make(FL_MODEL_STILL, &at)};
            assert_true(fl_show_arrive(&show, &update, at.time, FL_MS(100) * i + 1));
        }
        FlPose pose;
        assert_int_equal(fl_show_pose(&show, FL_MS(250), &pose), FL_OK);
        double turn = 2.0 * FL_PI - 6.0 + (fast ? 2.0 * FL_PI : 0.0);
        check_near(pose.yaw, fl_angle_wrap(3.0 + 0.5 * turn), 1e-12);
    }
}

// ---------------------------------------------------------------- convergence and cuts

static void steps_take_equal_parts_the_first_with_the_update(void **state)
{
    (void)state;
    FlShow show;
    FlShowDef def = placed_by(FL_PLACEMENT_SNAP);
    def.convergence = FL_CONVERGENCE_STEPS;
    def.step_count = 4;
    def.step_ns = FL_MS(33);
    fl_show_init(&show, &def);
    assert_true(arrive(&show, 0, 0.0, 0, 0));
    assert_true(arrive(&show, FL_MS(100), 8.0, 0, FL_MS(100)));
    check_near(x_at(&show, FL_MS(100) - 1), 0.0, 0.0);
    check_near(x_at(&show, FL_MS(100)), 2.0, 0.0);
    check_near(x_at(&show, FL_MS(133) - 1), 2.0, 0.0);
    check_near(x_at(&show, FL_MS(133)), 4.0, 0.0);
    check_near(x_at(&show, FL_MS(199)), 8.0, 0.0);
    FlPose pose;
    assert_int_equal(fl_show_placed(&show, FL_MS(100), &pose), FL_OK);
    check_near(pose.position.x, 8.0, 0.0);
    assert_true(arrive(&show, FL_MS(300), 30.0, 0, FL_MS(300))); // further than it glides
    check_near(x_at(&show, FL_MS(300)), 30.0, 0.0);
    assert_int_equal(show.snapped, 1);
}

static void a_cut_cuts_every_combination(void **state)
{
    (void)state;
    int32_t combinations = FL_HOLD_COUNT * FL_PLACEMENT_COUNT * FL_CONVERGENCE_COUNT;
    for (int32_t c = 0; c < combinations; c++) {
        FlShow show;
        FlShowDef def = held((FlHold)(c % FL_HOLD_COUNT), FL_MS(100));
        def.placement = (FlPlacement)(c / FL_HOLD_COUNT % FL_PLACEMENT_COUNT);
        def.convergence = (FlConvergence)(c / FL_HOLD_COUNT / FL_PLACEMENT_COUNT);
        def.snap_distance = (double)INFINITY; // it would glide all the way, were it not for the cut
        fl_show_init(&show, &def);
        for (int32_t i = 0; i < 8; i++) {
            FlTime time = FL_MS(50) * i;
            uint32_t life = i < 4 ? 0 : 1;
            assert_true(arrive(&show, time, i < 4 ? 0.5 * i : 500.0, life, time));
        }
        bool as_given = def.hold == FL_HOLD_AT_ONCE || def.hold == FL_HOLD_LAGS;
        FlTime cut = FL_MS(200) + (as_given ? 0 : FL_MS(100));
        assert_true(x_at(&show, cut - 1) < 3.0);
        check_near(x_at(&show, cut), 500.0, 1e-9);
        assert_int_equal(fl_show_life(&show, cut - 1), 0);
        assert_int_equal(fl_show_life(&show, cut), 1);
    }
}

// ---------------------------------------------------------------- odd values

static double odd_number(FlRandom *r)
{
    static const double odd[] = {0.0, 1e308, -1e308, 1e200, -1e154, 5e-324, 1.0, -3.0};
    if (random_chance(r, 12)) {
        return random_chance(r, 2) ? (double)NAN : (double)INFINITY;
    }
    return odd[fl_random_below(r, sizeof odd / sizeof odd[0])];
}

static FlVec3 odd_vec3(FlRandom *r)
{
    double x = odd_number(r);
    double y = odd_number(r);
    double z = odd_number(r);
    return fl_vec3(x, y, z);
}

static FlTime odd_time(FlRandom *r)
{
    static const FlTime odd[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    if (random_chance(r, 4)) {
        return odd[fl_random_below(r, sizeof odd / sizeof odd[0])];
    }
    return random_time(r, FL_SEC(1), FL_SEC(3));
}

static FlMotion odd_motion(FlRandom *r)
{
    FlMotion motion = {.horizon_ns = FL_FOREVER};
    motion.time = odd_time(r);
    motion.position = odd_vec3(r);
    motion.velocity = odd_vec3(r);
    motion.acceleration = odd_vec3(r);
    motion.jerk = odd_vec3(r);
    motion.curve_ns = random_time(r, 0, FL_SEC(1));
    motion.turn_rate = odd_number(r);
    motion.facing.kind = (FlFacingKind)fl_random_below(r, 3);
    motion.facing.yaw = odd_number(r);
    motion.facing.yaw_rate = odd_number(r);
    motion.facing.rotation = random_quat(r);
    motion.facing.spin = odd_vec3(r);
    motion.model = (FlModel)fl_random_below(r, FL_MODEL_AUTO + 1);
    return motion;
}

static bool finite_pose(const FlPose *pose)
{
    return fl_vec3_finite(pose->position) && fl_vec3_finite(pose->velocity) &&
           isfinite(pose->yaw) && fl__quat_finite(pose->rotation);
}

static void whatever_arrives_poses_are_finite_or_refused(void **state)
{
    (void)state;
    FlRandom random = random_stream(7000);
    int32_t answered = 0;
    int32_t refused = 0;
    for (int32_t i = 0; i < CASES(6000); i++) {
        FlShow show;
        FlShowDef def = held((FlHold)fl_random_below(&random, FL_HOLD_COUNT), FL_MS(100));
        def.placement = (FlPlacement)fl_random_below(&random, FL_PLACEMENT_COUNT);
        def.convergence = (FlConvergence)fl_random_below(&random, FL_CONVERGENCE_COUNT);
        def.snap_distance = random_chance(&random, 2) ? (double)INFINITY : 10.0;
        def.catch_up = random_chance(&random, 2) ? (double)INFINITY : 5.0;
        fl_show_init(&show, &def);
        for (int32_t k = 0; k < 20; k++) {
            FlUpdate update = {1, (uint32_t)fl_random_below(&random, 4), odd_motion(&random)};
            bool own = random_chance(&random, 3);
            FlTime stamp = own ? update.motion.time : odd_time(&random);
            FlTime arrival = odd_time(&random);
            (void)fl_show_arrive(&show, &update, stamp, arrival);
            FlPose pose;
            FlResult result = fl_show_pose(&show, odd_time(&random), &pose);
            assert_true(finite_pose(&pose));
            answered += result == FL_OK ? 1 : 0;
            refused += result == FL_BAD_VALUE ? 1 : 0;
        }
    }
    print_message("             %d answered, %d refused\n", answered, refused);
    assert_true(answered > 100 && refused > 100);
}

static void asking_twice_gives_the_same_and_changes_nothing(void **state)
{
    (void)state;
    FlShow show;
    FlShow before;
    FlShowDef def = held(FL_HOLD_RECKONED, FL_MS(100));
    def.placement = FL_PLACEMENT_INTERPOLATED;
    def.convergence = FL_CONVERGENCE_SMOOTH;
    fl_show_init(&show, &def);
    FlRandom random = random_stream(7001);
    for (int32_t i = 0; i < 50; i++) {
        FlTime time = FL_MS(50) * i;
        FlTime delay = random_time(&random, 0, FL_MS(180));
        (void)arrive(&show, time, fl_random_between(&random, 0.0, 3.0), 0, time + delay);
    }
    memcpy(&before, &show, sizeof show);
    FlPose first;
    FlPose again;
    assert_int_equal(fl_show_pose(&show, FL_MS(2600), &first), FL_OK);
    assert_int_equal(fl_show_pose(&show, FL_SEC(4), &again), FL_OK);
    assert_int_equal(fl_show_pose(&show, FL_MS(2600), &again), FL_OK);
    assert_memory_equal(&first, &again, sizeof first);
    assert_memory_equal(&before, &show, sizeof show);
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
        cmocka_unit_test(causality_shows_everything_delta_later_and_discards_what_is_late),
        cmocka_unit_test(cuts_are_counted_though_what_told_of_them_was_discarded),
        cmocka_unit_test(reckoned_uses_what_is_late_from_its_arrival_on),
        cmocka_unit_test(by_lags_times_are_as_given_and_late_ones_count),
        cmocka_unit_test(own_entities_are_shown_as_late_as_everybody_elses),
        cmocka_unit_test(after_a_pause_there_is_room_where_too_many_waited),
        cmocka_unit_test(if_too_many_wait_they_are_thinned_out_evenly),
        cmocka_unit_test(prediction_goes_by_the_last_positions_and_not_by_what_updates_say),
        cmocka_unit_test(a_straggler_sharpens_a_prediction),
        cmocka_unit_test(interpolation_leads_from_update_to_update_and_extrapolates_when_starved),
        cmocka_unit_test(interpolated_facing_turns_the_short_way_unless_its_rate_says_otherwise),
        cmocka_unit_test(steps_take_equal_parts_the_first_with_the_update),
        cmocka_unit_test(a_cut_cuts_every_combination),
        cmocka_unit_test(whatever_arrives_poses_are_finite_or_refused),
        cmocka_unit_test(asking_twice_gives_the_same_and_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
