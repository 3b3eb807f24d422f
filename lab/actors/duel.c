// Two nodes, one game, and no look across but through the sessions.
#include "lab/actors/duel.h"

#include <string.h>

#include "tanks/tanks.h"

#define WARM_UP FL_SEC(8)

enum { TEAM = 4, TANKS = 2 * TEAM };

typedef struct Duel {
    const DuelDef *def;
    World *world;
    TanksGame *game;
    FlEntityId id[TANKS]; ///< At the owner.
    uint32_t number[TANKS];
    uint32_t life[TANKS];
    DuelResult result;
} Duel;

static int32_t node_of(int32_t tank)
{
    return tank < TEAM ? 0 : 1;
}

// ---------------------------------------------------------------- seeing

/// A tank of the other team, as the viewer's session shows it.
static TanksSeen see_one(Duel *duel, int32_t viewer, int32_t tank)
{
    FlSession *session = world_session(duel->world, node_of(viewer));
    FlTime now = world_local(duel->world, node_of(viewer), world_now(duel->world));
    TanksSeen nothing = {0};
    if (duel->id[tank].index1 == 0) {
        return nothing;
    }
    FlEntityId id = fl_entity_of_number(session, duel->number[tank]);
    FlPose pose;
    TanksStatus status;
    if (!fl_entity_pose_at(session, now, id, &pose) || !tanks_status_get(session, id, &status)) {
        return nothing;
    }
    return tanks_seen_make(&pose, &status);
}

/// One's own team is no target, so it is not shown: every shot is aimed across the network.
static void see(void *ctx, const TanksGame *game, int32_t viewer, TanksSeen *tanks)
{
    Duel *duel = (Duel *)ctx;
    (void)game;
    for (int32_t i = 0; i < TANKS; i++) {
        if (node_of(i) != node_of(viewer)) {
            tanks[i] = see_one(duel, viewer, i);
        } else if (i != viewer) {
            tanks[i] = (TanksSeen){0};
        }
    }
}

// ---------------------------------------------------------------- telling

static bool exists(Duel *duel, int32_t tank, FlSession *session)
{
    if (duel->id[tank].index1 != 0) {
        return true;
    }
    FlEntityDef def = fl_entity_def_default();
    def.kind = TANKS_KIND;
    def.model = FL_MODEL_CIRCULAR;
    def.trigger = (FlTriggerDef){0.09, 0.05, FL_SEC(1)};
    FlEntityStatus status;
    if (fl_session_state(session) != FL_SESSION_RUNNING ||
        (duel->id[tank] = fl_entity_create(session, &def)).index1 == 0 ||
        fl_entity_status(session, duel->id[tank], &status) != FL_OK) {
        return false;
    }
    duel->number[tank] = status.number;
    return true;
}

/// Score and life, when they have changed; shots are nobody's business here.
static void tell_status(Duel *duel, int32_t index, FlSession *session, const TanksTank *tank)
{
    TanksStatus status = tanks_tank_status(tank);
    status.shots = 0;
    FlResult result = tanks_status_set(session, duel->id[index], &status);
    (void)result; // the next one says it again
}

static void tell(Duel *duel, int32_t index, const TanksTank *tank)
{
    int32_t node = node_of(index);
    FlSession *session = world_session(duel->world, node);
    if (!exists(duel, index, session)) {
        return;
    }
    tell_status(duel, index, session, tank);
    if (!tank->alive) {
        return;
    }
    if (duel->life[index] != tank->life && duel->life[index] != 0 &&
        fl_entity_cut(session, duel->id[index]) != FL_OK) {
        return;
    }
    duel->life[index] = tank->life;
    FlState state = tanks_tank_state(tanks_game_world(duel->game), tank);
    state.time = world_local(duel->world, node, world_now(duel->world));
    if (fl_entity_set(session, duel->id[index], &state) != FL_OK) {
        duel->life[index] = 0; // not in yet
    }
}

static void count_events(Duel *duel)
{
    int32_t count;
    const TanksEvent *events = tanks_game_events(duel->game, &count);
    for (int32_t i = 0; i < count; i++) {
        const TanksEvent *event = &events[i];
        duel->result.shots += event->kind == TANKS_EVENT_SHOT ? 1 : 0;
        duel->result.hits +=
            event->kind == TANKS_EVENT_KILL && node_of(event->tank) != node_of(event->victim) ? 1
                                                                                              : 0;
    }
}

static FlTime play_tick(void *ctx, World *world, FlTime now)
{
    Duel *duel = (Duel *)ctx;
    int32_t count;
    tanks_game_step(duel->game);
    count_events(duel);
    const TanksTank *tanks = tanks_game_tanks(duel->game, &count);
    for (int32_t i = 0; i < TANKS; i++) {
        tell(duel, i, &tanks[i]);
    }
    world_touch(world, 0);
    world_touch(world, 1);
    FlTime next =
        WARM_UP + tanks_tick_time(tanks_game_world(duel->game), tanks_game_tick(duel->game) + 1);
    return next > now ? next : now + 1;
}

// ---------------------------------------------------------------- a game

static FlResult set_up_world(Duel *duel)
{
    const DuelDef *def = duel->def;
    WorldDef world = world_def_default();
    world.seed = def->seed;
    world.sealed = def->sealed;
    world.node_capacity = 2;
    FlResult result = world_create(&world, &duel->world);
    for (int32_t i = 0; i < 2 && result == FL_OK; i++) {
        WorldNodeDef node = world_node_def_default();
        int32_t index;
        node.session.role = i == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
        node.session.world = tanks_wire_world(tanks_game_world(duel->game), 64);
        node.session.tuning.time_mode = def->mode;
        node.session.peer_capacity = 2;
        node.session.entity_capacity = TANKS;
        node.clock_offset = i == 0 ? FL_SEC(500) : -FL_SEC(300);
        node.clock_drift_ppm = i == 0 ? 20.0 : -30.0;
        result = world_node_add(duel->world, &node, &index);
        result = result == FL_OK ? tanks_kind_define(world_session(duel->world, index)) : result;
    }
    if (result != FL_OK) {
        return result;
    }
    FlImpairSettings way = fl_impair_def_default().settings;
    way.delay_ns = def->delay;
    result = world_ways_set(duel->world, 0, 1, &way);
    return result != FL_OK ? result
                           : world_actor_add(duel->world, WORLD_MOVER, WARM_UP, play_tick, duel);
}

LabStatus duel_play(const DuelDef *def, DuelResult *result, LabError *error)
{
    Duel duel = {.def = def};
    TanksGameDef game = tanks_game_def_default();
    game.tank_count = TANKS;
    game.seed = def->seed;
    game.rules.map_seed = def->seed;
    game.see_fn = see;
    game.see_ctx = &duel;
    FlResult made = tanks_game_create(&game, &duel.game);
    made = made == FL_OK ? set_up_world(&duel) : made;
    LabStatus status = LAB_OK;
    if (made == FL_OK) {
        world_run(duel.world, WARM_UP + def->length);
        if (!world_all_in(duel.world)) {
            const char *why = fl_session_end_text(world_session(duel.world, 1));
            status = lab_fail(error, LAB_FAILED, "a node is not in the session: %.*s",
                              (int)strcspn(why, "\n"), why);
        }
    } else {
        status = lab_fail_result(error, made, "setting up the game");
    }
    *result = duel.result;
    world_destroy(duel.world);
    tanks_game_destroy(duel.game);
    return status;
}
