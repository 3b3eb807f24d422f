// The game around the cars: making it, starting, stepping, results.
//
// racing_step steps every car from the same copy of the state before, so it is exactly
// racing_step_one for each, seen with perfect views.
#include <string.h>

#include "private.h"

#define COOKIE UINT32_C(0x52414345)

_Static_assert(sizeof(RacingCar) == 10 * sizeof(double) + sizeof(FlTime) + 4 * sizeof(int32_t),
               "padding would make equal states differ as bytes");
_Static_assert(sizeof(RacingState) ==
                   4 * sizeof(int32_t) + RACING_CAR_CAPACITY * (1 + sizeof(RacingCar)),
               "padding would make equal states differ as bytes");

// ---------------------------------------------------------------- making it

RacingDef racing_def_default(void)
{
    RacingDef def = {
        .course = RACING_COURSE_BEAN,
        .car_count = 2,
        .time_limit = 30 * RACING_TICK_HZ,
        .car_length_m = 1.6,
        .top_speed_m_s = 34.0,
        .start_speed_m_s = 25.0,
        .seed = 1,
        .cookie = COOKIE,
    };
    return def;
}

static bool between(double value, double low, double high)
{
    return value >= low && value <= high;
}

static bool def_fits(const RacingDef *def)
{
    return def->course >= 0 && def->course < RACING_COURSE_COUNT &&
           between(def->car_count, 2, RACING_CAR_CAPACITY) && between(def->lap_count, 0, 10000) &&
           def->time_limit >= 0 && between(def->car_length_m, 0.5, 3.0) &&
           between(def->top_speed_m_s, 10.0, 60.0) &&
           between(def->start_speed_m_s, 0.0, def->top_speed_m_s);
}

FlResult racing_create(const RacingDef *def, RacingGame **game)
{
    FL_ASSERT(def->cookie == COOKIE);
    *game = NULL;
    if (!def_fits(def)) {
        return FL_BAD_VALUE;
    }
    RacingGame *g = fl_alloc(&def->alloc, sizeof *g, _Alignof(RacingGame));
    if (g == NULL) {
        return FL_NO_MEMORY;
    }
    g->def = *def;
    g->car_radius_m = 0.4 * def->car_length_m; // discs: a bit shorter and wider than the car
    g->drag_per_m = RACING_ENGINE_M_S2 / (def->top_speed_m_s * def->top_speed_m_s);
    racing__course_build(g);
    racing__course_pace(g);
    *game = g;
    return FL_OK;
}

void racing_destroy(RacingGame *game)
{
    if (game != NULL) {
        FlAlloc alloc = game->def.alloc;
        fl_free(&alloc, game, sizeof *game);
    }
}

const RacingDef *racing_def(const RacingGame *game)
{
    return &game->def;
}

double racing_length_m(const RacingGame *game)
{
    return game->length_m;
}

double racing_half_width_m(const RacingGame *game)
{
    return game->half_width_m;
}

// ---------------------------------------------------------------- inputs

// A driver cannot press harder than the pedal goes.
static RacingInput input_held(RacingInput input)
{
    RacingInput in = {
        .throttle =
            (int8_t)number_clamp_whole(input.throttle, -RACING_THROTTLE_FULL, RACING_THROTTLE_FULL),
        .steer = (int8_t)number_clamp_whole(input.steer, -RACING_STEER_FULL, RACING_STEER_FULL),
        .brake = (int8_t)number_clamp_whole(input.brake, 0, RACING_BRAKE_FULL),
    };
    return in;
}

void racing_input_encode(RacingInput input, uint8_t bytes[RACING_INPUT_BYTES])
{
    RacingInput in = input_held(input);
    uint32_t bits = (uint32_t)(in.throttle + RACING_THROTTLE_FULL) |
                    (uint32_t)(in.steer + RACING_STEER_FULL) << 5 | (uint32_t)in.brake << 12;
    bytes[0] = (uint8_t)(bits & 0xff);
    bytes[1] = (uint8_t)(bits >> 8);
}

bool racing_input_decode(const uint8_t bytes[RACING_INPUT_BYTES], RacingInput *input)
{
    *input = (RacingInput){0};
    int32_t bits = bytes[0] | bytes[1] << 8;
    int32_t throttle = bits & 31, steer = bits >> 5 & 127;
    if (throttle > 2 * RACING_THROTTLE_FULL || steer > 2 * RACING_STEER_FULL) {
        return false;
    }
    input->throttle = (int8_t)(throttle - RACING_THROTTLE_FULL);
    input->steer = (int8_t)(steer - RACING_STEER_FULL);
    input->brake = (int8_t)(bits >> 12);
    return true;
}

// ---------------------------------------------------------------- the race

