// A relay over ENet, as its tutorial would have it: one unreliable packet per message, shared by
// all receivers, one flush a tick. Its throttle, which silently drops packets, is switched off.
#ifdef BENCH_ENET

#include "bench/relay.h"

#include <enet/enet.h>

#include <stdlib.h>

#define MESSAGES (4 * RELAY_CLIENTS) // in one tick

typedef struct Server {
    ENetHost *host;
    int32_t client_count;
    int32_t connected;
    ENetPacket *packets[MESSAGES];
    ENetPeer *from[MESSAGES];
    int32_t count;
    uint64_t messages, sent_packets, sent_bytes;
} Server;

// No loss makes it give packets up: its share of those that go stays at 32 of 32.
static void throttle_off(ENetPeer *peer)
{
    enet_peer_throttle_configure(peer, ENET_PEER_PACKET_THROTTLE_INTERVAL,
                                 ENET_PEER_PACKET_THROTTLE_SCALE, 0);
}

static void server_destroy(void *context)
{
    Server *server = (Server *)context;
    if (server->host != NULL) {
        enet_host_destroy(server->host);
    }
    free(server);
    enet_deinitialize();
}

static void *server_create(int32_t client_count, uint16_t *port)
{
    Server *server = (Server *)calloc(1, sizeof *server);
    if (server == NULL || enet_initialize() != 0) {
        free(server);
        return NULL;
    }
    ENetAddress address = {.port = 0};
    server->client_count = client_count;
    ENetAddress bound;
    bool made = enet_address_set_host_ip(&address, "127.0.0.1") == 0;
    server->host = made ? enet_host_create(&address, (size_t)client_count, 1, 0, 0) : NULL;
    if (server->host == NULL || enet_socket_get_address(server->host->socket, &bound) != 0) {
        server_destroy(server);
        return NULL;
    }
    *port = bound.port;
    return server;
}

static bool server_ready(const void *context)
{
    const Server *server = (const Server *)context;
    return server->connected == server->client_count;
}

static void server_take(Server *server, const ENetEvent *event)
{
    if (event->type == ENET_EVENT_TYPE_CONNECT) {
        throttle_off(event->peer);
        server->connected++;
    } else if (event->type == ENET_EVENT_TYPE_DISCONNECT) {
        server->connected--;
    } else if (event->type == ENET_EVENT_TYPE_RECEIVE) {
        if (server->count == MESSAGES) {
            enet_packet_destroy(event->packet);
            return;
        }
        server->from[server->count] = event->peer;
        server->packets[server->count++] = event->packet;
    }
}

// The packet that came in is what goes out: nothing is copied.
static void pass_on(Server *server, ENetPacket *packet, const ENetPeer *from)
{
    for (size_t i = 0; i < server->host->peerCount; i++) {
        ENetPeer *peer = &server->host->peers[i];
        if (peer != from && peer->state == ENET_PEER_STATE_CONNECTED &&
            enet_peer_send(peer, 0, packet) == 0) {
            server->messages++;
        }
    }
}

static void server_tick(void *context, bool pass)
{
    Server *server = (Server *)context;
    ENetEvent event;
    bool some = enet_host_service(server->host, &event, 0) > 0;
    while (some) {
        server_take(server, &event);
        // Once all are connected one look at the socket takes everything in: the cheapest way.
        some = pass ? enet_host_check_events(server->host, &event) > 0
                    : enet_host_service(server->host, &event, 0) > 0;
    }
    for (int32_t i = 0; i < server->count; i++) {
        ENetPacket *packet = server->packets[i];
        packet->referenceCount++; // ours while we look at it
        packet->flags = 0;
        if (pass) {
            pass_on(server, packet, server->from[i]);
        }
        if (--packet->referenceCount == 0) {
            enet_packet_destroy(packet);
        }
    }
    server->count = 0;
    enet_host_flush(server->host);
    server->sent_packets += server->host->totalSentPackets;
    server->sent_bytes += server->host->totalSentData;
    server->host->totalSentPackets = server->host->totalSentData = 0;
}

static RelaySaid server_said(const void *context)
{
    const Server *server = (const Server *)context;
    RelaySaid said = {server->messages, server->sent_packets, server->sent_bytes};
    return said;
}

// ---------------------------------------------------------------- clients

typedef struct Clients {
    int32_t count;
    const RelayMessages *messages;
    ENetHost *host[RELAY_CLIENTS];
    ENetPeer *peer[RELAY_CLIENTS];
    bool connected[RELAY_CLIENTS];
} Clients;

static void clients_destroy(void *context)
{
    Clients *clients = (Clients *)context;
    for (int32_t i = 0; i < clients->count; i++) {
        if (clients->host[i] != NULL) {
            enet_host_destroy(clients->host[i]);
        }
    }
    free(clients);
}

static void *clients_create(int32_t count, uint16_t port, const RelayMessages *messages)
{
    Clients *clients = (Clients *)calloc(1, sizeof *clients);
    if (clients == NULL) {
        return NULL;
    }
    clients->count = count;
    clients->messages = messages;
    ENetAddress address = {.port = port};
    bool good = enet_address_set_host_ip(&address, "127.0.0.1") == 0;
    for (int32_t i = 0; i < count && good; i++) {
        clients->host[i] = enet_host_create(NULL, 1, 1, 0, 0);
        good = clients->host[i] != NULL;
        clients->peer[i] = good ? enet_host_connect(clients->host[i], &address, 1, 0) : NULL;
        good = clients->peer[i] != NULL;
    }
    if (!good) {
        clients_destroy(clients);
        return NULL;
    }
    return clients;
}

static void clients_say(void *context, int32_t tick)
{
    Clients *clients = (Clients *)context;
    const RelayMessages *m = clients->messages;
    for (int32_t i = 0; i < clients->count; i++) {
        const uint8_t *bytes = m->bytes[i][tick % RELAY_VARIANTS];
        ENetPacket *packet =
            clients->connected[i] ? enet_packet_create(bytes, (size_t)m->length[i], 0) : NULL;
        if (packet != NULL && enet_peer_send(clients->peer[i], 0, packet) != 0) {
            enet_packet_destroy(packet);
        }
        enet_host_flush(clients->host[i]);
    }
}

static void client_take(Clients *clients, int32_t i, const ENetEvent *event, RelayHeard *heard)
{
    if (event->type == ENET_EVENT_TYPE_CONNECT) {
        throttle_off(event->peer);
        clients->connected[i] = true;
    } else if (event->type == ENET_EVENT_TYPE_DISCONNECT) {
        clients->connected[i] = false;
    } else if (event->type == ENET_EVENT_TYPE_RECEIVE) {
        int32_t bytes = (int32_t)event->packet->dataLength;
        bool same = relay_messages_check(clients->messages, event->packet->data, bytes) == bytes;
        atomic_fetch_add(same ? &heard->intact : &heard->corrupt, 1);
        enet_packet_destroy(event->packet);
    }
}

static void clients_hear(void *context, RelayHeard *heard)
{
    Clients *clients = (Clients *)context;
    for (int32_t i = 0; i < clients->count; i++) {
        ENetEvent event;
        while (enet_host_service(clients->host[i], &event, 0) > 0) {
            client_take(clients, i, &event, heard);
        }
    }
}

#define TEXT(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const RelayKind relay_enet = {
    .name = "ENet " VERSION_TEXT(ENET_VERSION_MAJOR, ENET_VERSION_MINOR, ENET_VERSION_PATCH),
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

#else
typedef int RelayWithoutEnet; // a file must have something in it
#endif
