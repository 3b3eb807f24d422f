// How far off receivers see an entity, by which clock they place it.
//
// One sender, receivers at several one-way delays, and at each delay one receiver per clock mode:
// ways of the same delay have the same luck, so modes differ by placement and nothing else. The
// sender hosts; or, with a relay, sender and receivers join a host between them.
#ifndef LAB_ACCURACY_H
#define LAB_ACCURACY_H

#include "lab/actors/material.h"
#include "lab/experiments/experiment.h"
#include "lab/figures/stats.h"
#include "lab/world/world.h"

enum { ACCURACY_DELAYS = 8, ACCURACY_MODES = 3 };

/// One run to be played.
typedef struct AccuracyPlay {
    const Material *material;
    int32_t run; ///< Which of its runs.
    uint64_t seed;
    bool sealed;
    FlTime delay[ACCURACY_DELAYS]; ///< One way, to the receivers.
    int32_t delay_count;
    FlTimeMode mode[ACCURACY_MODES];
    int32_t mode_count;
    FlTime relay;         ///< One way from the sender to a relay; negative: the sender hosts.
    FlTimeMode host_mode; ///< How the relay reads the sender's updates.
    FlTime jitter;        ///< Plus or minus, uniform.
    double loss;          ///< Share.
    double drift_ppm;     ///< Clocks drift by up to this; they are off by up to 1000 s anyway.
    FlTriggerDef trigger;
} AccuracyPlay;

/// A default play of a material's run: 100, 300 and 800 ms, all modes, no relay, BZFlag's distance.
AccuracyPlay accuracy_play_default(const Material *material, int32_t run, uint64_t seed);

/// What one receiver saw in one run. Errors are in the material's units.
typedef struct AccuracyFigures {
    int64_t samples; ///< Every 10 ms, while the entity is there and shown in the right life.
    double mean, median, p95, max; ///< |real - placed|
    double clock_ms;               ///< Mean of |session time here - the sender's|.
    double clock_worst_ms;
    double residual;         ///< Mean of |exported - placed| while the newest update is here,
    double session_residual; ///< and the largest of it at equal session times.
    int64_t worse_after_stop, after_stop; ///< Samples at which it was worse than the first mode at
    int64_t worse_else, elsewhere;        ///< the same delay: soon after a stop, and not.
} AccuracyFigures;

/// Plays it. `figures` and `pooled` (which is added to; or NULL) have one entry per delay and mode:
/// [delay * mode_count + mode]. `series` (or NULL) gets a line every 100 ms.
LabStatus accuracy_play(const AccuracyPlay *def, AccuracyFigures *figures, Tally *pooled,
                        Text *series, LabError *error);

const char *accuracy_mode_name(FlTimeMode mode);

#endif
