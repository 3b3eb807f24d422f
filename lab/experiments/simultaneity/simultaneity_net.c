// Peers, their clocks, and messages between them, in virtual time.
#include "lab/experiments/simultaneity/simultaneity_net.h"

#include <stdlib.h>
#include <string.h>

#include "agree/lags.h"
#include "impair/impair.h"
#include "lab/world/heap.h"

enum { ACTION_BYTES = 16, FLIGHT_EACH = 32 };

typedef struct Peer {
    bool present;
    uint32_t life; ///< Counts its comings: what is under way to an earlier one is lost.
    FlLags *lags;
    FlOrder *order;
    uint32_t sequence;
} Peer;

struct Net {
    NetDef def;
    FlTime now;
    Heap heap; ///< Peers, then the flight.
    FlFlight *flight;
    FlImpair *ways[FL_LAGS_PEERS][FL_LAGS_PEERS];
    Peer peers[FL_LAGS_PEERS];
};

// ---------------------------------------------------------------- clocks

FlTime net_local(const Net *net, int32_t peer, FlTime time)
{
    FlTime gained = time / 1000000000 * net->def.drift_ppb[peer] +
                    time % 1000000000 * net->def.drift_ppb[peer] / 1000000000;
    return time + net->def.clock[peer] + gained;
}

/// The first true time from now on at which a peer's clock shows `local`.
static FlTime time_of(const Net *net, int32_t peer, FlTime local)
{
    if (local == FL_FOREVER) {
        return FL_FOREVER;
    }
    FlTime behind = fl_span(local, net_local(net, peer, net->now));
    if (behind <= 0) {
        return net->now;
    }
    FlTime time = net->now + behind;
    for (int32_t i = 0; i < 4; i++) { // drift is small: this converges at once
        time += local - net_local(net, peer, time);
    }
    while (net_local(net, peer, time) < local) {
        time++;
    }
    while (time > net->now && net_local(net, peer, time - 1) >= local) {
        time--;
    }
    return time;
}

// ---------------------------------------------------------------- sending

static void send(Net *net, int32_t from, int32_t to, const void *bytes, int32_t count)
{
    FlFate fate = fl_impair_send(net->ways[from][to], net->now, count);
    uint64_t lives = (uint64_t)(net->peers[from].life & 0xffffu) << 32 |
                     (uint64_t)(net->peers[to].life & 0xffffu) << 16;
    uint64_t tag = lives | (uint64_t)from << 8 | (uint64_t)to;
    for (int32_t copy = 0; copy < fate.copy_count; copy++) {
        FlResult result = fl__flight_push(net->flight, fate.deliver_at[copy], tag, bytes, count);
        FL_ASSERT(result == FL_OK); // FLIGHT_EACH is enough
    }
    heap_set(&net->heap, net->def.peers, fl__flight_next(net->flight));
}

static void send_all(Net *net, int32_t from, const void *bytes, int32_t count)
{
    for (int32_t to = 0; to < net->def.peers; to++) {
        if (to != from && net->peers[to].present) {
            send(net, from, to, bytes, count);
        }
    }
}

// ---------------------------------------------------------------- playing

static void play(Net *net, int32_t peer, const FlOrdered *action)
{
    NetPlay played = {peer, net->now, net_local(net, peer, net->now), action};
    net->def.play_fn(net->def.ctx, &played);
}

static FlTime play_time(const Net *net, int32_t peer)
{
    return net->def.control == NET_LAGS
               ? fl__lags_play_time(net->peers[peer].lags, net_local(net, peer, net->now))
               : net->now;
}

/// Everything that is due at a peer; and when it is to be looked at again.
static void pump(Net *net, int32_t index)
{
    Peer *peer = &net->peers[index];
    FlTime local = net_local(net, index, net->now);
    FlTime next = FL_FOREVER;
    if (!peer->present) {
        heap_set(&net->heap, index, FL_FOREVER);
        return;
    }
    FlLagsMessage message;
    while (net->def.control == NET_LAGS && fl__lags_next(peer->lags, local, &message) == FL_OK) {
        send_all(net, index, message.bytes, message.count);
    }
    FlOrdered action;
    while (fl__order_take(peer->order, play_time(net, index), &action) == FL_OK) {
        play(net, index, &action);
    }
    FlTime due = fl__order_next(peer->order);
    if (net->def.control == NET_LAGS) {
        next = time_of(net, index, fl__lags_deadline(peer->lags, local));
        due = due != FL_FOREVER ? time_of(net, index, fl__lags_when(peer->lags, due)) : due;
    }
    next = due < next ? due : next;
    heap_set(&net->heap, index, next > net->now ? next : net->now + 1);
}

