// A batch of races in virtual time.
#include "lab/experiments/finish/finish.h"

#include <string.h>

#include "lab/world/world.h"

typedef struct Node {
    FinishPeer *peer;
    int32_t number;
} Node;

typedef struct Batch {
    World *world;
    Node nodes[FINISH_CARS];
} Batch;

static FlTime act(void *ctx, World *world, FlTime now)
{
    const Node *node = (const Node *)ctx;
    FlTime local = world_local(world, node->number, now);
    FlTime next = finish_peer_frame(node->peer, local);
    world_touch(world, node->number);
    if (next == FL_FOREVER) {
        return FL_FOREVER;
    }
    next = world_time_of(world, node->number, next);
    return next > now ? next : now + 1;
}

static FlResult add_node(Batch *batch, const FinishPlay *play, FinishRace *races, int32_t i)
{
    WorldNodeDef def = world_node_def_default();
    def.session = finish_session_def(play);
    def.session.role = i == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    def.clock_offset = FL_SEC(1000) * (1 + i * 7 % 16);
    def.clock_drift_ppm = 5.0 * (i * 5 % 16) - 40.0;
    FlResult result = world_node_add(batch->world, &def, &batch->nodes[i].number);
    if (result != FL_OK) {
        return result;
    }
    for (int32_t j = 0; j < i && result == FL_OK; j++) {
        result = world_ways_set(batch->world, i, j, &play->way);
    }
    FlSession *session = world_session(batch->world, i);
    result =
        result == FL_OK ? finish_peer_create(play, session, races, &batch->nodes[i].peer) : result;
    return result == FL_OK ? world_actor_add(batch->world, WORLD_MOVER, FL_MS(10) + FL_MS(i), act,
                                             &batch->nodes[i])
                           : result;
}

static LabStatus run(Batch *batch, const FinishPlay *play, LabError *error)
{
    world_run(batch->world, FINISH_START - FL_SEC(1));
    for (int32_t i = 0; i < play->cars; i++) {
        FlSession *session = world_session(batch->world, i);
        if (!world_all_in(batch->world) || fl_peer_count(session) != play->cars - 1) {
            const char *why = fl_session_end_text(session);
            return lab_fail(error, LAB_FAILED, "not everybody is in the session: %.*s",
                            (int)strcspn(why, "\n"), why);
        }
    }
    world_run(batch->world, finish_end(play) + FL_SEC(1));
    WorldStats stats = world_stats(batch->world);
    if (stats.crowded > 0 || !world_all_in(batch->world)) {
        return lab_fail(error, LAB_FAILED, "somebody has dropped out");
    }
    return LAB_OK;
}

LabStatus finish_play(const FinishPlay *play, FinishRace *races, LabError *error)
{
    Batch batch = {0};
    WorldDef def = world_def_default();
    def.seed = play->seed;
    def.sealed = play->sealed;
    def.node_capacity = play->cars;
    def.actor_capacity = play->cars;
    FlResult result = world_create(&def, &batch.world);
    for (int32_t i = 0; i < play->cars && result == FL_OK; i++) {
        result = add_node(&batch, play, races, i);
    }
    LabStatus status = result == FL_OK ? run(&batch, play, error)
                                       : lab_fail_result(error, result, "setting up a race");
    world_destroy(batch.world);
    for (int32_t i = 0; i < play->cars; i++) {
        finish_peer_destroy(batch.nodes[i].peer);
    }
    return status;
}
