// Printing JSON: numbers with all their digits, members in the order in which they were added.
#include "app/json_output.h"

#include <math.h>
#include <stdio.h>

#include "app/command.h"

json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

int json_print(json_t *document, const char *who)
{
    if (document == NULL) {
        return command_fail(EXIT_FAILED, who, "out of memory");
    }
    json_dumpf(document, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    putchar('\n');
    json_decref(document);
    return 0; // a failed write shows in main, when everything is flushed
}
