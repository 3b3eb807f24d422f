// fairlead/predict.h: a server that decides: prediction and reconciliation.
//
// The host simulates; players send inputs. A player does not wait for the host: it plays its own
// inputs at once, ahead of the host, and repairs what turns out otherwise.
//
//     client   input of tick t ──▶ step ──▶ shown in the same frame
//                     │ sent again until it has arrived
//     host            └──▶ tick t is due: step ──▶ state t + 1, now and then to its player
//     client               state t + 1 as played here? yes: nothing happens.
//                          no: from there on played again; what is shown glides over
//
// State number t is the state before tick t, as in fairlead/timeline.h, and the step function is a
// timeline's: of the player itself, whose input is inputs->of[0]. The same function runs at the
// host and at the player. A client plays a tick so much before the host that its input arrives in
// time: that *lead* follows the network, by what the host reports of arrivals.
//
// A whole game needs five calls: fl_session_predict at all; fl_predict_player at the host; and
// every frame
//
//     while (fl_predict_tick(session, now, &keys)) { }     // a client
//     draw(fl_predict_pose(session, now, &pose));
//
//     while (fl_predict_tick(session, now, NULL)) {        // the host: a tick of all players
//         ... shots, hits; fl_predict_state of each player -> fl_entity_set: what others see,
//         with its velocity, and at the time of its tick:
//         .time = fl_session_local_time(session, tick * FL_SEC(1) / TICK_HZ)
//     }
//
// The session needs `input_bytes` and `inputs_to_host`; a client's budget does not fall below
// 16 KiB/s then, since late inputs are worth nothing. Others see a player as any other entity:
// it is the host's. docs/guide/authority.md; examples/09_authoritative.c.
//
// Threads: as the session.
#ifndef FAIRLEAD_PREDICT_H
#define FAIRLEAD_PREDICT_H

#include "fairlead/fairlead.h"
#include "fairlead/timeline.h"

#define FL_PREDICT_STATE_BYTES 1000 ///< A player's state travels in one packet.

typedef struct FlPredictDef {
    /// Plays one tick of one player: `state` is its own, inputs->of[0] its input (any bytes that a
    /// client may send). As FlTimelineGame.step_fn: the same state and input give the same state.
    /// It changes nothing in the session; at a client it plays ticks more than once.
    void (*step_fn)(void *ctx, void *state, int64_t tick, const FlTimelineInputs *inputs);
    /// Where a state has its player. NULL: nothing is blended, and every other state counts as a
    /// correction.
    void (*pose_fn)(void *ctx, const void *state, FlPose *pose);
    void *ctx;
    int32_t state_bytes;   ///< At most FL_PREDICT_STATE_BYTES. No bytes in it that mean nothing.
    int32_t tick_hz;       ///< Ticks a second, of session time; the same at all.
    int32_t send_hz;       ///< Host: states a second to each player.
    int32_t history_ticks; ///< Client: how far it plays on without a word from the host, and how
                           ///< many ticks are played again at most. A power of two, 16 to 4096.
    int32_t repeat_ticks;  ///< Host: a missing input is taken to be the last one for so many ticks,
                           ///< and zeros from then on.
    FlTime lead_max_ns;    ///< Client: it plays at most so much before the host.
    FlTime blend_ns;       ///< Client: a correction is out of sight after this,
    double snap;           ///< unless it is longer than this: then it is a jump (a respawn).
    double correction;     ///< Corrections above this are counted (FlPredictStats).
    uint32_t cookie;       ///< Set by fl_predict_def_default(); leave alone.
} FlPredictDef;

/// 60 ticks and 20 states a second, 256 ticks of history, 12 repeated; 0.5 s of lead at most;
/// blended over 0.2 s up to 5 m; counted above 1 cm. Set step_fn, pose_fn and state_bytes.
FL_API FlPredictDef fl_predict_def_default(void);

/// Whether a definition is sound; `error` says which field, its value and its range. Errors:
/// FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_predict_def_problem(const FlPredictDef *def, FlError *error);

/// From now on the host decides; NULL: no longer. Reserves everything. Its definition is the same
/// at all. Errors: FL_BAD_VALUE (a setting out of its range, a session without `input_bytes` and
/// `inputs_to_host`, or with a timeline); FL_NO_MEMORY.
FL_API FL_NODISCARD FlResult fl_session_predict(FlSession *session, const FlPredictDef *def);

/// Host: a peer plays from now on with this state, or goes on with it (a hit, a respawn, a door
/// that pushes); NULL: it plays no longer. Ourselves, too. Whoever leaves plays no longer.
/// Errors: FL_STALE_ID; FL_BAD_VALUE (not the host); FL_NOT_FOUND (no fl_session_predict).
FL_API FL_NODISCARD FlResult fl_predict_player(FlSession *session, FlPeerId peer,
                                               const void *state);

/// Plays the next tick, if it is due. False: none is (or the host has not let us play yet).
/// A client: `input` is ours for this tick, and is sent. The host: every player's tick, with the
/// input that came, or what stands for one that did not; `input` is its own player's (NULL: none).
/// After a pause ticks are left out: at a client of more than a second, at the host of more than
/// history_ticks.
FL_API bool fl_predict_tick(FlSession *session, FlTime now, const void *input);

/// The newest state of a player and its number: at a client, its own, as predicted; at the host,
/// anyone's. NULL: does not play. `tick` may be NULL. Valid until the next call on the session.
FL_API const void *fl_predict_state(const FlSession *session, FlPeerId peer, int64_t *tick);

/// Client: the newest state that the host has sent. NULL: none yet. `tick` may be NULL.
FL_API const void *fl_predict_confirmed(const FlSession *session, int64_t *tick);

/// Client: where its player is to be drawn now: between two ticks, and without jumps. False: it
/// does not play, or there is no pose_fn.
FL_API bool fl_predict_pose(const FlSession *session, FlTime now, FlPose *pose);

/// Where an entity stands at a tick, by all that is known now: for step functions that look at
/// others. Updates count from their own time on, so host and clients agree as soon as a client has
/// them: when it plays a tick again, newer ones have come. False: not known.
FL_API bool fl_predict_entity(const FlSession *session, int64_t tick, FlEntityId id, FlPose *pose);

typedef struct FlPredictStats {
    FlTime lead_ns;        ///< Client: it plays this much before the host.
    FlTime early_ns;       ///< How early the latest input of the last second was; negative: late.
                           ///< Client: as reported. FL_FOREVER: not known.
    uint64_t ticks;        ///< Played, for the first time;
    uint64_t replayed;     ///< again.
    uint64_t missed;       ///< Ticks that the host played without their input.
    uint64_t confirmed;    ///< Client: states of the host that came, newer than those before.
    uint64_t differing;    ///< Of these: not as played here,
    uint64_t corrections;  ///< moving the player by more than FlPredictDef.correction,
    uint64_t decided;      ///< of these: though no input was missed: the host's game changed it.
    double correction_sum; ///< Of `corrections`: metres,
    double correction_max; ///< and the longest.
    uint64_t waits;        ///< Client: times that no tick was played, since history_ticks were used
                           ///< up: the host is silent.
} FlPredictStats;

/// Of ourselves at a client; of any player at the host. Zeros: does not play.
FL_API FlPredictStats fl_predict_stats(const FlSession *session, FlPeerId peer);

#endif
