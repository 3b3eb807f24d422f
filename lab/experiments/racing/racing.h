// How two players, or sixteen, see the same race: by scheme, over ways of several delays and
// losses.
//
// Every player has one car and sees all of them. Each scheme has an entity of its own per car, in
// the same sessions: so all schemes meet the same race and the same network.
//
//     recorded progress ──▶ owner: sent or not ──▶ session ═ ways ═▶ session ──▶ shown progress
//              └──▶ own picture (FlShow, by the same scheme)
//
// A race is one-dimensional here: x is the distance along the course (progress), which is all that
// is measured. Lengths are metres, figures in car lengths.
#ifndef LAB_RACING_H
#define LAB_RACING_H

#include "lab/experiments/experiment.h"
#include "lab/figures/stats.h"
#include "lab/world/lab_unit.h"
#include "lab/world/world.h"

enum { RACE_CARS = 16, RACE_SCHEMES = 32, RACE_CELLS = 32 };

#define RACE_CAR_LENGTH 1.6   ///< m: a kart.
#define RACE_THRESHOLD 0.1    ///< Car lengths: T_dr.
#define RACE_SAMPLE FL_MS(33) ///< Samples are not closer than this, to within a tenth.

// ---------------------------------------------------------------- schemes

typedef struct RaceScheme {
    char name[64];
    FlShowDef show;   ///< How everybody shows the cars, own one included.
    double threshold; ///< Car lengths; not used by placement `snap`, which sends every sample.
    bool sent;        ///< Own car shown by what was sent of it, as others see it; else by every
                      ///< sample.
} RaceScheme;

/// NAME[/sent][@T] or HOLD/PLACEMENT/CONVERGENCE[/sent][@T]: a scheme of fairlead/show.h or any
/// combination; T is the threshold in car lengths. False: it is neither.
bool race_scheme_parse(const char *text, RaceScheme *scheme);

/// Those of a list with commas or blanks between.
LabStatus race_schemes_parse(const char *list, RaceScheme *schemes, int32_t *count,
                             LabError *error);

/// The paper's, its footnote's, and ours.
#define RACE_ALL_SCHEMES "nc causality dr dr+causality adaptive best"

// ---------------------------------------------------------------- races

/// Where one car was: samples in order of time, the first at 0.
typedef struct RaceTrack {
    FlTime *time;
    double *progress; ///< m, from the first car's first sample on.
    int32_t count;
} RaceTrack;

typedef struct Race {
    char name[128];
    RaceTrack cars[RACE_CARS];
    int32_t car_count;
    FlTime length;
    double low, high; ///< Of all progress.
    double top_speed; ///< m/s along the course: the fastest step of any car.
} Race;

typedef struct RaceMaterial {
    Race *races;
    int32_t count;
} RaceMaterial;

/// Every *.csv.gz of a directory with this many cars, in order of name; or one file.
LabStatus race_material_traces(const char *path, int32_t cars, RaceMaterial *material,
                               LabError *error);

/// The racing game's bots: one race of 30 s per seed.
LabStatus race_material_bots(uint64_t seed, int32_t races, int32_t cars, RaceMaterial *material,
                             LabError *error);

void race_material_free(RaceMaterial *material);

// ---------------------------------------------------------------- a race is played

/// One way: Pareto-normal delays, random loss.
typedef struct RaceWay {
    double mean_ms, sd_ms;
    double loss; ///< Share.
} RaceWay;

typedef struct RacePlay {
    const Race *race;
    uint64_t seed;
    bool sealed;
    FlTopology topology;
    bool referee; ///< The host is nobody's: near to all (0.5 ms), it keeps the time and in a mesh
                  ///< nothing else. Else the first player hosts.
    const RaceScheme *schemes;
    int32_t scheme_count;
    RaceWay first;  ///< From the first car's player to the others.
    RaceWay others; ///< From all others.
} RacePlay;

/// What came of it, by one scheme.
typedef struct RaceFigures {
    int64_t comparisons;       ///< Of pairs of players, every sample.
    double inconsistency;      ///< Share of them that disagree which of their cars leads.
    double first, others;      ///< Positional errors in car lengths: of the first car at the others
                               ///< (d1), of theirs at the first (d2).
    double difference;         ///< d1 - d2
    double updates_per_second; ///< Told per car.
    double own_lag_ms;
    double jumps_per_minute; ///< On one player's screen, all cars.
    double clock_ms;         ///< Mean of |session time here - the host's|, all players.
} RaceFigures;

/// Plays it; `figures` has one entry per scheme.
LabStatus race_play(const RacePlay *play, RaceFigures *figures, LabError *error);

// ---------------------------------------------------------------- sweeps

/// One point of a sweep.
typedef struct RaceCell {
    const char *sweep; ///< delay or loss
    RaceWay first, others;
} RaceCell;

/// All of both sweeps, as the paper's; returns how many.
int32_t race_cells(RaceCell cells[RACE_CELLS]);

/// Where in a list the point is; -1: not there.
int32_t race_cell_find(const RaceCell *cells, int32_t count, const char *sweep, double mean_ms,
                       double sd_ms, double loss);

typedef struct RaceSweep {
    RacePlay play; ///< But for race, seed and ways.
    const RaceMaterial *material;
    uint64_t seed;
    int32_t repeats; ///< Times that every race is played, over other luck.
    LabUnits *units; ///< Or NULL: all is played here.
} RaceSweep;

/// Plays one point with all races: figures[race * scheme_count + scheme], averaged over repeats.
/// A race with its repeats is a unit.
LabStatus race_sweep_cell(const RaceSweep *sweep, const RaceCell *cell, RaceFigures *figures,
                          LabError *error);

#endif
