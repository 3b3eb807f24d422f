// Every feature in every topology, sealed and plain: docs/guide/combinations.md is the table of
// these. What cannot be is checked as well: it says so, and nothing else breaks.
#include "session_matrix.h"

#include "agree/private.h"

// ---------------------------------------------------------------- motion

static void motion_is_shown_where_it_is(void **state)
{
    matrix_open(state);
    matrix_begin();
    double worst = 0.0;
    for (int32_t f = 0; f < 100; f++) {
        matrix_frames(1);
        for (int32_t at = matrix_is_crowd() ? 1 : 0; at < MATRIX_NODES; at++) {
            for (int32_t of = 1; of < MATRIX_NODES; of++) {
                double off = at != of ? matrix_off(at, of) : 0.0;
                worst = off > worst ? off : worst;
            }
        }
    }
    // A crowd's players know each other at best effort: two seconds old at worst, and they turn.
    assert_true(worst > 0.0 && worst < (matrix_is_crowd() ? 10.0 : 1.0));
    matrix_close();
}

// ---------------------------------------------------------------- attention

static bool is_served_well(int32_t at, int32_t of)
{
    if (matrix_is_crowd()) {
        FlEntityStatus status;
        assert_int_equal(fl_entity_status(matrix_session(at), matrix_entity(at, of), &status),
                         FL_OK);
        return status.watched;
    }
    int32_t distributor = matrix.cell->topology == FL_TOPOLOGY_STAR ? 0 : of;
    double attention;
    FlSendClass send_class;
    FlPeerId peer = net_peer(&matrix.net, distributor, at);
    assert_int_equal(fl_entity_interest(matrix_session(distributor), matrix_entity(distributor, of),
                                        peer, &attention, &send_class),
                     FL_OK);
    return attention > 0.8 && send_class == FL_CLASS_FOCUS;
}

static void attention_reaches_whoever_serves(void **state)
{
    matrix_open(state);
    matrix.def.send = fl_send_make(FL_SEND_FOCUS);
    matrix_begin();
    matrix_look(2, 1, 0.9);
    matrix_frames(150);
    double off = 0.0;
    for (int32_t f = 0; f < 50; f++) {
        matrix_frames(1);
        off = fmax(off, matrix_off(2, 1));
    }
    assert_true(is_served_well(2, 1));
    assert_false(matrix_is_crowd() && is_served_well(3, 1));
    assert_true(off < 1.0);
    matrix_close();
}

// ---------------------------------------------------------------- guidance

static FlVec3 replica[MATRIX_NODES]; // of node 1's entity
static FlGuideMode mode[MATRIX_NODES];

// Node 1 says where it will be; the others have replicas that walk there.
static void guide_and_follow(int32_t node)
{
    FlSession *session = matrix_session(node);
    FlTime now = net_local(&matrix.net, node);
    FlEntityId id = matrix_entity(node, 1);
    if (node == 1) {
        FlGuidance guidance = {.ahead_ns = fl_entity_guide_ahead(session, id)};
        guidance.position = net_walk_at(&matrix.walk[1], matrix.net.now + guidance.ahead_ns);
        assert_int_equal(fl_entity_guide(session, now, id, &guidance), FL_OK);
        return;
    }
    FlReplica own = {1.0, true, replica[node]};
    FlGuideView view;
    if (fl_entity_guide_view(session, now, id, &own, &view) != FL_OK) {
        return;
    }
    mode[node] = view.mode;
    FlVec3 to = view.mode == FL_GUIDE_NEAR ? view.pose.position : view.goal.position;
    double far = fl_vec3_distance(to, replica[node]);
    double step = view.mode == FL_GUIDE_NEAR || view.cut ? far : fmin(far, 0.4);
    FlVec3 way = fl_vec3_sub(to, replica[node]);
    replica[node] = fl_vec3_add_scaled(replica[node], way, far > 0.0 ? step / far : 0.0);
}

