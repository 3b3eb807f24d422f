// A server and clients of module `seal` on real sockets, as a game would write them.
#include "attack.h"
#include "seal/seal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

void our_key(uint8_t key[FL_SEAL_KEY_BYTES])
{
    for (int32_t i = 0; i < FL_SEAL_KEY_BYTES; i++) {
        key[i] = (uint8_t)(i * 11 + 1);
    }
}

FlAddress our_address(const Shared *shared)
{
    FlAddress address = {.ip = {127, 0, 0, 1}, .family = FL_FAMILY_IPV4};
    address.port = (uint16_t)atomic_load(&shared->port);
    return address;
}

FlSealTokenDef our_token_def(const Shared *shared, uint64_t client_id)
{
    FlSealTokenDef def = {.protocol_id = OUR_PROTOCOL,
                          .client_id = client_id,
                          .create_s = (uint64_t)time(NULL),
                          .expire_s = (uint64_t)time(NULL) + 300,
                          .timeout_s = 10,
                          .address_count = 1,
                          .address = {our_address(shared)}};
    return def;
}

/// The request that a client would send with such a token.
void our_request(const FlSealTokenDef *def, const uint8_t *key, uint8_t *request)
{
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    FlSealClientDef client_def = fl_seal_client_def_default();
    FlSealClient *client = NULL;
    FlSealed out;
    bool made = fl_seal_token_make(def, key, NULL, token) == FL_OK &&
                fl_seal_client_create(&client_def, &client) == FL_OK &&
                fl_seal_client_connect(client, 0, def->create_s, token) == FL_OK &&
                fl_seal_client_next(client, 0, &out) == FL_OK;
    if (!made) {
        fprintf(stderr, "attack: no token\n");
        exit(1);
    }
    memcpy(request, out.bytes, FL_SEAL_REQUEST_BYTES);
    fl_seal_client_destroy(client);
}

// ---------------------------------------------------------------- server

typedef struct Serving {
    Shared *shared;
    FlNet *net;
    FlSealServer *server;
    Report report;
    uint8_t buffer[FL_NET_BATCH][FL_SEAL_PACKET_BYTES]; // answers of one batch, sent together
    FlDatagram out[FL_NET_BATCH];
    int32_t out_count;
} Serving;

static void flush(Serving *s)
{
    int32_t done = 0;
    // What the kernel does not take now is lost, as in any network.
    (void)!(fl_net_send_batch(s->net, s->out, s->out_count, &done) == FL_OK);
    s->out_count = 0;
}

static void put(Serving *s, const FlSealed *sealed)
{
    uint8_t *own = s->buffer[s->out_count];
    memmove(own, sealed->bytes, (size_t)sealed->count);
    s->out[s->out_count++] = (FlDatagram){sealed->to, own, sealed->count, 0};
    if (s->out_count == FL_NET_BATCH) {
        flush(s);
    }
}

static void answer(Serving *s, FlSealPeer peer, const FlSealPayload *payload, FlTime now)
{
    uint8_t buffer[FL_SEAL_PACKET_BYTES];
    memcpy(buffer + FL_SEAL_HEAD_BYTES, payload->bytes, (size_t)payload->count);
    FlSealed out[2];
    int32_t count = 0;
    uint64_t sequence = fl_seal_server_sequence(s->server, peer);
    if (fl_seal_server_seal(s->server, peer, now, sequence, buffer, payload->count, out, &count) ==
        FL_OK) {
        for (int32_t i = 0; i < count; i++) {
            put(s, &out[i]);
        }
    }
}

