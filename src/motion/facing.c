// Orientation: none, a heading about the vertical, or any rotation; each with its constant rate.
#include "private.h"

#include "base/maths.h"

FlFacing fl_facing_none(void)
{
    FlFacing facing = {.kind = FL_FACING_NONE, .rotation = {1.0, 0.0, 0.0, 0.0}};
    return facing;
}

FlFacing fl_facing_yaw(double yaw, double yaw_rate)
{
    FlFacing facing = fl_facing_none();
    facing.kind = FL_FACING_YAW;
    facing.yaw = yaw;
    facing.yaw_rate = yaw_rate;
    return facing;
}

FlFacing fl_facing_free(FlQuat rotation, FlVec3 spin)
{
    FlFacing facing = fl_facing_none();
    facing.kind = FL_FACING_FREE;
    facing.rotation = rotation;
    facing.spin = spin;
    return facing;
}

FlFacing fl__facing_after(const FlFacing *facing, double seconds)
{
    FlFacing after = *facing;
    if (facing->kind == FL_FACING_YAW) {
        after.yaw = facing->yaw + facing->yaw_rate * seconds;
    } else if (facing->kind == FL_FACING_FREE) {
        FlQuat turn = fl__quat_from_vector(fl_vec3_scale(facing->spin, seconds));
        after.rotation = fl__quat_normalise(fl__quat_multiply(turn, facing->rotation));
    }
    return after;
}

static FlQuat rotation_of(const FlFacing *facing)
{
    return facing->kind == FL_FACING_YAW ? fl__quat_from_yaw(facing->yaw) : facing->rotation;
}

double fl__facing_angle(const FlFacing *a, const FlFacing *b)
{
    if (a->kind == FL_FACING_NONE || b->kind == FL_FACING_NONE) {
        return 0.0;
    }
    if (a->kind == FL_FACING_YAW && b->kind == FL_FACING_YAW) {
        return fabs(fl_angle_wrap(a->yaw - b->yaw));
    }
    return fl__quat_angle(rotation_of(a), rotation_of(b));
}
