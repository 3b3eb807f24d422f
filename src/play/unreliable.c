// Unreliable events: each goes once, in the packets that have room for it, or not at all.
//
// They wait in a pool, each with a set of the connections that it is still due over. The most
// important goes first, and what waits gets more important; after a quarter of a second it is worth
// nothing. A source that sends more than its share of the pool displaces its own.

// UNRELIABLE: an event that may be lost.                         spec/WIRE.md section 7.17
//
//   bits  field     unit   valid
//   8     kind      -      14
//   16    from      -      the member it is from
//   8     channel   -      0..15; plus 128: older than one that came on this channel, it is dropped
//   8     priority  -      higher goes first
//   16    sequence  -      counts the sender's of this channel
//   16    type      -      the game's own
//   8     to_count  -      0: to all others; at most 64
//   16    to        -      each: the members it is for
//   8     length    -      at most 192 bytes follow
#include "private.h"

#include "wire/wire.h"

#include <string.h>

#define HEAD 11
#define NEWEST 0x80u
#define LIFE FL_MS(250)
#define AGES_BY 128 // priority that a whole life adds

struct Waiting {
    FlTime born; // caller's clock
    uint16_t from, sequence, type;
    uint8_t channel, priority;
    int32_t count;
    int32_t left;     // connections that it is due over; 0: free
    int32_t to_count; // as the host gets it
    uint16_t to[ROUTE_TO_AT_MOST];
    uint8_t bytes[FL_EVENT_SHORT_BYTES];
};

static Unreliable *pool_of(const FlSession *session)
{
    return &session->play->unreliable;
}

static uint64_t *due_of(const FlSession *session, const Waiting *entry)
{
    const Unreliable *pool = pool_of(session);
    return &pool->due[(entry - pool->entry) * fl__bit_words(session->connection_count)];
}

size_t fl__unreliable_entry_bytes(void)
{
    return sizeof(Waiting);
}

// ---------------------------------------------------------------- the pool

static void entry_drop(FlSession *session, Waiting *entry)
{
    Unreliable *pool = pool_of(session);
    session->count[FL_SESSION_EVENTS_DROPPED] += (uint64_t)entry->left;
    pool->left -= entry->left;
    entry->left = 0;
    memset(due_of(session, entry), 0,
           (size_t)fl__bit_words(session->connection_count) * sizeof(uint64_t));
}

static void entry_done(FlSession *session, Waiting *entry, int32_t connection)
{
    uint64_t *due = due_of(session, entry);
    if (fl__bit_get(due, connection)) {
        fl__bit_clear(due, connection);
        entry->left--;
        pool_of(session)->left--;
    }
}

static void entry_due(FlSession *session, Waiting *entry, int32_t connection)
{
    uint64_t *due = due_of(session, entry);
    if (!fl__bit_get(due, connection)) {
        fl__bit_set(due, connection);
        entry->left++;
        pool_of(session)->left++;
        fl__connection_wake(session, connection);
    }
}

// Of a message over a connection: the host gets the list of those it relays it to; a peer that is
// reached directly relays nothing, whatever it takes itself for.
static int32_t to_count_over(const FlSession *session, const Waiting *entry, int32_t connection)
{
    bool host = fl__connection_member(session, connection) == session->host;
    return host ? entry->to_count : fl__is_host(session) ? 0 : 1;
}

static int32_t bytes_over(const FlSession *session, const Waiting *entry, int32_t connection)
{
    return HEAD + 2 * to_count_over(session, entry, connection) + entry->count;
}

static double rank_of(const Waiting *entry, FlTime now)
{
    return entry->priority +
           AGES_BY * fl_span_seconds(fl_span(now, entry->born)) / fl_span_seconds(LIFE);
}

