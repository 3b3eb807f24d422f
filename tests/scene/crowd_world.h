// A crowd in virtual time: one host that introduces, and players that walk in circles. Shared by
// the crowd's scenes.
//
// Steps of 5 ms; frames every 50. Each pair has a delay of its own, made from its numbers. What a
// player looks at is the scene's to say.
#ifndef TESTS_SCENE_CROWD_WORLD_H
#define TESTS_SCENE_CROWD_WORLD_H

#include "fairlead/session.h"
#include "session_keys.h"

#include "crowd/engine.h"
#include "crowd/light.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CROWD_STEP FL_MS(5)
#define CROWD_FRAME FL_MS(50)
#define CROWD_DELAYS 64   // steps that a datagram takes at most
#define CROWD_WINDOW 200  // steps of a second
#define CROWD_MOVED 20000 // ports further on
#define CROWD_UNIX UINT64_C(1790000000)

typedef struct CrowdDatagram {
    struct CrowdDatagram *next;
    int32_t from, to, count;
    uint8_t bytes[FL_SESSION_DATAGRAM_BYTES];
} CrowdDatagram;

typedef struct CrowdNode {
    FlSession *session;
    bool deaf;     // nothing comes or goes
    bool silent;   // only the host hears it
    bool moved;    // its address is another one now
    int64_t bytes; // sent, 28 of headers each included,
    int64_t second[400];
    int32_t window[CROWD_WINDOW]; // by steps, of the last second
    int64_t in_window, worst;     // and the most that there was in any
    double kbps;                  // upload; 0: no limit
    FlRandom keys;
    FlEntityId avatar;
} CrowdNode;

typedef struct CrowdScene {
    CrowdNode *nodes;
    int32_t count; // the host included
    int32_t each;  // entities of every player; 1 unless the scene says so
    FlTime now;
    FlTime delay_low, delay_spread;
    double loss;
    FlRandom random;
    CrowdDatagram *flights[CROWD_DELAYS];
    CrowdDatagram *spare;
    int64_t step;
    int32_t (*target_fn)(int32_t player, int32_t i, int32_t count); // whom `player` looks at
    int32_t targets;
    FlSealServerDef server;
    uint8_t token[FL_SEAL_TOKEN_BYTES]; // of who starts
    bool sealed;
    bool frames_elsewhere; // the scene moves its players itself
    uint64_t digest;       // of all that was sent
} CrowdScene;

static inline FlAddress crowd_address(int32_t node)
{
    FlAddress address = {.family = FL_FAMILY_IPV4, .port = (uint16_t)(2000 + node)};
    address.ip[0] = 10;
    return address;
}

static inline FlState crowd_truth(int32_t player, FlTime time)
{
    double angle = 0.5 * fl_span_seconds(time) + player;
    FlState state = {.time = time};
    state.position = fl_vec3(20.0 * cos(angle) + player % 30 * 10, 20.0 * sin(angle), 0.0);
    state.velocity = fl_vec3(-10.0 * sin(angle), 10.0 * cos(angle), 0.0);
    return state;
}

/// Whom a player looks at, for `target_fn`: some here and there,
static inline int32_t crowd_look_near(int32_t player, int32_t i, int32_t count)
{
    return 1 + (player - 1 + (i + 1) * 7) % (count - 1);
}

/// or the first.
static inline int32_t crowd_look_at_first(int32_t player, int32_t i, int32_t count)
{
    (void)player;
    (void)i;
    (void)count;
    return 1;
}

static inline FlWorldDef crowd_world_def(void)
{
    FlWorldDef world = fl_world_def_default();
    world.low = fl_vec3(-500, -500, 0);
    world.high = fl_vec3(500, 500, 0);
    world.top_speed = 40.0;
    world.entity_capacity = 4096;
    return world;
}

/// From now on nobody gets in without a token.
static inline void crowd_seal(CrowdScene *scene)
{
    scene->sealed = true;
    scene->server = keys_server(&scene->random, crowd_address(0));
}

