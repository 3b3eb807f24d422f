// Missiles: straight lines that everybody knows from their launch.
//
// A missile is born rounded as it travels, so its shooter flies the same one as everybody who is
// told of it. Who judges it is a rule of the game. The shooter's peer judges its own missiles
// against the others as it sees them. With ARENA_JUDGE_TARGET each peer judges all missiles against
// its own player: a hit is its to tell, with everybody near as it sees them; a missile that ends at
// a wall hurts whoever is near by his own judgement.
//
// A missile moves by one tick at a time, from where it is at view->tick to view->tick + 1.
#include <string.h>

#include "private.h"

#define RADIUS 4.0
#define SELF_SHARE 0.4 // of its own missile's damage

// ---------------------------------------------------------------- launching and telling

static FlVec3 missile_along(const ArenaMissile *m)
{
    return arena_direction(arena_angle(m->yaw), arena_angle(m->pitch));
}

FlVec3 arena_missile_position(const ArenaState *view, const ArenaMissile *missile)
{
    double way = (view->tick - missile->born) * (ARENA_MISSILE_SPEED * ARENA_TICK_SECONDS);
    way = number_clamp(way, 0.0, missile->reach);
    return fl_vec3_add_scaled(fl_vec3(missile->x, missile->y, missile->z), missile_along(missile),
                              way);
}

bool arena_missile_show(const ArenaGame *game, ArenaState *view, const ArenaMissile *missile)
{
    FL_ASSERT(missile->owner >= 0 && missile->owner < ARENA_PLAYER_CAPACITY);
    if (missile->owner >= view->player_count || view->missile_count == ARENA_MISSILE_CAPACITY ||
        missile->born > view->tick + ARENA_TICK_HZ ||
        missile->born < view->tick - ARENA_MISSILE_TICKS) {
        return false;
    }
    for (int32_t i = 0; i < view->missile_count; i++) {
        if (view->missile[i].owner == missile->owner &&
            view->missile[i].number == missile->number) {
            return false;
        }
    }
    ArenaMissile m = *missile;
    // Doors open and shut while it flies, so they are looked at tick by tick.
    m.reach = arena__ray(game, NULL, fl_vec3(m.x, m.y, m.z), missile_along(&m),
                         ARENA_MISSILE_SPEED * ARENA_TICK_SECONDS * ARENA_MISSILE_TICKS);
    view->missile[view->missile_count++] = m;
    return true;
}

static void missile_drop(ArenaState *view, int32_t index)
{
    view->missile_count--;
    memmove(&view->missile[index], &view->missile[index + 1],
            (size_t)(view->missile_count - index) * sizeof view->missile[0]);
    memset(&view->missile[view->missile_count], 0, sizeof view->missile[0]);
}

bool arena_missile_remove(ArenaState *view, int32_t owner, uint32_t number)
{
    for (int32_t i = 0; i < view->missile_count; i++) {
        if (view->missile[i].owner == owner && view->missile[i].number == number) {
            missile_drop(view, i);
            return true;
        }
    }
    return false;
}

static double eighths(double value)
{
    return floor(value * 8.0 + 0.5) / 8.0;
}

void arena__launch(const ArenaGame *game, ArenaState *view, int32_t player, ArenaInput input)
{
    const ArenaPlayer *p = &view->player[player];
    ArenaMissile missile = {
        .x = eighths(p->x),
        .y = eighths(p->y),
        .z = eighths(p->z + ARENA_EYE),
        .owner = player,
        .born = view->tick,
        .number = p->shots,
        .yaw = input.yaw,
        .pitch = arena_angle_steps(p->pitch),
    };
    if (!arena_missile_show(game, view, &missile)) {
        view->missiles_lost++;
    }
}

// ---------------------------------------------------------------- flying and hitting

// How far a point is from a player's box.
static double box_distance(const ArenaPlayer *p, FlVec3 at)
{
    double dx = arena__more(fabs(at.x - p->x) - ARENA_HALF_WIDTH, 0.0);
    double dy = arena__more(fabs(at.y - p->y) - ARENA_HALF_WIDTH, 0.0);
    double dz = arena__more(arena__more(p->z - ARENA_FEET - at.z, at.z - p->z - ARENA_HEAD), 0.0);
    return sqrt(dx * dx + dy * dy + dz * dz);
}

