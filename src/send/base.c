// base: every update to everybody, at once. The papers' yardstick.
#include "private.h"

void fl__base_trigger(const FlSendView *view, FlSendPlan *plan)
{
    for (int32_t r = 0; r < view->receiver_count; r++) {
        fl_plan_now(plan, r);
    }
}
