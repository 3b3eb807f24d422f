// The game around the players: making it, starting, stepping, comparing.
//
// A tick: everybody shoots at where the others are, missiles fly, everybody moves and touches
// things, then deeds are applied. Since players do not hold each other up, that is the same as
// arena_step_one for each of them from the same moment, with deeds decided at its end: shots, then
// missiles, then touches. Who comes first in each changes from tick to tick, so that nobody gains
// by his number.
#include <string.h>

#include "private.h"

#define COOKIE UINT32_C(0x4152454e)
#define START_BULLETS 100
#define SPAWN_TRIES 3

_Static_assert(sizeof(ArenaPlayer) == 8 * sizeof(double) + 24 * sizeof(int32_t),
               "padding would make equal states differ as bytes");
_Static_assert(sizeof(ArenaState) == 4 * sizeof(int32_t) + ARENA_ITEM_CAPACITY * sizeof(ArenaItem) +
                                         ARENA_DOOR_CAPACITY * sizeof(ArenaDoor) +
                                         ARENA_TEAM_COUNT * sizeof(ArenaFlag) +
                                         ARENA_PLAYER_CAPACITY * sizeof(ArenaPlayer) +
                                         ARENA_MISSILE_CAPACITY * sizeof(ArenaMissile),
               "padding would make equal states differ as bytes");
_Static_assert(sizeof(ArenaMissile) == 6 * sizeof(double), "no padding");

// ---------------------------------------------------------------- making it

ArenaDef arena_def_default(void)
{
    ArenaDef def = {
        .map = ARENA_MAP_YARD,
        .player_count = 16,
        .judge = ARENA_JUDGE_SHOOTER,
        .respawn_ticks = 2 * ARENA_TICK_HZ,
        .seed = 1,
        .cookie = COOKIE,
    };
    return def;
}

static bool def_fits(const ArenaDef *def)
{
    return def->map >= 0 && def->map < ARENA_MAP_COUNT && def->player_count >= 2 &&
           def->player_count <= ARENA_PLAYER_CAPACITY && def->respawn_ticks >= 1 &&
           def->respawn_ticks <= 1000 && (!def->flags || def->map == ARENA_MAP_KEEP) &&
           (def->judge == ARENA_JUDGE_SHOOTER || def->judge == ARENA_JUDGE_TARGET);
}

FlResult arena_create(const ArenaDef *def, ArenaGame **game)
{
    FL_ASSERT(def->cookie == COOKIE);
    *game = NULL;
    if (!def_fits(def)) {
        return FL_BAD_VALUE;
    }
    ArenaGame *g = fl_alloc(&def->alloc, sizeof *g, _Alignof(ArenaGame));
    if (g == NULL) {
        return FL_NO_MEMORY;
    }
    g->def = *def;
    arena__map_build(g);
    arena__ways_build(g);
    *game = g;
    return FL_OK;
}

void arena_destroy(ArenaGame *game)
{
    if (game != NULL) {
        FlAlloc alloc = game->def.alloc;
        fl_free(&alloc, game, sizeof *game);
    }
}

const ArenaDef *arena_def(const ArenaGame *game)
{
    return &game->def;
}

double arena_half_extent(const ArenaGame *game)
{
    return game->half;
}

FlWorldDef arena_def_world(const ArenaDef *def, int32_t entity_capacity)
{
    double half = arena__map_half(def->map);
    uint64_t hash =
        number_mix(UINT64_C(0x4152454e), (uint64_t)def->map << 32 | (uint32_t)def->player_count);
    hash = number_mix(hash, (uint64_t)(def->flags ? 1 : 0) << 32 | (uint32_t)def->judge);
    hash = number_mix(number_mix(hash, (uint64_t)def->respawn_ticks), def->seed);
    FlWorldDef world = fl_world_def_default();
    bool plain = def->map == ARENA_MAP_PLAIN; // recorded players fall deep, and faster
    world.low = fl_vec3(-half, -half, plain ? -half : 0.0);
    world.high = fl_vec3(half, half, plain ? half : 511.0);
    world.precision = 0.125;
    world.top_speed = plain ? 2200.0 : ARENA_SPEED_BOUND;
    world.top_acceleration = 4000.0;
    world.top_turn_rate = 20.0;
    world.angle_precision = 0.005;
    world.entity_capacity = entity_capacity;
    world.application_version = (uint32_t)(hash >> 32);
    return world;
}

FlWorldDef arena_wire_world(const ArenaGame *game, int32_t entity_capacity)
{
    return arena_def_world(&game->def, entity_capacity);
}

// ---------------------------------------------------------------- lives

