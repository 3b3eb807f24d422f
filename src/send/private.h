// Private to room `send`: the policies, one file each.
#ifndef FAIRLEAD_SEND_PRIVATE_H
#define FAIRLEAD_SEND_PRIVATE_H

#include "fairlead/send.h"

void fl__base_trigger(const FlSendView *view, FlSendPlan *plan);

#endif
