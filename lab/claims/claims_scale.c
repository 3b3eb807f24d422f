// D9 and D10: how many players an upload carries, and what happens when all look at one.
//
// D9 asks a yes or no of every run (does quality hold with so many players?), so it has no
// interval: broadcast's most players are searched for, and shared packets are tried with ten
// times as many; so is direct sending with a focus, as published, which is stated. A full
// verification searches for theirs at several uploads.
#include <math.h>
#include <stdlib.h>

#include "lab/claims/claims.h"
#include "lab/experiments/crowd/crowd.h"
#include "lab/experiments/scale/scale.h"

#define TRACE "data/arena/ffa16_20s.csv.gz"
#define TRACE_SECONDS 60.0
#define RATIO 10
#define KBPS 171.0
#define RUNS_MOST 4

// ---------------------------------------------------------------- D9

static LabStatus tenfold(ScalePlay *play, Finding *finding, LabError *error)
{
    ScaleFound broadcast;
    play->mode = SCALE_BROADCAST;
    LabStatus status = scale_search(play, 1000, &broadcast, error);
    if (status != LAB_OK) {
        return status;
    }
    ScaleFigures donny;
    ScaleFigures ours;
    play->players = RATIO * broadcast.most;
    play->mode = SCALE_DONNY;
    status = scale_play(play, &donny, error);
    play->mode = SCALE_OURS;
    status = status == LAB_OK ? scale_play(play, &ours, error) : status;
    if (status != LAB_OK) {
        return status;
    }
    finding_add(finding, ours.held ? VERDICT_HOLDS : VERDICT_FAILS,
                "%.0f kbit/s: broadcast %d; with %d players direct sending %s (%.1f Hz, others "
                "%.2f Hz), shared packets %s (%.1f Hz, %.2f Hz)",
                play->kbps, (int)broadcast.most, (int)play->players, donny.held ? "holds" : "fails",
                donny.crowd.focus_hz, donny.crowd.best_effort_hz, ours.held ? "hold" : "fail",
                ours.crowd.focus_hz, ours.crowd.best_effort_hz);
    return LAB_OK;
}

static LabStatus ratios(ScalePlay *play, Finding *finding, LabError *error)
{
    ScaleFound found[SCALE_MODES];
    LabStatus status = LAB_OK;
    for (int32_t m = 0; m < SCALE_MODES && status == LAB_OK; m++) {
        play->mode = (ScaleMode)m;
        status = scale_search(play, 1000, &found[m], error);
    }
    if (status != LAB_OK) {
        return status;
    }
    double most = found[SCALE_BROADCAST].most;
    double donny = found[SCALE_DONNY].most / most;
    double ours = found[SCALE_OURS].most / most;
    finding_add(finding, ours >= RATIO ? VERDICT_HOLDS : VERDICT_FAILS,
                "%.0f kbit/s: broadcast %.0f, direct %d (%.1f times), shared packets %d (%.1f "
                "times)",
                play->kbps, most, (int)found[SCALE_DONNY].most, donny, (int)found[SCALE_OURS].most,
                ours);
    return LAB_OK;
}

static LabStatus measure_scale(const VerifyDef *def, const CrowdMotion *motion, Finding *finding,
                               LabError *error)
{
    static const double uploads[] = {KBPS, 256.0};
    ScalePlay play = {.kbps = KBPS,
                      .seconds = def->full ? 10.0 : 4.0,
                      .loop_ms = 10.0,
                      .motion = motion,
                      .seed = def->seed,
                      .sealed = true};
    if (!def->full) {
        return tenfold(&play, finding, error);
    }
    LabStatus status = LAB_OK;
    for (size_t i = 0; i < sizeof uploads / sizeof *uploads && status == LAB_OK; i++) {
        play.kbps = uploads[i];
        status = ratios(&play, finding, error);
    }
    return status;
}

// ---------------------------------------------------------------- D10

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
                          .seconds = def->full ? 10.0 : 4.0,
                          .motion = motion,
                          .seed = fl_random_at(def->seed, 7400, (uint64_t)(i / 2)),
                          .sealed = true};
        LabStatus status = crowd_play(&play, &result, error);
        if (status != LAB_OK) {
            return status;
        }
        (play.overlay ? overlay : direct)[i / 2] = result.delivered_share;
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
    return LAB_OK;
}
