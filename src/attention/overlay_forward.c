// What we forward of others' entities, to whoever asked us for it.
#include "private.h"

#include "send/send.h"

#define ASKED_WITHIN FL_SEC(5) // or nothing more is forwarded

static Forwarded *forwarded_to(const FlSession *session, int32_t slot, int32_t connection)
{
    Overlay *o = &session->attention->overlay;
    for (int32_t i = 0; i < o->forwarded_count; i++) {
        if (o->forwarded[i].slot == slot && o->forwarded[i].connection == connection) {
            return &o->forwarded[i];
        }
    }
    return NULL;
}

void fl__overlay_forward_end(FlSession *session, Forwarded *at)
{
    Overlay *o = &session->attention->overlay;
    int32_t slot = at->slot;
    int32_t connection = at->connection;
    *at = o->forwarded[--o->forwarded_count];
    fl__ledger_attention(fl__ledger(session), slot, connection, 0.0);
    fl__entity_forward(session, slot, connection, false);
}

// What its owner sends us itself can be forwarded: one hop, never two.
static bool can_forward(const FlSession *session, int32_t slot)
{
    EntityInfo entity = fl__entity_info(session, slot);
    int32_t owner =
        entity.owner != FL__NONE ? fl__member_connection(session, entity.owner) : FL__NONE;
    return !entity.ours && !entity.orphan && owner != FL__NONE &&
           fl__connection_reaches(session, owner) && fl__overlay_serves(session, slot) &&
           fl__entity_source(session, slot) == FL__NONE;
}

bool fl__overlay_asked(FlSession *session, int32_t slot, int32_t connection, uint8_t value)
{
    Overlay *o = &session->attention->overlay;
    bool relays = fl__is_host(session) && session->topology == FL_TOPOLOGY_HYBRID;
    if (!fl__overlay_is_active(session) || relays) { // that it does anyway
        return false;
    }
    Forwarded *at = forwarded_to(session, slot, connection);
    if (value == 0 && at != NULL) {
        fl__overlay_forward_end(session, at);
    }
    bool room = o->forwarded_count < o->pairs && fl__overlay_room(session) > 0;
    if (value == 0 || (at == NULL && !(room && can_forward(session, slot)))) {
        return false;
    }
    if (at == NULL) {
        at = &o->forwarded[o->forwarded_count++];
        at->slot = slot;
        at->connection = connection;
        fl__entity_forward(session, slot, connection, true);
    }
    at->asked = fl__time_latest(session);
    return true;
}

int32_t fl__overlay_forward_ended(FlSession *session, FlTime time)
{
    Overlay *o = &session->attention->overlay;
    Forwarded *ended = NULL;
    for (int32_t i = 0; i < o->forwarded_count && ended == NULL; i++) {
        Forwarded *at = &o->forwarded[i];
        bool over = fl_span(time, at->asked) > ASKED_WITHIN || !can_forward(session, at->slot);
        ended = over ? at : NULL;
    }
    if (ended == NULL && o->forwarded_count > 0 && fl__overlay_room(session) < -1) {
        ended = &o->forwarded[o->forwarded_count - 1]; // the last who came
    }
    int32_t slot = ended != NULL ? ended->slot : FL__NONE;
    if (ended != NULL) {
        fl__overlay_forward_end(session, ended);
    }
    return slot;
}
