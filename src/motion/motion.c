// Motions: making them from a state, and asking them where things are.
//
// All models are evaluated as a function of the seconds since the motion's time. The cubic clamps
// that span to its curve and goes straight before and after; beyond the horizon a motion fades or
// stops (fade.c). So every motion is continuous everywhere.
#include "private.h"

#include "base/maths.h"

#include <string.h>

static const char *const model_names[] = {
#define ROW(name, word) [FL_MODEL_##name] = word,
    FL_MODEL_TABLE(ROW)
#undef ROW
};

#define MODEL_COUNT ((int32_t)(sizeof model_names / sizeof model_names[0]))

const char *fl__model_name(FlModel model)
{
    FL_ASSERT((int32_t)model >= 0 && (int32_t)model < MODEL_COUNT);
    return model_names[model];
}

FlResult fl__model_find(const char *name, FlModel *model)
{
    *model = FL_MODEL_STILL;
    for (int32_t i = 0; i < MODEL_COUNT; i++) {
        if (strcmp(name, model_names[i]) == 0) {
            *model = (FlModel)i;
            return FL_OK;
        }
    }
    return FL_NOT_FOUND;
}

static bool facing_finite(const FlFacing *facing)
{
    switch (facing->kind) {
    case FL_FACING_NONE:
        return true;
    case FL_FACING_YAW:
        return isfinite(facing->yaw) && isfinite(facing->yaw_rate);
    case FL_FACING_FREE:
        return fl__quat_finite(facing->rotation) && fl_vec3_finite(facing->spin);
    }
    return false;
}

bool fl__state_finite(const FlState *state)
{
    return fl_vec3_finite(state->position) && fl_vec3_finite(state->velocity) &&
           fl_vec3_finite(state->acceleration) && isfinite(state->turn_rate) &&
           facing_finite(&state->facing);
}

bool fl__motion_finite(const FlMotion *motion)
{
    return fl_vec3_finite(motion->position) && fl_vec3_finite(motion->velocity) &&
           fl_vec3_finite(motion->acceleration) && fl_vec3_finite(motion->jerk) &&
           isfinite(motion->turn_rate) && facing_finite(&motion->facing);
}

FlMotion fl_motion_make(FlModel model, const FlState *state)
{
    FL_ASSERT(model == FL_MODEL_STILL || model == FL_MODEL_LINEAR || model == FL_MODEL_QUADRATIC ||
              model == FL_MODEL_CIRCULAR);
    FlMotion motion = {
        .time = state->time,
        .horizon_ns = FL_FOREVER,
        .position = state->position,
        .facing = state->facing,
        .model = model,
    };
    if (model != FL_MODEL_STILL) {
        motion.velocity = state->velocity;
    }
    if (model == FL_MODEL_QUADRATIC) {
        motion.acceleration = state->acceleration;
    }
    if (model == FL_MODEL_CIRCULAR) {
        motion.turn_rate = state->turn_rate;
    }
    return motion;
}

FlMotion fl__motion_cubic(const FlState *from, const FlState *to)
{
    FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, from);
    FlTime span = fl_span(to->time, from->time);
    if (span <= 0) {
        return motion;
    }
    // Hermite's curve in the form p + v s + a s^2/2 + j s^3/6: `missed` is what going straight on
    // lacks at the end.
    double s = fl_span_seconds(span);
    FlVec3 straight = fl_vec3_add_scaled(from->position, from->velocity, s);
    FlVec3 missed = fl_vec3_sub(to->position, straight);
    FlVec3 change = fl_vec3_scale(fl_vec3_sub(to->velocity, from->velocity), s);
    motion.acceleration =
        fl_vec3_scale(fl_vec3_sub(fl_vec3_scale(missed, 3.0), change), 2.0 / (s * s));
    motion.jerk = fl_vec3_scale(fl_vec3_sub(change, fl_vec3_scale(missed, 2.0)), 6.0 / (s * s * s));
    motion.curve_ns = span;
    motion.model = FL_MODEL_CUBIC;
    return motion;
}

static FlVec3 cubic_position(const FlMotion *m, FlTime span)
{
    FlTime on_curve = span < 0 ? 0 : span > m->curve_ns ? m->curve_ns : span;
    double s = fl_span_seconds(on_curve);
    FlVec3 slope = fl_vec3_add_scaled(m->acceleration, m->jerk, s / 3.0);
    FlVec3 position =
        fl_vec3_add_scaled(m->position, fl_vec3_add_scaled(m->velocity, slope, 0.5 * s), s);
    if (on_curve == span) {
        return position;
    }
    FlVec3 turning = fl_vec3_add_scaled(m->acceleration, m->jerk, 0.5 * s);
    FlVec3 straight = fl_vec3_add_scaled(m->velocity, turning, s);
    return fl_vec3_add_scaled(position, straight, fl_span_seconds(fl_span(span, on_curve)));
}

