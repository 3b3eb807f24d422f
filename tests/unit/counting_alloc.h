// An allocator that counts, and refuses when it is told to.
#ifndef FAIRLEAD_TESTS_COUNTING_ALLOC_H
#define FAIRLEAD_TESTS_COUNTING_ALLOC_H

#include <stdlib.h>

#include "fairlead/base.h"

typedef struct Counter {
    int32_t allocated, freed;
    bool refuse;
} Counter;

static inline void *counting_alloc(void *ctx, size_t size, size_t align)
{
    Counter *counter = ctx;
    (void)align;
    counter->allocated++;
    return counter->refuse ? NULL : calloc(1, size);
}

static inline void counting_free(void *ctx, void *ptr, size_t size)
{
    Counter *counter = ctx;
    (void)size;
    counter->freed++;
    free(ptr);
}

#endif
