// Guided replicas: the message, where to walk, when it is near, and blanks.
#include "fairlead/show.h"

#include "show/show.h"

#include "wire_support.h"

static FlWorld arena_world(void)
{
    FlWorldDef def = fl_world_def_default();
    def.low = (FlVec3){-2048.0, -2048.0, 0.0};
    def.high = (FlVec3){2048.0, 2048.0, 512.0};
    def.precision = 0.25;
    def.top_speed = 1000.0;
    def.top_acceleration = 1000.0;
    return world_of(&def);
}

static FlGuidance random_guidance(FlRandom *r, const FlWorld *world)
{
    FlGuidance g = {0};
    uint64_t capacity = (uint64_t)world->def.entity_capacity;
    g.entity = (uint32_t)fl_random_below(r, capacity);
    g.life = (uint32_t)fl_random_below(r, 4);
    g.time = random_time(r, 0, FL_SEC(100000)) / FL_UPDATE_STEP_NS * FL_UPDATE_STEP_NS;
    g.ahead_ns = random_time(r, 0, FL_GUIDANCE_AHEAD_MAX_NS);
    g.position.x = fl_random_between(r, world->def.low.x, world->def.high.x);
    g.position.y = fl_random_between(r, world->def.low.y, world->def.high.y);
    g.position.z = fl_random_between(r, world->def.low.z, world->def.high.z);
    g.point_count = (int32_t)fl_random_below(r, FL_GUIDANCE_POINTS + 1);
    for (int32_t i = 0; i < g.point_count; i++) {
        g.points[i].x = fl_random_between(r, world->def.low.x, world->def.high.x);
        g.points[i].y = fl_random_between(r, world->def.low.y, world->def.high.y);
        g.points[i].z = fl_random_between(r, world->def.low.z, world->def.high.z);
    }
    g.aimed = random_chance(r, 2);
    g.target = (uint32_t)fl_random_below(r, capacity);
    g.target = g.aimed ? g.target : 0;
    g.yaw = fl_random_between(r, -4.0, 4.0);
    g.pitch = fl_random_between(r, -FL_PI / 2.0, FL_PI / 2.0);
    g.actions[0] = (uint8_t)fl_random_below(r, 16);
    g.actions[1] = (uint8_t)fl_random_below(r, 16);
    return g;
}

static int32_t encoded(const FlWorld *world, const FlGuidance *g, uint8_t bytes[64])
{
    FlWriter writer;
    fl_writer_init(&writer, bytes, 64);
    assert_true(fl__guidance_encode(&writer, world, g));
    assert_int_equal(fl_writer_size(&writer), fl__guidance_bytes(world, g));
    return fl_writer_size(&writer);
}

static bool decoded(const FlWorld *world, const uint8_t *bytes, int32_t size, FlTime stamp,
                    FlGuidance *g)
{
    FlReader reader;
    fl_reader_init(&reader, bytes, size);
    bool ok = fl__guidance_decode(&reader, world, stamp, g);
    assert_int_equal(ok, !reader.failed);
    return ok;
}

static void check_equal(const FlGuidance *a, const FlGuidance *b)
{
    assert_int_equal(a->entity, b->entity);
    assert_int_equal(a->life, b->life);
    assert_int_equal(a->time, b->time);
    assert_int_equal(a->ahead_ns, b->ahead_ns);
    assert_true(same_vec3(a->position, b->position));
    assert_int_equal(a->point_count, b->point_count);
    for (int32_t i = 0; i < a->point_count; i++) {
        assert_true(same_vec3(a->points[i], b->points[i]));
    }
    assert_int_equal(a->aimed, b->aimed);
    assert_int_equal(a->target, b->target);
    assert_true(same_double(a->yaw, b->yaw));
    assert_true(same_double(a->pitch, b->pitch));
    assert_int_equal(a->actions[0], b->actions[0]);
    assert_int_equal(a->actions[1], b->actions[1]);
}

// ---------------------------------------------------------------- the message

