// fairlead bench motion.
#include "bench/bench.h"
#include "bench/naive.h"
#include "motion/motion.h"

#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- distance integrals

#define CASES 4096

typedef struct Cases {
    double gap[3][CASES];
    double drift[3][CASES]; // over the whole interval; with seconds = 1 also the velocity
    double seconds[CASES];
    FlMotion exported[CASES], placed[CASES];
    FlMotion exported_arc[CASES], placed_arc[CASES];
} Cases;

// Two tanks' worth of disagreement: a few units apart, a few units per second.
static void cases_fill(Cases *cases)
{
    FlRandom random = {.seed = 1};
    for (int32_t i = 0; i < CASES; i++) {
        for (int32_t axis = 0; axis < 3; axis++) {
            cases->gap[axis][i] = fl_random_between(&random, -3.0, 3.0);
            cases->drift[axis][i] = fl_random_between(&random, -3.0, 3.0);
        }
        cases->seconds[i] = 1.0;
        FlState a = {.position = {cases->gap[0][i], cases->gap[1][i], cases->gap[2][i]},
                     .velocity = {cases->drift[0][i], cases->drift[1][i], cases->drift[2][i]},
                     .turn_rate = fl_random_between(&random, -0.8, 0.8)};
        FlState b = {.time = -FL_MS(200), .turn_rate = fl_random_between(&random, -0.8, 0.8)};
        b.velocity = fl_vec3(1.0, 0.0, 0.0);
        cases->exported[i] = fl_motion_make(FL_MODEL_LINEAR, &a);
        cases->placed[i] = fl_motion_make(FL_MODEL_LINEAR, &b);
        cases->exported_arc[i] = fl_motion_make(FL_MODEL_CIRCULAR, &a);
        cases->placed_arc[i] = fl_motion_make(FL_MODEL_CIRCULAR, &b);
    }
}

static FlVec3 gap_of(const Cases *c, int32_t i)
{
    return fl_vec3(c->gap[0][i], c->gap[1][i], c->gap[2][i]);
}

static FlVec3 drift_of(const Cases *c, int32_t i)
{
    return fl_vec3(c->drift[0][i], c->drift[1][i], c->drift[2][i]);
}

static double work_naive(void *ctx)
{
    const Cases *c = (const Cases *)ctx;
    double sum = 0.0;
    for (int32_t i = 0; i < CASES; i++) {
        sum += naive_integral(gap_of(c, i), drift_of(c, i), c->seconds[i]);
    }
    return sum;
}

// Simpson's rule, halved until it agrees with itself to the accuracy that the closed form
// guarantees (1e-9).
static double simpson(const Cases *c, int32_t i, double from, double to, double ends[3],
                      double whole, double allowed, int32_t depth)
{
    double middle = 0.5 * (from + to);
    double left =
        fl_vec3_length(fl_vec3_add_scaled(gap_of(c, i), drift_of(c, i), 0.5 * (from + middle)));
    double right =
        fl_vec3_length(fl_vec3_add_scaled(gap_of(c, i), drift_of(c, i), 0.5 * (middle + to)));
    double sixth = (middle - from) / 6.0;
    double first = sixth * (ends[0] + 4.0 * left + ends[1]);
    double second = sixth * (ends[1] + 4.0 * right + ends[2]);
    double change = first + second - whole;
    if (depth == 0 || fabs(change) <= 15.0 * allowed) {
        return first + second + change / 15.0;
    }
    double lower[3] = {ends[0], left, ends[1]};
    double upper[3] = {ends[1], right, ends[2]};
    return simpson(c, i, from, middle, lower, first, 0.5 * allowed, depth - 1) +
           simpson(c, i, middle, to, upper, second, 0.5 * allowed, depth - 1);
}

static double quadrature(const Cases *c, double tolerance)
{
    double sum = 0.0;
    for (int32_t i = 0; i < CASES; i++) {
        FlVec3 gap = gap_of(c, i), drift = drift_of(c, i);
        double ends[3] = {fl_vec3_length(gap), fl_vec3_length(fl_vec3_add_scaled(gap, drift, 0.5)),
                          fl_vec3_length(fl_vec3_add(gap, drift))};
        double whole = (ends[0] + 4.0 * ends[1] + ends[2]) / 6.0;
        sum += simpson(c, i, 0.0, 1.0, ends, whole, tolerance * whole, 40);
    }
    return sum;
}

