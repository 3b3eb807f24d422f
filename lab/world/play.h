// What every experiment does with its world, whatever it plays there.
#ifndef LAB_PLAY_H
#define LAB_PLAY_H

#include "lab/world/lab_run.h"
#include "lab/world/world.h"

/// A way of this mean delay, plus or minus `jitter` (uniform, at most the delay itself), that loses
/// this share of the datagrams.
FlImpairSettings play_way(FlTime delay, FlTime jitter, double loss);

/// Did everything run as it should? Otherwise the figures would lie.
LabStatus play_check(World *world, LabError *error);

#endif