// How far the nearest enemy is from a place, squared.
static double enemy_distance(const ArenaGame *game, const ArenaState *view, int32_t player,
                             FlVec3 at)
{
    const ArenaPlayer *me = &view->player[player];
    double nearest = 1e12;
    for (int32_t i = 0; i < view->player_count; i++) {
        const ArenaPlayer *p = &view->player[i];
        double dx = p->x - at.x, dy = p->y - at.y;
        double square = dx * dx + dy * dy;
        if (i != player && p->alive != 0 && !arena__same_side(game, me, p) && square < nearest) {
            nearest = square;
        }
    }
    return nearest;
}

// Of a few places drawn the one with the enemies furthest off. With flags, on the own side.
static FlVec3 spawn_place(const ArenaGame *game, const ArenaState *view, int32_t player)
{
    const ArenaPlayer *p = &view->player[player];
    FlVec3 best = game->spawn[0];
    double best_distance = -1.0;
    for (uint64_t i = 0; i < SPAWN_TRIES; i++) {
        uint64_t draw = fl_random_at(game->def.seed, (uint64_t)player, p->life * SPAWN_TRIES + i);
        FlVec3 at = game->spawn[draw % (uint64_t)game->spawn_count];
        if (game->def.flags && (at.x > 0.0) != (p->team == 1)) {
            at.x = -at.x; // every place has its image
            at.y = -at.y;
        }
        double distance = enemy_distance(game, view, player, at);
        if (distance > best_distance) {
            best = at;
            best_distance = distance;
        }
    }
    return best;
}

static void spawn(ArenaState *state, int32_t player, FlVec3 at)
{
    ArenaPlayer *p = &state->player[player];
    p->x = at.x;
    p->y = at.y;
    p->z = at.z;
    p->vx = p->vy = p->vz = 0.0;
    p->yaw = fl_atan2(-at.y, -at.x); // towards the middle
    p->pitch = 0.0;
    p->alive = p->grounded = 1;
    p->health = 100;
    p->armour = 0;
    p->weapon = ARENA_WEAPON_GUN;
    p->owned = 1u << ARENA_WEAPON_MELEE | 1u << ARENA_WEAPON_GUN;
    memset(p->ammo, 0, sizeof p->ammo);
    p->ammo[ARENA_WEAPON_GUN] = START_BULLETS;
    p->carries = -1;
    p->ready_at = state->tick;
    p->asked = p->asked_until = 0;
    p->life++;
}

void arena_start(const ArenaGame *game, ArenaState *state)
{
    memset(state, 0, sizeof *state);
    state->player_count = game->def.player_count;
    for (int32_t i = 0; i < ARENA_TEAM_COUNT; i++) {
        state->flag[i].x = game->base[i].x;
        state->flag[i].y = game->base[i].y;
        state->flag[i].z = game->base[i].z;
        state->flag[i].carrier = -1;
    }
    for (int32_t i = 0; i < state->player_count; i++) {
        state->player[i].team = i % ARENA_TEAM_COUNT;
        spawn(state, i, spawn_place(game, state, i));
    }
}

// ---------------------------------------------------------------- steps

static bool rises(const ArenaState *view, int32_t player)
{
    const ArenaPlayer *p = &view->player[player];
    return p->alive == 0 && view->tick >= p->respawn_at;
}

// Moving and touching, or beginning a life at `place`.
static void player_step(const ArenaGame *game, ArenaState *view, int32_t player, ArenaInput input,
                        FlVec3 place, ArenaDeeds *deeds)
{
    ArenaPlayer *p = &view->player[player];
    if (p->alive != 0) {
        arena__move(game, view, p, input, ARENA_TICK_SECONDS);
    } else if (rises(view, player)) {
        spawn(view, player, place);
    }
    arena__touch(game, view, player, input, deeds);
}

static void flags_wait(const ArenaGame *game, ArenaState *state)
{
    for (int32_t i = 0; game->def.flags && i < ARENA_TEAM_COUNT; i++) {
        ArenaFlag *f = &state->flag[i];
        if (f->place == ARENA_FLAG_LYING && state->tick >= f->back_at) {
            f->place = ARENA_FLAG_HOME;
            f->moves++;
            f->x = game->base[i].x;
            f->y = game->base[i].y;
            f->z = game->base[i].z;
        }
    }
}

static void tick_end(const ArenaGame *game, ArenaState *state)
{
    state->tick++;
    flags_wait(game, state);
}

