// Private to module `entity`: what owners and hosts say to each other reliably.
#ifndef FAIRLEAD_ENTITY_MESSAGES_PRIVATE_H
#define FAIRLEAD_ENTITY_MESSAGES_PRIVATE_H

#include "entity/entity.h"

// ---------------------------------------------------------------- traits

#define TRAIT_BYTES 99 // what an entity is takes at most so many
#define TRAITS_KEPT 8  // at both ends of a connection

/// The traits that were sent last over a connection: alike ones go once.
typedef struct TraitCache {
    uint8_t bytes[TRAITS_KEPT][TRAIT_BYTES];
    uint8_t count[TRAITS_KEPT]; // 0: none
    uint8_t next;               // to be replaced
} TraitCache;

// ---------------------------------------------------------------- messages.c

/// An entity is there, and whose it is.
typedef struct EntityMessage {
    uint16_t number; ///< Of the entity.
    uint16_t epoch;
    uint16_t born;       ///< The epoch it was made in: another one is another entity.
    uint16_t owner;      ///< The member's number.
    uint8_t definition;  ///< Below TRAITS_KEPT: these traits, or
    int32_t trait_bytes; ///< 0: those that came with it last.
    uint8_t traits[TRAIT_BYTES];
} EntityMessage;

/// An entity is there no longer.
typedef struct EntityEndMessage {
    uint16_t number;
    uint16_t epoch; ///< The last one.
} EntityEndMessage;

/// The owner hands an entity on: it is the host's to say so to everybody.
typedef struct GiveMessage {
    uint16_t number;
    uint16_t epoch; ///< The owner's, which ends.
    uint16_t to;
} GiveMessage;

/// Who may see a private entity.
typedef struct ScopeMessage {
    uint16_t number;
    uint16_t epoch;
    uint16_t member;
    bool sees;
    bool fields; ///< Its private groups of fields, not the entity.
} ScopeMessage;

/// The host to all: report what you know of the entities whose owner is gone.
typedef struct AskMessage {
    uint16_t round; ///< Counts them.
    bool all;       ///< Of everything that is not yours: I am the host since now.
} AskMessage;

/// One such thing, as it is known here. After the last, a ClaimedMessage.
typedef struct ClaimMessage {
    uint16_t number;
    uint16_t epoch;
    uint16_t owner; ///< The member who has it, or whom the sender gave it to.
    bool ended;     ///< There is no such thing any more; this was its last epoch.
    uint16_t version;
    int32_t count;
    uint8_t state[FL_CALL_STATE_BYTES];
} ClaimMessage;

/// That was all.
typedef struct ClaimedMessage {
    uint16_t round;
} ClaimedMessage;

/// What a member reports of an entity to a new host.
typedef struct Testimony {
    bool given;
    bool own; // that it owns it itself, else:
    uint16_t owner;
    uint16_t epoch;
} Testimony;

// Writers put the kind first; readers start after it.
void fl__entity_message_write(FlWriter *w, const EntityMessage *m);
bool fl__entity_message_read(FlReader *r, EntityMessage *m);
void fl__entity_end_message_write(FlWriter *w, const EntityEndMessage *m);
bool fl__entity_end_message_read(FlReader *r, EntityEndMessage *m);
void fl__give_message_write(FlWriter *w, const GiveMessage *m);
bool fl__give_message_read(FlReader *r, GiveMessage *m);
void fl__scope_message_write(FlWriter *w, const ScopeMessage *m);
bool fl__scope_message_read(FlReader *r, ScopeMessage *m);
void fl__ask_message_write(FlWriter *w, const AskMessage *m);
bool fl__ask_message_read(FlReader *r, AskMessage *m);
void fl__claim_message_write(FlWriter *w, const ClaimMessage *m);
bool fl__claim_message_read(FlReader *r, ClaimMessage *m);
void fl__claimed_message_write(FlWriter *w, const ClaimedMessage *m);
bool fl__claimed_message_read(FlReader *r, ClaimedMessage *m);

// ---------------------------------------------------------------- traits.c

/// What an entity is, as ENTITY carries it. Reading: false if no sender writes that.
int32_t fl__traits_write(const FlEntityDef *def, uint8_t bytes[TRAIT_BYTES]);
bool fl__traits_read(const EntityMessage *m, FlEntityDef *def);

#endif
