// fairlead/agree.h: one order, one timing, repaired views.
//
// Players act at the same moment in different places, and everybody hears of it at another time.
// Three tools, each for itself, none with I/O or a clock:
//
//   FlLags      when an action is played: in the same order and with the same spacing everywhere,
//               without synchronised clocks, and as early as this network allows
//   FlTimeline  the present at once, by guessed inputs; the truth a lag behind; the difference
//               repaired by rollback
//   FlCalls     a question to the owner of a thing ("I hit it", "I take it"), decided once, there
//
// Sessions carry their messages; a game with a transport of its own can do so itself.
//
// Threads: objects share nothing; one thread at a time per object.
#ifndef FAIRLEAD_AGREE_H
#define FAIRLEAD_AGREE_H

#include "fairlead/base.h"
#include "fairlead/motion.h"
#include "fairlead/wire.h"

// ================================================================ lags
//
// Every peer has a clock of its own; nobody knows how they differ. Peer p measures v_p[i]: the
// longest that anything from peer i took, on p's clock minus i's stamp (so it contains the
// difference of the two clocks, which may be hours). All peers exchange these vectors, and from the
// same n vectors all compute the same numbers A_p and B_i with
//
//     A_p + B_i >= v_p[i]      for all p and i;   v_p[p] = 0
//
// An action that i stamps s has the *play time* s + B_i, a number that all peers agree on. Peer p
// plays it when its own clock shows play time + A_p: never before it has arrived, and two actions
// are everywhere the same time apart. Order is by play time, ties by the smaller writer.
//
// Clock differences cancel: they shift A and B against each other and no sum.

/// X(name, word)
#define FL_LAGS_TABLE(X)                                                                           \
    X(REFERENCE, "reference")           /* over one peer, chosen by the published rule */          \
    X(BEST_REFERENCE, "best_reference") /* over the peer that makes the longest lag shortest */    \
    X(FREE, "free")                     /* over nobody: the smallest mean lag there is */

typedef enum FlLagsChoice {
#define FL_LAGS_ROW(name, word) FL_LAGS_##name,
    FL_LAGS_TABLE(FL_LAGS_ROW)
#undef FL_LAGS_ROW
        FL_LAGS_CHOICES
} FlLagsChoice;

FL_API const char *fl_lags_choice_name(FlLagsChoice choice);

/// Errors: FL_NOT_FOUND (and the first choice).
FL_API FL_NODISCARD FlResult fl_lags_choice_find(const char *name, FlLagsChoice *choice);

#define FL_LAGS_PEERS 64 ///< Peers are numbered below this.

/// The lags of `count` peers (1 to FL_LAGS_PEERS) from their vectors: v[p * count + i] is what p
/// measured of i; v[p * count + p] counts as 0. Fills a[count] and b[count]. Whole nanoseconds and
/// nothing else, so equal vectors give equal lags everywhere. *reference: over whom they go; -1:
/// nobody (FL_LAGS_FREE). With a reference its own A is 0; without, the first peer's.
///
/// REFERENCE takes the highest number for which every other B is above 0, or is 0 and of a higher
/// number; there always is one. BEST_REFERENCE takes the one with which the longest wait for one's
/// own action (A_i + B_i) is shortest, then the shortest mean, then the lowest number. FREE makes
/// the mean of all A_p + B_i as small as it can be; of all that do, it takes the middle ones, so
/// that a small change of the vectors is a small change of the lags.
///
/// Errors: FL_BAD_VALUE: no clocks and delays make such vectors (differences beyond 18 minutes once
/// clocks are taken out, or beyond 36 years).
FL_API FL_NODISCARD FlResult fl_lags_solve(FlLagsChoice choice, int32_t count, const FlTime *v,
                                           FlTime *a, FlTime *b, int32_t *reference);

// One peer's part in it. It measures for ever (from probes, and from the actions themselves) and
// changes lags in *rounds*: anybody begins one by telling its vector, the others answer with
// theirs, and who has all of them computes the lags. Rounds are begun when members come and go,
// when something arrived too near to its time, and every `again_ns` because clocks drift.
//
// A change never makes anything late: B that rise are taken at once; whatever falls does so only
// when all have said READY, and then slowly (`slew_ppm`), so that no picture jumps. Of all equal
// lags (A + c, B - c) those are taken for which nobody's A rises.
//
// All messages go to all others. They may get lost, doubled and reordered: a round that got stuck
// is begun again. Actions should travel as the probes do, or the probes do not measure them.

typedef struct FlLagsDef {
    int32_t self;        ///< Our number, the same at all peers.
    FlLagsChoice choice; ///< The same at all peers.
    int32_t slew_ppm;    ///< How fast lags fall, 1000 to 500000: play time runs faster by this.
    FlTime probe_ns;     ///< A probe to all others this long after the last one, or action.
    FlTime provision_ns; ///< A newcomer is measured for this long before it counts.
    FlTime window_ns;    ///< What took longest within this time counts.
    FlTime margin_ns;   ///< Added to what was measured. When half of it is used up, a round begins.
    FlTime again_ns;    ///< A round at least this often. FL_FOREVER: only for a reason.
    FlTime patience_ns; ///< A round that got stuck is begun again after this long.
    FlTime limit_ns; ///< Lags with which somebody would wait longer for its own action are refused.
                     ///< The same at all peers: what one of them refuses settles nowhere.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_lags_def_default(); leave alone.
} FlLagsDef;

/// Right for players at home: free choice, 5 probes a second, 1 s of provisioning, the longest of
/// 10 s, 2 ms of margin, a round every 10 s (2 ms are enough for 100 ppm), falling by 10 %, at most
/// 2 s. `self` is 0.
FL_API FlLagsDef fl_lags_def_default(void);

