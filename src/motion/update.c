// Updates as bits: one entity's motion, the same bytes for every receiver.
//
// Three things go through one struct of fields: rounding (motion -> fields -> motion), encoding
// (motion -> fields -> bits) and decoding (bits -> fields -> motion). So what an owner commits and
// what its receivers decode cannot differ.
//
// Two forms of real numbers. Narrow: the index of a step of the world's quantisers. Wide, if any
// of them does not fit: all of them as doubles, exactly. An orientation lives on a circle or a
// sphere, always fits, and is packed alike in both.
//
// A cubic travels as its two ends, from which both sides build the same curve, because ends round
// well: they lie in the world and move at its speeds. Its acceleration and jerk may be anything. In
// the wide form there is no rounding, and it travels as just these.
//
// Invariant: bytes that decode encode to the same bytes. Source: docs/decisions/0004.
//
// UPDATE: where one entity is from a time on.                    spec/WIRE.md section 4
//
//   bits     field         unit            valid
//   4        form          -               3 * model + facing kind, 0..14; 15: see below
//   0..16    entity        -               below the capacity; as many bits as capacity - 1 needs
//   2        life          -               low bits of the life's number; a change is a cut
//   16       time          0.25 ms         session time, floored, low bits; unwrapped by the stamp
//   fading:
//   2        trust         -               0: none, 1: 1.1 s, 2: 2.2 s, 3: for ever
//   4        level         code of a time  1..15
//   4        vertical      code of a time  any
//   fading, quadratic and circular:
//   4        curve         code of a time  any
//   P        position      precision       x, y, z, each 0..last
//   not still:
//   V        velocity      precision/s     x, y, z, each 0..last
//   quadratic:
//   A        acceleration  2 precision/s2  x, y, z, each 0..last
//   circular:
//   T        turn rate     2 precision/top_speed rad/s   0..last
//   cubic:
//   P        end position  precision       x, y, z, each 0..last
//   V        end velocity  precision/s     x, y, z, each 0..last
//   16       duration      0.25 ms         1..65535
//   facing yaw:
//   Y        yaw           2 pi / 2^Y rad  any
//   S        yaw rate      angle_precision rad/s         0..last
//   facing free:
//   2 + 3 R  rotation      1/K             largest, then the other three of w, x, y, z; canonical
//   3 S      spin          angle_precision rad/s         x, y, z, each 0..last
//   0..7     padding       -               zero, to a whole byte
//
// Wide: form 15, then 4 bits of the real form (0..14), then entity, life and time as above, then
// the same fields with each real number (all but yaw and rotation) as the 64 bits of a double,
// finite and not -0.0, all three axes of every vector; a cubic has acceleration, jerk and a
// duration of 64 bits (ns, 1..2^63 - 1) in place of end position, end velocity and duration. An
// update that fits the narrow form is never wide.
//
// Fading: form 15 twice, then 4 bits of the real form (3..11), then all as above, narrow.
#include "private.h"

#include "base/maths.h"
#include "base/private.h"
#include "wire/wire.h"

#include <string.h>

#define FORM_WIDTH 4
#define FORM_WIDE 15u
#define FORM_FADES 255u // wide, and wide again
#define FACING_KINDS 3
#define LIFE_WIDTH 2
#define TRUST_WIDTH 2
#define FADE_WIDTH 4
#define TIME_WIDTH 16
#define DURATION_WIDTH 16
#define DURATION_MAX 65535

// The stamp's window, in steps: a time is at most this far ahead, and the rest of the circle back.
#define STEPS_AHEAD 4000
#define STEPS_AROUND 65536

#define REALS_MAX 16 // a cubic's four vectors and a spin are 15; 16 are quickly cleared

/// A stretch of the world's quantisers.
typedef struct Run {
    int32_t first, count;
} Run;

/// An update between motion and bits. Real numbers stand in `real` (wide) or `index` (narrow), in
/// the order of the layout above.
typedef struct Fields {
    FlModel model;
    FlFacingKind facing;
    bool wide;
    int64_t step;         ///< Time.
    int64_t duration;     ///< cubic: steps, or ns if wide
    uint64_t orientation; ///< Index of yaw or rotation.
    FlFade fade;          ///< Its level is 0 unless it fades.
    double real[REALS_MAX];
    uint32_t index[REALS_MAX];
} Fields;

