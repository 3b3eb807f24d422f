// fairlead/show.h: what a receiver shows of an entity, and when.
//
//     update ──▶ hold ──▶ placement ──▶ convergence ──▶ pose
//               when it    where the     how the picture
//               counts     thing is      gets there
//
// Three choices, made per entity and free to combine. *Hold* says as of when things are shown: at
// once (now), or as of Δ ago, so that an update has Δ to arrive and everybody shows the same thing
// at the same time. *Placement* says where a thing is by the updates known so far. *Convergence*
// says how the picture moves from where it was to where the newest update puts it. A cut (respawn,
// teleport) ends all three: nothing is predicted, interpolated or smoothed across it.
//
// Two times. *Session time* is what callers pass. *Shown time* is session time minus Δ: what the
// picture is of. Paths live in shown time; a change of Δ bends the way from one to the other, and
// nothing else.
//
// *By lags* (FL_HOLD_LAGS) no Δ is chosen and no clock is synchronised: a session with actions
// measures lags (fairlead/agree.h), and every point of a motion is shown at its play time. So
// pictures are the same at all peers: whenever one car is at the line, the other is as far behind
// it everywhere. Sessions do that (fl_entity_show); `delta_ns` is how old the picture is until lags
// are known, and `warp` how fast it then gets to them. Whoever uses an FlShow alone passes shown
// times in place of session times.
//
// What was shown is a function of time: poses may be asked for any time, in any order and as often
// as wanted, and asking changes nothing. An update changes poses from its arrival on only.
//
// For a group that holds by the same Δ there is FlDeltaControl, which each peer runs.
//
// Threads: no shared state.
#ifndef FAIRLEAD_SHOW_H
#define FAIRLEAD_SHOW_H

#include "fairlead/motion.h"

// ---------------------------------------------------------------- the three choices

/// X(name, word)
#define FL_HOLD_TABLE(X)                                                                           \
    X(AT_ONCE, "at_once") /* shown on arrival, as of now; Δ is not looked at */                   \
    X(CAUSALITY,                                                                                   \
      "causality") /* shown from generation + Δ on, as of Δ ago; later ones discarded */         \
    X(RECKONED, "reckoned") /* the same, but later ones count from their arrival on */             \
    X(ADAPTIVE, "adaptive") /* reckoned, with a Δ that fl_show_delta may change */                \
    X(LAGS, "lags")         /* reckoned, at play times by measured lags: see below */

typedef enum FlHold {
#define FL_HOLD_ROW(name, word) FL_HOLD_##name,
    FL_HOLD_TABLE(FL_HOLD_ROW)
#undef FL_HOLD_ROW
        FL_HOLD_COUNT
} FlHold;

/// X(name, word)
#define FL_PLACEMENT_TABLE(X)                                                                      \
    X(TIMESTAMPED, "timestamped")   /* by the update's own model from its own time on */           \
    X(SNAP, "snap")                 /* stands where the newest update says */                      \
    X(FIRST_ORDER, "first_order")   /* straight on, velocity from the last two positions */        \
    X(HIGHER_ORDER, "higher_order") /* on the parabola of the last three, for as long as they      \
                                     * span; then straight                                         \
                                     */                                                            \
    X(INTERPOLATED,                                                                                \
      "interpolated") /* a curve to the next update, where known; else as timestamped */

typedef enum FlPlacement {
#define FL_PLACEMENT_ROW(name, word) FL_PLACEMENT_##name,
    FL_PLACEMENT_TABLE(FL_PLACEMENT_ROW)
#undef FL_PLACEMENT_ROW
        FL_PLACEMENT_COUNT
} FlPlacement;

/// X(name, word)
#define FL_CONVERGENCE_TABLE(X)                                                                    \
    X(AT_ONCE, "at_once") /* the picture is where the placement says */                            \
    X(STEPS, "steps")     /* the difference goes in equal steps */                                 \
    X(SMOOTH, "smooth")   /* position and velocity stay continuous; see FlShowDef */

typedef enum FlConvergence {
#define FL_CONVERGENCE_ROW(name, word) FL_CONVERGENCE_##name,
    FL_CONVERGENCE_TABLE(FL_CONVERGENCE_ROW)
#undef FL_CONVERGENCE_ROW
        FL_CONVERGENCE_COUNT
} FlConvergence;

// ---------------------------------------------------------------- settings

#define FL_SHOW_DELTA_MAX_NS FL_MS(2000) ///< No Δ is longer.

