// What others may send to a session, byte by byte: what is taken, what is dropped and counted. The
// layouts are written out here a second time, from spec/WIRE.md section 7.
#include "session_world.h"

enum { JOIN_SIZE = 40, WELCOME_SIZE = 29, REFUSE_SIZE = 12 };

static void put(uint8_t *bytes, uint64_t value, int32_t size)
{
    for (int32_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
}

static uint64_t get(const uint8_t *bytes, int32_t size)
{
    uint64_t value = 0;
    for (int32_t i = 0; i < size; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

static void make_join(uint8_t bytes[JOIN_SIZE], uint64_t protocol, uint64_t nonce)
{
    memset(bytes, 0, JOIN_SIZE);
    bytes[2] = 1;
    put(bytes + 3, protocol, 8);
    put(bytes + 11, nonce, 8);
}

typedef struct Welcome {
    uint64_t nonce, conversation, first, count;
    int64_t offset;
} Welcome;

static void make_welcome(uint8_t bytes[WELCOME_SIZE], const Welcome *w)
{
    memset(bytes, 0, WELCOME_SIZE);
    bytes[2] = 2;
    put(bytes + 3, w->nonce, 8);
    put(bytes + 11, w->conversation, 2);
    put(bytes + 13, w->first, 4);
    put(bytes + 17, w->count, 4);
    put(bytes + 21, (uint64_t)w->offset, 8);
}

static uint64_t protocol_of(const FlWorldDef *def)
{
    FlWorld world;
    assert_int_equal(fl_world_init(def, &world), FL_OK);
    return world.protocol_id;
}

// ---------------------------------------------------------------- a session, and somebody else

typedef struct Fixture {
    FlSession *session;
    FlSessionDef def;
    FlTime now;
    FlAddress other; // client or host, whatever the session is not
    FlLink *link;    // the other's end
    Welcome welcome;
} Fixture;

static uint64_t count_of(const Fixture *f, FlSessionCount which)
{
    return fl_session_count(f->session, which);
}

static void give(Fixture *f, const uint8_t *bytes, int32_t count)
{
    fl_session_receive(f->session, f->other, bytes, count, f->now);
}

static int32_t outgoing(Fixture *f, uint8_t *bytes)
{
    FlOutgoing out;
    if (fl_session_next(f->session, f->now, &out) != FL_OK) {
        return 0;
    }
    assert_true(fl_address_equal(out.to, f->other));
    memcpy(bytes, out.bytes, (size_t)out.count);
    return out.count;
}

static void open_session(Fixture *f, FlRole role)
{
    memset(f, 0, sizeof *f);
    f->now = FL_SEC(1000);
    f->other = scene_address(1);
    f->def = fl_session_def_default();
    f->def.role = role;
    f->def.host = f->other;
    f->def.seed = 99;
    assert_int_equal(fl_session_create(&f->def, f->now, &f->session), FL_OK);
}

static void open_other_link(Fixture *f)
{
    FlLinkDef def = fl_link_def_default();
    def.conversation = (uint16_t)f->welcome.conversation;
    assert_int_equal(fl_link_create(&def, f->now, &f->link), FL_OK);
}

/// A host that let somebody in, whose link is now ours to misuse.
static void open_host(Fixture *f)
{
    open_session(f, FL_ROLE_HOST);
    uint8_t bytes[FL_LINK_PACKET_BYTES];
    make_join(bytes, protocol_of(&f->def.world), 4711);
    give(f, bytes, JOIN_SIZE);
    assert_int_equal(outgoing(f, bytes), WELCOME_SIZE);
    f->welcome.conversation = get(bytes + 11, 2);
    f->welcome.first = get(bytes + 13, 4);
    f->welcome.count = get(bytes + 17, 4);
    f->welcome.offset = (int64_t)get(bytes + 21, 8);
    open_other_link(f);
}

/// A client that was let in by somebody.
static void open_client(Fixture *f)
{
    open_session(f, FL_ROLE_CLIENT);
    uint8_t bytes[FL_LINK_PACKET_BYTES];
    assert_int_equal(outgoing(f, bytes), JOIN_SIZE);
    Welcome welcome = {get(bytes + 11, 8), 0x1234, 100, 50, FL_SEC(7)};
    f->welcome = welcome;
    make_welcome(bytes, &welcome);
    give(f, bytes, WELCOME_SIZE);
    assert_int_equal(fl_session_state(f->session), FL_SESSION_RUNNING);
    open_other_link(f);
}

static void close_all(Fixture *f)
{
    fl_session_destroy(f->session);
    fl_link_destroy(f->link);
}

/// The other sends a packet with that payload.
static void give_payload(Fixture *f, const uint8_t *payload, int32_t count)
{
    f->now += FL_MS(20);
    uint8_t bytes[FL_LINK_PACKET_BYTES];
    FlWriter writer;
    uint64_t sequence;
    assert_int_equal(fl_link_begin(f->link, f->now, bytes, &writer), FL_OK);
    fl_writer_bytes(&writer, payload, count);
    int32_t size = fl_link_finish(f->link, f->now, &writer, 0, &sequence);
    give(f, bytes, size);
}

/// An update of that entity, as bytes; its time is the session's.
static int32_t make_update(const Fixture *f, uint8_t *bytes, uint32_t entity, uint32_t life,
                           FlTime time, double x)
{
    FlWorld world;
    assert_int_equal(fl_world_init(&f->def.world, &world), FL_OK);
    FlState state = {.time = time, .position = fl_vec3(x, 0.0, 0.0)};
    FlUpdate update = {entity, life, fl_motion_make(FL_MODEL_STILL, &state)};
    FlWriter writer;
    fl_writer_init(&writer, bytes, FL_UPDATE_BYTES_MAX);
    assert_true(fl_update_encode(&writer, &world, &update));
    return fl_writer_size(&writer);
}

/// The host's session time, wherever the host is.
static FlTime host_time(const Fixture *f)
{
    return f->def.role == FL_ROLE_HOST ? fl_session_time(f->session, f->now)
                                       : fl_link_clock(f->link, f->now) + (FlTime)f->welcome.offset;
}

static void give_update(Fixture *f, uint32_t entity, uint32_t life, FlTime time, double x)
{
    uint8_t payload[2 + FL_UPDATE_BYTES_MAX] = {1, 1};
    int32_t size = make_update(f, payload + 2, entity, life, time, x);
    give_payload(f, payload, 2 + size);
}

static int32_t entity_count(const Fixture *f)
{
    int32_t count = 0;
    FlEntityId id = {0};
    while ((id = fl_entity_next(f->session, id)).index1 != 0) {
        count++;
    }
    return count;
}

/// Where the first entity is shown now.
static double first_x(const Fixture *f)
{
    FlEntityId none = {0};
    FlPose pose;
    FlEntityId id = fl_entity_next(f->session, none);
    assert_int_equal(fl_entity_pose(f->session, id, f->now, &pose), FL_OK);
    return pose.position.x;
}

// ---------------------------------------------------------------- joining

static void the_host_answers_each_request_once_and_never_at_greater_length(void **state)
{
    (void)state;
    Fixture f;
    open_session(&f, FL_ROLE_HOST);
    uint8_t join[JOIN_SIZE], answer[FL_LINK_PACKET_BYTES], again[FL_LINK_PACKET_BYTES];
    make_join(join, protocol_of(&f.def.world), 4711);
    give(&f, join, JOIN_SIZE);
    assert_int_equal(fl_session_deadline(f.session, f.now), f.now); // it has something to say
    assert_int_equal(outgoing(&f, answer), WELCOME_SIZE);
    assert_int_equal(outgoing(&f, again), 0);
    Welcome welcome = {4711, get(answer + 11, 2), get(answer + 13, 4), get(answer + 17, 4),
                       (int64_t)get(answer + 21, 8)};
    uint8_t expected[WELCOME_SIZE];
    make_welcome(expected, &welcome);
    assert_memory_equal(answer, expected, WELCOME_SIZE);
    assert_true(welcome.conversation != 0);
    assert_true(welcome.first > 0 && welcome.count > 0 && welcome.first + welcome.count <= 1024);
    assert_int_equal(welcome.offset, fl_session_time(f.session, f.now)); // its link began just now
    // Asked again it says the same.
    f.now += FL_MS(250);
    give(&f, join, JOIN_SIZE);
    assert_int_equal(outgoing(&f, again), WELCOME_SIZE);
    assert_memory_equal(answer, again, WELCOME_SIZE);
    assert_int_equal(fl_session_peer_count(f.session), 1);
    // The same player with a new number is a new conversation in its old place.
    make_join(join, protocol_of(&f.def.world), 4712);
    give(&f, join, JOIN_SIZE);
    assert_int_equal(outgoing(&f, again), WELCOME_SIZE);
    assert_int_not_equal(get(again + 11, 2), welcome.conversation);
    assert_int_equal(fl_session_peer_count(f.session), 1);
    close_all(&f);
}

static void a_refusal_names_its_reason(void **state)
{
    (void)state;
    Fixture f;
    open_session(&f, FL_ROLE_HOST);
    uint8_t join[JOIN_SIZE], answer[FL_LINK_PACKET_BYTES];
    make_join(join, protocol_of(&f.def.world) + 1, 4711);
    give(&f, join, JOIN_SIZE);
    assert_int_equal(fl_session_deadline(f.session, f.now), f.now);
    assert_int_equal(outgoing(&f, answer), REFUSE_SIZE);
    const uint8_t expected[REFUSE_SIZE] = {0, 0, 3, 4711 & 255, 4711 >> 8, 0, 0, 0, 0, 0, 0, 2};
    assert_memory_equal(answer, expected, REFUSE_SIZE);
    assert_int_equal(outgoing(&f, answer), 0);
    close_all(&f);
    // And the reasons' numbers at the client; others there are not.
    for (uint8_t reason = 0; reason < 5; reason++) {
        open_session(&f, FL_ROLE_CLIENT);
        assert_int_equal(outgoing(&f, answer), JOIN_SIZE);
        uint8_t refuse[REFUSE_SIZE] = {0, 0, 3};
        memcpy(refuse + 3, answer + 11, 8);
        refuse[11] = reason;
        give(&f, refuse, REFUSE_SIZE);
        bool real = reason == 1 || reason == 2;
        assert_int_equal(fl_session_state(f.session), real ? FL_SESSION_ENDED : FL_SESSION_JOINING);
        assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), real ? 0 : 1);
        close_all(&f);
    }
}

static void a_client_asks_as_it_is_written(void **state)
{
    (void)state;
    Fixture f;
    open_session(&f, FL_ROLE_CLIENT);
    uint8_t bytes[FL_LINK_PACKET_BYTES], expected[JOIN_SIZE];
    assert_int_equal(outgoing(&f, bytes), JOIN_SIZE);
    make_join(expected, protocol_of(&f.def.world), get(bytes + 11, 8));
    assert_memory_equal(bytes, expected, JOIN_SIZE);
    assert_int_equal(outgoing(&f, bytes), 0);
    f.now += f.def.join_every_ns;
    assert_int_equal(outgoing(&f, bytes), JOIN_SIZE);
    assert_memory_equal(bytes, expected, JOIN_SIZE);
    close_all(&f);
}

static void what_is_not_exactly_a_request_is_dropped_and_counted(void **state)
{
    (void)state;
    Fixture f;
    open_session(&f, FL_ROLE_HOST);
    uint8_t join[JOIN_SIZE + 1], answer[FL_LINK_PACKET_BYTES];
    uint64_t bad = 0;
    for (int32_t size = 3; size <= JOIN_SIZE + 1; size++) { // below 3 it is not even one of these
        memset(join, 0, sizeof join);
        make_join(join, protocol_of(&f.def.world), 4711);
        if (size != JOIN_SIZE) {
            give(&f, join, size);
            assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++bad);
        }
    }
    for (int32_t bit = 19 * 8; bit < JOIN_SIZE * 8; bit++) {
        make_join(join, protocol_of(&f.def.world), 4711);
        join[bit / 8] ^= (uint8_t)(1 << bit % 8);
        give(&f, join, JOIN_SIZE);
        assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++bad);
    }
    for (int32_t kind = 0; kind < 256; kind++) {
        make_join(join, protocol_of(&f.def.world), 4711);
        join[2] = (uint8_t)kind;
        if (kind != 1) {
            give(&f, join, JOIN_SIZE);
            assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++bad);
        }
    }
    assert_int_equal(outgoing(&f, answer), 0);
    assert_int_equal(fl_session_peer_count(f.session), 0);
    close_all(&f);
}

