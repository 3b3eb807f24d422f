// Visible jumps: displayed steps that nothing in the game can have made.
#include "lab/figures/jumps.h"

void jumps_init(Jumps *jumps, double top_speed)
{
    FL_ASSERT(top_speed >= 0.0);
    Jumps fresh = {.top_speed = top_speed};
    *jumps = fresh;
}

bool jumps_see(Jumps *jumps, FlTime time, FlVec3 position, uint32_t life)
{
    if (!fl_vec3_finite(position) || (jumps->started && time <= jumps->time)) {
        return false;
    }
    bool jumped = false;
    if (jumps->started && life == jumps->life) {
        double step = fl_vec3_distance(position, jumps->position);
        double possible = jumps->top_speed * fl_span_seconds(fl_span(time, jumps->time));
        jumped = step > possible * (1.0 + JUMP_TOLERANCE);
        jumps->step_count++;
        jumps->jump_count += jumped ? 1 : 0;
        jumps->longest = jumped && step > jumps->longest ? step : jumps->longest;
    }
    jumps->started = true;
    jumps->time = time;
    jumps->position = position;
    jumps->life = life;
    return jumped;
}
