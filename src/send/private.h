// Private to room `send`: the ledger's tables, and what the policies' files share.
//
// Everything lives in flat arrays made at creation:
//
//     entities   [entity]                       what is exported, by which policy
//     pieces     [entity][serial mod capacity]  the exported paths
//     leaps      [entity][serial mod capacity]  from each piece to the next, for the common case
//     receivers  [receiver]                     delay, honesty
//     pairs      [receiver][entity]             one receiver's view of one entity
//     shown      [receiver][entity][...]        its last placed pieces, a ring
//     attention, keys  [receiver][entity]       for policies that decide by the frame
//     due        [entity / 64][receiver]        one bit each: something is owed
//     watching   [entity][receiver / 64]        one bit each
//     schedule   over pairs                     when a policy wants to be asked again
//
// Pairs lie by receiver, because packets and their fates come by receiver; due bits lie so that
// marking all receivers of an entity walks straight through memory.
#ifndef FAIRLEAD_SEND_PRIVATE_H
#define FAIRLEAD_SEND_PRIVATE_H

#include "fairlead/send.h"

#include "base/private.h"

// ---------------------------------------------------------------- the schedule

#define FL__SCHEDULE_LEVELS 12

/// The earliest of many times: a tournament in groups of eight. Level 0 holds a time per slot, each
/// level above the earliest of each eight below. FL_FOREVER: no time.
typedef struct FlSchedule {
    FlTime *times; ///< All levels, one after another.
    int32_t level_count;
    size_t level[FL__SCHEDULE_LEVELS]; ///< Where each begins.
} FlSchedule;

/// How many times a schedule of so many slots needs.
size_t fl__schedule_size(int32_t slot_count);

void fl__schedule_init(FlSchedule *schedule, FlTime *times, int32_t slot_count);
void fl__schedule_set(FlSchedule *schedule, int32_t slot, FlTime time);

static inline FlTime fl__schedule_at(const FlSchedule *schedule, int32_t slot)
{
    return schedule->times[slot];
}

static inline FlTime fl__schedule_earliest(const FlSchedule *schedule)
{
    return schedule->times[schedule->level[schedule->level_count - 1]];
}

/// The slot with the earliest time; the lowest of several. There must be one.
int32_t fl__schedule_first(const FlSchedule *schedule);

// ---------------------------------------------------------------- pairs

#define FL__FLIGHTS 3           ///< Sending times remembered of a pair's last updates.
#define FL__HOLD_STEP_NS 125000 ///< Their precision; up to 8 s after the update was made.
#define FL__UNDER_WAY 64        ///< An older update than this many is not waited for.

enum {
    FL__STARTED = 1,    ///< Something arrived: there is a placed path, and an error to count.
    FL__TRIMMED = 2,    ///< Placed pieces were forgotten.
    FL__OWES_OLDER = 4, ///< What is due is `owed`, not the newest.
    FL__AGAIN = 8,      ///< Frame policies: the newest is owed, though it was sent.
    FL__IN_FOCUS = 16   ///< Frame policies: it was at the last frame.
};

/// One receiver's view of one entity.
typedef struct FlPair {
    double error;     ///< From the first arrival to `pending_ns` before the horizon.
    FlTime horizon;   ///< The last acknowledged arrival.
    FlTime last_sent; ///< FL_FOREVER before the first.
    uint64_t waiting; ///< Bit i: serial newest_sent - i was sent, and its fate is not known.
    uint32_t newest_sent;
    union {
        uint32_t serial; ///< With FL__OWES_OLDER.
        float offset;    ///< equal: what it learnt, as a logarithm
    } owed;
    uint32_t sent, arrived, lost;
    uint32_t pending_ns; ///< What is not in `error` yet: the exported path may still change there.
    float baseline; ///< What a policy counts as already suffered: a newcomer starts as the mean.
    union {
        float suffered;   ///< equal: mean error, in distance
        uint16_t lingers; ///< frame policies: frames that it still counts as in focus
        struct {
            uint16_t countdown; ///< deterministic: triggers until its turn
            uint16_t credit;    ///< … and what rounding up gave away, in 1/65536
        } turn;
    } own; ///< The policy's.
    uint8_t flags;
    uint8_t shown_first;
    uint8_t shown_count;
    uint8_t flight_next;
    uint32_t flight[FL__FLIGHTS]; ///< Low half of the serial, then its hold in steps.
} FlPair;

