// The world definition: what is refused, which widths follow, and the protocol id.
#include "wire_support.h"

#include "wire/wire.h"

static void the_default_world_is_a_good_one(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    const int32_t width[FL_QUANTISER_COUNT] = {17, 17, 17, 15, 15, 15, 14, 14, 14, 18, 11, 11, 11};
    for (int32_t q = 0; q < FL_QUANTISER_COUNT; q++) {
        assert_int_equal(world.quantiser[q].width, width[q]);
    }
    assert_int_equal(world.entity_width, 10);
    assert_int_equal(world.yaw_width, 10);
    assert_int_equal(world.rotation_part_width, 9);
}

// ---------------------------------------------------------------- what is refused

static void check_refused(FlWorldDef def, const char *word)
{
    FlError problem;
    assert_int_equal(fl_world_def_problem(&def, &problem), FL_BAD_VALUE);
    assert_int_equal(problem.code, FL_BAD_VALUE);
    assert_non_null(strstr(problem.text, " is ")); // the field's value
    if (strstr(problem.text, word) == NULL) {
        print_error("\"%s\" does not name %s\n", problem.text, word);
        fail();
    }
    FlWorld world;
    memset(&world, 0xff, sizeof world);
    assert_int_equal(fl_world_init(&def, &world), FL_BAD_VALUE);
    assert_true(world.protocol_id == 0 && world.def.entity_capacity == 0);
}

static void a_number_that_is_not_finite_is_refused_wherever_it_stands(void **state)
{
    (void)state;
    const double none[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        FlWorldDef good = fl_world_def_default();
        FlWorldDef def = good;
        double *const place[] = {&def.low.x,         &def.low.y,          &def.low.z,
                                 &def.high.x,        &def.high.y,         &def.high.z,
                                 &def.precision,     &def.top_speed,      &def.top_acceleration,
                                 &def.top_turn_rate, &def.angle_precision};
        for (size_t p = 0; p < sizeof place / sizeof place[0]; p++) {
            def = good;
            *place[p] = none[i];
            check_refused(def, "");
        }
    }
}

static void each_setting_has_its_range_and_names_it(void **state)
{
    (void)state;
    FlWorldDef good = fl_world_def_default();
    FlWorldDef def = good;
#define REFUSED(word, ...)                                                                         \
    do {                                                                                           \
        def = good;                                                                                \
        __VA_ARGS__;                                                                               \
        check_refused(def, word);                                                                  \
    } while (0)
    REFUSED("low", def.low.x = 501.0);
    REFUSED("low", def.low.z = nextafter(500.0, 501.0));
    REFUSED("one step", def.high.y = def.low.y + 0.005);
    REFUSED("2^44", def.high.x = 1e14; def.low.x = def.high.x - 10.0);
    REFUSED("2^32", def.high.x = def.low.x + 0.01 * 4294967296.0);
    REFUSED("precision", def.precision = 0.0);
    REFUSED("precision", def.precision = -0.01);
    REFUSED("precision", def.precision = 9e-10);
    REFUSED("precision", def.precision = 1.1e9);
    REFUSED("top_speed", def.top_speed = 0.0);
    REFUSED("top_speed", def.top_speed = -1.0);
    REFUSED("top_speed", def.top_speed = 0.01 * 2147483648.0);
    REFUSED("top_acceleration", def.top_acceleration = -1e-9);
    REFUSED("top_acceleration", def.top_acceleration = 0.02 * 2147483648.0);
    REFUSED("top_turn_rate", def.top_turn_rate = -1e-9);
    REFUSED("top_turn_rate", def.top_turn_rate = 1e7);
    REFUSED("angle_precision", def.angle_precision = 9e-6);
    REFUSED("angle_precision", def.angle_precision = 1.01);
    REFUSED("entity_capacity", def.entity_capacity = 0);
    REFUSED("entity_capacity", def.entity_capacity = -5);
    REFUSED("entity_capacity", def.entity_capacity = 65537);
#undef REFUSED
}

