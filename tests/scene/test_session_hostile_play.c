// A member that takes part in a timeline or in lags, and withholds or invents what the others wait
// for: inputs, acknowledgements of inputs, its part of a round, the last inputs of a leaver. The
// others play on within a time-out.
//
// Node 0 hosts, the last one is hostile.
#include "session_hostile.h"

#include "agree/private.h"
#include "agree/timeline.h"

enum { MEMBERS = 4, ATTACKER = MEMBERS - 1, BYTES = 2, TICK_MS = 20, TICKS_AT_MOST = 2000 };

#define TIMEOUT FL_SEC(3)

typedef struct Player {
    FlTimeline *timeline;
    int64_t next;                // the tick whose input is handed in next
    int64_t blocked;             // how long it could not be, in frames: the longest time
    int64_t waited;              // and now
    int64_t settled;             // the newest settled tick,
    uint64_t sum[TICKS_AT_MOST]; // and the states, by tick
} Player;

typedef struct Scene {
    Net net;
    Hostile hostile;
    Player player[MEMBERS];
    int32_t every; // the hostile one hands in an input every so many frames; 1: as it should
    int64_t frame;
} Scene;

static void step(void *ctx, void *state, int64_t tick, const FlTimelineInputs *inputs)
{
    (void)ctx;
    uint64_t *sum = (uint64_t *)state;
    for (int32_t p = 0; p <= NET_NODES; p++) {
        uint64_t word = inputs->of[p] != NULL ? 1u + inputs->of[p][0] : 0;
        *sum = (*sum ^ (word + (uint64_t)tick)) * UINT64_C(0x9e3779b97f4a7c15);
    }
}

static void settled(void *ctx, int64_t tick, const void *state)
{
    Player *player = (Player *)ctx;
    assert_true(tick < TICKS_AT_MOST);
    player->settled = tick;
    memcpy(&player->sum[tick], state, sizeof player->sum[tick]);
}

static int64_t tick_now(const Scene *scene, int32_t node)
{
    return net_time(&scene->net, node) / FL_MS(TICK_MS);
}

static void begin_playing(Scene *scene)
{
    int64_t tick = tick_now(scene, 0) + 10;
    FlTimelineDef def = fl_timeline_def_default();
    def.player_capacity = NET_NODES + 1;
    def.state_bytes = (int32_t)sizeof(uint64_t);
    def.input_bytes = BYTES;
    def.game.step_fn = step;
    def.game.settled_fn = settled;
    for (int32_t i = 0; i < MEMBERS; i++) {
        Player *player = &scene->player[i];
        uint64_t zero = 0;
        def.game.ctx = player;
        player->next = tick;
        assert_int_equal(fl_timeline_create(&def, &player->timeline), FL_OK);
        fl_timeline_begin(player->timeline, tick, &zero);
        for (int32_t p = 0; p < MEMBERS; p++) {
            assert_int_equal(fl_timeline_enter(player->timeline, net_number(&scene->net, p), tick),
                             FL_OK);
        }
        assert_int_equal(fl_session_timeline(scene->net.node[i].session, player->timeline, true),
                         FL_OK);
    }
}

static void open_scene(Scene *scene, FlTopology topology)
{
    memset(scene, 0, sizeof *scene);
    net_open(&scene->net, 5, topology, topology != FL_TOPOLOGY_STAR);
    scene->net.def.input_bytes = BYTES;
    scene->net.def.input_ticks = 256;
    scene->net.def.timeout_ns = TIMEOUT;
    net_start_together(&scene->net, MEMBERS);
    net_run(&scene->net, scene->net.now + FL_SEC(2)); // introductions
    hostile_begin(&scene->hostile, scene->net.node[ATTACKER].session);
    begin_playing(scene);
}

static void close_scene(Scene *scene)
{
    net_close(&scene->net);
    for (int32_t i = 0; i < MEMBERS; i++) {
        fl_timeline_destroy(scene->player[i].timeline);
    }
}

