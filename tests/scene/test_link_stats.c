// What a link says about its path, against what the path really is; and its byte budget following
// what the path bears. In virtual time.
#include "link_world.h"

#include <math.h>

static FlImpairSettings uniform(FlTime delay, FlTime jitter, int32_t loss_ppm)
{
    FlImpairSettings way = fl_impair_def_default().settings;
    way.delay_ns = delay;
    way.jitter_ns = jitter;
    way.shape = FL_SHAPE_UNIFORM;
    way.loss_ppm = loss_ppm;
    return way;
}

static FlLinkStats stats_of(const World *world, int32_t i)
{
    FlLinkStats stats;
    fl_link_stats(world->end[i].link, world_clock(world, i), &stats);
    return stats;
}

static double ms(FlTime span)
{
    return (double)span / 1e6;
}

static void check_near(double got, double want, double allowed, const char *what)
{
    if (!(fabs(got - want) <= allowed)) {
        fail_msg("%s is %g, not %g within %g", what, got, want, allowed);
    }
}

static void stream_both(World *world, FlTime period, int32_t bytes)
{
    world_stream(world, 0, period, bytes);
    world_stream(world, 1, period, bytes);
}

// ---------------------------------------------------------------- the path

static void round_trips_are_the_networks_without_the_time_acks_rested(void **state)
{
    (void)state;
    FlTime periods[] = {FL_MS(10), FL_MS(50), FL_MS(400)}; // acks ride, or go bare after 25 ms
    for (int32_t k = 0; k < 3; k++) {
        WorldDef def = world_def_default(3);
        def.way[0] = uniform(FL_MS(50), FL_MS(10), 0);
        def.way[1] = uniform(FL_MS(30), FL_MS(10), 0);
        World world;
        world_open(&world, &def);
        stream_both(&world, periods[k], 30);
        world_run(&world, FL_SEC(40), NULL);
        for (int32_t i = 0; i < 2; i++) {
            FlLinkStats stats = stats_of(&world, i);
            // The sum of two uniform delays: 60 to 100 ms, mean 80, 95 % below 93.7; mean
            // deviation 6.7. Averages have a short memory (1/8 and 1/4), the percentile is
            // interpolated in classes of 35 %.
            check_near(ms(stats.rtt_min_ns), 60.5, 4.0, "rtt_min");
            check_near(ms(stats.rtt_average_ns), 80.0, 9.0, "rtt_average");
            check_near(ms(stats.rtt_p95_ns), 93.7, 9.0, "rtt_p95");
            check_near(ms(stats.jitter_ns), 6.7, 5.0, "jitter");
        }
        world_end(&world);
        world_close(&world);
    }
}

static void nothing_is_claimed_before_anything_is_known(void **state)
{
    (void)state;
    WorldDef def = world_def_default(3);
    World world;
    world_open(&world, &def);
    FlLinkStats stats = stats_of(&world, 0);
    assert_int_equal(stats.rtt_min_ns, 0);
    assert_int_equal(stats.rtt_average_ns, 0);
    assert_int_equal(stats.rtt_p95_ns, 0);
    assert_false(stats.delays.known);
    assert_int_equal(stats.uncertainty_ns, FL_FOREVER);
    assert_int_equal(stats.packets_out + stats.packets_in + stats.bytes_out + stats.bytes_in, 0);
    world_end(&world);
    world_close(&world);
}

