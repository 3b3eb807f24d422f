// lab run fields: what states cost as fields and as blobs, in the three games.
#include "lab/experiments/fields/fields.h"

#include <stddef.h>

#include "lab/experiments/experiment.h"

typedef struct FieldsSettings {
    int64_t players;
    double seconds, rtt_ms, loss_percent;
} FieldsSettings;

static void defaults(void *ctx)
{
    *(FieldsSettings *)ctx =
        (FieldsSettings){.players = 8, .seconds = 60.0, .rtt_ms = 80.0, .loss_percent = 3.0};
}

#define AT(field) offsetof(FieldsSettings, field)

static const Setting settings_table[] = {
    {SETTING_INTEGER, "players", "N", "bots, a node each; the first hosts (8)", AT(players), 2,
     FIELDS_PLAYERS},
    {SETTING_NUMBER, "seconds", "S", "of a match (60)", AT(seconds), 1.0, 1e4},
    {SETTING_NUMBER, "rtt", "MS", "round trip to the host (80)", AT(rtt_ms), 0.0, 2000.0},
    {SETTING_NUMBER, "loss", "PERCENT", "of datagrams, each way (3)", AT(loss_percent), 0.0, 50.0},
};

// All ways of one game; the figures are the runs' sums.
static LabStatus play_game(const LabRun *run, const FieldsSettings *s, int32_t game,
                           FieldsFigures sum[FIELDS_WAYS], LabError *error)
{
    LabStatus status = LAB_OK;
    for (int32_t i = 0; i < run->runs * FIELDS_WAYS && status == LAB_OK; i++) {
        int32_t way = i % FIELDS_WAYS;
        FieldsPlay play = {.game = &fields_games[game],
                           .way = (FieldsWay)way,
                           .players = (int32_t)s->players,
                           .seconds = s->seconds,
                           .rtt_ms = s->rtt_ms,
                           .loss = s->loss_percent / 100.0,
                           .seed = fl_random_at(run->seed, 950, (uint64_t)(i / FIELDS_WAYS)),
                           .sealed = !run->plain};
        FieldsFigures figures = {0};
        status = fields_play(&play, &figures, error);
        sum[way].bytes += figures.bytes;
        sum[way].changes += figures.changes;
        lab_progress(run, (int64_t)game * run->runs * FIELDS_WAYS + i + 1,
                     (int64_t)FIELDS_GAME_COUNT * run->runs * FIELDS_WAYS);
    }
    return status;
}

static LabStatus run_fields(const LabRun *run, const void *ctx, LabResult *result, LabError *error)
{
    const FieldsSettings *s = (const FieldsSettings *)ctx;
    double node_seconds = s->seconds * (double)s->players * run->runs;
    LabStatus status = LAB_OK;
    for (int32_t g = 0; g < FIELDS_GAME_COUNT && status == LAB_OK; g++) {
        FieldsFigures sum[FIELDS_WAYS] = {0};
        const int64_t nothing[FIELDS_MOST] = {0};
        uint8_t bytes[64];
        status = play_game(run, s, g, sum, error);
        if (status != LAB_OK) {
            break;
        }
        double motion = sum[FIELDS_NONE].bytes;
        double blob = sum[FIELDS_BLOB].bytes - motion;
        double fields = sum[FIELDS_FIELDS].bytes - motion;
        json_t *row = json_object();
        row_text(row, "game", fields_games[g].name);
        row_number(row, "blob_bytes", (double)fields_blob(&fields_games[g], nothing, bytes));
        row_number(row, "changes_per_s", sum[FIELDS_BLOB].changes / node_seconds);
        row_number(row, "motion_bytes_per_s", motion / node_seconds);
        row_number(row, "blob_bytes_per_s", blob / node_seconds);
        row_number(row, "fields_bytes_per_s", fields / node_seconds);
        row_number(row, "fields_percent", 100.0 * fields / blob);
        row_number(row, "all_percent", 100.0 * (motion + fields) / (motion + blob));
        (void)json_array_append_new(result->rows, row);
    }
    return status;
}

static const Column columns[] = {
    {"game", "game", -1},
    {"blob_bytes", "blob bytes", 0},
    {"changes_per_s", "changes/s", 2},
    {"motion_bytes_per_s", "motion B/s", 0},
    {"blob_bytes_per_s", "blobs B/s", 1},
    {"fields_bytes_per_s", "fields B/s", 1},
    {"fields_percent", "fields/blobs %", 0},
    {"all_percent", "in all %", 1},
};

static const ChartSpec charts[] = {
    {.kind = CHART_DOTS,
     .title = "Bytes of states as fields, by those as blobs",
     .x = "blob_bytes_per_s",
     .x_title = "as blobs, bytes a second and node",
     .y = "fields_bytes_per_s",
     .y_title = "as fields",
     .series = "game"},
};

const Experiment experiment_fields = {
    .name = "fields",
    .help = "bytes of states as fields and as blobs, in the three games",
    .summary = "Bots play each game three times, with the same states over the same network:\n"
               "motion alone, with states as blobs, with states as fields. Everybody owns a\n"
               "player, and the host passes on. Bytes are a second's and a node's, headers below\n"
               "not counted; those of blobs and fields are what comes on top of motion. A run\n"
               "fails unless everybody ends with everybody's last state.",
    .settings = settings_table,
    .setting_count = (int32_t)(sizeof settings_table / sizeof *settings_table),
    .settings_bytes = sizeof(FieldsSettings),
    .defaults_fn = defaults,
    .run_fn = run_fields,
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
    .charts = charts,
    .chart_count = (int32_t)(sizeof charts / sizeof *charts),
};
