// A host, its clients and the network between them, in virtual time. Shared by the session's
// scenes.
//
// The scene steps at nothing but frames, deliveries and the sessions' own deadlines. It knows where
// every tank really is, what its owner told of it and which datagram carried which update, be it
// the owner's or the host's that passes it on (from the senders' own notes of what packets carry:
// datagrams may be sealed); so at every frame it knows which update each node must be showing, and
// checks that
//
//   1. the pose is that update's motion, to the last bit, at the node's session time: what the
//      owner told, however many hands it went through, or the same told from a later time if it had
//      become too old to travel;
//   2. it is off from the truth by no more than explained: see scene_explained();
//   3. session time never goes back, and is wrong by no more than claimed.
//
// A scene is plain or sealed (scene_seal_as); a sealed one's keys come from seeded streams, so that
// it, too, is the same bytes every time. SCENE_BOTH(test) runs a test both ways.
#ifndef TESTS_SCENE_SESSION_WORLD_H
#define TESTS_SCENE_SESSION_WORLD_H

#include "fairlead/impair.h"
#include "fairlead/session.h"
#include "session/private.h"

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

/// Two tests: plain, and sealed; the state says which.
#define SCENE_BOTH(test)                                                                           \
    cmocka_unit_test(test),                                                                        \
    {                                                                                              \
        "sealed_" #test, test, NULL, NULL, (void *)"sealed"                                        \
    }

// ---------------------------------------------------------------- where tanks really are

/// Where a tank is at a time of the world, and in which life. `state.time` is the scene's business.
typedef struct SceneTruth {
    FlState state;
    uint32_t life;
} SceneTruth;

typedef SceneTruth (*SceneDrive)(FlTime time);

/// No tank of a scene is faster, m/s.
#define SCENE_TOP_SPEED 20.0

static inline SceneTruth drive_straight(FlTime time)
{
    double s = fl_span_seconds(time);
    SceneTruth truth = {.state.facing = fl_facing_yaw(0.0, 0.0)};
    truth.state.position = fl_vec3(-400.0 + 20.0 * s, 50.0, 0.0);
    truth.state.velocity = fl_vec3(20.0, 0.0, 0.0);
    return truth;
}

static inline SceneTruth drive_circle(FlTime time)
{
    double angle = 0.5 * fl_span_seconds(time);
    double sine;
    double cosine;
    fl_sincos(angle, &sine, &cosine);
    SceneTruth truth = {.state.turn_rate = 0.5, .state.facing = fl_facing_yaw(angle, 0.5)};
    truth.state.position = fl_vec3(40.0 * sine, -40.0 * cosine, 0.0);
    truth.state.velocity = fl_vec3(20.0 * cosine, 20.0 * sine, 0.0);
    truth.state.acceleration = fl_vec3(-10.0 * sine, 10.0 * cosine, 0.0);
    return truth;
}

/// A second each of speeding up to 10 m/s, driving, braking and standing: 20 m every four seconds.
static inline SceneTruth drive_stop_and_go(FlTime time)
{
    double round = (double)(time / FL_SEC(4));
    double s = fl_span_seconds(time % FL_SEC(4));
    double x = s < 1.0   ? 5.0 * s * s
               : s < 2.0 ? 5.0 + 10.0 * (s - 1.0)
               : s < 3.0 ? 15.0 + 10.0 * (s - 2.0) - 5.0 * (s - 2.0) * (s - 2.0)
                         : 20.0;
    double v = s < 1.0 ? 10.0 * s : s < 2.0 ? 10.0 : s < 3.0 ? 10.0 - 10.0 * (s - 2.0) : 0.0;
    double a = s < 1.0 ? 10.0 : s < 2.0 ? 0.0 : s < 3.0 ? -10.0 : 0.0;
    SceneTruth truth = {.state.facing = fl_facing_none()};
    truth.state.position = fl_vec3(-300.0 + 20.0 * round + x, -20.0, 0.0);
    truth.state.velocity = fl_vec3(v, 0.0, 0.0);
    truth.state.acceleration = fl_vec3(a, 0.0, 0.0);
    return truth;
}

