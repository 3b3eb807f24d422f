// One run of the fairness experiment: a world with a sender and its receivers, one entity per
// policy.
#include <math.h>
#include <stdlib.h>

#include "lab/actors/puppet.h"
#include "lab/experiments/fairness/fairness.h"
#include "lab/world/play.h"

#define LOOK_EVERY FL_MS(10)

/// Looks fall between frames and arrivals, not on them: delays are whole multiples of the step, so
/// a look on a frame would count the moment of the change at both of its ends.
#define LOOK_FIRST FL_US(2500)
#define SERIES_EVERY FL_MS(100)

/// Everybody joins and learns the time; then the motion begins.
#define WARM_UP FL_SEC(12)

typedef struct View {
    Eye eye;
    double sum; // of |exported - placed| over the looks
} View;

typedef struct Play {
    const FairnessPlay *def;
    World *world;
    Puppet *puppets; // by policy
    View *views;     // by policy, then by receiver
    FlTime end;
    Text *series;
    FlResult result; // of changing the weather
} Play;

FairnessPlay fairness_play_default(const Material *material, int32_t run, uint64_t seed)
{
    FairnessPlay play = {
        .material = material,
        .run = run,
        .seed = seed,
        .sealed = true,
        .delay = {FL_MS(800), FL_MS(500), FL_MS(200)},
        .receiver_count = 3,
        .model = FL_MODEL_LINEAR,
        .trigger = {0.09, (double)INFINITY, FL_SEC(1)},
    };
    return play;
}

bool fairness_add_policy(FairnessPlay *play, const char *name)
{
    if (play->policy_count == FAIRNESS_POLICIES) {
        return false;
    }
    FlResult result = fl_send_parse(name, &play->policy[play->policy_count]);
    play->policy_count += result == FL_OK ? 1 : 0;
    return result == FL_OK;
}

/// Between the last frame of a life and the first of the next.
#define LIFE_GAP FL_MS(17)

static void close_gaps(Recording *recording)
{
    FlTime shift = 0;
    for (int32_t i = 1; i < recording->count; i++) {
        Frame *frame = &recording->frames[i];
        frame->state.time -= shift;
        FlTime before = recording->frames[i - 1].state.time;
        FlTime gap = frame->state.time - before;
        if (frame->life != recording->frames[i - 1].life && gap > LIFE_GAP) {
            shift += gap - LIFE_GAP;
            frame->state.time = before + LIFE_GAP;
        }
    }
}

void fairness_close_gaps(Material *material)
{
    for (int32_t i = 0; i < material->run_count; i++) {
        MaterialRun *run = &material->runs[i];
        close_gaps(&run->recording);
        run->source = source_recording(&run->recording);
    }
}

void fairness_spread(const double *values, int32_t count, double *mean, double *sd)
{
    double sum = 0.0;
    double squares = 0.0;
    for (int32_t i = 0; i < count; i++) {
        sum += values[i];
    }
    *mean = sum / (double)count;
    for (int32_t i = 0; i < count; i++) {
        squares += (values[i] - *mean) * (values[i] - *mean);
    }
    *sd = sqrt(squares / (double)count);
}

// ---------------------------------------------------------------- the world

static FlResult add_node(Play *play, FlRole role, FlRandom *random, int32_t *node)
{
    const FairnessPlay *def = play->def;
    WorldNodeDef node_def = world_node_def_default();
    node_def.session.role = role;
    node_def.session.world = def->material->world;
    // Every member owns its part of the numbers; the sender needs one per policy.
    node_def.session.world.entity_capacity = (FAIRNESS_RECEIVERS + 2) * FAIRNESS_POLICIES;
    node_def.session.peer_capacity = def->receiver_count;
    node_def.session.entity_capacity = def->policy_count;
    node_def.session.tuning.path_capacity = 256;
    node_def.clock_offset = fl_span_from_seconds(fl_random_between(random, -1000.0, 1000.0));
    node_def.clock_drift_ppm = fl_random_between(random, -20.0, 20.0);
    return world_node_add(play->world, &node_def, node);
}

