// What players of a crowd see, and what everybody sends, every 10 ms.
//
// A *view* is one player's: of everybody else it notes every new update, how old what is shown is,
// and how far it is from the truth. Views are a sample (32 of them, evenly spread); bytes are
// counted of all.
#ifndef LAB_CROWD_VIEWS_H
#define LAB_CROWD_VIEWS_H

#include "lab/experiments/crowd/crowd_game.h"
#include "lab/experiments/crowd/crowd_rest.h"
#include "lab/figures/stats.h"

#define CROWD_VIEWS 32

typedef struct CrowdViews CrowdViews;

/// What came of it.
typedef struct CrowdFigures {
    double seconds;
    double focus_hz;               ///< Updates a second of one who is watched.
    double focus_size;             ///< Watched at a time,
    double focus_wanted;           ///< of so many.
    double focus_stay_s;           ///< How long one stays watched, mean.
    double best_effort_hz;         ///< Of all others, mean over pairs. NaN: there are none.
    double best_effort_low_hz;     ///< 99 of 100 pairs reach this.
    double age_p50_ms, age_p95_ms; ///< Of what is shown of all others.
    double focus_age_p50_ms, focus_age_p95_ms; ///< Of those watched.
    double error_focus, error_rest;            ///< Units, mean.
    CrowdRestFigures rest;                     ///< `error_rest`, taken apart.
    double peak_kbps;                          ///< The most that anybody sent in any second,
    double peak_share;                         ///< and the most of anybody's upload.
    double mean_kbps;                          ///< Of all players.
    double lobby_kbps;                         ///< Of the lobby, which has no limit.
    double lights;                             ///< A player, mean.
    double update_bytes;                       ///< All bytes of all players by the updates in them.
} CrowdFigures;

/// Begins to look now, as an actor of the game's world.
LabStatus crowd_views_create(CrowdGame *game, CrowdViews **out, LabError *error);
void crowd_views_destroy(CrowdViews *views);

CrowdFigures crowd_views_figures(CrowdViews *views);

#endif