static void guidance_reaches_those_who_do_not_look(void **state)
{
    matrix_open(state);
    matrix.def.send = fl_send_make(FL_SEND_FOCUS);
    matrix.def.guided = true;
    matrix.net.def.upload_bytes_s = 8000.0;
    matrix.net.def.tuning.link.ack_delay_ns = FL_MS(500);
    matrix.net.def.tuning.guide_from_ns = 0;
    matrix_begin();
    matrix_look(2, 1, 0.9);
    matrix.each_frame = guide_and_follow;
    matrix_frames(500);
    assert_int_equal(mode[2], FL_GUIDE_NEAR);
    assert_true(fl_vec3_distance(replica[2], net_walk_at(&matrix.walk[1], matrix.net.now)) < 2.0);
    for (int32_t at = 3; at < MATRIX_NODES; at++) {
        uint64_t taken = fl_session_count(matrix_session(at), FL_SESSION_GUIDANCE_TAKEN);
        assert_true(taken > 5);
        assert_int_equal(mode[at], FL_GUIDE_FAR);
        FlVec3 truth = net_walk_at(&matrix.walk[1], matrix.net.now);
        assert_true(fl_vec3_distance(replica[at], truth) < 20.0);
    }
    matrix_close();
}

// ---------------------------------------------------------------- calls and states

static const uint8_t *state_at(int32_t at, int32_t of, int32_t *count)
{
    const uint8_t *bytes;
    assert_int_equal(fl_entity_state_get(matrix_session(at), matrix_entity(at, of), &bytes, count),
                     FL_OK);
    return bytes;
}

static void a_state_reaches_everybody_who_watches(void **state)
{
    matrix_open(state);
    matrix_begin();
    for (int32_t at = 2; at < MATRIX_NODES; at++) {
        matrix_look(at, 1, 0.5);
    }
    matrix_frames(150);
    assert_int_equal(fl_entity_state_set(matrix_session(1), matrix_entity(1, 1), "armed", 5),
                     FL_OK);
    matrix_frames(100);
    for (int32_t at = 0; at < MATRIX_NODES; at++) {
        int32_t count;
        const uint8_t *bytes = state_at(at, 1, &count);
        assert_int_equal(count, 5);
        assert_memory_equal(bytes, "armed", 5);
    }
    matrix_close();
}

static int32_t decided;

static void decide_calls(int32_t node)
{
    FlCall call;
    while (fl_call_take(matrix_session(node), &call) == FL_OK) {
        assert_int_equal(fl_call_answer(matrix_session(node), net_local(&matrix.net, node), &call,
                                        true, "open", 4),
                         FL_OK);
        decided++;
    }
}

static FlCallDone call_and_wait(int32_t from, int32_t to)
{
    FlCallDef def = {.kind = 200, .bytes = "knock", .count = 5};
    FlCallDone done = {0};
    uint32_t serial;
    FlSession *session = matrix_session(from);
    matrix.each_frame = decide_calls;
    assert_int_equal(
        fl_call_send(session, net_local(&matrix.net, from), matrix_entity(from, to), &def, &serial),
        FL_OK);
    for (int32_t f = 0; f < 100; f++) {
        matrix_frames(1);
        if (fl_call_take_done(session, net_local(&matrix.net, from), &done) == FL_OK) {
            assert_int_equal(done.id, serial);
            return done;
        }
    }
    fail_msg("no answer");
    return done;
}

static void a_call_is_decided_once_and_answered(void **state)
{
    matrix_open(state);
    matrix_begin();
    for (int32_t at = 2; at < MATRIX_NODES; at++) {
        decided = 0;
        FlCallDone done = call_and_wait(at, 1);
        matrix_frames(50);
        assert_int_equal(done.verdict, FL_CALL_APPLIED);
        assert_int_equal(decided, 1);
    }
    matrix_close();
}

