// Private to module `entity`.
//
//   entity.c    the table: slots, ids, numbers; what other modules see of it
//   detail.c    what only some entities have; what many share
//   scope.c     over which connections an entity goes; priority.c: what goes first
//   export.c    updates on their way out: packed, and put into the ledger (export.h)
//   owner.c     the owner's side: truth in, updates out
//   remote.c    others' entities: updates in, poses out, relaying
//   motion.c    MOTION: updates out and in; shown_time.c: whose are shown by lags, and when
//   state.c     STATE: state blobs out and in; repeat.c: what is sent until it has arrived
//   fields.c    FIELDS: groups of fields; kind.c: their kinds; field_table.c: what is due
//   give.c      entities that change their owner
//   messages.c  what owners and hosts say to each other reliably; traits.c: what an entity is
//   announce.c  announcements of entities, out and in
//   rights.c    who may say what of an entity; relayed.c: how much a host relays of members'
//   handover.c  entities whose owner is gone: who has what of them, and who gets them
//   view.c      what others see; forward.c: what members forward of each other's
//   hint.c      a byte about each of some entities, sent in packets that go anyway
#ifndef FAIRLEAD_ENTITY_PRIVATE_H
#define FAIRLEAD_ENTITY_PRIVATE_H

#include "entity/entity.h"

#include "messages.h"
#include "relayed.h"
#include "repeat.h"
#include "shown_time.h"

#define ENTITY_COOKIE 0x454e5431u

/// What the host reported of one receiver's view, or of all of them.
typedef struct Reported {
    FlEntityReport all;
    FlTime farthest; ///< Of the receivers, one way from the host.
    bool known;
} Reported;

typedef struct EarlyState EarlyState; // fields.h
typedef struct Fields Fields;         // likewise
typedef struct Priorities Priorities; // priority.h
typedef struct ReadUpdate ReadUpdate; // remote.h

/// The part of an entity that is there for ours and for what is watched; elsewhere for all.
typedef struct Detail {
    int32_t slot; // whose it is; FL__NONE: free
    uint32_t life;
    // the newest update, as it travels
    FlTime packed_time;
    uint32_t packed_serial; // the ledger's
    int32_t packed_bytes;   // 0: none yet
    uint8_t packed[FL_UPDATE_BYTES_MAX];
    // state
    uint8_t state[FL_ENTITY_STATE_BYTES];
    uint16_t state_version; // 0: none yet
    uint16_t state_epoch;   // of the owner who said it
    int32_t state_bytes;
    // ours
    bool guided;    // guidance may go in the place of its updates
    bool shows_own; // as others see it, too
    bool has_first;
    FlState first;    // handed in before session time was known
    FlVec3 placed_at; // with a log: where it was last,
    int32_t unled;    // and how often in a row it had moved and had no velocity
    FlExporter exporter;
    FlTime not_before; // an owner before us sent states up to here
    int32_t given;     // `giving`: to whom
    int32_t forwards;  // connections over which we forward it
    // others'
    FlTime carried_at;    // when a forwarder sent it last; INT64_MIN: never
    FlTime carried_stamp; // and what it said
    FlVec3 carried_position;
    FlUpdate own; // what its owner sent last itself meanwhile; stamped INT64_MIN: nothing
    FlTime received, received_at; // the update that came in last: its stamp, its arrival
    Reported reported;
    LagView by_lags;
    int32_t source; // the connection over which a forwarder sends it; FL__NONE: none
    FlShow show;    // last: it clears itself what it needs
} Detail;

/// The part that is there for every entity that is known. Thousands may be: keep it small.
typedef struct Entity {
    Detail *detail;         // NULL: known by its newest update only
    const FlEntityDef *def; // shared by all that are alike
    uint32_t generation;    // odd while live
    uint32_t number;
    int32_t owner;        // member number; FL__NONE: not known yet
    int32_t owner_before; // FL__NONE: none
    int32_t giver; // host: who gave it away, until its owner is known to have it; FL__NONE else
    uint16_t epoch;
    uint16_t born;       // the epoch it was made in
    uint16_t call_floor; // calls made before this epoch are gone
    bool ours;           // we hand in its truth
    bool unnumbered;     // it will be: not live, though its id is valid (owner.c)
    bool giving;         // it was ours; the host has not said yet whose it is
    bool announced;      // its definition is known (others'), so that it can be passed on
    bool orphan;         // its owner is gone, and has no successor yet
    bool confirmed;      // host: its owner has said so to us, not to a host before us
    bool handing;        // host: its owner is still to get its handover
} Entity;