static void act(Scene *scene, int32_t node)
{
    Player *player = &scene->player[node];
    FlSession *session = scene->net.node[node].session;
    int64_t now = tick_now(scene, node);
    FlResult result = FL_OK;
    bool withholds = node == ATTACKER && scene->every > 1;
    int64_t most = !withholds ? now : scene->frame % scene->every == 0 ? player->next + 1 : 0;
    while (player->next < now && player->next < most && result == FL_OK) {
        uint8_t bytes[BYTES] = {(uint8_t)(player->next / 7), (uint8_t)node};
        result = fl_input_set(session, player->next, bytes);
        player->next += result == FL_OK ? 1 : 0;
    }
    player->waited = result == FL_OK ? 0 : player->waited + 1;
    player->blocked = player->waited > player->blocked ? player->waited : player->blocked;
    result = fl_session_advance(session, now);
    assert_true(result == FL_OK || result == FL_WOULD_BLOCK);
}

static void frames(Scene *scene, int32_t count)
{
    for (int32_t f = 0; f < count; f++) {
        for (int32_t i = 0; i < MEMBERS; i++) {
            if (net_is_member(&scene->net, i)) {
                act(scene, i);
                net_drop_notices(scene->net.node[i].session);
            }
        }
        net_frame(&scene->net);
        scene->frame++;
    }
}

// The honest ones have settled the same, up to half a second ago; nobody of them was sent away.
static void assert_honest_play_on(const Scene *scene)
{
    const Player *host = &scene->player[0];
    for (int32_t i = 0; i < ATTACKER; i++) {
        const Player *player = &scene->player[i];
        assert_true(net_is_member(&scene->net, i));
        assert_int_equal(fl_peer_count(scene->net.node[i].session) >= ATTACKER - 1, true);
        assert_true(player->settled > tick_now(scene, i) - 25);
        for (int64_t t = 1; t <= player->settled && t <= host->settled; t++) {
            assert_int_equal(player->sum[t], host->sum[t]);
        }
    }
}

// ---------------------------------------------------------------- timelines

// It answers everything, but hands in no inputs any more, or one now and then: all would wait for
// them.
static void who_withholds_inputs_stops_nobody(void **state)
{
    static Scene scene;
    for (int32_t every = 50; every <= 10000; every *= 200) {
        open_scene(&scene, net_topology(state));
        scene.every = 1;
        frames(&scene, 100);
        assert_honest_play_on(&scene);
        scene.every = every;
        frames(&scene, (int32_t)(3 * TIMEOUT / FL_MS(NET_FRAME_MS)));
        assert_honest_play_on(&scene);
        assert_false(net_is_member(&scene.net, ATTACKER));
        close_scene(&scene);
    }
}

// Nothing that the others send gets to it any more, but it is heard: it acknowledges no inputs.
static void who_acknowledges_no_inputs_stops_nobody(void **state)
{
    static Scene scene;
    open_scene(&scene, net_topology(state));
    frames(&scene, 100);
    for (int32_t i = 0; i < ATTACKER; i++) {
        net_way(&scene.net, i, ATTACKER, NULL);
    }
    frames(&scene, 700); // more than two rings of inputs
    assert_honest_play_on(&scene);
    for (int32_t i = 0; i < ATTACKER; i++) {
        assert_true(scene.player[i].blocked <= 2);
    }
    close_scene(&scene);
}

