// Private to module `entity`: updates of others' entities, from their owners or forwarded.
#ifndef FAIRLEAD_ENTITY_REMOTE_H
#define FAIRLEAD_ENTITY_REMOTE_H

#include "entity/entity.h"

struct Entity;

/// An update of a payload, as skipping read it.
typedef struct ReadUpdate {
    FlUpdate update;
    uint16_t time;         ///< Low bits of the update's, which only taking knows.
    uint8_t epoch;         ///< Likewise.
    int32_t bytes;         ///< As it came,
    const uint8_t *packed; ///< in the payload.
} ReadUpdate;

#define READ_AHEAD 80 ///< Updates of a payload that are kept for taking.

// ---------------------------------------------------------------- remote.c

/// An update came in.
void fl__update_take(FlSession *session, int32_t connection, ReadUpdate *read, uint16_t epoch,
                     const PacketTimes *when);

/// One came that another member forwarded.
void fl__carried_take(FlSession *session, int32_t connection, FlUpdate *update, uint16_t epoch,
                      const PacketTimes *when);

// ---------------------------------------------------------------- forward.c

/// It cannot be true by what its owner sent: it is not taken, and nothing more from there.
bool fl__carried_refuted(FlSession *session, struct Entity *entity, const FlUpdate *update);

/// Its owner sends this itself: what was carried is compared.
void fl__carried_check(FlSession *session, int32_t connection, struct Entity *entity,
                       const FlUpdate *update);

/// Host: relays what was over its owner's quota, as far as that allows now: the newest updates.
void fl__relay_moves(FlSession *session, FlTime now);

#endif
