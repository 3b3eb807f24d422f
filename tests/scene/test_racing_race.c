// Whole races: the same everywhere, undone and redone at will, as close as the recorded ones.
#include "unit/test_racing_support.h"

// ---------------------------------------------------------------- the same everywhere

static int32_t borders(const RacingState *state)
{
    int32_t count = 0;
    for (int32_t i = 0; i < state->car_count; i++) {
        count += state->car[i].border_count;
    }
    return count;
}

// Bots drive 16 cars for 20 s, one of them dozing off in turn; the hash of every tick goes in.
static uint64_t race_hash(RacingCourse course)
{
    RacingGame *game = racing_game(course, RACING_CAR_CAPACITY, 7);
    RacingState state;
    RacingInput inputs[RACING_CAR_CAPACITY];
    FlRandom r = {.seed = 8};
    RacingInput dozing = {0};
    uint64_t hash = 0;
    racing_start(game, &state);
    for (int32_t tick = 0; tick < 1200; tick++) {
        racing_bot_inputs(game, 7, &state, inputs);
        if (tick % 60 == 0) {
            dozing = racing_random_input(&r);
        }
        inputs[tick / 60 % 16] = dozing;
        racing_step(game, &state, inputs);
        hash = (hash ^ racing_hash(&state)) * UINT64_C(0x100000001b3);
    }
    assert_true(racing_contact_count(&state) > 10 && borders(&state) > 0);
    racing_destroy(game);
    return hash;
}

static void race_has_its_golden_hash(void **ignored)
{
    (void)ignored;
    const uint64_t golden[RACING_COURSE_COUNT] = {
        UINT64_C(0x116de8af4328d56b), UINT64_C(0x26fc0e987b7c24e0), UINT64_C(0x4fec5424caf0719c)};
    for (int32_t i = 0; i < RACING_COURSE_COUNT; i++) {
        uint64_t hash = race_hash((RacingCourse)i);
        if (hash != golden[i]) {
            fail_msg("golden hash of course %d is 0x%016llx", i, (unsigned long long)hash);
        }
    }
}

// ---------------------------------------------------------------- undone and redone

#define BACK 30

// Every tick goes back 30 ticks and drives them again: the present must come out the same, byte for
// byte. This is how a game finds its own non-determinism.
static void rolling_back_every_tick_changes_nothing(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_BEAN, RACING_CAR_CAPACITY, 3);
    static RacingState saved[BACK];
    static RacingInput inputs[BACK][RACING_CAR_CAPACITY];
    RacingState state;
    racing_start(game, &state);
    for (int32_t tick = 0; tick < CASES(900); tick++) {
        saved[tick % BACK] = state;
        racing_bot_inputs(game, 3, &state, inputs[tick % BACK]);
        racing_step(game, &state, inputs[tick % BACK]);
        int32_t from = tick < BACK ? 0 : tick - BACK + 1;
        RacingState again = saved[from % BACK];
        RacingInput asked[RACING_CAR_CAPACITY];
        racing_bot_inputs(game, 3, &again, asked); // bots keep no memory either
        assert_memory_equal(asked, inputs[from % BACK], sizeof asked);
        for (int32_t i = from; i <= tick; i++) {
            assert_memory_equal(&again, &saved[i % BACK], sizeof again);
            racing_step(game, &again, inputs[i % BACK]);
        }
        assert_memory_equal(&again, &state, sizeof again);
    }
    racing_destroy(game);
}

// An input that comes late: predicted as unchanged first, repaired later. In the end both agree.
static void late_inputs_repaired_by_rollback_give_the_true_race(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_RING, 8, 4);
    static RacingInput inputs[600][RACING_CAR_CAPACITY];
    RacingState truth, trail, shown;
    int32_t wrong = 0;
    racing_start(game, &truth);
    trail = truth; // steps only inputs that have arrived
    for (int32_t tick = 0; tick < 600; tick++) {
        racing_bot_inputs(game, 4, &truth, inputs[tick]);
        racing_step(game, &truth, inputs[tick]);
        if (tick < 12) {
            continue;
        }
        racing_step(game, &trail, inputs[tick - 12]);
        shown = trail;
        while (shown.tick < truth.tick) { // everybody goes on as they last did
            racing_step(game, &shown, inputs[tick - 12]);
        }
        wrong += racing_hash(&shown) != racing_hash(&truth);
    }
    assert_true(wrong > 500); // prediction alone is never quite right
    while (trail.tick < truth.tick) {
        racing_step(game, &trail, inputs[trail.tick]);
    }
    assert_true(racing_hash(&trail) == racing_hash(&truth));
    assert_memory_equal(&trail, &truth, sizeof trail);
    racing_destroy(game);
}

