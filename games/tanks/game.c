// A whole game in one process: what a server, all clients and a perfect network would make of it.
//
// It uses only what networked nodes use, too: bots decide by views, tanks are stepped one by one,
// shots are events. A tick reads like its own list: decide, fire, move, look, fly, spawn.
//
// Layout: parallel arrays by tank id; shots in one array, oldest first. All of it is one block,
// reserved at creation.
//
// Invariant: between steps `seen` is the truth at `tick`, and `shown` (if the caller supplies
// views) what each player was shown then, a row per viewer; the `_before` are those of the tick
// before.
#include "private.h"

#include <string.h>

struct TanksGame {
    TanksGameDef def;
    TanksWorld world;
    int64_t tick;
    int32_t shot_count;
    int32_t shot_capacity;
    int32_t event_count;
    int32_t event_capacity;
    size_t bytes; ///< Of the whole block.
    TanksTank *tanks;
    TanksBot *bots;
    TanksInput *inputs;
    TanksInput *driven_by; ///< Used where `driven` says so.
    bool *driven;
    TanksSeen *seen;
    TanksSeen *seen_before;
    TanksSeen *shown; ///< With see_fn only: a row per viewer.
    TanksSeen *shown_before;
    bool looked; ///< At least once.
    TanksShot *shots;
    TanksEvent *events;
};

TanksGameDef tanks_game_def_default(void)
{
    TanksGameDef def = {
        .rules = tanks_rules_default(),
        .tank_count = 16,
        .seed = 1,
        .judge = TANKS_JUDGE_TRUTH,
        .cookie = TANKS__GAME_COOKIE,
    };
    return def;
}

// ---------------------------------------------------------------- making one

// Hands out the block's parts one after another; with block NULL it only counts.
static void *part_of(char *block, size_t *used, int32_t count, size_t size)
{
    size_t align = _Alignof(max_align_t);
    size_t at = (*used + align - 1) / align * align;
    *used = at + (size_t)count * size;
    return block == NULL ? NULL : block + at;
}

static size_t lay_out(TanksGame *game, char *block)
{
    int32_t n = game->def.tank_count;
    int32_t rows = game->def.see_fn != NULL ? n : 0;
    size_t used = sizeof *game;
    game->tanks = part_of(block, &used, n, sizeof *game->tanks);
    game->bots = part_of(block, &used, n, sizeof *game->bots);
    game->inputs = part_of(block, &used, n, sizeof *game->inputs);
    game->driven_by = part_of(block, &used, n, sizeof *game->driven_by);
    game->driven = part_of(block, &used, n, sizeof *game->driven);
    game->seen = part_of(block, &used, n, sizeof *game->seen);
    game->seen_before = part_of(block, &used, n, sizeof *game->seen_before);
    game->shown = part_of(block, &used, n * rows, sizeof *game->shown);
    game->shown_before = part_of(block, &used, n * rows, sizeof *game->shown_before);
    game->shots = part_of(block, &used, game->shot_capacity, sizeof *game->shots);
    game->events = part_of(block, &used, game->event_capacity, sizeof *game->events);
    return used;
}

// Nobody has more shots in flight than it can fire while one of them flies.
static int32_t shots_each(const TanksRules *rules)
{
    FlTime flight = fl_span_from_seconds(rules->shot_range / rules->shot_speed);
    FlTime tick = FL_SEC(1) / rules->tick_hz;
    FlTime between = rules->reload_ns > tick ? rules->reload_ns : tick;
    return (int32_t)(flight / between) + 2;
}

FlResult tanks_game_create(const TanksGameDef *def, TanksGame **game)
{
    *game = NULL;
    FL_ASSERT(def->cookie == TANKS__GAME_COOKIE);
    TanksGame plan = {.def = *def};
    if (def->tank_count < 1 || def->tank_count > TANKS_CAPACITY ||
        tanks_world_init(&def->rules, &plan.world) != FL_OK) {
        return FL_BAD_VALUE;
    }
    plan.shot_capacity = def->tank_count * shots_each(&def->rules);
    plan.event_capacity = 2 * def->tank_count; // at most a shot and an end each
    plan.bytes = lay_out(&plan, NULL);
    char *block = fl_alloc(&def->alloc, plan.bytes, _Alignof(max_align_t));
    if (block == NULL) {
        return FL_NO_MEMORY;
    }
    TanksGame *made = (TanksGame *)(void *)block;
    *made = plan;
    lay_out(made, block);
    for (int32_t i = 0; i < def->tank_count; i++) {
        tanks_tank_init(&made->tanks[i], i, 0);
        tanks_tank_spawn(&made->world, &made->tanks[i]);
        tanks_bot_init(&made->bots[i], def->seed, i);
        made->seen[i] = tanks_tank_seen(&made->tanks[i]);
    }
    *game = made;
    return FL_OK;
}

