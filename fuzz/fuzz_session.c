// A session among strangers: whatever they send, in whatever order, at whatever times.
//
// The input is a script. Its first two bytes say what session it is: host or client, star, mesh or
// hybrid; then each byte picks a step, which takes its own bytes after it. Others are real links,
// so that packets are framed, sections laid out and group messages put into fragments as they
// should be until a step spoils them.
//
// Checked: nothing crashes or leaks; peers and entities keep within their capacities and to their
// numbers; fl_session_next comes to an end; time does not go back; a host says no more about
// joining than it was asked, and at no greater length; what came in is accounted for.
#include "fuzz.h"

#include "../tests/scene/session_inside.h"
#include "fairlead/session.h"

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
enum {
    PEER_CAPACITY = 3,
    ENTITY_CAPACITY = 12,
    NUMBERS = 32,
    SHARE = NUMBERS / (PEER_CAPACITY + 1)
};
enum { INPUT_BYTES = 2, JOIN_BYTES = 22, ACCEPT_BYTES = 13, REFUSE_BYTES = 12 };

typedef struct Kept {
    uint8_t bytes[FL_SESSION_DATAGRAM_BYTES];
    int32_t count;
    int32_t from;
} Kept;

typedef struct Scene {
    FlSession *session;
    FlSessionDef def;
    FlWorld world;
    FlTime now;
    FlLink *link[OTHERS];
    uint64_t nonce; // the client's
    int64_t tick;
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
    if (count >= 0 && count <= FL_SESSION_DATAGRAM_BYTES) {
        Kept *kept = &scene->kept[scene->kept_next++ % KEPT];
        memcpy(kept->bytes, bytes, (size_t)count);
        kept->count = count;
        kept->from = from;
    }
    fl_session_receive(scene->session, address_of(from), bytes, count, scene->now);
}

static void spoil(Script *script, uint8_t *bytes, int32_t count)
{
    for (int32_t n = script_take(script) % 4; n > 0 && count > 0; n--) {
        int32_t at = (script_take(script) | script_take(script) << 8) % count;
        bytes[at] ^= script_take(script);
    }
}

