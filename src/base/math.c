// sin, cos, log, exp and atan2 from + - * / alone, so that every peer computes the same bits.
//
// Why not libm: IEEE 754 fixes the rounding of the four operations and sqrt, not of these; glibc,
// musl and the Windows runtime differ in the last bit, and lockstep peers part ways on one bit. The
// method is the textbook one: bring the argument near zero exactly (constants split so that the
// products are exact), then a short series. The kernels are in kernels.h, for loops that vectorise.
#include "base/kernels.h"
#include "base/maths.h"

#include <float.h>

// Wider intermediate results round differently, and peers would not agree to the bit. 16: _Float16
// alone is computed in its own precision, too.
_Static_assert(
    FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16,
    "float and double must be computed as such: compile with -fexcess-precision=fast; on "
    "32-bit x86 with -msse2 -mfpmath=sse");

#define MODERATE 1e6            // below it k = x * 2/pi stays under 2^20
#define STRIDE 1048576.0        // 2^20 quarter turns: scaling by it is exact
#define FAR (MODERATE * STRIDE) // beyond it pi's stored digits no longer suffice

// Takes whole multiples of 2^20 quarter turns off *x, exactly but for what the answer says.
static FlReduction reduce_far(double *x)
{
    if (fabs(*x) > FAR) {
        *x = fmod(*x, STRIDE * (2.0 * FL_PI)); // digits are lost here, determinism is not
    }
    double k = (*x * (2.0 / FL_PI / STRIDE) + FL__ROUND_MAGIC) - FL__ROUND_MAGIC;
    FlReduction reduction = {0.0, k * STRIDE};
    double without_first = *x - k * (FL__HALF_PI_A * STRIDE);
    *x = fl__minus(without_first, k * (FL__HALF_PI_B * STRIDE), &reduction.tail);
    return reduction;
}

void fl_sincos(double x, double *sin_out, double *cos_out)
{
    if (!isfinite(x)) {
        *sin_out = *cos_out = (double)NAN;
        return;
    }
    FlReduction reduction = {0.0, 0.0};
    if (fabs(x) > MODERATE) {
        reduction = reduce_far(&x);
    }
    fl__sincos_moderate(x, reduction, sin_out, cos_out);
}

double fl__sin(double x)
{
    double s, c;
    fl_sincos(x, &s, &c);
    return s;
}

double fl__cos(double x)
{
    double s, c;
    fl_sincos(x, &s, &c);
    return c;
}

// The logarithm of what is not a positive finite number.
static double log_outside(double x)
{
    if (x == 0.0) {
        return -(double)INFINITY;
    }
    return x > 0.0 ? x : (double)NAN;
}

double fl__log1p(double x)
{
    if (!(x > -1.0) || isinf(x)) {
        return log_outside(1.0 + x);
    }
    if (x > 1e300) { // beyond what the kernel takes, and 1 no longer counts
        return fl__log(x);
    }
    double u = 1.0 + x;
    return u == 1.0 ? x : fl__log_core(u, x >= 1.0 ? 1.0 - (u - x) : x - (u - 1.0));
}

double fl__log(double x)
{
    if (!(x > 0.0) || isinf(x)) {
        return log_outside(x);
    }
    // The kernel wants numbers well inside the range; 2^54 brings the ends there.
    const double lift = 18014398509481984.0;
    if (x < 1e-290) {
        return fl__log_core(x * lift, 0.0) - 54.0 * 6.93147180559945309417e-01;
    }
    if (x > 1e290) {
        return fl__log_core(x / lift, 0.0) + 54.0 * 6.93147180559945309417e-01;
    }
    return fl__log_core(x, 0.0);
}

// 2^k for -1022 <= k <= 1023.
static double power_of_two(int32_t k)
{
    return fl__double_of((uint64_t)(k + 1023) << 52);
}

double fl__exp(double x)
{
    if (isnan(x)) {
        return x;
    }
    if (x > 709.782712893384) {
        return (double)INFINITY;
    }
    if (x < -745.1332191019412) {
        return 0.0;
    }
    const double ln2_high = 6.93147180369123816490e-01;
    const double ln2_low = 1.90821492927058770002e-10;
    double k = (x * 1.44269504088896338700 + FL__ROUND_MAGIC) - FL__ROUND_MAGIC;
    double high = x - k * ln2_high;
    double low = k * ln2_low;
    double r = high - low;
    double p = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0);
    p = 1.0 / 39916800.0 + r * p;
    p = 1.0 / 3628800.0 + r * p;
    p = 1.0 / 362880.0 + r * p;
    p = 1.0 / 40320.0 + r * p;
    p = 1.0 / 5040.0 + r * p;
    p = 1.0 / 720.0 + r * p;
    p = 1.0 / 120.0 + r * p;
    p = 1.0 / 24.0 + r * p;
    p = 1.0 / 6.0 + r * p;
    p = 0.5 + r * p;
    double e = 1.0 + (high - (low - r * r * p));
    // In two steps, so that neither the scale nor a subnormal result is cut short.
    int32_t whole = (int32_t)k;
    int32_t half = whole / 2;
    return e * power_of_two(half) * power_of_two(whole - half);
}

// atan(t) for 0 <= t <= 1: the nearest multiple of 1/8 from a table, the small rest by its series.
static double atan_unit(double t)
{
    static const double atan_eighths[9] = {
        0.0,
        0.12435499454676143503,
        0.24497866312686415417,
        0.35877067027057222040,
        0.46364760900080611621,
        0.55859931534356243597,
        0.64350110879328438680,
        0.71882999962162450542,
        0.78539816339744830962,
    };
    int32_t i = (int32_t)(t * 8.0 + 0.5);
    double c = (double)i * 0.125;
    double s = (t - c) / (1.0 + t * c);
    double z = s * s;
    double p = -1.0 / 11.0 + z * (1.0 / 13.0);
    p = 1.0 / 9.0 + z * p;
    p = -1.0 / 7.0 + z * p;
    p = 1.0 / 5.0 + z * p;
    p = -1.0 / 3.0 + z * p;
    return atan_eighths[i] + (s + s * z * p);
}

double fl_atan2(double y, double x)
{
    if (isnan(x) || isnan(y)) {
        return (double)NAN;
    }
    double ax = fabs(x);
    double ay = fabs(y);
    if (ax == 0.0 && ay == 0.0) {
        return 0.0;
    }
    double angle;
    if (isinf(ax) && isinf(ay)) {
        angle = FL_PI / 4.0;
    } else if (ay <= ax) {
        angle = atan_unit(ay / ax);
    } else {
        angle = FL_PI / 2.0 - atan_unit(ax / ay);
    }
    if (x < 0.0) {
        angle = FL_PI - angle;
    }
    return y < 0.0 ? -angle : angle;
}

double fl_angle_wrap(double angle)
{
    if (angle > -FL_PI && angle <= FL_PI) {
        return angle;
    }
    double wrapped =
        fmod(angle, 2.0 * FL_PI); // exact, hence deterministic; NaN for what is not finite
    if (wrapped > FL_PI) {
        return wrapped - 2.0 * FL_PI;
    }
    return wrapped <= -FL_PI ? wrapped + 2.0 * FL_PI : wrapped;
}
