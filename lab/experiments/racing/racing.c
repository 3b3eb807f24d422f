// lab run racing: who leads, by whom, and by which scheme (the racing paper, and what its authors
// asked for next).
#include "lab/experiments/racing/racing.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- sweeps

/// The way that is not swept, and the steps of those that are.
static const RaceWay usual = {75.0, 10.0, 0.0};

#define DELAY_STEP_MS 25.0
#define DELAY_STEPS 7 ///< From 0 on.
#define LOSS_STEP 0.05
#define LOSS_STEPS 5
#define LOSS_USUAL 0.10

int32_t race_cells(RaceCell cells[RACE_CELLS])
{
    static const double sd_ms[] = {10.0, 30.0};
    int32_t count = 0;
    cells[count++] = (RaceCell){"delay", {0.0, 0.0, 0.0}, usual};
    for (int32_t d = 0; d < 2; d++) {
        for (int32_t i = 1; i < DELAY_STEPS; i++) {
            double mean_ms = DELAY_STEP_MS * i;
            if (sd_ms[d] <= mean_ms) {
                cells[count++] = (RaceCell){"delay", {mean_ms, sd_ms[d], 0.0}, usual};
            }
        }
    }
    for (int32_t i = 0; i < LOSS_STEPS; i++) {
        RaceCell cell = {"loss", usual, usual};
        cell.first.loss = LOSS_STEP * i;
        cell.others.loss = LOSS_USUAL;
        cells[count++] = cell;
    }
    FL_ASSERT(count <= RACE_CELLS);
    return count;
}

int32_t race_cell_find(const RaceCell *cells, int32_t count, const char *sweep, double mean_ms,
                       double sd_ms, double loss)
{
    for (int32_t i = 0; i < count; i++) {
        const RaceWay *way = &cells[i].first;
        if (strcmp(cells[i].sweep, sweep) == 0 && fabs(way->mean_ms - mean_ms) < 0.5 &&
            fabs(way->sd_ms - sd_ms) < 0.5 && fabs(way->loss - loss) < 0.005) {
            return i;
        }
    }
    return -1;
}

static void add_figures(RaceFigures *sum, const RaceFigures *f, double weight)
{
    sum->comparisons += f->comparisons;
    sum->inconsistency += weight * f->inconsistency;
    sum->first += weight * f->first;
    sum->others += weight * f->others;
    sum->difference += weight * f->difference;
    sum->updates_per_second += weight * f->updates_per_second;
    sum->own_lag_ms += weight * f->own_lag_ms;
    sum->jumps_per_minute += weight * f->jumps_per_minute;
    sum->clock_ms += weight * f->clock_ms;
}

/// A race at a point of a sweep.
typedef struct Repeated {
    const RaceSweep *sweep;
    const RaceCell *cell;
    int32_t race;
} Repeated;

static LabStatus play_repeats(const void *ctx, void *sums, Text *text, LabError *error)
{
    const Repeated *repeated = (const Repeated *)ctx;
    const RaceSweep *sweep = repeated->sweep;
    RaceFigures *figures = (RaceFigures *)sums;
    RacePlay play = sweep->play;
    play.first = repeated->cell->first;
    play.others = repeated->cell->others;
    play.race = &sweep->material->races[repeated->race];
    LabStatus status = LAB_OK;
    (void)text;
    for (int32_t k = 0; k < sweep->repeats && status == LAB_OK; k++) {
        RaceFigures found[RACE_SCHEMES];
        play.seed = fl_random_at(sweep->seed, (uint64_t)repeated->race, (uint64_t)k);
        status = race_play(&play, found, error);
        for (int32_t s = 0; s < play.scheme_count && status == LAB_OK; s++) {
            add_figures(&figures[s], &found[s], 1.0 / sweep->repeats);
        }
    }
    return status;
}

