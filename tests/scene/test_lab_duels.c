// Duels: casts, games with and without a network, correlations and rows.
#include "lab/experiments/duels/duels.h"

#include "unit/support.h"

#define STRETCH FL_SEC(6)

static DuelsPlan plan_of(DuelsSkills skills)
{
    return (DuelsPlan){
        .skills = skills,
        .seed = 5,
        .casts = 1,
        .expected = DUELS_EXACT,
        .expected_stretches = 4,
        .stretches = 2,
        .stretch_ns = FL_SEC(300),
        .kbps = DUELS_KBPS,
    };
}

static DuelsTraffic play_it(DuelsMode mode, uint64_t seed, FlTime stretch_ns, int32_t stretches,
                            DuelsScores *scores)
{
    DuelsCast cast = duels_cast(DUELS_RANDOM, 3);
    DuelsPlay play = {.cast = &cast,
                      .mode = mode,
                      .seed = seed,
                      .stretches = stretches,
                      .stretch_ns = stretch_ns,
                      .kbps = DUELS_KBPS};
    DuelsTraffic traffic;
    LabError error;
    if (duels_play(&play, scores, &traffic, &error) != LAB_OK) {
        fail_msg("%s", error.text);
    }
    return traffic;
}

static double total_of(const DuelsScores *scores, int32_t count)
{
    double sum = 0.0;
    for (int32_t s = 0; s < count; s++) {
        for (int32_t i = 0; i < DUELS_PLAYERS; i++) {
            sum += scores[s].score[i];
        }
    }
    return sum;
}

// ---------------------------------------------------------------- who plays

static void a_cast_has_sixteen_characters_and_the_skills_asked_for(void **state)
{
    (void)state;
    bool differ = false;
    for (uint64_t seed = 0; seed < 100; seed++) {
        DuelsCast random = duels_cast(DUELS_RANDOM, seed);
        DuelsCast top = duels_cast(DUELS_TOP, seed);
        uint32_t used = 0;
        for (int32_t i = 0; i < DUELS_PLAYERS; i++) {
            assert_in_range(random.character[i], 0, ARENA_CHARACTER_COUNT - 1);
            assert_in_range(random.skill[i], ARENA_SKILL_MIN, ARENA_SKILL_MAX);
            assert_int_equal(top.skill[i], ARENA_SKILL_MAX);
            assert_int_equal(top.character[i], random.character[i]);
            assert_int_equal(used >> random.character[i] & 1u, 0);
            used |= 1u << random.character[i];
            differ = differ || random.skill[i] != random.skill[0];
        }
    }
    assert_true(differ);
}

// ---------------------------------------------------------------- the game itself

static void stretches_of_a_game_add_up_to_it(void **state)
{
    (void)state;
    DuelsScores parts[4];
    DuelsScores whole;
    (void)play_it(DUELS_EXACT, 9, FL_SEC(60), 4, parts);
    (void)play_it(DUELS_EXACT, 9, FL_SEC(240), 1, &whole);
    for (int32_t i = 0; i < DUELS_PLAYERS; i++) {
        double sum = parts[0].score[i] + parts[1].score[i] + parts[2].score[i] + parts[3].score[i];
        check_same(sum, whole.score[i]);
    }
    assert_true(total_of(&whole, 1) > 200.0);
}

static void the_better_are_expected_to_win_and_skill_says_more_than_character(void **state)
{
    (void)state;
    static DuelsFigures random;
    static DuelsFigures top;
    DuelsFigures *figures[DUELS_SKILLS] = {&random, &top};
    LabError error;
    for (int32_t s = 0; s < DUELS_SKILLS; s++) {
        DuelsPlan plan = plan_of((DuelsSkills)s);
        DuelsScores expected;
        assert_int_equal(duels_expect(&plan, 0, &expected, &error), LAB_OK);
        assert_int_equal(duels_measure(&plan, DUELS_EXACT, &expected, figures[s], &error), LAB_OK);
        assert_int_equal(figures[s]->count, 2);
    }
    double skill = duels_mean(random.pearson, random.count).mean;
    double character = duels_mean(top.pearson, top.count).mean;
    assert_true(skill > 0.85);
    assert_true(character < skill - 0.05);
    check_same(random.kbps_used, 0.0);
}

static void stretches_in_which_all_scored_alike_do_not_count(void **state)
{
    (void)state;
    const double some[] = {0.5, (double)NAN, 0.7};
    Estimate e = duels_mean(some, 3);
    assert_int_equal(e.count, 2);
    check_near(e.mean, 0.6, 1e-12);
}

// ---------------------------------------------------------------- over sessions