static void take_action(Net *net, int32_t index, const FlOrdered *action)
{
    Peer *peer = &net->peers[index];
    if (net->def.control == NET_NONE) {
        play(net, index, action);
    } else {
        FlResult result = fl__order_put(peer->order, action);
        FL_ASSERT(result == FL_OK);
    }
}

static void deliver(Net *net, const FlFlightPacket *packet)
{
    int32_t from = (int32_t)(packet->tag >> 8 & 0xff);
    int32_t to = (int32_t)(packet->tag & 0xff);
    Peer *peer = &net->peers[to];
    uint64_t lives =
        (uint64_t)(net->peers[from].life & 0xffffu) << 32 | (uint64_t)(peer->life & 0xffffu) << 16;
    if (packet->tag >> 16 != lives >> 16 || !peer->present || !net->peers[from].present) {
        return;
    }
    FlTime local = net_local(net, to, net->now);
    FlReader reader;
    FlOrdered action;
    fl_reader_init(&reader, packet->data, packet->bytes);
    if (fl__action_read(&reader, &action)) {
        action.writer = from;
        take_action(net, to, &action);
        if (net->def.control == NET_LAGS) {
            fl__lags_arrived(peer->lags, from, action.stamp, action.play, local);
        }
    } else {
        fl__lags_receive(peer->lags, from, packet->data, packet->bytes, local);
    }
    pump(net, to);
}

void net_run(Net *net, FlTime until)
{
    for (;;) {
        int32_t thing = heap_first(&net->heap);
        if (net->heap.time[thing] > until) {
            break;
        }
        net->now = net->heap.time[thing] > net->now ? net->heap.time[thing] : net->now;
        if (thing < net->def.peers) {
            pump(net, thing);
            continue;
        }
        FlFlightPacket packet;
        if (fl__flight_take(net->flight, net->now, &packet, 1) == 1) {
            uint8_t bytes[FL_LAGS_MESSAGE_BYTES];
            memcpy(bytes, packet.data, (size_t)packet.bytes); // pushing moves what is in flight
            packet.data = bytes;
            heap_set(&net->heap, net->def.peers, fl__flight_next(net->flight));
            deliver(net, &packet);
        }
    }
    net->now = until > net->now ? until : net->now;
}

// ---------------------------------------------------------------- what is done to it

FlResult net_act(Net *net, int32_t index, const void *bytes, int32_t count)
{
    Peer *peer = &net->peers[index];
    FlTime local = net_local(net, index, net->now);
    FL_ASSERT(peer->present && count <= ACTION_BYTES);
    FlOrdered action = {.writer = index, .bytes = (const uint8_t *)bytes, .count = count};
    action.stamp = local;
    action.play = net->now + net->def.constant_ns;
    FlResult result =
        net->def.control == NET_LAGS ? fl__lags_stamp(peer->lags, local, &action.play) : FL_OK;
    if (result != FL_OK) {
        return result;
    }
    action.sequence = ++peer->sequence;
    uint8_t message[FL_ACTION_HEAD_BYTES + ACTION_BYTES];
    FlWriter writer;
    fl_writer_init(&writer, message, sizeof message);
    fl__action_write(&writer, &action);
    take_action(net, index, &action);
    send_all(net, index, message, fl_writer_size(&writer));
    pump(net, index);
    return FL_OK;
}

void net_delay(Net *net, int32_t from, int32_t to, FlTime delay)
{
    FlImpairSettings way = net->def.way;
    way.delay_ns = delay;
    FlResult result = fl__impair_set(net->ways[from][to], net->now, &way);
    FL_ASSERT(result == FL_OK);
}

