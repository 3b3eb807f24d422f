// What a second of motion looks like in figures.
#include "lab/experiments/attention/attention_windows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_STEP 0.125
#define YAW_STEP (FL_PI / 512.0)

static WindowPose rounded(const ArenaPlayer *p)
{
    WindowPose pose = {fl_vec3(PLACE_STEP * floor(p->x / PLACE_STEP + 0.5),
                               PLACE_STEP * floor(p->y / PLACE_STEP + 0.5),
                               PLACE_STEP * floor(p->z / PLACE_STEP + 0.5)),
                       YAW_STEP * floor(p->yaw / YAW_STEP + 0.5)};
    return pose;
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

static void figures_of(const WindowPose pose[WINDOW_TICKS], double figures[DISCRIMINATE_FIGURES])
{
    Moments step = {0}, push = {0}, rise = {0}, lift = {0}, turn = {0}, twist = {0}, bend = {0};
    double stands = 0.0, along = 0.0, runs = 0.0;
    FlVec3 last = {0.0, 0.0, 0.0};
    double last_turn = 0.0;
    for (int32_t i = 1; i < WINDOW_TICKS; i++) {
        FlVec3 way = fl_vec3_sub(pose[i].position, pose[i - 1].position);
        double flat = hypot(way.x, way.y);
        double turned = fl_angle_wrap(pose[i].yaw - pose[i - 1].yaw);
        add(&step, flat);
        add(&rise, fabs(way.z));
        add(&turn, fabs(turned));
        stands += flat < 0.5 ? 1.0 : 0.0;
        runs += fabs(flat - ARENA_RUN_SPEED / ARENA_TICK_HZ) < 0.5 ? 1.0 : 0.0;
        along += flat > 0.5 ? cos(atan2(way.y, way.x) - pose[i].yaw) : 0.0;
        if (i > 1) {
            add(&push, hypot(way.x - last.x, way.y - last.y));
            add(&lift, fabs(way.z - last.z));
            add(&twist, fabs(turned - last_turn));
            bool moves = flat > 0.5 && hypot(last.x, last.y) > 0.5;
            double bent = fl_angle_wrap(atan2(way.y, way.x) - atan2(last.y, last.x));
            add(&bend, moves ? fabs(bent) : 0.0);
        }
        last = way;
        last_turn = turned;
    }
    double n = WINDOW_TICKS - 1;
    FlVec3 net = fl_vec3_sub(pose[WINDOW_TICKS - 1].position, pose[0].position);
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

void windows_see(AttentionWindows *windows, WindowPair *pair, const ArenaPlayer *shown,
                 const ArenaPlayer *real)
{
    pair->shown[pair->count] = rounded(shown);
    pair->real[pair->count] = rounded(real);
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
