// Module `agree`, for the modules above it and the lab: when actions are played (FlLags), and in
// which order (FlOrder). fairlead/agree.h says what lags are.
#ifndef FAIRLEAD_AGREE_LAGS_INNER_H
#define FAIRLEAD_AGREE_LAGS_INNER_H

#include "fairlead/agree.h"

/// The lags of `count` peers (1 to FL_LAGS_PEERS) from their vectors: v[p * count + i] is what p
/// measured of i; v[p * count + p] counts as 0. Fills a[count] and b[count]. Whole nanoseconds and
/// nothing else, so equal vectors give equal lags everywhere. *reference: the peer that they go
/// over; -1: none (FL_LAGS_FREE). With a reference its own A is 0; without, the first peer's.
///
/// REFERENCE takes the highest number for which every other B is above 0, or is 0 and of a higher
/// number; there always is one. BEST_REFERENCE takes the one with which the longest wait for one's
/// own action (A_i + B_i) is shortest, then the shortest mean, then the lowest number. FREE makes
/// the mean of all A_p + B_i as small as it can be; of all that do, it takes the middle ones, so
/// that a small change of the vectors is a small change of the lags.
///
/// Errors: FL_BAD_VALUE: no clocks and delays make such vectors (differences beyond 18 minutes once
/// clocks are taken out, or beyond 36 years).
FL_NODISCARD FlResult fl__lags_solve(FlLagsChoice choice, int32_t count, const FlTime *v, FlTime *a,
                                     FlTime *b, int32_t *reference);

/// Right for players at home: free choice, 5 probes a second, 1 s of provisioning, the longest of
/// 10 s, 2 ms of margin, a round every 10 s (2 ms are enough for 100 ppm), falling by 10 %, at most
/// 2 s. `self` is 0.
FlLagsDef fl__lags_def_default(void);

/// Whether a definition is sound; `error` says which field. Errors: FL_BAD_VALUE.
FL_NODISCARD FlResult fl__lags_def_problem(const FlLagsDef *def, FlError *error);

typedef struct FlLags FlLags;

/// Reserves everything; later calls allocate nothing. Errors: FL_NO_MEMORY, FL_BAD_VALUE.
FL_NODISCARD FlResult fl__lags_create(const FlLagsDef *def, FlTime now, FlLags **lags);

/// NULL is ignored.
void fl__lags_destroy(FlLags *lags);

/// Another peer is there, or no longer. One that comes back is measured anew. We ourselves always
/// are.
void fl__lags_member(FlLags *lags, int32_t peer, bool present, FlTime now);

/// No message is longer.
#define FL_LAGS_MESSAGE_BYTES 544

/// A message for all others.
typedef struct FlLagsMessage {
    const uint8_t *bytes; ///< In the object, valid until the next call on it.
    int32_t count;
} FlLagsMessage;

/// The next message to go out now; call it until it answers FL_NOT_FOUND.
FL_NODISCARD FlResult fl__lags_next(FlLags *lags, FlTime now, FlLagsMessage *message);

/// When fl__lags_next must be called again at the latest.
FlTime fl__lags_deadline(const FlLags *lags, FlTime now);

/// A message from another peer. Whatever its bytes, it is taken or counted.
void fl__lags_receive(FlLags *lags, int32_t from, const void *bytes, int32_t count, FlTime arrival);

/// The play time of an action of ours at `now`; later than that of the one before, unless play time
/// began anew.
/// Errors: FL_WOULD_BLOCK (our first round is not over: no peer could play it yet).
FL_NODISCARD FlResult fl__lags_stamp(FlLags *lags, FlTime now, FlTime *play);

/// An action of another's arrived: it is a measurement, too.
void fl__lags_arrived(FlLags *lags, int32_t from, FlTime stamp, FlTime play, FlTime arrival);

/// What may be played at `now`: everything up to this play time. Never goes back (as `now` does
/// not), unless it began anew. INT64_MIN: nothing yet.
FlTime fl__lags_play_time(const FlLags *lags, FlTime now);

/// The local time at which a play time is reached. FL_FOREVER: not known yet.
FlTime fl__lags_when(const FlLags *lags, FlTime play);

