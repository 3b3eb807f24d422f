// One network: making it, playing, measuring.
#include "lab/experiments/simultaneity/simultaneity.h"

#include <stdlib.h>
#include <string.h>

#include "lab/experiments/simultaneity/simultaneity_sessions.h"

enum { OBJECTS = 4 };

#define BEGIN FL_SEC(3)          // provisioning is over by then
#define BEGIN_SESSIONS FL_SEC(8) // also joining, and meeting each other
#define END FL_SEC(2)            // what is under way is played
#define PATIENCE FL_SEC(30)
#define CLOCKS FL_SEC(600)
#define TOLERANCE FL_US(1)

typedef struct Action {
    FlTime at; ///< True time,
    FlTime stamp;
    int32_t peer, object;
} Action;

typedef struct Played {
    FlTime at, local;
    int32_t place; ///< From 1; 0: not played.
} Played;

typedef struct Trial {
    const TrialDef *def;
    NetDef net;
    Net *room;
    Crowd *crowd;
    Action *actions; ///< By time.
    int32_t count;
    Played *played; ///< [peer][action]
    int32_t places[FL_LAGS_PEERS];
    int32_t newest[FL_LAGS_PEERS]; ///< `none`: the latest action played.
    int64_t late;
} Trial;

// ---------------------------------------------------------------- controls

static const struct {
    const char *name;
    int32_t constant_ms;
    FlLagsChoice choice;
} controls[] = {
#define ROW(name, word, constant, choice) {word, constant, choice},
    TRIAL_CONTROL_TABLE(ROW)
#undef ROW
};

const char *trial_control_name(TrialControl control)
{
    return controls[control].name;
}

FlTime trial_control_constant(TrialControl control)
{
    return FL_MS(controls[control].constant_ms);
}

bool trial_is_perceptive(TrialControl control)
{
    return control >= TRIAL_PERCEPTIVE;
}

TrialDef trial_def_default(void)
{
    TrialDef def = {
        .seed = 1,
        .control = TRIAL_PERCEPTIVE_FREE,
        .peers = 8,
        .actions = 10,
        .length = FL_SEC(2),
        .low_ms = 5.0,
        .high_ms = 195.0,
        .again_ns = FL_FOREVER,
    };
    return def;
}

// ---------------------------------------------------------------- the network

static FlTime delay_between(FlRandom *random, double low_ms, double high_ms)
{
    double ms = fl_random_between(random, low_ms, high_ms);
    return fl_span_from_seconds(ms / 1e3);
}

/// Places in a disc: the way over a third one is never shorter.
static void place_peers(const TrialDef *def, NetDef *net, FlRandom *random)
{
    double radius = (def->high_ms - def->low_ms) / 2.0;
    FlVec3 place[FL_LAGS_PEERS];
    for (int32_t i = 0; i < def->peers; i++) {
        double angle = fl_random_between(random, 0.0, 2.0 * FL_PI);
        double out = radius * sqrt(fl_random_between(random, 0.0, 1.0));
        double sine;
        double cosine;
        fl_sincos(angle, &sine, &cosine);
        place[i] = fl_vec3(out * cosine, out * sine, 0.0);
    }
    for (int32_t i = 0; i < def->peers; i++) {
        for (int32_t j = 0; j < def->peers; j++) {
            double ms = def->low_ms + fl_vec3_distance(place[i], place[j]);
            net->delay[i][j] = fl_span_from_seconds(ms / 1e3);
        }
    }
}

static void make_network(const TrialDef *def, NetDef *net)
{
    FlRandom random = {.seed = def->seed, .stream = 500};
    for (int32_t i = 0; i < def->peers; i++) {
        net->clock[i] = (FlTime)fl_random_below(&random, (uint64_t)CLOCKS);
        double drift = fl_random_between(&random, -0.5, 0.5) * def->drift_ppm;
        net->drift_ppb[i] = (int64_t)(1000.0 * drift);
        for (int32_t j = 0; j < def->peers; j++) {
            net->delay[i][j] = delay_between(&random, def->low_ms, def->high_ms);
        }
    }
    if (def->triangle) {
        place_peers(def, net, &random);
    }
}

