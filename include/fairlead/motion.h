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
// Values that are not finite: triggers and exporters
// refuse such states (FL_TRIGGER_REFUSED); evaluating such a motion gives NaN where it mattered; an
// integral over it is NaN.
//
// Threads: nothing here keeps state of its own; calls on different objects may run at once.
#ifndef FAIRLEAD_MOTION_H
#define FAIRLEAD_MOTION_H

#include "fairlead/wire.h"

// ---------------------------------------------------------------- facing

/// How an entity's orientation is given.
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

/// Facings of the three kinds.
FL_API FlFacing fl_facing_none(void);
FL_API FlFacing fl_facing_yaw(double yaw, double yaw_rate);
FL_API FlFacing fl_facing_free(FlQuat rotation, FlVec3 spin);

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

/// What becomes of a motion beyond the time up to which it is known to hold. The velocity goes on
/// for a time t, then at half, from 3 t on at a quarter, and is over at 5 t; level and vertical
/// velocities have a t each. Accelerating and turning end at once after a time of their own. These
/// are codes of times, so that an update can carry them. {0}: it stops.
/// docs/decisions/0023-effective-age.md says why.
typedef struct FlFade {
    uint8_t trust; ///< How long after an update silence says that it still holds; 0: it never does.
    uint8_t level; ///< t of x and y; 0: there is nothing to fade.
    uint8_t vertical; ///< t of z.
    uint8_t curve;    ///< How long it goes on turning and accelerating.
} FlFade;

#define FL_FADE_TRUSTS 4
#define FL_FADE_CODES 16
#define FL_FADE_NEVER 15 ///< The code of FL_FOREVER.

/// Where something is at any time, as one state and a model say. Meant from `time` on, defined
/// before it too: the formulas run backwards (the cubic is a straight line before its start).
typedef struct FlMotion {
    FlTime time;
    FlTime horizon_ns; ///< Up to this span it is known to hold; FL_FOREVER (what the makers set).
    FlVec3 position;
    FlVec3 velocity;
    FlVec3 acceleration; ///< quadratic and cubic
    FlVec3 jerk;         ///< cubic
    FlTime curve_ns;     ///< cubic: how long the curve lasts
    double turn_rate;    ///< circular
    FlFacing facing;
    FlModel model;
    FlFade fade; ///< Beyond the horizon; of an update: what receivers expect beyond what is known.
} FlMotion;

/// The motion that `state` starts under `model` (any but cubic and auto). Fields the model does not
/// use are zero.
FL_API FlMotion fl_motion_make(FlModel model, const FlState *state);

/// Where it is at a time.
FL_API FlVec3 fl_motion_position(const FlMotion *motion, FlTime time);

/// What to draw.
typedef struct FlPose {
    FlVec3 position;
    FlVec3 velocity;
    double yaw;      ///< in (-pi, pi]
    FlQuat rotation; ///< The same turn; of a yaw, the turn about +z.
} FlPose;

/// Where it is at a time, how fast, and which way it faces.
FL_API FlPose fl_motion_pose(const FlMotion *motion, FlTime time);

// ---------------------------------------------------------------- path

/// One stretch of a path: `motion` holds from `from` until the next piece.
typedef struct FlPiece {
    FlTime from;   ///< At or after the motion's own time; a receiver's piece starts at its arrival.
    uint32_t life; ///< A different life is a cut. FL_LIFE_NONE: nothing is there from here on.
    FlMotion motion;
} FlPiece;

#define FL_LIFE_NONE UINT32_MAX

/// The rule that makes a receiver's view: an update shows from its arrival on, at the time it is
/// stamped with. An update that fades is known to hold up to its delay before the shown time, since
/// the owner would have sent another; for the delay itself it is foreseen by its fade.
FL_API FlPiece fl_piece_placed(const FlMotion *update, uint32_t life, FlTime arrival);

/// Pieces in order of time, in a ring of fixed capacity: the oldest makes room for the newest.
/// Storage is the caller's; `{0}` is not a path, fl_path_init makes one.
typedef struct FlPath {
    FlPiece *pieces;
    int32_t capacity;
    int32_t first;
    int32_t count;
} FlPath;

