// lab run crowd: settings, rows, charts.
#include "lab/experiments/crowd/crowd.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef struct CrowdSettings {
    const char *trace, *modes, *which;
    LabNumbers players;
    double seconds;
    bool live;
} CrowdSettings;

#define TRACE_SECONDS 60.0
#define LIVE_MOST 128

static void defaults(void *ctx)
{
    CrowdSettings *settings = (CrowdSettings *)ctx;
    *settings = (CrowdSettings){.trace = "data/arena/ffa16_20s.csv.gz",
                                .modes = "direct,overlay",
                                .which = "flag",
                                .players = {{32.0, 100.0, 300.0}, 3},
                                .seconds = 10.0};
}

#define AT(field) offsetof(CrowdSettings, field)

static const Setting settings_table[] = {
    {SETTING_TEXT, "trace", "FILE", "the recording that players are moved by (16 bots, 20 s)",
     AT(trace), 0, 0},
    {SETTING_TEXT, "case", "CASE",
     "flag: all look at one player most; match: the flag is one thing to look at (flag)", AT(which),
     0, 0},
    {SETTING_TEXT, "modes", "LIST", "of direct,overlay (both)", AT(modes), 0, 0},
    {SETTING_NUMBERS, "players", "LIST", "so many (32,100,300)", AT(players), 8, 2000},
    {SETTING_NUMBER, "seconds", "S", "measured, before anybody falls out (10)", AT(seconds), 2,
     3600},
    {SETTING_FLAG, "live", NULL, "processes and sockets instead of virtual time", AT(live), 0, 0},
};

// ---------------------------------------------------------------- rows

static void add_row(const CrowdPlay *play, const CrowdResult *r, bool live, json_t *rows)
{
    json_t *row = json_object();
    row_text(row, "case", crowd_case_name(play->which));
    (void)json_object_set_new(row, "players", json_integer(play->players));
    row_number(row, "watchers", r->watchers);
    row_text(row, "mode", play->overlay ? "overlay" : "direct");
    row_text(row, "net", live ? "sockets" : "virtual time");
    row_number(row, "delivered_share", r->delivered_share);
    row_number(row, "age_p50_ms", r->age_p50_ms);
    row_number(row, "age_p95_ms", r->age_p95_ms);
    row_number(row, "hops", r->hops);
    row_number(row, "idol_kbps", r->idol_kbps);
    row_number(row, "max_upload_kbps", r->max_upload_kbps);
    row_number(row, "upload_share", r->upload_share);
    row_number(row, "recovery_ms", fmax(r->recovery_silent_ms, r->recovery_leave_ms));
    row_number(row, "recovery_silent_ms", r->recovery_silent_ms);
    row_number(row, "recovery_leave_ms", r->recovery_leave_ms);
    (void)json_object_set_new(row, "cut_off", json_integer(r->cut_off));
    (void)json_array_append_new(rows, row);
}

// ---------------------------------------------------------------- running

static LabStatus check(const CrowdSettings *s, bool wanted[2], CrowdCase *which, LabError *error)
{
    *which = strcmp(s->which, "match") == 0 ? CROWD_MATCH : CROWD_FLAG;
    if (strcmp(s->which, crowd_case_name(*which)) != 0) {
        return lab_fail(error, LAB_BAD_INPUT, "--case %s: flag or match", s->which);
    }
    wanted[0] = false;
    wanted[1] = false;
    for (const char *at = s->modes; *at != '\0';) {
        size_t length = strcspn(at, ",");
        bool direct = length == 6 && memcmp(at, "direct", length) == 0;
        bool overlay = length == 7 && memcmp(at, "overlay", length) == 0;
        if (!direct && !overlay) {
            return lab_fail(error, LAB_BAD_INPUT, "--modes %.*s: direct or overlay", (int)length,
                            at);
        }
        wanted[overlay ? 1 : 0] = true;
        at += length + (at[length] == ',' ? 1 : 0);
    }
    for (int32_t i = 0; i < s->players.count && s->live; i++) {
        if (s->players.values[i] > LIVE_MOST || *which != CROWD_FLAG) {
            return lab_fail(error, LAB_BAD_INPUT, "--live: at most %d players, case flag",
                            LIVE_MOST);
        }
    }
    return LAB_OK;
}

