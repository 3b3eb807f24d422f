// The policies on a recorded game, in the setting of the fairness papers: one tank, receivers at
// 800, 500 and 200 ms, delays steady or spread by 100 and 180 ms. What the papers claim of theirs,
// and what `equal` has to show, each with a margin.
//
// The recording is played several times over, since 80 s are short for what a policy learns.
#include "scene/send_world.h"

#define TANKS 3
#define TIMES 5
#define JITTERS 3

static const FlTime jitters[JITTERS] = {0, FL_MS(100), FL_MS(180)};
static Source tanks[TANKS];

static int load(void **state)
{
    (void)state;
    Trace trace;
    TraceError error;
    if (!trace_load("data/tanks/match01_80s.csv.gz", &trace, &error)) {
        print_error("%s\n", error.text);
        return -1;
    }
    for (int32_t i = 0; i < TANKS; i++) {
        tanks[i] = source_from_trace(&trace, 2 * i, 0.09, TIMES);
    }
    trace_free(&trace);
    return 0;
}

static int unload(void **state)
{
    (void)state;
    for (int32_t i = 0; i < TANKS; i++) {
        free(tanks[i].piece);
    }
    return 0;
}

// ---------------------------------------------------------------- figures

// Averages over the tanks.
typedef struct Figures {
    double sent, mean, sd;
    double error[3];
} Figures;

static Figures figures_of(const char *text, const WorldDef *def)
{
    static Outcome outcome;
    FlSend send;
    Figures figures = {0};
    assert_int_equal(fl_send_parse(text, &send), FL_OK);
    for (int32_t i = 0; i < TANKS; i++) {
        WorldDef mine = *def;
        mine.seed += (uint64_t)i;
        world_run(&mine, &send, &tanks[i], &outcome);
        figures.sent += (double)outcome.sent / TANKS;
        figures.mean += outcome.mean / TANKS;
        figures.sd += outcome.sd / TANKS;
        for (int32_t r = 0; r < 3; r++) {
            figures.error[r] += outcome.error[r] / TANKS;
        }
    }
    return figures;
}

// Every policy is needed more than once: played once, remembered.
typedef struct Row {
    const char *text;
    bool known[JITTERS];
    Figures figures[JITTERS];
} Row;

static Row rows[64];
static int32_t row_count;

static const Figures *figures_at(const char *text, int32_t jitter)
{
    int32_t i = 0;
    while (i < row_count && strcmp(rows[i].text, text) != 0) {
        i++;
    }
    Row *row = &rows[i];
    if (i == row_count) {
        assert_true(row_count < 64);
        row_count++;
        row->text = text;
    }
    if (!row->known[jitter]) {
        WorldDef def = world_def_papers(jitters[jitter]);
        row->known[jitter] = true;
        row->figures[jitter] = figures_of(text, &def);
        const Figures *f = &row->figures[jitter];
        print_message("             +-%3d ms %-20s %6.0f updates  mean %7.1f  sd %6.1f "
                      "(%7.1f %7.1f %7.1f)\n",
                      (int)(jitters[jitter] / FL_MS(1)), text, f->sent, f->mean, f->sd, f->error[0],
                      f->error[1], f->error[2]);
    }
    return &row->figures[jitter];
}

// ---------------------------------------------------------------- the papers' policies

static void schedules_are_fairer_and_cost_accuracy(void **state)
{
    (void)state;
    for (int32_t j = 0; j < JITTERS; j++) {
        const Figures *base = figures_at("base", j);
        const Figures *first = figures_at("schedule1", j);
        const Figures *thesis = figures_at("schedule1-thesis", j);
        const Figures *second = figures_at("schedule2", j);
        assert_true(first->sd < 0.1 * base->sd);
        assert_true(first->mean > 1.6 * base->mean);
        assert_true(first->sent < 0.7 * base->sent);
        assert_true(thesis->sd < 0.1 * base->sd);
        assert_true(thesis->mean > 2.0 * base->mean);
        assert_true(second->sd < base->sd);
        assert_true(second->mean > base->mean && second->mean < first->mean);
        check_near(second->error[0], base->error[0], 0.05 * base->error[0]);
    }
}

static void budgets_are_fairer_than_a_third_of_base(void **state)
{
    (void)state;
    for (int32_t j = 0; j < JITTERS; j++) {
        const Figures *base = figures_at("base", j);
        const Figures *third = figures_at("base/3", j);
        const Figures *chance = figures_at("probabilistic", j);
        const Figures *fixed = figures_at("probabilistic-fixed", j);
        const Figures *table = figures_at("deterministic", j);
        assert_true(chance->sd < 0.8 * third->sd);
        assert_true(chance->mean > 1.1 * third->mean);
        assert_true(table->sd < 0.75 * third->sd && table->sd < base->sd);
        assert_true(table->mean < 1.2 * third->mean && table->mean < chance->mean);
        assert_true(table->error[0] < third->error[0] && table->error[2] > third->error[2]);
        check_near(table->sent, third->sent, 0.02 * third->sent);
        check_near(chance->sent, third->sent, 0.06 * third->sent);
        for (int32_t r = 0; r < 3; r++) {
            assert_true(fixed->error[r] > third->error[r]);
        }
    }
}

// ---------------------------------------------------------------- ours

