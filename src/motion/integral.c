// The distance between two motions, summed up over time, and its inverse.
//
// The interval is cut where a motion changes its formula (a cubic's ends, a horizon). On each
// stretch both motions are re-based to the stretch's start: a polynomial of degree three at most,
// or an arc. Straight against straight has a closed form; all else is integrated
// numerically.
#include "private.h"

// ---------------------------------------------------------------- one motion on a stretch without
// breaks

typedef struct Stretch {
    FlVec3 position, velocity, acceleration, jerk;
    double turn_rate;
    bool straight; // no acceleration, jerk or turn
} Stretch;

static bool is_zero(FlVec3 v)
{
    return v.x == 0.0 && v.y == 0.0 && v.z == 0.0;
}

// The motion from `from` on, up to its next break.
static Stretch stretch_from(const FlMotion *m, FlTime from)
{
    Stretch s = {.position = fl_motion_position(m, from), .velocity = fl_motion_velocity(m, from)};
    FlTime span = fl_span(from, m->time);
    bool ended = fl__past_horizon(m, span);
    if (!ended && m->model == FL_MODEL_QUADRATIC) {
        s.acceleration = m->acceleration;
    }
    if (!ended && m->model == FL_MODEL_CUBIC && span >= 0 && span < m->curve_ns) {
        s.acceleration = fl_vec3_add_scaled(m->acceleration, m->jerk, fl_span_seconds(span));
        s.jerk = m->jerk;
    }
    if (!ended && m->model == FL_MODEL_CIRCULAR) {
        s.turn_rate = m->turn_rate;
    }
    s.straight = is_zero(s.acceleration) && is_zero(s.jerk) && s.turn_rate == 0.0;
    return s;
}

// The first time after `t`, and before `limit`, at which the motion changes its formula; else
// `limit`.
static FlTime next_break(const FlMotion *m, FlTime t, FlTime limit)
{
    FlTime ends[3] = {fl_time_add(m->time, m->horizon_ns), limit, limit};
    if (m->model == FL_MODEL_CUBIC) {
        ends[1] = m->time;
        ends[2] = fl_time_add(m->time, m->curve_ns);
    }
    for (int32_t i = 0; i < 3; i++) {
        if (ends[i] > t && ends[i] < limit) {
            limit = ends[i];
        }
    }
    return limit;
}

// ---------------------------------------------------------------- the relative motion of two

// a - b on a stretch. Two arcs of the same turn rate differ by an arc, in which nothing cancels.
typedef struct Relative {
    FlVec3 position, velocity, acceleration, jerk; // the polynomial part, or the common arc's
    FlVec3 arc_a, arc_b;                           // velocities of arcs of different turn rate
    double turn_a, turn_b;
    double turn_common;
} Relative;

static Relative relative_of(const Stretch *a, const Stretch *b)
{
    Relative r = {
        .position = fl_vec3_sub(a->position, b->position),
        .velocity = fl_vec3_sub(a->velocity, b->velocity),
        .acceleration = fl_vec3_sub(a->acceleration, b->acceleration),
        .jerk = fl_vec3_sub(a->jerk, b->jerk),
    };
    if (a->turn_rate == b->turn_rate) {
        r.turn_common = a->turn_rate;
        return r;
    }
    if (a->turn_rate != 0.0) {
        r.arc_a = a->velocity;
        r.turn_a = a->turn_rate;
        r.velocity = fl_vec3_scale(b->velocity, -1.0);
    }
    if (b->turn_rate != 0.0) {
        r.arc_b = b->velocity;
        r.turn_b = b->turn_rate;
        r.velocity = a->turn_rate != 0.0 ? fl_vec3(0.0, 0.0, 0.0) : a->velocity;
    }
    return r;
}

// The distance at one time, and how half its square changes there: negative while the two come
// nearer.
typedef struct Apart {
    double distance;
    double trend;
} Apart;

// An arc's part of the relative motion: displacement per second so far, and velocity.
static FlVec3 arc_velocity(FlArc arc, double phi, FlVec3 v)
{
    double sine = arc.along * phi;
    double cosine = 1.0 - arc.across * phi;
    return fl_vec3(v.x * cosine - v.y * sine, v.x * sine + v.y * cosine, v.z);
}

