// lab run quality: shown error against bytes, beside what other games do.
#include "lab/experiments/quality/quality.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- settings

typedef struct QualitySettings {
    const char *trace;
    LabNumbers delays_ms;
    LabNumbers loss_percent;
    LabNumbers rates_hz;
    LabNumbers slack_ms;
    double length_s;
    double life_s;
} QualitySettings;

static void defaults(void *ctx)
{
    QualitySettings *settings = (QualitySettings *)ctx;
    *settings = (QualitySettings){
        .delays_ms = {.values = {25.0, 100.0, 200.0, 400.0, 800.0}, .count = 5},
        .loss_percent = {.values = {0.0, 1.0, 5.0}, .count = 3},
        .rates_hz = {.values = {10.0, 20.0, 60.0}, .count = 3},
        .slack_ms = {.values = {0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0}, .count = 7},
        .length_s = 30.0,
        .life_s = 2.0,
    };
}

#define AT(field) offsetof(QualitySettings, field)

static const Setting settings_table[] = {
    {SETTING_TEXT, "trace", "FILE", "a recorded game (the tank game's bots, one per run)",
     AT(trace), 0, 0},
    {SETTING_NUMBERS, "delays", "MS[,MS...]", "one-way delays (25,100,200,400,800)", AT(delays_ms),
     0.0, 1000.0},
    {SETTING_NUMBERS, "loss", "PERCENT[,...]", "of datagrams, each way (0,1,5)", AT(loss_percent),
     0.0, 50.0},
    {SETTING_NUMBERS, "rates", "HZ[,HZ...]", "of snapshots (10,20,60)", AT(rates_hz), 1.0, 250.0},
    {SETTING_NUMBERS, "slack", "MS[,MS...]",
     "thresholds: what the fastest thing travels in so long\n(0.3,1,3,10,30,100,300)", AT(slack_ms),
     0.1, 5000.0},
    {SETTING_NUMBER, "length", "S", "of the recording, at most (30)", AT(length_s), 1.0, 1e4},
    {SETTING_NUMBER, "life", "S", "with --trace: only lives of at least this (2)", AT(life_s), 0.0,
     1e6},
};

// ---------------------------------------------------------------- rows

static json_t *add_row(json_t *rows, const QualityPlay *play, const char *setting, FlTime delay,
                       const QualityFigures *f)
{
    json_t *row = json_object();
    row_text(row, "scheme", play->scheme->name);
    row_text(row, "setting", setting);
    row_number(row, "delay_ms", fl_span_seconds(delay) * 1e3);
    row_number(row, "loss_percent", play->loss * 100.0);
    row_number(row, "bytes_s", f->bytes_s);
    row_number(row, "updates_s", f->updates_s);
    row_number(row, "mean_error", f->mean);
    row_number(row, "p95_error", f->p95);
    row_number(row, "shown_error", f->shown_mean);
    row_number(row, "jumps_min", f->jumps_min);
    return json_array_append_new(rows, row) == 0 ? row : NULL;
}

static double number_of(const json_t *row, const char *field)
{
    return json_number_value(json_object_get(row, field));
}

static bool is_ours(const json_t *row)
{
    return strcmp(json_string_value(json_object_get(row, "scheme")), QUALITY_OURS) == 0;
}

static bool is_beside(const json_t *row, const json_t *other)
{
    return is_ours(row) && number_of(row, "delay_ms") == number_of(other, "delay_ms") &&
           number_of(row, "loss_percent") == number_of(other, "loss_percent");
}

