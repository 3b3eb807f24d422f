// lab run liar: what lying gains a receiver, and what a cap on shares costs.
#include "lab/experiments/liar/liar.h"

#include <math.h>
#include <stdlib.h>

#include "lab/experiments/fairness/fairness_setup.h"

typedef struct LiarSettings {
    FairnessSetup setup;
    const char *policies;
    int64_t liar;
    double claim_ms;
    double small_claim_ms;
    double hold_ms;
    double cap;
} LiarSettings;

static void defaults(void *ctx)
{
    LiarSettings *settings = (LiarSettings *)ctx;
    *settings = (LiarSettings){
        .setup = fairness_setup_default(),
        .policies = "base/3 schedule1 probabilistic deterministic equal-0 equal-50 equal-100",
        .liar = 3,
        .claim_ms = 1000.0,
        .small_claim_ms = 100.0,
        .hold_ms = 100.0,
        .cap = 0.4,
    };
}

#define AT(field) offsetof(LiarSettings, field)

static const Setting settings_table[] = {
    FAIRNESS_SETTINGS(LiarSettings),
    {SETTING_TEXT, "policies", "LIST", "names with blanks between", AT(policies), 0, 0},
    {SETTING_INTEGER, "liar", "N", "which receiver lies, counted from 1 (3)", AT(liar), 1,
     FAIRNESS_RECEIVERS},
    {SETTING_NUMBER, "claim", "MS", "a lie that contradicts the sender's clock (1000)",
     AT(claim_ms), 0.0, 60000.0},
    {SETTING_NUMBER, "small-claim", "MS", "a lie that does not (100)", AT(small_claim_ms), 0.0,
     60000.0},
    {SETTING_NUMBER, "hold", "MS", "the delaying one keeps back each way (100)", AT(hold_ms), 0.0,
     10000.0},
    {SETTING_NUMBER, "cap", "SHARE", "no receiver gets more of the updates (0.4)", AT(cap), 0.0,
     1.0},
};

// ---------------------------------------------------------------- ways to lie

/// X(name, word)
#define BEHAVIOURS(X)                                                                              \
    X(HONEST, "honest")                                                                            \
    X(LATER, "contradicting, later")                                                               \
    X(EARLIER, "contradicting, earlier")                                                           \
    X(SLIGHTLY, "claiming, slightly later")                                                        \
    X(DELAYING, "delaying")

enum {
#define BEHAVIOUR_NAME(name, word) name,
    BEHAVIOURS(BEHAVIOUR_NAME)
#undef BEHAVIOUR_NAME
        BEHAVIOUR_COUNT
};

static const char *const behaviours[] = {
#define BEHAVIOUR_WORD(name, word) word,
    BEHAVIOURS(BEHAVIOUR_WORD)
#undef BEHAVIOUR_WORD
};

static LiarPlay behave(const LiarSettings *s, const FairnessPlay *game, const FlSend *send,
                       int32_t behaviour)
{
    LiarPlay play = {.game = game, .send = *send, .liar = (int32_t)s->liar - 1};
    FlTime claim = fl_span_from_seconds(s->claim_ms / 1e3);
    FlTime small = fl_span_from_seconds(s->small_claim_ms / 1e3);
    play.claims = behaviour == LATER      ? claim
                  : behaviour == EARLIER  ? -claim
                  : behaviour == SLIGHTLY ? small
                                          : 0;
    play.holds = behaviour == DELAYING ? fl_span_from_seconds(s->hold_ms / 1e3) : 0;
    return play;
}

// ---------------------------------------------------------------- rows

enum { CAPS = 2 };

/// One policy: [run][cap][behaviour].
typedef LiarFigures Lies[CAPS][BEHAVIOUR_COUNT];

typedef double (*LieFn)(const LiarFigures *figures, int32_t liar);

static double liar_error(const LiarFigures *f, int32_t liar)
{
    return f->aee[liar];
}

static double liar_share(const LiarFigures *f, int32_t liar)
{
    return (double)f->updates_to[liar] / (double)f->updates_sent;
}

static double others_error(const LiarFigures *f, int32_t liar)
{
    (void)liar;
    return f->others;
}

static double all_mean(const LiarFigures *f, int32_t liar)
{
    (void)liar;
    return f->mean;
}

static double all_sd(const LiarFigures *f, int32_t liar)
{
    (void)liar;
    return f->sd;
}