static Apart relative_at(const Relative *r, double s)
{
    FlVec3 lead = r->velocity;
    FlVec3 velocity = r->velocity;
    if (r->turn_common != 0.0) {
        double phi = r->turn_common * s;
        FlArc arc = fl__arc(phi);
        lead = fl__arc_lead(arc, r->velocity);
        velocity = arc_velocity(arc, phi, r->velocity);
    }
    lead = fl_vec3_add_scaled(lead, fl_vec3_add_scaled(r->acceleration, r->jerk, s / 3.0), 0.5 * s);
    velocity =
        fl_vec3_add_scaled(velocity, fl_vec3_add_scaled(r->acceleration, r->jerk, 0.5 * s), s);
    if (r->turn_a != 0.0) {
        FlArc arc = fl__arc(r->turn_a * s);
        lead = fl_vec3_add(lead, fl__arc_lead(arc, r->arc_a));
        velocity = fl_vec3_add(velocity, arc_velocity(arc, r->turn_a * s, r->arc_a));
    }
    if (r->turn_b != 0.0) {
        FlArc arc = fl__arc(r->turn_b * s);
        lead = fl_vec3_sub(lead, fl__arc_lead(arc, r->arc_b));
        velocity = fl_vec3_sub(velocity, arc_velocity(arc, r->turn_b * s, r->arc_b));
    }
    FlVec3 gap = fl_vec3_add_scaled(r->position, lead, s);
    Apart apart = {fl_vec3_length(gap), fl_vec3_dot(gap, velocity)};
    return apart;
}

// ---------------------------------------------------------------- quadrature
//
// Gauss and Kronrod's rules with 7 and 15 points on panels. Where two paths (nearly) touch, the
// distance has a corner, and the two rules can agree by chance on a wrong value; so a panel that
// holds a closest approach is first cut there, where each side is smooth. Then panels are halved
// until the rules agree.

typedef struct Quadrature {
    const Relative *relative;
    double allowed;      // doubt that a panel may keep
    double noise_per_s;  // doubt that is rounding, per second: no halving cures it
    int32_t panels_left; // how many more may be measured
} Quadrature;

typedef struct Panel {
    double from, to;
    double value;
    double doubt;        // how far the two rules disagree
    double nearer_until; // a closest approach lies between this
    double farther_from; // and this; equal if there is none inside
} Panel;

#define NODES 15

static const double kronrod_node[8] = {
    0.991455371120812639206854697526329, 0.949107912342758524526189684047851,
    0.864864423359769072789712788640926, 0.741531185599394439863864773280788,
    0.586087235467691130294144691258380, 0.405845151377397166906606412076961,
    0.207784955007898467600689403773245, 0.0,
};
static const double kronrod_weight[8] = {
    0.022935322010529224963732008058970, 0.063092092629978553290700663189204,
    0.104790010322250183839876322541518, 0.140653259715525918745189590510238,
    0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
    0.204432940075298892414161999234649, 0.209482141084727828012999174891714,
};
static const double gauss_weight[4] = {
    0.129484966168869693270611432679082,
    0.279705391489276667901467771423780,
    0.381830050505118944950369775488975,
    0.417959183673469387755102040816327,
};

// Watches the trend from one time to the next for a closest approach.
static void panel_watch(Panel *panel, double *time_before, double *trend_before, double time,
                        double trend)
{
    if (*trend_before < 0.0 && trend > 0.0) {
        panel->nearer_until = *time_before;
        panel->farther_from = time;
    }
    *time_before = time;
    *trend_before = trend;
}

static Panel panel_measure(Quadrature *q, double from, double to)
{
    double middle = 0.5 * (from + to);
    double half = 0.5 * (to - from);
    double fine = 0.0, coarse = 0.0;
    Panel panel = {.from = from, .to = to};
    double time_before = from;
    double trend_before = relative_at(q->relative, from).trend;
    for (int32_t i = 0; i < NODES; i++) {
        int32_t k = i < 8 ? i : NODES - 1 - i;
        double time = i < 8 ? middle - half * kronrod_node[k] : middle + half * kronrod_node[k];
        Apart apart = relative_at(q->relative, time);
        fine += kronrod_weight[k] * apart.distance;
        coarse += k % 2 == 1 ? gauss_weight[k / 2] * apart.distance : 0.0;
        panel_watch(&panel, &time_before, &trend_before, time, apart.trend);
    }
    panel_watch(&panel, &time_before, &trend_before, to, relative_at(q->relative, to).trend);
    panel.value = half * fine;
    panel.doubt = half * fabs(fine - coarse);
    q->panels_left--;
    return panel;
}

