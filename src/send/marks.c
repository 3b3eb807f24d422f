// What every policy may ask and do: who watches, what was exported, what is owed, and when to be
// asked again. Nothing here knows a policy.
#include "policy.h"
#include "private.h"

void fl__mark(FlLedger *ledger, int32_t entity, int32_t receiver)
{
    *fl__due_word(ledger, entity, receiver) |= fl__bit(entity);
    fl__pair(ledger, entity, receiver)->flags &= (uint8_t)~FL__OWES_OLDER;
}

void fl__mark_older(FlLedger *ledger, int32_t entity, int32_t receiver, uint32_t serial)
{
    FlPair *pair = fl__pair(ledger, entity, receiver);
    *fl__due_word(ledger, entity, receiver) |= fl__bit(entity);
    pair->flags |= FL__OWES_OLDER;
    pair->owed.serial = serial;
}

void fl__ask_at(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime time)
{
    fl__schedule_set(&ledger->schedule, fl__pair_number(ledger, entity, receiver), time);
}

int32_t fl__watcher_next(const FlLedger *ledger, int32_t entity, int32_t from)
{
    const uint64_t *words = &ledger->watching[entity * ledger->receiver_words];
    return fl__bit_next(words, ledger->receiver_words, from);
}

bool fl__ledger_watches(const FlLedger *ledger, int32_t entity, int32_t receiver)
{
    FL_ASSERT(entity >= 0 && entity < ledger->def.entity_capacity);
    FL_ASSERT(receiver >= 0 && receiver < ledger->def.receiver_capacity);
    return fl__watches(ledger, entity, receiver);
}

const FlPiece *fl_ledger_exported(const FlLedger *ledger, int32_t entity, uint32_t serial)
{
    const FlEntity *e = fl__entity(ledger, entity);
    return fl__remembered(e, serial) ? fl__piece(e, serial) : NULL;
}
