// fairlead/send.h: who gets which update when, and what each receiver has seen.
//
// One *ledger* serves one distributor: it keeps, for every entity, the exported path once, and for
// every (entity, receiver) what was sent, what arrived when, the placed path that follows from it
// and the error it had. A *policy* is asked at every trigger of an entity (and when a time it asked
// for has come) and marks receivers. Packing, budgets and acknowledging are not its business; each
// policy is a small file, in one table (src/send/send.c).
//
//     exporter ── fl_ledger_export ──▶ path, policy ──▶ due ── fl_ledger_due ──▶ packets
//     acks with arrival times ── fl_ledger_arrived ──▶ placed path, CEE ──▶ policy, reports
//
// Entities and receivers are small numbers of the caller's (its slots). All times are session time.
//
// Threads: ledgers share nothing; one thread at a time per ledger.
#ifndef FAIRLEAD_SEND_H
#define FAIRLEAD_SEND_H

#include "fairlead/motion.h"

// ---------------------------------------------------------------- policies

/// X(name, word)
#define FL_SEND_TABLE(X)                                                                           \
    X(BASE, "base")           /* every k-th update to everybody, at once */                        \
    X(SCHEDULE1, "schedule1") /* hold updates back until errors are equal; drop the rest */        \
    X(SCHEDULE2, "schedule2") /* the same, but what is held back goes at the next update */        \
    X(PROBABILISTIC, "probabilistic") /* a budget, spent by chance in proportion to need */        \
    X(DETERMINISTIC, "deterministic") /* the same budget, spent by a timetable */                  \
    X(EQUAL, "equal")                 /* ours: the most fair or most accurate for a budget */      \
    X(FOCUS, "focus")                 /* bytes to those who look, the rest in turn */              \
    X(FOCUS_EQUAL, "focus+equal")     /* ours: bytes where error is looked at most */

typedef enum FlSendPolicy {
#define FL_SEND_ROW(name, word) FL_SEND_##name,
    FL_SEND_TABLE(FL_SEND_ROW)
#undef FL_SEND_ROW
        FL_SEND_POLICIES ///< How many there are.
} FlSendPolicy;

/// Variants of a policy, as published.
typedef enum FlSendForm {
    FL_FORM_MAIN,   ///< schedule1: as of 2005; probabilistic: as in the thesis; else the only one.
    FL_FORM_THESIS, ///< schedule1 of the thesis: compares at the trigger, as if nothing took time.
    FL_FORM_2005,   ///< probabilistic of 2005: a fixed number of receivers at each update.
    FL_FORM_FIXED,  ///< probabilistic with the same chance for everybody, for comparison.
    FL_FORM_APPENDIX, ///< probabilistic, deterministic as in the thesis's appendix B: time counts
                      ///< from when the newest update known to have arrived was made.
} FlSendForm;

/// How much three needs count, in whole parts: the error of all time, the error since the update
/// in use was made, and the time since something was sent. {1, 0, 0}: only the first.
typedef struct FlSendWeights {
    uint8_t accumulated, recent, waiting;
} FlSendWeights;

/// A policy and its settings. Small; copy it. Made by fl_send_make and fl_send_parse.
typedef struct FlSend {
    FlSendPolicy policy;
    FlSendForm form;
    FlSendWeights weights;
    uint8_t fairness_percent; ///< `equal`: 0 (most accurate) to 100 (most fair).
    double every;      ///< The budget: one of so many updates that `base` would send, 1 to 1000 in
                       ///< steps of 1/100; a whole number for `base`.
    double share_cap;  ///< No receiver gets more than this share of an entity's updates, and at
                       ///< least an even one; 1: no cap.
    FlTime longest_ns; ///< schedule1, schedule2: an update is held back no longer than this.
    FlTime
        starvation_ns; ///< A receiver that got nothing for this long gets the next update, always.
} FlSend;

/// The usual settings of a policy: the published form, weights 1,0,0, a budget of 1/3 of `base`
/// where there is one, `equal` half accurate and half fair. Change what you like.
FL_API FlSend fl_send_make(FlSendPolicy policy);

#define FL_SEND_TEXT_BYTES 48

