// The overlay in a mesh and a hybrid: one player is looked at by fifteen others, and its upload
// carries five. Those who look forward it to each other. Whoever forwards may leave, fall silent or
// lie.
#define NET_NODES 17
#define NET_FLIGHT 16384
#include "session_inside.h"
#include "session_net.h"
#include "unit/support.h"

#include "attention/private.h"
#include "entity/export.h"

enum { NODES = 16, STAR = 1 };

#define UPLOAD 10200.0 // some five receivers at every frame, and the rest in turn

typedef struct Receiver {
    FlTime received; // the stamp of what came last
    int32_t updates;
    double error;
    FlTime came_at, longest;
} Receiver;

typedef struct Scene {
    Net net;
    NetWalk walk[NODES];
    Receiver at[NODES];
    int64_t frames;
    int32_t liar; // a node that forwards what is not true; -1: none
} Scene;

static Scene scene;

static FlSession *session_of(int32_t node)
{
    return scene.net.node[node].session;
}

static FlEntityId star_at(int32_t node)
{
    return net_entity(&scene.net, node, scene.walk[STAR].number);
}

static void begin(FlTopology topology, bool sealed, bool shared, double upload)
{
    memset(&scene, 0, sizeof scene);
    scene.liar = -1;
    net_open(&scene.net, 5, topology, sealed);
    scene.net.def.upload_bytes_s = upload;
    scene.net.def.tuning.focus.frame_ns = 3 * FL_MS(NET_FRAME_MS);
    scene.net.def.timeout_ns = FL_SEC(5);
    scene.net.def.tuning.link.ack_delay_ns = FL_MS(500);
    scene.net.def.tuning.crowd.shared = shared;
    scene.net.weather.delay_ns = FL_MS(20);
    net_start_together(&scene.net, NODES);
    net_frames(&scene.net, 100);
    FlEntityDef def = fl_entity_def_default();
    def.send = fl_send_make(FL_SEND_FOCUS);
    def.trigger.distance = 0.02;
    def.trigger.silence_ns = FL_MS(50);
    for (int32_t i = 0; i < NODES; i++) {
        assert_int_equal(net_walk_begin(&scene.net, &scene.walk[i], i, &def), FL_OK);
    }
}

// What came since the last frame, and how far off it is shown.
static void look(int32_t node)
{
    Receiver *r = &scene.at[node];
    FlSession *session = session_of(node);
    FlPose pose;
    if (star_at(node).index1 == 0 ||
        !fl_entity_pose_at(session, net_local(&scene.net, node), star_at(node), &pose)) {
        return;
    }
    FlTime received = inside_entity(session, star_at(node))->detail->received;
    r->error += fl_vec3_distance(pose.position, net_walk_at(&scene.walk[STAR], scene.net.now));
    if (received != r->received) {
        r->received = received;
        r->updates++;
        r->came_at = scene.net.now;
    }
    FlTime gap = scene.net.now - r->came_at;
    r->longest = gap > r->longest ? gap : r->longest;
}

static void play(int32_t frames)
{
    for (int32_t f = 0; f < frames; f++, scene.frames++) {
        for (int32_t i = 0; i < NODES; i++) {
            if (session_of(i) == NULL) {
                continue;
            }
            if (scene.frames % 12 == i % 12) {
                net_walk_turn(&scene.net, &scene.walk[i]);
            }
            (void)!net_walk_step(&scene.net, &scene.walk[i]);
            if (i != STAR && star_at(i).index1 != 0) {
                assert_int_equal(fl_entity_attention(session_of(i), star_at(i), 0.9), FL_OK);
                look(i);
            }
        }
        net_frame(&scene.net);
    }
}

/// Of all who look, over the last frames.
typedef struct Figures {
    double hz, least_hz, error, worst_error;
    FlTime longest;
} Figures;

