// Messages about lags from strangers, and actions.
//
// Byte 0 chooses. Either the rest is one message, read as any message of module `agree` here: what
// is read is written back to the same bytes. Or it is a script: peers come and go, time passes, and
// others say anything, also what they would say (vectors and READYs of the right round with numbers
// from the script). Whatever they say, play time and stamps never go back, and lags stay within
// their limit.
#include "fuzz.h"

#include "agree/lags.h"
#include "agree/private.h"

#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : fl_assert_failed(#condition, __FILE__, __LINE__))

enum { SELF = 1, PEERS = 4 };

// ---------------------------------------------------------------- reading

static void check_message(const uint8_t *data, size_t size)
{
    uint8_t again[FL_LAGS_MESSAGE_BYTES];
    FlReader reader;
    FlWriter writer;
    Fl__LagsBody said;
    fl_reader_init(&reader, data, (int32_t)size);
    if (fl__lags_read(&reader, 2, &said)) {
        fl_writer_init(&writer, again, sizeof again);
        fl__lags_write(&writer, 2, &said);
        CHECK(!writer.failed && fl_writer_size(&writer) == (int32_t)size);
        CHECK(memcmp(again, data, size) == 0);
    }
    FlOrdered action;
    fl_reader_init(&reader, data, (int32_t)size);
    if (fl__action_read(&reader, &action)) {
        CHECK(action.count >= 0 && action.count <= FL_ACTION_BYTES);
        fl_writer_init(&writer, again, sizeof again);
        fl__action_write(&writer, &action);
        CHECK(fl_writer_size(&writer) == (int32_t)size && memcmp(again, data, size) == 0);
    }
}

// ---------------------------------------------------------------- playing

typedef struct Scene {
    FlLags *lags;
    FlTime now;
    FlTime play;   // the last one seen,
    bool together; // and whether it was not ours alone
} Scene;

/// What an honest peer might say, with the script's numbers.
static void say(Scene *scene, Script *script, int32_t from)
{
    Fl__LagsBody said = {.kind = (Fl__LagsKind)(1 + script_take(script) % 3)};
    said.stamp = scene->now - FL_MS(script_take(script));
    said.round = scene->lags->round_newest + script_take(script) % 2;
    said.round += said.round == 0 ? 1 : 0;
    said.asks = script_take(script) % 2 == 1;
    said.vector.round = said.round;
    said.vector.members = scene->lags->members | UINT64_C(1) << from;
    said.vector.plays = (Fl__LagsPlays)(script_take(script) % 3);
    said.vector.a = said.vector.plays != FL__LAGS_NOT
                        ? FL_MS(script_take(script)) * (script_take(script) - 64)
                        : 0;
    for (int32_t i = 0; i < PEERS; i++) {
        if (i != from && fl__lags_has(said.vector.members, i)) {
            said.vector.v[i] = FL_MS(script_take(script) - 20);
        }
    }
    uint8_t bytes[FL_LAGS_MESSAGE_BYTES];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    fl__lags_write(&writer, from, &said);
    fl__lags_receive(scene->lags, from, bytes, fl_writer_size(&writer), scene->now);
}

static void say_anything(Scene *scene, Script *script, int32_t from)
{
    uint8_t bytes[64];
    int32_t count = script_take(script) % (int32_t)sizeof bytes;
    for (int32_t i = 0; i < count; i++) {
        bytes[i] = script_take(script);
    }
    fl__lags_receive(scene->lags, from, bytes, count, scene->now);
}

static void check(Scene *scene)
{
    FlTime play = fl__lags_play_time(scene->lags, scene->now);
    FlLagsStatus status = fl__lags_status(scene->lags, scene->now);
    // Who played alone may be taken elsewhere when others come.
    CHECK(play >= scene->play || !scene->together);
    scene->together = scene->lags->together;
    scene->play = play;
    CHECK(!status.plays || fl__lags_when(scene->lags, play) <= scene->now);
    CHECK(!status.sends || fl_time_add(status.a, status.b) <= scene->lags->def.limit_ns);
    CHECK(fl__lags_deadline(scene->lags, scene->now) >= scene->now);
}

static void step(Scene *scene, Script *script)
{
    uint8_t how = script_take(script);
    int32_t from = how / 8 % (PEERS + 1);
    FlLagsMessage message;
    FlTime play;
    switch (how % 8) {
    case 0:
        fl__lags_member(scene->lags, from, script_take(script) % 2 == 1, scene->now);
        break;
    case 1:
        say_anything(scene, script, from);
        break;
    case 2:
        fl__lags_arrived(scene->lags, from, scene->now - FL_MS(script_take(script)),
                         scene->now - FL_MS(script_take(script)), scene->now);
        break;
    case 3:
        if (fl__lags_stamp(scene->lags, scene->now, &play) == FL_OK) {
            FlTime next;
            CHECK(fl__lags_stamp(scene->lags, scene->now, &next) == FL_OK && next > play);
        }
        break;
    case 4:
        for (int32_t i = 0; i < 4 && fl__lags_next(scene->lags, scene->now, &message) == FL_OK;
             i++) {
            CHECK(message.count > 0 && message.count <= FL_LAGS_MESSAGE_BYTES);
            check_message(message.bytes, (size_t)message.count);
        }
        break;
    case 5:
        scene->now += FL_MS(script_take(script)) * 4;
        break;
    default:
        say(scene, script, from);
        break;
    }
}

static void play_script(Script *script)
{
    FlLagsDef def = fl__lags_def_default();
    Scene scene = {.now = FL_SEC(5), .play = INT64_MIN};
    def.self = SELF;
    def.choice = (FlLagsChoice)(script_take(script) % FL_LAGS_CHOICES);
    def.provision_ns = FL_MS(10);
    def.retry_ns = FL_MS(500);
    CHECK(fl__lags_create(&def, scene.now, &scene.lags) == FL_OK);
    for (int32_t i = 0; i < 2000 && script->left > 0; i++) {
        step(&scene, script);
        check(&scene);
    }
    fl__lags_destroy(scene.lags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 4096) {
        return 0;
    }
    if (data[0] % 2 == 0) {
        check_message(data + 1, size - 1);
    } else {
        Script script = {data + 1, size - 1};
        play_script(&script);
    }
    return 0;
}