/// Dies every 2.5 seconds, and starts again somewhere else.
static inline SceneTruth drive_respawn(FlTime time)
{
    int64_t life = time / FL_MS(2500);
    double s = fl_span_seconds(time % FL_MS(2500));
    SceneTruth truth = {.state.facing = fl_facing_yaw(1.0, 0.0), .life = (uint32_t)life};
    double from = (double)(life * 37 % 200) - 100.0;
    truth.state.position = fl_vec3(from, from + 15.0 * s, 3.0);
    truth.state.velocity = fl_vec3(0.0, 15.0, 0.0);
    return truth;
}

static inline SceneTruth drive_nowhere(FlTime time)
{
    (void)time;
    SceneTruth truth = {.state.facing = fl_facing_yaw(0.5, 0.0)};
    truth.state.position = fl_vec3(12.0, 34.0, 5.0);
    return truth;
}

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

// ---------------------------------------------------------------- tanks

/// The newest that was told is what the owner compares the truth with now.
static inline void scene_note_good(const Scene *scene, int32_t i, SceneTank *tank)
{
    SceneTold *told = &tank->told[tank->told_count - 1];
    told->good_until = scene->now;
    told->good_session = fl_session_time(scene->node[i].session, scene_clock(scene, i, scene->now));
}

/// Notes what the owner has told, if it is new.
static inline void scene_note_told(Scene *scene, int32_t i)
{
    SceneNode *node = &scene->node[i];
    for (int32_t t = 0; t < SCENE_TANKS; t++) {
        SceneTank *tank = &node->tank[t];
        const Entity *entity = fl__entity_find(node->session, tank->id);
        if (entity == NULL || !entity->exporter.started) {
            continue;
        }
        const FlMotion *now = &entity->exporter.exported;
        SceneTold *last = tank->told_count > 0 ? &tank->told[tank->told_count - 1] : NULL;
        if (last != NULL && last->life == tank->life &&
            memcmp(&last->motion, now, sizeof *now) == 0) {
            continue;
        }
        if (tank->told_count == tank->told_capacity) {
            tank->told_capacity = tank->told_capacity * 2 + 64;
            tank->told =
                (SceneTold *)realloc(tank->told, (size_t)tank->told_capacity * sizeof *tank->told);
            assert_non_null(tank->told);
        }
        SceneTold told = {*now, tank->life, entity->life, 0, 0};
        if (last != NULL) { // another life travels as another life
            last = &tank->told[tank->told_count - 1];
            assert_int_equal(last->life != told.life, last->life_sent % 4 != told.life_sent % 4);
        }
        tank->told[tank->told_count++] = told;
        scene_note_good(scene, i, tank);
    }
}

static inline void scene_drive_tank(Scene *scene, int32_t i, SceneTank *tank)
{
    SceneNode *node = &scene->node[i];
    SceneTruth truth = tank->drive(scene->now);
    if (tank->id.index1 == 0) {
        if (fl_entity_create(node->session, &tank->def, &tank->id) != FL_OK) {
            return; // not in yet
        }
        FlEntityStatus status;
        assert_int_equal(fl_entity_status(node->session, tank->id, &status), FL_OK);
        tank->number = status.number;
        tank->life = truth.life;
    }
    if (tank->life != truth.life) {
        assert_int_equal(fl_entity_cut(node->session, tank->id), FL_OK);
        tank->life = truth.life;
    }
    truth.state.time = scene_clock(scene, i, scene->now);
    FlResult result = fl_entity_set(node->session, tank->id, &truth.state);
    assert_true(result == FL_OK || result == FL_WOULD_BLOCK);
    scene_note_told(scene, i);
    if (tank->told_count > 0) {
        scene_note_good(scene, i, tank);
    }
}

static inline void scene_drive(Scene *scene, int32_t i)
{
    for (int32_t t = 0; t < SCENE_TANKS; t++) {
        if (scene->node[i].tank[t].drive != NULL) {
            scene_drive_tank(scene, i, &scene->node[i].tank[t]);
        }
    }
}

// ---------------------------------------------------------------- datagrams

static inline void scene_hash(Scene *scene, const void *bytes, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        scene->hash = (scene->hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    }
}

static inline int32_t scene_node_of(const Scene *scene, FlAddress address)
{
    for (int32_t i = 0; i < scene->node_count; i++) {
        if (fl_address_equal(address, scene_address(i))) {
            return i;
        }
    }
    return -1;
}

