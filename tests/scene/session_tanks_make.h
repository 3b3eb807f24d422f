// What a session's scene consists of, how it is opened and closed. See session_tanks.h.
#ifndef TESTS_SCENE_SESSION_TANKS_MAKE_H
#define TESTS_SCENE_SESSION_TANKS_MAKE_H

#include "session_inside.h"
#include "session_net.h"
#include "session_tanks_drives.h"

enum { SCENE_NODES = 5, SCENE_TANKS = 3, SCENE_FRAME_HZ = 60 };

// ---------------------------------------------------------------- state

/// What an owner told of a tank, once.
typedef struct SceneTold {
    FlMotion motion;
    uint32_t life;       // the truth's,
    uint32_t life_sent;  // and as it travels
    FlTime good_until;   // world time of the last frame before the next one: it held till then;
    FlTime good_session; // and session time, as the owner had it
} SceneTold;

typedef struct SceneTank {
    SceneDrive drive; // NULL: there is no such tank
    FlEntityDef def;
    FlEntityId id;
    uint32_t number;
    uint32_t life;
    SceneTold *told;
    int32_t told_count;
    int64_t told_capacity;
} SceneTank;

/// What a node has heard of a tank: told[newest1 - 1] of its owner's incarnation.
typedef struct SceneHeard {
    int32_t newest1;
    int32_t incarnation;
    FlMotion motion; // as it travelled
    FlTime before;   // the stamp of what was shown before it
} SceneHeard;

/// One update in one datagram.
typedef struct SceneCarried {
    int32_t owner, tank;
    int32_t incarnation; // the owner's
    int32_t told1;       // index of what was told, plus one
    FlMotion motion;     // as it travels
} SceneCarried;

typedef struct SceneNode {
    bool no_frames; // steps at deliveries and deadlines alone
    SceneTank tank[SCENE_TANKS];
    SceneHeard heard[SCENE_NODES][SCENE_TANKS];
    uint64_t begun[INSIDE_LINES]; // packets, before the datagram that is being sent
} SceneNode;

typedef struct SceneDatagram {
    int32_t from, to;
    int64_t carried_first; // in Scene.carried
    int32_t carried_count;
} SceneDatagram;

/// What the checks at the frames saw.
typedef struct SceneSeen {
    int64_t poses;       // looked at,
    int64_t newest;      // of which showed the owner's newest update,
    int64_t other_life;  // a life that was over (not compared with the truth),
    int64_t early;       // an update from the future, by the clocks' errors
    int64_t relayed;     // of a tank that the host passes on
    double worst_retold; // m: told from a later time, and off from what was told first
    double worst_newest; // m
    double worst;        // m
    double worst_share;  // of what is explained
    double sum;          // m, of all
    FlTime longest_wait; // an update told and not shown yet, ns
    int64_t clock_looks; // at clients' session times with a claim,
    int64_t clock_wrong; // that were off by more than claimed and half a stamp's step
    FlTime clock_worst;  // ns
} SceneSeen;

typedef struct Scene Scene;

struct Scene {
    Net net; // first: that is what its hooks get
    SceneNode node[SCENE_NODES];
    SceneDatagram *datagram;
    int64_t datagram_count, datagram_capacity;
    SceneCarried *carried;
    int64_t carried_count, carried_capacity;
    bool unexplained;                          // other time modes: look, but do not expect
    void (*visit)(Scene *scene, int32_t node); // before each time a node's datagrams are fetched
    void *ctx;
    uint64_t hash; // of all datagrams
    SceneSeen seen;
};

/// The layer's hooks of a Net: session_tanks.h.
static inline void scene_hook(Net *net);

// ---------------------------------------------------------------- making and ending

/// Starts the node's session; again, if it had one: a new game process at the same address.
static inline void scene_start(Scene *scene, int32_t i)
{
    SceneNode *node = &scene->node[i];
    NetNode *n = &scene->net.node[i];
    memset(node->heard, 0, sizeof node->heard);
    for (int32_t t = 0; t < SCENE_TANKS; t++) {
        node->tank[t].id.index1 = 0;
        node->tank[t].told_count = 0;
    }
    n->seed = scene->net.seed * 1000 + (uint64_t)(i + 100 * n->incarnation);
    assert_int_equal(net_begin(&scene->net, i, 0), FL_OK);
}

static inline void scene_start_all(Scene *scene)
{
    for (int32_t i = 0; i < scene->net.count; i++) {
        scene_start(scene, i);
    }
}

/// A host (node 0) and clients, none started; default sessions, a perfect network, clocks up to
/// days apart and drifting by up to 200 ppm. Sealed if the test's state says so: see SCENE_BOTH.
static inline void scene_open(Scene *scene, int32_t client_count, uint64_t seed, void **state)
{
    static const FlTime offsets[SCENE_NODES] = {FL_SEC(86400) * 3, 0, -FL_SEC(86400) * 20,
                                                FL_SEC(500), FL_SEC(86400) * 400};
    static const double drifts[SCENE_NODES] = {-40e-6, 160e-6, -200e-6, 0.0, 120e-6};
    memset(scene, 0, sizeof *scene);
    Net *net = &scene->net;
    net_open(net, seed, FL_TOPOLOGY_STAR, false);
    net->def = fl_session_def_default();
    net->def.tuning.show.convergence = FL_CONVERGENCE_AT_ONCE; // compared with the placed path
    net->weather = fl_impair_def_default().settings;
    net->count = client_count + 1;
    assert_true(net->count <= SCENE_NODES);
    if (*state != NULL) {
        FlRandom stream = {.seed = seed, .stream = 999};
        net_seal(net, &stream);
    }
    net->own_streams = true;
    scene_hook(net);
    scene->hash = UINT64_C(0xcbf29ce484222325);
    for (int32_t i = 0; i < net->count; i++) {
        NetNode *n = &net->node[i];
        n->offset = offsets[i];
        n->drift = drifts[i];
        n->address = net_address(i, NET_PORT);
        n->keys.seed = seed;
        n->keys.stream = 1000 + (uint64_t)i;
        for (int32_t t = 0; t < SCENE_TANKS; t++) {
            scene->node[i].tank[t].def = fl_entity_def_default();
        }
    }
}

static inline void scene_close(Scene *scene)
{
    assert_int_equal(scene->net.spins, 0); // a loop that waits for deadlines would spin
    for (int32_t i = 0; i < SCENE_NODES; i++) {
        for (int32_t t = 0; t < SCENE_TANKS; t++) {
            free(scene->node[i].tank[t].told);
        }
    }
    net_close(&scene->net);
    free(scene->datagram);
    free(scene->carried);
}

/// Both ways between a client and the host.
static inline void scene_network(Scene *scene, int32_t client, FlTime delay, FlTime jitter,
                                 int32_t loss_ppm)
{
    FlImpairSettings settings = fl_impair_def_default().settings;
    settings.delay_ns = delay;
    settings.jitter_ns = jitter;
    settings.shape = FL_SHAPE_UNIFORM;
    settings.loss_ppm = loss_ppm;
    net_ways(&scene->net, client, 0, &settings);
}

#endif
