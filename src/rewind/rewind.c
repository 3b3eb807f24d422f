// A frame on another player's screen, replayed.
//
// A screen is a function of the updates, of when each arrived, and of how they are shown: asking
// for poses changes nothing (src/show/show.c). All three are known to whoever distributes an
// entity: it made the updates, arrivals are reported to the step that the receiver itself went by,
// and settings are said (show_settings.c). So a frame is replayed by feeding an FlShow what had
// arrived by then. No part of it travels with the shot but the frame's time.
//
// What is replayed is all that is remembered, since smoothing depends on everything before: where a
// picture may be little faster than the thing, it catches up over seconds. Only a view that is
// neither held nor smoothed needs no more than the last few. Nothing is done when reports come in;
// a frame that is never asked for costs nothing.
//
// Is everything known that had arrived by then? In a session that rewinds, every packet repeats all
// reports that are not confirmed (FlLinkDef.repeat_reports). So once any packet is here that the
// shooter sent at or after the frame, every arrival up to the frame is: the shot's own packet, or a
// later one that overtook it.
//
// What a lie is worth. Reports that cannot be true have no effect (src/send/shown.c): arrivals lie
// between sending and the report, to within the bound on the shooter's clock, and each update has
// one fate. What is left is to claim that updates came late or never, and to choose the frame's
// time. Against that all goes back `rewind_ns` at most: the frame from now, Δ from the frame, and
// of what was sent longer than that before the frame everything counts as seen; who claims not to
// have, is not judged by it.
#include "private.h"

#include "show/show.h"

#define LOOKED_BACK 2 // updates that a placement looks at, before the one in use
#define ROUNDING_NS (2 * FL_LINK_STEP_NS) // stamps, and the clock offset they are read by

// ---------------------------------------------------------------- making

enum { TABLES = 7 };

static void list_tables(Rewind *rewind, const FlSession *session, Fl__Table tables[TABLES])
{
    size_t connections = (size_t)session->connection_count;
    size_t entities = (size_t)session->def.entity_capacity;
    size_t connection_words = (size_t)fl__bit_words(session->connection_count);
    Fl__Table all[TABLES] = {
        {(void **)&rewind->all, connections * sizeof(ShowSettings)},
        {(void **)&rewind->views, connections * entities * sizeof(ShowSettings)},
        {(void **)&rewind->all_due, connection_words * sizeof(uint64_t)},
        {(void **)&rewind->due, (size_t)session->entity_words * sizeof(uint64_t)},
        {(void **)&rewind->otherwise, (size_t)session->entity_words * sizeof(uint64_t)},
        {(void **)&rewind->since, entities * sizeof(FlTime)},
        {(void **)&rewind->sent, (size_t)rewind->sent_capacity * sizeof(FlLedgerSent)},
    };
    memcpy(tables, all, sizeof all);
}

// A crowd keeps no ledger, so there is nothing to replay.
static bool is_kept(const FlSessionDef *def)
{
    return def->rewind_ns > 0 && def->topology != FL_TOPOLOGY_CROWD;
}

FlResult fl__rewind_create(FlSession *session)
{
    if (!is_kept(&session->def)) {
        return FL_OK;
    }
    Rewind *rewind = (Rewind *)fl_alloc(&session->def.alloc, sizeof *rewind, _Alignof(Rewind));
    session->rewind = rewind;
    if (rewind == NULL) {
        return FL_NO_MEMORY;
    }
    rewind->sent_capacity = fl__entity_history(&session->def);
    Fl__Table tables[TABLES];
    list_tables(rewind, session, tables);
    return fl__tables_reserve(&session->def.alloc, tables, TABLES) ? FL_OK : FL_NO_MEMORY;
}

void fl__rewind_destroy(FlSession *session)
{
    if (session->rewind != NULL) {
        Fl__Table tables[TABLES];
        list_tables(session->rewind, session, tables);
        fl__tables_release(&session->def.alloc, tables, TABLES);
        fl_free(&session->def.alloc, session->rewind, sizeof *session->rewind);
        session->rewind = NULL;
    }
}

size_t fl__rewind_bytes(const FlSessionDef *def)
{
    size_t history = (size_t)fl__entity_history(def) * sizeof(FlLedgerSent);
    return is_kept(def) ? sizeof(Rewind) + history : 0;
}

size_t fl__rewind_connection_bytes(const FlSessionDef *def)
{
    return is_kept(def) ? sizeof(ShowSettings) : 0;
}

