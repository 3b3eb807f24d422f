// The client table: a hash from addresses to slots with linear probing, rebuilt whenever somebody
// leaves.
//
// Leaving is rare (once an idle time-out), so removal is simple instead of quick; a packet's
// look-up is one hash and, nearly always, one comparison, as the table is at most half full.
//
// Invariant: list[0..count) are the slots in use, and every one of them can be found through the
// hash.
#include "app/wan/wan_clients.h"
#include "impair/impair.h"

#include <stdlib.h>

typedef struct Slot {
    WanClient client; ///< First, so that a client's address is its slot's.
    uint32_t generation;
} Slot;

struct WanClients {
    const WanNetwork *network;
    int32_t capacity;
    int32_t count;
    Slot *slots;
    WanClient **list;
    int32_t *table; ///< Slot plus one; 0 is empty.
    uint64_t table_mask;
    WanTotals gone; ///< Of clients that have left.
};

static uint64_t table_size(int32_t capacity)
{
    uint64_t size = 4;
    while (size < 2 * (uint64_t)capacity) {
        size *= 2;
    }
    return size;
}

WanClients *wan_clients_create(const WanNetwork *network, int32_t capacity)
{
    WanClients *clients = calloc(1, sizeof *clients);
    if (clients == NULL) {
        return NULL;
    }
    uint64_t size = table_size(capacity);
    clients->network = network;
    clients->capacity = capacity;
    clients->slots = calloc((size_t)capacity, sizeof *clients->slots);
    clients->list = calloc((size_t)capacity, sizeof(WanClient *));
    clients->table = calloc((size_t)size, sizeof *clients->table);
    clients->table_mask = size - 1;
    if (clients->slots == NULL || clients->list == NULL || clients->table == NULL) {
        wan_clients_destroy(clients);
        return NULL;
    }
    return clients;
}

static void close_client(WanClient *client)
{
    fl_net_destroy(client->upstream);
    fl_impair_destroy(client->way[WAN_UP]);
    fl_impair_destroy(client->way[WAN_DOWN]);
    *client = (WanClient){.upstream = NULL};
}

void wan_clients_destroy(WanClients *clients)
{
    if (clients == NULL) {
        return;
    }
    for (int32_t i = 0; i < clients->count; i++) {
        close_client(clients->list[i]);
    }
    free(clients->slots);
    free(clients->list);
    free(clients->table);
    free(clients);
}

// ---------------------------------------------------------------- finding

// FNV-1a; an address has no padding.
static uint64_t address_hash(FlAddress address)
{
    const uint8_t *bytes = (const uint8_t *)&address;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < sizeof address; i++) {
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    }
    return hash ^ hash >> 32;
}

// Where the address is in the table, or the empty place where it belongs.
static uint64_t place_of(const WanClients *clients, FlAddress address)
{
    uint64_t place = address_hash(address) & clients->table_mask;
    while (clients->table[place] != 0) {
        const WanClient *client = &clients->slots[clients->table[place] - 1].client;
        if (fl_address_equal(client->address, address)) {
            break;
        }
        place = (place + 1) & clients->table_mask;
    }
    return place;
}

uint64_t wan_clients_tag(const WanClients *clients, const WanClient *client, WanWay way)
{
    const Slot *slot = (const Slot *)(const void *)client;
    uint64_t index = (uint64_t)(slot - clients->slots);
    return (uint64_t)slot->generation << 32 | index << 1 | (uint64_t)way;
}

WanClient *wan_clients_by_tag(const WanClients *clients, uint64_t tag)
{
    Slot *slot = &clients->slots[(tag & UINT32_MAX) >> 1];
    bool same = slot->generation == tag >> 32 && slot->client.upstream != NULL;
    return same ? &slot->client : NULL;
}

int32_t wan_clients_list(const WanClients *clients, WanClient *const **list)
{
    *list = clients->list;
    return clients->count;
}

// ---------------------------------------------------------------- coming

static bool open_way(const WanNetwork *network, WanClient *client, WanWay way, FlTime changed_to)
{
    FlImpairDef def = fl_impair_def_default();
    def.settings = network->settings[way];
    def.seed = network->seed;
    def.link = (uint32_t)client->number * 2 + (uint32_t)way;
    def.luck_by_count = true;
    return fl__impair_schedule_apply(network->changes, network->change_count, -1, changed_to,
                                     client->number, wan_direction(way), &def.settings,
                                     NULL) == FL_OK &&
           fl_impair_create(&def, &client->way[way]) == FL_OK;
}

static bool open_client(const WanNetwork *network, WanClient *client, FlTime changed_to)
{
    FlNetDef def = fl_net_def_default();
    def.bind.family = network->server.family;
    def.peer = network->server;
    def.packet_bytes = WAN_PACKET_BYTES;
    return fl_net_create(&def, &client->upstream) == FL_OK &&
           open_way(network, client, WAN_UP, changed_to) &&
           open_way(network, client, WAN_DOWN, changed_to);
}

