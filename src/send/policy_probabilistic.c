// probabilistic: a budget of updates per trigger, spent by chance in proportion to need.
//
// As in the thesis (3.4.1): every receiver has its own draw against its own frequency. As of 2005
// (section 5.1): the budget is a whole number of receivers, drawn one after another by their shares
// (with the papers' three receivers and a third of base: exactly one per trigger). `fixed` gives
// everybody the same chance, for comparison.
//
// A draw is a function of seed, entity, receiver and serial: who joins or leaves does not change
// the others' luck.
#include "policy.h"
#include "private.h"

static double draw(const FlLedger *ledger, int32_t entity, int32_t receiver)
{
    uint64_t stream = (uint64_t)entity << 32 | (uint64_t)(uint32_t)receiver;
    uint32_t serial = fl__entity(ledger, entity)->newest;
    return (double)(fl_random_at(ledger->def.seed, stream, serial) >> 11) / 9007199254740992.0;
}

static void draw_each(FlLedger *ledger, int32_t entity, const double *frequency)
{
    for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
         r = fl__watcher_next(ledger, entity, r + 1)) {
        if (draw(ledger, entity, r) < frequency[r]) {
            fl__mark(ledger, entity, r);
        }
    }
}

// Draws one receiver by its part of the frequencies; -1 if none is left.
static int32_t draw_one(const FlLedger *ledger, int32_t entity, const double *frequency)
{
    double sum = 0.0;
    for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
         r = fl__watcher_next(ledger, entity, r + 1)) {
        sum += frequency[r] > 0.0 ? frequency[r] : 0.0;
    }
    int32_t last = -1;
    int32_t number = -1 - (int32_t)fl__entity(ledger, entity)->credit; // a stream for each draw
    double at = sum * draw(ledger, entity, number);
    for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
         r = fl__watcher_next(ledger, entity, r + 1)) {
        if (frequency[r] <= 0.0) {
            continue;
        }
        last = r;
        at -= frequency[r];
        if (at < 0.0) {
            break;
        }
    }
    return last;
}

static void draw_some(FlLedger *ledger, int32_t entity, double *frequency)
{
    FlEntity *e = fl__entity(ledger, entity);
    e->credit += (double)e->watcher_count / e->send.every;
    while (e->credit > 1.0 - 1e-9) { // thirds add up to one, or nearly
        int32_t r = draw_one(ledger, entity, frequency);
        if (r < 0) {
            break;
        }
        fl__mark(ledger, entity, r);
        frequency[r] = 0.0;
        e->credit -= 1.0;
    }
    e->credit = e->credit > 1.0 ? 1.0 : e->credit;
}

void fl__probabilistic_trigger(FlLedger *ledger, int32_t entity, FlTime now)
{
    if (fl__entity(ledger, entity)->watcher_count == 0) {
        return;
    }
    double *frequency = fl__frequencies(ledger, entity, now);
    if (fl__entity(ledger, entity)->send.form == FL_FORM_2005) {
        draw_some(ledger, entity, frequency);
    } else {
        draw_each(ledger, entity, frequency);
    }
}
