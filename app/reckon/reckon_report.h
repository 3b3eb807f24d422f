// How `fairlead trace reckon` tells its results: JSON for machines, a table for people.
#ifndef APP_RECKON_REPORT_H
#define APP_RECKON_REPORT_H

#include <jansson.h>

#include "app/cli/options.h"
#include "lab/trace/reckon.h"

/// What is reported on: a trace, and what was reckoned from it with which settings.
typedef struct ReckonReport {
    const char *path;
    const Trace *trace;
    const ReckonDef *def;
    const ReckonResult *result;
    const NumberList *delays_ms; ///< As asked for; the same order as def->delays_ns.
} ReckonReport;

/// The whole document. NULL: out of memory.
json_t *reckon_report_json(const ReckonReport *report);

/// One line per entity and delay, and the totals.
void reckon_report_print(const ReckonReport *report);

#endif
