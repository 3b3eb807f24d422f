// fairlead/show.h: what a receiver shows of a remote entity, and when.
//
// Updates arrive, each makes a piece of the *placed path* by the one rule in room `motion`, and
// poses are asked of that path. So far: shown at once, at the time that the update is stamped with
// (or, for comparison, by the local clock or the one-way delay). Holding back, smoothing and guided
// replicas come here.
//
// Threads: no shared state.
#ifndef FAIRLEAD_SHOW_H
#define FAIRLEAD_SHOW_H

#include "fairlead/motion.h"

/// Pieces of the placed path that are kept: a receiver may still ask about the recent past.
#define FL_SHOW_PIECES 8

typedef struct FlShow {
    FlPath placed;
    FlPiece storage[FL_SHOW_PIECES];
    FlTime newest; ///< Stamp of the update in use.
    uint32_t life; ///< Unwrapped from the two bits that travel.
    bool started;
    uint32_t overtaken; ///< Updates ignored because a newer one was here first.
} FlShow;

/// In place: an FlShow holds a pointer into itself, so it must not be copied afterwards.
FL_API void fl_show_init(FlShow *show);

/// An update arrived. `stamp` is what it says of its own time; `update->motion` is to be shown from
/// `arrival` on (session time), already re-timed if the receiver goes by another clock. False if it
/// or a newer one was here before; of two with the same stamp, the one after a cut is newer.
FL_API bool fl_show_arrive(FlShow *show, const FlUpdate *update, FlTime stamp, FlTime arrival);

/// Errors: FL_NOT_FOUND: nothing has arrived by then.
FL_API FL_NODISCARD FlResult fl_show_pose(const FlShow *show, FlTime time, FlPose *pose);

#endif
