// Routed messages: those that a host relays. An event is one kind of them.
//
// In a session with a host in the middle a message goes to the host once, which relays it to every
// member that it is for. Each receiver has a queue of its own (its link's); for whom that is full,
// the message waits in a log, which every receiver reads from its own cursor on:
//
//     log_begin ... cursor of a slow one ... log_end = cursor of all others
//
// So a slow receiver holds up no other. If the log gets full, whoever is furthest behind and does
// not take what a link carries at the least is sent away. A source that has much in the log, or
// sends more than its quota, waits by its link's window. Unordered messages to a peer that is
// reached directly take no detour.
//
// All kinds share one ordered stream per source, so a timeline's messages and events arrive in the
// order in which they were sent. Events of channels 1 to 15 are apart from it, each channel with an
// order of its own: they go unordered over a link, but after the one before of the same source and
// channel.
#include "private.h"

#include "link/link.h"
#include "wire/wire.h"

#include <string.h>

// ---------------------------------------------------------------- the head

// ROUTED: kind 8 = 16 to 22, from 16, delivery 8 (0 ordered, 1 unordered, 2 quickest, 3 an event of
// a channel), 3: channel 8 (1 to 15), priority 8; to_count 8 (0: all others; at most 64), to 16
// each, then the body.
void fl__route_head_write(FlWriter *w, const RouteHead *m)
{
    FL_ASSERT(m->to_count >= 0 && m->to_count <= ROUTE_TO_AT_MOST);
    FL_ASSERT(m->kind >= MESSAGE_EVENT && m->kind <= MESSAGE_SNAPSHOT);
    fl_writer_put(w, m->kind, 8);
    fl_writer_put(w, m->from, 16);
    fl_writer_put(w, m->delivery, 8);
    if (m->delivery == ROUTE_CHANNEL) {
        fl_writer_put(w, m->channel, 8);
        fl_writer_put(w, m->priority, 8);
    }
    fl_writer_put(w, (uint64_t)m->to_count, 8);
    for (int32_t i = 0; i < m->to_count; i++) {
        fl_writer_put(w, m->to[i], 16);
    }
}

bool fl__route_head_read(FlReader *r, uint8_t kind, RouteHead *m)
{
    memset(m, 0, sizeof *m);
    m->kind = kind;
    m->from = fl__reader_u16(r);
    m->delivery = (uint8_t)fl_reader_take(r, 8);
    bool channel = m->delivery == ROUTE_CHANNEL && kind == MESSAGE_EVENT;
    m->channel = channel ? (uint8_t)fl_reader_take(r, 8) : 0;
    m->priority = channel ? (uint8_t)fl_reader_take(r, 8) : 0;
    m->to_count = (int32_t)fl_reader_take(r, 8);
    bool known = channel ? m->channel > 0 && m->channel < FL_EVENT_CHANNELS : m->delivery < 3;
    if (m->to_count > ROUTE_TO_AT_MOST || !known) {
        m->to_count = 0;
        fl__reader_fail(r);
    }
    for (int32_t i = 0; i < m->to_count; i++) {
        m->to[i] = fl__reader_u16(r);
    }
    return !r->failed;
}

// ---------------------------------------------------------------- kinds

static Routes *routes_of(const FlSession *session)
{
    return &session->play->routes;
}

static const RoutedKind *kind_of(const FlSession *session, uint8_t kind)
{
    FL_ASSERT(kind >= MESSAGE_EVENT && kind <= MESSAGE_SNAPSHOT);
    const RoutedKind *row = &routes_of(session)->kinds[kind - MESSAGE_EVENT];
    FL_ASSERT(row->kind == kind);
    return row;
}

static bool is_for(const FlSession *session, const RouteHead *head, int32_t member)
{
    bool all = session->topology == FL_TOPOLOGY_STAR && kind_of(session, head->kind)->agreed;
    if (head->to_count == ROUTE_TO_ALL || all) {
        return member != head->from;
    }
    for (int32_t i = 0; i < head->to_count; i++) {
        if (head->to[i] == member) {
            return true;
        }
    }
    return false;
}

// ---------------------------------------------------------------- over one connection

