// Rules, the map and its geometry.
//
// The map is a function of the rules: boxes are drawn at random and kept if there is room to drive
// round them, so that every node builds the same arena from the same few numbers and none is sent.
//
// A tank is an oriented rectangle, a building an axis-aligned one; two rectangles are apart exactly
// if one of the four directions of their sides shows a gap (separating axes). No tolerance: what
// tanks_world_fits accepts once it accepts always, which is how a tank can be kept out of buildings
// for good.
//
// Invariant: buildings keep LIGHT from each other and from the wall, so every place can be reached.
#include "private.h"

#include <string.h>

#define LIGHT 16.0 // Two tanks pass each other, and one can turn on the spot.
#define HALF_SIDE_MIN 9.0
#define HALF_SIDE_MAX 36.0
#define PLACING_TRIES 64
#define MAP_STREAM UINT64_C(0x6d6170) // Streams below TANKS_CAPACITY belong to the tanks' spawns.

TanksRules tanks_rules_default(void)
{
    TanksRules rules = {
        .half_extent = 400.0,
        .building_count = 20,
        .map_seed = 1,
        .tank_length = 6.0,
        .tank_width = 2.8,
        .top_speed = 25.0,
        .reverse_speed = 12.5,
        .top_turn_rate = 0.785398,
        .acceleration = (double)INFINITY,
        .turn_acceleration = (double)INFINITY,
        .shot_speed = 100.0,
        .shot_range = 350.0,
        .shot_radius = 0.5,
        .reload_ns = FL_MS(750),
        .respawn_ns = FL_SEC(5),
        .tick_hz = 60,
        .cookie = TANKS__RULES_COOKIE,
    };
    return rules;
}

TanksRules tanks_rules_inertia(void)
{
    TanksRules rules = tanks_rules_default();
    rules.acceleration = 20.0;
    rules.turn_acceleration = 2.0;
    return rules;
}

static bool within(double x, double low, double high)
{
    return x >= low && x <= high; // false for NaN
}

const char *tanks_rules_problem(const TanksRules *rules)
{
    const struct {
        bool good;
        const char *problem;
    } check[] = {
        {rules->cookie == TANKS__RULES_COOKIE, "start from tanks_rules_default()"},
        {within(rules->half_extent, 50.0, 4000.0), "half_extent must be 50 to 4000"},
        {rules->building_count >= 0 && rules->building_count <= TANKS_BUILDINGS_MAX,
         "building_count must be 0 to TANKS_BUILDINGS_MAX"},
        {within(rules->tank_length, 1.0, 20.0), "tank_length must be 1 to 20"},
        {within(rules->tank_width, 1.0, 20.0), "tank_width must be 1 to 20"},
        {within(rules->top_speed, 0.001, 100.0), "top_speed must be above 0, at most 100"},
        {within(rules->reverse_speed, 0.0, rules->top_speed),
         "reverse_speed must be 0 to top_speed"},
        {within(rules->top_turn_rate, 0.001, 10.0), "top_turn_rate must be above 0, at most 10"},
        {rules->acceleration >= 0.001, "acceleration must be above 0; INFINITY is none"},
        {rules->turn_acceleration >= 0.001, "turn_acceleration must be above 0; INFINITY is none"},
        {within(rules->shot_speed, rules->top_speed * 1.01, 1000.0),
         "shot_speed must be above top_speed, at most 1000"},
        {within(rules->shot_range, 0.001, 10000.0), "shot_range must be above 0, at most 10000"},
        {within(rules->shot_radius, 0.0, 5.0), "shot_radius must be 0 to 5"},
        {rules->reload_ns > 0 && rules->reload_ns <= FL_SEC(3600), "reload_ns must be above 0"},
        {rules->respawn_ns >= 0 && rules->respawn_ns <= FL_SEC(3600),
         "respawn_ns must be 0 to 1 h"},
        {rules->tick_hz >= 20 && rules->tick_hz <= 1000, "tick_hz must be 20 to 1000"},
    };
    for (size_t i = 0; i < sizeof check / sizeof check[0]; i++) {
        if (!check[i].good) {
            return check[i].problem;
        }
    }
    return NULL;
}

// ---------------------------------------------------------------- map

