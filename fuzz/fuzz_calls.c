// Calls from a stranger.
//
// Byte 0 says what the rest is: a message (0 to 2) or arguments (3 to 7), which are refused, or
// write the same bytes again; or a script (8) for both ends' tables, in which each byte picks a
// step. Checked there: nothing is decided twice, whatever comes again; tables keep to their sizes;
// every call made here gets one result.
#include "fuzz.h"

#include "fairlead/call.h"

#include "agree/call.h"

#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : fl_assert_failed(#condition, __FILE__, __LINE__))

enum { ROOM = FL_CALLS_MESSAGE_BYTES + 8, SERIALS = 256, SCRIPT = 8 };

typedef union Any {
    FlCallMessage call;
    FlAnswerMessage answer;
    FlHandoverMessage estate;
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
        return fl__call_message_read(r, &any->call);
    case 1:
        return fl__answer_message_read(r, &any->answer);
    case 2:
        return fl__handover_message_read(r, &any->estate);
    case 3:
        return fl__hit_call_read(r, world, &any->hit);
    case 4:
        return fl__death_call_read(r, &any->death);
    case 5:
        return fl__pickup_call_read(r, &any->pickup);
    case 6:
        return fl__door_call_read(r, &any->door);
    default:
        return fl__missile_call_read(r, world, &any->missile);
    }
}

