// A run of an experiment: what it is told, how it ends, how far it is.
#ifndef LAB_LAB_RUN_H
#define LAB_LAB_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "fairlead/base.h"

/// Where the results of units come from: lab_unit.h.
typedef struct LabUnits LabUnits;

/// What every experiment is told.
typedef struct LabRun {
    uint64_t seed;
    int32_t runs;
    LabUnits *units;                                          ///< Or NULL: all is played here.
    bool plain;                                               ///< Sessions that are not sealed.
    void (*progress_fn)(void *ctx, int64_t done, int64_t of); ///< Or NULL.
    void *progress_ctx;
} LabRun;

typedef enum LabStatus {
    LAB_OK,
    LAB_BAD_INPUT, ///< The caller's: a file or a setting.
    LAB_FAILED,    ///< The world's.
    LAB_PENDING,   ///< Units were left to other processes: there is no result here.
} LabStatus;

/// One line for people.
typedef struct LabError {
    char text[1024];
} LabError;

/// Notes why, and answers `status`.
__attribute__((format(printf, 3, 4))) LabStatus lab_fail(LabError *error, LabStatus status,
                                                         const char *format, ...);

/// The same for a result of the library; `what` was being done.
LabStatus lab_fail_result(LabError *error, FlResult result, const char *what);

/// Says how far it is, if anybody listens.
void lab_progress(const LabRun *run, int64_t done, int64_t of);

#endif
