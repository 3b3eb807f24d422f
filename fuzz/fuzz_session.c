// A session among strangers: whatever they send, in whatever order, at whatever times.
//
// The input is a script. Its first byte says whether the session is a host or a client; then each
// byte picks a step, which takes its own bytes after it. Others are real links, so that packets are
// framed as they should be until a step spoils them.
//
// Checked: nothing crashes or leaks; peers and entities keep within their capacities and to their
// numbers; fl_session_next comes to an end; time does not go back; a host says no more about
// joining than it was asked, and at no greater length; what came in is accounted for.
#include "fuzz.h"

#include "fairlead/session.h"
#include "session/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                     \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

enum { OTHERS = 3, OWN = 4, KEPT = 8, STEPS_AT_MOST = 400, PUMP_AT_MOST = 3000 };
enum { PEER_CAPACITY = 2, ENTITY_CAPACITY = 12, NUMBERS = 32 };

typedef struct Script {
    const uint8_t *bytes;
    size_t left;
} Script;

static uint8_t take(Script *script)
{
    if (script->left == 0) {
        return 0;
    }
    script->left--;
    return *script->bytes++;
}

typedef struct Kept {
    uint8_t bytes[FL_LINK_PACKET_BYTES];
    int32_t count;
    int32_t from;
} Kept;

typedef struct Scene {
    FlSession *session;
    FlSessionDef def;
    FlTime now;
    FlLink *link[OTHERS];
    uint64_t nonce; // the client's
    FlEntityId own[OWN];
    Kept kept[KEPT]; // datagrams given before
    uint32_t kept_next;
    int64_t given, asked, answered;
    FlTime time_last;
    int64_t live_bytes;
} Scene;

static void *counted_alloc(void *ctx, size_t size, size_t align)
{
    (void)align;
    *(int64_t *)ctx += (int64_t)size;
    return malloc(size);
}

static void counted_free(void *ctx, void *ptr, size_t size)
{
    *(int64_t *)ctx -= (int64_t)size;
    free(ptr);
}

/// Small buffers: soon full, and quickly made.
static FlLinkDef small_link(void)
{
    FlLinkDef def = fl_link_def_default();
    def.sent_capacity = 16;
    def.send_bytes = def.receive_bytes = 512;
    return def;
}

static FlAddress address_of(int32_t other)
{
    FlAddress address = {.ip = {10, 0, 0, (uint8_t)other}, .port = 4000, .family = FL_FAMILY_IPV4};
    return address;
}

// ---------------------------------------------------------------- in

static void give(Scene *scene, int32_t from, const uint8_t *bytes, int32_t count)
{
    scene->given++;
    bool join = count > 2 && bytes[0] == 0 && bytes[1] == 0 && bytes[2] == 1;
    scene->asked += join ? 1 : 0;
    if (count >= 0 && count <= FL_LINK_PACKET_BYTES) {
        Kept *kept = &scene->kept[scene->kept_next++ % KEPT];
        memcpy(kept->bytes, bytes, (size_t)count);
        kept->count = count;
        kept->from = from;
    }
    fl_session_receive(scene->session, address_of(from), bytes, count, scene->now);
}

static void spoil(Script *script, uint8_t *bytes, int32_t count)
{
    for (int32_t n = take(script) % 4; n > 0 && count > 0; n--) {
        int32_t at = (take(script) | take(script) << 8) % count;
        bytes[at] ^= take(script);
    }
}

