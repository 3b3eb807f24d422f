// Module `play`: what games say to each other. Its features, and making it.
#ifndef FAIRLEAD_PLAY_H
#define FAIRLEAD_PLAY_H

#include "agree/lags.h"
#include "entity/entity.h"

extern const Feature fl__feature_event, fl__feature_unreliable, fl__feature_input,
    fl__feature_action, fl__feature_agreed, fl__feature_call, fl__feature_predict;

FlResult fl__play_create(FlSession *session, FlTime now);
void fl__play_destroy(FlSession *session);

/// What it takes, and for each connection.
size_t fl__play_bytes(const FlSessionDef *def);
size_t fl__play_connection_bytes(const FlSessionDef *def);

/// When the next action is due, on the caller's clock; FL_FOREVER: none is here.
FlTime fl__action_deadline(const FlSession *session);

/// The session's lags; NULL: no actions in it.
const FlLags *fl__session_lags(const FlSession *session);

/// Counters and latencies.
FlCallStats fl__call_stats(const FlSession *session);

#endif
