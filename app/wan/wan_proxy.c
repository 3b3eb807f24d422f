// The proxy's loop body: changes that are due, datagrams that came, datagrams that are due, sleep.
//
// A packet's delay counts from the kernel's receive stamp, not from when we got to it, so a busy
// moment costs no accuracy as long as the packet is not yet due. All times in here are since the
// start; sockets use the system's.
#include "app/wan/wan_proxy.h"

#include <stdlib.h>

// Steps start at least this far apart. Under load they then share system calls and sleeps (a sleep
// alone costs 13 us of processor time on a virtual machine), and a delay grows by no more than
// this.
#define STEP_APART FL_US(50)

#define LATE_STEP_NS 1000 // lateness is counted by microseconds, up to 20 ms
#define LATE_STEPS 20000

struct WanProxy {
    const WanProxyDef *def;
    FlNet *listener;
    WanClients *clients;
    FlFlight *flight;
    FlTime start;       ///< On the system's clock.
    FlTime last_step;   ///< When the last step began to work.
    FlTime changed_to;  ///< The schedule has been applied up to here.
    FlTime next_change; ///< When it goes on.
    uint64_t gone_count;
    uint64_t blocked_count;
    uint64_t late_max_ns;
    uint64_t late_count;
    uint64_t late[LATE_STEPS + 1]; ///< The last is for more.
};

static FlResult open_parts(WanProxy *proxy)
{
    const WanProxyDef *def = proxy->def;
    FlNetDef net = fl_net_def_default();
    net.bind = def->listen;
    net.packet_bytes = WAN_PACKET_BYTES;
    FlResult result = fl_net_create(&net, &proxy->listener);
    if (result != FL_OK) {
        return result;
    }
    FlFlightDef flight = fl__flight_def_default();
    flight.capacity = def->flight_capacity;
    flight.packet_bytes = WAN_PACKET_BYTES;
    proxy->clients = wan_clients_create(&def->network, def->client_capacity);
    return proxy->clients == NULL ? FL_NO_MEMORY : fl__flight_create(&flight, &proxy->flight);
}

FlResult wan_proxy_create(const WanProxyDef *def, WanProxy **out)
{
    *out = NULL;
    WanProxy *proxy = calloc(1, sizeof *proxy);
    if (proxy == NULL) {
        return FL_NO_MEMORY;
    }
    proxy->def = def;
    FlResult result = open_parts(proxy);
    if (result != FL_OK) {
        wan_proxy_destroy(proxy);
        return result;
    }
    const WanNetwork *network = &def->network;
    proxy->start = fl_net_now();
    proxy->changed_to = -1;
    proxy->next_change = fl__impair_schedule_next(network->changes, network->change_count, -1);
    *out = proxy;
    return FL_OK;
}

void wan_proxy_destroy(WanProxy *proxy)
{
    if (proxy != NULL) {
        fl_net_destroy(proxy->listener);
        wan_clients_destroy(proxy->clients);
        fl__flight_destroy(proxy->flight);
        free(proxy);
    }
}

FlAddress wan_proxy_address(const WanProxy *proxy)
{
    return fl_net_address(proxy->listener);
}

FlTime wan_proxy_time(const WanProxy *proxy)
{
    return fl_net_now() - proxy->start;
}

// ---------------------------------------------------------------- in

static void launch(WanProxy *proxy, WanClient *client, WanWay way, const FlDatagram *datagram)
{
    FlTime now = datagram->arrival - proxy->start;
    client->last_packet = now;
    FlFate fate = fl_impair_send(client->way[way], now, datagram->bytes);
    for (int32_t i = 0; i < fate.copy_count; i++) {
        uint64_t tag = wan_clients_tag(proxy->clients, client, way);
        FlResult result = fl__flight_push(proxy->flight, fate.deliver_at[i], tag, datagram->data,
                                          datagram->bytes);
        (void)result; // a full flight counts itself
    }
}

static void receive_up(WanProxy *proxy)
{
    FlDatagram datagrams[FL_NET_BATCH];
    int32_t count = fl_net_receive_batch(proxy->listener, datagrams, FL_NET_BATCH);
    for (int32_t i = 0; i < count; i++) {
        WanClient *client =
            wan_clients_hear(proxy->clients, datagrams[i].address, proxy->changed_to);
        if (client != NULL) {
            launch(proxy, client, WAN_UP, &datagrams[i]);
        }
    }
}

static void receive_down(WanProxy *proxy, WanClient *client)
{
    FlDatagram datagrams[FL_NET_BATCH];
    int32_t count = fl_net_receive_batch(client->upstream, datagrams, FL_NET_BATCH);
    for (int32_t i = 0; i < count; i++) {
        launch(proxy, client, WAN_DOWN, &datagrams[i]);
    }
}

// ---------------------------------------------------------------- out

static void count_late(WanProxy *proxy, FlTime now, FlTime due)
{
    uint64_t late = now > due ? (uint64_t)(now - due) : 0;
    uint64_t step = late / LATE_STEP_NS;
    proxy->late[step < LATE_STEPS ? step : LATE_STEPS]++;
    proxy->late_count++;
    if (late > proxy->late_max_ns) {
        proxy->late_max_ns = late;
    }
}

