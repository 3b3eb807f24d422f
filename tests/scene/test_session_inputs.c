// Inputs: every player's input for every tick arrives at everybody once, in order and without gaps,
// over networks with loss up to 30 %, reordering and duplicates; who comes late gets what is
// remembered; who does not keep up is sent away and counted.
#include "session_net.h"

enum { NODES = 5, BYTES = 6, BYTES_AT_MOST = 64, TICKS = 64 };

typedef struct Scene {
    Net net;
    int64_t next[NET_NODES];              // the tick that a node says next
    int64_t first[NET_NODES][NET_NODES];  // [at][whose]: the first tick that was there, -1: none
    int64_t newest[NET_NODES][NET_NODES]; // up to here all were checked
    int64_t checked, blocked;
} Scene;

// What a player does is a function of who and when, so anybody can check it.
static void input_of(int32_t node, int64_t tick, uint8_t bytes[BYTES_AT_MOST])
{
    for (int32_t i = 0; i < BYTES_AT_MOST; i++) {
        bytes[i] = (uint8_t)fl_random_at(7, (uint64_t)(node * BYTES_AT_MOST + i), (uint64_t)tick);
    }
}

static void open_scene(Scene *scene, uint64_t seed, FlTopology topology)
{
    memset(scene, 0, sizeof *scene);
    net_open(&scene->net, seed, topology, seed % 2 == 0);
    scene->net.def.input_bytes = BYTES;
    scene->net.def.input_ticks = TICKS;
    for (int32_t i = 0; i < NET_NODES; i++) {
        for (int32_t j = 0; j < NET_NODES; j++) {
            scene->first[i][j] = -1;
            scene->newest[i][j] = -1;
        }
    }
}

static void say(Scene *scene, int32_t node)
{
    uint8_t bytes[BYTES_AT_MOST];
    input_of(node, scene->next[node], bytes);
    FlResult result = fl_input_set(scene->net.node[node].session, scene->next[node], bytes);
    assert_true(result == FL_OK || result == FL_WOULD_BLOCK);
    scene->next[node] += result == FL_OK ? 1 : 0;
    scene->blocked += result == FL_OK ? 0 : 1;
}

// Whatever is new here of `whose` follows on what was here before, and is what it did.
static void check(Scene *scene, int32_t at, int32_t whose)
{
    Net *net = &scene->net;
    const FlSession *session = net->node[at].session;
    FlPeerId peer = net_peer(net, at, whose);
    int64_t newest = fl_input_newest(session, peer);
    if (newest < 0) {
        return;
    }
    const uint8_t *got;
    if (scene->first[at][whose] < 0) {
        int64_t oldest = newest;
        while (oldest > 0 && fl_input_get(session, peer, oldest - 1, &got) == FL_OK) {
            oldest--;
        }
        scene->first[at][whose] = oldest;
        scene->newest[at][whose] = oldest - 1;
    }
    assert_true(newest >= scene->newest[at][whose] && newest < scene->next[whose]);
    for (int64_t tick = scene->newest[at][whose] + 1; tick <= newest; tick++) {
        uint8_t truth[BYTES_AT_MOST];
        input_of(whose, tick, truth);
        assert_int_equal(fl_input_get(session, peer, tick, &got), FL_OK);
        assert_memory_equal(got, truth, (size_t)scene->net.def.input_bytes);
        scene->checked++;
    }
    scene->newest[at][whose] = newest;
}

static void check_all(Scene *scene)
{
    for (int32_t at = 0; at < scene->net.count; at++) {
        for (int32_t whose = 0; whose < scene->net.count; whose++) {
            if (net_in(&scene->net, at) && net_in(&scene->net, whose)) {
                check(scene, at, whose);
            }
        }
    }
}

static void frame(Scene *scene, bool speak)
{
    for (int32_t i = 0; i < scene->net.count && speak; i++) {
        if (net_in(&scene->net, i)) {
            say(scene, i);
        }
    }
    net_frame(&scene->net);
    check_all(scene);
}

static bool all_have_all(const Scene *scene)
{
    for (int32_t at = 0; at < scene->net.count; at++) {
        for (int32_t whose = 0; whose < scene->net.count; whose++) {
            bool both = scene->net.node[at].session != NULL &&
                        scene->net.node[whose].session != NULL && at != whose;
            if (both && scene->newest[at][whose] != scene->next[whose] - 1) {
                return false;
            }
        }
    }
    return true;
}