static const char *const fault_names[FL_UPDATE_FAULT_COUNT] = {
#define ROW(name, text) #name,
    FL_UPDATE_FAULT_TABLE(ROW)
#undef ROW
};

const char *fl__update_fault_name(FlUpdateFault fault)
{
    return (uint32_t)fault < FL_UPDATE_FAULT_COUNT ? fault_names[fault] : "UNKNOWN";
}

// ---------------------------------------------------------------- which fields

static Run state_run(FlModel model)
{
    Run run = {FL_QUANTISER_POSITION, model == FL_MODEL_STILL ? 3 : 6};
    return run;
}

// What the model needs beyond position and velocity.
static Run model_run(FlModel model)
{
    Run run = {0, 0};
    if (model == FL_MODEL_QUADRATIC) {
        run.first = FL_QUANTISER_ACCELERATION;
        run.count = 3;
    } else if (model == FL_MODEL_CIRCULAR) {
        run.first = FL_QUANTISER_TURN_RATE;
        run.count = 1;
    } else if (model == FL_MODEL_CUBIC) { // the end, written like the start
        run.first = FL_QUANTISER_POSITION;
        run.count = 6;
    }
    return run;
}

static bool can_fade(FlModel model)
{
    return model == FL_MODEL_LINEAR || model == FL_MODEL_QUADRATIC || model == FL_MODEL_CIRCULAR;
}

// Of its codes.
static int32_t fade_width(FlModel model)
{
    return TRUST_WIDTH + FADE_WIDTH * (model == FL_MODEL_LINEAR ? 2 : 3);
}

static Run rate_run(FlFacingKind facing)
{
    Run run = {FL_QUANTISER_SPIN, facing == FL_FACING_YAW ? 1 : facing == FL_FACING_FREE ? 3 : 0};
    return run;
}

static int32_t orientation_width(const FlWorld *world, FlFacingKind facing)
{
    return facing == FL_FACING_YAW    ? world->yaw_width
           : facing == FL_FACING_FREE ? 2 + 3 * world->rotation_part_width
                                      : 0;
}

static int32_t run_width(const FlWorld *world, Run run, bool wide)
{
    int32_t width = wide ? 64 * run.count : 0;
    for (int32_t i = 0; i < run.count && !wide; i++) {
        width += world->quantiser[run.first + i].width;
    }
    return width;
}

int32_t fl__update_bytes(const FlWorld *world, FlModel model, FlFacingKind facing, bool wide,
                         bool fades)
{
    int32_t bits = FORM_WIDTH + world->entity_width + LIFE_WIDTH + TIME_WIDTH;
    bits += wide ? FORM_WIDTH : 0;
    bits += fades && !wide && can_fade(model) ? 2 * FORM_WIDTH + fade_width(model) : 0;
    bits += run_width(world, state_run(model), wide) + run_width(world, model_run(model), wide);
    bits += model != FL_MODEL_CUBIC ? 0 : wide ? 64 : DURATION_WIDTH;
    bits += orientation_width(world, facing) + run_width(world, rate_run(facing), wide);
    return (bits + 7) / 8;
}

// ---------------------------------------------------------------- time

static int64_t step_of(FlTime time)
{
    int64_t step = time / FL_UPDATE_STEP_NS;
    return step * FL_UPDATE_STEP_NS > time ? step - 1 : step;
}

// Room for the longest narrow cubic after it, too.
static bool step_in_range(int64_t step)
{
    const int64_t most = INT64_MAX / FL_UPDATE_STEP_NS - STEPS_AROUND;
    return step >= -most && step <= most;
}

bool fl__update_time_fits(FlTime time, FlTime stamp)
{
    int64_t ahead = step_of(time) - step_of(stamp);
    return ahead <= STEPS_AHEAD && ahead > STEPS_AHEAD - STEPS_AROUND;
}

