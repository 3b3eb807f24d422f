// Players come and go at ticks that are the same everywhere.
//
// A player leaves. Each member has its inputs up to another tick, and may have settled as much. So
// every member sends the host what it has (TICK_RANGE). When all players have, the host knows the
// longest range; it declares that final (TICK_RANGE, final) and sends the inputs that a member may
// lack: no member has settled more. Until then settled states wait, as they do for any input, but
// no longer than a time-out: a member that has not reported by then is removed.
//
// The host itself may be the one that left, or leave in the middle. Then every member reports to
// its successor, with the final range if it has received one, and the successor sends that again.
//
// A player comes. The host sends the newcomer a copy of its settled state (SNAPSHOT), and which
// members play from there on (ENTER), each with its inputs since; of those that have left since,
// these are final (TICK_RANGE). That takes as many frames as it needs, and no member waits for it.
// Then the host names a tick in the future to everybody (ENTER). The host's own inputs are needed
// to settle that tick, so no member has settled it before, unless a message takes seconds.
//
// Whatever is longer than a link's queue is continued where the queue was full.
#include "private.h"

#include "agree/timeline.h"

#include <string.h>

enum {
    PART_BYTES = 960,        // of inputs or state, in a message
    REPORT_AGAIN_TICKS = 30, // the host may still wait for another member to time out
    FAR_BEHIND = 4, // the present may be ahead of what is settled by so much of the history
};

static uint64_t bit_of(int32_t member)
{
    return UINT64_C(1) << member;
}

static bool send_ordered(FlSession *session, int32_t to, uint8_t kind, const FlWriter *w)
{
    FL_ASSERT(!w->failed);
    return fl__routed_send_ordered(session, to, kind, w->bytes, fl_writer_size(w)) == FL_OK;
}

// ---------------------------------------------------------------- inputs

// They go from the session's rings into the timeline in order, as far as it takes them.
void fl__agreed_feed(FlSession *session, int32_t member)
{
    Agreed *agreed = &session->play->agreed;
    const Inputs *in = &session->play->inputs.of[member];
    int64_t known = fl__timeline_known(agreed->timeline, member);
    uint64_t bit = UINT64_C(1) << member;
    if (known == INT64_MIN || in->newest < 0) {
        return;
    }
    if (((agreed->gone | agreed->resolved) & bit) == 0) {
        agreed->of[member] = in->of;
    } else if (agreed->of[member] != in->of) {
        return; // of the member that has the number now
    }
    int64_t tick = agreed->fed[member] > known + 1 ? agreed->fed[member] : known + 1;
    for (; tick >= in->oldest && tick <= in->newest; tick++) {
        FlResult result = fl_timeline_input(agreed->timeline, member, tick,
                                            fl__input_bytes(session, member, tick));
        if (result == FL_FULL || result == FL_NOT_FOUND) {
            break; // no room yet, or the member does not play yet
        }
    }
    agreed->fed[member] = tick;
}

// ---------------------------------------------------------------- the inputs of a leaver

// Sends inputs from tick *next on; INT64_MIN: as many as a member may lack of a leaver. False: a
// queue is full, and *next is where to continue.
static bool send_tick_range(FlSession *session, int32_t to, int32_t member, bool final,
                            int64_t *next)
{
    const Agreed *agreed = &session->play->agreed;
    int32_t input_bytes = session->def.input_bytes;
    int32_t most = PART_BYTES / input_bytes;
    int64_t newest = fl__timeline_known(agreed->timeline, member);
    int64_t least = *next == INT64_MIN ? newest + 1 - session->def.input_ticks : *next;
    int64_t first = newest + 1;
    while (first > least && fl__timeline_input_at(agreed->timeline, member, first - 1) != NULL) {
        first--;
    }
    do {
        *next = first;
        uint8_t inputs[PART_BYTES];
        uint8_t bytes[FL_EVENT_BYTES];
        FlTickRangeMessage m = {.player = member,
                                .of = agreed->of[member],
                                .final = final,
                                .newest = newest,
                                .first = first,
                                .bytes = inputs};
        for (; m.count < most && first <= newest; first++) {
            const uint8_t *input = fl__timeline_input_at(agreed->timeline, member, first);
            for (int32_t i = 0; i < input_bytes; i++) {
                inputs[m.count * input_bytes + i] = input[i];
            }
            m.count++;
        }
        m.more = first <= newest;
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        fl__tick_range_message_write(&w, input_bytes, &m);
        if (!send_ordered(session, to, MESSAGE_TICK_RANGE, &w)) {
            return false;
        }
    } while (first <= newest);
    *next = INT64_MIN;
    return true;
}