static void a_welcome_that_no_host_would_say_is_dropped_and_counted(void **state)
{
    (void)state;
    Fixture f;
    open_session(&f, FL_ROLE_CLIENT);
    uint8_t bytes[FL_LINK_PACKET_BYTES];
    assert_int_equal(outgoing(&f, bytes), JOIN_SIZE);
    Welcome good = {get(bytes + 11, 8), 0x1234, 100, 50, FL_SEC(7)};
    Welcome bad[] = {good, good, good, good, good, good, good, good};
    bad[0].nonce++;
    bad[1].conversation = 0;
    bad[2].count = 0;
    bad[3].first = 1024;
    bad[4].count = 1024 - 100 + 1;
    bad[5].first = 0xffffffff;
    bad[6].offset = -1;
    bad[7].offset = INT64_C(1) << 62;
    uint64_t dropped = 0;
    for (int32_t i = 0; i < 8; i++) {
        make_welcome(bytes, &bad[i]);
        give(&f, bytes, WELCOME_SIZE);
        assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++dropped);
    }
    make_welcome(bytes, &good);
    bytes[WELCOME_SIZE] = 0;
    for (int32_t size = 3; size <= WELCOME_SIZE + 1; size++) {
        if (size != WELCOME_SIZE) {
            give(&f, bytes, size);
            assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++dropped);
        }
    }
    fl_session_receive(f.session, scene_address(2), bytes, WELCOME_SIZE, f.now); // not our host
    assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++dropped);
    assert_int_equal(fl_session_state(f.session), FL_SESSION_JOINING);
    give(&f, bytes, WELCOME_SIZE);
    assert_int_equal(fl_session_state(f.session), FL_SESSION_RUNNING);
    give(&f, bytes, WELCOME_SIZE); // said twice
    assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), dropped);
    close_all(&f);
}

