// What every policy must keep, whatever the motions, the network and who comes and goes; and the
// theorem of the fairness paper.
#include "fairlead/send.h"

#include "motion/motion.h"
#include "send/send.h"
#include "unit/support.h"

// ---------------------------------------------------------------- a rig to run policies on

#define RIG_RECEIVERS 64
#define RIG_REPORTS 8192

typedef struct Report {
    FlDue due;
    int32_t receiver;
    FlTime sent, arrived, reported;
} Report;

typedef struct Rig {
    FlLedger *ledger;
    FlRandom random;
    FlSend send;
    int32_t count;
    FlTime delay[RIG_RECEIVERS];
    FlTime jitter;
    bool silent[RIG_RECEIVERS]; ///< Never reports.
    bool lies[RIG_RECEIVERS];   ///< Reports what cannot be.
    bool watches[RIG_RECEIVERS];
    FlTime served[RIG_RECEIVERS]; ///< Last sent to, or began to watch.
    int64_t sent_to[RIG_RECEIVERS];
    int64_t sent, triggers;
    Report report[RIG_REPORTS];
    int32_t report_count;
    FlState truth;
    double heading;
    Hash hash;
} Rig;

static Rig rig;

static void rig_begin(const FlSend *send, int32_t count, uint64_t seed)
{
    memset(&rig, 0, sizeof rig);
    rig.random = random_stream(seed);
    rig.send = *send;
    rig.count = count;
    rig.hash = hash_start();
    FlLedgerDef def = fl_ledger_def_default();
    def.entity_capacity = 1;
    def.receiver_capacity = RIG_RECEIVERS;
    def.path_capacity = 256;
    assert_int_equal(fl_ledger_create(&def, &rig.ledger), FL_OK);
    fl_ledger_entity_begin(rig.ledger, 0, send);
    for (int32_t r = 0; r < count; r++) {
        rig.delay[r] = random_span(&rig.random, 7.0, 9.0);
    }
}

static void rig_watch(int32_t receiver, bool watches, FlTime now)
{
    if (rig.watches[receiver] != watches) {
        rig.watches[receiver] = watches;
        rig.served[receiver] = now;
        fl_ledger_watch(rig.ledger, 0, receiver, watches, now);
    }
}

static void rig_send(FlTime now)
{
    for (int32_t r = 0; r < rig.count; r++) {
        FlDue due;
        if (!fl_ledger_due(rig.ledger, r, 0, &due)) {
            continue;
        }
        assert_true(rig.watches[r]);
        fl_ledger_sent(rig.ledger, r, due, now);
        rig.served[r] = now;
        rig.sent++;
        rig.sent_to[r]++;
        hash_bits(&rig.hash, (uint64_t)now);
        hash_bits(&rig.hash, (uint64_t)(uint32_t)r);
        FlTime flight = random_time(&rig.random, 0, 2 * rig.jitter);
        if (rig.silent[r]) {
            continue;
        }
        assert_true(rig.report_count < RIG_REPORTS);
        Report *report = &rig.report[rig.report_count++];
        report->due = due;
        report->receiver = r;
        report->sent = now;
        report->arrived = now + rig.delay[r] + flight;
        report->reported = report->arrived + rig.delay[r];
    }
}

static void rig_reports(FlTime now)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < rig.report_count; i++) {
        Report *report = &rig.report[i];
        if (report->reported > now) {
            rig.report[kept++] = *report;
            continue;
        }
        FlTime arrived = rig.lies[report->receiver] ? report->sent - FL_SEC(1) : report->arrived;
        fl_ledger_arrived(rig.ledger, report->receiver, report->due, report->sent, arrived, now);
    }
    rig.report_count = kept;
}

// Everything between two triggers.
static void rig_advance(FlTime from, FlTime until)
{
    for (FlTime now = from; now < until; now += FL_MS(10)) {
        rig_reports(now);
        if (fl_ledger_deadline(rig.ledger) <= now) {
            fl_ledger_update(rig.ledger, now);
        }
        rig_send(now);
    }
}