// One player near a missile's end.
static void splash(const ArenaGame *game, const ArenaState *view, const ArenaMissile *m,
                   int32_t target, FlVec3 end, bool direct, ArenaDeeds *deeds)
{
    const ArenaPlayer *p = &view->player[target];
    double distance = box_distance(p, end);
    bool spared = target != m->owner && arena__same_side(game, &view->player[m->owner], p);
    if (p->alive == 0 || distance >= ARENA_SPLASH || spared) {
        return;
    }
    int32_t full = arena__weapon_rule(ARENA_WEAPON_ROCKET)->damage;
    double points = direct ? full : full * (1.0 - distance / ARENA_SPLASH);
    points *= target == m->owner ? SELF_SHARE : 1.0;
    FlVec3 chest = fl_vec3(p->x, p->y, p->z + 8.0);
    if (points < 1.0 || (!direct && !arena_sees(game, view, end, chest))) {
        return;
    }
    FlVec3 away = fl_vec3_sub(chest, end);
    double length = fl_vec3_length(away);
    FlVec3 along = length > 1.0 ? fl_vec3_scale(away, 1.0 / length) : fl_vec3(0.0, 0.0, 1.0);
    arena__deed_add(deeds, arena__damage(view, m->owner, target, ARENA_WEAPON_ROCKET,
                                         (int32_t)floor(points + 0.5), along));
}

// Whom a missile may meet in the eyes of `self`: everybody but its owner, or only oneself.
static int32_t first_met(const ArenaGame *game, const ArenaState *view, const ArenaMissile *m,
                         int32_t self, FlVec3 from, FlVec3 along, double *length)
{
    bool all = self < 0 || (game->def.judge == ARENA_JUDGE_SHOOTER && m->owner == self);
    bool own = game->def.judge == ARENA_JUDGE_TARGET;
    int32_t met = -1;
    for (int32_t i = 0; i < view->player_count; i++) {
        if (i == m->owner || view->player[i].alive == 0 || !(all || (own && i == self))) {
            continue;
        }
        double way = arena__player_ray(&view->player[i], from, along, *length, RADIUS);
        if (way < *length) {
            *length = way;
            met = i;
        }
    }
    return met;
}

// A missile's next tick. True: it has ended.
static bool missile_fly(const ArenaGame *game, ArenaState *view, const ArenaMissile *m,
                        int32_t self, ArenaDeeds *deeds)
{
    const double step = ARENA_MISSILE_SPEED * ARENA_TICK_SECONDS;
    if (view->tick < m->born) {
        return false; // told of before its time, by a clock that is ahead
    }
    FlVec3 along = missile_along(m);
    double gone = (view->tick - m->born) * step;
    FlVec3 from = fl_vec3_add_scaled(fl_vec3(m->x, m->y, m->z), along, arena__less(gone, m->reach));
    double length = arena__less(step, arena__more(m->reach - gone, 0.0));
    bool ends = gone + step >= m->reach;
    if (game->door_count > 0) {
        double way = arena__ray(game, view, from, along, length);
        ends = ends || way < length;
        length = way;
    }
    int32_t met = first_met(game, view, m, self, from, along, &length);
    if (met < 0 && !ends) {
        return false;
    }
    // A little back, so that the wall it met does not hide everybody from it.
    FlVec3 end =
        fl_vec3_add_scaled(from, along, met >= 0 ? length : arena__more(length - 1.0, 0.0));
    bool all = self < 0 || (game->def.judge == ARENA_JUDGE_SHOOTER ? m->owner == self : met >= 0);
    for (int32_t i = 0; i < view->player_count; i++) {
        if (all || (game->def.judge == ARENA_JUDGE_TARGET && i == self)) {
            splash(game, view, m, i, end, i == met, deeds);
        }
    }
    return true;
}

void arena__missiles_fly(const ArenaGame *game, ArenaState *view, int32_t self, int32_t owner,
                         ArenaDeeds *deeds)
{
    for (int32_t i = 0; i < view->missile_count;) {
        ArenaMissile missile = view->missile[i];
        bool meant = owner < 0 || missile.owner == owner;
        if (meant && missile_fly(game, view, &missile, self, deeds)) {
            missile_drop(view, i);
        } else {
            i++;
        }
    }
}
