// What base keeps for several modules: bits in words, bytes of numbers, tables, rings, addresses.
#include "base/private.h"
#include "support.h"

static void smaller_and_larger_are_picked_at_the_ends_too(void **state)
{
    (void)state;
    assert_true(fl_time_min(FL_FOREVER, INT64_MIN) == INT64_MIN);
    assert_true(fl__time_max(FL_FOREVER, INT64_MIN) == FL_FOREVER);
    assert_int_equal(fl__int_min(-1, 1), -1);
    assert_int_equal(fl__int_max(-1, 1), 1);
    assert_true(fl__min(2.0, -3.0) == -3.0 && fl__max(2.0, -3.0) == 2.0);
    assert_true(fl__min((double)NAN, 1.0) == 1.0 && fl__max((double)NAN, 1.0) == 1.0);
}

static void powers_of_two_are_told_from_the_rest(void **state)
{
    (void)state;
    assert_true(fl__is_power_of_two(1) && fl__is_power_of_two(2));
    assert_true(fl__is_power_of_two(1 << 30));
    const int32_t others[] = {0, -1, 3, 6, (1 << 30) - 1, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(fl__is_power_of_two(others[i]));
    }
}

static void numbers_lie_in_bytes_lowest_first(void **state)
{
    (void)state;
    uint8_t bytes[8] = {0};
    fl__store_u64(bytes, UINT64_C(0x8877665544332211));
    for (int32_t i = 0; i < 8; i++) {
        assert_int_equal(bytes[i], 0x11 * (i + 1));
    }
    assert_int_equal(fl__load_u16(bytes), 0x2211);
    assert_true(fl__load_u32(bytes + 4) == 0x88776655u);
    assert_true(fl__load_u64(bytes) == UINT64_C(0x8877665544332211));
    fl__store_u32(bytes + 1, 0);
    assert_true(fl__load_u64(bytes) == UINT64_C(0x8877660000000011));
}

static void bits_are_found_in_order(void **state)
{
    (void)state;
    assert_int_equal(fl__bit_words(0), 0);
    assert_int_equal(fl__bit_words(64), 1);
    assert_int_equal(fl__bit_words(65), 2);
    uint64_t words[3] = {0};
    fl__bit_set(words, 63);
    fl__bit_set(words, 64);
    fl__bit_set(words, 130);
    assert_int_equal(fl__bit_next(words, 3, 0), 63);
    assert_int_equal(fl__bit_next(words, 3, 64), 64);
    assert_int_equal(fl__bit_next(words, 3, 65), 130);
    assert_int_equal(fl__bit_next(words, 3, 131), FL__NONE);
    assert_true(fl__bit_get(words, 64));
    fl__bit_clear(words, 64);
    assert_false(fl__bit_get(words, 64));
    assert_int_equal(fl__bit_lowest(UINT64_C(1) << 63 | 8u), 3);
    assert_int_equal(fl__bit_highest(UINT64_C(1) << 63 | 8u), 63);
}

typedef struct Memory {
    int32_t left; // tables that there is memory for
    size_t bytes; // in use
} Memory;

static void *memory_alloc(void *ctx, size_t size, size_t align)
{
    Memory *memory = ctx;
    (void)align;
    memory->bytes += memory->left > 0 ? size : 0;
    return memory->left-- > 0 ? malloc(size) : NULL;
}

static void memory_free(void *ctx, void *ptr, size_t size)
{
    Memory *memory = ctx;
    memory->bytes -= size;
    free(ptr);
}

static void tables_are_reserved_together_or_given_back(void **state)
{
    (void)state;
    for (int32_t there = 0; there <= 3; there++) {
        Memory memory = {.left = there};
        FlAlloc alloc = {memory_alloc, memory_free, &memory};
        uint8_t *bytes = NULL;
        double *numbers = NULL;
        int32_t *indices = NULL;
        const Fl__Table tables[3] = {
            {(void **)&bytes, 5},
            {(void **)&numbers, 2 * sizeof(double)},
            {(void **)&indices, sizeof(int32_t)},
        };
        assert_int_equal(fl__tables_bytes(tables, 3), 5 + 16 + 4);
        assert_true(fl__tables_reserve(&alloc, tables, 3) == (there == 3));
        assert_true((bytes != NULL) == (there > 0) && (numbers != NULL) == (there > 1));
        assert_true((indices != NULL) == (there > 2));
        assert_true(there == 0 || bytes[4] == 0);
        fl__tables_release(&alloc, tables, 3);
        assert_int_equal(memory.bytes, 0);
    }
}

static void a_ring_gives_back_what_was_put_in_across_its_end(void **state)
{
    (void)state;
    uint8_t memory[7];
    Fl__Ring ring = {.bytes = memory, .capacity = sizeof memory};
    FlRandom r = random_stream(3);
    uint8_t in = 0, out = 0;
    for (int32_t n = 0; n < 1000; n++) {
        uint8_t bytes[sizeof memory];
        int32_t count = (int32_t)fl_random_below(&r, (uint64_t)fl__ring_free(&ring) + 1);
        for (int32_t i = 0; i < count; i++) {
            bytes[i] = in++;
        }
        fl__ring_put(&ring, bytes, count);
        int32_t used = fl__ring_used(&ring);
        assert_int_equal(used, (uint8_t)(in - out));
        int32_t taken = (int32_t)fl_random_below(&r, (uint64_t)used + 1);
        uint8_t last;
        if (used > 0) {
            fl__ring_peek(&ring, used - 1, &last, 1);
            assert_int_equal(last, (uint8_t)(in - 1));
        }
        fl__ring_take(&ring, bytes, taken);
        for (int32_t i = 0; i < taken; i++) {
            assert_int_equal(bytes[i], out++);
        }
    }
    fl__ring_put(&ring, NULL, 0);
}

static void indices_are_found_by_address(void **state)
{
    (void)state;
    enum { COUNT = 50 };
    struct {
        int32_t other;
        FlAddress address;
    } all[COUNT] = {{0, {.family = FL_FAMILY_NONE}}};
    int32_t places[128];
    Fl__Addresses addresses = {.places = places,
                               .size = fl__addresses_size(COUNT),
                               .first = &all[0].address,
                               .stride = sizeof all[0]};
    assert_int_equal(addresses.size, 128);
    assert_int_equal(fl__addresses_size(1), 8);
    fl__addresses_clear(&addresses);
    for (int32_t i = 0; i < COUNT; i++) {
        all[i].address.family = FL_FAMILY_IPV4;
        all[i].address.port = (uint16_t)(1000 + i);
        int32_t *place = fl__addresses_place(&addresses, all[i].address);
        assert_int_equal(*place, FL__NONE);
        *place = i;
    }
    for (int32_t i = 0; i < COUNT; i++) {
        assert_int_equal(*fl__addresses_place(&addresses, all[i].address), i);
    }
    FlAddress stranger = all[0].address;
    stranger.port = 999;
    assert_int_equal(*fl__addresses_place(&addresses, stranger), FL__NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smaller_and_larger_are_picked_at_the_ends_too),
        cmocka_unit_test(powers_of_two_are_told_from_the_rest),
        cmocka_unit_test(numbers_lie_in_bytes_lowest_first),
        cmocka_unit_test(bits_are_found_in_order),
        cmocka_unit_test(tables_are_reserved_together_or_given_back),
        cmocka_unit_test(a_ring_gives_back_what_was_put_in_across_its_end),
        cmocka_unit_test(indices_are_found_by_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
