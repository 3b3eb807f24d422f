// Nodes, ways, actors, and the loop over them.
//
// One heap holds everything that has a time: thing 0 is the flight (datagrams under way), then come
// the nodes, then the actors. Ranks keep the order of phases at equal times.
//
// Invariant: a node's time in the heap is the world time of its session's deadline, as of the last
// time that anything was done to it.
#include "lab/world/world.h"

#include <stdlib.h>
#include <string.h>

#include "impair/impair.h"
#include "lab/world/heap.h"
#include "lab/world/ways.h"
#include "seal/seal.h"

/// An arbitrary moment at which all worlds begin; only tokens look at it.
#define WORLD_UNIX_S UINT64_C(1700000000)

/// A session that wants to be asked again at once is asked again after this; counted.
#define WORLD_HURRY_NS FL_US(50)

enum { RANK_FLIGHT, RANK_MOVER, RANK_NODE, RANK_LOOKER };

/// Streams of the seed, so that none disturbs another.
enum { STREAM_KEY = 1, STREAM_SESSION = 2, STREAM_NODE = 1000 };

typedef struct Node {
    FlSession *session;
    FlTime clock_offset;
    double clock_drift;
    FlRandom random; // keys; lives as long as the session
    WorldSent sent;
} Node;

typedef struct Actor {
    WorldActFn act_fn;
    void *ctx;
} Actor;

struct World {
    WorldDef def;
    FlTime now;
    Heap heap;
    FlFlight *flight;
    Node *nodes;
    int32_t node_count;
    Actor *actors;
    int32_t actor_count;
    Ways ways;
    uint8_t key[FL_SEAL_KEY_BYTES];
    FlRandom key_random;
    WorldStats stats;
};

// ---------------------------------------------------------------- making and ending

WorldDef world_def_default(void)
{
    WorldDef def = {1, 16, 16, 4096, true, 0};
    return def;
}

WorldNodeDef world_node_def_default(void)
{
    WorldNodeDef def = {.session = fl_session_def_default()};
    def.session.role = FL_ROLE_CLIENT;
    def.session.tuning.show.convergence = FL_CONVERGENCE_AT_ONCE; // measured as placed
    return def;
}

static FlResult reserve(World *world)
{
    size_t nodes = (size_t)world->def.node_capacity;
    FlFlightDef flight = fl__flight_def_default();
    flight.capacity = world->def.flight_capacity;
    flight.packet_bytes = FL_SESSION_DATAGRAM_BYTES;
    world->nodes = (Node *)calloc(nodes, sizeof *world->nodes);
    world->actors = (Actor *)calloc((size_t)world->def.actor_capacity, sizeof *world->actors);
    if (world->nodes == NULL || world->actors == NULL) {
        return FL_NO_MEMORY;
    }
    FlResult result = ways_init(&world->ways, world->def.node_capacity, world->def.seed);
    result = result == FL_OK ? fl__flight_create(&flight, &world->flight) : result;
    return result != FL_OK
               ? result
               : heap_init(&world->heap, 1 + world->def.node_capacity + world->def.actor_capacity);
}

FlResult world_create(const WorldDef *def, World **out)
{
    FL_ASSERT(def->node_capacity >= 1 && def->node_capacity <= 4096 && def->actor_capacity >= 1);
    FL_ASSERT(def->tick_ns >= 0 && def->tick_ns <= FL_SEC(1));
    *out = NULL;
    World *world = (World *)calloc(1, sizeof *world);
    if (world == NULL) {
        return FL_NO_MEMORY;
    }
    world->def = *def;
    FlResult result = reserve(world);
    if (result != FL_OK) {
        world_destroy(world);
        return result;
    }
    world->heap.rank[0] = RANK_FLIGHT;
    world->stats.hash = UINT64_C(0xcbf29ce484222325);
    world->key_random = (FlRandom){.seed = def->seed, .stream = STREAM_KEY};
    FlSealRandom random = fl__seal_random_seeded(&world->key_random);
    fl_seal_key(&random, world->key);
    *out = world;
    return FL_OK;
}

