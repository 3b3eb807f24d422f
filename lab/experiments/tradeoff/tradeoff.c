// lab run tradeoff: mean against deviation for every policy, for `equal` over its knob and several
// budgets, and the bound.
#include "lab/experiments/tradeoff/tradeoff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lab/experiments/fairness/fairness_setup.h"

enum { KNOB_STEP = 10, KNOBS = 11, BUDGETS = 6, BOUND_POINTS = 21 };

typedef struct TradeoffSettings {
    FairnessSetup setup;
    LabNumbers budgets;
} TradeoffSettings;

static void defaults(void *ctx)
{
    TradeoffSettings *settings = (TradeoffSettings *)ctx;
    *settings = (TradeoffSettings){fairness_setup_default(),
                                   {.values = {3.0, 3.1, 2.3, 2.0, 1.5, 1.0}, .count = 6}};
}

static const Setting settings_table[] = {
    FAIRNESS_SETTINGS(TradeoffSettings),
    {SETTING_NUMBERS, "budgets", "K[,K...]",
     "budgets of `equal`: one of so many updates of base (3,3.1,2.3,2,1.5,1)",
     offsetof(TradeoffSettings, budgets), 1.0, 1000.0},
};

// ---------------------------------------------------------------- the bound

Spread bound_at_level(const double *base, int32_t count, double level)
{
    double raised[FAIRNESS_RECEIVERS] = {0};
    Spread spread;
    for (int32_t k = 0; k < count; k++) {
        raised[k] = fmax(base[k], level);
    }
    fairness_spread(raised, count, &spread.mean, &spread.sd);
    return spread;
}

double bound_mean(const double *base, int32_t count, double sd)
{
    double low = 0.0;
    double high = base[0];
    for (int32_t k = 1; k < count; k++) {
        high = fmax(high, base[k]);
    }
    if (bound_at_level(base, count, low).sd <= sd) {
        return bound_at_level(base, count, low).mean;
    }
    for (int32_t i = 0; i < 100; i++) {
        double level = 0.5 * (low + high);
        if (bound_at_level(base, count, level).sd > sd) {
            low = level;
        } else {
            high = level;
        }
    }
    return bound_at_level(base, count, high).mean;
}

// ---------------------------------------------------------------- points

/// All that one jitter came to. Policy 0 is base.
typedef struct Tradeoff {
    const FairnessPlay *play;
    const FairnessFigures *figures; ///< [run * policy_count + policy]
    int32_t runs;
    FairnessSummary *summary; ///< By policy.
} Tradeoff;

/// How far the mean is above the least possible at the same deviation, run by run.
static Estimate over_bound(const Tradeoff *t, int32_t policy, double *scratch)
{
    for (int32_t r = 0; r < t->runs; r++) {
        const FairnessFigures *run = &t->figures[r * t->play->policy_count];
        double least = bound_mean(run[0].aee, t->play->receiver_count, run[policy].sd);
        scratch[r] = run[policy].mean / least;
    }
    return estimate_mean(scratch, t->runs);
}

/// The share of the highest level, averaged over runs.
static Spread bound_point(const Tradeoff *t, double share)
{
    Spread sum = {0.0, 0.0};
    for (int32_t r = 0; r < t->runs; r++) {
        const double *base = t->figures[r * t->play->policy_count].aee;
        double high = 0.0;
        for (int32_t k = 0; k < t->play->receiver_count; k++) {
            high = fmax(high, base[k]);
        }
        Spread at = bound_at_level(base, t->play->receiver_count, share * high);
        sum.mean += at.mean / t->runs;
        sum.sd += at.sd / t->runs;
    }
    return sum;
}

/// No more updates, no higher mean, and a deviation that is lower or at most 1 % of the mean.
static bool dominates(const FairnessSummary *a, const FairnessSummary *b)
{
    bool as_equal = a->sd.mean < b->sd.mean || a->sd.mean <= 0.01 * a->mean.mean;
    return a->updates_sent <= b->updates_sent && a->mean.mean <= b->mean.mean && as_equal;
}

