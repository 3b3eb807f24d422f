// What the clients of a relay say, and whether it arrived as it was said.
#include "bench/relay.h"

#include <string.h>

#define OPAQUE_BYTES 30
#define TICK_NS (FL_SEC(1) / RELAY_HZ)

void relay_messages_opaque(RelayMessages *messages)
{
    memset(messages, 0, sizeof *messages);
    messages->name = "opaque messages";
    FlRandom random = {.seed = 4};
    for (int32_t c = 0; c < RELAY_CLIENTS; c++) {
        messages->length[c] = OPAQUE_BYTES;
        for (int32_t v = 0; v < RELAY_VARIANTS; v++) {
            uint8_t *bytes = messages->bytes[c][v];
            bytes[0] = (uint8_t)c;
            bytes[1] = (uint8_t)v;
            for (int32_t i = 2; i < OPAQUE_BYTES; i++) {
                bytes[i] = (uint8_t)fl_random_below(&random, 256);
            }
        }
    }
}

// Every second vehicle is turning.
static FlMotion motion_of(int32_t client, int32_t variant, FlRandom *random)
{
    FlState state = {.time = variant * TICK_NS};
    state.position.x = fl_random_between(random, -400.0, 400.0);
    state.position.y = fl_random_between(random, -400.0, 400.0);
    state.velocity.x = fl_random_between(random, -30.0, 30.0);
    state.velocity.y = fl_random_between(random, -30.0, 30.0);
    state.facing.kind = FL_FACING_YAW;
    state.facing.yaw = fl_random_between(random, -3.0, 3.0);
    state.turn_rate = client % 2 == 0 ? 0.0 : fl_random_between(random, 0.1, 1.0);
    return fl_motion_make(client % 2 == 0 ? FL_MODEL_LINEAR : FL_MODEL_CIRCULAR, &state);
}

bool relay_messages_motion(RelayMessages *messages)
{
    memset(messages, 0, sizeof *messages);
    messages->name = "motion updates";
    messages->motion = true;
    FlWorldDef def = fl_world_def_default();
    def.low.z = def.high.z = 0.0; // on the ground
    if (fl_world_init(&def, &messages->world) != FL_OK) {
        return false;
    }
    FlRandom random = {.seed = 5};
    for (int32_t c = 0; c < RELAY_CLIENTS; c++) {
        for (int32_t v = 0; v < RELAY_VARIANTS; v++) {
            FlUpdate update = {.entity = (uint32_t)c, .motion = motion_of(c, v, &random)};
            FlWriter writer;
            fl_writer_init(&writer, messages->bytes[c][v], RELAY_MESSAGE_BYTES);
            if (!fl_update_encode(&writer, &messages->world, &update)) {
                return false;
            }
            messages->length[c] = fl_writer_size(&writer);
        }
    }
    return true;
}

static bool find_motion(const RelayMessages *messages, const uint8_t *bytes, int32_t left,
                        uint32_t *client, int64_t *variant)
{
    FlReader reader;
    FlUpdate update;
    fl_reader_init(&reader, bytes, left);
    FlTime middle = RELAY_VARIANTS / 2 * TICK_NS;
    if (fl_update_decode(&reader, &messages->world, middle, &update) != FL_UPDATE_OK) {
        return false;
    }
    *client = update.entity;
    *variant = update.motion.time / TICK_NS;
    return true;
}

int32_t relay_messages_check(const RelayMessages *messages, const uint8_t *bytes, int32_t left)
{
    uint32_t client = left >= 2 ? bytes[0] : RELAY_CLIENTS;
    int64_t variant = left >= 2 ? bytes[1] : 0;
    if (messages->motion && !find_motion(messages, bytes, left, &client, &variant)) {
        return 0;
    }
    if (client >= RELAY_CLIENTS || variant < 0 || variant >= RELAY_VARIANTS) {
        return 0;
    }
    int32_t length = messages->length[client];
    bool same =
        length <= left && memcmp(bytes, messages->bytes[client][variant], (size_t)length) == 0;
    return same ? length : 0;
}

double relay_messages_mean(const RelayMessages *messages, int32_t clients)
{
    double sum = 0.0;
    for (int32_t c = 0; c < clients; c++) {
        sum += messages->length[c];
    }
    return sum / clients;
}