size_t fl__rewind_pair_bytes(const FlSessionDef *def)
{
    return is_kept(def) ? sizeof(ShowSettings) : 0;
}

// ---------------------------------------------------------------- the frame

FlResult fl_rewind_to(FlSession *session, FlTime now, FlPeerId peer, FlTime time, FlRewind *frame)
{
    FlRewind none = {.connection = FL__NONE};
    *frame = none;
    int32_t member = fl__member_of(session, peer);
    if (member == FL__NONE) {
        return FL_STALE_ID;
    }
    FlTime age = fl_span(fl_session_time(session, now), time);
    if (session->rewind == NULL || age < -session->def.rewind_ns) {
        return FL_BAD_VALUE;
    }
    if (age > session->def.rewind_ns) {
        return FL_OUT_OF_ORDER;
    }
    int32_t connection = fl__member_connection(session, member);
    if (connection == FL__NONE && member != session->self) {
        return FL_NOT_FOUND;
    }
    if (member != session->self) {
        fl__manifest_settle(session, connection, now); // what came with the shot says what arrived
        FlTime until = fl__packet_newest_sent(session, connection);
        if (until == INT64_MIN || fl_span(time, until) > ROUNDING_NS) {
            return FL_WOULD_BLOCK;
        }
    }
    FlRewind found = {peer, time, connection};
    *frame = found;
    return FL_OK;
}

// ---------------------------------------------------------------- replaying

// Of a pair's history what had arrived by then, in that order, to the front. Returns how many; and
// the newest of them, and of all that had been sent long enough before.
static int32_t arrived_by(FlLedgerSent *sent, int32_t count, FlTime time, FlTime long_ago,
                          uint32_t *newest, uint32_t *due)
{
    int32_t arrived = 0;
    *newest = *due = count > 0 ? sent[0].serial - 1 : 0;
    for (int32_t i = 0; i < count; i++) {
        FlLedgerSent one = sent[i];
        if (one.sent <= long_ago && fl__serial_newer(one.serial, *due)) {
            *due = one.serial;
        }
        if (one.arrived > time) {
            continue;
        }
        *newest = fl__serial_newer(one.serial, *newest) ? one.serial : *newest;
        int32_t at = arrived++;
        while (at > 0 && sent[at - 1].arrived > one.arrived) {
            sent[at] = sent[at - 1];
            at--;
        }
        sent[at] = one;
    }
    return arrived;
}

// The first of those arrivals that matters to what is shown at `time`.
static int32_t first_of(const FlLedgerSent *arrived, int32_t count, const ShowSettings *settings,
                        FlTime time)
{
    const FlShowDef *def = &settings->def;
    bool plain = def->hold == FL_HOLD_AT_ONCE && def->convergence == FL_CONVERGENCE_AT_ONCE;
    if (plain) { // the newest, which a straggler may follow
        return fl__int_max(0, count - 2 - LOOKED_BACK);
    }
    int32_t first = 0; // settings that change begin anew with what is shown then
    while (settings->from != 0 && settings->from <= time && first + 1 < count &&
           arrived[first + 1].arrived <= settings->from) {
        first++;
    }
    return first;
}

static void begin(FlShow *show, const ShowSettings *settings)
{
    fl_show_init(show, &settings->def);
    for (int32_t i = 0; i < settings->change_count; i++) {
        (void)fl_show_delta(show, settings->changes[i].delta_ns, settings->changes[i].from);
    }
}

// Where it is shown by lags, all pictures are of the same time at once: the player's is ours.
// False: lags are not known.
static bool shown_times(const FlSession *session, int32_t slot, const ShowSettings *settings,
                        FlTime *frame, FlLedgerSent *sent, int32_t count)
{
    bool known =
        settings->def.hold != FL_HOLD_LAGS || fl__entity_time_by_lags(session, slot, *frame, frame);
    for (int32_t i = 0; i < count && known && settings->def.hold == FL_HOLD_LAGS; i++) {
        known = fl__entity_time_by_lags(session, slot, sent[i].arrived, &sent[i].arrived);
    }
    return known;
}

