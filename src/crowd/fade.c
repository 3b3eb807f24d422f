// How far entities at best effort still get after their last update.
//
// Their updates are a second old or two, and silence says nothing: they come when it is their turn.
// Straight on is then worse than standing still. So velocities fade as in module `motion` (FlFade),
// from the update's own time on, and how fast is learnt from the updates themselves: when one
// comes, it shows how far off each code would have been with the one before. Sums of distances, not
// of squares; old evidence fades. Cuts do not count.
#include "private.h"

#include <math.h>

#include "motion/motion.h"

#define LEVEL_GUESS 12    // 1.1 s
#define VERTICAL_GUESS 10 // 560 ms
#define CURVE 8           // 280 ms
#define LEARN_EVERY 8     // updates: one of so many is enough
#define FADING 0.998f
#define SURE_ENOUGH 16u // comparisons: before these it is a guess
#define OLD_AT_MOST FL_SEC(4)

void fl__crowd_fade_begin(FlCrowd *crowd)
{
    crowd->fade.level_code = LEVEL_GUESS;
    crowd->fade.vertical_code = VERTICAL_GUESS;
}

static uint8_t least(const float errors[FL_FADE_CODES])
{
    uint8_t best = 1;
    for (uint8_t code = 2; code < FL_FADE_CODES; code++) {
        best = errors[code] < errors[best] ? code : best;
    }
    return best;
}

void fl__crowd_fade_learn(FlCrowd *crowd, const FlCrowdKnown *before, const FlMotion *now)
{
    FlCrowdFade *fade = &crowd->fade;
    FlTime age = before->stamp != INT64_MIN ? fl_span(now->time, before->stamp) : 0;
    if (age <= crowd->def.batch_ns / 2 || age > OLD_AT_MOST || fade->turn++ % LEARN_EVERY != 0) {
        return;
    }
    float x = (float)(now->position.x - before->position.x);
    float y = (float)(now->position.y - before->position.y);
    float z = (float)(now->position.z - before->position.z);
    for (uint8_t code = 1; code < FL_FADE_CODES; code++) {
        float reach = (float)fl__fade_seconds(code, age);
        float off_x = x - before->velocity[0] * reach;
        float off_y = y - before->velocity[1] * reach;
        float off_z = fabsf(z - before->velocity[2] * reach);
        fade->level[code] = fade->level[code] * FADING + sqrtf(off_x * off_x + off_y * off_y);
        fade->vertical[code] = fade->vertical[code] * FADING + off_z;
    }
    fade->count++;
    if (fade->count >= SURE_ENOUGH) {
        fade->level_code = least(fade->level);
        fade->vertical_code = least(fade->vertical);
    }
}

FlVec3 fl__crowd_fade_position(const FlCrowd *crowd, const FlCrowdKnown *known, FlTime time)
{
    FlTime age = fl_span(time, known->stamp);
    double level = fl__fade_seconds(crowd->fade.level_code, age);
    double vertical = fl__fade_seconds(crowd->fade.vertical_code, age);
    return fl_vec3(known->position.x + (double)known->velocity[0] * level,
                   known->position.y + (double)known->velocity[1] * level,
                   known->position.z + (double)known->velocity[2] * vertical);
}

void fl__crowd_fade(const FlCrowd *crowd, FlMotion *motion)
{
    FlFade fade = {0, crowd->fade.level_code, crowd->fade.vertical_code, CURVE};
    motion->fade = motion->fade.level != 0 ? motion->fade : fade; // its owner knows better
    motion->horizon_ns = 0;
}
