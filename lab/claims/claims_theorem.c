// Claim F23, theorem 4.1 of the fairness paper: under its premises all receivers' accumulated
// errors are equal at every scheduling moment.
//
// The premises: delays are known exactly, every arrival is reported before the next trigger, and no
// wait is cut short. Judged on a ledger, which is exact; and stated for whole sessions, where
// clocks are estimated and times travel in quarters of a millisecond.
#include <math.h>

#include "lab/claims/claims.h"
#include "lab/experiments/fairness/fairness.h"
#include "motion/motion.h"

enum { RECEIVERS_MAX = 8, TRIGGERS = 60, VARIES_MS = 80 };

static FlSend uncut(void)
{
    FlSend send = fl_send_make(FL_SEND_SCHEDULE1);
    send.longest_ns = FL_SEC(100000);
    send.starvation_ns = FL_FOREVER;
    return send;
}

// ---------------------------------------------------------------- on a ledger

/// One sender, some receivers, and what is under way to them.
typedef struct Rig {
    FlLedger *ledger;
    FlRandom random;
    int32_t count;
    FlTime delay[RECEIVERS_MAX];
    bool varies; // delays, by up to VARIES_MS from one update to the next
    FlDue due[RECEIVERS_MAX];
    FlTime sent[RECEIVERS_MAX];
    FlTime arrived[RECEIVERS_MAX];
} Rig;

static FlTime variation(Rig *rig)
{
    return rig->varies ? (FlTime)fl_random_below(&rig->random, (uint64_t)FL_MS(VARIES_MS)) : 0;
}

static FlMotion random_motion(FlRandom *random, FlTime time)
{
    FlState state = {.time = time};
    state.position.x = fl_random_between(random, -50.0, 50.0);
    state.position.y = fl_random_between(random, -50.0, 50.0);
    state.velocity.x = fl_random_between(random, -10.0, 10.0);
    state.velocity.y = fl_random_between(random, -10.0, 10.0);
    return fl_motion_make(FL_MODEL_LINEAR, &state);
}

/// Sends what is due to everybody, each at its time. Answers the last arrival, and in *spread the
/// difference between the errors that they will have had by their arrivals, by the largest.
static FlTime send_all(Rig *rig, const FlMotion *motion, const FlMotion *before, double *spread)
{
    double least = (double)INFINITY;
    double most = 0.0;
    FlTime end = motion->time;
    int32_t left = rig->count;
    for (FlTime at = motion->time; left > 0; at = fl_ledger_deadline(rig->ledger)) {
        FL_ASSERT(at != FL_FOREVER);
        fl_ledger_update(rig->ledger, at);
        for (int32_t r = 0; r < rig->count; r++) {
            FlLedgerView view;
            FlDue due;
            if (!fl_ledger_due(rig->ledger, r, 0, &due) ||
                !fl_ledger_read(rig->ledger, 0, r, motion->time, &view)) {
                continue;
            }
            FlTime known = fl_ledger_receiver(rig->ledger, r).delay_ns;
            FlTime arrival = fl_time_add(at, rig->varies ? known : rig->delay[r]);
            double error = view.cumulative;
            error +=
                before != NULL ? fl__distance_integral(motion, before, motion->time, arrival) : 0.0;
            least = fmin(least, error);
            most = fmax(most, error);
            fl_ledger_sent(rig->ledger, r, due, at);
            rig->due[r] = due;
            rig->sent[r] = at;
            rig->arrived[r] = at + rig->delay[r] + variation(rig);
            end = rig->arrived[r] > end ? rig->arrived[r] : end;
            left--;
        }
    }
    *spread = (most - least) / (1.0 + most);
    return end;
}

/// The largest spread in one random game. The first trigger goes to everybody at once, before
/// delays are known: the theorem speaks of what follows.
static double play_ledger(Rig *rig)
{
    double worst = 0.0;
    FlMotion motion = {0};
    FlTime now = FL_SEC(1);
    for (int32_t i = 0; i < TRIGGERS; i++) {
        FlMotion before = motion;
        double spread;
        motion = random_motion(&rig->random, now);
        fl_ledger_export(rig->ledger, 0, &motion, 1, now);
        FlTime end = send_all(rig, &motion, i > 0 ? &before : NULL, &spread);
        worst = i > 0 ? fmax(worst, spread) : worst;
        for (int32_t r = 0; r < rig->count; r++) {
            fl_ledger_arrived(rig->ledger, r, rig->due[r], rig->sent[r], rig->arrived[r],
                              end + FL_MS(1));
        }
        now = end + FL_MS(2);
    }
    return worst;
}

