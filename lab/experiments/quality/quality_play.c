// One run of the quality experiment: a host that owns everything, and a receiver per delay.
#include <math.h>
#include <stdlib.h>

#include "lab/actors/puppet.h"
#include "lab/experiments/quality/quality.h"
#include "lab/figures/jumps.h"
#include "lab/world/play.h"
#include "motion/motion.h"

#define LOOK_EVERY FL_MS(20)
#define WARM_UP FL_SEC(8)
#define BEHIND FL_MS(100)
#define HEADER_BYTES 28 // of UDP and IPv4

/// One receiver's view of everything.
typedef struct View {
    int32_t node;
    FlTime delay;
    Tally error, shown_error;
    Eye *eyes;    // [entity]
    bool *set;    // [entity]: it is shown the scheme's way
    Jumps *jumps; // [entity]
    double seen_s;
} View;

typedef struct Play {
    const QualityPlay *def;
    World *world;
    Puppet *puppets;
    QualityFilter *filters;
    View *views;
    FlTime begin, end;
    WorldSent before; // of the host, when the motion began
    uint64_t updates_before;
    bool started;
} Play;

// ---------------------------------------------------------------- looking

static bool set_show(const Play *play, View *view, int32_t entity)
{
    if (view->set[entity] || view->eyes[entity].id.index1 == 0) {
        return view->set[entity];
    }
    FlShowDef def = fl_show_def_default();
    def.convergence = FL_CONVERGENCE_AT_ONCE;
    if (play->def->scheme->shown == QUALITY_BEHIND) {
        def.hold = FL_HOLD_RECKONED;
        def.placement = FL_PLACEMENT_INTERPOLATED;
        def.delta_ns = view->delay + BEHIND;
    }
    FlSession *session = world_session(play->world, view->node);
    view->set[entity] = fl_entity_show(session, view->eyes[entity].id, &def) == FL_OK;
    return view->set[entity];
}

/// The world time of which the picture is; FL_FOREVER: nothing came yet.
static FlTime time_shown(const Play *play, const View *view, int32_t entity, FlTime now)
{
    FlEntityStatus status;
    switch (play->def->scheme->shown) {
    case QUALITY_NOW:
        return now;
    case QUALITY_BEHIND:
        return now - view->delay - BEHIND;
    case QUALITY_STAMP:
        break;
    }
    const FlSession *session = world_session(play->world, view->node);
    if (fl_entity_status(session, view->eyes[entity].id, &status) != FL_OK ||
        status.newest == FL_FOREVER) {
        return FL_FOREVER;
    }
    return world_time_of(play->world, view->node, fl_session_local_time(session, status.newest));
}

static void look_at(Play *play, View *view, int32_t entity, FlTime now)
{
    const Puppet *puppet = &play->puppets[entity];
    Look look;
    puppet_look(puppet, play->world, &view->eyes[entity], &look);
    if (!set_show(play, view, entity) || !isfinite(look.error)) {
        return;
    }
    FlTime shown = time_shown(play, view, entity, now);
    Truth then;
    if (shown == FL_FOREVER ||
        !puppet->source.truth_fn(puppet->source.ctx, shown - play->begin, &then) ||
        then.life != look.real.life) {
        return; // the picture is of another life
    }
    tally_add(&view->error, look.error);
    tally_add(&view->shown_error, fl_vec3_distance(then.state.position, look.placed.position));
    view->seen_s += fl_span_seconds(LOOK_EVERY);
    (void)jumps_see(&view->jumps[entity], now, look.placed.position, look.real.life);
}

static FlTime look_at_all(void *ctx, World *world, FlTime now)
{
    Play *play = (Play *)ctx;
    if (!play->started) {
        play->started = true;
        play->before = world_node_sent(world, 0);
        play->updates_before = fl_session_count(world_session(world, 0), FL_SESSION_UPDATES_SENT);
    }
    for (int32_t v = 0; v < play->def->delay_count; v++) {
        for (int32_t e = 0; e < play->def->material->run_count; e++) {
            look_at(play, &play->views[v], e, now);
        }
    }
    return now + LOOK_EVERY <= play->end ? now + LOOK_EVERY : FL_FOREVER;
}

