// Benchmarks: contenders timed against each other in one run.
//
// The machines are shared and noisy, so a time by itself says little. All contenders of a contest
// take turns, round after round; a contender's time is its best round, and its ratio to the
// contest's yardstick is the median over rounds, each round compared with itself.
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "fairlead/fairlead.h"

#define BENCH_CONTENDERS 8
#define BENCH_ROWS 32

/// Does its work once over `ctx` and answers something computed from it, so that no compiler can
/// leave it out.
typedef double (*BenchWork)(void *ctx);

typedef struct BenchContender {
    const char *name;
    BenchWork work;
} BenchContender;

typedef struct BenchRow {
    const char *contest;
    const char *name;
    const char *against; ///< The yardstick's name.
    double ns;           ///< Per item, best round.
    double ratio;        ///< Time over the yardstick's, median of rounds.
} BenchRow;

typedef struct BenchReport {
    BenchRow rows[BENCH_ROWS];
    int32_t count;
} BenchReport;

/// Lets the contenders take turns for `rounds` rounds of `items` items each. The first is the
/// yardstick.
void bench_contest(BenchReport *report, const char *contest, const BenchContender *contenders,
                   int32_t contender_count, void *ctx, double items, int32_t rounds);

typedef struct BenchScene {
    const char *name;
    const char *help;
    bool (*run)(BenchReport *report); ///< False: out of memory.
} BenchScene;

extern const BenchScene bench_scenes[];
extern const int32_t bench_scene_count;

bool bench_motion(BenchReport *report);

#endif