// `s`: the same span in seconds.
static FlVec3 known_position(const FlMotion *motion, FlTime span, double s)
{
    switch (motion->model) {
    case FL_MODEL_STILL:
        return motion->position;
    case FL_MODEL_LINEAR:
        return fl_vec3_add_scaled(motion->position, motion->velocity, s);
    case FL_MODEL_QUADRATIC:
        return fl_vec3_add_scaled(
            motion->position, fl_vec3_add_scaled(motion->velocity, motion->acceleration, 0.5 * s),
            s);
    case FL_MODEL_CIRCULAR:
        return fl_vec3_add_scaled(
            motion->position, fl__arc_lead(fl__arc(motion->turn_rate * s), motion->velocity), s);
    case FL_MODEL_CUBIC:
        return cubic_position(motion, span);
    case FL_MODEL_AUTO:
        break;
    }
    FL_ASSERT(motion->model != FL_MODEL_AUTO);
    return motion->position;
}

static FlVec3 known_velocity(const FlMotion *motion, FlTime span, double s)
{
    if (motion->model == FL_MODEL_STILL) {
        return fl_vec3(0.0, 0.0, 0.0);
    }
    if (motion->model == FL_MODEL_CIRCULAR) {
        return fl__turned(motion->velocity, motion->turn_rate * s);
    }
    if (motion->model == FL_MODEL_CUBIC) {
        span = span < 0 ? 0 : span > motion->curve_ns ? motion->curve_ns : span;
        s = fl_span_seconds(span);
    }
    // Acceleration and jerk are zero in the models that lack them.
    FlVec3 turning = fl_vec3_add_scaled(motion->acceleration, motion->jerk, 0.5 * s);
    return fl_vec3_add_scaled(motion->velocity, turning, s);
}

// Where it is `reach` along its motion, curved up to `curve` of it and straight on after.
static FlVec3 position_along(const FlMotion *m, int64_t reach, int64_t curve)
{
    int64_t start = 4 * m->horizon_ns;
    if (m->model == FL_MODEL_LINEAR || reach <= curve) {
        return known_position(m, 0, fl__quarters_seconds(start + reach));
    }
    double s = fl__quarters_seconds(start + curve);
    return fl_vec3_add_scaled(known_position(m, 0, s), known_velocity(m, 0, s),
                              fl__quarters_seconds(reach - curve));
}

FlVec3 fl_motion_position(const FlMotion *motion, FlTime time)
{
    FlTime span = fl_span(time, motion->time);
    if (fl__past_horizon(motion, span)) {
        if (fl__fades(motion)) {
            FlBeyond b = fl__beyond(motion, span);
            FlVec3 level = position_along(motion, b.reach, b.curve);
            return fl_vec3(level.x, level.y, position_along(motion, b.rise, b.curve).z);
        }
        span = motion->horizon_ns;
    }
    return known_position(motion, span, fl_span_seconds(span));
}

static FlVec3 velocity_along(const FlMotion *m, int64_t reach, int64_t curve)
{
    int64_t on = reach < curve ? reach : curve;
    return known_velocity(m, 0, fl__quarters_seconds(4 * m->horizon_ns + on));
}

FlVec3 fl__motion_velocity(const FlMotion *motion, FlTime time)
{
    FlTime span = fl_span(time, motion->time);
    if (!fl__past_horizon(motion, span)) {
        return known_velocity(motion, span, fl_span_seconds(span));
    }
    if (!fl__fades(motion)) {
        return fl_vec3(0.0, 0.0, 0.0);
    }
    FlBeyond b = fl__beyond(motion, span);
    FlVec3 level = fl_vec3_scale(velocity_along(motion, b.reach, b.curve), b.rate);
    FlVec3 rise = velocity_along(motion, b.rise, b.curve);
    return fl_vec3(level.x, level.y, b.rise_rate * rise.z);
}

FlFacing fl__motion_facing(const FlMotion *motion, FlTime time)
{
    FlTime span = fl_span(time, motion->time);
    double s = fl_span_seconds(span);
    if (fl__past_horizon(motion, span)) {
        s = fl__fades(motion)
                ? fl__quarters_seconds(4 * motion->horizon_ns + fl__beyond(motion, span).reach)
                : fl_span_seconds(motion->horizon_ns);
    }
    return fl__facing_after(&motion->facing, s);
}

static void face(FlPose *pose, const FlFacing *facing)
{
    if (facing->kind == FL_FACING_YAW) {
        pose->yaw = fl_angle_wrap(facing->yaw);
        pose->rotation = fl__quat_from_yaw(pose->yaw);
    } else if (facing->kind == FL_FACING_FREE) {
        pose->yaw = fl__quat_yaw(facing->rotation);
        pose->rotation = facing->rotation;
    }
}

FL__APART
static void place_beyond(const FlMotion *motion, FlTime time, FlPose *pose)
{
    pose->position = fl_motion_position(motion, time);
    pose->velocity = fl__motion_velocity(motion, time);
    FlFacing facing = fl__motion_facing(motion, time);
    face(pose, &facing);
}

FlPose fl_motion_pose(const FlMotion *motion, FlTime time)
{
    FlPose pose;
    pose.yaw = 0.0;
    pose.rotation = fl__quat_identity();
    FlTime span = fl_span(time, motion->time);
    if (fl__past_horizon(motion, span)) {
        place_beyond(motion, time, &pose);
        return pose;
    }
    double s = fl_span_seconds(span);
    pose.position = known_position(motion, span, s);
    pose.velocity = known_velocity(motion, span, s);
    if (motion->facing.kind != FL_FACING_NONE) {
        FlFacing facing = fl__facing_after(&motion->facing, s);
        face(&pose, &facing);
    }
    return pose;
}
