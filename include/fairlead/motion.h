// fairlead/motion.h: where things are, when to say so, and how wrong a view was.
//
// A *motion* says where something is from its time on, by one of a few models. A *path* is motions
// one after another. The real path of an entity, the exported one (what its updates say) and the
// placed one (what one receiver shows) are all paths; triggers and errors are questions asked of
// them.
//
// Units: positions in the game's own (metres, say), velocities per second, angles in radians,
// counter- clockwise seen from +z; times in nanoseconds (FlTime).
//
// Values that are not finite: fl_state_finite and fl_motion_finite tell; triggers and exporters
// refuse such states (FL_TRIGGER_REFUSED); evaluating such a motion gives NaN where it mattered; an
// integral over it is NaN.
//
// Threads: nothing here keeps state of its own; calls on different objects may run at once.
#ifndef FAIRLEAD_MOTION_H
#define FAIRLEAD_MOTION_H

#include "fairlead/wire.h"

// ---------------------------------------------------------------- facing

/// How an entity's orientation is told.
typedef enum FlFacingKind {
    FL_FACING_NONE, ///< It has none worth sending (a shot, a ball).
    FL_FACING_YAW,  ///< A heading about the vertical, and its rate (a tank, a kart).
    FL_FACING_FREE, ///< Any rotation, and an angular velocity in world axes (a ship, a barrel).
} FlFacingKind;

typedef struct FlFacing {
    FlFacingKind kind;
    double yaw;      ///< rad, with FL_FACING_YAW
    double yaw_rate; ///< rad/s, with FL_FACING_YAW
    FlQuat rotation; ///< unit, with FL_FACING_FREE
    FlVec3 spin;     ///< rad/s about its own direction, with FL_FACING_FREE
} FlFacing;

FL_API FlFacing fl_facing_none(void);
FL_API FlFacing fl_facing_yaw(double yaw, double yaw_rate);
FL_API FlFacing fl_facing_free(FlQuat rotation, FlVec3 spin);

/// The facing `seconds` later (or earlier, if negative), its rates unchanged.
FL_API FlFacing fl_facing_after(const FlFacing *facing, double seconds);

/// The turn between two facings in [0, pi]; 0 if either has none; kinds may differ.
FL_API double fl_facing_angle(const FlFacing *a, const FlFacing *b);

// ---------------------------------------------------------------- state

/// What is true of an entity at one moment. Games fill it in; fl_sampler_add makes it from
/// positions alone.
typedef struct FlState {
    FlTime time;
    FlVec3 position;
    FlVec3 velocity;
    FlVec3 acceleration; ///< Read by the quadratic model and by the automatic choice; zero is fine.
    double turn_rate;    ///< rad/s at which the velocity turns about +z; read like acceleration.
    FlFacing facing;
} FlState;

FL_API bool fl_state_finite(const FlState *state);

// ---------------------------------------------------------------- motion

/// X(name, word)
#define FL_MODEL_TABLE(X)                                                                          \
    X(STILL, "still")         /* stays where it is */                                              \
    X(LINEAR, "linear")       /* constant velocity */                                              \
    X(QUADRATIC, "quadratic") /* constant acceleration; a ballistic shot is this */                \
    X(CIRCULAR, "circular")   /* constant speed and turn rate about the vertical, z linear */      \
    X(CUBIC, "cubic")         /* a curve to a known end state, straight on after it */             \
    X(AUTO, "auto")           /* for exporters only: pick per update */

typedef enum FlModel {
#define FL_MODEL_ROW(name, word) FL_MODEL_##name,
    FL_MODEL_TABLE(FL_MODEL_ROW)
#undef FL_MODEL_ROW
} FlModel;

FL_API const char *fl_model_name(FlModel model);

/// Finds a model by its word. Errors: FL_NOT_FOUND.
FL_API FL_NODISCARD FlResult fl_model_find(const char *name, FlModel *model);

/// Where something is at any time, as told by one state and a model. Meant from `time` on, defined
/// before it too: the formulas run backwards (the cubic is a straight line before its start).
typedef struct FlMotion {
    FlTime time;
    FlTime horizon_ns; ///< After this span the motion stands still; FL_FOREVER (what the makers
                       ///< set): never.
    FlVec3 position;
    FlVec3 velocity;
    FlVec3 acceleration; ///< quadratic and cubic
    FlVec3 jerk;         ///< cubic
    FlTime curve_ns;     ///< cubic: how long the curve lasts
    double turn_rate;    ///< circular
    FlFacing facing;
    FlModel model;
} FlMotion;

