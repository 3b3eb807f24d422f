// Reports: results of experiments as one page that needs nothing else.
//
// A report is made from results.json alone, so old runs can be told again and compared. Charts are
// those that the experiment declares; everything else is in the table.
#ifndef LAB_REPORT_H
#define LAB_REPORT_H

#include <time.h>

#include "lab/experiments/experiment.h"

/// One run.
typedef struct ReportRun {
    const char *name;       ///< What people know it by: its folder.
    const json_t *document; ///< results.json.
    const char *made;       ///< When, for people: "2030-01-31 12:00 UTC". Results do not say.
    const char *picture;    ///< SVG that the experiment drew itself; NULL or "": none.
} ReportRun;

#define REPORT_DATE_BYTES 32

/// A moment for people: "2030-01-31 12:00 UTC".
void report_date(time_t when, char text[REPORT_DATE_BYTES]);

/// What is wrong with a document, as words; NULL if it is an experiment's result.
const char *report_problem(const json_t *document);

/// A page about one run, or one that compares several. Documents must be free of problems.
void report_page(const ReportRun *runs, int32_t run_count, Text *html);

/// The command that repeats a run; experiments that this program does not know get none.
void report_command(const json_t *document, Text *words);

#endif
