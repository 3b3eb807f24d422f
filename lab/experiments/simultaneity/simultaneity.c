// lab run simultaneity: who plays what when, over many random networks.
#include "lab/experiments/simultaneity/simultaneity.h"
#include "lab/experiments/simultaneity/simultaneity_media.h"

#include <stdlib.h>
#include <string.h>

typedef struct SimultaneitySettings {
    LabNumbers peers;
    LabNumbers drift;
    int64_t networks;
    double low_ms, high_ms;
    double seconds;
    int64_t actions;
    double again_s;
    bool triangle;
    bool sessions;
    bool media;
    const char *topology;
} SimultaneitySettings;

static void defaults(void *ctx)
{
    SimultaneitySettings *settings = (SimultaneitySettings *)ctx;
    *settings = (SimultaneitySettings){
        .peers = {{2, 4, 8, 16, 32}, 5},
        .drift = {{0}, 1},
        .networks = 100,
        .low_ms = 5.0,
        .high_ms = 195.0,
        .seconds = 2.0,
        .actions = 10,
        .again_s = 5.0,
        .topology = "mesh",
    };
}

#define AT(field) offsetof(SimultaneitySettings, field)

static const Setting settings_table[] = {
    {SETTING_NUMBERS, "peers", "LIST", "how many play (2,4,8,16,32)", AT(peers), 2, 32},
    {SETTING_INTEGER, "networks", "N", "random networks for each row (100)", AT(networks), 1,
     100000},
    {SETTING_NUMBERS, "drift", "LIST", "ppm, between any two clocks at most (0)", AT(drift), 0,
     1000},
    {SETTING_NUMBER, "low", "MS", "shortest delay of a way (5)", AT(low_ms), 0.0, 1000.0},
    {SETTING_NUMBER, "high", "MS", "longest (195)", AT(high_ms), 0.0, 1000.0},
    {SETTING_NUMBER, "seconds", "S",
     "how long they act; with drift ten times as long; with media 15 at most (2)", AT(seconds), 0.1,
     600.0},
    {SETTING_INTEGER, "actions", "N", "of each peer in that time; with drift as well (10)",
     AT(actions), 2, 100},
    {SETTING_NUMBER, "again", "S", "with drift: a round at least this often (5)", AT(again_s), 0.5,
     3600.0},
    {SETTING_FLAG, "triangle", NULL, "delays keep the triangle inequality", AT(triangle), 0, 0},
    {SETTING_FLAG, "media", NULL, "motions in whole sessions, in place of actions", AT(media), 0,
     0},
    {SETTING_TEXT, "topology", "NAME", "of these: star, mesh or hybrid (mesh)", AT(topology), 0, 0},
    {SETTING_FLAG, "sessions", NULL, "whole sessions (mesh) besides room agree alone", AT(sessions),
     0, 0},
};

/// What many networks come to.
typedef struct Sum {
    TrialFigures figures;
    double lag_ms; ///< Mean of means.
    double off_ms; ///< Sessions: how far a network's mean lag is from the room's, at most.
    Tally *decisions;
} Sum;

static void add(Sum *sum, const TrialFigures *one)
{
    TrialFigures *all = &sum->figures;
    all->conflicts += one->conflicts;
    all->legality += one->legality;
    all->uneven += one->uneven;
    all->late += one->late;
    all->minutes += one->minutes;
    all->error = one->error > all->error ? one->error : all->error;
    all->bound = one->bound > all->bound ? one->bound : all->bound;
    sum->lag_ms += 1e3 * fl_span_seconds(one->lag);
}

static void add_row(json_t *rows, const TrialDef *def, const Sum *sum, int64_t networks)
{
    const TrialFigures *f = &sum->figures;
    json_t *row = json_object();
    row_text(row, "over", def->sessions ? "sessions" : "room");
    row_text(row, "control", trial_control_name(def->control));
    row_number(row, "peers", def->peers);
    row_number(row, "drift_ppm", def->drift_ppm);
    row_number(row, "networks", (double)networks);
    row_number(row, "conflicts", (double)f->conflicts);
    row_number(row, "legality_violations", (double)f->legality);
    row_number(row, "simultaneity_violations", (double)f->uneven);
    row_number(row, "simultaneity_error_ms", 1e3 * fl_span_seconds(f->error));
    row_number(row, "error_bound_ms", 1e3 * fl_span_seconds(f->bound));
    row_number(row, "decision_ms_p50", tally_quantile(sum->decisions, 0.5));
    row_number(row, "decision_ms_p95", tally_quantile(sum->decisions, 0.95));
    row_number(row, "rollbacks_per_minute", (double)f->late / f->minutes);
    row_number(row, "late", (double)f->late);
    if (trial_is_perceptive(def->control)) {
        row_number(row, "mean_lag_ms", sum->lag_ms / (double)networks);
    }
    if (def->sessions) {
        row_number(row, "room_apart_ms", sum->off_ms);
    }
    json_array_append_new(rows, row);
}

