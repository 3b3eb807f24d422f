// Bots: what to want, whom to fight, where to go.
//
// A bot knows its view and nothing else: it shoots at where others are shown, and runs for items
// that lie there in its view. A few times a second it thinks (enemy, weapon, goal); every tick it
// looks, walks and perhaps fires (bot_hand.c). Skill is in its hand and its attention, character in
// its wants. Everything it draws comes from its own stream of chance, so the same seed and the same
// views give the same game.
#include "bot.h"

#define KEEP_ENEMY 0.65 // an enemy one already has counts as so much nearer
#define CARRIER 0.4     // who carries our flag counts as so much nearer
#define FORGET_TICKS 60 // after so long out of sight
#define ROAM_TICKS 120
#define CAMP_TICKS 100
#define FETCH_LEAST 0.03 // an item worth less per unit of way is left
#define NEAR_BASE 420.0
#define DETOUR 260.0

void arena_bot_init(ArenaBot *bot, uint64_t seed, int32_t player, int32_t character, int32_t skill)
{
    *bot = (ArenaBot){
        .random = {.seed = seed, .stream = UINT64_C(0xb07) + (uint64_t)player},
        .character = (int32_t)number_clamp(character, 0, ARENA_CHARACTER_COUNT - 1),
        .skill = (int32_t)number_clamp(skill, ARENA_SKILL_MIN, ARENA_SKILL_MAX),
        .enemy = -1,
        .item = -1,
        .weapon = ARENA_WEAPON_GUN,
    };
}

static double square_between(const ArenaPlayer *p, double x, double y)
{
    double dx = p->x - x, dy = p->y - y;
    return dx * dx + dy * dy;
}

// ---------------------------------------------------------------- whom

// How far an enemy feels: near ones, those ahead and the one at hand come first.
static double felt_distance(const ArenaBot *bot, const ArenaState *view, const ArenaPlayer *me,
                            int32_t other, double look_x, double look_y)
{
    const ArenaPlayer *p = &view->player[other];
    double dx = p->x - me->x, dy = p->y - me->y;
    double distance = sqrt(dx * dx + dy * dy);
    double ahead = dx * look_x + dy * look_y; // against the distance: the cosine
    double felt = 1.5 * distance - 0.5 * ahead;
    if (other == bot->enemy) {
        felt *= KEEP_ENEMY;
    }
    return p->carries >= 0 ? felt * CARRIER : felt;
}

static void choose_enemy(const ArenaGame *game, ArenaBot *bot, const ArenaState *view,
                         int32_t player)
{
    const ArenaPlayer *me = &view->player[player];
    FlVec3 eye = arena_player_eye(me);
    double look_x, look_y;
    fl_sincos(me->yaw, &look_y, &look_x);
    int32_t best = -1;
    double best_felt = 1e12;
    for (int32_t i = 0; i < view->player_count; i++) {
        const ArenaPlayer *p = &view->player[i];
        if (i == player || p->alive == 0 || arena__same_side(game, me, p)) {
            continue;
        }
        double felt = felt_distance(bot, view, me, i, look_x, look_y);
        // Only who would be better is looked for: that is what costs.
        if (felt < best_felt && arena_sees(game, view, eye, arena__chest(p))) {
            best = i;
            best_felt = felt;
        }
    }
    bool gone = bot->enemy >= 0 &&
                (bot->enemy >= view->player_count || view->player[bot->enemy].alive == 0 ||
                 view->tick - bot->enemy_seen > FORGET_TICKS);
    if (best >= 0 && best != bot->enemy) {
        bot->enemy = best;
        bot->enemy_since = bot->enemy_seen = view->tick;
    } else if (best < 0 && gone) {
        bot->enemy = -1;
    }
}

// ---------------------------------------------------------------- with what

// How well a weapon suits a distance, 0 … 9.
static double suits(int32_t weapon, double distance)
{
    switch (weapon) {
    case ARENA_WEAPON_MELEE:
        return distance < 140.0 ? 9.0 : distance < 280.0 ? 4.0 : -20.0;
    case ARENA_WEAPON_SNIPER:
        return distance < 250.0 ? 3.0 : 7.5;
    case ARENA_WEAPON_ROCKET:
        return distance < 130.0 ? -3.0 : distance < 700.0 ? 8.0 : 3.0;
    default:
        return distance < 600.0 ? 6.0 : 4.0;
    }
}