static void a_guidance_arrives_as_it_was_rounded_and_near_what_was_meant(void **state)
{
    (void)state;
    FlWorld world = arena_world();
    FlRandom r = random_stream(7400);
    for (int32_t i = 0; i < CASES(20000); i++) {
        FlGuidance meant = random_guidance(&r, &world);
        FlGuidance rounded;
        assert_int_equal(fl__guidance_round(&world, &meant, &rounded), FL_OK);
        FlGuidance twice;
        assert_int_equal(fl__guidance_round(&world, &rounded, &twice), FL_OK);
        check_equal(&rounded, &twice);
        uint8_t bytes[64];
        int32_t size = encoded(&world, &meant, bytes);
        FlTime stamp = meant.time + random_time(&r, -FL_SEC(1), FL_SEC(15));
        FlGuidance got;
        assert_true(decoded(&world, bytes, size, stamp, &got));
        check_equal(&got, &rounded);
        check_vec3_near(got.position, meant.position, 0.25);
        for (int32_t k = 0; k < got.point_count; k++) {
            check_vec3_near(got.points[k], meant.points[k], 0.25);
        }
        assert_true(llabs(got.ahead_ns - meant.ahead_ns) <= FL_MS(8));
        check_near(remainder(got.yaw - meant.yaw, 2.0 * FL_PI), 0.0, world.def.angle_precision);
        check_near(got.pitch, meant.pitch, FL_PI / 64.0);
        uint8_t again[64];
        assert_int_equal(encoded(&world, &got, again), size);
        assert_memory_equal(bytes, again, (size_t)size);
    }
}

static void it_takes_eighteen_bytes_at_most_in_an_arena_and_in_the_default_world(void **state)
{
    (void)state;
    FlWorld arena = arena_world();
    FlWorldDef def = fl_world_def_default();
    FlWorld usual = world_of(&def);
    FlGuidance aimed = {.aimed = true};
    assert_in_range(fl__guidance_bytes(&arena, &aimed), 1, 18);
    assert_in_range(fl__guidance_bytes(&usual, &aimed), 1, 18);
    FlGuidance pointed = {.aimed = true, .point_count = 2}; // 14, 14 and 12 bits each
    assert_int_equal(fl__guidance_bytes(&arena, &pointed), fl__guidance_bytes(&arena, &aimed) + 10);
}

static void what_cannot_be_told_is_refused(void **state)
{
    (void)state;
    FlWorld world = arena_world();
    FlRandom r = random_stream(7401);
    FlGuidance good = random_guidance(&r, &world);
    good.aimed = false;
    good.target = 0;
    FlGuidance bad[12];
    for (int32_t i = 0; i < 12; i++) {
        bad[i] = good;
    }
    bad[0].position.x = 5000.0;
    bad[1].position.z = (double)NAN;
    bad[2].yaw = (double)INFINITY;
    bad[3].pitch = (double)NAN;
    bad[4].pitch = 2.0;
    bad[5].ahead_ns = -1;
    bad[6].ahead_ns = FL_GUIDANCE_AHEAD_MAX_NS + 1;
    bad[7].time += 1;
    bad[8].entity = (uint32_t)world.def.entity_capacity;
    bad[9].actions[0] = 16;
    bad[10].target = 1; // aims at nobody
    bad[11].aimed = true;
    bad[11].target = (uint32_t)world.def.entity_capacity;
    for (int32_t i = 0; i < 12; i++) {
        FlGuidance out;
        assert_int_equal(fl__guidance_round(&world, &bad[i], &out), FL_BAD_VALUE);
        uint8_t bytes[64];
        FlWriter writer;
        fl_writer_init(&writer, bytes, sizeof bytes);
        assert_false(fl__guidance_encode(&writer, &world, &bad[i]));
        assert_int_equal(fl_writer_size(&writer), 0);
        assert_false(writer.failed);
    }
}

static void every_truncation_is_noticed_and_noise_encodes_to_itself_or_is_refused(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    def.entity_capacity = 1000;
    FlWorld world = world_of(&def);
    FlRandom r = random_stream(7402);
    int32_t taken = 0;
    for (int32_t i = 0; i < CASES(20000); i++) {
        uint8_t bytes[64];
        for (int32_t k = 0; k < 64; k++) {
            bytes[k] = (uint8_t)fl_random_below(&r, 256);
        }
        FlGuidance got;
        FlTime stamp = FL_SEC(50);
        FlGuidance like = {.aimed = true, .point_count = i % (FL_GUIDANCE_POINTS + 1)};
        bytes[fl__guidance_bytes(&world, &like) - 1] &= 0x0f;
        bool ok = decoded(&world, bytes, 64, stamp, &got);
        if (ok) {
            taken++;
            uint8_t again[64];
            int32_t size = encoded(&world, &got, again);
            assert_memory_equal(bytes, again, (size_t)size);
            FlGuidance none;
            assert_false(decoded(&world, bytes, size - 1, stamp, &none));
        }
    }
    assert_true(taken > CASES(20000) / 200);
}

// ---------------------------------------------------------------- the replica

