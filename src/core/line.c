// Direct connections: a link, what is owed over it, and when to look at it next.
//
// Invariant: members[lines[i].member].line == i for every line in use. wake[i] is at or before the
// time at which the line has something to do; whatever gives it something to do wakes it.
#include "private.h"

#include <string.h>

// ---------------------------------------------------------------- by address

static int32_t home_of(const FlSession *session, FlAddress address)
{
    return (int32_t)(fl_address_hash(address) & (uint64_t)(session->by_address_size - 1));
}

int32_t fl__line_at(const FlSession *session, FlAddress address)
{
    int32_t mask = session->by_address_size - 1;
    for (int32_t at = home_of(session, address); session->by_address[at] != FL__NONE;
         at = (at + 1) & mask) {
        int32_t line = session->by_address[at];
        if (fl_address_equal(session->lines[line].address, address)) {
            return line;
        }
    }
    return FL__NONE;
}

static void address_put(FlSession *session, int32_t line)
{
    int32_t mask = session->by_address_size - 1;
    int32_t at = home_of(session, session->lines[line].address);
    while (session->by_address[at] != FL__NONE) {
        at = (at + 1) & mask;
    }
    session->by_address[at] = line;
}

// Lines come and go rarely: making the table anew is simpler than mending it.
static void address_rebuild(FlSession *session)
{
    for (int32_t i = 0; i < session->by_address_size; i++) {
        session->by_address[i] = FL__NONE;
    }
    for (int32_t i = 0; i < session->line_count; i++) {
        if (session->lines[i].used) {
            address_put(session, i);
        }
    }
}

void fl__line_moved(FlSession *session, int32_t line, FlAddress address)
{
    session->lines[line].address = address;
    address_rebuild(session);
}

#define MOVED_AFTER FL_SEC(1) // of silence

static bool may_have_moved(const Line *line, FlAddress from, FlTime arrival)
{
    FlAddress other_port = line->address;
    other_port.port = from.port;
    return line->used && !line->unproven && fl_address_equal(other_port, from) &&
           (!line->heard || fl_link_silence(line->link, arrival).unheard_ns >= MOVED_AFTER);
}

// Where anybody may join there is no seal to tell who it is. A connection over which nothing comes
// is followed to another port of the same computer by its conversation number, which its two ends
// know and whoever introduced them; the link must take the packet, too.
int32_t fl__line_moving(const FlSession *session, FlAddress from, const uint8_t *bytes,
                        int32_t count, FlTime arrival)
{
    int32_t found = FL__NONE;
    for (int32_t i = 0; count >= 2 && i < session->line_count; i++) {
        const Line *line = &session->lines[i];
        if (line->conversation == (bytes[0] | bytes[1] << 8) &&
            may_have_moved(line, from, arrival)) {
            if (found != FL__NONE) {
                return FL__NONE; // two might be it
            }
            found = i;
        }
    }
    return found;
}

// ---------------------------------------------------------------- opening and closing

int32_t fl__line_free(const FlSession *session)
{
    for (int32_t i = 0; i < session->line_count; i++) {
        if (!session->lines[i].used) {
            return i;
        }
    }
    return FL__NONE;
}

size_t fl__line_bytes(const FlSessionDef *def)
{
    size_t link;
    size_t buffers;
    fl_link_memory(&def->link, &link, &buffers);
    return sizeof(Line) + sizeof(FlTime) + link + buffers + fl__manifest_bytes(def);
}

#define DIRECT_TIMEOUT FL_SEC(60) // the host says sooner who is gone

// The client keeps a line alive, and the host answers. Between introduced peers the one with the
// smaller number does, rarely; where there is a seal, the seal does.
static FlLinkDef link_def(FlSession *session, const Line *line)
{
    FlLinkDef def = session->def.link;
    def.conversation = line->conversation;
    def.numbered_below = session->sealed != NULL;
    def.alloc = session->def.alloc;
    def.common = fl__upload_budget(session);
    bool host = fl__is_host(session);
    if (line->direct) {
        bool keeper = line->pair == NULL && session->self < line->member;
        def.timeout_ns = line->pair == NULL ? DIRECT_TIMEOUT : FL_SEC(1800);
        def.keep_alive_ns = keeper ? DIRECT_TIMEOUT / 4 : FL_FOREVER;
    } else if (host) {
        def.keep_alive_ns = FL_FOREVER;
        def.eager_count = 0;
    }
    return def;
}

void fl__line_patience(FlSession *session, int32_t index, FlTime now)
{
    FlLinkDef def = link_def(session, &session->lines[index]);
    fl_link_patience(session->lines[index].link, now, def.keep_alive_ns, def.timeout_ns);
}

static void line_release(FlSession *session, Line *line)
{
    fl_link_destroy(line->link);
    fl__manifest_destroy(session, &line->manifest);
}

static bool line_reserve(FlSession *session, Line *line, FlTime now)
{
    FlLinkDef def = link_def(session, line);
    bool good = fl__manifest_create(session, &line->manifest) &&
                fl_link_create(&def, now, &line->link) == FL_OK;
    if (!good) {
        line_release(session, line);
        session->count[FL_SESSION_OUT_OF_MEMORY]++;
    }
    return good;
}

