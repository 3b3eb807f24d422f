// A small network of whole sessions in virtual time, for property tests.
//
// Every node is a real session with a clock of its own (days off, drifting), every direction
// between two nodes an FlImpair of its own, and packets wait in one FlFlight. Nodes step at
// deliveries, deadlines and frames, nowhere else. A node's number here is where it is found (its
// address); its number in the session is the host's business. Node 0 opens the session.
//
// Layout: `way[from][to]` is NULL where nothing gets through (net_cut). A node whose session is
// NULL is not there; what is on the way to it is lost.
#ifndef FAIRLEAD_TESTS_SESSION_NET_H
#define FAIRLEAD_TESTS_SESSION_NET_H

#include "fairlead/fairlead.h"

// cmocka wants these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef NET_NODES // a scene may want more
#define NET_NODES 8
#endif

enum {
    NET_FRAME_MS = 20,
    NET_UNIX = 1700000000,
};

/// Counts what a session takes, and fails when told to.
typedef struct NetMemory {
    int64_t live_bytes;
    int32_t calls;
    int32_t fail_at; ///< The n-th call answers NULL; 0: none does.
} NetMemory;

typedef struct NetNode {
    FlSession *session; ///< NULL: not there.
    FlTime offset;      ///< Of its clock, days.
    int64_t drift_ppm;
    FlAddress address;
    FlRandom keys;
    NetMemory memory;
    bool asleep; ///< It gets nothing and does nothing, but is there.
    bool frozen; ///< The same, but what comes waits for it, as at the socket of a stopped process.
} NetNode;

typedef struct Net {
    FlTime now; ///< True time.
    int32_t count;
    NetNode node[NET_NODES];
    FlImpair *way[NET_NODES][NET_NODES];
    FlImpairSettings weather; ///< Of ways made from now on.
    FlFlight *flight;
    FlRandom random;
    uint64_t seed;
    bool sealed;
    FlSealServerDef seal;
    FlSessionDef def; ///< What nodes are made from; role, address and such are set for each.
    int64_t datagrams;
    int64_t wakes;                       ///< Times a deadline of somebody's had come.
    int64_t bytes[NET_NODES];            ///< Sent by each, IPv4's and UDP's headers counted.
    int64_t sent[NET_NODES][NET_NODES];  ///< Datagrams from one to another, arrived or not.
    uint16_t door[NET_NODES][NET_NODES]; ///< A symmetric NAT's: `from` is seen by `to` at this
                                         ///< port, and at no other; 0: at its own.
} Net;

// ---------------------------------------------------------------- memory

static inline void *net_alloc(void *ctx, size_t size, size_t align)
{
    NetMemory *memory = (NetMemory *)ctx;
    (void)align;
    if (++memory->calls == memory->fail_at) {
        return NULL;
    }
    memory->live_bytes += (int64_t)size;
    return malloc(size);
}

static inline void net_free(void *ctx, void *ptr, size_t size)
{
    NetMemory *memory = (NetMemory *)ctx;
    memory->live_bytes -= ptr != NULL ? (int64_t)size : 0;
    free(ptr);
}

// ---------------------------------------------------------------- clocks

static inline FlTime net_local_at(const Net *net, int32_t node, FlTime now)
{
    const NetNode *n = &net->node[node];
    return n->offset + now + now / 1000 * n->drift_ppm / 1000; // never back: a step is 1 ns
}

static inline FlTime net_local(const Net *net, int32_t node)
{
    return net_local_at(net, node, net->now);
}

// True time at which a node's clock shows at least `local`.
static inline FlTime net_true(const Net *net, int32_t node, FlTime local)
{
    const NetNode *n = &net->node[node];
    if (local == FL_FOREVER) {
        return FL_FOREVER;
    }
    FlTime span = local - n->offset;
    FlTime now = span - span / (1000000 + n->drift_ppm) * n->drift_ppm;
    while (net_local_at(net, node, now) < local) {
        now += 100; // the division cut something off
    }
    return now;
}

/// Session time at a node.
static inline FlTime net_time(const Net *net, int32_t node)
{
    return fl_session_time(net->node[node].session, net_local(net, node));
}

