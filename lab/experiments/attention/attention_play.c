// One match in one mode: what its players see against what is.
//
// A tick's state is that of the moment. At every tick, after all have moved, the looker compares.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/experiments/attention/attention.h"
#include "lab/experiments/attention/attention_verdicts.h"
#include "lab/experiments/attention/attention_viewer.h"
#include "lab/figures/jumps.h"
#include "lab/world/play.h"
#include "lab/world/world.h"
#include "play/play.h"

#define TICK_NS (FL_SEC(1) / ARENA_TICK_HZ)
#define SETTLE_TICKS (4 * ARENA_TICK_HZ)

/// One player's view of another, as it was at the last tick.
typedef struct Look {
    Jumps jumps;
    ViewerPair viewer;
    WindowPair window;
    FlVec3 from, pace; ///< When it was last guided: where it was, how fast it went.
    FlTime at;         ///< When that was,
    int32_t since;     ///< and ticks since then.
    bool guided;
} Look;

typedef struct Sums {
    double weighted, attention, attention_focus;
    double focus, rest, facing;
    double guided, reckoned;
    uint64_t focus_count, rest_count, facing_count, guided_count;
    uint64_t unseen;
    double replica_seconds;
    uint64_t frames, focus_set, effort, pairs;
} Sums;

typedef struct Match {
    const AttentionPlay *def;
    ArenaMesh mesh;
    int32_t ticks;
    Look *looks;                     ///< [observer * players + player]
    uint64_t *bytes;                 ///< [node * window + tick % window]: sent so far
    uint64_t *frame_seen;            ///< The last frame counted of each.
    uint64_t bytes_begin, bytes_end; ///< Of all, when looking begins and ends.
    double peak;
    int32_t look_tick;
    Sums sums;
    ViewerSums viewer;
    AttentionVerdicts *verdicts;
} Match;

#define WINDOW (ARENA_TICK_HZ + 1)

// ---------------------------------------------------------------- comparing

static FlVec3 real_position(const ArenaPlayer *p)
{
    return fl_vec3(p->x, p->y, p->z);
}

/// The attention above which a player is one of the few that are looked at.
static double focus_from(const ArenaNode *node)
{
    double top[ATTENTION_FOCUS] = {0};
    for (int32_t i = 0; i < node->view.player_count; i++) {
        double value = i == node->player ? 0.0 : node->seen[i].attention;
        for (int32_t k = 0; k < ATTENTION_FOCUS; k++) {
            if (value > top[k]) {
                double down = top[k];
                top[k] = value;
                value = down;
            }
        }
    }
    return top[ATTENTION_FOCUS - 1];
}

static void compare_error(Sums *sums, double error, double attention, bool focus)
{
    sums->weighted += attention * error;
    sums->attention += attention;
    if (focus) {
        sums->attention_focus += attention;
        sums->focus += error;
        sums->focus_count++;
    } else {
        sums->rest += error;
        sums->rest_count++;
    }
}

// What would dead reckoning have been off, had the same moments told it the truth? That is about
// what can be had of so few updates.
static void compare_guided(Sums *sums, Look *look, const ArenaSeen *seen, const ArenaPlayer *real,
                           double error)
{
    bool guided = seen->mode == FL_GUIDE_FAR;
    if (guided && (!look->guided || seen->guided != look->at)) {
        look->at = seen->guided;
        look->from = real_position(real);
        look->pace = fl_vec3(real->vx, real->vy, 0.0);
        look->since = 0;
    }
    look->guided = guided;
    if (!guided) {
        return;
    }
    double seconds = look->since * fl_span_seconds(TICK_NS);
    FlVec3 reckoned = fl_vec3_add(look->from, fl_vec3_scale(look->pace, seconds));
    sums->guided += error;
    sums->reckoned += fl_vec3_distance(reckoned, real_position(real));
    sums->guided_count++;
    look->since++;
}

