// Private to room `agree`: what its files share.
//
//   lags.c, lags_round.c when an action is played: measuring, stamping; agreeing on lags
//   lags_solve.c         lags from vectors
//   lags_message.c       what peers say about them, and actions on their way
//   order.c              actions in their order
//   timeline.c           players, inputs, what is asked of a timeline
//   timeline_play.c      playing, going back, settling
//   timeline_compare.c   hashes
//   timeline_message.c   its messages
//   calls.c              both ends' tables of calls: making them, figures
//   call_asked.c         the caller's side
//   call_heard.c         the owner's side
//   call_messages.c      what they say to each other
//   call_kinds.c         arguments of the well-known kinds
//   call_hit.c           whether a hit can be
#ifndef FAIRLEAD_AGREE_PRIVATE_H
#define FAIRLEAD_AGREE_PRIVATE_H

#include "fairlead/agree.h"
#include "fairlead/call.h"
#include "fairlead/timeline.h"

// ---------------------------------------------------------------- lags.c, lags_round.c

#define FL__LAGS_BUCKETS 8

/// The longest of the last `window_ns`, in an eighth of it each.
typedef struct Fl__LagsWindow {
    int64_t bucket[FL__LAGS_BUCKETS]; // which eighth, counted from the clock's zero
    FlTime longest[FL__LAGS_BUCKETS];
    int64_t newest; // bucket
    uint64_t count; // of measurements; 0: none yet
} Fl__LagsWindow;

/// Whether a peer plays actions already.
typedef enum Fl__LagsPlays {
    FL__LAGS_NOT = 0,
    FL__LAGS_TOGETHER = 1,
    FL__LAGS_ALONE = 2, // its own
} Fl__LagsPlays;

/// What a peer tells in a round.
typedef struct Fl__LagsVector {
    uint32_t round; // 0: nothing yet
    bool asks;      // told again, since something of the round has not come
    Fl__LagsPlays plays;
    uint64_t members;
    FlTime a;                // if it plays
    FlTime v[FL_LAGS_PEERS]; // by number
} Fl__LagsVector;

/// A value on its way to another.
typedef struct Fl__LagsRamp {
    FlTime from, to;
    FlTime at; // when it was `from`
} Fl__LagsRamp;

typedef struct Fl__LagsPeer {
    FlTime since; // it is there
    Fl__LagsWindow window;
    uint32_t ready_round;
    FlTime ready_stamp; // on its clock: from here on its values are those of the round, or above
} Fl__LagsPeer;

struct FlLags {
    FlLagsDef def;
    uint64_t members; // bits, our own included
    Fl__LagsPeer peers[FL_LAGS_PEERS];
    Fl__LagsVector vectors[FL_LAGS_PEERS]; // the newest of each, ours included

    uint32_t round_heard;   // the newest that anybody spoke of
    uint32_t round_solved;  // 0: none
    uint32_t round_settled; // all said READY
    FlTime begun_at;        // our newest vector
    FlTime solved_at;
    uint64_t solved_members; // of the newest round solved, with
    FlTime solved_a;         // our A, and
    FlTime solved_b[FL_LAGS_PEERS];
    FlTime solved_mean, solved_longest;
    int32_t solved_reference;

    Fl__LagsRamp a, b; // in force
    FlTime fall_at;    // when what was sent before the last READY has arrived; FL_FOREVER: no fall
    FlTime probe_next;
    FlTime again_at; // our part of the round is told again, if that is wanted
    FlTime stamped;  // the last play time given
    // flags
    bool sends, plays;
    bool together; // the lags in force are not ours alone
    bool need;     // a round: something came too near to its time, or somebody is gone
    bool vector_due, ready_due;
    bool repeats; // what is due was told before
    bool asked;   // by somebody who lacks something of the round

    uint64_t count[FL_LAGS_COUNTS];
    uint8_t message[FL_LAGS_MESSAGE_BYTES];
};

static inline bool fl__lags_has(uint64_t members, int32_t peer)
{
    return (members >> peer & 1u) != 0;
}

/// What a value is at a time.
FlTime fl__lags_ramp_at(const Fl__LagsRamp *ramp, FlTime now, int32_t slew_ppm);

/// Notes a measurement, and the longest within the window. The latter: there is one.
void fl__lags_measure(FlLags *lags, int32_t peer, FlTime took, FlTime arrival);
FlTime fl__lags_longest(const FlLags *lags, int32_t peer, FlTime now);

/// Does whatever is due in rounds; and when something will be.
void fl__lags_update(FlLags *lags, FlTime now);
FlTime fl__lags_begin_due(const FlLags *lags);

// ---------------------------------------------------------------- lags_message.c

typedef enum Fl__LagsKind {
    FL__LAGS_PROBE = 1,
    FL__LAGS_VECTOR = 2,
    FL__LAGS_READY = 3,
} Fl__LagsKind;

typedef struct Fl__LagsSaid {
    Fl__LagsKind kind;
    bool asks;             // READY: as in a vector
    uint32_t round;        // READY
    FlTime stamp;          // PROBE, READY
    Fl__LagsVector vector; // VECTOR
} Fl__LagsSaid;

void fl__lags_write(FlWriter *writer, int32_t self, const Fl__LagsSaid *said);

/// False: no sender writes that.
bool fl__lags_read(FlReader *reader, int32_t from, Fl__LagsSaid *said);

// ---------------------------------------------------------------- timeline.c, timeline_play.c

