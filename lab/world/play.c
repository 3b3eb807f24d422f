// Ways by delay and jitter; whether a world ran as it should.
#include "lab/world/play.h"

#include <string.h>

FlImpairSettings play_way(FlTime delay, FlTime jitter, double loss)
{
    FlImpairSettings settings = fl_impair_def_default().settings;
    settings.delay_ns = delay;
    settings.jitter_ns = jitter < delay ? jitter : delay;
    settings.shape = jitter > 0 ? FL_SHAPE_UNIFORM : FL_SHAPE_CONSTANT;
    settings.loss_ppm = (int32_t)(loss * 1e6 + 0.5);
    return settings;
}

LabStatus play_check(World *world, LabError *error)
{
    if (world_stats(world).crowded > 0) {
        return lab_fail(error, LAB_FAILED, "too many datagrams under way");
    }
    for (int32_t i = 0; i < world_node_count(world); i++) {
        const FlSession *session = world_session(world, i);
        if (fl_session_state(session) != FL_SESSION_RUNNING) {
            const char *why = fl_session_end_text(session); // several lines; the first says it
            return lab_fail(error, LAB_FAILED, "node %d is not in the session: %.*s", (int)i,
                            (int)strcspn(why, "\n"), why);
        }
    }
    return LAB_OK;
}
