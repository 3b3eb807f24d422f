// What the processes of a demo see, noted at the same moments: truth by common time.
//
// Every LOOK_EVERY of the machine's clock each process writes a *row*: where it has every thing.
// Whoever reads waits a little, takes the rows of one moment from all processes, and so compares
// what they saw at the very same time. Rows lie in memory that the processes share, in rings.
//
// Invariant: a row whose `look` is k was written whole for look k; while it is being written its
// look is -1. Each row has one writer.
#ifndef APP_DEMO_LOOKS_H
#define APP_DEMO_LOOKS_H

#include <stdatomic.h>

#include "fairlead/base.h"

#define DEMO_LOOK_EVERY FL_MS(10)

enum {
    DEMO_THINGS_MAX = 64,
    DEMO_SHOTS_MAX = 64,
    DEMO_ROWS_MAX = 6,
    DEMO_LOOKS_KEPT = 64, ///< A power of two.
};

typedef struct DemoThing {
    double x, y, yaw;
    double value;  ///< The demo's own.
    uint32_t life; ///< Compared only; the same at all processes.
    bool there;
    bool alive;
} DemoThing;

typedef struct DemoRow {
    _Atomic int64_t look;
    DemoThing thing[DEMO_THINGS_MAX];
    int32_t shot_count;
    float shot[DEMO_SHOTS_MAX][2];
} DemoRow;

typedef struct DemoLooks {
    FlTime begin; ///< Of look 0, on the machine's clock. Set before the processes start.
    DemoRow rows[DEMO_ROWS_MAX][DEMO_LOOKS_KEPT];
} DemoLooks;

void demo_looks_init(DemoLooks *looks, FlTime begin);

static inline FlTime demo_look_time(const DemoLooks *looks, int64_t look)
{
    return looks->begin + look * DEMO_LOOK_EVERY;
}

/// The newest look at or before `time`; negative before the first.
int64_t demo_look_at(const DemoLooks *looks, FlTime time);

/// A row to fill in, without shots; end it by demo_look_done.
DemoRow *demo_look_begin(DemoLooks *looks, int32_t row, int64_t look);
void demo_look_done(DemoRow *row, int64_t look);

/// For who follows them one by one: the newest look that all have written by `now`. *look is the
/// last one that was read; if it is so old that those after it are lost, it is moved on.
int64_t demo_looks_due(const DemoLooks *looks, FlTime now, int64_t *look);

/// Copies a row. False: it is not written yet, or not any more.
bool demo_look_read(DemoLooks *looks, int32_t row, int64_t look, DemoRow *copy);

#endif