static void resolve(FlSession *session, int32_t member, int64_t newest)
{
    Agreed *agreed = &session->play->agreed;
    int64_t tick = newest + 1;
    FlResult result = fl_timeline_leave(agreed->timeline, member, tick);
    if (result == FL_OUT_OF_ORDER) {
        // Settled otherwise here, which hashes will show. The player has left all the same, and
        // the game goes on.
        int64_t settled;
        (void)fl_timeline_settled(agreed->timeline, &settled);
        int64_t first = fl__timeline_first(agreed->timeline, member);
        tick = tick > settled ? tick : settled;
        tick = tick > first ? tick : first;
        result = fl_timeline_leave(agreed->timeline, member, tick);
        fl__count(session, FL_SESSION_UNTIMELY);
    }
    if (result != FL_OK) {
        return; // the former player of this number is still to be settled
    }
    agreed->gone &= ~bit_of(member);
    agreed->inherited &= ~bit_of(member);
    agreed->resolved |= bit_of(member);
    agreed->reports_due &= ~bit_of(member);
    agreed->reports_due |= fl__is_host(session) ? bit_of(member) : 0;
    agreed->next[member] = INT64_MIN;
}

static void player_left(FlSession *session, int32_t member)
{
    Agreed *agreed = &session->play->agreed;
    agreed->joiner.member = agreed->joiner.member == member ? FL__NONE : agreed->joiner.member;
    bool plays = agreed->timeline != NULL && agreed->begun && member != session->self &&
                 member < FL_TIMELINE_PLAYERS &&
                 fl__timeline_plays(agreed->timeline, member, INT64_MAX - 1);
    if (!plays) {
        return;
    }
    fl__agreed_feed(session, member);
    agreed->gone |= bit_of(member);
    agreed->reported[member] = 0;
    agreed->since[member] = FL_FOREVER;
    agreed->reports_due |= bit_of(member);
    agreed->next[member] = INT64_MIN;
}

// ---------------------------------------------------------------- the host's part

// The next member from a number on that plays, is still there and has not reported what it has of a
// leaver; FL__NONE: all have. Newcomers report as well: they may have settled more than we have.
static int32_t next_silent(const FlSession *session, int32_t member, int32_t from)
{
    const Agreed *agreed = &session->play->agreed;
    for (int32_t i = from; i < session->seat_count; i++) {
        bool asked = i != session->self && i != member && fl__member_present(session, i) &&
                     (agreed->gone & bit_of(i)) == 0 &&
                     fl__timeline_plays(agreed->timeline, i, INT64_MAX - 1);
        if (asked && (agreed->reported[member] & bit_of(i)) == 0) {
            return i;
        }
    }
    return FL__NONE;
}

// A member cannot play on without reporting: it may have settled more than all others have, and a
// decision without it could contradict its settled state.
static void remove_silent(FlSession *session, int32_t member, FlTime now)
{
    for (int32_t i = next_silent(session, member, 0); i != FL__NONE;
         i = next_silent(session, member, i + 1)) {
        int32_t connection = fl__member_connection(session, i);
        if (connection != FL__NONE) {
            fl__count(session, FL_SESSION_STALLED);
            fl__connection_lost(session, connection, FL_LEFT_UNANSWERED, now);
        }
    }
}

