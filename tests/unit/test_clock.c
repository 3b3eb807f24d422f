// A peer's clock: what it answers, what it never does, and what it survives.
//
// How well it estimates is tests/scene/test_clock_networks.c; session time is test_clock_session.c.
#include "support.h"

#include "../scene/test_clock_world.h"
#include "clock/clock.h"

static World world; // Large, and one at a time.

static FlClock new_clock(void)
{
    FlClock clock;
    FlClockDef def = fl_clock_def_default();
    fl_clock_init(&clock, &def);
    return clock;
}

static uint32_t dropped(const FlClock *clock)
{
    return fl__clock_count(clock, FL_CLOCK_EARLY) + fl__clock_count(clock, FL_CLOCK_LATE) +
           fl__clock_count(clock, FL_CLOCK_OUTDATED) + fl__clock_count(clock, FL_CLOCK_RANGE);
}

// ---------------------------------------------------------------- plain answers

static void a_clock_fits_in_512_bytes(void **state)
{
    (void)state;
    assert_true(sizeof(FlClock) <= 512);
    assert_true(sizeof(FlSessionClock) <= 128);
}

static void a_clock_knows_nothing_until_both_directions_were_heard(void **state)
{
    (void)state;
    FlClock clock = new_clock();
    FlClockReading r = fl_clock_read(&clock, 77);
    assert_false(r.known);
    assert_int_equal(r.remote, 77);
    assert_true(r.bound_ns == FL_FOREVER && r.deviation_ns == FL_FOREVER);
    assert_int_equal(fl__clock_local_at(&clock, 78), 78);
    assert_false(fl__clock_delays(&clock).known);

    assert_true(fl_clock_received(&clock, FL_SEC(1000), FL_SEC(1)));
    assert_false(fl__clock_known(&clock));
    assert_int_equal(fl_clock_remote_at(&clock, 79), 79);
    assert_true(fl_clock_acked(&clock, FL_SEC(1) + FL_MS(10), FL_SEC(1000) + FL_MS(90)));
    assert_true(fl__clock_known(&clock));
}

// Sent at 1000 s there, in at 1 s here; out at 1.01 s here, in at 1000.09 s there: 40 ms each way.
static void one_exchange_is_enough_for_a_first_estimate(void **state)
{
    (void)state;
    FlClock clock = new_clock();
    fl_clock_received(&clock, FL_SEC(1000), FL_SEC(1));
    fl_clock_acked(&clock, FL_SEC(1) + FL_MS(10), FL_SEC(1000) + FL_MS(90));
    FlClockReading r = fl_clock_read(&clock, FL_SEC(1));
    check_near(fl_span_seconds(r.remote - FL_SEC(1000)), 0.040, 1e-4);
    check_near(fl_span_seconds(r.bound_ns), 0.040, 1e-3);
    assert_true(r.deviation_ns <= r.bound_ns);
    FlClockDelays d = fl__clock_delays(&clock);
    check_near(fl_span_seconds(d.in.average_ns), 0.040, 1e-4);
    check_near(fl_span_seconds(d.out.average_ns), 0.040, 1e-4);
    check_near(fl_span_seconds(d.trip.average_ns), 0.080, 1e-6);
    check_near(fl_span_seconds(d.trip.minimum_ns), 0.080, 1e-6);
}

static void every_counter_has_its_own_name(void **state)
{
    (void)state;
    for (int32_t a = 0; a < FL_CLOCK_COUNTS; a++) {
        for (int32_t b = 0; b < a; b++) {
            assert_string_not_equal(fl__clock_count_name((FlClockCount)a),
                                    fl__clock_count_name((FlClockCount)b));
        }
    }
    assert_string_equal(fl__clock_count_name(FL_CLOCK_LATE), "late");
}