// The one time in the stamp's window with these low bits.
static int64_t step_unwrapped(uint64_t low, FlTime stamp)
{
    int64_t latest = step_of(stamp) + STEPS_AHEAD;
    return latest - (int64_t)(((uint64_t)latest - low) & (STEPS_AROUND - 1));
}

FlResult fl__update_time_find(uint16_t low, FlTime stamp, FlTime *time)
{
    int64_t step = step_unwrapped(low, stamp);
    bool found = step_in_range(step);
    *time = found ? step * FL_UPDATE_STEP_NS : 0;
    return found ? FL_OK : FL_BAD_VALUE;
}

// ---------------------------------------------------------------- from motions to fields

static void set_vec3(double *real, FlVec3 v)
{
    real[0] = v.x + 0.0; // never -0.0
    real[1] = v.y + 0.0;
    real[2] = v.z + 0.0;
}

// Where and how fast a cubic ends, at a whole number of steps: the nearest to its own end, and at
// least one.
static void set_end(const FlMotion *motion, Fields *fields)
{
    int64_t half = FL_UPDATE_STEP_NS / 2;
    int64_t steps = motion->curve_ns / FL_UPDATE_STEP_NS;
    steps += motion->curve_ns % FL_UPDATE_STEP_NS >= half;
    fields->duration = steps < 1 ? 1 : steps;
    FlTime end = fl_time_add(motion->time, fields->duration * FL_UPDATE_STEP_NS);
    set_vec3(fields->real + 6, fl_motion_position(motion, end));
    set_vec3(fields->real + 9, fl__motion_velocity(motion, end));
}

// All real numbers but a cubic's last six, which differ between the forms.
static void set_reals(const FlMotion *motion, Fields *fields)
{
    double *real = fields->real;
    set_vec3(real, motion->position);
    set_vec3(real + 3, motion->velocity);
    real += state_run(fields->model).count;
    if (fields->model == FL_MODEL_QUADRATIC) {
        set_vec3(real, motion->acceleration);
    } else if (fields->model == FL_MODEL_CIRCULAR) {
        real[0] = motion->turn_rate + 0.0;
    }
    real += model_run(fields->model).count;
    if (fields->facing == FL_FACING_YAW) {
        real[0] = motion->facing.yaw_rate + 0.0;
    } else if (fields->facing == FL_FACING_FREE) {
        set_vec3(real, motion->facing.spin);
    }
}

static bool quantise_run(const FlWorld *world, Run run, const double *real, uint32_t *index)
{
    bool fits = true;
    for (int32_t i = 0; i < run.count; i++) {
        fits &= fl__quantise(&world->quantiser[run.first + i], real[i], &index[i]);
    }
    return fits;
}

static bool quantise_all(const FlWorld *world, Fields *fields)
{
    const double *real = fields->real;
    uint32_t *index = fields->index;
    Run state = state_run(fields->model);
    Run model = model_run(fields->model);
    bool fits = fields->model != FL_MODEL_CUBIC || fields->duration <= DURATION_MAX;
    fits &= quantise_run(world, state, real, index);
    fits &= quantise_run(world, model, real + state.count, index + state.count);
    int32_t done = state.count + model.count;
    return fits & quantise_run(world, rate_run(fields->facing), real + done, index + done);
}

// True if there is an orientation to pack, or none.
static bool set_orientation(const FlWorld *world, const FlFacing *facing, Fields *fields)
{
    fields->facing = facing->kind;
    fields->orientation = 0;
    switch (facing->kind) {
    case FL_FACING_NONE:
        return true;
    case FL_FACING_YAW:
        if (isfinite(facing->yaw)) {
            fields->orientation = fl_circle_index(facing->yaw, world->yaw_width);
            return true;
        }
        return false;
    case FL_FACING_FREE:
        if (fl__quat_finite(facing->rotation)) {
            fields->orientation = fl__rotation_index(facing->rotation, world->rotation_part_width);
            return true;
        }
        return false;
    }
    return false;
}

static bool reals_finite(const Fields *fields)
{
    int32_t count = state_run(fields->model).count + model_run(fields->model).count +
                    rate_run(fields->facing).count;
    bool finite = true;
    for (int32_t i = 0; i < count; i++) {
        finite &= isfinite(fields->real[i]) != 0;
    }
    return finite;
}