void tanks_game_destroy(TanksGame *game)
{
    if (game != NULL) {
        FlAlloc alloc = game->def.alloc;
        fl_free(&alloc, game, game->bytes);
    }
}

// ---------------------------------------------------------------- a tick

// What every player is shown, if that is not the truth.
static void look_all(TanksGame *game)
{
    int32_t n = game->def.tank_count;
    if (game->def.see_fn == NULL) {
        return;
    }
    TanksSeen *rows = game->shown_before;
    game->shown_before = game->shown;
    game->shown = rows;
    for (int32_t i = 0; i < n; i++) {
        memcpy(rows + i * n, game->seen, (size_t)n * sizeof *rows);
        game->def.see_fn(game->def.see_ctx, game, i, rows + i * n);
    }
    game->looked = true;
}

static void note_event(TanksGame *game, const TanksEvent *event)
{
    FL_ASSERT(game->event_count < game->event_capacity);
    game->events[game->event_count++] = *event;
}

static void decide_all(TanksGame *game)
{
    for (int32_t i = 0; i < game->def.tank_count; i++) {
        TanksTank *tank = &game->tanks[i];
        game->inputs[i] = (TanksInput){0};
        if (!tank->alive) {
            continue;
        }
        TanksView view = tanks_game_view(game, i);
        if (game->def.see_fn != NULL) {
            view.tanks = game->shown + i * game->def.tank_count;
        }
        game->inputs[i] =
            game->driven[i] ? game->driven_by[i] : tanks_bot_decide(&game->bots[i], &view);
    }
}

static void fire_all(TanksGame *game)
{
    for (int32_t i = 0; i < game->def.tank_count; i++) {
        TanksEvent event;
        if (tanks_tank_fire(&game->world, &game->tanks[i], game->inputs[i], &event)) {
            FL_ASSERT(game->shot_count < game->shot_capacity);
            tanks_shot_start(&game->world, &event, &game->shots[game->shot_count++]);
            note_event(game, &event);
        }
    }
}

static void move_all(TanksGame *game)
{
    TanksSeen *before = game->seen_before;
    game->seen_before = game->seen;
    game->seen = before;
    for (int32_t i = 0; i < game->def.tank_count; i++) {
        tanks_tank_step(&game->world, &game->tanks[i], game->inputs[i]);
        game->seen[i] = tanks_tank_seen(&game->tanks[i]);
    }
    game->tick++;
}

// The poses against which a shot is judged over the last tick.
static void poses_for(const TanksGame *game, const TanksShot *shot, const TanksSeen **before,
                      const TanksSeen **after)
{
    *before = game->seen_before;
    *after = game->seen;
    if (game->def.see_fn != NULL && game->def.judge == TANKS_JUDGE_SHOOTER) {
        int32_t row = shot->event.tank * game->def.tank_count;
        *before = game->shown_before + row;
        *after = game->shown + row;
    }
}

static void kill(TanksGame *game, const TanksShot *shot, int32_t victim, FlTime when)
{
    TanksTank *tank = &game->tanks[victim];
    TanksSeen seen = tanks_tank_seen(tank);
    TanksEvent event = tanks_event_make(TANKS_EVENT_KILL, &shot->event, victim, &seen, when);
    note_event(game, &event);
    tanks_tank_kill(&game->world, tank);
    game->tanks[shot->event.tank].kills++;
}

// Flies every shot through the tick from `from` to `to`, and keeps those that go on.
static void fly_all(TanksGame *game, FlTime from, FlTime to)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < game->shot_count; i++) {
        const TanksShot shot = game->shots[i];
        const TanksSeen *before, *after;
        poses_for(game, &shot, &before, &after);
        FlTime when;
        int32_t victim = tanks_shot_first_hit(&game->world, &shot, from, to, before, after,
                                              game->def.tank_count, &when);
        if (victim >= 0 && game->tanks[victim].alive) {
            kill(game, &shot, victim, when);
            game->seen[victim] = tanks_tank_seen(&game->tanks[victim]);
        } else if (shot.ends > to) {
            game->shots[kept++] = shot;
        }
    }
    game->shot_count = kept;
}

static void spawn_all(TanksGame *game)
{
    for (int32_t i = 0; i < game->def.tank_count; i++) {
        TanksTank *tank = &game->tanks[i];
        if (!tank->alive && tank->tick >= tank->respawn_at) {
            tanks_tank_spawn(&game->world, tank);
        }
        game->seen[i] = tanks_tank_seen(tank);
    }
}

