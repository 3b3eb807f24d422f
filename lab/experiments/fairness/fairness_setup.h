// What the experiments on fairness have in common: the same settings, the same way to many runs.
#ifndef LAB_FAIRNESS_SETUP_H
#define LAB_FAIRNESS_SETUP_H

#include <stddef.h>

#include "lab/experiments/fairness/fairness.h"

/// Settings as given.
typedef struct FairnessSetup {
    const char *trace;
    const char *entity;
    const char *model;
    LabNumbers delays_ms;
    LabNumbers jitter_ms;
    double length_s;
    double distance;
    double silence_s;
} FairnessSetup;

/// 800, 500, 200 ms, no jitter, 0.09 units, a second, linear, bots for 350 s.
FairnessSetup fairness_setup_default(void);

/// The rows of a settings table; `Type` has a FairnessSetup called `setup`.
#define FAIRNESS_SETTINGS(Type)                                                                    \
    {SETTING_TEXT,                                                                                 \
     "trace",                                                                                      \
     "FILE",                                                                                       \
     "motion from a recorded game, one run per entity with all its lives\n(the tank game's bots, " \
     "one run per seed)",                                                                          \
     offsetof(Type, setup.trace),                                                                  \
     0,                                                                                            \
     0},                                                                                           \
        {SETTING_TEXT,                                                                             \
         "entity",                                                                                 \
         "ID",                                                                                     \
         "with --trace: this entity only",                                                         \
         offsetof(Type, setup.entity),                                                             \
         0,                                                                                        \
         0},                                                                                       \
        {SETTING_NUMBERS,                                                                          \
         "jitter",                                                                                 \
         "MS[,MS...]",                                                                             \
         "delays vary by plus or minus this, uniformly (0)",                                       \
         offsetof(Type, setup.jitter_ms),                                                          \
         0.0,                                                                                      \
         4000.0},                                                                                  \
        {SETTING_NUMBERS,                                                                          \
         "delays",                                                                                 \
         "MS[,MS...]",                                                                             \
         "mean one-way delays of the receivers (800,500,200)",                                     \
         offsetof(Type, setup.delays_ms),                                                          \
         0.0,                                                                                      \
         4000.0},                                                                                  \
        {SETTING_NUMBER,                                                                           \
         "distance",                                                                               \
         "D",                                                                                      \
         "threshold of an update, in units (0.09)",                                                \
         offsetof(Type, setup.distance),                                                           \
         1e-6,                                                                                     \
         1e6},                                                                                     \
        {SETTING_NUMBER,                                                                           \
         "silence",                                                                                \
         "S",                                                                                      \
         "an update at least this often (1)",                                                      \
         offsetof(Type, setup.silence_s),                                                          \
         0.01,                                                                                     \
         60.0},                                                                                    \
        {SETTING_TEXT,                                                                             \
         "model",                                                                                  \
         "M",                                                                                      \
         "linear, circular, quadratic or auto (linear)",                                           \
         offsetof(Type, setup.model),                                                              \
         0,                                                                                        \
         0},                                                                                       \
    {                                                                                              \
        SETTING_NUMBER, "length", "S", "length of a run, without --trace (350)",                   \
            offsetof(Type, setup.length_s), 1.0, 1e5                                               \
    }

/// What to play, but for its policies, its material and its jitter.
LabStatus fairness_setup_play(const LabRun *run, const FairnessSetup *setup, FairnessPlay *play,
                              LabError *error);

/// What to play it with; to be freed by the caller.
LabStatus fairness_setup_material(const LabRun *run, const FairnessSetup *setup, Material *material,
                                  LabError *error);

/// Adds the policies of a list with blanks between.
LabStatus fairness_add_list(FairnessPlay *play, const char *list, LabError *error);

/// The papers' policies, in their usual order.
#define FAIRNESS_PAPERS                                                                            \
    "base base/3 schedule1 schedule1-thesis schedule2 "                                            \
    "probabilistic probabilistic-0,1,0 probabilistic-0,0,1 probabilistic-1,1,1 "                   \
    "probabilistic-1,1,0 probabilistic-2005 probabilistic-fixed "                                  \
    "deterministic deterministic-0,1,0 deterministic-0,0,1 deterministic-1,1,1 "                   \
    "deterministic-1,1,0"

// ---------------------------------------------------------------- many runs

/// How far a long experiment is.
typedef struct FairnessProgress {
    int64_t done, of;
} FairnessProgress;

/// All runs of a material: figures[run * policy_count + policy]. The series is of the first.
LabStatus fairness_play_runs(const LabRun *run, FairnessPlay *play, const Material *material,
                             FairnessProgress *progress, FairnessFigures *figures, Text *series,
                             LabError *error);

/// What a policy did in all runs, averaged.
typedef struct FairnessSummary {
    double updates_sent;
    Estimate mean, sd;
    double aee[FAIRNESS_RECEIVERS];
} FairnessSummary;

/// `figures` as fairness_play_runs filled them in.
FairnessSummary fairness_summary(const FairnessPlay *play, const FairnessFigures *figures,
                                 int32_t runs, int32_t policy);

/// A row with the fields that the issue names.
json_t *fairness_row(const FairnessPlay *play, const FairnessSummary *summary, int32_t runs,
                     int32_t policy);

#endif