// What is lost last is known to be lost when the other end speaks next, which between introduced
// peers that have nothing to say may take a while.
static void settle(Scene *scene)
{
    for (int32_t f = 0; f < 6000 && !all_have_all(scene); f++) {
        frame(scene, false);
    }
    assert_true(all_have_all(scene));
}

static void inputs_arrive_in_order_without_gaps(void **state)
{
    FlTopology topology = net_topology(state);
    const char *name = (const char *)*state;
    static Scene scene;
    int64_t checked = 0;
    int64_t blocked = 0;
    for (uint64_t seed = 1; seed <= 16; seed++) {
        open_scene(&scene, seed, topology);
        scene.net.weather = net_storm(&scene.net.random, 20);
        net_start_together(&scene.net, NODES);
        for (int32_t f = 0; f < 300; f++) {
            frame(&scene, true);
        }
        settle(&scene);
        for (int32_t at = 0; at < NODES; at++) {
            for (int32_t whose = 0; whose < NODES; whose++) {
                assert_int_equal(scene.first[at][whose], 0); // nobody came late
            }
        }
        assert_int_equal(net_count(&scene.net, FL_SESSION_MALFORMED), 0);
        assert_int_equal(net_count(&scene.net, FL_SESSION_BEHIND), 0);
        checked += scene.checked;
        blocked += scene.blocked;
        net_close(&scene.net);
    }
    print_message("             %s: %lld inputs arrived; %lld times somebody had to wait\n", name,
                  (long long)checked, (long long)blocked);
    assert_true(checked > 10000);
}

/// Inputs of which not many fit into a packet, and events that take the room for a while: what is
/// behind then catches up, over ways on which packets get lost and overtake each other.
static void check_catches_up(uint64_t seed, FlTopology topology, const FlImpairSettings *weather)
{
    static Scene scene;
    open_scene(&scene, seed, topology);
    Net *net = &scene.net;
    net->def.input_bytes = BYTES_AT_MOST;
    net->def.input_ticks = 256;
    net->weather = *weather;
    net_start_together(net, NODES);
    uint8_t bytes[1000] = {0};
    FlEvent event = {.type = 1, .delivery = FL_DELIVERY_ORDERED, .bytes = bytes, .count = 1000};
    FlPeerId all = {0};
    int32_t to_send = 16;
    for (int32_t f = 0; f < 400; f++) {
        while (f >= 100 && to_send > 0 &&
               fl_event_send(net->node[1].session, all, &event) == FL_OK) {
            to_send--;
        }
        for (int32_t i = 0; i < NODES; i++) {
            FlEvent taken;
            while (fl_event_take(net->node[i].session, &taken) == FL_OK) {
            }
        }
        frame(&scene, f % 5 < 3); // 30 a second
    }
    assert_int_equal(to_send, 0);
    assert_int_equal(net_count(net, FL_SESSION_BEHIND), 0);
    FlTime rtt = 2 * (weather->delay_ns + weather->jitter_ns);
    int64_t behind = 10 + 6 * rtt / FL_MS(33); // lost, noticed and said again
    for (int32_t at = 0; at < NODES; at++) {
        for (int32_t whose = 0; whose < NODES; whose++) {
            if (at != whose) {
                assert_true(scene.newest[at][whose] >= scene.next[whose] - behind);
            }
        }
    }
    assert_int_equal(scene.blocked, 0);
    assert_true(net->wakes < 100 * NODES * 400);
    net_close(net);
}

static void long_inputs_catch_up_after_a_burst_of_events(void **state)
{
    (void)state;
    FlImpairSettings fair = net_fair();
    FlImpairSettings bad = net_fair();
    FlImpairSettings far = net_fair();
    bad.loss_ppm = 30000;
    bad.duplicate_ppm = 30000;
    bad.jitter_ns = FL_MS(20);
    bad.shape = FL_SHAPE_UNIFORM;
    far.delay_ns = FL_MS(350); // more is under way than fits into a packet
    check_catches_up(1, FL_TOPOLOGY_STAR, &fair);
    check_catches_up(2, FL_TOPOLOGY_MESH, &fair);
    check_catches_up(3, FL_TOPOLOGY_STAR, &bad);
    check_catches_up(4, FL_TOPOLOGY_HYBRID, &bad);
    check_catches_up(5, FL_TOPOLOGY_STAR, &far);
    check_catches_up(6, FL_TOPOLOGY_MESH, &far);
}

