// spec/vectors/update.json: bytes and what they mean, for decoders in other languages.
// The Python test test_wire_vectors.py reads it with a decoder written from spec/WIRE.md alone.
#include "wire_support.h"

#include "vectors.h"

#include "motion/motion.h"
#include "wire/wire.h"

// ---------------------------------------------------------------- worlds

typedef struct NamedWorld {
    const char *name;
    FlWorld world;
} NamedWorld;

enum { PLAIN, LARGE, FLAT, LINE, TINY, WORLDS };

static void make_worlds(NamedWorld *worlds)
{
    FlWorldDef plain = fl_world_def_default();

    FlWorldDef large = plain; // 4 km at 1 cm, fast, full, finely turned
    large.low = fl_vec3(-2000.0, -2000.0, -2000.0);
    large.high = fl_vec3(2000.0, 2000.0, 2000.0);
    large.top_speed = 320.0;
    large.angle_precision = 0.001;
    large.entity_capacity = 65536;
    large.application_version = 7;

    FlWorldDef flat = plain; // 1 km x 1 km, no height
    flat.low = fl_vec3(0.0, 0.0, 0.0);
    flat.high = fl_vec3(1000.0, 1000.0, 0.0);
    flat.top_speed = 40.0;

    FlWorldDef line = plain; // one axis, one entity, steps that are no neat numbers
    line.low = fl_vec3(-3.3, 5.0, -1.0);
    line.high = fl_vec3(7.1, 5.0, -1.0);
    line.precision = 0.03;
    line.top_speed = 2.9;
    line.top_acceleration = 0.0;
    line.top_turn_rate = 0.7;
    line.angle_precision = 1.0;
    line.entity_capacity = 1;

    FlWorldDef tiny = plain; // micrometres, far from zero
    tiny.low = fl_vec3(1000.0, -1000.002, 0.0);
    tiny.high = fl_vec3(1000.001, -1000.0, 0.0000047);
    tiny.precision = 1e-6;
    tiny.top_speed = 0.001;
    tiny.top_acceleration = 0.5;
    tiny.entity_capacity = 3;

    const FlWorldDef def[WORLDS] = {plain, large, flat, line, tiny};
    static const char *const name[WORLDS] = {"default", "large", "flat", "line", "tiny"};
    for (int32_t i = 0; i < WORLDS; i++) {
        worlds[i].name = name[i];
        worlds[i].world = world_of(&def[i]);
    }
}

static void say_world(Text *text, const NamedWorld *named)
{
    static const char *const field[FL_QUANTISER_COUNT] = {
        "position_x", "position_y",     "position_z",     "velocity_x",     "velocity_y",
        "velocity_z", "acceleration_x", "acceleration_y", "acceleration_z", "turn_rate",
        "spin_x",     "spin_y",         "spin_z"};
    const FlWorld *world = &named->world;
    const FlWorldDef *def = &world->def;
    say(text, "{\"name\": \"%s\"", named->name);
    say_vec3(text, "low", def->low);
    say_vec3(text, "high", def->high);
    say_named(text, "precision", def->precision);
    say_named(text, "top_speed", def->top_speed);
    say_named(text, "top_acceleration", def->top_acceleration);
    say_named(text, "top_turn_rate", def->top_turn_rate);
    say_named(text, "angle_precision", def->angle_precision);
    say(text, ", \"entity_capacity\": %d", def->entity_capacity);
    say(text, ", \"application_version\": %u,\n  ", def->application_version);
    say(text, "\"protocol_id\": \"%016llx\"", (unsigned long long)world->protocol_id);
    say(text, ", \"widths\": {\"entity\": %d, \"yaw\": %d, \"rotation_part\": %d",
        world->entity_width, world->yaw_width, world->rotation_part_width);
    for (int32_t q = 0; q < FL_QUANTISER_COUNT; q++) {
        say(text, ", \"%s\": %d", field[q], world->quantiser[q].width);
    }
    say(text, "}}");
}

// ---------------------------------------------------------------- updates

static void say_quat(Text *text, FlQuat q)
{
    const double x[4] = {q.w, q.x, q.y, q.z};
    say_reals(text, "rotation", x, 4);
}

