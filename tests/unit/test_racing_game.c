// The racing game around its cars: settings, inputs, results, states compared and checked, views.
#include "unit/counting_alloc.h"
#include "unit/test_racing_support.h"

// ---------------------------------------------------------------- making it

static void game_allocates_once_and_gives_it_back(void **ignored)
{
    (void)ignored;
    Counter counter = {0};
    RacingDef def = racing_def_default();
    def.alloc = (FlAlloc){counting_alloc, counting_free, &counter};
    RacingGame *game;
    assert_int_equal(racing_create(&def, &game), FL_OK);
    RacingState state;
    RacingInput inputs[RACING_CAR_CAPACITY];
    racing_start(game, &state);
    for (int32_t i = 0; i < 100; i++) {
        racing_bot_inputs(game, 1, &state, inputs);
        racing_step(game, &state, inputs);
    }
    assert_int_equal(counter.allocated, 1);
    racing_destroy(game);
    assert_int_equal(counter.freed, 1);
    counter.refuse = true;
    assert_int_equal(racing_create(&def, &game), FL_NO_MEMORY);
    assert_null(game);
    racing_destroy(NULL);
}

static void refuse(RacingDef def)
{
    RacingGame *game;
    assert_int_equal(racing_create(&def, &game), FL_BAD_VALUE);
    assert_null(game);
}

static void settings_out_of_range_are_refused(void **ignored)
{
    (void)ignored;
    const double odd[] = {-1.0, 1e6, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        RacingDef def = racing_def_default();
        def.car_length_m = odd[i];
        refuse(def);
        def = racing_def_default();
        def.top_speed_m_s = odd[i];
        refuse(def);
        def = racing_def_default();
        def.start_speed_m_s = odd[i];
        refuse(def);
    }
    const int32_t cars[] = {-1, 0, 1, RACING_CAR_CAPACITY + 1};
    for (size_t i = 0; i < sizeof cars / sizeof cars[0]; i++) {
        RacingDef def = racing_def_default();
        def.car_count = cars[i];
        refuse(def);
    }
    RacingDef def = racing_def_default();
    def.course = RACING_COURSE_COUNT;
    refuse(def);
    def = racing_def_default();
    def.lap_count = -1;
    refuse(def);
    def = racing_def_default();
    def.time_limit = -1;
    refuse(def);
}

static void grid_is_a_free_place_for_everybody_and_follows_the_seed(void **ignored)
{
    (void)ignored;
    int32_t first_in[RACING_CAR_CAPACITY] = {0};
    for (uint64_t seed = 0; seed < 200; seed++) {
        RacingGame *game = racing_game(RACING_COURSE_RING, RACING_CAR_CAPACITY, seed);
        RacingState state;
        racing_start(game, &state);
        assert_true(racing_state_valid(game, &state));
        for (int32_t i = 0; i < state.car_count; i++) {
            assert_true(state.car[i].progress < 0.0);
            for (int32_t j = 0; j < i; j++) {
                FlVec3 a = fl_vec3(state.car[i].x, state.car[i].y, 0.0);
                FlVec3 b = fl_vec3(state.car[j].x, state.car[j].y, 0.0);
                assert_true(fl_vec3_distance(a, b) > 1.6);
            }
        }
        uint8_t order[RACING_CAR_CAPACITY];
        racing_standings(&state, order);
        first_in[order[0]]++;
        racing_destroy(game);
    }
    for (int32_t i = 0; i < RACING_CAR_CAPACITY;
         i++) { // the first row has two, ties to the smaller
        assert_true(first_in[i] < 60);
    }
}

// ---------------------------------------------------------------- inputs

static void every_input_survives_packing_and_nothing_else_decodes(void **ignored)
{
    (void)ignored;
    int32_t decoded = 0;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        const uint8_t bytes[RACING_INPUT_BYTES] = {(uint8_t)(bits & 0xff), (uint8_t)(bits >> 8)};
        RacingInput input = {1, 1, 1};
        if (!racing_input_decode(bytes, &input)) {
            assert_true(input.throttle == 0 && input.steer == 0 && input.brake == 0);
            continue;
        }
        uint8_t again[RACING_INPUT_BYTES];
        racing_input_encode(input, again);
        assert_memory_equal(bytes, again, sizeof bytes);
        decoded++;
    }
    assert_int_equal(decoded, 31 * 127 * 16);
    for (int32_t throttle = -15; throttle <= 15; throttle++) {
        for (int32_t steer = -63; steer <= 63; steer++) {
            RacingInput input = {(int8_t)throttle, (int8_t)steer, (int8_t)(steer & 15)}, back;
            uint8_t bytes[RACING_INPUT_BYTES];
            racing_input_encode(input, bytes);
            assert_true(racing_input_decode(bytes, &back));
            assert_memory_equal(&input, &back, sizeof input);
        }
    }
}

