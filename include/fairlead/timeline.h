// fairlead/timeline.h: rollback: all peers play the same game, and none waits for the others.
//
// All peers step the same game from the same inputs, so they hold the same state, if only they knew
// all inputs at once. A timeline does not wait for them:
//
//     settled ────── repaired ──────▶ present        time, in ticks
//        │                               └ shown: what is known, and guesses for the rest
//        └ the trailing state: every input before it is final. Decisions (touches, the
//          winner) are read here, and are the same everywhere
//
// State number t is the state before tick t is played; step t plays it with the inputs of tick t.
// When an input turns out other than guessed, the timeline goes back to it and plays again up to
// the present; nothing in between is shown.
//
// Threads: objects share nothing; one thread at a time per object.
#ifndef FAIRLEAD_TIMELINE_H
#define FAIRLEAD_TIMELINE_H

#include "fairlead/base.h"
#include "fairlead/wire.h"

#define FL_TIMELINE_PLAYERS 64 ///< Players are numbered below this.
#define FL_TIMELINE_INPUT_BYTES 64
#define FL_TIMELINE_NEVER INT64_MAX ///< A tick that does not come.

/// X(name, word): what becomes of an input that comes after its tick was played.
#define FL_CONTROL_TABLE(X)                                                                        \
    X(NONE, "none")         /* it counts in the tick in which it comes; nothing is repaired */     \
    X(CONSTANT, "constant") /* the past is repaired for a fixed time; what comes later is lost */  \
    X(LAGS, "lags")         /* the past is repaired until every input is there */

typedef enum FlControl {
#define FL_CONTROL_ROW(name, word) FL_CONTROL_##name,
    FL_CONTROL_TABLE(FL_CONTROL_ROW)
#undef FL_CONTROL_ROW
        FL_CONTROLS
} FlControl;

/// The inputs of one tick.
typedef struct FlTimelineInputs {
    const uint8_t *of[FL_TIMELINE_PLAYERS]; ///< `input_bytes` each; NULL: does not play.
} FlTimelineInputs;

/// The game's side. `state` is `state_bytes` long, aligned for anything; NULL for a game that keeps
/// its state itself (save_fn and load_fn are set).
typedef struct FlTimelineGame {
    /// Plays one tick: the same state and inputs give the same state, on every machine.
    void (*step_fn)(void *ctx, void *state, int64_t tick, const FlTimelineInputs *inputs);
    void (*save_fn)(void *ctx, void *bytes);       ///< Both, or neither (then the state lives in
    void (*load_fn)(void *ctx, const void *bytes); ///< the timeline, and is copied).
    /// What a player will do, by its last input known or guessed (zeros: none yet). NULL: the same
    /// again.
    void (*guess_fn)(void *ctx, int32_t player, int64_t tick, const uint8_t *last, uint8_t *guess);
    uint64_t (*hash_fn)(void *ctx, const void *bytes); ///< Of a saved state. NULL: of its bytes.
    /// State `tick` is settled: called once for every tick, in order. May be NULL.
    void (*settled_fn)(void *ctx, int64_t tick, const void *bytes);
    void *ctx;
} FlTimelineGame;

typedef struct FlTimelineDef {
    FlTimelineGame game;
    int32_t player_capacity;
    int32_t state_bytes;   ///< Of a saved state. No bytes in it that mean nothing, or hash_fn.
    int32_t input_bytes;   ///< Of one player's input for one tick.
    int32_t history_ticks; ///< How far the present may be ahead of the settled state. A power of
                           ///< two; above the silence after which a player is sent away.
    int32_t save_every;    ///< Ticks between saved states; a power of two. 1 unless saving is dear.
    int32_t budget_ticks;  ///< Played again per call at most: the rest is left to the next ones.
    FlControl control;
    int32_t lag_ticks; ///< The settled state is this much behind the present: exactly (CONSTANT)
                       ///< or at least (LAGS; 0: as little as the network allows).
    int32_t tick_hz; ///< Above 0, with LAGS, in a session with actions: settles by measured lags, a
                     ///< tick at one play time for all peers, by no common clock. Tick t begins at
                     ///< session time tick_from + t / tick_hz s; lag_ticks is then how much later
                     ///< than its tick's end an input may be handed in.
    FlTime tick_from;
    int32_t stress_ticks; ///< Above 0: goes back this far in every call and compares hashes.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_timeline_def_default(); leave alone.
} FlTimelineDef;