static Figures measure(int32_t frames)
{
    FlTime now = scene.net.now;
    for (int32_t i = 0; i < NODES; i++) {
        Receiver fresh = {.received = scene.at[i].received, .came_at = now};
        scene.at[i] = fresh;
    }
    play(frames);
    double seconds = frames * NET_FRAME_MS / 1000.0;
    Figures all = {.least_hz = (double)INFINITY};
    int32_t count = 0;
    for (int32_t i = 0; i < NODES; i++) {
        if (i == STAR || session_of(i) == NULL) {
            continue;
        }
        const Receiver *r = &scene.at[i];
        count++;
        all.hz += r->updates / seconds;
        all.least_hz = fmin(all.least_hz, r->updates / seconds);
        all.error += r->error / frames;
        all.worst_error = fmax(all.worst_error, r->error / frames);
        all.longest = r->longest > all.longest ? r->longest : all.longest;
    }
    all.hz /= count;
    all.error /= count;
    return all;
}

static void print(const char *what, const Figures *f)
{
    print_message(
        "             %s: %.1f Hz (least %.1f), error %.3f m (worst %.3f), longest gap %lld "
        "ms\n",
        what, f->hz, f->least_hz, f->error, f->worst_error, (long long)(f->longest / FL_MS(1)));
}

// The node that forwards the star's entity to node `to`; -1: none does.
static int32_t forwarder_of(int32_t to)
{
    const FlSession *session = session_of(to);
    int32_t via = session->attention->overlay.sources[star_at(to).index1 - 1].via;
    for (int32_t i = 0; via != FL__NONE && i < NODES; i++) {
        if (session_of(i) != NULL &&
            net_number(&scene.net, i) == fl__connection_member(session, via)) {
            return i;
        }
    }
    return -1;
}

// One who forwards to most others.
static int32_t busiest(int32_t *receivers)
{
    int32_t count[NODES] = {0};
    int32_t best = 0;
    for (int32_t i = 0; i < NODES; i++) {
        int32_t by = session_of(i) != NULL && i != STAR ? forwarder_of(i) : -1;
        if (by >= 0 && by != 0) {
            count[by]++;
            best = count[by] > count[best] ? by : best;
        }
    }
    *receivers = count[best];
    return best;
}

// ---------------------------------------------------------------- tests

static Figures run(FlTopology topology, bool sealed, bool shared, double upload)
{
    begin(topology, sealed, shared, upload);
    play(300);
    return measure(300);
}

static void fifteen_are_served_as_well_as_five(void **state)
{
    FlTopology topology = net_topology(state);
    for (int32_t sealed = 2 - CASES(2); sealed < 2; sealed++) { // with sanitizers only sealed
        Figures unlimited = run(topology, sealed == 1, false, 0.0);
        net_close(&scene.net);
        Figures before = run(topology, sealed == 1, false, UPLOAD);
        net_close(&scene.net);
        Figures after = run(topology, sealed == 1, true, UPLOAD);
        print("without a limit", &unlimited);
        print("each by its owner", &before);
        print("overlay", &after);
        assert_true(before.hz < 0.65 * unlimited.hz);
        assert_true(after.hz > 0.85 * unlimited.hz && after.least_hz > 0.7 * unlimited.hz);
        assert_true(after.error < 0.75 * before.error);
        assert_int_equal(net_count(&scene.net, FL_SESSION_MALFORMED), 0);
        assert_int_equal(net_count(&scene.net, FL_SESSION_FOREIGN), 0);
        for (int32_t i = 0; i < NODES; i++) { // nothing was ever found to be a lie
            FlPeerStatus status;
            for (int32_t k = 0; k < NODES; k++) {
                FlPeerId peer = net_peer(&scene.net, i, k);
                assert_int_equal(fl_peer_status(session_of(i), peer, &status), FL_OK);
                assert_int_equal(status.contradictions, 0);
            }
        }
        net_close(&scene.net);
    }
}

// How long the ones it served are without anything, once it is gone: `how`.
static void forwarder_fails(FlTopology topology, void (*how)(int32_t node))
{
    begin(topology, true, true, UPLOAD);
    play(400);
    int32_t receivers;
    int32_t forwarder = busiest(&receivers);
    assert_true(receivers >= 1);
    bool served[NODES] = {false};
    for (int32_t i = 0; i < NODES; i++) {
        served[i] = i != STAR && forwarder_of(i) == forwarder;
    }
    FlTime now = scene.net.now;
    for (int32_t i = 0; i < NODES; i++) {
        scene.at[i].longest = 0;
        scene.at[i].came_at = now;
    }
    how(forwarder);
    play(250);
    FlTime longest = 0;
    for (int32_t i = 0; i < NODES; i++) {
        if (served[i]) {
            longest = scene.at[i].longest > longest ? scene.at[i].longest : longest;
            assert_true(forwarder_of(i) != forwarder);
        }
    }
    print_message("             %d receivers, %lld ms at most without an update\n", receivers,
                  (long long)(longest / FL_MS(1)));
    assert_true(longest > 0 && longest < FL_SEC(1));
    net_close(&scene.net);
}