static void say_motion(Text *text, const FlMotion *m)
{
    static const char *const kind[] = {"none", "yaw", "free"};
    say(text, "\"time_ns\": %lld, \"model\": \"%s\"", (long long)m->time, fl__model_name(m->model));
    say(text, ", \"facing\": \"%s\"", kind[m->facing.kind]);
    say_vec3(text, "position", m->position);
    say_vec3(text, "velocity", m->velocity);
    if (m->model == FL_MODEL_QUADRATIC || m->model == FL_MODEL_CUBIC) {
        say_vec3(text, "acceleration", m->acceleration);
    }
    if (m->model == FL_MODEL_CIRCULAR) {
        say_named(text, "turn_rate", m->turn_rate);
    }
    if (m->model == FL_MODEL_CUBIC) {
        say_vec3(text, "jerk", m->jerk);
        say(text, ", \"duration_ns\": %lld", (long long)m->curve_ns);
    }
    if (m->fade.level != 0) {
        say(text, ", \"trust\": %u, \"level\": %u, \"vertical\": %u, \"curve\": %u", m->fade.trust,
            m->fade.level, m->fade.vertical, m->fade.curve);
    }
    if (m->facing.kind == FL_FACING_YAW) {
        say_named(text, "yaw", m->facing.yaw);
        say_named(text, "yaw_rate", m->facing.yaw_rate);
    }
    if (m->facing.kind == FL_FACING_FREE) {
        say_quat(text, m->facing.rotation);
        say_vec3(text, "spin", m->facing.spin);
    }
}

// What the thing is doing some time after the update's: the meaning, for a reader's formulas.
static void say_later(Text *text, const FlMotion *m, FlTime after)
{
    FlTime then = m->time + after;
    say(text, "{\"after_ns\": %lld", (long long)after);
    say_vec3(text, "position", fl_motion_position(m, then));
    say_vec3(text, "velocity", fl__motion_velocity(m, then));
    FlPose pose = fl_motion_pose(m, then);
    if (m->facing.kind != FL_FACING_NONE) {
        say_quat(text, pose.rotation);
    }
    say(text, "}");
}

// Where receivers show one that fades.
static void say_shown(Text *text, const FlMotion *m)
{
    const FlTime delays[] = {FL_MS(40), FL_MS(700)};
    const FlTime after[] = {0, FL_MS(300), FL_MS(2500)};
    say(text, ",\n  \"shown\": [");
    for (int32_t i = 0; i < 6; i++) {
        FlTime delay = delays[i / 3];
        FlTime at = delay + after[i % 3];
        FlPiece piece = fl_piece_placed(m, 0, m->time + delay);
        say(text, "%s{\"delay_ns\": %lld, \"at_ns\": %lld", i == 0 ? "" : ", ", (long long)delay,
            (long long)at);
        say_vec3(text, "position", fl_motion_position(&piece.motion, m->time + at));
        say(text, "}");
    }
    say(text, "]");
}

typedef struct EntityHint {
    const NamedWorld *in;
    FlTime stamp;
    FlUpdate update;
} EntityHint;

static void say_update(Text *text, const EntityHint *telling)
{
    const FlWorld *world = &telling->in->world;
    uint8_t bytes[FL_UPDATE_BYTES_MAX];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    assert_true(fl_update_encode(&writer, world, &telling->update));
    FlReader reader;
    fl_reader_init(&reader, bytes, fl_writer_size(&writer));
    FlUpdate got;
    assert_int_equal(fl_update_decode(&reader, world, telling->stamp, &got), FL_UPDATE_OK);
    FlMotion sent;
    bool wide;
    assert_int_equal(fl_update_round(world, &telling->update.motion, &sent, &wide), FL_OK);

    say(text, "{\"world\": \"%s\", \"stamp_ns\": %lld, ", telling->in->name,
        (long long)telling->stamp);
    say_hex(text, "bytes", bytes, fl_writer_size(&writer));
    say(text, ",\n  \"entity\": %u, \"life\": %u, \"wide\": %s, ", got.entity, got.life,
        wide ? "true" : "false");
    say_motion(text, &got.motion);
    say(text, ",\n  \"told\": {");
    say_motion(text, &telling->update.motion);
    say(text, "},\n  \"later\": [");
    say_later(text, &got.motion, FL_SEC(1));
    say(text, ", ");
    say_later(text, &got.motion, FL_MS(7321));
    say(text, "]");
    if (got.motion.fade.level != 0) {
        say_shown(text, &got.motion);
    }
    say(text, "}");
}

