// A relay over our link and our seal: encrypted, authenticated, every packet's fate known.
//
// Messages of one tick lie one after another, so that what a client gets is copied in a few runs
// (all but its own), and a packet needs no header per message. Packets are made and sealed in place
// and leave 64 at a time.
//
// PAYLOAD: what rides in a packet from the server. Opaque messages are told apart by their length,
// updates by what they are (as in MOTION, spec/WIRE.md section 7.4).
//
//   bits  field      valid
//   8     kind       1
//   8     count      1..255 messages follow
#include "bench/relay.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MESSAGES (4 * RELAY_CLIENTS) // in one tick
#define KIND 1
#define COUNT_AT_MOST 255
#define PROTOCOL_ID UINT64_C(0x4c6f6f706261636b)
#define TOKEN_LIFE_S 600

// Good enough between two processes of one program on one machine.
static const uint8_t PRIVATE_KEY[FL_SEAL_KEY_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8};

static FlLinkDef link_def(void)
{
    FlLinkDef def = fl_link_def_default();
    def.external_sequence = true;
    def.overhead_bytes = RELAY_HEADER_BYTES + FL_SEAL_HEAD_BYTES + FL_SEAL_TAIL_BYTES;
    def.rate_bytes_s = def.rate_max_bytes_s = 10e6; // the loopback's, not a home line's
    return def;
}

// ---------------------------------------------------------------- server

typedef struct Member {
    FlSealPeer peer;
    FlLink *link; // NULL: nobody here
} Member;

typedef struct Server {
    FlNet *net;
    FlSealServer *seal;
    int32_t client_count;
    Member members[RELAY_CLIENTS]; // by slot of the seal

    // What came in since the last tick.
    int32_t count;
    int32_t from[MESSAGES];   // slots
    int32_t at[MESSAGES + 1]; // where each begins in `pool`, and where the last one ends
    uint8_t pool[MESSAGES * RELAY_MESSAGE_BYTES];

    // Packets on their way out.
    int32_t out_count;
    FlDatagram out[FL_NET_BATCH];
    uint8_t buffer[FL_NET_BATCH][FL_SEAL_PACKET_BYTES];
    uint64_t messages;
} Server;

static void server_destroy(void *context)
{
    Server *server = (Server *)context;
    for (int32_t i = 0; i < RELAY_CLIENTS; i++) {
        fl_link_destroy(server->members[i].link);
    }
    fl_seal_server_destroy(server->seal);
    fl_net_destroy(server->net);
    free(server);
}

static void *server_create(int32_t client_count, uint16_t *port)
{
    Server *server = (Server *)calloc(1, sizeof *server);
    if (server == NULL) {
        return NULL;
    }
    FlAddress nowhere = {0};
    server->client_count = client_count;
    FlSealServerDef def = fl_seal_server_def_default();
    bool good = relay_socket(nowhere, FL_NET_BATCH, &server->net) == FL_OK;
    if (good) {
        def.address[0] = fl_net_address(server->net);
        def.address_count = 1;
        def.protocol_id = PROTOCOL_ID;
        memcpy(def.private_key, PRIVATE_KEY, sizeof PRIVATE_KEY);
        def.unix_s = (uint64_t)time(NULL);
        def.slot_capacity = def.pending_capacity = client_count;
        *port = def.address[0].port;
        good = fl_seal_server_create(&def, fl_net_now(), &server->seal) == FL_OK;
    }
    if (!good) {
        server_destroy(server);
        return NULL;
    }
    return server;
}

static bool server_ready(const void *context)
{
    const Server *server = (const Server *)context;
    int32_t ready = 0;
    for (int32_t i = 0; i < server->client_count; i++) {
        FlSealPeerStatus status;
        bool here = server->members[i].link != NULL &&
                    fl_seal_server_status(server->seal, server->members[i].peer, &status) == FL_OK;
        ready += here && status.confirmed ? 1 : 0;
    }
    return ready == server->client_count;
}

static void server_events(Server *server, FlTime now)
{
    FlSealEvent event;
    while (fl_seal_server_take_event(server->seal, &event) == FL_OK) {
        Member *member = &server->members[event.peer.index1 - 1];
        if (event.kind == FL_SEAL_EVENT_CONNECTED) {
            FlLinkDef def = link_def();
            member->peer = event.peer;
            if (fl_link_create(&def, now, &member->link) != FL_OK) {
                member->link = NULL; // it never gets ready
            }
        } else if (event.kind == FL_SEAL_EVENT_GONE) {
            fl_link_destroy(member->link);
            member->link = NULL;
        }
    }
}

