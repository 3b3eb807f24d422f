// Who plays: coming and going at ticks that are the same everywhere.
//
// Somebody leaves. Each peer has its inputs up to another tick, and may have settled as much. So
// everybody tells the host what it has (STRETCH); when all who played have, the host knows the
// longest of these, says that this is all there is (STRETCH, final), with the inputs that somebody
// may lack, and nobody has settled more. Until then settled states wait, as they do for any input;
// but no longer than a time-out: whoever has not told by then is sent away.
//
// The host itself may be the one who left, or leave in the middle: then everybody tells its
// successor, those who have heard the final word that word, and the successor says it again.
//
// Somebody comes. The host gives the newcomer a copy of its settled state (SNAPSHOT), and who plays
// from there on (ENTER), with the inputs since and, of those who have left since, that these are
// all (STRETCH). That takes as many frames as it needs, and nobody waits for it. Then it names a
// tick in the future to everybody (ENTER). The host's own inputs are needed to settle that tick, so
// with a word that travels faster than seconds nobody has settled it before.
//
// Whatever is longer than a link's queue goes on where that was full.
#include "private.h"

#include <string.h>

enum {
    PART_BYTES = 960,      // of inputs or state, in an event
    TELL_AGAIN_TICKS = 30, // somebody else's time-out is awaited
};

static uint64_t bit_of(int32_t member)
{
    return UINT64_C(1) << member;
}

static bool send_own(FlSession *session, int32_t to, uint16_t type, const FlWriter *w)
{
    FL_ASSERT(!w->failed);
    return fl__event_own(session, to, type, w->bytes, fl_writer_size(w)) == FL_OK;
}

// ---------------------------------------------------------------- what there is of somebody

// Inputs from tick *next on; INT64_MIN: as many as somebody may lack of one who is gone. False: a
// queue is full, and *next is where to go on.
static bool tell_stretch(FlSession *session, int32_t to, int32_t member, bool final, int64_t *next)
{
    const Agreed *agreed = &fl__play(session)->agreed;
    int32_t input_bytes = fl__def(session)->input_bytes;
    int32_t most = PART_BYTES / input_bytes;
    int64_t newest = fl_timeline_known(agreed->timeline, member);
    int64_t least = *next == INT64_MIN ? newest + 1 - fl__def(session)->input_ticks : *next;
    int64_t first = newest + 1;
    while (first > least && fl_timeline_input_at(agreed->timeline, member, first - 1) != NULL) {
        first--;
    }
    do {
        *next = first;
        uint8_t inputs[PART_BYTES];
        uint8_t bytes[FL_EVENT_BYTES];
        FlStretchMessage m = {.player = member,
                              .of = agreed->of[member],
                              .final = final,
                              .newest = newest,
                              .first = first,
                              .bytes = inputs};
        for (; m.count < most && first <= newest; first++) {
            const uint8_t *input = fl_timeline_input_at(agreed->timeline, member, first);
            for (int32_t i = 0; i < input_bytes; i++) {
                inputs[m.count * input_bytes + i] = input[i];
            }
            m.count++;
        }
        m.more = first <= newest;
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        fl_stretch_message_write(&w, input_bytes, &m);
        if (!send_own(session, to, FL__OWN_STRETCH, &w)) {
            return false;
        }
    } while (first <= newest);
    *next = INT64_MIN;
    return true;
}

static void resolve(FlSession *session, int32_t member, int64_t newest)
{
    Agreed *agreed = &fl__play(session)->agreed;
    int64_t tick = newest + 1;
    FlResult result = fl_timeline_leave(agreed->timeline, member, tick);
    if (result == FL_OUT_OF_ORDER) {
        // Settled otherwise here, which hashes will tell. Still it is gone, and the game goes on.
        int64_t settled;
        (void)fl_timeline_settled(agreed->timeline, &settled);
        int64_t first = fl_timeline_first(agreed->timeline, member);
        tick = tick > settled ? tick : settled;
        tick = tick > first ? tick : first;
        result = fl_timeline_leave(agreed->timeline, member, tick);
        fl__count(session, FL_SESSION_UNTIMELY, 1);
    }
    if (result != FL_OK) {
        return; // who had the number before is still to be settled
    }
    agreed->gone &= ~bit_of(member);
    agreed->inherited &= ~bit_of(member);
    agreed->resolved |= bit_of(member);
    agreed->owed &= ~bit_of(member);
    agreed->owed |= fl__is_host(session) ? bit_of(member) : 0;
    agreed->told[member] = INT64_MIN;
}

