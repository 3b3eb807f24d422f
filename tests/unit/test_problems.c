// What is wrong with a definition: whichever it is, the sentence names the field, its value and its
// range; and what creates something from it answers FL_BAD_VALUE.
#include "fairlead/impair.h"
#include "fairlead/net.h"
#include "fairlead/predict.h"
#include "fairlead/session.h"

#include "support.h"

#include <string.h>

#define EXPECT_SOUND(def, problem)                                                                 \
    do {                                                                                           \
        FlError e_;                                                                                \
        assert_int_equal(problem(&(def), &e_), FL_OK);                                             \
        assert_string_equal(e_.text, "");                                                          \
    } while (0)

#define EXPECT_WRONG(def, problem, words)                                                          \
    do {                                                                                           \
        FlError e_;                                                                                \
        assert_int_equal(problem(&(def), &e_), FL_BAD_VALUE);                                      \
        if (strstr(e_.text, words) == NULL) {                                                      \
            fail_msg("'%s' is not in '%s'", words, e_.text);                                       \
        }                                                                                          \
    } while (0)

/// A default is sound; with one field set to a value it is not, and the sentence has these words.
#define CHECK(Type, default_fn, problem, field, value, words)                                      \
    do {                                                                                           \
        Type d_ = default_fn();                                                                    \
        EXPECT_SOUND(d_, problem);                                                                 \
        d_.field = value;                                                                          \
        EXPECT_WRONG(d_, problem, words);                                                          \
        Type zero_;                                                                                \
        memset(&zero_, 0, sizeof zero_);                                                           \
        EXPECT_WRONG(zero_, problem, "begin with " #default_fn "()");                              \
    } while (0)

static void modules_say_field_value_and_range(void **state)
{
    (void)state;
    CHECK(FlShowDef, fl_show_def_default, fl_show_def_problem, warp, 0.75,
          "warp is 0.75: it must be above 0 to 0.5.");
    CHECK(FlShowDef, fl_show_def_default, fl_show_def_problem, catch_up, (double)NAN,
          "it must be above 0.");
    CHECK(FlDeltaDef, fl_delta_def_default, fl_delta_def_problem, initial_ns, FL_SEC(1),
          "initial_ns must be from low_ns to high_ns.");
    CHECK(FlLinkDef, fl_link_def_default, fl_link_def_problem, sent_capacity, 100,
          "sent_capacity is 100: it must be a power of two from 16 to 4096.");
    CHECK(FlLinkDef, fl_link_def_default, fl_link_def_problem, rate_bytes_s, 1e12,
          "rate_bytes_s must be from");
    CHECK(FlLedgerDef, fl_ledger_def_default, fl_ledger_def_problem, receiver_capacity, 0,
          "receiver_capacity is 0: it must be at least 1.");
    CHECK(FlAttentionDef, fl_attention_def_default, fl_attention_def_problem, metre, -1.0,
          "metre is -1");
    CHECK(FlClockDef, fl_clock_def_default, fl_clock_def_problem, drift_limit_ppm, 20000.0,
          "drift_limit_ppm is 20000: it must be 0 to 10000.");
    CHECK(FlExporterDef, fl_exporter_def_default, fl_exporter_def_problem, trigger.distance, -0.5,
          "trigger.distance is -0.5: it must be at least 0.");
    CHECK(FlImpairDef, fl_impair_def_default, fl_impair_def_problem, settings.loss_ppm, -1,
          "settings: ");
    CHECK(FlNetDef, fl_net_def_default, fl_net_def_problem, batch, 0,
          "batch is 0: it must be 1 to");
    CHECK(FlSealClientDef, fl_seal_client_def_default, fl_seal_client_def_problem, ask_ns, 0,
          "ask_ns is 0: it must be at least 1.");
}

static void what_a_game_defines_says_it_too(void **state)
{
    (void)state;
    CHECK(FlEntityDef, fl_entity_def_default, fl_entity_def_problem, trigger.silence_ns, 0,
          "trigger.silence_ns is 0: it must be at least 1.");
    CHECK(FlWorldDef, fl_world_def_default, fl_world_def_problem, precision, 0.0, "precision is 0");
    FlPredictDef predict = fl_predict_def_default();
    predict.state_bytes = 16;
    EXPECT_WRONG(predict, fl_predict_def_problem, "step_fn is NULL");
    predict.tick_hz = 0;
    EXPECT_WRONG(predict, fl_predict_def_problem, "tick_hz is 0: it must be 1 to 1000.");
    FlSealServerDef seal = fl_seal_server_def_default();
    EXPECT_WRONG(seal, fl_seal_server_def_problem, "address_count is 0: it must be 1 to 8.");
    seal.address_count = 1;
    EXPECT_WRONG(seal, fl_seal_server_def_problem, "address must be as clients reach us");
    FlSessionDef session = fl_session_def_default();
    EXPECT_SOUND(session, fl_session_def_problem);
    session.tuning.show.warp = 2.0;
    EXPECT_WRONG(session, fl_session_def_problem, "tuning.show.warp is 2: it must be above 0");
    session = fl_session_def_default();
    session.tuning.link.send_bytes = 1;
    EXPECT_WRONG(session, fl_session_def_problem, "tuning.link.send_bytes is 1: it must be");
    session = fl_session_def_default();
    session.peer_capacity = 0;
    EXPECT_WRONG(session, fl_session_def_problem, "peer_capacity is 0: it must be 1 to");
}

static void what_is_made_from_them_answers_alike(void **state)
{
    (void)state;
    FlLinkDef link_def = fl_link_def_default();
    FlLink *link = NULL;
    link_def.timeout_ns = 0;
    assert_int_equal(fl_link_create(&link_def, 0, &link), FL_BAD_VALUE);
    FlNetDef net_def = fl_net_def_default();
    FlNet *net = NULL;
    net_def.packet_bytes = 0;
    assert_int_equal(fl_net_create(&net_def, &net), FL_BAD_VALUE);
    FlLedgerDef ledger_def = fl_ledger_def_default();
    FlLedger *ledger = NULL;
    ledger_def.path_capacity = 12;
    assert_int_equal(fl_ledger_create(&ledger_def, &ledger), FL_BAD_VALUE);
    assert_true(link == NULL && net == NULL && ledger == NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_say_field_value_and_range),
        cmocka_unit_test(what_a_game_defines_says_it_too),
        cmocka_unit_test(what_is_made_from_them_answers_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
