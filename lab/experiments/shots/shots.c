// lab run shots: rewound poses and verdicts against what was drawn, beside the usual way.
#include "lab/experiments/shots/shots.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lab/experiments/experiment.h"

// ---------------------------------------------------------------- settings

typedef struct ShotsSettings {
    const char *trace;
    LabNumbers rtts_ms;
    double jitter_ms, loss_percent;
    int64_t shots;
    double rate_hz, radius, unit_cm, rewind_ms, length_s, life_s;
    bool relayed;
} ShotsSettings;

static void defaults(void *ctx)
{
    ShotsSettings *settings = (ShotsSettings *)ctx;
    *settings = (ShotsSettings){
        .rtts_ms = {.values = {20.0, 60.0, 120.0, 200.0, 300.0}, .count = 5},
        .jitter_ms = 10.0,
        .loss_percent = 2.0,
        .shots = 10000,
        .rate_hz = 10.0,
        .radius = 1.4,
        .unit_cm = 100.0,
        .rewind_ms = 1000.0,
        .length_s = 60.0,
        .life_s = 2.0,
    };
}

#define AT(field) offsetof(ShotsSettings, field)

static const Setting settings_table[] = {
    {SETTING_TEXT, "trace", "FILE", "a recorded game (the tank game's bots, one per run)",
     AT(trace), 0, 0},
    {SETTING_NUMBERS, "rtt", "MS[,MS...]", "round trips, a client each (20,60,120,200,300)",
     AT(rtts_ms), 0.0, 2000.0},
    {SETTING_NUMBER, "jitter", "MS", "each way is so much longer or shorter, by chance (10)",
     AT(jitter_ms), 0.0, 1000.0},
    {SETTING_NUMBER, "loss", "PERCENT", "of datagrams, each way (2)", AT(loss_percent), 0.0, 50.0},
    {SETTING_INTEGER, "shots", "N", "in all, for each way of showing (10000)", AT(shots), 1, 1e7},
    {SETTING_NUMBER, "rate", "HZ", "shots a second and client (10)", AT(rate_hz), 0.1, 60.0},
    {SETTING_NUMBER, "radius", "UNITS", "of a target (1.4, half a tank's width)", AT(radius), 0.01,
     1000.0},
    {SETTING_NUMBER, "unit", "CM", "of a unit of the recording (100; Quake's 3.2)", AT(unit_cm),
     0.01, 1e5},
    {SETTING_NUMBER, "rewind", "MS", "how far back the judge goes (1000)", AT(rewind_ms), 1.0,
     2000.0},
    {SETTING_NUMBER, "length", "S", "of a play, at most the recording's (60)", AT(length_s), 5.0,
     1e4},
    {SETTING_NUMBER, "life", "S", "with --trace: only lives of at least this (2)", AT(life_s), 0.0,
     1e6},
    {SETTING_FLAG, "relayed", NULL, "clients own what moves, and the host passes it on",
     AT(relayed), 0, 0},
};

// ---------------------------------------------------------------- rows

static double percent(int64_t part, int64_t of)
{
    return of > 0 ? 100.0 * (double)part / (double)of : (double)NAN;
}

static LabStatus add_row(json_t *rows, const ShotsSettings *s, const ShotsView *view, int32_t judge,
                         double rtt_ms, const ShotsFigures *f, LabError *error)
{
    json_t *row = json_object();
    row_text(row, "view", view->name);
    row_text(row, "judge", shots_judge_words[judge]);
    row_number(row, "rtt_ms", rtt_ms);
    row_number(row, "shots", (double)f->shots);
    row_number(row, "poses", (double)f->poses);
    row_number(row, "exact_percent", percent(f->exact, f->poses));
    row_number(row, "median_cm", s->unit_cm * tally_quantile(&f->error, 0.5));
    row_number(row, "p99_cm", s->unit_cm * tally_quantile(&f->error, 0.99));
    row_number(row, "max_cm", s->unit_cm * f->error.max);
    row_number(row, "hit_percent", percent(f->hits, f->shots));
    row_number(row, "differ_percent", percent(f->differ, f->shots));
    row_number(row, "waited_percent", percent(f->waited, f->shots));
    row_number(row, "refused_percent", percent(f->refused, f->shots));
    row_number(row, "behind_percent", percent(f->behind, f->behind + f->poses));
    return json_array_append_new(rows, row) == 0 ? LAB_OK
                                                 : lab_fail(error, LAB_FAILED, "out of memory");
}