// Between two players it is 10 ms, to the host 150 ms: who reaches whom directly needs no host.
static void a_call_takes_the_direct_way(void **state)
{
    matrix_open(state);
    matrix.net.weather.delay_ns = FL_MS(150);
    matrix_begin();
    FlImpairSettings near = matrix.net.weather;
    near.delay_ns = FL_MS(10);
    net_ways(&matrix.net, 1, 2, &near);
    matrix_look(2, 1, 0.9); // in a crowd: whom one watches one has a connection to
    matrix_frames(150);
    bool direct = matrix.cell->topology != FL_TOPOLOGY_STAR;
    matrix.net.node[0].asleep = direct;
    int64_t passed = (int64_t)fl__call_stats(matrix_session(0)).count[FL_CALLS_PASSED_ON];
    decided = 0;
    FlCallDone done = call_and_wait(2, 1);
    matrix.net.node[0].asleep = false;
    assert_int_equal(done.verdict, FL_CALL_APPLIED);
    assert_int_equal(decided, 1);
    assert_true(direct ? done.latency_ns < FL_MS(100) : done.latency_ns >= FL_MS(590));
    passed = (int64_t)fl__call_stats(matrix_session(0)).count[FL_CALLS_PASSED_ON] - passed;
    assert_int_equal(passed > 0, !direct);
    matrix_frames(100);
    int32_t count;
    assert_memory_equal(state_at(2, 1, &count), "open", 4);
    matrix_close();
}

// ---------------------------------------------------------------- actions

enum { ACTIONS = 40 };

static uint8_t played[MATRIX_NODES][ACTIONS];
static int32_t played_count[MATRIX_NODES];
static uint8_t action_next;

static void play_actions(int32_t node)
{
    FlAction action;
    while (fl_action_take(matrix_session(node), net_local(&matrix.net, node), &action) == FL_OK) {
        assert_true(played_count[node] < ACTIONS);
        played[node][played_count[node]++] = action.bytes[0];
    }
}

static void actions_are_played_in_one_order(void **state)
{
    matrix_open(state);
    matrix.net.def.action_capacity = 256;
    matrix.net.def.tuning.lags.again_ns = FL_FOREVER;
    matrix.each_frame = play_actions;
    memset(played_count, 0, sizeof played_count);
    action_next = 0;
    matrix_begin();
    for (int32_t f = 0; f < 500 && action_next < ACTIONS; f++) {
        int32_t node = 1 + f % (MATRIX_NODES - 1);
        FlResult result =
            fl_action_send(matrix_session(node), net_local(&matrix.net, node), 1, &action_next, 1);
        assert_true(result == FL_OK || result == FL_WOULD_BLOCK);
        action_next = (uint8_t)(action_next + (result == FL_OK ? 1 : 0));
        matrix_frames(1);
    }
    matrix_frames(200);
    for (int32_t at = 0; at < MATRIX_NODES; at++) {
        assert_int_equal(played_count[at], ACTIONS);
        assert_memory_equal(played[at], played[0], ACTIONS);
    }
    matrix_close();
}

// ---------------------------------------------------------------- pictures by lags

enum { PICTURES = 400 };

static FlVec3 pictures[MATRIX_NODES][PICTURES]; // of node 1's entity, by play time
static bool taken[MATRIX_NODES][PICTURES];
static FlTime first_play; // 0: none is taken yet

static void take_pictures(int32_t node)
{
    const FlLags *lags = fl__session_lags(matrix_session(node));
    FlTime now = net_local(&matrix.net, node);
    FlTime play = fl__lags_play_time(lags, now);
    if (first_play == 0 || play == INT64_MIN || node == 1) {
        return;
    }
    for (FlTime k = (play - first_play) / FL_MS(NET_FRAME_MS); k >= 0 && k < PICTURES; k = -1) {
        FlTime when = fl__lags_when(lags, first_play + k * FL_MS(NET_FRAME_MS));
        FlPose pose; // what A was before it began to fall is not known
        taken[node][k] =
            fl_entity_pose_at(matrix_session(node), when, matrix_entity(node, 1), &pose) &&
            when >= lags->a.at;
        pictures[node][k] = pose.position;
    }
}

