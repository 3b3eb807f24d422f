// What the tests of updates share: motions of every form, and their way into bytes and back.
#ifndef FAIRLEAD_TESTS_UPDATE_SUPPORT_H
#define FAIRLEAD_TESTS_UPDATE_SUPPORT_H

#include "wire_support.h"

#include "motion/motion.h"
#include "wire/wire.h"

#define FORMS 15

static inline FlModel model_of(int32_t form)
{
    return (FlModel)(form / 3);
}

static inline FlFacingKind kind_of(int32_t form)
{
    return (FlFacingKind)(form % 3);
}

// ---------------------------------------------------------------- motions to tell

static inline FlVec3 random_in(FlRandom *r, const FlQuantiser *quantiser)
{
    double v[3];
    for (int32_t i = 0; i < 3; i++) {
        double low = fl__dequantise(&quantiser[i], 0);
        double high = fl__dequantise(&quantiser[i], quantiser[i].last);
        v[i] = random_chance(r, 8) ? (random_chance(r, 2) ? low : high)
                                   : fl_random_between(r, low, high);
    }
    return fl_vec3(v[0], v[1], v[2]);
}

static inline double random_rate(FlRandom *r, const FlQuantiser *quantiser)
{
    double top = fl__dequantise(quantiser, quantiser->last);
    return fl_random_between(r, -top, top);
}

static inline FlFacing random_facing(FlRandom *r, const FlWorld *world, FlFacingKind kind)
{
    const FlQuantiser *spin = &world->quantiser[FL_QUANTISER_SPIN];
    if (kind == FL_FACING_YAW) {
        double yaw = fl_random_between(r, -10.0, 10.0);  // one draw after the other: an argument
        return fl_facing_yaw(yaw, random_rate(r, spin)); // list has no order
    }
    if (kind == FL_FACING_FREE) {
        FlQuat rotation = random_quat(r);
        return fl_facing_free(rotation, random_in(r, spin));
    }
    return fl_facing_none();
}

// Any state within the world, at a whole step (so that nothing leaves it by re-basing).
static inline FlState random_state_in(FlRandom *r, const FlWorld *world, FlFacingKind kind)
{
    const FlQuantiser *quantiser = world->quantiser;
    FlState state = {
        .time = random_time(r, -4000000, 4000000) * FL_UPDATE_STEP_NS,
        .position = random_in(r, quantiser + FL_QUANTISER_POSITION),
        .velocity = random_in(r, quantiser + FL_QUANTISER_VELOCITY),
        .acceleration = random_in(r, quantiser + FL_QUANTISER_ACCELERATION),
        .turn_rate = random_rate(r, quantiser + FL_QUANTISER_TURN_RATE),
        .facing = random_facing(r, world, kind),
    };
    return state;
}

static inline FlMotion random_motion_in(FlRandom *r, const FlWorld *world, int32_t form)
{
    FlState state = random_state_in(r, world, kind_of(form));
    if (model_of(form) != FL_MODEL_CUBIC) {
        return fl_motion_make(model_of(form), &state);
    }
    FlState end = random_state_in(r, world, FL_FACING_NONE);
    uint64_t most = (uint64_t)1 << fl_random_below(r, 17);
    int64_t steps = 1 + (int64_t)fl_random_below(r, most < 65535 ? most : 65535);
    end.time = state.time + steps * FL_UPDATE_STEP_NS;
    return fl__motion_cubic(&state, &end);
}

// Anything finite at any time, mostly far outside the world.
static inline FlMotion random_motion_anywhere(FlRandom *r, int32_t form)
{
    FlState state = {
        .time = random_time(r, -FL_SEC(1000000), FL_SEC(1000000)),
        .position = random_vec3(r, fabs(random_scale(r, -3.0, 15.0))),
        .velocity = random_vec3(r, fabs(random_scale(r, -3.0, 12.0))),
        .acceleration = random_vec3(r, fabs(random_scale(r, -3.0, 12.0))),
        .turn_rate = random_scale(r, -9.0, 6.0),
        .facing = fl_facing_none(),
    };
    if (kind_of(form) == FL_FACING_YAW) {
        double yaw = random_scale(r, -3.0, 9.0);
        state.facing = fl_facing_yaw(yaw, random_scale(r, -3.0, 6.0));
    } else if (kind_of(form) == FL_FACING_FREE) {
        FlQuat rotation = random_quat(r);
        state.facing = fl_facing_free(rotation, random_vec3(r, 1e6));
    }
    if (model_of(form) != FL_MODEL_CUBIC) {
        return fl_motion_make(model_of(form), &state);
    }
    FlState end = state;
    end.position = random_vec3(r, fabs(random_scale(r, -3.0, 15.0)));
    end.velocity = random_vec3(r, fabs(random_scale(r, -3.0, 12.0)));
    end.time = state.time + random_span(r, 0.0, 15.0);
    return fl__motion_cubic(&state, &end);
}

static inline bool same_facing(const FlFacing *a, const FlFacing *b)
{
    return a->kind == b->kind && same_double(a->yaw, b->yaw) &&
           same_double(a->yaw_rate, b->yaw_rate) && same_double(a->rotation.w, b->rotation.w) &&
           same_double(a->rotation.x, b->rotation.x) && same_double(a->rotation.y, b->rotation.y) &&
           same_double(a->rotation.z, b->rotation.z) && same_vec3(a->spin, b->spin);
}

static inline bool same_motion(const FlMotion *a, const FlMotion *b)
{
    return a->time == b->time && a->horizon_ns == b->horizon_ns && a->curve_ns == b->curve_ns &&
           a->model == b->model && same_vec3(a->position, b->position) &&
           same_vec3(a->velocity, b->velocity) && same_vec3(a->acceleration, b->acceleration) &&
           same_vec3(a->jerk, b->jerk) && same_double(a->turn_rate, b->turn_rate) &&
           same_facing(&a->facing, &b->facing);
}

static inline FlMotion rounded(const FlWorld *world, const FlMotion *motion, bool *wide)
{
    FlMotion result;
    assert_int_equal(fl_update_round(world, motion, &result, wide), FL_OK);
    return result;
}

/// Bytes of one update, with nothing readable behind them.
typedef struct Packed {
    int32_t size;
    uint8_t bytes[FL_UPDATE_BYTES_MAX];
} Packed;

static inline Packed packed(const FlWorld *world, const FlUpdate *update)
{
    Packed p = {0};
    FlWriter writer;
    fl_writer_init(&writer, p.bytes, FL_UPDATE_BYTES_MAX);
    assert_true(fl_update_encode(&writer, world, update));
    p.size = fl_writer_size(&writer);
    assert_int_equal(p.size * 8, writer.bit_count);
    return p;
}

static inline FlUpdateFault unpacked(const FlWorld *world, const uint8_t *bytes, int32_t size,
                                     FlTime stamp, FlUpdate *update, int32_t *used)
{
    uint8_t *exact = malloc(size > 0 ? (size_t)size : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, (size_t)size);
    FlReader reader;
    fl_reader_init(&reader, exact, size);
    FlUpdateFault fault = fl_update_decode(&reader, world, stamp, update);
    assert_int_equal(reader.failed, fault != FL_UPDATE_OK);
    *used = reader.bit_count / 8;
    free(exact);
    return fault;
}

#endif