// Narrow if everything fits, wide if not; false if a number is not finite. The motion is a settled
// one.
static bool set_fields(const FlWorld *world, const FlMotion *motion, Fields *fields)
{
    fields->model = motion->model;
    fields->step = motion->time / FL_UPDATE_STEP_NS;
    fields->duration = 0;
    fields->wide = false;
    fields->fade = (FlFade){0};
    if (can_fade(motion->model) && motion->fade.level != 0) {
        fields->fade = motion->fade;
        fields->fade.curve = motion->model == FL_MODEL_LINEAR ? 0 : motion->fade.curve;
    }
    memset(fields->index, 0, sizeof fields->index); // all set below, but analysers do not see it
    if (!set_orientation(world, &motion->facing, fields)) {
        return false;
    }
    set_reals(motion, fields);
    if (motion->model == FL_MODEL_CUBIC) {
        set_end(motion, fields);
    }
    if (quantise_all(world, fields)) {
        return true;
    }
    fields->wide = true;
    fields->fade = (FlFade){0}; // a world's measures are right where this is worth its bits
    if (motion->model == FL_MODEL_CUBIC) {
        set_vec3(fields->real + 6, motion->acceleration);
        set_vec3(fields->real + 9, motion->jerk);
        fields->duration = motion->curve_ns;
    }
    return reals_finite(fields);
}

// The motion as it can be encoded: from a whole step on, a curve for ever. In `storage` unless it
// is so already; NULL if it cannot be.
static const FlMotion *settle(const FlMotion *motion, FlMotion *storage)
{
    int64_t step = step_of(motion->time);
    if ((uint32_t)motion->model > FL_MODEL_CUBIC || !step_in_range(step)) {
        return NULL;
    }
    FL_ASSERT(motion->fade.trust < FL_FADE_TRUSTS && motion->fade.level < FL_FADE_CODES &&
              motion->fade.vertical < FL_FADE_CODES && motion->fade.curve < FL_FADE_CODES);
    if (motion->facing.kind == FL_FACING_FREE && !fl__quat_finite(motion->facing.rotation)) {
        return NULL; // now, because re-basing makes it of length one, and NaN the identity
    }
    bool curved = motion->model == FL_MODEL_CUBIC;
    if (step * FL_UPDATE_STEP_NS == motion->time && motion->horizon_ns > 0 && !curved) {
        return motion;
    }
    // First where it is: this makes still what its horizon, and straight what its end leaves so.
    bool over = motion->horizon_ns <= 0 || (curved && motion->curve_ns <= 0);
    *storage = over ? fl__motion_rebase(motion, motion->time) : *motion;
    *storage = fl__motion_rebase(storage, step * FL_UPDATE_STEP_NS);
    storage->horizon_ns = FL_FOREVER;
    return storage;
}

// ---------------------------------------------------------------- from fields to motions

// Real number `at`, whose quantiser is the given one.
static double real_at(const FlWorld *world, const Fields *fields, int32_t quantiser, int32_t at)
{
    return fields->wide ? fields->real[at]
                        : fl__dequantise(&world->quantiser[quantiser], fields->index[at]);
}

static FlVec3 vec3_at(const FlWorld *world, const Fields *fields, int32_t quantiser, int32_t at)
{
    double x = real_at(world, fields, quantiser, at);
    double y = real_at(world, fields, quantiser + 1, at + 1);
    double z = real_at(world, fields, quantiser + 2, at + 2);
    return fl_vec3(x, y, z);
}

// False for an orientation that no encoder makes. `at`: where the rates are.
static bool restore_facing(const FlWorld *world, const Fields *fields, int32_t at, FlFacing *facing)
{
    facing->kind = fields->facing;
    facing->yaw = facing->yaw_rate = 0.0;
    facing->rotation = fl__quat_identity();
    facing->spin = fl_vec3(0.0, 0.0, 0.0);
    if (fields->facing == FL_FACING_YAW) {
        facing->yaw = fl_circle_angle((uint32_t)fields->orientation, world->yaw_width);
        facing->yaw_rate = real_at(world, fields, FL_QUANTISER_SPIN, at);
    } else if (fields->facing == FL_FACING_FREE) {
        facing->spin = vec3_at(world, fields, FL_QUANTISER_SPIN, at);
        return fl__rotation_from_index(fields->orientation, world->rotation_part_width,
                                       &facing->rotation);
    }
    return true;
}

