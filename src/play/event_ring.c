// Events that were received, until the game takes them.
//
// They wait in a ring of bytes: length 16, from 16, type 16, delivery 8, the low bits of the
// sender's incarnation 8, whether that is known 1, channel 7, bytes.
#include "private.h"

#include <string.h>

#define RING_HEAD 9

static Events *events_of(const FlSession *session)
{
    return &session->play->events;
}

bool fl__event_received(FlSession *session, const RoutedIn *in)
{
    int32_t count = in->count - EVENT_TYPE_BYTES; // a routed event is no shorter
    // An event may come before the announcement of its sender; then it counts as that of whoever
    // has the number when the game takes it.
    uint8_t front[RING_HEAD] = {
        (uint8_t)count,
        (uint8_t)(count >> 8),
        (uint8_t)in->from,
        (uint8_t)(in->from >> 8),
        in->bytes[0],
        in->bytes[1],
        in->delivery,
        (uint8_t)fl__member_incarnation(session, in->from),
        (uint8_t)((fl__member_present(session, in->from) ? 1 : 0) | in->channel << 1),
    };
    fl__ring_put(&events_of(session)->ring, front, RING_HEAD);
    fl__ring_put(&events_of(session)->ring, in->bytes + EVENT_TYPE_BYTES, count);
    fl__count(session, FL_SESSION_EVENTS_TAKEN);
    session->wakes = true;
    return true;
}

// Half of the ring is for those that must not be lost.
void fl__event_received_unreliably(FlSession *session, const RoutedIn *in)
{
    const Fl__Ring *ring = &events_of(session)->ring;
    if (fl__ring_free(ring) < ring->capacity / 2 + MESSAGE_ROOM) {
        fl__count(session, FL_SESSION_EVENTS_DROPPED);
        return;
    }
    (void)fl__event_received(session, in);
}

FlResult fl_event_take(FlSession *session, FlEvent *event)
{
    memset(event, 0, sizeof *event);
    Events *events = events_of(session);
    if (fl__ring_used(&events->ring) == 0) {
        return FL_NOT_FOUND;
    }
    uint8_t front[RING_HEAD];
    fl__ring_take(&events->ring, front, RING_HEAD);
    event->count = fl__load_u16(front);
    event->number = fl__load_u16(front + 2);
    bool left =
        (front[8] & 1) != 0 && front[7] != (uint8_t)fl__member_incarnation(session, event->number);
    event->from = fl__peer_id(session, left ? FL__NONE : event->number);
    event->type = fl__load_u16(front + 4);
    event->delivery = (FlDelivery)front[6];
    event->channel = (uint8_t)(front[8] >> 1);
    event->bytes = events->taken;
    fl__ring_take(&events->ring, events->taken, event->count);
    session->play->routes.retry_messages = true; // links that waited for the room can go on
    return FL_OK;
}
