// Direct connections that die: a cut line, a killed peer, a changed port, a NAT that gives every
// destination a port of its own. Nobody floods a dead address; a hybrid's host relays soon; who was
// parted meets again; and the game is told.
//
// Things turn all the time, so updates go out all the time, and how old the newest is that a
// receiver has shows whether anything comes.
#include "session_net.h"

enum { NODES = 4, FRAMES_PER_S = 1000 / NET_FRAME_MS };

typedef enum Break { BREAK_CUT, BREAK_KILL, BREAK_PORT } Break;

typedef struct Scene {
    Net net;
    NetWalk walk[NODES];
    int32_t frames;
    int64_t said;      // events
    int64_t live_most; // packets in a second from 1 to 2, as long as all was well
} Scene;

// How old the newest update of `whose` thing is at a node, s.
static double age_at(const Scene *scene, int32_t node, int32_t whose)
{
    const Net *net = &scene->net;
    FlEntityStatus status;
    FlEntityId id = net_entity(net, node, scene->walk[whose].number);
    if (fl_entity_status(net->node[node].session, id, &status) != FL_OK ||
        status.received == FL_FOREVER) {
        return (double)INFINITY;
    }
    return fl_span_seconds(net_time(net, node) - status.received);
}

static bool is_direct(const Net *net, int32_t a, int32_t b)
{
    FlPeerStatus status;
    return fl_peer_status(net->node[a].session, net_peer(net, a, b), &status) == FL_OK &&
           status.direct;
}

static bool is_met(const Net *net, int32_t a, int32_t b)
{
    return is_direct(net, a, b) && is_direct(net, b, a);
}

static bool all_met(const Net *net)
{
    bool met = true;
    for (int32_t a = 0; a < NODES; a++) {
        for (int32_t b = 0; b < a; b++) {
            met = met && is_met(net, a, b);
        }
    }
    return met;
}

static void frame(Scene *scene)
{
    Net *net = &scene->net;
    scene->frames++;
    for (int32_t i = 0; i < NODES; i++) {
        if (net_in(net, i) && scene->walk[i].number != 0) {
            if (scene->frames % 5 == i) {
                net_walk_turn(net, &scene->walk[i]);
            }
            assert_int_equal(net_walk_step(net, &scene->walk[i]), FL_OK);
        }
    }
    net_frame(net);
}

static int64_t second_of(Scene *scene, int32_t from, int32_t to)
{
    int64_t before = scene->net.sent[from][to];
    for (int32_t f = 0; f < FRAMES_PER_S; f++) {
        frame(scene);
    }
    return scene->net.sent[from][to] - before;
}

static void begin_walks(Scene *scene)
{
    FlEntityDef def = fl_entity_def_default();
    for (int32_t i = 0; i < NODES; i++) {
        NetWalk spare; // so that no number is 0
        if (i == 0) {
            assert_int_equal(net_walk_begin(&scene->net, &spare, i, &def), FL_OK);
        }
        assert_int_equal(net_walk_begin(&scene->net, &scene->walk[i], i, &def), FL_OK);
    }
}

static void open_scene(Scene *scene, uint64_t seed, FlTopology topology, bool sealed)
{
    memset(scene, 0, sizeof *scene);
    net_open(&scene->net, seed, topology, sealed);
    net_start_all(&scene->net, NODES);
}

static void play(Scene *scene)
{
    net_gather(&scene->net);
    for (int32_t f = 0; f < 500 && !all_met(&scene->net); f++) {
        net_frame(&scene->net);
    }
    begin_walks(scene);
    (void)second_of(scene, 1, 2);
    for (int32_t s = 0; s < 4; s++) {
        int64_t sent = second_of(scene, 1, 2);
        scene->live_most = sent > scene->live_most ? sent : scene->live_most;
    }
}

static void break_it(Scene *scene, Break how)
{
    Net *net = &scene->net;
    if (how == BREAK_CUT) {
        net_cut(net, 1, 2, true);
    } else if (how == BREAK_KILL) {
        net_crash(net, 2);
    } else {
        net->node[2].address.port = 6000;
    }
}

// ---------------------------------------------------------------- no flood

