// Host, join, pump, close over a transport of the game's own, in virtual time: what a game sees of
// the front door, and what it reads when something is wrong.
#include "fairlead/session.h"

// cmocka wants these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 4, FLIGHTS = 4096 };

typedef struct Datagram {
    FlAddress from, to;
    FlTime at;
    int32_t count;
    uint8_t bytes[FL_SESSION_DATAGRAM_BYTES];
} Datagram;

typedef struct Air {
    FlTime now;
    FlTime delay;
    bool blocked[NODES]; // what it sends is lost
    Datagram flights[FLIGHTS];
    int32_t count;
} Air;

typedef struct Node {
    Air *air;
    FlTransport transport;
    Datagram got;
    FlSession *session;
    FlError error;
    char log[4096];
} Node;

static FlAddress address_of(uint64_t id)
{
    FlAddress address = {.family = FL_FAMILY_IPV6, .port = 1};
    memcpy(address.ip, &id, sizeof id); // ids of 64 bits, as Steam has them
    return address;
}

static void air_send(void *ctx, const FlOutgoing *datagram)
{
    Node *node = (Node *)ctx;
    Air *air = node->air;
    if (air->blocked[node->transport.self.ip[0]]) {
        return;
    }
    assert_true(air->count < FLIGHTS);
    Datagram *flight = &air->flights[air->count++];
    flight->from = node->transport.self;
    flight->to = datagram->to;
    flight->at = air->now + air->delay;
    flight->count = datagram->count;
    memcpy(flight->bytes, datagram->bytes, (size_t)datagram->count);
}

static bool air_receive(void *ctx, FlIncoming *datagram)
{
    Node *node = (Node *)ctx;
    Air *air = node->air;
    for (int32_t i = 0; i < air->count; i++) {
        if (fl_address_equal(air->flights[i].to, node->transport.self) &&
            air->flights[i].at <= air->now) {
            node->got = air->flights[i];
            memmove(&air->flights[i], &air->flights[i + 1],
                    (size_t)(--air->count - i) * sizeof air->flights[0]);
            datagram->from = node->got.from;
            datagram->bytes = node->got.bytes;
            datagram->count = node->got.count;
            datagram->arrival = node->got.at;
            return true;
        }
    }
    return false;
}

// Time passes in the test's loop, not here.
static FlTime air_wait(void *ctx, FlTime until)
{
    (void)until;
    return ((Node *)ctx)->air->now;
}

static void note(void *ctx, const char *text)
{
    Node *node = (Node *)ctx;
    size_t used = strlen(node->log);
    (void)snprintf(node->log + used, sizeof node->log - used, "%s\n", text);
}

static void air_begin(Air *air, Node *nodes)
{
    memset(air, 0, sizeof *air);
    air->now = FL_SEC(100);
    air->delay = FL_MS(20);
    for (int32_t i = 0; i < NODES; i++) {
        memset(&nodes[i], 0, sizeof nodes[i]);
        nodes[i].air = air;
        FlTransport transport = {air_send, air_receive, air_wait, &nodes[i],
                                 address_of((uint64_t)i)};
        transport.self.ip[8] = 9; // no address is all zero
        nodes[i].transport = transport;
    }
}

static FlSessionDef def_of(Node *node)
{
    FlSessionDef def = fl_session_def_default();
    def.transport = &node->transport;
    def.seed = 1 + (uint64_t)node->transport.self.ip[0];
    def.unix_s = 1700000000;
    def.log_fn = note;
    def.log_ctx = node;
    return def;
}

static void host(Node *node, const FlSessionDef *def)
{
    node->session = fl_session_host(def, &node->error);
    assert_string_equal(node->error.text, "");
    assert_non_null(node->session);
}

static void join(Node *node, const FlSessionDef *def, Node *to)
{
    char invite[FL_INVITE_TEXT];
    assert_int_equal(fl_session_invite(to->session, NULL, invite), FL_OK);
    node->session = fl_session_join(def, invite, &node->error);
    assert_string_equal(node->error.text, "");
    assert_non_null(node->session);
}

static void run(Air *air, Node *nodes, FlTime span)
{
    for (FlTime end = air->now + span; air->now < end; air->now += FL_MS(5)) {
        for (int32_t i = 0; i < NODES; i++) {
            if (nodes[i].session != NULL) {
                assert_int_equal(fl_session_pump(nodes[i].session, 0), air->now);
            }
        }
    }
}

