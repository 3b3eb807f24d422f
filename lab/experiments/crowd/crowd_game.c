// The world of a crowd: a lobby, players who come in one after another, and the frames of all.
#include "lab/experiments/crowd/crowd_game.h"

#include <stdlib.h>
#include <string.h>

#include "crowd/engine.h"
#include "lab/world/play.h"

#define JOIN_FIRST FL_MS(500)       // the first is in before the second comes
#define JOIN_EVERY FL_MS(4)         // a thousand come within four seconds
#define JOIN_EVERY_DIRECT FL_MS(40) // where everybody has to meet everybody
#define JOIN_LIMIT FL_SEC(120)
#define SETTLE FL_SEC(4)   // looks have found their light connections by then
#define REST_NS FL_MS(980) // so that with what gets lost it is once a second
#define CLOCKS 64          // different offsets of clocks
#define SENDER_FOCUS_MOST 8
#define CHOOSE_FRAMES 5 // between two choices of whom to serve
#define STAY 1.25f
#define DRIFT_PPM 40.0

CrowdGameDef crowd_game_def_default(void)
{
    CrowdGameDef def = {
        .players = 32,
        .crowd = fl__crowd_def_default(),
        .kbps = 108.0,
        .overhead_bytes = CROWD_HEADER_BYTES,
        .way = play_way(FL_MS(10), FL_MS(2), 0.01),
        .side_ns = FL_MS(32),
        .seed = 1,
        .loop_ns = FL_MS(10),
        .sealed = true,
    };
    def.crowd.batch_ns = REST_NS;
    def.crowd.detail_capacity = 6; // an avatar, and four that are watched
    def.crowd.guide_capacity = 0;  // no member guides
    return def;
}

// ---------------------------------------------------------------- sessions

static double limit_of(const CrowdGameDef *def, int32_t player)
{
    return 125.0 * (def->kbps_fn != NULL ? def->kbps_fn(def->ctx, player) : def->kbps);
}

FlSessionDef crowd_game_session(const CrowdGameDef *def)
{
    FlSessionDef session = fl_session_def_default();
    session.tuning.show.convergence = FL_CONVERGENCE_AT_ONCE; // measured as placed
    session.topology = FL_TOPOLOGY_CROWD;
    session.world = crowd_motion_world(def->motion, def->players);
    session.peer_capacity = def->players;
    session.tuning.direct_capacity = 1; // the lobby; everybody else by light connections
    session.entity_capacity = def->players + 1;
    session.tuning.item_capacity = 16;
    session.tuning.path_capacity = 8;
    session.tuning.link.overhead_bytes = def->overhead_bytes;
    session.tuning.link.ack_delay_ns = FL_SEC(3);
    session.join_timeout_ns = JOIN_LIMIT;
    session.tuning.crowd = def->crowd;
    return session;
}

static FlResult add_node(CrowdGame *game, int32_t player)
{
    const CrowdGameDef *def = &game->def;
    WorldNodeDef node = world_node_def_default();
    int32_t index;
    node.session = crowd_game_session(def);
    node.session.role = player < 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    node.session.upload_bytes_s = player < 0 ? 0.0 : limit_of(def, player);
    node.clock_offset = FL_SEC(100) * ((player + 1) * 7 % CLOCKS);
    node.clock_drift_ppm = DRIFT_PPM * (2.0 * ((player + 1) * 5 % CLOCKS) / CLOCKS - 1.0);
    FlResult result = world_node_add(game->world, &node, &index);
    size_t row = (size_t)(player < 0 ? 0 : player) * (size_t)(def->players + 1);
    if (result == FL_OK && player >= 0) {
        game->nodes[player] = (CrowdNode){
            .game = game,
            .player = {.motion = def->motion,
                       .session = world_session(game->world, index),
                       .member = -1,
                       .looks = &game->looks[row],
                       .allowed = game->allowed != NULL ? &game->allowed[row] : NULL,
                       .everybody = def->everybody,
                       .idol = def->idol},
            .node = index,
            .limit = limit_of(def, player),
        };
    }
    return result;
}

