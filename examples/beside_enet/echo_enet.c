// Echo over ENet: `echo_enet` serves at port 4711 of this machine, `echo_enet TEXT` sends it and
// prints the answer.
#include <enet/enet.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    ENetAddress at = {.port = 4711};
    if (enet_initialize() != 0 || enet_address_set_host(&at, "127.0.0.1") != 0) {
        return puts("ENet does not start"), 1;
    }
    ENetHost *host = enet_host_create(argc > 1 ? NULL : &at, 16, 1, 0, 0);
    if (host == NULL) {
        return puts("no socket"), 1;
    }
    if (argc > 1 && enet_host_connect(host, &at, 1, 0) == NULL) {
        return puts("no peer"), 1;
    }
    ENetEvent event;
    while (enet_host_service(host, &event, argc > 1 ? 5000 : 100000) > 0) {
        if (argc > 1 && event.type == ENET_EVENT_TYPE_CONNECT) {
            ENetPacket *packet =
                enet_packet_create(argv[1], strlen(argv[1]), ENET_PACKET_FLAG_RELIABLE);
            enet_peer_send(event.peer, 0, packet);
        } else if (argc > 1 && event.type == ENET_EVENT_TYPE_RECEIVE) {
            printf("%.*s\n", (int)event.packet->dataLength, (char *)event.packet->data);
            enet_packet_destroy(event.packet);
            enet_peer_disconnect_now(event.peer, 0);
            break;
        } else if (event.type == ENET_EVENT_TYPE_RECEIVE) {
            ENetPacket *packet = enet_packet_create(event.packet->data, event.packet->dataLength,
                                                    ENET_PACKET_FLAG_RELIABLE);
            enet_peer_send(event.peer, 0, packet);
            enet_packet_destroy(event.packet);
        }
    }
    enet_host_destroy(host);
    enet_deinitialize();
    return 0;
}
