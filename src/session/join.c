// Getting in where anybody may, and saying goodbye there. Sealed sessions have room `seal` for
// this.
//
// A client asks (JOIN) until the host answers; the host answers each JOIN once (ACCEPT or REFUSE),
// and never with more bytes than it was asked with; and it says nothing more until the client has
// spoken over the link, so it cannot be used to flood others. These
// datagrams start with a conversation number of zero, which no link has. The rest is said over the
// link, which starts with ACCEPT.

// JOIN: let me in.                                               spec/WIRE.md section 7.1
//
//   bits  field         unit      valid
//   16    zero          -         no conversation yet
//   8     kind          -         1
//   64    protocol      -         the world's protocol id
//   64    nonce         -         chosen by the client; the same in all its requests

// ACCEPT: you may talk to me.                                    spec/WIRE.md section 7.2
//
//   bits  field         unit      valid
//   16    zero          -         no conversation yet
//   8     kind          -         2
//   64    nonce         -         the client's
//   16    conversation  -         1..65535, of the link that starts here

// REFUSE: you may not.                                           spec/WIRE.md section 7.3
//
//   bits  field         unit      valid
//   16    zero          -         no conversation yet
//   8     kind          -         3
//   64    nonce         -         the client's
//   8     reason        -         1 full, 2 another protocol

// BYE: I am leaving, or you are.                                 spec/WIRE.md section 7.3
//
//   bits  field         unit      valid
//   16    zero          -         no conversation any more
//   8     kind          -         4
//   64    nonce         -         the client's; 0 between introduced peers
//   16    conversation  -         that of the link that ends
#include "private.h"

#include <string.h>

enum { KIND_JOIN = 1, KIND_ACCEPT = 2, KIND_REFUSE = 3, KIND_BYE = 4 };
enum { REASON_FULL = 1, REASON_PROTOCOL = 2 };

static void write_head(FlWriter *w, FlSession *session, uint64_t kind)
{
    fl_writer_init(w, session->packet, sizeof session->packet);
    fl_writer_put(w, 0, 16);
    fl_writer_put(w, kind, 8);
}

static void give(const FlWriter *w, FlAddress to, FlOutgoing *out)
{
    FL_ASSERT(!w->failed);
    out->to = to;
    out->bytes = w->bytes;
    out->count = fl_writer_size(w);
}

static bool is_whole(const FlReader *r)
{
    return !r->failed && r->bit_count == r->size_bits;
}

uint16_t fl__fresh_conversation(FlSession *session)
{
    return (uint16_t)(1 + fl_random_below(&session->random, 65535));
}

// ---------------------------------------------------------------- the host

bool fl__admit(FlSession *session, int32_t index, FlAddress address, uint64_t client_id, FlTime now)
{
    int32_t number = FL__NONE; // the first that nobody has
    for (int32_t i = 0; i < session->seat_count && number == FL__NONE; i++) {
        bool taken = session->members[i].present || fl__orphans_of(session, i);
        number = taken ? FL__NONE : i;
    }
    if (number == FL__NONE || !fl__line_open(session, index, number, address, now)) {
        return false;
    }
    Line *line = &session->lines[index];
    line->welcome_owed = true;
    line->welcome_next = now;
    Mapping own = {INT64_MIN, line->offset, 0}; // the WELCOME says it
    fl__mapping_heard(&line->own_map, &own);
    line->own_map.told = 1;
    fl__news_all(session, index);
    fl__member_enter(session, number, session->members[number].incarnation + 1, client_id);
    fl__line_watch(session, index, fl_session_time(session, now));
    fl__mesh_introduce(session, number);
    return true;
}

static void refuse(FlSession *session, FlAddress to, uint64_t nonce, uint8_t reason)
{
    session->count[FL_SESSION_REFUSED]++;
    Refusal refusal = {.due = true, .to = to, .nonce = nonce, .reason = reason};
    session->refusal = refusal; // the last one asked gets its answer; the others will ask again
}

static void admit(FlSession *session, FlAddress from, uint64_t nonce, FlTime now)
{
    int32_t index = fl__line_at(session, from);
    if (index != FL__NONE && session->lines[index].nonce == nonce) {
        session->lines[index].accept_due = true; // our ACCEPT was lost
        session->accepts = true;
        session->lines[index].welcome_next = now;
        fl__line_wake(session, index);
        return;
    }
    if (index != FL__NONE) { // the same player, started anew
        fl__line_lost(session, index, FL_LEFT_GOODBYE, now);
    }
    index = fl__line_free(session);
    if (index == FL__NONE) {
        refuse(session, from, nonce, REASON_FULL);
        return;
    }
    session->lines[index].conversation = fl__fresh_conversation(session);
    if (fl__admit(session, index, from, 0, now)) {
        session->lines[index].nonce = nonce;
        session->lines[index].accept_due = true;
        session->accepts = true;
        session->lines[index].unproven = true;
    }
}