static void server_take(Server *server, const FlDatagram *datagram, FlTime now)
{
    uint8_t bytes[FL_SEAL_PACKET_BYTES]; // opened in place, so in a place of ours
    if (datagram->bytes > (int32_t)sizeof bytes) {
        return;
    }
    memcpy(bytes, datagram->data, (size_t)datagram->bytes);
    FlSealPeer peer;
    FlSealPayload payload;
    FlLinkPacket packet;
    FlSealDrop drop = fl_seal_server_receive(server->seal, now, datagram->address, bytes,
                                             datagram->bytes, &peer, &payload);
    Member *member = peer.index1 > 0 ? &server->members[peer.index1 - 1] : NULL;
    if (drop != FL_SEAL_DROP_NONE || payload.bytes == NULL || member == NULL ||
        member->link == NULL ||
        fl_link_receive(member->link, datagram->arrival, payload.sequence, payload.bytes,
                        payload.count, &packet) != FL_LINK_DROP_NONE) {
        return;
    }
    bool fits = packet.payload_bytes <= RELAY_MESSAGE_BYTES && server->count < MESSAGES;
    if (packet.payload_bytes > 0 && fits) {
        int32_t at = server->at[server->count];
        memcpy(server->pool + at, packet.payload, (size_t)packet.payload_bytes);
        server->from[server->count++] = (int32_t)peer.index1 - 1;
        server->at[server->count] = at + packet.payload_bytes;
    }
}

static void server_flush(Server *server)
{
    int32_t done = 0;
    while (done < server->out_count) {
        int32_t count = 0;
        FlResult result =
            fl_net_send_batch(server->net, server->out + done, server->out_count - done, &count);
        done += count;
        if (result == FL_WOULD_BLOCK) {
            break; // the kernel's buffer is full: what is left counts as lost
        }
    }
    server->out_count = 0;
}

static void server_send(Server *server, const FlSealed *sealed)
{
    FlDatagram datagram = {.address = sealed->to, .data = sealed->bytes, .bytes = sealed->count};
    server->out[server->out_count++] = datagram;
    if (server->out_count == FL_NET_BATCH) {
        server_flush(server);
    }
}

// As many messages as fit, from number `next` on, but those of `slot` itself. Returns which comes
// next.
static int32_t write_messages(Server *server, FlWriter *writer, int32_t slot, int32_t next)
{
    int32_t head = fl_writer_size(writer);
    int32_t count = 0;
    fl_writer_put(writer, KIND, 16); // the count comes at the end
    int32_t room = (writer->capacity_bits - writer->bit_count) / 8;
    while (next < server->count && count < COUNT_AT_MOST) {
        if (server->from[next] == slot) {
            next++;
            continue;
        }
        int32_t begin = next;
        while (next < server->count && count < COUNT_AT_MOST && server->from[next] != slot &&
               server->at[next + 1] - server->at[begin] <= room) {
            next++;
            count++;
        }
        if (next == begin) {
            break; // full
        }
        int32_t run = server->at[next] - server->at[begin];
        fl_writer_bytes(writer, server->pool + server->at[begin], run);
        room -= run;
    }
    writer->bytes[head + 1] = (uint8_t)count;
    server->messages += (uint64_t)count;
    return next;
}

static bool has_others(const Server *server, int32_t slot, int32_t next)
{
    while (next < server->count && server->from[next] == slot) {
        next++;
    }
    return next < server->count;
}

static void member_pass(Server *server, int32_t slot, FlTime now)
{
    Member *member = &server->members[slot];
    int32_t next = 0;
    while (member->link != NULL && has_others(server, slot, next)) {
        uint8_t *buffer = server->buffer[server->out_count];
        FlWriter writer;
        uint64_t sequence;
        fl_link_number_from(member->link, fl_seal_server_sequence(server->seal, member->peer));
        if (fl_link_begin(member->link, now, buffer + FL_SEAL_HEAD_BYTES, &writer) != FL_OK) {
            return;
        }
        next = write_messages(server, &writer, slot, next);
        int32_t bytes = fl_link_finish(member->link, now, &writer, 0, &sequence);
        FlSealed sealed[2];
        int32_t count;
        if (fl_seal_server_seal(server->seal, member->peer, now, sequence, buffer, bytes, sealed,
                                &count) != FL_OK) {
            return;
        }
        for (int32_t i = 0; i < count; i++) {
            server_send(server, &sealed[i]);
        }
        if (count > 1) {
            server_flush(server); // the first lies in the seal's own buffer
        }
    }
}

