// The world definition: what it must satisfy, the field widths that follow, and its hash.
//
// Widths are derived, never negotiated: both ends compute them from the same definition, and the
// hash in the protocol id keeps peers with another definition from ever talking. So no message
// says how wide its fields are.
#include "private.h"

#include "base/private.h"

#define WORLD_COOKIE 0x574f524cu

// Beyond this many steps from zero, the doubles' own rounding would show in the steps.
#define STEPS_MAX 17592186044416.0 // 2^44

FlWorldDef fl_world_def_default(void)
{
    FlWorldDef def = {
        .low = {-500.0, -500.0, -500.0},
        .high = {500.0, 500.0, 500.0},
        .precision = 0.01,
        .top_speed = 160.0,
        .top_acceleration = 100.0,
        .top_turn_rate = 10.0,
        .angle_precision = 0.01,
        .entity_capacity = 1024,
        .cookie = WORLD_COOKIE,
    };
    return def;
}

// ---------------------------------------------------------------- what a definition must satisfy

// Whether it holds; otherwise the sentence has the field and its value.
static bool holds(FlError *error, bool good, const char *field, double value, const char *range)
{
    if (!good) {
        fl__error_set(error, FL_BAD_VALUE, "%s is %g: %s.", field, value, range);
    }
    return good;
}

static bool axis_is_good(FlError *error, char axis, double low, double high, double precision)
{
    char low_name[] = "low.x";
    char high_name[] = "high.x";
    low_name[4] = high_name[5] = axis;
    const double most = STEPS_MAX * precision;
    double span = high - low;
    return holds(error, isfinite(low), low_name, low, "it must be finite") &&
           holds(error, isfinite(high), high_name, high, "it must be finite") &&
           holds(error, low <= high, low_name, low, "low must not be above high on any axis") &&
           holds(error, fabs(low) <= most, low_name, low,
                 "it must lie within 2^44 steps of zero; take a coarser precision") &&
           holds(error, fabs(high) <= most, high_name, high,
                 "it must lie within 2^44 steps of zero; take a coarser precision") &&
           holds(error, span == 0.0 || span >= precision, high_name, high,
                 "an axis must be at least one step (precision) long, or have low equal to high") &&
           holds(error, span / precision < 4294967295.5, high_name, high,
                 "an axis has at most 2^32 steps; take a coarser precision or a smaller box");
}

static bool in_range(double value, double low, double high)
{
    return value >= low && value <= high; // false for NaN
}

static bool limits_are_good(FlError *error, const FlWorldDef *def)
{
    const double most = 2147483647.0; // steps to either side, for 32 bits
    bool turns = in_range(def->top_turn_rate / (2.0 * def->precision / def->top_speed), 0.0, most);
    return holds(error, in_range(def->angle_precision, 1e-5, 1.0), "angle_precision",
                 def->angle_precision, "it must be 1e-5 to 1 rad") &&
           holds(error,
                 def->top_speed > 0.0 && in_range(def->top_speed / def->precision, 0.0, most),
                 "top_speed", def->top_speed,
                 "it must be above 0 and at most 2^31 times the precision") &&
           holds(error, in_range(def->top_acceleration / (2.0 * def->precision), 0.0, most),
                 "top_acceleration", def->top_acceleration,
                 "it must be 0 to 2^32 times the precision") &&
           holds(error, turns && in_range(def->top_turn_rate / def->angle_precision, 0.0, most),
                 "top_turn_rate", def->top_turn_rate,
                 "it must be 0 to 2^31 of its steps, 2 precision / top_speed and "
                 "angle_precision") &&
           fl__whole_in(error, "entity_capacity", def->entity_capacity, 1, 65536);
}

FlResult fl_world_def_problem(const FlWorldDef *def, FlError *error)
{
    fl__error_clear(error);
    if (def->cookie != WORLD_COOKIE) {
        fl__error_set(error, FL_BAD_VALUE,
                      "cookie is %u: begin with fl_world_def_default(), then change fields.",
                      def->cookie);
        return error->code;
    }
    bool good = holds(error, in_range(def->precision, 1e-9, 1e9), "precision", def->precision,
                      "it must be 1e-9 to 1e9") &&
                axis_is_good(error, 'x', def->low.x, def->high.x, def->precision) &&
                axis_is_good(error, 'y', def->low.y, def->high.y, def->precision) &&
                axis_is_good(error, 'z', def->low.z, def->high.z, def->precision) &&
                limits_are_good(error, def);
    return good ? FL_OK : error->code;
}