static void choose_weapon(ArenaBot *bot, const ArenaPlayer *me, double distance)
{
    const ArenaCharacter *c = arena__character(bot->character);
    double best = -1e9;
    for (int32_t w = 0; w < ARENA_WEAPON_COUNT; w++) {
        bool loaded = w == ARENA_WEAPON_MELEE || me->ammo[w] > 0;
        double worth = suits(w, distance) + 0.7 * c->liking[w] + (w == bot->weapon ? 1.0 : 0.0);
        if ((me->owned >> w & 1u) != 0 && loaded && worth > best) {
            best = worth;
            bot->weapon = w;
        }
    }
}

// ---------------------------------------------------------------- which item

static double need(const ArenaGame *game, const ArenaCharacter *c, const ArenaPlayer *me,
                   int32_t item)
{
    switch (game->item[item].kind) {
    case ARENA_ITEM_HEALTH:
        return 0.5 * (100 - me->health);
    case ARENA_ITEM_MEDKIT:
        return 0.7 * (200 - me->health);
    case ARENA_ITEM_ARMOUR:
        return 0.35 * (150 - me->armour);
    case ARENA_ITEM_BULLETS:
        return 0.3 * (200 - me->ammo[ARENA_WEAPON_GUN]) * (1 + c->liking[ARENA_WEAPON_GUN]) / 10.0;
    case ARENA_ITEM_SNIPER:
        return 4.0 * (20 - me->ammo[ARENA_WEAPON_SNIPER]) * c->liking[ARENA_WEAPON_SNIPER] / 9.0;
    case ARENA_ITEM_ROCKET:
        return 4.0 * (25 - me->ammo[ARENA_WEAPON_ROCKET]) * c->liking[ARENA_WEAPON_ROCKET] / 9.0;
    case ARENA_ITEM_KIND_COUNT:
        break;
    }
    return 0.0;
}

// The item that is most worth its way, or -1. `worth` is its need per unit of way.
static int32_t best_item(const ArenaGame *game, const ArenaBot *bot, const ArenaState *view,
                         const ArenaPlayer *me, double furthest, double *worth)
{
    const ArenaCharacter *c = arena__character(bot->character);
    double hunger = 0.5 + 0.1 * c->hunger;
    int32_t best = -1;
    *worth = FETCH_LEAST;
    for (int32_t i = 0; i < game->item_count; i++) {
        FlVec3 at = game->item[i].position;
        double distance = sqrt(square_between(me, at.x, at.y));
        double value = hunger * need(game, c, me, i) / (150.0 + distance);
        value *= i == bot->item ? 1.3 : 1.0;
        if (value > *worth && distance < furthest && arena_item_there(view, i) &&
            arena__item_useful(game, me, i)) {
            best = i;
            *worth = value;
        }
    }
    return best;
}

// ---------------------------------------------------------------- where

static FlVec3 somewhere(const ArenaGame *game, ArenaBot *bot)
{
    int32_t places = game->item_count + game->spawn_count;
    int32_t place = (int32_t)fl_random_below(&bot->random, (uint64_t)places);
    return place < game->item_count ? game->item[place].position
                                    : game->spawn[place - game->item_count];
}

static void go(ArenaBot *bot, FlVec3 to, int32_t until)
{
    bot->goal = to;
    bot->goal_until = until;
}

// Where a flag seems to be: a carried one, where its carrier is shown.
static FlVec3 flag_place(const ArenaState *view, int32_t team)
{
    const ArenaFlag *f = &view->flag[team];
    if (f->place == ARENA_FLAG_CARRIED && f->carrier >= 0 && f->carrier < view->player_count) {
        return arena__position(&view->player[f->carrier]);
    }
    return fl_vec3(f->x, f->y, f->z);
}

