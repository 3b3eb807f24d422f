// Recorded players, tiled.
#include "lab/experiments/crowd/crowd_motion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TICK_NS (FL_SEC(1) / ARENA_TICK_HZ)
#define TOP_SPEED 1000.0 // u/s along an axis; who falls faster is told slower
#define PRECISION 5.0    // units: a player is 30 wide
#define STREAM_SHIFT 7100u
#define QUARTERS 4
#define GROUNDS 8 // along a side of the world, so that any number of players has the same world

// ---------------------------------------------------------------- loading

/// Who is not there lies where it was last, or will be first.
static void fill_gaps(CrowdMotion *motion, int32_t player)
{
    AttentionMatch *match = &motion->match;
    int32_t first = 0;
    while (first < match->ticks && !match->there[first * match->players + player]) {
        first++;
    }
    ArenaRow last = {0};
    if (first < match->ticks) {
        last = match->rows[first * match->players + player];
    }
    uint32_t life = 0;
    for (int32_t t = 0; t < match->ticks; t++) {
        int32_t at = t * match->players + player;
        if (match->there[at]) {
            life += match->rows[at].life != last.life ? 1 : 0;
            last = match->rows[at];
        } else {
            last.velocity = fl_vec3(0.0, 0.0, 0.0);
            match->rows[at] = last;
            match->there[at] = true;
        }
        motion->lives[at] = life;
    }
}

static void measure_map(CrowdMotion *motion)
{
    const AttentionMatch *match = &motion->match;
    FlVec3 low = match->rows[0].position;
    FlVec3 high = low;
    for (int32_t i = 0; i < match->ticks * match->players; i++) {
        FlVec3 p = match->rows[i].position;
        low = fl_vec3(fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z));
        high = fl_vec3(fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z));
    }
    motion->middle = fl_vec3_scale(fl_vec3_add(low, high), 0.5);
    motion->half = 0.5 * fmax(high.x - low.x, high.y - low.y);
    motion->half_height = 0.5 * (high.z - low.z);
}

LabStatus crowd_motion_load(const char *path, double seconds, uint64_t seed, CrowdMotion *motion,
                            LabError *error)
{
    memset(motion, 0, sizeof *motion);
    motion->seed = seed;
    LabStatus status = attention_match_load(path, 0.0, seconds, &motion->match, error);
    if (status != LAB_OK) {
        return status;
    }
    size_t rows = (size_t)motion->match.ticks * (size_t)motion->match.players;
    motion->lives = (uint32_t *)calloc(rows, sizeof *motion->lives);
    if (motion->lives == NULL) {
        crowd_motion_free(motion);
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    for (int32_t i = 0; i < motion->match.players; i++) {
        fill_gaps(motion, i);
    }
    measure_map(motion);
    return LAB_OK;
}

void crowd_motion_free(CrowdMotion *motion)
{
    attention_match_free(&motion->match);
    free(motion->lives);
    memset(motion, 0, sizeof *motion);
}

// ---------------------------------------------------------------- asking

/// The map turned by quarters, and every other time mirrored before that.
static FlVec3 turned(FlVec3 v, int32_t copy)
{
    if ((copy / QUARTERS) % 2 == 1) {
        v.x = -v.x;
    }
    for (int32_t i = 0; i < copy % QUARTERS; i++) {
        v = fl_vec3(-v.y, v.x, v.z);
    }
    return v;
}

static double turned_yaw(double yaw, int32_t copy)
{
    yaw = (copy / QUARTERS) % 2 == 1 ? FL_PI - yaw : yaw;
    return fl_angle_wrap(yaw + (copy % QUARTERS) * (0.5 * FL_PI));
}

/// Where the ground of a copy lies: grounds fill squares that grow from a corner.
static FlVec3 ground_of(const CrowdMotion *motion, int32_t copy)
{
    int32_t side = (int32_t)sqrt((double)copy);
    int32_t along = copy - side * side;
    int32_t x = along <= side ? side : 2 * side - along;
    int32_t y = along <= side ? along : side;
    double step = motion->one_ground ? 0.0 : 2.0 * motion->half;
    return fl_vec3(step * (x % GROUNDS), step * (y % GROUNDS), 0.0);
}

static double slower(double speed)
{
    return fmin(fmax(speed, -TOP_SPEED), TOP_SPEED);
}

CrowdTruth crowd_motion_at(const CrowdMotion *motion, int32_t player, FlTime time)
{
    const AttentionMatch *match = &motion->match;
    int32_t copy = player / match->players;
    int32_t who = player % match->players;
    uint64_t shift = 0;
    if (copy > 0) {
        shift = fl_random_at(motion->seed, STREAM_SHIFT, (uint64_t)player) % (uint64_t)match->ticks;
    }
    int64_t ticks = time / TICK_NS + (int64_t)shift;
    int32_t tick = (int32_t)(ticks % match->ticks);
    int32_t at = tick * match->players + who;
    const ArenaRow *row = &match->rows[at];
    FlVec3 place = row->position;
    int32_t then = at + match->players;
    if (tick + 1 < match->ticks && motion->lives[then] == motion->lives[at]) {
        FlTime length = TICK_NS;
        double part = (double)(time % length) / (double)length;
        FlVec3 way = fl_vec3_sub(match->rows[then].position, place);
        place = fl_vec3_add(place, fl_vec3_scale(way, part));
    }
    uint32_t lives = motion->lives[(match->ticks - 1) * match->players + who] + 1;
    FlVec3 pace =
        fl_vec3(slower(row->velocity.x), slower(row->velocity.y), slower(row->velocity.z));
    FlVec3 middle = fl_vec3_add(motion->middle, ground_of(motion, copy));
    CrowdTruth truth = {
        .position = fl_vec3_add(middle, turned(fl_vec3_sub(place, motion->middle), copy)),
        .velocity = turned(pace, copy),
        .yaw = turned_yaw(row->yaw, copy),
        .life = motion->lives[at] + (uint32_t)(ticks / match->ticks) * lives,
    };
    return truth;
}

FlWorldDef crowd_motion_world(const CrowdMotion *motion, int32_t players)
{
    FlWorldDef def = fl_world_def_default();
    FlVec3 half = fl_vec3(motion->half + 1.0, motion->half + 1.0, motion->half_height + 1.0);
    def.low = fl_vec3_sub(motion->middle, half);
    def.high = fl_vec3_add(motion->middle, half);
    if (!motion->one_ground) {
        double further = 2.0 * motion->half * (GROUNDS - 1);
        def.high = fl_vec3_add(def.high, fl_vec3(further, further, 0.0));
    }
    def.precision = PRECISION;
    def.top_speed = TOP_SPEED;
    def.top_acceleration = 0.0;
    def.top_turn_rate = 0.05; // it is not told
    def.angle_precision = 0.06;
    def.entity_capacity = players + 1;
    return def;
}
