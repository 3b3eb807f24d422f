// lab run attention: settings, rows, charts.
#include "lab/experiments/attention/attention.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct AttentionSettings {
    const char *trace;
    int64_t players;
    double kbps, rtt, seconds;
    const char *modes;
} AttentionSettings;

#define RUNS_MOST 64

static void defaults(void *ctx)
{
    AttentionSettings *settings = (AttentionSettings *)ctx;
    *settings = (AttentionSettings){.players = 32,
                                    .kbps = 108.0,
                                    .rtt = 20.0,
                                    .seconds = 30.0,
                                    .modes = "hibw,lobw,donny,ours"};
}

#define AT(field) offsetof(AttentionSettings, field)

static const Setting settings_table[] = {
    {SETTING_TEXT, "trace", "FILE",
     "a recorded match whose players are moved by it; --runs plays parts of it\n(the arena's bots)",
     AT(trace), 0, 0},
    {SETTING_INTEGER, "players", "N", "bots (32)", AT(players), 2, ARENA_PLAYER_CAPACITY},
    {SETTING_NUMBER, "kbps", "K", "upload of each, all headers included (108)", AT(kbps), 16, 1e6},
    {SETTING_NUMBER, "rtt", "MS", "round trip between any two (20)", AT(rtt), 0, 1000},
    {SETTING_NUMBER, "seconds", "S", "length of a run (30)", AT(seconds), 1, 3600},
    {SETTING_TEXT, "modes", "LIST", "of hibw,lobw,donny,ours (all)", AT(modes), 0, 0},
};

static LabStatus modes_parse(const char *text, bool wanted[ARENA_MODES], LabError *error)
{
    memset(wanted, 0, ARENA_MODES * sizeof *wanted);
    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        bool found = false;
        for (int32_t m = 0; m < ARENA_MODES; m++) {
            const char *name = arena_mode_name((ArenaMode)m);
            if (strlen(name) == length && memcmp(name, text, length) == 0) {
                wanted[m] = true;
                found = true;
            }
        }
        if (!found) {
            return lab_fail(error, LAB_BAD_INPUT, "--modes %.*s: hibw, lobw, donny or ours",
                            (int)length, text);
        }
        text += length + (text[length] == ',' ? 1 : 0);
    }
    return LAB_OK;
}

// ---------------------------------------------------------------- rows

/// X(field): of AttentionFigures, in rows as they are.
#define FIGURE_TABLE(X)                                                                            \
    X(focus_size)                                                                                  \
    X(best_effort_hz)                                                                              \
    X(error_focus)                                                                                 \
    X(error_rest)                                                                                  \
    X(weighted_error)                                                                              \
    X(attention_focus)                                                                             \
    X(error_guided)                                                                                \
    X(error_reckoned)                                                                              \
    X(warps_per_minute)                                                                            \
    X(stalls_per_minute)                                                                           \
    X(facing_error)                                                                                \
    X(standing)                                                                                    \
    X(walls_per_minute)                                                                            \
    X(facing_target)                                                                               \
    X(wanted_served)                                                                               \
    X(wanted_settled)                                                                              \
    X(error_settled)                                                                               \
    X(enter_p50)                                                                                   \
    X(enter_p95)                                                                                   \
    X(enter_never)                                                                                 \
    X(hit_latency_ms)                                                                              \
    X(kbps_used)                                                                                   \
    X(peak_kbps)

static const struct {
    const char *field;
    size_t offset;
} figure_fields[] = {
#define ROW(name) {#name, offsetof(AttentionFigures, name)},
    FIGURE_TABLE(ROW)
#undef ROW
};

