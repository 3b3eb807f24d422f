// How the reader turns rows in order of time into tracks. Private to lab/trace.
#ifndef LAB_TRACE_BUILD_H
#define LAB_TRACE_BUILD_H

#include "lab/trace/trace.h"

/// An entity as the reader goes along. Slots of a hash table by id.
typedef struct BuildEntity {
    int64_t id;
    FlTime last;
    int32_t track1; ///< Its current track plus one; 0: an empty slot.
} BuildEntity;

typedef enum BuildResult {
    BUILD_OK,
    BUILD_NO_MEMORY,
    BUILD_TOO_MANY,  ///< More samples than an int32_t counts.
    BUILD_DUPLICATE, ///< That entity has a sample at that time already.
} BuildResult;

/// Rows as they came, growing. `has` says which columns are kept.
typedef struct TraceBuild {
    bool has[TRACE_COLUMN_COUNT];
    int32_t count;
    int32_t capacity;
    FlTime *time;
    int32_t *track; ///< Which track each row belongs to.
    double *column[TRACE_COLUMN_COUNT];
    TraceTrack *tracks; ///< In order of their first sample.
    int32_t track_count;
    int32_t track_capacity;
    BuildEntity *entities; ///< The hash table.
    int32_t entity_count;
    int32_t entity_capacity; ///< A power of two.
} TraceBuild;

/// Adds a row. Times must not go back (the reader has checked). `values` holds TRACE_COLUMN_COUNT
/// numbers.
BuildResult trace_build_add(TraceBuild *build, FlTime time, int64_t id, int64_t life,
                            const double *values);

/// Sorts the rows into tracks and moves everything into *trace. False: out of memory.
bool trace_build_finish(TraceBuild *build, Trace *trace);

/// Gives back what is left, after a finish or instead of one.
void trace_build_free(TraceBuild *build);

#endif
