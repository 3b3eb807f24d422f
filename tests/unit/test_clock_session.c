// Session time: it never goes back, bends by at most 2 %, and finds the reference.
#include "support.h"

#include "../scene/test_clock_world.h"
#include "clock/clock.h"

static World world;
static World second_world;

static FlClock new_clock(void)
{
    FlClock clock;
    FlClockDef def = fl_clock_def_default();
    fl_clock_init(&clock, &def);
    return clock;
}

/// One peer that follows a reference through a world, looking at its session time all the time.
typedef struct Follower {
    FlSessionClock session;
    FlClock reference;
    const World *world;
    int32_t next;
    FlTime offset; // Session time minus the reference's clock.
    FlTime last_local;
    FlTime last_session;
    bool running;
} Follower;

static Follower new_follower(const World *w, FlTime offset)
{
    Follower f = {.reference = new_clock(), .world = w, .offset = offset};
    fl__session_clock_init(&f.session);
    fl__session_clock_follow(&f.session, offset);
    return f;
}

static void check_slew(Follower *f, FlTime local)
{
    FlTime session = fl__session_clock_at(&f->session, local);
    if (f->running) {
        FlTime passed = local - f->last_local;
        double off = (double)((session - f->last_session) - passed);
        assert_true(session >= f->last_session);
        assert_true(fabs(off) <= 0.02 * (double)passed + 2.0);
    }
    f->running = fl__session_clock_state(&f->session) != FL_SESSION_CLOCK_UNSET;
    f->last_local = local;
    f->last_session = session;
}

/// Hears everything up to `at_s`, updates, and checks the slew before and after.
static void step(Follower *f, double at_s)
{
    FlTime local = world_local(f->world, at_s);
    FlTime before = local - FL_US(500); // After the last update.
    f->next = world_play(f->world, &f->reference, f->next, at_s);
    check_slew(f, local); // What was promised for this moment ...
    FlTime promised = fl__session_clock_at(&f->session, before);
    bool ran = f->running;
    fl__session_clock_update(&f->session, &f->reference, local);
    check_slew(f, local); // ... still holds, and for the moments before.
    FlTime changed = fl__session_clock_at(&f->session, before) - promised;
    assert_true(!ran || (changed <= 2 && changed >= -2));
}

static double session_error(const Follower *f, double at_s)
{
    FlTime truth = world_remote(f->world, at_s) + f->offset;
    return fl_span_seconds(fl__session_clock_at(&f->session, world_local(f->world, at_s)) - truth);
}

static WorldDef random_network(uint64_t number)
{
    FlRandom r = random_stream(number);
    WorldDef def = world_def_default(number);
    def.jitter = (Jitter)fl_random_below(&r, 6);
    def.base_s[0] = def.base_s[1] = fl_random_between(&r, 0.005, 0.8);
    def.width_s[0] = def.width_s[1] = fl_random_between(&r, 0.0, 0.18);
    def.loss = fl_random_between(&r, 0.0, 0.2);
    def.drift = fl_random_between(&r, -200e-6, 200e-6);
    def.offset = random_time(&r, -FL_SEC(1000000), FL_SEC(1000000));
    return def;
}

// ---------------------------------------------------------------- following

static void an_unset_session_clock_says_so(void **state)
{
    (void)state;
    FlSessionClock s;
    fl__session_clock_init(&s);
    fl__session_clock_update(&s, NULL, FL_SEC(1));
    assert_int_equal(fl__session_clock_state(&s), FL_SESSION_CLOCK_UNSET);
    assert_int_equal(fl__session_clock_at(&s, FL_SEC(2)), 0);
    assert_true(fl__session_clock_local_at(&s, FL_SEC(2)) == FL_FOREVER);
    assert_true(fl__session_clock_error(&s) == FL_FOREVER);
}

static void session_time_never_goes_back_and_bends_by_at_most_2_percent(void **state)
{
    (void)state;
    for (int32_t i = 0; i < CASES(300); i++) {
        WorldDef def = random_network((uint64_t)i);
        def.route_at_s = 15.0;
        def.route_by_s[i & 1] = 0.3; // One direction only: the estimate itself moves.
        world_make(&world, &def);
        Follower f = new_follower(&world, FL_SEC(7));
        FlRandom r = random_stream(5000 + (uint64_t)i);
        double at = 0.0;
        while (at < 28.0) {
            at += fl_random_between(&r, 0.001, random_chance(&r, 20) ? 1.9 : 0.05);
            step(&f, at);
        }
        assert_true(f.running);
        assert_int_equal(f.session.leap_count, 0);
    }
}

