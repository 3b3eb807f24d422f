// Names and words of the result codes (both from the one table in base.h), and the assert's last
// words.
#include "fairlead/base.h"

#include <stdio.h>
#include <stdlib.h>

const char *fl_result_name(FlResult result)
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
    abort();
}
