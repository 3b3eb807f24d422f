// Announcements of entities: the present truth, sent reliably to whoever has not got it. (Those of
// members: member/announce.c.) What the host learns and announces about who owns what.
//
// Per connection there is a bit for every entity number: "not announced since it changed".
#include "fields.h"
#include "handover.h"
#include "private.h"

#include "agree/call.h"
#include "wire/wire.h"

#include <string.h>

// ---------------------------------------------------------------- what is due

// Ends that a newcomer must know of: those of the numbers that are its to give; and of all, if it
// may host one day and let in others.
static void ends_due(FlSession *session, int32_t connection)
{
    bool star = session->topology == FL_TOPOLOGY_STAR;
    uint32_t member = (uint32_t)fl__connection_member(session, connection);
    uint32_t first = star ? session->id_range * member : 0;
    uint32_t end = star ? first + session->id_range : (uint32_t)session->world.def.entity_capacity;
    for (uint32_t n = first; n < end; n++) {
        if (session->entities->number_known[n] &&
            (star || session->entities->by_number[n] == FL__NONE)) {
            fl__bit_set(fl__announcements(session, connection), (int32_t)n);
        }
    }
}

static void all_due(FlSession *session, int32_t connection)
{
    bool host = fl__is_host(session);
    int32_t member = fl__connection_member(session, connection);
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        const Entity *entity = fl__entity(session, i);
        // Owned entities are announced by their owners; the others are for us to find out about.
        bool others = host && entity->announced && !entity->orphan && entity->owner != member;
        if (fl__is_live(entity) && (entity->ours || others)) {
            fl__bit_set(fl__announcements(session, connection), (int32_t)entity->number);
        }
    }
    if (host) {
        ends_due(session, connection);
    }
}

static void none_due(FlSession *session, int32_t connection)
{
    memset(fl__announcements(session, connection), 0,
           (size_t)session->number_words * sizeof(uint64_t));
}

// ---------------------------------------------------------------- sending

static bool may_know(const FlSession *session, const Entity *entity, int32_t member)
{
    return !entity->def->private_scope || entity->owner == member ||
           fl__bit_get(fl__scope_of(session, entity), member);
}

// To the new owner of an entity: what goes along with it, before the word that it is so.
static bool send_handover(FlSession *session, int32_t connection, Entity *entity)
{
    uint8_t bytes[FL_CALLS_MESSAGE_BYTES + 1];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    fl__features_hand_over(session, fl__slot(session, entity), entity->epoch, &writer);
    entity->handing = !fl__announcement_send(session, connection, &writer);
    return !entity->handing;
}

static void keep_traits(TraitCache *cache, const EntityMessage *m)
{
    memcpy(cache->bytes[m->definition], m->traits, (size_t)m->trait_bytes);
    cache->count[m->definition] = (uint8_t)m->trait_bytes;
}

// Those that the other end has are named, the others are sent.
static void put_traits(const TraitCache *sent, const FlEntityDef *def, EntityMessage *m)
{
    const Definition *definition = (const Definition *)(const void *)def; // its first field
    m->trait_bytes = definition->trait_bytes;
    memcpy(m->traits, definition->traits, definition->trait_bytes);
    m->definition = sent->next;
    for (int32_t i = 0; i < TRAITS_KEPT; i++) {
        if (sent->count[i] == m->trait_bytes &&
            memcmp(sent->bytes[i], m->traits, (size_t)m->trait_bytes) == 0) {
            m->definition = (uint8_t)i;
            m->trait_bytes = 0;
            return;
        }
    }
}

static bool send_present(FlSession *session, int32_t connection, const Entity *entity)
{
    TraitCache *sent = &fl__stream(session, connection)->traits_sent;
    EntityMessage message = {.number = (uint16_t)entity->number,
                             .epoch = entity->epoch,
                             .born = entity->born,
                             .owner = (uint16_t)entity->owner};
    put_traits(sent, entity->def, &message);
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    fl__entity_message_write(&writer, &message);
    bool queued = fl__announcement_send(session, connection, &writer);
    if (queued && message.trait_bytes > 0) {
        keep_traits(sent, &message);
        sent->next = (uint8_t)((sent->next + 1) % TRAITS_KEPT);
    }
    return queued;
}