static int32_t take_batch(Serving *s, FlTime now)
{
    FlDatagram got[FL_NET_BATCH];
    int32_t count = fl_net_receive_batch(s->net, got, FL_NET_BATCH);
    for (int32_t i = 0; i < count; i++) {
        uint8_t bytes[DATAGRAM]; // opened in place, and a capture wants it as it came
        memcpy(bytes, got[i].data, (size_t)got[i].bytes);
        server_capture(s->shared, bytes, got[i].bytes, got[i].address.port);
        FlSealPeer peer;
        FlSealPayload payload;
        (void)fl_seal_server_receive(s->server, now, got[i].address, bytes, got[i].bytes, &peer,
                                     &payload);
        if (payload.bytes != NULL) {
            server_heard(s->shared, &s->report, payload.bytes, payload.count);
            answer(s, peer, &payload, now);
        }
    }
    return count;
}

static void publish(Serving *s, bool idle)
{
    s->report.seal = fl__seal_server_stats(s->server);
    atomic_store(&s->shared->slots, s->report.seal.connected);
    if (idle && atomic_load(&s->shared->ask)) {
        s->report.slots = s->report.seal.connected;
        s->report.bytes_in = s->report.seal.bytes_in;
        s->report.bytes_out = s->report.seal.bytes_out;
        s->report.cpu_s = cpu_seconds();
        s->report.at = fl_net_now();
        s->shared->report = s->report;
        atomic_store(&s->shared->ask, false);
    }
}

static bool start(Serving *s)
{
    FlNetDef net = fl_net_def_default();
    net.bind = (FlAddress){.ip = {127, 0, 0, 1}, .family = FL_FAMILY_IPV4};
    if (fl_net_create(&net, &s->net) != FL_OK) {
        return false;
    }
    FlSealServerDef def = fl_seal_server_def_default();
    def.protocol_id = OUR_PROTOCOL;
    our_key(def.private_key);
    def.address[0] = fl_net_address(s->net);
    def.address_count = 1;
    def.unix_s = (uint64_t)time(NULL);
    def.slot_capacity = SLOTS;
    return fl_seal_server_create(&def, fl_net_now(), &s->server) == FL_OK;
}

static void serve(Shared *shared)
{
    static Serving s;
    s.shared = shared;
    if (!start(&s)) {
        fprintf(stderr, "attack: our server does not start\n");
        exit(1);
    }
    atomic_store(&shared->port, fl_net_address(s.net).port);
    while (!atomic_load(&shared->stop)) {
        FlTime now = fl_net_now();
        FlTime deadline = fl_seal_server_deadline(s.server);
        FlTime latest = now + FL_MS(5); // to look at the shared flags
        (void)fl_net_wait(&s.net, 1, deadline < latest ? deadline : latest, NULL);
        now = fl_net_now();
        int32_t count = take_batch(&s, now);
        FlSealEvent event;
        while (fl_seal_server_take_event(s.server, &event) == FL_OK) {
        }
        FlSealed out;
        while (fl_seal_server_next(s.server, now, &out) == FL_OK) {
            put(&s, &out);
        }
        flush(&s);
        publish(&s, count == 0);
    }
    fl_seal_server_destroy(s.server);
    fl_net_destroy(s.net);
}

// ---------------------------------------------------------------- player

static bool player_open(Player *player, const Shared *shared)
{
    FlNetDef net = fl_net_def_default();
    net.bind = (FlAddress){.ip = {127, 0, 0, 1}, .family = FL_FAMILY_IPV4};
    FlSealClientDef def = fl_seal_client_def_default();
    uint8_t key[FL_SEAL_KEY_BYTES];
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    our_key(key);
    FlSealTokenDef token_def = our_token_def(shared, (uint64_t)player->index + 1);
    return fl_net_create(&net, &player->net) == FL_OK &&
           fl_seal_client_create(&def, &player->client) == FL_OK &&
           fl_seal_token_make(&token_def, key, NULL, token) == FL_OK &&
           fl_seal_client_connect(player->client, fl_net_now(), token_def.create_s, token) == FL_OK;
}

static void player_put(Player *player, const FlSealed *sealed)
{
    FlDatagram datagram = {sealed->to, sealed->bytes, sealed->count, 0};
    int32_t done = 0;
    (void)!(fl_net_send_batch(player->net, &datagram, 1, &done) == FL_OK);
}