static FlResult set_ways(Play *play, int32_t receiver, FlTime time)
{
    const FairnessPlay *def = play->def;
    int32_t node = receiver + 1; // the sender is node 0
    if (def->weather == NULL) {
        FlImpairSettings settings = play_way(def->delay[receiver], def->jitter, 0.0);
        return world_ways_set(play->world, 0, node, &settings);
    }
    FlImpairSettings out;
    FlImpairSettings back;
    def->weather->ways_fn(def->weather->ctx, receiver, time, &out, &back);
    uint16_t number = (uint16_t)node;
    FlResult result = world_way_set(play->world, 0, node, &out, fl_impair_link(0, number));
    return result != FL_OK ? result
                           : world_way_set(play->world, node, 0, &back, fl_impair_link(number, 0));
}

static FlTime change_weather(void *ctx, World *world, FlTime now)
{
    Play *play = (Play *)ctx;
    (void)world;
    for (int32_t r = 0; r < play->def->receiver_count; r++) {
        play->result = play->result == FL_OK ? set_ways(play, r, now - WARM_UP) : play->result;
    }
    FlTime next = now + play->def->weather->every;
    return next <= play->end ? next : FL_FOREVER;
}

static FlResult add_nodes(Play *play)
{
    const FairnessPlay *def = play->def;
    FlRandom random = {.seed = def->seed, .stream = 5};
    int32_t node;
    FlResult result = add_node(play, FL_ROLE_HOST, &random, &node);
    for (int32_t r = 0; r < def->receiver_count && result == FL_OK; r++) {
        result = add_node(play, FL_ROLE_CLIENT, &random, &node);
        result = result == FL_OK ? set_ways(play, r, 0) : result;
        for (int32_t p = 0; p < def->policy_count; p++) {
            play->views[p * def->receiver_count + r].eye.receiver = node;
        }
    }
    return result;
}

static FlResult add_puppets(Play *play)
{
    const FairnessPlay *def = play->def;
    FlResult result = FL_OK;
    for (int32_t p = 0; p < def->policy_count && result == FL_OK; p++) {
        Puppet *puppet = &play->puppets[p];
        puppet->source = def->material->runs[def->run].source;
        puppet->begin = WARM_UP;
        puppet->node = 0;
        puppet->def = fl_entity_def_default();
        puppet->def.model = def->model;
        puppet->def.trigger = def->trigger;
        puppet->def.send = def->policy[p];
        result = puppet_enter(puppet, play->world);
    }
    return result;
}

// ---------------------------------------------------------------- looking

static double accumulated(const View *view)
{
    return view->sum * fl_span_seconds(LOOK_EVERY);
}

static void errors_of(const Play *play, int32_t policy, double *errors)
{
    int32_t receivers = play->def->receiver_count;
    for (int32_t r = 0; r < receivers; r++) {
        errors[r] = accumulated(&play->views[policy * receivers + r]);
    }
}

void fairness_series_head(const FairnessPlay *play, Text *series)
{
    text_add(series, "t");
    for (int32_t p = 0; p < play->policy_count; p++) {
        char name[FL_SEND_TEXT_BYTES];
        fl_send_text(&play->policy[p], name);
        text_add(series, ",\"mean %s\",\"sd %s\"", name, name);
    }
    text_add(series, "\n");
}

static void write_series(const Play *play, FlTime time)
{
    text_add(play->series, "%.1f", fl_span_seconds(time));
    for (int32_t p = 0; p < play->def->policy_count; p++) {
        double errors[FAIRNESS_RECEIVERS];
        double mean;
        double sd;
        errors_of(play, p, errors);
        fairness_spread(errors, play->def->receiver_count, &mean, &sd);
        text_add(play->series, ",%.5f,%.5f", mean, sd);
    }
    text_add(play->series, "\n");
}

