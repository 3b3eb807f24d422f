// Policies as names: what they are called, and what texts mean.
#include "fairlead/send.h"

#include "send/send.h"
#include "unit/support.h"

static void every_policy_has_a_name_of_its_own(void **state)
{
    (void)state;
    assert_string_equal(fl__send_name(FL_SEND_BASE), "base");
    for (int32_t i = 0; i < FL_SEND_POLICIES; i++) {
        assert_non_null(fl__send_name((FlSendPolicy)i));
        for (int32_t j = 0; j < i; j++) {
            assert_string_not_equal(fl__send_name((FlSendPolicy)i), fl__send_name((FlSendPolicy)j));
        }
    }
}

static void a_text_names_a_policy_and_comes_back_the_same(void **state)
{
    (void)state;
    const char *texts[] = {
        "base",
        "base/3",
        "base/1000",
        "schedule1",
        "schedule1-thesis",
        "schedule2",
        "probabilistic",
        "probabilistic-2005",
        "probabilistic-fixed",
        "probabilistic-0,1,0",
        "probabilistic-2005-1,1,0",
        "probabilistic/12-2005-255,255,255",
        "deterministic",
        "deterministic-0,1,0",
        "deterministic-1,1,1",
        "equal-0",
        "equal-50",
        "equal-100",
        "equal/5-7",
        "equal/2.5-100",
        "equal/2.05-0",
        "focus",
        "focus+equal",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        FlSend send;
        char text[FL_SEND_TEXT_BYTES];
        assert_int_equal(fl_send_parse(texts[i], &send), FL_OK);
        assert_true(fl__send_valid(&send));
        fl_send_text(&send, text);
        assert_string_equal(text, texts[i]);
    }
}

static void makers_and_texts_mean_the_same(void **state)
{
    (void)state;
    FlSend third = fl_send_make(FL_SEND_BASE);
    third.every = 3;
    FlSend thesis = fl_send_make(FL_SEND_SCHEDULE1);
    thesis.form = FL_FORM_THESIS;
    FlSend first = fl_send_make(FL_SEND_PROBABILISTIC), fixed = first;
    first.form = FL_FORM_2005;
    fixed.form = FL_FORM_FIXED;
    FlSend appendix = fl_send_make(FL_SEND_PROBABILISTIC);
    appendix.form = FL_FORM_APPENDIX;
    appendix.weights = (FlSendWeights){0, 0, 1};
    FlSend recent = fl_send_make(FL_SEND_DETERMINISTIC);
    recent.weights = (FlSendWeights){0, 1, 0};
    FlSend fair = fl_send_make(FL_SEND_EQUAL);
    fair.fairness_percent = 70;
    const struct {
        FlSend send;
        const char *text;
    } rows[] = {
        {fl_send_make(FL_SEND_BASE), "base"},
        {third, "base/3"},
        {fl_send_make(FL_SEND_SCHEDULE1), "schedule1"},
        {thesis, "schedule1-thesis"},
        {fl_send_make(FL_SEND_SCHEDULE2), "schedule2"},
        {fl_send_make(FL_SEND_PROBABILISTIC), "probabilistic"},
        {first, "probabilistic-2005"},
        {fixed, "probabilistic-fixed"},
        {appendix, "probabilistic-appendix-0,0,1"},
        {recent, "deterministic-0,1,0"},
        {fl_send_make(FL_SEND_EQUAL), "equal-50"},
        {fair, "equal-70"},
        {fl_send_make(FL_SEND_FOCUS), "focus"},
        {fl_send_make(FL_SEND_FOCUS_EQUAL), "focus+equal"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[FL_SEND_TEXT_BYTES];
        fl_send_text(&rows[i].send, text);
        assert_string_equal(text, rows[i].text);
        FlSend read;
        assert_int_equal(fl_send_parse(text, &read), FL_OK);
        assert_int_equal(read.policy, rows[i].send.policy);
        assert_int_equal(read.form, rows[i].send.form);
        assert_int_equal(read.every, rows[i].send.every);
        assert_int_equal(read.fairness_percent, rows[i].send.fairness_percent);
        assert_int_equal(read.starvation_ns, rows[i].send.starvation_ns);
        assert_memory_equal(&read.weights, &rows[i].send.weights, sizeof read.weights);
    }
}

static void nonsense_names_no_policy(void **state)
{
    (void)state;
    const char *texts[] = {"",
                           "bas",
                           "base ",
                           "base/",
                           "base/0",
                           "base/03",
                           "base/1001",
                           "base-50",
                           "equal",
                           "equal-",
                           "equal-101",
                           "equal-050",
                           "equal-5x",
                           "schedule3",
                           "schedule1-2005",
                           "schedule2-thesis",
                           "schedule1/3",
                           "deterministic-0,0,0",
                           "deterministic-1,0",
                           "deterministic-1,0,0,0",
                           "deterministic-2005",
                           "deterministic-256,0,0",
                           "probabilistic-",
                           "equal-99999999999",
                           "focus/3",
                           "focus-75",
                           "focus+",
                           "focus+equal-50",
                           "probabilistic-thesis"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        FlSend send;
        assert_int_equal(fl_send_parse(texts[i], &send), FL_NOT_FOUND);
        assert_int_equal(send.policy, FL_SEND_BASE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_has_a_name_of_its_own),
        cmocka_unit_test(a_text_names_a_policy_and_comes_back_the_same),
        cmocka_unit_test(makers_and_texts_mean_the_same),
        cmocka_unit_test(nonsense_names_no_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