_Static_assert(sizeof(FlPair) <= 80, "with four arrivals and the schedule a pair takes 128 bytes");

/// One placed piece: the low 48 bits of its start, then 16 of its serial.
typedef uint64_t FlShown;

// ---------------------------------------------------------------- tables

/// What policy `equal` keeps of an entity.
typedef struct FlEqual {
    FlTime epoch;    ///< Of its first update.
    FlTime previous; ///< Of the last trigger.
    double scale;    ///< Logarithm of the common threshold; a distance.
    double mean;     ///< Suffered by a receiver, on average; a distance.
    double served;   ///< The part of the updates that the worst off gets.
    double sent;
    bool scaled; ///< The scale was set.
} FlEqual;

/// One exported piece against the one before it, in a cache line. Receivers mostly show the one
/// before while the new one is on its way, so this is what an arrival has to integrate, and it is
/// the same for all of them.
typedef struct FlLeap {
    FlTime from;  ///< Of the piece.
    FlVec3 gap;   ///< Piece minus the one before, at `from`.
    FlVec3 drift; ///< Its change per second.
    uint32_t life;
    bool straight; ///< Both are straight for ever and of one life; else gap and drift mean nothing.
} FlLeap;

_Static_assert(sizeof(FlLeap) == 64, "one cache line");

#define FL__KNOTS 16
#define FL__CURVES 16

/// Integrals of the distance between two pieces, at rising times. See curve.c.
typedef struct FlCurve {
    uint32_t shown, exported;
    int32_t count; ///< 0: nothing yet
    FlTime at[FL__KNOTS];
    double sum[FL__KNOTS];
} FlCurve;

/// Where an entity's part of the tables begins: a walk along its path asks again and again.
typedef struct FlRings {
    FlPiece *pieces;
    FlLeap *leaps;
    FlCurve *curves;
    uint32_t mask; ///< Of serials, for pieces and leaps.
} FlRings;

typedef struct FlEntity {
    FlSend send;
    bool live;
    uint32_t newest;  ///< Serial of the newest piece; 0 before the first in this slot.
    uint32_t oldest;  ///< Of the oldest piece remembered of this entity; newest + 1: none.
    uint32_t trigger; ///< Updates since the life began; 0 is its first.
    int32_t watcher_count;
    int32_t update_bytes; ///< Of one update, for policies that count bytes.
    FlTime counted;       ///< No pair's error is counted beyond this.
    double credit;        ///< Of the budget: updates that may still be sent.
    FlEqual equal;
    FlRings rings;
    bool counting; ///< Errors are being counted, so curves may grow: asking changes nothing.
} FlEntity;

typedef struct FlReceiver {
    double delay; ///< ns; negative before the first report
    FlTime clock_error;
    double deviation; ///< ns
    uint32_t reports, contradictions, late;
} FlReceiver;

/// What is expected of a receiver if the newest update were sent to it now.
typedef struct FlProspect {
    double error; ///< At `from`.
    FlTime from;
    uint32_t serial; ///< Shown from then on.
    bool comparable; ///< It shows something of this life.
} FlProspect;

/// What the frame policies keep.
typedef struct FlFocus {
    FlFocusDef def;
    FlTime next; ///< No frame before; INT64_MIN: nothing was exported yet.
    bool news;   ///< Something was exported, lost or watched since the last frame.
    double bytes, header_bytes;
    double credit[2];   ///< Of the focus set's size: a part of one, by policy.
    FlFocusFrame frame; ///< The last.
} FlFocus;

