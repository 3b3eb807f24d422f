// A server, its clients and the network between them, in virtual time. Shared by the seal's scenes.
//
// Everybody connected sends a payload 20 times a second, which names its sender and its number; the
// world checks each that arrives. It keeps books of what the server gets from and sends to every
// address, so that amplification can be measured, not believed.
#ifndef TESTS_SCENE_TEST_SEAL_WORLD_H
#define TESTS_SCENE_TEST_SEAL_WORLD_H

#include "fairlead/impair.h"

#include "impair/impair.h"
#include "seal/seal.h"
#include "seal/server.h"
#include "unit/test_seal_support.h"

#define WORLD_CLIENTS 64
#define SEND_EVERY_NS FL_MS(50)

typedef struct WorldClient {
    FlSealClient *client;
    FlAddress at;
    FlTime start_at; // connects then
    bool started;
    FlTime connected_at; // -1: not yet
    FlTime send_at;
    uint64_t sent, heard; // payloads
    FlTime worst_gap;     // between payloads heard, once connected
    FlTime received_at;
    FlImpair *up, *down;
} WorldClient;

typedef struct World {
    FlTime now;
    FlRandom stream;
    FlSealServer *server;
    WorldClient clients[WORLD_CLIENTS];
    int32_t client_count;
    FlFlight *flight;
    uint64_t server_heard, server_sent;
    FlTime server_send_at;
    uint64_t to_nobody; // datagrams of the server to addresses that are no client's
    uint64_t bytes_to_nobody;
    uint64_t trace; // hash of every datagram and when it was sent
    bool quiet;     // nobody sends payloads
} World;

static inline FlAddress client_address(int32_t i)
{
    FlAddress address = {
        .ip = {10, 0, (uint8_t)(i / 200), (uint8_t)(i % 200 + 1)}, .port = 6000, .family = 4};
    return address;
}

static inline void world_init(World *w, const FlSealServerDef *def, const FlImpairSettings *way,
                              uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->stream.seed = seed;
    FlSealServerDef own = *def;
    own.random = fl__seal_random_seeded(&w->stream);
    w->server = server_make(&own);
    FlFlightDef flight = fl__flight_def_default();
    assert_int_equal(fl__flight_create(&flight, &w->flight), FL_OK);
    for (int32_t i = 0; i < WORLD_CLIENTS; i++) {
        FlImpairDef impair = fl_impair_def_default();
        impair.settings = *way;
        impair.seed = seed;
        impair.link = fl_impair_link((uint16_t)(i + 1), 0);
        assert_int_equal(fl_impair_create(&impair, &w->clients[i].up), FL_OK);
        impair.link = fl_impair_link(0, (uint16_t)(i + 1));
        assert_int_equal(fl_impair_create(&impair, &w->clients[i].down), FL_OK);
        w->clients[i].at = client_address(i);
        w->clients[i].connected_at = -1;
    }
}

static inline void world_end(World *w)
{
    for (int32_t i = 0; i < WORLD_CLIENTS; i++) {
        fl_seal_client_destroy(w->clients[i].client);
        fl_impair_destroy(w->clients[i].up);
        fl_impair_destroy(w->clients[i].down);
    }
    fl__flight_destroy(w->flight);
    fl_seal_server_destroy(w->server);
}

/// A client that connects at `at` with a token of its own.
static inline int32_t world_add(World *w, FlTime at, bool standard)
{
    int32_t i = w->client_count++;
    w->clients[i].client = client_make(&w->stream, standard);
    w->clients[i].start_at = at;
    return i;
}

static inline void world_carry(World *w, FlImpair *way, uint64_t tag, const uint8_t *bytes,
                               int32_t count)
{
    w->trace = hash_bytes(w->trace, &w->now, sizeof w->now);
    w->trace = hash_bytes(w->trace, bytes, (size_t)count);
    FlFate fate = fl_impair_send(way, w->now, count);
    for (int32_t i = 0; i < fate.copy_count; i++) {
        assert_int_equal(fl__flight_push(w->flight, fate.deliver_at[i], tag, bytes, count), FL_OK);
    }
}

static inline void world_from_server(World *w, const FlSealed *out)
{
    for (int32_t i = 0; i < w->client_count; i++) {
        if (fl_address_equal(w->clients[i].at, out->to)) {
            world_carry(w, w->clients[i].down, (uint64_t)i << 1 | 1, out->bytes, out->count);
            return;
        }
    }
    w->to_nobody++;
    w->bytes_to_nobody += (uint64_t)out->count;
}

// ---------------------------------------------------------------- what arrives

static inline void check_payload(const FlSealPayload *payload, uint64_t sender)
{
    assert_int_equal(payload->count, 24);
    uint64_t said;
    memcpy(&said, payload->bytes, sizeof said);
    assert_true(said == sender);
    memcpy(&said, payload->bytes + 8, sizeof said);
    assert_true(said == payload->sequence);
}

