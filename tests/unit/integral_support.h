// The distance integral's reference, and pairs of motions to try it on.
//
// The reference evaluates both motions from their definition in long double at every point, cuts
// the interval where a formula changes and at every closest approach (found by looking densely,
// then by golden section: where paths touch the distance has a corner, which a rule can miss), and
// halves panels of Gauss and Legendre's rule until each agrees with its two halves. It re-bases
// nothing and knows nothing of the library's quadrature. Straight pairs have a test of their own
// (test_motion_integral_straight.c).
#ifndef FAIRLEAD_TESTS_INTEGRAL_SUPPORT_H
#define FAIRLEAD_TESTS_INTEGRAL_SUPPORT_H

#include "support.h"

#include "motion/motion.h"
#include "motion/private.h"

// ---------------------------------------------------------------- the reference

typedef struct Place {
    long double x, y, z;
} Place;

static inline Place place_of(FlVec3 p, FlVec3 v, long double along, long double across)
{
    long double vx = (long double)v.x, vy = (long double)v.y;
    Place place = {(long double)p.x + vx * along - vy * across,
                   (long double)p.y + vy * along + vx * across,
                   (long double)p.z + (long double)v.z * along};
    return place;
}

static inline Place add_power(Place p, FlVec3 v, long double factor)
{
    Place sum = {p.x + (long double)v.x * factor, p.y + (long double)v.y * factor,
                 p.z + (long double)v.z * factor};
    return sum;
}

static inline Place arc_place(const FlMotion *m, long double t)
{
    long double w = (long double)m->turn_rate, phi = w * t;
    if (fabsl(phi) < 1e-3L) {
        long double q = phi * phi;
        long double along = t * (1.0L - q / 6.0L * (1.0L - q / 20.0L * (1.0L - q / 42.0L)));
        long double across =
            t * phi / 2.0L * (1.0L - q / 12.0L * (1.0L - q / 30.0L * (1.0L - q / 56.0L)));
        Place place = place_of(m->position, m->velocity, along, across);
        place.z = (long double)m->position.z + (long double)m->velocity.z * t;
        return place;
    }
    Place place = place_of(m->position, m->velocity, sinl(phi) / w, (1.0L - cosl(phi)) / w);
    place.z = (long double)m->position.z + (long double)m->velocity.z * t;
    return place;
}

static inline Place cubic_place(const FlMotion *m, long double t)
{
    long double end = (long double)m->curve_ns / 1e9L;
    long double s = t < 0.0L ? 0.0L : t > end ? end : t;
    Place place = place_of(m->position, m->velocity, s, 0.0L);
    place = add_power(place, m->acceleration, s * s / 2.0L);
    place = add_power(place, m->jerk, s * s * s / 6.0L);
    long double rest = t - s;
    place = add_power(place, m->velocity, rest);
    place = add_power(place, m->acceleration, rest * s);
    return add_power(place, m->jerk, rest * s * s / 2.0L);
}

// Where the motion is `s` seconds after `from`.
static inline Place place_at(const FlMotion *m, FlTime from, long double s)
{
    long double t = ((long double)from - (long double)m->time) / 1e9L + s;
    if (m->horizon_ns != FL_FOREVER) {
        t = fminl(t, (long double)m->horizon_ns / 1e9L);
    }
    switch (m->model) {
    case FL_MODEL_LINEAR:
        return place_of(m->position, m->velocity, t, 0.0L);
    case FL_MODEL_QUADRATIC:
        return add_power(place_of(m->position, m->velocity, t, 0.0L), m->acceleration,
                         t * t / 2.0L);
    case FL_MODEL_CIRCULAR:
        return arc_place(m, t);
    case FL_MODEL_CUBIC:
        return cubic_place(m, t);
    default:
        return place_of(m->position, m->velocity, 0.0L, 0.0L);
    }
}

typedef struct Pair {
    const FlMotion *a, *b;
    FlTime from;        // of the stretch
    long double enough; // an error that does not count
} Pair;

static inline long double pair_distance(const Pair *p, long double s)
{
    Place a = place_at(p->a, p->from, s), b = place_at(p->b, p->from, s);
    long double x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
    return sqrtl(x * x + y * y + z * z);
}

#define NODES 10
static long double gauss_node[NODES], gauss_weight[NODES];

