// What the tests of the world, its quantisers and updates share: worlds of every shape.
#ifndef FAIRLEAD_TESTS_WIRE_SUPPORT_H
#define FAIRLEAD_TESTS_WIRE_SUPPORT_H

#include "support.h"

#include "fairlead/wire.h"

static inline FlWorld world_of(const FlWorldDef *def)
{
    FlWorld world;
    FlError problem;
    assert_int_equal(fl_world_def_problem(def, &problem), FL_OK);
    assert_int_equal(fl_world_init(def, &world), FL_OK);
    return world;
}

/// 2 to a uniform power.
static inline double random_power(FlRandom *r, double low, double high)
{
    return pow(2.0, fl_random_between(r, low, high));
}

// An axis of 1 to 2^32 steps anywhere that doubles reach, or none.
static inline void random_axis(FlRandom *r, double precision, double *low, double *high)
{
    double length = random_chance(r, 4) ? 0.0 : precision * random_power(r, 0.0, 31.99);
    double centre = random_chance(r, 2) ? 0.0 : random_sign(r) * random_power(r, 0.0, 43.8);
    *low = centre * precision - 0.5 * length;
    *high = *low + length;
}

/// Any world that can be: flat, thin, huge, tiny, far from zero.
static inline FlWorldDef random_world_def(FlRandom *r)
{
    for (;;) {
        FlWorldDef def = fl_world_def_default();
        def.precision = pow(10.0, fl_random_between(r, -9.0, 9.0));
        random_axis(r, def.precision, &def.low.x, &def.high.x);
        random_axis(r, def.precision, &def.low.y, &def.high.y);
        random_axis(r, def.precision, &def.low.z, &def.high.z);
        def.top_speed = def.precision * random_power(r, -2.0, 30.9);
        def.top_acceleration =
            random_chance(r, 8) ? 0.0 : def.precision * random_power(r, -2.0, 31.9);
        def.top_turn_rate = random_chance(r, 8) ? 0.0 : random_power(r, -6.0, 8.0);
        def.angle_precision = pow(10.0, fl_random_between(r, -5.0, 0.0));
        def.entity_capacity = 1 + (int32_t)(random_power(r, 0.0, 16.0) - 1.0);
        def.application_version = (uint32_t)fl_random_next(r);
        FlError problem;
        if (fl_world_def_problem(&def, &problem) == FL_OK) {
            return def;
        }
    }
}

/// The default world, or now and then another.
static inline FlWorld random_world(FlRandom *r)
{
    FlWorldDef def = random_chance(r, 4) ? fl_world_def_default() : random_world_def(r);
    return world_of(&def);
}

#endif
