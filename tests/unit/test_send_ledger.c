// The ledger against a twin that keeps everything: whatever the network does, the error a pair
// counts is the integral of |exported - placed|, done from scratch over the full paths.
#include "send/private.h"

#include "motion/motion.h"
#include "unit/support.h"

// ---------------------------------------------------------------- the twin

#define TWIN_UPDATES 600
#define RECEIVERS 3

typedef struct Arrival {
    uint32_t serial;
    FlTime from;
} Arrival;

typedef struct TwinView {
    Arrival arrival[TWIN_UPDATES];
    int32_t count;
} TwinView;

/// All that ever happened to one entity.
typedef struct Twin {
    FlPiece exported[TWIN_UPDATES]; ///< By serial minus `first`.
    uint32_t first;
    int32_t count;
    TwinView view[RECEIVERS];
} Twin;

static int compare_arrivals(const void *a, const void *b)
{
    const Arrival *x = a;
    const Arrival *y = b;
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    return x->serial < y->serial ? -1 : x->serial > y->serial;
}

/// The error of a view from its first arrival to its last, from scratch.
static double twin_error(const Twin *twin, const TwinView *view)
{
    static FlPiece exported_storage[TWIN_UPDATES];
    static FlPiece placed_storage[TWIN_UPDATES];
    static Arrival sorted[TWIN_UPDATES];
    if (view->count == 0) {
        return 0.0;
    }
    FlPath exported, placed;
    fl_path_init(&exported, exported_storage, TWIN_UPDATES);
    fl_path_init(&placed, placed_storage, TWIN_UPDATES);
    for (int32_t i = 0; i < twin->count; i++) {
        assert_int_equal(fl_path_add(&exported, &twin->exported[i]), FL_OK);
    }
    memcpy(sorted, view->arrival, (size_t)view->count * sizeof sorted[0]);
    qsort(sorted, (size_t)view->count, sizeof sorted[0], compare_arrivals);
    uint32_t newest = 0;
    for (int32_t i = 0; i < view->count; i++) {
        if (sorted[i].serial < newest) {
            continue; // overtaken
        }
        newest = sorted[i].serial;
        FlPiece piece = twin->exported[newest - twin->first];
        piece.from = sorted[i].from;
        assert_int_equal(fl_path_add(&placed, &piece), FL_OK);
    }
    return fl_path_distance_integral(&exported, &placed, sorted[0].from,
                                     sorted[view->count - 1].from);
}

// ---------------------------------------------------------------- a random network

typedef struct Packet {
    FlDue due;
    int32_t receiver;
    FlTime sent, arrived, reported;
    bool lost;
    uint32_t watch; ///< Which watch of that receiver it belongs to.
} Packet;

#define PACKETS 4096

typedef struct Network {
    FlTime delay_ns, jitter_ns, report_ns, report_jitter_ns;
    uint64_t loss_one_in; ///< 0: never
} Network;

typedef struct Scene {
    FlLedger *ledger;
    FlRandom random;
    Network network;
    Twin twin;
    Packet packet[PACKETS];
    int32_t packet_count;
    uint32_t watch[RECEIVERS];
    bool watches[RECEIVERS];
    uint32_t life;
    FlModel model;
    FlTime age_ns; ///< Updates are up to this old when the ledger hears of them, as at a relay.
} Scene;

static Scene scene;

static void scene_begin(uint64_t seed, const FlLedgerDef *def, const FlSend *send)
{
    memset(&scene, 0, sizeof scene);
    scene.random = random_stream(seed);
    assert_int_equal(fl_ledger_create(def, &scene.ledger), FL_OK);
    fl_ledger_entity_begin(scene.ledger, 0, send);
    scene.twin.first = 1;
    scene.network.delay_ns = random_span(&scene.random, 6.0, 9.0);
    scene.network.jitter_ns = random_span(&scene.random, 6.0, 8.2);
    scene.network.report_ns = random_span(&scene.random, 6.0, 9.0);
    scene.network.report_jitter_ns = random_span(&scene.random, 6.0, 8.0);
    scene.network.loss_one_in = fl_random_below(&scene.random, 4);
    scene.network.loss_one_in *= 3;
    scene.life = 7;
    uint64_t draw = fl_random_below(&scene.random, 4);
    scene.model = draw == 0 ? FL_MODEL_QUADRATIC : draw == 1 ? FL_MODEL_CIRCULAR : FL_MODEL_LINEAR;
}