// The owner to a host who may be new: who sees it, and its private fields.
static bool send_scopes(FlSession *session, int32_t connection, const Entity *entity)
{
    const uint64_t *sets[2] = {fl__scope_of(session, entity),
                               &session->entities->fields->scope[fl__detail_index(session, entity) *
                                                                 session->member_words]};
    for (int32_t s = 0; s < 2; s++) {
        int32_t member = fl__bit_next(sets[s], session->member_words, 0);
        for (; member != FL__NONE;
             member = fl__bit_next(sets[s], session->member_words, member + 1)) {
            ScopeMessage message = {(uint16_t)entity->number, entity->epoch, (uint16_t)member, true,
                                    s == 1};
            uint8_t bytes[MESSAGE_SHORT];
            FlWriter writer;
            fl_writer_init(&writer, bytes, sizeof bytes);
            fl__scope_message_write(&writer, &message);
            if (!fl__announcement_send(session, connection, &writer)) {
                return false;
            }
        }
    }
    return true;
}

static bool is_shown(const FlSession *session, int32_t connection, const Entity *entity)
{
    return entity != NULL && entity->owner != FL__NONE &&
           (!fl__is_host(session) || !entity->def->private_scope ||
            may_know(session, entity, fl__connection_member(session, connection)));
}

// A new host: what is not known here may have been hidden from us, or who sees it is not known yet.
// Whoever was here before keeps it until all owners have spoken.
static bool end_waits(const FlSession *session, int32_t connection, uint32_t number)
{
    return fl__claims_all(session) &&
           fl__bit_get(session->entities->claims_asked,
                       fl__connection_member(session, connection)) &&
           !is_shown(session, connection, fl__entity_numbered(session, number));
}

static bool send_entity(FlSession *session, int32_t connection, uint32_t number)
{
    Entity *entity = fl__entity_numbered(session, number);
    bool host = fl__is_host(session);
    if (host && entity != NULL && entity->orphan) {
        return true; // announced when it has an owner
    }
    bool hands = entity != NULL && entity->handing &&
                 entity->owner == fl__connection_member(session, connection);
    if (hands && !send_handover(session, connection, entity)) {
        return false;
    }
    if (is_shown(session, connection, entity)) {
        return send_present(session, connection, entity) &&
               (host || !entity->ours || send_scopes(session, connection, entity));
    }
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    EntityEndMessage message = {(uint16_t)number, session->entities->number_epoch[number]};
    fl__entity_end_message_write(&writer, &message);
    return fl__announcement_send(session, connection, &writer);
}

static bool send_due(void *self, int32_t connection)
{
    FlSession *session = (FlSession *)self;
    uint64_t *due = fl__announcements(session, connection);
    int32_t next = fl__bit_next(due, session->number_words, 0);
    for (; next != FL__NONE; next = fl__bit_next(due, session->number_words, next + 1)) {
        if (end_waits(session, connection, (uint32_t)next)) {
            continue;
        }
        if (!send_entity(session, connection, (uint32_t)next)) {
            return false;
        }
        fl__bit_clear(due, next);
    }
    return true;
}

// ---------------------------------------------------------------- receiving

static void entity_taken(const MessageIn *in, const EntityMessage *m, Entity *entity,
                         const FlEntityDef *def)
{
    FlSession *session = in->session;
    bool fresh = entity == NULL;
    if (fresh) {
        entity = fl__entity_take(session, m->number, m->epoch, m->owner);
        if (entity == NULL) {
            return;
        }
    }
    entity->born = m->born;
    session->entities->number_epoch[m->number] = m->epoch;
    if (fresh && m->owner != session->self) {
        FlNotice notice = {.kind = FL_NOTICE_ENTITY_NEW,
                           .entity = fl__id_of(session, entity),
                           .peer = fl__peer_id(session, m->owner)};
        fl__notice(session, &notice);
    }
    bool orphan = entity->orphan;
    entity->orphan = orphan && entity->epoch == m->epoch && entity->owner == m->owner;
    // Another member may have its last owner's number by now.
    bool inherited = orphan && !entity->orphan && entity->owner == m->owner;
    entity->epoch = m->epoch;
    if (entity->owner != m->owner || m->owner == session->self) {
        bool unknown = entity->owner == FL__NONE && m->owner != session->self && !entity->ours;
        if (unknown) {
            entity->owner = m->owner;
            if (entity->announced) { // it had an owner before
                fl__entity_theirs(session, entity);
            }
        } else {
            fl__entity_pass(session, entity, m->owner, m->epoch, in->time);
        }
    }
    if (inherited && !entity->ours) {
        fl__entity_theirs(session, entity);
    }
    fl__entity_define(session, entity, def, in->time);
    fl__state_early(session, entity);
    if (fl__is_host(session)) {
        entity->confirmed = true;
        entity->handing = false; // it says itself that it has it
        fl__entity_announce(session, m->number, in->connection);
    }
}

