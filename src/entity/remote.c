// Others' entities: updates and states in, poses out, relaying.
#include "remote.h"
#include "export.h"
#include "handover.h"
#include "private.h"

#include "clock/clock.h"
#include "link/link.h"
#include "send/send.h"
#include "show/show.h"
#include "wire/wire.h"

#include <string.h>

#define EARLY_AT_MOST FL_MS(250) // clocks differ a little

// How old an update is, without a common clock: the link's one-way delay, and what it rested
// at the sender (by the sender's own clock) before.
static FlTime age_of(const FlSession *session, int32_t connection, FlTime stamp,
                     const PacketTimes *when)
{
    FlClockDelays delays =
        fl__clock_delays(fl__link_peer_clock(fl__connection_link(session, connection)));
    FlTime rest = fl_span(when->sent, stamp);
    return (delays.known ? delays.in.average_ns : 0) + (rest > 0 ? rest : 0);
}

static bool is_older(const FlSession *session, uint32_t number, const Entity *entity,
                     uint16_t epoch)
{
    bool known = session->entities->number_known[number];
    uint16_t newest = session->entities->number_epoch[number];
    return known && (fl__seq_newer(newest, epoch) || (entity == NULL && newest == epoch));
}

static Entity *make(FlSession *session, int32_t index, uint32_t number, uint16_t epoch)
{
    int32_t from = fl__connection_member(session, index);
    int32_t owner = number / session->id_range == (uint32_t)from ? from : FL__NONE;
    if (fl__speaker(session, index) != FROM_HOST && !fl__may_create(session, from)) {
        fl__count(session, FL_SESSION_NO_ROOM);
        return NULL;
    }
    Entity *entity = fl__entity_take(session, number, epoch, owner);
    if (entity != NULL) {
        FlNotice notice = {.kind = FL_NOTICE_ENTITY_NEW,
                           .entity = fl__id_of(session, entity),
                           .peer = fl__peer_id(session, owner)};
        fl__notice(session, &notice);
    }
    return entity;
}

// NULL: it is not to be taken, and counted.
static Entity *entity_for(FlSession *session, int32_t index, uint32_t number, uint16_t epoch)
{
    Entity *entity = fl__entity_numbered(session, number);
    if (is_older(session, number, entity, epoch)) {
        fl__count(session, FL_SESSION_OLD_EPOCH);
        return NULL;
    }
    bool newer = entity != NULL && epoch != entity->epoch;
    if (!fl__may_move(session, index, number, entity, epoch)) {
        // The host may have given it to the sender, and we do not know yet; or the host before
        // us, and that is being found out.
        bool peer = fl__speaker(session, index) == FROM_PEER;
        bool early = fl__claims_all(session) || (newer && peer && !entity->ours);
        fl__connection_refused(session, index, early);
        return NULL;
    }
    if (newer) { // by an owner of whom the host's word is still under way
        entity->giving = false;
        entity->ours = false;
        entity->epoch = epoch;
        entity->owner = FL__NONE;
        entity->orphan = false;
        session->entities->number_epoch[number] = epoch;
    }
    return entity != NULL ? entity : make(session, index, number, epoch);
}

int32_t fl__entity_for(FlSession *session, int32_t connection, uint32_t number, uint16_t epoch)
{
    const Entity *entity = entity_for(session, connection, number, epoch);
    return entity != NULL ? fl__slot(session, entity) : FL__NONE;
}

// To whom the policy says, packed anew.
static void relay_rounded(FlSession *session, Entity *entity, const FlMotion *motion, FlTime time)
{
    uint32_t life = entity->detail->show.life;
    FlMotion rounded;
    bool wide;
    if (fl_update_round(&session->world, motion, &rounded, &wide) == FL_OK) {
        entity->detail->packed_bytes =
            fl__entity_pack(session, entity, &rounded, life, entity->detail->packed);
        fl__entity_export(session, entity, &rounded, life, time);
    }
}

