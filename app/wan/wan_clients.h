// The clients of the proxy: whom we have heard from, each with its own socket to the server and its
// own network.
#ifndef APP_WAN_CLIENTS_H
#define APP_WAN_CLIENTS_H

#include "fairlead/impair.h"
#include "fairlead/net.h"
#include "impair/impair.h"

/// The proxy waits for one socket per client and its own.
#define WAN_CLIENT_CAPACITY (FL_NET_WAIT_CAPACITY - 1)

/// Largest datagram forwarded.
#define WAN_PACKET_BYTES 2048

/// One client. Slots are reused; `number` never is.
typedef struct WanClient {
    FlAddress address;
    FlNet *upstream;  ///< Connected to the server. NULL: the slot is free.
    FlImpair *way[2]; ///< By WanWay.
    int32_t
        number; ///< In order of appearance, from 0: the pair of schedules and of random numbers.
    FlTime last_packet; ///< In either direction.
} WanClient;

typedef enum WanWay {
    WAN_UP = 0, ///< From client to server.
    WAN_DOWN = 1,
} WanWay;

static inline FlDirection wan_direction(WanWay way)
{
    return way == WAN_UP ? FL_DIRECTION_UP : FL_DIRECTION_DOWN;
}

/// What every client starts with.
typedef struct WanNetwork {
    FlAddress server;
    FlImpairSettings settings[2]; ///< By WanWay, before any change.
    const FlImpairChange *changes;
    int32_t change_count;
    uint64_t seed;
} WanNetwork;

typedef struct WanClients WanClients;

/// Totals of clients that have left and of those that are here.
typedef struct WanTotals {
    FlImpairStats way[2];
    FlNetStats upstream;
    int32_t client_count;       ///< Here now.
    int32_t client_total_count; ///< Ever.
    uint64_t turned_away_count; ///< Packets of clients for whom there was no room or no socket.
} WanTotals;

/// NULL if there is no memory. `network` is borrowed.
WanClients *wan_clients_create(const WanNetwork *network, int32_t capacity);
void wan_clients_destroy(WanClients *clients);

/// The client with that address; a new one if there is room, else NULL (counted). A new one gets
/// the schedule's changes up to `changed_to`.
WanClient *wan_clients_hear(WanClients *clients, FlAddress address, FlTime changed_to);

/// Names a client in a packet's tag; NULL again once it has left.
uint64_t wan_clients_tag(const WanClients *clients, const WanClient *client, WanWay way);
WanClient *wan_clients_by_tag(const WanClients *clients, uint64_t tag);

static inline WanWay wan_way_of_tag(uint64_t tag)
{
    return (tag & 1) != 0 ? WAN_DOWN : WAN_UP;
}

/// Those that are here, in no particular order, and their sockets in the same order. Valid until
/// one comes or leaves.
int32_t wan_clients_list(const WanClients *clients, WanClient *const **list);

/// Lets clients go that were silent since before `since`.
void wan_clients_expire(WanClients *clients, FlTime since);

/// Applies the schedule up to `to`. It has been checked before.
void wan_clients_change(WanClients *clients, FlTime to);

void wan_clients_totals(const WanClients *clients, WanTotals *out);

#endif