static void one_way_delays_are_as_sure_as_they_say(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        WorldDef def = world_def_default(seed);
        // As unequal as paths get: what cannot be observed must be in the uncertainty.
        def.way[0] = uniform(FL_MS(20 + 10 * (int64_t)seed), FL_MS(5), 50000);
        def.way[1] = uniform(FL_MS(30), FL_MS(5), 50000);
        def.clock_drift[0] = -150e-6;
        def.clock_drift[1] = 50e-6;
        World world;
        world_open(&world, &def);
        stream_both(&world, FL_MS(50), 30);
        world_run(&world, FL_SEC(30), NULL);
        for (int32_t i = 0; i < 2; i++) {
            FlLinkStats stats = stats_of(&world, i);
            FlTime out = def.way[i].delay_ns;
            FlTime in = def.way[1 - i].delay_ns;
            assert_true(stats.delays.known);
            // At most half the smallest round trip, drift, 1 ms; and averages scatter by 5 ms.
            double sure = ms(stats.uncertainty_ns);
            assert_true(sure <= ms(out + in - FL_MS(10)) / 2 + 3.0);
            check_near(ms(stats.delays.out.average_ns), ms(out), sure + 5.0, "delay out");
            check_near(ms(stats.delays.in.average_ns), ms(in), sure + 5.0, "delay in");
            check_near(ms(stats.delays.trip.average_ns), ms(out + in), 8.0, "trip");
            // The peer's clock, as the link tells it, against the truth.
            FlTime here = fl__link_clock(world.end[i].link, world_clock(&world, i));
            FlTime there = fl__link_clock(world.end[1 - i].link, world_clock(&world, 1 - i));
            FlClockReading reading = fl_clock_read(fl__link_peer_clock(world.end[i].link), here);
            assert_true(llabs((long long)(reading.remote - there)) <= reading.bound_ns);
        }
        world_end(&world);
        world_close(&world);
    }
}

static void losses_both_ways_are_told_by_both_ends(void **state)
{
    (void)state;
    double sum[4] = {0.0};
    enum { SEEDS = 16 };
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        WorldDef def = world_def_default(seed);
        def.way[0] = uniform(FL_MS(50), FL_MS(10), 200000);
        def.way[1] = uniform(FL_MS(50), FL_MS(10), 50000);
        World world;
        world_open(&world, &def);
        stream_both(&world, FL_MS(20), 30);
        world_run(&world, FL_SEC(15), NULL);
        for (int32_t i = 0; i < 2; i++) {
            FlLinkStats stats = stats_of(&world, i);
            sum[2 * i] += stats.loss_out / SEEDS;
            sum[2 * i + 1] += stats.loss_in / SEEDS;
            // What was told, over the whole scene: within four standard deviations.
            double decided = (double)(stats.delivered + stats.lost);
            double loss = def.way[i].loss_ppm / 1e6;
            check_near((double)stats.lost / decided, loss,
                       4.0 * sqrt(loss * (1.0 - loss) / decided), "lost");
        }
        world_end(&world);
        world_close(&world);
    }
    // An average of weight 1/64 scatters by sqrt(p (1 - p) / 127); a sixteenth of that variance.
    check_near(sum[0], 0.20, 4.0 * 0.0355 / 4.0, "loss out of end 0");
    check_near(sum[3], 0.20, 4.0 * 0.0355 / 4.0, "loss into end 1");
    check_near(sum[2], 0.05, 4.0 * 0.0193 / 4.0, "loss out of end 1");
    check_near(sum[1], 0.05, 4.0 * 0.0193 / 4.0, "loss into end 0");
}

// ---------------------------------------------------------------- the budget

/// Bytes out of end 0 per second of the last `seconds`, while it has endless messages to say.
static double busy_rate(World *world, int32_t seconds)
{
    uint64_t before = world->end[0].byte_count;
    world_run(world, world->now + FL_SEC(seconds), NULL);
    return (double)(world->end[0].byte_count - before) / seconds;
}

