// One tank: how it drives, fires, ends and begins again.
//
// Within a tick speed and turn rate are constant, so the way is an arc and is computed as one: a
// tank that turns steadily is on an exact circle, which circular dead reckoning then predicts
// without error. What is in the way is found by trying: the whole step, then sliding along one
// axis, then each of them without turning; the first that fits is taken.
//
// Invariant: a living tank fits (tanks_world_fits) where it is, to the bit. A step only ever goes
// to a place that was just tested, with the very numbers that are stored.
#include "private.h"

#include <string.h>

#define SPAWN_TRIES 10000
#define SPAWN_MARGIN 4.0 // To the next wall or building, beyond the tank's own reach.
#define MUZZLE_GAP 0.1   // Between the nose and where a shot starts.

void tanks_tank_init(TanksTank *tank, int32_t id, int64_t tick)
{
    FL_ASSERT(id >= 0 && id < TANKS_CAPACITY);
    memset(tank, 0, sizeof *tank);
    tank->id = id;
    tank->tick = tick;
    tank->ready_at = tick;
    tank->respawn_at = tick;
}

// ---------------------------------------------------------------- beginning and end

static bool roomy(const TanksWorld *world, double x, double y)
{
    double margin = world->tank_reach + SPAWN_MARGIN;
    for (int32_t i = 0; i < world->building_count; i++) {
        const TanksBox *box = &world->building[i];
        if (x > box->low_x - margin && x < box->high_x + margin && y > box->low_y - margin &&
            y < box->high_y + margin) {
            return false;
        }
    }
    return true;
}

void tanks_tank_spawn(const TanksWorld *world, TanksTank *tank)
{
    FL_ASSERT(!tank->alive);
    tank->life++;
    FlRandom random = {.seed = world->rules.map_seed,
                       .stream = (uint64_t)tank->id,
                       .index = (uint64_t)tank->life << 32};
    double extent = world->rules.half_extent - world->tank_reach - SPAWN_MARGIN;
    bool found = false;
    for (int32_t i = 0; i < SPAWN_TRIES && !found; i++) {
        tank->x = fl_random_between(&random, -extent, extent);
        tank->y = fl_random_between(&random, -extent, extent);
        found = roomy(world, tank->x, tank->y);
    }
    FL_ASSERT(found); // light connections alone are a third of the smallest arena
    tank->yaw = fl_angle_wrap(fl_random_between(&random, -FL_PI, FL_PI));
    tank->speed = tank->turn_rate = tank->vx = tank->vy = tank->push = 0.0;
    tank->sliding = false;
    tank->alive = true;
    tank->ready_at = tank->tick;
}

void tanks_tank_kill(const TanksWorld *world, TanksTank *tank)
{
    if (!tank->alive) {
        return;
    }
    tank->alive = false;
    tank->deaths++;
    tank->speed = tank->turn_rate = tank->vx = tank->vy = tank->push = 0.0;
    tank->sliding = false;
    tank->respawn_at = tank->tick + tanks__ticks(world, world->rules.respawn_ns);
}

// ---------------------------------------------------------------- driving

static double held(double x)
{
    return isnan(x) ? 0.0 : number_clamp(x, -1.0, 1.0);
}

static double approach(double from, double to, double most)
{
    return number_clamp(to, from - most, from + most);
}

typedef struct Place {
    double x, y, yaw;
} Place;

static bool try_place(const TanksWorld *world, TanksTank *tank, Place place)
{
    if (!tanks_world_fits(world, place.x, place.y, place.yaw)) {
        return false;
    }
    tank->x = place.x;
    tank->y = place.y;
    tank->yaw = place.yaw;
    return true;
}

// Something is in the way of the step to `to`: as much of it as fits.
static void step_held_up(const TanksWorld *world, TanksTank *tank, Place to)
{
    const Place from = {tank->x, tank->y, tank->yaw};
    const bool x_first = fabs(to.x - from.x) > fabs(to.y - from.y);
    const Place slide_x = {to.x, from.y, to.yaw};
    const Place slide_y = {from.x, to.y, to.yaw};
    const Place tries[] = {
        x_first ? slide_x : slide_y,
        x_first ? slide_y : slide_x,
        {from.x, from.y, to.yaw},
        {to.x, to.y, from.yaw},
        {x_first ? to.x : from.x, x_first ? from.y : to.y, from.yaw},
        {x_first ? from.x : to.x, x_first ? to.y : from.y, from.yaw},
    };
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        if (try_place(world, tank, tries[i])) {
            break; // if none fits it stays, where it fitted before
        }
    }
    double s, c;
    fl_sincos(tank->yaw, &s, &c);
    tank->sliding = true;
    tank->vx = (tank->x - from.x) / world->tick_s;
    tank->vy = (tank->y - from.y) / world->tick_s;
    tank->speed = tank->vx * c + tank->vy * s;
    if (tank->yaw == from.yaw) {
        tank->turn_rate = 0.0;
    }
}

