// Claims F1 to F20: the runs they share, and what each makes of them.
//
// Where paper and thesis, or the thesis's text and its program (appendix B), differ, a claim is
// judged by the form that its figures were made with; the other is stated. F2 and F3 are the
// thesis's, so they are judged by its schedule 1. Its program counts the time since the newest
// update known to have arrived was made, its text since the last one was sent.
//
// Everything is played once per material: the recorded match (one run per tank) and the game's bots
// (one run per seed), at three jitters. Ratios are taken run by run, then averaged.
#include "lab/claims/claims_fairness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const claim_policies[POLICIES] = {
    "base",
    "base/3",
    "schedule1",
    "schedule1-thesis",
    "schedule2",
    "probabilistic",
    "deterministic",
    "probabilistic-0,1,0",
    "probabilistic-0,0,1",
    "probabilistic-1,1,1",
    "probabilistic-1,1,0",
    "probabilistic-fixed",
    "probabilistic-appendix-0,0,1",
    "probabilistic-appendix-1,1,1",
    "deterministic-0,1,0",
    "deterministic-0,0,1",
    "deterministic-1,1,1",
    "deterministic-1,1,0",
    "deterministic-appendix-0,0,1",
    "deterministic-appendix-1,1,1",
};

static const double jitters_ms[JITTERS] = {0.0, 100.0, 180.0};
static const int32_t chances[] = {CHANCE, CHANCE_RECENT, CHANCE_APPENDIX, CHANCE_APPENDIX_ALL,
                                  CHANCE_ERRORS};
static const int32_t tables[] = {TABLE, TABLE_RECENT, TABLE_APPENDIX, TABLE_APPENDIX_ALL,
                                 TABLE_ERRORS};
enum { WEIGHTINGS = 5 };

#define QUICK_LENGTH FL_SEC(180)

// ---------------------------------------------------------------- figures

double figure_mean(const FairnessFigures *figures)
{
    return figures->mean;
}

double figure_sd(const FairnessFigures *figures)
{
    return figures->sd;
}

double figure_updates(const FairnessFigures *figures)
{
    return (double)figures->updates_sent;
}

double figure_far(const FairnessFigures *figures)
{
    return figures->aee[FAR];
}

double figure_middle(const FairnessFigures *figures)
{
    return figures->aee[MIDDLE];
}

double figure_near(const FairnessFigures *figures)
{
    return figures->aee[NEAR];
}

static const FigureFn by_receiver[RECEIVERS] = {figure_far, figure_middle, figure_near};

static double figure_best(const FairnessFigures *figures)
{
    return fmin(figures->aee[FAR], fmin(figures->aee[MIDDLE], figures->aee[NEAR]));
}

static double figure_worst(const FairnessFigures *figures)
{
    return fmax(figures->aee[FAR], fmax(figures->aee[MIDDLE], figures->aee[NEAR]));
}

static Estimate ratio_between(const Played *played, int32_t jitter, FigureFn above_fn,
                              int32_t above, FigureFn below_fn, int32_t below)
{
    double a[CLAIM_RUNS];
    double b[CLAIM_RUNS];
    for (int32_t r = 0; r < played->runs; r++) {
        a[r] = above_fn(&played->f[jitter][r][above]);
        b[r] = below_fn(&played->f[jitter][r][below]);
    }
    return estimate_ratio(a, b, played->runs);
}

Estimate ratio_of(const Played *played, int32_t jitter, FigureFn fn, int32_t above, int32_t below)
{
    return ratio_between(played, jitter, fn, above, fn, below);
}

// ---------------------------------------------------------------- one ratio at some jitters

typedef enum Wanted { BELOW, ABOVE } Wanted;

static Verdict judge(Estimate e, Wanted wanted, double limit)
{
    return wanted == BELOW ? judge_below(e, limit) : judge_above(e, limit);
}

/// A ratio from one jitter to another, judged against a limit at each.
typedef struct Ratio {
    const char *what;
    FigureFn fn;
    int32_t above, below;
    Wanted wanted;
    double limit;
    int32_t first, last; ///< Jitters.
} Ratio;

