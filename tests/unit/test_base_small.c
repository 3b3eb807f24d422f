// The small parts of base: results, time, memory, vectors and rotations.
#include "support.h"

#include "base/private.h"

// ---------------------------------------------------------------- results

static void every_result_has_its_name_and_a_sentence(void **state)
{
    (void)state;
#define ROW(name, value, text)                                                                     \
    assert_int_equal(FL_##name, value);                                                            \
    assert_string_equal(fl__result_name(FL_##name), #name);                                        \
    assert_string_equal(fl_result_text(FL_##name), text);
    FL_RESULT_TABLE(ROW)
#undef ROW
    assert_string_equal(fl__result_name(FL_WOULD_BLOCK), "WOULD_BLOCK");
}

static void failures_are_negative_and_all_different(void **state)
{
    (void)state;
    const FlResult all[] = {
#define ROW(name, value, text) FL_##name,
        FL_RESULT_TABLE(ROW)
#undef ROW
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        assert_true(all[i] == FL_OK ? i == 0 : (int)all[i] < 0);
        for (size_t j = 0; j < i; j++) {
            assert_true(all[i] != all[j]);
        }
    }
}

static void a_number_that_is_no_result_is_unknown(void **state)
{
    (void)state;
    const int none[] = {1, 77, -1000, INT32_MIN};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        FlResult result = FL_OK;
        memcpy(&result, &none[i], sizeof result); // as it would come from a file or a newer library
        assert_string_equal(fl__result_name(result), "UNKNOWN");
        assert_true(strlen(fl_result_text(result)) > 0);
    }
}

// ---------------------------------------------------------------- time

static FlTime random_any_time(FlRandom *r)
{
    const FlTime ends[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    if (random_chance(r, 2)) {
        return ends[fl_random_below(r, sizeof ends / sizeof ends[0])];
    }
    uint64_t bits = fl_random_next(r);
    bits >>= fl_random_below(r, 64);
    FlTime time;
    memcpy(&time, &bits, sizeof time);
    return time;
}

// The truth in long double: 64 bits hold every difference and sum of two times.
static FlTime held(long double exact)
{
    if (exact >= 9223372036854775807.0L) {
        return INT64_MAX;
    }
    return exact <= -9223372036854775808.0L ? INT64_MIN : (FlTime)exact;
}

static void spans_and_sums_of_times_are_exact_or_held_at_the_ends(void **state)
{
    (void)state;
    FlRandom r = random_stream(30);
    for (int32_t i = 0; i < CASES(500000); i++) {
        FlTime a = random_any_time(&r), b = random_any_time(&r);
        assert_true(fl_span(a, b) == held((long double)a - (long double)b));
        assert_true(fl_time_add(a, b) == held((long double)a + (long double)b));
    }
    assert_true(fl_time_add(FL_SEC(5), FL_FOREVER) == FL_FOREVER);
    assert_true(fl_span(INT64_MIN, INT64_MIN) == 0 && fl_span(INT64_MAX, INT64_MAX) == 0);
}

static void seconds_of_a_span_are_right_to_the_last_bit(void **state)
{
    (void)state;
    FlRandom r = random_stream(31);
    for (FlTime s = 0; s < 100000; s++) {
        check_same(fl_span_seconds(FL_SEC(s)), (double)s); // whole seconds come out whole
    }
    for (int32_t i = 0; i < CASES(200000); i++) {
        FlTime span = random_time(&r, 0, (FlTime)1 << fl_random_below(&r, 54));
        // Nearest: no further off than half of the last place (and what long double rounds).
        double seconds = fl_span_seconds(span);
        double unit = nextafter(seconds, 1e300) - seconds;
        long double off = (long double)seconds - (long double)span / 1e9L;
        check_near((double)off, 0.0, 0.501 * unit);
        check_same(fl_span_seconds(-span) + 0.0, 0.0 - seconds);
    }
}

static void spans_survive_the_way_through_seconds(void **state)
{
    (void)state;
    FlRandom r = random_stream(32);
    for (int32_t i = 0; i < CASES(200000); i++) {
        FlTime span = random_time(&r, -((FlTime)1 << 50), (FlTime)1 << 50);
        assert_true(fl_span_from_seconds(fl_span_seconds(span)) == span);
    }
    assert_true(FL_SEC(1) == FL_MS(1000) && FL_MS(1) == FL_US(1000) && FL_US(1) == 1000);
}

static void every_double_is_some_span(void **state)
{
    (void)state;
    assert_true(fl_span_from_seconds((double)NAN) == 0);
    assert_true(fl_span_from_seconds((double)INFINITY) == INT64_MAX);
    assert_true(fl_span_from_seconds(-(double)INFINITY) == INT64_MIN);
    assert_true(fl_span_from_seconds(1e300) == INT64_MAX);
    assert_true(fl_span_from_seconds(-1e300) == INT64_MIN);
    assert_true(fl_span_from_seconds(9223372036.854775807) == INT64_MAX);
    assert_true(fl_span_from_seconds(-9223372036.854775808) == INT64_MIN);
    assert_true(fl_span_from_seconds(9223372036.0) == FL_SEC(9223372036));
    assert_true(fl_span_from_seconds(0.4e-9) == 0 && fl_span_from_seconds(0.6e-9) == 1);
    assert_true(fl_span_from_seconds(-0.4e-9) == 0 && fl_span_from_seconds(-0.6e-9) == -1);
    assert_true(fl_span_from_seconds(1.5) == FL_MS(1500));
    assert_true(fl_span_from_seconds(4.9406564584124654e-324) == 0);
}

// ---------------------------------------------------------------- memory

typedef struct Ledger {
    size_t size, align;
    void *given, *taken;
    size_t taken_size;
    int32_t alloc_count, free_count;
    bool refuse;
    _Alignas(max_align_t) unsigned char room[256];
} Ledger;

static void *ledger_alloc(void *ctx, size_t size, size_t align)
{
    Ledger *ledger = ctx;
    ledger->alloc_count++;
    ledger->size = size;
    ledger->align = align;
    memset(ledger->room, 0xa5, sizeof ledger->room);
    ledger->given = ledger->refuse || size > sizeof ledger->room ? NULL : ledger->room;
    return ledger->given;
}

static void ledger_free(void *ctx, void *ptr, size_t size)
{
    Ledger *ledger = ctx;
    ledger->free_count++;
    ledger->taken = ptr;
    ledger->taken_size = size;
}

static void allocator_hook_hears_sizes_and_memory_comes_zeroed(void **state)
{
    (void)state;
    Ledger ledger = {0};
    FlAlloc alloc = {ledger_alloc, ledger_free, &ledger};
    for (size_t size = 1; size <= sizeof ledger.room; size++) {
        unsigned char *bytes = fl_alloc(&alloc, size, 8);
        assert_ptr_equal(bytes, ledger.given);
        assert_int_equal(ledger.size, size);
        assert_int_equal(ledger.align, 8);
        for (size_t i = 0; i < sizeof ledger.room; i++) {
            assert_int_equal(bytes[i], i < size ? 0 : 0xa5); // all of it, and nothing beyond
        }
        fl_free(&alloc, bytes, size);
        assert_ptr_equal(ledger.taken, bytes);
        assert_int_equal(ledger.taken_size, size);
    }
    assert_int_equal(ledger.alloc_count, ledger.free_count);
}

static void an_allocator_that_has_nothing_gives_null_and_null_is_not_freed(void **state)
{
    (void)state;
    Ledger ledger = {.refuse = true};
    FlAlloc alloc = {ledger_alloc, ledger_free, &ledger};
    void *nothing = fl_alloc(&alloc, 10, 1);
    assert_null(nothing);
    fl_free(&alloc, nothing, 10);
    assert_int_equal(ledger.free_count, 0);
}

static void without_a_hook_memory_comes_zeroed_and_aligned(void **state)
{
    (void)state;
    FlAlloc alloc = {0};
    for (size_t size = 1; size < 5000; size = size * 3 + 1) {
        unsigned char *bytes = fl_alloc(&alloc, size, _Alignof(max_align_t));
        assert_non_null(bytes);
        assert_int_equal((uintptr_t)bytes % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(bytes[i], 0);
        }
        fl_free(&alloc, bytes, size);
    }
    fl_free(&alloc, NULL, 100);
}

// ---------------------------------------------------------------- vectors

static void vectors_add_scale_and_cross_as_in_the_book(void **state)
{
    (void)state;
    FlRandom r = random_stream(33);
    for (int32_t i = 0; i < CASES(100000); i++) {
        FlVec3 a = random_vec3(&r, 100.0), b = random_vec3(&r, 100.0);
        double s = fl_random_between(&r, -10.0, 10.0);
        check_vec3_near(fl_vec3_sub(fl_vec3_add(a, b), b), a, 1e-13);
        check_vec3_near(fl_vec3_add_scaled(a, b, s), fl_vec3_add(a, fl_vec3_scale(b, s)), 0.0);
        FlVec3 cross = fl__vec3_cross(a, b);
        check_near(fl_vec3_dot(cross, a), 0.0, 1e-9);
        check_near(fl_vec3_dot(cross, b), 0.0, 1e-9);
        double dot = fl_vec3_dot(a, b);
        double square = fl_vec3_dot(a, a) * fl_vec3_dot(b, b);
        check_near(fl_vec3_dot(cross, cross) + dot * dot, square, 1e-13 * square); // Lagrange
        check_near(fl_vec3_distance(a, b), fl_vec3_length(fl_vec3_sub(b, a)), 0.0);
    }
    FlVec3 x = fl_vec3(1.0, 0.0, 0.0), y = fl_vec3(0.0, 1.0, 0.0);
    check_vec3_near(fl__vec3_cross(x, y), fl_vec3(0.0, 0.0, 1.0), 0.0);
}

static void a_vector_is_finite_only_if_all_of_it_is(void **state)
{
    (void)state;
    const double odd[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    assert_true(fl_vec3_finite(fl_vec3(DBL_MAX, -DBL_MAX, 0.0)));
    for (size_t i = 0; i < 3; i++) {
        assert_false(fl_vec3_finite(fl_vec3(odd[i], 0.0, 0.0)));
        assert_false(fl_vec3_finite(fl_vec3(0.0, odd[i], 0.0)));
        assert_false(fl_vec3_finite(fl_vec3(0.0, 0.0, odd[i])));
        FlQuat q = {0.0, 0.0, 0.0, odd[i]};
        assert_false(fl__quat_finite(q));
    }
    assert_true(fl__quat_finite(fl__quat_identity()));
}

// ---------------------------------------------------------------- rotations

static void rotating_keeps_lengths_and_angles(void **state)
{
    (void)state;
    FlRandom r = random_stream(34);
    for (int32_t i = 0; i < CASES(100000); i++) {
        FlQuat q = random_quat(&r);
        FlVec3 a = random_vec3(&r, 10.0), b = random_vec3(&r, 10.0);
        FlVec3 qa = fl__quat_rotate(q, a), qb = fl__quat_rotate(q, b);
        check_near(fl_vec3_length(qa), fl_vec3_length(a), 1e-13);
        check_near(fl_vec3_dot(qa, qb), fl_vec3_dot(a, b), 1e-12);
        // And handedness: a rotation, not a mirror.
        check_vec3_near(fl__vec3_cross(qa, qb), fl__quat_rotate(q, fl__vec3_cross(a, b)), 1e-12);
    }
}

static void product_turns_first_by_its_right_side(void **state)
{
    (void)state;
    FlRandom r = random_stream(35);
    for (int32_t i = 0; i < CASES(100000); i++) {
        FlQuat a = random_quat(&r), b = random_quat(&r), c = random_quat(&r);
        FlVec3 v = random_vec3(&r, 10.0);
        FlVec3 one_by_one = fl__quat_rotate(a, fl__quat_rotate(b, v));
        check_vec3_near(fl__quat_rotate(fl__quat_multiply(a, b), v), one_by_one, 1e-13);
        FlQuat left = fl__quat_multiply(fl__quat_multiply(a, b), c);
        FlQuat right = fl__quat_multiply(a, fl__quat_multiply(b, c));
        check_near(fl__quat_angle(left, right), 0.0, 1e-14);
        FlQuat back = fl__quat_multiply(fl__quat_conjugate(a), a);
        check_near(back.w, 1.0, 1e-15);
        check_vec3_near(fl_vec3(back.x, back.y, back.z), fl_vec3(0.0, 0.0, 0.0), 1e-15);
    }
}

static void rotation_vector_turns_about_itself_by_its_length(void **state)
{
    (void)state;
    FlRandom r = random_stream(36);
    for (int32_t i = 0; i < CASES(100000); i++) {
        FlVec3 axis = random_vec3(&r, 1.0);
        axis = fl_vec3_scale(axis, 1.0 / fl_vec3_length(axis));
        double angle = random_chance(&r, 2) ? fl_random_between(&r, 0.0, FL_PI)
                                            : fabs(random_scale(&r, -140.0, 0.0));
        FlQuat q = fl__quat_from_vector(fl_vec3_scale(axis, angle));
        check_vec3_near(fl__quat_rotate(q, axis), axis, 1e-14);
        double turned = fl__quat_angle(fl__quat_identity(), q);
        check_near(turned, angle, 1e-14 * angle); // small angles keep their digits
        // Rodrigues' formula, for a vector across the axis.
        FlVec3 across = fl__vec3_cross(axis, fl_vec3(0.3, -0.2, 0.9));
        FlVec3 want = fl_vec3_add(fl_vec3_scale(across, cos(angle)),
                                  fl_vec3_scale(fl__vec3_cross(axis, across), sin(angle)));
        check_vec3_near(fl__quat_rotate(q, across), want, 1e-14);
    }
    FlQuat none = fl__quat_from_vector(fl_vec3(0.0, 0.0, 0.0));
    assert_true(none.w == 1.0 && none.x == 0.0 && none.y == 0.0 && none.z == 0.0);
}

static void yaw_and_back_is_the_same_heading(void **state)
{
    (void)state;
    FlRandom r = random_stream(37);
    for (int32_t i = 0; i < CASES(100000); i++) {
        double yaw = fl_random_between(&r, -20.0, 20.0);
        FlQuat q = fl__quat_from_yaw(yaw);
        check_near(fl_angle_wrap(fl__quat_yaw(q) - yaw), 0.0, 1e-14);
        FlVec3 heading = fl__quat_rotate(q, fl_vec3(1.0, 0.0, 0.0));
        check_vec3_near(heading, fl_vec3(cos(yaw), sin(yaw), 0.0), 1e-14);
        // For any rotation, yaw is where the x axis points, seen from above.
        FlQuat any = random_quat(&r);
        FlVec3 nose = fl__quat_rotate(any, fl_vec3(1.0, 0.0, 0.0));
        double level = sqrt(nose.x * nose.x + nose.y * nose.y);
        double apart = fl_angle_wrap(fl__quat_yaw(any) - fl_atan2(nose.y, nose.x));
        check_near(apart * level, 0.0, 1e-14);
    }
}

static void angle_between_rotations_is_a_metric_and_blind_to_sign(void **state)
{
    (void)state;
    FlRandom r = random_stream(38);
    for (int32_t i = 0; i < CASES(100000); i++) {
        FlQuat a = random_quat(&r), b = random_quat(&r), c = random_quat(&r);
        double ab = fl__quat_angle(a, b);
        assert_true(ab >= 0.0 && ab <= FL_PI);
        check_near(fl__quat_angle(b, a), ab, 1e-14);
        FlQuat minus_b = {-b.w, -b.x, -b.y, -b.z};
        check_near(fl__quat_angle(a, minus_b), ab, 0.0);
        assert_true(ab <= fl__quat_angle(a, c) + fl__quat_angle(c, b) + 1e-13);
        check_near(fl__quat_angle(fl__quat_multiply(c, a), fl__quat_multiply(c, b)), ab, 1e-13);
    }
}

static void normalising_gives_length_one_or_the_identity(void **state)
{
    (void)state;
    FlRandom r = random_stream(39);
    for (int32_t i = 0; i < CASES(100000); i++) {
        double scale = random_scale(&r, -149.0, 150.0);
        FlQuat u = random_quat(&r);
        FlQuat q = {u.w * scale, u.x * scale, u.y * scale, u.z * scale};
        FlQuat n = fl__quat_normalise(q);
        check_near(n.w * n.w + n.x * n.x + n.y * n.y + n.z * n.z, 1.0, 1e-14);
        check_near(fl__quat_angle(u, n), 0.0, 1e-14);
    }
    FlQuat short_ones[] = {{0.0, 0.0, 0.0, 0.0}, {1e-200, 0.0, 0.0, 1e-300}};
    for (size_t i = 0; i < 2; i++) {
        FlQuat n = fl__quat_normalise(short_ones[i]);
        assert_true(n.w == 1.0 && n.x == 0.0 && n.y == 0.0 && n.z == 0.0);
    }
}

// A finite quaternion has a direction, however long it is.
static void normalising_something_huge_gives_length_one_too(void **state)
{
    (void)state;
    FlQuat huge = {3e200, 0.0, -4e200, 0.0};
    FlQuat n = fl__quat_normalise(huge);
    check_near(n.w, 0.6, 1e-15);
    check_near(n.y, -0.8, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_result_has_its_name_and_a_sentence),
        cmocka_unit_test(failures_are_negative_and_all_different),
        cmocka_unit_test(a_number_that_is_no_result_is_unknown),
        cmocka_unit_test(spans_and_sums_of_times_are_exact_or_held_at_the_ends),
        cmocka_unit_test(seconds_of_a_span_are_right_to_the_last_bit),
        cmocka_unit_test(spans_survive_the_way_through_seconds),
        cmocka_unit_test(every_double_is_some_span),
        cmocka_unit_test(allocator_hook_hears_sizes_and_memory_comes_zeroed),
        cmocka_unit_test(an_allocator_that_has_nothing_gives_null_and_null_is_not_freed),
        cmocka_unit_test(without_a_hook_memory_comes_zeroed_and_aligned),
        cmocka_unit_test(vectors_add_scale_and_cross_as_in_the_book),
        cmocka_unit_test(a_vector_is_finite_only_if_all_of_it_is),
        cmocka_unit_test(rotating_keeps_lengths_and_angles),
        cmocka_unit_test(product_turns_first_by_its_right_side),
        cmocka_unit_test(rotation_vector_turns_about_itself_by_its_length),
        cmocka_unit_test(yaw_and_back_is_the_same_heading),
        cmocka_unit_test(angle_between_rotations_is_a_metric_and_blind_to_sign),
        cmocka_unit_test(normalising_gives_length_one_or_the_identity),
        cmocka_unit_test(normalising_something_huge_gives_length_one_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
