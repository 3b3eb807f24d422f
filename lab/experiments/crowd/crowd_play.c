// One crowd around one player, in virtual time.
//
// Every 10 ms everybody who looks at the one is asked what it knows of it. Who looks is who has it
// among the four whom it looks at most; one who does so already stays with it a little longer.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/experiments/crowd/crowd.h"
#include "lab/world/play.h"

#define STEP FL_MS(10)
#define STEPS_A_SECOND 100
#define FRAME_HZ 20.0
#define FOCUS 4
#define IDOL 1 // member: who came first
#define STAY 1.25
#define AFTER_SECONDS 4.0
#define FORMING FL_SEC(8)
#define STREAM_UPLOAD 7200u
#define IDOL_KBPS 128.0

/// What a player knows of the one.
typedef struct Watcher {
    FlTime stamp;
    FlTime heard; ///< World time of the last update.
    FlTime gap;   ///< The longest without any since the last mishap.
    bool behind;  ///< Served by who fell out.
    bool looks;
} Watcher;

typedef struct Watch {
    CrowdGame *game;
    Watcher *watchers; ///< [player]
    bool counting;
    uint64_t updates, looks, steps, hops;
    Tally age;
} Watch;

const char *crowd_case_name(CrowdCase which)
{
#define CROWD_CASE_ROW(name, word, adds) word,
    static const char *const words[CROWD_CASES] = {CROWD_CASE_TABLE(CROWD_CASE_ROW)};
#undef CROWD_CASE_ROW
    FL_ASSERT(which >= 0 && which < CROWD_CASES);
    return words[which];
}

static double flag_adds(CrowdCase which)
{
#define CROWD_CASE_ROW(name, word, adds) adds,
    static const double values[CROWD_CASES] = {CROWD_CASE_TABLE(CROWD_CASE_ROW)};
#undef CROWD_CASE_ROW
    return values[which];
}

double crowd_upload_kbps(uint64_t seed, int32_t player)
{
    static const double classes[] = {64.0, 128.0, 256.0, 1024.0};
    return player == 0 ? IDOL_KBPS
                       : classes[fl_random_at(seed, STREAM_UPLOAD, (uint64_t)player) % 4];
}

// ---------------------------------------------------------------- watching

/// Has this player the one among the four whom it looks at most?
static bool wants(const Watch *watch, const CrowdNode *node, bool already)
{
    double value = crowd_player_attention(&node->player, IDOL) * (already ? STAY : 1.0);
    int32_t more = 0;
    for (int32_t m = IDOL + 1; m <= watch->game->def.players && more < FOCUS; m++) {
        bool other = m != node->player.member;
        more += other && crowd_player_attention(&node->player, m) > value ? 1 : 0;
    }
    return more < FOCUS && value > 0.0;
}

static void note(Watch *watch, int32_t player, FlTime now)
{
    const CrowdNode *node = &watch->game->nodes[player];
    Watcher *watcher = &watch->watchers[player];
    World *world = watch->game->world;
    FlEntityStatus view;
    bool before = watcher->looks;
    watcher->looks = wants(watch, node, before);
    if (!watcher->looks || !crowd_player_view(node->player.session, IDOL, &view)) {
        return;
    }
    bool fresh = view.newest != watcher->stamp;
    if (fresh || !before) {
        watcher->heard = now;
    }
    FlTime gap = now - watcher->heard;
    watcher->gap = gap > watcher->gap ? gap : watcher->gap;
    watcher->stamp = view.newest;
    if (watch->counting) {
        FlTime local = world_local(world, node->node, now);
        FlTime age = fl_span(fl_session_time(node->player.session, local), view.newest);
        watch->updates += fresh && before ? 1 : 0;
        watch->hops += (uint64_t)view.hops;
        watch->looks++;
        tally_add(&watch->age, age > 0 ? fl_span_seconds(age) * 1e3 : 0.0);
    }
}

static FlTime look(void *ctx, World *world, FlTime now)
{
    (void)world;
    Watch *watch = (Watch *)ctx;
    for (int32_t i = 0; i < watch->game->def.players; i++) {
        const CrowdNode *node = &watch->game->nodes[i];
        if (node->player.member != IDOL && !node->stopped) {
            note(watch, i, now);
        }
    }
    watch->steps += watch->counting ? 1 : 0;
    return now + STEP;
}

// ---------------------------------------------------------------- mishaps

/// The player that passes the one's updates on to most; -1: nobody does.
static int32_t busiest(Watch *watch, int32_t *behind)
{
    int32_t best = -1;
    *behind = 0;
    for (int32_t f = 0; f < watch->game->def.players; f++) {
        int32_t member = watch->game->nodes[f].player.member;
        int32_t count = 0;
        for (int32_t i = 0; i < watch->game->def.players; i++) {
            FlEntityStatus view;
            const CrowdNode *node = &watch->game->nodes[i];
            count += !node->stopped && watch->watchers[i].looks &&
                             crowd_player_view(node->player.session, IDOL, &view) && view.watched &&
                             crowd_player_via(&view) == member
                         ? 1
                         : 0;
        }
        bool fine = member != IDOL && !watch->game->nodes[f].stopped && count > *behind;
        best = fine ? f : best;
        *behind = fine ? count : *behind;
    }
    return best;
}

