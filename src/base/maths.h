// Module `base`, for the modules above it.
#ifndef FAIRLEAD_BASE_MATHS_INNER_H
#define FAIRLEAD_BASE_MATHS_INNER_H

#include "fairlead/base.h"

/// ln(1 + x) for x > -1 without loss for small x. -1 gives -inf; below, NaN.
double fl__log1p(double x);

/// ln(x) for x > 0. Zero gives -inf; negative, NaN.
double fl__log(double x);

/// e^x. Overflows to inf above 709.78, underflows to 0 below -745.2.
double fl__exp(double x);

static inline FlVec3 fl__vec3_cross(FlVec3 a, FlVec3 b)
{
    return fl_vec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

static inline FlQuat fl__quat_identity(void)
{
    FlQuat q = {1.0, 0.0, 0.0, 0.0};
    return q;
}

/// First b, then a.
FlQuat fl__quat_multiply(FlQuat a, FlQuat b);

/// The opposite turn (of a unit quaternion).
FlQuat fl__quat_conjugate(FlQuat q);

/// Length one again; a quaternion too short to have a direction gives the identity.
FlQuat fl__quat_normalise(FlQuat q);

/// A turn about `rotation`'s direction by its length in radians.
FlQuat fl__quat_from_vector(FlVec3 rotation);

/// Heading of the rotated +x axis in the ground plane, in (-pi, pi].
double fl__quat_yaw(FlQuat q);

/// Smallest turn from a to b in [0, pi].
double fl__quat_angle(FlQuat a, FlQuat b);

/// v turned by q.
FlVec3 fl__quat_rotate(FlQuat q, FlVec3 v);

static inline bool fl__quat_finite(FlQuat q)
{
    return isfinite(q.w) && isfinite(q.x) && isfinite(q.y) && isfinite(q.z);
}

double fl__sin(double x);

double fl__cos(double x);

/// A turn about +z, counter-clockwise, in radians.
FlQuat fl__quat_from_yaw(double yaw);

#endif
