// The one place where tests look into a session: what no public function says. Fields of its
// structs are read here only, and its private functions are declared to tests by this file only:
// when they move, this is what moves with them.
#ifndef TESTS_SCENE_SESSION_INSIDE_H
#define TESTS_SCENE_SESSION_INSIDE_H

#include "attention/attention.h"
#include "connection/private.h"
#include "entity/private.h"
#include "guidance/private.h"
#include "member/private.h"
#include "packet/private.h"
#include "play/private.h"

enum { INSIDE_LINES = 16 };

// ---------------------------------------------------------------- members and their connections

/// From now on everything that was there when it joined counts as known.
static inline void inside_complete(FlSession *session)
{
    session->complete = true;
}

/// Its number in the session, from the moment that it is told; negative before.
static inline int32_t inside_self(const FlSession *session)
{
    return session->self;
}

/// The host's number, also when the host is gone and nobody leads yet.
static inline int32_t inside_host(const FlSession *session)
{
    return session->host;
}

static inline uint32_t inside_incarnation(const FlSession *session, int32_t member)
{
    return fl__member_incarnation(session, member);
}

/// The connection to a member.
static inline int32_t inside_line_of(const FlSession *session, int32_t member)
{
    return fl__member_connection(session, member);
}

/// Sends a message over the connection to a member, whatever it says.
static inline FlResult inside_say(FlSession *session, int32_t member, const FlWriter *w)
{
    int32_t line = inside_line_of(session, member);
    fl__connection_wake(session, line);
    return fl_link_send(fl__connection_link(session, line), FL_DELIVERY_ORDERED, w->bytes,
                        fl_writer_size(w));
}

/// Every connection leads to a member that has it.
static inline bool inside_lines_agree(const FlSession *session)
{
    bool agree = true;
    for (int32_t i = 0; i < session->connection_count; i++) {
        agree = agree && (!fl__connection_used(session, i) ||
                          inside_line_of(session, fl__connection_member(session, i)) == i);
    }
    return agree;
}

/// Its session time has begun.
static inline bool inside_clock_runs(const FlSession *session)
{
    return fl__time_known(session);
}

// ---------------------------------------------------------------- a host that takes over

/// It waits for what others know of entities,
static inline bool inside_asks(const FlSession *session)
{
    return session->entities->claiming;
}

/// that is of all entities, and this member has not answered.
static inline bool inside_waits_for(const FlSession *session, int32_t member)
{
    return session->entities->claiming && session->entities->claim_all &&
           fl__bit_get(session->entities->claims_due, member);
}

/// Whether an entity had that number, and which epoch it was in last.
static inline bool inside_knows_number(const FlSession *session, uint32_t number, uint16_t *epoch)
{
    *epoch = session->entities->number_epoch[number];
    return session->entities->number_known[number];
}

// ---------------------------------------------------------------- entities

static inline const Entity *inside_entity(const FlSession *session, FlEntityId id)
{
    return fl__entity_find(session, id);
}

static inline const FlEntityDef *inside_def(const FlSession *session, FlEntityId id)
{
    return inside_entity(session, id)->def;
}

/// Its owner's number, present or not; negative: not known.
static inline int32_t inside_owner(const FlSession *session, FlEntityId id)
{
    return inside_entity(session, id)->owner;
}

/// The epoch it was made in.
static inline uint16_t inside_born(const FlSession *session, FlEntityId id)
{
    return inside_entity(session, id)->born;
}

/// Its owner is gone, and nobody has it yet.
static inline bool inside_is_orphan(const FlSession *session, FlEntityId id)
{
    return inside_entity(session, id)->orphan;
}

/// What the owner has sent of its entity last; NULL: nothing, or there is no such entity.
static inline const FlMotion *inside_sent(const FlSession *session, FlEntityId id)
{
    const Entity *entity = inside_entity(session, id);
    return entity != NULL && entity->detail->exporter.started ? &entity->detail->exporter.exported
                                                              : NULL;
}

/// What a receiver shows of an entity.
static inline const FlShow *inside_show(const FlSession *session, FlEntityId id)
{
    return &inside_entity(session, id)->detail->show;
}

/// The owner's guidance, as it travels.
static inline FlGuidance inside_guidance(const FlSession *session, FlEntityId id)
{
    return session->guidance->all[id.index1 - 1].guidance;
}

/// What a receiver is guided by.
static inline const FlGuide *inside_guide(const FlSession *session, FlEntityId id)
{
    return &session->guidance->all[id.index1 - 1].guide;
}

/// The owner knows that its entity's replica is near at that member.
static inline bool inside_is_near(const FlSession *session, FlEntityId id, int32_t member)
{
    int32_t words = inside_line_of(session, member) * session->entity_words;
    return fl__bit_get(&session->guidance->near[words], (int32_t)id.index1 - 1);
}

// ---------------------------------------------------------------- a timeline

static inline Agreed *inside_agreed(FlSession *session)
{
    return &session->play->agreed;
}

// ---------------------------------------------------------------- packets

/// Gives a feature a section of a packet from the other end of a connection, or only asks whether
/// it is sound.
static inline bool inside_reads(FlSession *session, const Feature *feature, int32_t line,
                                uint8_t kind, const uint8_t *bytes, int32_t count, FlTime time,
                                bool take)
{
    FlReader r;
    fl_reader_init(&r, bytes, count);
    PacketIn in = {.session = session,
                   .connection = line,
                   .from = fl__connection_member(session, line),
                   .kind = kind,
                   .r = &r,
                   .timed = true,
                   .when = {.arrived = time, .near = time}};
    bool sound = (feature->skip)(session, &in); // cmocka has a macro skip()
    if (sound && take) {
        fl_reader_init(&r, bytes, count);
        feature->take(session, &in);
    }
    return sound;
}

/// Packets that were begun so far, per connection.
static inline void inside_begun(const FlSession *session, uint64_t begun[INSIDE_LINES])
{
    for (int32_t i = 0; i < session->connection_count && i < INSIDE_LINES; i++) {
        bool used = fl__connection_used(session, i);
        begun[i] = used ? fl__outbox(session, i)->manifest.packet_next : 0;
    }
}

/// Takes one update in a packet: a piece of the path of the entity of that number.
typedef void (*InsideUpdate)(void *ctx, uint32_t number, const FlPiece *piece);

/// The updates in the packet that was made for `to` since `begun`, as the sender has noted them.
/// False: it made none.
static inline bool inside_updates(const FlSession *session, FlAddress to,
                                  const uint64_t begun[INSIDE_LINES], InsideUpdate update,
                                  void *ctx)
{
    bool any = false;
    for (int32_t i = 0; i < session->connection_count && i < INSIDE_LINES; i++) {
        const Manifest *m = &fl__outbox(session, i)->manifest;
        if (!fl__connection_used(session, i) ||
            !fl_address_equal(fl__connection_address(session, i), to) ||
            m->packet_next == begun[i]) {
            continue;
        }
        any = true;
        const Packet *packet =
            &m->packets[(m->packet_next - 1) & (uint64_t)(m->packet_capacity - 1)];
        for (uint32_t n = 0; n < packet->count; n++) {
            const Item *item = &m->items[(packet->first + n) & (uint32_t)(m->item_capacity - 1)];
            if (item->row == fl__feature_row(session, &fl__feature_motion)) {
                update(ctx, fl__entity_number(session, item->index),
                       fl_ledger_exported(session->entities->ledger, item->index, item->value));
            }
        }
    }
    return any;
}

#endif
