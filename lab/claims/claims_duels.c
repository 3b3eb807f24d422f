// Claims D7 and D8: scores of bots who act on their own views.
//
// The published figures are by the hour. The unit of chance is the cast (who plays): a figure of a
// cast is the mean over its hours, and modes are compared cast by cast. A quick run plays none of
// them: over seconds all is chance.
#include <math.h>
#include <stdlib.h>

#include "lab/claims/claims.h"
#include "lab/experiments/duels/duels.h"

enum { CASTS_MOST = 8 };

#define FAIR 0.9
#define AS_FAIR 0.05 // random skills: a correlation so much below that without a limit is as good
#define ALIKE 0.15   // equal skills: a difference of correlations that says nothing about players

/// What is measured: every mode with these skills.
typedef struct Measured {
    DuelsPlan plan;
    DuelsFigures modes[DUELS_MODES];
} Measured;

static DuelsPlan plan_of(const VerifyDef *def, DuelsSkills skills)
{
    int32_t hours = skills == DUELS_TOP ? 4 : 1; // characters alone make little difference
    return (DuelsPlan){
        .skills = skills,
        .seed = fl_random_at(def->seed, 700, 0),
        .casts = CASTS_MOST,
        .expected = DUELS_EXACT,
        .expected_stretches = 24,
        .stretches = hours,
        .stretch_ns = FL_SEC(3600),
        .kbps = DUELS_KBPS,
        .sealed = true,
        .units = def->units,
    };
}

static const DuelsMode measured_modes[] = {DUELS_HIBW, DUELS_LOBW, DUELS_DONNY};
enum { MEASURED_MODES = sizeof measured_modes / sizeof *measured_modes };

static LabStatus measure(const VerifyDef *def, DuelsSkills skills, Measured *m, LabError *error)
{
    DuelsScores expected[CASTS_MOST];
    LabStatus status = LAB_OK;
    m->plan = plan_of(def, skills);
    for (int32_t c = 0; c < m->plan.casts && status == LAB_OK; c++) {
        status = duels_expect(&m->plan, c, &expected[c], error);
    }
    for (int32_t i = 0; i < MEASURED_MODES && status == LAB_OK; i++) {
        DuelsMode mode = measured_modes[i];
        status = duels_measure(&m->plan, mode, expected, &m->modes[mode], error);
    }
    return status;
}

// ---------------------------------------------------------------- cast by cast

/// Correlations of one mode, one figure per cast: casts come one after another.
static void by_cast(const Measured *m, const double *correlations, double values[CASTS_MOST])
{
    for (int32_t c = 0; c < m->plan.casts; c++) {
        values[c] = duels_mean(correlations + c * m->plan.stretches, m->plan.stretches).mean;
    }
}

static Estimate over_casts(const Measured *m, const double *correlations)
{
    double values[CASTS_MOST];
    by_cast(m, correlations, values);
    return duels_mean(values, m->plan.casts);
}

/// a's minus b's, cast by cast.
static Estimate difference(const Measured *m, const double *a, const double *b)
{
    double first[CASTS_MOST];
    double second[CASTS_MOST];
    by_cast(m, a, first);
    by_cast(m, b, second);
    for (int32_t c = 0; c < m->plan.casts; c++) {
        first[c] -= second[c];
    }
    return duels_mean(first, m->plan.casts);
}

// ---------------------------------------------------------------- random skills

