// How unequally receivers at different delays see an entity, by the policy that sends to them.
//
// One sender, which hosts; receivers at several one-way delays. The same motion is told once per
// policy, as entities of their own in the same session, so that all policies face the same triggers
// and the same network (the papers mark their packets per policy; these are marked by the entity's
// number). What counts is the export error: how far a receiver's placed path is from the exported
// one, which is that of all triggers; integrated over true time.
#ifndef LAB_FAIRNESS_H
#define LAB_FAIRNESS_H

#include "lab/actors/material.h"
#include "lab/experiments/experiment.h"
#include "lab/figures/stats.h"
#include "lab/world/world.h"

enum { FAIRNESS_RECEIVERS = 16, FAIRNESS_POLICIES = 96 };

/// A network that changes: what the ways between the sender and a receiver do at a time of the
/// motion.
typedef struct FairnessWeather {
    void (*ways_fn)(const void *ctx, int32_t receiver, FlTime time, FlImpairSettings *out,
                    FlImpairSettings *back);
    const void *ctx; ///< Borrowed.
    FlTime every;    ///< It changes so often; above 0.
} FairnessWeather;

/// One run to be played.
typedef struct FairnessPlay {
    const Material *material;
    int32_t run; ///< Which of its runs.
    uint64_t seed;
    bool sealed;
    FlTime delay[FAIRNESS_RECEIVERS]; ///< Mean, one way.
    int32_t receiver_count;
    FlTime jitter;                  ///< Plus or minus, uniform, each way; no delay is negative.
    const FairnessWeather *weather; ///< In place of delay and jitter; NULL: these, all the time.
    FlModel model;
    FlTriggerDef trigger;
    FlSend policy[FAIRNESS_POLICIES];
    int32_t policy_count;
} FairnessPlay;

/// 800, 500 and 200 ms, no jitter, 0.09 units, a second of silence, linear; no policies yet.
FairnessPlay fairness_play_default(const Material *material, int32_t run, uint64_t seed);

/// Adds a policy by its name. False: there is none of that name, or no room.
FL_NODISCARD bool fairness_add_policy(FairnessPlay *play, const char *name);

/// What one policy did in one run. Errors are in units times seconds.
typedef struct FairnessFigures {
    int64_t updates_sent; ///< To all receivers together.
    double mean, sd;      ///< Of the receivers' accumulated errors; population deviation.
    double aee[FAIRNESS_RECEIVERS];
    double ledger[FAIRNESS_RECEIVERS]; ///< The same as the sender's ledger has it.
    int64_t updates_to[FAIRNESS_RECEIVERS];
} FairnessFigures;

/// Plays it; `figures` has one entry per policy. `series` (or NULL) gets a line every 100 ms.
LabStatus fairness_play(const FairnessPlay *def, FairnessFigures *figures, Text *series,
                        LabError *error);

/// The columns of the series.
void fairness_series_head(const FairnessPlay *play, Text *series);

/// Lets every life of every run begin right after the one before. Between lives there is nothing to
/// be seen, so nothing is counted; but a sender that has stopped telling would still predict, and
/// its ledger would count what nobody sees.
void fairness_close_gaps(Material *material);

/// Mean and population deviation.
void fairness_spread(const double *values, int32_t count, double *mean, double *sd);

#endif
