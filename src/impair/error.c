// Reasons in words. The offending text comes from a stranger's file: it is cut short, and what is
// not printable ASCII shows as '?', so that a message stays one line on any terminal.
#include "private.h"

#include <string.h>

#define SHOWN_BYTES 24

// Appends while there is room; always leaves a zero byte at the end.
static void append(FlImpairError *error, size_t *used, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes && *used + 1 < sizeof error->text; i++) {
        bool printable = text[i] >= ' ' && text[i] <= '~';
        error->text[(*used)++] = printable ? text[i] : '?';
    }
    error->text[*used] = '\0';
}

FlResult fl__impair_wrong_about(FlImpairError *error, const char *before, Words about,
                                const char *after)
{
    if (error != NULL) {
        size_t used = 0;
        append(error, &used, before, strlen(before));
        append(error, &used, about.text, about.bytes < SHOWN_BYTES ? about.bytes : SHOWN_BYTES);
        append(error, &used, after, strlen(after));
    }
    return FL_BAD_VALUE;
}

FlResult fl__impair_wrong(FlImpairError *error, const char *reason)
{
    return fl__impair_wrong_about(error, reason, (Words){reason, 0}, "");
}
