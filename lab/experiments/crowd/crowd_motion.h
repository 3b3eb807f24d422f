// Motion for a crowd, from a recording of a few.
//
// Player k moves as recorded player k mod m. The first m do so as recorded; each further *copy*
// begins at another moment, sees the map turned by quarters or mirrored, and plays beside the
// others on a ground of its own, so no two of a thousand move alike, and it is as crowded around
// everybody as in the recording. Where the recording ends it begins again: a cut. Who is dead lies
// where it fell.
#ifndef LAB_CROWD_MOTION_H
#define LAB_CROWD_MOTION_H

#include "fairlead/wire.h"
#include "lab/experiments/attention/attention.h"

typedef struct CrowdMotion {
    AttentionMatch match; ///< Every row is there.
    uint32_t *lives;      ///< As the rows: rises with every cut, from 0 in every recording.
    FlVec3 middle;
    double half, half_height; ///< Of the map's side.
    bool one_ground;          ///< All copies play on the same ground: much more crowded.
    uint64_t seed;
} CrowdMotion;

/// Where a player truly is.
typedef struct CrowdTruth {
    FlVec3 position, velocity;
    double yaw;
    uint32_t life; ///< Another one: a cut.
} CrowdTruth;

/// The first `seconds` of a recording. Free it with crowd_motion_free.
LabStatus crowd_motion_load(const char *path, double seconds, uint64_t seed, CrowdMotion *motion,
                            LabError *error);
void crowd_motion_free(CrowdMotion *motion);

/// Between two ticks on the straight line between them. `time` from 0 on.
CrowdTruth crowd_motion_at(const CrowdMotion *motion, int32_t player, FlTime time);

/// A world that holds all of it, in steps of 5 units (a player is 30 wide).
FlWorldDef crowd_motion_world(const CrowdMotion *motion, int32_t players);

#endif