// A member says that it owns what is another's, as far as we know. The host before us may have
// given it, and informed the member but not us: that is found out by what the others say.
static void refuse_entity(const MessageIn *in, const EntityMessage *m, const Entity *entity)
{
    bool asked = fl__claims_all(in->session) && entity != NULL && !entity->confirmed;
    if (asked && m->owner == in->from && entity->born == m->born) {
        fl__testimony_own(in->session, entity, in->from, m->epoch);
    }
    fl__connection_refused(in->session, in->connection, asked);
}

// Host: whether a member may have made that. It learns of a refusal by the entity's end.
static bool may_be_made(const MessageIn *in, const EntityMessage *m, const Entity *entity,
                        const FlEntityDef *def)
{
    FlSession *session = in->session;
    bool known = entity != NULL && entity->announced;
    if (in->speaker == FROM_HOST || (known && entity->def->kind == def->kind) ||
        (fl__may_create_kind(session, def->kind) &&
         (entity != NULL || fl__may_create(session, in->from)))) {
        return true;
    }
    fl__count(session, FL_SESSION_NO_ROOM);
    if (entity != NULL) {
        fl__entity_remove(session, fl__entity_numbered(session, m->number));
    }
    session->entities->number_epoch[m->number] = m->epoch;
    session->entities->number_known[m->number] = true;
    fl__entity_announce_to(session, m->number, in->from);
    return false;
}

// Traits are kept whatever becomes of the entity: the sender names them from now on. False: it
// named what it never sent.
static bool take_traits(const MessageIn *in, EntityMessage *m)
{
    TraitCache *received = &fl__stream(in->session, in->connection)->traits_received;
    if (m->trait_bytes > 0) {
        keep_traits(received, m);
    } else {
        m->trait_bytes = received->count[m->definition];
        memcpy(m->traits, received->bytes[m->definition], (size_t)m->trait_bytes);
    }
    return m->trait_bytes > 0;
}

static bool take_entity(const MessageIn *in)
{
    FlSession *session = in->session;
    EntityMessage m;
    FlEntityDef def;
    bool sound = fl__entity_message_read(in->r, &m) && take_traits(in, &m) &&
                 fl__traits_read(&m, &def) && m.number < session->world.def.entity_capacity;
    if (!sound) {
        return false;
    }
    Entity *entity = fl__entity_numbered(session, m.number);
    if (!fl__may_announce(in, &m, entity)) {
        refuse_entity(in, &m, entity);
        return true;
    }
    // What an introduced peer said before the host did is no epoch.
    bool guessed =
        in->speaker == FROM_HOST && entity != NULL && !entity->announced && !entity->ours;
    if (session->entities->number_known[m.number] && !guessed &&
        fl__seq_newer(session->entities->number_epoch[m.number], m.epoch)) {
        fl__count(session, FL_SESSION_OLD_EPOCH);
        return true; // a later word is under way
    }
    bool another = entity != NULL && entity->announced && entity->born != m.born;
    if (another) {
        fl__entity_remove(session, entity);
        entity = NULL;
    }
    bool again = entity == NULL && session->entities->number_known[m.number] &&
                 session->entities->number_epoch[m.number] == m.epoch;
    if (may_be_made(in, &m, entity, &def)) {
        entity_taken(in, &m, entity, &def);
        entity = fl__entity_numbered(session, m.number);
    }
    if (again && entity != NULL && !entity->ours) {
        fl__state_refresh(session, entity);
    }
    return true;
}

// The sender may have been the owner until now: the host took it, or it is gone.
static void refuse_decision(const MessageIn *in, const Entity *entity, uint16_t epoch)
{
    bool was = entity == NULL || (fl__seq_newer(entity->epoch, epoch) && !entity->orphan);
    if (was) {
        fl__count(in->session, FL_SESSION_OLD_EPOCH);
    } else {
        fl__connection_refused(in->session, in->connection, fl__claims_all(in->session));
    }
}

