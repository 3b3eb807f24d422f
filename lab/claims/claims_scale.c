// D9 and D10: how many players an upload carries, and what happens when all look at one.
//
// D9 asks of the shipped policy `focus`, at the published size of an update, whether ten times as
// many players as broadcast carries still have a focus of 4 at 20 Hz and all others at 1 Hz, each
// within a tenth (as D1). Broadcast is the same mesh without a limit: the most players whose upload
// stays within it. What `lab run scale` gives for shared packets, and the errors that go with it,
// are stated. A quick run takes the four quarters of one run for runs: a mesh of ninety takes its
// time to meet, and as many players there must be.
#include <math.h>
#include <stdlib.h>

#include "lab/claims/claims.h"
#include "lab/claims/claims_scale_focus.h"
#include "lab/experiments/crowd/crowd.h"
#include "lab/experiments/scale/scale.h"

#define TRACE "data/arena/ffa16_20s.csv.gz"
#define TRACE_SECONDS 60.0
#define RATIO 10
#define KBPS 171.0
#define RUNS_MOST FOCUS_PARTS
#define FOCUS_LEAST (0.9 * 4.0)
#define REST_LEAST 0.9

// ---------------------------------------------------------------- D9

/// At one upload.
typedef struct Tenfold {
    int32_t broadcast; ///< The most players,
    FocusFigures all;  ///< and what they see.
    FocusFigures focus[RUNS_MOST];
    ScaleFigures shared; ///< Ten times as many by shared packets.
} Tenfold;

typedef struct ScaleDef {
    const VerifyDef *def;
    const CrowdMotion *motion;
    double kbps;
} ScaleDef;

/// So many parts of one run: figures of each.
static LabStatus play_focus(const ScaleDef *scale, int32_t players, double kbps, int32_t run,
                            int32_t parts, FocusFigures *figures, LabError *error)
{
    FocusPlay play = {.players = players,
                      .kbps = kbps,
                      .motion = scale->motion,
                      .seconds = scale->def->full ? 10.0 : 2.0,
                      .parts = parts,
                      .seed = fl_random_at(scale->def->seed, 7300, (uint64_t)run)};
    return focus_play(&play, figures, error);
}

/// Broadcast's most players: every frame to everybody, until the upload is passed. Updates alone
/// would pass it at the next number or the one after.
static LabStatus find_broadcast(const ScaleDef *scale, Tenfold *found, LabError *error)
{
    LabStatus status = LAB_OK;
    for (int32_t players = (int32_t)(scale->kbps / FRAME_KBPS); status == LAB_OK; players++) {
        FocusFigures figures = {0};
        status = play_focus(scale, players, 0.0, 0, 1, &figures, error);
        if (status != LAB_OK || figures.kbps_used > scale->kbps) {
            break;
        }
        found->broadcast = players;
        found->all = figures;
    }
    return status;
}

static LabStatus play_tenfold(const void *ctx, void *figures, Text *text, LabError *error)
{
    const ScaleDef *scale = (const ScaleDef *)ctx;
    Tenfold *found = (Tenfold *)figures;
    (void)text;
    LabStatus status = find_broadcast(scale, found, error);
    int32_t parts = scale->def->full ? 1 : RUNS_MOST;
    for (int32_t r = 0; r < RUNS_MOST && status == LAB_OK; r += parts) {
        status = play_focus(scale, RATIO * found->broadcast, scale->kbps, r, parts,
                            &found->focus[r], error);
    }
    if (!scale->def->full) {
        return status;
    }
    ScalePlay shared = {.mode = SCALE_OURS,
                        .players = RATIO * found->broadcast,
                        .kbps = scale->kbps,
                        .seconds = 10.0,
                        .loop_ms = 10.0,
                        .motion = scale->motion,
                        .seed = scale->def->seed,
                        .sealed = true};
    return status == LAB_OK ? scale_play(&shared, &found->shared, error) : status;
}

static Estimate over_runs(const Tenfold *found, size_t offset)
{
    double values[RUNS_MOST];
    for (int32_t r = 0; r < RUNS_MOST; r++) {
        values[r] = *(const double *)(const void *)((const char *)&found->focus[r] + offset);
    }
    return estimate_mean(values, RUNS_MOST);
}

#define OVER(field) over_runs(&found, offsetof(FocusFigures, field))