// To the accuracy that the closed form is promised to have, and to the one that it has.
static double work_quadrature_9(void *ctx)
{
    return quadrature((const Cases *)ctx, 1e-9);
}

static double work_quadrature_14(void *ctx)
{
    return quadrature((const Cases *)ctx, 1e-14);
}

static double work_motions(void *ctx)
{
    const Cases *c = (const Cases *)ctx;
    double sum = 0.0;
    for (int32_t i = 0; i < CASES; i++) {
        sum += fl__distance_integral(&c->exported[i], &c->placed[i], 0, FL_SEC(1));
    }
    return sum;
}

static double work_arcs(void *ctx)
{
    const Cases *c = (const Cases *)ctx;
    double sum = 0.0;
    for (int32_t i = 0; i < CASES; i++) {
        sum += fl__distance_integral(&c->exported_arc[i], &c->placed_arc[i], 0, FL_SEC(1));
    }
    return sum;
}

static double work_reaches(void *ctx)
{
    const Cases *c = (const Cases *)ctx;
    double sum = 0.0;
    for (int32_t i = 0; i < CASES; i++) {
        FlTime when;
        FlResult result =
            fl__distance_integral_reaches(&c->exported[i], &c->placed[i], 0, FL_SEC(1), 1.0, &when);
        sum += result == FL_OK ? fl_span_seconds(when) : 0.0;
    }
    return sum;
}

static bool integrals(BenchReport *report)
{
    static const BenchContender singly[] = {
        {"printed formula (unstable)", work_naive},
        {"adaptive quadrature to 1e-9", work_quadrature_9},
        {"adaptive quadrature to 1e-14", work_quadrature_14},
        {"closed form: two linear motions", work_motions},
        {"two circular motions, to 1e-6", work_arcs},
        {"when does it reach 1", work_reaches},
    };
    Cases *cases = malloc(sizeof *cases);
    if (cases == NULL) {
        return false;
    }
    cases_fill(cases);
    bench_contest(report, "distance integral", singly, 6, cases, CASES, 31);
    free(cases);
    return true;
}

// ---------------------------------------------------------------- trigger checks

#define FRAMES 4096

typedef struct Drive {
    FlState truth[FRAMES];
} Drive;

// A tank that drives arcs, straights and stops, 60 frames a second.
static void drive_fill(Drive *drive)
{
    FlRandom random = {.seed = 3};
    FlState state = {.velocity = {25.0, 0.0, 0.0}};
    for (int32_t i = 0; i < FRAMES; i++) {
        if (i % 60 == 0) {
            state.turn_rate = fl_random_between(&random, -0.8, 0.8);
        }
        FlMotion motion = fl_motion_make(FL_MODEL_CIRCULAR, &state);
        FlTime next = FL_SEC(i + 1) / 60;
        FlPose pose = fl_motion_pose(&motion, next);
        state.position = pose.position;
        state.velocity = pose.velocity;
        state.time = next;
        drive->truth[i] = state;
    }
}

static double drive_with(const Drive *drive, FlModel model)
{
    FlExporterDef def = fl_exporter_def_default();
    def.model = model;
    FlExporter exporter;
    fl_exporter_init(&exporter, &def);
    double updates = 0.0;
    for (int32_t i = 0; i < FRAMES; i++) {
        FlMotion motion;
        if (fl_exporter_feed(&exporter, &drive->truth[i], &motion) != FL_TRIGGER_NONE) {
            fl_exporter_commit(&exporter, &motion);
            updates += 1.0;
        }
    }
    return updates;
}

static double work_linear(void *ctx)
{
    return drive_with((const Drive *)ctx, FL_MODEL_LINEAR);
}

static double work_circular(void *ctx)
{
    return drive_with((const Drive *)ctx, FL_MODEL_CIRCULAR);
}

static double work_auto(void *ctx)
{
    return drive_with((const Drive *)ctx, FL_MODEL_AUTO);
}

static bool triggers(BenchReport *report)
{
    static const BenchContender contenders[] = {
        {"linear", work_linear},
        {"circular", work_circular},
        {"auto", work_auto},
    };
    Drive *drive = malloc(sizeof *drive);
    if (drive == NULL) {
        return false;
    }
    drive_fill(drive);
    bench_contest(report, "trigger check, per frame", contenders, 3, drive, FRAMES, 31);
    free(drive);
    return true;
}

const char *bench_motion(const BenchSettings *settings, BenchReport *report)
{
    (void)settings;
    bool enough = integrals(report) && triggers(report);
    return enough ? NULL : "out of memory";
}
