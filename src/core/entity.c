// The table of entities: fixed slots, ids that outlive their entities, numbers that all peers
// share; and the owner's side.
//
// Invariant: slot s is live  <=>  generation[s] is odd; by_number[n] is the live slot with number
// n, or FL__NONE. A live entity has begun in the ledger.
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

// ---------------------------------------------------------------- the table

Entity *fl__entity_find(const FlSession *session, FlEntityId id)
{
    if (id.index1 == 0 || id.index1 > (uint32_t)session->def.entity_capacity) {
        return NULL;
    }
    Entity *entity = &session->entities[id.index1 - 1];
    return fl__entity_live(entity) && entity->generation == id.generation ? entity : NULL;
}

FlEntityId fl__entity_id(const FlSession *session, const Entity *entity)
{
    FlEntityId id = {(uint32_t)fl__entity_slot(session, entity) + 1, entity->generation};
    return id;
}

static Entity *slot_free(const FlSession *session)
{
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        if (!fl__entity_live(&session->entities[i])) {
            return &session->entities[i];
        }
    }
    return NULL;
}

Entity *fl__entity_take(FlSession *session, uint32_t number, uint16_t epoch, int32_t owner)
{
    Entity *entity = slot_free(session);
    if (entity == NULL) {
        session->count[FL_SESSION_NO_ROOM]++;
        return NULL;
    }
    uint32_t generation = entity->generation + 1;
    memset(entity, 0, sizeof *entity);
    entity->generation = generation;
    fl__notice_begin(entity);
    entity->number = number;
    entity->epoch = epoch;
    entity->born = epoch;
    entity->owner = owner;
    entity->def = fl_entity_def_default();
    entity->giver = FL__NONE;
    entity->owner_before = FL__NONE;
    entity->call_floor = epoch;
    entity->not_before = INT64_MIN;
    fl_show_init_with(&entity->show, &session->def.show);
    entity->heard = FL_FOREVER;
    entity->heard_at = FL_FOREVER;
    int32_t slot = fl__entity_slot(session, entity);
    session->by_number[number] = slot;
    session->number_epoch[number] = epoch;
    session->number_known[number] = true;
    memset(&session->scope[slot * session->member_words], 0,
           (size_t)session->member_words * sizeof(uint64_t));
    for (int32_t i = 0; i < session->member_count; i++) {
        session->reported[(int64_t)slot * session->member_count + i] = -1.0f; // not known
    }
    fl_ledger_entity_begin(session->ledger, slot, &entity->def.send);
    Change made = {.kind = CHANGE_ENTITY_MADE, .entity = entity};
    fl__changed(session, &made);
    return entity;
}

// By which policy we distribute it. An owner whose host passes everything on gives the host all:
// the policy is the host's business.
static FlSend policy_here(const FlSession *session, const FlEntityDef *def)
{
    bool relayed = !fl__is_host(session) && session->topology == FL_TOPOLOGY_STAR;
    return relayed ? fl_send_base() : def->send;
}

static bool same_policy(const FlSend *a, const FlSend *b)
{
    char one[FL_SEND_TEXT_BYTES];
    char other[FL_SEND_TEXT_BYTES];
    fl_send_text(a, one);
    fl_send_text(b, other);
    return strcmp(one, other) == 0 && a->share_cap == b->share_cap &&
           a->longest_ns == b->longest_ns && a->patience_ns == b->patience_ns;
}

void fl__entity_define(FlSession *session, Entity *entity, const FlEntityDef *def, FlTime time)
{
    FlSend before = policy_here(session, &entity->def);
    FlSend policy = policy_here(session, def);
    int32_t slot = fl__entity_slot(session, entity);
    entity->def = *def;
    entity->announced = true;
    if (!same_policy(&before, &policy)) {
        fl_ledger_entity_end(session->ledger, slot);
        fl_ledger_entity_begin(session->ledger, slot, &policy);
        const FlPiece *newest = fl_path_at(&entity->show.placed, FL_FOREVER);
        if (entity->packed_bytes > 0 && newest != NULL) { // it was heard of before it was announced
            fl__entity_export(session, entity, &newest->motion, newest->life, time);
        }
    }
    fl__entity_watch(session, entity, time);
}