/// A policy as text: `base`, `base/3`, `schedule1`, `schedule1-thesis`, `schedule2`,
/// `probabilistic`, `probabilistic-2005`, `probabilistic-fixed`, `probabilistic-appendix-0,0,1`,
/// `probabilistic-0,1,0`, `deterministic`, `deterministic-1,1,0`, `equal-50`, `focus`,
/// `focus+equal`. Weights 1,0,0 and a budget of 1/3 are not written; another budget follows the
/// word: `equal/2.5-50`. share_cap and the times have no text (sessions send them beside it).
FL_API void fl_send_text(const FlSend *send, char text[FL_SEND_TEXT_BYTES]);

/// Reads such a text. Errors: FL_NOT_FOUND (no such policy or form; *send is base).
FL_API FL_NODISCARD FlResult fl_send_parse(const char *text, FlSend *send);

// ---------------------------------------------------------------- the ledger

typedef struct FlLedgerDef {
    int32_t entity_capacity;
    int32_t receiver_capacity;
    int32_t path_capacity;  ///< Exported pieces remembered per entity; a power of two, 8 to 16384.
    int32_t shown_capacity; ///< Arrivals remembered per pair; a power of two, 4 to 128. So much may
                            ///< reports come out of order, and so far back reaches fl_ledger_seen.
    int32_t history_capacity; ///< Per pair: updates sent that are remembered with their arrivals,
                              ///< for rewinding; a power of two up to 4096, or 0: none.
    uint64_t seed;            ///< Of the chance in `probabilistic`.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_ledger_def_default(); leave alone.
} FlLedgerDef;

/// Right for a small action game: 64 entities, 16 receivers, 64 pieces, 4 arrivals, seed 1.
FL_API FlLedgerDef fl_ledger_def_default(void);

/// Whether a definition is sound; `error` says which field, its value and its range. Errors:
/// FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_ledger_def_problem(const FlLedgerDef *def, FlError *error);

typedef struct FlLedger FlLedger;

/// Reserves everything it will ever use. Errors: FL_NO_MEMORY, FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_ledger_create(const FlLedgerDef *def, FlLedger **ledger);
FL_API void fl_ledger_destroy(FlLedger *ledger);

/// An entity in this slot begins (without watchers), or ends: what is under way of it counts
/// no more.
FL_API void fl_ledger_entity_begin(FlLedger *ledger, int32_t entity, const FlSend *send);
FL_API void fl_ledger_entity_end(FlLedger *ledger, int32_t entity);

/// A receiver leaves this slot: everything known of it is forgotten.
FL_API void fl_ledger_receiver_end(FlLedger *ledger, int32_t receiver);

/// Whether a receiver gets an entity. When it begins to, the newest update is due to it at once.
FL_API void fl_ledger_watch(FlLedger *ledger, int32_t entity, int32_t receiver, bool watches,
                            FlTime now);

/// A new update of an entity: from `motion->time` on the exported path follows it. The policy is
/// asked, except for the first update of a life and the last (FL_LIFE_NONE), which go to everybody.
/// `life` as in FlPiece. A motion stamped before the last or not finite is refused and counted.
FL_API void fl_ledger_export(FlLedger *ledger, int32_t entity, const FlMotion *motion,
                             uint32_t life, FlTime now);

/// Notices times that a policy asked for. Call it when the deadline has come.
FL_API void fl_ledger_update(FlLedger *ledger, FlTime now);
FL_API FlTime fl_ledger_deadline(const FlLedger *ledger);

// ---------------------------------------------------------------- sending

/// One update that is owed to a receiver.
typedef struct FlDue {
    int32_t entity;
    uint32_t serial; ///< Which piece of its exported path; never reused for the slot.
} FlDue;

/// The next entity at or after slot `from` of which something is due to this receiver; call it with
/// due->entity + 1 for the next. False: none up to the last slot. A search by words, not by slots.
FL_API bool fl_ledger_due(const FlLedger *ledger, int32_t receiver, int32_t from, FlDue *due);

/// The piece of path that a serial names, or NULL if it is forgotten.
FL_API const FlPiece *fl_ledger_exported(const FlLedger *ledger, int32_t entity, uint32_t serial);

