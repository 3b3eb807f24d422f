// Cars of the racing game: wheels, contacts, borders, wakes, and that their order does not matter.
#include "unit/test_racing_support.h"

static const RacingInput nothing[RACING_CAR_CAPACITY];

// ---------------------------------------------------------------- wheels

// Change of speed in one tick alone on the straight.
static double gain_m_s(const RacingGame *game, double speed, RacingInput input)
{
    RacingState state;
    racing_start(game, &state);
    racing_put(game, &state.car[0], 20.0, 0.0, 0.0, speed);
    racing_put(game, &state.car[1], 300.0, 0.0, 0.0, 0.0);
    racing_step(game, &state, (RacingInput[]){input, {0}});
    return racing_speed(&state.car[0]) - fabs(speed);
}

static void pedals_do_what_their_names_say(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_SERPENT, 2, 1);
    const RacingInput full = {15, 0, 0}, half = {8, 0, 0}, roll = {0, 0, 0}, brake = {0, 0, 15};
    for (double speed = 1.0; speed < 33.0; speed += 1.0) {
        assert_true(gain_m_s(game, speed, full) > 0.0);
        assert_true(gain_m_s(game, speed, full) > gain_m_s(game, speed, half));
        assert_true(gain_m_s(game, speed, half) > gain_m_s(game, speed, roll));
        assert_true(gain_m_s(game, speed, roll) < 0.0);
        assert_true(gain_m_s(game, speed, brake) < -0.3);
    }
    assert_true(gain_m_s(game, 34.0, full) < 0.0); // the top speed
    assert_true(gain_m_s(game, 0.1, brake) == -0.1);
    assert_true(gain_m_s(game, 0.0, roll) == 0.0);
    assert_true(gain_m_s(game, 0.0, (RacingInput){-15, 0, 0}) > 0.0); // the reverse gear
    assert_true(gain_m_s(game, -5.5, (RacingInput){-15, 0, 0}) < 0.0);
    racing_destroy(game);
}

// How sharply a car can turn at a speed, in m/s²: the wheel fully left, from straight ahead.
static double sideways_m_s2(double speed, double *slide_m_s)
{
    RacingGame *game = racing_game(RACING_COURSE_SERPENT, 2, 1);
    RacingState state;
    racing_start(game, &state);
    racing_put(game, &state.car[0], 60.0, -4.0, 0.0, speed);
    racing_put(game, &state.car[1], 300.0, 0.0, 0.0, 0.0);
    double most = 0.0;
    *slide_m_s = 0.0;
    for (int32_t i = 0; i < 15; i++) {
        racing_step(game, &state, (RacingInput[]){{0, 63, 0}, {0}});
        const RacingCar *car = &state.car[0];
        FlState told = racing_car_state(car, 0);
        most = fmax(most, told.turn_rate * racing_speed(car));
        double aside = car->vy * fl__cos(car->yaw) - car->vx * fl__sin(car->yaw);
        *slide_m_s = fmax(*slide_m_s, fabs(aside));
    }
    racing_destroy(game);
    return most;
}

static void grip_limits_how_sharply_a_fast_car_turns_and_it_slides(void **ignored)
{
    (void)ignored;
    double slide;
    double slow = sideways_m_s2(8.0, &slide);
    assert_true(slow < 15.0 && slide < 1e-9); // the wheels' limit, not the tyres'
    double fast = sideways_m_s2(33.0, &slide);
    assert_true(fast > 25.0 && fast < 31.0 && slide > 0.2);
}

static void wake_of_the_car_ahead_makes_faster_and_only_behind_it(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_SERPENT, 2, 1);
    const double ahead[] = {8.0, -8.0, 8.0, 40.0}, aside[] = {0.0, 0.0, 3.0, 0.0};
    double speed[4];
    for (int32_t i = 0; i < 4; i++) {
        RacingState state;
        racing_start(game, &state);
        racing_put(game, &state.car[0], 60.0, 0.0, 0.0, 30.0);
        racing_put(game, &state.car[1], 60.0 + ahead[i], aside[i], 0.0, 30.0);
        racing_step(game, &state, (RacingInput[]){{15, 0, 0}, {15, 0, 0}});
        speed[i] = racing_speed(&state.car[0]);
    }
    assert_true(speed[0] > speed[1] + 0.01);
    assert_true(speed[1] == speed[2] && speed[1] == speed[3]);
    racing_destroy(game);
}

