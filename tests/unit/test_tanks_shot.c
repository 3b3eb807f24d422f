// Shots: where they fly, where they end, whom they hit.
#include "support.h"

#include "tanks/tanks.h"

static TanksWorld world_with(int32_t building_count)
{
    TanksRules rules = tanks_rules_default();
    rules.building_count = building_count;
    TanksWorld world;
    assert_int_equal(tanks_world_init(&rules, &world), FL_OK);
    return world;
}

static TanksShot shot_at(const TanksWorld *world, double x, double y, double yaw, FlTime time)
{
    TanksEvent event = {
        .kind = TANKS_EVENT_SHOT, .tank = 0, .shot = 1, .time = time, .x = x, .y = y, .yaw = yaw};
    tanks_event_round(&event);
    TanksShot shot;
    tanks_shot_start(world, &event, &shot);
    return shot;
}

static TanksSeen tank_at(double x, double y, double yaw)
{
    TanksSeen seen = {.x = x, .y = y, .yaw = yaw, .life = 1, .alive = true};
    return seen;
}

static void a_shot_flies_straight_until_its_range_or_a_wall(void **state)
{
    (void)state;
    TanksWorld world = world_with(0);
    TanksShot shot = shot_at(&world, -300.0, 10.0, 0.0, FL_SEC(2));
    assert_int_equal(shot.ends, FL_SEC(2) + FL_MS(3500));
    double x, y;
    assert_false(tanks_shot_position(&world, &shot, FL_SEC(2) - 1, &x, &y));
    assert_true(tanks_shot_position(&world, &shot, FL_SEC(2), &x, &y));
    check_near(x, -300.0, 0.0);
    assert_true(tanks_shot_position(&world, &shot, FL_SEC(3), &x, &y));
    check_near(x, -200.0, 1e-9);
    check_near(y, 10.0, 1e-9);
    assert_true(tanks_shot_position(&world, &shot, shot.ends - 1, &x, &y));
    assert_false(tanks_shot_position(&world, &shot, shot.ends, &x, &y));
    check_near(x, 50.0, 1e-9);
    shot = shot_at(&world, 300.0, 10.0, 0.0, 0);
    assert_int_equal(shot.ends, FL_SEC(1)); // the wall is 100 units off
    shot = shot_at(&world, 401.0, 0.0, 0.0, 0);
    assert_int_equal(shot.ends, 0); // fired through the wall: ends at once
}

static void buildings_stop_shots_at_their_face(void **state)
{
    (void)state;
    TanksWorld world = world_with(0);
    world.building[world.building_count++] = (TanksBox){50.0, -20.0, 90.0, 20.0};
    TanksShot shot = shot_at(&world, 0.0, 0.0, 0.0, 0);
    assert_int_equal(shot.ends, FL_MS(500));
    TanksSeen behind = tank_at(120.0, 0.0, 0.0);
    TanksSeen before_it = tank_at(40.0, 0.0, 0.0);
    FlTime when = -1;
    for (FlTime t = 0; t < FL_SEC(4); t += FL_MS(10)) {
        assert_false(tanks_shot_hits(&world, &shot, t, t + FL_MS(10), &behind, &behind, &when));
    }
    assert_true(
        tanks_shot_hits(&world, &shot, FL_MS(300), FL_MS(400), &before_it, &before_it, &when));
    check_near(fl_span_seconds(when), 0.365, 1e-6); // 3.5 before its centre
    shot = shot_at(&world, 60.0, 0.0, 0.0, 0);
    assert_int_equal(shot.ends, 0); // a muzzle in a building
}

// The slow way: small steps, and is the point in the grown rectangle?
static FlTime hit_by_walking(const TanksWorld *world, const TanksShot *shot, FlTime from, FlTime to,
                             const TanksSeen *a, const TanksSeen *b, double grow)
{
    for (FlTime t = from; t <= to; t += FL_US(20)) {
        double x, y;
        if (!tanks_shot_position(world, shot, t, &x, &y)) {
            continue;
        }
        double part = (double)(t - from) / (double)(to - from);
        double yaw = a->yaw + fl_angle_wrap(b->yaw - a->yaw) * part;
        x -= a->x + (b->x - a->x) * part;
        y -= a->y + (b->y - a->y) * part;
        double along = fabs(x * cos(yaw) + y * sin(yaw));
        double across = fabs(y * cos(yaw) - x * sin(yaw));
        if (along <= 3.5 + grow && across <= 1.9 + grow) {
            return t;
        }
    }
    return -1;
}

