// Shots of the arena: what a line meets, weapons, and missiles by either judge.
#include "unit/test_arena_support.h"

static ArenaState state;

static ArenaGame *judged_by(ArenaJudge judge, ArenaMap map, int32_t players)
{
    ArenaDef def = arena_def_default();
    def.judge = judge;
    def.map = map;
    def.player_count = players;
    ArenaGame *game;
    assert_int_equal(arena_create(&def, &game), FL_OK);
    arena_start(game, &state);
    return game;
}

// ---------------------------------------------------------------- lines

// The first player that a point meets which goes along in small steps.
static int32_t met_by_walking(FlVec3 from, FlVec3 along, double length, int32_t except, double *way)
{
    for (*way = 0.0; *way < length; *way += 0.25) {
        FlVec3 at = fl_vec3_add_scaled(from, along, *way);
        for (int32_t i = 0; i < state.player_count; i++) {
            const ArenaPlayer *p = &state.player[i];
            if (i != except && p->alive != 0 && fabs(at.x - p->x) < ARENA_HALF_WIDTH &&
                fabs(at.y - p->y) < ARENA_HALF_WIDTH && at.z > p->z - ARENA_FEET &&
                at.z < p->z + ARENA_HEAD) {
                return i;
            }
        }
    }
    return -1;
}

static void line_meets_whom_a_walk_along_it_meets(void **ignored)
{
    (void)ignored;
    FlRandom r = {.seed = 9};
    ArenaGame *game = judged_by(ARENA_JUDGE_SHOOTER, ARENA_MAP_PLAIN, 32);
    int32_t met = 0;
    for (int32_t n = 0; n < CASES(300); n++) {
        for (int32_t i = 0; i < 32; i++) {
            double x = fl_random_between(&r, -300.0, 300.0);
            double y = fl_random_between(&r, -300.0, 300.0);
            arena_place(&state, i, x, y);
            state.player[i].alive = i % 5 != 0;
        }
        double yaw = fl_random_between(&r, -3.0, 3.0);
        double pitch = fl_random_between(&r, -0.1, 0.1);
        FlVec3 along = arena_direction(yaw, pitch), from = arena_player_eye(&state.player[1]);
        double way;
        int32_t want = met_by_walking(from, along, 400.0, 1, &way);
        ArenaTrace trace = arena_shot_trace(game, &state, 1, from, along, 400.0);
        if (want != trace.player) { // a graze, shorter than a step
            FlVec3 back = fl_vec3_add_scaled(trace.end, along, 0.3);
            double rest;
            assert_true(trace.player < 0 || trace.length < way);
            assert_int_equal(met_by_walking(back, along, 0.1, 1, &rest), -1);
            continue;
        }
        met += want >= 0;
        assert_true(want < 0 || fabs(trace.length - way) <= 0.25 + 1e-9);
    }
    assert_true(met > CASES(300) / 4);
    arena_destroy(game);
}

static void wall_and_shut_door_stop_a_shot(void **ignored)
{
    (void)ignored;
    ArenaGame *game = judged_by(ARENA_JUDGE_SHOOTER, ARENA_MAP_KEEP, 2);
    arena_place(&state, 0, -950.0, 0.0);
    arena_place(&state, 1, -760.0, 0.0);
    FlVec3 from = arena_player_eye(&state.player[0]), along = fl_vec3(1.0, 0.0, 0.0);
    ArenaTrace trace = arena_shot_trace(game, &state, 0, from, along, 1000.0);
    assert_int_equal(trace.player, -1);
    assert_true(trace.end.x == -860.0);
    state.door[0].open_until = 10;
    trace = arena_shot_trace(game, &state, 0, from, along, 1000.0);
    assert_int_equal(trace.player, 1);
    assert_true(trace.end.x == -760.0 - ARENA_HALF_WIDTH);
    arena_place(&state, 1, -760.0, 200.0); // behind the wall beside the door
    assert_false(arena_sees(game, &state, from, arena_player_eye(&state.player[1])));
    arena_destroy(game);
}

// ---------------------------------------------------------------- weapons

