// The closed form of the distance integral against quadrature that knows nothing of it.
//
// The reference takes the motions' doubles and whole nanoseconds as the exact numbers they are. The
// gap at the start, where nearly everything may cancel, is formed in quadruple precision; from
// there the distance |gap + drift u| itself is summed by Gauss and Legendre's rule in long double,
// on panels that grow geometrically away from the closest approach. All terms are positive, so the
// sum has no cancellation to suffer from. A second rule, tanh-sinh, checks the first.
#include "support.h"

#include "motion/private.h"

#if defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 Wide; // 113 bits, from the compiler alone: no library needed
#else
typedef long double Wide;
#endif

// ---------------------------------------------------------------- the reference

typedef struct Line {
    long double gap[3], drift[3];
    long double seconds;
} Line;

static long double wide_gap(double pa, double va, Wide na, double pb, double vb, Wide nb)
{
    Wide moved = (Wide)va * na - (Wide)vb * nb;
    return (long double)(((Wide)pa - (Wide)pb) + moved / (Wide)1e9);
}

static Line line_between(const FlMotion *a, const FlMotion *b, FlTime from, FlTime to)
{
    Wide na = (Wide)from - (Wide)a->time, nb = (Wide)from - (Wide)b->time;
    Wide seconds = ((Wide)to - (Wide)from) / (Wide)1e9;
    FlVec3 va = a->velocity, vb = b->velocity, pa = a->position, pb = b->position;
    Line line = {
        .gap = {wide_gap(pa.x, va.x, na, pb.x, vb.x, nb), wide_gap(pa.y, va.y, na, pb.y, vb.y, nb),
                wide_gap(pa.z, va.z, na, pb.z, vb.z, nb)},
        .drift = {(long double)(((Wide)va.x - (Wide)vb.x) * seconds),
                  (long double)(((Wide)va.y - (Wide)vb.y) * seconds),
                  (long double)(((Wide)va.z - (Wide)vb.z) * seconds)},
        .seconds = (long double)seconds,
    };
    return line;
}

static long double distance_at(const Line *line, long double u)
{
    long double x = line->gap[0] + line->drift[0] * u;
    long double y = line->gap[1] + line->drift[1] * u;
    long double z = line->gap[2] + line->drift[2] * u;
    return sqrtl(x * x + y * y + z * z);
}