// ---------------------------------------------------------------- contacts

static void two_meeting(const RacingGame *game, FlRandom *r, RacingState *state)
{
    racing_start(game, state);
    for (int32_t k = 0; k < 2; k++) {
        double progress = 100.0 + fl_random_between(r, -0.6, 0.6);
        double lateral = fl_random_between(r, -0.6, 0.6);
        double yaw = fl_random_between(r, -0.5, 0.5);
        double speed = fl_random_between(r, 5.0, 30.0);
        racing_put(game, &state->car[k], progress, lateral, yaw, speed);
    }
}

// What a contact did is the velocity after it less that beside a car in the same place that does
// not close in (which has the same wake).
static void contact_conserves_momentum_and_makes_no_energy(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_BEAN, 2, 1);
    FlRandom r = {.seed = 51};
    int32_t hits = 0;
    for (int32_t i = 0; i < CASES(20000); i++) {
        RacingState before, state;
        two_meeting(game, &r, &before);
        state = before;
        racing_step(game, &state, nothing);
        FlVec3 total = {0.0, 0.0, 0.0}, impulse = total;
        double energy = 0.0, energy_without = 0.0;
        for (int32_t k = 0; k < 2; k++) {
            RacingState without = before;
            without.car[1 - k].vx = before.car[k].vx;
            without.car[1 - k].vy = before.car[k].vy;
            racing_step(game, &without, nothing);
            const RacingCar *a = &state.car[k], *b = &without.car[k];
            impulse = fl_vec3(a->vx - b->vx, a->vy - b->vy, 0.0);
            total = fl_vec3_add(total, impulse);
            energy += a->vx * a->vx + a->vy * a->vy;
            energy_without += b->vx * b->vx + b->vy * b->vy;
        }
        assert_true(fl_vec3_length(total) < 1e-12);
        if (fl_vec3_length(impulse) > 1.0) { // below, what the air takes in a tick is as much
            assert_true(energy < energy_without);
            assert_int_equal(racing_contact_count(&state), 1);
            hits++;
        }
    }
    assert_true(hits > CASES(20000) / 4);
    racing_destroy(game);
}

static bool same_car(const RacingCar *a, const RacingCar *b)
{
    return same_double(a->x, b->x) && same_double(a->y, b->y) && same_double(a->vx, b->vx) &&
           same_double(a->vy, b->vy) && same_double(a->ax, b->ax) && same_double(a->ay, b->ay) &&
           same_double(a->yaw, b->yaw) && same_double(a->yaw_rate, b->yaw_rate) &&
           same_double(a->progress, b->progress) && same_double(a->lateral, b->lateral) &&
           a->finish_ns == b->finish_ns && a->contact_count == b->contact_count &&
           a->border_count == b->border_count;
}

static void shuffle(FlRandom *r, int32_t to[RACING_CAR_CAPACITY])
{
    for (int32_t i = 0; i < RACING_CAR_CAPACITY; i++) {
        int32_t j = (int32_t)fl_random_below(r, (uint64_t)i + 1);
        to[i] = to[j];
        to[j] = i;
    }
}

