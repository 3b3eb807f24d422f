// Names and words of the result codes (both from the one table in base.h), the assert's last words,
// and sentences on what is wrong with a definition.
#include "private.h"

#include "base/private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *fl__result_name(FlResult result)
{
    switch (result) {
#define ROW(name, value, text)                                                                     \
    case FL_##name:                                                                                \
        return #name;
        FL_RESULT_TABLE(ROW)
#undef ROW
    }
    return "UNKNOWN";
}

const char *fl_result_text(FlResult result)
{
    switch (result) {
#define ROW(name, value, text)                                                                     \
    case FL_##name:                                                                                \
        return text;
        FL_RESULT_TABLE(ROW)
#undef ROW
    }
    return "not a result of this library";
}

void fl_assert_failed(const char *expression, const char *file, int line)
{
    fprintf(stderr, "fairlead: %s:%d: broken: %s\n", file, line, expression);
    if (strstr(expression, "cookie") != NULL) { // the commonest mistake, and the text would not say
        fputs("Begin every definition with its fl_..._def_default(), then change fields.\n",
              stderr);
    }
    abort();
}

void fl__format_list(char *out, size_t room, const char *format, va_list values)
{
    if (vsnprintf(out, room, format, values) < 0) {
        out[0] = '\0';
    }
}

// ---------------------------------------------------------------- what is wrong with a definition

void fl__error_set(FlError *error, FlResult code, const char *format, ...)
{
    error->code = code;
    va_list values;
    va_start(values, format);
    fl__format_list(error->text, sizeof error->text, format, values);
    va_end(values);
}

bool fl__whole_in(FlError *error, const char *field, int64_t value, int64_t low, int64_t high)
{
    bool good = value >= low && value <= high;
    if (!good && (high == INT32_MAX || high == FL_FOREVER)) { // no upper end
        fl__error_set(error, FL_BAD_VALUE, "%s is %" PRId64 ": it must be at least %" PRId64 ".",
                      field, value, low);
    } else if (!good) {
        fl__error_set(error, FL_BAD_VALUE,
                      "%s is %" PRId64 ": it must be %" PRId64 " to %" PRId64 ".", field, value,
                      low, high);
    }
    return good;
}

bool fl__power_up_to(FlError *error, const char *field, int32_t value, int32_t high)
{
    bool good = fl__is_power_of_two(value) && value <= high;
    if (!good) {
        fl__error_set(error, FL_BAD_VALUE, "%s is %d: it must be a power of two up to %d.", field,
                      value, high);
    }
    return good;
}