bool fl__line_open(FlSession *session, int32_t index, int32_t member, FlAddress address, FlTime now)
{
    Line *line = &session->lines[index];
    line->member = member;
    line->address = address;
    if (!line_reserve(session, line, now)) {
        memset(line, 0, sizeof *line);
        return false;
    }
    line->used = true;
    line->heard = !line->direct;
    line->gather_until = FL_FOREVER;
    line->state_again = FL_FOREVER;
    line->meet_again = INT64_MIN;
    line->report_next = fl_time_add(now, FL_SEC(1));
    line->doubt_next = now;
    line->offset = fl_session_time(session, now) - fl_link_clock(line->link, now);
    Change opened = {.kind = CHANGE_LINE_OPENED, .line = index, .now = now};
    fl__changed(session, &opened);
    address_put(session, index);
    fl__line_wake(session, index);
    return true;
}

void fl__line_close(FlSession *session, int32_t index)
{
    Line *line = &session->lines[index];
    if (!line->used) {
        return;
    }
    Change closed = {.kind = CHANGE_LINE_CLOSED, .line = index};
    fl__changed(session, &closed);
    fl__sealed_part(session, line);
    line_release(session, line);
    memset(line, 0, sizeof *line);
    session->wake[index] = FL_FOREVER;
    address_rebuild(session);
}

void fl__session_alone(FlSession *session, FlLeft left, FlTime now)
{
    for (int32_t i = 0; i < session->member_count; i++) {
        if (i != session->self) {
            fl__member_leave(session, i, left, now);
        }
    }
}

// What to tell the game when the host is gone.
static const char *why_lost(FlLeft left, bool took_messages)
{
    if (left == FL_LEFT_STALLED) {
        return "The host has not taken our messages for longer than the time-out. Join again.";
    }
    if (left != FL_LEFT_GOODBYE) {
        return "The host has not been heard from for longer than the time-out: it ended, or the "
               "line broke. Join again.";
    }
    if (!took_messages) {
        return "The host has sent us away, or has left: too many events were not taken here. Call "
               "fl_event_take every frame until it has no more.";
    }
    return "The host has left, or has sent us away.";
}

void fl__line_lost(FlSession *session, int32_t index, FlLeft left, FlTime now)
{
    Line *line = &session->lines[index];
    int32_t member = line->member;
    bool direct = line->direct;
    bool host = fl__is_host(session);
    bool took_messages = fl__features_have_room(session, index);
    if (left != FL_LEFT_GOODBYE && host) {
        fl__join_away(session, line, left, now);
    } else if (left != FL_LEFT_GOODBYE) {
        fl__sealed_leave(session, line, now);
        fl__join_goodbye(session, line);
    }
    fl__line_close(session, index);
    if (host) {
        fl__member_leave(session, member, left, now);
        fl__succession_parted(session, left, now);
    } else if (direct) {
        fl__mesh_parted(session, member, now);
    } else if (!fl__succession_begin(session, now)) {
        fl__session_alone(session, left, now);
        fl__session_end(session, why_lost(left, took_messages));
    }
}

// ---------------------------------------------------------------- packets

// A line whose reliable queue is full must take half of it in a time-out, and in half of one while
// it holds up everybody's events; taking one message now and then is not enough. A line that is
// further behind than that when its queue gets full holds up nobody.
static bool is_stalled(const FlSession *session, const Line *line, FlTime now)
{
    FlLinkStats stats;
    fl_link_stats(line->link, now, &stats);
    FlTime limit = session->def.link.timeout_ns;
    return stats.waiting_ns > (line->full ? limit / 2 : limit);
}

// Queues what is to be said reliably. False: the line is no more.
static bool queue_messages(FlSession *session, int32_t index, FlTime now)
{
    Line *line = &session->lines[index];
    line->blocked = !fl__news_flush(session, index) || line->full;
    if (line->blocked && is_stalled(session, line, now)) {
        session->count[FL_SESSION_STALLED]++;
        fl__line_lost(session, index, FL_LEFT_STALLED, now);
        return false;
    }
    return true;
}

// What the upload leaves of a packet's room, with so many bytes in it already. A WELCOME fits in
// what is kept back for headers: the words before it must not crowd it out.
static int32_t upload_room(FlSession *session, const Line *line, int32_t room, int32_t used,
                           FlTime now)
{
    double left = fl__upload_left(session, now) - used;
    double least = line->welcome_owed ? FL__WELCOME_BYTES : 0.0;
    left = left > least ? left : least;
    return left >= room ? room : (int32_t)left;
}

