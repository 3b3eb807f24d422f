// What experiments are played with: one source of motion per run.
//
// A run is what is independent of other runs: one seed of a formula, one seed of the game's bots,
// or one entity of a trace with all its long lives.
#ifndef LAB_MATERIAL_H
#define LAB_MATERIAL_H

#include "lab/actors/source.h"
#include "lab/world/lab_run.h"

/// A tank of BZFlag, in its units.
#define TANK_SPEED 25.0
#define TANK_TURN_RATE 0.785
#define TANK_FIELD 400.0 ///< From the middle to a wall.

typedef struct MaterialRun {
    Source source; ///< Points to one of the following.
    Straight straight;
    Circle circle;
    Recording recording;
    int64_t entity; ///< Of a trace.
} MaterialRun;

typedef struct Material {
    const char *motion; ///< linear, circular, random
    FlModel model;      ///< That fits it, or that the game uses.
    FlWorldDef world;   ///< That holds it.
    double top_speed;
    MaterialRun *runs;
    int32_t run_count;
} Material;

/// Straight lines across the field at full speed.
LabStatus material_straight(const LabRun *run, FlTime length, Material *material, LabError *error);

/// Full circles at full speed.
LabStatus material_circle(const LabRun *run, FlTime length, Material *material, LabError *error);

/// The tank game's bots: tank 0 of a match for each seed.
LabStatus material_bots(const LabRun *run, FlTime length, Material *material, LabError *error);

/// A trace: every entity that has lives of at least `life_min`, and of these lives only.
LabStatus material_trace(const char *path, FlTime life_min, Material *material, LabError *error);

/// Keeps the run of one entity of a trace. Errors: LAB_BAD_INPUT (it has none; all is freed).
LabStatus material_only(Material *material, int64_t entity, LabError *error);

void material_free(Material *material);

#endif
