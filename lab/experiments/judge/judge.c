// lab run judge: who may decide that a missile has hit, by the distance of the pair on the network.
//
// Bots of equal skill play the arena without a limit on bytes; every second one is far from all
// others. A missile is judged by its shooter's view, or by its target's. Counted is the damage that
// missiles did, by who of the pair is far: if the rule is fair, near players do to far ones what
// far ones do to near ones, and distance does not change how much.
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "lab/actors/arena_mesh.h"
#include "lab/experiments/experiment.h"
#include "lab/figures/stats.h"
#include "lab/world/play.h"

enum { JUDGES = 2, SIDES = 2, RUNS_MOST = 256 };

static const char *const judge_words[JUDGES] = {"shooter", "target"};
static const char *const side_words[SIDES] = {"near", "far"};
static const ArenaJudge judges[JUDGES] = {ARENA_JUDGE_SHOOTER, ARENA_JUDGE_TARGET};

// ---------------------------------------------------------------- settings

typedef struct JudgeSettings {
    int64_t players;
    double rtt_ms, far_ms, seconds;
} JudgeSettings;

static void defaults(void *ctx)
{
    *(JudgeSettings *)ctx =
        (JudgeSettings){.players = 16, .rtt_ms = 20.0, .far_ms = 100.0, .seconds = 60.0};
}

#define AT(field) offsetof(JudgeSettings, field)

static const Setting settings_table[] = {
    {SETTING_INTEGER, "players", "N", "bots (16)", AT(players), 4, ARENA_PLAYER_CAPACITY},
    {SETTING_NUMBER, "rtt", "MS", "round trip between two that are near (20)", AT(rtt_ms), 0, 1000},
    {SETTING_NUMBER, "far", "MS", "added to it by each of the pair that is far (100)", AT(far_ms),
     0, 1000},
    {SETTING_NUMBER, "seconds", "S", "of a game (60)", AT(seconds), 5, 36000},
};

// ---------------------------------------------------------------- a game

/// Damage by missiles in points per minute and pair, by [the shooter's side][the target's].
typedef struct JudgeFigures {
    double damage[SIDES][SIDES];
} JudgeFigures;

typedef struct Game {
    const JudgeSettings *settings;
    ArenaJudge judge;
    uint64_t seed;
    bool sealed;
    ArenaMesh mesh;
    double points[SIDES][SIDES];
} Game;

/// By the node: every second one is far.
static int32_t side_of(const Game *game, int32_t player)
{
    for (int32_t i = 0; i < game->mesh.def.players; i++) {
        if (game->mesh.nodes[i].player == player) {
            return i % 2;
        }
    }
    return 0;
}

static void note_damage(void *ctx, const ArenaDeed *deed, bool applied, bool decided)
{
    Game *game = (Game *)ctx;
    if (decided && applied && deed->kind == ARENA_DEED_DAMAGE &&
        deed->weapon == ARENA_WEAPON_ROCKET && deed->actor != deed->target) {
        game->points[side_of(game, deed->actor)][side_of(game, deed->target)] += deed->amount;
    }
}

static void cast_equal(void *ctx, int32_t player, int32_t *character, int32_t *skill)
{
    (void)ctx;
    *character = player % ARENA_CHARACTER_COUNT;
    *skill = ARENA_SKILL_MAX;
}

static LabStatus play_game(const void *def, void *figures, Text *text, LabError *error)
{
    Game game = *(const Game *)def;
    const JudgeSettings *s = game.settings;
    JudgeFigures *f = (JudgeFigures *)figures;
    (void)text;
    ArenaMeshDef mesh = {.mode = ARENA_MODE_HIBW,
                         .map = ARENA_MAP_YARD,
                         .players = (int32_t)s->players,
                         .judge = game.judge,
                         .rtt_ms = s->rtt_ms,
                         .far_ms = s->far_ms,
                         .top_speed = ARENA_SPEED_BOUND,
                         .seed = game.seed,
                         .sealed = game.sealed,
                         .cast_fn = cast_equal,
                         .verdict_fn = note_damage,
                         .ctx = &game};
    LabStatus status = arena_mesh_create(&game.mesh, &mesh, 0, error);
    if (status == LAB_OK) {
        World *world = game.mesh.world;
        world_run(world, game.mesh.begin + (FlTime)(s->seconds * 1e9));
        status = play_check(world, error);
    }
    int64_t half = s->players / 2;
    double far = (double)half;
    double count[SIDES] = {(double)s->players - far, far};
    for (int32_t a = 0; a < SIDES; a++) {
        for (int32_t b = 0; b < SIDES; b++) {
            double pairs = count[a] * (count[b] - (a == b ? 1.0 : 0.0));
            f->damage[a][b] = game.points[a][b] / (pairs * s->seconds / 60.0);
        }
    }
    arena_mesh_destroy(&game.mesh);
    return status;
}