static bool read_join(FlSession *session, FlReader *r, FlAddress from, FlTime now)
{
    uint64_t protocol = fl_reader_take(r, 64);
    uint64_t nonce = fl_reader_take(r, 64);
    if (!is_whole(r)) {
        return false;
    }
    if (protocol != session->world.protocol_id) {
        refuse(session, from, nonce, REASON_PROTOCOL);
        return true;
    }
    admit(session, from, nonce, now);
    return true;
}

static bool host_next(FlSession *session, FlOutgoing *out)
{
    FlWriter w;
    for (int32_t i = 0; session->accepts && i < session->line_count; i++) {
        Line *line = &session->lines[i];
        if (line->used && line->accept_due) {
            line->accept_due = false;
            write_head(&w, session, KIND_ACCEPT);
            fl_writer_put(&w, line->nonce, 64);
            fl_writer_put(&w, line->conversation, 16);
            give(&w, line->address, out);
            return true;
        }
    }
    session->accepts = false;
    if (session->refusal.due) {
        write_head(&w, session, KIND_REFUSE);
        fl_writer_put(&w, session->refusal.nonce, 64);
        fl_writer_put(&w, session->refusal.reason, 8);
        give(&w, session->refusal.to, out);
        session->refusal.due = false;
        return true;
    }
    return false;
}

// ---------------------------------------------------------------- the client

static bool read_accept(FlSession *session, FlReader *r, FlTime now)
{
    uint64_t nonce = fl_reader_take(r, 64);
    uint64_t conversation = fl_reader_take(r, 16);
    if (!is_whole(r) || nonce != session->nonce || conversation == 0) {
        return false;
    }
    Line *host = &session->lines[0];
    if (session->state != FL_SESSION_JOINING || host->used) {
        return true; // said twice
    }
    host->conversation = (uint16_t)conversation;
    host->nonce = nonce;
    session->epoch = now;
    session->told_at = 0;
    if (fl__line_open(session, 0, 0, session->def.host, now)) {
        fl__join_heard(session, now);
    }
    return true;
}

void fl__welcome_take(FlSession *session, int32_t index, const Welcome *w)
{
    if (w->members > session->member_count) {
        fl__session_end(session, "The host lets in more players than we have room for: raise "
                                 "peer_capacity to the host's.");
        return;
    }
    Line *line = &session->lines[index];
    session->members[line->member].line = FL__NONE;
    line->member = w->host;
    session->members[w->host].line = index;
    session->self = w->self;
    session->host = w->host;
    session->topology = w->topology;
    session->share = w->share;
    session->seat_count = w->members; // ours to give, should we host one day: no more
    session->state = FL_SESSION_RUNNING;
    fl_session_clock_follow(&session->clock, w->offset);
}

void fl__welcome_again(FlSession *session, int32_t index, const Welcome *w)
{
    Line *line = &session->lines[index];
    if (w->host == session->host && line->member == session->host && w->self == session->self) {
        line->offset = w->offset;
        fl_session_clock_follow(&session->clock, w->offset);
    }
}

// A host that many ask at once may need a while for all of them: as long as it speaks, we wait.
void fl__join_heard(FlSession *session, FlTime now)
{
    if (session->state == FL_SESSION_JOINING) {
        session->join_until = fl_time_add(now, session->def.join_timeout_ns);
    }
}

static bool read_refusal(FlSession *session, FlReader *r)
{
    uint64_t nonce = fl_reader_take(r, 64);
    uint64_t reason = fl_reader_take(r, 8);
    bool known = reason == REASON_FULL || reason == REASON_PROTOCOL;
    if (!is_whole(r) || nonce != session->nonce || !known) {
        return false;
    }
    if (session->state == FL_SESSION_JOINING) {
        fl__session_end(session,
                        reason == REASON_FULL
                            ? "The host is full. Try again when somebody has left."
                            : "The host plays in another world: its world definition, "
                              "application version or Fairlead version differs from ours.");
    }
    return true;
}

#define POSSIBLE_CAUSES                                                                            \
    "No answer from the host, however often we asked. Possible causes:\n"                          \
    "- the host is not running, or listens at another address or port;\n"                          \
    "- a firewall or router on either side drops UDP (try from the same network);\n"               \
    "- the address is private, or changed since you got it;\n"                                     \
    "- the host is so far away or the line so bad that all requests were lost.\n"

