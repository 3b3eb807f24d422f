// Private to module `send`: what receivers show, and what is expected of them.
#ifndef FAIRLEAD_SEND_PLACED_PRIVATE_H
#define FAIRLEAD_SEND_PLACED_PRIVATE_H

#include "private.h"

// ---------------------------------------------------------------- single pieces

/// As fl__path_error, of a piece that is remembered and is followed by another before `to`.
double fl__path_walk(const FlEntity *e, uint32_t shown, FlTime from, FlTime to);

/// The same of a piece that fades, as it is shown since it arrived at `since`.
double fl__path_walk_faded(const FlEntity *e, uint32_t shown, FlTime since, FlTime from, FlTime to);

/// What a receiver shows of an update that fades and arrived at `since` is not all of it the update
/// itself, by `to`.
static inline bool fl__leap_bends(const FlLeap *leap, FlTime since, FlTime to)
{
    return since - leap->from > leap->holds_cs * FL_MS(10) ||
           to - since >= leap->trust_cs * FL_MS(10);
}

/// The exported path against one piece of it that is shown from `from` to `to`, and has been since
/// `since`: the integral of their distance. Pieces that are forgotten count as nothing; false
/// tells.
static inline bool fl__path_error(const FlEntity *e, uint32_t shown, FlTime since, FlTime from,
                                  FlTime to, double *error)
{
    *error = 0.0;
    if (!fl__remembered(e, shown)) {
        return false;
    }
    if (fl__leap(e, shown)->fades && fl__leap_bends(fl__leap(e, shown), since, to)) {
        *error = fl__path_walk_faded(e, shown, since, from, to);
        return true;
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

/// What a receiver will see, as far as is known: its last placed piece, then what is under way,
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

#endif