/// Our error for as many bytes as `other` takes: the least of what any two of our points around it
/// give, straight in the logarithm of bytes, and of what takes fewer. NaN: all of ours take more.
static double our_error(const json_t *rows, const json_t *other)
{
    double bytes = number_of(other, "bytes_s");
    double best = (double)INFINITY;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *below = json_array_get(rows, i);
        double from = number_of(below, "bytes_s");
        if (!is_beside(below, other) || from > bytes) {
            continue;
        }
        best = fmin(best, number_of(below, "mean_error"));
        for (size_t k = 0; k < json_array_size(rows); k++) {
            const json_t *above = json_array_get(rows, k);
            double to = number_of(above, "bytes_s");
            if (is_beside(above, other) && to > bytes) {
                double share = log(bytes / from) / log(to / from);
                best = fmin(best, number_of(below, "mean_error") * (1.0 - share) +
                                      number_of(above, "mean_error") * share);
            }
        }
    }
    return isfinite(best) ? best : (double)NAN;
}

/// Every other scheme beside ours at the same byte rate.
static void compare(json_t *rows)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        if (is_ours(row)) {
            continue;
        }
        double ours = our_error(rows, row);
        row_number(row, "our_error", ours);
        row_text(row, "verdict",
                 !isfinite(ours)                        ? "fewer bytes than ours"
                 : ours <= number_of(row, "mean_error") ? "ours is lower"
                                                        : "EXCEPTION");
    }
}

// ---------------------------------------------------------------- running

/// What all plays of a run have in common, and how far it is.
typedef struct Work {
    const LabRun *run;
    const QualitySettings *settings;
    const Material *material;
    int64_t done, of;
} Work;

static const LabNumbers *steps_of(const QualitySettings *s, const QualityScheme *scheme)
{
    return scheme->rule == QUALITY_RATE ? &s->rates_hz : &s->slack_ms;
}

#define TOP_ACCELERATION 4.0 // top speed within a quarter of a second; more is an impact
/// Ours is played a second time with owners that look ten times a second only: where much moves,
/// headers are most of what small packets cost.
#define TICK_HZ 10.0

static LabStatus play_one(Work *work, const QualityScheme *scheme, double step, double tick_hz,
                          double loss, json_t *rows, LabError *error)
{
    const QualitySettings *s = work->settings;
    bool rate = scheme->rule == QUALITY_RATE;
    QualityPlay play = {
        .material = work->material,
        .scheme = scheme,
        .step = rate ? step : step * 1e-3 * work->material->top_speed,
        .seed = work->run->seed,
        .sealed = !work->run->plain,
        .delay_count = s->delays_ms.count,
        .loss = loss / 100.0,
        .tick_hz = tick_hz,
        .length = fl_span_from_seconds(s->length_s),
    };
    FlTime longest = 0;
    for (int32_t i = 0; i < work->material->run_count; i++) {
        FlTime length = work->material->runs[i].source.length;
        longest = length > longest ? length : longest;
    }
    play.length = fl_time_min(play.length, longest);
    for (int32_t d = 0; d < play.delay_count; d++) {
        play.delay[d] = fl_span_from_seconds(s->delays_ms.values[d] / 1e3);
    }
    QualityFigures figures[QUALITY_DELAYS];
    LabStatus status = quality_play(&play, figures, error);
    Text setting = {0};
    text_add(&setting, rate ? "%g Hz" : "%.3g units", play.step);
    if (tick_hz > 0.0) {
        text_add(&setting, ", %g Hz", tick_hz);
    }
    for (int32_t d = 0; d < play.delay_count && status == LAB_OK; d++) {
        json_t *row = add_row(rows, &play, text_of(&setting), play.delay[d], &figures[d]);
        status = row != NULL ? LAB_OK : lab_fail(error, LAB_FAILED, "out of memory");
    }
    text_free(&setting);
    lab_progress(work->run, ++work->done, work->of);
    return status;
}

static bool is_own(const QualityScheme *scheme)
{
    return strcmp(scheme->name, QUALITY_OURS) == 0;
}

