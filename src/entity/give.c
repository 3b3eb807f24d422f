// Entities that change their owner, and who may see private ones.
#include "export.h"
#include "fields.h"
#include "handover.h"
#include "priority.h"
#include "private.h"

void fl__entity_adopt(FlSession *session, Entity *entity)
{
    bool before = entity->ours;
    entity->ours = true;
    entity->giving = false;
    if (before) {
        return;
    }
    // A client of a crowd that owns more than it has room for leaves it as it is.
    if (!fl__detail_take(session, entity)) {
        fl__count(session, FL_SESSION_NO_ROOM);
        entity->ours = false;
        return;
    }
    entity->detail->life =
        entity->detail->show.started ? entity->detail->show.life : entity->detail->life;
    FlTime sent = entity->detail->show.started ? entity->detail->show.newest : INT64_MIN;
    FlTime own =
        entity->detail->exporter.started ? entity->detail->exporter.exported.time : INT64_MIN;
    entity->detail->not_before = fl__time_max(sent, own);
    fl__exporter_start(session, entity);
    FlNotice notice = {.kind = FL_NOTICE_ENTITY_OURS,
                       .entity = fl__id_of(session, entity),
                       .peer = fl__peer_id(session, session->self)};
    fl__notice(session, &notice);
}

void fl__entity_theirs(FlSession *session, const Entity *entity)
{
    FlNotice notice = {.kind = FL_NOTICE_ENTITY_THEIRS,
                       .entity = fl__id_of(session, entity),
                       .peer = fl__peer_id(session, entity->owner)};
    fl__notice(session, &notice);
}

void fl__entity_pass(FlSession *session, Entity *entity, int32_t to, uint16_t epoch, FlTime time)
{
    int32_t from = entity->owner;
    entity->owner = to;
    entity->owner_before = from != to ? from : entity->owner_before;
    entity->epoch = epoch;
    entity->orphan = false;
    entity->giving = false;
    entity->handing = fl__is_host(session) && to != session->self;
    entity->giver = entity->handing ? from : FL__NONE;
    session->entities->number_epoch[entity->number] = epoch;
    if (to == session->self) {
        fl__entity_adopt(session, entity);
    } else if (from != to || entity->ours) {
        if (entity->ours) { // from now on it is shown as others' are, going on from what we sent
            fl__entity_disown(session, entity, time);
        }
        fl__entity_theirs(session, entity);
    }
    fl__entity_watch(session, entity, time);
    fl__entity_changed(session, CHANGE_ENTITY_MOVED, fl__slot(session, entity));
}

void fl__entity_disown(FlSession *session, Entity *entity, FlTime time)
{
    entity->ours = false;
    if (!fl__is_host(session) &&
        session->entities->ledger !=
            NULL) { // should it ever come back, what we sent of it is history
        int32_t slot = fl__slot(session, entity);
        FlSend policy = fl__policy_here(session, entity->def);
        fl_ledger_entity_end(session->entities->ledger, slot);
        fl_ledger_entity_begin(session->entities->ledger, slot, &policy);
    }
    if (!entity->detail->exporter.started) {
        return;
    }
    FlUpdate last = {entity->number, entity->detail->life, entity->detail->exporter.exported};
    // It held until now, as no member knows better than we. Should the same update come back, it is
    // shown as whoever sends it expects: so this one is the older.
    last.motion.fade = (FlFade){0};
    (void)fl_show_arrive(&entity->detail->show, &last, last.motion.time - 1,
                         fl__shown_arrival(session, entity, time));
}

// What goes along with it, then that it goes.
static FlResult tell_give(FlSession *session, const Entity *entity, int32_t member)
{
    FlWriter writer;
    fl_writer_init(&writer, fl__message_bytes(session), MESSAGE_ROOM);
    fl__features_hand_over(session, fl__slot(session, entity), (uint16_t)(entity->epoch + 1),
                           &writer);
    FlResult result = fl__host_send(session, &writer);
    if (result != FL_OK) {
        return result;
    }
    GiveMessage message = {(uint16_t)entity->number, entity->epoch, (uint16_t)member};
    fl_writer_init(&writer, fl__message_bytes(session), MESSAGE_ROOM);
    fl__give_message_write(&writer, &message);
    return fl__host_send(session, &writer);
}

// Host: takes it from its owner, who may have decided calls that its next one does not know of.
static void take_from_owner(const FlSession *session, Entity *entity)
{
    entity->call_floor = (uint16_t)(entity->epoch + 1);
    if (entity->detail != NULL && entity->detail->state_version != 0) {
        entity->detail->state_version = fl__state_after(entity->detail->state_version);
        entity->detail->state_epoch = entity->call_floor;
        fl__fields_restamp(session, entity);
    }
}

