// When a policy wants to be asked again about each pair: the earliest of many times.
//
// Why not a heap: a heap needs an entry and a back reference per pair and code to move both. Here
// every slot keeps its place, so setting, clearing and moving a time are one call: write it, then
// correct the earliest of each group of eight above it. Eight times are one cache line. 9.2 bytes
// per slot; log8(slots) steps per change, and the earliest of all is read in one.
//
// Invariant: a time of level k + 1 is the earliest of its eight below.
#include "private.h"

#define GROUP 8

static size_t groups(size_t count)
{
    return (count + GROUP - 1) / GROUP;
}

// Levels are padded to whole groups, so that every group has eight.
size_t fl__schedule_size(int32_t slot_count)
{
    size_t size = 0;
    size_t count = (size_t)slot_count;
    while (count > 1) {
        size += groups(count) * GROUP;
        count = groups(count);
    }
    return size + 1;
}

void fl__schedule_init(FlSchedule *schedule, FlTime *times, int32_t slot_count)
{
    FlSchedule fresh = {.times = times};
    size_t size = fl__schedule_size(slot_count);
    for (size_t i = 0; i < size; i++) {
        times[i] = FL_FOREVER;
    }
    size_t at = 0;
    for (size_t count = (size_t)slot_count; count > 1; count = groups(count)) {
        fresh.level[fresh.level_count++] = at;
        at += groups(count) * GROUP;
    }
    fresh.level[fresh.level_count++] = at;
    FL_ASSERT(fresh.level_count <= FL__SCHEDULE_LEVELS);
    *schedule = fresh;
}

void fl__schedule_set(FlSchedule *schedule, int32_t slot, FlTime time)
{
    size_t at = (size_t)slot;
    schedule->times[at] = time;
    for (int32_t k = 1; k < schedule->level_count; k++) {
        at /= GROUP;
        const FlTime *group = &schedule->times[schedule->level[k - 1] + at * GROUP];
        FlTime earliest = group[0];
        for (int32_t i = 1; i < GROUP; i++) {
            earliest = fl_time_min(group[i], earliest);
        }
        FlTime *above = &schedule->times[schedule->level[k] + at];
        if (*above == earliest) {
            return;
        }
        *above = earliest;
    }
}

int32_t fl__schedule_first(const FlSchedule *schedule)
{
    size_t at = 0;
    for (int32_t k = schedule->level_count - 1; k > 0; k--) {
        FlTime earliest = schedule->times[schedule->level[k] + at];
        const FlTime *group = &schedule->times[schedule->level[k - 1] + at * GROUP];
        int32_t i = 0;
        while (i < GROUP - 1 && group[i] != earliest) {
            i++;
        }
        at = at * GROUP + (size_t)i;
    }
    return (int32_t)at;
}
