// The owner's side: truth in, updates out.
//
// Entity numbers are the host's to hand out. An entity made before its welcome is *early*: it has a
// slot and a valid id, but is not live, so no other module meets it. What the game says of it waits
// in the slot, and goes out with its number.
#include "export.h"
#include "fields.h"
#include "handover.h"
#include "private.h"

#include "send/send.h"

#include <string.h>

#define UNLED_NOTED 30 // half a second, or so

static bool number_take(FlSession *session, uint32_t *number)
{
    uint32_t first = session->id_range * (uint32_t)session->self;
    for (uint32_t i = 0; i < session->id_range; i++) {
        uint32_t offset = (session->entities->own_next + i) % session->id_range;
        if (session->entities->by_number[first + offset] == FL__NONE) {
            session->entities->own_next = (offset + 1) % session->id_range;
            *number = first + offset;
            return true;
        }
    }
    return false;
}

static bool owner_begin(FlSession *session, Entity *entity, const FlEntityDef *def)
{
    uint32_t number;
    bool may = fl__is_host(session) || fl__may_create(session, session->self);
    if (!may || !number_take(session, &number)) {
        return false;
    }
    bool used = session->entities->number_known[number];
    uint16_t epoch = used ? (uint16_t)(session->entities->number_epoch[number] + 1) : 0;
    if (!fl__entity_begin(session, entity, number, epoch, session->self)) {
        return false;
    }
    entity->ours = true;
    fl__entity_define(session, entity, def, fl__time_latest(session));
    fl__exporter_start(session, entity);
    fl__entity_announce(session, number, FL__NONE);
    return true;
}

static void early_drop(FlSession *session, Entity *entity)
{
    fl__detail_release(entity);
    fl__definition_release(session, entity);
    entity->unnumbered = false;
    int32_t slot = fl__slot(session, entity);
    int32_t *from = &session->entities->free_from;
    *from = slot < *from ? slot : *from;
}

static FlEntityId early_make(FlSession *session, const FlEntityDef *def)
{
    FlEntityId none = {0};
    Entity *entity = fl__entity_free(session);
    if (entity == NULL) {
        return none;
    }
    entity->unnumbered = true;
    entity->owner = FL__NONE;
    entity->detail = NULL;
    fl__definition_set(session, entity, def);
    if (!fl__detail_take(session, entity)) {
        early_drop(session, entity);
        return none;
    }
    return fl__id_of(session, entity);
}

FlResult fl_entity_def_problem(const FlEntityDef *def, FlError *error)
{
    static const Fl__Rule rules[] = {
        FL__COOKIE(FlEntityDef, "fl_entity_def_default", ENTITY_COOKIE),
        FL__WHOLE(FlEntityDef, model, 0, FL_MODEL_AUTO),
        FL__REAL(FlEntityDef, trigger.distance, 0.0, (double)INFINITY),
        FL__REAL(FlEntityDef, trigger.angle, 0.0, (double)INFINITY),
        FL__WHOLE(FlEntityDef, trigger.silence_ns, 1, FL_FOREVER),
    };
    (void)fl__def_problem(def, rules, sizeof rules / sizeof rules[0], error);
    (void)fl__def_wrong(error, def->model == FL_MODEL_CUBIC,
                        "model is FL_MODEL_CUBIC: choose another, it is for paths of the past.");
    return fl__def_wrong(error, error->code == FL_OK && !fl__send_valid(&def->send),
                         "send is no policy: begin with fl_send_parse(\"base\", &def.send).");
}

FlEntityId fl_entity_create(FlSession *session, const FlEntityDef *def)
{
    FlEntityDef made = def != NULL ? *def : fl_entity_def_default();
    FlEntityId none = {0};
    FlError error;
    if (fl_entity_def_problem(&made, &error) != FL_OK) {
        fl__note(session, "No entity: %s", error.text);
        return none;
    }
    if (fl__replaying(session) || session->state == FL_SESSION_ENDED) {
        return none;
    }
    if (!session->complete) {
        return early_make(session, &made);
    }
    if (made.private_scope && session->topology == FL_TOPOLOGY_CROWD) {
        return none; // others carry it to whom they like
    }
    Entity *entity = fl__entity_free(session);
    bool begun = entity != NULL && owner_begin(session, entity, &made);
    return begun ? fl__id_of(session, entity) : none;
}

