// What members forward of each other's entities, where there is an overlay
// (docs/decisions/0024-overlay.md): who forwards what, what is taken, and what shows a lie. Who
// asks whom is module `attention`'s.
#include "handover.h"
#include "private.h"
#include "remote.h"

#include "send/send.h"

#include <math.h>

// ---------------------------------------------------------------- the forwarder

bool fl__entity_forwards(const FlSession *session, int32_t slot, int32_t connection)
{
    return session->topology != FL_TOPOLOGY_CROWD &&
           fl__bit_get(fl__interest(session, connection), slot);
}

// ---------------------------------------------------------------- the owner

static uint64_t *elsewhere_over(const FlSession *session, int32_t connection)
{
    return &session->entities->elsewhere[connection * session->entity_words];
}

void fl__entity_set_elsewhere(FlSession *session, int32_t slot, int32_t connection, bool elsewhere)
{
    fl__ledger_rarely(session->entities->ledger, slot, connection, elsewhere);
    if (elsewhere) {
        fl__bit_set(elsewhere_over(session, connection), slot);
    } else {
        fl__bit_clear(elsewhere_over(session, connection), slot);
    }
}

bool fl__entity_elsewhere(const FlSession *session, int32_t slot, int32_t connection)
{
    return session->entities->ledger != NULL &&
           fl__bit_get(elsewhere_over(session, connection), slot);
}

// ---------------------------------------------------------------- the receiver

void fl__entity_set_source(FlSession *session, int32_t slot, int32_t connection)
{
    Detail *detail = fl__entity(session, slot)->detail;
    detail->source = connection;
    detail->carried_at = INT64_MIN;
    detail->carried_stamp = INT64_MIN;
    detail->own.motion.time = INT64_MIN;
}

int32_t fl__entity_source(const FlSession *session, int32_t slot)
{
    const Detail *detail = fl__entity(session, slot)->detail;
    return detail != NULL ? detail->source : FL__NONE;
}

int32_t fl__entity_route(const FlSession *session, int32_t slot)
{
    int32_t source = fl__entity_source(session, slot);
    return source != FL__NONE ? source : fl__route(session, fl__entity_owner(session, slot));
}

FlTime fl__entity_carried_at(const FlSession *session, int32_t slot)
{
    return fl__entity(session, slot)->detail->carried_at;
}

int32_t fl__entity_carried_for(FlSession *session, int32_t connection, uint32_t number,
                               uint16_t epoch)
{
    const Entity *entity = fl__entity_numbered(session, number);
    if (!fl__may_carry(connection, entity, epoch)) {
        fl__count(session, FL_SESSION_OLD_EPOCH); // or asked no more: what was under way
        return FL__NONE;
    }
    return fl__slot(session, entity);
}

static bool same_vec3(FlVec3 a, FlVec3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

// Of the same stamp both are the same. Else they cannot be further apart than anything gets in the
// time between.
static bool are_both_true(const FlSession *session, const FlMotion *own, FlTime stamp,
                          FlVec3 position)
{
    double between = fabs(fl_span_seconds(fl_span(own->time, stamp)));
    double reach = session->world.def.top_speed * 1.7320508 * between +
                   (between > 0.0 ? 2.0 * session->world.def.precision : 0.0);
    return fl_vec3_distance(own->position, position) <= reach;
}

// Of the same stamp as an update that is shown.
static bool is_shown_otherwise(const FlShow *show, const FlMotion *own)
{
    for (int32_t i = 0; i < show->update_count; i++) {
        const FlShowUpdate *known = &show->updates[i];
        if (known->stamp == own->time && !same_vec3(known->motion.position, own->position)) {
            return true;
        }
    }
    return false;
}

// What is shown begins anew, with the owner's own word.
static void refute(FlSession *session, Entity *entity)
{
    Detail *detail = entity->detail;
    fl__stream(session, detail->source)->contradictions++;
    fl__entity_set_source(session, fl__slot(session, entity), FL__NONE);
    FlShowDef def = detail->show.def;
    fl_show_init(&detail->show, &def);
}

void fl__carried_check(FlSession *session, int32_t connection, Entity *entity,
                       const FlUpdate *update)
{
    Detail *detail = entity->detail;
    if (fl__connection_member(session, connection) != entity->owner) {
        return;
    }
    bool compared =
        detail->carried_stamp != INT64_MIN && (detail->show.life & 3u) == (update->life & 3u);
    detail->own = *update;
    if (compared && (is_shown_otherwise(&detail->show, &update->motion) ||
                     !are_both_true(session, &update->motion, detail->carried_stamp,
                                    detail->carried_position))) {
        refute(session, entity);
    }
}

bool fl__carried_refuted(FlSession *session, Entity *entity, const FlUpdate *update)
{
    const FlUpdate *own = &entity->detail->own;
    bool compared = own->motion.time != INT64_MIN && (own->life & 3u) == (update->life & 3u);
    if (!compared ||
        are_both_true(session, &own->motion, update->motion.time, update->motion.position)) {
        return false;
    }
    refute(session, entity);
    return true;
}