void tanks_tank_step(const TanksWorld *world, TanksTank *tank, TanksInput input)
{
    tank->tick++;
    if (!tank->alive) {
        return;
    }
    const TanksRules *rules = &world->rules;
    double tick_s = world->tick_s;
    double drive = held(input.drive);
    double wanted = drive * (drive < 0.0 ? rules->reverse_speed : rules->top_speed);
    double before = tank->speed;
    Place from = {tank->x, tank->y, tank->yaw};
    tank->speed = approach(tank->speed, wanted, rules->acceleration * tick_s);
    tank->turn_rate = approach(tank->turn_rate, held(input.turn) * rules->top_turn_rate,
                               rules->turn_acceleration * tick_s);
    double half_turn = tank->turn_rate * tick_s / 2.0;
    double chord = tank->speed * tick_s;
    double s, c;
    if (half_turn != 0.0) {
        fl_sincos(half_turn, &s, &c);
        chord *= s / half_turn;
    }
    fl_sincos(tank->yaw + half_turn, &s, &c);
    Place to = {tank->x + chord * c, tank->y + chord * s,
                fl_angle_wrap(tank->yaw + 2.0 * half_turn)};
    if (try_place(world, tank, to)) {
        fl_sincos(tank->yaw, &s, &c);
        tank->sliding = false;
        tank->vx = tank->speed * c;
        tank->vy = tank->speed * s;
    } else {
        step_held_up(world, tank, to);
    }
    tank->push = (tank->speed - before) / tick_s;
    double way_x = tank->x - from.x;
    double way_y = tank->y - from.y;
    tank->driven += sqrt(way_x * way_x + way_y * way_y);
}

// ---------------------------------------------------------------- firing

bool tanks_tank_fire(const TanksWorld *world, TanksTank *tank, TanksInput input, TanksEvent *event)
{
    memset(event, 0, sizeof *event);
    if (!input.fire || !tank->alive || tank->tick < tank->ready_at) {
        return false;
    }
    tank->shots++;
    tank->ready_at = tank->tick + tanks__ticks(world, world->rules.reload_ns);
    double s, c;
    fl_sincos(tank->yaw, &s, &c);
    double muzzle = world->rules.tank_length / 2.0 + world->rules.shot_radius + MUZZLE_GAP;
    event->kind = TANKS_EVENT_SHOT;
    event->tank = tank->id;
    event->shot = tank->shots;
    event->time = tanks_tick_time(world, tank->tick);
    event->x = tank->x + muzzle * c;
    event->y = tank->y + muzzle * s;
    event->yaw = tank->yaw;
    tanks_event_round(event);
    return true;
}

// ---------------------------------------------------------------- telling others

FlState tanks_tank_state(const TanksWorld *world, const TanksTank *tank)
{
    FlState state = {0};
    state.time = tanks_tick_time(world, tank->tick);
    state.position = fl_vec3(tank->x, tank->y, 0.0);
    state.velocity = fl_vec3(tank->vx, tank->vy, 0.0);
    state.facing = fl_facing_yaw(tank->yaw, tank->turn_rate);
    if (!tank->sliding) {
        double s, c;
        fl_sincos(tank->yaw, &s, &c);
        // With speed changing at once the last tick's change says nothing about the next.
        double push = isinf(world->rules.acceleration) ? 0.0 : tank->push;
        state.turn_rate = tank->turn_rate;
        state.acceleration = fl_vec3(push * c - tank->turn_rate * tank->vy,
                                     push * s + tank->turn_rate * tank->vx, 0.0);
    }
    return state;
}

TanksSeen tanks_tank_seen(const TanksTank *tank)
{
    TanksSeen seen = {
        .x = tank->x,
        .y = tank->y,
        .vx = tank->vx,
        .vy = tank->vy,
        .yaw = tank->yaw,
        .life = tank->life,
        .kills = tank->kills,
        .deaths = tank->deaths,
        .alive = tank->alive,
    };
    return seen;
}

static uint16_t capped(uint32_t count)
{
    return (uint16_t)(count < UINT16_MAX ? count : UINT16_MAX);
}

TanksStatus tanks_tank_status(const TanksTank *tank)
{
    TanksStatus status = {
        .life = tank->life,
        .shots = tank->shots,
        .kills = capped(tank->kills),
        .deaths = capped(tank->deaths),
        .alive = tank->alive,
    };
    return status;
}

TanksSeen tanks_seen_make(const FlPose *pose, const TanksStatus *status)
{
    TanksSeen seen = {
        .x = pose->position.x,
        .y = pose->position.y,
        .vx = pose->velocity.x,
        .vy = pose->velocity.y,
        .yaw = pose->yaw,
        .life = status->life,
        .kills = status->kills,
        .deaths = status->deaths,
        .alive = status->alive,
    };
    return seen;
}
