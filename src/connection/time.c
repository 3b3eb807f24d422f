// Session time; and when, in it, something arrived at the other end.
//
// A receiver's session time is bent smoothly towards the host's, so no other node can say exactly
// what it was when a packet arrived. What receivers place by is therefore a *clock offset*: link
// clock plus a constant, changed in steps when it has strayed from session time by more than a
// stamp's step, and sent to the other end. Every packet carries the changes that are not known to
// be known, so who reads a report of an arrival has every clock offset that can apply to it.
#include "link/link.h"
#include "private.h"

#include "link/link.h"

#define STRAYED FL_LINK_STEP_NS

// Reports are rounded down to a step, and a clock offset strays by another: an arrival may be
// placed before a frame that was drawn without it. Where frames are rewound to, all are placed so
// much later, at both ends: then what counts at a frame had come before it was drawn.
static FlTime placed_later(const FlSession *session)
{
    return session->def.rewind_ns > 0 ? FL_LINK_STEP_NS + STRAYED : 0;
}

#define STRAYED_FAR FL_MS(2) // where nothing is placed, it only says how old what we send is

bool fl__time_known(const FlSession *session)
{
    return fl__session_clock_state(&session->connections->clock) != FL_SESSION_CLOCK_UNSET;
}

static FlTime local_of(const FlSession *session, FlTime now)
{
    return fl_span(now, session->connections->epoch);
}

FlTime fl_session_time(const FlSession *session, FlTime now)
{
    FlTime local = local_of(session, now);
    if (fl__is_host(session)) { // its clock is the session's, also over a pause
        FlTime then =
            fl__session_clock_at(&session->connections->clock, session->connections->clock_at);
        return fl_time_add(then, fl_span(local, session->connections->clock_at));
    }
    return fl__session_clock_at(&session->connections->clock, local);
}

FlTime fl_session_local_time(const FlSession *session, FlTime time)
{
    FlTime local = fl__session_clock_local_at(&session->connections->clock, time);
    return local == FL_FOREVER ? FL_FOREVER : fl_time_add(local, session->connections->epoch);
}

FlTime fl_session_time_error(const FlSession *session)
{
    return fl__time_known(session) ? fl__session_clock_error(&session->connections->clock)
                                   : FL_FOREVER;
}

// A pause in which the host did nothing is no break in its clock: the others' time went on, by the
// offset that they got when they joined.
static void lead_over_pause(FlSession *session, FlTime now)
{
    FlTime local = local_of(session, now);
    if (fl_span(local, session->connections->clock_at) > FL_SESSION_CLOCK_GAP_NS) {
        FlTime time = fl_session_time(session, now);
        fl__session_clock_init(&session->connections->clock);
        fl__session_clock_lead(&session->connections->clock, local, time);
    }
}

void fl__time_update(FlSession *session, FlTime now)
{
    // Asked for with every packet: at the same moment nothing is new unless something came.
    if (session->connections->clock_now == now &&
        session->connections->clock_came == session->connections->came &&
        session->connections->clock_at == local_of(session, now)) {
        return;
    }
    session->connections->clock_now = now;
    session->connections->clock_came = session->connections->came;
    if (fl__is_host(session)) {
        lead_over_pause(session, now);
    }
    int32_t followed = session->connections->followed;
    const FlClock *reference =
        followed != FL__NONE ? fl__link_peer_clock(fl__connection(session, followed)->link) : NULL;
    session->connections->clock_at = local_of(session, now);
    fl__session_clock_update(&session->connections->clock, reference,
                             session->connections->clock_at);
}

FlTime fl__time_latest(const FlSession *session)
{
    return fl__session_clock_at(&session->connections->clock, session->connections->clock_at);
}

#define CLOCK_EVERY FL_SEC(1) // session time is bent, and believed no longer than two

FlTime fl__time_next(const FlSession *session)
{
    FlTime sent = fl_time_add(session->connections->clock_at, session->connections->epoch);
    return fl_time_add(sent, CLOCK_EVERY);
}

void fl__time_begin(FlSession *session, FlTime now)
{
    session->connections->epoch = now;
    session->connections->clock_at = 0;
}

void fl__time_lead(FlSession *session)
{
    Connections *c = session->connections;
    c->followed = FL__NONE;
    fl__session_clock_lead(&c->clock, c->clock_at, 0);
    c->clock_now = INT64_MIN;
}

void fl__time_follow(FlSession *session, int32_t index, FlTime now)
{
    Connections *c = session->connections;
    const FlLink *link = c->all[index].link;
    FlTime time = fl_session_time(session, now);
    FlTime local = fl__link_clock(link, now);
    c->followed = index;
    c->epoch = now - local;
    c->clock_at = local;
    fl__session_clock_init(&c->clock);
    fl__session_clock_lead(&c->clock, local, time);
    fl__session_clock_adopt(&c->clock, fl__link_peer_clock(link), local);
    c->clock_now = INT64_MIN;
}

