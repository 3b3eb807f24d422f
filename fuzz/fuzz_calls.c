// Calls from a stranger.
//
// Byte 0 says what the rest is: a message (0 to 5) or arguments (6 to 10), which are refused, or
// write the same bytes again; or a script (11) for both ends' tables, in which each byte picks a
// step. Checked there: nothing is decided twice, whatever comes again; tables keep to their sizes;
// every call made here gets one result.
#include "fuzz.h"

#include "fairlead/call.h"

#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : fl_assert_failed(#condition, __FILE__, __LINE__))

enum { ROOM = FL_CALLS_MESSAGE_BYTES + 8, SERIALS = 256, SCRIPT = 11 };

typedef union Any {
    FlCallMessage call;
    FlAnswerMessage answer;
    FlEstateMessage estate;
    FlAskMessage ask;
    FlClaimMessage claim;
    FlClaimedMessage claimed;
    FlHitCall hit;
    FlDeathCall death;
    FlPickupCall pickup;
    FlDoorCall door;
    FlMissileCall missile;
} Any;

// ---------------------------------------------------------------- bytes

static bool read_any(int32_t kind, FlReader *r, const FlWorld *world, Any *any)
{
    switch (kind) {
    case 0:
        return fl_call_message_read(r, &any->call);
    case 1:
        return fl_answer_message_read(r, &any->answer);
    case 2:
        return fl_estate_message_read(r, &any->estate);
    case 3:
        return fl_ask_message_read(r, &any->ask);
    case 4:
        return fl_claim_message_read(r, &any->claim);
    case 5:
        return fl_claimed_message_read(r, &any->claimed);
    case 6:
        return fl_hit_call_read(r, world, &any->hit);
    case 7:
        return fl_death_call_read(r, &any->death);
    case 8:
        return fl_pickup_call_read(r, &any->pickup);
    case 9:
        return fl_door_call_read(r, &any->door);
    default:
        return fl_missile_call_read(r, world, &any->missile);
    }
}

static bool write_any(int32_t kind, FlWriter *w, const FlWorld *world, const Any *any)
{
    switch (kind) {
    case 0:
        fl_call_message_write(w, &any->call);
        return true;
    case 1:
        fl_answer_message_write(w, &any->answer);
        return true;
    case 2:
        fl_estate_message_write(w, &any->estate);
        return true;
    case 3:
        fl_ask_message_write(w, &any->ask);
        return true;
    case 4:
        fl_claim_message_write(w, &any->claim);
        return true;
    case 5:
        fl_claimed_message_write(w, &any->claimed);
        return true;
    case 6:
        return fl_hit_call_write(w, world, &any->hit);
    case 7:
        return fl_death_call_write(w, &any->death);
    case 8:
        return fl_pickup_call_write(w, &any->pickup);
    case 9:
        return fl_door_call_write(w, &any->door);
    default:
        return fl_missile_call_write(w, world, &any->missile);
    }
}

static void read_bytes(int32_t kind, const uint8_t *data, int32_t size)
{
    FlWorldDef def = fl_world_def_default();
    FlWorld world;
    CHECK(fl_world_init(&def, &world) == FL_OK);
    FlReader r;
    Any any;
    fl_reader_init(&r, data, size);
    if (!read_any(kind, &r, &world, &any)) {
        return;
    }
    uint8_t bytes[ROOM];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    CHECK(write_any(kind, &w, &world, &any));
    CHECK(!w.failed && fl_writer_size(&w) == size && memcmp(bytes, data, (size_t)size) == 0);
}

// ---------------------------------------------------------------- tables

typedef struct Script {
    const uint8_t *bytes;
    size_t left;
    FlCalls *calls;
    FlTime now;
    uint8_t decided[SERIALS];
    uint32_t results;
} Script;

static uint8_t take(Script *script)
{
    if (script->left == 0) {
        return 0;
    }
    script->left--;
    return *script->bytes++;
}