static void the_ends_of_the_ranges_are_good(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    def.high.x = def.low.x + 0.01 * 4294967295.0;
    def.top_speed = 0.01 * 2147483647.0;
    def.top_turn_rate = 20.0 / def.top_speed;
    def.entity_capacity = 65536;
    def.angle_precision = 1e-5;
    FlWorld world = world_of(&def);
    assert_int_equal(world.quantiser[FL_QUANTISER_POSITION].width, 32);
    assert_int_equal(world.quantiser[FL_QUANTISER_VELOCITY].width, 32);
    assert_int_equal(world.entity_width, 16);
    assert_int_equal(world.rotation_part_width, 19);
    def.angle_precision = 1.0;
    def.entity_capacity = 1;
    def.high.z = def.low.z;
    def.top_acceleration = 0.0;
    world = world_of(&def);
    assert_int_equal(world.yaw_width, 3);
    assert_int_equal(world.rotation_part_width, 3);
    assert_int_equal(world.entity_width, 0);
    assert_int_equal(world.quantiser[FL_QUANTISER_ACCELERATION].width, 0);
}

static void an_axis_without_length_takes_no_bits(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    def.low.z = def.high.z = 12.5;
    FlWorld world = world_of(&def);
    for (int32_t q = 2; q < FL_QUANTISER_TURN_RATE; q += 3) {
        assert_int_equal(world.quantiser[q].width, 0);
        assert_int_equal(world.quantiser[q].last, 0);
    }
    check_same(fl__dequantise(&world.quantiser[FL_QUANTISER_POSITION + 2], 0), 12.5);
    check_same(fl__dequantise(&world.quantiser[FL_QUANTISER_VELOCITY + 2], 0), 0.0);
    assert_int_equal(world.quantiser[FL_QUANTISER_SPIN + 2].width, 11);
}

// ---------------------------------------------------------------- the protocol id

static void the_protocol_id_is_the_documented_hash(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    // spec/vectors/update.json has the same, and Python computes it from spec/WIRE.md.
    if (world.protocol_id != UINT64_C(0xbbddc6571569cdb0)) {
        print_error("protocol id of the default world: 0x%016llx\n",
                    (unsigned long long)world.protocol_id);
        fail();
    }
}

static void every_setting_changes_the_protocol_id(void **state)
{
    (void)state;
    FlWorldDef good = fl_world_def_default();
    uint64_t plain = world_of(&good).protocol_id;
    FlWorldDef def = good;
    double *const place[] = {&def.low.x,         &def.low.y,          &def.low.z,
                             &def.high.x,        &def.high.y,         &def.high.z,
                             &def.precision,     &def.top_speed,      &def.top_acceleration,
                             &def.top_turn_rate, &def.angle_precision};
    for (size_t p = 0; p < sizeof place / sizeof place[0]; p++) {
        def = good;
        *place[p] = nextafter(*place[p], 1e9); // one bit
        assert_true(world_of(&def).protocol_id != plain);
    }
    def = good;
    def.entity_capacity++;
    assert_true(world_of(&def).protocol_id != plain);
    def = good;
    def.application_version++;
    assert_true(world_of(&def).protocol_id != plain);
}

static void zero_of_either_sign_is_the_same_world(void **state)
{
    (void)state;
    FlWorldDef a = fl_world_def_default();
    a.low.y = 0.0;
    FlWorldDef b = a;
    b.low.y = -0.0;
    assert_true(world_of(&a).protocol_id == world_of(&b).protocol_id);
    FlWorld world = world_of(&b);
    check_same(fl__dequantise(&world.quantiser[FL_QUANTISER_POSITION + 1], 0), 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_world_is_a_good_one),
        cmocka_unit_test(a_number_that_is_not_finite_is_refused_wherever_it_stands),
        cmocka_unit_test(each_setting_has_its_range_and_names_it),
        cmocka_unit_test(the_ends_of_the_ranges_are_good),
        cmocka_unit_test(an_axis_without_length_takes_no_bits),
        cmocka_unit_test(the_protocol_id_is_the_documented_hash),
        cmocka_unit_test(every_setting_changes_the_protocol_id),
        cmocka_unit_test(zero_of_either_sign_is_the_same_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
