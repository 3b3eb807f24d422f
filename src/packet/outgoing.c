// Connections opened and closed; when a packet goes over one, and how much is in it.
//
// When its turn comes a connection learns what became of earlier packets, queues what is to be
// announced, and asks all features once what they want. Then a packet goes, or it is known when to
// look again; whatever comes up in between wakes it.
#include "private.h"

#include "connection/sealed.h"
#include "link/link.h"

#include <string.h>

// ---------------------------------------------------------------- making

static Fl__Table table_of(FlSession *session)
{
    Fl__Table table = {(void **)&session->packets->outboxes,
                       (size_t)session->connection_count * sizeof(Outbox)};
    return table;
}

FlResult fl__packets_create(FlSession *session)
{
    Packets *p = (Packets *)fl_alloc(&session->def.alloc, sizeof *p, _Alignof(Packets));
    session->packets = p;
    if (p == NULL) {
        return FL_NO_MEMORY;
    }
    Fl__Table table = table_of(session);
    return fl__tables_reserve(&session->def.alloc, &table, 1) ? FL_OK : FL_NO_MEMORY;
}

void fl__packets_destroy(FlSession *session)
{
    if (session->packets != NULL) {
        Fl__Table table = table_of(session);
        fl__tables_release(&session->def.alloc, &table, 1);
        fl_free(&session->def.alloc, session->packets, sizeof *session->packets);
        session->packets = NULL;
    }
}

size_t fl__packets_connection_bytes(const FlSessionDef *def)
{
    return sizeof(Outbox) + fl__manifest_bytes(def);
}

// ---------------------------------------------------------------- opening and closing

bool fl__connect(FlSession *session, int32_t index, const ConnectionDef *def, FlTime now)
{
    Outbox *outbox = fl__outbox(session, index);
    Outbox fresh = {.gather_until = FL_FOREVER};
    *outbox = fresh;
    if (!fl__manifest_create(session, &outbox->manifest)) {
        fl__sealed_pair_destroy(def->pair);
        fl__count(session, FL_SESSION_OUT_OF_MEMORY);
        return false;
    }
    if (!fl__connection_open(session, index, def, now)) {
        fl__manifest_destroy(session, &outbox->manifest);
        return false;
    }
    fl__connection_changed(session, CHANGE_CONNECTION_OPENED, index, now);
    return true;
}

void fl__disconnect(FlSession *session, int32_t index)
{
    if (fl__connection_used(session, index)) {
        fl__connection_changed(session, CHANGE_CONNECTION_CLOSED, index, 0);
        fl__connection_close(session, index);
        fl__manifest_destroy(session, &fl__outbox(session, index)->manifest);
    }
}

void fl__queue_set_full(FlSession *session, int32_t index, bool full)
{
    fl__outbox(session, index)->full = full;
}

void fl__connection_failed(FlSession *session, int32_t index, FlLeft left, FlTime now)
{
    Change failed = {
        .kind = CHANGE_CONNECTION_FAILED, .connection = index, .left = left, .now = now};
    fl__changed(session, &failed);
}

// ---------------------------------------------------------------- what has come up

// A connection whose reliable queue is full must take half of it in a time-out, and in half of one
// while it holds up everybody's events; taking one message now and then is not enough. One that is
// further behind than that when its queue gets full holds up no other member.
static bool is_stalled(const FlSession *session, int32_t index, FlTime now)
{
    FlLinkStats stats;
    fl_link_stats(fl__connection_link(session, index), now, &stats);
    FlTime limit = session->def.tuning.link.timeout_ns;
    return stats.waiting_ns > (fl__outbox(session, index)->full ? limit / 2 : limit);
}

// Queues what is to be said reliably. False: the connection is no more.
static bool queue_messages(FlSession *session, int32_t index, FlTime now)
{
    Outbox *outbox = fl__outbox(session, index);
    outbox->blocked = !fl__announce(session, index) || outbox->full;
    if (outbox->blocked && is_stalled(session, index, now)) {
        fl__count(session, FL_SESSION_STALLED);
        fl__connection_failed(session, index, FL_LEFT_STALLED, now);
        return false;
    }
    return true;
}

// Learns what became of packets, and queues what is to be said. False: the connection is no more.
static bool catch_up(FlSession *session, int32_t index, FlTime now)
{
    FlLink *link = fl__connection_link(session, index);
    fl_link_update(link, now);
    fl__manifest_settle(session, index, now);
    fl__features_look(session, index, now);
    if (!fl__connection_used(session, index)) {
        return false;
    }
    if (!fl__link_alive(link)) {
        fl__connection_failed(session, index, FL_LEFT_TIMED_OUT, now);
        return false;
    }
    return fl__connection_unproven(session, index) || fl__connection_waiting(session, index) ||
           queue_messages(session, index, now);
}

// What is wanted over this connection, company waited for. Asked once per look.
static Want gathered(const FlSession *session, int32_t index, FlTime now)
{
    Outbox *outbox = fl__outbox(session, index);
    Want want = fl__packet_want(session, index, now);
    outbox->tight = outbox->tight && want.at <= now;
    if (want.at <= now && want.gather_ns > 0) {
        FlTime until = fl_time_add(now, want.gather_ns);
        // FL_FOREVER: the first that waits
        outbox->gather_until = fl_time_min(until, outbox->gather_until);
        want.at = fl__time_max(outbox->gather_until, now);
    }
    return want;
}

