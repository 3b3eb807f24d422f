// Real numbers as step indices, angles as points of a circle.
//
// Why doubles divide here instead of multiplying by an inverse: the quotient is correctly rounded,
// so spec/WIRE.md can say which index a value has without saying how it is computed.
#include "private.h"

bool fl__quantise(const FlQuantiser *quantiser, double value, uint32_t *index)
{
    *index = 0;
    double steps = (value - quantiser->origin) / quantiser->step;
    if (!(fabs(steps) < 4294967296.5)) { // NaN as well
        return false;
    }
    uint64_t found = (uint64_t)((int64_t)quantiser->zero + fl__round_away(steps));
    if (found > quantiser->last) { // below 0, it is far above
        return false;
    }
    *index = (uint32_t)found;
    return true;
}

// A power of two of steps: no bit pattern is left over to reject, and half a turn is exactly pi.
static double circle_step(int32_t width)
{
    FL_ASSERT(width >= 1 && width <= 30);
    return 2.0 * FL_PI / (double)((uint32_t)1 << width);
}

uint32_t fl_circle_index(double angle, int32_t width)
{
    FL_ASSERT(isfinite(angle));
    int64_t steps = fl__round_away(fl_angle_wrap(angle) / circle_step(width));
    return (uint32_t)steps & (((uint32_t)1 << width) - 1u);
}

double fl_circle_angle(uint32_t index, int32_t width)
{
    double step = circle_step(width);
    int64_t whole = (int64_t)1 << width;
    FL_ASSERT((int64_t)index < whole);
    int64_t steps = (int64_t)index > whole / 2 ? (int64_t)index - whole : (int64_t)index;
    return (double)steps * step;
}
