// What a trace holds, in a few figures.
#ifndef LAB_TRACE_INFO_H
#define LAB_TRACE_INFO_H

#include "lab/trace/trace.h"

typedef struct TraceInfo {
    double length_s;  ///< From the file's first sample to its last.
    double life_s;    ///< All lives together.
    double rate_hz;   ///< Samples per second of a life; 0 if no life has two samples.
    double gap_min_s; ///< Between two samples of a life; the gaps are 0 with the rate.
    double gap_median_s;
    double gap_max_s;
    double speed_mean; ///< Game units per second, over all samples that have a velocity; 0 if none
                       ///< has.
    double speed_p95;
    double speed_max;
} TraceInfo;

/// Errors: FL_NO_MEMORY.
FL_NODISCARD FlResult trace_info(const Trace *trace, TraceInfo *info);

#endif
