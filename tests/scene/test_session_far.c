// A member that comes over a long way while others act: it gets in, and holds up nobody.
#include "agree/lags.h"
#include "entity/private.h"
#include "play/play.h"
#include "scene/session_net.h"

enum { HERE = 3, FAR = HERE, ALL = HERE + 1, TAKEN = 8192 };

typedef struct Scene {
    Net net;
    int32_t sent, blocked;
    int32_t count[ALL];
    uint32_t taken[ALL][TAKEN]; // numbers of actions, as they were played
} Scene;

static void take(Scene *scene, int32_t node)
{
    FlSession *session = scene->net.node[node].session;
    FlNotice notice;
    FlAction action;
    while (fl_notice_take(session, &notice) == FL_OK) {
    }
    while (fl_action_take(session, net_local(&scene->net, node), &action) == FL_OK) {
        assert_true(scene->count[node] < TAKEN);
        memcpy(&scene->taken[node][scene->count[node]++], action.bytes, sizeof(uint32_t));
    }
}

static void act(Scene *scene, int32_t node)
{
    uint32_t number = (uint32_t)scene->sent;
    FlResult result = fl_action_send(scene->net.node[node].session, net_local(&scene->net, node), 1,
                                     &number, sizeof number);
    scene->sent += result == FL_OK ? 1 : 0;
    scene->blocked += result != FL_OK ? 1 : 0;
}

/// Those who are near act ten times a second each, one after the other.
static void play(Scene *scene, int32_t frames)
{
    for (int32_t frame = 0; frame < frames; frame++) {
        for (int32_t node = 0; node < scene->net.count; node++) {
            take(scene, node);
            if (frame % 5 == node && node < HERE) {
                act(scene, node);
            }
        }
        net_frame(&scene->net);
    }
}

static void come(Net *net, FlTime way_ns)
{
    net_start(net, FAR);
    FlImpairSettings slow = net_fair();
    slow.delay_ns = way_ns;
    for (int32_t node = 0; node < HERE; node++) {
        net_way(net, node, FAR, &slow);
        net_way(net, FAR, node, &slow);
    }
}

/// What the far one plays is what the others play. Of its first second it may lack some: they were
/// done before its first round.
static void check_order(const Scene *scene)
{
    enum { FIRST = 30 };
    int32_t at = 0;
    assert_true(scene->count[FAR] > 100);
    while (at < scene->count[0] && scene->taken[0][at] != scene->taken[FAR][FIRST]) {
        at++;
    }
    assert_true(at < scene->count[0]);
    for (int32_t i = FIRST; i < scene->count[FAR] && at < scene->count[0]; i++, at++) {
        assert_int_equal(scene->taken[FAR][i], scene->taken[0][at]);
    }
}

static void run_far(FlTopology topology, FlTime way_ns)
{
    static Scene scene;
    memset(&scene, 0, sizeof scene);
    Net *net = &scene.net;
    net_open(net, 5, topology, false);
    net->def.action_capacity = 1024;
    for (int32_t node = 0; node < HERE; node++) {
        net_start(net, node);
    }
    net_gather(net);
    play(&scene, 150); // their first round is over
    scene.blocked = 0;
    come(net, way_ns);
    play(&scene, 500);
    assert_true(net_in(net, FAR));
    play(&scene, 250);
    assert_int_equal(scene.blocked, 0);
    for (int32_t node = 0; node < HERE; node++) {
        assert_int_equal(fl_session_count(net->node[node].session, FL_SESSION_ACTIONS_LATE), 0);
        assert_int_equal(fl_peer_count(net->node[node].session), HERE);
    }
    FlTime local = net_local(net, FAR);
    assert_true(fl__lags_status(fl__session_lags(net->node[FAR].session), local).plays);
    uint64_t late = fl_session_count(net->node[FAR].session, FL_SESSION_ACTIONS_LATE);
    assert_true(late <= (way_ns > FL_MS(400) ? 10 : 0)); // a window of unordered ones is full then
    if (late == 0) {
        check_order(&scene);
    }
    net_close(net);
}

static void a_newcomer_over_a_long_way_gets_in_while_others_act(void **state)
{
    (void)state;
    const int32_t ways_ms[] = {100, 300, 400, 700};
    for (int32_t k = 0; k < 4; k++) {
        run_far(FL_TOPOLOGY_STAR, FL_MS(ways_ms[k]));
        run_far(FL_TOPOLOGY_MESH, FL_MS(ways_ms[k]));
    }
}

/// Nothing gets to the newcomer while it comes in: the others go on as before.
static void a_newcomer_that_is_never_complete_holds_up_nobody(void **state)
{
    (void)state;
    static Scene scene;
    memset(&scene, 0, sizeof scene);
    Net *net = &scene.net;
    net_open(net, 6, FL_TOPOLOGY_STAR, false);
    net->def.action_capacity = 1024;
    for (int32_t node = 0; node < HERE; node++) {
        net_start(net, node);
    }
    net_gather(net);
    play(&scene, 150);
    net_start(net, FAR);
    while (fl_peer_count(net->node[0].session) < HERE) {
        net_frame(net);
    }
    net->node[FAR].asleep = true; // the host knows it, and it takes nothing any more
    scene.blocked = 0;
    play(&scene, 250);
    assert_int_equal(scene.blocked, 0);
    for (int32_t node = 0; node < HERE; node++) {
        assert_int_equal(fl_session_count(net->node[node].session, FL_SESSION_ACTIONS_LATE), 0);
    }
    net_close(net);
}

/// What a thing does within a frame says nothing of half a second. Its owner is near the host, and
/// hears from there how far others are.
static void an_owner_learns_for_receivers_far_behind_its_host(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 7, FL_TOPOLOGY_STAR, false);
    net_start_together(&net, 2);
    come(&net, FL_MS(500));
    net_gather(&net);
    FlSession *owner = net.node[1].session;
    FlEntityId id = fl_entity_create(owner, NULL);
    for (int32_t frame = 0; frame < 300; frame++) {
        FlState truth = {.time = net_local(&net, 1)};
        truth.velocity.x = frame % 50 < 25 ? 10.0 : -10.0;
        truth.position.x = (double)(frame % 50 < 25 ? frame % 50 : 50 - frame % 50) * 0.2;
        (void)fl_entity_set(owner, id, &truth);
        net_frame(&net);
    }
    const FlFader *fader = &fl__entity_find(owner, id)->detail->exporter.fader;
    assert_true(fader->age_ns[FL_FADER_AGES - 1] > FL_MS(500));
    assert_true(fader->age_ns[FL_FADER_AGES - 1] < FL_MS(600));
    assert_true(fader->age_ns[0] < FL_MS(60)); // the host may look at it, too
    net_close(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newcomer_over_a_long_way_gets_in_while_others_act),
        cmocka_unit_test(a_newcomer_that_is_never_complete_holds_up_nobody),
        cmocka_unit_test(an_owner_learns_for_receivers_far_behind_its_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
