// P1 to P5: perceptive consistency over random networks.
#include <stdlib.h>

#include "agree/lags.h"
#include "fairlead/agree.h"
#include "lab/claims/claims.h"
#include "lab/experiments/simultaneity/simultaneity.h"

/// What a number of networks came to.
typedef struct Seen {
    int64_t networks, conflicts, legality, uneven, late;
    int64_t slow;     ///< Networks in which some decision took longer than 200 ms,
    int64_t troubled; ///< and in which there were conflicts.
    FlTime error;
    Tally decisions;
} Seen;

static LabStatus see(const TrialDef *def, Seen *seen, LabError *error)
{
    TrialFigures figures;
    LabStatus status = trial_run(def, &figures, &seen->decisions, error);
    seen->networks++;
    seen->conflicts += figures.conflicts;
    seen->legality += figures.legality;
    seen->uneven += figures.uneven;
    seen->late += figures.late;
    seen->slow += figures.slowest > FL_MS(200) ? 1 : 0;
    seen->troubled += figures.conflicts > 0 ? 1 : 0;
    seen->error = figures.error > seen->error ? figures.error : seen->error;
    return status;
}

static void add_seen(Seen *sum, const Seen *part)
{
    FL_ASSERT(part != NULL);
    sum->networks += part->networks;
    sum->conflicts += part->conflicts;
    sum->legality += part->legality;
    sum->uneven += part->uneven;
    sum->late += part->late;
    sum->slow += part->slow;
    sum->troubled += part->troubled;
    sum->error = part->error > sum->error ? part->error : sum->error;
    tally_merge(&sum->decisions, &part->decisions);
}

/// Networks that are one unit.
enum { BATCH = 20 };

typedef struct Batch {
    const VerifyDef *def;
    int32_t from, to;
} Batch;

/// So many networks, in units; what `play_fn` finds in each is added up in seen[0 … parts - 1].
static LabStatus play_batches(const VerifyDef *def, const char *name, int32_t networks,
                              LabUnitFn play_fn, Seen *seen, int32_t parts, LabError *error)
{
    Seen *part = (Seen *)malloc((size_t)parts * sizeof *part);
    LabStatus status = part != NULL ? LAB_OK : lab_fail(error, LAB_FAILED, "out of memory");
    for (int32_t i = 0; i < networks && status == LAB_OK; i += BATCH) {
        Batch batch = {def, i, i + BATCH < networks ? i + BATCH : networks};
        LabUnit unit = lab_unit_of(part, (size_t)parts * sizeof *part, 0.1, "%s/%d", name, (int)i);
        status = lab_unit(def->units, &unit, play_fn, &batch, error);
        for (int32_t k = 0; k < parts && status == LAB_OK; k++) {
            add_seen(&seen[k], &part[k]);
        }
    }
    free(part);
    return status;
}

static Verdict none_at_all(int64_t violations)
{
    return violations == 0 ? VERDICT_HOLDS : VERDICT_FAILS;
}

static LabStatus play_random(const void *ctx, void *figures, Text *text, LabError *error)
{
    static const int32_t sizes[] = {2, 3, 4, 5, 6, 8, 2, 4, 12, 16, 3, 6, 2, 4, 8, 32};
    const Batch *batch = (const Batch *)ctx;
    LabStatus status = LAB_OK;
    (void)text;
    for (int32_t i = batch->from; i < batch->to && status == LAB_OK; i++) {
        TrialDef trial = trial_def_default();
        trial.control = TRIAL_PERCEPTIVE;
        trial.seed = fl_random_at(batch->def->seed, 600, (uint64_t)i);
        trial.peers = sizes[i % 16];
        trial.triangle = i / 16 % 4 == 3;
        status = see(&trial, (Seen *)figures, error);
    }
    return status;
}

/// P1, P2, P3: the paper's own choice of the reference, every network another size.
static LabStatus random_networks(const VerifyDef *def, ClaimSet *set, Seen *seen, LabError *error)
{
    LabStatus status =
        play_batches(def, "random", def->full ? 10000 : 240, play_random, seen, 1, error);
    if (status != LAB_OK || lab_units_missing(def->units)) {
        return status;
    }
    finding_add(claims_finding(set, "P1"), none_at_all(seen->conflicts + seen->late),
                "%lld conflicts, %lld late in %lld networks of 2 to 32 peers",
                (long long)seen->conflicts, (long long)seen->late, (long long)seen->networks);
    finding_add(claims_finding(set, "P2"), none_at_all(seen->legality),
                "%lld violations of 1 us in %lld networks", (long long)seen->legality,
                (long long)seen->networks);
    finding_add(claims_finding(set, "P3"), none_at_all(seen->uneven),
                "%lld violations, error %.6f ms at most, clocks up to 10 minutes apart",
                (long long)seen->uneven, 1e3 * fl_span_seconds(seen->error));
    return status;
}