// A player is gone. The hostile one reports other inputs than the leaver's, before the others
// report: in a star, where the host has relayed them all, it knows better.
static void nobody_invents_inputs_of_a_leaver(void **state)
{
    static Scene scene;
    enum { LEAVER = 1 };
    open_scene(&scene, net_topology(state));
    frames(&scene, 100);
    int32_t number = net_number(&scene.net, LEAVER);
    int64_t last = scene.player[LEAVER].next - 1;
    uint8_t of = (uint8_t)inside_incarnation(scene.net.node[0].session, number);
    net_leave(&scene.net, LEAVER);
    for (int32_t f = 0; f < 50; f++) {
        uint8_t inputs[BYTES * 64];
        memset(inputs, 0xee, sizeof inputs);
        FlTickRangeMessage m = {.player = number,
                                .of = of,
                                .newest = last + 40,
                                .first = last - 23,
                                .count = 64,
                                .bytes = inputs};
        uint8_t bytes[512];
        FlWriter w;
        RouteHead head = {.kind = MESSAGE_TICK_RANGE,
                          .from = (uint16_t)net_number(&scene.net, ATTACKER),
                          .to_count = 1,
                          .to = {(uint16_t)net_number(&scene.net, 0)}};
        fl_writer_init(&w, bytes, sizeof bytes);
        fl__route_head_write(&w, &head);
        fl__tick_range_message_write(&w, BYTES, &m);
        hostile_message(scene.net.node[ATTACKER].session, net_number(&scene.net, 0), &w);
        frames(&scene, 1);
    }
    frames(&scene, 100);
    // Nobody has played a tick of the leaver's that it did not.
    for (int32_t i = 0; i < ATTACKER; i += 2) {
        assert_int_equal(fl__timeline_known(scene.player[i].timeline, number) <= last, true);
    }
    assert_int_equal(scene.player[0].sum[scene.player[2].settled - 5],
                     scene.player[2].sum[scene.player[2].settled - 5]);
    close_scene(&scene);
}

// ---------------------------------------------------------------- lags

// What the hostile one says in the lags' name: a routed message to one member, or to all.
static void say_routed(Scene *scene, uint8_t kind, int32_t to, const uint8_t *body, int32_t count)
{
    Net *net = &scene->net;
    uint8_t bytes[FL_LAGS_MESSAGE_BYTES + 16];
    FlWriter w;
    RouteHead head = {.kind = kind, .from = (uint16_t)net_number(net, ATTACKER)};
    head.to_count = to >= 0 ? 1 : ROUTE_TO_ALL;
    head.to[0] = (uint16_t)(to >= 0 ? net_number(net, to) : 0);
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__route_head_write(&w, &head);
    fl_writer_bytes(&w, body, count);
    hostile_message(net->node[ATTACKER].session, net_number(net, 0), &w);
    for (int32_t i = 1; i < ATTACKER; i++) {
        if (to < 0 || to == i) {
            hostile_message(net->node[ATTACKER].session, net_number(net, i), &w);
        }
    }
}

