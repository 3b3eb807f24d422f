// The experiments on fairness: figures that can be worked out another way, the bound, and liars.
#include "lab/experiments/fairness/fairness_setup.h"
#include "lab/experiments/liar/liar.h"
#include "lab/experiments/tradeoff/tradeoff.h"

#include "unit/support.h"

/// The bots for a minute, one run.
static Material bots(FlTime length)
{
    Material material = {0};
    LabRun run = {.seed = 5, .runs = 1};
    LabError error;
    assert_int_equal(material_bots(&run, length, &material, &error), LAB_OK);
    fairness_close_gaps(&material);
    return material;
}

static FairnessPlay play_of(const Material *material, const char *policies)
{
    FairnessPlay play = fairness_play_default(material, 0, 7);
    LabError error;
    assert_int_equal(fairness_add_list(&play, policies, &error), LAB_OK);
    return play;
}

// ---------------------------------------------------------------- figures

static void the_ledger_knows_the_true_errors(void **state)
{
    (void)state;
    Material material = bots(FL_SEC(60));
    FairnessPlay play = play_of(&material, FAIRNESS_PAPERS " equal-50 equal-100");
    FairnessFigures figures[FAIRNESS_POLICIES];
    LabError error;
    for (int32_t jitter = 0; jitter <= 100; jitter += 100) {
        play.jitter = FL_MS(jitter);
        assert_int_equal(fairness_play(&play, figures, NULL, &error), LAB_OK);
        for (int32_t p = 0; p < play.policy_count; p++) {
            for (int32_t r = 0; r < play.receiver_count; r++) {
                // Looks are 10 ms apart and clocks are estimated; what is under way at the end is
                // an expectation.
                double off = figures[p].ledger[r] - figures[p].aee[r];
                assert_true(fabs(off) < 0.02 * figures[p].aee[r] + 2.0);
                assert_true(figures[p].aee[r] > 0.0);
            }
        }
    }
    material_free(&material);
}

static void updates_are_counted_per_receiver(void **state)
{
    (void)state;
    Material material = bots(FL_SEC(60));
    FairnessPlay play = play_of(&material, "base base/3 deterministic");
    FairnessFigures f[3];
    LabError error;
    assert_int_equal(fairness_play(&play, f, NULL, &error), LAB_OK);
    for (int32_t p = 0; p < 3; p++) {
        int64_t sum = f[p].updates_to[0] + f[p].updates_to[1] + f[p].updates_to[2];
        assert_int_equal(sum, f[p].updates_sent);
    }
    assert_int_equal(f[0].updates_to[0], f[0].updates_to[2]);
    assert_true(3 * f[1].updates_sent >= f[0].updates_sent);
    assert_true((double)f[1].updates_sent < 0.36 * (double)f[0].updates_sent);
    // the farther the receiver, the larger its error; and base is the best there is for each
    assert_true(f[0].aee[0] > f[0].aee[1] && f[0].aee[1] > f[0].aee[2]);
    for (int32_t r = 0; r < 3; r++) {
        assert_true(f[1].aee[r] > f[0].aee[r]);
    }
    material_free(&material);
}

static void policies_do_not_disturb_each_other(void **state)
{
    (void)state;
    Material material = bots(FL_SEC(40));
    FairnessPlay alone = play_of(&material, "base/3");
    FairnessPlay together = play_of(&material, FAIRNESS_PAPERS);
    FairnessFigures one;
    FairnessFigures many[FAIRNESS_POLICIES];
    LabError error;
    assert_int_equal(fairness_play(&alone, &one, NULL, &error), LAB_OK);
    assert_int_equal(fairness_play(&together, many, NULL, &error), LAB_OK);
    assert_int_equal(one.updates_sent, many[1].updates_sent);
    assert_true(fabs(one.mean - many[1].mean) < 0.01 * one.mean);
    material_free(&material);
}

static void the_same_seed_gives_the_same_figures(void **state)
{
    (void)state;
    Material material = bots(FL_SEC(20));
    FairnessPlay play = play_of(&material, "probabilistic equal-50");
    FairnessFigures a[2];
    FairnessFigures b[2];
    LabError error;
    play.jitter = FL_MS(100);
    assert_int_equal(fairness_play(&play, a, NULL, &error), LAB_OK);
    assert_int_equal(fairness_play(&play, b, NULL, &error), LAB_OK);
    assert_memory_equal(a, b, sizeof a);
    material_free(&material);
}

// ---------------------------------------------------------------- the bound