static inline bool scene_tank_of(const Scene *scene, uint32_t number, int32_t *owner, int32_t *t)
{
    for (*owner = 0; *owner < scene->node_count; (*owner)++) {
        for (*t = 0; *t < SCENE_TANKS; (*t)++) {
            const SceneTank *tank = &scene->node[*owner].tank[*t];
            if (tank->id.index1 != 0 && tank->number == number) {
                return true;
            }
        }
    }
    return false;
}

/// Which of what was told of a tank this is, plus one; 0: none of it.
static inline int32_t scene_told_of(const SceneTank *tank, const FlPiece *piece)
{
    int32_t i = tank->told_count;
    while (i > 0 && (tank->told[i - 1].motion.time != piece->motion.time ||
                     tank->told[i - 1].life_sent % 4 != piece->life % 4)) {
        i--;
    }
    return i;
}

/// A motion as it travels at a time of the session: what is older than 5 s is told from a later
/// time, and rounded again.
static inline FlMotion scene_as_it_travels(const FlSession *session, const FlMotion *motion,
                                           FlTime time)
{
    FlMotion travels = *motion;
    if (time - motion->time > FL_SEC(5)) {
        FlMotion later = fl_motion_rebase(motion, time - FL_SEC(5));
        bool wide;
        assert_int_equal(fl_update_round(&session->world, &later, &travels, &wide), FL_OK);
    }
    return travels;
}

static inline void scene_add_carried(Scene *scene, const SceneCarried *carried)
{
    if (scene->carried_count == scene->carried_capacity) {
        scene->carried_capacity = scene->carried_capacity * 2 + 256;
        scene->carried = (SceneCarried *)realloc(scene->carried, (size_t)scene->carried_capacity *
                                                                     sizeof *scene->carried);
        assert_non_null(scene->carried);
    }
    scene->carried[scene->carried_count++] = *carried;
}

/// Notes that the datagram carries this piece of that entity's path.
static inline void scene_note_carried(Scene *scene, int32_t from, const Entity *entity,
                                      const FlPiece *piece)
{
    const SceneNode *node = &scene->node[from];
    SceneCarried carried;
    if (!scene_tank_of(scene, entity->number, &carried.owner, &carried.tank)) {
        return; // a test's own
    }
    const SceneTank *tank = &scene->node[carried.owner].tank[carried.tank];
    const SceneHeard *heard = &node->heard[carried.owner][carried.tank];
    carried.incarnation = scene->node[carried.owner].incarnation;
    carried.told1 = scene_told_of(tank, piece);
    if (carried.owner != from) {
        // Passed on is what was heard. It may be of a process that has been started again since.
        if (heard->incarnation != carried.incarnation || heard->newest1 == 0) {
            return;
        }
        bool heard_so = heard->motion.time == piece->motion.time;
        carried.told1 = heard_so ? heard->newest1 : carried.told1;
    }
    assert_true(scene->unexplained || carried.told1 > 0);
    FlTime time = fl_session_time(node->session, scene_clock(scene, from, scene->now));
    carried.motion = scene_as_it_travels(node->session, &piece->motion, time);
    if (carried.told1 > 0) {
        scene_add_carried(scene, &carried);
    }
}

/// Packets that were begun so far, per line.
static inline void scene_begun(const FlSession *session, uint64_t begun[SCENE_LINES])
{
    assert_true(session->line_count <= SCENE_LINES);
    for (int32_t i = 0; i < session->line_count; i++) {
        begun[i] = session->lines[i].used ? session->lines[i].manifest.packet_next : 0;
    }
}

/// What the session has noted of the packet that it has just made for `to`. False: it made none.
static inline bool scene_note_packet(Scene *scene, int32_t from, int32_t to,
                                     const uint64_t *begun_before)
{
    const FlSession *session = scene->node[from].session;
    bool begun = false;
    for (int32_t i = 0; i < session->line_count; i++) {
        const Line *line = &session->lines[i];
        if (!line->used || !fl_address_equal(line->address, scene_address(to)) ||
            line->manifest.packet_next == begun_before[i]) {
            continue;
        }
        begun = true;
        const Manifest *m = &line->manifest;
        const Packet *packet =
            &m->packets[(m->packet_next - 1) & (uint64_t)(m->packet_capacity - 1)];
        for (uint32_t n = 0; n < packet->count; n++) {
            const Item *item = &m->items[(packet->first + n) & (uint32_t)(m->item_capacity - 1)];
            if (item->kind == ITEM_MOTION) {
                scene_note_carried(scene, from, &session->entities[item->index],
                                   fl_ledger_exported(session->ledger, item->index, item->value));
            }
        }
    }
    return begun;
}

