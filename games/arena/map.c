// Maps: what stands where, and what a ray meets there.
//
// A map is a floor with blocks on it, doors, items, places to start from and two bases. Blocks are
// axis-aligned and reach from the floor to their top, so the world is 2.5-dimensional: one can
// stand on things, never under them. Maps are listed as one quarter or one half and mirrored, so
// that no place is better than its mirror image.
//
// Eyes are 50 above the feet: who stands behind a crate (32) is seen all the same.
#include <string.h>

#include "private.h"

#define CRATE 32.0
#define PILLAR 220.0
#define WALL 160.0

static const struct {
    const char *name;
    double half;
} MAPS[ARENA_MAP_COUNT] = {
#define ROW(name, word, half) [ARENA_MAP_##name] = {word, half},
    ARENA_MAP_TABLE(ROW)
#undef ROW
};

static const char *const WEAPON_NAMES[ARENA_WEAPON_COUNT] = {
#define ROW(name, word, damage, ticks, range, spread) [ARENA_WEAPON_##name] = word,
    ARENA_WEAPON_TABLE(ROW)
#undef ROW
};

static const ArenaWeaponRule WEAPON_RULES[ARENA_WEAPON_COUNT] = {
#define ROW(name, word, damage, ticks, range, spread)                                              \
    [ARENA_WEAPON_##name] = {damage, ticks, range, spread},
    ARENA_WEAPON_TABLE(ROW)
#undef ROW
};

static const char *const ITEM_NAMES[ARENA_ITEM_KIND_COUNT] = {
#define ROW(name, word, amount, most, ticks) [ARENA_ITEM_##name] = word,
    ARENA_ITEM_TABLE(ROW)
#undef ROW
};

static const ArenaItemRule ITEM_RULES[ARENA_ITEM_KIND_COUNT] = {
#define ROW(name, word, amount, most, ticks) [ARENA_ITEM_##name] = {amount, most, ticks},
    ARENA_ITEM_TABLE(ROW)
#undef ROW
};

const char *arena_map_name(ArenaMap map)
{
    return map >= 0 && map < ARENA_MAP_COUNT ? MAPS[map].name : "unknown";
}

FlResult arena_map_find(const char *name, ArenaMap *map)
{
    *map = ARENA_MAP_YARD;
    for (int32_t i = 0; i < ARENA_MAP_COUNT; i++) {
        if (strcmp(name, MAPS[i].name) == 0) {
            *map = (ArenaMap)i;
            return FL_OK;
        }
    }
    return FL_NOT_FOUND;
}

const char *arena_weapon_name(ArenaWeapon weapon)
{
    return weapon >= 0 && weapon < ARENA_WEAPON_COUNT ? WEAPON_NAMES[weapon] : "unknown";
}

const char *arena_item_name(ArenaItemKind kind)
{
    return kind >= 0 && kind < ARENA_ITEM_KIND_COUNT ? ITEM_NAMES[kind] : "unknown";
}

const ArenaWeaponRule *arena__weapon_rule(int32_t weapon)
{
    FL_ASSERT(weapon >= 0 && weapon < ARENA_WEAPON_COUNT);
    return &WEAPON_RULES[weapon];
}

const ArenaItemRule *arena__item_rule(ArenaItemKind kind)
{
    return &ITEM_RULES[kind];
}

// ---------------------------------------------------------------- building

static void box_add(ArenaGame *game, double low_x, double low_y, double high_x, double high_y,
                    double top)
{
    FL_ASSERT(game->box_count < ARENA_BOX_CAPACITY);
    game->box[game->box_count++] = (ArenaBox){low_x, low_y, high_x, high_y, top};
}

// The box and its image on the other side of the y axis, turned by half a turn.
static void box_pair(ArenaGame *game, double low_x, double low_y, double high_x, double high_y,
                     double top)
{
    box_add(game, low_x, low_y, high_x, high_y, top);
    box_add(game, -high_x, -high_y, -low_x, -low_y, top);
}

// The same four times, turned by quarters.
static void box_four(ArenaGame *game, double low_x, double low_y, double high_x, double high_y,
                     double top)
{
    box_pair(game, low_x, low_y, high_x, high_y, top);
    box_pair(game, -high_y, low_x, -low_y, high_x, top);
}

// The height of what one stands on there.
static double height_at(const ArenaGame *game, double x, double y)
{
    double top = 0.0;
    for (int32_t i = 0; i < game->box_count; i++) {
        const ArenaBox *b = &game->box[i];
        if (x > b->low_x && x < b->high_x && y > b->low_y && y < b->high_y && b->top > top) {
            top = b->top;
        }
    }
    return top;
}

static FlVec3 standing_at(const ArenaGame *game, double x, double y)
{
    return fl_vec3(x, y, height_at(game, x, y) + ARENA_FEET);
}

static void item_add(ArenaGame *game, ArenaItemKind kind, double x, double y)
{
    FL_ASSERT(game->item_count < ARENA_ITEM_CAPACITY);
    game->item[game->item_count++] = (ArenaThing){standing_at(game, x, y), kind, 0};
}

static void item_pair(ArenaGame *game, ArenaItemKind kind, double x, double y)
{
    item_add(game, kind, x, y);
    item_add(game, kind, -x, -y);
}

static void spawn_four(ArenaGame *game, double x, double y)
{
    const double place[4][2] = {{x, y}, {-x, -y}, {-y, x}, {y, -x}};
    for (int32_t i = 0; i < 4; i++) {
        FL_ASSERT(game->spawn_count < ARENA_SPAWN_CAPACITY);
        game->spawn[game->spawn_count++] = standing_at(game, place[i][0], place[i][1]);
    }
}

static void yard_build(ArenaGame *game)
{
    box_four(game, 300.0, 260.0, 428.0, 324.0, CRATE);
    box_four(game, 700.0, -60.0, 764.0, 68.0, CRATE);
    box_four(game, 820.0, 700.0, 948.0, 828.0, CRATE);
    box_four(game, 516.0, 576.0, 548.0, 608.0, PILLAR);
    box_add(game, -96.0, -96.0, 96.0, 96.0, CRATE);
    item_add(game, ARENA_ITEM_MEDKIT, 0.0, 0.0);
    item_pair(game, ARENA_ITEM_HEALTH, 364.0, 400.0);
    item_pair(game, ARENA_ITEM_HEALTH, -400.0, 364.0);
    item_pair(game, ARENA_ITEM_HEALTH, 1100.0, 120.0);
    item_pair(game, ARENA_ITEM_HEALTH, -120.0, 1100.0);
    item_pair(game, ARENA_ITEM_ARMOUR, 884.0, 764.0);
    item_pair(game, ARENA_ITEM_ARMOUR, -764.0, 884.0);
    item_pair(game, ARENA_ITEM_BULLETS, 600.0, 300.0);
    item_pair(game, ARENA_ITEM_BULLETS, -300.0, 600.0);
    item_pair(game, ARENA_ITEM_SNIPER, 732.0, 4.0);
    item_pair(game, ARENA_ITEM_SNIPER, -1050.0, -1050.0);
    item_pair(game, ARENA_ITEM_ROCKET, -4.0, 732.0);
    item_pair(game, ARENA_ITEM_ROCKET, 1050.0, -1050.0);
    spawn_four(game, 1150.0, 400.0);
    spawn_four(game, 1150.0, -500.0);
    spawn_four(game, 600.0, 900.0);
    spawn_four(game, 520.0, 60.0);
}

static void door_add(ArenaGame *game, double low_x, double low_y, double high_x, double high_y)
{
    FL_ASSERT(game->door_count < ARENA_DOOR_CAPACITY);
    game->door[game->door_count++] = (ArenaBox){low_x, low_y, high_x, high_y, WALL};
}

// Each base is a room with a door towards the middle and two gaps at its sides.
static void keep_build(ArenaGame *game)
{
    box_pair(game, -1280.0, 320.0, -1010.0, 352.0, WALL);
    box_pair(game, -1280.0, -352.0, -1010.0, -320.0, WALL);
    box_pair(game, -864.0, -352.0, -832.0, -64.0, WALL);
    box_pair(game, -864.0, 64.0, -832.0, 352.0, WALL);
    door_add(game, -860.0, -64.0, -836.0, 64.0);
    door_add(game, 836.0, -64.0, 860.0, 64.0);
    box_pair(game, -480.0, -900.0, -448.0, -260.0, WALL);
    box_pair(game, -480.0, 260.0, -448.0, 900.0, WALL);
    box_pair(game, -200.0, 500.0, 200.0, 532.0, WALL);
    box_add(game, -128.0, -128.0, 128.0, 128.0, PILLAR);
    box_pair(game, -960.0, 700.0, -800.0, 860.0, PILLAR);
    box_pair(game, -960.0, -860.0, -800.0, -700.0, PILLAR);
    box_pair(game, -680.0, -48.0, -616.0, 48.0, CRATE);
    box_pair(game, -64.0, 800.0, 64.0, 896.0, CRATE);
    item_pair(game, ARENA_ITEM_MEDKIT, 0.0, 700.0);
    item_pair(game, ARENA_ITEM_HEALTH, -300.0, 0.0);
    item_pair(game, ARENA_ITEM_HEALTH, -700.0, 500.0);
    item_pair(game, ARENA_ITEM_HEALTH, -700.0, -500.0);
    item_pair(game, ARENA_ITEM_HEALTH, -1200.0, 220.0);
    item_pair(game, ARENA_ITEM_ARMOUR, -648.0, 0.0);
    item_pair(game, ARENA_ITEM_ARMOUR, -1150.0, 1100.0);
    item_pair(game, ARENA_ITEM_BULLETS, -300.0, 700.0);
    item_pair(game, ARENA_ITEM_BULLETS, -1200.0, -220.0);
    item_pair(game, ARENA_ITEM_SNIPER, 0.0, 848.0);
    item_pair(game, ARENA_ITEM_SNIPER, -1150.0, -1100.0);
    item_pair(game, ARENA_ITEM_ROCKET, 0.0, 300.0);
    item_pair(game, ARENA_ITEM_ROCKET, -620.0, 700.0);
    spawn_four(game, 1180.0, 600.0);
    spawn_four(game, 1180.0, 900.0);
    spawn_four(game, 1000.0, -560.0);
    spawn_four(game, 650.0, -1050.0);
    game->base[0] = standing_at(game, -1120.0, 0.0);
    game->base[1] = standing_at(game, 1120.0, 0.0);
}

static void plain_build(ArenaGame *game)
{
    for (int32_t i = 1; i <= ARENA_SPAWN_CAPACITY / 4; i++) {
        spawn_four(game, 300.0 * i, 100.0 * i);
    }
}

void arena__map_build(ArenaGame *game)
{
    game->half = MAPS[game->def.map].half;
    switch (game->def.map) {
    case ARENA_MAP_YARD:
        yard_build(game);
        break;
    case ARENA_MAP_KEEP:
        keep_build(game);
        break;
    case ARENA_MAP_PLAIN:
    case ARENA_MAP_COUNT:
        plain_build(game);
        break;
    }
}

// ---------------------------------------------------------------- rays

// The part of the ray that lies between two parallel planes, cut out of [*enter, *leave].
static bool slab(double from, double inverse, double low, double high, double *enter, double *leave)
{
    double a = (low - from) * inverse, b = (high - from) * inverse;
    double first = a < b ? a : b, last = a < b ? b : a;
    *enter = first > *enter ? first : *enter; // in a plane and along it: no hit
    *leave = last < *leave ? last : *leave;
    return *enter < *leave;
}

static double box_ray(const ArenaBox *box, FlVec3 from, FlVec3 inverse, double length)
{
    double enter = 0.0, leave = length;
    if (slab(from.x, inverse.x, box->low_x, box->high_x, &enter, &leave) &&
        slab(from.y, inverse.y, box->low_y, box->high_y, &enter, &leave) &&
        slab(from.z, inverse.z, -1e6, box->top, &enter, &leave)) {
        return enter;
    }
    return length;
}

// Below zero and without a border the plain has no end: recorded players fall deep.
static double bounds_ray(const ArenaGame *game, FlVec3 from, FlVec3 along, double length)
{
    if (along.z < 0.0 && from.z >= 0.0 && -from.z / along.z < length) {
        length = -from.z / along.z;
    }
    const double axis[2][2] = {{from.x, along.x}, {from.y, along.y}};
    for (int32_t i = 0; i < 2; i++) {
        double room = axis[i][1] > 0.0 ? game->half - axis[i][0] : game->half + axis[i][0];
        double speed = fabs(axis[i][1]);
        if (room < 0.0) {
            room = 0.0;
        }
        if (speed > 0.0 && room / speed < length) {
            length = room / speed;
        }
    }
    return length;
}

double arena__ray(const ArenaGame *game, const ArenaState *view, FlVec3 from, FlVec3 along,
                  double length)
{
    length = bounds_ray(game, from, along, length);
    FlVec3 inverse = fl_vec3(1.0 / along.x, 1.0 / along.y, 1.0 / along.z);
    for (int32_t i = 0; i < game->box_count; i++) {
        length = box_ray(&game->box[i], from, inverse, length);
    }
    for (int32_t i = 0; view != NULL && i < game->door_count; i++) {
        if (!arena_door_open(view, i)) {
            length = box_ray(&game->door[i], from, inverse, length);
        }
    }
    return length;
}

bool arena_sees(const ArenaGame *game, const ArenaState *view, FlVec3 from, FlVec3 to)
{
    FlVec3 way = fl_vec3_sub(to, from);
    double length = fl_vec3_length(way);
    if (!(length > 0.0)) {
        return true;
    }
    return arena__ray(game, view, from, fl_vec3_scale(way, 1.0 / length), length) >= length;
}

// ---------------------------------------------------------------- asking for places

int32_t arena_item_count(const ArenaGame *game)
{
    return game->item_count;
}

int32_t arena_door_count(const ArenaGame *game)
{
    return game->door_count;
}

ArenaItemKind arena_item_kind(const ArenaGame *game, int32_t item)
{
    FL_ASSERT(item >= 0 && item < game->item_count);
    return game->item[item].kind;
}

double arena__map_half(ArenaMap map)
{
    FL_ASSERT(map >= 0 && map < ARENA_MAP_COUNT);
    return MAPS[map].half;
}

int32_t arena_box_count(const ArenaGame *game)
{
    return game->box_count;
}

ArenaBox arena_box(const ArenaGame *game, int32_t box)
{
    FL_ASSERT(box >= 0 && box < game->box_count);
    return game->box[box];
}

FlVec3 arena_item_position(const ArenaGame *game, int32_t item)
{
    FL_ASSERT(item >= 0 && item < game->item_count);
    return game->item[item].position;
}

FlVec3 arena_door_position(const ArenaGame *game, int32_t door)
{
    FL_ASSERT(door >= 0 && door < game->door_count);
    const ArenaBox *box = &game->door[door];
    return fl_vec3(0.5 * (box->low_x + box->high_x), 0.5 * (box->low_y + box->high_y), ARENA_FEET);
}

FlVec3 arena_base_position(const ArenaGame *game, int32_t team)
{
    FL_ASSERT(team >= 0 && team < ARENA_TEAM_COUNT);
    return game->base[team];
}
