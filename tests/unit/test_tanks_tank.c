// One tank: limits, arcs, walls, spawns, reloading, and what it tells the network.
#include "support.h"

#include "motion/motion.h"
#include "tanks/tanks.h"

static TanksWorld world_with(TanksRules rules, uint64_t map_seed)
{
    rules.map_seed = map_seed;
    TanksWorld world;
    assert_int_equal(tanks_world_init(&rules, &world), FL_OK);
    return world;
}

static TanksTank tank_in(const TanksWorld *world, int32_t id)
{
    TanksTank tank;
    tanks_tank_init(&tank, id, 0);
    tanks_tank_spawn(world, &tank);
    return tank;
}

// Held for a while, as keys are; seldom something no key gives.
static TanksInput random_input(FlRandom *r)
{
    static const double odd[] = {2.0, -7.0, (double)NAN, (double)INFINITY, -(double)INFINITY};
    TanksInput input = {0};
    input.drive = fl_random_between(r, -1.0, 1.5);
    input.turn = (double)fl_random_below(r, 3) - 1.0;
    if (random_chance(r, 10)) {
        input.drive = odd[fl_random_below(r, 5)];
    }
    if (random_chance(r, 10)) {
        input.turn = odd[fl_random_below(r, 5)];
    }
    input.fire = random_chance(r, 2);
    return input;
}

static void check_limits(const TanksWorld *world, const TanksTank *before, const TanksTank *tank)
{
    const TanksRules *rules = &world->rules;
    const double hair = 1.0 + 1e-9;
    double gap_x = tank->x - before->x;
    double gap_y = tank->y - before->y;
    double way = sqrt(gap_x * gap_x + gap_y * gap_y);
    double turned = fabs(fl_angle_wrap(tank->yaw - before->yaw));
    double velocity = sqrt(tank->vx * tank->vx + tank->vy * tank->vy);
    assert_true(tanks_world_fits(world, tank->x, tank->y, tank->yaw));
    assert_true(way <= rules->top_speed * world->tick_s * hair);
    assert_true(turned <= rules->top_turn_rate * world->tick_s * hair);
    assert_true(tank->speed <= rules->top_speed * hair);
    assert_true(tank->speed >= -rules->reverse_speed * hair);
    assert_true(fabs(tank->turn_rate) <= rules->top_turn_rate);
    assert_true(velocity <= rules->top_speed * hair);
    assert_true(fabs(tank->yaw) <= FL_PI);
    if (!tank->sliding) {
        assert_true(fabs(tank->speed - before->speed) <=
                    rules->acceleration * world->tick_s * hair);
        assert_true(fabs(tank->turn_rate - before->turn_rate) <=
                    rules->turn_acceleration * world->tick_s * hair);
    }
}

static void drive_at_random(TanksRules rules, uint64_t seed, int32_t ticks, int32_t *sliding)
{
    FlRandom r = random_stream(9100 + seed);
    TanksWorld world = world_with(rules, seed);
    TanksTank tank = tank_in(&world, (int32_t)seed % TANKS_CAPACITY);
    TanksInput input = {0};
    for (int32_t n = 0; n < ticks; n++) {
        if (random_chance(&r, 40)) {
            input = random_input(&r);
        }
        TanksTank before = tank;
        tanks_tank_step(&world, &tank, input);
        check_limits(&world, &before, &tank);
        *sliding += tank.sliding ? 1 : 0;
    }
}

static void no_driver_breaks_the_limits_or_enters_a_building(void **state)
{
    (void)state;
    int32_t sliding = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        TanksRules rules = seed % 2 == 0 ? tanks_rules_default() : tanks_rules_inertia();
        rules.half_extent = seed % 4 < 2 ? 100.0 : 400.0; // a crowded arena bumps more
        drive_at_random(rules, seed, CASES(20000), &sliding);
    }
    assert_true(sliding > 40 * CASES(20000) / 20); // it did bump
}

