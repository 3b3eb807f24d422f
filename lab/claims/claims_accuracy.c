// Claims A1 to A7 and L1, on formulas, on the game's bots and on a recorded match.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lab/claims/claims.h"
#include "lab/experiments/accuracy/accuracy.h"

enum { LOCAL, GLOBAL, MODES }; // of the plays here
enum { DELAYS = 3, RUNS_MAX = 128, RELAYED_QUICK = 4 };

static const double delays_s[DELAYS] = {0.1, 0.3, 0.8};

/// The figures of all runs of one material.
typedef struct Runs {
    int32_t count;
    AccuracyFigures f[RUNS_MAX][DELAYS][MODES];
} Runs;

/// One figure of every run that has something to say.
typedef double (*RunFn)(const AccuracyFigures (*run)[MODES], int32_t delay, double *weight);

static Estimate over(const Runs *runs, int32_t delay, RunFn fn)
{
    double values[RUNS_MAX];
    double weights[RUNS_MAX];
    int32_t count = 0;
    for (int32_t r = 0; r < runs->count; r++) {
        double weight = 1.0;
        double value = fn(runs->f[r], delay, &weight);
        if (isfinite(value) && weight > 0.0) {
            values[count] = value;
            weights[count++] = weight;
        }
    }
    return estimate_pooled(values, weights, count);
}

static void say(Text *text, const char *what, const Estimate e[DELAYS], double scale)
{
    text_add(text, "%s", what);
    for (int32_t d = 0; d < DELAYS; d++) {
        text_add(text, "%s%.3g ± %.2g", d > 0 ? ", " : " ", e[d].mean * scale, e[d].ci95 * scale);
    }
}

/// Notes a verdict and the figures at all delays.
static void note(Finding *finding, Verdict verdict, const char *what, const Estimate e[DELAYS],
                 double scale, const char *unit)
{
    Text text = {0};
    say(&text, what, e, scale);
    finding_add(finding, verdict, "%s%s", text_of(&text), unit);
    text_free(&text);
}

// ---------------------------------------------------------------- figures of a run

static double median_global(const AccuracyFigures (*run)[MODES], int32_t d, double *weight)
{
    (void)weight;
    return run[d][GLOBAL].median;
}

static double local_by_speed(const AccuracyFigures (*run)[MODES], int32_t d, double *weight)
{
    (void)weight;
    return run[d][LOCAL].mean / (TANK_SPEED * delays_s[d]);
}

/// Pooled over runs: the sum of all global errors by the sum of all local ones.
static double global_by_local(const AccuracyFigures (*run)[MODES], int32_t d, double *weight)
{
    *weight = run[d][LOCAL].mean * (double)run[d][LOCAL].samples;
    return run[d][GLOBAL].mean / run[d][LOCAL].mean;
}

static double growth(const AccuracyFigures (*run)[MODES], int32_t d, double *weight)
{
    (void)weight;
    return d == 0 ? (double)NAN : run[d][GLOBAL].mean - run[d - 1][GLOBAL].mean;
}

static double mean_global(const AccuracyFigures (*run)[MODES], int32_t d, double *weight)
{
    *weight = (double)run[d][GLOBAL].samples;
    return run[d][GLOBAL].mean;
}

static double worse_after_stops(const AccuracyFigures (*run)[MODES], int32_t d, double *weight)
{
    const AccuracyFigures *f = &run[d][GLOBAL];
    *weight = (double)f->after_stop;
    return (double)f->worse_after_stop / (double)f->after_stop;
}

static double worse_elsewhere(const AccuracyFigures (*run)[MODES], int32_t d, double *weight)
{
    const AccuracyFigures *f = &run[d][GLOBAL];
    *weight = (double)f->elsewhere;
    return (double)f->worse_else / (double)f->elsewhere;
}

static double worse_difference(const AccuracyFigures (*run)[MODES], int32_t d, double *weight)
{
    return worse_after_stops(run, d, weight) - worse_elsewhere(run, d, weight);
}

static double residual(const AccuracyFigures (*run)[MODES], int32_t d, double *weight)
{
    (void)weight;
    return run[d][GLOBAL].residual;
}

// ---------------------------------------------------------------- claims on one material