// Decides deeds in order, those that follow from others at the end.
static void deeds_settle(const ArenaGame *game, ArenaState *state, ArenaDeeds *deeds,
                         ArenaDeeds *done)
{
    for (int32_t i = 0; i < deeds->count; i++) {
        ArenaDeed deed = deeds->deed[i];
        if (arena_deed_apply(game, state, &deed, deeds) == ARENA_APPLIED) {
            arena_deed_learn(game, state, &deed, ARENA_APPLIED, NULL);
            if (done != NULL) {
                arena__deed_add(done, deed);
            }
        }
    }
    deeds->count = 0;
}

void arena_step(const ArenaGame *game, ArenaState *state, const ArenaInput *inputs,
                ArenaDeeds *done)
{
    ArenaDeeds deeds;
    deeds.count = 0;
    deeds.lost = 0;
    FlVec3 place[ARENA_PLAYER_CAPACITY];
    int32_t count = state->player_count, first = state->tick % count;
    for (int32_t i = 0; i < count; i++) {
        place[i] = rises(state, i) ? spawn_place(game, state, i) : fl_vec3(0.0, 0.0, 0.0);
    }
    for (int32_t k = 0; k < count; k++) {
        int32_t i = (first + k) % count;
        if (state->player[i].alive != 0) {
            arena__shoot(game, state, i, inputs[i], &deeds);
        }
    }
    for (int32_t k = 0; k < count && state->missile_count > 0; k++) {
        arena__missiles_fly(game, state, -1, (first + k) % count, &deeds);
        if (deeds.count > ARENA_DEEDS_CAPACITY / 2) {
            deeds_settle(game, state, &deeds, done); // a massacre: rather early than lost
        }
    }
    for (int32_t k = 0; k < count; k++) {
        int32_t i = (first + k) % count;
        player_step(game, state, i, inputs[i], place[i], &deeds);
    }
    deeds_settle(game, state, &deeds, done);
    tick_end(game, state);
}

void arena_step_one(const ArenaGame *game, ArenaState *view, int32_t player, ArenaInput input,
                    ArenaDeeds *deeds)
{
    FL_ASSERT(player >= 0 && player < view->player_count);
    FlVec3 place = fl_vec3(0.0, 0.0, 0.0);
    if (rises(view, player)) {
        place = spawn_place(game, view, player);
    }
    if (view->player[player].alive != 0) {
        arena__shoot(game, view, player, input, deeds);
    }
    arena__missiles_fly(game, view, player, -1, deeds);
    player_step(game, view, player, input, place, deeds);
    tick_end(game, view);
}

void arena_step_idle(const ArenaGame *game, ArenaState *view)
{
    ArenaDeeds deeds = {0};
    arena__missiles_fly(game, view, view->player_count, -1, &deeds); // nobody judges
    tick_end(game, view);
}

// ---------------------------------------------------------------- comparing and checking states

static uint64_t mix_double(uint64_t hash, double value)
{
    return number_mix(hash, number_bits(value));
}

static uint64_t mix_pair(uint64_t hash, int32_t high, int32_t low)
{
    return number_mix(hash, (uint64_t)(uint32_t)high << 32 | (uint32_t)low);
}

// Field by field, so that byte order does not matter.
static uint64_t mix_player(uint64_t hash, const ArenaPlayer *p)
{
    const double value[] = {p->x, p->y, p->z, p->vx, p->vy, p->vz, p->yaw, p->pitch};
    for (size_t i = 0; i < sizeof value / sizeof value[0]; i++) {
        hash = mix_double(hash, value[i]);
    }
    hash = mix_pair(hash, p->alive, p->grounded);
    hash = mix_pair(hash, p->health, p->armour);
    hash = mix_pair(hash, p->weapon, (int32_t)p->owned);
    hash = mix_pair(hash, p->team, p->carries);
    hash = mix_pair(hash, p->ready_at, p->respawn_at);
    hash = mix_pair(hash, p->asked, p->asked_until);
    hash = mix_pair(hash, p->score, (int32_t)p->kills);
    hash = mix_pair(hash, (int32_t)p->deaths, (int32_t)p->shots);
    hash = mix_pair(hash, (int32_t)p->jumps, (int32_t)p->life);
    hash = mix_pair(hash, (int32_t)p->captures, 0);
    for (int32_t i = 0; i < ARENA_WEAPON_COUNT; i += 2) {
        hash = mix_pair(hash, p->ammo[i], p->ammo[i + 1]);
    }
    return hash;
}

