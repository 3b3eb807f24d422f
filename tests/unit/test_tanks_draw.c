// The terminal view: small pictures to the letter, and any view in any size.
#include "support.h"

#include "tanks/tanks.h"

static TanksWorld small_world(void)
{
    TanksRules rules = tanks_rules_default();
    rules.half_extent = 100.0;
    rules.building_count = 0;
    TanksWorld world;
    assert_int_equal(tanks_world_init(&rules, &world), FL_OK);
    world.building[world.building_count++] = (TanksBox){-80.0, 20.0, -40.0, 60.0};
    world.building[world.building_count++] = (TanksBox){40.0, -60.0, 80.0, -40.0};
    return world;
}

typedef struct Scene {
    TanksWorld world;
    TanksTank own;
    TanksSeen tanks[3];
    TanksShot shot;
    TanksView view;
} Scene;

// Looking east in the middle; one to the north-east, one dead, a shot to the south-west.
static void scene_make(Scene *scene)
{
    memset(scene, 0, sizeof *scene);
    scene->world = small_world();
    tanks_tank_init(&scene->own, 1, 123);
    tanks_tank_spawn(&scene->world, &scene->own);
    scene->own.x = scene->own.y = scene->own.yaw = 0.0;
    scene->own.kills = 3;
    scene->own.deaths = 1;
    scene->tanks[0] = (TanksSeen){.x = 75.0, .y = 85.0, .kills = 7, .deaths = 2, .alive = true};
    scene->tanks[1] = tanks_tank_seen(&scene->own);
    scene->tanks[2] = (TanksSeen){.x = 10.0, .y = 10.0};
    TanksEvent event = {.kind = TANKS_EVENT_SHOT, .x = -75.0, .y = -75.0};
    event.time = tanks_tick_time(&scene->world, 123);
    tanks_shot_start(&scene->world, &event, &scene->shot);
    scene->view = (TanksView){
        .world = &scene->world,
        .tick = 123,
        .own = &scene->own,
        .tanks = scene->tanks,
        .tank_count = 3,
        .shots = &scene->shot,
        .shot_count = 1,
    };
}

static void the_whole_arena_in_letters(void **state)
{
    (void)state;
    Scene scene;
    scene_make(&scene);
    TanksDrawDef def = {.columns = 40, .rows = 12};
    char text[4096];
    size_t size = tanks_draw(&scene.view, &def, text, sizeof text);
    const char *want = "2.0 s   you 3:1   best A 7:2   2 of 3 al\n"
                       "                                   A    \n"
                       "                                        \n"
                       "    ########                            \n"
                       "    ########                            \n"
                       "                                        \n"
                       "                    >                   \n"
                       "                                        \n"
                       "                                        \n"
                       "                            ########    \n"
                       "     *                                  \n"
                       "                                        \n";
    assert_string_equal(text, want);
    assert_int_equal(size, strlen(want));
}

static void buildings_are_red_and_colours_end_with_the_line(void **state)
{
    (void)state;
    Scene scene;
    scene_make(&scene);
    TanksDrawDef def = {.columns = 40, .rows = 12, .colours = true};
    char text[8192];
    tanks_draw(&scene.view, &def, text, sizeof text);
    assert_non_null(strstr(text, "\n    \x1b[31m########                            \x1b[0m\n"));
    assert_non_null(strstr(text, " \x1b[32m>"));
    assert_non_null(strstr(text, " \x1b[33m*"));
    assert_non_null(strstr(text, " \x1b[37mA"));
}

static void a_closer_look_goes_with_the_own_tank(void **state)
{
    (void)state;
    Scene scene;
    scene_make(&scene);
    scene.own.x = 90.0;
    scene.own.yaw = FL_PI / 2.0;
    scene.own.alive = true;
    scene.view.shot_count = 0;
    TanksDrawDef def = {.columns = 20, .rows = 5, .span = 40.0};
    char text[1024];
    tanks_draw(&scene.view, &def, text, sizeof text);
    assert_string_equal(text, "2.0 s   you 3:1   be\n"
                              "               .....\n"
                              "               .....\n"
                              "          ^    .....\n"
                              "               .....\n");
    scene.own.alive = false;
    scene.view.own = NULL; // a spectator sees everything
    def.span = 0.0;
    tanks_draw(&scene.view, &def, text, sizeof text);
    assert_null(strchr(text, '^'));
    assert_non_null(strstr(text, "A"));
}

