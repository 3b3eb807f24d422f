// What the tests of the arena share: games, crowds, places.
#ifndef FAIRLEAD_TESTS_TEST_ARENA_SUPPORT_H
#define FAIRLEAD_TESTS_TEST_ARENA_SUPPORT_H

#include "unit/support.h"

#include "arena/arena.h"

static inline ArenaGame *arena_game(ArenaMap map, int32_t players, bool flags, uint64_t seed)
{
    ArenaDef def = arena_def_default();
    def.map = map;
    def.player_count = players;
    def.flags = flags;
    def.seed = seed;
    ArenaGame *game;
    assert_int_equal(arena_create(&def, &game), FL_OK);
    return game;
}

/// Puts a player on the floor of a state, alive and still.
static inline void arena_place(ArenaState *state, int32_t player, double x, double y)
{
    ArenaPlayer *p = &state->player[player];
    p->x = x;
    p->y = y;
    p->z = ARENA_FEET;
    p->vx = p->vy = p->vz = 0.0;
    p->alive = p->grounded = 1;
    p->health = 100;
}

/// Is there nothing within 20 units along each axis? Nothing here is smaller than that square, so
/// what reaches into it crosses its edge.
static inline bool arena_free(const ArenaGame *game, const ArenaState *state, double x, double y)
{
    const double side[5][2] = {
        {20.0, 20.0}, {-20.0, 20.0}, {-20.0, -20.0}, {20.0, -20.0}, {20.0, 20.0}};
    for (int32_t i = 0; i < 4; i++) {
        FlVec3 from = fl_vec3(x + side[i][0], y + side[i][1], 16.0);
        FlVec3 to = fl_vec3(x + side[i + 1][0], y + side[i + 1][1], 16.0);
        if (!arena_sees(game, state, from, to)) {
            return false;
        }
    }
    return true;
}

/// A place where somebody can stand on the floor, not too near a wall.
static inline FlVec3 arena_free_place(const ArenaGame *game, const ArenaState *state, FlRandom *r)
{
    double most = arena_half_extent(game) - 40.0;
    for (;;) {
        double x = fl_random_between(r, -most, most);
        double y = fl_random_between(r, -most, most);
        if (arena_free(game, state, x, y)) {
            return fl_vec3(x, y, ARENA_FEET);
        }
    }
}

static inline ArenaInput arena_random_input(FlRandom *r)
{
    ArenaInput input = {0};
    input.forward = (int8_t)((int32_t)fl_random_below(r, 255) - 127);
    input.right = (int8_t)((int32_t)fl_random_below(r, 255) - 127);
    input.up = (int8_t)((int32_t)fl_random_below(r, 255) - 127);
    input.yaw = (int16_t)((int32_t)fl_random_below(r, 65536) - 32768);
    input.pitch = (int16_t)((int32_t)fl_random_below(r, 32769) - 16384);
    input.buttons = (uint8_t)fl_random_below(r, 4);
    input.weapon = (uint8_t)fl_random_below(r, 4);
    return input;
}

/// A game of bots; characters follow the numbers.
typedef struct ArenaBots {
    ArenaBot bot[ARENA_PLAYER_CAPACITY];
    ArenaInput input[ARENA_PLAYER_CAPACITY];
} ArenaBots;

static inline void arena_bots_decide(const ArenaGame *game, const ArenaState *state,
                                     ArenaBots *bots)
{
    for (int32_t i = 0; i < state->player_count; i++) {
        bots->input[i] = arena_bot_decide(game, &bots->bot[i], state, i);
    }
}

#endif
