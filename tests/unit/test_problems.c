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

static void free_nothing(void *ctx, void *bytes, size_t count)
{
    (void)ctx, (void)bytes, (void)count;
}

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

static void parts_of_a_session_say_it_with_their_way(void **state)
{
    (void)state;
#define WRONG(field, value, words)                                                                 \
    do {                                                                                           \
        FlSessionDef d_ = fl_session_def_default();                                                \
        d_.field = value;                                                                          \
        EXPECT_WRONG(d_, fl_session_def_problem, words);                                           \
    } while (0)
    WRONG(timeout_ns, FL_SEC(7200), "timeout_ns is 7200000000000: it must be 1 to 1800000000000.");
    WRONG(tuning.link.ack_delay_ns, FL_SEC(20), "it must be 0 to 10000000000.");
    WRONG(peer_capacity, 2000, "it must be 1 to 1023: at most 4096, and below world.entity_capa");
    WRONG(tuning.calls.life_ns, FL_SEC(31),
          "tuning.calls.life_ns is 31000000000: it must be 1 to 30000000000.");
    WRONG(tuning.calls.asked_capacity, 0, "tuning.calls.asked_capacity is 0: it must be 1 to 4096");
    WRONG(tuning.calls.cookie, 0, "tuning.calls.cookie is 0: begin with fl_session_def_default()");
    WRONG(tuning.lags.slew_ppm, 1, "tuning.lags.slew_ppm is 1: it must be 1000 to 500000.");
    WRONG(tuning.lags.probe_ns, 0, "tuning.lags.probe_ns is 0: it must be at least 1.");
    WRONG(tuning.lags.choice, FL_LAGS_CHOICES, "tuning.lags.choice is 3: it must be 0 to 2.");
    WRONG(tuning.focus.share, 1.5, "tuning.focus.share is 1.5: it must be 0 to 1.");
    WRONG(tuning.focus.frame_ns, 0, "tuning.focus.frame_ns is 0: it must be at least 1.");
    WRONG(tuning.crowd.cookie, 7, "tuning.crowd.cookie is 7: begin with fl_session_def_default()");
    WRONG(tuning.crowd.light_capacity, 65, "tuning.crowd.light_capacity is above 64");
    WRONG(alloc.free_fn, free_nothing, "alloc: set both functions, or neither.");
#undef WRONG
}

static void a_token_says_it_too(void **state)
{
    (void)state;
    FlSealTokenDef token = {.create_s = 5, .expire_s = 6, .timeout_s = 10, .address_count = 1};
    EXPECT_WRONG(token, fl_seal_token_def_problem, "address[0] is none a token can carry");
    token.address[0].family = FL_FAMILY_IPV4;
    token.address[0].port = 4000;
    EXPECT_SOUND(token, fl_seal_token_def_problem);
    token.address_count = 33;
    EXPECT_WRONG(token, fl_seal_token_def_problem, "address_count is 33: it must be 1 to 32.");
    token.address_count = 1;
    token.timeout_s = 0;
    EXPECT_WRONG(token, fl_seal_token_def_problem, "timeout_s is 0: it must be above 0, or negat");
    token.timeout_s = 10;
    token.expire_s = 5;
    EXPECT_WRONG(token, fl_seal_token_def_problem, "expire_s is 5: it must be above create_s, 5.");
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
        cmocka_unit_test(parts_of_a_session_say_it_with_their_way),
        cmocka_unit_test(a_token_says_it_too),
        cmocka_unit_test(what_is_made_from_them_answers_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
