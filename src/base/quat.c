// Rotations as unit quaternions.
#include "fairlead/base.h"

#include "base/maths.h"

FlQuat fl__quat_multiply(FlQuat a, FlQuat b)
{
    FlQuat product = {
        a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
        a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
        a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
        a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
    };
    return product;
}

FlQuat fl__quat_conjugate(FlQuat q)
{
    FlQuat c = {q.w, -q.x, -q.y, -q.z};
    return c;
}

FlQuat fl__quat_normalise(FlQuat q)
{
    double square = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
    if (isinf(square) && fl__quat_finite(q)) { // too long to be squared, but it has a direction
        FlQuat shorter = {q.w * 1e-300, q.x * 1e-300, q.y * 1e-300, q.z * 1e-300};
        return fl__quat_normalise(shorter);
    }
    if (!(square > 1e-300)) {
        return fl__quat_identity();
    }
    double scale = 1.0 / sqrt(square);
    FlQuat unit = {q.w * scale, q.x * scale, q.y * scale, q.z * scale};
    return unit;
}

FlQuat fl__quat_from_yaw(double yaw)
{
    FlQuat q = {0};
    fl_sincos(0.5 * yaw, &q.z, &q.w);
    return q;
}

FlQuat fl__quat_from_vector(FlVec3 rotation)
{
    double angle = fl_vec3_length(rotation);
    if (!(angle > 1e-150)) {
        return fl__quat_identity();
    }
    double s, c;
    fl_sincos(0.5 * angle, &s, &c);
    FlVec3 axis = fl_vec3_scale(rotation, s / angle);
    FlQuat q = {c, axis.x, axis.y, axis.z};
    return q;
}

double fl__quat_yaw(FlQuat q)
{
    return fl_atan2(2.0 * (q.w * q.z + q.x * q.y), 1.0 - 2.0 * (q.y * q.y + q.z * q.z));
}

double fl__quat_angle(FlQuat a, FlQuat b)
{
    FlQuat turn = fl__quat_multiply(fl__quat_conjugate(a), b);
    // The sine part keeps small angles exact; the absolute cosine makes q and -q the same turn.
    double sine = fl_vec3_length(fl_vec3(turn.x, turn.y, turn.z));
    return 2.0 * fl_atan2(sine, fabs(turn.w));
}

FlVec3 fl__quat_rotate(FlQuat q, FlVec3 v)
{
    FlVec3 axis = fl_vec3(q.x, q.y, q.z);
    FlVec3 twice = fl_vec3_scale(fl__vec3_cross(axis, v), 2.0);
    return fl_vec3_add(fl_vec3_add_scaled(v, twice, q.w), fl__vec3_cross(axis, twice));
}
