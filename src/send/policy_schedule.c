// schedule1, schedule2: an update is held back from each receiver until its accumulated error has
// grown to that of the worst, which gets it at once.
//
// As of 2005 (section 4, with errata 1 and 2): the errors compared are those expected at the moment
// this update would arrive if sent now, and the wait is counted from there. As in the thesis
// (3.3.3, equation 3.4): the errors are those at the trigger, as if what is under way had arrived
// when it was sent, and the wait is counted from the trigger.
//
// At the next trigger, what is still held back is dropped (schedule1) or sent as it is (schedule2,
// thesis 3.3.4); unless the new update goes at once, too, which makes the old one worthless.
#include "motion/motion.h"
#include "placed.h"
#include "policy.h"
#include "private.h"

static FlProspect look_ahead(const FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now)
{
    const FlEntity *e = fl__entity(ledger, entity);
    bool thesis = e->send.form == FL_FORM_THESIS;
    FlTime delay = thesis ? 0 : fl__delay(ledger, receiver);
    FlProspect prospect = {.from = fl_time_add(now, delay)};
    FlExpected expected = fl__expect(ledger, entity, receiver, prospect.from, delay);
    prospect.error = expected.error + (double)fl__pair(ledger, entity, receiver)->baseline;
    prospect.serial = expected.serial;
    prospect.comparable = expected.shows && fl__remembered(e, expected.serial) &&
                          fl__piece(e, expected.serial)->life == fl__piece(e, e->newest)->life;
    return prospect;
}

// When to send so that the error grows to `goal`; now or earlier: at once.
static FlTime send_time(const FlLedger *ledger, int32_t entity, const FlProspect *prospect,
                        double goal, FlTime now)
{
    const FlEntity *e = fl__entity(ledger, entity);
    double missing = goal - prospect->error;
    if (!prospect->comparable || !(missing > 0.0)) {
        return now;
    }
    const FlMotion *real = &fl__piece(e, e->newest)->motion;
    const FlMotion *seen = &fl__piece(e, prospect->serial)->motion;
    FlTime latest = fl_time_add(prospect->from, e->send.longest_ns);
    FlTime when = latest;
    FlResult result =
        fl__distance_integral_reaches(real, seen, prospect->from, latest, missing, &when);
    return result == FL_BAD_VALUE ? now : fl_time_add(now, fl_span(when, prospect->from));
}

// One receiver's turn: at once, or when its error will have reached `goal`.
static void plan_one(FlLedger *ledger, int32_t entity, int32_t receiver, const FlProspect *prospect,
                     double goal, FlTime now)
{
    uint32_t before = fl__entity(ledger, entity)->newest - 1;
    int32_t number = fl__pair_number(ledger, entity, receiver);
    bool keeps = fl__entity(ledger, entity)->send.policy == FL_SEND_SCHEDULE2;
    bool held = keeps && fl__schedule_at(&ledger->schedule, number) != FL_FOREVER;
    FlProspect then = *prospect;
    if (held) {
        then.serial = before; // it goes now, and arrives by `from`
    }
    FlTime when = send_time(ledger, entity, &then, goal, now);
    fl__schedule_set(&ledger->schedule, number, when > now ? when : FL_FOREVER);
    if (when <= now) {
        fl__mark(ledger, entity, receiver);
    } else if (held) {
        fl__mark_older(ledger, entity, receiver, before);
    }
}

void fl__schedule_trigger(FlLedger *ledger, int32_t entity, FlTime now)
{
    double goal = 0.0;
    FlProspect *prospects = ledger->prospects;
    for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
         r = fl__watcher_next(ledger, entity, r + 1)) {
        prospects[r] = look_ahead(ledger, entity, r, now);
        goal = prospects[r].error > goal ? prospects[r].error : goal;
    }
    for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
         r = fl__watcher_next(ledger, entity, r + 1)) {
        plan_one(ledger, entity, r, &prospects[r], goal, now);
    }
}

void fl__schedule_wake(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now)
{
    (void)now;
    fl__mark(ledger, entity, receiver);
}