static void hear(Script *script)
{
    FlCallMessage m = {.key = {take(script), 3, 1}, .number = 1};
    m.until = (FlTime)take(script) * FL_MS(200);
    m.until -= m.until % FL_US(250);
    FlCallHeard heard = fl_calls_hear(script->calls, &m, script->now);
    if (heard == FL_HEARD_APPLIED || heard == FL_HEARD_REFUSED) {
        CHECK(script->decided[m.key.serial] == (heard == FL_HEARD_APPLIED ? 2 : 1));
    }
}

// The same call may come with another end, which no caller does: then it may be decided again.
static void decide(Script *script)
{
    FlCallMessage m;
    if (fl_calls_take(script->calls, &m) == FL_OK) {
        bool applied = (take(script) & 1u) != 0;
        CHECK(fl_calls_open(script->calls, m.number));
        CHECK(fl_calls_decide(script->calls, m.key, applied) == FL_OK);
        CHECK(fl_calls_decide(script->calls, m.key, applied) == FL_NOT_FOUND);
        script->decided[m.key.serial] = applied ? 2 : 1;
    }
}

static void ask(Script *script)
{
    FlCallDef def = {.kind = take(script), .bytes = "abc", .count = take(script) % 4};
    uint8_t predicted = take(script);
    def.predicted = predicted % 2 == 0 ? &predicted : NULL;
    def.predicted_count = predicted % 2 == 0 ? 1 : 0;
    FlCallKey self = {0, 9, 1};
    uint32_t serial;
    FlResult result = fl_calls_ask(script->calls, &def, self, 1, 0, 5, script->now, &serial);
    CHECK(result == FL_OK || result == FL_WOULD_BLOCK);
    FlCallMessage m;
    while (fl_calls_due(script->calls, script->now, &m)) {
        CHECK(m.until > script->now);
    }
}

static void learn(Script *script)
{
    FlAnswerMessage m = {.key = {take(script), 9, 1}, .number = 1};
    m.answer = (FlAnswer)(take(script) % 3);
    (void)fl_calls_answered(script->calls, &m, script->now);
    uint8_t state = take(script);
    fl_calls_state(script->calls, 1, (uint16_t)(5 + take(script)), &state, 1, script->now);
    FlCallResult result;
    while (fl_calls_done(script->calls, script->now, &result) == FL_OK) {
        script->results++;
    }
}

static void hand_on(Script *script)
{
    FlEstateMessage estate = {.number = 1};
    FlCallMessage m;
    while (fl_calls_unheard(script->calls, 1, &m)) {
    }
    if (fl_calls_leave(script->calls, 1, script->now, &estate)) {
        CHECK(fl_calls_inherit(script->calls, &estate, script->now));
    }
}

static void run(const uint8_t *data, size_t size)
{
    Script script = {.bytes = data, .left = size, .now = FL_SEC(1)};
    FlCallsDef def = fl_calls_def_default();
    def.asked_capacity = 4;
    def.heard_capacity = 8;
    CHECK(fl_calls_create(&def, &script.calls) == FL_OK);
    while (script.left > 0) {
        switch (take(&script) % 6) {
        case 0:
            hear(&script);
            break;
        case 1:
            decide(&script);
            break;
        case 2:
            ask(&script);
            break;
        case 3:
            learn(&script);
            break;
        case 4:
            hand_on(&script);
            break;
        default:
            script.now += (FlTime)take(&script) * FL_MS(20);
            break;
        }
    }
    FlCallResult result;
    while (fl_calls_done(script.calls, script.now + FL_SEC(60), &result) == FL_OK) {
        script.results++;
    }
    FlCallStats stats = fl_calls_stats(script.calls);
    CHECK(stats.count[FL_CALLS_ASKED] == script.results);
    CHECK(fl_calls_deadline(script.calls) == FL_FOREVER);
    fl_calls_destroy(script.calls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 4096) {
        return 0;
    }
    int32_t kind = data[0] % (SCRIPT + 1);
    if (kind == SCRIPT) {
        run(data + 1, size - 1);
    } else {
        read_bytes(kind, data + 1, (int32_t)(size - 1));
    }
    return 0;
}
