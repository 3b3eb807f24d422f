// One match in one mode: the world, its nodes, and what they see against what is.
//
// All nodes tick at the same moments, a tick's state being that of the moment; what is asked of a
// node is answered every 10 ms, as a program that waits for datagrams would. At every tick, after
// all have moved, the looker compares.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/attention.h"
#include "lab/play.h"
#include "lab/world.h"

#define TICK_NS (FL_SEC(1) / ARENA_TICK_HZ)
#define SERVES 5 // a tick
#define JOIN_LIMIT FL_SEC(60)
#define SETTLE_TICKS (4 * ARENA_TICK_HZ)
#define STALL_TICKS 4
#define STANDS 0.5 // units in a tick
#define MOVES 5.0

/// What our datagram with one update takes on the wire, so that a published one takes more.
#define OUR_PLAIN_BYTES 58
#define OUR_SEALED_BYTES 76

const char *attention_mode_name(AttentionMode mode)
{
    static const char *const names[] = {
#define ROW(name, word) word,
        ATTENTION_MODE_TABLE(ROW)
#undef ROW
    };
    return names[mode];
}

/// One player's view of another, as it was at the last tick.
typedef struct Look {
    FlJumps jumps;
    FlVec3 shown, real;
    int32_t standing; ///< Ticks.
    bool known;
} Look;

typedef struct Sums {
    double weighted, attention;
    double focus, rest, facing;
    uint64_t focus_count, rest_count, facing_count;
    uint64_t stalls;
    double replica_seconds;
    uint64_t frames, focus_set, effort, pairs;
} Sums;

typedef struct Match Match;

typedef struct Driver {
    Match *match;
    int32_t node;
    int32_t tick, part;
} Driver;

struct Match {
    const AttentionPlay *def;
    ArenaGame *game;
    World *world;
    FlTime begin;
    int32_t ticks;
    ArenaNode *nodes;
    Driver *drivers;
    Look *looks;          ///< [observer * players + player]
    uint64_t *bytes;      ///< [node * window + tick % window]: sent so far
    uint64_t *frame_seen; ///< The last frame counted of each.
    uint64_t bytes_begin;
    double peak;
    int32_t overhead;
    int32_t look_tick;
    Sums sums;
};

#define WINDOW (ARENA_TICK_HZ + 1)

// ---------------------------------------------------------------- the world

static bool publishes(const AttentionPlay *def)
{
    return def->mode == ATTENTION_DONNY || def->mode == ATTENTION_LOBW;
}

static double top_speed(const AttentionPlay *def)
{
    return def->match != NULL ? def->match->top_speed : ARENA_SPEED_BOUND;
}

static FlSessionDef session_def(const Match *match)
{
    const AttentionPlay *def = match->def;
    FlSessionDef session = arena_node_session(match->game, def->players);
    session.link.overhead_bytes = match->overhead;
    session.upload_bytes_s = def->mode == ATTENTION_HIBW ? 0.0 : def->kbps * 125.0;
    session.guide_from_ns = def->mode == ATTENTION_DONNY ? 0 : session.guide_from_ns;
    if (def->mode == ATTENTION_OURS) { // corrections glide, no faster than players move
        session.show.convergence = FL_CONVERGENCE_SMOOTH;
        session.show.smooth_ns = FL_MS(100);
        session.show.speed_limit = top_speed(def);
        session.show.catch_up = ARENA_RUN_SPEED;
        session.show.snap_distance = INFINITY;
    }
    return session;
}

static FlResult nodes_add(Match *match)
{
    FlImpairSettings way = play_way((FlTime)(match->def->rtt_ms * 5e5), 0, 0.0);
    FlResult result = FL_OK;
    for (int32_t i = 0; i < match->def->players && result == FL_OK; i++) {
        WorldNodeDef node = world_node_def_default();
        node.session = session_def(match);
        node.session.role = i == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
        int32_t index;
        result = world_node_add(match->world, &node, &index);
        for (int32_t j = 0; j < i && result == FL_OK; j++) {
            result = world_ways_set(match->world, j, i, &way);
        }
    }
    return result;
}