static void sessions_play_the_game_within_their_upload(void **state)
{
    (void)state;
    DuelsScores exact[4];
    (void)play_it(DUELS_EXACT, 9, STRETCH, 4, exact);
    for (int32_t m = DUELS_HIBW; m < DUELS_MODES; m++) {
        DuelsScores scores[2];
        DuelsTraffic traffic = play_it((DuelsMode)m, 9, STRETCH, 2, scores);
        if (m == DUELS_HIBW) {
            assert_true(traffic.kbps_used > DUELS_KBPS); // so that there is something to save
        } else {
            assert_true(traffic.kbps_used > 0.4 * DUELS_KBPS);
            assert_true(traffic.kbps_used <= DUELS_KBPS);
        }
        double ratio = total_of(scores, 2) / (0.5 * total_of(exact, 4));
        assert_true(ratio > 0.5 && ratio < 2.0);
    }
}

static void the_same_seed_gives_the_same_scores(void **state)
{
    (void)state;
    DuelsScores first;
    DuelsScores again;
    DuelsScores other;
    (void)play_it(DUELS_DONNY, 4, STRETCH, 1, &first);
    (void)play_it(DUELS_DONNY, 4, STRETCH, 1, &again);
    (void)play_it(DUELS_DONNY, 6, STRETCH, 1, &other);
    assert_memory_equal(&first, &again, sizeof first);
    assert_memory_not_equal(&first, &other, sizeof first);
}

// ---------------------------------------------------------------- the experiment

typedef struct Settings {
    uint64_t room[LAB_SETTINGS_BYTES / sizeof(uint64_t)];
} Settings;

static void *field_of(Settings *settings, const char *name)
{
    const Experiment *e = &experiment_duels;
    for (int32_t i = 0; i < e->setting_count; i++) {
        if (strcmp(e->settings[i].name, name) == 0) {
            return (char *)settings->room + e->settings[i].offset;
        }
    }
    fail_msg("no setting %s", name);
    return NULL;
}

/// The defaults, but for this one.
static void set_text(Settings *settings, const char *name, const char *words)
{
    memset(settings, 0, sizeof *settings);
    experiment_duels.defaults_fn(settings->room);
    *(const char **)field_of(settings, name) = words;
}

static void set_number(Settings *settings, const char *name, double value)
{
    *(double *)field_of(settings, name) = value;
}

static void rows_have_a_line_per_skills_and_mode_and_hibw_is_the_ceiling(void **state)
{
    (void)state;
    Settings settings;
    set_text(&settings, "modes", "hibw,exact");
    set_number(&settings, "hours", 0.005);
    set_number(&settings, "expected-hours", 0.05);
    set_number(&settings, "stretch", 0.15);
    LabRun run = {.seed = 1, .runs = 1, .plain = true};
    LabResult result;
    LabError error;
    if (experiment_run(&experiment_duels, &run, settings.room, &result, &error) != LAB_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(json_array_size(result.rows), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *row = json_array_get(result.rows, i);
        assert_string_equal(json_string_value(json_object_get(row, "skills")),
                            i < 2 ? "random" : "top");
        assert_string_equal(json_string_value(json_object_get(row, "mode")),
                            i % 2 == 0 ? "exact" : "hibw");
        check_near(json_number_value(json_object_get(row, "hours")), 0.005, 1e-9);
    }
    const json_t *hibw = json_array_get(result.rows, 1);
    check_same(json_number_value(json_object_get(hibw, "ceiling")),
               json_number_value(json_object_get(hibw, "spearman")));
    assert_non_null(strstr(text_of(&result.series), "top,hibw,1,2,16,"));
    lab_result_free(&result);
}

static LabStatus answer_to(const Settings *settings)
{
    LabRun run = {.seed = 1, .runs = 1};
    LabResult result;
    LabError error;
    return experiment_run(&experiment_duels, &run, settings->room, &result, &error);
}

static void what_is_no_mode_or_too_much_is_refused(void **state)
{
    (void)state;
    Settings settings;
    set_text(&settings, "modes", "hibw,none");
    assert_int_equal(answer_to(&settings), LAB_BAD_INPUT);
    set_text(&settings, "skills", ",");
    assert_int_equal(answer_to(&settings), LAB_BAD_INPUT);
    set_text(&settings, "expected", "none");
    assert_int_equal(answer_to(&settings), LAB_BAD_INPUT);
    set_text(&settings, "modes", "hibw");
    set_number(&settings, "stretch", 0.1);
    set_number(&settings, "hours", 1000.0);
    assert_int_equal(answer_to(&settings), LAB_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cast_has_sixteen_characters_and_the_skills_asked_for),
        cmocka_unit_test(stretches_of_a_game_add_up_to_it),
        cmocka_unit_test(the_better_are_expected_to_win_and_skill_says_more_than_character),
        cmocka_unit_test(stretches_in_which_all_scored_alike_do_not_count),
        cmocka_unit_test(sessions_play_the_game_within_their_upload),
        cmocka_unit_test(the_same_seed_gives_the_same_scores),
        cmocka_unit_test(rows_have_a_line_per_skills_and_mode_and_hibw_is_the_ceiling),
        cmocka_unit_test(what_is_no_mode_or_too_much_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