static FlGuidance told(FlTime time, FlTime ahead, double x, uint8_t shots)
{
    FlGuidance g = {.time = time, .ahead_ns = ahead, .position = {x, 0.0, 0.0}, .life = 1};
    g.actions[0] = shots;
    return g;
}

static void it_walks_to_where_it_was_told_and_nothing_older_counts(void **state)
{
    (void)state;
    FlGuide guide;
    fl__guide_init(&guide, 30.0);
    FlGuideGoal goal;
    assert_false(fl__guide_goal(&guide, 0, NULL, &goal));
    FlGuidance g = told(FL_SEC(1), FL_SEC(1), 100.0, 0);
    assert_true(fl__guide_receive(&guide, &g, FL_MS(1100)));
    assert_true(fl__guide_take_cut(&guide));
    assert_false(fl__guide_take_cut(&guide));
    assert_true(fl__guide_goal(&guide, FL_MS(1500), NULL, &goal));
    assert_true(same_double(goal.position.x, 100.0));
    check_near(goal.seconds, 0.5, 1e-12);
    FlGuidance older = told(FL_MS(500), FL_SEC(1), 50.0, 0);
    assert_false(fl__guide_receive(&guide, &older, FL_MS(1200)));
    assert_int_equal(guide.overtaken, 1);
    assert_true(fl__guide_goal(&guide, FL_SEC(9), NULL, &goal));
    assert_true(same_double(goal.position.x, 100.0));
    assert_true(same_double(goal.seconds, 0.0));
}

static void overdue_it_goes_on_at_its_pace_for_a_while(void **state)
{
    (void)state;
    FlGuide guide;
    fl__guide_init(&guide, 30.0);
    FlGuidance g = told(FL_SEC(1), FL_SEC(1), 100.0, 0);
    assert_true(fl__guide_receive(&guide, &g, FL_SEC(1)));
    FlVec3 begin = {0.0, 0.0, 0.0};
    FlGuideGoal goal;
    (void)fl__guide_step(&guide, FL_SEC(1), begin, NULL); // a cut: it is put somewhere first
    assert_true(fl__guide_take_cut(&guide));
    (void)fl__guide_step(&guide, FL_SEC(1), begin, NULL);
    assert_true(fl__guide_goal(&guide, FL_MS(2000), NULL, &goal));
    check_near(goal.position.x, 100.0, 1e-9);
    assert_true(fl__guide_goal(&guide, FL_MS(2500), NULL, &goal));
    check_near(goal.position.x, 150.0, 1e-9);
    assert_true(fl__guide_goal(&guide, FL_SEC(9), NULL, &goal));
    check_near(goal.position.x, 175.0, 1e-9);
}

static void points_say_where_it_is_at_any_time(void **state)
{
    (void)state;
    FlGuide guide;
    fl__guide_init(&guide, 30.0);
    FlGuidance g = told(FL_SEC(1), FL_SEC(1), 100.0, 0);
    g.point_count = 2;
    g.points[0] = (FlVec3){0.0, 0.0, 0.0};
    g.points[1] = (FlVec3){0.0, 80.0, 10.0};
    assert_true(fl__guide_receive(&guide, &g, FL_SEC(1)));
    FlGuideGoal goal;
    assert_true(fl__guide_goal(&guide, FL_MS(1250), NULL, &goal)); // a life begins: it is put there
    check_vec3_near(goal.position, fl_vec3(0.0, 40.0, 5.0), 1e-9);
    assert_true(fl__guide_take_cut(&guide));
    assert_true(fl__guide_goal(&guide, FL_MS(1550), NULL, &goal)); // where it will be in 200 ms
    check_vec3_near(goal.position, fl_vec3(50.0, 40.0, 5.0), 1e-9);
    check_near(goal.seconds, 0.2, 1e-12);
    assert_true(fl__guide_goal(&guide, FL_MS(2050), NULL, &goal)); // past its end, on a level
    check_vec3_near(goal.position, fl_vec3(150.0, -40.0, 0.0), 1e-9);
    FlVec3 end = fl_vec3(250.0, -120.0, 0.0);
    assert_true(fl__guide_goal(&guide, FL_SEC(50), NULL, &goal));
    check_vec3_near(goal.position, end, 1e-9);
    assert_int_equal(goal.time, FL_SEC(1));
}