// ---------------------------------------------------------------- frames

/// Who may look at this one: those who look at it most. One who does already counts for more.
static void choose_watchers(CrowdGame *game, int32_t member)
{
    int32_t best[SENDER_FOCUS_MOST];
    float worth[SENDER_FOCUS_MOST];
    int32_t count = 0;
    size_t stride = (size_t)game->def.players + 1;
    for (int32_t i = 0; i < game->def.players; i++) {
        size_t at = (size_t)i * stride + (size_t)member;
        float value = game->looks[at] * (game->allowed[at] ? STAY : 1.0f);
        bool other = game->nodes[i].player.member != member;
        game->allowed[at] = false;
        int32_t place = count;
        while (other && place > 0 && worth[place - 1] < value) {
            if (place < game->def.sender_focus) {
                worth[place] = worth[place - 1];
                best[place] = best[place - 1];
            }
            place--;
        }
        if (other && place < game->def.sender_focus) {
            worth[place] = value;
            best[place] = i;
            count += count < game->def.sender_focus ? 1 : 0;
        }
    }
    for (int32_t k = 0; k < count; k++) {
        game->allowed[(size_t)best[k] * stride + (size_t)member] = true;
    }
}

static FlTime act(void *ctx, World *world, FlTime now)
{
    CrowdNode *node = (CrowdNode *)ctx;
    if (node->stopped) {
        return FL_FOREVER;
    }
    bool known = node->player.member >= 0;
    (void)crowd_player_frame(&node->player, &node->game->eyes, world_local(world, node->node, now));
    if (!known && node->player.member >= 0) {
        node->game->player_of[node->player.member] = (int32_t)(node - node->game->nodes);
    }
    if (node->game->allowed != NULL && known && node->player.frame % CHOOSE_FRAMES == 0) {
        choose_watchers(node->game, node->player.member);
    }
    world_touch(world, node->node);
    return now + node->game->def.crowd.frame_ns;
}

/// Everybody one after another, with the world going on meanwhile.
static FlResult enter(CrowdGame *game)
{
    FlResult result = add_node(game, -1);
    FlTime every = game->def.crowd.shared ? JOIN_EVERY : JOIN_EVERY_DIRECT;
    for (int32_t i = 0; i < game->def.players && result == FL_OK; i++) {
        world_run(game->world, i > 0 ? JOIN_FIRST + i * every : 0);
        result = add_node(game, i);
        FlTime first = world_tick(game->world, i + 1, world_now(game->world) + 1);
        result = result == FL_OK
                     ? world_actor_add(game->world, WORLD_MOVER, first, act, &game->nodes[i])
                     : result;
    }
    return result;
}

/// Does everybody play, with a light connection to each neighbour?
static bool all_play(const CrowdGame *game)
{
    bool play = true;
    for (int32_t i = 0; i < game->def.players && play; i++) {
        FlCrowdStats stats = crowd_game_stats(game, i);
        play = game->nodes[i].player.placed && stats.planned == stats.neighbours &&
               (stats.neighbours > 0 || game->def.players == 1);
    }
    return play;
}

/// Has anybody lost the lobby? It does not come again.
static bool any_ended(const CrowdGame *game)
{
    bool ended = false;
    for (int32_t i = 0; i < game->def.players && !ended; i++) {
        ended = fl_session_state(game->nodes[i].player.session) == FL_SESSION_ENDED;
    }
    return ended;
}

// ---------------------------------------------------------------- making one

