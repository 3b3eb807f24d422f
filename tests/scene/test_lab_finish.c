// Races in timelines, small ones: with control everybody knows the same winner, without it they do
// not; and the same seed gives the same races.
#include "lab/experiments/finish/finish.h"

#include "unit/support.h"

static FinishPlay play_of(FinishControl control, uint64_t seed)
{
    FinishPlay play = {.control = control,
                       .cars = 5,
                       .frame_ticks = 3,
                       .way = fl_impair_def_default().settings,
                       .seed = seed,
                       .first_race = seed,
                       .races = 2};
    play.way.delay_ns = FL_MS(150);
    play.way.jitter_ns = FL_MS(30);
    play.way.shape = FL_SHAPE_UNIFORM;
    play.way.loss_ppm = 50000;
    return play;
}

static FinishFigures race(const FinishPlay *play, uint64_t *hash)
{
    FinishRace *races = (FinishRace *)calloc((size_t)play->races, sizeof *races);
    FinishFigures figures = {0};
    LabError error;
    assert_non_null(races);
    if (finish_play(play, races, &error) != LAB_OK) {
        fail_msg("%s", error.text);
    }
    for (int32_t i = 0; i < play->races; i++) {
        finish_add(&figures, play, &races[i]);
        for (int32_t peer = 0; peer < play->cars; peer++) {
            *hash = *hash * 31 + races[i].result[peer].hash;
            assert_int_equal(races[i].result[peer].figures.played, FINISH_TICKS + FINISH_ROLL);
        }
    }
    free(races);
    return figures;
}

static void with_control_everybody_knows_the_same_winner(void **state)
{
    (void)state;
    FinishPlay play = play_of(FINISH_INPUTS, 7);
    uint64_t hash = 0, again = 0;
    FinishFigures figures = race(&play, &hash);
    assert_int_equal(figures.races, 2);
    assert_int_equal(figures.agreed, 2);
    assert_int_equal(figures.hash_differs + figures.undecided + figures.order_differs, 0);
    assert_true(figures.contacts > 0); // they have touched
    assert_true(figures.sum.rollbacks > 100);
    assert_true(figures.sum.compared > 1000);
    assert_int_equal(figures.sum.differing + figures.sum.dropped, 0);
    assert_true(figures.sum.corrected > 0); // what was shown was not always true
    double error = figures.error_m / (double)figures.error_count;
    assert_true(error > 0.001 && error < 1.0);
    (void)race(&play, &again);
    assert_true(hash == again);
}

static void without_control_they_do_not(void **state)
{
    (void)state;
    uint64_t hash = 0;
    FinishPlay play = play_of(FINISH_NONE, 7);
    FinishFigures figures = race(&play, &hash);
    assert_int_equal(figures.agreed, 0);
    assert_int_equal(figures.hash_differs, 2);
    assert_int_equal(figures.undecided, 0);
    assert_int_equal(figures.sum.rollbacks, 0);
    assert_true(figures.sum.differing > 0); // and the hashes say so
}

static void a_constant_that_is_too_short_loses_inputs(void **state)
{
    (void)state;
    uint64_t hash = 0;
    FinishPlay play = play_of(FINISH_CONSTANT_200, 7);
    FinishFigures figures = race(&play, &hash);
    assert_true(figures.sum.dropped > 0);
    assert_int_equal(figures.hash_differs, 2);
    play = play_of(FINISH_CONSTANT_400, 7);
    figures = race(&play, &hash);
    assert_int_equal(figures.sum.dropped, 0); // long enough here
    assert_int_equal(figures.agreed, 2);
}

// Nothing is lost or reordered here: what differs is only who has whose inputs when.
static void by_lags_states_settle_evenly(void **state)
{
    (void)state;
    double uneven[2];
    for (int32_t i = 0; i < 2; i++) {
        uint64_t hash = 0;
        FinishPlay play = play_of(i == 0 ? FINISH_INPUTS : FINISH_PERCEPTIVE, 7);
        play.way.jitter_ns = FL_MS(10);
        play.way.loss_ppm = 0;
        play.cars = 3;
        FinishFigures figures = race(&play, &hash);
        assert_int_equal(figures.agreed, 2);
        assert_int_equal(figures.sum.dropped, 0);
        uneven[i] = figures.uneven_ms / (double)figures.uneven_count;
    }
    assert_true(uneven[1] < uneven[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_control_everybody_knows_the_same_winner),
        cmocka_unit_test(without_control_they_do_not),
        cmocka_unit_test(a_constant_that_is_too_short_loses_inputs),
        cmocka_unit_test(by_lags_states_settle_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
