// Updates: what is never told, what is never taken, and why.
#include "update_support.h"

// ---------------------------------------------------------------- what is refused by the encoder

static void check_cannot_be_told(const FlWorld *world, const FlUpdate *update)
{
    uint8_t bytes[FL_UPDATE_BYTES_MAX];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    assert_false(fl_update_encode(&writer, world, update));
    assert_false(writer.failed); // it is the motion's fault, and others may follow
    assert_int_equal(writer.bit_count, 0);
    FlMotion result;
    bool wide;
    assert_int_equal(fl_update_round(world, &update->motion, &result, &wide), FL_BAD_VALUE);
    assert_int_equal(result.model, FL_MODEL_STILL);
    assert_true(fl__motion_finite(&result) && !wide);
}

static void what_is_not_finite_is_never_told(void **state)
{
    (void)state;
    const double none[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    FlRandom r = random_stream(8);
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    for (int32_t n = 0; n < FORMS * 3; n++) {
        int32_t form = n % FORMS;
        FlUpdate good = {.motion = random_motion_in(&r, &world, form)};
        FlUpdate bad;
        double *const place[] = {
            &bad.motion.position.y,
            model_of(form) != FL_MODEL_STILL ? &bad.motion.velocity.z : NULL,
            model_of(form) == FL_MODEL_QUADRATIC ? &bad.motion.acceleration.x : NULL,
            model_of(form) == FL_MODEL_CUBIC ? &bad.motion.acceleration.x : NULL,
            model_of(form) == FL_MODEL_CUBIC ? &bad.motion.jerk.z : NULL,
            model_of(form) == FL_MODEL_CIRCULAR ? &bad.motion.turn_rate : NULL,
            kind_of(form) == FL_FACING_YAW ? &bad.motion.facing.yaw : NULL,
            kind_of(form) == FL_FACING_YAW ? &bad.motion.facing.yaw_rate : NULL,
            kind_of(form) == FL_FACING_FREE ? &bad.motion.facing.rotation.y : NULL,
            kind_of(form) == FL_FACING_FREE ? &bad.motion.facing.spin.x : NULL,
        };
        for (size_t p = 0; p < sizeof place / sizeof place[0]; p++) {
            if (place[p] != NULL) {
                bad = good;
                *place[p] = none[n / FORMS];
                check_cannot_be_told(&world, &bad);
                bad.motion.time += 123; // the same where it is re-based first
                check_cannot_be_told(&world, &bad);
            }
        }
    }
}

static void a_motion_that_overflows_when_rebased_is_never_told(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    FlState given = {.time = -1, .position = {-DBL_MAX, 0.0, 0.0}, .velocity = {DBL_MAX, 0.0, 0.0}};
    given.time = FL_US(249);
    FlUpdate update = {.motion = fl_motion_make(FL_MODEL_LINEAR, &given)};
    check_cannot_be_told(&world, &update);
}

static void a_time_near_the_end_of_times_is_never_told(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    const FlTime ends[] = {INT64_MIN, INT64_MIN + 1, INT64_MAX - 1, INT64_MAX,
                           INT64_MAX - FL_SEC(16)};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        FlState given = {.time = ends[i]};
        FlUpdate update = {.motion = fl_motion_make(FL_MODEL_STILL, &given)};
        check_cannot_be_told(&world, &update);
    }
}

static void an_unknown_model_facing_or_entity_is_never_told(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    FlState given = {.facing = fl_facing_none()};
    FlUpdate update = {.motion = fl_motion_make(FL_MODEL_STILL, &given)};
    update.motion.model = FL_MODEL_AUTO;
    check_cannot_be_told(&world, &update);
    update.motion.model = FL_MODEL_STILL;
    int kind = 3;
    memcpy(&update.motion.facing.kind, &kind, sizeof update.motion.facing.kind);
    check_cannot_be_told(&world, &update);
    update.motion.facing.kind = FL_FACING_NONE;
    update.entity = (uint32_t)def.entity_capacity;
    uint8_t bytes[FL_UPDATE_BYTES_MAX];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    assert_false(fl_update_encode(&writer, &world, &update));
    assert_int_equal(writer.bit_count, 0);
}

