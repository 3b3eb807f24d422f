// What is wrong with what players see at best effort: age, prediction, rounding, cuts.
#include "lab/experiments/crowd/crowd_rest.h"

#include <math.h>

#include "motion/motion.h"

#define FIRST_CODE 1 // 0 fades nothing

static void add_faded(CrowdRest *rest, const CrowdTruth *then, FlTime age, FlVec3 now)
{
    double reach[FL_FADE_CODES];
    for (uint8_t code = FIRST_CODE; code < FL_FADE_CODES; code++) {
        reach[code] = fl__fade_seconds(code, age);
    }
    FlVec3 way = fl_vec3_sub(now, then->position);
    for (int32_t i = FIRST_CODE; i < FL_FADE_CODES; i++) {
        double x = way.x - then->velocity.x * reach[i];
        double y = way.y - then->velocity.y * reach[i];
        double level = x * x + y * y;
        for (int32_t k = FIRST_CODE; k < FL_FADE_CODES; k++) {
            double z = way.z - then->velocity.z * reach[k];
            rest->faded[i][k] += sqrt(level + z * z);
        }
    }
}

void crowd_rest_add(CrowdRest *rest, const CrowdMotion *motion, int32_t player, FlTime stamp,
                    FlTime time, FlVec3 shown)
{
    FlTime age = fl_span(time, stamp);
    CrowdTruth now = crowd_motion_at(motion, player, time);
    if (stamp < 0 || age < 0) {
        return; // of before the game
    }
    CrowdTruth then = crowd_motion_at(motion, player, stamp);
    double error = fl_vec3_distance(shown, now.position);
    double still = fl_vec3_distance(then.position, now.position);
    rest->looks++;
    rest->age_s += fl_span_seconds(age);
    if (then.life != now.life) {
        rest->cut_looks++;
        rest->cut_shown += error;
        rest->cut_still += still;
        return;
    }
    FlVec3 on = fl_vec3_add_scaled(then.position, then.velocity, fl_span_seconds(age));
    rest->shown += error;
    rest->still += still;
    rest->linear += fl_vec3_distance(on, now.position);
    add_faded(rest, &then, age, now.position);
}

CrowdRestFigures crowd_rest_figures(const CrowdRest *rest)
{
    double best = (double)INFINITY;
    for (int32_t i = FIRST_CODE; i < FL_FADE_CODES; i++) {
        for (int32_t k = FIRST_CODE; k < FL_FADE_CODES; k++) {
            best = fmin(best, rest->faded[i][k]);
        }
    }
    double looks = (double)rest->looks;
    double lives = (double)(rest->looks - rest->cut_looks);
    return (CrowdRestFigures){
        .age_ms = 1e3 * rest->age_s / looks,
        .error = (rest->shown + rest->cut_shown) / looks,
        .error_life = rest->shown / lives,
        .error_cut = rest->cut_shown / (double)rest->cut_looks,
        .cut_share = (double)rest->cut_looks / looks,
        .still = rest->still / lives,
        .linear = rest->linear / lives,
        .best = best / lives,
        .still_all = (rest->still + rest->cut_still) / looks,
        .best_all = (best + rest->cut_still) / looks,
    };
}
