// How conversations go quiet, end, and begin anew: idle costs, time-outs, partitions, and clocks
// that are set in the middle of it. In virtual time.
#include "link_world.h"

static WorldDef pair_over(FlTime delay, FlTime jitter, int32_t loss_ppm)
{
    WorldDef def = world_def_default(11);
    for (int32_t i = 0; i < 2; i++) {
        def.way[i].delay_ns = delay;
        def.way[i].jitter_ns = jitter;
        def.way[i].shape = FL_SHAPE_UNIFORM;
        def.way[i].loss_ppm = loss_ppm;
    }
    return def;
}

static uint64_t packets_of(const World *world)
{
    return world->end[0].packet_count + world->end[1].packet_count;
}

static uint64_t bytes_of(const World *world)
{
    return world->end[0].byte_count + world->end[1].byte_count;
}

static void stream_both(World *world, FlTime period, int32_t bytes)
{
    world_stream(world, 0, period, bytes);
    world_stream(world, 1, period, bytes);
}

// ---------------------------------------------------------------- silence

static void an_idle_pair_costs_at_most_60_bytes_a_second(void **state)
{
    (void)state;
    FlTime delays[] = {FL_MS(1), FL_MS(50), FL_MS(300), FL_MS(800)};
    for (int32_t k = 0; k < 4; k++) {
        WorldDef def = pair_over(delays[k], delays[k] / 10, 0);
        World world;
        world_open(&world, &def);
        stream_both(&world, FL_MS(50), 30);
        world_say(&world, 1, FL_DELIVERY_ORDERED, 20, FL_MS(100));
        world_run(&world, FL_SEC(10), NULL);
        stream_both(&world, FL_FOREVER, 0);
        world_run(&world, FL_SEC(20), NULL); // the last words are answered
        uint64_t packets = packets_of(&world);
        uint64_t bytes = bytes_of(&world);
        world_run(&world, FL_SEC(20 + 60), NULL);
        double bytes_s = (double)(bytes_of(&world) - bytes) / 60.0;
        print_message("             %3d ms: %d packets in 60 s, %.1f bytes/s both ways\n",
                      (int)(delays[k] / FL_MS(1)), (int)(packets_of(&world) - packets), bytes_s);
        assert_true(bytes_s <= 60.0);
        assert_true(packets_of(&world) - packets >= 76); // a question and its answer every 1.5 s
        assert_true(fl__link_alive(world.end[0].link) && fl__link_alive(world.end[1].link));
        world_end(&world);
        world_close(&world);
    }
}

static void without_keep_alives_the_last_words_are_answered_and_then_it_is_quiet(void **state)
{
    (void)state;
    WorldDef def = pair_over(FL_MS(50), FL_MS(20), 300000);
    for (int32_t i = 0; i < 2; i++) {
        def.link[i].keep_alive_ns = FL_FOREVER;
        def.link[i].timeout_ns = FL_SEC(600);
    }
    World world;
    world_open(&world, &def);
    stream_both(&world, FL_MS(50), 30);
    world_run(&world, FL_SEC(5), NULL);
    stream_both(&world, FL_FOREVER, 0);
    uint64_t last[2] = {world.end[0].next_tag, world.end[1].next_tag};
    world_run(&world, FL_SEC(30), NULL);
    uint64_t packets = packets_of(&world);
    world_run(&world, FL_SEC(90), NULL);
    assert_int_equal(packets_of(&world), packets);
    // Each knows of every payload that arrived; of those lost at the very end nobody can.
    for (int32_t i = 0; i < 2; i++) {
        int32_t untold = 0;
        for (uint64_t tag = 0; tag < last[i]; tag++) {
            const WorldTruth *truth = &world.end[i].truth[tag];
            assert_true(truth->told != 0 || !truth->taken);
            untold += truth->told == 0 ? 1 : 0;
        }
        assert_true(untold < 20);
    }
    world_end(&world);
    world_close(&world);
}

