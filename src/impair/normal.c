// The normal distribution both ways, from + - * / sqrt and base's log and exp: the same bits
// everywhere.
#include "private.h"

#include "base/maths.h"

// Wichura, "Algorithm AS 241: the percentage points of the normal distribution" (1988), PPND16:
// three quotients of polynomials, relative error about 1e-16.
typedef struct Quotient {
    double top[8];
    double bottom[8];
} Quotient;

static const Quotient centre = {
    {3.3871328727963666080, 1.3314166789178437745e+2, 1.9715909503065514427e+3,
     1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
     3.3430575583588128105e+4, 2.5090809287301226727e+3},
    {1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3,
     2.1213794301586595867e+4, 3.9307895800092710610e+4, 2.8729085735721942674e+4,
     5.2264952788528545610e+3},
};

static const Quotient flank = {
    {1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
     1.27045825245236838258, 2.41780725177450611770e-1, 2.27238449892691845833e-2,
     7.74545014278341407640e-4},
    {1.0, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
     1.05075007164441684324e-9},
};

static const Quotient tail = {
    {6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
     2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7},
    {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15},
};

static double quotient(const Quotient *q, double x)
{
    double top = q->top[7];
    double bottom = q->bottom[7];
    for (int32_t i = 6; i >= 0; i--) {
        top = top * x + q->top[i];
        bottom = bottom * x + q->bottom[i];
    }
    return top / bottom;
}

double fl__normal_quantile(double u)
{
    double from_middle = u - 0.5;
    if (fabs(from_middle) <= 0.425) {
        return from_middle * quotient(&centre, 0.180625 - from_middle * from_middle);
    }
    double outside = from_middle < 0.0 ? u : 1.0 - u;
    double r = sqrt(-fl__log(outside));
    double z = r <= 5.0 ? quotient(&flank, r - 1.6) : quotient(&tail, r - 5.0);
    return from_middle < 0.0 ? -z : z;
}

// Marsaglia, "Evaluating the normal distribution" (2004): the share between 0 and z is the density
// at z times z + z^3/3 + z^5/(3*5) + ..., which converges for every z. Absolute error below 1e-15.
double fl__normal_share(double z)
{
    if (!(fabs(z) < 8.3)) { // beyond, a double no longer tells the share from 0 or 1
        return z < 0.0 ? 0.0 : 1.0;
    }
    double square = z * z;
    double term = z;
    double sum = z;
    double last = 0.0;
    for (double odd = 3.0; sum != last; odd += 2.0) {
        last = sum;
        term *= square / odd;
        sum += term;
    }
    const double root_two_pi = 2.50662827463100050242;
    return 0.5 + sum * fl__exp(-0.5 * square) / root_two_pi;
}