// Nothing is settled without a player's input. Who hands in none for a time-out while the game goes
// on, or is far behind for as long, is waited for no more.
static bool is_withheld(const FlSession *session, Held *held, int32_t member, FlTime now)
{
    const Agreed *agreed = &session->play->agreed;
    int64_t known = fl__timeline_known(agreed->timeline, member);
    int64_t settled;
    (void)fl_timeline_settled(agreed->timeline, &settled);
    bool waits = settled == known + 1 && settled < agreed->present;
    if (!waits || known != held->known || held->since == 0) {
        held->known = known;
        held->since = now;
        held->present = agreed->present;
    }
    bool far = waits && agreed->present - known >
                            fl__timeline_def(agreed->timeline)->history_ticks / FAR_BEHIND;
    held->behind = !far ? FL_FOREVER : held->behind == FL_FOREVER ? now : held->behind;
    FlTime timeout = session->def.tuning.link.timeout_ns;
    bool none = fl_span(now, held->since) > timeout &&
                agreed->present - held->present >= REPORT_AGAIN_TICKS;
    return none || (far && fl_span(now, held->behind) > timeout);
}

static void remove_withholding(FlSession *session, FlTime now)
{
    Agreed *agreed = &session->play->agreed;
    for (int32_t i = 0; i < session->seat_count; i++) {
        int32_t connection = fl__member_connection(session, i);
        bool plays = i != session->self && connection != FL__NONE &&
                     fl__member_present(session, i) && (agreed->gone & bit_of(i)) == 0 &&
                     fl__timeline_plays(agreed->timeline, i, INT64_MAX - 1);
        if (!plays) {
            Held none = {.behind = FL_FOREVER};
            agreed->held[i] = none;
        } else if (is_withheld(session, &agreed->held[i], i, now)) {
            fl__count(session, FL_SESSION_STALLED);
            fl__connection_lost(session, connection, FL_LEFT_UNANSWERED, now);
        }
    }
}

static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    Agreed *agreed = &session->play->agreed;
    if (agreed->timeline == NULL || !agreed->begun || !fl__is_host(session)) {
        return;
    }
    remove_withholding(session, now);
    for (int32_t m = 0; m < session->seat_count; m++) {
        if ((agreed->gone & bit_of(m)) == 0) {
            continue;
        }
        agreed->since[m] = agreed->since[m] == FL_FOREVER ? now : agreed->since[m];
        if (fl_span(now, agreed->since[m]) > session->def.tuning.link.timeout_ns) {
            remove_silent(session, m, now);
        }
    }
}

static void report_as_host(FlSession *session)
{
    Agreed *agreed = &session->play->agreed;
    for (int32_t m = 0; m < session->seat_count; m++) {
        if ((agreed->gone & bit_of(m)) != 0 && next_silent(session, m, 0) == FL__NONE) {
            resolve(session, m, fl__timeline_known(agreed->timeline, m));
        }
        bool reports_due = (agreed->reports_due & agreed->resolved & bit_of(m)) != 0;
        if (reports_due && send_tick_range(session, FL__NONE, m, true, &agreed->next[m])) {
            agreed->reports_due &= ~bit_of(m);
        }
    }
}

// What the host may not know yet: members that have left, and final ranges of its predecessor. The
// latter as long as they may matter: a member that lacks one has settled nothing after it, and is
// not further behind.
static uint64_t to_report_again(const FlSession *session)
{
    const Agreed *agreed = &session->play->agreed;
    uint64_t again = agreed->gone;
    int64_t settled;
    (void)fl_timeline_settled(agreed->timeline, &settled);
    for (int32_t m = 0; m < session->seat_count; m++) {
        if ((agreed->inherited & agreed->resolved & bit_of(m)) != 0 &&
            fl__timeline_known(agreed->timeline, m) > settled - session->def.input_ticks) {
            again |= bit_of(m);
        }
    }
    return again;
}

static void report_as_client(FlSession *session)
{
    Agreed *agreed = &session->play->agreed;
    if (agreed->reports_due == 0 && agreed->present >= agreed->report_again) {
        agreed->reports_due = to_report_again(session);
    }
    for (int32_t m = 0; m < session->seat_count; m++) {
        bool final = (agreed->resolved & bit_of(m)) != 0;
        if ((agreed->reports_due & bit_of(m)) != 0 &&
            send_tick_range(session, session->host, m, final, &agreed->next[m])) {
            agreed->reports_due &= ~bit_of(m);
            agreed->report_again = agreed->present + REPORT_AGAIN_TICKS;
        }
    }
}

