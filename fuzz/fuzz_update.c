// Updates from a stranger, and motions from a careless game.
//
// Byte 0: which world, and in its high bit which way. Bytes 1 to 8: the stamp. Then either bytes as
// they would come in a packet (what decodes must be finite, stay as it is when rounded, and encode
// to the same bytes), or the raw fields of a motion (which must be refused, or come back from its
// bytes as rounded).
#include "fuzz.h"

#include "fairlead/motion.h"

#include "motion/motion.h"

#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : fl_assert_failed(#condition, __FILE__, __LINE__))

enum { WORLDS = 6 };

static FlWorld world_number(int32_t number)
{
    FlWorldDef def = fl_world_def_default();
    if (number == 1) { // flat
        def.low = fl_vec3(0.0, 0.0, 0.0);
        def.high = fl_vec3(1000.0, 1000.0, 0.0);
        def.top_speed = 40.0;
        def.entity_capacity = 1000;
    } else if (number == 2) { // as wide and as far out as can be
        def.high.x = 0.01 * 17592186044416.0;
        def.low.x = def.high.x - 0.01 * 4294967295.0;
        def.low.y = -0.01 * 2147483647.0;
        def.high.y = 0.01 * 2147483647.0;
        def.top_speed = 0.01 * 2147483647.0;
        def.top_acceleration = 0.02 * 2147483647.0;
        def.top_turn_rate = 1.0;
        def.entity_capacity = 65536;
        def.angle_precision = 1e-5;
    } else if (number == 3) { // almost nothing
        def.low = fl_vec3(-1.0, 3.0, 4.0);
        def.high = fl_vec3(1.0, 3.0, 4.0);
        def.precision = 1.0;
        def.top_speed = 0.1;
        def.top_acceleration = 0.0;
        def.top_turn_rate = 0.0;
        def.angle_precision = 1.0;
        def.entity_capacity = 1;
    } else if (number == 4) { // the finest
        def.low = fl_vec3(-1.0, -1.0, 0.0);
        def.high = fl_vec3(1.0, 1.0, 1e-9);
        def.precision = 1e-9;
        def.top_speed = 1e-9;
        def.top_acceleration = 1.0;
    } else if (number == 5) { // the coarsest
        def.precision = 1e9;
        def.low = fl_vec3(-1e18, -1e9, 0.0);
        def.high = fl_vec3(1e18, 1e9, 1e9 * 4294967295.0);
        def.top_speed = 1e18;
        def.top_acceleration = 1e18;
        def.top_turn_rate = 1.0;
    }
    FlWorld world;
    CHECK(fl_world_init(&def, &world) == FL_OK);
    return world;
}

static bool same_motion(const FlMotion *a, const FlMotion *b)
{
    // Without padding, and so that equal means equal bits.
    const void *const fields[][2] = {
        {&a->position, &b->position},         {&a->velocity, &b->velocity},
        {&a->acceleration, &b->acceleration}, {&a->jerk, &b->jerk},
        {&a->facing.spin, &b->facing.spin},
    };
    bool same = a->time == b->time && a->horizon_ns == b->horizon_ns && a->model == b->model &&
                a->curve_ns == b->curve_ns && a->facing.kind == b->facing.kind &&
                memcmp(&a->turn_rate, &b->turn_rate, sizeof a->turn_rate) == 0 &&
                memcmp(&a->facing.yaw, &b->facing.yaw, sizeof a->facing.yaw) == 0 &&
                memcmp(&a->facing.yaw_rate, &b->facing.yaw_rate, sizeof a->facing.yaw) == 0 &&
                memcmp(&a->facing.rotation, &b->facing.rotation, sizeof a->facing.rotation) == 0;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        same = same && memcmp(fields[i][0], fields[i][1], sizeof(FlVec3)) == 0;
    }
    return same;
}

static void check_decoded(const FlWorld *world, const FlUpdate *update, const uint8_t *bytes,
                          int32_t size)
{
    CHECK(update->entity < (uint32_t)world->def.entity_capacity && update->life < 4);
    CHECK(fl__motion_finite(&update->motion));
    FlMotion again;
    bool wide;
    CHECK(fl_update_round(world, &update->motion, &again, &wide) == FL_OK);
    CHECK(same_motion(&again, &update->motion));
    CHECK(size ==
          fl__update_bytes(world, again.model, again.facing.kind, wide, again.fade.level != 0));
    uint8_t encoded[FL_UPDATE_BYTES_MAX];
    FlWriter writer;
    fl_writer_init(&writer, encoded, sizeof encoded);
    CHECK(fl_update_encode(&writer, world, update));
    CHECK(fl_writer_size(&writer) == size && memcmp(encoded, bytes, (size_t)size) == 0);
}

static void fuzz_bytes(const FlWorld *world, FlTime stamp, const uint8_t *data, size_t size)
{
    FlReader reader;
    fl_reader_init(&reader, data, (int32_t)size);
    while (fl_reader_left(&reader) > 0) {
        int32_t start = reader.bit_count / 8;
        FlUpdate update;
        if (fl_update_decode(&reader, world, stamp, &update) != FL_UPDATE_OK) {
            CHECK(reader.failed);
            return;
        }
        check_decoded(world, &update, data + start, reader.bit_count / 8 - start);
    }
}

static void fuzz_motion(const FlWorld *world, FlTime stamp, const uint8_t *data, size_t size)
{
    FlMotion motion = {.time = stamp, .horizon_ns = FL_FOREVER, .facing = fl_facing_none()};
    void *const fields[] = {&motion.position, &motion.velocity,        &motion.acceleration,
                            &motion.jerk,     &motion.facing.rotation, &motion.facing.spin};
    const size_t sizes[] = {24, 24, 24, 24, 32, 24};
    size_t need = 2 + 8 * 5;
    if (size < need) {
        return;
    }
    motion.model = (FlModel)(data[0] % 6);
    motion.facing.kind = (FlFacingKind)(data[1] % 3);
    memcpy(&motion.horizon_ns, data + 2, 8);
    memcpy(&motion.curve_ns, data + 10, 8);
    memcpy(&motion.turn_rate, data + 18, 8);
    memcpy(&motion.facing.yaw, data + 26, 8);
    memcpy(&motion.facing.yaw_rate, data + 34, 8);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0] && size - need >= sizes[i]; i++) {
        memcpy(fields[i], data + need, sizes[i]);
        need += sizes[i];
    }
    FlMotion rounded;
    bool wide;
    if (fl_update_round(world, &motion, &rounded, &wide) != FL_OK) {
        return;
    }
    FlUpdate update = {.motion = motion};
    uint8_t encoded[FL_UPDATE_BYTES_MAX];
    FlWriter writer;
    fl_writer_init(&writer, encoded, sizeof encoded);
    CHECK(fl_update_encode(&writer, world, &update));
    FlReader reader;
    fl_reader_init(&reader, encoded, fl_writer_size(&writer));
    CHECK(fl_update_decode(&reader, world, motion.time, &update) == FL_UPDATE_OK);
    CHECK(same_motion(&update.motion, &rounded));
    check_decoded(world, &update, encoded, fl_writer_size(&writer));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 9 || size > 4096) {
        return 0;
    }
    FlWorld world = world_number((data[0] & 0x7f) % WORLDS);
    FlTime stamp;
    memcpy(&stamp, data + 1, sizeof stamp);
    if ((data[0] & 0x80) != 0) {
        fuzz_motion(&world, stamp, data + 9, size - 9);
    } else {
        fuzz_bytes(&world, stamp, data + 9, size - 9);
    }
    return 0;
}