static LabStatus run_all(const LabRun *run, const CrowdSettings *s, const CrowdPlay *like,
                         const bool *wanted, LabResult *out, LabError *error)
{
    LabStatus status = LAB_OK;
    int64_t done = 0;
    if (s->live) {
        text_add(&out->series, "players,player,upload_kbps,peak_kbps\n");
    }
    for (int32_t i = 0; i < s->players.count; i++) {
        for (int32_t m = 0; m < 2 && status == LAB_OK; m++) {
            CrowdPlay play = *like;
            CrowdResult result;
            play.players = (int32_t)s->players.values[i];
            play.overlay = m == 1;
            if (wanted[m]) {
                status = s->live ? crowd_live(&play, &result, &out->series, error)
                                 : crowd_play(&play, &result, error);
                if (status == LAB_OK) {
                    add_row(&play, &result, s->live, out->rows);
                }
            }
            lab_progress(run, ++done, 2 * (int64_t)s->players.count);
        }
    }
    return status;
}

static LabStatus run_crowd(const LabRun *run, const void *ctx, LabResult *result, LabError *error)
{
    const CrowdSettings *s = (const CrowdSettings *)ctx;
    CrowdMotion motion;
    bool wanted[2];
    CrowdPlay play = {
        .seconds = s->seconds, .motion = &motion, .seed = run->seed, .sealed = !run->plain};
    LabStatus status = check(s, wanted, &play.which, error);
    if (status != LAB_OK) {
        return status;
    }
    status = crowd_motion_load(s->trace, TRACE_SECONDS, run->seed, &motion, error);
    if (status == LAB_OK) {
        status = run_all(run, s, &play, wanted, result, error);
        crowd_motion_free(&motion);
    }
    return status;
}

static const Column columns[] = {
    {"case", "case", -1},
    {"players", "players", -1},
    {"watchers", "watchers", 1},
    {"mode", "mode", -1},
    {"delivered_share", "delivered", 3},
    {"age_p50_ms", "age ms", 0},
    {"age_p95_ms", "p95", 0},
    {"hops", "hops", 2},
    {"idol_kbps", "its kbit/s", 0},
    {"max_upload_kbps", "max upload", 1},
    {"upload_share", "of limit", 3},
    {"recovery_silent_ms", "silent ms", 0},
    {"recovery_leave_ms", "leaves ms", 0},
    {"cut_off", "behind", -1},
};

static const ChartSpec charts[] = {
    {CHART_LINES, "Delivered of what one player says", "players", "players, all watching one",
     "delivered_share", "share of 20 updates a second", NULL, "mode", NULL, NULL, true, false},
    {CHART_LINES, "Age of what is shown of it", "players", "players, all watching one",
     "age_p95_ms", "ms, 95th percentile", NULL, "mode", NULL, NULL, true, true},
};

const Experiment experiment_crowd = {
    .name = "crowd",
    .help = "everybody watches one player: directly, and through others' spare upload",
    .summary =
        "Real sessions of a crowd whose uploads differ (64, 128, 256 and 1024 kbit/s, a\n"
        "quarter each by chance; the watched one of case flag has 128). Of the 20 updates a\n"
        "second of the watched one: the share that its watchers get, their age, how many hops\n"
        "they took. Then who passes on to most falls silent towards all but the lobby, and\n"
        "later another leaves: the longest that anybody behind it hears nothing.",
    .settings = settings_table,
    .setting_count = (int32_t)(sizeof settings_table / sizeof *settings_table),
    .settings_bytes = sizeof(CrowdSettings),
    .defaults_fn = defaults,
    .run_fn = run_crowd,
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
    .charts = charts,
    .chart_count = (int32_t)(sizeof charts / sizeof *charts),
};
