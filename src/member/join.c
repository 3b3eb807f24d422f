// Getting in where anybody may. Sealed sessions have module `seal` for this (join_sealed.c);
// refusals (refuse.c) are the same for both.
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
//   8     about_count   -         2..226 bytes follow:
//   8*n   about         -         ABOUT, the player's name and what it says about itself

// ACCEPT: you may talk to me.                                    spec/WIRE.md section 7.2
//
//   bits  field         unit      valid
//   16    zero          -         no conversation yet
//   8     kind          -         2
//   64    nonce         -         the client's
//   16    conversation  -         1..65535, of the link that starts here

#include "private.h"

#include "connection/sealed.h"
#include "wire/wire.h"

#include <string.h>

// ---------------------------------------------------------------- the host

bool fl__admit(FlSession *session, int32_t index, ConnectionDef *def, const SealedClient *client,
               FlTime now)
{
    int32_t number = FL__NONE; // the first that is free; in a crowd 0 is its first host, who does
    int32_t first = session->topology == FL_TOPOLOGY_CROWD ? 1 : 0; // not play
    for (int32_t i = first; i < session->seat_count && number == FL__NONE; i++) {
        const Member *member = fl__member(session, i);
        bool taken =
            member->present || member->connection != FL__NONE || fl__features_hold(session, i);
        number = taken ? FL__NONE : i;
    }
    def->member = number;
    if (number == FL__NONE || !fl__connect(session, index, def, now)) {
        return false;
    }
    Handshake *h = fl__handshake(session, index);
    FlPeerStatus none = {0};
    h->client = *client;
    h->client.about = NULL;
    h->about = none;
    if (client->about_count > 0 && !fl__about_read(client->about, client->about_count, &h->about)) {
        fl__count(session, FL_SESSION_MALFORMED);
    }
    fl__rule_newcomer(session, index, now);
    if (fl__handshake(session, index)->admission == ADMISSION_GIVEN) {
        fl__admit_finish(session, index, now);
    }
    return true;
}

static void accept(FlSession *session, int32_t index, uint64_t nonce)
{
    fl__handshake(session, index)->nonce = nonce;
    fl__handshake(session, index)->accept_due = true;
    session->members->accepts = true;
}

static void admit(FlSession *session, FlAddress from, uint64_t nonce, const uint8_t *about,
                  int32_t about_count, FlTime now)
{
    int32_t index = fl__connection_at(session, from);
    if (index != FL__NONE && fl__handshake(session, index)->nonce == nonce) {
        accept(session, index, nonce); // our ACCEPT was lost
        fl__handshake(session, index)->welcome_next = now;
        fl__connection_wake(session, index);
        return;
    }
    if (index != FL__NONE) { // the same player, started anew
        fl__connection_lost(session, index, FL_LEFT_GOODBYE, now);
    }
    index = fl__connection_free(session);
    if (index == FL__NONE) {
        fl__refuse(session, from, nonce, FL__REFUSED_FULL, now);
        return;
    }
    ConnectionDef def = {
        .address = from, .conversation = fl__fresh_conversation(session), .unproven = true};
    SealedClient player = {.about = about, .about_count = about_count};
    if (fl__admit(session, index, &def, &player, now)) {
        accept(session, index, nonce);
    }
}

static bool read_join(FlSession *session, FlReader *r, FlAddress from, FlTime now)
{
    uint64_t protocol = fl_reader_take(r, 64);
    uint64_t nonce = fl_reader_take(r, 64);
    uint8_t about[FL__ABOUT];
    int32_t count = (int32_t)fl_reader_take(r, 8);
    if (count < 2 || count > FL__ABOUT) {
        return false;
    }
    for (int32_t i = 0; i < count; i++) {
        about[i] = (uint8_t)fl_reader_take(r, 8);
    }
    FlPeerStatus status;
    if (!fl__reader_whole(r) || !fl__about_read(about, count, &status)) {
        return false;
    }
    if (fl__is_sealed(session)) {
        fl__refuse(session, from, nonce, FL__REFUSED_PLAIN, now);
    } else if (protocol != session->world.protocol_id) {
        fl__refuse(session, from, nonce, FL__REFUSED_PROTOCOL, now);
    } else {
        admit(session, from, nonce, about, count, now);
    }
    return true;
}

static bool host_next(FlSession *session, FlOutgoing *out)
{
    FlWriter w;
    for (int32_t i = 0; session->members->accepts && i < session->connection_count; i++) {
        Handshake *h = fl__handshake(session, i);
        if (fl__connection_used(session, i) && h->accept_due) {
            h->accept_due = false;
            fl__join_begin(&w, session, JOIN_ACCEPT);
            fl_writer_put(&w, h->nonce, 64);
            fl_writer_put(&w, fl__connection_conversation(session, i), 16);
            fl__join_give(&w, fl__connection_address(session, i), out);
            return true;
        }
    }
    session->members->accepts = false;
    return fl__refusal_next(session, out);
}

// ---------------------------------------------------------------- the client