static void shooter_decides_by_what_it_sees(void **ignored)
{
    (void)ignored;
    ArenaGame *game = judged_by(ARENA_JUDGE_SHOOTER, ARENA_MAP_PLAIN, 3);
    ArenaDeeds deeds = {0};
    arena_place(&state, 0, 0.0, 0.0);
    arena_place(&state, 1, 500.0, 0.0); // shown here, wherever it is
    arena_place(&state, 2, 0.0, 500.0);
    state.player[0].owned = 15;
    state.player[0].weapon = ARENA_WEAPON_SNIPER;
    state.player[0].ammo[ARENA_WEAPON_SNIPER] = 2;
    ArenaInput fire = {.buttons = ARENA_BUTTON_FIRE, .weapon = ARENA_WEAPON_SNIPER};
    arena_step_one(game, &state, 0, fire, &deeds);
    assert_int_equal(deeds.count, 1);
    assert_int_equal(deeds.deed[0].target, 1);
    assert_int_equal(deeds.deed[0].amount, 100);
    assert_int_equal(deeds.deed[0].which, state.player[1].life);
    assert_int_equal(state.player[1].health, 100); // not its to change
    for (int32_t i = 1; i < 30; i++) {
        arena_step_one(game, &state, 0, fire, &deeds);
    }
    assert_int_equal(deeds.count, 1); // loading
    arena_step_one(game, &state, 0, fire, &deeds);
    assert_int_equal(deeds.count, 2);
    for (int32_t i = 0; i < 60; i++) {
        arena_step_one(game, &state, 0, fire, &deeds);
    }
    assert_int_equal(deeds.count, 2); // empty
    assert_int_equal(state.player[0].shots, 2);
    arena_destroy(game);
}

static void melee_reaches_an_arm_and_no_further(void **ignored)
{
    (void)ignored;
    ArenaGame *game = judged_by(ARENA_JUDGE_SHOOTER, ARENA_MAP_PLAIN, 2);
    for (int32_t near = 0; near < 2; near++) {
        ArenaDeeds deeds = {0};
        arena_start(game, &state);
        arena_place(&state, 0, 0.0, 0.0);
        arena_place(&state, 1, near != 0 ? 70.0 : 80.0, 0.0);
        ArenaInput input = {.buttons = ARENA_BUTTON_FIRE, .weapon = ARENA_WEAPON_MELEE};
        for (int32_t i = 0; i < 6; i++) { // changing weapons takes a while
            arena_step_one(game, &state, 0, input, &deeds);
        }
        assert_int_equal(deeds.count, near);
    }
    arena_destroy(game);
}

// Every shot that a bot's peer decides is one that a suspicious owner lets pass.
static void honest_shots_are_plausible_and_shots_through_walls_are_not(void **ignored)
{
    (void)ignored;
    ArenaGame *game = judged_by(ARENA_JUDGE_SHOOTER, ARENA_MAP_KEEP, 16);
    static ArenaBots bots;
    for (int32_t i = 0; i < 16; i++) {
        arena_bot_init(&bots.bot[i], 1, i, i, 5);
    }
    int32_t shots = 0;
    for (int32_t t = 0; t < CASES(2000); t++) {
        static ArenaState before;
        static ArenaDeeds done;
        before = state;
        done.count = 0;
        arena_bots_decide(game, &state, &bots);
        arena_step(game, &state, bots.input, &done);
        for (int32_t i = 0; i < done.count; i++) {
            const ArenaPlayer *a = &before.player[done.deed[i].actor];
            const ArenaPlayer *b = &before.player[done.deed[i].target];
            shots += done.deed[i].kind == ARENA_DEED_DAMAGE;
            assert_true(arena_deed_at_thing(done.deed[i].kind) ||
                        arena_deed_plausible(game, &done.deed[i], fl_vec3(a->x, a->y, a->z),
                                             fl_vec3(b->x, b->y, b->z)));
        }
    }
    assert_true(shots > CASES(2000) / 10);
    ArenaDeed deed = {.kind = ARENA_DEED_DAMAGE, .weapon = ARENA_WEAPON_SNIPER, .amount = 100};
    FlVec3 here = fl_vec3(-950.0, 200.0, ARENA_FEET), there = fl_vec3(-750.0, 200.0, ARENA_FEET);
    assert_false(arena_deed_plausible(game, &deed, here, there));
    there.z = 400.0; // high above the wall
    assert_true(arena_deed_plausible(game, &deed, here, there));
    deed.weapon = ARENA_WEAPON_MELEE;
    assert_false(arena_deed_plausible(game, &deed, here, there));
    there.x = (double)NAN;
    assert_false(arena_deed_plausible(game, &deed, here, there));
    arena_destroy(game);
}