static void drift_is_measured_within_2_ppm_in_two_minutes(void **state)
{
    (void)state;
    for (int32_t i = 0; i < CASES(50); i++) {
        FlRandom r = random_stream((uint64_t)i);
        WorldDef def = world_def_default((uint64_t)i);
        def.drift = fl_random_between(&r, -200e-6, 200e-6);
        def.seconds = 120.0;
        world_make(&world, &def);
        FlClock clock = new_clock();
        world_play(&world, &clock, 0, 118.0);
        check_near(fl_clock_read(&clock, FL_SEC(118)).drift_ppm, def.drift * 1e6, 2.0);
        check_near(world_error(&world, &clock, 118.0), 0.0, 0.2e-3);
    }
}

static void conversions_there_and_back_lose_2_ns(void **state)
{
    (void)state;
    for (int32_t i = 0; i < CASES(100); i++) {
        FlRandom r = random_stream((uint64_t)i);
        WorldDef def = world_def_default((uint64_t)i);
        def.drift = fl_random_between(&r, -200e-6, 200e-6);
        def.offset = random_time(&r, -FL_SEC(1000000), FL_SEC(1000000));
        world_make(&world, &def);
        FlClock clock = new_clock();
        world_play(&world, &clock, 0, fl_random_between(&r, 1.0, 30.0));
        for (int32_t k = 0; k < 20; k++) {
            FlTime local = random_time(&r, -FL_SEC(86400), FL_SEC(86400));
            FlTime remote = fl_clock_remote_at(&clock, local);
            FlTime back = fl__clock_local_at(&clock, remote);
            assert_true(back - local <= 2 && local - back <= 2);
            assert_true(fl_clock_remote_at(&clock, local + 1000) > remote);
        }
    }
}

// ---------------------------------------------------------------- the bound

// Half the smallest round trip so far, allowing the drift limit times its age. A round trip is a
// packet and the oldest report that it brought; its age counts from the arrival reported.
typedef struct Trips {
    double half_s; // At at_s.
    double at_s;
    double last_in_s;
    int32_t carrier;
} Trips;

static double half_trip(const Trips *trips, double at_s)
{
    return trips->half_s + 250e-6 * (at_s - trips->at_s);
}

static void note_trip(Trips *trips, const Event *e)
{
    if (!e->ack) {
        trips->last_in_s = e->delay_s;
        trips->carrier = e->carrier;
    } else if (trips->carrier == e->carrier) {
        trips->carrier = -1;
        double half = 0.5 * (e->delay_s + trips->last_in_s);
        if (half <= half_trip(trips, e->remote_s)) {
            trips->half_s = half;
            trips->at_s = e->remote_s;
        }
    }
}

static WorldDef any_network(uint64_t number)
{
    static const double rates[] = {0.8, 5.0, 20.0, 60.0};
    FlRandom r = random_stream(number);
    WorldDef def = world_def_default(number);
    def.jitter = (Jitter)fl_random_below(&r, 6);
    def.hz = rates[fl_random_below(&r, 4)];
    def.seconds = def.hz > 30.0 ? 60.0 : 120.0;
    for (int32_t way = 0; way < 2; way++) {
        def.base_s[way] = fl_random_between(&r, 0.0, 0.8);
        def.width_s[way] = fl_random_between(&r, 0.0, 0.2);
        def.route_by_s[way] = fl_random_between(&r, 0.0, 0.3);
    }
    if (random_chance(&r, 2)) { // Both, or neither: opposite changes look as if a clock was set.
        def.route_by_s[0] = -def.route_by_s[0];
        def.route_by_s[1] = -def.route_by_s[1];
    }
    def.route_at_s = fl_random_between(&r, 0.0, 100.0);
    def.loss = fl_random_between(&r, 0.0, 0.5);
    def.drift = fl_random_between(&r, -200e-6, 200e-6);
    def.offset = random_time(&r, -FL_SEC(1000000), FL_SEC(1000000));
    return def;
}

