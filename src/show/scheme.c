// Combinations of the three choices that have a name.
#include "private.h"

#include <string.h>

/// The fastest car that the settings are meant for.
#define RACING_SPEED_M_S 34.0

/// A picture may be faster than that by so much: half of what would be a visible jump (10 %), so
/// that clocks that run a little fast, and catching up with a car at top speed, do not make one.
#define RACING_HASTE (1.0 + 0.5 * 0.10)
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

// ---------------------------------------------------------------- by name

static const char *const hold_words[] = {
#define ROW(name, word) [FL_HOLD_##name] = word,
    FL_HOLD_TABLE(ROW)
#undef ROW
};

static const char *const placement_words[] = {
#define ROW(name, word) [FL_PLACEMENT_##name] = word,
    FL_PLACEMENT_TABLE(ROW)
#undef ROW
};

static const char *const convergence_words[] = {
#define ROW(name, word) [FL_CONVERGENCE_##name] = word,
    FL_CONVERGENCE_TABLE(ROW)
#undef ROW
};

/// The number of the word with which the text begins, followed by `end`, or -1; moves on behind it.
static int32_t take_choice(const char **text, const char *const *words, int32_t count, char end)
{
    for (int32_t i = 0; i < count; i++) {
        size_t length = strlen(words[i]);
        if (strncmp(words[i], *text, length) == 0 && (*text)[length] == end) {
            *text += length + 1;
            return i;
        }
    }
    return -1;
}

FlResult fl__show_parse(const char *text, FlShowDef *def)
{
    for (int32_t i = 0; i < FL_SHOW_SCHEME_COUNT; i++) {
        if (strcmp(schemes[i].name, text) == 0) {
            *def = fl_show_def_scheme((FlShowScheme)i);
            return FL_OK;
        }
    }
    int32_t hold = take_choice(&text, hold_words, FL_HOLD_COUNT, '/');
    int32_t placement = take_choice(&text, placement_words, FL_PLACEMENT_COUNT, '/');
    int32_t convergence = take_choice(&text, convergence_words, FL_CONVERGENCE_COUNT, '\0');
    if (hold < 0 || placement < 0 || convergence < 0) {
        *def = fl_show_def_default();
        return FL_NOT_FOUND;
    }
    *def = fl_show_def_scheme(FL_SHOW_SCHEME_BEST);
    def->hold = (FlHold)hold;
    def->placement = (FlPlacement)placement;
    def->convergence = (FlConvergence)convergence;
    return FL_OK;
}