/// The motion that `state` starts under `model` (any but cubic and auto). Fields the model does not
/// use are zero.
FL_API FlMotion fl_motion_make(FlModel model, const FlState *state);

/// The cubic curve that leaves `from` and meets `to` in position and velocity, straight on after
/// it. If `to` is not later than `from`, the linear motion from `from`.
FL_API FlMotion fl_motion_cubic(const FlState *from, const FlState *to);

FL_API bool fl_motion_finite(const FlMotion *motion);

FL_API FlVec3 fl_motion_position(const FlMotion *motion, FlTime time);

/// The rate of change of position; zero from the horizon on.
FL_API FlVec3 fl_motion_velocity(const FlMotion *motion, FlTime time);

FL_API FlFacing fl_motion_facing(const FlMotion *motion, FlTime time);

/// What to draw.
typedef struct FlPose {
    FlVec3 position;
    FlVec3 velocity;
    double yaw;      ///< in (-pi, pi]
    FlQuat rotation; ///< The same turn; of a yaw, the turn about +z.
} FlPose;

FL_API FlPose fl_motion_pose(const FlMotion *motion, FlTime time);

/// One array per coordinate, so that a loop over them vectorises.
typedef struct FlVec3Arrays {
    const double *x, *y, *z;
} FlVec3Arrays;

/// Many motions of one model, one array per field; no horizon. Arrays that the model does not use
/// may be NULL.
typedef struct FlMotionArrays {
    FlTime epoch; ///< What since_ns counts from.
    const double
        *since_ns; ///< Each motion's time minus the epoch: whole numbers, exact up to 104 days.
    FlVec3Arrays position;
    FlVec3Arrays velocity;
    FlVec3Arrays acceleration; ///< quadratic
    const double *turn_rate;   ///< circular
} FlMotionArrays;

/// Where `count` motions are at `time`: the same bits as fl_motion_position, many times as fast.
/// Still, linear, quadratic and circular. The outputs overlap none of the inputs.
FL_API void fl_motion_positions(FlModel model, int32_t count, const FlMotionArrays *motions,
                                FlTime time, double *x, double *y, double *z);

// ---------------------------------------------------------------- distance integrals

/// The integral of |a(t) - b(t)| dt over [from, to], in distance times seconds. Straight pairs
/// (still and linear): closed form, relative error below 1e-9 whatever the scales, touching and
/// parallel paths included. Other pairs: below 1e-6, as long as the distance itself is not lost in
/// rounding (1e-15 of the coordinates) and the two turn by no more than 32768 rad in all; beyond
/// that the turns are sampled, to about 1e-3. An empty or reversed interval gives 0;
/// motions that are not finite give NaN.
FL_API double fl_distance_integral(const FlMotion *a, const FlMotion *b, FlTime from, FlTime to);

/// When the integral from `from` on reaches `goal`: the nearest nanosecond. A goal of zero or less
/// is reached at `from`. Errors: FL_NOT_FOUND (and *when = latest) if it is not reached by
/// `latest`; FL_BAD_VALUE if the goal or a motion is not finite.
FL_API FL_NODISCARD FlResult fl_distance_integral_reaches(const FlMotion *a, const FlMotion *b,
                                                          FlTime from, FlTime latest, double goal,
                                                          FlTime *when);

/// The closed form by itself: two points `gap` apart that drift by `drift` in `seconds`, at
/// constant velocity.
FL_API double fl_distance_integral_straight(FlVec3 gap, FlVec3 drift, double seconds);

/// The same for many at once, to the same bits. `out` overlaps none of the others.
FL_API void fl_distance_integral_straight_many(int32_t count, FlVec3Arrays gap, FlVec3Arrays drift,
                                               const double *seconds, double *out);

/// For comparison only: the thesis's appendix B, which takes an arc for its chord over the whole
/// interval (whatever its model, each motion is replaced by the straight line between its two end
/// points).
FL_API double fl_distance_integral_chord(const FlMotion *a, const FlMotion *b, FlTime from,
                                         FlTime to);

