// Players of a recording in a mesh of sessions, under `focus`.
#include "lab/claims/claims_scale_focus.h"

#include <math.h>
#include <stdlib.h>

#include "lab/world/play.h"
#include "lab/world/world.h"

#define FRAME FL_MS(50)
#define RTT FL_MS(20)
#define JOIN_LIMIT FL_SEC(60)
#define SETTLE_FRAMES 60
#define LOOK_EVERY 5 // frames
#define LOOKED_AT 4
#define METRE 32.0

typedef struct Mesh Mesh;

typedef struct Player {
    Mesh *mesh;
    int32_t node, number;
    FlEntityId own;
    FlEntityId *others; ///< By number; {0}: not known yet.
    FlAttention *attention;
    uint32_t life;
    bool placed;
    uint64_t frame_seen;
} Player;

struct Mesh {
    const FocusPlay *play;
    World *world;
    Player *players; ///< By node.
    FlTime begin;
    int32_t frame;
    struct {
        uint64_t frames, focus, effort;
        double bytes;     ///< Of all, when it begins.
        double errors[2]; ///< Of those looked at most, and of the others.
        int64_t counts[2];
    } part[FOCUS_PARTS + 1]; ///< The last takes what comes after.
};

// ---------------------------------------------------------------- a player

static CrowdTruth truth_of(const Mesh *mesh, int32_t number, FlTime world_time)
{
    return crowd_motion_at(mesh->play->motion, number, world_time - mesh->begin);
}

static FlResult place(Player *player, FlTime world_time, FlTime local)
{
    FlSession *session = world_session(player->mesh->world, player->node);
    CrowdTruth truth = truth_of(player->mesh, player->number, world_time);
    if (player->placed && truth.life != player->life) {
        (void)!fl_entity_cut(session, player->own);
    }
    FlState state = {.time = fl_session_time(session, local),
                     .position = truth.position,
                     .velocity = truth.velocity,
                     .facing = fl_facing_yaw(truth.yaw, 0.0)};
    player->life = truth.life;
    player->placed = true;
    return fl_entity_set(session, player->own, &state);
}

static void find_others(Player *player)
{
    const FlSession *session = world_session(player->mesh->world, player->node);
    for (FlEntityId id = {0}; fl_entity_next(session, &id);) {
        FlEntityStatus status;
        FlPeerStatus owner;
        if (fl_entity_status(session, id, &status) == FL_OK && !status.ours &&
            fl_peer_status(session, status.owner, &owner) == FL_OK &&
            owner.number < player->mesh->play->players) {
            player->others[owner.number] = id;
        }
    }
}

/// Attention by what it sees itself, told to the others.
static void look_around(Player *player, FlTime world_time, FlTime local)
{
    FlSession *session = world_session(player->mesh->world, player->node);
    CrowdTruth self = truth_of(player->mesh, player->number, world_time);
    FlVec3 forward = fl_vec3(cos(self.yaw), sin(self.yaw), 0.0);
    fl_attention_place(player->attention, player->number, self.position, forward);
    for (int32_t i = 0; i < player->mesh->play->players; i++) {
        FlPose pose;
        if (player->others[i].index1 != 0 &&
            fl_entity_pose_at(session, local, player->others[i], &pose)) {
            fl_attention_place(player->attention, i, pose.position, fl_vec3(1.0, 0.0, 0.0));
        }
    }
    fl_attention_look(player->attention, player->number, local);
    const float *looks = fl_attention_of(player->attention, player->number);
    for (int32_t i = 0; i < player->mesh->play->players; i++) {
        if (player->others[i].index1 != 0) {
            (void)!fl_entity_attention(session, player->others[i], (double)looks[i]);
        }
    }
}

static FlTime drive(void *ctx, World *world, FlTime now)
{
    Player *player = (Player *)ctx;
    FlTime local = world_local(world, player->node, now);
    int32_t frame = (int32_t)((now - player->mesh->begin) / FRAME);
    (void)!place(player, now, local);
    if ((frame + player->node) % LOOK_EVERY == 0) {
        find_others(player);
        look_around(player, now, local);
    }
    world_touch(world, player->node);
    return now + FRAME;
}

// ---------------------------------------------------------------- what they see

/// The attention that this many others exceed.
static float most_looked_at(const Player *player)
{
    const float *looks = fl_attention_of(player->attention, player->number);
    float top[LOOKED_AT] = {0};
    for (int32_t i = 0; i < player->mesh->play->players; i++) {
        float value = i != player->number ? looks[i] : 0.0f;
        for (int32_t k = 0; k < LOOKED_AT; k++) {
            if (value > top[k]) {
                float less = top[k];
                top[k] = value;
                value = less;
            }
        }
    }
    return top[LOOKED_AT - 1];
}

