// Sources for runs.
#include "lab/actors/material.h"

#include <stdlib.h>
#include <string.h>

#include "lab/actors/bots.h"

/// Between two lives of a recording: longer than any delay in an experiment.
#define LIFE_PAUSE FL_SEC(3)

static LabStatus open_material(Material *material, const char *motion, FlModel model,
                               int32_t run_count, LabError *error)
{
    *material = (Material){.motion = motion, .model = model, .top_speed = TANK_SPEED};
    FlWorldDef world = fl_world_def_default();
    world.low = fl_vec3(-TANK_FIELD, -TANK_FIELD, 0.0);
    world.high = fl_vec3(TANK_FIELD, TANK_FIELD, 0.0);
    world.top_speed = 40.0; // a tank on another's shoulders falls
    world.top_turn_rate = 3.0;
    world.entity_capacity = 256;
    material->world = world;
    material->runs = (MaterialRun *)calloc((size_t)run_count, sizeof *material->runs);
    if (material->runs == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    material->run_count = run_count;
    return LAB_OK;
}

void material_free(Material *material)
{
    for (int32_t i = 0; i < material->run_count; i++) {
        recording_free(&material->runs[i].recording);
    }
    free(material->runs);
    *material = (Material){0};
}

// ---------------------------------------------------------------- by formula

LabStatus material_straight(const LabRun *run, FlTime length, Material *material, LabError *error)
{
    LabStatus status = open_material(material, "linear", FL_MODEL_LINEAR, run->runs, error);
    for (int32_t i = 0; i < material->run_count; i++) {
        MaterialRun *r = &material->runs[i];
        r->straight = (Straight){TANK_SPEED, TANK_FIELD - 10.0, run->seed + (uint64_t)i};
        r->source = source_straight(&r->straight, length);
    }
    return status;
}

LabStatus material_circle(const LabRun *run, FlTime length, Material *material, LabError *error)
{
    LabStatus status = open_material(material, "circular", FL_MODEL_CIRCULAR, run->runs, error);
    for (int32_t i = 0; i < material->run_count; i++) {
        MaterialRun *r = &material->runs[i];
        FlRandom random = {.seed = run->seed + (uint64_t)i, .stream = 2};
        double room = TANK_FIELD - TANK_SPEED / TANK_TURN_RATE;
        double side = fl_random_below(&random, 2) == 0 ? -1.0 : 1.0;
        double x = fl_random_between(&random, -room, room);
        double y = fl_random_between(&random, -room, room);
        double phase = fl_random_between(&random, -FL_PI, FL_PI);
        r->circle = (Circle){TANK_SPEED, side * TANK_TURN_RATE, fl_vec3(x, y, 0.0), phase};
        r->source = source_circle(&r->circle, length);
    }
    return status;
}

// ---------------------------------------------------------------- recordings

LabStatus material_bots(const LabRun *run, FlTime length, Material *material, LabError *error)
{
    LabStatus status = open_material(material, "random", FL_MODEL_CIRCULAR, run->runs, error);
    for (int32_t i = 0; i < material->run_count && status == LAB_OK; i++) {
        MaterialRun *r = &material->runs[i];
        FlResult result = bots_record(run->seed + (uint64_t)i, length, &r->recording);
        if (result != FL_OK) {
            status = lab_fail_result(error, result, "recording the bots");
            break;
        }
        r->source = source_recording(&r->recording);
    }
    if (status != LAB_OK) {
        material_free(material);
    }
    return status;
}

/// The smallest box around all frames, and the highest rates in them.
static void fit_world(Material *material)
{
    FlVec3 low = fl_vec3((double)INFINITY, (double)INFINITY, (double)INFINITY);
    FlVec3 high = fl_vec3_scale(low, -1.0);
    double turn_rate = 1.0;
    double climb = 0.0;
    material->top_speed = 1.0;
    for (int32_t i = 0; i < material->run_count; i++) {
        const Recording *r = &material->runs[i].recording;
        material->top_speed = fmax(material->top_speed, r->top_speed);
        for (int32_t f = 0; f < r->count; f++) {
            const FlState *s = &r->frames[f].state;
            low = fl_vec3(fmin(low.x, s->position.x), fmin(low.y, s->position.y),
                          fmin(low.z, s->position.z));
            high = fl_vec3(fmax(high.x, s->position.x), fmax(high.y, s->position.y),
                           fmax(high.z, s->position.z));
            turn_rate = fmax(turn_rate, fmax(fabs(s->turn_rate), fabs(s->facing.yaw_rate)));
            climb = fmax(climb, fabs(s->velocity.z));
        }
    }
    bool flat = low.z == high.z && climb == 0.0;
    material->world.low = fl_vec3(low.x - 1.0, low.y - 1.0, flat ? low.z : low.z - 1.0);
    material->world.high = fl_vec3(high.x + 1.0, high.y + 1.0, flat ? high.z : high.z + 1.0);
    material->world.top_speed = material->top_speed;
    material->world.top_turn_rate = turn_rate;
}

/// One run per entity with a long life; `runs` has room for all entities.
static LabStatus add_entities(const Trace *trace, FlTime life_min, Material *material,
                              LabError *error)
{
    int32_t count = 0;
    for (int32_t t = 0; t < trace->track_count; t++) {
        if (t > 0 && trace->tracks[t].id == trace->tracks[t - 1].id) {
            continue; // tracks are ordered by id
        }
        MaterialRun *r = &material->runs[count];
        r->entity = trace->tracks[t].id;
        FlResult result =
            recording_from_trace(trace, r->entity, life_min, LIFE_PAUSE, &r->recording);
        if (result != FL_OK) {
            return lab_fail_result(error, result, "reading the trace");
        }
        if (r->recording.count > 0) {
            r->source = source_recording(&r->recording);
            count++;
        }
    }
    material->run_count = count;
    return LAB_OK;
}

LabStatus material_trace(const char *path, FlTime life_min, Material *material, LabError *error)
{
    Trace trace;
    TraceError problem;
    *material = (Material){0};
    if (!trace_load(path, &trace, &problem)) {
        return lab_fail(error, LAB_BAD_INPUT, "%s", problem.text);
    }
    LabStatus status =
        open_material(material, "random", FL_MODEL_CIRCULAR, trace.entity_count, error);
    if (status == LAB_OK) {
        status = add_entities(&trace, life_min, material, error);
    }
    if (status == LAB_OK && material->run_count == 0) {
        status =
            lab_fail(error, LAB_BAD_INPUT, "%s: no life lasts %g s; --life asks for shorter ones",
                     path, fl_span_seconds(life_min));
    }
    if (status == LAB_OK) {
        fit_world(material);
        FlError unfit;
        if (fl_world_def_problem(&material->world, &unfit) != FL_OK) {
            status = lab_fail(error, LAB_BAD_INPUT, "%s: does not fit into packets: %s", path,
                              unfit.text);
        }
    }
    trace_free(&trace);
    if (status != LAB_OK) {
        material_free(material);
    }
    return status;
}

LabStatus material_only(Material *material, int64_t entity, LabError *error)
{
    for (int32_t i = 0; i < material->run_count; i++) {
        if (material->runs[i].entity != entity) {
            continue;
        }
        MaterialRun kept = material->runs[i];
        material->runs[i] = material->runs[0];
        material->runs[0] = kept;
        material->runs[0].source = source_recording(&material->runs[0].recording);
        for (int32_t other = 1; other < material->run_count; other++) {
            recording_free(&material->runs[other].recording);
        }
        material->run_count = 1;
        return LAB_OK;
    }
    material_free(material);
    return lab_fail(error, LAB_BAD_INPUT, "--entity %lld: the trace has no such entity",
                    (long long)entity);
}
