// Shown time: session time minus Δ, where Δ may change.
//
// All paths of this module live in shown time, so a change of Δ touches nothing but the function
// below: no piece moves, and the picture speeds up or slows down by `warp` at most. Everybody who
// is given the same changes computes the same function, bit by bit, whenever they arrived.
//
// Layout: changes in order of `from`, the oldest forgotten first. Before the first, Δ is its
// before_ns. A change is a glide (see glide.c) of Δ from what it was at `from`, with the rate it
// had then, so one may interrupt another.
//
// Invariant: shown time never goes back. |dΔ/dt| <= warp <= 0.5, and rounding to nanoseconds moves
// a step of 1 ns by at most 1 ns.
#include "private.h"

#define GLIDE_SECONDS 0.2 // a small change of Δ takes at least this

static const FlShowChange *change_at(const FlShow *show, FlTime time)
{
    for (int32_t i = show->change_count - 1; i >= 0; i--) {
        if (show->changes[i].from <= time) {
            return &show->changes[i];
        }
    }
    return NULL;
}

static FlTime delta_at(const FlShow *show, FlTime time)
{
    const FlShowChange *change = change_at(show, time);
    if (change == NULL) {
        return show->change_count > 0 ? show->changes[0].before_ns : show->def.delta_ns;
    }
    double seconds = fl_span_seconds(fl_span(time, change->from));
    double offset_ns = fl__glide_offset(&change->glide, seconds).x;
    return change->after_ns + (FlTime)floor(offset_ns + 0.5);
}

// How fast Δ grows, in nanoseconds per second.
static double delta_rate_at(const FlShow *show, FlTime time)
{
    const FlShowChange *change = change_at(show, time);
    if (change == NULL) {
        return 0.0;
    }
    double seconds = fl_span_seconds(fl_span(time, change->from));
    return fl__glide_velocity(&change->glide, seconds).x;
}

FlTime fl_show_time(const FlShow *show, FlTime time)
{
    bool as_given = show->def.hold == FL_HOLD_AT_ONCE || show->def.hold == FL_HOLD_LAGS;
    return as_given ? time : fl_time_add(time, -delta_at(show, time));
}

double fl__show_rate(const FlShow *show, FlTime time)
{
    return show->change_count == 0 ? 1.0 : 1.0 - delta_rate_at(show, time) / 1e9;
}

bool fl_show_delta(FlShow *show, FlTime delta_ns, FlTime from)
{
    FL_ASSERT(show->def.hold == FL_HOLD_ADAPTIVE);
    FL_ASSERT(delta_ns >= 0 && delta_ns <= FL_SHOW_DELTA_MAX_NS);
    int32_t last = show->change_count - 1;
    if (last >= 0 && from < show->changes[last].from) {
        return false;
    }
    bool replaces = last >= 0 && from == show->changes[last].from;
    FlShowChange change = {.from = from, .after_ns = delta_ns};
    change.before_ns = replaces ? show->changes[last].before_ns : delta_at(show, from);
    show->change_count -= replaces ? 1 : 0; // as if the last had not been
    FlVec3 rate = fl_vec3(delta_rate_at(show, from), 0.0, 0.0);
    FlVec3 offset = fl_vec3((double)(change.before_ns - delta_ns), 0.0, 0.0);
    Fl__Bound bound = {.limit = 0.0, .least = show->def.warp * 1e9};
    change.glide = fl__glide_make(offset, rate, GLIDE_SECONDS, &bound);
    if (show->change_count == FL_SHOW_CHANGES) {
        for (int32_t i = 1; i < FL_SHOW_CHANGES; i++) {
            show->changes[i - 1] = show->changes[i];
        }
        show->change_count--;
    }
    show->changes[show->change_count] = change;
    show->change_count++;
    return true;
}
