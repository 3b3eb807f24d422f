// Addresses as plain values, for rooms that must tell peers apart without touching the network.
#include "fairlead/base.h"

#include <string.h>

bool fl_address_equal(FlAddress a, FlAddress b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

uint64_t fl_address_hash(FlAddress address)
{
    uint64_t words[3];
    _Static_assert(sizeof words == sizeof address, "an address is three words without padding");
    memcpy(words, &address, sizeof words);
    uint64_t hash = UINT64_C(0x9E3779B97F4A7C15);
    for (int32_t i = 0; i < 3; i++) { // the finaliser of SplitMix64, chained
        hash ^= words[i];
        hash = (hash ^ (hash >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        hash = (hash ^ (hash >> 27)) * UINT64_C(0x94D049BB133111EB);
        hash ^= hash >> 31;
    }
    return hash;
}