static void put64(uint8_t *bytes, uint64_t value)
{
    for (int32_t i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
}

/// JOIN to a host; WELCOME or REFUSE to a client.
static void give_joining(Scene *scene, Script *script, int32_t from)
{
    uint8_t bytes[40] = {0};
    int32_t count = 40;
    if (scene->def.role == FL_ROLE_HOST) {
        bytes[2] = 1;
        put64(bytes + 3, scene->session->world.protocol_id);
        bytes[11] = take(script); // nonce
    } else {
        bool welcome = take(script) % 4 != 0;
        bytes[2] = welcome ? 2 : 3;
        put64(bytes + 3, scene->nonce);
        bytes[11] = take(script);
        bytes[13] = take(script) % NUMBERS;
        bytes[17] = 1 + take(script) % 8;
        put64(bytes + 21, (uint64_t)take(script) << take(script) % 57);
        count = welcome ? 29 : 12;
        fl_link_destroy(scene->link[from]);
        FlLinkDef def = small_link();
        def.conversation = (uint16_t)(bytes[11] | bytes[12] << 8);
        scene->link[from] = NULL;
        CHECK(fl_link_create(&def, scene->now, &scene->link[from]) == FL_OK);
    }
    spoil(script, bytes, count);
    give(scene, from, bytes, count);
}

/// Updates with some sense in them.
static void write_motion(const Scene *scene, Script *script, FlWriter *writer)
{
    int32_t count = 1 + take(script) % 4;
    fl_writer_put(writer, 1, 8);
    fl_writer_put(writer, (uint64_t)count, 8);
    for (int32_t i = 0; i < count; i++) {
        FlState state = {.time = fl_session_time(scene->session, scene->now)};
        state.time += ((FlTime)take(script) - 128) * FL_MS(20);
        state.position.x = ((double)take(script) - 128.0) * 8.0;
        state.velocity.y = ((double)take(script) - 128.0) * 2.0;
        state.turn_rate = ((double)take(script) - 128.0) * 0.1;
        FlModel model = (FlModel)(take(script) % FL_MODEL_CUBIC);
        FlUpdate update = {take(script) % NUMBERS, take(script) % 4u,
                           fl_motion_make(model, &state)};
        if (!fl_update_encode(writer, &scene->session->world, &update)) {
            break; // a time at the end of the world: the count is wrong now, and so be it
        }
    }
}

static void give_packet(Scene *scene, Script *script, int32_t from)
{
    uint8_t bytes[FL_LINK_PACKET_BYTES];
    FlWriter writer;
    FlLink *link = scene->link[from];
    if (link == NULL || fl_link_begin(link, scene->now, bytes, &writer) != FL_OK) {
        return;
    }
    int32_t payload_at = fl_writer_size(&writer);
    uint8_t kind = take(script) % 4;
    if (kind == 1) {
        for (int32_t n = take(script) % 64; n > 0 && fl_writer_size(&writer) < 1100; n--) {
            fl_writer_put(&writer, take(script), 8);
        }
    } else if (kind >= 2 && payload_at < 700) {
        write_motion(scene, script, &writer);
    }
    if (kind == 3) {
        spoil(script, bytes + payload_at, fl_writer_size(&writer) - payload_at);
    }
    uint64_t sequence;
    int32_t count = fl_link_finish(link, scene->now, &writer, 0, &sequence);
    spoil(script, bytes, count);
    give(scene, from, bytes, count);
    FlFateEvent fate;
    while (fl_link_poll_fate(link, &fate) == FL_OK) {
    }
}

static void give_raw(Scene *scene, Script *script, int32_t from)
{
    uint8_t bytes[80]; // more than is used, or gcc worries
    int32_t count = take(script) % 65;
    for (int32_t i = 0; i < count; i++) {
        bytes[i] = take(script);
    }
    give(scene, from, bytes, count);
}

static void give_again(Scene *scene, Script *script)
{
    const Kept *kept = &scene->kept[take(script) % KEPT];
    if (kept->count > 0) {
        Kept copy = *kept;
        give(scene, copy.from, copy.bytes, copy.count);
    }
}

// ---------------------------------------------------------------- out

/// What the session says to others: their links hear it, and a WELCOME opens one.
static void hear(Scene *scene, const FlOutgoing *out)
{
    int32_t to = out->to.ip[3] % OTHERS;
    bool joining = out->count > 2 && out->bytes[0] == 0 && out->bytes[1] == 0;
    if (!joining) {
        FlLinkPacket packet;
        if (scene->link[to] != NULL) {
            (void)fl_link_receive(scene->link[to], scene->now, 0, out->bytes, out->count, &packet);
        }
        return;
    }
    if (scene->def.role == FL_ROLE_CLIENT) {
        CHECK(out->count == 40 && out->bytes[2] == 1);
        scene->nonce = 0;
        for (int32_t i = 0; i < 8; i++) {
            scene->nonce |= (uint64_t)out->bytes[11 + i] << (8 * i);
        }
        return;
    }
    CHECK(out->count <= 40);
    CHECK(++scene->answered <= scene->asked);
    if (out->bytes[2] == 2) {
        fl_link_destroy(scene->link[to]);
        FlLinkDef def = small_link();
        def.conversation = (uint16_t)(out->bytes[11] | out->bytes[12] << 8);
        CHECK(def.conversation != 0);
        CHECK(fl_link_create(&def, scene->now, &scene->link[to]) == FL_OK);
    }
}

static void pump(Scene *scene)
{
    FlOutgoing out;
    int32_t count = 0;
    while (fl_session_next(scene->session, scene->now, &out) == FL_OK) {
        CHECK(out.count > 0 && out.count <= FL_LINK_PACKET_BYTES);
        hear(scene, &out);
        CHECK(++count < PUMP_AT_MOST);
    }
    if (fl_session_clock_state(&scene->session->clock) != FL_SESSION_CLOCK_UNSET) {
        FlTime time = fl_session_time(scene->session, scene->now);
        CHECK(time >= scene->time_last);
        scene->time_last = time;
    }
    CHECK(fl_session_deadline(scene->session, scene->now) >= scene->now);
}

// ---------------------------------------------------------------- the game

static void play(Scene *scene, Script *script)
{
    FlEntityId *id = &scene->own[take(script) % OWN];
    FlEntityDef def = fl_entity_def_default();
    uint8_t how = take(script);
    if (id->index1 == 0 && fl_entity_create(scene->session, &def, id) != FL_OK) {
        CHECK(id->index1 == 0);
        return;
    }
    FlState state = {.time = scene->now + (how % 2 == 0 ? 0 : -FL_MS(50))};
    state.position.x = ((double)take(script) - 128.0) * 10.0;
    state.velocity.x = ((double)take(script) - 128.0) * (how % 4 == 0 ? 1e6 : 1.0);
    FlResult result = fl_entity_set(scene->session, *id, &state);
    CHECK(result == FL_OK || result == FL_BAD_VALUE || result == FL_WOULD_BLOCK);
    if (how >= 200) {
        CHECK(fl_entity_cut(scene->session, *id) == FL_OK);
    }
}

static void talk(Scene *scene, Script *script)
{
    uint8_t bytes[300] = {0};
    uint8_t who = take(script);
    int32_t size = 1 + take(script);
    FlDelivery delivery = (FlDelivery)(who / 8 % 3);
    if (who % 2 == 0) {
        (void)!fl_session_send(scene->session, who / 2 % 3, delivery, bytes, size);
    } else if (scene->link[who / 2 % OTHERS] != NULL) {
        (void)!fl_link_send(scene->link[who / 2 % OTHERS], delivery, bytes, size);
    }
    int32_t count;
    int32_t peer;
    while (who >= 128 &&
           fl_session_take(scene->session, bytes, (int32_t)sizeof bytes, &count, &peer) == FL_OK) {
        CHECK(peer >= 0 && peer < fl_session_peer_count(scene->session));
    }
}

static void pass_time(Scene *scene, Script *script)
{
    static const FlTime units[4] = {FL_US(100), FL_MS(1), FL_MS(20), FL_MS(500)};
    uint8_t how = take(script);
    scene->now += units[how % 4] * (how / 4);
}

// ---------------------------------------------------------------- checks

static void check_entities(const Scene *scene)
{
    const FlSession *session = scene->session;
    bool seen[NUMBERS] = {false};
    int32_t count = 0;
    FlEntityId id = {0};
    while ((id = fl_entity_next(session, id)).index1 != 0) {
        uint32_t number;
        FlPose pose;
        CHECK(++count <= ENTITY_CAPACITY);
        CHECK(fl_entity_number(session, id, &number) == FL_OK);
        CHECK(number < NUMBERS && !seen[number]);
        seen[number] = true;
        bool own_number = number - session->own_first < session->own_count;
        CHECK(fl_entity_is_ours(session, id) == own_number);
        CHECK(session->by_number[number] == (int32_t)id.index1 - 1);
        FlResult result = fl_entity_pose(session, id, scene->now, &pose);
        CHECK(result == FL_OK || result == FL_NOT_FOUND);
        const Entity *entity = &session->entities[id.index1 - 1];
        if (entity->owner != FL__PEER_NONE) {
            const Peer *peer = &session->peers[entity->owner];
            CHECK(peer->used && number - peer->first_entity < peer->entity_count);
        }
    }
    for (uint32_t number = 0; number < NUMBERS; number++) {
        CHECK(seen[number] || session->by_number[number] < 0);
    }
}

static void check(const Scene *scene)
{
    const FlSession *session = scene->session;
    CHECK(fl_session_peer_count(session) <= session->def.peer_capacity);
    CHECK((fl_session_state(session) == FL_SESSION_ENDED) == (*fl_session_trouble(session) != 0));
    uint64_t dropped = fl_session_count(session, FL_SESSION_STRANGER) +
                       fl_session_count(session, FL_SESSION_MALFORMED) +
                       fl_session_count(session, FL_SESSION_BAD_JOIN) +
                       fl_session_count(session, FL_SESSION_REFUSED);
    CHECK(dropped <= (uint64_t)scene->given);
    check_entities(scene);
}

// ---------------------------------------------------------------- the script

static void step(Scene *scene, Script *script)
{
    uint8_t what = take(script);
    int32_t from = what / 16 % OTHERS;
    switch (what % 16) {
    case 0:
    case 1:
        give_joining(scene, script, from);
        break;
    case 2:
    case 3:
    case 4:
    case 5:
        give_packet(scene, script, from);
        break;
    case 6:
        give_raw(scene, script, from);
        break;
    case 7:
        give_again(scene, script);
        break;
    case 8:
    case 9:
        play(scene, script);
        break;
    case 10:
        talk(scene, script);
        break;
    case 11:
        pass_time(scene, script);
        break;
    default:
        scene->now += FL_MS(10);
        pump(scene);
        break;
    }
}

static void open_scene(Scene *scene, Script *script)
{
    uint8_t how = take(script);
    memset(scene, 0, sizeof *scene);
    scene->time_last = INT64_MIN;
    scene->now = how / 2 % 2 == 0 ? FL_SEC(1000) : -FL_SEC(86400);
    scene->def = fl_session_def_default();
    scene->def.role = how % 2 == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    scene->def.host = address_of(0);
    scene->def.peer_capacity = PEER_CAPACITY;
    scene->def.entity_capacity = ENTITY_CAPACITY;
    scene->def.world.entity_capacity = NUMBERS;
    scene->def.link = small_link();
    scene->def.time_mode = (FlTimeMode)(how / 4 % 3);
    scene->def.seed = how;
    FlAlloc alloc = {counted_alloc, counted_free, &scene->live_bytes};
    scene->def.alloc = alloc;
    CHECK(fl_session_create(&scene->def, scene->now, &scene->session) == FL_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Scene scene; // large
    Script script = {data, size};
    open_scene(&scene, &script);
    for (int32_t i = 0; i < STEPS_AT_MOST && script.left > 0; i++) {
        step(&scene, &script);
        check(&scene);
    }
    pump(&scene);
    check(&scene);
    fl_session_destroy(scene.session);
    CHECK(scene.live_bytes == 0);
    for (int32_t i = 0; i < OTHERS; i++) {
        fl_link_destroy(scene.link[i]);
    }
    return 0;
}