/// How far entities have got over one connection.
typedef struct Stream {
    int32_t early_next; // of its early states the next to be replaced
    int32_t turn;       // the entity slot at which the next packet goes on
    Repeat states;
    FlTime report_next;  // host: when the owner's figures go out again,
    int32_t report_turn; // and the entity slot to go on with
    FlTime bound_next;   // when the ledger gets the bound of the other end's clock again
    TraitCache traits_sent, traits_received;
    uint32_t contradictions; // what it forwarded to us was not true
    RelayQuota relayed;      // host: beside motion,
    RelayQuota moved;        // and motion
} Stream;

#define KINDS_LEARNT 16 // that learn for themselves; of more, some learn together

/// What some entities are: kept once, however many are alike.
typedef struct Definition {
    FlEntityDef def;
    int32_t uses;                // 0: free
    uint8_t traits[TRAIT_BYTES]; // as it is announced
    uint8_t trait_bytes;
} Definition;

struct Entities {
    Entity *all;
    Detail *details;
    int32_t detail_count;    // as many as entities, or fewer: then for ours and what is watched
    Definition *definitions; // the first is the default, and what there is no room for
    int32_t definition_count;
    Stream *streams;        // [connection]
    int32_t *by_number;     // entity slot of a wire number, FL__NONE: none
    uint16_t *number_epoch; // the newest epoch known, per number,
    bool *number_known;     // if any was
    uint32_t own_next;
    int32_t free_from;      // slots below are taken
    FlLedger *ledger;       // receivers are connections; NULL: a crowd's, who keep none
    uint64_t *state_due;    // [connection][entity_words]
    uint64_t *relay_later;  // [entity_words] host: states over their owner's quota,
    FlTime relay_next;      // and when these, and messages, are tried again
    MovesLater moves;       // host: updates over their owner's quota
    uint64_t *due;          // [connection][number_words]: announcements,
    uint64_t *refresh;      // and entities to ask for the state of
    const Rider *rider;     // what may go in an update's place; NULL: nothing
    const Carrier *carrier; // NULL: updates go over connections
    LagTimesFn *lag_times;  // NULL: no lags are measured
    uint64_t *interest;     // [connection][entity_words] a crowd's host: who watches what; where
                            // members forward: what we forward there
    uint64_t *elsewhere;    // [connection][entity_words]: who gets ours from another member
    uint64_t *scope;        // [detail][member_words]: who sees it, of private ones
    float *reported;        // [detail][member]: accumulated error, by the host's reports
    int32_t *owned;         // [member]: how many entities it has, for fl__may_create
    uint64_t host_kinds[4]; // kinds of entities that only hosts make
    Testimony *testimony;   // [entity slot][member] host: while everything is claimed
    EarlyState *early;      // [connection][EARLY_STATES]
    ReadUpdate *read;       // [READ_AHEAD + 1]: what motion.c takes of a payload
    Fields *fields;
    Priorities *priorities; // NULL: a crowd's, which has no ledger
    uint64_t *claims_due;   // [member_words] host: has not said yet what it knows of orphans,
    uint64_t *claims_late, *claims_asked; // and for too long; all who were asked
    FlTime claim_since, claim_again;      // host: when claims were asked for, and will be again
    int32_t claim_turn;   // the entity slot to claim next, or number after the last of
                          // them; FL__NONE: none
    uint16_t claim_round; // host: of what was asked; else: of what we were asked
    bool claiming;        // host: waits for claims
    bool claim_all;       // of everything, since we are new
    FlExperience experience[KINDS_LEARNT]; // how our things move, by kind
    FlTime aim_next;                       // when exporters hear of receivers' delays again
    bool by_lags;                          // something may be shown by lags
    bool has_first;                        // own states wait for session time
    bool exported;                         // since connections were last looked at for due updates
};

static inline bool fl__is_live(const Entity *entity)
{
    return (entity->generation & 1u) != 0;
}

static inline Entity *fl__entity(const FlSession *session, int32_t slot)
{
    return &session->entities->all[slot];
}

static inline Stream *fl__stream(const FlSession *session, int32_t connection)
{
    return &session->entities->streams[connection];
}

static inline int32_t fl__slot(const FlSession *session, const Entity *entity)
{
    return (int32_t)(entity - session->entities->all);
}

static inline int32_t fl__detail_index(const FlSession *session, const Entity *entity)
{
    return (int32_t)(entity->detail - session->entities->details);
}