void fl__agreed_follow_host(FlSession *session)
{
    Agreed *agreed = &session->play->agreed;
    if (agreed->host == session->host) {
        return;
    }
    // A new host: it needs to know what each member has, and the final ranges of its predecessor.
    agreed->host = session->host;
    agreed->inherited = agreed->gone | agreed->resolved;
    agreed->reports_due = agreed->inherited;
    agreed->joiner.member = FL__NONE;
    for (int32_t m = 0; m < FL_TIMELINE_PLAYERS; m++) {
        Held none = {.behind = FL_FOREVER};
        agreed->held[m] = none;
        agreed->reported[m] = 0;
        agreed->since[m] = FL_FOREVER;
        agreed->next[m] = INT64_MIN;
    }
}

// ---------------------------------------------------------------- receiving

static void take_tick_range(FlSession *session, const FlTickRangeMessage *m)
{
    Agreed *agreed = &session->play->agreed;
    for (int32_t i = 0; i < m->count; i++) {
        FlResult result = fl_timeline_input(agreed->timeline, m->player, m->first + i,
                                            m->bytes + i * session->def.input_bytes);
        (void)result; // settled already, or known
    }
}

// A client claims that a range is final. It can know that only from our predecessor, whose range
// does not end before what is settled here, and came with the inputs.
static bool is_believed(const FlSession *session, const FlTickRangeMessage *m)
{
    const Agreed *agreed = &session->play->agreed;
    int64_t settled;
    (void)fl_timeline_settled(agreed->timeline, &settled);
    return (agreed->inherited & bit_of(m->player)) != 0 && m->newest + 1 >= settled &&
           m->newest <= fl__timeline_known(agreed->timeline, m->player);
}

// We are a newcomer: what was played since the state that we have.
static void take_as_newcomer(FlSession *session, const FlTickRangeMessage *m)
{
    if (fl__timeline_first(session->play->agreed.timeline, m->player) == FL_TIMELINE_NEVER) {
        return; // its ENTER has not come yet
    }
    take_tick_range(session, m);
    if (!m->more && m->final) {
        resolve(session, m->player, m->newest);
    }
}

bool fl__agreed_tick_range(FlSession *session, int32_t from, FlReader *r)
{
    Agreed *agreed = &session->play->agreed;
    fl__agreed_follow_host(session);
    FlTickRangeMessage m;
    if (!fl__tick_range_message_read(r, agreed->present, session->def.input_bytes, &m) ||
        m.player >= session->seat_count) {
        return false;
    }
    uint64_t bit = bit_of(m.player);
    bool ours = fl__is_host(session);
    if (!ours && from != session->host) {
        return true;
    }
    if (!agreed->begun) {
        take_as_newcomer(session, &m);
        return true;
    }
    agreed->inherited &= ours || !m.final ? UINT64_MAX : ~bit;
    if ((agreed->gone & bit) == 0 || m.of != agreed->of[m.player]) {
        return true; // settled long ago; or not known yet to have left: it is sent again
    }
    if (!ours || session->topology != FL_TOPOLOGY_STAR) { // in a star no member has more than we do
        take_tick_range(session, &m);
    }
    if (m.more) {
        return true;
    }
    bool final = m.final && (!ours || is_believed(session, &m));
    if (final) {
        resolve(session, m.player, m.newest);
    } else if (ours) {
        agreed->reported[m.player] |= bit_of(from);
    }
    return final || !m.final;
}

// ---------------------------------------------------------------- coming

static bool send_enter(FlSession *session, int32_t to, int32_t member, int64_t tick)
{
    uint8_t bytes[FL_EVENT_SHORT_BYTES];
    FlWriter w;
    FlEnterMessage m = {member, (uint8_t)fl__member_incarnation(session, member), tick};
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__enter_message_write(&w, &m);
    return send_ordered(session, to, MESSAGE_ENTER, &w);
}