static void a_silent_receiver_sends_bare_acks_within_the_ack_delay(void **state)
{
    (void)state;
    WorldDef def = pair_over(FL_MS(40), 0, 0);
    def.clock_drift[1] = 0.0;
    World world;
    world_open(&world, &def);
    world_stream(&world, 0, FL_MS(100), 30);
    world_run(&world, FL_SEC(10), NULL);
    // One ack for each packet (100 ms apart is longer than the ack delay), 44 bytes with headers:
    // 28 below us, 8 of our own, 8 for one report.
    assert_in_range(world.end[1].packet_count, 99, 101);
    assert_in_range(world.end[1].byte_count, world.end[1].packet_count * 44,
                    world.end[1].packet_count * 44 + 8);
    world_stream(&world, 0, FL_MS(10), 30);
    uint64_t packets = world.end[1].packet_count;
    world_run(&world, FL_SEC(20), NULL);
    // Denser traffic is acknowledged together: one ack every 25 to 35 ms.
    assert_in_range(world.end[1].packet_count - packets, 280, 401);
    // And the fate of each is known a round trip and an ack delay after it was sent.
    assert_true(world_fates(&world, 0).untold <= 12);
    world_end(&world);
    world_close(&world);
}

// Half of all packets lost, both ways: a keep-alive's answer comes back one time in four.
static void an_idle_pair_outlives_half_of_its_packets(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        WorldDef def = pair_over(FL_MS(50), FL_MS(10), 500000);
        def.seed = seed;
        World world;
        world_open(&world, &def);
        stream_both(&world, FL_MS(50), 30);
        world_run(&world, FL_SEC(5), NULL);
        stream_both(&world, FL_FOREVER, 0);
        world_run(&world, FL_SEC(120), NULL);
        assert_true(fl__link_alive(world.end[0].link) && fl__link_alive(world.end[1].link));
        world_end(&world);
        world_close(&world);
    }
}

// ---------------------------------------------------------------- partitions

static bool both_gone(const World *world)
{
    return !fl__link_alive(world->end[0].link) && !fl__link_alive(world->end[1].link);
}

static void ten_minutes_apart_end_the_conversation_cleanly_and_a_new_one_works(void **state)
{
    (void)state;
    WorldDef def = pair_over(FL_MS(80), FL_MS(30), 100000);
    World world;
    world_open(&world, &def);
    stream_both(&world, FL_MS(50), 30);
    world_say(&world, 0, FL_DELIVERY_ORDERED, 100000, FL_MS(20));
    world_run(&world, FL_SEC(20), NULL);
    world.cut[0] = world.cut[1] = true;
    FlTime cut_at = world.now;
    world_run(&world, FL_SEC(60), both_gone);
    assert_true(both_gone(&world));
    FlTime silence = world.now - cut_at;
    assert_in_range(silence, FL_SEC(9), FL_SEC(11));
    for (int32_t i = 0; i < 2; i++) {
        WorldFates fates = world_fates(&world, i);
        assert_int_equal(fates.untold, 0);
        assert_true(fates.unknown > 150);
        assert_int_equal(fl_link_deadline(world.end[i].link, world_clock(&world, i)), FL_FOREVER);
        assert_false(fl__link_wants_to_send(world.end[i].link, world_clock(&world, i)));
        assert_int_equal(fl_link_send(world.end[i].link, FL_DELIVERY_ORDERED, "x", 1), FL_STALE_ID);
    }
    stream_both(&world, FL_FOREVER, 0);
    world_run(&world, FL_SEC(620), NULL);
    world_check(&world);

    // Another conversation between the same two, while packets of the old one are still about.
    FlLinkPacket got;
    uint8_t old[64];
    FlWriter writer;
    uint64_t sequence;
    FlLink *twin;
    assert_int_equal(fl_link_create(&def.link[0], 0, &twin), FL_OK);
    assert_int_equal(fl_link_begin(twin, 0, world.message, &writer), FL_OK);
    int32_t old_bytes = fl_link_finish(twin, 0, &writer, 0, &sequence);
    memcpy(old, world.message, (size_t)old_bytes);
    fl_link_destroy(twin);
    world.cut[0] = world.cut[1] = false;
    world.def.link[0].conversation = world.def.link[1].conversation = 0xbee6;
    world_link_open(&world, 0);
    world_link_open(&world, 1);
    world.end[0].talk[FL_DELIVERY_ORDERED].wanted = 0;
    for (int32_t i = 0; i < 2; i++) {
        FlLinkDrop drop =
            fl_link_receive(world.end[i].link, world_clock(&world, i), 0, old, old_bytes, &got);
        world.end[i].given++;
        assert_int_equal(drop, FL_LINK_DROP_CONVERSATION);
    }
    world_say(&world, 1, FL_DELIVERY_ORDERED, 200, 0);
    stream_both(&world, FL_MS(50), 30);
    FlTime begun_at = world.now;
    world_run(&world, world.now + FL_SEC(30), world_all_heard);
    assert_true(world_all_heard(&world));
    assert_true(world.now - begun_at < FL_SEC(5));
    FlLinkStats stats;
    fl_link_stats(world.end[1].link, world_clock(&world, 1), &stats);
    assert_int_equal(stats.drops[FL_LINK_DROP_CONVERSATION], 1);
    world_end(&world);
    world_close(&world);
}

