// The integral of the distance between two motions where at least one of them is not straight.
//
// Both are given from the stretch's start on, without breaks: polynomials of degree three at most,
// or arcs.
#include "private.h"

// ---------------------------------------------------------------- the relative motion of two

// a - b on a stretch. Two arcs of the same turn rate differ by an arc, in which nothing cancels.
typedef struct Relative {
    FlVec3 position, velocity, acceleration, jerk; // the polynomial part, or the common arc's
    FlVec3 arc_a, arc_b;                           // velocities of arcs of different turn rate
    double turn_a, turn_b;
    double turn_common;
} Relative;

static Relative relative_of(const FlStretch *a, const FlStretch *b)
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
    double allowed;      // uncertainty that a panel may keep
    double noise_per_s;  // uncertainty that is rounding, per second: no halving cures it
    int32_t panels_left; // how many more may be measured
} Quadrature;

typedef struct Panel {
    double from, to;
    double value;
    double uncertainty;  // how far the two rules disagree
    double nearer_until; // a closest approach lies between this
    double farther_from; // and this; equal if there is none inside
} Panel;

#define NODES 15
// Nearer than this share of what the two travel in half a panel: taken for a corner.
#define SHARP 0.1

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

// Is the closest approach between two times a corner, seen from a panel of this half width? For
// straight paths the trend rises evenly, by the speed squared, and so tells how near they come.
static bool is_corner(double time_1, Apart apart_1, double time_2, Apart apart_2, double half)
{
    double speed_2 = (apart_2.trend - apart_1.trend) / (time_2 - time_1);
    double nearest_2 =
        apart_1.distance * apart_1.distance - apart_1.trend * apart_1.trend / speed_2;
    double sharp = SHARP * half;
    return nearest_2 < sharp * sharp * speed_2;
}

// Notes a corner between `time_before` and `time`, if there is one.
static void panel_watch(Panel *panel, double time_before, Apart before, double time, Apart apart)
{
    bool turned = before.trend < 0.0 && apart.trend > 0.0;
    double half = 0.5 * (panel->to - panel->from);
    if (turned && is_corner(time_before, before, time, apart, half)) {
        panel->nearer_until = time_before;
        panel->farther_from = time;
    }
}

static Panel panel_measure(Quadrature *q, double from, double to)
{
    double middle = 0.5 * (from + to);
    double half = 0.5 * (to - from);
    double fine = 0.0, coarse = 0.0;
    Panel panel = {.from = from, .to = to};
    double time_before = from;
    Apart before = relative_at(q->relative, from);
    for (int32_t i = 0; i < NODES; i++) { // from the first node to the last
        int32_t k = i < 8 ? i : NODES - 1 - i;
        double time = i < 8 ? middle - half * kronrod_node[k] : middle + half * kronrod_node[k];
        Apart apart = relative_at(q->relative, time);
        fine += kronrod_weight[k] * apart.distance;
        coarse += k % 2 == 1 ? gauss_weight[k / 2] * apart.distance : 0.0;
        panel_watch(&panel, time_before, before, time, apart);
        time_before = time;
        before = apart;
    }
    panel_watch(&panel, time_before, before, to, relative_at(q->relative, to));
    panel.value = half * fine;
    panel.uncertainty = half * fabs(fine - coarse);
    q->panels_left--;
    return panel;
}

#define END_ZONE 1e-6 // a corner nearer to an end than this share of the panel does not matter

// The zero of the trend between two times, by false position; an end that stays put too long counts
// half (Illinois).
static double closest_approach(const Quadrature *q, const Panel *p)
{
    double low = p->nearer_until, high = p->farther_from;
    double at_low = relative_at(q->relative, low).trend;
    double at_high = relative_at(q->relative, high).trend;
    double guess = 0.5 * (low + high);
    for (int32_t i = 0; i < 40 && high - low > 0.1 * END_ZONE * (p->to - p->from); i++) {
        double share = at_low / (at_low - at_high);
        guess = low + (high - low) * (share < 0.01 ? 0.01 : share > 0.99 ? 0.99 : share);
        double trend = relative_at(q->relative, guess).trend;
        if (trend < 0.0) {
            low = guess;
            at_low = trend;
            at_high *= 0.5;
        } else {
            high = guess;
            at_high = trend;
            at_low *= 0.5;
        }
    }
    return guess;
}

// Where to cut a panel: at a closest approach inside it, else in the middle if it is in
// uncertainty, else (at its start) not.
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
    return p->uncertainty > bearable ? 0.5 * (p->from + p->to) : p->from;
}

#define DEPTH_AT_MOST 48

// Refines one panel until nothing in it is in uncertainty. The stack holds right parts still to do.
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
    return fl__vec3_is_zero(r->position) && fl__vec3_is_zero(r->velocity) &&
           fl__vec3_is_zero(r->acceleration) && fl__vec3_is_zero(r->jerk) && r->turn_a == 0.0 &&
           r->turn_b == 0.0;
}

// Uncertainty of one panel, of the whole; the values are far better than that.
#define TOLERANCE 2e-8
// About a third of a turn is a shape that 15 points follow to rounding.
#define RADIANS_PER_PANEL 2.0
#define PANELS_AT_MOST 16384 // turns beyond 32768 rad in one interval are estimated, not followed
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

// Too many turns to follow. Of each of 1024 parts of the interval one whole turn is measured, every
// time at another place of it (by the golden ratio, so that places never fall in step with turns).
#define TURNS_MEASURED 1024
#define PANELS_PER_TURN 4

static double sampled_integral(Quadrature *q, double seconds)
{
    const Relative *r = q->relative;
    double fastest = fl__max(fabs(r->turn_common), fl__max(fabs(r->turn_a), fabs(r->turn_b)));
    double turn = 2.0 * FL_PI / fastest;
    double part = seconds / TURNS_MEASURED; // more than a turn: see PANELS_AT_MOST
    double step = turn / PANELS_PER_TURN;
    double sum = 0.0;
    for (int32_t i = 0; i < TURNS_MEASURED; i++) {
        double golden = i * 0.6180339887498949;
        double start = i * part + (part - turn) * (golden - floor(golden));
        for (int32_t k = 0; k < PANELS_PER_TURN; k++) {
            sum += panel_measure(q, start + k * step, start + (k + 1) * step).value;
        }
    }
    return sum * (part / turn);
}

double fl__curved_integral(const FlStretch *a, const FlStretch *b, double seconds)
{
    Relative relative = relative_of(a, b);
    if (is_nothing(&relative)) {
        return 0.0;
    }
    double turn = fabs(relative.turn_common) + fabs(relative.turn_a) + fabs(relative.turn_b);
    double wanted = ceil(turn * seconds / RADIANS_PER_PANEL);
    Quadrature q = {
        .relative = &relative,
        .noise_per_s = ROUNDING * magnitude(&relative, seconds),
    };
    if (!(wanted < PANELS_AT_MOST)) {
        return sampled_integral(&q, seconds);
    }
    int32_t panels = wanted < 1.0 ? 1 : (int32_t)wanted;
    q.panels_left = panels * (2 + REFINED_PER_PANEL);
    double step = seconds / panels;
    Panel first = panel_measure(&q, 0.0, step);
    double rough = first.value;
    for (int32_t i = 1; i < panels; i++) {
        rough += panel_measure(&q, i * step, (i + 1) * step).value;
    }
    q.allowed = TOLERANCE * rough;
    double sum = panel_refine(&q, first);
    for (int32_t i = 1; i < panels; i++) {
        sum += panel_refine(&q, panel_measure(&q, i * step, (i + 1) * step));
    }
    return sum;
}
