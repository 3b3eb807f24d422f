// Private to module `crowd`: how far entities at best effort still get (fade.c).
#ifndef FAIRLEAD_CROWD_FADE_H
#define FAIRLEAD_CROWD_FADE_H

#include "crowd/engine.h"

/// How far entities at best effort still get after an update: sums of errors by code (FlFade).
typedef struct FlCrowdFade {
    float level[FL_FADE_CODES], vertical[FL_FADE_CODES];
    uint32_t count, turn;
    uint8_t level_code, vertical_code; // the best
} FlCrowdFade;

void fl__crowd_fade_begin(FlCrowd *crowd);

/// An update came, of the same life as the one before.
void fl__crowd_fade_learn(FlCrowd *crowd, const FlCrowdKnown *before, const FlMotion *now);

/// Where one is, by position and velocity; and the whole motion, made to fade.
FlVec3 fl__crowd_fade_position(const FlCrowd *crowd, const FlCrowdKnown *known, FlTime time);
void fl__crowd_fade(const FlCrowd *crowd, FlMotion *motion);

#endif
