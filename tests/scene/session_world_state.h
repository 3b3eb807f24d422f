// What a session's scene consists of, how it is opened and closed. See session_world.h.
#ifndef TESTS_SCENE_SESSION_WORLD_STATE_H
#define TESTS_SCENE_SESSION_WORLD_STATE_H

#include "core/private.h"
#include "fairlead/impair.h"
#include "fairlead/session.h"
#include "session_world_drives.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants some of the above first
#include <cmocka.h>

enum { SCENE_NODES = 5, SCENE_TANKS = 3, SCENE_FRAME_HZ = 60, SCENE_PUMPS = 400 };
enum { SCENE_LINES = 16 };

/// Unix time when a scene begins.
#define SCENE_UNIX_S 1700000000u

// ---------------------------------------------------------------- memory that counts

typedef struct SceneMemory {
    int64_t live_bytes;
    int32_t alloc_count;
    int32_t fail_at; // the n-th allocation fails, from 1; 0: none
    bool none_left;  // all fail
} SceneMemory;

static inline void *scene_alloc(void *ctx, size_t size, size_t align)
{
    SceneMemory *memory = (SceneMemory *)ctx;
    (void)align; // malloc aligns for everything
    if (++memory->alloc_count == memory->fail_at || memory->none_left) {
        return NULL;
    }
    memory->live_bytes += (int64_t)size;
    return malloc(size);
}

static inline void scene_free(void *ctx, void *ptr, size_t size)
{
    SceneMemory *memory = (SceneMemory *)ctx;
    memory->live_bytes -= (int64_t)size;
    free(ptr);
}

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
    int32_t told_count, told_capacity;
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
    FlSession *session; // NULL: not there
    FlSessionDef def;
    FlRandom stream; // of its keys
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    FlTime clock_offset;
    double clock_drift;
    bool no_frames;    // steps at deliveries and deadlines alone
    bool asleep;       // does nothing at all
    bool cut_in;       // nothing gets there
    bool cut_out;      // nothing gets away
    FlImpair *way[2];  // clients: to the host, from the host
    FlTime due;        // world time of the session's deadline
    FlTime time_last;  // session time when last looked at
    FlTime running_at; // world time when it was in, -1 before
    int32_t incarnation;
    SceneMemory memory;
    SceneTank tank[SCENE_TANKS];
    SceneHeard heard[SCENE_NODES][SCENE_TANKS];
} SceneNode;

typedef struct SceneDatagram {
    int32_t from, to;
    int64_t carried_first; // in Scene.carried
    int32_t carried_count;
    FlTime arrived; // world time, -1 while under way
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
    FlTime now;
    int64_t frame;
    int32_t node_count;
    SceneNode node[SCENE_NODES];
    FlFlight *flight;
    SceneDatagram *datagram;
    int64_t datagram_count, datagram_capacity;
    SceneCarried *carried;
    int64_t carried_count, carried_capacity;
    uint64_t seed;
    bool sealed;
    FlSealServerDef seal;
    bool unexplained;                          // other time modes: look, but do not expect
    void (*visit)(Scene *scene, int32_t node); // before each time a node's datagrams are fetched
    void *ctx;
    uint64_t hash; // of all datagrams
    SceneSeen seen;
};

// ---------------------------------------------------------------- making and ending

static inline FlAddress scene_address(int32_t node)
{
    FlAddress address = {
        .ip = {10, 0, 0, (uint8_t)(node + 1)}, .port = 4000, .family = FL_FAMILY_IPV4};
    return address;
}

static inline FlTime scene_clock(const Scene *scene, int32_t node, FlTime world)
{
    const SceneNode *n = &scene->node[node];
    return world + n->clock_offset + (FlTime)((double)world * n->clock_drift);
}

static inline uint64_t scene_unix(const Scene *scene)
{
    return SCENE_UNIX_S + (uint64_t)(scene->now / FL_SEC(1));
}

/// What a node needs to be let in, or to let in.
static inline void scene_admit(Scene *scene, int32_t i)
{
    SceneNode *node = &scene->node[i];
    if (!scene->sealed) {
        return;
    }
    node->def.unix_s = scene_unix(scene);
    node->def.random = fl_seal_random_seeded(&node->stream);
    if (i == 0) {
        node->def.seal_server = &scene->seal;
        return;
    }
    FlWorld world;
    assert_int_equal(fl_world_init(&node->def.world, &world), FL_OK);
    FlSealTokenDef token = {
        .protocol_id = world.protocol_id,
        .client_id = 100 + (uint64_t)i,
        .create_s = node->def.unix_s,
        .expire_s = node->def.unix_s + 60,
        .timeout_s = (int32_t)(node->def.link.timeout_ns / FL_SEC(1)),
        .address_count = 1,
        .address = {scene_address(0)},
    };
    assert_int_equal(
        fl_seal_token_make(&token, scene->seal.private_key, &node->def.random, node->token), FL_OK);
    node->def.token = node->token;
}