struct FlLedger {
    FlLedgerDef def;
    size_t bytes; ///< Of the one block that holds it all.
    int32_t receiver_words;
    FlEntity *entities;
    FlPiece *pieces;
    FlLeap *leaps;
    FlCurve *curves; ///< [entity][FL__CURVES]
    FlReceiver *receivers;
    FlPair *pairs;
    FlShown *shown;
    uint64_t *due;
    uint64_t *watching;
    uint8_t *attention; ///< [receiver][entity], in 1/255
    uint32_t *keys;     ///< [receiver][entity]: how urgent, at the frame being decided
    FlFocus focus;
    FlTime *times;
    double *scratch;       ///< Two numbers per receiver, for policies that share out.
    FlProspect *prospects; ///< By receiver, for policies that schedule.
    FlSchedule schedule;
    FlRandom random;
    FlLedgerCounts counts;
};

static inline FlEntity *fl__entity(const FlLedger *ledger, int32_t entity)
{
    FL_ASSERT(entity >= 0 && entity < ledger->def.entity_capacity);
    return &ledger->entities[entity];
}

static inline int32_t fl__pair_number(const FlLedger *ledger, int32_t entity, int32_t receiver)
{
    FL_ASSERT(entity >= 0 && entity < ledger->def.entity_capacity);
    FL_ASSERT(receiver >= 0 && receiver < ledger->def.receiver_capacity);
    return receiver * ledger->def.entity_capacity + entity;
}

static inline FlPair *fl__pair(const FlLedger *ledger, int32_t entity, int32_t receiver)
{
    return &ledger->pairs[fl__pair_number(ledger, entity, receiver)];
}

static inline FlPiece *fl__piece(const FlEntity *entity, uint32_t serial)
{
    return &entity->rings.pieces[serial & entity->rings.mask];
}

static inline FlLeap *fl__leap(const FlEntity *entity, uint32_t serial)
{
    return &entity->rings.leaps[serial & entity->rings.mask];
}

/// True if the serial's piece is remembered. Serials go round; differences count.
static inline bool fl__remembered(const FlEntity *entity, uint32_t serial)
{
    return serial - entity->oldest < entity->newest + 1 - entity->oldest;
}

