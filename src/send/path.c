// Exported paths, and single pieces against them.
//
// A receiver shows one update at a time, and every update is a piece of the exported path. So the
// error of a stretch is the sum over the exported pieces that hold in it, each against the one
// shown; where the shown piece itself holds there is none.
#include "private.h"

static bool is_straight(const FlPiece *piece)
{
    const FlMotion *m = &piece->motion;
    return piece->life != FL_LIFE_NONE && m->horizon_ns == FL_FOREVER &&
           (m->model == FL_MODEL_LINEAR || m->model == FL_MODEL_STILL);
}

static FlLeap leap_between(const FlPiece *before, const FlPiece *piece)
{
    FlLeap leap = {.from = piece->from, .life = piece->life};
    if (before != NULL && before->life == piece->life && is_straight(before) &&
        is_straight(piece)) {
        FlTime from = piece->from;
        leap.straight = true;
        leap.gap = fl_vec3_sub(fl_motion_position(&piece->motion, from),
                               fl_motion_position(&before->motion, from));
        leap.drift = fl_vec3_sub(fl_motion_velocity(&piece->motion, from),
                                 fl_motion_velocity(&before->motion, from));
    }
    return leap;
}

void fl__path_add(FlLedger *ledger, int32_t entity, const FlMotion *motion, uint32_t life)
{
    FlEntity *e = fl__entity(ledger, entity);
    const FlPiece *before =
        fl__remembered(e, e->newest) ? fl__piece(ledger, entity, e->newest) : NULL;
    e->newest++;
    if (e->newest - e->oldest >= (uint32_t)ledger->def.path_capacity) {
        e->oldest++;
    }
    FlPiece *piece = fl__piece(ledger, entity, e->newest);
    piece->from = motion->time;
    piece->life = life;
    piece->motion = *motion;
    *fl__leap(ledger, entity, e->newest) = leap_between(before, piece);
}

// The exported path minus the shown piece, walked along: exact as long as all leaps are straight.
typedef struct Difference {
    FlVec3 gap;   ///< At the walk's time.
    FlVec3 drift; ///< Per second.
    bool straight;
} Difference;

static void difference_leap(Difference *d, const FlLeap *leap, FlTime at)
{
    double late = fl_span_seconds(fl_span(at, leap->from));
    d->straight &= leap->straight;
    d->gap = fl_vec3_add(d->gap, fl_vec3_add_scaled(leap->gap, leap->drift, late));
    d->drift = fl_vec3_add(d->drift, leap->drift);
}

static double difference_advance(Difference *d, double seconds)
{
    FlVec3 moved = fl_vec3_scale(d->drift, seconds);
    double error = fl_distance_integral_straight(d->gap, moved, seconds);
    d->gap = fl_vec3_add(d->gap, moved);
    return error;
}

bool fl__path_error(const FlLedger *ledger, int32_t entity, uint32_t shown, FlTime from, FlTime to,
                    double *error)
{
    const FlEntity *e = fl__entity(ledger, entity);
    *error = 0.0;
    if (from >= to) {
        return true;
    }
    if (!fl__remembered(e, shown)) {
        return false;
    }
    uint32_t life = fl__leap(ledger, entity, shown)->life;
    uint32_t at = shown;
    Difference difference = {.straight = true};
    while (from < to && life != FL_LIFE_NONE) {
        const FlLeap *next = fl__leap(ledger, entity, at + 1);
        bool last = at == e->newest;
        FlTime until = last || next->from > to ? to : next->from;
        if (until > from) {
            if (at == shown || fl__leap(ledger, entity, at)->life != life) {
                // nothing to count
            } else if (difference.straight) {
                *error += difference_advance(&difference, fl_span_seconds(fl_span(until, from)));
            } else {
                *error += fl__curve_error(ledger, entity, shown, at, until) -
                          fl__curve_error(ledger, entity, shown, at, from);
            }
            from = until;
        }
        if (from < to) {
            difference_leap(&difference, next, from);
            at++;
        }
    }
    return true;
}
