// Errors along bent pieces, shared among receivers.
//
// While updates are on their way a receiver shows an older one, so its error is the integral of the
// distance between two pieces: the exported one that holds, and the one it shows. Which pieces
// these are is much the same for all receivers, only the ends of the stretch differ. For straight
// pieces a closed form is quick enough; for arcs each integral is a quadrature. So what was
// integrated for one receiver is kept for the others: knots (time, integral so far, distance) along
// the exported piece, for each piece that is shown instead. Receivers hear of an update one shortly
// before or after the other, so between two knots a millisecond apart it is interpolated.
//
// Interpolating errs by h^4 / 384 times the third derivative of the distance, two points by h^5 /
// 4320 times the fourth: with h = 1 ms and 8 ms, about 1e-12 for anything that turns or brakes
// within a tenth of a second.
#include "motion/motion.h"
#include "private.h"

#define SHORT_WAY FL_MS(8) // two points do
#define KNOT_STEP FL_MS(1) // between knots as near as this it is interpolated

static double distance_at(const FlEntity *e, uint32_t shown, uint32_t at, FlTime time)
{
    return fl_vec3_distance(fl_motion_position(&fl__piece(e, at)->motion, time),
                            fl_motion_position(&fl__piece(e, shown)->motion, time));
}

static inline FlCurve *place_of(const FlEntity *e, uint32_t shown, uint32_t at)
{
    return &e->rings.curves[(at + 5 * (at - shown)) % FL__CURVES];
}

static inline bool is_of(const FlCurve *curve, uint32_t shown, uint32_t at)
{
    return curve->shown == shown && curve->exported == at; // never both 0, as in one never begun
}

// The curve of two pieces. One that is not begun yet is begun only while counting, else NULL.
static FlCurve *curve_of(const FlEntity *e, uint32_t shown, uint32_t at)
{
    FlCurve *curve = place_of(e, shown, at);
    if (is_of(curve, shown, at)) {
        return curve;
    }
    if (!e->counting) {
        return NULL;
    }
    FlTime from = fl__leap(e, at)->from;
    curve->shown = shown;
    curve->exported = at;
    curve->count = 1;
    curve->knot[0] = (FlKnot){from, 0.0, distance_at(e, shown, at, from)};
    return curve;
}

// The integral over a stretch.
static double stretch(const FlEntity *e, uint32_t shown, uint32_t at, FlTime from, FlTime to)
{
    if (to - from > SHORT_WAY) {
        return fl__distance_integral(&fl__piece(e, at)->motion, &fl__piece(e, shown)->motion, from,
                                     to);
    }
    FlTime middle = from + (to - from) / 2;
    FlTime off = (FlTime)((double)(to - from) * 0.28867513459481287); // 1 / (2 sqrt 3)
    double sum = distance_at(e, shown, at, middle - off) + distance_at(e, shown, at, middle + off);
    return 0.5 * sum * fl_span_seconds(to - from);
}

// Puts a knot after `before`, which is not later.
static void add_knot(const FlEntity *e, FlCurve *curve, int32_t before, FlTime time)
{
    FlKnot *knot = &curve->knot[before];
    FlKnot next = {time, knot->sum + stretch(e, curve->shown, curve->exported, knot->at, time),
                   distance_at(e, curve->shown, curve->exported, time)};
    memmove(knot + 2, knot + 1, (size_t)(curve->count - before - 1) * sizeof *knot);
    knot[1] = next;
    curve->count++;
}

// The integral up to a time between two knots: Hermite's cubic.
static double interpolated(const FlKnot *knot, FlTime until)
{
    double seconds = fl_span_seconds(knot[1].at - knot->at);
    double x = fl_span_seconds(until - knot->at) / seconds;
    double rise = knot[1].sum - knot->sum;
    double first = seconds * knot->distance;
    double last = seconds * knot[1].distance;
    double bend = first + last - 2.0 * rise;
    return knot->sum + x * (first + x * (rise - first - bend + x * bend));
}

// Whether a time after this knot is to be interpolated.
static inline bool has_near(const FlCurve *curve, int32_t knot)
{
    const FlKnot *k = &curve->knot[knot];
    return knot + 1 < curve->count && k[1].at - k->at <= KNOT_STEP;
}

// Where to put a knot for a time after this one: there, or a step from a neighbour that is near.
static FlTime knot_for(const FlCurve *curve, int32_t knot, FlTime until)
{
    FlTime before = curve->knot[knot].at;
    FlTime after = knot + 1 < curve->count ? curve->knot[knot + 1].at : FL_FOREVER;
    return until - before < KNOT_STEP  ? before + KNOT_STEP
           : after - until < KNOT_STEP ? after - KNOT_STEP
                                       : until;
}

// The integral up to a time after this knot that has no near one on its other side yet.
FL__APART
static double sum_beyond(const FlEntity *e, FlCurve *curve, int32_t knot, FlTime until)
{
    if (e->counting && curve->count < FL__KNOTS) {
        FlTime at = knot_for(curve, knot, until);
        add_knot(e, curve, knot, at);
        knot += at <= until;
    }
    const FlKnot *k = &curve->knot[knot];
    return until == k->at ? k->sum
           : has_near(curve, knot)
               ? interpolated(k, until)
               : k->sum + stretch(e, curve->shown, curve->exported, k->at, until);
}

// The last knot that is not after a time, which is after the first.
static inline int32_t knot_before(const FlCurve *curve, FlTime until)
{
    int32_t knot = curve->count - 1;
    while (curve->knot[knot].at > until) {
        knot--;
    }
    return knot;
}

// The integral from the start of the exported piece on, if it needs no new knot.
static inline bool sum_known(const FlCurve *curve, FlTime until, double *sum)
{
    *sum = 0.0;
    if (until <= curve->knot[0].at) {
        return true;
    }
    int32_t knot = knot_before(curve, until);
    const FlKnot *k = &curve->knot[knot];
    bool near = has_near(curve, knot);
    *sum = until == k->at ? k->sum : near ? interpolated(k, until) : 0.0;
    return near || until == k->at;
}

static double sum_until(const FlEntity *e, FlCurve *curve, FlTime until)
{
    double sum;
    return sum_known(curve, until, &sum) ? sum
                                         : sum_beyond(e, curve, knot_before(curve, until), until);
}

FL__APART
static double curve_grown(const FlEntity *e, uint32_t shown, uint32_t at, FlTime from, FlTime until)
{
    FlCurve *curve = curve_of(e, shown, at);
    if (curve == NULL) {
        return stretch(e, shown, at, from, until);
    }
    double all = sum_until(e, curve, until); // first: it may leave a knot
    return all - sum_until(e, curve, from);
}

double fl__curve_error(const FlEntity *e, uint32_t shown, uint32_t at, FlTime from, FlTime until)
{
    const FlCurve *curve = place_of(e, shown, at);
    double all, before; // most ends are knots, or between near ones
    if (is_of(curve, shown, at) && sum_known(curve, until, &all) &&
        sum_known(curve, from, &before)) {
        return all - before;
    }
    return curve_grown(e, shown, at, from, until);
}
