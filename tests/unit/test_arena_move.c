// How players of the arena move: speeds, walls, crates, doors, prediction.
#include "unit/test_arena_support.h"

static ArenaState state;

static double side_speed(const ArenaPlayer *p)
{
    return sqrt(p->vx * p->vx + p->vy * p->vy);
}

static void runner_reaches_full_speed_and_no_more(void **ignored)
{
    (void)ignored;
    ArenaGame *game = arena_game(ARENA_MAP_PLAIN, 2, false, 1);
    arena_start(game, &state);
    ArenaInput input = {.forward = 127, .right = 127};
    for (int32_t i = 0; i < 60; i++) {
        arena_step_replica(game, &state, 0, input);
    }
    assert_true(fabs(side_speed(&state.player[0]) - ARENA_RUN_SPEED) < 1e-6);
    arena_step_replica(game, &state, 0, (ArenaInput){0});
    assert_true(side_speed(&state.player[0]) < ARENA_RUN_SPEED);
    arena_destroy(game);
}

static void jump_rises_as_high_as_in_the_recordings(void **ignored)
{
    (void)ignored;
    ArenaGame *game = arena_game(ARENA_MAP_PLAIN, 2, false, 1);
    arena_start(game, &state);
    double top = 0.0;
    int32_t ticks = 0;
    arena_step_replica(game, &state, 0, (ArenaInput){.up = 127});
    for (; state.player[0].grounded == 0; ticks++) {
        top = fmax(top, state.player[0].z - ARENA_FEET);
        arena_step_replica(game, &state, 0, (ArenaInput){0});
    }
    assert_true(top > 44.0 && top < 45.6); // 270^2 / 1600 is between two ticks
    assert_true(ticks >= 12 && ticks <= 14);
    assert_true(state.player[0].z == ARENA_FEET);
    assert_int_equal(state.player[0].jumps, 1);
    arena_destroy(game);
}

// Whatever pushes them and wherever they run: outside of everything solid, never too fast.
static void nobody_gets_into_a_wall_or_beyond_the_bound(void **ignored)
{
    (void)ignored;
    FlRandom r = {.seed = 3};
    for (int32_t map = 0; map <= ARENA_MAP_KEEP; map++) {
        ArenaGame *game = arena_game((ArenaMap)map, 16, false, 1);
        arena_start(game, &state);
        ArenaInput input[16];
        for (int32_t t = 0; t < CASES(6000); t++) {
            for (int32_t i = 0; i < 16; i++) {
                ArenaPlayer *p = &state.player[i];
                if (t % 7 == i % 7) {
                    input[i] = arena_random_input(&r);
                }
                if (fl_random_below(&r, 50) == 0) {
                    ArenaDeed push = {
                        ARENA_DEED_DAMAGE, i, i, p->life, ARENA_WEAPON_GUN, 1, 0, 0, 0};
                    push.x = (int32_t)fl_random_below(&r, 2001) - 1000;
                    push.y = (int32_t)fl_random_below(&r, 2001) - 1000;
                    push.z = (int32_t)fl_random_below(&r, 2001) - 1000;
                    ArenaDeeds more = {0};
                    p->health = 100;
                    assert_int_equal(arena_deed_apply(game, &state, &push, &more), ARENA_APPLIED);
                }
                arena_step_replica(game, &state, i, input[i]);
                double speed = sqrt(p->vx * p->vx + p->vy * p->vy + p->vz * p->vz);
                assert_true(speed <= ARENA_SPEED_BOUND);
                assert_true(p->z >= ARENA_FEET);
                FlVec3 at = fl_vec3(p->x, p->y, p->z - ARENA_FEET + 0.01);
                const double corner[4][2] = {
                    {14.9, 14.9}, {-14.9, -14.9}, {14.9, -14.9}, {-14.9, 14.9}};
                for (int32_t c = 0; c < 4; c++) {
                    FlVec3 to = fl_vec3_add(at, fl_vec3(corner[c][0], corner[c][1], 0.0));
                    assert_true(arena_sees(game, &state, at, to));
                }
            }
        }
        arena_destroy(game);
    }
}