typedef struct FlLags FlLags;

/// Reserves everything; later calls allocate nothing. Errors: FL_NO_MEMORY, FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_lags_create(const FlLagsDef *def, FlTime now, FlLags **lags);

/// NULL is ignored.
FL_API void fl_lags_destroy(FlLags *lags);

/// Bytes that one takes.
FL_API size_t fl_lags_memory(void);

/// As if made anew, as peer `self`: for those who learn their number later than they reserve
/// memory.
FL_API void fl_lags_restart(FlLags *lags, int32_t self, FlTime now);

/// Another peer is there, or no longer. One that comes back is measured anew. We ourselves always
/// are.
FL_API void fl_lags_member(FlLags *lags, int32_t peer, bool present, FlTime now);

/// No message is longer.
#define FL_LAGS_MESSAGE_BYTES 544

/// A message for all others.
typedef struct FlLagsMessage {
    const uint8_t *bytes; ///< In the object, valid until the next call on it.
    int32_t count;
} FlLagsMessage;

/// The next message to go out now; call it until it answers FL_NOT_FOUND.
FL_API FL_NODISCARD FlResult fl_lags_next(FlLags *lags, FlTime now, FlLagsMessage *message);

/// When fl_lags_next must be called again at the latest.
FL_API FlTime fl_lags_deadline(const FlLags *lags, FlTime now);

/// A message of another's. Whatever it says, it is taken or counted.
FL_API void fl_lags_receive(FlLags *lags, int32_t from, const void *bytes, int32_t count,
                            FlTime arrival);

/// The play time of an action of ours at `now`; later than that of the one before.
/// Errors: FL_WOULD_BLOCK (our first round is not over: nobody could play it yet).
FL_API FL_NODISCARD FlResult fl_lags_stamp(FlLags *lags, FlTime now, FlTime *play);

/// An action of another's arrived: it is a measurement, too.
FL_API void fl_lags_arrived(FlLags *lags, int32_t from, FlTime stamp, FlTime play, FlTime arrival);

/// What may be played at `now`: everything up to this play time. Never goes back (as `now` does
/// not). INT64_MIN: nothing yet.
FL_API FlTime fl_lags_play_time(const FlLags *lags, FlTime now);

/// The local time at which a play time is reached. FL_FOREVER: not known yet.
FL_API FlTime fl_lags_when(const FlLags *lags, FlTime play);

/// From a peer's stamp (its clock) to the moment at which it is played here (our clock): stamp +
/// offset. Of ourselves: how long our own action takes to be decided here. FL_FOREVER: not known.
FL_API FlTime fl_lags_offset(const FlLags *lags, int32_t writer);

/// X(name, word, meaning)
#define FL_LAGS_COUNT_TABLE(X)                                                                     \
    X(PROBES, "probes", "probes taken")                                                            \
    X(BEGUN, "begun", "rounds begun by us")                                                        \
    X(SOLVED, "solved", "rounds solved")                                                           \
    X(SETTLED, "settled", "rounds for which all said READY")                                       \
    X(STUCK, "stuck", "rounds begun again because an answer did not come")                         \
    X(REFUSED, "refused", "rounds whose lags were impossible, or above the limit")                 \
    X(NEAR, "near", "arrivals that used up half of the margin")                                    \
    X(LATE, "late", "actions that arrived after their time")                                       \
    X(MALFORMED, "malformed", "messages dropped: no sender writes that")                           \
    X(STRANGER, "stranger", "messages dropped: from nobody who is there")

typedef enum FlLagsCount {
#define FL_LAGS_COUNT_ROW(name, word, meaning) FL_LAGS_##name,
    FL_LAGS_COUNT_TABLE(FL_LAGS_COUNT_ROW)
#undef FL_LAGS_COUNT_ROW
        FL_LAGS_COUNTS
} FlLagsCount;

typedef struct FlLagsStatus {
    bool sends;        ///< Actions of ours can be stamped.
    bool plays;        ///< Actions are played here.
    bool moving;       ///< Lags are on their way to those of the last round.
    uint32_t round;    ///< The last one solved.
    uint64_t members;  ///< Whom it counted, by bits.
    int32_t reference; ///< Over whom it went; -1: nobody.
    FlTime a, b;       ///< As in force now.
    FlTime mean_ns;    ///< Of that round: the mean of all A_p + B_i, in which clocks cancel.
    FlTime longest_ns; ///< And the longest A_i + B_i, the wait for one's own action.
    FlTime solved_at;  ///< When it was, on our clock; FL_FOREVER: never.
    uint64_t count[FL_LAGS_COUNTS];
} FlLagsStatus;

FL_API FlLagsStatus fl_lags_status(const FlLags *lags, FlTime now);
FL_API const char *fl_lags_count_name(FlLagsCount which);

// ---------------------------------------------------------------- order
//
// Actions in the one order that all peers agree on: by play time, then by the smaller writer, then
// by sequence. What comes after something later was given out is late: it is given out at once, and
// says so, and whoever keeps a timeline repairs it.

/// One action. A writer numbers its own, one by one.
typedef struct FlOrdered {
    FlTime play;  ///< As its writer stamped it: fl_lags_stamp.
    FlTime stamp; ///< When it was done, on its writer's clock.
    const uint8_t *bytes;
    int32_t count;
    int32_t writer;    ///< Below FL_LAGS_PEERS.
    uint32_t sequence; ///< Its number.
    uint16_t type;     ///< The game's own.
    bool late;         ///< Set when given out: something later was given out before.
} FlOrdered;

