// What may be changed while a session runs: an entity's policy, and the clock by which others'
// updates are placed.
#include "session_net.h"

#include "base/maths.h"

enum { RECEIVERS = 3 };

static const char *const names[] = {"base",          "base/3",        "schedule1", "schedule2",
                                    "probabilistic", "deterministic", "equal-0",   "equal-100",
                                    "focus",         "focus+equal"};

enum { NAMES = sizeof names / sizeof *names };

/// A host with one thing that goes round, and receivers at 200, 500 and 800 ms.
typedef struct Scene {
    Net net;
    FlEntityId id;
    FlPeerId peer[RECEIVERS];
} Scene;

static FlSend policy_of(const char *name)
{
    FlSend send;
    assert_int_equal(fl_send_parse(name, &send), FL_OK);
    return send;
}

static FlSession *host_of(Scene *scene)
{
    return scene->net.node[0].session;
}

/// Round and round, 20 m/s; every 4 s the other way.
static void drive(Scene *scene)
{
    FlTime now = net_local(&scene->net, 0);
    double seconds = fl_span_seconds(scene->net.now);
    double turn = fmod(seconds, 8.0);
    double angle = turn < 4.0 ? turn : 8.0 - turn;
    double way = turn < 4.0 ? 20.0 : -20.0;
    FlState state = {.time = now,
                     .position = fl_vec3(20.0 * fl__cos(angle), 20.0 * fl__sin(angle), 0.0),
                     .velocity = fl_vec3(-way * fl__sin(angle), way * fl__cos(angle), 0.0),
                     .facing = fl_facing_yaw(0.0, 0.0)};
    assert_int_equal(fl_entity_set(host_of(scene), scene->id, &state), FL_OK);
}

static void play(Scene *scene, FlTime span)
{
    for (FlTime end = scene->net.now + span; scene->net.now < end;) {
        drive(scene);
        net_frame(&scene->net);
    }
}

static void open_scene(Scene *scene, const char *policy)
{
    net_open(&scene->net, 5, FL_TOPOLOGY_STAR, false);
    scene->net.def.tuning.path_capacity = 256;
    net_start(&scene->net, 0);
    FlEntityDef def = fl_entity_def_default();
    def.model = FL_MODEL_LINEAR;
    def.send = policy_of(policy);
    scene->id = fl_entity_create(host_of(scene), &def);
    assert_int_not_equal(scene->id.index1, 0);
    for (int32_t r = 0; r < RECEIVERS; r++) {
        scene->net.weather.delay_ns = FL_MS(200 + 300 * r);
        net_start(&scene->net, r + 1);
    }
    play(scene, FL_SEC(12));
    assert_true(net_together(&scene->net));
    for (int32_t r = 0; r < RECEIVERS; r++) {
        FlPeerStatus status;
        const FlSession *session = scene->net.node[r + 1].session;
        assert_int_equal(fl_peer_status(session, fl_peer_self(session), &status), FL_OK);
        scene->peer[r] = fl_peer_of_number(host_of(scene), status.number);
    }
}

static FlLedgerView view_of(Scene *scene, int32_t receiver)
{
    FlLedgerView view;
    assert_int_equal(fl_entity_view(host_of(scene), net_local(&scene->net, 0), scene->id,
                                    scene->peer[receiver], &view),
                     FL_OK);
    return view;
}

static void change(Scene *scene, const char *policy)
{
    FlSend send = policy_of(policy);
    assert_int_equal(fl_entity_policy(host_of(scene), net_local(&scene->net, 0), scene->id, &send),
                     FL_OK);
}

// ---------------------------------------------------------------- policies

static void another_policy_keeps_what_was_counted(void **state)
{
    (void)state;
    Scene scene;
    FlRandom random = {.seed = 9};
    open_scene(&scene, "base");
    for (int32_t i = 0; i < 60; i++) {
        FlLedgerView before[RECEIVERS];
        for (int32_t r = 0; r < RECEIVERS; r++) {
            before[r] = view_of(&scene, r);
        }
        uint64_t name = fl_random_below(&random, NAMES);
        change(&scene, names[name]);
        for (int32_t r = 0; r < RECEIVERS; r++) {
            FlLedgerView after = view_of(&scene, r);
            assert_true(after.cumulative == before[r].cumulative);
            assert_true(after.accumulated == before[r].accumulated);
            assert_int_equal(after.sent, before[r].sent);
        }
        net_frame(&scene.net);                    // in which nothing is exported
        for (int32_t r = 0; r < RECEIVERS; r++) { // a new beginning, for everybody
            assert_true(view_of(&scene, r).sent > before[r].sent);
        }
        uint64_t ms = fl_random_below(&random, 2000);
        play(&scene, FL_MS(20) + FL_MS(1) * (FlTime)ms);
    }
    net_close(&scene.net);
}

