// Who is next: a heap of things that each have a time, which may change.
//
// A thing is a small number. All are in the heap from the start, asleep (FL_FOREVER). Equal times
// come in the order of ranks, then of numbers, so that a run is the same every time.
#ifndef LAB_HEAP_H
#define LAB_HEAP_H

#include "fairlead/base.h"

typedef struct Heap {
    FlTime *time;   ///< Of each thing.
    uint8_t *rank;  ///< Of each thing: set it before heap_set is called for it.
    int32_t *heap;  ///< Things, as a binary heap; the earliest first.
    int32_t *place; ///< Where each thing stands in it.
    int32_t count;
} Heap;

/// Errors: FL_NO_MEMORY (and an empty heap).
FL_NODISCARD FlResult heap_init(Heap *heap, int32_t count);
void heap_free(Heap *heap);

void heap_set(Heap *heap, int32_t thing, FlTime time);

/// The earliest thing.
static inline int32_t heap_first(const Heap *heap)
{
    return heap->heap[0];
}

#endif