static void compare(Match *match, const ArenaNode *node, const ArenaNode *other, double focus,
                    FlTime now)
{
    Look *look = &match->looks[node->player * match->def->players + other->player];
    const ArenaSeen *seen = &node->seen[other->player];
    const ArenaPlayer *real = &other->view.player[other->player];
    const ArenaPlayer *p = &node->view.player[other->player];
    bool both = seen->known && real->alive != 0 && p->alive != 0;
    FlVec3 shown = real_position(p);
    if (!both) {
        match->sums.unseen += real->alive != 0 ? 1 : 0;
        viewer_pause(&look->viewer, &match->viewer);
        look->window.count = 0;
        look->guided = false;
        look->jumps.started = false;
        return;
    }
    Sums *sums = &match->sums;
    double error = fl_vec3_distance(shown, real_position(real));
    bool wanted = seen->attention >= focus && seen->attention > 0.0;
    compare_error(sums, error, seen->attention, wanted);
    compare_guided(sums, look, seen, real, error);
    sums->facing += fabs(fl_angle_wrap(p->yaw - real->yaw));
    sums->facing_count++;
    sums->replica_seconds += fl_span_seconds(TICK_NS);
    (void)jumps_see(&look->jumps, now, shown, seen->life);
    viewer_see(&look->viewer, &match->viewer, node, other, wanted);
    if (match->def->paths != NULL && node->player == 0) {
        paths_see(match->def->paths, match->def->mode, other->player,
                  match->look_tick - SETTLE_TICKS, shown, real_position(real), seen->attention);
    }
    if (match->def->windows != NULL) {
        windows_see(match->def->windows, &look->window, p, real);
    }
}

static void weigh(Match *match, int32_t node)
{
    uint64_t *ring = &match->bytes[(size_t)node * WINDOW];
    int32_t at = match->look_tick % WINDOW;
    ring[at] = arena_mesh_sent_bytes(&match->mesh, node);
    if (match->look_tick >= SETTLE_TICKS) {
        double bits = 8.0 * (double)(ring[at] - ring[(at + 1) % WINDOW]);
        match->peak = bits > match->peak ? bits : match->peak;
    }
}

static void count_frame(Match *match, int32_t node)
{
    FlFocusFrame frame = fl_session_frame(match->mesh.nodes[node].session);
    if (frame.number == match->frame_seen[node]) {
        return;
    }
    match->frame_seen[node] = frame.number;
    match->sums.frames++;
    match->sums.focus_set += (uint64_t)frame.focus_count;
    match->sums.effort += (uint64_t)frame.effort_due;
    match->sums.pairs += (uint64_t)(match->def->players - 1);
}

static FlTime look(void *ctx, World *world, FlTime now)
{
    (void)world;
    Match *match = (Match *)ctx;
    int32_t players = match->def->players;
    for (int32_t i = 0; i < players; i++) {
        weigh(match, i);
        if (match->look_tick < SETTLE_TICKS) {
            continue;
        }
        count_frame(match, i);
        double focus = focus_from(&match->mesh.nodes[i]);
        for (int32_t j = 0; j < players; j++) {
            if (i != j) {
                compare(match, &match->mesh.nodes[i], &match->mesh.nodes[j], focus, now);
            }
        }
    }
    for (int32_t i = 0; i < players; i++) {
        uint64_t bytes = arena_mesh_sent_bytes(&match->mesh, i);
        match->bytes_begin += match->look_tick == SETTLE_TICKS ? bytes : 0;
        match->bytes_end += match->look_tick == match->ticks - 1 ? bytes : 0;
    }
    match->look_tick++;
    return match->look_tick < match->ticks ? now + TICK_NS : FL_FOREVER;
}

// ---------------------------------------------------------------- figures

static double call_bytes(const Match *match)
{
    double bytes = 0.0;
    for (int32_t i = 0; i < match->def->players; i++) {
        FlCallStats stats = fl__call_stats(match->mesh.nodes[i].session);
        bytes += (double)stats.count[FL_CALLS_BYTES_OUT];
    }
    return bytes;
}

