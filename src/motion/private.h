// Private to module `motion`.
#ifndef FAIRLEAD_MOTION_PRIVATE_H
#define FAIRLEAD_MOTION_PRIVATE_H

#include "fairlead/motion.h"

#include "base/private.h"
#include "motion/motion.h"

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
    double s = 0.0, c = 1.0; // for 0, which is every straight course of a thing that can turn
    if (phi != 0.0) {
        fl_sincos(phi, &s, &c);
    }
    return fl_vec3(v.x * c - v.y * s, v.x * s + v.y * c, v.z);
}

/// True if a motion is not known to hold `span` after its time. A span held at the end of the range
/// is not "for ever".
static inline bool fl__past_horizon(const FlMotion *m, FlTime span)
{
    return m->horizon_ns != FL_FOREVER && span >= m->horizon_ns;
}

/// How far a thing gets along its motion beyond the horizon. Quarters of nanoseconds, because a
/// quarter of the velocity is the slowest it goes: so nothing is rounded.
static inline int64_t fl__fade_reach(FlTime t, FlTime beyond)
{
    if (beyond <= t) {
        return 4 * beyond;
    }
    return beyond <= 3 * t ? 2 * t + 2 * beyond : beyond <= 5 * t ? 5 * t + beyond : 10 * t;
}

/// The share of its velocity that it goes on with.
static inline double fl__fade_rate(FlTime t, FlTime beyond)
{
    return beyond < t ? 1.0 : beyond / 3 < t ? 0.5 : beyond / 5 < t ? 0.25 : 0.0;
}

/// After how long it gets `reach` (nanoseconds) along its motion; FL_FOREVER: never.
FlTime fl__fade_when(FlTime t, FlTime reach);

/// A motion beyond its horizon: up to 36 years, so that quarters of nanoseconds fit.
typedef struct FlBeyond {
    FlTime beyond;          ///< Since the horizon.
    FlTime level, vertical; ///< The two times.
    int64_t reach, rise;    ///< How far it got, in x and y, and in z: quarters of nanoseconds.
    int64_t curve;          ///< How far it is curved, likewise.
    double rate, rise_rate;
} FlBeyond;

FlBeyond fl__beyond(const FlMotion *m, FlTime span);

/// fl_fade_ns, but for ever is a time that can be multiplied.
FlTime fl__fade_time(uint8_t code);

/// For how long silence is worth something that may last so long, with a tenth to spare.
uint8_t fl__fade_trust(FlTime silence);

/// Makes an update that took `delay` to arrive what a receiver shows of it.
void fl__foresee(FlMotion *seen, FlTime delay);

/// True if something goes on beyond the horizon.
static inline bool fl__fades(const FlMotion *m)
{
    return m->fade.level != 0 && m->model != FL_MODEL_CUBIC;
}

static inline double fl__quarters_seconds(int64_t quarters)
{
    return (double)quarters / 4e9;
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

// ---------------------------------------------------------------- fader.c

/// Between which ages codes are judged.
void fl__fader_ages(FlFader *fader, FlTime shortest, FlTime longest);

/// Hands the fader a frame's truth; it carries on its trials.
void fl__fader_observe(FlFader *fader, const FlState *real);

/// Starts a trial, if one is due: from the truth, which was observed last;
void fl__fader_try(FlFader *fader, const FlState *real);

/// from what receivers know of it: a course, at a time.
void fl__fader_try_course(FlFader *fader, const FlMotion *course, FlTime time);

/// The codes of an update from `real`, which was observed last; {0}: it need not fade.
FlFade fl__fader_pick(FlFader *fader, const FlState *real, FlModel model, uint8_t trust);

/// The model with the least error, whatever updates it takes.
FlModel fl__fader_model(const FlFader *fader, const FlState *real);

/// Ends the trials that a cut made pointless; what was learnt stays.
void fl__fader_cut(FlFader *fader);

#endif
