// Claim A8: what the clock is worth to somebody who aims.
//
// The bots were fixed first; seeds are drawn from a stream that they were never played with before.
#include "lab/actors/duel.h"
#include "lab/claims/claims.h"

enum { RUNS_MAX = 100 };

static LabStatus play_duel(const void *def, void *figures, Text *text, LabError *error)
{
    (void)text;
    return duel_play((const DuelDef *)def, (DuelResult *)figures, error);
}

/// Hits per shot, one figure per seed.
static LabStatus hit_rates(const VerifyDef *def, FlTime delay, FlTimeMode mode, int32_t runs,
                           double *rates, LabError *error)
{
    LabStatus status = LAB_OK;
    for (int32_t r = 0; r < runs && status == LAB_OK; r++) {
        DuelDef duel = {
            .seed = fl_random_at(def->seed, 800, (uint64_t)r),
            .delay = delay,
            .mode = mode,
            .length = def->full ? FL_SEC(350) : FL_SEC(60),
            .sealed = true,
        };
        DuelResult result;
        LabUnit unit = lab_unit_of(&result, sizeof result, def->full ? 0.8 : 0.12, "%.0f/%d/%d",
                                   fl_span_seconds(delay) * 1e3, (int)mode, (int)r);
        status = lab_unit(def->units, &unit, play_duel, &duel, error);
        rates[r] = result.shots > 0 ? (double)result.hits / (double)result.shots : 0.0;
    }
    return status;
}

LabStatus claims_shots(const VerifyDef *def, ClaimSet *set, LabError *error)
{
    static const FlTime delays[] = {FL_MS(300), FL_MS(800)};
    Finding *finding = claims_finding(set, "A8");
    int32_t runs = def->full ? 100 : 3;
    LabStatus status = LAB_OK;
    for (int32_t d = 0; d < 2 && status == LAB_OK; d++) {
        double local[RUNS_MAX] = {0};
        double global[RUNS_MAX] = {0};
        double more[RUNS_MAX];
        status = hit_rates(def, delays[d], FL_TIME_LOCAL, runs, local, error);
        status = status == LAB_OK ? hit_rates(def, delays[d], FL_TIME_GLOBAL, runs, global, error)
                                  : status;
        for (int32_t r = 0; r < runs; r++) {
            more[r] = global[r] - local[r];
        }
        Estimate a = estimate_mean(global, runs);
        Estimate b = estimate_mean(local, runs);
        if (status == LAB_OK && !lab_units_missing(def->units)) {
            finding_add(finding, judge_above(estimate_mean(more, runs), 0.0),
                        "%.0f ms: %.1f ± %.1f %% of shots hit by global, %.1f ± %.1f %% by local",
                        fl_span_seconds(delays[d]) * 1e3, 100.0 * a.mean, 100.0 * a.ci95,
                        100.0 * b.mean, 100.0 * b.ci95);
        }
    }
    return claims_status(def, status);
}