static void judge_fair(const Measured *m, Finding *finding)
{
    const DuelsFigures *hibw = &m->modes[DUELS_HIBW];
    const DuelsFigures *donny = &m->modes[DUELS_DONNY];
    for (int32_t i = 0; i < MEASURED_MODES; i++) {
        const DuelsFigures *f = &m->modes[measured_modes[i]];
        Estimate order = over_casts(m, f->spearman);
        Estimate value = over_casts(m, f->pearson);
        Verdict verdict = verdict_worse(judge_above(order, FAIR), judge_above(value, FAIR));
        finding_add(finding, verdict, "%s: Spearman %.3f ± %.3f, Pearson %.3f ± %.3f",
                    duels_mode_name(measured_modes[i]), order.mean, order.ci95, value.mean,
                    value.ci95);
    }
    Estimate order = difference(m, donny->spearman, hibw->spearman);
    Estimate value = difference(m, donny->pearson, hibw->pearson);
    Verdict as_fair = verdict_worse(judge_above(order, -AS_FAIR), judge_above(value, -AS_FAIR));
    finding_add(finding, as_fair,
                "donny minus hibw: %+.3f ± %.3f, %+.3f ± %.3f; %d casts, %d times %.0f s each",
                order.mean, order.ci95, value.mean, value.ci95, (int)m->plan.casts,
                (int)m->plan.stretches, fl_span_seconds(m->plan.stretch_ns));
}

// ---------------------------------------------------------------- equal skills

static void judge_equal(const Measured *random, const Measured *top, Finding *finding)
{
    const double *donny = top->modes[DUELS_DONNY].spearman;
    const double *lobw = top->modes[DUELS_LOBW].spearman;
    const double *hibw = top->modes[DUELS_HIBW].spearman;
    double of_random[CASTS_MOST];
    double lower[CASTS_MOST];
    by_cast(random, random->modes[DUELS_DONNY].spearman, of_random);
    by_cast(top, donny, lower);
    for (int32_t c = 0; c < top->plan.casts; c++) {
        lower[c] -= of_random[c];
    }
    Estimate less = duels_mean(lower, top->plan.casts);
    Estimate order = over_casts(top, donny);
    Estimate plain = over_casts(top, lobw);
    Estimate alike = difference(top, donny, lobw);
    Estimate ceiling = difference(top, donny, hibw);
    Verdict positive = verdict_worse(judge_above(order, 0.0), judge_above(plain, 0.0));
    Verdict verdict = verdict_worse(positive, judge_below(less, 0.0));
    verdict = verdict_worse(verdict, judge_within(alike, -ALIKE, ALIKE));
    verdict = verdict_worse(verdict, judge_above(ceiling, -ALIKE));
    finding_add(finding, verdict,
                "Spearman: donny %.3f ± %.3f, lobw %.3f ± %.3f; donny minus lobw %+.3f ± %.3f, "
                "minus hibw %+.3f ± %.3f, minus random skills' %+.3f ± %.3f; %d casts, %d times "
                "%.0f s each",
                order.mean, order.ci95, plain.mean, plain.ci95, alike.mean, alike.ci95,
                ceiling.mean, ceiling.ci95, less.mean, less.ci95, (int)top->plan.casts,
                (int)top->plan.stretches, fl_span_seconds(top->plan.stretch_ns));
}

LabStatus claims_duels(const VerifyDef *def, ClaimSet *set, LabError *error)
{
    static const char *const ids[] = {"D7", "D8"};
    for (int32_t i = 0; i < 2 && !def->full; i++) {
        if (claims_wants(set, ids[i])) {
            finding_add(claims_finding(set, ids[i]), VERDICT_FEW_RUNS,
                        "scores are counted by the hour, which only the full run plays");
        }
    }
    if (!def->full) {
        return claims_status(def, LAB_OK);
    }
    Measured *measured = (Measured *)calloc(DUELS_SKILLS, sizeof *measured);
    if (measured == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    Measured *random = &measured[DUELS_RANDOM];
    Measured *top = &measured[DUELS_TOP];
    LabStatus status = measure(def, DUELS_RANDOM, random, error);
    if (status == LAB_OK && claims_wants(set, "D7") && !lab_units_missing(def->units)) {
        judge_fair(random, claims_finding(set, "D7"));
    }
    if (status == LAB_OK && claims_wants(set, "D8")) {
        if (measure(def, DUELS_TOP, top, error) != LAB_OK) {
            claims_failed(set, "D8", error);
        } else if (!lab_units_missing(def->units)) {
            judge_equal(random, top, claims_finding(set, "D8"));
        }
    }
    free(measured);
    return claims_status(def, status);
}
