// Fields of definitions and their ranges, for problem.c.
#ifndef FAIRLEAD_BASE_RULES_H
#define FAIRLEAD_BASE_RULES_H

#include "fairlead/base.h"

#include <stddef.h>

typedef enum Fl__RuleKind {
    FL__RULE_WHOLE,
    FL__RULE_POWER, // of two
    FL__RULE_REAL,
    FL__RULE_ABOVE, // real, its lower end excluded
    FL__RULE_COOKIE,
} Fl__RuleKind;

/// A field of a definition and its range. Not a number is outside of every range.
typedef struct Fl__Rule {
    const char *field; // of a cookie: the function that sets it
    size_t at;
    Fl__RuleKind kind;
    size_t bytes;      // of whole numbers: 4 or 8, signed
    int64_t low, high; // of whole numbers; INT32_MAX and FL_FOREVER: no upper end
    double least, most;
} Fl__Rule;

#define FL__RULE_OF(Def, name, kind_, ...)                                                         \
    {                                                                                              \
        .field = #name, .at = offsetof(Def, name), .kind = kind_,                                  \
        .bytes = sizeof(((Def *)NULL)->name), __VA_ARGS__                                          \
    }
#define FL__WHOLE(Def, name, from, to)                                                             \
    FL__RULE_OF(Def, name, FL__RULE_WHOLE, .low = (from), .high = (to))
#define FL__POWER(Def, name, from, to)                                                             \
    FL__RULE_OF(Def, name, FL__RULE_POWER, .low = (from), .high = (to))
#define FL__REAL(Def, name, from, to)                                                              \
    FL__RULE_OF(Def, name, FL__RULE_REAL, .least = (from), .most = (to))
#define FL__ABOVE(Def, name, from, to)                                                             \
    FL__RULE_OF(Def, name, FL__RULE_ABOVE, .least = (from), .most = (to))
#define FL__COOKIE(Def, function, value)                                                           \
    {                                                                                              \
        .field = function, .at = offsetof(Def, cookie), .kind = FL__RULE_COOKIE, .bytes = 4,       \
        .low = (value)                                                                             \
    }

/// The first field that breaks its rule, in a sentence. Errors: FL_BAD_VALUE.
FlResult fl__def_problem(const void *def, const Fl__Rule *rules, size_t count, FlError *error);

/// For what concerns several fields: the sentence, if that is wrong and nothing was before.
FlResult fl__def_wrong(FlError *error, bool wrong, const char *sentence);

#endif