static void order_of_cars_changes_no_bit_even_in_a_heap(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_BEAN, RACING_CAR_CAPACITY, 1);
    FlRandom r = {.seed = 52};
    int32_t contacts = 0;
    for (int32_t i = 0; i < CASES(300); i++) {
        RacingState state, other = {0};
        RacingInput inputs[RACING_CAR_CAPACITY], swapped[RACING_CAR_CAPACITY];
        int32_t to[RACING_CAR_CAPACITY] = {0};
        racing_crowd(game, &r, &state);
        shuffle(&r, to);
        other = state;
        for (int32_t k = 0; k < RACING_CAR_CAPACITY; k++) {
            other.car[to[k]] = state.car[k];
        }
        for (int32_t tick = 0; tick < 20; tick++) {
            racing_random_inputs(&r, inputs);
            for (int32_t k = 0; k < RACING_CAR_CAPACITY; k++) {
                swapped[to[k]] = inputs[k];
            }
            racing_step(game, &state, inputs);
            racing_step(game, &other, swapped);
            for (int32_t k = 0; k < RACING_CAR_CAPACITY; k++) {
                assert_true(same_car(&state.car[k], &other.car[to[k]]));
            }
        }
        contacts += racing_contact_count(&state);
    }
    assert_true(contacts > CASES(300) * 5);
    racing_destroy(game);
}

static void stepping_each_alone_is_stepping_all(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_RING, RACING_CAR_CAPACITY, 1);
    FlRandom r = {.seed = 53};
    for (int32_t i = 0; i < CASES(200); i++) {
        RacingState state, before;
        RacingInput inputs[RACING_CAR_CAPACITY];
        racing_crowd(game, &r, &state);
        racing_random_inputs(&r, inputs);
        before = state;
        racing_step(game, &state, inputs);
        for (int32_t k = 0; k < RACING_CAR_CAPACITY; k++) {
            RacingState view = before;
            racing_step_one(game, &view, k, inputs[k]);
            assert_memory_equal(&view.car[k], &state.car[k], sizeof view.car[k]);
            assert_int_equal(view.tick, state.tick);
            assert_memory_equal(&view.car[(k + 1) % 16], &before.car[(k + 1) % 16],
                                sizeof view.car[0]);
        }
    }
    racing_destroy(game);
}

static void cars_in_a_heap_come_apart(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_BEAN, RACING_CAR_CAPACITY, 1);
    FlRandom r = {.seed = 54};
    for (int32_t i = 0; i < CASES(50); i++) {
        RacingState state;
        racing_crowd(game, &r, &state);
        for (int32_t tick = 0; tick < 600; tick++) {
            racing_step(game, &state, nothing);
        }
        for (int32_t a = 0; a < RACING_CAR_CAPACITY; a++) {
            for (int32_t b = 0; b < a; b++) {
                FlVec3 p = fl_vec3(state.car[a].x, state.car[a].y, 0.0);
                FlVec3 q = fl_vec3(state.car[b].x, state.car[b].y, 0.0);
                assert_true(fl_vec3_distance(p, q) > 0.9 * 2.0 * 0.4 * 1.6);
            }
        }
    }
    racing_destroy(game);
}

static void rattle_is_counted_as_one_contact(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_SERPENT, 2, 1);
    RacingState state;
    racing_start(game, &state);
    racing_put(game, &state.car[0], 20.0, 0.0, 0.0, 12.0);
    racing_put(game, &state.car[1], 22.0, 0.0, 0.0, 10.0);
    for (int32_t i = 0; i < 120; i++) { // one pushes the other along
        racing_step(game, &state, (RacingInput[]){{15, 0, 0}, {0, 0, 1}});
    }
    assert_int_equal(racing_contact_count(&state), 1);
    assert_int_equal(state.car[0].contact_count, 1);
    assert_true(state.car[0].touching == 2 && state.car[1].touching == 1);
    racing_destroy(game);
}

// ---------------------------------------------------------------- borders and bounds

