// The racing experiment: figures that can be worked out another way, and what its default promises.
#include "lab/experiments/racing/racing.h"

#include "unit/support.h"

#define SPEED 30.0
#define SAMPLES 300

/// Two cars at a constant speed, the second ahead by `lead`.
typedef struct Steady {
    FlTime time[SAMPLES];
    double progress[2][SAMPLES];
    Race race;
} Steady;

static void steady_init(Steady *s, double lead)
{
    *s = (Steady){0};
    for (int32_t i = 0; i < SAMPLES; i++) {
        s->time[i] = i * FL_SEC(1) / 30;
        s->progress[0][i] = SPEED * fl_span_seconds(s->time[i]);
        s->progress[1][i] = s->progress[0][i] + lead;
    }
    s->race = (Race){.name = "steady", .car_count = 2, .top_speed = SPEED};
    for (int32_t c = 0; c < 2; c++) {
        s->race.cars[c] = (RaceTrack){s->time, s->progress[c], SAMPLES};
    }
    s->race.length = s->time[SAMPLES - 1];
    s->race.low = fmin(lead, 0.0);
    s->race.high = s->progress[1][SAMPLES - 1] + fabs(lead);
}

typedef struct Setup {
    RaceScheme schemes[RACE_SCHEMES];
    RacePlay play;
    RaceFigures figures[RACE_SCHEMES];
} Setup;

static void setup_init(Setup *setup, const Race *race, const char *list)
{
    LabError error;
    *setup = (Setup){0};
    setup->play = (RacePlay){.race = race,
                             .seed = 3,
                             .sealed = true,
                             .topology = FL_TOPOLOGY_MESH,
                             .referee = true,
                             .schemes = setup->schemes,
                             .first = {75.0, 10.0, 0.0},
                             .others = {75.0, 10.0, 0.0}};
    assert_int_equal(race_schemes_parse(list, setup->schemes, &setup->play.scheme_count, &error),
                     LAB_OK);
}

static void play_it(Setup *setup)
{
    LabError error = {0};
    if (race_play(&setup->play, setup->figures, &error) != LAB_OK) {
        fail_msg("%s", error.text);
    }
}

static RaceMaterial pairs(void)
{
    RaceMaterial material;
    LabError error;
    assert_int_equal(race_material_traces("data/racing", 2, &material, &error), LAB_OK);
    assert_int_equal(material.count, 10);
    return material;
}

// ---------------------------------------------------------------- schemes and races

static void schemes_have_names_or_are_put_together(void **state)
{
    (void)state;
    RaceScheme s;
    assert_true(race_scheme_parse("dr+causality", &s));
    assert_int_equal(s.show.hold, FL_HOLD_RECKONED);
    assert_false(s.sent);
    check_near(s.threshold, 0.1, 0.0);
    assert_true(race_scheme_parse("adaptive/snap/steps/sent@0.25", &s));
    assert_int_equal(s.show.hold, FL_HOLD_ADAPTIVE);
    assert_int_equal(s.show.placement, FL_PLACEMENT_SNAP);
    assert_int_equal(s.show.convergence, FL_CONVERGENCE_STEPS);
    assert_true(s.sent);
    check_near(s.threshold, 0.25, 0.0);
    assert_true(race_scheme_parse("best", &s));
    assert_true(s.sent);
    const char *const wrong[] = {
        "",    "Dr",           "dr@",  "dr@0",  "dr@x", "snap/snap/at_once",
        "dr/", "at_once/snap", "sent", "/sent", "@1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(race_scheme_parse(wrong[i], &s));
    }
}

static void races_are_read_by_their_number_of_cars(void **state)
{
    (void)state;
    LabError error;
    RaceMaterial material = pairs();
    for (int32_t i = 0; i < material.count; i++) {
        assert_true(material.races[i].length >= FL_SEC(29));
        assert_true(material.races[i].cars[1].count > 850);
        assert_true(material.races[i].top_speed > 20.0);
    }
    assert_string_equal(material.races[3].name, "pair04");
    race_material_free(&material);
    assert_int_equal(race_material_traces("data/racing", 8, &material, &error), LAB_BAD_INPUT);
    assert_non_null(strstr(error.text, "no race of 8 cars"));
    assert_int_equal(race_material_traces("lab", 2, &material, &error), LAB_BAD_INPUT);
    assert_non_null(strstr(error.text, "no *.csv.gz"));
    assert_int_equal(race_material_traces("nowhere", 2, &material, &error), LAB_BAD_INPUT);
    assert_int_equal(race_material_traces("data/tanks/match01_80s.csv.gz", 9, &material, &error),
                     LAB_BAD_INPUT);
    assert_null(material.races);
}