static void a_late_joiner_gets_what_is_remembered_and_is_heard_from_its_first(void **state)
{
    (void)state;
    static Scene scene;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        open_scene(&scene, seed, (FlTopology)(seed % 3));
        scene.net.weather = net_storm(&scene.net.random, 10);
        net_start_together(&scene.net, 3);
        int32_t before = seed % 4 < 2 ? 20 : 200; // fewer ticks than are remembered, or more
        for (int32_t f = 0; f < before; f++) {
            frame(&scene, true);
        }
        settle(&scene);
        int64_t said[3] = {scene.next[0], scene.next[1], scene.next[2]};
        net_start(&scene.net, 3);
        for (int32_t f = 0; f < 100 || !net_together(&scene.net); f++) {
            assert_true(f < 1500);
            if (net_in(&scene.net, 3)) { // it speaks before the others know that it is there
                say(&scene, 3);
            }
            frame(&scene, false);
        }
        for (int32_t f = 0; f < 100; f++) {
            frame(&scene, true);
        }
        settle(&scene);
        for (int32_t whose = 0; whose < 3; whose++) {
            int64_t remembered = said[whose] > TICKS ? said[whose] - TICKS : 0;
            assert_true(scene.first[3][whose] >= 0);
            assert_true(scene.first[3][whose] <= remembered + TICKS / 2);
            assert_true(scene.first[3][whose] >= remembered);
            assert_int_equal(scene.first[whose][3], 0);
        }
        net_close(&scene.net);
    }
}

// It hears nothing for longer than inputs are remembered.
static void who_does_not_keep_up_is_sent_away_and_the_others_go_on(void **state)
{
    (void)state;
    static Scene scene;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        open_scene(&scene, seed, FL_TOPOLOGY_STAR);
        net_start_together(&scene.net, 4);
        for (int32_t f = 0; f < 50; f++) {
            frame(&scene, true);
        }
        net_cut(&scene.net, 0, 3, true);
        int64_t before = scene.next[1];
        for (int32_t f = 0; f < 600; f++) {
            frame(&scene, true);
        }
        FlSession *host = scene.net.node[0].session;
        assert_int_equal(fl_peer_count(host), 2);
        assert_true(fl_session_count(host, FL_SESSION_BEHIND) >= 1);
        net_crash(&scene.net, 3);
        settle(&scene);
        assert_true(scene.next[1] > before + 300); // it held them up for a while, not for ever
        net_close(&scene.net);
    }
}

// A stopped process, or a level that takes its time to load: three seconds without a look at the
// socket. Everybody says `a_frame` inputs in 20 ms.
static void freeze_one(Scene *scene, int32_t a_frame)
{
    net_start_together(&scene->net, 4);
    for (int32_t f = 0; f < 300; f++) {
        scene->net.node[3].frozen = f >= 50 && f < 200;
        for (int32_t i = 0; i < 4 * a_frame; i++) {
            if (net_in(&scene->net, i % 4) && !scene->net.node[i % 4].frozen) {
                say(scene, i % 4);
            }
        }
        frame(scene, false);
    }
}

static void who_is_frozen_for_three_seconds_stays_in_and_misses_nothing(void **state)
{
    (void)state;
    static Scene scene;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        open_scene(&scene, seed, (FlTopology)(seed % 3));
        scene.net.def.input_ticks = fl_session_def_default().input_ticks;
        freeze_one(&scene, 2); // 100 a second
        assert_int_equal(fl_peer_count(scene.net.node[0].session), 3);
        assert_true(net_in(&scene.net, 3));
        assert_int_equal(scene.blocked, 0); // and nobody had to wait for it
        assert_int_equal(net_count(&scene.net, FL_SESSION_BEHIND), 0);
        settle(&scene);
        net_close(&scene.net);
    }
}

// Where fewer are remembered than that, it says so on both sides.
static void who_is_too_far_behind_is_told_so(void **state)
{
    (void)state;
    static Scene scene;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        open_scene(&scene, seed, FL_TOPOLOGY_STAR);
        freeze_one(&scene, 1); // TICKS are 1.28 s
        FlSession *host = scene.net.node[0].session;
        FlSession *frozen = scene.net.node[3].session;
        assert_int_equal(fl_peer_count(host), 2);
        assert_true(fl_session_count(host, FL_SESSION_BEHIND) >= 1);
        assert_true(net_was_told(host, FL_LEFT_BEHIND));
        assert_true(net_was_told(scene.net.node[1].session, FL_LEFT_BEHIND));
        assert_int_equal(fl_session_state(frozen), FL_SESSION_ENDED);
        assert_non_null(strstr(fl_session_end_text(frozen), fl_left_text(FL_LEFT_BEHIND)));
        net_close(&scene.net);
    }
}

