// Refusals: a client that may not come in learns why, whether it asked for a plain session or a
// sealed one.
//
// A refusal goes in clear to an unproven address, so it is shorter than what it
// answers and rationed: it is no weapon. It echoes 8 bytes of the request, so that only a node
// that saw the request can write one. A sealed client trusts it less: a node on the path could
// have written it, so it counts only if the host's own answer does not come within a second.

// REFUSE: you may not.                                           spec/WIRE.md section 7.3
//
//   bits  field         unit      valid
//   16    zero          -         no conversation yet
//   8     kind          -         3
//   64    nonce         -         the client's, or from the end of a REQUEST's
//   8     reason        -         to JOIN 1..3, to REQUEST 2 and 4..9
//   64    fields        -         only with reason 2: a byte of a hash for each field of the world
#include "private.h"

#include "connection/sealed.h"
#include "wire/wire.h"

#include <string.h>

#define REFUSALS_S 20.0          // a second, after a burst of FL__REFUSALS
#define BELIEVED_AFTER FL_SEC(1) // by a sealed client
#define RETURNS_WITHIN FL_SEC(6) // whose own older connection may have to fall silent first
#define REQUEST_NONCE_AT 46      // the last 8 bytes of the nonce in a sealed REQUEST

static const char *const sentences[FL__REFUSED_COUNT] = {
    [FL__REFUSED_FULL] = FL__FULL_TEXT,
    [FL__REFUSED_PROTOCOL] = "The host plays in another world, or another version.",
    [FL__REFUSED_PLAIN] = "This host is by invite only: ask its owner for an invite (or a token), "
                          "and join with that.",
    [FL__REFUSED_SEALED] = "This host is open: it takes neither invites nor tokens, and seals "
                           "nothing. Ask whoever invited you; join its address without an invite "
                           "only if that is meant.",
    [FL__REFUSED_UNKNOWN] = "Unknown invite or token: the host was started again since, or took "
                            "the invite back, or it is another server's. Ask for a new one.",
    [FL__REFUSED_USED_UP] = "The invite is used up: as many have come in with it as may, or its "
                            "player was sent away. Ask for a new one.",
    [FL__REFUSED_EXPIRED] = "The invite or token has expired by the host's clock. Ask for a new "
                            "one; if it is new, one of the two clocks is wrong.",
    [FL__REFUSED_IN_USE] = "Already in use: a player is in with this invite, or has come in with "
                           "this token before. Each is for one player: ask for a new one.",
    [FL__REFUSED_ADDRESS] = "The token is for other addresses than this host's. Ask for one that "
                            "names the address by which the host is reached.",
};

// ---------------------------------------------------------------- worlds that differ

#define FIELDS 8

static const char *const field_names[FIELDS] = {
    "Fairlead version",
    "application_version",
    "low or high",
    "precision",
    "top_speed",
    "top_acceleration",
    "top_turn_rate or angle_precision",
    "entity_capacity",
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 0x9e3779b97f4a7c15u;
}

static void hash_fields(const FlWorldDef *def, uint8_t hashes[FIELDS])
{
    const double box[6] = {def->low.x,  def->low.y,  def->low.z,
                           def->high.x, def->high.y, def->high.z};
    uint64_t box_hash = 0;
    for (int32_t i = 0; i < 6; i++) {
        box_hash = mix(box_hash, fl__bits_of(box[i]));
    }
    const uint64_t all[FIELDS] = {
        mix(0, FL_VERSION_WIRE),
        mix(0, def->application_version),
        box_hash,
        mix(0, fl__bits_of(def->precision)),
        mix(0, fl__bits_of(def->top_speed)),
        mix(0, fl__bits_of(def->top_acceleration)),
        mix(mix(0, fl__bits_of(def->top_turn_rate)), fl__bits_of(def->angle_precision)),
        mix(0, (uint64_t)def->entity_capacity),
    };
    for (int32_t i = 0; i < FIELDS; i++) {
        hashes[i] = (uint8_t)(all[i] >> 56);
    }
}

// Ends it with the fields in which the host's world differs from ours.
static void end_other_world(FlSession *session)
{
    uint8_t ours[FIELDS];
    char names[200] = "";
    size_t used = 0;
    hash_fields(&session->world.def, ours);
    for (int32_t i = 0; i < FIELDS; i++) {
        size_t count = strlen(field_names[i]);
        bool differs = ours[i] != session->members->refused_fields[i];
        if (differs && used + count + 3 < sizeof names) {
            memcpy(names + used, used > 0 ? ", " : "", used > 0 ? 2 : 0);
            used += used > 0 ? 2 : 0;
            memcpy(names + used, field_names[i], count + 1);
            used += count;
        }
    }
    fl__session_end(session, FL_END_OTHER_WORLD,
                    "The host plays in another world: its %s %s from ours. Use the same version "
                    "and definition at all peers.",
                    used > 0 ? names : "world definition", used > 0 ? "differ" : "differs");
}

