// Reliable messages: each to the feature that has its kind.
#include "private.h"

uint8_t *fl__message_bytes(const FlSession *session)
{
    return session->packets->message;
}

// The next message of a connection, as long as features have room. False: none.
static bool next_message(FlSession *session, int32_t connection, int32_t *count)
{
    if (!fl__connection_used(session, connection) || fl__connection_waiting(session, connection) ||
        fl__features_are_full(session, connection)) {
        return false;
    }
    return fl_link_take(fl__connection_link(session, connection), session->packets->message,
                        MESSAGE_ROOM, count) == FL_OK;
}

// False: no sender writes that.
static bool dispatch(const Features *f, MessageIn *in)
{
    int32_t row = in->kind < KINDS_AT_MOST ? (int32_t)f->by_message[in->kind] - 1 : FL__NONE;
    return row != FL__NONE && f->row[row]->message(f->self[row], in);
}

static void take(FlSession *session, int32_t connection, int32_t count, FlTime now)
{
    FlReader r;
    fl_reader_init(&r, session->packets->message, count);
    MessageIn in = {.session = session,
                    .connection = connection,
                    .from = fl__connection_member(session, connection),
                    .speaker = fl__speaker(session, connection),
                    .kind = (uint8_t)fl_reader_take(&r, 8),
                    .bytes = count,
                    .r = &r,
                    .now = now,
                    .time = fl_session_time(session, now)};
    if (in.kind < KINDS_AT_MOST && !fl__may_send_message(in.kind, in.speaker)) {
        // One of two peers may lead, for all it knows. What matters of it is sent again (ASK).
        fl__connection_refused(session, connection, in.speaker == FROM_PEER);
    } else if (!dispatch(&session->packets->features, &in)) {
        fl__connection_malformed(session, connection);
    }
}

void fl__message_direct(FlSession *session, int32_t from, const uint8_t *bytes, int32_t count,
                        FlTime now)
{
    FlReader r;
    fl_reader_init(&r, bytes, count);
    MessageIn in = {.session = session,
                    .connection = FL__NONE,
                    .from = from,
                    .speaker = FROM_PEER,
                    .kind = (uint8_t)fl_reader_take(&r, 8),
                    .bytes = count,
                    .r = &r,
                    .now = now,
                    .time = fl_session_time(session, now)};
    bool goes = in.kind == MESSAGE_CALL || in.kind == MESSAGE_ANSWER;
    if (!goes || !dispatch(&session->packets->features, &in)) {
        fl__count(session, FL_SESSION_MALFORMED);
    }
}

void fl__messages_take(FlSession *session, int32_t connection, FlTime now)
{
    int32_t count;
    // What is said before the welcome is understood after it.
    while (session->self != FL__NONE && next_message(session, connection, &count)) {
        take(session, connection, count, now);
    }
}

bool fl__announcement_send(FlSession *session, int32_t connection, const FlWriter *writer)
{
    FL_ASSERT(!writer->failed);
    FlLink *link = fl__connection_link(session, connection);
    return fl_link_send(link, FL_DELIVERY_ORDERED, writer->bytes, fl_writer_size(writer)) == FL_OK;
}

FlResult fl__message_send(FlSession *session, int32_t connection, FlDelivery delivery,
                          const FlWriter *writer)
{
    FL_ASSERT(!writer->failed);
    if (!fl__announce(session, connection)) { // its sender is announced before
        return FL_WOULD_BLOCK;
    }
    fl__connection_wake(session, connection);
    return fl_link_send(fl__connection_link(session, connection), delivery, writer->bytes,
                        fl_writer_size(writer));
}