static void close_all(Node *nodes)
{
    for (int32_t i = NODES - 1; i >= 0; i--) {
        fl_session_close(nodes[i].session);
    }
}

static FlEntityId others(FlSession *session)
{
    FlEntityId id = {0};
    while (fl_entity_next(session, &id) && fl_entity_is_ours(session, id)) {
    }
    return id;
}

// ---------------------------------------------------------------- before we are in

static void an_entity_made_while_joining_is_there_when_we_are_in(void **state)
{
    (void)state;
    static Air air;
    static Node nodes[NODES];
    air_begin(&air, nodes);
    FlSessionDef def = def_of(&nodes[0]);
    host(&nodes[0], &def);
    FlSessionDef guest = def_of(&nodes[1]);
    join(&nodes[1], &guest, &nodes[0]);
    FlSession *session = nodes[1].session;
    assert_int_equal(fl_session_state(session), FL_SESSION_JOINING);
    FlEntityDef kind = fl_entity_def_default();
    kind.kind = 7;
    FlEntityId tank = fl_entity_create(session, &kind);
    FlEntityId gone = fl_entity_create(session, NULL);
    FlEntityId still = fl_entity_create(session, NULL);
    assert_true(tank.index1 != 0 && gone.index1 != 0 && fl_entity_is_ours(session, tank));
    FlState here = {.time = air.now, .position = {3.0, 4.0, 0.0}};
    assert_int_equal(fl_entity_set(session, tank, &here), FL_OK);
    assert_int_equal(fl_entity_cut(session, tank), FL_OK);
    assert_int_equal(fl_entity_state_set(session, tank, "red", 3), FL_OK);
    const uint8_t *bytes;
    int32_t count;
    assert_int_equal(fl_entity_state_get(session, tank, &bytes, &count), FL_OK);
    assert_int_equal(count, 3);
    assert_int_equal(fl_entity_destroy(session, gone), FL_OK);
    assert_int_equal(fl_entity_destroy(session, gone), FL_STALE_ID);
    assert_false(fl_entity_is_ours(session, gone));
    FlEntityId again = fl_entity_create(session, NULL);
    assert_true(again.index1 == gone.index1 && again.generation != gone.generation);
    // What needs a place in the session waits for it.
    FlEvent event = {.type = 1};
    FlPeerId all = {0};
    assert_int_equal(fl_event_send(session, all, &event), FL_WOULD_BLOCK);
    uint32_t serial;
    FlCallDef call = {.kind = 900};
    assert_int_equal(fl_call_send(session, air.now, tank, &call, &serial), FL_WOULD_BLOCK);
    assert_int_equal(fl_entity_give(session, air.now, tank, all), FL_WOULD_BLOCK);
    assert_int_equal(fl_event_take(session, &event), FL_NOT_FOUND);
    FlNotice notice;
    assert_int_equal(fl_notice_take(session, &notice), FL_NOT_FOUND);
    assert_int_equal(fl_peer_count(session), 0);

    run(&air, nodes, FL_SEC(2));
    assert_int_equal(fl_session_state(session), FL_SESSION_RUNNING);
    FlEntityStatus status;
    assert_int_equal(fl_entity_status(session, tank, &status), FL_OK);
    assert_true(status.ours && status.number != UINT32_MAX && status.kind == 7);
    assert_int_equal(fl_entity_status(session, still, &status), FL_OK);
    FlEntityId seen = others(nodes[0].session);
    FlPose pose;
    assert_true(fl_entity_pose(nodes[0].session, seen, &pose));
    assert_true(fl_vec3_distance(pose.position, here.position) < 0.1);
    assert_int_equal(fl_entity_state_get(nodes[0].session, seen, &bytes, &count), FL_OK);
    assert_true(count == 3 && memcmp(bytes, "red", 3) == 0);
    assert_int_equal(fl_entity_status(nodes[0].session, seen, &status), FL_OK);
    assert_int_equal(status.kind, 7);
    close_all(nodes);
}

