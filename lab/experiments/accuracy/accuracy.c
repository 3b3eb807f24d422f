// lab run accuracy: global, local and one-way clocks against each other (the thesis's chapter 2).
#include "lab/experiments/accuracy/accuracy.h"

#include <stddef.h>
#include <stdlib.h>

// ---------------------------------------------------------------- settings

typedef struct AccuracySettings {
    const char *trace;
    LabNumbers delays_ms;
    double length_s;
    double life_s;
    double distance;
    double silence_s;
    double jitter_ms;
    double loss_percent;
    double drift_ppm;
} AccuracySettings;

static void defaults(void *ctx)
{
    AccuracySettings *settings = (AccuracySettings *)ctx;
    *settings = (AccuracySettings){
        .delays_ms = {.values = {100.0, 300.0, 800.0}, .count = 3},
        .length_s = 350.0,
        .life_s = 30.0,
        .distance = 0.09,
        .silence_s = 1.0,
        .drift_ppm = 50.0,
    };
}

#define AT(field) offsetof(AccuracySettings, field)

static const Setting settings_table[] = {
    {SETTING_TEXT, "trace", "FILE",
     "random motion from a recorded game, one run per entity\n(the tank game's bots, one run per "
     "seed)",
     AT(trace), 0, 0},
    {SETTING_NUMBERS, "delays", "MS[,MS...]", "one-way delays of the receivers (100,300,800)",
     AT(delays_ms), 0.0, 2000.0},
    {SETTING_NUMBER, "length", "S", "length of a run, without --trace (350)", AT(length_s), 1.0,
     1e5},
    {SETTING_NUMBER, "life", "S", "with --trace: only lives of at least this (30)", AT(life_s), 0.0,
     1e6},
    {SETTING_NUMBER, "distance", "D", "threshold of an update, in units (0.09)", AT(distance), 0.0,
     1e6},
    {SETTING_NUMBER, "silence", "S", "an update at least this often (1)", AT(silence_s), 0.01,
     60.0},
    {SETTING_NUMBER, "jitter", "MS", "delays vary by plus or minus this, uniformly (0)",
     AT(jitter_ms), 0.0, 2000.0},
    {SETTING_NUMBER, "loss", "PERCENT", "of datagrams, each way (0)", AT(loss_percent), 0.0, 100.0},
    {SETTING_NUMBER, "drift", "PPM", "clocks drift by up to this (50)", AT(drift_ppm), 0.0, 500.0},
};

// ---------------------------------------------------------------- rows

enum { CELLS = ACCURACY_DELAYS * ACCURACY_MODES };

/// All runs of one motion.
typedef struct Motion {
    const Material *material;
    AccuracyFigures *figures; ///< [run * cells + cell]
    Tally *pooled;            ///< [cell]
    int32_t cells;
    int64_t done, of; ///< Runs of all motions.
} Motion;

typedef double (*FigureFn)(const AccuracyFigures *figures);

static double figure_mean(const AccuracyFigures *f)
{
    return f->mean;
}

static double figure_p95(const AccuracyFigures *f)
{
    return f->p95;
}

static double figure_clock(const AccuracyFigures *f)
{
    return f->clock_ms;
}

