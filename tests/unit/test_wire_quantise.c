// Real numbers, angles and rotations as whole numbers of steps.
#include "wire_support.h"

#include "wire/wire.h"

// ---------------------------------------------------------------- quantisers

static void check_index_returns(const FlQuantiser *quantiser, uint32_t index)
{
    uint32_t again;
    double value = fl__dequantise(quantiser, index);
    assert_true(bits_of(value) != bits_of(-0.0));
    if (!fl__quantise(quantiser, value, &again) || again != index) {
        print_error("origin %a step %a last %u: %u is %a is %u\n", quantiser->origin,
                    quantiser->step, quantiser->last, index, value, again);
        fail();
    }
}

static void the_value_of_an_index_has_that_index_in_every_world(void **state)
{
    (void)state;
    FlRandom r = random_stream(1);
    for (int32_t n = 0; n < CASES(20000); n++) {
        FlWorld world = random_world(&r);
        for (int32_t q = 0; q < FL_QUANTISER_COUNT; q++) {
            const FlQuantiser *quantiser = &world.quantiser[q];
            check_index_returns(quantiser, 0);
            check_index_returns(quantiser, quantiser->zero);
            check_index_returns(quantiser, quantiser->last);
            for (int32_t i = 0; i < 4; i++) {
                uint64_t any = fl_random_below(&r, (uint64_t)quantiser->last + 1);
                check_index_returns(quantiser, (uint32_t)any);
            }
        }
    }
}

static void every_index_of_the_default_world_returns(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    for (int32_t q = 0; q < FL_QUANTISER_COUNT; q++) {
        for (uint32_t i = 0; i <= world.quantiser[q].last; i++) {
            check_index_returns(&world.quantiser[q], i);
        }
    }
}

static void what_is_inside_comes_back_within_half_a_step(void **state)
{
    (void)state;
    FlRandom r = random_stream(2);
    Worst worst = {0};
    for (int32_t n = 0; n < CASES(20000); n++) {
        FlWorld world = random_world(&r);
        for (int32_t q = 0; q < FL_QUANTISER_COUNT; q++) {
            const FlQuantiser *quantiser = &world.quantiser[q];
            double low = fl__dequantise(quantiser, 0);
            double high = fl__dequantise(quantiser, quantiser->last);
            double value = fl_random_between(&r, low, high);
            uint32_t index;
            assert_true(fl__quantise(quantiser, value, &index));
            double error = fabs(fl__dequantise(quantiser, index) - value) / quantiser->step;
            worst_note(&worst, error, n);
        }
    }
    check_worst(&worst, 0.505, "steps off"); // the rest is the doubles' own, 2^44 steps from zero
}

static void both_ends_of_a_range_fit_and_half_a_step_beyond_does_not(void **state)
{
    (void)state;
    FlRandom r = random_stream(3);
    for (int32_t n = 0; n < CASES(20000); n++) {
        FlWorld world = random_world(&r);
        const FlWorldDef *def = &world.def;
        uint32_t index;
        assert_true(fl__quantise(&world.quantiser[FL_QUANTISER_POSITION], def->low.x, &index));
        assert_int_equal(index, 0);
        assert_true(fl__quantise(&world.quantiser[FL_QUANTISER_POSITION], def->high.x, &index));
        assert_int_equal(index, world.quantiser[FL_QUANTISER_POSITION].last);
        const FlQuantiser *rate = &world.quantiser[FL_QUANTISER_TURN_RATE];
        assert_true(fl__quantise(rate, def->top_turn_rate, &index));
        assert_true(fl__quantise(rate, -def->top_turn_rate, &index));
        for (int32_t q = 0; q < FL_QUANTISER_COUNT; q++) {
            const FlQuantiser *quantiser = &world.quantiser[q];
            double low = fl__dequantise(quantiser, 0);
            double high = fl__dequantise(quantiser, quantiser->last);
            assert_false(fl__quantise(quantiser, low - 0.51 * quantiser->step, &index));
            assert_int_equal(index, 0);
            assert_false(fl__quantise(quantiser, high + 0.51 * quantiser->step, &index));
            assert_true(fl__quantise(quantiser, low - 0.49 * quantiser->step, &index));
            assert_true(fl__quantise(quantiser, high + 0.49 * quantiser->step, &index));
        }
    }
}