static void border_holds_a_car_thrown_at_it_and_takes_speed_from_it(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_RING, 2, 1);
    FlRandom r = {.seed = 55};
    double most = racing_half_width_m(game) - 0.4 * 1.6;
    int32_t hits = 0;
    for (int32_t i = 0; i < CASES(2000); i++) {
        RacingState state;
        racing_start(game, &state);
        double progress = fl_random_between(&r, 0.0, 1000.0);
        double lateral = fl_random_between(&r, -most, most);
        double yaw = fl_random_between(&r, -FL_PI, FL_PI);
        racing_put(game, &state.car[0], progress, lateral, yaw, 34.0);
        racing_put(game, &state.car[1], progress + 100.0, 0.0, 0.0, 0.0);
        for (int32_t tick = 0; tick < 60; tick++) {
            double before = racing_speed(&state.car[0]);
            racing_step(game, &state, nothing);
            const RacingCar *car = &state.car[0];
            assert_true(fabs(car->lateral) <= most);
            assert_true(racing_speed(car) <= before + 1e-9);
            if ((car->touching >> RACING_CAR_CAPACITY & 1) != 0) { // thrown back, not held
                double course_yaw;
                (void)racing_position(game, (RacingPlace){car->progress, 0.0}, &course_yaw);
                double left = car->vy * fl__cos(course_yaw) - car->vx * fl__sin(course_yaw);
                assert_true(left * car->lateral <= 0.0);
                hits++;
            }
        }
    }
    assert_true(hits > CASES(2000));
    racing_destroy(game);
}

static void nothing_that_rams_a_car_makes_it_faster_than_the_bound(void **ignored)
{
    (void)ignored;
    RacingGame *game = racing_game(RACING_COURSE_SERPENT, 2, 1);
    RacingState view;
    racing_start(game, &view);
    racing_put(game, &view.car[0], 20.0, 0.0, 0.0, 30.0);
    racing_put(game, &view.car[1], 19.0, 0.0, 0.0, 200.0); // as a peer might show it
    racing_step_one(game, &view, 0, (RacingInput){15, 0, 0});
    double bound = RACING_SPEED_BOUND * 34.0;
    assert_true(fabs(racing_speed(&view.car[0]) - bound) < 1e-9);
    racing_destroy(game);
}

// Whatever drivers do: on the road, below the bound, no step longer than the speed allows.
static void any_driving_stays_on_the_road_within_the_speed_bound(void **ignored)
{
    (void)ignored;
    FlRandom r = {.seed = 56};
    for (int32_t i = 0; i < CASES(60); i++) {
        RacingCourse course = (RacingCourse)(i % RACING_COURSE_COUNT);
        RacingGame *game = racing_game(course, RACING_CAR_CAPACITY, (uint64_t)i);
        double most = racing_half_width_m(game) - 0.4 * 1.6;
        double bound = RACING_SPEED_BOUND * 34.0;
        RacingState state;
        RacingInput inputs[RACING_CAR_CAPACITY];
        racing_crowd(game, &r, &state);
        for (int32_t tick = 0; tick < 300; tick++) {
            if (tick % 20 == 0) {
                racing_random_inputs(&r, inputs);
            }
            RacingState before = state;
            racing_step(game, &state, inputs);
            for (int32_t k = 0; k < RACING_CAR_CAPACITY; k++) {
                const RacingCar *car = &state.car[k], *was = &before.car[k];
                assert_true(fabs(car->lateral) <= most + 1e-12);
                assert_true(racing_speed(car) <= bound * (1.0 + 1e-12));
                double step = sqrt((car->x - was->x) * (car->x - was->x) +
                                   (car->y - was->y) * (car->y - was->y));
                assert_true(step <= bound / RACING_TICK_HZ + 15.0 * 0.04);
            }
        }
        racing_destroy(game);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pedals_do_what_their_names_say),
        cmocka_unit_test(grip_limits_how_sharply_a_fast_car_turns_and_it_slides),
        cmocka_unit_test(wake_of_the_car_ahead_makes_faster_and_only_behind_it),
        cmocka_unit_test(contact_conserves_momentum_and_makes_no_energy),
        cmocka_unit_test(order_of_cars_changes_no_bit_even_in_a_heap),
        cmocka_unit_test(stepping_each_alone_is_stepping_all),
        cmocka_unit_test(cars_in_a_heap_come_apart),
        cmocka_unit_test(rattle_is_counted_as_one_contact),
        cmocka_unit_test(border_holds_a_car_thrown_at_it_and_takes_speed_from_it),
        cmocka_unit_test(nothing_that_rams_a_car_makes_it_faster_than_the_bound),
        cmocka_unit_test(any_driving_stays_on_the_road_within_the_speed_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
