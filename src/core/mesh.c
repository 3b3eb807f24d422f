// Introduced peers: meeting and reaching each other. (succession.c: when the host is gone.)
//
// The host tells two members where the other is, and gives them a secret for recognising each other
// (MEET); both send until they hear each other. Who hears another directly, and has told it that it
// knows what time it is (MAPPING), gets that one's things directly and tells the host (REACH),
// which then need not pass them on any more. So nothing is ever missed: until the word has come,
// what goes both ways arrives twice and is shown once.
#include "private.h"

#include <string.h>

static uint64_t *unmet_of(const FlSession *session, int32_t number)
{
    return &session->unmet[number * session->member_words];
}

// ---------------------------------------------------------------- the host introduces

void fl__mesh_introduce(FlSession *session, int32_t number)
{
    if (session->topology == FL_TOPOLOGY_STAR || session->topology == FL_TOPOLOGY_CROWD) {
        return; // a crowd's members say whom they want to meet
    }
    for (int32_t i = 0; i < session->member_count; i++) {
        if (session->members[i].present && i != number && i != session->self) {
            fl__bit_set(unmet_of(session, number), i);
            session->has_unmet = true;
        }
    }
}

#define WANTS_AT_LEAST 256.0 // at once; more than there are neighbours
#define WANTS_PER_S 16.0

// What a member costs us, and those it wants to meet, is bounded; who is refused asks again.
static bool may_want(FlSession *session, int32_t member, FlTime now)
{
    FlBudget *wants = &session->lines[session->members[member].line].wants;
    if (wants->rate_bytes_s == 0.0) {
        double everybody = session->member_count; // where nobody carries anything
        fl_budget_init(wants, WANTS_PER_S, everybody > WANTS_AT_LEAST ? everybody : WANTS_AT_LEAST,
                       now);
    }
    if (fl_budget_available(wants, now) < 1.0) {
        return false;
    }
    fl_budget_spend(wants, now, 1.0);
    return true;
}

// Two members want to be introduced, by the word of one.
static void want(FlSession *session, int32_t one, int32_t other, FlTime now)
{
    bool fine = session->topology != FL_TOPOLOGY_STAR && one != other && other != session->self &&
                session->members[one].present && session->members[other].present;
    if (fine && session->members[one].line != FL__NONE && may_want(session, one, now)) {
        fl__bit_set(unmet_of(session, one), other);
        session->has_unmet = true;
    }
}

static FlMeetMessage meet_of(const FlSession *session, int32_t member)
{
    const Member *m = &session->members[member];
    FlMeetMessage meet = {.member = (uint16_t)member, .incarnation = m->incarnation};
    meet.address = session->lines[m->line].address;
    return meet;
}

#define MEET_AGAIN FL_MS(50)

