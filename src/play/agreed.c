// A timeline's inputs, and comparing it with others'. Who plays is agreed_players.c's.
//
// Inputs go from the session's rings into the timeline in order, as far as that takes them. What
// timelines say to each other travels as events of the session's own types, in order, through the
// host. Hashes of settled states go from everybody to the host and from the host to everybody: that
// names whoever is not as the host, at a cost that grows with the members and not their square.
#include "private.h"

enum { HASHES_EVERY = 16 }; // settled ticks

void fl__agreed_destroy(FlSession *session)
{
    Joiner *joiner = &fl__play(session)->agreed.joiner;
    fl_free(&fl__def(session)->alloc, joiner->state, (size_t)joiner->state_bytes);
    joiner->state = NULL;
}

FlResult fl_session_timeline(FlSession *session, FlTimeline *timeline, bool begun)
{
    Agreed fresh = {.timeline = timeline,
                    .begun = begun,
                    .has_state = begun,
                    .host = fl__host(session),
                    .joiner = {.member = FL__NONE}};
    if (timeline != NULL) {
        const FlTimelineDef *def = fl_timeline_def(timeline);
        if (def->input_bytes != fl__def(session)->input_bytes ||
            def->player_capacity < fl__seat_count(session)) {
            return FL_BAD_VALUE;
        }
        fresh.joiner.state_bytes = def->state_bytes;
        fresh.joiner.state =
            (uint8_t *)fl_alloc(&fl__def(session)->alloc, (size_t)def->state_bytes, 1);
        if (fresh.joiner.state == NULL) {
            return FL_NO_MEMORY;
        }
        (void)fl_timeline_settled(timeline, &fresh.hashes_next);
        fresh.present = fresh.hashes_next;
    }
    for (int32_t m = 0; m < FL_TIMELINE_PLAYERS; m++) {
        fresh.told[m] = INT64_MIN;
    }
    fl__agreed_destroy(session);
    fl__timeline_set(session, timeline);
    fl__play(session)->agreed = fresh;
    return FL_OK;
}

// ---------------------------------------------------------------- inputs

void fl__agreed_feed(FlSession *session, int32_t member)
{
    Agreed *agreed = &fl__play(session)->agreed;
    const Inputs *in = &fl__play(session)->inputs.of[member];
    int64_t known = fl_timeline_known(agreed->timeline, member);
    uint64_t bit = UINT64_C(1) << member;
    if (known == INT64_MIN || in->newest < 0) {
        return;
    }
    if (((agreed->gone | agreed->resolved) & bit) == 0) {
        agreed->of[member] = in->of;
    } else if (agreed->of[member] != in->of) {
        return; // of whoever has the number now
    }
    int64_t tick = agreed->fed[member] > known + 1 ? agreed->fed[member] : known + 1;
    for (; tick >= in->oldest && tick <= in->newest; tick++) {
        FlResult result = fl_timeline_input(agreed->timeline, member, tick,
                                            fl__input_bytes(session, member, tick));
        if (result == FL_FULL || result == FL_NOT_FOUND) {
            break; // no room yet, or nobody's yet
        }
    }
    agreed->fed[member] = tick;
}

// ---------------------------------------------------------------- hashes

static void tell_hashes(FlSession *session)
{
    Agreed *agreed = &fl__play(session)->agreed;
    int64_t settled;
    (void)fl_timeline_settled(agreed->timeline, &settled);
    bool host = fl__is_host(session);
    while (settled - agreed->hashes_next >= HASHES_EVERY && fl_peer_count(session) > 0) {
        FlHashesMessage message = {.first = agreed->hashes_next, .count = HASHES_EVERY};
        for (int32_t i = 0; i < HASHES_EVERY; i++) {
            int64_t tick = message.first + i;
            if (fl_timeline_hash(agreed->timeline, tick, &message.hash[i]) != FL_OK) {
                agreed->hashes_next = settled; // forgotten: go on with what is new
                return;
            }
        }
        uint8_t bytes[FL_EVENT_SHORT_BYTES];
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        fl_hashes_message_write(&w, &message);
        FL_ASSERT(!w.failed);
        if (fl__event_own(session, host ? FL__NONE : fl__host(session), FL__OWN_HASHES, bytes,
                          fl_writer_size(&w)) != FL_OK) {
            return;
        }
        agreed->hashes_next += HASHES_EVERY;
    }
}

static bool hear_hashes(FlSession *session, int32_t from, FlReader *r)
{
    FlHashesMessage message;
    if (!fl_hashes_message_read(r, fl__play(session)->agreed.present, &message)) {
        return false;
    }
    for (int32_t i = 0; i < message.count; i++) {
        fl_timeline_hash_heard(fl__play(session)->agreed.timeline, from, message.first + i,
                               message.hash[i]);
    }
    return true;
}

// ---------------------------------------------------------------- hearing

void fl__agreed_heard(FlSession *session, const FlEventHead *head, const uint8_t *bytes,
                      int32_t count)
{
    FlReader r;
    fl_reader_init(&r, bytes, count);
    bool sound = true;
    if (fl__play(session)->agreed.timeline == NULL) {
        return; // this game has none, or not yet
    }
    if (head->from >= fl__seat_count(session)) {
        fl__count(session, FL_SESSION_MALFORMED, 1);
        return;
    }
    switch (head->type) {
    case FL__OWN_HASHES:
        sound = !fl__play(session)->agreed.begun || hear_hashes(session, head->from, &r);
        break;
    case FL__OWN_STRETCH:
        sound = !fl__play(session)->agreed.has_state || fl__agreed_stretch(session, head->from, &r);
        break;
    case FL__OWN_ENTER:
        sound = !fl__play(session)->agreed.has_state || fl__agreed_enter(session, head->from, &r);
        break;
    case FL__OWN_SNAPSHOT:
        sound = fl__agreed_snapshot(session, head->from, &r);
        break;
    default:
        sound = false;
        break;
    }
    fl__count(session, FL_SESSION_MALFORMED, sound ? 0 : 1);
}

// ---------------------------------------------------------------- every frame

FlResult fl_session_advance(FlSession *session, int64_t present)
{
    Agreed *agreed = &fl__play(session)->agreed;
    if (agreed->timeline == NULL) {
        return FL_NOT_FOUND;
    }
    if (!agreed->begun) {
        return FL_WOULD_BLOCK;
    }
    agreed->present = present > agreed->present ? present : agreed->present;
    fl__agreed_host(session);
    for (int32_t member = 0; member < fl__seat_count(session); member++) {
        fl__agreed_feed(session, member);
    }
    fl_timeline_advance(agreed->timeline, agreed->present);
    if (fl__state(session) == FL_SESSION_RUNNING && fl__is_complete(session)) {
        fl__agreed_tell(session);
        tell_hashes(session);
    }
    return FL_OK;
}
