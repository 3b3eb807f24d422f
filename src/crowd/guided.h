// Private to module `crowd`: guidance of entities, as it travels (guided.c).
#ifndef FAIRLEAD_CROWD_GUIDED_H
#define FAIRLEAD_CROWD_GUIDED_H

#include "private.h"

/// The newest guidance of an entity: ours, or what came of another's.
struct FlCrowdGuided {
    int32_t of;       // FL__NOBODY: free
    int16_t via;      // who sent it to us
    bool carried;     // and is not its owner
    FlTime stamp;     // its time
    FlTime own_stamp; // of what its owner sent itself; INT64_MIN: nothing
    FlTime arrived;
    FlTime ahead_ns;
    FlVec3 position;
    int32_t bytes;
    uint8_t packed[FL__GUIDANCE_BYTES];
};

/// What there is of it to be sent now; NULL: nothing, or not lately.
const FlCrowdGuided *fl__crowd_guided(const FlCrowd *crowd, int32_t of, FlTime now);

/// An entity has another owner, or is gone.
void fl__crowd_guided_end(FlCrowd *crowd, int32_t of);

/// Guidance of another's entity came, from its owner or from whoever is believed. True: it is newer
/// than what was there. `lie`: by it, what was there cannot be true.
bool fl__crowd_guided_take(FlCrowd *crowd, int32_t from, const FlGuidance *guidance,
                           const uint8_t *packed, int32_t bytes, FlTime now, bool *lie);

#endif