static void add_up(ShotsFigures *all, const ShotsFigures *f)
{
    all->shots += f->shots;
    all->poses += f->poses;
    all->exact += f->exact;
    all->hits += f->hits;
    all->differ += f->differ;
    all->waited += f->waited;
    all->refused += f->refused;
    all->behind += f->behind;
    tally_merge(&all->error, &f->error);
}

/// A row for each client, and one for all of them (rtt_ms null).
static LabStatus add_rows(json_t *rows, const ShotsSettings *s, const ShotsView *view,
                          ShotsFigures (*figures)[SHOTS_CLIENTS], ShotsFigures *all,
                          LabError *error)
{
    LabStatus status = LAB_OK;
    for (int32_t j = 0; j < view->judge_count && status == LAB_OK; j++) {
        memset(all, 0, sizeof *all);
        for (int32_t c = 0; c < s->rtts_ms.count && status == LAB_OK; c++) {
            status = add_row(rows, s, view, j, s->rtts_ms.values[c], &figures[j][c], error);
            add_up(all, &figures[j][c]);
        }
        status = status == LAB_OK ? add_row(rows, s, view, j, (double)NAN, all, error) : status;
    }
    return status;
}

// ---------------------------------------------------------------- running

typedef struct Work {
    const LabRun *run;
    const ShotsSettings *settings;
    const Material *material;
    ShotsFigures (*figures)[SHOTS_CLIENTS];
    int64_t done, of;
} Work;

/// As many plays as make the shots; each with a luck of its own.
static LabStatus play_view(Work *work, const ShotsView *view, FlTime length, int32_t plays,
                           LabError *error)
{
    const ShotsSettings *s = work->settings;
    LabStatus status = LAB_OK;
    memset(work->figures, 0, SHOTS_JUDGES * sizeof *work->figures);
    for (int32_t i = 0; i < plays && status == LAB_OK; i++) {
        ShotsPlay play = {
            .material = work->material,
            .view = view,
            .seed = fl_random_at(work->run->seed, 700, (uint64_t)i),
            .sealed = !work->run->plain,
            .relayed = s->relayed,
            .client_count = s->rtts_ms.count,
            .jitter = fl_span_from_seconds(s->jitter_ms / 1e3),
            .loss = s->loss_percent / 100.0,
            .rate_hz = s->rate_hz,
            .radius = s->radius,
            .rewind_ns = fl_span_from_seconds(s->rewind_ms / 1e3),
            .length = length,
        };
        for (int32_t c = 0; c < play.client_count; c++) {
            play.delay[c] = fl_span_from_seconds(s->rtts_ms.values[c] / 2e3);
        }
        status = shots_play(&play, work->figures, error);
        lab_progress(work->run, ++work->done, work->of);
    }
    return status;
}