// ---------------------------------------------------------------- making and ending

static inline FlAddress net_address(int32_t node, uint16_t port)
{
    FlAddress address = {
        .ip = {10, 0, 0, (uint8_t)(node + 1)}, .port = port, .family = FL_FAMILY_IPV4};
    return address;
}

/// Nothing is lost or late: 30 ms each way.
static inline FlImpairSettings net_fair(void)
{
    FlImpairSettings settings = fl_impair_settings_default();
    settings.delay_ns = FL_MS(30);
    return settings;
}

/// Random and bad: loss up to `loss_percent`, reordering by jitter, duplicates.
static inline FlImpairSettings net_storm(FlRandom *random, int32_t loss_percent)
{
    FlImpairSettings settings = fl_impair_settings_default();
    settings.delay_ns = FL_MS(20) + (FlTime)fl_random_below(random, (uint64_t)FL_MS(80));
    settings.jitter_ns = (FlTime)fl_random_below(random, (uint64_t)FL_MS(25));
    settings.shape = FL_SHAPE_UNIFORM;
    settings.loss_ppm = (int32_t)fl_random_below(random, (uint64_t)loss_percent * 10000 + 1);
    settings.duplicate_ppm = (int32_t)fl_random_below(random, 100000);
    return settings;
}

static inline void net_way(Net *net, int32_t from, int32_t to, const FlImpairSettings *settings)
{
    FlImpairDef def = fl_impair_def_default();
    def.settings = *settings;
    def.seed = net->seed;
    def.link = fl_impair_link((uint16_t)from, (uint16_t)to);
    fl_impair_destroy(net->way[from][to]);
    assert_int_equal(fl_impair_create(&def, &net->way[from][to]), FL_OK);
}

/// Other weather for everybody from now on.
static inline void net_weather(Net *net, const FlImpairSettings *settings)
{
    net->weather = *settings;
    for (int32_t from = 0; from < NET_NODES; from++) {
        for (int32_t to = 0; to < NET_NODES; to++) {
            if (net->way[from][to] != NULL) {
                assert_int_equal(fl_impair_set(net->way[from][to], net->now, settings), FL_OK);
            }
        }
    }
}

/// Nothing gets through between these two any more, both ways; or everything again.
static inline void net_cut(Net *net, int32_t a, int32_t b, bool cut)
{
    fl_impair_destroy(net->way[a][b]);
    fl_impair_destroy(net->way[b][a]);
    net->way[a][b] = NULL;
    net->way[b][a] = NULL;
    if (!cut) {
        net_way(net, a, b, &net->weather);
        net_way(net, b, a, &net->weather);
    }
}

static inline void net_open(Net *net, uint64_t seed, FlTopology topology, bool sealed)
{
    memset(net, 0, sizeof *net);
    net->seed = seed;
    net->random.seed = seed;
    net->random.stream = 77;
    net->sealed = sealed;
    net->weather = net_fair();
    net->def = fl_session_def_default();
    net->def.topology = topology;
    net->def.peer_capacity = NET_NODES;
    net->def.line_capacity = NET_NODES;
    net->def.join_timeout_ns = FL_SEC(30);
    net->def.unix_s = NET_UNIX;
    FlFlightDef flight = fl_flight_def_default();
    assert_int_equal(fl_flight_create(&flight, &net->flight), FL_OK);
    if (sealed) {
        FlSealRandom random = fl_seal_random_seeded(&net->random);
        net->seal = fl_seal_server_def_default();
        fl_seal_key(&random, net->seal.private_key);
        net->seal.address[0] = net_address(0, 4000);
        net->seal.address_count = 1;
    }
}