typedef struct FlOrderDef {
    int32_t capacity;     ///< Actions that wait at once.
    int32_t action_bytes; ///< Of the longest.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_order_def_default(); leave alone.
} FlOrderDef;

/// 1024 actions of up to 160 bytes.
FL_API FlOrderDef fl_order_def_default(void);

typedef struct FlOrder FlOrder;

/// Reserves everything. Errors: FL_NO_MEMORY, FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_order_create(const FlOrderDef *def, FlOrder **order);

/// NULL is ignored.
FL_API void fl_order_destroy(FlOrder *order);

/// Bytes that one takes.
FL_API size_t fl_order_memory(const FlOrderDef *def);

/// A writer's numbers start anew: it is somebody else. What waits of the one before stays.
FL_API void fl_order_writer(FlOrder *order, int32_t writer);

/// Copies an action in. One that was here before (of its writer's newest 256; older ones count as
/// such) is dropped and counted: FL_OK. Errors: FL_FULL (counted; it was not taken), FL_BAD_VALUE
/// (too long).
FL_API FL_NODISCARD FlResult fl_order_put(FlOrder *order, const FlOrdered *action);

/// The next action of a play time up to `play`; its bytes are valid until the next call. INT64_MIN,
/// as fl_lags_play_time says it: nothing yet. Errors: FL_NOT_FOUND.
FL_API FL_NODISCARD FlResult fl_order_take(FlOrder *order, FlTime play, FlOrdered *action);

/// Drops the earliest that waits of a writer. It looks through all. False: none does.
FL_API bool fl_order_drop(FlOrder *order, int32_t writer);

/// Drops all with a play time after `last`; answers how many.
FL_API int32_t fl_order_trim(FlOrder *order, FlTime last);

/// Play time of the next; FL_FOREVER: none waits.
FL_API FlTime fl_order_next(const FlOrder *order);

/// Room for so many more.
FL_API int32_t fl_order_room(const FlOrder *order);

/// So many of a writer's wait.
FL_API int32_t fl_order_waiting(const FlOrder *order, int32_t writer);

typedef struct FlOrderStats {
    int32_t count;      ///< Waiting now.
    int32_t peak_count; ///< Most at once.
    uint64_t given;
    uint64_t late; ///< Given out after something later.
    uint64_t duplicates;
    uint64_t full; ///< Refused.
} FlOrderStats;

FL_API FlOrderStats fl_order_stats(const FlOrder *order);

// ---------------------------------------------------------------- an action on its way

/// No action that sessions carry is longer.
#define FL_ACTION_BYTES 160
#define FL_ACTION_HEAD_BYTES 23

/// Writes head and bytes of an action; the writer need not be told, the carrier knows it.
FL_API void fl_action_write(FlWriter *writer, const FlOrdered *action);

/// False: no sender writes that. The bytes stay in the reader's. Sets no writer.
FL_API FL_NODISCARD bool fl_action_read(FlReader *reader, FlOrdered *action);

// ================================================================ timeline
//
// All peers step the same game from the same inputs, so they hold the same state, if only they knew
// all inputs at once. A timeline does not wait for them:
//
//     settled ────── repaired ──────▶ present        time, in ticks
//        │                               └ shown: what is known, and guesses for the rest
//        └ the trailing state: every input before it is final. Decisions (who touched whom, who
//          won) are read here, and are the same everywhere
//
// State number t is the state before tick t is played; step t plays it with the inputs of tick t.
// When an input turns out other than guessed, the timeline goes back to it and plays again up to
// the present; nobody sees anything in between.

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

FL_API const char *fl_control_name(FlControl control);

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
    int32_t lag_ticks;    ///< The settled state is this much behind the present: exactly (CONSTANT)
                          ///< or at least (LAGS; 0: as little as the network allows).
    int32_t stress_ticks; ///< Above 0: goes back this far in every call and compares hashes.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_timeline_def_default(); leave alone.
} FlTimelineDef;

/// 16 players, inputs of 2 bytes, 1024 ticks of history, saved every tick, LAGS without delay. Set
/// state_bytes and game.step_fn.
FL_API FlTimelineDef fl_timeline_def_default(void);

typedef struct FlTimeline FlTimeline;

/// Reserves everything. Errors: FL_BAD_VALUE (a setting out of its range), FL_NO_MEMORY.
FL_API FL_NODISCARD FlResult fl_timeline_create(const FlTimelineDef *def, FlTimeline **timeline);
FL_API void fl_timeline_destroy(FlTimeline *timeline);

/// Bytes that fl_timeline_create takes.
FL_API size_t fl_timeline_memory(const FlTimelineDef *def);

/// Begins (again) with state `tick`, everybody with the same; nobody plays yet. `state` is
/// `state_bytes` in the form that is saved.
FL_API void fl_timeline_begin(FlTimeline *timeline, int64_t tick, const void *state);

/// The same in parts, as a state travels: `count` bytes from byte `offset` on, each once and in
/// order; it begins with the last. Not while a repair is on. Errors: FL_WOULD_BLOCK (more parts
/// are needed); FL_BAD_VALUE (no such part is next: begin with the first again).
FL_API FL_NODISCARD FlResult fl_timeline_begin_part(FlTimeline *timeline, int64_t tick,
                                                    int32_t offset, const void *bytes,
                                                    int32_t count);

/// The definition it was made from.
FL_API const FlTimelineDef *fl_timeline_def(const FlTimeline *timeline);

/// A player's inputs count from `tick` on; or from `tick` on no more. All peers must be told the
/// same ticks. A past that was played otherwise is repaired.
/// Errors: FL_OUT_OF_ORDER (that tick is settled, or before the player's first); FL_FULL (who had
/// the number before is not settled yet: try again next tick); FL_NOT_FOUND (does not play).
FL_API FL_NODISCARD FlResult fl_timeline_enter(FlTimeline *timeline, int32_t player, int64_t tick);
FL_API FL_NODISCARD FlResult fl_timeline_leave(FlTimeline *timeline, int32_t player, int64_t tick);

