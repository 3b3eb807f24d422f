// What one viewer is shown of two players beside where they are, as a picture: a column per mode.
//
// With a recording all modes have the same players on the same ways, so columns are to be compared;
// bots act by what they are shown, and go other ways in each. The players are those whom the viewer
// looks at most and least in the first mode that is played.
#ifndef LAB_ATTENTION_PATHS_H
#define LAB_ATTENTION_PATHS_H

#include "arena/mode.h"
#include "lab/figures/text.h"

enum { PATHS_TICKS = 4 * ARENA_TICK_HZ, PATHS_MODES = ARENA_MODES };

typedef struct PathsPoint {
    bool there;
    FlVec3 shown, real;
} PathsPoint;

/// Some 1.5 MB.
typedef struct AttentionPaths {
    bool played[PATHS_MODES];
    double attention[PATHS_MODES][ARENA_PLAYER_CAPACITY]; ///< That the viewer pays, in sum.
    PathsPoint at[PATHS_MODES][ARENA_PLAYER_CAPACITY][PATHS_TICKS];
} AttentionPaths;

/// One tick of what player 0 sees of another, `tick` from when looking begins.
void paths_see(AttentionPaths *paths, ArenaMode mode, int32_t player, int32_t tick, FlVec3 shown,
               FlVec3 real, double attention);

/// Draws nothing if no two players live through the whole of it.
void paths_draw(const AttentionPaths *paths, double top_speed, Text *svg);

#endif
