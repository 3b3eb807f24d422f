// A trace's samples as states, ready for an exporter.
#include "lab/trace/trace.h"

/// The heading, if the file has one. Its rate is the file's or zero: a bot's view snaps from here
/// to there, and a rate taken from two samples of that would be noise.
static FlFacing facing_of(const Trace *trace, int32_t sample)
{
    if (trace->column[TRACE_YAW] == NULL) {
        return fl_facing_none();
    }
    const double *rate = trace->column[TRACE_YAW_RATE];
    return fl_facing_yaw(trace->column[TRACE_YAW][sample], rate != NULL ? rate[sample] : 0.0);
}

FlState trace_state(const Trace *trace, int32_t sample, FlSampler *sampler)
{
    FlState state = {
        .time = trace->time[sample],
        .position = trace_position(trace, sample),
        .facing = facing_of(trace, sample),
    };
    bool has_velocity = trace_has_velocity(trace);
    if (has_velocity) {
        state.velocity = trace_velocity(trace, sample);
    }
    FlResult result = fl_sampler_add(sampler, &state, has_velocity);
    FL_ASSERT(result == FL_OK); // the reader let only finite values in order of time through
    if (trace->column[TRACE_YAW_RATE] != NULL) {
        state.turn_rate = trace->column[TRACE_YAW_RATE][sample];
    }
    return state;
}
