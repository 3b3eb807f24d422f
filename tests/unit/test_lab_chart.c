// Charts and reports of rows: what goes in, what is left out, and what would break a page.
#include "support.h"

#include "lab/report/report.h"

static json_t *rows_of(const char *text)
{
    json_error_t error;
    json_t *rows = json_loads(text, 0, &error);
    assert_non_null(rows);
    return rows;
}

static int32_t count_of(const char *text, const char *what)
{
    int32_t count = 0;
    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what)) {
        count++;
    }
    return count;
}

static const ChartSpec lines = {.kind = CHART_LINES,
                                .title = "A & B",
                                .x = "delay",
                                .x_title = "delay, ms",
                                .y = "error",
                                .y_title = "error, units",
                                .interval = "ci",
                                .series = "mode",
                                .where = "motion=random,loss=0.1"};

static void only_the_rows_that_are_meant_are_drawn(void **state)
{
    (void)state;
    json_t *rows = rows_of(
        "[{\"motion\":\"random\",\"loss\":0.1,\"delay\":1,\"error\":2,\"ci\":0.5,\"mode\":\"a\"},"
        "{\"motion\":\"random\",\"loss\":0.1,\"delay\":2,\"error\":3,\"ci\":0.0,\"mode\":\"a\"},"
        "{\"motion\":\"random\",\"loss\":0.1,\"delay\":2,\"error\":9,\"mode\":\"<b>\"},"
        "{\"motion\":\"random\",\"loss\":0.2,\"delay\":2,\"error\":3,\"mode\":\"a\"},"
        "{\"motion\":\"randomly\",\"loss\":0.1,\"delay\":2,\"error\":3,\"mode\":\"a\"},"
        "{\"motion\":\"random\",\"loss\":0.1,\"delay\":3,\"error\":null,\"mode\":\"a\"},"
        "{\"motion\":\"random\",\"loss\":0.1,\"error\":3,\"mode\":\"a\"},"
        "{\"delay\":2,\"error\":3,\"mode\":\"a\"}]");
    Text svg = {0};
    assert_true(chart_draw(&lines, rows, &svg));
    const char *text = text_of(&svg);
    assert_int_equal(count_of(text, "<g><title>"), 3);     // points
    assert_int_equal(count_of(text, "class=\"bar s"), 1);  // intervals
    assert_int_equal(count_of(text, "class=\"line s"), 4); // two series, and in the legend
    assert_non_null(strstr(text, "A &amp; B"));
    assert_non_null(strstr(text, "delay, ms"));
    assert_non_null(strstr(text, "error, units"));
    assert_non_null(strstr(text, "&lt;b&gt;"));
    assert_null(strstr(text, "<b>"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    text_free(&svg);
    json_decref(rows);
}

static void without_rows_there_is_no_chart(void **state)
{
    (void)state;
    json_t *rows = rows_of("[{\"delay\":2,\"mode\":\"a\"}]");
    Text svg = {0};
    assert_false(chart_draw(&lines, rows, &svg));
    assert_int_equal(svg.count, 0);
    json_decref(rows);
}

static void one_value_and_zero_and_negative_ones_have_axes(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "[{\"x\":5,\"y\":0}]",
        "[{\"x\":0,\"y\":-3}]",
        "[{\"x\":0,\"y\":0}]",
        "[{\"x\":1e9,\"y\":1e-9},{\"x\":-1e9,\"y\":-1e9}]",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ChartSpec spec = {.title = "t", .x = "x", .x_title = "x", .y = "y", .y_title = "y"};
        for (int32_t kind = 0; kind < 2; kind++) {
            spec.kind = kind == 0 ? CHART_LINES : CHART_DOTS;
            json_t *rows = rows_of(cases[i]);
            Text svg = {0};
            assert_true(chart_draw(&spec, rows, &svg));
            assert_null(strstr(text_of(&svg), "nan"));
            assert_null(strstr(text_of(&svg), "inf"));
            assert_true(count_of(text_of(&svg), "class=\"grid\"") < 40);
            text_free(&svg);
            json_decref(rows);
        }
    }
}

static void logarithmic_axes_leave_out_what_has_no_logarithm(void **state)
{
    (void)state;
    json_t *rows = rows_of("[{\"x\":10,\"y\":100},{\"x\":1000,\"y\":7},{\"x\":0,\"y\":1},"
                           "{\"x\":1,\"y\":0},{\"x\":-5,\"y\":5}]");
    ChartSpec spec = {.title = "t",
                      .x = "x",
                      .x_title = "x",
                      .y = "y",
                      .y_title = "y",
                      .log_x = true,
                      .log_y = true};
    Text svg = {0};
    assert_true(chart_draw(&spec, rows, &svg));
    assert_int_equal(count_of(text_of(&svg), "<g><title>"), 2);
    assert_null(strstr(text_of(&svg), "nan"));
    text_free(&svg);
    json_decref(rows);
}

static void steps_are_round_and_about_six(void **state)
{
    (void)state;
    FlRandom r = random_stream(9100);
    for (int32_t i = 0; i < CASES(10000); i++) {
        double span = fabs(random_scale(&r, -9.0, 9.0));
        double step = chart_round_step(span);
        double digit = step / pow(10.0, floor(log10(step) + 1e-9));
        assert_true(fabs(digit - 1.0) < 1e-6 || fabs(digit - 2.0) < 1e-6 ||
                    fabs(digit - 5.0) < 1e-6);
        assert_true(span / step > 4.0 && span / step < 10.6);
    }
}

static void the_interval_of_a_deviation_ends_at_nothing(void **state)
{
    (void)state;
    json_t *rows = rows_of("[{\"x\":\"a\",\"sd_aee\":0.02,\"difference\":0.02,\"half\":0.05}]");
    ChartSpec spec = {.kind = CHART_DOTS, .title = "t", .x = "x", .x_title = "x", .y_title = "y"};
    spec.interval = "half";
    for (int32_t i = 0; i < 2; i++) {
        Text svg = {0};
        spec.y = i == 0 ? "sd_aee" : "difference";
        assert_true(chart_draw(&spec, rows, &svg));
        assert_int_equal(strstr(text_of(&svg), "0.02 (0 to 0.07)<") != NULL, i == 0);
        assert_int_equal(strstr(text_of(&svg), "0.02 ± 0.05<") != NULL, i == 1);
        assert_int_equal(strstr(text_of(&svg), ">-0.0") != NULL, i == 1); // a tick below 0
        text_free(&svg);
    }
    json_decref(rows);
    check_near(chart_interval_low("sd_aee", 0.5, 0.2), 0.3, 1e-12);
    check_near(chart_interval_low("sdx", 0.5, 0.7), -0.2, 1e-12); // not the word
}

// ---------------------------------------------------------------- reports

static json_t *document_of(const char *config, const char *rows)
{
    Text text = {0};
    text_add(&text,
             "{\"experiment\":\"accuracy\",\"version\":\"1<2\",\"seed\":7,\"config\":%s,"
             "\"rows\":%s}",
             config, rows);
    json_t *document = rows_of(text_of(&text));
    text_free(&text);
    return document;
}

static void a_report_says_how_to_repeat_the_run(void **state)
{
    (void)state;
    json_t *document = document_of("{\"runs\":3,\"sealed\":false,\"delays\":[100.0,250.0]}", "[]");
    assert_null(report_problem(document));
    Text command = {0};
    report_command(document, &command);
    assert_string_equal(text_of(&command),
                        "fairlead lab run accuracy --delays 100,250 --runs 3 --seed 7 --plain");
    text_free(&command);
    Text page = {0};
    const ReportRun run = {"a<b", document, "2030-01-31 12:00 UTC", NULL};
    report_page(&run, 1, &page);
    assert_non_null(strstr(text_of(&page), ", 2030-01-31 12:00 UTC; the same command"));
    assert_non_null(strstr(text_of(&page), ">seed</td><td class=\"words\">7<"));
    assert_non_null(strstr(text_of(&page), ">date</td><td class=\"words\">2030-01-31 12:00 UTC<"));
    assert_non_null(strstr(text_of(&page), ">version</td><td class=\"words\">1&lt;2<"));
    assert_non_null(strstr(text_of(&page), "1&lt;2"));
    assert_null(strstr(text_of(&page), "http://127"));
    assert_null(strstr(text_of(&page), "<script"));
    text_free(&page);
    json_decref(document);
}

static void a_comparison_puts_rows_that_belong_together_side_by_side(void **state)
{
    (void)state;
    json_t *a = document_of("{\"runs\":1,\"sealed\":true,\"seconds\":1}",
                            "[{\"motion\":\"linear\",\"delay_ms\":100.0,\"mode\":\"local\","
                            "\"mean_error\":2.0},"
                            "{\"motion\":\"linear\",\"delay_ms\":300.0,\"mode\":\"local\","
                            "\"mean_error\":4.0}]");
    json_t *b = document_of("{\"runs\":1,\"sealed\":true,\"seconds\":2}",
                            "[{\"motion\":\"linear\",\"delay_ms\":300.0,\"mode\":\"local\","
                            "\"mean_error\":5.0}]");
    const ReportRun runs[] = {{"first", a, "2030-01-31", NULL}, {"second", b, "2031-01-31", NULL}};
    Text page = {0};
    report_page(runs, 2, &page);
    const char *text = text_of(&page);
    assert_non_null(strstr(text, ">2030-01-31<"));
    assert_non_null(strstr(text, ">2031-01-31<"));
    assert_non_null(strstr(text, "seconds")); // where they differ
    assert_non_null(strstr(text, "4.000<br>5.000 <span class=\"quiet\">+25.0 %</span>"));
    assert_non_null(strstr(text, "2.000<br>-"));
    text_free(&page);
    json_decref(a);
    json_decref(b);
}

static void a_comparison_has_every_row_of_every_run(void **state)
{
    (void)state;
    json_t *a = document_of("{\"runs\":1}", "[{\"motion\":\"linear\",\"delay_ms\":100.0,\"mode\":"
                                            "\"local\",\"mean_error\":2.0},"
                                            "{\"motion\":\"linear\",\"delay_ms\":100.0,\"mode\":"
                                            "\"local\",\"mean_error\":3.0}]");
    json_t *b = document_of("{\"runs\":1,\"only\":0.09}",
                            "[{\"motion\":\"linear\",\"delay_ms\":700.0,\"mode\":\"local\","
                            "\"mean_error\":7.0,\"clock_error_ms\":0.5},"
                            "{\"motion\":\"linear\",\"delay_ms\":100.0,\"mode\":\"local\","
                            "\"mean_error\":4.0}]");
    const ReportRun runs[] = {{"first", a, "", NULL}, {"second", b, "", NULL}};
    Text page = {0};
    report_page(runs, 2, &page);
    const char *text = text_of(&page);
    assert_non_null(strstr(text, "-<br>7.000</td>"));      // only the second has it
    assert_non_null(strstr(text, "2.000<br>4.000 <span")); // the first of two alike
    assert_non_null(strstr(text, "3.000<br>-</td>"));
    assert_non_null(strstr(text, ">only</td><td>-</td><td>0.09</td>"));
    assert_non_null(strstr(text, "<br>0.50")); // a column that the first does not fill
    text_free(&page);
    json_decref(a);
    json_decref(b);
}

static void what_is_no_result_is_refused_with_a_reason(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "[]",
        "{}",
        "{\"experiment\":3,\"config\":{},\"rows\":[]}",
        "{\"experiment\":\"x\",\"config\":[],\"rows\":[]}",
        "{\"experiment\":\"x\",\"config\":{},\"rows\":{}}",
        "{\"experiment\":\"x\",\"config\":{},\"rows\":[1]}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *document = rows_of(cases[i]);
        assert_non_null(report_problem(document));
        json_decref(document);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_rows_that_are_meant_are_drawn),
        cmocka_unit_test(without_rows_there_is_no_chart),
        cmocka_unit_test(one_value_and_zero_and_negative_ones_have_axes),
        cmocka_unit_test(logarithmic_axes_leave_out_what_has_no_logarithm),
        cmocka_unit_test(steps_are_round_and_about_six),
        cmocka_unit_test(the_interval_of_a_deviation_ends_at_nothing),
        cmocka_unit_test(a_report_says_how_to_repeat_the_run),
        cmocka_unit_test(a_comparison_puts_rows_that_belong_together_side_by_side),
        cmocka_unit_test(a_comparison_has_every_row_of_every_run),
        cmocka_unit_test(what_is_no_result_is_refused_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
