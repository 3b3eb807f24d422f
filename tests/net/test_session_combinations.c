// The matrix of scene/test_session_matrix.c on real sockets, one way through it: in each topology,
// sealed or plain by turns, motion, attention, state and a call; and a host that leaves.
#include "fairlead/net.h"
#include "fairlead/run.h"
#include "fairlead/seal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
// cmocka wants some of the above first
#include <cmocka.h>

enum { GUESTS = 7, LIMIT_S = 12 };

typedef struct Table {
    FlNet *net; // the host's
    FlSession *host;
    FlSealServerDef seal;
    FlSession *guest[GUESTS];
    FlEntityId own[GUESTS];
    FlTime now;
} Table;

static Table table;

static FlSessionDef def_of(FlTopology topology, bool sealed)
{
    FlSessionDef def = fl_session_def_default();
    def.topology = topology;
    def.peer_capacity = GUESTS;
    def.plain = !sealed;
    def.tuning.direct_capacity = GUESTS;
    def.timeout_ns = FL_SEC(3);
    return def;
}

static void open_table(FlTopology topology, bool sealed)
{
    memset(&table, 0, sizeof table);
    FlNetDef net = fl_net_def_default();
    assert_int_equal(fl_address_parse("127.0.0.1:0", &net.bind), FL_OK);
    assert_int_equal(fl_net_create(&net, &table.net), FL_OK);
    FlSessionDef def = def_of(topology, sealed);
    FlSessionDef guest = def;
    char invite[FL_INVITE_TEXT];
    def.role = FL_ROLE_HOST;
    def.seed = 1;
    def.unix_s = (uint64_t)time(NULL);
    if (sealed) {
        table.seal = fl_seal_server_def_default();
        fl_seal_key(NULL, table.seal.private_key);
        table.seal.address[0] = fl_net_address(table.net);
        table.seal.address_count = 1;
        def.seal_server = &table.seal;
    }
    table.now = fl_net_now();
    assert_int_equal(fl_session_create(&def, table.now, &table.host), FL_OK);
    (void)fl_address_format(fl_net_address(table.net), invite);
    if (sealed) {
        assert_int_equal(fl_session_invite_at(table.host, table.now, fl_net_address(table.net),
                                              GUESTS, def.unix_s + 600, invite),
                         FL_OK);
    }
    for (int32_t i = 0; i < GUESTS; i++) {
        FlError error;
        guest.address = "127.0.0.1:0";
        table.guest[i] = fl_session_join(&guest, invite, &error);
        assert_non_null(table.guest[i]);
    }
}

static void close_table(void)
{
    for (int32_t i = 0; i < GUESTS; i++) {
        fl_session_close(table.guest[i]);
    }
    fl_session_close(table.host);
    fl_net_destroy(table.net);
}

static FlState truth(int32_t i, FlTime time, FlTime local)
{
    double angle = 0.5 * fl_span_seconds(time) + i;
    FlState state = {.time = local, .facing = fl_facing_none()};
    state.position = fl_vec3(20.0 * cos(angle) + 5.0 * i, 20.0 * sin(angle), 0.0);
    state.velocity = fl_vec3(-10.0 * sin(angle), 10.0 * cos(angle), 0.0);
    return state;
}

// Everybody moves, decides calls, sends and receives.
static void turn(void)
{
    if (table.host != NULL) {
        fl_run_receive(table.net, table.host);
        fl_run_send(table.net, table.host, fl_net_now());
    }
    for (int32_t i = 0; i < GUESTS; i++) {
        FlSession *session = table.guest[i];
        FlTime now = fl_session_pump(session, i == 0 ? FL_MS(4) : 0);
        if (fl_session_state(session) != FL_SESSION_RUNNING ||
            fl_session_time_error(session) == FL_FOREVER) {
            continue;
        }
        if (table.own[i].index1 == 0) {
            FlEntityDef def = fl_entity_def_default();
            table.own[i] = fl_entity_create(session, &def);
        }
        FlState state = truth(i, fl_session_time(session, now), now);
        (void)!fl_entity_set(session, table.own[i], &state);
        FlCall call;
        while (fl_call_take(session, &call) == FL_OK) {
            assert_int_equal(fl_call_answer(session, now, &call, true, "open", 4), FL_OK);
        }
        table.now = now;
    }
}

// Guest `of`'s entity as guest `at` knows it; {0}: not yet.
static FlEntityId entity_of(int32_t of, int32_t at)
{
    FlEntityStatus status;
    FlEntityId none = {0};
    bool known = table.own[of].index1 != 0 &&
                 fl_entity_status(table.guest[of], table.own[of], &status) == FL_OK;
    return known ? fl_entity_of_number(table.guest[at], status.number) : none;
}

