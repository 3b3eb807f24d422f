// What the files of the arena share. See arena.h.
#ifndef ARENA_PRIVATE_H
#define ARENA_PRIVATE_H

#include "arena.h"

#include "picture/numbers.h"

#define ARENA_TICK_SECONDS (1.0 / ARENA_TICK_HZ)

#define ARENA_BOX_CAPACITY 40
#define ARENA_SPAWN_CAPACITY 16

/// What a walker takes without a jump, and with one. A jump's apex is 45.6.
#define ARENA_STEP_UP 18.0
#define ARENA_JUMP_UP 40.0

/// Places on a side of the grid in which ways are found.
#define ARENA_GRID 40
#define ARENA_CELL_COUNT (ARENA_GRID * ARENA_GRID)

#define ARENA_WEAPON_SWITCH_TICKS 4
#define ARENA_DOOR_TICKS 60
#define ARENA_FLAG_TICKS 600 // until a lying flag goes home by itself
#define ARENA_MISSILE_TICKS 100
#define ARENA_CAPTURE_SCORE 5
#define ARENA_TOUCH 36.0 // from a player to a thing that it takes, along each axis of the ground

typedef struct ArenaThing {
    FlVec3 position;
    ArenaItemKind kind;
    int32_t unused;
} ArenaThing;

struct ArenaGame {
    ArenaDef def;
    double half;
    int32_t box_count, door_count, item_count, spawn_count;
    ArenaBox box[ARENA_BOX_CAPACITY];
    ArenaBox door[ARENA_DOOR_CAPACITY];
    ArenaThing item[ARENA_ITEM_CAPACITY];
    FlVec3 spawn[ARENA_SPAWN_CAPACITY];
    FlVec3 base[ARENA_TEAM_COUNT];
    uint8_t links[ARENA_CELL_COUNT]; ///< Bit s: neighbour s can be walked to.
    /// steps[to][from]: how many, or ARENA_NO_WAY.
    uint8_t steps[ARENA_CELL_COUNT][ARENA_CELL_COUNT];
};

#define ARENA_NO_WAY 255

/// One row of ARENA_WEAPON_TABLE and of ARENA_ITEM_TABLE.
typedef struct ArenaWeaponRule {
    int32_t damage, ticks;
    double range, spread;
} ArenaWeaponRule;

typedef struct ArenaItemRule {
    int32_t amount, most, ticks;
} ArenaItemRule;

const ArenaWeaponRule *arena__weapon_rule(int32_t weapon);
const ArenaItemRule *arena__item_rule(ArenaItemKind kind);

/// Half of its extent.
double arena__map_half(ArenaMap map);

/// Fills boxes, doors, items and places to start from.
void arena__map_build(ArenaGame *game);

/// How far a point gets from `from` along the unit vector `along`, at most `length`, before a
/// block, a shut door, the floor or the border stops it. `view` NULL: doors count as open.
double arena__ray(const ArenaGame *game, const ArenaState *view, FlVec3 from, FlVec3 along,
                  double length);

/// Finds all ways on the map.
void arena__ways_build(ArenaGame *game);

/// The place to walk straight to on the way from `from` to `to`; blocks up to height `over` are no
/// obstacle.
FlVec3 arena__way(const ArenaGame *game, FlVec3 from, FlVec3 to, double over);

/// Moves a player by `seconds`, up to a tick, as its input says. The view says which doors are
/// open.
void arena__move(const ArenaGame *game, const ArenaState *view, ArenaPlayer *player,
                 ArenaInput input, double seconds);

/// Nobody is faster than ARENA_SPEED_BOUND.
void arena__hold_speed(ArenaPlayer *player);

/// What a player does with its weapon in this tick.
void arena__shoot(const ArenaGame *game, ArenaState *view, int32_t player, ArenaInput input,
                  ArenaDeeds *deeds);

/// Where a line of `length` enters a player's box, wider by `margin`; `length` if it does not.
double arena__player_ray(const ArenaPlayer *player, FlVec3 from, FlVec3 along, double length,
                         double margin);

/// Damage to a player as the view shows it, with the push that comes with it.
ArenaDeed arena__damage(const ArenaState *view, int32_t actor, int32_t target, int32_t weapon,
                        int32_t points, FlVec3 along);

/// Sends a missile where the player looks.
void arena__launch(const ArenaGame *game, ArenaState *view, int32_t player, ArenaInput input);

/// Missiles fly on by one tick, to tick view->tick + 1. `self`: the player whose peer looks on and
/// judges what is its to judge; -1: everybody's. `owner`: only this player's missiles; -1: all.
void arena__missiles_fly(const ArenaGame *game, ArenaState *view, int32_t self, int32_t owner,
                         ArenaDeeds *deeds);

/// What a player touches after it moved: items, doors, flags.
void arena__touch(const ArenaGame *game, ArenaState *view, int32_t player, ArenaInput input,
                  ArenaDeeds *deeds);

/// Would the item do the player any good?
bool arena__item_useful(const ArenaGame *game, const ArenaPlayer *player, int32_t item);

static inline void arena__deed_add(ArenaDeeds *deeds, ArenaDeed deed)
{
    if (deeds->count < ARENA_DEEDS_CAPACITY) {
        deeds->deed[deeds->count++] = deed;
    } else {
        deeds->lost++;
    }
}

/// As fmin and fmax, but the same for zeros of either sign with every compiler.
static inline double arena__less(double a, double b)
{
    return b < a ? b : a;
}

static inline double arena__more(double a, double b)
{
    return b > a ? b : a;
}

static inline int32_t arena__least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline FlVec3 arena__position(const ArenaPlayer *player)
{
    return fl_vec3(player->x, player->y, player->z);
}

static inline bool arena__same_side(const ArenaGame *game, const ArenaPlayer *a,
                                    const ArenaPlayer *b)
{
    return game->def.flags && a->team == b->team;
}

/// What characters like, 0 … 9.
typedef struct ArenaCharacter {
    const char *name;
    int8_t liking[ARENA_WEAPON_COUNT];
    int8_t aggression; // goes for others rather than for things
    int8_t camping;    // waits where it is good
    int8_t hunger;     // collects things
    int8_t nimbleness; // strafes and jumps
    int8_t steadiness; // waits for a sure shot rather than spraying
    int8_t unused[3];
} ArenaCharacter;

const ArenaCharacter *arena__character(int32_t character);

/// Is this a place within the map?
bool arena__flag_may_lie(const ArenaGame *game, double x, double y, double z);

#endif
