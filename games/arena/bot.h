// What the two files of the bots share: wants are in bot.c, hands in bot_hand.c.
#ifndef ARENA_BOT_H
#define ARENA_BOT_H

#include "private.h"

/// What practice changes.
typedef struct ArenaSkill {
    int32_t reaction_ticks; // from seeing somebody to firing
    int32_t think_ticks;    // between two decisions
    double aim_error;       // rad, about the deviation of where the hand points
    double turn;            // rad a tick, at most
    double lead;            // share of a target's motion that it reckons with
    double dodge;           // share of the time that it does not stand still in a fight
} ArenaSkill;

const ArenaSkill *arena__skill(int32_t skill);

/// What the bot does in this tick with the wants that it has: looks, walks, fires.
ArenaInput arena__bot_act(const ArenaGame *game, ArenaBot *bot, const ArenaState *view,
                          int32_t player);

/// Where one aims.
static inline FlVec3 arena__chest(const ArenaPlayer *player)
{
    return fl_vec3(player->x, player->y, player->z + 8.0);
}

#endif
