// The curve by which an offset goes to nothing: continuous in position and velocity, never past
// the goal, never faster than a bound.
//
// Given an offset e with velocity v at its start, a time T0 and a speed c. The velocity of the
// offset is made of two parts:
//
//     velocity(t) = v (1 - t/Tv)  -  r m(t) / (T - ramp)          r = e + v Tv / 2
//
// The first is what it had, fading away within Tv and carrying the offset v Tv/2 further on the
// way. The second takes off e and what the first part adds: m rises from 0 to 1 within `ramp`,
// stays, and falls within `ramp` again, at T.
//
//     ramp = T0 / 2
//     T    = T0, or |r| / c + ramp if that is longer; so |r| / (T - ramp) <= c
//     Tv   = ramp, but if the offset shrinks at speed s by itself (s = -v.e/|e| > 0): at most 2 |e|
//     / s
//
// An offset that is next to nothing against the way that v makes of it has no direction but that of
// rounding. It counts as none: with v to be kept, there is nowhere to go but out and back.
//
// An update that comes while a correction is under way takes it over at the speed it has: v points
// at the goal then, and the first part fades as the second grows.
//
// Not past the goal: let L and M be the parts of their ways that the two have done, in [0, 1].
// Along e the offset is |e| + (v.e/|e|) (Tv/2) L - (r.e/|e|) M. If v.e <= 0, that is least for L =
// M = 1, where it is 0, since Tv keeps r.e >= 0. If v.e > 0, it is |e| (1 - M) plus a positive
// multiple of L - M, and L is ahead of M: M <= t/T <= t/(2 Tv) in the first half, and L >= t/Tv.
//
// Not faster: both weights are >= 0 and their sum is at most 1, because Tv <= ramp. So the offset's
// velocity is a mean of v, of a correction no faster than c, and of zero. On top of something that
// moves straight at p, the picture's velocity is the same mean of what it was, p plus the
// correction, and p. Hence the choice of c: as fast as |p + correction| <= limit allows.
#include "private.h"

#define NOTHING 1e-6

// How fast an offset may go to nothing, the way from goal to picture being `way`.
static double speed_along(FlVec3 way, double far, const Fl__Bound *bound)
{
    double along = fl_vec3_dot(bound->velocity, way) / far;
    double squared = fl_vec3_dot(bound->velocity, bound->velocity);
    double room = along * along + bound->limit * bound->limit - squared;
    double speed = room >= 0.0 ? along + sqrt(room) : 0.0;
    return speed > bound->least ? speed : bound->least;
}

FlShowGlide fl__glide_make(FlVec3 offset, FlVec3 velocity, double seconds, const Fl__Bound *bound)
{
    double ramp = 0.5 * seconds;
    FlShowGlide glide = {.drift = velocity, .drift_s = ramp, .ramp_s = ramp, .glide_s = seconds};
    double far = fl_vec3_length(offset);
    double closing = far > 0.0 ? -fl_vec3_dot(velocity, offset) / far : 0.0;
    if (closing * ramp > 2.0 * far && closing * ramp * NOTHING < far) {
        glide.drift_s = 2.0 * far / closing;
    }
    glide.left = fl_vec3_add_scaled(offset, velocity, 0.5 * glide.drift_s);
    double left = fl_vec3_length(glide.left);
    if (left > 0.0) {
        double needed = left / speed_along(glide.left, left, bound) + ramp;
        glide.glide_s = needed > seconds ? needed : seconds;
    }
    return glide;
}

FlVec3 fl__glide_offset(const FlShowGlide *glide, double seconds)
{
    FlVec3 offset = {0.0, 0.0, 0.0};
    double ramp = glide->ramp_s;
    double rest = glide->glide_s - seconds;
    if (rest > 0.0) {
        double share; // of the way that is still to go
        if (seconds < ramp) {
            share = 1.0 - 0.5 * seconds * seconds / (ramp * (glide->glide_s - ramp));
        } else if (rest > ramp) {
            share = (rest - 0.5 * ramp) / (glide->glide_s - ramp);
        } else {
            share = 0.5 * rest * rest / (ramp * (glide->glide_s - ramp));
        }
        offset = fl_vec3_scale(glide->left, share);
    }
    if (seconds < glide->drift_s) {
        double y = 1.0 - seconds / glide->drift_s;
        offset = fl_vec3_add_scaled(offset, glide->drift, -0.5 * glide->drift_s * (y * y));
    }
    return offset;
}

FlVec3 fl__glide_velocity(const FlShowGlide *glide, double seconds)
{
    FlVec3 velocity = {0.0, 0.0, 0.0};
    double ramp = glide->ramp_s;
    double rest = glide->glide_s - seconds;
    if (rest > 0.0) {
        double edge = seconds < rest ? seconds : rest; // to the nearer end
        double weight = edge < ramp ? edge / ramp : 1.0;
        velocity = fl_vec3_scale(glide->left, -weight / (glide->glide_s - ramp));
    }
    if (seconds < glide->drift_s) {
        velocity = fl_vec3_add_scaled(velocity, glide->drift, 1.0 - seconds / glide->drift_s);
    }
    return velocity;
}