static uint64_t mix_things(uint64_t hash, const ArenaState *state)
{
    for (int32_t i = 0; i < ARENA_ITEM_CAPACITY; i++) {
        hash = mix_pair(hash, state->item[i].back_at, (int32_t)state->item[i].taken);
    }
    for (int32_t i = 0; i < ARENA_DOOR_CAPACITY; i++) {
        hash = mix_pair(hash, state->door[i].open_until, (int32_t)state->door[i].uses);
    }
    for (int32_t i = 0; i < ARENA_TEAM_COUNT; i++) {
        const ArenaFlag *f = &state->flag[i];
        hash = mix_double(mix_double(mix_double(hash, f->x), f->y), f->z);
        hash = mix_pair(mix_pair(hash, f->place, f->carrier), f->back_at, (int32_t)f->moves);
        hash = mix_pair(hash, (int32_t)f->captures, 0);
    }
    return hash;
}

uint64_t arena_hash(const ArenaState *state)
{
    uint64_t hash = mix_pair(UINT64_C(0x4152454e41), state->tick, state->player_count);
    hash = mix_pair(hash, state->missile_count, (int32_t)state->missiles_lost);
    hash = mix_things(hash, state);
    for (int32_t i = 0; i < state->player_count; i++) {
        hash = mix_player(hash, &state->player[i]);
    }
    for (int32_t i = 0; i < state->missile_count; i++) {
        const ArenaMissile *m = &state->missile[i];
        hash = mix_double(mix_double(mix_double(hash, m->x), m->y), m->z);
        hash = mix_double(mix_pair(hash, m->owner, m->born), m->reach);
        hash = mix_pair(number_mix(hash, m->number), m->yaw, m->pitch);
    }
    return hash;
}

static bool within(double value, double low, double high)
{
    return value >= low && value <= high; // false for NaN
}

bool arena__flag_may_lie(const ArenaGame *game, double x, double y, double z)
{
    return within(x, -game->half, game->half) && within(y, -game->half, game->half) &&
           within(z, 0.0, 1e4);
}

static bool player_valid(const ArenaGame *game, const ArenaPlayer *p, int32_t number)
{
    double most = game->half - ARENA_HALF_WIDTH;
    double square = p->vx * p->vx + p->vy * p->vy + p->vz * p->vz;
    bool valid =
        within(p->x, -most, most) && within(p->y, -most, most) && within(p->z, ARENA_FEET, 1e4) &&
        within(square, 0.0, 4e6) && within(p->yaw, -FL_PI, FL_PI) &&
        within(p->pitch, -FL_PI, FL_PI) && within(p->alive, 0, 1) && within(p->grounded, 0, 1) &&
        within(p->health, 0, ARENA_HEALTH_MAX) && within(p->armour, 0, ARENA_HEALTH_MAX) &&
        (p->alive != 0) == (p->health > 0) && within(p->weapon, 0, ARENA_WEAPON_COUNT - 1) &&
        p->owned < 1u << ARENA_WEAPON_COUNT && p->team == number % ARENA_TEAM_COUNT &&
        within(p->carries, -1, ARENA_TEAM_COUNT - 1) && within(p->score, -1e6, 1e6) &&
        p->unused == 0;
    for (int32_t i = 0; i < ARENA_WEAPON_COUNT; i++) {
        valid = valid && within(p->ammo[i], 0, 1000);
    }
    return valid;
}

static bool missile_valid(const ArenaGame *game, const ArenaState *state, const ArenaMissile *m)
{
    return within(m->x, -game->half, game->half) && within(m->y, -game->half, game->half) &&
           within(m->z, 0.0, 1e4) && within(m->reach, 0.0, 1e5) &&
           within(m->owner, 0, state->player_count - 1) && m->born <= state->tick + ARENA_TICK_HZ &&
           m->born >= state->tick - 2 * ARENA_MISSILE_TICKS;
}

bool arena_state_valid(const ArenaGame *game, const ArenaState *state)
{
    // A year of ticks is far from where sums of ticks overflow.
    bool valid = state->player_count == game->def.player_count &&
                 within(state->tick, 0, 365.0 * 86400 * ARENA_TICK_HZ) &&
                 within(state->missile_count, 0, ARENA_MISSILE_CAPACITY);
    for (int32_t i = 0; valid && i < state->player_count; i++) {
        valid = player_valid(game, &state->player[i], i);
    }
    for (int32_t i = 0; valid && i < state->missile_count; i++) {
        valid = missile_valid(game, state, &state->missile[i]);
    }
    for (int32_t i = 0; valid && i < ARENA_TEAM_COUNT; i++) {
        const ArenaFlag *f = &state->flag[i];
        valid = within(f->place, ARENA_FLAG_HOME, ARENA_FLAG_LYING) &&
                within(f->carrier, -1, state->player_count - 1) &&
                arena__flag_may_lie(game, f->x, f->y, f->z);
    }
    return valid;
}