// ---------------------------------------------------------------- path

/// One stretch of a path: `motion` holds from `from` until the next piece.
typedef struct FlPiece {
    FlTime from;   ///< At or after the motion's own time; a receiver's piece starts at its arrival.
    uint32_t life; ///< A different life is a cut. FL_LIFE_NONE: nothing is there from here on.
    FlMotion motion;
} FlPiece;

#define FL_LIFE_NONE UINT32_MAX

/// The rule that makes a receiver's view: an update shows from its arrival on, at the time it is
/// stamped with.
FL_API FlPiece fl_piece_placed(const FlMotion *update, uint32_t life, FlTime arrival);

/// Pieces in order of time, in a ring of fixed capacity: the oldest makes room for the newest.
/// Storage is the caller's; `{0}` is not a path, fl_path_init makes one.
typedef struct FlPath {
    FlPiece *pieces;
    int32_t capacity;
    int32_t first;
    int32_t count;
} FlPath;

FL_API void fl_path_init(FlPath *path, FlPiece *storage, int32_t capacity);

/// Adds a piece. One that starts when the last does replaces it.
/// Errors: FL_OUT_OF_ORDER if it starts before the last, FL_BAD_VALUE if it is not finite; both
/// leave the path alone.
FL_API FL_NODISCARD FlResult fl_path_add(FlPath *path, const FlPiece *piece);

/// Ends what is there: from `time` on the path is empty. Errors as fl_path_add.
FL_API FL_NODISCARD FlResult fl_path_end(FlPath *path, FlTime time);

/// Forgets everything before `time`, except the piece that holds at it.
FL_API void fl_path_trim(FlPath *path, FlTime time);

/// The piece that holds at `time`, or NULL. A search by halves.
FL_API const FlPiece *fl_path_at(const FlPath *path, FlTime time);

/// The integral of the distance between two paths over [from, to]. Counted only while both are
/// there and in the same life: nothing is counted across a cut.
FL_API double fl_path_distance_integral(const FlPath *a, const FlPath *b, FlTime from, FlTime to);

// ---------------------------------------------------------------- from samples

/// Makes states from positions alone, for games that have no velocities: velocity from the last two
/// samples, acceleration and turn rate from the last three.
typedef struct FlSampler {
    FlState last;
    FlTime last_span_ns; ///< From the sample before the last to the last.
    int32_t count;       ///< Samples since the last cut, at most 3.
} FlSampler;

FL_API void fl_sampler_cut(FlSampler *sampler);

/// Completes `state` (time, position and facing given) with velocity, acceleration and turn rate.
/// Errors: FL_OUT_OF_ORDER if the time is not after the last; FL_BAD_VALUE if not finite. Both
/// leave the sampler alone.
FL_API FL_NODISCARD FlResult fl_sampler_add(FlSampler *sampler, FlState *state);

/// As above, but keeps the given velocity and derives acceleration and turn rate from velocities.
FL_API FL_NODISCARD FlResult fl_sampler_add_with_velocity(FlSampler *sampler, FlState *state);

// ---------------------------------------------------------------- trigger

/// When an owner must speak. A threshold is switched off by INFINITY (FL_FOREVER for silence).
typedef struct FlTriggerDef {
    double
        distance; ///< Speak when real and exported are further apart than this, at the same time.
    double angle; ///< … or turned further apart than this, in radians.
    FlTime silence_ns; ///< … or when the last update, for whatever reason it was sent, is this old.
} FlTriggerDef;

/// Right for an action game in metres: 0.1 m, 0.05 rad, once a second.
FL_API FlTriggerDef fl_trigger_def_default(void);

typedef enum FlTrigger {
    FL_TRIGGER_NONE,     ///< Nothing to say.
    FL_TRIGGER_FIRST,    ///< Nothing was said yet (since the last cut).
    FL_TRIGGER_DISTANCE, ///< Too far off.
    FL_TRIGGER_ANGLE,    ///< Turned too far off.
    FL_TRIGGER_SILENCE,  ///< Too long ago.
    FL_TRIGGER_REFUSED,  ///< The state is not finite, or older than the last update: ignored.
} FlTrigger;

