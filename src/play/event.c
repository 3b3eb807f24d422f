// Events: sending, passing on, taking.
//
// In a session with a host in the middle an event goes to the host once, which passes it on; what a
// receiver's full queue holds up waits there, and its source's next ones behind it (so does the
// source itself, by its link's window). Unordered ones to a peer that is reached directly go
// directly.
//
// Events that arrived wait in a ring of bytes: length 16, from 16, type 16, delivery 8, the low
// bits of the sender's incarnation 8, whether that is known 8, bytes.
#include "private.h"

#include <string.h>

#define RING_HEAD 9
#define SHORT_LIST 24 // recipients of an unordered event: it must fit one fragment

// ---------------------------------------------------------------- the ring

static void ring_put(EventRing *ring, const void *bytes, int32_t count)
{
    const uint8_t *from = (const uint8_t *)bytes;
    for (int32_t i = 0; i < count; i++) {
        ring->bytes[ring->head++ % ring->capacity] = from[i];
    }
}

static void ring_take(EventRing *ring, uint8_t *bytes, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        bytes[i] = ring->bytes[ring->tail++ % ring->capacity];
    }
}

static Events *events_of(const FlSession *session)
{
    return &fl__play(session)->events;
}

// There is room for one more, and none from there waits to be passed on.
static bool room(const void *self, int32_t line)
{
    const Events *events = events_of((const FlSession *)self);
    const EventRing *ring = &events->ring;
    return ring->head - ring->tail + MESSAGE_ROOM <= ring->capacity &&
           events->from[line].count == 0;
}

static void keep(FlSession *session, const FlEventHead *head, const uint8_t *bytes, int32_t count)
{
    if (head->type >= FL_EVENT_TYPES) {
        fl__agreed_heard(session, head, bytes, count);
        return;
    }
    // An event may come before the news of its sender; then it is that of whoever has the number.
    uint8_t front[RING_HEAD] = {
        (uint8_t)count,
        (uint8_t)(count >> 8),
        (uint8_t)head->from,
        (uint8_t)(head->from >> 8),
        (uint8_t)head->type,
        (uint8_t)(head->type >> 8),
        head->delivery,
        (uint8_t)fl__member_incarnation(session, head->from),
        fl__member_present(session, head->from) ? 1 : 0,
    };
    ring_put(&events_of(session)->ring, front, RING_HEAD);
    ring_put(&events_of(session)->ring, bytes, count);
    fl__count(session, FL_SESSION_EVENTS_TAKEN, 1);
}

FlResult fl_event_take(FlSession *session, FlEvent *event)
{
    memset(event, 0, sizeof *event);
    if (events_of(session)->ring.head == events_of(session)->ring.tail) {
        return FL_NOT_FOUND;
    }
    uint8_t front[RING_HEAD];
    ring_take(&events_of(session)->ring, front, RING_HEAD);
    event->count = front[0] | front[1] << 8;
    event->number = front[2] | front[3] << 8;
    bool left =
        front[8] == 1 && front[7] != (uint8_t)fl__member_incarnation(session, event->number);
    event->from = fl__peer_id(session, left ? FL__NONE : event->number);
    event->type = (uint16_t)(front[4] | front[5] << 8);
    event->delivery = (FlDelivery)front[6];
    event->bytes = events_of(session)->taken;
    ring_take(&events_of(session)->ring, events_of(session)->taken, event->count);
    events_of(session)->stuck = true; // links that waited for the room can go on
    return FL_OK;
}

// ---------------------------------------------------------------- passing on

static bool is_for(const FlEventHead *head, int32_t member)
{
    if (head->to_count == FL_EVENT_TO_ALL) {
        return member != head->from;
    }
    for (int32_t i = 0; i < head->to_count; i++) {
        if (head->to[i] == member) {
            return true;
        }
    }
    return false;
}

static bool is_action(const FlEventHead *head)
{
    return head->type == FL__OWN_LAGS || head->type == FL__OWN_ACTION;
}

static FlResult queue(FlSession *session, int32_t line, const FlEventHead *head,
                      const uint8_t *bytes, int32_t count)
{
    uint8_t message[MESSAGE_ROOM];
    FlWriter w;
    fl_writer_init(&w, message, MESSAGE_ROOM);
    fl_event_head_write(&w, head);
    fl_writer_bytes(&w, bytes, count);
    FL_ASSERT(!w.failed);
    return fl_link_send(fl__line_link(session, line), (FlDelivery)head->delivery, message,
                        fl_writer_size(&w));
}