/// The token is good for one session, started at once.
static inline FlSessionDef crowd_session_def(CrowdScene *scene, int32_t i)
{
    FlSessionDef def = fl_session_def_default();
    def.role = i == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    def.topology = FL_TOPOLOGY_CROWD;
    def.host = crowd_address(0);
    def.world = crowd_world_def();
    def.world.entity_capacity = scene->count * scene->each; // one: with its player's number
    def.peer_capacity = scene->count - 1;
    def.entity_capacity = def.world.entity_capacity;
    def.tuning.item_capacity = 64;
    def.tuning.path_capacity = 8;
    def.join_timeout_ns = FL_SEC(30);
    def.seed = (uint64_t)i + 1;
    def.upload_bytes_s = i > 0 ? scene->nodes[i].kbps * 125.0 : 0.0;
    def.unix_s = CROWD_UNIX + (uint64_t)(scene->now / FL_SEC(1));
    scene->nodes[i].keys.seed = (uint64_t)i + 1000;
    def.random = fl__seal_random_seeded(&scene->nodes[i].keys);
    if (scene->sealed && i == 0) {
        def.seal_server = &scene->server;
    } else if (scene->sealed) {
        keys_token(&scene->server, &def, (uint64_t)i + 100, &scene->random, scene->token);
        def.token = scene->token;
    }
    return def;
}

static inline void crowd_open(CrowdScene *scene, int32_t players)
{
    memset(scene, 0, sizeof *scene);
    scene->count = players + 1;
    scene->each = 1;
    scene->nodes = (CrowdNode *)calloc((size_t)scene->count, sizeof *scene->nodes);
    scene->delay_low = FL_MS(10);
    scene->delay_spread = FL_MS(30);
    scene->random.seed = 7;
}

static inline void crowd_start(CrowdScene *scene, int32_t i, const FlSessionDef *def)
{
    assert_int_equal(fl_session_create(def, scene->now, &scene->nodes[i].session), FL_OK);
}

static inline void crowd_start_all(CrowdScene *scene)
{
    for (int32_t i = 0; i < scene->count; i++) {
        FlSessionDef def = crowd_session_def(scene, i);
        crowd_start(scene, i, &def);
    }
}

static inline void crowd_close(CrowdScene *scene)
{
    for (int32_t i = 0; i < scene->count; i++) {
        fl_session_close(scene->nodes[i].session);
    }
    for (int32_t i = 0; i < CROWD_DELAYS; i++) {
        while (scene->flights[i] != NULL) {
            CrowdDatagram *d = scene->flights[i];
            scene->flights[i] = d->next;
            free(d);
        }
    }
    while (scene->spare != NULL) {
        CrowdDatagram *d = scene->spare;
        scene->spare = d->next;
        free(d);
    }
    free(scene->nodes);
}

static inline FlTime crowd_delay(const CrowdScene *scene, int32_t a, int32_t b)
{
    uint64_t low = (uint64_t)(a < b ? a : b);
    uint64_t high = (uint64_t)(a < b ? b : a);
    uint64_t luck = fl_random_at(11, low, high);
    return scene->delay_low + (FlTime)(luck % (uint64_t)(scene->delay_spread + 1));
}

static inline void crowd_count(CrowdScene *scene, CrowdNode *node, const FlOutgoing *out)
{
    int32_t bytes = out->count + 28;
    node->bytes += bytes;
    node->window[scene->step % CROWD_WINDOW] += bytes;
    node->in_window += bytes;
    node->worst = node->in_window > node->worst ? node->in_window : node->worst;
    uint64_t digest = scene->digest ^ (uint64_t)out->to.port << 16 ^ (uint64_t)scene->now;
    for (int32_t i = 0; i < out->count; i++) {
        digest = (digest ^ out->bytes[i]) * UINT64_C(0x100000001b3);
    }
    scene->digest = digest;
}