void fl__entity_remove(FlSession *session, Entity *entity)
{
    int32_t slot = fl__entity_slot(session, entity);
    FlNotice notice = {.kind = FL_NOTICE_ENTITY_GONE,
                       .entity = fl__entity_id(session, entity),
                       .peer = fl__peer_id(session, entity->owner)};
    Change gone = {.kind = CHANGE_ENTITY_GONE, .entity = entity};
    fl__changed(session, &gone);
    fl_ledger_entity_end(session->ledger, slot);
    session->by_number[entity->number] = FL__NONE;
    bool known = fl__notice_forget(session, entity);
    entity->generation++;
    if (fl__is_host(session) || entity->ours) {
        fl__news_entity(session, entity->number, FL__NONE);
    }
    if (!entity->ours && known) {
        fl__notice(session, &notice);
    }
}

FlEntityId fl_entity_next(const FlSession *session, FlEntityId after)
{
    for (uint32_t i = after.index1; i < (uint32_t)session->def.entity_capacity; i++) {
        if (fl__entity_live(&session->entities[i])) {
            return fl__entity_id(session, &session->entities[i]);
        }
    }
    FlEntityId none = {0};
    return none;
}

FlEntityId fl_entity_of_number(const FlSession *session, uint32_t number)
{
    FlEntityId none = {0};
    bool known = number < (uint32_t)session->world.def.entity_capacity &&
                 session->by_number[number] != FL__NONE;
    return known ? fl__entity_id(session, &session->entities[session->by_number[number]]) : none;
}

bool fl_entity_is_ours(const FlSession *session, FlEntityId id)
{
    const Entity *entity = fl__entity_find(session, id);
    return entity != NULL && entity->ours;
}

static FlTime newest_of(const Entity *entity)
{
    if (entity->ours && entity->exporter.started) {
        return entity->exporter.exported.time;
    }
    return entity->show.started ? entity->show.newest : FL_FOREVER;
}

FlResult fl_entity_status(const FlSession *session, FlEntityId id, FlEntityStatus *status)
{
    memset(status, 0, sizeof *status);
    const Entity *entity = fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    status->number = entity->number;
    status->owner = fl__peer_id(session, entity->owner);
    status->ours = entity->ours;
    status->kind = entity->def.kind;
    status->epoch = entity->epoch;
    status->life = entity->ours ? entity->life : entity->show.life;
    status->newest = newest_of(entity);
    status->heard = entity->heard;
    status->heard_at = entity->heard_at;
    return FL_OK;
}

// ---------------------------------------------------------------- who gets it

static bool may_see(const FlSession *session, const Entity *entity, int32_t member)
{
    int32_t slot = fl__entity_slot(session, entity);
    return !entity->def.listed ||
           fl__bit_get(&session->scope[slot * session->member_words], member);
}

bool fl__entity_goes(const FlSession *session, const Entity *entity, int32_t index)
{
    const Line *line = &session->lines[index];
    if (!line->used || !line->heard || entity->owner == line->member) {
        return false;
    }
    if (line->direct && line->heard_map.count == 0) {
        return false; // it has not said yet that it knows the time: it could not place anything
    }
    if (entity->ours) { // the host must have everything: it passes on, and knows who owns what
        return may_see(session, entity, line->member) || line->member == session->host;
    }
    if (!fl__is_host(session) || !entity->announced || session->topology == FL_TOPOLOGY_MESH) {
        return false;
    }
    if (entity->owner == FL__NONE) {
        return false; // a new host that has not heard yet whose it is
    }
    bool without_us =
        fl__bit_get(&session->direct[entity->owner * session->member_words], line->member);
    return may_see(session, entity, line->member) && !without_us;
}

void fl__entity_watch_line(FlSession *session, Entity *entity, int32_t line, FlTime time)
{
    int32_t slot = fl__entity_slot(session, entity);
    bool before = fl_ledger_watches(session->ledger, slot, line);
    bool goes = fl__entity_goes(session, entity, line);
    if (goes == before) {
        return;
    }
    fl_ledger_watch(session->ledger, slot, line, goes, time);
    session->exported = true;
    if (goes && entity->state_version != 0) {
        fl__bit_set(&session->state_due[line * session->entity_words], slot);
    }
}

void fl__entity_watch(FlSession *session, Entity *entity, FlTime time)
{
    for (int32_t line = 0; line < session->line_count; line++) {
        if (session->lines[line].used) {
            fl__entity_watch_line(session, entity, line, time);
        }
    }
}

