// Where bytes are short: who waits for what, and for how long. By default what a viewer is most
// wrong about goes first; a priority for each viewer weighs it; whatever it is, none waits for
// longer than a second and what it takes to send everything once. A priority of 0 is out of scope.
#include "session_net.h"

enum { THINGS = 40, SECONDS = 20 };

typedef struct Scene {
    Net net;
    NetWalk walk[THINGS];
    FlTime newest[NET_NODES][THINGS]; // stamp of the newest update seen there,
    FlTime since[NET_NODES][THINGS];  // since when,
    FlTime longest[NET_NODES];        // the longest that one was,
    int64_t updates[NET_NODES][THINGS];
} Scene;

static void look(Scene *scene, int32_t node)
{
    Net *net = &scene->net;
    for (int32_t t = 0; t < THINGS; t++) {
        FlEntityStatus status;
        FlEntityId id = net_entity(net, node, scene->walk[t].number);
        if (node == scene->walk[t].owner ||
            fl_entity_status(net->node[node].session, id, &status) != FL_OK) {
            continue;
        }
        if (status.newest != scene->newest[node][t]) {
            scene->newest[node][t] = status.newest;
            scene->since[node][t] = net->now;
            scene->updates[node][t]++;
        }
        FlTime waits = net->now - scene->since[node][t];
        scene->longest[node] = waits > scene->longest[node] ? waits : scene->longest[node];
    }
}

static void run(Scene *scene, int32_t seconds)
{
    Net *net = &scene->net;
    for (int32_t f = 0; f < seconds * 1000 / NET_FRAME_MS; f++) {
        for (int32_t t = 0; t < THINGS; t++) {
            if ((f + t) % 7 == 0) {
                net_walk_turn(net, &scene->walk[t]);
            }
            assert_int_equal(net_walk_step(net, &scene->walk[t]), FL_OK);
        }
        net_frame(net);
        for (int32_t node = 0; node < net->count; node++) {
            look(scene, node);
        }
    }
}

static void forget(Scene *scene)
{
    memset(scene->updates, 0, sizeof scene->updates);
    memset(scene->longest, 0, sizeof scene->longest);
}

// Things of one node, each of which turns seven times a second: its upload carries a fraction.
static void open_scene(Scene *scene, FlTopology topology, int32_t owner, double upload)
{
    memset(scene, 0, sizeof *scene);
    net_open(&scene->net, 3, topology, false);
    scene->net.def.entity_capacity = 2 * THINGS;
    scene->net.def.member_entities = THINGS;
    scene->net.def.upload_bytes_s = upload;
    net_start_together(&scene->net, 3);
    for (int32_t t = 0; t < THINGS; t++) {
        FlResult begun = net_walk_begin(&scene->net, &scene->walk[t], owner, NULL);
        assert_int_equal(begun, FL_OK);
    }
    run(scene, 3);
    forget(scene);
}

static int64_t updates_of(const Scene *scene, int32_t node, int32_t first, int32_t end)
{
    int64_t sum = 0;
    for (int32_t t = first; t < end; t++) {
        sum += scene->updates[node][t];
    }
    return sum;
}

static FlResult prefer(Scene *scene, int32_t at, int32_t viewer, int32_t thing, double priority)
{
    return fl_entity_priority(scene->net.node[at].session,
                              net_entity(&scene->net, at, scene->walk[thing].number),
                              net_peer(&scene->net, at, viewer), priority);
}

static void a_priority_weighs_and_none_waits_beyond_the_bound(void **state)
{
    bool mesh = net_topology(state) == FL_TOPOLOGY_MESH;
    int32_t owner = mesh ? 1 : 0; // whoever distributes
    int32_t viewer = 2;
    static Scene scene;
    open_scene(&scene, net_topology(state), owner, 4500.0);
    run(&scene, SECONDS);
    int64_t even[2] = {updates_of(&scene, viewer, 0, 10), updates_of(&scene, viewer, 10, THINGS)};
    FlTime before = scene.longest[viewer];
    for (int32_t t = 0; t < THINGS; t++) {
        assert_int_equal(prefer(&scene, owner, viewer, t, t < 10 ? 1.0 : 0.02), FL_OK);
    }
    forget(&scene);
    run(&scene, SECONDS);
    int64_t odd[2] = {updates_of(&scene, viewer, 0, 10), updates_of(&scene, viewer, 10, THINGS)};
    print_message("             per thing and second: %.1f and %.1f, then %.1f and %.1f; the "
                  "longest wait %.2f s, then %.2f s\n",
                  (double)even[0] / 10 / SECONDS, (double)even[1] / 30 / SECONDS,
                  (double)odd[0] / 10 / SECONDS, (double)odd[1] / 30 / SECONDS,
                  fl_span_seconds(before), fl_span_seconds(scene.longest[viewer]));
    assert_true(3 * even[0] > even[1] * 8 / 10 && 3 * even[0] < even[1] * 12 / 10); // alike
    assert_true(3 * odd[0] > 2 * odd[1]); // twice as often
    // A second, and everything once: 40 updates of 25 bytes for each of two viewers, in half of
    // 4500 bytes a second (headers take the rest); and the way.
    assert_true(scene.longest[viewer] < FL_MS(1000 + 900 + 200));
    net_close(&scene.net);
}

static void out_of_scope_nothing_comes_until_it_is_back(void **state)
{
    bool mesh = net_topology(state) == FL_TOPOLOGY_MESH;
    int32_t owner = mesh ? 1 : 0;
    static Scene scene;
    open_scene(&scene, net_topology(state), owner, 0.0);
    FlSession *session = scene.net.node[owner].session;
    FlEntityId id = net_entity(&scene.net, owner, scene.walk[0].number);
    assert_int_equal(prefer(&scene, owner, 2, 0, 0.0), FL_OK);
    run(&scene, 1);
    forget(&scene);
    assert_int_equal(fl_entity_state_set(session, id, "new", 3), FL_OK);
    run(&scene, 2);
    assert_int_equal(scene.updates[2][0], 0);
    assert_true(scene.updates[2][1] > 5);
    const uint8_t *bytes;
    int32_t count;
    const FlSession *there = scene.net.node[2].session;
    FlEntityId other = net_entity(&scene.net, 2, scene.walk[0].number);
    assert_int_equal(fl_entity_state_get(there, other, &bytes, &count), FL_OK);
    assert_int_equal(count, 0);
    assert_int_equal(prefer(&scene, owner, 2, 0, 0.5), FL_OK);
    run(&scene, 1);
    assert_true(scene.updates[2][0] > 2);
    assert_int_equal(fl_entity_state_get(there, other, &bytes, &count), FL_OK);
    assert_int_equal(count, 3);
    assert_int_equal(prefer(&scene, owner, 2, 0, 1.5), FL_BAD_VALUE);
    assert_int_equal(prefer(&scene, owner, owner, 0, 0.5), FL_BAD_VALUE);
    assert_int_equal(prefer(&scene, 2, owner, 0, 0.5), FL_NOT_FOUND); // not ours to distribute
    net_close(&scene.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TOPOLOGY(a_priority_weighs_and_none_waits_beyond_the_bound, "star"),
        NET_TOPOLOGY(a_priority_weighs_and_none_waits_beyond_the_bound, "mesh"),
        NET_TOPOLOGY(out_of_scope_nothing_comes_until_it_is_back, "star"),
        NET_TOPOLOGY(out_of_scope_nothing_comes_until_it_is_back, "mesh"),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