// ---------------------------------------------------------------- rows

/// One figure per run, and its ratio to what goes the other way and to what near players do.
static json_t *row_of(const JudgeSettings *s, int32_t judge, int32_t a, int32_t b,
                      const JudgeFigures *figures, int32_t runs)
{
    double values[RUNS_MOST];
    double back[RUNS_MOST];
    double near[RUNS_MOST];
    for (int32_t r = 0; r < runs; r++) {
        values[r] = figures[r].damage[a][b];
        back[r] = values[r] - figures[r].damage[b][a];
        near[r] = values[r] - figures[r].damage[0][0];
    }
    Estimate damage = estimate_mean(values, runs);
    Estimate more = estimate_mean(back, runs);
    Estimate off = estimate_mean(near, runs);
    json_t *row = json_object();
    row_text(row, "judge", judge_words[judge]);
    row_text(row, "shooter", side_words[a]);
    row_text(row, "target", side_words[b]);
    row_number(row, "rtt_ms", s->rtt_ms + s->far_ms * (a + b));
    row_number(row, "damage", damage.mean);
    row_number(row, "damage_ci95", damage.ci95);
    row_number(row, "more_than_back", more.mean);
    row_number(row, "more_than_back_ci95", more.ci95);
    row_number(row, "more_than_near", off.mean);
    row_number(row, "more_than_near_ci95", off.ci95);
    return row;
}

static LabStatus run_judge(const LabRun *run, const void *ctx, LabResult *result, LabError *error)
{
    const JudgeSettings *s = (const JudgeSettings *)ctx;
    JudgeFigures figures[RUNS_MOST];
    LabStatus status = run->runs <= RUNS_MOST
                           ? LAB_OK
                           : lab_fail(error, LAB_BAD_INPUT, "--runs: at most %d", (int)RUNS_MOST);
    for (int32_t j = 0; j < JUDGES && status == LAB_OK; j++) {
        for (int32_t r = 0; r < run->runs && status == LAB_OK; r++) {
            Game game = {.settings = s,
                         .judge = judges[j],
                         .seed = fl_random_at(run->seed, 900, (uint64_t)r),
                         .sealed = !run->plain};
            LabUnit unit = lab_unit_of(&figures[r], sizeof figures[r], s->seconds, "%s/%d",
                                       judge_words[j], (int)r);
            status = lab_unit(run->units, &unit, play_game, &game, error);
            lab_progress(run, (int64_t)j * run->runs + r + 1, (int64_t)JUDGES * run->runs);
        }
        bool known = status == LAB_OK && !lab_units_missing(run->units);
        for (int32_t i = 0; i < SIDES * SIDES && known; i++) {
            (void)json_array_append_new(result->rows,
                                        row_of(s, j, i / SIDES, i % SIDES, figures, run->runs));
        }
    }
    return status;
}

static const Column columns[] = {
    {"judge", "judged by", -1},         {"shooter", "shooter", -1},
    {"target", "target", -1},           {"rtt_ms", "round trip ms", 0},
    {"damage", "damage/min", 2},        {"more_than_back", "than back", 2},
    {"more_than_near", "than near", 2},
};

static const ChartSpec charts[] = {
    {.kind = CHART_DOTS,
     .title = "Damage by missiles, by the distance of the pair",
     .x = "rtt_ms",
     .x_title = "round trip of the pair, ms",
     .y = "damage",
     .y_title = "points a minute and pair",
     .interval = "damage_ci95",
     .series = "judge"},
};

const Experiment experiment_judge = {
    .name = "judge",
    .help = "whether missiles are fair to far players, by who decides the hit",
    .summary = "Bots of equal skill; every second one is far from all others. A missile hits by\n"
               "its shooter's view, or by its target's. Damage is in points a minute and pair;\n"
               "\"than back\": more than the target's side does to the shooter's; \"than near\":\n"
               "more than between two near players. A fair rule has 0 in both.",
    .settings = settings_table,
    .setting_count = (int32_t)(sizeof settings_table / sizeof *settings_table),
    .settings_bytes = sizeof(JudgeSettings),
    .defaults_fn = defaults,
    .run_fn = run_judge,
    .has_units = true,
    .columns = columns,
    .column_count = (int32_t)(sizeof columns / sizeof *columns),
    .charts = charts,
    .chart_count = (int32_t)(sizeof charts / sizeof *charts),
};