static void left(FlSession *session, int32_t member)
{
    Agreed *agreed = &fl__play(session)->agreed;
    agreed->joiner.member = agreed->joiner.member == member ? FL__NONE : agreed->joiner.member;
    bool plays = agreed->timeline != NULL && agreed->begun && member != fl__self(session) &&
                 member < FL_TIMELINE_PLAYERS &&
                 fl_timeline_plays(agreed->timeline, member, INT64_MAX - 1);
    if (!plays) {
        return;
    }
    fl__agreed_feed(session, member);
    agreed->gone |= bit_of(member);
    agreed->tails[member] = 0;
    agreed->since[member] = FL_FOREVER;
    agreed->owed |= bit_of(member);
    agreed->told[member] = INT64_MIN;
}

// ---------------------------------------------------------------- the host's part

// Who plays, is still there and has not told what it has of a leaver, from a number on; FL__NONE:
// all have. Newcomers are asked as well: they may have settled more of it than we have.
static int32_t next_untold(const FlSession *session, int32_t member, int32_t from)
{
    const Agreed *agreed = &fl__play(session)->agreed;
    for (int32_t i = from; i < fl__seat_count(session); i++) {
        bool asked = i != fl__self(session) && i != member && fl__member_present(session, i) &&
                     (agreed->gone & bit_of(i)) == 0 &&
                     fl_timeline_plays(agreed->timeline, i, INT64_MAX - 1);
        if (asked && (agreed->tails[member] & bit_of(i)) == 0) {
            return i;
        }
    }
    return FL__NONE;
}

// Nobody can play on with us without telling: it may have settled more than all others have, and
// what we decide without it would be another state than its own.
static void send_silent_away(FlSession *session, int32_t member, FlTime now)
{
    for (int32_t i = next_untold(session, member, 0); i != FL__NONE;
         i = next_untold(session, member, i + 1)) {
        int32_t line = fl__member_line(session, i);
        if (line != FL__NONE) {
            fl__count(session, FL_SESSION_STALLED, 1);
            fl__line_lost(session, line, FL_LEFT_UNANSWERED, now);
        }
    }
}

static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    Agreed *agreed = &fl__play(session)->agreed;
    if (agreed->gone == 0 || !fl__is_host(session)) {
        return;
    }
    for (int32_t m = 0; m < fl__seat_count(session); m++) {
        if ((agreed->gone & bit_of(m)) == 0) {
            continue;
        }
        agreed->since[m] = agreed->since[m] == FL_FOREVER ? now : agreed->since[m];
        if (fl_span(now, agreed->since[m]) > fl__def(session)->link.timeout_ns) {
            send_silent_away(session, m, now);
        }
    }
}

static void tell_as_host(FlSession *session)
{
    Agreed *agreed = &fl__play(session)->agreed;
    for (int32_t m = 0; m < fl__seat_count(session); m++) {
        if ((agreed->gone & bit_of(m)) != 0 && next_untold(session, m, 0) == FL__NONE) {
            resolve(session, m, fl_timeline_known(agreed->timeline, m));
        }
        bool owed = (agreed->owed & agreed->resolved & bit_of(m)) != 0;
        if (owed && tell_stretch(session, FL__NONE, m, true, &agreed->told[m])) {
            agreed->owed &= ~bit_of(m);
        }
    }
}

// What the host may not know yet: who is gone, and words of its predecessor. These as long as it
// may matter: whoever lacks one has settled nothing after it, and is not further behind.
static uint64_t to_be_told_again(const FlSession *session)
{
    const Agreed *agreed = &fl__play(session)->agreed;
    uint64_t again = agreed->gone;
    int64_t settled;
    (void)fl_timeline_settled(agreed->timeline, &settled);
    for (int32_t m = 0; m < fl__seat_count(session); m++) {
        if ((agreed->inherited & agreed->resolved & bit_of(m)) != 0 &&
            fl_timeline_known(agreed->timeline, m) > settled - fl__def(session)->input_ticks) {
            again |= bit_of(m);
        }
    }
    return again;
}