static double closest_approach(const Quadrature *q, const Panel *p)
{
    double low = p->nearer_until;
    double high = p->farther_from;
    for (int32_t i = 0; i < 30; i++) {
        double middle = 0.5 * (low + high);
        if (relative_at(q->relative, middle).trend < 0.0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return 0.5 * (low + high);
}

#define END_ZONE 1e-7 // a corner nearer to an end than this share of the panel does not matter

// Where to cut a panel: at a closest approach inside it, else in the middle if it is in doubt, else
// (at its start) not.
static double panel_cut(const Quadrature *q, const Panel *p)
{
    double width = p->to - p->from;
    double bearable = q->allowed + q->noise_per_s * width;
    if (q->panels_left <= 0 || !(p->value > bearable)) {
        return p->from;
    }
    if (p->nearer_until < p->farther_from) {
        double cut = closest_approach(q, p);
        double margin = END_ZONE * width;
        if (cut > p->from + margin && cut < p->to - margin) {
            return cut;
        }
    }
    return p->doubt > bearable ? 0.5 * (p->from + p->to) : p->from;
}

#define DEPTH_AT_MOST 48

// Refines one panel until nothing in it is in doubt. The stack holds right parts still to do.
static double panel_refine(Quadrature *q, Panel panel)
{
    Panel todo[DEPTH_AT_MOST + 2];
    int32_t depth[DEPTH_AT_MOST + 2];
    int32_t count = 1;
    double sum = 0.0;
    todo[0] = panel;
    depth[0] = 0;
    while (count > 0) {
        Panel p = todo[--count];
        int32_t level = depth[count];
        double cut = level < DEPTH_AT_MOST ? panel_cut(q, &p) : p.from;
        if (!(cut > p.from && cut < p.to)) {
            sum += p.value;
            continue;
        }
        todo[count] = panel_measure(q, cut, p.to);
        depth[count++] = level + 1;
        todo[count] = panel_measure(q, p.from, cut);
        depth[count++] = level + 1;
    }
    return sum;
}

// Most of the time a receiver shows the very update that was exported.
static bool is_nothing(const Relative *r)
{
    return is_zero(r->position) && is_zero(r->velocity) && is_zero(r->acceleration) &&
           is_zero(r->jerk) && r->turn_a == 0.0 && r->turn_b == 0.0;
}

#define TOLERANCE 1e-9 // doubt of one panel, of the whole
#define RADIANS_PER_PANEL                                                                          \
    2.0                     // about a third of a turn is a shape that 15 points follow to rounding
#define PANELS_AT_MOST 8192 // turns beyond 16384 rad in one interval are estimated, not followed
#define REFINED_PER_PANEL 64
#define ROUNDING 1e-15

// How large the numbers are that cancel in evaluating the distance.
static double magnitude(const Relative *r, double seconds)
{
    double arcs = fl_vec3_length(r->arc_a) + fl_vec3_length(r->arc_b);
    return fl_vec3_length(r->position) + seconds * (fl_vec3_length(r->velocity) + arcs +
                                                    seconds * (fl_vec3_length(r->acceleration) +
                                                               seconds * fl_vec3_length(r->jerk)));
}

static double curved_integral(const Relative *r, double seconds)
{
    if (is_nothing(r)) {
        return 0.0;
    }
    double turn = fabs(r->turn_common) + fabs(r->turn_a) + fabs(r->turn_b);
    double wanted = ceil(turn * seconds / RADIANS_PER_PANEL);
    int32_t panels = wanted < 1.0 ? 1 : wanted < PANELS_AT_MOST ? (int32_t)wanted : PANELS_AT_MOST;
    bool followed = panels < PANELS_AT_MOST;
    Quadrature q = {
        .relative = r,
        .noise_per_s = ROUNDING * magnitude(r, seconds),
        .panels_left = panels * (followed ? 2 + REFINED_PER_PANEL : 2),
    };
    double step = seconds / panels;
    double rough = 0.0;
    for (int32_t i = 0; i < panels; i++) {
        rough += panel_measure(&q, i * step, (i + 1) * step).value;
    }
    q.allowed = TOLERANCE * rough;
    double sum = 0.0;
    for (int32_t i = 0; i < panels; i++) {
        sum += panel_refine(&q, panel_measure(&q, i * step, (i + 1) * step));
    }
    return sum;
}

// ---------------------------------------------------------------- the integral

static bool is_straight_model(const FlMotion *m)
{
    return m->model == FL_MODEL_STILL || m->model == FL_MODEL_LINEAR;
}

// The integral over a stretch without breaks.
static double stretch_integral(const FlMotion *a, const FlMotion *b, FlTime from, FlTime to)
{
    Stretch sa = stretch_from(a, from);
    Stretch sb = stretch_from(b, from);
    double seconds = fl_span_seconds(fl_span(to, from));
    if (!sa.straight || !sb.straight) {
        Relative relative = relative_of(&sa, &sb);
        return curved_integral(&relative, seconds);
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

double fl_distance_integral(const FlMotion *a, const FlMotion *b, FlTime from, FlTime to)
{
    if (from >= to) {
        return 0.0;
    }
    if (is_straight_until(a, to) && is_straight_until(b, to)) {
        double sum = straight_integral(a, b, from, to);
        return isfinite(sum) ? sum : (double)NAN;
    }
    if (!fl_motion_finite(a) || !fl_motion_finite(b)) {
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

// ---------------------------------------------------------------- its inverse

// The goal is reached in (low, high]: `missing` of it is not yet there at low, `within` lies
// between the two.
typedef struct Bracket {
    FlTime low, high;
    double missing;
    double within;
} Bracket;

static void bracket_narrow(Bracket *bracket, const FlMotion *a, const FlMotion *b, FlTime guess)
{
    double part = fl_distance_integral(a, b, bracket->low, guess);
    if (part >= bracket->missing) {
        bracket->high = guess;
        bracket->within = part;
    } else {
        bracket->low = guess;
        bracket->missing -= part;
        bracket->within -= part;
    }
}

// Strides out from `low`, doubling, until the goal lies within the last stride. False if it does
// not by `latest`.
static bool bracket_find(Bracket *bracket, const FlMotion *a, const FlMotion *b, FlTime latest)
{
    FlTime stride = FL_MS(1);
    while (bracket->low < latest) {
        FlTime end = fl_time_add(bracket->low, stride);
        bracket->high = end < latest ? end : latest;
        bracket->within = fl_distance_integral(a, b, bracket->low, bracket->high);
        if (bracket->within >= bracket->missing) {
            return true;
        }
        bracket->missing -= bracket->within;
        bracket->low = bracket->high;
        stride = stride < FL_FOREVER / 2 ? stride * 2 : FL_FOREVER;
    }
    return false;
}

// Newton's step from the end that is nearer to the goal (the integrand is the slope), held inside
// the bracket.
static FlTime newton_guess(const Bracket *bracket, const FlMotion *a, const FlMotion *b)
{
    double beyond = bracket->within - bracket->missing;
    bool from_low = bracket->missing < beyond;
    FlTime end = from_low ? bracket->low : bracket->high;
    FlVec3 gap = fl_vec3_sub(fl_motion_position(a, end), fl_motion_position(b, end));
    double left = from_low ? bracket->missing : -beyond;
    FlTime guess = fl_time_add(end, fl_span_from_seconds(left / fl_vec3_length(gap)));
    if (guess <= bracket->low) {
        return bracket->low + 1;
    }
    return guess < bracket->high ? guess : bracket->high - 1;
}

FlResult fl_distance_integral_reaches(const FlMotion *a, const FlMotion *b, FlTime from,
                                      FlTime latest, double goal, FlTime *when)
{
    *when = latest;
    if (!isfinite(goal) || !fl_motion_finite(a) || !fl_motion_finite(b)) {
        return FL_BAD_VALUE;
    }
    if (goal <= 0.0) {
        *when = from;
        return FL_OK;
    }
    Bracket bracket = {.low = from, .high = from, .missing = goal};
    if (!bracket_find(&bracket, a, b, latest)) {
        return FL_NOT_FOUND;
    }
    // Every third round halves, so that a slope that misleads Newton costs a logarithm, not the
    // interval's length.
    for (int32_t round = 1; bracket.high - bracket.low > 1; round++) {
        FlTime middle = bracket.low + (bracket.high - bracket.low) / 2;
        bracket_narrow(&bracket, a, b, round % 3 == 0 ? middle : newton_guess(&bracket, a, b));
    }
    bool high_is_nearer = bracket.within - bracket.missing <= bracket.missing;
    *when = high_is_nearer ? bracket.high : bracket.low;
    return FL_OK;
}