static void a_shot_hits_what_its_way_goes_through(void **state)
{
    (void)state;
    FlRandom r = random_stream(9200);
    TanksWorld world = world_with(0);
    int32_t hits = 0;
    for (int32_t n = 0; n < CASES(20000); n++) {
        double yaw = fl_random_between(&r, -FL_PI, FL_PI);
        double speed = fl_random_between(&r, -0.3, 0.5);
        TanksSeen a = tank_at(0.0, 0.0, yaw);
        a.x = fl_random_between(&r, -300.0, 300.0);
        a.y = fl_random_between(&r, -300.0, 300.0);
        TanksSeen b = a;
        b.x += speed * cos(yaw);
        b.y += speed * sin(yaw);
        b.yaw = fl_angle_wrap(yaw + fl_random_between(&r, -0.013, 0.013));
        double off_x = fl_random_between(&r, -5.0, 5.0);
        double off_y = fl_random_between(&r, -5.0, 5.0);
        double way = fl_random_between(&r, -FL_PI, FL_PI);
        TanksShot shot = shot_at(&world, a.x + off_x, a.y + off_y, way, FL_SEC(1));
        FlTime from = random_time(&r, FL_SEC(1) - FL_MS(10), FL_SEC(1) + FL_MS(10));
        FlTime to = from + FL_SEC(1) / 60;
        FlTime when = -1;
        bool hit = tanks_shot_hits(&world, &shot, from, to, &a, &b, &when);
        FlTime surely = hit_by_walking(&world, &shot, from, to, &a, &b, -0.03);
        FlTime barely = hit_by_walking(&world, &shot, from, to, &a, &b, 0.03);
        assert_false(!hit && surely >= 0);
        assert_false(hit && barely < 0);
        if (hit && surely >= 0) {
            assert_true(when >= barely - FL_US(100) && when <= surely + FL_US(100));
        }
        hits += hit ? 1 : 0;
    }
    assert_true(hits > CASES(20000) / 10 && hits < CASES(20000) * 9 / 10);
}

static void no_shot_slips_between_two_ticks(void **state)
{
    (void)state;
    FlRandom r = random_stream(9201);
    TanksWorld world = world_with(0);
    for (int32_t n = 0; n < CASES(2000); n++) {
        double yaw = fl_random_between(&r, -FL_PI, FL_PI);
        double tank_yaw = fl_random_between(&r, -FL_PI, FL_PI);
        TanksSeen tank = tank_at(150.0 * cos(yaw), 150.0 * sin(yaw), tank_yaw);
        TanksShot shot = shot_at(&world, 0.0, 0.0, yaw, 0);
        FlTime step = random_time(&r, FL_MS(1), FL_MS(50));
        int32_t hits = 0;
        for (FlTime t = 0; t < FL_SEC(2); t += step) {
            FlTime when;
            hits += tanks_shot_hits(&world, &shot, t, t + step, &tank, &tank, &when) ? 1 : 0;
        }
        assert_true(hits >= 1);
    }
}

static void nobody_is_hit_while_dead_or_across_a_cut_or_by_its_own_shot(void **state)
{
    (void)state;
    TanksWorld world = world_with(0);
    TanksShot shot = shot_at(&world, 0.0, 0.0, 0.0, 0);
    TanksSeen there = tank_at(5.0, 0.0, 0.0);
    TanksSeen dead = there;
    dead.alive = false;
    TanksSeen next = there;
    next.life++;
    FlTime when = -1;
    FlTime to = FL_MS(50);
    assert_true(tanks_shot_hits(&world, &shot, 0, to, &there, &there, &when));
    assert_false(tanks_shot_hits(&world, &shot, 0, to, &dead, &there, &when));
    assert_false(tanks_shot_hits(&world, &shot, 0, to, &there, &dead, &when));
    assert_false(tanks_shot_hits(&world, &shot, 0, to, &there, &next, &when));
    assert_int_equal(tanks_shot_first_hit(&world, &shot, 0, to, &there, &there, 1, &when), -1);
    there.x = (double)NAN;
    assert_false(tanks_shot_hits(&world, &shot, 0, to, &there, &there, &when));
}

