// An admitted member that breaks the rules gets nothing: each test plays an attack with valid keys
// and asserts that its harm does not happen. docs/decisions/0021-who-may-say-what.md has the rules.
//
// Node 0 hosts, node 1 is a bystander (and the next host), node 2 an honest owner, node 3 hostile.
#include "session_hostile.h"

enum { HOST, BYSTANDER, OWNER, ATTACKER, MEMBERS };

typedef struct Scene {
    Net net;
    Hostile hostile;
} Scene;

static void open_scene(Scene *scene, FlTopology topology)
{
    net_open(&scene->net, 20, topology, topology != FL_TOPOLOGY_STAR);
    net_start_together(&scene->net, MEMBERS);
    net_run(&scene->net, scene->net.now + FL_SEC(2)); // introductions
    hostile_begin(&scene->hostile, scene->net.node[ATTACKER].session);
}

static uint32_t make_thing(Scene *scene, int32_t owner)
{
    FlEntityId id;
    FlEntityDef def = fl_entity_def_default();
    return net_make(&scene->net, owner, &def, &id);
}

static void wait_ms(Scene *scene, int32_t ms)
{
    net_run(&scene->net, scene->net.now + FL_MS(ms));
}

// ---------------------------------------------------------------- ownership

// While a new host asks who has what, nobody becomes owner of what another is known to own.
static void nobody_steals_when_the_host_changes(void **state)
{
    Scene scene;
    Net *net = &scene.net;
    open_scene(&scene, net_topology(state));
    uint32_t number[MEMBERS];
    for (int32_t i = BYSTANDER; i < MEMBERS; i++) {
        number[i] = make_thing(&scene, i);
    }
    wait_ms(&scene, 1000);
    FlImpairSettings fast = net_fair();
    fast.delay_ns = FL_MS(1); // its words come before the owners'
    net_ways(net, ATTACKER, BYSTANDER, &fast);
    net_leave(net, HOST);
    for (int32_t f = 0; f < 400; f++) {
        for (int32_t i = BYSTANDER; i < ATTACKER; i++) {
            FlSession *session = net->node[ATTACKER].session;
            uint16_t epoch = (uint16_t)(f % 3);
            hostile_entity(session, net_number(net, BYSTANDER), number[i], epoch, 0,
                           net_number(net, ATTACKER));
        }
        wait_ms(&scene, 5);
    }
    wait_ms(&scene, 5000);
    for (int32_t i = BYSTANDER; i < ATTACKER; i++) {
        assert_owner(net, number[i], i);
    }
    net_close(net);
}

// An owner that moves its entity far ahead at a bystander cannot hide who gets it next: the host's
// word counts.
static void an_epoch_far_ahead_hides_no_later_owner(void **state)
{
    Scene scene;
    Net *net = &scene.net;
    open_scene(&scene, net_topology(state));
    for (int32_t known = 0; known < 2; known++) {
        uint32_t number = make_thing(&scene, ATTACKER);
        if (known == 1) {
            wait_ms(&scene, 500);
        }
        for (uint16_t ahead = 1; ahead < 100; ahead += 14) {
            hostile_motion(&scene.hostile, net_number(net, BYSTANDER), number, ahead,
                           net_time(net, ATTACKER), 1.0);
            wait_ms(&scene, 20);
        }
        wait_ms(&scene, 500);
        give_to(net, ATTACKER, number, OWNER);
        wait_ms(&scene, 1000);
        assert_owner(net, number, OWNER);
        set_state(net, OWNER, number, 'b');
        wait_ms(&scene, 1000);
        assert_state(net, number, 'b', ATTACKER);
    }
    net_close(net);
}

