// lab run models: `auto` beside the best single model that sends as many updates, and beside itself
// without fading.
//
// Updates go out by threshold, owners have one entity each and know their receivers' delays. A
// short recording has a few hundred updates, so any one threshold is luck of some percent: a cell
// is the geometric mean over seven thresholds around the one asked for. Single models are
// interpolated between 25 thresholds to exactly as many updates.
#include <math.h>
#include <stddef.h>

#include "lab/experiments/experiment.h"
#include "lab/trace/reckon.h"

enum { DELAYS_MOST = 8, SINGLES = 3, CURVE = 25, AROUND = 7 };

#define CURVE_REACH 8.0  // single models: from an eighth of the threshold to eight times
#define AROUND_REACH 1.4 // auto: within this factor of it

static const FlModel singles[SINGLES] = {FL_MODEL_LINEAR, FL_MODEL_QUADRATIC, FL_MODEL_CIRCULAR};
static const char *const single_names[SINGLES] = {"linear", "quadratic", "circular"};

// ---------------------------------------------------------------- settings

typedef struct ModelsSettings {
    const char *trace;
    LabNumbers delays_ms;
    LabNumbers slack_ms;
} ModelsSettings;

static void defaults(void *ctx)
{
    ModelsSettings *settings = (ModelsSettings *)ctx;
    *settings = (ModelsSettings){
        .delays_ms = {.values = {100.0, 200.0, 500.0}, .count = 3},
        .slack_ms = {.values = {3.0, 12.0}, .count = 2},
    };
}

#define AT(field) offsetof(ModelsSettings, field)

static const Setting settings_table[] = {
    {SETTING_TEXT, "trace", "FILE", "a recorded game; needed", AT(trace), 0, 0},
    {SETTING_NUMBERS, "delays", "MS[,MS...]", "one-way delays of receivers (100,200,500)",
     AT(delays_ms), 1.0, 5000.0},
    {SETTING_NUMBERS, "slack", "MS[,MS...]",
     "thresholds: what the fastest thing travels in so long (3,12)", AT(slack_ms), 0.01, 5000.0},
};

// ---------------------------------------------------------------- one stream

/// What a model costs at one threshold, and how far off receivers are.
typedef struct Point {
    double updates;
    double error[DELAYS_MOST];
} Point;

typedef struct Work {
    const LabRun *run;
    const Trace *trace;
    FlTime delays[DELAYS_MOST];
    int32_t delay_count;
    int64_t done, of;
} Work;

static LabStatus play(Work *work, FlModel model, double distance, bool unfaded, Point *point,
                      LabError *error)
{
    ReckonDef def = {.exporter = fl_exporter_def_default(),
                     .delays_ns = work->delays,
                     .delay_count = work->delay_count,
                     .unfaded = unfaded};
    def.exporter.model = model;
    def.exporter.trigger.distance = distance;
    def.exporter.trigger.angle = (double)INFINITY; // facings are told beside, and cost all alike
    ReckonResult result;
    if (reckon_run(work->trace, &def, &result) != FL_OK) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    *point = (Point){.updates = (double)result.update_total};
    for (int32_t d = 0; d < work->delay_count; d++) {
        double samples = 0.0;
        for (int32_t t = 0; t < work->trace->track_count; t++) {
            const ReckonView *view = &result.views[t * work->delay_count + d];
            point->error[d] += view->samples > 0 ? view->mean_error * view->samples : 0.0;
            samples += view->samples;
        }
        point->error[d] /= samples;
    }
    reckon_free(&result);
    lab_progress(work->run, ++work->done, work->of);
    return LAB_OK;
}

/// The error of a single model that sends so many updates, straight in logarithms between two
/// thresholds. NaN: it never does.
static double error_at(const Point curve[CURVE], double updates, int32_t delay)
{
    for (int32_t i = 0; i + 1 < CURVE; i++) {
        const Point *a = &curve[i];
        const Point *b = &curve[i + 1];
        if (a->updates >= updates && updates >= b->updates) {
            double share = a->updates > b->updates
                               ? log(a->updates / updates) / log(a->updates / b->updates)
                               : 0.0;
            return exp(log(a->error[delay]) * (1.0 - share) + log(b->error[delay]) * share);
        }
    }
    return (double)NAN;
}

// ---------------------------------------------------------------- rows

/// All streams around one threshold.
typedef struct Streams {
    Point curve[SINGLES][CURVE];
    Point ours[AROUND];
    Point unfaded[AROUND];
} Streams;

static double around(double middle, double reach, int32_t i, int32_t count)
{
    return middle * pow(reach, 2.0 * i / (count - 1) - 1.0);
}

static LabStatus play_streams(Work *work, double distance, Streams *s, LabError *error)
{
    LabStatus status = LAB_OK;
    for (int32_t m = 0; m < SINGLES; m++) {
        for (int32_t i = 0; i < CURVE && status == LAB_OK; i++) {
            double at = around(distance, CURVE_REACH, i, CURVE);
            status = play(work, singles[m], at, true, &s->curve[m][i], error);
        }
    }
    for (int32_t i = 0; i < AROUND && status == LAB_OK; i++) {
        double at = around(distance, AROUND_REACH, i, AROUND);
        status = play(work, FL_MODEL_AUTO, at, false, &s->ours[i], error);
        status =
            status == LAB_OK ? play(work, FL_MODEL_AUTO, at, true, &s->unfaded[i], error) : status;
    }
    return status;
}

