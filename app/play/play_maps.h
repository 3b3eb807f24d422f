// What a game is played on, for pages: JSON that says what to draw under the things.
#ifndef APP_PLAY_MAPS_H
#define APP_PLAY_MAPS_H

#include <jansson.h>

#include "arena/arena.h"
#include "racing/racing.h"
#include "tanks/tanks.h"

/// {"half", "length", "width", "boxes": [[low x, low y, high x, high y], …]}, in units: an arena
/// from -half to half, how large a tank is, and buildings. A new reference.
json_t *play_map_tanks(const TanksWorld *world);

/// {"line": [x, y, …] in cm, "half_width", "car"}: a closed road, and how long a car is, in m. A
/// new reference.
json_t *play_map_racing(const RacingGame *game);

/// {"half", "length", "width", "boxes": [[low x, low y, high x, high y, height], …], "items": [[x,
/// y, kind], …]}, in units: from -half to half, how large a player is, what stands and lies there.
/// A new reference.
json_t *play_map_arena(const ArenaGame *game);

#endif