static void scene_export(FlTime now)
{
    Scene *s = &scene;
    if (s->twin.count == TWIN_UPDATES) {
        return;
    }
    FlState state = random_state(&s->random, 100.0, 20.0);
    state.time = now - random_time(&s->random, 0, s->age_ns);
    if (s->twin.count > 0 && state.time < s->twin.exported[s->twin.count - 1].from) {
        state.time = s->twin.exported[s->twin.count - 1].from;
    }
    FlMotion motion = fl_motion_make(s->model, &state);
    if (random_chance(&s->random, 12)) {
        s->life++;
    }
    bool vanishes = random_chance(&s->random, 30);
    uint32_t life = vanishes ? FL_LIFE_NONE : s->life;
    fl_ledger_export(s->ledger, 0, &motion, life, now);
    FlPiece piece = {.from = state.time, .life = life, .motion = motion};
    s->twin.exported[s->twin.count++] = piece;
}

static void scene_watch(int32_t receiver, bool watches, FlTime now)
{
    if (scene.watches[receiver] == watches) {
        return;
    }
    scene.watches[receiver] = watches;
    scene.watch[receiver]++;
    scene.twin.view[receiver].count = 0;
    fl_ledger_watch(scene.ledger, 0, receiver, watches, now);
}

static FlTime around(FlRandom *random, FlTime mean, FlTime jitter)
{
    FlTime span = random_time(random, mean - jitter, mean + jitter);
    return span < 0 ? 0 : span;
}

static void scene_send(FlTime now)
{
    Scene *s = &scene;
    for (int32_t r = 0; r < RECEIVERS; r++) {
        FlDue due;
        if (!fl_ledger_due(s->ledger, r, 0, &due) || s->packet_count == PACKETS) {
            continue;
        }
        assert_non_null(fl_ledger_exported(s->ledger, due.entity, due.serial));
        fl_ledger_sent(s->ledger, r, due, now);
        Packet *p = &s->packet[s->packet_count++];
        p->due = due;
        p->receiver = r;
        p->sent = now;
        p->arrived = now + around(&s->random, s->network.delay_ns, s->network.jitter_ns);
        p->reported =
            p->arrived + around(&s->random, s->network.report_ns, s->network.report_jitter_ns);
        p->lost = s->network.loss_one_in > 0 && random_chance(&s->random, s->network.loss_one_in);
        p->watch = s->watch[r];
    }
}

// Reports whose time has come, in order of their time.
static void scene_report(FlTime now)
{
    Scene *s = &scene;
    for (;;) {
        int32_t next = -1;
        for (int32_t i = 0; i < s->packet_count; i++) {
            if (s->packet[i].reported <= now &&
                (next < 0 || s->packet[i].reported < s->packet[next].reported)) {
                next = i;
            }
        }
        if (next < 0) {
            return;
        }
        Packet p = s->packet[next];
        s->packet[next] = s->packet[--s->packet_count];
        if (p.lost) {
            fl_ledger_lost(s->ledger, p.receiver, p.due, p.reported);
            continue;
        }
        fl_ledger_arrived(s->ledger, p.receiver, p.due, p.sent, p.arrived, p.reported);
        if (s->watches[p.receiver] && p.watch == s->watch[p.receiver]) {
            TwinView *view = &s->twin.view[p.receiver];
            Arrival arrival = {p.due.serial, p.arrived};
            view->arrival[view->count++] = arrival;
        }
    }
}

static void scene_check(Worst *worst, int64_t number)
{
    for (int32_t r = 0; r < RECEIVERS; r++) {
        FlLedgerView view;
        bool watches = fl_ledger_read(scene.ledger, 0, r, FL_SEC(1), &view);
        assert_int_equal(watches, scene.watches[r]);
        if (watches) {
            double want = twin_error(&scene.twin, &scene.twin.view[r]);
            assert_int_equal(view.arrived, scene.twin.view[r].count);
            worst_note(worst, fabs(view.cumulative - want) / (1.0 + want), number);
            double counted; // reports say it, and receivers believe no error below 0
            assert_true(fl__ledger_counted(scene.ledger, 0, r, &counted) && counted >= 0.0);
        }
    }
}

static void the_error_is_that_of_a_twin_which_forgets_nothing(void **state)
{
    (void)state;
    Worst worst = {0};
    int32_t runs = CASES(300);
    for (int32_t run = 0; run < runs; run++) {
        FlLedgerDef def = fl_ledger_def_default();
        def.entity_capacity = 3;
        def.receiver_capacity = RECEIVERS;
        def.path_capacity = 1024;
        def.shown_capacity = 64;
        FlSend send = fl_send_make(FL_SEND_BASE);
        send.every = 1 + run % 3;
        scene_begin((uint64_t)run, &def, &send);
        scene.age_ns = run % 2 == 0 ? 0 : random_span(&scene.random, 6.0, 8.7);
        FlTime now = FL_SEC(1);
        for (int32_t step = 0; step < 300; step++) {
            now += random_span(&scene.random, 7.0, 8.3); // never more than 64 under way
            scene_report(now);
            int32_t r = (int32_t)fl_random_below(&scene.random, RECEIVERS);
            if (random_chance(&scene.random, 20) || step < 4) {
                bool watches = !random_chance(&scene.random, 3);
                scene_watch(r, watches, now);
            }
            scene_export(now);
            if (random_chance(&scene.random, 2)) {
                now += random_span(&scene.random, 4.0, 7.5);
            }
            scene_report(now);
            scene_send(now);
            if (step % 29 == 0) {
                scene_check(&worst, run);
            }
        }
        scene_report(now + FL_SEC(10));
        scene_check(&worst, run);
        for (int32_t r = 0; r < RECEIVERS; r++) {
            assert_int_equal(fl_ledger_receiver(scene.ledger, r).late, 0);
            assert_int_equal(fl_ledger_receiver(scene.ledger, r).contradictions, 0);
        }
        assert_int_equal(fl__ledger_counts(scene.ledger).forgotten, 0);
        fl_ledger_destroy(scene.ledger);
    }
    check_worst(&worst, 1e-9, "relative difference to the twin");
}

