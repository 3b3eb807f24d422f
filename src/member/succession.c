// Who leads when the host is gone.
//
// A host must reach everybody, and only members themselves know whom they reach. So whoever loses
// the host waits: not at all, if it reaches everybody and has the lowest number; a step for every
// member with a lower number, which may lead in its stead; and for everybody out of its reach as
// long as for all the others. Whose time comes first says WELCOME to all it reaches, and they
// follow. So a successor that is gone as well, or behind a router, costs a step and no more.
//
//     lost the host ──▶ waits ──── its time has come ──▶ leads ──── a lower number leads, too ─┐
//                         │                                │                                   │
//                         └── a member says WELCOME ──▶ follows ◀──────────────────────────────┘
//
// Two may lead at once, if their words crossed. When they receive from each other, the higher
// number gives way, and says so to those who follow it: a WELCOME that names another host than its
// sender. Whom no member follows was away itself while the others chose, or is alone: it ends.
//
// Each host's term has the next number. A WELCOME of an older term says nothing, and who has
// answered a host cannot lead in its term.
//
// In a crowd only those lead to whom most are connected (mesh.c), in the order of their numbers;
// the others wait for them, for two time-outs.
//
// Session time goes on without a step; the new host's WELCOME tells the others how it runs.
#include "private.h"

#include "clock/clock.h"
#include "link/link.h"
#include "wire/wire.h"

#define LEAD_STEP FL_MS(500) // a WELCOME has come by then, even if the first ones got lost

#define ALONE                                                                                      \
    "The host is gone, and none of the others can be reached directly, or follows us. They may "   \
    "play on without us: join again."

static bool is_reached(const FlSession *session, int32_t member)
{
    int32_t index = fl__member(session, member)->connection;
    return index != FL__NONE && fl__connection_received(session, index) &&
           fl__clock_known(fl__link_peer_clock(fl__connection_link(session, index)));
}

// It knows before us that the host is gone; or since we took over its member has not answered us as
// the host: it may believe that it leads, too, and say what only hosts say.
static void note_may_lead(FlSession *session, int32_t index)
{
    const Handshake *h = fl__handshake(session, index);
    bool knows = fl__connection_direct(session, index) && h->early.members != 0;
    fl__connection_set_may_lead(session, index, knows || (h->promoted && !h->followed));
}

void fl__succession_followed(FlSession *session, int32_t connection)
{
    session->members->unfollowed = false;
    fl__handshake(session, connection)->followed = true;
    note_may_lead(session, connection);
}

// ---------------------------------------------------------------- leading and following

static void say_changed(FlSession *session)
{
    FlNotice notice = {.kind = FL_NOTICE_HOST_CHANGED, .peer = fl__peer_id(session, session->host)};
    fl__notice(session, &notice);
}

// A connection between introduced peers becomes one between host and client.
static void promote(FlSession *session, int32_t index, FlTime now)
{
    Handshake *h = fl__handshake(session, index);
    h->promoted = true;
    h->followed = !fl__is_host(session);
    h->welcome_due = false;
    fl__connection_set_direct(session, index, false, now);
    note_may_lead(session, index);
    for (int32_t i = 0; i < session->member_count; i++) {
        fl__route_changed(session, index, i);
    }
    fl__connection_changed(session, CHANGE_ANNOUNCE_ALL, index, now);
    fl__connection_changed(session, CHANGE_CONNECTION_READY, index, now);
}

// And back, when another member leads.
static void demote(FlSession *session, int32_t index, FlTime now)
{
    fl__handshake(session, index)->promoted = false;
    fl__connection_set_direct(session, index, true, now);
    note_may_lead(session, index);
    // It is not for us to announce any more.
    fl__connection_changed(session, CHANGE_ANNOUNCE_NOTHING, index, now);
    fl__connection_changed(session, CHANGE_CONNECTION_READY, index, now);
}

static void host_changed(FlSession *session, ChangeKind kind, FlTime now)
{
    Change changed = {.kind = kind, .now = now};
    fl__changed(session, &changed);
    say_changed(session);
}