static void pedals_pressed_too_hard_are_held_when_packed_and_when_driven(void **ignored)
{
    (void)ignored;
    const RacingInput hard = {127, -128, 127}, most = {15, -63, 15};
    uint8_t a[RACING_INPUT_BYTES], b[RACING_INPUT_BYTES];
    racing_input_encode(hard, a);
    racing_input_encode(most, b);
    assert_memory_equal(a, b, sizeof a);
    RacingGame *game = racing_game(RACING_COURSE_BEAN, 2, 1);
    RacingState p, q;
    racing_start(game, &p);
    q = p;
    racing_step(game, &p, (RacingInput[]){hard, hard});
    racing_step(game, &q, (RacingInput[]){most, most});
    assert_memory_equal(&p, &q, sizeof p);
    racing_destroy(game);
}

// ---------------------------------------------------------------- finish and standings

static void finish_time_is_that_of_the_crossing_within_the_tick(void **ignored)
{
    (void)ignored;
    RacingDef def = racing_def_default();
    def.lap_count = 2;
    def.time_limit = 0;
    RacingGame *game;
    assert_int_equal(racing_create(&def, &game), FL_OK);
    double goal = 2.0 * racing_length_m(game);
    FlRandom r = {.seed = 21};
    for (int32_t i = 0; i < CASES(500); i++) {
        RacingState state;
        racing_start(game, &state);
        state.tick = (int32_t)fl_random_below(&r, 10000);
        double short_of = fl_random_between(&r, 0.0, 0.45);
        racing_put(game, &state.car[0], goal - short_of, 1.0, 0.0, 30.0);
        RacingState before = state;
        racing_step(game, &state, (RacingInput[]){{15, 0, 0}, {0, 0, 0}});
        double way = state.car[0].progress - before.car[0].progress;
        double expected = (before.tick + (goal - before.car[0].progress) / way) / RACING_TICK_HZ;
        assert_true(fabs((double)state.car[0].finish_ns / 1e9 - expected) < 1e-8);
        assert_true(state.car[1].finish_ns == -1 && state.over == 0);
        FlTime finish = state.car[0].finish_ns;
        racing_step(game, &state, (RacingInput[]){{15, 0, 0}, {0, 0, 0}});
        assert_true(state.car[0].finish_ns == finish);
    }
    racing_destroy(game);
}

static void standings_put_finishers_first_and_ties_to_the_smaller_number(void **ignored)
{
    (void)ignored;
    RacingState state = {.car_count = 6};
    const FlTime finish[] = {-1, FL_SEC(9), FL_SEC(8), FL_SEC(9), -1, -1};
    const double progress[] = {50.0, 10.0, 0.0, 999.0, 50.001, 50.0};
    for (int32_t i = 0; i < 6; i++) {
        state.car[i].finish_ns = finish[i];
        state.car[i].progress = progress[i];
    }
    uint8_t order[RACING_CAR_CAPACITY];
    const uint8_t expected[RACING_CAR_CAPACITY] = {2, 1, 3, 4, 0, 5};
    racing_standings(&state, order);
    assert_memory_equal(order, expected, sizeof order);
}

static void result_stays_when_the_time_is_up_though_cars_drive_on(void **ignored)
{
    (void)ignored;
    RacingDef def = racing_def_default();
    def.time_limit = 100;
    RacingGame *game;
    assert_int_equal(racing_create(&def, &game), FL_OK);
    RacingState state;
    racing_start(game, &state);
    const RacingInput inputs[] = {{15, 10, 0}, {0, 0, 3}};
    for (int32_t i = 0; i < 99; i++) {
        racing_step(game, &state, inputs);
    }
    assert_int_equal(state.over, 0);
    racing_step(game, &state, inputs);
    assert_int_equal(state.over, 1);
    uint8_t result[RACING_CAR_CAPACITY], later[RACING_CAR_CAPACITY];
    racing_standings(&state, result);
    assert_int_equal(result[0], 0);
    double progress = state.car[0].progress;
    for (int32_t i = 0; i < 600; i++) { // now the other way round
        RacingInput inputs_now[] = {{0, 0, 15}, racing_bot_drive(game, 1, &state, 1)};
        racing_step(game, &state, inputs_now);
    }
    assert_true(state.car[0].progress > progress && state.car[1].progress > state.car[0].progress);
    racing_standings(&state, later);
    assert_memory_equal(result, later, sizeof result);
    racing_destroy(game);
}