static void all_delays(const Runs *runs, RunFn fn, Estimate e[DELAYS])
{
    for (int32_t d = 0; d < DELAYS; d++) {
        e[d] = over(runs, d, fn);
    }
}

/// A1 and A2 on straight lines, A3 on circles.
static void judge_formula(const Runs *runs, Finding *exact, Finding *late, const char *name)
{
    Estimate median[DELAYS];
    Estimate share[DELAYS];
    all_delays(runs, median_global, median);
    all_delays(runs, local_by_speed, share);
    Verdict exact_verdict = VERDICT_NOT_YET;
    Verdict late_verdict = VERDICT_NOT_YET;
    for (int32_t d = 0; d < DELAYS; d++) {
        exact_verdict = verdict_worse(exact_verdict, judge_below(median[d], 0.05));
        late_verdict = verdict_worse(late_verdict, judge_within(share[d], 0.9, 1.1));
    }
    char words[64];
    snprintf(words, sizeof words, "%s: median", name);
    note(exact, exact_verdict, words, median, 1.0, " units");
    snprintf(words, sizeof words, "%s: local is", name);
    note(late, late_verdict, words, share, 1.0, " of speed × delay");
}

static void judge_a4(const Runs *runs, const char *name, Finding *finding)
{
    Estimate ratio[DELAYS];
    all_delays(runs, global_by_local, ratio);
    // Pooled over the delays too: what all receivers saw together.
    double values[RUNS_MAX];
    double weights[RUNS_MAX];
    for (int32_t r = 0; r < runs->count; r++) {
        double above = 0.0;
        weights[r] = 0.0;
        for (int32_t d = 0; d < DELAYS; d++) {
            double samples = (double)runs->f[r][d][LOCAL].samples;
            above += samples > 0.0 ? runs->f[r][d][GLOBAL].mean * samples : 0.0;
            weights[r] += samples > 0.0 ? runs->f[r][d][LOCAL].mean * samples : 0.0;
        }
        values[r] = above / weights[r];
    }
    Estimate all = estimate_pooled(values, weights, runs->count);
    Text text = {0};
    say(&text, "by delay", ratio, 1.0);
    finding_add(finding, judge_below(all, 0.7), "%s: global/local %.3f ± %.3f (%s)", name, all.mean,
                all.ci95, text_of(&text));
    text_free(&text);
}

static void judge_a5(const Runs *runs, const char *name, Finding *finding)
{
    Estimate mean[DELAYS];
    Estimate step[DELAYS];
    char words[64];
    all_delays(runs, mean_global, mean);
    all_delays(runs, growth, step);
    Verdict verdict = verdict_worse(judge_above(step[1], 0.0), judge_above(step[2], 0.0));
    snprintf(words, sizeof words, "%s: mean", name);
    note(finding, verdict, words, mean, 1.0, " units");
}

static void judge_a6(const Runs *runs, const char *name, Finding *finding)
{
    Estimate after[DELAYS];
    Estimate elsewhere[DELAYS];
    Estimate difference[DELAYS];
    all_delays(runs, worse_after_stops, after);
    all_delays(runs, worse_elsewhere, elsewhere);
    all_delays(runs, worse_difference, difference);
    Verdict verdict = VERDICT_NOT_YET;
    for (int32_t d = 0; d < DELAYS; d++) {
        verdict = verdict_worse(verdict, judge_above(difference[d], 0.0));
    }
    Text text = {0};
    say(&text, "", after, 100.0);
    text_add(&text, " %% of moments after stops,");
    say(&text, "", elsewhere, 100.0);
    finding_add(finding, verdict, "%s:%s %% of others", name, text_of(&text));
    text_free(&text);
}

static void judge_a7(const Runs *runs, const char *name, Finding *finding)
{
    Estimate left[DELAYS];
    double worst = 0.0;
    double clock = 0.0;
    all_delays(runs, residual, left);
    for (int32_t r = 0; r < runs->count; r++) {
        for (int32_t d = 0; d < DELAYS; d++) {
            worst = fmax(worst, runs->f[r][d][GLOBAL].session_residual);
            clock = fmax(clock, runs->f[r][d][GLOBAL].clock_worst_ms);
        }
    }
    Text text = {0};
    say(&text, "residual with estimated clocks", left, 1.0);
    finding_add(finding, worst < 1e-9 ? VERDICT_HOLDS : VERDICT_FAILS,
                "%s: at most %.2g at equal session time; %s units, clocks off by at most %.2f ms",
                name, worst, text_of(&text), clock);
    text_free(&text);
}

