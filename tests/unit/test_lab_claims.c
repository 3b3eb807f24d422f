// lab/claims/claims: verdicts, and what was expected.
#include "support.h"

#include <stdio.h>

#include "lab/claims/claims.h"

static Estimate estimate(double mean, double ci95)
{
    Estimate e = {10, mean, ci95};
    return e;
}

static void a_verdict_needs_the_whole_interval(void **state)
{
    (void)state;
    assert_int_equal(judge_below(estimate(0.6, 0.05), 0.7), VERDICT_HOLDS);
    assert_int_equal(judge_below(estimate(0.6, 0.15), 0.7), VERDICT_FEW_RUNS);
    assert_int_equal(judge_below(estimate(0.8, 0.15), 0.7), VERDICT_FEW_RUNS);
    assert_int_equal(judge_below(estimate(0.8, 0.05), 0.7), VERDICT_FAILS);
    assert_int_equal(judge_above(estimate(0.8, 0.05), 0.7), VERDICT_HOLDS);
    assert_int_equal(judge_above(estimate(0.6, 0.05), 0.7), VERDICT_FAILS);
    assert_int_equal(judge_above(estimate(0.7, 0.05), 0.7), VERDICT_FEW_RUNS);
    assert_int_equal(judge_within(estimate(1.0, 0.05), 0.9, 1.1), VERDICT_HOLDS);
    assert_int_equal(judge_within(estimate(1.08, 0.05), 0.9, 1.1), VERDICT_FEW_RUNS);
    assert_int_equal(judge_within(estimate(1.2, 0.05), 0.9, 1.1), VERDICT_FAILS);
    assert_int_equal(judge_within(estimate(0.5, 0.05), 0.9, 1.1), VERDICT_FAILS);
}

static void one_run_or_none_decides_nothing(void **state)
{
    (void)state;
    const double value = 0.5;
    assert_int_equal(judge_below(estimate_mean(&value, 1), 0.7), VERDICT_FEW_RUNS);
    assert_int_equal(judge_above(estimate_mean(&value, 0), 0.1), VERDICT_FEW_RUNS);
    assert_int_equal(judge_within(estimate_mean(&value, 0), 0.1, 0.9), VERDICT_FEW_RUNS);
}

static void the_worse_of_two_materials_counts(void **state)
{
    (void)state;
    Finding finding = {0};
    finding_add(&finding, VERDICT_HOLDS, "bots %d", 1);
    assert_int_equal(finding.verdict, VERDICT_HOLDS);
    finding_add(&finding, VERDICT_FAILS, "match %d", 2);
    finding_add(&finding, VERDICT_FEW_RUNS, "other");
    assert_int_equal(finding.verdict, VERDICT_FAILS);
    assert_string_equal(text_of(&finding.measured), "bots 1; match 2; other");
    text_free(&finding.measured);
}

static void every_claim_is_there_once(void **state)
{
    (void)state;
    static const struct {
        const char *letter;
        int32_t count;
    } groups[] = {{"A", 8}, {"F", 23}, {"L", 1}, {"R", 15}, {"P", 5}, {"D", 11}};
    int32_t all = 0;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        for (int32_t n = 1; n <= groups[g].count; n++) {
            char id[16];
            snprintf(id, sizeof id, "%s%d", groups[g].letter, (int)n);
            assert_true(claim_find(id) >= 0);
            all++;
        }
    }
    assert_int_equal(all, claim_count);
    for (int32_t i = 0; i < claim_count; i++) {
        assert_int_equal(claim_find(claims[i].id), i);
    }
    assert_int_equal(claim_find("A9"), -1);
}

/// Whose doing is it, and how do we know?
static void what_does_not_hold_has_a_reason(void **state)
{
    (void)state;
    for (int32_t i = 0; i < 2 * claim_count; i++) {
        Verdict expected;
        int32_t line;
        const char *cause;
        const char *id = claims[i / 2].id;
        assert_int_equal(expectation_find(expectations_built_in, id, i % 2 == 1, &expected, &line),
                         FL_OK);
        if (expected == VERDICT_FAILS && claim_reason(id, &cause) == NULL) {
            fail_msg("%s does not hold, and nothing says why", id);
        }
    }
}