/// A player's time: ticks from <= t < until count.
typedef struct FlPlayer {
    int64_t from, until; // from FL_TIMELINE_NEVER: nobody
    int64_t known;       // inputs up to here are all here
    int64_t next_from;   // somebody else has the number from here on; FL_TIMELINE_NEVER: nobody
    int64_t counted;     // NONE: the newest input that was taken
} FlPlayer;

/// Rings are by tick, `history_ticks` long; what lies in them is of ticks around the present.
struct FlTimeline {
    FlTimelineDef def;
    FlTimelineFigures figures;
    FlDesync desync;
    int64_t origin;     // the state it began with
    int64_t at;         // the state that the game is in
    int64_t reached;    // ticks before this have been played once; at < reached: a repair is on
    int64_t target;     // the present that was asked for
    int64_t wrong;      // the first tick played whose inputs are now known to be others
    int64_t shown_tick; // of `shown`
    int64_t settled_tick;
    int32_t part_next; // of a state that comes in parts: the next byte
    bool playing;

    FlPlayer *players;
    uint64_t *known_bits; // [tick]: whose input is known; cleared when the tick is settled
    uint64_t *used_bits;  // [tick]: who played
    uint8_t *given;       // [tick][player][input_bytes]: real inputs
    uint8_t *used;        // likewise: what was played with
    uint64_t *run_hash;   // [tick]: stress: of the state after it
    uint64_t *shown_hash; // [tick]: of the state as it was shown,
    int64_t *shown_at;    // if it is this one
    uint16_t *hash;       // [tick]: of the settled state
    uint64_t *heard_bits; // [tick]: whose hash waits for ours
    uint16_t *heard;      // [tick][player]
    uint8_t *saves;       // [tick / save_every][state_bytes]
    uint8_t *live;        // where the game's state is, unless it keeps it itself
    uint8_t *shown, *settled, *aside;
    uint8_t *repair; // where a repair was left, of a game that keeps its state itself
};

static inline int64_t fl__timeline_slot(const FlTimeline *timeline, int64_t tick)
{
    return tick & (timeline->def.history_ticks - 1);
}

static inline uint8_t *fl__timeline_given(const FlTimeline *t, int32_t player, int64_t tick)
{
    int64_t at = fl__timeline_slot(t, tick) * t->def.player_capacity + player;
    return &t->given[at * t->def.input_bytes];
}

static inline uint8_t *fl__timeline_used(const FlTimeline *t, int32_t player, int64_t tick)
{
    int64_t at = fl__timeline_slot(t, tick) * t->def.player_capacity + player;
    return &t->used[at * t->def.input_bytes];
}

/// States up to this one are as good as what is known.
static inline int64_t fl__timeline_sound(const FlTimeline *timeline)
{
    return timeline->wrong < timeline->at ? timeline->wrong : timeline->at;
}

/// 64 bits of a saved state.
uint64_t fl__timeline_hash_of(const FlTimeline *timeline, const void *bytes);

/// State `settled_tick` is in `settled`: notes its hash, compares, tells the game.
void fl__timeline_settled(FlTimeline *timeline);

// ---------------------------------------------------------------- calls.c

typedef enum AskedState { ASKED_FREE, ASKED_WAITING, ASKED_DONE } AskedState;

/// A call of ours.
typedef struct Asked {
    AskedState state;
    uint16_t version;  // of the thing's state when it was made
    FlTime made, next; // when it goes out again
    int64_t order;     // done: results come in this order
    int32_t predicted_count;
    uint8_t predicted[FL_CALL_BYTES];
    FlCallMessage message;
    FlCallResult result;
} Asked;

typedef enum HeardState {
    HEARD_FREE,
    HEARD_WAITING, // for the game
    HEARD_TAKEN,   // and not decided
    HEARD_REFUSED,
    HEARD_APPLIED,
} HeardState;

/// A call to us, by which it is known again: small, since all are looked through.
typedef struct HeardKey {
    FlCallKey key;
    uint8_t state; // HeardState
    uint16_t number;
    FlTime until;
} HeardKey;

#define CALLS_BUCKETS 160 // of latencies: eight to a doubling, from 0.25 ms on

struct FlCalls {
    FlCallsDef def;
    Asked *asked;
    HeardKey *heard;
    FlCallMessage *messages; // of `heard`
    int64_t *order;          // of `heard`: in which they came
    int32_t asked_waiting;   // of `asked`, those without an answer
    int64_t asked_order, heard_order;
    uint32_t serial; // the last that was given
    FlTime latency_max;
    uint64_t count[FL_CALLS_COUNTS];
    uint64_t latency[CALLS_BUCKETS];
};

static inline bool fl__call_same(FlCallKey a, FlCallKey b)
{
    return a.serial == b.serial && a.from == b.from && a.of == b.of;
}

void fl__calls_latency(FlCalls *calls, FlTime latency);

// Times of calls: session time in 0.25 ms, 40 bits of it (8.7 years).

#define FL__CALL_STEP FL_US(250)

static inline void fl__call_time_put(FlWriter *w, FlTime time)
{
    FlTime steps = time > 0 ? time / FL__CALL_STEP : 0;
    fl_writer_put(w, (uint64_t)steps & ((UINT64_C(1) << 40) - 1), 40);
}

static inline FlTime fl__call_time_take(FlReader *r)
{
    return (FlTime)fl_reader_take(r, 40) * FL__CALL_STEP;
}

#endif