static bool tell_meet(FlSession *session, int32_t member, const FlMeetMessage *meet, FlTime now)
{
    uint8_t bytes[FL_GROUP_MESSAGE_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_meet_message_write(&w, meet);
    FL_ASSERT(!w.failed);
    int32_t index = session->members[member].line;
    Line *line = &session->lines[index];
    bool told = fl__news_flush(session, index) &&
                fl_link_send(line->link, FL_DELIVERY_ORDERED, bytes, fl_writer_size(&w)) == FL_OK;
    fl__line_wake(session, index);
    line->meet_again = told ? INT64_MIN : fl_time_add(now, MEET_AGAIN);
    return told;
}

static FlTime meet_again_of(const FlSession *session, int32_t member)
{
    return session->lines[session->members[member].line].meet_again;
}

// False: a queue is full; both are told again later, with other keys. Others need not wait.
static bool introduce(FlSession *session, int32_t one, int32_t other, FlTime now)
{
    if (session->members[one].line == FL__NONE || session->members[other].line == FL__NONE) {
        return true;
    }
    FlTime one_again = meet_again_of(session, one);
    FlTime other_again = meet_again_of(session, other);
    if (now < one_again || now < other_again) {
        return false;
    }
    FlMeetMessage to_one = meet_of(session, other);
    FlMeetMessage to_other = meet_of(session, one);
    if (session->sealed != NULL) {
        fl__sealed_introduce(session, one, other, now, &to_one, &to_other);
    } else {
        to_one.conversation = fl__fresh_conversation(session);
        to_other.conversation = to_one.conversation;
    }
    // Who had no room last time comes first, so that the other is not told in vain.
    if (other_again > one_again) {
        return tell_meet(session, other, &to_other, now) && tell_meet(session, one, &to_one, now);
    }
    return tell_meet(session, one, &to_one, now) && tell_meet(session, other, &to_other, now);
}

static void introduce_all(FlSession *session, FlTime now)
{
    session->has_unmet = false;
    for (int32_t one = 0; one < session->member_count; one++) {
        uint64_t *bits = unmet_of(session, one);
        int32_t other = fl__bit_next(bits, session->member_words, 0);
        for (; other != FL__NONE; other = fl__bit_next(bits, session->member_words, other + 1)) {
            bool there = session->members[one].present && session->members[other].present;
            if (there && !introduce(session, one, other, now)) {
                session->has_unmet = true; // goes on when there is room
            } else {
                fl__bit_clear(bits, other);
            }
        }
    }
}

static bool reach_heard(FlSession *session, int32_t from, const FlReachMessage *reach)
{
    if (session->topology == FL_TOPOLOGY_STAR || session->topology == FL_TOPOLOGY_CROWD) {
        return false; // nobody is introduced there, and nobody says so
    }
    const Member *member = &session->members[reach->member];
    if (!member->present || member->incarnation != reach->incarnation) {
        return true; // somebody else by now
    }
    uint64_t *direct = &session->direct[reach->member * session->member_words];
    if (fl__bit_get(direct, from) == reach->direct) {
        return true; // known
    }
    if (reach->direct) {
        fl__bit_set(direct, from);
    } else {
        fl__bit_clear(direct, from);
        if (session->members[from].line != FL__NONE) {
            fl__way_changed(session, session->members[from].line, reach->member);
        }
    }
    if (session->topology == FL_TOPOLOGY_HYBRID) { // in a mesh we pass nothing on
        fl__bit_set(&session->reach_due[reach->member * session->member_words], from);
        session->has_reach_due = true;
    }
    return true;
}

#define REACH_EVERY FL_MS(50) // however often somebody changes its word

// What we pass on follows from who reaches whom, all changes at once: each entity is looked at
// once, and then for those only to whom its owner is nearer or further than before.
static void watch_reached(FlSession *session, FlTime now)
{
    FlTime time = fl_session_time(session, now);
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        Entity *entity = &session->entities[i];
        if (!fl__entity_live(entity) || entity->owner == FL__NONE) {
            continue;
        }
        const uint64_t *due = &session->reach_due[entity->owner * session->member_words];
        int32_t to = fl__bit_next(due, session->member_words, 0);
        for (; to != FL__NONE; to = fl__bit_next(due, session->member_words, to + 1)) {
            if (session->members[to].line != FL__NONE) {
                fl__entity_watch_line(session, entity, session->members[to].line, time);
                fl__line_wake(session, session->members[to].line);
            }
        }
    }
    memset(session->reach_due, 0,
           (size_t)session->member_count * (size_t)session->member_words * sizeof(uint64_t));
    session->has_reach_due = false;
    session->reach_next = fl_time_add(now, REACH_EVERY);
}

static void update_as_host(FlSession *session, FlTime now)
{
    if (session->has_unmet) {
        introduce_all(session, now);
    }
    if (session->has_reach_due && now >= session->reach_next) {
        watch_reached(session, now);
    }
}

static FlTime deadline(void *self, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    (void)now;
    return session->has_reach_due ? session->reach_next : FL_FOREVER;
}

// ---------------------------------------------------------------- the introduced meet