/// A network in sessions must come to the lags that module `agree` alone comes to.
static LabStatus compare(const TrialDef *def, const TrialFigures *in_sessions, Sum *sum,
                         LabError *error)
{
    TrialDef room = *def;
    TrialFigures figures;
    Tally *unused = (Tally *)calloc(1, sizeof *unused);
    if (unused == NULL) {
        return lab_fail_result(error, FL_NO_MEMORY, "counting");
    }
    room.sessions = false;
    LabStatus status = trial_run(&room, &figures, unused, error);
    double off = 1e3 * fabs(fl_span_seconds(in_sessions->lag - figures.lag));
    sum->off_ms = off > sum->off_ms ? off : sum->off_ms;
    free(unused);
    return status;
}

static LabStatus run_row(const LabRun *run, const SimultaneitySettings *s, TrialDef *def,
                         json_t *rows, LabError *error)
{
    Sum sum = {0};
    LabStatus status = LAB_OK;
    sum.decisions = (Tally *)calloc(1, sizeof *sum.decisions);
    if (sum.decisions == NULL) {
        return lab_fail_result(error, FL_NO_MEMORY, "counting");
    }
    for (int64_t i = 0; i < s->networks && status == LAB_OK; i++) {
        TrialFigures figures;
        def->seed = fl_random_at(run->seed, (uint64_t)def->peers, (uint64_t)i);
        status = trial_run(def, &figures, sum.decisions, error);
        if (status == LAB_OK && def->sessions) {
            status = compare(def, &figures, &sum, error);
        }
        add(&sum, &figures);
    }
    if (status == LAB_OK) {
        add_row(rows, def, &sum, s->networks);
    }
    free(sum.decisions);
    return status;
}

static TrialDef trial_of(const LabRun *run, const SimultaneitySettings *s, double drift)
{
    TrialDef def = trial_def_default();
    def.actions = (int32_t)s->actions;
    def.length = fl_span_from_seconds(drift > 0.0 ? 10.0 * s->seconds : s->seconds);
    def.low_ms = s->low_ms;
    def.high_ms = s->high_ms;
    def.triangle = s->triangle;
    def.drift_ppm = drift;
    def.again_ns = drift > 0.0 ? fl_span_from_seconds(s->again_s) : FL_FOREVER;
    def.margin_ns = drift > 0.0 ? FL_MS(2) : 0;
    def.sealed = !run->plain;
    return def;
}

// ---------------------------------------------------------------- motions

static void add_media(MediaFigures *all, const MediaFigures *one)
{
    all->compared += one->compared;
    all->differing += one->differing;
    all->late += one->late;
    all->worst_m = one->worst_m > all->worst_m ? one->worst_m : all->worst_m;
    all->error = one->error > all->error ? one->error : all->error;
    all->bound = one->bound > all->bound ? one->bound : all->bound;
    all->spread = one->spread > all->spread ? one->spread : all->spread;
}

static void add_media_row(json_t *rows, const TrialDef *def, const SimultaneitySettings *s,
                          const MediaFigures *f, const Tally *ages)
{
    json_t *row = json_object();
    row_text(row, "over", s->topology);
    row_text(row, "control", trial_control_name(def->control));
    row_number(row, "peers", def->peers);
    row_number(row, "drift_ppm", def->drift_ppm);
    row_number(row, "networks", (double)s->networks);
    row_number(row, "pictures", (double)f->compared);
    row_number(row, "conflicts", (double)f->differing);
    row_number(row, "apart_m", f->worst_m);
    row_number(row, "simultaneity_error_ms", 1e3 * fl_span_seconds(f->error));
    row_number(row, "error_bound_ms", 1e3 * fl_span_seconds(f->bound));
    row_number(row, "spread_ms", 1e3 * fl_span_seconds(f->spread));
    row_number(row, "decision_ms_p50", tally_quantile(ages, 0.5));
    row_number(row, "decision_ms_p95", tally_quantile(ages, 0.95));
    row_number(row, "late", (double)f->late);
    json_array_append_new(rows, row);
}

static LabStatus run_media_row(const LabRun *run, const SimultaneitySettings *s, TrialDef *def,
                               FlTopology topology, json_t *rows, LabError *error)
{
    MediaFigures all = {0};
    LabStatus status = LAB_OK;
    Tally *ages = (Tally *)calloc(1, sizeof *ages);
    if (ages == NULL) {
        return lab_fail_result(error, FL_NO_MEMORY, "counting");
    }
    for (int64_t i = 0; i < s->networks && status == LAB_OK; i++) {
        MediaFigures one;
        def->seed = fl_random_at(run->seed, (uint64_t)def->peers, (uint64_t)i);
        status = media_run(def, topology, &one, ages, error);
        add_media(&all, &one);
    }
    if (status == LAB_OK) {
        add_media_row(rows, def, s, &all, ages);
    }
    free(ages);
    return status;
}

static LabStatus find_topology(const char *name, FlTopology *topology, LabError *error)
{
    static const char *const names[] = {"star", "mesh", "hybrid"};
    static const FlTopology values[] = {FL_TOPOLOGY_STAR, FL_TOPOLOGY_MESH, FL_TOPOLOGY_HYBRID};
    for (int32_t i = 0; i < 3; i++) {
        if (strcmp(name, names[i]) == 0) {
            *topology = values[i];
            return LAB_OK;
        }
    }
    return lab_fail(error, LAB_BAD_INPUT, "--topology: no '%s'; there are: star, mesh, hybrid",
                    name);
}