static void a_dead_address_is_not_flooded(void **state)
{
    (void)state;
    static Scene scene;
    for (uint64_t seed = 0; seed < 12; seed++) {
        Break how = (Break)(seed % 3);
        open_scene(&scene, seed + 1, seed % 2 == 0 ? FL_TOPOLOGY_MESH : FL_TOPOLOGY_HYBRID,
                   seed >= 6);
        play(&scene);
        assert_true(all_met(&scene.net));
        break_it(&scene, how);
        int64_t most = 0;
        int64_t all = 0;
        for (int32_t s = 0; s < 30; s++) {
            int64_t sent = second_of(&scene, 1, 2);
            most = sent > most ? sent : most;
            all += sent;
        }
        print_message("             seed %d: live %d packets/s, then at most %d, %.1f on average\n",
                      (int)seed, (int)scene.live_most, (int)most, (double)all / 30.0);
        assert_true(most <= scene.live_most + 2);
        net_close(&scene.net);
    }
}

// ---------------------------------------------------------------- relayed

static void a_hybrids_host_relays_within_two_seconds(void **state)
{
    (void)state;
    static Scene scene;
    for (uint64_t seed = 0; seed < 6; seed++) {
        open_scene(&scene, seed + 21, FL_TOPOLOGY_HYBRID, seed % 2 == 0);
        play(&scene);
        break_it(&scene, BREAK_CUT);
        double oldest = 0.0;
        for (int32_t f = 0; f < 20 * FRAMES_PER_S; f++) {
            frame(&scene);
            oldest = fmax(oldest, fmax(age_at(&scene, 1, 2), age_at(&scene, 2, 1)));
        }
        print_message("             seed %d: the oldest shown was %.2f s old\n", (int)seed, oldest);
        assert_true(oldest < 2.0);
        net_close(&scene.net);
    }
}

// Who hears the other, and is not heard, gets no answers.
static void one_direction_that_dies_is_relayed_too(void **state)
{
    (void)state;
    static Scene scene;
    for (uint64_t seed = 0; seed < 4; seed++) {
        open_scene(&scene, seed + 31, FL_TOPOLOGY_HYBRID, seed % 2 == 0);
        play(&scene);
        fl_impair_destroy(scene.net.way[1][2]);
        scene.net.way[1][2] = NULL;
        double oldest = 0.0;
        for (int32_t s = 0; s < 40; s++) {
            int64_t back = scene.net.sent[2][1];
            assert_true(second_of(&scene, 1, 2) <= scene.live_most + 2);
            assert_true(scene.net.sent[2][1] - back <= scene.live_most + 2);
            oldest = fmax(oldest, fmax(age_at(&scene, 1, 2), age_at(&scene, 2, 1)));
        }
        assert_true(oldest < 2.0);
        net_close(&scene.net);
    }
}

// ---------------------------------------------------------------- meeting again

static double met_after(Scene *scene, double at_most)
{
    FlTime began = scene->net.now;
    double span = 0.0;
    while (!is_met(&scene->net, 1, 2) && span < at_most) {
        frame(scene);
        span = fl_span_seconds(scene->net.now - began);
    }
    return span;
}

static void who_was_parted_meets_again(void **state)
{
    (void)state;
    static Scene scene;
    static const int32_t cut_s[] = {4, 15, 50};
    for (uint64_t seed = 0; seed < 12; seed++) {
        open_scene(&scene, seed + 41, seed % 2 == 0 ? FL_TOPOLOGY_MESH : FL_TOPOLOGY_HYBRID,
                   seed >= 6);
        play(&scene);
        break_it(&scene, BREAK_CUT);
        for (int32_t s = 0; s < cut_s[seed % 3]; s++) {
            (void)second_of(&scene, 1, 2);
        }
        assert_false(is_met(&scene.net, 1, 2));
        net_cut(&scene.net, 1, 2, false);
        double after = met_after(&scene, 40.0);
        print_message("             seed %d: cut for %d s, met again after %.2f s\n", (int)seed,
                      cut_s[seed % 3], after);
        assert_true(is_met(&scene.net, 1, 2));
        (void)second_of(&scene, 1, 2);
        (void)second_of(&scene, 1, 2);
        assert_true(age_at(&scene, 1, 2) < 0.5 && age_at(&scene, 2, 1) < 0.5);
        net_close(&scene.net);
    }
}