static void the_first_in_the_way_is_hit_whatever_its_number(void **state)
{
    (void)state;
    TanksWorld world = world_with(0);
    TanksShot shot = shot_at(&world, 0.0, 0.0, 0.0, 0);
    TanksSeen tanks[4] = {tank_at(100.0, 100.0, 0.0), tank_at(30.0, 0.0, 0.0),
                          tank_at(20.0, 0.0, 0.0), tank_at(20.0, 0.0, 0.0)};
    FlTime when = -1;
    FlTime to = FL_MS(400);
    assert_int_equal(tanks_shot_first_hit(&world, &shot, 0, to, tanks, tanks, 4, &when), 2);
    check_near(fl_span_seconds(when), 0.165, 1e-6);
    tanks[2].alive = tanks[3].alive = false;
    assert_int_equal(tanks_shot_first_hit(&world, &shot, 0, to, tanks, tanks, 4, &when), 1);
    assert_int_equal(tanks_shot_first_hit(&world, &shot, 0, to, tanks, tanks, 1, &when), -1);
}

static void everybody_flies_the_shooters_shot(void **state)
{
    (void)state;
    FlRandom r = random_stream(9202);
    TanksWorld world = world_with(20);
    for (int32_t n = 0; n < CASES(5000); n++) {
        TanksTank tank;
        tanks_tank_init(&tank, (int32_t)fl_random_below(&r, TANKS_CAPACITY), n);
        tank.life = (uint32_t)n;
        tanks_tank_spawn(&world, &tank);
        TanksInput fire = {.fire = true};
        TanksEvent event, got;
        assert_true(tanks_tank_fire(&world, &tank, fire, &event));
        uint8_t bytes[TANKS_EVENT_BYTES_MAX];
        FlWriter writer;
        fl_writer_init(&writer, bytes, sizeof bytes);
        assert_true(tanks_event_encode(&writer, &event));
        FlReader reader;
        fl_reader_init(&reader, bytes, fl_writer_size(&writer));
        assert_true(tanks_event_decode(&reader, &got));
        TanksShot here, there;
        tanks_shot_start(&world, &event, &here);
        tanks_shot_start(&world, &got, &there);
        assert_true(here.dx == there.dx && here.dy == there.dy && here.ends == there.ends);
        assert_true(here.event.x == there.event.x && here.event.y == there.event.y);
        assert_int_equal(here.event.time, there.event.time);
    }
}

static void times_at_the_ends_of_the_range_do_no_harm(void **state)
{
    (void)state;
    TanksWorld world = world_with(0);
    TanksSeen tank = tank_at(0.0, 0.0, 0.0);
    const FlTime times[] = {0, INT64_MAX, INT64_MAX - 5, FL_SEC(1)};
    for (size_t i = 0; i < 4; i++) {
        TanksShot shot = shot_at(&world, -10.0, 0.0, 0.0, times[i]);
        assert_true(shot.ends >= times[i]);
        double x, y;
        for (size_t k = 0; k < 4; k++) {
            FlTime when = 0;
            tanks_shot_position(&world, &shot, times[k], &x, &y);
            assert_true(isfinite(x) && isfinite(y));
            tanks_shot_hits(&world, &shot, 0, times[k], &tank, &tank, &when);
        }
        tanks_shot_position(&world, &shot, INT64_MIN, &x, &y);
        assert_true(isfinite(x) && isfinite(y));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shot_flies_straight_until_its_range_or_a_wall),
        cmocka_unit_test(buildings_stop_shots_at_their_face),
        cmocka_unit_test(a_shot_hits_what_its_way_goes_through),
        cmocka_unit_test(no_shot_slips_between_two_ticks),
        cmocka_unit_test(nobody_is_hit_while_dead_or_across_a_cut_or_by_its_own_shot),
        cmocka_unit_test(the_first_in_the_way_is_hit_whatever_its_number),
        cmocka_unit_test(everybody_flies_the_shooters_shot),
        cmocka_unit_test(times_at_the_ends_of_the_range_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