static FlResult make(CrowdGame *game, int32_t lookers)
{
    const CrowdGameDef *def = &game->def;
    WorldDef world = world_def_default();
    world.seed = def->seed;
    world.sealed = def->sealed;
    world.node_capacity = def->players + 1;
    world.actor_capacity = def->players + lookers;
    world.flight_capacity = 4096 + 64 * def->players;
    world.tick_ns = def->loop_ns;
    game->nodes = (CrowdNode *)calloc((size_t)def->players, sizeof *game->nodes);
    game->player_of = (int32_t *)malloc((size_t)(def->players + 1) * sizeof *game->player_of);
    size_t pairs = (size_t)def->players * (size_t)(def->players + 1);
    game->looks = (float *)calloc(pairs, sizeof *game->looks);
    bool chosen = def->sender_focus > 0;
    game->allowed = chosen ? (bool *)calloc(pairs, sizeof *game->allowed) : NULL;
    if (game->nodes == NULL || game->player_of == NULL || game->looks == NULL ||
        (chosen && game->allowed == NULL)) {
        return FL_NO_MEMORY;
    }
    for (int32_t i = 0; i <= def->players; i++) {
        game->player_of[i] = -1;
    }
    FlResult result = world_create(&world, &game->world);
    result = result == FL_OK ? world_way_default(game->world, &def->way, def->side_ns) : result;
    return result == FL_OK ? enter(game) : result;
}

LabStatus crowd_game_create(CrowdGame *game, const CrowdGameDef *def, int32_t lookers,
                            LabError *error)
{
    FL_ASSERT(def->sender_focus <= SENDER_FOCUS_MOST);
    *game = (CrowdGame){.def = *def};
    LabStatus status = crowd_eyes_create(&game->eyes, def->motion, def->players, error);
    if (status != LAB_OK) {
        return status;
    }
    FlResult result = make(game, lookers);
    if (result != FL_OK) {
        return lab_fail_result(error, result, "setting up the crowd");
    }
    while (world_now(game->world) < JOIN_LIMIT && !all_play(game) && !any_ended(game)) {
        world_run(game->world, world_now(game->world) + FL_MS(500));
    }
    if (!all_play(game)) {
        game->absent = true;
        return lab_fail(error, LAB_FAILED, "%d players: not all of them come to play",
                        (int)def->players);
    }
    world_run(game->world, world_now(game->world) + SETTLE);
    return LAB_OK;
}

void crowd_game_destroy(CrowdGame *game)
{
    world_destroy(game->world);
    crowd_eyes_destroy(&game->eyes);
    free(game->nodes);
    free(game->player_of);
    free(game->looks);
    free(game->allowed);
    *game = (CrowdGame){0};
}

// ---------------------------------------------------------------- asking

FlCrowdStats crowd_game_stats(const CrowdGame *game, int32_t player)
{
    FlCrowdStats stats;
    (void)fl_session_crowd_stats(game->nodes[player].player.session, &stats);
    return stats;
}

FlTime crowd_game_time(const CrowdGame *game)
{
    FlTime local = world_local(game->world, 0, world_now(game->world));
    return fl_session_time(world_session(game->world, 0), local);
}

uint64_t crowd_game_sent(const CrowdGame *game, int32_t node)
{
    WorldSent sent = world_node_sent(game->world, node);
    return sent.bytes + sent.datagrams * (uint64_t)game->def.overhead_bytes;
}

// ---------------------------------------------------------------- mishaps

FlResult crowd_game_leave(CrowdGame *game, int32_t player)
{
    CrowdNode *node = &game->nodes[player];
    fl_session_leave(node->player.session,
                     world_local(game->world, node->node, world_now(game->world)));
    node->stopped = true;
    world_touch(game->world, node->node);
    return FL_OK;
}

FlResult crowd_game_silence(CrowdGame *game, int32_t player)
{
    CrowdNode *node = &game->nodes[player];
    FlImpairSettings lost = play_way(FL_MS(10), 0, 1.0);
    FlResult result = FL_OK;
    for (int32_t i = 1; i <= game->def.players && result == FL_OK; i++) {
        if (i != node->node) {
            uint32_t link = fl_impair_link((uint16_t)node->node, (uint16_t)i);
            result = world_way_set(game->world, node->node, i, &lost, link);
        }
    }
    return result;
}