static void compare(Mesh *mesh, int32_t part, const Player *player, FlTime now)
{
    FlSession *session = world_session(mesh->world, player->node);
    FlTime local = world_local(mesh->world, player->node, now);
    const float *looks = fl_attention_of(player->attention, player->number);
    float least = most_looked_at(player);
    for (int32_t i = 0; i < mesh->play->players; i++) {
        FlPose pose;
        if (player->others[i].index1 != 0 &&
            fl_entity_pose_at(session, local, player->others[i], &pose)) {
            int32_t which = looks[i] > 0.0f && looks[i] >= least ? 0 : 1;
            mesh->part[part].errors[which] +=
                fl_vec3_distance(pose.position, truth_of(mesh, i, now).position);
            mesh->part[part].counts[which]++;
        }
    }
}

static double bytes_of_all(const Mesh *mesh)
{
    double bytes = 0.0;
    for (int32_t i = 0; i < mesh->play->players; i++) {
        bytes += (double)fl_session_count(world_session(mesh->world, i), FL_SESSION_BYTES_COUNTED);
    }
    return bytes;
}

static int32_t part_frames(const FocusPlay *play)
{
    return (int32_t)(play->seconds * 1e9 / (double)(play->parts * FRAME));
}

static FlTime watch(void *ctx, World *world, FlTime now)
{
    Mesh *mesh = (Mesh *)ctx;
    (void)world;
    int32_t frames = part_frames(mesh->play);
    int32_t part = (mesh->frame - SETTLE_FRAMES) / frames;
    part = part < mesh->play->parts ? part : mesh->play->parts;
    for (int32_t i = 0; i < mesh->play->players && mesh->frame >= SETTLE_FRAMES; i++) {
        Player *player = &mesh->players[i];
        FlFocusFrame frame = fl_session_frame(world_session(mesh->world, i));
        if (frame.number != player->frame_seen) {
            player->frame_seen = frame.number;
            mesh->part[part].frames++;
            mesh->part[part].focus += (uint64_t)frame.focus_count;
            mesh->part[part].effort += (uint64_t)frame.effort_due;
        }
        compare(mesh, part, player, now);
    }
    if (mesh->frame >= SETTLE_FRAMES && (mesh->frame - SETTLE_FRAMES) % frames == 0) {
        mesh->part[part].bytes = bytes_of_all(mesh);
    }
    mesh->frame++;
    return now + FRAME;
}

// ---------------------------------------------------------------- making it

static FlSessionDef session_def(const FocusPlay *play)
{
    FlSessionDef def = fl_session_def_default();
    def.topology = FL_TOPOLOGY_MESH;
    def.world = crowd_motion_world(play->motion, play->players);
    def.peer_capacity = play->players - 1;
    def.tuning.direct_capacity = play->players - 1;
    def.entity_capacity = play->players;
    def.tuning.item_capacity = 256;
    def.tuning.path_capacity = 128;
    def.tuning.link.ack_delay_ns = FL_SEC(3);
    def.join_timeout_ns = JOIN_LIMIT;
    def.tuning.update_least_bytes = FOCUS_BYTES;
    // As published: the share that carries the four is set for each upload (0.75 at 108 kbit/s).
    def.tuning.focus.share =
        play->kbps > 0.0 ? fmin(1.0, LOOKED_AT * FRAME_KBPS / play->kbps) : 1.0;
    def.upload_bytes_s = play->kbps * 125.0;
    return def;
}

static FlResult make_world(Mesh *mesh)
{
    const FocusPlay *play = mesh->play;
    WorldDef def = world_def_default();
    def.seed = play->seed;
    def.sealed = false;
    def.node_capacity = play->players;
    def.actor_capacity = play->players + 1;
    def.flight_capacity = 1 << 16;
    FlResult result = world_create(&def, &mesh->world);
    FlImpairSettings way = play_way(RTT / 2, 0, 0.0);
    for (int32_t i = 0; i < play->players && result == FL_OK; i++) {
        WorldNodeDef node = world_node_def_default();
        int32_t index;
        node.session = session_def(play);
        node.session.role = i == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
        result = world_node_add(mesh->world, &node, &index);
        for (int32_t j = 0; j < i && result == FL_OK; j++) {
            result = world_ways_set(mesh->world, j, i, &way);
        }
    }
    return result;
}

