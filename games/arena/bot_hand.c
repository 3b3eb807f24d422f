// A bot's eyes, hands and legs in one tick.
//
// It sees its enemy or not, turns towards where it believes it should aim (a wandering error, a
// share of the target's motion and a limit to turning are its skill), fires once it believes to be
// on target, and walks to its goal, or around its enemy in a fight.
#include "bot.h"

#define WANDER 0.85      // share of the hand's error that stays from one tick to the next
#define WANDER_NEW 0.912 // sqrt(3 (1 - WANDER^2)): a uniform draw keeps the deviation
#define LAG_SECONDS 0.14 // a beginner aims at where the enemy was
#define STUCK_TICKS 12

static const ArenaSkill SKILLS[ARENA_SKILL_MAX - ARENA_SKILL_MIN + 1] = {
    {12, 9, 0.130, 0.22, 0.0, 0.2}, {9, 8, 0.085, 0.30, 0.3, 0.4}, {6, 7, 0.058, 0.38, 0.55, 0.6},
    {4, 6, 0.038, 0.48, 0.8, 0.8},  {2, 5, 0.024, 0.60, 1.0, 1.0},
};

const ArenaSkill *arena__skill(int32_t skill)
{
    FL_ASSERT(skill >= ARENA_SKILL_MIN && skill <= ARENA_SKILL_MAX);
    return &SKILLS[skill - ARENA_SKILL_MIN];
}

// ---------------------------------------------------------------- eyes and hands

static void hand_wander(ArenaBot *bot)
{
    uint64_t bits = fl_random_next(&bot->random);
    double size = WANDER_NEW * arena__skill(bot->skill)->aim_error;
    double aside = (double)(bits & 0xffffffffu) / 2147483648.0 - 1.0;
    double above = (double)(bits >> 32) / 2147483648.0 - 1.0;
    bot->aim_yaw_error = WANDER * bot->aim_yaw_error + size * aside;
    bot->aim_pitch_error = WANDER * bot->aim_pitch_error + 0.6 * size * above;
}

// Where to aim to hit the enemy with the weapon at hand.
static FlVec3 aim_point(const ArenaGame *game, const ArenaBot *bot, const ArenaPlayer *me,
                        const ArenaPlayer *enemy, double distance)
{
    double lead = arena__skill(bot->skill)->lead;
    FlVec3 at = arena__chest(enemy);
    FlVec3 velocity = fl_vec3(enemy->vx, enemy->vy, enemy->vz);
    double seconds = -LAG_SECONDS * (1.0 - lead);
    if (me->weapon == ARENA_WEAPON_ROCKET) {
        seconds += lead * distance / ARENA_MISSILE_SPEED;
        velocity.z = 0.0;
        if (enemy->grounded != 0 && distance > 160.0) {
            at.z -= 24.0; // at the feet: the floor helps
        }
    }
    at = fl_vec3_add_scaled(at, velocity, seconds);
    double most = game->half - ARENA_HALF_WIDTH;
    return fl_vec3(number_clamp(at.x, -most, most), number_clamp(at.y, -most, most), at.z);
}

static double turned(double from, double to, double most)
{
    return fl_angle_wrap(from + number_clamp(fl_angle_wrap(to - from), -most, most));
}

// Turns towards a point. Returns how far off it still is, as the bot believes.
static double look_at(ArenaBot *bot, const ArenaPlayer *me, FlVec3 point, bool steady)
{
    FlVec3 way = fl_vec3_sub(point, arena_player_eye(me));
    double flat = sqrt(way.x * way.x + way.y * way.y);
    double yaw = fl_atan2(way.y, way.x) + (steady ? 0.0 : bot->aim_yaw_error);
    double pitch = -fl_atan2(way.z, flat) + (steady ? 0.0 : bot->aim_pitch_error);
    double most = arena__skill(bot->skill)->turn;
    bot->yaw = turned(bot->yaw, yaw, most);
    bot->pitch = number_clamp(turned(bot->pitch, pitch, most), -1.5, 1.5);
    return fabs(fl_angle_wrap(yaw - bot->yaw)) + fabs(pitch - bot->pitch);
}

static bool wants_fire(const ArenaBot *bot, const ArenaState *view, const ArenaPlayer *me,
                       double distance, double off)
{
    const ArenaCharacter *c = arena__character(bot->character);
    bool ready = view->tick - bot->enemy_since >= arena__skill(bot->skill)->reaction_ticks;
    // The cautious wait until they are sure, the others spray.
    double tolerance = (16.0 + 4.0 * (9 - c->steadiness)) / (distance + 40.0);
    if (me->weapon == ARENA_WEAPON_MELEE && distance > 75.0) {
        return false;
    }
    if (me->weapon == ARENA_WEAPON_ROCKET && distance < 90.0) {
        return false;
    }
    return ready && me->weapon == bot->weapon && off < tolerance;
}

// ---------------------------------------------------------------- legs

// How far away one likes to fight with a weapon.
static double fighting_distance(int32_t weapon)
{
    switch (weapon) {
    case ARENA_WEAPON_MELEE:
        return 20.0;
    case ARENA_WEAPON_SNIPER:
        return 750.0;
    case ARENA_WEAPON_ROCKET:
        return 360.0;
    default:
        return 300.0;
    }
}