static void say_lags(Scene *scene, int32_t to, const Fl__LagsBody *body)
{
    uint8_t bytes[FL_LAGS_MESSAGE_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__lags_write(&w, net_number(&scene->net, ATTACKER), body);
    say_routed(scene, MESSAGE_LAGS, to, bytes, fl_writer_size(&w));
}

static void open_actions(Scene *scene, FlTopology topology, int32_t attacker_capacity)
{
    Net *net = &scene->net;
    memset(scene, 0, sizeof *scene);
    net_open(net, 6, topology, false);
    net->def.timeout_ns = TIMEOUT;
    for (int32_t i = 0; i < MEMBERS; i++) {
        net->def.action_capacity = i == ATTACKER ? attacker_capacity : 64;
        net_start(net, i);
    }
    net_gather(net);
    net_run(net, net->now + FL_SEC(1));
    hostile_begin(&scene->hostile, net->node[ATTACKER].session);
}

static void assert_honest_act(const Net *net)
{
    for (int32_t i = 0; i < ATTACKER; i++) {
        FlLagsStatus status;
        FlSession *session = net->node[i].session;
        assert_true(net_is_member(net, i));
        for (int32_t k = 0; k < ATTACKER; k++) {
            assert_true(k == i || net_peer(net, i, k).index1 != 0);
        }
        assert_int_equal(fl_session_lags(session, net_local(net, i), &status), FL_OK);
        assert_true(status.sends && status.plays);
        assert_int_equal(fl_action_send(session, net_local(net, i), 1, &i, 1), FL_OK);
    }
}

// It joins the lags by one probe and answers no round: no member could send an action any more, or
// a newcomer none ever.
static void who_answers_no_round_of_lags_stops_nobody(void **state)
{
    static Scene scene;
    open_actions(&scene, net_topology(state), 0);
    Fl__LagsBody probe = {.kind = FL__LAGS_PROBE, .stamp = net_local(&scene.net, ATTACKER)};
    say_lags(&scene, -1, &probe);
    net_run(&scene.net, scene.net.now + 3 * TIMEOUT);
    assert_honest_act(&scene.net);
    net_close(&scene.net);
}

// It answers, each time with other members; or sends its part to some only.
static void who_sends_its_part_to_some_stops_nobody_in_a_star(void **state)
{
    (void)state;
    static Scene scene;
    for (int32_t to = -1; to < 1; to++) {
        open_actions(&scene, FL_TOPOLOGY_STAR, 0);
        Fl__LagsBody body = {.kind = FL__LAGS_PROBE, .stamp = net_local(&scene.net, ATTACKER)};
        say_lags(&scene, to, &body);
        for (int32_t f = 0; f < 3 * TIMEOUT / FL_MS(100); f++) {
            FlLagsStatus status;
            FlSession *host = scene.net.node[0].session;
            assert_int_equal(fl_session_lags(host, net_local(&scene.net, 0), &status), FL_OK);
            Fl__LagsBody vector = {.kind = FL__LAGS_VECTOR};
            vector.vector.round = 1 + (uint32_t)f / 5;
            vector.vector.members = 1u | UINT64_C(1) << net_number(&scene.net, ATTACKER);
            if (net_is_member(&scene.net, ATTACKER)) {
                say_lags(&scene, to, &vector);
            }
            net_run(&scene.net, scene.net.now + FL_MS(100));
        }
        net_run(&scene.net, scene.net.now + TIMEOUT);
        assert_honest_act(&scene.net);
        net_close(&scene.net);
    }
}

static int32_t actions_taken(Scene *scene, int32_t node, uint16_t type)
{
    FlAction action;
    int32_t count = 0;
    FlSession *session = scene->net.node[node].session;
    while (fl_action_take(session, net_local(&scene->net, node), &action) == FL_OK) {
        count += action.type == type ? 1 : 0;
    }
    return count;
}

// An action is everybody's or nobody's: a member that sends one to another only is relayed to all.
static void nobody_acts_before_some_only_in_a_star(void **state)
{
    (void)state;
    static Scene scene;
    open_actions(&scene, FL_TOPOLOGY_STAR, 64);
    Net *net = &scene.net;
    net_run(net, net->now + FL_SEC(6));
    FlLagsStatus status;
    FlTime now = net_local(net, ATTACKER);
    assert_int_equal(fl_session_lags(net->node[ATTACKER].session, now, &status), FL_OK);
    assert_true(status.sends);
    FlOrdered action = {.stamp = now, .play = now + status.b, .sequence = 1, .type = 77};
    uint8_t bytes[FL_ACTION_HEAD_BYTES + FL_ACTION_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__action_write(&w, &action);
    say_routed(&scene, MESSAGE_ACTION, 1, bytes, fl_writer_size(&w));
    net_run(net, net->now + FL_SEC(2));
    for (int32_t i = 0; i < ATTACKER; i++) {
        assert_int_equal(actions_taken(&scene, i, 77), 1);
    }
    net_close(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TOPOLOGIES(who_withholds_inputs_stops_nobody),
        NET_TOPOLOGIES(who_acknowledges_no_inputs_stops_nobody),
        NET_TOPOLOGY(nobody_invents_inputs_of_a_leaver, "star"),
        NET_TOPOLOGIES(who_answers_no_round_of_lags_stops_nobody),
        cmocka_unit_test(who_sends_its_part_to_some_stops_nobody_in_a_star),
        cmocka_unit_test(nobody_acts_before_some_only_in_a_star),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