/// The due update went into a packet.
FL_API void fl_ledger_sent(FlLedger *ledger, int32_t receiver, FlDue due, FlTime now);

/// That packet arrived, by the receiver's report, at `arrived`; or it is lost for certain. `sent`
/// is the packet's own time, `now` when the report came: a report that contradicts these is
/// counted, and has no effect. Serials of entities that ended are ignored.
FL_API void fl_ledger_arrived(FlLedger *ledger, int32_t receiver, FlDue due, FlTime sent,
                              FlTime arrived, FlTime now);
FL_API void fl_ledger_lost(FlLedger *ledger, int32_t receiver, FlDue due, FlTime now);

// ---------------------------------------------------------------- focus
//
// Policies `focus` and `focus+equal` decide once a frame, for all their entities and receivers
// together, by bytes: fl_ledger_update marks what goes. In sessions.

typedef struct FlFocusDef {
    FlTime frame_ns; ///< At most one decision in this time; if nothing was exported, half as much
                     ///< again.
    double share;    ///< Of a frame's bytes, those for the receivers in focus; 0 to 1.
    double base;     ///< focus+equal: everybody counts as if it looked so much more; 0 to 1.
    double radian;   ///< focus+equal: a radian of wrong facing counts as so much distance; 0: none.
    double second;   ///< focus+equal: so does a second without an update; 0: not at all.
    FlTime chosen_ns; ///< focus+equal: who looks at a half or more (fl_attention_choose) waits no
                      ///< longer than so for what is new; 0: as long as others.
} FlFocusDef;

/// The share of the default.
#define FL_FOCUS_SHARE 0.75

typedef enum FlSendClass {
    FL_CLASS_FOCUS,       ///< It gets all it should: what is due is a whole update.
    FL_CLASS_BEST_EFFORT, ///< It gets one now and then: guidance would serve it as well.
} FlSendClass;

/// What the last frame came to.
typedef struct FlFocusFrame {
    uint64_t number;       ///< Frames so far.
    double bytes, spent;   ///< Allowed, and planned with.
    int32_t focus_count;   ///< Pairs in focus,
    int32_t focus_due;     ///< updates for them,
    int32_t effort_due;    ///< and for others.
    int32_t waiting_count; ///< Updates that found no bytes.
} FlFocusFrame;

// ---------------------------------------------------------------- reading

/// What is known of one receiver's view of one entity. Errors are in distance times seconds.
typedef struct FlLedgerView {
    uint32_t sent, arrived, lost;
    FlTime last_sent;   ///< FL_FOREVER before the first.
    double cumulative;  ///< CEE: up to the last acknowledged arrival.
    double estimated;   ///< EEE: from there to now, as far as is known.
    double accumulated; ///< AEE: both.
} FlLedgerView;

/// False: the receiver does not watch it.
FL_API bool fl_ledger_read(const FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now,
                           FlLedgerView *view);

/// What the distributor knows of one receiver.
typedef struct FlLedgerReceiver {
    FlTime delay_ns;         ///< One-way delay, averaged as TCP does; 0 before the first report.
    FlTime deviation_ns;     ///< How far reports lie from that, likewise.
    uint32_t reports;        ///< Taken.
    uint32_t contradictions; ///< Reports against our own clock and measurements; without effect.
    uint32_t late;           ///< Reports out of order by more than is remembered: counted as if
                             ///< they had arrived when memory begins.
} FlLedgerReceiver;

/// What its reports say of it.
FL_API FlLedgerReceiver fl_ledger_receiver(const FlLedger *ledger, int32_t receiver);

/// How far the receiver's clock may be off ours, at most. A report is believed within this. Zero
/// until set.
FL_API void fl_ledger_clock_error(FlLedger *ledger, int32_t receiver, FlTime bound_ns);

/// Where this receiver saw that entity at `time`, as far as it is remembered.
/// Errors: FL_NOT_FOUND (nothing was placed yet, or it is forgotten).
FL_API FL_NODISCARD FlResult fl_ledger_seen(const FlLedger *ledger, int32_t entity,
                                            int32_t receiver, FlTime time, FlPose *pose);

