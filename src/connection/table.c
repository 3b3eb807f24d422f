// The table of connections: by address, what is known of each, and whose turn it is.
//
// Invariant: wake[i] is at or before the time at which connection i has something to do; whatever
// gives it something to do wakes it.
#include "private.h"

#include "link/link.h"

// ---------------------------------------------------------------- by address

int32_t fl__connection_at(const FlSession *session, FlAddress address)
{
    return *fl__addresses_place(&session->connections->at, address);
}

// Of two at one address the first is found.
static void address_put(Connections *c, int32_t index)
{
    int32_t *place = fl__addresses_place(&c->at, c->all[index].address);
    *place = *place == FL__NONE ? index : *place;
}

// Connections come and go rarely: making the table anew is simpler than mending it.
void fl__addresses_changed(FlSession *session)
{
    Connections *c = session->connections;
    fl__addresses_clear(&c->at);
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (c->all[i].used) {
            address_put(c, i);
        }
    }
}

void fl__connection_moved(FlSession *session, int32_t index, FlAddress address)
{
    fl__connection(session, index)->address = address;
    fl__addresses_changed(session);
}

#define MOVED_AFTER FL_SEC(1) // of silence

static bool may_have_moved(const Connection *c, FlAddress from, FlTime arrival)
{
    FlAddress other_port = c->address;
    other_port.port = from.port;
    return c->used && !c->unproven && fl_address_equal(other_port, from) &&
           (!c->received || fl__link_silence(c->link, arrival).silent_ns >= MOVED_AFTER);
}

// Without a seal nothing proves who sent a datagram. A connection over which nothing comes
// is followed to another port of the same computer by its conversation number, which its two ends
// know and whoever introduced them; the link must take the packet, too.
int32_t fl__connection_moving(const FlSession *session, FlAddress from, const uint8_t *bytes,
                              int32_t count, FlTime arrival)
{
    int32_t found = FL__NONE;
    for (int32_t i = 0; count >= 2 && i < session->connection_count; i++) {
        const Connection *c = fl__connection(session, i);
        if (c->conversation == fl__load_u16(bytes) && may_have_moved(c, from, arrival)) {
            if (found != FL__NONE) {
                return FL__NONE; // two might be it
            }
            found = i;
        }
    }
    return found;
}

int32_t fl__connection_free(const FlSession *session)
{
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (!fl__connection(session, i)->used) {
            return i;
        }
    }
    return FL__NONE;
}

// ---------------------------------------------------------------- one

bool fl__connection_used(const FlSession *session, int32_t index)
{
    return fl__connection(session, index)->used;
}

bool fl__connection_received(const FlSession *session, int32_t index)
{
    return fl__connection(session, index)->received;
}

bool fl__connection_direct(const FlSession *session, int32_t index)
{
    return fl__connection(session, index)->direct;
}

bool fl__connection_silent(const FlSession *session, int32_t index)
{
    return fl__connection(session, index)->silent;
}

bool fl__connection_reaches(const FlSession *session, int32_t index)
{
    const Connection *c = fl__connection(session, index);
    return c->received && !(c->direct && c->silent);
}

bool fl__connection_unproven(const FlSession *session, int32_t index)
{
    return fl__connection(session, index)->unproven;
}

bool fl__connection_waiting(const FlSession *session, int32_t index)
{
    return fl__connection(session, index)->waiting;
}

bool fl__connection_paired(const FlSession *session, int32_t index)
{
    return fl__connection(session, index)->pair != NULL;
}

bool fl__connection_short(const FlSession *session, int32_t index)
{
    return fl__connection(session, index)->short_of_bytes;
}

int32_t fl__connection_member(const FlSession *session, int32_t index)
{
    return fl__connection(session, index)->member;
}

uint16_t fl__connection_conversation(const FlSession *session, int32_t index)
{
    return fl__connection(session, index)->conversation;
}

FlAddress fl__connection_address(const FlSession *session, int32_t index)
{
    return fl__connection(session, index)->address;
}

FlLink *fl__connection_link(const FlSession *session, int32_t index)
{
    return fl__connection(session, index)->link;
}

bool fl__connection_from_host(const FlSession *session, int32_t index)
{
    return !fl__connection(session, index)->direct && !fl__is_host(session);
}

void fl__connection_set_member(FlSession *session, int32_t index, int32_t member)
{
    fl__connection(session, index)->member = member;
}

