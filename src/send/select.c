// The most urgent pairs that a number of bytes pays for.
//
// Keys are whole numbers, the higher the more urgent. The lowest that still goes is found digit by
// digit, the highest first: the bytes asked for under each digit are summed, and the sums walked
// down until the bytes are spent. Four passes over the keys, no list of candidates, no sorting.
// Digits are short: where pairs are few, walking the sums of longer ones costs more than a pass.
// Among equal keys the first in order of entity and receiver go.
#include "policy.h"
#include "private.h"

#define DIGIT_BITS 8
#define DIGITS (1 << DIGIT_BITS)
#define TOP_SHIFT 24 // of the first of four digits

bool fl__pair_next(const FlLedger *ledger, FlSendPolicy policy, int32_t *entity, int32_t *receiver)
{
    for (; *entity < ledger->def.entity_capacity; (*entity)++) {
        const FlEntity *e = &ledger->entities[*entity];
        if (e->live && e->send.policy == policy) {
            *receiver = fl__watcher_next(ledger, *entity, *receiver + 1);
            if (*receiver >= 0) {
                return true;
            }
        }
        *receiver = -1;
    }
    return false;
}

double fl__update_cost(const FlLedger *ledger, int32_t entity)
{
    return fl__entity(ledger, entity)->update_bytes + ledger->focus.header_bytes;
}

// Bytes asked for under each digit, by keys that begin with `prefix`.
static void sum_digits(const FlLedger *ledger, FlSendPolicy policy, uint32_t prefix, int32_t shift,
                       double sums[DIGITS])
{
    memset(sums, 0, DIGITS * sizeof sums[0]);
    int32_t e = 0;
    int32_t r = -1;
    while (fl__pair_next(ledger, policy, &e, &r)) {
        uint32_t key = ledger->keys[fl__pair_number(ledger, e, r)];
        bool begins = (uint64_t)key >> (shift + DIGIT_BITS) == prefix;
        if (key != 0 && begins) {
            sums[key >> shift & (DIGITS - 1)] += fl__update_cost(ledger, e);
        }
    }
}

// The lowest key that goes, and in *left what is left for those that have just this one.
static uint32_t lowest_paid(const FlLedger *ledger, FlSendPolicy policy, double bytes, double *left)
{
    double sums[DIGITS];
    uint32_t prefix = 0;
    *left = bytes;
    for (int32_t shift = TOP_SHIFT; shift >= 0; shift -= DIGIT_BITS) {
        sum_digits(ledger, policy, prefix, shift, sums);
        int32_t digit = DIGITS - 1;
        while (digit > 0 && sums[digit] <= *left) {
            *left -= sums[digit--];
        }
        prefix = prefix << DIGIT_BITS | (uint32_t)digit;
    }
    return prefix;
}

double fl__select(FlLedger *ledger, FlSendPolicy policy, double bytes)
{
    double left;
    double spent = 0.0;
    uint32_t lowest = lowest_paid(ledger, policy, bytes, &left);
    int32_t e = 0;
    int32_t r = -1;
    while (fl__pair_next(ledger, policy, &e, &r)) {
        uint32_t key = ledger->keys[fl__pair_number(ledger, e, r)];
        double cost = fl__update_cost(ledger, e);
        bool last = key == lowest && cost <= left;
        if (key == 0 || !(key > lowest || last)) {
            continue;
        }
        left -= last ? cost : 0.0;
        spent += cost;
        fl__mark(ledger, e, r);
    }
    return spent;
}
