// fairlead/base.h: what every module shares.
//
// Results, time, memory, chance, vectors, and mathematics that gives the same bits everywhere.
// Nothing here does I/O, reads a clock or keeps state of its own.
//
// Threads: every function here is pure or touches only what is passed to it.
#ifndef FAIRLEAD_BASE_H
#define FAIRLEAD_BASE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---------------------------------------------------------------- building blocks of declarations

#if defined(_WIN32) && defined(FL_SHARED) && defined(FL_BUILDING)
#define FL_EXPORT __declspec(dllexport)
#elif defined(_WIN32) && defined(FL_SHARED)
#define FL_EXPORT __declspec(dllimport)
#elif defined(__GNUC__) && defined(FL_BUILDING)
#define FL_EXPORT __attribute__((visibility("default")))
#else
#define FL_EXPORT
#endif

#ifdef __cplusplus
#define FL_API extern "C" FL_EXPORT
#else
#define FL_API FL_EXPORT
#endif

// Whoever means to ignore an answer writes (void): that silences [[nodiscard]], and with clang
// warn_unused_result, too; but not with gcc, which takes the former in C17 as an extension. It must
// come first in a declaration, so the library's own build, where FL_API does, uses the latter.
#if defined(__clang__) || (defined(__GNUC__) && (defined(FL_BUILDING) || defined(_WIN32)))
#define FL_NODISCARD __attribute__((warn_unused_result))
#elif defined(__cplusplus) && __cplusplus >= 201703L
#define FL_NODISCARD [[nodiscard]]
#elif !defined(__cplusplus) && defined(__GNUC__) && __GNUC__ >= 10
#define FL_NODISCARD __extension__ [[nodiscard]]
#else
#define FL_NODISCARD
#endif

#if defined(__GNUC__)
#define FL_NORETURN __attribute__((noreturn))
#else
#define FL_NORETURN
#endif

// ---------------------------------------------------------------- results

/// X(name, value, what it means and what to do about it)
#define FL_RESULT_TABLE(X)                                                                         \
    X(OK, 0, "success")                                                                            \
    X(NO_MEMORY, -1, "the allocator returned nothing: reserve less or free something")             \
    X(BAD_VALUE, -2,                                                                               \
      "a mistake in the call: a value out of its range, not ours to change, or not allowed here")  \
    X(STALE_ID, -3, "the handle refers to something already removed: drop it")                     \
    X(WOULD_BLOCK, -4, "not now, we are not in yet or a queue is full: try again next tick")       \
    X(NOT_FOUND, -5, "nothing is there for that id or time: ask for something that exists")        \
    X(FULL, -6, "the capacity fixed at creation is used up: create it larger")                     \
    X(OUT_OF_ORDER, -7, "the time lies before what is already there: pass times in order")         \
    X(ADDRESS_IN_USE, -8, "another program has that address and port: stop it or take another")    \
    X(NO_ADDRESS, -9, "no such address here or no such host: check its spelling and the network")  \
    X(SYSTEM, -10, "the operating system refused: errno says why")                                 \
    X(REPLAYING, -11, "a timeline is playing ticks, perhaps again: do it outside of the step")

/// What a call that can fail for the world's reasons answers. Zero is success, failures are
/// negative.
typedef enum FlResult {
#define FL_RESULT_ROW(name, value, text) FL_##name = (value),
    FL_RESULT_TABLE(FL_RESULT_ROW)
#undef FL_RESULT_ROW
} FlResult;

/// One sentence for people: what it means and what to do about it.
FL_API const char *fl_result_text(FlResult result);

/// What went wrong, in a sentence. The caller's; filled in by those who take it, success included.
typedef struct FlError {
    FlResult code;
    char text[240]; ///< "" with FL_OK.
} FlError;

// ---------------------------------------------------------------- assert

/// Called for a broken invariant or a bad argument: prints where, then aborts. Does not return.
FL_API FL_NORETURN void fl_assert_failed(const char *expression, const char *file, int line);