// ---------------------------------------------------------------- arcs, shared among receivers

enum { CROWD = 64, ARCS = 12 };

// Two in a row stay further apart than they go in a tenth of a second.
static FlMotion random_arc(FlRandom *random, FlTime time)
{
    FlState state = {.time = time};
    double side = time / FL_MS(50) % 2 == 0 ? -1.0 : 1.0;
    state.position = fl_vec3(side * fl_random_between(random, 1.0, 5.0), 0.0, 0.0);
    state.velocity = fl_vec3(fl_random_between(random, -10.0, 10.0), 5.0, 0.0);
    state.turn_rate = fl_random_between(random, 0.5, 3.0);
    return fl_motion_make(FL_MODEL_CIRCULAR, &state);
}

// When receiver r gets what was exported `way` before: one shortly after the other, before the
// other, or anyhow.
static FlTime arrival_of(FlRandom *random, int32_t order, int32_t r, FlTime way)
{
    FlTime apart = order == 0 ? r : order == 1 ? CROWD - r : (FlTime)fl_random_below(random, CROWD);
    return way + apart * FL_US(70);
}

static void arrivals_in_any_order_share_the_integrals_of_arcs(void **state)
{
    (void)state;
    FlRandom random = {.seed = 12};
    Worst worst = {0};
    for (int32_t order = 0; order < 3; order++) {
        FlLedgerDef def = fl_ledger_def_default();
        def.receiver_capacity = CROWD;
        FlSend send = fl_send_make(FL_SEND_BASE);
        FlLedger *ledger;
        assert_int_equal(fl_ledger_create(&def, &ledger), FL_OK);
        fl_ledger_entity_begin(ledger, 0, &send);
        double want[CROWD] = {0.0};
        FlMotion before = random_arc(&random, FL_SEC(1));
        fl_ledger_export(ledger, 0, &before, 1, before.time);
        for (int32_t i = 0; i < ARCS; i++) {
            FlMotion next = random_arc(&random, before.time + FL_MS(50));
            FlTime way = (FlTime)fl_random_below(&random, 30) * FL_MS(1);
            fl_ledger_export(ledger, 0, &next, 1, next.time);
            for (int32_t r = 0; r < CROWD; r++) {
                fl_ledger_watch(ledger, 0, r, true, next.time);
                fl_ledger_clock_error(ledger, r, FL_MS(1));
                FlDue due;
                assert_true(fl_ledger_due(ledger, r, 0, &due));
                FlTime arrived = next.time + arrival_of(&random, order, r, way);
                fl_ledger_sent(ledger, r, due, next.time);
                fl_ledger_arrived(ledger, r, due, next.time, arrived, arrived);
                want[r] += i > 0 ? fl__distance_integral(&next, &before, next.time, arrived) : 0.0;
            }
            before = next;
        }
        for (int32_t r = 0; r < CROWD; r++) {
            FlLedgerView view;
            assert_true(fl_ledger_read(ledger, 0, r, before.time, &view));
            worst_note(&worst, fabs(view.cumulative - want[r]) / want[r], r);
        }
        fl_ledger_destroy(ledger);
    }
    check_worst(&worst, 1e-9, "relative difference to integrals of one's own");
}

// A ledger with one entity that one receiver watches.
static FlLedger *small_ledger(const FlSend *send)
{
    FlLedgerDef def = fl_ledger_def_default();
    def.entity_capacity = 2;
    def.receiver_capacity = 2;
    FlLedger *ledger;
    assert_int_equal(fl_ledger_create(&def, &ledger), FL_OK);
    fl_ledger_entity_begin(ledger, 0, send);
    fl_ledger_watch(ledger, 0, 0, true, 0);
    return ledger;
}

static FlFade random_fade(FlRandom *random)
{
    return (FlFade){
        .trust = (uint8_t)fl_random_below(random, FL_FADE_TRUSTS),
        .level = (uint8_t)(1 + fl_random_below(random, FL_FADE_CODES - 1)),
        .vertical = (uint8_t)fl_random_below(random, FL_FADE_CODES),
        .curve = (uint8_t)fl_random_below(random, FL_FADE_CODES),
    };
}

