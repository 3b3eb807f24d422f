// Games of the arena over real sessions: what the experiment measures is there, is the same again,
// keeps to its bytes, and orders the modes as they must be.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "lab/experiments/attention/attention.h"
#include "lab/experiments/attention/attention_verdicts.h"

static AttentionFigures played(ArenaMode mode, int32_t players, double kbps, uint64_t seed,
                               AttentionMatch *match)
{
    AttentionPlay play = {.mode = mode,
                          .players = players,
                          .kbps = kbps,
                          .rtt_ms = 20.0,
                          .seconds = 3.0,
                          .seed = seed,
                          .match = match};
    AttentionFigures figures;
    LabError error = {{0}};
    LabStatus status = attention_play(&play, &figures, &error);
    if (status != LAB_OK) {
        print_message("%s\n", error.text);
    }
    assert_int_equal(status, LAB_OK);
    return figures;
}

/// Two calls, each applied by one side's word only: sums would be equal.
static void verdicts_are_compared_call_by_call(void **state)
{
    (void)state;
    AttentionVerdicts *verdicts = attention_verdicts_create();
    assert_non_null(verdicts);
    ArenaDeed one = {.kind = ARENA_DEED_DAMAGE, .actor = 1, .target = 2, .amount = 10};
    ArenaDeed two = {.kind = ARENA_DEED_DAMAGE, .actor = 2, .target = 1, .amount = 10};
    attention_verdicts_note(verdicts, &one, true, true);
    attention_verdicts_note(verdicts, &one, true, false);
    assert_int_equal(attention_verdicts_apart(verdicts), 0);
    attention_verdicts_note(verdicts, &one, true, true);
    attention_verdicts_note(verdicts, &one, false, false);
    attention_verdicts_note(verdicts, &two, false, true);
    attention_verdicts_note(verdicts, &two, true, false);
    assert_int_equal(attention_verdicts_apart(verdicts), 2);
    attention_verdicts_destroy(verdicts);
}

typedef enum Shown { AS_IT_IS, GRAINY, JUMPING } Shown;

// Of players who run and turn: how well what is shown of them is told from the truth.
static double told_apart(Shown how)
{
    static AttentionWindows windows;
    memset(&windows, 0, sizeof windows);
    windows.every = 1;
    FlRandom random = {.seed = 3};
    for (int32_t w = 0; w < 600; w++) {
        windows.match = w / 150;
        WindowPair pair = {.count = 0};
        ArenaPlayer real = {.yaw = 0.0};
        double slow = 0.0; // how far what is shown is behind
        for (int32_t t = 0; t < WINDOW_TICKS; t++) {
            real.yaw +=
                fl_random_below(&random, 6) == 0 ? fl_random_between(&random, -1.0, 1.0) : 0;
            real.x += 16.0 * cos(real.yaw);
            real.y += 16.0 * sin(real.yaw);
            ArenaPlayer shown = real;
            shown.x += how == GRAINY ? fl_random_between(&random, -2.0, 2.0) : 0.0;
            slow = t % 7 == 0 ? 0.0 : slow + 12.0; // and then it jumps
            shown.x -= how == JUMPING ? slow * cos(real.yaw) : 0.0;
            shown.y -= how == JUMPING ? slow * sin(real.yaw) : 0.0;
            windows_see(&windows, &pair, &shown, &real);
        }
    }
    assert_int_equal(windows.count, 600);
    assert_true(windows_floor(&windows) < 0.6);
    return windows_auc(&windows);
}

static void an_eye_sees_jumps_and_not_the_grain_of_a_tick(void **state)
{
    (void)state;
    double same = told_apart(AS_IT_IS);
    double grainy = told_apart(GRAINY);
    double jumping = told_apart(JUMPING);
    print_message("             told apart: %.3f, %.3f, %.3f\n", same, grainy, jumping);
    assert_true(same < 0.55 && grainy < 0.6 && jumping > 0.9);
}

