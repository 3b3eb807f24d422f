// Private to module `wire`.
#ifndef FAIRLEAD_WIRE_PRIVATE_H
#define FAIRLEAD_WIRE_PRIVATE_H

#include "fairlead/wire.h"

#include "wire/wire.h"

/// The nearest integer, half way: away from zero. Exact, for |x| below 2^52. (Adding 0.5 and
/// cutting off is not: it takes 0.49999999999999994 for 1.)
static inline int64_t fl__round_away(double x)
{
    int64_t whole = (int64_t)x;
    double rest = x - (double)whole;
    return whole + (rest >= 0.5) - (rest <= -0.5);
}

/// How many steps make 1 in the parts of a rotation: the most for which a part, at most 1/sqrt(2),
/// fits in `part_width` bits with its sign.
static inline int64_t fl__rotation_scale(int32_t part_width)
{
    return (int64_t)sqrt((double)((int64_t)1 << (2 * part_width - 1)));
}

#endif
