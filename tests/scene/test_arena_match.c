// Whole matches of the arena: the same bits everywhere, one player at a time or all at once, skill
// wins, character shows, everything is used, and wrong views are played by.
#include "unit/test_arena_support.h"

typedef struct Match {
    ArenaGame *game;
    ArenaState state;
    ArenaBots bots;
    ArenaDeeds done;
    uint32_t deeds[ARENA_DEED_COUNT];
    uint32_t kills[ARENA_WEAPON_COUNT];
    uint32_t items[ARENA_ITEM_KIND_COUNT];
} Match;

static Match match;

static void begin(ArenaMap map, int32_t players, bool flags, uint64_t seed)
{
    memset(&match, 0, sizeof match);
    match.game = arena_game(map, players, flags, seed);
    arena_start(match.game, &match.state);
    for (int32_t i = 0; i < players; i++) {
        arena_bot_init(&match.bots.bot[i], seed, i, 5 * i % ARENA_CHARACTER_COUNT, 1 + i % 5);
    }
}

static void count_deeds(void)
{
    for (int32_t i = 0; i < match.done.count; i++) {
        const ArenaDeed *d = &match.done.deed[i];
        match.deeds[d->kind]++;
        if (d->kind == ARENA_DEED_SCORE) {
            match.kills[d->weapon]++;
        } else if (d->kind == ARENA_DEED_PICKUP) {
            match.items[arena_item_kind(match.game, d->target)]++;
        }
    }
    match.done.count = 0;
}

static void play(int32_t seconds)
{
    for (int32_t t = 0; t < seconds * ARENA_TICK_HZ; t++) {
        arena_bots_decide(match.game, &match.state, &match.bots);
        arena_step(match.game, &match.state, match.bots.input, &match.done);
        count_deeds();
    }
}

// ---------------------------------------------------------------- the same everywhere

static void matches_have_the_same_bits_with_every_compiler(void **ignored)
{
    (void)ignored;
    const struct {
        ArenaMap map;
        int32_t players;
        bool flags;
        uint64_t hash;
    } golden[] = {
        {ARENA_MAP_YARD, 16, false, UINT64_C(0xe121f9eb0da40f4a)},
        {ARENA_MAP_KEEP, 32, true, UINT64_C(0x7853b85f706f7c75)},
        {ARENA_MAP_KEEP, 64, false, UINT64_C(0x7c82da7b5eba98eb)},
    };
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
        begin(golden[i].map, golden[i].players, golden[i].flags, 7);
        play(60);
        check_hash((Hash){arena_hash(&match.state)}, golden[i].hash);
        assert_int_equal(match.state.missiles_lost, 0);
        arena_destroy(match.game);
    }
}

// ---------------------------------------------------------------- one at a time

// Shots come first, then missiles, then what is touched: the order in which a whole step decides.
static int32_t phase_of(const ArenaDeed *deed)
{
    bool damage = deed->kind == ARENA_DEED_DAMAGE;
    return damage && deed->weapon != ARENA_WEAPON_ROCKET ? 0 : damage ? 1 : 2;
}

// Every player steps its own copy, and its deeds are decided by the truth.
static void step_by_peers(ArenaState *truth)
{
    static ArenaState view, next;
    static ArenaDeeds all;
    static ArenaMissile missile[ARENA_MISSILE_CAPACITY];
    int32_t first = truth->tick % truth->player_count, missiles = 0;
    all.count = 0;
    next = *truth;
    for (int32_t k = 0; k < truth->player_count; k++) {
        int32_t i = (first + k) % truth->player_count;
        view = *truth;
        arena_step_one(match.game, &view, i, match.bots.input[i], &all);
        next.player[i] = view.player[i];
        for (int32_t m = 0; m < view.missile_count; m++) {
            if (view.missile[m].owner == i) {
                missile[missiles++] = view.missile[m];
            }
        }
    }
    *truth = next;
    for (int32_t phase = 0; phase < 3; phase++) {
        for (int32_t i = 0; i < all.count; i++) {
            if (phase_of(&all.deed[i]) != phase) {
                continue;
            }
            ArenaDeeds more = {0};
            ArenaDeed deed = all.deed[i];
            if (arena_deed_apply(match.game, truth, &deed, &more) == ARENA_APPLIED) {
                arena_deed_learn(match.game, truth, &deed, ARENA_APPLIED, NULL);
            }
            for (int32_t n = 0; n < more.count; n++) {
                assert_int_equal(arena_deed_apply(match.game, truth, &more.deed[n], &all),
                                 ARENA_APPLIED);
            }
        }
    }
    truth->missile_count = 0;
    arena_step_idle(match.game, truth);
    memset(truth->missile, 0, sizeof truth->missile);
    memcpy(truth->missile, missile, (size_t)missiles * sizeof missile[0]);
    truth->missile_count = missiles;
}

