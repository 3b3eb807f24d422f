// Claims R1 to R15, on the recorded pairs.
#include "lab/claims/claims_racing.h"

#include <math.h>
#include <stdlib.h>

#define RACE_DATA "data/racing"

// ---------------------------------------------------------------- delay: who is consistent

/// At this point, is a's rate below b's?
static Verdict rate_below(const RaceMeasured *m, int32_t cell, int32_t a, int32_t b)
{
    return judge_below(race_contrast(m, race_rate, cell, a, 1.0, cell, b), 0.0);
}

static void judge_worst(const RaceMeasured *m, const char *sweep, RaceJudgement *j)
{
    for (int32_t c = 0; c < m->cell_count; c++) {
        for (int32_t s = CAUSALITY; s < PAPERS && race_of_sweep(m, c, sweep); s++) {
            race_judge_point(j, rate_below(m, c, s, NC), m, c, race_claim_schemes[s]);
        }
    }
}

static void judge_r1(const RaceMeasured *m, Finding *finding)
{
    RaceJudgement j = {0};
    Text words = {0};
    judge_worst(m, "delay", &j);
    for (int32_t s = 0; s < PAPERS; s++) {
        race_say_range(&words, m, "delay", s);
    }
    race_conclude(&j, finding, &words);
    text_free(&words);
}

static void judge_r2(const RaceMeasured *m, Finding *finding)
{
    RaceJudgement j = {0};
    Text words = {0};
    for (int32_t i = 1; i <= 3; i++) {
        int32_t cell = race_delay_cell(m, 25.0 * i, 10.0);
        for (int32_t s = 0; s < PAPERS; s++) {
            if (s != CAUSALITY) {
                race_judge_point(&j, rate_below(m, cell, CAUSALITY, s), m, cell,
                                 race_claim_schemes[s]);
            }
        }
        race_say_at(&words, m, cell, CAUSALITY);
        race_say_at(&words, m, cell, BOTH);
    }
    race_conclude(&j, finding, &words);
    text_free(&words);
}

static void judge_r3(const RaceMeasured *m, Finding *finding)
{
    int32_t near = race_delay_cell(m, 75.0, 10.0);
    int32_t far = race_delay_cell(m, 125.0, 10.0);
    RaceJudgement j = {0};
    Text words = {0};
    race_judge_point(&j,
                     race_judge_times(m, far, CAUSALITY, near, CAUSALITY, 5.0, (double)INFINITY), m,
                     far, "causality");
    race_say_at(&words, m, near, CAUSALITY);
    race_say_at(&words, m, far, CAUSALITY);
    race_conclude(&j, finding, &words);
    text_free(&words);
}

static void judge_r4(const RaceMeasured *m, Finding *finding)
{
    int32_t near = race_delay_cell(m, 25.0, 10.0);
    int32_t far = race_delay_cell(m, 125.0, 10.0);
    RaceJudgement j = {0};
    Text words = {0};
    for (int32_t s = DR; s <= BOTH; s++) {
        race_judge_point(&j, race_judge_times(m, far, s, near, s, 0.0, 2.0), m, far,
                         race_claim_schemes[s]);
        race_say_times(&words, m, far, near, s);
    }
    text_add(&words, " from 25 to 125 ms");
    race_conclude(&j, finding, &words);
    text_free(&words);
}

static void judge_r5(const RaceMeasured *m, Finding *finding)
{
    RaceJudgement j = {0};
    Text words = {0};
    for (int32_t c = 0; c < m->cell_count; c++) {
        if (!race_of_sweep(m, c, "delay")) {
            continue;
        }
        race_judge_point(&j, rate_below(m, c, BOTH, DR), m, c, "dr");
        race_judge_point(&j, rate_below(m, c, BOTH, NC), m, c, "nc");
        if (m->cells[c].first.mean_ms > 80.0) {
            race_judge_point(&j, rate_below(m, c, BOTH, CAUSALITY), m, c, "causality");
        }
    }
    race_say_range(&words, m, "delay", DR);
    race_say_range(&words, m, "delay", BOTH);
    race_say_at(&words, m, race_delay_cell(m, 100.0, 10.0), CAUSALITY);
    race_say_at(&words, m, race_delay_cell(m, 100.0, 10.0), BOTH);
    race_conclude(&j, finding, &words);
    text_free(&words);
}

