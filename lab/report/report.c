// The page about one run: how to repeat it, charts, table, settings.
#include "lab/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/report/report_parts.h"
#include "lab/trace/number.h"

void report_date(time_t when, char text[REPORT_DATE_BYTES])
{
    const struct tm *parts = gmtime(&when);
    if (parts == NULL || strftime(text, REPORT_DATE_BYTES, "%Y-%m-%d %H:%M UTC", parts) == 0) {
        snprintf(text, REPORT_DATE_BYTES, "?");
    }
}

const char *report_problem(const json_t *document)
{
    if (!json_is_string(json_object_get(document, "experiment"))) {
        return "it has no \"experiment\"";
    }
    if (!json_is_object(json_object_get(document, "config"))) {
        return "it has no \"config\"";
    }
    const json_t *rows = json_object_get(document, "rows");
    if (!json_is_array(rows)) {
        return "it has no \"rows\"";
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        if (!json_is_object(json_array_get(rows, i))) {
            return "a row is no object";
        }
    }
    return NULL;
}

const Experiment *report_experiment(const json_t *document)
{
    return experiment_find(json_string_value(json_object_get(document, "experiment")));
}

// ---------------------------------------------------------------- how to repeat it

/// A value as the command line takes it, quoted where a shell needs it.
static void add_value(const json_t *value, Text *words)
{
    if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++) {
            char number[NUMBER_TEXT_BYTES];
            number_text(json_number_value(json_array_get(value, i)), number);
            text_add(words, "%s%s", i > 0 ? "," : "", number);
        }
    } else if (json_is_string(value)) {
        const char *text = json_string_value(value);
        bool quote = text[0] == '\0' || strpbrk(text, " \"'$`\\!*?(){}[]<>|&;#~") != NULL;
        text_add(words, quote ? "\"%s\"" : "%s", text);
    } else if (json_is_integer(value)) {
        text_add(words, "%lld", (long long)json_integer_value(value));
    } else {
        char number[NUMBER_TEXT_BYTES];
        number_text(json_number_value(value), number);
        text_add(words, "%s", number);
    }
}

static void add_setting(const Setting *setting, const json_t *value, Text *words)
{
    if (setting->kind == SETTING_FLAG) {
        if (json_is_true(value)) {
            text_add(words, " --%s", setting->name);
        }
    } else if (!json_is_null(value)) {
        text_add(words, " --%s ", setting->name);
        add_value(value, words);
    }
}

/// `config` as it is when nothing is asked for. NULL: out of memory.
static json_t *default_config(const Experiment *experiment)
{
    void *settings = calloc(1, LAB_SETTINGS_BYTES);
    if (settings == NULL) {
        return NULL;
    }
    experiment->defaults_fn(settings);
    LabRun run = {.seed = 1, .runs = 1};
    json_t *config = experiment_config(experiment, &run, settings);
    free(settings);
    return config;
}

void report_command(const json_t *document, Text *words)
{
    const Experiment *experiment = report_experiment(document);
    json_t *usual = experiment != NULL ? default_config(experiment) : NULL;
    if (usual == NULL) {
        return;
    }
    const json_t *config = json_object_get(document, "config");
    text_add(words, "fairlead lab run %s", experiment->name);
    for (int32_t i = 0; i < experiment->setting_count; i++) {
        char field[LAB_CELL_BYTES];
        setting_field(&experiment->settings[i], field);
        const json_t *value = json_object_get(config, field);
        if (value != NULL && !json_equal(value, json_object_get(usual, field))) {
            add_setting(&experiment->settings[i], value, words);
        }
    }
    json_int_t runs = json_integer_value(json_object_get(config, "runs"));
    json_int_t seed = json_integer_value(json_object_get(document, "seed"));
    if (runs != 1) {
        text_add(words, " --runs %lld", (long long)runs);
    }
    text_add(words, " --seed %lld",
             (long long)seed); // also the default: who quotes it quotes it all
    if (json_is_false(json_object_get(config, "sealed"))) {
        text_add(words, " --plain");
    }
    json_decref(usual);
}

// ---------------------------------------------------------------- parts of a page

static const char page_style[] =
    "<style>\n"
    ":root{color-scheme:light dark}\n"
    "body{font:15px/1.5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;"
    "max-width:960px;margin:0 auto;padding:24px 16px;background:#fff;color:#1f2328}\n"
    "h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:32px 0 8px}\n"
    "p{margin:8px 0}.quiet{color:#59636e}pre{white-space:pre-wrap;overflow-wrap:anywhere}\n"
    "pre,code{background:#f6f8fa;border-radius:6px;font:13px/1.5 ui-monospace,Menlo,monospace}\n"
    "pre{padding:12px}code{padding:2px 5px}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px;white-space:nowrap}\n"
    "th,td{padding:4px 10px;border-bottom:1px solid #d1d9e0;text-align:right}\n"
    "th.words,td.words{text-align:left}th{background:#f6f8fa}\n"
    ".chart,.picture svg{display:block;width:100%;height:auto;margin:0 0 20px}\n"
    "a{color:#0969da}\n"
    "@media (prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}\n"
    ".quiet{color:#9198a1}pre,code,th{background:#161b22}th,td{border-color:#3d444d}"
    "a{color:#4493f8}}\n"
    "</style>\n";

