// lab run ages: how far off a prediction is by its age, for each model and for the library's own.
//
// From every state of a recording each model is set off, and compared with the truth at the first
// sample that is as old as asked for. The library's own is an exporter whose updates are paced, so
// that motions fade by age; it starts from nothing and learns while the recording plays, which
// counts from its first state on. Owners have one entity each, or one owns all.
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "lab/experiments/experiment.h"
#include "lab/trace/trace.h"

enum { AGES_MOST = 8, WAYS = 5, OURS = WAYS - 1 };

static const FlModel singles[OURS] = {FL_MODEL_STILL, FL_MODEL_LINEAR, FL_MODEL_QUADRATIC,
                                      FL_MODEL_CIRCULAR};

// ---------------------------------------------------------------- settings

typedef struct AgesSettings {
    const char *trace;
    LabNumbers ages_s;
    double length_s;
} AgesSettings;

static void defaults(void *ctx)
{
    AgesSettings *settings = (AgesSettings *)ctx;
    *settings = (AgesSettings){
        .ages_s = {.values = {0.2, 0.5, 1.0, 1.5}, .count = 4},
        .length_s = 1e4,
    };
}

#define AT(field) offsetof(AgesSettings, field)

static const Setting settings_table[] = {
    {SETTING_TEXT, "trace", "FILE", "a recorded game; needed", AT(trace), 0, 0},
    {SETTING_NUMBERS, "ages", "S[,S...]", "of predictions (0.2,0.5,1,1.5)", AT(ages_s), 0.01, 10.0},
    {SETTING_NUMBER, "length", "S", "of the recording, at most (10000)", AT(length_s), 1.0, 1e4},
};

// ---------------------------------------------------------------- playing

/// One entity as it is played: all its lives.
typedef struct Player {
    int32_t track, tracks_end;
    int32_t sample;
    int32_t ahead[AGES_MOST]; ///< The first sample of the track that is old enough.
    FlSampler sampler;
    FlExporter exporter;
    FlExperience experience;
} Player;

typedef struct Sums {
    double error[AGES_MOST][WAYS];
    int64_t samples[AGES_MOST];
} Sums;

static void begin_track(Player *p, const Trace *trace)
{
    p->sampler = (FlSampler){0};
    p->sample = trace->tracks[p->track].first;
    for (int32_t a = 0; a < AGES_MOST; a++) {
        p->ahead[a] = p->sample;
    }
    fl_exporter_cut(&p->exporter);
}

/// An update at every state, as paced streams would make it now.
static FlExporterDef exporter_def(FlExperience *experience)
{
    FlExporterDef def = fl_exporter_def_default();
    def.paced = true;
    def.trigger.silence_ns = 1;
    def.experience = experience;
    return def;
}

static int32_t open_players(Player *players, const Trace *trace, bool shared)
{
    int32_t count = 0;
    for (int32_t t = 0; t < trace->track_count;) {
        Player *p = &players[count++];
        p->track = t;
        for (int64_t id = trace->tracks[t].id; t < trace->track_count && trace->tracks[t].id == id;
             t++) {
        }
        p->tracks_end = t;
        FlExporterDef def = exporter_def(shared ? &players[0].experience : &p->experience);
        fl_exporter_init(&p->exporter, &def);
        begin_track(p, trace);
    }
    return count;
}

/// Whose state comes next. NULL: all are through.
static Player *next_player(Player *players, int32_t count, const Trace *trace, FlTime end)
{
    Player *first = NULL;
    for (int32_t i = 0; i < count; i++) {
        Player *p = &players[i];
        if (p->track < p->tracks_end && trace->time[p->sample] < end &&
            (first == NULL || trace->time[p->sample] < trace->time[first->sample])) {
            first = p;
        }
    }
    return first;
}

static void compare(Player *p, const Trace *trace, const FlMotion motions[WAYS],
                    const LabNumbers *ages, Sums *sums)
{
    const TraceTrack *track = &trace->tracks[p->track];
    FlTime now = trace->time[p->sample];
    for (int32_t a = 0; a < ages->count; a++) {
        FlTime then = now + fl_span_from_seconds(ages->values[a]);
        int32_t *ahead = &p->ahead[a];
        while (*ahead < track->first + track->count && trace->time[*ahead] < then) {
            ++*ahead;
        }
        if (*ahead == track->first + track->count) {
            continue;
        }
        FlVec3 truth = trace_position(trace, *ahead);
        for (int32_t w = 0; w < WAYS; w++) {
            FlVec3 placed = fl_motion_position(&motions[w], trace->time[*ahead]);
            sums->error[a][w] += fl_vec3_distance(placed, truth);
        }
        sums->samples[a]++;
    }
}