// Passes an update on to whom the policy says: the same bytes, unless it was re-timed. In a crowd
// nothing is relayed this way.
static void relay(FlSession *session, Entity *entity, const ReadUpdate *read, FlTime time)
{
    const FlMotion *motion = &read->update.motion;
    if (session->entities->ledger == NULL ||
        !fl__relay_motion(session, entity, motion->time, read->bytes)) {
        return;
    }
    if (session->def.tuning.time_mode == FL_TIME_GLOBAL) {
        memcpy(entity->detail->packed, read->packed, (size_t)read->bytes);
        entity->detail->packed_bytes = read->bytes;
        fl__entity_export(session, entity, motion, entity->detail->show.life, time);
    } else {
        relay_rounded(session, entity, motion, time);
    }
}

static void relay_later(FlSession *session, int32_t slot, FlTime time)
{
    Entity *entity = fl__entity(session, slot);
    const Detail *detail = entity->detail;
    fl__bit_clear(session->entities->moves.slots, slot);
    bool there = fl__is_live(entity) && detail != NULL && detail->show.update_count > 0;
    if (!there || !fl__is_host(session) || entity->ours) {
        return;
    }
    const FlMotion *motion = &detail->show.updates[detail->show.update_count - 1].motion;
    if (fl__relay_motion(session, entity, motion->time, detail->packed_bytes)) {
        relay_rounded(session, entity, motion, time);
        session->entities->moves.turn = slot + 1;
    }
}

void fl__relay_moves(FlSession *session, FlTime now)
{
    Entities *e = session->entities;
    if (now < e->moves.next) {
        return;
    }
    e->moves.next = FL_FOREVER;
    FlTime time = fl_session_time(session, now);
    int32_t turn = e->moves.turn;
    for (int32_t pass = 0; pass < 2; pass++) {
        int32_t end = pass == 0 ? session->def.entity_capacity : turn;
        int32_t slot = fl__bit_next(e->moves.slots, session->entity_words, pass == 0 ? turn : 0);
        for (; slot != FL__NONE && slot < end;
             slot = fl__bit_next(e->moves.slots, session->entity_words, slot + 1)) {
            relay_later(session, slot, time);
        }
    }
}

// What is forwarded has waited for a frame at its owner already.
static void forward_now(FlSession *session, const Entity *entity)
{
    int32_t slot = fl__slot(session, entity);
    for (int32_t i = 0; entity->detail->forwards > 0 && i < session->connection_count; i++) {
        if (fl__entity_forwards(session, slot, i)) {
            fl__ledger_urge(session->entities->ledger, slot, i);
        }
    }
}

// Shows it, as it was stamped. False: it was overtaken.
static bool show_update(FlSession *session, int32_t connection, Entity *entity, FlUpdate *update,
                        const PacketTimes *when)
{
    FlTime stamp = update->motion.time;
    FlTimeMode mode = session->def.tuning.time_mode;
    FlTime age = mode == FL_TIME_ONE_WAY ? age_of(session, connection, stamp, when) : 0;
    update->motion.time = fl__time_place(mode, stamp, when->arrived, age);
    entity->detail->received = stamp;
    entity->detail->received_at = when->arrived;
    if (session->entities->rider != NULL) {
        session->entities->rider->updated(session, fl__slot(session, entity), when->arrived);
    }
    bool shown = fl__show_arrive(&entity->detail->show, update, stamp,
                                 fl__shown_arrival(session, entity, when->arrived));
    session->count[shown ? FL_SESSION_UPDATES_TAKEN : FL_SESSION_UPDATES_OVERTAKEN]++;
    return shown;
}