/// Compares the truth with what was last said, both at the state's time.
FL_API FlTrigger fl_trigger_check(const FlTriggerDef *def, const FlMotion *exported,
                                  const FlState *real);

// ---------------------------------------------------------------- model choice

#define FL_CHOOSER_MODELS 3   ///< linear, circular, quadratic
#define FL_CHOOSER_CONTEXTS 8 ///< accelerating or not, turning or not, steadily or not
#define FL_CHOOSER_TRIALS 2

/// One look back: had each model been sent from this state, how long would it have held?
typedef struct FlChooserTrial {
    bool running;
    int32_t context;
    FlState state;
    FlTime held_ns[FL_CHOOSER_MODELS];
    bool failed[FL_CHOOSER_MODELS];
} FlChooserTrial;

/// Learns, for one entity and while it plays, which model predicts longest in which situation. {0}
/// knows nothing yet. About 900 bytes; no allocation.
typedef struct FlChooser {
    double held_sum[FL_CHOOSER_CONTEXTS][FL_CHOOSER_MODELS]; ///< Seconds, older ones fading.
    double weight[FL_CHOOSER_CONTEXTS];
    double held_sum_all[FL_CHOOSER_MODELS];
    double weight_all;
    FlVec3 acceleration, acceleration_before; ///< Of the last two frames.
    int32_t current; ///< The last pick, which a better one must beat by a margin.
    FlChooserTrial trial[FL_CHOOSER_TRIALS];
} FlChooser;

/// Hands the chooser a frame's truth; it carries on its trials.
FL_API void fl_chooser_observe(FlChooser *chooser, const FlTriggerDef *trigger,
                               const FlState *real);

/// The model for an update from `real`, which was observed last. Starts a trial from it.
FL_API FlModel fl_chooser_pick(FlChooser *chooser, const FlTriggerDef *trigger,
                               const FlState *real);

/// Ends the trials that a cut made pointless; what was learnt stays.
FL_API void fl_chooser_cut(FlChooser *chooser);

// ---------------------------------------------------------------- exporter

typedef struct FlExporterDef {
    FlModel model; ///< One model for every update, or FL_MODEL_AUTO. Not cubic.
    FlTriggerDef trigger;
    FlTime horizon_ns; ///< Given to every motion; FL_FOREVER: none.
    uint32_t cookie;   ///< Set by fl_exporter_def_default(); leave alone.
} FlExporterDef;

/// Right for an action game in metres: automatic choice of model, default thresholds, no horizon.
FL_API FlExporterDef fl_exporter_def_default(void);

/// The owner's side of one entity: hand in the truth every frame, hear when an update is due.
typedef struct FlExporter {
    FlExporterDef def;
    bool started;      ///< Something was said since the last cut.
    FlMotion exported; ///< What was last said.
    FlTime newest;     ///< Of the last state that was taken.
    FlChooser chooser; ///< Used with FL_MODEL_AUTO only.
} FlExporter;

FL_API void fl_exporter_init(FlExporter *exporter, const FlExporterDef *def);

/// Decides whether the truth calls for an update. If so (FIRST, DISTANCE, ANGLE, SILENCE), *motion
/// is the update to send; pass what was really sent (rounded for the wire) to fl_exporter_commit.
/// Otherwise *motion is the last one. Times must not go back; a state that is not finite or goes
/// back is FL_TRIGGER_REFUSED and changes nothing.
FL_API FlTrigger fl_exporter_feed(FlExporter *exporter, const FlState *real, FlMotion *motion);

/// Records what was sent: from now on the truth is compared with this.
FL_API void fl_exporter_commit(FlExporter *exporter, const FlMotion *sent);

/// A respawn or teleport: nothing said so far predicts what comes.
FL_API void fl_exporter_cut(FlExporter *exporter);

// ---------------------------------------------------------------- update

/// The same trajectory told from another time. The same from the later of the two times on; before
/// it, a cubic's curve reaches back instead of the straight line. A cubic past its end becomes
/// linear; a motion past its horizon still, without rates; otherwise what is left of the horizon
/// stays.
FL_API FlMotion fl_motion_rebase(const FlMotion *motion, FlTime time);

