// Introduced peers: meeting and reaching each other. (succession.c: when the host is gone.)
//
// The host gives two members each other's address, and gives them a secret for recognising each
// other (MEET); both send until they receive from each other. A member that receives directly, and
// has sent its clock offset (CLOCK_OFFSET), gets that one's things directly and reports to
// the host (REACH), which then need not pass them on any more. So nothing is ever missed: until the
// word has come, what goes both ways arrives twice and is shown once.
//
// A crowd's members have light connections. Only those who may take over from its host are
// connected to all others, and nothing goes over these connections until they do.
#include "private.h"

#include "connection/sealed.h"
#include "link/link.h"

#include <string.h>

static uint64_t *introductions_due_of(const FlSession *session, int32_t number)
{
    return &session->members->introductions_due[number * session->member_words];
}

// ---------------------------------------------------------------- the host introduces

void fl__mesh_introduce(FlSession *session, int32_t number)
{
    if (session->topology == FL_TOPOLOGY_STAR || session->topology == FL_TOPOLOGY_CROWD) {
        return; // a crowd's members say whom they want to meet
    }
    for (int32_t i = 0; i < session->member_count; i++) {
        if (fl__member(session, i)->present && i != number && i != session->self) {
            fl__bit_set(introductions_due_of(session, number), i);
            session->members->has_introductions_due = true;
        }
    }
}

#define WANTS_AT_LEAST 256.0 // at once; more than there are neighbours
#define WANTS_PER_S 16.0

// What a member costs us, and those it wants to meet, is bounded; who is refused asks again.
static bool may_want(FlSession *session, int32_t member, FlTime now)
{
    FlBudget *wants = &fl__handshake(session, fl__member(session, member)->connection)->wants;
    if (wants->rate_bytes_s == 0.0) {
        double everybody = session->member_count; // where no member relays
        fl__budget_init(wants, WANTS_PER_S, everybody > WANTS_AT_LEAST ? everybody : WANTS_AT_LEAST,
                        now);
    }
    if (fl__budget_available(wants, now) < 1.0) {
        return false;
    }
    fl__budget_spend(wants, now, 1.0);
    return true;
}

// Two members want to be introduced, by the word of one. Who names itself may take over from us.
static void want(FlSession *session, int32_t one, int32_t other, FlTime now)
{
    if (one == other && session->topology == FL_TOPOLOGY_CROWD) {
        fl__member(session, one)->leads = true;
        session->members->successors_next = now;
        fl__connection_changed(session, CHANGE_CONNECTION_READY,
                               fl__member(session, one)->connection, now);
    }
    bool fine = session->topology != FL_TOPOLOGY_STAR && session->members->direct != NULL &&
                one != other && other != session->self && fl__member(session, one)->present &&
                fl__member(session, other)->present;
    if (fine && fl__member(session, one)->connection != FL__NONE && may_want(session, one, now)) {
        fl__bit_set(introductions_due_of(session, one), other);
        fl__bit_clear(&session->members->renewals_due[one * session->member_words], other);
        session->members->has_introductions_due = true;
    }
}

bool fl__member_leads(const FlSession *session, int32_t member)
{
    return fl__member(session, member)->leads;
}

// One of the first that may take over from us.
static bool is_successor(const FlSession *session, int32_t member)
{
    int32_t before = 0;
    for (int32_t i = 0; i < member; i++) {
        before += fl__member(session, i)->present && fl__member(session, i)->leads ? 1 : 0;
    }
    return fl__member(session, member)->leads && before < FL__SUCCESSORS;
}

// Where a member is. Where we are ourselves only the others know, and replace it.
static FlAddress address_of(const FlSession *session, int32_t member, int32_t other)
{
    bool us = member == session->self;
    return fl__connection_address(session, fl__member(session, us ? other : member)->connection);
}

