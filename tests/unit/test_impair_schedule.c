// Changes over time, read from text.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "fairlead/impair.h"
#include "impair/impair.h"

#define CAPACITY 32

static const char example[] = "# a match that gets worse\n"
                              "at 0 delay 50\r\n"
                              "\n"
                              "at 12.5 up delay 200 jitter 30 loss 5   # mobile\n"
                              "\tat 12.5 down loss 1\n"
                              "at 20 pair 3 down rate 512 keep-order on\n"
                              "at 30 distribution uniform";

static FlResult parse(const char *text, FlImpairChange *out, int32_t *count, FlImpairError *error)
{
    return fl__impair_schedule_parse(text, strlen(text), out, CAPACITY, count, error);
}

static void a_schedule_is_read_line_by_line(void **state)
{
    (void)state;
    FlImpairChange changes[CAPACITY];
    int32_t count = 0;
    assert_int_equal(parse(example, changes, &count, NULL), FL_OK);
    assert_int_equal(count, 8);
    assert_int_equal(changes[0].at, 0);
    assert_int_equal(changes[1].at, FL_MS(12500));
    assert_int_equal(changes[1].directions, FL_DIRECTION_UP);
    assert_int_equal(changes[1].line, 4);
    assert_int_equal(changes[4].directions, FL_DIRECTION_DOWN);
    assert_int_equal(changes[5].pair, 3);
    assert_int_equal(changes[7].pair, -1);
    assert_int_equal(fl__impair_schedule_next(changes, count, -1), 0);
    assert_int_equal(fl__impair_schedule_next(changes, count, 0), FL_MS(12500));
    assert_int_equal(fl__impair_schedule_next(changes, count, FL_SEC(30)), FL_FOREVER);
}

static void changes_reach_their_pair_and_direction_in_time(void **state)
{
    (void)state;
    FlImpairChange changes[CAPACITY];
    int32_t count = 0;
    assert_int_equal(parse(example, changes, &count, NULL), FL_OK);
    FlImpairSettings up = fl_impair_def_default().settings;
    FlImpairSettings down = up;
    FlImpairSettings third = up;
    FlTime to = FL_SEC(15);
    assert_int_equal(
        fl__impair_schedule_apply(changes, count, -1, to, 0, FL_DIRECTION_UP, &up, NULL), FL_OK);
    assert_int_equal(up.delay_ns, FL_MS(200));
    assert_int_equal(up.loss_ppm, 50000);
    assert_int_equal(
        fl__impair_schedule_apply(changes, count, -1, to, 0, FL_DIRECTION_DOWN, &down, NULL),
        FL_OK);
    assert_int_equal(down.delay_ns, FL_MS(50));
    assert_int_equal(down.loss_ppm, 10000);
    assert_int_equal(fl__impair_schedule_apply(changes, count, -1, FL_SEC(20), 3, FL_DIRECTION_DOWN,
                                               &third, NULL),
                     FL_OK);
    assert_int_equal(third.rate_bytes_s, 64000);
    assert_true(third.keep_order);
    // From where the last step ended; nothing happens twice and nothing is left out.
    up.loss_ppm = 7;
    assert_int_equal(
        fl__impair_schedule_apply(changes, count, to, FL_SEC(60), 0, FL_DIRECTION_UP, &up, NULL),
        FL_OK);
    assert_int_equal(up.loss_ppm, 7);
    assert_int_equal(up.shape, FL_SHAPE_UNIFORM);
}

