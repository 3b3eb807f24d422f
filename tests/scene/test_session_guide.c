// Guidance through whole sessions: who looks gets snapshots, the others walk replicas; what is told
// of replicas arrives over bad networks; nothing that no sender writes has an effect; and no second
// has more bytes than the upload.
#include "session_inside.h"
#include "session_net.h"

enum { NODES = 6 };

// ---------------------------------------------------------------- helpers

typedef struct Replica {
    bool known;
    FlVec3 position;
    FlGuideView view;
    uint32_t cuts, blanks;
} Replica;

typedef struct Scene {
    Net net;
    NetWalk walk[NODES];
    Replica replica[NODES]; // of node 1's entity, at each
    uint32_t shots;
    bool hands_in; // node 1 hands in guidance
} Scene;

static Scene scene;
static FlTime guide_from_ns; // what sessions are made with

static void begin(uint64_t seed, FlTopology topology, bool sealed, double upload_bytes_s)
{
    memset(&scene, 0, sizeof scene);
    Net *net = &scene.net;
    net_open(net, seed, topology, sealed);
    net->def.upload_bytes_s = upload_bytes_s;
    net->def.tuning.link.ack_delay_ns = FL_MS(500);
    net->def.tuning.guide_from_ns = guide_from_ns;
    net_start_together(net, NODES);
    FlEntityDef def = fl_entity_def_default();
    def.send = fl_send_make(FL_SEND_FOCUS);
    def.trigger.distance = 0.02;
    def.trigger.silence_ns = FL_MS(50);
    def.guided = true;
    for (int32_t i = 0; i < NODES; i++) {
        FlResult result = FL_WOULD_BLOCK;
        for (int32_t f = 0; f < 500 && result == FL_WOULD_BLOCK; f++) {
            result = net_walk_begin(net, &scene.walk[i], i, &def);
            net_frame(net);
        }
        assert_int_equal(result, FL_OK);
    }
    scene.hands_in = true;
}

// Where it will be, straight on.
static FlGuidance guidance_of(const NetWalk *walk, FlTime ahead)
{
    double seconds = fl_span_seconds(ahead);
    FlGuidance guidance = {.ahead_ns = ahead, .yaw = 0.5, .actions = {(uint8_t)scene.shots, 0}};
    guidance.position = fl_vec3_add(walk->position, fl_vec3_scale(walk->velocity, seconds));
    return guidance;
}

static void owner_frame(int32_t node)
{
    NetWalk *walk = &scene.walk[node];
    FlSession *session = scene.net.node[node].session;
    (void)net_walk_step(&scene.net, walk);
    FlEntityId own = net_entity(&scene.net, node, walk->number);
    if (node == 1 && scene.hands_in) {
        FlTime ahead = fl_entity_guide_ahead(session, own);
        FlGuidance guidance = guidance_of(walk, ahead);
        assert_true(ahead >= FL_MS(50) && ahead <= FL_GUIDANCE_AHEAD_MAX_NS);
        assert_int_equal(fl_entity_guide(session, net_local(&scene.net, node), own, &guidance),
                         FL_OK);
    }
    net_drop_notices(session);
}

// A replica walks towards its goal at 20 m/s at most; a twentieth of a second is not seen.
static void replica_frame(int32_t node, double attention)
{
    Replica *r = &scene.replica[node];
    FlSession *session = scene.net.node[node].session;
    FlEntityId id = net_entity(&scene.net, node, scene.walk[1].number);
    FlReplica replica = {1.0, r->known, r->position};
    (void)!fl_entity_attention(session, id, attention);
    if (fl_entity_guide_view(session, net_local(&scene.net, node), id, &replica, &r->view) !=
        FL_OK) {
        return;
    }
    r->cuts += r->view.cut ? 1 : 0;
    r->blanks += r->view.replayed[0];
    bool near = r->view.mode == FL_GUIDE_NEAR;
    FlVec3 to = near ? r->view.pose.position : r->view.goal.position;
    double far = fl_vec3_distance(to, r->position);
    double step = 20.0 * NET_FRAME_MS / 1000.0;
    if (near || r->view.cut || !r->known || far <= step) {
        r->position = to;
    } else {
        FlVec3 way = fl_vec3_sub(to, r->position);
        r->position = fl_vec3_add(r->position, fl_vec3_scale(way, step / far));
    }
    r->known = true;
}