static LabStatus run_media(const LabRun *run, const SimultaneitySettings *s, LabResult *result,
                           LabError *error)
{
    FlTopology topology = FL_TOPOLOGY_MESH;
    LabStatus status = find_topology(s->topology, &topology, error);
    int64_t of = (int64_t)s->drift.count * s->peers.count * TRIAL_CONTROLS;
    int64_t done = 0;
    for (int32_t d = 0; d < s->drift.count; d++) {
        for (int32_t p = 0; p < s->peers.count; p++) {
            for (int32_t c = 0; c < TRIAL_CONTROLS && status == LAB_OK; c++) {
                TrialDef def = trial_of(run, s, s->drift.values[d]);
                def.peers = (int32_t)s->peers.values[p];
                def.control = (TrialControl)c;
                def.length = fl_span_from_seconds(fmin(s->seconds, 15.0)); // the world has an end
                def.again_ns = fl_time_min(def.again_ns, FL_SEC(1));
                def.margin_ns = FL_MS(2);
                lab_progress(run, done++, of);
                status = run_media_row(run, s, &def, topology, result->rows, error);
            }
        }
    }
    return status;
}

static LabStatus run_simultaneity(const LabRun *run, const void *ctx, LabResult *result,
                                  LabError *error)
{
    const SimultaneitySettings *s = (const SimultaneitySettings *)ctx;
    if (s->low_ms > s->high_ms) {
        return lab_fail(error, LAB_BAD_INPUT, "--low is above --high");
    }
    if (s->media) {
        return run_media(run, s, result, error);
    }
    int32_t ways = s->sessions ? 2 : 1;
    int64_t of = (int64_t)s->drift.count * s->peers.count * TRIAL_CONTROLS * ways;
    int64_t done = 0;
    LabStatus status = LAB_OK;
    for (int32_t d = 0; d < s->drift.count; d++) {
        for (int32_t p = 0; p < s->peers.count; p++) {
            for (int32_t c = 0; c < TRIAL_CONTROLS * ways && status == LAB_OK; c++) {
                TrialDef def = trial_of(run, s, s->drift.values[d]);
                def.peers = (int32_t)s->peers.values[p];
                def.control = (TrialControl)(c % TRIAL_CONTROLS);
                def.sessions = c >= TRIAL_CONTROLS;
                if (def.sessions) { // ways get shorter as peers meet: rounds bring that in
                    def.again_ns = def.again_ns < FL_SEC(1) ? def.again_ns : FL_SEC(1);
                    def.margin_ns = FL_MS(2);
                }
                lab_progress(run, done++, of);
                if (def.sessions && !trial_is_perceptive(def.control)) {
                    continue;
                }
                status = run_row(run, s, &def, result->rows, error);
            }
        }
    }
    return status;
}

static const Column columns[] = {
    {"over", "over", -1},
    {"control", "control", -1},
    {"peers", "peers", 0},
    {"drift_ppm", "ppm", 0},
    {"networks", "networks", 0},
    {"conflicts", "conflicts", 0},
    {"legality_violations", "illegal", 0},
    {"simultaneity_error_ms", "error ms", 4},
    {"decision_ms_p50", "p50 ms", 1},
    {"decision_ms_p95", "p95 ms", 1},
    {"rollbacks_per_minute", "rollbacks/min", 1},
    {"late", "late", 0},
};

#define BY_PEERS .x = "peers", .x_title = "peers", .series = "control", .where = "over=room"

static const ChartSpec charts[] = {
    {CHART_LINES, "How soon all play an action", BY_PEERS, .y = "decision_ms_p95",
     .y_title = "ms, 95th percentile", .log_x = true},
    {CHART_LINES, "Conflicts", BY_PEERS, .y = "conflicts", .y_title = "conflicts", .log_x = true},
};

const Experiment experiment_simultaneity = {
    .name = "simultaneity",
    .help = "whether all peers play all actions in one order, at one time, and how soon",
    .summary =
        "Peers with clocks minutes apart act on shared objects over random networks. Played\n"
        "on arrival (none), a constant time after it was done by perfect clocks\n"
        "(constant-200, constant-400), or by lags that the peers agree on without any common\n"
        "clock: over the published reference (perceptive), the best one, or none (free).\n"
        "Decisions are timed from the action to its playing, at every peer.\n"
        "With --media everybody moves, in whole sessions: shown as of now (none) or as of 200 or\n"
        "400 ms ago by session time, or at play times by lags. A conflict is a thing that two\n"
        "peers show in different places in the same picture.",
    .settings = settings_table,
    .setting_count = (int32_t)(sizeof settings_table / sizeof *settings_table),
    .settings_bytes = sizeof(SimultaneitySettings),
    .defaults_fn = defaults,
    .run_fn = run_simultaneity,
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
    .charts = charts,
    .chart_count = (int32_t)(sizeof charts / sizeof *charts),
};