static void equal_is_fair_at_one_end_and_accurate_at_the_other(void **state)
{
    (void)state;
    for (int32_t j = 0; j < JITTERS; j++) {
        const Figures *third = figures_at("base/3", j);
        const Figures *fair = figures_at("equal-100", j);
        const Figures *accurate = figures_at("equal-0", j);
        assert_true(fair->sd < 0.03 * fair->mean);
        assert_true(fair->mean < 1.3 * third->mean);
        assert_true(fair->sent <= third->sent);
        assert_true(accurate->mean < 0.9 * third->mean);
        assert_true(accurate->sent <= third->sent);
    }
}

static bool dominates(const Figures *ours, const Figures *theirs)
{
    return ours->sent <= theirs->sent && ours->mean <= theirs->mean &&
           (ours->sd < theirs->sd || ours->sd <= 0.01 * ours->mean);
}

static void equal_dominates_every_policy_with_its_budget(void **state)
{
    (void)state;
    const char *theirs[] = {"base/3",
                            "schedule1-thesis",
                            "probabilistic",
                            "probabilistic-0,1,0",
                            "probabilistic-2005",
                            "probabilistic-fixed",
                            "deterministic",
                            "deterministic-0,1,0",
                            "deterministic-1,1,0",
                            "deterministic-1,1,1"};
    const char *ours[] = {"equal-50", "equal-70", "equal-90", "equal-100"};
    for (int32_t j = 0; j < JITTERS; j++) {
        for (size_t i = 0; i < sizeof theirs / sizeof theirs[0]; i++) {
            bool found = false;
            for (size_t k = 0; k < sizeof ours / sizeof ours[0]; k++) {
                found |= dominates(figures_at(ours[k], j), figures_at(theirs[i], j));
            }
            if (!found) {
                print_error("nothing dominates %s\n", theirs[i]);
            }
            assert_true(found);
        }
    }
}

// The schedules send more than a third of base; so may `equal`, against them.
static void equal_dominates_the_schedules_with_fewer_updates(void **state)
{
    (void)state;
    for (int32_t j = 0; j < JITTERS; j++) {
        bool second = dominates(figures_at("equal/1.8-60", j), figures_at("schedule2", j)) ||
                      dominates(figures_at("equal/1.8-70", j), figures_at("schedule2", j));
        assert_true(second);
    }
}

static void the_knob_trades_one_for_the_other(void **state)
{
    (void)state;
    const char *knobs[] = {"equal-0", "equal-50", "equal-70", "equal-90", "equal-100"};
    for (size_t k = 1; k < sizeof knobs / sizeof knobs[0]; k++) {
        assert_true(figures_at(knobs[k], 1)->sd < figures_at(knobs[k - 1], 1)->sd);
        assert_true(figures_at(knobs[k], 1)->mean > figures_at(knobs[k - 1], 1)->mean);
    }
}

static void equal_follows_delays_that_change(void **state)
{
    (void)state;
    WorldDef def = world_def_papers(FL_MS(30));
    def.swap_at = FL_SEC(100);
    Figures fair = figures_of("equal-100", &def);
    Figures table = figures_of("deterministic", &def);
    assert_true(fair.sd < 0.05 * fair.mean);
    assert_true(fair.sd < 0.5 * table.sd);
}

static void equal_serves_any_number_of_receivers(void **state)
{
    (void)state;
    const int32_t counts[] = {1, 2, 30, 300};
    static Outcome fair, third;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        static WorldDef def;
        memset(&def, 0, sizeof def);
        def.receiver_count = counts[i];
        def.jitter = FL_MS(20);
        def.swap_at = FL_FOREVER;
        def.seed = 5;
        FlRandom random = random_stream(31);
        for (int32_t r = 0; r < counts[i]; r++) {
            def.delay[r] = random_time(&random, FL_MS(30), FL_MS(600));
        }
        FlSend equal = fl_send_make(FL_SEND_EQUAL);
        equal.fairness_percent = 100;
        FlSend base = fl_send_make(FL_SEND_BASE);
        base.every = 3;
        Source short_one = tanks[0];
        short_one.count = counts[i] > 100 ? short_one.count / 8 : short_one.count / 2;
        short_one.end = short_one.piece[short_one.count - 1].from;
        world_run(&def, &equal, &short_one, &fair);
        world_run(&def, &base, &short_one, &third);
        print_message("             %d receivers: sd %.1f of %.1f %%, mean %.2f of base/3\n",
                      counts[i], 100.0 * fair.sd / fair.mean, 100.0 * third.sd / third.mean,
                      fair.mean / third.mean);
        assert_true(fair.sent <= third.sent);
        assert_true(fair.sd <= 0.3 * third.sd);
        assert_true(fair.mean < 1.5 * third.mean);
    }
}

static void losses_leave_nobody_behind(void **state)
{
    (void)state;
    const char *texts[] = {"base",      "base/3",        "schedule1",
                           "schedule2", "deterministic", "equal-100"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        WorldDef def = world_def_papers(FL_MS(100));
        def.loss_ppm = 100000;
        Figures lossy = figures_of(texts[i], &def);
        const Figures *sound = figures_at(texts[i], 1);
        assert_true(lossy.mean < 1.5 * sound->mean);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_are_fairer_and_cost_accuracy),
        cmocka_unit_test(budgets_are_fairer_than_a_third_of_base),
        cmocka_unit_test(equal_is_fair_at_one_end_and_accurate_at_the_other),
        cmocka_unit_test(equal_dominates_every_policy_with_its_budget),
        cmocka_unit_test(equal_dominates_the_schedules_with_fewer_updates),
        cmocka_unit_test(the_knob_trades_one_for_the_other),
        cmocka_unit_test(equal_follows_delays_that_change),
        cmocka_unit_test(equal_serves_any_number_of_receivers),
        cmocka_unit_test(losses_leave_nobody_behind),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
