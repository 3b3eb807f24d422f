// The closed form: the integral of the distance between two points in straight motion, stable
// everywhere.
//
// The printed formula (fairness paper, section 3) loses all digits when the paths nearly touch or
// the velocities nearly agree, and its logarithm can meet zero. Here the relative position is split
// into the part s along the relative velocity and the part h across it, so that the integral is
// that of sqrt(s^2 + h^2) from s0 to s1:
//
//     1/2 [ s q + h^2 asinh(s/h) ]  between s0 and s1,     q = sqrt(s^2 + h^2)
//
// and the two differences are rewritten as sums of positive terms, with d = s1 - s0 and m = (s0 +
// s1)/2:
//
//     s1 q1 - s0 q0               =  d [ (q0+q1)/2 + 2 m^2/(q0+q1) ]
//     asinh(s1/h) - asinh(s0/h)   =  ln(1 + z),   z = d [ 1 + 2m/(q0+q1) ] / (s0 + q0)
//
// By symmetry m may be taken positive. Only s0 + q0 can still cancel, for negative s0; there it is
// h^2/(q0 - s0). Divided by d, this is the mean distance over the interval. No term is negative, so
// no digit is lost; there is no branch on the data, so loops vectorise, and only + - * / sqrt, so
// every build gives the same bits. Checked against quadrature in quadruple precision:
// tests/unit/test_motion_integral_straight.c.
#include "private.h"

#include "base/kernels.h"
#include "base/maths.h"

static inline double largest(FlVec3 a, FlVec3 b)
{
    return fl__max(fl__max(fl__max(fabs(a.x), fabs(a.y)), fl__max(fabs(a.z), fabs(b.x))),
                   fl__max(fabs(b.y), fabs(b.z)));
}

// For vectors whose largest coordinate squares safely.
static inline double mean_distance(FlVec3 gap, FlVec3 drift)
{
    double q0 = fl_vec3_length(gap);
    double q1 = fl_vec3_length(fl_vec3_add(gap, drift));
    double dd = fl_vec3_dot(drift, drift);
    double d = sqrt(dd);
    bool moving = !(d <= 1e-17 * q0); // else nothing changes; NaN must get through
    double inverse_d = 1.0 / (moving ? d : 1.0);
    double inverse_sum = 1.0 / (moving ? q0 + q1 : 1.0);

    double s0 = fl_vec3_dot(gap, drift) * inverse_d;
    double middle = s0 + 0.5 * d;
    bool mirrored = middle < 0.0;
    s0 = mirrored ? -(s0 + d) : s0;
    middle = fabs(middle);
    double start = mirrored ? q1 : q0;
    FlVec3 across = fl__vec3_cross(gap, drift);
    double hh = fl_vec3_dot(across, across) * (inverse_d * inverse_d);
    double straight = 0.25 * (q0 + q1) + middle * middle * inverse_sum;

    // Below 1e-24 of the length squared the curved part is under 1e-20 of the whole, and its
    // quotient could overflow.
    bool curves = hh > 1e-24 * dd;
    double numerator = s0 < 0.0 ? start - s0 : 1.0;
    double denominator = s0 < 0.0 ? hh : start + s0;
    double growth = d * (1.0 + 2.0 * middle * inverse_sum);
    double z = growth * (numerator / (curves ? denominator : 1.0));
    double curved = 0.5 * hh * inverse_d * fl__log1p_positive(z);
    return moving ? straight + (curves ? curved : 0.0) : q0;
}

// Scaled by a power of two, which changes no digit, to where squares neither overflow nor vanish.
static inline double mean_distance_scaled(FlVec3 gap, FlVec3 drift)
{
    double size = largest(gap, drift);
    size = size > 1e-290 ? size : 1e-290;
    size = size < 1e290 ? size : 1e290;
    uint64_t exponent = fl__bits_of(size) & 0x7ff0000000000000u;
    double unit = fl__double_of(exponent);
    double scale = fl__double_of(0x7fe0000000000000u - exponent);
    return unit * mean_distance(fl_vec3_scale(gap, scale), fl_vec3_scale(drift, scale));
}

double fl__mean_distance(FlVec3 gap, FlVec3 drift)
{
    double size = largest(gap, drift);
    bool ordinary = size > 1e-50 && size < 1e50; // fourth powers of 1e-17 of it fit, too
    return ordinary ? mean_distance(gap, drift) : mean_distance_scaled(gap, drift);
}

double fl__distance_integral_straight(FlVec3 gap, FlVec3 drift, double seconds)
{
    return seconds * fl__mean_distance(gap, drift);
}