static bool boxes_near(const TanksBox *a, const TanksBox *b, double gap)
{
    return a->low_x < b->high_x + gap && b->low_x < a->high_x + gap && a->low_y < b->high_y + gap &&
           b->low_y < a->high_y + gap;
}

static bool has_room(const TanksWorld *world, const TanksBox *box)
{
    for (int32_t i = 0; i < world->building_count; i++) {
        if (boxes_near(&world->building[i], box, LIGHT)) {
            return false;
        }
    }
    return true;
}

// A box somewhere inside; small arenas get small boxes.
static TanksBox draw_box(const TanksWorld *world, FlRandom *random)
{
    double extent = world->rules.half_extent;
    double largest = number_clamp(extent / 8.0, 1.0, HALF_SIDE_MAX);
    double smallest = number_clamp(HALF_SIDE_MIN, 1.0, largest);
    double half_x = fl_random_between(random, smallest, largest);
    double half_y = fl_random_between(random, smallest, largest);
    double x = fl_random_between(random, -1.0, 1.0) * (extent - LIGHT - half_x);
    double y = fl_random_between(random, -1.0, 1.0) * (extent - LIGHT - half_y);
    TanksBox box = {x - half_x, y - half_y, x + half_x, y + half_y};
    return box;
}

FlResult tanks_world_init(const TanksRules *rules, TanksWorld *world)
{
    memset(world, 0, sizeof *world);
    if (tanks_rules_problem(rules) != NULL) {
        return FL_BAD_VALUE;
    }
    world->rules = *rules;
    world->tick_s = 1.0 / rules->tick_hz;
    double half_length = rules->tank_length / 2.0;
    double half_width = rules->tank_width / 2.0;
    world->tank_reach = sqrt(half_length * half_length + half_width * half_width);
    FlRandom random = {.seed = rules->map_seed, .stream = MAP_STREAM};
    for (int32_t n = 0; n < rules->building_count; n++) {
        for (int32_t i = 0; i < PLACING_TRIES; i++) {
            TanksBox box = draw_box(world, &random);
            if (has_room(world, &box)) {
                world->building[world->building_count++] = box;
                break;
            }
        }
    }
    return FL_OK;
}

// ---------------------------------------------------------------- time

FlTime tanks_tick_time(const TanksWorld *world, int64_t tick)
{
    return tick * FL_SEC(1) / world->rules.tick_hz;
}

int64_t tanks_tick_at(const TanksWorld *world, FlTime time)
{
    int64_t hz = world->rules.tick_hz;
    int64_t seconds = time / FL_SEC(1);
    int64_t rest = time % FL_SEC(1);
    if (rest < 0) {
        seconds--;
        rest += FL_SEC(1);
    }
    // A tick's time is rounded down, so the tick asked for may start up to a nanosecond earlier.
    int64_t tick = seconds * hz + rest * hz / FL_SEC(1);
    return tanks_tick_time(world, tick + 1) <= time ? tick + 1 : tick;
}

int64_t tanks__ticks(const TanksWorld *world, FlTime time)
{
    int64_t tick = tanks_tick_at(world, time);
    return tanks_tick_time(world, tick) < time ? tick + 1 : tick;
}

// ---------------------------------------------------------------- geometry

static bool box_touches(const TanksBox *box, double half_length, double half_width, double x,
                        double y, double s, double c)
{
    double half_x = (box->high_x - box->low_x) / 2.0;
    double half_y = (box->high_y - box->low_y) / 2.0;
    double off_x = (box->high_x + box->low_x) / 2.0 - x;
    double off_y = (box->high_y + box->low_y) / 2.0 - y;
    double along = fabs(off_x * c + off_y * s);
    double across = fabs(off_y * c - off_x * s);
    return along < half_length + half_x * fabs(c) + half_y * fabs(s) &&
           across < half_width + half_x * fabs(s) + half_y * fabs(c);
}

bool tanks_world_fits(const TanksWorld *world, double x, double y, double yaw)
{
    double s, c;
    fl_sincos(yaw, &s, &c);
    double half_length = world->rules.tank_length / 2.0;
    double half_width = world->rules.tank_width / 2.0;
    double reach_x = half_length * fabs(c) + half_width * fabs(s);
    double reach_y = half_length * fabs(s) + half_width * fabs(c);
    double extent = world->rules.half_extent;
    if (!(fabs(x) + reach_x <= extent && fabs(y) + reach_y <= extent)) { // NaN fits nowhere
        return false;
    }
    for (int32_t i = 0; i < world->building_count; i++) {
        const TanksBox *box = &world->building[i];
        if (x - reach_x < box->high_x && x + reach_x > box->low_x && y - reach_y < box->high_y &&
            y + reach_y > box->low_y && box_touches(box, half_length, half_width, x, y, s, c)) {
            return false;
        }
    }
    return true;
}

