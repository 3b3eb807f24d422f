// lab run fairness: how the papers' policies and ours treat receivers at different delays.
#include "lab/experiments/fairness/fairness.h"

#include <stdlib.h>

#include "lab/experiments/fairness/fairness_setup.h"
#include "lab/experiments/fairness/live.h"

typedef struct FairnessSettings {
    FairnessSetup setup;
    const char *policies;
    bool live;
    double live_length_s;
} FairnessSettings;

#define ALL_POLICIES FAIRNESS_PAPERS " equal-0 equal-25 equal-50 equal-75 equal-100"

static void defaults(void *ctx)
{
    FairnessSettings *settings = (FairnessSettings *)ctx;
    *settings = (FairnessSettings){fairness_setup_default(), ALL_POLICIES, false, 40.0};
}

static const Setting settings_table[] = {
    FAIRNESS_SETTINGS(FairnessSettings),
    {SETTING_TEXT, "policies", "LIST", "names with blanks between (all)",
     offsetof(FairnessSettings, policies), 0, 0},
    {SETTING_FLAG, "live", NULL,
     "with processes, sockets and the machine's clock; the rows say beside it what\nvirtual time "
     "gives",
     offsetof(FairnessSettings, live), 0, 0},
    {SETTING_NUMBER, "live-length", "S", "with --live: at most so much of a run (40)",
     offsetof(FairnessSettings, live_length_s), 1.0, 3600.0},
};

// ---------------------------------------------------------------- live

static LabStatus play_live_unit(const void *def, void *figures, Text *text, LabError *error)
{
    (void)text;
    return fairness_live((const FairnessPlay *)def, (FairnessFigures *)figures, error);
}

/// Every run twice: live, and in virtual time. figures: those of all runs live, then the others.
static LabStatus play_live(const LabRun *run, FairnessPlay *play, const Material *material,
                           FairnessProgress *progress, FairnessFigures *figures, LabError *error)
{
    LabStatus status = LAB_OK;
    size_t cells = (size_t)material->run_count * (size_t)play->policy_count;
    for (int32_t r = 0; r < material->run_count && status == LAB_OK; r++) {
        play->material = material;
        play->run = r;
        play->seed = run->seed + (uint64_t)r;
        LabUnit unit = lab_unit_of(&figures[r * play->policy_count],
                                   (size_t)play->policy_count * sizeof *figures, 1.0, "live/%g/%d",
                                   fl_span_seconds(play->jitter) * 1e3, (int)r);
        status = lab_unit(run->units, &unit, play_live_unit, play, error);
        lab_progress(run, ++progress->done, progress->of);
    }
    return status == LAB_OK
               ? fairness_play_runs(run, play, material, progress, figures + cells, NULL, error)
               : status;
}