static void member_rest(Member *member, FlTime now)
{
    FlFateEvent fate;
    if (member->link != NULL) {
        fl_link_update(member->link, now);
        while (fl_link_take_fate(member->link, &fate) == FL_OK) {
        }
    }
}

static void server_tick(void *context, bool pass)
{
    Server *server = (Server *)context;
    FlTime now = fl_net_now();
    FlDatagram in[FL_NET_BATCH];
    int32_t count = FL_NET_BATCH;
    while (count == FL_NET_BATCH) {
        count = fl_net_receive_batch(server->net, in, FL_NET_BATCH);
        for (int32_t i = 0; i < count; i++) {
            server_take(server, &in[i], now);
        }
    }
    server_events(server, now);
    for (int32_t i = 0; i < server->client_count; i++) {
        member_rest(&server->members[i], now);
        if (pass) {
            member_pass(server, i, now);
        }
    }
    server_flush(server);
    FlSealed sealed;
    while (fl_seal_server_next(server->seal, now, &sealed) == FL_OK) {
        server_send(server, &sealed);
        server_flush(server); // its bytes are the seal's until the next call
    }
    server->count = 0;
}

static RelaySaid server_said(const void *context)
{
    const Server *server = (const Server *)context;
    FlNetStats stats = fl_net_stats(server->net);
    RelaySaid said = {server->messages, stats.sent_count, stats.sent_bytes};
    return said;
}

// ---------------------------------------------------------------- clients

typedef struct Client {
    FlNet *net;
    FlSealClient *seal;
    FlLink *link; // NULL until it is connected
} Client;

typedef struct Clients {
    int32_t count;
    const RelayMessages *messages;
    Client client[RELAY_CLIENTS];
} Clients;

static void clients_destroy(void *context)
{
    Clients *clients = (Clients *)context;
    for (int32_t i = 0; i < clients->count; i++) {
        fl_link_destroy(clients->client[i].link);
        fl_seal_client_destroy(clients->client[i].seal);
        fl_net_destroy(clients->client[i].net);
    }
    free(clients);
}

static bool client_open(Client *client, int32_t number, uint16_t port)
{
    FlSealTokenDef token_def = {
        .protocol_id = PROTOCOL_ID,
        .client_id = (uint64_t)number + 1,
        .create_s = (uint64_t)time(NULL),
        .timeout_s = 10,
        .address_count = 1,
    };
    token_def.expire_s = token_def.create_s + TOKEN_LIFE_S;
    FlSealClientDef def = fl_seal_client_def_default();
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    FlTime now = fl_net_now();
    if (fl_address_parse("127.0.0.1:1", &token_def.address[0]) != FL_OK) {
        return false;
    }
    token_def.address[0].port = port;
    return fl_seal_token_make(&token_def, PRIVATE_KEY, &def.random, token) == FL_OK &&
           relay_socket(token_def.address[0], 16, &client->net) == FL_OK &&
           fl_seal_client_create(&def, &client->seal) == FL_OK &&
           fl_seal_client_connect(client->seal, now, token_def.create_s, token) == FL_OK;
}

static void *clients_create(int32_t count, uint16_t port, const RelayMessages *messages)
{
    Clients *clients = (Clients *)calloc(1, sizeof *clients);
    if (clients == NULL) {
        return NULL;
    }
    clients->count = count;
    clients->messages = messages;
    for (int32_t i = 0; i < count; i++) {
        if (!client_open(&clients->client[i], i, port)) {
            clients_destroy(clients);
            return NULL;
        }
    }
    return clients;
}

static void client_send(Client *client, const FlSealed *sealed)
{
    FlDatagram datagram = {.data = sealed->bytes, .bytes = sealed->count};
    int32_t done;
    if (fl_net_send_batch(client->net, &datagram, 1, &done) != FL_OK) {
        return; // the kernel's buffer is full: lost, as on any network
    }
}

