// Claims F21 to F23: finer and coarser thresholds, and theorem 4.1 under its premises.
#include <math.h>
#include <stdlib.h>

#include "lab/claims/claims_fairness.h"

// ---------------------------------------------------------------- thresholds

enum { THRESHOLDS = 4, KNOWN = 2 }; // KNOWN: the one that all other claims are played with

static const double thresholds[THRESHOLDS] = {0.36, 0.18, 0.09, 0.045};

/// Of base's updates at 0.09 units; what F21 allows.
#define NEARLY_ALL 0.95

enum { SMALL_TABLE, SMALL_CHANCE, LARGE_TABLE, SPENDERS };

/// figures[threshold][spender][run]
typedef struct Spent {
    int32_t first; ///< Coarser thresholds are not played: a quick run has one step of F22's.
    int32_t runs;  ///< The first ones.
    FairnessFigures f[THRESHOLDS][SPENDERS][CLAIM_RUNS];
} Spent;

/// One of so many, in the steps that a policy knows.
static double every_for(double all, double wanted)
{
    double every = ceil(100.0 * all / wanted) / 100.0;
    return every < 1.0 ? 1.0 : every;
}

/// Counts the updates that base and base/3 send at a threshold.
static LabStatus count_updates(FairnessPlay *play, double distance, double *base, double *third,
                               LabError *error)
{
    FairnessFigures all[2];
    play->trigger.distance = distance;
    play->policy[0] = fl_send_make(FL_SEND_BASE);
    play->policy[1] = fl_send_make(FL_SEND_BASE);
    play->policy[1].every = 3.0;
    play->policy_count = 2;
    LabStatus status = fairness_play(play, all, NULL, error);
    *base = (double)all[0].updates_sent;
    *third = (double)all[1].updates_sent;
    return status;
}

/// One run with a threshold: first how many updates there are, with it and with the one that all
/// other claims are played with; then three policies that spend a given number.
static LabStatus play_threshold(const void *def, void *ctx, Text *text, LabError *error)
{
    FairnessPlay given = *(const FairnessPlay *)def;
    FairnessPlay *play = &given;
    FairnessFigures *figures = (FairnessFigures *)ctx;
    double distance = play->trigger.distance;
    double many;
    double few;
    double updates;
    double third;
    (void)text;
    LabStatus status = count_updates(play, thresholds[KNOWN], &many, &few, error);
    updates = many;
    if (status == LAB_OK && distance != thresholds[KNOWN]) {
        status = count_updates(play, distance, &updates, &third, error);
    }
    if (status != LAB_OK) {
        return status;
    }
    many *= NEARLY_ALL;
    play->policy[SMALL_TABLE] = fl_send_make(FL_SEND_DETERMINISTIC);
    play->policy[SMALL_CHANCE] = fl_send_make(FL_SEND_PROBABILISTIC);
    play->policy[LARGE_TABLE] = fl_send_make(FL_SEND_DETERMINISTIC);
    play->policy[SMALL_TABLE].every = every_for(updates, few);
    play->policy[SMALL_CHANCE].every = every_for(updates, few);
    play->policy[LARGE_TABLE].every = every_for(updates, many);
    play->policy_count = SPENDERS;
    return fairness_play(play, figures, NULL, error);
}

static Estimate ratio_spent(const FairnessFigures *above, const FairnessFigures *below, FigureFn fn,
                            int32_t runs)
{
    double a[CLAIM_RUNS];
    double b[CLAIM_RUNS];
    for (int32_t r = 0; r < runs; r++) {
        a[r] = fn(&above[r]);
        b[r] = fn(&below[r]);
    }
    return estimate_ratio(a, b, runs);
}

