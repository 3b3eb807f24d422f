// Exported paths, and single pieces against them.
//
// A receiver shows one update at a time, and every update is a piece of the exported path. So the
// error of a stretch is the sum over the exported pieces that hold in it, each against the one
// shown; where the shown piece itself holds there is none, unless it fades.
#include "placed.h"
#include "private.h"

#include "motion/motion.h"

static bool is_straight(const FlPiece *piece)
{
    const FlMotion *m = &piece->motion;
    return piece->life != FL_LIFE_NONE && m->horizon_ns == FL_FOREVER &&
           (m->model == FL_MODEL_LINEAR || m->model == FL_MODEL_STILL);
}

// Rounded down, and not more than fits: within less, it holds as well.
static uint8_t hundredths(FlTime span)
{
    return (uint8_t)fl_time_min(span / FL_MS(10), UINT8_MAX);
}

static FlLeap leap_between(const FlPiece *before, const FlPiece *piece)
{
    FlLeap leap = {.from = piece->from,
                   .life = piece->life,
                   .fades = piece->life != FL_LIFE_NONE && piece->motion.fade.level != 0};
    if (leap.fades) {
        leap.holds_cs = hundredths(fl__fade_holds_ns(&piece->motion));
        leap.trust_cs = hundredths(fl__fade_trust_ns(piece->motion.fade.trust));
    }
    if (before != NULL && before->life == piece->life && is_straight(before) &&
        is_straight(piece)) {
        FlTime from = piece->from;
        leap.straight = true;
        leap.gap = fl_vec3_sub(fl_motion_position(&piece->motion, from),
                               fl_motion_position(&before->motion, from));
        leap.drift = fl_vec3_sub(fl__motion_velocity(&piece->motion, from),
                                 fl__motion_velocity(&before->motion, from));
    }
    return leap;
}

void fl__path_add(FlLedger *ledger, int32_t entity, const FlMotion *motion, uint32_t life)
{
    FlEntity *e = fl__entity(ledger, entity);
    const FlPiece *before = fl__remembered(e, e->newest) ? fl__piece(e, e->newest) : NULL;
    e->newest++;
    if (e->newest - e->oldest >= (uint32_t)ledger->def.path_capacity) {
        e->oldest++;
    }
    FlPiece *piece = fl__piece(e, e->newest);
    piece->from = motion->time;
    piece->life = life;
    piece->motion = *motion;
    *fl__leap(e, e->newest) = leap_between(before, piece);
}

// The exported path minus the shown piece, walked along: exact as long as all leaps are straight.
typedef struct Difference {
    FlVec3 gap;   ///< At the walk's time.
    FlVec3 drift; ///< Per second.
    bool straight;
} Difference;

static void difference_leap(Difference *d, const FlLeap *leap, FlTime at)
{
    d->straight &= leap->straight;
    if (d->straight) {
        double late = fl_span_seconds(fl_span(at, leap->from));
        d->gap = fl_vec3_add(d->gap, fl_vec3_add_scaled(leap->gap, leap->drift, late));
        d->drift = fl_vec3_add(d->drift, leap->drift);
    }
}

static double difference_advance(Difference *d, double seconds)
{
    FlVec3 moved = fl_vec3_scale(d->drift, seconds);
    double error = fl__distance_integral_straight(d->gap, moved, seconds);
    d->gap = fl_vec3_add(d->gap, moved);
    return error;
}

// Pieces from `at` on, after a leap that is not straight.
FL__APART
static double walk_bent(const FlEntity *e, uint32_t shown, uint32_t at, FlTime from, FlTime to,
                        double error)
{
    uint32_t life = fl__leap(e, shown)->life;
    while (from < to) {
        FlTime next = fl__leap(e, at + 1)->from;
        FlTime until = at == e->newest || next > to ? to : next;
        if (until > from) {
            if (fl__leap(e, at)->life == life) {
                error += fl__curve_error(e, shown, at, from, until);
            }
            from = until;
        }
        at++;
    }
    return error;
}

FL__APART
static double walk_straight(const FlEntity *e, uint32_t shown, FlTime from, FlTime to)
{
    uint32_t life = fl__leap(e, shown)->life;
    Difference difference = {.straight = true};
    double error = 0.0;
    for (uint32_t at = shown + 1; from < to; at++) {
        const FlLeap *leap = fl__leap(e, at);
        difference_leap(&difference, leap, from);
        if (!difference.straight) {
            return walk_bent(e, shown, at, from, to, error);
        }
        FlTime next = fl__leap(e, at + 1)->from;
        FlTime until = at == e->newest || next > to ? to : next;
        if (until > from) {
            if (leap->life == life) {
                error += difference_advance(&difference, fl_span_seconds(fl_span(until, from)));
            }
            from = until;
        }
    }
    return error;
}

double fl__path_walk(const FlEntity *e, uint32_t shown, FlTime from, FlTime to)
{
    uint32_t life = fl__leap(e, shown)->life;
    uint32_t at = shown + 1;
    const FlLeap *leap = fl__leap(e, at);
    from = fl__time_max(from, leap->from);
    if (life == FL_LIFE_NONE || from >= to) {
        return 0.0;
    }
    if (leap->straight) {
        return walk_straight(e, shown, from, to);
    }
    bool ends = at == e->newest || fl__leap(e, at + 1)->from >= to; // mostly
    return !ends                ? walk_bent(e, shown, at, from, to, 0.0)
           : leap->life == life ? fl__curve_error(e, shown, at, from, to)
                                : 0.0;
}

double fl__path_walk_faded(const FlEntity *e, uint32_t shown, FlTime since, FlTime from, FlTime to)
{
    const FlPiece *update = fl__piece(e, shown);
    FlMotion placed = fl_piece_placed(&update->motion, update->life, since).motion;
    double error = 0.0;
    for (uint32_t at = shown; from < to; at++) {
        FlTime next = at == e->newest ? to : fl__leap(e, at + 1)->from;
        FlTime until = next > to ? to : next;
        if (until > from) {
            if (fl__leap(e, at)->life == update->life) {
                error += fl__distance_integral(&fl__piece(e, at)->motion, &placed, from, until);
            }
            from = until;
        }
    }
    return error;
}