static inline SceneDatagram *scene_new_datagram(Scene *scene)
{
    if (scene->datagram_count == scene->datagram_capacity) {
        scene->datagram_capacity = scene->datagram_capacity * 2 + 256;
        scene->datagram = (SceneDatagram *)realloc(
            scene->datagram, (size_t)scene->datagram_capacity * sizeof *scene->datagram);
        assert_non_null(scene->datagram);
    }
    SceneDatagram *datagram = &scene->datagram[scene->datagram_count++];
    memset(datagram, 0, sizeof *datagram);
    datagram->arrived = -1;
    return datagram;
}

/// The way of a datagram between two nodes. All go through the host's.
static inline FlImpair *scene_way_of(Scene *scene, int32_t from, int32_t to)
{
    assert_true(from == 0 || to == 0);
    return from == 0 ? scene->node[to].way[1] : scene->node[from].way[0];
}

/// Gives a datagram to the network.
static inline void scene_send(Scene *scene, int32_t from, const FlOutgoing *out,
                              const uint64_t *begun_before)
{
    SceneNode *node = &scene->node[from];
    int32_t to = scene_node_of(scene, out->to);
    assert_true(to >= 0 && out->count > 0 && out->count <= FL_SESSION_DATAGRAM_BYTES);
    scene_hash(scene, &from, sizeof from);
    scene_hash(scene, &to, sizeof to);
    scene_hash(scene, &out->count, sizeof out->count);
    scene_hash(scene, out->bytes, out->count);
    SceneDatagram *datagram = scene_new_datagram(scene);
    datagram->from = from;
    datagram->to = to;
    datagram->carried_first = scene->carried_count;
    bool begun = scene_note_packet(scene, from, to, begun_before);
    datagram->carried_count = (int32_t)(scene->carried_count - datagram->carried_first);
    if (scene->sealed && !begun && scene->datagram_count > 1) {
        // The seal may have put a packet of its own before the one that was made.
        const SceneDatagram *last = &scene->datagram[scene->datagram_count - 2];
        if (last->from == from && last->to == to) {
            datagram->carried_first = last->carried_first;
            datagram->carried_count = last->carried_count;
        }
    }
    FlFate fate = fl_impair_send(scene_way_of(scene, from, to), scene->now, out->count);
    bool lost = node->cut_out || scene->node[to].cut_in;
    for (int32_t c = 0; c < fate.copy_count && !lost; c++) {
        assert_int_equal(fl_flight_push(scene->flight, fate.deliver_at[c],
                                        (uint64_t)scene->datagram_count - 1, out->bytes,
                                        out->count),
                         FL_OK);
    }
}

static inline void scene_look_at_clock(Scene *scene, int32_t i)
{
    SceneNode *node = &scene->node[i];
    FlTime time = fl_session_time(node->session, scene_clock(scene, i, scene->now));
    assert_true(time >= node->time_last);
    node->time_last = time;
}

/// Lets a node's session say what it has to say now, and asks it for its next deadline.
static inline void scene_pump(Scene *scene, int32_t i)
{
    SceneNode *node = &scene->node[i];
    FlTime now = scene_clock(scene, i, scene->now);
    if (scene->visit != NULL) {
        scene->visit(scene, i);
    }
    FlOutgoing out;
    uint64_t begun[SCENE_LINES];
    scene_begun(node->session, begun);
    int32_t count = 0;
    while (fl_session_next(node->session, now, &out) == FL_OK) {
        scene_send(scene, i, &out, begun);
        scene_begun(node->session, begun);
        assert_true(++count < SCENE_PUMPS); // one that never has enough would spin
    }
    assert_null(out.bytes);
    scene_look_at_clock(scene, i);
    if (node->running_at < 0 && fl_session_state(node->session) == FL_SESSION_RUNNING) {
        node->running_at = scene->now;
    }
    FlTime deadline = fl_session_deadline(node->session, now);
    if (deadline == FL_FOREVER) {
        node->due = FL_FOREVER;
        return;
    }
    assert_true(deadline > now); // otherwise a loop that waits for it would spin
    double ahead = (double)(deadline - now) / (1.0 + node->clock_drift);
    node->due = scene->now + (FlTime)ahead + 1;
}

