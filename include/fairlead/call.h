// fairlead/call.h: a thing's owner decides, once.
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
//     was decided (FlHandoverMessage). A thing whose owner died does not: there, calls of before
//     are *gone*, which the caller learns as unknown, with the state to look at;
//   - callers repeat what is not answered, so whoever passes calls on may lose them.
//
// What calls change belongs into the thing's state blob: an answer brings it, and what any survivor
// has of it is what goes on after an owner's death.
//
// Threads: objects share nothing; one thread at a time per object.
#ifndef FAIRLEAD_CALL_H
#define FAIRLEAD_CALL_H

#include "fairlead/base.h"
#include "fairlead/motion.h"
#include "fairlead/wire.h"

/// The longest arguments of a call.
#define FL_CALL_BYTES 64

/// The longest state in an answer: an entity's state blob.
#define FL_CALL_STATE_BYTES 255

/// The longest time until a call ends, counted from when it is made.
#define FL_CALL_LIFE_MOST FL_SEC(30)

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

// ---------------------------------------------------------------- both ends' tables

typedef struct FlCallsDef {
    int32_t asked_capacity;    ///< Calls of ours that wait for an answer, or to be taken from here.
    int32_t received_capacity; ///< Calls to us that wait, or ended less than FL_CALLS_KEPT ago. No
                               ///< caller has more of these than are free: alone at most half.
    FlTime life_ns;            ///< A call of ours ends so long after it is made; at most
                               ///< FL_CALL_LIFE_MOST.
    FlTime again_ns;           ///< Without an answer it is sent again so often.
    uint32_t serial; ///< Serials go up from here: random, so that who had our number before us is
                     ///< not taken for us. Sessions see to it themselves.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_session_def_default(); leave alone.
} FlCallsDef;

// Times are session time, the same at all peers to within FL_CALLS_KEPT / 2.

/// A call of ours.
typedef struct FlCallDef {
    uint16_t kind;
    const void *bytes; ///< Arguments; copied.
    int32_t count;
    const void *predicted; ///< What the thing's state will be if this is applied; NULL: not known.
    int32_t predicted_count; ///< At most FL_CALL_BYTES.
} FlCallDef;

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
    X(STRAY, "stray", "answers that no call waits for")                                            \
    X(RECEIVED, "received", "calls to us that came in, for the first time")                        \
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
    X(BLOCKED, "blocked", "calls and answers not sent: a queue or a quota was full")               \
    X(BYTES_OUT, "bytes_out", "bytes of calls and answers sent, once per link")                    \
    X(BYTES_IN, "bytes_in", "bytes of calls and answers that came in")

typedef enum FlCallsCount {
#define FL_CALLS_COUNT_ROW(name, word, meaning) FL_CALLS_##name,
    FL_CALLS_COUNT_TABLE(FL_CALLS_COUNT_ROW)
#undef FL_CALLS_COUNT_ROW
        FL_CALLS_COUNTS
} FlCallsCount;

/// Latencies are of calls of ours whose verdict is known, from call to knowing; each to within 5 %,
/// the longest exact. 0 before the first.
typedef struct FlCallStats {
    uint64_t count[FL_CALLS_COUNTS];
    FlTime latency_p50_ns, latency_p95_ns, latency_max_ns;
} FlCallStats;

// ---------------------------------------------------------------- well-known kinds

/// Games number their own from FL_CALL_OWN on.
typedef enum FlCallKind {
    FL_CALL_DAMAGE = 1,  ///< FlHitCall to the one who was hit: the shooter decides.
    FL_CALL_DEATH = 2,   ///< To the one who gets the score.
    FL_CALL_PICKUP = 3,  ///< To the item.
    FL_CALL_DOOR = 4,    ///< To the door.
    FL_CALL_MISSILE = 5, ///< To the one it flies at, whose owner decides.
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

/// Writes the arguments of such a call. Positions are rounded to the world's steps; false for what
/// lies outside of it. In the default world it takes at most 24 bytes.
FL_API FL_NODISCARD bool fl_hit_call_write(FlWriter *writer, const FlWorld *world,
                                           const FlHitCall *call);

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

#endif