// Node 2 looks at node 1's entity, nobody else does.
static void play(int32_t frames, double attention)
{
    for (int32_t f = 0; f < frames; f++) {
        scene.shots += f % 10 == 0 ? 1 : 0;
        for (int32_t i = 0; i < NODES; i++) {
            owner_frame(i);
            if (i != 1) {
                replica_frame(i, i == 2 ? attention : 0.0);
            }
        }
        for (int32_t i = 0; i < NODES; i++) {
            net_pump(&scene.net, i);
        }
        net_run(&scene.net, scene.net.now + FL_MS(NET_FRAME_MS));
    }
}

static uint64_t count_at(int32_t node, FlSessionCount which)
{
    return fl_session_count(scene.net.node[node].session, which);
}

// ---------------------------------------------------------------- who is guided

static void who_looks_gets_snapshots_and_the_others_walk_replicas(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        begin(seed, FL_TOPOLOGY_MESH, seed == 2, 2600.0);
        play(900, 0.9);
        assert_int_equal(scene.replica[2].view.mode, FL_GUIDE_NEAR);
        uint64_t before = count_at(2, FL_SESSION_GUIDANCE_TAKEN);
        play(200, 0.9);
        // It has said that it is near: snapshots only.
        assert_int_equal(count_at(2, FL_SESSION_GUIDANCE_TAKEN), before);
        for (int32_t i = 3; i < NODES; i++) {
            assert_int_equal(scene.replica[i].view.mode, FL_GUIDE_FAR);
            assert_true(count_at(i, FL_SESSION_GUIDANCE_TAKEN) > 5);
            assert_true(scene.replica[i].blanks > 5);
            double off = fl_vec3_distance(scene.replica[i].position, scene.walk[1].position);
            assert_true(off < 40.0); // walkers turn; it goes where they go
        }
        assert_true(fl_vec3_distance(scene.replica[2].position, scene.walk[1].position) < 6.0);
        assert_int_equal(net_count(&scene.net, FL_SESSION_MALFORMED), 0);
        net_close(&scene.net);
    }
}

static void a_replica_that_enters_focus_becomes_the_thing_itself(void **state)
{
    (void)state;
    begin(3, FL_TOPOLOGY_MESH, false, 2600.0);
    play(600, 0.0);
    assert_int_equal(scene.replica[2].view.mode, FL_GUIDE_FAR);
    play(300, 0.9);
    assert_int_equal(scene.replica[2].view.mode, FL_GUIDE_NEAR);
    play(600, 0.0); // and leaves it again
    assert_int_equal(scene.replica[2].view.mode, FL_GUIDE_FAR);
    net_close(&scene.net);
}

static void what_arrives_is_what_was_rounded_and_storms_change_nothing(void **state)
{
    (void)state;
    begin(4, FL_TOPOLOGY_MESH, false, 2600.0);
    FlImpairSettings storm = net_storm(&scene.net.random, 20);
    net_weather(&scene.net, &storm);
    FlSession *owner = scene.net.node[1].session;
    FlEntityId own = net_entity(&scene.net, 1, scene.walk[1].number);
    FlGuidance sent[64];
    int32_t compared = 0;
    for (int32_t f = 0; f < 800; f++) {
        play(1, f % 300 < 150 ? 0.9 : 0.0);
        sent[f % 64] = inside_guidance(owner, own);
        FlEntityId id = net_entity(&scene.net, 4, scene.walk[1].number);
        for (int32_t k = 0; k < 64 && k <= f && id.index1 != 0; k++) {
            const FlGuide *guide = inside_guide(scene.net.node[4].session, id);
            if (guide->started && guide->received.time == sent[k].time) {
                assert_memory_equal(&guide->received.position, &sent[k].position,
                                    sizeof sent[k].position);
                assert_int_equal(guide->received.ahead_ns, sent[k].ahead_ns);
                compared++;
            }
        }
    }
    assert_true(compared > 100);
    play(400, 0.9);
    assert_int_equal(scene.replica[2].view.mode, FL_GUIDE_NEAR);
    assert_true(inside_is_near(owner, own, 2));
    assert_int_equal(net_count(&scene.net, FL_SESSION_MALFORMED), 0);
    net_close(&scene.net);
}

