// Counting updates, ages, errors and bytes.
//
// Those who are watched are looked at every 10 ms, so that no update of 20 Hz is missed; all others
// every 100 ms, as theirs come about once a second.
//
// A pair's rate at best effort counts the time in which it was not watched; pairs that were watched
// for more than a fifth of the time are left out of the quantile.
#include "lab/experiments/crowd/crowd_views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP FL_MS(10)
#define STEPS_A_SECOND 100
#define WINDOW (STEPS_A_SECOND + 1)
#define REST_STEPS 10
#define LEAST_SHARE 0.8

/// One player's knowledge of another.
typedef struct Pair {
    FlTime stamp;
    uint32_t rest_updates, rest_looks;
    bool watched;
} Pair;

typedef struct Sums {
    uint64_t focus_updates, focus_looks, focus_entries, wanted, view_looks;
    double focus_error, rest_error;
    uint64_t focus_errors, rest_errors;
    Tally focus_age, rest_age;
    CrowdRest rest;
} Sums;

struct CrowdViews {
    CrowdGame *game;
    int32_t views;
    int32_t members;
    FlTime begin;
    int32_t step;
    int32_t player[CROWD_VIEWS]; ///< Whose view each is.
    Pair *pairs;                 ///< [view * members + member]
    FlVec3 *truth;               ///< [member]
    FlVec3 *shown;               ///< [member]
    uint64_t *sent;              ///< [player * WINDOW + step % WINDOW]
    uint64_t *sent_begin;        ///< [node]
    uint64_t updates_begin;
    double peak, peak_share; ///< Bytes in a second; of its limit.
    Sums sums;
};

// ---------------------------------------------------------------- one view

static void note_age(Tally *tally, FlTime now, FlTime stamp)
{
    FlTime age = fl_span(now, stamp);
    tally_add(tally, age > 0 ? fl_span_seconds(age) * 1e3 : 0.0);
}

static void note_pair(CrowdViews *v, const FlSession *session, int32_t member, Pair *pair,
                      FlTime time, bool rest_too)
{
    FlEntityStatus view;
    if (!crowd_player_view(session, member, &view)) {
        pair->rest_looks += rest_too ? 1 : 0;
        pair->watched = false;
        return;
    }
    bool fresh = view.newest != pair->stamp && v->step > 0;
    Sums *sums = &v->sums;
    sums->focus_entries += view.watched && !pair->watched && v->step > 0 ? 1 : 0;
    pair->stamp = view.newest;
    pair->watched = view.watched;
    if (view.watched) {
        sums->focus_updates += fresh ? 1 : 0;
        sums->focus_looks++;
        note_age(&sums->focus_age, time, view.newest);
    } else {
        pair->rest_updates += fresh ? 1 : 0;
        if (rest_too) {
            pair->rest_looks++;
            note_age(&sums->rest_age, time, view.newest);
        }
    }
}

static void note_errors(CrowdViews *v, FlSession *session, const Pair *pairs, int32_t self,
                        FlTime now)
{
    for (int32_t m = 0; m < v->members; m++) {
        v->shown[m] = fl_vec3((double)NAN, 0.0, 0.0);
    }
    (void)fl_entity_positions(session, now, v->shown);
    for (int32_t m = 1; m < v->members; m++) {
        double error = fl_vec3_distance(v->shown[m], v->truth[m]);
        if (m == self || isnan(error)) {
            continue;
        }
        if (pairs[m].watched) {
            v->sums.focus_error += error;
            v->sums.focus_errors++;
        } else {
            v->sums.rest_error += error;
            v->sums.rest_errors++;
            crowd_rest_add(&v->sums.rest, v->game->def.motion, m - 1, pairs[m].stamp,
                           crowd_game_time(v->game), v->shown[m]);
        }
    }
}

static void note_view(CrowdViews *v, int32_t index, bool rest_too)
{
    const CrowdNode *node = &v->game->nodes[v->player[index]];
    FlSession *session = node->player.session;
    FlCrowdStats stats;
    if (fl_session_crowd_stats(session, &stats) != FL_OK || node->stopped) {
        return;
    }
    World *world = v->game->world;
    FlTime local = world_local(world, node->node, world_now(world));
    FlTime time = fl_session_time(session, local);
    Pair *pairs = &v->pairs[(size_t)index * (size_t)v->members];
    for (int32_t m = 1; m < v->members; m++) {
        if (m != node->player.member && (rest_too || pairs[m].watched)) {
            note_pair(v, session, m, &pairs[m], time, rest_too);
        }
    }
    v->sums.wanted += (uint64_t)stats.sources;
    v->sums.view_looks++;
    if (rest_too) {
        note_errors(v, session, pairs, node->player.member, local);
    }
}

// ---------------------------------------------------------------- everybody

static void weigh(CrowdViews *v)
{
    int32_t at = v->step % WINDOW;
    for (int32_t i = 0; i < v->game->def.players; i++) {
        uint64_t *ring = &v->sent[(size_t)i * WINDOW];
        ring[at] = crowd_game_sent(v->game, v->game->nodes[i].node);
        if (v->step >= STEPS_A_SECOND) {
            double bytes = (double)(ring[at] - ring[(at + 1) % WINDOW]);
            v->peak = fmax(v->peak, bytes);
            v->peak_share = fmax(v->peak_share, bytes / v->game->nodes[i].limit);
        }
    }
}

static FlTime look(void *ctx, World *world, FlTime now)
{
    (void)world;
    CrowdViews *v = (CrowdViews *)ctx;
    bool rest_too = v->step % REST_STEPS == 0;
    weigh(v);
    if (rest_too) {
        FlTime time = crowd_game_time(v->game);
        for (int32_t m = 1; m < v->members; m++) {
            v->truth[m] = crowd_motion_at(v->game->def.motion, m - 1, time).position;
        }
    }
    for (int32_t i = 0; i < v->views; i++) {
        note_view(v, i, rest_too);
    }
    v->step++;
    return now + STEP;
}

