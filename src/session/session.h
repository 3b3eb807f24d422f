// Module `session`, for the module above it.
#ifndef FAIRLEAD_SESSION_SESSION_INNER_H
#define FAIRLEAD_SESSION_SESSION_INNER_H

#include "fairlead/session.h"

/// Bytes of memory: of the session itself, and for one more connection, entity, and (entity,
/// connection) pair.
typedef struct FlSessionMemory {
    size_t all, connection, entity, pair;
} FlSessionMemory;

void fl__session_destroy(FlSession *session);

FlSessionMemory fl__session_memory(const FlSessionDef *def);

#endif
