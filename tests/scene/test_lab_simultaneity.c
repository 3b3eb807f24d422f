// The experiment `simultaneity`: its rows, and that whole sessions come to what the room alone
// does.
#include "unit/support.h"

#include "lab/experiments/simultaneity/simultaneity.h"

static json_t *run(const char *peers, const char *drift, bool sessions, bool media)
{
    const Experiment *experiment = experiment_find("simultaneity");
    assert_non_null(experiment);
    static uint8_t settings[LAB_SETTINGS_BYTES];
    experiment->defaults_fn(settings);
    for (int32_t i = 0; i < experiment->setting_count; i++) {
        const Setting *setting = &experiment->settings[i];
        void *field = settings + setting->offset;
        LabNumbers one = {{0}, 1};
        if (strcmp(setting->name, "peers") == 0) {
            one.values[0] = strtod(peers, NULL);
            memcpy(field, &one, sizeof one);
        } else if (strcmp(setting->name, "drift") == 0) {
            one.values[0] = strtod(drift, NULL);
            memcpy(field, &one, sizeof one);
        } else if (strcmp(setting->name, "networks") == 0) {
            *(int64_t *)field = media ? 2 : sessions ? 3 : CASES(20);
        } else if (strcmp(setting->name, "sessions") == 0) {
            *(bool *)field = sessions;
        } else if (strcmp(setting->name, "media") == 0) {
            *(bool *)field = media;
        }
    }
    LabRun lab = {.seed = 7, .runs = 1, .plain = true};
    LabResult result;
    LabError error;
    LabStatus status = experiment_run(experiment, &lab, settings, &result, &error);
    if (status != LAB_OK) {
        print_error("%s\n", error.text);
    }
    assert_int_equal(status, LAB_OK);
    json_t *rows = json_incref(result.rows);
    lab_result_free(&result);
    return rows;
}

static double number(const json_t *row, const char *field)
{
    const json_t *value = json_object_get(row, field);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static bool is_perceptive(const json_t *row)
{
    return strncmp(json_string_value(json_object_get(row, "control")), "perceptive", 10) == 0;
}

static void lags_have_no_conflicts_and_no_control_has(void **state)
{
    (void)state;
    json_t *rows = run("6", "0", false, false);
    assert_int_equal(json_array_size(rows), TRIAL_CONTROLS);
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        if (is_perceptive(row)) {
            assert_true(number(row, "conflicts") == 0.0 && number(row, "late") == 0.0);
            assert_true(number(row, "legality_violations") == 0.0);
            assert_true(number(row, "simultaneity_violations") == 0.0);
            assert_true(number(row, "simultaneity_error_ms") == 0.0);
        }
    }
    const json_t *none = json_array_get(rows, TRIAL_NONE);
    assert_true(number(none, "conflicts") > 0.0 && number(none, "late") > 0.0);
    assert_true(number(none, "simultaneity_error_ms") > 10.0);
    const json_t *reference = json_array_get(rows, TRIAL_PERCEPTIVE);
    const json_t *free = json_array_get(rows, TRIAL_PERCEPTIVE_FREE);
    assert_true(number(free, "mean_lag_ms") < number(reference, "mean_lag_ms"));
    json_decref(rows);
}

static void drift_stays_within_its_bound(void **state)
{
    (void)state;
    json_t *rows = run("4", "100", false, false);
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        if (is_perceptive(row)) {
            assert_true(number(row, "conflicts") == 0.0 && number(row, "late") == 0.0);
            assert_true(number(row, "legality_violations") == 0.0);
            assert_true(number(row, "simultaneity_error_ms") > 0.0);
            assert_true(number(row, "simultaneity_error_ms") <= number(row, "error_bound_ms"));
        }
    }
    json_decref(rows);
}

static void a_constant_below_the_longest_way_has_conflicts(void **state)
{
    (void)state;
    TrialDef def = trial_def_default();
    Tally *decisions = (Tally *)calloc(1, sizeof *decisions);
    assert_non_null(decisions);
    TrialFigures figures;
    LabError error;
    int64_t conflicts[2] = {0, 0};
    def.control = TRIAL_CONSTANT_200;
    for (int32_t k = 0; k < CASES(20); k++) {
        def.seed = 100 + (uint64_t)k;
        def.high_ms = 195.0;
        assert_int_equal(trial_run(&def, &figures, decisions, &error), LAB_OK);
        conflicts[0] += figures.conflicts + figures.late + figures.legality;
        def.high_ms = 395.0;
        assert_int_equal(trial_run(&def, &figures, decisions, &error), LAB_OK);
        conflicts[1] += figures.conflicts;
    }
    assert_int_equal(conflicts[0], 0);
    assert_true(conflicts[1] > 0);
    free(decisions);
}

static void whole_sessions_come_to_the_lags_of_the_room_alone(void **state)
{
    (void)state;
    json_t *rows = run("4", "0", true, false);
    int32_t seen = 0;
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "over")), "sessions") == 0) {
            assert_true(number(row, "conflicts") == 0.0 && number(row, "late") == 0.0);
            assert_true(number(row, "legality_violations") == 0.0);
            assert_true(number(row, "simultaneity_violations") == 0.0);
            assert_true(number(row, "room_apart_ms") < 0.001);
            seen++;
        }
    }
    assert_int_equal(seen, 3);
    json_decref(rows);
}

// Motions in whole sessions, by clocks that drift.
static void by_lags_all_see_the_same_motions(void **state)
{
    (void)state;
    json_t *rows = run("4", "100", false, true);
    assert_int_equal(json_array_size(rows), TRIAL_CONTROLS);
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        if (is_perceptive(row)) {
            assert_true(number(row, "conflicts") == 0.0 && number(row, "late") == 0.0);
            assert_true(number(row, "pictures") > 3000.0);
            assert_true(number(row, "simultaneity_error_ms") <= number(row, "error_bound_ms"));
        }
    }
    assert_true(number(json_array_get(rows, TRIAL_NONE), "conflicts") > 0.0);
    json_decref(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lags_have_no_conflicts_and_no_control_has),
        cmocka_unit_test(drift_stays_within_its_bound),
        cmocka_unit_test(a_constant_below_the_longest_way_has_conflicts),
        cmocka_unit_test(whole_sessions_come_to_the_lags_of_the_room_alone),
        cmocka_unit_test(by_lags_all_see_the_same_motions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