static json_t *row_of(const AttentionPlay *play, const AttentionFigures *figures, int32_t runs)
{
    json_t *row = json_object();
    row_text(row, "mode", arena_mode_name(play->mode));
    row_number(row, "players", play->players);
    row_number(row, "kbps", play->kbps);
    for (size_t f = 0; f < sizeof figure_fields / sizeof *figure_fields; f++) {
        double values[RUNS_MOST];
        for (int32_t r = 0; r < runs; r++) {
            memcpy(&values[r], (const char *)&figures[r] + figure_fields[f].offset,
                   sizeof values[r]);
        }
        Estimate estimate = estimate_mean(values, runs);
        char interval[64];
        (void)snprintf(interval, sizeof interval, "%s_ci95", figure_fields[f].field);
        row_number(row, figure_fields[f].field, estimate.mean);
        row_number(row, interval, estimate.ci95);
    }
    row_number(row, "auc", windows_auc(play->windows));
    row_number(row, "auc_floor", windows_floor(play->windows));
    return row;
}

static void add_series(const AttentionPlay *play, int32_t run, const AttentionFigures *f,
                       Text *series)
{
    text_add(series, "%s,%d", arena_mode_name(play->mode), (int)run);
    for (size_t i = 0; i < sizeof figure_fields / sizeof *figure_fields; i++) {
        double value;
        memcpy(&value, (const char *)f + figure_fields[i].offset, sizeof value);
        text_add(series, ",%.5g", value);
    }
    text_add(series, ",%.4f,%.1f,%.5f,%.0f,%.0f,%llu,%llu,%llu\n", f->unseen, f->update_bytes,
             f->call_share, f->hits, f->disagreements, (unsigned long long)f->near.entered,
             (unsigned long long)f->near.within, (unsigned long long)f->near.given_up);
}

// As many windows of each match as there is room for in all.
static void windows_begin(AttentionWindows *windows, const AttentionPlay *play, int32_t runs)
{
    double all = play->players * (play->players - 1.0) * play->seconds * runs;
    windows->match = 0;
    windows->seen = 0;
    windows->count = 0;
    windows->every = 1 + (int32_t)(all / WINDOW_CAPACITY);
}

static LabStatus run_mode(const LabRun *run, const AttentionSettings *s, AttentionPlay *play,
                          AttentionFigures *figures, double *top_speed, Text *series,
                          LabError *error)
{
    LabStatus status = LAB_OK;
    for (int32_t r = 0; r < run->runs && status == LAB_OK; r++) {
        AttentionMatch match = {0};
        AttentionPlay one = *play;
        one.windows->match = r;
        one.paths = r == 0 ? play->paths : NULL;
        one.seed = fl_random_at(run->seed, 900, (uint64_t)r);
        if (s->trace != NULL) {
            double seconds = s->seconds + 5.0;
            status = attention_match_load(s->trace, r * s->seconds, seconds, &match, error);
            one.match = &match;
            one.players = match.players;
            play->players = match.players;
            *top_speed = r == 0 ? match.top_speed : *top_speed;
        }
        status = status == LAB_OK ? attention_play(&one, &figures[r], error) : status;
        if (status == LAB_OK) {
            add_series(&one, r, &figures[r], series);
        }
        attention_match_free(&match);
    }
    return status;
}

