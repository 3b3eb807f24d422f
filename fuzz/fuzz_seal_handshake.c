// The handshake under an adversary who owns the network: the input says which packet is carried,
// lost, kept, changed, repeated or sent on from another address, and how time passes.
//
// What must hold, whatever he does:
//   - a payload arrives at most once, unchanged, and only where it was sent to;
//   - no two packets are sealed with the same key and number;
//   - an address that has not proved itself gets no more bytes than came from it;
//   - connections and events add up.
#include "fuzz.h"

#include "fairlead/seal.h"

#include "seal/seal.h"
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

#define CLIENTS 3
#define PLACES 5 // addresses that packets can seem to come from
#define KEPT 8
#define NUMBERS 4096
#define PAYLOADS 4096

typedef struct Kept {
    uint8_t bytes[FL_SEAL_REQUEST_BYTES];
    int32_t count;
    int32_t client; // from or to whom
    bool up;
} Kept;

typedef struct Number { // a sealed packet that was sent
    uint64_t key;
    uint64_t sequence;
} Number;

typedef struct World {
    const uint8_t *data;
    size_t left;
    FlTime now;
    FlRandom stream;
    uint8_t key[FL_SEAL_KEY_BYTES];
    FlSealServer *server;
    FlSealClient *clients[CLIENTS];
    uint64_t token[CLIENTS]; // which token each has: names its keys
    uint64_t tokens;
    int32_t place[CLIENTS];
    Kept kept[KEPT];
    int32_t kept_next;
    Number numbers[NUMBERS];
    int32_t number_count;
    uint8_t arrived[PAYLOADS]; // per payload
    uint8_t goes_up[PAYLOADS];
    uint8_t whose[PAYLOADS];
    int32_t payload_count;
    int64_t credit[PLACES]; // bytes from there minus bytes to there, while unproved
    int32_t connected;
    FlSealInvite invite;
} World;

static uint8_t take(World *w)
{
    if (w->left == 0) {
        return 0;
    }
    w->left--;
    return *w->data++;
}

static FlAddress place_of(int32_t place)
{
    FlAddress address = {
        .ip = {10, 0, 0, (uint8_t)(place + 1)}, .port = 100, .family = FL_FAMILY_IPV4};
    return address;
}

static FlAddress server_place(void)
{
    FlAddress address = {.ip = {10, 9, 9, 9}, .port = 200, .family = FL_FAMILY_IPV4};
    return address;
}

// ---------------------------------------------------------------- the books

static void note_number(World *w, uint64_t key, const uint8_t *bytes)
{
    if (bytes[0] == 0 || w->number_count == NUMBERS) {
        return;
    }
    uint64_t sequence = 0;
    for (int32_t i = bytes[0] >> 4; i > 0; i--) {
        sequence = sequence << 8 | bytes[i];
    }
    for (int32_t i = 0; i < w->number_count; i++) {
        CHECK(w->numbers[i].key != key || w->numbers[i].sequence != sequence);
    }
    w->numbers[w->number_count++] = (Number){key, sequence};
}

static int32_t new_payload(World *w, bool up, int32_t client, uint8_t *buffer)
{
    if (w->payload_count == PAYLOADS) {
        return 0;
    }
    uint32_t id = (uint32_t)w->payload_count++;
    w->goes_up[id] = up;
    w->whose[id] = (uint8_t)client;
    uint8_t *at = buffer + FL_SEAL_HEAD_BYTES;
    memset(at, (int)(id & 0xff), 40);
    memcpy(at, &id, sizeof id);
    return 4 + (int32_t)(id % 30);
}

static void check_payload(World *w, const FlSealPayload *payload, bool up, int32_t client)
{
    uint32_t id = 0;
    CHECK(payload->count >= 4);
    memcpy(&id, payload->bytes, sizeof id);
    CHECK(id < (uint32_t)w->payload_count);
    CHECK(payload->count == 4 + (int32_t)(id % 30));
    CHECK((w->goes_up[id] != 0) == up && (client < 0 || w->whose[id] == client));
    CHECK(w->arrived[id] == 0);
    w->arrived[id] = 1;
    for (int32_t i = 4; i < payload->count; i++) {
        CHECK(payload->bytes[i] == (id & 0xff));
    }
}

// ---------------------------------------------------------------- carrying

static void keep(World *w, const FlSealed *out, int32_t client, bool up)
{
    Kept *kept = &w->kept[w->kept_next++ % KEPT];
    CHECK(out->count <= (int32_t)sizeof kept->bytes);
    memcpy(kept->bytes, out->bytes, (size_t)out->count);
    kept->count = out->count;
    kept->client = client;
    kept->up = up;
}

// Is this address somebody's who is in? Then it has proved itself.
static bool proved(const World *w, int32_t place)
{
    return fl__seal_server_at(w->server, place_of(place)).index1 != 0;
}