static Verdict ratios(const Played *played, const Ratio *ratio, Text *text)
{
    Verdict verdict = VERDICT_NOT_YET;
    text_add(text, "%s", ratio->what);
    for (int32_t j = ratio->first; j <= ratio->last; j++) {
        Estimate e = ratio_of(played, j, ratio->fn, ratio->above, ratio->below);
        verdict = verdict_worse(verdict, judge(e, ratio->wanted, ratio->limit));
        text_add(text, "%s%.3g ± %.2g", j > ratio->first ? ", " : " ", e.mean, e.ci95);
    }
    return verdict;
}

static void note_ratio(const Played *played, ClaimSet *set, const char *id, const Ratio *ratio)
{
    Text text = {0};
    Verdict verdict = ratios(played, ratio, &text);
    finding_add(claims_finding(set, id), verdict, "%s: %s", played->name, text_of(&text));
    text_free(&text);
}

/// The same, stated: no verdict depends on it.
static void state_ratio(const Played *played, ClaimSet *set, const char *id, const Ratio *ratio)
{
    Text text = {0};
    (void)ratios(played, ratio, &text);
    finding_add(claims_finding(set, id), VERDICT_NOT_YET, "%s", text_of(&text));
    text_free(&text);
}

// ---------------------------------------------------------------- F1 to F8: schedules

static void judge_schedule1(const Played *played, ClaimSet *set)
{
    const Ratio sd = {"sd by base's", figure_sd, ONE, BASE, BELOW, 0.5, JITTER_0, JITTER_180};
    const Ratio mean = {"mean by base's", figure_mean, ONE_THESIS, BASE, ABOVE, 2.0,
                        JITTER_0,         JITTER_180};
    const Ratio mean_2005 = {"as of 2005", figure_mean, ONE,      BASE,
                             ABOVE,        2.0,         JITTER_0, JITTER_180};
    const Ratio sent = {"updates by base's", figure_updates, ONE, BASE, BELOW, 1.0, JITTER_0,
                        JITTER_180};
    note_ratio(played, set, "F1", &sd);
    note_ratio(played, set, "F2", &mean);
    state_ratio(played, set, "F2", &mean_2005);
    note_ratio(played, set, "F4", &sent);
    for (int32_t form = ONE_THESIS; form >= ONE; form--) {
        Text text = {0};
        Verdict verdict = VERDICT_NOT_YET;
        for (int32_t j = 0; j < JITTERS; j++) {
            Estimate e = ratio_between(played, j, figure_best, form, figure_worst, BASE);
            verdict = verdict_worse(verdict, judge_above(e, 1.0));
            text_add(&text, "%s%.3g ± %.2g", j > 0 ? ", " : " ", e.mean, e.ci95);
        }
        finding_add(claims_finding(set, "F3"), form == ONE ? VERDICT_NOT_YET : verdict,
                    form == ONE ? "as of 2005%.0s%s" : "%s: its best by base's worst%s",
                    played->name, text_of(&text));
        text_free(&text);
    }
}

static void judge_schedule2(const Played *played, ClaimSet *set)
{
    const Ratio sd = {"sd by base's", figure_sd, TWO, BASE, BELOW, 1.0, JITTER_0, JITTER_0};
    const Ratio up = {"mean by base's", figure_mean, TWO, BASE, ABOVE, 1.0, JITTER_0, JITTER_0};
    const Ratio less = {
        "mean by schedule1's", figure_mean, TWO, ONE, BELOW, 1.0, JITTER_0, JITTER_0};
    const Ratio jittered = {"mean by schedule1's at 100, 180 ms",
                            figure_mean,
                            TWO,
                            ONE,
                            BELOW,
                            1.0,
                            JITTER_100,
                            JITTER_180};
    note_ratio(played, set, "F5", &sd);
    note_ratio(played, set, "F6", &up);
    note_ratio(played, set, "F6", &less);
    note_ratio(played, set, "F8", &jittered);
    Estimate far = ratio_of(played, JITTER_0, figure_far, TWO, BASE);
    finding_add(claims_finding(set, "F7"), judge_within(far, 0.95, 1.05),
                "%s: the farthest's error by base's %.4g ± %.2g", played->name, far.mean, far.ci95);
}

// ---------------------------------------------------------------- F9 to F12: by chance

/// Every receiver of a policy against base/3; the worst verdict, and the lowest ratio in *least.
static Verdict each_above_third(const Played *played, int32_t jitter, int32_t policy,
                                Estimate *least, int32_t *receiver)
{
    Verdict verdict = VERDICT_NOT_YET;
    *least = (Estimate){0, (double)INFINITY, 0.0};
    *receiver = 0;
    for (int32_t k = 0; k < RECEIVERS; k++) {
        Estimate e = ratio_of(played, jitter, by_receiver[k], policy, THIRD);
        verdict = verdict_worse(verdict, judge_above(e, 1.0));
        if (e.mean < least->mean) {
            *least = e;
            *receiver = k;
        }
    }
    return verdict;
}