void fl__join_explain_silence(FlSession *session)
{
    const char *why =
        POSSIBLE_CAUSES "Something did come in meanwhile, but not from a host of ours.";
    if (session->heard_count == 0) {
        why = POSSIBLE_CAUSES "Nothing at all came in meanwhile.";
    } else if (session->count[FL_SESSION_OUT_OF_MEMORY] > 0) {
        why =
            "The host let us in, but there was no memory for the link to it: reserve less, or free "
            "something, and join again.";
    } else if (session->lines[0].used) {
        why = "The host let us in, and then said nothing more: it is too busy, its upload is too "
              "small for so many players, or the line broke. Join again.";
    }
    fl__session_end(session, why);
}

static bool client_next(FlSession *session, FlTime now, FlOutgoing *out)
{
    if (session->state != FL_SESSION_JOINING) {
        return false;
    }
    if (now >= session->join_until) {
        fl__join_explain_silence(session);
        return false;
    }
    if (now < session->join_next || session->lines[0].used || session->sealed != NULL) {
        return false;
    }
    session->join_next = now + session->def.join_every_ns;
    session->count[FL_SESSION_JOINS_SENT]++;
    FlWriter w;
    write_head(&w, session, KIND_JOIN);
    fl_writer_put(&w, session->world.protocol_id, 64);
    fl_writer_put(&w, session->nonce, 64);
    give(&w, session->def.host, out);
    return true;
}

// ---------------------------------------------------------------- goodbyes

void fl__join_goodbye(FlSession *session, const Line *line)
{
    if (session->sealed == NULL && session->goodbye_count < session->line_count) {
        Goodbye goodbye = {line->address, line->conversation, line->nonce};
        session->goodbyes[session->goodbye_count++] = goodbye;
    }
}

static bool goodbye_next(FlSession *session, FlOutgoing *out)
{
    if (session->goodbye_count == 0) {
        return false;
    }
    const Goodbye *goodbye = &session->goodbyes[--session->goodbye_count];
    FlWriter w;
    write_head(&w, session, KIND_BYE);
    fl_writer_put(&w, goodbye->nonce, 64);
    fl_writer_put(&w, goodbye->conversation, 16);
    give(&w, goodbye->to, out);
    return true;
}

static bool read_bye(FlSession *session, FlReader *r, FlAddress from, FlTime now)
{
    uint64_t nonce = fl_reader_take(r, 64);
    uint64_t conversation = fl_reader_take(r, 16);
    int32_t index = fl__line_at(session, from);
    if (!is_whole(r) || index == FL__NONE) {
        return false;
    }
    const Line *line = &session->lines[index];
    if (line->nonce != nonce || line->conversation != conversation) {
        return false;
    }
    fl__line_lost(session, index, FL_LEFT_GOODBYE, now);
    return true;
}

// ---------------------------------------------------------------- all

bool fl__join_receive(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                      FlTime arrival)
{
    FlReader r;
    fl_reader_init(&r, bytes, count);
    if (fl_reader_take(&r, 16) != 0 || r.failed) {
        return false;
    }
    uint64_t kind = fl_reader_take(&r, 8);
    bool host = fl__is_host(session);
    bool from_host = !host && fl_address_equal(from, session->def.host);
    bool taken = false;
    if (kind == KIND_BYE) {
        taken = read_bye(session, &r, from, arrival);
    } else if (host && kind == KIND_JOIN) {
        taken = session->state == FL_SESSION_RUNNING && read_join(session, &r, from, arrival);
    } else if (from_host && kind == KIND_ACCEPT) {
        taken = read_accept(session, &r, arrival);
    } else if (from_host && kind == KIND_REFUSE) {
        taken = read_refusal(session, &r);
    }
    session->count[FL_SESSION_BAD_JOIN] += taken ? 0 : 1;
    return true;
}

bool fl__join_next(FlSession *session, FlTime now, FlOutgoing *out)
{
    if (goodbye_next(session, out)) {
        return true;
    }
    return fl__is_host(session) ? host_next(session, out) : client_next(session, now, out);
}

FlTime fl__join_deadline(const FlSession *session, FlTime now)
{
    if (session->goodbye_count > 0 || session->refusal.due) {
        return now;
    }
    if (session->state == FL_SESSION_JOINING) {
        bool asks = !session->lines[0].used && session->sealed == NULL;
        bool first = asks && session->join_next < session->join_until;
        return first ? session->join_next : session->join_until;
    }
    return session->accepts ? now : FL_FOREVER;
}