LabStatus race_sweep_cell(const RaceSweep *sweep, const RaceCell *cell, RaceFigures *figures,
                          LabError *error)
{
    size_t schemes = (size_t)sweep->play.scheme_count;
    LabStatus status = LAB_OK;
    for (int32_t r = 0; r < sweep->material->count && status == LAB_OK; r++) {
        Repeated repeated = {sweep, cell, r};
        LabUnit unit =
            lab_unit_of(&figures[(size_t)r * schemes], schemes * sizeof *figures,
                        0.06 * sweep->repeats, "%s/%g/%g/%g/%d", cell->sweep, cell->first.mean_ms,
                        cell->first.sd_ms, cell->first.loss, (int)r);
        status = lab_unit(sweep->units, &unit, play_repeats, &repeated, error);
    }
    return status;
}

// ---------------------------------------------------------------- settings

typedef struct RacingSettings {
    const char *trace;
    bool bots;
    int64_t cars;
    const char *topology;
    const char *schemes;
    const char *clock;
} RacingSettings;

static void defaults(void *ctx)
{
    RacingSettings *settings = (RacingSettings *)ctx;
    *settings = (RacingSettings){
        .cars = 2,
        .topology = "mesh",
        .schemes = RACE_ALL_SCHEMES,
        .clock = "referee",
    };
}

#define AT(field) offsetof(RacingSettings, field)

static const Setting settings_table[] = {
    {SETTING_TEXT, "trace", "DIR",
     "recorded races: every *.csv.gz there (or one file); --runs plays each so often\n"
     "(data/racing; with more cars than two, or --bots: the racing game's bots, one race a run)",
     AT(trace), 0, 0},
    {SETTING_FLAG, "bots", NULL, "the racing game's bots with two cars too", AT(bots), 0, 0},
    {SETTING_INTEGER, "cars", "N", "so many; of a trace: its races with so many (2)", AT(cars), 2,
     RACE_CARS},
    {SETTING_TEXT, "topology", "T", "mesh: peer to peer; star: through a server (mesh)",
     AT(topology), 0, 0},
    {SETTING_TEXT, "schemes", "LIST",
     "of " RACE_ALL_SCHEMES ", or\nHOLD/PLACEMENT/CONVERGENCE; /sent and @T may follow (all)",
     AT(schemes), 0, 0},
    {SETTING_TEXT, "clock", "C",
     "referee: a host near to all keeps the time; player: the first one hosts (referee)", AT(clock),
     0, 0},
};

static LabStatus settings_play(const RacingSettings *s, const LabRun *run, RaceScheme *schemes,
                               RacePlay *play, LabError *error)
{
    *play = (RacePlay){.sealed = !run->plain, .schemes = schemes};
    bool star = strcmp(s->topology, "star") == 0;
    bool player = strcmp(s->clock, "player") == 0;
    if (!star && strcmp(s->topology, "mesh") != 0) {
        return lab_fail(error, LAB_BAD_INPUT, "--topology %s: mesh or star", s->topology);
    }
    if (!player && strcmp(s->clock, "referee") != 0) {
        return lab_fail(error, LAB_BAD_INPUT, "--clock %s: referee or player", s->clock);
    }
    if (star && player) {
        return lab_fail(error, LAB_BAD_INPUT, "--clock player: in a star the server keeps it");
    }
    play->topology = star ? FL_TOPOLOGY_STAR : FL_TOPOLOGY_MESH;
    play->referee = !player;
    return race_schemes_parse(s->schemes, schemes, &play->scheme_count, error);
}

static LabStatus settings_material(const RacingSettings *s, const LabRun *run,
                                   RaceMaterial *material, int32_t *repeats, LabError *error)
{
    int32_t cars = (int32_t)s->cars;
    bool recorded = s->trace != NULL || (cars == 2 && !s->bots);
    *repeats = recorded ? run->runs : 1;
    if (s->trace != NULL && s->bots) {
        return lab_fail(error, LAB_BAD_INPUT, "--trace and --bots: one of them");
    }
    return recorded ? race_material_traces(s->trace != NULL ? s->trace : "data/racing", cars,
                                           material, error)
                    : race_material_bots(run->seed, run->runs, cars, material, error);
}

