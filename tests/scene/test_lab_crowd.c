// Crowds over real sessions: what the experiments measure is there, is the same again, keeps to its
// bytes, and orders the modes as they must be.
#include "../unit/support.h"

#include "lab/experiments/crowd/crowd.h"
#include "lab/experiments/scale/scale.h"

static CrowdMotion motion;

static int load(void **state)
{
    (void)state;
    LabError error;
    return crowd_motion_load("data/arena/ffa16_20s.csv.gz", 60.0, 1, &motion, &error) == LAB_OK ? 0
                                                                                                : 1;
}

static int unload(void **state)
{
    (void)state;
    crowd_motion_free(&motion);
    return 0;
}

static ScaleFigures scaled(ScaleMode mode, int32_t players, double kbps, uint64_t seed)
{
    ScalePlay play = {.mode = mode,
                      .players = players,
                      .kbps = kbps,
                      .seconds = 8.0, // one lost of four would be 0.75 Hz
                      .loop_ms = 10.0,
                      .motion = &motion,
                      .seed = seed,
                      .sealed = false};
    ScaleFigures figures;
    LabError error = {{0}};
    LabStatus status = scale_play(&play, &figures, &error);
    if (status != LAB_OK) {
        print_message("%s\n", error.text);
    }
    assert_int_equal(status, LAB_OK);
    return figures;
}

static CrowdResult watched(bool overlay, int32_t players)
{
    CrowdPlay play = {.which = CROWD_FLAG,
                      .overlay = overlay,
                      .players = players,
                      .seconds = 4.0,
                      .motion = &motion,
                      .seed = 1,
                      .sealed = false};
    CrowdResult result;
    LabError error = {{0}};
    LabStatus status = crowd_play(&play, &result, &error);
    if (status != LAB_OK) {
        print_message("%s\n", error.text);
    }
    assert_int_equal(status, LAB_OK);
    return result;
}

// ---------------------------------------------------------------- tests

// Ninety by 16 kbit/s, each directly to all others: an upload that does not even carry the coming
// in is no failure of the experiment, and the search goes on below.
static void a_crowd_that_cannot_come_is_not_held(void **state)
{
    (void)state;
    ScaleFigures figures = scaled(SCALE_DONNY, 90, 16.0, 1);
    assert_true(figures.absent);
    assert_false(figures.held);
    assert_true(isnan(figures.crowd.focus_hz) && isnan(figures.crowd.update_bytes));
}

static void the_same_seed_gives_the_same_figures(void **state)
{
    (void)state;
    ScaleFigures one = scaled(SCALE_OURS, 12, 108.0, 5);
    ScaleFigures again = scaled(SCALE_OURS, 12, 108.0, 5);
    ScaleFigures other = scaled(SCALE_OURS, 12, 108.0, 6);
    assert_true(one.crowd.error_rest == again.crowd.error_rest);
    assert_true(one.crowd.mean_kbps == again.crowd.mean_kbps);
    assert_true(one.crowd.error_rest != other.crowd.error_rest);
}

static void with_enough_upload_every_mode_holds(void **state)
{
    (void)state;
    for (int32_t m = 0; m < SCALE_MODES; m++) {
        ScaleFigures f = scaled((ScaleMode)m, 12, 1000.0, 1);
        assert_true(f.held);
        assert_true(f.crowd.focus_hz > 19.0 && f.crowd.focus_hz < 21.0);
        assert_true(f.crowd.error_focus < 40.0); // updates of 50 ms ago, at 320 units a second
        assert_true(f.crowd.focus_age_p50_ms < 120.0);
    }
}

static void nobody_sends_more_than_it_may(void **state)
{
    (void)state;
    for (int32_t m = 0; m < SCALE_MODES; m++) {
        ScaleFigures f = scaled((ScaleMode)m, 24, 64.0, 2);
        assert_true(f.crowd.peak_kbps <= 64.0);
        assert_true(f.crowd.mean_kbps > 32.0);
    }
}

static void too_many_players_are_noticed(void **state)
{
    (void)state;
    assert_false(scaled(SCALE_BROADCAST, 12, 108.0, 1).held);
    assert_false(scaled(SCALE_DONNY, 40, 64.0, 1).held);
}

static void what_one_says_goes_further_through_others(void **state)
{
    (void)state;
    CrowdResult direct = watched(false, 32);
    CrowdResult overlay = watched(true, 32);
    assert_true(direct.watchers == 31.0 && overlay.watchers == 31.0);
    assert_true(direct.delivered_share < 0.6);
    assert_true(overlay.delivered_share > 0.85);
    assert_true(overlay.age_p95_ms < 300.0 && overlay.age_p95_ms < direct.age_p95_ms);
    assert_true(overlay.hops > 0.2 && overlay.upload_share <= 1.0);
    assert_true(isnan(direct.recovery_silent_ms));
    assert_true(overlay.cut_off > 0 && overlay.recovery_silent_ms > 100.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crowd_that_cannot_come_is_not_held),
        cmocka_unit_test(the_same_seed_gives_the_same_figures),
        cmocka_unit_test(with_enough_upload_every_mode_holds),
        cmocka_unit_test(nobody_sends_more_than_it_may),
        cmocka_unit_test(too_many_players_are_noticed),
        cmocka_unit_test(what_one_says_goes_further_through_others),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