// ---------------------------------------------------------------- what follows from it

// Bits that hold 0 to last.
static int32_t width_of(uint32_t last)
{
    int32_t width = 0;
    while (width < 32 && last >> width != 0) {
        width++;
    }
    return width;
}

static FlQuantiser quantiser_between(double low, double high, double step)
{
    uint32_t last = (uint32_t)fl__round_away((high - low) / step);
    FlQuantiser quantiser = {
        .origin = low,
        .step = step,
        .last = last,
        .width = width_of(last),
    };
    return quantiser;
}

static FlQuantiser quantiser_around_zero(double top, double step)
{
    uint32_t zero = (uint32_t)fl__round_away(top / step);
    FlQuantiser quantiser = {
        .step = step, .zero = zero, .last = 2 * zero, .width = width_of(2 * zero)};
    return quantiser;
}

static void set_axis(FlWorld *world, int32_t axis, double low, double high)
{
    const FlWorldDef *def = &world->def;
    bool there = high > low;
    FlQuantiser *quantiser = world->quantiser + axis;
    quantiser[FL_QUANTISER_POSITION] = quantiser_between(low, high, def->precision);
    quantiser[FL_QUANTISER_VELOCITY] =
        quantiser_around_zero(there ? def->top_speed : 0.0, def->precision);
    quantiser[FL_QUANTISER_ACCELERATION] =
        quantiser_around_zero(there ? def->top_acceleration : 0.0, 2.0 * def->precision);
    // A spin about an axis moves nothing along it, so a flat world has all three.
    quantiser[FL_QUANTISER_SPIN] = quantiser_around_zero(def->top_turn_rate, def->angle_precision);
}

static void set_angles(FlWorld *world)
{
    const FlWorldDef *def = &world->def;
    world->quantiser[FL_QUANTISER_TURN_RATE] =
        quantiser_around_zero(def->top_turn_rate, 2.0 * def->precision / def->top_speed);
    world->yaw_width = 1;
    while ((double)((int64_t)1 << world->yaw_width) * def->angle_precision < 2.0 * FL_PI) {
        world->yaw_width++;
    }
    world->rotation_part_width = 3;
    while ((double)fl__rotation_scale(world->rotation_part_width) * def->angle_precision < 3.5) {
        world->rotation_part_width++;
    }
}

// ---------------------------------------------------------------- the protocol id

// FNV-1a, byte by byte, lowest byte first.
static void hash_number(uint64_t *hash, uint64_t value, int32_t bytes)
{
    for (int32_t i = 0; i < bytes; i++) {
        *hash ^= value >> (8 * i) & 0xffu;
        *hash *= UINT64_C(0x100000001b3);
    }
}

// PROTOCOL ID: FNV-1a over these, reals as IEEE 754 bits.       spec/WIRE.md section 3.3
//
//   bytes  value
//   4      wire version
//   24     low: x, y, z
//   24     high: x, y, z
//   8      precision
//   8      top_speed
//   8      top_acceleration
//   8      top_turn_rate
//   8      angle_precision
//   4      entity_capacity
//   4      application_version
static uint64_t protocol_id_of(const FlWorldDef *def)
{
    const double real[] = {
        def->low.x,         def->low.y,           def->low.z,
        def->high.x,        def->high.y,          def->high.z,
        def->precision,     def->top_speed,       def->top_acceleration,
        def->top_turn_rate, def->angle_precision,
    };
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    hash_number(&hash, FL_WIRE_VERSION, 4);
    for (size_t i = 0; i < sizeof real / sizeof real[0]; i++) {
        hash_number(&hash, fl__bits_of(real[i] + 0.0), 8);
    }
    hash_number(&hash, (uint32_t)def->entity_capacity, 4);
    hash_number(&hash, def->application_version, 4);
    return hash;
}

FlResult fl_world_init(const FlWorldDef *def, FlWorld *world)
{
    FlWorld fresh = {0};
    *world = fresh;
    FlError error;
    if (fl_world_def_problem(def, &error) != FL_OK) {
        return FL_BAD_VALUE;
    }
    world->def = *def;
    set_axis(world, 0, def->low.x, def->high.x);
    set_axis(world, 1, def->low.y, def->high.y);
    set_axis(world, 2, def->low.z, def->high.z);
    set_angles(world);
    world->entity_width = width_of((uint32_t)def->entity_capacity - 1);
    world->protocol_id = protocol_id_of(def);
    return FL_OK;
}
