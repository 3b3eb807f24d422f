// Announcements of members: the present truth, sent reliably to whoever has not got it.
//
// Per connection there is a bit for every member: "not announced since it changed". Bits become
// messages while the link's queue has room. So nothing is ever lost or queued twice, what changes
// faster than the connection carries is announced as it is now, and a late joiner is one whose bits
// are all set. A newcomer's own membership is announced last: then it knows everything.
#include "private.h"

#include <string.h>

static uint64_t *due_over(const FlSession *session, int32_t connection)
{
    return &session->members->due[connection * session->member_words];
}

static void member_due(FlSession *session, int32_t number)
{
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (fl__connection_used(session, i) && !fl__connection_direct(session, i)) {
            fl__bit_set(due_over(session, i), number);
            fl__connection_wake(session, i);
        }
    }
}

// A host before us may have announced a leaver to some, and died before it reached all.
static void all_due(FlSession *session, int32_t connection)
{
    bool ends = fl__handshake(session, connection)->promoted;
    for (int32_t i = 0; fl__is_host(session) && i < session->member_count; i++) {
        const Member *member = fl__member(session, i);
        if (member->present || (ends && member->incarnation != 0)) {
            fl__bit_set(due_over(session, connection), i);
        }
    }
}

static void none_due(FlSession *session, int32_t connection)
{
    memset(due_over(session, connection), 0, (size_t)session->member_words * sizeof(uint64_t));
}

static bool send_member(FlSession *session, int32_t connection, int32_t number)
{
    const Member *member = fl__member(session, number);
    MemberMessage message = {.number = (uint16_t)number,
                             .incarnation = member->incarnation,
                             .present = member->present,
                             .left = member->left,
                             .client_id = member->client_id};
    memcpy(message.name, member->name, sizeof message.name);
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    fl__member_message_write(&writer, &message);
    bool sent = fl__announcement_send(session, connection, &writer);
    if (sent) {
        fl__bit_clear(due_over(session, connection), number);
    }
    return sent;
}

bool fl__members_send_due(void *self, int32_t connection)
{
    FlSession *session = (FlSession *)self;
    int32_t own = fl__connection_member(session, connection);
    const uint64_t *due = due_over(session, connection);
    int32_t next = fl__bit_next(due, session->member_words, 0);
    for (; next != FL__NONE; next = fl__bit_next(due, session->member_words, next + 1)) {
        if (next != own && !send_member(session, connection, next)) {
            return false;
        }
    }
    return true;
}

static bool send_own(void *self, int32_t connection)
{
    FlSession *session = (FlSession *)self;
    int32_t own = fl__connection_member(session, connection);
    bool due = own < session->member_count && fl__bit_get(due_over(session, connection), own);
    return !due || send_member(session, connection, own);
}

FlResult fl__host_send(FlSession *session, const FlWriter *writer)
{
    FL_ASSERT(!writer->failed);
    int32_t connection =
        session->self != FL__NONE ? fl__member(session, session->host)->connection : FL__NONE;
    if (connection == FL__NONE) {
        return session->members->lead_at != FL_FOREVER ? FL_WOULD_BLOCK : FL_STALE_ID;
    }
    return fl__message_send(session, connection, FL_DELIVERY_ORDERED, writer);
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    switch (change->kind) {
    case CHANGE_CONNECTION_OPENED:
    case CHANGE_ANNOUNCE_NOTHING:
        none_due(session, change->connection);
        break;
    case CHANGE_ANNOUNCE_ALL:
        all_due(session, change->connection);
        break;
    case CHANGE_MEMBER_CAME:
    case CHANGE_MEMBER_LEFT:
        if (fl__is_host(session)) {
            member_due(session, change->member);
        }
        break;
    default:
        break;
    }
}

/// The last of all announcements.
const Feature fl__feature_entered = {
    .name = "entered",
    .announce = send_own,
    .changed = changed,
};
