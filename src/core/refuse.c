// Refusals: whoever may not come in is told why, whether it asked for a plain session or a sealed
// one.
//
// A refusal goes in clear to an address that nobody has proved, so it is shorter than what it
// answers and rationed: it is no weapon. It echoes 8 bytes of the request, so that only somebody
// who saw the request can write one. A sealed client trusts it less: somebody on the path could
// have written it, so it counts only if the host's own answer does not come within a second.

// REFUSE: you may not.                                           spec/WIRE.md section 7.3
//
//   bits  field         unit      valid
//   16    zero          -         no conversation yet
//   8     kind          -         3
//   64    nonce         -         the client's, or from the end of a REQUEST's
//   8     reason        -         to JOIN 1..3, to REQUEST 2 and 4..9
#include "private.h"

#include <string.h>

#define REFUSALS_S 20.0          // a second, after a burst of FL__REFUSALS
#define BELIEVED_AFTER FL_SEC(1) // by a sealed client
#define REQUEST_NONCE_AT 46      // the last 8 bytes of the nonce in a sealed REQUEST,
#define TOKEN_NONCE_AT 53        // and in the connect token that it is made from

static const char *const sentences[FL__REFUSED_COUNT] = {
    [FL__REFUSED_FULL] = "The host is full. Try again when somebody has left.",
    [FL__REFUSED_PROTOCOL] = "The host plays in another world: its world definition, "
                             "application version or Fairlead version differs from ours.",
    [FL__REFUSED_PLAIN] = "This host is by invite only: ask its owner for an invite (or a token), "
                          "and join with that.",
    [FL__REFUSED_SEALED] = "This host is open: it takes neither invites nor tokens, and seals "
                           "nothing. Ask whoever invited you; join its address without an invite "
                           "only if that is meant.",
    [FL__REFUSED_UNKNOWN] = "Unknown invite or token: the host was started again since, or took "
                            "the invite back, or it is another server's. Ask for a new one.",
    [FL__REFUSED_USED_UP] = "The invite is used up: as many have come in with it as may. Ask for "
                            "a new one.",
    [FL__REFUSED_EXPIRED] = "The invite or token has expired by the host's clock. Ask for a new "
                            "one; if it is new, one of the two clocks is wrong.",
    [FL__REFUSED_IN_USE] = "Already in use: somebody came in with this token before, or its player "
                           "is connected. Ask for a new one.",
    [FL__REFUSED_ADDRESS] = "The token is for other addresses than this host's. Ask for one that "
                            "names the address by which the host is reached.",
};

// ---------------------------------------------------------------- the host

void fl__refuse(FlSession *session, FlAddress to, uint64_t nonce, Refused reason, FlTime now)
{
    Refusals *refusals = &session->refusals;
    session->count[FL_SESSION_REFUSED]++;
    if (now > refusals->filled_at) {
        double more = REFUSALS_S * fl_span_seconds(fl_span(now, refusals->filled_at));
        double left = refusals->left + more;
        refusals->left = left < FL__REFUSALS ? left : FL__REFUSALS;
        refusals->filled_at = now;
    }
    if (refusals->left < 1.0 || refusals->count == FL__REFUSALS) {
        return; // it will ask again
    }
    refusals->left -= 1.0;
    Refusal refusal = {to, nonce, (uint8_t)reason};
    refusals->due[refusals->count++] = refusal;
}

bool fl__refusal_next(FlSession *session, FlOutgoing *out)
{
    if (session->refusals.count == 0) {
        return false;
    }
    const Refusal *refusal = &session->refusals.due[--session->refusals.count];
    FlWriter w;
    fl_writer_init(&w, session->packet, sizeof session->packet);
    fl_writer_put(&w, 0, 16);
    fl_writer_put(&w, FL__JOIN_REFUSE, 8);
    fl_writer_put(&w, refusal->nonce, 64);
    fl_writer_put(&w, refusal->reason, 8);
    FL_ASSERT(!w.failed);
    out->to = refusal->to;
    out->bytes = w.bytes;
    out->count = fl_writer_size(&w);
    return true;
}

