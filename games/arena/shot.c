// Weapons: what is hit, by whoever looks.
//
// A shot needs no time and is decided in the shooter's view, at the moment of firing: a line from
// the eyes along the aim, until a wall, a shut door or somebody's box. Missiles are in missile.c.
#include "private.h"

#define PUSH_PER_DAMAGE 6.0 // u/s
#define PUSH_MOST 400.0

FlVec3 arena_player_eye(const ArenaPlayer *player)
{
    return fl_vec3(player->x, player->y, player->z + ARENA_EYE);
}

FlVec3 arena_direction(double yaw, double pitch)
{
    double sin_yaw, cos_yaw, sin_pitch, cos_pitch;
    fl_sincos(yaw, &sin_yaw, &cos_yaw);
    fl_sincos(pitch, &sin_pitch, &cos_pitch);
    return fl_vec3(cos_pitch * cos_yaw, cos_pitch * sin_yaw, -sin_pitch);
}

// ---------------------------------------------------------------- lines against players

double arena__player_ray(const ArenaPlayer *player, FlVec3 from, FlVec3 along, double length,
                         double margin)
{
    FlVec3 middle = fl_vec3(player->x, player->y, player->z + 0.5 * (ARENA_HEAD - ARENA_FEET));
    FlVec3 way = fl_vec3_sub(middle, from);
    double ahead = fl_vec3_dot(way, along);
    double reach = 40.0 + margin; // beyond the corners of the box
    double aside = fl_vec3_dot(way, way) - ahead * ahead;
    if (ahead < -reach || ahead > length + reach || aside > reach * reach) {
        return length; // nearly always
    }
    double half[3] = {ARENA_HALF_WIDTH + margin, ARENA_HALF_WIDTH + margin,
                      0.5 * (ARENA_HEAD + ARENA_FEET) + margin};
    const double offset[3] = {way.x, way.y, way.z}, speed[3] = {along.x, along.y, along.z};
    double enter = 0.0, leave = length;
    for (int32_t i = 0; i < 3; i++) {
        if (fabs(speed[i]) < 1e-12) {
            if (fabs(offset[i]) > half[i]) {
                return length;
            }
            continue;
        }
        double a = (offset[i] - half[i]) / speed[i], b = (offset[i] + half[i]) / speed[i];
        enter = arena__more(enter, arena__less(a, b));
        leave = arena__less(leave, arena__more(a, b));
    }
    return enter < leave ? enter : length;
}

ArenaTrace arena_shot_trace(const ArenaGame *game, const ArenaState *view, int32_t except,
                            FlVec3 from, FlVec3 along, double length)
{
    ArenaTrace trace = {.length = length, .player = -1};
    for (int32_t i = 0; i < view->player_count; i++) {
        if (i == except || view->player[i].alive == 0) {
            continue;
        }
        double way = arena__player_ray(&view->player[i], from, along, trace.length, 0.0);
        if (way < trace.length) {
            trace.length = way;
            trace.player = i;
        }
    }
    double wall = arena__ray(game, view, from, along, trace.length);
    if (wall < trace.length) {
        trace.length = wall;
        trace.player = -1;
    }
    trace.end = fl_vec3_add_scaled(from, along, trace.length);
    return trace;
}

bool arena_deed_plausible(const ArenaGame *game, const ArenaDeed *deed, FlVec3 actor, FlVec3 target)
{
    const double flight = ARENA_MISSILE_SPEED * ARENA_TICK_SECONDS * ARENA_MISSILE_TICKS;
    if (deed->kind != ARENA_DEED_DAMAGE) {
        return true;
    }
    bool missile = deed->weapon == ARENA_WEAPON_ROCKET;
    double reach = missile ? flight + ARENA_SPLASH : arena__weapon_rule(deed->weapon)->range;
    double distance = fl_vec3_distance(actor, target);
    if (!(distance <= reach + ARENA_EYE + ARENA_HEAD + ARENA_HALF_WIDTH)) { // NaN too
        return false;
    }
    FlVec3 eye = fl_vec3(actor.x, actor.y, actor.z + ARENA_EYE);
    // The eight corners and the middle, a little inside: a box behind an edge shows one of them.
    for (int32_t i = 0; i < 9 && !missile; i++) {
        double wide = i == 8 ? 0.0 : ARENA_HALF_WIDTH - 0.5;
        double high = i == 8 ? 0.0 : (i & 4) != 0 ? ARENA_HEAD - 0.5 : 0.5 - ARENA_FEET;
        FlVec3 part = fl_vec3((i & 1) != 0 ? wide : -wide, (i & 2) != 0 ? wide : -wide, high);
        if (arena_sees(game, NULL, eye, fl_vec3_add(target, part))) {
            return true;
        }
    }
    return missile;
}

bool arena_deed_meets(const ArenaGame *game, const ArenaDeed *deed, FlVec3 actor, FlVec3 target,
                      double margin)
{
    if (deed->kind != ARENA_DEED_DAMAGE || deed->weapon == ARENA_WEAPON_ROCKET) {
        return true;
    }
    FlVec3 push = fl_vec3(deed->x, deed->y, deed->z);
    double strength = fl_vec3_length(push);
    if (!(strength >= 1.0) || !arena_deed_plausible(game, deed, actor, target)) {
        return false;
    }
    FlVec3 eye = fl_vec3(actor.x, actor.y, actor.z + ARENA_EYE);
    ArenaPlayer there = {.x = target.x, .y = target.y, .z = target.z};
    double rounded = fl_vec3_distance(eye, target) / strength; // of a push of whole units
    double range = arena__weapon_rule(deed->weapon)->range + margin;
    return arena__player_ray(&there, eye, fl_vec3_scale(push, 1.0 / strength), range,
                             margin + rounded) < range;
}

