// The page that compares several runs: where their settings differ, and their rows side by side.
//
// Rows belong together if they agree in what was varied: their texts, and the fields that charts
// put on the horizontal axis or tell series apart by. Runs of different experiments stand below
// each other.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/report_parts.h"

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

static void add_setting_row(const ReportRun *runs, const int32_t *group, int32_t count,
                            const char *field, Text *html)
{
    text_add(html, "<tr>");
    report_cell("td", field, true, html);
    for (int32_t i = 0; i < count; i++) {
        Text words = {0};
        const json_t *document = runs[group[i]].document;
        const json_t *value = strcmp(field, "seed") == 0 || strcmp(field, "version") == 0
                                  ? json_object_get(document, field)
                                  : json_object_get(json_object_get(document, "config"), field);
        report_value(value, &words);
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
    add_setting_row(runs, group, count, "seed", html);
    const char *field;
    json_t *value;
    json_t *config = json_object_get(runs[group[0]].document, "config");
    json_object_foreach(config, field, value)
    {
        if (!same_everywhere(runs, group, count, field)) {
            add_setting_row(runs, group, count, field, html);
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

/// NULL: the run has none.
static const json_t *row_like(const Experiment *experiment, const json_t *document,
                              const json_t *row)
{
    const json_t *rows = json_object_get(document, "rows");
    for (size_t r = 0; r < json_array_size(rows); r++) {
        const json_t *found = json_array_get(rows, r);
        if (rows_belong(experiment, row, found)) {
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

/// One figure in all runs, each below the other, with its change against the first.
static void add_figures(const Experiment *experiment, const Column *column, const ReportRun *runs,
                        const int32_t *group, int32_t count, const json_t *row, Text *html)
{
    text_add(html, "<td>");
    double first = json_number_value(json_object_get(row, column->field));
    for (int32_t i = 0; i < count; i++) {
        const json_t *same = row_like(experiment, runs[group[i]].document, row);
        char cell[LAB_CELL_BYTES] = "-";
        if (same != NULL) {
            experiment_cell(same, column, cell);
        }
        text_add(html, i > 0 ? "<br>" : "");
        text_add_escaped(html, cell);
        const json_t *value = same != NULL ? json_object_get(same, column->field) : NULL;
        if (i > 0 && json_is_number(value)) {
            add_change(first, json_number_value(value), html);
        }
    }
    text_add(html, "</td>");
}

static void add_rows(const Experiment *experiment, const ReportRun *runs, const int32_t *group,
                     int32_t count, Text *html)
{
    text_add(html, "<h3>Side by side</h3>\n<p class=\"quiet\">In each cell one line per run, in "
                   "the order above; changes are against the first.</p>\n"
                   "<div class=\"wide\"><table><thead><tr>");
    const json_t *rows = json_object_get(runs[group[0]].document, "rows");
    int32_t columns = experiment_columns_shown(experiment, rows);
    for (int32_t c = 0; c < columns; c++) {
        const Column *column = &experiment->columns[c];
        report_cell("th", column->title, is_varied(experiment, column), html);
    }
    text_add(html, "</tr></thead><tbody>\n");
    for (size_t r = 0; r < json_array_size(rows); r++) {
        const json_t *row = json_array_get(rows, r);
        text_add(html, "<tr>");
        for (int32_t c = 0; c < columns; c++) {
            const Column *column = &experiment->columns[c];
            if (is_varied(experiment, column)) {
                char cell[LAB_CELL_BYTES];
                experiment_cell(row, column, cell);
                report_cell("td", cell, true, html);
            } else {
                add_figures(experiment, column, runs, group, count, row, html);
            }
        }
        text_add(html, "</tr>\n");
    }
    text_add(html, "</tbody></table></div>\n");
}

// ---------------------------------------------------------------- the page

enum { GROUP_CAPACITY = 64 };

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
