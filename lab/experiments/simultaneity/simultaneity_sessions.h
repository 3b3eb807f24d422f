// The same peers as in lab/experiments/simultaneity/simultaneity_net.h, but each with a whole
// session: actions travel as a game's do, in real datagrams.
#ifndef LAB_SIMULTANEITY_SESSIONS_H
#define LAB_SIMULTANEITY_SESSIONS_H

#include "lab/experiments/simultaneity/simultaneity_net.h"
#include "lab/world/world.h"

typedef struct Crowd Crowd;

/// Delays, clocks, drift, lags and what to do with what is played, from the net's definition (all
/// are present; times played are those that the session says). Errors: as world_node_add.
FL_NODISCARD FlResult crowd_create(const NetDef *def, FlTopology topology, bool sealed,
                                   Crowd **crowd);
void crowd_destroy(Crowd *crowd);

void crowd_run(Crowd *crowd, FlTime until);

/// True once every peer can act and plays, by lags that are those of everybody who is there.
bool crowd_is_ready(Crowd *crowd);

/// A peer does something now. Errors: as fl_action_send.
FL_NODISCARD FlResult crowd_act(Crowd *crowd, int32_t peer, const void *bytes, int32_t count);
World *crowd_world(Crowd *crowd);

#endif