static void put64(uint8_t *bytes, uint64_t value)
{
    for (int32_t i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
}

static void open_link(Scene *scene, int32_t other, uint16_t conversation)
{
    fl_link_destroy(scene->link[other]);
    scene->link[other] = NULL;
    FlLinkDef def = small_link();
    def.conversation = conversation;
    CHECK(fl_link_create(&def, scene->now, &scene->link[other]) == FL_OK);
}

/// JOIN or BYE to a host; ACCEPT, REFUSE or BYE to a client.
static void give_joining(Scene *scene, Script *script, int32_t from)
{
    uint8_t bytes[JOIN_BYTES] = {0};
    int32_t count = JOIN_BYTES;
    uint8_t how = script_take(script) % 8;
    if (scene->def.role == FL_ROLE_HOST && how != 0) {
        bytes[2] = 1;
        put64(bytes + 3, scene->world.protocol_id);
        bytes[11] = script_take(script); // nonce
        bytes[19] = 2;
    } else {
        bytes[2] = how == 0 ? 4 : how == 1 ? 3 : 2;
        put64(bytes + 3, scene->def.role == FL_ROLE_CLIENT ? scene->nonce : script_take(script));
        bytes[11] = 1 + script_take(script) % 255;
        count = how == 1 ? REFUSE_BYTES : ACCEPT_BYTES;
        if (how > 1) {
            open_link(scene, from, bytes[11]);
        }
    }
    spoil(script, bytes, count);
    give(scene, from, bytes, count);
}

/// Updates with some sense in them.
static void write_motion(const Scene *scene, Script *script, FlWriter *writer, bool epochs)
{
    int32_t count = 1 + script_take(script) % 4;
    fl_writer_put(writer, epochs ? 2 : 1, 8);
    fl_writer_put(writer, (uint64_t)count, 8);
    for (int32_t i = 0; i < count; i++) {
        if (epochs) {
            fl_writer_put(writer, script_take(script) % 4u, 8);
        }
        FlState state = {.time = fl_session_time(scene->session, scene->now)};
        state.time += ((FlTime)script_take(script) - 128) * FL_MS(20);
        state.position.x = ((double)script_take(script) - 128.0) * 8.0;
        state.velocity.y = ((double)script_take(script) - 128.0) * 2.0;
        state.turn_rate = ((double)script_take(script) - 128.0) * 0.1;
        FlModel model = (FlModel)(script_take(script) % FL_MODEL_CUBIC);
        FlUpdate update = {script_take(script) % NUMBERS, script_take(script) % 4u,
                           fl_motion_make(model, &state)};
        if (!fl_update_encode(writer, &scene->world, &update)) {
            break; // a time at the end of the world: the count is wrong now, and so be it
        }
    }
}

static void write_state(Script *script, FlWriter *writer)
{
    int32_t size = script_take(script) % 8;
    fl_writer_put(writer, 3, 8);
    fl_writer_put(writer, script_take(script) % NUMBERS, 16);
    fl_writer_put(writer, script_take(script) % 4u, 8);
    fl_writer_put(writer, script_take(script), 16);
    fl_writer_put(writer, (uint64_t)size, 8);
    for (int32_t i = 0; i < size; i++) {
        fl_writer_put(writer, script_take(script), 8);
    }
}

static void write_inputs(Script *script, FlWriter *writer)
{
    int32_t count = script_take(script) % 12;
    fl_writer_put(writer, 4, 8);
    fl_writer_put(writer, script_take(script) % (PEER_CAPACITY + 1u), 16);
    fl_writer_put(writer, script_take(script) % 4u, 8);
    fl_writer_put(writer, script_take(script), 32);
    fl_writer_put(writer, (uint64_t)count, 8);
    for (int32_t i = 0; i < count * INPUT_BYTES; i++) {
        fl_writer_put(writer, script_take(script), 8);
    }
}

static void write_welcome(Script *script, FlWriter *writer)
{
    uint8_t who = script_take(script);
    fl_writer_put(writer, 5, 8);
    uint64_t offset = script_take(script);
    fl_writer_put(writer, offset << script_take(script) % 57, 64);
    fl_writer_put(writer, 1 + who % PEER_CAPACITY, 16);
    fl_writer_put(writer, PEER_CAPACITY + 1, 16);
    fl_writer_put(writer, 0, 16);
    fl_writer_put(writer, who / 16 % 3u, 8);
    fl_writer_put(writer, SHARE, 32);
    fl_writer_put(writer, who % 3u, 16);
}

static void write_clock_offset(Script *script, FlWriter *writer)
{
    int32_t count = 1 + script_take(script) % 4;
    uint8_t serial = script_take(script);
    fl_writer_put(writer, 6, 8);
    fl_writer_put(writer, (uint64_t)count, 8);
    for (int32_t i = 0; i < count; i++) {
        fl_writer_put(writer, (uint64_t)(serial + i), 32);
        fl_writer_put(writer, script_take(script), 40);
        uint64_t offset = script_take(script);
        fl_writer_put(writer, offset << script_take(script) % 57, 64);
    }
}

static void write_report(Script *script, FlWriter *writer)
{
    static const uint32_t floats[4] = {0, 0x3f800000u, 0x7f800000u, 0x7fc00000u};
    int32_t count = script_take(script) % 3;
    fl_writer_put(writer, 7, 8);
    fl_writer_put(writer, script_take(script) % NUMBERS, 16);
    fl_writer_put(writer, script_take(script) % 4u, 16);
    fl_writer_put(writer, floats[script_take(script) % 4], 32);
    fl_writer_put(writer, floats[script_take(script) % 2], 32);
    fl_writer_put(writer, (uint64_t)count, 8);
    for (int32_t i = 0; i < count; i++) {
        fl_writer_put(writer, script_take(script) % (PEER_CAPACITY + 2u), 16);
        fl_writer_put(writer, floats[script_take(script) % 2], 32);
    }
}

static void write_section(const Scene *scene, Script *script, FlWriter *writer)
{
    switch (script_take(script) % 10) {
    case 0:
        write_state(script, writer);
        break;
    case 1:
        write_inputs(script, writer);
        break;
    case 2:
    case 3:
        write_welcome(script, writer);
        break;
    case 4:
        write_clock_offset(script, writer);
        break;
    case 5:
        write_report(script, writer);
        break;
    case 6:
        write_motion(scene, script, writer, true);
        break;
    default:
        write_motion(scene, script, writer, false);
        break;
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
    uint8_t kind = script_take(script) % 8;
    if (kind == 1) {
        for (int32_t n = script_take(script) % 64; n > 0 && fl_writer_size(&writer) < 1100; n--) {
            fl_writer_put(&writer, script_take(script), 8);
        }
    }
    for (; kind >= 2 && kind <= 6 && fl_writer_size(&writer) < 700; kind += 2) {
        write_section(scene, script, &writer);
    }
    if (kind == 7) {
        spoil(script, bytes + payload_at, fl_writer_size(&writer) - payload_at);
    }
    uint64_t sequence;
    int32_t count = fl_link_finish(link, scene->now, &writer, 0, &sequence);
    spoil(script, bytes, count);
    give(scene, from, bytes, count);
    FlFateEvent fate;
    while (fl_link_take_fate(link, &fate) == FL_OK) {
    }
}

// ---------------------------------------------------------------- reliable messages

static void write_entity(Script *script, FlWriter *writer)
{
    EntityMessage m = {.number = script_take(script) % NUMBERS};
    m.epoch = script_take(script) % 4;
    m.born = m.epoch == 0 ? 0 : script_take(script) % m.epoch;
    m.owner = script_take(script) % (PEER_CAPACITY + 2);
    FlWriter traits;
    fl_writer_init(&traits, m.traits, sizeof m.traits);
    fl_writer_put(&traits, script_take(script), 8);     // kind
    fl_writer_put(&traits, script_take(script) % 2, 8); // listed
    fl_writer_put(&traits, script_take(script) % 6, 8); // model
    for (int32_t i = 0; i < 2; i++) {
        fl_writer_put(&traits, UINT64_C(0x3ff0000000000000), 64); // one
    }
    fl_writer_put(&traits, (uint64_t)FL_SEC(1), 64);
    static const char *const policies[4] = {"base", "schedule1", "equal-50", "probabilistic"};
    const char *policy = policies[script_take(script) % 4];
    fl_writer_bytes(&traits, policy, (int32_t)strlen(policy));
    m.definition = script_take(script) % TRAITS_KEPT;
    m.trait_bytes = fl_writer_size(&traits);
    fl__entity_message_write(writer, &m);
}

/// An introduction; the introduced one talks from then on.
static void write_meet(Scene *scene, Script *script, FlWriter *writer)
{
    int32_t other = script_take(script) % OTHERS;
    MeetMessage m = {.member = script_take(script) % (PEER_CAPACITY + 1), .incarnation = 1};
    m.conversation = 1 + script_take(script);
    m.address = address_of(other);
    fl__meet_message_write(writer, &m);
    if (other != 0) {
        open_link(scene, other, m.conversation);
    }
}

static void write_group(Scene *scene, Script *script, FlWriter *writer)
{
    uint8_t what = script_take(script) % 10;
    uint16_t number = script_take(script) % NUMBERS;
    uint16_t member = script_take(script) % (PEER_CAPACITY + 1);
    uint16_t epoch = script_take(script) % 4;
    bool yes = script_take(script) % 2 == 0;
    MemberMessage m = {.number = member, .incarnation = epoch, .present = yes || what == 0};
    EntityEndMessage end = {number, epoch};
    GiveMessage gift = {number, epoch, member};
    ScopeMessage scope = {number, epoch, member, yes, false};
    ReachMessage reach = {member, epoch, yes};
    RouteHead head = {.from = member, .delivery = (uint8_t)(epoch % 3)};
    switch (what) {
    case 2:
    case 3:
        write_entity(script, writer);
        break;
    case 4:
        fl__entity_end_message_write(writer, &end);
        break;
    case 5:
        fl__give_message_write(writer, &gift);
        break;
    case 6:
        fl__scope_message_write(writer, &scope);
        break;
    case 7:
        write_meet(scene, script, writer);
        break;
    case 8:
        fl__reach_message_write(writer, &reach);
        break;
    case 9:
        head.to_count = script_take(script) % 3;
        head.to[0] = script_take(script) % (PEER_CAPACITY + 2);
        head.kind = (uint8_t)(MESSAGE_EVENT + number % ROUTED_KINDS);
        fl__route_head_write(writer, &head);
        fl_writer_put(writer, number, 16);
        break;
    default:
        fl__member_message_write(writer, &m);
        break;
    }
}

static void say(Scene *scene, Script *script, int32_t from)
{
    uint8_t bytes[MESSAGE_SHORT + 8];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    write_group(scene, script, &writer);
    CHECK(!writer.failed);
    int32_t size = fl_writer_size(&writer);
    spoil(script, bytes, size);
    if (scene->link[from] != NULL) {
        (void)!fl_link_send(scene->link[from], FL_DELIVERY_ORDERED, bytes, size);
    }
}

static void give_raw(Scene *scene, Script *script, int32_t from)
{
    uint8_t bytes[80]; // more than is used, or gcc worries
    int32_t count = script_take(script) % 65;
    for (int32_t i = 0; i < count; i++) {
        bytes[i] = script_take(script);
    }
    give(scene, from, bytes, count);
}

static void give_again(Scene *scene, Script *script)
{
    const Kept *kept = &scene->kept[script_take(script) % KEPT];
    if (kept->count > 0) {
        Kept copy = *kept;
        give(scene, copy.from, copy.bytes, copy.count);
    }
}

// ---------------------------------------------------------------- out

/// What the session says to others: their links hear it, and an ACCEPT opens one.
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
        CHECK((out->count == JOIN_BYTES && out->bytes[2] == 1) ||
              (out->count == ACCEPT_BYTES && out->bytes[2] == 4));
        if (out->bytes[2] == 4) {
            return; // goodbye
        }
        scene->nonce = 0;
        for (int32_t i = 0; i < 8; i++) {
            scene->nonce |= (uint64_t)out->bytes[11 + i] << (8 * i);
        }
        return;
    }
    CHECK(out->count <= JOIN_BYTES);
    CHECK(out->bytes[2] == 4 || out->bytes[2] == 6 || ++scene->answered <= scene->asked);
    if (out->bytes[2] == 2) {
        uint16_t conversation = (uint16_t)(out->bytes[11] | out->bytes[12] << 8);
        CHECK(conversation != 0);
        open_link(scene, to, conversation);
    }
}

