// Private to module `send`: attention, the loop over players.
#ifndef FAIRLEAD_SEND_LOOK_PRIVATE_H
#define FAIRLEAD_SEND_LOOK_PRIVATE_H

#include "private.h"

// ---------------------------------------------------------------- attention_look.c

/// Where all players are, relative to their middle; present: 1, or 0.
typedef struct FlAttentionRow {
    const float *x, *y, *z, *present;
} FlAttentionRow;

/// One observer, and what counts for it.
typedef struct FlAttentionView {
    float eye[3];
    float forward[3]; ///< Of length 1.
    float reach_inverse;
    float metre2_inverse; ///< One over the square of a metre.
    float blend;          ///< How much of the new angle goes into the average.
    float proximity, aim; ///< Weights.
} FlAttentionView;

/// Proximity and aim of `count` players for one observer, weighted, into `value`; `angle` has the
/// averages, negative where there is none yet.
void fl__attention_look(int32_t count, const FlAttentionRow *row, const FlAttentionView *view,
                        float *restrict angle, float *restrict value);

/// How much each counts. Should sum to 1.
typedef struct FlAttentionWeights {
    double proximity, aim, interaction;
} FlAttentionWeights;

FlAttentionWeights fl__attention_weights(FlStance stance);

#endif