static void what_is_no_number_fits_nowhere(void **state)
{
    (void)state;
    const double none[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1e300, -1e300};
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        uint32_t index = 7;
        assert_false(fl__quantise(&world.quantiser[0], none[i], &index));
        assert_int_equal(index, 0);
    }
}

static void half_way_goes_away_from_the_origin(void **state)
{
    (void)state;
    FlQuantiser quarter = {.step = 0.25, .zero = 10, .last = 20, .width = 5};
    const struct {
        double value;
        uint32_t index;
    } row[] = {{0.125, 11},  {-0.125, 9}, {0.375, 12},
               {-0.375, 8},  {0.0, 10},   {-0.0, 10},
               {0.1249, 10}, {2.5, 20},   {0.25 * 0.49999999999999994, 10}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        uint32_t index;
        assert_true(fl__quantise(&quarter, row[i].value, &index));
        assert_int_equal(index, row[i].index);
    }
}

static void nothing_at_all_is_told_exactly(void **state)
{
    (void)state;
    FlRandom r = random_stream(4);
    for (int32_t n = 0; n < CASES(2000); n++) {
        FlWorld world = random_world(&r);
        for (int32_t q = FL_QUANTISER_VELOCITY; q < FL_QUANTISER_COUNT; q++) {
            uint32_t index;
            assert_true(fl__quantise(&world.quantiser[q], 0.0, &index));
            check_same(fl__dequantise(&world.quantiser[q], index), 0.0);
        }
    }
}

// ---------------------------------------------------------------- angles

static void every_direction_of_a_circle_returns(void **state)
{
    (void)state;
    for (int32_t width = 1; width <= 30; width++) {
        uint32_t count = (uint32_t)1 << width;
        uint32_t stride = width <= 12 ? 1 : count / 4099;
        for (uint64_t i = 0; i < count; i += stride) {
            double angle = fl_circle_angle((uint32_t)i, width);
            assert_true(angle > -FL_PI && angle <= FL_PI);
            assert_int_equal(fl_circle_index(angle, width), (uint32_t)i);
            assert_int_equal(fl_circle_index(angle + 2.0 * FL_PI, width), (uint32_t)i);
        }
        check_same(fl_circle_angle(0, width), 0.0);
        check_same(fl_circle_angle(count / 2, width), FL_PI);
        assert_int_equal(fl_circle_index(-FL_PI, width), count / 2);
    }
}

static void angles_come_back_within_half_a_direction(void **state)
{
    (void)state;
    FlRandom r = random_stream(5);
    Worst worst = {0};
    for (int32_t n = 0; n < CASES(100000); n++) {
        int32_t width = 1 + (int32_t)fl_random_below(&r, 30);
        double angle = fl_random_between(&r, -10.0, 10.0);
        double back = fl_circle_angle(fl_circle_index(angle, width), width);
        double half = FL_PI / (double)((uint32_t)1 << width);
        worst_note(&worst, fabs(fl_angle_wrap(back - angle)) / half, n);
    }
    check_worst(&worst, 1.000001, "half directions off");
    assert_int_equal(fl_circle_index(1e300, 10), fl_circle_index(fl_angle_wrap(1e300), 10));
}

// ---------------------------------------------------------------- rotations

static void check_unit_with_largest(FlQuat q, int32_t largest)
{
    const double component[4] = {q.w, q.x, q.y, q.z};
    check_near(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z, 1.0, 1e-15);
    for (int32_t i = 0; i < 4; i++) {
        assert_true(i < largest ? fabs(component[i]) < component[largest]
                                : fabs(component[i]) <= component[largest]);
    }
}