static FlResult queue(FlSession *session, int32_t connection, const RouteHead *head,
                      const uint8_t *body, int32_t count)
{
    uint8_t message[MESSAGE_ROOM];
    FlWriter w;
    fl_writer_init(&w, message, MESSAGE_ROOM);
    fl__route_head_write(&w, head);
    fl_writer_bytes(&w, body, count);
    FL_ASSERT(!w.failed);
    FlLink *link = fl__connection_link(session, connection);
    int32_t bytes = fl_writer_size(&w);
    if (head->delivery == ROUTE_CHANNEL) {
        uint32_t channel = (uint32_t)head->from * FL_EVENT_CHANNELS + head->channel;
        return fl__link_send_channel(link, channel, head->priority, message, bytes);
    }
    return fl_link_send(link, (FlDelivery)head->delivery, message, bytes);
}

FlResult fl__routed_send_over(FlSession *session, int32_t connection, const RouteHead *head,
                              const uint8_t *body, int32_t count)
{
    if (!fl__announce(session, connection)) { // the sender's membership is announced before
        return FL_WOULD_BLOCK;
    }
    fl__connection_wake(session, connection);
    FlResult result = queue(session, connection, head, body, count);
    if (result == FL_WOULD_BLOCK && kind_of(session, head->kind)->ordered_if_full) {
        // On a long way the window of unordered messages is soon full. In order small ones share
        // fragments, and whether one waits for others is measured as any delay is.
        RouteHead ordered = *head;
        ordered.delivery = FL_DELIVERY_ORDERED;
        result = queue(session, connection, &ordered, body, count);
    }
    return result;
}

// ---------------------------------------------------------------- the log

// An entry: bytes 16, source 16 (the connection it came over, or ROUTE_OWN), the message.
#define ENTRY_HEAD 4
#define ROUTE_OWN 0xffffu
#define ENTRY_AT_MOST (ENTRY_HEAD + MESSAGE_ROOM)

static void log_copy(const Routes *routes, uint64_t at, uint8_t *bytes, int32_t count, bool in)
{
    for (int32_t i = 0; i < count; i++) {
        uint8_t *place = &routes->log[(at + (uint64_t)i) % ROUTE_LOG_BYTES];
        *(in ? place : &bytes[i]) = *(in ? &bytes[i] : place);
    }
}

static uint64_t *held_by(const Routes *routes, uint32_t source)
{
    return &routes->held[source == ROUTE_OWN ? 0 : source + 1];
}

// What everybody has is forgotten.
static void log_trim(FlSession *session)
{
    Routes *routes = routes_of(session);
    uint64_t begin = routes->log_end;
    for (int32_t i = 0; i < session->connection_count; i++) {
        bool reads = fl__connection_used(session, i);
        begin = reads && routes->cursor[i] < begin ? routes->cursor[i] : begin;
    }
    while (routes->log_begin < begin) {
        uint8_t head[ENTRY_HEAD];
        log_copy(routes, routes->log_begin, head, ENTRY_HEAD, false);
        uint64_t bytes = ENTRY_HEAD + (uint64_t)fl__load_u16(head);
        *held_by(routes, fl__load_u16(head + 2)) -= bytes;
        routes->log_begin += bytes;
    }
}

// We relay nothing any more.
static void log_clear(FlSession *session)
{
    Routes *routes = routes_of(session);
    for (int32_t i = 0; i < session->connection_count; i++) {
        routes->cursor[i] = routes->log_end;
    }
    log_trim(session);
}

static void log_append(Routes *routes, uint32_t source, uint8_t *message, int32_t count)
{
    uint8_t head[ENTRY_HEAD] = {(uint8_t)count, (uint8_t)(count >> 8), (uint8_t)source,
                                (uint8_t)(source >> 8)};
    log_copy(routes, routes->log_end, head, ENTRY_HEAD, true);
    log_copy(routes, routes->log_end + ENTRY_HEAD, message, count, true);
    routes->log_end += ENTRY_HEAD + (uint64_t)count;
    *held_by(routes, source) += ENTRY_HEAD + (uint64_t)count;
}

// No source may have more than half of the log.
static bool log_has_room(const Routes *routes, uint32_t source)
{
    uint64_t used = routes->log_end - routes->log_begin;
    return used + ENTRY_AT_MOST <= ROUTE_LOG_BYTES &&
           *held_by(routes, source) + ENTRY_AT_MOST <= ROUTE_LOG_BYTES / 2;
}

// ---------------------------------------------------------------- relaying