static void who_is_told_often_is_better_off_with_updates(void **state)
{
    (void)state;
    guide_from_ns = fl_session_def_default().tuning.guide_from_ns;
    begin(5, FL_TOPOLOGY_MESH, false, 6000.0);
    guide_from_ns = 0;
    play(300, 0.0);
    uint64_t guided = count_at(1, FL_SESSION_GUIDANCE_SENT);
    play(300, 0.0);
    assert_int_equal(count_at(1, FL_SESSION_GUIDANCE_SENT), guided);
    for (int32_t i = 3; i < NODES; i++) {
        assert_int_equal(scene.replica[i].view.mode, FL_GUIDE_NEAR);
    }
    net_close(&scene.net);
}

static void without_guidance_there_are_updates(void **state)
{
    (void)state;
    begin(5, FL_TOPOLOGY_MESH, false, 2600.0);
    play(400, 0.0);
    assert_int_equal(scene.replica[4].view.mode, FL_GUIDE_FAR);
    scene.hands_in = false; // the owner's bot code has stopped
    play(20, 0.0);
    uint64_t guided = count_at(4, FL_SESSION_GUIDANCE_TAKEN);
    uint64_t updates = count_at(4, FL_SESSION_UPDATES_TAKEN);
    play(300, 0.0);
    assert_int_equal(count_at(4, FL_SESSION_GUIDANCE_TAKEN), guided);
    assert_true(count_at(4, FL_SESSION_UPDATES_TAKEN) > updates);
    net_close(&scene.net);
}

// In a star the host relays it, and serves each as the owner would: who looks is near, the others
// walk replicas. The owner's guidance goes to the host beside its updates.
static void through_a_host_replicas_are_guided_as_well(void **state)
{
    (void)state;
    for (uint64_t seed = 6; seed <= 7; seed++) {
        begin(seed, FL_TOPOLOGY_STAR, seed == 7, 6000.0);
        play(900, 0.9);
        assert_int_equal(scene.replica[2].view.mode, FL_GUIDE_NEAR);
        assert_true(fl_vec3_distance(scene.replica[2].position, scene.walk[1].position) < 6.0);
        for (int32_t i = 3; i < NODES; i++) {
            assert_int_equal(scene.replica[i].view.mode, FL_GUIDE_FAR);
            assert_true(count_at(i, FL_SESSION_GUIDANCE_TAKEN) > 5);
            assert_true(scene.replica[i].blanks > 5);
            assert_true(fl_vec3_distance(scene.replica[i].position, scene.walk[1].position) < 40.0);
        }
        // The owner looks ahead as far as the host's receivers wait.
        FlSession *owner = scene.net.node[1].session;
        FlSession *host = scene.net.node[0].session;
        FlEntityId own = net_entity(&scene.net, 1, scene.walk[1].number);
        FlEntityId relayed = net_entity(&scene.net, 0, scene.walk[1].number);
        double ratio = fl_span_seconds(fl_entity_guide_ahead(owner, own)) /
                       fl_span_seconds(fl_entity_guide_ahead(host, relayed));
        assert_true(ratio > 0.7 && ratio < 1.4);
        assert_int_equal(net_count(&scene.net, FL_SESSION_MALFORMED), 0);
        net_close(&scene.net);
    }
}

// Nodes 1 and 2, and 1 and 4, do not reach each other: the host relays between them, by what they
// look at. It says to the owner that somebody looks, or the owner would hardly serve it.
static void in_a_hybrid_some_are_served_by_the_owner_and_some_by_the_host(void **state)
{
    (void)state;
    for (uint64_t seed = 8; seed <= 9; seed++) {
        begin(seed, FL_TOPOLOGY_HYBRID, seed == 9, 6000.0);
        net_cut(&scene.net, 1, 2, true);
        net_cut(&scene.net, 1, 4, true);
        play(900, 0.9);
        assert_int_equal(scene.replica[2].view.mode, FL_GUIDE_NEAR);
        assert_true(fl_vec3_distance(scene.replica[2].position, scene.walk[1].position) < 6.0);
        for (int32_t i = 3; i < NODES; i++) {
            uint64_t guided = count_at(i, FL_SESSION_GUIDANCE_TAKEN);
            play(150, 0.9);
            assert_int_equal(scene.replica[i].view.mode, FL_GUIDE_FAR);
            assert_true(count_at(i, FL_SESSION_GUIDANCE_TAKEN) > guided);
            assert_true(fl_vec3_distance(scene.replica[i].position, scene.walk[1].position) < 40.0);
        }
        FlSendClass served;
        double attention;
        FlPeerId host = net_peer(&scene.net, 1, 0);
        FlEntityId own = net_entity(&scene.net, 1, scene.walk[1].number);
        assert_int_equal(
            fl_entity_interest(scene.net.node[1].session, own, host, &attention, &served), FL_OK);
        assert_true(attention > 0.8 && served == FL_CLASS_FOCUS);
        assert_int_equal(net_count(&scene.net, FL_SESSION_MALFORMED), 0);
        net_close(&scene.net);
    }
}