// Nobody says what port it has now: it is seen.
static void a_changed_port_is_followed_where_anybody_may_join(void **state)
{
    (void)state;
    static Scene scene;
    for (uint64_t seed = 0; seed < 6; seed++) {
        open_scene(&scene, seed + 61, seed % 2 == 0 ? FL_TOPOLOGY_MESH : FL_TOPOLOGY_HYBRID, false);
        play(&scene);
        break_it(&scene, BREAK_PORT);
        double after = -1.0;
        for (int32_t f = 0; f < 8 * FRAMES_PER_S; f++) {
            frame(&scene);
            bool old = fmax(age_at(&scene, 1, 2), age_at(&scene, 2, 1)) > 0.5;
            after = old ? -1.0 : after < 0.0 ? (double)f / FRAMES_PER_S : after;
        }
        print_message("             seed %d: all is as before after %.2f s\n", (int)seed, after);
        assert_true(after >= 0.0 && net_together(&scene.net) && all_met(&scene.net));
        for (int32_t i = 0; i < NODES; i++) {
            assert_true(i == 2 || age_at(&scene, i, 2) < 0.5);
            assert_true(i == 2 || age_at(&scene, 2, i) < 0.5);
        }
        net_close(&scene.net);
    }
}

// One behind a symmetric NAT is seen at another port than the host says: by whom its packets reach.
static void one_behind_a_symmetric_nat_meets_those_it_can_reach(void **state)
{
    (void)state;
    static Scene scene;
    for (uint64_t seed = 0; seed < 4; seed++) {
        open_scene(&scene, seed + 81, FL_TOPOLOGY_MESH, seed % 2 == 1);
        for (int32_t to = 0; to < NODES; to++) {
            scene.net.door[2][to] = (uint16_t)(7000 + 10 * to);
        }
        play(&scene);
        assert_true(all_met(&scene.net));
        assert_true(age_at(&scene, 1, 2) < 0.5 && age_at(&scene, 2, 1) < 0.5);
        net_close(&scene.net);
    }
}

// ---------------------------------------------------------------- told

// How often node `at` was told something about node `whom`, and in all.
static int32_t told_of(Scene *scene, int32_t at, int32_t whom, FlNoticeKind kind, int32_t *all)
{
    FlNotice notice;
    int32_t count = 0;
    FlPeerId peer = net_peer(&scene->net, at, whom);
    while (fl_notice_take(scene->net.node[at].session, &notice) == FL_OK) {
        bool ways = notice.kind == FL_NOTICE_PEER_DIRECT || notice.kind == FL_NOTICE_PEER_INDIRECT;
        *all += ways ? 1 : 0;
        count += notice.kind == kind && notice.peer.index1 == peer.index1 ? 1 : 0;
    }
    return count;
}

static void look_at_status(const Net *net, int32_t at, int32_t whom, bool missed, bool met)
{
    FlPeerStatus status;
    assert_int_equal(fl_peer_status(net->node[at].session, net_peer(net, at, whom), &status),
                     FL_OK);
    assert_int_equal(status.missed, missed);
    assert_int_equal(status.met, met);
    assert_int_equal(status.direct, !missed);
}

static void who_cannot_be_reached_is_named(void **state)
{
    (void)state;
    static Scene scene;
    for (uint64_t seed = 0; seed < 4; seed++) {
        open_scene(&scene, seed + 121, seed % 2 == 0 ? FL_TOPOLOGY_MESH : FL_TOPOLOGY_HYBRID,
                   seed >= 2);
        net_cut(&scene.net, 1, 2, true); // as between two symmetric NATs
        play(&scene);
        for (int32_t at = 0; at < NODES; at++) {
            int32_t all = 0;
            int32_t expected = at == 1 || at == 2 ? 1 : 0;
            int32_t told = told_of(&scene, at, 3 - at, FL_NOTICE_PEER_INDIRECT, &all);
            assert_int_equal(at == 0 || at == 3 ? 0 : told, expected);
            assert_int_equal(all, expected);
        }
        assert_int_equal(fl_session_topology(scene.net.node[1].session), scene.net.def.topology);
        look_at_status(&scene.net, 1, 2, true, false);
        look_at_status(&scene.net, 1, 3, false, true);
        assert_true(isinf(age_at(&scene, 1, 2)) || scene.net.def.topology == FL_TOPOLOGY_HYBRID);
        net_cut(&scene.net, 1, 2, false);
        (void)met_after(&scene, 40.0);
        (void)second_of(&scene, 1, 2);
        int32_t all = 0;
        assert_int_equal(told_of(&scene, 1, 2, FL_NOTICE_PEER_DIRECT, &all), 1);
        assert_int_equal(all, 1);
        look_at_status(&scene.net, 1, 2, false, true);
        assert_int_equal(fl_session_count(scene.net.node[1].session, FL_SESSION_PARTED), 1);
        net_close(&scene.net);
    }
}