int32_t arena_player_aims_at(const ArenaState *view, int32_t player, double *angle)
{
    FL_ASSERT(player >= 0 && player < view->player_count);
    const ArenaPlayer *me = &view->player[player];
    FlVec3 along = arena_direction(me->yaw, me->pitch), eye = arena_player_eye(me);
    double best = 0.70710678118654752; // the cosine of 45 degrees
    int32_t target = -1;
    for (int32_t i = 0; i < view->player_count; i++) {
        FlVec3 way = fl_vec3_sub(arena__position(&view->player[i]), eye);
        double cosine = fl_vec3_dot(way, along) / fl_vec3_length(way); // NaN on the same spot
        if (i != player && view->player[i].alive != 0 && cosine > best) {
            best = cosine;
            target = i;
        }
    }
    if (angle != NULL) {
        double sine = sqrt(arena__more(1.0 - best * best, 0.0));
        *angle = target >= 0 ? fl_atan2(sine, best) : FL_PI;
    }
    return target;
}

#define FOLLOWS_SECONDS 0.25

int32_t arena_player_follows(const ArenaState *view, int32_t player, double *angles)
{
    FL_ASSERT(player >= 0 && player < view->player_count);
    const ArenaPlayer *me = &view->player[player];
    FlVec3 along = arena_direction(me->yaw, me->pitch), eye = arena_player_eye(me);
    double share = ARENA_TICK_SECONDS / FOLLOWS_SECONDS;
    double best = 0.25 * FL_PI;
    int32_t target = -1;
    for (int32_t i = 0; i < view->player_count; i++) {
        FlVec3 way = fl_vec3_sub(arena__position(&view->player[i]), eye);
        double far = fl_vec3_length(way);
        if (i == player || view->player[i].alive == 0 || !(far > 0.0)) {
            angles[i] = FL_PI;
            continue;
        }
        double cosine = number_clamp(fl_vec3_dot(way, along) / far, -1.0, 1.0);
        double turn = fl_atan2(sqrt(1.0 - cosine * cosine), cosine);
        angles[i] += share * (turn - angles[i]);
        if (angles[i] < best) {
            best = angles[i];
            target = i;
        }
    }
    return target;
}

// ---------------------------------------------------------------- firing

static int32_t whole(double value)
{
    return (int32_t)floor(value + 0.5);
}

ArenaDeed arena__damage(const ArenaState *view, int32_t actor, int32_t target, int32_t weapon,
                        int32_t points, FlVec3 along)
{
    double push = arena__less(PUSH_PER_DAMAGE * points, PUSH_MOST);
    ArenaDeed deed = {
        .kind = ARENA_DEED_DAMAGE,
        .actor = actor,
        .target = target,
        .which = view->player[target].life,
        .weapon = weapon,
        .amount = points,
        .x = whole(push * along.x),
        .y = whole(push * along.y),
        .z = whole(push * along.z),
    };
    return deed;
}

// Where a shot goes: a little beside the aim, by a draw that only the shot's number decides.
static FlVec3 strayed(const ArenaGame *game, const ArenaPlayer *p, int32_t player, double spread)
{
    if (spread <= 0.0) {
        return arena_direction(p->yaw, p->pitch);
    }
    uint64_t bits = fl_random_at(game->def.seed, UINT64_C(0x5407) + (uint64_t)player, p->shots);
    double aside = (double)(bits & 0xffff) / 32768.0 - 1.0;
    double above = (double)(bits >> 16 & 0xffff) / 32768.0 - 1.0;
    return arena_direction(p->yaw + spread * aside, p->pitch + spread * above);
}

static void choose_weapon(ArenaState *view, ArenaPlayer *p, int32_t weapon)
{
    bool has = weapon < ARENA_WEAPON_COUNT && (p->owned >> weapon & 1u) != 0;
    if (has && weapon != p->weapon) {
        p->weapon = weapon;
        int32_t ready = view->tick + ARENA_WEAPON_SWITCH_TICKS;
        p->ready_at = p->ready_at > ready ? p->ready_at : ready;
    }
}

void arena__shoot(const ArenaGame *game, ArenaState *view, int32_t player, ArenaInput input,
                  ArenaDeeds *deeds)
{
    ArenaPlayer *p = &view->player[player];
    choose_weapon(view, p, input.weapon);
    bool empty = p->weapon != ARENA_WEAPON_MELEE && p->ammo[p->weapon] <= 0;
    if ((input.buttons & ARENA_BUTTON_FIRE) == 0 || view->tick < p->ready_at || empty) {
        return;
    }
    p->yaw = arena_angle(input.yaw);
    p->pitch = number_clamp(arena_angle(input.pitch), -0.5 * FL_PI, 0.5 * FL_PI);
    const ArenaWeaponRule *rule = arena__weapon_rule(p->weapon);
    p->ready_at = view->tick + rule->ticks;
    p->ammo[p->weapon] -= p->weapon == ARENA_WEAPON_MELEE ? 0 : 1;
    p->shots++;
    if (p->weapon == ARENA_WEAPON_ROCKET) {
        arena__launch(game, view, player, input);
        return;
    }
    FlVec3 along = strayed(game, p, player, rule->spread);
    ArenaTrace trace =
        arena_shot_trace(game, view, player, arena_player_eye(p), along, rule->range);
    if (trace.player >= 0 && !arena__same_side(game, p, &view->player[trace.player])) {
        arena__deed_add(deeds,
                        arena__damage(view, player, trace.player, p->weapon, rule->damage, along));
    }
}