static inline void net_token(Net *net, int32_t node, uint8_t token[FL_SEAL_TOKEN_BYTES])
{
    FlWorld world;
    assert_int_equal(fl_world_init(&net->def.world, &world), FL_OK);
    FlSealRandom random = fl_seal_random_seeded(&net->random);
    FlSealTokenDef def = {.protocol_id = world.protocol_id,
                          .client_id = (uint64_t)node + 100,
                          .create_s = NET_UNIX,
                          .expire_s = NET_UNIX + 3600,
                          .timeout_s = 10,
                          .address_count = 1};
    def.address[0] = net_address(0, 4000);
    assert_int_equal(fl_seal_token_make(&def, net->seal.private_key, &random, token), FL_OK);
}

// Its clock: up to a week off, and up to 100 ppm fast or slow.
static inline void net_clock(Net *net, int32_t node)
{
    NetNode *n = &net->node[node];
    n->offset = (FlTime)fl_random_below(&net->random, (uint64_t)FL_SEC(7 * 86400)) + FL_SEC(1000);
    n->drift_ppm = (int64_t)fl_random_below(&net->random, 201) - 100;
}

/// A node begins, or begins anew: it hosts if it is node `host` itself and joins that one
/// otherwise.
static inline FlResult net_start_at(Net *net, int32_t node, int32_t host)
{
    NetNode *n = &net->node[node];
    net_clock(net, node);
    uint16_t port = (uint16_t)(4000 + (node != 0 ? fl_random_below(&net->random, 1000) : 0));
    n->address = net_address(node, port);
    n->keys.seed = fl_random_next(&net->random);
    FlSessionDef def = net->def;
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    FlAlloc alloc = {net_alloc, net_free, &n->memory};
    def.alloc = alloc;
    def.role = node == host ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    def.host = net->node[host].address;
    def.seed = fl_random_next(&net->random);
    def.random = fl_seal_random_seeded(&n->keys);
    if (net->sealed && node == host) {
        def.seal_server = &net->seal;
    } else if (net->sealed) {
        net_token(net, node, token);
        def.token = token;
    }
    net->count = node >= net->count ? node + 1 : net->count;
    for (int32_t i = 0; i < net->count; i++) {
        if (i != node && net->way[node][i] == NULL) {
            net_way(net, node, i, &net->weather);
            net_way(net, i, node, &net->weather);
        }
    }
    return fl_session_create(&def, net_local(net, node), &n->session);
}

static inline void net_start(Net *net, int32_t node)
{
    assert_int_equal(net_start_at(net, node, 0), FL_OK);
}

/// Gone without a word.
static inline void net_crash(Net *net, int32_t node)
{
    fl_session_destroy(net->node[node].session);
    net->node[node].session = NULL;
    assert_int_equal(net->node[node].memory.live_bytes, 0);
}

static inline void net_close(Net *net)
{
    for (int32_t i = 0; i < NET_NODES; i++) {
        net_crash(net, i);
        for (int32_t to = 0; to < NET_NODES; to++) {
            fl_impair_destroy(net->way[i][to]);
        }
    }
    fl_flight_destroy(net->flight);
}

// ---------------------------------------------------------------- running

static inline uint16_t net_port(const Net *net, int32_t node, int32_t seen_by)
{
    uint16_t door = net->door[node][seen_by];
    return door != 0 ? door : net->node[node].address.port;
}

static inline void net_carry(Net *net, int32_t from, const FlOutgoing *out)
{
    net->bytes[from] += out->count + 28;
    int32_t to = out->to.ip[3] - 1;
    net->datagrams++;
    assert_true(to >= 0 && to < NET_NODES && to != from);
    net->sent[from][to]++;
    if (net->way[from][to] == NULL) {
        return;
    }
    FlFate fate = fl_impair_send(net->way[from][to], net->now, out->count);
    uint64_t tag = (uint64_t)from << 48 | (uint64_t)to << 32 |
                   (uint64_t)net_port(net, from, to) << 16 | out->to.port;
    for (int32_t i = 0; i < fate.copy_count; i++) {
        FlResult pushed =
            fl_flight_push(net->flight, fate.deliver_at[i], tag, out->bytes, out->count);
        assert_int_equal(pushed, FL_OK);
    }
}