/// Whether a round, or the first one, waits for that peer's part: its probe, vector or READY.
/// *part: a number that changes with every part that it sends; with `same` (all get the same from
/// everybody) only if that is of the members that we know.
bool fl__lags_waits_for(const FlLags *lags, int32_t peer, bool same, uint32_t *part);

FlLagsStatus fl__lags_status(const FlLags *lags, FlTime now);

// ---------------------------------------------------------------- motions
//
// The points of a motion are numbered by its owner, by any time of its own (in sessions: session
// time, as the owner has it). The owner sends how to get from it to play time: an *offset*, which
// moves by ramps, never in steps, also when B does. So a peer knows of which time of each owner's
// its picture is to be, by its own clock and lags alone; and at the same play time all pictures are
// of the same times. An error in the owners' times cancels: points and offsets contain it alike.

/// Motions are shown by lags here: offsets are sent. They are, too, once another peer sends one.
void fl__lags_show_motions(FlLags *lags);

/// By our own time it is `time`. Of what we say then the last goes out `wait_ns` later. Call it
/// often: every frame. Does nothing unless motions are shown by lags, and we send.
void fl__lags_own_time(FlLags *lags, FlTime now, FlTime time, FlTime wait_ns);

/// What a picture is of.
typedef struct FlLagsShown {
    FlTime time;      ///< Of the owner's.
    double rate;      ///< How fast it runs: 1, unless lags are on the move.
    uint32_t version; ///< Another one: it may be another time than a moment ago.
} FlLagsShown;

/// What to show of a peer's (or our own) motions at `now`. False: not known yet.
FL_NODISCARD bool fl__lags_shown(const FlLags *lags, int32_t peer, FlTime now, FlLagsShown *shown);

// ---------------------------------------------------------------- order
//
// Actions in the one order that all peers agree on: by play time, then by the smaller writer, then
// by sequence. What comes after something later was given out is late: it is given out at once,
// marked as late, and a game that keeps a timeline repairs it.

/// One action. A writer numbers its own, one by one.
typedef struct FlOrdered {
    FlTime play;  ///< As its writer stamped it: fl__lags_stamp.
    FlTime stamp; ///< When it was done, on its writer's clock.
    const uint8_t *bytes;
    int32_t count;
    int32_t writer;    ///< Below FL_LAGS_PEERS.
    uint32_t sequence; ///< Its number.
    uint16_t type;     ///< The game's own.
    bool late;         ///< Set when given out: something later was given out before.
} FlOrdered;

typedef struct FlOrderDef {
    int32_t capacity;     ///< Actions that wait at once.
    int32_t action_bytes; ///< Of the longest.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl__order_def_default(); leave alone.
} FlOrderDef;

/// 1024 actions of up to 160 bytes.
FlOrderDef fl__order_def_default(void);

typedef struct FlOrder FlOrder;

/// Reserves everything. Errors: FL_NO_MEMORY, FL_BAD_VALUE.
FL_NODISCARD FlResult fl__order_create(const FlOrderDef *def, FlOrder **order);

/// NULL is ignored.
void fl__order_destroy(FlOrder *order);

/// A writer's numbers start anew: another peer has its number. What waits of the one before stays.
void fl__order_writer(FlOrder *order, int32_t writer);

/// Copies an action in. One that was here before (of its writer's newest 256; older ones count as
/// such) is dropped and counted: FL_OK. Errors: FL_FULL (counted; it was not taken), FL_BAD_VALUE
/// (too long).
FL_NODISCARD FlResult fl__order_put(FlOrder *order, const FlOrdered *action);

/// The next action of a play time up to `play`; its bytes are valid until the next call. INT64_MIN,
/// as fl__lags_play_time answers: nothing yet. Errors: FL_NOT_FOUND.
FL_NODISCARD FlResult fl__order_take(FlOrder *order, FlTime play, FlOrdered *action);

/// Play time of the next; FL_FOREVER: none waits.
FlTime fl__order_next(const FlOrder *order);

// ---------------------------------------------------------------- an action on its way

#define FL_ACTION_HEAD_BYTES 23

/// Writes head and bytes of an action; not its writer, which the carrier knows.
void fl__action_write(FlWriter *writer, const FlOrdered *action);

/// False: no sender writes that. The bytes stay in the reader's. Sets no writer.
FL_NODISCARD bool fl__action_read(FlReader *reader, FlOrdered *action);

#endif
