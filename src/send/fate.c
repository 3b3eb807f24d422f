// What becomes of updates: sent, arrived, lost; and whether a receiver's report can be true.
//
// A report is checked against what we know ourselves: nothing arrives before it was sent, nor after
// the report of it came, both within the bound on the receiver's clock; and an update has one fate.
// A report that fails has no effect at all. A receiver that delays all its traffic looks like a far
// one and passes: FlSend.share_cap bounds what that can win.
#include "private.h"

static bool is_waiting(const FlPair *pair, uint32_t serial)
{
    uint32_t back = pair->newest_sent - serial;
    return back < FL__UNDER_WAY && (pair->waiting >> back & 1u) != 0;
}

static void remember_flight(FlPair *pair, uint32_t serial, FlTime hold)
{
    FlTime steps = (hold + FL__HOLD_STEP_NS / 2) / FL__HOLD_STEP_NS;
    steps = steps < 0 ? 0 : steps > 0xffff ? 0xffff : steps;
    pair->flight[pair->flight_next] = (serial & 0xffffu) | (uint32_t)steps << 16;
    pair->flight_next = (uint8_t)((pair->flight_next + 1u) % FL__FLIGHTS);
}

void fl_ledger_sent(FlLedger *ledger, int32_t receiver, FlDue due, FlTime now)
{
    FlEntity *e = fl__entity(ledger, due.entity);
    if (!fl__watches(ledger, due.entity, receiver) || !fl__remembered(e, due.serial)) {
        return; // it ended between asking and sending
    }
    FlPair *pair = fl__pair(ledger, due.entity, receiver);
    bool older = (pair->flags & FL__OWES_OLDER) != 0;
    if (due.serial == e->newest || (older && !fl__after(pair->owed.serial, due.serial))) {
        *fl__due_word(ledger, due.entity, receiver) &= ~fl__bit(due.entity);
        pair->flags &= (uint8_t)~FL__OWES_OLDER;
    }
    if (fl__after(due.serial, pair->newest_sent)) {
        uint32_t ahead = due.serial - pair->newest_sent;
        pair->waiting = ahead < FL__UNDER_WAY ? pair->waiting << ahead : 0;
        pair->newest_sent = due.serial;
    }
    uint32_t back = pair->newest_sent - due.serial;
    if (back < FL__UNDER_WAY) {
        pair->waiting |= (uint64_t)1 << back;
    }
    FlTime made = fl__leap(ledger, due.entity, due.serial)->from;
    remember_flight(pair, due.serial, fl_span(now, made));
    pair->sent++;
    pair->last_sent = now;
    const FlPolicy *policy = fl__policy(e->send.policy);
    if (policy->sent != NULL) {
        policy->sent(ledger, due.entity, receiver, now);
    }
}

// The pair that waits for this update; NULL and counted if none does.
static FlPair *waiting_pair(FlLedger *ledger, int32_t receiver, FlDue due)
{
    const FlEntity *e = fl__entity(ledger, due.entity);
    FlPair *pair = fl__pair(ledger, due.entity, receiver);
    if (!e->live || !fl__watches(ledger, due.entity, receiver) || !is_waiting(pair, due.serial) ||
        !fl__remembered(e, due.serial)) {
        ledger->counts.stray++;
        return NULL;
    }
    return pair;
}

// As TCP averages round trips: an eighth of each new delay, a quarter of each new deviation.
static void learn_delay(FlReceiver *r, FlTime delay)
{
    double sample = delay > 0 ? (double)delay : 0.0;
    if (r->delay < 0.0) {
        r->delay = sample;
        r->deviation = 0.5 * sample;
        return;
    }
    // At least a picosecond: with a steady delay it would end in subnormal numbers, which cost 50
    // ns.
    double deviation = r->deviation + (fabs(sample - r->delay) - r->deviation) / 4.0;
    r->deviation = deviation > 1e-3 ? deviation : 1e-3;
    r->delay += (sample - r->delay) / 8.0;
}

void fl_ledger_arrived(FlLedger *ledger, int32_t receiver, FlDue due, FlTime sent, FlTime arrived,
                       FlTime now)
{
    FlPair *pair = waiting_pair(ledger, receiver, due);
    if (pair == NULL) {
        return;
    }
    FlReceiver *r = &ledger->receivers[receiver];
    if (fl_span(sent, arrived) > r->clock_error || fl_span(arrived, now) > r->clock_error) {
        r->contradictions++;
        return;
    }
    r->reports++;
    learn_delay(r, fl_span(arrived, sent));
    pair->waiting &= ~((uint64_t)1 << (pair->newest_sent - due.serial));
    pair->arrived++;
    FlTime made = fl__leap(ledger, due.entity, due.serial)->from;
    FlTime from = arrived > made ? arrived : made; // as fl_piece_placed
    int32_t number = fl__pair_number(ledger, due.entity, receiver);
    if (!fl__shown_add(ledger, due.entity, number, due.serial, from)) {
        r->late++;
    }
}

void fl_ledger_lost(FlLedger *ledger, int32_t receiver, FlDue due, FlTime now)
{
    FlPair *pair = waiting_pair(ledger, receiver, due);
    if (pair == NULL) {
        return;
    }
    pair->waiting &= ~((uint64_t)1 << (pair->newest_sent - due.serial));
    pair->lost++;
    // Nothing newer is on its way: without this the receiver would be wrong until the next trigger.
    if (due.serial == pair->newest_sent) {
        fl__owe(ledger, due.entity, receiver, now);
    }
}

void fl_ledger_clock_error(FlLedger *ledger, int32_t receiver, FlTime bound_ns)
{
    FL_ASSERT(receiver >= 0 && receiver < ledger->def.receiver_capacity && bound_ns >= 0);
    ledger->receivers[receiver].clock_error = bound_ns;
}

FlLedgerReceiver fl_ledger_receiver(const FlLedger *ledger, int32_t receiver)
{
    FL_ASSERT(receiver >= 0 && receiver < ledger->def.receiver_capacity);
    const FlReceiver *r = &ledger->receivers[receiver];
    FlLedgerReceiver answer = {
        .delay_ns = fl__delay(ledger, receiver),
        .deviation_ns = (FlTime)r->deviation,
        .reports = r->reports,
        .contradictions = r->contradictions,
        .late = r->late,
    };
    return answer;
}