/// An empty path that keeps so many pieces, in the caller's memory.
FL_API void fl_path_init(FlPath *path, FlPiece *storage, int32_t capacity);

/// Adds a piece. One that starts when the last does replaces it.
/// Errors: FL_OUT_OF_ORDER if it starts before the last, FL_BAD_VALUE if it is not finite; both
/// leave the path alone.
FL_API FL_NODISCARD FlResult fl_path_add(FlPath *path, const FlPiece *piece);

/// The piece that holds at `time`, or NULL. A search by halves.
FL_API const FlPiece *fl_path_at(const FlPath *path, FlTime time);

/// The integral of the distance between two paths over [from, to]. Counted only while both are
/// there and in the same life: nothing is counted across a cut.
FL_API double fl_path_distance_integral(const FlPath *a, const FlPath *b, FlTime from, FlTime to);

// ---------------------------------------------------------------- from samples

/// Makes states from positions alone, for games that have no velocities: velocity from the last two
/// samples, acceleration and turn rate from the last three. {0} has none; set it so after a cut.
typedef struct FlSampler {
    FlState last;
    FlTime last_span_ns; ///< From the sample before the last to the last.
    int32_t count;       ///< Samples since the last cut, at most 3.
} FlSampler;

/// Completes `state` (time, position and facing given) with velocity, acceleration and turn rate.
/// `has_velocity`: the velocity is given too, and the others follow from velocities. Errors:
/// FL_OUT_OF_ORDER if the time is not after the last; FL_BAD_VALUE if not finite. Both leave the
/// sampler alone.
FL_API FL_NODISCARD FlResult fl_sampler_add(FlSampler *sampler, FlState *state, bool has_velocity);

// ---------------------------------------------------------------- trigger

/// When an owner must speak. A threshold is switched off by INFINITY (FL_FOREVER for silence).
typedef struct FlTriggerDef {
    double
        distance; ///< Speak when real and exported are further apart than this, at the same time.
    double angle; ///< … or turned further apart than this, in radians.
    FlTime silence_ns; ///< … or when the last update, for whatever reason it was sent, is this old.
} FlTriggerDef;

typedef enum FlTrigger {
    FL_TRIGGER_NONE,     ///< Nothing to say.
    FL_TRIGGER_FIRST,    ///< Nothing was said yet (since the last cut).
    FL_TRIGGER_DISTANCE, ///< Too far off.
    FL_TRIGGER_ANGLE,    ///< Turned too far off.
    FL_TRIGGER_SILENCE,  ///< Too long ago.
    FL_TRIGGER_REFUSED,  ///< The state is not finite, or older than the last update: ignored.
} FlTrigger;

// ---------------------------------------------------------------- model choice

#define FL_CHOOSER_MODELS 3   ///< linear, circular, quadratic
#define FL_CHOOSER_CONTEXTS 8 ///< accelerating or not, turning or not, steadily or not
#define FL_CHOOSER_TRIALS 4

/// One look back: had each model been sent from this state, how well would it have held?
typedef struct FlChooserTrial {
    bool running;
    int32_t context;
    FlState state;
    FlTime age_ns;
    double worth_s[FL_CHOOSER_MODELS]; ///< How long it held; being off counts against it.
    bool failed[FL_CHOOSER_MODELS];
} FlChooserTrial;

/// What trials came to, older ones fading.
typedef struct FlChooserSums {
    double weight; ///< Trials.
    double worth[FL_CHOOSER_MODELS];
    double lead_squared[FL_CHOOSER_MODELS]; ///< Of each model over the next one.
} FlChooserSums;

/// Learns, for one entity and while it plays, which model predicts best in which situation. {0}
/// knows nothing yet. About 1.4 KB; no allocation.
typedef struct FlChooser {
    FlChooserSums in[FL_CHOOSER_CONTEXTS], all;
    FlVec3 acceleration, acceleration_before; ///< Of the last two frames.
    int32_t current;                          ///< The last pick, which must be beaten by a margin.
    FlChooserTrial trial[FL_CHOOSER_TRIALS];
} FlChooser;