static LabStatus run_live(const LabRun *run, const FairnessSettings *s, FairnessPlay *play,
                          Material *material, LabResult *result, LabError *error)
{
    size_t cells = (size_t)material->run_count * (size_t)play->policy_count;
    FairnessFigures *figures = (FairnessFigures *)calloc(2 * cells, sizeof *figures);
    if (figures == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    LabStatus status = LAB_OK;
    const LabNumbers *jitter = &s->setup.jitter_ms;
    FairnessProgress progress = {0, (int64_t)2 * jitter->count * material->run_count};
    FlTime most = fl_span_from_seconds(s->live_length_s);
    for (int32_t r = 0; r < material->run_count; r++) {
        Source *source = &material->runs[r].source;
        source->length = source->length < most ? source->length : most;
    }
    for (int32_t j = 0; j < jitter->count && status == LAB_OK; j++) {
        play->jitter = fl_span_from_seconds(jitter->values[j] / 1e3);
        status = play_live(run, play, material, &progress, figures, error);
        for (int32_t p = 0; p < play->policy_count && status == LAB_OK; p++) {
            FairnessSummary live = fairness_summary(play, figures, material->run_count, p);
            FairnessSummary virtual = fairness_summary(play, figures + cells, material->run_count,
                                                       p);
            json_t *row = fairness_row(play, &live, material->run_count, p);
            row_number(row, "virtual_updates_sent", virtual.updates_sent);
            row_number(row, "virtual_mean_aee", virtual.mean.mean);
            row_number(row, "virtual_sd_aee", virtual.sd.mean);
            row_number(row, "virtual_mean_ci95", virtual.mean.ci95);
            row_number(row, "virtual_sd_ci95", virtual.sd.ci95);
            (void)json_array_append_new(result->rows, row);
        }
    }
    free(figures);
    return status;
}

// ---------------------------------------------------------------- in virtual time

static LabStatus run_all(const LabRun *run, const FairnessSettings *s, FairnessPlay *play,
                         const Material *material, LabResult *result, LabError *error)
{
    size_t cells = (size_t)material->run_count * (size_t)play->policy_count;
    FairnessFigures *figures = (FairnessFigures *)calloc(cells, sizeof *figures);
    if (figures == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    LabStatus status = LAB_OK;
    const LabNumbers *jitter = &s->setup.jitter_ms;
    FairnessProgress progress = {0, (int64_t)jitter->count * material->run_count};
    fairness_series_head(play, &result->series);
    for (int32_t j = 0; j < jitter->count && status == LAB_OK; j++) {
        play->jitter = fl_span_from_seconds(jitter->values[j] / 1e3);
        status = fairness_play_runs(run, play, material, &progress, figures,
                                    j == 0 ? &result->series : NULL, error);
        bool known = status == LAB_OK && !lab_units_missing(run->units);
        for (int32_t p = 0; p < play->policy_count && known; p++) {
            FairnessSummary summary = fairness_summary(play, figures, material->run_count, p);
            json_t *row = fairness_row(play, &summary, material->run_count, p);
            (void)json_array_append_new(result->rows, row);
        }
    }
    free(figures);
    return status;
}

static LabStatus run_fairness(const LabRun *run, const void *ctx, LabResult *result,
                              LabError *error)
{
    const FairnessSettings *s = (const FairnessSettings *)ctx;
    FairnessPlay play;
    Material material = {0};
    LabStatus status = fairness_setup_play(run, &s->setup, &play, error);
    status = status == LAB_OK ? fairness_add_list(&play, s->policies, error) : status;
    status = status == LAB_OK ? fairness_setup_material(run, &s->setup, &material, error) : status;
    if (status == LAB_OK) {
        status = s->live ? run_live(run, s, &play, &material, result, error)
                         : run_all(run, s, &play, &material, result, error);
    }
    material_free(&material);
    return status;
}

static const Column columns[] = {
    {"policy", "policy", -1},
    {"jitter_ms", "jitter ms", 0},
    {"runs", "runs", 0},
    {"updates_sent", "updates", 0},
    {"mean_aee", "mean AEE", 3},
    {"mean_ci95", "+-", 3},
    {"sd_aee", "sd AEE", 3},
    {"sd_ci95", "+-", 3},
    {"virtual_mean_aee", "virtual mean", 3},
    {"virtual_sd_aee", "virtual sd", 3},
};

static const ChartSpec charts[] = {
    {.kind = CHART_DOTS,
     .title = "How accurate: the mean of the receivers' accumulated errors",
     .x = "policy",
     .x_title = "policy",
     .y = "mean_aee",
     .y_title = "mean AEE of the receivers, units × s",
     .interval = "mean_ci95",
     .series = "jitter_ms",
     .series_title = "jitter, ms"},
    {.kind = CHART_DOTS,
     .title = "How fair: the deviation among the receivers' accumulated errors",
     .x = "policy",
     .x_title = "policy",
     .y = "sd_aee",
     .y_title = "standard deviation of AEE, units × s",
     .interval = "sd_ci95",
     .series = "jitter_ms",
     .series_title = "jitter, ms"},
};

const Experiment experiment_fairness = {
    .name = "fairness",
    .help = "how equally receivers at different delays see things, by policy",
    .summary = "One sender, receivers at several delays. Every policy faces the same triggers in\n"
               "the same session. A receiver's accumulated export error (AEE) is the distance\n"
               "between what was exported and what it shows, integrated over time (units x s);\n"
               "its mean over receivers says how accurate a policy is, its deviation how fair.",
    .settings = settings_table,
    .setting_count = (int32_t)(sizeof settings_table / sizeof *settings_table),
    .settings_bytes = sizeof(FairnessSettings),
    .defaults_fn = defaults,
    .run_fn = run_fairness,
    .has_units = true,
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
    .charts = charts,
    .chart_count = (int32_t)(sizeof charts / sizeof *charts),
};