static void leaves(int32_t node)
{
    net_leave(&scene.net, node);
}

// It is there for its peers, and forwards nothing any more.
static void falls_silent(int32_t node)
{
    FlSession *session = session_of(node);
    for (int32_t i = 0; i < session->connection_count; i++) {
        fl__entity_forward(session, (int32_t)star_at(node).index1 - 1, i, false);
    }
}

// Nothing goes out of it, or into it.
static void is_cut_off(int32_t node)
{
    scene.net.node[node].asleep = true;
}

static void a_forwarder_that_leaves_is_replaced_within_a_second(void **state)
{
    forwarder_fails(net_topology(state), leaves);
}

static void one_that_falls_silent_is_replaced_within_a_second(void **state)
{
    forwarder_fails(net_topology(state), falls_silent);
    forwarder_fails(net_topology(state), is_cut_off);
}

// It stamps what it forwards as its owner does, and says that the entity is elsewhere.
static void lie(Net *net, int32_t node)
{
    (void)net;
    FlSession *session = session_of(node);
    if (node != scene.liar || star_at(node).index1 == 0) {
        return;
    }
    Detail *detail = inside_entity(session, star_at(node))->detail;
    if (detail->forwards > 0 && detail->packed_bytes > 0) {
        FlMotion *motion = &detail->show.updates[detail->show.update_count - 1].motion;
        FlMotion lies = *motion;
        FlMotion rounded;
        bool wide;
        lies.position.x += 7.0;
        assert_int_equal(fl_update_round(&session->world, &lies, &rounded, &wide), FL_OK);
        detail->packed_bytes = fl__entity_pack(session, inside_entity(session, star_at(node)),
                                               &rounded, detail->show.life, detail->packed);
    }
}

static uint32_t contradictions_at(int32_t at, int32_t of)
{
    FlPeerStatus status;
    FlPeerId peer = net_peer(&scene.net, at, of);
    assert_int_equal(fl_peer_status(session_of(at), peer, &status), FL_OK);
    return status.contradictions;
}

static void a_liar_is_found_out_by_the_owners_next_own_word(void **state)
{
    begin(net_topology(state), true, true, UPLOAD);
    play(400);
    int32_t receivers;
    int32_t liar = busiest(&receivers);
    assert_true(receivers >= 1);
    bool served[NODES] = {false};
    for (int32_t i = 0; i < NODES; i++) {
        served[i] = i != STAR && forwarder_of(i) == liar;
    }
    scene.liar = liar;
    scene.net.before_pump = lie;
    play(150); // the owner sends something itself once a second, and a moment more
    for (int32_t i = 0; i < NODES; i++) {
        if (served[i]) {
            assert_int_equal(contradictions_at(i, liar), 1);
            assert_true(forwarder_of(i) != liar);
        }
    }
    Figures later = measure(200); // it is not asked again
    print("after a liar", &later);
    for (int32_t i = 0; i < NODES; i++) {
        assert_true(i == STAR || contradictions_at(i, liar) <= 1);
    }
    assert_true(later.worst_error < 1.0);
    net_close(&scene.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TOPOLOGY(fifteen_are_served_as_well_as_five, "mesh"),
        NET_TOPOLOGY(fifteen_are_served_as_well_as_five, "hybrid"),
        NET_TOPOLOGY(a_forwarder_that_leaves_is_replaced_within_a_second, "mesh"),
        NET_TOPOLOGY(a_forwarder_that_leaves_is_replaced_within_a_second, "hybrid"),
        NET_TOPOLOGY(one_that_falls_silent_is_replaced_within_a_second, "mesh"),
        NET_TOPOLOGY(one_that_falls_silent_is_replaced_within_a_second, "hybrid"),
        NET_TOPOLOGY(a_liar_is_found_out_by_the_owners_next_own_word, "mesh"),
        NET_TOPOLOGY(a_liar_is_found_out_by_the_owners_next_own_word, "hybrid"),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