// ---------------------------------------------------------------- playing

static LabStatus play_one(const void *def, void *figures, Text *text, LabError *error)
{
    (void)text;
    return accuracy_play((const AccuracyPlay *)def, (AccuracyFigures *)figures, NULL, NULL, error);
}

/// Of a run, on one core.
static double seconds_of(const VerifyDef *def)
{
    return def->full ? 0.25 : 0.1;
}

static LabStatus play_all(const VerifyDef *def, const Material *material, const char *name,
                          Runs *runs, LabError *error)
{
    LabStatus status = LAB_OK;
    runs->count = material->run_count < RUNS_MAX ? material->run_count : RUNS_MAX;
    for (int32_t r = 0; r < runs->count && status == LAB_OK; r++) {
        AccuracyPlay play = accuracy_play_default(material, r, def->seed + (uint64_t)r);
        play.mode[LOCAL] = FL_TIME_LOCAL;
        play.mode[GLOBAL] = FL_TIME_GLOBAL;
        play.mode_count = MODES;
        LabUnit unit =
            lab_unit_of(runs->f[r], sizeof runs->f[r], seconds_of(def), "%s/%d", name, (int)r);
        status = lab_unit(def->units, &unit, play_one, &play, error);
    }
    return status;
}

static void judge_random(const Runs *runs, const char *name, ClaimSet *set)
{
    judge_a4(runs, name, claims_finding(set, "A4"));
    judge_a5(runs, name, claims_finding(set, "A5"));
    judge_a6(runs, name, claims_finding(set, "A6"));
    judge_a7(runs, name, claims_finding(set, "A7"));
}

/// What is played: how many runs, how long.
static LabRun lab_run_of(const VerifyDef *def, int32_t quick, int32_t full)
{
    LabRun run = {.seed = def->seed, .runs = def->full ? full : quick};
    return run;
}

static bool wants_any(const ClaimSet *set, const char *const *ids, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        if (claims_wants(set, ids[i])) {
            return true;
        }
    }
    return false;
}

static LabStatus measure_formulas(const VerifyDef *def, Runs *runs, ClaimSet *set, LabError *error)
{
    LabRun run = lab_run_of(def, 5, 20);
    FlTime length = def->full ? FL_SEC(350) : FL_SEC(70);
    Material material = {0};
    LabStatus status = material_straight(&run, length, &material, error);
    status = status == LAB_OK ? play_all(def, &material, "linear", runs, error) : status;
    if (status == LAB_OK && !lab_units_missing(def->units)) {
        judge_formula(runs, claims_finding(set, "A1"), claims_finding(set, "A2"), "linear");
        judge_a7(runs, "linear", claims_finding(set, "A7"));
    }
    material_free(&material);
    status = status == LAB_OK ? material_circle(&run, length, &material, error) : status;
    status = status == LAB_OK ? play_all(def, &material, "circular", runs, error) : status;
    if (status == LAB_OK && !lab_units_missing(def->units)) {
        judge_formula(runs, claims_finding(set, "A3"), claims_finding(set, "A3"), "circular");
    }
    material_free(&material);
    return status;
}

static LabStatus measure_random(const VerifyDef *def, Runs *runs, ClaimSet *set, LabError *error)
{
    LabRun run = lab_run_of(def, 8, 40);
    FlTime length = def->full ? FL_SEC(350) : FL_SEC(150);
    Material material = {0};
    LabStatus status = material_bots(&run, length, &material, error);
    status = status == LAB_OK ? play_all(def, &material, "bots", runs, error) : status;
    if (status == LAB_OK && !lab_units_missing(def->units)) {
        judge_random(runs, "bots", set);
    }
    material_free(&material);
    status = status == LAB_OK ? material_trace(def->trace, FL_SEC(30), &material, error) : status;
    status = status == LAB_OK ? play_all(def, &material, "match01", runs, error) : status;
    if (status == LAB_OK && !lab_units_missing(def->units)) {
        judge_random(runs, "match01", set);
    }
    material_free(&material);
    return status;
}