static inline uint64_t *fl__interest(const FlSession *session, int32_t connection)
{
    return &session->entities->interest[connection * session->entity_words];
}

/// Who may see it, where it is private. It must have a detail.
static inline uint64_t *fl__scope_of(const FlSession *session, const Entity *entity)
{
    return &session->entities->scope[fl__detail_index(session, entity) * session->member_words];
}

// ---------------------------------------------------------------- detail.c

/// Gives an entity its detail, or takes it away. False: no room.
bool fl__detail_take(FlSession *session, Entity *entity);
void fl__detail_release(Entity *entity);

/// Shares a definition with all that are alike. One at least is always there: the default.
int32_t fl__definition_count(const FlSessionDef *def);
void fl__definition_make(Definition *definition, const FlEntityDef *def);
void fl__definition_set(FlSession *session, Entity *entity, const FlEntityDef *def);
void fl__definition_release(FlSession *session, Entity *entity);

// ---------------------------------------------------------------- entity.c

Entity *fl__entity_find(const FlSession *session, FlEntityId id);       // NULL: stale
Entity *fl__entity_numbered(const FlSession *session, uint32_t number); // NULL: none
Entity *fl__entity_early(const FlSession *session, FlEntityId id); // NULL: none waits of that id
FlEntityId fl__id_of(const FlSession *session, const Entity *entity);
Entity *fl__entity_free(FlSession *session); // a slot; NULL: all are used, which is counted
bool fl__entity_begin(FlSession *session, Entity *entity, uint32_t number, uint16_t epoch,
                      int32_t owner);
bool fl__claims_all(const FlSession *session); // host: all is being claimed, since we are new
Entity *fl__entity_take(FlSession *session, uint32_t number, uint16_t epoch, int32_t owner);

/// Takes it away here, and announces that to whom we announce such things.
void fl__entity_remove(FlSession *session, Entity *entity);

/// Live and ours, or why not (FL_WOULD_BLOCK: it is ours, and waits for its number); or ours to
/// decide about, since we host.
FlResult fl__entity_ours(FlSession *session, FlEntityId id, Entity **entity);
FlResult fl__entity_ruled(FlSession *session, FlEntityId id, Entity **entity);

/// Entity numbers whose announcement is due over a connection.
uint64_t *fl__announcements(const FlSession *session, int32_t connection);

/// An entity's announcement is due: to all but one, or to one member.
void fl__entity_announce(FlSession *session, uint32_t number, int32_t except_connection);
void fl__entity_announce_to(FlSession *session, uint32_t number, int32_t member);

// ---------------------------------------------------------------- scope.c

bool fl__same_policy(const FlSend *a, const FlSend *b);

/// By which policy we distribute it.
FlSend fl__policy_here(const FlSession *session, const FlEntityDef *def);

/// Its definition is known, or another: the policy follows it.
void fl__entity_define(FlSession *session, Entity *entity, const FlEntityDef *def, FlTime time);

/// Whether the entity goes over this connection, as things are.
bool fl__entity_goes(const FlSession *session, const Entity *entity, int32_t connection);

/// Brings the ledger's watches in line with that: of an entity over one connection, over all, or of
/// all entities over one.
void fl__entity_watch_over(FlSession *session, Entity *entity, int32_t index, FlTime time);
void fl__entity_watch(FlSession *session, Entity *entity, FlTime time);
void fl__watch_over(FlSession *session, int32_t index, FlTime time);
void fl__scope_changed(FlSession *session, const Change *change);

// ---------------------------------------------------------------- owner.c

/// We are in: entities of ours that wait for their numbers get them.
void fl__owner_enter(FlSession *session);

/// Session time is known: hands in the states that waited for it.
void fl__owner_set_first(FlSession *session);

// ---------------------------------------------------------------- state.c

/// Its state, or fields, are to be sent: to all, or over one connection where it goes.
void fl__state_due(FlSession *session, const Entity *entity);

void fl__state_due_over(FlSession *session, const Entity *entity, int32_t connection);

/// It is shown to us again: what came before that was of the one that is gone. Asks for its state.
void fl__state_refresh(FlSession *session, const Entity *entity);

/// Where a state of a later epoch than is known here waits for its announcement; NULL: nowhere.
EarlyState *fl__early_state(FlSession *session, int32_t connection, uint32_t number,
                            uint8_t epoch_low);

/// The host has announced whose it is: takes a state that came from that one before.
void fl__state_early(FlSession *session, Entity *entity);

/// The next version, on a circle without 0.
uint16_t fl__state_after(uint16_t version);

#endif