// Cuts [*enter, *leave] down to where the ray is between low and high on one axis.
static void cut_slab(double low, double high, double from, double step, double *enter,
                     double *leave)
{
    if (fabs(step) < 1e-12) { // along the slab: inside it for ever or never
        if (from < low || from > high) {
            *enter = (double)INFINITY;
        }
        return;
    }
    double a = (low - from) / step;
    double b = (high - from) / step;
    double first = a < b ? a : b;
    double last = a < b ? b : a;
    *enter = first > *enter ? first : *enter;
    *leave = last < *leave ? last : *leave;
}

double tanks__ray_box(const TanksBox *box, double margin, double x, double y, double dx, double dy)
{
    double enter = -(double)INFINITY;
    double leave = (double)INFINITY;
    cut_slab(box->low_x - margin, box->high_x + margin, x, dx, &enter, &leave);
    cut_slab(box->low_y - margin, box->high_y + margin, y, dy, &enter, &leave);
    if (enter > leave || leave < 0.0) {
        return (double)INFINITY;
    }
    return enter;
}

double tanks__ray_wall(const TanksWorld *world, double margin, double x, double y, double dx,
                       double dy)
{
    double extent = world->rules.half_extent - margin;
    double enter = -(double)INFINITY;
    double leave = (double)INFINITY;
    cut_slab(-extent, extent, x, dx, &enter, &leave);
    cut_slab(-extent, extent, y, dy, &enter, &leave);
    return enter > 0.0 || leave < 0.0 ? 0.0 : leave;
}

double tanks_world_ray(const TanksWorld *world, double x, double y, double dx, double dy,
                       double length)
{
    double free = tanks__ray_wall(world, 0.0, x, y, dx, dy);
    free = free < length ? free : length;
    for (int32_t i = 0; i < world->building_count; i++) {
        double way = tanks__ray_box(&world->building[i], 0.0, x, y, dx, dy);
        if (way < free) {
            free = way < 0.0 ? 0.0 : way;
        }
    }
    return free;
}

// ---------------------------------------------------------------- wire

static uint32_t mix(uint32_t hash, double value)
{
    uint64_t bits = number_bits(value);
    for (int32_t i = 0; i < 64; i += 8) {
        hash = (hash ^ (uint32_t)(bits >> i & 0xffu)) * 16777619u;
    }
    return hash;
}

// FNV-1a over what the rules say. Seeds and spans as doubles: exact up to 2^53, folded beyond.
static uint32_t rules_hash(const TanksRules *rules)
{
    const double said[] = {
        rules->half_extent,
        rules->building_count,
        rules->tank_length,
        rules->tank_width,
        rules->top_speed,
        rules->reverse_speed,
        rules->top_turn_rate,
        rules->acceleration,
        rules->turn_acceleration,
        rules->shot_speed,
        rules->shot_range,
        rules->shot_radius,
        (double)rules->reload_ns,
        (double)rules->respawn_ns,
        rules->tick_hz,
        (double)(rules->map_seed & 0xffffffffu),
        (double)(rules->map_seed >> 32),
    };
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        hash = mix(hash, said[i]);
    }
    return hash;
}

FlWorldDef tanks_wire_world(const TanksWorld *world, int32_t entity_capacity)
{
    double extent = world->rules.half_extent;
    FlWorldDef def = fl_world_def_default();
    def.low = fl_vec3(-extent, -extent, 0.0);
    def.high = fl_vec3(extent, extent, 0.0);
    def.precision = 0.01;
    def.top_speed = world->rules.top_speed;
    def.top_acceleration = 2.0 * world->rules.top_speed;
    def.top_turn_rate = world->rules.top_turn_rate;
    def.angle_precision = 0.005;
    def.entity_capacity = entity_capacity;
    def.application_version = rules_hash(&world->rules);
    return def;
}
