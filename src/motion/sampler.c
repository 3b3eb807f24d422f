// Velocity, acceleration and turn rate from what was seen.
//
// A difference quotient belongs to the middle of its interval, so the quotient of two of them is
// taken over the distance of the middles; with equal frames this is the plain second difference.
#include "private.h"

// Rate at which a velocity turned from `before` to `after`. Something that came back did not turn:
// beyond a quarter turn between two samples the heading says nothing.
static double turn_rate_between(FlVec3 before, FlVec3 after, double seconds)
{
    double dot = before.x * after.x + before.y * after.y;
    double cross = before.x * after.y - before.y * after.x;
    if (!(dot > 0.0)) {
        return 0.0;
    }
    return fl_atan2(cross, dot) / seconds;
}

// Is this a sample that can follow the last?
static FlResult refuse(const FlSampler *sampler, const FlState *state)
{
    if (!fl__state_finite(state)) {
        return FL_BAD_VALUE;
    }
    if (sampler->count > 0 && state->time <= sampler->last.time) {
        return FL_OUT_OF_ORDER;
    }
    return FL_OK;
}

// Remembers the completed sample, unless its quotients overflowed.
static FlResult accept(FlSampler *sampler, const FlState *state)
{
    if (!fl__state_finite(state)) {
        return FL_BAD_VALUE;
    }
    sampler->last_span_ns = sampler->count > 0 ? fl_span(state->time, sampler->last.time) : 0;
    sampler->last = *state;
    sampler->count = sampler->count < 3 ? sampler->count + 1 : 3;
    return FL_OK;
}

static void derive(FlState *state, FlVec3 velocity_before, double seconds)
{
    FlVec3 change = fl_vec3_sub(state->velocity, velocity_before);
    state->acceleration = fl_vec3_scale(change, 1.0 / seconds);
    state->turn_rate = turn_rate_between(velocity_before, state->velocity, seconds);
}

FlResult fl_sampler_add(FlSampler *sampler, FlState *state, bool has_velocity)
{
    if (!has_velocity) {
        state->velocity = fl_vec3(0.0, 0.0, 0.0);
    }
    state->acceleration = fl_vec3(0.0, 0.0, 0.0);
    state->turn_rate = 0.0;
    FlResult result = refuse(sampler, state);
    if (result != FL_OK) {
        return result;
    }
    double seconds = fl_span_seconds(fl_span(state->time, sampler->last.time));
    if (sampler->count > 0 && has_velocity) {
        derive(state, sampler->last.velocity, seconds);
    } else if (sampler->count > 0) {
        FlVec3 step = fl_vec3_sub(state->position, sampler->last.position);
        state->velocity = fl_vec3(step.x / seconds, step.y / seconds, step.z / seconds);
        if (sampler->count > 1) {
            double between = 0.5 * (seconds + fl_span_seconds(sampler->last_span_ns));
            derive(state, sampler->last.velocity, between);
        }
    }
    return accept(sampler, state);
}