static void check_bound(const World *w, const FlClock *clock, double allowed_s, double at_s)
{
    FlClockReading r = fl_clock_read(clock, world_local(w, at_s));
    double error = fabs(fl_span_seconds(r.remote - world_remote(w, at_s)));
    double bound = fl_span_seconds(r.bound_ns);
    if (error > bound || bound > allowed_s) {
        print_error("seed %llu at %.3f s: error %.9f s, bound %.9f s, allowed %.9f s\n",
                    (unsigned long long)w->def.seed, at_s, error, bound, allowed_s);
    }
    assert_true(error <= bound);
    assert_true(bound <= allowed_s);
    assert_true(r.deviation_ns <= r.bound_ns);
}

/// Looks at the bound after every sample, and after 3 s of silence, which counts twice. `stale_s`:
/// a smallest round trip older than this counts twice, too; none is older than the world.
static void check_bound_all_along(const WorldDef *def, double stale_s)
{
    world_make(&world, def);
    FlClock clock = new_clock();
    Trips trips = {.half_s = 1e9, .carrier = -1};
    for (int32_t k = 0; k < world.count; k++) {
        assert_true(world_tell(&clock, &world.event[k]));
        note_trip(&trips, &world.event[k]);
        for (int32_t ahead = 0; ahead < 2 && trips.half_s < 1e6; ahead++) {
            double at = world.event[k].at_s + 3.0 * ahead;
            double stale = 250e-6 * fmax(2.0 * ahead, at - stale_s);
            check_bound(&world, &clock, half_trip(&trips, at) + stale + 0.001, at);
        }
    }
    assert_int_equal(fl__clock_count(&clock, FL_CLOCK_PINCHED), 0);
    assert_int_equal(dropped(&clock), 0);
}

// Asymmetric by up to 800 ms, half the packets lost, routes changing, idle or busy.
static void the_bound_is_never_exceeded_whatever_the_network(void **state)
{
    (void)state;
    for (int32_t i = 0; i < CASES(300); i++) {
        WorldDef def = any_network((uint64_t)i);
        check_bound_all_along(&def, 60.0);
    }
}

static void the_bound_is_half_the_smallest_round_trip_and_drift_by_age_and_1_ms(void **state)
{
    (void)state;
    for (int32_t i = 0; i < CASES(100); i++) {
        FlRandom r = random_stream((uint64_t)i);
        WorldDef def = world_def_default((uint64_t)i);
        def.width_s[0] = def.width_s[1] = fl_random_between(&r, 0.0, 0.05);
        def.base_s[0] = fl_random_between(&r, 0.0, 0.8);
        def.base_s[1] = fl_random_between(&r, 0.0, 0.8);
        def.drift = fl_random_between(&r, -200e-6, 200e-6);
        def.loss = fl_random_between(&r, 0.0, 0.2);
        def.seconds = 120.0;
        check_bound_all_along(&def, 1e9);
    }
}

static void asymmetry_costs_half_of_it_and_no_more(void **state)
{
    (void)state;
    WorldDef def = world_def_default(1);
    def.base_s[FL_CLOCK_OUT] = 0.25;
    world_make(&world, &def);
    FlClock clock = new_clock();
    world_play(&world, &clock, 0, 28.0);
    check_near(world_error(&world, &clock, 28.0), 0.1, 0.5e-3);
    assert_true(fl_clock_read(&clock, FL_SEC(28)).bound_ns >= FL_MS(100));
}

static void silence_makes_both_figures_grow(void **state)
{
    (void)state;
    WorldDef def = world_def_default(2);
    world_make(&world, &def);
    FlClock clock = new_clock();
    world_play(&world, &clock, 0, 28.0);
    FlClockReading then = fl_clock_read(&clock, FL_SEC(28));
    FlClockReading later = fl_clock_read(&clock, FL_SEC(628));
    check_near(fl_span_seconds(later.bound_ns - then.bound_ns), 0.15 + 0.03, 0.003);
    assert_true(later.deviation_ns > then.deviation_ns);
    assert_true(fabs(world_error(&world, &clock, 628.0)) <= fl_span_seconds(later.deviation_ns));
}

// ---------------------------------------------------------------- routes