static int by_time(const void *one, const void *other)
{
    const Action *a = (const Action *)one;
    const Action *b = (const Action *)other;
    if (a->at != b->at) {
        return a->at < b->at ? -1 : 1;
    }
    return a->peer - b->peer;
}

static void make_actions(Trial *trial, FlTime begin)
{
    const TrialDef *def = trial->def;
    FlRandom random = {.seed = def->seed, .stream = 501};
    for (int32_t i = 0; i < trial->count; i++) {
        Action *action = &trial->actions[i];
        action->peer = i % def->peers;
        action->at = begin + (FlTime)fl_random_below(&random, (uint64_t)def->length);
        action->object = (int32_t)fl_random_below(&random, OBJECTS);
    }
    qsort(trial->actions, (size_t)trial->count, sizeof *trial->actions, by_time);
}

// ---------------------------------------------------------------- playing

static void note_play(void *ctx, const NetPlay *play)
{
    Trial *trial = (Trial *)ctx;
    uint32_t number;
    memcpy(&number, play->action->bytes, sizeof number);
    int32_t peer = play->peer;
    FL_ASSERT(number < (uint32_t)trial->count);
    Played *played = &trial->played[peer * trial->count + (int32_t)number];
    Played now = {play->at, play->local, ++trial->places[peer]};
    *played = now;
    if (trial->def->control == TRIAL_NONE) {
        trial->late += (int32_t)number < trial->newest[peer] ? 1 : 0;
        int32_t newest = trial->newest[peer];
        trial->newest[peer] = (int32_t)number > newest ? (int32_t)number : newest;
    } else {
        trial->late += play->action->late ? 1 : 0;
    }
}

static FlTime local_of(Trial *trial, int32_t peer, FlTime time)
{
    return trial->crowd != NULL ? world_local(crowd_world(trial->crowd), peer, time)
                                : net_local(trial->room, peer, time);
}

static void run_to(Trial *trial, FlTime until)
{
    if (trial->crowd != NULL) {
        crowd_run(trial->crowd, until);
    } else {
        net_run(trial->room, until);
    }
}

static FlResult act(Trial *trial, uint32_t number)
{
    Action *action = &trial->actions[number];
    action->stamp = local_of(trial, action->peer, action->at);
    return trial->crowd != NULL ? crowd_act(trial->crowd, action->peer, &number, sizeof number)
                                : net_act(trial->room, action->peer, &number, sizeof number);
}

static bool is_ready(const Trial *trial)
{
    return trial->crowd != NULL ? crowd_is_ready(trial->crowd) : net_is_ready(trial->room);
}

static LabStatus play(Trial *trial, FlTime begin, LabError *error)
{
    FlTime until = begin + PATIENCE;
    run_to(trial, begin);
    while (!is_ready(trial) && begin < until) {
        begin += FL_SEC(1);
        run_to(trial, begin);
    }
    if (!is_ready(trial)) {
        return lab_fail(error, LAB_FAILED, "lags are not agreed on before %.1f s (seed %llu)",
                        fl_span_seconds(begin), (unsigned long long)trial->def->seed);
    }
    make_actions(trial, begin);
    FlResult result = FL_OK;
    for (int32_t i = 0; i < trial->count && result == FL_OK; i++) {
        run_to(trial, trial->actions[i].at);
        result = act(trial, (uint32_t)i);
    }
    run_to(trial, begin + trial->def->length + END);
    return result == FL_OK ? LAB_OK : lab_fail_result(error, result, "acting");
}

// ---------------------------------------------------------------- measuring

static const Played *played_at(const Trial *trial, int32_t peer, int32_t action)
{
    return &trial->played[peer * trial->count + action];
}