static void a_held_up_tank_can_always_back_out(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        TanksRules rules = tanks_rules_default();
        rules.half_extent = 100.0;
        TanksWorld world = world_with(rules, seed);
        TanksTank tank = tank_in(&world, 0);
        TanksInput ahead = {.drive = 1.0};
        TanksInput back = {.drive = -1.0};
        for (int32_t n = 0; n < 3000; n++) {
            tanks_tank_step(&world, &tank, ahead);
        }
        assert_true(tank.sliding); // driven into some corner for good
        tanks_tank_step(&world, &tank, back);
        check_near(tank.speed, -12.5, 1e-9);
    }
}

static void a_steady_turn_is_a_circle_that_prediction_knows(void **state)
{
    (void)state;
    TanksRules rules = tanks_rules_default();
    rules.building_count = 0;
    TanksWorld world = world_with(rules, 1);
    TanksTank tank = tank_in(&world, 0);
    tank.x = tank.y = 0.0;
    TanksInput input = {.drive = 1.0, .turn = 0.7};
    tanks_tank_step(&world, &tank, input);
    FlState start = tanks_tank_state(&world, &tank);
    FlMotion motion = fl_motion_make(FL_MODEL_CIRCULAR, &start);
    Worst worst = {0};
    for (int32_t n = 0; n < 1800; n++) {
        tanks_tank_step(&world, &tank, input);
        FlState now = tanks_tank_state(&world, &tank);
        FlVec3 position = fl_motion_position(&motion, now.time);
        FlVec3 velocity = fl__motion_velocity(&motion, now.time);
        FlFacing facing = fl__motion_facing(&motion, now.time);
        worst_note(&worst, fl_vec3_distance(position, now.position), n);
        worst_note(&worst, fl_vec3_distance(velocity, now.velocity), n);
        worst_note(&worst, fl__facing_angle(&facing, &now.facing), n);
    }
    check_worst(&worst, 1e-6, "30 s of turning, predicted"); // times are whole nanoseconds
}

static void a_state_predicts_the_next_tick_also_with_inertia_and_along_walls(void **state)
{
    (void)state;
    FlRandom r = random_stream(9101);
    TanksRules rules = tanks_rules_inertia();
    rules.half_extent = 100.0;
    TanksWorld world = world_with(rules, 2);
    FlWorldDef def = tanks_wire_world(&world, 16);
    FlWorld wire;
    assert_int_equal(fl_world_init(&def, &wire), FL_OK);
    TanksTank tank = tank_in(&world, 3);
    TanksInput input = {0};
    for (int32_t n = 0; n < CASES(50000); n++) {
        if (random_chance(&r, 60)) {
            input = random_input(&r);
        }
        FlState before = tanks_tank_state(&world, &tank);
        FlMotion motion = fl_motion_make(FL_MODEL_QUADRATIC, &before);
        FlMotion rounded;
        bool wide = false;
        assert_true(fl__state_finite(&before));
        assert_int_equal(fl_update_round(&wire, &motion, &rounded, &wide), FL_OK);
        assert_false(wide); // the wire's world is large enough for every state
        tanks_tank_step(&world, &tank, input);
        FlState after = tanks_tank_state(&world, &tank);
        double off = fl_vec3_distance(fl_motion_position(&motion, after.time), after.position);
        assert_true(off < 0.5); // a tick at full speed is 0.42
    }
}

static void a_spawn_is_a_new_life_at_a_free_place(void **state)
{
    (void)state;
    TanksWorld world = world_with(tanks_rules_default(), 5);
    for (int32_t id = 0; id < TANKS_CAPACITY; id++) {
        TanksTank tank, twin;
        tanks_tank_init(&tank, id, 100);
        assert_false(tank.alive);
        for (uint32_t life = 1; life < 20; life++) {
            tanks_tank_spawn(&world, &tank);
            assert_int_equal(tank.life, life);
            assert_true(tank.alive);
            assert_true(tanks_world_fits(&world, tank.x, tank.y, tank.yaw));
            tanks_tank_init(&twin, id, 7);
            twin.life = life - 1;
            tanks_tank_spawn(&world, &twin);
            assert_true(tank.x == twin.x && tank.y == twin.y && tank.yaw == twin.yaw);
            double x = tank.x;
            tanks_tank_kill(&world, &tank);
            assert_true(x == tank.x);
            assert_int_equal(tank.respawn_at, 100 + 300);
        }
    }
}