void world_destroy(World *world)
{
    if (world == NULL) {
        return;
    }
    for (int32_t i = 0; i < world->node_count; i++) {
        fl_session_close(world->nodes[i].session);
    }
    ways_free(&world->ways);
    fl__flight_destroy(world->flight);
    heap_free(&world->heap);
    free(world->nodes);
    free(world->actors);
    free(world);
}

FlTime world_now(const World *world)
{
    return world->now;
}

WorldStats world_stats(const World *world)
{
    return world->stats;
}

WorldSent world_node_sent(const World *world, int32_t node)
{
    return world->nodes[node].sent;
}

// ---------------------------------------------------------------- addresses and clocks

FlAddress world_address(int32_t node)
{
    FlAddress address = {.ip = {10, 0, (uint8_t)(node >> 8), (uint8_t)(node & 0xff)},
                         .port = 4000,
                         .family = FL_FAMILY_IPV4};
    return address;
}

/// The node of an address; -1: none.
static int32_t node_of(const World *world, FlAddress address)
{
    int32_t node = address.ip[2] << 8 | address.ip[3];
    bool known = node < world->node_count && fl_address_equal(address, world_address(node));
    return known ? node : -1;
}

FlSession *world_session(World *world, int32_t node)
{
    FL_ASSERT(node >= 0 && node < world->node_count);
    return world->nodes[node].session;
}

int32_t world_node_count(const World *world)
{
    return world->node_count;
}

FlTime world_local(const World *world, int32_t node, FlTime time)
{
    const Node *n = &world->nodes[node];
    return time + n->clock_offset + (FlTime)((double)time * n->clock_drift);
}

FlTime world_time_of(const World *world, int32_t node, FlTime local)
{
    const Node *n = &world->nodes[node];
    if (local == FL_FOREVER) {
        return FL_FOREVER;
    }
    FlTime since = fl_span(local, n->clock_offset);
    FlTime time = since - (FlTime)((double)since * (n->clock_drift / (1.0 + n->clock_drift)));
    while (world_local(world, node, time - 1) >= local) {
        time--;
    }
    while (world_local(world, node, time) < local) {
        time++;
    }
    return time;
}

bool world_all_in(World *world)
{
    for (int32_t i = 0; i < world->node_count; i++) {
        FlSession *session = world->nodes[i].session;
        if (fl_session_state(session) != FL_SESSION_RUNNING ||
            fl_session_time_error(session) == FL_FOREVER) {
            return false;
        }
    }
    return world->node_count > 0;
}

// ---------------------------------------------------------------- nodes and ways

static int32_t thing_of_node(int32_t node)
{
    return 1 + node;
}

/// A connect token for this client, good from now on.
static FlResult make_token(World *world, Node *node, const WorldNodeDef *def, uint64_t client,
                           uint8_t token[FL_SEAL_TOKEN_BYTES])
{
    FlWorld geometry;
    FlResult result = fl_world_init(&def->session.world, &geometry);
    if (result != FL_OK) {
        return result;
    }
    FlSealTokenDef token_def = {
        .protocol_id = geometry.protocol_id,
        .client_id = client,
        .create_s = def->session.unix_s,
        .expire_s = def->session.unix_s + 600,
        .timeout_s = 10,
        .address_count = 1,
        .address = {world_address(def->host)},
    };
    FlSealRandom random = fl__seal_random_seeded(&node->random);
    return fl_seal_token_make(&token_def, world->key, &random, token);
}

static FlResult start_session(World *world, int32_t index, WorldNodeDef def)
{
    Node *node = &world->nodes[index];
    FlTime now = world_local(world, index, world->now);
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    FlSealServerDef server = fl_seal_server_def_default();
    FlSessionDef *session = &def.session;
    session->seed = fl_random_at(world->def.seed, STREAM_SESSION, (uint64_t)index);
    session->unix_s = WORLD_UNIX_S + (uint64_t)(world->now / FL_SEC(1));
    session->random = fl__seal_random_seeded(&node->random);
    session->host = world_address(def.host);
    if (world->def.sealed && session->role == FL_ROLE_HOST) {
        memcpy(server.private_key, world->key, sizeof server.private_key);
        server.address[0] = world_address(index);
        server.address_count = 1;
        server.unix_s = session->unix_s;
        server.random = session->random;
        session->seal_server = &server;
    } else if (world->def.sealed) {
        FlResult result = make_token(world, node, &def, (uint64_t)index + 1, token);
        if (result != FL_OK) {
            return result;
        }
        session->token = token;
    }
    return fl_session_create(session, now, &node->session);
}