// ---------------------------------------------------------------- the world

static FlResult add_node(const Play *play, FlRole role, int32_t *node)
{
    WorldNodeDef def = world_node_def_default();
    def.session.role = role;
    def.session.world = play->def->material->world;
    def.session.peer_capacity = QUALITY_DELAYS + 1;
    def.session.entity_capacity = play->def->material->run_count;
    def.session.join_timeout_ns = FL_SEC(60);
    return world_node_add(play->world, &def, node);
}

static FlResult add_nodes(Play *play)
{
    const QualityPlay *def = play->def;
    int32_t host;
    FlResult result = add_node(play, FL_ROLE_HOST, &host);
    for (int32_t d = 0; d < def->delay_count && result == FL_OK; d++) {
        View *view = &play->views[d];
        result = add_node(play, FL_ROLE_CLIENT, &view->node);
        FlImpairSettings way = play_way(def->delay[d], 0, def->loss);
        result = result == FL_OK ? world_ways_set(play->world, host, view->node, &way) : result;
        view->delay = def->delay[d];
    }
    return result;
}

static FlResult add_puppets(Play *play)
{
    const QualityPlay *def = play->def;
    FlResult result = FL_OK;
    for (int32_t e = 0; e < def->material->run_count && result == FL_OK; e++) {
        Puppet *puppet = &play->puppets[e];
        puppet->source = def->material->runs[e].source;
        puppet->begin = play->begin;
        puppet->def = fl_entity_def_default();
        puppet->def.model = def->scheme->model;
        puppet->def.trigger.angle = (double)INFINITY;
        bool all = def->scheme->rule == QUALITY_THRESHOLD; // else the filter decides
        puppet->def.trigger.distance = all ? def->step : (double)INFINITY;
        puppet->def.trigger.silence_ns = all ? FL_SEC(1) : 1;
        if (!all || def->tick_hz > 0.0) {
            result = quality_filter_make(&play->filters[e], &def->material->runs[e].source,
                                         all ? QUALITY_RATE : def->scheme->rule,
                                         all ? def->tick_hz : def->step, def->length);
            puppet->source = quality_filter_source(&play->filters[e]);
        }
        puppet->source.length = fl_time_min(puppet->source.length, def->length);
        result = result == FL_OK ? puppet_enter(puppet, play->world) : result;
        for (int32_t v = 0; v < def->delay_count; v++) {
            play->views[v].eyes[e].receiver = play->views[v].node;
            jumps_init(&play->views[v].jumps[e], def->material->top_speed);
        }
    }
    return result;
}

static FlResult set_up(Play *play)
{
    const QualityPlay *def = play->def;
    WorldDef world = world_def_default();
    world.seed = def->seed;
    world.sealed = def->sealed;
    world.node_capacity = QUALITY_DELAYS + 1;
    world.actor_capacity = def->material->run_count + 1;
    FlResult result = world_create(&world, &play->world);
    result = result == FL_OK ? add_nodes(play) : result;
    if (result != FL_OK) {
        return result;
    }
    world_run(play->world, WARM_UP);
    play->begin = world_now(play->world) + FL_SEC(1);
    play->end = play->begin + def->length;
    result = add_puppets(play);
    return result != FL_OK
               ? result
               : world_actor_add(play->world, WORLD_LOOKER, play->begin, look_at_all, play);
}

// ---------------------------------------------------------------- figures

