// What a network of sessions consists of, how nodes begin and end. See session_net.h.
#ifndef TESTS_SCENE_SESSION_NET_MAKE_H
#define TESTS_SCENE_SESSION_NET_MAKE_H

#include "fairlead/fairlead.h"
#include "fairlead/impair.h"
#include "fairlead/session.h"
#include "impair/impair.h"
#include "kernel/kernel.h"
#include "session_keys.h"

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
#ifndef NET_FLIGHT // packets on their way at once
#define NET_FLIGHT 4096
#endif

enum {
    NET_FRAME_MS = 20,
    NET_PORT = 4000,
    NET_PUMPS = 2000, // datagrams that a node has to send at one time
};

/// As a node's `due`: its session is to be asked.
#define NET_ASK INT64_MIN

/// Unix time when a scene begins.
#define NET_UNIX UINT64_C(1700000000)

/// Counts what a session takes, and fails when told to.
typedef struct NetMemory {
    int64_t live_bytes;
    int32_t calls;
    int32_t fail_at;                                 ///< The n-th call answers NULL; 0: none does.
    bool none_left;                                  ///< All do.
    void (*on_free)(const void *bytes, size_t size); ///< NULL: nothing.
} NetMemory;

typedef struct NetNode {
    FlSession *session; ///< NULL: not there.
    FlTime offset;      ///< Of its clock, days.
    double drift;
    FlAddress address;
    FlRandom keys;
    uint64_t seed; ///< Of its session.
    NetMemory memory;
    int32_t incarnation; ///< How often it was started.
    bool asleep;         ///< It gets nothing and does nothing, but is there.
    bool frozen; ///< The same, but what comes waits for it, as at the socket of a stopped process.
    FlTime due;  ///< True time of its session's deadline.
    FlTime time_last;  ///< Session time when it was last seen.
    FlTime running_at; ///< True time when it was first seen running, -1 before.
} NetNode;

/// What travels before a datagram's bytes.
typedef struct NetHead {
    int32_t from, to;
    uint16_t from_port, to_port;
    int64_t serial; ///< Its place among all datagrams.
    FlTime arrived; ///< True time, -1 while under way.
} NetHead;

typedef struct Net Net;

struct Net {
    FlTime now; ///< True time.
    int32_t count;
    NetNode node[NET_NODES];
    FlImpair *way[NET_NODES][NET_NODES];
    FlImpairSettings weather; ///< Of ways made from now on.
    FlFlight *flight;
    FlRandom random;
    uint64_t seed;
    bool sealed;
    bool own_streams; ///< Each node's token comes from the stream of its keys.
    FlSealServerDef seal;
    FlSessionDef def; ///< What nodes are made from; role, address and such are set for each.
    int64_t datagrams;
    int64_t spins;                       ///< Times a deadline was still now after a pump.
    int64_t wakes;                       ///< Times a deadline of somebody's had come.
    int64_t bytes[NET_NODES];            ///< Sent by each, IPv4's and UDP's headers counted.
    int64_t sent[NET_NODES][NET_NODES];  ///< Datagrams from one to another, arrived or not.
    uint16_t door[NET_NODES][NET_NODES]; ///< A symmetric NAT's: `from` is seen by `to` at this
                                         ///< port, and at no other; 0: at its own.
    // What a layer hangs on; NULL: nothing.
    int32_t frame_hz;                      ///< Frames of its own; 0: a test makes them (net_frame).
    int64_t frame;                         ///< The next one.
    void (*drive)(Net *net, int32_t node); ///< At each frame,
    void (*look)(Net *net, int32_t node);  ///< and after everybody has sent.
    void (*before_pump)(Net *net, int32_t node); ///< Each time a node's datagrams are fetched.
    void (*on_send)(Net *net, const NetHead *head, const FlOutgoing *out);
    void (*on_receive)(Net *net, const NetHead *head, const void *bytes, int32_t count);
};

// ---------------------------------------------------------------- memory

static inline void *net_alloc(void *ctx, size_t size, size_t align)
{
    NetMemory *memory = (NetMemory *)ctx;
    (void)align; // malloc aligns for everything
    if (++memory->calls == memory->fail_at || memory->none_left) {
        return NULL;
    }
    memory->live_bytes += (int64_t)size;
    return malloc(size);
}

