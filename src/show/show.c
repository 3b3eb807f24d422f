// What is shown of one entity: updates in, poses out.
//
// What is shown is a chain of *stretches*, each a piece of the placed path and a blend that leads
// the picture over from the stretch before. A new stretch begins when another update comes into
// use, or when one arrives that changes what the placement says. Both are known beforehand except
// for arrivals, so the chain up to the last arrival (`ready`) is final and stored; what comes after
// it is worked out when a pose is asked for, from the updates that wait, by the same function. That
// is why asking changes nothing, and why the order of questions does not matter.
//
// Layout: pieces in the ring `placed`, blends in the same slots of an array beside it.
//
// Invariant: the stored chain ends with the update in use at `ready`.
#include "private.h"

#include "base/maths.h"
#include "motion/motion.h"

#include <string.h>

#define SHOW_COOKIE 0x53484f31u

_Static_assert(sizeof(FlShow) <= FL_SHOW_BYTES_MAX, "what show.h says of an FlShow's size");

FlShowDef fl_show_def_default(void)
{
    FlShowDef def = {
        .hold = FL_HOLD_AT_ONCE,
        .delta_ns = FL_MS(100),
        .warp = 0.08,
        .placement = FL_PLACEMENT_TIMESTAMPED,
        .convergence = FL_CONVERGENCE_SMOOTH,
        .step_count = 4,
        .step_ns = FL_MS(33),
        .smooth_ns = FL_MS(50),
        .speed_limit = 0.0,
        .catch_up = 5.0,
        .snap_distance = 10.0,
        .cookie = SHOW_COOKIE,
    };
    return def;
}

FlResult fl_show_def_problem(const FlShowDef *def, FlError *error)
{
    static const Fl__Rule rules[] = {
        FL__COOKIE(FlShowDef, "fl_show_def_default", SHOW_COOKIE),
        FL__WHOLE(FlShowDef, hold, 0, FL_HOLD_COUNT - 1),
        FL__WHOLE(FlShowDef, placement, 0, FL_PLACEMENT_COUNT - 1),
        FL__WHOLE(FlShowDef, convergence, 0, FL_CONVERGENCE_COUNT - 1),
        FL__WHOLE(FlShowDef, delta_ns, 0, FL_SHOW_DELTA_MAX_NS),
        FL__ABOVE(FlShowDef, warp, 0.0, 0.5),
        FL__WHOLE(FlShowDef, step_count, 1, INT32_MAX),
        FL__WHOLE(FlShowDef, step_ns, 1, FL_FOREVER),
        FL__WHOLE(FlShowDef, smooth_ns, 1, FL_FOREVER),
        FL__REAL(FlShowDef, speed_limit, 0.0, (double)INFINITY),
        FL__ABOVE(FlShowDef, catch_up, 0.0, (double)INFINITY),
        FL__REAL(FlShowDef, snap_distance, 0.0, (double)INFINITY),
    };
    return fl__def_problem(def, rules, sizeof rules / sizeof rules[0], error);
}

bool fl__show_def_valid(const FlShowDef *def)
{
    FlError error;
    return fl_show_def_problem(def, &error) == FL_OK;
}

void fl_show_init(FlShow *show, const FlShowDef *def)
{
    FlShowDef usual = fl_show_def_default();
    def = def != NULL ? def : &usual;
    FL_ASSERT(def->cookie == SHOW_COOKIE);
    FL_ASSERT(fl__show_def_valid(def));
    // Not the rings, 6 KB: nothing in them is read before it was written.
    show->def = *def;
    fl_path_init(&show->placed, show->storage, FL_SHOW_PIECES);
    show->updates = show->update_storage;
    show->update_count = show->change_count = 0;
    show->ready = INT64_MIN;
    show->newest = 0;
    show->life = 0;
    show->started = false;
    show->overtaken = show->late = show->crowded = show->refused = show->snapped = 0;
}

// ---------------------------------------------------------------- the chain

/// A stretch that is not stored.
typedef struct Stretch {
    FlPiece piece;
    FlShowBlend blend;
} Stretch;

/// Where a stretch lies. Pieces are long, so they are pointed at, and written once.
typedef struct Place {
    const FlPiece *piece; // NULL: there is none
    const FlShowBlend *blend;
} Place;

static int32_t last_slot(const FlShow *show)
{
    int32_t slot = show->placed.first + show->placed.count - 1;
    return slot < FL_SHOW_PIECES ? slot : slot - FL_SHOW_PIECES;
}

static Place place_of_slot(const FlShow *show, int32_t slot)
{
    Place place = {&show->storage[slot], &show->blend[slot]};
    return place;
}

static Place place_last(const FlShow *show)
{
    Place none = {NULL, NULL};
    return show->placed.count > 0 ? place_of_slot(show, last_slot(show)) : none;
}

static FlPose picture_of(const FlShow *show, Place place, FlTime at)
{
    FL_ASSERT(place.piece != NULL);
    FlPose pose = fl_motion_pose(&place.piece->motion, at);
    fl__blend_apply(&show->def, place.blend, fl_span(at, place.piece->from), &pose);
    return pose;
}

static bool leads_over(const FlShow *show, Place last, const FlPiece *piece)
{
    bool cut = last.piece == NULL || last.piece->life != piece->life;
    return !cut && show->def.convergence != FL_CONVERGENCE_AT_ONCE;
}