/// A player's first tick; FL_TIMELINE_NEVER: does not play.
FL_API int64_t fl_timeline_first(const FlTimeline *timeline, int32_t player);

/// Does the player's input of this tick count?
FL_API bool fl_timeline_plays(const FlTimeline *timeline, int32_t player, int64_t tick);

/// A player's input for a tick, ours or another's, in any order; a second one for the same tick is
/// ignored. Errors: FL_OUT_OF_ORDER (its tick is settled; counted); FL_FULL (so far ahead that
/// there is no room yet: offer it again); FL_NOT_FOUND (does not play then).
FL_API FL_NODISCARD FlResult fl_timeline_input(FlTimeline *timeline, int32_t player, int64_t tick,
                                               const void *bytes);

/// The newest tick up to which all of a player's inputs are here; one less than its first: none.
/// INT64_MIN: does not play.
FL_API int64_t fl_timeline_known(const FlTimeline *timeline, int32_t player);

/// A player's input, if it is known and remembered: valid until the next call on the timeline; NULL
/// else. Those that are settled may be asked for, up to history_ticks before the newest.
FL_API const uint8_t *fl_timeline_input_at(const FlTimeline *timeline, int32_t player,
                                           int64_t tick);

/// Repairs, plays up to state `present`, and settles what is final. An earlier present than before
/// changes nothing. Calls the game's functions.
FL_API void fl_timeline_advance(FlTimeline *timeline, int64_t present);

/// What is to be shown, and which state it is: the newest that was repaired with all that was known
/// then. While a repair takes several calls it stays. Valid until the next call.
FL_API const void *fl_timeline_present(const FlTimeline *timeline, int64_t *tick);

/// The settled state, the same at all peers (CONSTANT and NONE: as far as that goes). Likewise.
FL_API const void *fl_timeline_settled(const FlTimeline *timeline, int64_t *tick);

/// How much the settled state is behind from now on (FlTimelineDef.lag_ticks), for lags that are
/// measured.
FL_API void fl_timeline_lag(FlTimeline *timeline, int32_t ticks);

/// The game's functions are being called: nothing that happens in them has happened for good.
FL_API bool fl_timeline_playing(const FlTimeline *timeline);

typedef struct FlTimelineFigures {
    uint64_t played;     ///< Ticks, for the first time;
    uint64_t replayed;   ///< again, for a repair.
    uint64_t rollbacks;  ///< Repairs begun.
    uint64_t deepest;    ///< Ticks that one went back.
    uint64_t inputs;     ///< Taken.
    uint64_t late;       ///< Of them: after their tick had been played,
    uint64_t wrong;      ///< and other than guessed.
    uint64_t dropped;    ///< Not taken: their tick was settled.
    uint64_t conflicts;  ///< A second input for a tick that was not the same.
    uint64_t settled;    ///< Ticks.
    uint64_t shown;      ///< Settled states that had been shown before,
    uint64_t corrected;  ///< and turned out otherwise.
    uint64_t waits;      ///< Calls in which the settled state waited for somebody's input.
    uint64_t held;       ///< Calls after which the old present stayed: the budget was used up.
    uint64_t stalls;     ///< Calls in which the present could not go on: no more history.
    uint64_t compared;   ///< Hashes of others' settled states,
    uint64_t differing;  ///< that were not as ours.
    uint64_t unstable;   ///< Stress: ticks that came out otherwise when played again.
    int64_t unstable_at; ///< The first of them; FL_TIMELINE_NEVER: none.
} FlTimelineFigures;

FL_API FlTimelineFigures fl_timeline_figures(const FlTimeline *timeline);

// ---------------------------------------------------------------- comparing timelines

/// Hash of settled state `tick`. Errors: FL_NOT_FOUND (not settled yet, or forgotten).
FL_API FL_NODISCARD FlResult fl_timeline_hash(const FlTimeline *timeline, int64_t tick,
                                              uint16_t *hash);

/// Somebody's hash of its settled state `tick`: compared at once, or when it is settled here.
FL_API void fl_timeline_hash_heard(FlTimeline *timeline, int32_t player, int64_t tick,
                                   uint16_t hash);

/// The first settled tick at which somebody had another state.
typedef struct FlDesync {
    int64_t tick;   ///< FL_TIMELINE_NEVER: none.
    int32_t player; ///< Who had it.
} FlDesync;

FL_API FlDesync fl_timeline_desync(const FlTimeline *timeline);

#define FL_HASHES_AT_MOST 64

/// What my settled states hash to.
typedef struct FlHashesMessage {
    int64_t first; ///< Tick. Read: its low 32 bits, next to `near`.
    int32_t count;
    uint16_t hash[FL_HASHES_AT_MOST];
} FlHashesMessage;

/// Inputs of somebody who has left: what I have of them (to the host), or what counts (from it). To
/// a newcomer: anybody's, since the state that it got.
typedef struct FlStretchMessage {
    int32_t player;
    uint8_t of;           ///< Low bits of the player's incarnation.
    bool final;           ///< From the host: these, and none after `newest`.
    bool more;            ///< Another part follows.
    int64_t newest;       ///< The player's last tick; before its first: none.
    int64_t first;        ///< Of this part.
    int32_t count;        ///< Ticks in it; 0 is fine.
    const uint8_t *bytes; ///< count * input_bytes.
} FlStretchMessage;