static FlSealDrop to_server(World *w, const uint8_t *bytes, int32_t count, int32_t place)
{
    uint8_t *copy = malloc((size_t)count + 1);
    CHECK(copy != NULL);
    memcpy(copy, bytes, (size_t)count);
    FlSealPeer peer;
    FlSealPayload payload;
    // Only what asks for an answer counts while the address is proved: the answer may come when it
    // is no longer.
    bool asks = count > 0 && (bytes[0] == 0 || (bytes[0] & 15) == 3 || (bytes[0] & 15) == 7);
    w->credit[place] += asks || !proved(w, place) ? count : 0;
    FlSealDrop drop =
        fl_seal_server_receive(w->server, w->now, place_of(place), copy, count, &peer, &payload);
    if (payload.bytes != NULL) {
        CHECK(drop == FL_SEAL_DROP_NONE && peer.index1 != 0);
        check_payload(w, &payload, true, -1);
    }
    free(copy);
    return drop;
}

static FlSealDrop to_client(World *w, const uint8_t *bytes, int32_t count, int32_t client)
{
    uint8_t *copy = malloc((size_t)count + 1);
    CHECK(copy != NULL);
    memcpy(copy, bytes, (size_t)count);
    FlSealPayload payload;
    FlSealDrop drop =
        fl_seal_client_receive(w->clients[client], w->now, server_place(), copy, count, &payload);
    if (payload.bytes != NULL) {
        CHECK(drop == FL_SEAL_DROP_NONE);
        check_payload(w, &payload, false, client);
    }
    free(copy);
    return drop;
}

// Keeps a copy of what somebody said; carries it or not.
static void said_by_client(World *w, int32_t client, const FlSealed *out, uint8_t fate)
{
    note_number(w, w->token[client] << 1, out->bytes);
    keep(w, out, client, true);
    if ((fate & 1u) == 0) {
        (void)to_server(w, out->bytes, out->count, w->place[client]);
    }
}

static void said_by_server(World *w, const FlSealed *out, uint8_t fate)
{
    int32_t place = out->to.ip[3] - 1;
    CHECK(place >= 0 && place < PLACES);
    int32_t client = -1;
    for (int32_t i = 0; i < CLIENTS; i++) {
        client = w->place[i] == place ? i : client;
    }
    bool goodbye = (out->bytes[0] & 15) == 6; // to an address that was in until now
    if (!proved(w, place) && !goodbye) {
        w->credit[place] -= out->count;
        CHECK(w->credit[place] >= 0);
    }
    keep(w, out, client < 0 ? 0 : client, false);
    if ((fate & 1u) == 0 && client >= 0) {
        (void)to_client(w, out->bytes, out->count, client);
    }
}

// ---------------------------------------------------------------- what the input can ask for

static void connect(World *w, int32_t client, bool invited)
{
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    FlSealRandom random = fl__seal_random_seeded(&w->stream);
    uint64_t unix_s = 1000 + (uint64_t)(w->now / FL_SEC(1));
    if (invited) {
        static const uint8_t user[FL_SEAL_USER_BYTES];
        if (fl_seal_invite_token(&w->invite, (uint32_t)client, unix_s, 3, user, &random, token) !=
            FL_OK) {
            return;
        }
    } else {
        FlSealTokenDef def = {.protocol_id = 7,
                              .client_id = 1 + (uint64_t)client,
                              .create_s = unix_s,
                              .expire_s = unix_s + 10,
                              .timeout_s = 3,
                              .address_count = 2,
                              .address = {server_place(), server_place()}};
        CHECK(fl_seal_token_make(&def, w->key, &random, token) == FL_OK);
    }
    CHECK(fl_seal_client_connect(w->clients[client], w->now, unix_s, token) == FL_OK);
    w->token[client] = ++w->tokens;
}

static void client_speaks(World *w, int32_t client, uint8_t fate)
{
    FlSealed out;
    for (int32_t i = 0; i < 20; i++) {
        if (fl_seal_client_next(w->clients[client], w->now, &out) != FL_OK) {
            return;
        }
        said_by_client(w, client, &out, (uint8_t)(fate >> i % 8));
    }
}

static void server_speaks(World *w, uint8_t fate)
{
    FlSealed out;
    for (int32_t i = 0; i < 40; i++) {
        if (fl_seal_server_next(w->server, w->now, &out) != FL_OK) {
            return;
        }
        said_by_server(w, &out, (uint8_t)(fate >> i % 8));
    }
}

static void payload_up(World *w, int32_t client, uint8_t fate)
{
    uint8_t buffer[FL_SEAL_PACKET_BYTES];
    int32_t count = new_payload(w, true, client, buffer);
    FlSealed out;
    uint64_t sequence = fl_seal_client_sequence(w->clients[client]) + (fate >> 4);
    if (count > 0 &&
        fl_seal_client_seal(w->clients[client], w->now, sequence, buffer, count, &out) == FL_OK) {
        said_by_client(w, client, &out, fate);
    }
}

