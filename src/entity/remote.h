// Private to module `entity`: updates of others' entities, from their owners or forwarded.
#ifndef FAIRLEAD_ENTITY_REMOTE_H
#define FAIRLEAD_ENTITY_REMOTE_H

#include "entity/entity.h"

struct Entity;

// ---------------------------------------------------------------- remote.c

/// An update came in, `bytes` long at `packed`.
void fl__update_take(FlSession *session, int32_t connection, FlUpdate *update, uint16_t epoch,
                     const uint8_t *packed, int32_t bytes, const PacketTimes *when);

/// One came that another member forwarded.
void fl__carried_take(FlSession *session, int32_t connection, FlUpdate *update, uint16_t epoch,
                      const PacketTimes *when);

// ---------------------------------------------------------------- forward.c

/// It cannot be true by what its owner sent: it is not taken, and nothing more from there.
bool fl__carried_refuted(FlSession *session, struct Entity *entity, const FlUpdate *update);

/// Its owner sends this itself: what was carried is compared.
void fl__carried_check(FlSession *session, int32_t connection, struct Entity *entity,
                       const FlUpdate *update);

#endif
