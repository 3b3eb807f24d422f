// spec/vectors/seal.json: tokens, requests and packets with their meaning, for programs in any
// language. Keys and nonces come from a seed, so the file can be made anew to the byte.
#include "test_seal_support.h"
#include "vectors.h"

#include "seal/private.h"

static void put_hex(Text *text, const char *name, const void *bytes, int32_t count,
                    const char *after)
{
    say_hex(text, name, (const uint8_t *)bytes, count);
    say(text, "%s", after);
}

static void put_addresses(Text *text, const FlSealTokenDef *def)
{
    say(text, "\"addresses\": [");
    for (int32_t i = 0; i < def->address_count; i++) {
        FlAddress a = def->address[i];
        say(text, "%s{", i > 0 ? ", " : "");
        put_hex(text, "ip", a.ip, a.family == FL_FAMILY_IPV4 ? 4 : 16, ", ");
        say(text, "\"port\": %u}", a.port);
    }
    say(text, "], ");
}

static void put_token(Text *text, FlRandom *stream, int32_t addresses, int32_t timeout_s, bool last)
{
    FlSealTokenDef def = token_def(UINT64_C(0xfedcba9876543210));
    def.timeout_s = timeout_s;
    def.address_count = addresses;
    for (int32_t i = 0; i < addresses; i++) {
        uint16_t port = (uint16_t)(40000 + i);
        def.address[i] = i % 2 == 0 ? address_v4((uint8_t)i, port) : address_v6((uint8_t)i, port);
    }
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    uint8_t request[FL_SEAL_REQUEST_BYTES];
    token_make(&def, stream, token);
    fl__request_write(token, request);
    FlSealToken read;
    assert_int_equal(fl__seal_token_read(token, &read), FL_OK);
    say(text,
        "  {\"protocol\": \"%016llx\", \"client\": \"%016llx\", \"create\": %llu, \"expire\": "
        "%llu, "
        "\"timeout\": %d, ",
        (unsigned long long)def.protocol_id, (unsigned long long)def.client_id,
        (unsigned long long)def.create_s, (unsigned long long)def.expire_s, def.timeout_s);
    put_addresses(text, &def);
    put_hex(text, "private_key", server_key, FL_SEAL_KEY_BYTES, ", ");
    put_hex(text, "nonce", token + 37, NONCE_BYTES, ", ");
    put_hex(text, "to_server", read.to_server_key, FL_SEAL_KEY_BYTES, ", ");
    put_hex(text, "to_client", read.to_client_key, FL_SEAL_KEY_BYTES, ", ");
    put_hex(text, "user", def.user_data, FL_SEAL_USER_BYTES, ",\n   ");
    put_hex(text, "token", token, sizeof token, ",\n   ");
    put_hex(text, "request", request, sizeof request, last ? "}\n" : "},\n");
}

static void put_packet(Text *text, Kind kind, uint64_t sequence, const void *body, int32_t count,
                       bool last)
{
    uint8_t buffer[CONTROL_BYTES];
    const uint8_t *start;
    int32_t size =
        fl__packet_control(PROTOCOL, server_key, kind, sequence, 3, body, count, buffer, &start);
    say(text, "  {\"kind\": %d, \"sequence\": \"%016llx\", ", (int)kind,
        (unsigned long long)sequence);
    put_hex(text, "body", body, count, ", ");
    put_hex(text, "packet", start, size, last ? "}\n" : "},\n");
}

static FlSealIntroduction introduction_for(bool client, const uint8_t key[FL_SEAL_KEY_BYTES])
{
    FlSealIntroduction m = {.protocol_id = PROTOCOL,
                            .own_id = client ? 2 : 9,
                            .peer_id = client ? 9 : 2,
                            .expire_s = UNIX_NOW + 30,
                            .timeout_s = 60,
                            .candidate_count = 2,
                            .candidate = {address_v4(7, 40000), address_v6(8, 50000)}};
    memcpy(m.key, key, FL_SEAL_KEY_BYTES);
    return m;
}

static void put_hello(Text *text, const char *name, const Agreement *a, uint64_t sequence)
{
    uint8_t body[HELLO_BYTES];
    uint8_t buffer[CONTROL_BYTES];
    const uint8_t *start;
    memcpy(body, a->own_public, FL_SEAL_KEY_BYTES);
    memcpy(body + FL_SEAL_KEY_BYTES, a->proof_out, PROOF_BYTES);
    int32_t size = fl__packet_control(PROTOCOL, a->hello_out, KIND_HELLO, sequence, a->hint_out,
                                      body, sizeof body, buffer, &start);
    put_hex(text, name, start, size, ",\n   ");
}