static void judge_r6(const RaceMeasured *m, Finding *finding)
{
    static const int32_t schemes[] = {NC, DR, BOTH};
    RaceJudgement j = {0};
    Text words = {0};
    for (int32_t k = 0; k < 3; k++) {
        int32_t s = schemes[k];
        double most = 0.0;
        for (int32_t mean_ms = 50; mean_ms <= 150; mean_ms += 25) {
            int32_t small = race_delay_cell(m, mean_ms, 10.0);
            int32_t large = race_delay_cell(m, mean_ms, 30.0);
            race_judge_point(&j, race_judge_times(m, large, s, small, s, 0.9, 1.1), m, large,
                             race_claim_schemes[s]);
            double off = race_figure(m, race_rate, large, s).mean /
                             race_figure(m, race_rate, small, s).mean -
                         1.0;
            most = fabs(off) > fabs(most) ? off : most;
        }
        text_add(&words, "%s%s %+.2g %% at most", words.count > 0 ? ", " : "",
                 race_claim_schemes[s], 100.0 * most);
    }
    race_conclude(&j, finding, &words);
    text_free(&words);
}

static void judge_r7(const RaceMeasured *m, Finding *finding)
{
    RaceJudgement j = {0};
    Text words = {0};
    for (int32_t mean_ms = 50; mean_ms <= 125; mean_ms += 25) {
        int32_t small = race_delay_cell(m, mean_ms, 10.0);
        int32_t large = race_delay_cell(m, mean_ms, 30.0);
        bool helps = mean_ms > 75;
        Estimate off = race_contrast(m, race_rate, large, CAUSALITY, 1.0, small, CAUSALITY);
        race_judge_point(&j, helps ? judge_below(off, 0.0) : judge_above(off, 0.0), m, large,
                         "causality");
        text_add(&words, "%s%d ms: %.3g to %.3g %%", words.count > 0 ? ", " : "", (int)mean_ms,
                 100.0 * race_figure(m, race_rate, small, CAUSALITY).mean,
                 100.0 * race_figure(m, race_rate, large, CAUSALITY).mean);
    }
    race_conclude(&j, finding, &words);
    text_free(&words);
}

// ---------------------------------------------------------------- differences

static void say_difference(Text *words, const RaceMeasured *m, int32_t cell, int32_t scheme)
{
    Estimate e = race_figure(m, race_difference, cell, scheme);
    const RaceWay *way = &m->cells[cell].first;
    text_add(words, "%s%s at %g±%g", words->count > 0 ? ", " : "", race_claim_schemes[scheme],
             way->mean_ms, way->sd_ms);
    if (race_of_sweep(m, cell, "loss")) {
        text_add(words, ", %g %% lost", 100.0 * way->loss);
    }
    text_add(words, ": %.3g ± %.2g", e.mean, e.ci95);
}

/// Negative at one point, positive at the other.
static void judge_crossing(const RaceMeasured *m, int32_t before, int32_t after, int32_t scheme,
                           RaceJudgement *j, Text *words)
{
    Verdict low = judge_below(race_figure(m, race_difference, before, scheme), 0.0);
    Verdict high = judge_above(race_figure(m, race_difference, after, scheme), 0.0);
    race_judge_point(j, low, m, before, race_claim_schemes[scheme]);
    race_judge_point(j, high, m, after, race_claim_schemes[scheme]);
    say_difference(words, m, before, scheme);
    say_difference(words, m, after, scheme);
}

static void judge_r8(const RaceMeasured *m, Finding *finding)
{
    RaceJudgement j = {0};
    Text words = {0};
    for (int32_t sd_ms = 10; sd_ms <= 30; sd_ms += 20) {
        judge_crossing(m, race_delay_cell(m, 50.0, sd_ms), race_delay_cell(m, 100.0, sd_ms), NC, &j,
                       &words);
    }
    race_conclude(&j, finding, &words);
    text_free(&words);
}

static void judge_r9(const RaceMeasured *m, Finding *finding)
{
    RaceJudgement j = {0};
    Text words = {0};
    for (int32_t sd_ms = 10; sd_ms <= 30; sd_ms += 20) {
        int32_t cell = race_delay_cell(m, 125.0, sd_ms);
        race_judge_point(
            &j, judge_above(race_contrast(m, race_difference, cell, CAUSALITY, 1.0, cell, NC), 0.0),
            m, cell, "nc");
        race_judge_point(&j, judge_above(race_figure(m, race_difference, cell, CAUSALITY), 1.0), m,
                         cell, "causality");
        say_difference(&words, m, cell, CAUSALITY);
        say_difference(&words, m, cell, NC);
    }
    text_add(&words, " (where nothing is in time, the car stands on the grid)");
    race_conclude(&j, finding, &words);
    text_free(&words);
}