static uint64_t nonce_at(const uint8_t *bytes)
{
    FlReader r;
    fl_reader_init(&r, bytes, 8);
    return fl_reader_take(&r, 64);
}

static bool is_request(const uint8_t *bytes, int32_t count)
{
    return count == FL_SEAL_REQUEST_BYTES && memcmp(bytes, "\0NETCODE 1.02", 14) == 0;
}

bool fl__refuse_sealed(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                       FlTime now)
{
    bool host = fl__is_host(session) && session->state == FL_SESSION_RUNNING;
    if (!host || !is_request(bytes, count)) {
        return false;
    }
    fl__refuse(session, from, nonce_at(bytes + REQUEST_NONCE_AT), FL__REFUSED_SEALED, now);
    return true;
}

// What passes by itself (too many requests just now) and what the seal answers itself (full) is not
// refused.
static Refused reason_of(FlSealDrop drop)
{
    switch (drop) {
    case FL_SEAL_DROP_PROTOCOL:
        return FL__REFUSED_PROTOCOL;
    case FL_SEAL_DROP_EXPIRED:
    case FL_SEAL_DROP_LIFE:
        return FL__REFUSED_EXPIRED;
    case FL_SEAL_DROP_KEY:
    case FL_SEAL_DROP_TOKEN:
        return FL__REFUSED_UNKNOWN;
    case FL_SEAL_DROP_ADDRESS:
        return FL__REFUSED_ADDRESS;
    case FL_SEAL_DROP_CONNECTED:
    case FL_SEAL_DROP_CLIENT:
    case FL_SEAL_DROP_REUSED:
    case FL_SEAL_DROP_SPENT:
        return FL__REFUSED_IN_USE;
    case FL_SEAL_DROP_INVITE:
        return FL__REFUSED_USED_UP;
    default:
        return FL__REFUSED_NOT;
    }
}

void fl__refuse_request(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                        FlSealDrop drop, FlTime now)
{
    Refused reason = reason_of(drop);
    if (reason != FL__REFUSED_NOT && is_request(bytes, count) &&
        session->state == FL_SESSION_RUNNING) {
        fl__refuse(session, from, nonce_at(bytes + REQUEST_NONCE_AT), reason, now);
    }
}

// ---------------------------------------------------------------- the client

void fl__refusal_expect(FlSession *session, const uint8_t token[FL_SEAL_TOKEN_BYTES])
{
    session->nonce = nonce_at(token + TOKEN_NONCE_AT);
}

bool fl__refusal_heard(FlSession *session, FlAddress from, FlReader *r, FlTime now)
{
    uint64_t nonce = fl_reader_take(r, 64);
    uint64_t reason = fl_reader_take(r, 8);
    bool plain = reason > FL__REFUSED_NOT && reason <= FL__REFUSED_PLAIN;
    bool sealed = reason == FL__REFUSED_PROTOCOL ||
                  (reason >= FL__REFUSED_SEALED && reason < FL__REFUSED_COUNT);
    bool known = session->sealed != NULL ? sealed : plain;
    if (r->failed || r->bit_count != r->size_bits || nonce != session->nonce || !known) {
        return false;
    }
    bool answered =
        session->sealed != NULL ? !fl__sealed_server(session).asked : session->lines[0].used;
    if (session->state != FL_SESSION_JOINING || answered) {
        return true; // a late word on a request that was answered otherwise
    }
    if (!fl_address_equal(session->refused_by, from)) {
        session->refused_by = from;
        session->refused_at = now;
    }
    session->refused = (Refused)reason;
    if (session->sealed == NULL) {
        fl__session_end(session, sentences[reason]);
    }
    return true;
}

FlTime fl__refusal_believed(const FlSession *session)
{
    if (session->refused == FL__REFUSED_NOT || session->sealed == NULL) {
        return FL_FOREVER;
    }
    SealedServer server = fl__sealed_server(session);
    bool stands =
        server.asked && server.last && fl_address_equal(server.address, session->refused_by);
    return stands ? fl_time_add(session->refused_at, BELIEVED_AFTER) : FL_FOREVER;
}

const char *fl__refusal_text(const FlSession *session)
{
    return sentences[session->refused];
}
