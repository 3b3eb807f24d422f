// The printed formula, one at a time.
#include "bench/naive.h"

double naive_integral(FlVec3 gap, FlVec3 velocity, double seconds)
{
    double a = fl_vec3_dot(velocity, velocity);
    double b = 2.0 * fl_vec3_dot(gap, velocity);
    double c = fl_vec3_dot(gap, gap);
    double root_a = sqrt(a);
    double q0 = sqrt(c);
    double q1 = sqrt((a * seconds + b) * seconds + c);
    double product = ((2.0 * a * seconds + b) * q1 - b * q0) / (4.0 * a);
    double logs = log(2.0 * root_a * q1 + 2.0 * a * seconds + b) - log(2.0 * root_a * q0 + b);
    return product + (4.0 * a * c - b * b) / (8.0 * a * root_a) * logs;
}