FlResult world_node_add(World *world, const WorldNodeDef *given, int32_t *index)
{
    *index = -1;
    if (world->node_count == world->def.node_capacity) {
        return FL_FULL;
    }
    int32_t i = world->node_count;
    Node *node = &world->nodes[i];
    *node =
        (Node){.clock_offset = given->clock_offset, .clock_drift = given->clock_drift_ppm * 1e-6};
    node->random = (FlRandom){.seed = world->def.seed, .stream = STREAM_NODE + (uint64_t)i};
    FlResult result = start_session(world, i, *given);
    if (result != FL_OK) {
        return result;
    }
    world->node_count++;
    world->heap.rank[thing_of_node(i)] = RANK_NODE;
    heap_set(&world->heap, thing_of_node(i), world->now);
    *index = i;
    return FL_OK;
}

FlResult world_way_set(World *world, int32_t from, int32_t to, const FlImpairSettings *settings,
                       uint32_t link)
{
    return ways_set(&world->ways, from, to, world->now, settings, link);
}

FlResult world_way_default(World *world, const FlImpairSettings *settings, FlTime side_ns)
{
    return ways_default(&world->ways, world->now, settings, side_ns);
}

FlTime world_way_length(const World *world, int32_t from, int32_t to)
{
    return ways_length(&world->ways, from, to);
}

FlResult world_ways_set(World *world, int32_t a, int32_t b, const FlImpairSettings *settings)
{
    FlResult result =
        world_way_set(world, a, b, settings, fl_impair_link((uint16_t)a, (uint16_t)b));
    return result != FL_OK
               ? result
               : world_way_set(world, b, a, settings, fl_impair_link((uint16_t)b, (uint16_t)a));
}

// Nodes' ticks are spread evenly, so that no two come at the same time.
FlTime world_tick(const World *world, int32_t node, FlTime time)
{
    FlTime tick = world->def.tick_ns;
    if (tick == 0 || time == FL_FOREVER) {
        return time;
    }
    FlTime phase = tick * node / world->def.node_capacity;
    FlTime past = (time - phase) % tick;
    return past > 0 ? time + tick - past : time - past;
}

/// When the node looks at what is due at `due`, on its own clock.
static FlTime look_at(const World *world, int32_t node, FlTime due)
{
    return world_tick(world, node, world_time_of(world, node, due));
}

void world_touch(World *world, int32_t node)
{
    FlTime now = world_local(world, node, world->now);
    FlTime due = fl_session_deadline(world->nodes[node].session, now);
    FlTime time = due <= now ? world_tick(world, node, world->now) : look_at(world, node, due);
    heap_set(&world->heap, thing_of_node(node), time);
}

// ---------------------------------------------------------------- datagrams