static void without_room_nothing_is_written(void **state)
{
    (void)state;
    FlRandom r = random_stream(9);
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    for (int32_t form = 0; form < FORMS; form++) {
        FlUpdate update = {.motion = random_motion_in(&r, &world, form)};
        int32_t need = fl__update_bytes(&world, model_of(form), kind_of(form), false, false);
        for (int32_t room = 0; room < need; room++) {
            uint8_t bytes[FL_UPDATE_BYTES_MAX];
            memset(bytes, 0x77, sizeof bytes);
            FlWriter writer;
            fl_writer_init(&writer, bytes, room);
            assert_false(fl_update_encode(&writer, &world, &update));
            assert_true(writer.failed);
            for (size_t i = 0; i < sizeof bytes; i++) {
                assert_int_equal(bytes[i], 0x77);
            }
        }
    }
}

// ---------------------------------------------------------------- what is refused by the decoder

// Whatever bytes decode must encode to the same bytes.
static FlUpdateFault check_bytes(const FlWorld *world, const uint8_t *bytes, int32_t size,
                                 FlTime stamp)
{
    FlUpdate got;
    int32_t used;
    FlUpdateFault fault = unpacked(world, bytes, size, stamp, &got, &used);
    if (fault != FL_UPDATE_OK) {
        assert_true(got.entity == 0 && got.motion.model == FL_MODEL_STILL);
        return fault;
    }
    assert_true(fl__motion_finite(&got.motion));
    Packed again = packed(world, &got);
    assert_int_equal(again.size, used);
    assert_memory_equal(again.bytes, bytes, (size_t)used);
    return fault;
}

static Packed random_packed(FlRandom *r, const FlWorld *world, int32_t form, FlTime *time)
{
    FlUpdate update = {.life = 2,
                       .motion = random_chance(r, 2) ? random_motion_in(r, world, form)
                                                     : random_motion_anywhere(r, form)};
    update.entity = (uint32_t)fl_random_below(r, (uint64_t)world->def.entity_capacity);
    *time = update.motion.time;
    return packed(world, &update);
}

static void every_truncation_is_noticed(void **state)
{
    (void)state;
    FlRandom r = random_stream(10);
    for (int32_t n = 0; n < CASES(5000); n++) {
        FlWorld world = random_world(&r);
        FlTime time;
        Packed p = random_packed(&r, &world, n % FORMS, &time);
        for (int32_t size = 0; size < p.size; size++) {
            assert_int_equal(check_bytes(&world, p.bytes, size, time), FL_UPDATE_TRUNCATED);
        }
    }
}

static void every_flipped_bit_is_refused_or_means_something_else(void **state)
{
    (void)state;
    FlRandom r = random_stream(11);
    int32_t seen[FL_UPDATE_FAULT_COUNT] = {0};
    for (int32_t n = 0; n < CASES(5000); n++) {
        FlWorld world = random_world(&r);
        FlTime time;
        Packed p = random_packed(&r, &world, n % FORMS, &time);
        for (int32_t bit = 0; bit < p.size * 8; bit++) {
            p.bytes[bit / 8] = (uint8_t)(p.bytes[bit / 8] ^ 1u << (bit & 7));
            seen[check_bytes(&world, p.bytes, p.size, time)]++;
            p.bytes[bit / 8] = (uint8_t)(p.bytes[bit / 8] ^ 1u << (bit & 7));
        }
    }
    for (int32_t i = 0; i < FL_UPDATE_FAULT_COUNT; i++) {
        print_message("             %-12s %d\n", fl__update_fault_name((FlUpdateFault)i), seen[i]);
        assert_true(i == FL_UPDATE_BAD_TIME || seen[i] > 0);
    }
}

static void noise_is_refused_or_encodes_to_itself(void **state)
{
    (void)state;
    FlRandom r = random_stream(12);
    for (int32_t n = 0; n < CASES(200000); n++) {
        FlWorld world = random_world(&r);
        uint8_t bytes[FL_UPDATE_BYTES_MAX];
        for (int32_t i = 0; i < FL_UPDATE_BYTES_MAX; i++) {
            bytes[i] = (uint8_t)fl_random_next(&r);
        }
        (void)check_bytes(&world, bytes, FL_UPDATE_BYTES_MAX, (FlTime)fl_random_next(&r));
    }
}