// Most fade later than they are shown, and share integrals; the others do not.
static void an_update_that_fades_counts_as_it_is_shown_whenever_it_arrives(void **state)
{
    (void)state;
    FlRandom random = {.seed = 31};
    Worst worst = {0};
    for (int32_t run = 0; run < 40; run++) {
        FlSend send = fl_send_make(FL_SEND_BASE);
        FlLedger *ledger = small_ledger(&send);
        FlMotion before = {0};
        FlPiece placed = {0};
        double want = 0.0;
        FlTime now = FL_SEC(1);
        for (int32_t i = 0; i < 30; i++) {
            FlMotion next = random_arc(&random, now);
            next.fade = random_fade(&random);
            fl_ledger_export(ledger, 0, &next, 1, now);
            FlDue due;
            assert_true(fl_ledger_due(ledger, 0, 0, &due));
            FlTime arrived = now + (FlTime)fl_random_below(&random, 120) * FL_MS(1);
            fl_ledger_sent(ledger, 0, due, now);
            fl_ledger_arrived(ledger, 0, due, now, arrived, arrived);
            if (i > 0) {
                want += fl__distance_integral(&before, &placed.motion, placed.from, now);
                want += fl__distance_integral(&next, &placed.motion, now, arrived);
            }
            before = next;
            placed = fl_piece_placed(&next, 1, arrived);
            bool long_silence = fl_random_below(&random, 4) == 0;
            now = arrived + (FlTime)fl_random_below(&random, long_silence ? 4000 : 200) * FL_MS(1);
            now += FL_MS(1);
        }
        FlLedgerView view;
        assert_true(fl_ledger_read(ledger, 0, 0, before.time, &view));
        worst_note(&worst, fabs(view.cumulative - want) / want, run);
        fl_ledger_destroy(ledger);
    }
    check_worst(&worst, 1e-9, "relative difference to what is shown");
}

// ---------------------------------------------------------------- reports out of order, and lies

static FlMotion moving(FlTime time, double x, double vx)
{
    FlState state = {.time = time, .position = {x, 0.0, 0.0}, .velocity = {vx, 0.0, 0.0}};
    return fl_motion_make(FL_MODEL_LINEAR, &state);
}

static FlDue export_and_send(FlLedger *ledger, double x, double vx, FlTime now)
{
    FlMotion motion = moving(now, x, vx);
    fl_ledger_export(ledger, 0, &motion, 1, now);
    FlDue due;
    assert_true(fl_ledger_due(ledger, 0, 0, &due));
    fl_ledger_sent(ledger, 0, due, now);
    assert_false(fl_ledger_due(ledger, 0, 0, &due));
    due.entity = 0;
    due.serial = 0;
    for (uint32_t s = 1; fl_ledger_exported(ledger, 0, s) != NULL; s++) {
        due.serial = s;
    }
    return due;
}

static void reports_later_than_memory_are_counted_and_do_no_harm(void **state)
{
    (void)state;
    FlSend send = fl_send_make(FL_SEND_BASE);
    FlLedger *ledger = small_ledger(&send);
    FlDue due[8];
    for (int32_t i = 0; i < 8; i++) {
        due[i] = export_and_send(ledger, i, i % 2 == 0 ? 1.0 : -1.0, FL_SEC(i));
    }
    for (int32_t i = 1; i < 8; i++) { // the first comes last
        fl_ledger_arrived(ledger, 0, due[i], FL_SEC(i), FL_SEC(i) + FL_MS(100), FL_SEC(9));
    }
    FlLedgerView before, after;
    assert_true(fl_ledger_read(ledger, 0, 0, FL_SEC(9), &before));
    assert_int_equal(fl_ledger_receiver(ledger, 0).late, 0);
    fl_ledger_arrived(ledger, 0, due[0], 0, FL_MS(100), FL_SEC(9));
    assert_int_equal(fl_ledger_receiver(ledger, 0).late, 1);
    assert_true(fl_ledger_read(ledger, 0, 0, FL_SEC(9), &after));
    check_same(after.cumulative, before.cumulative);
    assert_int_equal(after.arrived, 8);
    fl_ledger_destroy(ledger);
}

