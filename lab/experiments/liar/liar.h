// What a receiver gains by lying about when updates reach it.
//
// Sessions tell the truth, so this is played on the ledger alone, which is where reports are
// judged: one sender, some receivers, a network in virtual time, the policies as shipped. Everybody
// shows an update when it truly arrives; what the liar *reports* is another matter:
//
//   claiming   its reports say that updates arrived later (or earlier) than they did
//   delaying   it keeps everything back on both ways, as if it were farther off than it is
//
// The sender knows when it sent, when the report came, and how far the receiver's clock may be off:
// as sessions set it, a round trip and 10 ms. A claim beyond that is a contradiction.
#ifndef LAB_LIAR_H
#define LAB_LIAR_H

#include "lab/experiments/fairness/fairness.h"

typedef struct LiarPlay {
    const FairnessPlay *game; ///< Material, run, seed, delays, jitter, model, trigger.
    FlSend send;
    int32_t liar;  ///< A receiver's number.
    FlTime claims; ///< Added to the arrival times that it reports.
    FlTime holds;  ///< How long it keeps back what comes and what goes.
} LiarPlay;

typedef struct LiarFigures {
    double aee[FAIRNESS_RECEIVERS]; ///< True errors.
    int64_t updates_to[FAIRNESS_RECEIVERS];
    int64_t updates_sent;
    double mean, sd;
    double others; ///< The mean of all but the liar.
    int64_t contradictions;
} LiarFigures;

LabStatus liar_play(const LiarPlay *def, LiarFigures *figures, LabError *error);

#endif
