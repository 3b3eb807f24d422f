// Private to module `entity`: fields.
//
// An entity of a kind with fields has them packed (wire/fields.h) where others have their state
// blob, and every group has a stamp: the epoch and the version that its value is of. Its owner
// counts versions; whoever passes groups on leaves their stamps as they are. Of two values of a
// group the one with the newer stamp wins.
#ifndef FAIRLEAD_ENTITY_FIELDS_PRIVATE_H
#define FAIRLEAD_ENTITY_FIELDS_PRIVATE_H

#include "private.h"

#include "wire/fields.h"

#define KINDS 256
#define KIND_WORDS (KINDS / 64)

/// What an entity with fields has besides.
typedef struct FieldsOf {
    const FieldLayout *layout;       // NULL: it has a state blob
    uint32_t stamp[FL_FIELD_GROUPS]; // epoch << 16 | version; 0: as it was made
    uint32_t dirty;                  // ours: groups that were set and are not due yet
} FieldsOf;

#define EARLY_STATES 4 // per connection

/// A state from an introduced peer who owns the entity, before the host has announced that.
struct EarlyState {
    uint16_t number;
    uint16_t epoch;
    uint16_t version; // 0: none
    int32_t count;
    uint8_t bytes[FL_ENTITY_STATE_BYTES];
    const FieldLayout *layout; // NULL: a blob
    uint32_t groups;
    uint16_t versions[32]; // of each
};

/// How far fields have got over one connection.
typedef struct FieldStream {
    uint64_t kinds_due[KIND_WORDS]; // to be announced,
    uint64_t replies[KIND_WORDS];   // as a reply
    uint64_t agreed[KIND_WORDS];    // defined alike at both ends: only these are sent
    Repeat repeat;
} FieldStream;

struct Fields {
    FieldLayout *kind[KINDS];
    FieldsOf *of;        // [detail]
    uint64_t *scope;     // [detail][member_words]: who sees private groups
    uint32_t *due;       // [connection][detail]: groups,
    uint64_t *due_slots; // [connection][entity_words]: and of which entities there are any
    FieldStream *stream; // [connection]
    uint64_t *dirty;     // [entity_words]: own entities with dirty groups,
    bool any_dirty;      // and whether there are any
    uint8_t taken[FL_FIELDS_BYTES]; // bytes last given to the game
    uint8_t read[FL_FIELDS_BYTES];  // groups as they came
    FlError problem;                // how a kind differs at another peer
};

static inline FieldsOf *fl__fields_of(const FlSession *session, const Entity *entity)
{
    return &session->entities->fields->of[fl__detail_index(session, entity)];
}

static inline uint32_t *fl__groups_due(const FlSession *session, int32_t connection,
                                       const Entity *entity)
{
    const Entities *e = session->entities;
    return &e->fields
                ->due[(int64_t)connection * e->detail_count + fl__detail_index(session, entity)];
}

// ---------------------------------------------------------------- kind.c

/// How another peer defines a kind.
typedef struct KindMessage {
    uint8_t kind;
    bool reply;
    uint32_t hash;
    uint16_t version;
    char name[32];
    int32_t field_count;
    uint16_t field[FL_FIELDS];
} KindMessage;

void fl__kind_message_write(FlWriter *w, uint8_t kind, bool reply, const FieldLayout *layout);
bool fl__kind_message_read(FlReader *r, KindMessage *m); // after the kind of the message

/// What is new at a connection: announces kinds that are due. False: the queue is full.
bool fl__kinds_announce(FlSession *session, int32_t connection);
bool fl__kind_message(FlSession *session, MessageIn *in);

// ---------------------------------------------------------------- fields.c

/// Groups of it are to be sent over a connection, where it goes.
void fl__fields_due_over(FlSession *session, const Entity *entity, int32_t connection,
                         uint32_t groups);

/// Its kind is known, or known anew: gives it fields, or none.
void fl__fields_prepare(FlSession *session, Entity *entity, const FieldLayout *layout);

/// Keeps groups of `packed` that are newer than what is here.
void fl__fields_keep(FlSession *session, int32_t slot, uint16_t epoch, uint16_t version,
                     uint32_t groups, const uint8_t *packed);

/// The same of bytes as messages carry them (fl__state_copy). What is no sound one is dropped.
void fl__fields_take(FlSession *session, int32_t slot, uint16_t epoch, uint16_t version,
                     const uint8_t *bytes, int32_t count);

/// As messages carry them, for a member's eyes; FL__NONE: all. Returns their bytes.
int32_t fl__fields_copy(FlSession *session, const Entity *entity, int32_t member,
                        uint8_t bytes[FL_ENTITY_STATE_BYTES]);

/// Every group is of the entity's state version and epoch: whoever decides about it says so.
void fl__fields_restamp(const FlSession *session, const Entity *entity);

/// Whether a member sees private groups.
void fl__fields_scope(FlSession *session, Entity *entity, int32_t member, bool sees);

/// Groups with the same stamp as the lowest of `groups`, as far as they are among them.
uint32_t fl__fields_alike(const FieldsOf *fields, uint32_t groups);

FlResult fl__fields_create(FlSession *session);
void fl__fields_destroy(FlSession *session);

/// An entity of ours gets its number: what was set before is in `packed`.
void fl__fields_enter(FlSession *session, Entity *entity, const uint8_t *packed);

#endif