static FlResult replay(FlSession *session, int32_t slot, const FlRewind *frame, FlPose *pose)
{
    Rewind *rewind = session->rewind;
    const FlLedger *ledger = fl__ledger(session);
    const ShowSettings *settings = fl__show_settings_of(session, frame->connection, slot);
    int32_t count = fl__ledger_history(ledger, slot, frame->connection, rewind->sent);
    FlTime long_ago = fl_time_add(frame->time, -session->def.rewind_ns);
    uint32_t newest, due;
    count = arrived_by(rewind->sent, count, frame->time, long_ago, &newest, &due);
    if (count == 0) {
        return FL_NOT_FOUND;
    }
    begin(&rewind->show, settings);
    int32_t first = first_of(rewind->sent, count, settings, frame->time);
    FlTime time = frame->time;
    if (!shown_times(session, slot, settings, &time, rewind->sent, count)) {
        return FL_NOT_FOUND;
    }
    FlTime shown = fl_show_time(&rewind->show, time);
    if (fl__serial_newer(due, newest) || fl_span(frame->time, shown) > session->def.rewind_ns) {
        return FL_OUT_OF_ORDER;
    }
    for (int32_t i = first; i < count; i++) {
        const FlPiece *piece = fl_ledger_exported(ledger, slot, rewind->sent[i].serial);
        if (piece != NULL) {
            FlUpdate update = {fl__entity_number(session, slot), piece->life & 3u, piece->motion};
            (void)fl_show_arrive(&rewind->show, &update, piece->motion.time,
                                 rewind->sent[i].arrived);
        }
    }
    return fl_show_pose(&rewind->show, time, pose);
}

// A player's own thing: by the newest that it had said of it by then, whenever that got here. What
// we pass on is in the ledger; of what we do not, the last updates are with the screen here.
static FlResult own_pose(const FlSession *session, int32_t slot, const FlRewind *frame,
                         FlPose *pose)
{
    const FlPiece *piece = fl__ledger_exported_at(fl__ledger(session), slot, frame->time);
    if (piece != NULL && piece->life != FL_LIFE_NONE) {
        *pose = fl_motion_pose(&piece->motion, frame->time);
        return FL_OK;
    }
    const FlShow *show = fl__entity_screen(session, slot);
    for (int32_t i = show != NULL ? show->update_count - 1 : -1; i >= 0; i--) {
        if (show->updates[i].motion.time <= frame->time) {
            *pose = fl_motion_pose(&show->updates[i].motion, frame->time);
            return FL_OK;
        }
    }
    return fl__entity_was(session, slot, frame->time, pose) ? FL_OK : FL_NOT_FOUND;
}

FlResult fl_rewind_pose(FlSession *session, const FlRewind *frame, FlEntityId id, FlPose *pose)
{
    memset(pose, 0, sizeof *pose);
    int32_t slot = fl__entity_slot(session, id);
    int32_t member = fl__member_of(session, frame->peer);
    if (slot == FL__NONE || member == FL__NONE) {
        return FL_STALE_ID;
    }
    if (session->rewind == NULL) {
        return FL_NOT_FOUND;
    }
    if (fl__entity_owner(session, slot) == member) {
        return own_pose(session, slot, frame, pose);
    }
    if (member == session->self) {
        const FlShow *show = fl__entity_screen(session, slot);
        FlTime time = frame->time;
        if (show != NULL && show->def.hold == FL_HOLD_LAGS) {
            (void)fl__entity_time_by_lags(session, slot, time, &time);
        }
        return show != NULL ? fl_show_pose(show, time, pose) : FL_NOT_FOUND;
    }
    return frame->connection == fl__member_connection(session, member)
               ? replay(session, slot, frame, pose)
               : FL_NOT_FOUND;
}

bool fl_rewind_next(FlSession *session, const FlRewind *frame, FlEntityId *id, FlPose *pose)
{
    int32_t member = fl__member_of(session, frame->peer);
    int32_t slot = fl__entity_after(session, (int32_t)id->index1);
    for (; slot != FL__NONE; slot = fl__entity_after(session, slot + 1)) {
        *id = fl__entity_id(session, slot);
        if (fl__entity_owner(session, slot) != member &&
            fl_rewind_pose(session, frame, *id, pose) == FL_OK) {
            return true;
        }
    }
    FlEntityId none = {0, 0};
    *id = none;
    return false;
}

FlResult fl_rewind_claim(FlSession *session, const FlRewind *frame, FlEntityId id, FlVec3 claimed,
                         double within, FlPose *pose)
{
    FlResult result = fl_rewind_pose(session, frame, id, pose);
    if (result != FL_OK) {
        return result;
    }
    bool guided = fl__entity_info(session, fl__entity_slot(session, id)).def->guided;
    if (!guided || !(fl_vec3_distance(pose->position, claimed) <= within)) {
        memset(pose, 0, sizeof *pose);
        return FL_BAD_VALUE;
    }
    pose->position = claimed;
    return FL_OK;
}
