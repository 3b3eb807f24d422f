// Convergence: how the picture gets from where it is to where the newest update puts the thing.
//
// Where a new piece of placed path begins, the picture is off by an offset (and by a velocity, and
// a turn) from it. A blend is that difference and how it goes away; the picture is the placed pose
// plus what is left of the difference. So the picture is a function of time like the path itself:
// frame rates do not matter, and nothing is remembered but one blend per piece.
//
// Steps take equal parts at equal times, the first with the update. Smooth is the glide of glide.c;
// the turn goes by a like curve within smooth_ns.
#include "private.h"

#include "base/maths.h"

static bool is_zero(FlVec3 v)
{
    return v.x == 0.0 && v.y == 0.0 && v.z == 0.0;
}

static bool is_finite(const FlShowBlend *blend)
{
    const FlShowGlide *glide = &blend->glide;
    return fl_vec3_finite(glide->left) && fl_vec3_finite(glide->drift) &&
           fl_vec3_finite(blend->turn) && isfinite(glide->drift_s) && isfinite(glide->glide_s);
}

// A speed limit that the placed thing keeps is kept by the picture: then `catch_up` is only what
// brings it there at last. Where there is no limit, or the thing is above it, `catch_up` counts.
#define CREEP 1e-3

static double least_of(const FlShowDef *def, FlVec3 placed_velocity)
{
    bool limited = fl_vec3_length(placed_velocity) < def->speed_limit;
    return limited ? CREEP * def->catch_up : def->catch_up;
}

static FlVec3 turn_between(FlQuat shown, FlQuat placed)
{
    if (is_zero(fl_vec3(shown.x, shown.y, shown.z)) &&
        is_zero(fl_vec3(placed.x, placed.y, placed.z))) { // things that face nowhere
        return fl_vec3(0.0, 0.0, 0.0);
    }
    return fl__rotation_vector(fl__quat_multiply(shown, fl__quat_conjugate(placed)));
}

bool fl__blend_make(const FlShowDef *def, const FlPose *shown, const FlPose *placed,
                    FlShowBlend *blend)
{
    FlVec3 offset = fl_vec3_sub(shown->position, placed->position);
    FlVec3 excess = fl_vec3_sub(shown->velocity, placed->velocity);
    blend->active = false;
    if (def->convergence == FL_CONVERGENCE_AT_ONCE) {
        return false;
    }
    if (!(fl_vec3_length(offset) <= def->snap_distance)) { // not finite is far, too
        return true;
    }
    blend->turn = turn_between(shown->rotation, placed->rotation);
    if (def->convergence == FL_CONVERGENCE_STEPS) {
        blend->glide = (FlShowGlide){.left = offset};
    } else {
        double seconds = fl_span_seconds(def->smooth_ns);
        Fl__Bound bound = {placed->velocity, def->speed_limit, least_of(def, placed->velocity)};
        blend->glide = fl__glide_make(offset, excess, seconds, &bound);
    }
    bool nothing =
        is_zero(blend->glide.left) && is_zero(blend->glide.drift) && is_zero(blend->turn);
    blend->active = !nothing && is_finite(blend);
    return false;
}

static void turn_by(FlPose *pose, FlVec3 turn)
{
    if (is_zero(turn)) {
        return;
    }
    FlQuat rotation = fl__quat_multiply(fl__quat_from_vector(turn), pose->rotation);
    pose->rotation = fl__quat_normalise(rotation);
    pose->yaw = fl__quat_yaw(pose->rotation);
}

static void apply_steps(const FlShowDef *def, const FlShowBlend *blend, FlTime span, FlPose *pose)
{
    FlTime taken = span / def->step_ns + 1;
    if (taken >= def->step_count) {
        return;
    }
    double share = (double)(def->step_count - taken) / (double)def->step_count;
    pose->position = fl_vec3_add_scaled(pose->position, blend->glide.left, share);
    turn_by(pose, fl_vec3_scale(blend->turn, share));
}

void fl__blend_apply(const FlShowDef *def, const FlShowBlend *blend, FlTime span, FlPose *pose)
{
    if (!blend->active) {
        return;
    }
    if (def->convergence == FL_CONVERGENCE_STEPS) {
        apply_steps(def, blend, span, pose);
        return;
    }
    double seconds = fl_span_seconds(span);
    FlVec3 offset = fl__glide_offset(&blend->glide, seconds);
    FlVec3 velocity = fl__glide_velocity(&blend->glide, seconds);
    pose->position = fl_vec3_add(pose->position, offset);
    pose->velocity = fl_vec3_add(pose->velocity, velocity);
    if (span < def->smooth_ns) {
        double x = seconds / fl_span_seconds(def->smooth_ns);
        double share = (1.0 - x) * (1.0 - x) * (1.0 + 2.0 * x);
        turn_by(pose, fl_vec3_scale(blend->turn, share));
    }
}
