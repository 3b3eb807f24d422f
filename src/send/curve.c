// Errors along bent pieces, shared among receivers.
//
// While updates are on their way a receiver shows an older one, so its error is the integral of the
// distance between two pieces: the exported one that holds, and the one it shows. Which pieces
// these are is much the same for all receivers, only the ends of the stretch differ. For straight
// pieces a closed form is quick enough; for arcs each integral is a quadrature. So what was
// integrated for one receiver is kept for the others: knots (time, integral so far) along the
// exported piece, for each piece that is shown instead. From the nearest knot before it is mostly a
// few milliseconds, for which two points do.
//
// Two points err by h^5 / 4320 times the fourth derivative: with h = 8 ms, less than 1e-12 for
// anything that turns or brakes within a tenth of a second.
#include "private.h"

#define SHORT_WAY FL_MS(8)    // two points do
#define KNOT_APART FL_US(500) // nearer ones are not worth a knot

// The curve of two pieces. One that is not begun yet is begun only while counting, else NULL.
static FlCurve *curve_of(const FlEntity *e, uint32_t shown, uint32_t at)
{
    FlCurve *curve = &e->rings.curves[(at + 5 * (at - shown)) % FL__CURVES];
    if (curve->shown == shown && curve->exported == at) { // never both 0, as in one never begun
        return curve;
    }
    if (!e->counting) {
        return NULL;
    }
    curve->shown = shown;
    curve->exported = at;
    curve->count = 1;
    curve->at[0] = fl__leap(e, at)->from;
    curve->sum[0] = 0.0;
    return curve;
}

static double distance_at(const FlMotion *a, const FlMotion *b, FlTime time)
{
    return fl_vec3_distance(fl_motion_position(a, time), fl_motion_position(b, time));
}

static double short_way(const FlMotion *a, const FlMotion *b, FlTime from, FlTime to)
{
    FlTime middle = from + (to - from) / 2;
    FlTime off = (FlTime)((double)(to - from) * 0.28867513459481287); // 1 / (2 sqrt 3)
    double sum = distance_at(a, b, middle - off) + distance_at(a, b, middle + off);
    return 0.5 * sum * fl_span_seconds(to - from);
}

static void keep_knot(FlCurve *curve, int32_t after, FlTime at, double sum)
{
    for (int32_t i = curve->count; i > after + 1; i--) {
        curve->at[i] = curve->at[i - 1];
        curve->sum[i] = curve->sum[i - 1];
    }
    curve->at[after + 1] = at;
    curve->sum[after + 1] = sum;
    curve->count++;
}

// The integral up to `until`, from the last knot before it on. Without a curve: from the start.
static double sum_beyond(const FlEntity *e, FlCurve *curve, int32_t knot, uint32_t shown,
                         uint32_t at, FlTime until)
{
    FlTime from = curve != NULL ? curve->at[knot] : fl__leap(e, at)->from;
    double sum = curve != NULL ? curve->sum[knot] : 0.0;
    if (until <= from) {
        return sum;
    }
    const FlMotion *exported = &fl__piece(e, at)->motion;
    const FlMotion *placed = &fl__piece(e, shown)->motion;
    FlTime way = until - from;
    sum += way <= SHORT_WAY ? short_way(exported, placed, from, until)
                            : fl_distance_integral(exported, placed, from, until);
    if (e->counting && way >= KNOT_APART && curve->count < FL__KNOTS) {
        keep_knot(curve, knot, until, sum);
    }
    return sum;
}

// The integral from the start of the exported piece on. Most ends are knots, the start above all.
static inline double sum_until(const FlEntity *e, FlCurve *curve, uint32_t shown, uint32_t at,
                               FlTime until)
{
    if (curve != NULL && until <= curve->at[0]) {
        return curve->sum[0];
    }
    int32_t knot = curve != NULL ? curve->count - 1 : 0;
    while (knot > 0 && curve->at[knot] > until) {
        knot--;
    }
    bool there = curve != NULL && until == curve->at[knot];
    return there ? curve->sum[knot] : sum_beyond(e, curve, knot, shown, at, until);
}

double fl__curve_error(const FlEntity *e, uint32_t shown, uint32_t at, FlTime from, FlTime until)
{
    FlCurve *curve = curve_of(e, shown, at);
    double all = sum_until(e, curve, shown, at, until); // first: it may leave a knot
    return all - sum_until(e, curve, shown, at, from);
}
