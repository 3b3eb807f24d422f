// What is on one player's screen, judged as somebody who looks at it would.
//
// Of every pair of a viewer and a player, at every tick at which both the player and its replica
// live. A *stall*: in half a second the replica gets nowhere, and its player does; trembling on the
// spot does not count as moving. In a wall: the replica is where no player can be. Facing: relative
// to whom the player aims at, as both are shown here. *Wanted* are the few that the viewer looks at
// most; one is *served* while what the viewer has of it is at most a few frames older than its
// owner's newest, and *settled* when its replica is where that puts it.
#ifndef LAB_ATTENTION_VIEWER_H
#define LAB_ATTENTION_VIEWER_H

#include "arena/node.h"
#include "lab/figures/stats.h"

#define VIEWER_TICKS (ARENA_TICK_HZ / 2) ///< Half a second.

typedef struct ViewerPair {
    FlVec3 shown[VIEWER_TICKS], real[VIEWER_TICKS]; ///< By tick modulo VIEWER_TICKS.
    int32_t count;                                  ///< Ticks of this life, in sequence.
    int32_t wanted;                                 ///< For so many ticks.
    bool stalls, inside, entered;
} ViewerPair;

typedef struct ViewerSums {
    uint64_t stalls, stall_ticks, walls, ticks;
    double facing;
    uint64_t wanted, served; ///< Ticks.
    double settled_error;
    uint64_t settled; ///< Ticks.
    Tally enter;      ///< Seconds from being wanted to being served and settled.
    uint64_t never;   ///< Wanted for half a second and more, and never that.
} ViewerSums;

/// One tick of a pair. `viewer` and `owner` are nodes; `wanted`: it is one of the few.
void viewer_see(ViewerPair *pair, ViewerSums *sums, const ArenaNode *viewer, const ArenaNode *owner,
                bool wanted);

/// One of them is dead, or is not shown.
void viewer_pause(ViewerPair *pair, ViewerSums *sums);

#endif