// Something at 10 a second that turns now and then: where it was expected, with another heading.
static void rig_export(FlTime now)
{
    double seconds = rig.triggers == 0 ? 0.0 : fl_span_seconds(now - rig.truth.time);
    rig.truth.position = fl_vec3_add_scaled(rig.truth.position, rig.truth.velocity, seconds);
    rig.heading += fl_random_between(&rig.random, -0.6, 0.9);
    rig.truth.velocity = fl_vec3(10.0 * fl__cos(rig.heading), 10.0 * fl__sin(rig.heading), 0.0);
    rig.truth.time = now;
    FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, &rig.truth);
    fl_ledger_export(rig.ledger, 0, &motion, 1, now);
    rig.triggers++;
    rig_send(now);
}

static const char *const every_policy[] = {
    "base",
    "base/3",
    "base/7",
    "schedule1",
    "schedule1-thesis",
    "schedule2",
    "probabilistic",
    "probabilistic-2005",
    "probabilistic-fixed",
    "probabilistic-0,1,0",
    "probabilistic-0,0,1",
    "probabilistic/5-1,1,1",
    "deterministic",
    "deterministic-0,1,0",
    "deterministic-0,0,1",
    "deterministic/9-1,1,1",
    "equal-0",
    "equal-50",
    "equal-90",
    "equal-100",
    "equal/20-100",
};

#define POLICIES ((int32_t)(sizeof every_policy / sizeof every_policy[0]))

// ---------------------------------------------------------------- for all of them

static void check_nobody_waits(FlTime now)
{
    for (int32_t r = 0; r < rig.count; r++) {
        if (rig.watches[r]) {
            assert_true(now - rig.served[r] <= rig.send.starvation_ns + FL_SEC(1));
        }
    }
}

static void nobody_starves_whoever_comes_and_goes(void **state)
{
    (void)state;
    int32_t runs = CASES(6 * POLICIES);
    for (int32_t run = 0; run < runs; run++) {
        FlSend send;
        assert_int_equal(fl_send_parse(every_policy[run % POLICIES], &send), FL_OK);
        FlRandom weights = random_stream(9000 + (uint64_t)run);
        send.weights.recent = (uint8_t)fl_random_below(&weights, 5);
        send.weights.waiting = (uint8_t)fl_random_below(&weights, 3);
        send.weights.accumulated = fl__send_valid(&send) ? send.weights.accumulated : 1;
        rig_begin(&send, 2 + run % 9, (uint64_t)run);
        rig.jitter = FL_MS(50);
        rig.silent[1] = run % 2 == 0;
        rig.lies[0] = run % 3 == 0;
        FlTime now = FL_SEC(1);
        for (int32_t step = 0; step < 150; step++) {
            if (random_chance(&rig.random, 5) || step == 0) {
                int32_t r = (int32_t)fl_random_below(&rig.random, (uint64_t)rig.count);
                bool watches = !random_chance(&rig.random, 3);
                rig_watch(r, watches, now);
            }
            rig_export(now);
            check_nobody_waits(now);
            FlTime next = now + random_time(&rig.random, FL_MS(20), FL_MS(900));
            rig_advance(now, next);
            now = next;
        }
        fl_ledger_destroy(rig.ledger);
    }
}

static void a_new_watcher_is_owed_the_newest_at_once(void **state)
{
    (void)state;
    for (int32_t i = 0; i < POLICIES; i++) {
        FlSend send;
        assert_int_equal(fl_send_parse(every_policy[i], &send), FL_OK);
        rig_begin(&send, 3, 1);
        rig_watch(0, true, 0);
        for (int32_t k = 0; k < 11; k++) {
            rig_export(FL_SEC(1) + FL_MS(100) * k);
        }
        FlDue due;
        rig_watch(1, true, FL_SEC(3));
        assert_true(fl_ledger_due(rig.ledger, 1, 0, &due));
        assert_int_equal(due.serial, 11);
        fl_ledger_destroy(rig.ledger);
    }
}

