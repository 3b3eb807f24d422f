// Schemes by name, or put together from their three choices.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/experiments/racing/racing.h"

/// Cuts off what follows the last `mark`; NULL if there is none.
static char *cut_at(char *text, char mark)
{
    char *at = strrchr(text, mark);
    if (at != NULL) {
        *at++ = '\0';
    }
    return at;
}

/// HOLD/PLACEMENT/CONVERGENCE
static bool parse_choices(char *text, FlShowDef *def)
{
    char *convergence = cut_at(text, '/');
    char *placement = cut_at(text, '/');
    *def = fl_show_def_racing();
    return placement != NULL && fl_hold_find(text, &def->hold) == FL_OK &&
           fl_placement_find(placement, &def->placement) == FL_OK &&
           fl_convergence_find(convergence, &def->convergence) == FL_OK;
}

bool race_scheme_parse(const char *text, RaceScheme *scheme)
{
    *scheme = (RaceScheme){.threshold = RACE_THRESHOLD};
    char word[sizeof scheme->name];
    if (strlen(text) >= sizeof word) {
        return false;
    }
    memcpy(scheme->name, text, strlen(text) + 1);
    memcpy(word, text, strlen(text) + 1);
    const char *threshold = cut_at(word, '@');
    if (threshold != NULL) {
        char *end;
        scheme->threshold = strtod(threshold, &end);
        if (*threshold == '\0' || *end != '\0' || !(scheme->threshold > 0.0) ||
            scheme->threshold > 100.0) {
            return false;
        }
    }
    size_t length = strlen(word);
    const char told[] = "/told";
    if (length > sizeof told - 1 && strcmp(word + length - (sizeof told - 1), told) == 0) {
        scheme->told = true;
        word[length - (sizeof told - 1)] = '\0';
    }
    scheme->told |= strcmp(word, fl_show_scheme_name(FL_SHOW_SCHEME_BEST)) == 0;
    return fl_show_scheme_find(word, &scheme->show) == FL_OK || parse_choices(word, &scheme->show);
}

LabStatus race_schemes_parse(const char *list, RaceScheme *schemes, int32_t *count, LabError *error)
{
    *count = 0;
    const char *at = list + strspn(list, ", ");
    while (*at != '\0') {
        char word[sizeof schemes->name] = {0};
        size_t length = strcspn(at, ", ");
        if (*count == RACE_SCHEMES) {
            return lab_fail(error, LAB_BAD_INPUT, "--schemes: at most %d", (int)RACE_SCHEMES);
        }
        if (length < sizeof word) {
            memcpy(word, at, length);
        }
        if (!race_scheme_parse(word, &schemes[*count])) {
            return lab_fail(error, LAB_BAD_INPUT,
                            "--schemes %.*s: not one of " RACE_ALL_SCHEMES
                            ", nor HOLD/PLACEMENT/CONVERGENCE",
                            (int)length, at);
        }
        (*count)++;
        at += length;
        at += strspn(at, ", ");
    }
    return *count > 0 ? LAB_OK : lab_fail(error, LAB_BAD_INPUT, "--schemes: there are none");
}
