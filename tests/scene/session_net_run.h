// How the nodes of session_net.h run: what they send is carried, and time goes from event to event.
#ifndef TESTS_SCENE_SESSION_NET_RUN_H
#define TESTS_SCENE_SESSION_NET_RUN_H

#include "session_net_make.h"

// ---------------------------------------------------------------- datagrams

static inline bool net_is_awake(const Net *net, int32_t node)
{
    const NetNode *n = &net->node[node];
    return n->session != NULL && !n->asleep && !n->frozen;
}

static inline uint16_t net_port(const Net *net, int32_t node, int32_t seen_by)
{
    uint16_t door = net->door[node][seen_by];
    return door != 0 ? door : net->node[node].address.port;
}

static inline void net_push(Net *net, FlTime at, const NetHead *head, const void *bytes,
                            int32_t count)
{
    uint8_t packet[sizeof *head + FL_SESSION_DATAGRAM_BYTES];
    assert_true(count > 0 && count <= FL_SESSION_DATAGRAM_BYTES);
    memcpy(packet, head, sizeof *head);
    memcpy(packet + sizeof *head, bytes, (size_t)count);
    int32_t size = (int32_t)sizeof *head + count;
    assert_int_equal(fl__flight_push(net->flight, at, 0, packet, size), FL_OK);
}

static inline void net_carry(Net *net, int32_t from, const FlOutgoing *out)
{
    int32_t to = out->to.ip[3] - 1;
    assert_true(to >= 0 && to < NET_NODES && to != from);
    NetHead head = {.from = from,
                    .to = to,
                    .from_port = net_port(net, from, to),
                    .to_port = out->to.port,
                    .serial = net->datagrams++,
                    .arrived = -1};
    net->bytes[from] += out->count + 28;
    net->sent[from][to]++;
    if (net->on_send != NULL) {
        net->on_send(net, &head, out);
    }
    if (net->way[from][to] == NULL) {
        return;
    }
    FlFate fate = fl_impair_send(net->way[from][to], net->now, out->count);
    for (int32_t i = 0; i < fate.copy_count; i++) {
        net_push(net, fate.deliver_at[i], &head, out->bytes, out->count);
    }
}

/// Session time never goes back.
static inline void net_look_at_clock(Net *net, int32_t node)
{
    FlTime time = net_time(net, node);
    assert_true(time >= net->node[node].time_last);
    net->node[node].time_last = time;
}

/// Sends whatever a node has to send now.
static inline void net_pump(Net *net, int32_t node)
{
    NetNode *n = &net->node[node];
    if (!net_is_awake(net, node)) {
        return;
    }
    if (net->before_pump != NULL) {
        net->before_pump(net, node);
    }
    FlOutgoing out;
    int32_t count = 0;
    while (fl_session_next(n->session, net_local(net, node), &out) == FL_OK) {
        assert_true(++count < NET_PUMPS); // or it never ends
        net_carry(net, node, &out);
    }
    assert_null(out.bytes);
    net_look_at_clock(net, node);
    if (n->running_at < 0 && fl_session_state(n->session) == FL_SESSION_RUNNING) {
        n->running_at = net->now;
    }
    n->due = NET_ASK;
}

static inline void net_leave(Net *net, int32_t node)
{
    fl_session_leave(net->node[node].session, net_local(net, node));
    net_pump(net, node);
    net_crash(net, node);
}

static inline void net_receive(Net *net, const NetHead *head, const void *bytes, int32_t count)
{
    fl_session_receive(net->node[head->to].session, net_address(head->from, head->from_port), bytes,
                       count, net_local_at(net, head->to, head->arrived));
}

static inline void net_deliver(Net *net)
{
    FlFlightPacket packet;
    while (fl__flight_take(net->flight, net->now, &packet, 1) == 1) {
        NetHead head;
        memcpy(&head, packet.data, sizeof head);
        const uint8_t *bytes = (const uint8_t *)packet.data + sizeof head;
        int32_t count = packet.bytes - (int32_t)sizeof head;
        NetNode *n = &net->node[head.to];
        if (n->session == NULL || n->asleep || net_port(net, head.to, head.from) != head.to_port) {
            continue;
        }
        head.arrived = head.arrived < 0 ? net->now : head.arrived;
        if (n->frozen) { // it waits at the socket; all at once, when it wakes
            net_push(net, (net->now / FL_MS(1) + 1) * FL_MS(1), &head, bytes, count);
            continue;
        }
        n->due = net->now;
        if (net->on_receive != NULL) {
            net->on_receive(net, &head, bytes, count);
        } else {
            net_receive(net, &head, bytes, count);
        }
    }
}

