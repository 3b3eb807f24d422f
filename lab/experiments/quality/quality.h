// How wrong a view is for its bytes: Fairlead beside what other games do.
//
// A host owns everything that moves in a recording and sends it to receivers at several delays, by
// one scheme at a time. All schemes run in real sessions, so packets have their real sizes; they
// differ in which frames are sent, by which model, and in how receivers show them.
#ifndef LAB_QUALITY_H
#define LAB_QUALITY_H

#include "lab/actors/material.h"
#include "lab/experiments/experiment.h"
#include "lab/figures/stats.h"

enum { QUALITY_DELAYS = 8, QUALITY_STEPS = 8 };

/// Which frames of the truth are sent.
typedef enum QualityRule {
    QUALITY_RATE,      ///< The first of every period: snapshots.
    QUALITY_PER_AXIS,  ///< When a coordinate is off by more than the threshold, as BZFlag does.
    QUALITY_THRESHOLD, ///< As the library's exporter decides.
} QualityRule;

/// What the picture is of.
typedef enum QualityTime {
    QUALITY_NOW,
    QUALITY_STAMP,  ///< The newest update's time.
    QUALITY_BEHIND, ///< The delay and 100 ms ago.
} QualityTime;

/// One way of replicating motion.
typedef struct QualityScheme {
    const char *name;
    QualityRule rule;
    FlModel model;
    QualityTime shown;
    bool delta; ///< Counts the bytes of differences from the last acknowledged snapshot.
} QualityScheme;

extern const QualityScheme quality_schemes[];
extern const int32_t quality_scheme_count;

/// The scheme that is the library's own, and the one that the others are held against.
#define QUALITY_OURS "fairlead"

/// One run to be played.
typedef struct QualityPlay {
    const Material *material;
    const QualityScheme *scheme;
    double step; ///< Snapshots per second; or the threshold, in units.
    uint64_t seed;
    bool sealed;
    FlTime delay[QUALITY_DELAYS]; ///< One way; a receiver each.
    int32_t delay_count;
    double loss;    ///< Share.
    double tick_hz; ///< Ours: how often owners look at things and may send; 0: at every frame.
    FlTime length;
} QualityPlay;

/// What one receiver saw. Errors are in the recording's units.
typedef struct QualityFigures {
    double bytes_s;    ///< Down to this receiver, with the headers of UDP and IP.
    double updates_s;  ///< Of one entity.
    double mean, p95;  ///< |true now - shown|
    double shown_mean; ///< |true at the time shown - shown|
    double jumps_min;  ///< Steps of one entity that nothing in the game can make.
} QualityFigures;

/// Plays it. `figures` has one entry per delay.
LabStatus quality_play(const QualityPlay *def, QualityFigures *figures, LabError *error);

/// Bytes that the same snapshots would take as differences from the one that each receiver has
/// acknowledged `round_trip` before, without packet headers. The whole material up to `length`.
double quality_delta_bytes(const Material *material, double rate, FlTime round_trip, FlTime length);

/// Which frames of a recording are sent: a source whose truth is all of it, and whose frames these.
typedef struct QualityFilter {
    const Source *all;
    FlTime *frames; ///< Rising.
    int32_t count;
} QualityFilter;

/// Errors: FL_NO_MEMORY.
FL_NODISCARD FlResult quality_filter_make(QualityFilter *filter, const Source *all,
                                          QualityRule rule, double step, FlTime length);
Source quality_filter_source(const QualityFilter *filter);
void quality_filter_free(QualityFilter *filter);

#endif