/// One figure over all runs; runs count by their samples where `pooled`.
static LabStatus over_runs(const Motion *motion, int32_t cell, FigureFn figure, bool pooled,
                           Estimate *estimate, LabError *error)
{
    int32_t runs = motion->material->run_count;
    double *values = (double *)calloc(2 * (size_t)runs, sizeof *values);
    if (values == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    double *weights = values + runs;
    int32_t count = 0;
    for (int32_t r = 0; r < runs; r++) {
        const AccuracyFigures *f = &motion->figures[r * motion->cells + cell];
        if (f->samples > 0) {
            values[count] = figure(f);
            weights[count++] = pooled ? (double)f->samples : 1.0;
        }
    }
    *estimate = estimate_pooled(values, weights, count);
    free(values);
    return LAB_OK;
}

static void put_estimate(json_t *row, const char *field, double value, Estimate estimate)
{
    row_number(row, field, value);
    if (estimate.count > 1) {
        Text name = {0};
        text_add(&name, "%s_ci95", field);
        row_number(row, text_of(&name), estimate.ci95);
        text_free(&name);
    }
}

static LabStatus add_row(const Motion *motion, const AccuracyPlay *play, int32_t cell, json_t *rows,
                         LabError *error)
{
    Estimate mean = {0};
    Estimate p95 = {0};
    Estimate clock = {0};
    LabStatus status = over_runs(motion, cell, figure_mean, true, &mean, error);
    status = status == LAB_OK ? over_runs(motion, cell, figure_p95, false, &p95, error) : status;
    status = status == LAB_OK ? over_runs(motion, cell, figure_clock, true, &clock, error) : status;
    if (status != LAB_OK) {
        return status;
    }
    const Tally *pooled = &motion->pooled[cell];
    json_t *row = json_object();
    row_text(row, "motion", motion->material->motion);
    row_number(row, "delay_ms", fl_span_seconds(play->delay[cell / play->mode_count]) * 1e3);
    row_text(row, "mode", accuracy_mode_name(play->mode[cell % play->mode_count]));
    put_estimate(row, "mean_error", mean.mean, mean);
    put_estimate(row, "p95_error", tally_quantile(pooled, 0.95), p95);
    row_number(row, "max_error", pooled->max);
    row_number(row, "clock_error_ms", clock.mean);
    return json_array_append_new(rows, row) == 0 ? LAB_OK
                                                 : lab_fail(error, LAB_FAILED, "out of memory");
}

// ---------------------------------------------------------------- running

static AccuracyPlay play_of(const LabRun *run, const AccuracySettings *s, const Material *material,
                            int32_t index)
{
    AccuracyPlay play = accuracy_play_default(material, index, run->seed + (uint64_t)index);
    play.sealed = !run->plain;
    play.delay_count = s->delays_ms.count;
    for (int32_t d = 0; d < play.delay_count; d++) {
        play.delay[d] = fl_span_from_seconds(s->delays_ms.values[d] / 1e3);
    }
    play.jitter = fl_span_from_seconds(s->jitter_ms / 1e3);
    play.loss = s->loss_percent / 100.0;
    play.drift_ppm = s->drift_ppm;
    play.trigger.distance = s->distance;
    play.trigger.silence_ns = fl_span_from_seconds(s->silence_s);
    return play;
}

/// What one run gives.
typedef struct Seen {
    AccuracyFigures figures[ACCURACY_DELAYS * ACCURACY_MODES];
    Tally pooled[ACCURACY_DELAYS * ACCURACY_MODES];
} Seen;

static LabStatus play_unit(const void *def, void *figures, Text *text, LabError *error)
{
    Seen *seen = (Seen *)figures;
    return accuracy_play((const AccuracyPlay *)def, seen->figures, seen->pooled, text, error);
}

static LabStatus run_motion(const LabRun *run, const AccuracySettings *s, Motion *motion,
                            LabResult *result, LabError *error)
{
    const Material *material = motion->material;
    Seen *seen = (Seen *)malloc(sizeof *seen);
    LabStatus status = seen != NULL ? LAB_OK : lab_fail(error, LAB_FAILED, "out of memory");
    for (int32_t r = 0; seen != NULL && r < material->run_count && status == LAB_OK; r++) {
        AccuracyPlay play = play_of(run, s, material, r);
        LabUnit unit =
            lab_unit_of(seen, sizeof *seen, fl_span_seconds(material->runs[r].source.length),
                        "%s/%d", material->motion, (int)r);
        unit.text = r == 0 ? &result->series : NULL;
        status = lab_unit(run->units, &unit, play_unit, &play, error);
        for (int32_t c = 0; c < motion->cells && status == LAB_OK; c++) {
            motion->figures[r * motion->cells + c] = seen->figures[c];
            tally_merge(&motion->pooled[c], &seen->pooled[c]);
        }
        lab_progress(run, ++motion->done, motion->of);
    }
    free(seen);
    AccuracyPlay play = play_of(run, s, material, 0);
    bool known = status == LAB_OK && !lab_units_missing(run->units);
    for (int32_t c = 0; c < motion->cells && known && status == LAB_OK; c++) {
        status = add_row(motion, &play, c, result->rows, error);
    }
    return status;
}

static LabStatus play_motion(const LabRun *run, const AccuracySettings *s, Motion *motion,
                             LabResult *result, LabError *error)
{
    size_t cells = (size_t)motion->cells;
    size_t runs = (size_t)motion->material->run_count;
    motion->pooled = (Tally *)calloc(cells, sizeof *motion->pooled);
    motion->figures = (AccuracyFigures *)calloc(cells * runs, sizeof *motion->figures);
    LabStatus status = motion->pooled != NULL && motion->figures != NULL
                           ? run_motion(run, s, motion, result, error)
                           : lab_fail(error, LAB_FAILED, "out of memory");
    free(motion->pooled);
    free(motion->figures);
    return status;
}

static void series_head(const AccuracySettings *s, Text *series)
{
    text_add(series, "t,motion,x,y,z");
    AccuracyPlay play = accuracy_play_default(NULL, 0, 0);
    for (int32_t d = 0; d < s->delays_ms.count; d++) {
        for (int32_t m = 0; m < play.mode_count; m++) {
            text_add(series, ",%s_%g", accuracy_mode_name(play.mode[m]), s->delays_ms.values[d]);
        }
    }
    text_add(series, "\n");
}

/// Random motion first: a trace that cannot be read is told at once.
static LabStatus make_materials(const LabRun *run, const AccuracySettings *s, Material materials[3],
                                LabError *error)
{
    FlTime length = fl_span_from_seconds(s->length_s);
    LabStatus status = s->trace != NULL ? material_trace(s->trace, fl_span_from_seconds(s->life_s),
                                                         &materials[2], error)
                                        : material_bots(run, length, &materials[2], error);
    status = status == LAB_OK ? material_straight(run, length, &materials[0], error) : status;
    return status == LAB_OK ? material_circle(run, length, &materials[1], error) : status;
}

static LabStatus run_accuracy(const LabRun *run, const void *ctx, LabResult *result,
                              LabError *error)
{
    const AccuracySettings *s = (const AccuracySettings *)ctx;
    if (s->delays_ms.count > ACCURACY_DELAYS) {
        return lab_fail(error, LAB_BAD_INPUT, "--delays: at most %d", (int)ACCURACY_DELAYS);
    }
    Material materials[3] = {0};
    LabStatus status = make_materials(run, s, materials, error);
    series_head(s, &result->series);
    Motion motion = {.cells = s->delays_ms.count * ACCURACY_MODES};
    for (int32_t i = 0; i < 3; i++) {
        motion.of += materials[i].run_count;
    }
    for (int32_t i = 0; i < 3 && status == LAB_OK; i++) {
        motion.material = &materials[i];
        status = play_motion(run, s, &motion, result, error);
    }
    for (int32_t i = 0; i < 3; i++) {
        material_free(&materials[i]);
    }
    return status;
}

static const Column columns[] = {
    {"motion", "motion", -1},          {"delay_ms", "delay ms", 0}, {"mode", "mode", -1},
    {"mean_error", "mean error", 3},   {"p95_error", "p95", 3},     {"max_error", "max", 3},
    {"clock_error_ms", "clock ms", 3},
};

#define CHART_OF(words, material)                                                                  \
    {                                                                                              \
        .kind = CHART_LINES, .title = words ": how far off things are shown", .x = "delay_ms",     \
        .x_title = "one-way delay, ms", .y = "mean_error", .y_title = "mean error, units",         \
        .interval = "mean_error_ci95", .series = "mode", .series_title = "placed by",              \
        .where = "motion=" material                                                                \
    }

static const ChartSpec charts[] = {
    CHART_OF("Straight motion", "linear"),
    CHART_OF("Circular motion", "circular"),
    CHART_OF("Random motion", "random"),
};

const Experiment experiment_accuracy = {
    .name = "accuracy",
    .help = "how far off receivers see things, by global, local and one-way clocks",
    .summary = "One sender; receivers at several delays, three at each: placing updates by the\n"
               "session's clock (global), on arrival (local), by the link's one-way delay\n"
               "(oneway). Straight, circular and random motion. Errors are distances between\n"
               "where the entity really is and where it is shown, every 10 ms.",
    .settings = settings_table,
    .setting_count = (int32_t)(sizeof settings_table / sizeof *settings_table),
    .settings_bytes = sizeof(AccuracySettings),
    .defaults_fn = defaults,
    .run_fn = run_accuracy,
    .has_units = true,
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
    .charts = charts,
    .chart_count = (int32_t)(sizeof charts / sizeof *charts),
};
