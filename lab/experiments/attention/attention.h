// lab run attention: many players, few bytes, and what it looks like.
//
// A game of the arena in a mesh of real sessions, in one of four *modes*; or a recorded match whose
// players are moved by the recording. At every tick, what every player sees of every other is
// compared with the truth.
#ifndef LAB_ATTENTION_H
#define LAB_ATTENTION_H

#include "lab/actors/arena_mesh.h"
#include "lab/experiments/attention/attention_paths.h"
#include "lab/experiments/attention/attention_windows.h"
#include "lab/experiments/experiment.h"
#include "lab/figures/stats.h"
#include "lab/trace/trace.h"

/// How many a player is taken to look at.
#define ATTENTION_FOCUS 4

// ---------------------------------------------------------------- recordings

/// A recorded match by ticks: rows[tick * players + player], and whether there is one.
typedef struct AttentionMatch {
    int32_t players, ticks;
    ArenaRow *rows;
    bool *there;
    double top_speed; ///< 999 of 1000 steps within a life are not faster.
} AttentionMatch;

/// The first `seconds` of a trace from `from` on; "-" is not read. Free it with
/// attention_match_free.
LabStatus attention_match_load(const char *path, double from, double seconds, AttentionMatch *match,
                               LabError *error);
void attention_match_free(AttentionMatch *match);

// ---------------------------------------------------------------- a run

typedef struct AttentionPlay {
    ArenaMode mode;
    int32_t players;
    double kbps, rtt_ms, seconds;
    uint64_t seed;
    bool sealed;
    AttentionMatch *match;     ///< Only read. NULL: bots.
    AttentionPaths *paths;     ///< What one player sees, for a picture; or NULL.
    AttentionWindows *windows; ///< Some of what is seen, for telling it from the truth; or NULL.
} AttentionPlay;

/// What came of it; per replica where it says "per minute".
typedef struct AttentionFigures {
    double focus_size, best_effort_hz;
    double error_focus, error_rest, weighted_error; ///< Units.
    double attention_focus; ///< Share of all attention that goes to those in focus.
    double error_guided;    ///< Units; of replicas that walk by guidance,
    double error_reckoned;  ///< and had each guidance been the truth and dead reckoned from there.
    double warps_per_minute, stalls_per_minute;
    double facing_error; ///< rad
    // As a viewer judges: attention_viewer.h.
    double standing; ///< Share of the time in which a replica stalls.
    double walls_per_minute;
    double facing_target;        ///< rad
    double wanted_served;        ///< Of the time in which they are wanted: share served,
    double wanted_settled;       ///< and settled, too;
    double error_settled;        ///< units, then.
    double enter_p50, enter_p95; ///< Seconds until that,
    double enter_never;          ///< and the share of those for whom it never came to it.
    double unseen; ///< Share of the time in which one who lives is not shown, or as dead.
    double hit_latency_ms;
    double kbps_used, peak_kbps;
    double update_bytes;  ///< On the wire, all headers, per datagram.
    double call_share;    ///< Of all bytes: calls and answers, each as if in a datagram of its own.
    double disagreements; ///< Calls on whose verdict the two sides do not agree.
    double hits;
    ArenaNear near;
} AttentionFigures;

LabStatus attention_play(const AttentionPlay *play, AttentionFigures *figures, LabError *error);

#endif
