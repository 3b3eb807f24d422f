// lab run scale: settings, rows, charts.
#include "lab/experiments/scale/scale.h"

#include <stddef.h>
#include <string.h>

typedef struct ScaleSettings {
    const char *trace, *modes;
    LabNumbers players, kbps;
    double seconds, loop;
    int64_t limit;
} ScaleSettings;

#define TRACE_SECONDS 60.0

static void defaults(void *ctx)
{
    ScaleSettings *settings = (ScaleSettings *)ctx;
    *settings = (ScaleSettings){.trace = "data/arena/ffa16_20s.csv.gz",
                                .modes = "broadcast,donny,ours",
                                .kbps = {{64.0, 108.0, 128.0, 171.0, 1000.0}, 5},
                                .seconds = 10.0,
                                .loop = 10.0,
                                .limit = 1000};
}

#define AT(field) offsetof(ScaleSettings, field)

static const Setting settings_table[] = {
    {SETTING_TEXT, "trace", "FILE", "the recording that players are moved by (16 bots, 20 s)",
     AT(trace), 0, 0},
    {SETTING_TEXT, "modes", "LIST", "of broadcast,donny,ours (all)", AT(modes), 0, 0},
    {SETTING_NUMBERS, "kbps", "LIST", "uploads, all headers included (64,108,128,171,1000)",
     AT(kbps), 32, 1e5},
    {SETTING_NUMBERS, "players", "LIST", "so many (searches for the most that an upload carries)",
     AT(players), SCALE_PLAYERS_LEAST, SCALE_PLAYERS_MOST},
    {SETTING_INTEGER, "limit", "N", "the search goes up to this (1000)", AT(limit), 8,
     SCALE_PLAYERS_MOST},
    {SETTING_NUMBER, "seconds", "S", "measured, once all play (10)", AT(seconds), 4, 3600},
    {SETTING_NUMBER, "loop", "MS", "everybody looks at its socket so often; 0: at once (10)",
     AT(loop), 0, 50},
};

static LabStatus modes_parse(const char *text, bool wanted[SCALE_MODES], LabError *error)
{
    memset(wanted, 0, SCALE_MODES * sizeof *wanted);
    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        bool found = false;
        for (int32_t m = 0; m < SCALE_MODES; m++) {
            const char *name = scale_mode_name((ScaleMode)m);
            if (strlen(name) == length && memcmp(name, text, length) == 0) {
                wanted[m] = true;
                found = true;
            }
        }
        if (!found) {
            return lab_fail(error, LAB_BAD_INPUT, "--modes %.*s: broadcast, donny or ours",
                            (int)length, text);
        }
        text += length + (text[length] == ',' ? 1 : 0);
    }
    return LAB_OK;
}

// ---------------------------------------------------------------- rows

static void add_row(const ScalePlay *play, int32_t players, const ScaleFigures *f, json_t *rows)
{
    const CrowdFigures *c = &f->crowd;
    json_t *row = json_object();
    row_text(row, "mode", scale_mode_name(play->mode));
    (void)json_object_set_new(row, "players", json_integer(players));
    row_number(row, "kbps", play->kbps);
    row_number(row, "focus_hz", c->focus_hz);
    row_number(row, "focus_size", c->focus_size);
    row_number(row, "focus_stay_s", c->focus_stay_s);
    row_number(row, "best_effort_hz", c->best_effort_hz);
    row_number(row, "best_effort_low_hz", c->best_effort_low_hz);
    row_number(row, "age_p50_ms", c->age_p50_ms);
    row_number(row, "age_p95_ms", c->age_p95_ms);
    row_number(row, "focus_age_p50_ms", c->focus_age_p50_ms);
    row_number(row, "focus_age_p95_ms", c->focus_age_p95_ms);
    row_number(row, "error_focus", c->error_focus);
    row_number(row, "error_rest", c->error_rest);
    row_number(row, "rest_age_ms", c->rest.age_ms);
    row_number(row, "rest_life", c->rest.error_life);
    row_number(row, "rest_still", c->rest.still);
    row_number(row, "rest_linear", c->rest.linear);
    row_number(row, "rest_best", c->rest.best);
    row_number(row, "rest_cut_share", c->rest.cut_share);
    row_number(row, "rest_cut", c->rest.error_cut);
    row_number(row, "rest_still_all", c->rest.still_all);
    row_number(row, "rest_best_all", c->rest.best_all);
    row_number(row, "mean_kbps", c->mean_kbps);
    row_number(row, "peak_kbps", c->peak_kbps);
    row_text(row, "quality", f->held ? "held" : f->absent ? "not all came" : "not held");
    row_number(row, "lanes", c->lights);
    row_number(row, "update_bytes", c->update_bytes);
    row_number(row, "lobby_kbps", c->lobby_kbps);
    row_number(row, "sim_speed", f->sim_speed);
    row_number(row, "join_cpu_s", f->join_cpu_s);
    row_number(row, "rss_mib", f->rss_mib);
    (void)json_array_append_new(rows, row);
}