static void every_rotation_code_is_refused_or_returns(void **state)
{
    (void)state;
    for (int32_t width = 3; width <= 6; width++) {
        uint64_t count = (uint64_t)1 << (2 + 3 * width);
        uint64_t good = 0;
        for (uint64_t index = 0; index < count; index++) {
            FlQuat rotation;
            if (fl__rotation_from_index(index, width, &rotation)) {
                good++;
                check_unit_with_largest(rotation, (int32_t)(index & 3));
                assert_true(fl__rotation_index(rotation, width) == index);
            } else {
                check_same(rotation.w, 1.0);
            }
        }
        // The cube of parts that the sphere's quarter leaves: a good half is in use.
        print_message("             %d bits a part: %.1f %% of codes used\n", width,
                      100.0 * (double)good / (double)count);
        assert_true(good > count / 4);
        FlQuat none;
        assert_false(fl__rotation_from_index(count, width, &none)); // a bit too many
    }
}

// Near the corners where components are equal, rounding is hardest.
static FlQuat random_hard_quat(FlRandom *r, int32_t width)
{
    double step = 1.0 / (double)((int64_t)1 << width);
    double c[4];
    int32_t equal = 1 + (int32_t)fl_random_below(r, 4);
    for (int32_t i = 0; i < 4; i++) {
        c[i] = i < equal ? random_sign(r) : fl_random_between(r, -1.0, 1.0);
    }
    double size = sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2] + c[3] * c[3]);
    for (int32_t i = 0; i < 4; i++) {
        c[i] = c[i] / size + step * fl_random_between(r, -3.0, 3.0) * (double)!random_chance(r, 3);
    }
    FlQuat q = {c[0], c[1], c[2], c[3]};
    return fl__quat_normalise(q);
}

static void rotations_come_back_close_and_stay(void **state)
{
    (void)state;
    FlRandom r = random_stream(6);
    Worst worst = {0};
    for (int32_t n = 0; n < CASES(400000); n++) {
        int32_t width = 3 + (int32_t)fl_random_below(&r, 18);
        FlQuat q = random_chance(&r, 4) ? random_quat(&r) : random_hard_quat(&r, width);
        uint64_t index = fl__rotation_index(q, width);
        FlQuat minus = {-q.w, -q.x, -q.y, -q.z};
        assert_true(fl__rotation_index(minus, width) == index);
        FlQuat back;
        assert_true(fl__rotation_from_index(index, width, &back));
        assert_true(fl__rotation_index(back, width) == index);
        double allowed = 3.5 / floor(sqrt(2.0) * (double)((int64_t)1 << (width - 1)));
        worst_note(&worst, fl__quat_angle(q, back) / allowed, n);
    }
    check_worst(&worst, 1.0, "of the allowed turn");
}

static void a_quaternion_of_any_length_is_a_rotation(void **state)
{
    (void)state;
    FlRandom r = random_stream(7);
    for (int32_t n = 0; n < CASES(10000); n++) {
        FlQuat q = random_quat(&r);
        double scale = pow(10.0, fl_random_between(&r, -280.0, 280.0));
        FlQuat scaled = {q.w * scale, q.x * scale, q.y * scale, q.z * scale};
        FlQuat back;
        assert_true(fl__rotation_from_index(fl__rotation_index(scaled, 12), 12, &back));
        assert_true(fl__quat_angle(q, back) < 3.5 / 2896.0);
    }
    FlQuat none = {0.0, 0.0, 0.0, 0.0};
    assert_true(fl__rotation_index(none, 9) == fl__rotation_index(fl__quat_identity(), 9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_value_of_an_index_has_that_index_in_every_world),
        cmocka_unit_test(every_index_of_the_default_world_returns),
        cmocka_unit_test(what_is_inside_comes_back_within_half_a_step),
        cmocka_unit_test(both_ends_of_a_range_fit_and_half_a_step_beyond_does_not),
        cmocka_unit_test(what_is_no_number_fits_nowhere),
        cmocka_unit_test(half_way_goes_away_from_the_origin),
        cmocka_unit_test(nothing_at_all_is_told_exactly),
        cmocka_unit_test(every_direction_of_a_circle_returns),
        cmocka_unit_test(angles_come_back_within_half_a_direction),
        cmocka_unit_test(every_rotation_code_is_refused_or_returns),
        cmocka_unit_test(rotations_come_back_close_and_stay),
        cmocka_unit_test(a_quaternion_of_any_length_is_a_rotation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
