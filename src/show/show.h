// Module `show`, for the modules above it.
#ifndef FAIRLEAD_SHOW_SHOW_INNER_H
#define FAIRLEAD_SHOW_SHOW_INNER_H

#include "fairlead/show.h"

/// True if every setting is in its range.
bool fl__show_def_valid(const FlShowDef *def);

/// fl_show_arrive of an update that was decoded, so that all its numbers are good.
bool fl__show_arrive(FlShow *show, const FlUpdate *update, FlTime stamp, FlTime arrival);

/// When to call again, if nothing else happens.
FlTime fl__delta_control_deadline(const FlDeltaControl *control);

/// What receivers will decode, bit for bit. Rounding twice changes nothing. Errors: FL_BAD_VALUE,
/// and an empty guidance: not finite, out of range, or outside the world (send a snapshot then).
FL_NODISCARD FlResult fl__guidance_round(const FlWorld *world, const FlGuidance *guidance,
                                         FlGuidance *rounded);

/// Writes a guidance, rounded as above; the writer must be at a byte's start. False if it cannot be
/// rounded (nothing is written) or does not fit (then the writer has failed, too).
FL_NODISCARD bool fl__guidance_encode(FlWriter *writer, const FlWorld *world,
                                      const FlGuidance *guidance);

/// Reads one, in a packet stamped `stamp`. False, and an empty one, for what no encoder writes
/// (then the reader has failed).
FL_NODISCARD bool fl__guidance_decode(FlReader *reader, const FlWorld *world, FlTime stamp,
                                      FlGuidance *guidance);

int32_t fl__guidance_bytes(const FlWorld *world, const FlGuidance *guidance);

/// One replica: what it received, and how near it is. The game walks it. About 300 bytes.
typedef struct FlGuide {
    double diameter; ///< Of the thing: nearer than this, the difference is invisible.
    FlGuideMode mode;
    bool started; ///< Guidance has come.
    bool cut;     ///< It must appear anew, at the goal: a life began.
    FlGuidance received;
    bool fresh;                          ///< It has not been walked by yet;
    FlVec3 pace;                         ///< else how fast the replica walks to its end, a second.
    FlTime focus_until;                  ///< Snapshots are expected until then.
    uint8_t played[FL_GUIDANCE_ACTIONS]; ///< Low bits of what was played or dropped.
    FlTime play_from[FL_GUIDANCE_ACTIONS];  ///< The next blank is played from here on,
    FlTime play_every[FL_GUIDANCE_ACTIONS]; ///< and the others so far apart.
    uint32_t overtaken;                     ///< Guidances older than one received before.
} FlGuide;

void fl__guide_init(FlGuide *guide, double diameter);

/// A guidance arrived (session time). False, and counted, if it is not newer than the last.
bool fl__guide_receive(FlGuide *guide, const FlGuidance *guidance, FlTime arrival);

/// A snapshot arrived: snapshots are expected for another `expected_ns`.
void fl__guide_snapshot(FlGuide *guide, FlTime arrival, FlTime expected_ns);

/// The replica stands at `replica`, snapshots put it at `snapshot` (NULL: there is none). Once a
/// frame; answers how it is to be moved until the next.
FlGuideMode fl__guide_step(FlGuide *guide, FlTime now, FlVec3 replica, const FlVec3 *snapshot);

/// Where to walk at `now`; with a snapshot (NULL: none) in mode NEARING, there. False: nothing is
/// known.
bool fl__guide_goal(const FlGuide *guide, FlTime now, const FlVec3 *snapshot, FlGuideGoal *goal);

/// True once for every action that is to be replayed by now: those that were received are spread
/// over the time they were said for.
bool fl__guide_play(FlGuide *guide, int32_t action, FlTime now);

/// True once after a cut: put the replica at its goal at once.
bool fl__guide_take_cut(FlGuide *guide);

/// DELTA: what a peer knows of the proposals for two periods. Each is the largest known so far, or
/// FL_DELTA_UNKNOWN. Five bytes.
typedef struct FlDeltaMsg {
    uint16_t period; ///< Low bits of the number of the newer period.
    uint16_t newer;  ///< In steps; never unknown.
    uint16_t older;  ///< In steps, of the period before.
} FlDeltaMsg;

#define FL_DELTA_UNKNOWN 2047

/// Writes the message; the writer must be at a byte's start. The fields must be in range.
void fl__delta_encode(FlWriter *writer, const FlDeltaMsg *msg);

/// Reads one; false, and an empty message, if the bytes are none (then the reader has failed).
FL_NODISCARD bool fl__delta_decode(FlReader *reader, FlDeltaMsg *msg);

/// The settings that a text names: a scheme, or HOLD/PLACEMENT/CONVERGENCE by the words of the
/// tables above, the rest as in `best`. Errors: FL_NOT_FOUND (and the default settings).
FL_NODISCARD FlResult fl__show_parse(const char *text, FlShowDef *def);

#endif
