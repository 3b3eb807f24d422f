// A player with four keys: it goes where they say, aims up and down by itself, and takes a weapon
// that it has something for; and what is told of a map.
#include "unit/test_arena_support.h"

#include <math.h>

static void keys_turn_and_run(void **unused)
{
    (void)unused;
    ArenaGame *game = arena_game(ARENA_MAP_PLAIN, 2, false, 1);
    ArenaState state;
    ArenaDeeds deeds = {0};
    arena_start(game, &state);
    arena_place(&state, 0, 0.0, 0.0);
    arena_place(&state, 1, 3000.0, 0.0);
    state.player[0].yaw = 0.0;
    ArenaKeys left = {.turn = 1.0};
    for (int32_t t = 0; t < ARENA_TICK_HZ / 2; t++) {
        arena_step_one(game, &state, 0, arena_keys_input(game, &state, 0, left), &deeds);
    }
    assert_true(fabs(state.player[0].yaw - 1.5) < 0.01); // half a second at 3 rad/s
    assert_true(fabs(state.player[0].x) + fabs(state.player[0].y) < 1e-9);
    ArenaKeys run = {.drive = 1.0};
    for (int32_t t = 0; t < ARENA_TICK_HZ; t++) {
        arena_step_one(game, &state, 0, arena_keys_input(game, &state, 0, run), &deeds);
    }
    assert_true(state.player[0].y > 200.0 && fabs(state.player[0].x) < 50.0);
    assert_int_equal(state.player[0].shots, 0);
    arena_destroy(game);
}

static void fire_hits_whom_it_faces_above_and_below(void **unused)
{
    (void)unused;
    ArenaGame *game = arena_game(ARENA_MAP_PLAIN, 2, false, 1);
    const double heights[3] = {ARENA_FEET, ARENA_FEET + 150.0, ARENA_FEET - 150.0};
    for (int32_t i = 0; i < 3; i++) {
        ArenaState state;
        arena_start(game, &state);
        arena_place(&state, 0, 0.0, 0.0);
        arena_place(&state, 1, 400.0, 0.0);
        state.player[0].z = ARENA_FEET + 200.0;
        state.player[1].z = heights[i] + 200.0;
        state.player[0].yaw = 0.0;
        ArenaInput input = arena_keys_input(game, &state, 0, (ArenaKeys){.fire = true});
        FlVec3 along = arena_direction(arena_angle(input.yaw), arena_angle(input.pitch));
        ArenaTrace trace =
            arena_shot_trace(game, &state, 0, arena_player_eye(&state.player[0]), along, 1000.0);
        assert_int_equal(trace.player, 1);
        assert_int_equal(input.buttons, ARENA_BUTTON_FIRE);
    }
    arena_destroy(game);
}

static void the_weapon_is_one_that_can_fire(void **unused)
{
    (void)unused;
    ArenaGame *game = arena_game(ARENA_MAP_YARD, 2, false, 1);
    FlRandom random = {.seed = 5};
    for (int32_t trial = 0; trial < 2000; trial++) {
        ArenaState state;
        arena_start(game, &state);
        ArenaPlayer *p = &state.player[0];
        p->owned = 1u | (uint32_t)fl_random_below(&random, 16);
        for (int32_t w = 1; w < ARENA_WEAPON_COUNT; w++) {
            p->ammo[w] = (int32_t)fl_random_below(&random, 3);
        }
        ArenaInput input = arena_keys_input(game, &state, 0, (ArenaKeys){0});
        assert_true((p->owned & 1u << input.weapon) != 0);
        assert_true(input.weapon == ARENA_WEAPON_MELEE || p->ammo[input.weapon] > 0);
    }
    arena_destroy(game);
}

static void boxes_are_where_nobody_can_stand(void **unused)
{
    (void)unused;
    for (int32_t map = 0; map < ARENA_MAP_COUNT; map++) {
        ArenaGame *game = arena_game((ArenaMap)map, 2, false, 1);
        ArenaState state;
        arena_start(game, &state);
        for (int32_t i = 0; i < arena_box_count(game); i++) {
            ArenaBox box = arena_box(game, i);
            assert_true(box.low_x < box.high_x && box.low_y < box.high_y && box.top > 0.0);
            FlVec3 in = fl_vec3(0.5 * (box.low_x + box.high_x), 0.5 * (box.low_y + box.high_y), 1);
            FlVec3 out = fl_vec3(box.low_x - 1.0, in.y, 1.0);
            assert_false(arena_sees(game, &state, out, in));
        }
        assert_true((arena_box_count(game) == 0) == (map == ARENA_MAP_PLAIN));
        arena_destroy(game);
    }
}

static void a_definition_has_the_world_of_its_game(void **unused)
{
    (void)unused;
    ArenaGame *game = arena_game(ARENA_MAP_KEEP, 7, true, 3);
    FlWorldDef one = arena_wire_world(game, 100);
    FlWorldDef other = arena_def_world(arena_def(game), 100);
    ArenaDef changed = *arena_def(game);
    changed.player_count = 8;
    assert_int_equal(one.application_version, other.application_version);
    assert_true(one.low.x == other.low.x && one.high.z == other.high.z);
    assert_int_not_equal(arena_def_world(&changed, 100).application_version,
                         one.application_version);
    arena_destroy(game);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_turn_and_run),
        cmocka_unit_test(fire_hits_whom_it_faces_above_and_below),
        cmocka_unit_test(the_weapon_is_one_that_can_fire),
        cmocka_unit_test(boxes_are_where_nobody_can_stand),
        cmocka_unit_test(a_definition_has_the_world_of_its_game),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
