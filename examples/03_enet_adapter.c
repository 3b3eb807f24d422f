// 03_enet_adapter: Fairlead over ENet. Your game keeps its connections.        difficulty: ***
//
// A session makes datagrams and takes datagrams; who carries them is not its business. Here ENet
// does, as unreliable unsequenced packets: Fairlead has its own order and repeats what must arrive,
// and a late packet is news to it. Addresses are ENet's. The session is plain: ENet has let the
// peer in, and protects it as far as ENet does. Needs libenet.
#include <enet/enet.h>
#include <fairlead/fairlead.h>
#include <fairlead/net.h>
#include <fairlead/session.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANNEL 0 // the others are your game's

typedef struct Player {
    ENetHost *enet;
    FlSession *session;
    FlEntityId tank;
    double worst;
} Player;

static void must(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

static FlAddress address_of(ENetAddress enet)
{
    FlAddress address = {.port = enet.port, .family = FL_FAMILY_IPV4};
    memcpy(address.ip, &enet.host, 4); // both in the network's order
    return address;
}

static ENetPeer *peer_at(ENetHost *enet, FlAddress address)
{
    for (size_t i = 0; i < enet->peerCount; i++) {
        ENetPeer *peer = &enet->peers[i];
        if (peer->state == ENET_PEER_STATE_CONNECTED &&
            fl_address_equal(address_of(peer->address), address)) {
            return peer;
        }
    }
    return NULL;
}

static void receive_all(Player *player)
{
    ENetEvent event;
    while (enet_host_service(player->enet, &event, 0) > 0) {
        if (event.type == ENET_EVENT_TYPE_CONNECT) {
            // Never drop packets on a guess: the session keeps to a budget of its own.
            enet_peer_throttle_configure(event.peer, ENET_PEER_PACKET_THROTTLE_INTERVAL, 2, 0);
        } else if (event.type == ENET_EVENT_TYPE_RECEIVE) {
            if (event.channelID == CHANNEL) {
                fl_session_receive(player->session, address_of(event.peer->address),
                                   event.packet->data, (int32_t)event.packet->dataLength,
                                   fl_net_now());
            }
            enet_packet_destroy(event.packet);
        }
    }
}

static void send_all(Player *player, FlTime now)
{
    FlOutgoing out;
    while (fl_session_next(player->session, now, &out) == FL_OK) {
        ENetPeer *peer = peer_at(player->enet, out.to);
        if (peer != NULL) { // otherwise it is lost, like any other datagram
            ENetPacket *packet =
                enet_packet_create(out.bytes, (size_t)out.count, ENET_PACKET_FLAG_UNSEQUENCED);
            must(packet != NULL && enet_peer_send(peer, CHANNEL, packet) == 0, "ENet cannot send");
        }
    }
    enet_host_flush(player->enet);
}

// Every tank drives one circle by session time, so that everybody can check the others'.
static FlState tank_at(FlTime time, FlTime session_time)
{
    double angle = 0.5 * fl_span_seconds(session_time);
    FlState state = {.time = time, .turn_rate = 0.5, .facing = fl_facing_yaw(angle, 0.5)};
    state.position = fl_vec3(40.0 * sin(angle), -40.0 * cos(angle), 0.0);
    state.velocity = fl_vec3(20.0 * cos(angle), 20.0 * sin(angle), 0.0);
    return state;
}

static void frame(Player *player, FlTime now)
{
    FlSession *session = player->session;
    FlState truth = tank_at(now, fl_session_time(session, now));
    FlEntityDef def = fl_entity_def_default();
    if (player->tank.index1 != 0 || (player->tank = fl_entity_create(session, &def)).index1 != 0) {
        (void)!fl_entity_set(session, player->tank, &truth); // before it knows the time: in vain
    }
    FlEntityId id = {0};
    while (fl_entity_next(session, &id)) {
        FlPose pose;
        if (!fl_entity_is_ours(session, id) && fl_entity_pose_at(session, now, id, &pose)) {
            double off = fl_vec3_distance(pose.position, truth.position);
            player->worst = off > player->worst ? off : player->worst;
        }
    }
}

static void open_session(Player *player, FlRole role, FlAddress host)
{
    FlSessionDef def = fl_session_def_default();
    def.role = role;
    def.host = host;
    def.seed = (uint64_t)fl_net_now() + (uint64_t)role;
    must(fl_session_create(&def, fl_net_now(), &player->session) == FL_OK, "no session");
}

int main(void)
{
    Player server = {0}, client = {0};
    ENetAddress address = {0};
    must(enet_initialize() == 0 && atexit(enet_deinitialize) == 0, "no ENet");
    must(enet_address_set_host_ip(&address, "127.0.0.1") == 0, "no address");
    server.enet = enet_host_create(&address, 8, 2, 0, 0);
    client.enet = enet_host_create(NULL, 1, 2, 0, 0);
    must(server.enet != NULL && client.enet != NULL, "no ENet host");
    must(enet_socket_get_address(server.enet->socket, &address) == 0, "no port");
    must(enet_address_set_host_ip(&address, "127.0.0.1") == 0, "no address");
    must(enet_host_connect(client.enet, &address, 2, 0) != NULL, "ENet cannot connect");
    open_session(&server, FL_ROLE_HOST, address_of(address));
    open_session(&client, FL_ROLE_CLIENT, address_of(address));
    Player *players[2] = {&server, &client};
    for (FlTime now = fl_net_now(), end = now + FL_SEC(3); now < end; now = fl_net_now()) {
        for (int i = 0; i < 2; i++) {
            receive_all(players[i]);
            frame(players[i], now);
            send_all(players[i], now);
        }
        enet_uint32 readable = ENET_SOCKET_WAIT_RECEIVE;
        (void)enet_socket_wait(client.enet->socket, &readable, 5);
    }
    uint64_t heard = fl_session_count(client.session, FL_SESSION_UPDATES_TAKEN);
    printf("over ENet: %llu updates; the other's tank at most %.3f m off here, %.3f m there\n",
           (unsigned long long)heard, client.worst, server.worst);
    fl_session_close(client.session);
    fl_session_close(server.session);
    enet_host_destroy(client.enet);
    enet_host_destroy(server.enet);
    return heard > 0 ? 0 : 1; // how far off depends on how busy this machine is
}