static Slot *free_slot(const WanClients *clients)
{
    for (int32_t i = 0; i < clients->capacity; i++) {
        if (clients->slots[i].client.upstream == NULL) {
            return &clients->slots[i];
        }
    }
    return NULL;
}

WanClient *wan_clients_hear(WanClients *clients, FlAddress address, FlTime changed_to)
{
    uint64_t place = place_of(clients, address);
    if (clients->table[place] != 0) {
        return &clients->slots[clients->table[place] - 1].client;
    }
    Slot *slot = free_slot(clients);
    if (slot == NULL) {
        clients->gone.turned_away_count++;
        return NULL;
    }
    slot->client = (WanClient){.address = address, .number = clients->gone.client_total_count};
    if (!open_client(clients->network, &slot->client, changed_to)) {
        close_client(&slot->client);
        clients->gone.turned_away_count++;
        return NULL;
    }
    slot->generation++;
    clients->list[clients->count++] = &slot->client;
    clients->gone.client_total_count++;
    clients->table[place] = (int32_t)(slot - clients->slots) + 1;
    return &slot->client;
}

// ---------------------------------------------------------------- staying and leaving

void wan_clients_change(WanClients *clients, FlTime to)
{
    const WanNetwork *network = clients->network;
    for (int32_t i = 0; i < clients->count; i++) {
        WanClient *client = clients->list[i];
        for (int32_t way = WAN_UP; way <= WAN_DOWN; way++) {
            FlImpairSettings settings = network->settings[way];
            FlResult result = fl__impair_schedule_apply(
                network->changes, network->change_count, -1, to, client->number,
                wan_direction((WanWay)way), &settings, NULL);
            if (result == FL_OK) {
                result = fl__impair_set(client->way[way], to, &settings);
            }
            (void)result; // cannot fail: every moment of the schedule was checked at the start
        }
    }
}

static void add_impair(FlImpairStats *sum, const FlImpairStats *more)
{
    sum->packet_count += more->packet_count;
    sum->byte_count += more->byte_count;
    sum->delivered_count += more->delivered_count;
    sum->delivered_bytes += more->delivered_bytes;
    sum->lost_random_count += more->lost_random_count;
    sum->lost_burst_count += more->lost_burst_count;
    sum->queue_full_count += more->queue_full_count;
    sum->duplicated_count += more->duplicated_count;
    sum->clamped_count += more->clamped_count;
    sum->overtaken_count += more->overtaken_count;
    sum->held_count += more->held_count;
    sum->delay_sum_ns = fl_time_add(sum->delay_sum_ns, more->delay_sum_ns);
}

// Those that a summary shows.
static void add_net(FlNetStats *sum, const FlNetStats *more)
{
    sum->received_count += more->received_count;
    sum->received_bytes += more->received_bytes;
    sum->sent_count += more->sent_count;
    sum->sent_bytes += more->sent_bytes;
    sum->truncated_count += more->truncated_count;
    sum->kernel_dropped_count += more->kernel_dropped_count;
    sum->refused_count += more->refused_count;
    sum->receive_failed_count += more->receive_failed_count;
    sum->too_large_count += more->too_large_count;
    sum->unreachable_count += more->unreachable_count;
    sum->send_failed_count += more->send_failed_count;
    sum->stamp_missing_count += more->stamp_missing_count;
    sum->stamp_rejected_count += more->stamp_rejected_count;
}

static void add_client(WanTotals *totals, const WanClient *client)
{
    for (int32_t way = WAN_UP; way <= WAN_DOWN; way++) {
        FlImpairStats stats = fl__impair_stats(client->way[way]);
        add_impair(&totals->way[way], &stats);
    }
    FlNetStats stats = fl_net_stats(client->upstream);
    add_net(&totals->upstream, &stats);
}

static void rebuild_table(WanClients *clients)
{
    for (uint64_t i = 0; i <= clients->table_mask; i++) {
        clients->table[i] = 0;
    }
    for (int32_t i = 0; i < clients->count; i++) {
        const Slot *slot = (const Slot *)(const void *)clients->list[i];
        clients->table[place_of(clients, slot->client.address)] =
            (int32_t)(slot - clients->slots) + 1;
    }
}

void wan_clients_expire(WanClients *clients, FlTime since)
{
    int32_t before = clients->count;
    for (int32_t i = clients->count - 1; i >= 0; i--) {
        WanClient *client = clients->list[i];
        if (client->last_packet < since) {
            add_client(&clients->gone, client);
            close_client(client);
            clients->list[i] = clients->list[--clients->count];
        }
    }
    if (clients->count != before) {
        rebuild_table(clients);
    }
}

void wan_clients_totals(const WanClients *clients, WanTotals *out)
{
    *out = clients->gone;
    out->client_count = clients->count;
    for (int32_t i = 0; i < clients->count; i++) {
        add_client(out, clients->list[i]);
    }
}