static MeetMessage meet_of(const FlSession *session, int32_t member, int32_t other, bool flagged)
{
    const Member *m = fl__member(session, member);
    MeetMessage meet = {.member = (uint16_t)member, .incarnation = m->incarnation};
    meet.address = address_of(session, member, other);
    if (flagged && session->topology == FL_TOPOLOGY_CROWD) {
        meet.purpose = is_successor(session, member) ? MEET_SUCCESSOR : MEET_FOLLOWER;
    } else if (flagged) {
        meet.purpose = MEET_NEW_KEYS;
    }
    return meet;
}

#define MEET_AGAIN FL_MS(50)

static void meet_taken(FlSession *session, const MeetMessage *meet, FlTime now);

static bool tell_meet(FlSession *session, int32_t member, const MeetMessage *meet, FlTime now)
{
    if (member == session->self) {
        meet_taken(session, meet, now);
        return true;
    }
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__meet_message_write(&w, meet);
    int32_t connection = fl__member(session, member)->connection;
    bool sent = fl__message_send(session, connection, FL_DELIVERY_ORDERED, &w) == FL_OK;
    fl_wipe(bytes, sizeof bytes);
    fl__connection_wake(session, connection);
    fl__handshake(session, connection)->meet_again =
        sent ? INT64_MIN : fl_time_add(now, MEET_AGAIN);
    return sent;
}

static FlTime meet_again_of(const FlSession *session, int32_t member)
{
    if (member == session->self) {
        return INT64_MIN;
    }
    return fl__handshake(session, fl__member(session, member)->connection)->meet_again;
}

static Introduced introduced(const FlSession *session, int32_t member, int32_t other)
{
    Introduced one = {member, address_of(session, member, other)};
    return one;
}

static void put_keys(MeetMessage *meet, const SealedKeys *keys)
{
    meet->key_bytes = keys->count;
    memcpy(meet->keys, keys->bytes, (size_t)keys->count);
}

// False: a queue is full; both are introduced again later, with other keys. Others need not wait.
static bool introduce(FlSession *session, int32_t one, int32_t other, bool flagged, FlTime now)
{
    if ((one != session->self && fl__member(session, one)->connection == FL__NONE) ||
        fl__member(session, other)->connection == FL__NONE) {
        return true;
    }
    FlTime one_again = meet_again_of(session, one);
    FlTime other_again = meet_again_of(session, other);
    if (now < one_again || now < other_again) {
        return false;
    }
    MeetMessage to_one = meet_of(session, other, one, flagged);
    MeetMessage to_other = meet_of(session, one, other, flagged);
    if (fl__is_sealed(session)) {
        SealedKeys keys[2];
        fl__sealed_introduce(session, introduced(session, one, other),
                             introduced(session, other, one), now, &keys[0], &keys[1]);
        put_keys(&to_one, &keys[0]);
        put_keys(&to_other, &keys[1]);
        fl_wipe(keys, sizeof keys);
    } else {
        to_one.conversation = fl__fresh_conversation(session);
        to_other.conversation = to_one.conversation;
    }
    // Whose queue was full last time comes first, so that the other does not get one in vain.
    bool turned = other_again > one_again;
    bool sent = tell_meet(session, turned ? other : one, turned ? &to_other : &to_one, now) &&
                tell_meet(session, turned ? one : other, turned ? &to_one : &to_other, now);
    fl_wipe(&to_one, sizeof to_one);
    fl_wipe(&to_other, sizeof to_other);
    return sent;
}

static bool has_followed(const FlSession *session, int32_t member)
{
    int32_t connection = fl__member(session, member)->connection;
    return connection == FL__NONE || fl__handshake(session, connection)->followed;
}

