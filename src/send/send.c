// The table of policies.
#include "private.h"

typedef struct PolicyRow {
    const char *name;
    void (*trigger)(const FlSendView *view, FlSendPlan *plan);
} PolicyRow;

static const PolicyRow policies[FL_SEND_POLICIES] = {
    [FL_SEND_BASE] = {"base", fl__base_trigger},
};

FlSend fl_send_base(void)
{
    FlSend send = {FL_SEND_BASE};
    return send;
}

const char *fl_send_name(FlSendPolicy policy)
{
    FL_ASSERT((int32_t)policy >= 0 && policy < FL_SEND_POLICIES);
    return policies[policy].name;
}

void fl_send_trigger(const FlSend *send, const FlSendView *view, FlSendPlan *plan)
{
    FL_ASSERT(send->policy < FL_SEND_POLICIES);
    policies[send->policy].trigger(view, plan);
}