static void tell_as_client(FlSession *session)
{
    Agreed *agreed = &fl__play(session)->agreed;
    if (agreed->owed == 0 && agreed->present >= agreed->tell_again) {
        agreed->owed = to_be_told_again(session);
    }
    for (int32_t m = 0; m < fl__seat_count(session); m++) {
        bool final = (agreed->resolved & bit_of(m)) != 0;
        if ((agreed->owed & bit_of(m)) != 0 &&
            tell_stretch(session, fl__host(session), m, final, &agreed->told[m])) {
            agreed->owed &= ~bit_of(m);
            agreed->tell_again = agreed->present + TELL_AGAIN_TICKS;
        }
    }
}

void fl__agreed_host(FlSession *session)
{
    Agreed *agreed = &fl__play(session)->agreed;
    if (agreed->host == fl__host(session)) {
        return;
    }
    // A new one: it needs to know what each has, and who knows the last word of its predecessor.
    agreed->host = fl__host(session);
    agreed->inherited = agreed->gone | agreed->resolved;
    agreed->owed = agreed->inherited;
    agreed->joiner.member = FL__NONE;
    for (int32_t m = 0; m < FL_TIMELINE_PLAYERS; m++) {
        agreed->tails[m] = 0;
        agreed->since[m] = FL_FOREVER;
        agreed->told[m] = INT64_MIN;
    }
}

// ---------------------------------------------------------------- hearing

static void take_stretch(FlSession *session, const FlStretchMessage *m)
{
    Agreed *agreed = &fl__play(session)->agreed;
    for (int32_t i = 0; i < m->count; i++) {
        FlResult result = fl_timeline_input(agreed->timeline, m->player, m->first + i,
                                            m->bytes + i * fl__def(session)->input_bytes);
        (void)result; // settled already, or here
    }
}

// A client says that it is all there is. It can know that only from our predecessor, whose word is
// nowhere behind what is settled, and came with the inputs.
static bool is_believed(const FlSession *session, const FlStretchMessage *m)
{
    const Agreed *agreed = &fl__play(session)->agreed;
    int64_t settled;
    (void)fl_timeline_settled(agreed->timeline, &settled);
    return (agreed->inherited & bit_of(m->player)) != 0 && m->newest + 1 >= settled &&
           m->newest <= fl_timeline_known(agreed->timeline, m->player);
}

// To a newcomer: what was played since the state that it has.
static void hear_of_cast(FlSession *session, const FlStretchMessage *m)
{
    if (fl_timeline_first(fl__play(session)->agreed.timeline, m->player) == FL_TIMELINE_NEVER) {
        return; // not told of yet
    }
    take_stretch(session, m);
    if (!m->more && m->final) {
        resolve(session, m->player, m->newest);
    }
}

bool fl__agreed_stretch(FlSession *session, int32_t from, FlReader *r)
{
    Agreed *agreed = &fl__play(session)->agreed;
    fl__agreed_host(session);
    FlStretchMessage m;
    if (!fl_stretch_message_read(r, agreed->present, fl__def(session)->input_bytes, &m) ||
        m.player >= fl__seat_count(session)) {
        return false;
    }
    uint64_t bit = bit_of(m.player);
    bool ours = fl__is_host(session);
    if (!ours && from != fl__host(session)) {
        return true;
    }
    if (!agreed->begun) {
        hear_of_cast(session, &m);
        return true;
    }
    agreed->inherited &= ours || !m.final ? UINT64_MAX : ~bit;
    if ((agreed->gone & bit) == 0 || m.of != agreed->of[m.player]) {
        return true; // settled long ago; or not known yet to be gone: it is told again
    }
    take_stretch(session, &m);
    if (m.more) {
        return true;
    }
    bool final = m.final && (!ours || is_believed(session, &m));
    if (final) {
        resolve(session, m.player, m.newest);
    } else if (ours) {
        agreed->tails[m.player] |= bit_of(from);
    }
    return final || !m.final;
}

