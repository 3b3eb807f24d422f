// Rows in shared memory: written whole or not seen.
#include "app/demo/demo_looks.h"

#include <string.h>

#define READ_BEHIND 3 // by then all processes have written theirs

void demo_looks_init(DemoLooks *looks, FlTime begin)
{
    looks->begin = begin;
    for (int32_t r = 0; r < DEMO_ROWS_MAX; r++) {
        for (int32_t i = 0; i < DEMO_LOOKS_KEPT; i++) {
            atomic_init(&looks->rows[r][i].look, -1);
        }
    }
}

int64_t demo_look_at(const DemoLooks *looks, FlTime time)
{
    return time < looks->begin ? -1 : (time - looks->begin) / DEMO_LOOK_EVERY;
}

int64_t demo_looks_due(const DemoLooks *looks, FlTime now, int64_t *look)
{
    int64_t newest = demo_look_at(looks, now) - READ_BEHIND;
    int64_t oldest = newest - DEMO_LOOKS_KEPT / 2;
    *look = *look > oldest ? *look : oldest;
    return newest;
}

static DemoRow *row_of(DemoLooks *looks, int32_t row, int64_t look)
{
    return &looks->rows[row][look & (DEMO_LOOKS_KEPT - 1)];
}

DemoRow *demo_look_begin(DemoLooks *looks, int32_t row, int64_t look)
{
    DemoRow *r = row_of(looks, row, look);
    atomic_store(&r->look, -1);
    r->shot_count = 0;
    return r;
}

void demo_look_done(DemoRow *row, int64_t look)
{
    atomic_store(&row->look, look);
}

bool demo_look_read(DemoLooks *looks, int32_t row, int64_t look, DemoRow *copy)
{
    DemoRow *r = row_of(looks, row, look);
    if (look < 0 || atomic_load(&r->look) != look) {
        return false;
    }
    memcpy(copy->thing, r->thing, sizeof copy->thing);
    memcpy(copy->shot, r->shot, sizeof copy->shot);
    copy->shot_count = r->shot_count;
    atomic_thread_fence(memory_order_acquire);
    return atomic_load(&r->look) == look; // else it was overwritten meanwhile
}