static void step(Player *p, const Trace *trace, const LabNumbers *ages, Sums *sums)
{
    FlState state = trace_state(trace, p->sample, &p->sampler);
    FlMotion motions[WAYS];
    for (int32_t w = 0; w < OURS; w++) {
        motions[w] = fl_motion_make(singles[w], &state);
    }
    FlMotion update;
    if (fl_exporter_feed(&p->exporter, &state, &update) != FL_TRIGGER_REFUSED) {
        fl_exporter_commit(&p->exporter, &update);
        motions[OURS] = fl_piece_placed(&update, 0, update.time).motion;
        compare(p, trace, motions, ages, sums);
    }
    const TraceTrack *track = &trace->tracks[p->track];
    if (++p->sample == track->first + track->count && ++p->track < p->tracks_end) {
        begin_track(p, trace);
    }
}

// ---------------------------------------------------------------- rows

static LabStatus add_rows(const char *owners, const LabNumbers *ages, const Sums *sums,
                          json_t *rows, LabError *error)
{
    static const char *const fields[WAYS] = {"still", "linear", "quadratic", "circular", "ours"};
    for (int32_t a = 0; a < ages->count; a++) {
        json_t *row = json_object();
        row_text(row, "owners", owners);
        row_number(row, "age_s", ages->values[a]);
        row_number(row, "samples", (double)sums->samples[a]);
        for (int32_t w = 0; w < WAYS; w++) {
            row_number(row, fields[w], sums->error[a][w] / (double)sums->samples[a]);
        }
        row_number(row, "of_linear", sums->error[a][OURS] / sums->error[a][1]);
        row_number(row, "of_circular", sums->error[a][OURS] / sums->error[a][3]);
        if (json_array_append_new(rows, row) != 0) {
            return lab_fail(error, LAB_FAILED, "out of memory");
        }
    }
    return LAB_OK;
}

static LabStatus play(const LabRun *run, const AgesSettings *s, const Trace *trace, bool shared,
                      json_t *rows, LabError *error)
{
    Player *players = (Player *)calloc((size_t)trace->entity_count, sizeof *players);
    if (players == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    Sums sums = {0};
    FlTime end = fl_time_add(trace->start, fl_span_from_seconds(s->length_s));
    int32_t count = open_players(players, trace, shared);
    int64_t done = shared ? trace->sample_count : 0;
    for (Player *p; (p = next_player(players, count, trace, end)) != NULL; done++) {
        step(p, trace, &s->ages_s, &sums);
        if (done % 4096 == 0) {
            lab_progress(run, done, 2 * (int64_t)trace->sample_count);
        }
    }
    free(players);
    return add_rows(shared ? "one of all" : "one each", &s->ages_s, &sums, rows, error);
}

static LabStatus run_ages(const LabRun *run, const void *ctx, LabResult *result, LabError *error)
{
    const AgesSettings *s = (const AgesSettings *)ctx;
    Trace trace;
    TraceError problem;
    if (s->trace == NULL) {
        return lab_fail(error, LAB_BAD_INPUT, "ages: which recording? --trace FILE names it");
    }
    if (s->ages_s.count > AGES_MOST) {
        return lab_fail(error, LAB_BAD_INPUT, "--ages: at most %d", (int)AGES_MOST);
    }
    if (!trace_load(s->trace, &trace, &problem)) {
        return lab_fail(error, LAB_BAD_INPUT, "%s", problem.text);
    }
    LabStatus status = play(run, s, &trace, false, result->rows, error);
    status = status == LAB_OK ? play(run, s, &trace, true, result->rows, error) : status;
    trace_free(&trace);
    return status;
}

static const Column columns[] = {
    {"owners", "owners", -1}, {"age_s", "age s", 1},         {"still", "still", 3},
    {"linear", "linear", 3},  {"quadratic", "quadratic", 3}, {"circular", "arcs", 3},
    {"ours", "ours", 3},      {"of_linear", "of linear", 3}, {"of_circular", "of arcs", 3},
};

static const ChartSpec charts[] = {
    {.kind = CHART_LINES,
     .title = "Error of ours by the error of straight on",
     .x = "age_s",
     .x_title = "age of the prediction, s",
     .y = "of_linear",
     .y_title = "share of straight on's error",
     .series = "owners"},
};

const Experiment experiment_ages = {
    .name = "ages",
    .help = "how far off predictions are by their age, ours beside single models",
    .summary =
        "From every state of a recording: standing still, straight on, with its acceleration,\n"
        "with its turn, and what the library would send there with paced updates, having\n"
        "learnt from the states before it in the same recording only. Mean distance from the\n"
        "truth at each age. Owners have one entity each, or one owner has all.",
    .settings = settings_table,
    .setting_count = (int32_t)(sizeof settings_table / sizeof *settings_table),
    .settings_bytes = sizeof(AgesSettings),
    .defaults_fn = defaults,
    .run_fn = run_ages,
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
    .charts = charts,
    .chart_count = (int32_t)(sizeof charts / sizeof *charts),
};
