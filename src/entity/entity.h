// Module `entity`: replicated things. Other modules name them by slot and see what is here.
#ifndef FAIRLEAD_ENTITY_H
#define FAIRLEAD_ENTITY_H

#include "member/member.h"

extern const Feature fl__feature_handover, fl__feature_motion, fl__feature_state,
    fl__feature_fields, fl__feature_announce, fl__feature_report;

FlResult fl__entities_create(FlSession *session);
void fl__entities_destroy(FlSession *session);

/// What all of them take; what each takes, each connection, and each of each.
typedef struct EntityMemory {
    size_t all, entity, connection, pair;
} EntityMemory;

EntityMemory fl__entities_memory(const FlSessionDef *def);

// ---------------------------------------------------------------- epochs

// An epoch counts the owners (and reincarnations) of an entity number, on a circle of 2^16. What
// carries an older one is dropped.

/// The epoch nearest to `near` with these low eight bits.
static inline uint16_t fl__epoch_unwrap(uint16_t near, uint8_t low)
{
    uint8_t ahead = (uint8_t)(low - (near & 0xffu));
    return (uint16_t)(near + (ahead < 0x80u ? ahead : ahead - 0x100));
}

// ---------------------------------------------------------------- entity.c

/// What other modules see of an entity.
typedef struct EntityInfo {
    uint32_t number;
    uint16_t epoch;
    uint16_t call_floor;  // calls made before this epoch are gone
    int32_t owner;        // FL__NONE: not known yet
    int32_t owner_before; // FL__NONE: none
    bool ours;
    bool was_ours; // it was ours, and another member owns it now
    bool orphan;   // its owner is gone, and it has no new one yet
    bool fresh;    // host: its owner may not know yet that it has it
    const FlEntityDef *def;
    uint32_t life;
    uint16_t state_version; // 0: none yet
    const uint8_t *state;
    int32_t state_bytes;
    FlTime came_at; // when the last update came; FL_FOREVER: none
} EntityInfo;

/// It must be there.
EntityInfo fl__entity_info(const FlSession *session, int32_t slot);

/// The next that is there, at or after `from`; FL__NONE: none.
int32_t fl__entity_after(const FlSession *session, int32_t from);
bool fl__entity_there(const FlSession *session, int32_t slot);
int32_t fl__entity_slot(const FlSession *session, FlEntityId id);      // FL__NONE: stale
int32_t fl__entity_slot_of(const FlSession *session, uint32_t number); // FL__NONE: none
FlEntityId fl__entity_id(const FlSession *session, int32_t slot);
int32_t fl__entity_owner(const FlSession *session, int32_t slot);
uint32_t fl__entity_number(const FlSession *session, int32_t slot);

/// The newest epoch known of a number.
uint16_t fl__entity_epoch(const FlSession *session, uint32_t number);

/// Makes one of which only the number is known. FL__NONE: no room.
int32_t fl__entity_make(FlSession *session, uint32_t number, uint16_t epoch);
void fl__entity_raise_floor(FlSession *session, int32_t slot, uint16_t floor);

/// The slot that something of epoch `epoch` is about, made if it is new. FL__NONE: it is not to be
/// taken, and counted.
int32_t fl__entity_for(FlSession *session, int32_t connection, uint32_t number, uint16_t epoch);

/// Where an entity stands at a session time, by all that is known of it now.
bool fl__entity_stood(const FlSession *session, FlEntityId id, FlTime time, FlPose *pose);

/// What is shown of others' at a session time; where one was, as it is known here.
FlResult fl__entity_shown(FlSession *session, int32_t slot, FlTime time, FlPose *pose,
                          uint32_t *life);
const FlShow *fl__entity_screen(const FlSession *session, int32_t slot); // NULL: ours, or none
bool fl__entity_was(const FlSession *session, int32_t slot, FlTime time, FlPose *pose);

/// Whether a sender may answer calls on an entity.
typedef enum Answering {
    ANSWERS_NOT,
    ANSWERS_WITHOUT_STATE, // it decided before it gave the entity away
    ANSWERS,
} Answering;

/// `epoch`: of the answer. The owner of this epoch, the host for it; a former owner for its own.
Answering fl__may_answer(const FlSession *session, int32_t slot, const MessageIn *in,
                         uint16_t epoch);