static bool read_accept(FlSession *session, FlReader *r, FlTime now)
{
    uint64_t nonce = fl_reader_take(r, 64);
    uint64_t conversation = fl_reader_take(r, 16);
    if (!fl__reader_whole(r) || nonce != session->members->nonce || conversation == 0) {
        return false;
    }
    if (session->state != FL_SESSION_JOINING || fl__connection_used(session, 0)) {
        return true; // said twice
    }
    ConnectionDef def = {.address = session->def.host, .conversation = (uint16_t)conversation};
    fl__time_begin(session, now);
    if (fl__connect(session, 0, &def, now)) {
        fl__handshake(session, 0)->nonce = nonce;
        fl__join_extend(session, now);
    }
    return true;
}

// A host that many ask at once may need a while for all of them: as long as it speaks, we wait.
void fl__join_extend(FlSession *session, FlTime now)
{
    if (session->state == FL_SESSION_JOINING) {
        session->members->join_until = fl_time_add(now, session->def.join_timeout_ns);
    }
}

void fl__member_came(FlSession *session, int32_t index, FlTime now)
{
    fl__join_extend(session, now);
    if (!fl__connection_received(session, index)) {
        fl__connection_set_received(session, index);
        fl__connection_changed(session, CHANGE_CONNECTION_READY, index, now);
    }
}

#define POSSIBLE_CAUSES                                                                            \
    "No answer from the host, however often we asked. Possible causes:\n"                          \
    "- the host is not running, or listens at another address or port;\n"                          \
    "- a firewall or router on either side drops UDP (try from the same network);\n"               \
    "- the address is private, or changed since you got it;\n"                                     \
    "- the host is so far away or the network so bad that all requests were lost.\n"

static void explain_silence(FlSession *session)
{
    bool asked = fl__is_sealed(session) && fl__sealed_server(session).asked;
    if (asked && fl__refused_end(session)) {
        return;
    }
    FlEnd why = FL_END_NO_ANSWER;
    const char *text =
        POSSIBLE_CAUSES "Something did come in meanwhile, but not from a host of ours.";
    if (fl__datagrams_came(session) == 0) {
        text = POSSIBLE_CAUSES "Nothing at all came in meanwhile.";
    } else if (session->count[FL_SESSION_OUT_OF_MEMORY] > 0) {
        why = FL_END_NO_MEMORY;
        text = "The host let us in, but there was no memory for the link to it: reserve less, or "
               "free something, and join again.";
    } else if (fl__connection_used(session, 0)) {
        text = "The host let us in, and then said nothing more: it is too busy, its upload is too "
               "small for so many players, or the connection broke. Join again.";
    }
    fl__session_end(session, why, "%s", text);
}

// When an attempt is given up: as defined, or sooner if a refusal stands.
static FlTime join_end(const FlSession *session)
{
    FlTime refused = fl__refusal_believed(session);
    return fl_time_min(refused, session->members->join_until);
}

static bool client_next(FlSession *session, FlTime now, FlOutgoing *out)
{
    if (session->state != FL_SESSION_JOINING) {
        return false;
    }
    if (now >= join_end(session)) {
        explain_silence(session);
        return false;
    }
    bool asks = !fl__connection_used(session, 0) && !fl__is_sealed(session);
    if (now < session->members->join_next || !asks) {
        return false;
    }
    session->members->join_next = now + session->def.tuning.join_every_ns;
    fl__count(session, FL_SESSION_JOINS_SENT);
    FlWriter w;
    fl__join_begin(&w, session, JOIN_JOIN);
    fl_writer_put(&w, session->world.protocol_id, 64);
    fl_writer_put(&w, session->members->nonce, 64);
    int32_t count = 2 + session->about[0] + session->about[1 + session->about[0]];
    fl_writer_put(&w, (uint64_t)count, 8);
    for (int32_t i = 0; i < count; i++) {
        fl_writer_put(&w, session->about[i], 8);
    }
    fl__join_give(&w, session->def.host, out);
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
    bool sealed = fl__is_sealed(session);
    FlAddress asked = sealed ? fl__sealed_server(session).address : session->def.host;
    bool from_host = !host && fl_address_equal(from, asked);
    bool taken = false;
    if (sealed && !(host ? kind == JOIN_JOIN : from_host && kind == JOIN_REFUSE)) {
        return false; // the seal counts what it is
    }
    if (kind == JOIN_BYE) {
        taken = fl__bye_read(session, &r, from, arrival);
    } else if (kind == JOIN_AWAY) {
        taken = fl__away_read(session, &r, from, arrival);
    } else if (host && kind == JOIN_JOIN) {
        taken = session->state == FL_SESSION_RUNNING && read_join(session, &r, from, arrival);
    } else if (from_host && kind == JOIN_ACCEPT) {
        taken = read_accept(session, &r, arrival);
    } else if (from_host && kind == JOIN_REFUSE) {
        taken = fl__refusal_receive(session, from, &r, arrival);
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
    if (session->members->goodbye_count > 0 || session->members->refusals.count > 0) {
        return now;
    }
    if (session->state == FL_SESSION_JOINING) {
        bool asks = !fl__connection_used(session, 0) && !fl__is_sealed(session);
        FlTime end = join_end(session);
        return asks && session->members->join_next < end ? session->members->join_next : end;
    }
    return session->members->accepts ? now : FL_FOREVER;
}
