// What the unit tests of base and motion share: seeded cases, near-equality with a reason, hashes.
//
// Every number a test invents comes from fl_random under a fixed seed, so a failing case is the
// same case on every machine; messages print values in hexadecimal, so it can be typed in again.
// One draw per expression: C leaves open in which order arguments and initialisers are computed.
#ifndef FAIRLEAD_TESTS_SUPPORT_H
#define FAIRLEAD_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fairlead/motion.h"

#include "base/maths.h"

// ---------------------------------------------------------------- how many cases

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SUPPORT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define SUPPORT_SANITIZED 1
#endif
#endif

/// How many cases to try: `count`, or a tenth of it where sanitizers make each of them slow.
#if defined(SUPPORT_SANITIZED)
#define CASES(count) ((int32_t)((count) / 10 + 1))
#else
#define CASES(count) ((int32_t)(count))
#endif

/// A bound on time: as given for an optimised build, wider for the others.
#if defined(SUPPORT_SANITIZED) || !defined(__OPTIMIZE__)
#define SLOW(seconds) ((seconds)*20.0)
#else
#define SLOW(seconds) (seconds)
#endif

// ---------------------------------------------------------------- bits

static inline uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/// The same double: equal bits, or both NaN (whose sign and payload are nobody's business).
static inline bool same_double(double a, double b)
{
    return (isnan(a) && isnan(b)) || bits_of(a) == bits_of(b);
}

static inline bool same_vec3(FlVec3 a, FlVec3 b)
{
    return same_double(a.x, b.x) && same_double(a.y, b.y) && same_double(a.z, b.z);
}

/// FNV-1a over the bits of doubles: equal hashes mean equal results to the last bit.
typedef struct Hash {
    uint64_t value;
} Hash;

static inline Hash hash_start(void)
{
    Hash hash = {UINT64_C(0xcbf29ce484222325)};
    return hash;
}

static inline void hash_bits(Hash *hash, uint64_t bits)
{
    for (int32_t i = 0; i < 64; i += 8) {
        hash->value ^= bits >> i & 0xffu;
        hash->value *= UINT64_C(0x100000001b3);
    }
}

static inline void hash_double(Hash *hash, double x)
{
    hash_bits(hash, isnan(x) ? UINT64_C(0x7ff8000000000000) : bits_of(x));
}

static inline void hash_vec3(Hash *hash, FlVec3 v)
{
    hash_double(hash, v.x);
    hash_double(hash, v.y);
    hash_double(hash, v.z);
}

static inline void check_hash_at(Hash got, uint64_t want, const char *file, int line)
{
    if (got.value != want) {
        print_error("golden hash is 0x%016llx, was 0x%016llx\n", (unsigned long long)got.value,
                    (unsigned long long)want);
        _fail(file, line);
    }
}
#define check_hash(got, want) check_hash_at(got, want, __FILE__, __LINE__)

// ---------------------------------------------------------------- chance

static inline FlRandom random_stream(uint64_t stream)
{
    FlRandom random = {.seed = 20240229, .stream = stream};
    return random;
}

static inline bool random_chance(FlRandom *r, uint64_t one_in)
{
    return fl_random_below(r, one_in) == 0;
}

static inline double random_sign(FlRandom *r)
{
    return random_chance(r, 2) ? -1.0 : 1.0;
}

/// Ten to a uniform power, of either sign.
static inline double random_scale(FlRandom *r, double low_power, double high_power)
{
    double sign = random_sign(r);
    return sign * pow(10.0, fl_random_between(r, low_power, high_power));
}

static inline FlVec3 random_vec3(FlRandom *r, double size)
{
    double x = fl_random_between(r, -size, size);
    double y = fl_random_between(r, -size, size);
    double z = fl_random_between(r, -size, size);
    return fl_vec3(x, y, z);
}

/// Uniform over whole nanoseconds in [low, high].
static inline FlTime random_time(FlRandom *r, FlTime low, FlTime high)
{
    return low + (FlTime)fl_random_below(r, (uint64_t)(high - low) + 1);
}

/// Ten to a uniform power, in nanoseconds, at least 1.
static inline FlTime random_span(FlRandom *r, double low_power, double high_power)
{
    FlTime span = (FlTime)pow(10.0, fl_random_between(r, low_power, high_power));
    return span < 1 ? 1 : span;
}

/// Any rotation, evenly.
static inline FlQuat random_quat(FlRandom *r)
{
    FlQuat q;
    q.w = fl_random_normal(r);
    q.x = fl_random_normal(r);
    q.y = fl_random_normal(r);
    q.z = fl_random_normal(r);
    return fl__quat_normalise(q);
}

/// A state as in a game of that size and speed.
static inline FlState random_state(FlRandom *r, double size, double speed)
{
    FlState state = {0};
    state.time = random_time(r, -FL_SEC(1000), FL_SEC(1000));
    state.position = random_vec3(r, size);
    state.velocity = random_vec3(r, speed);
    state.acceleration = random_vec3(r, speed);
    state.turn_rate = fl_random_between(r, -3.0, 3.0);
    return state;
}

// ---------------------------------------------------------------- checks that say what they saw

static inline void check_near_at(double got, double want, double allowed, const char *file,
                                 int line)
{
    if (!(fabs(got - want) <= allowed) && !(got == want)) {
        print_error("got %.17g (%a), wanted %.17g (%a), apart by %.3g, allowed %.3g\n", got, got,
                    want, want, fabs(got - want), allowed);
        _fail(file, line);
    }
}
#define check_near(got, want, allowed) check_near_at(got, want, allowed, __FILE__, __LINE__)

static inline void check_vec3_near_at(FlVec3 got, FlVec3 want, double allowed, const char *file,
                                      int line)
{
    check_near_at(got.x, want.x, allowed, file, line);
    check_near_at(got.y, want.y, allowed, file, line);
    check_near_at(got.z, want.z, allowed, file, line);
}
#define check_vec3_near(got, want, allowed)                                                        \
    check_vec3_near_at(got, want, allowed, __FILE__, __LINE__)

static inline void check_same_at(double got, double want, const char *file, int line)
{
    if (!same_double(got, want)) {
        print_error("got %a, wanted the same bits as %a\n", got, want);
        _fail(file, line);
    }
}
#define check_same(got, want) check_same_at(got, want, __FILE__, __LINE__)

/// The largest error seen so far and the case that made it.
typedef struct Worst {
    double error;
    int64_t number; ///< Of the case.
} Worst;

static inline void worst_note(Worst *worst, double error, int64_t number)
{
    if (!(error <= worst->error)) { // NaN is the worst of all
        worst->error = isnan(error) ? (double)INFINITY : error;
        worst->number = number;
    }
}

static inline void check_worst_at(const Worst *worst, double allowed, const char *what,
                                  const char *file, int line)
{
    print_message("             %s: worst %.3g of %.3g allowed (case %lld)\n", what, worst->error,
                  allowed, (long long)worst->number);
    if (!(worst->error <= allowed)) {
        _fail(file, line);
    }
}
#define check_worst(worst, allowed, what) check_worst_at(worst, allowed, what, __FILE__, __LINE__)

/// Processor time in seconds: for bounds that only a hang or an exploding search can break.
static inline double processor_seconds(void)
{
    return (double)clock() / (double)CLOCKS_PER_SEC;
}

#endif