/// Smooth convergence promises, between two cuts:
/// - Position and velocity are continuous.
/// - The picture never passes beyond the placed thing, along the line between the two at the
/// update.
/// - Its speed *in the world* is at most `speed_limit`, while the placed motion is straight and no
///   faster than that itself; or what it had when the update came, if that is more. Where the
///   placed thing is faster, and with a `speed_limit` of 0, it is the placed speed plus `catch_up`.
///   So with `speed_limit` = 1.05 × the game's top speed no step is a visible jump (in shown time:
///   while Δ changes, divide by 1 + `warp`). Where the placed motion accelerates, what it gains
///   until the next update comes on top: that is why it is not 1.1, where jumps begin.
/// - It is there after `smooth_ns`, or as much later as that speed needs. Turns take `smooth_ns`.
typedef struct FlShowDef {
    FlHold hold;
    FlTime delta_ns; ///< Δ (with FL_HOLD_ADAPTIVE: to begin with); 0 to FL_SHOW_DELTA_MAX_NS.
    double warp; ///< Shown time runs at most this share fast or slow while Δ changes; above 0, at
                 ///< most 0.5.
    FlPlacement placement;
    FlConvergence convergence;
    int32_t step_count;   ///< Steps: how many; at least 1. The first is taken with the update.
    FlTime step_ns;       ///< Steps: from one to the next; above 0.
    FlTime smooth_ns;     ///< Smooth: how long it takes, if its speed allows; above 0.
    double speed_limit;   ///< Smooth: distance per second, see above; INFINITY: no bound.
    double catch_up;      ///< Smooth: relative to the placed thing, where no limit holds; above 0.
    double snap_distance; ///< Steps and smooth: further off than this, the picture jumps (and
                          ///< `snapped` counts). INFINITY: never.
    uint32_t cookie;      ///< Set by fl_show_def_default(); leave alone.
} FlShowDef;

/// Right for an action game in metres: at once, timestamped, smooth: where the thing most probably
/// is now, and when it turns out to be elsewhere (it was kicked, it hit a wall) the picture glides
/// there within 50 ms, or at 5 m/s more than its own speed (better: set `speed_limit`); beyond 10 m
/// it snaps. For play that must react at once, whatever it looks like: FL_CONVERGENCE_AT_ONCE. The
/// other settings, should these be changed: Δ 100 ms, warp 0.08; 4 steps of 33 ms.
FL_API FlShowDef fl_show_def_default(void);

/// Whether a definition is sound; `error` says which field, its value and its range. Errors:
/// FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_show_def_problem(const FlShowDef *def, FlError *error);

// ---------------------------------------------------------------- named combinations

/// The schemes of racing games, by the names that experiments and programs use; all with Δ = 100
/// ms. In those that hold, own entities are shown by the same settings (fl_show_own); in the
/// others, as they are. X(name, word, hold, placement, convergence)
#define FL_SHOW_SCHEME_TABLE(X)                                                                    \
    X(NC, "nc", AT_ONCE, SNAP, AT_ONCE) /* no control: every sample is sent, shown on arrival */   \
    X(CAUSALITY, "causality", CAUSALITY, SNAP, AT_ONCE) /* every sample, at generation + Δ */     \
    X(DR, "dr", AT_ONCE, FIRST_ORDER, AT_ONCE)          /* sent when the prediction is off */      \
    X(DR_CAUSALITY, "dr+causality", RECKONED, FIRST_ORDER, AT_ONCE) /* the same, as of Δ ago */   \
    X(ADAPTIVE, "adaptive", ADAPTIVE, FIRST_ORDER, AT_ONCE)         /* the same, Δ agreed on */   \
    X(BEST, "best", RECKONED, TIMESTAMPED, SMOOTH)                  /* jumps least */

typedef enum FlShowScheme {
#define FL_SHOW_SCHEME_ROW(name, word, hold, placement, convergence) FL_SHOW_SCHEME_##name,
    FL_SHOW_SCHEME_TABLE(FL_SHOW_SCHEME_ROW)
#undef FL_SHOW_SCHEME_ROW
        FL_SHOW_SCHEME_COUNT
} FlShowScheme;

