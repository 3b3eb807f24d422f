// Addresses as plain values, for modules that must tell peers apart without touching the network.
#include "private.h"

bool fl_address_equal(FlAddress a, FlAddress b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

uint64_t fl__address_hash(FlAddress address)
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

// ---------------------------------------------------------------- indices by address

int32_t fl__addresses_size(int32_t count)
{
    int32_t size = 8;
    while (size < 2 * count) {
        size *= 2;
    }
    return size;
}

void fl__addresses_clear(Fl__Addresses *addresses)
{
    for (int32_t i = 0; i < addresses->size; i++) {
        addresses->places[i] = FL__NONE;
    }
}

static FlAddress address_at(const Fl__Addresses *addresses, int32_t index)
{
    FlAddress address;
    const char *first = (const char *)addresses->first;
    memcpy(&address, first + (size_t)index * addresses->stride, sizeof address);
    return address;
}

int32_t *fl__addresses_place(const Fl__Addresses *addresses, FlAddress address)
{
    int32_t mask = addresses->size - 1;
    int32_t at = (int32_t)(fl__address_hash(address) & (uint64_t)mask);
    while (addresses->places[at] != FL__NONE &&
           !fl_address_equal(address_at(addresses, addresses->places[at]), address)) {
        at = (at + 1) & mask;
    }
    return &addresses->places[at];
}