void fl__time_corrected(FlSession *session, int32_t index, FlTime offset)
{
    fl__connection(session, index)->offset = offset;
    fl__session_clock_follow(&session->connections->clock, offset);
}

FlTime fl__time_offset(const FlSession *session, int32_t index)
{
    return fl__connection(session, index)->offset;
}

// ---------------------------------------------------------------- clock offsets

static const ClockOffset *newest(const ClockOffsets *m)
{
    return m->count > 0 ? &m->entry[(m->count - 1) % CLOCK_OFFSETS] : NULL;
}

// What holds at `time`, as far back as is remembered; NULL: nothing was sent for that long ago.
static const ClockOffset *clock_offset_at(const ClockOffsets *m, FlTime time)
{
    uint32_t oldest = m->count > CLOCK_OFFSETS ? m->count - CLOCK_OFFSETS : 0;
    for (uint32_t serial = m->count; serial > oldest; serial--) {
        const ClockOffset *entry = &m->entry[(serial - 1) % CLOCK_OFFSETS];
        if (entry->from <= time) {
            return entry;
        }
    }
    return NULL;
}

static void learn(ClockOffsets *m, const ClockOffset *entry)
{
    if (entry->serial >= m->count) {
        m->entry[entry->serial % CLOCK_OFFSETS] = *entry;
        m->count = entry->serial + 1;
    }
}

// The clock offset that a receiver goes by for an arrival at `arrived` by its session time
// `smooth`.
static FlTime mapped(ClockOffsets *m, FlTime arrived, FlTime smooth, FlTime at_most)
{
    const ClockOffset *now = newest(m);
    FlTime off = now != NULL ? smooth - (arrived + now->offset) : FL_FOREVER;
    bool strayed = now == NULL || off > at_most || off < -at_most;
    if (strayed && m->count - m->sent < CLOCK_OFFSETS) {
        ClockOffset fresh = {arrived, smooth - arrived, m->count};
        learn(m, &fresh);
        return smooth;
    }
    return arrived + now->offset;
}

// A client need not know what time it is to say when the host sent a packet by the host's time, and
// that is the session's. So what there was when it joined is not lost on it, nor what arrived while
// it had paused and its own time was behind.
PacketTimes fl__packet_times(FlSession *session, int32_t index, const FlLinkPacket *packet,
                             FlTime arrival)
{
    Connection *c = fl__connection(session, index);
    FlTime rounding = fl__link_clock(c->link, arrival) - packet->arrived;
    bool from_host = !c->direct && !fl__is_host(session);
    FlTime by_host = fl_time_add(packet->stamp, c->offset);
    PacketTimes moment = {by_host, by_host, by_host};
    if (from_host && !fl__time_known(session)) {
        return moment;
    }
    FlTime smooth = fl_session_time(session, arrival - rounding);
    FlTime arrived = mapped(&c->own_offsets, packet->arrived, smooth, STRAYED);
    moment.arrived = arrived + placed_later(session);
    if (!from_host) {
        moment.near = arrived;
        const ClockOffset *theirs = clock_offset_at(&c->their_offsets, packet->stamp);
        moment.sent = theirs != NULL ? packet->stamp + theirs->offset : INT64_MIN;
    }
    return moment;
}

void fl__clock_offset_keep(FlSession *session, int32_t index, const FlLinkPacket *packet,
                           FlTime arrival)
{
    Connection *c = fl__connection(session, index);
    if (fl__time_known(session)) {
        FlTime rounding = fl__link_clock(c->link, arrival) - packet->arrived;
        FlTime smooth = fl_session_time(session, arrival - rounding);
        (void)mapped(&c->own_offsets, packet->arrived, smooth, STRAYED_FAR);
    }
}

// An introduced peer is there, and waits for our first clock offset until the time is known here.
bool fl__clock_offset_awaited(FlSession *session, int32_t index, FlTime now)
{
    Connection *c = fl__connection(session, index);
    bool awaited = c->direct && c->received && c->own_offsets.count == 0;
    if (awaited && fl__time_known(session)) {
        FlTime clock = fl__link_clock(c->link, now);
        FlTime rounding = clock % FL_LINK_STEP_NS;
        FlTime smooth = fl_session_time(session, now - rounding);
        ClockOffset first = {clock - rounding, smooth - (clock - rounding), 0};
        learn(&c->own_offsets, &first);
        return false;
    }
    return awaited;
}

FlTime fl__stamp_of(const FlSession *session, int32_t index, FlTime sent)
{
    const Connection *c = fl__connection(session, index);
    FlTime clock = fl__link_clock(c->link, sent);
    FlTime rounding = clock % FL_LINK_STEP_NS;
    if (fl__is_host(session) && !c->direct) {
        return clock - rounding + c->offset;
    }
    return fl_session_time(session, sent - rounding);
}

