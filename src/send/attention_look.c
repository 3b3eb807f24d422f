// One observer looking at many players: proximity and aim, a few nanoseconds each.
//
// A thousand players are a million pairs a frame, so this loop is free of branches and calls, and
// compilers make wide instructions of it. It works in floats, relative to the middle of all
// players, and with polynomials of its own for logarithm, power and angle; together they are off by
// less than 5e-4 where a float holds positions to 1e-5 of the distances that matter.
//
// The angle comes from the chord between the two directions, not from their cosine: near zero,
// where a careful aim differs from a careless one, a float's cosine is off by 5e-4 rad.
//
// Only + - * / and square roots: every compiler and width gives the same bits.
#include "look.h"
#include "private.h"

#define HALF_ROOT 0x3f3504f3u // sqrt(1/2): mantissas are taken from there to sqrt(2)

// The exponent of a positive normal number, and in *rest its mantissa less one.
static inline float split(float x, float *rest)
{
    int32_t exponent = (int32_t)(fl__float_bits(x) - HALF_ROOT) >> 23;
    *rest = fl__float_of(fl__float_bits(x) - ((uint32_t)exponent << 23)) - 1.0f;
    return (float)exponent;
}

// To 3e-5.
static inline float log2_fine(float x)
{
    float f;
    float k = split(x, &f);
    float p = -0.392461481f + 0.261170063f * f;
    p = 0.484648269f + f * p;
    p = -0.720462429f + f * p;
    p = 1.44265585f + f * p;
    return k + f * p;
}

// To 2e-3: an exponent that is off by so much changes no power below one by more than 3e-4.
static inline float log2_coarse(float x)
{
    float f;
    float k = split(x, &f);
    float p = -0.752407297f + 0.459796778f * f;
    p = 1.44358145f + f * p;
    return k + f * p;
}

#define ROUND_MAGIC 12582912.0f // 1.5 * 2^23: adding it leaves the nearest integer in the low bits

// 2^x for -100 <= x <= 0, to 8e-5.
static inline float exp2_of(float x)
{
    float shifted = x + ROUND_MAGIC;
    float f = x - (shifted - ROUND_MAGIC);
    float p = 0.242639962f + 0.0560058546f * f;
    p = 0.693105318f + f * p;
    p = 0.999924497f + f * p;
    return p * fl__float_of((fl__float_bits(shifted) + 127u) << 23);
}

// The angle between two unit vectors whose ends are sqrt(q) apart, to 1e-5. Beyond a right angle:
// what is missing to the opposite.
static inline float angle_of(float q)
{
    float m = q > 2.0f ? 4.0f - q : q;
    m = m > 0.0f ? m : 0.0f;
    float p = 0.000102692427f + 0.000382221114f * m;
    p = 0.00517763663f + m * p;
    p = 0.0415305696f + m * p;
    p = 1.00000599f + m * p;
    float a = sqrtf(m) * p;
    return q > 2.0f ? 3.14159265f - a : a;
}

#define WIDTH_INVERSE 1.27323954f // of the cone of attention: 45 degrees
#define STEEPNESS 1.5f
#define LEAST -60.0f         // far below, products would be subnormal, and those take their time
#define LN2_HALF 0.34657359f // ln d = ln 2 / 2 * log2 of d squared

// By what the processor can do, not by its name: the wide form is twice as fast here.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) &&       \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static void
look(int32_t count, const FlAttentionRow *row, const FlAttentionView *view, float *restrict angle,
     float *restrict value)
{
    const float *x = row->x;
    const float *y = row->y;
    const float *z = row->z;
    const float *present = row->present;
    const FlAttentionView v = *view;
    for (int32_t i = 0; i < count; i++) {
        float dx = x[i] - v.eye[0];
        float dy = y[i] - v.eye[1];
        float dz = z[i] - v.eye[2];
        float dd = dx * dx + dy * dy + dz * dz + 1e-12f;
        float d = sqrtf(dd);
        float unit = 1.0f / d;
        float cx = dx * unit - v.forward[0];
        float cy = dy * unit - v.forward[1];
        float cz = dz * unit - v.forward[2];
        float a = angle_of(cx * cx + cy * cy + cz * cz);
        float before = angle[i] < 0.0f ? a : angle[i];
        float mean = before + v.blend * (a - before);
        angle[i] = mean;
        float near = 1.0f - d * v.reach_inverse;
        near = near > 0.0f ? near : 0.0f;
        float aimed = 1.0f - mean * WIDTH_INVERSE;
        float base = aimed > 1e-6f ? aimed : 1e-6f;
        float logarithm = LN2_HALF * log2_coarse(dd * v.metre2_inverse);
        float power = STEEPNESS * (logarithm > 1.0f ? logarithm : 1.0f) * log2_fine(base);
        float aim = exp2_of(power > LEAST ? power : LEAST);
        aim = aimed > 0.0f ? aim : 0.0f;
        value[i] = present[i] * (v.proximity * near * sqrtf(near) + v.aim * aim);
    }
}

// Apart from the loop: a function in several versions would be exported.
void fl__attention_look(int32_t count, const FlAttentionRow *row, const FlAttentionView *view,
                        float *restrict angle, float *restrict value)
{
    look(count, row, view, angle, value);
}