// `motion` has all but the curve.
static void restore_cubic(const FlWorld *world, const Fields *fields, FlMotion *motion)
{
    if (fields->wide) {
        motion->acceleration = vec3_at(world, fields, FL_QUANTISER_POSITION, 6);
        motion->jerk = vec3_at(world, fields, FL_QUANTISER_VELOCITY, 9);
        motion->curve_ns = fields->duration;
        return;
    }
    FlState start = {
        .time = motion->time,
        .position = motion->position,
        .velocity = motion->velocity,
        .facing = motion->facing,
    };
    FlState end = {
        .time = motion->time + fields->duration * FL_UPDATE_STEP_NS,
        .position = vec3_at(world, fields, FL_QUANTISER_POSITION, 6),
        .velocity = vec3_at(world, fields, FL_QUANTISER_VELOCITY, 9),
    };
    *motion = fl__motion_cubic(&start, &end);
}

// Field by field, in place: this runs for every update that arrives.
static bool restore_motion(const FlWorld *world, const Fields *fields, FlMotion *motion)
{
    const FlVec3 none = {0.0, 0.0, 0.0};
    motion->time = fields->step * FL_UPDATE_STEP_NS;
    motion->horizon_ns = FL_FOREVER;
    motion->position = vec3_at(world, fields, FL_QUANTISER_POSITION, 0);
    motion->velocity = motion->acceleration = motion->jerk = none;
    motion->curve_ns = 0;
    motion->turn_rate = 0.0;
    motion->model = fields->model;
    motion->fade = fields->fade;
    if (fields->model != FL_MODEL_STILL) {
        motion->velocity = vec3_at(world, fields, FL_QUANTISER_VELOCITY, 3);
    }
    if (fields->model == FL_MODEL_QUADRATIC) {
        motion->acceleration = vec3_at(world, fields, FL_QUANTISER_ACCELERATION, 6);
    } else if (fields->model == FL_MODEL_CIRCULAR) {
        motion->turn_rate = real_at(world, fields, FL_QUANTISER_TURN_RATE, 6);
    }
    int32_t rates = state_run(fields->model).count + model_run(fields->model).count;
    if (!restore_facing(world, fields, rates, &motion->facing)) {
        return false;
    }
    if (fields->model == FL_MODEL_CUBIC) {
        restore_cubic(world, fields, motion);
    }
    return true;
}

static FlMotion nothing(void)
{
    FlState origin = {.facing = fl_facing_none()};
    return fl_motion_make(FL_MODEL_STILL, &origin);
}

FlResult fl_update_round(const FlWorld *world, const FlMotion *motion, FlMotion *rounded,
                         bool *wide)
{
    FlMotion storage;
    Fields fields;
    const FlMotion *settled = settle(motion, &storage);
    *wide = false;
    if (settled == NULL || !set_fields(world, settled, &fields)) {
        *rounded = nothing();
        return FL_BAD_VALUE;
    }
    *wide = fields.wide;
    bool restored = restore_motion(world, &fields, rounded);
    FL_ASSERT(restored);
    return FL_OK;
}

// ---------------------------------------------------------------- from fields to bits

/// An update's bytes as they grow, a word at a time: field by field into a writer is twice as slow.
typedef struct Bits {
    uint64_t word; ///< Begun, `width` bits of it used; 0 to 63.
    int32_t width;
    int32_t size; ///< Whole words before it, in bytes.
    uint8_t bytes[(FL_UPDATE_BYTES_MAX + 7) / 8 * 8];
} Bits;

static void store_word(Bits *bits)
{
    uint8_t *byte = bits->bytes + bits->size;
    for (int32_t i = 0; i < 8; i++) {
        byte[i] = (uint8_t)(bits->word >> (8 * i));
    }
}

