// Duels: who plays, the game without a network, and correlations of scores.
#include "lab/experiments/duels/duels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *duels_mode_name(DuelsMode mode)
{
#define DUELS_MODE_ROW(name, word) word,
    static const char *const words[DUELS_MODES] = {DUELS_MODE_TABLE(DUELS_MODE_ROW)};
#undef DUELS_MODE_ROW
    FL_ASSERT(mode >= 0 && mode < DUELS_MODES);
    return words[mode];
}

const char *duels_skills_name(DuelsSkills skills)
{
    FL_ASSERT(skills >= 0 && skills < DUELS_SKILLS);
    return skills == DUELS_TOP ? "top" : "random";
}

// ---------------------------------------------------------------- who plays

DuelsCast duels_cast(DuelsSkills skills, uint64_t seed)
{
    // Streams apart: the same seed gives the same characters, whatever their skills.
    FlRandom characters = {seed, 0, 0};
    FlRandom levels = {seed, 1, 0};
    int32_t left[ARENA_CHARACTER_COUNT] = {0};
    DuelsCast cast;
    for (int32_t i = 0; i < ARENA_CHARACTER_COUNT; i++) {
        left[i] = i;
    }
    for (int32_t i = 0; i < DUELS_PLAYERS; i++) {
        int32_t count = ARENA_CHARACTER_COUNT - i;
        int32_t drawn = (int32_t)fl_random_below(&characters, (uint64_t)count);
        cast.character[i] = left[drawn];
        left[drawn] = left[count - 1];
        int32_t level = (int32_t)fl_random_below(&levels, ARENA_SKILL_MAX - ARENA_SKILL_MIN + 1);
        cast.skill[i] = skills == DUELS_TOP ? ARENA_SKILL_MAX : ARENA_SKILL_MIN + level;
    }
    return cast;
}

// ---------------------------------------------------------------- the game itself

typedef struct Exact {
    ArenaGame *game;
    ArenaState state;
    ArenaBot bots[DUELS_PLAYERS];
    int32_t before[DUELS_PLAYERS]; ///< Scores when the stretch began.
} Exact;

static void exact_step(Exact *e)
{
    ArenaInput inputs[DUELS_PLAYERS];
    for (int32_t i = 0; i < DUELS_PLAYERS; i++) {
        inputs[i] = arena_bot_decide(e->game, &e->bots[i], &e->state, i);
    }
    arena_step(e->game, &e->state, inputs, NULL);
}

static void play_exact(const DuelsPlay *play, Exact *e, DuelsScores *scores)
{
    int64_t ticks = play->stretch_ns / arena_tick_time(1);
    arena_start(e->game, &e->state);
    for (int32_t i = 0; i < DUELS_PLAYERS; i++) {
        arena_bot_init(&e->bots[i], play->seed, i, play->cast->character[i], play->cast->skill[i]);
    }
    for (int32_t s = 0; s < play->stretches; s++) {
        for (int64_t t = 0; t < ticks; t++) {
            exact_step(e);
        }
        for (int32_t i = 0; i < DUELS_PLAYERS; i++) {
            scores[s].score[i] = e->state.player[i].score - e->before[i];
            e->before[i] = e->state.player[i].score;
        }
        if (play->progress_fn != NULL) {
            play->progress_fn(play->progress_ctx);
        }
    }
}

LabStatus duels_play(const DuelsPlay *play, DuelsScores *scores, DuelsTraffic *traffic,
                     LabError *error)
{
    *traffic = (DuelsTraffic){0};
    if (play->mode != DUELS_EXACT) {
        return duels_play_sessions(play, scores, traffic, error);
    }
    Exact e = {0};
    ArenaDef def = arena_def_default();
    def.player_count = DUELS_PLAYERS;
    def.seed = play->seed;
    FlResult result = arena_create(&def, &e.game);
    if (result != FL_OK) {
        return lab_fail_result(error, result, "making the arena");
    }
    play_exact(play, &e, scores);
    arena_destroy(e.game);
    return LAB_OK;
}

// ---------------------------------------------------------------- many games

static DuelsPlay play_of(const DuelsPlan *plan, const DuelsCast *cast, DuelsMode mode)
{
    return (DuelsPlay){.cast = cast,
                       .mode = mode,
                       .stretch_ns = plan->stretch_ns,
                       .kbps = plan->kbps,
                       .sealed = plan->sealed,
                       .progress_fn = plan->progress_fn,
                       .progress_ctx = plan->progress_ctx};
}

/// Seeds of games: casts differ by stream, games of a cast by index. 0 is the expectation's, so
/// that no mode is measured against its own luck.
static uint64_t game_seed(const DuelsPlan *plan, int32_t cast, int32_t game)
{
    return fl_random_at(plan->seed, 2 + (uint64_t)cast, (uint64_t)game);
}

static uint64_t cast_seed(const DuelsPlan *plan, int32_t cast)
{
    return fl_random_at(plan->seed, 1, (uint64_t)cast);
}

/// The scores of a game's stretches, and its traffic after them, are one block.
static LabStatus play_unit(const void *def, void *figures, Text *text, LabError *error)
{
    const DuelsPlay *play = (const DuelsPlay *)def;
    DuelsScores *scores = (DuelsScores *)figures;
    (void)text;
    return duels_play(play, scores, (DuelsTraffic *)&scores[play->stretches], error);
}

