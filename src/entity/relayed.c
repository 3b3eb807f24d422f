// What a host relays of a member's entities beside their motion: states, fields, announcements.
//
// All of it costs every receiver, and the host's upload as often as there are receivers. So each
// member has a quota: a quarter of what a link carries, or of an upload that is limited, shared by
// the receivers. Beyond it states and fields are relayed later, the newest of them; messages about
// entities wait, with the member's own link. What the host says of its own entities is not counted.
#include "private.h"

#define QUOTA_SHARE 4.0
#define QUOTA_SECONDS 2.0 // of it may be used at once,
#define AGAIN FL_MS(50)
#define QUOTA_LEAST 4096.0 // or so many bytes: a member that joins announces all it has

// The newest time that a call has passed in.
static FlTime latest(const FlSession *session)
{
    return fl__time_max(session->now, fl__datagram_came_at(session));
}

double fl__relay_rate(const FlSession *session)
{
    double rate = session->def.tuning.link.rate_bytes_s;
    double upload = session->def.upload_bytes_s;
    if (upload > 0.0) { // only then is it worth counting
        upload /= fl__int_max(fl_peer_count(session), 1);
        rate = upload < rate ? upload : rate;
    }
    return rate / QUOTA_SHARE;
}

static void refill(const FlSession *session, RelayQuota *quota, FlTime now)
{
    double most = QUOTA_SECONDS * fl__relay_rate(session);
    most = most > QUOTA_LEAST ? most : QUOTA_LEAST;
    double more = fl__relay_rate(session) * fl_span_seconds(fl_span(now, quota->at));
    quota->bytes = !quota->begun || quota->bytes + more > most ? most : quota->bytes + more;
    quota->begun = true;
    quota->at = now;
}

static bool spend(FlSession *session, int32_t connection, int32_t bytes, FlTime now)
{
    RelayQuota *quota = &fl__stream(session, connection)->relayed;
    refill(session, quota, now);
    bool goes = quota->bytes > 0.0;
    quota->bytes -= goes ? bytes : 0;
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
    double more = fl__relay_rate(session) * fl_span_seconds(fl_span(now, stream->relayed.at));
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