static void a_report_that_cannot_be_true_changes_nothing(void **state)
{
    (void)state;
    FlSend send = fl_send_make(FL_SEND_BASE);
    FlLedger *ledger = small_ledger(&send);
    fl_ledger_clock_error(ledger, 0, FL_MS(5));
    FlDue due = export_and_send(ledger, 0.0, 1.0, FL_SEC(1));
    fl_ledger_arrived(ledger, 0, due, FL_SEC(1), FL_SEC(1) + FL_MS(100), FL_SEC(2));
    due = export_and_send(ledger, 5.0, 2.0, FL_SEC(3));
    FlLedgerView before, after;
    FlLedgerReceiver honest = fl_ledger_receiver(ledger, 0);
    assert_true(fl_ledger_read(ledger, 0, 0, FL_SEC(4), &before));
    const FlTime lies[] = {FL_SEC(3) - FL_MS(6), 0,         FL_SEC(4) + FL_MS(6),
                           FL_SEC(100),          INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        fl_ledger_arrived(ledger, 0, due, FL_SEC(3), lies[i], FL_SEC(4));
        FlLedgerReceiver receiver = fl_ledger_receiver(ledger, 0);
        assert_int_equal(receiver.contradictions, i + 1);
        assert_int_equal(receiver.delay_ns, honest.delay_ns);
        assert_int_equal(receiver.reports, honest.reports);
        assert_true(fl_ledger_read(ledger, 0, 0, FL_SEC(4), &after));
        check_same(after.cumulative, before.cumulative);
        check_same(after.accumulated, before.accumulated);
        assert_int_equal(after.arrived, before.arrived);
    }
    // within the clock's bound it is believed, once
    fl_ledger_arrived(ledger, 0, due, FL_SEC(3), FL_SEC(3) - FL_MS(4), FL_SEC(4));
    assert_int_equal(fl_ledger_receiver(ledger, 0).reports, honest.reports + 1);
    fl_ledger_arrived(ledger, 0, due, FL_SEC(3), FL_SEC(3) + FL_MS(300), FL_SEC(4));
    assert_int_equal(fl_ledger_receiver(ledger, 0).reports, honest.reports + 1);
    assert_int_equal(fl__ledger_counts(ledger).stray, 1);
    fl_ledger_destroy(ledger);
}

static void losing_the_newest_makes_it_due_again(void **state)
{
    (void)state;
    FlSend send = fl_send_make(FL_SEND_BASE);
    FlLedger *ledger = small_ledger(&send);
    FlDue first = export_and_send(ledger, 0.0, 1.0, FL_SEC(1));
    FlDue second = export_and_send(ledger, 1.0, 1.0, FL_SEC(2));
    FlDue due;
    fl_ledger_lost(ledger, 0, first, FL_SEC(3)); // a newer one is under way
    assert_false(fl_ledger_due(ledger, 0, 0, &due));
    fl_ledger_lost(ledger, 0, second, FL_SEC(3));
    assert_true(fl_ledger_due(ledger, 0, 0, &due));
    assert_int_equal(due.serial, second.serial);
    FlLedgerView view;
    assert_true(fl_ledger_read(ledger, 0, 0, FL_SEC(3), &view));
    assert_int_equal(view.lost, 2);
    fl_ledger_destroy(ledger);
}

// ---------------------------------------------------------------- estimates

static void with_steady_delays_the_estimate_is_the_truth(void **state)
{
    (void)state;
    FlRandom random = random_stream(77);
    Worst worst = {0};
    int32_t runs = CASES(100);
    for (int32_t run = 0; run < runs; run++) {
        FlSend send = fl_send_make(FL_SEND_BASE);
        FlLedgerDef def = fl_ledger_def_default();
        def.entity_capacity = 1;
        def.receiver_capacity = 3;
        def.path_capacity = 1024;
        scene_begin((uint64_t)run + 1000, &def, &send);
        scene.network.jitter_ns = 0;
        scene.network.report_jitter_ns = 0;
        scene.network.loss_one_in = 0;
        scene.network.delay_ns = random_span(&random, 6.0, 9.0);
        scene.network.report_ns = random_span(&random, 6.0, 9.0);
        scene_watch(0, true, 0);
        FlTime now = FL_SEC(1);
        for (int32_t step = 0; step < 100; step++) {
            scene_export(now);
            scene_send(now);
            now += random_span(&random, 7.0, 8.3);
            scene_report(now);
        }
        FlLedgerView view;
        assert_true(fl_ledger_read(scene.ledger, 0, 0, now, &view));
        if (view.arrived == 0) {
            fl_ledger_destroy(scene.ledger);
            continue; // the delay is not known yet
        }
        // What will have arrived by now, known only to us, and the error up to now.
        for (int32_t i = 0; i < scene.packet_count; i++) {
            TwinView *twin = &scene.twin.view[0];
            if (scene.packet[i].arrived <= now) {
                Arrival arrival = {scene.packet[i].due.serial, scene.packet[i].arrived};
                twin->arrival[twin->count++] = arrival;
            }
        }
        Arrival end = {0, now}; // overtaken, but it ends the interval
        scene.twin.view[0].arrival[scene.twin.view[0].count++] = end;
        double want = twin_error(&scene.twin, &scene.twin.view[0]);
        worst_note(&worst, fabs(view.accumulated - want) / (1.0 + want), run);
        check_near(view.estimated, view.accumulated - view.cumulative, 1e-9 * (1.0 + want));
        fl_ledger_destroy(scene.ledger);
    }
    check_worst(&worst, 1e-9, "relative difference of AEE to the truth");
}