static uint64_t updates_of(const CrowdGame *game)
{
    uint64_t updates = 0;
    for (int32_t i = 0; i < game->def.players; i++) {
        FlCrowdStats stats = crowd_game_stats(game, i);
        updates += stats.batch_updates + stats.streamed;
    }
    return updates;
}

// ---------------------------------------------------------------- making one

static bool reserve(CrowdViews *v)
{
    size_t members = (size_t)v->members;
    v->pairs = (Pair *)calloc((size_t)v->views * members, sizeof *v->pairs);
    v->truth = (FlVec3 *)calloc(members, sizeof *v->truth);
    v->shown = (FlVec3 *)calloc(members, sizeof *v->shown);
    v->sent = (uint64_t *)calloc(members * WINDOW, sizeof *v->sent);
    v->sent_begin = (uint64_t *)calloc(members, sizeof *v->sent_begin);
    return v->pairs != NULL && v->truth != NULL && v->shown != NULL && v->sent != NULL &&
           v->sent_begin != NULL;
}

LabStatus crowd_views_create(CrowdGame *game, CrowdViews **out, LabError *error)
{
    *out = NULL;
    int32_t players = game->def.players;
    CrowdViews *v = (CrowdViews *)calloc(1, sizeof *v);
    if (v == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    v->game = game;
    v->members = players + 1;
    v->views = players < CROWD_VIEWS ? players : CROWD_VIEWS;
    v->begin = world_now(game->world);
    for (int32_t i = 0; i < v->views; i++) {
        v->player[i] = (int32_t)((int64_t)i * players / v->views);
    }
    bool made = reserve(v);
    for (int32_t i = 0; made && i <= players; i++) {
        v->sent_begin[i] = crowd_game_sent(game, i);
    }
    v->updates_begin = updates_of(game);
    if (!made || world_actor_add(game->world, WORLD_LOOKER, v->begin, look, v) != FL_OK) {
        crowd_views_destroy(v);
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    *out = v;
    return LAB_OK;
}

void crowd_views_destroy(CrowdViews *v)
{
    if (v != NULL) {
        free(v->pairs);
        free(v->truth);
        free(v->shown);
        free(v->sent);
        free(v->sent_begin);
        free(v);
    }
}

// ---------------------------------------------------------------- figures

static void rest_rates(const CrowdViews *v, CrowdFigures *f)
{
    Tally *rates = (Tally *)calloc(1, sizeof *rates);
    double updates = 0.0;
    double seconds = 0.0;
    double least = LEAST_SHARE * v->step / REST_STEPS;
    f->best_effort_hz = (double)NAN;
    f->best_effort_low_hz = (double)NAN;
    if (rates == NULL) {
        return;
    }
    for (int32_t i = 0; i < v->views * v->members; i++) {
        const Pair *pair = &v->pairs[i];
        double time = (pair->rest_looks - 1.0) * fl_span_seconds(REST_STEPS * STEP);
        if (pair->rest_looks < 2) {
            continue;
        }
        updates += pair->rest_updates;
        seconds += time;
        if (pair->rest_looks > least) {
            tally_add(rates, pair->rest_updates / time);
        }
    }
    if (seconds > 0.0) {
        f->best_effort_hz = updates / seconds;
        f->best_effort_low_hz = tally_quantile(rates, 0.01);
    }
    free(rates);
}

static void bytes_of(const CrowdViews *v, CrowdFigures *f)
{
    const CrowdGame *game = v->game;
    double bytes = 0.0;
    double lights = 0.0;
    for (int32_t i = 0; i < game->def.players; i++) {
        int32_t node = game->nodes[i].node;
        bytes += (double)(crowd_game_sent(game, node) - v->sent_begin[node]);
        lights += crowd_game_stats(game, i).lights;
    }
    f->mean_kbps = 8e-3 * bytes / (f->seconds * game->def.players);
    f->lobby_kbps = 8e-3 * (double)(crowd_game_sent(game, 0) - v->sent_begin[0]) / f->seconds;
    f->lights = lights / game->def.players;
    f->update_bytes = bytes / (double)(updates_of(game) - v->updates_begin);
    f->peak_kbps = 8e-3 * v->peak;
    f->peak_share = v->peak_share;
}

CrowdFigures crowd_views_figures(CrowdViews *v)
{
    const Sums *sums = &v->sums;
    CrowdFigures f = {.seconds = fl_span_seconds(world_now(v->game->world) - v->begin)};
    f.focus_hz = (double)sums->focus_updates / (double)sums->focus_looks * STEPS_A_SECOND;
    f.focus_size = (double)sums->focus_looks / (double)sums->view_looks;
    f.focus_wanted = (double)sums->wanted / (double)sums->view_looks;
    f.focus_stay_s = (double)sums->focus_looks / (double)sums->focus_entries / STEPS_A_SECOND;
    rest_rates(v, &f);
    f.age_p50_ms = tally_quantile(&sums->rest_age, 0.5);
    f.age_p95_ms = tally_quantile(&sums->rest_age, 0.95);
    f.focus_age_p50_ms = tally_quantile(&sums->focus_age, 0.5);
    f.focus_age_p95_ms = tally_quantile(&sums->focus_age, 0.95);
    f.error_focus = sums->focus_error / (double)sums->focus_errors;
    f.error_rest = sums->rest_error / (double)sums->rest_errors;
    f.rest = crowd_rest_figures(&sums->rest);
    bytes_of(v, &f);
    return f;
}
