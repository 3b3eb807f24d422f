// The table of experiments, and what is the same for all: documents and tables.
#include "lab/experiments/experiment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MOST 32 // of a table

#define EXPERIMENT_ROW(name) &experiment_##name,
const Experiment *const experiments[] = {EXPERIMENT_TABLE(EXPERIMENT_ROW)};
#undef EXPERIMENT_ROW
#define EXPERIMENT_ONE(name) +1
const int32_t experiment_count = 0 EXPERIMENT_TABLE(EXPERIMENT_ONE);
#undef EXPERIMENT_ONE

const Experiment *experiment_find(const char *name)
{
    for (int32_t i = 0; i < experiment_count; i++) {
        if (strcmp(experiments[i]->name, name) == 0) {
            return experiments[i];
        }
    }
    return NULL;
}

// ---------------------------------------------------------------- running

void lab_result_free(LabResult *result)
{
    json_decref(result->rows);
    text_free(&result->series);
    text_free(&result->picture);
    *result = (LabResult){0};
}

/// An experiment that is one unit.
typedef struct Whole {
    const Experiment *experiment;
    const LabRun *run;
    const void *settings;
    LabResult *result; ///< Filled in where it is played.
} Whole;

/// The text is the result as JSON.
static LabStatus play_whole(const void *ctx, void *figures, Text *text, LabError *error)
{
    const Whole *whole = (const Whole *)ctx;
    LabResult *result = whole->result;
    LabRun run = *whole->run;
    run.units = NULL;
    (void)figures;
    LabStatus status = whole->experiment->run_fn(&run, whole->settings, result, error);
    if (status != LAB_OK) {
        return status;
    }
    json_t *all = json_object();
    (void)json_object_set(all, "rows", result->rows);
    (void)json_object_set_new(all, "series", json_string(text_of(&result->series)));
    (void)json_object_set_new(all, "picture", json_string(text_of(&result->picture)));
    char *words = json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(all);
    if (words == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    text_add(text, "%s", words);
    free(words);
    return LAB_OK;
}

static void read_whole(const char *words, LabResult *result)
{
    json_t *all = json_loads(words, 0, NULL);
    text_add(&result->series, "%s", json_string_value(json_object_get(all, "series")));
    text_add(&result->picture, "%s", json_string_value(json_object_get(all, "picture")));
    (void)json_array_extend(result->rows, json_object_get(all, "rows"));
    json_decref(all);
}

static LabStatus run_whole(const Experiment *experiment, const LabRun *run, const void *settings,
                           LabResult *result, LabError *error)
{
    LabResult played = {.rows = json_array()};
    Whole whole = {experiment, run, settings, &played};
    Text words = {0};
    char nothing = 0;
    LabUnit unit = lab_unit_of(&nothing, 1, 1.0, "all");
    unit.text = &words;
    LabStatus status = lab_unit(run->units, &unit, play_whole, &whole, error);
    if (status == LAB_OK && words.count > 0) {
        read_whole(text_of(&words), result);
    }
    lab_result_free(&played);
    text_free(&words);
    return status;
}

LabStatus experiment_run(const Experiment *experiment, const LabRun *run, const void *settings,
                         LabResult *result, LabError *error)
{
    *result = (LabResult){.rows = json_array()};
    *error = (LabError){{0}};
    bool here = experiment->has_units || run->units == NULL;
    LabStatus status = result->rows == NULL ? lab_fail(error, LAB_FAILED, "out of memory")
                       : here               ? experiment->run_fn(run, settings, result, error)
                                            : run_whole(experiment, run, settings, result, error);
    if (status == LAB_OK && (result->series.failed || result->picture.failed)) {
        status = lab_fail(error, LAB_FAILED, "out of memory");
    }
    status = status == LAB_OK && lab_units_missing(run->units) ? LAB_PENDING : status;
    if (status != LAB_OK) {
        lab_result_free(result);
    }
    return status;
}

// ---------------------------------------------------------------- rows

void row_number(json_t *row, const char *field, double value)
{
    json_object_set_new(row, field, isfinite(value) ? json_real(value) : json_null());
}

void row_text(json_t *row, const char *field, const char *value)
{
    json_object_set_new(row, field, json_string(value));
}

static json_t *setting_json(const Setting *setting, const void *settings)
{
    const void *at = (const char *)settings + setting->offset;
    switch (setting->kind) {
    case SETTING_NUMBER:
        return json_real(*(const double *)at);
    case SETTING_INTEGER:
        return json_integer(*(const int64_t *)at);
    case SETTING_TEXT: {
        const char *text = *(const char *const *)at;
        return text != NULL ? json_string(text) : json_null();
    }
    case SETTING_FLAG:
        return json_boolean(*(const bool *)at);
    case SETTING_NUMBERS:
        break;
    }
    const LabNumbers *numbers = (const LabNumbers *)at;
    json_t *list = json_array();
    for (int32_t i = 0; i < numbers->count; i++) {
        json_array_append_new(list, json_real(numbers->values[i]));
    }
    return list;
}

void setting_field(const Setting *setting, char field[LAB_CELL_BYTES])
{
    snprintf(field, LAB_CELL_BYTES, "%s", setting->name);
    for (char *c = field; *c != '\0'; c++) {
        *c = *c == '-' ? '_' : *c;
    }
}

json_t *experiment_config(const Experiment *experiment, const LabRun *run, const void *settings)
{
    json_t *config = json_object();
    json_object_set_new(config, "runs", json_integer(run->runs));
    json_object_set_new(config, "sealed", json_boolean(!run->plain));
    for (int32_t i = 0; i < experiment->setting_count; i++) {
        const Setting *setting = &experiment->settings[i];
        char field[LAB_CELL_BYTES];
        setting_field(setting, field);
        json_object_set_new(config, field, setting_json(setting, settings));
    }
    return config;
}

json_t *experiment_document(const Experiment *experiment, const LabRun *run, const void *settings,
                            const LabResult *result)
{
    json_t *document = json_object();
    if (document == NULL) {
        return NULL;
    }
    int failed = json_object_set_new(document, "experiment", json_string(experiment->name));
    failed |= json_object_set_new(document, "version", json_string(FL_VERSION));
    failed |= json_object_set_new(document, "seed", json_integer((json_int_t)run->seed));
    failed |= json_object_set_new(document, "config", experiment_config(experiment, run, settings));
    failed |= json_object_set(document, "rows", result->rows);
    if (failed != 0) {
        json_decref(document);
        return NULL;
    }
    return document;
}

// ---------------------------------------------------------------- the table

void experiment_cell(const json_t *row, const Column *column, char text[LAB_CELL_BYTES])
{
    const json_t *value = json_object_get(row, column->field);
    if (json_is_string(value)) {
        snprintf(text, LAB_CELL_BYTES, "%s", json_string_value(value));
    } else if (json_is_integer(value)) {
        snprintf(text, LAB_CELL_BYTES, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value) && column->decimals >= 0) {
        char field[LAB_CELL_BYTES];
        snprintf(field, sizeof field, "%s_ci95", column->field);
        const json_t *interval = json_object_get(row, field);
        int used =
            snprintf(text, LAB_CELL_BYTES, "%.*f", (int)column->decimals, json_real_value(value));
        double number = json_real_value(value);
        double half = json_real_value(interval);
        double low = chart_interval_low(column->field, number, half);
        if (!json_is_real(interval) || used <= 0 || used >= LAB_CELL_BYTES) {
            return;
        }
        if (low > number - half) { // it cannot be below 0, and "±" would say so
            snprintf(text + used, (size_t)(LAB_CELL_BYTES - used), " (%.*f to %.*f)",
                     (int)column->decimals, low, (int)column->decimals, number + half);
        } else {
            snprintf(text + used, (size_t)(LAB_CELL_BYTES - used), " ± %.*f", (int)column->decimals,
                     half);
        }
    } else if (json_is_real(value)) {
        snprintf(text, LAB_CELL_BYTES, "%g", json_real_value(value));
    } else {
        snprintf(text, LAB_CELL_BYTES, "-");
    }
}

/// Characters, not bytes: "±" has two.
static int width_of(const char *text)
{
    int width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xc0u) != 0x80u ? 1 : 0;
    }
    return width;
}

