// What a host relays of a member's entities: states, fields, announcements; and motion.
//
// All of it costs every receiver, and the host's upload as often as there are receivers. So each
// member has a quota: a quarter of what a link carries, or of an upload that is limited, shared by
// the receivers. Beyond it states and fields are relayed later, the newest of them; messages about
// entities wait, with the member's own link. What the host says of its own entities is not counted.
//
// Motion has as much again, and only while bytes are short: an update takes another's place only
// then.
#include "private.h"

#include "send/send.h"

#define QUOTA_SHARE 4.0
#define QUOTA_SECONDS 2.0 // of it may be used at once,
#define AGAIN FL_MS(50)
#define QUOTA_LEAST 4096.0 // or so many bytes: a member that joins announces all it has
#define MOTION_SECONDS 0.25
#define SHORT_FOR FL_SEC(1) // bytes are short for so long after they were last

// The newest time that a call has passed in.
static FlTime latest(const FlSession *session)
{
    return fl__time_max(session->now, fl__datagram_came_at(session));
}

double fl__relay_rate(const FlSession *session, int32_t receivers)
{
    double rate = session->def.tuning.link.rate_bytes_s;
    double upload = session->def.upload_bytes_s;
    if (upload > 0.0) {
        upload /= fl__int_max(receivers, 1);
        rate = upload < rate ? upload : rate;
    }
    return rate / QUOTA_SHARE;
}

static double rate_to_all(const FlSession *session)
{
    return fl__relay_rate(session, fl_peer_count(session));
}

static void refill(const FlSession *session, RelayQuota *quota, double most, FlTime now)
{
    double more = rate_to_all(session) * fl_span_seconds(fl_span(now, quota->at));
    quota->bytes = !quota->begun || quota->bytes + more > most ? most : quota->bytes + more;
    quota->begun = true;
    quota->at = now;
}

// What comes together shares a packet.
static double header_bytes(const FlSession *session, const RelayQuota *quota, FlTime now)
{
    return quota->at != now ? fl__upload_packet_bytes(session) : 0.0;
}

static bool spend(FlSession *session, int32_t connection, int32_t bytes, FlTime now)
{
    RelayQuota *quota = &fl__stream(session, connection)->relayed;
    double header = header_bytes(session, quota, now);
    double most = QUOTA_SECONDS * rate_to_all(session);
    refill(session, quota, most > QUOTA_LEAST ? most : QUOTA_LEAST, now);
    bool goes = quota->bytes > 0.0;
    quota->bytes -= goes ? bytes + header : 0.0;
    return goes;
}

static void try_again(const FlSession *session, FlTime now)
{
    Entities *e = session->entities;
    e->relay_next = fl_time_min(e->relay_next, fl_time_add(now, AGAIN));
}

bool fl__relay_now(FlSession *session, const Entity *entity, int32_t bytes)
{
    int32_t connection = fl__member_connection(session, entity->owner);
    FlTime now = latest(session);
    if (entity->ours || connection == FL__NONE || spend(session, connection, bytes, now)) {
        return true;
    }
    fl__bit_set(session->entities->relay_later, fl__slot(session, entity));
    try_again(session, now);
    return false;
}

static bool is_short(FlSession *session, FlTime now)
{
    Entities *e = session->entities;
    bool waits = fl__ledger_frame(e->ledger).waiting_count > 0;
    e->moves.short_at = waits || fl__connections_short(session) ? now : e->moves.short_at;
    return e->moves.short_at != INT64_MIN && fl_span(now, e->moves.short_at) <= SHORT_FOR;
}

// Where frames decide, they take no more than there is, and nothing from what is looked at; but a
// new life goes before everything else.
static bool is_rival(const FlSession *session, const Entity *entity, int32_t slot, FlTime stamp)
{
    const Detail *detail = entity->detail;
    FlSendPolicy policy = entity->def->send.policy;
    if (policy != FL_SEND_FOCUS && policy != FL_SEND_FOCUS_EQUAL) {
        return true;
    }
    const FlLedger *ledger = session->entities->ledger;
    const FlPiece *last = fl_ledger_exported(ledger, slot, detail->packed_serial);
    if (last == NULL || last->life != detail->show.life) {
        return true;
    }
    bool looked = false;
    for (int32_t i = 0; i < session->connection_count && !looked; i++) {
        looked = fl__connection_used(session, i) && fl__ledger_attention_of(ledger, slot, i) > 0.0;
    }
    return !looked && fl_span(stamp, last->motion.time) >= session->def.tuning.focus.frame_ns;
}

bool fl__relay_motion(FlSession *session, const Entity *entity, FlTime stamp, int32_t bytes)
{
    int32_t connection = fl__member_connection(session, entity->owner);
    FlTime now = latest(session);
    Entities *e = session->entities;
    int32_t slot = fl__slot(session, entity);
    fl__bit_clear(e->moves.slots, slot);
    if (entity->ours || connection == FL__NONE || !is_short(session, now)) {
        return true;
    }
    RelayQuota *quota = &fl__stream(session, connection)->moved;
    double header = header_bytes(session, quota, now);
    refill(session, quota, MOTION_SECONDS * rate_to_all(session), now);
    bool rival = is_rival(session, entity, slot, stamp);
    bool goes = quota->bytes > 0.0 || !rival;
    quota->bytes -= goes && rival ? bytes + header : 0.0;
    if (!goes) {
        fl__bit_set(e->moves.slots, slot);
        e->moves.next = fl_time_min(e->moves.next, fl_time_add(now, AGAIN));
    }
    return goes;
}

void fl__relay_message(FlSession *session, int32_t connection, int32_t bytes)
{
    (void)spend(session, connection, bytes, latest(session));
}

bool fl__relay_has_room(const FlSession *session, int32_t connection)
{
    const Stream *stream = fl__stream(session, connection);
    if (!fl__is_host(session) || !stream->relayed.begun) {
        return true;
    }
    FlTime now = latest(session);
    double more = rate_to_all(session) * fl_span_seconds(fl_span(now, stream->relayed.at));
    bool room = stream->relayed.bytes + more > 0.0;
    if (!room) {
        try_again(session, now);
    }
    return room;
}

bool fl__relay_is_due(FlSession *session, FlTime now)
{
    bool due = now >= session->entities->relay_next;
    session->entities->relay_next = due ? FL_FOREVER : session->entities->relay_next;
    return due;
}