static void lead(FlSession *session, FlTime now)
{
    session->members->lead_at = FL_FOREVER;
    session->members->took_over = true;
    session->host = session->self;
    session->term++;
    fl__time_lead(session);
    fl__reach_forget(session);
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (fl__connection_used(session, i)) {
            promote(session, i, now);
            fl__welcome_set_due(session, i, now);
            session->members->unfollowed = true;
        }
    }
    for (int32_t i = 0; i < session->member_count; i++) {
        Member *member = fl__member(session, i);
        member->leads = false; // it says so again, and whom it reaches
        member->want_next = fl_time_add(now, session->def.timeout_ns);
        if (member->present && i != session->self && member->connection == FL__NONE) {
            fl__member_leave(session, i, FL_LEFT_TIMED_OUT, now); // out of our reach
        }
    }
    fl__mesh_renew(session);
    host_changed(session, CHANGE_HOST_SELF, now);
}

// Session time goes on as it is, now by the clock of another link.
static void follow(FlSession *session, int32_t index, FlTime now)
{
    session->members->lead_at = FL_FOREVER;
    session->members->said_leads = false;
    session->host = fl__connection_member(session, index);
    fl__time_follow(session, index, now);
    promote(session, index, now);
    Welcome *early = &fl__handshake(session, index)->early;
    if (early->members != 0) {
        session->term = early->term;
        fl__welcome_again(session, index, early);
        early->members = 0;
    }
    fl__reach_announce(session);
    Change other = {.kind = CHANGE_HOST_OTHER, .now = now};
    fl__changed(session, &other);
    fl__messages_take(session, index, now); // what it said before we followed
    say_changed(session);
}

// ---------------------------------------------------------------- who leads

// The member with the lowest number of those who say that they lead; FL__NONE: none does.
static int32_t claimant(const FlSession *session)
{
    for (int32_t i = 0; i < session->member_count; i++) {
        const Member *member = fl__member(session, i);
        if (member->present && is_reached(session, i) &&
            fl__handshake(session, member->connection)->early.members != 0) {
            return i;
        }
    }
    return FL__NONE;
}

typedef struct Others {
    int32_t present, lower, reached;
    bool few; // a crowd's: we do not reach most of them
} Others;

static bool comes_before_us(const FlSession *session, int32_t member)
{
    bool crowd = session->topology == FL_TOPOLOGY_CROWD;
    int32_t connection = fl__member(session, member)->connection;
    bool leads = connection != FL__NONE && fl__handshake(session, connection)->successor;
    return member < session->self && (!crowd || leads);
}

static Others others_of(const FlSession *session)
{
    Others others = {0};
    for (int32_t i = 0; i < session->member_count; i++) {
        if (fl__member(session, i)->present && i != session->self) {
            others.present++;
            others.lower += comes_before_us(session, i) ? 1 : 0;
            others.reached += is_reached(session, i) ? 1 : 0;
        }
    }
    others.few = session->topology == FL_TOPOLOGY_CROWD &&
                 (2 * others.reached < others.present || !fl__may_lead(&session->def));
    return others;
}

// Whom we do not reach would be lost with us: who reaches more of them comes before us.
static FlTime wait_of(const FlSession *session, const Others *others, FlTime now)
{
    if (others->few) {
        return 2 * session->def.timeout_ns; // some may need a whole one to notice
    }
    bool crowd = session->topology == FL_TOPOLOGY_CROWD;
    int32_t out_of_reach = crowd ? 0 : (others->present - others->reached) * others->present;
    int32_t steps = others->lower + out_of_reach;
    // Nothing came for a while: perhaps we were away ourselves, and another member leads already.
    bool away = others->present > 0 && fl_span(now, fl__datagram_came_at(session)) > LEAD_STEP;
    return LEAD_STEP * (steps + (away ? 1 : 0));
}

bool fl__succession_begin(FlSession *session, FlLeft left, FlTime now)
{
    bool crowd = session->topology == FL_TOPOLOGY_CROWD;
    bool led = session->topology == FL_TOPOLOGY_STAR || (crowd && others_of(session).reached == 0);
    if (led || session->state != FL_SESSION_RUNNING || !session->complete) {
        return false;
    }
    left = left == FL_LEFT_GOODBYE ? left : FL_LEFT_TIMED_OUT;
    fl__member_leave(session, session->host, left, now);
    Change lost = {.kind = CHANGE_HOST_LOST, .now = now};
    fl__changed(session, &lost);
    Others others = others_of(session);
    bool decided = claimant(session) != FL__NONE || (others.present > 0 && others.reached == 0);
    session->members->lead_at = decided ? now : fl_time_add(now, wait_of(session, &others, now));
    return true;
}