FlTime fl__packet_newest_sent(const FlSession *session, int32_t index)
{
    const Connection *c = fl__connection(session, index);
    FlTime stamp = fl__link_peer_stamp(c->link);
    const ClockOffset *theirs =
        stamp != INT64_MIN ? clock_offset_at(&c->their_offsets, stamp) : NULL;
    return theirs != NULL ? fl_time_add(stamp, theirs->offset) : INT64_MIN;
}

FlTime fl__arrival_time(const FlSession *session, int32_t index, FlTime sent, FlTime arrived_remote)
{
    const Connection *c = fl__connection(session, index);
    const ClockOffset *entry = clock_offset_at(&c->their_offsets, arrived_remote);
    return entry != NULL ? arrived_remote + entry->offset + placed_later(session)
                         : fl__stamp_of(session, index, sent); // it did not know the time yet
}

// ---------------------------------------------------------------- informing the other end

#define MAPPING_HEAD 1
#define MAPPING_BYTES 17
#define OFFSET_END (INT64_C(1) << 62) // 146 years, and as many to go

bool fl__offset_is_sound(FlTime offset)
{
    return offset < OFFSET_END && offset > -OFFSET_END;
}

void fl__time_welcomed(FlSession *session, int32_t index, FlTime offset)
{
    ClockOffset host = {INT64_MIN, offset, 0};
    learn(&fl__connection(session, index)->their_offsets, &host);
    session->connections->followed = index;
    fl__time_corrected(session, index, offset);
}

void fl__clock_offset_welcomes(FlSession *session, int32_t index)
{
    Connection *c = fl__connection(session, index);
    ClockOffset own = {INT64_MIN, c->offset, 0};
    learn(&c->own_offsets, &own);
    c->own_offsets.sent = 1;
}

bool fl__clock_offset_received(const FlSession *session, int32_t index)
{
    return fl__connection(session, index)->their_offsets.count > 0;
}

bool fl__clock_offset_sent(const FlSession *session, int32_t index)
{
    return fl__connection(session, index)->own_offsets.sent > 0;
}

bool fl__clock_offset_first(const FlSession *session, int32_t index)
{
    const Connection *c = fl__connection(session, index);
    return c->direct && c->own_offsets.count > 0 && c->own_offsets.sent == 0;
}

static uint32_t unsent(const ClockOffsets *m)
{
    return m->count - m->sent;
}

int32_t fl__clock_offset_bytes(const FlSession *session, int32_t index)
{
    int32_t count = (int32_t)unsent(&fl__connection(session, index)->own_offsets);
    return count > 0 ? MAPPING_HEAD + MAPPING_BYTES * count : 0;
}

uint32_t fl__clock_offset_write(FlSession *session, int32_t index, FlWriter *w)
{
    const ClockOffsets *m = &fl__connection(session, index)->own_offsets;
    fl_writer_put(w, unsent(m), 8);
    for (uint32_t serial = m->sent; serial < m->count; serial++) {
        const ClockOffset *entry = &m->entry[serial % CLOCK_OFFSETS];
        fl_writer_put(w, serial, 32);
        fl_writer_put(w, (uint64_t)(entry->from / FL_LINK_STEP_NS), 40);
        fl_writer_put(w, (uint64_t)entry->offset, 64);
    }
    return m->count - 1;
}

bool fl__clock_offset_arrived(FlSession *session, int32_t index, uint32_t serial)
{
    ClockOffsets *m = &fl__connection(session, index)->own_offsets;
    bool first = m->sent == 0;
    bool newer = serial + 1 > m->sent;
    m->sent = newer ? serial + 1 : m->sent;
    return newer && first;
}

static bool read_clock_offset(FlReader *r, ClockOffset *entry)
{
    entry->serial = (uint32_t)fl_reader_take(r, 32);
    entry->from = (FlTime)fl_reader_take(r, 40) * FL_LINK_STEP_NS;
    entry->offset = (FlTime)fl_reader_take(r, 64);
    return !r->failed && fl__offset_is_sound(entry->offset) && entry->serial != UINT32_MAX;
}

bool fl__clock_offset_skip(FlReader *r)
{
    uint64_t count = fl_reader_take(r, 8);
    bool good = count > 0 && count <= CLOCK_OFFSETS;
    for (uint64_t i = 0; i < count && good; i++) {
        ClockOffset entry;
        good = read_clock_offset(r, &entry);
    }
    return good;
}

bool fl__clock_offset_take(FlSession *session, int32_t index, FlReader *r)
{
    ClockOffsets *m = &fl__connection(session, index)->their_offsets;
    bool first = m->count == 0;
    uint64_t count = fl_reader_take(r, 8);
    ClockOffset entry;
    for (uint64_t i = 0; i < count && read_clock_offset(r, &entry); i++) {
        learn(m, &entry);
    }
    return first;
}