void fl__update_take(FlSession *session, int32_t connection, ReadUpdate *read, uint16_t epoch,
                     const PacketTimes *when)
{
    FlUpdate *update = &read->update;
    Entity *entity = entity_for(session, connection, update->entity, epoch);
    if (entity == NULL || entity->detail == NULL) { // in a crowd nothing goes this way
        return;
    }
    entity->giver = FL__NONE;
    if (entity->detail->source != FL__NONE) {
        fl__carried_check(session, connection, entity, update);
    }
    bool shown = show_update(session, connection, entity, update, when);
    if (shown && (fl__is_host(session) || entity->detail->forwards > 0)) {
        relay(session, entity, read, when->arrived);
        forward_now(session, entity);
    }
}

void fl__carried_take(FlSession *session, int32_t connection, FlUpdate *update, uint16_t epoch,
                      const PacketTimes *when)
{
    int32_t slot = fl__entity_carried_for(session, connection, update->entity, epoch);
    if (slot == FL__NONE || update->motion.time > fl_time_add(when->arrived, EARLY_AT_MOST)) {
        return;
    }
    Entity *entity = fl__entity(session, slot);
    FlUpdate own = entity->detail->own;
    if (fl__carried_refuted(session, entity, update)) {
        (void)show_update(session, connection, entity, &own, when);
        return;
    }
    FlTime stamp = update->motion.time;
    FlVec3 position = update->motion.position;
    if (show_update(session, connection, entity, update, when)) {
        entity->detail->carried_at = when->arrived;
        entity->detail->carried_stamp = stamp;
        entity->detail->carried_position = position;
    }
}

void fl_session_time_mode(FlSession *session, FlTimeMode mode)
{
    FL_ASSERT(mode >= FL_TIME_GLOBAL && mode <= FL_TIME_ONE_WAY);
    session->def.tuning.time_mode = mode;
}

// By the newest update that a carrier has of it.
static FlResult carried_pose(const FlSession *session, const Entity *entity, FlTime time,
                             FlPose *pose, uint32_t *life)
{
    const Carrier *carrier = session->entities->carrier;
    Carried carried;
    FlMotion motion;
    if (carrier == NULL || !carrier->newest(session, entity->number, &motion, &carried)) {
        return FL_NOT_FOUND;
    }
    if (session->def.tuning.show.hold == FL_HOLD_LAGS) {
        (void)fl__entity_time_by_lags(session, fl__slot(session, entity), time, &time);
    }
    *pose = fl_motion_pose(&motion, time);
    *life = carried.life;
    return FL_OK;
}

// What is watched is shown as elsewhere, by the updates that were the newest when it was looked at.
static void show_carried(FlSession *session, Entity *entity)
{
    const Carrier *carrier = session->entities->carrier;
    Detail *detail = entity->detail;
    FlUpdate update = {.entity = entity->number};
    Carried carried;
    if (carrier == NULL || !carrier->newest(session, entity->number, NULL, &carried) ||
        carried.stamp == detail->received ||
        !carrier->newest(session, entity->number, &update.motion, &carried)) {
        return;
    }
    if (detail->show.started && carried.stamp < detail->show.newest) {
        FlShowDef def = detail->show.def; // its owner says that what was carried is not true
        fl_show_init(&detail->show, &def);
    }
    update.life = carried.life;
    detail->received = carried.stamp;
    detail->received_at = carried.arrived;
    if (session->entities->rider != NULL) {
        session->entities->rider->updated(session, fl__slot(session, entity), carried.arrived);
    }
    bool shown = fl_show_arrive(&detail->show, &update, carried.stamp,
                                fl__shown_arrival(session, entity, carried.arrived));
    session->count[shown ? FL_SESSION_UPDATES_TAKEN : FL_SESSION_UPDATES_OVERTAKEN]++;
}

// What is shown at session time `time`, which is `now` on our own clock.
static FlResult shown_at(FlSession *session, Entity *entity, FlTime time, FlTime now, FlPose *pose)
{
    ShownTime shown = fl__shown_time(session, entity, time, now);
    FlResult result = fl_show_pose(&entity->detail->show, shown.time, pose);
    if (shown.rate != 1.0) {
        pose->velocity = fl_vec3_scale(pose->velocity, shown.rate);
    }
    return result;
}

