// The last words over a connection, and what follows when one is lost.

// BYE: I am leaving, or you are.                                 spec/WIRE.md section 7.3
//
//   bits  field         unit      valid
//   16    zero          -         no conversation any more
//   8     kind          -         4
//   64    nonce         -         the client's; 0 between introduced peers
//   16    conversation  -         that of the link that ends

// AWAY: the host sends you away.                                 spec/WIRE.md section 7.3
//
//   bits  field         unit      valid
//   16    zero          -         no conversation any more
//   8     kind          -         6
//   64    nonce         -         the client's
//   16    conversation  -         that of the link that ends
//   8     left          -         why: 1..7, as MEMBER says it to the others
//   then  text, UTF-8, to the end, at most 119 bytes
//
// Where there is a seal, AWAY is a sealed payload: 24 bits zero, 8 bits 255, left and text. No
// packet of a link has 255 there.
#include "private.h"

#include "connection/sealed.h"
#include "link/link.h"
#include "wire/wire.h"

#include <string.h>

#define AWAY_COPIES 10          // as many as the seal says goodbye
#define AWAY_SEALED 0xff000000u // 24 bits zero, 8 bits 255

// ---------------------------------------------------------------- saying it

// None for an unproven address: it may not be the sender's.
static Goodbye *room_for_one(FlSession *session, int32_t index)
{
    Members *m = session->members;
    bool room =
        m->goodbye_count < session->connection_count && !fl__connection_unproven(session, index);
    return room ? &m->goodbyes[m->goodbye_count] : NULL;
}

static void write(FlSession *session, int32_t index, uint64_t kind, FlWriter *w)
{
    fl_writer_put(w, 0, 16);
    fl_writer_put(w, kind, 8);
    fl_writer_put(w, fl__handshake(session, index)->nonce, 64);
    fl_writer_put(w, fl__connection_conversation(session, index), 16);
}

static void keep(FlSession *session, Goodbye *goodbye, const FlOutgoing *out, int32_t copies)
{
    FL_ASSERT(out->count <= (int32_t)sizeof goodbye->bytes);
    goodbye->to = out->to;
    goodbye->copies = copies;
    goodbye->count = out->count;
    memcpy(goodbye->bytes, out->bytes, (size_t)out->count);
    session->members->goodbye_count++;
}

void fl__goodbye_say(FlSession *session, int32_t index)
{
    Goodbye *goodbye = room_for_one(session, index);
    if (fl__is_sealed(session) || goodbye == NULL) {
        return; // the seal says it
    }
    uint8_t bytes[AWAY_HEAD];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    write(session, index, JOIN_BYE, &w);
    FlOutgoing out = {fl__connection_address(session, index), bytes, fl_writer_size(&w)};
    keep(session, goodbye, &out, 1);
}

// Host: says goodbye to the other end, and why it is sent away.
static void send_away(FlSession *session, int32_t index, FlLeft left, FlTime now)
{
    Goodbye *goodbye = room_for_one(session, index);
    const char *text = fl__handshake(session, index)->text;
    bool sealed = fl__is_sealed(session);
    uint8_t bytes[AWAY_HEAD + FL_AWAY_TEXT];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    if (sealed) {
        fl_writer_put(&w, AWAY_SEALED, 32);
    } else {
        write(session, index, JOIN_AWAY, &w);
    }
    fl_writer_put(&w, (uint64_t)left, 8);
    fl_writer_bytes(&w, (const uint8_t *)text, (int32_t)strlen(text));
    FlOutgoing out = {fl__connection_address(session, index), bytes, fl_writer_size(&w)};
    if (goodbye == NULL ||
        (sealed && !fl__sealed_away(session, index, bytes, out.count, now, &out))) {
        fl__sealed_leave(session, index, now);
        return;
    }
    keep(session, goodbye, &out, AWAY_COPIES);
}

bool fl__goodbyes_wait(const FlSession *session)
{
    return session->members->goodbye_count > 0;
}

bool fl__goodbye_next(FlSession *session, FlOutgoing *out)
{
    Members *m = session->members;
    if (m->goodbye_count == 0) {
        return false;
    }
    Goodbye *goodbye = &m->goodbyes[m->goodbye_count - 1];
    out->to = goodbye->to;
    out->bytes = goodbye->bytes; // stays until the next call
    out->count = goodbye->count;
    goodbye->copies--;
    m->goodbye_count -= goodbye->copies == 0 ? 1 : 0;
    return true;
}

static void leave_all(FlSession *session, FlTime now)
{
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (fl__connection_used(session, i)) {
            fl__sealed_leave(session, i, now);
            fl__goodbye_say(session, i);
            fl__disconnect(session, i);
        }
    }
}

void fl_session_leave(FlSession *session, FlTime now)
{
    if (session->state == FL_SESSION_ENDED || fl__replaying(session)) {
        return;
    }
    leave_all(session, now);
    fl__session_end(session, FL_END_LEFT, "We have left.");
}

// ---------------------------------------------------------------- a connection is lost

// The host is gone: says why.
static void end_lost(FlSession *session, FlLeft left, bool took_messages, FlTime silent_ns)
{
    if (left == FL_LEFT_STALLED) {
        fl__session_end(session, FL_END_TIMED_OUT,
                        "The host has not taken our messages for longer than the time-out. Join "
                        "again.");
    } else if (left != FL_LEFT_GOODBYE) {
        fl__session_end(session, FL_END_TIMED_OUT,
                        "Nothing came from the host for %.1f s: it ended, or the connection broke. "
                        "Join again.",
                        fl_span_seconds(silent_ns));
    } else if (!took_messages) {
        fl__session_end(session, FL_END_HOST_LEFT,
                        "The host has left. Before, too many events were not taken "
                        "here. Call fl_event_take every frame until it has no more.");
    } else {
        fl__session_end(session, FL_END_HOST_LEFT, "The host has left, and the session is over.");
    }
}

