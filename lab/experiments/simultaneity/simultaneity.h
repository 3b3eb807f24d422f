// One random network, one way of deciding when actions are played: what comes of it.
//
// Peers act at random times on a few shared objects. Whatever the control, the network, the clocks
// and the actions of a seed are the same.
#ifndef LAB_SIMULTANEITY_H
#define LAB_SIMULTANEITY_H

#include "lab/experiments/experiment.h"
#include "lab/figures/stats.h"

/// X(name, word, constant in ms, choice of lags)
#define TRIAL_CONTROL_TABLE(X)                                                                     \
    X(NONE, "none", 0, FL_LAGS_FREE)                                                               \
    X(CONSTANT_200, "constant-200", 200, FL_LAGS_FREE)                                             \
    X(CONSTANT_400, "constant-400", 400, FL_LAGS_FREE)                                             \
    X(PERCEPTIVE, "perceptive", 0, FL_LAGS_REFERENCE)                                              \
    X(PERCEPTIVE_BEST, "perceptive-best", 0, FL_LAGS_BEST_REFERENCE)                               \
    X(PERCEPTIVE_FREE, "perceptive-free", 0, FL_LAGS_FREE)

typedef enum TrialControl {
#define TRIAL_CONTROL_ROW(name, word, constant, choice) TRIAL_##name,
    TRIAL_CONTROL_TABLE(TRIAL_CONTROL_ROW)
#undef TRIAL_CONTROL_ROW
        TRIAL_CONTROLS
} TrialControl;

const char *trial_control_name(TrialControl control);
FlTime trial_control_constant(TrialControl control); ///< 0: none.
bool trial_is_perceptive(TrialControl control);

typedef struct TrialDef {
    uint64_t seed;
    TrialControl control;
    int32_t peers;    ///< 2 to 32.
    int32_t actions;  ///< Of each peer,
    FlTime length;    ///< at random times within this.
    double low_ms;    ///< Delays of ways are uniform from here
    double high_ms;   ///< to here, each direction its own;
    double drift_ppm; ///< No two clocks drift apart faster.
    FlTime again_ns;  ///< A round at least this often.
    FlTime margin_ns; ///< Of the lags.
    bool triangle;    ///< Delays are as far as places in a disc of that diameter are apart.
    bool sessions;    ///< Whole sessions (mesh), or module `agree` alone.
    bool sealed;      ///< Sessions: sealed.
} TrialDef;

/// A network of the issue: delays of 5 to 195 ms, 10 actions of each peer within 2 s, no drift.
TrialDef trial_def_default(void);

/// Its network: delays, clocks, how lags are chosen. Nothing is played.
struct NetDef;
void trial_network(const TrialDef *def, struct NetDef *net);

/// What drift can make of the time between two moments.
FlTime trial_drift_bound(const TrialDef *def, const struct NetDef *net);

typedef struct TrialFigures {
    int64_t conflicts; ///< Pairs of actions on one object that two peers played in another order.
    int64_t legality;  ///< Times that two actions of one source were further or less apart at a
                       ///< peer than at the source, each by its own clock, by more than 1 us and
                       ///< twice `bound`: lags change at both ends.
    int64_t uneven;    ///< Pairs of peers for which some two actions were further apart at one than
                       ///< at the other, in true time, by more than 1 us and `bound`.
    FlTime error;      ///< The largest such difference.
    FlTime bound;      ///< What drift can make of it: drift times time since provisioning.
    int64_t late;      ///< Played after something later: what a rollback would repair.
    double minutes;    ///< Of play, over all peers.
    FlTime lag;        ///< Perceptive: the mean of all lags, clocks out.
    FlTime slowest;    ///< The longest decision.
} TrialFigures;

/// Adds a sample for each action and peer, from doing to playing, to `decisions` (ms).
LabStatus trial_run(const TrialDef *def, TrialFigures *figures, Tally *decisions, LabError *error);

#endif
