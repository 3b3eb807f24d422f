// Private to module `entity`: how much of what members say of their entities a host relays.
#ifndef FAIRLEAD_ENTITY_RELAYED_PRIVATE_H
#define FAIRLEAD_ENTITY_RELAYED_PRIVATE_H

#include "entity/entity.h"

typedef struct Entity Entity;

/// How much of what a member says of its entities may still be relayed.
typedef struct RelayQuota {
    double bytes; // left,
    FlTime at;    // then
    bool begun;
} RelayQuota;

/// Host: updates that wait for their owners' quotas.
typedef struct MovesLater {
    uint64_t *slots; // [entity_words]
    FlTime next;     // when they are tried again,
    int32_t turn;    // and which of them goes first
    FlTime short_at; // when bytes were short last; INT64_MIN: never
} MovesLater;

/// Host: whether so many bytes of a member's entity are relayed now. False: as soon as its quota
/// allows (Entities.relay_later), all that is the newest then.
bool fl__relay_now(FlSession *session, const Entity *entity, int32_t bytes);

/// Host: the same of an update, while bytes are short (Entities.moves).
bool fl__relay_motion(FlSession *session, const Entity *entity, FlTime stamp, int32_t bytes);

/// Host: what a member said of an entity goes to all; whether its next message may be taken.
void fl__relay_message(FlSession *session, int32_t connection, int32_t bytes);
bool fl__relay_has_room(const FlSession *session, int32_t connection);

/// Whether what waits is to be tried again now.
bool fl__relay_is_due(FlSession *session, FlTime now);

#endif
