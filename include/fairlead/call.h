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
//     was decided (FlEstateMessage). A thing whose owner died does not: there, calls of before are
//     *gone*, which the caller learns as unknown, with the state to look at;
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
    int32_t heard_capacity; ///< Calls to us that wait, or ended less than FL_CALLS_KEPT ago. No
                            ///< caller has more of these than are free: alone at most half.
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
    FL_HEARD_CROWDED, ///< No room, or none for this caller: it will come again.
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