static FlTime play_and_measure(FlClock *clock, double until_s, int32_t way, int32_t *next)
{
    *next = world_play(&world, clock, *next, until_s);
    FlClockDelays d = fl__clock_delays(clock);
    assert_true(d.known);
    return way == FL_CLOCK_IN ? d.in.average_ns : d.out.average_ns;
}

static void check_route_change(double by_in_s, double by_out_s)
{
    WorldDef def = world_def_default(3);
    def.route_at_s = 20.0;
    def.route_by_s[FL_CLOCK_IN] = by_in_s;
    def.route_by_s[FL_CLOCK_OUT] = by_out_s;
    def.base_s[FL_CLOCK_IN] = def.base_s[FL_CLOCK_OUT] = 0.1;
    def.seconds = 200.0;
    world_make(&world, &def);
    FlClock clock = new_clock();
    int32_t next = 0;
    for (int32_t tick = 0; 10.0 + 0.25 * tick < 195.0; tick++) {
        double at = 10.0 + 0.25 * tick;
        double in = fl_span_seconds(play_and_measure(&clock, at, FL_CLOCK_IN, &next));
        double out = fl_span_seconds(play_and_measure(&clock, at, FL_CLOCK_OUT, &next));
        bool settled = at < 20.0 || at > 20.5; // Between, news from one direction is ahead.
        if (by_in_s == by_out_s && settled) {
            check_near(world_error(&world, &clock, at), 0.0, 3e-3);
        }
        if (at < 20.0 || at > 23.0) {
            bool after = at > 23.0;
            double sum = 0.2 + (after ? by_in_s + by_out_s : 0.0);
            check_near(in + out, sum, 0.008);
        }
    }
    assert_int_equal(dropped(&clock), 0);
    assert_int_equal(fl__clock_count(&clock, FL_CLOCK_STEPPED), 0);
}

static void a_route_that_gets_longer_or_shorter_is_tracked(void **state)
{
    (void)state;
    check_route_change(0.3, 0.3);
    check_route_change(-0.05, -0.05);
    check_route_change(0.3, 0.0);
    check_route_change(0.0, -0.05);
}

// A full queue in one direction is the commonest asymmetry; it goes as it came.
static void a_queue_of_20_s_in_one_direction_does_not_move_the_estimate(void **state)
{
    (void)state;
    WorldDef def = world_def_default(4);
    def.route_at_s = 100.0;
    def.route_by_s[FL_CLOCK_IN] = 0.2;
    def.seconds = 121.0;
    world_make(&world, &def);
    FlClock clock = new_clock();
    int32_t next = 0;
    for (int32_t tick = 0; 95.0 + 0.1 * tick < 119.5; tick++) {
        double at = 95.0 + 0.1 * tick;
        next = world_play(&world, &clock, next, at);
        check_near(world_error(&world, &clock, at), 0.0, 1e-3);
    }
}

// alpha 1/8, beta 1/4: by hand, along a path whose delay is the same 50 ms until one packet.
static void delays_are_smoothed_as_rfc_6298_says(void **state)
{
    (void)state;
    FlClock clock = new_clock();
    FlTime lead = FL_SEC(500);
    FlTime now = 0;
    for (int32_t i = 0; i < 200; i++) {
        now += FL_MS(50);
        fl_clock_received(&clock, now - FL_MS(50) + lead, now);
        fl_clock_acked(&clock, now - FL_MS(100), now - FL_MS(50) + lead);
    }
    FlClockDelays before = fl__clock_delays(&clock);
    check_near(fl_span_seconds(before.in.average_ns), 0.050, 1e-5);
    check_near(fl_span_seconds(before.in.deviation_ns), 0.0, 1e-5);
    check_near(fl_span_seconds(before.trip.average_ns), 0.100, 1e-5);
    now += FL_MS(50);
    fl_clock_received(&clock, now - FL_MS(130) + lead, now); // 80 ms longer
    fl_clock_acked(&clock, now - FL_MS(180), now - FL_MS(130) + lead);
    FlClockDelays after = fl__clock_delays(&clock);
    check_near(fl_span_seconds(after.in.average_ns), 0.060, 5e-5);
    check_near(fl_span_seconds(after.in.deviation_ns), 0.020, 5e-5);
    check_near(fl_span_seconds(after.in.minimum_ns), 0.050, 5e-5);
    check_near(fl_span_seconds(after.trip.average_ns), 0.110, 5e-5);
    check_near(fl_span_seconds(after.out.average_ns), 0.050, 5e-5);
}