static bool write_any(int32_t kind, FlWriter *w, const FlWorld *world, const Any *any)
{
    switch (kind) {
    case 0:
        fl__call_message_write(w, &any->call);
        return true;
    case 1:
        fl__answer_message_write(w, &any->answer);
        return true;
    case 2:
        fl__handover_message_write(w, &any->estate);
        return true;
    case 3:
        return fl_hit_call_write(w, world, &any->hit);
    case 4:
        return fl__death_call_write(w, &any->death);
    case 5:
        return fl__pickup_call_write(w, &any->pickup);
    case 6:
        return fl__door_call_write(w, &any->door);
    default:
        return fl__missile_call_write(w, world, &any->missile);
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

typedef struct Game {
    Script script;
    FlCalls *calls;
    FlTime now;
    uint8_t decided[SERIALS];
    uint32_t results;
} Game;

static void hear(Game *game)
{
    FlCallMessage m = {.key = {script_take(&game->script), 3, 1}, .number = 1};
    m.until = (FlTime)script_take(&game->script) * FL_MS(200);
    m.until -= m.until % FL_US(250);
    FlCallReceived heard = fl__calls_receive(game->calls, &m, game->now);
    if (heard == FL_RECEIVED_APPLIED || heard == FL_RECEIVED_REFUSED) {
        CHECK(game->decided[m.key.serial] == (heard == FL_RECEIVED_APPLIED ? 2 : 1));
    }
}

// The same call may come with another end, which no caller does: then it may be decided again.
static void decide(Game *game)
{
    FlCallMessage m;
    if (fl__calls_take(game->calls, &m) == FL_OK) {
        bool applied = (script_take(&game->script) & 1u) != 0;
        CHECK(fl__calls_open(game->calls, m.number));
        CHECK(fl__calls_decide(game->calls, m.key, applied) == FL_OK);
        CHECK(fl__calls_decide(game->calls, m.key, applied) == FL_NOT_FOUND);
        game->decided[m.key.serial] = applied ? 2 : 1;
    }
}

static void ask(Game *game)
{
    FlCallDef def = {.kind = script_take(&game->script),
                     .bytes = "abc",
                     .count = script_take(&game->script) % 4};
    uint8_t predicted = script_take(&game->script);
    def.predicted = predicted % 2 == 0 ? &predicted : NULL;
    def.predicted_count = predicted % 2 == 0 ? 1 : 0;
    FlCallKey self = {0, 9, 1};
    uint32_t serial;
    FlResult result = fl__calls_ask(game->calls, &def, self, 1, 0, 5, game->now, &serial);
    CHECK(result == FL_OK || result == FL_WOULD_BLOCK);
    FlCallMessage m;
    while (fl__calls_due(game->calls, game->now, &m)) {
        CHECK(m.until > game->now);
    }
}

static void learn(Game *game)
{
    FlAnswerMessage m = {.key = {script_take(&game->script), 9, 1}, .number = 1};
    m.answer = (FlAnswer)(script_take(&game->script) % 3);
    (void)fl__calls_answered(game->calls, &m, game->now);
    uint8_t state = script_take(&game->script);
    fl__calls_state(game->calls, 1, (uint16_t)(5 + script_take(&game->script)), &state, 1,
                    game->now);
    FlCallResult result;
    while (fl__calls_done(game->calls, game->now, &result) == FL_OK) {
        game->results++;
    }
}

static void hand_on(Game *game)
{
    FlHandoverMessage estate = {.number = 1};
    FlCallMessage m;
    while (fl__calls_unreceived(game->calls, 1, &m)) {
    }
    if (fl__calls_leave(game->calls, 1, game->now, &estate)) {
        CHECK(fl__calls_inherit(game->calls, &estate, game->now));
    }
}

// A missile and a hit, said and judged.
static void shoot(Game *game)
{
    FlWorldDef def = fl_world_def_default();
    FlWorld world;
    CHECK(fl_world_init(&def, &world) == FL_OK);
    FlMissileCall missile = {.shooter = script_take(&game->script) % 8, .time = game->now};
    missile.position = fl_vec3(script_take(&game->script), script_take(&game->script), 0.0);
    missile.velocity =
        fl_vec3(script_take(&game->script) - 128.0, script_take(&game->script) - 128.0, 0.0);
    uint8_t bytes[ROOM];
    FlWriter w;
    FlReader r;
    fl_writer_init(&w, bytes, sizeof bytes);
    if (fl__missile_call_write(&w, &world, &missile)) {
        fl_reader_init(&r, bytes, fl_writer_size(&w));
        CHECK(fl__missile_call_read(&r, &world, &missile));
    }
    FlState state = {.time = game->now, .velocity = fl_vec3(script_take(&game->script), 0.0, 0.0)};
    FlModel model = script_take(&game->script) % 2 == 0 ? FL_MODEL_LINEAR : FL_MODEL_STILL;
    FlMotion target = fl_motion_make(model, &state);
    FlTime when;
    double near = fl__missile_nearest(&missile, &target, game->now, game->now + FL_SEC(2), &when);
    CHECK(near >= 0.0 && when >= game->now && when <= game->now + FL_SEC(2));
    FlHitRules rules = fl_hit_rules_default();
    FlHitCall hit = {.time = game->now - FL_MS(8) * script_take(&game->script),
                     .target = missile.position};
    FlPose seen = {.position =
                       fl_vec3(script_take(&game->script), script_take(&game->script), 0.0)};
    FlHitVerdict verdict =
        fl__hit_verify(&rules, &hit, script_take(&game->script) % 8 == 0 ? NULL : &seen,
                       missile.position, game->now);
    CHECK(fl__hit_verdict_name(verdict)[0] != '\0' && fl__calls_count_name(0)[0] != '\0');
}

static void run(const uint8_t *data, size_t size)
{
    Game game = {.script = {data, size}, .now = FL_SEC(1)};
    FlCallsDef def = fl__calls_def_default();
    def.asked_capacity = 4;
    def.received_capacity = 8;
    CHECK(fl__calls_create(&def, &game.calls) == FL_OK);
    while (game.script.left > 0) {
        switch (script_take(&game.script) % 7) {
        case 0:
            hear(&game);
            break;
        case 1:
            decide(&game);
            break;
        case 2:
            ask(&game);
            break;
        case 3:
            learn(&game);
            break;
        case 4:
            hand_on(&game);
            break;
        case 5:
            shoot(&game);
            break;
        default:
            game.now += (FlTime)script_take(&game.script) * FL_MS(20);
            break;
        }
    }
    FlCallResult result;
    while (fl__calls_done(game.calls, game.now + FL_SEC(60), &result) == FL_OK) {
        game.results++;
    }
    FlCallStats stats = fl__calls_stats(game.calls);
    CHECK(stats.count[FL_CALLS_ASKED] == game.results);
    CHECK(fl__calls_deadline(game.calls) == FL_FOREVER);
    fl__calls_destroy(game.calls);
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
