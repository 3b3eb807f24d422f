// Decimal numbers: the same doubles as strtod's, times to the nanosecond, integers to the last bit.
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/trace/number.h"

static double value_of(const char *text)
{
    Decimal decimal;
    const char *end = decimal_scan(text, &decimal);
    assert_ptr_equal(end, text + strlen(text));
    return decimal_value(&decimal, text);
}

static void assert_same_as_strtod(const char *text)
{
    double got = value_of(text);
    double want = strtod(text, NULL);
    if (memcmp(&got, &want, sizeof got) != 0) {
        fail_msg("%s: %.17g, should be %.17g", text, got, want);
    }
}

static void numbers_round_as_strtod_rounds(void **state)
{
    (void)state;
    const char *const hard[] = {
        "0",
        "-0",
        "+0.0",
        ".5",
        "5.",
        "9007199254740993",
        "1e22",
        "1e23",
        "1e-22",
        "1e-23",
        "5e-324",
        "2.4703282292062327e-324",
        "1e308",
        "1e309",
        "-1e999",
        "0e99999",
        "1E+2",
        "123456789012345678901234567890",
        "0.1",
        "1.0e-01",
        "9.2e18",
        "18446744073709551616",
        "8.5e-10000000000",
    };
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) {
        assert_same_as_strtod(hard[i]);
    }
    FlRandom random = {.seed = 7};
    for (int32_t i = 0; i < 300000; i++) {
        char text[80];
        double unit = fl_random_between(&random, -1.0, 1.0);
        int digits = (int)fl_random_below(&random, 20);
        double scale = fl__exp(fl_random_between(&random, -60.0, 60.0));
        if (i % 2 == 0) {
            snprintf(text, sizeof text, "%.*f", digits % 12, unit * 1e4);
        } else {
            snprintf(text, sizeof text, "%.*e", digits, unit * scale);
        }
        assert_same_as_strtod(text);
    }
}

static void what_is_no_number_is_refused(void **state)
{
    (void)state;
    const char *const bad[] = {"",    "-",  "+",   ".",   "-.",  "e5",
                               ".e5", "1e", "1e+", "nan", "inf", " 1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Decimal decimal;
        assert_null(decimal_scan(bad[i], &decimal));
    }
    double value = 0.0;
    assert_false(number_read("1 ", &value));
    assert_false(number_read("0x10", &value));
    assert_false(number_read("1e400", &value));
    assert_true(number_read("1e-400", &value));
}

static FlTime time_of(const char *text)
{
    Decimal decimal;
    FlTime time = -1;
    assert_non_null(decimal_scan(text, &decimal));
    assert_true(decimal_nanoseconds(&decimal, text, &time));
    return time;
}

static void times_are_exact_to_the_nanosecond(void **state)
{
    (void)state;
    assert_int_equal(time_of("0.1"), 100000000);
    assert_int_equal(time_of("-12.345678901"), -12345678901);
    assert_int_equal(time_of("1700000000.123456789"), 1700000000123456789);
    assert_int_equal(time_of("0.0000000004999"), 0);
    assert_int_equal(time_of("0.0000000005"), 1);
    assert_int_equal(time_of("-0.0000000005"), -1);
    assert_int_equal(time_of("1e-30"), 0);
    assert_int_equal(time_of("0e500"), 0);
    assert_int_equal(time_of("4e9"), 4000000000000000000);
    assert_int_equal(time_of("0.333333333333333333333333333"), 333333333);
    assert_int_equal(time_of("0.010000000000000000000000000000000001"), 10000000);
}

static void times_beyond_reason_are_refused(void **state)
{
    (void)state;
    const char *const bad[] = {"4.000000001e9", "-1e10", "1e99999", "99999999999999999999999",
                               "1e200000"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Decimal decimal;
        FlTime time = 0;
        assert_non_null(decimal_scan(bad[i], &decimal));
        assert_false(decimal_nanoseconds(&decimal, bad[i], &time));
    }
}

static bool integer_of(const char *text, int64_t *value)
{
    return integer_read(text, text + strlen(text), value);
}

static void integers_reach_both_ends_and_no_further(void **state)
{
    (void)state;
    int64_t value = 0;
    assert_true(integer_of("9223372036854775807", &value));
    assert_true(value == INT64_MAX);
    assert_true(integer_of("-9223372036854775808", &value));
    assert_true(value == INT64_MIN);
    assert_true(integer_of("+007", &value));
    assert_int_equal(value, 7);
    const char *const bad[] = {"",    "-",  "9223372036854775808", "-9223372036854775809", "1.0",
                               "1e3", " 1", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(integer_of(bad[i], &value));
    }
}

static void numbers_are_written_with_as_few_digits_as_name_them(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0.09, "0.09"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {1.0 / 3.0, "0.3333333333333333"},
                 {20.1, "20.1"},
                 {-0.0, "-0"},
                 {100.0, "100"},
                 {1e22, "1e22"},
                 {5e-324, "4.94065645841247e-324"},
                 {9007199254740992.0, "9007199254740992"},
                 {1e-7, "1e-7"},
                 {-2.5e-10, "-2.5e-10"},
                 {1e15, "1e15"},
                 {123456.0, "123456"}};
    char text[NUMBER_TEXT_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        number_text(cases[i].value, text);
        assert_string_equal(text, cases[i].text);
    }
    FlRandom r = random_stream(9200);
    for (int32_t i = 0; i < CASES(20000); i++) {
        double value = double_of(fl_random_next(&r));
        double again = 0.0;
        if (isfinite(value)) {
            number_text(value, text);
            assert_true(number_read(text, &again) && bits_of(again) == bits_of(value));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_round_as_strtod_rounds),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(times_are_exact_to_the_nanosecond),
        cmocka_unit_test(times_beyond_reason_are_refused),
        cmocka_unit_test(numbers_are_written_with_as_few_digits_as_name_them),
        cmocka_unit_test(integers_reach_both_ends_and_no_further),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
