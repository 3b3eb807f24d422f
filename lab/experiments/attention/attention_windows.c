// What a second of motion looks like in figures.
#include "lab/experiments/attention/attention_windows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLUR = 4, SEEN_COUNT = WINDOW_TICKS - BLUR + 1 }; // ticks

#define PLACE_STEP 10.0         // units: a third of a player's width
#define YAW_STEP (FL_PI / 16.0) // likewise as coarse
#define STANDS 0.5              // units in a tick
#define RUNS 1.0                // off what legs go in one
#define PACE (ARENA_RUN_SPEED / ARENA_TICK_HZ)

static double rounded(double value, double step)
{
    return step * floor(value / step + 0.5);
}

// What an eye gets of both, the shown and the true: no sharper in time than 200 ms, no finer than a
// step. Without a limit what is shown is off by what changed within the last tick, so classifiers
// that see every tick tell it from the truth always, and nobody else does: that set the resolution,
// by bots of another seed, with plain dead reckoning to be told from the truth as before.
static void observe(const WindowPose pose[WINDOW_TICKS], WindowPose seen[SEEN_COUNT])
{
    for (int32_t i = 0; i < SEEN_COUNT; i++) {
        const WindowPose *from = &pose[i];
        FlVec3 sum = {0.0, 0.0, 0.0};
        double turned = 0.0;
        for (int32_t t = 0; t < BLUR; t++) {
            sum = fl_vec3_add(sum, from[t].position);
            turned += fl_angle_wrap(from[t].yaw - from->yaw);
        }
        FlVec3 mean = fl_vec3_scale(sum, 1.0 / BLUR);
        seen[i].position = fl_vec3(rounded(mean.x, PLACE_STEP), rounded(mean.y, PLACE_STEP),
                                   rounded(mean.z, PLACE_STEP));
        seen[i].yaw = rounded(from->yaw + turned / BLUR, YAW_STEP);
    }
}

// ---------------------------------------------------------------- figures

typedef struct Moments {
    double sum, squares, most;
} Moments;

static void add(Moments *m, double value)
{
    m->sum += value;
    m->squares += value * value;
    m->most = value > m->most ? value : m->most;
}

static double deviation(const Moments *m, double n)
{
    return sqrt(fmax(m->squares / n - m->sum * m->sum / (n * n), 0.0));
}

static void figures_of(const WindowPose window[WINDOW_TICKS], double figures[DISCRIMINATE_FIGURES])
{
    WindowPose pose[SEEN_COUNT];
    observe(window, pose);
    Moments step = {0}, push = {0}, rise = {0}, lift = {0}, turn = {0}, twist = {0}, bend = {0};
    double stands = 0.0, along = 0.0, runs = 0.0;
    FlVec3 last = {0.0, 0.0, 0.0};
    double last_turn = 0.0;
    for (int32_t i = 1; i < SEEN_COUNT; i++) {
        FlVec3 way = fl_vec3_sub(pose[i].position, pose[i - 1].position);
        double flat = hypot(way.x, way.y);
        double turned = fl_angle_wrap(pose[i].yaw - pose[i - 1].yaw);
        add(&step, flat);
        add(&rise, fabs(way.z));
        add(&turn, fabs(turned));
        stands += flat < STANDS ? 1.0 : 0.0;
        runs += fabs(flat - PACE) < RUNS ? 1.0 : 0.0;
        along += flat > STANDS ? cos(atan2(way.y, way.x) - pose[i].yaw) : 0.0;
        if (i > 1) {
            add(&push, hypot(way.x - last.x, way.y - last.y));
            add(&lift, fabs(way.z - last.z));
            add(&twist, fabs(turned - last_turn));
            bool moves = flat > STANDS && hypot(last.x, last.y) > STANDS;
            double bent = fl_angle_wrap(atan2(way.y, way.x) - atan2(last.y, last.x));
            add(&bend, moves ? fabs(bent) : 0.0);
        }
        last = way;
        last_turn = turned;
    }
    double n = SEEN_COUNT - 1;
    FlVec3 net = fl_vec3_sub(pose[SEEN_COUNT - 1].position, pose[0].position);
    double all[DISCRIMINATE_FIGURES] = {step.sum / n,  deviation(&step, n),
                                        step.most,     push.sum / n,
                                        push.most,     rise.sum / n,
                                        rise.most,     lift.most,
                                        turn.sum / n,  turn.most,
                                        twist.sum / n, bend.sum / n,
                                        stands,        runs,
                                        along / n,     hypot(net.x, net.y) / (step.sum + 1.0)};
    memcpy(figures, all, sizeof all);
}

// ---------------------------------------------------------------- keeping some

static void keep(AttentionWindows *windows, const WindowPair *pair)
{
    if (windows->seen++ % windows->every != 0 || windows->count == WINDOW_CAPACITY) {
        return;
    }
    DiscriminateSample *shown = &windows->shown[windows->count];
    DiscriminateSample *real = &windows->real[windows->count];
    windows->count++;
    figures_of(pair->shown, shown->figures);
    figures_of(pair->real, real->figures);
    shown->label = true;
    real->label = false;
    shown->match = real->match = windows->match;
}

static WindowPose pose_of(const ArenaPlayer *p)
{
    WindowPose pose = {fl_vec3(p->x, p->y, p->z), p->yaw};
    return pose;
}

void windows_see(AttentionWindows *windows, WindowPair *pair, const ArenaPlayer *shown,
                 const ArenaPlayer *real)
{
    pair->shown[pair->count] = pose_of(shown);
    pair->real[pair->count] = pose_of(real);
    pair->count++;
    if (pair->count == WINDOW_TICKS) {
        keep(windows, pair);
        pair->count = 0;
    }
}

// ---------------------------------------------------------------- asking

// The real ones, and the shown ones or, in their place, every second of the real.
static double ask(const AttentionWindows *windows, bool floor)
{
    size_t count = (size_t)windows->count;
    DiscriminateSample *all = (DiscriminateSample *)calloc(2 * count + 1, sizeof *all);
    if (all == NULL) {
        return (double)NAN;
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        all[kept] = windows->real[i];
        all[kept].label = floor && i % 2 == 0;
        kept++;
        if (!floor) {
            all[kept++] = windows->shown[i];
        }
    }
    double result = discriminate(all, (int32_t)kept);
    free(all);
    return result;
}

double windows_auc(const AttentionWindows *windows)
{
    return ask(windows, false);
}

double windows_floor(const AttentionWindows *windows)
{
    return ask(windows, true);
}
