// The printed formula of the fairness paper, as a yardstick for speed. Do not use it: it loses all
// digits where paths nearly touch or velocities nearly agree.
#ifndef BENCH_NAIVE_H
#define BENCH_NAIVE_H

#include "fairlead/motion.h"

double naive_integral(FlVec3 gap, FlVec3 velocity, double seconds);

/// Over arrays, compiled to be as fast as the machine allows (unsafe mathematics, vector
/// logarithm).
void naive_integral_many(int32_t count, FlVec3Arrays gap, FlVec3Arrays velocity,
                         const double *seconds, double *out);

#endif
