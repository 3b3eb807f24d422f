// Motion traces: where the things of a recorded game were, and when.
//
// The file is CSV with a header, gzipped or not; docs/guide/traces.md describes it. In memory it is
// *tracks*: one per entity and life, each a run of samples in parallel arrays, so that whoever
// plays an entity back walks straight through memory, and nobody can look across a cut (a respawn,
// a teleport) by accident.
#ifndef LAB_TRACE_H
#define LAB_TRACE_H

#include "fairlead/motion.h"

/// What a sample may hold besides its time; each has the column of the same name in small letters.
typedef enum TraceColumn {
    TRACE_X,
    TRACE_Y,
    TRACE_Z,
    TRACE_VX,
    TRACE_VY,
    TRACE_VZ,
    TRACE_YAW,
    TRACE_YAW_RATE,
    TRACE_PROGRESS,
    TRACE_COLUMN_COUNT,
} TraceColumn;

/// One entity from one cut to the next: samples [first, first + count) of the trace's arrays, in
/// order of time.
typedef struct TraceTrack {
    int64_t id;
    int64_t life; ///< 0 if the file has no such column.
    int32_t first;
    int32_t count; ///< At least 1.
} TraceTrack;

typedef struct Trace {
    int32_t sample_count;
    int32_t track_count;
    int32_t entity_count;
    TraceTrack *tracks;                 ///< By id, then by time.
    FlTime *time;                       ///< Of each sample.
    double *column[TRACE_COLUMN_COUNT]; ///< Of each sample; NULL where the file has no such column.
    FlTime start;                       ///< The first sample's time.
    FlTime end;                         ///< The last sample's time.
    bool has_life;
    char *ignored; ///< Names of the columns not used, with a comma between; "" if there are none.
} Trace;

/// One line for people. For a fault in the file: `FILE:LINE:COLUMN: what is wrong`, the column
/// counted in characters from 1.
typedef struct TraceError {
    char text[1024];
} TraceError;

/// Reads a trace file ("-": standard input). False: *error says why, and *trace is empty.
bool trace_load(const char *path, Trace *trace, TraceError *error);

/// Gives back what trace_load made. An empty trace is fine.
void trace_free(Trace *trace);

const char *trace_column_name(TraceColumn column);

/// True if the samples carry their own velocity (vx, vy and vz; two of them are no velocity).
bool trace_has_velocity(const Trace *trace);

/// A sample as an owner would hand it to an exporter: velocity and turn rate from the columns (vx,
/// vy, vz; yaw_rate) or else from the samples before it in its track, which must have gone through
/// the same sampler in order. Start each track with `FlSampler sampler = {0}`.
FlState trace_state(const Trace *trace, int32_t sample, FlSampler *sampler);

/// x, y, z of a sample.
static inline FlVec3 trace_position(const Trace *trace, int32_t sample)
{
    return fl_vec3(trace->column[TRACE_X][sample], trace->column[TRACE_Y][sample],
                   trace->column[TRACE_Z][sample]);
}

/// vx, vy, vz of a sample; only if trace_has_velocity.
static inline FlVec3 trace_velocity(const Trace *trace, int32_t sample)
{
    return fl_vec3(trace->column[TRACE_VX][sample], trace->column[TRACE_VY][sample],
                   trace->column[TRACE_VZ][sample]);
}

/// A track's time from its first sample to its last.
static inline FlTime trace_track_span(const Trace *trace, const TraceTrack *track)
{
    return trace->time[track->first + track->count - 1] - trace->time[track->first];
}

#endif