static bool all_met(const Mesh *mesh)
{
    bool met = world_all_in(mesh->world);
    for (int32_t i = 0; i < mesh->play->players && met; i++) {
        const FlSession *session = world_session(mesh->world, i);
        int32_t direct = 0;
        for (FlPeerId id = {0}; fl_peer_next(session, &id);) {
            FlPeerStatus status;
            direct += fl_peer_status(session, id, &status) == FL_OK && status.direct ? 1 : 0;
        }
        met = direct + 1 >= mesh->play->players;
    }
    return met;
}

static FlResult start_player(Mesh *mesh, int32_t node)
{
    Player *player = &mesh->players[node];
    FlSession *session = world_session(mesh->world, node);
    size_t count = (size_t)mesh->play->players;
    FlAttentionDef attention = fl_attention_def_default();
    FlPeerStatus self;
    attention.player_capacity = mesh->play->players;
    attention.metre = METRE;
    attention.reach = mesh->play->motion->half;
    FlResult result = fl_peer_status(session, fl_peer_self(session), &self);
    *player = (Player){.mesh = mesh, .node = node, .number = self.number};
    player->others = (FlEntityId *)calloc(count, sizeof *player->others);
    result = player->others == NULL ? FL_NO_MEMORY : result;
    result = result == FL_OK ? fl_attention_create(&attention, &player->attention) : result;
    if (result != FL_OK) {
        return result;
    }
    FlEntityDef entity = fl_entity_def_default();
    entity.kind = 1;
    entity.send = fl_send_make(FL_SEND_FOCUS);
    entity.trigger = (FlTriggerDef){.distance = 0.125, .angle = 0.01, .silence_ns = FRAME};
    player->own = fl_entity_create(session, &entity);
    return player->own.index1 != 0
               ? world_actor_add(mesh->world, WORLD_MOVER, mesh->begin, drive, player)
               : FL_FULL;
}

static LabStatus run(Mesh *mesh, LabError *error)
{
    FlResult result = make_world(mesh);
    if (result != FL_OK) {
        return lab_fail_result(error, result, "setting up the world");
    }
    for (FlTime t = FL_SEC(1); t <= JOIN_LIMIT && !all_met(mesh); t += FL_SEC(1)) {
        world_run(mesh->world, t);
    }
    if (!all_met(mesh)) {
        return lab_fail(error, LAB_FAILED, "the players do not reach each other");
    }
    mesh->begin = world_now(mesh->world) + FL_SEC(1);
    for (int32_t i = 0; i < mesh->play->players && result == FL_OK; i++) {
        result = start_player(mesh, i);
    }
    result = result == FL_OK ? world_actor_add(mesh->world, WORLD_LOOKER, mesh->begin, watch, mesh)
                             : result;
    if (result != FL_OK) {
        return lab_fail_result(error, result, "starting the players");
    }
    world_run(mesh->world,
              mesh->begin + SETTLE_FRAMES * FRAME + (FlTime)(mesh->play->seconds * 1e9));
    return play_check(mesh->world, error);
}

static FocusFigures figures_of(const Mesh *mesh, int32_t p)
{
    double players = mesh->play->players;
    double frames = mesh->part[p].frames > 0 ? (double)mesh->part[p].frames : 1.0;
    double focus = (double)mesh->part[p].focus / frames;
    double seconds = mesh->play->seconds / mesh->play->parts;
    double rest = players - 1.0 - focus;
    return (FocusFigures){
        .focus_size = focus,
        .rest_hz = rest > 0.0 ? (double)mesh->part[p].effort / frames * 20.0 / rest : (double)NAN,
        .kbps_used = 8e-3 * (mesh->part[p + 1].bytes - mesh->part[p].bytes) / (seconds * players),
        .error_focus = mesh->part[p].errors[0] / (double)mesh->part[p].counts[0],
        .error_rest = mesh->part[p].errors[1] / (double)mesh->part[p].counts[1],
    };
}

LabStatus focus_play(const FocusPlay *play, FocusFigures *figures, LabError *error)
{
    FL_ASSERT(play->parts >= 1 && play->parts <= FOCUS_PARTS);
    Mesh mesh = {.play = play};
    mesh.players = (Player *)calloc((size_t)play->players, sizeof *mesh.players);
    LabStatus status =
        mesh.players != NULL ? run(&mesh, error) : lab_fail(error, LAB_FAILED, "out of memory");
    if (status == LAB_OK) {
        for (int32_t p = 0; p < play->parts; p++) {
            figures[p] = figures_of(&mesh, p);
        }
    }
    for (int32_t i = 0; mesh.players != NULL && i < play->players; i++) {
        fl_attention_destroy(mesh.players[i].attention);
        free(mesh.players[i].others);
    }
    free(mesh.players);
    if (mesh.world != NULL) {
        world_destroy(mesh.world);
    }
    return status;
}
