// fairlead/agree.h: one order and one timing.
//
// Players act at the same time in different places, and each peer learns of it at another time.
// Module `agree` has three tools:
//
//   actions     here: when an action is played, in the same order and with the same spacing
//               everywhere, without synchronised clocks, and as early as this network allows
//               (fl_action_send, fl_action_take)
//   FlTimeline  fairlead/timeline.h: rollback. Shows now by guessed inputs, corrects when late ones
//               arrive; usable alone
//   calls       fairlead/call.h: a question to the owner of a thing ("I hit it", "I take it"),
//               decided once, there (fl_call_send)
//
// Sessions carry their messages. This header has the settings and figures of actions.
#ifndef FAIRLEAD_AGREE_H
#define FAIRLEAD_AGREE_H

#include "fairlead/base.h"
#include "fairlead/wire.h"

// ---------------------------------------------------------------- lags
//
// Every peer has a clock of its own; how they differ is not known. Peer p measures v_p[i]: the
// longest that anything from peer i took, on p's clock minus i's stamp (so it contains the
// difference of the two clocks, which may be hours). All peers exchange these vectors, and from the
// same n vectors all compute the same numbers A_p and B_i with
//
//     A_p + B_i >= v_p[i]      for all p and i;   v_p[p] = 0
//
// An action that i stamps s has the *play time* s + B_i, a number that all peers agree on. Peer p
// plays it when its own clock shows play time + A_p: never before it has arrived, and two actions
// are everywhere the same time apart. Order is by play time, ties by the smaller writer.
//
// Clock differences cancel: they shift A and B against each other and no sum.

/// X(name, word)
#define FL_LAGS_TABLE(X)                                                                           \
    X(REFERENCE, "reference")           /* over one peer, chosen by the published rule */          \
    X(BEST_REFERENCE, "best_reference") /* over the peer that makes the longest lag shortest */    \
    X(FREE, "free")                     /* over none: the smallest mean lag there is */

typedef enum FlLagsChoice {
#define FL_LAGS_ROW(name, word) FL_LAGS_##name,
    FL_LAGS_TABLE(FL_LAGS_ROW)
#undef FL_LAGS_ROW
        FL_LAGS_CHOICES
} FlLagsChoice;

#define FL_LAGS_PEERS 64 ///< Peers are numbered below this.

// One peer's part in it. It measures for ever (from probes, and from the actions themselves) and
// changes lags in *rounds*: any peer begins one by sending its vector, the others answer with
// theirs, and every peer that has all of them computes the lags. Rounds are begun when members come
// and go, when something arrived too close to its time, and every `again_ns` because clocks drift.
//
// A change never makes anything late: B that rise are taken at once; whatever falls does so only
// when all have sent READY, and then slowly (`slew_ppm`), so that no picture jumps. Of all equal
// lags (A + c, B - c) those are taken for which no A rises.
//
// Play time is one for all peers that play together. A peer that played alone and meets others
// takes that of those that play together, or of the first of them. For such a one it begins *anew*
// (FL_LAGS_ANEW), earlier or later by any amount: its earlier actions, which are its own, belong to
// another time. In a session no member plays before it has met the host.
//
// All messages go to all others. They may get lost, doubled and reordered: a round that got stuck
// is begun again. Actions should travel as the probes do, or the probes do not measure them.

typedef struct FlLagsDef {
    int32_t self;        ///< Our number, the same at all peers.
    FlLagsChoice choice; ///< The same at all peers.
    int32_t slew_ppm;    ///< How fast lags fall, 1000 to 500000: play time runs faster by this.
    FlTime probe_ns;     ///< A probe to all others this long after the last one, or action.
    FlTime provision_ns; ///< A newcomer is measured for this long before it counts.
    FlTime window_ns;    ///< What took longest within this time counts.
    FlTime margin_ns; ///< Added to what was measured. When half of it is used up, a round begins.
    FlTime again_ns;  ///< A round at least this often. FL_FOREVER: only for a reason.
    FlTime retry_ns;  ///< A round that got stuck is begun again after this long.
    FlTime limit_ns;  ///< Lags with which a peer would wait longer for its own action are refused.
                      ///< The same at all peers: what one of them refuses settles nowhere.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_session_def_default(); leave alone.
} FlLagsDef;

/// X(name, word, meaning)
#define FL_LAGS_COUNT_TABLE(X)                                                                     \
    X(PROBES, "probes", "probes taken")                                                            \
    X(BEGUN, "begun", "rounds begun by us")                                                        \
    X(SOLVED, "solved", "rounds solved")                                                           \
    X(SETTLED, "settled", "rounds for which all said READY")                                       \
    X(STUCK, "stuck", "rounds begun again because an answer did not come")                         \
    X(REFUSED, "refused", "rounds whose lags were impossible, or above the limit")                 \
    X(NEAR, "near", "arrivals that used up half of the margin")                                    \
    X(LATE, "late", "actions that arrived after their time")                                       \
    X(ANEW, "anew", "rounds with which play time began anew, and earlier")                         \
    X(MALFORMED, "malformed", "messages dropped: no sender writes that")                           \
    X(STRANGER, "stranger", "messages dropped: from a peer that is not there")

typedef enum FlLagsCount {
#define FL_LAGS_COUNT_ROW(name, word, meaning) FL_LAGS_##name,
    FL_LAGS_COUNT_TABLE(FL_LAGS_COUNT_ROW)
#undef FL_LAGS_COUNT_ROW
        FL_LAGS_COUNTS
} FlLagsCount;

typedef struct FlLagsStatus {
    bool sends;        ///< Actions of ours can be stamped.
    bool plays;        ///< Actions are played here.
    bool moving;       ///< Lags still move to those of the last round.
    uint32_t round;    ///< The last one solved.
    uint64_t members;  ///< The peers it counted, by bits.
    int32_t reference; ///< The peer it went over; -1: none.
    FlTime a, b;       ///< As in force now.
    FlTime mean_ns;    ///< Of that round: the mean of all A_p + B_i, in which clocks cancel.
    FlTime longest_ns; ///< And the longest A_i + B_i, the wait for one's own action.
    FlTime solved_at;  ///< When it was, on our clock; FL_FOREVER: never.
    uint64_t count[FL_LAGS_COUNTS];
} FlLagsStatus;

/// No action that sessions carry is longer.
#define FL_ACTION_BYTES 160

#endif
