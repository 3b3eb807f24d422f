// lab run crowd: everybody watches one player.
//
// Player 0 has the flag. In case `flag` all others look at it more than at anybody else; in case
// `match` the flag counts as much as a player near by, so who looks at it hangs on whom else the
// recording has near and before one's eyes. In mode `direct` an owner serves as many as its upload
// bears; in mode `overlay` it sends the others on to those who have upload to spare.
//
// Then a player that passes on to most falls silent, and another one leaves: how long do those
// behind it hear nothing?
#ifndef LAB_CROWD_H
#define LAB_CROWD_H

#include "lab/experiments/crowd/crowd_views.h"

#define CROWD_FLAG_ATTENTION 2.0

/// X(name, word, what the flag adds to attention, which is 0 to 1 without)
#define CROWD_CASE_TABLE(X)                                                                        \
    X(FLAG, "flag", CROWD_FLAG_ATTENTION)                                                          \
    X(MATCH, "match", 0.15)

typedef enum CrowdCase {
#define CROWD_CASE_ROW(name, word, adds) CROWD_##name,
    CROWD_CASE_TABLE(CROWD_CASE_ROW)
#undef CROWD_CASE_ROW
        CROWD_CASES
} CrowdCase;

const char *crowd_case_name(CrowdCase which);

typedef struct CrowdPlay {
    CrowdCase which;
    bool overlay;
    int32_t players;
    double seconds; ///< Before anything happens, and as long after each mishap at most 4.
    const CrowdMotion *motion;
    uint64_t seed;
    bool sealed;
} CrowdPlay;

typedef struct CrowdResult {
    double watchers;        ///< Who look at the one, mean.
    double delivered_share; ///< Of its 20 updates a second, at those.
    double age_p50_ms, age_p95_ms;
    double hops;                                  ///< Between it and them, mean.
    double max_upload_kbps;                       ///< The most that anybody sent in a second,
    double upload_share;                          ///< and the most of anybody's upload.
    double idol_kbps;                             ///< What the one may send.
    double recovery_silent_ms, recovery_leave_ms; ///< NaN: nobody passed anything on.
    int32_t cut_off;                              ///< Watchers behind the two.
} CrowdResult;

/// Uploads differ: a quarter each of 64, 128, 256 and 1024 kbit/s by chance; the one has 128.
double crowd_upload_kbps(uint64_t seed, int32_t player);

LabStatus crowd_play(const CrowdPlay *play, CrowdResult *result, LabError *error);

/// The same case `flag` as processes with sockets and the machine's clock, in real time; the lobby
/// is one more. Adds a line per player to the series: players, player, its upload, its peak.
LabStatus crowd_live(const CrowdPlay *play, CrowdResult *result, Text *series, LabError *error);

#endif
