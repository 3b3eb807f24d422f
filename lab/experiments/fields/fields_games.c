// The three games as sources of states: bots play, and what a player is told of is read off.
#include "lab/experiments/fields/fields.h"

#include <math.h>

// ---------------------------------------------------------------- tanks

static FlResult tanks_open(FieldsMatch *match, int32_t players, uint64_t seed, FlWorldDef *world)
{
    TanksGameDef def = tanks_game_def_default();
    def.tank_count = players;
    def.seed = seed;
    def.rules.map_seed = seed;
    FlResult result = tanks_game_create(&def, &match->tanks);
    if (result == FL_OK) {
        *world = tanks_wire_world(tanks_game_world(match->tanks), FIELDS_ENTITIES);
    }
    return result;
}

static void tanks_next(FieldsMatch *match)
{
    tanks_game_step(match->tanks);
}

static FieldsTold tanks_tell(const FieldsMatch *match, int32_t player)
{
    int32_t count;
    const TanksTank *tank = &tanks_game_tanks(match->tanks, &count)[player];
    TanksStatus status = tanks_tank_status(tank);
    return (FieldsTold){
        .motion = tanks_tank_state(tanks_game_world(match->tanks), tank),
        .life = tank->life,
        .value = {[TANKS_FIELD_LIFE] = status.life,
                  [TANKS_FIELD_DEATHS] = status.deaths,
                  [TANKS_FIELD_ALIVE] = status.alive ? 1 : 0,
                  [TANKS_FIELD_SHOTS] = status.shots,
                  [TANKS_FIELD_KILLS] = status.kills},
    };
}

// ---------------------------------------------------------------- racing

// As app/play tells of a car.
static const FlFieldDef racing_fields[] = {
    {.name = "round", .type = FL_FIELD_INT, .high = UINT32_MAX},
    {.name = "finish", .type = FL_FIELD_INT, .high = 1099511627775.0}, // us, and 1; 0: not yet
    {.name = "half_laps", .type = FL_FIELD_INT, .low = -32768, .high = 32767, .group = 1},
    {.name = "contacts", .type = FL_FIELD_INT, .high = 4095, .group = 2},
    {.name = "borders", .type = FL_FIELD_INT, .high = 4095, .group = 2},
};

static FlResult racing_open(FieldsMatch *match, int32_t players, uint64_t seed, FlWorldDef *world)
{
    RacingDef def = racing_def_default();
    def.car_count = players;
    def.lap_count = 3;
    def.time_limit = 0;
    def.seed = seed;
    match->seed = seed;
    *world = fl_world_def_default();
    FlResult result = racing_create(&def, &match->racing);
    if (result == FL_OK) {
        racing_start(match->racing, &match->race);
    }
    return result;
}

static void racing_next(FieldsMatch *match)
{
    RacingInput inputs[RACING_CAR_CAPACITY] = {0};
    for (int32_t i = 0; i < match->race.car_count; i++) {
        inputs[i] = racing_bot_drive(match->racing, match->seed, &match->race, i);
    }
    racing_step(match->racing, &match->race, inputs);
}

static FieldsTold racing_tell(const FieldsMatch *match, int32_t player)
{
    const RacingCar *car = &match->race.car[player];
    double half = racing_length_m(match->racing) / 2.0;
    return (FieldsTold){
        .motion = racing_car_state(car, 0),
        .value = {1, car->finish_ns < 0 ? 0 : 1 + car->finish_ns / 1000,
                  (int64_t)floor(car->progress / half), car->contact_count, car->border_count},
    };
}

// ---------------------------------------------------------------- arena

static const FlFieldDef arena_fields[] = {
    {.name = "life", .type = FL_FIELD_INT, .high = UINT16_MAX},
    {.name = "deaths", .type = FL_FIELD_INT, .high = UINT16_MAX},
    {.name = "shots", .type = FL_FIELD_INT, .high = UINT16_MAX, .group = 1},
    {.name = "jumps", .type = FL_FIELD_INT, .high = UINT16_MAX, .group = 2},
    {.name = "score", .type = FL_FIELD_INT, .low = -32768, .high = 32767, .group = 3},
    {.name = "health", .type = FL_FIELD_INT, .high = ARENA_HEALTH_MAX, .group = 4},
    {.name = "armour", .type = FL_FIELD_INT, .high = ARENA_HEALTH_MAX, .group = 4},
    {.name = "weapon", .type = FL_FIELD_BITS, .size = 2, .group = 5},
    {.name = "carries", .type = FL_FIELD_BITS, .size = 2, .group = 5},
};

static FlResult arena_open(FieldsMatch *match, int32_t players, uint64_t seed, FlWorldDef *world)
{
    ArenaDef def = arena_def_default();
    def.player_count = players;
    def.seed = seed;
    FlResult result = arena_create(&def, &match->arena);
    if (result == FL_OK) {
        *world = arena_wire_world(match->arena, FIELDS_ENTITIES);
        arena_start(match->arena, &match->view);
    }
    for (int32_t i = 0; i < players && result == FL_OK; i++) {
        arena_bot_init(&match->bots[i], seed, i, i % ARENA_CHARACTER_COUNT, 1 + i % 5);
    }
    return result;
}

static void arena_next(FieldsMatch *match)
{
    ArenaInput inputs[ARENA_PLAYER_CAPACITY] = {0};
    for (int32_t i = 0; i < match->view.player_count; i++) {
        inputs[i] = arena_bot_decide(match->arena, &match->bots[i], &match->view, i);
    }
    arena_step(match->arena, &match->view, inputs, &match->deeds);
    match->deeds.count = 0;
}

static FieldsTold arena_tell(const FieldsMatch *match, int32_t player)
{
    const ArenaPlayer *p = &match->view.player[player];
    ArenaStatus s = arena_player_status(p);
    return (FieldsTold){
        .motion = arena_player_state(p, 0),
        .life = p->life,
        .value = {s.life, s.deaths, s.shots, s.jumps, s.score, s.health, s.armour, s.weapon,
                  s.carries},
    };
}

// ---------------------------------------------------------------- all

#define FIELDS_OF(table) table, (int32_t)(sizeof(table) / sizeof *(table))

const FieldsGame fields_games[FIELDS_GAME_COUNT] = {
    {"tanks", tanks_fields, TANKS_FIELD_COUNT, 60, tanks_open, tanks_next, tanks_tell},
    {"racing", FIELDS_OF(racing_fields), RACING_TICK_HZ, racing_open, racing_next, racing_tell},
    {"arena", FIELDS_OF(arena_fields), ARENA_TICK_HZ, arena_open, arena_next, arena_tell},
};

void fields_match_close(FieldsMatch *match)
{
    tanks_game_destroy(match->tanks);
    racing_destroy(match->racing);
    arena_destroy(match->arena);
}

int32_t fields_blob(const FieldsGame *game, const int64_t *values, uint8_t bytes[64])
{
    FlWriter writer;
    fl_writer_init(&writer, bytes, 64);
    for (int32_t i = 0; i < game->field_count; i++) {
        const FlFieldDef *field = &game->fields[i];
        int32_t width = field->size;
        if (field->type == FL_FIELD_INT) {
            width = (int32_t)ceil(log2(field->high - field->low + 1.0));
        }
        fl_writer_put(&writer, (uint64_t)(values[i] - (int64_t)field->low), width);
    }
    fl_writer_align(&writer);
    return fl_writer_size(&writer);
}