/// Does somebody play `a` before `b`, and somebody else after it?
static bool is_conflict(const Trial *trial, int32_t a, int32_t b)
{
    bool first = played_at(trial, 0, a)->place < played_at(trial, 0, b)->place;
    for (int32_t p = 1; p < trial->def->peers; p++) {
        if ((played_at(trial, p, a)->place < played_at(trial, p, b)->place) != first) {
            return true;
        }
    }
    return false;
}

static int64_t count_conflicts(const Trial *trial)
{
    int64_t conflicts = 0;
    for (int32_t a = 0; a < trial->count; a++) {
        for (int32_t b = 0; b < a; b++) {
            bool shared = trial->actions[a].object == trial->actions[b].object;
            conflicts += shared && is_conflict(trial, a, b) ? 1 : 0;
        }
    }
    return conflicts;
}

static int64_t count_illegal(const Trial *trial, FlTime tolerance)
{
    int64_t illegal = 0;
    int32_t last[FL_LAGS_PEERS];
    memset(last, -1, sizeof last);
    for (int32_t a = 0; a < trial->count; a++) {
        int32_t before = last[trial->actions[a].peer];
        last[trial->actions[a].peer] = a;
        for (int32_t p = 0; p < trial->def->peers && before >= 0; p++) {
            FlTime here = played_at(trial, p, a)->local - played_at(trial, p, before)->local;
            FlTime there = trial->actions[a].stamp - trial->actions[before].stamp;
            illegal += here - there > tolerance || there - here > tolerance ? 1 : 0;
        }
    }
    return illegal;
}

/// How far the time between two actions differs between two peers, at most, in true time: clocks
/// that drift do not say.
static FlTime apart(const Trial *trial, int32_t p, int32_t q)
{
    FlTime least = INT64_MAX;
    FlTime most = INT64_MIN;
    for (int32_t a = 0; a < trial->count; a++) {
        FlTime d = played_at(trial, p, a)->at - played_at(trial, q, a)->at;
        least = d < least ? d : least;
        most = d > most ? d : most;
    }
    return most - least;
}

static void measure_pairs(const Trial *trial, TrialFigures *figures)
{
    for (int32_t p = 0; p < trial->def->peers; p++) {
        for (int32_t q = 0; q < p; q++) {
            FlTime error = apart(trial, p, q);
            figures->uneven += error > TOLERANCE + figures->bound ? 1 : 0;
            figures->error = error > figures->error ? error : figures->error;
        }
    }
}

/// What drift can make of the time between two actions. Lags are of a round, of measurements that
/// may be a window old, and a round takes a while. Over a reference A is one measurement; free, it
/// is a chain of them: of more than four we saw none.
FlTime trial_drift_bound(const TrialDef *def, const NetDef *net)
{
    FlTime all = def->length + BEGIN + END;
    FlTime old = net->lags.window_ns + FL_SEC(1);
    old *= def->control == TRIAL_PERCEPTIVE_FREE ? 4 : 1;
    FlTime round = fl_time_add(def->again_ns, old);
    FlTime since = trial_is_perceptive(def->control) && round < all ? round : all;
    return fl_span_from_seconds(def->drift_ppm * 1e-6 * fl_span_seconds(since));
}

static void measure_decisions(const Trial *trial, TrialFigures *figures, Tally *decisions)
{
    for (int32_t p = 0; p < trial->def->peers; p++) {
        for (int32_t a = 0; a < trial->count; a++) {
            FlTime took = played_at(trial, p, a)->at - trial->actions[a].at;
            figures->slowest = took > figures->slowest ? took : figures->slowest;
            tally_add(decisions, 1e3 * fl_span_seconds(took > 0 ? took : 0));
        }
    }
}

