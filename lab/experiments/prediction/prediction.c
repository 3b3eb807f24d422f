// lab run prediction: how often players are corrected where the host decides.
#include "lab/experiments/prediction/prediction.h"

#include <stddef.h>

#include "lab/figures/stats.h"

enum { RUNS_MOST = 64 };

typedef struct PredictionSettings {
    LabNumbers rtt_ms, jitter_ms, loss;
    int64_t players, send_hz;
    double seconds, burst_ms;
} PredictionSettings;

static void defaults(void *ctx)
{
    *(PredictionSettings *)ctx = (PredictionSettings){
        .rtt_ms = {{20.0, 80.0, 200.0}, 3},
        .jitter_ms = {{0.0, 5.0}, 2},
        .loss = {{0.0, 3.0}, 2},
        .players = 4,
        .send_hz = 20,
        .seconds = 60.0,
    };
}

#define AT(field) offsetof(PredictionSettings, field)

static const Setting settings_table[] = {
    {SETTING_NUMBERS, "rtt", "MS", "round trips (20,80,200)", AT(rtt_ms), 0, 1000},
    {SETTING_NUMBERS, "jitter", "MS", "deviation of the delay one way (0,5)", AT(jitter_ms), 0,
     200},
    {SETTING_NUMBERS, "loss", "PERCENT", "of packets, each way (0,3)", AT(loss), 0, 50},
    {SETTING_NUMBER, "burst", "MS", "every 5 s nothing gets through for so long; 0: never (0)",
     AT(burst_ms), 0, 2000},
    {SETTING_INTEGER, "players", "N", "bots (4)", AT(players), 1, PREDICTION_PLAYERS},
    {SETTING_INTEGER, "states", "HZ", "of the host to each player (20)", AT(send_hz), 1, 60},
    {SETTING_NUMBER, "seconds", "S", "that count, after 10 of warm-up (60)", AT(seconds), 1, 36000},
};

static LabStatus play_unit(const void *def, void *figures, Text *text, LabError *error)
{
    (void)text;
    return prediction_play((const PredictionPlay *)def, (PredictionFigures *)figures, error);
}

// ---------------------------------------------------------------- rows

typedef double (*FigureFn)(const PredictionFigures *f);

static double corrections(const PredictionFigures *f)
{
    return f->corrections / f->minutes;
}

static double length_cm(const PredictionFigures *f)
{
    return f->corrections > 0.0 ? 100.0 * f->correction_sum / f->corrections : 0.0;
}

static double longest_cm(const PredictionFigures *f)
{
    return 100.0 * f->correction_max;
}

static double missed(const PredictionFigures *f)
{
    return f->missed / f->minutes;
}

static double replayed(const PredictionFigures *f)
{
    return f->replayed / (60.0 * f->minutes);
}

static double lead(const PredictionFigures *f)
{
    return f->lead_ms;
}

static double jump_cm(const PredictionFigures *f)
{
    return 100.0 * f->jump;
}

static double up(const PredictionFigures *f)
{
    return f->up_bytes / (60.0 * f->minutes);
}

static double down(const PredictionFigures *f)
{
    return f->down_bytes / (60.0 * f->minutes);
}

static const struct {
    const char *field;
    FigureFn fn;
} FIELDS[] = {
    {"corrections_min", corrections},
    {"correction_cm", length_cm},
    {"longest_cm", longest_cm},
    {"missed_min", missed},
    {"replayed_s", replayed},
    {"lead_ms", lead},
    {"jump_cm", jump_cm},
    {"up_bytes_s", up},
    {"down_bytes_s", down},
};

static json_t *row_of(const PredictionPlay *play, const PredictionFigures *figures, int32_t runs)
{
    json_t *row = json_object();
    row_number(row, "rtt_ms", 2.0 * (double)play->way_ns / 1e6);
    row_number(row, "jitter_ms", (double)play->jitter_ns / 1e6);
    row_number(row, "loss", (double)play->loss_ppm / 1e4);
    row_number(row, "runs", runs);
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        double values[RUNS_MOST];
        for (int32_t r = 0; r < runs; r++) {
            values[r] = FIELDS[i].fn(&figures[r]);
        }
        Estimate estimate = estimate_mean(values, runs);
        row_number(row, FIELDS[i].field, estimate.mean);
        if (i == 0) {
            row_number(row, "corrections_min_ci95", estimate.ci95);
        }
    }
    return row;
}