void tanks_game_step(TanksGame *game)
{
    FlTime from = tanks_tick_time(&game->world, game->tick);
    FlTime to = tanks_tick_time(&game->world, game->tick + 1);
    game->event_count = 0;
    if (!game->looked) {
        look_all(game); // not at creation, when the caller has no game yet
    }
    decide_all(game);
    fire_all(game);
    move_all(game);
    look_all(game);
    fly_all(game, from, to);
    spawn_all(game);
}

void tanks_game_drive(TanksGame *game, int32_t tank, const TanksInput *input)
{
    FL_ASSERT(tank >= 0 && tank < game->def.tank_count);
    game->driven[tank] = input != NULL;
    if (input != NULL) {
        game->driven_by[tank] = *input;
    }
}

// ---------------------------------------------------------------- looking

const TanksWorld *tanks_game_world(const TanksGame *game)
{
    return &game->world;
}

int64_t tanks_game_tick(const TanksGame *game)
{
    return game->tick;
}

const TanksTank *tanks_game_tanks(const TanksGame *game, int32_t *count)
{
    *count = game->def.tank_count;
    return game->tanks;
}

const TanksShot *tanks_game_shots(const TanksGame *game, int32_t *count)
{
    *count = game->shot_count;
    return game->shots;
}

const TanksEvent *tanks_game_events(const TanksGame *game, int32_t *count)
{
    *count = game->event_count;
    return game->events;
}

TanksView tanks_game_view(const TanksGame *game, int32_t tank)
{
    FL_ASSERT(tank >= -1 && tank < game->def.tank_count);
    TanksView view = {
        .world = &game->world,
        .tick = game->tick,
        .own = tank < 0 ? NULL : &game->tanks[tank],
        .tanks = game->seen,
        .tank_count = game->def.tank_count,
        .shots = game->shots,
        .shot_count = game->shot_count,
    };
    return view;
}

// ---------------------------------------------------------------- hash

typedef struct Hash {
    uint64_t value;
} Hash;

static void hash_bits(Hash *hash, uint64_t bits)
{
    for (int32_t i = 0; i < 64; i += 8) { // FNV-1a
        hash->value = (hash->value ^ (bits >> i & 0xffu)) * UINT64_C(0x100000001b3);
    }
}

static void hash_double(Hash *hash, double value)
{
    hash_bits(hash, number_bits(value));
}

static void hash_tank(Hash *hash, const TanksTank *tank)
{
    const double real[] = {tank->x,  tank->y,  tank->yaw,  tank->speed, tank->turn_rate,
                           tank->vx, tank->vy, tank->push, tank->driven};
    const uint64_t whole[] = {(uint64_t)tank->id,
                              (uint64_t)tank->tick,
                              (uint64_t)tank->alive,
                              (uint64_t)tank->sliding,
                              tank->life,
                              (uint64_t)tank->ready_at,
                              tank->shots,
                              (uint64_t)tank->respawn_at,
                              tank->kills,
                              tank->deaths};
    for (size_t i = 0; i < sizeof real / sizeof real[0]; i++) {
        hash_double(hash, real[i]);
    }
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        hash_bits(hash, whole[i]);
    }
}

static void hash_bot(Hash *hash, const TanksBot *bot)
{
    const double real[] = {bot->past_x,  bot->past_y, bot->goal_x,   bot->goal_y,
                           bot->heading, bot->drive,  bot->aim_error};
    const uint64_t whole[] = {bot->random.index,          (uint64_t)bot->mode,
                              (uint64_t)bot->mode_until,  (uint64_t)bot->think_at,
                              (uint64_t)bot->dodge_until, (uint64_t)bot->past_at,
                              (uint64_t)bot->target,      bot->life,
                              (uint64_t)bot->aiming};
    for (size_t i = 0; i < sizeof real / sizeof real[0]; i++) {
        hash_double(hash, real[i]);
    }
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        hash_bits(hash, whole[i]);
    }
}

uint64_t tanks_game_hash(const TanksGame *game)
{
    Hash hash = {UINT64_C(0xcbf29ce484222325)};
    hash_bits(&hash, (uint64_t)game->tick);
    for (int32_t i = 0; i < game->def.tank_count; i++) {
        hash_tank(&hash, &game->tanks[i]);
        hash_bot(&hash, &game->bots[i]);
    }
    for (int32_t i = 0; i < game->shot_count; i++) {
        const TanksEvent *event = &game->shots[i].event;
        hash_bits(&hash, (uint64_t)event->tank);
        hash_bits(&hash, event->shot);
        hash_bits(&hash, (uint64_t)event->time);
        hash_double(&hash, event->x);
        hash_double(&hash, event->y);
        hash_double(&hash, event->yaw);
        hash_bits(&hash, (uint64_t)game->shots[i].ends);
    }
    return hash.value;
}
