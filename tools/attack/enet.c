// The same server and players with ENet, as its tutorial writes them; its throttle switched off.
#ifdef ATTACK_ENET

#include "attack.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <enet/enet.h>

#define CHANNELS 2

static void throttle_off(ENetPeer *peer)
{
    enet_peer_throttle_configure(peer, ENET_PEER_PACKET_THROTTLE_INTERVAL,
                                 ENET_PEER_PACKET_THROTTLE_SCALE, 0);
}

static void say_to(ENetPeer *peer, const void *bytes, size_t count)
{
    ENetPacket *packet = enet_packet_create(bytes, count, ENET_PACKET_FLAG_UNSEQUENCED);
    if (packet != NULL && enet_peer_send(peer, 0, packet) != 0) {
        enet_packet_destroy(packet);
    }
}

// ---------------------------------------------------------------- server

static Shared *capturing; // ENet's hook has no context; one server per process

static int ENET_CALLBACK intercept(ENetHost *host, ENetEvent *event)
{
    (void)event;
    server_capture(capturing, host->receivedData, (int32_t)host->receivedDataLength,
                   host->receivedAddress.port);
    return 0;
}

static int32_t slots_taken(const ENetHost *host)
{
    int32_t count = 0;
    for (size_t i = 0; i < host->peerCount; i++) {
        count += host->peers[i].state != ENET_PEER_STATE_DISCONNECTED;
    }
    return count;
}

static void publish(Shared *shared, ENetHost *host, Report *report, bool idle)
{
    report->slots = slots_taken(host);
    report->bytes_in += host->totalReceivedData;
    report->bytes_out += host->totalSentData;
    host->totalReceivedData = 0;
    host->totalSentData = 0;
    atomic_store(&shared->slots, report->slots);
    if (idle && atomic_load(&shared->ask)) {
        report->cpu_s = cpu_seconds();
        report->at = fl_net_now();
        shared->report = *report;
        atomic_store(&shared->ask, false);
    }
}

static void happen(Shared *shared, Report *report, ENetEvent *event)
{
    if (event->type == ENET_EVENT_TYPE_CONNECT) {
        throttle_off(event->peer);
    } else if (event->type == ENET_EVENT_TYPE_RECEIVE) {
        server_heard(shared, report, event->packet->data, (int32_t)event->packet->dataLength);
        say_to(event->peer, event->packet->data, event->packet->dataLength);
        enet_packet_destroy(event->packet);
    }
}

static void serve(Shared *shared)
{
    ENetAddress at = {.host = htonl(INADDR_LOOPBACK), .port = 0};
    ENetHost *host = enet_initialize() == 0 ? enet_host_create(&at, SLOTS, CHANNELS, 0, 0) : NULL;
    if (host == NULL || enet_socket_get_address(host->socket, &at) != 0) {
        fprintf(stderr, "attack: ENet's server does not start\n");
        exit(1);
    }
    capturing = shared;
    host->intercept = intercept;
    atomic_store(&shared->port, at.port);
    Report report = {0};
    while (!atomic_load(&shared->stop)) {
        ENetEvent event;
        int got = enet_host_service(host, &event, 5);
        bool idle = got <= 0;
        while (got > 0) {
            happen(shared, &report, &event);
            got = enet_host_check_events(host, &event);
        }
        enet_host_flush(host);
        publish(shared, host, &report, idle);
    }
    enet_host_destroy(host);
}

// ---------------------------------------------------------------- player

static bool player_open(Player *player, const Shared *shared)
{
    ENetAddress at = {.host = htonl(INADDR_LOOPBACK)};
    at.port = (uint16_t)atomic_load(&shared->port);
    ENetHost *host = enet_initialize() == 0 ? enet_host_create(NULL, 1, CHANNELS, 0, 0) : NULL;
    player->host = host;
    player->peer = host != NULL ? enet_host_connect(host, &at, CHANNELS, 0) : NULL;
    return player->peer != NULL;
}