// A world whose fields all leave values over: 1000 entities of 1024, and so on.
static FlWorld spare_world(void)
{
    FlWorldDef def = fl_world_def_default();
    def.entity_capacity = 1000;
    return world_of(&def);
}

// The given bits in order, as bytes.
static Packed bits_as(const uint64_t (*field)[2], int32_t count)
{
    Packed p = {0};
    FlWriter writer;
    fl_writer_init(&writer, p.bytes, FL_UPDATE_BYTES_MAX);
    for (int32_t i = 0; i < count; i++) {
        fl_writer_put(&writer, field[i][0], (int32_t)field[i][1]);
    }
    assert_false(writer.failed);
    p.size = fl_writer_size(&writer);
    return p;
}

static void check_fault(const uint64_t (*field)[2], int32_t count, FlUpdateFault want)
{
    FlWorld world = spare_world();
    Packed p = bits_as(field, count);
    FlUpdateFault got = check_bytes(&world, p.bytes, p.size, 0);
    if (got != want) {
        print_error("%s instead of %s\n", fl__update_fault_name(got), fl__update_fault_name(want));
        fail();
    }
}
#define CHECK_FAULT(want, ...)                                                                     \
    do {                                                                                           \
        const uint64_t field[][2] = {__VA_ARGS__};                                                 \
        check_fault(field, (int32_t)(sizeof field / sizeof field[0]), want);                       \
    } while (0)

#define HEAD                                                                                       \
    {5, 10}, {1, 2},                                                                               \
    {                                                                                              \
        0, 16                                                                                      \
    }
#define MIDDLE                                                                                     \
    {50000, 17}, {50000, 17},                                                                      \
    {                                                                                              \
        50000, 17                                                                                  \
    }

#define FADE                                                                                       \
    {1, 2}, {7, 4},                                                                                \
    {                                                                                              \
        7, 4                                                                                       \
    }
#define DRIFT                                                                                      \
    {16000, 15}, {16000, 15},                                                                      \
    {                                                                                              \
        16000, 15                                                                                  \
    }

static void each_reason_to_refuse_has_its_name(void **state)
{
    (void)state;
    // A good one of each sort first, so that each of the others has one thing wrong.
    CHECK_FAULT(FL_UPDATE_OK, {0, 4}, HEAD, MIDDLE);
    CHECK_FAULT(FL_UPDATE_OK, {0, 4}, {999, 10}, {3, 2}, {0, 16}, {100000, 17}, {0, 17}, {0, 17});
    CHECK_FAULT(FL_UPDATE_BAD_ENTITY, {0, 4}, {1000, 10}, {1, 2}, {0, 16}, MIDDLE);
    CHECK_FAULT(FL_UPDATE_OK, {15, 4}, {15, 4}, {3, 4}, HEAD, FADE, MIDDLE, DRIFT);
    CHECK_FAULT(FL_UPDATE_BAD_VALUE, {15, 4}, {15, 4}, {3, 4}, HEAD, {1, 2}, {0, 4}, {1, 4}, MIDDLE,
                DRIFT);
    CHECK_FAULT(FL_UPDATE_BAD_FORM, {15, 4}, {15, 4}, {0, 4}, HEAD, FADE, MIDDLE);
    CHECK_FAULT(FL_UPDATE_BAD_FORM, {15, 4}, {15, 4}, {12, 4}, HEAD, FADE, MIDDLE, DRIFT);
    CHECK_FAULT(FL_UPDATE_BAD_FORM, {15, 4}, {15, 4}, {15, 4}, HEAD, MIDDLE, {0, 64}, {0, 64});
    CHECK_FAULT(FL_UPDATE_TRUNCATED, {15, 4}, {15, 4});
    CHECK_FAULT(FL_UPDATE_BAD_VALUE, {0, 4}, HEAD, {100001, 17}, {0, 17}, {0, 17});
    CHECK_FAULT(FL_UPDATE_BAD_VALUE, {0, 4}, HEAD, {0, 17}, {0, 17}, {131071, 17});
    CHECK_FAULT(FL_UPDATE_BAD_PADDING, {0, 4}, HEAD, MIDDLE, {1, 1});
    CHECK_FAULT(FL_UPDATE_TRUNCATED, {0, 4}, HEAD);
    CHECK_FAULT(FL_UPDATE_TRUNCATED, {15, 4}, {0, 4});
    // Velocity 32000 of 32000, and one more.
    CHECK_FAULT(FL_UPDATE_OK, {3, 4}, HEAD, MIDDLE, {32000, 15}, {0, 15}, {16000, 15});
    CHECK_FAULT(FL_UPDATE_BAD_VALUE, {3, 4}, HEAD, MIDDLE, {32001, 15}, {0, 15}, {16000, 15});
    // Yaw rates end at 2000.
    CHECK_FAULT(FL_UPDATE_OK, {1, 4}, HEAD, MIDDLE, {1023, 10}, {2000, 11});
    CHECK_FAULT(FL_UPDATE_BAD_VALUE, {1, 4}, HEAD, MIDDLE, {1023, 10}, {2001, 11});
}

