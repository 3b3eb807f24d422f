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
//                         └── somebody says WELCOME ──▶ follows ◀──────────────────────────────┘
//
// Two may lead at once, if their words crossed. When they hear each other, the higher number gives
// way, and says so to those who follow it: a WELCOME that names another host than its sender. Whom
// nobody follows was away itself while the others chose, or is alone: it ends.
//
// Session time goes on without a step; the new host's WELCOME tells the others how it runs.
#include "private.h"

#include <string.h>

#define LEAD_STEP FL_MS(500) // a WELCOME has come by then, even if the first ones got lost

#define ALONE                                                                                      \
    "The host is gone, and none of the others can be reached directly, or follows us. They may "   \
    "play on without us: join again."

static bool is_reached(const FlSession *session, int32_t member)
{
    int32_t index = session->members[member].line;
    return index != FL__NONE && session->lines[index].heard &&
           fl_clock_known(fl_link_peer_clock(session->lines[index].link));
}

// ---------------------------------------------------------------- leading and following

static void tell_of_host(Line *line, FlTime now)
{
    line->welcome_owed = true;
    line->welcome_next = now;
}

static void say_changed(FlSession *session)
{
    FlNotice notice = {.kind = FL_NOTICE_HOST_CHANGED, .peer = fl__peer_id(session, session->host)};
    fl__notice(session, &notice);
}

// A line between introduced peers becomes one between host and client.
static void promote(FlSession *session, int32_t index, FlTime now)
{
    Line *line = &session->lines[index];
    line->direct = false;
    line->promoted = true;
    line->followed = !fl__is_host(session);
    line->welcome_owed = false;
    line->offset = fl_session_time(session, now) - fl_link_clock(line->link, now);
    // From now on nobody else says who is gone.
    FlTime keep_alive = fl__is_host(session) ? FL_FOREVER : session->def.link.keep_alive_ns;
    fl_link_patience(line->link, now, keep_alive, session->def.link.timeout_ns);
    fl__line_wake(session, index);
    for (int32_t i = 0; i < session->member_count; i++) {
        fl__way_changed(session, index, i);
    }
    fl__news_all(session, index);
    fl__line_watch(session, index, fl_session_time(session, now));
}

// And back, when somebody else leads.
static void demote(FlSession *session, int32_t index, FlTime now)
{
    Line *line = &session->lines[index];
    line->direct = true;
    line->promoted = false;
    fl__news_none(session, index); // it is not for us to announce any more
    fl__line_patience(session, index, now);
    fl__line_wake(session, index);
    fl__line_watch(session, index, fl_session_time(session, now));
}

static void lead(FlSession *session, FlTime now)
{
    session->lead_at = FL_FOREVER;
    session->took_over = true;
    session->host = session->self;
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        session->entities[i].confirmed = session->entities[i].ours;
    }
    fl_session_clock_lead(&session->clock, session->told_at, 0);
    session->time_told = INT64_MIN;
    memset(session->direct, 0,
           (size_t)session->member_count * (size_t)session->member_words * sizeof(uint64_t));
    for (int32_t i = 0; i < session->line_count; i++) {
        if (session->lines[i].used) {
            promote(session, i, now);
            tell_of_host(&session->lines[i], now);
            session->unfollowed = true;
        }
    }
    for (int32_t i = 0; i < session->member_count; i++) {
        if (session->members[i].present && i != session->self &&
            session->members[i].line == FL__NONE) {
            fl__member_leave(session, i, FL_LEFT_TIMED_OUT, now); // out of our reach
        }
    }
    fl__orphans_ask(session, true, now);
    say_changed(session);
}

// Session time goes on as it is, now by the clock of another link.
static void follow(FlSession *session, int32_t index, FlTime now)
{
    Line *line = &session->lines[index];
    FlTime time = fl_session_time(session, now);
    FlTime local = fl_link_clock(line->link, now);
    session->lead_at = FL_FOREVER;
    session->host = line->member;
    session->epoch = now - local;
    session->told_at = local;
    session->claim_turn = FL__NONE; // of the old host's asking
    fl_session_clock_init(&session->clock);
    fl_session_clock_lead(&session->clock, local, time);
    fl_session_clock_adopt(&session->clock, fl_link_peer_clock(line->link), local);
    session->time_told = INT64_MIN;
    promote(session, index, now);
    if (line->early_welcome.members != 0) {
        fl__welcome_again(session, index, &line->early_welcome);
        line->early_welcome.members = 0;
    }
    fl__mesh_tell_reached(session);
    fl__messages_take(session, index, now); // what it said before we followed
    say_changed(session);
}

// ---------------------------------------------------------------- who leads

// The member with the lowest number of those who say that they lead; FL__NONE: nobody does.
static int32_t claimant(const FlSession *session)
{
    for (int32_t i = 0; i < session->member_count; i++) {
        const Member *member = &session->members[i];
        if (member->present && is_reached(session, i) &&
            session->lines[member->line].early_welcome.members != 0) {
            return i;
        }
    }
    return FL__NONE;
}