// ---------------------------------------------------------------- attention
//
// How much each player looks at each other, guessed from what is known of players: how near, how
// well aimed at, how recently dealt with (Bharambe and others, 2007):
//
//     attention  =  w1 max(1 - d / reach, 0)^1.5
//                +  w2 max(1 - angle / 45 degrees, 0)^(1.5 max(1, ln(d in metres)))
//                +  w3 e^(-t / 1 s) while t <= 3 s
//
// where the angle is an exponential average of that between the observer's view and the direction
// to the other, and t the time since the two last dealt with each other. With weights that sum to
// 1 it is a number from 0 to 1. In the server's form one object knows all pairs; a peer of a mesh
// knows what it looks at itself. Values are exact to 1e-3 where players are at least 1e-4 of the
// spread of all of them apart.

/// What a player is up to.
typedef enum FlStance {
    FL_STANCE_PLAIN,  ///< Interaction counts half as much again as the others.
    FL_STANCE_CLOSE,  ///< With a weapon for close quarters: proximity counts twice as much.
    FL_STANCE_DISTANT ///< With a weapon for far targets: aim does.
} FlStance;

typedef struct FlAttentionDef {
    int32_t player_capacity; ///< Players are the numbers below.
    bool everybody;          ///< All observe (a server); otherwise one at a time does.
    double metre;            ///< Game units in a metre.
    double reach;            ///< Game units beyond which proximity is nothing: half the map.
    FlTime aim_average_ns;   ///< Time constant of the angle's average.
    /// A metric of the game's own, weight included; added to the others. NULL: none. Asked for
    /// every pair looked at.
    double (*metric_fn)(void *ctx, int32_t observer, int32_t player);
    void *metric_ctx;
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_attention_def_default(); leave alone.
} FlAttentionDef;

/// Right for a small action game in metres: 64 players, one observer, 100 m, 250 ms.
FL_API FlAttentionDef fl_attention_def_default(void);

/// Whether a definition is sound; `error` says which field, its value and its range. Errors:
/// FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_attention_def_problem(const FlAttentionDef *def, FlError *error);

typedef struct FlAttention FlAttention;

/// Reserves all it will ever use. Errors: FL_NO_MEMORY, FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_attention_create(const FlAttentionDef *def,
                                                 FlAttention **attention);
FL_API void fl_attention_destroy(FlAttention *attention);

/// Where a player is and looks; `forward` of any length. One that is not finite, or looks nowhere,
/// is left where it was. The first call brings the player in.
FL_API void fl_attention_place(FlAttention *attention, int32_t player, FlVec3 position,
                               FlVec3 forward);

/// The player is gone: no player looks at it, and nothing is remembered of it.
FL_API void fl_attention_remove(FlAttention *attention, int32_t player);

/// What counts for a player from now on; begins as FL_STANCE_PLAIN.
FL_API void fl_attention_stance(FlAttention *attention, int32_t player, FlStance stance);

/// Two players dealt with each other: a hit, a touch, a trade. Of each the last 16 partners are
/// remembered.
FL_API void fl_attention_interact(FlAttention *attention, int32_t one, int32_t other, FlTime now);

#define FL_ATTENTION_ALL (-1)

/// One player looks at all others, or with FL_ATTENTION_ALL every player does; once a frame. Where
/// only one observes at a time, another one starts without a past.
FL_API void fl_attention_look(FlAttention *attention, int32_t observer, FlTime now);

/// What an observer last paid to each player, by number: 0 for itself and for who is not there.
/// Valid until the next call.
FL_API const float *fl_attention_of(const FlAttention *attention, int32_t observer);

/// What an observer should report to those it looks at, so that it gets whom it wants and not
/// whoever happens to have bytes for it: the `count` that it looks at most have the upper half of
/// all values to themselves, in their order. Who was among them stays until another is looked at a
/// tenth more. `reported`: by player, as many as fit; filled in, and read for who was among them.
FL_API void fl_attention_choose(const FlAttention *attention, int32_t observer, int32_t count,
                                float *reported);

#endif