static void session_time_finds_the_reference_and_says_when(void **state)
{
    (void)state;
    int32_t looked = 0, within = 0;
    for (int32_t i = 0; i < CASES(100); i++) {
        WorldDef def = random_network((uint64_t)i);
        def.jitter = JITTER_UNIFORM;
        def.width_s[0] = def.width_s[1] = 0.02;
        def.base_s[0] = def.base_s[1] = fmax(def.base_s[0], 0.02);
        world_make(&world, &def);
        Follower f = new_follower(&world, -FL_SEC(100));
        double synchronised_at = 1e9;
        for (int32_t tick = 0; 0.02 + 0.02 * tick < 28.0; tick++) {
            double at = 0.02 + 0.02 * tick;
            step(&f, at);
            bool good = fl__session_clock_state(&f.session) == FL_SESSION_CLOCK_SYNCHRONISED;
            if (good) {
                synchronised_at = fmin(synchronised_at, at);
                assert_true(session_error(&f, at) <= 0.05);
            }
            assert_true(at < 10.0 || good);
            if (at > 10.0) {
                check_near(session_error(&f, at), 0.0, 3e-3);
                double said = fl_span_seconds(fl__session_clock_error(&f.session));
                looked++;
                within += fabs(session_error(&f, at)) <= said;
            }
        }
        assert_true(synchronised_at < 5.0);
    }
    assert_true(within >= looked / 1000 * 995);
}

static void a_reference_that_falls_silent_is_followed_on_but_not_called_synchronised(void **state)
{
    (void)state;
    WorldDef def = world_def_default(1);
    def.drift = 150e-6;
    world_make(&world, &def);
    Follower f = new_follower(&world, 0);
    for (int32_t tick = 0; 0.05 + 0.05 * tick < 90.0; tick++) {
        double at = 0.05 + 0.05 * tick;
        step(&f, at); // The last packet comes at 30 s.
    }
    assert_int_equal(fl__session_clock_state(&f.session), FL_SESSION_CLOCK_CATCHING_UP);
    check_near(session_error(&f, 90.0), 0.0, 3e-3);
}

// ---------------------------------------------------------------- conversions

static void session_and_local_time_convert_both_ways(void **state)
{
    (void)state;
    for (int32_t i = 0; i < CASES(100); i++) {
        WorldDef def = random_network((uint64_t)i);
        world_make(&world, &def);
        Follower f = new_follower(&world, FL_SEC(3));
        FlRandom r = random_stream((uint64_t)i);
        double until = fl_random_between(&r, 5.0, 25.0);
        for (int32_t tick = 0; 0.05 + 0.05 * tick < until; tick++) {
            double at = 0.05 + 0.05 * tick;
            step(&f, at);
        }
        FlTime now = f.session.local;
        for (int32_t k = 0; k < 20; k++) {
            FlTime local = now + random_time(&r, -FL_SEC(2), FL_SEC(2));
            FlTime session = fl__session_clock_at(&f.session, local);
            FlTime back = fl__session_clock_local_at(&f.session, session);
            assert_true(back - local <= 2 && local - back <= 2);
        }
        assert_true(fl__session_clock_local_at(&f.session, FL_FOREVER) == FL_FOREVER);
    }
}

// ---------------------------------------------------------------- handing over

static void a_leader_runs_at_its_own_clocks_rate(void **state)
{
    (void)state;
    FlSessionClock s;
    fl__session_clock_init(&s);
    fl__session_clock_lead(&s, FL_SEC(100), FL_SEC(5));
    assert_int_equal(fl__session_clock_state(&s), FL_SESSION_CLOCK_SYNCHRONISED);
    assert_int_equal(fl__session_clock_error(&s), 0);
    for (FlTime now = FL_SEC(100); now < FL_SEC(200); now += FL_MS(37)) {
        fl__session_clock_update(&s, NULL, now);
        assert_int_equal(fl__session_clock_at(&s, now), now - FL_SEC(95));
        assert_int_equal(fl__session_clock_offset(&s), -FL_SEC(95));
    }
}

static void a_follower_that_takes_the_lead_goes_on_without_a_step(void **state)
{
    (void)state;
    WorldDef def = random_network(3);
    world_make(&world, &def);
    Follower f = new_follower(&world, FL_SEC(50));
    for (int32_t tick = 0; 0.05 + 0.05 * tick < 20.0; tick++) {
        double at = 0.05 + 0.05 * tick;
        step(&f, at);
    }
    FlTime now = world_local(&world, 20.0);
    FlTime before = fl__session_clock_at(&f.session, now);
    fl__session_clock_lead(&f.session, now, 0);
    assert_int_equal(fl__session_clock_at(&f.session, now), before);
    assert_int_equal(fl__session_clock_at(&f.session, now + FL_SEC(1)), before + FL_SEC(1));
    assert_int_equal(fl__session_clock_offset(&f.session), before - now);
}

