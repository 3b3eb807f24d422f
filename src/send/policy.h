// Private to module `send`: policies, and what they do to a ledger.
#ifndef FAIRLEAD_SEND_POLICY_PRIVATE_H
#define FAIRLEAD_SEND_POLICY_PRIVATE_H

#include "private.h"

// ---------------------------------------------------------------- marking

/// The newest update is owed to this receiver from now on.
void fl__mark(FlLedger *ledger, int32_t entity, int32_t receiver);

/// The update `serial`, though not the newest, is owed.
void fl__mark_older(FlLedger *ledger, int32_t entity, int32_t receiver, uint32_t serial);

/// The policy is asked again about this pair at `time`; FL_FOREVER: not.
void fl__ask_at(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime time);

// ---------------------------------------------------------------- policies

/// What a policy is asked. Each may be NULL.
typedef struct FlPolicy {
    /// An update was exported, neither the first nor the last of a life.
    void (*trigger)(FlLedger *ledger, int32_t entity, FlTime now);
    /// The time set with fl__ask_at has come.
    void (*wake)(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);
    /// An update just went out, for whatever reason.
    void (*sent)(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);
    /// This pair is sent the first update of a life, or its first of all.
    void (*join)(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);
    /// The policy compares accumulated errors, so newcomers must not begin at zero.
    bool compares;
    /// Everything is decided by the frame: nothing is marked in between.
    bool frames;
} FlPolicy;

extern const FlPolicy fl__policies[FL_SEND_POLICIES];

static inline const FlPolicy *fl__policy(FlSendPolicy policy)
{
    return &fl__policies[policy];
}

/// The newest update is owed to this receiver: at once, or from the next frame on.
void fl__mark_soon(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);

/// False: what a receiver will show when all has arrived is of another life, or nothing.
bool fl__believes(const FlLedger *ledger, int32_t entity, const FlPair *pair);

/// What it will show then; only if it believes.
FlMotion fl__belief(const FlLedger *ledger, int32_t entity, const FlPair *pair);

/// How often each watcher of an entity should be sent to, in updates per trigger, by receiver.
/// Valid until the next call; the caller may change it.
double *fl__frequencies(FlLedger *ledger, int32_t entity, FlTime now);

/// What no frequency may exceed.
double fl__frequency_limit(const FlEntity *entity);

void fl__base_trigger(FlLedger *ledger, int32_t entity, FlTime now);
void fl__schedule_trigger(FlLedger *ledger, int32_t entity, FlTime now);
void fl__schedule_wake(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);
void fl__probabilistic_trigger(FlLedger *ledger, int32_t entity, FlTime now);
void fl__deterministic_trigger(FlLedger *ledger, int32_t entity, FlTime now);
void fl__deterministic_join(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);
void fl__equal_trigger(FlLedger *ledger, int32_t entity, FlTime now);
void fl__equal_wake(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);
void fl__equal_sent(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);
void fl__equal_join(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);

/// There is something new for a frame to decide.
void fl__focus_trigger(FlLedger *ledger, int32_t entity, FlTime now);
void fl__focus_sent(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now);

/// When the next frame is to be decided; and deciding it.
FlTime fl__focus_deadline(const FlLedger *ledger);
void fl__focus_frame(FlLedger *ledger, FlTime now);

// ---------------------------------------------------------------- select.c

/// Marks the pairs with the highest keys (0: not asked for) that `bytes` pay for; returns what they
/// take. Only entities under one policy.
double fl__select(FlLedger *ledger, FlSendPolicy policy, double bytes);

/// The next pair of a live entity under this policy after (*entity, *receiver); begin with (0, -1).
bool fl__pair_next(const FlLedger *ledger, FlSendPolicy policy, int32_t *entity, int32_t *receiver);

/// What an update of an entity takes, its part of headers included.
double fl__update_cost(const FlLedger *ledger, int32_t entity);

#endif