/// Something of others' came that is no update.
void fl__entity_came(FlSession *session, int32_t slot, FlTime arrived);

/// A crowd's host: the member at the other end watches it, and gets its state.
void fl__entity_set_interest(FlSession *session, int32_t slot, int32_t connection, bool watches);

/// Keeps a state that its owner of that epoch said, if it is newer than what is here.
void fl__state_keep(FlSession *session, int32_t slot, uint16_t epoch, uint16_t version,
                    const uint8_t *bytes, int32_t count);

/// Its state as messages carry it: the blob, or the groups of fields that a member may see
/// (FL__NONE: all). Returns its bytes.
int32_t fl__state_copy(FlSession *session, int32_t slot, int32_t member,
                       uint8_t bytes[FL_ENTITY_STATE_BYTES]);

/// It has fields in place of a state blob.
bool fl__entity_fielded(const FlSession *session, int32_t slot);

/// Updates remembered per entity and connection with their arrivals; 0: none, nothing is rewound.
int32_t fl__entity_history(const FlSessionDef *def);

/// What was sent to whom. Receivers are connections. NULL: a crowd keeps none.
FlLedger *fl__ledger(const FlSession *session);

// ---------------------------------------------------------------- detail.c

/// Where it has more than every entity has: below `fl__detail_count`; FL__NONE: it has not.
int32_t fl__entity_detail(const FlSession *session, int32_t slot);
int32_t fl__detail_count(const FlSessionDef *def);

/// Another member's entity is watched, or no more: with all detail that there is room for. True: it
/// has.
bool fl__entity_watched(FlSession *session, int32_t slot, bool watched);

// ---------------------------------------------------------------- motion.c

/// How an update that is due goes.
typedef enum UpdateWay {
    UPDATE_ALONE,
    UPDATE_ACCOMPANIED, // something goes beside it,
    UPDATE_REPLACED,    // or in its place
} UpdateWay;

/// What may go in the place of updates, or beside them. `slot` is of an entity that has one.
typedef struct Rider {
    UpdateWay (*way)(const FlSession *session, int32_t connection, int32_t slot, FlTime time);
    int32_t (*bytes)(const FlSession *session, int32_t slot);
    void (*write)(FlSession *session, int32_t connection, int32_t slot, FlWriter *w, bool beside);
    void (*before)(FlSession *session, int32_t connection, int32_t slot, FlTime time);
    void (*updated)(FlSession *session, int32_t slot, FlTime arrived); // others': an update came
    /// Others', by a carrier: guidance came; `carried`: from one who is not its owner.
    void (*guided)(FlSession *session, int32_t slot, const FlGuidance *guidance, bool carried,
                   FlTime arrived);
} Rider;

void fl__motion_set_rider(FlSession *session, const Rider *rider);
void fl__entity_set_rider(FlSession *session, int32_t slot, bool has);

/// The newest update of another member's entity, by whoever carried it.
typedef struct Carried {
    uint32_t life; // low bits
    FlTime stamp, arrived;
    int32_t via;  // the member who sent it to us: its owner, or another one
    int32_t hops; // between its owner and us
    bool watched;
} Carried;

/// What carries updates where there is no ledger, and knows what has come of those without detail.
typedef struct Carrier {
    /// `motion`: NULL if it is not asked for. False: nothing is known.
    bool (*newest)(const FlSession *session, uint32_t number, FlMotion *motion, Carried *carried);
    int32_t (*positions)(const FlSession *session, FlTime time, FlVec3 *positions); // by number
    void (*exported)(FlSession *session, int32_t slot, const uint8_t *packed, int32_t bytes,
                     FlTime stamp); // ours has a new update
    uint32_t (*contradictions)(const FlSession *session, int32_t member);
    FlResult (*guide)(FlSession *session, const FlGuidance *guidance); // ours has new guidance
    FlTime (*guide_ahead)(const FlSession *session); // between two guidances to one member
    /// A short message to a member, directly and once. False: there is no way, or no room.
    bool (*message)(FlSession *session, int32_t member, const uint8_t *bytes, int32_t count);
} Carrier;

const Carrier *fl__entities_carrier(const FlSession *session); // NULL: none
void fl__entity_guided(FlSession *session, int32_t slot, const FlGuidance *guidance, bool carried,
                       FlTime arrived);