// A motion of the given form whose values spread over the world, or lie `beyond` times it.
static FlMotion motion_for(FlRandom *r, const FlWorld *world, int32_t form, double beyond)
{
    double real[FL_QUANTISER_COUNT];
    double end[6];
    for (int32_t i = 0; i < FL_QUANTISER_COUNT; i++) {
        const FlQuantiser *q = &world->quantiser[i];
        double low = fl__dequantise(q, 0);
        double high = fl__dequantise(q, q->last);
        real[i] = beyond * fl_random_between(r, low, high);
        if (i < 6) {
            end[i] = fl_random_between(r, low, high);
        }
    }
    FlState state = {
        .time = (FlTime)fl_random_below(r, 10000000000u),
        .position = {real[0], real[1], real[2]},
        .velocity = {real[3], real[4], real[5]},
        .acceleration = {real[6], real[7], real[8]},
        .turn_rate = real[9],
        .facing = fl_facing_none(),
    };
    if (form % 3 == 1) {
        state.facing = fl_facing_yaw(fl_random_between(r, -4.0, 4.0), real[10]);
    } else if (form % 3 == 2) {
        FlQuat q = random_quat(r);
        state.facing = fl_facing_free(q, fl_vec3(real[10], real[11], real[12]));
    }
    if (form / 3 != FL_MODEL_CUBIC) {
        return fl_motion_make((FlModel)(form / 3), &state);
    }
    FlState to = {
        .time = state.time + FL_MS(100) + (FlTime)fl_random_below(r, 4000000000u),
        .position = {end[0], end[1], end[2]},
        .velocity = {end[3], end[4], end[5]},
    };
    return fl__motion_cubic(&state, &to);
}

static void say_updates(Text *text, const NamedWorld *worlds)
{
    FlRandom r = random_stream(1);
    bool first = true;
    for (int32_t n = 0; n < WORLDS * 15 * 3; n++) { // narrow, wide, and fading
        const NamedWorld *in = &worlds[n / 45];
        EntityHint telling = {.in = in};
        telling.update.motion = motion_for(&r, &in->world, n / 3 % 15, n % 3 == 1 ? 1.75 : 1.0);
        if (n % 3 == 2) {
            telling.update.motion.fade =
                (FlFade){(uint8_t)fl_random_below(&r, FL_FADE_TRUSTS),
                         (uint8_t)(1 + fl_random_below(&r, FL_FADE_CODES - 1)),
                         (uint8_t)fl_random_below(&r, FL_FADE_CODES),
                         (uint8_t)fl_random_below(&r, FL_FADE_CODES)};
        }
        telling.update.entity =
            (uint32_t)fl_random_below(&r, (uint64_t)in->world.def.entity_capacity);
        telling.update.life = (uint32_t)n;
        // Before, at and after the update, over all of the window and around zero.
        FlTime age = (FlTime)fl_random_below(&r, 16383000000u) - FL_MS(999);
        telling.update.motion.time -= n % 7 == 0 ? FL_SEC(5) : 0;
        telling.stamp = telling.update.motion.time + age;
        say(text, "%s", first ? "" : ",\n ");
        say_update(text, &telling);
        first = false;
    }
}

// ---------------------------------------------------------------- what must be refused

static void say_refused(Text *text, const NamedWorld *in, const uint8_t *bytes, int32_t size,
                        const char *why)
{
    FlReader reader;
    FlUpdate got;
    fl_reader_init(&reader, bytes, size);
    FlUpdateFault fault = fl_update_decode(&reader, &in->world, 0, &got);
    assert_int_not_equal(fault, FL_UPDATE_OK);
    say(text, "%s{\"world\": \"%s\", \"stamp_ns\": 0, ", text->at[-1] == '[' ? "" : ",\n ",
        in->name);
    say_hex(text, "bytes", bytes, size);
    say(text, ", \"fault\": \"%s\", \"why\": \"%s\"}", fl__update_fault_name(fault), why);
}

typedef struct Bent {
    int32_t form;
    int32_t at, width; ///< Bits to replace, in the default world.
    uint64_t by;
    double beyond;
    const char *why;
} Bent;

static void say_bent(Text *text, const NamedWorld *in, const Bent *bent)
{
    FlRandom r = random_stream(2);
    FlUpdate update = {.motion = motion_for(&r, &in->world, bent->form, bent->beyond)};
    uint8_t bytes[FL_UPDATE_BYTES_MAX];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    assert_true(fl_update_encode(&writer, &in->world, &update));
    for (int32_t i = 0; i < bent->width; i++) {
        uint8_t mask = (uint8_t)(1u << ((bent->at + i) & 7));
        uint8_t *byte = &bytes[(bent->at + i) / 8];
        *byte = (uint8_t)((*byte & ~mask) | (bent->by >> i & 1u ? mask : 0));
    }
    say_refused(text, in, bytes, fl_writer_size(&writer), bent->why);
}

