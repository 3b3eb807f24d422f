// Deeds of the arena: who gets what, who is hurt, what is refused, and what comes back.
#include "unit/test_arena_support.h"

static ArenaState state, view;

static ArenaGame *fresh(ArenaMap map, int32_t players, bool flags)
{
    ArenaGame *game = arena_game(map, players, flags, 1);
    arena_start(game, &state);
    return game;
}

static ArenaVerdict apply(const ArenaGame *game, ArenaDeed deed, ArenaDeeds *more)
{
    more->count = 0;
    return arena_deed_apply(game, &state, &deed, more);
}

static ArenaDeed hit(int32_t actor, int32_t target, int32_t amount)
{
    return (ArenaDeed){.kind = ARENA_DEED_DAMAGE,
                       .actor = actor,
                       .target = target,
                       .which = state.player[target].life,
                       .weapon = ARENA_WEAPON_SNIPER,
                       .amount = amount};
}

static void armour_takes_two_thirds_and_a_death_scores_once(void **ignored)
{
    (void)ignored;
    ArenaDeeds more = {0};
    ArenaGame *game = fresh(ARENA_MAP_YARD, 4, false);
    state.player[1].armour = 30;
    assert_int_equal(apply(game, hit(0, 1, 30), &more), ARENA_APPLIED);
    assert_int_equal(state.player[1].armour, 10);
    assert_int_equal(state.player[1].health, 90);
    assert_int_equal(more.count, 0);
    ArenaDeed last = hit(0, 1, 100);
    assert_int_equal(apply(game, last, &more), ARENA_APPLIED);
    assert_int_equal(state.player[1].alive, 0);
    assert_int_equal(state.player[1].deaths, 1);
    assert_int_equal(more.count, 1);
    ArenaDeed score = more.deed[0];
    assert_int_equal(score.kind, ARENA_DEED_SCORE);
    assert_int_equal(score.target, 0);
    assert_int_equal(apply(game, score, &more), ARENA_APPLIED);
    assert_int_equal(state.player[0].score, 1);
    assert_int_equal(apply(game, last, &more), ARENA_REFUSED); // the dead die no more
    arena_destroy(game);
}

static void death_by_ones_own_hand_costs_a_point(void **ignored)
{
    (void)ignored;
    ArenaDeeds more = {0};
    ArenaGame *game = fresh(ARENA_MAP_YARD, 4, false);
    assert_int_equal(apply(game, hit(2, 2, 100), &more), ARENA_APPLIED);
    ArenaDeed score = more.deed[0];
    assert_int_equal(apply(game, score, &more), ARENA_APPLIED);
    assert_int_equal(state.player[2].score, -1);
    assert_int_equal(state.player[2].kills, 0);
    arena_destroy(game);
}

static void damage_that_cannot_be_is_refused(void **ignored)
{
    (void)ignored;
    ArenaDeeds more = {0};
    ArenaGame *game = fresh(ARENA_MAP_KEEP, 4, true);
    ArenaDeed other_life = hit(0, 1, 10), friendly = hit(0, 2, 10), strong = hit(0, 1, 8),
              stranger = hit(0, 1, 10);
    other_life.which++;
    strong.weapon = ARENA_WEAPON_GUN; // it never takes so much
    stranger.actor = 4;
    assert_int_equal(apply(game, other_life, &more), ARENA_REFUSED);
    assert_int_equal(apply(game, friendly, &more), ARENA_REFUSED);
    assert_int_equal(apply(game, strong, &more), ARENA_REFUSED);
    assert_int_equal(apply(game, stranger, &more), ARENA_REFUSED);
    assert_int_equal(state.player[1].health + state.player[2].health, 200);
    arena_destroy(game);
}