static LabStatus measure_scale(const VerifyDef *def, const CrowdMotion *motion, Finding *finding,
                               LabError *error)
{
    ScaleDef scale = {def, motion, KBPS};
    Tenfold found;
    LabUnit unit = lab_unit_of(&found, sizeof found, def->full ? 60.0 : 5.0, "tenfold");
    LabStatus status = lab_unit(def->units, &unit, play_tenfold, &scale, error);
    if (status != LAB_OK || lab_units_missing(def->units)) {
        return status;
    }
    Estimate focus = OVER(focus_size);
    Estimate rest = OVER(rest_hz);
    finding_add(finding,
                verdict_worse(judge_above(focus, FOCUS_LEAST), judge_above(rest, REST_LEAST)),
                "%.0f kbit/s: broadcast %d players (error %.1f units); policy focus with %d: focus "
                "%.2f +- %.2f, the rest at %.2f +- %.2f Hz, error %.0f units of the four looked "
                "at, %.0f of others",
                scale.kbps, (int)found.broadcast, found.all.error_rest,
                (int)(RATIO * found.broadcast), focus.mean, focus.ci95, rest.mean, rest.ci95,
                OVER(error_focus).mean, OVER(error_rest).mean);
    if (def->full) {
        finding_add(finding, VERDICT_NOT_YET, "shared packets: %.1f Hz, %.2f Hz, %s",
                    found.shared.crowd.focus_hz, found.shared.crowd.best_effort_hz,
                    found.shared.held ? "held" : "not held");
    }
    return LAB_OK;
}

// ---------------------------------------------------------------- D10

static LabStatus play_crowd(const void *def, void *figures, Text *text, LabError *error)
{
    (void)text;
    return crowd_play((const CrowdPlay *)def, (CrowdResult *)figures, error);
}

static LabStatus measure_crowd(const VerifyDef *def, const CrowdMotion *motion, Finding *finding,
                               LabError *error)
{
    double direct[RUNS_MOST];
    double overlay[RUNS_MOST];
    int32_t runs = def->full ? RUNS_MOST : 2;
    for (int32_t i = 0; i < 2 * runs; i++) {
        CrowdResult result;
        CrowdPlay play = {.which = CROWD_FLAG,
                          .overlay = i % 2 == 1,
                          .players = def->full ? 100 : 32,
                          .seconds = def->full ? 10.0 : 2.0,
                          .motion = motion,
                          .seed = fl_random_at(def->seed, 7400, (uint64_t)(i / 2)),
                          .sealed = true};
        LabUnit unit =
            lab_unit_of(&result, sizeof result, def->full ? 20.0 : 2.0, "crowd/%d", (int)i);
        LabStatus status = lab_unit(def->units, &unit, play_crowd, &play, error);
        if (status != LAB_OK) {
            return status;
        }
        (play.overlay ? overlay : direct)[i / 2] = result.delivered_share;
    }
    if (lab_units_missing(def->units)) {
        return LAB_OK;
    }
    Estimate fixed = estimate_mean(direct, runs);
    Estimate spread = estimate_mean(overlay, runs);
    Verdict verdict = verdict_worse(judge_below(fixed, 0.5), judge_above(spread, 0.8));
    finding_add(finding, verdict,
                "%d players watch one with 128 kbit/s: %.2f +- %.2f of its updates arrive "
                "directly, %.2f +- %.2f through others",
                def->full ? 99 : 31, fixed.mean, fixed.ci95, spread.mean, spread.ci95);
    return LAB_OK;
}

LabStatus claims_scale(const VerifyDef *def, ClaimSet *set, LabError *error)
{
    CrowdMotion motion;
    LabStatus status = crowd_motion_load(TRACE, TRACE_SECONDS, def->seed, &motion, error);
    if (status != LAB_OK) {
        return status;
    }
    if (claims_wants(set, "D9") &&
        measure_scale(def, &motion, claims_finding(set, "D9"), error) != LAB_OK) {
        claims_failed(set, "D9", error);
    }
    if (claims_wants(set, "D10") &&
        measure_crowd(def, &motion, claims_finding(set, "D10"), error) != LAB_OK) {
        claims_failed(set, "D10", error);
    }
    crowd_motion_free(&motion);
    return claims_status(def, LAB_OK);
}
