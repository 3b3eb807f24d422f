// The arena around its players: settings, memory, states compared and checked, views, recordings.
#include "motion/motion.h"
#include "unit/counting_alloc.h"
#include "unit/test_arena_support.h"

static ArenaState state, other;

static void play(const ArenaGame *game, int32_t ticks)
{
    static ArenaBots bots;
    for (int32_t i = 0; i < state.player_count; i++) {
        arena_bot_init(&bots.bot[i], 1, i, i, 1 + i % 5);
    }
    for (int32_t t = 0; t < ticks; t++) {
        arena_bots_decide(game, &state, &bots);
        arena_step(game, &state, bots.input, NULL);
    }
}

static void game_allocates_once_and_gives_it_back(void **ignored)
{
    (void)ignored;
    Counter counter = {0};
    ArenaDef def = arena_def_default();
    def.alloc = (FlAlloc){counting_alloc, counting_free, &counter};
    ArenaGame *game;
    assert_int_equal(arena_create(&def, &game), FL_OK);
    arena_start(game, &state);
    play(game, 100);
    assert_int_equal(counter.allocated, 1);
    arena_destroy(game);
    assert_int_equal(counter.freed, 1);
    counter.refuse = true;
    assert_int_equal(arena_create(&def, &game), FL_NO_MEMORY);
    assert_null(game);
    arena_destroy(NULL);
}

static void refuse(ArenaDef def)
{
    ArenaGame *game;
    assert_int_equal(arena_create(&def, &game), FL_BAD_VALUE);
    assert_null(game);
}

static void settings_out_of_range_are_refused(void **ignored)
{
    (void)ignored;
    ArenaDef def = arena_def_default();
    def.player_count = 1;
    refuse(def);
    def.player_count = ARENA_PLAYER_CAPACITY + 1;
    refuse(def);
    def = arena_def_default();
    def.flags = true; // the yard has no bases
    refuse(def);
    def = arena_def_default();
    def.respawn_ticks = 0;
    refuse(def);
    def = arena_def_default();
    def.map = ARENA_MAP_COUNT;
    refuse(def);
}

static void maps_and_things_have_names(void **ignored)
{
    (void)ignored;
    ArenaMap map;
    for (int32_t i = 0; i < ARENA_MAP_COUNT; i++) {
        assert_int_equal(arena_map_find(arena_map_name((ArenaMap)i), &map), FL_OK);
        assert_int_equal(map, i);
    }
    assert_int_equal(arena_map_find("nowhere", &map), FL_NOT_FOUND);
    assert_string_equal(arena_weapon_name(ARENA_WEAPON_ROCKET), "rocket");
    assert_string_equal(arena_item_name(ARENA_ITEM_MEDKIT), "medkit");
    for (int32_t i = 0; i < ARENA_CHARACTER_COUNT; i++) {
        for (int32_t k = 0; k < i; k++) {
            assert_string_not_equal(arena_character_name(i), arena_character_name(k));
        }
    }
}

static void items_spawns_and_bases_are_where_one_can_stand(void **ignored)
{
    (void)ignored;
    for (int32_t m = 0; m < ARENA_MAP_COUNT; m++) {
        ArenaGame *game = arena_game((ArenaMap)m, 64, m == ARENA_MAP_KEEP, 3);
        arena_start(game, &state);
        for (int32_t i = 0; i < 64; i++) {
            assert_true(arena_free(game, &state, state.player[i].x, state.player[i].y));
            bool left = state.player[i].x < 0.0;
            assert_true(m != ARENA_MAP_KEEP || left == (state.player[i].team == 0));
        }
        for (int32_t i = 0; i < arena_item_count(game); i++) {
            FlVec3 at = arena_item_position(game, i);
            assert_true(at.z <= ARENA_FEET + 40.0); // on the floor or on a crate, never in a wall
        }
        arena_destroy(game);
    }
}