/// The newest is shown: a later stamp, be it the same motion told from then.
static inline void scene_hear(SceneNode *node, const SceneCarried *carried)
{
    SceneHeard *heard = &node->heard[carried->owner][carried->tank];
    if (heard->incarnation != carried->incarnation) {
        SceneHeard fresh = {.incarnation = carried->incarnation, .before = INT64_MIN};
        *heard = fresh;
    }
    bool later = carried->told1 > heard->newest1 ||
                 (carried->told1 == heard->newest1 && carried->motion.time > heard->motion.time);
    if (later) {
        heard->before = heard->newest1 > 0 ? heard->motion.time : INT64_MIN;
        heard->newest1 = carried->told1;
        heard->motion = carried->motion;
    }
}

/// A datagram arrives; notes what the node must be showing from now on.
static inline void scene_deliver(Scene *scene, const FlFlightPacket *packet)
{
    SceneDatagram *datagram = &scene->datagram[packet->tag];
    SceneNode *node = &scene->node[datagram->to];
    if (node->session == NULL) {
        return;
    }
    if (datagram->arrived < 0) {
        datagram->arrived = scene->now;
    }
    if (node->asleep) { // waits at the socket
        uint8_t copy[FL_SESSION_DATAGRAM_BYTES];
        memcpy(copy, packet->data, (size_t)packet->bytes);
        FlTime later = (scene->now / FL_MS(1) + 1) * FL_MS(1); // all at once, when it wakes
        assert_int_equal(fl_flight_push(scene->flight, later, packet->tag, copy, packet->bytes),
                         FL_OK);
        return;
    }
    uint64_t before = fl_session_count(node->session, FL_SESSION_UPDATES_TAKEN) +
                      fl_session_count(node->session, FL_SESSION_UPDATES_OVERTAKEN);
    fl_session_receive(node->session, scene_address(datagram->from), packet->data, packet->bytes,
                       scene_clock(scene, datagram->to, datagram->arrived));
    uint64_t after = fl_session_count(node->session, FL_SESSION_UPDATES_TAKEN) +
                     fl_session_count(node->session, FL_SESSION_UPDATES_OVERTAKEN);
    node->due = scene->now;
    bool read = after != before; // and not a duplicate, or from another conversation
    for (int32_t n = 0; n < datagram->carried_count && read; n++) {
        scene_hear(node, &scene->carried[datagram->carried_first + n]);
    }
}

// ---------------------------------------------------------------- what is explained

/// How far off a pose may be, in metres. Let M be the update that the receiver shows.
///
/// At the frames until the owner told something newer, M was within the trigger's distance of the
/// truth: the owner compares with what it told, so M's rounding is in that. Since the last of those
/// frames (`good_until`) truth and M may have gone apart by both their speeds: that is the frame
/// with the trigger, the way of what was told then, and its repetition if it got lost. And receiver
/// and owner disagree about what time it is, during which M moves on. If M was told again from a
/// later time, there is its second rounding (`retold`), which is measured.
static inline double scene_explained(const Scene *scene, const SceneTank *tank,
                                     const SceneTold *shown, FlTime receiver_time)
{
    const FlMotion *m = &shown->motion;
    FlTime since = scene->now - shown->good_until;
    FlTime owner_time = shown->good_session + since;
    double speed_then = fl_vec3_length(fl_motion_velocity(m, shown->good_session));
    double speed_now = fl_vec3_length(fl_motion_velocity(m, owner_time));
    double speed_here = fl_vec3_length(fl_motion_velocity(m, receiver_time));
    // The fastest is at an end: models change speed steadily, if at all.
    double apart = (fmax(speed_then, speed_now) + SCENE_TOP_SPEED) * fl_span_seconds(since);
    double clocks = fabs(fl_span_seconds(receiver_time - owner_time));
    return tank->def.trigger.distance + apart + fmax(speed_now, speed_here) * clocks;
}

static inline bool scene_same_pose(const FlPose *a, const FlPose *b)
{
    return memcmp(&a->position, &b->position, sizeof a->position) == 0 &&
           memcmp(&a->velocity, &b->velocity, sizeof a->velocity) == 0 &&
           memcmp(&a->yaw, &b->yaw, sizeof a->yaw) == 0;
}

