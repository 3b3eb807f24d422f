// Private to module `show`.
#ifndef FAIRLEAD_SHOW_PRIVATE_H
#define FAIRLEAD_SHOW_PRIVATE_H

#include "fairlead/show.h"

#include "base/private.h"
#include "show/show.h"

// ---------------------------------------------------------------- glide.c

/// How fast a picture may be: what it is to join moves at `velocity`, and the sum of that and the
/// correction stays within `limit`; or the correction alone within `least`, whichever is more.
typedef struct Fl__Bound {
    FlVec3 velocity;
    double limit;
    double least;
} Fl__Bound;

/// The way from an offset and its velocity to nothing, within `seconds` if the bound allows.
FlShowGlide fl__glide_make(FlVec3 offset, FlVec3 velocity, double seconds, const Fl__Bound *bound);

/// The offset `seconds` after the start, and its rate of change.
FlVec3 fl__glide_offset(const FlShowGlide *glide, double seconds);
FlVec3 fl__glide_velocity(const FlShowGlide *glide, double seconds);

// ---------------------------------------------------------------- shown_time.c

/// How fast shown time runs at a session time: 1 unless Δ changes.
double fl__show_rate(const FlShow *show, FlTime time);

// ---------------------------------------------------------------- updates.c

/// Index of the update in use at a shown time, -1 if none is: the newest whose time has come.
int32_t fl__updates_in_use(const FlShow *show, FlTime at);

/// When, after that one and up to `limit`, the next one comes into use. False: none does.
bool fl__updates_next(const FlShow *show, int32_t used, FlTime limit, FlTime *when);

/// Puts an update in its place; `used` is in use. Its index, or -1 (counted) if it has none.
int32_t fl__updates_insert(FlShow *show, const FlUpdate *update, FlTime stamp, int32_t used);

/// Remembers the newest stamp and life that was received, shown or not.
void fl__updates_note(FlShow *show, FlTime stamp, uint32_t life);

/// Drops what no placement will look at again.
void fl__updates_forget(FlShow *show, int32_t used);

// ---------------------------------------------------------------- placement.c

/// How many updates before the one in use the placement looks at.
int32_t fl__placement_order(FlPlacement placement);

/// Where the entity is while this update is in use from `at` on, by all that is known now. Finite.
void fl__placement_piece(const FlShow *show, int32_t used, FlTime at, FlPiece *piece);

/// True if the update at `index` has a say in that motion.
bool fl__placement_reads(const FlShow *show, int32_t used, int32_t index);

/// The turn as a vector: its axis, as long as its angle in [0, pi].
FlVec3 fl__rotation_vector(FlQuat rotation);

// ---------------------------------------------------------------- convergence.c

/// How the picture gets from where it is shown to where it is placed. True: too far, it jumps.
bool fl__blend_make(const FlShowDef *def, const FlPose *shown, const FlPose *placed,
                    FlShowBlend *blend);

/// Makes a placed pose the shown one, `span` after the blend began.
void fl__blend_apply(const FlShowDef *def, const FlShowBlend *blend, FlTime span, FlPose *pose);

#endif