/// Lets it happen, and answers the longest silence at anybody who looks on.
static FlResult mishap(Watch *watch, bool leaves, double *recovery_ms, int32_t *cut_off)
{
    int32_t behind;
    int32_t who = busiest(watch, &behind);
    *recovery_ms = (double)NAN;
    if (who < 0) {
        return FL_OK;
    }
    *cut_off += behind;
    int32_t member = watch->game->nodes[who].player.member;
    FlTime now = world_now(watch->game->world);
    for (int32_t i = 0; i < watch->game->def.players; i++) {
        FlEntityStatus view;
        const FlSession *session = watch->game->nodes[i].player.session;
        Watcher *watcher = &watch->watchers[i];
        watcher->behind = i != who && watcher->looks && crowd_player_view(session, IDOL, &view) &&
                          crowd_player_via(&view) == member;
        watcher->gap = 0;
    }
    FlResult result =
        leaves ? crowd_game_leave(watch->game, who) : crowd_game_silence(watch->game, who);
    world_run(watch->game->world, now + (FlTime)(AFTER_SECONDS * 1e9));
    for (int32_t i = 0; i < watch->game->def.players; i++) {
        if (watch->watchers[i].behind && watch->watchers[i].looks) {
            *recovery_ms = fmax(*recovery_ms, fl_span_seconds(watch->watchers[i].gap) * 1e3);
        }
    }
    watch->game->nodes[who].stopped = true; // nobody asks what it sees
    return result;
}

// ---------------------------------------------------------------- a run

static LabStatus measure(Watch *watch, const CrowdPlay *play, CrowdResult *result, LabError *error)
{
    CrowdGame *game = watch->game;
    CrowdViews *views;
    LabStatus status = crowd_views_create(game, &views, error);
    if (status != LAB_OK) {
        return status;
    }
    world_run(game->world, world_now(game->world) + FORMING); // nobody knew at first whom to ask
    FlTime begin = world_now(game->world);
    FlResult added = world_actor_add(game->world, WORLD_LOOKER, begin, look, watch);
    world_run(game->world, begin + FL_MS(100));
    watch->counting = true;
    world_run(game->world, begin + (FlTime)(play->seconds * 1e9));
    watch->counting = false;
    CrowdFigures figures = crowd_views_figures(views);
    double seconds = (double)watch->looks / STEPS_A_SECOND;
    result->watchers = (double)watch->looks / (double)watch->steps;
    result->delivered_share = (double)watch->updates / (seconds * FRAME_HZ);
    result->hops = (double)watch->hops / (double)watch->looks;
    result->age_p50_ms = tally_quantile(&watch->age, 0.5);
    result->age_p95_ms = tally_quantile(&watch->age, 0.95);
    result->max_upload_kbps = figures.peak_kbps;
    result->upload_share = figures.peak_share;
    result->idol_kbps = game->nodes[game->player_of[IDOL]].limit / 125.0;
    result->recovery_silent_ms = (double)NAN;
    result->recovery_leave_ms = (double)NAN;
    if (!play->overlay) {
        crowd_views_destroy(views);
        return added == FL_OK ? LAB_OK : lab_fail_result(error, added, "watching the crowd");
    }
    added = added == FL_OK ? mishap(watch, false, &result->recovery_silent_ms, &result->cut_off)
                           : added;
    added =
        added == FL_OK ? mishap(watch, true, &result->recovery_leave_ms, &result->cut_off) : added;
    crowd_views_destroy(views);
    return added == FL_OK ? LAB_OK : lab_fail_result(error, added, "watching the crowd");
}

static double kbps_of(void *ctx, int32_t player)
{
    const CrowdPlay *play = (const CrowdPlay *)ctx;
    return crowd_upload_kbps(play->seed, player);
}

LabStatus crowd_play(const CrowdPlay *play, CrowdResult *result, LabError *error)
{
    memset(result, 0, sizeof *result);
    CrowdGameDef def = crowd_game_def_default();
    CrowdPlay ctx = *play;
    CrowdGame game;
    def.players = play->players;
    def.motion = play->motion;
    def.seed = play->seed;
    def.sealed = play->sealed;
    def.kbps_fn = kbps_of;
    def.ctx = &ctx;
    def.idol = flag_adds(play->which);
    def.crowd.extra_ns = play->overlay ? def.crowd.extra_ns : 0;
    Watch *watch = (Watch *)calloc(1, sizeof *watch);
    Watcher *watchers = (Watcher *)calloc((size_t)play->players, sizeof *watchers);
    LabStatus status = lab_fail(error, LAB_FAILED, "out of memory");
    if (watch != NULL && watchers != NULL) {
        watch->game = &game;
        watch->watchers = watchers;
        status = crowd_game_create(&game, &def, 2, error);
        status = status == LAB_OK ? measure(watch, play, result, error) : status;
        crowd_game_destroy(&game);
    }
    free(watch);
    free(watchers);
    return status;
}