/// A player's inputs count from a tick on.
typedef struct FlEnterMessage {
    int32_t player;
    uint8_t of;
    int64_t tick;
} FlEnterMessage;

/// A part of a settled state, for somebody who has none.
typedef struct FlSnapshotMessage {
    int64_t tick;
    int32_t offset; ///< Of this part, in bytes.
    int32_t count;
    const uint8_t *bytes;
} FlSnapshotMessage;

// Readers fail on anything that a writer would not write. Ticks travel as their low 32 bits; `near`
// is a tick near them. spec/WIRE.md section 8.
FL_API void fl_hashes_message_write(FlWriter *writer, const FlHashesMessage *message);
FL_API FL_NODISCARD bool fl_hashes_message_read(FlReader *reader, int64_t near,
                                                FlHashesMessage *message);
FL_API void fl_stretch_message_write(FlWriter *writer, int32_t input_bytes,
                                     const FlStretchMessage *message);
FL_API FL_NODISCARD bool fl_stretch_message_read(FlReader *reader, int64_t near,
                                                 int32_t input_bytes, FlStretchMessage *message);
FL_API void fl_enter_message_write(FlWriter *writer, const FlEnterMessage *message);
FL_API FL_NODISCARD bool fl_enter_message_read(FlReader *reader, int64_t near,
                                               FlEnterMessage *message);
FL_API void fl_snapshot_message_write(FlWriter *writer, const FlSnapshotMessage *message);
FL_API FL_NODISCARD bool fl_snapshot_message_read(FlReader *reader, FlSnapshotMessage *message);

// ================================================================ calls
//
// Whoever wants to change a thing asks its owner (pairwise rapid agreement): a *call* says what is
// wanted, the owner's game applies or refuses it, and the *answer* tells the caller, with the
// thing's state as it is now. Two messages between two peers, at the pace of players.
//
//     caller ── CALL ──▶ owner: new? ── game decides, once ── ANSWER ──▶ caller
//                        seen before? ── the same ANSWER again
//
// At most once, whatever the network does:
//   - a call has a name (who, which of those who had the number, serial) and an end. The owner
//     remembers every name until the end has passed, and decides nothing that came after it;
//   - it knows in which ownership (epoch) it was made. A thing that is given on takes along what
//   was
//     decided (FlEstateMessage). A thing whose owner died does not: there, calls of before are
//     *gone*, which the caller learns as unknown, with the state to look at;
//   - callers repeat what is not answered, so whoever passes calls on may lose them.
//
// What calls change belongs into the thing's state blob: an answer brings it, and what any survivor
// has of it is what goes on after an owner's death.

/// The longest arguments of a call.
#define FL_CALL_BYTES 64

/// The longest state in an answer: an entity's state blob.
#define FL_CALL_STATE_BYTES 255

/// The longest time until a call ends, counted from when it is made.
#define FL_CALL_LIFE_MOST FL_SEC(30)

/// Decided calls that a thing takes along to a new owner; with more, older calls are gone.
#define FL_ESTATE_CALLS 64

/// What became of a call.
typedef enum FlCallVerdict {
    FL_CALL_REFUSED,
    FL_CALL_APPLIED,
    FL_CALL_UNKNOWN, ///< Perhaps applied, perhaps not: look at the thing's state.
} FlCallVerdict;

/// How that is known.
typedef enum FlCallWhy {
    FL_CALL_ANSWERED,   ///< The owner said so.
    FL_CALL_BY_STATE,   ///< The thing's state became what was predicted.
    FL_CALL_OWNER_GONE, ///< Unknown: its owner is gone, and with it what it had decided.
    FL_CALL_TIMED_OUT,  ///< Unknown: no answer until the call ended.
} FlCallWhy;

/// Names one call, everywhere.
typedef struct FlCallKey {
    uint32_t serial; ///< The caller's own count.
    uint16_t from;   ///< The caller's number.
    uint8_t of;      ///< Low bits of its incarnation.
} FlCallKey;

// ---------------------------------------------------------------- messages

/// A call on its way.
typedef struct FlCallMessage {
    FlCallKey key;
    uint16_t number; ///< Of the thing.
    uint16_t epoch;  ///< Of its ownership when the call was made; stays when it is passed on.
    uint16_t kind;   ///< FlCallKind, or the game's own.
    uint8_t hops;    ///< How often it was passed on to a later owner, at most FL_CALL_HOPS.
    bool predicted;  ///< The caller knows what state follows if it is applied:
    uint16_t hash;   ///< fl_call_hash of that state. 0 without.
    FlTime until;    ///< Session time at which it ends.
    int32_t count;
    uint8_t bytes[FL_CALL_BYTES];
} FlCallMessage;

#define FL_CALL_HOPS 7

/// What an owner answers.
typedef enum FlAnswer {
    FL_ANSWER_REFUSED,
    FL_ANSWER_APPLIED,
    FL_ANSWER_GONE, ///< It was made under an owner who is gone.
} FlAnswer;

typedef struct FlAnswerMessage {
    FlCallKey key;
    FlAnswer answer;
    uint16_t number;
    uint16_t epoch;   ///< Of the ownership that answers.
    uint16_t version; ///< Of the thing's state now; 0: it has none.
    int32_t count;
    uint8_t state[FL_CALL_STATE_BYTES];
} FlAnswerMessage;

/// A call that an owner has decided.
typedef struct FlCallDecided {
    FlCallKey key;
    bool applied;
    FlTime until;
} FlCallDecided;