static void a_new_life_is_a_cut_once(void **state)
{
    (void)state;
    begin(7, FL_TOPOLOGY_MESH, false, 2600.0);
    play(400, 0.0);
    uint32_t before = scene.replica[4].cuts;
    scene.walk[1].position = fl_vec3(-150.0, 150.0, 0.0);
    FlSession *owner = scene.net.node[1].session;
    assert_int_equal(fl_entity_cut(owner, net_entity(&scene.net, 1, scene.walk[1].number)), FL_OK);
    play(150, 0.0);
    assert_int_equal(scene.replica[4].cuts, before + 1);
    assert_true(fl_vec3_distance(scene.replica[4].position, scene.walk[1].position) < 60.0);
    net_close(&scene.net);
}

// ---------------------------------------------------------------- bad input

static void mistakes_of_the_caller_are_answered(void **state)
{
    (void)state;
    begin(8, FL_TOPOLOGY_MESH, false, 2600.0);
    play(50, 0.0);
    FlSession *session = scene.net.node[1].session;
    FlTime now = net_local(&scene.net, 1);
    FlEntityId own = net_entity(&scene.net, 1, scene.walk[1].number);
    FlEntityId other = net_entity(&scene.net, 1, scene.walk[2].number);
    FlEntityId none = {0};
    FlGuidance good = guidance_of(&scene.walk[1], FL_MS(500));
    FlGuidance wide = good;
    wide.position.x = 1e9;
    FlGuidance odd = good;
    odd.yaw = (double)NAN;
    assert_int_equal(fl_entity_guide(session, now, own, &good), FL_OK);
    assert_int_equal(fl_entity_guide(session, now, own, &wide), FL_BAD_VALUE);
    assert_int_equal(fl_entity_guide(session, now, own, &odd), FL_BAD_VALUE);
    assert_int_equal(fl_entity_guide(session, now, other, &good), FL_BAD_VALUE);
    assert_int_equal(fl_entity_guide(session, now, none, &good), FL_STALE_ID);
    assert_int_equal(fl_entity_guide_ahead(session, none), 0);
    FlReplica replica = {1.0, false, {0.0, 0.0, 0.0}};
    FlGuideView view;
    assert_int_equal(fl_entity_guide_view(session, now, own, &replica, &view), FL_BAD_VALUE);
    assert_int_equal(fl_entity_guide_view(session, now, none, &replica, &view), FL_STALE_ID);
    net_close(&scene.net);
}

// By node 3, from another.
static bool reads(int32_t from, const uint8_t *bytes, int32_t count, bool take)
{
    FlSession *session = scene.net.node[3].session;
    return inside_reads(session, &fl__feature_guidance, inside_line_of(session, from), bytes[-1],
                        bytes, count, net_time(&scene.net, 3), take);
}