// ---------------------------------------------------------------- running

static inline FlTime net_frame_time(const Net *net)
{
    return net->frame_hz > 0 ? net->frame * FL_SEC(1) / net->frame_hz : FL_FOREVER;
}

/// Asks the sessions that had their say for their next deadlines.
static inline void net_ask_deadlines(Net *net)
{
    for (int32_t i = 0; i < net->count; i++) {
        if (!net_is_awake(net, i) || net->node[i].due != NET_ASK) {
            continue;
        }
        FlTime now = net_local(net, i);
        FlTime deadline = fl_session_deadline(net->node[i].session, now);
        net->node[i].due = net_true(net, i, deadline);
        if (deadline <= now) { // one that is now again and again would never let time go on
            net->spins += fl_session_state(net->node[i].session) != FL_SESSION_ENDED ? 1 : 0;
            net->node[i].due = net->now + FL_US(10);
        }
    }
}

static inline FlTime net_next(const Net *net)
{
    FlTime next = net_frame_time(net);
    FlTime delivery = fl__flight_next(net->flight);
    next = delivery < next ? delivery : next;
    for (int32_t i = 0; i < net->count; i++) {
        if (net_is_awake(net, i) && net->node[i].due < next) {
            next = net->node[i].due;
        }
    }
    return next > net->now ? next : net->now;
}

static inline void net_step(Net *net)
{
    for (int32_t i = 0; i < net->count; i++) {
        net->wakes += net_is_awake(net, i) && net->node[i].due <= net->now ? 1 : 0;
    }
    net_deliver(net);
    bool frame = net->now >= net_frame_time(net);
    for (int32_t i = 0; i < net->count && frame; i++) {
        if (net_is_awake(net, i) && net->drive != NULL) {
            net->drive(net, i);
        }
    }
    for (int32_t i = 0; i < net->count; i++) {
        if (net_is_awake(net, i) && net->node[i].due <= net->now) {
            net_pump(net, i);
        }
    }
    for (int32_t i = 0; i < net->count && frame; i++) {
        if (net_is_awake(net, i) && net->look != NULL) {
            net->look(net, i);
        }
    }
    net->frame += frame ? 1 : 0;
    net_ask_deadlines(net);
}

/// Runs from event to event until `until`, or until `done` says so (NULL: it never does).
static inline void net_run_until(Net *net, FlTime until, bool (*done)(const Net *))
{
    net_ask_deadlines(net);
    while (done == NULL || !done(net)) {
        FlTime next = net_next(net);
        if (next > until) {
            net->now = until;
            return;
        }
        net->now = next;
        net_step(net);
    }
}

/// Lets true time go on to `until`, after the test's own doings.
static inline void net_run(Net *net, FlTime until)
{
    for (int32_t i = 0; i < net->count; i++) {
        if (net_is_awake(net, i) && net->node[i].due != NET_ASK) {
            FlTime due =
                net_true(net, i, fl_session_deadline(net->node[i].session, net_local(net, i)));
            net->node[i].due = due < net->node[i].due ? due : net->node[i].due;
        }
    }
    net_run_until(net, until, NULL);
}

/// One frame: everybody sends (after the test's own doings), then everything up to its end.
static inline void net_frame(Net *net)
{
    for (int32_t i = 0; i < net->count; i++) {
        net_pump(net, i);
    }
    net_run(net, net->now + FL_MS(NET_FRAME_MS));
}

/// Ends a pause: the node reads what waits at its socket, and then goes on.
static inline void net_wake(Net *net, int32_t node)
{
    net->node[node].frozen = false;
    net->node[node].due = net->now + FL_MS(2);
    net_run_until(net, net->now + FL_MS(2), NULL);
}

#endif