static void introduce_all(FlSession *session, FlTime now)
{
    Members *m = session->members;
    m->has_introductions_due = false;
    for (int32_t one = 0; one < session->member_count; one++) {
        uint64_t *bits = introductions_due_of(session, one);
        uint64_t *renewals = &m->renewals_due[one * session->member_words];
        int32_t other = fl__bit_next(bits, session->member_words, 0);
        for (; other != FL__NONE; other = fl__bit_next(bits, session->member_words, other + 1)) {
            bool there = fl__member(session, one)->present && fl__member(session, other)->present;
            bool flagged = fl__bit_get(renewals, other);
            bool early = flagged && session->topology != FL_TOPOLOGY_CROWD &&
                         !(has_followed(session, one) && has_followed(session, other));
            if (there && (early || !introduce(session, one, other, flagged, now))) {
                m->has_introductions_due = true; // goes on when they are ready
            } else {
                fl__bit_clear(bits, other);
                fl__bit_clear(renewals, other);
            }
        }
    }
}

static void introduce_flagged(FlSession *session, int32_t one, int32_t other)
{
    fl__bit_set(introductions_due_of(session, one), other);
    fl__bit_set(&session->members->renewals_due[one * session->member_words], other);
    session->members->has_introductions_due = true;
}

// A crowd's light connections are too many; the host that introduced them has no keys of them.
void fl__mesh_renew(FlSession *session)
{
    bool renews = fl__is_sealed(session) && session->topology != FL_TOPOLOGY_CROWD;
    for (int32_t one = 0; renews && one < session->member_count; one++) {
        for (int32_t other = one + 1; other < session->member_count; other++) {
            bool there = fl__member(session, one)->connection != FL__NONE &&
                         fl__member(session, other)->connection != FL__NONE;
            if (there) {
                introduce_flagged(session, one, other);
            }
        }
    }
}

void fl__introduce_to_us(FlSession *session, int32_t member)
{
    fl__bit_set(introductions_due_of(session, session->self), member);
    session->members->has_introductions_due = true;
}

#define SUCCESSORS_EVERY FL_MS(250)
#define SUCCESSORS_AGAIN FL_SEC(5) // whoever does not reach one is introduced again

// A member that does not reach a successor is introduced to it. True: there was one.
static bool introduce_successor(FlSession *session, int32_t successor, int32_t member)
{
    const uint64_t *reached = &session->members->direct[successor * session->member_words];
    const Member *m = fl__member(session, member);
    bool both = is_successor(session, member) && member < successor; // done the other way round
    if (!m->present || m->connection == FL__NONE || member == successor || both ||
        fl__bit_get(reached, member)) {
        return false;
    }
    introduce_flagged(session, successor, member);
    return true;
}

static void introduce_successors(FlSession *session, FlTime now)
{
    Members *m = session->members;
    m->successors_next = FL_FOREVER;
    for (int32_t i = 0; i < session->member_count; i++) {
        Member *member = fl__member(session, i);
        bool missed = false;
        for (int32_t s = 0; s < session->member_count; s++) {
            if (fl__member(session, s)->leads && is_successor(session, s)) {
                m->successors_next = fl_time_add(now, SUCCESSORS_EVERY);
                missed = (now >= member->want_next && introduce_successor(session, s, i)) || missed;
            }
        }
        member->want_next = missed ? fl_time_add(now, SUCCESSORS_AGAIN) : member->want_next;
    }
}

static bool reach_received(FlSession *session, int32_t from, const ReachMessage *reach)
{
    if (session->topology == FL_TOPOLOGY_STAR || session->members->direct == NULL) {
        return false; // that topology has no introductions, so no sender writes that; nor to us
    }
    const Member *member = fl__member(session, reach->member);
    if (!member->present || member->incarnation != reach->incarnation) {
        return true; // another member by now
    }
    uint64_t *direct = &session->members->direct[reach->member * session->member_words];
    if (fl__bit_get(direct, from) == reach->direct) {
        return true; // known
    }
    if (reach->direct) {
        fl__bit_set(direct, from);
    } else {
        fl__bit_clear(direct, from);
        if (fl__member(session, from)->connection != FL__NONE) {
            fl__route_changed(session, fl__member(session, from)->connection, reach->member);
        }
    }
    if (session->topology == FL_TOPOLOGY_HYBRID) { // in a mesh we pass nothing on
        fl__bit_set(&session->members->reach_due[reach->member * session->member_words], from);
        session->members->has_reach_due = true;
    }
    return true;
}

