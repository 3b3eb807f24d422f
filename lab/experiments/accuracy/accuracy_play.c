// One run of the accuracy experiment: a world with a sender and its receivers, looked at every 10
// ms.
#include <math.h>
#include <stdlib.h>

#include "lab/actors/puppet.h"
#include "lab/experiments/accuracy/accuracy.h"
#include "lab/world/play.h"

#define LOOK_EVERY FL_MS(10)
#define SERIES_EVERY FL_MS(100)

/// Everybody joins and learns the time; then the motion begins, not before this,
#define WARM_UP FL_SEC(8)

/// and so long after the last one is in, who has this long for it.
#define SETTLE FL_SEC(3)
#define JOIN_LIMIT FL_SEC(60)

/// Global counts as worse than local when it is so by more than this, in units.
#define WORSE_BY 0.1

/// The overshoot of a stop lasts until the stop is known, and then is over; with some allowance.
#define STOP_ALLOWANCE FL_MS(300)

enum { RECEIVERS = ACCURACY_DELAYS * ACCURACY_MODES };

/// What is added up per receiver.
typedef struct View {
    Eye eye;
    Tally error;
    double clock_sum, clock_worst; // ns
    double residual_sum;
    int64_t residual_count;
    double session_residual;
    int64_t looks;
    int64_t worse[2], all[2]; // elsewhere, after a stop
} View;

typedef struct Play {
    const AccuracyPlay *def;
    World *world;
    Puppet puppet;
    FlTime end;
    View *views; // by delay, then by mode
    Text *series;
    // stops
    FlVec3 fast; // the velocity when it was last fast; zero once it has stopped
    FlTime stopped_at;
    uint32_t life;
} Play;

AccuracyPlay accuracy_play_default(const Material *material, int32_t run, uint64_t seed)
{
    AccuracyPlay play = {
        .material = material,
        .run = run,
        .seed = seed,
        .sealed = true,
        .delay = {FL_MS(100), FL_MS(300), FL_MS(800)},
        .delay_count = 3,
        .mode = {FL_TIME_LOCAL, FL_TIME_GLOBAL, FL_TIME_ONE_WAY},
        .mode_count = 3,
        .relay = -1,
        .host_mode = FL_TIME_GLOBAL,
        .drift_ppm = 50.0,
        .trigger = {0.09, (double)INFINITY, FL_SEC(1)},
    };
    return play;
}

const char *accuracy_mode_name(FlTimeMode mode)
{
    return mode == FL_TIME_LOCAL ? "local" : mode == FL_TIME_GLOBAL ? "global" : "oneway";
}

// ---------------------------------------------------------------- the world

static FlResult add_node(Play *play, FlRole role, FlTimeMode mode, FlRandom *random, int32_t *node)
{
    WorldNodeDef def = world_node_def_default();
    def.session.role = role;
    def.session.world = play->def->material->world;
    def.session.peer_capacity = RECEIVERS + 2;
    def.session.entity_capacity = 4;
    def.session.tuning.time_mode = mode;
    def.session.join_timeout_ns = JOIN_LIMIT;
    // The receivers of one delay have the same clock, so that they differ by their mode alone.
    def.clock_offset = fl_span_from_seconds(fl_random_between(random, -1000.0, 1000.0));
    def.clock_drift_ppm = play->def->drift_ppm * fl_random_between(random, -1.0, 1.0);
    return world_node_add(play->world, &def, node);
}

/// Both ways between the host and a node; `luck` says which ways are alike.
static FlResult add_ways(Play *play, int32_t node, FlTime delay, int32_t luck)
{
    FlImpairSettings settings = play_way(delay, play->def->jitter, play->def->loss);
    FlResult result =
        world_way_set(play->world, 0, node, &settings, fl_impair_link(0, (uint16_t)luck));
    return result != FL_OK
               ? result
               : world_way_set(play->world, node, 0, &settings, fl_impair_link((uint16_t)luck, 0));
}

