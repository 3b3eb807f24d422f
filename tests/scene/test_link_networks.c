// Every packet has exactly one fate, and it is the true one; every message arrives exactly once:
// over hundreds of random networks, clocks and loads, in virtual time.
//
// The checks themselves stand in link_world.h and happen all the while; here are the networks.
#include "link_world.h"

#include "unit/support.h"

// ---------------------------------------------------------------- random worlds

static FlTime pick_ms(FlRandom *r, int64_t low, int64_t high)
{
    return FL_MS(low) + (FlTime)fl_random_below(r, (uint64_t)(high - low) * 1000000 + 1);
}

static int32_t pick(FlRandom *r, int32_t low, int32_t high)
{
    return low + (int32_t)fl_random_below(r, (uint64_t)(high - low) + 1);
}

static FlImpairSettings random_way(FlRandom *r)
{
    FlImpairSettings way = fl_impair_def_default().settings;
    way.delay_ns = pick_ms(r, 0, 400);
    FlImpairShape shapes[] = {FL_SHAPE_CONSTANT, FL_SHAPE_UNIFORM, FL_SHAPE_NORMAL, FL_SHAPE_PARETO,
                              FL_SHAPE_PARETO_NORMAL};
    way.shape = shapes[pick(r, 0, 4)];
    way.jitter_ns = random_chance(r, 3) ? pick_ms(r, 0, 10) : pick_ms(r, 0, 150);
    way.jitter_ns = way.jitter_ns < way.delay_ns ? way.jitter_ns : way.delay_ns;
    way.correlation_ppm = random_chance(r, 4) ? pick(r, 0, 900000) : 0;
    way.keep_order = random_chance(r, 4);
    way.loss_ppm = random_chance(r, 3) ? 0 : pick(r, 0, 500000);
    way.duplicate_ppm = random_chance(r, 3) ? 0 : pick(r, 0, 300000);
    if (random_chance(r, 4)) {
        way.burst_gap_ns = pick_ms(r, 200, 5000);
        way.burst_length_ns = pick_ms(r, 10, 400);
        way.burst_loss_ppm = pick(r, 300000, 1000000);
    }
    if (random_chance(r, 4)) {
        way.rate_bytes_s = pick(r, 30000, 200000); // above what the payloads alone take
        way.queue_ns = pick_ms(r, 20, 800);
    }
    return way;
}

static WorldDef random_world(FlRandom *r, uint64_t seed)
{
    WorldDef def = world_def_default(seed);
    bool external_sequence = random_chance(r, 4);
    for (int32_t i = 0; i < 2; i++) {
        FlLinkDef *link = &def.link[i];
        def.way[i] = random_way(r);
        def.clock_offset[i] = random_time(r, -FL_SEC(86400) * 30, FL_SEC(86400) * 30);
        def.clock_drift[i] = fl_random_between(r, -200e-6, 200e-6);
        link->external_sequence = external_sequence;
        link->ack_delay_ns = random_chance(r, 3) ? 0 : pick_ms(r, 0, 60);
        link->keep_alive_ns = pick_ms(r, 200, 2000);
        link->reorder_ns = random_chance(r, 3) ? pick_ms(r, 20, 200) : FL_SEC(1);
        link->sent_capacity = random_chance(r, 3) ? 1024 : 512;
        link->send_bytes = link->receive_bytes = pick(r, 2048, 20000);
    }
    return def;
}

static void load(World *world, FlRandom *r)
{
    for (int32_t i = 0; i < 2; i++) {
        if (!random_chance(r, 4)) {
            FlTime every =
                pick_ms(r, 10, 100); // one draw a line: compilers order arguments as they like
            int32_t bytes = pick(r, 0, 120);
            world_stream(world, i, every, bytes);
        }
        for (int32_t kind = 0; kind < WORLD_KINDS; kind++) {
            world->end[i].talk[kind].bytes =
                kind == FL_DELIVERY_ORDERED ? pick(r, 8, 2000) : pick(r, 8, 256);
            if (random_chance(r, 2)) {
                int32_t count = pick(r, 1, 300);
                FlTime every = random_chance(r, 2) ? 0 : pick_ms(r, 1, 100);
                world_say(world, i, (FlDelivery)kind, count, every);
            }
        }
    }
}

/// A carrier that begins where it likes and takes numbers for itself: a few often, or many rarely.
static void number_randomly(WorldDef *def, FlRandom *r)
{
    for (int32_t i = 0; i < 2; i++) {
        def->link[i].external_sequence = true;
        int32_t magnitude = pick(r, 3, 63);
        def->first_number[i] = fl_random_next(r) >> magnitude;
        bool many = random_chance(r, 4);
        def->gap_percent[i] = pick(r, 0, many ? 2 : 60);
        def->gap_most[i] = pick(r, 1, many ? 2000 : 3);
    }
}

static void one_network(uint64_t seed, bool numbered)
{
    FlRandom random = random_stream(seed);
    WorldDef def = random_world(&random, seed);
    if (numbered) {
        number_randomly(&def, &random);
    }
    World world;
    world_open(&world, &def);
    load(&world, &random);
    world_run(&world, FL_SEC(6), NULL);
    // Then only what reliability needs: all messages arrive, whatever the network does.
    for (int32_t i = 0; i < 2; i++) {
        world_stream(&world, i, FL_FOREVER, 0);
    }
    world_run(&world, FL_SEC(240), world_all_heard);
    if (!world_all_heard(&world)) {
        fail_msg("seed %d: messages did not arrive in four minutes", (int)seed);
    }
    // And all fates become known, but those of the last few packets.
    uint64_t last[2] = {world.end[0].next_tag, world.end[1].next_tag};
    world_run(&world, world.now + FL_SEC(20), NULL);
    for (int32_t i = 0; i < 2; i++) {
        assert_true(fl__link_alive(world.end[i].link));
        for (uint64_t tag = 0; tag < last[i]; tag++) {
            assert_int_equal(world.end[i].truth[tag].told, 1);
        }
    }
    world_end(&world);
    world_close(&world);
}

static void fates_are_true_and_messages_arrive_once_over_random_networks(void **state)
{
    (void)state;
    int32_t count = CASES(250);
    for (int32_t seed = 1; seed <= count; seed++) {
        one_network((uint64_t)seed, false);
    }
}

static void so_they_do_where_a_carrier_numbers_the_packets_and_skips_some(void **state)
{
    (void)state;
    int32_t count = CASES(250);
    for (int32_t seed = 1; seed <= count; seed++) {
        one_network((uint64_t)seed + 5000, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fates_are_true_and_messages_arrive_once_over_random_networks),
        cmocka_unit_test(so_they_do_where_a_carrier_numbers_the_packets_and_skips_some),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
