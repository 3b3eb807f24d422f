// The host's first words. They are sent often until they have arrived; without them a member
// understands nothing.

// WELCOME: you are in.                                           spec/WIRE.md section 7.4
//
//   bits  field      unit   valid
//   8     kind       -      5
//   64    offset     ns     session time minus the host's link clock, two's complement
//   16    self       -      your number
//   16    members    -      how many numbers there are, at least 2
//   16    host       -      the host's number
//   8     topology   -      0 star, 1 mesh, 2 hybrid, 3 crowd
//   32    share      -      entity numbers per member: member m gives m * share and on
//   16    term       -      the host's: counts hosts, on a circle of 2^16

#include "private.h"

// ---------------------------------------------------------------- WELCOME

void fl__welcome_set_due(FlSession *session, int32_t connection, FlTime now)
{
    fl__handshake(session, connection)->welcome_due = true;
    fl__handshake(session, connection)->welcome_next = now;
}

Want fl__welcome_want(const void *self, int32_t connection, FlTime now)
{
    (void)now;
    const Handshake *h = fl__handshake((const FlSession *)self, connection);
    if (!h->welcome_due) {
        return fl__want_none();
    }
    // Who does not know yet that we host does not understand the rest.
    int32_t rides = h->promoted ? FL__WELCOME_BYTES : 0;
    Want want = {h->welcome_next, 0, FL__WELCOME_BYTES, rides, FL__WELCOME_BYTES};
    return want;
}

void fl__welcome_write(void *self, PacketOut *out)
{
    const FlSession *session = (const FlSession *)self;
    Handshake *h = fl__handshake(session, out->connection);
    bool goes = h->welcome_due && (!out->only_rides || h->promoted);
    if (!goes || out->left < FL__WELCOME_BYTES) {
        return;
    }
    FlWriter *w = out->w;
    fl_writer_put(w, SECTION_WELCOME, 8);
    fl_writer_put(w, (uint64_t)fl__time_offset(session, out->connection), 64);
    fl_writer_put(w, (uint64_t)fl__connection_member(session, out->connection), 16);
    fl_writer_put(w, (uint64_t)session->seat_count, 16);
    fl_writer_put(w, (uint64_t)session->host, 16);
    fl_writer_put(w, (uint64_t)session->topology, 8);
    fl_writer_put(w, session->id_range, 32);
    fl_writer_put(w, session->term, 16);
    h->welcome_next = fl_time_add(out->now, WELCOME_EVERY);
    fl__packet_note(out, 0, (uint32_t)session->host);
}

void fl__welcome_outcome(void *self, int32_t index, const Item *items, int32_t count,
                         const Fate *fate)
{
    FlSession *session = (FlSession *)self;
    for (int32_t i = 0; i < count; i++) {
        if (fate->delivered && items[i].value == (uint32_t)session->host) {
            fl__handshake(session, index)->welcome_due = false;
        }
    }
}

bool fl__welcome_read(const FlSession *session, FlReader *r, Welcome *w)
{
    w->offset = (FlTime)fl_reader_take(r, 64);
    w->self = (int32_t)fl_reader_take(r, 16);
    w->members = (int32_t)fl_reader_take(r, 16);
    w->host = (int32_t)fl_reader_take(r, 16);
    uint64_t topology = fl_reader_take(r, 8);
    w->id_range = (uint32_t)fl_reader_take(r, 32);
    w->term = (uint16_t)fl_reader_take(r, 16);
    w->topology = topology <= FL_TOPOLOGY_CROWD ? (FlTopology)topology : FL_TOPOLOGY_STAR;
    uint64_t numbers = (uint64_t)session->world.def.entity_capacity;
    bool good = w->members >= 2 && w->self < w->members && w->host < w->members &&
                w->self != w->host && topology <= FL_TOPOLOGY_CROWD && w->id_range >= 1 &&
                (uint64_t)w->id_range * (uint64_t)w->members <= numbers &&
                fl__offset_is_sound(w->offset);
    return good && !r->failed && (!fl__is_host(session) || session->members->took_over);
}

bool fl__welcome_skip(const void *self, PacketIn *in)
{
    Welcome w;
    return fl__welcome_read((const FlSession *)self, in->r, &w);
}

void fl__welcome_take(FlSession *session, int32_t index, const Welcome *w)
{
    if (w->members > session->member_count) {
        fl__session_end(session, FL_END_NO_MEMORY,
                        "The host lets in %d players, and we have memory for %d: raise "
                        "peer_capacity to the host's.",
                        w->members - 1, session->member_count - 1);
        return;
    }
    fl__member(session, fl__connection_member(session, index))->connection = FL__NONE;
    fl__connection_set_member(session, index, w->host);
    fl__member(session, w->host)->connection = index;
    session->self = w->self;
    session->host = w->host;
    session->term = w->term;
    session->topology = w->topology;
    session->id_range = w->id_range;
    session->seat_count = w->members; // ours to give, should we host one day: no more
    session->state = FL_SESSION_RUNNING;
    bool direct = w->topology == FL_TOPOLOGY_MESH || w->topology == FL_TOPOLOGY_HYBRID;
    if (direct && session->connection_count == 1 && w->members > 2) {
        fl__note(session, "The host's session is a mesh, and we have room for the host alone: set "
                          "`topology` as the host does, or tuning.direct_capacity.");
    }
    fl__time_welcomed(session, index, w->offset);
}

void fl__welcome_again(FlSession *session, int32_t index, const Welcome *w)
{
    if (w->host == session->host && fl__connection_member(session, index) == session->host &&
        w->self == session->self && w->term == session->term) {
        fl__time_corrected(session, index, w->offset);
    }
}
