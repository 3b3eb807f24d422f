// Schemes by name, or put together from their three choices.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/experiments/racing/racing.h"
#include "show/show.h"

/// Cuts off what follows the last `mark`; NULL if there is none.
static char *cut_at(char *text, char mark)
{
    char *at = strrchr(text, mark);
    if (at != NULL) {
        *at++ = '\0';
    }
    return at;
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
    const char sent[] = "/sent";
    if (length > sizeof sent - 1 && strcmp(word + length - (sizeof sent - 1), sent) == 0) {
        scheme->sent = true;
        word[length - (sizeof sent - 1)] = '\0';
    }
    scheme->sent |= strcmp(word, "best") == 0;
    return fl__show_parse(word, &scheme->show) == FL_OK;
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