// ---------------------------------------------------------------- running

static LabStatus play_row(const LabRun *run, PredictionPlay play, LabResult *result,
                          LabError *error)
{
    PredictionFigures figures[RUNS_MOST] = {{0}};
    LabStatus status = LAB_OK;
    for (int32_t r = 0; r < run->runs && status == LAB_OK; r++) {
        play.seed = fl_random_at(run->seed, 2200, (uint64_t)r);
        LabUnit unit = lab_unit_of(
            &figures[r], sizeof figures[r], fl_span_seconds(play.span) / 60.0, "%g/%g/%g/%d",
            (double)play.way_ns / 1e6, (double)play.jitter_ns / 1e6, (double)play.loss_ppm, (int)r);
        status = lab_unit(run->units, &unit, play_unit, &play, error);
    }
    if (status == LAB_OK && !lab_units_missing(run->units)) {
        (void)json_array_append_new(result->rows, row_of(&play, figures, run->runs));
    }
    return status;
}

static LabStatus run_prediction(const LabRun *run, const void *ctx, LabResult *result,
                                LabError *error)
{
    const PredictionSettings *s = (const PredictionSettings *)ctx;
    if (run->runs > RUNS_MOST) {
        return lab_fail(error, LAB_BAD_INPUT, "--runs: at most %d", (int)RUNS_MOST);
    }
    int32_t rows = s->rtt_ms.count * s->jitter_ms.count * s->loss.count;
    LabStatus status = LAB_OK;
    for (int32_t i = 0; i < rows && status == LAB_OK; i++) {
        double rtt = s->rtt_ms.values[i / (s->jitter_ms.count * s->loss.count)];
        double jitter = s->jitter_ms.values[i / s->loss.count % s->jitter_ms.count];
        double loss = s->loss.values[i % s->loss.count];
        PredictionPlay play = {.players = (int32_t)s->players,
                               .way_ns = (FlTime)(rtt * 0.5e6),
                               .jitter_ns = (FlTime)(jitter * 1e6),
                               .loss_ppm = (int32_t)(loss * 1e4),
                               .burst_ns = (FlTime)(s->burst_ms * 1e6),
                               .span = fl_span_from_seconds(s->seconds),
                               .send_hz = (int32_t)s->send_hz,
                               .sealed = !run->plain};
        status = play_row(run, play, result, error);
        lab_progress(run, i + 1, rows);
    }
    return status;
}

static const Column columns[] = {
    {"rtt_ms", "round trip ms", 0},  {"jitter_ms", "jitter ms", 0},
    {"loss", "loss %", 0},           {"corrections_min", "corrections/min", 2},
    {"correction_cm", "cm each", 1}, {"longest_cm", "longest", 0},
    {"missed_min", "missed/min", 2}, {"replayed_s", "replayed/s", 2},
    {"lead_ms", "lead ms", 0},       {"jump_cm", "jump cm", 1},
    {"up_bytes_s", "up B/s", 0},     {"down_bytes_s", "down B/s", 0},
};

static const ChartSpec charts[] = {
    {.kind = CHART_DOTS,
     .title = "Corrections above 1 cm",
     .x = "rtt_ms",
     .x_title = "round trip, ms",
     .y = "corrections_min",
     .y_title = "a minute and player",
     .interval = "corrections_min_ci95",
     .series = "loss"},
};

const Experiment experiment_prediction = {
    .name = "prediction",
    .help = "how often players are corrected where the host decides and they predict",
    .summary = "Bots drive tanks that the host owns: they send inputs, predict their own tank and\n"
               "are corrected. Counted are corrections above 1 cm, a minute and player; inputs\n"
               "that came too late; how far a player plays before the host (lead); and the\n"
               "longest that a picture moved between two frames beyond the top speed (jump).\n"
               "Nothing is hit here: what the host decides none can foresee.",
    .settings = settings_table,
    .setting_count = (int32_t)(sizeof settings_table / sizeof *settings_table),
    .settings_bytes = sizeof(PredictionSettings),
    .defaults_fn = defaults,
    .run_fn = run_prediction,
    .has_units = true,
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
    .charts = charts,
    .chart_count = (int32_t)(sizeof charts / sizeof *charts),
};