// What fairlead.h says may be called while joining, function by function; and what after the end.
static void while_joining_and_after_the_end_each_call_answers_as_stated(void **state)
{
    (void)state;
    static Air air;
    static Node nodes[NODES];
    air_begin(&air, nodes);
    FlSessionDef def = def_of(&nodes[0]);
    def.input_bytes = 2;
    def.action_capacity = 64;
    host(&nodes[0], &def);
    FlSessionDef guest = def_of(&nodes[1]);
    guest.input_bytes = 2;
    guest.action_capacity = 64;
    join(&nodes[1], &guest, &nodes[0]);
    FlSession *session = nodes[1].session;
    FlTime now = air.now;
    FlPeerId none = {0};
    FlEntityId no_entity = {0};
    FlEvent event = {.type = 1};
    FlCallDef call = {.kind = FL_CALL_OWN};
    FlState here = {.time = now};
    uint32_t serial;

    assert_int_equal(fl_session_state(session), FL_SESSION_JOINING);
    assert_true(fl_session_running(session));
    assert_int_equal(fl_session_end(session), FL_END_NOT);
    assert_string_equal(fl_session_end_text(session), "");
    FlEntityId ours = fl_entity_create(session, NULL);
    assert_int_not_equal(ours.index1, 0);
    assert_int_equal(fl_entity_set(session, ours, &here), FL_OK);
    assert_int_equal(fl_entity_cut(session, ours), FL_OK);
    assert_int_equal(fl_entity_state_set(session, ours, "x", 1), FL_OK);
    assert_int_equal(fl_event_send(session, none, &event), FL_WOULD_BLOCK);
    assert_int_equal(fl_call_send(session, now, ours, &call, &serial), FL_WOULD_BLOCK);
    assert_int_equal(fl_input_set(session, 0, "ab"), FL_WOULD_BLOCK);
    assert_int_equal(fl_action_send(session, now, 1, "x", 1), FL_WOULD_BLOCK);
    FlNotice notice;
    FlEvent taken;
    FlCall asked;
    FlCallDone done;
    FlAction action;
    assert_int_equal(fl_notice_take(session, &notice), FL_NOT_FOUND);
    assert_int_equal(fl_event_take(session, &taken), FL_NOT_FOUND);
    assert_int_equal(fl_call_take(session, &asked), FL_NOT_FOUND);
    assert_int_equal(fl_call_take_done(session, now, &done), FL_NOT_FOUND);
    assert_int_equal(fl_action_take(session, now, &action), FL_NOT_FOUND);
    assert_int_equal(fl_peer_self(session).index1, 0);
    assert_int_equal(fl_peer_count(session), 0);
    assert_int_equal(fl_session_time(session, now), 0);
    FlPose pose;
    assert_false(fl_entity_pose(session, no_entity, &pose));
    FlEntityId second = fl_entity_create(session, NULL);
    assert_int_equal(fl_entity_destroy(session, second), FL_OK);
    assert_int_equal(fl_entity_set(session, second, &here), FL_STALE_ID);

    run(&air, nodes, FL_SEC(1));
    assert_int_equal(fl_session_state(session), FL_SESSION_RUNNING);
    fl_session_leave(nodes[0].session, air.now);
    run(&air, nodes, FL_SEC(1));
    assert_int_equal(fl_session_state(session), FL_SESSION_ENDED);
    here.time = air.now;
    FlPeerId self = fl_peer_self(session);
    assert_int_equal(fl_event_send(session, none, &event), FL_STALE_ID);
    assert_int_equal(fl_call_send(session, air.now, ours, &call, &serial), FL_STALE_ID);
    assert_int_equal(fl_input_set(session, 0, "ab"), FL_STALE_ID);
    assert_int_equal(fl_action_send(session, air.now, 1, "x", 1), FL_STALE_ID);
    assert_int_equal(fl_entity_create(session, NULL).index1, 0);
    assert_int_equal(fl_entity_set(session, ours, &here), FL_STALE_ID);
    assert_int_equal(fl_entity_state_set(session, ours, "y", 1), FL_STALE_ID);
    assert_int_equal(fl_entity_give(session, air.now, ours, self), FL_STALE_ID);
    assert_int_equal(fl_entity_destroy(session, ours), FL_STALE_ID);
    close_all(nodes);
}

