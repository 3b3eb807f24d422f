// lab/experiments/experiment: documents and tables, for an experiment made up here.
#include <stddef.h>

#include "support.h"

#include "lab/experiments/experiment.h"

typedef struct Made {
    double number;
    int64_t integer;
    LabNumbers list;
    const char *text;
    bool flag;
} Made;

static const Setting settings_table[] = {
    {SETTING_NUMBER, "some-number", "N", "", offsetof(Made, number), 0, 1},
    {SETTING_INTEGER, "integer", "N", "", offsetof(Made, integer), 0, 1},
    {SETTING_NUMBERS, "list", "N", "", offsetof(Made, list), 0, 1},
    {SETTING_TEXT, "text", "T", "", offsetof(Made, text), 0, 0},
    {SETTING_FLAG, "flag", NULL, "", offsetof(Made, flag), 0, 0},
};

static LabStatus run_made(const LabRun *run, const void *settings, LabResult *result,
                          LabError *error)
{
    const Made *made = (const Made *)settings;
    if (made->flag) {
        return lab_fail(error, LAB_BAD_INPUT, "no flags in run %d", (int)run->runs);
    }
    json_t *row = json_object();
    row_text(row, "name", "first");
    row_number(row, "value", made->number);
    row_number(row, "value_ci95", 0.25);
    row_number(row, "nothing", (double)NAN);
    json_array_append_new(result->rows, row);
    text_add(&result->series, "t\n");
    return LAB_OK;
}

static const Column columns[] = {{"name", "name", -1}, {"value", "v", 2}, {"nothing", "none", 1}};

static const Experiment experiment = {
    .name = "made",
    .settings = settings_table,
    .setting_count = 5,
    .settings_bytes = sizeof(Made),
    .run_fn = run_made,
    .columns = columns,
    .column_count = 3,
};

static void a_document_says_what_was_asked_and_what_came_out(void **state)
{
    (void)state;
    Made made = {0.5, 7, {.values = {1.0, 2.5}, .count = 2}, NULL, false};
    LabRun run = {.seed = 42, .runs = 3, .plain = true};
    LabResult result;
    LabError error;
    assert_int_equal(experiment_run(&experiment, &run, &made, &result, &error), LAB_OK);
    json_t *document = experiment_document(&experiment, &run, &made, &result);
    char *text = json_dumps(document, JSON_COMPACT);
    assert_string_equal(text, "{\"experiment\":\"made\",\"version\":\"" FL_VERSION
                              "\",\"seed\":42,\"config\":{\"runs\":3,\"sealed\":false,"
                              "\"some_number\":0.5,\"integer\":7,\"list\":[1.0,2.5],\"text\":null,"
                              "\"flag\":false},\"rows\":[{\"name\":\"first\",\"value\":0.5,"
                              "\"value_ci95\":0.25,\"nothing\":null}]}");
    free(text);
    json_decref(document);
    lab_result_free(&result);
}

static void a_table_has_even_columns_and_intervals(void **state)
{
    (void)state;
    Made made = {.number = 123.456};
    LabRun run = {.runs = 1};
    LabResult result;
    LabError error;
    Text table = {0};
    assert_int_equal(experiment_run(&experiment, &run, &made, &result, &error), LAB_OK);
    experiment_table(&experiment, &result, &table);
    assert_string_equal(text_of(&table), "name               v  none\n"
                                         "first  123.46 ± 0.25     -\n");
    text_free(&table);
    lab_result_free(&result);
}

static void a_failure_leaves_nothing_but_its_reason(void **state)
{
    (void)state;
    Made made = {.flag = true};
    LabRun run = {.runs = 9};
    LabResult result;
    LabError error;
    assert_int_equal(experiment_run(&experiment, &run, &made, &result, &error), LAB_BAD_INPUT);
    assert_string_equal(error.text, "no flags in run 9");
    assert_null(result.rows);
}

static void every_experiment_is_complete(void **state)
{
    (void)state;
    assert_true(experiment_count > 0);
    for (int32_t i = 0; i < experiment_count; i++) {
        const Experiment *e = experiments[i];
        assert_ptr_equal(experiment_find(e->name), e);
        assert_true(e->settings_bytes <= LAB_SETTINGS_BYTES);
        assert_non_null(e->help);
        assert_non_null(e->summary);
        assert_true(e->column_count > 0);
        assert_true(e->chart_count > 0 || e->draws); // a report has something to look at
        for (int32_t s = 0; s < e->setting_count; s++) {
            assert_non_null(e->settings[s].help);
            assert_true(e->settings[s].offset < e->settings_bytes);
        }
    }
    assert_null(experiment_find("nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_says_what_was_asked_and_what_came_out),
        cmocka_unit_test(a_table_has_even_columns_and_intervals),
        cmocka_unit_test(a_failure_leaves_nothing_but_its_reason),
        cmocka_unit_test(every_experiment_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
