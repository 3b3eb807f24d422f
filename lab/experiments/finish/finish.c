// lab run finish: do all peers know the same winner?
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include "lab/experiments/finish/finish.h"

#include <string.h>
#include <sys/mman.h>

enum { BATCH_RACES = 20, LIVE_RACES = 100 };

typedef struct FinishSettings {
    int64_t races, cars, frame_ticks;
    double delay_ms, jitter_ms, loss_percent;
    const char *control;
    bool live;
} FinishSettings;

static void defaults(void *ctx)
{
    FinishSettings *settings = (FinishSettings *)ctx;
    *settings = (FinishSettings){.races = 10,
                                 .cars = FINISH_CARS,
                                 .frame_ticks = 3,
                                 .delay_ms = 150.0,
                                 .jitter_ms = 30.0,
                                 .loss_percent = 5.0};
}

#define AT(field) offsetof(FinishSettings, field)

static const Setting settings_table[] = {
    {SETTING_INTEGER, "races", "N", "races per control (10)", AT(races), 1, 1000000},
    {SETTING_INTEGER, "cars", "N", "cars, and peers (16)", AT(cars), 2, FINISH_CARS},
    {SETTING_TEXT, "control", "LIST",
     "of none, constant-200, constant-400, inputs, perceptive; blanks between (all)", AT(control),
     0, 0},
    {SETTING_INTEGER, "frame-ticks", "N", "ticks per frame, of 1/60 s (3)", AT(frame_ticks), 1, 12},
    {SETTING_NUMBER, "delay", "MS", "one way (150)", AT(delay_ms), 0.0, 2000.0},
    {SETTING_NUMBER, "jitter", "MS", "this much more or less, uniform (30)", AT(jitter_ms), 0.0,
     1000.0},
    {SETTING_NUMBER, "loss", "PERCENT", "of all datagrams (5)", AT(loss_percent), 0.0, 50.0},
    {SETTING_FLAG, "live", NULL, "processes and sockets instead of virtual time", AT(live), 0, 0},
};

// ---------------------------------------------------------------- settings

static LabStatus read_controls(const char *list, bool chosen[FINISH_CONTROLS], LabError *error)
{
    for (int32_t i = 0; i < FINISH_CONTROLS; i++) {
        chosen[i] = list == NULL;
    }
    for (const char *at = list; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, " ,");
        bool known = length == 0;
        for (int32_t i = 0; i < FINISH_CONTROLS; i++) {
            const char *name = finish_control_name((FinishControl)i);
            bool same = strlen(name) == length && strncmp(name, at, length) == 0;
            chosen[i] = chosen[i] || same;
            known = known || same;
        }
        if (!known) {
            return lab_fail(error, LAB_BAD_INPUT,
                            "--control: no '%.*s'; there are: none, constant-200, constant-400, "
                            "inputs, perceptive",
                            (int)length, at);
        }
        at += length + (at[length] != '\0' ? 1 : 0);
    }
    return LAB_OK;
}

static FinishPlay play_of(const LabRun *run, const FinishSettings *s, FinishControl control)
{
    FinishPlay play = {.control = control,
                       .cars = (int32_t)s->cars,
                       .frame_ticks = (int32_t)s->frame_ticks,
                       .way = fl_impair_def_default().settings,
                       .sealed = !run->plain};
    play.way.delay_ns = fl_span_from_seconds(s->delay_ms / 1e3);
    play.way.jitter_ns = fl_span_from_seconds(s->jitter_ms / 1e3);
    play.way.shape = s->jitter_ms > 0.0 ? FL_SHAPE_UNIFORM : FL_SHAPE_CONSTANT;
    play.way.loss_ppm = (int32_t)(s->loss_percent * 1e4);
    return play;
}

// ---------------------------------------------------------------- rows

static double lag_ms(const FinishFigures *f, double share)
{
    uint64_t all = 0, sum = 0;
    for (int32_t i = 0; i <= FINISH_LAG_MOST; i++) {
        all += f->lag[i];
    }
    for (int32_t i = 0; i <= FINISH_LAG_MOST; i++) {
        sum += f->lag[i];
        if ((double)sum >= share * (double)all) {
            return fl_span_seconds(racing_tick_time(i)) * 1e3;
        }
    }
    return (double)NAN;
}

