// Courses of the racing game: their shape, and places on them there and back.
#include "support.h"

#include "racing/racing.h"

static RacingGame *game_on(RacingCourse course)
{
    RacingDef def = racing_def_default();
    def.course = course;
    RacingGame *game;
    assert_int_equal(racing_create(&def, &game), FL_OK);
    return game;
}

#define EACH_COURSE(course)                                                                        \
    for (RacingCourse course = 0; course < RACING_COURSE_COUNT; course++) // NOLINT

static FlVec3 centre(const RacingGame *game, double progress)
{
    return racing_position(game, (RacingPlace){progress, 0.0}, NULL);
}

// ---------------------------------------------------------------- shape

static void course_is_closed_and_as_long_as_it_says(void **ignored)
{
    (void)ignored;
    EACH_COURSE(course)
    {
        RacingGame *game = game_on(course);
        double length = racing_length_m(game), walked = 0.0;
        assert_true(length >= 200.0 && length <= 600.0);
        for (int32_t i = 0; i < 4000; i++) {
            FlVec3 a = centre(game, length * i / 4000.0),
                   b = centre(game, length * (i + 1) / 4000.0);
            walked += fl_vec3_distance(a, b);
        }
        assert_true(fabs(walked - length) < 1e-3 * length);
        assert_true(fl_vec3_distance(centre(game, 0.0), centre(game, length)) < 1e-9);
        racing_destroy(game);
    }
}

static void every_bend_is_wider_than_the_road(void **ignored)
{
    (void)ignored;
    EACH_COURSE(course)
    {
        RacingGame *game = game_on(course);
        double tightest = 1e9;
        for (double at = 0.0; at < racing_length_m(game); at += 0.5) {
            double before, after;
            (void)racing_position(game, (RacingPlace){at, 0.0}, &before);
            (void)racing_position(game, (RacingPlace){at + 2.0, 0.0}, &after);
            double radius = 2.0 / fmax(fabs(fl_angle_wrap(after - before)), 1e-9);
            tightest = radius < tightest ? radius : tightest;
        }
        assert_true(tightest > 17.0);
        assert_true(tightest > 2.0 * racing_half_width_m(game));
        racing_destroy(game);
    }
}

static void road_never_meets_itself(void **ignored)
{
    (void)ignored;
    EACH_COURSE(course)
    {
        RacingGame *game = game_on(course);
        double length = racing_length_m(game), road = 2.0 * racing_half_width_m(game);
        for (double a = 0.0; a < length; a += 2.0) {
            for (double b = a + 3.0 * road; b < a + length - 3.0 * road; b += 2.0) {
                assert_true(fl_vec3_distance(centre(game, a), centre(game, b)) > 1.5 * road);
            }
        }
        racing_destroy(game);
    }
}

static void course_is_found_by_its_name(void **ignored)
{
    (void)ignored;
    EACH_COURSE(course)
    {
        RacingCourse found;
        assert_int_equal(racing_course_find(racing_course_name(course), &found), FL_OK);
        assert_int_equal(found, course);
    }
    RacingCourse none;
    assert_int_equal(racing_course_find("square", &none), FL_NOT_FOUND);
}

// ---------------------------------------------------------------- places

static void projecting_undoes_placing_over_many_laps(void **ignored)
{
    (void)ignored;
    FlRandom r = {.seed = 11};
    EACH_COURSE(course)
    {
        RacingGame *game = game_on(course);
        double length = racing_length_m(game), half = racing_half_width_m(game);
        for (int32_t i = 0; i < CASES(20000); i++) {
            double progress = fl_random_between(&r, -3.0 * length, 40.0 * length);
            double lateral = fl_random_between(&r, -half, half);
            double off = fl_random_between(&r, -15.0, 15.0);
            FlVec3 position = racing_position(game, (RacingPlace){progress, lateral}, NULL);
            RacingPlace place = racing_project(game, position, progress + off);
            assert_true(fabs(place.progress - progress) < 1e-8);
            assert_true(fabs(place.lateral - lateral) < 1e-9);
            RacingPlace anywhere = racing_locate(game, position);
            double laps = (place.progress - anywhere.progress) / length;
            assert_true(fabs(laps - floor(laps + 0.5)) < 1e-9);
            assert_true(anywhere.progress >= 0.0 && anywhere.progress < length);
        }
        racing_destroy(game);
    }
}

// A point wanders over the road and up to 4 m beside it, lap after lap: equal steps must give
// nearly equal progress, and never a jump.
static void progress_is_continuous_on_and_beside_the_road(void **ignored)
{
    (void)ignored;
    FlRandom r = {.seed = 12};
    EACH_COURSE(course)
    {
        RacingGame *game = game_on(course);
        double reach = racing_half_width_m(game) + 4.0, drift = 0.0;
        RacingPlace walk = {-50.0, 0.0}, seen = walk;
        FlVec3 at = racing_position(game, walk, NULL);
        while (walk.progress < 2.5 * racing_length_m(game)) {
            drift = 0.98 * drift + fl_random_between(&r, -0.04, 0.04);
            walk.progress += 0.05;
            walk.lateral = fmax(-reach, fmin(reach, walk.lateral + drift));
            FlVec3 next = racing_position(game, walk, NULL);
            RacingPlace place = racing_project(game, next, seen.progress);
            double step = fl_vec3_distance(at, next);
            assert_true(fabs(place.progress - seen.progress) <= 3.0 * step + 1e-9);
            assert_true(fabs(place.lateral - seen.lateral) <= 1.01 * step + 1e-9);
            assert_true(fabs(place.progress - walk.progress) < 1e-8);
            seen = place;
            at = next;
        }
        racing_destroy(game);
    }
}

static void odd_positions_give_finite_places(void **ignored)
{
    (void)ignored;
    RacingGame *game = game_on(RACING_COURSE_SERPENT);
    const double odd[] = {0.0, -1e-300, 1e4, -1e9, 1e300, (double)INFINITY, (double)NAN};
    const int32_t count = (int32_t)(sizeof odd / sizeof odd[0]);
    for (int32_t i = 0; i < count * count * count; i++) {
        FlVec3 position = fl_vec3(odd[i % count], odd[i / count % count], 0.0);
        RacingPlace place = racing_project(game, position, odd[i / count / count]);
        assert_true(isfinite(place.progress) && fabs(place.progress) < 1.1e9);
        assert_false(isnan(place.lateral) && fl_vec3_finite(position) && fabs(position.x) < 1e10 &&
                     fabs(position.y) < 1e10);
        RacingPlace anywhere = racing_locate(game, position);
        assert_true(anywhere.progress >= 0.0 && anywhere.progress <= racing_length_m(game));
    }
    RacingPlace kept = racing_project(game, fl_vec3((double)NAN, 0.0, 0.0), 77.0);
    assert_true(kept.progress == 77.0 && kept.lateral == 0.0);
    racing_destroy(game);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(course_is_closed_and_as_long_as_it_says),
        cmocka_unit_test(every_bend_is_wider_than_the_road),
        cmocka_unit_test(road_never_meets_itself),
        cmocka_unit_test(course_is_found_by_its_name),
        cmocka_unit_test(projecting_undoes_placing_over_many_laps),
        cmocka_unit_test(progress_is_continuous_on_and_beside_the_road),
        cmocka_unit_test(odd_positions_give_finite_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
