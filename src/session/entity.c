// The table of entities: fixed slots, ids that outlive their entities, numbers that all peers
// share.
//
// Invariant: slot s is live  <=>  generation[s] is odd; by_number[n] is the live slot with number
// n, or -1.
#include "private.h"

#include <string.h>

#define ENTITY_COOKIE 0x454e5431u

FlEntityDef fl_entity_def_default(void)
{
    FlEntityDef def = {
        .model = FL_MODEL_AUTO,
        .trigger = fl_trigger_def_default(),
        .send = fl_send_base(),
        .cookie = ENTITY_COOKIE,
    };
    return def;
}

Entity *fl__entity_find(const FlSession *session, FlEntityId id)
{
    if (id.index1 == 0 || id.index1 > (uint32_t)session->def.entity_capacity) {
        return NULL;
    }
    Entity *entity = &session->entities[id.index1 - 1];
    bool live = (entity->generation & 1u) != 0 && entity->generation == id.generation;
    return live ? entity : NULL;
}

bool fl__entity_is_ours(const Entity *entity)
{
    return (entity->generation & 1u) != 0 && entity->owner == FL__PEER_NONE;
}

static FlEntityId id_of(const FlSession *session, const Entity *entity)
{
    FlEntityId id = {(uint32_t)(entity - session->entities) + 1, entity->generation};
    return id;
}

bool *fl__entity_due(const FlSession *session, const Entity *entity, int32_t peer)
{
    int32_t slot = (int32_t)(entity - session->entities);
    return &session->due[slot * session->def.peer_capacity + peer];
}

static Entity *slot_take(FlSession *session, uint32_t number, int32_t owner)
{
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        Entity *entity = &session->entities[i];
        if ((entity->generation & 1u) != 0) {
            continue;
        }
        entity->generation++;
        entity->number = number;
        entity->owner = owner;
        entity->life = 0;
        entity->packed_bytes = 0;
        fl_show_init(&entity->show);
        memset(fl__entity_due(session, entity, 0), 0, (size_t)session->def.peer_capacity);
        session->by_number[number] = i;
        return entity;
    }
    return NULL;
}

void fl__entity_remove(FlSession *session, Entity *entity)
{
    session->by_number[entity->number] = -1;
    entity->generation++;
}

Entity *fl__entity_remote(FlSession *session, int32_t peer, uint32_t number)
{
    int32_t slot = session->by_number[number];
    return slot >= 0 ? &session->entities[slot] : slot_take(session, number, peer);
}

// ---------------------------------------------------------------- ours

static bool number_take(FlSession *session, uint32_t *number)
{
    for (uint32_t i = 0; i < session->own_count; i++) {
        uint32_t candidate = session->own_first + (session->own_next + i) % session->own_count;
        if (session->by_number[candidate] < 0) {
            session->own_next = (candidate - session->own_first + 1) % session->own_count;
            *number = candidate;
            return true;
        }
    }
    return false;
}

FlResult fl_entity_create(FlSession *session, const FlEntityDef *def, FlEntityId *id)
{
    FL_ASSERT(def->cookie == ENTITY_COOKIE);
    FlEntityId none = {0};
    *id = none;
    if (session->state != FL_SESSION_RUNNING) {
        return session->state == FL_SESSION_JOINING ? FL_WOULD_BLOCK : FL_STALE_ID;
    }
    uint32_t number;
    Entity *entity =
        number_take(session, &number) ? slot_take(session, number, FL__PEER_NONE) : NULL;
    if (entity == NULL) {
        return FL_FULL;
    }
    FlExporterDef exporter = fl_exporter_def_default();
    exporter.model = def->model;
    exporter.trigger = def->trigger;
    fl_exporter_init(&entity->exporter, &exporter);
    entity->def = *def;
    *id = id_of(session, entity);
    return FL_OK;
}