// ---------------------------------------------------------------- as close as recorded races

// Lead changes in 30 s of two bots, seen every 33 ms.
static int32_t lead_changes(RacingCourse course, uint64_t seed)
{
    RacingGame *game = racing_game(course, 2, seed);
    RacingState state;
    RacingInput inputs[RACING_CAR_CAPACITY];
    int32_t changes = 0, leader = -1;
    racing_start(game, &state);
    for (int32_t tick = 0; tick < 30 * RACING_TICK_HZ; tick++) {
        racing_bot_inputs(game, seed, &state, inputs);
        racing_step(game, &state, inputs);
        int32_t now = state.car[0].progress >= state.car[1].progress ? 0 : 1;
        if (tick % 2 == 1) {
            changes += leader >= 0 && now != leader;
            leader = now;
        }
    }
    racing_destroy(game);
    return changes;
}

static void two_bots_swap_the_lead_as_often_as_recorded_pairs(void **ignored)
{
    (void)ignored;
    for (int32_t course = 0; course < RACING_COURSE_COUNT; course++) {
        int32_t sum = 0, within = 0;
        for (uint64_t seed = 1; seed <= 50; seed++) {
            int32_t changes = lead_changes((RacingCourse)course, seed);
            sum += changes;
            within += changes >= 8 && changes <= 13;
        }
        double mean = sum / 50.0;
        if (mean < 9.5 || mean > 11.5 || within < 45) {
            fail_msg("course %d: mean %.2f, %d of 50 within 8 to 13", course, mean, within);
        }
    }
}

// ---------------------------------------------------------------- to the finish

static void check_result(const RacingState *state)
{
    uint8_t order[RACING_CAR_CAPACITY];
    racing_standings(state, order);
    for (int32_t rank = 1; rank < state->car_count; rank++) {
        const RacingCar *a = &state->car[order[rank - 1]], *b = &state->car[order[rank]];
        assert_true(a->finish_ns > 0 && a->finish_ns <= b->finish_ns);
        assert_true(a->finish_ns < b->finish_ns || order[rank - 1] < order[rank]);
    }
}

static void sixteen_bots_finish_on_every_course_and_any_may_win(void **ignored)
{
    (void)ignored;
    int32_t wins[RACING_CAR_CAPACITY] = {0};
    for (uint64_t seed = 0; seed < (uint64_t)CASES(40); seed++) {
        RacingDef def = racing_def_default();
        def.course = (RacingCourse)(seed % RACING_COURSE_COUNT);
        def.car_count = RACING_CAR_CAPACITY;
        def.lap_count = 2;
        def.time_limit = 0;
        def.seed = seed;
        RacingGame *game;
        assert_int_equal(racing_create(&def, &game), FL_OK);
        RacingState state;
        RacingInput inputs[RACING_CAR_CAPACITY];
        racing_start(game, &state);
        while (state.over == 0) {
            assert_true(state.tick < 80 * RACING_TICK_HZ);
            racing_bot_inputs(game, seed, &state, inputs);
            racing_step(game, &state, inputs);
            assert_true(racing_state_valid(game, &state));
        }
        check_result(&state);
        wins[state.order[0]]++;
        racing_destroy(game);
    }
    for (int32_t i = 0; i < RACING_CAR_CAPACITY; i++) {
        assert_true(wins[i] <= CASES(40) / 3 + 1);
    }
}