/// Of the single model with the least error; NaN if none sends so many updates.
static double of_best(const Streams *s, int32_t delay, const char **best)
{
    double most = (double)NAN;
    *best = "none";
    for (int32_t m = 0; m < SINGLES; m++) {
        double sum = 0.0;
        for (int32_t i = 0; i < AROUND; i++) {
            double single = error_at(s->curve[m], s->ours[i].updates, delay);
            sum += log(s->ours[i].error[delay] / single) / AROUND;
        }
        if (isfinite(sum) && !(exp(sum) <= most)) {
            most = exp(sum);
            *best = single_names[m];
        }
    }
    return most;
}

static LabStatus add_row(const Work *work, const Streams *s, double distance, int32_t d,
                         json_t *rows, LabError *error)
{
    double fading = 0.0;
    double updates = 0.0;
    for (int32_t i = 0; i < AROUND; i++) {
        fading += log(s->ours[i].error[d] / s->unfaded[i].error[d]) / AROUND;
        updates += log(s->ours[i].updates / s->unfaded[i].updates) / AROUND;
    }
    const char *best;
    double share = of_best(s, d, &best);
    json_t *row = json_object();
    row_number(row, "distance", distance);
    row_number(row, "delay_ms", fl_span_seconds(work->delays[d]) * 1e3);
    row_number(row, "updates", s->ours[AROUND / 2].updates);
    row_number(row, "mean_error", s->ours[AROUND / 2].error[d]);
    row_text(row, "best", best);
    row_number(row, "of_best", share);
    row_number(row, "of_unfaded", exp(fading));
    row_number(row, "updates_of_unfaded", exp(updates));
    return json_array_append_new(rows, row) == 0 ? LAB_OK
                                                 : lab_fail(error, LAB_FAILED, "out of memory");
}

static double top_speed(const Trace *trace)
{
    double top = 0.0;
    for (int32_t t = 0; t < trace->track_count; t++) {
        FlSampler sampler = {0};
        const TraceTrack *track = &trace->tracks[t];
        for (int32_t i = track->first; i < track->first + track->count; i++) {
            top = fmax(top, fl_vec3_length(trace_state(trace, i, &sampler).velocity));
        }
    }
    return top;
}

static LabStatus run_models(const LabRun *run, const void *ctx, LabResult *result, LabError *error)
{
    const ModelsSettings *s = (const ModelsSettings *)ctx;
    Trace trace;
    TraceError problem;
    if (s->trace == NULL) {
        return lab_fail(error, LAB_BAD_INPUT, "models: which recording? --trace FILE names it");
    }
    if (s->delays_ms.count > DELAYS_MOST) {
        return lab_fail(error, LAB_BAD_INPUT, "--delays: at most %d", (int)DELAYS_MOST);
    }
    if (!trace_load(s->trace, &trace, &problem)) {
        return lab_fail(error, LAB_BAD_INPUT, "%s", problem.text);
    }
    Work work = {.run = run,
                 .trace = &trace,
                 .delay_count = s->delays_ms.count,
                 .of = (SINGLES * CURVE + 2 * AROUND) * (int64_t)s->slack_ms.count};
    for (int32_t d = 0; d < work.delay_count; d++) {
        work.delays[d] = fl_span_from_seconds(s->delays_ms.values[d] / 1e3);
    }
    double speed = top_speed(&trace);
    LabStatus status = LAB_OK;
    for (int32_t k = 0; k < s->slack_ms.count && status == LAB_OK; k++) {
        Streams streams;
        double distance = s->slack_ms.values[k] * 1e-3 * speed;
        status = play_streams(&work, distance, &streams, error);
        for (int32_t d = 0; d < work.delay_count && status == LAB_OK; d++) {
            status = add_row(&work, &streams, distance, d, result->rows, error);
        }
    }
    trace_free(&trace);
    return status;
}

static const Column columns[] = {
    {"distance", "threshold", 3},       {"delay_ms", "delay ms", 0},
    {"updates", "updates", 0},          {"mean_error", "error", 4},
    {"best", "best single", -1},        {"of_best", "of its error", 3},
    {"of_unfaded", "of not fading", 3}, {"updates_of_unfaded", "updates of it", 3},
};

static const ChartSpec charts[] = {
    {.kind = CHART_LINES,
     .title = "Error of auto by the best single model's",
     .x = "delay_ms",
     .x_title = "delay, ms",
     .y = "of_best",
     .y_title = "share of the best single model's error",
     .series = "distance"},
};

const Experiment experiment_models = {
    .name = "models",
    .help = "auto beside the best single model at equal updates, and beside not fading",
    .summary =
        "Updates by threshold; owners have one entity each and know the delays. \"of its error\":\n"
        "auto's mean error as a share of what the best single model has with as many updates;\n"
        "\"of not fading\", \"updates of it\": auto's error and updates as shares of what it has\n"
        "when updates are never taken to be old. Geometric means over seven thresholds within\n"
        "a factor of 1.4 around the one named.",
    .settings = settings_table,
    .setting_count = (int32_t)(sizeof settings_table / sizeof *settings_table),
    .settings_bytes = sizeof(ModelsSettings),
    .defaults_fn = defaults,
    .run_fn = run_models,
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
    .charts = charts,
    .chart_count = (int32_t)(sizeof charts / sizeof *charts),
};
