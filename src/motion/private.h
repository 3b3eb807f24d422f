// Private to room `motion`.
#ifndef FAIRLEAD_MOTION_PRIVATE_H
#define FAIRLEAD_MOTION_PRIVATE_H

#include "fairlead/motion.h"

#include "base/private.h"

/// What an arc of angle phi does to a velocity held for the same time: `along` of it straight on,
/// `across` of it to the left. along = sin(phi)/phi, across = (1 - cos(phi))/phi, both by the half
/// angle, so that nothing cancels and a turn rate going to zero gives exactly the straight line.
typedef struct FlArc {
    double along;
    double across;
} FlArc;

static inline FlArc fl__arc(double phi)
{
    FlArc arc = {1.0, 0.5 * phi};
    if (fabs(phi) < 1e-150) { // the quotients below would be 0/0; across = phi/2 is exact here
        return arc;
    }
    double s, c;
    fl_sincos(0.5 * phi, &s, &c);
    double ratio = s / (0.5 * phi);
    arc.along = ratio * c;
    arc.across = ratio * s;
    return arc;
}

/// A velocity led along an arc: the displacement is this times the time.
static inline FlVec3 fl__arc_lead(FlArc arc, FlVec3 v)
{
    return fl_vec3(v.x * arc.along - v.y * arc.across, v.y * arc.along + v.x * arc.across, v.z);
}

/// v turned by phi about +z.
static inline FlVec3 fl__turned(FlVec3 v, double phi)
{
    double s, c;
    fl_sincos(phi, &s, &c);
    return fl_vec3(v.x * c - v.y * s, v.x * s + v.y * c, v.z);
}

/// True if a motion stands still `span` after its time. A span held at the end of the range is not
/// "for ever".
static inline bool fl__past_horizon(const FlMotion *m, FlTime span)
{
    return m->horizon_ns != FL_FOREVER && span >= m->horizon_ns;
}

/// The mean distance, over an interval, of two points that start `gap` apart and drift by `drift`
/// in it.
double fl__mean_distance(FlVec3 gap, FlVec3 drift);

/// A motion from one time on, up to its next break.
typedef struct FlStretch {
    FlVec3 position, velocity, acceleration, jerk;
    double turn_rate;
    bool straight; ///< No acceleration, jerk or turn.
} FlStretch;

static inline bool fl__vec3_is_zero(FlVec3 v)
{
    return v.x == 0.0 && v.y == 0.0 && v.z == 0.0;
}

/// The integral of the distance over `seconds`, at least one of the two not being straight.
double fl__curved_integral(const FlStretch *a, const FlStretch *b, double seconds);

/// a(t) - b(t), good to the last bits of the result even where almost everything cancels. Straight
/// motions only.
FlVec3 fl__straight_gap(const FlMotion *a, const FlMotion *b, FlTime t);

/// The outputs of a batch: three arrays that overlap nothing.
#define FL__RESTRICT_OUT double *restrict x, double *restrict y, double *restrict z

/// fl_motion_positions for the linear model; `now_ns` counts from the motions' epoch.
void fl__linear_positions(int32_t count, const FlMotionArrays *motions, double now_ns,
                          FL__RESTRICT_OUT);

#endif