static void entities_beyond_our_share_are_gone_with_a_notice(void **state)
{
    (void)state;
    static Air air;
    static Node nodes[NODES];
    air_begin(&air, nodes);
    FlSessionDef def = def_of(&nodes[0]);
    def.world.entity_capacity = 34; // two for each of 17
    def.entity_capacity = 34;
    host(&nodes[0], &def);
    FlSessionDef guest = def;
    guest.transport = &nodes[1].transport;
    guest.seed = 9;
    join(&nodes[1], &guest, &nodes[0]);
    FlEntityId made[3];
    for (int32_t i = 0; i < 3; i++) {
        made[i] = fl_entity_create(nodes[1].session, NULL);
        assert_int_not_equal(made[i].index1, 0);
    }
    run(&air, nodes, FL_SEC(2));
    assert_true(fl_entity_is_ours(nodes[1].session, made[1]));
    assert_false(fl_entity_is_ours(nodes[1].session, made[2]));
    FlNotice notice = {0};
    while (notice.kind != FL_NOTICE_ENTITY_GONE) {
        assert_int_equal(fl_notice_take(nodes[1].session, &notice), FL_OK);
    }
    assert_int_equal(notice.entity.index1, made[2].index1);
    close_all(nodes);
}

// ---------------------------------------------------------------- who comes

static void a_name_and_what_a_player_says_of_itself_reach_the_host(void **state)
{
    (void)state;
    for (int32_t plain = 0; plain < 2; plain++) {
        static Air air;
        static Node nodes[NODES];
        air_begin(&air, nodes);
        FlSessionDef def = def_of(&nodes[0]);
        def.plain = plain == 1;
        def.name = "the host";
        host(&nodes[0], &def);
        FlSessionDef guest = def_of(&nodes[1]);
        char name[] = "Ada";
        guest.name = name;
        guest.about_me = "\x00\x01skin";
        guest.about_bytes = 6;
        guest.plain = def.plain;
        if (plain == 1) {
            guest.host = nodes[0].transport.self;
            nodes[1].session = fl_session_join(&guest, NULL, &nodes[1].error);
            assert_non_null(nodes[1].session);
        } else {
            join(&nodes[1], &guest, &nodes[0]);
        }
        name[0] = '?'; // what was passed in was copied
        run(&air, nodes, FL_SEC(1));
        FlPeerId peer = {0};
        FlPeerStatus status;
        assert_true(fl_peer_next(nodes[0].session, &peer));
        assert_int_equal(fl_peer_status(nodes[0].session, peer, &status), FL_OK);
        assert_string_equal(status.name, "Ada");
        assert_int_equal(status.about_bytes, 6);
        assert_memory_equal(status.about_me, "\x00\x01skin", 6);
        assert_int_equal(fl_peer_status(nodes[1].session, fl_peer_self(nodes[1].session), &status),
                         FL_OK);
        assert_string_equal(status.name, "Ada");
        assert_int_equal(fl_peer_status(nodes[0].session, fl_peer_self(nodes[0].session), &status),
                         FL_OK);
        assert_string_equal(status.name, "the host");
        close_all(nodes);
    }
}

// ---------------------------------------------------------------- ends

static void expect_name(const FlSession *session, int32_t number, const char *name)
{
    FlPeerStatus status;
    FlPeerId peer = fl_peer_of_number(session, number);
    assert_int_equal(fl_peer_status(session, peer, &status), FL_OK);
    assert_string_equal(status.name, name);
}

// As a game does it: the same definition everywhere, defaults but for the topology.
static void three_in_a_mesh(Air *air, Node *nodes, FlTopology topology)
{
    static const char *const names[] = {"the host", "Ada", "Bob"};
    air_begin(air, nodes);
    for (int32_t i = 0; i < 3; i++) {
        FlSessionDef def = def_of(&nodes[i]);
        def.topology = topology;
        def.name = names[i];
        if (i == 0) {
            host(&nodes[0], &def);
        } else {
            join(&nodes[i], &def, &nodes[0]);
        }
    }
    run(air, nodes, FL_SEC(4));
}

static void everybody_knows_everybodys_name(void **state)
{
    (void)state;
    static Air air;
    static Node nodes[NODES];
    for (int32_t topology = FL_TOPOLOGY_STAR; topology <= FL_TOPOLOGY_MESH; topology++) {
        three_in_a_mesh(&air, nodes, (FlTopology)topology);
        for (int32_t i = 0; i < 3; i++) {
            expect_name(nodes[i].session, 0, "the host");
            expect_name(nodes[i].session, 1, "Ada");
            expect_name(nodes[i].session, 2, "Bob");
        }
        close_all(nodes);
    }
}