// All show the same of a motion at one play time; in a crowd those who watch it.
static void motion_by_lags_is_the_same_picture_everywhere(void **state)
{
    matrix_open(state);
    matrix.net.def.action_capacity = 64;
    matrix.net.def.tuning.show.hold = FL_HOLD_LAGS;
    // What is carried takes another way than the probes.
    matrix.net.def.tuning.lags.margin_ns = matrix_is_crowd() ? FL_MS(100) : FL_MS(2);
    matrix.net.def.tuning.lags.again_ns = FL_SEC(2);
    memset(taken, 0, sizeof taken);
    first_play = 0;
    matrix_begin();
    for (int32_t at = matrix_is_crowd() ? 2 : 0; at < MATRIX_NODES; at++) {
        if (at != 1) {
            matrix_look(at, 1, 0.9);
        }
    }
    matrix_frames(300);
    first_play =
        fl__lags_play_time(fl__session_lags(matrix_session(2)), net_local(&matrix.net, 2)) +
        FL_MS(500);
    matrix.each_frame = take_pictures;
    matrix_frames(PICTURES);
    int32_t compared = 0, apart = 0;
    for (int32_t k = 0; k < PICTURES; k++) {
        for (int32_t at = 3; at < MATRIX_NODES; at++) {
            bool both = taken[2][k] && taken[at][k];
            compared += both ? 1 : 0;
            apart += both && fl_vec3_distance(pictures[2][k], pictures[at][k]) > 1e-5 ? 1 : 0;
        }
    }
    assert_true(compared > PICTURES);
    assert_int_equal(apart, 0);
    matrix_close();
}

// ---------------------------------------------------------------- a timeline

enum { TICK_MS = NET_FRAME_MS, TICKS_AT_MOST = 2000 };

typedef struct Tally {
    uint64_t sum;
} Tally;

typedef struct Player {
    FlTimeline *timeline;
    int64_t next, settled;
    uint64_t sums[TICKS_AT_MOST];
} Player;

static Player players[MATRIX_NODES];

static void step_tally(void *ctx, void *bytes, int64_t tick, const FlTimelineInputs *inputs)
{
    (void)ctx;
    (void)tick;
    Tally *tally = (Tally *)bytes;
    for (int32_t p = 0; p < MATRIX_NODES; p++) {
        uint64_t word = inputs->of[p] != NULL ? inputs->of[p][0] : UINT64_MAX;
        tally->sum = (tally->sum ^ word) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    }
}

static void note_settled(void *ctx, int64_t tick, const void *bytes)
{
    Player *player = (Player *)ctx;
    assert_true(tick < TICKS_AT_MOST);
    player->settled = tick;
    memcpy(&player->sums[tick], bytes, sizeof player->sums[tick]);
}

static int64_t tick_now(int32_t node)
{
    return net_time(&matrix.net, node) / FL_MS(TICK_MS);
}

static void play_ticks(int32_t node)
{
    Player *player = &players[node];
    if (player->timeline == NULL) {
        return;
    }
    for (; player->next < tick_now(node); player->next++) {
        uint8_t input[2] = {(uint8_t)fl_random_at(3, (uint64_t)node, (uint64_t)player->next), 0};
        if (fl_input_set(matrix_session(node), player->next, input) != FL_OK) {
            break;
        }
    }
    FlResult result = fl_session_advance(matrix_session(node), tick_now(node));
    assert_true(result == FL_OK || result == FL_WOULD_BLOCK);
}

static void begin_timelines(void)
{
    int64_t tick = tick_now(0) + 10;
    Tally tally = {99};
    for (int32_t i = 0; i < MATRIX_NODES; i++) {
        FlTimelineDef def = fl_timeline_def_default();
        memset(&players[i], 0, sizeof players[i]);
        def.player_capacity = NET_NODES + 1;
        def.state_bytes = sizeof tally;
        def.input_bytes = 2;
        def.history_ticks = 1024;
        def.game.step_fn = step_tally;
        def.game.settled_fn = note_settled;
        def.game.ctx = &players[i];
        players[i].next = tick;
        assert_int_equal(fl_timeline_create(&def, &players[i].timeline), FL_OK);
        fl_timeline_begin(players[i].timeline, tick, &tally);
        assert_int_equal(fl_session_timeline(matrix_session(i), players[i].timeline, true), FL_OK);
        for (int32_t p = 0; p < MATRIX_NODES; p++) {
            int32_t number = net_number(&matrix.net, p);
            assert_int_equal(fl_timeline_enter(players[i].timeline, number, tick), FL_OK);
        }
    }
}

