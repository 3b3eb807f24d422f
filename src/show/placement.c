// Placement: where an entity is, by the updates known so far.
//
// Each placement makes one motion from the update in use and its neighbours of the same life; the
// rule in module `motion` (fl_piece_placed) makes it a piece of path. Predictions from positions
// take velocities over the owner's stamps: they are a fact about its movement, whatever clock the
// receiver goes by.
//
// Invariant: the motion is finite. Where quotients overflow, the next simpler placement is taken.
#include "private.h"

#include "base/maths.h"
#include "motion/motion.h"

int32_t fl__placement_order(FlPlacement placement)
{
    return placement == FL_PLACEMENT_HIGHER_ORDER ? 2 : placement == FL_PLACEMENT_FIRST_ORDER;
}

// The update `back` places before the one in use, if it is of the same life.
static const FlShowUpdate *before(const FlShow *show, int32_t used, int32_t back)
{
    int32_t index = used - back;
    bool same = index >= 0 && show->updates[index].life == show->updates[used].life;
    return same ? &show->updates[index] : NULL;
}

static const FlShowUpdate *after(const FlShow *show, int32_t used)
{
    bool same =
        used + 1 < show->update_count && show->updates[used + 1].life == show->updates[used].life;
    return same ? &show->updates[used + 1] : NULL;
}

bool fl__placement_reads(const FlShow *show, int32_t used, int32_t index)
{
    if (used < 0) {
        return false;
    }
    if (index > used) {
        return show->def.placement == FL_PLACEMENT_INTERPOLATED &&
               &show->updates[index] == after(show, used);
    }
    return used - index <= fl__placement_order(show->def.placement);
}

static FlState start_of(const FlMotion *motion)
{
    FlState state = {
        .time = motion->time,
        .position = motion->position,
        .velocity = fl__motion_velocity(motion, motion->time),
        .facing = motion->facing,
    };
    return state;
}

static FlMotion snap(const FlMotion *update)
{
    FlState state = start_of(update);
    state.facing.yaw_rate = 0.0;
    state.facing.spin = fl_vec3(0.0, 0.0, 0.0);
    return fl_motion_make(FL_MODEL_STILL, &state);
}

// The mean velocity from one update to a later one.
static FlVec3 velocity_between(const FlShowUpdate *from, const FlShowUpdate *to, double *seconds)
{
    *seconds = fl_span_seconds(fl_span(to->stamp, from->stamp));
    FlVec3 step = fl_vec3_sub(to->motion.position, from->motion.position);
    return fl_vec3(step.x / *seconds, step.y / *seconds, step.z / *seconds);
}

static FlMotion first_order(const FlShow *show, int32_t used)
{
    const FlShowUpdate *last = &show->updates[used];
    const FlShowUpdate *second = before(show, used, 1);
    FlState state = start_of(&last->motion);
    state.velocity = fl_vec3(0.0, 0.0, 0.0);
    if (second != NULL) {
        double seconds;
        FlVec3 velocity = velocity_between(second, last, &seconds);
        state.velocity = fl_vec3_finite(velocity) ? velocity : state.velocity;
    }
    FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, &state);
    motion.horizon_ns = last->motion.horizon_ns;
    return motion;
}

// The parabola through the last three positions. It is believed for as long as it was watched, then
// goes straight on: that is a cubic without the cubic term.
static FlMotion higher_order(const FlShow *show, int32_t used)
{
    FlMotion motion = first_order(show, used);
    const FlShowUpdate *last = &show->updates[used];
    const FlShowUpdate *second = before(show, used, 1);
    const FlShowUpdate *third = before(show, used, 2);
    if (third == NULL) {
        return motion;
    }
    double recent_s;
    FlVec3 recent = velocity_between(second, last, &recent_s);
    double earlier_s;
    FlVec3 earlier = velocity_between(third, second, &earlier_s);
    FlVec3 change = fl_vec3_sub(recent, earlier);
    FlVec3 acceleration = fl_vec3_scale(change, 2.0 / (recent_s + earlier_s));
    FlMotion curved = motion;
    curved.velocity = fl_vec3_add_scaled(recent, acceleration, 0.5 * recent_s);
    curved.acceleration = acceleration;
    curved.curve_ns = fl_span(last->stamp, third->stamp);
    curved.model = FL_MODEL_CUBIC;
    return fl__motion_finite(&curved) ? curved : motion;
}

FlVec3 fl__rotation_vector(FlQuat rotation)
{
    double sign = rotation.w < 0.0 ? -1.0 : 1.0; // q and -q are the same turn; take the short way
    FlVec3 axis = fl_vec3(sign * rotation.x, sign * rotation.y, sign * rotation.z);
    double sine = fl_vec3_length(axis);
    double scale = sine < 1e-9 ? 2.0 : 2.0 * fl_atan2(sine, sign * rotation.w) / sine;
    return fl_vec3_scale(axis, scale);
}

// The steady turn from one facing to another. A yaw may turn more than half round meanwhile: the
// rates at both ends say how often.
static FlFacing facing_between(const FlFacing *from, const FlFacing *to, double seconds)
{
    FlFacing facing = *from;
    if (from->kind != to->kind) {
        return facing;
    }
    if (from->kind == FL_FACING_YAW) {
        double expected = 0.5 * (from->yaw_rate + to->yaw_rate) * seconds;
        double turn = expected + fl_angle_wrap(to->yaw - from->yaw - expected);
        facing.yaw_rate = turn / seconds;
    } else if (from->kind == FL_FACING_FREE) {
        FlQuat turn = fl__quat_multiply(to->rotation, fl__quat_conjugate(from->rotation));
        facing.spin = fl_vec3_scale(fl__rotation_vector(turn), 1.0 / seconds);
    }
    return facing;
}

static FlMotion interpolated(const FlShow *show, int32_t used)
{
    const FlMotion *here = &show->updates[used].motion;
    const FlShowUpdate *next = after(show, used);
    if (next == NULL) {
        return *here;
    }
    FlState from = start_of(here);
    FlState to = start_of(&next->motion);
    FlMotion motion = fl__motion_cubic(&from, &to);
    double seconds = fl_span_seconds(fl_span(to.time, from.time));
    motion.facing = facing_between(&from.facing, &to.facing, seconds);
    return fl__motion_finite(&motion) ? motion : *here;
}

static const FlMotion *placed_motion(const FlShow *show, int32_t used, FlMotion *made)
{
    switch (show->def.placement) {
    case FL_PLACEMENT_SNAP:
        *made = snap(&show->updates[used].motion);
        return made;
    case FL_PLACEMENT_FIRST_ORDER:
        *made = first_order(show, used);
        return made;
    case FL_PLACEMENT_HIGHER_ORDER:
        *made = higher_order(show, used);
        return made;
    case FL_PLACEMENT_INTERPOLATED:
        *made = interpolated(show, used);
        return made;
    case FL_PLACEMENT_TIMESTAMPED:
    case FL_PLACEMENT_COUNT:
        break;
    }
    return &show->updates[used].motion;
}

void fl__placement_piece(const FlShow *show, int32_t used, FlTime at, FlPiece *piece)
{
    FlMotion made;
    fl__piece_place(piece, placed_motion(show, used, &made), show->updates[used].life, at);
}