static void laps_count_from_the_first_crossing(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_RING, 2, 1);
    const double progress[] = {-1e12, -0.1, 0.0, 219.9, 220.0, 2200.0, 1e12};
    const int32_t lap[] = {0, 0, 1, 1, 2, 11, INT32_MAX};
    for (size_t i = 0; i < sizeof lap / sizeof lap[0]; i++) {
        RacingCar car = {.progress = progress[i]};
        assert_int_equal(racing_lap(game, &car), lap[i]);
    }
    racing_destroy(game);
}

// ---------------------------------------------------------------- comparing and checking

// Every byte that means something, changed, changes the hash.
static void hash_tells_states_apart_by_any_field(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_BEAN, RACING_CAR_CAPACITY, 1);
    RacingState state;
    racing_start(game, &state);
    uint64_t hash = racing_hash(&state);
    for (size_t i = 0; i < sizeof state; i++) {
        RacingState other = state;
        ((uint8_t *)&other)[i] ^= 1;
        bool count = i >= offsetof(RacingState, car_count) && i < offsetof(RacingState, over);
        bool unused = i >= offsetof(RacingState, unused) && i < offsetof(RacingState, order);
        if (i >= offsetof(RacingState, car)) {
            size_t within = (i - offsetof(RacingState, car)) % sizeof(RacingCar);
            unused = within >= offsetof(RacingCar, unused);
        }
        if (!count && !unused) {
            assert_true(racing_hash(&other) != hash);
        }
    }
    racing_destroy(game);
}

static void states_from_play_are_valid_and_broken_ones_are_not(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_SERPENT, 8, 3);
    RacingState state;
    RacingInput inputs[RACING_CAR_CAPACITY];
    FlRandom r = {.seed = 31};
    racing_start(game, &state);
    for (int32_t i = 0; i < CASES(3000); i++) {
        assert_true(racing_state_valid(game, &state));
        racing_random_inputs(&r, inputs);
        racing_step(game, &state, inputs);
    }
    const double odd[] = {(double)NAN, (double)INFINITY, -1e300, 1e300, 1e5};
    for (size_t field = 0; field < offsetof(RacingCar, finish_ns) / sizeof(double); field++) {
        for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
            RacingState broken = state;
            memcpy((char *)&broken.car[5] + field * sizeof(double), &odd[i], sizeof odd[i]);
            assert_false(racing_state_valid(game, &broken));
        }
    }
    RacingState broken = state;
    broken.car_count = 7;
    assert_false(racing_state_valid(game, &broken));
    broken = state;
    broken.order[3] = 8;
    assert_false(racing_state_valid(game, &broken));
    broken = state;
    broken.over = 1;
    memset(broken.order, 0, sizeof broken.order);
    assert_false(racing_state_valid(game, &broken));
    broken = state;
    broken.car[2].touching = UINT32_C(1) << 17;
    assert_false(racing_state_valid(game, &broken));
    racing_destroy(game);
}

// ---------------------------------------------------------------- to and from what is shown

// Told and shown without delay, a car is where it was: place, heading and velocity.
static void car_told_and_shown_stays_where_it_is(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_BEAN, 2, 1);
    RacingState state, view;
    RacingInput inputs[RACING_CAR_CAPACITY];
    racing_start(game, &state);
    view = state;
    for (int32_t i = 0; i < 2000; i++) {
        racing_bot_inputs(game, 5, &state, inputs);
        racing_step(game, &state, inputs);
        FlTime now = racing_tick_time(state.tick);
        FlState told = racing_car_state(&state.car[1], now);
        FlMotion motion = fl_motion_make(FL_MODEL_CIRCULAR, &told);
        FlPose pose = fl_motion_pose(&motion, now);
        assert_true(racing_car_show(game, &view, 1, &pose, false));
        const RacingCar *a = &state.car[1], *b = &view.car[1];
        assert_true(fabs(a->progress - b->progress) < 1e-9 && fabs(a->lateral - b->lateral) < 1e-9);
        assert_true(a->x == b->x && a->y == b->y && fabs(a->yaw - b->yaw) < 1e-12);
        assert_true(fabs(a->vx - b->vx) < 1e-9 && fabs(a->vy - b->vy) < 1e-9);
    }
    assert_true(racing_lap(game, &view.car[1]) > 1);
    racing_destroy(game);
}