// With flags, some stay at home and the others go for the enemy's; all run home with it, and all
// near enough after whoever has ours.
static FlVec3 duty(const ArenaGame *game, ArenaBot *bot, const ArenaState *view, int32_t player)
{
    const ArenaPlayer *me = &view->player[player];
    const ArenaCharacter *c = arena__character(bot->character);
    FlVec3 base = game->base[me->team];
    if (me->carries >= 0) {
        return base;
    }
    bool keeper = player / ARENA_TEAM_COUNT % 3 == 0 || c->camping >= 8;
    FlVec3 ours = flag_place(view, me->team), theirs = flag_place(view, 1 - me->team);
    bool lost = view->flag[me->team].place != ARENA_FLAG_HOME;
    if (lost && (keeper || square_between(me, ours.x, ours.y) < 700.0 * 700.0)) {
        return ours;
    }
    if (!keeper) {
        return theirs;
    }
    if (square_between(me, base.x, base.y) > NEAR_BASE * NEAR_BASE ||
        bot->goal_until < view->tick) {
        double dx = fl_random_between(&bot->random, -200.0, 200.0);
        double dy = fl_random_between(&bot->random, -250.0, 250.0);
        double x = number_clamp(base.x + dx, -game->half + 60.0, game->half - 60.0);
        go(bot, fl_vec3(x, base.y + dy, base.z), view->tick + CAMP_TICKS);
    }
    return bot->goal;
}

static void choose_goal(const ArenaGame *game, ArenaBot *bot, const ArenaState *view,
                        int32_t player)
{
    const ArenaPlayer *me = &view->player[player];
    const ArenaCharacter *c = arena__character(bot->character);
    bool flags = game->def.flags;
    double worth;
    int32_t item = best_item(game, bot, view, me, flags ? DETOUR : 1e9, &worth);
    // A fight at hand outweighs things for who likes fighting and is well.
    double fight = bot->visible != 0 ? 0.004 * c->aggression * me->health / 100.0 : 0.0;
    bot->item = item >= 0 && worth > fight + FETCH_LEAST && me->carries < 0 ? item : -1;
    if (bot->item >= 0) {
        go(bot, game->item[bot->item].position, view->tick + ROAM_TICKS);
        return;
    }
    if (flags) {
        FlVec3 to = duty(game, bot, view, player);
        go(bot, to, bot->goal_until > view->tick ? bot->goal_until : view->tick + CAMP_TICKS);
        return;
    }
    bool there = square_between(me, bot->goal.x, bot->goal.y) < 60.0 * 60.0;
    if (!there && view->tick < bot->goal_until) {
        return;
    }
    bool hunts = bot->enemy >= 0 && view->tick - bot->enemy_seen < FORGET_TICKS;
    uint64_t draw = fl_random_below(&bot->random, 20);
    if (hunts && c->aggression > 3) {
        const ArenaPlayer *p = &view->player[bot->enemy];
        go(bot, arena__position(p), view->tick + ARENA_TICK_HZ);
    } else if (there && draw < (uint64_t)c->camping) {
        bot->goal_until = view->tick + CAMP_TICKS;
    } else {
        go(bot, somewhere(game, bot), view->tick + ROAM_TICKS);
    }
}

// ---------------------------------------------------------------- thinking

static void wake(ArenaBot *bot, const ArenaState *view, const ArenaPlayer *me)
{
    bot->life = me->life;
    bot->enemy = bot->item = -1;
    bot->visible = bot->stuck = 0;
    bot->strafe = 0;
    bot->strafe_until = bot->think_at = view->tick;
    bot->goal_until = view->tick - 1;
    bot->goal = arena__position(me);
    bot->weapon = me->weapon;
    bot->yaw = me->yaw;
    bot->pitch = 0.0;
}

static void think(const ArenaGame *game, ArenaBot *bot, const ArenaState *view, int32_t player)
{
    const ArenaPlayer *me = &view->player[player];
    bot->think_at = view->tick + arena__skill(bot->skill)->think_ticks;
    choose_enemy(game, bot, view, player);
    double distance = 500.0;
    if (bot->enemy >= 0) {
        const ArenaPlayer *p = &view->player[bot->enemy];
        distance = fl_vec3_distance(arena__position(me), arena__position(p));
    }
    choose_weapon(bot, me, distance);
    choose_goal(game, bot, view, player);
}

ArenaInput arena_bot_decide(const ArenaGame *game, ArenaBot *bot, const ArenaState *view,
                            int32_t player)
{
    FL_ASSERT(player >= 0 && player < view->player_count);
    const ArenaPlayer *me = &view->player[player];
    if (me->alive == 0) {
        ArenaInput none = {.yaw = arena_angle_steps(me->yaw)};
        return none;
    }
    if (bot->life != me->life) {
        wake(bot, view, me);
    }
    if (view->tick >= bot->think_at) {
        think(game, bot, view, player);
    }
    return arena__bot_act(game, bot, view, player);
}