/// Starts the node's session; again, if it had one: a new game process at the same address.
static inline FlResult scene_start(Scene *scene, int32_t i)
{
    SceneNode *node = &scene->node[i];
    fl_session_destroy(node->session);
    assert_int_equal(node->memory.live_bytes, 0);
    node->def.seed = scene->seed * 1000 + (uint64_t)(i + 100 * node->incarnation);
    scene_admit(scene, i);
    node->incarnation++;
    node->due = scene->now;
    node->time_last = INT64_MIN;
    node->running_at = -1;
    memset(node->heard, 0, sizeof node->heard);
    for (int32_t t = 0; t < SCENE_TANKS; t++) {
        node->tank[t].id.index1 = 0;
        node->tank[t].told_count = 0;
    }
    return fl_session_create(&node->def, scene_clock(scene, i, scene->now), &node->session);
}

static inline FlImpair *scene_way(const Scene *scene, int32_t from, int32_t to)
{
    FlImpairDef def = fl_impair_def_default();
    FlImpair *way;
    def.seed = scene->seed;
    def.link = fl_impair_link((uint16_t)from, (uint16_t)to);
    assert_int_equal(fl_impair_create(&def, &way), FL_OK);
    return way;
}

/// A host (node 0) and clients, none started; default sessions, a perfect network, clocks up to
/// days apart and drifting by up to 200 ppm.
static inline void scene_open(Scene *scene, int32_t client_count, uint64_t seed)
{
    static const FlTime offsets[SCENE_NODES] = {FL_SEC(86400) * 3, 0, -FL_SEC(86400) * 20,
                                                FL_SEC(500), FL_SEC(86400) * 400};
    static const double drifts[SCENE_NODES] = {-40e-6, 160e-6, -200e-6, 0.0, 120e-6};
    memset(scene, 0, sizeof *scene);
    scene->node_count = client_count + 1;
    assert_true(scene->node_count <= SCENE_NODES);
    scene->seed = seed;
    scene->hash = UINT64_C(0xcbf29ce484222325);
    FlFlightDef flight = fl_flight_def_default();
    flight.capacity = 1024;
    flight.packet_bytes = FL_SESSION_DATAGRAM_BYTES;
    assert_int_equal(fl_flight_create(&flight, &scene->flight), FL_OK);
    for (int32_t i = 0; i < scene->node_count; i++) {
        SceneNode *node = &scene->node[i];
        node->def = fl_session_def_default();
        node->def.role = i == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
        node->def.host = scene_address(0);
        FlAlloc alloc = {scene_alloc, scene_free, &node->memory};
        node->def.alloc = alloc;
        node->clock_offset = offsets[i];
        node->clock_drift = drifts[i];
        node->stream.seed = seed;
        node->stream.stream = 1000 + (uint64_t)i;
        for (int32_t t = 0; t < SCENE_TANKS; t++) {
            node->tank[t].def = fl_entity_def_default();
        }
        if (i > 0) {
            node->way[0] = scene_way(scene, i, 0);
            node->way[1] = scene_way(scene, 0, i);
        }
    }
}

/// Seals the scene if the test's state says so.
static inline void scene_seal_as(Scene *scene, void **state)
{
    scene->sealed = *state != NULL;
    if (!scene->sealed) {
        return;
    }
    FlRandom stream = {.seed = scene->seed, .stream = 999};
    FlSealRandom random = fl_seal_random_seeded(&stream);
    scene->seal = fl_seal_server_def_default();
    fl_seal_key(&random, scene->seal.private_key);
    scene->seal.address[0] = scene_address(0);
    scene->seal.address_count = 1;
}

static inline void scene_close(Scene *scene)
{
    for (int32_t i = 0; i < scene->node_count; i++) {
        SceneNode *node = &scene->node[i];
        fl_session_destroy(node->session);
        assert_int_equal(node->memory.live_bytes, 0);
        fl_impair_destroy(node->way[0]);
        fl_impair_destroy(node->way[1]);
        for (int32_t t = 0; t < SCENE_TANKS; t++) {
            free(node->tank[t].told);
        }
    }
    fl_flight_destroy(scene->flight);
    free(scene->datagram);
    free(scene->carried);
}

/// Both ways between a client and the host.
static inline void scene_network(Scene *scene, int32_t client, FlTime delay, FlTime jitter,
                                 int32_t loss_ppm)
{
    FlImpairSettings settings = fl_impair_settings_default();
    settings.delay_ns = delay;
    settings.jitter_ns = jitter;
    settings.shape = FL_SHAPE_UNIFORM;
    settings.loss_ppm = loss_ppm;
    for (int32_t way = 0; way < 2; way++) {
        assert_int_equal(fl_impair_set(scene->node[client].way[way], scene->now, &settings), FL_OK);
    }
}

#endif
