// The page that compares several runs: where their settings differ, and their rows side by side.
//
// Rows belong together if they agree in what was varied: their texts, and the fields that charts
// put on the horizontal axis or tell series apart by. Runs of different experiments stand below
// each other.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/report/report_parts.h"

enum { GROUP_CAPACITY = 64 };

// ---------------------------------------------------------------- settings

static bool same_everywhere(const ReportRun *runs, const int32_t *group, int32_t count,
                            const char *field)
{
    const json_t *first =
        json_object_get(json_object_get(runs[group[0]].document, "config"), field);
    for (int32_t i = 1; i < count; i++) {
        const json_t *config = json_object_get(runs[group[i]].document, "config");
        const json_t *value = json_object_get(config, field);
        if (first == NULL || value == NULL ? first != value : !json_equal(first, value)) {
            return false;
        }
    }
    return true;
}

/// Has no run before it such a setting?
static bool is_first(const ReportRun *runs, const int32_t *group, int32_t which, const char *field)
{
    bool first = true;
    for (int32_t i = 0; i < which && first; i++) {
        first = json_object_get(json_object_get(runs[group[i]].document, "config"), field) == NULL;
    }
    return first;
}

/// What a run says of a setting, or of itself.
static void setting_text(const ReportRun *run, const char *field, Text *words)
{
    if (strcmp(field, "date") == 0) {
        text_add(words, "%s", run->made);
        return;
    }
    bool itself = strcmp(field, "seed") == 0 || strcmp(field, "version") == 0;
    const json_t *where = itself ? run->document : json_object_get(run->document, "config");
    report_value(json_object_get(where, field), words);
}

static void add_setting_row(const ReportRun *runs, const int32_t *group, int32_t count,
                            const char *field, Text *html)
{
    text_add(html, "<tr>");
    report_cell("td", field, true, html);
    for (int32_t i = 0; i < count; i++) {
        Text words = {0};
        setting_text(&runs[group[i]], field, &words);
        report_cell("td", text_of(&words), false, html);
        text_free(&words);
    }
    text_add(html, "</tr>\n");
}

static void add_run_names(const ReportRun *runs, const int32_t *group, int32_t count, Text *html)
{
    for (int32_t i = 0; i < count; i++) {
        report_cell("th", runs[group[i]].name, false, html);
    }
}

static void add_settings(const ReportRun *runs, const int32_t *group, int32_t count, Text *html)
{
    text_add(html, "<h3>Where they differ</h3>\n<div class=\"wide\"><table><thead><tr>");
    report_cell("th", "setting", true, html);
    add_run_names(runs, group, count, html);
    text_add(html, "</tr></thead><tbody>\n");
    add_setting_row(runs, group, count, "version", html);
    add_setting_row(runs, group, count, "date", html);
    add_setting_row(runs, group, count, "seed", html);
    for (int32_t i = 0; i < count; i++) {
        const char *field;
        json_t *value;
        json_t *config = json_object_get(runs[group[i]].document, "config");
        json_object_foreach(config, field, value)
        {
            if (!same_everywhere(runs, group, count, field) && is_first(runs, group, i, field)) {
                add_setting_row(runs, group, count, field, html);
            }
        }
    }
    text_add(html, "</tbody></table></div>\n");
}

// ---------------------------------------------------------------- rows side by side

static bool named_in(const char *where, const char *field)
{
    size_t length = strlen(field);
    for (const char *at = where; at != NULL; at = strchr(at, ',')) {
        at += *at == ',' ? 1 : 0;
        if (strncmp(at, field, length) == 0 && at[length] == '=') {
            return true;
        }
    }
    return false;
}

static bool is_varied(const Experiment *experiment, const Column *column)
{
    bool varied = column->decimals < 0;
    for (int32_t i = 0; i < experiment->chart_count && !varied; i++) {
        const ChartSpec *spec = &experiment->charts[i];
        varied = strcmp(spec->x, column->field) == 0 || named_in(spec->where, column->field) ||
                 (spec->series != NULL && strcmp(spec->series, column->field) == 0);
    }
    return varied;
}

static bool rows_belong(const Experiment *experiment, const json_t *a, const json_t *b)
{
    for (int32_t c = 0; c < experiment->column_count; c++) {
        const Column *column = &experiment->columns[c];
        char one[LAB_CELL_BYTES];
        char other[LAB_CELL_BYTES];
        experiment_cell(a, column, one);
        experiment_cell(b, column, other);
        if (is_varied(experiment, column) && strcmp(one, other) != 0) {
            return false;
        }
    }
    return true;
}

/// How many rows like this one stand before row `end` of a run.
static int32_t count_like(const Experiment *experiment, const json_t *document, const json_t *row,
                          size_t end)
{
    const json_t *rows = json_object_get(document, "rows");
    int32_t count = 0;
    for (size_t r = 0; r < end && r < json_array_size(rows); r++) {
        count += rows_belong(experiment, row, json_array_get(rows, r)) ? 1 : 0;
    }
    return count;
}

/// The row like this one that `before` others like it precede. NULL: the run has none.
static const json_t *row_like(const Experiment *experiment, const json_t *document,
                              const json_t *row, int32_t before)
{
    const json_t *rows = json_object_get(document, "rows");
    for (size_t r = 0; r < json_array_size(rows); r++) {
        const json_t *found = json_array_get(rows, r);
        if (rows_belong(experiment, row, found) && before-- == 0) {
            return found;
        }
    }
    return NULL;
}

