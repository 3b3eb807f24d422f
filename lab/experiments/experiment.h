// Experiments: one folder each, one row in the table.
//
// An experiment declares its settings once; the command line, its help and the `config` of
// results.json follow from that. It fills in rows (field names as the issues give them) and a
// series, and says which columns to show on a terminal. It does no I/O but reading traces.
//
// To add one: lab/experiments/<name>/<name>.c with an Experiment, its name in EXPERIMENT_TABLE
// below.
#ifndef LAB_EXPERIMENT_H
#define LAB_EXPERIMENT_H

#include <jansson.h>

#include "fairlead/base.h"
#include "lab/figures/chart.h"
#include "lab/figures/text.h"
#include "lab/world/lab_unit.h"

#define LAB_NUMBERS_CAPACITY 64

/// A list such as 100,300,800.
typedef struct LabNumbers {
    double values[LAB_NUMBERS_CAPACITY];
    int32_t count;
} LabNumbers;

typedef enum SettingKind {
    SETTING_NUMBER,  ///< double
    SETTING_INTEGER, ///< int64_t
    SETTING_NUMBERS, ///< LabNumbers
    SETTING_TEXT,    ///< const char *, NULL: not given
    SETTING_FLAG,    ///< bool
} SettingKind;

/// One setting: a field of the experiment's own settings.
typedef struct Setting {
    SettingKind kind;
    const char *name;  ///< Of the option, without dashes; in `config` dashes become underscores.
    const char *value; ///< What stands for it in the help. NULL for a flag.
    const char *help;  ///< Its default included; min and max are added.
    size_t offset;
    double min, max; ///< Of numbers.
} Setting;

/// A column of the table on the terminal.
typedef struct Column {
    const char *field;
    const char *title;
    int32_t decimals; ///< -1: text, or a number as it is.
} Column;

typedef struct LabResult {
    json_t *rows; ///< An array of objects.
    Text series;  ///< CSV with a header. Empty: there is none.
    Text picture; ///< SVG. Empty: there is none.
} LabResult;

typedef struct Experiment {
    const char *name;
    const char *help;    ///< One line.
    const char *summary; ///< For its own help: several.
    const Setting *settings;
    int32_t setting_count;
    size_t settings_bytes; ///< At most LAB_SETTINGS_BYTES.
    void (*defaults_fn)(void *settings);
    LabStatus (*run_fn)(const LabRun *run, const void *settings, LabResult *result,
                        LabError *error);
    const Column *columns;
    int32_t column_count;
    const ChartSpec *charts; ///< For its report.
    int32_t chart_count;
    bool draws;     ///< It fills in the result's picture.
    bool has_units; ///< It asks LabRun's units for its runs; else it is one unit as a whole.
} Experiment;

/// No experiment's settings are larger.
#define LAB_SETTINGS_BYTES 8192

/// X(name): each is `experiment_<name>` in lab/experiments/<name>/<name>.c.
#define EXPERIMENT_TABLE(X)                                                                        \
    X(accuracy)                                                                                    \
    X(fairness)                                                                                    \
    X(tradeoff)                                                                                    \
    X(liar)                                                                                        \
    X(racing)                                                                                      \
    X(finish)                                                                                      \
    X(simultaneity)                                                                                \
    X(attention)                                                                                   \
    X(duels)                                                                                       \
    X(scale) X(crowd) X(quality) X(judge) X(shots) X(prediction) X(fields) X(ages) X(models)

#define EXPERIMENT_DECLARE(name) extern const Experiment experiment_##name;
EXPERIMENT_TABLE(EXPERIMENT_DECLARE)
#undef EXPERIMENT_DECLARE

extern const Experiment *const experiments[];
extern const int32_t experiment_count;

/// NULL: there is none of that name.
const Experiment *experiment_find(const char *name);

/// Runs it. *result is empty unless the answer is LAB_OK; free it with lab_result_free.
/// LAB_PENDING: units were left to others.
LabStatus experiment_run(const Experiment *experiment, const LabRun *run, const void *settings,
                         LabResult *result, LabError *error);
void lab_result_free(LabResult *result);

/// results.json: {"experiment", "version", "seed", "config", "rows"}. NULL: out of memory.
json_t *experiment_document(const Experiment *experiment, const LabRun *run, const void *settings,
                            const LabResult *result);

/// How many of its columns these rows fill: the last ones may be of a mode that was not asked for.
int32_t experiment_columns_shown(const Experiment *experiment, const json_t *rows);

#define LAB_CELL_BYTES 64

/// What a table shows of a row in a column; "-" if it has nothing there.
void experiment_cell(const json_t *row, const Column *column, char text[LAB_CELL_BYTES]);

/// The settings as `config` has them, with runs and sealed.
json_t *experiment_config(const Experiment *experiment, const LabRun *run, const void *settings);

/// The name of a setting as `config` has it: with underscores for dashes.
void setting_field(const Setting *setting, char field[LAB_CELL_BYTES]);

/// The rows as a table; a field's interval (`<field>_ci95`) follows it as "+- x".
void experiment_table(const Experiment *experiment, const LabResult *result, Text *text);

// ---------------------------------------------------------------- for experiments

/// A field of a row; not finite becomes null.
void row_number(json_t *row, const char *field, double value);
void row_text(json_t *row, const char *field, const char *value);

#endif
