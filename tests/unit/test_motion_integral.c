// The distance integral of all pairs of models, its inverse, its algebra, and the chord version.
//
// The reference evaluates both motions from their definition in long double at every point, cuts
// the interval where a formula changes and at every closest approach (found by looking densely,
// then by golden section: where paths touch the distance has a corner, which a rule can miss), and
// halves panels of Gauss and Legendre's rule until each agrees with its two halves. It re-bases
// nothing and knows nothing of the library's quadrature. Straight pairs have a test of their own
// (test_motion_integral_straight.c).
#include "support.h"

#include "motion/private.h"

// ---------------------------------------------------------------- the reference

typedef struct Place {
    long double x, y, z;
} Place;

static Place place_of(FlVec3 p, FlVec3 v, long double along, long double across)
{
    long double vx = (long double)v.x, vy = (long double)v.y;
    Place place = {(long double)p.x + vx * along - vy * across,
                   (long double)p.y + vy * along + vx * across,
                   (long double)p.z + (long double)v.z * along};
    return place;
}

static Place add_power(Place p, FlVec3 v, long double factor)
{
    Place sum = {p.x + (long double)v.x * factor, p.y + (long double)v.y * factor,
                 p.z + (long double)v.z * factor};
    return sum;
}

static Place arc_place(const FlMotion *m, long double t)
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

static Place cubic_place(const FlMotion *m, long double t)
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
static Place place_at(const FlMotion *m, FlTime from, long double s)
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

static long double pair_distance(const Pair *p, long double s)
{
    Place a = place_at(p->a, p->from, s), b = place_at(p->b, p->from, s);
    long double x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
    return sqrtl(x * x + y * y + z * z);
}

#define NODES 10
static long double gauss_node[NODES], gauss_weight[NODES];

static int make_rules(void **state)
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

static long double gauss(const Pair *p, long double from, long double to)
{
    long double middle = 0.5L * (from + to), half = 0.5L * (to - from), sum = 0.0L;
    for (int32_t i = 0; i < NODES; i++) {
        sum += gauss_weight[i] * pair_distance(p, middle + half * gauss_node[i]);
    }
    return half * sum;
}

