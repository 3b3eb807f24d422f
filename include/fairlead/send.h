// fairlead/send.h: who gets which update when.
//
// A *policy* is asked at every trigger of an entity and marks receivers in a plan. Packing,
// budgets, acknowledging and accounting are not its business. Policies are a small file each, in
// one table (src/send/send.c).
//
// So far there is one: `base`, every update to everybody at once, the papers' yardstick.
//
// Threads: no shared state.
#ifndef FAIRLEAD_SEND_H
#define FAIRLEAD_SEND_H

#include "fairlead/motion.h"

typedef enum FlSendPolicy {
    FL_SEND_BASE,
    FL_SEND_POLICIES ///< How many there are.
} FlSendPolicy;

/// A policy and its settings.
typedef struct FlSend {
    FlSendPolicy policy;
} FlSend;

/// Every update to everybody, at once.
FL_API FlSend fl_send_base(void);

FL_API const char *fl_send_name(FlSendPolicy policy);

/// What a policy may look at when an update was triggered.
typedef struct FlSendView {
    FlTime now; ///< Session time.
    const FlMotion *update;
    int32_t receiver_count;
} FlSendView;

/// What a policy decides: which receivers get the entity's newest update with their next packet.
typedef struct FlSendPlan {
    bool *due; ///< One per receiver; owed from an earlier trigger, or marked by this one.
    int32_t receiver_count;
} FlSendPlan;

static inline void fl_plan_now(FlSendPlan *plan, int32_t receiver)
{
    FL_ASSERT(receiver >= 0 && receiver < plan->receiver_count);
    plan->due[receiver] = true;
}

/// Asks the policy.
FL_API void fl_send_trigger(const FlSend *send, const FlSendView *view, FlSendPlan *plan);

#endif