void report_begin(const char *title, Text *html)
{
    text_add(html, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<title>");
    text_add_escaped(html, title);
    text_add(html, "</title>\n%s</head>\n<body>\n", page_style);
}

void report_end(Text *html)
{
    text_add(html, "</body>\n</html>\n");
}

void report_cell(const char *tag, const char *words, bool left, Text *html)
{
    text_add(html, "<%s%s>", tag, left ? " class=\"words\"" : "");
    text_add_escaped(html, words);
    text_add(html, "</%s>", tag);
}

void report_value(const json_t *value, Text *words)
{
    if (value == NULL || json_is_null(value)) {
        text_add(words, "-");
    } else if (json_is_boolean(value)) {
        text_add(words, json_is_true(value) ? "yes" : "no");
    } else if (json_is_string(value)) {
        text_add(words, "%s", json_string_value(value));
    } else {
        add_value(value, words);
    }
}

// ---------------------------------------------------------------- one run

static void add_table(const Experiment *experiment, const json_t *rows, Text *html)
{
    int32_t columns = experiment_columns_shown(experiment, rows);
    text_add(html, "<div class=\"wide\"><table><thead><tr>");
    for (int32_t c = 0; c < columns; c++) {
        const Column *column = &experiment->columns[c];
        report_cell("th", column->title, column->decimals < 0, html);
    }
    text_add(html, "</tr></thead><tbody>\n");
    for (size_t r = 0; r < json_array_size(rows); r++) {
        text_add(html, "<tr>");
        for (int32_t c = 0; c < columns; c++) {
            char cell[LAB_CELL_BYTES];
            const Column *column = &experiment->columns[c];
            experiment_cell(json_array_get(rows, r), column, cell);
            report_cell("td", cell, column->decimals < 0, html);
        }
        text_add(html, "</tr>\n");
    }
    text_add(html, "</tbody></table></div>\n");
}

static void add_setting_row(const char *field, const char *words, Text *html)
{
    text_add(html, "<tr>");
    report_cell("td", field, true, html);
    report_cell("td", words, true, html);
    text_add(html, "</tr>\n");
}

static void add_value_row(const char *field, const json_t *value, Text *html)
{
    Text words = {0};
    report_value(value, &words);
    add_setting_row(field, text_of(&words), html);
    text_free(&words);
}

static void add_config(const ReportRun *run, Text *html)
{
    text_add(html, "<h2>Settings</h2>\n<div class=\"wide\"><table><tbody>\n");
    const char *field;
    json_t *value;
    json_t *config = json_object_get(run->document, "config");
    add_value_row("version", json_object_get(run->document, "version"), html);
    add_setting_row("date", run->made, html);
    add_value_row("seed", json_object_get(run->document, "seed"), html);
    json_object_foreach(config, field, value)
    {
        add_value_row(field, value, html);
    }
    text_add(html, "</tbody></table></div>\n");
}

void report_charts(const Experiment *experiment, const json_t *rows, Text *html)
{
    for (int32_t i = 0; i < experiment->chart_count; i++) {
        (void)chart_draw(&experiment->charts[i], rows, html);
    }
}

static void add_head(const ReportRun *run, const Experiment *experiment, Text *html)
{
    const json_t *document = run->document;
    const char *version = json_string_value(json_object_get(document, "version"));
    text_add(html, "<h1>");
    text_add_escaped(html, json_string_value(json_object_get(document, "experiment")));
    text_add(html, "</h1>\n<p class=\"quiet\">");
    text_add_escaped(html, experiment != NULL ? experiment->help : "");
    text_add(html, "</p>\n");
    if (experiment != NULL) {
        text_add(html, "<p>");
        text_add_escaped(html, experiment->summary);
        text_add(html, "</p>\n");
    }
    Text command = {0};
    report_command(document, &command);
    text_add(html, "<p>Made by Fairlead ");
    text_add_escaped(html, version != NULL ? version : "?");
    text_add(html, ", ");
    text_add_escaped(html, run->made);
    text_add(html, "; the same command gives the same numbers:</p>\n<pre>");
    text_add_escaped(html, text_of(&command));
    text_add(html, "</pre>\n");
    text_free(&command);
}

static void one_page(const ReportRun *run, Text *html)
{
    const Experiment *experiment = report_experiment(run->document);
    const json_t *rows = json_object_get(run->document, "rows");
    report_begin(json_string_value(json_object_get(run->document, "experiment")), html);
    add_head(run, experiment, html);
    if (run->picture != NULL && run->picture[0] != '\0') {
        text_add(html, "<div class=\"picture\">%s</div>\n", run->picture);
    }
    if (experiment != NULL) {
        if (experiment->chart_count > 0) {
            text_add(html, "<h2>Charts</h2>\n<p class=\"quiet\">Bars are 95 %% intervals over "
                           "runs; without them there was one run.</p>\n");
        }
        report_charts(experiment, rows, html);
        text_add(html, "<h2>Results</h2>\n<p class=\"quiet\">results.json has every field.</p>\n");
        add_table(experiment, rows, html);
    }
    add_config(run, html);
    report_end(html);
}

void report_page(const ReportRun *runs, int32_t run_count, Text *html)
{
    FL_ASSERT(run_count > 0);
    if (run_count == 1) {
        one_page(runs, html);
    } else {
        report_comparison(runs, run_count, html);
    }
}
