// A mesh of players under the library's own `focus` policy, moved by a recording: what D9 is judged
// by. Unlike `lab run scale`, which makes the published focus set itself, everything here is the
// shipped policy's: who is in focus, what is left for the others, and what it costs.
#ifndef LAB_CLAIMS_SCALE_FOCUS_H
#define LAB_CLAIMS_SCALE_FOCUS_H

#include "lab/experiments/crowd/crowd_motion.h"

#define FOCUS_BYTES 126                        ///< An update on the wire, as published.
#define FRAME_KBPS (20.0 * FOCUS_BYTES * 8e-3) ///< Every frame to one receiver.

typedef struct FocusPlay {
    int32_t players;
    double kbps; ///< Upload of each, all headers included; 0: every frame to everybody, no limit.
    const CrowdMotion *motion;
    double seconds;
    int32_t parts; ///< Equal parts of that time; each has figures of its own.
    uint64_t seed;
} FocusPlay;

typedef struct FocusFigures {
    double focus_size;              ///< Receivers that get every frame, of one sender.
    double rest_hz;                 ///< Updates a second of one of the others.
    double kbps_used;               ///< Of one player, headers included.
    double error_focus, error_rest; ///< Units: of the four that a player looks at most, and others.
} FocusFigures;

#define FOCUS_PARTS 4

/// figures[parts].
LabStatus focus_play(const FocusPlay *play, FocusFigures *figures, LabError *error);

#endif