/// From each threshold to the next finer one.
static void judge_f22(const Played *played, const Spent *spent, int32_t spender, const char *name,
                      ClaimSet *set)
{
    Verdict verdict = VERDICT_NOT_YET;
    Text text = {0};
    for (int32_t t = spent->first + 1; t < THRESHOLDS; t++) {
        const FairnessFigures *coarse = spent->f[t - 1][spender];
        const FairnessFigures *fine = spent->f[t][spender];
        Estimate mean = ratio_spent(fine, coarse, figure_mean, spent->runs);
        Estimate sd = ratio_spent(fine, coarse, figure_sd, spent->runs);
        verdict = verdict_worse(verdict, judge_below(mean, 1.0));
        verdict = verdict_worse(verdict, judge_below(sd, 1.0));
        text_add(&text, "%s %g to %g: mean %.3g ± %.2g, sd %.3g ± %.2g",
                 t > spent->first + 1 ? "," : "", thresholds[t - 1], thresholds[t], mean.mean,
                 mean.ci95, sd.mean, sd.ci95);
    }
    finding_add(claims_finding(set, "F22"), verdict, "%s, %s, from%s", played->name, name,
                text_of(&text));
    text_free(&text);
}

static void judge_f21(const Played *played, const Spent *spent, ClaimSet *set)
{
    FairnessFigures base[CLAIM_RUNS];
    Verdict verdict = VERDICT_NOT_YET;
    Text text = {0};
    for (int32_t r = 0; r < spent->runs; r++) {
        base[r] = played->f[JITTER_0][r][BASE];
    }
    for (int32_t t = KNOWN; t < THRESHOLDS; t++) {
        Estimate mean = ratio_spent(spent->f[t][LARGE_TABLE], base, figure_mean, spent->runs);
        Estimate sent = ratio_spent(spent->f[t][LARGE_TABLE], base, figure_updates, spent->runs);
        Verdict here = verdict_worse(judge_below(mean, 1.0), judge_below(sent, 1.0));
        // One finer threshold that does it is enough.
        verdict = t == KNOWN                                     ? verdict
                  : verdict == VERDICT_NOT_YET || here < verdict ? here
                                                                 : verdict;
        text_add(&text, "%s at %g units %.3g ± %.2g of base's mean with %.3g of its updates",
                 t > KNOWN ? "," : "", thresholds[t], mean.mean, mean.ci95, sent.mean);
    }
    finding_add(claims_finding(set, "F21"), verdict, "%s:%s", played->name, text_of(&text));
    text_free(&text);
}

LabStatus claims_thresholds(const VerifyDef *def, const Material *material, const Played *played,
                            ClaimSet *set, LabError *error)
{
    Spent *spent = (Spent *)calloc(1, sizeof *spent);
    LabStatus status = LAB_OK;
    if (spent == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    spent->first = def->full ? 0 : KNOWN;
    spent->runs =
        def->full || played->runs < THRESHOLD_RUNS_QUICK ? played->runs : THRESHOLD_RUNS_QUICK;
    for (int32_t t = spent->first; t < THRESHOLDS; t++) {
        for (int32_t r = 0; r < spent->runs && status == LAB_OK; r++) {
            FairnessFigures figures[SPENDERS];
            FairnessPlay play = fairness_play_default(material, r, def->seed + (uint64_t)r);
            play.trigger.distance = thresholds[t];
            LabUnit unit = lab_unit_of(figures, sizeof figures, def->full ? 0.4 : 0.2,
                                       "%s/threshold/%g/%d", played->name, thresholds[t], (int)r);
            status = lab_unit(def->units, &unit, play_threshold, &play, error);
            for (int32_t s = 0; s < SPENDERS && status == LAB_OK; s++) {
                spent->f[t][s][r] = figures[s];
            }
        }
    }
    if (status == LAB_OK && !lab_units_missing(def->units)) {
        judge_f21(played, spent, set);
        judge_f22(played, spent, SMALL_TABLE, "deterministic", set);
        judge_f22(played, spent, SMALL_CHANCE, "probabilistic", set);
    }
    free(spent);
    return status;
}