bool fl_entity_pose_at(FlSession *session, FlTime now, FlEntityId id, FlPose *pose)
{
    memset(pose, 0, sizeof *pose);
    Entity *entity = fl__entity_find(session, id);
    if (entity == NULL) {
        return false;
    }
    FlTime time = fl_session_time(session, now);
    bool ours = entity->ours && !entity->detail->shows_own;
    if (ours && entity->detail->exporter.started) {
        *pose = fl_motion_pose(&entity->detail->exporter.exported, time);
        return true;
    }
    if (entity->detail == NULL) {
        uint32_t life;
        return carried_pose(session, entity, time, pose, &life) == FL_OK;
    }
    show_carried(session, entity);
    return shown_at(session, entity, time, now, pose) == FL_OK;
}

bool fl_entity_pose(FlSession *session, FlEntityId id, FlPose *pose)
{
    return fl_entity_pose_at(session, session->now, id, pose);
}

int32_t fl_entity_positions(FlSession *session, FlTime now, FlVec3 *positions)
{
    FlTime time = fl_session_time(session, now);
    const Carrier *carrier = session->entities->carrier;
    int32_t count = carrier != NULL ? carrier->positions(session, time, positions) : 0;
    for (int32_t i = 0; i < session->def.entity_capacity && carrier == NULL; i++) {
        const Entity *entity = fl__entity(session, i);
        FlPose pose;
        uint32_t life;
        if (fl__is_live(entity) && !entity->ours &&
            fl__entity_shown(session, i, time, &pose, &life) == FL_OK) {
            positions[entity->number] = pose.position;
            count++;
        }
    }
    return count;
}

// Ours, as everybody else sees it: from what we sent last on.
static void show_own(FlSession *session, Entity *entity, const FlShowDef *def)
{
    Detail *detail = entity->detail;
    FlTime time = fl_session_time(session, session->now);
    fl_show_init(&detail->show, def);
    detail->shows_own = def->hold == FL_HOLD_LAGS;
    if (detail->exporter.started) {
        FlUpdate update = {entity->number, detail->life & 3u, detail->exporter.exported};
        (void)fl_show_arrive(&detail->show, &update, update.motion.time,
                             fl__shown_arrival(session, entity, time));
    }
}

FlResult fl_entity_show(FlSession *session, FlEntityId id, const FlShowDef *def)
{
    Entity *entity = fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    bool own = entity->ours && (def->hold == FL_HOLD_LAGS || entity->detail->shows_own);
    if ((entity->ours && !own) || !fl__shows_so(session, def)) {
        return FL_BAD_VALUE;
    }
    if (entity->detail == NULL) {
        return FL_NOT_FOUND;
    }
    session->entities->by_lags = session->entities->by_lags || def->hold == FL_HOLD_LAGS;
    if (own) {
        show_own(session, entity, def);
        return FL_OK;
    }
    FlShow *show = &entity->detail->show;
    const FlPiece *newest = fl_path_at(&show->placed, FL_FOREVER);
    FlPiece last = {0};
    FlTime stamp = show->newest;
    if (newest != NULL) {
        last = *newest;
    }
    fl_show_init(show, def);
    if (newest != NULL) {
        FlUpdate update = {entity->number, last.life, last.motion};
        FlTime now = fl_session_time(session, session->now);
        FlTime from = fl_time_min(last.from, fl__shown_arrival(session, entity, now));
        (void)fl_show_arrive(show, &update, stamp, def->hold == FL_HOLD_LAGS ? from : last.from);
        show->life = last.life;
    }
    fl__entity_changed(session, CHANGE_ENTITY_SHOWN, fl__slot(session, entity));
    return FL_OK;
}