static void player_step(Player *player, Players *players)
{
    FlDatagram got[FL_NET_BATCH];
    int32_t count = fl_net_receive_batch(player->net, got, FL_NET_BATCH);
    FlTime now = fl_net_now();
    for (int32_t i = 0; i < count; i++) {
        uint8_t bytes[DATAGRAM];
        memcpy(bytes, got[i].data, (size_t)got[i].bytes);
        FlSealPayload payload;
        (void)fl_seal_client_receive(player->client, now, got[i].address, bytes, got[i].bytes,
                                     &payload);
        if (payload.bytes != NULL) {
            message_back(players, player, payload.bytes, payload.count);
        }
    }
    FlSealed out;
    while (fl_seal_client_next(player->client, now, &out) == FL_OK) {
        player_put(player, &out);
    }
    player->connected = fl_seal_client_status(player->client).state == FL_SEAL_CONNECTED;
}

static void player_say(Player *player, const Message *message)
{
    uint8_t buffer[FL_SEAL_PACKET_BYTES];
    memcpy(buffer + FL_SEAL_HEAD_BYTES, message, sizeof *message);
    FlSealed out;
    uint64_t sequence = fl_seal_client_sequence(player->client);
    if (fl_seal_client_seal(player->client, fl_net_now(), sequence, buffer, sizeof *message,
                            &out) == FL_OK) {
        player_put(player, &out);
    }
}

static void player_close(Player *player)
{
    fl_seal_client_destroy(player->client);
    fl_net_destroy(player->net);
}

static int player_descriptor(const Player *player)
{
    return fl_net_descriptor(player->net);
}

// ---------------------------------------------------------------- ammunition

// Right in all that is in clear: only deciphering tells that it is nothing.
static int32_t request(uint8_t *bytes, FlRandom *random)
{
    uint64_t protocol = OUR_PROTOCOL;
    uint64_t expire = (uint64_t)time(NULL) + 60;
    memset(bytes, 0x5a, FL_SEAL_REQUEST_BYTES);
    bytes[0] = 0;
    memcpy(bytes + 1, "NETCODE 1.02", 13);
    memcpy(bytes + 14, &protocol, 8);
    memcpy(bytes + 22, &expire, 8);
    uint64_t noise = fl_random_next(random);
    memcpy(bytes + 30, &noise, 8);
    memcpy(bytes + 1070, &noise, 8);
    return FL_SEAL_REQUEST_BYTES;
}

static int32_t garbage(uint8_t *bytes, FlRandom *random)
{
    for (int32_t i = 0; i < 104; i += 8) {
        uint64_t noise = fl_random_next(random);
        memcpy(bytes + i, &noise, 8);
    }
    bytes[0] = 0x45; // a payload, number of four bytes
    return 100;
}

static bool is_payload(const uint8_t *bytes, int32_t count)
{
    return count > 0 && (bytes[0] & 15) == 5;
}

static void refresh(uint8_t *bytes, int32_t count, uint32_t n)
{
    (void)count;
    uint32_t carry = 200 + n; // beyond what was sent since
    for (int32_t i = 1; i <= bytes[0] >> 4; i++) {
        carry += bytes[i];
        bytes[i] = (uint8_t)carry;
        carry >>= 8;
    }
}

static int32_t goodbye(uint8_t *bytes, int32_t count)
{
    (void)count;
    bytes[0] = (uint8_t)((bytes[0] & 0xf0) | 6);
    return 1 + (bytes[0] >> 4) + FL_SEAL_TAIL_BYTES;
}

const Subject subject_ours = {
    .name = "fairlead",
    .serve = serve,
    .open = player_open,
    .step = player_step,
    .say = player_say,
    .close = player_close,
    .descriptor = player_descriptor,
    .request = request,
    .is_payload = is_payload,
    .refresh = refresh,
    .goodbye = goodbye,
    .garbage = garbage,
};
