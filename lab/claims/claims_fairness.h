// What the claims on fairness are judged by: one set of runs, shared by all of them.
#ifndef LAB_CLAIMS_FAIRNESS_H
#define LAB_CLAIMS_FAIRNESS_H

#include "lab/claims/claims.h"
#include "lab/experiments/fairness/fairness.h"

enum { JITTER_0, JITTER_100, JITTER_180, JITTERS };

/// Those up to MAIN are played at every jitter, the others at none only; those from QUICK on by the
/// full run only.
enum {
    BASE,
    THIRD, // base/3
    ONE,   // schedule1, of 2005
    ONE_THESIS,
    TWO, // schedule2
    CHANCE,
    TABLE, // deterministic
    MAIN,
    CHANCE_RECENT = MAIN,
    CHANCE_WAITING,
    CHANCE_ALL,
    CHANCE_ERRORS,
    CHANCE_FIXED,
    CHANCE_APPENDIX, // with waiting as appendix B has it
    CHANCE_APPENDIX_ALL,
    QUICK,
    TABLE_RECENT = QUICK,
    TABLE_WAITING,
    TABLE_ALL,
    TABLE_ERRORS,
    TABLE_APPENDIX,
    TABLE_APPENDIX_ALL,
    POLICIES
};

enum { CLAIM_RUNS = 64, THRESHOLD_RUNS_QUICK = 4, FAR = 0, MIDDLE, NEAR, RECEIVERS };

/// The names, for fairness_add_policy.
extern const char *const claim_policies[POLICIES];

/// All runs of one material.
typedef struct Played {
    const char *name;
    int32_t runs;
    int32_t policies; ///< Of all, so many are played without jitter.
    FairnessFigures f[JITTERS][CLAIM_RUNS][POLICIES];
} Played;

/// One number of what a policy did in a run.
typedef double (*FigureFn)(const FairnessFigures *figures);

double figure_mean(const FairnessFigures *figures);
double figure_sd(const FairnessFigures *figures);
double figure_updates(const FairnessFigures *figures);
double figure_far(const FairnessFigures *figures);
double figure_middle(const FairnessFigures *figures);
double figure_near(const FairnessFigures *figures);

/// One figure of a policy by that of another, run by run.
Estimate ratio_of(const Played *played, int32_t jitter, FigureFn fn, int32_t above, int32_t below);

/// A unit: plays a FairnessPlay; figures per policy.
LabStatus claims_play_fairness(const void *def, void *figures, Text *text, LabError *error);

/// F1 to F20 as far as this material says.
void claims_judge_fairness(const Played *played, ClaimSet *set);

/// F21 and F22: other thresholds on the same material, whose figures at 0.09 are known.
LabStatus claims_thresholds(const VerifyDef *def, const Material *material, const Played *played,
                            ClaimSet *set, LabError *error);

#endif
