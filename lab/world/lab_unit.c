// Units of experiments, played here or elsewhere.
#include "lab/world/lab_unit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

LabUnit lab_unit_of(void *figures, size_t bytes, double seconds, const char *name, ...)
{
    LabUnit unit = {.seconds = seconds, .figures = figures, .figures_bytes = bytes};
    va_list arguments;
    va_start(arguments, name);
    int length = vsnprintf(unit.name, sizeof unit.name, name, arguments);
    va_end(arguments);
    FL_ASSERT(length > 0 && length < LAB_UNIT_NAME_BYTES);
    return unit;
}

bool lab_units_missing(const LabUnits *units)
{
    return units != NULL && units->missing;
}

static void put_prefix(const LabUnits *units, const LabUnit *unit, LabUnit *named)
{
    *named = *unit;
    if (units->prefix != NULL) {
        int length =
            snprintf(named->name, sizeof named->name, "%.32s/%.60s", units->prefix, unit->name);
        FL_ASSERT(length > 0 && length < LAB_UNIT_NAME_BYTES);
    }
}

LabStatus lab_unit(LabUnits *units, const LabUnit *unit, LabUnitFn play_fn, const void *def,
                   LabError *error)
{
    memset(unit->figures, 0, unit->figures_bytes);
    if (units == NULL) {
        return play_fn(def, unit->figures, unit->text, error);
    }
    LabUnit named;
    Text text = {0};
    LabStatus status = LAB_OK;
    put_prefix(units, unit, &named);
    named.text = unit->text != NULL ? &text : NULL;
    switch (units->ask_fn(units->ctx, &named, &status, error)) {
    case LAB_UNIT_PLAY:
        status = play_fn(def, unit->figures, named.text, error);
        status = units->keep_fn(units->ctx, &named, status, error);
        break;
    case LAB_UNIT_KNOWN:
        break;
    case LAB_UNIT_ELSEWHERE:
        units->missing = true;
        break;
    }
    if (text.failed && status == LAB_OK) {
        status = lab_fail(error, LAB_FAILED, "out of memory");
    }
    if (text.count > 0 && status == LAB_OK) {
        text_add(unit->text, "%s", text_of(&text));
    }
    text_free(&text);
    return status;
}
