// Getting in, without proof of who is asking: until connections are sealed.
//
// A client asks (JOIN) until the host answers; the host answers each JOIN once (WELCOME or REFUSE),
// and never with more bytes than it was asked with, so it cannot be used to flood others. These
// datagrams start with a conversation number of zero, which no link has.

// JOIN: let me in.                                               spec/WIRE.md section 7.1
//
//   bits  field         unit      valid
//   16    zero          -         no conversation yet
//   8     kind          -         1
//   64    protocol      -         the world's protocol id
//   64    nonce         -         chosen by the client; the same in all its requests
//   168   zero          -         no answer is longer than what asked for it

// WELCOME: you are in.                                           spec/WIRE.md section 7.2
//
//   bits  field         unit      valid
//   16    zero          -         no conversation yet
//   8     kind          -         2
//   64    nonce         -         the client's
//   16    conversation  -         1..65535, of the link that starts here
//   32    first         -         the first entity number that is the client's to give
//   32    count         -         how many; at least 1; within the world's capacity
//   64    offset        ns        session time minus the host's link clock; below 2^62

// REFUSE: you are not.                                           spec/WIRE.md section 7.3
//
//   bits  field         unit      valid
//   16    zero          -         no conversation yet
//   8     kind          -         3
//   64    nonce         -         the client's
//   8     reason        -         1 full, 2 another protocol

#include "private.h"

#include <string.h>

enum { KIND_JOIN = 1, KIND_WELCOME = 2, KIND_REFUSE = 3 };
enum { REASON_FULL = 1, REASON_PROTOCOL = 2 };

#define JOIN_BYTES 40
#define PADDING_BYTES 21
#define OFFSET_END (UINT64_C(1) << 62) // 146 years, and as many to go

