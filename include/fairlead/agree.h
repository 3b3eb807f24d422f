// fairlead/agree.h: one order and one timing.
//
// Players act at the same moment in different places, and everybody hears of it at another time.
// Room `agree` has three tools, each for itself, none with I/O or a clock:
//
//   FlLags      here: when an action is played, in the same order and with the same spacing
//               everywhere, without synchronised clocks, and as early as this network allows
//   FlTimeline  fairlead/timeline.h: the present at once, by guessed inputs; the truth a lag
//               behind; the difference repaired by rollback
//   FlCalls     fairlead/call.h: a question to the owner of a thing ("I hit it", "I take it"),
//               decided once, there
//
// Sessions carry their messages; a game with a transport of its own can do so itself.
//
// Threads: objects share nothing; one thread at a time per object.
#ifndef FAIRLEAD_AGREE_H
#define FAIRLEAD_AGREE_H

#include "fairlead/base.h"
#include "fairlead/wire.h"

// ---------------------------------------------------------------- lags
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
// Play time is one for all who play together. When some meet who played alone, they take that of
// those who play together, or of the first of them. For such a one it begins *anew*
// (FL_LAGS_ANEW), earlier or later by any amount: actions of before, which are its own, belong to
// another time, and whoever keeps them in an order takes them all out first (fl_order_take with
// INT64_MAX). In a session nobody plays before it has met the host.
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

/// The play time of an action of ours at `now`; later than that of the one before, unless play time
/// began anew.
/// Errors: FL_WOULD_BLOCK (our first round is not over: nobody could play it yet).
FL_API FL_NODISCARD FlResult fl_lags_stamp(FlLags *lags, FlTime now, FlTime *play);

/// An action of another's arrived: it is a measurement, too.
FL_API void fl_lags_arrived(FlLags *lags, int32_t from, FlTime stamp, FlTime play, FlTime arrival);

/// What may be played at `now`: everything up to this play time. Never goes back (as `now` does
/// not), unless it began anew. INT64_MIN: nothing yet.
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
    X(ANEW, "anew", "rounds with which play time began anew, and earlier")                         \
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

#endif
