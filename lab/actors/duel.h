// Bots of two teams shoot at what their sessions show them.
//
// Each team plays on a node of its own, and sees the other one over the network: poses and state
// blobs as Fairlead delivers them. Where a shot hits is decided by the truth. So hits per shot say
// how well a team's view was worth aiming at.
#ifndef LAB_DUEL_H
#define LAB_DUEL_H

#include "lab/world/lab_run.h"
#include "lab/world/world.h"

typedef struct DuelDef {
    uint64_t seed;
    FlTime delay; ///< One way.
    FlTimeMode mode;
    FlTime length;
    bool sealed;
} DuelDef;

typedef struct DuelResult {
    int64_t shots;
    int64_t hits; ///< Of the other team's tanks.
} DuelResult;

LabStatus duel_play(const DuelDef *def, DuelResult *result, LabError *error);

#endif
