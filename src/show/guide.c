// One guided replica: what it was told, where to walk, which blanks to play.
//
// The room knows no way through the game's walls, so it moves nothing: it says where and by when,
// the game's own bot code goes there. Blanks: the counters say how often the owner acted since the
// last guidance. Those actions are past; they are played spread over the time until the next
// guidance is expected, which is as far ahead as the last one looked.
#include "private.h"

#define ACTION_MASK 15u

void fl_guide_init(FlGuide *guide, double diameter)
{
    FL_ASSERT(diameter > 0.0);
    FlGuide empty = {.diameter = diameter, .focus_until = INT64_MIN};
    *guide = empty;
}

static int32_t left_to_play(const FlGuide *guide, int32_t action)
{
    return (int32_t)((uint32_t)(guide->heard.actions[action] - guide->played[action]) &
                     ACTION_MASK);
}

static void spread_blanks(FlGuide *guide, FlTime arrival)
{
    for (int32_t i = 0; i < FL_GUIDANCE_ACTIONS; i++) {
        int32_t left = left_to_play(guide, i);
        if (left > 0) {
            guide->play_from[i] = arrival;
            guide->play_every[i] = guide->heard.ahead_ns / left;
        }
    }
}

bool fl_guide_hear(FlGuide *guide, const FlGuidance *guidance, FlTime arrival)
{
    if (guide->started && guidance->time <= guide->heard.time) {
        guide->overtaken++;
        return false;
    }
    bool cut = !guide->started || guidance->life != guide->heard.life;
    guide->heard = *guidance;
    guide->started = true;
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

void fl_guide_snapshot(FlGuide *guide, FlTime arrival, FlTime patience_ns)
{
    FL_ASSERT(patience_ns > 0);
    FlTime until = arrival > INT64_MAX - patience_ns ? INT64_MAX : arrival + patience_ns;
    guide->focus_until = until > guide->focus_until ? until : guide->focus_until;
}

FlGuideMode fl_guide_step(FlGuide *guide, FlTime now, FlVec3 replica, const FlVec3 *snapshot)
{
    if (snapshot == NULL || now >= guide->focus_until) {
        guide->mode = FL_GUIDE_FAR;
    } else if (guide->mode != FL_GUIDE_NEAR) {
        bool there = fl_vec3_distance(replica, *snapshot) <= guide->diameter;
        guide->mode = there ? FL_GUIDE_NEAR : FL_GUIDE_NEARING;
    }
    return guide->mode;
}

bool fl_guide_goal(const FlGuide *guide, FlTime now, const FlVec3 *snapshot, FlGuideGoal *goal)
{
    FlGuideGoal empty = {0};
    *goal = empty;
    bool to_snapshot = snapshot != NULL && guide->mode != FL_GUIDE_FAR;
    if (!guide->started && !to_snapshot) {
        return false;
    }
    const FlGuidance *heard = &guide->heard;
    FlTime left = to_snapshot ? 0 : heard->time - now + heard->ahead_ns;
    goal->position = to_snapshot ? *snapshot : heard->position;
    goal->seconds = left > 0 ? fl_span_seconds(left) : 0.0;
    goal->aimed = heard->aimed;
    goal->target = heard->target;
    goal->yaw = heard->yaw;
    goal->pitch = heard->pitch;
    return true;
}

bool fl_guide_play(FlGuide *guide, int32_t action, FlTime now)
{
    FL_ASSERT(action >= 0 && action < FL_GUIDANCE_ACTIONS);
    if (left_to_play(guide, action) == 0 || now < guide->play_from[action]) {
        return false;
    }
    guide->played[action] = (uint8_t)((guide->played[action] + 1u) & ACTION_MASK);
    guide->play_from[action] += guide->play_every[action];
    return true;
}

bool fl_guide_take_cut(FlGuide *guide)
{
    bool cut = guide->cut;
    guide->cut = false;
    return cut;
}