static LabStatus on_ledgers(const VerifyDef *def, int32_t games, double *worst, LabError *error)
{
    *worst = 0.0;
    for (int32_t game = 0; game < games; game++) {
        Rig rig = {.random = {.seed = def->seed, .stream = 77 + (uint64_t)game}};
        rig.count = 2 + game % (RECEIVERS_MAX - 1);
        rig.varies = game % 2 == 1;
        FlLedgerDef ledger = fl_ledger_def_default();
        ledger.entity_capacity = 1;
        ledger.receiver_capacity = rig.count;
        FlResult result = fl_ledger_create(&ledger, &rig.ledger);
        if (result != FL_OK) {
            return lab_fail_result(error, result, "making a ledger");
        }
        FlSend send = uncut();
        fl_ledger_entity_begin(rig.ledger, 0, &send);
        for (int32_t r = 0; r < rig.count; r++) {
            rig.delay[r] = (FlTime)fl_random_below(&rig.random, 900000000u);
            fl_ledger_watch(rig.ledger, 0, r, true, 0);
        }
        *worst = fmax(*worst, play_ledger(&rig));
        fl_ledger_destroy(rig.ledger);
    }
    return LAB_OK;
}

// ---------------------------------------------------------------- in sessions

#define LEG FL_SEC(10) // long enough for every wait and every report

/// Straight legs with a sharp turn between.
static FlResult record_legs(uint64_t seed, int32_t legs, Recording *recording)
{
    FlRandom random = {.seed = seed, .stream = 78};
    FlVec3 position = {0};
    FlResult result = FL_OK;
    for (int32_t leg = 0; leg < legs; leg++) {
        double heading = fl_random_between(&random, -FL_PI, FL_PI);
        FlVec3 velocity = {0};
        fl_sincos(heading, &velocity.y, &velocity.x);
        velocity = fl_vec3_scale(velocity, 2.0);
        for (FlTime at = 0; at < LEG && result == FL_OK; at += FL_MS(20)) {
            FlState state = {.time = leg * LEG + at, .velocity = velocity};
            state.position = fl_vec3_add_scaled(position, velocity, fl_span_seconds(at));
            state.facing = fl_facing_yaw(heading, 0.0);
            result = recording_add(recording, &state, 0);
        }
        position = fl_vec3_add_scaled(position, velocity, fl_span_seconds(LEG));
    }
    return result;
}

/// How far the receivers' errors are apart at the end, by their mean: true, and by the ledger.
static LabStatus in_sessions(const VerifyDef *def, double *real, double *ledger, LabError *error)
{
    LabRun run = {.seed = def->seed, .runs = 1};
    Material material = {0};
    LabStatus status = material_straight(&run, FL_SEC(1), &material, error);
    if (status == LAB_OK) {
        FlResult result = record_legs(def->seed, 20, &material.runs[0].recording);
        status = result == FL_OK ? LAB_OK : lab_fail_result(error, result, "recording legs");
        material.runs[0].source = source_recording(&material.runs[0].recording);
    }
    FairnessPlay play = fairness_play_default(&material, 0, def->seed);
    FairnessFigures figures = {0};
    play.trigger.silence_ns = FL_SEC(60);
    play.policy[0] = uncut();
    play.policy_count = 1;
    status = status == LAB_OK ? fairness_play(&play, &figures, NULL, error) : status;
    double mean = 1.0;
    double sd = 0.0;
    fairness_spread(figures.ledger, play.receiver_count, &mean, &sd);
    *ledger = sd / mean;
    *real = figures.sd / figures.mean;
    material_free(&material);
    return status;
}

/// How far errors are apart.
typedef struct Apart {
    double worst, real, ledger;
} Apart;

static int32_t games_of(const VerifyDef *def)
{
    return def->full ? 2000 : 100;
}

static LabStatus play_both(const void *ctx, void *figures, Text *text, LabError *error)
{
    const VerifyDef *def = (const VerifyDef *)ctx;
    Apart *apart = (Apart *)figures;
    (void)text;
    LabStatus status = on_ledgers(def, games_of(def), &apart->worst, error);
    return status == LAB_OK ? in_sessions(def, &apart->real, &apart->ledger, error) : status;
}

LabStatus claims_theorem(const VerifyDef *def, ClaimSet *set, LabError *error)
{
    Apart apart;
    LabUnit unit = lab_unit_of(&apart, sizeof apart, def->full ? 1.5 : 0.2, "all");
    LabStatus status = lab_unit(def->units, &unit, play_both, def, error);
    if (status == LAB_OK && !lab_units_missing(def->units)) {
        finding_add(claims_finding(set, "F23"), apart.worst < 1e-6 ? VERDICT_HOLDS : VERDICT_FAILS,
                    "ledger: at most %.2g apart in %d games of %d updates; sessions with estimated "
                    "clocks: sd %.2g of the mean by the ledger, %.2g of the true errors",
                    apart.worst, (int)games_of(def), (int)TRIGGERS, apart.ledger, apart.real);
    }
    return claims_status(def, status);
}