static int by_birth(const void *left, const void *right)
{
    const ArenaMissile *a = left, *b = right;
    return a->born != b->born ? a->born - b->born : a->owner - b->owner;
}

static uint64_t sorted_hash(const ArenaState *state)
{
    static ArenaState sorted;
    sorted = *state;
    qsort(sorted.missile, (size_t)sorted.missile_count, sizeof sorted.missile[0], by_birth);
    return arena_hash(&sorted);
}

static void peers_that_see_all_play_the_game_that_one_process_plays(void **ignored)
{
    (void)ignored;
    static ArenaState truth;
    for (int32_t flags = 0; flags < 2; flags++) {
        begin(flags != 0 ? ARENA_MAP_KEEP : ARENA_MAP_YARD, 16, flags != 0, 8);
        truth = match.state;
        for (int32_t t = 0; t < CASES(2400); t++) {
            arena_bots_decide(match.game, &match.state, &match.bots);
            step_by_peers(&truth);
            arena_step(match.game, &match.state, match.bots.input, NULL);
            assert_int_equal(sorted_hash(&truth), sorted_hash(&match.state));
        }
        arena_destroy(match.game);
    }
}

// ---------------------------------------------------------------- everything is used

static void everything_is_used_in_a_normal_game(void **ignored)
{
    (void)ignored;
    begin(ARENA_MAP_KEEP, 16, true, 9);
    play(900);
    for (int32_t k = ARENA_DEED_DAMAGE; k < ARENA_DEED_COUNT; k++) {
        assert_true(match.deeds[k] >= 4);
    }
    for (int32_t w = 0; w < ARENA_WEAPON_COUNT; w++) {
        assert_true(match.kills[w] * 50 > match.deeds[ARENA_DEED_SCORE]); // one in fifty at least
    }
    for (int32_t k = 0; k < ARENA_ITEM_KIND_COUNT; k++) {
        assert_true(match.items[k] >= 10);
    }
    assert_true(match.state.door[0].uses >= 10 && match.state.door[1].uses >= 10);
    uint32_t jumps = 0;
    for (int32_t i = 0; i < 16; i++) {
        jumps += match.state.player[i].jumps;
    }
    assert_true(jumps > 100);
    arena_destroy(match.game);
}

static void nearly_everybody_is_visible_in_the_yard(void **ignored)
{
    (void)ignored;
    begin(ARENA_MAP_YARD, 32, false, 10);
    int32_t pairs = 0, seen = 0;
    for (int32_t n = 0; n < 60; n++) {
        play(1);
        for (int32_t i = 0; i < 32; i++) {
            for (int32_t k = 0; k < i; k++) {
                const ArenaPlayer *a = &match.state.player[i], *b = &match.state.player[k];
                if (a->alive != 0 && b->alive != 0) {
                    pairs++;
                    seen += arena_sees(match.game, &match.state, arena_player_eye(a),
                                       arena_player_eye(b));
                }
            }
        }
    }
    assert_true(seen > pairs * 9 / 10);
    arena_destroy(match.game);
}

// ---------------------------------------------------------------- skill and character

static double rank_of(const double *value, int32_t count, int32_t which)
{
    double below = 0.0, same = 0.0;
    for (int32_t i = 0; i < count; i++) {
        below += value[i] < value[which];
        same += value[i] == value[which];
    }
    return below + 0.5 * same;
}