static void pump(Scene *scene)
{
    FlOutgoing out;
    int32_t count = 0;
    while (fl_session_next(scene->session, scene->now, &out) == FL_OK) {
        CHECK(out.count > 0 && out.count <= FL_SESSION_DATAGRAM_BYTES);
        hear(scene, &out);
        CHECK(++count < PUMP_AT_MOST);
    }
    if (inside_clock_runs(scene->session)) {
        FlTime time = fl_session_time(scene->session, scene->now);
        CHECK(time >= scene->time_last);
        scene->time_last = time;
    }
    CHECK(fl_session_deadline(scene->session, scene->now) >= scene->now);
}

// ---------------------------------------------------------------- the game

static void play(Scene *scene, Script *script)
{
    FlEntityId *id = &scene->own[script_take(script) % OWN];
    FlEntityDef def = fl_entity_def_default();
    uint8_t how = script_take(script);
    def.private_scope = how % 8 == 5;
    FlEntityStatus status;
    bool live = fl_entity_status(scene->session, *id, &status) == FL_OK;
    if (!live && (*id = fl_entity_create(scene->session, &def)).index1 == 0) {
        return;
    }
    bool ours = fl_entity_is_ours(scene->session, *id);
    FlState state = {.time = scene->now + (how % 2 == 0 ? 0 : -FL_MS(50))};
    state.position.x = ((double)script_take(script) - 128.0) * 10.0;
    state.velocity.x = ((double)script_take(script) - 128.0) * (how % 4 == 0 ? 1e6 : 1.0);
    FlResult result = fl_entity_set(scene->session, *id, &state);
    if (result == FL_STALE_ID) {
        CHECK(!fl_session_running(scene->session)); // over: nothing can be changed
        return;
    }
    CHECK(result == FL_OK || result == FL_BAD_VALUE || result == FL_WOULD_BLOCK);
    if (how >= 200) {
        CHECK(fl_entity_cut(scene->session, *id) == (ours ? FL_OK : FL_BAD_VALUE));
    }
    if (how % 16 == 9) {
        CHECK(fl_entity_state_set(scene->session, *id, &state, how / 16) ==
              (ours ? FL_OK : FL_BAD_VALUE));
    }
    FlPeerId peer = fl_peer_of_number(scene->session, how % (PEER_CAPACITY + 1));
    if (how % 32 == 11) {
        (void)!fl_entity_give(scene->session, scene->now, *id, peer);
    } else if (how % 32 == 13) {
        (void)!fl_entity_scope(scene->session, scene->now, *id, peer, how >= 128);
    } else if (how % 32 == 15) {
        (void)!fl_entity_destroy(scene->session, *id);
    } else if (how % 32 == 17 && fl__is_host(scene->session)) {
        (void)!fl_peer_kick(scene->session, scene->now, peer, "out");
    }
}

