// D1 to D6: many players, few bytes.
//
// D1 to D4 and D6 come from the same runs of `lab run attention`, three modes each. D5 needs no
// network: where players are against where they would be had they gone on as they did.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/claims/claims.h"
#include "lab/experiments/attention/attention.h"

enum { RUNS_MOST = 8, HORIZONS = 3 };

static const int32_t horizon_ticks[HORIZONS] = {ARENA_TICK_HZ / 4, ARENA_TICK_HZ / 2,
                                                ARENA_TICK_HZ};

#define RTT_MS 20.0
#define PUBLISHED_FOCUS 4.0
#define PUBLISHED_HZ 1.0
#define TOLERANCE 0.1
#define MORE_A_MINUTE 2.0 // warps and stalls: what "nearly as without limit" allows,
#define MORE_FACING 0.1   // and in facing, rad

// ---------------------------------------------------------------- D1 to D4, D6

typedef struct Runs {
    int32_t count;
    bool with_ours;
    AttentionFigures of[ARENA_MODES][RUNS_MOST];
} Runs;

static Estimate over(const Runs *runs, ArenaMode mode, size_t offset)
{
    double values[RUNS_MOST];
    for (int32_t r = 0; r < runs->count; r++) {
        memcpy(&values[r], (const char *)&runs->of[mode][r] + offset, sizeof values[r]);
    }
    return estimate_mean(values, runs->count);
}

#define OVER(runs, mode, field) over(runs, ARENA_MODE_##mode, offsetof(AttentionFigures, field))

/// a's minus so many times b's, run by run.
static Estimate more(const Runs *runs, ArenaMode a, double times, ArenaMode b, size_t offset)
{
    double values[RUNS_MOST];
    for (int32_t r = 0; r < runs->count; r++) {
        double less;
        memcpy(&values[r], (const char *)&runs->of[a][r] + offset, sizeof values[r]);
        memcpy(&less, (const char *)&runs->of[b][r] + offset, sizeof less);
        values[r] -= times * less;
    }
    return estimate_mean(values, runs->count);
}

