// Private to module `crowd`: what we know of entities: ours, and others' (known.c).
#ifndef FAIRLEAD_CROWD_KNOWN_H
#define FAIRLEAD_CROWD_KNOWN_H

#include "private.h"

/// It is needed in a moment. With a thousand players in one process nothing is in the cache.
static inline void fl__crowd_prefetch(const FlCrowd *crowd, int32_t of)
{
    __builtin_prefetch(&crowd->known[of]);
    __builtin_prefetch(&crowd->more[of]);
}

/// What its owner sent us itself, to be carried on; NULL: nothing, or not lately.
const FlCrowdMore *fl__crowd_carriable(const FlCrowd *crowd, int32_t of, FlTime now);

/// The newest that can be sent on, whoever sent it; NULL: nothing, or not lately.
const FlCrowdMore *fl__crowd_kept(const FlCrowd *crowd, int32_t of, FlTime now);

/// Whether an update is of an entity of others, of this epoch, and not stamped later than now. If
/// not, it is counted.
bool fl__crowd_admit(FlCrowd *crowd, const FlUpdate *update, uint8_t epoch, FlTime now);

/// An admitted update came, `hops` from its owner. False: it was overtaken, and counted.
bool fl__crowd_take(FlCrowd *crowd, const FlCrowdLight *light, const FlUpdate *update, int32_t hops,
                    FlTime now);

/// What a member carried to us cannot be true.
void fl__crowd_blame(FlCrowd *crowd, int32_t member);

/// Keeps an update as it travels.
void fl__crowd_keep(FlCrowd *crowd, int32_t of, FlTime stamp, const uint8_t *packed, int32_t bytes);

#endif