// The turn rate and acceleration that a car tells are worth telling: a tenth of a second later the
// better models are nearer than the straight line, over a race.
static void what_a_car_tells_predicts_it(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_SERPENT, 2, 1);
    RacingState state;
    RacingInput inputs[RACING_CAR_CAPACITY];
    const FlModel models[] = {FL_MODEL_LINEAR, FL_MODEL_QUADRATIC, FL_MODEL_CIRCULAR};
    double error[3] = {0.0, 0.0, 0.0};
    FlState told[6] = {{0}};
    racing_start(game, &state);
    for (int32_t i = 0; i < 1800; i++) {
        FlTime now = racing_tick_time(state.tick);
        for (int32_t m = 0; m < 3 && i >= 60; m++) {
            FlMotion motion = fl_motion_make(models[m], &told[i % 6]);
            FlVec3 guess = fl_motion_position(&motion, now);
            error[m] += fl_vec3_distance(guess, fl_vec3(state.car[0].x, state.car[0].y, 0.0));
        }
        told[i % 6] = racing_car_state(&state.car[0], now);
        racing_bot_inputs(game, 5, &state, inputs);
        racing_step(game, &state, inputs);
    }
    assert_true(error[1] < 0.5 * error[0] && error[2] < 0.7 * error[0]);
    racing_destroy(game);
}

static void odd_poses_are_refused_or_held_and_harm_nobody(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_BEAN, 2, 1);
    const double odd[] = {0.0, -1e-300, 30.0, 1e9, -1e300, (double)INFINITY, (double)NAN};
    const uint64_t count = sizeof odd / sizeof odd[0];
    FlRandom r = {.seed = 41};
    RacingState view;
    racing_start(game, &view);
    for (int32_t i = 0; i < CASES(5000); i++) {
        double value[5];
        for (int32_t k = 0; k < 5; k++) {
            value[k] = odd[fl_random_below(&r, count)];
        }
        FlPose pose = {.position = {value[0], value[1], 0.0},
                       .velocity = {value[2], value[3], 0.0},
                       .yaw = value[4]};
        bool finite =
            fl_vec3_finite(pose.position) && fl_vec3_finite(pose.velocity) && isfinite(pose.yaw);
        RacingState before = view;
        assert_int_equal(racing_car_show(game, &view, 1, &pose, i % 2 == 0), finite);
        if (!finite) {
            assert_memory_equal(&view, &before, sizeof view);
        }
        racing_step_one(game, &view, 0, racing_bot_drive(game, 1, &view, 0));
        assert_true(isfinite(view.car[0].x) && isfinite(view.car[0].progress));
        assert_true(fabs(view.car[0].lateral) <= racing_half_width_m(game));
        char text[RACING_DRAW_BYTES(40, 10, 2)];
        assert_true(racing_draw(game, &view, 40, 10, text, sizeof text) > 0);
    }
    racing_destroy(game);
}

static void cut_finds_the_car_anywhere_in_the_likeliest_lap(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_BEAN, 2, 1);
    FlRandom r = {.seed = 42};
    RacingState view;
    racing_start(game, &view);
    for (int32_t i = 0; i < CASES(1000); i++) {
        double last = fl_random_between(&r, 0.0, 4000.0);
        double now = last + fl_random_between(&r, -190.0, 190.0);
        double lateral = fl_random_between(&r, -5.0, 5.0);
        FlPose pose = {.position = racing_position(game, (RacingPlace){now, lateral}, NULL)};
        view.car[1].progress = last;
        assert_true(racing_car_show(game, &view, 1, &pose, true));
        assert_true(fabs(view.car[1].progress - now) < 1e-8);
    }
    racing_destroy(game);
}