#define SPIN                                                                                       \
    {1000, 11}, {1000, 11},                                                                        \
    {                                                                                              \
        1000, 11                                                                                   \
    }

static void a_rotation_that_nobody_packs_is_refused(void **state)
{
    (void)state;
    // 9 bits a part: zero is 255, K = 362, and 2 * 255^2 < 362^2 < 2 * 256^2.
    CHECK_FAULT(FL_UPDATE_OK, {2, 4}, HEAD, MIDDLE, {0, 2}, {255, 9}, {255, 9}, {255, 9}, SPIN);
    CHECK_FAULT(FL_UPDATE_OK, {2, 4}, HEAD, MIDDLE, {0, 2}, {510, 9}, {255, 9}, {255, 9}, SPIN);
    CHECK_FAULT(FL_UPDATE_BAD_VALUE, {2, 4}, HEAD, MIDDLE, {0, 2}, {511, 9}, {255, 9}, {255, 9},
                SPIN);
    // Four equal components of 181/362: the first counts as the largest.
    CHECK_FAULT(FL_UPDATE_OK, {2, 4}, HEAD, MIDDLE, {0, 2}, {436, 9}, {436, 9}, {436, 9}, SPIN);
    CHECK_FAULT(FL_UPDATE_BAD_VALUE, {2, 4}, HEAD, MIDDLE, {1, 2}, {436, 9}, {436, 9}, {436, 9},
                SPIN);
    CHECK_FAULT(FL_UPDATE_BAD_VALUE, {2, 4}, HEAD, MIDDLE, {0, 2}, {437, 9}, {436, 9}, {436, 9},
                SPIN);
}

static void wide_values_are_finite_not_minus_zero_and_needed(void **state)
{
    (void)state;
    uint64_t far_off_bits = bits_of(1e6);
    uint64_t one = bits_of(1.0);
    CHECK_FAULT(FL_UPDATE_OK, {15, 4}, {0, 4}, HEAD, {far_off_bits, 64}, {one, 64}, {0, 64});
    CHECK_FAULT(FL_UPDATE_BAD_WIDE, {15, 4}, {0, 4}, HEAD, {one, 64}, {one, 64}, {0, 64});
    CHECK_FAULT(FL_UPDATE_BAD_VALUE, {15, 4}, {0, 4}, HEAD, {far_off_bits, 64}, {one, 64},
                {bits_of(-0.0), 64});
    CHECK_FAULT(FL_UPDATE_BAD_VALUE, {15, 4}, {0, 4}, HEAD, {far_off_bits, 64},
                {bits_of((double)NAN), 64}, {0, 64});
    CHECK_FAULT(FL_UPDATE_BAD_VALUE, {15, 4}, {0, 4}, HEAD, {far_off_bits, 64},
                {bits_of(-(double)INFINITY), 64}, {0, 64});
    CHECK_FAULT(FL_UPDATE_BAD_PADDING, {15, 4}, {0, 4}, HEAD, {far_off_bits, 64}, {one, 64},
                {0, 64}, {1, 1});
    CHECK_FAULT(FL_UPDATE_BAD_ENTITY, {15, 4}, {0, 4}, {1000, 10}, {1, 2}, {0, 16},
                {far_off_bits, 64}, {one, 64}, {0, 64});
}

