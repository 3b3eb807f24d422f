// fairlead/rewind.h: what was on another player's screen, for judging its shots.
//
// A shot was aimed at a picture that is gone by the time it reaches whoever judges it. The judge
// knows that picture: it distributes the targets, the shooter has reported when each update
// arrived, and how the shooter shows them is known (FlShowDef). So it replays the shooter's screen
// and casts the game's own rays there:
//
//     shooter:  shot.time = fl_session_time(session, now); // of the frame that was aimed in
//     judge:    FlRewind frame;
//               FlResult result = fl_rewind_to(session, now, shooter, shot.time, &frame);
//               // FL_WOULD_BLOCK: keep the shot, try again next tick; FL_OUT_OF_ORDER: too old
//               for (FlEntityId id = {0}; fl_rewind_next(session, &frame, &id, &pose);) {
//                   hit = hit || ray_meets(&shot, &pose);
//               }
//
// Set FlSessionDef.rewind_ns at all peers: it says how far back, and without it nothing is kept.
// A peer judges what it distributes: the host of a star everything, in a mesh an owner its own
// things, in a hybrid an owner for those who reach it directly and the host for the others.
//
// What a lying shooter can gain, and why not more: docs/guide/rewind.md.
//
// Threads: as sessions.
#ifndef FAIRLEAD_REWIND_H
#define FAIRLEAD_REWIND_H

#include "fairlead/fairlead.h"

/// Rewinding goes no further back than this.
#define FL_REWIND_MOST_NS FL_SEC(2)

/// One frame on one player's screen.
typedef struct FlRewind {
    FlPeerId peer;
    FlTime time;        ///< Session time of the frame.
    int32_t connection; ///< The session's: leave alone.
} FlRewind;

/// Goes back to what a peer, or we, had on the screen in the frame of session time `time`.
/// Errors: FL_WOULD_BLOCK (some of what arrived there by then may not be reported yet: ask again
/// next tick; reports come with the shot's own packet, so mostly it is known at once);
/// FL_OUT_OF_ORDER (longer ago than rewind_ns); FL_BAD_VALUE (in the future, or rewind_ns is 0
/// here); FL_STALE_ID; FL_NOT_FOUND (we have no connection to it).
FL_API FL_NODISCARD FlResult fl_rewind_to(FlSession *session, FlTime now, FlPeerId peer,
                                          FlTime time, FlRewind *frame);

/// Where an entity was drawn in that frame: hold, Δ, placement and convergence included. A peer's
/// own entity: where it had said by then that it was, to within its trigger's distance.
/// Errors: FL_STALE_ID; FL_NOT_FOUND (it was not shown there, or another peer distributes it);
/// FL_OUT_OF_ORDER (the picture was further behind than rewind_ns: an update that went out so long
/// before the frame had not been shown, or Δ is longer).
FL_API FL_NODISCARD FlResult fl_rewind_pose(FlSession *session, const FlRewind *frame,
                                            FlEntityId id, FlPose *pose);

/// All entities of which fl_rewind_pose knows the pose, but for the peer's own: start with {0}.
/// False after the last; *id is {0} then.
FL_API bool fl_rewind_next(FlSession *session, const FlRewind *frame, FlEntityId *id, FlPose *pose);

/// A guided replica is walked by the peer's own bot code, so where it stood is the peer's to say.
/// The claim is the answer if it is no further than `within` from where updates would have put it.
/// Errors: as fl_rewind_pose; FL_BAD_VALUE (further off, not finite, or the entity is not guided:
/// then there is nothing to claim).
FL_API FL_NODISCARD FlResult fl_rewind_claim(FlSession *session, const FlRewind *frame,
                                             FlEntityId id, FlVec3 claimed, double within,
                                             FlPose *pose);

#endif