static void a_cut_goes_to_everybody(void **state)
{
    (void)state;
    for (int32_t i = 0; i < POLICIES; i++) {
        FlSend send;
        assert_int_equal(fl_send_parse(every_policy[i], &send), FL_OK);
        rig_begin(&send, 5, 1);
        for (int32_t r = 0; r < 5; r++) {
            rig_watch(r, true, 0);
        }
        for (int32_t k = 0; k < 7; k++) {
            rig_export(FL_SEC(1) + FL_MS(100) * k);
        }
        for (uint32_t life = 2; life < 4; life++) {
            FlState there = {.time = FL_SEC(life)};
            FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, &there);
            fl_ledger_export(rig.ledger, 0, &motion, life == 2 ? 2 : FL_LIFE_NONE, FL_SEC(life));
            for (int32_t r = 0; r < 5; r++) {
                FlDue due;
                assert_true(fl_ledger_due(rig.ledger, r, 0, &due));
                assert_int_equal(due.serial, 6 + life);
                fl_ledger_sent(rig.ledger, r, due, FL_SEC(life));
            }
        }
        fl_ledger_destroy(rig.ledger);
    }
}

// The sends of a whole run.
static uint64_t fingerprint(const FlSend *send, uint64_t seed, bool silent, bool lies)
{
    rig_begin(send, 4, seed);
    rig.silent[2] = silent;
    rig.lies[2] = lies;
    for (int32_t r = 0; r < 4; r++) {
        rig_watch(r, true, 0);
    }
    FlTime now = FL_SEC(1);
    for (int32_t step = 0; step < 100; step++) {
        rig_export(now);
        rig_advance(now, now + FL_MS(150));
        now += FL_MS(150);
    }
    fl_ledger_destroy(rig.ledger);
    return rig.hash.value;
}

static void the_same_game_gives_the_same_packets(void **state)
{
    (void)state;
    for (int32_t i = 0; i < POLICIES; i++) {
        FlSend send;
        assert_int_equal(fl_send_parse(every_policy[i], &send), FL_OK);
        uint64_t first = fingerprint(&send, 3, false, false);
        assert_true(first == fingerprint(&send, 3, false, false));
    }
}

static void lies_that_are_found_out_are_as_good_as_silence(void **state)
{
    (void)state;
    for (int32_t i = 0; i < POLICIES; i++) {
        FlSend send;
        assert_int_equal(fl_send_parse(every_policy[i], &send), FL_OK);
        uint64_t silent = fingerprint(&send, 3, true, false);
        assert_true(silent == fingerprint(&send, 3, false, true));
    }
}

// ---------------------------------------------------------------- budgets

static void budgets_are_kept_for_any_number_of_receivers(void **state)
{
    (void)state;
    const char *texts[] = {"probabilistic",
                           "probabilistic-2005",
                           "probabilistic-fixed",
                           "probabilistic-0,0,1",
                           "deterministic",
                           "equal-0",
                           "equal-50",
                           "equal-100",
                           "deterministic/5",
                           "equal/2.5-30",
                           "probabilistic/8-2005"};
    const int32_t counts[] = {1, 3, 10, 60};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
            FlSend send;
            assert_int_equal(fl_send_parse(texts[i], &send), FL_OK);
            rig_begin(&send, counts[k], 8);
            for (int32_t r = 0; r < counts[k]; r++) {
                rig_watch(r, true, 0);
            }
            FlTime now = FL_SEC(1);
            for (int32_t step = 0; step < 600; step++) {
                rig_export(now);
                rig_advance(now, now + FL_MS(150));
                now += FL_MS(150);
            }
            double want = (double)rig.triggers * counts[k] / send.every;
            // a few receivers by chance: three standard deviations of it
            double allowed = 0.03 * want + counts[k] + 3.0 * sqrt(want);
            assert_true((double)rig.sent <= want + allowed);
            if (send.fairness_percent < 100) { // which does not spend what would make it less fair
                assert_true((double)rig.sent >= want - allowed);
            }
            fl_ledger_destroy(rig.ledger);
        }
    }
}

