// The stopwatch and the table of scenes.
#define _POSIX_C_SOURCE 200809L // clock_gettime
#include "bench/bench.h"

#include <stdlib.h>
#include <time.h>

const BenchScene bench_scenes[] = {
    {"motion", "distance integrals, many motions at once, trigger checks", bench_motion},
    {"link", "a relaying server beside ENet, packets one way, sealing", bench_link},
    {"attention", "who looks at whom among 1000 players, a frame of the focus policies",
     bench_attention},
    {"rollback", "a timeline going back 30 ticks of a race of 16, and its parts", bench_rollback},
};
const int32_t bench_scene_count = (int32_t)(sizeof bench_scenes / sizeof bench_scenes[0]);

BenchSettings bench_settings_default(void)
{
    BenchSettings settings = {
        .clients = {16, 32, 64, 128}, .clients_count = 4, .seconds = 1.0, .rounds = 3};
    return settings;
}

// The processor's time, the kernel's on our behalf included: others' work on the same machine is
// left out.
static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double timed(BenchWork work, void *ctx)
{
    double start = seconds_now();
    volatile double result = work(ctx);
    (void)result;
    return seconds_now() - start;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median_ratio(const double *times, const double *yardstick, int32_t rounds)
{
    FL_ASSERT(rounds > 0);
    double ratio[BENCH_ROUNDS] = {0.0};
    for (int32_t r = 0; r < rounds; r++) {
        ratio[r] = times[r] / yardstick[r];
    }
    qsort(ratio, (size_t)rounds, sizeof ratio[0], compare);
    return ratio[rounds / 2];
}

double bench_smallest(const double *times, int32_t rounds)
{
    double best = times[0];
    for (int32_t r = 1; r < rounds; r++) {
        best = times[r] < best ? times[r] : best;
    }
    return best;
}

void bench_contest(BenchReport *report, const char *contest, const BenchContender *contenders,
                   int32_t contender_count, void *ctx, double items, int32_t rounds)
{
    FL_ASSERT(contender_count <= BENCH_CONTENDERS && rounds <= BENCH_ROUNDS);
    FL_ASSERT(report->count + contender_count <= BENCH_ROWS);
    double times[BENCH_CONTENDERS][BENCH_ROUNDS] = {{0.0}};
    for (int32_t r = -1; r < rounds; r++) { // round -1 warms up and is not counted
        for (int32_t c = 0; c < contender_count; c++) {
            double t = timed(contenders[c].work, ctx);
            times[c][r < 0 ? 0 : r] = t;
        }
    }
    for (int32_t c = 0; c < contender_count; c++) {
        BenchRow row = {
            .contest = contest,
            .name = contenders[c].name,
            .against = contenders[0].name,
            .ns = bench_smallest(times[c], rounds) / items * 1e9,
            .ratio = bench_median_ratio(times[c], times[0], rounds),
        };
        report->rows[report->count++] = row;
    }
}