/// A scheme's settings. Those of `best` are right for a race, in metres, of cars of up to 34 m/s
/// (else set `speed_limit` to 1.05 × the top speed): all players show everything as of 100 ms ago
/// and see the same race, without jumps. For that the own car must be shown as the others see it:
/// hand fl_show_own what was exported, not every frame. Measured against the other combinations:
/// docs/guide/racing_experiment.md.
FL_API FlShowDef fl_show_def_scheme(FlShowScheme scheme);

// ---------------------------------------------------------------- one entity

/// Pieces of what was shown that are kept: a receiver may still ask about the recent past.
#define FL_SHOW_PIECES 8

/// Updates that are kept: three that were shown, the others waiting for their time. If more wait,
/// they are thinned out where they are densest. Enough for Δ = 200 ms at 60 updates a second.
#define FL_SHOW_UPDATES 16

#define FL_SHOW_CHANGES 4 ///< Changes of Δ that are remembered.

/// Private: an update that arrived.
typedef struct FlShowUpdate {
    FlTime stamp;
    uint32_t life;
    FlMotion motion;
} FlShowUpdate;

/// Private: an offset that goes to nothing, smoothly. See src/show/glide.c.
typedef struct FlShowGlide {
    FlVec3 left;    ///< Distance to go, after what `drift` adds.
    FlVec3 drift;   ///< Velocity at the start, fading within drift_s.
    double drift_s; ///< Seconds.
    double ramp_s;  ///< Seconds of speeding up, and of slowing down.
    double glide_s; ///< Seconds until nothing is left.
} FlShowGlide;

/// Private: how the picture differs from a piece of the placed path. See src/show/convergence.c.
typedef struct FlShowBlend {
    FlShowGlide glide;
    FlVec3 turn; ///< Rotation vector from placed to shown, to begin with.
    bool active;
} FlShowBlend;

/// Private: one change of Δ. See src/show/shown_time.c.
typedef struct FlShowChange {
    FlTime from;
    FlTime before_ns, after_ns;
    FlShowGlide glide; ///< From before to after, in nanoseconds along x.
} FlShowChange;

/// One entity as one receiver shows it: about 6.8 KB, no allocation (FL_SHOW_BYTES_MAX at most).
/// The counters may be read, and `placed`: the placed path in shown time, as far as updates have
/// arrived.
typedef struct FlShow {
    FlShowDef def;
    FlPath placed;
    FlPiece storage[FL_SHOW_PIECES];
    FlShowBlend blend[FL_SHOW_PIECES]; ///< Of the piece in the same slot.
    FlShowUpdate update_storage[FL_SHOW_UPDATES];
    FlShowUpdate *updates; ///< In it.
    int32_t update_count;
    FlShowChange changes[FL_SHOW_CHANGES];
    int32_t change_count;
    FlTime ready;  ///< Shown time of the last arrival: up to here `placed` is final.
    FlTime newest; ///< Stamp of the newest update received, discarded ones included.
    uint32_t life; ///< Of that update, unwrapped from the two bits that travel.
    bool started;
    uint32_t overtaken; ///< Updates ignored because a newer one was shown first.
    uint32_t late;      ///< Came after generation + Δ. With causality: discarded.
    uint32_t crowded;   ///< Thinned out because too many waited.
    uint32_t refused;   ///< Not finite, of no model, or of a life that contradicts its neighbours'.
    uint32_t snapped;   ///< Times that the picture jumped because it was too far off.
} FlShow;

#define FL_SHOW_BYTES_MAX 7168

/// With these settings, which must be in their ranges; NULL: the default ones. In place: an FlShow
/// holds a pointer into itself, so it must not be copied afterwards.
FL_API void fl_show_init(FlShow *show, const FlShowDef *def);

/// An update arrived. `stamp` is what it says of its own time; `update->motion` is to be shown from
/// `arrival` on (session time), already re-timed if the receiver goes by another clock. Arrivals
/// are in order; one that seems to go back counts as simultaneous with the last. False, and no
/// effect but a counter's, if it or a newer one was shown before (of two with the same stamp, the
/// one after a cut is newer), if it is late and the hold discards late ones, or is nothing to show.
FL_API bool fl_show_arrive(FlShow *show, const FlUpdate *update, FlTime stamp, FlTime arrival);

/// An own entity, shown as of Δ ago like everybody else's: hand in its truth (every frame, or what
/// was exported); it arrives as it is generated. `model` as in fl_motion_make. False as above.
FL_API bool fl_show_own(FlShow *show, FlModel model, const FlState *truth, uint32_t life);

