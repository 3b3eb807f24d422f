// Session time; and when, in it, something arrived at the other end.
//
// A receiver's session time is bent smoothly towards the host's, so nobody else can say exactly
// what it was when a packet arrived. What receivers place by is therefore a *mapping*: link clock
// plus a constant, changed in steps when it has strayed from session time by more than a stamp's
// step, and told to the other end. Every packet carries the changes that are not known to be known,
// so who reads a report of an arrival has every mapping that can apply to it.
#include "private.h"

#define STRAYED FL_LINK_STEP_NS
#define STRAYED_FAR FL_MS(2) // where nothing is placed, it only says how old what we send is

bool fl__time_known(const FlSession *session)
{
    return fl_session_clock_state(&session->clock) != FL_SESSION_CLOCK_UNSET;
}

static FlTime local_of(const FlSession *session, FlTime now)
{
    return fl_span(now, session->epoch);
}

FlTime fl_session_time(const FlSession *session, FlTime now)
{
    FlTime local = local_of(session, now);
    if (fl__is_host(session)) { // its clock is the session's, also over a pause
        FlTime then = fl_session_clock_at(&session->clock, session->told_at);
        return fl_time_add(then, fl_span(local, session->told_at));
    }
    return fl_session_clock_at(&session->clock, local);
}

FlTime fl_session_when(const FlSession *session, FlTime time)
{
    FlTime local = fl_session_clock_local_at(&session->clock, time);
    return local == FL_FOREVER ? FL_FOREVER : fl_time_add(local, session->epoch);
}

FlTime fl_session_time_error(const FlSession *session)
{
    return fl__time_known(session) ? fl_session_clock_error(&session->clock) : FL_FOREVER;
}

// A pause in which the host did nothing is no break in its clock: the others' time went on, by the
// offset that they were told when they joined.
static void lead_over_pause(FlSession *session, FlTime now)
{
    FlTime local = local_of(session, now);
    if (fl_span(local, session->told_at) > FL_SESSION_CLOCK_GAP_NS) {
        FlTime time = fl_session_time(session, now);
        fl_session_clock_init(&session->clock);
        fl_session_clock_lead(&session->clock, local, time);
    }
}

void fl__time_update(FlSession *session, FlTime now)
{
    // Asked for with every packet: at the same moment nothing is new unless something came.
    if (session->time_told == now && session->time_heard == session->heard_count &&
        session->told_at == local_of(session, now)) {
        return;
    }
    session->time_told = now;
    session->time_heard = session->heard_count;
    if (fl__is_host(session)) {
        lead_over_pause(session, now);
    }
    const FlClock *reference = NULL;
    if (session->self != FL__NONE && !fl__is_host(session)) {
        int32_t line = session->members[session->host].line;
        if (line != FL__NONE) {
            reference = fl_link_peer_clock(session->lines[line].link);
        }
    }
    session->told_at = local_of(session, now);
    fl_session_clock_update(&session->clock, reference, session->told_at);
}

// ---------------------------------------------------------------- mappings

static const Mapping *newest(const Mappings *m)
{
    return m->count > 0 ? &m->entry[(m->count - 1) % MAPPINGS] : NULL;
}

// What holds at `time`, as far back as is remembered; NULL: nothing was told for that long ago.
static const Mapping *mapping_at(const Mappings *m, FlTime time)
{
    uint32_t oldest = m->count > MAPPINGS ? m->count - MAPPINGS : 0;
    for (uint32_t serial = m->count; serial > oldest; serial--) {
        const Mapping *mapping = &m->entry[(serial - 1) % MAPPINGS];
        if (mapping->from <= time) {
            return mapping;
        }
    }
    return NULL;
}

void fl__mapping_heard(Mappings *m, const Mapping *mapping)
{
    if (mapping->serial >= m->count) {
        m->entry[mapping->serial % MAPPINGS] = *mapping;
        m->count = mapping->serial + 1;
    }
}

// The mapping that a receiver goes by for an arrival at `arrived` by its session time `smooth`.
static FlTime mapped(Mappings *m, FlTime arrived, FlTime smooth, FlTime at_most)
{
    const Mapping *now = newest(m);
    FlTime off = now != NULL ? smooth - (arrived + now->offset) : FL_FOREVER;
    bool strayed = now == NULL || off > at_most || off < -at_most;
    if (strayed && m->count - m->told < MAPPINGS) {
        Mapping fresh = {arrived, smooth - arrived, m->count};
        fl__mapping_heard(m, &fresh);
        return smooth;
    }
    return arrived + now->offset;
}

// A client need not know what time it is to say when the host sent a packet by the host's time, and
// that is the session's. So what there was when it joined is not lost on it, nor what arrived while
// it had paused and its own time was behind.
Moment fl__moment(FlSession *session, Line *line, const FlLinkPacket *packet, FlTime arrival)
{
    FlTime rounding = fl_link_clock(line->link, arrival) - packet->arrived;
    bool from_host = !line->direct && !fl__is_host(session);
    FlTime by_host = fl_time_add(packet->stamp, line->offset);
    Moment moment = {by_host, by_host, by_host};
    if (from_host && !fl__time_known(session)) {
        return moment;
    }
    FlTime smooth = fl_session_time(session, arrival - rounding);
    moment.arrived = mapped(&line->own_map, packet->arrived, smooth, STRAYED);
    if (!from_host) {
        moment.near = moment.arrived;
        const Mapping *theirs = mapping_at(&line->heard_map, packet->stamp);
        moment.sent = theirs != NULL ? packet->stamp + theirs->offset : INT64_MIN;
    }
    return moment;
}

void fl__mapping_keep(FlSession *session, Line *line, const FlLinkPacket *packet, FlTime arrival)
{
    if (fl__time_known(session)) {
        FlTime rounding = fl_link_clock(line->link, arrival) - packet->arrived;
        FlTime smooth = fl_session_time(session, arrival - rounding);
        (void)mapped(&line->own_map, packet->arrived, smooth, STRAYED_FAR);
    }
}

void fl__mapping_begin(const FlSession *session, Line *line, FlTime now)
{
    if (fl__time_known(session)) {
        FlTime clock = fl_link_clock(line->link, now);
        FlTime rounding = clock % FL_LINK_STEP_NS;
        FlTime smooth = fl_session_time(session, now - rounding);
        Mapping first = {clock - rounding, smooth - (clock - rounding), 0};
        fl__mapping_heard(&line->own_map, &first);
    }
}

FlTime fl__stamp_of(const FlSession *session, const Line *line, FlTime sent)
{
    FlTime clock = fl_link_clock(line->link, sent);
    FlTime rounding = clock % FL_LINK_STEP_NS;
    if (fl__is_host(session) && !line->direct) {
        return clock - rounding + line->offset;
    }
    return fl_session_time(session, sent - rounding);
}

FlTime fl__moment_remote(const FlSession *session, const Line *line, FlTime sent,
                         FlTime arrived_remote)
{
    const Mapping *mapping = mapping_at(&line->heard_map, arrived_remote);
    return mapping != NULL ? arrived_remote + mapping->offset
                           : fl__stamp_of(session, line, sent); // it did not know the time yet
}
