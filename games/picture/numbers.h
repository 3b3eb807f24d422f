// picture/numbers.h: arithmetic that the games share, the same bits with every compiler.
#ifndef PICTURE_NUMBERS_H
#define PICTURE_NUMBERS_H

#include "fairlead/base.h"

#include <string.h>

/// NaN stays NaN.
static inline double number_clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

static inline int32_t number_clamp_whole(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

static inline uint64_t number_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/// One word more in a hash.
static inline uint64_t number_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

#endif
