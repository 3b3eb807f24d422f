// What the schemes send: which frames, and what differences from acknowledged snapshots take.
#include <math.h>
#include <stdlib.h>

#include "lab/experiments/quality/quality.h"

const QualityScheme quality_schemes[] = {
    {"snapshots, on arrival", QUALITY_RATE, FL_MODEL_STILL, QUALITY_STAMP, false},
    {"snapshots, 100 ms behind", QUALITY_RATE, FL_MODEL_LINEAR, QUALITY_BEHIND, false},
    {"snapshots, extrapolated", QUALITY_RATE, FL_MODEL_LINEAR, QUALITY_NOW, false},
    {"delta snapshots, 100 ms behind", QUALITY_RATE, FL_MODEL_LINEAR, QUALITY_BEHIND, true},
    {"delta snapshots, extrapolated", QUALITY_RATE, FL_MODEL_LINEAR, QUALITY_NOW, true},
    {"per-axis threshold", QUALITY_PER_AXIS, FL_MODEL_CIRCULAR, QUALITY_NOW, false},
    {"linear threshold", QUALITY_THRESHOLD, FL_MODEL_LINEAR, QUALITY_NOW, false},
    {QUALITY_OURS, QUALITY_THRESHOLD, FL_MODEL_AUTO, QUALITY_NOW, false},
};
const int32_t quality_scheme_count = (int32_t)(sizeof quality_schemes / sizeof *quality_schemes);

// ---------------------------------------------------------------- which frames

#define BZFLAG_SILENCE FL_SEC(1)

/// True if any coordinate of the truth is further off than the threshold from what was sent last.
static bool axis_is_off(const FlMotion *sent, const Truth *truth, double threshold)
{
    FlVec3 at = fl_motion_position(sent, truth->state.time);
    FlVec3 off = fl_vec3_sub(truth->state.position, at);
    return fmax(fabs(off.x), fmax(fabs(off.y), fabs(off.z))) > threshold ||
           truth->state.time - sent->time >= BZFLAG_SILENCE;
}

static FlResult push_frame(QualityFilter *filter, FlTime time, int32_t *capacity)
{
    if (filter->count == *capacity) {
        int32_t grown = *capacity == 0 ? 256 : 2 * *capacity;
        FlTime *frames = (FlTime *)realloc(filter->frames, (size_t)grown * sizeof *frames);
        if (frames == NULL) {
            return FL_NO_MEMORY;
        }
        filter->frames = frames;
        *capacity = grown;
    }
    filter->frames[filter->count++] = time;
    return FL_OK;
}

FlResult quality_filter_make(QualityFilter *filter, const Source *all, QualityRule rule,
                             double step, FlTime length)
{
    *filter = (QualityFilter){.all = all};
    int32_t capacity = 0;
    FlMotion sent = {0};
    FlTime next = 0;
    uint32_t life = UINT32_MAX;
    FlTime period = rule == QUALITY_RATE ? fl_span_from_seconds(1.0 / step) : 0;
    for (FlTime t = all->frame_fn(all->ctx, 0); t < length; t = all->frame_fn(all->ctx, t + 1)) {
        Truth truth;
        if (!all->truth_fn(all->ctx, t, &truth)) {
            continue;
        }
        bool sends = truth.life != life ||
                     (rule == QUALITY_RATE ? t >= next : axis_is_off(&sent, &truth, step));
        if (!sends) {
            continue;
        }
        FlResult result = push_frame(filter, t, &capacity);
        if (result != FL_OK) {
            return result;
        }
        life = truth.life;
        sent = fl_motion_make(FL_MODEL_CIRCULAR, &truth.state);
        next = period > 0 ? (t / period + 1) * period : 0;
    }
    return FL_OK;
}

