// Private to module `crowd`: carriers that carry nothing, and who helps (missed.c).
#ifndef FAIRLEAD_CROWD_MISSED_H
#define FAIRLEAD_CROWD_MISSED_H

#include "private.h"

/// A neighbour carried an update of another player to us.
void fl__crowd_carried_by(FlCrowd *crowd, int32_t neighbour, int32_t owner, FlTime now);

/// Notices who carries nothing, and asks others.
void fl__crowd_look_for_missed(FlCrowd *crowd, FlTime now);

/// Carriers that we miss, to be named over a light connection. Returns how many.
int32_t fl__crowd_missed(const FlCrowd *crowd, int32_t index, FlTime now,
                         int32_t missed[FL__MISSED]);

/// The other end misses these.
void fl__crowd_missed_by(FlCrowd *crowd, int32_t index, const int32_t missed[FL__MISSED],
                         int32_t count, FlTime now);

/// The players whose updates the other end misses. Returns how many.
int32_t fl__crowd_charges(const FlCrowd *crowd, const FlCrowdLight *light, FlTime now,
                          int16_t *members, int32_t capacity);

#endif