// A free entry for a message of that source, if need be in the place of its least important one; or
// of that of whoever has most. NULL: the new one is the least important.
static Waiting *entry_take(FlSession *session, uint16_t from, uint8_t priority)
{
    Unreliable *pool = pool_of(session);
    Waiting *unused = NULL;
    int32_t used[2] = {0, 0}; // by this source, by all
    for (int32_t i = 0; i < UNRELIABLE_POOL; i++) {
        Waiting *entry = &pool->entry[i];
        used[0] += entry->left > 0 && entry->from == from ? 1 : 0;
        used[1] += entry->left > 0 ? 1 : 0;
        unused = entry->left == 0 ? entry : unused;
    }
    int32_t share = from == session->self ? UNRELIABLE_POOL / 2 : UNRELIABLE_POOL / 4;
    if (used[0] < share && used[1] < UNRELIABLE_POOL) {
        return unused;
    }
    Waiting *least = NULL;
    for (int32_t i = 0; i < UNRELIABLE_POOL; i++) {
        Waiting *entry = &pool->entry[i];
        bool candidate = entry->left > 0 && (entry->from == from || used[0] < share);
        if (candidate &&
            (least == NULL || rank_of(entry, session->now) < rank_of(least, session->now))) {
            least = entry;
        }
    }
    if (least != NULL && rank_of(least, session->now) <= (double)priority) {
        entry_drop(session, least);
        return least;
    }
    fl__count(session, FL_SESSION_EVENTS_DROPPED);
    return NULL;
}

static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    Unreliable *pool = pool_of(session);
    for (int32_t i = 0; i < UNRELIABLE_POOL && pool->left > 0; i++) {
        Waiting *entry = &pool->entry[i];
        if (entry->left > 0 && fl_span(now, entry->born) > LIFE) {
            entry_drop(session, entry);
        }
    }
}

// ---------------------------------------------------------------- sending

static bool is_listed(const RouteHead *head, int32_t member)
{
    bool listed = head->to_count == ROUTE_TO_ALL && member != head->from;
    for (int32_t i = 0; i < head->to_count && !listed; i++) {
        listed = head->to[i] == member;
    }
    return listed;
}

// As the host: to everybody it is for. `except`: a connection that it came over, or FL__NONE.
static void due_as_host(FlSession *session, Waiting *entry, const RouteHead *head, int32_t except)
{
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (fl__connection_used(session, i) && i != except) {
            int32_t member = fl__connection_member(session, i);
            if (fl__member_present(session, member) && is_listed(head, member)) {
                entry_due(session, entry, i);
            }
        }
    }
}

// To those who are reached directly, and through the host to the others.
static void due_as_client(FlSession *session, Waiting *entry, const RouteHead *head)
{
    int32_t host = fl__member_connection(session, session->host);
    int32_t others = 0;
    bool direct = false;
    for (int32_t m = 0; m < session->member_count; m++) {
        if (m == session->self || !fl__member_present(session, m) || !is_listed(head, m)) {
            continue;
        }
        int32_t connection = fl__route(session, m);
        if (connection != FL__NONE && connection != host) {
            entry_due(session, entry, connection);
            direct = true;
        } else if (others++ < ROUTE_TO_AT_MOST) {
            entry->to[others - 1] = (uint16_t)m;
        }
    }
    bool all = head->to_count == ROUTE_TO_ALL && !direct;
    entry->to_count = all ? ROUTE_TO_ALL : others < ROUTE_TO_AT_MOST ? others : ROUTE_TO_AT_MOST;
    if (others > 0 && host != FL__NONE) {
        entry_due(session, entry, host);
    }
}

void fl__unreliable_send(FlSession *session, const RouteHead *head, const FlEvent *event)
{
    Waiting *entry = entry_take(session, head->from, event->priority);
    uint16_t sequence = pool_of(session)->next[event->channel]++;
    fl__count(session, FL_SESSION_EVENTS_SENT);
    if (entry == NULL) {
        return; // less important than what waits: as if it had been lost
    }
    entry->born = session->now;
    entry->from = head->from;
    entry->sequence = sequence;
    entry->type = event->type;
    entry->channel =
        (uint8_t)(event->channel | (event->delivery == FL_DELIVERY_NEWEST ? NEWEST : 0u));
    entry->priority = event->priority;
    entry->count = event->count;
    entry->to_count = ROUTE_TO_ALL;
    if (event->count > 0) {
        memcpy(entry->bytes, event->bytes, (size_t)event->count);
    }
    if (fl__is_host(session)) {
        due_as_host(session, entry, head, FL__NONE);
    } else {
        due_as_client(session, entry, head);
    }
}