/// P4, by the vectors that random clocks and delays make.
static void references(const VerifyDef *def, ClaimSet *set)
{
    enum { MOST = 16 };
    FlRandom random = {.seed = def->seed, .stream = 601};
    int32_t networks = def->full ? 100000 : 10000;
    int32_t found = 0;
    for (int32_t k = 0; k < networks; k++) {
        int32_t count = 2 + (int32_t)fl_random_below(&random, MOST - 1);
        FlTime clock[MOST] = {0};
        FlTime v[MOST * MOST] = {0};
        FlTime a[MOST];
        FlTime b[MOST];
        int32_t reference;
        for (int32_t p = 0; p < count; p++) {
            clock[p] = (FlTime)fl_random_below(&random, k % 2 == 0 ? 200000000u : 600000000000u);
        }
        for (int32_t i = 0; i < count * count; i++) {
            FlTime delay = (FlTime)fl_random_below(&random, 190000000u) + FL_MS(5);
            v[i] = delay + clock[i / count] - clock[i % count];
        }
        bool good = fl__lags_solve(FL_LAGS_REFERENCE, count, v, a, b, &reference) == FL_OK;
        for (int32_t i = 0; i < count && good; i++) {
            good = i == reference || b[i] > 0 || (b[i] == 0 && i > reference);
        }
        found += good ? 1 : 0;
    }
    finding_add(claims_finding(set, "P4"), none_at_all(networks - found),
                "found in %d of %d networks of 2 to 16 peers", (int)found, (int)networks);
}

static LabStatus play_constants(const void *ctx, void *figures, Text *text, LabError *error)
{
    const Batch *batch = (const Batch *)ctx;
    Seen *seen = (Seen *)figures;
    LabStatus status = LAB_OK;
    (void)text;
    for (int32_t i = batch->from; i < batch->to && status == LAB_OK; i++) {
        TrialDef trial = trial_def_default();
        trial.seed = fl_random_at(batch->def->seed, 602, (uint64_t)i);
        trial.peers = 2 + i % 7;
        trial.control = TRIAL_PERCEPTIVE;
        trial.high_ms = 99.0;
        status = see(&trial, &seen[0], error);
        trial.control = TRIAL_CONSTANT_200;
        trial.low_ms = 201.0;
        trial.high_ms = 295.0;
        status = status == LAB_OK ? see(&trial, &seen[1], error) : status;
    }
    return status;
}

/// P5: fast networks by lags, slow ones by a constant.
static LabStatus constants(const VerifyDef *def, ClaimSet *set, Seen seen[2], LabError *error)
{
    LabStatus status =
        play_batches(def, "constant", def->full ? 1000 : 60, play_constants, seen, 2, error);
    if (status == LAB_OK && !lab_units_missing(def->units)) {
        bool troubled = seen[1].conflicts > 0 && seen[1].late > 0;
        finding_add(claims_finding(set, "P5"),
                    verdict_worse(none_at_all(seen[0].slow), none_at_all(troubled ? 0 : 1)),
                    "ways below 100 ms: decided after %.0f ms (p50), %.0f ms (p95), over 200 ms in "
                    "%lld of %lld networks; ways above 200 ms: a constant of 200 ms has conflicts "
                    "in %lld of %lld",
                    tally_quantile(&seen[0].decisions, 0.5),
                    tally_quantile(&seen[0].decisions, 0.95), (long long)seen[0].slow,
                    (long long)seen[0].networks, (long long)seen[1].troubled,
                    (long long)seen[1].networks);
    }
    return status;
}

LabStatus claims_perceptive(const VerifyDef *def, ClaimSet *set, LabError *error)
{
    Seen *seen = (Seen *)calloc(3, sizeof *seen);
    if (seen == NULL) {
        return lab_fail_result(error, FL_NO_MEMORY, "measuring");
    }
    LabStatus status = random_networks(def, set, &seen[0], error);
    references(def, set);
    status = status == LAB_OK ? constants(def, set, &seen[1], error) : status;
    free(seen);
    return claims_status(def, status);
}