static double sd_by_mean(const LiarFigures *f, int32_t liar)
{
    (void)liar;
    return f->sd / f->mean;
}

static double all_updates(const LiarFigures *f, int32_t liar)
{
    (void)liar;
    return (double)f->updates_sent;
}

static double contradictions(const LiarFigures *f, int32_t liar)
{
    (void)liar;
    return (double)f->contradictions;
}

/// What a row is made of.
typedef struct Cell {
    const Lies *lies;
    int32_t runs;
    int32_t liar;
    int32_t cap, behaviour;
    double *scratch; ///< Two per run.
} Cell;

static void put(const Cell *cell, json_t *row, const char *field, LieFn fn)
{
    for (int32_t r = 0; r < cell->runs; r++) {
        cell->scratch[r] = fn(&cell->lies[r][cell->cap][cell->behaviour], cell->liar);
    }
    row_number(row, field, estimate_mean(cell->scratch, cell->runs).mean);
}

/// By what it is for an honest receiver without a cap, run by run.
static void put_ratio(const Cell *cell, json_t *row, const char *field, const char *interval,
                      LieFn fn)
{
    double *honest = cell->scratch + cell->runs;
    for (int32_t r = 0; r < cell->runs; r++) {
        cell->scratch[r] = fn(&cell->lies[r][cell->cap][cell->behaviour], cell->liar);
        honest[r] = fn(&cell->lies[r][0][HONEST], cell->liar);
    }
    Estimate ratio = estimate_ratio(cell->scratch, honest, cell->runs);
    row_number(row, field, ratio.mean);
    row_number(row, interval, ratio.ci95);
}

static json_t *make_row(const Cell *cell, const FairnessPlay *game, const FlSend *send)
{
    char name[FL_SEND_TEXT_BYTES];
    json_t *row = json_object();
    fl_send_text(send, name);
    row_text(row, "policy", name);
    row_number(row, "jitter_ms", fl_span_seconds(game->jitter) * 1e3);
    row_text(row, "behaviour", behaviours[cell->behaviour]);
    row_number(row, "cap", send->share_cap);
    row_number(row, "runs", cell->runs);
    put(cell, row, "updates_sent", all_updates);
    put(cell, row, "liar_share", liar_share);
    put(cell, row, "liar_aee", liar_error);
    put(cell, row, "others_aee", others_error);
    put(cell, row, "mean_aee", all_mean);
    put(cell, row, "sd_aee", all_sd);
    put(cell, row, "contradictions", contradictions);
    put_ratio(cell, row, "liar_ratio", "liar_ratio_ci95", liar_error);
    put_ratio(cell, row, "others_ratio", "others_ratio_ci95", others_error);
    put(cell, row, "sd_by_mean", sd_by_mean);
    return row;
}

// ---------------------------------------------------------------- running

static LabStatus play_unit(const void *def, void *figures, Text *text, LabError *error)
{
    (void)text;
    return liar_play((const LiarPlay *)def, (LiarFigures *)figures, error);
}

static LabStatus play_policy(const LabRun *run, const LiarSettings *s, FairnessPlay *game,
                             FlSend send, Lies *lies, json_t *rows, LabError *error)
{
    int32_t runs = game->material->run_count;
    double *scratch = (double *)calloc(2 * (size_t)runs, sizeof *scratch);
    LabStatus status = scratch != NULL ? LAB_OK : lab_fail(error, LAB_FAILED, "out of memory");
    for (int32_t r = 0; r < runs && status == LAB_OK; r++) {
        game->run = r;
        game->seed = run->seed + (uint64_t)r;
        for (int32_t i = 0; i < CAPS * BEHAVIOUR_COUNT && status == LAB_OK; i++) {
            send.share_cap = i < BEHAVIOUR_COUNT ? 1.0 : s->cap;
            LiarPlay play = behave(s, game, &send, i % BEHAVIOUR_COUNT);
            LiarFigures *figures = &lies[r][i / BEHAVIOUR_COUNT][i % BEHAVIOUR_COUNT];
            char name[FL_SEND_TEXT_BYTES];
            fl_send_text(&send, name);
            LabUnit unit = lab_unit_of(figures, sizeof *figures, 1.0, "%s/%g/%d/%d", name,
                                       fl_span_seconds(game->jitter) * 1e3, (int)r, (int)i);
            status = lab_unit(run->units, &unit, play_unit, &play, error);
        }
    }
    bool known = status == LAB_OK && !lab_units_missing(run->units);
    for (int32_t i = 0; i < CAPS * BEHAVIOUR_COUNT && known; i++) {
        Cell cell = {(const Lies *)lies,  runs,   (int32_t)s->liar - 1, i / BEHAVIOUR_COUNT,
                     i % BEHAVIOUR_COUNT, scratch};
        send.share_cap = i < BEHAVIOUR_COUNT ? 1.0 : s->cap;
        (void)json_array_append_new(rows, make_row(&cell, game, &send));
    }
    free(scratch);
    return status;
}

