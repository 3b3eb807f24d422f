// Do the better players still win, when each sees its own, possibly wrong, picture of the others?
//
// Sixteen bots play the arena's deathmatch. What each of them is expected to score in an hour comes
// from a long game. Then the same bots play again over sessions, in each *mode* of telling where
// players are, and the scores of every hour are held against the expected ones: by their order
// (Spearman) and by value (Pearson). Chance alone keeps both below 1, so what the mode without a
// limit reaches is the ceiling.
//
// A *cast* is who plays: a character and a skill for each. Chance is another in every game; the
// cast is the same. A *stretch* is what the scores of one correlation are counted over: an hour,
// unless asked otherwise.
#ifndef LAB_DUELS_H
#define LAB_DUELS_H

#include "arena/arena.h"
#include "lab/experiments/experiment.h"
#include "lab/figures/stats.h"

enum { DUELS_PLAYERS = 16 };

/// Upload that carries a focus of 4 at 20 Hz and the other 11 at 1 Hz, with 126 bytes an update on
/// the wire.
#define DUELS_KBPS 91.7

/// And the share of it that is the focus set's.
#define DUELS_FOCUS_SHARE 0.88

/// X(name, word)
#define DUELS_MODE_TABLE(X)                                                                        \
    X(EXACT, "exact") /* the game itself: everybody sees the truth, at once */                     \
    X(HIBW, "hibw")   /* sessions; every frame's update to everybody, without a limit */           \
    X(LOBW, "lobw")   /* with the limit: plain dead reckoning, whoever waited longest first */     \
    X(DONNY, "donny") /* with the limit: focus and guidance, 126 bytes an update on the wire */    \
    X(OURS, "ours")   /* with the limit: focus+equal and guidance, our own sizes */

typedef enum DuelsMode {
#define DUELS_MODE_ROW(name, word) DUELS_##name,
    DUELS_MODE_TABLE(DUELS_MODE_ROW)
#undef DUELS_MODE_ROW
        DUELS_MODES
} DuelsMode;

const char *duels_mode_name(DuelsMode mode);

typedef enum DuelsSkills {
    DUELS_RANDOM, ///< Each draws one of the five levels.
    DUELS_TOP,    ///< All at the highest: only characters differ.
    DUELS_SKILLS
} DuelsSkills;

const char *duels_skills_name(DuelsSkills skills);

/// Who plays.
typedef struct DuelsCast {
    int32_t character[DUELS_PLAYERS]; ///< All different.
    int32_t skill[DUELS_PLAYERS];
} DuelsCast;

DuelsCast duels_cast(DuelsSkills skills, uint64_t seed);

/// One game.
typedef struct DuelsPlay {
    const DuelsCast *cast;
    DuelsMode mode;
    uint64_t seed; ///< Of everything but the cast.
    int32_t stretches;
    FlTime stretch_ns; ///< Whole ticks.
    double kbps;       ///< Upload of each peer, where the mode has a limit.
    bool sealed;
    void (*progress_fn)(void *ctx); ///< After every stretch; or NULL.
    void *progress_ctx;
} DuelsPlay;

/// What each player scored in one stretch.
typedef struct DuelsScores {
    double score[DUELS_PLAYERS];
} DuelsScores;

/// What a game was like, besides its scores.
typedef struct DuelsTraffic {
    double kbps_used; ///< Mean upload of a peer, headers included. 0 without a network.
} DuelsTraffic;

/// Plays it; scores[0 … stretches - 1].
LabStatus duels_play(const DuelsPlay *play, DuelsScores *scores, DuelsTraffic *traffic,
                     LabError *error);

/// The same over sessions: any mode but DUELS_EXACT.
LabStatus duels_play_sessions(const DuelsPlay *play, DuelsScores *scores, DuelsTraffic *traffic,
                              LabError *error);

// ---------------------------------------------------------------- many games

/// What a mode is measured by.
typedef struct DuelsPlan {
    DuelsSkills skills;
    uint64_t seed;
    int32_t casts;
    DuelsMode expected; ///< By which mode the expected scores are made,
    int32_t expected_stretches;
    int32_t stretches; ///< and for how long each mode is played, with every cast.
    FlTime stretch_ns;
    double kbps;
    bool sealed;
    void (*progress_fn)(void *ctx); ///< After every stretch; or NULL.
    void *progress_ctx;
    Text *series;    ///< Gets a line per player and stretch; or NULL.
    LabUnits *units; ///< Or NULL: all is played here. A game is a unit.
} DuelsPlan;

/// No plan has more stretches of one mode, all casts together.
#define DUELS_STRETCHES 4096

/// How one mode did. 64 KB.
typedef struct DuelsFigures {
    int32_t count;                    ///< Stretches, of all casts.
    double spearman[DUELS_STRETCHES]; ///< Of scores with what was expected; NaN if all were equal.
    double pearson[DUELS_STRETCHES];
    double score_per_hour; ///< Of a player, in the mean.
    double kbps_used;
} DuelsFigures;

/// The mean of correlations; stretches in which all scored alike have none, and do not count.
Estimate duels_mean(const double *correlations, int32_t count);

/// What each of a cast is expected to score in a stretch.
LabStatus duels_expect(const DuelsPlan *plan, int32_t cast, DuelsScores *expected, LabError *error);

/// Measures one mode; expected[cast] is from duels_expect. casts * stretches is at most
/// DUELS_STRETCHES.
LabStatus duels_measure(const DuelsPlan *plan, DuelsMode mode, const DuelsScores *expected,
                        DuelsFigures *figures, LabError *error);

#endif