static void aim_is_at_whom_the_view_turns_least_for(void **ignored)
{
    (void)ignored;
    ArenaGame *game = judged_by(ARENA_JUDGE_SHOOTER, ARENA_MAP_PLAIN, 4);
    arena_place(&state, 0, 0.0, 0.0);
    arena_place(&state, 1, 100.0, 60.0);
    arena_place(&state, 2, 900.0, 100.0);
    arena_place(&state, 3, -100.0, 0.0);
    state.player[0].yaw = 0.0;
    double angle;
    assert_int_equal(arena_player_aims_at(&state, 0, &angle), 2);
    assert_true(fabs(angle - 0.114) < 0.002);
    state.player[2].alive = 0;
    assert_int_equal(arena_player_aims_at(&state, 0, NULL), 1);
    state.player[0].yaw = -1.5;
    assert_int_equal(arena_player_aims_at(&state, 0, NULL), -1);
    state.player[0].yaw = 3.0;
    assert_int_equal(arena_player_aims_at(&state, 0, NULL), 3);
    arena_destroy(game);
}

// ---------------------------------------------------------------- missiles

static void fire_rocket(const ArenaGame *game, ArenaDeeds *deeds)
{
    state.player[0].owned = 15;
    state.player[0].weapon = ARENA_WEAPON_ROCKET;
    state.player[0].ammo[ARENA_WEAPON_ROCKET] = 1;
    ArenaInput fire = {.buttons = ARENA_BUTTON_FIRE, .weapon = ARENA_WEAPON_ROCKET};
    arena_step_one(game, &state, 0, fire, deeds);
}

static void missile_flies_hits_and_splashes(void **ignored)
{
    (void)ignored;
    ArenaGame *game = judged_by(ARENA_JUDGE_SHOOTER, ARENA_MAP_PLAIN, 4);
    ArenaDeeds deeds = {0};
    arena_place(&state, 0, 0.0, 0.0);
    arena_place(&state, 1, 500.0, 0.0);
    arena_place(&state, 2, 500.0, 80.0);
    arena_place(&state, 3, 500.0, 200.0);
    fire_rocket(game, &deeds);
    assert_int_equal(state.missile_count, 1);
    int32_t ticks = 0;
    for (; state.missile_count > 0 && ticks < 50; ticks++) {
        FlVec3 before = arena_missile_position(&state, &state.missile[0]);
        assert_true(fabs(before.x - 45.0 * (ticks + 1)) < 1e-9);
        arena_step_one(game, &state, 0, (ArenaInput){0}, &deeds);
    }
    assert_int_equal(ticks, 10); // 500 - 15 - 4 at 45 a tick, one of them when it was fired
    assert_int_equal(deeds.count, 2);
    assert_int_equal(deeds.deed[0].target, 1);
    assert_int_equal(deeds.deed[0].amount, 100);
    assert_int_equal(deeds.deed[1].target, 2);
    assert_true(deeds.deed[1].amount > 20 && deeds.deed[1].amount < 70);
    assert_true(deeds.deed[1].y > 0); // pushed away from it
    arena_destroy(game);
}