// ---------------------------------------------------------------- clocks that are set

typedef struct Recovery {
    double wrong_s; // How long the estimate was off by more than 5 ms.
    uint32_t restarts;
} Recovery;

static Recovery set_clocks(WorldDef def)
{
    world_make(&world, &def);
    FlClock clock = new_clock();
    Recovery recovery = {0};
    int32_t next = 0;
    for (int32_t tick = 0; 5.0 + 0.05 * tick < def.seconds - 2.0; tick++) {
        double at = 5.0 + 0.05 * tick;
        next = world_play(&world, &clock, next, at);
        if (!fl__clock_known(&clock) || fabs(world_error(&world, &clock, at)) > 0.005) {
            recovery.wrong_s = at - def.set_at_s;
        }
    }
    recovery.restarts =
        fl__clock_count(&clock, FL_CLOCK_REACQUIRED) + fl__clock_count(&clock, FL_CLOCK_STEPPED);
    assert_true(fl__clock_count(&clock, FL_CLOCK_EARLY) > 0 ||
                fl__clock_count(&clock, FL_CLOCK_STEPPED) > 0);
    return recovery;
}

// Set by hours, days, a suspended laptop's ten minutes, and just more than a round trip.
static void a_clock_that_is_set_is_found_again_within_3_s(void **state)
{
    (void)state;
    static const FlTime by[] = {FL_SEC(3 * 3600), -FL_SEC(3 * 3600), FL_SEC(7 * 86400),
                                -FL_SEC(600),     FL_SEC(30),        -FL_SEC(6),
                                FL_SEC(3),        -FL_SEC(1),        FL_MS(300)};
    for (int32_t i = 0; i < (int32_t)(sizeof by / sizeof by[0]); i++) {
        for (int32_t remote = 0; remote < 2; remote++) {
            WorldDef def = world_def_default((uint64_t)i);
            def.seconds = 60.0;
            def.set_at_s = 30.0;
            def.set_local_by = remote ? 0 : by[i];
            def.set_remote_by = remote ? by[i] : 0;
            Recovery r = set_clocks(def);
            if (r.wrong_s > 3.0 || r.restarts > 2) {
                print_error("set %s by %lld ns: wrong for %.2f s, %u restarts\n",
                            remote ? "remote" : "local", (long long)by[i], r.wrong_s, r.restarts);
            }
            assert_true(r.wrong_s <= 3.0);
            assert_in_range(r.restarts, 1, 2);
        }
    }
}

// The stamps of a local clock that is three hours ahead between 10 and 20 s.
static FlTime ahead_for_a_while(FlTime local)
{
    return local >= FL_SEC(10) && local < FL_SEC(20) ? local + FL_SEC(3 * 3600) : local;
}

static void a_clock_that_is_set_and_set_back_is_found_both_times(void **state)
{
    (void)state;
    WorldDef def = world_def_default(10);
    world_make(&world, &def);
    FlClock clock = new_clock();
    for (int32_t k = 0; k < world.count; k++) {
        Event e = world.event[k];
        FlTime *local = e.ack ? &e.sent : &e.arrived;
        *local = ahead_for_a_while(*local);
        world_tell(&clock, &e);
        FlTime at = ahead_for_a_while(world_local(&world, e.at_s));
        double error =
            fl_span_seconds(fl_clock_remote_at(&clock, at) - world_remote(&world, e.at_s));
        if ((e.at_s > 13.0 && e.at_s < 20.0) || e.at_s > 23.0) {
            assert_true(fl__clock_known(&clock));
            check_near(error, 0.0, 5e-3);
        }
    }
    assert_in_range(fl__clock_count(&clock, FL_CLOCK_REACQUIRED), 2, 4);
}