/// What a thing takes along to its next owner.
typedef struct FlEstateMessage {
    uint16_t number;
    uint16_t epoch;   ///< Of the ownership it is for.
    uint16_t floor;   ///< Calls made before this epoch are gone.
    uint16_t version; ///< Of the state; 0: it has none.
    int32_t state_count;
    uint8_t state[FL_CALL_STATE_BYTES];
    int32_t decided_count;
    FlCallDecided decided[FL_ESTATE_CALLS];
} FlEstateMessage;

/// The host to everybody: tell me what you know of the things whose owner is gone.
typedef struct FlAskMessage {
    uint16_t round; ///< Counts them.
    bool all;       ///< Of everything that is not yours: I am the host since now.
} FlAskMessage;

/// One such thing, as it is known here. After the last, a FlClaimedMessage.
typedef struct FlClaimMessage {
    uint16_t number;
    uint16_t epoch;
    bool ended; ///< There is no such thing any more; this was its last epoch.
    uint16_t version;
    int32_t count;
    uint8_t state[FL_CALL_STATE_BYTES];
} FlClaimMessage;

/// That was all.
typedef struct FlClaimedMessage {
    uint16_t round;
} FlClaimedMessage;

/// No message of calls is longer.
#define FL_CALLS_MESSAGE_BYTES (12 + FL_CALL_STATE_BYTES + 13 * FL_ESTATE_CALLS)

// A carrier puts its own kind before them. Readers fail on anything that a writer would not write,
// a byte too many included. spec/WIRE.md section 8.
FL_API void fl_call_message_write(FlWriter *writer, const FlCallMessage *message);
FL_API FL_NODISCARD bool fl_call_message_read(FlReader *reader, FlCallMessage *message);
FL_API void fl_answer_message_write(FlWriter *writer, const FlAnswerMessage *message);
FL_API FL_NODISCARD bool fl_answer_message_read(FlReader *reader, FlAnswerMessage *message);
FL_API void fl_estate_message_write(FlWriter *writer, const FlEstateMessage *message);
FL_API FL_NODISCARD bool fl_estate_message_read(FlReader *reader, FlEstateMessage *message);
FL_API void fl_ask_message_write(FlWriter *writer, const FlAskMessage *message);
FL_API FL_NODISCARD bool fl_ask_message_read(FlReader *reader, FlAskMessage *message);
FL_API void fl_claim_message_write(FlWriter *writer, const FlClaimMessage *message);
FL_API FL_NODISCARD bool fl_claim_message_read(FlReader *reader, FlClaimMessage *message);
FL_API void fl_claimed_message_write(FlWriter *writer, const FlClaimedMessage *message);
FL_API FL_NODISCARD bool fl_claimed_message_read(FlReader *reader, FlClaimedMessage *message);

/// Of a state, for predictions. If two states share one, an answer is left out that was needed, and
/// the caller asks again.
FL_API uint16_t fl_call_hash(const void *bytes, int32_t count);

// ---------------------------------------------------------------- both ends' tables

typedef struct FlCallsDef {
    int32_t asked_capacity; ///< Calls of ours that wait for an answer, or to be taken from here.
    int32_t heard_capacity; ///< Calls to us that wait, or ended less than FL_CALLS_KEPT ago.
    FlTime life_ns;         ///< A call of ours ends so long after it is made; at most
                            ///< FL_CALL_LIFE_MOST.
    FlTime again_ns;        ///< Without an answer it is sent again so often.
    uint32_t serial; ///< Serials go up from here: random, so that who had our number before us is
                     ///< not taken for us. Sessions see to it themselves.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_calls_def_default(); leave alone.
} FlCallsDef;

/// How long after its end an owner remembers a call: more than two peers' session times differ.
#define FL_CALLS_KEPT FL_MS(500)

/// Right for a game of players: 32 calls asked and 256 heard at once, ending after 2 s, said again
/// every 400 ms.
FL_API FlCallsDef fl_calls_def_default(void);

typedef struct FlCalls FlCalls;

/// Errors: FL_NO_MEMORY; FL_BAD_VALUE (a setting out of its range).
FL_API FL_NODISCARD FlResult fl_calls_create(const FlCallsDef *def, FlCalls **calls);
FL_API void fl_calls_destroy(FlCalls *calls);
FL_API size_t fl_calls_memory(const FlCallsDef *def);

// Times are session time, the same at all peers to within FL_CALLS_KEPT / 2.

/// A call of ours.
typedef struct FlCallDef {
    uint16_t kind;
    const void *bytes; ///< Arguments; copied.
    int32_t count;
    const void *predicted; ///< What the thing's state will be if this is applied; NULL: not known.
    int32_t predicted_count; ///< At most FL_CALL_BYTES.
} FlCallDef;

/// What became of a call of ours.
typedef struct FlCallResult {
    uint32_t serial;
    uint16_t kind;
    uint16_t number;
    FlCallVerdict verdict;
    FlCallWhy why;
    FlTime latency_ns; ///< From the call to knowing.
} FlCallResult;

/// Makes a call; fl_calls_due has it at once. `self` names us (serial unused), `version` is that of
/// the thing's state here.
/// Errors: FL_BAD_VALUE (too long), FL_WOULD_BLOCK (all places are taken: take results).
FL_API FL_NODISCARD FlResult fl_calls_ask(FlCalls *calls, const FlCallDef *call, FlCallKey self,
                                          uint16_t number, uint16_t epoch, uint16_t version,
                                          FlTime now, uint32_t *serial);

/// The next call to be sent now, for the first time or again. Time-outs are noticed here. False:
/// none.
FL_API bool fl_calls_due(FlCalls *calls, FlTime now, FlCallMessage *message);

/// The thing has another owner, or is reached another way: what waits is sent again at once.
FL_API void fl_calls_again(FlCalls *calls, uint16_t number, FlTime now);