static const char *receiver_word(int32_t receiver)
{
    static const char *const words[RECEIVERS] = {"farthest", "middle", "nearest"};
    return words[receiver];
}

static void judge_chance(const Played *played, ClaimSet *set)
{
    Finding *f9 = claims_finding(set, "F9");
    Finding *f10 = claims_finding(set, "F10");
    Finding *f11 = claims_finding(set, "F11");
    Estimate least;
    int32_t receiver;
    for (int32_t i = 0; i < WEIGHTINGS; i++) {
        const char *name = claim_policies[chances[i]];
        Estimate sd = ratio_of(played, JITTER_0, figure_sd, chances[i], THIRD);
        finding_add(f9, judge_below(sd, 1.0), "%s: %s sd %.3g ± %.2g", played->name, name, sd.mean,
                    sd.ci95);
        Verdict each = each_above_third(played, JITTER_0, chances[i], &least, &receiver);
        finding_add(f10, each, "%s: %s at least %.3g ± %.2g (%s)", played->name, name, least.mean,
                    least.ci95, receiver_word(receiver));
        if (chances[i] != CHANCE_RECENT) {
            Estimate e = ratio_of(played, JITTER_0, figure_sd, CHANCE_RECENT, chances[i]);
            finding_add(f11, judge_below(e, 1.0), "%s: sd by that of %s %.3g ± %.2g", played->name,
                        name, e.mean, e.ci95);
        }
    }
    for (int32_t p = CHANCE_WAITING; p <= CHANCE_ALL; p++) {
        Estimate sd = ratio_of(played, JITTER_0, figure_sd, p, THIRD);
        Estimate by = ratio_of(played, JITTER_0, figure_sd, CHANCE_RECENT, p);
        finding_add(f9, VERDICT_NOT_YET, "by the text %s sd %.3g ± %.2g", claim_policies[p],
                    sd.mean, sd.ci95);
        finding_add(f11, VERDICT_NOT_YET, "by the text, by that of %s %.3g ± %.2g",
                    claim_policies[p], by.mean, by.ci95);
    }
    Verdict fixed = each_above_third(played, JITTER_0, CHANCE_FIXED, &least, &receiver);
    finding_add(claims_finding(set, "F12"), fixed, "%s: at least %.3g ± %.2g of base/3's (%s)",
                played->name, least.mean, least.ci95, receiver_word(receiver));
}

// ---------------------------------------------------------------- F13 to F16: by timetable

/// F13 to F15, or the same of F17.
static void judge_table(const Played *played, ClaimSet *set, const char *equal, const char *mean,
                        const char *ends, int32_t jitter)
{
    char at[24];
    snprintf(at, sizeof at, "%s at %g ms", played->name, jitters_ms[jitter]);
    Estimate by_base = ratio_of(played, jitter, figure_sd, TABLE, BASE);
    Estimate by_third = ratio_of(played, jitter, figure_sd, TABLE, THIRD);
    Estimate means = ratio_of(played, jitter, figure_mean, TABLE, THIRD);
    Estimate far = ratio_of(played, jitter, figure_far, TABLE, THIRD);
    Estimate near = ratio_of(played, jitter, figure_near, TABLE, THIRD);
    finding_add(claims_finding(set, equal),
                verdict_worse(judge_below(by_base, 1.0), judge_below(by_third, 1.0)),
                "%s: deterministic's sd %.3g ± %.2g of base's, %.3g ± %.2g of base/3's", at,
                by_base.mean, by_base.ci95, by_third.mean, by_third.ci95);
    finding_add(claims_finding(set, mean), judge_within(means, 0.85, 1.15),
                "%s: its mean %.3g ± %.2g of base/3's", at, means.mean, means.ci95);
    finding_add(claims_finding(set, ends),
                verdict_worse(judge_below(far, 1.0), judge_above(near, 1.0)),
                "%s: its farthest %.3g ± %.2g, its nearest %.3g ± %.2g", at, far.mean, far.ci95,
                near.mean, near.ci95);
}