static void write_head(FlWriter *w, uint8_t *bytes, int32_t capacity, uint64_t kind)
{
    fl_writer_init(w, bytes, capacity);
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

// ---------------------------------------------------------------- the host

static Peer *peer_by_address(FlSession *session, FlAddress address)
{
    for (int32_t i = 0; i < session->def.peer_capacity; i++) {
        if (session->peers[i].used && fl_address_equal(session->peers[i].address, address)) {
            return &session->peers[i];
        }
    }
    return NULL;
}

static Peer *peer_free(FlSession *session)
{
    for (int32_t i = 0; i < session->def.peer_capacity; i++) {
        if (!session->peers[i].used) {
            return &session->peers[i];
        }
    }
    return NULL;
}

static uint16_t fresh_conversation(FlSession *session)
{
    return (uint16_t)(1 + fl_random_below(&session->random, 65535));
}

static void refuse(FlSession *session, FlAddress to, uint64_t nonce, uint8_t reason)
{
    session->count[FL_SESSION_REFUSED]++;
    Refusal refusal = {.due = true, .to = to, .nonce = nonce, .reason = reason};
    session->refusal = refusal; // the last one asked gets its answer; the others will ask again
}

static void admit(FlSession *session, FlAddress from, uint64_t nonce, FlTime now)
{
    Peer *peer = peer_by_address(session, from);
    if (peer != NULL && peer->nonce == nonce) {
        peer->welcome_due = true; // our WELCOME was lost, and what we said after it not understood
        fl__peer_owe_all(session, peer, now);
        return;
    }
    if (peer != NULL) { // the same player, started anew
        fl__peer_drop(session, (int32_t)(peer - session->peers));
    }
    peer = peer_free(session);
    if (peer == NULL) {
        refuse(session, from, nonce, REASON_FULL);
        return;
    }
    peer->address = from;
    peer->nonce = nonce;
    peer->conversation = fresh_conversation(session);
    if (!fl__peer_open(session, peer, now)) {
        session->count[FL_SESSION_OUT_OF_MEMORY]++;
        return;
    }
    peer->welcome_due = true;
}

static bool read_join(FlSession *session, FlReader *r, FlAddress from, FlTime now)
{
    uint64_t protocol = fl_reader_take(r, 64);
    uint64_t nonce = fl_reader_take(r, 64);
    uint64_t padding = 0;
    for (int32_t bytes = 0; bytes < PADDING_BYTES; bytes++) {
        padding |= fl_reader_take(r, 8);
    }
    if (r->failed || padding != 0 || r->bit_count != r->size_bits) {
        return false;
    }
    if (protocol != session->world.protocol_id) {
        refuse(session, from, nonce, REASON_PROTOCOL);
        return true;
    }
    admit(session, from, nonce, now);
    return true;
}

static void write_welcome(FlSession *session, Peer *peer, FlTime now, FlOutgoing *out)
{
    FlTime session_now = fl_session_time(session, now);
    FlTime offset = session_now - fl_link_clock(peer->link, now);
    FlWriter w;
    write_head(&w, session->packet, sizeof session->packet, KIND_WELCOME);
    fl_writer_put(&w, peer->nonce, 64);
    fl_writer_put(&w, peer->conversation, 16);
    fl_writer_put(&w, peer->first_entity, 32);
    fl_writer_put(&w, peer->entity_count, 32);
    fl_writer_put(&w, (uint64_t)offset, 64);
    give(&w, peer->address, out);
}

static bool host_next(FlSession *session, FlTime now, FlOutgoing *out)
{
    for (int32_t i = 0; i < session->def.peer_capacity; i++) {
        Peer *peer = &session->peers[i];
        if (peer->used && peer->welcome_due) {
            peer->welcome_due = false;
            write_welcome(session, peer, now, out);
            return true;
        }
    }
    if (session->refusal.due) {
        FlWriter w;
        write_head(&w, session->packet, sizeof session->packet, KIND_REFUSE);
        fl_writer_put(&w, session->refusal.nonce, 64);
        fl_writer_put(&w, session->refusal.reason, 8);
        give(&w, session->refusal.to, out);
        session->refusal.due = false;
        return true;
    }
    return false;
}

// ---------------------------------------------------------------- the client

static bool read_welcome(FlSession *session, FlReader *r, FlTime now)
{
    uint64_t nonce = fl_reader_take(r, 64);
    uint64_t conversation = fl_reader_take(r, 16);
    uint64_t first = fl_reader_take(r, 32);
    uint64_t count = fl_reader_take(r, 32);
    uint64_t offset = fl_reader_take(r, 64);
    uint64_t capacity = (uint64_t)session->world.def.entity_capacity;
    bool good = !r->failed && r->bit_count == r->size_bits && nonce == session->nonce &&
                conversation != 0 && count >= 1 && first < capacity && count <= capacity - first &&
                offset < OFFSET_END;
    if (!good) {
        return false;
    }
    if (session->state != FL_SESSION_JOINING) {
        return true; // said twice
    }
    Peer *host = &session->peers[0];
    host->address = session->def.host;
    host->conversation = (uint16_t)conversation;
    if (!fl__peer_open(session, host, now)) {
        session->count[FL_SESSION_OUT_OF_MEMORY]++;
        return true;
    }
    session->epoch = now;
    session->told_at = 0;
    session->own_first = (uint32_t)first;
    session->own_count = (uint32_t)count;
    session->state = FL_SESSION_RUNNING;
    fl_session_clock_follow(&session->clock, (FlTime)offset);
    return true;
}

static bool read_refusal(FlSession *session, FlReader *r)
{
    uint64_t nonce = fl_reader_take(r, 64);
    uint64_t reason = fl_reader_take(r, 8);
    bool known = reason == REASON_FULL || reason == REASON_PROTOCOL;
    if (r->failed || r->bit_count != r->size_bits || nonce != session->nonce || !known) {
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

static void explain_silence(FlSession *session)
{
    const char *why =
        POSSIBLE_CAUSES "Something did come in meanwhile, but not from a host of ours.";
    if (session->heard_count == 0) {
        why = POSSIBLE_CAUSES "Nothing at all came in meanwhile.";
    } else if (session->count[FL_SESSION_OUT_OF_MEMORY] > 0) {
        why =
            "The host let us in, but there was no memory for the link to it: reserve less, or free "
            "something, and join again.";
    }
    fl__session_end(session, why);
}

static bool client_next(FlSession *session, FlTime now, FlOutgoing *out)
{
    if (session->state != FL_SESSION_JOINING) {
        return false;
    }
    if (now >= session->join_until) {
        explain_silence(session);
        return false;
    }
    if (now < session->join_next) {
        return false;
    }
    session->join_next = now + session->def.join_every_ns;
    session->count[FL_SESSION_JOINS_SENT]++;
    FlWriter w;
    write_head(&w, session->packet, JOIN_BYTES, KIND_JOIN);
    fl_writer_put(&w, session->world.protocol_id, 64);
    fl_writer_put(&w, session->nonce, 64);
    for (int32_t bytes = 0; bytes < PADDING_BYTES; bytes++) {
        fl_writer_put(&w, 0, 8);
    }
    give(&w, session->def.host, out);
    return true;
}

// ---------------------------------------------------------------- both

bool fl__join_receive(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                      FlTime arrival)
{
    FlReader r;
    fl_reader_init(&r, bytes, count);
    if (fl_reader_take(&r, 16) != 0 || r.failed) {
        return false;
    }
    uint64_t kind = fl_reader_take(&r, 8);
    bool host = session->def.role == FL_ROLE_HOST;
    bool from_host = !host && fl_address_equal(from, session->def.host);
    bool taken = false;
    if (host && kind == KIND_JOIN) {
        taken = read_join(session, &r, from, arrival);
    } else if (from_host && kind == KIND_WELCOME) {
        taken = read_welcome(session, &r, arrival);
    } else if (from_host && kind == KIND_REFUSE) {
        taken = read_refusal(session, &r);
    }
    session->count[FL_SESSION_BAD_JOIN] += taken ? 0 : 1;
    return true;
}

bool fl__join_next(FlSession *session, FlTime now, FlOutgoing *out)
{
    return session->def.role == FL_ROLE_HOST ? host_next(session, now, out)
                                             : client_next(session, now, out);
}

FlTime fl__join_deadline(const FlSession *session, FlTime now)
{
    if (session->state == FL_SESSION_JOINING) {
        return session->join_next < session->join_until ? session->join_next : session->join_until;
    }
    bool answer = session->refusal.due;
    for (int32_t i = 0; i < session->def.peer_capacity && !answer; i++) {
        answer = session->peers[i].used && session->peers[i].welcome_due;
    }
    return answer ? now : FL_FOREVER;
}
