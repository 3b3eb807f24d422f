// Combinations by name: what they are, and that a race's settings keep their promise.
#include "fairlead/show.h"

#include <stdio.h>

#include "lab/figures/jumps.h"
#include "show/show.h"
#include "support.h"

static const char *const names[] = {
#define ROW(name, word, hold, placement, convergence) word,
    FL_SHOW_SCHEME_TABLE(ROW)
#undef ROW
};

static void every_scheme_is_found_by_its_name(void **state)
{
    (void)state;
    for (int32_t i = 0; i < FL_SHOW_SCHEME_COUNT; i++) {
        FlShowDef def;
        FlShowDef same = fl_show_def_scheme((FlShowScheme)i);
        assert_int_equal(fl__show_parse(names[i], &def), FL_OK);
        assert_int_equal(def.hold, same.hold);
        assert_int_equal(def.placement, same.placement);
        assert_int_equal(def.convergence, same.convergence);
        assert_int_equal(def.delta_ns, FL_MS(100));
        FlShow show;
        fl_show_init(&show, &def); // asserts that all is in range
    }
}

static void any_three_choices_are_found_by_their_words(void **state)
{
    (void)state;
#define WORD(name, word) word,
    const char *const holds[] = {FL_HOLD_TABLE(WORD)};
    const char *const placements[] = {FL_PLACEMENT_TABLE(WORD)};
    const char *const convergences[] = {FL_CONVERGENCE_TABLE(WORD)};
#undef WORD
    for (int32_t i = 0; i < FL_HOLD_COUNT * FL_PLACEMENT_COUNT * FL_CONVERGENCE_COUNT; i++) {
        int32_t h = i % FL_HOLD_COUNT, p = i / FL_HOLD_COUNT % FL_PLACEMENT_COUNT;
        int32_t c = i / FL_HOLD_COUNT / FL_PLACEMENT_COUNT;
        char text[64];
        (void)snprintf(text, sizeof text, "%s/%s/%s", holds[h], placements[p], convergences[c]);
        FlShowDef def;
        assert_int_equal(fl__show_parse(text, &def), FL_OK);
        assert_int_equal(def.hold, h);
        assert_int_equal(def.placement, p);
        assert_int_equal(def.convergence, c);
    }
}

static void an_unknown_name_gives_the_default(void **state)
{
    (void)state;
    const char *const unknown[] = {"",
                                   "n",
                                   "NC",
                                   "dr ",
                                   "dr+",
                                   "best2",
                                   "at_once",
                                   "at_once/snap",
                                   "at_once/snap/later",
                                   "at_once/snap/steps/",
                                   "/snap/steps"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        FlShowDef def;
        assert_int_equal(fl__show_parse(unknown[i], &def), FL_NOT_FOUND);
        assert_int_equal(def.placement, FL_PLACEMENT_TIMESTAMPED);
        assert_int_equal(def.hold, FL_HOLD_AT_ONCE);
    }
}

static void the_schemes_are_the_papers(void **state)
{
    (void)state;
    FlShowDef def;
    assert_int_equal(fl__show_parse("nc", &def), FL_OK);
    assert_int_equal(def.hold, FL_HOLD_AT_ONCE);
    assert_int_equal(def.placement, FL_PLACEMENT_SNAP);
    assert_int_equal(fl__show_parse("causality", &def), FL_OK);
    assert_int_equal(def.hold, FL_HOLD_CAUSALITY);
    assert_int_equal(def.placement, FL_PLACEMENT_SNAP);
    assert_int_equal(fl__show_parse("dr", &def), FL_OK);
    assert_int_equal(def.hold, FL_HOLD_AT_ONCE);
    assert_int_equal(def.placement, FL_PLACEMENT_FIRST_ORDER);
    assert_int_equal(fl__show_parse("dr+causality", &def), FL_OK);
    assert_int_equal(def.hold, FL_HOLD_RECKONED);
    assert_int_equal(def.placement, FL_PLACEMENT_FIRST_ORDER);
    assert_int_equal(fl__show_parse("adaptive", &def), FL_OK);
    assert_int_equal(def.hold, FL_HOLD_ADAPTIVE);
    FlShowDef racing = fl_show_def_scheme(FL_SHOW_SCHEME_BEST);
    assert_int_equal(fl__show_parse("best", &def), FL_OK);
    assert_int_equal(def.hold, racing.hold);
    assert_int_equal(def.convergence, racing.convergence);
    assert_int_equal(racing.convergence, FL_CONVERGENCE_SMOOTH);
}

// ---------------------------------------------------------------- no jumps

#define FRAME FL_MS(16)
#define TOP_SPEED 34.0

/// Updates of a car that brakes and accelerates as it likes, told at odd times, many of them late
/// or lost; what is shown of it never moves faster than the car could, and 10 %.
static void a_race_shows_no_visible_jump(void **state)
{
    (void)state;
    FlRandom random = random_stream(7900);
    uint64_t steps = 0;
    for (int32_t i = 0; i < CASES(60); i++) {
        FlShowDef def = fl_show_def_scheme(FL_SHOW_SCHEME_BEST);
        FlShow show;
        Jumps jumps;
        fl_show_init(&show, &def);
        jumps_init(&jumps, TOP_SPEED);
        FlState car = {.velocity = {20.0, 0.0, 0.0}};
        FlTime due = 0;
        FlUpdate update = {0};
        for (FlTime now = 0; now < FL_SEC(30); now += FRAME) {
            double push = fl_random_between(&random, -30.0, 30.0);
            bool told = random_chance(&random, 12);
            bool lost = random_chance(&random, 4);
            FlTime way = random_time(&random, FL_MS(20), FL_MS(250));
            double speed = car.velocity.x + push * fl_span_seconds(FRAME);
            car.velocity.x = fmin(fmax(speed, 0.0), TOP_SPEED);
            car.position.x += car.velocity.x * fl_span_seconds(FRAME);
            car.time = now;
            if (due != 0 && now >= due) {
                (void)fl_show_arrive(&show, &update, update.motion.time, now);
                due = 0;
            }
            if (told && !lost && due == 0) {
                update = (FlUpdate){1, 0, fl_motion_make(FL_MODEL_LINEAR, &car)};
                due = now + way;
            }
            FlPose pose;
            if (fl_show_pose(&show, now, &pose) == FL_OK) {
                assert_false(jumps_see(&jumps, now, pose.position, 0));
            }
        }
        steps += jumps.step_count;
        assert_int_equal(show.snapped, 0);
    }
    assert_true(steps > 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_scheme_is_found_by_its_name),
        cmocka_unit_test(any_three_choices_are_found_by_their_words),
        cmocka_unit_test(an_unknown_name_gives_the_default),
        cmocka_unit_test(the_schemes_are_the_papers),
        cmocka_unit_test(a_race_shows_no_visible_jump),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
