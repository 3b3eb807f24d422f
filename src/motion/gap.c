// The difference of two straight motions at one time, with all its digits.
//
// Why: an exported path and a placed one often agree to a hair, say positions near 1000 that differ
// by 1e-10. Plain subtraction of evaluated positions leaves three digits of that, and an error
// integral that should be exact becomes noise. Where too much cancels, the sum  pa - pb + va na -
// vb nb  is formed again with every rounding error kept (Dekker 1971, Knuth's two-sum). Times enter
// as whole nanoseconds, so not even 1e-9 is rounded on the way.
#include "private.h"

// An unevaluated sum of two doubles: about 32 digits.
typedef struct Pair {
    double head, tail;
} Pair;

static Pair two_sum(double a, double b)
{
    double head = a + b;
    double part = head - a;
    Pair sum = {head, (a - (head - part)) + (b - part)};
    return sum;
}

// The upper half of a double's digits.
static double upper(double a)
{
    double c = 134217729.0 * a; // 2^27 + 1
    return c - (c - a);
}

static Pair two_product(double a, double b)
{
    double head = a * b;
    double a1 = upper(a), b1 = upper(b);
    double a2 = a - a1, b2 = b - b1;
    Pair product = {head, ((a1 * b1 - head) + a1 * b2 + a2 * b1) + a2 * b2};
    return product;
}

static Pair pair_add(Pair a, Pair b)
{
    Pair sum = two_sum(a.head, b.head);
    Pair rest = two_sum(a.tail, b.tail);
    sum = two_sum(sum.head, sum.tail + rest.head);
    return two_sum(sum.head, sum.tail + rest.tail);
}

// velocity * nanoseconds, exactly: a span of more than 2^53 ns does not fit one double, but two
// halves do.
static Pair travelled(double velocity, FlTime span)
{
    FlTime low = span % ((FlTime)1 << 32);
    return pair_add(two_product(velocity, (double)(span - low)),
                    two_product(velocity, (double)low));
}

typedef struct Axis {
    double position_a, velocity_a, position_b, velocity_b;
} Axis;

static double careful_gap(const Axis *x, FlTime span_a, FlTime span_b)
{
    Pair apart = two_sum(x->position_a, -x->position_b);
    Pair scaled = pair_add(two_product(apart.head, 1e9), two_product(apart.tail, 1e9));
    Pair moved = pair_add(travelled(x->velocity_a, span_a), travelled(-x->velocity_b, span_b));
    Pair sum = pair_add(scaled, moved);
    return (sum.head + sum.tail) / 1e9;
}

static double axis_gap(const Axis *x, FlTime span_a, FlTime span_b)
{
    double apart = x->position_a - x->position_b;
    double moved_a = x->velocity_a * fl_span_seconds(span_a);
    double moved_b = x->velocity_b * fl_span_seconds(span_b);
    double gap = apart + (moved_a - moved_b);
    double size = fabs(x->position_a) + fabs(x->position_b) + fabs(moved_a) + fabs(moved_b);
    // Five digits may go: eleven are left. Outside these sizes the exact products would not fit.
    bool enough = fabs(gap) > 1e-5 * size || !(size > 1e-250 && size < 1e250);
    return enough ? gap : careful_gap(x, span_a, span_b);
}

// How long something moved at a velocity: beyond the horizon quarters of nanoseconds, at a quarter
// of it.
typedef struct Way {
    FlTime span;
    double share;
} Way;

static Way way_of(const FlMotion *m, FlTime t, bool up)
{
    FlTime span = fl_span(t, m->time);
    if (!fl__past_horizon(m, span)) {
        return (Way){span, 1.0};
    }
    if (!fl__fades(m)) {
        return (Way){m->horizon_ns, 1.0};
    }
    FlBeyond b = fl__beyond(m, span);
    return (Way){4 * m->horizon_ns + (up ? b.rise : b.reach), 0.25};
}

// Neither is past its horizon.
static FlVec3 known_gap(const FlMotion *a, const FlMotion *b, FlTime span_a, FlTime span_b)
{
    Axis x = {a->position.x, a->velocity.x, b->position.x, b->velocity.x};
    Axis y = {a->position.y, a->velocity.y, b->position.y, b->velocity.y};
    Axis z = {a->position.z, a->velocity.z, b->position.z, b->velocity.z};
    return fl_vec3(axis_gap(&x, span_a, span_b), axis_gap(&y, span_a, span_b),
                   axis_gap(&z, span_a, span_b));
}

FlVec3 fl__straight_gap(const FlMotion *a, const FlMotion *b, FlTime t)
{
    FlTime span_a = fl_span(t, a->time);
    FlTime span_b = fl_span(t, b->time);
    if (!fl__past_horizon(a, span_a) && !fl__past_horizon(b, span_b)) { // mostly
        return known_gap(a, b, span_a, span_b);
    }
    Way la = way_of(a, t, false), ua = way_of(a, t, true);
    Way lb = way_of(b, t, false), ub = way_of(b, t, true);
    Axis x = {a->position.x, la.share * a->velocity.x, b->position.x, lb.share * b->velocity.x};
    Axis y = {a->position.y, la.share * a->velocity.y, b->position.y, lb.share * b->velocity.y};
    Axis z = {a->position.z, ua.share * a->velocity.z, b->position.z, ub.share * b->velocity.z};
    return fl_vec3(axis_gap(&x, la.span, lb.span), axis_gap(&y, la.span, lb.span),
                   axis_gap(&z, ua.span, ub.span));
}