static void it_nears_while_snapshots_come_and_is_near_within_a_diameter(void **state)
{
    (void)state;
    FlGuide guide;
    fl__guide_init(&guide, 30.0);
    FlGuidance g = told(0, FL_SEC(1), 100.0, 0);
    assert_true(fl__guide_receive(&guide, &g, 0));
    FlVec3 replica = {0.0, 0.0, 0.0};
    FlVec3 snapshot = {0.0, 100.0, 0.0};
    assert_int_equal(fl__guide_step(&guide, FL_MS(10), replica, NULL), FL_GUIDE_FAR);
    fl__guide_snapshot(&guide, FL_MS(20), FL_MS(200));
    assert_int_equal(fl__guide_step(&guide, FL_MS(20), replica, &snapshot), FL_GUIDE_NEARING);
    FlGuideGoal goal;
    assert_true(fl__guide_goal(&guide, FL_MS(20), &snapshot, &goal));
    assert_true(same_vec3(goal.position, snapshot));
    replica.y = 69.0;
    fl__guide_snapshot(&guide, FL_MS(70), FL_MS(200));
    assert_int_equal(fl__guide_step(&guide, FL_MS(70), replica, &snapshot), FL_GUIDE_NEARING);
    replica.y = 71.0;
    assert_int_equal(fl__guide_step(&guide, FL_MS(120), replica, &snapshot), FL_GUIDE_NEAR);
    replica.y = 0.0; // it is the thing itself now: no way back but by losing attention
    assert_int_equal(fl__guide_step(&guide, FL_MS(269), replica, &snapshot), FL_GUIDE_NEAR);
    assert_int_equal(fl__guide_step(&guide, FL_MS(270), replica, &snapshot), FL_GUIDE_FAR);
}

static void every_action_is_played_once_spread_over_the_time_until_the_next_word(void **state)
{
    (void)state;
    FlRandom r = random_stream(7403);
    for (int32_t i = 0; i < CASES(500); i++) {
        FlGuide guide;
        fl__guide_init(&guide, 1.0);
        uint32_t count = (uint32_t)fl_random_below(&r, 1000);
        FlGuidance g = told(0, FL_SEC(1), 0.0, (uint8_t)(count & 15u));
        assert_true(fl__guide_receive(&guide, &g, 0));
        assert_false(fl__guide_play(&guide, 0, FL_SEC(1))); // what it did before we met
        for (int32_t second = 1; second < 10; second++) {
            uint32_t more = (uint32_t)fl_random_below(&r, 16);
            count += more;
            g = told(FL_SEC(second), FL_SEC(1), 0.0, (uint8_t)(count & 15u));
            assert_true(fl__guide_receive(&guide, &g, FL_SEC(second)));
            uint32_t played = 0;
            for (FlTime now = FL_SEC(second); now < FL_SEC(second + 1); now += FL_MS(10)) {
                uint32_t at_once = 0;
                while (fl__guide_play(&guide, 0, now)) {
                    at_once++;
                }
                assert_true(at_once <= 1);
                played += at_once;
            }
            assert_int_equal(played, more);
        }
    }
}

static void a_new_life_appears_at_its_goal_and_plays_nothing_of_the_old_one(void **state)
{
    (void)state;
    FlGuide guide;
    fl__guide_init(&guide, 1.0);
    FlGuidance g = told(0, FL_SEC(1), 0.0, 3);
    assert_true(fl__guide_receive(&guide, &g, 0));
    assert_true(fl__guide_take_cut(&guide));
    g = told(FL_SEC(1), FL_SEC(1), 500.0, 9);
    g.life = 2;
    assert_true(fl__guide_receive(&guide, &g, FL_SEC(1)));
    assert_true(fl__guide_take_cut(&guide));
    assert_false(fl__guide_play(&guide, 0, FL_SEC(2)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guidance_arrives_as_it_was_rounded_and_near_what_was_meant),
        cmocka_unit_test(it_takes_eighteen_bytes_at_most_in_an_arena_and_in_the_default_world),
        cmocka_unit_test(what_cannot_be_told_is_refused),
        cmocka_unit_test(every_truncation_is_noticed_and_noise_encodes_to_itself_or_is_refused),
        cmocka_unit_test(it_walks_to_where_it_was_told_and_nothing_older_counts),
        cmocka_unit_test(overdue_it_goes_on_at_its_pace_for_a_while),
        cmocka_unit_test(points_say_where_it_is_at_any_time),
        cmocka_unit_test(it_nears_while_snapshots_come_and_is_near_within_a_diameter),
        cmocka_unit_test(every_action_is_played_once_spread_over_the_time_until_the_next_word),
        cmocka_unit_test(a_new_life_appears_at_its_goal_and_plays_nothing_of_the_old_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
