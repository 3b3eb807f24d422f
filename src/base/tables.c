// Tables that an object reserves together, once: there is one list, from which they are counted,
// reserved and given back.
#include "private.h"

size_t fl__tables_bytes(const Fl__Table *tables, int32_t count)
{
    size_t bytes = 0;
    for (int32_t i = 0; i < count; i++) {
        bytes += tables[i].bytes;
    }
    return bytes;
}

bool fl__tables_reserve(const FlAlloc *alloc, const Fl__Table *tables, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        *tables[i].pointer =
            tables[i].bytes > 0 ? fl_alloc(alloc, tables[i].bytes, _Alignof(max_align_t)) : NULL;
        if (*tables[i].pointer == NULL && tables[i].bytes > 0) {
            return false;
        }
    }
    return true;
}

void fl__tables_release(const FlAlloc *alloc, const Fl__Table *tables, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        fl_free(alloc, *tables[i].pointer, tables[i].bytes);
        *tables[i].pointer = NULL;
    }
}