#define REACH_EVERY FL_MS(50) // however often a member changes its report

// What we pass on follows from who reaches whom, all changes at once.
static void reach_sent(FlSession *session, FlTime now)
{
    Change reach = {.kind = CHANGE_REACH, .now = now};
    fl__changed(session, &reach);
    memset(session->members->reach_due, 0,
           (size_t)session->member_count * (size_t)session->member_words * sizeof(uint64_t));
    session->members->has_reach_due = false;
    session->members->reach_next = fl_time_add(now, REACH_EVERY);
}

const uint64_t *fl__reach_changed(const FlSession *session, int32_t owner)
{
    return &session->members->reach_due[owner * session->member_words];
}

bool fl__member_without_us(const FlSession *session, int32_t owner, int32_t member)
{
    return session->topology != FL_TOPOLOGY_CROWD && session->members->direct != NULL &&
           fl__bit_get(&session->members->direct[owner * session->member_words], member);
}

void fl__reach_forget(FlSession *session)
{
    memset(session->members->direct, 0,
           (size_t)session->member_count * (size_t)session->member_words * sizeof(uint64_t));
}

static void update_as_host(FlSession *session, FlTime now)
{
    if (now >= session->members->successors_next) {
        introduce_successors(session, now);
    }
    if (session->members->has_introductions_due) {
        introduce_all(session, now);
    }
    if (session->members->has_reach_due && now >= session->members->reach_next) {
        reach_sent(session, now);
    }
}

static FlTime deadline(void *self, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    (void)now;
    FlTime due = fl__is_host(session) ? session->members->successors_next : FL_FOREVER;
    return session->members->has_reach_due ? fl_time_min(due, session->members->reach_next) : due;
}

// ---------------------------------------------------------------- the introduced meet

// A crowd's host that took over plays, too.
static bool is_light(const FlSession *session, const MeetMessage *meet)
{
    return session->topology == FL_TOPOLOGY_CROWD && meet->purpose < MEET_SUCCESSOR;
}

static bool is_wanted(const FlSession *session, const MeetMessage *meet)
{
    const Member *member = fl__member(session, meet->member);
    return session->topology != FL_TOPOLOGY_STAR && member->present &&
           member->incarnation == meet->incarnation && meet->member != session->self &&
           (meet->member != session->host || is_light(session, meet)) &&
           (meet->conversation == 0) == fl__is_sealed(session);
}

static void connect_introduced(FlSession *session, const MeetMessage *meet, const SealedKeys *keys,
                               FlTime now)
{
    int32_t index = fl__connection_free(session);
    if (index == FL__NONE) {
        return; // none is free: through the host
    }
    ConnectionDef def = {.member = meet->member,
                         .address = meet->address,
                         .direct = true,
                         .conversation = meet->conversation};
    if (fl__is_sealed(session)) {
        def.pair = fl__sealed_pair_create(session, keys, NULL, now);
    }
    bool good = def.pair != NULL || !fl__is_sealed(session);
    if (good && fl__connect(session, index, &def, now)) { // else: through the host
        fl__handshake(session, index)->successor = meet->purpose == MEET_SUCCESSOR;
    }
}