// ---------------------------------------------------------------- the host is killed

static void say_something(Scene *scene)
{
    Net *net = &scene->net;
    for (int32_t i = 0; i < NODES; i++) {
        if (!net_in(net, i)) {
            continue;
        }
        FlSession *session = net->node[i].session;
        uint8_t what[4] = {(uint8_t)scene->frames, (uint8_t)i};
        FlEvent event = {.type = 7, .delivery = FL_DELIVERY_ORDERED, .bytes = what, .count = 4};
        FlPeerId all = {0};
        scene->said += fl_event_send(session, all, &event) == FL_OK ? 1 : 0;
        event.delivery = FL_DELIVERY_UNORDERED;
        FlPeerId first = {0};
        (void)fl_peer_next(session, &first);
        scene->said += fl_event_send(session, first, &event) == FL_OK ? 1 : 0;
        FlEntityId id = net_entity(net, i, scene->walk[i].number);
        assert_int_equal(fl_entity_state_set(session, id, what, 4), FL_OK);
        while (fl_event_take(session, &event) == FL_OK) {
        }
    }
}

// Who notices first speaks as host, or to one, before the others know.
static void a_host_that_is_killed_is_nobodys_fault(void **state)
{
    (void)state;
    static Scene scene;
    for (uint64_t seed = 0; seed < 8; seed++) {
        open_scene(&scene, seed + 101, seed % 2 == 0 ? FL_TOPOLOGY_MESH : FL_TOPOLOGY_HYBRID,
                   seed % 4 >= 2);
        FlImpairSettings weather = net_storm(&scene.net.random, seed < 4 ? 0 : 10);
        net_weather(&scene.net, &weather);
        play(&scene);
        for (int32_t f = 0; f < 5 * FRAMES_PER_S; f++) {
            say_something(&scene);
            frame(&scene);
        }
        // Its last packets to one are lost, who notices it first: the next host, or another.
        net_cut(&scene.net, 0, seed % 3 == 0 ? 1 : 3, true);
        for (int32_t f = 0; f < 3 * FRAMES_PER_S; f++) {
            say_something(&scene);
            frame(&scene);
        }
        net_crash(&scene.net, 0);
        for (int32_t f = 0; f < 30 * FRAMES_PER_S; f++) {
            say_something(&scene);
            frame(&scene);
        }
        assert_true(net_together(&scene.net));
        print_message("             seed %d: %d malformed, %d foreign\n", (int)seed,
                      (int)net_count(&scene.net, FL_SESSION_MALFORMED),
                      (int)net_count(&scene.net, FL_SESSION_FOREIGN));
        assert_int_equal(net_count(&scene.net, FL_SESSION_MALFORMED), 0);
        assert_int_equal(net_count(&scene.net, FL_SESSION_FOREIGN), 0);
        net_close(&scene.net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dead_address_is_not_flooded),
        cmocka_unit_test(a_hybrids_host_relays_within_two_seconds),
        cmocka_unit_test(one_direction_that_dies_is_relayed_too),
        cmocka_unit_test(who_was_parted_meets_again),
        cmocka_unit_test(a_changed_port_is_followed_where_anybody_may_join),
        cmocka_unit_test(one_behind_a_symmetric_nat_meets_those_it_can_reach),
        cmocka_unit_test(who_cannot_be_reached_is_named),
        cmocka_unit_test(a_host_that_is_killed_is_nobodys_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
