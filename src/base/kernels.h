// Private to Fairlead: mathematics that other modules want inlined into their own loops.
//
// The kernels here are free of branches on data (selections compile to masks), so a plain loop over
// arrays vectorises, and they use + - * / only, so every compiler and width gives the same bits.
#ifndef FAIRLEAD_BASE_KERNELS_H
#define FAIRLEAD_BASE_KERNELS_H

#include "base/private.h"

// Adding this to a double below 2^51 leaves its nearest integer in the low bits.
#define FL__ROUND_MAGIC 6755399441055744.0 // 1.5 * 2^52

/// sin and cos of r + tail for |r| <= pi/4, |tail| below r's last bit. Taylor series: the first
/// term left out is under 2^-56 of the result.
static inline void fl__sincos_reduced(double r, double tail, double *sin_out, double *cos_out)
{
    double z = r * r;
    double s = -1.0 / 1307674368000.0 + z * (1.0 / 355687428096000.0);
    s = 1.0 / 6227020800.0 + z * s;
    s = -1.0 / 39916800.0 + z * s;
    s = 1.0 / 362880.0 + z * s;
    s = -1.0 / 5040.0 + z * s;
    s = 1.0 / 120.0 + z * s;
    *sin_out = r - ((z * (0.5 * tail - r * z * s) - tail) - (z * r) * (-1.0 / 6.0));

    double c = -1.0 / 87178291200.0 + z * (1.0 / 20922789888000.0);
    c = 1.0 / 479001600.0 + z * c;
    c = -1.0 / 3628800.0 + z * c;
    c = 1.0 / 40320.0 + z * c;
    c = -1.0 / 720.0 + z * c;
    c = 1.0 / 24.0 + z * c;
    double half = 0.5 * z;
    double head = 1.0 - half;
    *cos_out = head + (((1.0 - head) - half) + (z * z * c - r * tail));
}

// pi/2 in three parts; the first two have 33 bits, so their products with integers below 2^20 are
// exact.
#define FL__HALF_PI_A 1.57079632673412561417e+00
#define FL__HALF_PI_B 6.07710050630396597660e-11
#define FL__HALF_PI_C 2.02226624879595063154e-21

/// a - b, and in *lost what rounding took from it, whichever is larger (Knuth's two-sum).
static inline double fl__minus(double a, double b, double *lost)
{
    double difference = a - b;
    double part = a - difference;
    *lost = (a - (difference + part)) + (part - b);
    return difference;
}

/// What has been taken off an angle already, in whole multiples of 2^20 quarter turns: `tail` still
/// belongs to it, and the last part of pi/2, `quarters` times, must still be taken off.
typedef struct FlReduction {
    double tail;
    double quarters;
} FlReduction;

/// sin and cos for |x| <= 1e6 (the caller sees to it).
static inline void fl__sincos_moderate(double x, FlReduction before, double *sin_out,
                                       double *cos_out)
{
    double shifted = x * (2.0 / FL_PI) + FL__ROUND_MAGIC;
    double k = shifted - FL__ROUND_MAGIC;
    uint64_t quadrant = fl__bits_of(shifted);

    double lost, lost_with_tail, tail;
    double head = fl__minus(x - k * FL__HALF_PI_A, k * FL__HALF_PI_B, &lost);
    head = fl__minus(head, -before.tail, &lost_with_tail);
    double rest = (k + before.quarters) * FL__HALF_PI_C - lost - lost_with_tail;
    double r = fl__minus(head, rest, &tail);

    double s, co;
    fl__sincos_reduced(r, tail, &s, &co);
    bool swapped = (quadrant & 1u) != 0;
    uint64_t sin_sign = (quadrant & 2u) << 62;
    uint64_t cos_sign = ((quadrant + 1u) & 2u) << 62;
    *sin_out = fl__double_of(fl__bits_of(swapped ? co : s) ^ sin_sign);
    *cos_out = fl__double_of(fl__bits_of(swapped ? s : co) ^ cos_sign);
}

/// ln(u + lost) for normal finite u in (0, 2^1000) and |lost| below u's last bit. With m * 2^k = u,
/// m near 1 and s = (m-1)/(m+1), ln m is twice the inverse hyperbolic tangent of s; its series is
/// cut below 2^-56, and summed in two halves, which a processor can work on at once.
static inline double fl__log_core(double u, double lost)
{
    // Move the exponent's step from 1 to sqrt(1/2), so that m lies in [sqrt(1/2), sqrt(2)).
    uint64_t bits = fl__bits_of(u) + 0x00095f619980c433u;
    uint64_t biased = bits >> 52;
    uint64_t mantissa = (bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu;
    // The exponent becomes a double by planting it in the low bits of 2^52.
    double k = fl__double_of(biased | 0x4330000000000000u) - (4503599627370496.0 + 1023.0);
    double shrink = fl__double_of((2046u - biased) << 52); // 2^-k
    double f = (fl__double_of(mantissa) - 1.0) + lost * shrink;

    double s = f / (2.0 + f);
    double z = s * s;
    double zz = z * z;
    double odd =
        1.0 / 3.0 +
        zz * (1.0 / 7.0 +
              zz * (1.0 / 11.0 + zz * (1.0 / 15.0 + zz * (1.0 / 19.0 + zz * (1.0 / 23.0)))));
    double even =
        1.0 / 5.0 + zz * (1.0 / 9.0 + zz * (1.0 / 13.0 + zz * (1.0 / 17.0 + zz * (1.0 / 21.0))));
    double twice = 2.0 * (z * odd + zz * even); // ln(1+f) = f - s * (f - twice)
    const double ln2_high = 6.93147180369123816490e-01;
    const double ln2_low = 1.90821492927058770002e-10;
    return k * ln2_high + (f - (s * (f - twice) - k * ln2_low));
}

/// ln(1 + z) for 0 <= z < 2^1000.
static inline double fl__log1p_positive(double z)
{
    double u = 1.0 + z;
    return fl__log_core(u, z >= 1.0 ? 1.0 - (u - z) : z - (u - 1.0));
}

#endif