static json_t *make_row(FinishControl control, const FinishFigures *f)
{
    json_t *row = json_object();
    double races = f->races;
    row_text(row, "control", finish_control_name(control));
    row_number(row, "races", races);
    row_number(row, "agreed", f->agreed);
    row_number(row, "order_differs", f->order_differs);
    row_number(row, "hash_differs", f->hash_differs);
    row_number(row, "undecided", f->undecided);
    row_number(row, "contacts_per_race", (double)f->contacts / races);
    row_number(row, "rollbacks_per_minute", 60.0 * (double)f->sum.rollbacks / f->seconds);
    row_number(row, "reexecuted_ticks_per_second", (double)f->sum.replayed / f->seconds);
    row_number(row, "deepest_ticks", (double)f->sum.deepest);
    row_number(row, "settled_lag_ms_p50", lag_ms(f, 0.5));
    row_number(row, "settled_lag_ms_p95", lag_ms(f, 0.95));
    row_number(row, "settled_uneven_ms",
               f->uneven_count > 0 ? f->uneven_ms / (double)f->uneven_count : (double)NAN);
    row_number(row, "late", (double)f->sum.late / races);
    row_number(row, "dropped", (double)f->sum.dropped / races);
    row_number(row, "display_error_m", f->error_m / (double)f->error_count);
    return row;
}

static const Column columns[] = {
    {"control", "control", -1},
    {"races", "races", 0},
    {"agreed", "agreed", 0},
    {"order_differs", "order", 0},
    {"hash_differs", "state", 0},
    {"rollbacks_per_minute", "rollbacks/min", 0},
    {"reexecuted_ticks_per_second", "again/s", 0},
    {"settled_lag_ms_p50", "lag p50", 0},
    {"settled_lag_ms_p95", "p95 ms", 0},
    {"settled_uneven_ms", "uneven ms", 0},
    {"late", "late", 0},
    {"dropped", "dropped", 1},
    {"display_error_m", "shown off m", 3},
};

// ---------------------------------------------------------------- running

static LabStatus play_control(const LabRun *run, const FinishSettings *s, FinishPlay play,
                              FinishRace *races, FinishFigures *figures, LabError *error)
{
    int32_t most = s->live ? (int32_t)s->races : BATCH_RACES;
    LabStatus status = LAB_OK;
    for (int64_t done = 0; done < s->races && status == LAB_OK; done += play.races) {
        int64_t left = s->races - done;
        play.races = (int32_t)(left < most ? left : most);
        play.first_race = run->seed * 1000000 + (uint64_t)done;
        play.seed = play.first_race;
        memset(races, 0, (size_t)play.races * sizeof *races);
        status = s->live ? finish_live(&play, races, error) : finish_play(&play, races, error);
        for (int32_t i = 0; i < play.races && status == LAB_OK; i++) {
            finish_add(figures, &play, &races[i]);
        }
        lab_progress(run, done + play.races, s->races);
    }
    return status;
}

static LabStatus run_finish(const LabRun *run, const void *ctx, LabResult *result, LabError *error)
{
    const FinishSettings *s = (const FinishSettings *)ctx;
    bool chosen[FINISH_CONTROLS];
    LabStatus status = read_controls(s->control, chosen, error);
    if (status != LAB_OK) {
        return status;
    }
    if (s->live && s->races > LIVE_RACES) {
        return lab_fail(error, LAB_BAD_INPUT, "--races: at most %d with --live", LIVE_RACES);
    }
    int64_t count = s->live || s->races < BATCH_RACES ? s->races : BATCH_RACES;
    size_t bytes = (size_t)count * sizeof(FinishRace);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    for (int32_t i = 0; i < FINISH_CONTROLS && status == LAB_OK; i++) {
        FinishFigures figures = {0};
        if (!chosen[i]) {
            continue;
        }
        FinishPlay play = play_of(run, s, (FinishControl)i);
        status = play_control(run, s, play, (FinishRace *)memory, &figures, error);
        if (status == LAB_OK) {
            (void)json_array_append_new(result->rows, make_row((FinishControl)i, &figures));
        }
    }
    munmap(memory, bytes);
    return status;
}

static const ChartSpec charts[] = {
    {CHART_DOTS, "Races whose order all saw alike", .x = "control", .x_title = "control",
     .y = "agreed", .y_title = "races"},
    {CHART_DOTS, "How late an input settles", .x = "control", .x_title = "control",
     .y = "settled_lag_ms_p95", .y_title = "ms, 95th percentile"},
};

const Experiment experiment_finish = {
    .name = "finish",
    .help = "races of 16 in timelines: do all peers know the same winner",
    .summary =
        "Sixteen karts, a lap of the ring, every peer steps all of them from all inputs and "
        "drives\n"
        "one by what it shows. Who has won is read in every peer's settled state; a race is "
        "agreed\n"
        "if order and times are the same everywhere. Controls: inputs count when they come "
        "(none);\n"
        "the past is repaired for 200 or 400 ms, and later inputs are lost (constant-...); it is\n"
        "repaired until every input is there (inputs); the same, and a state settles at a play\n"
        "time by measured lags, without a common clock (perceptive). `uneven`: how much the time\n"
        "between the settling of two states differs between two peers.",
    .settings = settings_table,
    .setting_count = (int32_t)(sizeof settings_table / sizeof *settings_table),
    .settings_bytes = sizeof(FinishSettings),
    .defaults_fn = defaults,
    .run_fn = run_finish,
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
    .charts = charts,
    .chart_count = (int32_t)(sizeof charts / sizeof *charts),
};