static void a_clock_that_is_set_on_an_idle_link_is_found_again_within_30_s(void **state)
{
    (void)state;
    WorldDef def = world_def_default(5);
    def.hz = 0.8;
    def.seconds = 200.0;
    def.set_at_s = 100.0;
    def.set_local_by = -FL_SEC(3600);
    assert_true(set_clocks(def).wrong_s <= 30.0);
}

static void what_was_sent_before_a_clock_was_set_is_not_believed_after(void **state)
{
    (void)state;
    FlClock clock = new_clock();
    FlTime now = FL_SEC(100);
    fl_clock_received(&clock, now, now + FL_MS(50));
    fl_clock_acked(&clock, now, now + FL_MS(50));
    FlTime jump = FL_SEC(2); // The local clock is set; reports of before are still under way.
    for (int32_t i = 1; i <= 20; i++) {
        FlTime at = now + i * FL_MS(50);
        fl_clock_received(&clock, at, at + FL_MS(50) + jump);
        if (i > 2) {
            fl_clock_acked(&clock, at - FL_MS(50) + jump, at);
        }
    }
    assert_int_equal(fl__clock_count(&clock, FL_CLOCK_REACQUIRED), 1);
    assert_false(fl_clock_acked(&clock, now + FL_MS(100), now + FL_MS(150)));
    assert_int_equal(fl__clock_count(&clock, FL_CLOCK_OUTDATED), 1);
    assert_true(fl_clock_acked(&clock, now + FL_SEC(3), now + FL_SEC(1) + FL_MS(50)));
}

// Less than a round trip: no sample contradicts another, but both directions shift oppositely.
static void a_step_smaller_than_a_round_trip_is_found_within_40_s(void **state)
{
    (void)state;
    for (int32_t sign = -1; sign <= 1; sign += 2) {
        WorldDef def = world_def_default(6);
        def.base_s[FL_CLOCK_IN] = def.base_s[FL_CLOCK_OUT] = 0.1;
        def.seconds = 250.0;
        def.set_at_s = 150.0;
        def.set_remote_by = sign * FL_MS(60);
        Recovery r = set_clocks(def);
        assert_true(r.wrong_s <= 40.0);
        assert_true(r.restarts >= 1);
    }
}

// ---------------------------------------------------------------- samples that are wrong

static void wild_samples_are_counted_by_reason_and_change_nothing(void **state)
{
    (void)state;
    WorldDef def = world_def_default(7);
    world_make(&world, &def);
    FlClock clock = new_clock();
    world_play(&world, &clock, 0, 28.0);
    FlTime now = FL_SEC(28);
    FlTime remote = fl_clock_remote_at(&clock, now);
    FlClockReading before = fl_clock_read(&clock, now);

    assert_false(fl_clock_received(&clock, remote + FL_MS(200), now)); // sent in the future
    assert_false(fl_clock_acked(&clock, now, remote - FL_MS(200)));    // arrived before it was sent
    assert_int_equal(fl__clock_count(&clock, FL_CLOCK_EARLY), 2);
    assert_false(fl_clock_received(&clock, remote - FL_SEC(6), now)); // six seconds under way
    assert_false(fl_clock_acked(&clock, now, remote + FL_SEC(6)));
    assert_int_equal(fl__clock_count(&clock, FL_CLOCK_LATE), 2);
    assert_false(fl_clock_received(&clock, INT64_MIN, now));
    assert_false(fl_clock_acked(&clock, INT64_MAX, remote));
    assert_int_equal(fl__clock_count(&clock, FL_CLOCK_RANGE), 2);

    FlClockReading after = fl_clock_read(&clock, now);
    assert_int_equal(after.remote, before.remote);
    assert_int_equal(after.bound_ns, before.bound_ns);
    assert_int_equal(after.deviation_ns, before.deviation_ns);
    assert_int_equal(fl__clock_count(&clock, FL_CLOCK_REACQUIRED), 0);
}