/// Timetables by other weights are left to the full run.
static bool is_quick(const Played *played)
{
    return played->policies < POLICIES;
}

/// It is beaten where another has both less error and more equal ones.
static void judge_weights(const Played *played, ClaimSet *set)
{
    if (is_quick(played)) {
        finding_add(claims_finding(set, "F16"), VERDICT_FEW_RUNS,
                    "%s: the full run plays other weights", played->name);
        return;
    }
    for (int32_t i = 1; i < WEIGHTINGS; i++) {
        Estimate mean = ratio_of(played, JITTER_0, figure_mean, tables[i], TABLE);
        Estimate sd = ratio_of(played, JITTER_0, figure_sd, tables[i], TABLE);
        Estimate sent = ratio_of(played, JITTER_0, figure_updates, tables[i], TABLE);
        Verdict by_mean = judge_above(mean, 1.0);
        Verdict by_sd = judge_above(sd, 1.0);
        finding_add(claims_finding(set, "F16"), by_mean < by_sd ? by_mean : by_sd,
                    "%s: %s has mean %.3g ± %.2g, sd %.3g ± %.2g (%.3g of its updates)",
                    played->name, claim_policies[tables[i]], mean.mean, mean.ci95, sd.mean, sd.ci95,
                    sent.mean);
    }
}

static void judge_jitter(const Played *played, ClaimSet *set)
{
    for (int32_t j = JITTER_100; j < JITTERS; j++) {
        Estimate least;
        int32_t receiver;
        Estimate sd = ratio_of(played, j, figure_sd, CHANCE, THIRD);
        Verdict each = each_above_third(played, j, CHANCE, &least, &receiver);
        finding_add(claims_finding(set, "F17"), verdict_worse(judge_below(sd, 1.0), each),
                    "%s at %g ms: probabilistic's sd %.3g ± %.2g, error at least %.3g ± %.2g (%s)",
                    played->name, jitters_ms[j], sd.mean, sd.ci95, least.mean, least.ci95,
                    receiver_word(receiver));
        judge_table(played, set, "F17", "F17", "F17", j);
    }
}

// ---------------------------------------------------------------- F18 to F20: both budgets

static void judge_both(const Played *played, ClaimSet *set)
{
    const Ratio mean = {
        "mean by probabilistic's", figure_mean, TABLE, CHANCE, BELOW, 1.0, JITTER_0, JITTER_180};
    const Ratio sd = {"sd by probabilistic's at 0, 100 ms",
                      figure_sd,
                      TABLE,
                      CHANCE,
                      BELOW,
                      1.0,
                      JITTER_0,
                      JITTER_100};
    note_ratio(played, set, "F18", &mean);
    note_ratio(played, set, "F19", &sd);
    Estimate unclear = ratio_of(played, JITTER_180, figure_sd, TABLE, CHANCE);
    finding_add(claims_finding(set, "F19"), VERDICT_NOT_YET, "at 180 ms %.3g ± %.2g", unclear.mean,
                unclear.ci95);
}

/// All updates of all runs by all of base/3's.
static Estimate pooled_updates(const Played *played, int32_t jitter, int32_t policy)
{
    double ratio[CLAIM_RUNS];
    double weight[CLAIM_RUNS];
    for (int32_t r = 0; r < played->runs; r++) {
        weight[r] = (double)played->f[jitter][r][THIRD].updates_sent;
        ratio[r] = (double)played->f[jitter][r][policy].updates_sent / weight[r];
    }
    return estimate_pooled(ratio, weight, played->runs);
}

/// Is it one with the waiting of the thesis's text?
static bool is_text_form(int32_t policy)
{
    return policy == CHANCE_WAITING || policy == CHANCE_ALL || policy == TABLE_WAITING ||
           policy == TABLE_ALL;
}