// A stretch: from `at` on this update is in use, with the neighbours that are known now; and how
// the picture gets there from the last one. True: it jumps.
static bool make_stretch(const FlShow *show, Place last, int32_t used, FlTime at, FlPiece *piece,
                         FlShowBlend *blend)
{
    fl__placement_piece(show, used, at, piece);
    blend->active = false;
    if (!leads_over(show, last, piece)) {
        return false;
    }
    FlPose shown = picture_of(show, last, at);
    FlPose placed = fl_motion_pose(&piece->motion, at);
    return fl__blend_make(&show->def, &shown, &placed, blend);
}

// Adds a stretch to the chain, made where it lies; one that replaces the last needs that until
// then.
static void go_on(FlShow *show, int32_t used, FlTime at)
{
    Place last = place_last(show);
    bool snapped;
    if (last.piece == NULL || last.piece->from < at) {
        FlPiece *piece = fl__path_extend(&show->placed);
        snapped = make_stretch(show, last, used, at, piece, &show->blend[last_slot(show)]);
    } else {
        FL_ASSERT(last.piece->from == at);
        Stretch made;
        snapped = make_stretch(show, last, used, at, &made.piece, &made.blend);
        show->storage[last_slot(show)] = made.piece;
        show->blend[last_slot(show)] = made.blend;
    }
    show->snapped += snapped ? 1 : 0;
}

// Makes the chain final up to `at`.
static void advance(FlShow *show, FlTime at)
{
    int32_t used = fl__updates_in_use(show, show->ready);
    FlTime when;
    while (fl__updates_next(show, used, at, &when)) {
        used = fl__updates_in_use(show, when);
        go_on(show, used, when);
    }
    show->ready = at;
}

// ---------------------------------------------------------------- updates in

static bool can_be_shown(const FlMotion *motion)
{
    return (int32_t)motion->model >= 0 && motion->model < FL_MODEL_AUTO &&
           fl__motion_finite(motion);
}

bool fl__show_arrive(FlShow *show, const FlUpdate *update, FlTime stamp, FlTime arrival)
{
    // A clock slewed back by rounding must not lose an update.
    FlTime at = fl_show_time(show, arrival);
    at = fl__time_max(at, show->ready);
    if (show->def.hold != FL_HOLD_AT_ONCE && update->motion.time < at) {
        show->late++;
        if (show->def.hold == FL_HOLD_CAUSALITY) {
            fl__updates_note(show, stamp, update->life);
            return false;
        }
    }
    advance(show, at);
    int32_t index = fl__updates_insert(show, update, stamp, fl__updates_in_use(show, at));
    if (index < 0) {
        return false;
    }
    int32_t used = fl__updates_in_use(show, at);
    if (fl__placement_reads(show, used, index)) {
        go_on(show, used, at);
    }
    fl__updates_forget(show, used);
    return true;
}

bool fl_show_arrive(FlShow *show, const FlUpdate *update, FlTime stamp, FlTime arrival)
{
    if (!can_be_shown(&update->motion)) {
        show->refused++;
        return false;
    }
    return fl__show_arrive(show, update, stamp, arrival);
}

bool fl_show_own(FlShow *show, FlModel model, const FlState *truth, uint32_t life)
{
    FlUpdate update = {.life = life & 3u, .motion = fl_motion_make(model, truth)};
    return fl_show_arrive(show, &update, truth->time, truth->time);
}

// ---------------------------------------------------------------- poses out

// The stretch at a shown time; one that is not stored is made, in one of the two.
static Place place_at(const FlShow *show, FlTime at, Stretch made[2])
{
    if (at < show->ready) {
        const FlPiece *piece = fl_path_at(&show->placed, at);
        Place none = {NULL, NULL};
        return piece != NULL ? place_of_slot(show, (int32_t)(piece - show->storage)) : none;
    }
    Place place = place_last(show);
    int32_t used = fl__updates_in_use(show, show->ready);
    FlTime when;
    for (int32_t i = 0; fl__updates_next(show, used, at, &when); i ^= 1) {
        Stretch *next = &made[i];
        used = fl__updates_in_use(show, when);
        (void)make_stretch(show, place, used, when, &next->piece, &next->blend);
        place.piece = &next->piece;
        place.blend = &next->blend;
    }
    return place;
}

static bool is_finite(const FlPose *pose)
{
    return fl_vec3_finite(pose->position) && fl_vec3_finite(pose->velocity) &&
           isfinite(pose->yaw) && fl__quat_finite(pose->rotation);
}

static FlResult answer(const FlShow *show, FlTime time, bool converged, FlPose *pose)
{
    memset(pose, 0, sizeof *pose);
    FlTime at = fl_show_time(show, time);
    Stretch made[2];
    Place place = place_at(show, at, made);
    if (place.piece == NULL) {
        return FL_NOT_FOUND;
    }
    FlPose found =
        converged ? picture_of(show, place, at) : fl_motion_pose(&place.piece->motion, at);
    found.velocity = fl_vec3_scale(found.velocity, fl__show_rate(show, time));
    if (!is_finite(&found)) {
        return FL_BAD_VALUE;
    }
    *pose = found;
    return FL_OK;
}

FlResult fl_show_pose(const FlShow *show, FlTime time, FlPose *pose)
{
    return answer(show, time, true, pose);
}

FlResult fl_show_placed(const FlShow *show, FlTime time, FlPose *pose)
{
    return answer(show, time, false, pose);
}

uint32_t fl_show_life(const FlShow *show, FlTime time)
{
    Stretch made[2];
    Place place = place_at(show, fl_show_time(show, time), made);
    return place.piece != NULL ? place.piece->life : FL_LIFE_NONE;
}