static void end_alone(FlSession *session, FlTime now)
{
    session->members->lead_at = FL_FOREVER;
    fl__member_leave_all(session, FL_LEFT_TIMED_OUT, now);
    fl__session_end(session, FL_END_HOST_LEFT, ALONE);
}

// Another one leads as well, and has the lower number: who follows us follows that one.
static void give_way(FlSession *session, int32_t to, FlTime now)
{
    session->host = to;
    session->members->took_over = false;
    session->members->unfollowed = false;
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (fl__connection_used(session, i) && fl__connection_member(session, i) != to) {
            demote(session, i, now);
            fl__welcome_set_due(session, i, now);
        }
    }
    follow(session, fl__member(session, to)->connection, now);
}

// Our host gives way to another one.
static void go_along(FlSession *session, FlTime now)
{
    int32_t from = fl__member(session, session->host)->connection;
    int32_t to = fl__handshake(session, from)->early.host;
    fl__handshake(session, from)->early.members = 0;
    if (to >= session->member_count || !is_reached(session, to)) {
        end_alone(session, now);
        return;
    }
    session->host = to;
    demote(session, from, now);
    follow(session, fl__member(session, to)->connection, now);
}

static void succeed(FlSession *session, FlTime now)
{
    int32_t next = claimant(session);
    Others others = others_of(session);
    if (next != FL__NONE) {
        follow(session, fl__member(session, next)->connection, now);
    } else if (others.present > 0 &&
               (others.reached == 0 || (others.few && now >= session->members->lead_at))) {
        end_alone(session, now);
    } else if (now >= session->members->lead_at) {
        lead(session, now);
    }
}

// Our host gives way to another one, as it says.
static bool is_sent_on(const FlSession *session)
{
    int32_t connection = fl__member(session, session->host)->connection;
    return !fl__is_host(session) && connection != FL__NONE &&
           fl__handshake(session, connection)->early.members != 0;
}

static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    if (session->state != FL_SESSION_RUNNING) {
        return;
    }
    if (session->members->lead_at != FL_FOREVER) {
        succeed(session, now);
    } else if (session->members->took_over) {
        int32_t next = claimant(session);
        if (next != FL__NONE && next < session->self) {
            give_way(session, next, now);
        }
    } else if (is_sent_on(session)) {
        go_along(session, now);
    }
}

void fl__succession_welcome(FlSession *session, int32_t index, const Welcome *w, FlTime stamp)
{
    Handshake *h = fl__handshake(session, index);
    if (stamp < h->welcome_stamp) {
        return; // overtaken: it may have given way since
    }
    h->welcome_stamp = stamp;
    if (fl__seq_newer(session->term, w->term)) {
        fl__count(session, FL_SESSION_EARLY); // of a term that is over
        return;
    }
    int32_t from = fl__connection_member(session, index);
    bool host = !fl__connection_direct(session, index) && from == session->host;
    bool claims = w->host == from;
    if (host && claims) {
        fl__welcome_again(session, index, w);
        return;
    }
    if (fl__is_host(session) && h->followed) {
        fl__connection_foreign(session, index); // it has answered us as the host of this term
        return;
    }
    if (fl__is_host(session) && w->host >= session->self) {
        return; // it gives way when it receives from us
    }
    // It knows before us that the host is gone, or says so; or our host gives way to another one.
    h->early = *w;
    h->early.members = host || (claims && w->self == session->self) ? w->members : 0;
    note_may_lead(session, index);
}

void fl__succession_parted(FlSession *session, FlLeft left, FlTime now)
{
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (fl__connection_used(session, i)) {
            return;
        }
    }
    if (session->members->unfollowed && left != FL_LEFT_GOODBYE) {
        end_alone(session, now);
    }
}

// It speaks as the host: understood when we know that it is.
static bool room(const void *self, int32_t connection)
{
    return fl__handshake((const FlSession *)self, connection)->early.members == 0;
}

static FlTime deadline(void *self, FlTime now)
{
    (void)now;
    return ((const FlSession *)self)->members->lead_at;
}

const Feature fl__feature_succession = {
    .name = "succession",
    .advance = advance,
    .deadline = deadline,
    .room = room,
};