static bool all_is_known(void)
{
    for (int32_t at = 0; at < GUESTS; at++) {
        for (int32_t of = 0; of < GUESTS; of++) {
            FlPose pose;
            FlEntityId id = entity_of(of, at);
            if (id.index1 == 0 || !fl_entity_pose(table.guest[at], id, &pose)) {
                return false;
            }
            if (at == 1 && of == 0) {
                (void)!fl_entity_attention(table.guest[at], id, 0.9);
            }
        }
    }
    return true;
}

static bool all_have_met(void)
{
    int32_t met = 0;
    for (int32_t i = 0; i < GUESTS; i++) {
        for (FlPeerId id = {0}; fl_peer_next(table.guest[i], &id);) {
            FlPeerStatus status;
            bool known = fl_peer_status(table.guest[i], id, &status) == FL_OK;
            met += known && status.direct ? 1 : 0;
        }
    }
    return met == GUESTS * GUESTS; // the host, too
}

static bool has_state(void)
{
    const uint8_t *bytes;
    int32_t count;
    FlEntityId id = entity_of(0, 1);
    return fl_entity_state_get(table.guest[1], id, &bytes, &count) == FL_OK && count == 5;
}

static bool is_near(void)
{
    FlPose pose;
    FlEntityId id = entity_of(0, 1);
    FlTime now = table.now;
    bool posed = fl_entity_pose_at(table.guest[1], now, id, &pose);
    FlState there = truth(0, fl_session_time(table.guest[1], now), now);
    return posed && fl_vec3_distance(pose.position, there.position) < 1.0;
}

static bool is_answered(void)
{
    FlCallDone done;
    return fl_call_take_done(table.guest[1], table.now, &done) == FL_OK &&
           done.verdict == FL_CALL_APPLIED;
}

static bool is_led_anew(void)
{
    for (int32_t i = 0; i < GUESTS; i++) {
        if (fl_peer_host(table.guest[i]).index1 <= 1) {
            return false;
        }
    }
    return true;
}

static bool has_ended(void)
{
    return fl_session_state(table.guest[1]) == FL_SESSION_ENDED;
}

static void wait_for(bool (*done)(void), const char *what)
{
    FlTime until = fl_net_now() + FL_SEC(LIMIT_S);
    while (!done()) {
        turn();
        if (fl_net_now() > until) {
            fail_msg("%s: not within %d s", what, LIMIT_S);
        }
    }
}

static void play(FlTopology topology, bool sealed)
{
    open_table(topology, sealed);
    wait_for(all_is_known, "motion of everybody");
    assert_int_equal(fl_entity_state_set(table.guest[0], table.own[0], "armed", 5), FL_OK);
    wait_for(has_state, "the state of what is looked at");
    wait_for(is_near, "a pose within a metre");
    FlCallDef call = {.kind = 200, .bytes = "knock", .count = 5};
    uint32_t serial;
    assert_int_equal(fl_call_send(table.guest[1], table.now, entity_of(0, 1), &call, &serial),
                     FL_OK);
    wait_for(is_answered, "an answer");
    if (topology == FL_TOPOLOGY_MESH || topology == FL_TOPOLOGY_HYBRID) {
        wait_for(all_have_met, "direct connections");
    }
    fl_session_leave(table.host, fl_net_now());
    fl_run_send(table.net, table.host, fl_net_now());
    fl_session_close(table.host);
    table.host = NULL;
    if (topology == FL_TOPOLOGY_STAR) {
        wait_for(has_ended, "the end of a star");
    } else {
        wait_for(is_led_anew, "a new host");
        wait_for(is_near, "a pose after that");
    }
    close_table();
}

static void in_a_plain_star(void **state)
{
    (void)state;
    play(FL_TOPOLOGY_STAR, false);
}

static void in_a_sealed_mesh(void **state)
{
    (void)state;
    play(FL_TOPOLOGY_MESH, true);
}

static void in_a_plain_hybrid(void **state)
{
    (void)state;
    play(FL_TOPOLOGY_HYBRID, false);
}

static void in_a_sealed_crowd(void **state)
{
    (void)state;
    play(FL_TOPOLOGY_CROWD, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_a_plain_star),
        cmocka_unit_test(in_a_sealed_mesh),
        cmocka_unit_test(in_a_plain_hybrid),
        cmocka_unit_test(in_a_sealed_crowd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