static bool all_met(const Match *match)
{
    if (!world_all_in(match->world)) {
        return false;
    }
    for (int32_t i = 0; i < match->def->players; i++) {
        const FlSession *session = world_session(match->world, i);
        for (FlPeerId id = fl_peer_next(session, (FlPeerId){0}); id.index1 != 0;
             id = fl_peer_next(session, id)) {
            FlPeerStatus status;
            if (fl_peer_status(session, id, &status) != FL_OK || !status.direct) {
                return false;
            }
        }
        if (fl_peer_count(session) + 1 < match->def->players) {
            return false;
        }
    }
    return true;
}

static ArenaNodeDef node_def(const Match *match, int32_t i)
{
    const AttentionPlay *def = match->def;
    bool guided = def->mode == ATTENTION_DONNY || def->mode == ATTENTION_OURS;
    ArenaNodeDef node = {
        .game = match->game,
        .send = def->mode == ATTENTION_OURS ? fl_send_focus_equal() : fl_send_focus(),
        .trigger = {.distance = 0.125, .angle = 0.01, .silence_ns = TICK_NS},
        .guided = guided,
        .attentive = guided,
        .recorded = def->match != NULL,
        .run_speed = ARENA_RUN_SPEED,
        .seed = def->seed,
        .character = i % ARENA_CHARACTER_COUNT,
        .skill = 1 + i % ARENA_SKILL_MAX,
    };
    if (def->mode == ATTENTION_OURS) { // what is said is said because it matters
        node.trigger = (FlTriggerDef){.distance = 4.0, .angle = 0.15, .silence_ns = FL_SEC(1)};
    }
    return node;
}

// ---------------------------------------------------------------- drivers

static const ArenaRow *row_at(const Match *match, int32_t player, int32_t tick)
{
    const AttentionMatch *recorded = match->def->match;
    if (recorded == NULL || player >= recorded->players || tick >= recorded->ticks) {
        return NULL;
    }
    int32_t at = tick * recorded->players + player;
    return recorded->there[at] ? &recorded->rows[at] : NULL;
}

static FlTime drive(void *ctx, World *world, FlTime now)
{
    Driver *driver = (Driver *)ctx;
    Match *match = driver->match;
    ArenaNode *node = &match->nodes[driver->node];
    FlTime local = world_local(world, driver->node, now);
    if (driver->part == 0 && driver->tick < match->ticks) {
        const ArenaRow *row = row_at(match, node->player, driver->tick);
        if (node->def.recorded && row == NULL) {
            node->view.player[node->player].alive = 0;
            node->view.player[node->player].health = 0;
        }
        arena_node_step(node, row, local);
        driver->tick++;
    } else {
        arena_node_serve(node, local);
    }
    world_touch(world, driver->node);
    driver->part = (driver->part + 1) % SERVES;
    return now + TICK_NS / SERVES;
}

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
        sums->focus += error;
        sums->focus_count++;
    } else {
        sums->rest += error;
        sums->rest_count++;
    }
}

static void compare_stall(Sums *sums, Look *look, FlVec3 shown, FlVec3 real)
{
    bool stands = look->known && fl_vec3_distance(shown, look->shown) < STANDS &&
                  fl_vec3_distance(real, look->real) > MOVES;
    look->standing = stands ? look->standing + 1 : 0;
    sums->stalls += look->standing == STALL_TICKS ? 1 : 0;
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
        look->known = false;
        look->standing = 0;
        look->jumps.started = false;
        return;
    }
    Sums *sums = &match->sums;
    compare_error(sums, fl_vec3_distance(shown, real_position(real)), seen->attention,
                  seen->attention >= focus && seen->attention > 0.0);
    sums->facing += fabs(fl_angle_wrap(p->yaw - real->yaw));
    sums->facing_count++;
    sums->replica_seconds += fl_span_seconds(TICK_NS);
    (void)fl_jumps_see(&look->jumps, now, shown, seen->life);
    compare_stall(sums, look, shown, real_position(real));
    look->shown = shown;
    look->real = real_position(real);
    look->known = true;
}