/// Whether a node does not place its newest update yet, by its session time: that one is from the
/// future, by the clocks' errors, or has arrived at a time that was rounded up.
static inline bool scene_is_early(const SceneHeard *heard, const FlShow *show, FlTime time)
{
    const FlPiece *newest = fl_path_at(&show->placed, FL_FOREVER);
    bool rounded = newest != NULL && newest->from > time && newest->from - time < FL_MS(1);
    return rounded || time < heard->motion.time || time < heard->before;
}

static inline void scene_compare(Scene *scene, const SceneTank *tank, const SceneHeard *heard,
                                 const FlPose *pose, FlTime time)
{
    SceneSeen *seen = &scene->seen;
    const SceneTold *shown = &tank->told[heard->newest1 - 1];
    SceneTruth truth = tank->drive(scene->now);
    bool newest = heard->newest1 == tank->told_count;
    seen->poses++;
    seen->newest += newest ? 1 : 0;
    FlTime wait = newest ? 0 : scene->now - shown->good_until;
    seen->longest_wait = wait > seen->longest_wait ? wait : seen->longest_wait;
    if (shown->life != truth.life) {
        seen->other_life++;
        return;
    }
    double off = fl_vec3_distance(pose->position, truth.state.position);
    double retold = 0.0;
    if (heard->motion.time != shown->motion.time) {
        retold = fl_vec3_distance(fl_motion_position(&heard->motion, time),
                                  fl_motion_position(&shown->motion, time));
        seen->worst_retold = retold > seen->worst_retold ? retold : seen->worst_retold;
    }
    double explained = retold + scene_explained(scene, tank, shown, time);
    assert_true(scene->unexplained || off <= explained + 1e-9);
    seen->worst = off > seen->worst ? off : seen->worst;
    seen->worst_newest = newest && off > seen->worst_newest ? off : seen->worst_newest;
    seen->worst_share = off / explained > seen->worst_share ? off / explained : seen->worst_share;
    seen->sum += off;
}

static inline void scene_look_at_tank(Scene *scene, int32_t i, FlEntityId id, int32_t owner,
                                      int32_t t)
{
    SceneNode *node = &scene->node[i];
    const SceneTank *tank = &scene->node[owner].tank[t];
    const SceneHeard *heard = &node->heard[owner][t];
    const FlShow *show = &fl__entity_find(node->session, id)->show;
    FlTime now = scene_clock(scene, i, scene->now);
    FlTime time = fl_session_time(node->session, now);
    FlPose pose;
    FlResult result = fl_entity_pose(node->session, id, now, &pose);
    if (heard->newest1 == 0) { // announced, and nothing told of it yet
        assert_int_equal(result, FL_NOT_FOUND);
        return;
    }
    if (scene_is_early(heard, show, time)) {
        scene->seen.early++;
        return;
    }
    if (result != FL_OK) { // the node's own time has not started
        assert_int_equal(fl_session_time_error(node->session), FL_FOREVER);
        return;
    }
    FlPose expected = fl_motion_pose(&heard->motion, time);
    assert_true(scene->unexplained || scene_same_pose(&pose, &expected));
    assert_int_equal(show->life % 4, tank->told[heard->newest1 - 1].life_sent % 4);
    scene->seen.relayed += i != 0 && owner != 0 ? 1 : 0;
    scene_compare(scene, tank, heard, &pose, time);
}

static inline void scene_look_at_claim(Scene *scene, int32_t i)
{
    FlTime claim = fl_session_time_error(scene->node[i].session);
    if (i == 0 || claim == FL_FOREVER || scene->node[0].session == NULL || scene->node[0].asleep) {
        return;
    }
    FlTime here = fl_session_time(scene->node[i].session, scene_clock(scene, i, scene->now));
    FlTime there = fl_session_time(scene->node[0].session, scene_clock(scene, 0, scene->now));
    FlTime off = here > there ? here - there : there - here;
    scene->seen.clock_looks++;
    scene->seen.clock_wrong += off > claim + FL_LINK_STEP_NS / 2 ? 1 : 0;
    scene->seen.clock_worst = off > scene->seen.clock_worst ? off : scene->seen.clock_worst;
}