void fl__line_watch(FlSession *session, int32_t line, FlTime time)
{
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        if (fl__entity_live(&session->entities[i])) {
            fl__entity_watch_line(session, &session->entities[i], line, time);
        }
    }
    fl__line_wake(session, line);
}

// ---------------------------------------------------------------- ours

static bool number_take(FlSession *session, uint32_t *number)
{
    uint32_t first = session->share * (uint32_t)session->self;
    for (uint32_t i = 0; i < session->share; i++) {
        uint32_t offset = (session->own_next + i) % session->share;
        if (session->by_number[first + offset] == FL__NONE) {
            session->own_next = (offset + 1) % session->share;
            *number = first + offset;
            return true;
        }
    }
    return false;
}

static void exporter_start(Entity *entity)
{
    FlExporterDef exporter = fl_exporter_def_default();
    exporter.model = entity->def.model;
    exporter.trigger = entity->def.trigger;
    fl_exporter_init(&entity->exporter, &exporter);
}

static FlTime latest_time(const FlSession *session)
{
    return fl_session_clock_at(&session->clock, session->told_at);
}

FlResult fl_entity_create(FlSession *session, const FlEntityDef *def, FlEntityId *id)
{
    FL_ASSERT(def->cookie == ENTITY_COOKIE);
    FlEntityId none = {0};
    *id = none;
    if (fl__replaying(session)) {
        return FL_REPLAYING;
    }
    if (session->state == FL_SESSION_ENDED) {
        return FL_STALE_ID;
    }
    if (!session->complete) {
        return FL_WOULD_BLOCK;
    }
    uint32_t number;
    if (!number_take(session, &number)) {
        return FL_FULL;
    }
    bool used = session->number_known[number];
    uint16_t epoch = used ? (uint16_t)(session->number_epoch[number] + 1) : 0;
    Entity *entity = fl__entity_take(session, number, epoch, session->self);
    if (entity == NULL) {
        return FL_FULL;
    }
    entity->ours = true;
    fl__entity_define(session, entity, def, latest_time(session));
    exporter_start(entity);
    fl__news_entity(session, number, FL__NONE);
    *id = fl__entity_id(session, entity);
    return FL_OK;
}

// Live and ours, or why not.
static FlResult ours(FlSession *session, FlEntityId id, Entity **entity)
{
    *entity = fl__entity_find(session, id);
    if (fl__replaying(session)) {
        return FL_REPLAYING;
    }
    if (*entity == NULL) {
        return FL_STALE_ID;
    }
    return (*entity)->ours ? FL_OK : FL_BAD_VALUE;
}

FlResult fl_entity_policy(FlSession *session, FlEntityId id, const FlSend *send, FlTime now)
{
    Entity *entity;
    FlResult result = ours(session, id, &entity);
    if (result != FL_OK) {
        return result;
    }
    if (!fl_send_valid(send)) {
        return FL_BAD_VALUE;
    }
    if (!fl__is_host(session) && session->topology == FL_TOPOLOGY_STAR) {
        return FL_NOT_FOUND;
    }
    entity->def.send = *send;
    fl_ledger_policy(session->ledger, fl__entity_slot(session, entity), send,
                     fl_session_time(session, now));
    session->exported = true; // something is due
    return FL_OK;
}

FlResult fl_entity_destroy(FlSession *session, FlEntityId id, FlTime now)
{
    (void)now;
    Entity *entity;
    FlResult result = ours(session, id, &entity);
    if (result == FL_OK) {
        fl__entity_remove(session, entity);
    }
    return result;
}

int32_t fl__entity_pack(const FlSession *session, const Entity *entity, const FlMotion *motion,
                        uint32_t life, uint8_t *bytes)
{
    FlUpdate update = {entity->number, life, *motion};
    FlWriter writer;
    fl_writer_init(&writer, bytes, FL_UPDATE_BYTES_MAX);
    return fl_update_encode(&writer, &session->world, &update) ? fl_writer_size(&writer) : 0;
}

void fl__entity_export(FlSession *session, Entity *entity, const FlMotion *motion, uint32_t life,
                       FlTime time)
{
    entity->packed_time = motion->time;
    entity->packed_life = life;
    if (entity->packed_bytes > 0) {
        fl_ledger_update_bytes(session->ledger, fl__entity_slot(session, entity),
                               entity->packed_bytes + (entity->epoch != 0 ? 1 : 0));
    }
    fl__upload_replaced(session, fl__entity_slot(session, entity));
    fl_ledger_export(session->ledger, fl__entity_slot(session, entity), motion, life, time);
    session->exported = true;
}

