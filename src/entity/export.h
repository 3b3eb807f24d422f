// Private to module `entity`: updates on their way out (export.c).
#ifndef FAIRLEAD_ENTITY_EXPORT_PRIVATE_H
#define FAIRLEAD_ENTITY_EXPORT_PRIVATE_H

#include "private.h"

void fl__exporter_start(const FlSession *session, const Entity *entity);

/// Tells exporters, every now and then, for which delays they choose.
void fl__exporters_aim(FlSession *session, FlTime now);

/// Puts an update into the ledger, to be distributed: ours, or one to be passed on.
void fl__entity_export(FlSession *session, Entity *entity, const FlMotion *motion, uint32_t life,
                       FlTime time);

/// Packs a motion of the entity as it travels. Returns its bytes, 0 if it cannot be packed.
int32_t fl__entity_pack(const FlSession *session, const Entity *entity, const FlMotion *motion,
                        uint32_t life, uint8_t *bytes);

#endif