// The most important that is due over a connection and has so many bytes at most; NULL: none.
static Waiting *entry_next(const FlSession *session, int32_t connection, int32_t most, FlTime now)
{
    Unreliable *pool = pool_of(session);
    Waiting *best = NULL;
    for (int32_t i = 0; i < UNRELIABLE_POOL && pool->left > 0; i++) {
        Waiting *entry = &pool->entry[i];
        bool fits = entry->left > 0 && fl__bit_get(due_of(session, entry), connection) &&
                    bytes_over(session, entry, connection) <= most;
        if (fits && (best == NULL || rank_of(entry, now) > rank_of(best, now))) {
            best = entry;
        }
    }
    return best;
}

static Want want(const void *self, int32_t connection, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    Want want = fl__want_none();
    const Waiting *entry =
        pool_of(session)->left > 0 ? entry_next(session, connection, INT32_MAX, now) : NULL;
    if (entry != NULL) {
        want.at = now;
        want.gather_ns = session->def.tuning.gather_ns;
        want.bytes = bytes_over(session, entry, connection);
    }
    return want;
}

static void write_entry(PacketOut *out, const Waiting *entry)
{
    int32_t member = fl__connection_member(out->session, out->connection);
    bool host = member == out->session->host;
    int32_t to_count = to_count_over(out->session, entry, out->connection);
    fl_writer_put(out->w, SECTION_UNRELIABLE, 8);
    fl_writer_put(out->w, entry->from, 16);
    fl_writer_put(out->w, entry->channel, 8);
    fl_writer_put(out->w, entry->priority, 8);
    fl_writer_put(out->w, entry->sequence, 16);
    fl_writer_put(out->w, entry->type, 16);
    fl_writer_put(out->w, (uint64_t)to_count, 8);
    for (int32_t i = 0; i < to_count; i++) {
        fl_writer_put(out->w, host ? entry->to[i] : (uint64_t)member, 16);
    }
    fl_writer_put(out->w, (uint64_t)entry->count, 8);
    fl_writer_bytes(out->w, entry->bytes, entry->count);
    out->left -= HEAD + 2 * to_count + entry->count;
}

static void write(void *self, PacketOut *out)
{
    FlSession *session = (FlSession *)self;
    Waiting *entry;
    while (pool_of(session)->left > 0 &&
           (entry = entry_next(session, out->connection, out->left, out->now)) != NULL) {
        bool relayed = entry->from != session->self;
        write_entry(out, entry);
        entry_done(session, entry, out->connection);
        session->count[FL_SESSION_EVENTS_RELAYED] += relayed ? 1 : 0;
    }
}

// ---------------------------------------------------------------- receiving

typedef struct UnreliableMessage {
    RouteHead head;
    uint8_t channel, priority;
    uint16_t sequence;
    int32_t count;
    const uint8_t *bytes;
    uint8_t body[EVENT_TYPE_BYTES + FL_EVENT_SHORT_BYTES]; // type and bytes
} UnreliableMessage;

static bool read_message(const FlSession *session, FlReader *r, UnreliableMessage *m)
{
    m->head.kind = MESSAGE_EVENT;
    m->head.from = fl__reader_u16(r);
    m->channel = (uint8_t)fl_reader_take(r, 8);
    m->priority = (uint8_t)fl_reader_take(r, 8);
    m->sequence = fl__reader_u16(r);
    m->body[0] = (uint8_t)fl_reader_take(r, 8);
    m->body[1] = (uint8_t)fl_reader_take(r, 8);
    m->head.to_count = (int32_t)fl_reader_take(r, 8);
    if (m->head.to_count > ROUTE_TO_AT_MOST || (m->channel & ~NEWEST) >= FL_EVENT_CHANNELS ||
        m->head.from >= session->member_count) {
        return false;
    }
    for (int32_t i = 0; i < m->head.to_count; i++) {
        m->head.to[i] = fl__reader_u16(r);
    }
    m->count = (int32_t)fl_reader_take(r, 8);
    if (m->count > FL_EVENT_SHORT_BYTES) {
        return false;
    }
    fl__reader_copy(r, m->body + EVENT_TYPE_BYTES, m->count);
    return !r->failed;
}