/// An answer came. False: nobody waits for it.
FL_API bool fl_calls_answered(FlCalls *calls, const FlAnswerMessage *message, FlTime now);

/// A thing's state is this now: what was predicted so has been applied.
FL_API void fl_calls_state(FlCalls *calls, uint16_t number, uint16_t version, const uint8_t *bytes,
                           int32_t count, FlTime now);

/// The thing is there no more: what waits for it is unknown.
FL_API void fl_calls_drop(FlCalls *calls, uint16_t number, FlTime now);

/// The next result. Time-outs are noticed here, too. Errors: FL_NOT_FOUND.
FL_API FL_NODISCARD FlResult fl_calls_done(FlCalls *calls, FlTime now, FlCallResult *result);

/// When fl_calls_due or fl_calls_done will have something, if nothing else happens.
FL_API FlTime fl_calls_deadline(const FlCalls *calls);

/// What a call that came in is.
typedef enum FlCallHeard {
    FL_HEARD_NEW,     ///< It waits for fl_calls_take.
    FL_HEARD_WAITING, ///< It is here already, and not decided.
    FL_HEARD_REFUSED, ///< It was decided: answer the same again.
    FL_HEARD_APPLIED,
    FL_HEARD_LATE,    ///< It has ended: it is not to be applied any more.
    FL_HEARD_CROWDED, ///< No room: it will come again.
    FL_HEARD_BAD,     ///< No caller makes a call that ends so late.
} FlCallHeard;

FL_API FlCallHeard fl_calls_hear(FlCalls *calls, const FlCallMessage *message, FlTime now);

/// The next call to decide, in the order of arrival; it stays open until fl_calls_decide. Errors:
/// FL_NOT_FOUND.
FL_API FL_NODISCARD FlResult fl_calls_take(FlCalls *calls, FlCallMessage *message);

/// Decides the call of that name that is open, once. Errors: FL_NOT_FOUND (none is here, or it is
/// decided).
FL_API FL_NODISCARD FlResult fl_calls_decide(FlCalls *calls, FlCallKey key, bool applied);

/// Forgets a call that was taken and not decided: its thing is not ours any more.
FL_API void fl_calls_forget(FlCalls *calls, FlCallKey key);

/// A call to a thing is taken and not decided.
FL_API bool fl_calls_open(const FlCalls *calls, uint16_t number);

/// The thing goes to another owner: writes what was decided into `estate`. False: that is too much
/// to take along, so that the estate's floor must rise above calls of before.
FL_API bool fl_calls_leave(const FlCalls *calls, uint16_t number, FlTime now,
                           FlEstateMessage *estate);

/// The next call to a thing that waits to be taken, which will be decided elsewhere: forgets it
/// here. False: none.
FL_API bool fl_calls_unheard(FlCalls *calls, uint16_t number, FlCallMessage *message);

/// The thing is ours now, with this. Calls to other things, and what was decided here, stay as they
/// are. False: no room for all of it, or it speaks of calls that no caller makes (they end too
/// late), so that the thing's floor must rise above calls of before.
FL_API FL_NODISCARD bool fl_calls_inherit(FlCalls *calls, const FlEstateMessage *estate,
                                          FlTime now);

// ---------------------------------------------------------------- figures

/// X(name, word, meaning)
#define FL_CALLS_COUNT_TABLE(X)                                                                    \
    X(ASKED, "asked", "calls made here")                                                           \
    X(SENT, "sent", "calls sent from here, again included")                                        \
    X(APPLIED, "applied", "calls of ours that were applied")                                       \
    X(REFUSED, "refused", "calls of ours that were refused")                                       \
    X(BY_STATE, "by_state", "calls of ours known to be applied by the state alone")                \
    X(OWNER_GONE, "owner_gone", "calls of ours unknown: the owner is gone")                        \
    X(TIMED_OUT, "timed_out", "calls of ours unknown: no answer in time")                          \
    X(STRAY, "stray", "answers that nobody waits for")                                             \
    X(HEARD, "heard", "calls to us that came in, for the first time")                              \
    X(DUPLICATE, "duplicate", "calls to us that came in again")                                    \
    X(DECIDED_APPLIED, "decided_applied", "calls to us that we applied")                           \
    X(DECIDED_REFUSED, "decided_refused", "calls to us that we refused")                           \
    X(ELIDED, "elided", "answers left out: the state says it")                                     \
    X(IMPOSSIBLE, "impossible", "hits refused: not what the shooter saw, or no line")              \
    X(GONE, "gone", "calls not taken: made under an owner who is gone")                            \
    X(LATE, "late", "calls not taken: they had ended")                                             \
    X(CROWDED, "crowded", "calls not taken: no room")                                              \
    X(PASSED_ON, "passed_on", "calls and answers passed on for others")                            \
    X(ASTRAY, "astray", "calls not taken: to a thing that is not ours, or not known")              \
    X(BLOCKED, "blocked", "calls and answers not sent: a queue was full")                          \
    X(BYTES_OUT, "bytes_out", "bytes of calls and answers sent, once per link")                    \
    X(BYTES_IN, "bytes_in", "bytes of calls and answers that came in")

typedef enum FlCallsCount {
#define FL_CALLS_COUNT_ROW(name, word, meaning) FL_CALLS_##name,
    FL_CALLS_COUNT_TABLE(FL_CALLS_COUNT_ROW)
#undef FL_CALLS_COUNT_ROW
        FL_CALLS_COUNTS
} FlCallsCount;

FL_API const char *fl_calls_count_name(FlCallsCount which);

/// For whoever carries the messages: adds to a counter.
FL_API void fl_calls_note(FlCalls *calls, FlCallsCount which, uint64_t count);