// What is told of others' entities while a new host asks does not replace what their owners say.
static void nobody_claims_a_state_for_an_owner_who_is_there(void **state)
{
    Scene scene;
    Net *net = &scene.net;
    open_scene(&scene, net_topology(state));
    uint32_t number = make_thing(&scene, OWNER);
    set_state(net, OWNER, number, 'a');
    wait_ms(&scene, 1000);
    FlImpairSettings fast = net_fair();
    fast.delay_ns = FL_MS(1);
    net_ways(net, ATTACKER, BYSTANDER, &fast);
    net_leave(net, HOST);
    for (int32_t f = 0; f < 400; f++) {
        ClaimMessage m = {.number = (uint16_t)number, .version = 30000, .count = 1, .state = "x"};
        m.owner = (uint16_t)net_number(net, ATTACKER);
        uint8_t bytes[64];
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        fl__claim_message_write(&w, &m);
        hostile_message(net->node[ATTACKER].session, net_number(net, BYSTANDER), &w);
        wait_ms(&scene, 5);
    }
    wait_ms(&scene, 2000);
    set_state(net, OWNER, number, 'b');
    wait_ms(&scene, 1000);
    assert_owner(net, number, OWNER);
    assert_state(net, number, 'b', ATTACKER);
    net_close(net);
}

// Who made an entity and gave it away cannot move it on to an epoch of its own, and so silence its
// owner.
static void who_gave_it_away_does_not_move_it(void **state)
{
    Scene scene;
    Net *net = &scene.net;
    open_scene(&scene, net_topology(state));
    uint32_t number = make_thing(&scene, ATTACKER);
    wait_ms(&scene, 500);
    give_to(net, ATTACKER, number, OWNER);
    wait_ms(&scene, 1000);
    assert_owner(net, number, OWNER);
    NetWalk walk = {.owner = OWNER, .number = number, .at = net->now};
    walk.velocity = fl_vec3(3.0, 0.0, 0.0);
    for (int32_t f = 0; f < 150; f++) {
        net_walk_turn(net, &walk);
        assert_int_equal(net_walk_step(net, &walk), FL_OK);
        uint16_t epoch = (uint16_t)(net_epoch(net, OWNER, number) + 1);
        int32_t to = f % 2 == 0 ? HOST : BYSTANDER;
        hostile_motion(&scene.hostile, net_number(net, to), number, epoch, net_time(net, ATTACKER),
                       500.0);
        wait_ms(&scene, 20);
    }
    walk.velocity = fl_vec3(0.0, 0.0, 0.0);
    assert_int_equal(net_walk_step(net, &walk), FL_OK);
    wait_ms(&scene, 1500);
    assert_owner(net, number, OWNER);
    for (int32_t i = HOST; i < ATTACKER; i++) {
        FlPose pose;
        FlEntityId id = net_entity(net, i, number);
        assert_true(fl_entity_pose_at(net->node[i].session, net_local(net, i), id, &pose));
        assert_true(fabs(pose.position.x - walk.position.x) < 0.5);
    }
    net_close(net);
}

static void claim_nothing(Net *net, int32_t node)
{
    if (node == ATTACKER) {
        net->node[node].session->entities->claim_turn = FL__NONE;
    }
}

// Who does not say what it knows of an entity without owner makes nobody wait for long.
static void who_never_claims_is_not_waited_for(void **state)
{
    Scene scene;
    Net *net = &scene.net;
    open_scene(&scene, net_topology(state));
    FlEntityDef def = fl_entity_def_default();
    def.survives_owner = true;
    FlEntityId id;
    uint32_t number = net_make(net, OWNER, &def, &id);
    wait_ms(&scene, 1000);
    net_leave(net, OWNER);
    net->before_pump = claim_nothing;
    wait_ms(&scene, 4000);
    assert_owner(net, number, HOST);
    net_close(net);
}

// ---------------------------------------------------------------- states and calls

