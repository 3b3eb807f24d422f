// Results of units: kept in a folder, played by several processes, shared out among machines.
//
// A file of units belongs to one process (or one shard, played by the processes of one command):
//
//     header   one line of JSON: what the results depend on (program, settings, seed), and the
//              command, for `lab merge`
//     records  a UnitHead and its bytes each, as they come; what a killed process left half
//              written is cut off
//
// The same walk over the units is made three times: to plan (nothing is played), by each worker
// (it plays what no other worker has begun), and by the command itself, which waits for each result
// in its turn. So results are judged and printed in order, as soon as they are there.
#ifndef APP_UNIT_STORE_H
#define APP_UNIT_STORE_H

#include <jansson.h>

#include "app/cli/options.h"
#include "lab/world/lab_unit.h"

typedef struct UnitStore UnitStore;

enum { UNIT_FOLDERS = 64, UNIT_JOBS = 256 };

/// What the command line says of units.
typedef struct UnitOptions {
    const char *state; ///< Folder to keep them in; or NULL.
    const char *shard; ///< "I/N"; or NULL.
    int64_t jobs;
    const char *const *merged; ///< Folders to take all from, and play nothing; or NULL.
    int32_t merged_count;
} UnitOptions;

typedef struct UnitStoreDef {
    const char *who;
    UnitOptions options;
    json_t *identity; ///< What the results depend on, but for the program. Taken.
    int argc;         ///< The command, for `lab merge`.
    char **argv;
    void (*tick_fn)(void *ctx); ///< Whenever a unit is done; or NULL.
    /// Goes through all units with these LabUnits; says nothing.
    void (*walk_fn)(void *ctx, LabUnits *units);
    void *ctx;
} UnitStoreDef;

enum { UNIT_OPTIONS = 3 };

/// The rows of an options table that fill in `options`.
void unit_options(UnitOptions *options, Option rows[UNIT_OPTIONS]);

/// Reads what is kept, plans, and starts the workers. Answers OPTIONS_GO_ON or the exit status; the
/// error has been printed.
int unit_store_open(const UnitStoreDef *def, UnitStore **made);

/// For the walk of the command itself.
LabUnits *unit_store_units(UnitStore *store);

typedef struct UnitCounts {
    int32_t all;    ///< Planned.
    int32_t known;  ///< Have a result now,
    int32_t found;  ///< and had it at the beginning.
    int32_t failed; ///< Could not be played.
    double share;   ///< Of the work, done.
    double to_go_s; ///< Negative: not known.
} UnitCounts;

/// Of this shard's units.
UnitCounts unit_store_counts(const UnitStore *store);

/// A shard's only result: a line on how many units were played. Answers the exit status.
int unit_store_conclude_shard(const UnitStore *store);

/// Ends the workers and frees all.
void unit_store_close(UnitStore *store);

/// The command whose units a folder keeps: an array of words. NULL: the error has been printed.
json_t *unit_store_command(const char *who, const char *folder);

#endif