/// What node i sees of the others' tanks.
static inline void scene_look(Scene *scene, int32_t i)
{
    FlSession *session = scene->node[i].session;
    scene_look_at_clock(scene, i);
    scene_look_at_claim(scene, i);
    FlEntityId id = {0};
    while ((id = fl_entity_next(session, id)).index1 != 0) {
        FlEntityStatus status;
        int32_t owner;
        int32_t t;
        assert_int_equal(fl_entity_status(session, id, &status), FL_OK);
        bool known = scene_tank_of(scene, status.number, &owner, &t);
        if (known && owner != i &&
            scene->node[owner].incarnation == scene->node[i].heard[owner][t].incarnation) {
            assert_false(status.ours);
            scene_look_at_tank(scene, i, id, owner, t);
        }
    }
}

// ---------------------------------------------------------------- running

static inline FlTime scene_frame_time(int64_t frame)
{
    return frame * FL_SEC(1) / SCENE_FRAME_HZ;
}

static inline bool scene_is_awake(const Scene *scene, int32_t i)
{
    return scene->node[i].session != NULL && !scene->node[i].asleep;
}

static inline FlTime scene_next(const Scene *scene)
{
    FlTime next = scene_frame_time(scene->frame);
    FlTime delivery = fl_flight_next(scene->flight);
    next = delivery < next ? delivery : next;
    for (int32_t i = 0; i < scene->node_count; i++) {
        if (scene_is_awake(scene, i) && scene->node[i].due < next) {
            next = scene->node[i].due;
        }
    }
    return next > scene->now ? next : scene->now;
}

static inline void scene_step(Scene *scene)
{
    FlFlightPacket packet;
    while (fl_flight_take(scene->flight, scene->now, &packet, 1) == 1) {
        scene_deliver(scene, &packet);
    }
    bool frame = scene->now >= scene_frame_time(scene->frame);
    for (int32_t i = 0; i < scene->node_count && frame; i++) {
        if (scene_is_awake(scene, i) && !scene->node[i].no_frames) {
            scene_drive(scene, i);
            scene->node[i].due = scene->now;
        }
    }
    for (int32_t i = 0; i < scene->node_count; i++) {
        if (scene_is_awake(scene, i) && scene->node[i].due <= scene->now) {
            scene_pump(scene, i);
        }
    }
    for (int32_t i = 0; i < scene->node_count && frame; i++) {
        if (scene_is_awake(scene, i)) {
            scene_look(scene, i);
        }
    }
    scene->frame += frame ? 1 : 0;
}

/// Runs from event to event until `until`, or until `done` says so.
static inline void scene_run(Scene *scene, FlTime until, bool (*done)(const Scene *))
{
    while (scene->now < until && (done == NULL || !done(scene))) {
        FlTime next = scene_next(scene);
        scene->now = next < until ? next : until;
        scene_step(scene);
    }
}

static inline void scene_start_all(Scene *scene)
{
    for (int32_t i = 0; i < scene->node_count; i++) {
        assert_int_equal(scene_start(scene, i), FL_OK);
    }
}

static inline bool scene_all_in(const Scene *scene)
{
    for (int32_t i = 0; i < scene->node_count; i++) {
        if (scene->node[i].running_at < 0) {
            return false;
        }
    }
    return true;
}

static inline void scene_forget_seen(Scene *scene)
{
    memset(&scene->seen, 0, sizeof scene->seen);
}

static inline void scene_say_seen(const Scene *scene)
{
    const SceneSeen *s = &scene->seen;
    double n = s->poses > 0 ? (double)s->poses : 1.0;
    print_message(
        "             %lld poses (%lld relayed), %.1f %% of the newest update; off by %.3f m on "
        "average, %.3f m at worst (newest: %.3f m), at most %.0f %% of what is explained\n",
        (long long)s->poses, (long long)s->relayed, 100.0 * (double)s->newest / n, s->sum / n,
        s->worst, s->worst_newest, 100.0 * s->worst_share);
    print_message(
        "             an update waited %.1f ms at most; clocks off by %.3f ms at most, %lld "
        "of %lld times by more than claimed\n",
        1e3 * fl_span_seconds(s->longest_wait), 1e3 * fl_span_seconds(s->clock_worst),
        (long long)s->clock_wrong, (long long)s->clock_looks);
}

#endif
