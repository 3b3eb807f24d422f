// Chat over ENet: `chat_enet` serves at port 4712 of this machine, `chat_enet TEXT` says it and
// prints what the others say for two seconds.
#include <enet/enet.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    ENetAddress at = {.port = 4712};
    if (enet_initialize() != 0 || enet_address_set_host(&at, "127.0.0.1") != 0) {
        return puts("ENet does not start"), 1;
    }
    ENetHost *host = enet_host_create(argc > 1 ? NULL : &at, 16, 1, 0, 0);
    if (host == NULL || (argc > 1 && enet_host_connect(host, &at, 1, 0) == NULL)) {
        return puts("no socket"), 1;
    }
    ENetPeer *server = NULL;
    bool said = false;
    enet_uint32 end = enet_time_get() + (argc > 1 ? 2500 : 100000);
    while (enet_time_get() < end) {
        ENetEvent event;
        if (enet_host_service(host, &event, 50) > 0) {
            if (event.type == ENET_EVENT_TYPE_CONNECT) {
                server = event.peer;
            } else if (event.type == ENET_EVENT_TYPE_RECEIVE) {
                if (argc > 1) {
                    printf("%.*s\n", (int)event.packet->dataLength, (char *)event.packet->data);
                }
                for (size_t i = 0; argc == 1 && i < host->peerCount; i++) {
                    ENetPeer *peer = &host->peers[i];
                    if (peer->state == ENET_PEER_STATE_CONNECTED && peer != event.peer) {
                        ENetPacket *packet =
                            enet_packet_create(event.packet->data, event.packet->dataLength,
                                               ENET_PACKET_FLAG_RELIABLE);
                        enet_peer_send(peer, 0, packet);
                    }
                }
                enet_packet_destroy(event.packet);
            }
        }
        if (argc > 1 && server != NULL && !said && enet_time_get() + 1500 > end) {
            ENetPacket *packet =
                enet_packet_create(argv[1], strlen(argv[1]), ENET_PACKET_FLAG_RELIABLE);
            said = enet_peer_send(server, 0, packet) == 0;
        }
    }
    enet_host_destroy(host);
    enet_deinitialize();
    return 0;
}