// To one member. False: its queue is full.
static bool relay_to(FlSession *session, int32_t connection, uint8_t *message, int32_t count)
{
    FlReader r;
    fl_reader_init(&r, message, count);
    RouteHead head;
    int32_t member = fl__connection_member(session, connection);
    if (!fl__route_head_read(&r, (uint8_t)fl_reader_take(&r, 8), &head) ||
        !fl__member_present(session, member) || !is_for(session, &head, member)) {
        return true;
    }
    const RoutedKind *kind = kind_of(session, head.kind);
    if (kind->reaches != NULL && !kind->reaches(session, member)) {
        return true;
    }
    int32_t body_count = fl_reader_left(&r);
    const uint8_t *body = fl_reader_bytes(&r, body_count);
    head.to_count = ROUTE_TO_ALL; // a receiver need not know the others
    FlResult result = fl__routed_send_over(session, connection, &head, body, body_count);
    fl__queue_set_full(session, connection, result == FL_WOULD_BLOCK);
    if (result == FL_WOULD_BLOCK) {
        fl__connection_wake(session, connection); // which sees for how long
        return false;
    }
    session->count[FL_SESSION_EVENTS_RELAYED] += head.from != session->self ? 1 : 0;
    return true;
}

// To all it is for; who has no room, or is behind already, gets it from the log.
static void relay(FlSession *session, uint32_t source, uint8_t *message, int32_t count, FlTime now)
{
    Routes *routes = routes_of(session);
    uint64_t end = routes->log_end + ENTRY_HEAD + (uint64_t)count;
    bool kept = false;
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (!fl__connection_used(session, i)) {
            continue;
        }
        bool behind = routes->cursor[i] < routes->log_end;
        if (!behind && relay_to(session, i, message, count)) {
            routes->cursor[i] = end;
        } else {
            routes->behind_since[i] = behind ? routes->behind_since[i] : now;
            routes->behind_from[i] = behind ? routes->behind_from[i] : routes->log_end;
            kept = true;
        }
    }
    if (kept) {
        log_append(routes, source, message, count);
        return;
    }
    for (int32_t i = 0; i < session->connection_count; i++) {
        routes->cursor[i] = routes->log_end;
    }
}

static void catch_up(FlSession *session, int32_t connection)
{
    Routes *routes = routes_of(session);
    uint8_t head[ENTRY_HEAD];
    uint8_t message[MESSAGE_ROOM];
    while (routes->cursor[connection] < routes->log_end) {
        uint64_t at = routes->cursor[connection];
        log_copy(routes, at, head, ENTRY_HEAD, false);
        int32_t count = fl__load_u16(head);
        log_copy(routes, at + ENTRY_HEAD, message, count, false);
        if (!relay_to(session, connection, message, count)) {
            return;
        }
        routes->cursor[connection] += ENTRY_HEAD + (uint64_t)count;
        routes->retry_messages = true;
    }
}

static bool is_log_short(const FlSession *session)
{
    const Routes *routes = routes_of(session);
    bool room = log_has_room(routes, ROUTE_OWN);
    for (int32_t i = 0; i < session->connection_count && room; i++) {
        room = log_has_room(routes, (uint32_t)i);
    }
    return !room;
}

// A source waits for room in the log: whoever is furthest behind, for long, and takes less than any
// link carries, does not hold it up any longer.
static void drop_the_slowest(FlSession *session, FlTime now)
{
    Routes *routes = routes_of(session);
    for (int32_t i = 0; i < session->connection_count; i++) {
        bool last = fl__connection_used(session, i) && routes->cursor[i] == routes->log_begin &&
                    routes->log_begin < routes->log_end;
        FlTime behind = fl_span(now, routes->behind_since[i]);
        double taken = (double)(routes->cursor[i] - routes->behind_from[i]);
        double least = session->def.tuning.link.rate_min_bytes_s / 2.0 * fl_span_seconds(behind);
        if (last && behind > session->def.timeout_ns / 4 && taken < least) {
            fl__count(session, FL_SESSION_STALLED);
            fl__connection_failed(session, i, FL_LEFT_STALLED, now);
        }
    }
}

void fl__routes_advance(FlSession *session, FlTime now)
{
    Routes *routes = routes_of(session);
    if (!fl__is_host(session)) {
        log_clear(session);
    }
    if (routes->log_begin < routes->log_end) {
        for (int32_t i = 0; i < session->connection_count; i++) {
            if (fl__connection_used(session, i)) {
                catch_up(session, i);
            }
        }
        log_trim(session);
        if (is_log_short(session)) {
            drop_the_slowest(session, now);
            log_trim(session);
        }
    }
    if (now >= routes->quota_next) { // some have waited for their quota
        routes->quota_next = FL_FOREVER;
        routes->retry_messages = true;
    }
    if (routes->retry_messages) {
        routes->retry_messages = false;
        for (int32_t i = 0; i < session->connection_count; i++) {
            if (fl__connection_used(session, i)) {
                fl__messages_take(session, i, now);
            }
        }
    }
}