/// 16 players, inputs of 2 bytes, 1024 ticks of history, saved every tick, LAGS without delay. Set
/// state_bytes and game.step_fn.
FL_API FlTimelineDef fl_timeline_def_default(void);

/// Whether a definition is sound; `error` says which field, its value and its range. Errors:
/// FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_timeline_def_problem(const FlTimelineDef *def, FlError *error);

typedef struct FlTimeline FlTimeline;

/// Reserves everything. Errors: FL_BAD_VALUE (fl_timeline_def_problem says what),
/// FL_NO_MEMORY.
FL_API FL_NODISCARD FlResult fl_timeline_create(const FlTimelineDef *def, FlTimeline **timeline);
FL_API void fl_timeline_destroy(FlTimeline *timeline);

/// Begins (again) with state `tick`, all peers with the same; no player yet. `state` is
/// `state_bytes` in the form that is saved.
FL_API void fl_timeline_begin(FlTimeline *timeline, int64_t tick, const void *state);

/// A player's inputs count from `tick` on; or from `tick` on no more. All peers must use the
/// same ticks. A past that was played otherwise is repaired.
/// Errors: FL_OUT_OF_ORDER (that tick is settled, or before the player's first); FL_FULL (the
/// former player of the number is not settled yet: try again next tick); FL_NOT_FOUND (does not
/// play).
FL_API FL_NODISCARD FlResult fl_timeline_enter(FlTimeline *timeline, int32_t player, int64_t tick);
FL_API FL_NODISCARD FlResult fl_timeline_leave(FlTimeline *timeline, int32_t player, int64_t tick);

/// A player's input for a tick, ours or another's, in any order; a second one for the same tick is
/// ignored. Errors: FL_OUT_OF_ORDER (its tick is settled; counted); FL_FULL (so far ahead that
/// there is no room yet: offer it again); FL_NOT_FOUND (does not play then).
FL_API FL_NODISCARD FlResult fl_timeline_input(FlTimeline *timeline, int32_t player, int64_t tick,
                                               const void *bytes);

/// Repairs, plays up to state `present`, and settles what is final. An earlier present than before
/// changes nothing. Calls the game's functions.
FL_API void fl_timeline_advance(FlTimeline *timeline, int64_t present);

/// What is to be shown, and which state it is: the newest that was repaired with all that was known
/// then. While a repair takes several calls it stays. Valid until the next call.
FL_API const void *fl_timeline_present(const FlTimeline *timeline, int64_t *tick);

/// The settled state, the same at all peers (CONSTANT and NONE: as far as that goes). Likewise.
FL_API const void *fl_timeline_settled(const FlTimeline *timeline, int64_t *tick);

/// How much the settled state is behind from now on (FlTimelineDef.lag_ticks), at most half of
/// history_ticks. Sessions call it where FlTimelineDef.tick_hz says so.
FL_API void fl_timeline_lag(FlTimeline *timeline, int32_t ticks);

typedef struct FlTimelineFigures {
    uint64_t played;       ///< Ticks, for the first time;
    uint64_t replayed;     ///< again, for a repair.
    uint64_t rollbacks;    ///< Repairs begun.
    uint64_t deepest;      ///< Ticks that one went back.
    uint64_t inputs;       ///< Taken.
    uint64_t late;         ///< Of them: after their tick had been played,
    uint64_t wrong;        ///< and other than guessed.
    uint64_t dropped;      ///< Not taken: their tick was settled.
    uint64_t conflicts;    ///< A second input for a tick that was not the same.
    uint64_t settled;      ///< Ticks.
    uint64_t shown;        ///< Settled states that had been shown before,
    uint64_t corrected;    ///< and turned out otherwise.
    uint64_t waits;        ///< Calls in which the settled state waited for an input.
    uint64_t held;         ///< Calls after which the old present stayed: the budget was used up.
    uint64_t stalls;       ///< Calls in which the present could not go on: no more history.
    uint64_t compared;     ///< Hashes of others' settled states,
    uint64_t differing;    ///< that were not as ours.
    uint64_t unstable;     ///< Stress: ticks that came out otherwise when played again.
    int64_t unstable_at;   ///< The first of them; FL_TIMELINE_NEVER: none.
    int64_t desync_at;     ///< The first settled tick at which a player had another state than we;
                           ///< FL_TIMELINE_NEVER: none.
    int32_t desync_player; ///< That player; -1: none.
} FlTimelineFigures;

/// Counts since it began.
FL_API FlTimelineFigures fl_timeline_figures(const FlTimeline *timeline);

#endif