static void bots_find_back_from_anywhere(void **ignored)
{
    (void)ignored;
    FlRandom r = {.seed = 61};
    for (int32_t i = 0; i < CASES(300); i++) {
        RacingGame *game = racing_game((RacingCourse)(i % RACING_COURSE_COUNT), 2, 1);
        RacingState state;
        RacingInput inputs[RACING_CAR_CAPACITY];
        racing_start(game, &state);
        for (int32_t k = 0; k < 2; k++) {
            double progress = fl_random_between(&r, 0.0, 500.0);
            double lateral = fl_random_between(&r, -4.0, 4.0);
            double yaw = fl_random_between(&r, -FL_PI, FL_PI);
            double speed = fl_random_between(&r, 0.0, 20.0);
            racing_put(game, &state.car[k], progress, lateral, yaw, speed);
        }
        RacingState before = state;
        for (int32_t tick = 0; tick < 1200; tick++) {
            racing_bot_inputs(game, 1, &state, inputs);
            racing_step(game, &state, inputs);
        }
        for (int32_t k = 0; k < 2; k++) {
            if (state.car[k].progress < before.car[k].progress + 150.0) {
                fail_msg("case %d: car %d came %.1f m in 20 s", i, k,
                         state.car[k].progress - before.car[k].progress);
            }
        }
        racing_destroy(game);
    }
}

// ---------------------------------------------------------------- each its own car

#define DELAY 6

// Two peers, each driving its own car by what it sees: the other as it was 100 ms ago, continued
// by its velocity. Returns the samples at which they disagree who leads.
static int32_t own_cars_race(uint64_t seed, int32_t *changes, double *worst_m)
{
    RacingGame *game = racing_game(RACING_COURSE_BEAN, 2, seed);
    RacingState view[2];
    FlState told[2][DELAY];
    racing_start(game, &view[0]);
    view[1] = view[0];
    int32_t disagree = 0, leader = -1;
    for (int32_t tick = 0; tick < 30 * RACING_TICK_HZ; tick++) {
        FlTime now = racing_tick_time(tick);
        for (int32_t k = 0; k < 2; k++) {
            if (tick >= DELAY) {
                FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, &told[1 - k][tick % DELAY]);
                FlPose pose = fl_motion_pose(&motion, now);
                assert_true(racing_car_show(game, &view[k], 1 - k, &pose, false));
            }
        }
        for (int32_t k = 0; k < 2; k++) {
            const RacingCar *real = &view[1 - k].car[1 - k], *seen = &view[k].car[1 - k];
            *worst_m = tick < DELAY ? 0.0 : fmax(*worst_m, fabs(real->progress - seen->progress));
            told[k][tick % DELAY] = racing_car_state(&view[k].car[k], now);
        }
        int32_t first = view[0].car[0].progress >= view[0].car[1].progress ? 0 : 1;
        int32_t second = view[1].car[0].progress >= view[1].car[1].progress ? 0 : 1;
        disagree += first != second;
        *changes += leader >= 0 && leader != first;
        leader = first;
        for (int32_t k = 0; k < 2; k++) {
            racing_step_one(game, &view[k], k, racing_bot_drive(game, seed, &view[k], k));
        }
    }
    racing_destroy(game);
    return disagree;
}

static void own_car_mode_races_on_delayed_views_and_disagrees_a_little(void **ignored)
{
    (void)ignored;
    int32_t disagree = 0, changes = 0, races = CASES(30);
    double worst = 0.0;
    for (int32_t seed = 1; seed <= races; seed++) {
        double worst_here = 0.0;
        disagree += own_cars_race((uint64_t)seed, &changes, &worst_here);
        worst = fmax(worst, worst_here);
    }
    double rate = disagree / (1800.0 * races);
    if (rate < 0.001 || rate > 0.08 || worst > 1.6 || changes < 5 * races || changes > 20 * races) {
        fail_msg("disagree %.4f, worst %.2f m, %.1f changes", rate, worst, changes / (double)races);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(race_has_its_golden_hash),
        cmocka_unit_test(rolling_back_every_tick_changes_nothing),
        cmocka_unit_test(late_inputs_repaired_by_rollback_give_the_true_race),
        cmocka_unit_test(two_bots_swap_the_lead_as_often_as_recorded_pairs),
        cmocka_unit_test(sixteen_bots_finish_on_every_course_and_any_may_win),
        cmocka_unit_test(bots_find_back_from_anywhere),
        cmocka_unit_test(own_car_mode_races_on_delayed_views_and_disagrees_a_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