// False: the tick is settled already.
static bool entered(FlSession *session, int32_t member, int64_t tick)
{
    Agreed *agreed = &session->play->agreed;
    if (fl_timeline_enter(agreed->timeline, member, tick) != FL_OK) {
        fl__count(session, FL_SESSION_UNTIMELY);
        return false;
    }
    agreed->resolved &= ~bit_of(member);
    agreed->inherited &= ~bit_of(member);
    agreed->reports_due &= ~bit_of(member);
    agreed->fed[member] = tick;
    agreed->of[member] = session->play->inputs.of[member].of;
    return true;
}

bool fl__agreed_enter(FlSession *session, int32_t from, FlReader *r)
{
    FlEnterMessage m;
    if (!fl__enter_message_read(r, session->play->agreed.present, &m) ||
        m.player >= session->seat_count || from != session->host) {
        return false;
    }
    bool plays = entered(session, m.player, m.tick);
    session->play->agreed.begun =
        session->play->agreed.begun || (plays && m.player == session->self);
    for (int32_t i = 0; i < session->seat_count && session->play->agreed.begun; i++) {
        bool there =
            fl__member_present(session, i) || (session->play->agreed.gone & bit_of(i)) != 0;
        if (!there) {
            player_left(session, i); // perhaps we noticed that before the ENTER came
        }
    }
    return true;
}

// Every player of a tick plays on, so that a newcomer needs no more than their ENTERs.
static bool players_are_steady(const FlSession *session, int64_t tick)
{
    const Agreed *agreed = &session->play->agreed;
    for (int32_t m = 0; m < session->seat_count; m++) {
        if (fl__timeline_plays(agreed->timeline, m, tick) &&
            !fl__timeline_plays(agreed->timeline, m, INT64_MAX - 1)) {
            return false;
        }
    }
    return agreed->gone == 0;
}

// The settled state in parts. False: a queue is full.
static bool send_state(FlSession *session)
{
    Joiner *joiner = &session->play->agreed.joiner;
    while (joiner->offset < joiner->state_bytes) {
        uint8_t bytes[FL_EVENT_BYTES];
        FlWriter w;
        int32_t left = joiner->state_bytes - joiner->offset;
        FlSnapshotMessage m = {joiner->settled, joiner->offset,
                               left < PART_BYTES ? left : PART_BYTES,
                               joiner->state + joiner->offset};
        fl_writer_init(&w, bytes, sizeof bytes);
        fl__snapshot_message_write(&w, &m);
        if (!send_ordered(session, joiner->member, MESSAGE_SNAPSHOT, &w)) {
            return false;
        }
        joiner->offset += m.count;
    }
    return true;
}

// A player of the joiner's state or later, and its inputs from there on. False: a queue is full; or
// the inputs are no longer kept, and another state is sent.
static bool send_player(FlSession *session, int32_t member)
{
    const FlTimeline *timeline = session->play->agreed.timeline;
    Joiner *joiner = &session->play->agreed.joiner;
    int64_t first = fl__timeline_first(timeline, member);
    bool never = first == FL_TIMELINE_NEVER;
    first = first > joiner->settled ? first : joiner->settled;
    if (never || !fl__timeline_plays(timeline, member, first)) {
        return true;
    }
    if (joiner->next == INT64_MIN) {
        if (!send_enter(session, joiner->member, member, first)) {
            return false;
        }
        joiner->next = first;
    }
    if (joiner->next <= fl__timeline_known(timeline, member) &&
        fl__timeline_input_at(timeline, member, joiner->next) == NULL) {
        joiner->offset = FL__NONE;
        return false;
    }
    bool final = !fl__timeline_plays(timeline, member, INT64_MAX - 1);
    return send_tick_range(session, joiner->member, member, final, &joiner->next);
}

