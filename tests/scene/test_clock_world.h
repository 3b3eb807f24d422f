// A small world for the clock's tests: two clocks, one path each way, and the samples that `link`
// would make of their packets, in the order in which it would hear of them.
//
// True time is the seconds since the world began. The local clock shows it in nanoseconds, until it
// is set; the remote clock runs away from it by drift and offset. Both peers send at the same rate.
// A packet of the remote peer carries the arrival of every packet it has received and not yet
// reported in a packet that came through, so a report is late when its carriers are lost.
#ifndef FAIRLEAD_TESTS_CLOCK_WORLD_H
#define FAIRLEAD_TESTS_CLOCK_WORLD_H

#include "fairlead/clock.h"

#include "base/maths.h"

#include <stdlib.h>

enum { WORLD_PACKETS = 8192, WORLD_EVENTS = 2 * WORLD_PACKETS };

typedef enum Jitter {
    JITTER_NONE,
    JITTER_UNIFORM,    ///< Within +-width.
    JITTER_NORMAL,     ///< Deviation width; a delay below zero becomes zero.
    JITTER_NORMAL_CUT, ///< Deviation width; a delay below zero is drawn again.
    JITTER_QUEUE,      ///< Exponential, mean width, on top.
    JITTER_WANDERING,  ///< Normal, each delay correlated 0.9 with the one before.
} Jitter;

typedef struct WorldDef {
    uint64_t seed;
    double seconds;
    double hz;
    Jitter jitter;
    double width_s[2]; ///< Per direction: remote to local, local to remote.
    double base_s[2];
    double loss;
    double drift;  ///< The remote clock gains this.
    FlTime offset; ///< The remote clock's lead at the beginning.
    FlTime step;   ///< Rounding of the remote clock's stamps.

    double route_at_s;    ///< From this time on ...
    double route_by_s[2]; ///< ... delays are longer by this.
    double set_at_s;      ///< At this time the clocks are set ...
    FlTime set_local_by;  ///< ... by these.
    FlTime set_remote_by;
} WorldDef;

typedef struct Event {
    double at_s; ///< When the local peer hears of it.
    int32_t carrier;
    bool ack;
    FlTime sent;
    FlTime arrived;
    double delay_s;  ///< The truth, ...
    double remote_s; ///< ... and when it happened at the remote peer.
} Event;

typedef struct World {
    WorldDef def;
    int32_t count;
    Event event[WORLD_EVENTS];
    double sent_s[WORLD_PACKETS]; ///< The remote peer's packets.
    double arrived_s[WORLD_PACKETS];
    bool lost[WORLD_PACKETS];
} World;

static inline WorldDef world_def_default(uint64_t seed)
{
    WorldDef def = {.seed = seed,
                    .seconds = 30.0,
                    .hz = 20.0,
                    .jitter = JITTER_UNIFORM,
                    .width_s = {0.005, 0.005},
                    .base_s = {0.05, 0.05},
                    .drift = 50e-6,
                    .offset = FL_SEC(86400),
                    .step = FL_US(250),
                    .route_at_s = 1e9,
                    .set_at_s = 1e9};
    return def;
}

static inline FlTime world_ns(double seconds)
{
    return (FlTime)(seconds * 1e9);
}

static inline FlTime world_local(const World *w, double at_s)
{
    return world_ns(at_s) + (at_s >= w->def.set_at_s ? w->def.set_local_by : 0);
}

static inline FlTime world_remote(const World *w, double at_s)
{
    FlTime set = at_s >= w->def.set_at_s ? w->def.set_remote_by : 0;
    return world_ns(at_s) + world_ns(at_s * w->def.drift) + w->def.offset + set;
}

/// The remote clock as it stands on the wire.
static inline FlTime world_stamp(const World *w, double at_s)
{
    FlTime exact = world_remote(w, at_s);
    FlTime step = w->def.step;
    if (step <= 1) {
        return exact;
    }
    FlTime down = exact - ((exact % step) + step) % step;
    return exact - down >= step / 2 ? down + step : down;
}

typedef struct Path {
    FlRandom random;
    double wander;
} Path;

