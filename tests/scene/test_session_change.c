// What may be changed while a session runs: an entity's policy, and the clock by which others'
// updates are placed.
#include "session_net.h"

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
                     .position = fl_vec3(20.0 * fl_cos(angle), 20.0 * fl_sin(angle), 0.0),
                     .velocity = fl_vec3(-way * fl_sin(angle), way * fl_cos(angle), 0.0),
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
    scene->net.def.path_capacity = 256;
    net_start(&scene->net, 0);
    FlEntityDef def = fl_entity_def_default();
    def.model = FL_MODEL_LINEAR;
    def.send = policy_of(policy);
    assert_int_equal(fl_entity_create(host_of(scene), &def, &scene->id), FL_OK);
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
    assert_int_equal(fl_entity_view(host_of(scene), scene->id, scene->peer[receiver],
                                    net_local(&scene->net, 0), &view),
                     FL_OK);
    return view;
}

static void change(Scene *scene, const char *policy)
{
    FlSend send = policy_of(policy);
    assert_int_equal(fl_entity_policy(host_of(scene), scene->id, &send, net_local(&scene->net, 0)),
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
    assert_int_equal(fl_entity_report(host_of(&scene), scene.id, now, &unfair), FL_OK);
    change(&scene, "schedule1");
    play(&scene, FL_SEC(60));
    now = net_local(&scene.net, 0);
    assert_int_equal(fl_entity_report(host_of(&scene), scene.id, now, &fair), FL_OK);
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
    FlSend send = fl_send_base();
    FlTime now = net_local(&scene.net, 0);
    FlEntityId none = {0};
    assert_int_equal(fl_entity_policy(host_of(&scene), none, &send, now), FL_STALE_ID);
    send.every = 0.0;
    assert_int_equal(fl_entity_policy(host_of(&scene), scene.id, &send, now), FL_BAD_VALUE);
    send = fl_send_base();
    FlSession *client = scene.net.node[1].session;
    now = net_local(&scene.net, 1);
    FlEntityId theirs = fl_entity_next(client, none);
    assert_int_equal(fl_entity_policy(client, theirs, &send, now), FL_BAD_VALUE);
    FlEntityDef def = fl_entity_def_default();
    FlEntityId own;
    assert_int_equal(fl_entity_create(client, &def, &own), FL_OK);
    assert_int_equal(fl_entity_policy(client, own, &send, now), FL_NOT_FOUND);
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
        FlEntityId none = {0};
        FlEntityId id = fl_entity_next(session, none);
        FlTime now = net_local(&scene->net, receiver + 1);
        drive(scene);
        net_frame(&scene->net);
        FlTime here = net_local(&scene->net, 0);
        assert_int_equal(fl_entity_pose(host_of(scene), scene->id, here, &real), FL_OK);
        now = net_local(&scene->net, receiver + 1);
        assert_int_equal(fl_entity_pose(session, id, now, &seen), FL_OK);
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
        cmocka_unit_test(the_clock_that_updates_are_placed_by_changes_while_it_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