void fl__connection_set_received(FlSession *session, int32_t index)
{
    fl__connection(session, index)->received = true;
}

void fl__connection_set_silent(FlSession *session, int32_t index, bool silent)
{
    fl__connection(session, index)->silent = silent;
}

void fl__connection_set_waiting(FlSession *session, int32_t index, bool waiting)
{
    fl__connection(session, index)->waiting = waiting;
}

void fl__connection_set_short(FlSession *session, int32_t index, bool is_short)
{
    Connection *c = fl__connection(session, index);
    session->connections->short_count += (is_short ? 1 : 0) - (c->short_of_bytes ? 1 : 0);
    c->short_of_bytes = is_short;
}

bool fl__connections_short(const FlSession *session)
{
    return session->connections->short_count > 0;
}

void fl__connection_set_may_lead(FlSession *session, int32_t index, bool may_lead)
{
    fl__connection(session, index)->may_lead = may_lead;
}

#define FAULTS_AT_MOST 100
#define FAULTS_WITHIN FL_SEC(10)

// A fault may be in every packet of a member that is wrong about something for a moment; no member
// is wrong a hundred times in ten seconds without meaning it.
static void count_fault(FlSession *session, int32_t index, FlSessionCount which, bool early)
{
    if (index == FL__NONE) { // over a light connection
        fl__count(session, which);
        return;
    }
    Connection *c = fl__connection(session, index);
    early = early || c->may_lead;
    fl__count(session, early ? FL_SESSION_EARLY : which);
    FlTime now = fl__datagram_came_at(session);
    if (fl_span(now, c->fault_since) > FAULTS_WITHIN) {
        c->fault_since = now;
        c->fault_count = 0;
    }
    c->fault_count += early ? 0 : 1;
    if (fl__connection_hostile(session, index)) {
        fl__connection_wake(session, index);
    }
}

void fl__connection_foreign(FlSession *session, int32_t index)
{
    count_fault(session, index, FL_SESSION_FOREIGN, false);
}

void fl__connection_malformed(FlSession *session, int32_t index)
{
    count_fault(session, index, FL_SESSION_MALFORMED, false);
}

void fl__connection_refused(FlSession *session, int32_t index, bool early)
{
    count_fault(session, index, FL_SESSION_FOREIGN, early);
}

bool fl__connection_hostile(const FlSession *session, int32_t index)
{
    return fl__connection(session, index)->fault_count >= FAULTS_AT_MOST;
}

// ---------------------------------------------------------------- whose turn it is

// What is not there never wants anything.
void fl__connection_wake(FlSession *session, int32_t index)
{
    Connections *c = session->connections;
    c->wake[index] = c->all[index].used ? INT64_MIN : c->wake[index];
}

void fl__connection_wake_at(FlSession *session, int32_t index, FlTime time)
{
    session->connections->wake[index] = time;
}

FlTime fl__connection_due(const FlSession *session, int32_t index)
{
    return session->connections->wake[index];
}

FlTime fl__connections_due(const FlSession *session)
{
    FlTime due = FL_FOREVER;
    for (int32_t i = 0; i < session->connection_count; i++) {
        due = fl_time_min(due, session->connections->wake[i]);
    }
    return due;
}

bool fl__connections_begin(const FlSession *session)
{
    return session->connections->next == 0;
}

// While bytes are scarce, whoever found none comes before all who wake.
int32_t fl__connection_turn(FlSession *session, FlTime now)
{
    Connections *c = session->connections;
    bool limited = session->def.upload_bytes_s > 0.0;
    for (; c->next < session->connection_count; c->next++) {
        int32_t i = (c->turn + c->next) % session->connection_count;
        bool waits = limited && c->all[i].short_of_bytes;
        if ((c->wake[i] <= now || waits) && c->all[i].used) {
            return i;
        }
    }
    c->next = 0;
    c->turn = fl__upload_turn(session);
    return FL__NONE;
}

void fl__connection_pass(FlSession *session)
{
    session->connections->next++;
}

// ---------------------------------------------------------------- datagrams

uint8_t *fl__packet_bytes(const FlSession *session)
{
    return session->connections->packet;
}

void fl__datagram_came(FlSession *session, FlTime arrival)
{
    session->connections->came++;
    session->connections->came_at = arrival;
}

FlTime fl__datagram_came_at(const FlSession *session)
{
    return session->connections->came_at;
}

uint32_t fl__datagrams_came(const FlSession *session)
{
    return session->connections->came;
}
