// Strangers' bytes at every door of the seal: tokens, invites, introductions, packets.
//
// The first byte says which door. What a decoder takes must come out of the encoder again as it
// went in; what comes without a key must be refused, and nothing may be answered.
#include "fuzz.h"

#include "fairlead/seal.h"
#include "seal/private.h"
#include "seal/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static void token_door(const uint8_t *data, size_t size)
{
    uint8_t bytes[FL_SEAL_TOKEN_BYTES] = {0};
    memcpy(bytes, "NETCODE 1.02", 13);
    // The private part is opaque here: the input goes around it.
    size_t head = size < 24 ? size : 24;
    memcpy(bytes + 13, data, head);
    size_t rest = size - head;
    size_t room = FL_SEAL_TOKEN_BYTES - 1085;
    memcpy(bytes + 1085, data + head, rest < room ? rest : room);
    FlSealToken token;
    if (fl__seal_token_read(bytes, &token) == FL_OK) {
        CHECK(token.address_count >= 1 && token.address_count <= FL_SEAL_ADDRESSES);
        CHECK(token.create_s <= token.expire_s);
    } else {
        CHECK(token.address_count == 0);
    }
}

static void private_door(const uint8_t *data, size_t size)
{
    uint8_t bytes[PRIVATE_BYTES] = {0};
    memcpy(bytes, data, size < sizeof bytes ? size : sizeof bytes);
    PrivateToken token;
    if (fl__private_read(bytes, &token)) {
        uint8_t again[PRIVATE_BYTES];
        PrivateToken twice;
        fl__private_write(&token, again);
        CHECK(fl__private_read(again, &twice));
        CHECK(memcmp(&token, &twice, sizeof token) == 0);
    }
}

static void invite_door(const uint8_t *data, size_t size)
{
    char text[256] = "fairlead:";
    size_t count = size < 240 ? size : 240;
    memcpy(text + 9, data, count);
    FlSealInvite invite;
    if (fl_seal_invite_parse(text, &invite) == FL_OK) {
        char again[FL_SEAL_INVITE_TEXT];
        fl__seal_invite_text(&invite, again);
        CHECK(strcmp(text, again) == 0);
    }
}

static void introduction_door(const uint8_t *data, size_t size)
{
    FlReader r;
    fl_reader_init(&r, data, size < 4096 ? (int32_t)size : 4096);
    FlSealIntroduction m;
    if (fl__seal_introduction_read(&r, &m)) {
        uint8_t again[FL_SEAL_INTRODUCTION_BYTES];
        FlWriter w;
        fl_writer_init(&w, again, sizeof again);
        fl__seal_introduction_write(&w, &m);
        CHECK(!w.failed && w.bit_count == r.bit_count);
        CHECK(memcmp(again, data, (size_t)fl_writer_size(&w)) == 0);
    }
}

static FlSealServer *server_of(FlRandom *stream, FlAddress *own)
{
    FlSealServerDef def = fl_seal_server_def_default();
    def.slot_capacity = 2;
    def.pending_capacity = 2;
    def.token_capacity = 4;
    *own = (FlAddress){.ip = {1, 2, 3, 4}, .port = 5, .family = FL_FAMILY_IPV4};
    def.address[0] = *own;
    def.address_count = 1;
    def.unix_s = 1000;
    def.random = fl__seal_random_seeded(stream);
    FlSealServer *server = NULL;
    CHECK(fl_seal_server_create(&def, 0, &server) == FL_OK);
    return server;
}

static void server_door(const uint8_t *data, size_t size)
{
    FlRandom stream = {.seed = 1};
    FlAddress own;
    FlSealServer *server = server_of(&stream, &own);
    size_t count = size < 2048 ? size : 2048;
    uint8_t *bytes = malloc(count > 0 ? count : 1);
    CHECK(bytes != NULL);
    memcpy(bytes, data, count);
    FlSealPeer peer;
    FlSealPayload payload;
    FlSealDrop drop =
        fl_seal_server_receive(server, 0, own, bytes, (int32_t)count, &peer, &payload);
    CHECK(drop != FL_SEAL_DROP_NONE && payload.bytes == NULL && peer.index1 == 0);
    FlSealed out;
    CHECK(fl_seal_server_next(server, 0, &out) == FL_NOT_FOUND);
    free(bytes);
    fl_seal_server_destroy(server);
}

static void packet_door(const uint8_t *data, size_t size)
{
    size_t count = size < 2048 ? size : 2048;
    uint8_t *bytes = malloc(count > 0 ? count : 1);
    CHECK(bytes != NULL);
    memcpy(bytes, data, count);
    Packet packet;
    if (fl__packet_parse(bytes, (int32_t)count, 0x3ff, &packet) == FL_SEAL_DROP_NONE) {
        CHECK(packet.body >= bytes && packet.body_bytes >= 0);
        CHECK(packet.body + packet.body_bytes + FL_SEAL_TAIL_BYTES == bytes + count);
        uint8_t key[FL_SEAL_KEY_BYTES] = {0};
        CHECK(!fl__packet_open(7, key, &packet));
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    static void (*const doors[])(const uint8_t *, size_t) = {
        token_door, private_door, invite_door, introduction_door, server_door, packet_door};
    doors[data[0] % (sizeof doors / sizeof doors[0])](data + 1, size - 1);
    return 0;
}