void fl__entities_set_carrier(FlSession *session, const Carrier *carrier);

// ---------------------------------------------------------------- shown_time.c

/// By lags: which session time of an owner's is shown.
typedef struct ByLags {
    FlTime time;
    double rate;      // how fast it runs
    uint32_t version; // another one: time may have stepped
} ByLags;

/// At `now`, on our own clock. False: not known.
typedef bool LagTimesFn(const FlSession *session, int32_t owner, FlTime now, ByLags *shown);

/// Lags are measured in this session.
void fl__entities_set_lags(FlSession *session, LagTimesFn *times);

/// Something may be shown by them.
bool fl__entities_by_lags(const FlSession *session);

/// The time of its owner's that all pictures are of at a session time, where it is shown by lags.
/// False: not known.
bool fl__entity_time_by_lags(const FlSession *session, int32_t slot, FlTime time, FlTime *shown);

/// A message about an entity of which we keep the state, directly to a member where a carrier has a
/// connection of its own. It may be lost. False: there is none.
bool fl__entity_message(FlSession *session, int32_t slot, int32_t member, const FlWriter *w);

/// Wakes the connections to which something has come due since they were last looked at.
void fl__motion_wake(FlSession *session);

// ---------------------------------------------------------------- forward.c

/// Another member's entity goes on to the other end of a connection, as it asked; or no more.
void fl__entity_forward(FlSession *session, int32_t slot, int32_t connection, bool forwards);
bool fl__entity_forwards(const FlSession *session, int32_t slot, int32_t connection);

/// Another member's entity comes over this connection as well, from one that forwards it. FL__NONE:
/// no more; so it is, too, once what came from there was found to be a lie.
void fl__entity_set_source(FlSession *session, int32_t slot, int32_t connection);
int32_t fl__entity_source(const FlSession *session, int32_t slot);

/// Over which connection it comes to us: from that one, its owner, or the host.
int32_t fl__entity_route(const FlSession *session, int32_t slot);

/// When it last came from there; INT64_MIN: never.
FlTime fl__entity_carried_at(const FlSession *session, int32_t slot);

/// Ours: the one at the other end gets it from another member, and is not ours to know about.
void fl__entity_set_elsewhere(FlSession *session, int32_t slot, int32_t connection, bool elsewhere);
bool fl__entity_elsewhere(const FlSession *session, int32_t slot, int32_t connection);

/// The slot of an entity that may be carried to us over a connection. FL__NONE: it may not.
int32_t fl__entity_carried_for(FlSession *session, int32_t connection, uint32_t number,
                               uint16_t epoch);

/// MOTION and CARRIED.
bool fl__motion_skip(const FlSession *session, PacketIn *in);
void fl__motion_take(FlSession *session, PacketIn *in);

// ---------------------------------------------------------------- hint.c

/// Entities of which a byte is to be sent.
typedef struct HintsDue {
    uint64_t *words; // by slot
    bool any;        // one may be
} HintsDue;

/// What the bytes mean, and over which connection they go.
typedef struct Hint {
    uint8_t section; // its kind
    uint8_t most;    // no byte is larger
    bool (*goes)(const FlSession *session, int32_t slot, int32_t connection);
    uint8_t (*send)(FlSession *session, int32_t slot); // the byte, which is sent now
    /// Slot FL__NONE: of something that is not known here.
    void (*receive)(FlSession *session, int32_t connection, int32_t slot, uint8_t value);
    bool (*urgent)(const FlSession *session, int32_t slot); // it is a reason for a packet; or NULL
} Hint;

void fl__hint_due(HintsDue *due, int32_t slot);

/// It rides in every packet, but is no reason for one, unless it is urgent.
Want fl__hint_want(const FlSession *session, const Hint *hint, const HintsDue *due,
                   int32_t connection, FlTime now);
void fl__hint_write(const Hint *hint, HintsDue *due, PacketOut *out);
bool fl__hint_skip(const FlSession *session, const Hint *hint, FlReader *r);
void fl__hint_take(const Hint *hint, PacketIn *in);

/// Bytes a second that a host relays for one member to each of so many receivers: a quarter of what
/// a link carries, or of an upload that is limited, shared by them.
double fl__relay_rate(const FlSession *session, int32_t receivers);

#endif
