// Combinations of the three choices that have a name.
#include "private.h"

#include <string.h>

/// The fastest car that the settings are meant for.
#define RACING_SPEED_M_S 34.0

/// A picture may be faster than that by so much: half of what would be a visible jump, so that
/// clocks that run a little fast, and catching up with a car at top speed, do not make one.
#define RACING_HASTE (1.0 + 0.5 * FL_JUMP_TOLERANCE)
#define RACING_CATCH_UP_M_S 1.0

/// A car that is further off than this is better put right at once.
#define RACING_SNAP_M 50.0

typedef struct Scheme {
    const char *name;
    FlHold hold;
    FlPlacement placement;
    FlConvergence convergence;
} Scheme;

static const Scheme schemes[] = {
#define ROW(name, word, hold, placement, convergence)                                              \
    [FL_SHOW_SCHEME_##                                                                             \
        name] = {word, FL_HOLD_##hold, FL_PLACEMENT_##placement, FL_CONVERGENCE_##convergence},
    FL_SHOW_SCHEME_TABLE(ROW)
#undef ROW
};

FlShowDef fl_show_def_scheme(FlShowScheme scheme)
{
    FL_ASSERT((int32_t)scheme >= 0 && scheme < FL_SHOW_SCHEME_COUNT);
    FlShowDef def = fl_show_def_default();
    def.hold = schemes[scheme].hold;
    def.placement = schemes[scheme].placement;
    def.convergence = schemes[scheme].convergence;
    def.speed_limit = RACING_HASTE * RACING_SPEED_M_S;
    def.catch_up = RACING_CATCH_UP_M_S;
    def.snap_distance = RACING_SNAP_M;
    return def;
}

FlShowDef fl_show_def_racing(void)
{
    return fl_show_def_scheme(FL_SHOW_SCHEME_BEST);
}

const char *fl_show_scheme_name(FlShowScheme scheme)
{
    FL_ASSERT((int32_t)scheme >= 0 && scheme < FL_SHOW_SCHEME_COUNT);
    return schemes[scheme].name;
}

FlResult fl_show_scheme_find(const char *name, FlShowDef *def)
{
    *def = fl_show_def_default();
    for (int32_t i = 0; i < FL_SHOW_SCHEME_COUNT; i++) {
        if (strcmp(schemes[i].name, name) == 0) {
            *def = fl_show_def_scheme((FlShowScheme)i);
            return FL_OK;
        }
    }
    return FL_NOT_FOUND;
}