static uint64_t sent_bytes(const Match *match, int32_t node)
{
    WorldSent sent = world_node_sent(match->world, node);
    return sent.bytes + sent.datagrams * (uint64_t)match->overhead;
}

static void weigh(Match *match, int32_t node)
{
    uint64_t *ring = &match->bytes[(size_t)node * WINDOW];
    int32_t at = match->look_tick % WINDOW;
    ring[at] = sent_bytes(match, node);
    if (match->look_tick >= SETTLE_TICKS) {
        double bits = 8.0 * (double)(ring[at] - ring[(at + 1) % WINDOW]);
        match->peak = bits > match->peak ? bits : match->peak;
    }
}

static void count_frame(Match *match, int32_t node)
{
    FlFocusFrame frame = fl_session_frame(match->nodes[node].session);
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
        double focus = focus_from(&match->nodes[i]);
        for (int32_t j = 0; j < players; j++) {
            if (i != j) {
                compare(match, &match->nodes[i], &match->nodes[j], focus, now);
            }
        }
    }
    if (match->look_tick == SETTLE_TICKS) {
        for (int32_t i = 0; i < players; i++) {
            match->bytes_begin += sent_bytes(match, i);
        }
    }
    match->look_tick++;
    return match->look_tick < match->ticks ? now + TICK_NS : FL_FOREVER;
}

// ---------------------------------------------------------------- figures

typedef struct CallSums {
    double bytes, applied_there, messages;
} CallSums;

static CallSums calls_of(const Match *match)
{
    CallSums sums = {0};
    for (int32_t i = 0; i < match->def->players; i++) {
        FlCallStats stats = fl_call_stats(match->nodes[i].session);
        sums.bytes += (double)stats.count[FL_CALLS_BYTES_OUT];
        sums.applied_there += (double)stats.count[FL_CALLS_DECIDED_APPLIED];
    }
    return sums;
}

static void figures_calls(const Match *match, double all_bytes, AttentionFigures *figures)
{
    CallSums calls = calls_of(match);
    double applied = 0.0;
    double seconds = 0.0;
    double asked = 0.0;
    for (int32_t i = 0; i < match->def->players; i++) {
        const ArenaNodeStats *stats = &match->nodes[i].stats;
        applied += (double)stats->applied;
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
    figures->call_share = (calls.bytes + headers) / all_bytes;
    figures->disagreements = fabs(calls.applied_there - applied);
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
        bytes += sent_bytes(match, i);
        datagrams += world_node_sent(match->world, i).datagrams;
    }
    double frames = (double)sums->frames;
    figures->focus_size = (double)sums->focus_set / frames;
    double effort_pairs = (double)(sums->pairs - sums->focus_set);
    figures->best_effort_hz =
        effort_pairs > 0.0 ? (double)sums->effort / effort_pairs * ARENA_TICK_HZ : (double)NAN;
    figures->error_focus = sums->focus / (double)sums->focus_count;
    figures->error_rest = sums->rest / (double)sums->rest_count;
    figures->weighted_error = sums->weighted / sums->attention;
    figures->facing_error = sums->facing / (double)sums->facing_count;
    figures->warps_per_minute = (double)jumps / minutes;
    figures->stalls_per_minute = (double)sums->stalls / minutes;
    figures->kbps_used = 8e-3 * (double)(bytes - match->bytes_begin) / (seconds * (double)players);
    figures->peak_kbps = 1e-3 * match->peak;
    figures->update_bytes = (double)bytes / (double)datagrams;
    figures_calls(match, (double)bytes, figures);
}

// ---------------------------------------------------------------- a run