/// Updates to all receivers within so long.
static int32_t sent_within(Scene *scene, FlTime span)
{
    int32_t sum = 0;
    for (int32_t r = 0; r < RECEIVERS; r++) {
        sum -= (int32_t)view_of(scene, r).sent;
    }
    play(scene, span);
    for (int32_t r = 0; r < RECEIVERS; r++) {
        sum += (int32_t)view_of(scene, r).sent;
    }
    return sum;
}

static void a_policy_changed_to_spends_what_it_says(void **state)
{
    (void)state;
    for (int32_t i = 0; i < NAMES; i++) {
        Scene scene;
        open_scene(&scene, names[i]);
        change(&scene, "base");
        int32_t all = sent_within(&scene, FL_SEC(40));
        change(&scene, "base/3");
        int32_t third = sent_within(&scene, FL_SEC(40));
        change(&scene, "base");
        int32_t again = sent_within(&scene, FL_SEC(40));
        print_message("             after %-14s %d, a third %d, %d\n", names[i], all, third, again);
        assert_true(third > all / 3 - 30 && third < all / 3 + 30);
        assert_true(again > all - 30 && again < all + 30);
        net_close(&scene.net);
    }
}

static void a_fair_policy_makes_up_for_what_was_before_it(void **state)
{
    (void)state;
    Scene scene;
    FlEntityReport unfair, fair;
    open_scene(&scene, "base");
    play(&scene, FL_SEC(30));
    FlTime now = net_local(&scene.net, 0);
    assert_int_equal(fl_entity_report(host_of(&scene), now, scene.id, &unfair), FL_OK);
    change(&scene, "schedule1");
    play(&scene, FL_SEC(60));
    now = net_local(&scene.net, 0);
    assert_int_equal(fl_entity_report(host_of(&scene), now, scene.id, &fair), FL_OK);
    print_message("             spread by mean: %.3f, then %.3f\n", unfair.sd / unfair.mean,
                  fair.sd / fair.mean);
    assert_true(unfair.sd > 0.3 * unfair.mean);
    assert_true(fair.sd < 0.1 * fair.mean);
    net_close(&scene.net);
}

static void only_who_distributes_a_thing_can_change_its_policy(void **state)
{
    (void)state;
    Scene scene;
    open_scene(&scene, "base");
    FlSend send = fl_send_make(FL_SEND_BASE);
    FlTime now = net_local(&scene.net, 0);
    FlEntityId none = {0};
    assert_int_equal(fl_entity_policy(host_of(&scene), now, none, &send), FL_STALE_ID);
    send.every = 0.0;
    assert_int_equal(fl_entity_policy(host_of(&scene), now, scene.id, &send), FL_BAD_VALUE);
    send = fl_send_make(FL_SEND_BASE);
    FlSession *client = scene.net.node[1].session;
    now = net_local(&scene.net, 1);
    FlEntityId theirs = {0};
    (void)fl_entity_next(client, &theirs);
    assert_int_equal(fl_entity_policy(client, now, theirs, &send), FL_BAD_VALUE);
    FlEntityDef def = fl_entity_def_default();
    FlEntityId own;
    own = fl_entity_create(client, &def);
    assert_int_not_equal(own.index1, 0);
    assert_int_equal(fl_entity_policy(client, now, own, &send), FL_NOT_FOUND);
    net_close(&scene.net);
}