// All stand on the same item and ask; one gets it, and asking again changes nothing.
static void item_wanted_by_all_goes_to_one(void **ignored)
{
    (void)ignored;
    ArenaGame *game = fresh(ARENA_MAP_YARD, 16, false);
    FlRandom r = {.seed = 5};
    for (int32_t n = 0; n < CASES(300); n++) {
        int32_t item = (int32_t)fl_random_below(&r, (uint64_t)arena_item_count(game));
        state.tick += 1000;
        FlVec3 at = arena_item_position(game, item);
        static ArenaDeeds all;
        all.count = 0;
        for (int32_t i = 0; i < 16; i++) {
            arena_place(&state, i, at.x, at.y);
            state.player[i].z = at.z;
            state.player[i].health = 50;
            memset(state.player[i].ammo, 0, sizeof state.player[i].ammo);
            view = state;
            arena_step_one(game, &view, i, (ArenaInput){0}, &all);
        }
        assert_int_equal(all.count, 16);
        int32_t winners = 0;
        for (int32_t k = 0; k < 2 * all.count; k++) { // everything twice, in any order
            int32_t pick = (int32_t)fl_random_below(&r, (uint64_t)all.count);
            ArenaDeeds more = {0};
            winners += arena_deed_apply(game, &state, &all.deed[pick], &more) == ARENA_APPLIED;
            assert_int_equal(more.count, 0);
        }
        assert_int_equal(winners, 1);
        state.tick = state.item[item].back_at; // there again, but those were for the last one
        ArenaDeeds more = {0};
        for (int32_t k = 0; k < all.count; k++) {
            assert_int_equal(arena_deed_apply(game, &state, &all.deed[k], &more), ARENA_REFUSED);
        }
    }
    arena_destroy(game);
}

static void actor_gets_what_was_applied_and_sees_what_was_refused(void **ignored)
{
    (void)ignored;
    ArenaDeeds more = {0};
    ArenaGame *game = fresh(ARENA_MAP_YARD, 2, false);
    int32_t item = 0;
    while (arena_item_kind(game, item) != ARENA_ITEM_ROCKET) {
        item++;
    }
    view = state;
    ArenaDeed take = {.kind = ARENA_DEED_PICKUP, .actor = 1, .target = item};
    assert_int_equal(apply(game, take, &more), ARENA_APPLIED);
    ArenaAnswer answer = arena_deed_answer(&state, &take);
    arena_deed_learn(game, &view, &take, ARENA_APPLIED, &answer);
    assert_int_equal(view.player[1].ammo[ARENA_WEAPON_ROCKET], 10);
    assert_true((view.player[1].owned >> ARENA_WEAPON_ROCKET & 1u) != 0);
    assert_false(arena_item_there(&view, item));
    // The other one asks too late, and learns that it is gone.
    arena_start(game, &view);
    take.actor = 0;
    assert_int_equal(apply(game, take, &more), ARENA_REFUSED);
    answer = arena_deed_answer(&state, &take);
    arena_deed_learn(game, &view, &take, ARENA_REFUSED, &answer);
    assert_int_equal(view.player[0].ammo[ARENA_WEAPON_ROCKET], 0);
    assert_false(arena_item_there(&view, item));
    view.tick = state.item[item].back_at;
    assert_true(arena_item_there(&view, item));
    arena_destroy(game);
}

static void request_is_not_repeated_while_its_answer_is_under_way(void **ignored)
{
    (void)ignored;
    ArenaGame *game = fresh(ARENA_MAP_YARD, 2, false);
    FlVec3 at = arena_item_position(game, 0);
    arena_place(&state, 0, at.x, at.y);
    state.player[0].z = at.z;
    ArenaDeeds deeds = {0};
    for (int32_t i = 0; i < 9; i++) {
        arena_step_one(game, &state, 0, (ArenaInput){0}, &deeds);
    }
    assert_int_equal(deeds.count, 1);
    for (int32_t i = 0; i < 9; i++) {
        arena_step_one(game, &state, 0, (ArenaInput){0}, &deeds);
    }
    assert_int_equal(deeds.count, 2); // no answer came: once more
    arena_destroy(game);
}

static ArenaDeed flag_deed(ArenaDeedKind kind, int32_t actor, int32_t flag)
{
    return (ArenaDeed){
        .kind = kind, .actor = actor, .target = flag, .which = state.flag[flag].moves};
}

static ArenaVerdict flag_do(const ArenaGame *game, ArenaDeedKind kind, int32_t actor, int32_t flag)
{
    ArenaDeeds more = {0};
    ArenaDeed deed = flag_deed(kind, actor, flag);
    ArenaVerdict verdict = apply(game, deed, &more);
    arena_deed_learn(game, &state, &deed, verdict, NULL);
    return verdict;
}

