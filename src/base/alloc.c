// The allocator hook: the caller's two functions, or malloc and free.
#include "fairlead/base.h"

#include <stdlib.h>
#include <string.h>

void *fl_alloc(const FlAlloc *alloc, size_t size, size_t align)
{
    FL_ASSERT(size > 0 && align > 0 && (align & (align - 1)) == 0 &&
              align <= _Alignof(max_align_t));
    FL_ASSERT((alloc->alloc_fn == NULL) == (alloc->free_fn == NULL));
    if (alloc->alloc_fn == NULL) {
        return calloc(1, size);
    }
    void *ptr = alloc->alloc_fn(alloc->ctx, size, align);
    if (ptr != NULL) {
        memset(ptr, 0, size);
    }
    return ptr;
}

// Through a volatile pointer, or compilers leave out what is written and never read.
void fl_wipe(void *bytes, size_t count)
{
    static void *(*const volatile fill)(void *, int, size_t) = memset;
    fill(bytes, 0, count);
}

// Wiped, whatever it was: keys and tokens travel through queues and packets of many modules.
void fl_free(const FlAlloc *alloc, void *ptr, size_t size)
{
    if (ptr == NULL) {
        return;
    }
    fl_wipe(ptr, size);
    if (alloc->free_fn == NULL) {
        free(ptr);
        return;
    }
    alloc->free_fn(alloc->ctx, ptr, size);
}