static void malformed_lines_are_refused_with_line_and_reason(void **state)
{
    (void)state;
    const struct {
        const char *text;
        const char *reason;
    } bad[] = {
        {"at 1 delay 5\nin 3 delay 4", "a line starts with 'at SECONDS', not 'in'"},
        {"at 1 delay 5\nat", "'at' needs seconds such as 12.5, not ''"},
        {"at 1 delay 5\nat -3 delay 1", "'at' needs seconds such as 12.5, not '-3'"},
        {"at 1 delay 5\nat 99999999999 delay 1",
         "'at' needs seconds such as 12.5, not '99999999999'"},
        {"at 1 delay 5\nat 0.5 delay 1",
         "lines are ordered by time, and this one is earlier than the last"},
        {"at 1 delay 5\nat 2", "there is no setting ''"},
        {"at 1 delay 5\nat 2 sideways delay 1", "there is no setting 'sideways'"},
        {"at 1 delay 5\nat 2 delay", "'delay' needs a value"},
        {"at 1 delay 5\nat 2 delay # 3", "'delay' needs a value"},
        {"at 1 delay 5\nat 2 delay x", "a plain number such as 12.5 is needed, not 'x'"},
        {"at 1 delay 5\nat 2 loss 101", "loss and burst-loss are 0 to 100 percent"},
        {"at 1 delay 5\nat 2 pair 1.5 loss 1", "'pair' needs a whole number, not '1.5'"},
        {"at 1 delay 5\nat 2 pair up loss 1", "'pair' needs a whole number, not 'up'"},
        {"at 1 delay 5\nat 2 delay 1 up", "there is no setting 'up'"},
        {"at 1 delay 5\nat 2 \x01z\xff 1", "there is no setting '?z?'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        FlImpairChange changes[CAPACITY];
        int32_t count = 99;
        FlImpairError error;
        assert_int_equal(parse(bad[i].text, changes, &count, &error), FL_BAD_VALUE);
        assert_int_equal(count, 0);
        assert_int_equal(error.line, 2);
        assert_string_equal(error.text, bad[i].reason);
        assert_int_equal(parse(bad[i].text, changes, &count, NULL), FL_BAD_VALUE);
    }
}

static void too_many_changes_are_refused(void **state)
{
    (void)state;
    FlImpairChange changes[2];
    int32_t count = 99;
    FlImpairError error;
    const char text[] = "at 0 delay 1 loss 1\nat 1 loss 2";
    assert_int_equal(fl__impair_schedule_parse(text, sizeof text - 1, changes, 2, &count, &error),
                     FL_FULL);
    assert_int_equal(count, 0);
    assert_int_equal(error.line, 2);
    assert_int_equal(fl__impair_schedule_parse(text, 0, NULL, 0, &count, &error), FL_OK);
}

// Every prefix and every changed byte: an answer, and no byte read outside (AddressSanitizer
// watches a copy of exact size).
static void truncated_and_damaged_text_does_no_harm(void **state)
{
    (void)state;
    FlImpairChange changes[CAPACITY];
    for (size_t length = 0; length < sizeof example; length++) {
        char *copy = malloc(length + (length == 0));
        assert_non_null(copy);
        memcpy(copy, example, length);
        int32_t count = 0;
        FlImpairError error = {0, ""};
        FlResult result =
            fl__impair_schedule_parse(copy, length, changes, CAPACITY, &count, &error);
        assert_true(result == FL_OK ||
                    (result == FL_BAD_VALUE && error.line > 0 && error.text[0] != '\0'));
        for (size_t i = 0; i < length; i++) {
            char was = copy[i];
            copy[i] = (char)(was ^ (1 << (i + length) % 8));
            (void)!fl__impair_schedule_parse(copy, length, changes, CAPACITY, &count, NULL);
            copy[i] = was;
        }
        free(copy);
    }
}

static void a_schedule_that_leads_to_nonsense_is_found_before_it_runs(void **state)
{
    (void)state;
    const char text[] = "at 1 burst-gap 1.5\nat 1 burst-length 1.5\nat 2 burst-length 9";
    FlImpairChange changes[CAPACITY];
    int32_t count = 0;
    FlImpairError error;
    assert_int_equal(parse(text, changes, &count, &error), FL_OK);
    FlImpairSettings settings = fl_impair_def_default().settings;
    assert_int_equal(fl__impair_schedule_apply(changes, count, -1, FL_FOREVER, -1, FL_DIRECTION_UP,
                                               &settings, &error),
                     FL_BAD_VALUE);
    assert_int_equal(error.line, 2);
    // Two lines at one moment belong together: in between, the settings need not fit.
    const char fine[] = "at 1 burst-gap 1.5\nat 1 burst-length 9";
    settings = fl_impair_def_default().settings;
    settings.burst_length_ns = FL_US(1500);
    assert_int_equal(parse(fine, changes, &count, &error), FL_OK);
    assert_int_equal(fl__impair_schedule_apply(changes, count, -1, FL_FOREVER, -1, FL_DIRECTION_UP,
                                               &settings, &error),
                     FL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_schedule_is_read_line_by_line),
        cmocka_unit_test(changes_reach_their_pair_and_direction_in_time),
        cmocka_unit_test(malformed_lines_are_refused_with_line_and_reason),
        cmocka_unit_test(too_many_changes_are_refused),
        cmocka_unit_test(truncated_and_damaged_text_does_no_harm),
        cmocka_unit_test(a_schedule_that_leads_to_nonsense_is_found_before_it_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
