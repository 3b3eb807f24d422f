// The shapes of jitter, each as its quantile function: which value has the share u of all values
// below it?
//
// Why quantiles: one uniform number makes one delay whatever the shape, so changing the shape keeps
// every packet's luck; and a slow process (sway.c) gets any shape by first turning its normal value
// into a share.
//
// Every shape is brought to mean 0 and deviation 1 by exact constants (uniform: to half-width 1),
// so the configured mean and deviation are what comes out, except for what is cut off at delay
// zero.
//
// Pareto: X = min((1 - u)^(-1/3), 4.5), the shape of NIST Net's and tc-netem's tables: exponent 3,
// cut where a 16-bit table of theirs ends. Without the cut the fourth moment, and with it the error
// of any measured deviation, is infinite. Unlike theirs it is scaled to deviation 1; as tabulated,
// theirs has 0.82.
//
// Pareto-normal: 0.25 * normal + 0.75 * (4/3) * (X - 3/2), both at the same u, as NIST Net's
// generator adds them (it adds quantiles, not independent variates), then brought to mean 0 and
// deviation 1.
#include "private.h"

#include "base/maths.h"

// X's mean is 3/2 - 1/(2 * 4.5^2) and its mean square 1 + 2 * (1 - 1/4.5).
#define PARETO_CUT 4.5
#define PARETO_CUT_SHARE 0.98902606310013717421 // 1 - 4.5^-3: from this share on, X is cut
#define PARETO_MEAN 1.47530864197530864198
#define PARETO_SCALE 1.62431014039518026837 // 1 / deviation of X

// The variance of Z/4 + X is 1/16 + var X + cov(Z, X)/2, with cov(Z, X) = 0.51125249944720430245 by
// quadrature.
#define MIXTURE_SCALE 1.19767245857687448876

static double pareto(double u)
{
    if (u >= PARETO_CUT_SHARE) {
        return PARETO_CUT;
    }
    return fl__exp(fl__log1p(-u) * (-1.0 / 3.0));
}

static double mixture(double u, double z)
{
    return (0.25 * z + (pareto(u) - PARETO_MEAN)) * MIXTURE_SCALE;
}

double fl__shape_from_unit(FlImpairShape shape, double u)
{
    switch (shape) {
    case FL_SHAPE_UNIFORM:
        return 2.0 * u - 1.0;
    case FL_SHAPE_NORMAL:
        return fl__normal_quantile(u);
    case FL_SHAPE_PARETO:
        return (pareto(u) - PARETO_MEAN) * PARETO_SCALE;
    case FL_SHAPE_PARETO_NORMAL:
        return mixture(u, fl__normal_quantile(u));
    case FL_SHAPE_CONSTANT:
        break;
    }
    return 0.0;
}

double fl__shape_from_normal(FlImpairShape shape, double z)
{
    switch (shape) {
    case FL_SHAPE_NORMAL:
        return z;
    case FL_SHAPE_PARETO_NORMAL:
        return mixture(fl__normal_share(z), z);
    case FL_SHAPE_UNIFORM:
    case FL_SHAPE_PARETO:
    case FL_SHAPE_CONSTANT:
        break;
    }
    return fl__shape_from_unit(shape, fl__normal_share(z));
}