static LabStatus play_all(Work *work, json_t *rows, LabError *error)
{
    const ShotsSettings *s = work->settings;
    FlTime longest = 0;
    for (int32_t i = 0; i < work->material->run_count; i++) {
        longest = work->material->runs[i].source.length > longest
                      ? work->material->runs[i].source.length
                      : longest;
    }
    FlTime length = fl_time_min(fl_span_from_seconds(s->length_s), longest);
    double each = s->rate_hz * (double)s->rtts_ms.count * (fl_span_seconds(length) - 3.0);
    if (!(each >= 1.0)) {
        return lab_fail(error, LAB_BAD_INPUT,
                        "the recording is too short: nothing is shot in the "
                        "first three seconds");
    }
    int32_t plays = (int32_t)ceil((double)s->shots / each);
    work->of = (int64_t)plays * SHOTS_VIEWS;
    ShotsFigures *all = (ShotsFigures *)calloc(1, sizeof *all);
    if (all == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    LabStatus status = LAB_OK;
    for (int32_t v = 0; v < SHOTS_VIEWS && status == LAB_OK; v++) {
        status = play_view(work, &shots_views[v], length, plays, error);
        if (status == LAB_OK) {
            status = add_rows(rows, s, &shots_views[v], work->figures, all, error);
        }
    }
    free(all);
    return status;
}

static LabStatus run_shots(const LabRun *run, const void *ctx, LabResult *result, LabError *error)
{
    const ShotsSettings *s = (const ShotsSettings *)ctx;
    if (s->rtts_ms.count > SHOTS_CLIENTS) {
        return lab_fail(error, LAB_BAD_INPUT, "--rtt: at most %d", (int)SHOTS_CLIENTS);
    }
    Material material = {0};
    LabStatus status =
        s->trace != NULL
            ? material_trace(s->trace, fl_span_from_seconds(s->life_s), &material, error)
            : material_bots(run, fl_span_from_seconds(s->length_s), &material, error);
    if (status != LAB_OK) {
        return status;
    }
    Work work = {.run = run, .settings = s, .material = &material};
    work.figures = (ShotsFigures(*)[SHOTS_CLIENTS])calloc(SHOTS_JUDGES, sizeof *work.figures);
    status = work.figures != NULL ? play_all(&work, result->rows, error)
                                  : lab_fail(error, LAB_FAILED, "out of memory");
    free(work.figures);
    material_free(&material);
    return status;
}

static const Column columns[] = {
    {"view", "shown", -1},
    {"judge", "judged by", -1},
    {"rtt_ms", "round trip ms", 0},
    {"shots", "shots", 0},
    {"exact_percent", "exact %", 2},
    {"median_cm", "median cm", 2},
    {"p99_cm", "p99 cm", 2},
    {"max_cm", "max cm", 1},
    {"hit_percent", "hits %", 1},
    {"differ_percent", "differ %", 3},
    {"waited_percent", "waited %", 2},
    {"refused_percent", "refused %", 2},
    {"behind_percent", "behind %", 3},
};

static const ChartSpec charts[] = {
    {.kind = CHART_LINES,
     .title = "Verdicts that differ from the screen",
     .x = "rtt_ms",
     .x_title = "round trip, ms",
     .y = "differ_percent",
     .y_title = "% of shots",
     .series = "judge",
     .where = "view=interpolated"},
};

const Experiment experiment_shots = {
    .name = "shots",
    .help = "whether a judge finds what was on the shooter's screen, beside the usual way",
    .summary =
        "A host owns all that moves in a recording and judges; a client per round trip draws\n"
        "sixty frames a second and shoots at what it draws. \"cm\" is the distance of what the\n"
        "judge takes for the shooter's picture from what was drawn, over all that was drawn;\n"
        "\"differ\": another verdict than on the screen. Judged by rewind: fl_rewind_to. Beside\n"
        "it, on the same shots at interpolating clients, the true path as of a round trip and\n"
        "the interpolation delay ago (ping), or of the shot's time less what is shown behind\n"
        "(stamp).",
    .settings = settings_table,
    .setting_count = (int32_t)(sizeof settings_table / sizeof *settings_table),
    .settings_bytes = sizeof(ShotsSettings),
    .defaults_fn = defaults,
    .run_fn = run_shots,
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
    .charts = charts,
    .chart_count = (int32_t)(sizeof charts / sizeof *charts),
};