static void add_change(double from, double to, Text *html)
{
    if (from != 0.0 && isfinite(to / from)) {
        text_add(html, " <span class=\"quiet\">%+.1f %%</span>", 100.0 * (to / from - 1.0));
    }
}

/// Rows that belong together, one of each run that has one.
typedef struct RowSet {
    const json_t *rows[GROUP_CAPACITY]; ///< By the run's place in the group; NULL: it has none.
    const json_t *any;                  ///< One of them.
} RowSet;

/// One figure in all runs, each below the other, with its change against the first that has it.
static void add_figures(const Column *column, const RowSet *set, int32_t count, Text *html)
{
    const json_t *first = NULL;
    text_add(html, "<td>");
    for (int32_t i = 0; i < count; i++) {
        char cell[LAB_CELL_BYTES] = "-";
        const json_t *value = json_object_get(set->rows[i], column->field);
        if (set->rows[i] != NULL) {
            experiment_cell(set->rows[i], column, cell);
        }
        text_add(html, i > 0 ? "<br>" : "");
        text_add_escaped(html, cell);
        if (first != NULL && json_is_number(value)) {
            add_change(json_number_value(first), json_number_value(value), html);
        }
        first = first == NULL && json_is_number(value) ? value : first;
    }
    text_add(html, "</td>");
}

static void add_row(const Experiment *experiment, int32_t columns, const RowSet *set, int32_t count,
                    Text *html)
{
    text_add(html, "<tr>");
    for (int32_t c = 0; c < columns; c++) {
        const Column *column = &experiment->columns[c];
        if (is_varied(experiment, column)) {
            char cell[LAB_CELL_BYTES];
            experiment_cell(set->any, column, cell);
            report_cell("td", cell, true, html);
        } else {
            add_figures(column, set, count, html);
        }
    }
    text_add(html, "</tr>\n");
}

/// Row `r` of one run, with those of later runs that belong to it. False: an earlier run has it.
static bool row_set(const Experiment *experiment, const ReportRun *runs, const int32_t *group,
                    int32_t count, int32_t run, size_t r, RowSet *set)
{
    const json_t *document = runs[group[run]].document;
    const json_t *row = json_array_get(json_object_get(document, "rows"), r);
    int32_t before = count_like(experiment, document, row, r);
    *set = (RowSet){.any = row};
    for (int32_t i = 0; i < count; i++) {
        set->rows[i] = row_like(experiment, runs[group[i]].document, row, before);
        if (i < run && set->rows[i] != NULL) {
            return false;
        }
    }
    return true;
}

static void add_rows(const Experiment *experiment, const ReportRun *runs, const int32_t *group,
                     int32_t count, Text *html)
{
    text_add(html, "<h3>Side by side</h3>\n<p class=\"quiet\">In each cell one line per run, in "
                   "the order above, - where it has no such row; changes are against the first "
                   "that has.</p>\n"
                   "<div class=\"wide\"><table><thead><tr>");
    int32_t columns = 0;
    for (int32_t i = 0; i < count; i++) {
        const json_t *rows = json_object_get(runs[group[i]].document, "rows");
        int32_t shown = experiment_columns_shown(experiment, rows);
        columns = shown > columns ? shown : columns;
    }
    for (int32_t c = 0; c < columns; c++) {
        const Column *column = &experiment->columns[c];
        report_cell("th", column->title, is_varied(experiment, column), html);
    }
    text_add(html, "</tr></thead><tbody>\n");
    for (int32_t i = 0; i < count; i++) {
        const json_t *rows = json_object_get(runs[group[i]].document, "rows");
        for (size_t r = 0; r < json_array_size(rows); r++) {
            RowSet set;
            if (row_set(experiment, runs, group, count, i, r, &set)) {
                add_row(experiment, columns, &set, count, html);
            }
        }
    }
    text_add(html, "</tbody></table></div>\n");
}

// ---------------------------------------------------------------- the page

static void add_group(const ReportRun *runs, const int32_t *group, int32_t count, Text *html)
{
    const json_t *document = runs[group[0]].document;
    const Experiment *experiment = report_experiment(document);
    text_add(html, "<h2>");
    text_add_escaped(html, json_string_value(json_object_get(document, "experiment")));
    text_add(html, "</h2>\n");
    add_settings(runs, group, count, html);
    if (experiment == NULL) {
        text_add(html, "<p>This version does not know the experiment.</p>\n");
        return;
    }
    add_rows(experiment, runs, group, count, html);
    for (int32_t i = 0; i < count; i++) {
        text_add(html, "<h3>");
        text_add_escaped(html, runs[group[i]].name);
        text_add(html, "</h3>\n");
        report_charts(experiment, json_object_get(runs[group[i]].document, "rows"), html);
    }
}

void report_comparison(const ReportRun *runs, int32_t run_count, Text *html)
{
    FL_ASSERT(run_count <= GROUP_CAPACITY);
    bool told[GROUP_CAPACITY] = {false};
    report_begin("Runs compared", html);
    text_add(html, "<h1>Runs compared</h1>\n");
    for (int32_t first = 0; first < run_count; first++) {
        int32_t group[GROUP_CAPACITY];
        int32_t count = 0;
        const json_t *name = json_object_get(runs[first].document, "experiment");
        for (int32_t i = first; i < run_count && !told[first]; i++) {
            if (json_equal(json_object_get(runs[i].document, "experiment"), name)) {
                group[count++] = i;
            }
        }
        for (int32_t i = 0; i < count; i++) {
            told[group[i]] = true;
        }
        if (count > 0) {
            add_group(runs, group, count, html);
        }
    }
    report_end(html);
}
