// The tanks' arena: rules that make sense, maps from seeds, geometry against slow oracles.
#include "support.h"

#include "tanks/tanks.h"

static TanksWorld world_of(uint64_t map_seed)
{
    TanksRules rules = tanks_rules_default();
    rules.map_seed = map_seed;
    TanksWorld world;
    assert_int_equal(tanks_world_init(&rules, &world), FL_OK);
    return world;
}

static void rules_out_of_range_are_refused_with_a_reason(void **state)
{
    (void)state;
    TanksRules good = tanks_rules_default();
    TanksRules inertia = tanks_rules_inertia();
    assert_null(tanks_rules_problem(&good));
    assert_null(tanks_rules_problem(&inertia));
    double *const real[] = {&good.half_extent,  &good.tank_length,       &good.tank_width,
                            &good.top_speed,    &good.reverse_speed,     &good.top_turn_rate,
                            &good.acceleration, &good.turn_acceleration, &good.shot_speed,
                            &good.shot_range,   &good.shot_radius};
    const double wrong[] = {(double)NAN, -1.0, -(double)INFINITY};
    for (size_t i = 0; i < sizeof real / sizeof real[0]; i++) {
        for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
            double kept = *real[i];
            *real[i] = wrong[k];
            TanksWorld world;
            assert_non_null(tanks_rules_problem(&good));
            assert_int_equal(tanks_world_init(&good, &world), FL_BAD_VALUE);
            *real[i] = kept;
        }
    }
    TanksRules rules = good;
    rules.cookie = 0;
    assert_non_null(tanks_rules_problem(&rules));
    rules = good;
    rules.building_count = TANKS_BUILDINGS_MAX + 1;
    assert_non_null(tanks_rules_problem(&rules));
    rules = good;
    rules.tick_hz = 19;
    assert_non_null(tanks_rules_problem(&rules));
    rules = good;
    rules.reload_ns = 0;
    assert_non_null(tanks_rules_problem(&rules));
    rules = good;
    rules.respawn_ns = -1;
    assert_non_null(tanks_rules_problem(&rules));
}

static bool apart(const TanksBox *a, const TanksBox *b, double gap)
{
    return a->low_x >= b->high_x + gap || b->low_x >= a->high_x + gap ||
           a->low_y >= b->high_y + gap || b->low_y >= a->high_y + gap;
}

static void buildings_stand_inside_and_leave_lights(void **state)
{
    (void)state;
    int32_t total = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        TanksWorld world = world_of(seed);
        total += world.building_count;
        for (int32_t i = 0; i < world.building_count; i++) {
            const TanksBox *box = &world.building[i];
            assert_true(box->low_x < box->high_x && box->low_y < box->high_y);
            assert_true(box->low_x > -400.0 + 15.9 && box->high_x < 400.0 - 15.9);
            assert_true(box->low_y > -400.0 + 15.9 && box->high_y < 400.0 - 15.9);
            for (int32_t k = 0; k < i; k++) {
                assert_true(apart(box, &world.building[k], 16.0));
            }
        }
    }
    assert_true(total > 200 * 19); // nearly all that were asked for
}

static void a_map_is_its_seed(void **state)
{
    (void)state;
    TanksWorld a = world_of(7);
    TanksWorld b = world_of(7);
    TanksWorld c = world_of(8);
    assert_memory_equal(a.building, b.building, sizeof a.building);
    assert_memory_not_equal(a.building, c.building, sizeof a.building);
}

static void ticks_and_times_find_each_other(void **state)
{
    (void)state;
    FlRandom r = random_stream(9001);
    for (int32_t n = 0; n < CASES(100000); n++) {
        TanksWorld world = {0};
        world.rules.tick_hz = 20 + (int32_t)fl_random_below(&r, 981);
        int64_t tick = (int64_t)fl_random_below(&r, 5000000);
        FlTime time = tanks_tick_time(&world, tick);
        assert_int_equal(tanks_tick_at(&world, time), tick);
        assert_int_equal(tanks_tick_at(&world, time + 1), tick);
        assert_int_equal(tanks_tick_at(&world, tanks_tick_time(&world, tick + 1) - 1), tick);
    }
}

// ---------------------------------------------------------------- geometry

static bool in_box(const TanksBox *box, double x, double y)
{
    return x > box->low_x && x < box->high_x && y > box->low_y && y < box->high_y;
}

static bool is_free(const TanksWorld *world, double x, double y)
{
    for (int32_t i = 0; i < world->building_count; i++) {
        if (in_box(&world->building[i], x, y)) {
            return false;
        }
    }
    return fabs(x) <= world->rules.half_extent && fabs(y) <= world->rules.half_extent;
}

static void a_ray_ends_where_the_first_building_or_wall_begins(void **state)
{
    (void)state;
    FlRandom r = random_stream(9002);
    TanksWorld world = world_of(3);
    int32_t stopped = 0;
    for (int32_t n = 0; n < CASES(5000); n++) {
        double x = fl_random_between(&r, -399.0, 399.0);
        double y = fl_random_between(&r, -399.0, 399.0);
        // Some straight along an axis, where a slab has no sides to cross.
        double yaw = fl_random_between(&r, -FL_PI, FL_PI);
        double dx = random_chance(&r, 10) ? 1.0 : cos(yaw);
        double dy = dx == 1.0 ? 0.0 : sin(yaw);
        double way = tanks_world_ray(&world, x, y, dx, dy, 300.0);
        assert_true(way >= 0.0 && way <= 300.0);
        if (!is_free(&world, x, y)) {
            check_near(way, 0.0, 0.0);
            continue;
        }
        for (double part = 0.0; part < 1.0; part += 0.01) {
            double far = (way - 1e-6) * part;
            assert_true(is_free(&world, x + dx * far, y + dy * far));
        }
        if (way < 300.0) {
            stopped++;
            double over = way + 1e-6;
            assert_false(is_free(&world, x + dx * over, y + dy * over));
        }
    }
    assert_true(stopped > CASES(5000) / 5);
}