static void a_mesh_needs_no_more_than_its_topology(void **state)
{
    (void)state;
    static Air air;
    static Node nodes[NODES];
    three_in_a_mesh(&air, nodes, FL_TOPOLOGY_MESH);
    FlPeerStatus status;
    FlSession *ada = nodes[1].session;
    assert_int_equal(fl_peer_status(ada, fl_peer_of_number(ada, 2), &status), FL_OK);
    assert_true(status.direct);
    FlNotice notice;
    while (fl_notice_take(ada, &notice) == FL_OK) {
    }
    fl_session_close(nodes[0].session);
    nodes[0].session = NULL;
    run(&air, nodes, FL_MS(500));
    assert_int_equal(fl_notice_take(ada, &notice), FL_OK);
    assert_true(notice.kind == FL_NOTICE_PEER_LEFT && notice.number == 0);
    assert_int_equal(notice.left, FL_LEFT_GOODBYE);
    assert_int_equal(fl_notice_take(ada, &notice), FL_OK);
    assert_int_equal(notice.kind, FL_NOTICE_HOST_CHANGED);
    expect_name(ada, 2, "Bob"); // the new host knows them, too
    expect_name(nodes[2].session, 1, "Ada");
    close_all(nodes);
}

static void inputs_of_another_length_are_named(void **state)
{
    (void)state;
    static Air air;
    static Node nodes[NODES];
    air_begin(&air, nodes);
    FlSessionDef def = def_of(&nodes[0]);
    host(&nodes[0], &def);
    FlSessionDef guest = def_of(&nodes[1]);
    guest.input_bytes = 4;
    join(&nodes[1], &guest, &nodes[0]);
    FlSession *session = nodes[1].session;
    for (int64_t tick = 0; tick < 400 && fl_session_running(session); tick++) {
        run(&air, nodes, FL_MS(15));
        if (fl_session_state(session) == FL_SESSION_RUNNING) {
            (void)(fl_input_set(session, fl_input_newest(session, fl_peer_self(session)) + 1,
                                "keys") == FL_OK);
        }
    }
    assert_int_equal(fl_session_end(session), FL_END_SENT_AWAY);
    assert_non_null(strstr(fl_session_end_text(session), "input_bytes"));
    close_all(nodes);
}

static void who_has_no_room_for_a_mesh_reads_it(void **state)
{
    (void)state;
    static Air air;
    static Node nodes[NODES];
    air_begin(&air, nodes);
    FlSessionDef def = def_of(&nodes[0]);
    def.topology = FL_TOPOLOGY_MESH;
    host(&nodes[0], &def);
    FlSessionDef guest = def_of(&nodes[1]);
    join(&nodes[1], &guest, &nodes[0]);
    run(&air, nodes, FL_SEC(1));
    assert_non_null(strstr(nodes[1].log, "set `topology` as the host does"));
    close_all(nodes);
}

static void the_log_says_once_what_comes_again(void **state)
{
    (void)state;
    static Air air;
    static Node nodes[NODES];
    air_begin(&air, nodes);
    FlSessionDef def = def_of(&nodes[0]);
    host(&nodes[0], &def);
    char invite[FL_INVITE_TEXT + 2];
    assert_int_equal(fl_session_invite(nodes[0].session, NULL, invite), FL_OK);
    strcat(invite, "\r\n"); // as a line of a file
    for (int32_t i = 1; i < 3; i++) {
        FlSessionDef guest = def_of(&nodes[i]);
        nodes[i].session = fl_session_join(&guest, invite, &nodes[i].error);
        assert_string_equal(nodes[i].error.text, "");
        run(&air, nodes, FL_SEC(2));
    }
    const char *first = strstr(nodes[0].log, "Already in use");
    assert_non_null(first);
    assert_null(strstr(first + 1, "Already in use"));
    // A thing that moves and has no velocity: the log says so, once.
    FlEntityId lame = fl_entity_create(nodes[0].session, NULL);
    FlEntityId good = fl_entity_create(nodes[0].session, NULL);
    for (int32_t i = 0; i < 100; i++) {
        run(&air, nodes, FL_MS(20));
        FlState state_of = {.time = air.now, .position = {0.2 * i, 0.0, 0.0}};
        assert_int_equal(fl_entity_set(nodes[0].session, lame, &state_of), FL_OK);
        state_of.velocity.x = 10.0;
        assert_int_equal(fl_entity_set(nodes[0].session, good, &state_of), FL_OK);
    }
    first = strstr(nodes[0].log, "its FlState.velocity is 0");
    assert_non_null(first);
    assert_null(strstr(first + 1, "its FlState.velocity is 0"));
    close_all(nodes);
}

