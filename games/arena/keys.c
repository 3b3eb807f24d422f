// A player with four keys and a trigger.
#include <math.h>

#include "private.h"

#define TURN 3.0          // rad/s
#define ROCKET_FROM 200.0 // nearer than that a rocket hurts its owner, too

static bool loaded(const ArenaPlayer *p, int32_t weapon)
{
    return (p->owned & 1u << weapon) != 0 && (weapon == ARENA_WEAPON_MELEE || p->ammo[weapon] > 0);
}

static int32_t weapon_for(const ArenaPlayer *p, double distance)
{
    if (loaded(p, ARENA_WEAPON_ROCKET) && distance > ROCKET_FROM) {
        return ARENA_WEAPON_ROCKET;
    }
    if (loaded(p, ARENA_WEAPON_SNIPER)) {
        return ARENA_WEAPON_SNIPER;
    }
    return loaded(p, ARENA_WEAPON_GUN) ? ARENA_WEAPON_GUN : ARENA_WEAPON_MELEE;
}

ArenaInput arena_keys_input(const ArenaGame *game, const ArenaState *view, int32_t player,
                            ArenaKeys keys)
{
    const ArenaPlayer *p = &view->player[player];
    double yaw = fl_angle_wrap(p->yaw + keys.turn * TURN * ARENA_TICK_SECONDS);
    double pitch = 0.0;
    double distance = arena_half_extent(game);
    int32_t target = arena_player_aims_at(view, player, NULL);
    if (target >= 0) {
        FlVec3 way = fl_vec3_sub(arena__position(&view->player[target]), arena_player_eye(p));
        double flat = sqrt(way.x * way.x + way.y * way.y);
        pitch = number_clamp(-fl_atan2(way.z, flat), -1.5, 1.5);
        distance = flat;
    }
    return (ArenaInput){.forward = (int8_t)(127.0 * number_clamp(keys.drive, -1.0, 1.0)),
                        .yaw = arena_angle_steps(yaw),
                        .pitch = arena_angle_steps(pitch),
                        .buttons = keys.fire ? ARENA_BUTTON_FIRE : 0,
                        .weapon = (uint8_t)weapon_for(p, distance)};
}
