// Printing JSON: numbers that read back as they were, members in the order in which they were
// added.
#include "app/cli/json_output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/cli/command.h"
#include "lab/trace/number.h"

json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/// Where a number that ends before `end` may be written shorter. jansson writes 17 digits for all.
static char *shorten(const char *number, const char *end, char *to)
{
    char text[NUMBER_TEXT_BYTES];
    double value;
    size_t length = (size_t)(end - number);
    if (length < sizeof text) {
        memcpy(text, number, length);
        text[length] = '\0';
        if (memchr(text, '.', length) != NULL && number_read(text, &value)) { // integers stay
            number_text(value, text);
            size_t shorter = strlen(text);
            if (strpbrk(text, ".e") == NULL) { // a real stays one
                memcpy(text + shorter, ".0", sizeof ".0");
                shorter += 2;
            }
            FL_ASSERT(shorter <= length);
            length = shorter;
            number = text;
        }
    }
    memmove(to, number, length);
    return to + length;
}

char *json_text(const json_t *document, size_t flags)
{
    char *text = json_dumps(document, flags | JSON_REAL_PRECISION(17));
    bool quoted = false;
    char *to = text;
    for (const char *at = text; at != NULL && *at != '\0';) {
        size_t digits = quoted ? 0 : strspn(at, "0123456789.eE+-");
        if (digits > 0 && (*at == '-' || (*at >= '0' && *at <= '9'))) {
            to = shorten(at, at + digits, to);
            at += digits;
            continue;
        }
        quoted = *at == '"' ? !quoted : quoted;
        if (quoted && *at == '\\') {
            *to++ = *at++; // what is escaped ends nothing
        }
        *to++ = *at++;
    }
    if (text != NULL) {
        *to = '\0';
    }
    return text;
}

int json_print(json_t *document, const char *who)
{
    if (document == NULL) {
        return command_fail(EXIT_FAILED, who, "out of memory");
    }
    char *text = json_text(document, JSON_INDENT(1));
    json_decref(document);
    if (text == NULL) {
        return command_fail(EXIT_FAILED, who, "out of memory");
    }
    puts(text);
    free(text);
    return 0; // a failed write shows in main, when everything is flushed
}