static inline void world_arrive(World *w, const FlFlightPacket *packet)
{
    uint8_t bytes[1500];
    memcpy(bytes, packet->data, (size_t)packet->bytes);
    WorldClient *c = &w->clients[packet->tag >> 1];
    FlSealPayload payload;
    if ((packet->tag & 1) == 0) {
        FlSealPeer peer;
        (void)fl_seal_server_receive(w->server, w->now, c->at, bytes, packet->bytes, &peer,
                                     &payload);
        if (payload.bytes != NULL) {
            check_payload(&payload, packet->tag >> 1);
            w->server_heard++;
        }
        return;
    }
    (void)fl_seal_client_receive(c->client, w->now, SERVER_ADDRESS, bytes, packet->bytes, &payload);
    if (payload.bytes != NULL) {
        check_payload(&payload, 1000 + (packet->tag >> 1));
        c->heard++;
        FlTime gap = c->received_at > 0 ? w->now - c->received_at : 0;
        c->worst_gap = gap > c->worst_gap ? gap : c->worst_gap;
        c->received_at = w->now;
    }
    if (c->connected_at < 0 && client_state(c->client) == FL_SEAL_CONNECTED) {
        c->connected_at = w->now;
        c->send_at = w->now;
    }
}

// ---------------------------------------------------------------- what is sent

static inline void fill_payload(uint8_t *buffer, uint64_t sender, uint64_t sequence)
{
    memset(buffer + FL_SEAL_HEAD_BYTES, 0x33, 24);
    memcpy(buffer + FL_SEAL_HEAD_BYTES, &sender, 8);
    memcpy(buffer + FL_SEAL_HEAD_BYTES + 8, &sequence, 8);
}

static inline void world_client_step(World *w, int32_t i)
{
    WorldClient *c = &w->clients[i];
    if (!c->started && w->now >= c->start_at) {
        c->started = true;
        FlSealTokenDef def = token_def((uint64_t)i + 1);
        def.create_s = UNIX_NOW + (uint64_t)(w->now / FL_SEC(1));
        def.expire_s = def.create_s + 60;
        client_start(c->client, w->now, &def, &w->stream);
    }
    bool in = client_state(c->client) == FL_SEAL_CONNECTED;
    if (in && !w->quiet && w->now >= c->send_at) {
        uint8_t buffer[FL_SEAL_PACKET_BYTES];
        uint64_t sequence = fl_seal_client_sequence(c->client);
        fill_payload(buffer, (uint64_t)i, sequence);
        FlSealed out;
        assert_int_equal(fl_seal_client_seal(c->client, w->now, sequence, buffer, 24, &out), FL_OK);
        world_carry(w, c->up, (uint64_t)i << 1, out.bytes, out.count);
        c->sent++;
        c->send_at = w->now + SEND_EVERY_NS;
    }
    FlSealed out;
    while (fl_seal_client_next(c->client, w->now, &out) == FL_OK) {
        world_carry(w, c->up, (uint64_t)i << 1, out.bytes, out.count);
    }
}

static inline void world_server_payloads(World *w)
{
    for (int32_t i = 0; i < w->client_count && !w->quiet; i++) {
        FlSealPeer peer = fl__seal_server_at(w->server, w->clients[i].at);
        if (peer.index1 == 0) {
            continue;
        }
        uint8_t buffer[FL_SEAL_PACKET_BYTES];
        uint64_t sequence = fl_seal_server_sequence(w->server, peer);
        fill_payload(buffer, 1000 + (uint64_t)i, sequence);
        FlSealed out[2];
        int32_t count;
        assert_int_equal(
            fl_seal_server_seal(w->server, peer, w->now, sequence, buffer, 24, out, &count), FL_OK);
        for (int32_t k = 0; k < count; k++) {
            world_from_server(w, &out[k]);
        }
        w->server_sent++;
    }
}

static inline void world_server_step(World *w)
{
    if (w->now >= w->server_send_at) {
        w->server_send_at = w->now + SEND_EVERY_NS;
        world_server_payloads(w);
    }
    FlSealed out;
    while (fl_seal_server_next(w->server, w->now, &out) == FL_OK) {
        world_from_server(w, &out);
    }
}

static inline FlTime sooner(FlTime a, FlTime b)
{
    return a < b ? a : b;
}

static inline FlTime world_next(const World *w)
{
    FlTime next = sooner(fl__flight_next(w->flight), fl_seal_server_deadline(w->server));
    next = sooner(next, w->server_send_at);
    for (int32_t i = 0; i < w->client_count; i++) {
        const WorldClient *c = &w->clients[i];
        next = sooner(next, c->started ? fl_seal_client_deadline(c->client) : c->start_at);
        if (client_state(c->client) == FL_SEAL_CONNECTED && !w->quiet) {
            next = sooner(next, c->send_at);
        }
    }
    return next > w->now ? next : w->now + 1;
}

/// Steps at nothing but deadlines and arrivals.
static inline void world_run(World *w, FlTime until)
{
    while (w->now < until) {
        FlTime next = world_next(w);
        w->now = next < until ? next : until;
        FlFlightPacket packet;
        while (fl__flight_take(w->flight, w->now, &packet, 1) == 1) {
            world_arrive(w, &packet);
        }
        for (int32_t i = 0; i < w->client_count; i++) {
            world_client_step(w, i);
        }
        world_server_step(w);
    }
}

static inline int32_t world_connected(const World *w)
{
    int32_t count = 0;
    for (int32_t i = 0; i < w->client_count; i++) {
        count += client_state(w->clients[i].client) == FL_SEAL_CONNECTED;
    }
    return count;
}

#endif
