// What becomes of updates: sent, lost, and what is known of their receivers. Arrivals are in
// shown.c, with the path that they make.
#include "placed.h"
#include "policy.h"
#include "private.h"

static void remember_flight(FlPair *pair, uint32_t serial, FlTime hold)
{
    uint64_t half = FL__HOLD_STEP_NS / 2;
    uint64_t steps = hold > 0 ? ((uint64_t)hold + half) / FL__HOLD_STEP_NS : 0;
    steps = steps > 0xffff ? 0xffff : steps;
    uint8_t at = pair->flight_next;
    pair->flight[at] = (serial & 0xffffu) | (uint32_t)steps << 16;
    pair->flight_next = at + 1 < FL__FLIGHTS ? (uint8_t)(at + 1) : 0;
}

// For those who want to know.
FL__APART
static void note_sent(FlLedger *ledger, int32_t receiver, FlDue due, FlTime now)
{
    const FlPolicy *policy = fl__policy(fl__entity(ledger, due.entity)->send.policy);
    if (fl__keeps_history(ledger)) {
        fl__history_sent(ledger, fl__pair_number(ledger, due.entity, receiver), due.serial, now);
    }
    if (policy->sent != NULL) {
        policy->sent(ledger, due.entity, receiver, now);
    }
}

void fl_ledger_sent(FlLedger *ledger, int32_t receiver, FlDue due, FlTime now)
{
    FlEntity *e = fl__entity(ledger, due.entity);
    uint64_t *word = fl__due_word(ledger, due.entity, receiver);
    bool newest = due.serial == e->newest;
    bool is_due = (*word & fl__bit(due.entity)) != 0; // then it watches, and there is a newest
    if (!(is_due && newest) &&
        (!fl__watches(ledger, due.entity, receiver) || !fl__remembered(e, due.serial))) {
        return; // it ended between asking and sending
    }
    FlPair *pair = fl__pair(ledger, due.entity, receiver);
    bool older = (pair->flags & FL__OWES_OLDER) != 0;
    if (newest || (older && !fl__serial_newer(pair->owed.serial, due.serial))) {
        *word &= ~fl__bit(due.entity);
        pair->flags &= (uint8_t)~FL__OWES_OLDER;
    }
    if (fl__serial_newer(due.serial, pair->newest_sent)) {
        uint32_t ahead = due.serial - pair->newest_sent;
        pair->waiting = ahead < FL__UNDER_WAY ? pair->waiting << ahead : 0;
        pair->newest_sent = due.serial;
    }
    uint32_t back = pair->newest_sent - due.serial;
    if (back < FL__UNDER_WAY) {
        pair->waiting |= (uint64_t)1 << back;
    }
    FlTime made = fl__leap(e, due.serial)->from;
    remember_flight(pair, due.serial, fl_span(now, made));
    pair->sent++;
    pair->last_sent = now;
    if (fl__keeps_history(ledger) || fl__policy(e->send.policy)->sent != NULL) {
        note_sent(ledger, receiver, due, now);
    }
}

void fl_ledger_lost(FlLedger *ledger, int32_t receiver, FlDue due, FlTime now)
{
    FlPair *pair = fl__waiting_pair(ledger, fl__entity(ledger, due.entity), receiver, due);
    if (pair == NULL) {
        return;
    }
    pair->waiting &= ~((uint64_t)1 << (pair->newest_sent - due.serial));
    pair->lost++;
    // Nothing newer is on its way: without this the receiver would be wrong until the next trigger.
    if (due.serial == pair->newest_sent) {
        fl__mark_soon(ledger, due.entity, receiver, now);
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