static void client_say(Client *client, FlTime now, const uint8_t *bytes, int32_t count)
{
    uint8_t buffer[FL_SEAL_PACKET_BYTES];
    FlWriter writer;
    FlFateEvent fate;
    uint64_t sequence;
    fl_link_update(client->link, now);
    while (fl_link_take_fate(client->link, &fate) == FL_OK) {
    }
    fl_link_number_from(client->link, fl_seal_client_sequence(client->seal));
    if (fl_link_begin(client->link, now, buffer + FL_SEAL_HEAD_BYTES, &writer) != FL_OK) {
        return;
    }
    fl_writer_bytes(&writer, bytes, count);
    int32_t size = fl_link_finish(client->link, now, &writer, 0, &sequence);
    FlSealed sealed;
    if (fl_seal_client_seal(client->seal, now, sequence, buffer, size, &sealed) == FL_OK) {
        client_send(client, &sealed);
    }
}

static void clients_say(void *context, int32_t tick)
{
    Clients *clients = (Clients *)context;
    FlTime now = fl_net_now();
    for (int32_t i = 0; i < clients->count; i++) {
        if (clients->client[i].link != NULL) {
            client_say(&clients->client[i], now, clients->messages->bytes[i][tick % RELAY_VARIANTS],
                       clients->messages->length[i]);
        }
    }
}

static void check_payload(const RelayMessages *messages, const FlLinkPacket *packet,
                          RelayHeard *heard)
{
    int32_t at = 2;
    int32_t count = packet->payload_bytes >= at ? packet->payload[1] : 0;
    bool good = packet->payload_bytes == 0 || (count > 0 && packet->payload[0] == KIND);
    for (int32_t i = 0; i < count && good; i++) {
        int32_t length =
            relay_messages_check(messages, packet->payload + at, packet->payload_bytes - at);
        at += length;
        good = length > 0;
        atomic_fetch_add(&heard->intact, good ? 1 : 0);
    }
    good = good && (count == 0 || at == packet->payload_bytes);
    atomic_fetch_add(&heard->corrupt, good ? 0 : 1);
}

static void client_take(Client *client, const RelayMessages *messages, const FlDatagram *datagram,
                        FlTime now, RelayHeard *heard)
{
    uint8_t bytes[2048];
    FlSealPayload payload;
    FlLinkPacket packet;
    if (datagram->bytes > (int32_t)sizeof bytes) {
        return;
    }
    memcpy(bytes, datagram->data, (size_t)datagram->bytes);
    FlAddress server = fl_seal_client_status(client->seal).address;
    FlSealDrop drop =
        fl_seal_client_receive(client->seal, now, server, bytes, datagram->bytes, &payload);
    if (drop == FL_SEAL_DROP_NONE && payload.bytes != NULL && client->link != NULL &&
        fl_link_receive(client->link, datagram->arrival, payload.sequence, payload.bytes,
                        payload.count, &packet) == FL_LINK_DROP_NONE) {
        check_payload(messages, &packet, heard);
    }
}

static void client_hear(Client *client, const RelayMessages *messages, FlTime now,
                        RelayHeard *heard)
{
    FlDatagram in[16];
    int32_t count = 16;
    while (count == 16) {
        count = fl_net_receive_batch(client->net, in, 16);
        for (int32_t i = 0; i < count; i++) {
            client_take(client, messages, &in[i], now, heard);
        }
    }
    FlSealed sealed;
    while (fl_seal_client_next(client->seal, now, &sealed) == FL_OK) {
        client_send(client, &sealed);
    }
    bool connected = fl_seal_client_status(client->seal).state == FL_SEAL_CONNECTED;
    if (connected && client->link == NULL) {
        FlLinkDef def = link_def();
        if (fl_link_create(&def, now, &client->link) != FL_OK) {
            client->link = NULL; // it stays silent
        }
    }
}

static void clients_hear(void *context, RelayHeard *heard)
{
    Clients *clients = (Clients *)context;
    FlTime now = fl_net_now();
    for (int32_t i = 0; i < clients->count; i++) {
        client_hear(&clients->client[i], clients->messages, now, heard);
    }
}

const RelayKind relay_fairlead = {
    .name = "Fairlead, sealed",
    .server_create = server_create,
    .server_ready = server_ready,
    .server_tick = server_tick,
    .server_said = server_said,
    .server_destroy = server_destroy,
    .clients_create = clients_create,
    .clients_say = clients_say,
    .clients_hear = clients_hear,
    .clients_destroy = clients_destroy,
};