static inline void crowd_send(CrowdScene *scene, int32_t from, const FlOutgoing *out)
{
    CrowdNode *node = &scene->nodes[from];
    int32_t to = (out->to.port - 2000) % CROWD_MOVED;
    bool moved = out->to.port - 2000 >= CROWD_MOVED;
    crowd_count(scene, node, out);
    int64_t second = scene->now / FL_SEC(1);
    if (second < 400) {
        node->second[second] += out->count + 28;
    }
    bool cut = node->deaf || scene->nodes[to].deaf || (node->silent && to != 0) ||
               moved != scene->nodes[to].moved;
    if (cut || fl_random_between(&scene->random, 0.0, 1.0) < scene->loss) {
        return;
    }
    CrowdDatagram *d = scene->spare;
    if (d != NULL) {
        scene->spare = d->next;
    } else {
        d = (CrowdDatagram *)malloc(sizeof *d);
    }
    d->from = from;
    d->to = to;
    d->count = out->count;
    memcpy(d->bytes, out->bytes, (size_t)out->count);
    int64_t at = (scene->step + crowd_delay(scene, from, to) / CROWD_STEP) % CROWD_DELAYS;
    d->next = scene->flights[at];
    scene->flights[at] = d;
}

/// The number of a node's player: they are given in the order of arrival. 0: not in yet.
static inline int32_t crowd_number(const CrowdScene *scene, int32_t node)
{
    const FlSession *session = scene->nodes[node].session;
    FlPeerStatus status;
    bool in = fl_peer_status(session, fl_peer_self(session), &status) == FL_OK;
    return in ? status.number : 0;
}

static inline void crowd_frame(CrowdScene *scene, int32_t i)
{
    FlSession *session = scene->nodes[i].session;
    FlEntityId *avatar = &scene->nodes[i].avatar;
    int32_t self = crowd_number(scene, i);
    if (fl__light_crowd(session) == NULL || fl_session_state(session) != FL_SESSION_RUNNING) {
        return;
    }
    if (!fl_entity_is_ours(session, *avatar)) {
        FlEntityDef def = fl_entity_def_default();
        def.model = FL_MODEL_LINEAR;
        *avatar = fl_entity_create(session, &def);
    }
    FlState state = crowd_truth(self, scene->now);
    assert_int_equal(fl_entity_set(session, *avatar, &state), FL_OK);
    for (int32_t k = 0; k < scene->targets; k++) {
        int32_t target = scene->target_fn(self, k, scene->count);
        FlEntityId of = fl_entity_of_number(session, (uint32_t)target);
        if (target != self && of.index1 != 0) {
            assert_int_equal(fl_entity_attention(session, of, 1.0 - 0.01 * k), FL_OK);
        }
    }
}

static inline void crowd_step(CrowdScene *scene)
{
    int64_t at = scene->step % CROWD_DELAYS;
    CrowdDatagram *d = scene->flights[at];
    scene->flights[at] = NULL;
    while (d != NULL) {
        CrowdDatagram *next = d->next;
        FlAddress from = crowd_address(d->from);
        from.port = (uint16_t)(from.port + (scene->nodes[d->from].moved ? CROWD_MOVED : 0));
        if (scene->nodes[d->to].session != NULL) {
            fl_session_receive(scene->nodes[d->to].session, from, d->bytes, d->count, scene->now);
        }
        d->next = scene->spare;
        scene->spare = d;
        d = next;
    }
    for (int32_t i = 0; i < scene->count; i++) {
        FlSession *session = scene->nodes[i].session;
        int32_t *oldest = &scene->nodes[i].window[scene->step % CROWD_WINDOW];
        scene->nodes[i].in_window -= *oldest;
        *oldest = 0;
        if (session == NULL) {
            continue;
        }
        if (scene->now % CROWD_FRAME == 0 && i > 0 && !scene->frames_elsewhere) {
            crowd_frame(scene, i);
        }
        FlOutgoing out;
        while (fl_session_next(session, scene->now, &out) == FL_OK) {
            crowd_send(scene, i, &out);
        }
    }
    scene->now += CROWD_STEP;
    scene->step++;
}

static inline void crowd_run(CrowdScene *scene, FlTime span)
{
    FlTime until = scene->now + span;
    while (scene->now < until) {
        crowd_step(scene);
    }
}

#endif