#define STILL_ENDS                                                                                 \
    {16000, 15}, {16000, 15},                                                                      \
    {                                                                                              \
        16000, 15                                                                                  \
    }
#define ZERO3                                                                                      \
    {0, 64}, {0, 64},                                                                              \
    {                                                                                              \
        0, 64                                                                                      \
    }

static void a_cubic_lasts_longer_than_nothing(void **state)
{
    (void)state;
    CHECK_FAULT(FL_UPDATE_OK, {12, 4}, HEAD, MIDDLE, STILL_ENDS, MIDDLE, STILL_ENDS, {1, 16});
    CHECK_FAULT(FL_UPDATE_OK, {12, 4}, HEAD, MIDDLE, STILL_ENDS, MIDDLE, STILL_ENDS, {65535, 16});
    CHECK_FAULT(FL_UPDATE_BAD_VALUE, {12, 4}, HEAD, MIDDLE, STILL_ENDS, MIDDLE, STILL_ENDS,
                {0, 16});
    uint64_t far_off_bits = bits_of(1e6);
    uint64_t half = (uint64_t)1 << 63;
    CHECK_FAULT(FL_UPDATE_OK, {15, 4}, {12, 4}, HEAD, {far_off_bits, 64}, {0, 64}, {0, 64}, ZERO3,
                ZERO3, ZERO3, {half - 1, 64});
    CHECK_FAULT(FL_UPDATE_BAD_VALUE, {15, 4}, {12, 4}, HEAD, {far_off_bits, 64}, {0, 64}, {0, 64},
                ZERO3, ZERO3, ZERO3, {half, 64});
    CHECK_FAULT(FL_UPDATE_BAD_VALUE, {15, 4}, {12, 4}, HEAD, {far_off_bits, 64}, {0, 64}, {0, 64},
                ZERO3, ZERO3, ZERO3, {0, 64});
    CHECK_FAULT(FL_UPDATE_OK, {15, 4}, {12, 4}, HEAD, ZERO3, ZERO3, ZERO3, ZERO3,
                {250000 * UINT64_C(65535) + 125000, 64});
    CHECK_FAULT(FL_UPDATE_BAD_WIDE, {15, 4}, {12, 4}, HEAD, ZERO3, ZERO3, ZERO3, ZERO3,
                {250000 * UINT64_C(65535) + 124999, 64});
}

static void every_fault_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(fl__update_fault_name(FL_UPDATE_OK), "OK");
    assert_string_equal(fl__update_fault_name(FL_UPDATE_BAD_PADDING), "BAD_PADDING");
    assert_string_equal(fl__update_fault_name(FL_UPDATE_FAULT_COUNT), "UNKNOWN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_finite_is_never_told),
        cmocka_unit_test(a_motion_that_overflows_when_rebased_is_never_told),
        cmocka_unit_test(a_time_near_the_end_of_times_is_never_told),
        cmocka_unit_test(an_unknown_model_facing_or_entity_is_never_told),
        cmocka_unit_test(without_room_nothing_is_written),
        cmocka_unit_test(every_truncation_is_noticed),
        cmocka_unit_test(every_flipped_bit_is_refused_or_means_something_else),
        cmocka_unit_test(noise_is_refused_or_encodes_to_itself),
        cmocka_unit_test(each_reason_to_refuse_has_its_name),
        cmocka_unit_test(a_rotation_that_nobody_packs_is_refused),
        cmocka_unit_test(wide_values_are_finite_not_minus_zero_and_needed),
        cmocka_unit_test(a_cubic_lasts_longer_than_nothing),
        cmocka_unit_test(every_fault_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
