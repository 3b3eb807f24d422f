// The error of what players see at best effort, taken apart.
//
// Each look is held against what predictions from the *exact* state of the update's own time would
// have shown: so what is left between them is rounding and the choice of a prediction. Whoever
// began another life since its update is counted apart, as no prediction can know it.
#ifndef LAB_CROWD_REST_H
#define LAB_CROWD_REST_H

#include "fairlead/motion.h"
#include "lab/experiments/crowd/crowd_motion.h"

/// Adds up looks. {0} is ready. About 3 KB.
typedef struct CrowdRest {
    uint64_t looks, cut_looks;
    double age_s;                               ///< Sum over all looks.
    double shown, cut_shown;                    ///< Of the same life, of another one.
    double cut_still;                           ///< Of another one: from where it lay.
    double still, linear;                       ///< Of the same life.
    double faded[FL_FADE_CODES][FL_FADE_CODES]; ///< By the codes of level and of vertical.
} CrowdRest;

/// Means, in units.
typedef struct CrowdRestFigures {
    double age_ms;        ///< Mean of all looks.
    double error;         ///< As shown: all looks,
    double error_life;    ///< of the same life,
    double error_cut;     ///< of another one,
    double cut_share;     ///< which is this share of the looks.
    double still, linear; ///< Of the same life: from the exact state.
    double best;          ///< Likewise, with the fade that suits best, known afterwards.
    double still_all;     ///< As `still`, of all looks.
    double best_all;      ///< As `best`, of all looks.
} CrowdRestFigures;

/// One look, at `time`, at a player whose newest update is of `stamp`.
void crowd_rest_add(CrowdRest *rest, const CrowdMotion *motion, int32_t player, FlTime stamp,
                    FlTime time, FlVec3 shown);

CrowdRestFigures crowd_rest_figures(const CrowdRest *rest);

#endif