static void a_bottleneck_slows_the_link_down_and_its_end_lets_it_go(void **state)
{
    (void)state;
    WorldDef def = world_def_default(5);
    def.way[0] = uniform(FL_MS(40), FL_MS(2), 0);
    def.way[1] = uniform(FL_MS(40), FL_MS(2), 0);
    def.way[0].rate_bytes_s = 24000;
    def.way[0].queue_ns = FL_SEC(1);
    for (int32_t i = 0; i < 2; i++) {
        def.link[i].sent_capacity = 1024;
    }
    World world;
    world_open(&world, &def);
    world_say(&world, 0, FL_DELIVERY_ORDERED, 16000000, 0);
    world_stream(&world, 0, FL_MS(50), 30);
    (void)busy_rate(&world, 10);
    double rate = 0.0;
    double worst_queue_ms = 0.0;
    for (int32_t second = 0; second < 30; second++) {
        (void)busy_rate(&world, 1);
        FlLinkStats stats = stats_of(&world, 0);
        rate += stats.rate_bytes_s / 30;
        double queue_ms = ms(stats.delays.out.average_ns - stats.delays.out.minimum_ns);
        worst_queue_ms = queue_ms > worst_queue_ms ? queue_ms : worst_queue_ms;
    }
    FlLinkStats slow = stats_of(&world, 0);
    print_message("             24 kB/s bottleneck: budget %.0f bytes/s, queue at worst %.0f ms, "
                  "slowed %u times, sped up %u times\n",
                  rate, worst_queue_ms, slow.slowed, slow.sped_up);
    assert_true(slow.slowed > 3);
    assert_true(rate < 36000.0);
    assert_true(rate > 12000.0);
    assert_true(worst_queue_ms < 600.0);
    // The bottleneck goes away.
    FlImpairSettings way = def.way[0];
    way.rate_bytes_s = 0;
    assert_int_equal(fl__impair_set(world.end[0].impair, world.now, &way), FL_OK);
    (void)busy_rate(&world, 30);
    FlLinkStats fast = stats_of(&world, 0);
    assert_true(fast.rate_bytes_s > 0.9 * def.link[0].rate_max_bytes_s);
    assert_true(fast.sped_up > slow.sped_up);
    world.end[0].talk[FL_DELIVERY_ORDERED].wanted = 0;
    world_end(&world);
    world_close(&world);
}

static void a_path_that_loses_a_third_of_everything_is_not_congested(void **state)
{
    (void)state;
    int32_t low_count = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        WorldDef def = world_def_default(seed);
        def.way[0] = uniform(FL_MS(40), FL_MS(10), 300000);
        def.way[1] = uniform(FL_MS(40), FL_MS(10), 300000);
        World world;
        world_open(&world, &def);
        world_stream(&world, 0, FL_MS(50), 30);
        world_say(&world, 0, FL_DELIVERY_ORDERED, 16000000, 0);
        for (int32_t second = 0; second < 30; second++) {
            world_run(&world, world.now + FL_SEC(1), NULL);
            double rate = stats_of(&world, 0).rate_bytes_s;
            assert_true(rate >= def.link[0].rate_min_bytes_s);
            low_count += rate < 4.0 * def.link[0].rate_min_bytes_s ? 1 : 0;
        }
        world_end(&world);
        world_close(&world);
    }
    print_message("             30 %% loss: %d of 300 seconds below a quarter of the maximum\n",
                  low_count);
    assert_true(low_count < 30);
}

static void traffic_keeps_to_the_budget_and_motion_beyond_it_is_not_held_back(void **state)
{
    (void)state;
    WorldDef def = world_def_default(5);
    for (int32_t i = 0; i < 2; i++) {
        def.way[i] = uniform(FL_MS(20), 0, 0);
        def.link[i].rate_min_bytes_s = def.link[i].rate_bytes_s = def.link[i].rate_max_bytes_s =
            10000.0;
    }
    World world;
    world_open(&world, &def);
    world_say(&world, 0, FL_DELIVERY_ORDERED, 16000000, 0);
    (void)busy_rate(&world, 5);
    double rate = busy_rate(&world, 20);
    check_near(rate, 10000.0, 200.0, "rate of reliable data, headers counted");
    // 400 bytes at 50 Hz are twice the budget: they go, and reliable data waits.
    world_stream(&world, 0, FL_MS(20), 364);
    int32_t heard = world.end[0].talk[FL_DELIVERY_ORDERED].heard;
    uint64_t packets = world.end[0].packet_count;
    (void)busy_rate(&world, 10);
    assert_in_range(world.end[0].packet_count - packets, 490, 520);
    assert_true(world.end[0].talk[FL_DELIVERY_ORDERED].heard - heard < 200);
    world_end(&world);
    world_close(&world);
}

// A sender that fills the payload budget at every step leaves reliable data its share.
static void a_greedy_payload_does_not_starve_reliable_data(void **state)
{
    (void)state;
    WorldDef def = world_def_default(5);
    for (int32_t i = 0; i < 2; i++) {
        def.way[i] = uniform(FL_MS(20), 0, 0);
        def.link[i].rate_min_bytes_s = def.link[i].rate_bytes_s = def.link[i].rate_max_bytes_s =
            8192.0;
    }
    World world;
    world_open(&world, &def);
    world_say(&world, 0, FL_DELIVERY_ORDERED, 1000, 0);
    for (int32_t step = 0; step < 60 * 60; step++) {
        world_run(&world, FL_SEC(step) / 60, NULL);
        int32_t budget = fl_link_payload_budget(world.end[0].link, world_clock(&world, 0));
        if (budget > 0) {
            (void)world_send(&world, 0, budget);
        }
    }
    FlLinkStats stats = stats_of(&world, 0);
    check_near((double)stats.bytes_out, 60.0 * 8192.0, 0.02 * 60.0 * 8192.0, "bytes in a minute");
    assert_true(world_all_heard(&world));
    world_end(&world);
    world_close(&world);
}