/// The setting of `equal` that dominates a policy with the lowest deviation; -1: none does.
static int32_t dominator(const Tradeoff *t, int32_t policy)
{
    int32_t best = -1;
    for (int32_t p = 0; p < t->play->policy_count; p++) {
        bool ours = t->play->policy[p].policy == FL_SEND_EQUAL;
        if (ours && dominates(&t->summary[p], &t->summary[policy]) &&
            (best < 0 || t->summary[p].sd.mean < t->summary[best].sd.mean)) {
            best = p;
        }
    }
    return best;
}

static void add_rows(const Tradeoff *t, double *scratch, json_t *rows)
{
    for (int32_t p = 0; p < t->play->policy_count; p++) {
        json_t *row = fairness_row(t->play, &t->summary[p], t->runs, p);
        Estimate over = over_bound(t, p, scratch);
        row_number(row, "over_bound", over.mean);
        row_number(row, "over_bound_ci95", over.ci95);
        if (p > 0 && t->play->policy[p].policy != FL_SEND_EQUAL) {
            char name[FL_SEND_TEXT_BYTES] = "none";
            int32_t by = dominator(t, p);
            if (by >= 0) {
                fl_send_text(&t->play->policy[by], name);
            }
            row_text(row, "dominated_by", name);
        }
        (void)json_array_append_new(rows, row);
    }
    for (int32_t i = 0; i < BOUND_POINTS; i++) {
        double share = (double)i / (BOUND_POINTS - 1);
        Spread at = bound_point(t, share);
        json_t *row = json_object();
        row_text(row, "policy", "bound");
        row_number(row, "jitter_ms", fl_span_seconds(t->play->jitter) * 1e3);
        row_number(row, "runs", t->runs);
        row_number(row, "level", share);
        row_number(row, "mean_aee", at.mean);
        row_number(row, "sd_aee", at.sd);
        (void)json_array_append_new(rows, row);
    }
}

// ---------------------------------------------------------------- the picture

static bool is_main(const FlSend *send)
{
    bool usual =
        send->weights.accumulated > 0 && send->weights.recent == 0 && send->weights.waiting == 0;
    return send->form == FL_FORM_MAIN && usual;
}

static TradeoffPoint point_of(const Tradeoff *t, int32_t policy)
{
    const FlSend *send = &t->play->policy[policy];
    TradeoffPoint point = {.policy = send->policy,
                           .every = send->every,
                           .knob = send->fairness_percent,
                           .main = is_main(send) || send->policy < FL_SEND_PROBABILISTIC,
                           .at = {t->summary[policy].mean.mean, t->summary[policy].sd.mean}};
    fl_send_text(send, point.name);
    return point;
}