static inline int make_rules(void **state)
{
    (void)state;
    for (int32_t i = 0; i < NODES; i++) {
        long double x = cosl(3.14159265358979323846L * (i + 0.75L) / (NODES + 0.5L)), slope = 0.0L;
        for (int32_t round = 0; round < 20; round++) {
            long double p = 1.0L, before = 0.0L;
            for (int32_t n = 1; n <= NODES; n++) {
                long double next = ((2 * n - 1) * x * p - (n - 1) * before) / n;
                before = p;
                p = next;
            }
            slope = NODES * (x * p - before) / (x * x - 1.0L);
            x -= p / slope;
        }
        gauss_node[i] = x;
        gauss_weight[i] = 2.0L / ((1.0L - x * x) * slope * slope);
    }
    return 0;
}

static inline long double gauss(const Pair *p, long double from, long double to)
{
    long double middle = 0.5L * (from + to), half = 0.5L * (to - from), sum = 0.0L;
    for (int32_t i = 0; i < NODES; i++) {
        sum += gauss_weight[i] * pair_distance(p, middle + half * gauss_node[i]);
    }
    return half * sum;
}

static inline long double halve(const Pair *p, long double from, long double to, long double whole,
                                int32_t depth)
{
    // Not in the middle: a corner there would be hidden from both halves.
    long double cut = from + 0.4871L * (to - from);
    long double left = gauss(p, from, cut), right = gauss(p, cut, to);
    if (depth == 0 || fabsl(left + right - whole) <= p->enough) {
        return left + right;
    }
    return halve(p, from, cut, left, depth - 1) + halve(p, cut, to, right, depth - 1);
}

static inline int compare_times(const void *a, const void *b)
{
    FlTime x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y ? 1 : 0;
}

// The times at which a formula changes, from `from` to `to`, in order.
static inline int32_t find_cuts(const FlMotion *a, const FlMotion *b, FlTime from, FlTime to,
                                FlTime *cuts)
{
    FlTime found[8] = {from, to};
    int32_t count = 2;
    for (int32_t i = 0; i < 2; i++) {
        const FlMotion *m = i == 0 ? a : b;
        FlTime ends[3] = {fl_time_add(m->time, m->horizon_ns), m->time,
                          fl_time_add(m->time, m->curve_ns)};
        for (int32_t k = 0; k < 3; k++) {
            if (ends[k] > from && ends[k] < to) {
                found[count++] = ends[k];
            }
        }
    }
    qsort(found, (size_t)count, sizeof found[0], compare_times);
    memcpy(cuts, found, (size_t)count * sizeof found[0]);
    return count;
}

// The closest approach between `from` and `to`, by golden section.
static inline long double closest(const Pair *p, long double from, long double to)
{
    const long double golden = 0.61803398874989484820L;
    long double left = to - golden * (to - from), right = from + golden * (to - from);
    long double at_left = pair_distance(p, left), at_right = pair_distance(p, right);
    for (int32_t round = 0; round < 90; round++) {
        if (at_left < at_right) {
            to = right;
            right = left;
            at_right = at_left;
            left = to - golden * (to - from);
            at_left = pair_distance(p, left);
        } else {
            from = left;
            left = right;
            at_left = at_right;
            right = from + golden * (to - from);
            at_right = pair_distance(p, right);
        }
    }
    return 0.5L * (from + to);
}

static inline long double summed(const Pair *p, long double from, long double to)
{
    return from < to ? halve(p, from, to, gauss(p, from, to), 30) : 0.0L;
}

// A stretch without breaks, panel by panel, each cut at its closest approaches.
static inline long double stretch_reference(Pair *p, long double seconds, int32_t panels,
                                            double size)
{
    const int32_t looks = 8 * panels; // at least this often
    long double step = seconds / looks, rough = 0.0L, sum = 0.0L, done = 0.0L;
    for (int32_t i = 0; i < looks; i++) {
        rough += pair_distance(p, (i + 0.5L) * step) * step;
    }
    p->enough = fmaxl(rough * 1e-11L / panels, 1e-18L * (long double)size * seconds);
    long double before = pair_distance(p, 0.0L), here = pair_distance(p, step);
    for (int32_t i = 1; i <= looks; i++) {
        long double after = i < looks ? pair_distance(p, (i + 1) * step) : (long double)INFINITY;
        long double cut = i % 8 == 0 ? i * step : done;
        if ((here <= before || i == 1) && here <= after) {
            cut = closest(p, (i - 1) * step, i < looks ? (i + 1) * step : seconds);
            cut = fmaxl(cut, done);
        }
        sum += summed(p, done, cut);
        done = fmaxl(done, cut);
        before = here;
        here = after;
    }
    return sum + summed(p, done, seconds);
}