static long double dot3(const long double *a, const long double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// Where on [0, 1] the two are closest, and how close, in units of the drift.
static long double closest(const Line *line, long double *width)
{
    long double dd = dot3(line->drift, line->drift);
    long double u = -dot3(line->gap, line->drift) / dd;
    *width = distance_at(line, u) / sqrtl(dd);
    return u;
}

#define NODES 12
static long double gauss_node[NODES], gauss_weight[NODES];

// Legendre's zeros by Newton's iteration.
static void make_gauss(void)
{
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
}

static long double gauss(const Line *line, long double from, long double to)
{
    long double middle = 0.5L * (from + to), half = 0.5L * (to - from), sum = 0.0L;
    for (int32_t i = 0; i < NODES; i++) {
        sum += gauss_weight[i] * distance_at(line, middle + half * gauss_node[i]);
    }
    return fabsl(half) * sum;
}

// From `near` to `far` away from the closest approach at `u`, on one side of it.
static long double one_side(const Line *line, long double u, long double side, long double near,
                            long double far, long double width)
{
    long double sum = 0.0L;
    while (near < far) {
        long double next = near + fmaxl(width, 2.0L * near);
        next = next < far ? next : far;
        sum += gauss(line, u + side * near, u + side * next);
        near = next;
    }
    return sum;
}

static long double reference(const Line *line)
{
    long double dd = dot3(line->drift, line->drift);
    long double gg = dot3(line->gap, line->gap);
    if (!(dd > 1e-44L * gg)) {
        return line->seconds * sqrtl(gg);
    }
    long double width;
    long double u = closest(line, &width);
    width = fmaxl(width, 1e-10L); // what lies closer than this is 1e-20 of the whole
    long double mean;
    if (u < -1.0L || u > 2.0L) { // so far away that the distance is nearly linear
        mean = gauss(line, 0.0L, 1.0L);
    } else if (u <= 0.0L) {
        mean = one_side(line, u, 1.0L, -u, 1.0L - u, width);
    } else if (u >= 1.0L) {
        mean = one_side(line, u, -1.0L, u - 1.0L, u, width);
    } else {
        mean = one_side(line, u, -1.0L, 0.0L, u, width) +
               one_side(line, u, 1.0L, 0.0L, 1.0L - u, width);
    }
    return line->seconds * mean;
}

// The other rule: tanh-sinh on both sides of the closest approach.
#define STEPS 281 // to either side
static long double double_node[STEPS], double_weight[STEPS];

static void make_tanh_sinh(void)
{
    const long double step = 1.0L / 64.0L, quarter = 1.57079632679489661923L;
    for (int32_t i = 0; i < STEPS; i++) {
        long double inner = quarter * sinhl(i * step);
        double_node[i] = tanhl(inner);
        double_weight[i] = step * quarter * coshl(i * step) / (coshl(inner) * coshl(inner));
    }
}

static int make_rules(void **state)
{
    (void)state;
    make_gauss();
    make_tanh_sinh();
    return 0;
}

static long double tanh_sinh(const Line *line, long double from, long double to)
{
    long double middle = 0.5L * (from + to), half = 0.5L * (to - from);
    long double sum = double_weight[0] * distance_at(line, middle);
    for (int32_t i = 1; i < STEPS; i++) {
        sum += double_weight[i] * (distance_at(line, middle - half * double_node[i]) +
                                   distance_at(line, middle + half * double_node[i]));
    }
    return half * sum;
}

static long double second_reference(const Line *line)
{
    long double dd = dot3(line->drift, line->drift), width;
    if (!(dd > 0.0L)) {
        return line->seconds * distance_at(line, 0.0L);
    }
    long double u = closest(line, &width);
    u = u < 0.0L ? 0.0L : u > 1.0L ? 1.0L : u;
    return line->seconds * (tanh_sinh(line, 0.0L, u) + tanh_sinh(line, u, 1.0L));
}

// ---------------------------------------------------------------- cases

typedef struct Case {
    FlMotion a, b;
    FlTime from, to;
} Case;

static FlMotion line_from(FlTime time, FlVec3 position, FlVec3 velocity)
{
    FlState state = {.time = time, .position = position, .velocity = velocity};
    return fl_motion_make(FL_MODEL_LINEAR, &state);
}

static FlVec3 random_scaled(FlRandom *r, double low_power, double high_power)
{
    double size = fabs(random_scale(r, low_power, high_power));
    FlVec3 v = random_vec3(r, size);
    switch (fl_random_below(r, 6)) { // flat and axis-aligned ones too
    case 0:
        v.z = 0.0;
        break;
    case 1:
        v.y = v.z = 0.0;
        break;
    case 2:
        v.x = v.z = 0.0;
        break;
    default:
        break;
    }
    return v;
}

static const double day_power = 13.9; // 10^13.9 ns: 22 hours; 100 days are 10^15.94 ns

// Two strangers, at any size, starting and lasting anything from 1 ns to 100 days.
static Case strangers(FlRandom *r)
{
    double size = random_chance(r, 2) ? 3.0 : fl_random_between(r, -199.0, 199.0);
    double speed = random_chance(r, 2) ? size : fl_random_between(r, -199.0, 199.0);
    FlTime ta = random_span(r, 0.0, 15.94), tb = random_span(r, 0.0, 15.94);
    FlTime from = random_chance(r, 2) ? ta : random_span(r, 0.0, 15.94);
    Case c = {.from = from};
    c.to = from + random_span(r, 0.0, 15.94);
    FlVec3 pa = random_scaled(r, size - 1.0, size), va = random_scaled(r, speed - 1.0, speed);
    FlVec3 pb = random_scaled(r, size - 1.0, size), vb = random_scaled(r, speed - 3.0, speed);
    c.a = line_from(ta, pa, va);
    c.b = line_from(tb, pb, vb);
    if (random_chance(r, 10)) {
        c.b.model = FL_MODEL_STILL;
        c.b.velocity = fl_vec3(0.0, 0.0, 0.0);
    }
    return c;
}

// They meet, or miss each other by next to nothing, somewhere in the interval or at its ends.
static Case touching(FlRandom *r)
{
    double size = random_chance(r, 2) ? 2.0 : fl_random_between(r, -150.0, 150.0);
    FlTime from = random_chance(r, 2) ? 0 : random_span(r, 0.0, day_power);
    FlTime last = random_span(r, 0.0, random_chance(r, 2) ? 10.0 : 15.94);
    FlTime meeting = random_chance(r, 4)   ? from
                     : random_chance(r, 3) ? from + last
                                           : random_time(r, from, from + last);
    FlVec3 place = random_chance(r, 3) ? fl_vec3(0.0, 0.0, 0.0) : random_scaled(r, size, size + 1);
    FlVec3 va = random_scaled(r, size - 1.0, size), vb = random_scaled(r, size - 1.0, size);
    if (random_chance(r, 4)) { // head on, through each other
        vb = fl_vec3_scale(va, -fl_random_between(r, 0.1, 3.0));
    }
    double seconds = (double)(meeting - from) / 1e9;
    FlVec3 miss =
        random_chance(r, 2) ? fl_vec3(0.0, 0.0, 0.0) : random_scaled(r, size - 20.0, size - 1.0);
    Case c = {
        .a = line_from(from, fl_vec3_add_scaled(place, va, -seconds), va),
        .b = line_from(from, fl_vec3_add(fl_vec3_add_scaled(place, vb, -seconds), miss), vb),
        .from = from,
        .to = from + last,
    };
    return c;
}

// Whole numbers, so that they touch exactly.
static Case lattice(FlRandom *r)
{
    FlVec3 v[4];
    for (int32_t i = 0; i < 4; i++) {
        double x = (double)fl_random_below(r, 7) - 3.0, y = (double)fl_random_below(r, 7) - 3.0;
        double z = random_chance(r, 2) ? 0.0 : (double)fl_random_below(r, 3) - 1.0;
        v[i] = fl_vec3(x, y, z);
    }
    Case c;
    c.from = FL_SEC(random_time(r, -3, 3));
    c.to = c.from + FL_SEC(1 + random_time(r, 0, 4));
    c.a = line_from(FL_SEC(random_time(r, -3, 3)), v[0], v[1]);
    c.b = line_from(FL_SEC(random_time(r, -3, 3)), v[2], v[3]);
    return c;
}

// The same velocity, or one that differs in its last digits only.
static Case parallel(FlRandom *r)
{
    double size = random_chance(r, 2) ? 2.0 : fl_random_between(r, -150.0, 150.0);
    Case c = strangers(r);
    c.a.velocity = random_scaled(r, size - 1.0, size);
    c.b.velocity = c.a.velocity;
    c.a.position = random_scaled(r, size - 1.0, size);
    c.b.position = random_scaled(r, size - 1.0, size);
    c.b.model = FL_MODEL_LINEAR;
    if (random_chance(r, 2)) {
        double by = fl_vec3_length(c.a.velocity) * fabs(random_scale(r, -17.0, -1.0));
        c.b.velocity = fl_vec3_add(c.b.velocity, random_vec3(r, by));
    }
    if (random_chance(r, 2)) {
        c.b.time = c.a.time;
    }
    return c;
}

// The same line told again at another time, rounded: what an exported and a placed path do all day.
// Their distance is rounding, and still must be integrated to nine digits.
static Case told_again(FlRandom *r)
{
    double size = random_chance(r, 2) ? 3.0 : fl_random_between(r, -150.0, 150.0);
    FlTime ta = random_span(r, 0.0, 13.0), span = random_span(r, 0.0, 12.0);
    FlTime from = ta + span + random_span(r, 0.0, random_chance(r, 2) ? 10.0 : 15.94);
    FlVec3 start = random_scaled(r, size, size + 1), way = random_scaled(r, size - 3.0, size);
    FlMotion a = line_from(ta, start, way);
    FlVec3 again = fl_motion_position(&a, ta + span);
    if (random_chance(r, 2)) {
        again = fl_vec3_add(again, random_scaled(r, size - 20.0, size - 5.0));
    }
    FlVec3 velocity = a.velocity;
    if (random_chance(r, 2)) {
        double by = fl_vec3_length(velocity) * fabs(random_scale(r, -17.0, -5.0));
        velocity = fl_vec3_add(velocity, random_vec3(r, by));
    }
    Case c = {
        .a = a,
        .b = line_from(ta + span, again, velocity),
        .from = from,
        .to = from + random_span(r, 0.0, random_chance(r, 2) ? 10.0 : 15.94),
    };
    return c;
}

// Each axis of another size, zeros among them.
static Case uneven(FlRandom *r)
{
    Case c = strangers(r);
    double *field[12] = {&c.a.position.x, &c.a.position.y, &c.a.position.z, &c.a.velocity.x,
                         &c.a.velocity.y, &c.a.velocity.z, &c.b.position.x, &c.b.position.y,
                         &c.b.position.z, &c.b.velocity.x, &c.b.velocity.y, &c.b.velocity.z};
    double spread = fl_random_between(r, 1.0, 180.0);
    for (int32_t i = 0; i < 12; i++) {
        *field[i] = random_chance(r, 4) ? 0.0 : random_scale(r, -spread, spread);
    }
    c.b.model = FL_MODEL_LINEAR;
    return c;
}

typedef Case (*Maker)(FlRandom *r);
static const Maker makers[] = {strangers, touching, lattice, parallel, told_again, uneven};
static const char *const maker_names[] = {"strangers", "touching",   "lattice",
                                          "parallel",  "told again", "uneven"};
#define MAKERS ((int32_t)(sizeof makers / sizeof makers[0]))

static double relative_error(double got, long double want)
{
    if (want == 0.0L) {
        return got == 0.0 ? 0.0 : (double)INFINITY;
    }
    return (double)fabsl(((long double)got - want) / want);
}

static void print_case(const Case *c)
{
    print_error("a: time %lld at (%a, %a, %a) by (%a, %a, %a)\n", (long long)c->a.time,
                c->a.position.x, c->a.position.y, c->a.position.z, c->a.velocity.x, c->a.velocity.y,
                c->a.velocity.z);
    print_error("b: time %lld at (%a, %a, %a) by (%a, %a, %a)\n", (long long)c->b.time,
                c->b.position.x, c->b.position.y, c->b.position.z, c->b.velocity.x, c->b.velocity.y,
                c->b.velocity.z);
    print_error("from %lld to %lld\n", (long long)c->from, (long long)c->to);
}

// ---------------------------------------------------------------- tests

static void the_two_references_agree(void **state)
{
    (void)state;
    FlRandom r = random_stream(70);
    Worst worst = {0};
    for (int32_t i = 0; i < CASES(6000); i++) {
        Case c = makers[i % MAKERS](&r);
        Line line = line_between(&c.a, &c.b, c.from, c.to);
        long double first = reference(&line), second = second_reference(&line);
        double apart = first == second ? 0.0 : (double)fabsl((first - second) / first);
        worst_note(&worst, apart, i);
    }
    check_worst(&worst, 1e-12, "reference against tanh-sinh");
}

static void closed_form_is_right_to_nine_digits_in_a_million_cases(void **state)
{
    (void)state;
    FlRandom r = random_stream(71);
    Worst worst[sizeof makers / sizeof makers[0]] = {{0}};
    for (int32_t i = 0; i < CASES(1000200); i++) {
        Case c = makers[i % MAKERS](&r);
        double got = fl__distance_integral(&c.a, &c.b, c.from, c.to);
        Line line = line_between(&c.a, &c.b, c.from, c.to);
        long double want = reference(&line);
        double error = relative_error(got, want);
        worst_note(&worst[i % MAKERS], error, i);
        if (!(error <= 1e-9)) {
            print_error("case %d (%s): got %.17g (%a), wanted %.21Lg, relative error %.3g\n", i,
                        maker_names[i % MAKERS], got, got, want, error);
            print_case(&c);
            fail();
        }
    }
    for (int32_t i = 0; i < MAKERS; i++) {
        check_worst(&worst[i], 1e-9, maker_names[i]);
    }
}

static void same_motion_twice_is_no_distance_at_all(void **state)
{
    (void)state;
    FlRandom r = random_stream(72);
    for (int32_t i = 0; i < CASES(20000); i++) {
        Case c = makers[i % MAKERS](&r);
        check_same(fl__distance_integral(&c.a, &c.a, c.from, c.to), 0.0);
        check_same(fl__distance_integral(&c.b, &c.b, c.from, c.to), 0.0);
    }
}

static void order_of_the_two_motions_does_not_matter(void **state)
{
    (void)state;
    FlRandom r = random_stream(73);
    for (int32_t i = 0; i < CASES(50000); i++) {
        Case c = makers[i % MAKERS](&r);
        check_same(fl__distance_integral(&c.b, &c.a, c.from, c.to),
                   fl__distance_integral(&c.a, &c.b, c.from, c.to));
    }
}

static void parts_of_an_interval_add_up(void **state)
{
    (void)state;
    FlRandom r = random_stream(74);
    Worst worst = {0};
    for (int32_t i = 0; i < CASES(100000); i++) {
        Case c = makers[i % MAKERS](&r);
        FlTime cut = random_time(&r, c.from, c.to);
        double whole = fl__distance_integral(&c.a, &c.b, c.from, c.to);
        double parts = fl__distance_integral(&c.a, &c.b, c.from, cut) +
                       fl__distance_integral(&c.a, &c.b, cut, c.to);
        worst_note(&worst, relative_error(parts, (long double)whole), i);
    }
    check_worst(&worst, 1e-9, "parts against the whole");
}

// ---------------------------------------------------------------- the formula by itself

static FlVec3 wild_vec3(FlRandom *r, double size)
{
    FlVec3 v = random_vec3(r, pow(10.0, size));
    if (random_chance(r, 3)) {
        v.x = random_scale(r, size - 20.0, size);
        v.y = random_scale(r, size - 20.0, size);
        v.z = random_chance(r, 2) ? 0.0 : random_scale(r, size - 20.0, size);
    }
    return v;
}

static void wild_pair(FlRandom *r, FlVec3 *gap, FlVec3 *drift)
{
    double size = fl_random_between(r, -270.0, 270.0);
    *gap = wild_vec3(r, size);
    *drift = wild_vec3(r, size + (random_chance(r, 2) ? 0.0 : fl_random_between(r, -18.0, 18.0)));
    switch (fl_random_below(r, 6)) {
    case 0: // ends at zero
        *drift = fl_vec3_scale(*gap, -1.0);
        break;
    case 1: // touches on the way, nearly
        *drift = fl_vec3_add_scaled(fl_vec3_scale(*gap, -fl_random_between(r, 1.0, 1e3)), *drift,
                                    fabs(random_scale(r, -18.0, 0.0)));
        break;
    case 2: // starts at zero
        *gap = fl_vec3(0.0, 0.0, 0.0);
        break;
    case 3: // no drift
        *drift = random_chance(r, 2) ? fl_vec3(0.0, 0.0, 0.0) : fl_vec3_scale(*gap, 1e-17);
        break;
    default:
        break;
    }
}

static long double straight_reference(FlVec3 gap, FlVec3 drift, double seconds)
{
    Line line = {
        .gap = {(long double)gap.x, (long double)gap.y, (long double)gap.z},
        .drift = {(long double)drift.x, (long double)drift.y, (long double)drift.z},
        .seconds = (long double)seconds,
    };
    return reference(&line);
}

static void formula_by_itself_is_right_at_every_size(void **state)
{
    (void)state;
    FlRandom r = random_stream(75);
    Worst worst = {0};
    for (int32_t i = 0; i < CASES(100000); i++) {
        FlVec3 gap, drift;
        wild_pair(&r, &gap, &drift);
        double got = fl__distance_integral_straight(gap, drift, 1.5);
        double error = relative_error(got, straight_reference(gap, drift, 1.5));
        worst_note(&worst, error, i);
        if (!(error <= 1e-9)) {
            print_error("gap (%a, %a, %a) drift (%a, %a, %a): %a\n", gap.x, gap.y, gap.z, drift.x,
                        drift.y, drift.z, got);
            fail();
        }
    }
    check_worst(&worst, 1e-9, "formula, 1e-270 to 1e270");
}

static void what_is_not_finite_gives_nan(void **state)
{
    (void)state;
    for (int32_t field = 0; field < 6; field++) {
        double v[6] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
        v[field] = (double)NAN;
        FlVec3 gap = fl_vec3(v[0], v[1], v[2]), drift = fl_vec3(v[3], v[4], v[5]);
        double got = fl__distance_integral_straight(gap, drift, 1.0);
        if (!isnan(got)) {
            print_error("NaN in field %d gave %g\n", field, got);
            fail();
        }
    }
    FlState good = {.velocity = {1.0, 0.0, 0.0}};
    FlMotion a = fl_motion_make(FL_MODEL_LINEAR, &good), b = a;
    const double odd[] = {(double)NAN, (double)INFINITY};
    for (int32_t i = 0; i < 2; i++) {
        b = a;
        b.position.y = odd[i];
        assert_true(isnan(fl__distance_integral(&a, &b, 0, 1)));
        b = a;
        b.velocity.z = odd[i];
        assert_true(isnan(fl__distance_integral(&b, &a, 0, 1)));
        check_same(fl__distance_integral(&a, &b, 1, 1), 0.0); // nothing was integrated
    }
}

static void empty_and_reversed_intervals_give_zero(void **state)
{
    (void)state;
    FlRandom r = random_stream(78);
    for (int32_t i = 0; i < 1000; i++) {
        Case c = makers[i % MAKERS](&r);
        check_same(fl__distance_integral(&c.a, &c.b, c.from, c.from), 0.0);
        check_same(fl__distance_integral(&c.a, &c.b, c.to, c.from), 0.0);
        check_same(fl__distance_integral(&c.a, &c.b, INT64_MAX, INT64_MIN), 0.0);
    }
    FlState good = {.velocity = {1.0, 0.0, 0.0}}, still = {0};
    FlMotion a = fl_motion_make(FL_MODEL_LINEAR, &good);
    FlMotion b = fl_motion_make(FL_MODEL_STILL, &still);
    assert_true(fl__distance_integral(&a, &b, INT64_MIN, INT64_MAX) > 0.0);
    assert_true(isfinite(fl__distance_integral(&a, &b, INT64_MIN, INT64_MAX)));
}

static void golden_hash_of_the_closed_form_is_the_same_in_every_build(void **state)
{
    (void)state;
    FlRandom r = random_stream(79);
    Hash hash = hash_start();
    for (int32_t i = 0; i < 20000; i++) { // no pow() here, and not CASES: same inputs everywhere
        FlVec3 gap = random_vec3(&r, 100.0), drift = random_vec3(&r, i % 2 == 0 ? 1.0 : 1000.0);
        hash_double(&hash,
                    fl__distance_integral_straight(gap, drift, fl_random_between(&r, 0.0, 1.0)));
        FlState a = random_state(&r, 100.0, 20.0), b = random_state(&r, 100.0, 20.0);
        FlMotion ma = fl_motion_make(FL_MODEL_LINEAR, &a);
        FlMotion mb = fl_motion_make(i % 5 == 0 ? FL_MODEL_STILL : FL_MODEL_LINEAR, &b);
        FlTime from = random_time(&r, 0, FL_SEC(10));
        hash_double(&hash, fl__distance_integral(&ma, &mb, from, from + FL_SEC(3)));
        hash_double(&hash, fl__distance_integral_chord(&ma, &mb, from, from + FL_SEC(3)));
    }
    check_hash(hash, UINT64_C(0x48614f4d358f1e0d));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_two_references_agree),
        cmocka_unit_test(closed_form_is_right_to_nine_digits_in_a_million_cases),
        cmocka_unit_test(same_motion_twice_is_no_distance_at_all),
        cmocka_unit_test(order_of_the_two_motions_does_not_matter),
        cmocka_unit_test(parts_of_an_interval_add_up),
        cmocka_unit_test(formula_by_itself_is_right_at_every_size),
        cmocka_unit_test(what_is_not_finite_gives_nan),
        cmocka_unit_test(empty_and_reversed_intervals_give_zero),
        cmocka_unit_test(golden_hash_of_the_closed_form_is_the_same_in_every_build),
    };
    return cmocka_run_group_tests(tests, make_rules, NULL);
}