static inline double world_delay(const World *w, Path *path, int32_t way, double at_s)
{
    double width = w->def.width_s[way];
    double base = w->def.base_s[way] + (at_s >= w->def.route_at_s ? w->def.route_by_s[way] : 0.0);
    base = base > 0.0 ? base : 0.0;
    double delay = base;
    switch (w->def.jitter) {
    case JITTER_NONE:
        break;
    case JITTER_UNIFORM:
        delay = base + fl_random_between(&path->random, -width, width);
        break;
    case JITTER_NORMAL:
        delay = base + width * fl_random_normal(&path->random);
        break;
    case JITTER_NORMAL_CUT:
        do {
            delay = base + width * fl_random_normal(&path->random);
        } while (delay < 0.0);
        break;
    case JITTER_QUEUE:
        delay = base - width * fl__log(1.0 - fl_random_between(&path->random, 0.0, 1.0));
        break;
    case JITTER_WANDERING:
        path->wander = 0.9 * path->wander + sqrt(0.19) * fl_random_normal(&path->random);
        delay = base + width * path->wander;
        break;
    }
    return delay > 0.0 ? delay : 0.0;
}

static inline int world_by_time(const void *left, const void *right)
{
    const Event *a = left;
    const Event *b = right;
    if (a->at_s != b->at_s) {
        return a->at_s < b->at_s ? -1 : 1;
    }
    if (a->carrier != b->carrier) {
        return a->carrier < b->carrier ? -1 : 1;
    }
    if (a->ack != b->ack) {
        return a->ack ? 1 : -1;
    }
    return a->sent < b->sent ? -1 : a->sent > b->sent; // The oldest report first.
}

/// Which packet of the remote peer first brings the report of an arrival; -1 when none does.
static inline int32_t world_carrier(const World *w, int32_t packets, double arrived_s)
{
    int32_t best = -1;
    int32_t first = (int32_t)((arrived_s - w->sent_s[0]) * w->def.hz);
    for (int32_t k = first < 0 ? 0 : first; k < packets; k++) {
        if (w->sent_s[k] < arrived_s) {
            continue;
        }
        if (best >= 0 && w->sent_s[k] > w->arrived_s[best]) {
            break;
        }
        if (!w->lost[k] && (best < 0 || w->arrived_s[k] < w->arrived_s[best])) {
            best = k;
        }
    }
    return best;
}

/// Everything that will happen, sorted.
static inline void world_make(World *w, const WorldDef *def)
{
    w->def = *def;
    w->count = 0;
    Path in = {{.seed = def->seed, .stream = 1}, 0.0};
    Path out = {{.seed = def->seed, .stream = 2}, 0.0};
    FlRandom chance = {.seed = def->seed, .stream = 3};
    int32_t packets = (int32_t)(def->seconds * def->hz);
    double phase = fl_random_between(&chance, 0.0, 1.0) / def->hz;
    for (int32_t k = 0; k < packets; k++) {
        double sent = phase + k / def->hz;
        double delay = world_delay(w, &in, FL_CLOCK_IN, sent);
        w->sent_s[k] = sent;
        w->arrived_s[k] = sent + delay;
        w->lost[k] = fl_random_between(&chance, 0.0, 1.0) < def->loss;
        if (!w->lost[k]) {
            Event e = {sent + delay, k,   false, world_stamp(w, sent), world_local(w, sent + delay),
                       delay,        sent};
            w->event[w->count++] = e;
        }
    }
    for (int32_t k = 0; k < packets; k++) {
        double sent = k / def->hz;
        double delay = world_delay(w, &out, FL_CLOCK_OUT, sent);
        bool lost = fl_random_between(&chance, 0.0, 1.0) < def->loss;
        int32_t carrier = lost ? -1 : world_carrier(w, packets, sent + delay);
        if (carrier >= 0) {
            Event e = {w->arrived_s[carrier],        carrier, true,        world_local(w, sent),
                       world_stamp(w, sent + delay), delay,   sent + delay};
            w->event[w->count++] = e;
        }
    }
    qsort(w->event, (size_t)w->count, sizeof w->event[0], world_by_time);
}

static inline bool world_tell(FlClock *clock, const Event *e)
{
    return e->ack ? fl_clock_acked(clock, e->sent, e->arrived)
                  : fl_clock_received(clock, e->sent, e->arrived);
}

/// Tells a clock everything up to a time; returns the first event not told.
static inline int32_t world_play(const World *w, FlClock *clock, int32_t from, double until_s)
{
    while (from < w->count && w->event[from].at_s <= until_s) {
        world_tell(clock, &w->event[from++]);
    }
    return from;
}

/// Estimate minus truth, in seconds.
static inline double world_error(const World *w, const FlClock *clock, double at_s)
{
    return fl_span_seconds(fl_clock_remote_at(clock, world_local(w, at_s)) - world_remote(w, at_s));
}

#endif
