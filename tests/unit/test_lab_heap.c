// lab/world/heap: who is next.
#include "support.h"

#include "lab/world/heap.h"

/// The first by looking at all.
static int32_t first_of(const Heap *heap)
{
    int32_t best = 0;
    for (int32_t i = 1; i < heap->count; i++) {
        bool earlier = heap->time[i] < heap->time[best];
        bool ranked = heap->time[i] == heap->time[best] && heap->rank[i] < heap->rank[best];
        best = earlier || ranked ? i : best;
    }
    return best;
}

static void the_earliest_comes_first_however_times_change(void **state)
{
    (void)state;
    FlRandom r = random_stream(1);
    for (int32_t i = 0; i < CASES(50); i++) {
        Heap heap;
        int32_t count = 1 + (int32_t)fl_random_below(&r, 40);
        assert_int_equal(heap_init(&heap, count), FL_OK);
        for (int32_t k = 0; k < count; k++) {
            heap.rank[k] = (uint8_t)fl_random_below(&r, 3);
        }
        for (int32_t k = 0; k < count; k++) {
            heap_set(&heap, k, FL_FOREVER); // ranks are in force
        }
        for (int32_t step = 0; step < 400; step++) {
            int32_t thing = (int32_t)fl_random_below(&r, (uint64_t)count);
            FlTime time = (FlTime)fl_random_below(&r, 20); // many are equal
            heap_set(&heap, thing, random_chance(&r, 10) ? FL_FOREVER : time);
            assert_int_equal(heap_first(&heap), first_of(&heap));
        }
        heap_free(&heap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_earliest_comes_first_however_times_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