static void a_datagram_from_nobody_we_know_is_dropped_and_counted(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    uint8_t bytes[FL_LINK_PACKET_BYTES + 1];
    memset(bytes, 7, sizeof bytes);
    fl_session_receive(f.session, scene_address(2), bytes, 100, f.now);
    fl_session_receive(f.session, scene_address(2), bytes, 1, f.now);
    assert_int_equal(count_of(&f, FL_SESSION_STRANGER), 2);
    give(&f, bytes, FL_LINK_PACKET_BYTES + 1);
    give(&f, bytes, 0);
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), 2);
    give(&f, bytes, 100); // from a peer, but of another conversation: the link's to count
    FlLinkStats stats;
    assert_int_equal(fl_session_peer_stats(f.session, 0, f.now, &stats), FL_OK);
    assert_int_equal(stats.drops[FL_LINK_DROP_CONVERSATION], 1);
    assert_int_equal(entity_count(&f), 0);
    close_all(&f);
}

// ---------------------------------------------------------------- motion

static void a_peer_may_speak_of_its_own_entities_only(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    uint32_t first = (uint32_t)f.welcome.first;
    uint32_t count = (uint32_t)f.welcome.count;
    FlEntityDef def = fl_entity_def_default();
    FlEntityId ours;
    assert_int_equal(fl_entity_create(f.session, &def, &ours), FL_OK);
    const uint32_t foreign[] = {0, first - 1, first + count, 1023};
    for (uint64_t i = 0; i < 4; i++) {
        give_update(&f, foreign[i], 0, host_time(&f), 1.0);
        assert_int_equal(count_of(&f, FL_SESSION_FOREIGN), i + 1);
    }
    assert_int_equal(entity_count(&f), 1);
    give_update(&f, first, 0, host_time(&f), 1.0);
    give_update(&f, first + count - 1, 0, host_time(&f), 1.0);
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_TAKEN), 2);
    assert_int_equal(entity_count(&f), 3);
    close_all(&f);
}