static void talk(Scene *scene, Script *script)
{
    uint8_t bytes[300] = {0};
    uint8_t who = script_take(script);
    FlEvent event = {.type = who, .bytes = bytes, .count = script_take(script)};
    event.delivery = (FlDelivery)(who / 8 % 3);
    FlPeerId to = fl_peer_of_number(scene->session, who % 8);
    (void)!fl_event_send(scene->session, to, &event);
    if (fl_input_set(scene->session, scene->tick, bytes) == FL_OK) {
        scene->tick++;
    }
    FlEvent got;
    while (who >= 64 && fl_event_take(scene->session, &got) == FL_OK) {
        CHECK(got.count >= 0 && got.count <= FL_EVENT_BYTES);
    }
    FlNotice notice;
    while (who >= 128 && fl_notice_take(scene->session, &notice) == FL_OK) {
    }
}

static void pass_time(Scene *scene, Script *script)
{
    static const FlTime units[4] = {FL_US(100), FL_MS(1), FL_MS(20), FL_MS(500)};
    uint8_t how = script_take(script);
    scene->now += units[how % 4] * (how / 4);
}

// ---------------------------------------------------------------- checks

static void check_entities(const Scene *scene)
{
    FlSession *session = scene->session;
    bool seen[NUMBERS] = {false};
    int32_t count = 0;
    FlEntityId id = {0};
    while (fl_entity_next(session, &id)) {
        FlEntityStatus status;
        FlPose pose;
        CHECK(++count <= ENTITY_CAPACITY);
        CHECK(fl_entity_status(session, id, &status) == FL_OK);
        uint32_t number = status.number;
        if (number == UINT32_MAX) { // ours, before we are in
            CHECK(status.ours);
            continue;
        }
        CHECK(number < NUMBERS && !seen[number]);
        seen[number] = true;
        CHECK(fl_entity_of_number(session, number).index1 == id.index1);
        (void)fl_entity_pose_at(session, scene->now, id, &pose);
        int32_t owner = inside_owner(session, id);
        CHECK(owner == FL__NONE || (owner >= 0 && owner <= PEER_CAPACITY));
        CHECK(!status.ours || owner == inside_self(session));
        uint16_t epoch;
        CHECK(inside_knows_number(session, number, &epoch) && epoch == status.epoch);
    }
    for (uint32_t number = 0; number < NUMBERS; number++) {
        CHECK(seen[number] || fl_entity_of_number(session, number).index1 == 0);
    }
}

