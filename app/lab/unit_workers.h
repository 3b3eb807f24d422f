// Processes that play units.
//
// Each goes through all units and plays those that no other has begun: `begun` is memory that all
// share. Results come back through a pipe each. A process that crashes costs the unit it was
// playing, and another takes its place.
#ifndef APP_UNIT_WORKERS_H
#define APP_UNIT_WORKERS_H

#include <stdatomic.h>

#include "app/lab/unit_file.h"

typedef struct UnitWorkers UnitWorkers;

typedef struct UnitWorkersDef {
    int32_t jobs;
    int32_t units;
    /// In the new process: goes through the units; results go to `results`.
    void (*work_fn)(void *ctx, UnitWorkers *workers, FILE *results);
    void *ctx;
} UnitWorkersDef;

/// NULL: no memory or no processes; errno says.
UnitWorkers *unit_workers_start(const UnitWorkersDef *def);

/// For workers: true for the first that asks for this unit.
bool unit_workers_begin(UnitWorkers *workers, int32_t unit);

/// Waits for the next result: of a unit, or that it failed with its process. False: none will come.
bool unit_workers_wait(UnitWorkers *workers, UnitRecord *record);

/// Ends those that still play.
void unit_workers_stop(UnitWorkers *workers);

#endif