/// What the host sent to one receiver, a second.
static double bytes_of(const Play *play, const View *view)
{
    const QualityPlay *def = play->def;
    WorldSent now = world_node_sent(play->world, 0);
    double receivers = (double)def->delay_count;
    double datagrams = (double)(now.datagrams - play->before.datagrams) / receivers;
    double bytes = (double)(now.bytes - play->before.bytes) / receivers;
    if (def->scheme->delta) { // the same packets, with differences in the place of updates
        FlWorld world;
        FlResult result = fl_world_init(&def->material->world, &world);
        FL_ASSERT(result == FL_OK);
        (void)result;
        uint64_t updates = fl_session_count(world_session(play->world, 0), FL_SESSION_UPDATES_SENT);
        Truth truth = {0};
        const Source *first = &def->material->runs[0].source;
        (void)first->truth_fn(first->ctx, first->frame_fn(first->ctx, 0), &truth);
        int32_t each =
            fl__update_bytes(&world, def->scheme->model, truth.state.facing.kind, false, false);
        bytes -= (double)each * (double)(updates - play->updates_before) / receivers;
        bytes += quality_delta_bytes(def->material, def->step, 2 * view->delay, def->length);
    }
    return (bytes + HEADER_BYTES * datagrams) / fl_span_seconds(def->length);
}

static QualityFigures figures_of(const Play *play, const View *view)
{
    const QualityPlay *def = play->def;
    uint64_t updates = fl_session_count(world_session(play->world, 0), FL_SESSION_UPDATES_SENT);
    int64_t jumps = 0;
    for (int32_t e = 0; view->jumps != NULL && e < def->material->run_count; e++) {
        jumps += (int64_t)view->jumps[e].jump_count;
    }
    return (QualityFigures){
        .bytes_s = bytes_of(play, view),
        .updates_s =
            (double)(updates - play->updates_before) / (double)def->delay_count / view->seen_s,
        .mean = tally_mean(&view->error),
        .p95 = tally_quantile(&view->error, 0.95),
        .shown_mean = tally_mean(&view->shown_error),
        .jumps_min = 60.0 * (double)jumps / view->seen_s,
    };
}

static bool reserve(Play *play)
{
    size_t entities = (size_t)play->def->material->run_count;
    bool good = true;
    play->puppets = (Puppet *)calloc(entities, sizeof *play->puppets);
    play->filters = (QualityFilter *)calloc(entities, sizeof *play->filters);
    play->views = (View *)calloc((size_t)play->def->delay_count, sizeof *play->views);
    good = play->puppets != NULL && play->filters != NULL && play->views != NULL;
    for (int32_t v = 0; good && v < play->def->delay_count; v++) {
        View *view = &play->views[v];
        view->eyes = (Eye *)calloc(entities, sizeof *view->eyes);
        view->set = (bool *)calloc(entities, sizeof *view->set);
        view->jumps = (Jumps *)calloc(entities, sizeof *view->jumps);
        good = view->eyes != NULL && view->set != NULL && view->jumps != NULL;
    }
    return good;
}

static void release(Play *play)
{
    for (int32_t v = 0; play->views != NULL && v < play->def->delay_count; v++) {
        free(play->views[v].eyes);
        free(play->views[v].set);
        free(play->views[v].jumps);
    }
    for (int32_t e = 0; play->filters != NULL && e < play->def->material->run_count; e++) {
        quality_filter_free(&play->filters[e]);
    }
    free(play->views);
    free(play->filters);
    free(play->puppets);
}

LabStatus quality_play(const QualityPlay *def, QualityFigures *figures, LabError *error)
{
    FL_ASSERT(def->delay_count <= QUALITY_DELAYS);
    Play play = {.def = def};
    LabStatus status = LAB_OK;
    if (!reserve(&play)) {
        status = lab_fail(error, LAB_FAILED, "out of memory");
    } else {
        FlResult result = set_up(&play);
        status = result != FL_OK ? lab_fail_result(error, result, "setting up the world") : LAB_OK;
    }
    if (status == LAB_OK) {
        world_run(play.world, play.end);
        status = play_check(play.world, error);
    }
    for (int32_t v = 0; v < def->delay_count && status == LAB_OK; v++) {
        figures[v] = figures_of(&play, &play.views[v]);
    }
    world_destroy(play.world);
    release(&play);
    return status;
}