// ---------------------------------------------------------------- the host

void fl__refuse(FlSession *session, FlAddress to, uint64_t nonce, Refused reason, FlTime now)
{
    Refusals *refusals = &session->members->refusals;
    fl__count(session, FL_SESSION_REFUSED);
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
    if (refusals->noted.reason != reason || !fl_address_equal(refusals->noted.to, to)) {
        fl__note(session, "Refused a player. It reads: %s", sentences[reason]);
    }
    refusals->noted = refusal;
    refusals->due[refusals->count++] = refusal;
}

bool fl__refusal_next(FlSession *session, FlOutgoing *out)
{
    if (session->members->refusals.count == 0) {
        return false;
    }
    const Refusal *refusal = &session->members->refusals.due[--session->members->refusals.count];
    FlWriter w;
    fl__join_begin(&w, session, JOIN_REFUSE);
    fl_writer_put(&w, refusal->nonce, 64);
    fl_writer_put(&w, refusal->reason, 8);
    if (refusal->reason == FL__REFUSED_PROTOCOL) {
        uint8_t hashes[FIELDS];
        hash_fields(&session->world.def, hashes);
        for (int32_t i = 0; i < FIELDS; i++) {
            fl_writer_put(&w, hashes[i], 8);
        }
    }
    fl__join_give(&w, refusal->to, out);
    return true;
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
    fl__refuse(session, from, fl__load_u64(bytes + REQUEST_NONCE_AT), FL__REFUSED_SEALED, now);
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
        fl__refuse(session, from, fl__load_u64(bytes + REQUEST_NONCE_AT), reason, now);
    }
}

// ---------------------------------------------------------------- the client

bool fl__refusal_receive(FlSession *session, FlAddress from, FlReader *r, FlTime now)
{
    uint64_t nonce = fl_reader_take(r, 64);
    uint64_t reason = fl_reader_take(r, 8);
    bool plain = reason > FL__REFUSED_NOT && reason <= FL__REFUSED_PLAIN;
    bool sealed = reason == FL__REFUSED_PROTOCOL ||
                  (reason >= FL__REFUSED_SEALED && reason < FL__REFUSED_COUNT);
    bool known = fl__is_sealed(session) ? sealed : plain;
    uint8_t fields[FIELDS] = {0};
    for (int32_t i = 0; reason == FL__REFUSED_PROTOCOL && i < FIELDS; i++) {
        fields[i] = (uint8_t)fl_reader_take(r, 8);
    }
    if (!fl__reader_whole(r) || nonce != session->members->nonce || !known) {
        return false;
    }
    bool answered = fl__is_sealed(session) ? !fl__sealed_server(session).asked
                                           : fl__connection_used(session, 0);
    if (session->state != FL_SESSION_JOINING || answered) {
        return true; // a late word on a request that was answered otherwise
    }
    if (!fl_address_equal(session->members->refused_by, from)) {
        session->members->refused_by = from;
        session->members->refused_at = now;
    }
    session->members->refused = (Refused)reason;
    memcpy(session->members->refused_fields, fields, FIELDS);
    if (!fl__is_sealed(session)) {
        fl__refused_end(session);
    }
    return true;
}

FlTime fl__refusal_believed(const FlSession *session)
{
    if (session->members->refused == FL__REFUSED_NOT || !fl__is_sealed(session)) {
        return FL_FOREVER;
    }
    SealedServer server = fl__sealed_server(session);
    bool stands = server.asked && server.last &&
                  fl_address_equal(server.address, session->members->refused_by);
    bool in_use = session->members->refused == FL__REFUSED_IN_USE;
    FlTime after = in_use ? RETURNS_WITHIN : BELIEVED_AFTER;
    return stands ? fl_time_add(session->members->refused_at, after) : FL_FOREVER;
}

bool fl__refused_end(FlSession *session)
{
    static const FlEnd ends[FL__REFUSED_COUNT] = {
        [FL__REFUSED_FULL] = FL_END_FULL,
        [FL__REFUSED_PLAIN] = FL_END_INVITE_NEEDED,
        [FL__REFUSED_SEALED] = FL_END_NOT_SEALED,
        [FL__REFUSED_UNKNOWN] = FL_END_INVITE_UNKNOWN,
        [FL__REFUSED_USED_UP] = FL_END_INVITE_USED_UP,
        [FL__REFUSED_EXPIRED] = FL_END_INVITE_EXPIRED,
        [FL__REFUSED_IN_USE] = FL_END_INVITE_IN_USE,
        [FL__REFUSED_ADDRESS] = FL_END_WRONG_ADDRESS,
    };
    Refused why = session->members->refused;
    if (why == FL__REFUSED_PROTOCOL) {
        end_other_world(session);
    } else if (why != FL__REFUSED_NOT) {
        fl__session_end(session, ends[why], "%s", sentences[why]);
    }
    return why != FL__REFUSED_NOT;
}
