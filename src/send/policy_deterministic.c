// deterministic: the probabilistic policy's frequencies, kept by a timetable instead of by chance.
//
// A receiver just sent to gets its next turn 1/frequency triggers on, rounded up; what the rounding
// took is credited to the turn after (thesis 3.4.2, fairness-2005 section 5.2). Other receivers'
// turns stay as they are.
//
// Taken literally, a receiver without error would be sent away for ever. So no turn is further off
// than LONGEST times the even one; with two, every weighting sends about as many updates as the
// budget says.
#include "placed.h"
#include "policy.h"
#include "private.h"

#define LONGEST 2
#define CREDIT 65536.0

void fl__deterministic_join(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now)
{
    (void)now;
    FlPair *pair = fl__pair(ledger, entity, receiver);
    pair->own.turn.countdown = (uint16_t)ceil(fl__entity(ledger, entity)->send.every);
    pair->own.turn.credit = 0;
}

static void next_turn(FlPair *pair, double frequency, double every)
{
    double longest = LONGEST * every;
    double wait = frequency * longest > 1.0 ? 1.0 / frequency : longest;
    wait -= pair->own.turn.credit / CREDIT;
    double turns = ceil(wait - 1e-4); // 1/(1/49) is a little more than 49
    turns = turns < 1.0 ? 1.0 : turns;
    double credit = (turns - wait) * CREDIT;
    pair->own.turn.countdown = (uint16_t)turns;
    pair->own.turn.credit = (uint16_t)(credit < 0.0          ? 0.0
                                       : credit > CREDIT - 1 ? CREDIT - 1
                                                             : credit + 0.5);
}

void fl__deterministic_trigger(FlLedger *ledger, int32_t entity, FlTime now)
{
    const FlEntity *e = fl__entity(ledger, entity);
    bool any = false;
    for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
         r = fl__watcher_next(ledger, entity, r + 1)) {
        FlPair *pair = fl__pair(ledger, entity, r);
        if (pair->own.turn.countdown > 0) {
            pair->own.turn.countdown--;
        }
        any |= pair->own.turn.countdown == 0;
    }
    if (!any) {
        return;
    }
    const double *frequency = fl__frequencies(ledger, entity, now);
    for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
         r = fl__watcher_next(ledger, entity, r + 1)) {
        FlPair *pair = fl__pair(ledger, entity, r);
        if (pair->own.turn.countdown == 0) {
            fl__mark(ledger, entity, r);
            next_turn(pair, frequency[r], e->send.every);
        }
    }
}
