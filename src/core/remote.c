// Others' entities: updates and states in, poses out, relaying.
#include "private.h"

#include <string.h>

// How old an update is, told without a common clock: the link's one-way delay, and what it rested
// at the sender (by the sender's own clock) before.
static FlTime age_of(const FlSession *session, int32_t line, FlTime stamp, const Moment *when)
{
    FlClockDelays delays = fl_clock_delays(fl_link_peer_clock(session->lines[line].link));
    FlTime rest = fl_span(when->sent, stamp);
    return (delays.known ? delays.in.average_ns : 0) + (rest > 0 ? rest : 0);
}

// May this line's member tell of this entity? The host may tell of everybody's.
static bool may_tell(const FlSession *session, int32_t index, uint32_t number, const Entity *entity)
{
    const Line *line = &session->lines[index];
    if (!fl__is_host(session) && line->member == session->host) {
        return entity == NULL || !entity->ours;
    }
    if (entity != NULL && entity->owner != FL__NONE) {
        return entity->owner == line->member && !entity->orphan;
    }
    return number / session->share == (uint32_t)line->member;
}

// The entity that something of epoch `epoch` is about, made if it is new. NULL: it is not to be
// taken, and counted.
Entity *fl__entity_for(FlSession *session, int32_t index, uint32_t number, uint16_t epoch)
{
    int32_t slot = session->by_number[number];
    Entity *entity = slot != FL__NONE ? &session->entities[slot] : NULL;
    bool known = session->number_known[number];
    uint16_t newest = session->number_epoch[number];
    bool older = known && (fl_epoch_newer(newest, epoch) || (entity == NULL && newest == epoch));
    if (older) {
        session->count[FL_SESSION_OLD_EPOCH]++;
        return NULL;
    }
    bool newer = entity != NULL && epoch != entity->epoch;
    bool host = fl__is_host(session);
    // What is ours nobody takes from us but the host.
    bool robbed = newer && entity->ours && session->lines[index].member != session->host;
    if (!may_tell(session, index, number, newer ? NULL : entity) || (newer && host) || robbed) {
        fl__count_foreign(session, &session->lines[index]);
        return NULL;
    }
    if (newer) { // by an owner of whom the host's word is still under way
        entity->giving = false;
        entity->ours = false;
        entity->epoch = epoch;
        entity->owner = FL__NONE;
        entity->orphan = false;
        session->number_epoch[number] = epoch;
    }
    if (entity != NULL) {
        return entity;
    }
    int32_t owner = number / session->share == (uint32_t)session->lines[index].member
                        ? session->lines[index].member
                        : FL__NONE;
    entity = fl__entity_take(session, number, epoch, owner);
    if (entity != NULL) {
        FlNotice notice = {.kind = FL_NOTICE_ENTITY_NEW,
                           .entity = fl__entity_id(session, entity),
                           .peer = fl__peer_id(session, owner)};
        fl__notice(session, &notice);
    }
    return entity;
}

// Passes an update on to whom the policy says: the same bytes, unless it was re-timed.
static void relay(FlSession *session, Entity *entity, const FlMotion *motion, const uint8_t *packed,
                  int32_t bytes, FlTime time)
{
    uint32_t life = entity->show.life;
    if (session->def.time_mode == FL_TIME_GLOBAL) {
        memcpy(entity->packed, packed, (size_t)bytes);
        entity->packed_bytes = bytes;
        fl__entity_export(session, entity, motion, life, time);
        return;
    }
    FlMotion rounded;
    bool wide;
    if (fl_update_round(&session->world, motion, &rounded, &wide) == FL_OK) {
        entity->packed_bytes = fl__entity_pack(session, entity, &rounded, life, entity->packed);
        fl__entity_export(session, entity, &rounded, life, time);
    }
}

void fl__update_take(FlSession *session, int32_t line, FlUpdate *update, uint16_t epoch,
                     const uint8_t *packed, int32_t bytes, const Moment *when)
{
    Entity *entity = fl__entity_for(session, line, update->entity, epoch);
    if (entity == NULL) {
        return;
    }
    entity->giver = FL__NONE;
    FlTime stamp = update->motion.time;
    FlTimeMode mode = session->def.time_mode;
    FlTime age = mode == FL_TIME_ONE_WAY ? age_of(session, line, stamp, when) : 0;
    update->motion.time = fl_time_place(mode, stamp, when->arrived, age);
    entity->heard = stamp;
    entity->heard_at = when->arrived;
    fl__guide_snapshots(entity, when->arrived);
    bool shown = fl_show_arrive(&entity->show, update, stamp, when->arrived);
    session->count[shown ? FL_SESSION_UPDATES_TAKEN : FL_SESSION_UPDATES_OVERTAKEN]++;
    if (shown && fl__is_host(session)) {
        relay(session, entity, &update->motion, packed, bytes, when->arrived);
    }
}

void fl_session_time_mode(FlSession *session, FlTimeMode mode)
{
    FL_ASSERT(mode >= FL_TIME_GLOBAL && mode <= FL_TIME_ONE_WAY);
    session->def.time_mode = mode;
}

FlResult fl_entity_pose(FlSession *session, FlEntityId id, FlTime now, FlPose *pose)
{
    memset(pose, 0, sizeof *pose);
    Entity *entity = fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    FlTime time = fl_session_time(session, now);
    if (!entity->ours || !entity->exporter.started) {
        return fl_show_pose(&entity->show, time, pose);
    }
    *pose = fl_motion_pose(&entity->exporter.exported, time);
    return FL_OK;
}

FlResult fl_entity_show(FlSession *session, FlEntityId id, const FlShowDef *def)
{
    Entity *entity = fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    if (entity->ours) {
        return FL_BAD_VALUE;
    }
    const FlPiece *newest = fl_path_at(&entity->show.placed, FL_FOREVER);
    FlPiece last = {0};
    FlTime stamp = entity->show.newest;
    if (newest != NULL) {
        last = *newest;
    }
    fl_show_init_with(&entity->show, def);
    if (newest != NULL) {
        FlUpdate update = {entity->number, last.life, last.motion};
        (void)fl_show_arrive(&entity->show, &update, stamp, last.from);
        entity->show.life = last.life;
    }
    return FL_OK;
}

FlResult fl_entity_delta(FlSession *session, FlEntityId id, const FlDeltaChange *change)
{
    Entity *entity = fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    if (entity->ours || entity->show.def.hold != FL_HOLD_ADAPTIVE) {
        return FL_BAD_VALUE;
    }
    return fl_show_delta(&entity->show, change->delta_ns, change->from) ? FL_OK : FL_OUT_OF_ORDER;
}
