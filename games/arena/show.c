// Players to and from what is told and shown: status, motion, poses, recordings.
#include "private.h"

#define SHOWN_MOST 16384.0 // units, and u/s: far outside, near enough for every formula here

// ---------------------------------------------------------------- telling

ArenaStatus arena_player_status(const ArenaPlayer *player)
{
    ArenaStatus status = {
        .life = (uint16_t)(player->life & 0xffffu),
        .shots = (uint16_t)(player->shots & 0xffffu),
        .jumps = (uint16_t)(player->jumps & 0xffffu),
        .deaths = (uint16_t)(player->deaths & 0xffffu),
        .score = (int16_t)number_clamp_whole(player->score, INT16_MIN, INT16_MAX),
        .health = (uint8_t)number_clamp_whole(player->health, 0, ARENA_HEALTH_MAX),
        .armour = (uint8_t)number_clamp_whole(player->armour, 0, ARENA_HEALTH_MAX),
        .weapon = (uint8_t)player->weapon,
        .carries = (uint8_t)(player->carries < 0 ? ARENA_TEAM_COUNT : player->carries),
    };
    return status;
}

FlState arena_player_state(const ArenaPlayer *player, FlTime time)
{
    FlState state = {
        .time = time,
        .position = arena__position(player),
        .velocity = {player->vx, player->vy, player->vz},
        // What is known to last: legs change their mind, gravity does not.
        .acceleration = {0.0, 0.0, player->grounded != 0 || player->alive == 0 ? 0.0 : -800.0},
        .facing = fl_facing_yaw(player->yaw, 0.0),
    };
    return state;
}

// ---------------------------------------------------------------- showing

static void place(ArenaPlayer *p, FlVec3 position, FlVec3 velocity)
{
    p->x = number_clamp(position.x, -SHOWN_MOST, SHOWN_MOST);
    p->y = number_clamp(position.y, -SHOWN_MOST, SHOWN_MOST);
    p->z = number_clamp(position.z, -SHOWN_MOST, SHOWN_MOST);
    p->vx = number_clamp(velocity.x, -SHOWN_MOST, SHOWN_MOST);
    p->vy = number_clamp(velocity.y, -SHOWN_MOST, SHOWN_MOST);
    p->vz = number_clamp(velocity.z, -SHOWN_MOST, SHOWN_MOST);
}

bool arena_player_show(const ArenaGame *game, ArenaState *view, int32_t player, const FlPose *pose,
                       const ArenaStatus *status)
{
    FL_ASSERT(player >= 0 && player < view->player_count);
    if (!fl_vec3_finite(pose->position) || !fl_vec3_finite(pose->velocity) ||
        !isfinite(pose->yaw)) {
        return false;
    }
    ArenaPlayer *p = &view->player[player];
    place(p, pose->position, pose->velocity);
    p->yaw = fl_angle_wrap(pose->yaw);
    p->pitch = 0.0; // not told: it matters to nobody else
    p->grounded = fabs(p->vz) < 1.0 ? 1 : 0;
    p->life = status->life;
    p->shots = status->shots;
    p->jumps = status->jumps;
    p->deaths = status->deaths;
    p->score = status->score;
    p->health = number_clamp_whole(status->health, 0, ARENA_HEALTH_MAX);
    p->armour = number_clamp_whole(status->armour, 0, ARENA_HEALTH_MAX);
    p->alive = p->health > 0 ? 1 : 0;
    p->weapon = number_clamp_whole(status->weapon, 0, ARENA_WEAPON_COUNT - 1);
    p->owned |= 1u << p->weapon;
    p->carries = game->def.flags && status->carries < ARENA_TEAM_COUNT ? status->carries : -1;
    return true;
}

// ---------------------------------------------------------------- recordings

static int32_t recorded_weapon(int32_t number)
{
    switch (number) {
    case 1:
        return ARENA_WEAPON_MELEE;
    case 5:
        return ARENA_WEAPON_ROCKET;
    case 7:
        return ARENA_WEAPON_SNIPER;
    default:
        return ARENA_WEAPON_GUN;
    }
}

bool arena_player_put(ArenaState *state, int32_t player, const ArenaRow *row)
{
    FL_ASSERT(player >= 0 && player < state->player_count);
    if (!fl_vec3_finite(row->position) || !fl_vec3_finite(row->velocity) || !isfinite(row->yaw) ||
        !isfinite(row->pitch)) {
        return false;
    }
    ArenaPlayer *p = &state->player[player];
    bool jumped = p->life == row->life && p->vz < 200.0 && row->velocity.z >= 200.0;
    place(p, row->position, row->velocity);
    p->yaw = fl_angle_wrap(row->yaw);
    p->pitch = number_clamp(fl_angle_wrap(row->pitch), -0.5 * FL_PI, 0.5 * FL_PI);
    p->grounded = row->velocity.z == 0.0 ? 1 : 0;
    p->health = number_clamp_whole(row->health, 0, ARENA_HEALTH_MAX);
    p->alive = p->health > 0 ? 1 : 0;
    p->weapon = recorded_weapon(row->weapon);
    p->owned |= 1u << p->weapon;
    p->deaths += p->life != row->life && p->life != 0 ? 1 : 0;
    p->life = row->life;
    p->jumps += jumped ? 1 : 0;
    // A held button fires as often as the weapon can.
    if ((row->buttons & ARENA_BUTTON_FIRE) != 0 && p->alive != 0 && state->tick >= p->ready_at) {
        p->shots++;
        p->ready_at = state->tick + arena__weapon_rule(p->weapon)->ticks;
    }
    return true;
}