static void the_same_seed_gives_the_same_figures(void **state)
{
    (void)state;
    AttentionFigures one = played(ARENA_MODE_OURS, 6, 30.0, 5, NULL);
    AttentionFigures again = played(ARENA_MODE_OURS, 6, 30.0, 5, NULL);
    AttentionFigures other = played(ARENA_MODE_OURS, 6, 30.0, 6, NULL);
    assert_true(one.weighted_error == again.weighted_error && one.kbps_used == again.kbps_used);
    assert_true(one.weighted_error != other.weighted_error);
}

static void without_a_limit_everybody_is_where_it_is(void **state)
{
    (void)state;
    AttentionFigures f = played(ARENA_MODE_HIBW, 16, 108.0, 1, NULL);
    assert_true(f.weighted_error < 10.0 && f.error_rest < 10.0);
    assert_true(f.warps_per_minute < 1.0 && f.stalls_per_minute < 1.0);
    assert_true(f.hits > 0.0 && f.hit_latency_ms > 19.9 && f.hit_latency_ms < 25.0);
    assert_true(f.disagreements == 0.0);
}

static void with_few_bytes_modes_differ_as_they_must(void **state)
{
    (void)state;
    AttentionFigures lobw = played(ARENA_MODE_LOBW, 12, 40.0, 2, NULL);
    AttentionFigures donny = played(ARENA_MODE_DONNY, 12, 40.0, 2, NULL);
    AttentionFigures ours = played(ARENA_MODE_OURS, 12, 40.0, 2, NULL);
    assert_true(lobw.peak_kbps <= 40.0 && donny.peak_kbps <= 40.0 && ours.peak_kbps <= 40.0);
    assert_true(lobw.focus_size == 0.0 && donny.focus_size > 0.5);
    assert_true(lobw.warps_per_minute > 4.0 * donny.warps_per_minute);
    assert_true(donny.near.entered > 0 && donny.near.count > 0);
    print_message(
        "             warps %.2f %.2f %.2f, walls %.2f %.2f %.2f, stalls %.2f %.2f %.2f\n",
        lobw.warps_per_minute, donny.warps_per_minute, ours.warps_per_minute, lobw.walls_per_minute,
        donny.walls_per_minute, ours.walls_per_minute, lobw.stalls_per_minute,
        donny.stalls_per_minute, ours.stalls_per_minute);
    assert_true(donny.warps_per_minute < 1.0 && ours.warps_per_minute < 1.0);
    assert_true(donny.stalls_per_minute < 3.0); // replicas do not wait at their ends
    assert_true(donny.walls_per_minute < 0.5 && ours.walls_per_minute < 0.5);
    assert_true(lobw.wanted_served < ours.wanted_served);
    assert_true(ours.weighted_error < donny.weighted_error);
    assert_true(ours.weighted_error < lobw.weighted_error);
}

static void a_recording_moves_the_players(void **state)
{
    (void)state;
    AttentionMatch match;
    LabError error = {{0}};
    const char *path = "data/arena/ffa16_20s.csv.gz";
    assert_int_equal(attention_match_load(path, 0.0, 8.0, &match, &error), LAB_OK);
    assert_int_equal(match.players, 16);
    assert_int_equal(match.ticks, 8 * ARENA_TICK_HZ);
    assert_true(match.top_speed > ARENA_RUN_SPEED && match.top_speed < 3000.0);
    AttentionFigures f = played(ARENA_MODE_OURS, 16, 108.0, 3, &match);
    assert_true(f.weighted_error < 30.0 && f.hits == 0.0);
    attention_match_free(&match);
    assert_int_equal(attention_match_load("no such file", 0.0, 8.0, &match, &error), LAB_BAD_INPUT);
    assert_int_equal(attention_match_load(path, 1e6, 8.0, &match, &error), LAB_BAD_INPUT);
    assert_null(match.rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_are_compared_call_by_call),
        cmocka_unit_test(an_eye_sees_jumps_and_not_the_grain_of_a_tick),
        cmocka_unit_test(the_same_seed_gives_the_same_figures),
        cmocka_unit_test(without_a_limit_everybody_is_where_it_is),
        cmocka_unit_test(with_few_bytes_modes_differ_as_they_must),
        cmocka_unit_test(a_recording_moves_the_players),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