static void expect_end(Node *node, FlEnd end, const char *words)
{
    assert_false(fl_session_running(node->session));
    assert_int_equal(fl_session_end(node->session), end);
    if (strstr(fl_session_end_text(node->session), words) == NULL) {
        print_error("not in it: %s\n%s\n", words, fl_session_end_text(node->session));
        fail();
    }
    assert_non_null(strstr(node->log, words)); // and in the log
}

static void an_invite_lets_one_in_and_says_so_to_the_second(void **state)
{
    (void)state;
    static Air air;
    static Node nodes[NODES];
    air_begin(&air, nodes);
    FlSessionDef def = def_of(&nodes[0]);
    host(&nodes[0], &def);
    char invite[FL_INVITE_TEXT];
    assert_int_equal(fl_session_invite(nodes[0].session, NULL, invite), FL_OK);
    for (int32_t i = 1; i < 3; i++) {
        FlSessionDef guest = def_of(&nodes[i]);
        nodes[i].session = fl_session_join(&guest, invite, &nodes[i].error);
        assert_non_null(nodes[i].session);
        run(&air, nodes, FL_SEC(8));
    }
    assert_int_equal(fl_session_state(nodes[1].session), FL_SESSION_RUNNING);
    expect_end(&nodes[2], FL_END_INVITE_IN_USE, "Already in use");
    assert_non_null(strstr(nodes[0].log, "Already in use")); // the host's side of it
    close_all(nodes);
}

static void a_world_that_differs_is_named_by_field(void **state)
{
    (void)state;
    static Air air;
    static Node nodes[NODES];
    air_begin(&air, nodes);
    FlSessionDef def = def_of(&nodes[0]);
    def.plain = true;
    host(&nodes[0], &def);
    FlSessionDef guest = def_of(&nodes[1]);
    guest.plain = true;
    guest.host = nodes[0].transport.self;
    guest.world.top_speed *= 2.0;
    guest.world.application_version++;
    nodes[1].session = fl_session_join(&guest, NULL, &nodes[1].error);
    run(&air, nodes, FL_SEC(1));
    expect_end(&nodes[1], FL_END_OTHER_WORLD, "application_version, top_speed differ");
    close_all(nodes);
}

static void silence_is_reported_by_its_direction(void **state)
{
    (void)state;
    for (int32_t way = 0; way < 2; way++) {
        static Air air;
        static Node nodes[NODES];
        air_begin(&air, nodes);
        FlSessionDef def = def_of(&nodes[0]);
        def.timeout_ns = FL_SEC(2);
        host(&nodes[0], &def);
        FlSessionDef guest = def_of(&nodes[1]);
        guest.timeout_ns = FL_SEC(3);
        join(&nodes[1], &guest, &nodes[0]);
        run(&air, nodes, FL_SEC(2));
        assert_int_equal(fl_session_state(nodes[1].session), FL_SESSION_RUNNING);
        air.blocked[way] = true;
        run(&air, nodes, FL_SEC(6));
        if (way == 0) {
            expect_end(&nodes[1], FL_END_TIMED_OUT, "Nothing came from the host for 3.");
        } else {
            expect_end(&nodes[1], FL_END_TIMED_OUT, "nothing of ours reached it");
        }
        close_all(nodes);
    }
}

static void leaving_has_a_reason_at_both_ends(void **state)
{
    (void)state;
    static Air air;
    static Node nodes[NODES];
    air_begin(&air, nodes);
    FlSessionDef def = def_of(&nodes[0]);
    host(&nodes[0], &def);
    FlSessionDef guest = def_of(&nodes[1]);
    join(&nodes[1], &guest, &nodes[0]);
    run(&air, nodes, FL_SEC(1));
    fl_session_leave(nodes[0].session, air.now);
    run(&air, nodes, FL_SEC(1));
    expect_end(&nodes[0], FL_END_LEFT, "We have left");
    expect_end(&nodes[1], FL_END_HOST_LEFT, "The host has left");
    close_all(nodes);
}