static inline void net_free(void *ctx, void *ptr, size_t size)
{
    NetMemory *memory = (NetMemory *)ctx;
    memory->live_bytes -= ptr != NULL ? (int64_t)size : 0;
    if (memory->on_free != NULL && ptr != NULL) {
        memory->on_free(ptr, size);
    }
    free(ptr);
}

// ---------------------------------------------------------------- clocks

static inline FlTime net_local_at(const Net *net, int32_t node, FlTime now)
{
    const NetNode *n = &net->node[node];
    return now + n->offset + (FlTime)((double)now * n->drift);
}

static inline FlTime net_local(const Net *net, int32_t node)
{
    return net_local_at(net, node, net->now);
}

/// True time at which a node's clock shows `local`, or a nanosecond later.
static inline FlTime net_true(const Net *net, int32_t node, FlTime local)
{
    double ahead = (double)(local - net_local(net, node)) / (1.0 + net->node[node].drift);
    return local == FL_FOREVER ? FL_FOREVER : net->now + (FlTime)ahead + 1;
}

/// Session time at a node.
static inline FlTime net_time(const Net *net, int32_t node)
{
    return fl_session_time(net->node[node].session, net_local(net, node));
}

static inline uint64_t net_unix(const Net *net)
{
    return NET_UNIX + (uint64_t)(net->now / FL_SEC(1));
}

// ---------------------------------------------------------------- ways

static inline FlAddress net_address(int32_t node, uint16_t port)
{
    FlAddress address = {
        .ip = {10, 0, 0, (uint8_t)(node + 1)}, .port = port, .family = FL_FAMILY_IPV4};
    return address;
}

/// Nothing is lost or late: 30 ms each way.
static inline FlImpairSettings net_fair(void)
{
    FlImpairSettings settings = fl_impair_def_default().settings;
    settings.delay_ns = FL_MS(30);
    return settings;
}

/// Random and bad: loss up to `loss_percent`, reordering by jitter, duplicates.
static inline FlImpairSettings net_storm(FlRandom *random, int32_t loss_percent)
{
    FlImpairSettings settings = fl_impair_def_default().settings;
    settings.delay_ns = FL_MS(20) + (FlTime)fl_random_below(random, (uint64_t)FL_MS(80));
    settings.jitter_ns = (FlTime)fl_random_below(random, (uint64_t)FL_MS(25));
    settings.shape = FL_SHAPE_UNIFORM;
    settings.loss_ppm = (int32_t)fl_random_below(random, (uint64_t)loss_percent * 10000 + 1);
    settings.duplicate_ppm = (int32_t)fl_random_below(random, 100000);
    return settings;
}

/// One direction anew; NULL: nothing gets through.
static inline void net_way(Net *net, int32_t from, int32_t to, const FlImpairSettings *settings)
{
    fl_impair_destroy(net->way[from][to]);
    net->way[from][to] = NULL;
    if (settings != NULL) {
        FlImpairDef def = fl_impair_def_default();
        def.settings = *settings;
        def.seed = net->seed;
        def.link = fl_impair_link((uint16_t)from, (uint16_t)to);
        assert_int_equal(fl_impair_create(&def, &net->way[from][to]), FL_OK);
    }
}

/// Both directions anew.
static inline void net_ways(Net *net, int32_t a, int32_t b, const FlImpairSettings *settings)
{
    net_way(net, a, b, settings);
    net_way(net, b, a, settings);
}

/// Nothing gets through between these two any more, both ways; or everything again.
static inline void net_cut(Net *net, int32_t a, int32_t b, bool cut)
{
    net_ways(net, a, b, cut ? NULL : &net->weather);
}

/// Other weather for everybody from now on.
static inline void net_weather(Net *net, const FlImpairSettings *settings)
{
    net->weather = *settings;
    for (int32_t from = 0; from < NET_NODES; from++) {
        for (int32_t to = 0; to < NET_NODES; to++) {
            if (net->way[from][to] != NULL) {
                assert_int_equal(fl__impair_set(net->way[from][to], net->now, settings), FL_OK);
            }
        }
    }
}