static void judge_budgets(const Played *played, ClaimSet *set)
{
    for (int32_t j = 0; j < JITTERS; j++) {
        Verdict verdict = is_quick(played) ? VERDICT_FEW_RUNS : VERDICT_NOT_YET;
        Estimate farthest = {0, 1.0, 0.0};
        int32_t which = CHANCE;
        for (int32_t p = CHANCE; p < (j == JITTER_0 ? played->policies : (int32_t)MAIN); p++) {
            Estimate e = pooled_updates(played, j, p);
            if (is_text_form(p)) {
                continue;
            }
            verdict = verdict_worse(verdict, judge_within(e, 0.98, 1.02));
            if (fabs(e.mean - 1.0) >= fabs(farthest.mean - 1.0)) {
                farthest = e;
                which = p;
            }
        }
        finding_add(claims_finding(set, "F20"), verdict,
                    "%s at %g ms: farthest off is %s, %.4g ± %.2g", played->name, jitters_ms[j],
                    claim_policies[which], farthest.mean, farthest.ci95);
    }
    if (is_quick(played)) {
        return;
    }
    Estimate text = pooled_updates(played, JITTER_0, TABLE_ALL);
    finding_add(claims_finding(set, "F20"), VERDICT_NOT_YET, "by the text %s %.4g ± %.2g",
                claim_policies[TABLE_ALL], text.mean, text.ci95);
}

void claims_judge_fairness(const Played *played, ClaimSet *set)
{
    judge_schedule1(played, set);
    judge_schedule2(played, set);
    judge_chance(played, set);
    judge_table(played, set, "F13", "F14", "F15", JITTER_0);
    judge_weights(played, set);
    judge_jitter(played, set);
    judge_both(played, set);
    judge_budgets(played, set);
}

// ---------------------------------------------------------------- playing

LabStatus claims_play_fairness(const void *def, void *figures, Text *text, LabError *error)
{
    return fairness_play((const FairnessPlay *)def, (FairnessFigures *)figures, text, error);
}

static LabStatus play_all(const VerifyDef *def, const Material *material, Played *played,
                          LabError *error)
{
    LabStatus status = LAB_OK;
    played->runs = material->run_count < CLAIM_RUNS ? material->run_count : CLAIM_RUNS;
    played->policies = def->full ? POLICIES : QUICK;
    for (int32_t j = 0; j < JITTERS; j++) {
        for (int32_t r = 0; r < played->runs && status == LAB_OK; r++) {
            FairnessPlay play = fairness_play_default(material, r, def->seed + (uint64_t)r);
            play.jitter = fl_span_from_seconds(jitters_ms[j] / 1e3);
            for (int32_t p = 0; p < (j == JITTER_0 ? played->policies : (int32_t)MAIN); p++) {
                bool known = fairness_add_policy(&play, claim_policies[p]);
                FL_ASSERT(known);
            }
            LabUnit unit =
                lab_unit_of(played->f[j][r], sizeof played->f[j][r], def->full ? 0.6 : 0.35,
                            "%s/%g/%d", played->name, jitters_ms[j], (int)r);
            status = lab_unit(def->units, &unit, claims_play_fairness, &play, error);
        }
    }
    return status;
}

/// The first part of every recording.
static void shorten(Material *material, FlTime length)
{
    for (int32_t i = 0; i < material->run_count; i++) {
        Recording *recording = &material->runs[i].recording;
        FlTime end = recording->frames[0].state.time + length;
        while (recording->count > 1 && recording->frames[recording->count - 1].state.time > end) {
            recording->count--;
        }
        material->runs[i].source = source_recording(recording);
    }
}

static LabStatus measure(const VerifyDef *def, Material *material, const char *name, Played *played,
                         ClaimSet *set, LabError *error)
{
    played->name = name;
    fairness_close_gaps(material);
    if (!def->full) {
        shorten(material, QUICK_LENGTH);
    }
    LabStatus status = play_all(def, material, played, error);
    if (status == LAB_OK && !lab_units_missing(def->units)) {
        claims_judge_fairness(played, set);
    }
    bool thresholds = claims_wants(set, "F21") || claims_wants(set, "F22");
    return status == LAB_OK && thresholds ? claims_thresholds(def, material, played, set, error)
                                          : status;
}

LabStatus claims_fairness(const VerifyDef *def, ClaimSet *set, LabError *error)
{
    Played *played = (Played *)calloc(1, sizeof *played);
    if (played == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    LabRun run = {.seed = def->seed, .runs = def->full ? 40 : 8};
    Material material = {0};
    FlTime length = def->full ? FL_SEC(350) : QUICK_LENGTH;
    LabStatus status = material_trace(def->trace, 0, &material, error);
    status = status == LAB_OK ? measure(def, &material, "match01", played, set, error) : status;
    material_free(&material);
    status = status == LAB_OK ? material_bots(&run, length, &material, error) : status;
    status = status == LAB_OK ? measure(def, &material, "bots", played, set, error) : status;
    material_free(&material);
    free(played);
    return claims_status(def, status);
}