static bool build(FlSession *session, int32_t index, int32_t room, int32_t rides, FlTime now,
                  FlOutgoing *out)
{
    Line *line = &session->lines[index];
    if (session->sealed != NULL) {
        fl_link_number_from(line->link, fl__sealed_sequence(session, line));
    }
    uint8_t *packet = session->packet + FL_SEAL_HEAD_BYTES;
    FlWriter writer;
    if (fl_link_begin(line->link, now, packet, &writer) != FL_OK) {
        return false;
    }
    uint64_t tag = fl__manifest_begin(&line->manifest);
    int32_t before = fl_writer_size(&writer);
    room = upload_room(session, line, room, before, now);
    line->gather_until = room > 0 ? FL_FOREVER : line->gather_until;
    fl__packet_write(session, index, &writer, room, rides, now);
    int32_t payload = fl_writer_size(&writer) - before;
    uint64_t sequence;
    int32_t bytes = fl_link_finish(line->link, now, &writer, tag, &sequence);
    bool goes = true;
    out->bytes = packet;
    out->count = bytes;
    out->to = line->address;
    if (session->sealed != NULL) {
        goes = fl__sealed_seal(session, line, now, sequence, bytes, out);
    }
    int32_t all = goes ? out->count : bytes;
    fl__upload_sent(session, now, all, bytes + session->def.link.overhead_bytes);
    fl__upload_learn(session, all, payload);
    return goes;
}

// What is wanted over this line, company waited for. Asked once per look.
static Want gathered(const FlSession *session, int32_t index, FlTime now)
{
    Line *line = &session->lines[index];
    Want want = fl__packet_want(session, index, now);
    if (want.at <= now && want.gather_ns > 0) {
        FlTime until = fl_time_add(now, want.gather_ns);
        // FL_FOREVER: the first that waits
        line->gather_until = until < line->gather_until ? until : line->gather_until;
        want.at = line->gather_until > now ? line->gather_until : now;
    }
    return want;
}

// Learns what became of packets, and queues what is to be said. False: the line is no more.
static bool catch_up(FlSession *session, int32_t index, FlTime now)
{
    Line *line = &session->lines[index];
    fl_link_update(line->link, now);
    fl__manifest_settle(session, index, now);
    fl__features_look(session, index, now);
    if (!fl_link_alive(line->link) || (line->direct && !fl__mesh_listen(session, index, now))) {
        fl__line_lost(session, index, FL_LEFT_TIMED_OUT, now);
        return false;
    }
    if (!line->unproven && !queue_messages(session, index, now)) {
        return false;
    }
    if (fl__mapping_wanted(line)) {
        fl__mapping_begin(session, line, now);
    }
    return true;
}

#define ROOM_AT_LEAST 32            // below this a packet would be mostly headers
#define BUDGET_LOOK_EVERY FL_MS(1)  // while something waits for the budget
#define CLOCK_LOOK_EVERY FL_MS(100) // while the time is not known
#define QUEUE_LOOK_EVERY FL_SEC(1)  // while something is awaited that wakes us, too

static FlTime earlier(FlTime a, FlTime b)
{
    return a < b ? a : b;
}

// When to look at a line again over which nothing goes now.
static FlTime look_again(const FlSession *session, int32_t index, const Want *want, FlTime now)
{
    const Line *line = &session->lines[index];
    FlTime due = want->at;
    if (due <= now) { // it waits for the budget, or for a peer that does not answer
        FlTime look = fl_time_add(now, BUDGET_LOOK_EVERY);
        FlTime payload_at = fl_link_silence(line->link, now).payload_at;
        due = payload_at > look ? payload_at : look;
    }
    FlTime again = earlier(fl_link_deadline(line->link, now), due);
    if (fl__mapping_wanted(line)) {
        again = earlier(again, fl_time_add(now, CLOCK_LOOK_EVERY));
    }
    if (line->blocked) {
        again = earlier(again, fl_time_add(now, QUEUE_LOOK_EVERY));
    }
    return again;
}

// Bytes of payload that may go over this line now; 0 if nothing is due, or the budget is too small
// for what is first.
static int32_t payload_room(Line *line, const Want *want, FlTime now)
{
    bool due = want->at <= now;
    int32_t room = due ? fl_link_payload_budget(line->link, now) : 0;
    bool enough = room >= want->bytes && room >= ROOM_AT_LEAST;
    line->short_of_bytes = due && !enough;
    return enough ? room : 0;
}

bool fl__line_next(FlSession *session, int32_t index, FlTime now, FlOutgoing *out)
{
    Line *line = &session->lines[index];
    session->wake[index] = FL_FOREVER; // what makes it ready wakes it
    if (!fl__sealed_ready(session, line) || !catch_up(session, index, now)) {
        return false;
    }
    session->wake[index] = fl_time_add(now, QUEUE_LOOK_EVERY); // it may be gone by then
    if (line->unproven) {
        return false;
    }
    session->wake[index] = fl_time_add(now, BUDGET_LOOK_EVERY);
    if (fl__upload_left(session, now) < 0.0) {
        line->short_of_bytes = true;
        return false;
    }
    Want want = gathered(session, index, now);
    int32_t room = payload_room(line, &want, now);
    if (line->welcome_owed && line->short_of_bytes) {
        return false; // nothing is understood before it, so nothing else takes its bytes
    }
    if (room > 0 || fl_link_wants_to_send(line->link, now)) {
        session->wake[index] = now; // there may be more
        return build(session, index, room, want.rides, now, out);
    }
    session->wake[index] = look_again(session, index, &want, now);
    return false;
}