static void every_refusal_and_kick_has_its_sentence_at_both_ends(void **state)
{
    (void)state;
    static Air air;
    static Node nodes[NODES];
    air_begin(&air, nodes);
    FlSessionDef def = def_of(&nodes[0]);
    def.peer_capacity = 1;
    def.tuning.direct_capacity = 1;
    host(&nodes[0], &def);
    FlSessionDef guest = def_of(&nodes[1]);
    join(&nodes[1], &guest, &nodes[0]);
    run(&air, nodes, FL_SEC(2));
    assert_int_equal(fl_session_state(nodes[1].session), FL_SESSION_RUNNING);
    FlSessionDef second = def_of(&nodes[2]); // full
    join(&nodes[2], &second, &nodes[0]);
    run(&air, nodes, FL_SEC(15));
    expect_end(&nodes[2], FL_END_FULL, "full");
    fl_session_close(nodes[2].session);
    nodes[2].session = NULL;
    FlPeerId peer = {0};
    assert_true(fl_peer_next(nodes[0].session, &peer));
    FlTime now = air.now;
    assert_int_equal(fl_peer_kick(nodes[0].session, now, peer, "no spam here"), FL_OK);
    run(&air, nodes, FL_SEC(1));
    expect_end(&nodes[1], FL_END_KICKED, "The host has sent us away: no spam here");
    assert_non_null(strstr(nodes[0].log, "no spam here"));
    FlNotice notice;
    FlLeft left = FL_LEFT_COUNT;
    while (fl_notice_take(nodes[0].session, &notice) == FL_OK) {
        left = notice.kind == FL_NOTICE_PEER_LEFT ? notice.left : left;
        assert_true(notice.kind != FL_NOTICE_PEER_LEFT || notice.number == 1);
    }
    assert_int_equal(left, FL_LEFT_REMOVED);
    fl_session_close(nodes[1].session);
    nodes[1].session = NULL;
    FlSessionDef open = def_of(&nodes[2]); // by invite only
    open.plain = true;
    open.host = nodes[0].transport.self;
    memset(nodes[2].log, 0, sizeof nodes[2].log);
    nodes[2].session = fl_session_join(&open, NULL, &nodes[2].error);
    assert_non_null(nodes[2].session);
    run(&air, nodes, FL_SEC(2));
    expect_end(&nodes[2], FL_END_INVITE_NEEDED, "by invite only");
    close_all(nodes);
}

static void an_invite_that_expired_or_was_taken_back_says_so(void **state)
{
    (void)state;
    static Air air;
    static Node nodes[NODES];
    air_begin(&air, nodes);
    FlSessionDef def = def_of(&nodes[0]);
    host(&nodes[0], &def);
    char invite[FL_INVITE_TEXT];
    assert_int_equal(fl_session_invite(nodes[0].session, NULL, invite), FL_OK);
    FlSessionDef guest = def_of(&nodes[1]);
    air.now +=
        FL_SEC(86400 + 60); // a day and a minute later at the host; the guest's clock is wrong
    nodes[1].session = fl_session_join(&guest, invite, &nodes[1].error);
    assert_non_null(nodes[1].session);
    run(&air, nodes, FL_SEC(15));
    expect_end(&nodes[1], FL_END_INVITE_EXPIRED, "expired");
    assert_non_null(strstr(nodes[0].log, "expired"));
    close_all(nodes);
}

static void a_host_that_goes_away_without_a_word_is_silence_with_its_length(void **state)
{
    (void)state;
    static Air air;
    static Node nodes[NODES];
    air_begin(&air, nodes);
    FlSessionDef def = def_of(&nodes[0]);
    host(&nodes[0], &def);
    FlSessionDef guest = def_of(&nodes[1]);
    guest.timeout_ns = FL_SEC(2);
    join(&nodes[1], &guest, &nodes[0]);
    run(&air, nodes, FL_SEC(2));
    FlSession *gone = nodes[0].session; // its process was killed
    nodes[0].session = NULL;
    run(&air, nodes, FL_SEC(4));
    expect_end(&nodes[1], FL_END_TIMED_OUT, "Nothing came from the host for 2.");
    nodes[0].session = gone;
    close_all(nodes);
}

static void the_library_says_its_version(void **state)
{
    (void)state;
    int32_t here = FL_VERSION_MAJOR * 10000 + FL_VERSION_MINOR * 100 + FL_VERSION_PATCH;
    assert_int_equal(fl_version(), here);
}

// ---------------------------------------------------------------- mistakes