static void a_host_may_not_speak_of_the_clients_entities(void **state)
{
    (void)state;
    Fixture f;
    open_client(&f);
    FlEntityDef def = fl_entity_def_default();
    FlEntityId ours;
    assert_int_equal(fl_entity_create(f.session, &def, &ours), FL_OK);
    give_update(&f, 100, 0, host_time(&f), 1.0); // exists
    give_update(&f, 149, 0, host_time(&f), 1.0); // could
    assert_int_equal(count_of(&f, FL_SESSION_FOREIGN), 2);
    assert_int_equal(entity_count(&f), 1);
    give_update(&f, 99, 0, host_time(&f), 1.0);
    give_update(&f, 150, 0, host_time(&f), 1.0);
    assert_int_equal(entity_count(&f), 3);
    close_all(&f);
}

static void an_update_that_is_older_than_what_is_shown_is_ignored_and_counted(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    uint32_t number = (uint32_t)f.welcome.first;
    FlTime told = host_time(&f);
    give_update(&f, number, 0, told + FL_MS(10), 5.0);
    give_update(&f, number, 0, told, 1.0);
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_OVERTAKEN), 1);
    give_update(&f, number, 0, told + FL_MS(10), 2.0); // the same time is the same update
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_OVERTAKEN), 2);
    assert_true(fabs(first_x(&f) - 5.0) < 0.01);
    give_update(&f, number, 0, told + FL_MS(20), 6.0);
    assert_true(fabs(first_x(&f) - 6.0) < 0.01);
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_TAKEN), 2);
    close_all(&f);
}