static void flag_is_taken_dropped_sent_back_and_brought_home(void **ignored)
{
    (void)ignored;
    ArenaDeeds more = {0};
    ArenaGame *game = fresh(ARENA_MAP_KEEP, 4, true);
    assert_int_equal(flag_do(game, ARENA_DEED_TAKE, 0, 0), ARENA_REFUSED); // one's own
    ArenaDeed late = flag_deed(ARENA_DEED_TAKE, 2, 1);
    assert_int_equal(flag_do(game, ARENA_DEED_TAKE, 0, 1), ARENA_APPLIED);
    assert_int_equal(apply(game, late, &more), ARENA_REFUSED);
    assert_int_equal(state.player[0].carries, 1);
    assert_int_equal(flag_do(game, ARENA_DEED_BACK, 1, 1), ARENA_REFUSED); // still carried
    // Its carrier dies: it lies there until one of its team touches it.
    state.player[0].x = 123.0;
    assert_int_equal(apply(game, hit(1, 0, 100), &more), ARENA_APPLIED);
    assert_int_equal(more.count, 2);
    ArenaDeed drop = more.deed[1];
    assert_int_equal(apply(game, drop, &more), ARENA_APPLIED);
    assert_int_equal(apply(game, drop, &more), ARENA_REFUSED);
    assert_int_equal(state.flag[1].place, ARENA_FLAG_LYING);
    assert_true(state.flag[1].x == 123.0);
    assert_int_equal(flag_do(game, ARENA_DEED_BACK, 1, 1), ARENA_APPLIED);
    // Brought home while the other flag is away: no. With both there: five points.
    assert_int_equal(flag_do(game, ARENA_DEED_TAKE, 2, 1), ARENA_APPLIED);
    assert_int_equal(flag_do(game, ARENA_DEED_TAKE, 3, 0), ARENA_APPLIED);
    assert_int_equal(flag_do(game, ARENA_DEED_CAPTURE, 2, 1), ARENA_REFUSED);
    assert_int_equal(flag_do(game, ARENA_DEED_DROP, 3, 0), ARENA_APPLIED);
    assert_int_equal(flag_do(game, ARENA_DEED_BACK, 2, 0), ARENA_APPLIED);
    assert_int_equal(flag_do(game, ARENA_DEED_CAPTURE, 2, 1), ARENA_APPLIED);
    assert_int_equal(state.player[2].score, 5);
    assert_int_equal(state.player[2].carries, -1);
    assert_int_equal(state.flag[1].captures, 1);
    arena_destroy(game);
}

// The answer to a take reaches somebody who has died meanwhile: the flag must not stay with him.
static void flag_won_by_the_dead_is_let_go(void **ignored)
{
    (void)ignored;
    ArenaDeeds deeds = {0};
    ArenaGame *game = fresh(ARENA_MAP_KEEP, 4, true);
    view = state;
    ArenaDeed take = flag_deed(ARENA_DEED_TAKE, 0, 1);
    assert_int_equal(apply(game, take, &deeds), ARENA_APPLIED);
    ArenaAnswer answer = arena_deed_answer(&state, &take);
    view.player[0].alive = view.player[0].health = 0;
    view.player[0].respawn_at = 1000;
    arena_deed_learn(game, &view, &take, ARENA_APPLIED, &answer);
    deeds.count = 0;
    arena_step_one(game, &view, 0, (ArenaInput){0}, &deeds);
    assert_int_equal(deeds.count, 1);
    assert_int_equal(deeds.deed[0].kind, ARENA_DEED_DROP);
    ArenaDeeds more = {0};
    assert_int_equal(apply(game, deeds.deed[0], &more), ARENA_APPLIED);
    assert_int_equal(state.flag[1].place, ARENA_FLAG_LYING);
    arena_destroy(game);
}

