// Whole sessions that play each other's actions. Node i is peer i; node 0 is the host.
#include "lab/experiments/simultaneity/simultaneity_sessions.h"

#include <stdlib.h>

#define LOOK_EVERY FL_MS(1)

typedef struct Looker {
    Crowd *crowd;
    int32_t node;
} Looker;

struct Crowd {
    NetDef def;
    World *world;
    Looker lookers[FL_LAGS_PEERS];
};

/// Members are numbered as they joined.
static int32_t node_of(Crowd *crowd, int32_t number)
{
    for (int32_t i = 0; i < crowd->def.peers; i++) {
        if (fl_peer_self(world_session(crowd->world, i)).index1 == (uint32_t)number + 1) {
            return i;
        }
    }
    return -1;
}

/// Takes what is to be played. The session says for when it is, so looking now and then is exact.
static FlTime look(void *ctx, World *world, FlTime now)
{
    const Looker *looker = (const Looker *)ctx;
    int32_t node = looker->node;
    FlSession *session = world_session(world, node);
    FlTime local = world_local(world, node, now);
    FlAction action;
    while (fl_action_take(session, local, &action) == FL_OK) {
        FlOrdered ordered = {.play = action.play, .late = action.late};
        ordered.writer = node_of(looker->crowd, action.number);
        ordered.type = action.type;
        ordered.bytes = action.bytes;
        ordered.count = action.count;
        NetPlay play = {node, now, local, &ordered};
        if (!action.late) {
            play.local = action.at;
            play.at = world_time_of(world, node, action.at);
        }
        looker->crowd->def.play_fn(looker->crowd->def.ctx, &play);
    }
    return now + LOOK_EVERY;
}

static FlResult add_node(Crowd *crowd, int32_t node, FlTopology topology)
{
    const NetDef *net = &crowd->def;
    WorldNodeDef def = world_node_def_default();
    def.session.role = node == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    def.session.topology = topology;
    def.session.peer_capacity = net->peers;
    def.session.tuning.direct_capacity = net->peers;
    def.session.entity_capacity = 1;
    def.session.tuning.item_capacity = 64;
    def.session.action_capacity = 1024;
    def.session.tuning.lags = net->lags;
    def.clock_offset = net->clock[node];
    def.clock_drift_ppm = (double)net->drift_ppb[node] / 1000.0;
    int32_t index;
    return world_node_add(crowd->world, &def, &index);
}

static FlResult set_ways(Crowd *crowd, int32_t from)
{
    FlResult result = FL_OK;
    for (int32_t to = 0; to < crowd->def.peers && result == FL_OK; to++) {
        FlImpairSettings way = crowd->def.way;
        way.delay_ns = crowd->def.delay[from][to];
        result = from != to ? world_way_set(crowd->world, from, to, &way,
                                            fl_impair_link((uint16_t)from, (uint16_t)to))
                            : FL_OK;
    }
    return result;
}

FlResult crowd_create(const NetDef *def, FlTopology topology, bool sealed, Crowd **out)
{
    *out = NULL;
    Crowd *crowd = (Crowd *)calloc(1, sizeof *crowd);
    if (crowd == NULL) {
        return FL_NO_MEMORY;
    }
    crowd->def = *def;
    WorldDef world = world_def_default();
    world.seed = def->seed;
    world.node_capacity = def->peers;
    world.actor_capacity = def->peers;
    world.flight_capacity = 4096 + 128 * def->peers * def->peers;
    world.sealed = sealed;
    FlResult result = world_create(&world, &crowd->world);
    for (int32_t i = 0; i < def->peers && result == FL_OK; i++) {
        Looker looker = {crowd, i};
        crowd->lookers[i] = looker;
        result = add_node(crowd, i, topology);
    }
    for (int32_t i = 0; i < def->peers && result == FL_OK; i++) {
        result = set_ways(crowd, i);
        result = result == FL_OK
                     ? world_actor_add(crowd->world, WORLD_LOOKER, 0, look, &crowd->lookers[i])
                     : result;
    }
    if (result != FL_OK) {
        crowd_destroy(crowd);
        return result;
    }
    *out = crowd;
    return FL_OK;
}

void crowd_destroy(Crowd *crowd)
{
    if (crowd != NULL) {
        world_destroy(crowd->world);
        free(crowd);
    }
}

void crowd_run(Crowd *crowd, FlTime until)
{
    world_run(crowd->world, until);
}

bool crowd_is_ready(Crowd *crowd)
{
    bool ready = true;
    for (int32_t i = 0; i < crowd->def.peers && ready; i++) {
        FlTime local = world_local(crowd->world, i, world_now(crowd->world));
        FlLagsStatus status;
        (void)fl_session_lags(world_session(crowd->world, i), local, &status);
        uint64_t all = crowd->def.peers == 64 ? UINT64_MAX : (UINT64_C(1) << crowd->def.peers) - 1;
        ready = status.sends && status.plays && !status.moving && status.members == all;
    }
    return ready;
}

FlResult crowd_act(Crowd *crowd, int32_t peer, const void *bytes, int32_t count)
{
    FlTime local = world_local(crowd->world, peer, world_now(crowd->world));
    FlResult result = fl_action_send(world_session(crowd->world, peer), local, 1, bytes, count);
    world_touch(crowd->world, peer);
    return result;
}

World *crowd_world(Crowd *crowd)
{
    return crowd->world;
}