static LabStatus run_attention(const LabRun *run, const void *ctx, LabResult *result,
                               LabError *error)
{
    const AttentionSettings *s = (const AttentionSettings *)ctx;
    bool wanted[ARENA_MODES];
    LabStatus status = modes_parse(s->modes, wanted, error);
    if (run->runs > RUNS_MOST) {
        return lab_fail(error, LAB_BAD_INPUT, "--runs: at most %d", RUNS_MOST);
    }
    text_add(&result->series, "mode,run");
    for (size_t i = 0; i < sizeof figure_fields / sizeof *figure_fields; i++) {
        text_add(&result->series, ",%s", figure_fields[i].field);
    }
    text_add(&result->series, ",unseen,datagram_bytes,call_share,hits,disagreements,entered,near_"
                              "in_half_a_second,never\n");
    double top_speed = ARENA_SPEED_BOUND;
    AttentionWindows *windows = (AttentionWindows *)calloc(1, sizeof *windows);
    AttentionPaths *paths = (AttentionPaths *)calloc(1, sizeof *paths);
    if (windows == NULL || paths == NULL) {
        free(windows);
        free(paths);
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    for (int32_t m = 0; m < ARENA_MODES && status == LAB_OK; m++) {
        AttentionFigures figures[RUNS_MOST];
        AttentionPlay play = {.mode = (ArenaMode)m,
                              .players = (int32_t)s->players,
                              .kbps = s->kbps,
                              .rtt_ms = s->rtt,
                              .seconds = s->seconds,
                              .sealed = !run->plain,
                              .paths = paths,
                              .windows = windows};
        if (wanted[m]) {
            windows_begin(windows, &play, run->runs);
            status = run_mode(run, s, &play, figures, &top_speed, &result->series, error);
            if (status == LAB_OK) {
                (void)json_array_append_new(result->rows, row_of(&play, figures, run->runs));
            }
        }
        lab_progress(run, m + 1, ARENA_MODES);
    }
    if (status == LAB_OK) {
        paths_draw(paths, top_speed, &result->picture);
    }
    free(windows);
    free(paths);
    return status;
}

static const Column columns[] = {
    {"mode", "mode", -1},
    {"players", "players", 0},
    {"focus_size", "focus", 2},
    {"best_effort_hz", "rest Hz", 2},
    {"error_focus", "error focus", 1},
    {"error_rest", "rest", 1},
    {"weighted_error", "weighted", 1},
    {"warps_per_minute", "warps/min", 1},
    {"stalls_per_minute", "stalls/min", 1},
    {"walls_per_minute", "walls/min", 2},
    {"facing_target", "facing", 3},
    {"wanted_served", "served", 3},
    {"wanted_settled", "settled", 3},
    {"error_settled", "error", 1},
    {"enter_p50", "enter p50", 2},
    {"enter_p95", "p95", 2},
    {"auc", "AUC", 3},
    {"auc_floor", "floor", 3},
    {"hit_latency_ms", "hit ms", 0},
    {"kbps_used", "kbit/s", 1},
    {"peak_kbps", "peak", 1},
};

static const ChartSpec charts[] = {
    {CHART_DOTS, "Error, weighted by attention", "mode", "mode", "weighted_error", "units",
     "weighted_error_ci95", NULL, NULL, NULL, false, false},
    {CHART_DOTS, "Warps", "mode", "mode", "warps_per_minute", "per replica and minute",
     "warps_per_minute_ci95", NULL, NULL, NULL, false, false},
    {CHART_DOTS, "Facing", "mode", "mode", "facing_error", "rad", "facing_error_ci95", NULL, NULL,
     NULL, false, false},
};

const Experiment experiment_attention = {
    .name = "attention",
    .help = "what players see of many others with few bytes",
    .summary =
        "A mesh of players who all see each other, each with the same small upload. hibw has\n"
        "no limit; lobw updates all in turn; donny sends to those who look (126 bytes an\n"
        "update on the wire) and guides replicas for the rest; ours spends the same bytes by\n"
        "error weighted with attention, at our own sizes. Errors are in units (32 to a metre)\n"
        "between shown and true position, every 50 ms; focus is the four that a player looks\n"
        "at most. A warp is a shown step that no player can make, a stall half a second in\n"
        "which a replica gets nowhere and its player does, per replica. Facing is relative to\n"
        "whom a player aims at, as shown. Of the four that are looked at most: share of the\n"
        "time served (what is known is at most 150 ms older than the owner's newest), settled\n"
        "(and shown there), the error then, and seconds until then. AUC: how well simple\n"
        "classifiers tell seconds of shown from the same seconds of true motion, in matches\n"
        "they did not learn from (two runs at least; 0.5: not at all); floor: true from true.",
    .settings = settings_table,
    .setting_count = (int32_t)(sizeof settings_table / sizeof *settings_table),
    .settings_bytes = sizeof(AttentionSettings),
    .defaults_fn = defaults,
    .run_fn = run_attention,
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
    .charts = charts,
    .chart_count = (int32_t)(sizeof charts / sizeof *charts),
    .draws = true,
};
