// Windows of motion, shown and true, for telling the two apart (discriminate.h).
//
// A window is a second of one player on one screen, and the same second of the player itself: the
// same ticks, seen through the same eye, which is slow (200 ms) and not sharp (a third of a
// player's width). Of each there are figures of how it moves, none of where.
#ifndef LAB_ATTENTION_WINDOWS_H
#define LAB_ATTENTION_WINDOWS_H

#include "arena/node.h"
#include "lab/figures/discriminate.h"

#define WINDOW_TICKS ARENA_TICK_HZ
#define WINDOW_CAPACITY 2048 ///< Of each kind, in all matches.

typedef struct WindowPose {
    FlVec3 position;
    double yaw;
} WindowPose;

/// Of one viewer and one player.
typedef struct WindowPair {
    WindowPose shown[WINDOW_TICKS], real[WINDOW_TICKS];
    int32_t count;
} WindowPair;

typedef struct AttentionWindows {
    int32_t match; ///< The caller counts.
    int32_t every; ///< One window of so many is kept.
    int64_t seen;
    int32_t count;
    DiscriminateSample shown[WINDOW_CAPACITY], real[WINDOW_CAPACITY];
} AttentionWindows;

/// One tick of a pair.
void windows_see(AttentionWindows *windows, WindowPair *pair, const ArenaPlayer *shown,
                 const ArenaPlayer *real);

/// How well shown and true motion are told apart. NaN: there is only one match.
double windows_auc(const AttentionWindows *windows);

/// The same for true motion against true motion: what there is to find in nothing.
double windows_floor(const AttentionWindows *windows);

#endif