static void meet_heard(FlSession *session, const FlMeetMessage *meet, FlTime now)
{
    if (session->topology == FL_TOPOLOGY_CROWD) {
        fl__lanes_meet(session, meet, now);
        return;
    }
    const Member *member = &session->members[meet->member];
    bool wanted = session->topology != FL_TOPOLOGY_STAR && member->present &&
                  member->incarnation == meet->incarnation && meet->member != session->self &&
                  meet->member != session->host &&
                  (meet->conversation == 0) == (session->sealed != NULL);
    if (!wanted) {
        return;
    }
    if (member->line != FL__NONE) {
        fl__line_close(session, member->line); // introduced anew
    }
    int32_t index = fl__line_free(session);
    if (index == FL__NONE) {
        return; // no room: through the host
    }
    Line *line = &session->lines[index];
    line->direct = true;
    line->conversation = meet->conversation;
    if (session->sealed != NULL && !fl__sealed_meet(session, line, meet, now)) {
        memset(line, 0, sizeof *line);
        return;
    }
    FlSealPair *pair = line->pair;
    if (!fl__line_open(session, index, meet->member, meet->address, now)) {
        Line failed = {.pair = pair};
        fl__sealed_part(session, &failed);
    }
}

static bool tell_reach(FlSession *session, int32_t member, bool direct)
{
    FlReachMessage reach = {(uint16_t)member, session->members[member].incarnation, direct};
    uint8_t bytes[FL_GROUP_MESSAGE_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_reach_message_write(&w, &reach);
    return fl__tell_host(session, &w) == FL_OK;
}

void fl__mesh_reached(FlSession *session, int32_t index, FlTime now)
{
    Line *line = &session->lines[index];
    line->heard = true;
    fl__line_watch(session, index, fl_session_time(session, now));
}

void fl__mesh_understood(FlSession *session, int32_t index)
{
    // Untold, the host goes on passing things on: no harm.
    (void)tell_reach(session, session->lines[index].member, true);
}

#define WANT_FIRST FL_SEC(5)   // the host introduces newcomers itself
#define WANT_SOON FL_SEC(1)    // after a connection was lost; the larger number waits longer
#define WANT_AGAIN FL_SEC(4)   // then twice as long each time,
#define WANT_RARELY FL_SEC(30) // but no longer
#define MISSED_EVERY FL_MS(250)
#define MISSED_AFTER FL_SEC(3) // who has not been met by then is missed

void fl__mesh_parted(FlSession *session, int32_t number, FlTime now)
{
    Member *member = &session->members[number];
    if (!member->present) {
        return;
    }
    (void)tell_reach(session, number, false);
    FlTime soon = fl_time_add(now, session->self < number ? WANT_SOON : 3 * WANT_SOON);
    member->want_next = soon > member->want_next ? soon : member->want_next;
}

static bool is_host_silent(const FlSession *session, FlTime now)
{
    int32_t line = session->members[session->host].line;
    return line == FL__NONE || fl_link_silence(session->lines[line].link, now).silent;
}

bool fl__mesh_listen(FlSession *session, int32_t index, FlTime now)
{
    Line *line = &session->lines[index];
    FlLinkSilence silence = fl_link_silence(line->link, now);
    bool told = line->own_map.told > 0; // else the host passes everything on as it is
    if (silence.silent != line->silent &&
        (!told || tell_reach(session, line->member, !silence.silent))) {
        line->silent = silence.silent;
        session->missed_next = now;
        if (!line->silent) {
            fl__way_changed(session, index, session->self);
        }
    }
    // Who is gone the host says after one time-out, unless it is gone as well: then everybody has
    // to be there still who may be the next. Without it nobody could introduce us again, either.
    return silence.unanswered_ns <= 2 * session->def.link.timeout_ns ||
           is_host_silent(session, now);
}

static void tell_want(FlSession *session, int32_t number, FlTime now)
{
    Member *member = &session->members[number];
    FlTime wait = WANT_AGAIN << (member->want_count < 3 ? member->want_count : 3);
    member->want_next = fl_time_add(now, wait < WANT_RARELY ? wait : WANT_RARELY);
    member->want_count++;
    uint8_t bytes[FL_GROUP_MESSAGE_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_want_message_write(&w, (uint16_t)number);
    (void)fl__tell_host(session, &w); // untold, we ask again
}

static void notice_reached(FlSession *session, int32_t number, bool reached)
{
    session->members[number].unreached = !reached;
    session->count[FL_SESSION_PARTED] += reached ? 0 : 1;
    FlNotice notice = {.kind = reached ? FL_NOTICE_PEER_DIRECT : FL_NOTICE_PEER_INDIRECT,
                       .peer = fl__peer_id(session, number)};
    fl__notice(session, &notice);
}

static void look_for(FlSession *session, int32_t number, FlTime now)
{
    Member *member = &session->members[number];
    const Line *line = member->line != FL__NONE ? &session->lines[member->line] : NULL;
    if (line != NULL && fl__line_reaches(line)) {
        if (member->unreached) {
            notice_reached(session, number, true);
        }
        member->met = true;
        member->missed_since = FL_FOREVER;
        member->want_count = 0;
        return;
    }
    if (member->missed_since == FL_FOREVER) {
        member->missed_since = now;
        member->want_next = fl_time_add(now, WANT_FIRST);
    }
    bool missed = (line != NULL && line->silent && line->heard) ||
                  fl_span(now, member->missed_since) > MISSED_AFTER;
    if (missed && !member->unreached) {
        notice_reached(session, number, false);
    }
    if (line == NULL && now >= member->want_next && fl__line_free(session) != FL__NONE) {
        tell_want(session, number, now);
    }
}

// Whom we should reach directly and do not: the game is told, and the host asked to introduce us
// again. Once a second is often enough, and as often everything is looked at anyway.
static void look_for_all(FlSession *session, FlTime now)
{
    if (now < session->missed_next) {
        return;
    }
    session->missed_next = fl_time_add(now, MISSED_EVERY);
    for (int32_t i = 0; i < session->member_count; i++) {
        if (session->members[i].present && i != session->self && i != session->host) {
            look_for(session, i, now);
        }
    }
}

static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    if (fl__is_host(session)) {
        update_as_host(session, now);
    } else if (session->complete &&
               (session->topology == FL_TOPOLOGY_MESH || session->topology == FL_TOPOLOGY_HYBRID)) {
        look_for_all(session, now);
    }
}

void fl__mesh_tell_reached(FlSession *session)
{
    for (int32_t i = 0; i < session->line_count; i++) {
        const Line *line = &session->lines[i];
        if (line->used && line->direct && line->own_map.told > 0) {
            (void)tell_reach(session, line->member, !line->silent);
        }
    }
}

// ---------------------------------------------------------------- the feature

static bool message(void *self, MessageIn *in)
{
    FlSession *session = (FlSession *)self;
    FlMeetMessage meet;
    FlReachMessage reach;
    uint16_t member;
    switch (in->kind) {
    case FL_GROUP_MEET:
        if (!fl_meet_message_read(in->r, &meet) || !in->from_host ||
            meet.member >= session->member_count) {
            return false;
        }
        meet_heard(session, &meet, in->now);
        return true;
    case FL_GROUP_REACH:
        if (!fl_reach_message_read(in->r, &reach) || !fl__is_host(session) ||
            reach.member >= session->member_count) {
            return false;
        }
        return reach_heard(session, in->from, &reach);
    default:
        if (!fl_want_message_read(in->r, &member) || !fl__is_host(session) ||
            member >= session->member_count) {
            return false;
        }
        want(session, in->from, member, in->now);
        return true;
    }
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    if (change->kind == CHANGE_MEMBER_LEFT) {
        memset(&session->direct[change->member * session->member_words], 0,
               (size_t)session->member_words * sizeof(uint64_t));
        for (int32_t i = 0; i < session->member_count; i++) {
            fl__bit_clear(&session->direct[i * session->member_words], change->member);
        }
    }
}

const Feature fl__feature_mesh = {
    .name = "mesh",
    .messages = {FL_GROUP_MEET, 3},
    .hosts = true,
    .advance = advance,
    .deadline = deadline,
    .message = message,
    .changed = changed,
};