static LabStatus play_all(const LabRun *run, const LiarSettings *s, FairnessPlay *game,
                          LabResult *result, LabError *error)
{
    Lies *lies = (Lies *)calloc((size_t)game->material->run_count, sizeof *lies);
    LabStatus status = lies != NULL ? LAB_OK : lab_fail(error, LAB_FAILED, "out of memory");
    const LabNumbers *jitter = &s->setup.jitter_ms;
    FairnessProgress progress = {0, (int64_t)jitter->count * game->policy_count};
    for (int32_t j = 0; j < jitter->count; j++) {
        game->jitter = fl_span_from_seconds(jitter->values[j] / 1e3);
        for (int32_t p = 0; p < game->policy_count && status == LAB_OK; p++) {
            status = play_policy(run, s, game, game->policy[p], lies, result->rows, error);
            lab_progress(run, ++progress.done, progress.of);
        }
    }
    free(lies);
    return status;
}

static LabStatus run_liar(const LabRun *run, const void *ctx, LabResult *result, LabError *error)
{
    const LiarSettings *s = (const LiarSettings *)ctx;
    FairnessPlay game;
    Material material = {0};
    LabStatus status = fairness_setup_play(run, &s->setup, &game, error);
    status = status == LAB_OK ? fairness_add_list(&game, s->policies, error) : status;
    if (status == LAB_OK && s->liar > game.receiver_count) {
        status = lab_fail(error, LAB_BAD_INPUT, "--liar: there are %d receivers",
                          (int)game.receiver_count);
    }
    status = status == LAB_OK ? fairness_setup_material(run, &s->setup, &material, error) : status;
    game.material = &material;
    status = status == LAB_OK ? play_all(run, s, &game, result, error) : status;
    material_free(&material);
    return status;
}

static const Column columns[] = {
    {"policy", "policy", -1},
    {"behaviour", "behaviour", -1},
    {"cap", "cap", 2},
    {"updates_sent", "updates", 0},
    {"liar_share", "its share", 3},
    {"liar_aee", "its AEE", 1},
    {"liar_ratio", "by honest", 3},
    {"others_aee", "others'", 1},
    {"others_ratio", "by honest", 3},
    {"sd_aee", "sd AEE", 1},
    {"sd_by_mean", "by mean", 3},
    {"contradictions", "contradictions", 0},
};

static const ChartSpec charts[] = {
    {.kind = CHART_DOTS,
     .title = "What a liar gains, without a cap on shares",
     .x = "behaviour",
     .x_title = "behaviour",
     .y = "liar_ratio",
     .y_title = "its error by that of an honest one (less is gain)",
     .interval = "liar_ratio_ci95",
     .series = "policy",
     .where = "cap=1"},
    {.kind = CHART_DOTS,
     .title = "The same with a cap",
     .x = "behaviour",
     .x_title = "behaviour",
     .y = "liar_ratio",
     .y_title = "its error by that of an honest one (less is gain)",
     .interval = "liar_ratio_ci95",
     .series = "policy",
     .where = "cap=0.4"},
};

const Experiment experiment_liar = {
    .name = "liar",
    .help = "what a receiver gains by lying about arrivals, and what a cap on shares costs",
    .summary = "One receiver lies: its reports contradict what the sender knows; or say a little\n"
               "later than true; or it keeps back all its traffic as if it were farther off.\n"
               "Errors are true ones: it shows updates when they arrive. Each with and without a\n"
               "cap on any receiver's share. \"by honest\": compared with no lie and no cap. What\n"
               "the cap costs in fairness is the deviation by the mean of the honest rows.",
    .settings = settings_table,
    .setting_count = (int32_t)(sizeof settings_table / sizeof *settings_table),
    .settings_bytes = sizeof(LiarSettings),
    .defaults_fn = defaults,
    .run_fn = run_liar,
    .has_units = true,
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
    .charts = charts,
    .chart_count = (int32_t)(sizeof charts / sizeof *charts),
};