// ---------------------------------------------------------------- the picture

// A shown car that stands for `frozen` of a lap, and then is where it truly is.
static void freeze_and_jump(const RacingGame *game, double frozen)
{
    double length = racing_length_m(game), half = length / 2.0;
    double from = 2.3 * length, to = from + frozen * length;
    RacingState view;
    racing_start(game, &view);
    for (double now = view.car[1].progress; now < to + 0.1 * length; now += 0.37) {
        bool stands = now > from && now < to;
        RacingPlace place = {stands ? from : now, 1.0};
        FlPose pose = {.position = racing_position(game, place, NULL)};
        double told = (floor(now / half) + 0.5) * half;
        assert_true(racing_car_follow(game, &view, 1, &pose, told));
        assert_true(fabs(view.car[1].progress - place.progress) < 0.1);
    }
}

static void frozen_car_keeps_its_lap_and_jumps_into_the_one_it_is_told_in(void **ignored)
{
    (void)ignored;
    for (int32_t c = 0; c < RACING_COURSE_COUNT; c++) {
        RacingGame *game = racing_game((RacingCourse)c, 2, 1);
        for (double frozen = 0.1; frozen < 2.5; frozen += 0.1) {
            freeze_and_jump(game, frozen);
        }
        racing_destroy(game);
    }
}

static void picture_shows_every_car_and_the_leader_first(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_SERPENT, RACING_CAR_CAPACITY, 1);
    RacingState state;
    racing_start(game, &state);
    for (int32_t i = 0; i < state.car_count; i++) {
        racing_put(game, &state.car[i], 100.0 + 20.0 * i, 0.0, 0.0, 30.0);
    }
    state.car[3].finish_ns = FL_MS(12345);
    char text[RACING_DRAW_BYTES(80, 24, RACING_CAR_CAPACITY)], again[sizeof text];
    size_t length = racing_draw(game, &state, 80, 24, text, sizeof text);
    assert_int_equal(length, strlen(text));
    assert_true(length > 24 * 81 && length < sizeof text);
    int32_t lines = 0;
    for (size_t i = 0; i < length; i++) {
        lines += text[i] == '\n';
    }
    assert_int_equal(lines, 24 + RACING_CAR_CAPACITY);
    for (int32_t i = 0; i < state.car_count; i++) {
        assert_non_null(memchr(text, 'A' + i, 24 * 81));
    }
    assert_memory_equal(text + 24 * 81, " 1 D  lap   1  in  12.345 s", 27);
    assert_non_null(strstr(text, "\n 2 P  lap   1"));
    assert_int_equal(racing_draw(game, &state, 80, 24, again, sizeof again), length);
    assert_string_equal(text, again);
    assert_int_equal(racing_draw(game, &state, 80, 24, again, sizeof again - 1), 0);
    assert_int_equal(again[0], '\0');
    racing_destroy(game);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(game_allocates_once_and_gives_it_back),
        cmocka_unit_test(settings_out_of_range_are_refused),
        cmocka_unit_test(grid_is_a_free_place_for_everybody_and_follows_the_seed),
        cmocka_unit_test(every_input_survives_packing_and_nothing_else_decodes),
        cmocka_unit_test(pedals_pressed_too_hard_are_held_when_packed_and_when_driven),
        cmocka_unit_test(finish_time_is_that_of_the_crossing_within_the_tick),
        cmocka_unit_test(standings_put_finishers_first_and_ties_to_the_smaller_number),
        cmocka_unit_test(result_stays_when_the_time_is_up_though_cars_drive_on),
        cmocka_unit_test(laps_count_from_the_first_crossing),
        cmocka_unit_test(hash_tells_states_apart_by_any_field),
        cmocka_unit_test(states_from_play_are_valid_and_broken_ones_are_not),
        cmocka_unit_test(car_told_and_shown_stays_where_it_is),
        cmocka_unit_test(what_a_car_tells_predicts_it),
        cmocka_unit_test(odd_poses_are_refused_or_held_and_harm_nobody),
        cmocka_unit_test(cut_finds_the_car_anywhere_in_the_likeliest_lap),
        cmocka_unit_test(frozen_car_keeps_its_lap_and_jumps_into_the_one_it_is_told_in),
        cmocka_unit_test(picture_shows_every_car_and_the_leader_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