static void a_cut_shorter_than_the_time_out_is_made_good(void **state)
{
    (void)state;
    for (int32_t ways = 1; ways <= 3; ways++) {
        WorldDef def = pair_over(FL_MS(80), FL_MS(30), 0);
        def.link[0].sent_capacity = def.link[1].sent_capacity = 1024;
        World world;
        world_open(&world, &def);
        stream_both(&world, FL_MS(50), 30);
        world_say(&world, 0, FL_DELIVERY_ORDERED, 500, FL_MS(20));
        world_say(&world, 1, FL_DELIVERY_UNORDERED, 500, FL_MS(20));
        world_run(&world, FL_SEC(5), NULL);
        world.cut[0] = (ways & 1) != 0;
        world.cut[1] = (ways & 2) != 0;
        world_run(&world, FL_SEC(14), NULL);
        world.cut[0] = world.cut[1] = false;
        world_run(&world, FL_SEC(60), world_all_heard);
        assert_true(world_all_heard(&world));
        assert_true(world.now < FL_SEC(18));
        world_run(&world, FL_SEC(20), NULL);
        assert_true(fl__link_alive(world.end[0].link) && fl__link_alive(world.end[1].link));
        for (int32_t i = 0; i < 2; i++) {
            WorldFates fates = world_fates(&world, i);
            assert_int_equal(fates.unknown, 0);
            assert_int_equal(fates.lost > 0, (ways >> i & 1) != 0);
            assert_true(fates.lost == 0 || fates.lost > 150);
            assert_true(fates.lost < 500); // in nine seconds, 180 of them payloads
        }
        world_end(&world);
        world_close(&world);
    }
}

static void a_peer_that_answers_but_reports_nothing_is_given_up_in_the_end(void **state)
{
    (void)state;
    // End 0 is heard by nobody, but hears: without this rule its numbers would come round.
    WorldDef def = pair_over(FL_MS(5), 0, 0);
    for (int32_t i = 0; i < 2; i++) {
        def.link[i].timeout_ns = FL_SEC(1800);
        def.link[i].sent_capacity = 16;
        def.way[i].duplicate_ppm = 0;
    }
    World world;
    world_open(&world, &def);
    world.cut[0] = true;
    world_stream(&world, 0, FL_MS(10), 0);
    world_stream(&world, 1, FL_SEC(1), 10);
    world_run(&world, FL_SEC(400), both_gone);
    assert_false(fl__link_alive(world.end[0].link));
    assert_int_equal(world.end[0].packet_count, 16384 - 1);
    assert_int_equal(world_fates(&world, 0).untold, 0);
    world_end(&world);
    world_close(&world);
}

// ---------------------------------------------------------------- clocks that are set

static void a_clock_set_back_neither_stops_nor_ends_the_conversation(void **state)
{
    (void)state;
    FlTime back[] = {FL_MS(10), FL_SEC(1), FL_SEC(5), FL_SEC(3600), FL_SEC(86400) * 365};
    for (int32_t k = 0; k < 5; k++) {
        for (int32_t i = 0; i < 2; i++) {
            WorldDef def = pair_over(FL_MS(40), FL_MS(10), 100000);
            World world;
            world_open(&world, &def);
            world.clock_was_set = true;
            stream_both(&world, FL_MS(50), 30);
            world_say(&world, 0, FL_DELIVERY_ORDERED, 400, FL_MS(50));
            world_say(&world, 1, FL_DELIVERY_ORDERED, 400, FL_MS(50));
            world_run(&world, FL_SEC(10) + FL_MS(20), NULL);
            world.end[i].clock_offset -= back[k];
            FlTime set_at = world.now;
            world_run(&world, FL_SEC(60), world_all_heard);
            assert_true(world_all_heard(&world));
            assert_true(world.now - set_at < FL_SEC(15));
            assert_true(fl__link_alive(world.end[0].link) && fl__link_alive(world.end[1].link));
            world_run(&world, world.now + FL_SEC(20), NULL);
            FlLinkStats stats;
            fl_link_stats(world.end[i].link, world_clock(&world, i), &stats);
            assert_in_range(stats.rtt_average_ns, FL_MS(60), FL_MS(100));
            assert_int_equal(world_fates(&world, i).unknown, 0);
            world_end(&world);
            world_close(&world);
        }
    }
}