/// Sends whatever a node has to send now.
static inline void net_pump(Net *net, int32_t node)
{
    NetNode *n = &net->node[node];
    FlOutgoing out;
    int32_t count = 0;
    while (!n->asleep && !n->frozen &&
           fl_session_next(n->session, net_local(net, node), &out) == FL_OK) {
        assert_true(++count < 2000); // or it never ends
        net_carry(net, node, &out);
    }
}

static inline void net_leave(Net *net, int32_t node)
{
    fl_session_leave(net->node[node].session, net_local(net, node));
    net_pump(net, node);
    net_crash(net, node);
}

static inline void net_deliver(Net *net)
{
    FlFlightPacket packet;
    while (fl_flight_take(net->flight, net->now, &packet, 1) == 1) {
        int32_t from = (int32_t)(packet.tag >> 48);
        int32_t to = (int32_t)(packet.tag >> 32 & 0xffff);
        NetNode *n = &net->node[to];
        if (n->frozen) {
            FlTime later = net->now + FL_MS(NET_FRAME_MS);
            assert_int_equal(
                fl_flight_push(net->flight, later, packet.tag, packet.data, packet.bytes), FL_OK);
            continue;
        }
        bool there =
            n->session != NULL && !n->asleep && net_port(net, to, from) == (packet.tag & 0xffff);
        if (there) {
            FlAddress address = net_address(from, (uint16_t)(packet.tag >> 16));
            fl_session_receive(n->session, address, packet.data, packet.bytes, net_local(net, to));
            net_pump(net, to);
        }
    }
}

/// Lets true time go on to `until`.
static inline void net_run(Net *net, FlTime until)
{
    for (;;) {
        FlTime next = fl_flight_next(net->flight);
        int32_t who = -1;
        for (int32_t i = 0; i < net->count; i++) {
            NetNode *n = &net->node[i];
            if (n->session == NULL || n->asleep || n->frozen) {
                continue;
            }
            FlTime due = net_true(net, i, fl_session_deadline(n->session, net_local(net, i)));
            if (due < next) {
                next = due;
                who = i;
            }
        }
        if (next > until) {
            break;
        }
        net->now = next > net->now ? next : net->now;
        if (who >= 0) {
            FlTime before = net->now;
            net->wakes++;
            net_pump(net, who);
            // a deadline that is still now after a pump would never let time go on
            FlTime again = fl_session_deadline(net->node[who].session, net_local(net, who));
            net->now += net_true(net, who, again) <= before ? FL_US(10) : 0;
        } else {
            net_deliver(net);
        }
    }
    net->now = until;
}

/// One frame: everything up to its end, then every node has its say (after the test's own doings).
static inline void net_frame(Net *net)
{
    for (int32_t i = 0; i < net->count; i++) {
        if (net->node[i].session != NULL) {
            net_pump(net, i);
        }
    }
    net_run(net, net->now + FL_MS(NET_FRAME_MS));
}

// ---------------------------------------------------------------- asking

static inline bool net_in(const Net *net, int32_t node)
{
    const FlSession *session = net->node[node].session;
    return session != NULL && fl_session_state(session) == FL_SESSION_RUNNING &&
           fl_peer_self(session).index1 != 0 && fl_session_time_error(session) != FL_FOREVER;
}

static inline int32_t net_alive(const Net *net)
{
    int32_t count = 0;
    for (int32_t i = 0; i < net->count; i++) {
        count += net->node[i].session != NULL ? 1 : 0;
    }
    return count;
}

/// Everybody there is in, and knows everybody.
static inline bool net_together(const Net *net)
{
    int32_t alive = net_alive(net);
    for (int32_t i = 0; i < net->count; i++) {
        if (net->node[i].session != NULL &&
            (!net_in(net, i) || fl_peer_count(net->node[i].session) != alive - 1)) {
            return false;
        }
    }
    return true;
}

/// Runs frames until everybody is in.
static inline void net_gather(Net *net)
{
    FlTime until = net->now + FL_SEC(30);
    while (!net_together(net) && net->now < until) {
        net_frame(net);
    }
    assert_true(net_together(net));
}

/// A node's number in the session.
static inline int32_t net_number(const Net *net, int32_t node)
{
    return (int32_t)fl_peer_self(net->node[node].session).index1 - 1;
}

