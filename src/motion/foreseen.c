// Where a thing is now, as a receiver sees that hears of it a delay late (fade.c says why).
#include "private.h"

// What fades within the delay.
FL__APART
static void foresee_faded(FlMotion *seen, FlTime delay, FlTime trust)
{
    // Seen from its start, as if it held no longer: the way it will have gone after the delay.
    const FlMotion update = *seen;
    FlMotion start = update;
    start.time = 0;
    start.horizon_ns = 0;
    FlBeyond b = fl__beyond(&start, delay);
    double s = fl__quarters_seconds(b.reach);
    double z = fl__quarters_seconds(b.rise);
    FlVec3 ahead = fl_vec3_sub(fl_motion_position(&start, delay), update.position);
    seen->time = fl_time_add(update.time, delay);
    seen->horizon_ns = trust;
    seen->position = fl_vec3_add(update.position, ahead);
    seen->facing = fl__facing_after(&update.facing, s);
    // What lies ahead turns and speeds up with the course: that is a velocity more.
    seen->velocity.x += update.acceleration.x * s - update.turn_rate * ahead.y;
    seen->velocity.y += update.acceleration.y * s + update.turn_rate * ahead.x;
    seen->velocity.z += update.acceleration.z * z;
    if (!fl__motion_finite(seen)) { // only numbers beyond any world overflow
        *seen = update;
    }
}

void fl__foresee(FlMotion *seen, FlTime delay)
{
    if (!fl__fades(seen)) {
        return;
    }
    FlTime trust = fl__fade_trust_ns(seen->fade.trust);
    if (trust != 0 && delay > fl__fade_holds_ns(seen)) {
        foresee_faded(seen, delay, trust);
    } else {
        seen->horizon_ns = trust == 0 ? 0 : fl_time_add(trust, delay);
    }
}
