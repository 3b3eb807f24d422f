// What only some entities have, and what many share.
//
// A client of a crowd knows a thousand entities and looks at a few. Of all it keeps an Entity; a
// Detail (state, history, how it is shown) for its own and for those it watches. Everywhere else
// every entity has one, and detail and entity have the same index.
//
// Invariant: entity->detail->slot is the entity's slot.
#include "fields.h"
#include "priority.h"
#include "private.h"

#include <string.h>

#define DEFINITIONS_IN_CROWD 32

// Whoever may host a crowd keeps everybody's state; others, what they own and watch.
static bool is_sparse(const FlSessionDef *def)
{
    return def->topology == FL_TOPOLOGY_CROWD && !fl__may_lead(def);
}

int32_t fl__detail_count(const FlSessionDef *def)
{
    return is_sparse(def) && def->tuning.crowd.detail_capacity < def->entity_capacity
               ? def->tuning.crowd.detail_capacity
               : def->entity_capacity;
}

static Detail *detail_free(const FlSession *session, const Entity *entity)
{
    const Entities *e = session->entities;
    if (e->detail_count == session->def.entity_capacity) {
        return &e->details[fl__slot(session, entity)];
    }
    for (int32_t i = 0; i < e->detail_count; i++) {
        if (e->details[i].slot == FL__NONE) {
            return &e->details[i];
        }
    }
    return NULL;
}

bool fl__detail_take(FlSession *session, Entity *entity)
{
    Entities *e = session->entities;
    Detail *detail = detail_free(session, entity);
    if (entity->detail != NULL || detail == NULL) {
        return entity->detail != NULL;
    }
    memset(detail, 0, offsetof(Detail, show));
    entity->detail = detail;
    detail->slot = fl__slot(session, entity);
    detail->not_before = INT64_MIN;
    detail->received = FL_FOREVER;
    detail->received_at = FL_FOREVER;
    detail->source = FL__NONE;
    detail->carried_at = INT64_MIN;
    detail->carried_stamp = INT64_MIN;
    detail->own.motion.time = INT64_MIN;
    fl_show_init(&detail->show, &session->def.tuning.show);
    int32_t index = fl__detail_index(session, entity);
    memset(&e->fields->of[index], 0, sizeof(FieldsOf));
    memset(&e->fields->scope[index * session->member_words], 0,
           (size_t)session->member_words * sizeof(uint64_t));
    for (int32_t i = 0; i < session->connection_count; i++) {
        *fl__groups_due(session, i, entity) = 0;
    }
    if (e->priorities != NULL) {
        memset(fl__priority_of(session, entity, 0), PRIORITY_FULL, (size_t)session->member_count);
    }
    if (entity->announced || entity->unnumbered) {
        fl__fields_prepare(session, entity, e->fields->kind[entity->def->kind]);
    }
    memset(&e->scope[index * session->member_words], 0,
           (size_t)session->member_words * sizeof(uint64_t));
    for (int32_t i = 0; i < session->member_count; i++) {
        e->reported[(int64_t)index * session->member_count + i] = -1.0f; // not known
    }
    return true;
}

void fl__detail_release(Entity *entity)
{
    if (entity->detail != NULL) {
        entity->detail->slot = FL__NONE;
        entity->detail = NULL;
    }
}

int32_t fl__entity_detail(const FlSession *session, int32_t slot)
{
    const Entity *entity = fl__entity(session, slot);
    return entity->detail != NULL ? fl__detail_index(session, entity) : FL__NONE;
}

bool fl__entity_watched(FlSession *session, int32_t slot, bool watched)
{
    Entity *entity = fl__entity(session, slot);
    bool before = entity->detail != NULL;
    if (watched && !before && fl__detail_take(session, entity)) {
        fl__entity_changed(session, CHANGE_ENTITY_DETAIL, slot);
    } else if (!watched && before && !entity->ours &&
               session->entities->detail_count < session->def.entity_capacity) {
        fl__detail_release(entity);
    }
    return entity->detail != NULL;
}

// ---------------------------------------------------------------- definitions

int32_t fl__definition_count(const FlSessionDef *def)
{
    int32_t all = def->entity_capacity + 1;
    return is_sparse(def) && DEFINITIONS_IN_CROWD < all ? DEFINITIONS_IN_CROWD : all;
}

void fl__definition_make(Definition *definition, const FlEntityDef *def)
{
    definition->def = *def;
    definition->trait_bytes = (uint8_t)fl__traits_write(def, definition->traits);
}

static bool same_definition(const FlEntityDef *a, const FlEntityDef *b)
{
    return a->kind == b->kind && a->model == b->model &&
           a->trigger.distance == b->trigger.distance && a->trigger.angle == b->trigger.angle &&
           a->trigger.silence_ns == b->trigger.silence_ns && a->private_scope == b->private_scope &&
           a->guided == b->guided && a->survives_owner == b->survives_owner &&
           fl__same_policy(&a->send, &b->send);
}

// What a client of a crowd has no room for passes for the default: hostile owners may define
// anything.
static Definition *definition_for(FlSession *session, const FlEntityDef *def)
{
    const Entities *e = session->entities;
    Definition *unused = NULL;
    for (int32_t i = 0; i < e->definition_count; i++) {
        Definition *at = &e->definitions[i];
        if (at->uses > 0 && same_definition(&at->def, def)) {
            return at;
        }
        unused = unused == NULL && at->uses == 0 ? at : unused;
    }
    if (unused == NULL) {
        fl__count(session, FL_SESSION_NO_ROOM);
        return &e->definitions[0];
    }
    fl__definition_make(unused, def);
    return unused;
}

void fl__definition_release(FlSession *session, Entity *entity)
{
    if (entity->def != NULL) {
        const Definition *of = (const Definition *)(const void *)entity->def; // its first field
        session->entities->definitions[of - session->entities->definitions].uses--;
        entity->def = NULL;
    }
}

void fl__definition_set(FlSession *session, Entity *entity, const FlEntityDef *def)
{
    FlEntityDef wanted = *def; // it may be the one that is released
    fl__definition_release(session, entity);
    Definition *definition = definition_for(session, &wanted);
    definition->uses++;
    entity->def = &definition->def;
}

bool fl__same_policy(const FlSend *a, const FlSend *b)
{
    char one[FL_SEND_TEXT_BYTES];
    char other[FL_SEND_TEXT_BYTES];
    fl_send_text(a, one);
    fl_send_text(b, other);
    return strcmp(one, other) == 0 && a->share_cap == b->share_cap &&
           a->longest_ns == b->longest_ns && a->starvation_ns == b->starvation_ns;
}