// Packs what will travel, once for all receivers, and makes it what the owner predicts from.
static bool export_update(FlSession *session, Entity *entity, const FlMotion *motion)
{
    FlMotion rounded;
    bool wide;
    if (fl_update_round(&session->world, motion, &rounded, &wide) != FL_OK) {
        return false;
    }
    FlUpdate update = {entity->number, entity->life, rounded};
    FlWriter writer;
    fl_writer_init(&writer, entity->packed, sizeof entity->packed);
    if (!fl_update_encode(&writer, &session->world, &update)) {
        return false;
    }
    entity->packed_bytes = fl_writer_size(&writer);
    fl_exporter_commit(&entity->exporter, &rounded);
    session->count[FL_SESSION_UPDATES_WIDE] += wide ? 1 : 0;
    return true;
}

// Asks the policy who gets the newest update.
static void plan_update(FlSession *session, Entity *entity, FlTime now)
{
    FlSendView view = {now, &entity->exporter.exported, session->def.peer_capacity};
    FlSendPlan plan = {fl__entity_due(session, entity, 0), session->def.peer_capacity};
    fl_send_trigger(&entity->def.send, &view, &plan);
}

#define TOO_OLD FL_SEC(5) // leaves ten for the way

void fl__entity_refresh(FlSession *session, Entity *entity, FlTime now)
{
    const FlMotion *told = &entity->exporter.exported;
    if (!entity->exporter.started || fl_span(now, told->time) <= TOO_OLD) {
        return;
    }
    // From the last state on, not from now: the next state may well be older than now.
    FlTime newest = entity->exporter.newest;
    FlMotion again = fl_motion_rebase(told, fl_span(now, newest) <= TOO_OLD ? newest : now);
    if (export_update(session, entity, &again)) {
        plan_update(session, entity, now); // rounded anew, so it is news to the others too
    }
}

FlResult fl_entity_set(FlSession *session, FlEntityId id, const FlState *state)
{
    Entity *entity = fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    if (entity->owner != FL__PEER_NONE) {
        return FL_BAD_VALUE;
    }
    if (fl_session_clock_state(&session->clock) == FL_SESSION_CLOCK_UNSET) {
        return FL_WOULD_BLOCK;
    }
    FlState real = *state;
    real.time = fl_session_time(session, state->time);
    FlMotion motion;
    FlTrigger trigger = fl_exporter_feed(&entity->exporter, &real, &motion);
    if (trigger == FL_TRIGGER_REFUSED) {
        return FL_BAD_VALUE;
    }
    if (trigger == FL_TRIGGER_NONE) {
        return FL_OK;
    }
    if (!export_update(session, entity, &motion)) {
        return FL_BAD_VALUE;
    }
    plan_update(session, entity, real.time);
    return FL_OK;
}

FlResult fl_entity_cut(FlSession *session, FlEntityId id)
{
    Entity *entity = fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    if (entity->owner != FL__PEER_NONE) {
        return FL_BAD_VALUE;
    }
    entity->life++;
    fl_exporter_cut(&entity->exporter);
    return FL_OK;
}

// ---------------------------------------------------------------- all

FlResult fl_entity_pose(const FlSession *session, FlEntityId id, FlTime now, FlPose *pose)
{
    memset(pose, 0, sizeof *pose);
    const Entity *entity = fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    FlTime time = fl_session_time(session, now);
    if (entity->owner != FL__PEER_NONE) {
        return fl_show_pose(&entity->show, time, pose);
    }
    if (!entity->exporter.started) {
        return FL_NOT_FOUND;
    }
    *pose = fl_motion_pose(&entity->exporter.exported, time);
    return FL_OK;
}

FlEntityId fl_entity_next(const FlSession *session, FlEntityId after)
{
    for (uint32_t i = after.index1; i < (uint32_t)session->def.entity_capacity; i++) {
        const Entity *entity = &session->entities[i];
        if ((entity->generation & 1u) != 0) {
            return id_of(session, entity);
        }
    }
    FlEntityId none = {0};
    return none;
}

bool fl_entity_is_ours(const FlSession *session, FlEntityId id)
{
    const Entity *entity = fl__entity_find(session, id);
    return entity != NULL && entity->owner == FL__PEER_NONE;
}

FlResult fl_entity_number(const FlSession *session, FlEntityId id, uint32_t *number)
{
    const Entity *entity = fl__entity_find(session, id);
    *number = entity != NULL ? entity->number : 0;
    return entity != NULL ? FL_OK : FL_STALE_ID;
}