void fl__connection_lost(FlSession *session, int32_t index, FlLeft left, FlTime now)
{
    int32_t member = fl__connection_member(session, index);
    bool direct = fl__connection_direct(session, index);
    bool host = fl__is_host(session);
    bool took_messages = !fl__features_are_full(session, index);
    FlTime silent_ns = fl__link_silence(fl__connection_link(session, index), now).silent_ns;
    if (left != FL_LEFT_GOODBYE && host) {
        send_away(session, index, left, now);
    } else if (left != FL_LEFT_GOODBYE) {
        fl__sealed_leave(session, index, now);
        fl__goodbye_say(session, index);
    }
    fl__disconnect(session, index);
    if (host) {
        fl__member_leave(session, member, left, now);
        fl__succession_parted(session, left, now);
    } else if (direct) {
        fl__mesh_parted(session, member, now);
    } else if (!fl__succession_begin(session, left, now)) {
        fl__member_leave_all(session, left, now);
        end_lost(session, left, took_messages, silent_ns);
    }
}

// ---------------------------------------------------------------- hearing it

// The connection that a word from there ends; FL__NONE: none.
static int32_t ends(const FlSession *session, FlReader *r, FlAddress from)
{
    uint64_t nonce = fl_reader_take(r, 64);
    uint64_t conversation = fl_reader_take(r, 16);
    int32_t index = fl__connection_at(session, from);
    bool same = index != FL__NONE && fl__handshake(session, index)->nonce == nonce &&
                fl__connection_conversation(session, index) == conversation;
    return same ? index : FL__NONE;
}

bool fl__bye_read(FlSession *session, FlReader *r, FlAddress from, FlTime now)
{
    int32_t index = ends(session, r, from);
    if (!fl__reader_whole(r) || index == FL__NONE) {
        return false;
    }
    fl__connection_lost(session, index, FL_LEFT_GOODBYE, now);
    return true;
}

// What the host says of it, for people: only what can be shown.
static void end_away(FlSession *session, FlReader *r, FlLeft left)
{
    char text[FL_AWAY_TEXT] = {0};
    int32_t count = fl_reader_left(r);
    FL_ASSERT(count < FL_AWAY_TEXT); // reason_of
    for (int32_t i = 0; i < count; i++) {
        uint8_t c = (uint8_t)fl_reader_take(r, 8);
        text[i] = (char)(c != 0 ? c : '?');
    }
    fl__text_clean(text);
    if (count > 0) {
        fl__session_end(session, FL_END_KICKED, "The host has sent us away: %s", text);
    } else if (left == FL_LEFT_TIMED_OUT) { // its packets reach us, so it is the other way
        fl__session_end(session, FL_END_TIMED_OUT,
                        "The host has sent us away: nothing of ours reached it for longer than its "
                        "time-out, though its packets reach us. Look for what drops or delays what "
                        "we send, and join again.");
    } else {
        // An honest player reads this if its program was built with another definition.
        const char *perhaps = left == FL_LEFT_HOSTILE
                                  ? " If that is not meant: input_bytes, inputs_to_host and "
                                    "action_capacity must be the same at all peers."
                                  : "";
        fl__session_end(session, left == FL_LEFT_REMOVED ? FL_END_KICKED : FL_END_SENT_AWAY,
                        "The host has sent us away (%s).%s", fl_left_text(left), perhaps);
    }
}

// A mesh does not go on without its host here: it is there, and does not want us.
static void sent_away(FlSession *session, int32_t index, FlReader *r, FlLeft left, FlTime now)
{
    fl__sealed_leave(session, index, now);
    fl__disconnect(session, index);
    fl__member_leave_all(session, left, now);
    leave_all(session, now); // introduced peers are informed
    end_away(session, r, left);
}

// The reason and the text of an AWAY. FL_LEFT_GOODBYE: it is none.
static FlLeft reason_of(FlReader *r)
{
    uint64_t left = fl_reader_take(r, 8);
    bool good = !r->failed && fl_reader_left(r) < FL_AWAY_TEXT && left < FL_LEFT_ENDED;
    return good ? (FlLeft)left : FL_LEFT_GOODBYE;
}

bool fl__away_read(FlSession *session, FlReader *r, FlAddress from, FlTime now)
{
    int32_t index = ends(session, r, from);
    FlLeft left = reason_of(r);
    if (left == FL_LEFT_GOODBYE) {
        return false;
    }
    if (fl__connection_at(session, from) == FL__NONE) {
        return session->state == FL_SESSION_ENDED; // it is said more than once
    }
    if (index == FL__NONE || !fl__connection_from_host(session, index)) {
        return false;
    }
    sent_away(session, index, r, left, now);
    return true;
}

bool fl__away_receive(FlSession *session, int32_t index, const uint8_t *bytes, int32_t count,
                      FlTime now)
{
    FlReader r;
    fl_reader_init(&r, bytes, count);
    if (!fl__is_sealed(session) || count < 5 || fl_reader_take(&r, 32) != AWAY_SEALED) {
        return false;
    }
    FlLeft left = reason_of(&r);
    if (left != FL_LEFT_GOODBYE && fl__connection_from_host(session, index)) {
        sent_away(session, index, &r, left, now);
    } else {
        fl__connection_malformed(session, index);
    }
    return true;
}