static void crate_is_jumped_on_and_a_pillar_is_not(void **ignored)
{
    (void)ignored;
    ArenaGame *game = arena_game(ARENA_MAP_YARD, 2, false, 1);
    arena_start(game, &state);
    arena_place(&state, 0, -200.0, 0.0);  // the crate in the middle begins at -96
    arena_place(&state, 1, 400.0, 590.0); // the pillar at 516
    ArenaInput input = {.forward = 127, .up = 127};
    for (int32_t i = 0; i < 15; i++) {
        arena_step_replica(game, &state, 0, input);
        arena_step_replica(game, &state, 1, input);
    }
    assert_true(state.player[0].z >= ARENA_FEET + 32.0);
    assert_true(state.player[1].x == 516.0 - ARENA_HALF_WIDTH);
    arena_destroy(game);
}

static void shut_door_stops_and_an_open_one_does_not(void **ignored)
{
    (void)ignored;
    ArenaGame *game = arena_game(ARENA_MAP_KEEP, 2, false, 1);
    for (int32_t open = 0; open < 2; open++) {
        arena_start(game, &state);
        arena_place(&state, 0, -950.0, 0.0);
        state.door[0].open_until = open * 1000;
        FlVec3 inside = fl_vec3(-950.0, 0.0, 60.0), outside = fl_vec3(-750.0, 0.0, 60.0);
        assert_int_equal(arena_sees(game, &state, inside, outside), open);
        for (int32_t i = 0; i < 20; i++) {
            arena_step_replica(game, &state, 0, (ArenaInput){.forward = 127});
        }
        assert_int_equal(state.player[0].x > -800.0, open);
    }
    arena_destroy(game);
}

static void door_opens_for_who_comes_near_and_shuts_again(void **ignored)
{
    (void)ignored;
    ArenaGame *game = arena_game(ARENA_MAP_KEEP, 2, false, 1);
    arena_start(game, &state);
    arena_place(&state, 0, -950.0, 0.0);
    ArenaInput input[2] = {{.forward = 127}, {0}};
    for (int32_t i = 0; i < 20; i++) {
        arena_step(game, &state, input, NULL);
    }
    assert_true(state.player[0].x > -800.0);
    assert_int_equal(state.door[0].uses, 1);
    assert_true(arena_door_open(&state, 0));
    input[0].forward = 0;
    for (int32_t i = 0; i < 100; i++) {
        arena_step(game, &state, input, NULL);
    }
    assert_false(arena_door_open(&state, 0));
    arena_destroy(game);
}

static void prediction_is_the_same_steps_made_ahead(void **ignored)
{
    (void)ignored;
    FlRandom r = {.seed = 4};
    ArenaGame *game = arena_game(ARENA_MAP_KEEP, 2, false, 1);
    arena_start(game, &state);
    for (int32_t n = 0; n < CASES(500); n++) {
        FlVec3 at = arena_free_place(game, &state, &r);
        arena_place(&state, 0, at.x, at.y);
        ArenaInput input = arena_random_input(&r);
        int32_t ticks = (int32_t)fl_random_below(&r, 40);
        FlPose pose = arena_predict(game, &state, 0, input, ticks * 0.05);
        for (int32_t i = 0; i < ticks; i++) {
            arena_step_replica(game, &state, 0, input);
        }
        const ArenaPlayer *p = &state.player[0];
        assert_true(fl_vec3_distance(pose.position, fl_vec3(p->x, p->y, p->z)) < 1e-3);
    }
    assert_true(arena_predict(game, &state, 0, (ArenaInput){0}, (double)NAN).position.x ==
                state.player[0].x);
    arena_destroy(game);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runner_reaches_full_speed_and_no_more),
        cmocka_unit_test(jump_rises_as_high_as_in_the_recordings),
        cmocka_unit_test(nobody_gets_into_a_wall_or_beyond_the_bound),
        cmocka_unit_test(crate_is_jumped_on_and_a_pillar_is_not),
        cmocka_unit_test(shut_door_stops_and_an_open_one_does_not),
        cmocka_unit_test(door_opens_for_who_comes_near_and_shuts_again),
        cmocka_unit_test(prediction_is_the_same_steps_made_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