static void payload_down(World *w, int32_t client, uint8_t fate)
{
    FlSealPeer peer = fl__seal_server_at(w->server, place_of(w->place[client]));
    FlSealPeerStatus status;
    if (fl_seal_server_status(w->server, peer, &status) != FL_OK) {
        return;
    }
    // Two may have the same address by now: it goes to whose connection it is.
    bool invited = status.invite_id != 0;
    int32_t owner = (int32_t)(uint32_t)status.client_id - (invited ? 0 : 1);
    uint8_t buffer[FL_SEAL_PACKET_BYTES];
    int32_t count = new_payload(w, false, owner, buffer);
    FlSealed out[2];
    int32_t out_count;
    uint64_t sequence = fl_seal_server_sequence(w->server, peer) + (fate >> 4);
    if (count > 0 && fl_seal_server_seal(w->server, peer, w->now, sequence, buffer, count, out,
                                         &out_count) == FL_OK) {
        for (int32_t i = 0; i < out_count; i++) {
            said_by_server(w, &out[i], fate);
        }
    }
}

static void repeat(World *w, uint8_t which, uint8_t how)
{
    Kept *kept = &w->kept[which % KEPT];
    uint8_t bytes[FL_SEAL_REQUEST_BYTES];
    int32_t count = kept->count;
    if (count == 0) {
        return;
    }
    memcpy(bytes, kept->bytes, (size_t)count);
    bool changed = (how & 1u) != 0;
    if (changed) {
        uint32_t at = ((uint32_t)take(w) << 8 | take(w)) % (uint32_t)count;
        bytes[at] ^= (uint8_t)(1 + take(w) % 255);
    }
    bool cut = (how & 2u) != 0;
    count -= cut ? 1 + take(w) % (count < 200 ? count : 200) : 0;
    FlSealDrop drop = kept->up ? to_server(w, bytes, count, (how >> 2) % PLACES)
                               : to_client(w, bytes, count, kept->client);
    CHECK(!(changed || cut) || drop != FL_SEAL_DROP_NONE);
}

static void poll_events(World *w)
{
    FlSealEvent event;
    while (fl_seal_server_take_event(w->server, &event) == FL_OK) {
        w->connected += event.kind == FL_SEAL_EVENT_CONNECTED ? 1
                        : event.kind == FL_SEAL_EVENT_GONE    ? -1
                                                              : 0;
    }
    CHECK(w->connected == fl__seal_server_stats(w->server).connected);
    CHECK(fl__seal_server_stats(w->server).events_lost == 0);
}

static void act(World *w)
{
    uint8_t op = take(w);
    int32_t client = (op >> 4) % CLIENTS;
    switch (op & 15u) {
    case 0:
        connect(w, client, false);
        break;
    case 1:
        connect(w, client, true);
        break;
    case 2:
    case 3:
        client_speaks(w, client, (op & 1u) != 0 ? take(w) : 0);
        break;
    case 4:
    case 5:
        server_speaks(w, (op & 1u) != 0 ? take(w) : 0);
        break;
    case 6:
        payload_up(w, client, take(w));
        break;
    case 7:
        payload_down(w, client, take(w));
        break;
    case 8:
    case 9: {
        uint8_t which = take(w);
        repeat(w, which, take(w));
        break;
    }
    case 10:
        w->now += FL_MS(20) * (1 + take(w));
        break;
    case 11:
        w->now += FL_MS(100);
        break;
    case 12:
        w->place[client] = take(w) % PLACES; // its network changed
        break;
    case 13:
        fl__seal_client_moved(w->clients[client], w->now);
        break;
    case 14:
        fl_seal_client_disconnect(w->clients[client], w->now);
        break;
    default:
        fl_seal_server_disconnect(w->server, w->now,
                                  fl__seal_server_at(w->server, place_of(take(w) % PLACES)));
        break;
    }
    poll_events(w);
}

static void start(World *w, bool standard)
{
    FlSealServerDef server =
        standard ? fl__seal_server_def_standard() : fl_seal_server_def_default();
    w->stream.seed = 1;
    server.protocol_id = 7;
    server.slot_capacity = 2;
    server.pending_capacity = 2;
    server.token_capacity = 64;
    server.address[0] = server_place();
    server.address_count = 1;
    server.unix_s = 1000;
    server.disconnect_count = 3;
    server.random = fl__seal_random_seeded(&w->stream);
    memcpy(server.private_key, w->key, sizeof w->key);
    CHECK(fl_seal_server_create(&server, 0, &w->server) == FL_OK);
    FlResult invited = fl__seal_server_invite(w->server, 0, server_place(), 3, 1060, &w->invite);
    CHECK(invited == (standard ? FL_FULL : FL_OK));
    for (int32_t i = 0; i < CLIENTS; i++) {
        FlSealClientDef client =
            standard ? fl__seal_client_def_standard() : fl_seal_client_def_default();
        client.random = server.random;
        client.disconnect_count = 3;
        CHECK(fl_seal_client_create(&client, &w->clients[i]) == FL_OK);
        w->place[i] = i;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    World *w = calloc(1, sizeof *w);
    CHECK(w != NULL);
    w->data = data;
    w->left = size < 2000 ? size : 2000;
    start(w, (take(w) & 1u) != 0);
    while (w->left > 0) {
        act(w);
    }
    for (int32_t i = 0; i < CLIENTS; i++) {
        fl_seal_client_destroy(w->clients[i]);
    }
    fl_seal_server_destroy(w->server);
    free(w);
    return 0;
}