static void figures_calls(const Match *match, double all_bytes, AttentionFigures *figures)
{
    double seconds = 0.0;
    double asked = 0.0;
    for (int32_t i = 0; i < match->def->players; i++) {
        const ArenaNodeStats *stats = &match->mesh.nodes[i].stats;
        asked += (double)stats->deeds;
        seconds += stats->hit_seconds;
        figures->hits += (double)stats->hits;
        figures->near.entered += stats->near.entered;
        figures->near.within += stats->near.within;
        figures->near.given_up += stats->near.given_up;
        figures->near.seconds += stats->near.seconds;
        figures->near.count += stats->near.count;
    }
    figures->hit_latency_ms = figures->hits > 0.0 ? 1e3 * seconds / figures->hits : (double)NAN;
    double headers = 2.0 * asked * (figures->update_bytes > 60.0 ? 60.0 : 42.0);
    figures->call_share = (call_bytes(match) + headers) / all_bytes;
    figures->disagreements = (double)attention_verdicts_apart(match->verdicts);
}

static void figures_viewer(const ViewerSums *sums, double minutes, AttentionFigures *figures)
{
    double ticks = (double)sums->ticks;
    double wanted = (double)sums->wanted;
    double settled = (double)sums->settled;
    figures->stalls_per_minute = (double)sums->stalls / minutes;
    figures->standing = (double)sums->stall_ticks / ticks;
    figures->walls_per_minute = (double)sums->walls / minutes;
    figures->facing_target = sums->facing / ticks;
    figures->wanted_served = wanted > 0.0 ? (double)sums->served / wanted : (double)NAN;
    figures->wanted_settled = wanted > 0.0 ? settled / wanted : (double)NAN;
    figures->error_settled = settled > 0.0 ? sums->settled_error / settled : (double)NAN;
    figures->enter_p50 = tally_quantile(&sums->enter, 0.5);
    figures->enter_p95 = tally_quantile(&sums->enter, 0.95);
    double entries = (double)(sums->enter.count + (int64_t)sums->never);
    figures->enter_never = entries > 0.0 ? (double)sums->never / entries : (double)NAN;
}

static void figures_of(const Match *match, AttentionFigures *figures)
{
    const Sums *sums = &match->sums;
    int32_t players = match->def->players;
    double seconds = (match->ticks - SETTLE_TICKS) * fl_span_seconds(TICK_NS);
    double minutes = sums->replica_seconds / 60.0;
    uint64_t jumps = 0;
    uint64_t bytes = 0;
    uint64_t datagrams = 0;
    for (int32_t i = 0; i < players * players; i++) {
        jumps += match->looks[i].jumps.jump_count;
    }
    for (int32_t i = 0; i < players; i++) {
        bytes += arena_mesh_sent_bytes(&match->mesh, i);
        datagrams += world_node_sent(match->mesh.world, i).datagrams;
    }
    double frames = (double)sums->frames;
    figures->focus_size = (double)sums->focus_set / frames;
    double effort_pairs = (double)(sums->pairs - sums->focus_set);
    figures->best_effort_hz =
        effort_pairs > 0.0 ? (double)sums->effort / effort_pairs * ARENA_TICK_HZ : (double)NAN;
    figures->error_focus = sums->focus / (double)sums->focus_count;
    figures->error_rest = sums->rest / (double)sums->rest_count;
    figures->weighted_error = sums->weighted / sums->attention;
    figures->attention_focus = sums->attention_focus / sums->attention;
    figures->facing_error = sums->facing / (double)sums->facing_count;
    double guided = (double)sums->guided_count;
    figures->error_guided = guided > 0.0 ? sums->guided / guided : (double)NAN;
    figures->error_reckoned = guided > 0.0 ? sums->reckoned / guided : (double)NAN;
    figures->unseen = (double)sums->unseen / (double)(sums->unseen + sums->facing_count);
    figures->warps_per_minute = (double)jumps / minutes;
    figures_viewer(&match->viewer, minutes, figures);
    figures->kbps_used =
        8e-3 * (double)(match->bytes_end - match->bytes_begin) / (seconds * (double)players);
    figures->peak_kbps = 1e-3 * match->peak;
    figures->update_bytes = (double)bytes / (double)datagrams;
    figures_calls(match, (double)bytes, figures);
}