static void check(const Scene *scene)
{
    const FlSession *session = scene->session;
    CHECK(fl_peer_count(session) <= scene->def.peer_capacity);
    CHECK((fl_session_state(session) == FL_SESSION_ENDED) == (*fl_session_end_text(session) != 0));
    uint64_t dropped = fl_session_count(session, FL_SESSION_STRANGER) +
                       fl_session_count(session, FL_SESSION_BAD_JOIN) +
                       fl_session_count(session, FL_SESSION_REFUSED);
    CHECK(dropped <= (uint64_t)scene->given);
    CHECK(inside_lines_agree(session));
    check_entities(scene);
}

// ---------------------------------------------------------------- the script

static void step(Scene *scene, Script *script)
{
    uint8_t what = script_take(script);
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
    case 12:
    case 13:
        say(scene, script, from);
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
    uint8_t how = script_take(script);
    uint8_t more = script_take(script);
    memset(scene, 0, sizeof *scene);
    scene->time_last = INT64_MIN;
    scene->now = how / 2 % 2 == 0 ? FL_SEC(1000) : -FL_SEC(86400);
    scene->def = fl_session_def_default();
    scene->def.role = how % 2 == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    scene->def.host = address_of(0);
    scene->def.peer_capacity = PEER_CAPACITY;
    scene->def.entity_capacity = ENTITY_CAPACITY;
    scene->def.world.entity_capacity = NUMBERS;
    scene->def.tuning.link = small_link();
    scene->def.topology = (FlTopology)(more % 3);
    scene->def.tuning.direct_capacity = PEER_CAPACITY;
    scene->def.tuning.item_capacity = 16;
    scene->def.tuning.path_capacity = 8;
    scene->def.input_bytes = INPUT_BYTES;
    scene->def.input_ticks = 16;
    scene->def.tuning.gather_ns = more / 3 % 2 == 0 ? 0 : FL_MS(5);
    scene->def.tuning.time_mode = (FlTimeMode)(how / 4 % 3);
    scene->def.seed = how;
    FlAlloc alloc = {counted_alloc, counted_free, &scene->live_bytes};
    scene->def.alloc = alloc;
    CHECK(fl_world_init(&scene->def.world, &scene->world) == FL_OK);
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
    fl_session_close(scene.session);
    CHECK(scene.live_bytes == 0);
    for (int32_t i = 0; i < OTHERS; i++) {
        fl_link_destroy(scene.link[i]);
    }
    return 0;
}
