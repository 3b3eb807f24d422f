// Visible jumps: displayed steps that nothing in the game can have made.
#ifndef LAB_JUMPS_H
#define LAB_JUMPS_H

#include "fairlead/base.h"

/// Counts displayed steps that nothing in the game can have made: longer than its top speed allows
/// in the time between two frames, and 10 % more.
typedef struct Jumps {
    double top_speed; ///< Distance per second.
    bool started;
    FlTime time;
    FlVec3 position;
    uint32_t life;
    uint64_t step_count;
    uint64_t jump_count;
    double longest; ///< The longest step that was counted as a jump.
} Jumps;

#define JUMP_TOLERANCE 0.10

void jumps_init(Jumps *jumps, double top_speed);

/// A frame was drawn with the thing here. True if the step to it was a visible jump. The first
/// frame, and the first of another life (a cut), make no step; frames that do not advance in time,
/// or are not finite, are not looked at.
bool jumps_see(Jumps *jumps, FlTime time, FlVec3 position, uint32_t life);

#endif