// And reliable data without end leaves motion its share.
static void a_long_message_does_not_silence_motion(void **state)
{
    (void)state;
    WorldDef def = world_def_default(5);
    for (int32_t i = 0; i < 2; i++) {
        def.way[i] = uniform(FL_MS(20), 0, 0);
        def.link[i].rate_min_bytes_s = def.link[i].rate_bytes_s = def.link[i].rate_max_bytes_s =
            8192.0;
    }
    World world;
    world_open(&world, &def);
    world_say(&world, 0, FL_DELIVERY_ORDERED, 16000000, 0);
    int32_t allowed = 0;
    for (int32_t step = 0; step < 20 * 60; step++) {
        world_run(&world, FL_MS(50) * step, NULL);
        int32_t budget = fl_link_payload_budget(world.end[0].link, world_clock(&world, 0));
        if (budget >= 60) {
            (void)world_send(&world, 0, 60);
            allowed++;
        }
    }
    FlLinkStats stats = stats_of(&world, 0);
    check_near((double)stats.bytes_out, 60.0 * 8192.0, 0.03 * 60.0 * 8192.0, "bytes in a minute");
    assert_true(allowed > 20 * 60 / 2);
    assert_true(world.end[0].talk[FL_DELIVERY_ORDERED].heard > 4000);
    world_end(&world);
    world_close(&world);
}

static void links_with_a_common_budget_share_it(void **state)
{
    (void)state;
    enum { PAIRS = 4 };
    FlBudget common;
    fl__budget_init(&common, 20000.0, 5000.0, 0);
    World world[PAIRS];
    for (int32_t k = 0; k < PAIRS; k++) {
        WorldDef def = world_def_default((uint64_t)k + 1);
        def.way[0] = def.way[1] = uniform(FL_MS(20), 0, 0);
        def.link[0].common = &common;
        world_open(&world[k], &def);
        world_say(&world[k], 0, FL_DELIVERY_ORDERED, 16000000, 0);
    }
    uint64_t before = 0;
    for (FlTime now = 0; now < FL_SEC(40); now += FL_MS(2)) {
        for (int32_t k = 0; k < PAIRS; k++) {
            // In turn, so that none is always first.
            world_run(&world[((int64_t)now / FL_MS(2) + k) % PAIRS], now, NULL);
        }
        if (now == FL_SEC(10)) {
            for (int32_t k = 0; k < PAIRS; k++) {
                before += world[k].end[0].byte_count;
            }
        }
    }
    uint64_t all = 0;
    for (int32_t k = 0; k < PAIRS; k++) {
        all += world[k].end[0].byte_count;
        assert_true(world[k].end[0].byte_count > 100000); // of 800000 in all
        world_end(&world[k]);
        world_close(&world[k]);
    }
    check_near((double)(all - before) / 30.0, 20000.0, 400.0, "rate of all four together");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips_are_the_networks_without_the_time_acks_rested),
        cmocka_unit_test(nothing_is_claimed_before_anything_is_known),
        cmocka_unit_test(one_way_delays_are_as_sure_as_they_say),
        cmocka_unit_test(losses_both_ways_are_told_by_both_ends),
        cmocka_unit_test(a_bottleneck_slows_the_link_down_and_its_end_lets_it_go),
        cmocka_unit_test(a_path_that_loses_a_third_of_everything_is_not_congested),
        cmocka_unit_test(traffic_keeps_to_the_budget_and_motion_beyond_it_is_not_held_back),
        cmocka_unit_test(a_greedy_payload_does_not_starve_reliable_data),
        cmocka_unit_test(a_long_message_does_not_silence_motion),
        cmocka_unit_test(links_with_a_common_budget_share_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