// ---------------------------------------------------------------- rows

static Estimate over_races(const RaceFigures *figures, int32_t races, int32_t stride, size_t offset)
{
    double values[1024];
    int32_t count = races < 1024 ? races : 1024;
    for (int32_t r = 0; r < count; r++) {
        memcpy(&values[r], (const char *)&figures[(ptrdiff_t)r * stride] + offset,
               sizeof values[r]);
    }
    return estimate_mean(values, count);
}

static json_t *row_of(const RaceSweep *sweep, const RaceCell *cell, const RaceFigures *figures,
                      int32_t s)
{
    int32_t races = sweep->material->count;
    int32_t stride = sweep->play.scheme_count;
    const RaceFigures *f = figures + s;
    Estimate rate = over_races(f, races, stride, offsetof(RaceFigures, inconsistency));
    Estimate difference = over_races(f, races, stride, offsetof(RaceFigures, difference));
    Estimate updates = over_races(f, races, stride, offsetof(RaceFigures, updates_per_second));
    Estimate lag = over_races(f, races, stride, offsetof(RaceFigures, own_lag_ms));
    Estimate jumps = over_races(f, races, stride, offsetof(RaceFigures, jumps_per_minute));
    json_t *row = json_object();
    row_text(row, "scheme", sweep->play.schemes[s].name);
    row_text(row, "sweep", cell->sweep);
    row_number(row, "mean_ms", cell->first.mean_ms);
    row_number(row, "sd_ms", cell->first.sd_ms);
    row_number(row, "loss", cell->first.loss);
    row_number(row, "inconsistency_rate", rate.mean);
    row_number(row, "ci95", rate.ci95);
    row_number(row, "difference", difference.mean);
    row_number(row, "difference_ci95", difference.ci95);
    row_number(row, "updates_per_second", updates.mean);
    row_number(row, "own_lag_ms", lag.mean);
    row_number(row, "jumps_per_minute", jumps.mean);
    return row;
}

static void write_series(const RaceSweep *sweep, const RaceCell *cell, const RaceFigures *figures,
                         Text *series)
{
    for (int32_t r = 0; r < sweep->material->count; r++) {
        for (int32_t s = 0; s < sweep->play.scheme_count; s++) {
            const RaceFigures *f = &figures[r * sweep->play.scheme_count + s];
            text_add(series, "%s,%s,%s,%g,%g,%g,%.5f,%.4f,%.4f,%.3f,%.2f,%.2f,%.3f\n",
                     sweep->material->races[r].name, sweep->play.schemes[s].name, cell->sweep,
                     cell->first.mean_ms, cell->first.sd_ms, cell->first.loss, f->inconsistency,
                     f->first, f->others, f->updates_per_second, f->own_lag_ms, f->jumps_per_minute,
                     f->clock_ms);
        }
    }
}