static void add_cell(Text *text, const char *cell, int width, bool left, bool last)
{
    int pad = width - width_of(cell);
    if (left) {
        text_add(text, "%s%*s", cell, last ? 0 : pad, "");
    } else {
        text_add(text, "%*s%s", pad, "", cell);
    }
    text_add(text, last ? "\n" : "  ");
}

static bool has_field(const json_t *rows, const char *field)
{
    for (size_t r = 0; r < json_array_size(rows); r++) {
        if (json_object_get(json_array_get(rows, r), field) != NULL) {
            return true;
        }
    }
    return false;
}

int32_t experiment_columns_shown(const Experiment *experiment, const json_t *rows)
{
    int32_t columns = experiment->column_count;
    while (columns > 1 && !has_field(rows, experiment->columns[columns - 1].field)) {
        columns--;
    }
    return columns;
}

void experiment_table(const Experiment *experiment, const LabResult *result, Text *text)
{
    int width[COLUMNS_MOST] = {0};
    char cell[LAB_CELL_BYTES];
    int32_t columns = experiment_columns_shown(experiment, result->rows);
    size_t rows = json_array_size(result->rows);
    FL_ASSERT(columns <= COLUMNS_MOST);
    for (int32_t c = 0; c < columns; c++) {
        width[c] = width_of(experiment->columns[c].title);
        for (size_t r = 0; r < rows; r++) {
            experiment_cell(json_array_get(result->rows, r), &experiment->columns[c], cell);
            width[c] = width_of(cell) > width[c] ? width_of(cell) : width[c];
        }
    }
    for (int32_t c = 0; c < columns; c++) {
        const Column *column = &experiment->columns[c];
        add_cell(text, column->title, width[c], column->decimals < 0, c + 1 == columns);
    }
    for (size_t r = 0; r < rows; r++) {
        for (int32_t c = 0; c < columns; c++) {
            const Column *column = &experiment->columns[c];
            experiment_cell(json_array_get(result->rows, r), column, cell);
            add_cell(text, cell, width[c], column->decimals < 0, c + 1 == columns);
        }
    }
}
