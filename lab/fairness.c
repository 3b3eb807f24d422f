// lab run fairness: how the papers' policies and ours treat receivers at different delays.
#include "lab/fairness.h"

#include <stdlib.h>

#include "lab/fairness_setup.h"

typedef struct FairnessSettings {
    FairnessSetup setup;
    const char *policies;
} FairnessSettings;

#define ALL_POLICIES FAIRNESS_PAPERS " equal-0 equal-25 equal-50 equal-75 equal-100"

static void defaults(void *ctx)
{
    FairnessSettings *settings = (FairnessSettings *)ctx;
    *settings = (FairnessSettings){fairness_setup_default(), ALL_POLICIES};
}

static const Setting settings_table[] = {
    FAIRNESS_SETTINGS(FairnessSettings),
    {SETTING_TEXT, "policies", "LIST", "names with blanks between (all)",
     offsetof(FairnessSettings, policies), 0, 0},
};

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
        for (int32_t p = 0; p < play->policy_count && status == LAB_OK; p++) {
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
    status = status == LAB_OK ? run_all(run, s, &play, &material, result, error) : status;
    material_free(&material);
    return status;
}

static const Column columns[] = {
    {"policy", "policy", -1},       {"jitter_ms", "jitter ms", 0}, {"runs", "runs", 0},
    {"updates_sent", "updates", 0}, {"mean_aee", "mean AEE", 3},   {"mean_ci95", "+-", 3},
    {"sd_aee", "sd AEE", 3},        {"sd_ci95", "+-", 3},
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
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
};
