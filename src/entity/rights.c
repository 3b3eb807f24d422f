// Who may say what of an entity: the questions behind docs/decisions/0021-who-may-say-what.md. They
// are asked before anything changes, and change nothing.
//
// An entity is its owner's of this epoch. The host of the term says who that is; it learns it from
// the last owner it knows of. A new host asks (handover.c).
#include "handover.h"
#include "private.h"

#include "wire/wire.h"

#include <string.h>

// Who gives the number to entities it makes.
static bool is_maker(const FlSession *session, uint32_t number, int32_t member)
{
    return number / session->id_range == (uint32_t)member;
}

bool fl__may_decide(const Entity *entity, int32_t from, uint16_t epoch)
{
    return entity != NULL && entity->owner == from && !entity->orphan && entity->epoch == epoch;
}

bool fl__may_announce(const MessageIn *in, const EntityMessage *m, const Entity *entity)
{
    if (in->speaker == FROM_HOST) {
        return m->owner < in->session->member_count;
    }
    bool free = entity == NULL || (entity->owner == in->from && !entity->orphan);
    bool same = entity != NULL && free && entity->epoch == m->epoch;
    bool made = is_maker(in->session, m->number, in->from) && m->born == m->epoch && free;
    return m->owner == in->from && (same || made);
}

bool fl__may_move(const FlSession *session, int32_t connection, uint32_t number,
                  const Entity *entity, uint16_t epoch)
{
    int32_t from = fl__connection_member(session, connection);
    bool newer = entity != NULL && epoch != entity->epoch;
    if (fl__speaker(session, connection) == FROM_HOST) { // of everybody's, but what is ours
        return newer || entity == NULL || !entity->ours;
    }
    // A later epoch is announced first. An owner whom the host has not announced yet may be faster:
    // where nothing is known by that number.
    if (newer) {
        return false;
    }
    if (entity == NULL || entity->owner == FL__NONE) {
        return is_maker(session, number, from);
    }
    return entity->owner == from && !entity->orphan;
}

bool fl__may_carry(int32_t connection, const Entity *entity, uint16_t epoch)
{
    return entity != NULL && entity->detail != NULL && !entity->ours && !entity->orphan &&
           entity->owner != FL__NONE && entity->epoch == epoch &&
           entity->detail->source == connection;
}

Answering fl__may_answer(const FlSession *session, int32_t slot, const MessageIn *in,
                         uint16_t epoch)
{
    const Entity *entity = fl__entity(session, slot);
    if (fl__seq_newer(entity->call_floor, epoch)) {
        return ANSWERS_NOT; // what an owner who is gone decided has been collected
    }
    bool older = fl__seq_newer(entity->epoch, epoch);
    if (in->speaker == FROM_HOST || fl__may_decide(entity, in->from, epoch)) {
        return entity->ours || older ? ANSWERS_WITHOUT_STATE : ANSWERS;
    }
    return in->from == entity->owner_before && older ? ANSWERS_WITHOUT_STATE : ANSWERS_NOT;
}

// ---------------------------------------------------------------- how many, and what

// How many each member has, counted anew; and how many slots are free.
static int32_t count_owned(const FlSession *session)
{
    int32_t *owned = session->entities->owned;
    int32_t free = 0;
    memset(owned, 0, (size_t)session->member_count * sizeof owned[0]);
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        const Entity *entity = fl__entity(session, i);
        if (!fl__is_live(entity)) {
            free++;
        } else if (entity->owner != FL__NONE) {
            owned[entity->owner]++;
        }
    }
    return free;
}

// Everybody who is there gets a share of the slots, the host at least one; what is left beyond is
// for whoever comes first.
bool fl__may_create(const FlSession *session, int32_t owner)
{
    int32_t free = count_owned(session);
    const int32_t *owned = session->entities->owned;
    int32_t most = session->def.member_entities;
    int32_t share = session->def.entity_capacity / session->member_count;
    share = share < most ? share : most;
    if (owned[owner] >= most) {
        return false;
    }
    for (int32_t i = 0; i < session->member_count && owned[owner] >= share; i++) {
        int32_t own = i == session->host && share == 0 ? 1 : share;
        bool lacks = i != owner && fl__member_present(session, i) && owned[i] < own;
        free -= lacks ? own - owned[i] : 0;
    }
    return free > 0;
}

bool fl__may_create_kind(const FlSession *session, uint8_t kind)
{
    return !fl__bit_get(session->entities->host_kinds, kind);
}