// Walks round a rectangle; and a building's corner may poke into it.
static bool outline_touches(const TanksWorld *world, double length, double width, double x,
                            double y, double yaw)
{
    double c = cos(yaw);
    double s = sin(yaw);
    for (int32_t i = 0; i < 400; i++) {
        double part = (i % 100) / 50.0 - 1.0;
        double along = i < 100 ? part : i < 200 ? -part : i < 300 ? 1.0 : -1.0;
        double across = i < 100 ? 1.0 : i < 200 ? -1.0 : part;
        double px = along * length / 2.0;
        double py = across * width / 2.0;
        if (!is_free(world, x + px * c - py * s, y + px * s + py * c)) {
            return true;
        }
    }
    for (int32_t i = 0; i < world->building_count; i++) {
        for (int32_t k = 0; k < 4; k++) {
            double px = (k & 1 ? world->building[i].low_x : world->building[i].high_x) - x;
            double py = (k & 2 ? world->building[i].low_y : world->building[i].high_y) - y;
            if (fabs(px * c + py * s) < length / 2.0 && fabs(py * c - px * s) < width / 2.0) {
                return true;
            }
        }
    }
    return false;
}

static void a_tank_fits_exactly_where_its_outline_touches_nothing(void **state)
{
    (void)state;
    FlRandom r = random_stream(9003);
    TanksWorld world = world_of(4);
    int32_t fits = 0;
    for (int32_t n = 0; n < CASES(20000); n++) {
        const TanksBox *box = &world.building[fl_random_below(&r, (uint64_t)world.building_count)];
        double x = fl_random_between(&r, box->low_x - 6.0, box->high_x + 6.0);
        double y = fl_random_between(&r, box->low_y - 6.0, box->high_y + 6.0);
        if (random_chance(&r, 4)) {
            x = random_sign(&r) * fl_random_between(&r, 394.0, 401.0); // at the wall
        }
        double yaw = fl_random_between(&r, -FL_PI, FL_PI);
        bool touches_less = outline_touches(&world, 5.9, 2.7, x, y, yaw);
        bool touches_more = outline_touches(&world, 6.1, 2.9, x, y, yaw);
        bool answer = tanks_world_fits(&world, x, y, yaw);
        fits += answer ? 1 : 0;
        assert_false(answer && touches_less);
        assert_false(!answer && !touches_more);
    }
    assert_true(fits > CASES(20000) / 10 && fits < CASES(20000) * 9 / 10);
    assert_false(tanks_world_fits(&world, (double)NAN, 0.0, 0.0));
}

static void the_wire_tells_other_rules_apart(void **state)
{
    (void)state;
    TanksRules rules = tanks_rules_default();
    uint64_t seen[20];
    int32_t count = 0;
    for (int32_t i = 0; i < 17; i++) {
        TanksRules other = rules;
        double *const real[] = {&other.half_extent,  &other.tank_length,       &other.tank_width,
                                &other.top_speed,    &other.reverse_speed,     &other.top_turn_rate,
                                &other.acceleration, &other.turn_acceleration, &other.shot_speed,
                                &other.shot_range,   &other.shot_radius};
        if (i < 11) {
            *real[i] = i == 6 || i == 7 ? 20.0 : *real[i] * 1.001;
        }
        other.reverse_speed = i == 4 ? 11.0 : other.reverse_speed;
        other.building_count += i == 11 ? 1 : 0;
        other.reload_ns += i == 12 ? 1 : 0;
        other.respawn_ns += i == 13 ? 1 : 0;
        other.tick_hz += i == 14 ? 1 : 0;
        other.map_seed ^= i == 15 ? UINT64_C(1) << 63 : 0;
        TanksWorld world;
        assert_int_equal(tanks_world_init(&other, &world), FL_OK);
        FlWorldDef def = tanks_wire_world(&world, 64);
        FlWorld wire;
        FlError problem;
        assert_int_equal(fl_world_def_problem(&def, &problem), FL_OK);
        assert_int_equal(fl_world_init(&def, &wire), FL_OK);
        for (int32_t k = 0; k < count; k++) {
            assert_true(seen[k] != wire.protocol_id);
        }
        seen[count++] = wire.protocol_id;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_out_of_range_are_refused_with_a_reason),
        cmocka_unit_test(buildings_stand_inside_and_leave_lights),
        cmocka_unit_test(a_map_is_its_seed),
        cmocka_unit_test(ticks_and_times_find_each_other),
        cmocka_unit_test(a_ray_ends_where_the_first_building_or_wall_begins),
        cmocka_unit_test(a_tank_fits_exactly_where_its_outline_touches_nothing),
        cmocka_unit_test(the_wire_tells_other_rules_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