static void base_over_k_sends_every_kth(void **state)
{
    (void)state;
    for (int32_t k = 1; k < 9; k++) {
        FlSend send = fl_send_make(FL_SEND_BASE);
        send.every = k;
        rig_begin(&send, 4, 1);
        for (int32_t r = 0; r < 4; r++) {
            rig_watch(r, true, 0);
        }
        for (int32_t step = 0; step < 40; step++) {
            int64_t before = rig.sent;
            rig_export(FL_SEC(1) + FL_MS(50) * step);
            assert_int_equal(rig.sent - before, step % k == 0 ? 4 : 0);
        }
        fl_ledger_destroy(rig.ledger);
    }
}

static void a_cap_bounds_what_delaying_everything_wins(void **state)
{
    (void)state;
    const char *texts[] = {"probabilistic", "deterministic", "equal-100"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double share[2];
        for (int32_t capped = 0; capped < 2; capped++) {
            FlSend send;
            assert_int_equal(fl_send_parse(texts[i], &send), FL_OK);
            send.share_cap = capped == 1 ? 0.3 : 1.0;
            rig_begin(&send, 5, 8);
            for (int32_t r = 0; r < 5; r++) {
                rig.delay[r] = r == 0 ? FL_MS(900) : FL_MS(50);
                rig_watch(r, true, 0);
            }
            FlTime now = FL_SEC(1);
            for (int32_t step = 0; step < 800; step++) {
                rig_export(now);
                rig_advance(now, now + FL_MS(150));
                now += FL_MS(150);
            }
            share[capped] = (double)rig.sent_to[0] / (double)rig.sent;
            fl_ledger_destroy(rig.ledger);
        }
        print_message("             %s: share %.3f, capped %.3f\n", texts[i], share[0], share[1]);
        assert_true(share[0] > 0.33);
        assert_true(share[1] < 0.31);
        assert_true(share[1] > 0.2);
    }
}

// ---------------------------------------------------------------- anything at all

enum { ANY_ENTITIES = 5, ANY_RECEIVERS = 6, ANY_KEPT = 64 };

typedef struct Anything {
    FlLedger *ledger;
    FlRandom random;
    bool live[ANY_ENTITIES];
    FlDue kept[ANY_KEPT]; ///< Sent some time ago, to anybody; perhaps long gone.
    FlTime now;
} Anything;

static FlMotion any_motion(Anything *any)
{
    FlState state = random_state(&any->random, 100.0, 30.0);
    state.time = any->now - random_time(&any->random, 0, FL_MS(300));
    uint64_t model = fl_random_below(&any->random, 4);
    FlMotion motion = fl_motion_make((FlModel)model, &state);
    if (random_chance(&any->random, 5)) {
        motion.horizon_ns = random_span(&any->random, 6.0, 10.0);
    }
    if (random_chance(&any->random, 40)) {
        motion.position.x = (double)NAN;
    }
    return motion;
}

static void any_export(Anything *any, int32_t entity)
{
    FlMotion motion = any_motion(any);
    uint32_t life = (uint32_t)fl_random_below(&any->random, 10) == 0 ? 2 : 1;
    bool ends = random_chance(&any->random, 30);
    fl_ledger_export(any->ledger, entity, &motion, ends ? FL_LIFE_NONE : life, any->now);
}