// Packs what will travel, once for all receivers, and makes it what the owner predicts from.
static bool export_update(FlSession *session, Entity *entity, const FlMotion *motion, FlTime time)
{
    FlMotion rounded;
    bool wide;
    if (fl_update_round(&session->world, motion, &rounded, &wide) != FL_OK) {
        return false;
    }
    if (rounded.time <= entity->not_before) {
        return true; // who owned it before us has told of a later time already
    }
    uint8_t packed[FL_UPDATE_BYTES_MAX];
    int32_t bytes = fl__entity_pack(session, entity, &rounded, entity->life, packed);
    if (bytes == 0) {
        return false;
    }
    memcpy(entity->packed, packed, (size_t)bytes);
    entity->packed_bytes = bytes;
    fl_exporter_commit(&entity->exporter, &rounded);
    session->count[FL_SESSION_UPDATES_WIDE] += wide ? 1 : 0;
    fl__entity_export(session, entity, &rounded, entity->life, time);
    return true;
}

FlResult fl_entity_set(FlSession *session, FlEntityId id, const FlState *state)
{
    Entity *entity;
    FlResult result = ours(session, id, &entity);
    if (result != FL_OK) {
        return result;
    }
    if (!fl__time_known(session)) {
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
    return export_update(session, entity, &motion, real.time) ? FL_OK : FL_BAD_VALUE;
}

FlResult fl_entity_cut(FlSession *session, FlEntityId id)
{
    Entity *entity;
    FlResult result = ours(session, id, &entity);
    if (result == FL_OK) {
        entity->life++;
        fl_exporter_cut(&entity->exporter);
    }
    return result;
}

void fl__entity_state_news(FlSession *session, const Entity *entity)
{
    int32_t slot = fl__entity_slot(session, entity);
    for (int32_t line = 0; line < session->line_count; line++) {
        if (fl__entity_goes(session, entity, line)) {
            fl__bit_set(&session->state_due[line * session->entity_words], slot);
            fl__line_wake(session, line);
        }
    }
}

FlResult fl_entity_state_set(FlSession *session, FlEntityId id, const void *bytes, int32_t count)
{
    Entity *entity;
    FlResult result = ours(session, id, &entity);
    if (result != FL_OK) {
        return result;
    }
    if (count < 0 || count > FL_ENTITY_STATE_BYTES) {
        return FL_BAD_VALUE;
    }
    bool same = entity->state_version != 0 && entity->state_bytes == count &&
                (count == 0 || memcmp(entity->state, bytes, (size_t)count) == 0);
    if (same) {
        return FL_OK;
    }
    if (count > 0) {
        memcpy(entity->state, bytes, (size_t)count);
    }
    entity->state_bytes = count;
    entity->state_version = (uint16_t)(entity->state_version + 1);
    entity->state_version = entity->state_version == 0 ? 1 : entity->state_version;
    fl__entity_state_news(session, entity);
    return FL_OK;
}

FlResult fl_entity_state(const FlSession *session, FlEntityId id, const uint8_t **bytes,
                         int32_t *count)
{
    *bytes = NULL;
    *count = 0;
    const Entity *entity = fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    *bytes = entity->state;
    *count = entity->state_bytes;
    return FL_OK;
}

// ---------------------------------------------------------------- giving, and being given

void fl__entity_adopt(FlSession *session, Entity *entity)
{
    bool before = entity->ours;
    entity->ours = true;
    entity->giving = false;
    if (before) {
        return;
    }
    entity->life = entity->show.started ? entity->show.life : entity->life;
    FlTime told = entity->show.started ? entity->show.newest : INT64_MIN;
    FlTime own = entity->exporter.started ? entity->exporter.exported.time : INT64_MIN;
    entity->not_before = told > own ? told : own;
    exporter_start(entity);
    FlNotice notice = {.kind = FL_NOTICE_ENTITY_OURS,
                       .entity = fl__entity_id(session, entity),
                       .peer = fl__peer_id(session, session->self)};
    fl__notice(session, &notice);
}

void fl__entity_theirs(FlSession *session, const Entity *entity)
{
    FlNotice notice = {.kind = FL_NOTICE_ENTITY_THEIRS,
                       .entity = fl__entity_id(session, entity),
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
    session->number_epoch[entity->number] = epoch;
    if (to == session->self) {
        fl__entity_adopt(session, entity);
    } else if (from != to || entity->ours) {
        if (entity->ours) { // from now on it is shown as others' are, going on from what we told
            fl__entity_disown(session, entity, time);
        }
        fl__entity_theirs(session, entity);
    }
    fl__entity_watch(session, entity, time);
    Change moved = {.kind = CHANGE_ENTITY_MOVED, .entity = entity};
    fl__changed(session, &moved);
}

void fl__entity_disown(FlSession *session, Entity *entity, FlTime time)
{
    entity->ours = false;
    if (!fl__is_host(session)) { // should it ever come back, what we told of it is history
        int32_t slot = fl__entity_slot(session, entity);
        FlSend policy = policy_here(session, &entity->def);
        fl_ledger_entity_end(session->ledger, slot);
        fl_ledger_entity_begin(session->ledger, slot, &policy);
    }
    if (!entity->exporter.started) {
        return;
    }
    FlUpdate last = {entity->number, entity->life, entity->exporter.exported};
    (void)fl_show_arrive(&entity->show, &last, last.motion.time, time);
}

// What goes along with it, then that it goes.
static FlResult tell_give(FlSession *session, const Entity *entity, int32_t member)
{
    FlWriter writer;
    fl_writer_init(&writer, session->message, MESSAGE_ROOM);
    fl__estate_write(session, entity, (uint16_t)(entity->epoch + 1), &writer);
    FlResult result = fl__tell_host(session, &writer);
    if (result != FL_OK) {
        return result;
    }
    FlGiveMessage message = {(uint16_t)entity->number, entity->epoch, (uint16_t)member};
    fl_writer_init(&writer, session->message, MESSAGE_ROOM);
    fl_give_message_write(&writer, &message);
    return fl__tell_host(session, &writer);
}

FlResult fl_entity_give(FlSession *session, FlEntityId id, FlPeerId to, FlTime now)
{
    Entity *entity;
    FlResult result = ours(session, id, &entity);
    if (result != FL_OK) {
        return result;
    }
    int32_t member = fl__member_of(session, to);
    if (member == FL__NONE) {
        return FL_STALE_ID;
    }
    if (member == session->self) {
        return FL_BAD_VALUE;
    }
    if (fl_calls_open(session->calls, (uint16_t)entity->number)) {
        return FL_WOULD_BLOCK; // a call was taken and not answered: who would?
    }
    FlTime time = fl_session_time(session, now);
    if (fl__is_host(session)) {
        fl__entity_pass(session, entity, member, (uint16_t)(entity->epoch + 1), time);
        fl__news_entity(session, entity->number, FL__NONE);
        fl__call_follow(session, entity);
        return FL_OK;
    }
    result = tell_give(session, entity, member);
    if (result == FL_OK) {
        fl__entity_disown(session, entity, time);
        entity->giving = true;
        fl__call_follow(session, entity);
    }
    return result;
}

FlResult fl_entity_scope(FlSession *session, FlEntityId id, FlPeerId peer, bool sees, FlTime now)
{
    Entity *entity;
    FlResult result = ours(session, id, &entity);
    int32_t member = fl__member_of(session, peer);
    if (result != FL_OK || member == FL__NONE) {
        return result != FL_OK ? result : FL_STALE_ID;
    }
    if (!fl__is_host(session)) {
        FlScopeMessage message = {(uint16_t)entity->number, entity->epoch, (uint16_t)member, sees};
        FlWriter writer;
        fl_writer_init(&writer, session->message, MESSAGE_ROOM);
        fl_scope_message_write(&writer, &message);
        result = fl__tell_host(session, &writer);
    }
    if (result == FL_OK) {
        fl__entity_scope(session, entity, member, sees, fl_session_time(session, now));
    }
    return result;
}

void fl__entity_scope(FlSession *session, Entity *entity, int32_t member, bool sees, FlTime time)
{
    uint64_t *scope = &session->scope[fl__entity_slot(session, entity) * session->member_words];
    if (sees) {
        fl__bit_set(scope, member);
    } else {
        fl__bit_clear(scope, member);
    }
    if (fl__is_host(session)) {
        fl__news_entity_to(session, entity->number, member);
    }
    fl__entity_watch(session, entity, time);
}