static void judge_r10(const RaceMeasured *m, Finding *finding)
{
    RaceJudgement j = {0};
    Text words = {0};
    for (int32_t s = DR; s <= BOTH; s++) {
        double most = 0.0;
        for (int32_t c = 0; c < m->cell_count; c++) {
            if (race_of_sweep(m, c, "delay")) {
                Estimate e = race_figure(m, race_difference, c, s);
                race_judge_point(&j, judge_within(e, -RACE_THRESHOLD, RACE_THRESHOLD), m, c,
                                 race_claim_schemes[s]);
                most = fmax(most, fabs(e.mean) + e.ci95);
            }
        }
        text_add(&words, "%s%s within ± %.2g car lengths", words.count > 0 ? ", " : "",
                 race_claim_schemes[s], most);
    }
    race_conclude(&j, finding, &words);
    text_free(&words);
}

// ---------------------------------------------------------------- loss

static void judge_r11(const RaceMeasured *m, Finding *finding)
{
    RaceJudgement j = {0};
    Text words = {0};
    judge_worst(m, "loss", &j);
    for (int32_t c = 0; c < m->cell_count; c++) {
        for (int32_t s = 0; s < BOTH && race_of_sweep(m, c, "loss"); s++) {
            race_judge_point(&j, race_judge_times(m, c, BOTH, c, s, 0.0, 1.1), m, c,
                             race_claim_schemes[s]);
        }
    }
    for (int32_t s = 0; s < PAPERS; s++) {
        race_say_range(&words, m, "loss", s);
    }
    race_conclude(&j, finding, &words);
    text_free(&words);
}

/// How much a's rate rises from one point to another, minus `factor` times b's rise.
static Estimate rise_contrast(const RaceMeasured *m, int32_t to, int32_t from, int32_t a,
                              double factor, int32_t b)
{
    double values[CLAIM_PAIRS];
    for (int32_t r = 0; r < m->races; r++) {
        const RaceFigures *after = &m->figures[(to * m->races + r) * CLAIM_SCHEMES];
        const RaceFigures *before = &m->figures[(from * m->races + r) * CLAIM_SCHEMES];
        values[r] = race_rate(&after[a]) - race_rate(&before[a]) -
                    factor * (race_rate(&after[b]) - race_rate(&before[b]));
    }
    return estimate_mean(values, m->races);
}

static void judge_r12(const RaceMeasured *m, Finding *finding)
{
    int32_t none = race_loss_cell(m, 0.0);
    int32_t most = race_loss_cell(m, 0.2);
    RaceJudgement j = {0};
    Text words = {0};
    Estimate more = rise_contrast(m, most, none, CAUSALITY, 2.0, NC);
    Estimate less = rise_contrast(m, most, none, CAUSALITY, 0.5, NC);
    Verdict alike = verdict_worse(judge_below(more, 0.0), judge_above(less, 0.0));
    for (int32_t s = 0; s < PAPERS; s++) {
        Estimate rise = race_contrast(m, race_rate, most, s, 1.0, none, s);
        Verdict verdict = s == NC          ? judge_above(rise, 0.0)
                          : s == CAUSALITY ? verdict_worse(judge_above(rise, 0.0), alike)
                                           : race_judge_times(m, most, s, none, s, 0.0, 2.0);
        race_judge_point(&j, verdict, m, most, race_claim_schemes[s]);
        race_say_times(&words, m, most, none, s);
        text_add(&words, " (%+.2g ± %.2g %%)", 100.0 * rise.mean, 100.0 * rise.ci95);
    }
    text_add(&words, " from 0 to 20 %% lost");
    race_conclude(&j, finding, &words);
    text_free(&words);
}

static void judge_r13(const RaceMeasured *m, Finding *finding)
{
    RaceJudgement j = {0};
    Text words = {0};
    for (int32_t s = NC; s <= CAUSALITY; s++) {
        judge_crossing(m, race_loss_cell(m, 0.05), race_loss_cell(m, 0.15), s, &j, &words);
    }
    race_conclude(&j, finding, &words);
    text_free(&words);
}

// ---------------------------------------------------------------- what came after

/// A figure of one scheme minus another's, averaged over all points, pair by pair.
static Estimate over_all(const RaceMeasured *m, RaceFigureFn fn, int32_t a, int32_t b)
{
    double values[CLAIM_PAIRS] = {0};
    for (int32_t c = 0; c < m->cell_count; c++) {
        for (int32_t r = 0; r < m->races; r++) {
            const RaceFigures *f = &m->figures[(c * m->races + r) * CLAIM_SCHEMES];
            values[r] += (fn(&f[a]) - fn(&f[b])) / m->cell_count;
        }
    }
    return estimate_mean(values, m->races);
}

