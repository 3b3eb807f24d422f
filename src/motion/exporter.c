// The owner's side of one entity: truth in, updates out.
//
// Proposing and recording are two calls, because between them the update is rounded for the wire:
// owner and receivers must predict from the same, rounded values.
#include "private.h"

#define EXPORTER_COOKIE 0x45585031u

FlExporterDef fl_exporter_def_default(void)
{
    FlExporterDef def = {
        .model = FL_MODEL_AUTO,
        .trigger = fl_trigger_def_default(),
        .horizon_ns = FL_FOREVER,
        .cookie = EXPORTER_COOKIE,
    };
    return def;
}

void fl_exporter_init(FlExporter *exporter, const FlExporterDef *def)
{
    FL_ASSERT(def->cookie == EXPORTER_COOKIE);
    FL_ASSERT(def->model != FL_MODEL_CUBIC);
    FlExporter fresh = {.def = *def, .newest = INT64_MIN};
    *exporter = fresh;
}

static FlTrigger why(const FlExporter *exporter, const FlState *real)
{
    if (real->time < exporter->newest || !fl_state_finite(real)) {
        return FL_TRIGGER_REFUSED;
    }
    if (!exporter->started) {
        return FL_TRIGGER_FIRST;
    }
    return fl_trigger_check(&exporter->def.trigger, &exporter->exported, real);
}

// What stands still is said to stand still, however it came to.
static bool is_at_rest(const FlMotion *m)
{
    FlVec3 zero = fl_vec3(0.0, 0.0, 0.0);
    return fl_vec3_distance(m->velocity, zero) == 0.0 &&
           fl_vec3_distance(m->acceleration, zero) == 0.0;
}

static FlMotion propose(FlExporter *exporter, const FlState *real)
{
    FlModel model = exporter->def.model;
    if (model == FL_MODEL_AUTO) {
        model = fl_chooser_pick(&exporter->chooser, &exporter->def.trigger, real);
    }
    FlMotion motion = fl_motion_make(model, real);
    if (exporter->def.model == FL_MODEL_AUTO && is_at_rest(&motion)) {
        motion = fl_motion_make(FL_MODEL_STILL, real);
    }
    motion.horizon_ns = exporter->def.horizon_ns;
    return motion;
}

FlTrigger fl_exporter_feed(FlExporter *exporter, const FlState *real, FlMotion *motion)
{
    *motion = exporter->exported;
    FlTrigger trigger = why(exporter, real);
    if (trigger == FL_TRIGGER_REFUSED) {
        return trigger;
    }
    exporter->newest = real->time;
    if (exporter->def.model == FL_MODEL_AUTO) {
        fl_chooser_observe(&exporter->chooser, &exporter->def.trigger, real);
    }
    if (trigger != FL_TRIGGER_NONE) {
        *motion = propose(exporter, real);
    }
    return trigger;
}

void fl_exporter_commit(FlExporter *exporter, const FlMotion *sent)
{
    FL_ASSERT(fl_motion_finite(sent));
    exporter->exported = *sent;
    exporter->started = true;
}

void fl_exporter_cut(FlExporter *exporter)
{
    exporter->started = false;
    fl_chooser_cut(&exporter->chooser);
}
