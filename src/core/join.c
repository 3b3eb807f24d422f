// Getting in where anybody may, and saying goodbye there. Sealed sessions have room `seal` for
// this; refusals (refuse.c) are the same for both.
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
//   8     left          -         why: 1..6, as MEMBER says it to the others
//
// Where there is a seal, AWAY is a sealed payload of one byte, `left`: no packet of a link is so
// short.
#include "private.h"

#include <string.h>

enum {
    KIND_JOIN = 1,
    KIND_ACCEPT = 2,
    KIND_REFUSE = FL__JOIN_REFUSE,
    KIND_BYE = 4,
    KIND_AWAY = 6, // 5 is a crowd's (lanes.c)
};

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
        fl__refuse(session, from, nonce, FL__REFUSED_FULL, now);
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
    if (session->sealed != NULL) {
        fl__refuse(session, from, nonce, FL__REFUSED_PLAIN, now);
    } else if (protocol != session->world.protocol_id) {
        fl__refuse(session, from, nonce, FL__REFUSED_PROTOCOL, now);
    } else {
        admit(session, from, nonce, now);
    }
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
    return fl__refusal_next(session, out);
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
    const char *refused = fl__refusal_text(session);
    if (refused != NULL && session->sealed != NULL && fl__sealed_server(session).asked) {
        why = refused;
    } else if (session->heard_count == 0) {
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

// When an attempt is given up: as defined, or sooner if a refusal stands.
static FlTime join_end(const FlSession *session)
{
    FlTime refused = fl__refusal_believed(session);
    return refused < session->join_until ? refused : session->join_until;
}

static bool client_next(FlSession *session, FlTime now, FlOutgoing *out)
{
    if (session->state != FL_SESSION_JOINING) {
        return false;
    }
    if (now >= join_end(session)) {
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

#define AWAY_COPIES 10 // as many as the seal says goodbye

// None for an address where nobody has spoken yet: it may be somebody else's than who asked.
static Goodbye *goodbye_room(FlSession *session, const Line *line)
{
    bool room = session->goodbye_count < session->line_count && !line->unproven;
    return room ? &session->goodbyes[session->goodbye_count] : NULL;
}

void fl__join_goodbye(FlSession *session, const Line *line)
{
    Goodbye *goodbye = goodbye_room(session, line);
    if (session->sealed != NULL || goodbye == NULL) {
        return; // the seal says it
    }
    FlWriter w;
    write_head(&w, session, KIND_BYE);
    fl_writer_put(&w, line->nonce, 64);
    fl_writer_put(&w, line->conversation, 16);
    goodbye->to = line->address;
    goodbye->copies = 1;
    goodbye->count = fl_writer_size(&w);
    memcpy(goodbye->bytes, w.bytes, (size_t)goodbye->count);
    session->goodbye_count++;
}

void fl__join_away(FlSession *session, Line *line, FlLeft left, FlTime now)
{
    Goodbye *goodbye = goodbye_room(session, line);
    FlOutgoing out;
    if (session->sealed == NULL) {
        FlWriter w;
        write_head(&w, session, KIND_AWAY);
        fl_writer_put(&w, line->nonce, 64);
        fl_writer_put(&w, line->conversation, 16);
        fl_writer_put(&w, (uint64_t)left, 8);
        give(&w, line->address, &out);
    }
    bool sealed = session->sealed != NULL;
    if (goodbye == NULL || (sealed && !fl__sealed_away(session, line, (uint8_t)left, now, &out))) {
        fl__sealed_leave(session, line, now);
        return;
    }
    FL_ASSERT(out.count <= (int32_t)sizeof goodbye->bytes);
    goodbye->to = out.to;
    goodbye->copies = AWAY_COPIES;
    goodbye->count = out.count;
    memcpy(goodbye->bytes, out.bytes, (size_t)out.count);
    session->goodbye_count++;
}

bool fl__goodbye_next(FlSession *session, FlOutgoing *out)
{
    if (session->goodbye_count == 0) {
        return false;
    }
    Goodbye *goodbye = &session->goodbyes[session->goodbye_count - 1];
    out->to = goodbye->to;
    out->bytes = goodbye->bytes; // stays until the next call
    out->count = goodbye->count;
    goodbye->copies--;
    session->goodbye_count -= goodbye->copies == 0 ? 1 : 0;
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

// A mesh does not go on without its host here: it is there, and does not want us.
static void sent_away(FlSession *session, int32_t index, FlLeft left, FlTime now)
{
    static const char *const why[] = {
#define ROW(name, words) "The host has sent us away (" words ").",
        FL_LEFT_TABLE(ROW)
#undef ROW
    };
    fl__sealed_leave(session, &session->lines[index], now);
    fl__line_close(session, index);
    fl__session_alone(session, left, now);
    fl_session_leave(session, now); // introduced peers are told
    fl__session_end(session, why[left]);
}

static bool is_reason(uint64_t left)
{
    return left > FL_LEFT_GOODBYE && left < FL_LEFT_COUNT;
}

static bool read_away(FlSession *session, FlReader *r, FlAddress from, FlTime now)
{
    uint64_t nonce = fl_reader_take(r, 64);
    uint64_t conversation = fl_reader_take(r, 16);
    uint64_t left = fl_reader_take(r, 8);
    int32_t index = fl__line_at(session, from);
    if (!is_whole(r) || !is_reason(left)) {
        return false;
    }
    if (index == FL__NONE) {
        return session->state == FL_SESSION_ENDED; // it is said more than once
    }
    const Line *line = &session->lines[index];
    if (line->nonce != nonce || line->conversation != conversation || line->direct ||
        fl__is_host(session)) {
        return false;
    }
    sent_away(session, index, (FlLeft)left, now);
    return true;
}

bool fl__join_away_heard(FlSession *session, int32_t index, const uint8_t *bytes, int32_t count,
                         FlTime now)
{
    const Line *line = &session->lines[index];
    if (session->sealed == NULL || count != 1) {
        return false;
    }
    if (is_reason(bytes[0]) && line->pair == NULL && !fl__is_host(session)) {
        sent_away(session, index, (FlLeft)bytes[0], now);
    } else {
        session->count[FL_SESSION_MALFORMED]++;
    }
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
    bool sealed = session->sealed != NULL;
    FlAddress asked = sealed ? fl__sealed_server(session).address : session->def.host;
    bool from_host = !host && fl_address_equal(from, asked);
    bool taken = false;
    if (sealed && !(host ? kind == KIND_JOIN : from_host && kind == KIND_REFUSE)) {
        return false; // the seal counts what it is
    }
    if (kind == KIND_BYE) {
        taken = read_bye(session, &r, from, arrival);
    } else if (kind == KIND_AWAY) {
        taken = read_away(session, &r, from, arrival);
    } else if (host && kind == KIND_JOIN) {
        taken = session->state == FL_SESSION_RUNNING && read_join(session, &r, from, arrival);
    } else if (from_host && kind == KIND_ACCEPT) {
        taken = read_accept(session, &r, arrival);
    } else if (from_host && kind == KIND_REFUSE) {
        taken = fl__refusal_heard(session, from, &r, arrival);
    }
    session->count[FL_SESSION_BAD_JOIN] += taken ? 0 : 1;
    return true;
}

bool fl__join_next(FlSession *session, FlTime now, FlOutgoing *out)
{
    return fl__is_host(session) ? host_next(session, out) : client_next(session, now, out);
}

FlTime fl__join_deadline(const FlSession *session, FlTime now)
{
    if (session->goodbye_count > 0 || session->refusals.count > 0) {
        return now;
    }
    if (session->state == FL_SESSION_JOINING) {
        bool asks = !session->lines[0].used && session->sealed == NULL;
        FlTime end = join_end(session);
        return asks && session->join_next < end ? session->join_next : end;
    }
    return session->accepts ? now : FL_FOREVER;
}
