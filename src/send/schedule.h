// Private to module `send`: the earliest of many times.
#ifndef FAIRLEAD_SEND_SCHEDULE_PRIVATE_H
#define FAIRLEAD_SEND_SCHEDULE_PRIVATE_H

#include "fairlead/base.h"

// ---------------------------------------------------------------- the schedule

#define FL__SCHEDULE_LEVELS 12

/// The earliest of many times: a tournament in groups of eight. Level 0 holds a time per slot, each
/// level above the earliest of each eight below. FL_FOREVER: no time.
typedef struct FlSchedule {
    FlTime *times; ///< All levels, one after another.
    int32_t level_count;
    size_t level[FL__SCHEDULE_LEVELS]; ///< Where each begins.
} FlSchedule;

/// How many times a schedule of so many slots needs.
size_t fl__schedule_size(int32_t slot_count);

void fl__schedule_init(FlSchedule *schedule, FlTime *times, int32_t slot_count);
void fl__schedule_set(FlSchedule *schedule, int32_t slot, FlTime time);

static inline FlTime fl__schedule_at(const FlSchedule *schedule, int32_t slot)
{
    return schedule->times[slot];
}

static inline FlTime fl__schedule_earliest(const FlSchedule *schedule)
{
    return schedule->times[schedule->level[schedule->level_count - 1]];
}

/// The slot with the earliest time; the lowest of several. There must be one.
int32_t fl__schedule_first(const FlSchedule *schedule);

#endif
