// What is wrong with a definition: each module has a table of its fields and their ranges, and this
// is what reads them all. The sentence names the field, its value and its range.
#include "private.h"

#include <inttypes.h>
#include <string.h>

static bool real_in(FlError *error, const Fl__Rule *rule, double value)
{
    bool above = rule->kind == FL__RULE_ABOVE;
    bool good = (above ? value > rule->least : value >= rule->least) && value <= rule->most;
    if (!good && isinf(rule->most)) {
        fl__error_set(error, FL_BAD_VALUE, "%s is %g: it must be %s %g.", rule->field, value,
                      above ? "above" : "at least", rule->least);
    } else if (!good) {
        fl__error_set(error, FL_BAD_VALUE, "%s is %g: it must be %s%g to %g.", rule->field, value,
                      above ? "above " : "", rule->least, rule->most);
    }
    return good;
}

static bool power_in(FlError *error, const Fl__Rule *rule, int64_t value)
{
    bool good = value >= rule->low && value <= rule->high && (value & (value - 1)) == 0;
    if (!good) {
        fl__error_set(error, FL_BAD_VALUE,
                      "%s is %" PRId64 ": it must be a power of two from %" PRId64 " to %" PRId64
                      ".",
                      rule->field, value, rule->low, rule->high);
    }
    return good;
}

static int64_t whole_at(const Fl__Rule *rule, const void *at)
{
    int32_t short_one = 0;
    int64_t long_one = 0;
    if (rule->bytes == sizeof short_one) {
        memcpy(&short_one, at, sizeof short_one);
        return short_one;
    }
    memcpy(&long_one, at, sizeof long_one);
    return long_one;
}

static bool cookie_is(FlError *error, const Fl__Rule *rule, int64_t value)
{
    bool good = (uint32_t)value == (uint32_t)rule->low;
    if (!good) {
        fl__error_set(error, FL_BAD_VALUE,
                      "cookie is %" PRIu32 ": begin with %s(), then change fields.",
                      (uint32_t)value, rule->field);
    }
    return good;
}

static bool rule_holds(FlError *error, const Fl__Rule *rule, const void *def)
{
    const void *at = (const uint8_t *)def + rule->at;
    double real = 0.0;
    switch (rule->kind) {
    case FL__RULE_REAL:
    case FL__RULE_ABOVE:
        memcpy(&real, at, sizeof real);
        return real_in(error, rule, real);
    case FL__RULE_POWER:
        return power_in(error, rule, whole_at(rule, at));
    case FL__RULE_COOKIE:
        return cookie_is(error, rule, whole_at(rule, at));
    case FL__RULE_WHOLE:
        break;
    }
    return fl__whole_in(error, rule->field, whole_at(rule, at), rule->low, rule->high);
}

FlResult fl__def_problem(const void *def, const Fl__Rule *rules, size_t count, FlError *error)
{
    fl__error_clear(error);
    for (size_t i = 0; i < count; i++) {
        if (!rule_holds(error, &rules[i], def)) {
            return error->code;
        }
    }
    return FL_OK;
}

FlResult fl__def_wrong(FlError *error, bool wrong, const char *sentence)
{
    if (error->code == FL_OK && wrong) {
        fl__error_set(error, FL_BAD_VALUE, "%s", sentence);
    }
    return error->code;
}
