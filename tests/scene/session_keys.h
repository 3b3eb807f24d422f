// What a sealed session takes: a host's key, and tokens that let others in. Shared by the scenes.
#ifndef TESTS_SCENE_SESSION_KEYS_H
#define TESTS_SCENE_SESSION_KEYS_H

#include "fairlead/session.h"
#include "seal/seal.h"

// cmocka wants these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static inline uint64_t protocol_of(const FlWorldDef *def)
{
    FlWorld world;
    assert_int_equal(fl_world_init(def, &world), FL_OK);
    return world.protocol_id;
}

/// A host at that address, with a key from the stream.
static inline FlSealServerDef keys_server(FlRandom *stream, FlAddress host)
{
    FlSealRandom random = fl__seal_random_seeded(stream);
    FlSealServerDef server = fl_seal_server_def_default();
    fl_seal_key(&random, server.private_key);
    server.address[server.address_count++] = host;
    return server;
}

/// A token for a client of that definition, good for a minute.
static inline void keys_token(const FlSealServerDef *server, const FlSessionDef *def,
                              uint64_t client_id, FlRandom *stream,
                              uint8_t token[FL_SEAL_TOKEN_BYTES])
{
    FlSealRandom random = fl__seal_random_seeded(stream);
    FlSealTokenDef made = {
        .protocol_id = protocol_of(&def->world),
        .client_id = client_id,
        .create_s = def->unix_s,
        .expire_s = def->unix_s + 60,
        .timeout_s = (int32_t)(def->timeout_ns / FL_SEC(1)),
        .address_count = 1,
        .address = {server->address[0]},
    };
    assert_int_equal(fl_seal_token_make(&made, server->private_key, &random, token), FL_OK);
}

#endif