static void an_update_is_placed_at_its_arrival_as_the_sender_will_hear_of_it(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    FlTime joined = f.now;
    for (int32_t i = 0; i < 20; i++) {
        f.now += FL_US(137) * i;
        FlTime told = host_time(&f);
        give_update(&f, (uint32_t)f.welcome.first, 0, told, 5.0);
        FlEntityId none = {0};
        FlEntityId id = fl_entity_next(f.session, none);
        const FlShow *show = &fl__entity_find(f.session, id)->show;
        FlTime rounded = f.now - (f.now - joined) % FL_LINK_STEP_NS;
        assert_int_equal(fl_path_at(&show->placed, FL_FOREVER)->from,
                         fl_session_time(f.session, rounded));
    }
    close_all(&f);
}

static void a_payload_with_a_fault_has_no_effect_at_all(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    uint32_t number = (uint32_t)f.welcome.first;
    uint8_t payload[8 + 3 * FL_UPDATE_BYTES_MAX];
    memset(payload, 0, sizeof payload);
    payload[0] = 1;
    payload[1] = 2;
    int32_t one = make_update(&f, payload + 2, number, 0, host_time(&f), 1.0);
    int32_t size = 2 + one;
    size += make_update(&f, payload + size, number + 1, 0, host_time(&f), 2.0);
    uint64_t dropped = 0;
    for (int32_t cut = 1; cut < size; cut++) { // every truncation
        give_payload(&f, payload, cut);
        assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), ++dropped);
    }
    give_payload(&f, payload, size + 1); // a kind that there is not
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), ++dropped);
    payload[0] = 2; // another one
    give_payload(&f, payload, size);
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), ++dropped);
    payload[0] = 1;
    payload[size] = 1; // a second one, empty
    payload[size + 1] = 0;
    give_payload(&f, payload, size + 2);
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), ++dropped);
    assert_int_equal(entity_count(&f), 0);
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_TAKEN), 0);
    // Two in a row are fine.
    payload[size + 1] = 1;
    int32_t more = make_update(&f, payload + size + 2, number + 2, 0, host_time(&f), 3.0);
    give_payload(&f, payload, size + 2 + more);
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), dropped);
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_TAKEN), 3);
    close_all(&f);
}

static void more_entities_than_there_is_room_for_are_dropped_and_counted(void **state)
{
    (void)state;
    Fixture f;
    open_client(&f);
    int32_t room = f.def.entity_capacity;
    for (int32_t i = 0; i < room + 5; i++) {
        give_update(&f, (uint32_t)(200 + i), 0, host_time(&f), 1.0);
    }
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_TAKEN), room);
    assert_int_equal(count_of(&f, FL_SESSION_NO_ROOM), 5);
    assert_int_equal(entity_count(&f), room);
    FlEntityDef def = fl_entity_def_default();
    FlEntityId id;
    assert_int_equal(fl_entity_create(f.session, &def, &id), FL_FULL);
    assert_int_equal(id.index1, 0);
    close_all(&f);
}