static double pearson(const double *a, const double *b, int32_t count)
{
    double ma = 0.0, mb = 0.0, aa = 0.0, bb = 0.0, ab = 0.0;
    for (int32_t i = 0; i < count; i++) {
        ma += a[i] / count;
        mb += b[i] / count;
    }
    for (int32_t i = 0; i < count; i++) {
        aa += (a[i] - ma) * (a[i] - ma);
        bb += (b[i] - mb) * (b[i] - mb);
        ab += (a[i] - ma) * (b[i] - mb);
    }
    return ab / sqrt(aa * bb);
}

static double spearman(const double *a, const double *b, int32_t count)
{
    double ra[ARENA_PLAYER_CAPACITY], rb[ARENA_PLAYER_CAPACITY];
    for (int32_t i = 0; i < count; i++) {
        ra[i] = rank_of(a, count, i);
        rb[i] = rank_of(b, count, i);
    }
    return pearson(ra, rb, count);
}

static void higher_skill_wins(void **ignored)
{
    (void)ignored;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        begin(ARENA_MAP_YARD, 20, false, seed);
        play(300);
        double skill[20], score[20];
        for (int32_t i = 0; i < 20; i++) {
            skill[i] = match.bots.bot[i].skill;
            score[i] = match.state.player[i].score;
        }
        assert_true(spearman(skill, score, 20) > 0.85);
        arena_destroy(match.game);
    }
}

// One character per player, all of one skill; the numbers turned around in the second game.
static void characters_of_equal_skill_differ_a_little_but_always_alike(void **ignored)
{
    (void)ignored;
    double score[2][ARENA_CHARACTER_COUNT];
    for (uint64_t n = 0; n < 2; n++) {
        begin(ARENA_MAP_YARD, 32, false, 20 + n);
        for (int32_t i = 0; i < 32; i++) {
            arena_bot_init(&match.bots.bot[i], 20 + n, i, n == 0 ? i : 31 - i, 4);
        }
        play(2000);
        for (int32_t i = 0; i < 32; i++) {
            score[n][match.bots.bot[i].character] = match.state.player[i].score;
        }
        arena_destroy(match.game);
    }
    double low = 1e9, high = 0.0;
    for (int32_t i = 0; i < 32; i++) {
        low = fmin(low, score[0][i] + score[1][i]);
        high = fmax(high, score[0][i] + score[1][i]);
    }
    assert_true(low > 0.4 * high);
    assert_true(pearson(score[0], score[1], 32) > 0.5);
}

// ---------------------------------------------------------------- wrong views

// Half of the players see everything but themselves as it was 250 ms ago, and aim by it; what their
// shots meet is decided where the others really are.
static void who_sees_late_hits_less(void **ignored)
{
    (void)ignored;
    enum { LATE = 6 };
    static ArenaState past[LATE], view;
    begin(ARENA_MAP_YARD, 16, false, 11);
    for (int32_t i = 0; i < 16; i++) {
        arena_bot_init(&match.bots.bot[i], 11, i, i, 4);
    }
    for (int32_t t = 0; t < 240 * ARENA_TICK_HZ; t++) {
        past[t % LATE] = match.state;
        const ArenaState *old = &past[t >= LATE - 1 ? (t + 1) % LATE : 0];
        for (int32_t i = 0; i < 16; i++) {
            if (i % 2 == 0) {
                match.bots.input[i] =
                    arena_bot_decide(match.game, &match.bots.bot[i], &match.state, i);
                continue;
            }
            view = *old;
            view.tick = match.state.tick;
            view.player[i] = match.state.player[i];
            match.bots.input[i] = arena_bot_decide(match.game, &match.bots.bot[i], &view, i);
        }
        arena_step(match.game, &match.state, match.bots.input, NULL);
    }
    int32_t score[2] = {0};
    for (int32_t i = 0; i < 16; i++) {
        score[i % 2] += match.state.player[i].score;
    }
    assert_true(score[0] > score[1] + score[1] / 5);
    arena_destroy(match.game);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_have_the_same_bits_with_every_compiler),
        cmocka_unit_test(peers_that_see_all_play_the_game_that_one_process_plays),
        cmocka_unit_test(everything_is_used_in_a_normal_game),
        cmocka_unit_test(nearly_everybody_is_visible_in_the_yard),
        cmocka_unit_test(higher_skill_wins),
        cmocka_unit_test(characters_of_equal_skill_differ_a_little_but_always_alike),
        cmocka_unit_test(who_sees_late_hits_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