/// True if serial a was given after b.
static inline bool fl__after(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

static inline uint64_t *fl__due_word(const FlLedger *ledger, int32_t entity, int32_t receiver)
{
    return &ledger->due[(entity >> 6) * ledger->def.receiver_capacity + receiver];
}

static inline uint64_t fl__bit(int32_t number)
{
    return (uint64_t)1 << (number & 63);
}

/// Number of the lowest bit set; one must be.
static inline int32_t fl__lowest(uint64_t word)
{
#if defined(__GNUC__)
    return __builtin_ctzll(word);
#else
    int32_t number = 0;
    while ((word & 1u) == 0) {
        word >>= 1;
        number++;
    }
    return number;
#endif
}

/// Number of the highest bit set; one must be.
static inline int32_t fl__highest(uint64_t word)
{
#if defined(__GNUC__)
    return 63 - __builtin_clzll(word);
#else
    int32_t number = 0;
    while (word >>= 1) {
        number++;
    }
    return number;
#endif
}

static inline bool fl__watches(const FlLedger *ledger, int32_t entity, int32_t receiver)
{
    const uint64_t *words = &ledger->watching[entity * ledger->receiver_words];
    return (words[receiver >> 6] & fl__bit(receiver)) != 0;
}

/// The next watcher of an entity at or after `from`; -1: none.
int32_t fl__watcher_next(const FlLedger *ledger, int32_t entity, int32_t from);

// ---------------------------------------------------------------- paths

/// Adds the newest piece to an entity's path.
void fl__path_add(FlLedger *ledger, int32_t entity, const FlMotion *motion, uint32_t life);

// ---------------------------------------------------------------- curve.c

/// The integral of the distance between the pieces `at` and `shown`, both remembered.
double fl__curve_error(const FlEntity *e, uint32_t shown, uint32_t at, FlTime from, FlTime until);

// ---------------------------------------------------------------- path.c

/// As fl__path_error, of a piece that is remembered and is followed by another before `to`.
double fl__path_walk(const FlEntity *e, uint32_t shown, FlTime from, FlTime to);

/// The exported path against one piece of it that is shown from `from` to `to`: the integral of
/// their distance. Pieces that are forgotten count as nothing; false tells.
static inline bool fl__path_error(const FlEntity *e, uint32_t shown, FlTime from, FlTime to,
                                  double *error)
{
    *error = 0.0;
    if (!fl__remembered(e, shown)) {
        return false;
    }
    // Mostly it holds all the while: an update is shown while it is the newest.
    if (shown != e->newest && fl__leap(e, shown + 1)->from < to) {
        *error = fl__path_walk(e, shown, from, to);
    }
    return true;
}

// ---------------------------------------------------------------- placed paths

/// A pair's placed path.
typedef struct FlSteps {
    FlPair *pair;
    FlShown *ring;
    int32_t capacity;
} FlSteps;

static inline FlSteps fl__steps(const FlLedger *ledger, int32_t pair)
{
    int32_t capacity = ledger->def.shown_capacity;
    FlSteps steps = {&ledger->pairs[pair], &ledger->shown[(size_t)pair * (size_t)capacity],
                     capacity};
    return steps;
}

/// Placed piece i, the oldest remembered being 0.
static inline FlShown *fl__step(const FlSteps *steps, int32_t i)
{
    return &steps->ring[(steps->pair->shown_first + i) & (steps->capacity - 1)];
}

/// Its start: nothing is later than the horizon.
static inline FlTime fl__step_from(const FlSteps *steps, int32_t i)
{
    uint64_t horizon = (uint64_t)steps->pair->horizon;
    uint64_t back = (horizon << 16) - (*fl__step(steps, i) & ~(uint64_t)0xffff);
    return (FlTime)(horizon - (back >> 16));
}

/// Its serial: none is later than the newest sent.
static inline uint32_t fl__step_serial(const FlSteps *steps, int32_t i)
{
    uint32_t newest = steps->pair->newest_sent;
    return newest - ((newest - (uint32_t)*fl__step(steps, i)) & 0xffffu);
}

/// Up to where the pair's error is counted.
static inline FlTime fl__counted(const FlPair *pair)
{
    return pair->horizon - (FlTime)pair->pending_ns;
}

/// The error from `from` to the horizon, as far as the placed path is remembered.
double fl__shown_error(const FlLedger *ledger, int32_t entity, int32_t pair, FlTime from);

/// CEE: the error from the first arrival to the horizon.
double fl__cumulative(const FlLedger *ledger, int32_t entity, int32_t pair);

/// The pair that waits for this update; NULL and counted if none does. Who does not watch waits for
/// nothing.
static inline FlPair *fl__waiting_pair(FlLedger *ledger, const FlEntity *e, int32_t receiver,
                                       FlDue due)
{
    FlPair *pair = fl__pair(ledger, due.entity, receiver);
    uint32_t back = pair->newest_sent - due.serial;
    bool waiting = back < FL__UNDER_WAY && (pair->waiting >> back & 1u) != 0;
    if (!waiting || !fl__remembered(e, due.serial)) {
        ledger->counts.stray++;
        return NULL;
    }
    return pair;
}

// ---------------------------------------------------------------- estimates

/// What a receiver will see, as far as can be told: its last placed piece, then what is under way,
/// each arriving `delay` after it was sent.
typedef struct FlExpected {
    double error;    ///< AEE up to the time asked for.
    uint32_t serial; ///< The update in use then.
    bool shows;      ///< False: nothing is placed by then.
} FlExpected;

FlExpected fl__expect(const FlLedger *ledger, int32_t entity, int32_t receiver, FlTime until,
                      FlTime delay);

/// The part of that error since the update in use by then was made.
double fl__recent_error(const FlLedger *ledger, int32_t entity, int32_t receiver, FlTime until,
                        FlTime delay);

/// The receiver's delay estimate; 0 before its first report.
static inline FlTime fl__delay(const FlLedger *ledger, int32_t receiver)
{
    double delay = ledger->receivers[receiver].delay;
    return delay > 0.0 ? (FlTime)delay : 0;
}

// ---------------------------------------------------------------- marking

/// The newest update is owed to this receiver from now on.
void fl__mark(FlLedger *ledger, int32_t entity, int32_t receiver);

/// The update `serial`, though not the newest, is owed.
void fl__mark_older(FlLedger *ledger, int32_t entity, int32_t receiver, uint32_t serial);

/// The policy is asked again about this pair at `time`; FL_FOREVER: not.
void fl__ask_at(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime time);

// ---------------------------------------------------------------- attention_look.c

/// Where all players are, relative to their middle; present: 1, or 0.
typedef struct FlAttentionRow {
    const float *x, *y, *z, *present;
} FlAttentionRow;

/// One observer, and what counts for it.
typedef struct FlAttentionView {
    float eye[3];
    float forward[3]; ///< Of length 1.
    float reach_inverse;
    float metre2_inverse; ///< One over the square of a metre.
    float blend;          ///< How much of the new angle goes into the average.
    float proximity, aim; ///< Weights.
} FlAttentionView;

/// Proximity and aim of `count` players for one observer, weighted, into `value`; `angle` has the
/// averages, negative where there is none yet.
void fl__attention_look(int32_t count, const FlAttentionRow *row, const FlAttentionView *view,
                        float *restrict angle, float *restrict value);

// ---------------------------------------------------------------- policies

/// What a policy is asked. Each may be NULL.
typedef struct FlPolicy {
    /// An update was exported, neither the first nor the last of a life.
    void (*trigger)(FlLedger *ledger, int32_t entity, FlTime now);
    /// The time set with fl__ask_at has come.
    void (*wake)(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);
    /// An update just went out, for whatever reason.
    void (*sent)(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);
    /// This pair is sent the first update of a life, or its first of all.
    void (*join)(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);
    /// The policy compares accumulated errors, so newcomers must not begin at zero.
    bool compares;
    /// Everything is decided by the frame: nothing is marked in between.
    bool frames;
} FlPolicy;

extern const FlPolicy fl__policies[FL_SEND_POLICIES];

static inline const FlPolicy *fl__policy(FlSendPolicy policy)
{
    return &fl__policies[policy];
}

/// The newest update is owed to this receiver: at once, or from the next frame on.
void fl__owe(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);

/// The update that a receiver will show when all has arrived; NULL if it is of another life.
const FlMotion *fl__belief(const FlLedger *ledger, int32_t entity, const FlPair *pair);

/// How often each watcher of an entity should be sent to, in updates per trigger, by receiver.
/// Valid until the next call; the caller may change it.
double *fl__frequencies(FlLedger *ledger, int32_t entity, FlTime now);

/// What no frequency may exceed.
double fl__frequency_limit(const FlEntity *entity);

void fl__base_trigger(FlLedger *ledger, int32_t entity, FlTime now);
void fl__schedule_trigger(FlLedger *ledger, int32_t entity, FlTime now);
void fl__schedule_wake(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);
void fl__probabilistic_trigger(FlLedger *ledger, int32_t entity, FlTime now);
void fl__deterministic_trigger(FlLedger *ledger, int32_t entity, FlTime now);
void fl__deterministic_join(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);
void fl__equal_trigger(FlLedger *ledger, int32_t entity, FlTime now);
void fl__equal_wake(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);
void fl__equal_sent(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);
void fl__equal_join(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);

/// There is something new for a frame to decide.
void fl__focus_trigger(FlLedger *ledger, int32_t entity, FlTime now);
void fl__focus_sent(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);

/// When the next frame is to be decided; and deciding it.
FlTime fl__focus_deadline(const FlLedger *ledger);
void fl__focus_frame(FlLedger *ledger, FlTime now);

// ---------------------------------------------------------------- select.c

/// Marks the pairs with the highest keys (0: not asked for) that `bytes` pay for; returns what they
/// take. Only entities under one policy.
double fl__select(FlLedger *ledger, FlSendPolicy policy, double bytes);

/// The next pair of a live entity under this policy after (*entity, *receiver); begin with (0, -1).
bool fl__pair_next(const FlLedger *ledger, FlSendPolicy policy, int32_t *entity, int32_t *receiver);

/// What an update of an entity takes, its part of headers included.
double fl__update_cost(const FlLedger *ledger, int32_t entity);

#endif