static LabStatus play_game(const DuelsPlan *plan, int32_t cast, const DuelsPlay *play,
                           const char *what, DuelsScores *scores, DuelsTraffic *traffic,
                           LabError *error)
{
    size_t bytes = (size_t)play->stretches * sizeof *scores;
    double *block = (double *)malloc(bytes + sizeof *traffic);
    if (block == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    double hours = play->stretches * fl_span_seconds(play->stretch_ns) / 3600.0;
    LabUnit unit = lab_unit_of(block, bytes + sizeof *traffic,
                               hours * (play->mode == DUELS_EXACT ? 3.0 : 80.0), "%s/%s/%d",
                               duels_skills_name(plan->skills), what, (int)cast);
    LabStatus status = lab_unit(plan->units, &unit, play_unit, play, error);
    memcpy(scores, block, bytes);
    memcpy(traffic, (const char *)block + bytes, sizeof *traffic);
    free(block);
    return status;
}

LabStatus duels_expect(const DuelsPlan *plan, int32_t cast, DuelsScores *expected, LabError *error)
{
    DuelsCast players = duels_cast(plan->skills, cast_seed(plan, cast));
    DuelsPlay play = play_of(plan, &players, plan->expected);
    DuelsTraffic traffic;
    DuelsScores *scores = (DuelsScores *)calloc((size_t)plan->expected_stretches, sizeof *scores);
    *expected = (DuelsScores){0};
    if (scores == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    play.seed = game_seed(plan, cast, 0);
    play.stretches = plan->expected_stretches;
    LabStatus status = play_game(plan, cast, &play, "expected", scores, &traffic, error);
    for (int32_t s = 0; s < play.stretches && status == LAB_OK; s++) {
        for (int32_t i = 0; i < DUELS_PLAYERS; i++) {
            expected->score[i] += scores[s].score[i] / play.stretches;
        }
    }
    free(scores);
    return status;
}

static void write_stretch(const DuelsPlan *plan, int32_t cast, const DuelsPlay *play, int32_t s,
                          const DuelsScores *scores, const DuelsScores *expected)
{
    for (int32_t i = 0; i < DUELS_PLAYERS && plan->series != NULL; i++) {
        text_add(plan->series, "%s,%s,%d,%d,%d,%s,%d,%.3f,%.0f\n", duels_skills_name(plan->skills),
                 duels_mode_name(play->mode), cast + 1, s + 1, i + 1,
                 arena_character_name(play->cast->character[i]), play->cast->skill[i],
                 expected->score[i], scores->score[i]);
    }
}

static void add_stretch(DuelsFigures *figures, const DuelsScores *scores,
                        const DuelsScores *expected)
{
    int32_t at = figures->count++;
    figures->spearman[at] = correlation_of_ranks(scores->score, expected->score, DUELS_PLAYERS);
    figures->pearson[at] = correlation_of_values(scores->score, expected->score, DUELS_PLAYERS);
    for (int32_t i = 0; i < DUELS_PLAYERS; i++) {
        figures->score_per_hour += scores->score[i]; // the sum, until all is added
    }
}

Estimate duels_mean(const double *correlations, int32_t count)
{
    double known[DUELS_STRETCHES];
    int32_t found = 0;
    FL_ASSERT(count <= DUELS_STRETCHES);
    for (int32_t i = 0; i < count; i++) {
        if (isfinite(correlations[i])) {
            known[found++] = correlations[i];
        }
    }
    return estimate_mean(known, found);
}

static LabStatus measure_cast(const DuelsPlan *plan, DuelsMode mode, int32_t cast,
                              const DuelsScores *expected, DuelsScores *scores,
                              DuelsFigures *figures, LabError *error)
{
    DuelsCast players = duels_cast(plan->skills, cast_seed(plan, cast));
    DuelsPlay play = play_of(plan, &players, mode);
    DuelsTraffic traffic = {0};
    play.seed = game_seed(plan, cast, 1 + (int32_t)mode);
    play.stretches = plan->stretches;
    LabStatus status = play_game(plan, cast, &play, duels_mode_name(mode), scores, &traffic, error);
    for (int32_t s = 0; s < play.stretches && status == LAB_OK; s++) {
        add_stretch(figures, &scores[s], expected);
        write_stretch(plan, cast, &play, s, &scores[s], expected);
    }
    figures->kbps_used += traffic.kbps_used / plan->casts;
    return status;
}

LabStatus duels_measure(const DuelsPlan *plan, DuelsMode mode, const DuelsScores *expected,
                        DuelsFigures *figures, LabError *error)
{
    FL_ASSERT(plan->stretches > 0 && (int64_t)plan->stretches * plan->casts <= DUELS_STRETCHES);
    memset(figures, 0, sizeof *figures);
    DuelsScores *scores = (DuelsScores *)calloc((size_t)plan->stretches, sizeof *scores);
    if (scores == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    LabStatus status = LAB_OK;
    for (int32_t c = 0; c < plan->casts && status == LAB_OK; c++) {
        status = measure_cast(plan, mode, c, &expected[c], scores, figures, error);
    }
    double hours = figures->count * fl_span_seconds(plan->stretch_ns) / 3600.0;
    figures->score_per_hour /= hours * DUELS_PLAYERS;
    free(scores);
    return status;
}