// ---------------------------------------------------------------- coming

static bool tell_enter(FlSession *session, int32_t to, int32_t member, int64_t tick)
{
    uint8_t bytes[FL_EVENT_SHORT_BYTES];
    FlWriter w;
    FlEnterMessage m = {member, (uint8_t)fl__member_incarnation(session, member), tick};
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_enter_message_write(&w, &m);
    return send_own(session, to, FL__OWN_ENTER, &w);
}

// False: that cannot be any more.
static bool entered(FlSession *session, int32_t member, int64_t tick)
{
    Agreed *agreed = &fl__play(session)->agreed;
    if (fl_timeline_enter(agreed->timeline, member, tick) != FL_OK) {
        fl__count(session, FL_SESSION_UNTIMELY, 1);
        return false;
    }
    agreed->resolved &= ~bit_of(member);
    agreed->inherited &= ~bit_of(member);
    agreed->owed &= ~bit_of(member);
    agreed->fed[member] = tick;
    agreed->of[member] = fl__play(session)->inputs.of[member].of;
    return true;
}

bool fl__agreed_enter(FlSession *session, int32_t from, FlReader *r)
{
    FlEnterMessage m;
    if (!fl_enter_message_read(r, fl__play(session)->agreed.present, &m) ||
        m.player >= fl__seat_count(session) || from != fl__host(session)) {
        return false;
    }
    bool plays = entered(session, m.player, m.tick);
    fl__play(session)->agreed.begun =
        fl__play(session)->agreed.begun || (plays && m.player == fl__self(session));
    for (int32_t i = 0; i < fl__seat_count(session) && fl__play(session)->agreed.begun; i++) {
        bool there =
            fl__member_present(session, i) || (fl__play(session)->agreed.gone & bit_of(i)) != 0;
        if (!there) {
            left(session, i); // perhaps that came before this
        }
    }
    return true;
}

// Everybody who plays at a tick does so for good, so that a newcomer needs to be told no more.
static bool cast_is_steady(const FlSession *session, int64_t tick)
{
    const Agreed *agreed = &fl__play(session)->agreed;
    for (int32_t m = 0; m < fl__seat_count(session); m++) {
        if (fl_timeline_plays(agreed->timeline, m, tick) &&
            !fl_timeline_plays(agreed->timeline, m, INT64_MAX - 1)) {
            return false;
        }
    }
    return agreed->gone == 0;
}

// The settled state in parts. False: a queue is full.
static bool tell_state(FlSession *session)
{
    Joiner *joiner = &fl__play(session)->agreed.joiner;
    while (joiner->offset < joiner->state_bytes) {
        uint8_t bytes[FL_EVENT_BYTES];
        FlWriter w;
        int32_t left = joiner->state_bytes - joiner->offset;
        FlSnapshotMessage m = {joiner->settled, joiner->offset,
                               left < PART_BYTES ? left : PART_BYTES,
                               joiner->state + joiner->offset};
        fl_writer_init(&w, bytes, sizeof bytes);
        fl_snapshot_message_write(&w, &m);
        if (!send_own(session, joiner->member, FL__OWN_SNAPSHOT, &w)) {
            return false;
        }
        joiner->offset += m.count;
    }
    return true;
}

// One who plays at the joiner's state or later, and its inputs from there on. False: a queue is
// full; or they are forgotten, and another state is told.
static bool tell_player(FlSession *session, int32_t member)
{
    const FlTimeline *timeline = fl__play(session)->agreed.timeline;
    Joiner *joiner = &fl__play(session)->agreed.joiner;
    int64_t first = fl_timeline_first(timeline, member);
    bool never = first == FL_TIMELINE_NEVER;
    first = first > joiner->settled ? first : joiner->settled;
    if (never || !fl_timeline_plays(timeline, member, first)) {
        return true;
    }
    if (joiner->told == INT64_MIN) {
        if (!tell_enter(session, joiner->member, member, first)) {
            return false;
        }
        joiner->told = first;
    }
    if (joiner->told <= fl_timeline_known(timeline, member) &&
        fl_timeline_input_at(timeline, member, joiner->told) == NULL) {
        joiner->offset = FL__NONE;
        return false;
    }
    bool final = !fl_timeline_plays(timeline, member, INT64_MAX - 1);
    return tell_stretch(session, joiner->member, member, final, &joiner->told);
}