// ---------------------------------------------------------------- what was seen

static void seen_is_the_newest_that_had_arrived(void **state)
{
    (void)state;
    FlLedgerDef def = fl_ledger_def_default();
    def.entity_capacity = 1;
    def.receiver_capacity = RECEIVERS;
    def.path_capacity = 1024;
    def.shown_capacity = 128;
    int32_t found = 0;
    for (int32_t run = 0; run < 20; run++) {
        FlSend send = fl_send_make(FL_SEND_BASE);
        scene_begin((uint64_t)run + 2000, &def, &send);
        scene_watch(0, true, 0);
        FlTime now = FL_SEC(1);
        for (int32_t step = 0; step < 60; step++) {
            scene_export(now);
            scene_send(now);
            now += random_span(&scene.random, 7.0, 8.3);
            scene_report(now);
        }
        const TwinView *view = &scene.twin.view[0];
        for (int32_t k = 0; k < 50; k++) {
            FlTime time = random_time(&scene.random, 0, now);
            uint32_t newest = 0;
            for (int32_t i = 0; i < view->count; i++) {
                const Arrival *a = &view->arrival[i];
                newest = a->from <= time && a->serial > newest ? a->serial : newest;
            }
            FlPose pose;
            FlResult result = fl_ledger_seen(scene.ledger, 0, 0, time, &pose);
            const FlPiece *piece = newest > 0 ? &scene.twin.exported[newest - 1] : NULL;
            if (piece == NULL || piece->life == FL_LIFE_NONE) {
                assert_int_equal(result, FL_NOT_FOUND);
                continue;
            }
            assert_int_equal(result, FL_OK);
            assert_true(same_vec3(pose.position, fl_motion_position(&piece->motion, time)));
            found++;
        }
        fl_ledger_destroy(scene.ledger);
    }
    assert_true(found > 100);
}

// ---------------------------------------------------------------- slots

static void serials_are_never_used_twice_and_old_fates_find_nothing(void **state)
{
    (void)state;
    FlSend send = fl_send_make(FL_SEND_BASE);
    FlLedger *ledger = small_ledger(&send);
    FlMotion motion = moving(FL_SEC(1), 0.0, 1.0);
    uint32_t last = 0;
    for (int32_t life = 0; life < 5; life++) {
        FlDue due;
        fl_ledger_export(ledger, 0, &motion, 1, FL_SEC(1));
        assert_true(fl_ledger_due(ledger, 0, 0, &due));
        assert_true(due.serial > last);
        last = due.serial;
        fl_ledger_sent(ledger, 0, due, FL_SEC(1));
        fl_ledger_entity_end(ledger, 0);
        assert_null(fl_ledger_exported(ledger, 0, due.serial));
        fl_ledger_arrived(ledger, 0, due, FL_SEC(1), FL_SEC(1), FL_SEC(2));
        fl_ledger_entity_begin(ledger, 0, &send);
        assert_false(fl_ledger_due(ledger, 0, 0, &due));
        fl_ledger_watch(ledger, 0, 0, true, FL_SEC(1));
        assert_false(fl_ledger_due(ledger, 0, 0, &due)); // nothing to show yet
        FlLedgerView view;
        assert_true(fl_ledger_read(ledger, 0, 0, FL_SEC(2), &view));
        assert_int_equal(view.sent + view.arrived, 0);
        assert_true(view.last_sent == FL_FOREVER);
        due.entity = 0;
        due.serial = last;
        fl_ledger_arrived(ledger, 0, due, FL_SEC(1), FL_SEC(1), FL_SEC(2)); // of the one before
        fl_ledger_lost(ledger, 0, due, FL_SEC(2));
        assert_true(fl_ledger_read(ledger, 0, 0, FL_SEC(2), &view));
        assert_int_equal(view.arrived + view.lost, 0);
    }
    assert_int_equal(fl__ledger_counts(ledger).stray, 15);
    fl_ledger_destroy(ledger);
}

static void exports_out_of_order_or_not_finite_are_refused(void **state)
{
    (void)state;
    FlSend send = fl_send_make(FL_SEND_BASE);
    FlLedger *ledger = small_ledger(&send);
    FlDue due = export_and_send(ledger, 0.0, 1.0, FL_SEC(5));
    FlMotion older = moving(FL_SEC(4), 0.0, 1.0);
    FlMotion broken = moving(FL_SEC(6), (double)NAN, 1.0);
    fl_ledger_export(ledger, 0, &older, 1, FL_SEC(6));
    fl_ledger_export(ledger, 0, &broken, 1, FL_SEC(6));
    assert_int_equal(fl__ledger_counts(ledger).refused, 2);
    assert_null(fl_ledger_exported(ledger, 0, due.serial + 1));
    fl_ledger_export(ledger, 0, &broken, FL_LIFE_NONE, FL_SEC(6)); // the end has no motion
    assert_non_null(fl_ledger_exported(ledger, 0, due.serial + 1));
    fl_ledger_destroy(ledger);
}