static long double halve(const Pair *p, long double from, long double to, long double whole,
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

static int compare_times(const void *a, const void *b)
{
    FlTime x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y ? 1 : 0;
}

// The times at which a formula changes, from `from` to `to`, in order.
static int32_t find_cuts(const FlMotion *a, const FlMotion *b, FlTime from, FlTime to, FlTime *cuts)
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
static long double closest(const Pair *p, long double from, long double to)
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

static long double summed(const Pair *p, long double from, long double to)
{
    return from < to ? halve(p, from, to, gauss(p, from, to), 30) : 0.0L;
}

// A stretch without breaks, panel by panel, each cut at its closest approaches.
static long double stretch_reference(Pair *p, long double seconds, int32_t panels, double size)
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
static long double reference(const FlMotion *a, const FlMotion *b, FlTime from, FlTime to,
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

static FlMotion random_motion(FlRandom *r, FlModel model)
{
    FlState from = random_state(r, 100.0, 20.0);
    from.time = random_time(r, 0, FL_SEC(3));
    if (model != FL_MODEL_CUBIC) {
        return fl_motion_make(model, &from);
    }
    FlState to = random_state(r, 100.0, 20.0);
    to.time = from.time + random_time(r, FL_MS(50), FL_SEC(5));
    return fl_motion_cubic(&from, &to);
}

static FlModel random_model(FlRandom *r)
{
    return all_models[fl_random_below(r, MODELS)];
}

typedef struct Case {
    FlMotion a, b;
    FlTime from, to;
} Case;

static Case random_pair(FlRandom *r)
{
    Case c;
    c.a = random_motion(r, random_model(r));
    c.b = random_motion(r, random_model(r));
    c.from = random_time(r, -FL_SEC(1), FL_SEC(4));
    c.to = c.from + random_span(r, 5.0, 10.0);
    return c;
}

// Moves b so that the two are at one place at `when`.
static void make_meet(Case *c, FlTime when)
{
    FlVec3 apart = fl_vec3_sub(fl_motion_position(&c->a, when), fl_motion_position(&c->b, when));
    c->b.position = fl_vec3_add(c->b.position, apart);
}

static Case strangers(FlRandom *r)
{
    return random_pair(r);
}

static Case meeting(FlRandom *r)
{
    Case c = random_pair(r);
    make_meet(&c, random_time(r, c.from, c.to));
    return c;
}

static Case meeting_at_an_end(FlRandom *r)
{
    Case c = random_pair(r);
    make_meet(&c, random_chance(r, 2) ? c.from : c.to);
    return c;
}

static Case standing_still_halfway(FlRandom *r)
{
    Case c = random_chance(r, 2) ? random_pair(r) : meeting(r);
    c.a.horizon_ns = random_time(r, 0, FL_SEC(6));
    c.b.horizon_ns = random_chance(r, 2) ? FL_FOREVER : random_time(r, 0, FL_SEC(6));
    return c;
}

static Case turning_alike(FlRandom *r)
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
static Case nearly_straight(FlRandom *r)
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

static Case short_or_long(FlRandom *r)
{
    Case c = random_pair(r);
    c.to = c.from + random_span(r, 0.0, random_chance(r, 20) ? 11.5 : 7.0);
    return c;
}

static void scale_motion(FlMotion *m, double scale)
{
    m->position = fl_vec3_scale(m->position, scale);
    m->velocity = fl_vec3_scale(m->velocity, scale);
    m->acceleration = fl_vec3_scale(m->acceleration, scale);
    m->jerk = fl_vec3_scale(m->jerk, scale);
}

static Case tiny_or_huge(FlRandom *r)
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
static double motion_size(const FlMotion *m, FlTime from, FlTime to)
{
    double span = fmax(fabs((double)(from - m->time)), fabs((double)(to - m->time))) * 1e-9;
    return fl_vec3_length(m->position) +
           span * (fl_vec3_length(m->velocity) +
                   span * (fl_vec3_length(m->acceleration) + span * fl_vec3_length(m->jerk)));
}

static double case_size(const Case *c)
{
    return motion_size(&c->a, c->from, c->to) + motion_size(&c->b, c->from, c->to);
}

static void print_motion(const char *name, const FlMotion *m)
{
    print_error("%s: %s, time %lld, horizon %lld, curve %lld, turn %a\n  at (%a, %a, %a)\n"
                "  by (%a, %a, %a)\n  acc (%a, %a, %a)\n  jerk (%a, %a, %a)\n",
                name, fl_model_name(m->model), (long long)m->time, (long long)m->horizon_ns,
                (long long)m->curve_ns, m->turn_rate, m->position.x, m->position.y, m->position.z,
                m->velocity.x, m->velocity.y, m->velocity.z, m->acceleration.x, m->acceleration.y,
                m->acceleration.z, m->jerk.x, m->jerk.y, m->jerk.z);
}

static void print_case(const Case *c)
{
    print_motion("a", &c->a);
    print_motion("b", &c->b);
    print_error("from %lld to %lld\n", (long long)c->from, (long long)c->to);
}

// The relative error, less what the coordinates' rounding excuses (1e-15 of them, as documented).
static double excused_error(double got, long double want, double size, double seconds)
{
    double error = (double)fabsl((long double)got - want) - 2e-15 * size * seconds;
    if (!(error > 0.0)) {
        return isnan(got) ? (double)INFINITY : 0.0;
    }
    return error / (double)want;
}

// ---------------------------------------------------------------- all pairs

static void every_pair_of_models_is_right_to_six_digits(void **state)
{
    (void)state;
    FlRandom r = random_stream(80);
    Worst worst[sizeof makers / sizeof makers[0]] = {{0}};
    int32_t wrong = 0;
    for (int32_t i = 0; i < CASES(16000); i++) {
        Case c = makers[i % MAKERS](&r);
        double size = case_size(&c);
        double got = fl_distance_integral(&c.a, &c.b, c.from, c.to);
        long double want = reference(&c.a, &c.b, c.from, c.to, size);
        double error = excused_error(got, want, size, (double)(c.to - c.from) / 1e9);
        worst_note(&worst[i % MAKERS], error, i);
        if (!(error <= 1e-6) && wrong++ == 0) {
            print_error("case %d (%s): got %.17g, wanted %.17Lg, relative error %.3g\n", i,
                        maker_names[i % MAKERS], got, want, error);
            print_case(&c);
        }
    }
    for (int32_t i = 0; i < MAKERS; i++) {
        print_message("             %s: worst %.3g\n", maker_names[i], worst[i].error);
    }
    assert_int_equal(wrong, 0);
}

// Two points in relative motion along one line meet at `c`: a corner whose place is known, and an
// integral too. Wherever the corner lies between the points that a rule looks at, it must be seen.
static void a_corner_is_seen_wherever_it_lies(void **state)
{
    (void)state;
    FlState from = {.velocity = {1.0, 0.0, 0.0}, .acceleration = {1e-30, 0.0, 0.0}}; // not straight
    FlMotion a = fl_motion_make(FL_MODEL_QUADRATIC, &from);
    Worst worst = {0};
    int32_t count = CASES(20000);
    for (int32_t i = 0; i < count; i++) {
        double c = (i + 0.5) / count;
        FlState at = {.position = {c, 0.0, 0.0}};
        FlMotion b = fl_motion_make(FL_MODEL_STILL, &at);
        double got = fl_distance_integral(&a, &b, 0, FL_SEC(1));
        double want = 0.5 * (c * c + (1.0 - c) * (1.0 - c));
        worst_note(&worst, fabs(got - want) / want, i);
    }
    check_worst(&worst, 1e-6, "a corner anywhere");
}

// ---------------------------------------------------------------- many turns

// Seconds in which an arc of turn rate 1 goes round `turns` times, to the nanosecond.
static FlTime turns_long(double turns)
{
    return (FlTime)llround(turns * 2.0 * FL_PI * 1e9);
}

static void from_the_centre_of_a_circle_everything_is_its_radius_away(void **state)
{
    (void)state;
    FlState on = {.velocity = {7.0, 0.0, 0.0}, .turn_rate = 1.0};
    FlState in = {.position = {0.0, 7.0, 0.0}};
    FlMotion a = fl_motion_make(FL_MODEL_CIRCULAR, &on);
    FlMotion b = fl_motion_make(FL_MODEL_STILL, &in);
    for (double turns = 0.01; turns < 2000.0; turns *= 1.7) {
        FlTime to = turns_long(turns);
        check_near(fl_distance_integral(&a, &b, 0, to), 7.0 * ((double)to / 1e9),
                   7e-9 * ((double)to / 1e9));
    }
}

// From a point on the circle the mean chord is 4 R / pi, and the two touch once in every turn.
static double error_over_turns(double turns)
{
    FlState on = {.velocity = {7.0, 0.0, 0.0}, .turn_rate = 1.0};
    FlState in = {.position = {0.0, 0.0, 0.0}};
    FlMotion a = fl_motion_make(FL_MODEL_CIRCULAR, &on);
    FlMotion b = fl_motion_make(FL_MODEL_STILL, &in);
    // Half a radian off, so that the corners meet the panels everywhere.
    double got = fl_distance_integral(&a, &b, FL_MS(500), FL_MS(500) + turns_long(turns));
    double want = 4.0 * 7.0 / FL_PI * (2.0 * FL_PI * turns);
    return fabs(got - want) / want;
}

static void thousands_of_radians_with_a_corner_in_every_turn_are_right(void **state)
{
    (void)state;
    Worst worst = {0};
    for (int32_t turns = 1; turns <= 1500; turns += 1 + turns / 8) {
        worst_note(&worst, error_over_turns(turns), turns);
    }
    check_worst(&worst, 1e-6, "up to 9400 rad");
}

// Nobody follows a day of circling turn by turn: then three digits are enough, but soon.
static void millions_of_radians_are_estimated_in_bounded_time(void **state)
{
    (void)state;
    Worst worst = {0}, slowest = {0};
    // Multiples of powers of two, too: equal steps must not fall in step with the turns.
    const int32_t turns[] = {5000, 8192, 16384, 20000, 8192 * 11, 8192 * 40, 200000, 2000000};
    for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
        double before = processor_seconds();
        worst_note(&worst, error_over_turns(turns[i]), turns[i]);
        worst_note(&slowest, processor_seconds() - before, turns[i]);
    }
    check_worst(&worst, 1e-3, "up to 1e7 rad");
    check_worst(&slowest, SLOW(0.5), "seconds for up to 1e7 rad");
}

static void long_turns_of_all_pairs_are_right(void **state)
{
    (void)state;
    FlRandom r = random_stream(81);
    Worst worst = {0};
    for (int32_t i = 0; i < CASES(60); i++) {
        Case c = random_pair(&r);
        c.a = random_motion(&r, FL_MODEL_CIRCULAR);
        c.a.turn_rate = random_scale(&r, 0.0, 2.0);
        c.b.turn_rate *= fabs(random_scale(&r, -1.0, 1.0));
        c.to = c.from + random_time(&r, FL_SEC(5), FL_SEC(20));
        double size = case_size(&c);
        double got = fl_distance_integral(&c.a, &c.b, c.from, c.to);
        long double want = reference(&c.a, &c.b, c.from, c.to, size);
        worst_note(&worst, excused_error(got, want, size, (double)(c.to - c.from) / 1e9), i);
    }
    check_worst(&worst, 1e-6, "up to 4000 rad, all pairs");
}

// ---------------------------------------------------------------- where the distance is rounding

// The same curve told again from another of its points. Nothing is left but rounding: the answer
// must be as small as that, and must not be searched for in it.
static void a_curve_told_again_is_no_distance_but_rounding(void **state)
{
    (void)state;
    FlRandom r = random_stream(82);
    for (int32_t i = 0; i < CASES(20000); i++) {
        FlMotion a = random_motion(&r, i % 2 == 0 ? FL_MODEL_CIRCULAR : FL_MODEL_QUADRATIC);
        FlTime again = a.time + random_time(&r, 0, FL_SEC(5));
        FlState state_again = {.time = again,
                               .position = fl_motion_position(&a, again),
                               .velocity = fl_motion_velocity(&a, again),
                               .acceleration = a.acceleration,
                               .turn_rate = a.turn_rate};
        Case c = {.a = a, .b = fl_motion_make(a.model, &state_again), .from = again};
        c.to = again + random_time(&r, 0, FL_SEC(5));
        double seconds = (double)(c.to - c.from) / 1e9;
        double got = fl_distance_integral(&c.a, &c.b, c.from, c.to);
        assert_true(got >= 0.0 && got <= 4e-15 * case_size(&c) * seconds + 1e-300);
        check_same(fl_distance_integral(&a, &a, c.from, c.to), 0.0);
    }
}

// An owner that estimates its turn rate tells arcs whose rates differ in the last digits. That must
// cost no more than any other pair: ten thousand evaluations, not a hundred million.
static void nearly_equal_arcs_cost_no_more_than_others(void **state)
{
    (void)state;
    FlRandom r = random_stream(83);
    Worst slowest = {0};
    for (int32_t i = 0; i < 6; i++) {
        FlMotion a = random_motion(&r, FL_MODEL_CIRCULAR);
        FlTime again = a.time + FL_MS(700);
        FlState state_again = {.time = again,
                               .position = fl_motion_position(&a, again),
                               .velocity = fl_motion_velocity(&a, again),
                               .turn_rate = a.turn_rate * (1.0 + (i + 1) * 3e-13)};
        FlMotion b = fl_motion_make(FL_MODEL_CIRCULAR, &state_again);
        double before = processor_seconds();
        double got = fl_distance_integral(&a, &b, again, again + FL_SEC(1));
        worst_note(&slowest, processor_seconds() - before, i);
        assert_true(got >= 0.0 && got < 1e-10);
    }
    check_worst(&slowest, SLOW(0.02), "seconds for one integral of nearly equal arcs");
}

static void an_arc_that_hardly_turns_costs_no_more_than_others(void **state)
{
    (void)state;
    Worst slowest = {0}, error = {0};
    for (int32_t power = -300; power <= -4; power += power < -20 ? 20 : 1) {
        FlState s = {.position = {100.0, 50.0, 3.0}, .velocity = {10.0, 3.0, 0.0}};
        s.turn_rate = pow(10.0, power);
        FlMotion a = fl_motion_make(FL_MODEL_CIRCULAR, &s);
        FlMotion b = fl_motion_make(FL_MODEL_LINEAR, &s);
        double before = processor_seconds();
        double got = fl_distance_integral(&a, &b, 0, FL_SEC(1));
        worst_note(&slowest, processor_seconds() - before, power);
        double want = sqrt(109.0) * s.turn_rate / 6.0; // to first order
        worst_note(&error, (fabs(got - want) - 5e-15 * 120.0) / want, power);
    }
    check_worst(&slowest, SLOW(0.004), "seconds for one integral of an arc that hardly turns");
    check_worst(&error, 1e-6, "an arc that hardly turns");
}

// ---------------------------------------------------------------- algebra

static void order_of_the_two_motions_hardly_matters(void **state)
{
    (void)state;
    FlRandom r = random_stream(84);
    for (int32_t i = 0; i < CASES(10000); i++) {
        Case c = makers[i % MAKERS](&r);
        double ab = fl_distance_integral(&c.a, &c.b, c.from, c.to);
        double ba = fl_distance_integral(&c.b, &c.a, c.from, c.to);
        double floor = 1e-15 * case_size(&c) * ((double)(c.to - c.from) / 1e9);
        check_near(ab, ba, 1e-9 * ab + floor);
    }
}

static void parts_of_an_interval_add_up(void **state)
{
    (void)state;
    FlRandom r = random_stream(85);
    for (int32_t i = 0; i < CASES(10000); i++) {
        Case c = makers[i % MAKERS](&r);
        FlTime cut = random_time(&r, c.from, c.to);
        double whole = fl_distance_integral(&c.a, &c.b, c.from, c.to);
        double parts = fl_distance_integral(&c.a, &c.b, c.from, cut) +
                       fl_distance_integral(&c.a, &c.b, cut, c.to);
        double floor = 4e-15 * case_size(&c) * ((double)(c.to - c.from) / 1e9);
        check_near(parts, whole, 2e-6 * whole + floor);
    }
}

static void a_detour_is_never_shorter(void **state)
{
    (void)state;
    FlRandom r = random_stream(86);
    for (int32_t i = 0; i < CASES(10000); i++) {
        Case c = random_pair(&r);
        FlMotion m = random_motion(&r, random_model(&r));
        double direct = fl_distance_integral(&c.a, &c.b, c.from, c.to);
        double detour = fl_distance_integral(&c.a, &m, c.from, c.to) +
                        fl_distance_integral(&m, &c.b, c.from, c.to);
        assert_true(direct <= detour * (1.0 + 1e-6));
    }
}

static void an_unused_turn_or_bend_changes_nothing(void **state)
{
    (void)state;
    FlRandom r = random_stream(87);
    for (int32_t i = 0; i < CASES(10000); i++) {
        Case c = random_pair(&r);
        c.a = random_motion(&r, FL_MODEL_LINEAR);
        c.b = random_motion(&r, FL_MODEL_LINEAR);
        double straight = fl_distance_integral(&c.a, &c.b, c.from, c.to);
        c.a.model = i % 2 == 0 ? FL_MODEL_CIRCULAR : FL_MODEL_QUADRATIC; // rates are zero
        double same = fl_distance_integral(&c.a, &c.b, c.from, c.to);
        check_near(same, straight, 1e-12 * straight + 1e-14);
        c.a.turn_rate = i % 2 == 0 ? 1e-200 : 0.0;
        c.a.acceleration.x = i % 2 == 0 ? 0.0 : 1e-200;
        same = fl_distance_integral(&c.a, &c.b, c.from, c.to);
        check_near(same, straight, 1e-6 * straight);
    }
}

static void what_is_not_finite_gives_nan_for_every_model(void **state)
{
    (void)state;
    FlRandom r = random_stream(88);
    for (int32_t i = 0; i < 500; i++) {
        Case c = random_pair(&r);
        c.b = random_motion(&r, all_models[i % MODELS]);
        // A field that the model uses: its own, or the position.
        double *field[MODELS] = {&c.b.position.x, &c.b.velocity.y, &c.b.acceleration.z,
                                 &c.b.turn_rate, &c.b.jerk.x};
        double *broken = random_chance(&r, 2) ? field[i % MODELS] : &c.b.position.z;
        *broken = random_chance(&r, 2) ? (double)NAN : (double)INFINITY;
        assert_true(isnan(fl_distance_integral(&c.a, &c.b, c.from, c.to)));
        assert_true(isnan(fl_distance_integral(&c.b, &c.a, c.from, c.to)));
        assert_true(isnan(fl_distance_integral_chord(&c.a, &c.b, c.from, c.to)));
        check_same(fl_distance_integral(&c.a, &c.b, c.to, c.from), 0.0);
        FlTime when = 77;
        assert_int_equal(fl_distance_integral_reaches(&c.a, &c.b, c.from, c.to, 1.0, &when),
                         FL_BAD_VALUE);
        assert_true(when == c.to);
    }
}

// ---------------------------------------------------------------- the inverse

// Asks when `goal` is reached and holds the answer against the integral itself.
static void check_reached(const Case *c, double goal, double tolerance)
{
    FlTime when = c->from - 1;
    double whole = fl_distance_integral(&c->a, &c->b, c->from, c->to);
    double slack = tolerance * whole;
    FlResult result = fl_distance_integral_reaches(&c->a, &c->b, c->from, c->to, goal, &when);
    if (goal > whole + slack) {
        assert_int_equal(result, FL_NOT_FOUND);
        assert_true(when == c->to);
        return;
    }
    if (goal < whole - slack) {
        assert_int_equal(result, FL_OK);
    }
    if (result != FL_OK) {
        return; // too close to tell
    }
    assert_true(when >= c->from && when <= c->to);
    // The nearest nanosecond: half of one to either side is not yet and no longer enough.
    double before = fl_distance_integral(&c->a, &c->b, c->from, when - 1);
    double at = fl_distance_integral(&c->a, &c->b, c->from, when);
    double after = fl_distance_integral(&c->a, &c->b, c->from, when + 1);
    if (!(goal >= 0.5 * (before + at) - slack && goal <= 0.5 * (at + after) + slack)) {
        print_error("goal %.17g: at %lld the integral is %.17g, before %.17g, after %.17g\n", goal,
                    (long long)when, at, before, after);
        print_case(c);
        fail();
    }
}

static FlMotion random_line(FlRandom *r)
{
    return random_motion(r, random_chance(r, 5) ? FL_MODEL_STILL : FL_MODEL_LINEAR);
}

static void inverse_of_straight_pairs_is_right_to_the_nanosecond(void **state)
{
    (void)state;
    FlRandom r = random_stream(90);
    for (int32_t i = 0; i < CASES(16000); i++) {
        Case c;
        c.a = random_line(&r);
        c.b = random_line(&r);
        c.from = random_time(&r, -FL_SEC(1), FL_SEC(4));
        c.to = c.from + random_span(&r, 0.0, i % 3 == 0 ? 15.0 : 11.0);
        if (random_chance(&r, 3)) {
            make_meet(&c, random_chance(&r, 2) ? c.from : random_time(&r, c.from, c.to));
        }
        double whole = fl_distance_integral(&c.a, &c.b, c.from, c.to);
        double share = random_chance(&r, 5) ? pow(10.0, fl_random_between(&r, -12.0, 0.0))
                                            : fl_random_between(&r, 0.0, 1.1);
        check_reached(&c, whole * share, 2e-14);
    }
}

static void inverse_of_all_pairs_agrees_with_the_integral(void **state)
{
    (void)state;
    FlRandom r = random_stream(91);
    for (int32_t i = 0; i < CASES(2000); i++) {
        Case c = makers[i % MAKERS](&r);
        double whole = fl_distance_integral(&c.a, &c.b, c.from, c.to);
        check_reached(&c, whole * fl_random_between(&r, 0.0, 1.1), 2e-6);
    }
}

static void a_goal_is_reached_exactly_at_the_latest_time(void **state)
{
    (void)state;
    FlState at = {.position = {3.0, 4.0, 0.0}}, origin = {0};
    FlMotion a = fl_motion_make(FL_MODEL_STILL, &at), b = fl_motion_make(FL_MODEL_STILL, &origin);
    FlTime when = 0;
    assert_int_equal(fl_distance_integral_reaches(&a, &b, 0, FL_SEC(2), 10.0, &when), FL_OK);
    assert_true(when == FL_SEC(2));
    assert_int_equal(fl_distance_integral_reaches(&a, &b, 0, FL_SEC(2), 10.1, &when), FL_NOT_FOUND);
    assert_true(when == FL_SEC(2));
    assert_int_equal(fl_distance_integral_reaches(&a, &b, 0, FL_FOREVER, 5e6, &when), FL_OK);
    assert_true(llabs(when - FL_SEC(1000000)) <= 1);
    assert_int_equal(fl_distance_integral_reaches(&a, &b, 0, FL_FOREVER, 1e-9, &when), FL_OK);
    assert_true(when == 0); // a fifth of a nanosecond
    assert_int_equal(fl_distance_integral_reaches(&a, &b, 0, FL_FOREVER, 4e-9, &when), FL_OK);
    assert_true(when == 1);
}

static void no_goal_is_reached_at_once_and_a_wrong_one_is_refused(void **state)
{
    (void)state;
    FlRandom r = random_stream(92);
    for (int32_t i = 0; i < 500; i++) {
        Case c = makers[i % MAKERS](&r);
        FlTime when = 77;
        const double none[] = {0.0, -0.0, -1.0, -DBL_MAX};
        assert_int_equal(fl_distance_integral_reaches(&c.a, &c.b, c.from, c.to, none[i % 4], &when),
                         FL_OK);
        assert_true(when == c.from);
        const double odd[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
        assert_int_equal(fl_distance_integral_reaches(&c.a, &c.b, c.from, c.to, odd[i % 3], &when),
                         FL_BAD_VALUE);
        assert_int_equal(fl_distance_integral_reaches(&c.a, &c.b, c.to, c.from, 1e-300, &when),
                         FL_NOT_FOUND);
        assert_true(when == c.from);
    }
}

static void identical_motions_never_reach_anything_and_say_so_soon(void **state)
{
    (void)state;
    FlRandom r = random_stream(93);
    double before = processor_seconds();
    for (int32_t i = 0; i < 500; i++) {
        FlMotion m = random_motion(&r, all_models[i % MODELS]);
        FlTime when = 0;
        assert_int_equal(fl_distance_integral_reaches(&m, &m, m.time, FL_FOREVER, 1e-12, &when),
                         FL_NOT_FOUND);
        assert_true(when == FL_FOREVER);
        assert_int_equal(fl_distance_integral_reaches(&m, &m, INT64_MIN, FL_FOREVER, 1e-12, &when),
                         FL_NOT_FOUND);
    }
    assert_true(processor_seconds() - before < SLOW(1.0));
}

static void searching_until_forever_takes_a_bounded_number_of_steps(void **state)
{
    (void)state;
    FlRandom r = random_stream(94);
    Worst slowest = {0};
    for (int32_t i = 0; i < CASES(2000); i++) {
        Case c = random_pair(&r);
        c.a = random_line(&r);
        c.b = random_line(&r);
        if (random_chance(&r, 2)) {
            make_meet(&c, c.from + random_span(&r, 0.0, 17.0));
        }
        double goal = fabs(random_scale(&r, -15.0, 25.0));
        FlTime when = 0;
        double before = processor_seconds();
        FlResult result = fl_distance_integral_reaches(&c.a, &c.b, c.from, FL_FOREVER, goal, &when);
        worst_note(&slowest, processor_seconds() - before, i);
        assert_true(result == FL_OK || result == FL_NOT_FOUND);
        double at = fl_distance_integral(&c.a, &c.b, c.from, when);
        double after = fl_distance_integral(&c.a, &c.b, c.from, fl_time_add(when, 1));
        double now = fl_distance_integral(&c.a, &c.b, when, fl_time_add(when, 1));
        assert_true(result == FL_OK ? after >= goal * (1.0 - 1e-9) - now
                                    : at <= goal * (1.0 + 1e-9));
    }
    check_worst(&slowest, SLOW(0.01), "seconds for one search until forever");
}

// A tank that circles round a flag stays within 20 m of it for good; asking when that has added up
// to more than it ever will must not mean driving all the rounds of 292 years.
static void searching_along_a_circle_until_forever_ends(void **state)
{
    (void)state;
    FlState on = {.velocity = {10.0, 0.0, 0.0}, .turn_rate = 1.0};
    FlState in = {.position = {3.0, 0.0, 0.0}};
    FlMotion a = fl_motion_make(FL_MODEL_CIRCULAR, &on);
    FlMotion b = fl_motion_make(FL_MODEL_STILL, &in);
    Worst slowest = {0};
    for (double goal = 1e2; goal < 2e8; goal *= 1e3) {
        FlTime when = 0;
        double before = processor_seconds();
        assert_int_equal(fl_distance_integral_reaches(&a, &b, 0, FL_FOREVER, goal, &when), FL_OK);
        worst_note(&slowest, processor_seconds() - before, (int64_t)goal);
        check_near((double)when / 1e9, goal / 13.027, 0.1 * goal); // the mean distance
    }
    check_worst(&slowest, SLOW(4.0), "seconds to search along a circle until forever");
}

// ---------------------------------------------------------------- the chord

static void chord_version_is_right_for_straight_pairs(void **state)
{
    (void)state;
    FlRandom r = random_stream(95);
    for (int32_t i = 0; i < CASES(20000); i++) {
        Case c;
        c.a = random_line(&r);
        c.b = random_line(&r);
        c.from = random_time(&r, -FL_SEC(1), FL_SEC(4));
        c.to = c.from + random_span(&r, 0.0, 11.0);
        double want = fl_distance_integral(&c.a, &c.b, c.from, c.to);
        double floor = 1e-15 * case_size(&c) * ((double)(c.to - c.from) / 1e9);
        check_near(fl_distance_integral_chord(&c.a, &c.b, c.from, c.to), want,
                   1e-12 * want + floor);
    }
    Case c = random_pair(&r);
    check_same(fl_distance_integral_chord(&c.a, &c.b, c.from, c.from), 0.0);
    check_same(fl_distance_integral_chord(&c.a, &c.b, c.to, c.from), 0.0);
}

// Two half circles with the same ends, one to the left and one to the right: the chord sees nothing
// of the two radii between them. The mean distance across is 4 R / pi.
static void chord_version_does_not_see_how_an_arc_bulges(void **state)
{
    (void)state;
    FlTime half = turns_long(0.5);
    FlState left = {.velocity = {0.0, -5.0, 0.0}, .turn_rate = 1.0};
    FlState right = {.velocity = {0.0, 5.0, 0.0}, .turn_rate = -1.0};
    FlMotion a = fl_motion_make(FL_MODEL_CIRCULAR, &left);
    FlMotion b = fl_motion_make(FL_MODEL_CIRCULAR, &right);
    check_near(fl_distance_integral_chord(&a, &b, 0, half), 0.0, 1e-7);
    check_near(fl_distance_integral(&a, &b, 0, half), 4.0 * 5.0 / FL_PI * FL_PI, 2e-5);
    // Against its own chord an arc is as far off as its sagitta says, for the chord version not.
    FlState chord = {.velocity = {10.0 / FL_PI, 0.0, 0.0}};
    FlMotion line = fl_motion_make(FL_MODEL_LINEAR, &chord);
    check_near(fl_distance_integral_chord(&a, &line, 0, half), 0.0, 1e-7);
    assert_true(fl_distance_integral(&a, &line, 0, half) > 5.0);
}

// ---------------------------------------------------------------- the same bits

static void golden_hash_of_all_integrals_is_the_same_in_every_build(void **state)
{
    (void)state;
    FlRandom r = random_stream(96);
    Hash hash = hash_start();
    for (int32_t i = 0; i < 1500; i++) { // no pow() here, and not CASES: same inputs everywhere
        FlMotion a = random_motion(&r, random_model(&r));
        FlMotion b = random_motion(&r, random_model(&r));
        a.horizon_ns = i % 4 == 0 ? FL_SEC(2) : FL_FOREVER;
        FlTime from = random_time(&r, -FL_SEC(1), FL_SEC(4));
        FlTime to = from + random_time(&r, 1, FL_SEC(6));
        double integral = fl_distance_integral(&a, &b, from, to);
        hash_double(&hash, integral);
        hash_double(&hash, fl_distance_integral_chord(&a, &b, from, to));
        FlTime when = 0;
        FlResult result = fl_distance_integral_reaches(&a, &b, from, to, 0.6 * integral, &when);
        hash_bits(&hash, (uint64_t)when);
        hash_bits(&hash, (uint64_t)(int64_t)result);
    }
    check_hash(hash, UINT64_C(0x50b9ca7a1a267c38));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_models_is_right_to_six_digits),
        cmocka_unit_test(a_corner_is_seen_wherever_it_lies),
        cmocka_unit_test(from_the_centre_of_a_circle_everything_is_its_radius_away),
        cmocka_unit_test(thousands_of_radians_with_a_corner_in_every_turn_are_right),
        cmocka_unit_test(millions_of_radians_are_estimated_in_bounded_time),
        cmocka_unit_test(long_turns_of_all_pairs_are_right),
        cmocka_unit_test(a_curve_told_again_is_no_distance_but_rounding),
        cmocka_unit_test(nearly_equal_arcs_cost_no_more_than_others),
        cmocka_unit_test(an_arc_that_hardly_turns_costs_no_more_than_others),
        cmocka_unit_test(order_of_the_two_motions_hardly_matters),
        cmocka_unit_test(parts_of_an_interval_add_up),
        cmocka_unit_test(a_detour_is_never_shorter),
        cmocka_unit_test(an_unused_turn_or_bend_changes_nothing),
        cmocka_unit_test(what_is_not_finite_gives_nan_for_every_model),
        cmocka_unit_test(inverse_of_straight_pairs_is_right_to_the_nanosecond),
        cmocka_unit_test(inverse_of_all_pairs_agrees_with_the_integral),
        cmocka_unit_test(a_goal_is_reached_exactly_at_the_latest_time),
        cmocka_unit_test(no_goal_is_reached_at_once_and_a_wrong_one_is_refused),
        cmocka_unit_test(identical_motions_never_reach_anything_and_say_so_soon),
        cmocka_unit_test(searching_until_forever_takes_a_bounded_number_of_steps),
        cmocka_unit_test(searching_along_a_circle_until_forever_ends),
        cmocka_unit_test(chord_version_is_right_for_straight_pairs),
        cmocka_unit_test(chord_version_does_not_see_how_an_arc_bulges),
        cmocka_unit_test(golden_hash_of_all_integrals_is_the_same_in_every_build),
    };
    return cmocka_run_group_tests(tests, make_rules, NULL);
}