void net_member(Net *net, int32_t index, bool present)
{
    Peer *peer = &net->peers[index];
    FL_ASSERT(peer->present != present);
    peer->present = present;
    peer->life++;
    if (present) {
        FlLagsDef lags = net->def.lags;
        lags.self = index;
        fl__lags_destroy(peer->lags);
        FlResult result = fl__lags_create(&lags, net_local(net, index, net->now), &peer->lags);
        FL_ASSERT(result == FL_OK);
        fl__order_writer(peer->order, index);
        peer->sequence = 0;
    }
    for (int32_t i = 0; i < net->def.peers; i++) {
        if (i == index || !net->peers[i].present) {
            continue;
        }
        fl__lags_member(net->peers[i].lags, index, present, net_local(net, i, net->now));
        fl__order_writer(net->peers[i].order, index);
        if (present) {
            fl__lags_member(peer->lags, i, true, net_local(net, index, net->now));
            fl__order_writer(peer->order, i);
        }
        pump(net, i);
    }
    pump(net, index);
}

const FlLags *net_lags(const Net *net, int32_t peer)
{
    return net->peers[peer].lags;
}

const FlOrder *net_order(const Net *net, int32_t peer)
{
    return net->peers[peer].order;
}

FlTime net_now(const Net *net)
{
    return net->now;
}

bool net_is_ready(const Net *net)
{
    bool ready = true;
    for (int32_t i = 0; i < net->def.peers && net->def.control == NET_LAGS; i++) {
        FlLagsStatus status = fl__lags_status(net->peers[i].lags, net_local(net, i, net->now));
        ready = ready && (!net->peers[i].present || (status.sends && status.plays));
    }
    return ready;
}

// ---------------------------------------------------------------- making one

static FlResult create_peer(Net *net, int32_t index)
{
    Peer *peer = &net->peers[index];
    FlLagsDef lags = net->def.lags;
    lags.self = index;
    FlOrderDef order = fl__order_def_default();
    order.capacity = 1024;
    order.action_bytes = ACTION_BYTES;
    FlResult result = fl__order_create(&order, &peer->order);
    return result == FL_OK ? fl__lags_create(&lags, net_local(net, index, 0), &peer->lags) : result;
}

static FlResult create_ways(Net *net, int32_t from)
{
    FlResult result = FL_OK;
    for (int32_t to = 0; to < net->def.peers && result == FL_OK; to++) {
        FlImpairDef def = fl_impair_def_default();
        def.settings = net->def.way;
        def.settings.delay_ns = net->def.delay[from][to];
        def.seed = net->def.seed;
        def.link = fl_impair_link((uint16_t)from, (uint16_t)to);
        result = from != to ? fl_impair_create(&def, &net->ways[from][to]) : FL_OK;
    }
    return result;
}

FlResult net_create(const NetDef *def, Net **out)
{
    *out = NULL;
    FL_ASSERT(def->peers >= 1 && def->peers <= FL_LAGS_PEERS);
    Net *net = (Net *)calloc(1, sizeof *net);
    if (net == NULL) {
        return FL_NO_MEMORY;
    }
    net->def = *def;
    FlFlightDef flight = fl__flight_def_default();
    flight.capacity = def->peers * def->peers * FLIGHT_EACH;
    flight.packet_bytes = 21 + 8 * def->peers; // the longest vector
    flight.packet_bytes = flight.packet_bytes > 64 ? flight.packet_bytes : 64;
    FlResult result = fl__flight_create(&flight, &net->flight);
    result = result == FL_OK ? heap_init(&net->heap, def->peers + 1) : result;
    for (int32_t i = 0; i < def->peers && result == FL_OK; i++) {
        net->heap.rank[i] = 1; // what arrives comes before what is due
        result = create_peer(net, i);
        result = result == FL_OK ? create_ways(net, i) : result;
    }
    if (result != FL_OK) {
        net_destroy(net);
        return result;
    }
    for (int32_t i = 0; i < def->peers; i++) {
        net->peers[i].present = !def->absent[i];
        for (int32_t j = 0; j < def->peers; j++) {
            bool both = !def->absent[i] && !def->absent[j] && i != j;
            fl__lags_member(net->peers[i].lags, j, both, net_local(net, i, 0));
        }
        heap_set(&net->heap, i, def->absent[i] ? FL_FOREVER : 0);
    }
    *out = net;
    return FL_OK;
}

void net_destroy(Net *net)
{
    if (net == NULL) {
        return;
    }
    for (int32_t i = 0; i < net->def.peers; i++) {
        fl__lags_destroy(net->peers[i].lags);
        fl__order_destroy(net->peers[i].order);
        for (int32_t j = 0; j < net->def.peers; j++) {
            fl_impair_destroy(net->ways[i][j]);
        }
    }
    heap_free(&net->heap);
    fl__flight_destroy(net->flight);
    free(net);
}