static FlTime filter_frame(const void *ctx, FlTime time)
{
    const QualityFilter *filter = (const QualityFilter *)ctx;
    int32_t low = 0;
    int32_t high = filter->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (filter->frames[middle] < time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < filter->count ? filter->frames[low] : FL_FOREVER;
}

static bool filter_truth(const void *ctx, FlTime time, Truth *truth)
{
    const QualityFilter *filter = (const QualityFilter *)ctx;
    return filter->all->truth_fn(filter->all->ctx, time, truth);
}

Source quality_filter_source(const QualityFilter *filter)
{
    return (Source){filter_frame, filter_truth, filter, filter->all->length};
}

void quality_filter_free(QualityFilter *filter)
{
    free(filter->frames);
    *filter = (QualityFilter){0};
}

// ---------------------------------------------------------------- differences
//
// Per entity: a bit whether anything changed; then per component (position, velocity, yaw) two bits
// that say how long the difference is: none, 5, 10 bits, or the whole value. It is the coding of
// well-made snapshot games, on the same quantised values as our own updates.

enum { PARTS = 7, SHORT_BITS = 5, LONG_BITS = 10 };

typedef struct Parts {
    bool there;
    uint32_t life;
    int64_t step[PARTS];
    int32_t width[PARTS];
} Parts;

static Parts parts_at(const FlWorld *world, const Source *source, FlTime time)
{
    Parts parts = {0};
    Truth truth;
    parts.there = time >= 0 && source->truth_fn(source->ctx, time, &truth);
    if (!parts.there) {
        return parts;
    }
    const FlVec3 *p = &truth.state.position;
    const FlVec3 *v = &truth.state.velocity;
    double value[6] = {p->x, p->y, p->z, v->x, v->y, v->z};
    for (int32_t i = 0; i < 6; i++) {
        parts.step[i] = (int64_t)floor(value[i] / world->def.precision + 0.5);
        parts.width[i] = world->quantiser[FL_QUANTISER_POSITION + i].width;
    }
    if (truth.state.facing.kind == FL_FACING_YAW) {
        double turns = truth.state.facing.yaw / (2.0 * FL_PI);
        parts.width[6] = world->yaw_width;
        parts.step[6] = (int64_t)floor((turns - floor(turns)) * ldexp(1.0, world->yaw_width));
    }
    parts.life = truth.life;
    return parts;
}

static int32_t difference_bits(const Parts *now, const Parts *known)
{
    bool whole = !known->there || known->life != now->life;
    int32_t bits = 1;
    bool changed = whole;
    for (int32_t i = 0; i < PARTS; i++) {
        int64_t off = now->step[i] - known->step[i];
        int64_t size = off < 0 ? -off : off;
        int32_t length = whole || size >= 1 << (LONG_BITS - 1) ? now->width[i]
                         : size >= 1 << (SHORT_BITS - 1)       ? LONG_BITS
                         : size > 0                            ? SHORT_BITS
                                                               : 0;
        bits += now->width[i] > 0 ? 2 + (length < now->width[i] ? length : now->width[i]) : 0;
        changed = changed || off != 0;
    }
    return changed ? bits : 1;
}

double quality_delta_bytes(const Material *material, double rate, FlTime round_trip, FlTime length)
{
    FlWorld world;
    FlResult result = fl_world_init(&material->world, &world);
    FL_ASSERT(result == FL_OK);
    (void)result;
    FlTime period = fl_span_from_seconds(1.0 / rate);
    FlTime back = (round_trip / period + 1) * period;
    double bytes = 0.0;
    for (FlTime t = 0; t < length; t += period) {
        int64_t bits = 0;
        for (int32_t i = 0; i < material->run_count; i++) {
            Parts now = parts_at(&world, &material->runs[i].source, t);
            Parts known = parts_at(&world, &material->runs[i].source, t - back);
            bits += now.there ? difference_bits(&now, &known) : 1;
        }
        int64_t whole = (bits + 7) / 8;
        bytes += (double)whole;
    }
    return bytes;
}