static void meet_taken(FlSession *session, const MeetMessage *meet, FlTime now)
{
    if (!is_wanted(session, meet)) {
        return;
    }
    if (is_light(session, meet)) {
        Change introduced = {.kind = CHANGE_INTRODUCED, .meet = meet, .now = now};
        fl__changed(session, &introduced);
        return;
    }
    int32_t before = fl__member(session, meet->member)->connection;
    SealedKeys keys = {.count = meet->key_bytes};
    memcpy(keys.bytes, meet->keys, (size_t)meet->key_bytes);
    bool renewed = before != FL__NONE && meet->purpose == MEET_NEW_KEYS &&
                   fl__sealed_pair_renew(session, before, &keys, now);
    if (!renewed) {
        if (before != FL__NONE) {
            fl__disconnect(session, before); // introduced anew
        }
        connect_introduced(session, meet, &keys, now);
    }
    fl_wipe(&keys, sizeof keys);
}

static bool send_reach(FlSession *session, int32_t member, bool direct)
{
    ReachMessage reach = {(uint16_t)member, fl__member(session, member)->incarnation, direct};
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__reach_message_write(&w, &reach);
    return fl__host_send(session, &w) == FL_OK;
}

void fl__mesh_understood(FlSession *session, int32_t index)
{
    // Untold, the host goes on passing things on: no harm.
    (void)send_reach(session, fl__connection_member(session, index), true);
}

#define WANT_FIRST FL_SEC(5)   // the host introduces newcomers itself
#define WANT_SOON FL_SEC(1)    // after a connection was lost; the larger number waits longer
#define WANT_AGAIN FL_SEC(4)   // then twice as long each time,
#define WANT_RARELY FL_SEC(30) // but no longer
#define MISSED_EVERY FL_MS(250)
#define MISSED_AFTER FL_SEC(3) // who has not been met by then is missed

void fl__mesh_parted(FlSession *session, int32_t number, FlTime now)
{
    Member *member = fl__member(session, number);
    if (!member->present) {
        return;
    }
    (void)send_reach(session, number, false);
    FlTime soon = fl_time_add(now, session->self < number ? WANT_SOON : 3 * WANT_SOON);
    member->want_next = fl__time_max(soon, member->want_next);
}

static bool is_host_silent(const FlSession *session, FlTime now)
{
    int32_t connection = fl__member(session, session->host)->connection;
    return connection == FL__NONE ||
           fl__link_silence(fl__connection_link(session, connection), now).silent;
}

// Sees whether an introduced peer answers, and reports it to the host.
static void look(void *self, int32_t index, FlTime now)
{
    FlSession *session = (FlSession *)self;
    FlLink *link = fl__connection_link(session, index);
    if (!fl__connection_direct(session, index) || !fl__link_alive(link)) {
        return;
    }
    FlLinkSilence silence = fl__link_silence(link, now);
    bool report =
        fl__clock_offset_sent(session, index); // else the host passes everything on as it is
    if (silence.silent != fl__connection_silent(session, index) &&
        (!report || send_reach(session, fl__connection_member(session, index), !silence.silent))) {
        fl__connection_set_silent(session, index, silence.silent);
        session->members->missed_next = now;
        if (!silence.silent) {
            fl__route_changed(session, index, session->self);
        }
    }
    // Who is gone the host says after one time-out, unless it is gone as well: then everybody has
    // to be there still who may be the next. Without it no host could introduce us again, either.
    if (silence.unanswered_ns > 2 * session->def.tuning.link.timeout_ns &&
        !is_host_silent(session, now)) {
        fl__connection_failed(session, index, FL_LEFT_TIMED_OUT, now);
    }
}

static void tell_want(FlSession *session, int32_t number, FlTime now)
{
    Member *member = fl__member(session, number);
    FlTime wait = WANT_AGAIN << (member->want_count < 3 ? member->want_count : 3);
    member->want_next = fl_time_add(now, fl_time_min(wait, WANT_RARELY));
    member->want_count++;
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__want_message_write(&w, (uint16_t)number);
    (void)fl__host_send(session, &w); // untold, we ask again
}

static void notice_reached(FlSession *session, int32_t number, bool reached)
{
    fl__member(session, number)->unreached = !reached;
    session->count[FL_SESSION_PARTED] += reached ? 0 : 1;
    FlNotice notice = {.kind = reached ? FL_NOTICE_PEER_DIRECT : FL_NOTICE_PEER_INDIRECT,
                       .peer = fl__peer_id(session, number)};
    fl__notice(session, &notice);
}

