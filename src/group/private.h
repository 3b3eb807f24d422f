// Private to room `group`.
//
//   choice.c    epochs, and who hosts next
//   messages.c  announcements and what else members say to each other reliably
#ifndef FAIRLEAD_GROUP_PRIVATE_H
#define FAIRLEAD_GROUP_PRIVATE_H

#include "fairlead/group.h"

#endif