static void the_smallest_building_is_somewhere(void **state)
{
    (void)state;
    Scene scene;
    scene_make(&scene);
    scene.world.building_count = 1;
    scene.world.building[0] = (TanksBox){-21.0, 49.0, -19.0, 51.0};
    TanksDrawDef def = {.columns = 20, .rows = 5};
    char text[1024];
    tanks_draw(&scene.view, &def, text, sizeof text);
    assert_non_null(strchr(text, '#'));
}

static void too_small_a_buffer_gets_nothing(void **state)
{
    (void)state;
    Scene scene;
    scene_make(&scene);
    TanksDrawDef def = tanks_draw_def_default();
    size_t size = tanks_draw_bytes(&def);
    char *text = malloc(size);
    assert_true(tanks_draw(&scene.view, &def, text, size) > 0);
    assert_int_equal(tanks_draw(&scene.view, &def, text, size - 1), 0);
    assert_string_equal(text, "");
    assert_int_equal(tanks_draw(&scene.view, &def, NULL, 0), 0);
    free(text);
}

// Rows of columns, whatever is between; escapes do not count.
static void check_shape(const char *text, const TanksDrawDef *def)
{
    int32_t rows = 0;
    int32_t columns = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '\x1b') {
            at = strchr(at, 'm');
            assert_non_null(at);
        } else if (*at == '\n') {
            assert_int_equal(columns, def->columns);
            columns = 0;
            rows++;
        } else {
            assert_true(*at >= ' ' && *at <= '~');
            columns++;
        }
    }
    assert_int_equal(rows, def->rows);
    assert_int_equal(columns, 0);
}

static void any_view_has_its_shape_and_stays_in_its_bytes(void **state)
{
    (void)state;
    static const double odd[] = {(double)NAN, (double)INFINITY, -1e300, 1e300, 0.0};
    FlRandom r = random_stream(9400);
    for (int32_t n = 0; n < CASES(2000); n++) {
        Scene scene;
        scene_make(&scene);
        for (int32_t i = 0; i < 3; i++) {
            TanksSeen *seen = &scene.tanks[i];
            seen->alive = random_chance(&r, 2);
            seen->kills = (uint32_t)fl_random_next(&r);
            seen->deaths = (uint32_t)fl_random_next(&r);
            seen->x = fl_random_between(&r, -150.0, 150.0);
            seen->y = odd[fl_random_below(&r, 5)];
        }
        scene.own.x = fl_random_between(&r, -100.0, 100.0);
        scene.own.yaw = fl_random_between(&r, -FL_PI, FL_PI);
        scene.view.tick = (int64_t)(fl_random_next(&r) >> 32) - FL_SEC(1);
        scene.view.own = random_chance(&r, 3) ? NULL : &scene.own;
        TanksDrawDef def = {0};
        def.columns = 20 + (int32_t)fl_random_below(&r, 100);
        def.rows = 4 + (int32_t)fl_random_below(&r, 40);
        def.span = random_chance(&r, 2) ? 0.0 : fl_random_between(&r, 0.001, 500.0);
        def.colours = random_chance(&r, 2);
        size_t size = tanks_draw_bytes(&def);
        char *text = malloc(size); // exactly: a sanitizer sees a byte too many
        size_t length = tanks_draw(&scene.view, &def, text, size);
        assert_int_equal(length, strlen(text));
        check_shape(text, &def);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_arena_in_letters),
        cmocka_unit_test(buildings_are_red_and_colours_end_with_the_line),
        cmocka_unit_test(a_closer_look_goes_with_the_own_tank),
        cmocka_unit_test(the_smallest_building_is_somewhere),
        cmocka_unit_test(too_small_a_buffer_gets_nothing),
        cmocka_unit_test(any_view_has_its_shape_and_stays_in_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
