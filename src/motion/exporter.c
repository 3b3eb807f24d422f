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
        .trigger = fl__trigger_def_default(),
        .horizon_ns = FL_FOREVER,
        .cookie = EXPORTER_COOKIE,
    };
    return def;
}

FlResult fl_exporter_def_problem(const FlExporterDef *def, FlError *error)
{
    static const Fl__Rule rules[] = {
        FL__COOKIE(FlExporterDef, "fl_exporter_def_default", EXPORTER_COOKIE),
        FL__WHOLE(FlExporterDef, model, 0, FL_MODEL_AUTO),
        FL__REAL(FlExporterDef, trigger.distance, 0.0, (double)INFINITY),
        FL__REAL(FlExporterDef, trigger.angle, 0.0, (double)INFINITY),
        FL__WHOLE(FlExporterDef, trigger.silence_ns, 1, FL_FOREVER),
        FL__WHOLE(FlExporterDef, horizon_ns, 0, FL_FOREVER),
    };
    (void)fl__def_problem(def, rules, sizeof rules / sizeof rules[0], error);
    return fl__def_wrong(error, def->model == FL_MODEL_CUBIC,
                         "model is FL_MODEL_CUBIC: choose another, it is for paths of the past.");
}

void fl_exporter_init(FlExporter *exporter, const FlExporterDef *def)
{
    FL_ASSERT(def->cookie == EXPORTER_COOKIE);
    FL_ASSERT(def->model != FL_MODEL_CUBIC);
    FlExporter fresh = {.def = *def, .newest = INT64_MIN};
    *exporter = fresh;
    exporter->fader.experience = def->experience;
    fl__fader_ages(&exporter->fader, FL_MS(100), FL_MS(1500));
}

void fl__exporter_receivers(FlExporter *exporter, FlTime shortest, FlTime longest)
{
    FL_ASSERT(shortest > 0 && longest >= shortest);
    fl__fader_ages(&exporter->fader, shortest, longest);
}

static FlTrigger why(const FlExporter *exporter, const FlState *real)
{
    if (real->time < exporter->newest || !fl__state_finite(real)) {
        return FL_TRIGGER_REFUSED;
    }
    if (!exporter->started) {
        return FL_TRIGGER_FIRST;
    }
    return fl__trigger_check(&exporter->def.trigger, &exporter->exported, real);
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
    const FlExporterDef *def = &exporter->def;
    if (def->model != FL_MODEL_AUTO) {
        FlMotion motion = fl_motion_make(def->model, real);
        motion.horizon_ns = def->horizon_ns;
        return motion;
    }
    FlModel model = fl__chooser_pick(&exporter->chooser, &def->trigger, real);
    model = def->paced && def->experience != NULL ? fl__fader_model(&exporter->fader, real) : model;
    FlMotion motion = fl_motion_make(model, real);
    if (is_at_rest(&motion)) {
        motion = fl_motion_make(FL_MODEL_STILL, real);
    } else {
        uint8_t trust = def->paced ? 0 : fl__fade_trust(def->trigger.silence_ns);
        motion.fade = fl__fader_pick(&exporter->fader, real, model, trust);
    }
    motion.horizon_ns = def->horizon_ns;
    return motion;
}

static bool tries_courses(const FlExporter *exporter)
{
    return exporter->def.model == FL_MODEL_AUTO && !exporter->def.paced &&
           exporter->fader.course_next;
}

static void learn(FlExporter *exporter, const FlState *real, bool holds)
{
    fl__chooser_observe(&exporter->chooser, &exporter->def.trigger, real);
    fl__fader_observe(&exporter->fader, real);
    if (!tries_courses(exporter)) {
        fl__fader_try(&exporter->fader, real);
    } else if (holds) {
        fl__fader_try_course(&exporter->fader, &exporter->exported, real->time);
    }
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
        learn(exporter, real, trigger == FL_TRIGGER_NONE);
    }
    if (trigger != FL_TRIGGER_NONE) {
        *motion = propose(exporter, real);
    }
    return trigger;
}

void fl_exporter_commit(FlExporter *exporter, const FlMotion *sent)
{
    FL_ASSERT(fl__motion_finite(sent));
    exporter->exported = *sent;
    exporter->started = true;
    if (tries_courses(exporter)) { // unless the frame that called for it has started one
        fl__fader_try_course(&exporter->fader, sent, sent->time);
    }
}

void fl_exporter_cut(FlExporter *exporter)
{
    exporter->started = false;
    fl__chooser_cut(&exporter->chooser);
    fl__fader_cut(&exporter->fader);
}