static void a_teleport_at_the_very_time_of_the_last_update_is_shown(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    uint32_t number = (uint32_t)f.welcome.first;
    FlTime told = host_time(&f);
    give_update(&f, number, 0, told, 1.0);
    give_update(&f, number, 1, told, 100.0);
    assert_true(fabs(first_x(&f) - 100.0) < 0.01);
    give_update(&f, number, 0, told, 1.0); // the former comes late
    assert_true(fabs(first_x(&f) - 100.0) < 0.01);
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_TAKEN), 2);
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_OVERTAKEN), 1);
    close_all(&f);
}

// ---------------------------------------------------------------- entities

static void entities_answer_what_is_wrong_with_a_call(void **state)
{
    (void)state;
    Fixture f;
    open_session(&f, FL_ROLE_CLIENT);
    FlEntityDef def = fl_entity_def_default();
    FlEntityId id = {5, 5};
    FlPose pose;
    FlState here = {.time = f.now};
    assert_int_equal(fl_entity_create(f.session, &def, &id), FL_WOULD_BLOCK);
    assert_int_equal(id.index1, 0);
    assert_int_equal(fl_entity_set(f.session, id, &here), FL_STALE_ID);
    assert_int_equal(fl_entity_cut(f.session, id), FL_STALE_ID);
    assert_int_equal(fl_entity_pose(f.session, id, f.now, &pose), FL_STALE_ID);
    assert_false(fl_entity_is_ours(f.session, id));
    FlEntityId wild = {UINT32_MAX, 1};
    assert_int_equal(fl_entity_set(f.session, wild, &here), FL_STALE_ID);
    assert_int_equal(fl_entity_next(f.session, wild).index1, 0);
    assert_int_equal(fl_session_time(f.session, f.now), 0);
    assert_int_equal(fl_session_time_error(f.session), FL_FOREVER);
    close_all(&f);

    open_client(&f);
    assert_int_equal(fl_entity_create(f.session, &def, &id), FL_OK);
    assert_int_equal(fl_entity_set(f.session, id, &here), FL_WOULD_BLOCK); // what time is it?
    assert_int_equal(fl_session_time_error(f.session), FL_FOREVER);
    assert_int_equal(fl_entity_pose(f.session, id, f.now, &pose), FL_NOT_FOUND);
    for (int32_t i = 1; i < 50; i++) {
        assert_int_equal(fl_entity_create(f.session, &def, &id), FL_OK);
    }
    assert_int_equal(fl_entity_create(f.session, &def, &id), FL_FULL); // has numbers for 50
    close_all(&f);

    open_host(&f);
    assert_int_equal(fl_entity_create(f.session, &def, &id), FL_OK);
    assert_true(fl_entity_is_ours(f.session, id));
    assert_int_equal(fl_entity_pose(f.session, id, f.now, &pose), FL_NOT_FOUND);
    here.time = f.now;
    here.position.x = (double)NAN;
    assert_int_equal(fl_entity_set(f.session, id, &here), FL_BAD_VALUE);
    here.position.x = 3.0;
    assert_int_not_equal(fl_session_deadline(f.session, f.now), f.now);
    assert_int_equal(fl_entity_set(f.session, id, &here), FL_OK);
    assert_int_equal(fl_session_deadline(f.session, f.now), f.now); // it has something to say
    assert_int_equal(fl_entity_pose(f.session, id, f.now, &pose), FL_OK);
    assert_true(fabs(pose.position.x - 3.0) < 0.01);
    here.time = f.now - 1;
    assert_int_equal(fl_entity_set(f.session, id, &here), FL_BAD_VALUE);
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_WIDE), 0);
    here.time = f.now + 1;
    here.position.x = 1e6;
    assert_int_equal(fl_entity_set(f.session, id, &here), FL_OK); // outside the world
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_WIDE), 1);
    assert_int_equal(fl_entity_cut(f.session, id), FL_OK);
    assert_int_equal(fl_entity_pose(f.session, id, f.now, &pose), FL_NOT_FOUND);
    FlEntityId older = id;
    older.generation -= 2;
    assert_int_equal(fl_entity_set(f.session, older, &here), FL_STALE_ID);
    give_update(&f, (uint32_t)f.welcome.first, 0, host_time(&f), 1.0);
    FlEntityId theirs = fl_entity_next(f.session, id);
    assert_true(theirs.index1 != 0 && !fl_entity_is_ours(f.session, theirs));
    assert_int_equal(fl_entity_set(f.session, theirs, &here), FL_BAD_VALUE);
    assert_int_equal(fl_entity_cut(f.session, theirs), FL_BAD_VALUE);
    close_all(&f);
}