static void the_sweeps_are_the_papers(void **state)
{
    (void)state;
    RaceCell cells[RACE_CELLS];
    int32_t count = race_cells(cells);
    assert_int_equal(count, 17);
    assert_true(race_cell_find(cells, count, "delay", 0.0, 0.0, 0.0) >= 0);
    assert_true(race_cell_find(cells, count, "delay", 150.0, 30.0, 0.0) >= 0);
    assert_int_equal(race_cell_find(cells, count, "delay", 25.0, 30.0, 0.0), -1);
    int32_t cell = race_cell_find(cells, count, "loss", 75.0, 10.0, 0.2);
    assert_true(cell >= 0);
    check_near(cells[cell].others.loss, 0.1, 1e-12);
    check_near(cells[cell].others.mean_ms, 75.0, 0.0);
}

// ---------------------------------------------------------------- figures

/// What is shown on arrival is behind by whole samples; what is predicted is not.
static void errors_are_the_way_made_meanwhile(void **state)
{
    (void)state;
    static Steady steady;
    static Setup setup;
    steady_init(&steady, 0.3);
    setup_init(&setup, &steady.race, "nc causality dr dr+causality best");
    setup.play.first = (RaceWay){60.0, 0.0, 0.0};
    setup.play.others = (RaceWay){120.0, 0.0, 0.0};
    play_it(&setup);
    const RaceFigures *f = setup.figures;
    double sample = SPEED / 30.0 / RACE_CAR_LENGTH;
    // Looks come 8 ms after a sample: the newest that is 60 (120) ms old by then.
    check_near(f[0].first, 2.0 * sample, 0.01);
    check_near(f[0].others, 4.0 * sample, 0.01);
    check_near(f[0].difference, f[0].first - f[0].others, 1e-12);
    check_near(f[1].first, 0.0, 0.01);
    assert_true(f[1].others > 50.0); // all too late: it stands on the grid
    for (int32_t s = 2; s < 5; s++) {
        check_near(f[s].first, 0.0, RACE_THRESHOLD);
        check_near(f[s].others, 0.0, RACE_THRESHOLD);
        check_near(f[s].inconsistency, 0.0, 0.0);
        assert_true(f[s].updates_per_second < 1.0);
    }
    check_near(f[0].updates_per_second, 30.0, 0.2);
    check_near(f[0].inconsistency, 1.0, 0.0); // each believes itself ahead
    assert_true(f[0].clock_ms < 1.0);
}

/// Only the first car is seen late: they disagree if it really leads, by less than that.
static void disagreement_is_between_the_two_screens(void **state)
{
    (void)state;
    static Steady steady;
    static Setup setup;
    static const double leads[] = {-0.3, 0.3, -9.0};
    for (int32_t i = 0; i < 3; i++) {
        steady_init(&steady, leads[i]);
        setup_init(&setup, &steady.race, "nc");
        setup.play.first = (RaceWay){60.0, 0.0, 0.0};
        setup.play.others = (RaceWay){0.0, 0.0, 0.0};
        play_it(&setup);
        check_near(setup.figures[0].inconsistency, i == 0 ? 1.0 : 0.0, 0.0);
        setup.play.first = (RaceWay){0.0, 0.0, 0.0};
        setup.play.others = (RaceWay){60.0, 0.0, 0.0};
        play_it(&setup);
        check_near(setup.figures[0].inconsistency, i == 1 ? 1.0 : 0.0, 0.0);
    }
}

static void own_actions_show_as_late_as_the_scheme_says(void **state)
{
    (void)state;
    static Steady steady;
    static Setup setup;
    steady_init(&steady, 0.3);
    setup_init(&setup, &steady.race, "nc dr causality dr+causality best adaptive adaptive/sent");
    setup.play.first = (RaceWay){20.0, 2.0, 0.0};
    setup.play.others = (RaceWay){30.0, 2.0, 0.0};
    play_it(&setup);
    for (int32_t s = 0; s < 5; s++) {
        check_near(setup.figures[s].own_lag_ms, s < 2 ? 0.0 : 100.0, 1e-6);
    }
    // Falls by 5 ms every half second.
    assert_true(setup.figures[5].own_lag_ms > 30.0 && setup.figures[5].own_lag_ms < 85.0);
    check_near(setup.figures[6].own_lag_ms, setup.figures[5].own_lag_ms, 3.0);
}

/// With all updates in time, everybody shows the same: causality, and what is shown as told.
static void in_time_means_in_agreement(void **state)
{
    (void)state;
    static Setup setup;
    RaceMaterial material = pairs();
    for (int32_t r = 0; r < material.count; r += 3) {
        setup_init(&setup, &material.races[r], "causality best dr+causality/sent dr");
        setup.play.first = (RaceWay){90.0, 0.0, 0.0};
        setup.play.others = (RaceWay){20.0, 0.0, 0.0};
        play_it(&setup);
        for (int32_t s = 0; s < 3; s++) {
            check_near(setup.figures[s].inconsistency, 0.0, 0.002);
            check_near(setup.figures[s].first, 0.0, 0.01);
        }
        assert_true(setup.figures[3].inconsistency > 0.002);
    }
    race_material_free(&material);
}

