// The world of an arena game: sessions that meet, and nodes that play.
#include "lab/actors/arena_mesh.h"

#include <stdlib.h>

#include "lab/world/play.h"

#define TICK_NS (FL_SEC(1) / ARENA_TICK_HZ)
#define SERVES 5 // a tick
#define JOIN_LIMIT FL_SEC(60)

// ---------------------------------------------------------------- sessions

static ArenaModeDef mode_def(const ArenaMeshDef *def)
{
    ArenaModeDef mode = {.mode = def->mode,
                         .players = def->players,
                         .kbps = def->kbps,
                         .focus_share = def->focus_share,
                         .top_speed = def->top_speed};
    return mode;
}

static FlResult nodes_add(ArenaMesh *mesh)
{
    const ArenaMeshDef *def = &mesh->def;
    ArenaModeDef mode = mode_def(def);
    FlResult result = FL_OK;
    for (int32_t i = 0; i < def->players && result == FL_OK; i++) {
        WorldNodeDef node = world_node_def_default();
        node.session = arena_mode_session(mesh->game, &mode);
        node.session.join_timeout_ns = JOIN_LIMIT;
        node.session.tuning.crowd.shared = false; // what each sends itself is what is measured
        node.session.rewind_ns = def->rewind_ns;
        node.session.role = i == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
        int32_t index;
        result = world_node_add(mesh->world, &node, &index);
        for (int32_t j = 0; j < i && result == FL_OK; j++) {
            double rtt_ms = def->rtt_ms + def->far_ms * (i % 2 + j % 2);
            FlTime jitter = (FlTime)(def->jitter_ms * 1e6);
            FlImpairSettings way = play_way((FlTime)(rtt_ms * 5e5), jitter, def->loss);
            result = world_ways_set(mesh->world, j, i, &way);
        }
    }
    return result;
}

static bool has_met_all(const FlSession *session, int32_t players)
{
    int32_t direct = 0;
    for (FlPeerId id = {0}; fl_peer_next(session, &id);) {
        FlPeerStatus status;
        direct += fl_peer_status(session, id, &status) == FL_OK && status.direct ? 1 : 0;
    }
    return direct + 1 >= players;
}

static bool all_met(const ArenaMesh *mesh)
{
    bool met = world_all_in(mesh->world);
    for (int32_t i = 0; i < mesh->def.players && met; i++) {
        met = has_met_all(world_session(mesh->world, i), mesh->def.players);
    }
    return met;
}

// ---------------------------------------------------------------- nodes

static ArenaNodeDef node_def(const ArenaMesh *mesh, int32_t player)
{
    const ArenaMeshDef *def = &mesh->def;
    ArenaNodeDef node = arena_mode_node(mesh->game, def->mode);
    node.recorded = def->row_fn != NULL;
    node.checked = def->rewind_ns > 0;
    node.run_speed = def->row_fn != NULL ? def->top_speed : ARENA_RUN_SPEED;
    node.seed = def->seed;
    node.verdict_fn = def->verdict_fn;
    node.ctx = def->ctx;
    node.character = player % ARENA_CHARACTER_COUNT;
    node.skill = ARENA_SKILL_MIN + player % (ARENA_SKILL_MAX - ARENA_SKILL_MIN + 1);
    if (def->cast_fn != NULL) {
        def->cast_fn(def->ctx, player, &node.character, &node.skill);
    }
    return node;
}

static void step_node(const ArenaDriver *driver, ArenaNode *node, FlTime local)
{
    const ArenaMeshDef *def = &driver->mesh->def;
    const ArenaRow *row = NULL;
    if (def->row_fn != NULL) {
        row = def->row_fn(def->ctx, node->player, driver->tick);
        if (row == NULL) {
            node->view.player[node->player].alive = 0;
            node->view.player[node->player].health = 0;
        }
    }
    arena_node_step(node, row, local);
}

static FlTime drive(void *ctx, World *world, FlTime now)
{
    ArenaDriver *driver = (ArenaDriver *)ctx;
    ArenaNode *node = &driver->mesh->nodes[driver->node];
    FlTime local = world_local(world, driver->node, now);
    int32_t last = driver->mesh->def.ticks;
    if (driver->part == 0 && (last == 0 || driver->tick < last)) {
        step_node(driver, node, local);
        driver->tick++;
    } else {
        arena_node_serve(node, local);
    }
    world_touch(world, driver->node);
    driver->part = (driver->part + 1) % SERVES;
    return now + TICK_NS / SERVES;
}