static void say_all_refused(Text *text, const NamedWorld *worlds)
{
    const uint64_t ones = UINT64_MAX;
    // The default world: form 4, entity 10, life 2, time 16, position 3 * 17 from bit 32 on, then
    // velocity 3 * 15 from 83 on. Wide: 4 more before the entity, doubles from bit 36 on.
    const Bent bent[] = {
        {0, 32, 17, 100001, 1.0, "position x one past the last"},
        {0, 66, 17, ones, 1.0, "position z far past the last"},
        {3, 83, 15, 32001, 1.0, "velocity x one past the last"},
        {6, 128, 14, 10001, 1.0, "acceleration x one past the last"},
        {9, 128, 18, 160001, 1.0, "turn rate one past the last"},
        {12, 224, 16, 0, 1.0, "a cubic of no duration"},
        {1, 93, 11, 2001, 1.0, "yaw rate one past the last"},
        {2, 83, 29, ones >> 3, 1.0, "a rotation whose largest component is not"},
        {2, 112, 11, 2001, 1.0, "spin x one past the last"},
        {0, 83, 5, 16, 1.0, "a bit set in the padding"},
        {0, 4, 8, 15, 2.5, "fading, and standing still"},
        {0, 4, 8, 15 | 12 << 4, 2.5, "fading, and a cubic"},
        {0, 4, 8, 15 | 15 << 4, 2.5, "fading, and wide"},
        {0, 36, 64, UINT64_C(0x7ff8000000000000), 2.5, "NaN"},
        {0, 100, 64, UINT64_C(0x7ff0000000000000), 2.5, "infinity"},
        {0, 164, 64, UINT64_C(0x8000000000000000), 2.5, "minus zero"},
        {0, 228, 4, 1, 2.5, "a bit set in the padding of a wide one"},
        {12, 804, 64, 0, 2.5, "a wide cubic of no duration"},
        {12, 804, 64, UINT64_C(0x8000000000000000), 2.5, "a wide cubic of negative duration"},
    };
    for (size_t i = 0; i < sizeof bent / sizeof bent[0]; i++) {
        say_bent(text, &worlds[PLAIN], &bent[i]);
    }
    const Bent entity = {0, 4, 2, 3, 1.0, "entity 3 of 0 to 2"};
    say_bent(text, &worlds[TINY], &entity);
    // Wide doubles that the narrow form would hold: 1, 2, 3; and a cubic that ends in the world.
    uint8_t fits[FL_UPDATE_BYTES_MAX] = {0};
    FlWriter writer;
    fl_writer_init(&writer, fits, sizeof fits);
    fl_writer_put(&writer, 15, 8);
    fl_writer_put(&writer, 0, 28);
    for (int32_t i = 1; i <= 3; i++) {
        fl_writer_put(&writer, bits_of((double)i), 64);
    }
    fl_writer_align(&writer);
    say_refused(text, &worlds[PLAIN], fits, fl_writer_size(&writer), "wide although it fits");
    fl_writer_init(&writer, fits, sizeof fits);
    fl_writer_put(&writer, 15 | 12 << 4, 8);
    fl_writer_put(&writer, 0, 28);
    for (int32_t i = 0; i < 12; i++) {
        fl_writer_put(&writer, bits_of(i < 9 ? 1.0 : -2.0), 64);
    }
    fl_writer_put(&writer, (uint64_t)FL_MS(1500), 64);
    fl_writer_align(&writer);
    say_refused(text, &worlds[PLAIN], fits, fl_writer_size(&writer),
                "a wide cubic although both its ends fit");
    // Every truncation of one update.
    FlRandom r = random_stream(3);
    FlUpdate update = {.motion = motion_for(&r, &worlds[FLAT].world, 10, 1.0)};
    fl_writer_init(&writer, fits, sizeof fits);
    assert_true(fl_update_encode(&writer, &worlds[FLAT].world, &update));
    for (int32_t size = 0; size < fl_writer_size(&writer); size++) {
        say_refused(text, &worlds[FLAT], fits, size, "ends too early");
    }
}

void vectors_update(Text *text)
{
    NamedWorld worlds[WORLDS];
    make_worlds(worlds);
    say(text,
        "{\"about\": \"Bytes of updates and what they mean; see spec/WIRE.md section 4.1.\",\n");
    say(text, "\"wire_version\": %u,\n\"worlds\": [", FL_WIRE_VERSION);
    for (int32_t i = 0; i < WORLDS; i++) {
        say(text, "%s", i == 0 ? "" : ",\n ");
        say_world(text, &worlds[i]);
    }
    say(text, "],\n\"updates\": [");
    say_updates(text, worlds);
    say(text, "],\n\"refused\": [");
    say_all_refused(text, worlds);
    say(text, "]}\n");
}
