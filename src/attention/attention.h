// Module `attention`: how much everybody looks at what.
#ifndef FAIRLEAD_ATTENTION_H
#define FAIRLEAD_ATTENTION_H

#include "entity/entity.h"

extern const Feature fl__feature_attention, fl__feature_overlay;

FlResult fl__attention_create(FlSession *session);
void fl__attention_destroy(FlSession *session);
size_t fl__attention_entity_bytes(const FlSessionDef *def);
size_t fl__attention_connection_bytes(void);

/// How much we look at an entity, as the game said it last.
double fl__attention_of(const FlSession *session, int32_t slot);

/// A crowd: whether we watch it, for its host, who sends its state.
void fl__attention_watch(FlSession *session, int32_t slot, bool watched);

#endif