static void hash_tells_states_apart_by_any_byte(void **ignored)
{
    (void)ignored;
    FlRandom r = {.seed = 14};
    ArenaGame *game = arena_game(ARENA_MAP_KEEP, 64, true, 1);
    arena_start(game, &state);
    play(game, 200);
    uint64_t hash = arena_hash(&state);
    size_t things = offsetof(ArenaState, player);
    size_t used = things + 64 * sizeof(ArenaPlayer);
    for (int32_t n = 0; n < CASES(20000); n++) {
        size_t byte = (size_t)fl_random_below(&r, used);
        size_t in_player = byte < things ? 0 : (byte - things) % sizeof(ArenaPlayer);
        bool unused = byte < things ? byte < 16 : in_player >= offsetof(ArenaPlayer, unused);
        for (size_t f = 0; f < ARENA_TEAM_COUNT; f++) {
            size_t at = offsetof(ArenaState, flag) + f * sizeof(ArenaFlag);
            unused = unused ||
                     (byte >= at + offsetof(ArenaFlag, unused) && byte < at + sizeof(ArenaFlag));
        }
        if (unused) { // or a count, which would lead the hash astray
            continue;
        }
        other = state;
        ((unsigned char *)&other)[byte] ^= 1;
        assert_int_not_equal(arena_hash(&other), hash);
    }
    arena_destroy(game);
}

static void states_from_play_are_valid_and_broken_ones_are_not(void **ignored)
{
    (void)ignored;
    ArenaGame *game = arena_game(ARENA_MAP_KEEP, 16, true, 1);
    arena_start(game, &state);
    for (int32_t n = 0; n < 20; n++) {
        play(game, 50);
        assert_true(arena_state_valid(game, &state));
    }
    other = state;
    other.player_count = 15;
    assert_false(arena_state_valid(game, &other));
    other = state;
    other.player[3].x = (double)NAN;
    assert_false(arena_state_valid(game, &other));
    other = state;
    other.player[3].weapon = ARENA_WEAPON_COUNT;
    assert_false(arena_state_valid(game, &other));
    other = state;
    other.missile_count = ARENA_MISSILE_CAPACITY + 1;
    assert_false(arena_state_valid(game, &other));
    other = state;
    other.flag[1].carrier = 16;
    assert_false(arena_state_valid(game, &other));
    other = state;
    other.tick = INT32_MAX;
    assert_false(arena_state_valid(game, &other));
    arena_destroy(game);
}

static void player_told_and_shown_is_the_same_to_others(void **ignored)
{
    (void)ignored;
    ArenaGame *game = arena_game(ARENA_MAP_YARD, 16, false, 1);
    arena_start(game, &state);
    play(game, 300);
    arena_start(game, &other);
    for (int32_t i = 0; i < 16; i++) {
        FlState told = arena_player_state(&state.player[i], FL_SEC(5));
        assert_true(fl__state_finite(&told));
        FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, &told);
        FlPose pose = fl_motion_pose(&motion, FL_SEC(5));
        ArenaStatus status = arena_player_status(&state.player[i]);
        assert_true(arena_player_show(game, &other, i, &pose, &status));
        const ArenaPlayer *a = &state.player[i], *b = &other.player[i];
        assert_true(a->x == b->x && a->y == b->y && a->z == b->z && a->vx == b->vx);
        assert_true(fabs(fl_angle_wrap(a->yaw - b->yaw)) < 1e-9);
        assert_true(a->alive == b->alive && a->health == b->health && a->weapon == b->weapon &&
                    a->life == b->life && a->score == b->score && a->shots == b->shots);
    }
    FlPose odd = {.position = {(double)NAN, 0.0, 0.0}};
    ArenaStatus status = arena_player_status(&state.player[0]);
    assert_false(arena_player_show(game, &other, 0, &odd, &status));
    odd = (FlPose){.position = {1e300, -1e300, 0.0}, .velocity = {1e300, 0.0, 0.0}};
    assert_true(arena_player_show(game, &other, 0, &odd, &status));
    assert_true(other.player[0].x == 16384.0);
    arena_destroy(game);
}

