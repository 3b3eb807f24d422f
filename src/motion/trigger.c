// When an owner must speak.
//
// The truth is compared with the last *exported* motion, evaluated at the same time, by true
// distance: not with the last frame (slow drift would never trigger), not with the exported line
// (being ahead on it would be missed), not per axis (the corner of a cube is 73 % further away than
// its face). Silence counts from the last update, whatever caused it. (Papers' digest, erratum 6.)
#include "private.h"

FlTriggerDef fl__trigger_def_default(void)
{
    FlTriggerDef def = {.distance = 0.1, .angle = 0.05, .silence_ns = FL_SEC(1)};
    return def;
}

FlTrigger fl__trigger_check(const FlTriggerDef *def, const FlMotion *exported, const FlState *real)
{
    if (real->time < exported->time || !fl__state_finite(real)) {
        return FL_TRIGGER_REFUSED;
    }
    FlVec3 sent = fl_motion_position(exported, real->time);
    if (fl_vec3_distance(real->position, sent) > def->distance) {
        return FL_TRIGGER_DISTANCE;
    }
    if (def->angle < FL_PI && real->facing.kind != FL_FACING_NONE) {
        FlFacing facing = fl__motion_facing(exported, real->time);
        if (fl__facing_angle(&real->facing, &facing) > def->angle) {
            return FL_TRIGGER_ANGLE;
        }
    }
    if (fl_span(real->time, exported->time) >= def->silence_ns) {
        return FL_TRIGGER_SILENCE;
    }
    return FL_TRIGGER_NONE;
}
