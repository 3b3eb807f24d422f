// The words of the three choices, for settings files and experiments.
#include "private.h"

#include <string.h>

static const char *const hold_names[] = {
#define ROW(name, word) [FL_HOLD_##name] = word,
    FL_HOLD_TABLE(ROW)
#undef ROW
};

static const char *const placement_names[] = {
#define ROW(name, word) [FL_PLACEMENT_##name] = word,
    FL_PLACEMENT_TABLE(ROW)
#undef ROW
};

static const char *const convergence_names[] = {
#define ROW(name, word) [FL_CONVERGENCE_##name] = word,
    FL_CONVERGENCE_TABLE(ROW)
#undef ROW
};

const char *fl_hold_name(FlHold hold)
{
    FL_ASSERT((int32_t)hold >= 0 && hold < FL_HOLD_COUNT);
    return hold_names[hold];
}

const char *fl_placement_name(FlPlacement placement)
{
    FL_ASSERT((int32_t)placement >= 0 && placement < FL_PLACEMENT_COUNT);
    return placement_names[placement];
}

const char *fl_convergence_name(FlConvergence convergence)
{
    FL_ASSERT((int32_t)convergence >= 0 && convergence < FL_CONVERGENCE_COUNT);
    return convergence_names[convergence];
}

static int32_t find(const char *const *names, int32_t count, const char *name)
{
    int32_t i = 0;
    while (i < count && strcmp(names[i], name) != 0) {
        i++;
    }
    return i;
}

FlResult fl_hold_find(const char *name, FlHold *hold)
{
    int32_t i = find(hold_names, FL_HOLD_COUNT, name);
    *hold = i < FL_HOLD_COUNT ? (FlHold)i : FL_HOLD_AT_ONCE;
    return i < FL_HOLD_COUNT ? FL_OK : FL_NOT_FOUND;
}

FlResult fl_placement_find(const char *name, FlPlacement *placement)
{
    int32_t i = find(placement_names, FL_PLACEMENT_COUNT, name);
    *placement = i < FL_PLACEMENT_COUNT ? (FlPlacement)i : FL_PLACEMENT_TIMESTAMPED;
    return i < FL_PLACEMENT_COUNT ? FL_OK : FL_NOT_FOUND;
}

FlResult fl_convergence_find(const char *name, FlConvergence *convergence)
{
    int32_t i = find(convergence_names, FL_CONVERGENCE_COUNT, name);
    *convergence = i < FL_CONVERGENCE_COUNT ? (FlConvergence)i : FL_CONVERGENCE_AT_ONCE;
    return i < FL_CONVERGENCE_COUNT ? FL_OK : FL_NOT_FOUND;
}
