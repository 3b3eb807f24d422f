// A player of a crowd: moves as recorded, looks from its own view.
//
// Attention is module `send`'s: proximity and aim. Recordings do not say who dealt with whom, so
// recency stays out. One pair of eyes serves all players of a process in turn, so it cannot average
// angles over time; every player averages how much it looks instead, over nearly a second.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/experiments/crowd/crowd_game.h"

#define UNITS_PER_METRE 32.0
#define LOOK_FRAMES 5 // between two looks: 250 ms at 20 Hz
#define LOOK_LEARNS 0.25f
#define LOOK_FADED 1e-3f
#define LOOK_LEAST 0.01
#define ATTENTION_MOST 4.0 // with what a flag adds

LabStatus crowd_eyes_create(CrowdEyes *eyes, const CrowdMotion *motion, int32_t players,
                            LabError *error)
{
    size_t members = (size_t)players + 1;
    FlAttentionDef def = fl_attention_def_default();
    def.player_capacity = players + 1;
    def.metre = UNITS_PER_METRE;
    def.reach = motion->half;
    *eyes = (CrowdEyes){.member_capacity = players + 1, .reach = motion->half};
    eyes->positions = (FlVec3 *)calloc(members, sizeof *eyes->positions);
    eyes->seen = (bool *)calloc(members, sizeof *eyes->seen);
    bool made = eyes->positions != NULL && eyes->seen != NULL &&
                fl_attention_create(&def, &eyes->attention) == FL_OK;
    return made ? LAB_OK : lab_fail(error, LAB_FAILED, "out of memory");
}

void crowd_eyes_destroy(CrowdEyes *eyes)
{
    fl_attention_destroy(eyes->attention);
    free(eyes->positions);
    free(eyes->seen);
    *eyes = (CrowdEyes){0};
}

// ---------------------------------------------------------------- a frame

static bool place(CrowdPlayer *player, FlTime now)
{
    FlTime time = fl_session_time(player->session, now);
    CrowdTruth truth = crowd_motion_at(player->motion, player->member - 1, time);
    if (player->placed && truth.life != player->life) {
        (void)fl_entity_cut(player->session, player->avatar);
    }
    FlState state = {.time = now,
                     .position = truth.position,
                     .velocity = truth.velocity,
                     .facing = fl_facing_yaw(truth.yaw, 0.0)};
    player->life = truth.life;
    player->placed = fl_entity_set(player->session, player->avatar, &state) == FL_OK;
    return player->placed;
}

bool crowd_player_view(const FlSession *session, int32_t member, FlEntityStatus *view)
{
    FlEntityId avatar = fl_entity_of_number(session, (uint32_t)member);
    return fl_entity_status(session, avatar, view) == FL_OK && view->newest != FL_FOREVER;
}

int32_t crowd_player_via(const FlEntityStatus *view)
{
    return (int32_t)view->via.index1 - 1;
}

/// Who is further away than attention reaches, or not known at all, does not count, wherever
/// another player saw it last.
static void see(CrowdEyes *eyes, FlSession *session, int32_t self, FlVec3 from, FlTime now)
{
    for (int32_t i = 0; i < eyes->member_capacity; i++) {
        eyes->positions[i].x = (double)NAN;
    }
    (void)fl_entity_positions(session, now, eyes->positions);
    for (int32_t i = 0; i < eyes->member_capacity; i++) {
        FlVec3 to = fl_vec3_sub(eyes->positions[i], from);
        eyes->seen[i] = i != self && fl_vec3_dot(to, to) < eyes->reach * eyes->reach; // NaN: no
        if (eyes->seen[i]) {
            fl_attention_place(eyes->attention, i, eyes->positions[i], fl_vec3(1.0, 0.0, 0.0));
        }
    }
}

double crowd_player_attention(const CrowdPlayer *player, int32_t member)
{
    double value = (double)player->looks[member] + (member == 1 ? player->idol : 0.0);
    if (player->allowed != NULL) {
        return player->allowed[member] ? fmax(value, LOOK_LEAST) : 0.0;
    }
    return player->everybody ? fmax(value, LOOK_LEAST) : value;
}

static void look(const CrowdPlayer *player, CrowdEyes *eyes, FlTime now)
{
    FlTime time = fl_session_time(player->session, now);
    CrowdTruth self = crowd_motion_at(player->motion, player->member - 1, time);
    FlVec3 forward = fl_vec3(cos(self.yaw), sin(self.yaw), 0.0);
    see(eyes, player->session, player->member, self.position, now);
    fl_attention_place(eyes->attention, player->member, self.position, forward);
    fl_attention_look(eyes->attention, player->member, time);
    const float *looks = fl_attention_of(eyes->attention, player->member);
    bool all = player->everybody || player->allowed != NULL || player->idol > 0.0;
    for (int32_t i = 1; i < eyes->member_capacity; i++) {
        float before = player->looks[i];
        float value = before + LOOK_LEARNS * ((eyes->seen[i] ? looks[i] : 0.0f) - before);
        player->looks[i] = value > LOOK_FADED ? value : 0.0f;
        if (i != player->member && (all || before > 0.0f || player->looks[i] > 0.0f)) {
            FlEntityId avatar = fl_entity_of_number(player->session, (uint32_t)i);
            double attention = crowd_player_attention(player, i) / ATTENTION_MOST;
            (void)fl_entity_attention(player->session, avatar, fmin(attention, 1.0));
        }
    }
}

/// Its avatar, once it is in. It moves as it did: straight on, and is sent every frame.
static bool enter(CrowdPlayer *player)
{
    FlPeerStatus self;
    FlEntityDef def = fl_entity_def_default();
    def.model = FL_MODEL_LINEAR;
    if (fl_peer_status(player->session, fl_peer_self(player->session), &self) != FL_OK) {
        return false;
    }
    player->avatar = fl_entity_create(player->session, &def);
    player->member = self.number;
    return player->avatar.index1 != 0;
}

bool crowd_player_frame(CrowdPlayer *player, CrowdEyes *eyes, FlTime now)
{
    FlCrowdStats stats;
    if (fl_session_crowd_stats(player->session, &stats) != FL_OK ||
        fl_session_time_error(player->session) == FL_FOREVER ||
        (player->member < 0 && !enter(player))) {
        return false;
    }
    bool placed = place(player, now);
    // Not all at once: a fifth of the players looks at a frame.
    if (placed && (player->frame + player->member) % LOOK_FRAMES == 0) {
        look(player, eyes, now);
    }
    player->frame++;
    return placed;
}