// ---------------------------------------------------------------- a run

static const ArenaRow *row_at(void *ctx, int32_t player, int32_t tick)
{
    const AttentionMatch *match = ((const Match *)ctx)->def->match;
    if (player >= match->players || tick >= match->ticks) {
        return NULL;
    }
    int32_t at = tick * match->players + player;
    return match->there[at] ? &match->rows[at] : NULL;
}

static void note_verdict(void *ctx, const ArenaDeed *deed, bool applied, bool decided)
{
    attention_verdicts_note(((Match *)ctx)->verdicts, deed, applied, decided);
}

static ArenaMeshDef mesh_def(Match *match)
{
    const AttentionPlay *def = match->def;
    ArenaMeshDef mesh = {
        .mode = def->mode,
        .map = ARENA_MAP_YARD,
        .players = def->players,
        .kbps = def->kbps,
        .focus_share = FL_FOCUS_SHARE,
        .rtt_ms = def->rtt_ms,
        .top_speed = ARENA_SPEED_BOUND,
        .seed = def->seed,
        .sealed = def->sealed,
        .ticks = match->ticks,
        .verdict_fn = note_verdict,
        .ctx = match,
    };
    if (def->match != NULL) {
        mesh.map = ARENA_MAP_PLAIN;
        mesh.top_speed = def->match->top_speed;
        mesh.row_fn = row_at;
    }
    return mesh;
}

static LabStatus run_match(Match *match, LabError *error)
{
    ArenaMeshDef def = mesh_def(match);
    LabStatus status = arena_mesh_create(&match->mesh, &def, 1, error);
    if (status != LAB_OK) {
        return status;
    }
    for (int32_t i = 0; i < def.players * def.players; i++) {
        jumps_init(&match->looks[i].jumps, def.top_speed);
    }
    World *world = match->mesh.world;
    FlResult result = world_actor_add(world, WORLD_LOOKER, match->mesh.begin, look, match);
    if (result != FL_OK) {
        return lab_fail_result(error, result, "starting the game");
    }
    // And a second more, in which what was asked is answered.
    world_run(world, match->mesh.begin + match->ticks * TICK_NS + FL_SEC(1));
    return play_check(world, error);
}

LabStatus attention_play(const AttentionPlay *play, AttentionFigures *figures, LabError *error)
{
    memset(figures, 0, sizeof *figures);
    size_t players = (size_t)play->players;
    Match match = {.def = play}; // some 130 KB
    match.ticks = SETTLE_TICKS + (int32_t)(play->seconds * ARENA_TICK_HZ);
    match.looks = (Look *)calloc(players * players, sizeof *match.looks);
    match.bytes = (uint64_t *)calloc(players * WINDOW, sizeof *match.bytes);
    match.frame_seen = (uint64_t *)calloc(players, sizeof *match.frame_seen);
    match.verdicts = attention_verdicts_create();
    bool made = match.verdicts != NULL && match.looks != NULL && match.bytes != NULL &&
                match.frame_seen != NULL;
    LabStatus status =
        made ? run_match(&match, error) : lab_fail(error, LAB_FAILED, "out of memory");
    if (status == LAB_OK) {
        FL_ASSERT(match.looks != NULL && match.mesh.nodes != NULL);
        figures_of(&match, figures);
    }
    arena_mesh_destroy(&match.mesh);
    free(match.looks);
    free(match.bytes);
    free(match.frame_seen);
    attention_verdicts_destroy(match.verdicts);
    return status;
}