// False: it goes on with the next call.
static bool tell_joiner(FlSession *session)
{
    Agreed *agreed = &fl__play(session)->agreed;
    Joiner *joiner = &agreed->joiner;
    if (joiner->offset == FL__NONE) {
        const void *state = fl_timeline_settled(agreed->timeline, &joiner->settled);
        if (!cast_is_steady(session, joiner->settled)) {
            return false;
        }
        memcpy(joiner->state, state, (size_t)joiner->state_bytes);
        joiner->offset = joiner->player = 0;
        joiner->told = INT64_MIN;
    }
    if (!tell_state(session)) {
        return false;
    }
    for (; joiner->player < fl__seat_count(session); joiner->player++) {
        if (agreed->gone != 0 || !tell_player(session, joiner->player)) {
            return false; // how many inputs there are is still to be known
        }
    }
    return agreed->gone == 0;
}

static FlResult enter(FlSession *session, int32_t member, int64_t tick)
{
    Agreed *agreed = &fl__play(session)->agreed;
    if (fl_peer_count(session) > 0 && !tell_enter(session, FL__NONE, member, tick)) {
        return FL_WOULD_BLOCK;
    }
    FlResult result = fl_timeline_enter(agreed->timeline, member, tick);
    if (result == FL_OK) {
        agreed->resolved &= ~bit_of(member);
        agreed->fed[member] = tick;
    }
    return result;
}

static void tell_newcomer(FlSession *session)
{
    Joiner *joiner = &fl__play(session)->agreed.joiner;
    if (joiner->member == FL__NONE || !tell_joiner(session)) {
        return;
    }
    int64_t tick = fl__play(session)->agreed.present + joiner->lead;
    FlResult result = enter(session, joiner->member, tick > joiner->tick ? tick : joiner->tick);
    if (result != FL_WOULD_BLOCK) {
        fl__count(session, FL_SESSION_UNTIMELY, result != FL_OK ? 1 : 0);
        joiner->member = FL__NONE;
    }
}

FlResult fl_session_player(FlSession *session, FlPeerId peer, int64_t tick)
{
    Agreed *agreed = &fl__play(session)->agreed;
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
    if (joiner->member != FL__NONE || (agreed->gone | (agreed->owed & agreed->resolved)) != 0) {
        return FL_WOULD_BLOCK;
    }
    int64_t settled;
    (void)fl_timeline_settled(agreed->timeline, &settled);
    if (fl_timeline_plays(agreed->timeline, member, INT64_MAX - 1) || tick < settled) {
        return FL_OUT_OF_ORDER;
    }
    if (member == fl__self(session)) {
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
    Agreed *agreed = &fl__play(session)->agreed;
    FlSnapshotMessage m;
    if (!fl_snapshot_message_read(r, &m) || from != fl__host(session)) {
        return false;
    }
    if (agreed->begun) {
        return true;
    }
    FlResult result = fl_timeline_begin_part(agreed->timeline, m.tick, m.offset, m.bytes, m.count);
    agreed->has_state = result == FL_OK;
    if (result == FL_OK) {
        agreed->present = agreed->hashes_next = m.tick;
    }
    return result != FL_BAD_VALUE;
}

void fl__agreed_tell(FlSession *session)
{
    if (fl__is_host(session)) {
        tell_as_host(session);
        tell_newcomer(session);
    } else {
        tell_as_client(session);
    }
}

static void changed(void *self, const Change *change)
{
    if (change->kind == CHANGE_MEMBER_LEAVES) {
        left((FlSession *)self, change->member);
    }
}

// Its messages are events of the session's own types.
const Feature fl__feature_agreed = {
    .name = "timeline",
    .advance = advance,
    .changed = changed,
};
