// Bytes in a circle: what is put in comes out in order, cut as one likes.
#include "private.h"

void fl__ring_put(Fl__Ring *ring, const void *bytes, int32_t count)
{
    FL_ASSERT(count <= fl__ring_free(ring));
    if (count == 0) {
        return; // from nowhere
    }
    int32_t at = (int32_t)(ring->put % ring->capacity);
    int32_t before_end = fl__int_min(ring->capacity - at, count);
    memcpy(ring->bytes + at, bytes, (size_t)before_end);
    memcpy(ring->bytes, (const uint8_t *)bytes + before_end, (size_t)(count - before_end));
    ring->put += count;
}

void fl__ring_peek(const Fl__Ring *ring, int32_t offset, void *bytes, int32_t count)
{
    FL_ASSERT(offset + count <= fl__ring_used(ring));
    int32_t at = (int32_t)((ring->taken + offset) % ring->capacity);
    int32_t before_end = fl__int_min(ring->capacity - at, count);
    memcpy(bytes, ring->bytes + at, (size_t)before_end);
    memcpy((uint8_t *)bytes + before_end, ring->bytes, (size_t)(count - before_end));
}

void fl__ring_take(Fl__Ring *ring, void *bytes, int32_t count)
{
    fl__ring_peek(ring, 0, bytes, count);
    ring->taken += count;
}
