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
static FlCurve *curve_of(const FlLedger *ledger, int32_t entity, uint32_t shown, uint32_t at)
{
    uint32_t place = (at + 5 * (at - shown)) % FL__CURVES;
    FlCurve *curve = &ledger->curves[entity * FL__CURVES + (int32_t)place];
    if (curve->shown == shown && curve->exported == at && curve->count > 0) {
        return curve;
    }
    if (!ledger->counting) {
        return NULL;
    }
    curve->shown = shown;
    curve->exported = at;
    curve->count = 1;
    curve->at[0] = fl__leap(ledger, entity, at)->from;
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

double fl__curve_error(const FlLedger *ledger, int32_t entity, uint32_t shown, uint32_t at,
                       FlTime until)
{
    FlCurve *curve = curve_of(ledger, entity, shown, at);
    int32_t knot = curve != NULL ? curve->count - 1 : 0;
    while (knot > 0 && curve->at[knot] > until) {
        knot--;
    }
    FlTime from = curve != NULL ? curve->at[knot] : fl__leap(ledger, entity, at)->from;
    double sum = curve != NULL ? curve->sum[knot] : 0.0;
    if (until <= from) {
        return sum;
    }
    const FlMotion *exported = &fl__piece(ledger, entity, at)->motion;
    const FlMotion *placed = &fl__piece(ledger, entity, shown)->motion;
    FlTime way = until - from;
    sum += way <= SHORT_WAY ? short_way(exported, placed, from, until)
                            : fl_distance_integral(exported, placed, from, until);
    if (ledger->counting && way >= KNOT_APART && curve->count < FL__KNOTS) {
        keep_knot(curve, knot, until, sum);
    }
    return sum;
}