/// What to draw at `time`; the velocity is the picture's. What was shown in the past stays
/// answered, as far back as it is kept.
/// Errors: FL_NOT_FOUND: nothing has arrived by then, or it is forgotten; FL_BAD_VALUE: the answer
/// is not finite (a motion that left every range). The pose is empty then.
FL_API FL_NODISCARD FlResult fl_show_pose(const FlShow *show, FlTime time, FlPose *pose);

/// The same before convergence: the pose of the placed path, by the rule that ledgers go by
/// (fl_piece_placed). Errors: as fl_show_pose.
FL_API FL_NODISCARD FlResult fl_show_placed(const FlShow *show, FlTime time, FlPose *pose);

/// The life that is shown at `time`, FL_LIFE_NONE if nothing is: a difference is a cut.
FL_API uint32_t fl_show_life(const FlShow *show, FlTime time);

/// The shown time: what the picture at session time `time` is of.
FL_API FlTime fl_show_time(const FlShow *show, FlTime time);

/// Δ changes to `delta_ns`, beginning at session time `from`, which everybody has agreed on and has
/// not come yet. Shown time then runs `warp` fast or slow at most, first and last gently, until the
/// new Δ is reached (a change by d takes d / warp + 0.1 s, at least 0.2 s); the picture does not
/// jump. A change may interrupt another; one with the same `from` as the last replaces it. Schedule
/// no more than three ahead. FL_HOLD_ADAPTIVE only. False, and no effect, if `from` is before the
/// last one's.
FL_API bool fl_show_delta(FlShow *show, FlTime delta_ns, FlTime from);

// ---------------------------------------------------------------- one Δ for a group

#define FL_DELTA_STEP_NS FL_MS(1) ///< Δ is a whole number of these.
#define FL_DELTA_SOURCES 32       ///< Others whose lateness is watched, each for itself.
#define FL_DELTA_SAMPLES 256      ///< Arrivals that are remembered, at most.

/// Everybody in the group has the same period and limits.
typedef struct FlDeltaDef {
    FlTime initial_ns;        ///< What everybody starts with.
    FlTime low_ns, high_ns;   ///< Δ stays within; 0 to FL_SHOW_DELTA_MAX_NS.
    FlTime period_ns;         ///< Δ changes at multiples of this only; longer than any way between
                              ///< two peers takes.
    FlTime interval_ns;       ///< Speak this often; several times a period.
    FlTime memory_ns;         ///< Arrivals older than this say nothing more.
    int32_t late_allowed_ppm; ///< Share of updates that may come late, from each source.
    FlTime margin_ns;         ///< Added to what was measured.
    FlTime fall_ns;           ///< A proposal falls by at most this each period; it rises at once.
    uint32_t cookie;          ///< Set by fl_delta_def_default(); leave alone.
} FlDeltaDef;

/// Right for a race over the Internet: 100 ms to begin with, 20 to 150 ms, agreed in periods of
/// 500 ms, sent every 100 ms; 5 % of the last 4 s may be late; 2 ms to spare, falling 5 ms a
/// period.
FL_API FlDeltaDef fl_delta_def_default(void);

/// Whether a definition is sound; `error` says which field, its value and its range. Errors:
/// FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_delta_def_problem(const FlDeltaDef *def, FlError *error);

#define FL_DELTA_BYTES 5 ///< A message of the group: spec/WIRE.md section 7.10.

/// Δ from a session time on.
typedef struct FlDeltaChange {
    FlTime delta_ns;
    FlTime from;
} FlDeltaChange;

/// Private: one arrival.
typedef struct FlDeltaSample {
    FlTime arrival;
    FlTime lateness_ns;
    int32_t source;
} FlDeltaSample;

enum {
    FL_DELTA_PERIODS = 4 ///< Kept: two before the current one, and one ahead of it.
};

/// What one peer does for a common Δ: measures, proposes, listens, and schedules. About 6.3 KB
/// (FL_DELTA_CONTROL_BYTES_MAX at most), no allocation. Session time is cut into periods. In period
/// k each peer proposes a Δ, and tells the largest proposal it knows of, for two periods; a largest
/// number needs no leader and does not mind repetition. What is known then holds from the start of
/// period k + 3 on, everywhere.
typedef struct FlDeltaControl {
    FlDeltaDef def;
    FlDeltaSample samples[FL_DELTA_SAMPLES];
    int32_t sample_count, sample_next;
    int64_t period;                    ///< Number of the current one.
    int32_t largest[FL_DELTA_PERIODS]; ///< Of periods period - 2 … period + 1; in steps, -1: none.
    int32_t proposal;                  ///< Own, in steps.
    int32_t scheduled;                 ///< What was last scheduled, in steps.
    FlTime speak_at;
    bool started;
    uint32_t stale; ///< Proposals received too late, or from a period that cannot be.
} FlDeltaControl;

