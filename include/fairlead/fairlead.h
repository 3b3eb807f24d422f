// fairlead/fairlead.h: everything public, in the order in which it builds up.
//
// One update's way: the game hands in a state, `motion` decides whether it must be told and as
// what; the rooms that carry it to other players follow as they are built (docs/architecture.md).
#ifndef FAIRLEAD_FAIRLEAD_H
#define FAIRLEAD_FAIRLEAD_H

#include "fairlead/base.h"
#include "fairlead/motion.h"

#endif