// 0 to 64 bits of a value that has no more.
static void put(Bits *bits, uint64_t value, int32_t width)
{
    bits->word |= value << bits->width;
    bits->width += width;
    if (bits->width >= 64) {
        store_word(bits);
        bits->size += 8;
        bits->width -= 64;
        bits->word = bits->width == 0 ? 0 : value >> (width - bits->width);
    }
}

static void put_run(Bits *bits, const FlWorld *world, Run run, const Fields *fields, int32_t at)
{
    for (int32_t i = 0; i < run.count; i++) {
        if (fields->wide) {
            put(bits, fl__bits_of(fields->real[at + i]), 64);
        } else {
            put(bits, fields->index[at + i], world->quantiser[run.first + i].width);
        }
    }
}

static void put_fade(Bits *bits, const Fields *fields)
{
    const FlFade *fade = &fields->fade;
    put(bits, fade->trust, TRUST_WIDTH);
    put(bits, fade->level, FADE_WIDTH);
    put(bits, fade->vertical, FADE_WIDTH);
    put(bits, fade->curve, fields->model == FL_MODEL_LINEAR ? 0 : FADE_WIDTH);
}

static void put_fields(FlWriter *writer, const FlWorld *world, const FlUpdate *update,
                       const Fields *fields)
{
    Bits bits;
    bits.word = 0;
    bits.width = bits.size = 0;
    bool fades = fields->fade.level != 0;
    if (fields->wide) {
        put(&bits, FORM_WIDE, FORM_WIDTH);
    } else if (fades) {
        put(&bits, FORM_FADES, 2 * FORM_WIDTH);
    }
    put(&bits, (uint32_t)fields->model * FACING_KINDS + (uint32_t)fields->facing, FORM_WIDTH);
    put(&bits, update->entity, world->entity_width);
    put(&bits, update->life & 3u, LIFE_WIDTH);
    put(&bits, (uint64_t)fields->step & (STEPS_AROUND - 1), TIME_WIDTH);
    if (fades) {
        put_fade(&bits, fields);
    }
    Run state = state_run(fields->model);
    Run model = model_run(fields->model);
    put_run(&bits, world, state, fields, 0);
    put_run(&bits, world, model, fields, state.count);
    if (fields->model == FL_MODEL_CUBIC) {
        put(&bits, (uint64_t)fields->duration, fields->wide ? 64 : DURATION_WIDTH);
    }
    put(&bits, fields->orientation, orientation_width(world, fields->facing));
    put_run(&bits, world, rate_run(fields->facing), fields, state.count + model.count);
    store_word(&bits); // what is left of it is zero: the padding
    fl_writer_bytes(writer, bits.bytes, bits.size + (bits.width + 7) / 8);
}

bool fl_update_encode(FlWriter *writer, const FlWorld *world, const FlUpdate *update)
{
    FL_ASSERT((writer->bit_count & 7) == 0);
    FlMotion storage;
    Fields fields;
    const FlMotion *settled = settle(&update->motion, &storage);
    if (settled == NULL || update->entity >= (uint32_t)world->def.entity_capacity ||
        !set_fields(world, settled, &fields)) {
        return false;
    }
    put_fields(writer, world, update, &fields);
    return !writer->failed;
}

// ---------------------------------------------------------------- from bits to fields

// A narrow update takes no more in any world: four vectors and a spin of 32 bits each, and a
// rotation.
#define NARROW_BYTES_MAX 75
#define BEHIND 8 // bytes that can be loaded after an update's last

/// Where bits are taken. Behind what came there are zeros to go on with, so a field is one load,
/// and one look at the end tells whether all of it was there: field by field from a reader is twice
/// as slow.
typedef struct Cursor {
    const uint8_t *bytes;
    uint32_t at; ///< Bits taken.
} Cursor;

/// What the bits of an update say.
typedef struct Taken {
    Fields fields;
    uint32_t entity, life;
    uint64_t time; ///< Low bits.
    bool fades;
    bool good; ///< Every value is in its range.
    bool padded;
} Taken;

