// A network that changes while the fairness experiment plays: what replays of recorded sessions are
// played over.
#include "lab/experiments/fairness/fairness.h"
#include "lab/world/play.h"

#include "unit/support.h"

#define LENGTH FL_SEC(20)

static Material bots(void)
{
    Material material = {0};
    LabRun run = {.seed = 5, .runs = 1};
    LabError error;
    assert_int_equal(material_bots(&run, LENGTH, &material, &error), LAB_OK);
    fairness_close_gaps(&material);
    return material;
}

static FairnessPlay play_of(const Material *material)
{
    FairnessPlay play = fairness_play_default(material, 0, 7);
    assert_true(fairness_add_policy(&play, "base"));
    assert_true(fairness_add_policy(&play, "schedule1"));
    return play;
}

// ---------------------------------------------------------------- weathers

/// What fairness_play makes of these delays by itself.
static void steady(const void *ctx, int32_t receiver, FlTime time, FlImpairSettings *out,
                   FlImpairSettings *back)
{
    const FairnessPlay *play = (const FairnessPlay *)ctx;
    assert_true(time >= 0 && time <= LENGTH);
    *out = play_way(play->delay[receiver], play->jitter, 0.0);
    *back = *out;
}

/// For 8 s in the middle nothing gets through to receiver 0.
static void cut_off(const void *ctx, int32_t receiver, FlTime time, FlImpairSettings *out,
                    FlImpairSettings *back)
{
    steady(ctx, receiver, time, out, back);
    bool cut = receiver == 0 && time >= FL_SEC(6) && time < FL_SEC(14);
    out->loss_ppm = cut ? 1000000 : 0;
}

// ---------------------------------------------------------------- tests

static void a_weather_that_never_changes_is_the_plain_network(void **state)
{
    (void)state;
    Material material = bots();
    FairnessPlay play = play_of(&material);
    play.jitter = FL_MS(50);
    FairnessFigures plain[2];
    FairnessFigures same[2];
    LabError error;
    assert_int_equal(fairness_play(&play, plain, NULL, &error), LAB_OK);
    FairnessWeather weather = {steady, &play, FL_MS(250)};
    play.weather = &weather;
    assert_int_equal(fairness_play(&play, same, NULL, &error), LAB_OK);
    for (int32_t p = 0; p < 2; p++) {
        assert_int_equal(plain[p].updates_sent, same[p].updates_sent);
        for (int32_t r = 0; r < play.receiver_count; r++) {
            assert_true(plain[p].aee[r] == same[p].aee[r]);
            assert_true(plain[p].ledger[r] == same[p].ledger[r]);
        }
    }
    material_free(&material);
}

static void who_is_cut_off_sees_worse_and_nobody_else_does(void **state)
{
    (void)state;
    Material material = bots();
    FairnessPlay play = play_of(&material);
    FairnessFigures plain[2];
    FairnessFigures cut[2];
    LabError error;
    assert_int_equal(fairness_play(&play, plain, NULL, &error), LAB_OK);
    FairnessWeather weather = {cut_off, &play, FL_MS(250)};
    play.weather = &weather;
    assert_int_equal(fairness_play(&play, cut, NULL, &error), LAB_OK);
    assert_true(cut[0].aee[0] > 1.2 * plain[0].aee[0]);
    for (int32_t r = 1; r < play.receiver_count; r++) {
        assert_true(fabs(cut[0].aee[r] - plain[0].aee[r]) < 0.02 * plain[0].aee[r]);
    }
    material_free(&material);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_weather_that_never_changes_is_the_plain_network),
        cmocka_unit_test(who_is_cut_off_sees_worse_and_nobody_else_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