// The shooter judges nothing then; the target does, with the missile as it was told.
static void target_judges_the_missile_it_was_told_of(void **ignored)
{
    (void)ignored;
    ArenaGame *game = judged_by(ARENA_JUDGE_TARGET, ARENA_MAP_PLAIN, 3);
    ArenaDeeds deeds = {0};
    arena_place(&state, 0, 0.0, 0.0);
    arena_place(&state, 1, 500.0, 0.0);
    arena_place(&state, 2, 500.0, 60.0);
    fire_rocket(game, &deeds);
    uint8_t bytes[ARENA_MISSILE_BYTES];
    FlWriter writer;
    fl_writer_init(&writer, bytes, ARENA_MISSILE_BYTES);
    assert_true(arena_missile_encode(&writer, &state.missile[0]));
    static ArenaState theirs; // in which the target stands elsewhere than its shooter sees it
    theirs = state;
    theirs.missile_count = 0;
    arena_place(&theirs, 1, 500.0, 10.0);
    FlReader reader;
    fl_reader_init(&reader, bytes, ARENA_MISSILE_BYTES);
    ArenaMissile told;
    assert_true(arena_missile_decode(&reader, &told));
    assert_true(arena_missile_show(game, &theirs, &told));
    assert_false(arena_missile_show(game, &theirs, &told)); // told twice
    assert_memory_equal(&theirs.missile[0], &state.missile[0], sizeof told);
    for (int32_t i = 0; i < 12; i++) {
        arena_step_one(game, &state, 0, (ArenaInput){0}, &deeds);
    }
    assert_int_equal(deeds.count, 0);
    for (int32_t i = 0; i < 12; i++) {
        arena_step_one(game, &theirs, 1, (ArenaInput){0}, &deeds);
    }
    assert_int_equal(theirs.missile_count, 0);
    assert_int_equal(deeds.count, 2); // itself and, near it, the third
    assert_int_equal(deeds.deed[0].actor, 0);
    assert_int_equal(deeds.deed[0].target, 1);
    assert_int_equal(deeds.deed[0].amount, 100);
    assert_int_equal(deeds.deed[1].target, 2);
    assert_true(arena_missile_remove(&state, 0, told.number));
    assert_false(arena_missile_remove(&state, 0, told.number));
    arena_destroy(game);
}

static void own_missile_hurts_less_and_lifts(void **ignored)
{
    (void)ignored;
    ArenaGame *game = judged_by(ARENA_JUDGE_SHOOTER, ARENA_MAP_PLAIN, 2);
    ArenaDeeds deeds = {0};
    arena_place(&state, 0, 0.0, 0.0);
    state.player[0].owned = 15;
    state.player[0].weapon = ARENA_WEAPON_ROCKET;
    state.player[0].ammo[ARENA_WEAPON_ROCKET] = 1;
    ArenaInput input[2] = {{.buttons = ARENA_BUTTON_FIRE, .weapon = ARENA_WEAPON_ROCKET}, {0}};
    input[0].pitch = 16384;
    double top = 0.0;
    for (int32_t i = 0; i < 30; i++) {
        arena_step(game, &state, input, &deeds);
        top = fmax(top, state.player[0].z - ARENA_FEET);
    }
    assert_int_equal(deeds.count, 1);
    assert_int_equal(deeds.deed[0].target, 0);
    assert_true(deeds.deed[0].amount <= 40 && deeds.deed[0].amount >= 30);
    assert_true(top > 20.0);
    arena_destroy(game);
}

static void old_and_surplus_missiles_are_not_shown(void **ignored)
{
    (void)ignored;
    ArenaGame *game = judged_by(ARENA_JUDGE_SHOOTER, ARENA_MAP_PLAIN, 2);
    state.tick = 1000;
    ArenaMissile m = {.z = 50.0, .born = 800};
    assert_false(arena_missile_show(game, &state, &m));
    m.owner = 2; // plays not here
    m.born = 1000;
    assert_false(arena_missile_show(game, &state, &m));
    m.owner = 1;
    for (uint32_t i = 0; i < ARENA_MISSILE_CAPACITY; i++) {
        m.number = i;
        assert_true(arena_missile_show(game, &state, &m));
    }
    m.number = ARENA_MISSILE_CAPACITY;
    assert_false(arena_missile_show(game, &state, &m));
    arena_destroy(game);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_meets_whom_a_walk_along_it_meets),
        cmocka_unit_test(wall_and_shut_door_stop_a_shot),
        cmocka_unit_test(shooter_decides_by_what_it_sees),
        cmocka_unit_test(melee_reaches_an_arm_and_no_further),
        cmocka_unit_test(honest_shots_are_plausible_and_shots_through_walls_are_not),
        cmocka_unit_test(aim_is_at_whom_the_view_turns_least_for),
        cmocka_unit_test(missile_flies_hits_and_splashes),
        cmocka_unit_test(target_judges_the_missile_it_was_told_of),
        cmocka_unit_test(own_missile_hurts_less_and_lifts),
        cmocka_unit_test(old_and_surplus_missiles_are_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