static void any_send(Anything *any, int32_t receiver)
{
    FlDue due;
    for (int32_t from = 0; fl_ledger_due(any->ledger, receiver, from, &due);
         from = due.entity + 1) {
        assert_true(any->live[due.entity]);
        assert_true(fl__ledger_watches(any->ledger, due.entity, receiver));
        assert_non_null(fl_ledger_exported(any->ledger, due.entity, due.serial));
        fl_ledger_sent(any->ledger, receiver, due, any->now);
        any->kept[fl_random_below(&any->random, ANY_KEPT)] = due;
    }
}

static void any_fate(Anything *any, int32_t receiver)
{
    FlDue due = any->kept[fl_random_below(&any->random, ANY_KEPT)];
    FlTime sent = any->now - random_span(&any->random, 6.0, 9.5);
    FlTime arrived = sent + random_span(&any->random, 6.0, 9.5);
    if (random_chance(&any->random, 4)) {
        fl_ledger_lost(any->ledger, receiver, due, any->now);
    } else {
        fl_ledger_arrived(any->ledger, receiver, due, sent, arrived, any->now);
    }
}

static void any_read(Anything *any, int32_t entity, int32_t receiver)
{
    FlLedgerView view;
    FlPose pose;
    if (fl_ledger_read(any->ledger, entity, receiver, any->now, &view)) {
        assert_true(isfinite(view.accumulated) && isfinite(view.cumulative));
        assert_true(view.cumulative > -1e-6 && view.estimated > -1e-6);
        assert_true(view.sent >= view.arrived + view.lost);
    }
    FlTime time = any->now - random_span(&any->random, 6.0, 9.5);
    if (fl_ledger_seen(any->ledger, entity, receiver, time, &pose) == FL_OK) {
        assert_true(fl_vec3_finite(pose.position));
    }
}

static void any_begin_or_end(Anything *any, int32_t entity)
{
    if (any->live[entity]) {
        fl_ledger_entity_end(any->ledger, entity);
    } else {
        FlSend send;
        uint64_t policy = fl_random_below(&any->random, (uint64_t)POLICIES);
        assert_int_equal(fl_send_parse(every_policy[policy], &send), FL_OK);
        send.share_cap = fl_random_between(&any->random, 0.0, 1.0);
        fl_ledger_entity_begin(any->ledger, entity, &send);
    }
    any->live[entity] = !any->live[entity];
}

static void any_step(Anything *any)
{
    any->now += random_span(&any->random, 5.0, 8.5);
    uint64_t what = fl_random_below(&any->random, 40);
    int32_t entity = (int32_t)fl_random_below(&any->random, ANY_ENTITIES);
    int32_t receiver = (int32_t)fl_random_below(&any->random, ANY_RECEIVERS);
    if (what == 0) {
        any_begin_or_end(any, entity);
    } else if (what == 1) {
        fl_ledger_receiver_end(any->ledger, receiver);
    } else if (what < 6 && any->live[entity]) {
        bool watches = !random_chance(&any->random, 4);
        fl_ledger_watch(any->ledger, entity, receiver, watches, any->now);
    } else if (what < 16 && any->live[entity]) {
        any_export(any, entity);
    } else if (what < 24) {
        any_send(any, receiver);
    } else if (what < 34) {
        any_fate(any, receiver);
    } else if (what < 38) {
        any_read(any, entity, receiver);
    } else {
        fl_ledger_update(any->ledger, any->now);
        assert_true(fl_ledger_deadline(any->ledger) > any->now);
    }
}

static void any_sequence_of_calls_is_safe(void **state)
{
    (void)state;
    int32_t runs = CASES(40);
    for (int32_t run = 0; run < runs; run++) {
        Anything any = {.random = random_stream(7000 + (uint64_t)run), .now = -FL_SEC(3)};
        FlLedgerDef def = fl_ledger_def_default();
        def.entity_capacity = ANY_ENTITIES;
        def.receiver_capacity = ANY_RECEIVERS;
        def.path_capacity = 8 << run % 4; // small, so that much is forgotten
        assert_int_equal(fl_ledger_create(&def, &any.ledger), FL_OK);
        for (int32_t step = 0; step < 5000; step++) {
            any_step(&any);
        }
        fl_ledger_destroy(any.ledger);
    }
}

