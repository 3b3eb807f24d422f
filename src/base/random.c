// Counter-based random numbers: Philox 4x32-10 of Salmon, Moraes, Dror and Shaw ("Parallel random
// numbers: as easy as 1, 2, 3", 2011).
//
// Why counter-based: two policies that draw different amounts must still meet the same network.
// With a counter the n-th draw of a stream is a function of (seed, stream, n); no other draw can
// shift anybody's luck.
//
// The 128-bit counter is (index / 2, stream), the 64-bit key the seed. One block gives two draws.
#include "fairlead/base.h"

#include "base/maths.h"
#include "base/private.h"

typedef struct Block {
    uint32_t word[4];
} Block;

static Block philox(uint64_t seed, uint64_t stream, uint64_t counter)
{
    uint32_t key0 = (uint32_t)seed;
    uint32_t key1 = (uint32_t)(seed >> 32);
    uint32_t c0 = (uint32_t)counter;
    uint32_t c1 = (uint32_t)(counter >> 32);
    uint32_t c2 = (uint32_t)stream;
    uint32_t c3 = (uint32_t)(stream >> 32);
    for (int32_t round = 0; round < 10; round++) {
        uint64_t product0 = (uint64_t)0xD2511F53u * c0;
        uint64_t product1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(product1 >> 32) ^ c1 ^ key0;
        c2 = (uint32_t)(product0 >> 32) ^ c3 ^ key1;
        c1 = (uint32_t)product1;
        c3 = (uint32_t)product0;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    Block block = {{c0, c1, c2, c3}};
    return block;
}

uint64_t fl_random_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    Block block = philox(seed, stream, index >> 1);
    size_t half = (size_t)(index & 1u) * 2;
    return (uint64_t)block.word[half] | (uint64_t)block.word[half + 1] << 32;
}

uint64_t fl_random_next(FlRandom *random)
{
    return fl_random_at(random->seed, random->stream, random->index++);
}

double fl__random_unit(FlRandom *random)
{
    return (double)(fl_random_next(random) >> 11) * (1.0 / 9007199254740992.0);
}

double fl_random_between(FlRandom *random, double low, double high)
{
    double draw = low + (high - low) * fl__random_unit(random);
    return draw < high ? draw : nextafter(high, low); // the sum may round up to high
}

uint64_t fl_random_below(FlRandom *random, uint64_t bound)
{
    if (bound < 2) {
        return 0;
    }
    // Refuse the incomplete last group of `bound` values, so that every remainder is equally
    // likely.
    uint64_t excess = (UINT64_MAX % bound + 1) % bound;
    uint64_t draw = fl_random_next(random);
    while (draw > UINT64_MAX - excess) {
        draw = fl_random_next(random);
    }
    return draw % bound;
}

double fl_random_normal(FlRandom *random)
{
    // Box and Muller. One minus the unit draw lies in (0, 1], so the logarithm is finite.
    double radius = sqrt(-2.0 * fl__log(1.0 - fl__random_unit(random)));
    return radius * fl__cos(2.0 * FL_PI * fl__random_unit(random));
}