// ---------------------------------------------------------------- making and ending

/// From now on nobody gets in without a token. The stream makes the host's key.
static inline void net_seal(Net *net, FlRandom *stream)
{
    net->sealed = true;
    net->seal = keys_server(stream, net_address(0, NET_PORT));
}

static inline void net_open(Net *net, uint64_t seed, FlTopology topology, bool sealed)
{
    memset(net, 0, sizeof *net);
    net->seed = seed;
    net->random.seed = seed;
    net->random.stream = 77;
    net->weather = net_fair();
    net->def = fl_session_def_default();
    net->def.tuning.show.convergence = FL_CONVERGENCE_AT_ONCE; // scenes compare with the placed
    net->def.topology = topology;
    net->def.peer_capacity = NET_NODES;
    net->def.tuning.direct_capacity = NET_NODES;
    net->def.join_timeout_ns = FL_SEC(30);
    net->node[0].address = net_address(0, NET_PORT);
    FlFlightDef flight = fl__flight_def_default();
    flight.capacity = NET_FLIGHT;
    flight.packet_bytes = (int32_t)sizeof(NetHead) + FL_SESSION_DATAGRAM_BYTES;
    assert_int_equal(fl__flight_create(&flight, &net->flight), FL_OK);
    if (sealed) {
        net_seal(net, &net->random);
    }
}

/// Gone without a word.
static inline void net_crash(Net *net, int32_t node)
{
    fl_session_close(net->node[node].session);
    net->node[node].session = NULL;
    assert_int_equal(net->node[node].memory.live_bytes, 0);
}

/// Makes a node's session with the clock, address, keys and seed that it has. If it had one: a new
/// process at the same address.
static inline FlResult net_begin(Net *net, int32_t node, int32_t host)
{
    NetNode *n = &net->node[node];
    net_crash(net, node);
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    FlSessionDef def = net->def;
    FlAlloc alloc = {net_alloc, net_free, &n->memory};
    def.alloc = alloc;
    def.role = node == host ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    def.host = net->node[host].address;
    def.seed = n->seed;
    def.random = fl__seal_random_seeded(&n->keys);
    def.unix_s = net_unix(net);
    if (net->sealed && node == host) {
        def.seal_server = &net->seal;
    } else if (net->sealed) {
        FlRandom *stream = net->own_streams ? &n->keys : &net->random;
        keys_token(&net->seal, &def, 100 + (uint64_t)node, stream, token);
        def.token = token;
    }
    net->count = node >= net->count ? node + 1 : net->count;
    for (int32_t i = 0; i < net->count; i++) {
        if (i != node && net->way[node][i] == NULL) {
            net_ways(net, node, i, &net->weather);
        }
    }
    n->incarnation++;
    n->due = net->now;
    n->time_last = INT64_MIN;
    n->running_at = -1;
    return fl_session_create(&def, net_local(net, node), &n->session);
}

/// A node begins, or begins anew: it hosts if it is node `host` itself and joins that one
/// otherwise. Its clock is up to a week off, and up to 100 ppm fast or slow.
static inline FlResult net_start_at(Net *net, int32_t node, int32_t host)
{
    NetNode *n = &net->node[node];
    FlRandom *random = &net->random;
    n->offset = (FlTime)fl_random_below(random, (uint64_t)FL_SEC(7 * 86400)) + FL_SEC(1000);
    n->drift = 1e-6 * ((double)fl_random_below(random, 201) - 100.0);
    uint64_t port = NET_PORT + (node != 0 ? fl_random_below(random, 1000) : 0);
    n->address = net_address(node, (uint16_t)port);
    n->keys.seed = fl_random_next(random);
    n->seed = fl_random_next(random);
    return net_begin(net, node, host);
}

static inline void net_start(Net *net, int32_t node)
{
    assert_int_equal(net_start_at(net, node, 0), FL_OK);
}

static inline void net_close(Net *net)
{
    for (int32_t i = 0; i < NET_NODES; i++) {
        net_crash(net, i);
        for (int32_t to = 0; to < NET_NODES; to++) {
            fl_impair_destroy(net->way[i][to]);
        }
    }
    fl__flight_destroy(net->flight);
}

#endif