// Places on the grid, dealt like cards.
static void grid_deal(const RacingGame *game, int32_t place[RACING_CAR_CAPACITY])
{
    FlRandom random = {.seed = game->def.seed};
    for (int32_t i = 0; i < game->def.car_count; i++) {
        int32_t j = (int32_t)fl_random_below(&random, (uint64_t)i + 1);
        place[i] = place[j];
        place[j] = i;
    }
}

void racing_start(const RacingGame *game, RacingState *state)
{
    memset(state, 0, sizeof *state);
    state->car_count = game->def.car_count;
    int32_t place[RACING_CAR_CAPACITY] = {0};
    grid_deal(game, place);
    for (int32_t i = 0; i < state->car_count; i++) {
        RacingCar *car = &state->car[i];
        int32_t row = place[i] / 2;
        car->progress = -(1.0 + row * 2.5) * game->def.car_length_m;
        car->lateral = (place[i] % 2 == 0 ? -1.0 : 1.0) * 0.3 * game->half_width_m;
        RacingPlace at = {car->progress, car->lateral};
        FlVec3 position = racing_position(game, at, &car->yaw);
        car->x = position.x;
        car->y = position.y;
        double sin_yaw, cos_yaw;
        fl_sincos(car->yaw, &sin_yaw, &cos_yaw);
        car->vx = game->def.start_speed_m_s * cos_yaw;
        car->vy = game->def.start_speed_m_s * sin_yaw;
        car->finish_ns = -1;
    }
}

static bool race_over(const RacingGame *game, const RacingState *state)
{
    if (game->def.time_limit > 0 && state->tick >= game->def.time_limit) {
        return true;
    }
    for (int32_t i = 0; i < state->car_count; i++) {
        if (state->car[i].finish_ns < 0) {
            return false;
        }
    }
    return true;
}

static void tick_end(const RacingGame *game, RacingState *state)
{
    state->tick++;
    if (state->over == 0 && race_over(game, state)) {
        racing_standings(state, state->order);
        state->over = 1;
    }
}

void racing_step(const RacingGame *game, RacingState *state, const RacingInput *inputs)
{
    const RacingState before = *state;
    for (int32_t i = 0; i < before.car_count; i++) {
        racing__car_step(game, &before, i, input_held(inputs[i]), &state->car[i]);
    }
    tick_end(game, state);
}

void racing_step_one(const RacingGame *game, RacingState *view, int32_t car, RacingInput input)
{
    FL_ASSERT(car >= 0 && car < view->car_count);
    RacingCar next;
    racing__car_step(game, view, car, input_held(input), &next);
    view->car[car] = next;
    tick_end(game, view);
}

// ---------------------------------------------------------------- results

// Is car a before car b?
static bool leads(const RacingState *state, int32_t a, int32_t b)
{
    const RacingCar *p = &state->car[a], *q = &state->car[b];
    if (p->finish_ns != q->finish_ns) {
        return q->finish_ns < 0 || (p->finish_ns >= 0 && p->finish_ns < q->finish_ns);
    }
    if (p->finish_ns < 0 && p->progress != q->progress) {
        return p->progress > q->progress;
    }
    return a < b;
}

void racing_standings(const RacingState *state, uint8_t order[RACING_CAR_CAPACITY])
{
    if (state->over != 0) {
        memmove(order, state->order, RACING_CAR_CAPACITY);
        return;
    }
    memset(order, 0, RACING_CAR_CAPACITY);
    for (int32_t i = 0; i < state->car_count; i++) {
        int32_t rank = i;
        for (; rank > 0 && leads(state, i, order[rank - 1]); rank--) {
            order[rank] = order[rank - 1];
        }
        order[rank] = (uint8_t)i;
    }
}

int32_t racing_lap(const RacingGame *game, const RacingCar *car)
{
    double laps = floor(car->progress / game->length_m) + 1.0;
    return (int32_t)number_clamp(laps, 0.0, INT32_MAX);
}

int32_t racing_contact_count(const RacingState *state)
{
    int32_t ends = 0;
    for (int32_t i = 0; i < state->car_count; i++) {
        ends += state->car[i].contact_count;
    }
    return ends / 2;
}

// ---------------------------------------------------------------- comparing and checking states

static uint64_t mix_double(uint64_t hash, double value)
{
    return number_mix(hash, number_bits(value));
}

// Field by field, so that byte order does not matter.
static uint64_t mix_car(uint64_t hash, const RacingCar *car)
{
    const double value[] = {car->x,  car->y,   car->vx,       car->vy,       car->ax,
                            car->ay, car->yaw, car->yaw_rate, car->progress, car->lateral};
    for (size_t i = 0; i < sizeof value / sizeof value[0]; i++) {
        hash = mix_double(hash, value[i]);
    }
    hash = number_mix(hash, (uint64_t)car->finish_ns);
    hash = number_mix(hash,
                      (uint64_t)(uint32_t)car->contact_count << 32 | (uint32_t)car->border_count);
    return number_mix(hash, car->touching);
}

