// base: every update to everybody, at once, or every k-th. The papers' yardstick.
#include "policy.h"
#include "private.h"

void fl__base_trigger(FlLedger *ledger, int32_t entity, FlTime now)
{
    (void)now;
    const FlEntity *e = fl__entity(ledger, entity);
    if (e->trigger % (uint32_t)e->send.every != 0) {
        return;
    }
    // By words: with 128 receivers this loop is the relay's share of an export.
    const uint64_t *watching = &ledger->watching[entity * ledger->receiver_words];
    uint64_t *due = fl__due_word(ledger, entity, 0);
    uint64_t bit = fl__bit(entity);
    for (int32_t w = 0; w < ledger->receiver_words; w++) {
        uint64_t word = watching[w];
        int32_t base = w * 64;
        while (word != 0) {
            due[base + fl__bit_lowest(word)] |= bit;
            word &= word - 1;
        }
    }
}
