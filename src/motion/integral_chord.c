// Appendix B of the thesis, by name, for comparison: each motion is taken for the straight line
// between where it is at the two ends of the interval. Right for straight motions; for an arc it
// leaves out how far the arc bulges, and so may say 0 for two different arcs with the same ends.
#include "private.h"

double fl__distance_integral_chord(const FlMotion *a, const FlMotion *b, FlTime from, FlTime to)
{
    if (from >= to) {
        return 0.0;
    }
    if (!fl__motion_finite(a) || !fl__motion_finite(b)) {
        return (double)NAN;
    }
    FlVec3 start = fl_vec3_sub(fl_motion_position(a, from), fl_motion_position(b, from));
    FlVec3 end = fl_vec3_sub(fl_motion_position(a, to), fl_motion_position(b, to));
    double seconds = fl_span_seconds(fl_span(to, from));
    return fl__distance_integral_straight(start, fl_vec3_sub(end, start), seconds);
}
