// What the seal's tests share: seeded random bytes, addresses, tokens, a server and its clients.
#ifndef TESTS_UNIT_TEST_SEAL_SUPPORT_H
#define TESTS_UNIT_TEST_SEAL_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fairlead/seal.h"

#include "seal/seal.h"
#include "seal/server.h"

#define PROTOCOL UINT64_C(0x1122334455667788)
#define UNIX_NOW UINT64_C(1700000000)

static const uint8_t server_key[FL_SEAL_KEY_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8};

static inline FlAddress address_v4(uint8_t last, uint16_t port)
{
    FlAddress address = {.ip = {192, 0, 2, last}, .port = port, .family = FL_FAMILY_IPV4};
    return address;
}

static inline FlAddress address_v6(uint8_t last, uint16_t port)
{
    FlAddress address = {
        .ip = {0x20, 0x01, 0x0d, 0xb8, [15] = last}, .port = port, .family = FL_FAMILY_IPV6};
    return address;
}

#define SERVER_ADDRESS address_v4(1, 40000)

static inline FlSealTokenDef token_def(uint64_t client_id)
{
    FlSealTokenDef def = {
        .protocol_id = PROTOCOL,
        .client_id = client_id,
        .create_s = UNIX_NOW,
        .expire_s = UNIX_NOW + 60,
        .timeout_s = 5,
        .address_count = 1,
        .address = {SERVER_ADDRESS},
    };
    for (int32_t i = 0; i < FL_SEAL_USER_BYTES; i++) {
        def.user_data[i] = (uint8_t)(i * 7 + (int32_t)client_id);
    }
    return def;
}

static inline FlSealServerDef server_def(FlRandom *stream, bool standard)
{
    FlSealServerDef def = standard ? fl__seal_server_def_standard() : fl_seal_server_def_default();
    def.protocol_id = PROTOCOL;
    memcpy(def.private_key, server_key, sizeof server_key);
    def.address[0] = SERVER_ADDRESS;
    def.address_count = 1;
    def.unix_s = UNIX_NOW;
    def.random = fl__seal_random_seeded(stream);
    return def;
}

static inline FlSealServer *server_make(const FlSealServerDef *def)
{
    FlSealServer *server = NULL;
    assert_int_equal(fl_seal_server_create(def, 0, &server), FL_OK);
    return server;
}

static inline FlSealClient *client_make(FlRandom *stream, bool standard)
{
    FlSealClientDef def = standard ? fl__seal_client_def_standard() : fl_seal_client_def_default();
    def.random = fl__seal_random_seeded(stream);
    FlSealClient *client = NULL;
    assert_int_equal(fl_seal_client_create(&def, &client), FL_OK);
    return client;
}

static inline void token_make(const FlSealTokenDef *def, FlRandom *stream, uint8_t *token)
{
    FlSealRandom random = fl__seal_random_seeded(stream);
    assert_int_equal(fl_seal_token_make(def, server_key, &random, token), FL_OK);
}

static inline void client_start(FlSealClient *client, FlTime now, const FlSealTokenDef *def,
                                FlRandom *stream)
{
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    token_make(def, stream, token);
    assert_int_equal(
        fl_seal_client_connect(client, now, UNIX_NOW + (uint64_t)(now / FL_SEC(1)), token), FL_OK);
}

static inline FlSealState client_state(const FlSealClient *client)
{
    return fl_seal_client_status(client).state;
}

/// Hands all that the client has to say to the server; returns the last drop.
static inline FlSealDrop to_server(FlSealClient *client, FlSealServer *server, FlTime now,
                                   FlAddress from)
{
    FlSealDrop drop = FL_SEAL_DROP_NONE;
    FlSealed out;
    while (fl_seal_client_next(client, now, &out) == FL_OK) {
        uint8_t bytes[FL_SEAL_PACKET_BYTES];
        memcpy(bytes, out.bytes, (size_t)out.count);
        FlSealPeer peer;
        FlSealPayload payload;
        drop = fl_seal_server_receive(server, now, from, bytes, out.count, &peer, &payload);
    }
    return drop;
}

/// Hands all that the server has to say to the one client there is at `at`; the rest is lost.
static inline void to_client(FlSealServer *server, FlSealClient *client, FlTime now, FlAddress at)
{
    FlSealed out;
    while (fl_seal_server_next(server, now, &out) == FL_OK) {
        if (fl_address_equal(out.to, at)) {
            uint8_t bytes[FL_SEAL_PACKET_BYTES];
            memcpy(bytes, out.bytes, (size_t)out.count);
            FlSealPayload payload;
            (void)fl_seal_client_receive(client, now, SERVER_ADDRESS, bytes, out.count, &payload);
        }
    }
}

/// A few exchanges over a perfect line.
static inline void exchange(FlSealClient *client, FlSealServer *server, FlTime now, FlAddress at)
{
    for (int32_t i = 0; i < 4; i++) {
        to_server(client, server, now, at);
        to_client(server, client, now, at);
    }
}

static inline uint64_t drops_of(const FlSealServer *server, FlSealDrop drop)
{
    return fl__seal_server_stats(server).drops[drop];
}

/// FNV-1a.
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    hash = hash == 0 ? UINT64_C(0xcbf29ce484222325) : hash;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static inline void check_golden(uint64_t got, uint64_t want)
{
    if (got != want) {
        print_error("golden hash is 0x%016llx, was 0x%016llx\n", (unsigned long long)got,
                    (unsigned long long)want);
    }
    assert_true(got == want);
}

#endif