static void a_definition_that_cannot_work_is_refused_at_once(void **state)
{
    (void)state;
    enum { BAD = 13 };
    for (int32_t i = 0; i <= BAD; i++) {
        FlSessionDef def = fl_session_def_default();
        def.role = FL_ROLE_HOST;
        switch (i) {
        case 0:
            def.world.precision = 0.0;
            break;
        case 1:
            def.role = (FlRole)7;
            break;
        case 2:
            def.peer_capacity = 0;
            break;
        case 3:
            def.peer_capacity = 5000;
            break;
        case 4:
            def.entity_capacity = 0;
            break;
        case 5:
            def.entity_capacity = def.world.entity_capacity + 1;
            break;
        case 6:
            def.world.entity_capacity = def.peer_capacity;
            def.entity_capacity = 1;
            break;
        case 7:
            def.join_every_ns = 0;
            break;
        case 8:
            def.join_timeout_ns = 0;
            break;
        case 9:
            def.time_mode = (FlTimeMode)3;
            break;
        case 10:
            def.link.sent_capacity = 100;
            break;
        case 11:
            def.link.numbered_below = true;
            break;
        case 12:
            def.link.rate_min_bytes_s = 0.0;
            break;
        default:
            break; // nothing wrong
        }
        FlSession *session;
        FlResult expected = i < BAD ? FL_BAD_VALUE : FL_OK;
        assert_int_equal(fl_session_create(&def, 0, &session), expected);
        assert_int_equal(session == NULL, i < BAD);
        fl_session_destroy(session);
    }
}

static void every_counter_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int32_t i = 0; i < FL_SESSION_COUNTS; i++) {
        const char *name = fl_session_count_name((FlSessionCount)i);
        assert_true(strlen(name) > 3);
        assert_string_not_equal(name, "unknown");
        for (int32_t j = 0; j < i; j++) {
            assert_string_not_equal(name, fl_session_count_name((FlSessionCount)j));
        }
    }
    assert_string_equal(fl_session_count_name(FL_SESSION_COUNTS), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_answers_each_request_once_and_never_at_greater_length),
        cmocka_unit_test(a_refusal_names_its_reason),
        cmocka_unit_test(a_client_asks_as_it_is_written),
        cmocka_unit_test(what_is_not_exactly_a_request_is_dropped_and_counted),
        cmocka_unit_test(a_welcome_that_no_host_would_say_is_dropped_and_counted),
        cmocka_unit_test(a_datagram_from_nobody_we_know_is_dropped_and_counted),
        cmocka_unit_test(a_peer_may_speak_of_its_own_entities_only),
        cmocka_unit_test(a_host_may_not_speak_of_the_clients_entities),
        cmocka_unit_test(an_update_that_is_older_than_what_is_shown_is_ignored_and_counted),
        cmocka_unit_test(an_update_is_placed_at_its_arrival_as_the_sender_will_hear_of_it),
        cmocka_unit_test(a_payload_with_a_fault_has_no_effect_at_all),
        cmocka_unit_test(more_entities_than_there_is_room_for_are_dropped_and_counted),
        cmocka_unit_test(a_teleport_at_the_very_time_of_the_last_update_is_shown),
        cmocka_unit_test(entities_answer_what_is_wrong_with_a_call),
        cmocka_unit_test(a_definition_that_cannot_work_is_refused_at_once),
        cmocka_unit_test(every_counter_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