FlResult fl_entity_policy(FlSession *session, FlTime now, FlEntityId id, const FlSend *send)
{
    Entity *entity;
    bool star = session->topology == FL_TOPOLOGY_STAR;
    FlResult result =
        star ? fl__entity_ruled(session, id, &entity) : fl__entity_ours(session, id, &entity);
    if (result != FL_OK) {
        return result;
    }
    if (!fl__send_valid(send)) {
        return FL_BAD_VALUE;
    }
    bool relayed = !fl__is_host(session) && star;
    if (relayed || session->topology == FL_TOPOLOGY_CROWD) {
        return FL_NOT_FOUND;
    }
    FlEntityDef def = *entity->def;
    def.send = *send;
    fl__definition_set(session, entity, &def);
    fl__ledger_policy(session->entities->ledger, fl__slot(session, entity), send,
                      fl_session_time(session, now));
    session->entities->exported = true; // something is due
    return FL_OK;
}

void fl_session_host_kind(FlSession *session, uint8_t kind, bool only_hosts)
{
    if (only_hosts) {
        fl__bit_set(session->entities->host_kinds, kind);
    } else {
        fl__bit_clear(session->entities->host_kinds, kind);
    }
}

FlResult fl_entity_destroy(FlSession *session, FlEntityId id)
{
    Entity *entity;
    FlResult result = fl__entity_ruled(session, id, &entity);
    if (result == FL_WOULD_BLOCK && entity->unnumbered) {
        early_drop(session, entity);
        entity->generation += 2; // the id was valid, and is not any more
        return FL_OK;
    }
    if (result == FL_OK) {
        fl__entity_remove(session, entity);
    }
    return result;
}

// Packs what will travel, once for all receivers, and makes it what the owner predicts from.
static bool export_update(FlSession *session, Entity *entity, const FlMotion *motion, FlTime time)
{
    FlMotion rounded;
    bool wide;
    if (fl_update_round(&session->world, motion, &rounded, &wide) != FL_OK) {
        return false;
    }
    if (wide && entity->def->model == FL_MODEL_AUTO && motion->model == FL_MODEL_QUADRATIC) {
        // An acceleration beyond the world's is an impact, over before anybody hears of it.
        FlMotion straight = *motion;
        straight.model = FL_MODEL_LINEAR;
        straight.acceleration = fl_vec3(0.0, 0.0, 0.0);
        if (fl_update_round(&session->world, &straight, &rounded, &wide) != FL_OK) {
            return false;
        }
    }
    if (rounded.time <= entity->detail->not_before) {
        return true; // the owner before us has sent a later time already
    }
    uint8_t packed[FL_UPDATE_BYTES_MAX];
    int32_t bytes = fl__entity_pack(session, entity, &rounded, entity->detail->life, packed);
    if (bytes == 0) {
        return false;
    }
    memcpy(entity->detail->packed, packed, (size_t)bytes);
    entity->detail->packed_bytes = bytes;
    fl_exporter_commit(&entity->detail->exporter, &rounded);
    session->count[FL_SESSION_UPDATES_WIDE] += wide ? 1 : 0;
    fl__entity_export(session, entity, &rounded, entity->detail->life, time);
    if (entity->detail->shows_own) {
        FlUpdate update = {entity->number, entity->detail->life & 3u, rounded};
        (void)fl_show_arrive(&entity->detail->show, &update, rounded.time,
                             fl__shown_arrival(session, entity, time));
    }
    return true;
}