static void wire_world_fits_and_tells_games_apart(void **ignored)
{
    (void)ignored;
    uint32_t version[ARENA_MAP_COUNT];
    for (int32_t m = 0; m < ARENA_MAP_COUNT; m++) {
        ArenaGame *game = arena_game((ArenaMap)m, 16, false, 1);
        FlWorldDef def = arena_wire_world(game, 64);
        FlError problem;
        assert_int_equal(fl_world_def_problem(&def, &problem), FL_OK);
        version[m] = def.application_version;
        arena_destroy(game);
    }
    assert_true(version[0] != version[1] && version[1] != version[2] && version[0] != version[2]);
}

static void recorded_rows_drive_a_player(void **ignored)
{
    (void)ignored;
    ArenaGame *game = arena_game(ARENA_MAP_PLAIN, 2, false, 1);
    arena_start(game, &state);
    ArenaRow row = {.position = {-876.86, -414.96, 317.56}, .velocity = {-244.7, -58.5, -114.0}};
    row.yaw = 2.4389;
    row.pitch = 0.192;
    row.health = 119;
    row.weapon = 5;
    row.life = 2;
    row.buttons = 1;
    uint32_t shots = state.player[0].shots;
    for (int32_t i = 0; i < 32; i++) {
        assert_true(arena_player_put(&state, 0, &row));
        arena_step_idle(game, &state);
    }
    assert_int_equal(state.player[0].shots - shots, 2); // as often as a rocket can
    assert_int_equal(state.player[0].weapon, ARENA_WEAPON_ROCKET);
    assert_true(state.player[0].x == -876.86 && state.player[0].yaw == 2.4389);
    row.velocity.z = 270.0;
    assert_true(arena_player_put(&state, 0, &row));
    assert_int_equal(state.player[0].jumps, 1);
    uint32_t deaths = state.player[0].deaths;
    row.life = 3;
    assert_true(arena_player_put(&state, 0, &row));
    assert_int_equal(state.player[0].deaths, deaths + 1);
    row.position.x = (double)NAN;
    assert_false(arena_player_put(&state, 0, &row));
    arena_destroy(game);
}

static void picture_shows_players_walls_and_the_best_first(void **ignored)
{
    (void)ignored;
    ArenaGame *game = arena_game(ARENA_MAP_KEEP, 16, true, 1);
    arena_start(game, &state);
    state.player[15].score = 9;
    static char text[ARENA_DRAW_BYTES(80, 24, 16)], again[ARENA_DRAW_BYTES(80, 24, 16)];
    size_t length = arena_draw(game, &state, 80, 24, text, sizeof text);
    assert_int_equal(strlen(text), length);
    assert_non_null(strchr(text, '#'));
    assert_non_null(strchr(text, '='));
    assert_non_null(strchr(text, '<'));
    assert_non_null(strchr(text, 'A'));
    assert_non_null(strstr(text, "\n 1 P     9  died 0  health 100  gun\n"));
    assert_int_equal(arena_draw(game, &state, 80, 24, again, sizeof again), length);
    assert_string_equal(text, again);
    assert_int_equal(arena_draw(game, &state, 80, 24, again, sizeof again - 1), 0);
    assert_int_equal(again[0], '\0');
    arena_destroy(game);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(game_allocates_once_and_gives_it_back),
        cmocka_unit_test(settings_out_of_range_are_refused),
        cmocka_unit_test(maps_and_things_have_names),
        cmocka_unit_test(items_spawns_and_bases_are_where_one_can_stand),
        cmocka_unit_test(hash_tells_states_apart_by_any_byte),
        cmocka_unit_test(states_from_play_are_valid_and_broken_ones_are_not),
        cmocka_unit_test(player_told_and_shown_is_the_same_to_others),
        cmocka_unit_test(wire_world_fits_and_tells_games_apart),
        cmocka_unit_test(recorded_rows_drive_a_player),
        cmocka_unit_test(picture_shows_players_walls_and_the_best_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