uint64_t racing_hash(const RacingState *state)
{
    uint64_t hash = number_mix(UINT64_C(0x5241434552414345), (uint64_t)state->tick);
    hash = number_mix(hash, (uint64_t)(uint32_t)state->car_count << 32 | state->over);
    for (int32_t i = 0; i < state->car_count; i++) {
        hash = mix_car(number_mix(hash, state->order[i]), &state->car[i]);
    }
    return hash;
}

static bool car_valid(const RacingGame *game, const RacingCar *car)
{
    double bound = game->def.top_speed_m_s * RACING_SPEED_BOUND * (1.0 + 1e-9);
    if (!between(car->x, -1e4, 1e4) || !between(car->y, -1e4, 1e4) ||
        !between(car->vx * car->vx + car->vy * car->vy, 0.0, bound * bound)) {
        return false;
    }
    double change = 2.0 * bound * RACING_TICK_HZ;
    RacingPlace at = racing_project(game, fl_vec3(car->x, car->y, 0.0), car->progress);
    return fabs(at.progress - car->progress) < 1e-6 && fabs(at.lateral - car->lateral) < 1e-6 &&
           fabs(at.lateral) <= game->half_width_m && between(car->ax, -change, change) &&
           between(car->ay, -change, change) && between(car->yaw, -FL_PI, FL_PI) &&
           between(car->yaw_rate, -10.0, 10.0) && car->finish_ns >= -1 && car->contact_count >= 0 &&
           car->border_count >= 0 && car->touching < 2 * RACING_TOUCHING_BORDER && car->unused == 0;
}

bool racing_state_valid(const RacingGame *game, const RacingState *state)
{
    if (state->car_count != game->def.car_count || state->tick < 0 || state->over > 1 ||
        state->unused != 0) {
        return false;
    }
    uint32_t seen = 0;
    for (int32_t i = 0; i < state->car_count; i++) {
        if (!car_valid(game, &state->car[i]) || state->order[i] >= state->car_count) {
            return false;
        }
        seen |= UINT32_C(1) << state->order[i];
    }
    return state->over == 0 || seen == (UINT32_C(1) << state->car_count) - 1;
}

// ---------------------------------------------------------------- to and from what is shown

FlState racing_car_state(const RacingCar *car, FlTime time)
{
    double square = car->vx * car->vx + car->vy * car->vy;
    double turn = car->vx * car->ay - car->vy * car->ax;
    FlState state = {
        .time = time,
        .position = {car->x, car->y, 0.0},
        .velocity = {car->vx, car->vy, 0.0},
        .acceleration = {car->ax, car->ay, 0.0},
        .turn_rate = square > 1.0 ? turn / square : 0.0, // a crawl has no steady direction
        .facing = fl_facing_yaw(car->yaw, car->yaw_rate),
    };
    return state;
}

// m and m/s: far outside any course, near enough for every formula here.
#define SHOWN_MOST 1e4
#define STANDS_M 0.001 // from one picture to the next: no faster than 0.1 m/s

bool racing_car_show(const RacingGame *game, RacingState *view, int32_t car, const FlPose *pose,
                     bool cut)
{
    FL_ASSERT(car >= 0 && car < view->car_count);
    if (!fl_vec3_finite(pose->position) || !fl_vec3_finite(pose->velocity) ||
        !isfinite(pose->yaw)) {
        return false;
    }
    RacingCar *shown = &view->car[car];
    FlVec3 position = fl_vec3(number_clamp(pose->position.x, -SHOWN_MOST, SHOWN_MOST),
                              number_clamp(pose->position.y, -SHOWN_MOST, SHOWN_MOST), 0.0);
    RacingPlace at;
    if (cut) {
        at = racing_locate(game, position);
        double laps = floor((shown->progress - at.progress) / game->length_m + 0.5);
        at.progress += laps * game->length_m;
    } else {
        at = racing_project(game, position, shown->progress);
    }
    shown->x = position.x;
    shown->y = position.y;
    shown->vx = number_clamp(pose->velocity.x, -SHOWN_MOST, SHOWN_MOST);
    shown->vy = number_clamp(pose->velocity.y, -SHOWN_MOST, SHOWN_MOST);
    shown->ax = shown->ay = shown->yaw_rate = 0.0;
    shown->yaw = fl_angle_wrap(pose->yaw);
    shown->progress = at.progress;
    shown->lateral = at.lateral;
    return true;
}

bool racing_car_follow(const RacingGame *game, RacingState *view, int32_t car, const FlPose *pose,
                       double told)
{
    FL_ASSERT(car >= 0 && car < view->car_count);
    RacingCar *shown = &view->car[car];
    double dx = pose->position.x - shown->x, dy = pose->position.y - shown->y;
    bool moved = dx * dx + dy * dy > STANDS_M * STANDS_M;
    double before = shown->progress;
    shown->progress = moved ? told : before;
    bool good = racing_car_show(game, view, car, pose, moved);
    shown->progress = good ? shown->progress : before;
    return good;
}