static void player_step(Player *player, Players *players)
{
    ENetEvent event;
    while (enet_host_service(player->host, &event, 0) > 0) {
        if (event.type == ENET_EVENT_TYPE_CONNECT) {
            player->connected = true;
            throttle_off(event.peer);
        } else if (event.type == ENET_EVENT_TYPE_DISCONNECT) {
            player->connected = false;
        } else if (event.type == ENET_EVENT_TYPE_RECEIVE) {
            message_back(players, player, event.packet->data, (int32_t)event.packet->dataLength);
            enet_packet_destroy(event.packet);
        }
    }
}

static void player_say(Player *player, const Message *message)
{
    say_to(player->peer, message, sizeof *message);
    enet_host_flush(player->host);
}

static void player_close(Player *player)
{
    enet_host_destroy(player->host);
}

static int player_descriptor(const Player *player)
{
    return ((const ENetHost *)player->host)->socket;
}

// ---------------------------------------------------------------- ammunition

static int32_t request(uint8_t *bytes, FlRandom *random)
{
    struct {
        ENetProtocolHeader header;
        ENetProtocolConnect connect;
    } ENET_PACKED packet;
    memset(&packet, 0, sizeof packet);
    packet.header.peerID =
        htons(ENET_PROTOCOL_MAXIMUM_PEER_ID | ENET_PROTOCOL_HEADER_FLAG_SENT_TIME);
    packet.connect.header.command =
        ENET_PROTOCOL_COMMAND_CONNECT | ENET_PROTOCOL_COMMAND_FLAG_ACKNOWLEDGE;
    packet.connect.header.channelID = 0xff;
    packet.connect.header.reliableSequenceNumber = htons(1);
    packet.connect.incomingSessionID = 0xff;
    packet.connect.outgoingSessionID = 0xff;
    packet.connect.mtu = htonl(1392);
    packet.connect.windowSize = htonl(ENET_PROTOCOL_MAXIMUM_WINDOW_SIZE);
    packet.connect.channelCount = htonl(CHANNELS);
    packet.connect.packetThrottleInterval = htonl(5000);
    packet.connect.packetThrottleAcceleration = htonl(2);
    packet.connect.packetThrottleDeceleration = htonl(2);
    packet.connect.connectID = (uint32_t)fl_random_next(random);
    memcpy(bytes, &packet, sizeof packet);
    return (int32_t)sizeof packet;
}

// The header names a slot; the session is two bits, guessed.
static int32_t garbage(uint8_t *bytes, FlRandom *random)
{
    for (int32_t i = 0; i < 104; i += 8) {
        uint64_t noise = fl_random_next(random);
        memcpy(bytes + i, &noise, 8);
    }
    bytes[0] = (uint8_t)(0x80 | (bytes[0] & 0x30)); // time is sent, not compressed
    bytes[1] = (uint8_t)(bytes[1] % SLOTS);
    return 100;
}

// Nothing but one message: header (2), command SEND_UNSEQUENCED (8), the message.
static bool is_payload(const uint8_t *bytes, int32_t count)
{
    return count == 2 + 8 + (int32_t)sizeof(Message) &&
           (bytes[2] & ENET_PROTOCOL_COMMAND_MASK) == ENET_PROTOCOL_COMMAND_SEND_UNSEQUENCED;
}

static void refresh(uint8_t *bytes, int32_t count, uint32_t n)
{
    (void)count;
    uint32_t group = ((uint32_t)bytes[6] << 8 | bytes[7]) + 200 + n;
    bytes[6] = (uint8_t)(group >> 8);
    bytes[7] = (uint8_t)group;
}

static int32_t goodbye(uint8_t *bytes, int32_t count)
{
    (void)count;
    memset(bytes + 2, 0, 8);
    bytes[2] = ENET_PROTOCOL_COMMAND_DISCONNECT | ENET_PROTOCOL_COMMAND_FLAG_UNSEQUENCED;
    bytes[3] = 0xff;
    return 10;
}

const Subject subject_enet = {
    .name = "ENet 1.3.17",
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

#else
typedef int attack_without_enet; // C wants something in every file
#endif
