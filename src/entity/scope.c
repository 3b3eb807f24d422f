// Over which connections an entity goes, and by which policy.
#include "export.h"
#include "fields.h"
#include "priority.h"
#include "private.h"

#include "send/send.h"

#include <string.h>

// By which policy we distribute it. An owner whose host passes everything on gives the host all:
// the policy is the host's business.
FlSend fl__policy_here(const FlSession *session, const FlEntityDef *def)
{
    bool relayed = !fl__is_host(session) && session->topology == FL_TOPOLOGY_STAR;
    return relayed ? fl_send_make(FL_SEND_BASE) : def->send;
}

void fl__entity_define(FlSession *session, Entity *entity, const FlEntityDef *def, FlTime time)
{
    FlSend before = fl__policy_here(session, entity->def);
    FlSend policy = fl__policy_here(session, def);
    int32_t slot = fl__slot(session, entity);
    fl__definition_set(session, entity, def);
    entity->announced = true;
    fl__fields_prepare(session, entity, session->entities->fields->kind[def->kind]);
    if (session->entities->ledger != NULL && !fl__same_policy(&before, &policy)) {
        fl_ledger_entity_end(session->entities->ledger, slot);
        fl_ledger_entity_begin(session->entities->ledger, slot, &policy);
        const FlShow *show = &entity->detail->show;
        if (entity->detail->packed_bytes > 0 &&
            show->update_count > 0) { // one came before the announcement
            const FlShowUpdate *newest = &show->updates[show->update_count - 1];
            fl__entity_export(session, entity, &newest->motion, newest->life, time);
        }
    }
    fl__entity_watch(session, entity, time);
    fl__entity_changed(session, CHANGE_ENTITY_DEFINED, fl__slot(session, entity));
}

// ---------------------------------------------------------------- who gets it

static bool may_see(const FlSession *session, const Entity *entity, int32_t member)
{
    return !entity->def->private_scope || fl__bit_get(fl__scope_of(session, entity), member);
}

bool fl__entity_goes(const FlSession *session, const Entity *entity, int32_t index)
{
    int32_t member = fl__connection_member(session, index);
    if (!fl__connection_used(session, index) || !fl__connection_received(session, index) ||
        fl__connection_waiting(session, index) || entity->owner == member) {
        return false;
    }
    if (fl__connection_direct(session, index) && !fl__clock_offset_received(session, index)) {
        return false; // it has not said yet that it knows the time: it could not place anything
    }
    if (session->topology == FL_TOPOLOGY_CROWD) { // states only: motion has another way
        // When the host is gone, no other member may have the state of its own things.
        return fl__is_host(session)
                   ? fl__bit_get(fl__interest(session, index), fl__slot(session, entity)) ||
                         (entity->ours && fl__member_leads(session, member))
                   : entity->ours && member == session->host;
    }
    if (member != session->host && session->entities->priorities != NULL &&
        *fl__priority_of(session, entity, member) == 0) {
        return false; // not for this viewer, by the game's word
    }
    if (entity->ours) { // the host must have everything: it passes on, and knows who owns what
        return may_see(session, entity, member) || member == session->host;
    }
    if (!fl__is_host(session) || !entity->announced || session->topology == FL_TOPOLOGY_MESH) {
        return false;
    }
    if (entity->owner == FL__NONE) {
        return false; // a new host that does not know yet whose it is
    }
    return may_see(session, entity, member) &&
           !fl__member_without_us(session, entity->owner, member);
}

void fl__entity_watch_over(FlSession *session, Entity *entity, int32_t index, FlTime time)
{
    int32_t slot = fl__slot(session, entity);
    FlLedger *ledger = session->entities->ledger;
    bool goes = fl__entity_goes(session, entity, index);
    bool moves = goes || fl__entity_forwards(session, slot, index); // what is forwarded is motion
    if (ledger != NULL && moves == fl__ledger_watches(ledger, slot, index)) {
        return;
    }
    if (ledger != NULL && session->topology != FL_TOPOLOGY_CROWD) {
        fl_ledger_watch(ledger, slot, index, moves, time);
        session->entities->exported = true;
    }
    if (goes) {
        fl__state_due_over(session, entity, index);
    }
}

void fl__entity_watch(FlSession *session, Entity *entity, FlTime time)
{
    for (int32_t index = 0; index < session->connection_count; index++) {
        if (fl__connection_used(session, index)) {
            fl__entity_watch_over(session, entity, index, time);
        }
    }
}

void fl__watch_over(FlSession *session, int32_t index, FlTime time)
{
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        if (fl__is_live(fl__entity(session, i))) {
            fl__entity_watch_over(session, fl__entity(session, i), index, time);
        }
    }
    fl__connection_wake(session, index);
}

void fl__entity_forward(FlSession *session, int32_t slot, int32_t connection, bool forwards)
{
    Entity *entity = fl__entity(session, slot);
    if (forwards == fl__entity_forwards(session, slot, connection)) {
        return;
    }
    uint64_t *words = fl__interest(session, connection);
    if (forwards) {
        fl__bit_set(words, slot);
        entity->detail->forwards++;
    } else {
        fl__bit_clear(words, slot);
        entity->detail->forwards--;
    }
    fl__entity_watch_over(session, entity, connection, fl__time_latest(session));
}

// Each entity is looked at once, and then for those only to whom its owner is nearer or further
// than before.
static void watch_reached(FlSession *session, FlTime time)
{
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        Entity *entity = fl__entity(session, i);
        if (!fl__is_live(entity) || entity->owner == FL__NONE) {
            continue;
        }
        const uint64_t *due = fl__reach_changed(session, entity->owner);
        int32_t to = fl__bit_next(due, session->member_words, 0);
        for (; to != FL__NONE; to = fl__bit_next(due, session->member_words, to + 1)) {
            int32_t connection = fl__member_connection(session, to);
            if (connection != FL__NONE) {
                fl__entity_watch_over(session, entity, connection, time);
                fl__connection_wake(session, connection);
            }
        }
    }
}

void fl__scope_changed(FlSession *session, const Change *change)
{
    switch (change->kind) {
    case CHANGE_CONNECTION_READY:
        fl__watch_over(session, change->connection, fl_session_time(session, change->now));
        break;
    case CHANGE_REACH:
        watch_reached(session, fl_session_time(session, change->now));
        break;
    case CHANGE_MEMBER_LEFT:
        for (int32_t i = 0; i < session->entities->detail_count; i++) {
            fl__bit_clear(&session->entities->scope[i * session->member_words], change->member);
            fl__bit_clear(&session->entities->fields->scope[i * session->member_words],
                          change->member);
        }
        break;
    default:
        break;
    }
}