LabStatus claims_accuracy(const VerifyDef *def, ClaimSet *set, LabError *error)
{
    static const char *const formulas[] = {"A1", "A2", "A3", "A7"};
    static const char *const random[] = {"A4", "A5", "A6", "A7"};
    Runs *runs = (Runs *)calloc(1, sizeof *runs);
    if (runs == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    bool with_formulas = wants_any(set, formulas, 4);
    bool with_random = wants_any(set, random, 4);
    LabStatus status = with_formulas ? measure_formulas(def, runs, set, error) : LAB_OK;
    status = status == LAB_OK && with_random ? measure_random(def, runs, set, error) : status;
    free(runs);
    return claims_status(def, status);
}

// ---------------------------------------------------------------- the relay

/// From the sender to the relay.
#define RELAY_DELAY FL_MS(50)

/// Everybody by the global clock (GLOBAL) or by one-way delays (in LOCAL's place).
static LabStatus play_relay(const VerifyDef *def, const Material *material, const char *name,
                            Runs *runs, LabError *error)
{
    LabStatus status = LAB_OK;
    int32_t most = def->full ? RUNS_MAX : RELAYED_QUICK;
    runs->count = material->run_count < most ? material->run_count : most;
    for (int32_t r = 0; r < runs->count && status == LAB_OK; r++) {
        for (int32_t m = 0; m < MODES && status == LAB_OK; m++) {
            AccuracyFigures figures[DELAYS];
            AccuracyPlay play = accuracy_play_default(material, r, def->seed + (uint64_t)r);
            play.mode[0] = m == GLOBAL ? FL_TIME_GLOBAL : FL_TIME_ONE_WAY;
            play.mode_count = 1;
            play.relay = RELAY_DELAY;
            play.host_mode = play.mode[0];
            LabUnit unit = lab_unit_of(figures, sizeof figures, seconds_of(def), "%s/%d/%d", name,
                                       (int)r, (int)m);
            status = lab_unit(def->units, &unit, play_one, &play, error);
            for (int32_t d = 0; d < DELAYS; d++) {
                runs->f[r][d][m] = figures[d];
            }
        }
    }
    return status;
}

static double one_way_by_global(const AccuracyFigures (*run)[MODES], int32_t d, double *weight)
{
    *weight = (double)run[d][GLOBAL].samples;
    return run[d][LOCAL].mean / run[d][GLOBAL].mean;
}

static void judge_l1(const Runs *runs, const char *name, Finding *finding)
{
    Estimate ratio[DELAYS];
    char words[64];
    Verdict verdict = VERDICT_NOT_YET;
    all_delays(runs, one_way_by_global, ratio);
    for (int32_t d = 0; d < DELAYS; d++) {
        verdict = verdict_worse(verdict, judge_within(ratio[d], 0.9, 1.1));
    }
    snprintf(words, sizeof words, "%s: one-way/global", name);
    note(finding, verdict, words, ratio, 1.0, "");
}

LabStatus claims_relay(const VerifyDef *def, ClaimSet *set, LabError *error)
{
    LabRun run = lab_run_of(def, 4, 20);
    Material material = {0};
    Runs *runs = (Runs *)calloc(1, sizeof *runs);
    if (runs == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    FlTime length = def->full ? FL_SEC(350) : FL_SEC(60);
    LabStatus status = material_bots(&run, length, &material, error);
    status = status == LAB_OK ? play_relay(def, &material, "bots", runs, error) : status;
    if (status == LAB_OK && !lab_units_missing(def->units)) {
        judge_l1(runs, "bots", claims_finding(set, "L1"));
    }
    material_free(&material);
    status = status == LAB_OK ? material_trace(def->trace, FL_SEC(30), &material, error) : status;
    status = status == LAB_OK ? play_relay(def, &material, "match01", runs, error) : status;
    if (status == LAB_OK && !lab_units_missing(def->units)) {
        judge_l1(runs, "match01", claims_finding(set, "L1"));
    }
    material_free(&material);
    free(runs);
    return claims_status(def, status);
}
