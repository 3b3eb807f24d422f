// Module `rewind`: what was on a player's screen.
#ifndef FAIRLEAD_REWIND_INNER_H
#define FAIRLEAD_REWIND_INNER_H

#include "entity/entity.h"
#include "fairlead/rewind.h"

extern const Feature fl__feature_rewind;

/// Nothing, if the definition does not ask for it.
FlResult fl__rewind_create(FlSession *session);
void fl__rewind_destroy(FlSession *session);

/// What all of it takes, each connection, and each entity of each.
size_t fl__rewind_bytes(const FlSessionDef *def);
size_t fl__rewind_connection_bytes(const FlSessionDef *def);
size_t fl__rewind_pair_bytes(const FlSessionDef *def);

#endif