/// Follows one reference to 15 s, then another whose idea of session time differs by `by`.
static void hand_over(uint64_t number, FlTime by, bool adopt)
{
    WorldDef first = random_network(number);
    WorldDef other = random_network(number + 1000);
    first.seconds = other.seconds = 45.0;
    first.jitter = other.jitter = JITTER_UNIFORM;
    first.width_s[0] = first.width_s[1] = other.width_s[0] = other.width_s[1] = 0.005;
    world_make(&world, &first);
    world_make(&second_world, &other);
    Follower f = new_follower(&world, FL_SEC(9));
    FlClock other_clock = new_clock();
    int32_t other_next = 0;
    double at = 0.0;
    while (at < 15.0) {
        at += 0.05;
        other_next = world_play(&second_world, &other_clock, other_next, at);
        step(&f, at);
    }
    // Announced: what makes both agree at this moment in truth, and the difference.
    FlTime session = world_remote(&world, at) + f.offset;
    f.offset = session - world_remote(&second_world, at) + by;
    f.world = &second_world;
    f.reference = other_clock;
    f.next = other_next;
    if (adopt) {
        fl__session_clock_adopt(&f.session, &other_clock, world_local(&second_world, at));
    } else {
        fl__session_clock_follow(&f.session, f.offset);
    }
    while (at < 40.0) {
        at += 0.05;
        step(&f, at); // Checks that there is no step.
        bool far = fabs(session_error(&f, at)) > 0.02;
        assert_true(!far || fl__session_clock_state(&f.session) == FL_SESSION_CLOCK_CATCHING_UP);
    }
    check_near(session_error(&f, at), 0.0, 6e-3);
    assert_int_equal(fl__session_clock_state(&f.session), FL_SESSION_CLOCK_SYNCHRONISED);
    assert_int_equal(f.session.leap_count, 0);
}

static void a_handover_to_another_reference_takes_no_step(void **state)
{
    (void)state;
    for (int32_t i = 0; i < CASES(50); i++) {
        hand_over((uint64_t)i, 0, false);
        hand_over((uint64_t)i, FL_MS(150), false);
        hand_over((uint64_t)i, -FL_MS(150), false);
        hand_over((uint64_t)i, 0, true);
    }
}

// ---------------------------------------------------------------- a local clock that is set

static void set_local_clock(FlTime by, double again_within_s)
{
    WorldDef def = world_def_default(4);
    def.seconds = 80.0;
    def.set_at_s = 30.0;
    def.set_local_by = by;
    world_make(&world, &def);
    Follower f = new_follower(&world, 0);
    FlTime last = 0;
    double found_at = 1e9;
    for (int32_t tick = 0; 0.05 + 0.05 * tick < 75.0; tick++) {
        double at = 0.05 + 0.05 * tick;
        f.next = world_play(&world, &f.reference, f.next, at);
        FlTime local = world_local(&world, at);
        fl__session_clock_update(&f.session, &f.reference, local);
        FlTime session = fl__session_clock_at(&f.session, local);
        if (fl__session_clock_state(&f.session) == FL_SESSION_CLOCK_UNSET) {
            continue;
        }
        assert_true(last == 0 || session >= last);
        last = session;
        bool good = fabs(session_error(&f, at)) < 0.005;
        if (at > 30.0) {
            found_at = good ? fmin(found_at, at) : 1e9;
        }
    }
    if (found_at - 30.0 > again_within_s) {
        print_error("set by %lld ns: found after %.2f s\n", (long long)by, found_at - 30.0);
    }
    assert_true(found_at - 30.0 <= again_within_s);
    assert_int_equal(fl__session_clock_state(&f.session), FL_SESSION_CLOCK_SYNCHRONISED);
}

// Session time goes on from where it stood, and what it then lacks is slewed or leapt.
static void a_local_clock_that_is_set_does_not_set_session_time_back(void **state)
{
    (void)state;
    set_local_clock(-FL_SEC(3600), 8.0);
    set_local_clock(-FL_SEC(7 * 86400), 8.0);
    set_local_clock(-FL_SEC(3), 8.0);
}

