// Claims D7 and D8: scores of bots who act on their own views.
//
// The published figures are by the hour, and an hour of sixteen sessions takes minutes. A quick run
// counts over seconds instead. Chance weighs more there, so what holds would hold by the hour; what
// does not says nothing.
#include <stdlib.h>

#include "lab/claims/claims.h"
#include "lab/experiments/duels/duels.h"

#define FAIR 0.9
#define ALIKE 0.15 // donny and lobw: a difference of correlations that says nothing about players

/// What is measured: every mode with these skills.
typedef struct Measured {
    VerifyDef def;
    DuelsPlan plan;
    DuelsFigures modes[DUELS_MODES];
    int64_t done, of;
} Measured;

static void step_progress(void *ctx)
{
    Measured *m = (Measured *)ctx;
    m->done++;
    if (m->def.progress_fn != NULL) {
        m->def.progress_fn(m->def.progress_ctx, m->done < m->of ? m->done : m->of, m->of);
    }
}

static DuelsPlan plan_of(const VerifyDef *def, DuelsSkills skills)
{
    int32_t hours = skills == DUELS_TOP ? 6 : 3; // characters alone make little difference
    return (DuelsPlan){
        .skills = skills,
        .seed = fl_random_at(def->seed, 700, 0),
        .casts = 1,
        .expected = DUELS_EXACT,
        .expected_stretches = def->full ? 24 : 120,
        .stretches = def->full ? hours : 3,
        .stretch_ns = def->full ? FL_SEC(3600) : FL_SEC(20),
        .kbps = DUELS_KBPS,
        .sealed = def->full,
    };
}

/// Without a limit only where a full run asks how fair that is.
static bool is_measured(const VerifyDef *def, DuelsSkills skills, DuelsMode mode)
{
    return mode == DUELS_LOBW || mode == DUELS_DONNY ||
           (def->full && skills == DUELS_RANDOM && mode == DUELS_HIBW);
}

static LabStatus measure(const VerifyDef *def, DuelsSkills skills, Measured *m, LabError *error)
{
    DuelsScores expected;
    m->def = *def;
    m->plan = plan_of(def, skills);
    m->plan.progress_fn = step_progress;
    m->plan.progress_ctx = m;
    m->of = m->plan.expected_stretches + 3 * (int64_t)m->plan.stretches;
    LabStatus status = duels_expect(&m->plan, 0, &expected, error);
    for (int32_t mode = 0; mode < DUELS_MODES && status == LAB_OK; mode++) {
        if (is_measured(def, skills, (DuelsMode)mode)) {
            status = duels_measure(&m->plan, (DuelsMode)mode, &expected, &m->modes[mode], error);
        }
    }
    return status;
}

/// Counted over less than an hour, a claim can hold but not fail.
static Verdict by_the_hour(const Measured *m, Verdict verdict)
{
    bool shorter = m->plan.stretch_ns < FL_SEC(3600);
    return shorter && verdict == VERDICT_FAILS ? VERDICT_FEW_RUNS : verdict;
}

// ---------------------------------------------------------------- random skills

static void judge_fair(const Measured *m, Finding *finding)
{
    for (int32_t mode = 0; mode < DUELS_MODES; mode++) {
        const DuelsFigures *f = &m->modes[mode];
        if (f->count == 0) {
            continue;
        }
        Estimate order = duels_mean(f->spearman, f->count);
        Estimate value = duels_mean(f->pearson, f->count);
        Verdict verdict = verdict_worse(judge_above(order, FAIR), judge_above(value, FAIR));
        finding_add(finding, by_the_hour(m, verdict),
                    "%s: Spearman %.3f ± %.3f, Pearson %.3f ± %.3f in %d stretches of %.0f s",
                    duels_mode_name((DuelsMode)mode), order.mean, order.ci95, value.mean,
                    value.ci95, (int)f->count, fl_span_seconds(m->plan.stretch_ns));
    }
}

// ---------------------------------------------------------------- equal skills

/// The mean of a's correlations minus b's. Stretches are independent, so any pairing will do.
static Estimate difference(const DuelsFigures *a, const DuelsFigures *b)
{
    double more[DUELS_STRETCHES];
    int32_t count = a->count < b->count ? a->count : b->count;
    for (int32_t i = 0; i < count; i++) {
        more[i] = a->spearman[i] - b->spearman[i];
    }
    return duels_mean(more, count);
}

static void judge_equal(const Measured *random, const Measured *top, Finding *finding)
{
    const DuelsFigures *donny = &top->modes[DUELS_DONNY];
    const DuelsFigures *lobw = &top->modes[DUELS_LOBW];
    Estimate lower = difference(donny, &random->modes[DUELS_DONNY]);
    Estimate alike = difference(donny, lobw);
    Estimate order = duels_mean(donny->spearman, donny->count);
    Estimate plain = duels_mean(lobw->spearman, lobw->count);
    Verdict positive = verdict_worse(judge_above(order, 0.0), judge_above(plain, 0.0));
    Verdict verdict = verdict_worse(positive, judge_below(lower, 0.0));
    verdict = verdict_worse(verdict, judge_within(alike, -ALIKE, ALIKE));
    finding_add(finding, by_the_hour(top, verdict),
                "Spearman: donny %.3f ± %.3f, lobw %.3f ± %.3f, apart by %.3f ± %.3f; against "
                "random skills %.3f ± %.3f; stretches of %.0f s",
                order.mean, order.ci95, plain.mean, plain.ci95, alike.mean, alike.ci95, lower.mean,
                lower.ci95, fl_span_seconds(top->plan.stretch_ns));
}

LabStatus claims_duels(const VerifyDef *def, ClaimSet *set, LabError *error)
{
    Measured *measured = (Measured *)calloc(DUELS_SKILLS, sizeof *measured);
    if (measured == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    Measured *random = &measured[DUELS_RANDOM];
    Measured *top = &measured[DUELS_TOP];
    LabStatus status = measure(def, DUELS_RANDOM, random, error);
    if (status == LAB_OK && claims_wants(set, "D7")) {
        judge_fair(random, claims_finding(set, "D7"));
    }
    if (status == LAB_OK && claims_wants(set, "D8")) {
        if (measure(def, DUELS_TOP, top, error) == LAB_OK) {
            judge_equal(random, top, claims_finding(set, "D8"));
        } else {
            claims_failed(set, "D8", error);
        }
    }
    free(measured);
    return status;
}