// ---------------------------------------------------------------- learning how motions fade

#define FL_FADER_TRIALS 8
#define FL_FADER_AGES 4
#define FL_FADER_CONTEXTS 8 ///< slow or not, braking or not, accelerating steadily or not
#define FL_FADER_MODELS 3   ///< linear, quadratic, circular
#define FL_FADER_CODES 13   ///< From code 3 on.

/// One look ahead: a state, and which age it will be compared with the truth at next.
typedef struct FlFaderTrial {
    FlTime time;
    FlVec3 position, velocity, acceleration;
    double turn_rate;
    int32_t context;
    int32_t next;
    uint8_t models; ///< Bits: which of them it says something about.
    bool running;
} FlFaderTrial;

/// How far off each code of one model would have been, by distances that count less at great ages;
/// older ones fading.
typedef struct FlFaderErrors {
    float level[FL_FADER_CODES], vertical[FL_FADER_CODES];
    float curve[FL_FADER_CODES]; ///< [0]: none at all. Not of linear.
    float unfaded;
    float weight; ///< Comparisons; 0: nothing is known.
} FlFaderErrors;

/// What was learnt of things of one kind: how far they get after they were last known of. {0} knows
/// nothing yet, and guesses. 4.5 KB, the caller's; shared by exporters of one thread.
typedef struct FlExperience {
    FlFaderErrors in[FL_FADER_CONTEXTS][FL_FADER_MODELS];
    FlFaderErrors all[FL_FADER_MODELS];
    float straight[FL_FADER_AGES]; ///< Mean error of going straight on, by age,
    float compared;                ///< over so many comparisons, which stop being counted.
} FlExperience;

/// One entity's part in learning. No allocation.
typedef struct FlFader {
    FlExperience *experience;     ///< NULL: nothing is learnt, and nothing fades.
    FlTime age_ns[FL_FADER_AGES]; ///< At which it is judged.
    FlTime started;               ///< Of the last trial.
    double top_speed;
    int32_t context;                          ///< Of the last update.
    bool course_next;                         ///< The next trial is one of a course.
    FlVec3 acceleration, acceleration_before; ///< Of the last two frames.
    FlFaderTrial trial[FL_FADER_TRIALS];
} FlFader;

// ---------------------------------------------------------------- exporter

typedef struct FlExporterDef {
    FlModel model; ///< One model for every update, or FL_MODEL_AUTO. Not cubic.
    FlTriggerDef trigger;
    FlTime horizon_ns; ///< Given to every motion; FL_FOREVER: none.
    bool paced;        ///< Updates go out when there are bytes for them, not when they are due: so
                       ///< silence says nothing, and the model is chosen by its error alone.
    FlExperience *experience; ///< Of its kind; with FL_MODEL_AUTO only. NULL: nothing fades.
    uint32_t cookie;          ///< Set by fl_exporter_def_default(); leave alone.
} FlExporterDef;

/// Right for an action game in metres: automatic choice of model, default thresholds, no horizon,
/// no experience.
FL_API FlExporterDef fl_exporter_def_default(void);

/// Whether a definition is sound; `error` says which field, its value and its range. Errors:
/// FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_exporter_def_problem(const FlExporterDef *def, FlError *error);

/// The owner's side of one entity: hand in the truth every frame, hear when an update is due.
typedef struct FlExporter {
    FlExporterDef def;
    bool started;      ///< Something was said since the last cut.
    FlMotion exported; ///< What was last said.
    FlTime newest;     ///< Of the last state that was taken.
    FlChooser chooser; ///< Used with FL_MODEL_AUTO only,
    FlFader fader;     ///< and so is this.
} FlExporter;

/// Ready for the first state.
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

/// Reads one update, in a packet stamped `stamp`; the reader must be at a byte's start. `life` is 0
/// to 3: the session knows the rest. With a fault the update is empty and the reader has failed:
/// nothing after it can be made out. What is decoded without one encodes to the same bytes.
FL_API FL_NODISCARD FlUpdateFault fl_update_decode(FlReader *reader, const FlWorld *world,
                                                   FlTime stamp, FlUpdate *update);

#endif