// Datagrams for one socket, collected until another socket's turn.
typedef struct Outbox {
    FlNet *net;
    FlDatagram datagrams[FL_NET_BATCH];
    int32_t count;
} Outbox;

static void flush(WanProxy *proxy, Outbox *outbox)
{
    if (outbox->count == 0) {
        return;
    }
    int32_t done = 0;
    if (fl_net_send_batch(outbox->net, outbox->datagrams, outbox->count, &done) != FL_OK) {
        proxy->blocked_count += (uint64_t)(outbox->count - done);
    }
    outbox->count = 0;
}

static void post(WanProxy *proxy, Outbox *outbox, FlNet *net, FlAddress to,
                 const FlFlightPacket *packet)
{
    if (outbox->net != net) {
        flush(proxy, outbox);
        outbox->net = net;
    }
    outbox->datagrams[outbox->count++] = (FlDatagram){to, packet->data, packet->bytes, 0};
}

// Both directions have an outbox of their own: they alternate, and a batch of one is no batch.
static int32_t deliver_batch(WanProxy *proxy, FlTime now)
{
    FlFlightPacket packets[FL_NET_BATCH];
    Outbox up = {.count = 0};
    Outbox down = {.count = 0};
    int32_t count = fl__flight_take(proxy->flight, now, packets, FL_NET_BATCH);
    for (int32_t i = 0; i < count; i++) {
        WanClient *client = wan_clients_by_tag(proxy->clients, packets[i].tag);
        if (client == NULL) {
            proxy->gone_count++;
            continue;
        }
        count_late(proxy, now, packets[i].at);
        if (wan_way_of_tag(packets[i].tag) == WAN_UP) {
            FlAddress server = {.family = FL_FAMILY_NONE}; // whom the socket is connected to
            post(proxy, &up, client->upstream, server, &packets[i]);
        } else {
            post(proxy, &down, proxy->listener, client->address, &packets[i]);
        }
    }
    flush(proxy, &up);
    flush(proxy, &down);
    return count;
}

static void deliver_due(WanProxy *proxy)
{
    while (deliver_batch(proxy, wan_proxy_time(proxy)) == FL_NET_BATCH) {
    }
}

// ---------------------------------------------------------------- the loop's body

static void apply_changes(WanProxy *proxy)
{
    FlTime now = wan_proxy_time(proxy);
    if (now < proxy->next_change) {
        return;
    }
    const WanNetwork *network = &proxy->def->network;
    wan_clients_change(proxy->clients, now);
    proxy->changed_to = now;
    proxy->next_change = fl__impair_schedule_next(network->changes, network->change_count, now);
}

// Sleeps off what the last step left of its time. Datagrams that come meanwhile have their stamps.
static void keep_apart(WanProxy *proxy)
{
    FlTime next = proxy->last_step + STEP_APART;
    if (wan_proxy_time(proxy) < next) {
        (void)fl_net_wait(NULL, 0, proxy->start + next, NULL);
    }
}

void wan_proxy_step(WanProxy *proxy, FlTime deadline)
{
    keep_apart(proxy);
    WanClient *const *list;
    int32_t count = wan_clients_list(proxy->clients, &list);
    FlNet *nets[1 + WAN_CLIENT_CAPACITY];
    bool ready[1 + WAN_CLIENT_CAPACITY];
    nets[0] = proxy->listener;
    for (int32_t i = 0; i < count; i++) {
        nets[1 + i] = list[i]->upstream;
    }
    deadline = fl_time_min(deadline, proxy->next_change);
    deadline = fl_time_min(deadline, fl__flight_next(proxy->flight));
    bool any = fl_net_wait(nets, 1 + count, fl_time_add(deadline, proxy->start), ready);
    proxy->last_step = wan_proxy_time(proxy);
    apply_changes(proxy);
    for (int32_t i = 0; i < count && any; i++) {
        if (ready[1 + i]) {
            receive_down(proxy, list[i]);
        }
    }
    if (any && ready[0]) { // last: it may add clients to the list
        receive_up(proxy);
    }
    deliver_due(proxy);
}

void wan_proxy_tidy(WanProxy *proxy)
{
    wan_clients_expire(proxy->clients, wan_proxy_time(proxy) - proxy->def->idle_ns);
}

// ---------------------------------------------------------------- figures

// Up to which lateness are `share` of all packets, in us?
static double late_quantile(const WanProxy *proxy, double share)
{
    double wanted = share * (double)proxy->late_count;
    double seen = 0.0;
    for (int32_t i = 0; i < LATE_STEPS; i++) {
        seen += (double)proxy->late[i];
        if (seen >= wanted && seen > 0.0) {
            return (double)(i + 1) * LATE_STEP_NS * 1e-3;
        }
    }
    return (double)proxy->late_max_ns * 1e-3;
}

void wan_proxy_stats(const WanProxy *proxy, WanStats *out)
{
    *out = (WanStats){.gone_count = proxy->gone_count, .blocked_count = proxy->blocked_count};
    wan_clients_totals(proxy->clients, &out->totals);
    out->listener = fl_net_stats(proxy->listener);
    out->flight = fl__flight_stats(proxy->flight);
    out->late_p50_us = late_quantile(proxy, 0.5);
    out->late_p99_us = late_quantile(proxy, 0.99);
    out->late_max_us = (double)proxy->late_max_ns * 1e-3;
}
