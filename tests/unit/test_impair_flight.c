// Packets in flight: by time, then in the order in which they came, and never more than there is
// room for.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "fairlead/impair.h"

#include "impair/private.h"

static FlFlight *make(int32_t capacity, int32_t packet_bytes)
{
    FlFlightDef def = fl__flight_def_default();
    def.capacity = capacity;
    def.packet_bytes = packet_bytes;
    FlFlight *flight = NULL;
    assert_int_equal(fl__flight_create(&def, &flight), FL_OK);
    return flight;
}

static void packets_leave_by_time_with_their_bytes(void **state)
{
    (void)state;
    FlFlight *flight = make(8, 16);
    assert_int_equal(fl__flight_next(flight), FL_FOREVER);
    assert_int_equal(fl__flight_push(flight, 30, 3, "three", 5), FL_OK);
    assert_int_equal(fl__flight_push(flight, 10, 1, "one", 3), FL_OK);
    assert_int_equal(fl__flight_push(flight, 20, 2, NULL, 0), FL_OK);
    FlFlightPacket out[4];
    assert_int_equal(fl__flight_take(flight, 9, out, 4), 0);
    assert_int_equal(fl__flight_next(flight), 10);
    assert_int_equal(fl__flight_take(flight, 20, out, 4), 2);
    assert_int_equal(out[0].tag, 1);
    assert_int_equal(out[0].bytes, 3);
    assert_memory_equal(out[0].data, "one", 3);
    assert_int_equal(out[1].tag, 2);
    assert_int_equal(out[1].bytes, 0);
    assert_int_equal(fl__flight_take(flight, INT64_MAX, out, 4), 1);
    assert_memory_equal(out[0].data, "three", 5);
    fl__flight_destroy(flight);
}

static void equal_times_leave_in_the_order_of_arrival(void **state)
{
    (void)state;
    FlFlight *flight = make(1000, 8);
    for (int32_t i = 0; i < 1000; i++) {
        assert_int_equal(fl__flight_push(flight, 5 + i % 3, (uint64_t)i, &i, 4), FL_OK);
    }
    FlFlightPacket out[1000];
    assert_int_equal(fl__flight_take(flight, 100, out, 1000), 1000);
    for (int32_t i = 1; i < 1000; i++) {
        bool later = out[i].at > out[i - 1].at;
        assert_true(later || (out[i].at == out[i - 1].at && out[i].tag > out[i - 1].tag));
    }
    fl__flight_destroy(flight);
}

static void a_full_queue_refuses_and_counts(void **state)
{
    (void)state;
    FlFlight *flight = make(2, 4);
    assert_int_equal(fl__flight_push(flight, 1, 0, "abcde", 5), FL_BAD_VALUE);
    assert_int_equal(fl__flight_push(flight, 1, 0, "abcd", 4), FL_OK);
    assert_int_equal(fl__flight_push(flight, 1, 0, "efgh", 4), FL_OK);
    assert_int_equal(fl__flight_push(flight, 1, 0, "ijkl", 4), FL_WOULD_BLOCK);
    FlFlightStats stats = fl__flight_stats(flight);
    assert_int_equal(stats.count, 2);
    assert_int_equal(stats.peak_count, 2);
    assert_int_equal(stats.full_count, 1);
    assert_int_equal(stats.too_big_count, 1);
    FlFlightPacket out;
    assert_int_equal(fl__flight_take(flight, 1, &out, 1), 1);
    assert_int_equal(fl__flight_push(flight, 1, 0, "ijkl", 4), FL_OK);
    fl__flight_destroy(flight);
}

// Against a model: a plain array searched for its earliest.
static void a_long_random_life_agrees_with_a_simple_model(void **state)
{
    (void)state;
    enum { CAPACITY = 200 };
    FlFlight *flight = make(CAPACITY, 8);
    struct {
        FlTime at;
        uint64_t tag;
    } model[CAPACITY];
    int32_t count = 0;
    FlRandom random = {3, 0, 0};
    for (uint64_t tag = 0; tag < 20000; tag++) {
        FlTime at = (FlTime)fl_random_below(&random, 50);
        FlResult result = fl__flight_push(flight, at, tag, &tag, 8);
        assert_int_equal(result, count < CAPACITY ? FL_OK : FL_WOULD_BLOCK);
        if (result == FL_OK) {
            model[count].at = at;
            model[count++].tag = tag;
        }
        for (uint64_t n = fl_random_below(&random, 3); n > 0 && count > 0; n--) {
            int32_t first = 0;
            for (int32_t i = 1; i < count; i++) {
                bool earlier = model[i].at < model[first].at ||
                               (model[i].at == model[first].at && model[i].tag < model[first].tag);
                first = earlier ? i : first;
            }
            assert_int_equal(fl__flight_next(flight), model[first].at);
            FlFlightPacket out;
            assert_int_equal(fl__flight_take(flight, FL_FOREVER, &out, 1), 1);
            assert_int_equal(out.tag, model[first].tag);
            assert_memory_equal(out.data, &model[first].tag, 8);
            model[first] = model[--count];
        }
        assert_int_equal(fl__flight_stats(flight).count, count);
    }
    fl__flight_destroy(flight);
}

static void *no_memory(void *ctx, size_t size, size_t align)
{
    (void)ctx;
    (void)size;
    (void)align;
    return NULL;
}

static void free_plain(void *ctx, void *ptr, size_t size)
{
    (void)ctx;
    (void)size;
    free(ptr);
}

static void no_memory_is_an_answer(void **state)
{
    (void)state;
    FlFlightDef def = fl__flight_def_default();
    def.alloc = (FlAlloc){no_memory, free_plain, NULL};
    FlFlight *flight = NULL;
    assert_int_equal(fl__flight_create(&def, &flight), FL_NO_MEMORY);
    assert_null(flight);
    fl__flight_destroy(NULL);
    def = fl__flight_def_default();
    assert_in_range(fl__flight_bytes(&def), 6000000, 6500000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_leave_by_time_with_their_bytes),
        cmocka_unit_test(equal_times_leave_in_the_order_of_arrival),
        cmocka_unit_test(a_full_queue_refuses_and_counts),
        cmocka_unit_test(a_long_random_life_agrees_with_a_simple_model),
        cmocka_unit_test(no_memory_is_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