/// One entity's motion as it travels. spec/WIRE.md section 4 describes the bits.
typedef struct FlUpdate {
    uint32_t entity; ///< Below the world's entity capacity.
    uint32_t life;   ///< Two low bits travel; a change is a cut.
    FlMotion motion;
} FlUpdate;

#define FL_UPDATE_STEP_NS 250000 ///< An update's time is a whole number of these.
#define FL_UPDATE_BYTES_MAX 141  ///< No update in any world takes more.

/// What receivers will decode from this motion, bit for bit: its time floored to a step (and the
/// motion re-based to it), every value rounded to the world's steps, what the model does not use
/// set to zero. Owners commit this, so that both ends predict alike. If a value lies outside the
/// world, *wide is true: then the update travels in a wide form, which keeps numbers exactly and is
/// worth a counter. Rounding twice changes nothing; *rounded may be *motion. The horizon does not
/// travel: it comes out as FL_FOREVER, and both ends set it from the entity's definition. Errors:
/// FL_BAD_VALUE, and a still motion at the origin, if the motion is not finite (after re-basing),
/// its model is auto, or its time is within 17 s of the ends of FlTime's range.
FL_API FL_NODISCARD FlResult fl_update_round(const FlWorld *world, const FlMotion *motion,
                                             FlMotion *rounded, bool *wide);

/// Writes the update, rounded as above; the writer must be at a byte's start. False if the motion
/// cannot be rounded or the entity is beyond the capacity (and nothing is written), or if there is
/// no room (then the writer has failed, too).
FL_API FL_NODISCARD bool fl_update_encode(FlWriter *writer, const FlWorld *world,
                                          const FlUpdate *update);

/// The bytes of an update.
FL_API int32_t fl_update_bytes(const FlWorld *world, FlModel model, FlFacingKind facing, bool wide);

/// True if a receiver of a packet stamped `stamp` finds this time again: not more than a second
/// after the stamp, less than 15.384 s before it. An older motion is re-based before it is sent.
FL_API bool fl_update_time_fits(FlTime time, FlTime stamp);

/// The time that such a receiver finds: the one that fits and whose number of steps ends in these
/// 16 bits. Errors: FL_BAD_VALUE (within 17 s of the ends of FlTime's range).
FL_API FL_NODISCARD FlResult fl_update_time_find(uint16_t low, FlTime stamp, FlTime *time);

/// X(name, what a decoder found)
#define FL_UPDATE_FAULT_TABLE(X)                                                                   \
    X(OK, "nothing wrong")                                                                         \
    X(TRUNCATED, "ends too early")                                                                 \
    X(BAD_FORM, "no such form")                                                                    \
    X(BAD_ENTITY, "entity beyond the capacity")                                                    \
    X(BAD_TIME, "time beyond the range")                                                           \
    X(BAD_VALUE, "a value past its range, not finite or -0.0; no such rotation or duration")       \
    X(BAD_WIDE, "wide although it would fit")                                                      \
    X(BAD_PADDING, "bits set after the end")

/// Why bytes are no update: one counter for each.
typedef enum FlUpdateFault {
#define FL_UPDATE_FAULT_ROW(name, text) FL_UPDATE_##name,
    FL_UPDATE_FAULT_TABLE(FL_UPDATE_FAULT_ROW)
#undef FL_UPDATE_FAULT_ROW
        FL_UPDATE_FAULT_COUNT
} FlUpdateFault;

/// The fault's name without its prefix ("TRUNCATED"); "UNKNOWN" for what is none.
FL_API const char *fl_update_fault_name(FlUpdateFault fault);

/// Reads one update, in a packet stamped `stamp`; the reader must be at a byte's start. `life` is 0
/// to 3: the session knows the rest. With a fault the update is empty and the reader has failed:
/// nothing after it can be made out. What is decoded without one encodes to the same bytes.
FL_API FL_NODISCARD FlUpdateFault fl_update_decode(FlReader *reader, const FlWorld *world,
                                                   FlTime stamp, FlUpdate *update);

/// Passes over one update. False, and the reader has failed or stands anywhere: fl_update_decode
/// would find a fault other than a time that is out of range.
FL_API FL_NODISCARD bool fl_update_skip(FlReader *reader, const FlWorld *world);

#endif
