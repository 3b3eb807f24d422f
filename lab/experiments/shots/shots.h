// lab run shots: does a judge find what was on the shooter's screen?
//
// A host owns all that moves in a recording and judges; one client per round trip draws sixty
// frames a second and shoots at what it draws. A shot is a ray of the game: a place, a direction,
// the session time of the frame. The truth is the client's log of drawn poses.
#ifndef LAB_SHOTS_H
#define LAB_SHOTS_H

#include "fairlead/show.h"
#include "lab/actors/material.h"
#include "lab/figures/stats.h"

enum { SHOTS_CLIENTS = 8, SHOTS_VIEWS = 4 };

/// Who says where things were.
typedef enum ShotsJudge {
    SHOTS_REWIND, ///< fl_rewind_to.
    SHOTS_PING,   ///< The true path, as of a round trip and the interpolation delay ago.
    SHOTS_STAMP,  ///< The true path, as of the shot's time minus what the client shows behind.
    SHOTS_JUDGES
} ShotsJudge;

extern const char *const shots_judge_words[SHOTS_JUDGES];

/// How clients show things.
typedef struct ShotsView {
    const char *name;
    double snapshots_hz; ///< 0: by threshold.
    int32_t judge_count; ///< The first so many judge it.
    bool behind;         ///< Interpolated, behind its arrival; else timestamped:
    FlHold hold;
    FlConvergence convergence;
} ShotsView;

extern const ShotsView shots_views[SHOTS_VIEWS];

typedef struct ShotsPlay {
    const Material *material;
    const ShotsView *view;
    uint64_t seed;
    bool sealed;
    bool relayed; ///< Clients own what moves, and the host passes it on; else it is the host's.
    int32_t client_count;
    FlTime delay[SHOTS_CLIENTS], jitter;
    double loss;
    double rate_hz; ///< Shots a second and client.
    double radius;  ///< Of a target.
    FlTime rewind_ns;
    FlTime length;
} ShotsPlay;

/// What one judge found out about one client's shots.
typedef struct ShotsFigures {
    int64_t shots;
    int64_t poses;   ///< Compared, all that were drawn in the frames of shots.
    int64_t exact;   ///< The same to the bit.
    int64_t hits;    ///< On the screen.
    int64_t differ;  ///< Verdicts: another victim, or none, or one where there was none.
    int64_t waited;  ///< Were not known at once,
    int64_t refused; ///< or are further back than rewind_ns.
    int64_t behind;  ///< Poses that are not given: the picture was further behind than that.
    Tally error;     ///< Of poses.
} ShotsFigures;

/// Adds to figures[judge][client].
LabStatus shots_play(const ShotsPlay *def, ShotsFigures (*figures)[SHOTS_CLIENTS], LabError *error);

#endif