static bool take_entity_end(const MessageIn *in)
{
    FlSession *session = in->session;
    EntityEndMessage m;
    if (!fl__entity_end_message_read(in->r, &m) || m.number >= session->world.def.entity_capacity) {
        return false;
    }
    Entity *entity = fl__entity_numbered(session, m.number);
    bool later = session->entities->number_known[m.number] &&
                 fl__seq_newer(session->entities->number_epoch[m.number], m.epoch);
    if (later) {
        fl__count(session, FL_SESSION_OLD_EPOCH);
        return true; // a later word is under way
    }
    if (in->speaker == FROM_MEMBER && !fl__may_decide(entity, in->from, m.epoch)) {
        refuse_decision(in, entity, m.epoch);
        return true;
    }
    session->entities->number_known[m.number] = true;
    session->entities->number_epoch[m.number] = m.epoch;
    if (entity != NULL && entity->ours) { // the host refuses or destroys it
        FlNotice notice = {.kind = FL_NOTICE_ENTITY_GONE,
                           .entity = fl__id_of(session, entity),
                           .peer = fl_peer_host(session)};
        fl__entity_remove(session, entity);
        fl__notice(session, &notice);
    } else if (entity != NULL) {
        fl__entity_remove(session, entity);
    }
    return true;
}

static bool take_give(const MessageIn *in)
{
    FlSession *session = in->session;
    GiveMessage m;
    if (!fl__give_message_read(in->r, &m) || m.number >= session->world.def.entity_capacity) {
        return false;
    }
    Entity *entity = fl__entity_numbered(session, m.number);
    if (!fl__may_decide(entity, in->from, m.epoch)) {
        refuse_decision(in, entity, m.epoch);
        return true;
    }
    bool there = m.to < session->member_count && fl__member_present(session, m.to);
    int32_t to = there ? m.to : in->from;
    fl__entity_pass(session, entity, to, (uint16_t)(m.epoch + 1), in->time);
    entity->confirmed = true;
    fl__entity_announce(session, m.number, FL__NONE);
    return true;
}

static bool take_scope(const MessageIn *in)
{
    FlSession *session = in->session;
    ScopeMessage m;
    if (!fl__scope_message_read(in->r, &m) || m.number >= session->world.def.entity_capacity ||
        m.member >= session->member_count) {
        return false;
    }
    Entity *entity = fl__entity_numbered(session, m.number);
    if (!fl__may_decide(entity, in->from, m.epoch)) {
        refuse_decision(in, entity, m.epoch);
        return true;
    }
    if (m.fields) {
        fl__fields_scope(session, entity, m.member, m.sees);
    } else {
        fl__entity_scope(session, entity, m.member, m.sees, in->time);
    }
    return true;
}

// ---------------------------------------------------------------- the feature

#define ANNOUNCED_BYTES 64 // of an entity to one receiver, with its state and first update

static bool message(void *self, MessageIn *in)
{
    FlSession *session = (FlSession *)self;
    if (in->speaker == FROM_MEMBER) {
        fl__relay_message(session, in->connection, ANNOUNCED_BYTES);
    }
    switch (in->kind) {
    case MESSAGE_ENTITY:
        return take_entity(in);
    case MESSAGE_ENTITY_END:
        return take_entity_end(in);
    case MESSAGE_GIVE:
        return take_give(in);
    default:
        return take_scope(in);
    }
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    fl__scope_changed(session, change);
    if (change->kind == CHANGE_CONNECTION_OPENED || change->kind == CHANGE_ANNOUNCE_NOTHING) {
        none_due(session, change->connection);
        fl__stream(session, change->connection)->relayed.begun = false;
    } else if (change->kind == CHANGE_ANNOUNCE_ALL) {
        // What was sent before the other end knew that we host was dropped there.
        memset(&fl__stream(session, change->connection)->traits_sent, 0, sizeof(TraitCache));
        all_due(session, change->connection);
    } else if (change->kind == CHANGE_COMPLETE) {
        fl__owner_enter(session);
    }
}

static bool room(const void *self, int32_t connection)
{
    return fl__relay_has_room((const FlSession *)self, connection);
}

const Feature fl__feature_announce = {
    .name = "entity",
    .messages = {MESSAGE_ENTITY, 4},
    .room = room,
    .message = message,
    .changed = changed,
    .announce = send_due,
};
