// A timeline, and comparing it with others'. agreed_players.c: players come and go.
//
// What
// timelines send to each other is routed (route.c), in order, through the host. Every member sends
// hashes of settled states to the host, and the host sends its own to every member: that names each
// member that differs from the host, at a cost that grows with the members and not their square.
#include "private.h"

#include "agree/lags.h"
#include "agree/timeline.h"

enum { HASHES_EVERY = 16 }; // settled ticks

void fl__agreed_destroy(FlSession *session)
{
    Joiner *joiner = &session->play->agreed.joiner;
    fl_free(&session->def.alloc, joiner->state, (size_t)joiner->state_bytes);
    joiner->state = NULL;
}

FlResult fl_session_timeline(FlSession *session, FlTimeline *timeline, bool begun)
{
    Agreed fresh = {.timeline = timeline,
                    .begun = begun,
                    .has_state = begun,
                    .host = session->host,
                    .joiner = {.member = FL__NONE}};
    if (timeline != NULL) {
        const FlTimelineDef *def = fl__timeline_def(timeline);
        if (def->input_bytes != session->def.input_bytes ||
            def->player_capacity < session->seat_count || session->def.inputs_to_host ||
            (def->tick_hz > 0 && session->def.action_capacity == 0)) {
            return FL_BAD_VALUE;
        }
        fresh.joiner.state_bytes = def->state_bytes;
        fresh.joiner.state = (uint8_t *)fl_alloc(&session->def.alloc, (size_t)def->state_bytes, 1);
        if (fresh.joiner.state == NULL) {
            return FL_NO_MEMORY;
        }
        (void)fl_timeline_settled(timeline, &fresh.hashes_next);
        fresh.present = fresh.hashes_next;
        fresh.by_lags = def->tick_hz > 0 && def->control == FL_CONTROL_LAGS;
    }
    for (int32_t m = 0; m < FL_TIMELINE_PLAYERS; m++) {
        fresh.next[m] = INT64_MIN;
        fresh.held[m].behind = FL_FOREVER;
    }
    fl__agreed_destroy(session);
    session->timeline = timeline;
    session->play->agreed = fresh;
    return FL_OK;
}

// ---------------------------------------------------------------- hashes

static void send_hashes(FlSession *session)
{
    Agreed *agreed = &session->play->agreed;
    int64_t settled;
    (void)fl_timeline_settled(agreed->timeline, &settled);
    bool host = fl__is_host(session);
    while (settled - agreed->hashes_next >= HASHES_EVERY && fl_peer_count(session) > 0) {
        FlHashesMessage message = {.first = agreed->hashes_next, .count = HASHES_EVERY};
        for (int32_t i = 0; i < HASHES_EVERY; i++) {
            int64_t tick = message.first + i;
            if (fl__timeline_hash(agreed->timeline, tick, &message.hash[i]) != FL_OK) {
                agreed->hashes_next = settled; // no longer kept: go on with newer ones
                return;
            }
        }
        uint8_t bytes[FL_EVENT_SHORT_BYTES];
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        fl__hashes_message_write(&w, &message);
        FL_ASSERT(!w.failed);
        if (fl__routed_send_ordered(session, host ? FL__NONE : session->host, MESSAGE_HASHES, bytes,
                                    fl_writer_size(&w)) != FL_OK) {
            return;
        }
        agreed->hashes_next += HASHES_EVERY;
    }
}

static bool take_hashes(FlSession *session, int32_t from, FlReader *r)
{
    FlHashesMessage message;
    if (!fl__hashes_message_read(r, session->play->agreed.present, &message)) {
        return false;
    }
    for (int32_t i = 0; i < message.count; i++) {
        fl__timeline_hash_received(session->play->agreed.timeline, from, message.first + i,
                                   message.hash[i]);
    }
    return true;
}

// ---------------------------------------------------------------- receiving

bool fl__agreed_received(FlSession *session, const RoutedIn *in)
{
    const Agreed *agreed = &session->play->agreed;
    if (agreed->timeline == NULL) {
        return true; // this game has no timeline, or not yet
    }
    if (in->from >= session->seat_count) {
        return false;
    }
    FlReader r;
    fl_reader_init(&r, in->bytes, in->count);
    switch (in->kind) {
    case MESSAGE_HASHES:
        return !agreed->begun || take_hashes(session, in->from, &r);
    case MESSAGE_TICK_RANGE:
        return !agreed->has_state || fl__agreed_tick_range(session, in->from, &r);
    case MESSAGE_ENTER:
        return !agreed->has_state || fl__agreed_enter(session, in->from, &r);
    default:
        return fl__agreed_snapshot(session, in->from, &r);
    }
}

// ---------------------------------------------------------------- settling by lags

/// The tick at a session time, and when a tick begins.
static int64_t tick_at(const FlTimelineDef *def, FlTime time)
{
    FlTime since = fl_span(time, def->tick_from);
    FlTime seconds = since / FL_SEC(1) - (since % FL_SEC(1) < 0 ? 1 : 0);
    return seconds * def->tick_hz + (since - seconds * FL_SEC(1)) * def->tick_hz / FL_SEC(1);
}

static FlTime tick_begins(const FlTimelineDef *def, int64_t tick)
{
    FlTime part = (tick % def->tick_hz * FL_SEC(1) + def->tick_hz - 1) / def->tick_hz;
    return fl_time_add(def->tick_from, tick / def->tick_hz * FL_SEC(1) + part);
}

/// The settled state is of the time that is shown of all players. All peers have the same lags, so
/// they settle a tick at one play time.
static void set_lag(FlSession *session)
{
    const Agreed *agreed = &session->play->agreed;
    const FlTimelineDef *def = fl__timeline_def(agreed->timeline);
    const FlLags *lags = fl__session_lags(session);
    FlTime least = FL_FOREVER;
    FlTime begun = fl_session_local_time(session, tick_begins(def, agreed->present));
    FlTime now = begun != FL_FOREVER ? fl__time_max(session->now, begun) : session->now;
    for (int32_t m = 0; m < session->seat_count && m < FL_LAGS_PEERS && lags != NULL; m++) {
        FlLagsShown shown;
        if (fl__timeline_plays(agreed->timeline, m, agreed->present) &&
            fl__lags_shown(lags, m, now, &shown)) {
            least = fl_time_min(least, shown.time);
        }
    }
    if (least != FL_FOREVER) {
        int64_t behind = agreed->present - tick_at(def, least) + def->lag_ticks;
        behind = behind < 0 ? 0 : behind > def->history_ticks ? def->history_ticks : behind;
        fl_timeline_lag(agreed->timeline, (int32_t)behind);
    }
}

// ---------------------------------------------------------------- every frame

FlResult fl_session_advance(FlSession *session, int64_t present)
{
    Agreed *agreed = &session->play->agreed;
    if (agreed->timeline == NULL) {
        return FL_NOT_FOUND;
    }
    if (!agreed->begun) {
        return FL_WOULD_BLOCK;
    }
    agreed->present = present > agreed->present ? present : agreed->present;
    fl__agreed_follow_host(session);
    for (int32_t member = 0; member < session->seat_count; member++) {
        fl__agreed_feed(session, member);
    }
    if (agreed->by_lags) {
        set_lag(session);
    }
    fl_timeline_advance(agreed->timeline, agreed->present);
    if (session->state == FL_SESSION_RUNNING && session->complete) {
        fl__agreed_send(session);
        send_hashes(session);
    }
    return FL_OK;
}