// A former owner's answers bring no state, and none of its versions locks the owner out.
static void a_former_owner_does_not_write_states(void **state)
{
    Scene scene;
    Net *net = &scene.net;
    open_scene(&scene, net_topology(state));
    uint32_t number = make_thing(&scene, ATTACKER);
    set_state(net, ATTACKER, number, 'a');
    wait_ms(&scene, 500);
    give_to(net, ATTACKER, number, OWNER);
    wait_ms(&scene, 1000);
    assert_owner(net, number, OWNER);
    for (int32_t to = HOST; to < ATTACKER; to++) {
        for (uint16_t back = 0; back < 2; back++) {
            FlAnswerMessage m = {.key = {1, (uint16_t)net_number(net, to), 1},
                                 .answer = FL_ANSWER_APPLIED,
                                 .number = (uint16_t)number,
                                 .epoch = (uint16_t)(net_epoch(net, OWNER, number) - back),
                                 .version = 30000,
                                 .count = 1,
                                 .state = "x"};
            uint8_t bytes[128];
            FlWriter w;
            fl_writer_init(&w, bytes, sizeof bytes);
            fl_writer_put(&w, MESSAGE_ANSWER, 8);
            fl__answer_message_write(&w, &m);
            hostile_message(net->node[ATTACKER].session, net_number(net, HOST), &w);
            hostile_message(net->node[ATTACKER].session, net_number(net, to), &w);
        }
        uint16_t epoch = net_epoch(net, OWNER, number);
        hostile_state(&scene.hostile, net_number(net, to), number, epoch, 30000, 'x');
        wait_ms(&scene, 100);
    }
    assert_state(net, number, 'a', ATTACKER);
    set_state(net, OWNER, number, 'b');
    wait_ms(&scene, 1000);
    assert_state(net, number, 'b', ATTACKER);
    net_close(net);
}

// A version far ahead that an owner leaves behind does not lock out the next owner.
static void an_owner_does_not_lock_out_the_next_one(void **state)
{
    Scene scene;
    Net *net = &scene.net;
    open_scene(&scene, net_topology(state));
    uint32_t number = make_thing(&scene, ATTACKER);
    set_state(net, ATTACKER, number, 'a');
    wait_ms(&scene, 500);
    // It is the owner's to say, so it is believed; it hands over another version.
    hostile_state(&scene.hostile, net_number(net, BYSTANDER), number, 0, 30000, 'x');
    wait_ms(&scene, 100);
    give_to(net, ATTACKER, number, OWNER);
    wait_ms(&scene, 1000);
    set_state(net, OWNER, number, 'b');
    wait_ms(&scene, 1000);
    assert_state(net, number, 'b', ATTACKER);
    net_close(net);
}

static int32_t calls_taken(FlSession *session, FlPeerId from)
{
    int32_t count = 0;
    FlCall call;
    while (fl_call_take(session, &call) == FL_OK) {
        count += call.from.index1 == from.index1 ? 1 : 0;
    }
    return count;
}

// A call comes from who made it: the host has proved that, or the caller says it itself.
static void nobody_calls_as_another(void **state)
{
    Scene scene;
    Net *net = &scene.net;
    open_scene(&scene, net_topology(state));
    uint32_t number = make_thing(&scene, ATTACKER);
    wait_ms(&scene, 500);
    give_to(net, ATTACKER, number, OWNER);
    wait_ms(&scene, 1000);
    FlTime until = net_time(net, ATTACKER) + FL_SEC(2);
    FlCallMessage m = {.key = {1, (uint16_t)net_number(net, BYSTANDER), 1},
                       .number = (uint16_t)number,
                       .epoch = net_epoch(net, OWNER, number),
                       .kind = 700,
                       .until = until - until % FL_US(250)};
    uint8_t bytes[128];
    for (int32_t i = 0; i < 2; i++) {
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        fl_writer_put(&w, MESSAGE_CALL, 8);
        fl__call_message_write(&w, &m);
        hostile_message(net->node[ATTACKER].session, net_number(net, HOST), &w);
        hostile_message(net->node[ATTACKER].session, net_number(net, OWNER), &w);
    }
    wait_ms(&scene, 500);
    FlSession *owner = net->node[OWNER].session;
    assert_int_equal(calls_taken(owner, net_peer(net, OWNER, BYSTANDER)), 0);
    net_close(net);
}

