// Module `play`: what games say to each other. Its features, and making it.
#ifndef FAIRLEAD_PLAY_H
#define FAIRLEAD_PLAY_H

#include "core/core.h"

extern const Feature fl__feature_event, fl__feature_input, fl__feature_action, fl__feature_agreed;

FlResult fl__play_create(FlSession *session, FlTime now);
void fl__play_destroy(FlSession *session);

/// All it takes; of that, for each connection.
size_t fl__play_bytes(const FlSessionDef *def, int32_t line_count);
size_t fl__play_line_bytes(const FlSessionDef *def);

#endif