static void a_quick_look_contradicts_only_what_it_can_tell(void **state)
{
    (void)state;
    for (int32_t full = 0; full < 2; full++) {
        assert_false(verdict_changed(VERDICT_HOLDS, VERDICT_HOLDS, full == 1));
        assert_true(verdict_changed(VERDICT_HOLDS, VERDICT_FAILS, full == 1));
        assert_true(verdict_changed(VERDICT_NOT_YET, VERDICT_FEW_RUNS, full == 1));
        assert_true(verdict_changed(VERDICT_FEW_RUNS, VERDICT_CANNOT, full == 1));
        assert_true(verdict_changed(VERDICT_FEW_RUNS, VERDICT_FAILED, full == 1));
        assert_true(verdict_changed(VERDICT_FAILED, VERDICT_FAILED, full == 1));
        assert_true(verdict_changed(VERDICT_HOLDS, VERDICT_FEW_RUNS, full == 1));
        assert_int_equal(verdict_changed(VERDICT_FEW_RUNS, VERDICT_FAILS, full == 1), full);
    }
}

static void expectations_survive_writing_and_reading(void **state)
{
    (void)state;
    static ClaimSet set;
    FlRandom r = random_stream(1);
    Text before = {0};
    Verdict quick[CLAIMS_CAPACITY] = {VERDICT_NOT_YET};
    Verdict full[CLAIMS_CAPACITY] = {VERDICT_NOT_YET};
    for (int32_t round = 0; round < 20; round++) {
        bool is_full = random_chance(&r, 2);
        for (int32_t i = 0; i < claim_count; i++) {
            set.wanted[i] = random_chance(&r, 2);
            set.findings[i].verdict = (Verdict)fl_random_below(&r, VERDICTS);
            bool known = set.findings[i].verdict != VERDICT_NOT_YET &&
                         set.findings[i].verdict != VERDICT_FAILED; // those change nothing
            if (set.wanted[i] && known) {
                (is_full ? full : quick)[i] = set.findings[i].verdict;
            }
        }
        Text after = {0};
        expectations_write(text_of(&before), &set, is_full, &after);
        for (int32_t i = 0; i < claim_count; i++) {
            Verdict verdict;
            int32_t line;
            assert_int_equal(
                expectation_find(text_of(&after), claims[i].id, false, &verdict, &line), FL_OK);
            assert_int_equal(verdict, quick[i]);
            assert_int_equal(expectation_find(text_of(&after), claims[i].id, true, &verdict, &line),
                             FL_OK);
            assert_int_equal(verdict, full[i]);
        }
        text_free(&before);
        before = after;
    }
    text_free(&before);
}

static void a_line_that_says_nothing_sensible_is_named(void **state)
{
    (void)state;
    static const char *const bad[] = {"A1", "A1 holds", "A1 holds maybe", "A1 hold holds",
                                      "A1 holds holds holds"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Text text = {0};
        Verdict verdict;
        int32_t line;
        text_add(&text, "# first\n\nL1 holds -\n%s\n", bad[i]);
        assert_int_equal(expectation_find(text_of(&text), "L1", false, &verdict, &line), FL_OK);
        assert_int_equal(verdict, VERDICT_HOLDS);
        assert_int_equal(expectation_find(text_of(&text), "A1", false, &verdict, &line),
                         FL_BAD_VALUE);
        assert_int_equal(line, 4);
        text_free(&text);
    }
    Verdict verdict;
    int32_t line;
    assert_int_equal(expectation_find("", "A1", true, &verdict, &line), FL_NOT_FOUND);
    assert_int_equal(verdict, VERDICT_NOT_YET);
}

static void what_is_built_in_can_be_read(void **state)
{
    (void)state;
    for (int32_t i = 0; i < claim_count; i++) {
        Verdict verdict;
        int32_t line;
        assert_int_not_equal(
            expectation_find(expectations_built_in, claims[i].id, false, &verdict, &line),
            FL_BAD_VALUE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verdict_needs_the_whole_interval),
        cmocka_unit_test(one_run_or_none_decides_nothing),
        cmocka_unit_test(the_worse_of_two_materials_counts),
        cmocka_unit_test(every_claim_is_there_once),
        cmocka_unit_test(what_does_not_hold_has_a_reason),
        cmocka_unit_test(a_quick_look_contradicts_only_what_it_can_tell),
        cmocka_unit_test(expectations_survive_writing_and_reading),
        cmocka_unit_test(a_line_that_says_nothing_sensible_is_named),
        cmocka_unit_test(what_is_built_in_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
