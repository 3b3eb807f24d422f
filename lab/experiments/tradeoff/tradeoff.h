// How much accuracy fairness costs: every policy as a point, mean error against its deviation.
//
// The bound: nobody can be served better than by `base`, which sends every update to everybody at
// once. So receiver k's error is at least b_k, its error under base. For a given deviation the mean
// is least when errors are raised to a common level from below, a_k = max(b_k, level), as water
// fills a vessel; everybody above the level stays as it is. (Minimising mean + c * sd over a >= b:
// its gradient is the same for all who are raised, so they all lie at one level.) It asks nothing
// about the number of updates; with a budget nobody need reach it.
#ifndef LAB_TRADEOFF_H
#define LAB_TRADEOFF_H

#include "lab/experiments/fairness/fairness.h"

typedef struct Spread {
    double mean, sd;
} Spread;

/// All errors below a level raised to it.
Spread bound_at_level(const double *base, int32_t count, double level);

/// The least mean for a deviation.
double bound_mean(const double *base, int32_t count, double sd);

/// A point of the picture.
typedef struct TradeoffPoint {
    char name[FL_SEND_TEXT_BYTES];
    FlSendPolicy policy;
    double every;
    int32_t knob;
    bool main; ///< A form that gets a label.
    Spread at;
} TradeoffPoint;

typedef struct TradeoffPicture {
    const TradeoffPoint *points;
    int32_t point_count;
    const Spread *bound;
    int32_t bound_count;
    const char *what; ///< Which material, for the line below the title.
} TradeoffPicture;

void tradeoff_draw(const TradeoffPicture *picture, Text *svg);

#endif