/// Eight bytes at a time: worlds of a thousand nodes send hundreds of megabytes.
static void hash_in(World *world, const void *bytes, size_t count)
{
    uint64_t hash = world->stats.hash ^ count;
    for (size_t i = 0; i < count; i += sizeof hash) {
        uint64_t word = 0;
        memcpy(&word, (const uint8_t *)bytes + i,
               count - i < sizeof word ? count - i : sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    world->stats.hash = hash;
}

/// From whom, to whom, and how long it has waited there until somebody looks: a second at most.
static uint64_t tag_of(int32_t from, int32_t to, FlTime waits)
{
    return (uint64_t)waits << 24 | (uint64_t)from << 12 | (uint64_t)to;
}

static void carry(World *world, int32_t from, const FlOutgoing *out)
{
    world->stats.datagrams++;
    world->stats.bytes += (uint64_t)out->count;
    world->nodes[from].sent.datagrams++;
    world->nodes[from].sent.bytes += (uint64_t)out->count;
    hash_in(world, &world->now, sizeof world->now);
    hash_in(world, out->bytes, (size_t)out->count);
    int32_t to = node_of(world, out->to);
    FlFate fate;
    if (to < 0 || !ways_send(&world->ways, from, to, world->now, out->count, &fate)) {
        world->stats.unroutable++;
        return;
    }
    world->stats.lost += fate.copy_count == 0 ? 1 : 0;
    for (int32_t i = 0; i < fate.copy_count; i++) {
        FlTime arrival = fate.deliver_at[i];
        FlTime at = world_tick(world, to, arrival);
        FlResult pushed = fl__flight_push(world->flight, at, tag_of(from, to, at - arrival),
                                          out->bytes, out->count);
        world->stats.crowded += pushed != FL_OK ? 1 : 0;
    }
}

/// Fetches what the node's session has to send.
static void pump(World *world, int32_t node)
{
    FlSession *session = world->nodes[node].session;
    FlTime now = world_local(world, node, world->now);
    FlOutgoing out;
    bool sent = false;
    while (fl_session_next(session, now, &out) == FL_OK) {
        carry(world, node, &out);
        sent = true;
    }
    world->stats.pumps++;
    FlTime due = fl_session_deadline(session, now);
    if (due <= now) {
        world->stats.hurried++;
        FlTime soon = world_tick(world, node, world->now + WORLD_HURRY_NS);
        heap_set(&world->heap, thing_of_node(node), soon);
    } else {
        heap_set(&world->heap, thing_of_node(node), look_at(world, node, due));
    }
    if (sent) {
        heap_set(&world->heap, 0, fl__flight_next(world->flight));
    }
}

/// What is due now, one by one: a delivery may make a session send to itself's neighbour at once.
static void deliver(World *world)
{
    FlFlightPacket packet;
    int32_t last = -1;
    while (fl__flight_take(world->flight, world->now, &packet, 1) == 1) {
        int32_t from = (int32_t)(packet.tag >> 12 & 0xfffu);
        int32_t to = (int32_t)(packet.tag & 0xfffu);
        FlTime waited = (FlTime)(packet.tag >> 24);
        uint8_t bytes[FL_SESSION_DATAGRAM_BYTES]; // a sealed datagram is opened in place
        memcpy(bytes, packet.data, (size_t)packet.bytes);
        FlTime arrival = world_local(world, to, world->now - waited);
        fl_session_receive(world->nodes[to].session, world_address(from), bytes, packet.bytes,
                           arrival);
        world->stats.delivered++;
        if (last >= 0 && last != to) {
            world_touch(world, last);
        }
        last = to;
    }
    if (last >= 0) {
        world_touch(world, last);
    }
    heap_set(&world->heap, 0, fl__flight_next(world->flight));
}

// ---------------------------------------------------------------- actors and the loop

FlResult world_actor_add(World *world, WorldPhase phase, FlTime first, WorldActFn act_fn, void *ctx)
{
    if (world->actor_count == world->def.actor_capacity) {
        return FL_FULL;
    }
    int32_t thing = 1 + world->def.node_capacity + world->actor_count;
    world->actors[world->actor_count++] = (Actor){act_fn, ctx};
    world->heap.rank[thing] = phase == WORLD_MOVER ? RANK_MOVER : RANK_LOOKER;
    heap_set(&world->heap, thing, first > world->now ? first : world->now);
    return FL_OK;
}

static void act(World *world, int32_t thing)
{
    const Actor *actor = &world->actors[thing - 1 - world->def.node_capacity];
    FlTime next = actor->act_fn(actor->ctx, world, world->now);
    FL_ASSERT(next > world->now);
    heap_set(&world->heap, thing, next);
}

void world_run(World *world, FlTime until)
{
    for (;;) {
        int32_t thing = heap_first(&world->heap);
        FlTime time = world->heap.time[thing];
        if (time > until) {
            break;
        }
        world->now = time > world->now ? time : world->now;
        if (thing == 0) {
            deliver(world);
        } else if (thing <= world->def.node_capacity) {
            pump(world, thing - 1);
        } else {
            act(world, thing);
        }
    }
    world->now = until > world->now ? until : world->now;
}