#define FL_DELTA_CONTROL_BYTES_MAX 6400

/// Ready for the first arrival.
FL_API void fl_delta_control_init(FlDeltaControl *control, const FlDeltaDef *def);

/// An update from `source` (the caller's number, below FL_DELTA_SOURCES), generated and arrived at
/// these session times.
FL_API void fl_delta_control_arrived(FlDeltaControl *control, int32_t source, FlTime generated,
                                     FlTime arrival);

/// Another peer's message came in. False, and no effect: these bytes are none.
FL_API bool fl_delta_control_receive(FlDeltaControl *control, const void *bytes, int32_t count,
                                     FlTime now);

/// Once a step. True: Δ is to change, *change says how: pass it to every fl_show_delta (own
/// entities too). It begins after `now`, as long as no period passes without this call.
FL_API bool fl_delta_control_update(FlDeltaControl *control, FlTime now, FlDeltaChange *change);

/// True if a message is due: send it to all in the group. Call it after the update.
FL_API bool fl_delta_control_next(FlDeltaControl *control, FlTime now,
                                  uint8_t bytes[FL_DELTA_BYTES]);

// ---------------------------------------------------------------- guided replicas
//
// A thing far from a player's attention needs no true path, only a likely one. Its owner says now
// and then where it will be *ahead* of time, whom it faces and how often it acted; the receiver's
// own bot code walks a *replica* there and replays the actions for show, without effect. When the
// player begins to care, snapshots come beside the guidance; the replica walks to where those put
// it, and within one diameter it is the thing itself from then on.
//
//     FAR ── snapshots come ──▶ NEARING ── within a diameter ──▶ NEAR
//      ▲                           │                              │
//      └──── snapshots cease ──────┴──────────────────────────────┘

/// Counters of actions that travel (shots and jumps, say): the low four bits of each.
#define FL_GUIDANCE_ACTIONS 2

/// Points of a path that a guidance has at most, besides its end.
#define FL_GUIDANCE_POINTS 3

/// No guidance looks further ahead.
#define FL_GUIDANCE_AHEAD_MAX_NS FL_MS(4080)

/// GUIDANCE: where an entity will probably be. spec/WIRE.md section 7.11.
typedef struct FlGuidance {
    uint32_t entity;     ///< Below the world's entity capacity.
    uint32_t life;       ///< Two low bits travel; a change is a cut.
    FlTime time;         ///< Session time of the prediction, a whole number of FL_UPDATE_STEP_NS.
    FlTime ahead_ns;     ///< It is for `time` plus this: 0 to FL_GUIDANCE_AHEAD_MAX_NS.
    FlVec3 position;     ///< Then.
    int32_t point_count; ///< 0: nothing is said of the way there, as published. Else where it is at
                         ///< `time`, and on the way, the times evenly apart:
    FlVec3 points[FL_GUIDANCE_POINTS];
    bool aimed;      ///< It faces `target`, and `yaw` is relative to the direction there.
    uint32_t target; ///< An entity's number; 0 if it aims at none.
    double yaw;      ///< Else from +x, counter-clockwise.
    double pitch;    ///< Up; -pi/2 to pi/2.
    uint8_t actions[FL_GUIDANCE_ACTIONS]; ///< Low bits of running counts, 0 to 15.
} FlGuidance;

typedef enum FlGuideMode {
    FL_GUIDE_FAR,     ///< By guidance.
    FL_GUIDE_NEARING, ///< Walking to where snapshots put it.
    FL_GUIDE_NEAR,    ///< Where snapshots put it; no guidance is wanted.
} FlGuideMode;

/// Where a replica is to walk: to the guidance's end, in time, and on from there at the same pace
/// for a while if no other comes; or, where guidance has points, to where those say that the thing
/// will be in a moment.
typedef struct FlGuideGoal {
    FlVec3 position;
    double seconds; ///< Until it should be there; never negative.
    FlTime time;    ///< Session time of the guidance that says so.
    bool aimed;     ///< As in FlGuidance.
    uint32_t target;
    double yaw, pitch;
} FlGuideGoal;

#endif
