// One guided replica: what it received, where to walk, which actions to replay.
//
// The room knows no way through the game's walls, so it moves nothing: it says where and by when,
// the game's own bot code goes there. Replayed actions: the counters say how often the owner acted
// since the last guidance. Those actions are past; they are played spread over the time until the
// next guidance is expected, which is as far ahead as the last one looked.
#include "private.h"

#define ACTION_MASK 15u
#define LEAD_NS FL_MS(200)    // where the thing is by its path, a replica is so much later
#define OVERDUE_NS FL_MS(750) // for so long it goes on without guidance

void fl__guide_init(FlGuide *guide, double diameter)
{
    FL_ASSERT(diameter > 0.0);
    FlGuide empty = {.diameter = diameter, .focus_until = INT64_MIN};
    *guide = empty;
}

static int32_t left_to_play(const FlGuide *guide, int32_t action)
{
    return (int32_t)((uint32_t)(guide->received.actions[action] - guide->played[action]) &
                     ACTION_MASK);
}

static void spread_blanks(FlGuide *guide, FlTime arrival)
{
    for (int32_t i = 0; i < FL_GUIDANCE_ACTIONS; i++) {
        int32_t left = left_to_play(guide, i);
        if (left > 0) {
            guide->play_from[i] = arrival;
            guide->play_every[i] = guide->received.ahead_ns / left;
        }
    }
}

bool fl__guide_receive(FlGuide *guide, const FlGuidance *guidance, FlTime arrival)
{
    if (guide->started && guidance->time <= guide->received.time) {
        guide->overtaken++;
        return false;
    }
    bool cut = !guide->started || guidance->life != guide->received.life;
    guide->received = *guidance;
    guide->started = true;
    guide->fresh = true;
    if (cut) { // a new life: what was not played yet never happened here
        for (int32_t i = 0; i < FL_GUIDANCE_ACTIONS; i++) {
            guide->played[i] = guidance->actions[i];
        }
        guide->cut = true;
        guide->mode = FL_GUIDE_FAR;
    }
    spread_blanks(guide, arrival);
    return true;
}

void fl__guide_snapshot(FlGuide *guide, FlTime arrival, FlTime expected_ns)
{
    FL_ASSERT(expected_ns > 0);
    FlTime until = arrival > INT64_MAX - expected_ns ? INT64_MAX : arrival + expected_ns;
    guide->focus_until = fl__time_max(until, guide->focus_until);
}

// How fast it must go from there to arrive in time; no guidance says how the thing itself goes.
static void begin_walk(FlGuide *guide, FlTime now, FlVec3 replica)
{
    const FlGuidance *g = &guide->received;
    FlTime left = fl__time_max(g->time - now + g->ahead_ns, g->ahead_ns / 4 * 3);
    double seconds = fl_span_seconds(fl__time_max(left, LEAD_NS));
    FlVec3 way = fl_vec3_sub(g->position, replica);
    way.z = 0.0;
    guide->pace = fl_vec3_scale(way, 1.0 / seconds);
    guide->fresh = false;
}

FlGuideMode fl__guide_step(FlGuide *guide, FlTime now, FlVec3 replica, const FlVec3 *snapshot)
{
    if (snapshot == NULL || now >= guide->focus_until) {
        guide->mode = FL_GUIDE_FAR;
    } else if (guide->mode != FL_GUIDE_NEAR) {
        bool there = fl_vec3_distance(replica, *snapshot) <= guide->diameter;
        guide->mode = there ? FL_GUIDE_NEAR : FL_GUIDE_NEARING;
    }
    if (guide->fresh && !guide->cut) {
        begin_walk(guide, now, replica);
    }
    return guide->mode;
}

static FlVec3 between(FlVec3 a, FlVec3 b, double share)
{
    return fl_vec3_add(a, fl_vec3_scale(fl_vec3_sub(b, a), share));
}

// Where the thing is by the points of its guidance; past the end as on the last part, on a level.
static FlVec3 on_path(const FlGuidance *g, FlTime now)
{
    double parts = g->point_count;
    FlTime ahead = fl__time_max(g->ahead_ns, 1);
    FlTime since = fl_time_min(fl__time_max(fl_span(now, g->time), 0), ahead + OVERDUE_NS);
    double at = parts * (double)since / (double)ahead;
    int32_t part = at < parts ? (int32_t)at : g->point_count - 1;
    bool last = part == g->point_count - 1;
    FlVec3 end = last ? g->position : g->points[part + 1];
    FlVec3 place = between(g->points[part], end, at - part);
    place.z = at > parts ? g->position.z : place.z;
    return place;
}

static void walk_on(const FlGuide *guide, FlTime now, FlGuideGoal *goal)
{
    const FlGuidance *g = &guide->received;
    FlTime left = g->time - now + g->ahead_ns;
    if (g->point_count > 0) {
        FlTime lead = guide->cut ? 0 : LEAD_NS;
        goal->position = on_path(g, fl_time_add(now, lead));
        goal->seconds = fl_span_seconds(lead);
        return;
    }
    FlTime over = fl_time_min(fl__time_max(-left, 0), OVERDUE_NS);
    goal->position = fl_vec3_add(g->position, fl_vec3_scale(guide->pace, fl_span_seconds(over)));
    goal->seconds = left > 0 ? fl_span_seconds(left) : 0.0;
}

bool fl__guide_goal(const FlGuide *guide, FlTime now, const FlVec3 *snapshot, FlGuideGoal *goal)
{
    FlGuideGoal empty = {0};
    *goal = empty;
    bool to_snapshot = snapshot != NULL && guide->mode != FL_GUIDE_FAR;
    if (!guide->started && !to_snapshot) {
        return false;
    }
    if (to_snapshot) {
        goal->position = *snapshot;
    } else {
        walk_on(guide, now, goal);
    }
    const FlGuidance *received = &guide->received;
    goal->time = received->time;
    goal->aimed = received->aimed;
    goal->target = received->target;
    goal->yaw = received->yaw;
    goal->pitch = received->pitch;
    return true;
}

bool fl__guide_play(FlGuide *guide, int32_t action, FlTime now)
{
    FL_ASSERT(action >= 0 && action < FL_GUIDANCE_ACTIONS);
    if (left_to_play(guide, action) == 0 || now < guide->play_from[action]) {
        return false;
    }
    guide->played[action] = (uint8_t)((guide->played[action] + 1u) & ACTION_MASK);
    guide->play_from[action] += guide->play_every[action];
    return true;
}

bool fl__guide_take_cut(FlGuide *guide)
{
    bool cut = guide->cut;
    guide->cut = false;
    return cut;
}