// One agreement of the two, after the keys whose root is `root`.
static void put_agreement(Text *text, FlRandom *stream, uint8_t root[FL_SEAL_KEY_BYTES], bool last)
{
    FlSealRandom random = fl__seal_random_seeded(stream);
    uint8_t key[FL_SEAL_KEY_BYTES];
    fl_seal_key(&random, key);
    FlSealIntroduction to_client = introduction_for(true, key);
    FlSealIntroduction to_server = introduction_for(false, key);
    uint8_t bytes[FL_SEAL_INTRODUCTION_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__seal_introduction_write(&w, &to_client);
    Agreement client;
    Agreement server;
    fl__agreement_begin(&client, &to_client, &random);
    fl__agreement_begin(&server, &to_server, &random);
    say(text, "  {");
    put_hex(text, "introduction", bytes, fl_writer_size(&w), ",\n   ");
    put_hex(text, "before", root, FL_SEAL_KEY_BYTES, ", ");
    put_hex(text, "client_secret", client.secret, FL_SEAL_KEY_BYTES, ", ");
    put_hex(text, "server_secret", server.secret, FL_SEAL_KEY_BYTES, ",\n   ");
    put_hello(text, "client_hello", &client, 0);
    assert_true(fl__agreement_meet(&client, &to_client, root, server.own_public));
    assert_true(fl__agreement_meet(&server, &to_server, root, client.own_public));
    assert_memory_equal(client.fresh.root, server.fresh.root, FL_SEAL_KEY_BYTES);
    put_hello(text, "server_hello", &server, 300);
    put_hello(text, "client_proves", &client, 1);
    put_hex(text, "to_server", client.fresh.out, FL_SEAL_KEY_BYTES, ", ");
    put_hex(text, "to_client", client.fresh.in, FL_SEAL_KEY_BYTES, ", ");
    uint8_t binding[FL_SEAL_BINDING_BYTES];
    fl__keys_binding(&server.fresh, binding);
    put_hex(text, "binding", binding, sizeof binding, last ? "}\n" : "},\n");
    memcpy(root, client.fresh.root, FL_SEAL_KEY_BYTES);
}

void vectors_seal(Text *text)
{
    FlRandom stream = {.seed = 1};
    static const uint8_t body[308] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    say(text, "{\"standard\": \"NETCODE 1.02\",\n \"tokens\": [\n");
    put_token(text, &stream, 1, 5, false);
    put_token(text, &stream, 2, -1, false);
    put_token(text, &stream, 32, 3600, true);
    say(text, " ],\n");
    say(text, " \"protocol\": \"%016llx\",\n ", (unsigned long long)PROTOCOL);
    put_hex(text, "key", server_key, FL_SEAL_KEY_BYTES, ",\n \"packets\": [\n");
    put_packet(text, KIND_DENIED, UINT64_C(1) << 63, body, 0, false);
    put_packet(text, KIND_CHALLENGE, UINT64_C(0x8102030405060708), body, 308, false);
    put_packet(text, KIND_RESPONSE, 0, body, 308, false);
    put_packet(text, KIND_KEEP_ALIVE, 1000, body, 8, false);
    put_packet(text, KIND_PAYLOAD, 255, body, 1, false);
    put_packet(text, KIND_PAYLOAD, 256, body, 100, false);
    put_packet(text, KIND_PAYLOAD, 65536, body, 100, false);
    put_packet(text, KIND_DISCONNECT, UINT64_C(0xfffffffffffffffe), body, 0, false);
    put_packet(text, KIND_MOVE, 70000, body, 16, false);
    put_packet(text, KIND_PATH, 70001, body, 8, false);
    put_packet(text, KIND_ANSWER, 70002, body, 8, false);
    put_packet(text, KIND_HELLO, 70003, body, 48, true);
    say(text, " ],\n \"pairs\": [\n");
    uint8_t root[FL_SEAL_KEY_BYTES] = {0};
    put_agreement(text, &stream, root, false);
    put_agreement(text, &stream, root, true); // the same two again: a renewal
    say(text, " ]}\n");
}
