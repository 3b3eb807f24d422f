// Datagrams through module `impair`, in and out of a session.
#include "lab/world/distant.h"
#include "impair/impair.h"

#include <string.h>

enum { BATCH = 64 };

// ---------------------------------------------------------------- making

FlResult distant_net_open(FlNet **net)
{
    FlNetDef def = fl_net_def_default();
    FlResult result = fl_address_parse("127.0.0.1:0", &def.bind);
    return result == FL_OK ? fl_net_create(&def, net) : result;
}

static FlResult open_way(const DistantDef *def, uint32_t link, FlImpair **impair, FlFlight **flight)
{
    FlImpairDef way = fl_impair_def_default();
    FlFlightDef queue = fl__flight_def_default();
    way.settings = def->way;
    way.seed = def->seed;
    way.link = link;
    way.luck_by_count = true;
    queue.capacity = def->flight_capacity;
    queue.packet_bytes = FL_SESSION_DATAGRAM_BYTES;
    FlResult result = fl_impair_create(&way, impair);
    return result == FL_OK ? fl__flight_create(&queue, flight) : result;
}

static FlResult open_ways(const DistantDef *def, Distant *node)
{
    if (def->near) {
        return FL_OK;
    }
    FlResult result = open_way(def, fl_impair_link(0, def->number), &node->in, &node->arriving);
    return result == FL_OK
               ? open_way(def, fl_impair_link(def->number, 0), &node->out, &node->leaving)
               : result;
}

FlResult distant_open(const DistantDef *def, FlTime now, Distant *node)
{
    Distant fresh = {.net = def->net,
                     .clock_shift = def->clock_shift,
                     .wire = def->wire,
                     .owns_net = def->net == NULL && !def->wire.no_net};
    *node = fresh;
    FlResult result = node->owns_net ? distant_net_open(&node->net) : FL_OK;
    result = result == FL_OK ? open_ways(def, node) : result;
    result = result == FL_OK
                 ? fl_session_create(&def->session, distant_time(node, now), &node->session)
                 : result;
    if (result != FL_OK) {
        distant_close(node);
    }
    return result;
}

void distant_close(Distant *node)
{
    if (node->session != NULL) {
        fl_session_close(node->session);
    }
    fl__flight_destroy(node->arriving);
    fl__flight_destroy(node->leaving);
    fl_impair_destroy(node->in);
    fl_impair_destroy(node->out);
    if (node->owns_net) {
        fl_net_destroy(node->net);
    }
    memset(node, 0, sizeof *node);
}

FlResult distant_set(Distant *node, FlTime now, const FlImpairSettings *way)
{
    if (node->in == NULL) {
        return FL_OK;
    }
    FlResult result = fl__impair_set(node->in, now, way);
    return result == FL_OK ? fl__impair_set(node->out, now, way) : result;
}

// ---------------------------------------------------------------- datagrams

/// Whom a packet under way is from, or for: our sockets are of IPv4.
static uint64_t tag_of(FlAddress address)
{
    uint64_t tag = address.port;
    for (int32_t i = 0; i < 4; i++) {
        tag = tag << 8 | address.ip[i];
    }
    return tag;
}

static FlAddress address_of(uint64_t tag)
{
    FlAddress address = {.port = (uint16_t)(tag >> 32), .family = FL_FAMILY_IPV4};
    for (int32_t i = 0; i < 4; i++) {
        address.ip[i] = (uint8_t)(tag >> (24 - 8 * i));
    }
    return address;
}

/// Under way, until the network is done with it. A full queue loses it, as networks do.
static void forward(FlImpair *way, FlFlight *flight, FlTime now, FlAddress peer, const void *bytes,
                    int32_t count)
{
    FlFate fate = fl_impair_send(way, now, count);
    for (int32_t i = 0; i < fate.copy_count; i++) {
        FlResult pushed = fl__flight_push(flight, fate.deliver_at[i], tag_of(peer), bytes, count);
        (void)pushed;
    }
}

static void take_in(Distant *node, FlAddress from, const void *bytes, int32_t count, FlTime now)
{
    uint8_t copy[FL_SESSION_DATAGRAM_BYTES];
    if (count <= (int32_t)sizeof copy) {
        memcpy(copy, bytes, (size_t)count);
        fl_session_receive(node->session, from, copy, count, distant_time(node, now));
    }
}

static int32_t receive_batch(const Distant *node, FlDatagram datagrams[BATCH])
{
    const DistantWire *wire = &node->wire;
    if (wire->receive_fn != NULL) {
        return wire->receive_fn(wire->ctx, node->net, datagrams) ? 1 : 0;
    }
    return fl_net_receive_batch(node->net, datagrams, BATCH);
}

void distant_receive(Distant *node, FlTime now)
{
    FlDatagram datagrams[BATCH];
    FlFlightPacket packet;
    int32_t count;
    while ((count = receive_batch(node, datagrams)) > 0) {
        for (int32_t i = 0; i < count; i++) {
            const FlDatagram *d = &datagrams[i];
            if (node->in == NULL) {
                take_in(node, d->address, d->data, d->bytes, now);
            } else if (d->bytes <= FL_SESSION_DATAGRAM_BYTES) {
                forward(node->in, node->arriving, now, d->address, d->data, d->bytes);
            }
        }
    }
    while (node->arriving != NULL && fl__flight_take(node->arriving, now, &packet, 1) == 1) {
        take_in(node, address_of(packet.tag), packet.data, packet.bytes, now);
    }
}

static void put_out(Distant *node, FlAddress to, const void *bytes, int32_t count)
{
    FlDatagram datagram = {.address = to, .data = bytes, .bytes = count};
    int32_t done;
    if (node->wire.send_fn != NULL) {
        node->wire.send_fn(node->wire.ctx, node->net, &datagram);
        return;
    }
    FlResult sent = fl_net_send_batch(node->net, &datagram, 1, &done);
    (void)sent; // a full buffer loses it, as networks do
}

void distant_send(Distant *node, FlTime now)
{
    FlOutgoing out;
    FlFlightPacket packet;
    while (fl_session_next(node->session, distant_time(node, now), &out) == FL_OK) {
        if (node->out == NULL) {
            put_out(node, out.to, out.bytes, out.count);
        } else {
            forward(node->out, node->leaving, now, out.to, out.bytes, out.count);
        }
    }
    while (node->leaving != NULL && fl__flight_take(node->leaving, now, &packet, 1) == 1) {
        put_out(node, address_of(packet.tag), packet.data, packet.bytes);
    }
}

FlTime distant_deadline(const Distant *node, FlTime now)
{
    FlTime next = fl_session_deadline(node->session, distant_time(node, now));
    next = next == FL_FOREVER ? next : next - node->clock_shift;
    if (node->in != NULL) {
        next = fl_time_min(next, fl__flight_next(node->arriving));
        next = fl_time_min(next, fl__flight_next(node->leaving));
    }
    return next;
}