typedef struct Others {
    int32_t present, lower, reached;
} Others;

static Others others_of(const FlSession *session)
{
    Others others = {0};
    for (int32_t i = 0; i < session->member_count; i++) {
        if (session->members[i].present && i != session->self) {
            others.present++;
            others.lower += i < session->self ? 1 : 0;
            others.reached += is_reached(session, i) ? 1 : 0;
        }
    }
    return others;
}

// Whom we do not reach would be lost with us: who reaches more of them comes before us.
static FlTime wait_of(const FlSession *session, const Others *others, FlTime now)
{
    int32_t steps = others->lower + (others->present - others->reached) * others->present;
    // Nothing came for a while: perhaps we were away ourselves, and somebody leads already.
    bool away = others->present > 0 && fl_span(now, session->heard_at) > LEAD_STEP;
    return LEAD_STEP * (steps + (away ? 1 : 0));
}

bool fl__succession_begin(FlSession *session, FlTime now)
{
    bool led = session->topology == FL_TOPOLOGY_STAR || session->topology == FL_TOPOLOGY_CROWD;
    if (led || session->state != FL_SESSION_RUNNING || !session->complete) {
        return false;
    }
    fl__member_leave(session, session->host, FL_LEFT_TIMED_OUT, now);
    fl__member_remove_orphans(session); // the word that they are gone may have got lost with it
    Others others = others_of(session);
    bool decided = claimant(session) != FL__NONE || (others.present > 0 && others.reached == 0);
    session->lead_at = decided ? now : fl_time_add(now, wait_of(session, &others, now));
    return true;
}

static void end_alone(FlSession *session, FlTime now)
{
    session->lead_at = FL_FOREVER;
    fl__session_alone(session, FL_LEFT_TIMED_OUT, now);
    fl__session_end(session, ALONE);
}

// Another one leads as well, and has the lower number: who follows us follows that one.
static void give_way(FlSession *session, int32_t to, FlTime now)
{
    session->host = to;
    session->took_over = false;
    session->unfollowed = false;
    session->claiming = false;
    session->claim_all = false;
    for (int32_t i = 0; i < session->line_count; i++) {
        if (session->lines[i].used && session->lines[i].member != to) {
            demote(session, i, now);
            tell_of_host(&session->lines[i], now);
        }
    }
    follow(session, session->members[to].line, now);
}

// Our host gives way to another one.
static void go_along(FlSession *session, FlTime now)
{
    int32_t from = session->members[session->host].line;
    int32_t to = session->lines[from].early_welcome.host;
    session->lines[from].early_welcome.members = 0;
    if (to >= session->member_count || !is_reached(session, to)) {
        end_alone(session, now);
        return;
    }
    session->host = to;
    demote(session, from, now);
    follow(session, session->members[to].line, now);
}

static void succeed(FlSession *session, FlTime now)
{
    int32_t next = claimant(session);
    Others others = others_of(session);
    if (next != FL__NONE) {
        follow(session, session->members[next].line, now);
    } else if (others.present > 0 && others.reached == 0) {
        end_alone(session, now);
    } else if (now >= session->lead_at) {
        lead(session, now);
    }
}

static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    if (session->state != FL_SESSION_RUNNING) {
        return;
    }
    if (session->lead_at != FL_FOREVER) {
        succeed(session, now);
    } else if (session->took_over) {
        int32_t next = claimant(session);
        if (next != FL__NONE && next < session->self) {
            give_way(session, next, now);
        }
    } else if (!fl__is_host(session) && session->members[session->host].line != FL__NONE &&
               session->lines[session->members[session->host].line].early_welcome.members != 0) {
        go_along(session, now);
    }
}

void fl__succession_heard(FlSession *session, int32_t index, const Welcome *w, FlTime stamp)
{
    Line *line = &session->lines[index];
    if (stamp < line->welcome_stamp) {
        return; // overtaken: it may have given way since
    }
    line->welcome_stamp = stamp;
    bool host = !line->direct && line->member == session->host;
    bool claims = w->host == line->member;
    if (host && claims) {
        fl__welcome_again(session, index, w);
        return;
    }
    if (fl__is_host(session) && w->host >= session->self) {
        return; // it gives way when it hears us
    }
    // It knows before us that the host is gone, or says so; or our host gives way to another one.
    line->early_welcome = *w;
    line->early_welcome.members = host || (claims && w->self == session->self) ? w->members : 0;
}

void fl__succession_parted(FlSession *session, FlLeft left, FlTime now)
{
    for (int32_t i = 0; i < session->line_count; i++) {
        if (session->lines[i].used) {
            return;
        }
    }
    if (session->unfollowed && left != FL_LEFT_GOODBYE) {
        end_alone(session, now);
    }
}

static FlTime deadline(void *self, FlTime now)
{
    (void)now;
    return ((const FlSession *)self)->lead_at;
}

const Feature fl__feature_succession = {
    .name = "succession",
    .advance = advance,
    .deadline = deadline,
};
