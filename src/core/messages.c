// Reliable messages: each to the feature that has its kind.
#include "private.h"

// The next message of a line, as long as there is room for an event. False: none.
static bool next_message(FlSession *session, int32_t index, int32_t *count)
{
    Line *line = &session->lines[index];
    if (!line->used || !fl__features_have_room(session, index)) {
        return false;
    }
    if (line->early_welcome.members != 0) {
        return false; // it speaks as the host: understood when we know that it is
    }
    return fl_link_take(line->link, session->message, MESSAGE_ROOM, count) == FL_OK;
}

void fl__messages_take(FlSession *session, int32_t index, FlTime now)
{
    if (session->self == FL__NONE) {
        return; // what is said before the welcome is understood after it
    }
    const Features *f = &session->features;
    int32_t count;
    while (next_message(session, index, &count)) {
        const Line *line = &session->lines[index];
        FlReader r;
        fl_reader_init(&r, session->message, count);
        MessageIn in = {.session = session,
                        .line = index,
                        .from = line->member,
                        .from_host = !line->direct && !fl__is_host(session),
                        .kind = (uint8_t)fl_reader_take(&r, 8),
                        .bytes = count,
                        .r = &r,
                        .now = now,
                        .time = fl_session_time(session, now)};
        int32_t row = in.kind < KINDS_AT_MOST ? (int32_t)f->by_message[in.kind] - 1 : FL__NONE;
        if (line->direct && row != FL__NONE && f->row[row]->hosts) {
            session->count[FL_SESSION_EARLY]++; // what matters of it is told again (ASK)
            continue;
        }
        bool sound = row != FL__NONE && f->row[row]->message(f->self[row], &in);
        if (!sound) {
            session->count[fl__line_rivals(line) ? FL_SESSION_EARLY : FL_SESSION_MALFORMED]++;
        }
    }
}

FlResult fl__message_send(FlSession *session, int32_t index, FlDelivery delivery,
                          const FlWriter *writer)
{
    FL_ASSERT(!writer->failed);
    if (!fl__news_flush(session, index)) { // who it is from is told before
        return FL_WOULD_BLOCK;
    }
    fl__line_wake(session, index);
    return fl_link_send(session->lines[index].link, delivery, writer->bytes,
                        fl_writer_size(writer));
}
