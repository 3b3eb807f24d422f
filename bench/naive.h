// The printed formula of the fairness paper, as a yardstick for speed. Do not use it: it loses all
// digits where paths nearly touch or velocities nearly agree.
#ifndef BENCH_NAIVE_H
#define BENCH_NAIVE_H

#include "fairlead/motion.h"

double naive_integral(FlVec3 gap, FlVec3 velocity, double seconds);

#endif
