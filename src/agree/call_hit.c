// Whether a hit is possible, and whether a missile meets its target.
//
// The shooter decides what it hit, by what it saw. The target's distributor keeps a ledger of what
// the shooter saw when, so a hit that could not have been seen is refused, whatever is claimed.
#include "private.h"

#define HIT_COOKIE 0x48495431u

FlHitRules fl_hit_rules_default(void)
{
    FlHitRules rules = {
        .tolerance = 0.5,
        .range = FL_HIT_ANY_RANGE,
        .age_ns = FL_SEC(1),
        .ahead_ns = FL_MS(50),
        .cookie = HIT_COOKIE,
    };
    return rules;
}

const char *fl__hit_verdict_name(FlHitVerdict verdict)
{
    switch (verdict) {
    case FL_HIT_POSSIBLE:
        return "possible";
    case FL_HIT_UNSEEN:
        return "unseen";
    case FL_HIT_ELSEWHERE:
        return "elsewhere";
    case FL_HIT_OUT_OF_RANGE:
        return "out_of_range";
    case FL_HIT_NO_LINE:
        return "no_line";
    case FL_HIT_UNTIMELY:
        return "untimely";
    }
    return "unknown";
}

FlHitVerdict fl__hit_verify(const FlHitRules *rules, const FlHitCall *hit, const FlPose *seen,
                            FlVec3 shooter, FlTime now)
{
    FL_ASSERT(rules->cookie == HIT_COOKIE);
    FlTime age = fl_span(now, hit->time);
    if (age > rules->age_ns || age < -rules->ahead_ns) {
        return FL_HIT_UNTIMELY;
    }
    if (seen == NULL) {
        return FL_HIT_UNSEEN;
    }
    if (!(fl_vec3_distance(seen->position, hit->target) <= rules->tolerance)) {
        return FL_HIT_ELSEWHERE;
    }
    if (!(fl_vec3_distance(shooter, hit->target) <= rules->range)) {
        return FL_HIT_OUT_OF_RANGE;
    }
    if (rules->clear_fn != NULL && !rules->clear_fn(rules->ctx, shooter, hit->target)) {
        return FL_HIT_NO_LINE;
    }
    return FL_HIT_POSSIBLE;
}

// ---------------------------------------------------------------- missiles

#define CHORDS 64

static FlVec3 missile_at(const FlMissileCall *missile, FlTime time)
{
    double s = fl_span_seconds(fl_span(time, missile->time));
    return fl_vec3_add_scaled(missile->position, missile->velocity, s);
}

static FlVec3 apart_at(const FlMissileCall *missile, const FlMotion *target, FlTime time)
{
    return fl_vec3_sub(fl_motion_pose(target, time).position, missile_at(missile, time));
}

// The share of the way from a to b at which it is nearest to the origin.
static double nearest_share(FlVec3 a, FlVec3 b)
{
    FlVec3 way = fl_vec3_sub(b, a);
    double square = fl_vec3_dot(way, way);
    double share = square > 0.0 ? -fl_vec3_dot(a, way) / square : 0.0;
    return share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share;
}

double fl__missile_nearest(const FlMissileCall *missile, const FlMotion *target, FlTime from,
                           FlTime to, FlTime *when)
{
    FL_ASSERT(to >= from);
    double best = fl_vec3_length(apart_at(missile, target, from));
    *when = from;
    FlTime whole = to - from;
    FlVec3 a = apart_at(missile, target, from);
    for (int32_t i = 1; i <= CHORDS; i++) {
        FlTime start = from + whole / CHORDS * (i - 1);
        FlTime end = i == CHORDS ? to : from + whole / CHORDS * i;
        FlVec3 b = apart_at(missile, target, end);
        double share = nearest_share(a, b);
        double distance = fl_vec3_length(fl_vec3_add_scaled(a, fl_vec3_sub(b, a), share));
        if (distance < best) {
            best = distance;
            *when = start + (FlTime)((double)(end - start) * share);
        }
        a = b;
    }
    return best;
}