/// Latencies are of calls of ours whose verdict is known, from call to knowing; each to within 5 %,
/// the longest exact. 0 before the first.
typedef struct FlCallStats {
    uint64_t count[FL_CALLS_COUNTS];
    FlTime latency_p50_ns, latency_p95_ns, latency_max_ns;
} FlCallStats;

FL_API FlCallStats fl_calls_stats(const FlCalls *calls);

// ---------------------------------------------------------------- well-known kinds

/// Games number their own from FL_CALL_OWN on.
typedef enum FlCallKind {
    FL_CALL_DAMAGE = 1,  ///< FlHitCall to the one who was hit: the shooter decides.
    FL_CALL_DEATH = 2,   ///< FlDeathCall to the one who gets the score.
    FL_CALL_PICKUP = 3,  ///< FlPickupCall to the item.
    FL_CALL_DOOR = 4,    ///< FlDoorCall to the door.
    FL_CALL_MISSILE = 5, ///< FlMissileCall to the one it flies at, whose owner decides.
    FL_CALL_OWN = 256,
} FlCallKind;

/// I hit you.
typedef struct FlHitCall {
    uint16_t shooter; ///< Entity numbers.
    uint8_t weapon;
    uint16_t damage;
    FlTime time;   ///< Session time of the shot.
    FlVec3 target; ///< Where the shooter saw you then.
} FlHitCall;

/// You killed me.
typedef struct FlDeathCall {
    uint16_t victim;
    uint8_t weapon;
    FlTime time;
} FlDeathCall;

/// I take you.
typedef struct FlPickupCall {
    uint16_t taker;
    FlTime time;
} FlPickupCall;

/// I open you, or shut you.
typedef struct FlDoorCall {
    uint16_t by;
    bool open;
    FlTime time;
} FlDoorCall;

/// Something flies that may hit you: see for yourself.
typedef struct FlMissileCall {
    uint16_t shooter;
    uint8_t weapon;
    FlTime time;     ///< From here on,
    FlVec3 position; ///< from here
    FlVec3 velocity; ///< it flies straight.
} FlMissileCall;

// Positions and velocities are rounded to the world's steps. Writers answer false for what lies
// outside of it; in the default world no call takes more than 24 bytes. Readers fail on anything
// that a writer would not write.
FL_API FL_NODISCARD bool fl_hit_call_write(FlWriter *writer, const FlWorld *world,
                                           const FlHitCall *call);
FL_API FL_NODISCARD bool fl_hit_call_read(FlReader *reader, const FlWorld *world, FlHitCall *call);
FL_API FL_NODISCARD bool fl_death_call_write(FlWriter *writer, const FlDeathCall *call);
FL_API FL_NODISCARD bool fl_death_call_read(FlReader *reader, FlDeathCall *call);
FL_API FL_NODISCARD bool fl_pickup_call_write(FlWriter *writer, const FlPickupCall *call);
FL_API FL_NODISCARD bool fl_pickup_call_read(FlReader *reader, FlPickupCall *call);
FL_API FL_NODISCARD bool fl_door_call_write(FlWriter *writer, const FlDoorCall *call);
FL_API FL_NODISCARD bool fl_door_call_read(FlReader *reader, FlDoorCall *call);
FL_API FL_NODISCARD bool fl_missile_call_write(FlWriter *writer, const FlWorld *world,
                                               const FlMissileCall *call);
FL_API FL_NODISCARD bool fl_missile_call_read(FlReader *reader, const FlWorld *world,
                                              FlMissileCall *call);

// ---------------------------------------------------------------- hits

/// What a hit must keep to.
typedef struct FlHitRules {
    double tolerance; ///< The shooter may have seen the target so far from where it says,
    double range;     ///< and from itself; FL_HIT_ANY_RANGE: however far.
    FlTime age_ns;    ///< A shot may be so old when it is checked,
    FlTime ahead_ns;  ///< and so far ahead of the time here: clocks differ.
    /// Whether nothing stands between the two; NULL: nothing ever does.
    bool (*clear_fn)(void *ctx, FlVec3 from, FlVec3 to);
    void *ctx;
    uint32_t cookie; ///< Set by fl_hit_rules_default(); leave alone.
} FlHitRules;

#define FL_HIT_ANY_RANGE 1e300

/// Right for metres and players of that size: 0.5 m, any range, 1 s old, 50 ms ahead, no walls.
FL_API FlHitRules fl_hit_rules_default(void);

typedef enum FlHitVerdict {
    FL_HIT_POSSIBLE,
    FL_HIT_UNSEEN,    ///< The shooter saw no such thing then, as far as is known.
    FL_HIT_ELSEWHERE, ///< It saw it somewhere else.
    FL_HIT_OUT_OF_RANGE,
    FL_HIT_NO_LINE,  ///< Something stands between.
    FL_HIT_UNTIMELY, ///< Too old, or from the future.
} FlHitVerdict;

FL_API const char *fl_hit_verdict_name(FlHitVerdict verdict);

/// Whether a hit can be. `seen`: the target as the shooter saw it at the shot, by the ledger of
/// whoever shows it to the shooter (fl_entity_seen); NULL: not known. `shooter`: where the shooter
/// was.
FL_API FlHitVerdict fl_hit_verify(const FlHitRules *rules, const FlHitCall *hit, const FlPose *seen,
                                  FlVec3 shooter, FlTime now);

/// How near a missile comes to a target that moves by `target`, between two times; and when. For
/// the target's owner, by its own truth. Exact for straight motions; of curved ones, the nearest of
/// 64 chords.
FL_API double fl_missile_nearest(const FlMissileCall *missile, const FlMotion *target, FlTime from,
                                 FlTime to, FlTime *when);

#endif