// An owner's answer of an epoch that has not begun brings nothing, so it locks out nobody.
static void an_answer_of_a_later_epoch_locks_out_nobody(void **state)
{
    Scene scene;
    Net *net = &scene.net;
    open_scene(&scene, net_topology(state));
    uint32_t number = make_thing(&scene, ATTACKER);
    set_state(net, ATTACKER, number, 'a');
    wait_ms(&scene, 500);
    for (int32_t to = HOST; to < ATTACKER; to++) {
        FlAnswerMessage m = {.key = {1, (uint16_t)net_number(net, to), 1},
                             .answer = FL_ANSWER_APPLIED,
                             .number = (uint16_t)number,
                             .epoch = 30000,
                             .version = 5,
                             .count = 1,
                             .state = "x"};
        uint8_t bytes[128];
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        fl_writer_put(&w, MESSAGE_ANSWER, 8);
        fl__answer_message_write(&w, &m);
        hostile_message(net->node[ATTACKER].session, net_number(net, HOST), &w);
        hostile_message(net->node[ATTACKER].session, net_number(net, to), &w);
    }
    wait_ms(&scene, 200);
    give_to(net, ATTACKER, number, OWNER);
    wait_ms(&scene, 1000);
    set_state(net, OWNER, number, 'b');
    wait_ms(&scene, 1000);
    assert_state(net, number, 'b', ATTACKER);
    net_close(net);
}

// ---------------------------------------------------------------- slots

// However many entities a member announces or moves, others and the host can make theirs.
static void nobody_takes_all_the_slots(void **state)
{
    Scene scene;
    Net *net = &scene.net;
    open_scene(&scene, net_topology(state));
    FlSession *session = net->node[ATTACKER].session;
    uint32_t first = session->id_range * (uint32_t)net_number(net, ATTACKER);
    for (uint32_t n = first; n < first + session->id_range; n++) {
        hostile_entity(session, net_number(net, HOST), n, 0, 0, net_number(net, ATTACKER));
        int32_t to = (int32_t)(n % ATTACKER);
        hostile_motion(&scene.hostile, net_number(net, to), n, 0, net_time(net, ATTACKER), 1.0);
        wait_ms(&scene, 20);
    }
    wait_ms(&scene, 1000);
    for (int32_t i = HOST; i < ATTACKER; i++) {
        uint32_t number = make_thing(&scene, i);
        wait_ms(&scene, 500);
        for (int32_t at = HOST; at < ATTACKER; at++) {
            assert_true(net_entity(net, at, number).index1 != 0);
        }
    }
    net_close(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TOPOLOGY(nobody_steals_when_the_host_changes, "mesh"),
        NET_TOPOLOGY(nobody_steals_when_the_host_changes, "hybrid"),
        NET_TOPOLOGY(nobody_claims_a_state_for_an_owner_who_is_there, "mesh"),
        NET_TOPOLOGY(nobody_claims_a_state_for_an_owner_who_is_there, "hybrid"),
        NET_TOPOLOGIES(who_gave_it_away_does_not_move_it),
        NET_TOPOLOGIES(who_never_claims_is_not_waited_for),
        NET_TOPOLOGIES(a_former_owner_does_not_write_states),
        NET_TOPOLOGY(an_owner_does_not_lock_out_the_next_one, "mesh"),
        NET_TOPOLOGY(an_owner_does_not_lock_out_the_next_one, "hybrid"),
        NET_TOPOLOGY(an_epoch_far_ahead_hides_no_later_owner, "mesh"),
        NET_TOPOLOGY(an_epoch_far_ahead_hides_no_later_owner, "hybrid"),
        NET_TOPOLOGIES(an_answer_of_a_later_epoch_locks_out_nobody),
        NET_TOPOLOGIES(nobody_calls_as_another),
        NET_TOPOLOGIES(nobody_takes_all_the_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
