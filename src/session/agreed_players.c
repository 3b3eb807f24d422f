// Who plays: coming and going at ticks that are the same everywhere.
//
// Somebody leaves. Each peer has its inputs up to another tick, and may have settled as much. So
// everybody tells the host what it has (STRETCH); when all who played have, the host knows the
// longest of these, says that this is all there is (STRETCH, final), with the inputs that somebody
// may lack, and nobody has settled more. Until then settled states wait, as they do for any input.
//
// The host itself may be the one who left, or leave in the middle: then everybody tells its
// successor, those who have heard the final word that word, and the successor says it again.
//
// Somebody comes. The host names a tick in the future to everybody (ENTER), gives the newcomer its
// settled state (SNAPSHOT) and the ticks of all who play then. The host's own inputs are needed to
// settle that tick, so with a word that travels faster than seconds nobody has settled it before.
#include "private.h"

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

// The inputs of one who is gone, as much as somebody may lack. False: a queue is full.
static bool tell_stretch(FlSession *session, int32_t to, int32_t member, bool final)
{
    const Agreed *agreed = &session->agreed;
    int32_t input_bytes = session->def.input_bytes;
    int32_t most = PART_BYTES / input_bytes;
    int64_t newest = fl_timeline_known(agreed->timeline, member);
    int64_t first = newest + 1;
    while (first > newest + 1 - session->def.input_ticks &&
           fl_timeline_input_at(agreed->timeline, member, first - 1) != NULL) {
        first--;
    }
    do {
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
    return true;
}

static void resolve(FlSession *session, int32_t member, int64_t newest)
{
    Agreed *agreed = &session->agreed;
    agreed->gone &= ~bit_of(member);
    agreed->resolved |= bit_of(member);
    if (fl_timeline_leave(agreed->timeline, member, newest + 1) != FL_OK) {
        session->count[FL_SESSION_UNTIMELY]++;
    }
    if (fl__is_host(session)) {
        agreed->owed |= bit_of(member);
    }
}

void fl__agreed_left(FlSession *session, int32_t member)
{
    Agreed *agreed = &session->agreed;
    bool plays = agreed->timeline != NULL && agreed->begun && member != session->self &&
                 member < FL_TIMELINE_PLAYERS &&
                 fl_timeline_plays(agreed->timeline, member, INT64_MAX - 1);
    if (!plays) {
        return;
    }
    fl__agreed_feed(session, member);
    agreed->gone |= bit_of(member);
    agreed->tails[member] = 0;
    agreed->tell_again = INT64_MIN;
}

// ---------------------------------------------------------------- the host's part

// All who played with it and are still there have told what they have.
static bool all_told(const FlSession *session, int32_t member)
{
    const Agreed *agreed = &session->agreed;
    int64_t last = fl_timeline_known(agreed->timeline, member);
    for (int32_t i = 0; i < session->seat_count; i++) {
        bool asked = i != session->self && i != member && session->members[i].present &&
                     (agreed->gone & bit_of(i)) == 0 &&
                     fl_timeline_plays(agreed->timeline, i, last > 0 ? last : 0);
        if (asked && (agreed->tails[member] & bit_of(i)) == 0) {
            return false;
        }
    }
    return true;
}

static void tell_as_host(FlSession *session)
{
    Agreed *agreed = &session->agreed;
    for (int32_t m = 0; m < session->seat_count; m++) {
        if ((agreed->gone & bit_of(m)) != 0 && all_told(session, m)) {
            resolve(session, m, fl_timeline_known(agreed->timeline, m));
        }
        bool owed = (agreed->owed & agreed->resolved & bit_of(m)) != 0;
        if (owed && tell_stretch(session, FL__NONE, m, true)) {
            agreed->owed &= ~bit_of(m);
        }
    }
}

static void tell_as_client(FlSession *session)
{
    Agreed *agreed = &session->agreed;
    if (agreed->present >= agreed->tell_again) {
        agreed->owed |= agreed->gone; // the host may not know yet that they are
        agreed->tell_again = agreed->present + TELL_AGAIN_TICKS;
    }
    for (int32_t m = 0; m < session->seat_count; m++) {
        bool final = (agreed->resolved & bit_of(m)) != 0;
        if ((agreed->owed & bit_of(m)) != 0 && tell_stretch(session, session->host, m, final)) {
            agreed->owed &= ~bit_of(m);
        }
    }
}

void fl__agreed_host(FlSession *session)
{
    Agreed *agreed = &session->agreed;
    if (agreed->host == session->host) {
        return;
    }
    // A new one: it needs to know what each has, and who knows the last word of its predecessor.
    agreed->host = session->host;
    agreed->owed = agreed->gone | agreed->resolved;
    agreed->joiner = FL__NONE;
    for (int32_t m = 0; m < FL_TIMELINE_PLAYERS; m++) {
        agreed->tails[m] = 0;
    }
}

// ---------------------------------------------------------------- hearing

static void take_stretch(FlSession *session, const FlStretchMessage *m)
{
    Agreed *agreed = &session->agreed;
    for (int32_t i = 0; i < m->count; i++) {
        FlResult result = fl_timeline_input(agreed->timeline, m->player, m->first + i,
                                            m->bytes + i * session->def.input_bytes);
        (void)result; // settled already, or here
    }
}

bool fl__agreed_stretch(FlSession *session, int32_t from, FlReader *r)
{
    Agreed *agreed = &session->agreed;
    FlStretchMessage m;
    if (!fl_stretch_message_read(r, agreed->present, session->def.input_bytes, &m) ||
        m.player >= session->seat_count) {
        return false;
    }
    uint64_t bit = bit_of(m.player);
    bool ours = fl__is_host(session);
    if ((agreed->gone & bit) == 0 || m.of != agreed->of[m.player] ||
        (!ours && from != session->host)) {
        return true; // settled long ago; or not known yet to be gone: it is told again
    }
    take_stretch(session, &m);
    if (!m.more && m.final) {
        resolve(session, m.player, m.newest);
    } else if (!m.more && ours) {
        agreed->tails[m.player] |= bit_of(from);
    }
    return true;
}

// ---------------------------------------------------------------- coming

static bool tell_enter(FlSession *session, int32_t to, int32_t member, int64_t tick)
{
    uint8_t bytes[FL_EVENT_SHORT_BYTES];
    FlWriter w;
    FlEnterMessage m = {member, (uint8_t)session->members[member].incarnation, tick};
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_enter_message_write(&w, &m);
    return send_own(session, to, FL__OWN_ENTER, &w);
}

static void entered(FlSession *session, int32_t member, int64_t tick)
{
    Agreed *agreed = &session->agreed;
    if (fl_timeline_enter(agreed->timeline, member, tick) != FL_OK) {
        session->count[FL_SESSION_UNTIMELY]++;
        return;
    }
    agreed->resolved &= ~bit_of(member);
    agreed->fed[member] = tick;
    agreed->of[member] = session->inputs[member].of;
}

bool fl__agreed_enter(FlSession *session, int32_t from, FlReader *r)
{
    FlEnterMessage m;
    if (!fl_enter_message_read(r, session->agreed.present, &m) || m.player >= session->seat_count ||
        from != session->host) {
        return false;
    }
    entered(session, m.player, m.tick);
    session->agreed.begun = session->agreed.begun || m.player == session->self;
    return true;
}

// Everybody who plays at a tick does so for good, so that a newcomer needs to be told no more.
static bool cast_is_steady(const FlSession *session, int64_t tick)
{
    const Agreed *agreed = &session->agreed;
    for (int32_t m = 0; m < session->seat_count; m++) {
        if (fl_timeline_plays(agreed->timeline, m, tick) &&
            !fl_timeline_plays(agreed->timeline, m, INT64_MAX - 1)) {
            return false;
        }
    }
    return agreed->gone == 0;
}

// The settled state in parts, everybody's first tick, the newcomer's own last. False: a queue is
// full; it is told again from the beginning.
static bool tell_joiner(FlSession *session)
{
    const Agreed *agreed = &session->agreed;
    const FlTimeline *timeline = agreed->timeline;
    int64_t settled;
    const uint8_t *state = (const uint8_t *)fl_timeline_settled(timeline, &settled);
    int32_t all = fl_timeline_def(timeline)->state_bytes;
    for (int32_t offset = 0; offset < all; offset += PART_BYTES) {
        uint8_t bytes[FL_EVENT_BYTES];
        FlWriter w;
        int32_t count = all - offset < PART_BYTES ? all - offset : PART_BYTES;
        FlSnapshotMessage m = {settled, offset, count, state + offset};
        fl_writer_init(&w, bytes, sizeof bytes);
        fl_snapshot_message_write(&w, &m);
        if (!send_own(session, agreed->joiner, FL__OWN_SNAPSHOT, &w)) {
            return false;
        }
    }
    for (int32_t m = 0; m < session->seat_count; m++) {
        int64_t first = fl_timeline_first(timeline, m);
        bool plays = m != agreed->joiner && fl_timeline_plays(timeline, m, INT64_MAX - 1);
        if (plays && !tell_enter(session, agreed->joiner, m, first > settled ? first : settled)) {
            return false;
        }
    }
    return tell_enter(session, agreed->joiner, agreed->joiner, agreed->joiner_tick);
}

static void tell_newcomer(FlSession *session)
{
    Agreed *agreed = &session->agreed;
    int64_t settled;
    (void)fl_timeline_settled(agreed->timeline, &settled);
    if (agreed->joiner == FL__NONE || !cast_is_steady(session, settled)) {
        return;
    }
    if (!session->members[agreed->joiner].present || tell_joiner(session)) {
        agreed->joiner = FL__NONE;
    }
}

FlResult fl_session_player(FlSession *session, FlPeerId peer, int64_t tick)
{
    Agreed *agreed = &session->agreed;
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
    if (agreed->joiner != FL__NONE || agreed->gone != 0) {
        return FL_WOULD_BLOCK;
    }
    if (fl_timeline_plays(agreed->timeline, member, INT64_MAX - 1)) {
        return FL_OUT_OF_ORDER;
    }
    FlResult result = fl_peer_count(session) > 0 && !tell_enter(session, FL__NONE, member, tick)
                          ? FL_WOULD_BLOCK
                          : fl_timeline_enter(agreed->timeline, member, tick);
    if (result != FL_OK) {
        return result;
    }
    agreed->resolved &= ~bit_of(member);
    agreed->fed[member] = tick;
    agreed->joiner = member != session->self ? member : FL__NONE;
    agreed->joiner_tick = tick;
    return FL_OK;
}

bool fl__agreed_snapshot(FlSession *session, int32_t from, FlReader *r)
{
    Agreed *agreed = &session->agreed;
    FlSnapshotMessage m;
    if (!fl_snapshot_message_read(r, &m) || from != session->host) {
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