// Where a packet goes on for long enough after an update, it need not be copied.
static Cursor cursor_at(const FlReader *reader, uint8_t copy[FL_UPDATE_BYTES_MAX + BEHIND])
{
    int32_t left = reader->failed ? 0 : fl_reader_left(reader);
    Cursor cursor = {reader->bytes + (reader->bit_count >> 3), 0};
    bool wide = left > 0 && (cursor.bytes[0] & FORM_WIDE) == FORM_WIDE;
    int32_t most = wide ? FL_UPDATE_BYTES_MAX : NARROW_BYTES_MAX;
    int32_t window = most + BEHIND;
    if (left < window) {
        int32_t count = left < most ? left : most;
        memset(copy, 0, (size_t)window);
        if (count > 0) {
            memcpy(copy, cursor.bytes, (size_t)count);
        }
        cursor.bytes = copy;
    }
    return cursor;
}

// 0 to 56 bits.
static inline uint64_t take(Cursor *cursor, int32_t width)
{
    uint64_t word = fl__load_u64(cursor->bytes + (cursor->at >> 3)) >> (cursor->at & 7);
    cursor->at += (uint32_t)width;
    return word & (((uint64_t)1 << width) - 1);
}

// 0 to 64 bits.
static inline uint64_t take_long(Cursor *cursor, int32_t width)
{
    if (width <= 56) {
        return take(cursor, width);
    }
    uint64_t low = take(cursor, 32);
    return low | take(cursor, width - 32) << 32;
}

// Each of these answers whether what it took is something an encoder writes.

static inline bool take_form(Cursor *cursor, Fields *fields, bool *fades)
{
    uint32_t form = (uint32_t)take(cursor, FORM_WIDTH);
    *fades = false;
    fields->wide = form == FORM_WIDE;
    if (fields->wide) {
        form = (uint32_t)take(cursor, FORM_WIDTH);
        *fades = form == FORM_WIDE;
    }
    if (*fades) {
        form = (uint32_t)take(cursor, FORM_WIDTH);
        fields->wide = false;
    }
    fields->model = (FlModel)(form / FACING_KINDS);
    fields->facing = (FlFacingKind)(form % FACING_KINDS);
    return form < FORM_WIDE && (!*fades || can_fade(fields->model));
}

static inline void take_head(Cursor *cursor, const FlWorld *world, Taken *taken)
{
    int32_t width = world->entity_width;
    uint64_t head = take(cursor, width + LIFE_WIDTH + TIME_WIDTH);
    taken->entity = (uint32_t)(head & (((uint64_t)1 << width) - 1));
    taken->life = (uint32_t)(head >> width & 3u);
    taken->time = head >> (width + LIFE_WIDTH);
}

// The codes, the first in the lowest bits.
static inline bool take_fade(Cursor *cursor, bool fades, Fields *fields)
{
    fields->fade = (FlFade){0};
    if (!fades) {
        return true;
    }
    uint64_t codes = take(cursor, fade_width(fields->model));
    fields->fade.trust = codes & 3u;
    fields->fade.level = codes >> 2 & 15u;
    fields->fade.vertical = codes >> 6 & 15u;
    fields->fade.curve = codes >> 10 & 15u;
    return fields->fade.level != 0;
}

FL__APART
static bool take_wide_run(Cursor *cursor, Run run, double *real)
{
    bool good = true;
    for (int32_t i = 0; i < run.count; i++) {
        uint64_t bits = take_long(cursor, 64);
        real[i] = fl__double_of(bits);
        good &= isfinite(real[i]) && bits != (uint64_t)1 << 63;
    }
    return good;
}

static inline bool take_run(Cursor *cursor, const FlWorld *world, Run run, Fields *fields,
                            int32_t at)
{
    if (fields->wide) {
        return take_wide_run(cursor, run, fields->real + at);
    }
    const FlQuantiser *quantiser = &world->quantiser[run.first];
    uint32_t *index = fields->index + at;
    bool good = true;
    for (int32_t i = 0; i < run.count; i++) {
        index[i] = (uint32_t)take(cursor, quantiser[i].width);
        good &= index[i] <= quantiser[i].last;
    }
    return good;
}