// The commonest mistake, and nothing but the picture shows it: others glide after a thing that
// moves without a velocity, lag and jump.
static void note_unled(FlSession *session, Entity *entity, const FlState *state)
{
    Detail *detail = entity->detail;
    bool moves = fl_vec3_length(state->velocity) == 0.0 &&
                 fl_vec3_distance(state->position, detail->placed_at) > 0.0;
    detail->placed_at = state->position;
    detail->unled = !moves ? 0 : detail->unled < UNLED_NOTED ? detail->unled + 1 : UNLED_NOTED + 1;
    if (detail->unled == UNLED_NOTED) {
        fl__note(session,
                 "Entity %u moves, and its FlState.velocity is 0: hand it in, or others see it lag "
                 "behind and jump.",
                 entity->number);
    }
}

static FlResult set_now(FlSession *session, Entity *entity, const FlState *state)
{
    FlState real = *state;
    real.time = fl_session_time(session, state->time);
    FlMotion motion;
    FlTrigger trigger = fl_exporter_feed(&entity->detail->exporter, &real, &motion);
    if (trigger == FL_TRIGGER_REFUSED) {
        return FL_BAD_VALUE;
    }
    if (session->def.log_fn != NULL) {
        note_unled(session, entity, state);
    }
    if (trigger == FL_TRIGGER_NONE) {
        return FL_OK;
    }
    return export_update(session, entity, &motion, real.time) ? FL_OK : FL_BAD_VALUE;
}

FlResult fl_entity_set(FlSession *session, FlEntityId id, const FlState *state)
{
    Entity *entity;
    FlResult result = fl__entity_ours(session, id, &entity);
    bool waits = result == FL_WOULD_BLOCK || (result == FL_OK && !fl__time_known(session));
    if (waits) {
        entity->detail->first = *state;
        entity->detail->has_first = true;
        session->entities->has_first = true;
        return FL_OK;
    }
    return result == FL_OK ? set_now(session, entity, state) : result;
}

void fl__owner_set_first(FlSession *session)
{
    if (!session->entities->has_first || !session->complete || !fl__time_known(session)) {
        return;
    }
    session->entities->has_first = false;
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        Entity *entity = fl__entity(session, i);
        if (fl__is_live(entity) && entity->ours && entity->detail->has_first) {
            entity->detail->has_first = false;
            (void)set_now(session, entity, &entity->detail->first);
        }
    }
}

FlResult fl_entity_cut(FlSession *session, FlEntityId id)
{
    Entity *entity;
    FlResult result = fl__entity_ours(session, id, &entity);
    if (result == FL_OK) {
        entity->detail->life++;
        fl_exporter_cut(&entity->detail->exporter);
    }
    return result == FL_WOULD_BLOCK ? FL_OK : result; // no one has seen it before
}

static void enter_early(FlSession *session, Entity *entity)
{
    FlEntityId id = fl__id_of(session, entity);
    FlEntityDef def = *entity->def;
    FlState first = entity->detail->first;
    bool has_first = entity->detail->has_first;
    uint8_t state[FL_ENTITY_STATE_BYTES];
    int32_t state_bytes =
        entity->detail->state_version != 0 ? entity->detail->state_bytes : FL__NONE;
    memcpy(state, entity->detail->state, sizeof state);
    bool fielded = fl__fields_of(session, entity)->layout != NULL;
    early_drop(session, entity);
    if (!owner_begin(session, entity, &def)) {
        entity->generation += 2;
        FlNotice gone = {.kind = FL_NOTICE_ENTITY_GONE, .entity = id};
        fl__notice(session, &gone);
        return;
    }
    entity->detail->first = first;
    entity->detail->has_first = has_first;
    if (state_bytes != FL__NONE && fielded) {
        fl__fields_enter(session, entity, state);
    } else if (state_bytes != FL__NONE) {
        (void)!fl_entity_state_set(session, id, state, state_bytes);
    }
}

void fl__owner_enter(FlSession *session)
{
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        if (fl__entity(session, i)->unnumbered) {
            enter_early(session, fl__entity(session, i));
        }
    }
}
