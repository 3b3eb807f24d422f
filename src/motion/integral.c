// The distance between two motions, summed up over time.
//
// The interval is cut where a motion changes its formula (a cubic's ends, a horizon). On each
// stretch both motions are re-based to the stretch's start: a polynomial of degree three at most,
// or an arc. Straight against straight has a closed form (integral_straight.c); all else is
// integrated numerically (integral_curved.c).
#include "private.h"

// ---------------------------------------------------------------- one motion on a stretch without
// breaks

// Beyond the horizon everything runs at a share of its speed: acceleration at the square of it.
static void slow_down(const FlMotion *m, FlTime span, FlStretch *s)
{
    if (!fl__fades(m)) {
        return;
    }
    FlBeyond b = fl__beyond(m, span);
    if (m->model == FL_MODEL_QUADRATIC) {
        double level = b.reach < b.curve ? b.rate * b.rate : 0.0;
        double rise = b.rise < b.curve ? b.rise_rate * b.rise_rate : 0.0;
        s->acceleration =
            fl_vec3(level * m->acceleration.x, level * m->acceleration.y, rise * m->acceleration.z);
    }
    if (m->model == FL_MODEL_CIRCULAR && b.reach < b.curve) {
        s->turn_rate = b.rate * m->turn_rate;
    }
}

// The motion from `from` on, up to its next break.
static FlStretch stretch_from(const FlMotion *m, FlTime from)
{
    FlStretch s = {.position = fl_motion_position(m, from),
                   .velocity = fl__motion_velocity(m, from)};
    FlTime span = fl_span(from, m->time);
    if (fl__past_horizon(m, span)) {
        slow_down(m, span, &s);
    } else if (m->model == FL_MODEL_QUADRATIC) {
        s.acceleration = m->acceleration;
    } else if (m->model == FL_MODEL_CUBIC && span >= 0 && span < m->curve_ns) {
        s.acceleration = fl_vec3_add_scaled(m->acceleration, m->jerk, fl_span_seconds(span));
        s.jerk = m->jerk;
    } else if (m->model == FL_MODEL_CIRCULAR) {
        s.turn_rate = m->turn_rate;
    }
    s.straight = fl__vec3_is_zero(s.acceleration) && fl__vec3_is_zero(s.jerk) && s.turn_rate == 0.0;
    return s;
}

// The earlier of `limit` and a time `span` after the motion's, if that is after `t`.
static FlTime sooner(const FlMotion *m, FlTime span, FlTime t, FlTime limit)
{
    FlTime end = fl_time_add(m->time, span);
    return end > t && end < limit ? end : limit;
}

// The first time after `t`, and before `limit`, at which the motion changes its formula; else
// `limit`.
static FlTime next_break(const FlMotion *m, FlTime t, FlTime limit)
{
    if (m->model == FL_MODEL_CUBIC) {
        limit = sooner(m, 0, t, limit);
        limit = sooner(m, m->curve_ns, t, limit);
    }
    limit = sooner(m, m->horizon_ns, t, limit);
    if (m->horizon_ns == FL_FOREVER || !fl__fades(m)) {
        return limit;
    }
    const FlTime times[2] = {fl__fade_ns(m->fade.level), fl__fade_ns(m->fade.vertical)};
    for (int32_t i = 0; i < 2; i++) {
        FlTime fading = times[i] == FL_FOREVER ? 0 : times[i];
        for (int32_t k = 1; k <= 5; k += 2) {
            limit = sooner(m, fl_time_add(m->horizon_ns, k * fading), t, limit);
        }
        FlTime curve = fl__fade_ns(m->fade.curve);
        FlTime bent = curve == FL_FOREVER ? FL_FOREVER : fl__fade_when(times[i], curve);
        limit = sooner(m, fl_time_add(m->horizon_ns, bent), t, limit);
    }
    return limit;
}

// ---------------------------------------------------------------- the integral

static bool is_straight_model(const FlMotion *m)
{
    return m->model == FL_MODEL_STILL || m->model == FL_MODEL_LINEAR;
}

// The integral over a stretch without breaks.
static double stretch_integral(const FlMotion *a, const FlMotion *b, FlTime from, FlTime to)
{
    FlStretch sa = stretch_from(a, from);
    FlStretch sb = stretch_from(b, from);
    double seconds = fl_span_seconds(fl_span(to, from));
    if (!sa.straight || !sb.straight) {
        return fl__curved_integral(&sa, &sb, seconds);
    }
    bool exact = is_straight_model(a) && is_straight_model(b);
    FlVec3 gap = exact ? fl__straight_gap(a, b, from) : fl_vec3_sub(sa.position, sb.position);
    FlVec3 drift = fl_vec3_scale(fl_vec3_sub(sa.velocity, sb.velocity), seconds);
    return seconds * fl__mean_distance(gap, drift);
}

// The common case, without the search for breaks: both straight, neither at its horizon by `to`.
static double straight_integral(const FlMotion *a, const FlMotion *b, FlTime from, FlTime to)
{
    double seconds = fl_span_seconds(fl_span(to, from));
    FlVec3 drift = fl_vec3_scale(fl_vec3_sub(a->velocity, b->velocity), seconds);
    return seconds * fl__mean_distance(fl__straight_gap(a, b, from), drift);
}

static bool is_straight_until(const FlMotion *m, FlTime to)
{
    bool straight = m->model == FL_MODEL_STILL || m->model == FL_MODEL_LINEAR;
    return straight && fl_span(to, m->time) <= m->horizon_ns;
}

double fl__distance_integral(const FlMotion *a, const FlMotion *b, FlTime from, FlTime to)
{
    if (from >= to) {
        return 0.0;
    }
    if (is_straight_until(a, to) && is_straight_until(b, to)) {
        double sum = straight_integral(a, b, from, to);
        return isfinite(sum) ? sum : (double)NAN;
    }
    if (!fl__motion_finite(a) || !fl__motion_finite(b)) {
        return (double)NAN;
    }
    double sum = 0.0;
    while (from < to) {
        FlTime until = next_break(b, from, next_break(a, from, to));
        sum += stretch_integral(a, b, from, until);
        from = until;
    }
    return sum;
}
