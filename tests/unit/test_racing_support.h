// What the tests of the racing game share: games, crowds of cars, drivers.
#ifndef FAIRLEAD_TESTS_TEST_RACING_SUPPORT_H
#define FAIRLEAD_TESTS_TEST_RACING_SUPPORT_H

#include "unit/support.h"

#include "racing/racing.h"

static inline RacingGame *racing_game(RacingCourse course, int32_t cars, uint64_t seed)
{
    RacingDef def = racing_def_default();
    def.course = course;
    def.car_count = cars;
    def.seed = seed;
    RacingGame *game;
    assert_int_equal(racing_create(&def, &game), FL_OK);
    return game;
}

static inline double racing_speed(const RacingCar *car)
{
    return sqrt(car->vx * car->vx + car->vy * car->vy);
}

/// Puts a car on the road, pointing and going where it is told to; `yaw` is against the course's.
static inline void racing_put(const RacingGame *game, RacingCar *car, double progress,
                              double lateral, double yaw, double speed)
{
    double course_yaw;
    FlVec3 at = racing_position(game, (RacingPlace){progress, lateral}, &course_yaw);
    memset(car, 0, sizeof *car);
    car->x = at.x;
    car->y = at.y;
    car->progress = progress;
    car->lateral = lateral;
    car->yaw = fl_angle_wrap(course_yaw + yaw);
    car->vx = speed * fl__cos(car->yaw);
    car->vy = speed * fl__sin(car->yaw);
    car->finish_ns = -1;
}

/// All cars in one heap, pointing about anywhere: many touch several others.
static inline void racing_crowd(const RacingGame *game, FlRandom *r, RacingState *state)
{
    racing_start(game, state);
    double most = racing_half_width_m(game) - 0.5 * racing_def(game)->car_length_m;
    double heap = fl_random_between(r, 0.0, 300.0);
    for (int32_t i = 0; i < state->car_count; i++) {
        double progress = heap + fl_random_between(r, 0.0, 6.0);
        double lateral = fl_random_between(r, -most, most);
        double yaw = fl_random_between(r, -1.5, 1.5);
        double speed = fl_random_between(r, -5.0, 34.0);
        racing_put(game, &state->car[i], progress, lateral, yaw, speed);
    }
}

static inline RacingInput racing_random_input(FlRandom *r)
{
    RacingInput input;
    input.throttle = (int8_t)((int32_t)fl_random_below(r, 31) - 15);
    input.steer = (int8_t)((int32_t)fl_random_below(r, 127) - 63);
    input.brake = (int8_t)fl_random_below(r, 16);
    return input;
}

static inline void racing_random_inputs(FlRandom *r, RacingInput inputs[RACING_CAR_CAPACITY])
{
    for (int32_t i = 0; i < RACING_CAR_CAPACITY; i++) {
        inputs[i] = racing_random_input(r);
    }
}

static inline void racing_bot_inputs(const RacingGame *game, uint64_t seed,
                                     const RacingState *state,
                                     RacingInput inputs[RACING_CAR_CAPACITY])
{
    for (int32_t i = 0; i < state->car_count; i++) {
        inputs[i] = racing_bot_drive(game, seed, state, i);
    }
}

#endif