static FlResult give_as_host(FlSession *session, Entity *entity, int32_t member, FlTime time)
{
    bool ours = entity->ours;
    if (!ours) {
        take_from_owner(session, entity);
    }
    fl__entity_pass(session, entity, member, (uint16_t)(entity->epoch + 1), time);
    fl__entity_announce(session, entity->number, FL__NONE);
    if (ours) {
        fl__entity_changed(session, CHANGE_ENTITY_GIVEN, fl__slot(session, entity));
    } else {
        entity->giver = FL__NONE; // not to whom it was taken from
    }
    return FL_OK;
}

FlResult fl_entity_give(FlSession *session, FlTime now, FlEntityId id, FlPeerId to)
{
    Entity *entity;
    FlResult result = fl__entity_ruled(session, id, &entity);
    if (result != FL_OK) {
        return result;
    }
    int32_t member = fl__member_of(session, to);
    if (member == FL__NONE) {
        return FL_STALE_ID;
    }
    if (member == entity->owner) {
        return FL_BAD_VALUE;
    }
    if (entity->ours && fl__features_keep(session, fl__slot(session, entity))) {
        return FL_WOULD_BLOCK; // a call was taken and not answered: who would?
    }
    FlTime time = fl_session_time(session, now);
    if (fl__is_host(session)) {
        return give_as_host(session, entity, member, time);
    }
    result = tell_give(session, entity, member);
    if (result == FL_OK) {
        fl__entity_disown(session, entity, time);
        entity->giving = true;
        entity->detail->given = member;
        fl__entity_changed(session, CHANGE_ENTITY_GIVEN, fl__slot(session, entity));
    }
    return result;
}

// Ours, and the host knows it.
static FlResult scope_set(FlSession *session, FlEntityId id, FlPeerId peer, bool sees, bool fields,
                          Entity **entity)
{
    FlResult result = fl__entity_ours(session, id, entity);
    int32_t member = fl__member_of(session, peer);
    if (result != FL_OK || member == FL__NONE) {
        return result != FL_OK ? result : FL_STALE_ID;
    }
    if (!fl__is_host(session)) {
        ScopeMessage message = {(uint16_t)(*entity)->number, (*entity)->epoch, (uint16_t)member,
                                sees, fields};
        FlWriter writer;
        fl_writer_init(&writer, fl__message_bytes(session), MESSAGE_ROOM);
        fl__scope_message_write(&writer, &message);
        result = fl__host_send(session, &writer);
    }
    return result;
}

FlResult fl_entity_scope(FlSession *session, FlTime now, FlEntityId id, FlPeerId peer, bool sees)
{
    Entity *entity;
    FlResult result = scope_set(session, id, peer, sees, false, &entity);
    if (result == FL_OK) {
        fl__entity_scope(session, entity, fl__member_of(session, peer), sees,
                         fl_session_time(session, now));
    }
    return result;
}

FlResult fl_field_scope(FlSession *session, FlEntityId id, FlPeerId peer, bool sees)
{
    Entity *entity;
    FlResult result = scope_set(session, id, peer, sees, true, &entity);
    if (result == FL_OK) {
        fl__fields_scope(session, entity, fl__member_of(session, peer), sees);
    }
    return result;
}

FlResult fl_entity_priority(FlSession *session, FlEntityId id, FlPeerId viewer, double priority)
{
    Entity *entity = fl__entity_find(session, id);
    int32_t member = fl__member_of(session, viewer);
    if (entity == NULL || member == FL__NONE) {
        return FL_STALE_ID;
    }
    if (!(priority >= 0.0 && priority <= 1.0) || member == session->self) {
        return FL_BAD_VALUE;
    }
    int32_t connection = fl__member_connection(session, member);
    bool ours = entity->ours || fl__is_host(session);
    if (session->entities->priorities == NULL || !ours || connection == FL__NONE) {
        return FL_NOT_FOUND;
    }
    uint8_t least = priority > 0.0 ? 1 : 0;
    uint8_t value = (uint8_t)(priority * PRIORITY_FULL + 0.5);
    uint8_t *now = fl__priority_of(session, entity, member);
    bool scope = (*now == 0) != (priority == 0.0);
    *now = value > least ? value : least;
    if (scope) {
        fl__entity_watch_over(session, entity, connection, fl__time_latest(session));
        fl__connection_wake(session, connection);
    }
    return FL_OK;
}

void fl__entity_scope(FlSession *session, Entity *entity, int32_t member, bool sees, FlTime time)
{
    uint64_t *scope = fl__scope_of(session, entity);
    if (sees) {
        fl__bit_set(scope, member);
    } else {
        fl__bit_clear(scope, member);
    }
    if (fl__is_host(session)) {
        fl__entity_announce_to(session, entity->number, member);
    }
    fl__entity_watch(session, entity, time);
}
