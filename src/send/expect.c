// What a receiver is likely to see: its placed path continued with the updates under way.
//
// An update under way is taken to arrive the receiver's usual delay after it was sent, but not
// before what is already acknowledged. When it was sent is remembered for the last few, to an
// eighth of a millisecond; older ones are taken as sent when they were made.
#include "placed.h"
#include "policy.h"
#include "private.h"

#include "base/maths.h"

typedef struct Step {
    FlTime from;
    FlTime since; ///< When it arrived.
    uint32_t serial;
} Step;

#define STEPS_MAX (FL__UNDER_WAY + 1)

static FlTime sent_at(const FlLedger *ledger, int32_t entity, const FlPair *pair, uint32_t serial)
{
    if (serial == pair->newest_sent) {
        return pair->last_sent;
    }
    FlTime made = fl__piece(fl__entity(ledger, entity), serial)->from;
    for (int32_t i = 0; i < FL__FLIGHTS; i++) {
        if ((pair->flight[i] & 0xffffu) == (serial & 0xffffu)) {
            return fl_time_add(made, (FlTime)(pair->flight[i] >> 16) * FL__HOLD_STEP_NS);
        }
    }
    return made;
}

// The steps from the horizon on that start before `until`.
static int32_t collect(const FlLedger *ledger, int32_t entity, int32_t receiver, FlTime until,
                       FlTime delay, Step steps[STEPS_MAX])
{
    int32_t number = fl__pair_number(ledger, entity, receiver);
    const FlPair *pair = &ledger->pairs[number];
    const FlEntity *e = fl__entity(ledger, entity);
    int32_t count = 0;
    FlTime earliest = INT64_MIN;
    uint64_t waiting = pair->waiting;
    if ((pair->flags & FL__STARTED) != 0) {
        FlSteps placed = fl__steps(ledger, number);
        steps[0].from = earliest = pair->horizon;
        steps[0].serial = fl__step_serial(&placed, pair->shown_count - 1);
        steps[0].since = fl__step_from(&placed, pair->shown_count - 1);
        count = 1;
        uint32_t back = pair->newest_sent - steps[0].serial; // only what is newer can show
        waiting &= back < FL__UNDER_WAY ? ((uint64_t)1 << back) - 1 : ~(uint64_t)0;
    }
    while (waiting != 0) { // the oldest first
        int32_t back = fl__bit_highest(waiting);
        waiting &= ~fl__bit(back);
        uint32_t serial = pair->newest_sent - (uint32_t)back;
        if (!fl__remembered(e, serial)) {
            continue;
        }
        FlTime from = fl_time_add(sent_at(ledger, entity, pair, serial), delay);
        FlTime made = fl__piece(e, serial)->from;
        from = fl__time_max(earliest, from);
        from = fl__time_max(made, from);
        if (from > until) {
            break;
        }
        steps[count].from = steps[count].since = earliest = from;
        steps[count].serial = serial;
        count++;
    }
    return count;
}

FlExpected fl__expect(const FlLedger *ledger, int32_t entity, int32_t receiver, FlTime until,
                      FlTime delay)
{
    Step steps[STEPS_MAX];
    int32_t count = collect(ledger, entity, receiver, until, delay, steps);
    int32_t number = fl__pair_number(ledger, entity, receiver);
    const FlEntity *e = fl__entity(ledger, entity);
    FlExpected expected = {.error = fl__cumulative(ledger, entity, number), .shows = count > 0};
    for (int32_t i = 0; i < count; i++) {
        FlTime to = i + 1 < count ? steps[i + 1].from : until;
        double error;
        (void)fl__path_error(e, steps[i].serial, steps[i].since, steps[i].from, to, &error);
        expected.error += error;
        expected.serial = steps[i].serial;
    }
    return expected;
}

double fl__recent_error(const FlLedger *ledger, int32_t entity, int32_t receiver, FlTime until,
                        FlTime delay)
{
    Step steps[STEPS_MAX];
    int32_t count = collect(ledger, entity, receiver, until, delay, steps);
    const FlEntity *e = fl__entity(ledger, entity);
    if (count == 0 || !fl__remembered(e, steps[count - 1].serial)) {
        return 0.0;
    }
    FlTime made = fl__piece(e, steps[count - 1].serial)->from;
    double sum = fl__shown_error(ledger, entity, fl__pair_number(ledger, entity, receiver), made);
    for (int32_t i = 0; i < count; i++) {
        FlTime to = i + 1 < count ? steps[i + 1].from : until;
        double error;
        (void)fl__path_error(e, steps[i].serial, steps[i].since, fl__time_max(steps[i].from, made),
                             to, &error);
        sum += error;
    }
    return sum;
}

bool fl__believes(const FlLedger *ledger, int32_t entity, const FlPair *pair)
{
    const FlEntity *e = fl__entity(ledger, entity);
    return pair->sent > 0 && fl__remembered(e, pair->newest_sent) &&
           fl__piece(e, pair->newest_sent)->life == fl__piece(e, e->newest)->life;
}

FlMotion fl__belief(const FlLedger *ledger, int32_t entity, const FlPair *pair)
{
    const FlPiece *piece = fl__piece(fl__entity(ledger, entity), pair->newest_sent);
    return fl_piece_placed(&piece->motion, piece->life, piece->motion.time).motion;
}

// ---------------------------------------------------------------- reading

bool fl_ledger_read(const FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now,
                    FlLedgerView *view)
{
    const FlPair *pair = fl__pair(ledger, entity, receiver);
    FlLedgerView none = {.last_sent = FL_FOREVER};
    *view = none;
    if (!fl__watches(ledger, entity, receiver)) {
        return false;
    }
    view->sent = pair->sent;
    view->arrived = pair->arrived;
    view->lost = pair->lost;
    view->last_sent = pair->last_sent;
    view->cumulative = fl__cumulative(ledger, entity, fl__pair_number(ledger, entity, receiver));
    view->accumulated =
        fl__expect(ledger, entity, receiver, now, fl__delay(ledger, receiver)).error;
    view->estimated = view->accumulated - view->cumulative;
    return true;
}

FlResult fl_ledger_seen(const FlLedger *ledger, int32_t entity, int32_t receiver, FlTime time,
                        FlPose *pose)
{
    FlPose nowhere = {.rotation = fl__quat_identity()};
    *pose = nowhere;
    int32_t number = fl__pair_number(ledger, entity, receiver);
    const FlPair *pair = &ledger->pairs[number];
    if (!fl__watches(ledger, entity, receiver)) {
        return FL_NOT_FOUND;
    }
    FlSteps steps = fl__steps(ledger, number);
    for (int32_t i = pair->shown_count - 1; i >= 0; i--) {
        if (fl__step_from(&steps, i) > time) {
            continue;
        }
        uint32_t serial = fl__step_serial(&steps, i);
        const FlPiece *piece = fl_ledger_exported(ledger, entity, serial);
        if (piece == NULL || piece->life == FL_LIFE_NONE) {
            return FL_NOT_FOUND;
        }
        FlPiece placed = fl_piece_placed(&piece->motion, piece->life, fl__step_from(&steps, i));
        *pose = fl_motion_pose(&placed.motion, time);
        return FL_OK;
    }
    return FL_NOT_FOUND;
}