static FlResult add_receivers(Play *play)
{
    const AccuracyPlay *def = play->def;
    FlResult result = FL_OK;
    for (int32_t d = 0; d < def->delay_count; d++) {
        for (int32_t m = 0; m < def->mode_count && result == FL_OK; m++) {
            FlRandom random = {.seed = def->seed, .stream = 3, .index = (uint64_t)(100 * (d + 1))};
            int32_t node;
            result = add_node(play, FL_ROLE_CLIENT, def->mode[m], &random, &node);
            result = result == FL_OK ? add_ways(play, node, def->delay[d], 10 + d) : result;
            play->views[d * def->mode_count + m].eye.receiver = node;
        }
    }
    return result;
}

static FlResult add_sender(Play *play)
{
    const AccuracyPlay *def = play->def;
    FlRandom random = {.seed = def->seed, .stream = 3};
    int32_t node;
    FlResult result = add_node(play, FL_ROLE_HOST, def->host_mode, &random, &node);
    if (result == FL_OK && def->relay >= 0) {
        result = add_node(play, FL_ROLE_CLIENT, def->host_mode, &random, &node);
        result = result == FL_OK ? add_ways(play, node, def->relay, 9) : result;
    }
    play->puppet.node = node;
    return result;
}

// ---------------------------------------------------------------- looking

/// Notices stops: it was fast, and now hardly moves that way any more.
static void watch_stops(Play *play, const Truth *real, FlTime now)
{
    double top = play->def->material->top_speed;
    if (real->life != play->life) {
        play->fast = fl_vec3(0.0, 0.0, 0.0);
        play->life = real->life;
    }
    double before = fl_vec3_length(play->fast);
    if (before > 0.0 && fl_vec3_dot(play->fast, real->state.velocity) / before < 0.1 * top) {
        play->stopped_at = now;
        play->fast = fl_vec3(0.0, 0.0, 0.0);
    }
    if (fl_vec3_length(real->state.velocity) >= 0.5 * top) {
        play->fast = real->state.velocity;
    }
}

static void note_look(View *view, const Look *look)
{
    double clock = fabs((double)look->clock_error);
    view->looks++;
    view->clock_sum += clock;
    view->clock_worst = clock > view->clock_worst ? clock : view->clock_worst;
    if (isfinite(look->error)) {
        tally_add(&view->error, look->error);
    }
    if (look->newest && isfinite(look->export_error)) {
        view->residual_sum += look->export_error;
        view->residual_count++;
    }
    if (isfinite(look->session_error)) {
        view->session_residual = fmax(view->session_residual, look->session_error);
    }
}

/// Compares with the first mode at the same delay.
static void note_worse(const Play *play, View *view, FlTime delay, double error, double first,
                       FlTime now)
{
    if (isfinite(error) && isfinite(first)) {
        bool after_stop =
            play->stopped_at != FL_FOREVER && now - play->stopped_at <= delay + STOP_ALLOWANCE;
        view->all[after_stop ? 1 : 0]++;
        view->worse[after_stop ? 1 : 0] += error > first + WORSE_BY ? 1 : 0;
    }
}

static void write_series(const Play *play, FlTime time, const Look *look, const double *errors)
{
    const AccuracyPlay *def = play->def;
    FlVec3 at = look->real.state.position;
    text_add(play->series, "%.3f,%s", fl_span_seconds(time), def->material->motion);
    if (look->real_there) {
        text_add(play->series, ",%.4f,%.4f,%.4f", at.x, at.y, at.z);
    } else {
        text_add(play->series, ",,,");
    }
    for (int32_t i = 0; i < def->delay_count * def->mode_count; i++) {
        if (isfinite(errors[i])) {
            text_add(play->series, ",%.5f", errors[i]);
        } else {
            text_add(play->series, ",");
        }
    }
    text_add(play->series, "\n");
}