static void a_timeline_settles_alike(void **state)
{
    matrix_open(state);
    matrix.net.def.input_bytes = 2;
    matrix.net.def.input_ticks = 256;
    matrix_begin();
    begin_timelines();
    matrix.each_frame = play_ticks;
    matrix_frames(250);
    int64_t all = players[0].settled;
    for (int32_t i = 1; i < MATRIX_NODES; i++) {
        all = players[i].settled < all ? players[i].settled : all;
    }
    assert_true(all > tick_now(0) - 50);
    for (int32_t i = 0; i < MATRIX_NODES; i++) {
        assert_int_equal(players[i].sums[all], players[0].sums[all]);
        assert_true(fl_timeline_figures(players[i].timeline).desync_at == FL_TIMELINE_NEVER);
    }
    matrix_close();
    for (int32_t i = 0; i < MATRIX_NODES; i++) {
        fl_timeline_destroy(players[i].timeline);
    }
}

// ---------------------------------------------------------------- what others see

// What the distributor says that a player saw is, to the bit, what was placed there.
static void the_distributor_knows_what_is_seen(void **state)
{
    matrix_open(state);
    matrix_begin();
    int32_t distributor = matrix.cell->topology == FL_TOPOLOGY_STAR ? 0 : 1;
    int32_t compared = 0;
    for (int32_t f = 0; f < 100; f++) {
        matrix_frames(1);
        FlTime when = net_time(&matrix.net, distributor) - FL_MS(200);
        FlPose seen;
        FlEntityId id = matrix_entity(distributor, 1);
        FlPeerId peer = net_peer(&matrix.net, distributor, 2);
        FlResult result = fl_entity_seen(matrix_session(distributor), id, peer, when, &seen);
        if (matrix_is_crowd()) { // watchers' packets are not acknowledged one by one
            assert_int_equal(result, FL_NOT_FOUND);
            continue;
        }
        FlPose placed;
        FlSession *receiver = matrix_session(2);
        int32_t slot = fl__entity_slot(receiver, matrix_entity(2, 1));
        if (result == FL_OK && fl__entity_was(receiver, slot, when, &placed)) {
            assert_memory_equal(&seen, &placed, sizeof seen);
            compared++;
        }
    }
    assert_int_equal(compared > 50, !matrix_is_crowd());
    matrix_close();
}

// ---------------------------------------------------------------- a host that leaves

static bool is_led_by_another(int32_t node)
{
    FlPeerId host = fl_peer_host(matrix_session(node));
    return host.index1 != 0 && (int32_t)host.index1 - 1 != 0;
}

static void the_session_outlives_its_host_where_players_reach_each_other(void **state)
{
    matrix_open(state);
    matrix_begin();
    net_leave(&matrix.net, 0);
    matrix_frames(250);
    bool goes_on = matrix.cell->topology != FL_TOPOLOGY_STAR;
    for (int32_t i = 1; i < MATRIX_NODES; i++) {
        FlSessionState now = fl_session_state(matrix_session(i));
        assert_int_equal(now, goes_on ? FL_SESSION_RUNNING : FL_SESSION_ENDED);
        assert_true(!goes_on || is_led_by_another(i));
        assert_true(goes_on || fl_session_end_text(matrix_session(i))[0] != '\0');
    }
    if (goes_on) {
        decided = 0;
        assert_int_equal(call_and_wait(3, 2).verdict, FL_CALL_APPLIED);
        assert_true(matrix_off(3, 2) < (matrix_is_crowd() ? 10.0 : 1.0));
    }
    net_close(&matrix.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EVERYWHERE(motion_is_shown_where_it_is),
        EVERYWHERE(attention_reaches_whoever_serves),
        EVERYWHERE(guidance_reaches_those_who_do_not_look),
        EVERYWHERE(a_state_reaches_everybody_who_watches),
        EVERYWHERE(a_call_is_decided_once_and_answered),
        EVERYWHERE(a_call_takes_the_direct_way),
        EVERYWHERE(actions_are_played_in_one_order),
        EVERYWHERE(motion_by_lags_is_the_same_picture_everywhere),
        EVERYWHERE(a_timeline_settles_alike),
        EVERYWHERE(the_distributor_knows_what_is_seen),
        EVERYWHERE(the_session_outlives_its_host_where_players_reach_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
