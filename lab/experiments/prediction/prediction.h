// lab run prediction: a host that decides, and players who predict their tanks.
#ifndef LAB_PREDICTION_H
#define LAB_PREDICTION_H

#include "lab/experiments/experiment.h"

#define PREDICTION_PLAYERS 16

typedef struct PredictionPlay {
    int32_t players;
    FlTime way_ns, jitter_ns; ///< One way.
    int32_t loss_ppm;
    FlTime burst_ns; ///< Every five seconds nothing gets through for so long, on average; 0: never.
    FlTime span;     ///< Of what is counted, after a warm-up.
    int32_t send_hz; ///< States a second to each player.
    uint64_t seed;
    bool sealed;
} PredictionPlay;

/// Sums over all players.
typedef struct PredictionFigures {
    double minutes; ///< Of players.
    double corrections, correction_sum, correction_max;
    double missed, differing, replayed, ticks;
    double lead_ms;              ///< At the end.
    double up_bytes, down_bytes; ///< Headers below not counted.
    double jump; ///< The longest that a picture moved between two frames beyond the top speed.
} PredictionFigures;

/// Errors: LAB_FAILED.
LabStatus prediction_play(const PredictionPlay *play, PredictionFigures *figures, LabError *error);

#endif
