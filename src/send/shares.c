// How often each receiver should be sent to: a budget shared by need.
//
// Need is a weighted sum of three shares (thesis 3.4.1.2): of the error so far, of the error since
// the update in use was made, and of the time since something was sent. Where all are zero,
// everybody has the same. A share times the budget is a frequency, updates per trigger. No
// frequency goes beyond 1 (two copies tell nothing new), nor beyond the cap; what is cut off is
// spread evenly over those below.
#include "placed.h"
#include "policy.h"
#include "private.h"

static double *column(const FlLedger *ledger, int32_t number)
{
    return &ledger->scratch[(size_t)number * (size_t)ledger->def.receiver_capacity];
}

// Adds weight times each watcher's part of `need` to its share.
static void add_shares(const FlLedger *ledger, int32_t entity, const double *need, double weight,
                       double *share)
{
    double sum = 0.0;
    for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
         r = fl__watcher_next(ledger, entity, r + 1)) {
        sum += need[r];
    }
    double even = 1.0 / fl__entity(ledger, entity)->watcher_count;
    for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
         r = fl__watcher_next(ledger, entity, r + 1)) {
        share[r] += weight * (sum > 0.0 ? need[r] / sum : even);
    }
}

// How long ago the newest update that has arrived, as far as we know, was made; 0 before the first.
static double age_of_shown(const FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now)
{
    FlSteps steps = fl__steps(ledger, fl__pair_number(ledger, entity, receiver));
    const FlEntity *e = fl__entity(ledger, entity);
    int32_t count = steps.pair->shown_count;
    if (count == 0) {
        return 0.0;
    }
    uint32_t serial = fl__step_serial(&steps, count - 1);
    FlTime made =
        fl__remembered(e, serial) ? fl__piece(e, serial)->from : fl__step_from(&steps, count - 1);
    return fl_span_seconds(fl_span(now, made));
}

static double need_of(const FlLedger *ledger, int32_t entity, int32_t receiver, int32_t kind,
                      FlTime now)
{
    FlTime delay = fl__delay(ledger, receiver);
    const FlPair *pair = fl__pair(ledger, entity, receiver);
    if (kind == 0) {
        double error = fl__expect(ledger, entity, receiver, now, delay).error;
        return error + (double)pair->baseline;
    }
    if (kind == 1) {
        return fl__recent_error(ledger, entity, receiver, now, delay);
    }
    if (fl__entity(ledger, entity)->send.form == FL_FORM_APPENDIX) {
        return age_of_shown(ledger, entity, receiver, now);
    }
    return pair->sent > 0 ? fl_span_seconds(fl_span(now, pair->last_sent)) : 0.0;
}

// Cuts everything down to `limit` and spreads what is cut off.
static void level_off(const FlLedger *ledger, int32_t entity, double limit, double *frequency)
{
    for (int32_t round = 0; round < fl__entity(ledger, entity)->watcher_count; round++) {
        double surplus = 0.0;
        int32_t below = 0;
        for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
             r = fl__watcher_next(ledger, entity, r + 1)) {
            if (frequency[r] > limit) {
                surplus += frequency[r] - limit;
                frequency[r] = limit;
            }
            below += frequency[r] < limit;
        }
        if (surplus <= 0.0 || below == 0) {
            return;
        }
        for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
             r = fl__watcher_next(ledger, entity, r + 1)) {
            frequency[r] += frequency[r] < limit ? surplus / below : 0.0;
        }
    }
}

double *fl__frequencies(FlLedger *ledger, int32_t entity, FlTime now)
{
    const FlEntity *e = fl__entity(ledger, entity);
    const FlSendWeights *w = &e->send.weights;
    const double weight[3] = {w->accumulated, w->recent, w->waiting};
    double whole = weight[0] + weight[1] + weight[2];
    double *share = column(ledger, 0);
    double *need = column(ledger, 1);
    double budget = (double)e->watcher_count / e->send.every;
    bool fixed = e->send.form == FL_FORM_FIXED;
    for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
         r = fl__watcher_next(ledger, entity, r + 1)) {
        share[r] = fixed ? 1.0 / e->watcher_count : 0.0;
    }
    for (int32_t kind = 0; kind < 3 && !fixed; kind++) {
        if (weight[kind] <= 0.0) {
            continue;
        }
        for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
             r = fl__watcher_next(ledger, entity, r + 1)) {
            need[r] = need_of(ledger, entity, r, kind, now);
        }
        add_shares(ledger, entity, need, weight[kind] / whole, share);
    }
    for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
         r = fl__watcher_next(ledger, entity, r + 1)) {
        share[r] *= budget;
    }
    level_off(ledger, entity, fl__frequency_limit(e), share);
    return share;
}

double fl__frequency_limit(const FlEntity *e)
{
    double even = 1.0 / e->watcher_count;
    double cap = e->send.share_cap > even ? e->send.share_cap : even;
    double limit = cap * e->watcher_count / e->send.every;
    return limit < 1.0 && e->send.share_cap < 1.0 ? limit : 1.0;
}