static FlTime mean_lag(const Trial *trial)
{
    if (!trial_is_perceptive(trial->def->control)) {
        return 0;
    }
    if (trial->crowd == NULL) {
        return fl__lags_status(net_lags(trial->room, 0), 0).mean_ns;
    }
    FlLagsStatus status;
    (void)fl_session_lags(world_session(crowd_world(trial->crowd), 0), 0, &status);
    return status.mean_ns;
}

static void measure(const Trial *trial, TrialFigures *figures, Tally *decisions)
{
    const TrialDef *def = trial->def;
    figures->conflicts = count_conflicts(trial);
    figures->late = trial->late;
    figures->minutes = fl_span_seconds(def->length) / 60.0 * def->peers;
    figures->lag = mean_lag(trial);
    figures->bound = trial_drift_bound(def, &trial->net);
    figures->legality = count_illegal(trial, TOLERANCE + 2 * figures->bound); // at both ends
    measure_pairs(trial, figures);
    measure_decisions(trial, figures, decisions);
}

// ---------------------------------------------------------------- all of it

void trial_network(const TrialDef *def, NetDef *net)
{
    memset(net, 0, sizeof *net);
    net->seed = def->seed;
    net->peers = def->peers;
    net->control = trial_is_perceptive(def->control) ? NET_LAGS
                   : def->control == TRIAL_NONE      ? NET_NONE
                                                     : NET_CONSTANT;
    net->constant_ns = trial_control_constant(def->control);
    net->lags = fl__lags_def_default();
    net->lags.choice = controls[def->control].choice;
    net->lags.provision_ns = FL_MS(500);
    net->lags.window_ns = FL_SEC(1);
    net->lags.margin_ns = def->margin_ns;
    net->lags.again_ns = def->again_ns;
    net->way = fl_impair_def_default().settings;
    make_network(def, net);
}

static void set_up(Trial *trial)
{
    trial_network(trial->def, &trial->net);
    trial->net.play_fn = note_play;
    trial->net.ctx = trial;
    for (int32_t i = 0; i < trial->def->peers; i++) {
        trial->newest[i] = -1;
    }
}

static void trial_free(Trial *trial)
{
    net_destroy(trial->room);
    crowd_destroy(trial->crowd);
    free(trial->actions);
    free(trial->played);
}

static LabStatus play_and_measure(Trial *trial, TrialFigures *figures, Tally *decisions,
                                  LabError *error)
{
    const TrialDef *def = trial->def;
    FlResult result = def->sessions
                          ? crowd_create(&trial->net, FL_TOPOLOGY_MESH, def->sealed, &trial->crowd)
                          : net_create(&trial->net, &trial->room);
    if (result != FL_OK) {
        return lab_fail_result(error, result, "making a network");
    }
    LabStatus status = play(trial, def->sessions ? BEGIN_SESSIONS : BEGIN, error);
    for (int32_t p = 0; p < def->peers && status == LAB_OK; p++) {
        if (trial->places[p] != trial->count) {
            status = lab_fail(error, LAB_FAILED, "actions got lost (seed %llu)",
                              (unsigned long long)def->seed);
        }
    }
    if (status == LAB_OK) {
        measure(trial, figures, decisions);
    }
    return status;
}

LabStatus trial_run(const TrialDef *def, TrialFigures *figures, Tally *decisions, LabError *error)
{
    memset(figures, 0, sizeof *figures);
    Trial trial = {.def = def, .count = def->peers * def->actions};
    size_t count = (size_t)trial.count;
    trial.actions = (Action *)calloc(count, sizeof *trial.actions);
    trial.played = (Played *)calloc(count * (size_t)def->peers, sizeof *trial.played);
    if (trial.actions == NULL || trial.played == NULL) {
        trial_free(&trial);
        return lab_fail_result(error, FL_NO_MEMORY, "making a network");
    }
    set_up(&trial);
    LabStatus status = play_and_measure(&trial, figures, decisions, error);
    trial_free(&trial);
    return status;
}