static void a_definition_says_which_field_is_wrong(void **state)
{
    (void)state;
    static Air air;
    static Node nodes[NODES];
    air_begin(&air, nodes);
    static const struct {
        const char *words;
        int32_t field;
    } wrong[] = {
        {"peer_capacity is 0: it must be 1 to", 0},
        {"entity_capacity is 5000: it must be 1 to", 1},
        {"input_ticks is 1000: it must be a power of two", 2},
        {"name's length is 40: it must be 0 to 31", 3},
        {"timeout_ns is 0", 4},
        {"upload_bytes_s must be 0", 5},
        {"world.precision is 0: it must be 1e-9 to 1e9.", 6},
        {"fl_session_def_default()", 7},
        {"transport must have all three functions", 8},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        FlSessionDef def = def_of(&nodes[0]);
        FlTransport half = {.send_fn = air_send};
        switch (wrong[i].field) {
        case 0:
            def.peer_capacity = 0;
            break;
        case 1:
            def.entity_capacity = 5000;
            break;
        case 2:
            def.input_ticks = 1000;
            break;
        case 3:
            def.name = "a name of far more bytes than there are.";
            break;
        case 4:
            def.timeout_ns = 0;
            break;
        case 5:
            def.upload_bytes_s = 10.0;
            break;
        case 6:
            def.world.precision = 0.0;
            break;
        case 7:
            def.cookie = 0;
            break;
        default:
            def.transport = &half;
        }
        FlError error;
        assert_int_equal(fl_session_def_problem(&def, &error), FL_BAD_VALUE);
        assert_non_null(strstr(error.text, wrong[i].words));
        assert_null(fl_session_host(&def, &error));
        assert_int_equal(error.code, FL_BAD_VALUE);
        assert_non_null(strstr(error.text, wrong[i].words));
    }
}

static void what_is_no_invite_is_named(void **state)
{
    (void)state;
    static Air air;
    static Node nodes[NODES];
    air_begin(&air, nodes);
    FlSessionDef def = def_of(&nodes[0]);
    host(&nodes[0], &def);
    char invite[FL_INVITE_TEXT];
    assert_int_equal(fl_session_invite(nodes[0].session, NULL, invite), FL_OK);
    FlSessionDef guest = def_of(&nodes[1]);
    FlError error;
    assert_null(fl_session_join(&guest, "127.0.0.1:4000", &error));
    assert_non_null(strstr(error.text, "is no invite"));
    guest.world.top_speed *= 2.0;
    assert_null(fl_session_join(&guest, invite, &error));
    assert_non_null(strstr(error.text, "another world"));
    guest.world = def.world;
    guest.unix_s += 2 * 86400;
    assert_null(fl_session_join(&guest, invite, &error));
    assert_non_null(strstr(error.text, "expired"));
    invite[30] = invite[30] == 'A' ? 'B' : 'A';
    assert_null(fl_session_join(&guest, invite, &error));
    assert_non_null(strstr(error.text, "mistyped"));
    assert_null(fl_session_join(&guest, NULL, &error));
    assert_non_null(strstr(error.text, "Whom to join"));
    close_all(nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entity_made_while_joining_is_there_when_we_are_in),
        cmocka_unit_test(while_joining_and_after_the_end_each_call_answers_as_stated),
        cmocka_unit_test(entities_beyond_our_share_are_gone_with_a_notice),
        cmocka_unit_test(everybody_knows_everybodys_name),
        cmocka_unit_test(a_mesh_needs_no_more_than_its_topology),
        cmocka_unit_test(inputs_of_another_length_are_named),
        cmocka_unit_test(who_has_no_room_for_a_mesh_reads_it),
        cmocka_unit_test(the_log_says_once_what_comes_again),
        cmocka_unit_test(a_name_and_what_a_player_says_of_itself_reach_the_host),
        cmocka_unit_test(an_invite_lets_one_in_and_says_so_to_the_second),
        cmocka_unit_test(a_world_that_differs_is_named_by_field),
        cmocka_unit_test(silence_is_reported_by_its_direction),
        cmocka_unit_test(leaving_has_a_reason_at_both_ends),
        cmocka_unit_test(every_refusal_and_kick_has_its_sentence_at_both_ends),
        cmocka_unit_test(an_invite_that_expired_or_was_taken_back_says_so),
        cmocka_unit_test(a_host_that_goes_away_without_a_word_is_silence_with_its_length),
        cmocka_unit_test(the_library_says_its_version),
        cmocka_unit_test(a_definition_says_which_field_is_wrong),
        cmocka_unit_test(what_is_no_invite_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