FlResult fl__event_over(FlSession *session, int32_t line, const FlEventHead *head,
                        const uint8_t *bytes, int32_t count)
{
    if (!fl__news_flush(session, line)) { // who it is from is told before
        return FL_WOULD_BLOCK;
    }
    fl__line_look(session, line);
    FlResult result = queue(session, line, head, bytes, count);
    if (result == FL_WOULD_BLOCK && is_action(head)) {
        // On a long way the window of unordered ones is soon full. In order small ones share
        // fragments, and whether one waits for others is measured as any delay is.
        FlEventHead ordered = *head;
        ordered.delivery = FL_DELIVERY_ORDERED;
        result = queue(session, line, &ordered, bytes, count);
    }
    return result;
}

// To every line whose member it is for, from `held->to` on. False: held up.
static bool pass_on(FlSession *session, Held *held)
{
    FlReader r;
    fl_reader_init(&r, held->bytes, held->count);
    (void)fl_reader_take(&r, 8);
    FlEventHead head;
    if (!fl_event_head_read(&r, &head)) {
        return true;
    }
    int32_t count = fl_reader_left(&r);
    const uint8_t *bytes = fl_reader_bytes(&r, count);
    FlEventHead to_one = head;
    to_one.to_count = FL_EVENT_TO_ALL; // who gets it need not know who else does
    for (; held->to < fl__member_count(session); held->to++) {
        int32_t line = fl__member_line(session, held->to);
        bool waits = is_action(&head) && !fl__actions_reach(session, held->to);
        if (!fl__member_present(session, held->to) || line == FL__NONE ||
            !is_for(&head, held->to) || waits) {
            continue;
        }
        FlResult result = fl__event_over(session, line, &to_one, bytes, count);
        fl__line_set_full(session, line, result == FL_WOULD_BLOCK);
        if (result == FL_WOULD_BLOCK) {
            fl__line_look(session, line); // which sees for how long
            return false;
        }
        fl__count(session, FL_SESSION_EVENTS_RELAYED, head.from != fl__self(session) ? 1 : 0);
    }
    return true;
}

static void begin_held(FlSession *session, Held *held, const uint8_t *bytes, int32_t count)
{
    memcpy(held->bytes, bytes, (size_t)count);
    held->count = count;
    held->to = 0;
    if (pass_on(session, held)) {
        held->count = 0;
    } else {
        events_of(session)->held_count++;
    }
}

static void resume(FlSession *session, Held *held)
{
    if (held->count > 0 && pass_on(session, held)) {
        held->count = 0;
        events_of(session)->held_count--;
    }
}

// Goes on passing on what somebody's full queue held up.
static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    Events *events = events_of(session);
    if (events->held_count > 0) {
        resume(session, &events->own);
        for (int32_t i = 0; i < fl__line_count(session); i++) {
            Held *held = &events->from[i];
            if (held->count > 0) {
                resume(session, held);
                events->stuck = events->stuck || held->count == 0;
            }
        }
    }
    if (events->stuck) {
        events->stuck = false;
        for (int32_t i = 0; i < fl__line_count(session); i++) {
            if (fl__line_used(session, i)) {
                fl__messages_take(session, i, now);
            }
        }
    }
}

// It is kept if it is for us, and passed on if we are the host.
static bool message(void *self, MessageIn *in)
{
    FlSession *session = (FlSession *)self;
    FlEventHead head;
    if (!fl_event_head_read(in->r, &head) || head.from >= fl__member_count(session)) {
        return false;
    }
    bool host = fl__is_host(session);
    bool theirs = head.from == in->from || (!host && in->from == fl__host(session));
    int32_t bytes = fl_reader_left(in->r);
    if (!theirs || bytes > FL_EVENT_BYTES) {
        return false;
    }
    if (is_for(&head, fl__self(session))) {
        const uint8_t *start = fl_reader_bytes(in->r, bytes);
        if (!is_action(&head)) {
            keep(session, &head, start, bytes);
        } else if (!fl__actions_heard(session, &head, start, bytes, in->now)) {
            return false;
        }
    }
    if (host) {
        begin_held(session, &events_of(session)->from[in->line], in->r->bytes, in->bytes);
    }
    return true;
}

static void changed(void *self, const Change *change)
{
    Events *events = events_of((const FlSession *)self);
    if (change->kind == CHANGE_LINE_CLOSED) {
        Held *held = &events->from[change->line];
        events->held_count -= held->count > 0 ? 1 : 0;
        held->count = 0;
    }
}