static LabStatus play_all(Work *work, json_t *rows, LabError *error)
{
    const QualitySettings *s = work->settings;
    LabStatus status = LAB_OK;
    for (int32_t i = 0; i < quality_scheme_count; i++) {
        int64_t times = is_own(&quality_schemes[i]) ? 2 : 1;
        work->of += times * steps_of(s, &quality_schemes[i])->count * s->loss_percent.count;
    }
    for (int32_t l = 0; l < s->loss_percent.count; l++) {
        for (int32_t i = 0; i < quality_scheme_count; i++) {
            const QualityScheme *scheme = &quality_schemes[i];
            const LabNumbers *steps = steps_of(s, scheme);
            double loss = s->loss_percent.values[l];
            for (int32_t k = 0; k < steps->count && status == LAB_OK; k++) {
                status = play_one(work, scheme, steps->values[k], 0.0, loss, rows, error);
                if (status == LAB_OK && is_own(scheme)) {
                    status = play_one(work, scheme, steps->values[k], TICK_HZ, loss, rows, error);
                }
            }
        }
    }
    return status;
}

static const ChartSpec charts[] = {
    {.kind = CHART_LINES,
     .title = "Shown error against bytes, receiver at 200 ms",
     .x = "bytes_s",
     .x_title = "bytes per second and receiver",
     .y = "mean_error",
     .y_title = "mean error against now, units",
     .series = "scheme",
     .where = "delay_ms=200,loss_percent=0",
     .log_x = true,
     .log_y = true},
    {.kind = CHART_LINES,
     .title = "Shown error against bytes, receiver at 25 ms",
     .x = "bytes_s",
     .x_title = "bytes per second and receiver",
     .y = "mean_error",
     .y_title = "mean error against now, units",
     .series = "scheme",
     .where = "delay_ms=25,loss_percent=0",
     .log_x = true,
     .log_y = true},
};

static LabStatus run_quality(const LabRun *run, const void *ctx, LabResult *result, LabError *error)
{
    const QualitySettings *s = (const QualitySettings *)ctx;
    if (s->delays_ms.count > QUALITY_DELAYS) {
        return lab_fail(error, LAB_BAD_INPUT, "--delays: at most %d", (int)QUALITY_DELAYS);
    }
    Material material = {0};
    LabStatus status =
        s->trace != NULL
            ? material_trace(s->trace, fl_span_from_seconds(s->life_s), &material, error)
            : material_bots(run, fl_span_from_seconds(s->length_s), &material, error);
    if (status != LAB_OK) {
        return status;
    }
    material.world.top_acceleration = TOP_ACCELERATION * material.top_speed;
    Work work = {.run = run, .settings = s, .material = &material};
    status = play_all(&work, result->rows, error);
    if (status == LAB_OK) {
        compare(result->rows);
        (void)chart_draw(&charts[0], result->rows, &result->picture);
    }
    material_free(&material);
    return status;
}

static const Column columns[] = {
    {"loss_percent", "loss %", 0}, {"delay_ms", "delay ms", 0},
    {"scheme", "scheme", -1},      {"setting", "setting", -1},
    {"bytes_s", "bytes/s", 0},     {"mean_error", "mean", 3},
    {"p95_error", "p95", 3},       {"shown_error", "as of then", 3},
    {"jumps_min", "jumps/min", 1}, {"our_error", "ours", 3},
    {"verdict", "", -1},
};

const Experiment experiment_quality = {
    .name = "quality",
    .help = "how wrong a view is for its bytes, beside what other games do",
    .summary =
        "A host owns all that moves in a recording; one receiver per delay. Snapshots shown\n"
        "on arrival, interpolated 100 ms behind or extrapolated, plain or as differences;\n"
        "per-axis and linear thresholds; and Fairlead's own choice. Real sessions, real\n"
        "packet sizes with UDP's and IP's headers. \"mean\" is the distance from where things\n"
        "are now, \"as of then\" from where they were at the time shown, \"ours\" Fairlead's\n"
        "error at the same byte rate.",
    .settings = settings_table,
    .setting_count = (int32_t)(sizeof settings_table / sizeof *settings_table),
    .settings_bytes = sizeof(QualitySettings),
    .defaults_fn = defaults,
    .run_fn = run_quality,
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
    .charts = charts,
    .chart_count = (int32_t)(sizeof charts / sizeof *charts),
    .draws = true,
};