static void the_same_seed_gives_the_same_race(void **state)
{
    (void)state;
    static Setup a;
    static Setup b;
    RaceMaterial material = pairs();
    setup_init(&a, &material.races[1], "nc adaptive best");
    setup_init(&b, &material.races[1], "nc adaptive best");
    play_it(&a);
    play_it(&b);
    assert_memory_equal(a.figures, b.figures, 3 * sizeof *a.figures);
    b.play.seed++;
    play_it(&b);
    assert_true(a.figures[0].first != b.figures[0].first);
    race_material_free(&material);
}

// ---------------------------------------------------------------- clocks and topologies

/// Two ways of unequal length put clocks that are read over them off by half the difference, which
/// nobody can notice: then one car is shown too far ahead, the other too far back.
static void unequal_ways_are_unfair_if_they_set_the_clocks(void **state)
{
    (void)state;
    static Steady steady;
    static Setup setup;
    steady_init(&steady, 0.3);
    setup_init(&setup, &steady.race, "dr dr+causality");
    setup.play.first = (RaceWay){140.0, 0.0, 0.0};
    setup.play.others = (RaceWay){60.0, 0.0, 0.0};
    play_it(&setup);
    check_near(setup.figures[1].difference, 0.0, 0.03);
    setup.play.referee = false;
    play_it(&setup);
    double off = SPEED * 0.040 / RACE_CAR_LENGTH;
    check_near(setup.figures[1].first, off, 0.05);
    check_near(setup.figures[1].others, -off, 0.05);
    check_near(setup.figures[1].clock_ms, 40.0, 1.0);
    check_near(setup.figures[1].inconsistency, 0.0, 0.0); // yet they agree who leads
}

static void many_cars_are_compared_pair_by_pair(void **state)
{
    (void)state;
    static Setup setup;
    RaceMaterial material;
    LabError error;
    assert_int_equal(race_material_bots(5, 1, 6, &material, &error), LAB_OK);
    for (int32_t star = 0; star < 2; star++) {
        setup_init(&setup, &material.races[0], "nc dr+causality best");
        setup.play.topology = star == 1 ? FL_TOPOLOGY_STAR : FL_TOPOLOGY_MESH;
        play_it(&setup);
        const RaceFigures *f = setup.figures;
        assert_int_equal(f[0].comparisons % 15, 0);
        assert_true(f[0].comparisons / 15 > 860);
        assert_true(f[0].inconsistency > 5.0 * f[1].inconsistency);
        assert_true(f[2].inconsistency < f[1].inconsistency);
    }
    race_material_free(&material);
}

// ---------------------------------------------------------------- the default

/// Pairs that its choice was not trained on. Averages over several networks.
static void the_racing_default_beats_dead_reckoning_with_causality(void **state)
{
    (void)state;
    static Setup setup;
    static const double ways[][3] = {
        {25.0, 10.0, 0.0}, {75.0, 30.0, 0.0}, {125.0, 10.0, 0.0}, {75.0, 10.0, 0.1}};
    RaceMaterial material = pairs();
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        double rate[2] = {0};
        double updates[2] = {0};
        double jumps[2] = {0};
        for (int32_t r = 5; r < material.count; r++) {
            setup_init(&setup, &material.races[r], "dr+causality best");
            setup.play.seed = 40 + (uint64_t)r;
            setup.play.first = (RaceWay){ways[w][0], ways[w][1], ways[w][2]};
            setup.play.others.loss = ways[w][2];
            play_it(&setup);
            for (int32_t s = 0; s < 2; s++) {
                rate[s] += setup.figures[s].inconsistency;
                updates[s] += setup.figures[s].updates_per_second;
                jumps[s] += setup.figures[s].jumps_per_minute;
            }
            check_near(setup.figures[1].own_lag_ms, setup.figures[0].own_lag_ms, 1e-6);
        }
        print_message("             inconsistent %.5f against %.5f, updates %.2f against %.2f\n",
                      rate[1] / 5.0, rate[0] / 5.0, updates[1] / 5.0, updates[0] / 5.0);
        assert_true(rate[1] < rate[0]);
        assert_true(updates[1] < updates[0]);
        check_near(jumps[1], 0.0, 0.0);
        assert_true(w != 3 || jumps[0] > 0.0);
    }
    race_material_free(&material);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemes_have_names_or_are_put_together),
        cmocka_unit_test(races_are_read_by_their_number_of_cars),
        cmocka_unit_test(the_sweeps_are_the_papers),
        cmocka_unit_test(errors_are_the_way_made_meanwhile),
        cmocka_unit_test(disagreement_is_between_the_two_screens),
        cmocka_unit_test(own_actions_show_as_late_as_the_scheme_says),
        cmocka_unit_test(in_time_means_in_agreement),
        cmocka_unit_test(the_same_seed_gives_the_same_race),
        cmocka_unit_test(unequal_ways_are_unfair_if_they_set_the_clocks),
        cmocka_unit_test(many_cars_are_compared_pair_by_pair),
        cmocka_unit_test(the_racing_default_beats_dead_reckoning_with_causality),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
