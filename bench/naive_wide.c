// The printed formula over arrays. This file alone is compiled with -O3 -ffast-math
// (app/CMakeLists.txt), so that it is the fastest it can be; where the compiler has vector
// logarithms, it uses them.
#include "bench/naive.h"

#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__)
__attribute__((target_clones("arch=skylake-avx512", "avx2", "default")))
#endif
void naive_integral_many(int32_t count, FlVec3Arrays gap, FlVec3Arrays velocity,
                         const double *restrict seconds, double *restrict out)
{
    for (int32_t i = 0; i < count; i++) {
        double x = gap.x[i], y = gap.y[i], z = gap.z[i];
        double vx = velocity.x[i], vy = velocity.y[i], vz = velocity.z[i];
        double t = seconds[i];
        double a = vx * vx + vy * vy + vz * vz;
        double b = 2.0 * (x * vx + y * vy + z * vz);
        double c = x * x + y * y + z * z;
        double root_a = sqrt(a);
        double q0 = sqrt(c);
        double q1 = sqrt((a * t + b) * t + c);
        double product = ((2.0 * a * t + b) * q1 - b * q0) / (4.0 * a);
        double logs = log(2.0 * root_a * q1 + 2.0 * a * t + b) - log(2.0 * root_a * q0 + b);
        out[i] = product + (4.0 * a * c - b * b) / (8.0 * a * root_a) * logs;
    }
}