static void a_clock_set_forward_ends_the_conversation_or_does_no_harm(void **state)
{
    (void)state;
    FlTime ahead[] = {FL_MS(500), FL_SEC(4), FL_SEC(12), FL_SEC(3600), FL_SEC(86400) * 365};
    for (int32_t k = 0; k < 5; k++) {
        for (int32_t i = 0; i < 2; i++) {
            WorldDef def = pair_over(FL_MS(40), FL_MS(10), 100000);
            World world;
            world_open(&world, &def);
            stream_both(&world, FL_MS(50), 30);
            world_say(&world, 0, FL_DELIVERY_ORDERED, 400, FL_MS(50));
            world_run(&world, FL_SEC(10) + FL_MS(46), NULL); // with reports not told yet
            world.end[i].clock_offset += ahead[k];
            world_run(&world, FL_SEC(60), NULL);
            bool lives = ahead[k] < FL_SEC(10);
            assert_int_equal(fl__link_alive(world.end[0].link), lives);
            assert_int_equal(fl__link_alive(world.end[1].link), lives);
            assert_int_equal(world_all_heard(&world), lives);
            for (int32_t e = 0; e < 2; e++) { // in spite of round trips across the jump
                FlLinkStats stats;
                fl_link_stats(world.end[e].link, world_clock(&world, e), &stats);
                assert_true(stats.rtt_min_ns >= FL_MS(59));
            }
            world_end(&world);
            world_close(&world);
        }
    }
}

// A packet that waited in the socket while its program slept: nobody may take it for a fresh one.
static void
a_packet_after_the_time_out_is_not_taken_even_before_the_time_out_was_noticed(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    FlLink *a;
    FlLink *b;
    assert_int_equal(fl_link_create(&def, 0, &a), FL_OK);
    assert_int_equal(fl_link_create(&def, 0, &b), FL_OK);
    uint8_t buffer[FL_LINK_PACKET_BYTES];
    FlWriter writer;
    uint64_t sequence;
    assert_int_equal(fl_link_begin(a, FL_SEC(1), buffer, &writer), FL_OK);
    int32_t bytes = fl_link_finish(a, FL_SEC(1), &writer, 0, &sequence);
    FlLinkPacket got;
    assert_int_equal(fl_link_receive(b, FL_SEC(10), 0, buffer, bytes, &got), FL_LINK_DROP_GONE);
    assert_true(fl__link_alive(b)); // it is fl_link_update that ends it
    fl_link_update(b, FL_SEC(10));
    assert_false(fl__link_alive(b));
    fl_link_destroy(a);
    fl_link_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_pair_costs_at_most_60_bytes_a_second),
        cmocka_unit_test(without_keep_alives_the_last_words_are_answered_and_then_it_is_quiet),
        cmocka_unit_test(a_silent_receiver_sends_bare_acks_within_the_ack_delay),
        cmocka_unit_test(an_idle_pair_outlives_half_of_its_packets),
        cmocka_unit_test(ten_minutes_apart_end_the_conversation_cleanly_and_a_new_one_works),
        cmocka_unit_test(a_cut_shorter_than_the_time_out_is_made_good),
        cmocka_unit_test(a_peer_that_answers_but_reports_nothing_is_given_up_in_the_end),
        cmocka_unit_test(a_clock_set_back_neither_stops_nor_ends_the_conversation),
        cmocka_unit_test(a_clock_set_forward_ends_the_conversation_or_does_no_harm),
        cmocka_unit_test(
            a_packet_after_the_time_out_is_not_taken_even_before_the_time_out_was_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