static void judge_r14(const RaceMeasured *m, Finding *finding)
{
    Estimate worse = over_all(m, race_rate, ADAPTIVE, BOTH);
    Estimate sooner = over_all(m, race_lag, ADAPTIVE, BOTH);
    Verdict verdict = verdict_worse(judge_above(worse, 0.0), judge_below(sooner, 0.0));
    int32_t quiet = race_delay_cell(m, 25.0, 10.0);
    finding_add(finding, verdict,
                "inconsistent %+.2g ± %.2g %% of all moments, own actions %+.3g ± %.2g ms (all "
                "points); at 25±10: lag %.3g ms, limit 100 ms; 95 %% of the 75±10 ms way's "
                "updates are to be in time",
                100.0 * worse.mean, 100.0 * worse.ci95, sooner.mean, sooner.ci95,
                race_figure(m, race_lag, quiet, ADAPTIVE).mean);
}

static void judge_r15(const RaceMeasured *m, Finding *finding)
{
    static const struct {
        int32_t scheme;
        const char *words;
    } steps[] = {
        {FINER, "half the threshold"}, {HIGHER, "higher order"}, {STEPS, "four steps of 33 ms"}};
    Verdict verdict = VERDICT_NOT_YET;
    Text words = {0};
    for (int32_t i = 0; i < 3; i++) {
        Estimate off = over_all(m, race_rate, steps[i].scheme, BOTH);
        verdict = verdict_worse(verdict, judge_below(off, 0.0));
        text_add(&words, "%s%s %+.2g ± %.2g %%", i > 0 ? ", " : "", steps[i].words,
                 100.0 * off.mean, 100.0 * off.ci95);
    }
    finding_add(finding, verdict, "%s of all moments (all points)", text_of(&words));
    text_free(&words);
}

// ---------------------------------------------------------------- measuring

typedef struct Judge {
    const char *id;
    void (*judge_fn)(const RaceMeasured *m, Finding *finding);
} Judge;

static const Judge judges[] = {
    {"R1", judge_r1},   {"R2", judge_r2},   {"R3", judge_r3},   {"R4", judge_r4},
    {"R5", judge_r5},   {"R6", judge_r6},   {"R7", judge_r7},   {"R8", judge_r8},
    {"R9", judge_r9},   {"R10", judge_r10}, {"R11", judge_r11}, {"R12", judge_r12},
    {"R13", judge_r13}, {"R14", judge_r14}, {"R15", judge_r15},
};

static LabStatus measure(const RaceSweep *sweep, RaceMeasured *m, LabError *error)
{
    m->races = sweep->material->count;
    m->cell_count = race_cells(m->cells);
    size_t cell_size = (size_t)m->races * CLAIM_SCHEMES;
    m->figures = (RaceFigures *)calloc((size_t)m->cell_count * cell_size, sizeof *m->figures);
    if (m->figures == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    LabStatus status = LAB_OK;
    for (int32_t c = 0; c < m->cell_count && status == LAB_OK; c++) {
        status = race_sweep_cell(sweep, &m->cells[c], m->figures + (size_t)c * cell_size, error);
    }
    return status;
}

LabStatus claims_racing(const VerifyDef *def, ClaimSet *set, LabError *error)
{
    RaceScheme schemes[CLAIM_SCHEMES];
    RaceMaterial material = {0};
    for (int32_t s = 0; s < CLAIM_SCHEMES; s++) {
        bool known = race_scheme_parse(race_claim_schemes[s], &schemes[s]);
        FL_ASSERT(known);
    }
    RaceSweep sweep = {
        .play = {.sealed = true,
                 .topology = FL_TOPOLOGY_MESH,
                 .referee = true,
                 .schemes = schemes,
                 .scheme_count = CLAIM_SCHEMES},
        .material = &material,
        .seed = def->seed,
        .repeats = def->full ? 8 : 1,
        .units = def->units,
    };
    RaceMeasured measured = {0};
    LabStatus status = race_material_traces(RACE_DATA, 2, &material, error);
    FL_ASSERT(material.count <= CLAIM_PAIRS);
    status = status == LAB_OK ? measure(&sweep, &measured, error) : status;
    bool known = status == LAB_OK && !lab_units_missing(def->units);
    for (size_t i = 0; i < sizeof judges / sizeof *judges && known; i++) {
        if (claims_wants(set, judges[i].id)) {
            judges[i].judge_fn(&measured, claims_finding(set, judges[i].id));
        }
    }
    free(measured.figures);
    race_material_free(&material);
    return claims_status(def, status);
}