// ---------------------------------------------------------------- quotas

// What a host relays for a member costs every receiver: a quarter of what a link carries (or of a
// limited upload, shared by the receivers), and half a second of that at once. Messages that come
// together share a packet's headers. What is not ordered also takes a place in every receiver's
// window, however short it is: so many a second that on any usual way there are places left for
// others. Beyond that its messages wait, with its own link.
//
// A call goes to one receiver, and its answer to another: these do not wait, and are dropped
// where there are too many, since the caller repeats what was not answered. Answers have a quota of
// their own, as what goes to one receiver: whoever calls must not use up the owner's.
#define QUOTA_SECONDS 0.5
#define PLACES_S 128.0
#define PLACES_AT_ONCE (FL_LINK_WINDOW / 2.0)

// Fills up, takes some; returns when there is something left again.
static FlTime bucket_take(QuotaBucket *bucket, double rate, double most, double taken, FlTime now)
{
    double left = bucket->left + rate * fl_span_seconds(fl_span(now, bucket->at));
    bucket->left = (left < most ? left : most) - taken;
    bucket->at = now;
    return bucket->left < 0.0 ? fl_time_add(now, fl_span_from_seconds(-bucket->left / rate))
                              : INT64_MIN;
}

static double rate_to_all(const FlSession *session)
{
    return fl__relay_rate(session, fl_peer_count(session));
}

static void quota_spend(FlSession *session, int32_t connection, double bytes, int32_t places,
                        FlTime now)
{
    Routes *routes = routes_of(session);
    RouteQuota *quota = &routes->quota[connection];
    double rate = rate_to_all(session);
    FlTime by_bytes = bucket_take(&quota->bytes, rate, QUOTA_SECONDS * rate, bytes, now);
    FlTime by_places = bucket_take(&quota->places, PLACES_S, PLACES_AT_ONCE, places, now);
    quota->until = fl__time_max(by_bytes, by_places);
    if (quota->until > now) {
        routes->quota_next = fl_time_min(routes->quota_next, quota->until);
    }
}

// What goes to all. What comes together shares a packet.
static void quota_spend_to_all(FlSession *session, int32_t connection, int32_t bytes,
                               int32_t places, FlTime now)
{
    bool alone = now > routes_of(session)->quota[connection].bytes.at;
    double header = alone ? fl__upload_packet_bytes(session) : 0.0;
    quota_spend(session, connection, bytes + header, places, now);
}

FlTime fl__routes_deadline(const FlSession *session)
{
    return routes_of(session)->quota_next;
}

bool fl__route_allows(FlSession *session, int32_t connection, int32_t bytes)
{
    FlTime now = fl__datagram_came_at(session);
    bool allows = now >= routes_of(session)->quota[connection].until;
    if (allows) {
        quota_spend_to_all(session, connection, bytes, 0, now);
    }
    return allows;
}

bool fl__route_allows_call(FlSession *session, int32_t connection, int32_t bytes)
{
    FlTime now = fl__datagram_came_at(session);
    bool allows = now >= routes_of(session)->quota[connection].until;
    if (allows) { // its answer is about as long
        double both = 2.0 * (bytes + fl__upload_packet_bytes(session));
        quota_spend(session, connection, both / fl__int_max(fl_peer_count(session), 1), 1, now);
    }
    return allows;
}

bool fl__route_allows_answer(FlSession *session, int32_t connection, int32_t bytes)
{
    QuotaBucket *answers = &routes_of(session)->quota[connection].answers;
    double rate = fl__relay_rate(session, 1);
    FlTime now = fl__datagram_came_at(session);
    bool allows = bucket_take(answers, rate, QUOTA_SECONDS * rate, 0.0, now) == INT64_MIN;
    answers->left -= allows ? bytes + fl__upload_packet_bytes(session) : 0.0;
    return allows;
}

bool fl__route_is_free(const FlSession *session, int32_t connection)
{
    const Routes *routes = routes_of(session);
    return !fl__is_host(session) ||
           (log_has_room(routes, (uint32_t)connection) &&
            fl__datagram_came_at(session) >= routes->quota[connection].until);
}

