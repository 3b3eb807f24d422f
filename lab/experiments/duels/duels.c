// lab run duels: whether scores are what they should be, by mode (the Donnybrook paper's fairness
// experiment).
#include "lab/experiments/duels/duels.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- settings

typedef struct DuelsSettings {
    const char *skills;
    const char *modes;
    const char *expected;
    double hours;
    double expected_hours;
    double stretch_minutes;
    double kbps;
    bool full;
} DuelsSettings;

static void defaults(void *ctx)
{
    *(DuelsSettings *)ctx = (DuelsSettings){
        .skills = "random,top",
        .modes = "hibw,lobw,donny,ours",
        .expected = "exact",
        .hours = 2.0,
        .expected_hours = 24.0,
        .stretch_minutes = 60.0,
        .kbps = DUELS_KBPS,
    };
}

#define AT(field) offsetof(DuelsSettings, field)

static const Setting settings_table[] = {
    {SETTING_TEXT, "skills", "LIST", "random: each draws one of five; top: all the highest (both)",
     AT(skills), 0, 0},
    {SETTING_TEXT, "modes", "LIST", "of exact,hibw,lobw,donny,ours (all but exact)", AT(modes), 0,
     0},
    {SETTING_TEXT, "expected", "MODE",
     "who makes the expected scores: exact, the game without a\nnetwork, or another mode (exact)",
     AT(expected), 0, 0},
    {SETTING_NUMBER, "hours", "H", "of game time in each mode (2)", AT(hours), 0.01, 1000.0},
    {SETTING_NUMBER, "expected-hours", "H", "of the game that is expected to repeat (24)",
     AT(expected_hours), 0.01, 10000.0},
    {SETTING_NUMBER, "stretch", "MIN", "count scores over so long for one correlation (60)",
     AT(stretch_minutes), 0.1, 1440.0},
    {SETTING_NUMBER, "kbps", "K", "upload of each peer where there is a limit (91.7)", AT(kbps),
     10.0, 1e6},
    {SETTING_FLAG, "full", NULL, "24 hours in each mode", AT(full), 0, 0},
};

/// Reads a list of words; chosen[i] becomes true for those in it.
static LabStatus read_list(const char *option, const char *list, const char *(*name_fn)(int32_t),
                           int32_t count, bool *chosen, LabError *error)
{
    for (const char *at = list; *at != '\0';) {
        size_t length = strcspn(at, " ,");
        bool known = length == 0;
        for (int32_t i = 0; i < count; i++) {
            bool same = strlen(name_fn(i)) == length && strncmp(name_fn(i), at, length) == 0;
            chosen[i] = chosen[i] || same;
            known = known || same;
        }
        if (!known) {
            return lab_fail(error, LAB_BAD_INPUT, "--%s: no '%.*s'; see --help", option,
                            (int)length, at);
        }
        at += length + (at[length] != '\0' ? 1 : 0);
    }
    for (int32_t i = 0; i < count; i++) {
        if (chosen[i]) {
            return LAB_OK;
        }
    }
    return lab_fail(error, LAB_BAD_INPUT, "--%s: nothing in it", option);
}

static const char *mode_word(int32_t mode)
{
    return duels_mode_name((DuelsMode)mode);
}

static const char *skills_word(int32_t skills)
{
    return duels_skills_name((DuelsSkills)skills);
}

/// What is asked for.
typedef struct Request {
    bool modes[DUELS_MODES];
    bool skills[DUELS_SKILLS];
    DuelsPlan plan;
} Request;

static int32_t stretches_in(double hours, double minutes)
{
    double count = floor(hours * 60.0 / minutes + 1e-9);
    return count < 1.0 ? 1 : count > DUELS_STRETCHES ? DUELS_STRETCHES + 1 : (int32_t)count;
}

static LabStatus read_settings(const DuelsSettings *s, const LabRun *run, Request *request,
                               LabError *error)
{
    bool expected[DUELS_MODES] = {false};
    double hours = s->full ? 24.0 : s->hours;
    LabStatus status = read_list("modes", s->modes, mode_word, DUELS_MODES, request->modes, error);
    if (status == LAB_OK) {
        status = read_list("skills", s->skills, skills_word, DUELS_SKILLS, request->skills, error);
    }
    if (status == LAB_OK) {
        status = read_list("expected", s->expected, mode_word, DUELS_MODES, expected, error);
    }
    request->plan = (DuelsPlan){
        .seed = run->seed,
        .casts = run->runs,
        .expected_stretches = stretches_in(s->expected_hours, s->stretch_minutes),
        .stretches = stretches_in(hours, s->stretch_minutes),
        .stretch_ns =
            (FlTime)llround(s->stretch_minutes * 60.0 * ARENA_TICK_HZ) * arena_tick_time(1),
        .kbps = s->kbps,
        .sealed = !run->plain,
    };
    for (int32_t m = DUELS_MODES - 1; m >= 0; m--) {
        request->plan.expected = expected[m] ? (DuelsMode)m : request->plan.expected;
    }
    if (status == LAB_OK && ((int64_t)request->plan.stretches * run->runs > DUELS_STRETCHES ||
                             request->plan.expected_stretches > DUELS_STRETCHES)) {
        return lab_fail(error, LAB_BAD_INPUT, "more than %d stretches; take longer ones",
                        DUELS_STRETCHES);
    }
    return status;
}

// ---------------------------------------------------------------- rows