const Feature fl__feature_event = {
    .name = "event",
    .messages = {FL_GROUP_EVENT, 1},
    .advance = advance,
    .room = room,
    .message = message,
    .changed = changed,
};

// ---------------------------------------------------------------- sending

static FlResult send_direct(FlSession *session, int32_t line, const FlEventHead *head,
                            const FlEvent *event)
{
    FlResult result = fl__event_over(session, line, head, event->bytes, event->count);
    fl__count(session, FL_SESSION_EVENTS_SENT, result == FL_OK ? 1 : 0);
    return result;
}

static FlResult send_as_host(FlSession *session, const FlEventHead *head, const FlEvent *event)
{
    if (events_of(session)->own.count > 0) {
        return FL_WOULD_BLOCK;
    }
    uint8_t message[MESSAGE_ROOM];
    FlWriter w;
    fl_writer_init(&w, message, MESSAGE_ROOM);
    fl_event_head_write(&w, head);
    fl_writer_bytes(&w, event->bytes, event->count);
    begin_held(session, &events_of(session)->own, message, fl_writer_size(&w));
    fl__count(session, FL_SESSION_EVENTS_SENT, 1);
    return FL_OK;
}

static FlResult check(FlSession *session, int32_t to_count, const FlEvent *event)
{
    if (fl__replaying(session)) {
        return FL_REPLAYING;
    }
    bool ordered = event->delivery == FL_DELIVERY_ORDERED;
    int32_t longest = ordered ? FL_EVENT_BYTES : FL_EVENT_SHORT_BYTES;
    int32_t most = ordered ? FL_EVENT_TO_AT_MOST : SHORT_LIST;
    if (event->count < 0 || event->count > longest || to_count > most || to_count < 0 ||
        event->type >= FL_EVENT_TYPES) {
        return FL_BAD_VALUE;
    }
    if (fl__state(session) == FL_SESSION_ENDED) {
        return FL_STALE_ID;
    }
    return fl__is_complete(session) ? FL_OK : FL_WOULD_BLOCK;
}

static FlResult send_event(FlSession *session, const FlEventHead *head, const FlEvent *event)
{
    if (fl__is_host(session)) {
        return send_as_host(session, head, event);
    }
    int32_t line = fl__member_line(session, fl__host(session));
    bool short_cut = head->to_count == 1 && event->delivery != FL_DELIVERY_ORDERED;
    if (short_cut) {
        line = fl__route(session, head->to[0]);
    }
    return line == FL__NONE ? FL_WOULD_BLOCK : send_direct(session, line, head, event);
}

FlResult fl_event_send_some(FlSession *session, const FlPeerId *to, int32_t to_count,
                            const FlEvent *event)
{
    FlResult result = check(session, to_count, event);
    if (result != FL_OK || to_count == 0) {
        return result;
    }
    FlEventHead head = {.from = (uint16_t)fl__self(session),
                        .type = event->type,
                        .delivery = (uint8_t)event->delivery,
                        .to_count = to_count};
    for (int32_t i = 0; i < to_count; i++) {
        int32_t member = fl__member_of(session, to[i]);
        if (member == FL__NONE || member == fl__self(session)) {
            return FL_STALE_ID;
        }
        head.to[i] = (uint16_t)member;
    }
    return send_event(session, &head, event);
}

FlResult fl_event_send(FlSession *session, FlPeerId to, const FlEvent *event)
{
    if (to.index1 != 0) {
        return fl_event_send_some(session, &to, 1, event);
    }
    FlResult result = check(session, 0, event);
    if (result != FL_OK) {
        return result;
    }
    FlEventHead head = {.from = (uint16_t)fl__self(session),
                        .type = event->type,
                        .delivery = (uint8_t)event->delivery,
                        .to_count = FL_EVENT_TO_ALL};
    return send_event(session, &head, event);
}

FlResult fl__event_own(FlSession *session, int32_t to, uint16_t type, const void *bytes,
                       int32_t count)
{
    FlEvent event = {.type = type,
                     .delivery = FL_DELIVERY_ORDERED,
                     .bytes = (const uint8_t *)bytes,
                     .count = count};
    FlEventHead head = {.from = (uint16_t)fl__self(session),
                        .type = type,
                        .delivery = (uint8_t)event.delivery,
                        .to_count = to == FL__NONE ? FL_EVENT_TO_ALL : 1};
    head.to[0] = (uint16_t)(to == FL__NONE ? 0 : to);
    return send_event(session, &head, &event);
}