static void what_is_due_is_found_among_many(void **state)
{
    (void)state;
    enum { ENTITIES = 200, MANY = 70 };
    FlRandom random = random_stream(5);
    FlLedgerDef def = fl_ledger_def_default();
    def.entity_capacity = ENTITIES;
    def.receiver_capacity = MANY;
    def.path_capacity = 8;
    FlLedger *ledger;
    assert_int_equal(fl_ledger_create(&def, &ledger), FL_OK);
    FlSend send = fl_send_make(FL_SEND_BASE);
    FlMotion motion = moving(FL_SEC(1), 0.0, 1.0);
    static bool owed[ENTITIES][MANY];
    memset(owed, 0, sizeof owed);
    for (int32_t e = 0; e < ENTITIES; e++) {
        fl_ledger_entity_begin(ledger, e, &send);
        for (int32_t r = 0; r < MANY; r++) {
            owed[e][r] = random_chance(&random, 3);
            fl_ledger_watch(ledger, e, r, owed[e][r], 0);
        }
        bool exports = random_chance(&random, 2);
        if (exports) {
            fl_ledger_export(ledger, e, &motion, 1, FL_SEC(1));
        }
        for (int32_t r = 0; r < MANY; r++) {
            owed[e][r] = owed[e][r] && exports;
        }
    }
    for (int32_t round = 0; round < 2; round++) {
        for (int32_t r = 0; r < MANY; r++) {
            int32_t from = 0;
            FlDue due;
            for (int32_t e = 0; e < ENTITIES; e++) {
                if (!owed[e][r]) {
                    continue;
                }
                assert_true(fl_ledger_due(ledger, r, from, &due));
                assert_int_equal(due.entity, e);
                from = e + 1;
                if (random_chance(&random, 2)) {
                    fl_ledger_sent(ledger, r, due, FL_SEC(1));
                    owed[e][r] = false;
                }
            }
            assert_false(fl_ledger_due(ledger, r, from, &due));
        }
    }
    fl_ledger_receiver_end(ledger, 3);
    FlDue due;
    assert_false(fl_ledger_due(ledger, 3, 0, &due));
    fl_ledger_destroy(ledger);
}

// ---------------------------------------------------------------- memory

typedef struct Counter {
    int64_t calls, bytes, fail_at;
} Counter;

static void *counted_alloc(void *ctx, size_t size, size_t align)
{
    Counter *counter = ctx;
    (void)align;
    counter->calls++;
    if (counter->calls == counter->fail_at) {
        return NULL;
    }
    counter->bytes += (int64_t)size;
    return malloc(size);
}

static void counted_free(void *ctx, void *ptr, size_t size)
{
    Counter *counter = ctx;
    counter->bytes -= (int64_t)size;
    free(ptr);
}

static void a_pair_takes_128_bytes_and_memory_is_as_documented(void **state)
{
    (void)state;
    FlLedgerDef def = fl_ledger_def_default();
    FlLedgerMemory memory = fl__ledger_memory(&def);
    assert_true(memory.pair <= 128);
    Counter counter = {0};
    def.alloc.alloc_fn = counted_alloc;
    def.alloc.free_fn = counted_free;
    def.alloc.ctx = &counter;
    FlLedger *ledger;
    assert_int_equal(fl_ledger_create(&def, &ledger), FL_OK);
    size_t want = memory.entity * (size_t)def.entity_capacity +
                  memory.receiver * (size_t)def.receiver_capacity +
                  memory.pair * (size_t)(def.entity_capacity * def.receiver_capacity);
    assert_true(counter.bytes <= (int64_t)want + 4096);
    assert_true(counter.bytes >= (int64_t)(want - want / 20));
    fl_ledger_destroy(ledger);
    assert_int_equal(counter.bytes, 0);
    fl_ledger_destroy(NULL);
}

static void a_ledger_that_cannot_be_made_leaves_nothing_behind(void **state)
{
    (void)state;
    FlLedgerDef def = fl_ledger_def_default();
    Counter counter = {0};
    def.alloc.alloc_fn = counted_alloc;
    def.alloc.free_fn = counted_free;
    def.alloc.ctx = &counter;
    for (counter.fail_at = 1;; counter.fail_at++) {
        counter.calls = 0;
        FlLedger *ledger;
        FlResult result = fl_ledger_create(&def, &ledger);
        if (result == FL_OK) {
            fl_ledger_destroy(ledger);
            break;
        }
        assert_int_equal(result, FL_NO_MEMORY);
        assert_null(ledger);
        assert_int_equal(counter.bytes, 0);
    }
    assert_true(counter.fail_at > 1);
}