static void choose_strafe(ArenaBot *bot, const ArenaState *view)
{
    if (view->tick < bot->strafe_until) {
        return;
    }
    const ArenaCharacter *c = arena__character(bot->character);
    double dodge = arena__skill(bot->skill)->dodge * (0.5 + c->nimbleness / 18.0);
    double draw = fl_random_between(&bot->random, 0.0, 1.0);
    uint64_t span = fl_random_below(&bot->random, 12);
    bot->strafe = draw < 0.5 * dodge ? -1 : draw < dodge ? 1 : 0;
    bot->strafe_until = view->tick + 8 + (int32_t)span;
}

// Around the enemy, keeping the distance that suits the weapon.
static FlVec3 dance(const ArenaGame *game, ArenaBot *bot, const ArenaState *view,
                    const ArenaPlayer *me, const ArenaPlayer *enemy)
{
    choose_strafe(bot, view);
    double dx = enemy->x - me->x, dy = enemy->y - me->y;
    double distance = sqrt(dx * dx + dy * dy);
    if (!(distance > 1.0)) {
        return arena__position(me);
    }
    double wanted = fighting_distance(bot->weapon);
    double nearer = number_clamp((distance - wanted) / 150.0, -1.0, 1.0);
    double along = 110.0 * nearer / distance, aside = 110.0 * bot->strafe / distance;
    double most = game->half - 2.0 * ARENA_HALF_WIDTH;
    return fl_vec3(number_clamp(me->x + along * dx - aside * dy, -most, most),
                   number_clamp(me->y + along * dy + aside * dx, -most, most), me->z);
}

// Who wants to go and comes nowhere picks another way.
static void mind_being_stuck(ArenaBot *bot, const ArenaState *view, const ArenaPlayer *me,
                             ArenaInput *input)
{
    bool wants = input->forward != 0 || input->right != 0;
    bool moves = me->vx * me->vx + me->vy * me->vy > 400.0;
    bot->stuck = wants && !moves ? bot->stuck + 1 : 0;
    if (bot->stuck > STUCK_TICKS) {
        bot->stuck = 0;
        bot->item = -1;
        bot->goal_until = view->tick - 1;
        bot->think_at = view->tick;
        bot->strafe = -bot->strafe;
        input->up = 127;
    }
}

// In a fight it jumps now and then.
static void hop(ArenaBot *bot, const ArenaPlayer *me, ArenaInput *input)
{
    const ArenaCharacter *c = arena__character(bot->character);
    double share = 0.004 * c->nimbleness * arena__skill(bot->skill)->dodge;
    if (me->grounded != 0 && fl_random_between(&bot->random, 0.0, 1.0) < share) {
        input->up = 127;
    }
}

// ---------------------------------------------------------------- a tick

// Does it see its enemy? Then it remembers since when.
static bool keep_in_sight(const ArenaGame *game, ArenaBot *bot, const ArenaState *view,
                          const ArenaPlayer *me)
{
    bool seen = false;
    if (bot->enemy >= 0 && bot->enemy < view->player_count) {
        const ArenaPlayer *enemy = &view->player[bot->enemy];
        seen =
            enemy->alive != 0 && arena_sees(game, view, arena_player_eye(me), arena__chest(enemy));
    }
    if (seen && bot->visible == 0) {
        bot->enemy_since = view->tick;
    }
    bot->enemy_seen = seen ? view->tick : bot->enemy_seen;
    bot->visible = seen ? 1 : 0;
    return seen;
}

// Aims, and says where to go meanwhile. True: fire.
static bool fight(const ArenaGame *game, ArenaBot *bot, const ArenaState *view,
                  const ArenaPlayer *me, FlVec3 *to)
{
    const ArenaPlayer *enemy = &view->player[bot->enemy];
    double distance = fl_vec3_distance(arena__position(me), arena__position(enemy));
    hand_wander(bot);
    double off = look_at(bot, me, aim_point(game, bot, me, enemy, distance), false);
    bool busy = bot->item >= 0 || (game->def.flags && me->carries >= 0);
    bool duty = game->def.flags && bot->weapon != ARENA_WEAPON_MELEE && distance > 350.0;
    if (!busy && !duty) {
        *to = dance(game, bot, view, me, enemy);
    }
    return wants_fire(bot, view, me, distance, off);
}

static void look_ahead(const ArenaGame *game, ArenaBot *bot, const ArenaPlayer *me)
{
    FlVec3 next = arena__way(game, arena__position(me), bot->goal, me->z + ARENA_STEP_UP);
    double dx = next.x - me->x, dy = next.y - me->y;
    if (dx * dx + dy * dy > 900.0) {
        (void)look_at(bot, me, fl_vec3(next.x, next.y, me->z + ARENA_EYE), true);
    }
}

ArenaInput arena__bot_act(const ArenaGame *game, ArenaBot *bot, const ArenaState *view,
                          int32_t player)
{
    const ArenaPlayer *me = &view->player[player];
    bool seen = keep_in_sight(game, bot, view, me);
    bool fire = false;
    FlVec3 to = bot->goal;
    if (seen) {
        fire = fight(game, bot, view, me, &to);
    } else {
        look_ahead(game, bot, me);
    }
    ArenaWalk walk = {.to = to, .yaw = bot->yaw, .pitch = bot->pitch};
    ArenaInput input = arena_walk_to(game, view, player, &walk);
    if (seen) {
        hop(bot, me, &input);
    }
    mind_being_stuck(bot, view, me, &input);
    input.weapon = (uint8_t)bot->weapon;
    input.buttons = (uint8_t)(input.buttons | (fire ? ARENA_BUTTON_FIRE : 0u));
    return input;
}
