// Motion by formula and from recordings.
#include "lab/actors/source.h"

#include <stdlib.h>
#include <string.h>

static FlTime frame_time(int64_t frame)
{
    return frame * FL_SEC(1) / SOURCE_FRAME_HZ;
}

/// The first of the even frames at or after `time`.
static FlTime even_frame(const void *ctx, FlTime time)
{
    (void)ctx;
    if (time <= 0) {
        return 0;
    }
    int64_t frame =
        time / FL_SEC(1) * SOURCE_FRAME_HZ + time % FL_SEC(1) * SOURCE_FRAME_HZ / FL_SEC(1);
    while (frame_time(frame) < time) {
        frame++;
    }
    return frame_time(frame);
}

// ---------------------------------------------------------------- by formula

static bool straight_truth(const void *ctx, FlTime time, Truth *truth)
{
    const Straight *s = (const Straight *)ctx;
    *truth = (Truth){0};
    if (time < 0) {
        return false;
    }
    // Lines begin and end at frames: the owner sees the cut when it happens.
    FlTime line = even_frame(NULL, fl_span_from_seconds(2.0 * s->reach / s->speed));
    FL_ASSERT(line > 0);
    int64_t life = time / line;
    FlRandom random = {.seed = s->seed, .stream = 1, .index = (uint64_t)life};
    double heading = fl_random_between(&random, -FL_PI, FL_PI);
    FlVec3 ahead = {0};
    fl_sincos(heading, &ahead.y, &ahead.x);
    double at = s->speed * fl_span_seconds(time % line) - s->reach;
    truth->state.time = time;
    truth->state.position = fl_vec3_scale(ahead, at);
    truth->state.velocity = fl_vec3_scale(ahead, s->speed);
    truth->state.facing = fl_facing_yaw(heading, 0.0);
    truth->life = (uint32_t)life;
    return true;
}

Source source_straight(const Straight *straight, FlTime length)
{
    Source source = {even_frame, straight_truth, straight, length};
    return source;
}

static bool circle_truth(const void *ctx, FlTime time, Truth *truth)
{
    const Circle *c = (const Circle *)ctx;
    *truth = (Truth){0};
    if (time < 0) {
        return false;
    }
    double angle = c->phase + c->turn_rate * fl_span_seconds(time);
    double radius = c->speed / fabs(c->turn_rate);
    double side = c->turn_rate > 0.0 ? 1.0 : -1.0;
    double sine;
    double cosine;
    fl_sincos(angle, &sine, &cosine);
    FlVec3 ahead = fl_vec3(cosine, sine, 0.0);
    FlVec3 left = fl_vec3(-sine, cosine, 0.0);
    truth->state.time = time;
    truth->state.position = fl_vec3_add_scaled(c->centre, left, -side * radius);
    truth->state.velocity = fl_vec3_scale(ahead, c->speed);
    truth->state.acceleration = fl_vec3_scale(left, c->speed * c->turn_rate);
    truth->state.turn_rate = c->turn_rate;
    truth->state.facing = fl_facing_yaw(fl_angle_wrap(angle), c->turn_rate);
    return true;
}

Source source_circle(const Circle *circle, FlTime length)
{
    Source source = {even_frame, circle_truth, circle, length};
    return source;
}

// ---------------------------------------------------------------- recordings

FlResult recording_add(Recording *recording, const FlState *state, uint32_t life)
{
    if (recording->count > 0 && state->time <= recording->frames[recording->count - 1].state.time) {
        return FL_OUT_OF_ORDER;
    }
    if (recording->count == recording->capacity) {
        int32_t capacity = recording->capacity < 1024 ? 1024 : 2 * recording->capacity;
        Frame *frames =
            (Frame *)realloc(recording->frames, (size_t)capacity * sizeof *recording->frames);
        if (frames == NULL) {
            return FL_NO_MEMORY;
        }
        recording->frames = frames;
        recording->capacity = capacity;
    }
    recording->frames[recording->count++] = (Frame){*state, life};
    double speed = fl_vec3_length(state->velocity);
    recording->top_speed = speed > recording->top_speed ? speed : recording->top_speed;
    return FL_OK;
}

void recording_free(Recording *recording)
{
    free(recording->frames);
    *recording = (Recording){0};
}

/// The first frame at or after `time`; `count` if there is none.
static int32_t frame_at_or_after(const Recording *r, FlTime time)
{
    int32_t low = 0;
    int32_t high = r->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (r->frames[middle].state.time < time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static FlTime recording_frame(const void *ctx, FlTime time)
{
    const Recording *r = (const Recording *)ctx;
    int32_t i = frame_at_or_after(r, time);
    return i < r->count ? r->frames[i].state.time : FL_FOREVER;
}

static bool recording_truth(const void *ctx, FlTime time, Truth *truth)
{
    const Recording *r = (const Recording *)ctx;
    *truth = (Truth){0};
    int32_t i = frame_at_or_after(r, time);
    if (i < r->count && r->frames[i].state.time == time) {
        *truth = (Truth){r->frames[i].state, r->frames[i].life};
        return true;
    }
    if (i == 0 || i == r->count || r->frames[i].life != r->frames[i - 1].life) {
        return false; // before the first, after the last, or between two lives
    }
    const FlState *a = &r->frames[i - 1].state;
    const FlState *b = &r->frames[i].state;
    double share = fl_span_seconds(time - a->time) / fl_span_seconds(b->time - a->time);
    truth->state = *a;
    truth->state.time = time;
    truth->state.position =
        fl_vec3_add_scaled(a->position, fl_vec3_sub(b->position, a->position), share);
    truth->state.facing.yaw += a->facing.yaw_rate * fl_span_seconds(time - a->time);
    truth->life = r->frames[i].life;
    return true;
}

Source source_recording(const Recording *recording)
{
    FlTime length = recording->count > 0 ? recording->frames[recording->count - 1].state.time : 0;
    Source source = {recording_frame, recording_truth, recording, length};
    return source;
}

static FlResult add_track(const Trace *trace, const TraceTrack *track, FlTime begin, uint32_t life,
                          Recording *recording)
{
    FlSampler sampler = {0};
    for (int32_t i = track->first; i < track->first + track->count; i++) {
        FlState state = trace_state(trace, i, &sampler);
        state.time += begin - trace->time[track->first];
        FlResult result = recording_add(recording, &state, life);
        if (result != FL_OK) {
            return result;
        }
    }
    return FL_OK;
}

FlResult recording_from_trace(const Trace *trace, int64_t id, FlTime life_min, FlTime pause,
                              Recording *recording)
{
    *recording = (Recording){0};
    FlTime begin = 0;
    uint32_t life = 0;
    for (int32_t t = 0; t < trace->track_count; t++) {
        const TraceTrack *track = &trace->tracks[t];
        if (track->id != id || track->count < 2 || trace_track_span(trace, track) < life_min) {
            continue;
        }
        FlResult result = add_track(trace, track, begin, life++, recording);
        if (result != FL_OK) {
            recording_free(recording);
            return result;
        }
        begin += trace_track_span(trace, track) + pause;
    }
    return FL_OK;
}
