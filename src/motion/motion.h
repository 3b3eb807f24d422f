// Module `motion`, for the modules above it.
#ifndef FAIRLEAD_MOTION_MOTION_INNER_H
#define FAIRLEAD_MOTION_MOTION_INNER_H

#include "fairlead/motion.h"

/// The turn between two facings in [0, pi]; 0 if either has none; kinds may differ.
double fl__facing_angle(const FlFacing *a, const FlFacing *b);

bool fl__state_finite(const FlState *state);

/// The cubic curve that leaves `from` and meets `to` in position and velocity, straight on after
/// it. If `to` is not later than `from`, the linear motion from `from`.
FlMotion fl__motion_cubic(const FlState *from, const FlState *to);

bool fl__motion_finite(const FlMotion *motion);

FlFacing fl__motion_facing(const FlMotion *motion, FlTime time);

/// For comparison only: the thesis's appendix B, which takes an arc for its chord over the whole
/// interval (whatever its model, each motion is replaced by the straight line between its two end
/// points).
double fl__distance_integral_chord(const FlMotion *a, const FlMotion *b, FlTime from, FlTime to);

/// fl_piece_placed, made where it is to lie.
void fl__piece_place(FlPiece *piece, const FlMotion *update, uint32_t life, FlTime arrival);

/// Room for one more piece, which the caller fills: finite, and after the last one.
FlPiece *fl__path_extend(FlPath *path);

/// Ends what is there: from `time` on the path is empty. Errors as fl_path_add.
FL_NODISCARD FlResult fl__path_end(FlPath *path, FlTime time);

/// Forgets everything before `time`, except the piece that holds at it.
void fl__path_trim(FlPath *path, FlTime time);

/// Right for an action game in metres: 0.1 m, 0.05 rad, once a second.
FlTriggerDef fl__trigger_def_default(void);

/// Compares the truth with what was last said, both at the state's time.
FlTrigger fl__trigger_check(const FlTriggerDef *def, const FlMotion *exported, const FlState *real);

/// Hands the chooser a frame's truth; it carries on its trials.
void fl__chooser_observe(FlChooser *chooser, const FlTriggerDef *trigger, const FlState *real);

/// The model for an update from `real`, which was observed last. Starts a trial from it.
FlModel fl__chooser_pick(FlChooser *chooser, const FlTriggerDef *trigger, const FlState *real);

/// Ends the trials that a cut made pointless; what was learnt stays.
void fl__chooser_cut(FlChooser *chooser);

/// The same trajectory, given from another time. The same from the later of the two times on;
/// before it, a cubic's curve reaches back instead of the straight line. A cubic past its end
/// becomes linear; a motion past its horizon still, without rates (one that fades goes on as it
/// moves then until its speed would change); otherwise what is left of the horizon stays.
FlMotion fl__motion_rebase(const FlMotion *motion, FlTime time);

/// True if a receiver of a packet stamped `stamp` finds this time again: not more than a second
/// after the stamp, less than 15.384 s before it. An older motion is re-based before it is sent.
bool fl__update_time_fits(FlTime time, FlTime stamp);

/// The time that such a receiver finds: the one that fits and whose number of steps ends in these
/// 16 bits. Errors: FL_BAD_VALUE (within 17 s of the ends of FlTime's range).
FL_NODISCARD FlResult fl__update_time_find(uint16_t low, FlTime stamp, FlTime *time);

/// The fault's name without its prefix ("TRUNCATED"); "UNKNOWN" for what is none.
const char *fl__update_fault_name(FlUpdateFault fault);

/// Reads one update but for its time, of which these are the low bits (fl__update_time_find).
/// False, and the reader has failed or stands anywhere: fl_update_decode would find a fault other
/// than a time that is out of range.
FL_NODISCARD bool fl__update_read(FlReader *reader, const FlWorld *world, FlUpdate *update,
                                  uint16_t *low);

/// The facing `seconds` later (or earlier, if negative), its rates unchanged.
FlFacing fl__facing_after(const FlFacing *facing, double seconds);

/// The rate of change of position.
FlVec3 fl__motion_velocity(const FlMotion *motion, FlTime time);

/// The closed form by itself: two points `gap` apart that drift by `drift` in `seconds`, at
/// constant velocity.
double fl__distance_integral_straight(FlVec3 gap, FlVec3 drift, double seconds);

/// The time of a code: 0, then from 25 ms to 2.2 s in steps of about the root of 2, then
/// FL_FOREVER.
FlTime fl__fade_ns(uint8_t code);

/// How far along its velocity a thing gets in a time that fades by a code, in seconds of it.
double fl__fade_seconds(uint8_t code, FlTime beyond);

/// An update that arrives so long after its time or sooner is shown as it is, for the time of its
/// trust from then on: nothing of it fades.
FlTime fl__fade_holds_ns(const FlMotion *m);

/// The time of a code of trust.
FlTime fl__fade_trust_ns(uint8_t trust);

/// Who it is for: receivers that hear of a new course so long after it was taken, or, if updates
/// are paced, whose newest update is so old. Above 0; at first 0.1 to 1.5 s.
void fl__exporter_receivers(FlExporter *exporter, FlTime shortest, FlTime longest);

const char *fl__model_name(FlModel model);

/// Finds a model by its word. Errors: FL_NOT_FOUND.
FL_NODISCARD FlResult fl__model_find(const char *name, FlModel *model);

/// The bytes of an update.
int32_t fl__update_bytes(const FlWorld *world, FlModel model, FlFacingKind facing, bool wide,
                         bool fades);

/// When the integral from `from` on reaches `goal`: the nearest nanosecond. A goal of zero or less
/// is reached at `from`. Errors: FL_NOT_FOUND (and *when = latest) if it is not reached by
/// `latest`; FL_BAD_VALUE if the goal or a motion is not finite.
FL_NODISCARD FlResult fl__distance_integral_reaches(const FlMotion *a, const FlMotion *b,
                                                    FlTime from, FlTime latest, double goal,
                                                    FlTime *when);

/// The integral of |a(t) - b(t)| dt over [from, to], in distance times seconds. Straight pairs
/// (still and linear): closed form, relative error below 1e-9 whatever the scales, touching and
/// parallel paths included. Other pairs: below 1e-6, as long as the distance itself is not lost in
/// rounding (1e-15 of the coordinates) and the two turn by no more than 32768 rad in all; beyond
/// that the turns are sampled, to about 1e-3. An empty or reversed interval gives 0;
/// motions that are not finite give NaN.
double fl__distance_integral(const FlMotion *a, const FlMotion *b, FlTime from, FlTime to);

#endif