// `size`: of the coordinates, as what rounding is measured by.
static inline long double reference(const FlMotion *a, const FlMotion *b, FlTime from, FlTime to,
                                    double size)
{
    FlTime cuts[8];
    int32_t count = find_cuts(a, b, from, to, cuts);
    long double sum = 0.0L;
    for (int32_t i = 0; i + 1 < count; i++) {
        Pair p = {a, b, cuts[i], 0.0L};
        long double seconds = (long double)(cuts[i + 1] - cuts[i]) / 1e9L;
        double turn = (fabs(a->turn_rate) + fabs(b->turn_rate)) * (double)seconds;
        sum += stretch_reference(&p, seconds, turn < 4.0 ? 4 : (int32_t)turn, size);
    }
    return sum;
}

// ---------------------------------------------------------------- cases

#define MODELS 5
static const FlModel all_models[MODELS] = {FL_MODEL_STILL, FL_MODEL_LINEAR, FL_MODEL_QUADRATIC,
                                           FL_MODEL_CIRCULAR, FL_MODEL_CUBIC};

static inline FlMotion random_motion(FlRandom *r, FlModel model)
{
    FlState from = random_state(r, 100.0, 20.0);
    from.time = random_time(r, 0, FL_SEC(3));
    if (model != FL_MODEL_CUBIC) {
        return fl_motion_make(model, &from);
    }
    FlState to = random_state(r, 100.0, 20.0);
    to.time = from.time + random_time(r, FL_MS(50), FL_SEC(5));
    return fl__motion_cubic(&from, &to);
}

static inline FlModel random_model(FlRandom *r)
{
    return all_models[fl_random_below(r, MODELS)];
}

typedef struct Case {
    FlMotion a, b;
    FlTime from, to;
} Case;

static inline Case random_pair(FlRandom *r)
{
    Case c;
    c.a = random_motion(r, random_model(r));
    c.b = random_motion(r, random_model(r));
    c.from = random_time(r, -FL_SEC(1), FL_SEC(4));
    c.to = c.from + random_span(r, 5.0, 10.0);
    return c;
}

// Moves b so that the two are at one place at `when`.
static inline void make_meet(Case *c, FlTime when)
{
    FlVec3 apart = fl_vec3_sub(fl_motion_position(&c->a, when), fl_motion_position(&c->b, when));
    c->b.position = fl_vec3_add(c->b.position, apart);
}

static inline Case strangers(FlRandom *r)
{
    return random_pair(r);
}

static inline Case meeting(FlRandom *r)
{
    Case c = random_pair(r);
    make_meet(&c, random_time(r, c.from, c.to));
    return c;
}

static inline Case meeting_at_an_end(FlRandom *r)
{
    Case c = random_pair(r);
    make_meet(&c, random_chance(r, 2) ? c.from : c.to);
    return c;
}

static inline Case standing_still_halfway(FlRandom *r)
{
    Case c = random_chance(r, 2) ? random_pair(r) : meeting(r);
    c.a.horizon_ns = random_time(r, 0, FL_SEC(6));
    c.b.horizon_ns = random_chance(r, 2) ? FL_FOREVER : random_time(r, 0, FL_SEC(6));
    return c;
}

static inline Case turning_alike(FlRandom *r)
{
    Case c = random_pair(r);
    c.a = random_motion(r, FL_MODEL_CIRCULAR);
    c.b = random_motion(r, FL_MODEL_CIRCULAR);
    c.b.turn_rate = random_chance(r, 2) ? c.a.turn_rate : -c.a.turn_rate;
    if (random_chance(r, 2)) {
        make_meet(&c, random_time(r, c.from, c.to));
    }
    return c;
}

