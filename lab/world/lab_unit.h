// Units: the runs of an experiment that depend on nothing but their own settings.
//
// An experiment asks for every unit by a name. Without a LabUnits it is played on the spot. With
// one, its result may be known from a file, come from another process, or be left to another shard.
// The experiment is the same code in all cases, and a result is kept byte by byte, so what is
// merged equals a single run.
#ifndef LAB_LAB_UNIT_H
#define LAB_LAB_UNIT_H

#include "lab/figures/text.h"
#include "lab/world/lab_run.h"

#define LAB_UNIT_NAME_BYTES 96

typedef struct LabUnit {
    char name[LAB_UNIT_NAME_BYTES]; ///< Unique within the experiment; no blanks.
    double seconds;                 ///< On one core, roughly: for the time to go.
    void *figures;                  ///< Zeroed before the unit is played; no pointers in it.
    size_t figures_bytes;
    Text *text; ///< Is added to; or NULL.
} LabUnit;

/// Plays one unit. `def` is the caller's.
typedef LabStatus (*LabUnitFn)(const void *def, void *figures, Text *text, LabError *error);

typedef enum LabUnitAnswer {
    LAB_UNIT_PLAY,      ///< Play it here.
    LAB_UNIT_KNOWN,     ///< Figures and text have been filled in, or it has failed: *status says.
    LAB_UNIT_ELSEWHERE, ///< Left to others.
} LabUnitAnswer;

struct LabUnits {
    LabUnitAnswer (*ask_fn)(void *ctx, const LabUnit *unit, LabStatus *status, LabError *error);
    /// After LAB_UNIT_PLAY. Errors: as lab_unit.
    LabStatus (*keep_fn)(void *ctx, const LabUnit *unit, LabStatus status, LabError *error);
    void *ctx;
    const char *prefix; ///< Of all names; or NULL.
    bool missing;       ///< Some unit was left to others: there is nothing to conclude yet.
};

/// The unit of a name.
__attribute__((format(printf, 4, 5))) LabUnit lab_unit_of(void *figures, size_t bytes,
                                                          double seconds, const char *name, ...);

/// Plays a unit, or finds its result. LAB_OK with zeros: it is left to others; see
/// lab_units_missing.
LabStatus lab_unit(LabUnits *units, const LabUnit *unit, LabUnitFn play_fn, const void *def,
                   LabError *error);

/// Has any unit been left to others?
bool lab_units_missing(const LabUnits *units);

#endif
