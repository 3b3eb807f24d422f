// Where entities really are: motion for experiments, known at every time.
//
// A *source* has frames, at which an owner looks at it and hands its state to the session, and a
// truth between the frames too, so that errors can be measured at any time. It may come and go: a
// new life is a cut.
#ifndef LAB_SOURCE_H
#define LAB_SOURCE_H

#include "fairlead/motion.h"
#include "lab/trace/trace.h"

/// What is true at one time.
typedef struct Truth {
    FlState state; ///< `state.time` is the source's own time.
    uint32_t life; ///< From 0.
} Truth;

/// One entity's motion. Times count from 0, its beginning.
typedef struct Source {
    /// The first frame at or after `time`; FL_FOREVER after the last.
    FlTime (*frame_fn)(const void *ctx, FlTime time);
    /// The truth at `time`. False: it is not there (dead, or not begun).
    bool (*truth_fn)(const void *ctx, FlTime time, Truth *truth);
    const void *ctx; ///< Borrowed.
    FlTime length;   ///< Nothing happens from here on.
} Source;

#define SOURCE_FRAME_HZ 60

// ---------------------------------------------------------------- by formula

/// Straight lines through the middle of a field, one after another: at the end of each a cut.
typedef struct Straight {
    double speed; ///< Units per second.
    double reach; ///< From the middle to where lines begin and end.
    uint64_t seed;
} Straight;

/// A circle, for ever.
typedef struct Circle {
    double speed;
    double turn_rate; ///< rad/s, either sign.
    FlVec3 centre;
    double phase; ///< rad
} Circle;

Source source_straight(const Straight *straight, FlTime length);
Source source_circle(const Circle *circle, FlTime length);

// ---------------------------------------------------------------- from a recording

/// One frame of a recording.
typedef struct Frame {
    FlState state;
    uint32_t life;
} Frame;

/// Frames in order of time, the first at time 0 or after. Between two frames of a life the truth
/// lies on the straight line between them.
typedef struct Recording {
    Frame *frames;
    int32_t count;
    int32_t capacity;
    double top_speed; ///< The largest of all frames.
} Recording;

/// Errors: FL_NO_MEMORY; FL_OUT_OF_ORDER.
FL_NODISCARD FlResult recording_add(Recording *recording, const FlState *state, uint32_t life);
void recording_free(Recording *recording);
Source source_recording(const Recording *recording);

/// All lives of an entity of a trace that last at least `life_min`, one after another with `pause`
/// between. Empty if it has none. Errors: FL_NO_MEMORY.
FL_NODISCARD FlResult recording_from_trace(const Trace *trace, int64_t id, FlTime life_min,
                                           FlTime pause, Recording *recording);

#endif