// What leads off a straight line only a little. (Not less: see the tests of the floor below.)
static inline Case nearly_straight(FlRandom *r)
{
    Case c = random_pair(r);
    double little = fabs(random_scale(r, -6.0, -2.0));
    c.a = random_motion(r, random_chance(r, 2) ? FL_MODEL_CIRCULAR : FL_MODEL_QUADRATIC);
    c.b = random_motion(r, random_chance(r, 2) ? FL_MODEL_LINEAR : c.a.model);
    c.a.turn_rate *= little;
    c.b.turn_rate *= little;
    c.a.acceleration = fl_vec3_scale(c.a.acceleration, little);
    c.b.acceleration = fl_vec3_scale(c.b.acceleration, little);
    if (random_chance(r, 2)) {
        make_meet(&c, random_time(r, c.from, c.to));
    }
    return c;
}

static inline Case short_or_long(FlRandom *r)
{
    Case c = random_pair(r);
    c.to = c.from + random_span(r, 0.0, random_chance(r, 20) ? 11.5 : 7.0);
    return c;
}

static inline void scale_motion(FlMotion *m, double scale)
{
    m->position = fl_vec3_scale(m->position, scale);
    m->velocity = fl_vec3_scale(m->velocity, scale);
    m->acceleration = fl_vec3_scale(m->acceleration, scale);
    m->jerk = fl_vec3_scale(m->jerk, scale);
}

static inline Case tiny_or_huge(FlRandom *r)
{
    Case c = random_chance(r, 2) ? random_pair(r) : meeting(r);
    double scale = fabs(random_scale(r, -140.0, 140.0));
    scale_motion(&c.a, scale);
    scale_motion(&c.b, scale);
    return c;
}

typedef Case (*Maker)(FlRandom *r);
static const Maker makers[] = {
    strangers,     meeting,         meeting_at_an_end, standing_still_halfway,
    turning_alike, nearly_straight, short_or_long,     tiny_or_huge};
static const char *const maker_names[] = {
    "strangers",     "meeting",         "meeting at an end", "standing still halfway",
    "turning alike", "nearly straight", "short or long",     "tiny or huge"};
#define MAKERS ((int32_t)(sizeof makers / sizeof makers[0]))

// The largest number that a coordinate's computation meets: what its rounding is measured by.
static inline double motion_size(const FlMotion *m, FlTime from, FlTime to)
{
    double span = fmax(fabs((double)(from - m->time)), fabs((double)(to - m->time))) * 1e-9;
    return fl_vec3_length(m->position) +
           span * (fl_vec3_length(m->velocity) +
                   span * (fl_vec3_length(m->acceleration) + span * fl_vec3_length(m->jerk)));
}

static inline double case_size(const Case *c)
{
    return motion_size(&c->a, c->from, c->to) + motion_size(&c->b, c->from, c->to);
}

static inline void print_motion(const char *name, const FlMotion *m)
{
    print_error("%s: %s, time %lld, horizon %lld, curve %lld, turn %a\n  at (%a, %a, %a)\n"
                "  by (%a, %a, %a)\n  acc (%a, %a, %a)\n  jerk (%a, %a, %a)\n",
                name, fl__model_name(m->model), (long long)m->time, (long long)m->horizon_ns,
                (long long)m->curve_ns, m->turn_rate, m->position.x, m->position.y, m->position.z,
                m->velocity.x, m->velocity.y, m->velocity.z, m->acceleration.x, m->acceleration.y,
                m->acceleration.z, m->jerk.x, m->jerk.y, m->jerk.z);
}

static inline void print_case(const Case *c)
{
    print_motion("a", &c->a);
    print_motion("b", &c->b);
    print_error("from %lld to %lld\n", (long long)c->from, (long long)c->to);
}

// The relative error, less what the coordinates' rounding excuses (1e-15 of them, as documented).
static inline double excused_error(double got, long double want, double size, double seconds)
{
    double error = (double)fabsl((long double)got - want) - 2e-15 * size * seconds;
    if (!(error > 0.0)) {
        return isnan(got) ? (double)INFINITY : 0.0;
    }
    return error / (double)want;
}

// Seconds in which an arc of turn rate 1 goes round `turns` times, to the nanosecond.
static inline FlTime turns_long(double turns)
{
    return (FlTime)llround(turns * 2.0 * FL_PI * 1e9);
}

#endif