static LabStatus draw(const Tradeoff *t, const char *what, Text *svg, LabError *error)
{
    size_t count = (size_t)t->play->policy_count;
    TradeoffPoint *points = (TradeoffPoint *)calloc(count, sizeof *points);
    Spread bound[BOUND_POINTS];
    if (points == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    for (int32_t p = 0; p < t->play->policy_count; p++) {
        points[p] = point_of(t, p);
    }
    for (int32_t i = 0; i < BOUND_POINTS; i++) {
        bound[i] = bound_point(t, (double)i / (BOUND_POINTS - 1));
    }
    TradeoffPicture picture = {points, t->play->policy_count, bound, BOUND_POINTS, what};
    tradeoff_draw(&picture, svg);
    free(points);
    return LAB_OK;
}

// ---------------------------------------------------------------- running

static LabStatus add_policies(const TradeoffSettings *s, FairnessPlay *play, LabError *error)
{
    LabStatus status = fairness_add_list(play, FAIRNESS_PAPERS, error);
    if (status == LAB_OK && (s->budgets.count < 1 || s->budgets.count > BUDGETS)) {
        return lab_fail(error, LAB_BAD_INPUT, "--budgets: 1 to %d", (int)BUDGETS);
    }
    for (int32_t b = 0; b < s->budgets.count && status == LAB_OK; b++) {
        for (int32_t knob = 0; knob <= 100; knob += KNOB_STEP) {
            FlSend send = fl_send_make(FL_SEND_EQUAL);
            send.fairness_percent = (uint8_t)knob;
            send.every = floor(100.0 * s->budgets.values[b] + 0.5) / 100.0;
            play->policy[play->policy_count++] = send;
        }
    }
    return status;
}

_Static_assert(FAIRNESS_POLICIES >= 17 + BUDGETS * KNOBS, "the papers' policies and ours");

static LabStatus finish_jitter(const Tradeoff *t, const TradeoffSettings *s, LabResult *result,
                               LabError *error)
{
    double *scratch = (double *)calloc((size_t)t->runs, sizeof *scratch);
    if (scratch == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    for (int32_t p = 0; p < t->play->policy_count; p++) {
        t->summary[p] = fairness_summary(t->play, t->figures, t->runs, p);
    }
    add_rows(t, scratch, result->rows);
    free(scratch);
    if (result->picture.count > 0) {
        return LAB_OK; // it shows the first jitter
    }
    char what[96];
    snprintf(what, sizeof what, "%s, %d run%s, jitter %g ms",
             s->setup.trace != NULL ? "a recorded match" : "the game's bots", (int)t->runs,
             t->runs == 1 ? "" : "s", fl_span_seconds(t->play->jitter) * 1e3);
    return draw(t, what, &result->picture, error);
}

static LabStatus run_all(const LabRun *run, const TradeoffSettings *s, FairnessPlay *play,
                         const Material *material, LabResult *result, LabError *error)
{
    size_t cells = (size_t)material->run_count * (size_t)play->policy_count;
    FairnessFigures *figures = (FairnessFigures *)calloc(cells, sizeof *figures);
    FairnessSummary summary[FAIRNESS_POLICIES] = {{0}};
    const LabNumbers *jitter = &s->setup.jitter_ms;
    FairnessProgress progress = {0, (int64_t)jitter->count * material->run_count};
    LabStatus status = LAB_OK;
    if (figures == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    for (int32_t j = 0; j < jitter->count && status == LAB_OK; j++) {
        play->jitter = fl_span_from_seconds(jitter->values[j] / 1e3);
        status = fairness_play_runs(run, play, material, &progress, figures, NULL, error);
        Tradeoff t = {play, figures, material->run_count, summary};
        bool known = status == LAB_OK && !lab_units_missing(run->units);
        status = known ? finish_jitter(&t, s, result, error) : status;
    }
    free(figures);
    return status;
}

static LabStatus run_tradeoff(const LabRun *run, const void *ctx, LabResult *result,
                              LabError *error)
{
    const TradeoffSettings *s = (const TradeoffSettings *)ctx;
    FairnessPlay play;
    Material material = {0};
    LabStatus status = fairness_setup_play(run, &s->setup, &play, error);
    status = status == LAB_OK ? add_policies(s, &play, error) : status;
    status = status == LAB_OK ? fairness_setup_material(run, &s->setup, &material, error) : status;
    status = status == LAB_OK ? run_all(run, s, &play, &material, result, error) : status;
    material_free(&material);
    return status;
}

static const Column columns[] = {
    {"policy", "policy", -1},       {"jitter_ms", "jitter ms", 0},        {"level", "level", 2},
    {"updates_sent", "updates", 0}, {"mean_aee", "mean AEE", 1},          {"sd_aee", "sd AEE", 1},
    {"over_bound", "by bound", 3},  {"dominated_by", "dominated by", -1},
};

const Experiment experiment_tradeoff = {
    .name = "tradeoff",
    .help = "what fairness costs in accuracy: every policy, ours over its knob, the bound",
    .summary = "As `fairness`, for the papers' policies and for `equal` over its knob and several\n"
               "budgets. \"by bound\" is the mean by the least that is possible at the same\n"
               "deviation, whatever the number of updates (water-filling over base's errors).\n"
               "A policy is dominated by a setting of ours that has no more updates, no higher\n"
               "mean, and a deviation that is lower or at most 1 % of the mean.",
    .settings = settings_table,
    .setting_count = (int32_t)(sizeof settings_table / sizeof *settings_table),
    .settings_bytes = sizeof(TradeoffSettings),
    .defaults_fn = defaults,
    .run_fn = run_tradeoff,
    .has_units = true,
    .draws = true,
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
};
