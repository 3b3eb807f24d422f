// Private to module `agree`: what its files share.
//
//   lags.c, lags_round.c when an action is played: measuring, stamping; agreeing on lags
//   lags_ramp.c          lags that move; lags_shown.c: which point of a motion is shown
//   lags_solve.c         lags from vectors
//   lags_message.c       messages about lags, and actions
//   order.c              actions in their order
//   timeline.c           players, inputs, queries
//   timeline_play.c      playing, rolling back, settling
//   timeline_compare.c   hashes
//   timeline_message.c   its messages
//   calls.c              both ends' tables of calls: making them, figures
//   call_asked.c         the caller's side
//   call_received.c      the owner's side
//   call_messages.c      their messages
//   call_kinds.c         arguments of the well-known kinds
//   call_hit.c           whether a hit is possible
#ifndef FAIRLEAD_AGREE_PRIVATE_H
#define FAIRLEAD_AGREE_PRIVATE_H

#include "fairlead/agree.h"
#include "fairlead/call.h"
#include "fairlead/timeline.h"

#include "agree/agree.h"
#include "agree/call.h"
#include "agree/timeline.h"
#include "base/private.h"

#include "lags_private.h"

// ---------------------------------------------------------------- timeline.c, timeline_play.c

/// A player's time: ticks from <= t < until count.
typedef struct FlPlayer {
    int64_t from, until; // from FL_TIMELINE_NEVER: no player
    int64_t known;       // all inputs up to here are known
    int64_t next_from;   // another has the number from here on; FL_TIMELINE_NEVER: none
    int64_t counted;     // NONE: the newest input that was taken
} FlPlayer;

/// Rings are by tick, `history_ticks` long; what lies in them is of ticks around the present.
struct FlTimeline {
    FlTimelineDef def;
    FlTimelineFigures figures;
    int64_t origin;     // the state it began with
    int64_t at;         // the state that the game is in
    int64_t reached;    // ticks before this were played once; at < reached: a repair is on
    int64_t target;     // the present that was asked for
    int64_t wrong;      // the first tick played whose inputs are now known to be others
    int64_t shown_tick; // of `shown`
    int64_t settled_tick;
    int32_t lag_ticks; // in force
    int32_t part_next; // of a state that comes in parts: the next byte
    bool playing;
    bool follows; // a server's states are final, and nothing else is

    FlPlayer *players;
    uint64_t *known_bits;    // [tick]: players whose input is known; cleared when it is settled
    uint64_t *used_bits;     // [tick]: players that played
    uint8_t *given;          // [tick][player][input_bytes]: true inputs
    uint8_t *used;           // likewise: what was played with
    uint64_t *run_hash;      // [tick]: stress: of the state after it
    uint64_t *shown_hash;    // [tick]: of the state as it was shown,
    int64_t *shown_at;       // if it is this one
    uint16_t *hash;          // [tick]: of the settled state
    uint64_t *received_bits; // [tick]: players whose hash waits for ours
    uint16_t *received_hash; // [tick][player]
    uint8_t *saves;          // [tick / save_every][state_bytes]
    uint8_t *live;           // where the game's state is, unless it keeps it itself
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

/// States up to this one were played with all inputs that are known.
static inline int64_t fl__timeline_sound(const FlTimeline *timeline)
{
    return timeline->wrong < timeline->at ? timeline->wrong : timeline->at;
}

/// 64 bits of a saved state.
uint64_t fl__timeline_hash_of(const FlTimeline *timeline, const void *bytes);

/// State `settled_tick` is in `settled`: notes its hash, compares, calls the game.
void fl__timeline_settled(FlTimeline *timeline);

// ---------------------------------------------------------------- calls.c

typedef enum AskedState { ASKED_FREE, ASKED_WAITING, ASKED_DONE } AskedState;

/// A call of ours.
typedef struct Asked {
    AskedState state;
    uint16_t version;  // of the entity's state when it was made
    FlTime made, next; // when it goes out again
    int64_t order;     // done: results come in this order
    int32_t predicted_count;
    uint8_t predicted[FL_CALL_BYTES];
    FlCallMessage message;
    FlCallResult result;
} Asked;

typedef enum ReceivedState {
    RECEIVED_FREE,
    RECEIVED_WAITING, // for the game
    RECEIVED_TAKEN,   // and not decided
    RECEIVED_REFUSED,
    RECEIVED_APPLIED,
} ReceivedState;

/// A call to us, as it is recognised: small, since all are searched.
typedef struct ReceivedKey {
    FlCallKey key;
    uint8_t state; // ReceivedState
    uint16_t number;
    FlTime until;
} ReceivedKey;

#define CALLS_BUCKETS 160 // of latencies: eight to a doubling, from 0.25 ms on

struct FlCalls {
    FlCallsDef def;
    Asked *asked;
    ReceivedKey *received;
    FlCallMessage *messages; // of `received`
    int64_t *order;          // of `received`: in which they came
    int32_t asked_waiting;   // of `asked`, those without an answer
    int64_t asked_order, received_order;
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