// ---------------------------------------------------------------- a packet

// What the upload leaves of a packet's room, with so many bytes in it already. Reliable data that
// stands before has overdrawn the flow; it must not take the room as well, or a long message would
// silence motion everywhere. What must go first fits in what is kept back for headers.
static int32_t upload_room(FlSession *session, const Want *want, int32_t room, int32_t used,
                           FlTime now)
{
    double left = fl__max(fl__upload_window(session, now) - used, want->first);
    return left >= room ? room : (int32_t)left;
}

static bool build(FlSession *session, int32_t index, int32_t room, const Want *want, FlTime now,
                  FlOutgoing *out)
{
    FlLink *link = fl__connection_link(session, index);
    Outbox *outbox = fl__outbox(session, index);
    bool sealed = fl__is_sealed(session);
    if (sealed) {
        fl_link_number_from(link, fl__sealed_sequence(session, index));
    }
    uint8_t *packet = fl__packet_bytes(session) + FL_SEAL_HEAD_BYTES;
    FlWriter writer;
    if (fl_link_begin(link, now, packet, &writer) != FL_OK) {
        return false;
    }
    uint64_t tag = fl__manifest_begin(&outbox->manifest);
    int32_t before = fl_writer_size(&writer);
    room = upload_room(session, want, room, before, now);
    outbox->gather_until = room > 0 ? FL_FOREVER : outbox->gather_until;
    fl__packet_write(session, index, &writer, room, want->rides, now);
    int32_t payload = fl_writer_size(&writer) - before;
    uint64_t sequence;
    int32_t bytes = fl_link_finish(link, now, &writer, tag, &sequence);
    out->bytes = packet;
    out->count = bytes;
    out->to = fl__connection_address(session, index);
    bool goes = !sealed || fl__sealed_seal(session, index, now, sequence, bytes, out);
    int32_t all = goes ? out->count : bytes;
    fl__upload_sent(session, now, all, bytes + session->def.tuning.link.overhead_bytes);
    fl__upload_learn(session, all, payload);
    return goes;
}

#define ROOM_AT_LEAST 32            // below this a packet would be mostly headers
#define BUDGET_LOOK_EVERY FL_MS(1)  // while something waits for the budget
#define CLOCK_LOOK_EVERY FL_MS(100) // while the time is not known
#define QUEUE_LOOK_EVERY FL_SEC(1)  // while something is awaited that wakes us, too

// When to look at a connection again over which nothing goes now.
static FlTime look_again(FlSession *session, int32_t index, const Want *want, bool awaited,
                         FlTime now)
{
    FlLink *link = fl__connection_link(session, index);
    FlTime due = want->at;
    if (due <= now) { // it waits for the budget, or for a peer that does not answer
        FlTime look = fl_time_add(now, BUDGET_LOOK_EVERY);
        due = fl__time_max(fl__link_silence(link, now).payload_at, look);
    }
    FlTime again = fl_time_min(fl_link_deadline(link, now), due);
    if (awaited) {
        again = fl_time_min(again, fl_time_add(now, CLOCK_LOOK_EVERY));
    }
    if (fl__outbox(session, index)->blocked) {
        again = fl_time_min(again, fl_time_add(now, QUEUE_LOOK_EVERY));
    }
    return again;
}

static void set_short(FlSession *session, int32_t index, bool is_short)
{
    Outbox *outbox = fl__outbox(session, index);
    fl__connection_set_short(session, index, is_short);
    outbox->tight = outbox->tight || is_short;
}

// Bytes of payload that may go over this connection now; 0 if nothing is due, or the budget is too
// small for what is first.
static int32_t payload_room(FlSession *session, int32_t index, const Want *want, FlTime now)
{
    bool due = want->at <= now;
    FlLink *link = fl__connection_link(session, index);
    int32_t room = due ? fl_link_payload_budget(link, now) : 0;
    bool enough = room >= want->bytes && room >= ROOM_AT_LEAST;
    set_short(session, index, due && !enough);
    return enough ? room : 0;
}

bool fl__packet_next(FlSession *session, int32_t index, FlTime now, FlOutgoing *out)
{
    fl__connection_wake_at(session, index, FL_FOREVER); // what makes it ready wakes it
    if (!fl__sealed_ready(session, index) || !catch_up(session, index, now)) {
        return false;
    }
    bool awaited = fl__clock_offset_awaited(session, index, now);
    fl__connection_wake_at(session, index, fl_time_add(now, QUEUE_LOOK_EVERY)); // or it is gone
    if (fl__connection_unproven(session, index)) {
        return false;
    }
    fl__connection_wake_at(session, index, fl_time_add(now, BUDGET_LOOK_EVERY));
    if (fl__upload_left(session, now) < 0.0) {
        set_short(session, index, true);
        return false;
    }
    Want want = gathered(session, index, now);
    int32_t room = payload_room(session, index, &want, now);
    if (want.first > 0 && fl__connection_short(session, index)) {
        return false; // nothing is understood before it, so nothing else takes its bytes
    }
    if (room > 0 || fl__link_wants_to_send(fl__connection_link(session, index), now)) {
        fl__connection_wake_at(session, index, now); // there may be more
        return build(session, index, room, &want, now, out);
    }
    fl__connection_wake_at(session, index, look_again(session, index, &want, awaited, now));
    return false;
}