static void no_truncation_and_no_nonsense_has_an_effect(void **state)
{
    (void)state;
    begin(9, FL_TOPOLOGY_MESH, false, 2600.0);
    play(300, 0.0);
    FlSession *owner = scene.net.node[1].session;
    FlSession *session = scene.net.node[3].session;
    uint8_t bytes[64];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    int32_t slot = (int32_t)net_entity(&scene.net, 1, scene.walk[1].number).index1 - 1;
    int32_t count = owner->entities->rider->bytes(owner, slot);
    owner->entities->rider->write(owner, inside_line_of(owner, 3), slot, &w, true);
    assert_int_equal(count, fl_writer_size(&w));
    assert_true(count <= 3 + 1 + 18);
    for (int32_t n = 1; n < count; n++) {
        assert_false(reads(1, bytes + 1, n - 1, false));
    }
    assert_true(reads(1, bytes + 1, count - 1, false));
    bytes[2] = 4; // beside
    assert_false(reads(1, bytes + 1, count - 1, false));
    bytes[2] = 0;
    bytes[1] = 0; // count
    assert_false(reads(1, bytes + 1, count - 1, false));
    bytes[1] = 1;
    uint64_t foreign = count_at(3, FL_SESSION_FOREIGN);
    assert_true(reads(4, bytes + 1, count - 1, true)); // not the owner
    assert_int_equal(count_at(3, FL_SESSION_FOREIGN), foreign + 1);
    uint8_t near[] = {10, 1, (uint8_t)scene.walk[3].number, (uint8_t)(scene.walk[3].number >> 8),
                      1};
    for (int32_t n = 1; n < 5; n++) {
        assert_false(reads(1, near + 1, n - 1, false));
    }
    assert_true(reads(1, near + 1, 4, true));
    FlEntityId own = net_entity(&scene.net, 3, scene.walk[3].number);
    assert_true(inside_is_near(session, own, 1));
    near[4] = 0;
    near[1] = 17;
    assert_false(reads(1, near + 1, 4, false));
    near[1] = 1;
    near[2] = (uint8_t)scene.walk[2].number; // somebody else's: nothing happens
    near[3] = (uint8_t)(scene.walk[2].number >> 8);
    assert_true(reads(1, near + 1, 4, true));
    assert_true(inside_is_near(session, own, 1));
    net_close(&scene.net);
}

// ---------------------------------------------------------------- the upload

enum { SENT = 1024 };

// What each node has sent in the last second of its own clock, to the nanosecond.
typedef struct Second {
    FlTime at[SENT];
    int64_t bytes[SENT];
    int32_t first, next;
    int64_t sum, peak;
} Second;

static Second seconds[NODES];

static void count_second(Net *net, const NetHead *head, const FlOutgoing *out)
{
    Second *s = &seconds[head->from];
    FlTime now = net_local(net, head->from);
    for (; s->first < s->next && s->at[s->first % SENT] <= now - FL_SEC(1); s->first++) {
        s->sum -= s->bytes[s->first % SENT];
    }
    assert_true(s->next - s->first < SENT);
    s->at[s->next % SENT] = now;
    s->bytes[s->next++ % SENT] = out->count + 28;
    s->sum += out->count + 28;
    s->peak = s->sum > s->peak ? s->sum : s->peak;
}

static void no_second_has_more_bytes_than_the_upload(void **state)
{
    (void)state;
    for (uint64_t seed = 11; seed <= 26; seed++) {
        double upload = 2600.0;
        begin(seed, FL_TOPOLOGY_MESH, seed % 2 == 0, upload);
        memset(seconds, 0, sizeof seconds);
        scene.net.on_send = count_second;
        for (int32_t f = 0; f < 300; f++) {
            for (int32_t i = 0; i < NODES; i++) {
                owner_frame(i);
                if (i != 1) {
                    replica_frame(i, f / 50 % 2 == 0 ? 0.7 : 0.0);
                }
            }
            net_frame(&scene.net);
        }
        int64_t peak = 0;
        for (int32_t i = 0; i < NODES; i++) {
            peak = seconds[i].peak > peak ? seconds[i].peak : peak;
        }
        assert_true(peak > 1000 && peak <= (int64_t)upload);
        assert_true(net_count(&scene.net, FL_SESSION_GUIDANCE_SENT) > 50);
        net_close(&scene.net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_looks_gets_snapshots_and_the_others_walk_replicas),
        cmocka_unit_test(a_replica_that_enters_focus_becomes_the_thing_itself),
        cmocka_unit_test(what_arrives_is_what_was_rounded_and_storms_change_nothing),
        cmocka_unit_test(who_is_told_often_is_better_off_with_updates),
        cmocka_unit_test(without_guidance_there_are_updates),
        cmocka_unit_test(through_a_host_replicas_are_guided_as_well),
        cmocka_unit_test(in_a_hybrid_some_are_served_by_the_owner_and_some_by_the_host),
        cmocka_unit_test(a_new_life_is_a_cut_once),
        cmocka_unit_test(mistakes_of_the_caller_are_answered),
        cmocka_unit_test(no_truncation_and_no_nonsense_has_an_effect),
        cmocka_unit_test(no_second_has_more_bytes_than_the_upload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
