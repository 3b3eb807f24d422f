// The same trajectory, given from another time.
//
// Two users: updates, whose times are whole steps on the wire; and whoever passes an old motion on
// and must stamp it with a time that its receivers can still make out.
#include "private.h"

// Where the horizon left it; what fades goes on as it moves now, and is over when that would
// change.
static FlMotion stopped(const FlMotion *motion, FlTime time)
{
    FlState state = {
        .time = time,
        .position = fl_motion_position(motion, time),
        .facing = fl__motion_facing(motion, time),
    };
    state.facing.yaw_rate = 0.0;
    state.facing.spin = fl_vec3(0.0, 0.0, 0.0);
    FlVec3 velocity = fl__motion_velocity(motion, time);
    if (fl__vec3_is_zero(velocity)) {
        return fl_motion_make(FL_MODEL_STILL, &state);
    }
    state.velocity = velocity;
    FlMotion slowed = fl_motion_make(FL_MODEL_LINEAR, &state);
    FlTime t = fl__fade_ns(motion->fade.level);
    FlTime beyond = fl_span(fl_span(time, motion->time), motion->horizon_ns);
    slowed.horizon_ns = t == FL_FOREVER ? t
                                        : (beyond < t       ? t
                                           : beyond < 3 * t ? 3 * t
                                                            : 5 * t) -
                                              beyond;
    return slowed;
}

// The curve's polynomial, before its start too.
static void move_along_curve(FlMotion *motion, double s)
{
    FlVec3 a = motion->acceleration;
    FlVec3 j = motion->jerk;
    FlVec3 slope = fl_vec3_add_scaled(a, j, s / 3.0);
    FlVec3 mean = fl_vec3_add_scaled(motion->velocity, slope, 0.5 * s);
    FlVec3 turning = fl_vec3_add_scaled(a, j, 0.5 * s);
    motion->position = fl_vec3_add_scaled(motion->position, mean, s);
    motion->velocity = fl_vec3_add_scaled(motion->velocity, turning, s);
    motion->acceleration = fl_vec3_add_scaled(a, j, s);
}

FlMotion fl__motion_rebase(const FlMotion *motion, FlTime time)
{
    FlTime span = fl_span(time, motion->time);
    bool curved = motion->model == FL_MODEL_CUBIC;
    bool ended = curved && span >= motion->curve_ns;
    if (fl__past_horizon(motion, span)) {
        return stopped(motion, time);
    }
    if (span == 0 && !ended) {
        return *motion;
    }
    FlMotion moved = *motion;
    moved.time = time;
    moved.facing = fl__motion_facing(motion, time);
    if (motion->horizon_ns != FL_FOREVER) {
        moved.horizon_ns = fl_span(motion->horizon_ns, span);
    }
    if (curved && !ended) {
        move_along_curve(&moved, fl_span_seconds(span));
        moved.curve_ns = fl_span(motion->curve_ns, span);
        return moved;
    }
    moved.position = fl_motion_position(motion, time);
    moved.velocity = fl__motion_velocity(motion, time);
    if (ended) {
        moved.model = FL_MODEL_LINEAR;
        moved.acceleration = moved.jerk = fl_vec3(0.0, 0.0, 0.0);
        moved.curve_ns = 0;
    }
    return moved;
}