static json_t *make_row(const DuelsPlan *plan, DuelsMode mode, const DuelsFigures *f,
                        double ceiling)
{
    Estimate spearman = duels_mean(f->spearman, f->count);
    Estimate pearson = duels_mean(f->pearson, f->count);
    json_t *row = json_object();
    row_text(row, "skills", duels_skills_name(plan->skills));
    row_text(row, "mode", duels_mode_name(mode));
    row_number(row, "hours", f->count * fl_span_seconds(plan->stretch_ns) / 3600.0);
    row_number(row, "spearman", spearman.mean);
    row_number(row, "spearman_ci95", spearman.ci95);
    row_number(row, "pearson", pearson.mean);
    row_number(row, "pearson_ci95", pearson.ci95);
    row_number(row, "ceiling", ceiling);
    row_number(row, "score_per_hour", f->score_per_hour);
    row_number(row, "kbps_used", f->kbps_used);
    return row;
}

/// How far it is: every stretch counts, and one with a network for more.
typedef struct Progressing {
    const LabRun *run;
    int64_t done, of;
} Progressing;

static void step_progress(void *ctx)
{
    Progressing *p = (Progressing *)ctx;
    lab_progress(p->run, ++p->done, p->of);
}

static int64_t count_stretches(const Request *request)
{
    const DuelsPlan *plan = &request->plan;
    int64_t modes = 0;
    int64_t skills = 0;
    for (int32_t m = 0; m < DUELS_MODES; m++) {
        modes += request->modes[m] ? 1 : 0;
    }
    for (int32_t s = 0; s < DUELS_SKILLS; s++) {
        skills += request->skills[s] ? 1 : 0;
    }
    return skills * plan->casts * (plan->expected_stretches + modes * plan->stretches);
}

static LabStatus run_skills(const Request *request, const DuelsPlan *plan, DuelsScores *expected,
                            DuelsFigures *figures, json_t *rows, LabError *error)
{
    double ceiling = (double)NAN;
    LabStatus status = LAB_OK;
    for (int32_t c = 0; c < plan->casts && status == LAB_OK; c++) {
        status = duels_expect(plan, c, &expected[c], error);
    }
    for (int32_t m = 0; m < DUELS_MODES && status == LAB_OK; m++) {
        if (!request->modes[m]) {
            continue;
        }
        status = duels_measure(plan, (DuelsMode)m, expected, figures, error);
        bool known = status == LAB_OK && !lab_units_missing(plan->units);
        if (known && m == DUELS_HIBW) {
            ceiling = duels_mean(figures->spearman, figures->count).mean;
        }
        if (known) {
            (void)json_array_append_new(rows, make_row(plan, (DuelsMode)m, figures, ceiling));
        }
    }
    return status;
}

static LabStatus run_request(const LabRun *run, const Request *request, DuelsScores *expected,
                             DuelsFigures *figures, LabResult *result, LabError *error)
{
    Progressing progress = {.run = run, .of = count_stretches(request)};
    LabStatus status = LAB_OK;
    text_add(&result->series, "skills,mode,cast,stretch,player,character,skill,expected,score\n");
    for (int32_t s = 0; s < DUELS_SKILLS && status == LAB_OK; s++) {
        DuelsPlan plan = request->plan;
        plan.skills = (DuelsSkills)s;
        plan.progress_fn = step_progress;
        plan.progress_ctx = &progress;
        plan.series = &result->series;
        plan.units = run->units;
        if (request->skills[s]) {
            status = run_skills(request, &plan, expected, figures, result->rows, error);
        }
    }
    return status;
}

static LabStatus run_duels(const LabRun *run, const void *ctx, LabResult *result, LabError *error)
{
    Request request = {0};
    LabStatus status = read_settings((const DuelsSettings *)ctx, run, &request, error);
    if (status != LAB_OK) {
        return status;
    }
    DuelsScores *expected = (DuelsScores *)calloc((size_t)run->runs, sizeof *expected);
    DuelsFigures *figures = (DuelsFigures *)calloc(1, sizeof *figures);
    status = expected != NULL && figures != NULL
                 ? run_request(run, &request, expected, figures, result, error)
                 : lab_fail(error, LAB_FAILED, "out of memory");
    free(expected);
    free(figures);
    return status;
}

static const Column columns[] = {
    {"skills", "skills", -1},         {"mode", "mode", -1},       {"hours", "hours", 2},
    {"spearman", "spearman", 3},      {"pearson", "pearson", 3},  {"ceiling", "ceiling", 3},
    {"score_per_hour", "score/h", 0}, {"kbps_used", "kbit/s", 1},
};

static const ChartSpec charts[] = {
    {.kind = CHART_DOTS,
     .title = "Order of scores against the expected order",
     .x = "mode",
     .x_title = "mode",
     .y = "spearman",
     .y_title = "Spearman's correlation of an hour's scores",
     .interval = "spearman_ci95",
     .series = "skills"},
    {.kind = CHART_DOTS,
     .title = "Scores against expected scores",
     .x = "mode",
     .x_title = "mode",
     .y = "pearson",
     .y_title = "Pearson's correlation of an hour's scores",
     .interval = "pearson_ci95",
     .series = "skills"},
};

const Experiment experiment_duels = {
    .name = "duels",
    .help = "whether the better players still win, by what peers see of each other",
    .summary =
        "Sixteen bots play a deathmatch, each on its own peer and by its own view. Scores of\n"
        "every hour are held against those expected from a long game of the same bots, by\n"
        "order (Spearman) and by value (Pearson). Modes: hibw, no limit; lobw, dead reckoning\n"
        "within the upload; donny, focus and guidance with the published sizes; ours,\n"
        "focus+equal and guidance. Chance keeps all below 1: the ceiling is hibw's own.",
    .settings = settings_table,
    .setting_count = (int32_t)(sizeof settings_table / sizeof *settings_table),
    .settings_bytes = sizeof(DuelsSettings),
    .defaults_fn = defaults,
    .run_fn = run_duels,
    .has_units = true,
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
    .charts = charts,
    .chart_count = (int32_t)(sizeof charts / sizeof *charts),
};
