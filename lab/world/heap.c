// A binary heap that knows where its things stand.
#include "lab/world/heap.h"

#include <stdlib.h>

FlResult heap_init(Heap *heap, int32_t count)
{
    size_t n = (size_t)count;
    *heap = (Heap){.count = count};
    heap->time = (FlTime *)malloc(n * sizeof *heap->time);
    heap->rank = (uint8_t *)calloc(n, sizeof *heap->rank);
    heap->heap = (int32_t *)malloc(n * sizeof *heap->heap);
    heap->place = (int32_t *)malloc(n * sizeof *heap->place);
    if (heap->time == NULL || heap->rank == NULL || heap->heap == NULL || heap->place == NULL) {
        heap_free(heap);
        return FL_NO_MEMORY;
    }
    for (int32_t i = 0; i < count; i++) {
        heap->time[i] = FL_FOREVER;
        heap->heap[i] = i;
        heap->place[i] = i;
    }
    return FL_OK;
}

void heap_free(Heap *heap)
{
    free(heap->time);
    free(heap->rank);
    free(heap->heap);
    free(heap->place);
    *heap = (Heap){0};
}

static bool before(const Heap *heap, int32_t a, int32_t b)
{
    if (heap->time[a] != heap->time[b]) {
        return heap->time[a] < heap->time[b];
    }
    return heap->rank[a] != heap->rank[b] ? heap->rank[a] < heap->rank[b] : a < b;
}

static void put(Heap *heap, int32_t place, int32_t thing)
{
    heap->heap[place] = thing;
    heap->place[thing] = place;
}

static int32_t rise(Heap *heap, int32_t place, int32_t thing)
{
    while (place > 0) {
        int32_t parent = (place - 1) / 2;
        if (!before(heap, thing, heap->heap[parent])) {
            break;
        }
        put(heap, place, heap->heap[parent]);
        place = parent;
    }
    return place;
}

static int32_t sink(Heap *heap, int32_t place, int32_t thing)
{
    for (;;) {
        int32_t child = 2 * place + 1;
        if (child >= heap->count) {
            return place;
        }
        if (child + 1 < heap->count && before(heap, heap->heap[child + 1], heap->heap[child])) {
            child++;
        }
        if (!before(heap, heap->heap[child], thing)) {
            return place;
        }
        put(heap, place, heap->heap[child]);
        place = child;
    }
}

void heap_set(Heap *heap, int32_t thing, FlTime time)
{
    FL_ASSERT(thing >= 0 && thing < heap->count);
    heap->time[thing] = time;
    put(heap, sink(heap, rise(heap, heap->place[thing], thing), thing), thing);
}