// ---------------------------------------------------------------- theorem 4.1

// All that the paper's premises ask for: feedback comes before the next trigger, and no wait is cut
// short. Delays are not known at first, and vary.
static void theorem_4_1_holds_at_every_scheduling_instant(void **state)
{
    (void)state;
    Worst worst = {0};
    int32_t runs = CASES(50);
    for (int32_t run = 0; run < runs; run++) {
        FlSend send = fl_send_make(FL_SEND_SCHEDULE1);
        send.longest_ns = FL_SEC(100000);
        send.starvation_ns = FL_FOREVER;
        int32_t count = 2 + run % 6;
        rig_begin(&send, count, 500 + (uint64_t)run);
        for (int32_t r = 0; r < count; r++) {
            rig_watch(r, true, 0);
        }
        FlTime now = FL_SEC(1);
        FlMotion before = {0};
        for (int32_t step = 0; step < 40; step++) {
            FlState truth = random_state(&rig.random, 50.0, 10.0);
            truth.time = now;
            FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, &truth);
            fl_ledger_export(rig.ledger, 0, &motion, 1, now);
            double least = (double)INFINITY, most = 0.0;
            FlTime end = now;
            int32_t left = count;
            for (FlTime at = now; left > 0; at = fl_ledger_deadline(rig.ledger)) {
                fl_ledger_update(rig.ledger, at);
                for (int32_t r = 0; r < count; r++) {
                    FlDue due;
                    if (!fl_ledger_due(rig.ledger, r, 0, &due)) {
                        continue;
                    }
                    FlTime expected = at + fl_ledger_receiver(rig.ledger, r).delay_ns;
                    FlLedgerView view;
                    assert_true(fl_ledger_read(rig.ledger, 0, r, now, &view));
                    double sum = view.cumulative;
                    sum += step == 0 ? 0.0 : fl__distance_integral(&motion, &before, now, expected);
                    least = sum < least ? sum : least;
                    most = sum > most ? sum : most;
                    fl_ledger_sent(rig.ledger, r, due, at);
                    Report *report = &rig.report[rig.report_count++];
                    report->due = due;
                    report->receiver = r;
                    report->sent = at;
                    report->arrived = at + rig.delay[r] + random_time(&rig.random, 0, FL_MS(80));
                    end = report->arrived > end ? report->arrived : end;
                    left--;
                }
            }
            if (step > 0) {
                worst_note(&worst, (most - least) / (1.0 + most), run);
            }
            for (int32_t i = 0; i < rig.report_count; i++) {
                const Report *report = &rig.report[i];
                fl_ledger_arrived(rig.ledger, report->receiver, report->due, report->sent,
                                  report->arrived, end + FL_MS(1));
            }
            rig.report_count = 0;
            before = motion;
            now = end + FL_MS(2);
        }
        fl_ledger_destroy(rig.ledger);
    }
    check_worst(&worst, 1e-6, "relative spread of the accumulated errors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_starves_whoever_comes_and_goes),
        cmocka_unit_test(a_new_watcher_is_owed_the_newest_at_once),
        cmocka_unit_test(a_cut_goes_to_everybody),
        cmocka_unit_test(the_same_game_gives_the_same_packets),
        cmocka_unit_test(lies_that_are_found_out_are_as_good_as_silence),
        cmocka_unit_test(budgets_are_kept_for_any_number_of_receivers),
        cmocka_unit_test(base_over_k_sends_every_kth),
        cmocka_unit_test(a_cap_bounds_what_delaying_everything_wins),
        cmocka_unit_test(any_sequence_of_calls_is_safe),
        cmocka_unit_test(theorem_4_1_holds_at_every_scheduling_instant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