static void nothing_above_base_has_a_lower_mean_than_the_bound(void **state)
{
    (void)state;
    FlRandom random = {.seed = 3, .stream = 1};
    for (int32_t i = 0; i < CASES(2000); i++) {
        double base[8];
        double any[8];
        int32_t count = 1 + (int32_t)fl_random_below(&random, 8);
        for (int32_t k = 0; k < count; k++) {
            base[k] = fl_random_between(&random, 0.0, 100.0);
            double more = fl_random_between(&random, -1.0, 1.0);
            any[k] = base[k] + (more > 0.0 ? 100.0 * more : 0.0);
        }
        Spread at;
        fairness_spread(any, count, &at.mean, &at.sd);
        double least = bound_mean(base, count, at.sd);
        assert_true(at.mean >= least - 1e-9);
        // and the bound is reached by its own level
        double level = fl_random_between(&random, 0.0, 100.0);
        Spread own = bound_at_level(base, count, level);
        assert_true(fabs(bound_mean(base, count, own.sd) - own.mean) < 1e-6 * (1.0 + own.mean) ||
                    own.sd < 1e-9);
    }
}

// ---------------------------------------------------------------- liars

static LiarFigures lie(const FairnessPlay *game, const FlSend *send, FlTime claims, FlTime holds)
{
    LiarPlay play = {game, *send, 2, claims, holds};
    LiarFigures figures;
    LabError error;
    assert_int_equal(liar_play(&play, &figures, &error), LAB_OK);
    return figures;
}

static void the_ledger_alone_gives_what_sessions_give(void **state)
{
    (void)state;
    Material material = bots(FL_SEC(60));
    FairnessPlay play = play_of(&material, "base");
    FairnessFigures whole;
    LabError error;
    // A session rounds what it tells, so triggers differ a little; with jitter updates overtake
    // each other, differently here and there.
    const double apart[] = {0.02, 0.06};
    for (int32_t i = 0; i < 2; i++) {
        play.jitter = i * FL_MS(180);
        assert_int_equal(fairness_play(&play, &whole, NULL, &error), LAB_OK);
        LiarFigures alone = lie(&play, &play.policy[0], 0, 0);
        for (int32_t r = 0; r < 3; r++) {
            assert_true(fabs(alone.aee[r] - whole.aee[r]) < apart[i] * whole.aee[r] + 0.2);
        }
    }
    material_free(&material);
}

static void a_contradicting_receiver_is_caught_and_gains_nothing(void **state)
{
    (void)state;
    Material material = bots(FL_SEC(120));
    FairnessPlay play = play_of(&material, "schedule1 probabilistic deterministic equal-50");
    for (int32_t p = 0; p < play.policy_count; p++) {
        LiarFigures honest = lie(&play, &play.policy[p], 0, 0);
        LiarFigures later = lie(&play, &play.policy[p], FL_SEC(1), 0);
        LiarFigures earlier = lie(&play, &play.policy[p], -FL_SEC(1), 0);
        assert_int_equal(honest.contradictions, 0);
        assert_true(later.contradictions >= later.updates_to[2] - 10);
        assert_true(later.contradictions > 0);
        assert_true(later.aee[2] >= 0.95 * honest.aee[2]);
        // what is told does not matter: neither is believed
        assert_memory_equal(later.aee, earlier.aee, sizeof later.aee);
    }
    material_free(&material);
}

static void a_delaying_receiver_gains_and_the_cap_bounds_its_share(void **state)
{
    (void)state;
    Material material = bots(FL_SEC(200));
    FairnessPlay play = play_of(&material, "deterministic");
    LiarFigures honest = lie(&play, &play.policy[0], 0, 0);
    LiarFigures far = lie(&play, &play.policy[0], 0, FL_MS(1500));
    FlSend capped = play.policy[0];
    capped.share_cap = 0.36;
    LiarFigures held = lie(&play, &capped, 0, FL_MS(1500));
    assert_int_equal(far.contradictions, 0);
    assert_true(far.updates_to[2] > honest.updates_to[2]);
    assert_true((double)held.updates_to[2] < 0.38 * (double)held.updates_sent);
    assert_true(held.updates_to[2] < far.updates_to[2]);
    material_free(&material);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ledger_knows_the_true_errors),
        cmocka_unit_test(updates_are_counted_per_receiver),
        cmocka_unit_test(policies_do_not_disturb_each_other),
        cmocka_unit_test(the_same_seed_gives_the_same_figures),
        cmocka_unit_test(nothing_above_base_has_a_lower_mean_than_the_bound),
        cmocka_unit_test(the_ledger_alone_gives_what_sessions_give),
        cmocka_unit_test(a_contradicting_receiver_is_caught_and_gains_nothing),
        cmocka_unit_test(a_delaying_receiver_gains_and_the_cap_bounds_its_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
