// Events: the game's own messages, as they are sent.

// EVENT: a routed message of the game; its body.                 spec/WIRE.md section 8.1
//
//   bits  field      unit   valid
//   16    type       -      the game's own
//   then the game's bytes to the end, at most 1024
#include "private.h"

#include <string.h>

#define SHORT_LIST 24 // recipients of an unordered event: it must fit one fragment

static Events *events_of(const FlSession *session)
{
    return &session->play->events;
}

// There is room for one more, and for relaying it.
static bool room(const void *self, int32_t connection)
{
    const FlSession *session = (const FlSession *)self;
    return fl__ring_free(&events_of(session)->ring) >= MESSAGE_ROOM &&
           fl__route_is_free(session, connection);
}

// ---------------------------------------------------------------- the feature

static void advance(void *self, FlTime now)
{
    fl__routes_advance((FlSession *)self, now);
}

static FlTime deadline(void *self, FlTime now)
{
    (void)now;
    return fl__routes_deadline((const FlSession *)self);
}

static void changed(void *self, const Change *change)
{
    if (change->kind == CHANGE_CONNECTION_OPENED) {
        fl__route_opened((FlSession *)self, change->connection);
    }
}

const Feature fl__feature_event = {
    .name = "event",
    .messages = {MESSAGE_EVENT, 1},
    .advance = advance,
    .deadline = deadline,
    .room = room,
    .message = fl__routed_message,
    .changed = changed,
};

// ---------------------------------------------------------------- sending

static bool has_channel(const FlEvent *event)
{
    return event->delivery == FL_DELIVERY_ORDERED && event->channel > 0;
}

static int32_t most_recipients(const FlEvent *event)
{
    bool fragment = event->delivery == FL_DELIVERY_UNORDERED ||
                    event->delivery == FL_DELIVERY_QUICKEST || has_channel(event);
    return fragment ? SHORT_LIST : ROUTE_TO_AT_MOST;
}

static FlResult check(FlSession *session, int32_t to_count, const FlEvent *event)
{
    if (fl__replaying(session)) {
        return FL_REPLAYING;
    }
    bool ordered = event->delivery == FL_DELIVERY_ORDERED && event->channel == 0;
    int32_t longest = ordered ? FL_EVENT_BYTES : FL_EVENT_SHORT_BYTES;
    int32_t most = most_recipients(event);
    if (event->delivery > FL_DELIVERY_NEWEST || event->channel >= FL_EVENT_CHANNELS ||
        event->count < 0 || event->count > longest || to_count > most || to_count < 0 ||
        (event->bytes == NULL && event->count > 0)) {
        return FL_BAD_VALUE;
    }
    if (session->state == FL_SESSION_ENDED) {
        return FL_STALE_ID;
    }
    return session->complete ? FL_OK : FL_WOULD_BLOCK;
}

static RouteHead head_of(const FlSession *session, const FlEvent *event, int32_t to_count)
{
    RouteHead head = {.kind = MESSAGE_EVENT,
                      .from = (uint16_t)session->self,
                      .delivery = (uint8_t)event->delivery,
                      .to_count = to_count};
    if (has_channel(event)) {
        head.delivery = ROUTE_CHANNEL;
        head.channel = event->channel;
        head.priority = event->priority;
    }
    return head;
}

static FlResult send_event(FlSession *session, const RouteHead *head, const FlEvent *event)
{
    if (event->delivery >= FL_DELIVERY_UNRELIABLE) {
        fl__unreliable_send(session, head, event);
        return FL_OK;
    }
    uint8_t body[ROUTED_BYTES];
    FlWriter w;
    fl_writer_init(&w, body, sizeof body);
    fl_writer_put(&w, event->type, 8 * EVENT_TYPE_BYTES);
    fl_writer_bytes(&w, event->bytes, event->count);
    return fl__routed_send(session, head, body, fl_writer_size(&w));
}

FlResult fl_event_send_some(FlSession *session, const FlPeerId *to, int32_t to_count,
                            const FlEvent *event)
{
    FlResult result = check(session, to_count, event);
    if (result != FL_OK || to_count == 0) {
        return result;
    }
    RouteHead head = head_of(session, event, to_count);
    for (int32_t i = 0; i < to_count; i++) {
        int32_t member = fl__member_of(session, to[i]);
        if (member == FL__NONE || member == session->self) {
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
    RouteHead head = head_of(session, event, ROUTE_TO_ALL);
    return send_event(session, &head, event);
}

// Lists a member, once. More than `most` are listed as one more.
static void list_member(RouteHead *head, int32_t member, int32_t most)
{
    for (int32_t i = 0; i < head->to_count && i < most; i++) {
        if (head->to[i] == member) {
            return;
        }
    }
    if (head->to_count < most) {
        head->to[head->to_count] = (uint16_t)member;
    }
    head->to_count += head->to_count <= most ? 1 : 0;
}

FlResult fl_event_send_near(FlSession *session, FlVec3 place, double distance, const FlEvent *event)
{
    FlResult result = check(session, 0, event);
    if (result != FL_OK || !(distance >= 0.0) || !fl_vec3_finite(place)) {
        return result != FL_OK ? result : FL_BAD_VALUE;
    }
    int32_t most = most_recipients(event);
    RouteHead head = head_of(session, event, 0);
    for (FlEntityId id = {0}; fl_entity_next(session, &id);) {
        int32_t slot = fl__entity_slot(session, id);
        int32_t owner = slot != FL__NONE ? fl__entity_owner(session, slot) : session->self;
        FlPose pose;
        bool there = owner != FL__NONE && owner != session->self &&
                     fl__member_present(session, owner) &&
                     fl_entity_pose_at(session, session->now, id, &pose);
        if (there && fl_vec3_length(fl_vec3_sub(pose.position, place)) <= distance) {
            list_member(&head, owner, most);
        }
    }
    if (head.to_count == 0) {
        return FL_OK;
    }
    head.to_count = head.to_count > most ? ROUTE_TO_ALL : head.to_count; // it is a crowd
    return send_event(session, &head, event);
}