// Of a jump ahead it counts the 2 s that could have passed unnoticed, and slews them away again.
static void a_local_clock_that_jumps_ahead_does_not_take_session_time_along(void **state)
{
    (void)state;
    for (int32_t i = 0; i < 3; i++) {
        static const FlTime by[] = {FL_SEC(3), FL_SEC(3600), FL_SEC(7 * 86400)};
        WorldDef def = world_def_default(4);
        def.seconds = 200.0;
        def.set_at_s = 30.0;
        def.set_local_by = by[i];
        world_make(&world, &def);
        Follower f = new_follower(&world, 0);
        FlTime last = 0;
        for (int32_t tick = 0; 0.05 + 0.05 * tick < 190.0; tick++) {
            double at = 0.05 + 0.05 * tick;
            f.next = world_play(&world, &f.reference, f.next, at);
            FlTime local = world_local(&world, at);
            fl__session_clock_update(&f.session, &f.reference, local);
            FlTime session = fl__session_clock_at(&f.session, local);
            if (fl__session_clock_state(&f.session) != FL_SESSION_CLOCK_UNSET) {
                assert_true(last == 0 || session >= last);
                assert_true(at < 5.0 || fabs(session_error(&f, at)) < 2.1);
                last = session;
            }
        }
        check_near(session_error(&f, 190.0), 0.0, 2e-3);
    }
}

// A debugger, a loading screen: the clocks are right, but nobody asked.
static void a_pause_of_10_s_between_updates_is_leapt_over(void **state)
{
    (void)state;
    WorldDef def = world_def_default(6);
    def.seconds = 40.0;
    world_make(&world, &def);
    Follower f = new_follower(&world, 0);
    for (int32_t tick = 1; tick <= 200; tick++) {
        step(&f, 0.05 * tick);
    }
    assert_int_equal(fl__session_clock_state(&f.session), FL_SESSION_CLOCK_SYNCHRONISED);
    for (int32_t tick = 400; tick <= 420; tick++) {
        f.next = world_play(&world, &f.reference, f.next, 0.05 * tick);
        fl__session_clock_update(&f.session, &f.reference, world_local(&world, 0.05 * tick));
    }
    check_near(session_error(&f, 21.0), 0.0, 5e-3);
    assert_int_equal(f.session.leap_count, 1);
    assert_int_equal(fl__session_clock_state(&f.session), FL_SESSION_CLOCK_SYNCHRONISED);
}

// The machine slept: the local clock stood still and nobody told it.
static void a_slept_hour_is_leapt_over_once(void **state)
{
    (void)state;
    WorldDef def = world_def_default(5);
    def.set_at_s = 15.0;
    def.set_remote_by = FL_SEC(3600);
    world_make(&world, &def);
    Follower f = new_follower(&world, 0);
    for (int32_t tick = 0; 0.05 + 0.05 * tick < 28.0; tick++) {
        double at = 0.05 + 0.05 * tick;
        f.next = world_play(&world, &f.reference, f.next, at);
        fl__session_clock_update(&f.session, &f.reference, world_local(&world, at));
    }
    check_near(session_error(&f, 28.0), 0.0, 3e-3);
    assert_int_equal(f.session.leap_count, 1);
    assert_int_equal(fl__session_clock_state(&f.session), FL_SESSION_CLOCK_SYNCHRONISED);
}

// ---------------------------------------------------------------- placing

static void an_update_is_placed_by_stamp_by_arrival_or_by_one_way_delay(void **state)
{
    (void)state;
    FlTime stamp = FL_SEC(10), arrival = FL_SEC(10) + FL_MS(130), delay = FL_MS(100);
    assert_int_equal(fl__time_place(FL_TIME_GLOBAL, stamp, arrival, delay), stamp);
    assert_int_equal(fl__time_place(FL_TIME_LOCAL, stamp, arrival, delay), arrival);
    assert_int_equal(fl__time_place(FL_TIME_ONE_WAY, stamp, arrival, delay), stamp + FL_MS(30));
    assert_true(fl__time_place(FL_TIME_ONE_WAY, 0, INT64_MIN, FL_SEC(1)) == INT64_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unset_session_clock_says_so),
        cmocka_unit_test(session_time_never_goes_back_and_bends_by_at_most_2_percent),
        cmocka_unit_test(session_time_finds_the_reference_and_says_when),
        cmocka_unit_test(a_reference_that_falls_silent_is_followed_on_but_not_called_synchronised),
        cmocka_unit_test(session_and_local_time_convert_both_ways),
        cmocka_unit_test(a_leader_runs_at_its_own_clocks_rate),
        cmocka_unit_test(a_follower_that_takes_the_lead_goes_on_without_a_step),
        cmocka_unit_test(a_handover_to_another_reference_takes_no_step),
        cmocka_unit_test(a_local_clock_that_is_set_does_not_set_session_time_back),
        cmocka_unit_test(a_local_clock_that_jumps_ahead_does_not_take_session_time_along),
        cmocka_unit_test(a_pause_of_10_s_between_updates_is_leapt_over),
        cmocka_unit_test(a_slept_hour_is_leapt_over_once),
        cmocka_unit_test(an_update_is_placed_by_stamp_by_arrival_or_by_one_way_delay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