static FlTime look_at_all(void *ctx, World *world, FlTime now)
{
    Play *play = (Play *)ctx;
    const FairnessPlay *def = play->def;
    for (int32_t p = 0; p < def->policy_count; p++) {
        for (int32_t r = 0; r < def->receiver_count; r++) {
            View *view = &play->views[p * def->receiver_count + r];
            Look look;
            puppet_look(&play->puppets[p], world, &view->eye, &look);
            view->sum += isfinite(look.export_error) ? look.export_error : 0.0;
        }
    }
    FlTime time = now - WARM_UP;
    if (play->series != NULL && time % SERIES_EVERY == LOOK_FIRST) {
        write_series(play, time);
    }
    return now + LOOK_EVERY <= play->end ? now + LOOK_EVERY : FL_FOREVER;
}

// ---------------------------------------------------------------- a run

static FlResult set_up(Play *play)
{
    const FairnessPlay *def = play->def;
    WorldDef world = world_def_default();
    world.seed = def->seed;
    world.sealed = def->sealed;
    world.node_capacity = def->receiver_count + 1;
    world.actor_capacity = def->policy_count + 2;
    FlResult result = world_create(&world, &play->world);
    result = result == FL_OK ? add_nodes(play) : result;
    result = result == FL_OK ? add_puppets(play) : result;
    play->end = WARM_UP + def->material->runs[def->run].source.length;
    if (result == FL_OK && def->weather != NULL) {
        result = world_actor_add(play->world, WORLD_MOVER, WARM_UP, change_weather, play);
    }
    return result != FL_OK ? result
                           : world_actor_add(play->world, WORLD_LOOKER, WARM_UP + LOOK_FIRST,
                                             look_at_all, play);
}

static void collect(const Play *play, int32_t policy, FairnessFigures *figures)
{
    const FairnessPlay *def = play->def;
    const Puppet *puppet = &play->puppets[policy];
    FlSession *sender = world_session(play->world, 0);
    FlTime now = world_local(play->world, 0, world_now(play->world));
    *figures = (FairnessFigures){0};
    errors_of(play, policy, figures->aee);
    fairness_spread(figures->aee, def->receiver_count, &figures->mean, &figures->sd);
    for (int32_t r = 0; r < def->receiver_count; r++) {
        int32_t node = play->views[r].eye.receiver;
        FlPeerId peer = fl_peer_self(world_session(play->world, node));
        FlLedgerView view;
        if (fl_entity_view(sender, now, puppet->id, peer, &view) == FL_OK) {
            figures->updates_sent += view.sent;
            figures->updates_to[r] = view.sent;
            figures->ledger[r] = view.accumulated;
        }
    }
}

/// Did everything run as it should, and had every policy its entity?
static LabStatus check(const Play *play, LabError *error)
{
    LabStatus status = play_check(play->world, error);
    if (status != LAB_OK) {
        return status;
    }
    for (int32_t p = 0; p < play->def->policy_count; p++) {
        if (play->puppets[p].id.index1 == 0) {
            return lab_fail(error, LAB_FAILED, "no room for policy number %d", (int)p);
        }
    }
    return LAB_OK;
}

LabStatus fairness_play(const FairnessPlay *def, FairnessFigures *figures, Text *series,
                        LabError *error)
{
    Play play = {.def = def, .series = series};
    size_t policies = (size_t)def->policy_count;
    play.puppets = (Puppet *)calloc(policies, sizeof *play.puppets);
    play.views = (View *)calloc(policies * (size_t)def->receiver_count, sizeof *play.views);
    LabStatus status = play.puppets != NULL && play.views != NULL
                           ? LAB_OK
                           : lab_fail(error, LAB_FAILED, "out of memory");
    if (status == LAB_OK) {
        FlResult result = set_up(&play);
        status = result == FL_OK ? LAB_OK : lab_fail_result(error, result, "setting up the world");
    }
    if (status == LAB_OK) {
        world_run(play.world, play.end);
        status = play.result == FL_OK ? check(&play, error)
                                      : lab_fail_result(error, play.result, "changing the network");
    }
    for (int32_t p = 0; p < def->policy_count && status == LAB_OK; p++) {
        collect(&play, p, &figures[p]);
    }
    world_destroy(play.world);
    free(play.puppets);
    free(play.views);
    return status;
}
