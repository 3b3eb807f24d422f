// Figures of a trace: rates from the gaps within lives, speeds from the columns or from positions.
#include "lab/trace/trace_info.h"

#include <stdlib.h>

/// Everything measured of the samples, to be sorted.
typedef struct Measures {
    double *gaps;
    double *speeds;
    int32_t gap_count;
    int32_t speed_count;
    double speed_sum;
} Measures;

static int compare_numbers(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return left < right ? -1 : left > right ? 1 : 0;
}

/// The smallest value that at least this share of a sorted array does not exceed (the nearest
/// rank).
static double share_below(const double *sorted, int32_t count, double share)
{
    double rank = ceil(share * count);
    int32_t index = rank < 1.0 ? 0 : (int32_t)rank - 1;
    return sorted[index < count ? index : count - 1];
}

static void measure_track(const Trace *trace, const TraceTrack *track, Measures *measures)
{
    FlSampler sampler = {0};
    for (int32_t i = track->first; i < track->first + track->count; i++) {
        FlState state = trace_state(trace, i, &sampler);
        bool first = i == track->first;
        if (!first) {
            FlTime gap = trace->time[i] - trace->time[i - 1];
            measures->gaps[measures->gap_count++] = fl_span_seconds(gap);
        }
        if (!first || trace_has_velocity(trace)) {
            double speed = fl_vec3_length(state.velocity);
            measures->speeds[measures->speed_count++] = speed;
            measures->speed_sum += speed;
        }
    }
}

static void summarise(Measures *measures, TraceInfo *info)
{
    int32_t gaps = measures->gap_count;
    if (gaps > 0) {
        qsort(measures->gaps, (size_t)gaps, sizeof(double), compare_numbers);
        info->rate_hz = gaps / info->life_s;
        info->gap_min_s = measures->gaps[0];
        info->gap_median_s = share_below(measures->gaps, gaps, 0.5);
        info->gap_max_s = measures->gaps[gaps - 1];
    }
    int32_t speeds = measures->speed_count;
    if (speeds > 0) {
        qsort(measures->speeds, (size_t)speeds, sizeof(double), compare_numbers);
        info->speed_mean = measures->speed_sum / speeds;
        info->speed_p95 = share_below(measures->speeds, speeds, 0.95);
        info->speed_max = measures->speeds[speeds - 1];
    }
}

FlResult trace_info(const Trace *trace, TraceInfo *info)
{
    *info = (TraceInfo){.length_s = fl_span_seconds(trace->end - trace->start)};
    Measures measures = {
        .gaps = malloc((size_t)trace->sample_count * sizeof(double)),
        .speeds = malloc((size_t)trace->sample_count * sizeof(double)),
    };
    FlResult result = measures.gaps != NULL && measures.speeds != NULL ? FL_OK : FL_NO_MEMORY;
    if (result == FL_OK) {
        for (int32_t t = 0; t < trace->track_count; t++) {
            measure_track(trace, &trace->tracks[t], &measures);
            info->life_s += fl_span_seconds(trace_track_span(trace, &trace->tracks[t]));
        }
        summarise(&measures, info);
    }
    free(measures.gaps);
    free(measures.speeds);
    return result;
}