static LabStatus run_point(const ScaleSettings *s, ScalePlay *play, json_t *rows, LabError *error)
{
    LabStatus status = LAB_OK;
    for (int32_t i = 0; i < s->players.count && status == LAB_OK; i++) {
        ScaleFigures figures;
        play->players = (int32_t)s->players.values[i];
        status = scale_play(play, &figures, error);
        if (status == LAB_OK) {
            add_row(play, play->players, &figures, rows);
        }
    }
    if (s->players.count > 0 || status != LAB_OK) {
        return status;
    }
    ScaleFound found;
    status = scale_search(play, (int32_t)s->limit, &found, error);
    if (status == LAB_OK && found.most > 0) {
        add_row(play, found.most, &found.at_most, rows);
    }
    if (status == LAB_OK && found.more > 0) {
        add_row(play, found.more, &found.at_more, rows);
    }
    return status;
}

static LabStatus run_points(const LabRun *run, const ScaleSettings *s, const bool *wanted,
                            const CrowdMotion *motion, json_t *rows, LabError *error)
{
    LabStatus status = LAB_OK;
    int64_t done = 0;
    for (int32_t k = 0; k < s->kbps.count; k++) {
        for (int32_t m = 0; m < SCALE_MODES && status == LAB_OK; m++) {
            ScalePlay play = {.mode = (ScaleMode)m,
                              .kbps = s->kbps.values[k],
                              .seconds = s->seconds,
                              .loop_ms = s->loop,
                              .motion = motion,
                              .seed = run->seed,
                              .sealed = !run->plain};
            status = wanted[m] ? run_point(s, &play, rows, error) : LAB_OK;
            lab_progress(run, ++done, (int64_t)s->kbps.count * SCALE_MODES);
        }
    }
    return status;
}

static LabStatus run_scale(const LabRun *run, const void *ctx, LabResult *result, LabError *error)
{
    const ScaleSettings *s = (const ScaleSettings *)ctx;
    bool wanted[SCALE_MODES];
    CrowdMotion motion;
    LabStatus status = modes_parse(s->modes, wanted, error);
    if (status != LAB_OK) {
        return status;
    }
    status = crowd_motion_load(s->trace, TRACE_SECONDS, run->seed, &motion, error);
    if (status == LAB_OK) {
        status = run_points(run, s, wanted, &motion, result->rows, error);
        crowd_motion_free(&motion);
    }
    return status;
}

static const Column columns[] = {
    {"mode", "mode", -1},
    {"kbps", "kbit/s", 0},
    {"players", "players", -1},
    {"focus_hz", "focus Hz", 1},
    {"best_effort_hz", "rest Hz", 2},
    {"best_effort_low_hz", "99 %", 2},
    {"age_p50_ms", "age ms", 0},
    {"age_p95_ms", "p95", 0},
    {"error_focus", "error focus", 1},
    {"error_rest", "rest", 1},
    {"peak_kbps", "peak", 1},
    {"quality", "quality", -1},
    {"lanes", "lanes", 1},
    {"lobby_kbps", "lobby", 0},
    {"sim_speed", "speed", 2},
    {"rss_mib", "MiB", 0},
};

static const ChartSpec charts[] = {
    {CHART_LINES, "Players that an upload carries", "kbps", "upload, kbit/s", "players", "players",
     NULL, "mode", NULL, "quality=held", true, true},
    {CHART_LINES, "What it takes to simulate", "players", "players", "sim_speed",
     "simulated seconds per second of the processor", NULL, "mode", NULL, NULL, true, true},
};

#define TEXT_OF(number) #number
#define LIMIT_LINE(name, least, unit, what) "  " what ": at least " TEXT_OF(least) unit "\n"

const Experiment experiment_scale = {
    .name = "scale",
    .help = "how many players an upload carries: broadcast, donny, ours",
    .summary =
        "Real sessions of a crowd in virtual time; players move as recorded, tiled. broadcast\n"
        "tells everybody everything at 20 Hz; donny tells those who look (four each) at 20 Hz\n"
        "and all others at 1 Hz, both directly and at 126 bytes an update on the wire; ours\n"
        "shares packets (batches, one hop more) at our own sizes. For every upload the most\n"
        "players with which quality holds, and the fewest with which it does not. It holds if,\n"
        "with 1 % of all datagrams lost,\n" SCALE_LIMIT_TABLE(
            LIMIT_LINE) "  and nobody is above its upload in any second, all headers, seals, looks "
                        "and heartbeats\n"
                        "  counted. Ages and errors are of 32 players' views.",
    .settings = settings_table,
    .setting_count = (int32_t)(sizeof settings_table / sizeof *settings_table),
    .settings_bytes = sizeof(ScaleSettings),
    .defaults_fn = defaults,
    .run_fn = run_scale,
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
    .charts = charts,
    .chart_count = (int32_t)(sizeof charts / sizeof *charts),
};