static void lying_flag_goes_home_by_itself(void **ignored)
{
    (void)ignored;
    ArenaGame *game = fresh(ARENA_MAP_KEEP, 4, true);
    assert_int_equal(flag_do(game, ARENA_DEED_TAKE, 0, 1), ARENA_APPLIED);
    assert_int_equal(flag_do(game, ARENA_DEED_DROP, 0, 1), ARENA_APPLIED);
    for (int32_t i = 0; i < 601 && state.flag[1].place != ARENA_FLAG_HOME; i++) {
        arena_step_idle(game, &state);
    }
    assert_int_equal(state.flag[1].place, ARENA_FLAG_HOME);
    assert_true(state.tick > 500);
    arena_destroy(game);
}

// Bytes that a decoder lets pass: nothing here may break the state.
static void any_deed_is_applied_or_refused_without_harm(void **ignored)
{
    (void)ignored;
    FlRandom r = {.seed = 6};
    ArenaGame *game = fresh(ARENA_MAP_KEEP, 5, true);
    int32_t decoded = 0;
    for (int32_t n = 0; n < CASES(100000); n++) {
        uint8_t bytes[ARENA_DEED_BYTES];
        for (int32_t i = 0; i < ARENA_DEED_BYTES; i++) {
            uint64_t draw = fl_random_below(&r, 256);
            bytes[i] = (uint8_t)(i < 4 ? draw : draw < 250 ? 0 : draw);
        }
        FlReader reader;
        fl_reader_init(&reader, bytes, ARENA_DEED_BYTES);
        ArenaDeed deed;
        if (!arena_deed_decode(&reader, &deed)) {
            continue;
        }
        decoded++;
        ArenaDeeds more = {0};
        ArenaVerdict verdict = arena_deed_apply(game, &state, &deed, &more);
        ArenaAnswer answer = arena_deed_answer(&state, &deed);
        arena_deed_learn(game, &state, &deed, verdict, &answer);
        assert_true(arena_state_valid(game, &state));
    }
    assert_true(decoded > CASES(100000) / 200);
    arena_destroy(game);
}

static void a_flag_lies_in_the_map_and_is_carried_by_somebody(void **unused)
{
    (void)unused;
    ArenaDef def = arena_def_default();
    def.map = ARENA_MAP_KEEP;
    def.flags = true;
    ArenaGame *game;
    assert_int_equal(arena_create(&def, &game), FL_OK);
    static ArenaState s;
    static ArenaDeeds more;
    arena_start(game, &s);
    s.flag[1].place = ARENA_FLAG_CARRIED;
    s.flag[1].carrier = 0;
    ArenaDeed drop = {.kind = ARENA_DEED_DROP, .target = 1, .x = 131071, .y = 0, .z = 0};
    assert_int_equal(arena_deed_apply(game, &s, &drop, &more), ARENA_REFUSED);
    drop.x = 100;
    assert_int_equal(arena_deed_apply(game, &s, &drop, &more), ARENA_APPLIED);
    assert_true(arena_state_valid(game, &s));
    ArenaAnswer answer = {.first = ARENA_FLAG_CARRIED, .second = -2000000, .third = 3};
    arena_deed_show(game, &s, &drop, &answer);
    assert_int_equal(s.flag[1].place, ARENA_FLAG_HOME);
    assert_int_equal(s.flag[1].carrier, -1);
    s.player[0].score = INT32_MAX; // the next point would be too many
    assert_false(arena_state_valid(game, &s));
    arena_destroy(game);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(armour_takes_two_thirds_and_a_death_scores_once),
        cmocka_unit_test(death_by_ones_own_hand_costs_a_point),
        cmocka_unit_test(damage_that_cannot_be_is_refused),
        cmocka_unit_test(item_wanted_by_all_goes_to_one),
        cmocka_unit_test(actor_gets_what_was_applied_and_sees_what_was_refused),
        cmocka_unit_test(request_is_not_repeated_while_its_answer_is_under_way),
        cmocka_unit_test(flag_is_taken_dropped_sent_back_and_brought_home),
        cmocka_unit_test(flag_won_by_the_dead_is_let_go),
        cmocka_unit_test(lying_flag_goes_home_by_itself),
        cmocka_unit_test(any_deed_is_applied_or_refused_without_harm),
        cmocka_unit_test(a_flag_lies_in_the_map_and_is_carried_by_somebody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