/// Node `whom` by the name that node `at` knows it by.
static inline FlPeerId net_peer(const Net *net, int32_t at, int32_t whom)
{
    return fl_peer_of_number(net->node[at].session, net_number(net, whom));
}

static inline FlEntityId net_entity(const Net *net, int32_t at, uint32_t number)
{
    return fl_entity_of_number(net->node[at].session, number);
}

// ---------------------------------------------------------------- things that move

/// One entity's truth: straight on, or turning, as a test wishes.
typedef struct NetWalk {
    int32_t owner; ///< Node; -1: nobody's.
    uint32_t number;
    FlTime at; ///< True time of what follows.
    FlVec3 position, velocity;
    double turn_rate;
} NetWalk;

/// Where a walk is at a true time, on a straight stretch.
static inline FlVec3 net_walk_at(const NetWalk *walk, FlTime now)
{
    double dt = fl_span_seconds(now - walk->at);
    return fl_vec3(walk->position.x + walk->velocity.x * dt,
                   walk->position.y + walk->velocity.y * dt, 0.0);
}

/// Another direction and speed (up to 10 m/s along each axis) from now on.
static inline void net_walk_turn(Net *net, NetWalk *walk)
{
    double x = fl_random_between(&net->random, -10.0, 10.0);
    double y = fl_random_between(&net->random, -10.0, 10.0);
    walk->velocity = fl_vec3(x, y, 0.0);
}

/// Brings the truth up to now and hands it in.
static inline FlResult net_walk_step(Net *net, NetWalk *walk)
{
    double angle = walk->turn_rate * fl_span_seconds(net->now - walk->at);
    walk->position = net_walk_at(walk, net->now);
    double x = walk->velocity.x * cos(angle) - walk->velocity.y * sin(angle);
    double y = walk->velocity.x * sin(angle) + walk->velocity.y * cos(angle);
    walk->velocity = fl_vec3(x, y, 0.0);
    walk->at = net->now;
    FlState state = {.time = net_local(net, walk->owner),
                     .position = walk->position,
                     .velocity = walk->velocity,
                     .turn_rate = walk->turn_rate,
                     .facing = fl_facing_none()};
    FlEntityId id = net_entity(net, walk->owner, walk->number);
    return fl_entity_set(net->node[walk->owner].session, id, &state);
}

/// A new entity of a node, somewhere within 100 m.
static inline FlResult net_walk_begin(Net *net, NetWalk *walk, int32_t owner,
                                      const FlEntityDef *def)
{
    FlEntityId id;
    FlSession *session = net->node[owner].session;
    FlResult result = fl_entity_create(session, def, &id);
    if (result != FL_OK) {
        return result;
    }
    FlEntityStatus status;
    assert_int_equal(fl_entity_status(session, id, &status), FL_OK);
    memset(walk, 0, sizeof *walk);
    walk->owner = owner;
    walk->number = status.number;
    walk->at = net->now;
    double x = fl_random_between(&net->random, -100.0, 100.0);
    double y = fl_random_between(&net->random, -100.0, 100.0);
    walk->position = fl_vec3(x, y, 0.0);
    net_walk_turn(net, walk);
    return FL_OK;
}

/// A sum of a counter over all nodes.
static inline uint64_t net_count(const Net *net, FlSessionCount which)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < net->count; i++) {
        sum += net->node[i].session != NULL ? fl_session_count(net->node[i].session, which) : 0;
    }
    return sum;
}

/// All counters of a node, for people.
static inline void net_print(const Net *net, int32_t node)
{
    const FlSession *session = net->node[node].session;
    if (session == NULL) {
        return;
    }
    print_message("             node %d:", node);
    for (int32_t i = 0; i < FL_SESSION_COUNTS; i++) {
        uint64_t count = fl_session_count(session, (FlSessionCount)i);
        if (count > 0) {
            print_message(" %s %llu", fl_session_count_name((FlSessionCount)i),
                          (unsigned long long)count);
        }
    }
    print_message(" %s\n", fl_session_trouble(session));
}

#endif