static inline bool take_duration(Cursor *cursor, Fields *fields)
{
    fields->duration = 0;
    if (fields->model != FL_MODEL_CUBIC) {
        return true;
    }
    uint64_t duration = take_long(cursor, fields->wide ? 64 : DURATION_WIDTH);
    fields->duration = (int64_t)(duration & INT64_MAX);
    return duration >= 1 && duration <= INT64_MAX;
}

static inline bool take_values(Cursor *cursor, const FlWorld *world, Fields *fields)
{
    Run state = state_run(fields->model);
    Run model = model_run(fields->model);
    bool good = take_run(cursor, world, state, fields, 0);
    good &= take_run(cursor, world, model, fields, state.count);
    good &= take_duration(cursor, fields);
    fields->orientation = take_long(cursor, orientation_width(world, fields->facing));
    return good &
           take_run(cursor, world, rate_run(fields->facing), fields, state.count + model.count);
}

// All of an update's bits, and the reader behind them.
static FlUpdateFault take_bits(FlReader *reader, const FlWorld *world, Taken *taken)
{
    uint8_t copy[FL_UPDATE_BYTES_MAX + BEHIND];
    Cursor cursor = cursor_at(reader, copy);
    if (!take_form(&cursor, &taken->fields, &taken->fades)) {
        // In the first byte, which is there; or in the second, which may not be.
        return fl_reader_left(reader) < 2 && taken->fades ? FL_UPDATE_TRUNCATED
                                                          : FL_UPDATE_BAD_FORM;
    }
    take_head(&cursor, world, taken);
    taken->good = take_fade(&cursor, taken->fades, &taken->fields);
    taken->good &= take_values(&cursor, world, &taken->fields);
    taken->padded = take(&cursor, (int32_t)(-cursor.at & 7)) == 0;
    if (reader->failed || (int32_t)cursor.at > reader->size_bits - reader->bit_count) {
        return FL_UPDATE_TRUNCATED;
    }
    reader->bit_count += (int32_t)cursor.at;
    return taken->entity < (uint32_t)world->def.entity_capacity ? FL_UPDATE_OK
                                                                : FL_UPDATE_BAD_ENTITY;
}

// A wide update that would have fitted is refused: one value, one encoding.
static bool needs_wide(const FlWorld *world, const FlMotion *motion)
{
    Fields again;
    return set_fields(world, motion, &again) && again.wide;
}

static FlUpdateFault make_update(const FlWorld *world, Taken *taken, FlTime stamp, FlUpdate *update)
{
    Fields *fields = &taken->fields;
    update->entity = taken->entity;
    update->life = taken->life;
    fields->step = step_unwrapped(taken->time, stamp);
    if (!step_in_range(fields->step)) {
        return FL_UPDATE_BAD_TIME;
    }
    if (!taken->good || !restore_motion(world, fields, &update->motion)) {
        return FL_UPDATE_BAD_VALUE;
    }
    if (!taken->padded) {
        return FL_UPDATE_BAD_PADDING;
    }
    return fields->wide && !needs_wide(world, &update->motion) ? FL_UPDATE_BAD_WIDE : FL_UPDATE_OK;
}

FlUpdateFault fl_update_decode(FlReader *reader, const FlWorld *world, FlTime stamp,
                               FlUpdate *update)
{
    FL_ASSERT((reader->bit_count & 7) == 0 || reader->failed);
    Taken taken;
    FlUpdateFault fault = take_bits(reader, world, &taken);
    if (fault == FL_UPDATE_OK) {
        fault = make_update(world, &taken, stamp, update);
    }
    if (fault != FL_UPDATE_OK) {
        FlUpdate empty = {.motion = nothing()};
        *update = empty;
        fl__reader_fail(reader);
    }
    return fault;
}

bool fl__update_read(FlReader *reader, const FlWorld *world, FlUpdate *update, uint16_t *low)
{
    Taken taken;
    *low = 0;
    if (take_bits(reader, world, &taken) != FL_UPDATE_OK ||
        make_update(world, &taken, 0, update) != FL_UPDATE_OK) {
        fl__reader_fail(reader);
        return false;
    }
    *low = (uint16_t)taken.time;
    return true;
}