FlResult fl_entity_delta(FlSession *session, FlEntityId id, const FlDeltaChange *change)
{
    const Entity *entity = fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    if (entity->ours || entity->detail == NULL ||
        entity->detail->show.def.hold != FL_HOLD_ADAPTIVE) {
        return FL_BAD_VALUE;
    }
    if (!fl_show_delta(&entity->detail->show, change->delta_ns, change->from)) {
        return FL_OUT_OF_ORDER;
    }
    fl__entity_changed(session, CHANGE_ENTITY_SHOWN, fl__slot(session, entity));
    return FL_OK;
}

// By the newest update that is not after `time`: what came later is of a later life, or turned off.
static bool motion_at(const FlSession *session, const Entity *entity, FlTime time, FlMotion *motion)
{
    const Carrier *carrier = session->entities->carrier;
    Carried carried;
    if (entity->ours) {
        *motion = entity->detail->exporter.exported;
        return entity->detail->exporter.started;
    }
    if (entity->detail == NULL || entity->detail->show.update_count == 0) {
        return carrier != NULL && carrier->newest(session, entity->number, motion, &carried);
    }
    const FlShow *show = &entity->detail->show;
    int32_t i = show->update_count - 1;
    while (i > 0 && show->updates[i].motion.time > time) {
        i--;
    }
    *motion = show->updates[i].motion;
    return true;
}

FlResult fl_entity_newest(const FlSession *session, FlEntityId id, FlMotion *motion)
{
    memset(motion, 0, sizeof *motion);
    const Entity *entity = fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    return motion_at(session, entity, FL_FOREVER, motion) ? FL_OK : FL_NOT_FOUND;
}

// ---------------------------------------------------------------- for other modules

bool fl__entity_stood(const FlSession *session, FlEntityId id, FlTime time, FlPose *pose)
{
    FlMotion motion;
    const Entity *entity = fl__entity_find(session, id);
    bool known = entity != NULL && motion_at(session, entity, time, &motion);
    if (known) {
        *pose = fl_motion_pose(&motion, time);
    }
    return known;
}

const FlShow *fl__entity_screen(const FlSession *session, int32_t slot)
{
    const Entity *entity = fl__entity(session, slot);
    return entity->ours || entity->detail == NULL ? NULL : &entity->detail->show;
}

FlResult fl__entity_shown(FlSession *session, int32_t slot, FlTime time, FlPose *pose,
                          uint32_t *life)
{
    Entity *entity = fl__entity(session, slot);
    *life = 0;
    if (entity->detail == NULL) {
        return carried_pose(session, entity, time, pose, life);
    }
    show_carried(session, entity);
    *life = entity->detail->show.life;
    return shown_at(session, entity, time, fl_session_local_time(session, time), pose);
}

bool fl__entity_was(const FlSession *session, int32_t slot, FlTime time, FlPose *pose)
{
    const Entity *entity = fl__entity(session, slot);
    if (entity->ours && entity->detail->exporter.started) {
        *pose = fl_motion_pose(&entity->detail->exporter.exported, time);
        return true;
    }
    if (entity->detail == NULL) {
        uint32_t life;
        return carried_pose(session, entity, time, pose, &life) == FL_OK;
    }
    const FlPiece *piece = fl_path_at(&entity->detail->show.placed, time);
    if (piece != NULL) {
        *pose = fl_motion_pose(&piece->motion, time);
    }
    return piece != NULL;
}

bool fl__entity_message(FlSession *session, int32_t slot, int32_t member, const FlWriter *w)
{
    const Carrier *carrier = session->entities->carrier;
    return carrier != NULL && fl__entity(session, slot)->detail != NULL &&
           carrier->message(session, member, w->bytes, fl_writer_size(w));
}

const Carrier *fl__entities_carrier(const FlSession *session)
{
    return session->entities->carrier;
}

void fl__entity_guided(FlSession *session, int32_t slot, const FlGuidance *guidance, bool carried,
                       FlTime arrived)
{
    session->entities->rider->guided(session, slot, guidance, carried, arrived);
}

void fl__entities_set_carrier(FlSession *session, const Carrier *carrier)
{
    session->entities->carrier = carrier;
}
