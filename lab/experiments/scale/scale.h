// lab run scale: how many players an upload carries.
//
// Three *modes* of telling everybody about everybody: `broadcast`, every frame to all; `donny`, the
// four that a player looks at most every frame and all others once a second, each update in a
// datagram of its own, as long on the wire as published; `ours`, the same but with shared packets
// and our own sizes. All are the same library with other settings.
//
// Quality is *held* if those who are watched are told at 20 Hz, all others at 1 Hz, and nobody ever
// sends more in a second than its upload; SCALE_LIMIT_TABLE has the numbers.
#ifndef LAB_SCALE_H
#define LAB_SCALE_H

#include "lab/experiments/crowd/crowd_views.h"

/// X(name, word)
#define SCALE_MODE_TABLE(X)                                                                        \
    X(BROADCAST, "broadcast")                                                                      \
    X(DONNY, "donny")                                                                              \
    X(OURS, "ours")

typedef enum ScaleMode {
#define SCALE_MODE_ROW(name, word) SCALE_##name,
    SCALE_MODE_TABLE(SCALE_MODE_ROW)
#undef SCALE_MODE_ROW
        SCALE_MODES
} ScaleMode;

const char *scale_mode_name(ScaleMode mode);

enum { SCALE_PLAYERS_LEAST = 2, SCALE_PLAYERS_MOST = 2000 };

/// X(name, least, unit, what): when quality is held, for scale_held and for --help alike. Rates are
/// of 20 Hz and 1 Hz. It takes a quarter of a second to meet, hence the places; whole updates are
/// counted, hence the slowest pairs' rate.
#define SCALE_LIMIT_TABLE(X)                                                                       \
    X(FOCUS_HZ, 19, " Hz", "updates of who is in focus")                                           \
    X(FOCUS_SHARE, 0.9, "", "places in focus that are filled, of those there are")                 \
    X(REST_HZ, 0.95, " Hz", "updates of all others, on average")                                   \
    X(REST_LOW_HZ, 0.74, " Hz", "updates of all others, for 99 of 100 pairs")

typedef enum ScaleLimit {
#define SCALE_LIMIT_ROW(name, least, unit, what) SCALE_##name##_LEAST,
    SCALE_LIMIT_TABLE(SCALE_LIMIT_ROW)
#undef SCALE_LIMIT_ROW
        SCALE_LIMITS
} ScaleLimit;

typedef struct ScalePlay {
    ScaleMode mode;
    int32_t players;
    double kbps, seconds;
    double loop_ms; ///< Everybody looks at its socket so often.
    const CrowdMotion *motion;
    uint64_t seed;
    bool sealed;
} ScalePlay;

typedef struct ScaleFigures {
    CrowdFigures crowd; ///< NaN where not all came.
    bool absent;        ///< Not all came to play: quality is not held with so many.
    bool held;
    double sim_speed; ///< Simulated seconds by seconds of the processor, once all play.
    double join_cpu_s;
    double rss_mib;
} ScaleFigures;

LabStatus scale_play(const ScalePlay *play, ScaleFigures *figures, LabError *error);

bool scale_held(const ScalePlay *play, const CrowdFigures *figures);

/// What a search came to: quality holds with `most` players (0: with none), and not with `more` (0:
/// it holds up to the limit).
typedef struct ScaleFound {
    int32_t most, more;
    ScaleFigures at_most, at_more;
} ScaleFound;

/// The largest number of players, 2 to `limit`, with which quality holds, to within 3 %.
LabStatus scale_search(const ScalePlay *play, int32_t limit, ScaleFound *found, LabError *error);

#endif
