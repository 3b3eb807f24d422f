// Finding the way: a replica gets to where it is sent, in time, facing as it should.
#include "unit/test_arena_support.h"

static ArenaState state;

static double apart(const ArenaPlayer *p, FlVec3 to)
{
    return sqrt((p->x - to.x) * (p->x - to.x) + (p->y - to.y) * (p->y - to.y));
}

// One tick on the way, with the doors that would open.
static void walk(const ArenaGame *game, const ArenaWalk *where)
{
    for (int32_t d = 0; d < arena_door_count(game); d++) {
        state.door[d].open_until = state.tick + 10;
    }
    ArenaInput input = arena_walk_to(game, &state, 0, where);
    assert_int_equal(input.yaw, arena_angle_steps(where->yaw));
    arena_step_replica(game, &state, 0, input);
}

static void every_place_is_reached_from_every_other(void **ignored)
{
    (void)ignored;
    FlRandom r = {.seed = 11};
    for (int32_t map = 0; map < ARENA_MAP_COUNT; map++) {
        ArenaGame *game = arena_game((ArenaMap)map, 2, false, 1);
        arena_start(game, &state);
        for (int32_t n = 0; n < CASES(2000); n++) {
            FlVec3 from = arena_free_place(game, &state, &r);
            FlVec3 to = arena_free_place(game, &state, &r);
            arena_place(&state, 0, from.x, from.y);
            ArenaWalk where = {.to = to, .yaw = fl_random_between(&r, -3.0, 3.0)};
            double straight = fl_vec3_distance(from, to);
            // No way around is longer than this on these maps.
            int32_t ticks = 60 + (int32_t)((1.6 * straight + 1600.0) / 16.0);
            while (ticks > 0 && apart(&state.player[0], to) > 4.0) {
                walk(game, &where);
                ticks--;
            }
            if (ticks == 0) {
                print_error("map %d from %.0f %.0f to %.0f %.0f: stuck at %.0f %.0f\n", map, from.x,
                            from.y, to.x, to.y, state.player[0].x, state.player[0].y);
            }
            assert_true(ticks > 0);
        }
        arena_destroy(game);
    }
}

static void walker_arrives_when_it_should_and_stays(void **ignored)
{
    (void)ignored;
    ArenaGame *game = arena_game(ARENA_MAP_PLAIN, 2, false, 1);
    FlRandom r = {.seed = 12};
    arena_start(game, &state);
    for (int32_t n = 0; n < CASES(300); n++) {
        arena_place(&state, 0, 0.0, 0.0);
        double angle = fl_random_between(&r, -3.0, 3.0);
        double far = fl_random_between(&r, 20.0, 250.0);
        ArenaWalk where = {.to = fl_vec3(far * cos(angle), far * sin(angle), ARENA_FEET)};
        for (int32_t tick = 0; tick < 20; tick++) {
            if (tick == 10) {
                assert_true(apart(&state.player[0], where.to) > 0.25 * far);
            }
            where.seconds = 1.0 - tick * 0.05;
            walk(game, &where);
        }
        assert_true(apart(&state.player[0], where.to) < 12.0);
        where.seconds = 0.0;
        for (int32_t tick = 0; tick < 40; tick++) {
            walk(game, &where);
        }
        assert_true(apart(&state.player[0], where.to) < 8.0);
    }
    arena_destroy(game);
}

// From wherever a wrong picture put it: nothing breaks, and it comes out again.
static void walker_comes_out_of_where_nobody_can_be(void **ignored)
{
    (void)ignored;
    FlRandom r = {.seed = 13};
    ArenaGame *game = arena_game(ARENA_MAP_KEEP, 2, false, 1);
    arena_start(game, &state);
    for (int32_t n = 0; n < CASES(500); n++) {
        double x = fl_random_between(&r, -1260.0, 1260.0);
        double y = fl_random_between(&r, -1260.0, 1260.0);
        arena_place(&state, 0, x, y);
        FlVec3 to = arena_free_place(game, &state, &r);
        ArenaWalk where = {.to = to};
        for (int32_t tick = 0; tick < 600 && apart(&state.player[0], to) > 4.0; tick++) {
            walk(game, &where);
        }
        assert_true(apart(&state.player[0], to) <= 4.0);
    }
    arena_destroy(game);
}

static void odd_goals_harm_nobody(void **ignored)
{
    (void)ignored;
    ArenaGame *game = arena_game(ARENA_MAP_KEEP, 2, false, 1);
    arena_start(game, &state);
    const double odd[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1e300, -1e300, 0.0};
    for (int32_t i = 0; i < 6; i++) {
        ArenaWalk where = {.to = fl_vec3(odd[i], odd[5 - i], odd[(i + 2) % 6]), .yaw = odd[i]};
        where.seconds = odd[(i + 1) % 6];
        for (int32_t tick = 0; tick < 50; tick++) {
            arena_step_replica(game, &state, 0, arena_walk_to(game, &state, 0, &where));
        }
        assert_true(arena_state_valid(game, &state));
    }
    arena_destroy(game);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_place_is_reached_from_every_other),
        cmocka_unit_test(walker_arrives_when_it_should_and_stays),
        cmocka_unit_test(walker_comes_out_of_where_nobody_can_be),
        cmocka_unit_test(odd_goals_harm_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
