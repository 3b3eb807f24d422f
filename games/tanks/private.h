// What the files of this game share.
#ifndef TANKS_PRIVATE_H
#define TANKS_PRIVATE_H

#include "tanks.h"

#include "picture/numbers.h"

#define TANKS__RULES_COOKIE 0x74616e6bu
#define TANKS__GAME_COOKIE 0x67616d65u

/// Distance along the unit vector to a box grown by `margin`: INFINITY if it is missed, negative
/// from inside.
double tanks__ray_box(const TanksBox *box, double margin, double x, double y, double dx, double dy);

/// Distance along the unit vector to the arena's wall moved inwards by `margin`; 0 from beyond it.
double tanks__ray_wall(const TanksWorld *world, double margin, double x, double y, double dx,
                       double dy);

/// `time` in whole ticks, at least 1 for more than nothing.
int64_t tanks__ticks(const TanksWorld *world, FlTime time);

#endif
