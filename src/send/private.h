// Private to module `send`: the ledger's tables, and what the policies' files share.
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
#include "send/send.h"

#include "schedule.h"

// ---------------------------------------------------------------- pairs

#define FL__FLIGHTS 3           ///< Sending times remembered of a pair's last updates.
#define FL__HOLD_STEP_NS 125000 ///< Their precision; up to 8 s after the update was made.
#define FL__UNDER_WAY 64        ///< An older update than this many is not waited for.

enum {
    FL__STARTED = 1,    ///< Something arrived: there is a placed path, and an error to count.
    FL__TRIMMED = 2,    ///< Placed pieces were forgotten.
    FL__OWES_OLDER = 4, ///< What is due is `owed`, not the newest.
    FL__AGAIN = 8,      ///< Frame policies: the newest is owed, though it was sent.
    FL__IN_FOCUS = 16,  ///< Frame policies: it was at the last frame.
    FL__RARELY = 32     ///< Frame policies: another distributor serves it, too.
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
    bool fades;    ///< What receivers show of it depends on when it arrived,
    uint8_t holds_cs; ///< but of one that came within so many hundredths of a second just it,
    uint8_t trust_cs; ///< for so many.
} FlLeap;

_Static_assert(sizeof(FlLeap) == 64, "one cache line");

#define FL__KNOTS 16
#define FL__CURVES 16

/// Where two pieces are at one time.
typedef struct FlKnot {
    FlTime at;
    double sum; ///< Integral of their distance so far.
    double distance;
} FlKnot;

/// Integrals of the distance between two pieces, at rising times. See curve.c.
typedef struct FlCurve {
    uint32_t shown, exported;
    int32_t count; ///< 0: nothing yet
    FlKnot knot[FL__KNOTS];
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
    bool fresh;  ///< Something was exported, lost or watched since the last frame.
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
    FlLedgerSent *history;   ///< [receiver][entity][...]: only if it is asked for, see history.c
    uint32_t *history_count; ///< Sent since the pair began.
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

static inline uint64_t *fl__due_word(const FlLedger *ledger, int32_t entity, int32_t receiver)
{
    return &ledger->due[(entity >> 6) * ledger->def.receiver_capacity + receiver];
}

static inline uint64_t fl__bit(int32_t number)
{
    return (uint64_t)1 << (number & 63);
}

static inline bool fl__watches(const FlLedger *ledger, int32_t entity, int32_t receiver)
{
    return fl__bit_get(&ledger->watching[entity * ledger->receiver_words], receiver);
}

/// The next watcher of an entity at or after `from`; -1: none.
int32_t fl__watcher_next(const FlLedger *ledger, int32_t entity, int32_t from);

// ---------------------------------------------------------------- history.c

static inline bool fl__keeps_history(const FlLedger *ledger)
{
    return ledger->def.history_capacity > 0;
}

/// A pair begins; an update went out; one has arrived. Only where a history is kept.
void fl__history_begin(FlLedger *ledger, int32_t pair);
void fl__history_sent(FlLedger *ledger, int32_t pair, uint32_t serial, FlTime now);
void fl__history_arrived(FlLedger *ledger, int32_t pair, uint32_t serial, FlTime sent,
                         FlTime arrived);

// ---------------------------------------------------------------- paths

/// Adds the newest piece to an entity's path.
void fl__path_add(FlLedger *ledger, int32_t entity, const FlMotion *motion, uint32_t life);

// ---------------------------------------------------------------- curve.c

/// The integral of the distance between the pieces `at` and `shown`, both remembered.
double fl__curve_error(const FlEntity *e, uint32_t shown, uint32_t at, FlTime from, FlTime until);

#endif