// False: it continues with the next call.
static bool send_to_joiner(FlSession *session)
{
    Agreed *agreed = &session->play->agreed;
    Joiner *joiner = &agreed->joiner;
    if (joiner->offset == FL__NONE) {
        const void *state = fl_timeline_settled(agreed->timeline, &joiner->settled);
        if (!players_are_steady(session, joiner->settled)) {
            return false;
        }
        memcpy(joiner->state, state, (size_t)joiner->state_bytes);
        joiner->offset = joiner->player = 0;
        joiner->next = INT64_MIN;
    }
    if (!send_state(session)) {
        return false;
    }
    for (; joiner->player < session->seat_count; joiner->player++) {
        if (agreed->gone != 0 || !send_player(session, joiner->player)) {
            return false; // the last tick of a leaver is still to be known
        }
    }
    return agreed->gone == 0;
}

static FlResult enter(FlSession *session, int32_t member, int64_t tick)
{
    Agreed *agreed = &session->play->agreed;
    if (fl_peer_count(session) > 0 && !send_enter(session, FL__NONE, member, tick)) {
        return FL_WOULD_BLOCK;
    }
    FlResult result = fl_timeline_enter(agreed->timeline, member, tick);
    if (result == FL_OK) {
        agreed->resolved &= ~bit_of(member);
        agreed->fed[member] = tick;
    }
    return result;
}

static void send_to_newcomer(FlSession *session)
{
    Joiner *joiner = &session->play->agreed.joiner;
    if (joiner->member == FL__NONE || !send_to_joiner(session)) {
        return;
    }
    int64_t tick = session->play->agreed.present + joiner->lead;
    FlResult result = enter(session, joiner->member, tick > joiner->tick ? tick : joiner->tick);
    if (result != FL_WOULD_BLOCK) {
        session->count[FL_SESSION_UNTIMELY] += result != FL_OK ? 1 : 0;
        joiner->member = FL__NONE;
    }
}

FlResult fl_session_player(FlSession *session, FlPeerId peer, int64_t tick)
{
    Agreed *agreed = &session->play->agreed;
    Joiner *joiner = &agreed->joiner;
    int32_t member = fl__member_of(session, peer);
    if (member == FL__NONE) {
        return FL_STALE_ID;
    }
    if (fl__replaying(session)) {
        return FL_REPLAYING;
    }
    if (!fl__is_host(session) || agreed->timeline == NULL) {
        return FL_BAD_VALUE;
    }
    if (joiner->member != FL__NONE ||
        (agreed->gone | (agreed->reports_due & agreed->resolved)) != 0) {
        return FL_WOULD_BLOCK;
    }
    int64_t settled;
    (void)fl_timeline_settled(agreed->timeline, &settled);
    if (fl__timeline_plays(agreed->timeline, member, INT64_MAX - 1) || tick < settled) {
        return FL_OUT_OF_ORDER;
    }
    if (member == session->self) {
        return enter(session, member, tick);
    }
    joiner->member = member;
    joiner->offset = FL__NONE;
    joiner->tick = tick;
    joiner->lead = tick > agreed->present ? tick - agreed->present : 0;
    return FL_OK;
}

bool fl__agreed_snapshot(FlSession *session, int32_t from, FlReader *r)
{
    Agreed *agreed = &session->play->agreed;
    FlSnapshotMessage m;
    if (!fl__snapshot_message_read(r, &m) || from != session->host) {
        return false;
    }
    if (agreed->begun) {
        return true;
    }
    FlResult result = fl__timeline_begin_part(agreed->timeline, m.tick, m.offset, m.bytes, m.count);
    agreed->has_state = result == FL_OK;
    if (result == FL_OK) {
        agreed->present = agreed->hashes_next = m.tick;
    }
    return result != FL_BAD_VALUE;
}

void fl__agreed_send(FlSession *session)
{
    if (fl__is_host(session)) {
        report_as_host(session);
        send_to_newcomer(session);
    } else {
        report_as_client(session);
    }
}

static void changed(void *self, const Change *change)
{
    if (change->kind == CHANGE_MEMBER_LEAVES) {
        player_left((FlSession *)self, change->member);
    }
}

const Feature fl__feature_agreed = {
    .name = "timeline",
    .messages = {MESSAGE_HASHES, 4},
    .advance = advance,
    .message = fl__routed_message,
    .changed = changed,
};