static LabStatus run_sweeps(const LabRun *run, const RaceSweep *sweep, LabResult *result,
                            LabError *error)
{
    RaceCell cells[RACE_CELLS];
    int32_t count = race_cells(cells);
    size_t size = (size_t)sweep->material->count * (size_t)sweep->play.scheme_count;
    FL_ASSERT(size > 0);
    RaceFigures *figures = (RaceFigures *)calloc(size, sizeof *figures);
    if (figures == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    LabStatus status = LAB_OK;
    text_add(&result->series, "race,scheme,sweep,mean_ms,sd_ms,loss,inconsistency_rate,d1,d2,"
                              "updates_per_second,own_lag_ms,jumps_per_minute,clock_error_ms\n");
    for (int32_t c = 0; c < count && status == LAB_OK; c++) {
        status = race_sweep_cell(sweep, &cells[c], figures, error);
        bool known = status == LAB_OK && !lab_units_missing(sweep->units);
        for (int32_t s = 0; s < sweep->play.scheme_count && known; s++) {
            (void)json_array_append_new(result->rows, row_of(sweep, &cells[c], figures, s));
        }
        if (known) {
            write_series(sweep, &cells[c], figures, &result->series);
        }
        lab_progress(run, c + 1, count);
    }
    free(figures);
    return status;
}

static LabStatus run_racing(const LabRun *run, const void *ctx, LabResult *result, LabError *error)
{
    const RacingSettings *s = (const RacingSettings *)ctx;
    RaceScheme schemes[RACE_SCHEMES];
    RaceMaterial material = {0};
    RaceSweep sweep = {.material = &material, .seed = run->seed, .units = run->units};
    LabStatus status = settings_play(s, run, schemes, &sweep.play, error);
    if (status == LAB_OK) {
        status = settings_material(s, run, &material, &sweep.repeats, error);
    }
    if (status == LAB_OK) {
        status = run_sweeps(run, &sweep, result, error);
    }
    race_material_free(&material);
    return status;
}

static const Column columns[] = {
    {"scheme", "scheme", -1},
    {"sweep", "sweep", -1},
    {"mean_ms", "mean ms", 0},
    {"sd_ms", "sd ms", 0},
    {"loss", "loss", 2},
    {"inconsistency_rate", "inconsistent", 4},
    {"ci95", "+-", 4},
    {"difference", "d1 - d2", 3},
    {"updates_per_second", "updates/s", 1},
    {"own_lag_ms", "own lag ms", 0},
    {"jumps_per_minute", "jumps/min", 1},
};

#define BY_DELAY .x = "mean_ms", .x_title = "mean delay of the first player's way, ms"
#define BY_LOSS                                                                                    \
    .x = "loss", .x_title = "share of the first player's packets lost", .where = "sweep=loss"
#define RATE                                                                                       \
    .y = "inconsistency_rate", .y_title = "share of comparisons that disagree", .interval = "ci95"
#define DIFFERENCE                                                                                 \
    .y = "difference", .y_title = "d1 - d2, car lengths", .interval = "difference_ci95"

static const ChartSpec charts[] = {
    {CHART_LINES, "Who leads? Deviation 10 ms", BY_DELAY, RATE, .series = "scheme",
     .where = "sweep=delay,sd_ms=10"},
    {CHART_LINES, "Who leads? Deviation 30 ms", BY_DELAY, RATE, .series = "scheme",
     .where = "sweep=delay,sd_ms=30"},
    {CHART_LINES, "Who leads? With loss", BY_LOSS, RATE, .series = "scheme"},
    {CHART_LINES, "Further behind than the other, deviation 10 ms", BY_DELAY, DIFFERENCE,
     .series = "scheme", .where = "sweep=delay,sd_ms=10"},
    {CHART_LINES, "Further behind than the other, with loss", BY_LOSS, DIFFERENCE,
     .series = "scheme"},
};

const Experiment experiment_racing = {
    .name = "racing",
    .help = "whether players agree who leads, by what receivers show",
    .summary =
        "Every player drives one car and sees all. Twice a sweep: the first player's way to\n"
        "the others by delay (deviation 10 and 30 ms), then by loss; the other way is 75 +-\n"
        "10 ms, in the second sweep with 10 % loss. Inconsistent is the share of\n"
        "comparisons, every 33 ms, at which two players disagree which of their cars leads;\n"
        "d1 - d2 is how much further behind the first car is shown to the others than\n"
        "theirs to the first, in car lengths. All schemes meet the same network.",
    .settings = settings_table,
    .setting_count = (int32_t)(sizeof settings_table / sizeof *settings_table),
    .settings_bytes = sizeof(RacingSettings),
    .defaults_fn = defaults,
    .run_fn = run_racing,
    .has_units = true,
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
    .charts = charts,
    .chart_count = (int32_t)(sizeof charts / sizeof *charts),
};