void fl__route_opened(FlSession *session, int32_t connection)
{
    Routes *routes = routes_of(session);
    routes->cursor[connection] = routes->log_end;
    FlTime now = fl__datagram_came_at(session);
    RouteQuota fresh = {.bytes = {QUOTA_SECONDS * rate_to_all(session), now},
                        .places = {PLACES_AT_ONCE, now},
                        .answers = {QUOTA_SECONDS * fl__relay_rate(session, 1), now},
                        .until = INT64_MIN};
    routes->quota[connection] = fresh;
}

// ---------------------------------------------------------------- receiving

// What is for us alone is not relayed. What is not ordered takes a place in receivers' windows.
static void relay_charged(FlSession *session, const RouteHead *head, const MessageIn *in)
{
    bool for_us_alone = head->to_count == 1 && head->to[0] == session->self;
    if (!for_us_alone) {
        int32_t places = head->delivery == FL_DELIVERY_ORDERED ? 0 : 1;
        quota_spend_to_all(session, in->connection, in->bytes, places, in->now);
    }
}

bool fl__routed_message(void *self, MessageIn *in)
{
    FlSession *session = (FlSession *)self;
    RouteHead head;
    if (!fl__route_head_read(in->r, in->kind, &head) || head.from >= session->member_count) {
        return false;
    }
    bool host = fl__is_host(session);
    bool theirs = head.from == in->from || (!host && in->from == session->host);
    int32_t count = fl_reader_left(in->r);
    if (!theirs) {
        fl__connection_foreign(session, in->connection);
        return true;
    }
    bool channel = head.delivery == ROUTE_CHANNEL;
    int32_t most = channel ? EVENT_TYPE_BYTES + FL_EVENT_SHORT_BYTES : ROUTED_BYTES;
    if (count < kind_of(session, in->kind)->least || count > most) {
        return false;
    }
    if (is_for(session, &head, session->self)) {
        RoutedIn routed = {.kind = in->kind,
                           .from = head.from,
                           .delivery = channel ? FL_DELIVERY_ORDERED : head.delivery,
                           .channel = head.channel,
                           .bytes = fl_reader_bytes(in->r, count),
                           .count = count,
                           .now = in->now};
        if (!kind_of(session, in->kind)->take(session, &routed)) {
            return false;
        }
    }
    if (host) {
        uint8_t message[MESSAGE_ROOM];
        memcpy(message, in->r->bytes, (size_t)in->bytes);
        relay_charged(session, &head, in);
        relay(session, (uint32_t)in->connection, message, in->bytes, in->now);
    }
    return true;
}

// ---------------------------------------------------------------- sending

FlResult fl__routed_send_as_host(FlSession *session, const RouteHead *head, const uint8_t *body,
                                 int32_t count)
{
    if (!log_has_room(routes_of(session), ROUTE_OWN)) {
        return FL_WOULD_BLOCK;
    }
    uint8_t message[MESSAGE_ROOM];
    FlWriter w;
    fl_writer_init(&w, message, MESSAGE_ROOM);
    fl__route_head_write(&w, head);
    fl_writer_bytes(&w, body, count);
    FL_ASSERT(!w.failed);
    relay(session, ROUTE_OWN, message, fl_writer_size(&w), fl__datagram_came_at(session));
    return FL_OK;
}

static FlResult send_as_client(FlSession *session, const RouteHead *head, const uint8_t *body,
                               int32_t count)
{
    bool directly = head->to_count == 1 && (head->delivery == FL_DELIVERY_UNORDERED ||
                                            head->delivery == FL_DELIVERY_QUICKEST);
    int32_t connection =
        directly ? fl__route(session, head->to[0]) : fl__member_connection(session, session->host);
    return connection == FL__NONE ? FL_WOULD_BLOCK
                                  : fl__routed_send_over(session, connection, head, body, count);
}

FlResult fl__routed_send(FlSession *session, const RouteHead *head, const uint8_t *body,
                         int32_t count)
{
    FlResult result = fl__is_host(session) ? fl__routed_send_as_host(session, head, body, count)
                                           : send_as_client(session, head, body, count);
    session->count[FL_SESSION_EVENTS_SENT] += result == FL_OK ? 1 : 0;
    return result;
}

FlResult fl__routed_send_ordered(FlSession *session, int32_t to, uint8_t kind, const uint8_t *body,
                                 int32_t count)
{
    RouteHead head = {.kind = kind,
                      .from = (uint16_t)session->self,
                      .delivery = FL_DELIVERY_ORDERED,
                      .to_count = to == FL__NONE ? ROUTE_TO_ALL : 1};
    head.to[0] = (uint16_t)(to == FL__NONE ? 0 : to);
    return fl__routed_send(session, &head, body, count);
}