#define MORE(runs, a, times, b, field)                                                             \
    more(runs, ARENA_MODE_##a, times, ARENA_MODE_##b, offsetof(AttentionFigures, field))

static LabStatus play_one(const void *def, void *figures, Text *text, LabError *error)
{
    (void)text;
    return attention_play((const AttentionPlay *)def, (AttentionFigures *)figures, error);
}

static LabStatus play_all(const VerifyDef *def, Runs *runs, LabError *error)
{
    runs->count = def->full ? RUNS_MOST : 3;
    runs->with_ours = def->full; // no verdict rests on it
    int32_t modes = runs->with_ours ? ARENA_MODES : ARENA_MODE_OURS;
    LabStatus status = LAB_OK;
    for (int32_t r = 0; r < runs->count; r++) {
        for (int32_t m = 0; m < modes && status == LAB_OK; m++) {
            AttentionPlay play = {.mode = (ArenaMode)m,
                                  .players = 32,
                                  .kbps = 108.0,
                                  .rtt_ms = RTT_MS,
                                  .seconds = def->full ? 30.0 : 2.0,
                                  .seed = fl_random_at(def->seed, 900, (uint64_t)r)};
            LabUnit unit = lab_unit_of(&runs->of[m][r], sizeof runs->of[m][r],
                                       def->full ? 12.0 : 1.5, "play/%d/%d", (int)m, (int)r);
            status = lab_unit(def->units, &unit, play_one, &play, error);
        }
    }
    return status;
}

static void find_sizes(ClaimSet *set, const Runs *runs)
{
    Estimate focus = OVER(runs, DONNY, focus_size);
    Estimate rest = OVER(runs, DONNY, best_effort_hz);
    Verdict verdict = verdict_worse(judge_above(focus, (1.0 - TOLERANCE) * PUBLISHED_FOCUS),
                                    judge_above(rest, (1.0 - TOLERANCE) * PUBLISHED_HZ));
    finding_add(
        claims_finding(set, "D1"), verdict,
        "focus %.2f +- %.2f, the rest at %.2f +- %.2f Hz, states, calls and reports included",
        focus.mean, focus.ci95, rest.mean, rest.ci95);
    if (runs->with_ours) {
        finding_add(claims_finding(set, "D1"), verdict,
                    "with our sizes and focus+equal %.2f and %.2f Hz in %.0f kbit/s",
                    OVER(runs, OURS, focus_size).mean, OVER(runs, OURS, best_effort_hz).mean,
                    OVER(runs, OURS, kbps_used).mean);
    }
}

static void find_looks(ClaimSet *set, const Runs *runs)
{
    Estimate warps = MORE(runs, LOBW, 2.0, DONNY, warps_per_minute);
    Estimate stalls = MORE(runs, LOBW, 1.0, DONNY, stalls_per_minute);
    Estimate facing = MORE(runs, LOBW, 1.0, DONNY, facing_error);
    Verdict verdict = verdict_worse(
        judge_above(warps, 0.0), verdict_worse(judge_above(stalls, 0.0), judge_above(facing, 0.0)));
    Estimate more_warps = MORE(runs, DONNY, 1.0, HIBW, warps_per_minute);
    Estimate more_stalls = MORE(runs, DONNY, 1.0, HIBW, stalls_per_minute);
    Estimate more_facing = MORE(runs, DONNY, 1.0, HIBW, facing_error);
    Verdict near = verdict_worse(judge_below(more_warps, MORE_A_MINUTE),
                                 verdict_worse(judge_below(more_stalls, MORE_A_MINUTE),
                                               judge_below(more_facing, MORE_FACING)));
    finding_add(claims_finding(set, "D2"), near,
                "donny minus hibw: warps %+.1f +- %.1f a minute, stalls %+.1f +- %.1f, facing "
                "%+.3f +- %.3f rad",
                more_warps.mean, more_warps.ci95, more_stalls.mean, more_stalls.ci95,
                more_facing.mean, more_facing.ci95);
    finding_add(claims_finding(set, "D2"), verdict,
                "lobw minus donny (warps twice): %+.1f +- %.1f, stalls %+.1f +- %.1f, facing %+.3f "
                "+- %.3f; "
                "warps a minute hibw %.1f, lobw %.1f, donny %.1f; weighted error %.0f, %.0f, %.0f "
                "units",
                warps.mean, warps.ci95, stalls.mean, stalls.ci95, facing.mean, facing.ci95,
                OVER(runs, HIBW, warps_per_minute).mean, OVER(runs, LOBW, warps_per_minute).mean,
                OVER(runs, DONNY, warps_per_minute).mean, OVER(runs, HIBW, weighted_error).mean,
                OVER(runs, LOBW, weighted_error).mean, OVER(runs, DONNY, weighted_error).mean);
    if (runs->with_ours) {
        finding_add(claims_finding(set, "D2"), verdict,
                    "ours: %.1f warps, %.1f stalls, weighted error %.0f units",
                    OVER(runs, OURS, warps_per_minute).mean,
                    OVER(runs, OURS, stalls_per_minute).mean,
                    OVER(runs, OURS, weighted_error).mean);
    }
    finding_add(claims_finding(set, "D2"), verdict,
                "guided replicas are off by %.0f units; dead reckoning from the same "
                "moments would be by %.0f, and %.0f %% of attention is outside the four",
                OVER(runs, DONNY, error_guided).mean, OVER(runs, DONNY, error_reckoned).mean,
                100.0 * (1.0 - OVER(runs, DONNY, attention_focus).mean));
}

static void find_calls(ClaimSet *set, const Runs *runs)
{
    Estimate share = OVER(runs, DONNY, call_share);
    finding_add(claims_finding(set, "D3"), judge_below(share, 0.05),
                "%.2f +- %.2f %% of all bytes, each call and answer with headers of its own",
                100.0 * share.mean, 100.0 * share.ci95);
    Estimate latency = OVER(runs, DONNY, hit_latency_ms);
    double apart = 0.0;
    double hits = 0.0;
    for (int32_t r = 0; r < runs->count; r++) {
        apart += runs->of[ARENA_MODE_DONNY][r].disagreements +
                 runs->of[ARENA_MODE_HIBW][r].disagreements;
        hits += runs->of[ARENA_MODE_DONNY][r].hits + runs->of[ARENA_MODE_HIBW][r].hits;
    }
    Verdict agree = apart > 0.0 ? VERDICT_FAILS : VERDICT_HOLDS;
    finding_add(claims_finding(set, "D4"), verdict_worse(agree, judge_below(latency, 2.0 * RTT_MS)),
                "known to both after %.1f ms without limit, %.1f +- %.1f ms at 108 kbit/s, round "
                "trip %.0f ms; %.0f disagreements in %.0f hits",
                OVER(runs, HIBW, hit_latency_ms).mean, latency.mean, latency.ci95, RTT_MS, apart,
                hits);
}

static void find_near(ClaimSet *set, const Runs *runs)
{
    double share[RUNS_MOST];
    double seconds[RUNS_MOST];
    for (int32_t r = 0; r < runs->count; r++) {
        const ArenaNear *near = &runs->of[ARENA_MODE_DONNY][r].near;
        double ended = (double)(near->count + near->given_up);
        share[r] = ended > 0.0 ? (double)near->within / ended : 0.0;
        seconds[r] = near->count > 0 ? near->seconds / (double)near->count : 0.0;
    }
    Estimate within = estimate_mean(share, runs->count);
    Estimate time = estimate_mean(seconds, runs->count);
    finding_add(
        claims_finding(set, "D6"), judge_above(within, 0.5),
        "%.1f +- %.1f %% within half a second; %.2f +- %.2f s on average where it came to it",
        100.0 * within.mean, 100.0 * within.ci95, time.mean, time.ci95);
}

// ---------------------------------------------------------------- D5

/// Errors of going on and of standing still, by horizon.
typedef struct Guess {
    Tally held[HORIZONS], stood[HORIZONS];
} Guess;

static void note(Guess *guess, int32_t h, FlVec3 from, FlVec3 held, FlVec3 real)
{
    tally_add(&guess->held[h], fl_vec3_distance(held, real));
    tally_add(&guess->stood[h], fl_vec3_distance(from, real));
}

static FlVec3 place_of(const ArenaPlayer *p)
{
    return fl_vec3(p->x, p->y, p->z);
}

#define PAST (ARENA_TICK_HZ + 1)

/// What was guessed of a player at a tick.
typedef struct Guessed {
    bool alive;
    uint32_t life;
    FlVec3 from, held[HORIZONS];
} Guessed;

static void guess_tick(const ArenaGame *game, const ArenaState *state, const ArenaInput *inputs,
                       Guessed (*past)[ARENA_PLAYER_CAPACITY], Guess *guess)
{
    for (int32_t i = 0; i < state->player_count; i++) {
        const ArenaPlayer *p = &state->player[i];
        for (int32_t h = 0; h < HORIZONS; h++) {
            int32_t tick = state->tick - horizon_ticks[h];
            const Guessed *old = tick >= 1 ? &past[tick % PAST][i] : NULL;
            if (old != NULL && old->alive && p->alive != 0 && old->life == p->life) {
                note(guess, h, old->from, old->held[h], place_of(p));
            }
        }
        Guessed *now = &past[state->tick % PAST][i];
        *now = (Guessed){.alive = p->alive != 0, .life = p->life, .from = place_of(p)};
        for (int32_t h = 0; h < HORIZONS && now->alive; h++) {
            double seconds = (double)horizon_ticks[h] / ARENA_TICK_HZ;
            now->held[h] = arena_predict(game, state, i, inputs[i], seconds).position;
        }
    }
}

typedef struct BotGame {
    ArenaState state;
    ArenaBot bots[ARENA_PLAYER_CAPACITY];
    ArenaInput inputs[ARENA_PLAYER_CAPACITY];
    Guessed past[PAST][ARENA_PLAYER_CAPACITY];
} BotGame;

static void guess_game(const ArenaGame *game, const VerifyDef *def, BotGame *bots, Guess *guess)
{
    ArenaState *state = &bots->state;
    arena_start(game, state);
    for (int32_t i = 0; i < state->player_count; i++) {
        arena_bot_init(&bots->bots[i], def->seed, i, i, 1 + i % ARENA_SKILL_MAX);
    }
    int32_t ticks = (def->full ? 600 : 10) * ARENA_TICK_HZ;
    for (int32_t t = 0; t < ticks; t++) {
        for (int32_t i = 0; i < state->player_count; i++) {
            bots->inputs[i] = arena_bot_decide(game, &bots->bots[i], state, i);
        }
        arena_step(game, state, bots->inputs, NULL);
        guess_tick(game, state, bots->inputs, bots->past, guess);
    }
}

static LabStatus guess_bots(const VerifyDef *def, Guess *guess, LabError *error)
{
    ArenaDef arena = arena_def_default();
    arena.seed = def->seed;
    ArenaGame *game = NULL;
    BotGame *bots = (BotGame *)calloc(1, sizeof *bots);
    FlResult result = bots != NULL ? arena_create(&arena, &game) : FL_NO_MEMORY;
    if (result == FL_OK) {
        guess_game(game, def, bots, guess);
        arena_destroy(game);
    }
    free(bots);
    return result == FL_OK ? LAB_OK : lab_fail_result(error, result, "making the arena");
}

/// Recorded players: their keys are not known, so the pace is held.
static LabStatus guess_trace(Guess *guess, LabError *error)
{
    AttentionMatch match;
    LabStatus status =
        attention_match_load("data/arena/ffa16_20s.csv.gz", 0.0, 60.0, &match, error);
    if (status != LAB_OK) {
        return status;
    }
    for (int32_t at = 0; at < match.ticks * match.players; at++) {
        const ArenaRow *row = &match.rows[at];
        for (int32_t h = 0; h < HORIZONS; h++) {
            int32_t then = at + horizon_ticks[h] * match.players;
            if (then < match.ticks * match.players && match.there[at] && match.there[then] &&
                match.rows[then].life == row->life) {
                double seconds = (double)horizon_ticks[h] / ARENA_TICK_HZ;
                FlVec3 held = fl_vec3(row->position.x + row->velocity.x * seconds,
                                      row->position.y + row->velocity.y * seconds, row->position.z);
                note(guess, h, row->position, held, match.rows[then].position);
            }
        }
    }
    attention_match_free(&match);
    return LAB_OK;
}

static void find_guess(ClaimSet *set, const Guess *guess, const char *material)
{
    bool well = true;
    for (int32_t h = 0; h < HORIZONS; h++) {
        well = well &&
               tally_quantile(&guess->held[h], 0.5) < 0.5 * tally_quantile(&guess->stood[h], 0.5);
    }
    finding_add(claims_finding(set, "D5"), well ? VERDICT_HOLDS : VERDICT_FAILS,
                "%s: median %.0f, %.0f, %.0f units (standing still: %.0f, %.0f, %.0f), p95 %.0f, "
                "%.0f, %.0f",
                material, tally_quantile(&guess->held[0], 0.5),
                tally_quantile(&guess->held[1], 0.5), tally_quantile(&guess->held[2], 0.5),
                tally_quantile(&guess->stood[0], 0.5), tally_quantile(&guess->stood[1], 0.5),
                tally_quantile(&guess->stood[2], 0.5), tally_quantile(&guess->held[0], 0.95),
                tally_quantile(&guess->held[1], 0.95), tally_quantile(&guess->held[2], 0.95));
}

static LabStatus guess_both(const void *ctx, void *figures, Text *text, LabError *error)
{
    Guess *guess = (Guess *)figures;
    (void)text;
    LabStatus status = guess_bots((const VerifyDef *)ctx, &guess[0], error);
    return status == LAB_OK ? guess_trace(&guess[1], error) : status;
}

static LabStatus find_guesses(const VerifyDef *def, ClaimSet *set, LabError *error)
{
    Guess *guess = (Guess *)calloc(2, sizeof *guess);
    if (guess == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    LabUnit unit = lab_unit_of(guess, 2 * sizeof *guess, def->full ? 8.0 : 1.0, "guesses");
    LabStatus status = lab_unit(def->units, &unit, guess_both, def, error);
    if (status == LAB_OK && !lab_units_missing(def->units)) {
        find_guess(set, &guess[0], "bots");
        find_guess(set, &guess[1], "recording");
    }
    free(guess);
    return status;
}

// ---------------------------------------------------------------- all

LabStatus claims_attention(const VerifyDef *def, ClaimSet *set, LabError *error)
{
    static const char *const played[] = {"D1", "D2", "D3", "D4", "D6"};
    bool wanted = false;
    for (size_t i = 0; i < sizeof played / sizeof *played; i++) {
        wanted = wanted || claims_wants(set, played[i]);
    }
    if (claims_wants(set, "D5") && find_guesses(def, set, error) != LAB_OK) {
        claims_failed(set, "D5", error);
    }
    if (!wanted) {
        return claims_status(def, LAB_OK);
    }
    Runs *runs = (Runs *)calloc(1, sizeof *runs);
    if (runs == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    LabStatus status = play_all(def, runs, error);
    for (size_t i = 0; i < sizeof played / sizeof *played && status != LAB_OK; i++) {
        claims_failed(set, played[i], error);
    }
    if (status == LAB_OK && !lab_units_missing(def->units)) {
        find_sizes(set, runs);
        find_looks(set, runs);
        find_calls(set, runs);
        find_near(set, runs);
    }
    free(runs);
    return claims_status(def, LAB_OK);
}