static FlTime look_at_all(void *ctx, World *world, FlTime now)
{
    Play *play = (Play *)ctx;
    const AccuracyPlay *def = play->def;
    double errors[RECEIVERS];
    Look look = {0};
    for (int32_t i = 0; i < def->delay_count * def->mode_count; i++) {
        int32_t d = i / def->mode_count;
        puppet_look(&play->puppet, world, &play->views[i].eye, &look);
        if (i == 0 && look.real_there) {
            watch_stops(play, &look.real, now);
        }
        errors[i] = look.error;
        note_look(&play->views[i], &look);
        note_worse(play, &play->views[i], def->delay[d], errors[i], errors[d * def->mode_count],
                   now);
    }
    FlTime time = now - play->puppet.begin;
    if (play->series != NULL && time % SERIES_EVERY == 0) {
        write_series(play, time, &look, errors);
    }
    return now + LOOK_EVERY <= play->end ? now + LOOK_EVERY : FL_FOREVER;
}

// ---------------------------------------------------------------- a run

/// Lets everybody join, and answers when the motion may begin.
static FlTime gather(World *world)
{
    for (FlTime t = FL_SEC(1); t <= JOIN_LIMIT && !world_all_in(world); t += FL_SEC(1)) {
        world_run(world, t);
    }
    FlTime begin = world_now(world) + SETTLE;
    return begin > WARM_UP ? begin : WARM_UP;
}

static FlResult set_up(Play *play)
{
    const AccuracyPlay *def = play->def;
    WorldDef world = world_def_default();
    world.seed = def->seed;
    world.sealed = def->sealed;
    world.node_capacity = RECEIVERS + 2;
    FlResult result = world_create(&world, &play->world);
    result = result == FL_OK ? add_sender(play) : result;
    result = result == FL_OK ? add_receivers(play) : result;
    if (result != FL_OK) {
        return result;
    }
    play->puppet.source = def->material->runs[def->run].source;
    play->puppet.begin = gather(play->world);
    play->puppet.def = fl_entity_def_default();
    play->puppet.def.model = def->material->model;
    play->puppet.def.trigger = def->trigger;
    play->end = play->puppet.begin + play->puppet.source.length;
    result = puppet_enter(&play->puppet, play->world);
    return result != FL_OK
               ? result
               : world_actor_add(play->world, WORLD_LOOKER, play->puppet.begin, look_at_all, play);
}

static AccuracyFigures figures_of(const View *view)
{
    const double ms = 1e-6;
    double looks = view->looks > 0 ? (double)view->looks : (double)NAN;
    AccuracyFigures f = {
        .samples = view->error.count,
        .mean = tally_mean(&view->error),
        .median = tally_quantile(&view->error, 0.5),
        .p95 = tally_quantile(&view->error, 0.95),
        .max = view->error.max,
        .clock_ms = view->clock_sum / looks * ms,
        .clock_worst_ms = view->clock_worst * ms,
        .residual = view->residual_sum / (double)view->residual_count,
        .session_residual = view->session_residual,
        .worse_after_stop = view->worse[1],
        .after_stop = view->all[1],
        .worse_else = view->worse[0],
        .elsewhere = view->all[0],
    };
    return f;
}

LabStatus accuracy_play(const AccuracyPlay *def, AccuracyFigures *figures, Tally *pooled,
                        Text *series, LabError *error)
{
    int32_t count = def->delay_count * def->mode_count;
    FL_ASSERT(count <= RECEIVERS);
    Play play = {.def = def, .series = series, .stopped_at = FL_FOREVER};
    play.views = (View *)calloc((size_t)count, sizeof *play.views);
    if (play.views == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    LabStatus status = LAB_OK;
    FlResult result = set_up(&play);
    if (result == FL_OK) {
        world_run(play.world, play.end);
        status = play_check(play.world, error);
    } else {
        status = lab_fail_result(error, result, "setting up the world");
    }
    for (int32_t i = 0; i < count && status == LAB_OK; i++) {
        figures[i] = figures_of(&play.views[i]);
        if (pooled != NULL) {
            tally_merge(&pooled[i], &play.views[i].error);
        }
    }
    world_destroy(play.world);
    free(play.views);
    return status;
}
