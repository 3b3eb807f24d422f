// Linear motions, the most common kind, at the speed of memory.
//
// A million of them leave the cache, and then the cost is traffic alone. Stores that go around the
// cache, whole lines at a time, spare reading what is about to be overwritten: a quarter of that
// traffic. Measured against a plain copy of the same bytes by `fairlead bench motion`.
#include "private.h"

FL__WIDE
static void plainly(int32_t count, const FlMotionArrays *m, double now_ns, FL__RESTRICT_OUT)
{
    const double *since = m->since_ns;
    FlVec3Arrays p = m->position;
    FlVec3Arrays v = m->velocity;
    for (int32_t i = 0; i < count; i++) {
        double s = (now_ns - since[i]) / 1e9;
        x[i] = p.x[i] + v.x[i] * s;
        y[i] = p.y[i] + v.y[i] * s;
        z[i] = p.z[i] + v.z[i] * s;
    }
}

#if defined(__SSE2__)
#include <emmintrin.h>

#define STREAM_FROM 200000 // motions; their results no longer fit a cache
#define LINE 8             // doubles in a cache line

static inline void stream_line(const double *p, const double *v, const double *s, double *out)
{
    for (int32_t i = 0; i < LINE; i += 2) {
        __m128d moved = _mm_mul_pd(_mm_loadu_pd(v + i), _mm_loadu_pd(s + i));
        _mm_stream_pd(out + i, _mm_add_pd(_mm_loadu_pd(p + i), moved));
    }
}

// For a whole number of lines.
static void around_the_cache(int32_t count, const FlMotionArrays *m, double now_ns,
                             FL__RESTRICT_OUT)
{
    FlVec3Arrays p = m->position;
    FlVec3Arrays v = m->velocity;
    for (int32_t i = 0; i < count; i += LINE) {
        double s[LINE];
        for (int32_t k = 0; k < LINE; k++) {
            s[k] = (now_ns - m->since_ns[i + k]) / 1e9;
        }
        stream_line(p.x + i, v.x + i, s, x + i);
        stream_line(p.y + i, v.y + i, s, y + i);
        stream_line(p.z + i, v.z + i, s, z + i);
    }
    _mm_sfence();
}

// The motions after the first n.
static FlMotionArrays rest_after(const FlMotionArrays *m, int32_t n)
{
    FlMotionArrays rest = *m;
    rest.since_ns += n;
    rest.position = (FlVec3Arrays){m->position.x + n, m->position.y + n, m->position.z + n};
    rest.velocity = (FlVec3Arrays){m->velocity.x + n, m->velocity.y + n, m->velocity.z + n};
    return rest;
}

void fl__linear_positions(int32_t count, const FlMotionArrays *m, double now_ns, FL__RESTRICT_OUT)
{
    bool aligned = (((uintptr_t)x | (uintptr_t)y | (uintptr_t)z) & 63u) == 0;
    int32_t n = aligned && count >= STREAM_FROM ? count / LINE * LINE : 0;
    FlMotionArrays rest = rest_after(m, n);
    around_the_cache(n, m, now_ns, x, y, z);
    plainly(count - n, &rest, now_ns, x + n, y + n, z + n);
}
#else
void fl__linear_positions(int32_t count, const FlMotionArrays *m, double now_ns, FL__RESTRICT_OUT)
{
    plainly(count, m, now_ns, x, y, z);
}
#endif