static void one_wild_sample_in_five_does_not_disturb_the_estimate(void **state)
{
    (void)state;
    WorldDef def = world_def_default(8);
    world_make(&world, &def);
    FlClock clock = new_clock();
    FlRandom r = random_stream(8);
    for (int32_t k = 0; k < world.count; k++) {
        Event e = world.event[k];
        if (e.at_s > 1.0 && random_chance(&r, 5)) {
            FlTime *stamp = e.ack ? &e.arrived : &e.sent;
            *stamp += random_time(&r, FL_SEC(6), FL_SEC(100000)) * (random_chance(&r, 2) ? 1 : -1);
            assert_false(world_tell(&clock, &e));
        } else {
            assert_true(world_tell(&clock, &e));
        }
        if (e.at_s > 10.0) {
            check_near(world_error(&world, &clock, e.at_s), 0.0, 1e-3);
        }
    }
}

static void a_wild_first_sample_is_got_over(void **state)
{
    (void)state;
    static const FlTime by[] = {FL_SEC(3600), -FL_SEC(3600), FL_SEC(20), -FL_SEC(20)};
    for (int32_t i = 0; i < 8; i++) {
        WorldDef def = world_def_default((uint64_t)i);
        world_make(&world, &def);
        FlClock clock = new_clock();
        Event wild = world.event[i < 4 ? 0 : 8];
        wild.sent += by[i & 3];
        world_tell(&clock, &wild);
        world_play(&world, &clock, 0, 15.0);
        assert_true(fl__clock_known(&clock));
        check_near(world_error(&world, &clock, 15.0), 0.0, 1e-3);
    }
}

static FlTime any_number(FlRandom *r)
{
    switch (fl_random_below(r, 4)) {
    case 0:
        return (FlTime)fl_random_next(r);
    case 1:
        return random_time(r, -FL_SEC(100), FL_SEC(100));
    case 2:
        return random_chance(r, 2) ? INT64_MAX : INT64_MIN;
    default:
        return (FlTime)random_scale(r, 0.0, 18.9);
    }
}

// Whatever it is told, it answers, and honest samples bring it back.
static void any_numbers_at_all_are_survived(void **state)
{
    (void)state;
    for (int32_t i = 0; i < CASES(500); i++) {
        FlRandom r = random_stream(100 + (uint64_t)i);
        FlClock clock = new_clock();
        for (int32_t k = 0; k < 300; k++) {
            FlTime a = any_number(&r);
            FlTime b = any_number(&r);
            if (random_chance(&r, 2)) {
                fl_clock_received(&clock, a, b);
            } else {
                fl_clock_acked(&clock, a, b);
            }
            FlClockReading reading = fl_clock_read(&clock, any_number(&r));
            assert_true(reading.bound_ns >= 0 && reading.deviation_ns >= 0);
            assert_true(isfinite(reading.drift_ppm) && fabs(reading.drift_ppm) <= 251.0);
            (void)fl__clock_local_at(&clock, any_number(&r));
            FlClockDelays d = fl__clock_delays(&clock);
            assert_true(d.in.average_ns >= 0 && d.out.average_ns >= 0 && d.trip.average_ns >= 0);
        }
        if (i % 10 == 0) {
            WorldDef def = world_def_default((uint64_t)i);
            def.offset = FL_SEC(5);
            def.seconds = 40.0;
            world_make(&world, &def);
            clock.acked_floor = INT64_MIN; // Invented local times may lie ahead of honest ones.
            world_play(&world, &clock, 0, 38.0);
            check_near(world_error(&world, &clock, 38.0), 0.0, 1e-3);
        }
    }
}