static void look_for(FlSession *session, int32_t number, FlTime now)
{
    Member *member = fl__member(session, number);
    int32_t connection = member->connection;
    if (connection != FL__NONE && fl__connection_reaches(session, connection)) {
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
    bool silent = connection != FL__NONE && fl__connection_silent(session, connection) &&
                  fl__connection_received(session, connection);
    bool missed = silent || fl_span(now, member->missed_since) > MISSED_AFTER;
    if (missed && !member->unreached) {
        notice_reached(session, number, false);
    }
    if (connection == FL__NONE && now >= member->want_next &&
        fl__connection_free(session) != FL__NONE) {
        tell_want(session, number, now);
    }
}

// Whom we should reach directly and do not: the game gets a notice, and the host is asked to
// introduce us again. Once a second is often enough, and as often everything is looked at anyway.
static void look_for_all(FlSession *session, FlTime now)
{
    if (now < session->members->missed_next) {
        return;
    }
    session->members->missed_next = fl_time_add(now, MISSED_EVERY);
    for (int32_t i = 0; i < session->member_count; i++) {
        if (fl__member(session, i)->present && i != session->self && i != session->host) {
            look_for(session, i, now);
        }
    }
}

// Until the host has it.
static void say_leads(FlSession *session)
{
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__want_message_write(&w, (uint16_t)session->self);
    session->members->said_leads = fl__host_send(session, &w) == FL_OK;
}

static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    if (session->topology == FL_TOPOLOGY_CROWD && session->complete && !fl__is_host(session) &&
        !session->members->said_leads && fl__may_lead(&session->def)) {
        say_leads(session);
    }
    if (fl__is_host(session)) {
        update_as_host(session, now);
    } else if (session->complete &&
               (session->topology == FL_TOPOLOGY_MESH || session->topology == FL_TOPOLOGY_HYBRID)) {
        look_for_all(session, now);
    }
}

void fl__reach_announce(FlSession *session)
{
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (fl__connection_used(session, i) && fl__connection_direct(session, i) &&
            fl__clock_offset_sent(session, i)) {
            (void)send_reach(session, fl__connection_member(session, i),
                             !fl__connection_silent(session, i));
        }
    }
}

// ---------------------------------------------------------------- the feature

static bool message(void *self, MessageIn *in)
{
    FlSession *session = (FlSession *)self;
    MeetMessage meet;
    ReachMessage reach;
    uint16_t member;
    switch (in->kind) {
    case MESSAGE_MEET:
        if (!fl__meet_message_read(in->r, &meet) || meet.member >= session->member_count) {
            return false;
        }
        meet_taken(session, &meet, in->now);
        fl_wipe(&meet, sizeof meet);
        return true;
    case MESSAGE_REACH:
        if (!fl__reach_message_read(in->r, &reach) || reach.member >= session->member_count) {
            return false;
        }
        return reach_received(session, in->from, &reach);
    default:
        if (!fl__want_message_read(in->r, &member) || member >= session->member_count) {
            return false;
        }
        want(session, in->from, member, in->now);
        return true;
    }
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    if (change->kind == CHANGE_MEMBER_LEFT && session->members->direct != NULL) {
        memset(&session->members->direct[change->member * session->member_words], 0,
               (size_t)session->member_words * sizeof(uint64_t));
        for (int32_t i = 0; i < session->member_count; i++) {
            fl__bit_clear(&session->members->direct[i * session->member_words], change->member);
        }
    }
}

const Feature fl__feature_mesh = {
    .name = "mesh",
    .messages = {MESSAGE_MEET, 3},
    .advance = advance,
    .deadline = deadline,
    .message = message,
    .look = look,
    .changed = changed,
};
