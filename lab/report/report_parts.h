// What the page about one run and the page that compares several share.
#ifndef LAB_REPORT_PARTS_H
#define LAB_REPORT_PARTS_H

#include "lab/report/report.h"

/// NULL: this program does not know it.
const Experiment *report_experiment(const json_t *document);

void report_begin(const char *title, Text *html);
void report_end(Text *html);

/// <tag>words</tag>, aligned left or right.
void report_cell(const char *tag, const char *words, bool left, Text *html);

/// A setting's value for people.
void report_value(const json_t *value, Text *words);

/// The charts that the experiment declares and that these rows have something for.
void report_charts(const Experiment *experiment, const json_t *rows, Text *html);

/// The page that compares several runs: report_compare.c.
void report_comparison(const ReportRun *runs, int32_t run_count, Text *html);

#endif