static void the_dead_neither_drive_nor_fire_nor_die_again(void **state)
{
    (void)state;
    TanksWorld world = world_with(tanks_rules_default(), 6);
    TanksTank tank = tank_in(&world, 1);
    TanksInput input = {.drive = 1.0, .turn = 1.0, .fire = true};
    tanks_tank_step(&world, &tank, input);
    tanks_tank_kill(&world, &tank);
    TanksTank before = tank;
    TanksEvent event;
    for (int32_t n = 0; n < 10; n++) {
        assert_false(tanks_tank_fire(&world, &tank, input, &event));
        tanks_tank_step(&world, &tank, input);
        tanks_tank_kill(&world, &tank);
    }
    assert_int_equal(tank.tick, before.tick + 10);
    assert_int_equal(tank.deaths, 1);
    assert_int_equal(tank.respawn_at, before.respawn_at);
    assert_true(tank.x == before.x && tank.y == before.y && tank.yaw == before.yaw);
    FlState still = tanks_tank_state(&world, &tank);
    check_near(fl_vec3_length(still.velocity), 0.0, 0.0);
    assert_false(tanks_tank_seen(&tank).alive);
    assert_false(tanks_tank_status(&tank).alive);
}

static void a_tank_fires_once_per_reload(void **state)
{
    (void)state;
    TanksWorld world = world_with(tanks_rules_default(), 7);
    TanksTank tank = tank_in(&world, 9);
    TanksInput fire = {.fire = true};
    TanksInput hold = {0};
    TanksEvent event;
    assert_false(tanks_tank_fire(&world, &tank, hold, &event));
    int64_t last = -1000;
    uint32_t count = 0;
    for (int32_t n = 0; n < 600; n++) {
        if (tanks_tank_fire(&world, &tank, fire, &event)) {
            assert_int_equal(event.kind, TANKS_EVENT_SHOT);
            assert_int_equal(event.tank, 9);
            assert_int_equal(event.shot, ++count);
            assert_int_equal(event.time, tanks_tick_time(&world, tank.tick));
            assert_true(tank.tick - last >= 45); // 0.75 s
            double gap_x = event.x - tank.x;
            double gap_y = event.y - tank.y;
            check_near(sqrt(gap_x * gap_x + gap_y * gap_y), 3.6, 0.002); // the muzzle
            last = tank.tick;
        }
        tanks_tank_step(&world, &tank, fire);
    }
    assert_int_equal(count, 14); // at ticks 0, 45, ..., 585
}

static void what_others_see_is_what_the_pose_and_the_blob_say(void **state)
{
    (void)state;
    TanksWorld world = world_with(tanks_rules_default(), 8);
    TanksTank tank = tank_in(&world, 2);
    tank.kills = 70000;
    tank.deaths = 4;
    TanksInput input = {.drive = 1.0};
    tanks_tank_step(&world, &tank, input);
    FlState state_now = tanks_tank_state(&world, &tank);
    FlMotion motion = fl_motion_make(FL_MODEL_CIRCULAR, &state_now);
    FlPose pose = fl_motion_pose(&motion, state_now.time);
    TanksStatus status = tanks_tank_status(&tank);
    TanksSeen seen = tanks_seen_make(&pose, &status);
    TanksSeen own = tanks_tank_seen(&tank);
    assert_true(seen.x == own.x && seen.y == own.y && seen.vx == own.vx && seen.vy == own.vy);
    check_near(seen.yaw, own.yaw, 1e-12);
    assert_int_equal(seen.kills, 65535); // as much as the blob can say
    assert_int_equal(seen.deaths, 4);
    assert_int_equal(seen.life, 1);
    assert_true(seen.alive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_driver_breaks_the_limits_or_enters_a_building),
        cmocka_unit_test(a_held_up_tank_can_always_back_out),
        cmocka_unit_test(a_steady_turn_is_a_circle_that_prediction_knows),
        cmocka_unit_test(a_state_predicts_the_next_tick_also_with_inertia_and_along_walls),
        cmocka_unit_test(a_spawn_is_a_new_life_at_a_free_place),
        cmocka_unit_test(the_dead_neither_drive_nor_fire_nor_die_again),
        cmocka_unit_test(a_tank_fires_once_per_reload),
        cmocka_unit_test(what_others_see_is_what_the_pose_and_the_blob_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