static LabStatus start(Match *match, LabError *error)
{
    const AttentionPlay *def = match->def;
    for (FlTime t = FL_SEC(1); t <= JOIN_LIMIT && !all_met(match); t += FL_SEC(1)) {
        world_run(match->world, t);
    }
    if (!all_met(match)) {
        return lab_fail(error, LAB_FAILED, "%s: the players do not reach each other",
                        attention_mode_name(def->mode));
    }
    match->begin = world_now(match->world) + FL_SEC(1);
    FlResult result = FL_OK;
    for (int32_t i = 0; i < def->players && result == FL_OK; i++) {
        ArenaNodeDef node = node_def(match, i);
        result = arena_node_start(&match->nodes[i], &node, world_session(match->world, i));
        match->drivers[i] = (Driver){match, i, 0, 0};
        result = result == FL_OK ? world_actor_add(match->world, WORLD_MOVER, match->begin, drive,
                                                   &match->drivers[i])
                                 : result;
    }
    for (int32_t i = 0; i < def->players * def->players; i++) {
        fl_jumps_init(&match->looks[i].jumps, top_speed(def));
    }
    result = result == FL_OK
                 ? world_actor_add(match->world, WORLD_LOOKER, match->begin, look, match)
                 : result;
    return result == FL_OK ? LAB_OK : lab_fail_result(error, result, "starting the game");
}

static LabStatus run_match(Match *match, LabError *error)
{
    const AttentionPlay *def = match->def;
    ArenaDef arena = arena_def_default();
    arena.map = def->match != NULL ? ARENA_MAP_PLAIN : ARENA_MAP_YARD;
    arena.player_count = def->players;
    arena.seed = def->seed;
    WorldDef world = world_def_default();
    world.seed = def->seed;
    world.sealed = def->sealed;
    world.node_capacity = def->players;
    world.actor_capacity = def->players + 1;
    world.flight_capacity = 16384;
    FlResult result = arena_create(&arena, &match->game);
    result = result == FL_OK ? world_create(&world, &match->world) : result;
    result = result == FL_OK ? nodes_add(match) : result;
    if (result != FL_OK) {
        return lab_fail_result(error, result, "setting up the world");
    }
    LabStatus status = start(match, error);
    if (status == LAB_OK) {
        // and a second more, in which what was asked is answered
        world_run(match->world, match->begin + match->ticks * TICK_NS + FL_SEC(1));
        status = play_check(match->world, error);
    }
    return status;
}

LabStatus attention_play(const AttentionPlay *play, AttentionFigures *figures, LabError *error)
{
    memset(figures, 0, sizeof *figures);
    size_t players = (size_t)play->players;
    int32_t ours = play->sealed ? OUR_SEALED_BYTES : OUR_PLAIN_BYTES;
    Match match = {.def = play, .overhead = 28};
    match.overhead += publishes(play) ? ATTENTION_WIRE_BYTES - ours : 0;
    match.ticks = SETTLE_TICKS + (int32_t)(play->seconds * ARENA_TICK_HZ);
    match.nodes = (ArenaNode *)calloc(players, sizeof *match.nodes);
    match.drivers = (Driver *)calloc(players, sizeof *match.drivers);
    match.looks = (Look *)calloc(players * players, sizeof *match.looks);
    match.bytes = (uint64_t *)calloc(players * WINDOW, sizeof *match.bytes);
    match.frame_seen = (uint64_t *)calloc(players, sizeof *match.frame_seen);
    bool made = match.nodes != NULL && match.drivers != NULL && match.looks != NULL &&
                match.bytes != NULL && match.frame_seen != NULL;
    LabStatus status =
        made ? run_match(&match, error) : lab_fail(error, LAB_FAILED, "out of memory");
    if (status == LAB_OK) {
        figures_of(&match, figures);
    }
    for (size_t i = 0; made && i < players; i++) {
        arena_node_stop(&match.nodes[i]);
    }
    world_destroy(match.world);
    arena_destroy(match.game);
    free(match.nodes);
    free(match.drivers);
    free(match.looks);
    free(match.bytes);
    free(match.frame_seen);
    return status;
}