// A star of `nodes` in which everybody says `bytes` each tick: through the host goes more than fits
// into a packet, if all that is not acknowledged is repeated each time.
static void check_crowd(int32_t nodes, int32_t bytes, double host_bytes_s)
{
    static Net net;
    net_open(&net, 3, FL_TOPOLOGY_STAR, false);
    net.def.input_bytes = bytes;
    net.def.input_ticks = 256;
    net.weather = net_fair();
    net_start_together(&net, nodes);
    int64_t tick = 0;
    uint8_t input[64] = {1};
    int64_t before = net.bytes[0];
    int64_t wakes = net.wakes;
    for (; tick < 300; tick++) {
        for (int32_t i = 0; i < nodes; i++) {
            assert_int_equal(fl_input_set(net.node[i].session, tick, input), FL_OK);
        }
        net_frame(&net);
        for (int32_t at = 0; at < nodes && tick > 50; at++) {
            for (int32_t of = 0; of < nodes; of++) {
                int64_t newest = fl_input_newest(net.node[at].session, net_peer(&net, at, of));
                assert_true(of == at || newest >= tick - 20); // 0.4 s
            }
        }
    }
    assert_int_equal(fl_session_count(net.node[0].session, FL_SESSION_BEHIND), 0);
    double rate = (double)(net.bytes[0] - before) / ((double)tick * 0.02);
    assert_true(rate < host_bytes_s);
    assert_true(net.wakes - wakes < 20 * nodes * tick); // nobody looks again and again for nothing
    net_close(&net);
}

static void a_host_passes_everybodys_inputs_on_and_starves_nobody(void **state)
{
    (void)state;
    check_crowd(5, 2, 60e3);
    check_crowd(5, 32, 300e3);
    check_crowd(8, 8, 400e3);
}

static void who_is_too_fast_is_sent_away_and_not_those_who_keep_up(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 3, FL_TOPOLOGY_STAR, false);
    net.def.input_bytes = 2;
    net.def.input_ticks = 128;
    net.weather = net_fair();
    net_start_together(&net, NODES);
    FlImpairSettings slow = net_fair();
    slow.delay_ns = FL_MS(150);
    net_way(&net, 0, 4, &slow);
    net_way(&net, 4, 0, &slow);
    int64_t tick = 0;
    uint8_t input[2] = {0};
    for (int32_t f = 0; f < 300 && net_in(&net, 1); f++) { // as much as is taken, at once
        while (tick < 5000 && fl_input_set(net.node[1].session, tick, input) == FL_OK) {
            tick++;
        }
        net_frame(&net);
    }
    net_run(&net, net.now + FL_SEC(1));
    FlSession *host = net.node[0].session;
    assert_int_equal(fl_peer_count(host), NODES - 2);
    assert_int_equal(fl_session_count(host, FL_SESSION_BEHIND), 1);
    assert_true(net_was_told(host, FL_LEFT_TOO_FAST));
    const char *why = fl_session_end_text(net.node[1].session);
    assert_non_null(strstr(why, fl_left_text(FL_LEFT_TOO_FAST)));
    assert_true(net_in(&net, 2) && net_in(&net, 3) && net_in(&net, 4));
    net_close(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TOPOLOGIES(inputs_arrive_in_order_without_gaps),
        cmocka_unit_test(long_inputs_catch_up_after_a_burst_of_events),
        cmocka_unit_test(a_late_joiner_gets_what_is_remembered_and_is_heard_from_its_first),
        cmocka_unit_test(who_does_not_keep_up_is_sent_away_and_the_others_go_on),
        cmocka_unit_test(who_is_frozen_for_three_seconds_stays_in_and_misses_nothing),
        cmocka_unit_test(who_is_too_far_behind_is_told_so),
        cmocka_unit_test(a_host_passes_everybodys_inputs_on_and_starves_nobody),
        cmocka_unit_test(who_is_too_fast_is_sent_away_and_not_those_who_keep_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