/// Our own mistakes. Alive in Debug and RelWithDebInfo; a Release build defines FL_NO_ASSERT.
#if defined(FL_NO_ASSERT)
#define FL_ASSERT(expression) ((void)sizeof(expression))
#else
#define FL_ASSERT(expression)                                                                      \
    ((expression) ? (void)0 : fl_assert_failed(#expression, __FILE__, __LINE__))
#endif

// ---------------------------------------------------------------- time

/// Nanoseconds on a clock that the caller chose. Good for 292 years; differences are spans.
typedef int64_t FlTime;

#define FL_US(n) ((FlTime)(n)*1000)
#define FL_MS(n) ((FlTime)(n)*1000000)
#define FL_SEC(n) ((FlTime)(n)*1000000000)

/// A span that never ends, for settings that are switched off.
#define FL_FOREVER INT64_MAX

/// Later minus earlier, held at the ends of the range instead of overflowing.
static inline FlTime fl_span(FlTime later, FlTime earlier)
{
#if defined(__GNUC__) // one instruction and a look at its flag: nearly everything asks for spans
    FlTime span;
    return !__builtin_sub_overflow(later, earlier, &span) ? span
           : earlier < 0                                  ? INT64_MAX
                                                          : INT64_MIN;
#else
    if (earlier < 0 && later > INT64_MAX + earlier) {
        return INT64_MAX;
    }
    if (earlier > 0 && later < INT64_MIN + earlier) {
        return INT64_MIN;
    }
    return later - earlier;
#endif
}

/// time + span, held at the ends of the range instead of overflowing (so now + FL_FOREVER is
/// never).
static inline FlTime fl_time_add(FlTime time, FlTime span)
{
    if (span > 0 && time > INT64_MAX - span) {
        return INT64_MAX;
    }
    if (span < 0 && time < INT64_MIN - span) {
        return INT64_MIN;
    }
    return time + span;
}

static inline FlTime fl_time_min(FlTime a, FlTime b)
{
    return a < b ? a : b;
}

/// A span in seconds: the double nearest to it (up to 104 days; longer spans are rounded twice).
static inline double fl_span_seconds(FlTime span)
{
    return (double)span / 1e9;
}

/// Seconds as a span, rounded to the nearest nanosecond, held at the ends of the range; NaN gives
/// 0.
FL_API FlTime fl_span_from_seconds(double seconds);

// ---------------------------------------------------------------- addresses

typedef enum FlFamily {
    FL_FAMILY_NONE = 0,
    FL_FAMILY_IPV4 = 4,
    FL_FAMILY_IPV6 = 6,
} FlFamily;

/// Where a datagram comes from or goes to. Pass by value; {0} is nowhere. No padding: may be
/// compared as bytes. Module `net` reads and writes them as text.
typedef struct FlAddress {
    uint8_t ip[16]; ///< As on the wire; IPv4 uses the first four.
    uint32_t scope; ///< Interface of a link-local IPv6 address, else 0.
    uint16_t port;  ///< In the machine's own byte order.
    uint8_t family; ///< An FlFamily.
    uint8_t unused; ///< Zero.
} FlAddress;

/// Whether two addresses are the same, port and scope included.
FL_API bool fl_address_equal(FlAddress a, FlAddress b);

// ---------------------------------------------------------------- memory

/// Where an object gets its memory. Both functions are set, or neither (then: malloc and free).
typedef struct FlAlloc {
    void *(*alloc_fn)(void *ctx, size_t size, size_t align); ///< Returns NULL when there is none.
    void (*free_fn)(void *ctx, void *ptr, size_t size);      ///< Gets the size that was asked for.
    void *ctx;
} FlAlloc;

/// `size` zeroed bytes aligned to `align` (a power of two, at most alignof(max_align_t)), or NULL.
FL_API FL_NODISCARD void *fl_alloc(const FlAlloc *alloc, size_t size, size_t align);

/// Gives back what fl_alloc gave; `size` as it was asked for. NULL is ignored. It is wiped
/// first: what it held may have been secret.
FL_API void fl_free(const FlAlloc *alloc, void *ptr, size_t size);

/// Writes zeros, also where nothing reads them again: for copies of keys, tokens and invites.
FL_API void fl_wipe(void *bytes, size_t count);

// ---------------------------------------------------------------- chance

/// A stream of random numbers without hidden state: draw `index` of `stream` under `seed` is always
/// the same value, whatever else was drawn. Philox 4x32-10 (Salmon et al., 2011).
typedef struct FlRandom {
    uint64_t seed;
    uint64_t stream;
    uint64_t index; ///< The next draw's number; set it to jump.
} FlRandom;

/// Draw `index` of `stream` under `seed`: 64 uniform bits.
FL_API uint64_t fl_random_at(uint64_t seed, uint64_t stream, uint64_t index);

/// The next 64 bits of a stream.
FL_API uint64_t fl_random_next(FlRandom *random);

/// Uniform in [low, high), by 53 bits.
FL_API double fl_random_between(FlRandom *random, double low, double high);

/// Uniform in [0, bound) without bias; bound 0 gives 0. May take more than one draw.
FL_API uint64_t fl_random_below(FlRandom *random, uint64_t bound);

/// Standard normal (mean 0, deviation 1). Takes two draws. Same bits everywhere.
FL_API double fl_random_normal(FlRandom *random);

// ---------------------------------------------------------------- mathematics, the same bits
// everywhere
//
// libm's sin, cos, log, exp and atan2 differ between systems in the last bit, and one bit is enough
// for two peers to disagree. These use + - * / sqrt only, which IEEE 754 rounds alike everywhere.

#define FL_PI 3.14159265358979323846

/// sin and cos of x together. Error at most 1 unit in the last place up to |x| = 1e5 (2 up to 1e9);
/// deterministic for every finite x, but past 1e9 the reduction loses digits. Not finite: both NaN.
FL_API void fl_sincos(double x, double *sin_out, double *cos_out);

/// Angle of (x, y) in (-pi, pi]. Both zero gives 0.
FL_API double fl_atan2(double y, double x);

/// The same angle in (-pi, pi].
FL_API double fl_angle_wrap(double angle);

// ---------------------------------------------------------------- vectors

typedef struct FlVec3 {
    double x, y, z;
} FlVec3;

static inline FlVec3 fl_vec3(double x, double y, double z)
{
    FlVec3 v = {x, y, z};
    return v;
}

static inline FlVec3 fl_vec3_add(FlVec3 a, FlVec3 b)
{
    return fl_vec3(a.x + b.x, a.y + b.y, a.z + b.z);
}

static inline FlVec3 fl_vec3_sub(FlVec3 a, FlVec3 b)
{
    return fl_vec3(a.x - b.x, a.y - b.y, a.z - b.z);
}

static inline FlVec3 fl_vec3_scale(FlVec3 a, double s)
{
    return fl_vec3(a.x * s, a.y * s, a.z * s);
}

/// a + b * s
static inline FlVec3 fl_vec3_add_scaled(FlVec3 a, FlVec3 b, double s)
{
    return fl_vec3(a.x + b.x * s, a.y + b.y * s, a.z + b.z * s);
}

static inline double fl_vec3_dot(FlVec3 a, FlVec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline double fl_vec3_length(FlVec3 a)
{
    return sqrt(fl_vec3_dot(a, a));
}

static inline double fl_vec3_distance(FlVec3 a, FlVec3 b)
{
    return fl_vec3_length(fl_vec3_sub(a, b));
}

static inline bool fl_vec3_finite(FlVec3 a)
{
    return isfinite(a.x) && isfinite(a.y) && isfinite(a.z);
}

// ---------------------------------------------------------------- rotations

/// A unit quaternion. {1, 0, 0, 0} turns nothing; note that {0} is no rotation.
typedef struct FlQuat {
    double w, x, y, z;
} FlQuat;

#endif