// 1000 ppm on a path of 0.4 ms: four times what was promised, so the bound is contradicted.
static void a_drift_beyond_its_limit_is_followed_and_counted(void **state)
{
    (void)state;
    WorldDef def = world_def_default(9);
    def.drift = 1000e-6;
    def.base_s[FL_CLOCK_IN] = def.base_s[FL_CLOCK_OUT] = 0.0002;
    def.width_s[FL_CLOCK_IN] = def.width_s[FL_CLOCK_OUT] = 0.0001;
    def.seconds = 60.0;
    world_make(&world, &def);
    FlClock clock = new_clock();
    int32_t next = 0;
    for (int32_t tick = 0; 5.0 + 0.1 * tick < 58.0; tick++) {
        double at = 5.0 + 0.1 * tick;
        next = world_play(&world, &clock, next, at);
        check_near(world_error(&world, &clock, at), 0.0, 1.5e-3);
    }
    assert_true(fl__clock_count(&clock, FL_CLOCK_PINCHED) > 0);
}

// ---------------------------------------------------------------- the same everywhere

static void results_are_the_same_bits_with_every_compiler(void **state)
{
    (void)state;
    Hash hash = hash_start();
    for (int32_t i = 0; i < 12; i++) {
        WorldDef def = any_network(1000 + (uint64_t)i);
        def.seconds = 60.0;
        world_make(&world, &def);
        FlClock clock = new_clock();
        for (int32_t k = 0; k < world.count; k++) {
            world_tell(&clock, &world.event[k]);
            FlClockReading r = fl_clock_read(&clock, world_local(&world, world.event[k].at_s));
            hash_bits(&hash, (uint64_t)r.remote);
            hash_bits(&hash, (uint64_t)r.bound_ns);
            hash_bits(&hash, (uint64_t)r.deviation_ns);
            hash_double(&hash, r.drift_ppm);
            hash_bits(&hash, (uint64_t)fl__clock_delays(&clock).in.average_ns);
        }
    }
    check_hash(hash, UINT64_C(0x69a55e9fad50862b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_fits_in_512_bytes),
        cmocka_unit_test(a_clock_knows_nothing_until_both_directions_were_heard),
        cmocka_unit_test(one_exchange_is_enough_for_a_first_estimate),
        cmocka_unit_test(every_counter_has_its_own_name),
        cmocka_unit_test(drift_is_measured_within_2_ppm_in_two_minutes),
        cmocka_unit_test(conversions_there_and_back_lose_2_ns),
        cmocka_unit_test(the_bound_is_never_exceeded_whatever_the_network),
        cmocka_unit_test(the_bound_is_half_the_smallest_round_trip_and_drift_by_age_and_1_ms),
        cmocka_unit_test(asymmetry_costs_half_of_it_and_no_more),
        cmocka_unit_test(silence_makes_both_figures_grow),
        cmocka_unit_test(a_route_that_gets_longer_or_shorter_is_tracked),
        cmocka_unit_test(a_queue_of_20_s_in_one_direction_does_not_move_the_estimate),
        cmocka_unit_test(delays_are_smoothed_as_rfc_6298_says),
        cmocka_unit_test(a_clock_that_is_set_is_found_again_within_3_s),
        cmocka_unit_test(a_clock_that_is_set_and_set_back_is_found_both_times),
        cmocka_unit_test(a_clock_that_is_set_on_an_idle_link_is_found_again_within_30_s),
        cmocka_unit_test(what_was_sent_before_a_clock_was_set_is_not_believed_after),
        cmocka_unit_test(a_step_smaller_than_a_round_trip_is_found_within_40_s),
        cmocka_unit_test(wild_samples_are_counted_by_reason_and_change_nothing),
        cmocka_unit_test(one_wild_sample_in_five_does_not_disturb_the_estimate),
        cmocka_unit_test(a_wild_first_sample_is_got_over),
        cmocka_unit_test(any_numbers_at_all_are_survived),
        cmocka_unit_test(a_drift_beyond_its_limit_is_followed_and_counted),
        cmocka_unit_test(results_are_the_same_bits_with_every_compiler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
