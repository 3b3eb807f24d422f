// What went to a receiver when, and when each arrived: kept where shots are judged by what was on
// the shooter's screen (module `rewind`).
//
// The placed path in shown.c is a staircase, and enough for errors: an update that a newer one
// overtook never counts. A screen that holds updates back shows overtaken ones, too, and smoothing
// depends on the ones before. So this keeps every update in the order in which it was sent, with
// its arrival. What is not reported as arrived, lost or not, has none.
//
// Layout: a ring per pair, all of one power of two. Nothing is there if the ledger keeps no
// history.
#include "private.h"

static FlLedgerSent *ring_of(const FlLedger *ledger, int32_t pair)
{
    return &ledger->history[(size_t)pair * (size_t)ledger->def.history_capacity];
}

static FlLedgerSent *sent_at(const FlLedger *ledger, int32_t pair, uint32_t number)
{
    return &ring_of(ledger, pair)[number & ((uint32_t)ledger->def.history_capacity - 1)];
}

static uint32_t remembered(const FlLedger *ledger, int32_t pair)
{
    uint32_t count = ledger->history_count[pair];
    uint32_t capacity = (uint32_t)ledger->def.history_capacity;
    return count < capacity ? count : capacity;
}

void fl__history_begin(FlLedger *ledger, int32_t pair)
{
    ledger->history_count[pair] = 0;
}

void fl__history_sent(FlLedger *ledger, int32_t pair, uint32_t serial, FlTime now)
{
    FlLedgerSent fresh = {now, FL_FOREVER, serial};
    *sent_at(ledger, pair, ledger->history_count[pair]++) = fresh;
}

#define STAMP_ROUNDING FL_MS(1) // what went out is stamped a little earlier than it was noted

// The same update may have gone out twice, the first one lost: the newest that was sent by then.
void fl__history_arrived(FlLedger *ledger, int32_t pair, uint32_t serial, FlTime sent,
                         FlTime arrived)
{
    uint32_t known = remembered(ledger, pair);
    for (uint32_t back = 1; back <= known; back++) {
        FlLedgerSent *entry = sent_at(ledger, pair, ledger->history_count[pair] - back);
        if (entry->serial == serial && entry->arrived == FL_FOREVER &&
            fl_span(entry->sent, sent) <= STAMP_ROUNDING) {
            entry->arrived = arrived;
            return;
        }
    }
}

int32_t fl__ledger_history(const FlLedger *ledger, int32_t entity, int32_t receiver,
                           FlLedgerSent *sent)
{
    int32_t pair = fl__pair_number(ledger, entity, receiver);
    bool kept = fl__keeps_history(ledger) && fl__watches(ledger, entity, receiver);
    uint32_t known = kept ? remembered(ledger, pair) : 0;
    for (uint32_t i = 0; i < known; i++) {
        sent[i] = *sent_at(ledger, pair, ledger->history_count[pair] - known + i);
    }
    return (int32_t)known;
}