static FlResult nodes_start(ArenaMesh *mesh)
{
    FlResult result = FL_OK;
    for (int32_t i = 0; i < mesh->def.players && result == FL_OK; i++) {
        FlSession *session = world_session(mesh->world, i);
        FlPeerStatus self;
        result = fl_peer_status(session, fl_peer_self(session), &self);
        if (result == FL_OK) {
            ArenaNodeDef def = node_def(mesh, self.number);
            result = arena_node_start(&mesh->nodes[i], &def, session);
        }
        mesh->drivers[i] = (ArenaDriver){.mesh = mesh, .node = i};
    }
    return result;
}

/// Has everybody heard of everybody's player and things?
static bool all_known(const ArenaMesh *mesh)
{
    bool known = true;
    for (int32_t i = 0; i < mesh->def.players && known; i++) {
        const FlSession *session = world_session(mesh->world, i);
        int32_t count = 0;
        for (FlEntityId id = {0}; fl_entity_next(session, &id);) {
            FlEntityStatus status;
            bool told = fl_entity_status(session, id, &status) == FL_OK && status.kind != 0;
            count += told && status.owner.index1 != 0 ? 1 : 0;
        }
        known = count == 2 * mesh->def.players;
    }
    return known;
}

static FlResult drivers_start(ArenaMesh *mesh)
{
    FlResult result = FL_OK;
    mesh->begin = world_now(mesh->world) + FL_SEC(1);
    for (int32_t i = 0; i < mesh->def.players && result == FL_OK; i++) {
        result = world_actor_add(mesh->world, WORLD_MOVER, mesh->begin, drive, &mesh->drivers[i]);
    }
    return result;
}

// ---------------------------------------------------------------- making one

static FlResult make(ArenaMesh *mesh, int32_t lookers)
{
    const ArenaMeshDef *def = &mesh->def;
    ArenaDef arena = arena_def_default();
    arena.map = def->map;
    arena.player_count = def->players;
    arena.seed = def->seed;
    arena.judge = def->judge;
    WorldDef world = world_def_default();
    world.seed = def->seed;
    world.sealed = def->sealed;
    world.node_capacity = def->players;
    world.actor_capacity = def->players + lookers;
    world.flight_capacity = 16384;
    mesh->nodes = (ArenaNode *)calloc((size_t)def->players, sizeof *mesh->nodes);
    mesh->drivers = (ArenaDriver *)calloc((size_t)def->players, sizeof *mesh->drivers);
    if (mesh->nodes == NULL || mesh->drivers == NULL) {
        return FL_NO_MEMORY;
    }
    FlResult result = arena_create(&arena, &mesh->game);
    result = result == FL_OK ? world_create(&world, &mesh->world) : result;
    return result == FL_OK ? nodes_add(mesh) : result;
}

LabStatus arena_mesh_create(ArenaMesh *mesh, const ArenaMeshDef *def, int32_t lookers,
                            LabError *error)
{
    *mesh = (ArenaMesh){.def = *def};
    FlResult result = make(mesh, lookers);
    if (result != FL_OK) {
        return lab_fail_result(error, result, "setting up the world");
    }
    for (FlTime t = FL_SEC(1); t <= JOIN_LIMIT && !all_met(mesh); t += FL_SEC(1)) {
        world_run(mesh->world, t);
    }
    if (!all_met(mesh)) {
        return lab_fail(error, LAB_FAILED, "%s: the players do not reach each other",
                        arena_mode_name(def->mode));
    }
    result = nodes_start(mesh);
    // What a host with a small upload has to announce takes it a while.
    FlTime limit = world_now(mesh->world) + JOIN_LIMIT;
    while (result == FL_OK && world_now(mesh->world) < limit && !all_known(mesh)) {
        world_run(mesh->world, world_now(mesh->world) + FL_SEC(1));
    }
    result = result == FL_OK ? drivers_start(mesh) : result;
    return result == FL_OK ? LAB_OK : lab_fail_result(error, result, "starting the game");
}

void arena_mesh_destroy(ArenaMesh *mesh)
{
    for (int32_t i = 0; mesh->nodes != NULL && i < mesh->def.players; i++) {
        arena_node_stop(&mesh->nodes[i]);
    }
    if (mesh->world != NULL) {
        world_destroy(mesh->world);
    }
    if (mesh->game != NULL) {
        arena_destroy(mesh->game);
    }
    free(mesh->nodes);
    free(mesh->drivers);
    *mesh = (ArenaMesh){0};
}

uint64_t arena_mesh_sent_bytes(const ArenaMesh *mesh, int32_t node)
{
    return fl_session_count(world_session(mesh->world, node), FL_SESSION_BYTES_COUNTED);
}
