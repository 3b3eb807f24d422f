// Who gets which update when: the table of policies, and the one there is.
#include "fairlead/send.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
// cmocka wants some of the above first
#include <cmocka.h>

static void base_sends_every_update_to_everybody_at_once(void **state)
{
    (void)state;
    FlSend send = fl_send_base();
    FlState here = {.time = FL_SEC(3)};
    FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, &here);
    for (int32_t count = 0; count < 10; count++) {
        bool due[11] = {false, true, false}; // one is owed from before
        FlSendView view = {FL_SEC(3), &motion, count};
        FlSendPlan plan = {due, count};
        due[count] = false;
        fl_send_trigger(&send, &view, &plan);
        for (int32_t r = 0; r < count; r++) {
            assert_true(due[r]);
        }
        assert_false(due[count]); // and nobody beyond
    }
}

static void every_policy_has_a_name_of_its_own(void **state)
{
    (void)state;
    assert_string_equal(fl_send_name(fl_send_base().policy), "base");
    for (int32_t i = 0; i < FL_SEND_POLICIES; i++) {
        assert_non_null(fl_send_name((FlSendPolicy)i));
        for (int32_t j = 0; j < i; j++) {
            assert_string_not_equal(fl_send_name((FlSendPolicy)i), fl_send_name((FlSendPolicy)j));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base_sends_every_update_to_everybody_at_once),
        cmocka_unit_test(every_policy_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