static bool skip(const void *self, PacketIn *in)
{
    UnreliableMessage m;
    return read_message((const FlSession *)self, in->r, &m);
}

// False: a newer one has come.
static bool is_news(const FlSession *session, const UnreliableMessage *m)
{
    Unreliable *pool = pool_of(session);
    uint8_t channel = m->channel & (uint8_t)~NEWEST;
    uint16_t *newest = &pool->newest[(int32_t)m->head.from * FL_EVENT_CHANNELS + channel];
    uint16_t *known = &pool->known[m->head.from];
    bool newer = (*known >> channel & 1u) == 0 || fl__seq_newer(m->sequence, *newest);
    if (newer) {
        *newest = m->sequence;
        *known = (uint16_t)(*known | 1u << channel);
    }
    return newer || (m->channel & NEWEST) == 0;
}

static void relay_message(FlSession *session, int32_t connection, const UnreliableMessage *m)
{
    if (!fl__route_allows(session, connection, HEAD + m->count)) {
        fl__count(session, FL_SESSION_EVENTS_DROPPED);
        return;
    }
    Waiting *entry = entry_take(session, m->head.from, m->priority);
    if (entry == NULL) {
        return;
    }
    entry->born = session->now;
    entry->from = m->head.from;
    entry->sequence = m->sequence;
    entry->type = fl__load_u16(m->body);
    entry->channel = m->channel;
    entry->priority = m->priority;
    entry->count = m->count;
    entry->to_count = ROUTE_TO_ALL;
    memcpy(entry->bytes, m->body + EVENT_TYPE_BYTES, (size_t)m->count);
    due_as_host(session, entry, &m->head, connection);
}

static void take(void *self, PacketIn *in)
{
    FlSession *session = (FlSession *)self;
    UnreliableMessage m;
    if (!read_message(session, in->r, &m)) {
        return;
    }
    bool host = fl__is_host(session);
    if (m.head.from != in->from && (host || in->from != session->host)) {
        fl__connection_foreign(session, in->connection);
        return;
    }
    if (is_listed(&m.head, session->self) && is_news(session, &m)) {
        RoutedIn routed = {
            .kind = MESSAGE_EVENT,
            .from = m.head.from,
            .delivery =
                (uint8_t)((m.channel & NEWEST) != 0 ? FL_DELIVERY_NEWEST : FL_DELIVERY_UNRELIABLE),
            .channel = m.channel & (uint8_t)~NEWEST,
            .bytes = m.body,
            .count = EVENT_TYPE_BYTES + m.count,
            .now = session->now};
        fl__event_received_unreliably(session, &routed);
    }
    if (host) {
        relay_message(session, in->connection, &m);
    }
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    Unreliable *pool = pool_of(session);
    if (change->kind == CHANGE_MEMBER_CAME) {
        pool->known[change->member] = 0;
    } else if (change->kind == CHANGE_CONNECTION_OPENED ||
               change->kind == CHANGE_CONNECTION_CLOSED) {
        for (int32_t i = 0; i < UNRELIABLE_POOL && pool->left > 0; i++) {
            entry_done(session, &pool->entry[i], change->connection);
        }
    }
}

const Feature fl__feature_unreliable = {
    .name = "unreliable",
    .sections = {SECTION_UNRELIABLE, 1},
    .advance = advance,
    .want = want,
    .write = write,
    .skip = skip,
    .take = take,
    .changed = changed,
};