// A client's thing that goes straight on and back: the host relays it to the two others, and makes
// them equal when it is told to.
static void a_host_changes_the_policy_of_what_it_relays(void **state)
{
    (void)state;
    Scene scene;
    open_scene(&scene, "base");
    FlSession *client = scene.net.node[1].session;
    FlEntityDef def = fl_entity_def_default();
    def.model = FL_MODEL_LINEAR;
    FlEntityId own = fl_entity_create(client, &def);
    FlEntityStatus status;
    FlEntityReport report[2];
    for (int32_t part = 0; part < 2; part++) {
        for (FlTime end = scene.net.now + FL_SEC(40); scene.net.now < end;) {
            double turn = fmod(fl_span_seconds(scene.net.now), 4.0);
            FlState truth = {.time = net_local(&scene.net, 1),
                             .position = fl_vec3(turn < 2.0 ? 20 * turn : 80 - 20 * turn, 0, 0),
                             .velocity = fl_vec3(turn < 2.0 ? 20.0 : -20.0, 0.0, 0.0)};
            assert_int_equal(fl_entity_set(client, own, &truth), FL_OK);
            net_frame(&scene.net);
        }
        assert_int_equal(fl_entity_status(client, own, &status), FL_OK);
        FlEntityId there = fl_entity_of_number(host_of(&scene), status.number);
        FlTime now = net_local(&scene.net, 0);
        assert_int_equal(fl_entity_report(host_of(&scene), now, there, &report[part]), FL_OK);
        FlSend send = policy_of("equal-100");
        assert_int_equal(fl_entity_policy(host_of(&scene), now, there, &send), FL_OK);
    }
    print_message("relayed: sd is %.3f of the mean under base, then %.3f under equal-100\n",
                  report[0].sd / report[0].mean, report[1].sd / report[1].mean);
    assert_true(report[0].sd > 0.1 * report[0].mean);
    assert_true(report[1].sd < 0.5 * report[0].sd / report[0].mean * report[1].mean);
    net_close(&scene.net);
}

// ---------------------------------------------------------------- clocks

/// How far off the exported thing a receiver has it, on average.
static double off_by(Scene *scene, int32_t receiver, FlTime span)
{
    double sum = 0.0;
    int32_t count = 0;
    for (FlTime end = scene->net.now + span; scene->net.now < end; count++) {
        FlPose real, seen;
        FlSession *session = scene->net.node[receiver + 1].session;
        FlEntityId id = {0};
        (void)fl_entity_next(session, &id);
        FlTime now = net_local(&scene->net, receiver + 1);
        drive(scene);
        net_frame(&scene->net);
        FlTime here = net_local(&scene->net, 0);
        assert_true(fl_entity_pose_at(host_of(scene), here, scene->id, &real));
        now = net_local(&scene->net, receiver + 1);
        assert_true(fl_entity_pose_at(session, now, id, &seen));
        sum += fl_vec3_distance(real.position, seen.position);
    }
    return sum / count;
}

static void the_clock_that_updates_are_placed_by_changes_while_it_runs(void **state)
{
    (void)state;
    Scene scene;
    open_scene(&scene, "base");
    FlSession *receiver = scene.net.node[1].session; // 200 ms away, 20 m/s
    double global = off_by(&scene, 0, FL_SEC(16));
    fl_session_time_mode(receiver, FL_TIME_LOCAL);
    play(&scene, FL_SEC(1));
    double local = off_by(&scene, 0, FL_SEC(16));
    fl_session_time_mode(receiver, FL_TIME_ONE_WAY);
    play(&scene, FL_SEC(2));
    double one_way = off_by(&scene, 0, FL_SEC(16));
    fl_session_time_mode(receiver, FL_TIME_GLOBAL);
    play(&scene, FL_SEC(1));
    double again = off_by(&scene, 0, FL_SEC(16));
    print_message("             off by: global %.2f, local %.2f, one-way %.2f, global %.2f\n",
                  global, local, one_way, again);
    assert_true(local > 3.5 && local < 4.5); // speed times delay: 4 m
    assert_true(global < 1.0 && fabs(again - global) < 0.2 && fabs(one_way - global) < 0.2);
    net_close(&scene.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_policy_keeps_what_was_counted),
        cmocka_unit_test(a_policy_changed_to_spends_what_it_says),
        cmocka_unit_test(a_fair_policy_makes_up_for_what_was_before_it),
        cmocka_unit_test(only_who_distributes_a_thing_can_change_its_policy),
        cmocka_unit_test(a_host_changes_the_policy_of_what_it_relays),
        cmocka_unit_test(the_clock_that_updates_are_placed_by_changes_while_it_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
