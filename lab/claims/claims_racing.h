// What the claims on racing are judged by: one set of runs, shared by all of them.
//
// The unit of chance is the pair, and ratios are taken pair by pair. Where a pair never disagrees
// at a point there is no ratio to it; then all are judged by differences: "a is less than twice b"
// as a - 2 b < 0.
#ifndef LAB_CLAIMS_RACING_H
#define LAB_CLAIMS_RACING_H

#include "lab/claims/claims.h"
#include "lab/experiments/racing/racing.h"

/// Schemes; those before PAPERS are the paper's.
enum { NC, CAUSALITY, DR, BOTH, PAPERS, ADAPTIVE = PAPERS, FINER, HIGHER, STEPS, CLAIM_SCHEMES };

enum { CLAIM_PAIRS = 256 };

/// Their names, for race_scheme_parse.
extern const char *const race_claim_schemes[CLAIM_SCHEMES];

/// All pairs at all points of both sweeps.
typedef struct RaceMeasured {
    int32_t races;
    int32_t cell_count;
    RaceCell cells[RACE_CELLS];
    RaceFigures *figures; ///< [(cell * races + race) * CLAIM_SCHEMES + scheme]
} RaceMeasured;

/// The point of a sweep; it must be there.
int32_t race_delay_cell(const RaceMeasured *m, double mean_ms, double sd_ms);
int32_t race_loss_cell(const RaceMeasured *m, double loss);
bool race_of_sweep(const RaceMeasured *m, int32_t cell, const char *sweep);

// ---------------------------------------------------------------- figures

/// One number of what a scheme did in a race.
typedef double (*RaceFigureFn)(const RaceFigures *figures);

double race_rate(const RaceFigures *figures);
double race_difference(const RaceFigures *figures);
double race_lag(const RaceFigures *figures);

/// A figure over the pairs.
Estimate race_figure(const RaceMeasured *m, RaceFigureFn fn, int32_t cell, int32_t scheme);

/// a - factor * b over the pairs; b < 0: a alone.
Estimate race_contrast(const RaceMeasured *m, RaceFigureFn fn, int32_t cell_a, int32_t a,
                       double factor, int32_t cell_b, int32_t b);

/// a's rate by b's, pair by pair. False, and NaN: some pair of b's never disagrees.
bool race_ratio(const RaceMeasured *m, int32_t cell_a, int32_t a, int32_t cell_b, int32_t b,
                Estimate *ratio);

/// Is a's rate more than low and less than high times b's? 0 and INFINITY ask for nothing.
Verdict race_judge_times(const RaceMeasured *m, int32_t cell_a, int32_t a, int32_t cell_b,
                         int32_t b, double low, double high);

// ---------------------------------------------------------------- words

/// A verdict over many points, with those named that do not hold.
typedef struct RaceJudgement {
    Verdict verdict;
    Text but;
} RaceJudgement;

void race_judge_point(RaceJudgement *j, Verdict verdict, const RaceMeasured *m, int32_t cell,
                      const char *what);

/// The words, then the points that do not hold. Ends the judgement.
void race_conclude(RaceJudgement *j, Finding *finding, const Text *words);

/// Mean rates over a sweep, in percent: "nc 18 to 46 %".
void race_say_range(Text *words, const RaceMeasured *m, const char *sweep, int32_t scheme);

/// By how much a scheme's rate at one point is that at another.
void race_say_times(Text *words, const RaceMeasured *m, int32_t cell_a, int32_t cell_b,
                    int32_t scheme);

/// The rate at a point.
void race_say_at(Text *words, const RaceMeasured *m, int32_t cell, int32_t scheme);

#endif