static void a_ledger_in_use_allocates_nothing(void **state)
{
    (void)state;
    Counter counter = {0};
    FlLedgerDef def = fl_ledger_def_default();
    def.receiver_capacity = RECEIVERS;
    def.alloc.alloc_fn = counted_alloc;
    def.alloc.free_fn = counted_free;
    def.alloc.ctx = &counter;
    const char *texts[] = {"base",          "schedule1",     "schedule2",
                           "probabilistic", "deterministic", "equal-50"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        FlSend send;
        assert_int_equal(fl_send_parse(texts[i], &send), FL_OK);
        counter.calls = 0;
        scene_begin(i, &def, &send);
        FlTime now = FL_SEC(1);
        for (int32_t step = 0; step < 100; step++) {
            scene_watch(step % RECEIVERS, step % 7 != 0, now);
            scene_export(now);
            scene_send(now);
            now += FL_MS(60);
            scene_report(now);
            fl_ledger_update(scene.ledger, now);
            scene_send(now);
        }
        assert_int_equal(counter.calls, 1);
        fl_ledger_destroy(scene.ledger);
        assert_int_equal(counter.bytes, 0);
    }
}

static void nonsense_sizes_are_refused(void **state)
{
    (void)state;
    const int32_t bad[][4] = {{0, 1, 64, 4},  {1, 0, 64, 4},          {1, 1, 63, 4},
                              {1, 1, 4, 4},   {1, 1, 32768, 4},       {1, 1, 64, 2},
                              {1, 1, 64, 5},  {1, 1, 64, 256},        {-1, 1, 64, 4},
                              {1, -5, 64, 4}, {100000, 100000, 64, 4}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        FlLedgerDef def = fl_ledger_def_default();
        def.entity_capacity = bad[i][0];
        def.receiver_capacity = bad[i][1];
        def.path_capacity = bad[i][2];
        def.shown_capacity = bad[i][3];
        FlLedger *ledger;
        assert_int_equal(fl_ledger_create(&def, &ledger), FL_BAD_VALUE);
        assert_null(ledger);
    }
}

static void the_earliest_time_is_found_whatever_was_set(void **state)
{
    (void)state;
    FlRandom random = random_stream(9);
    static FlTime times[2000];
    static FlTime want[1000];
    for (int32_t run = 0; run < 20; run++) {
        int32_t count = 1 + (int32_t)fl_random_below(&random, 700);
        assert_true(fl__schedule_size(count) <= 2000);
        FlSchedule schedule;
        fl__schedule_init(&schedule, times, count);
        for (int32_t i = 0; i < count; i++) {
            want[i] = FL_FOREVER;
        }
        for (int32_t step = 0; step < 500; step++) {
            int32_t slot = (int32_t)fl_random_below(&random, (uint64_t)count);
            bool clears = random_chance(&random, 3);
            FlTime time = random_time(&random, 0, 1000);
            want[slot] = clears ? FL_FOREVER : time;
            fl__schedule_set(&schedule, slot, want[slot]);
            FlTime earliest = FL_FOREVER;
            int32_t first = 0;
            for (int32_t i = 0; i < count; i++) {
                first = want[i] < earliest ? i : first;
                earliest = want[i] < earliest ? want[i] : earliest;
            }
            assert_true(fl__schedule_earliest(&schedule) == earliest);
            if (earliest != FL_FOREVER) {
                assert_int_equal(fl__schedule_first(&schedule), first);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_error_is_that_of_a_twin_which_forgets_nothing),
        cmocka_unit_test(arrivals_in_any_order_share_the_integrals_of_arcs),
        cmocka_unit_test(an_update_that_fades_counts_as_it_is_shown_whenever_it_arrives),
        cmocka_unit_test(reports_later_than_memory_are_counted_and_do_no_harm),
        cmocka_unit_test(a_report_that_cannot_be_true_changes_nothing),
        cmocka_unit_test(losing_the_newest_makes_it_due_again),
        cmocka_unit_test(with_steady_delays_the_estimate_is_the_truth),
        cmocka_unit_test(seen_is_the_newest_that_had_arrived),
        cmocka_unit_test(serials_are_never_used_twice_and_old_fates_find_nothing),
        cmocka_unit_test(exports_out_of_order_or_not_finite_are_refused),
        cmocka_unit_test(what_is_due_is_found_among_many),
        cmocka_unit_test(a_pair_takes_128_bytes_and_memory_is_as_documented),
        cmocka_unit_test(a_ledger_that_cannot_be_made_leaves_nothing_behind),
        cmocka_unit_test(a_ledger_in_use_allocates_nothing),
        cmocka_unit_test(nonsense_sizes_are_refused),
        cmocka_unit_test(the_earliest_time_is_found_whatever_was_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
