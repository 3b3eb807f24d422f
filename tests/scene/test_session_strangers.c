// What others may send to a session, byte by byte: what is taken, what is dropped and counted. The
// layouts are written out here a second time, from spec/WIRE.md section 7.
#include "session_world.h"

enum { JOIN_SIZE = 19, ACCEPT_SIZE = 13, REFUSE_SIZE = 12, BYE_SIZE = 13, WELCOME_SIZE = 20 };

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

static void make_accept(uint8_t bytes[ACCEPT_SIZE], uint64_t nonce, uint64_t conversation)
{
    memset(bytes, 0, ACCEPT_SIZE);
    bytes[2] = 2;
    put(bytes + 3, nonce, 8);
    put(bytes + 11, conversation, 2);
}

/// A WELCOME as it is on the wire: a section of a payload.
typedef struct Words {
    int64_t offset;
    uint64_t self, members, host, topology, share;
} Words;

static void make_welcome(uint8_t bytes[WELCOME_SIZE], const Words *w)
{
    bytes[0] = 5;
    put(bytes + 1, (uint64_t)w->offset, 8);
    put(bytes + 9, w->self, 2);
    put(bytes + 11, w->members, 2);
    put(bytes + 13, w->host, 2);
    put(bytes + 15, w->topology, 1);
    put(bytes + 16, w->share, 4);
}

static Words read_welcome(const uint8_t bytes[WELCOME_SIZE])
{
    assert_int_equal(bytes[0], 5);
    Words words = {.offset = (int64_t)get(bytes + 1, 8),
                   .self = get(bytes + 9, 2),
                   .members = get(bytes + 11, 2),
                   .host = get(bytes + 13, 2),
                   .topology = get(bytes + 15, 1),
                   .share = get(bytes + 16, 4)};
    return words;
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
    uint64_t nonce, conversation;
    Words welcome;
    uint64_t first, count; // numbers that are the client's to give
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
    f->def.input_bytes = 2;
    assert_int_equal(fl_session_create(&f->def, f->now, &f->session), FL_OK);
}

static void open_other_link(Fixture *f)
{
    FlLinkDef def = fl_link_def_default();
    def.conversation = (uint16_t)f->conversation;
    assert_int_equal(fl_link_create(&def, f->now, &f->link), FL_OK);
}

/// The other hears what the session has to say. The first packet with a payload is a host's
/// welcome.
static void hear_all(Fixture *f)
{
    uint8_t bytes[FL_SESSION_DATAGRAM_BYTES];
    int32_t count;
    while ((count = outgoing(f, bytes)) > 0) {
        FlLinkPacket packet;
        FlLinkDrop drop = fl_link_receive(f->link, f->now, 0, bytes, count, &packet);
        if (drop == FL_LINK_DROP_NONE && packet.payload_bytes >= WELCOME_SIZE &&
            f->welcome.members == 0) {
            f->welcome = read_welcome(packet.payload);
        }
    }
}

/// The other sends a packet with that payload now,
static void give_packet(Fixture *f, const uint8_t *payload, int32_t count)
{
    uint8_t bytes[FL_LINK_PACKET_BYTES];
    FlWriter writer;
    uint64_t sequence;
    assert_int_equal(fl_link_begin(f->link, f->now, bytes, &writer), FL_OK);
    fl_writer_bytes(&writer, payload, count);
    int32_t size = fl_link_finish(f->link, f->now, &writer, 0, &sequence);
    give(f, bytes, size);
}

/// or a little later.
static void give_payload(Fixture *f, const uint8_t *payload, int32_t count)
{
    f->now += FL_MS(20);
    give_packet(f, payload, count);
}

/// A host that let somebody in, whose link is now ours to misuse.
static void open_host(Fixture *f)
{
    open_session(f, FL_ROLE_HOST);
    uint8_t bytes[FL_SESSION_DATAGRAM_BYTES];
    make_join(bytes, protocol_of(&f->def.world), 4711);
    give(f, bytes, JOIN_SIZE);
    assert_int_equal(outgoing(f, bytes), ACCEPT_SIZE);
    f->nonce = 4711;
    f->conversation = get(bytes + 11, 2);
    open_other_link(f);
    assert_int_equal(outgoing(f, bytes), 0); // nothing before the other has shown that it is there
    give_packet(f, NULL, 0);
    hear_all(f);
    assert_true(f->welcome.members >= 2);
    f->first = f->welcome.self * f->welcome.share;
    f->count = f->welcome.share;
}

/// The other says something reliably.
static void give_message(Fixture *f, const uint8_t *message, int32_t count)
{
    assert_int_equal(fl_link_send(f->link, FL_DELIVERY_ORDERED, message, count), FL_OK);
    for (int32_t i = 0; i < 3; i++) { // until it has all gone
        give_payload(f, NULL, 0);
    }
}

static void give_member(Fixture *f, uint16_t number)
{
    uint8_t bytes[FL_GROUP_MESSAGE_BYTES];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    FlMemberMessage message = {.number = number, .incarnation = 1, .present = true};
    fl_member_message_write(&writer, &message);
    give_message(f, bytes, fl_writer_size(&writer));
}

/// A client that somebody talks to, but has not let in.
static void open_accepted(Fixture *f)
{
    open_session(f, FL_ROLE_CLIENT);
    uint8_t bytes[FL_SESSION_DATAGRAM_BYTES];
    assert_int_equal(outgoing(f, bytes), JOIN_SIZE);
    f->nonce = get(bytes + 11, 8);
    f->conversation = 0x1234;
    make_accept(bytes, f->nonce, f->conversation);
    give(f, bytes, ACCEPT_SIZE);
    open_other_link(f);
    Words welcome = {FL_SEC(7), 2, 17, 0, 0, 50};
    f->welcome = welcome;
    f->first = 100;
    f->count = 50;
}

/// A client that was let in by somebody, as number 2 of 17.
static void open_client(Fixture *f)
{
    open_accepted(f);
    uint8_t bytes[WELCOME_SIZE];
    make_welcome(bytes, &f->welcome);
    give_payload(f, bytes, WELCOME_SIZE);
    assert_int_equal(fl_session_state(f->session), FL_SESSION_RUNNING);
    give_member(f, 0);
    give_member(f, 2);
    assert_int_equal(fl_peer_count(f->session), 1);
}

static void close_all(Fixture *f)
{
    fl_session_destroy(f->session);
    fl_link_destroy(f->link);
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

/// How many datagrams of joining the host says now, and the last of them.
static int32_t answers(Fixture *f, uint8_t answer[FL_SESSION_DATAGRAM_BYTES], int32_t *size)
{
    uint8_t bytes[FL_SESSION_DATAGRAM_BYTES];
    int32_t answers = 0;
    int32_t count;
    while ((count = outgoing(f, bytes)) > 0) {
        if (get(bytes, 2) == 0) {
            answers++;
            *size = count;
            memcpy(answer, bytes, (size_t)count);
        }
    }
    return answers;
}

static void the_host_answers_each_request_once_and_never_at_greater_length(void **state)
{
    (void)state;
    Fixture f;
    open_session(&f, FL_ROLE_HOST);
    uint8_t join[JOIN_SIZE], answer[FL_SESSION_DATAGRAM_BYTES], again[FL_SESSION_DATAGRAM_BYTES];
    int32_t size = 0;
    make_join(join, protocol_of(&f.def.world), 4711);
    give(&f, join, JOIN_SIZE);
    assert_int_equal(fl_session_deadline(f.session, f.now), f.now); // it has something to say
    assert_int_equal(answers(&f, answer, &size), 1);
    assert_true(size == ACCEPT_SIZE && size <= JOIN_SIZE);
    uint64_t conversation = get(answer + 11, 2);
    uint8_t expected[ACCEPT_SIZE];
    make_accept(expected, 4711, conversation);
    assert_memory_equal(answer, expected, ACCEPT_SIZE);
    assert_true(conversation != 0);
    // Asked again it says the same.
    f.now += FL_MS(250);
    give(&f, join, JOIN_SIZE);
    assert_int_equal(answers(&f, again, &size), 1);
    assert_memory_equal(answer, again, ACCEPT_SIZE);
    assert_int_equal(fl_peer_count(f.session), 1);
    // The same player with a new number is a new conversation in its old place.
    make_join(join, protocol_of(&f.def.world), 4712);
    give(&f, join, JOIN_SIZE);
    assert_int_equal(answers(&f, again, &size), 1);
    assert_int_equal(size, ACCEPT_SIZE);
    assert_int_not_equal(get(again + 11, 2), conversation);
    assert_int_equal(fl_peer_count(f.session), 1);
    close_all(&f);
}

static void the_host_welcomes_as_it_is_written(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    const Words *w = &f.welcome;
    assert_int_equal(w->offset, fl_session_time(f.session, f.now)); // its link began just now
    assert_int_equal(w->members, f.def.peer_capacity + 1);
    assert_true(w->self == 1 && w->host == 0 && w->topology == 0);
    assert_true(w->share * w->members <= 1024 && (w->share + 1) * w->members > 1024);
    close_all(&f);
}

static void a_refusal_names_its_reason(void **state)
{
    (void)state;
    Fixture f;
    open_session(&f, FL_ROLE_HOST);
    uint8_t join[JOIN_SIZE], answer[FL_SESSION_DATAGRAM_BYTES];
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
    uint8_t bytes[FL_SESSION_DATAGRAM_BYTES], expected[JOIN_SIZE];
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
    uint8_t join[JOIN_SIZE + 1], answer[FL_SESSION_DATAGRAM_BYTES];
    uint64_t bad = 0;
    for (int32_t size = 3; size <= JOIN_SIZE + 1; size++) { // below 3 it is not even one of these
        memset(join, 0, sizeof join);
        make_join(join, protocol_of(&f.def.world), 4711);
        if (size != JOIN_SIZE) {
            give(&f, join, size);
            assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++bad);
        }
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
    assert_int_equal(fl_peer_count(f.session), 0);
    close_all(&f);
}

static void an_answer_that_no_host_would_give_is_dropped_and_counted(void **state)
{
    (void)state;
    Fixture f;
    open_session(&f, FL_ROLE_CLIENT);
    uint8_t bytes[FL_SESSION_DATAGRAM_BYTES];
    assert_int_equal(outgoing(&f, bytes), JOIN_SIZE);
    uint64_t nonce = get(bytes + 11, 8);
    uint64_t dropped = 0;
    make_accept(bytes, nonce + 1, 0x1234);
    give(&f, bytes, ACCEPT_SIZE);
    assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++dropped);
    make_accept(bytes, nonce, 0);
    give(&f, bytes, ACCEPT_SIZE);
    assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++dropped);
    make_accept(bytes, nonce, 0x1234);
    bytes[ACCEPT_SIZE] = 0;
    for (int32_t size = 3; size <= ACCEPT_SIZE + 1; size++) {
        if (size != ACCEPT_SIZE) {
            give(&f, bytes, size);
            assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++dropped);
        }
    }
    fl_session_receive(f.session, scene_address(2), bytes, ACCEPT_SIZE, f.now); // not our host
    assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++dropped);
    f.now += f.def.join_every_ns;
    assert_int_equal(outgoing(&f, bytes), JOIN_SIZE); // none of these was an answer
    make_accept(bytes, nonce, 0x1234);
    give(&f, bytes, ACCEPT_SIZE);
    give(&f, bytes, ACCEPT_SIZE); // said twice
    assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), dropped);
    f.now += f.def.join_every_ns;
    while (outgoing(&f, bytes) > 0) {
        assert_int_not_equal(get(bytes, 2), 0); // asks no more
    }
    close_all(&f);
}

static void a_welcome_that_no_host_would_say_is_dropped_and_counted(void **state)
{
    (void)state;
    Fixture f;
    open_accepted(&f);
    Words good = f.welcome;
    enum { BAD = 9 };
    Words bad[BAD];
    for (int32_t i = 0; i < BAD; i++) {
        bad[i] = good;
    }
    bad[0].members = 1;
    bad[1].self = 17;
    bad[2].host = 17;
    bad[3].self = 0; // the host's
    bad[4].topology = 3;
    bad[5].share = 0;
    bad[6].share = 61; // 17 times that is more numbers than there are
    bad[7].offset = INT64_C(1) << 62;
    bad[8].offset = -(INT64_C(1) << 62);
    uint64_t dropped = 0;
    uint8_t bytes[WELCOME_SIZE];
    for (int32_t i = 0; i < BAD; i++) {
        make_welcome(bytes, &bad[i]);
        give_payload(&f, bytes, WELCOME_SIZE);
        assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), ++dropped);
    }
    make_welcome(bytes, &good);
    for (int32_t size = 1; size < WELCOME_SIZE; size++) {
        give_payload(&f, bytes, size);
        assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), ++dropped);
    }
    assert_int_equal(fl_session_state(f.session), FL_SESSION_JOINING);
    give_payload(&f, bytes, WELCOME_SIZE);
    assert_int_equal(fl_session_state(f.session), FL_SESSION_RUNNING);
    give_payload(&f, bytes, WELCOME_SIZE); // said twice
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), dropped);
    close_all(&f);

    open_host(&f); // whom nobody welcomes
    give_payload(&f, bytes, WELCOME_SIZE);
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), 1);
    close_all(&f);
}

static void a_welcome_to_more_players_than_we_have_room_for_ends_it_with_advice(void **state)
{
    (void)state;
    Fixture f;
    open_accepted(&f);
    f.welcome.members = 18;
    uint8_t bytes[WELCOME_SIZE];
    make_welcome(bytes, &f.welcome);
    give_payload(&f, bytes, WELCOME_SIZE);
    assert_int_equal(fl_session_state(f.session), FL_SESSION_ENDED);
    assert_non_null(strstr(fl_session_trouble(f.session), "peer_capacity"));
    close_all(&f);
}

static void a_goodbye_is_believed_only_with_nonce_and_conversation(void **state)
{
    (void)state;
    for (int32_t client = 0; client < 2; client++) {
        Fixture f;
        if (client == 1) {
            open_client(&f);
        } else {
            open_host(&f);
        }
        uint8_t bye[BYE_SIZE + 1];
        uint64_t bad = 0;
        for (int32_t bit = 24; bit < BYE_SIZE * 8; bit++) {
            make_accept(bye, f.nonce, f.conversation);
            bye[2] = 4;
            bye[bit / 8] ^= (uint8_t)(1 << bit % 8);
            give(&f, bye, BYE_SIZE);
            assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++bad);
        }
        make_accept(bye, f.nonce, f.conversation);
        bye[2] = 4;
        bye[BYE_SIZE] = 0;
        fl_session_receive(f.session, scene_address(2), bye, BYE_SIZE, f.now); // from elsewhere
        give(&f, bye, BYE_SIZE - 1);
        give(&f, bye, BYE_SIZE + 1);
        assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), bad + 3);
        assert_int_equal(fl_session_state(f.session), FL_SESSION_RUNNING);
        assert_int_equal(fl_peer_count(f.session), 1);
        give(&f, bye, BYE_SIZE);
        assert_int_equal(fl_peer_count(f.session), 0);
        assert_int_equal(fl_session_state(f.session),
                         client == 1 ? FL_SESSION_ENDED : FL_SESSION_RUNNING);
        close_all(&f);
    }
}

static void a_datagram_from_nobody_we_know_is_dropped_and_counted(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    uint8_t bytes[FL_SESSION_DATAGRAM_BYTES + 1];
    memset(bytes, 7, sizeof bytes);
    fl_session_receive(f.session, scene_address(2), bytes, 100, f.now);
    fl_session_receive(f.session, scene_address(2), bytes, 1, f.now);
    assert_int_equal(count_of(&f, FL_SESSION_STRANGER), 2);
    give(&f, bytes, FL_SESSION_DATAGRAM_BYTES + 1);
    give(&f, bytes, 0);
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), 2);
    give(&f, bytes, 100); // from a peer, but of another conversation: the link's to count
    FlLinkStats stats;
    assert_int_equal(fl_peer_stats(f.session, fl_peer_of_number(f.session, 1), f.now, &stats),
                     FL_OK);
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
    uint32_t first = (uint32_t)f.first;
    uint32_t count = (uint32_t)f.count;
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

static void a_host_may_speak_of_everybodys_entities_but_not_of_ours(void **state)
{
    (void)state;
    Fixture f;
    open_client(&f);
    FlEntityDef def = fl_entity_def_default();
    FlEntityId ours;
    assert_int_equal(fl_entity_create(f.session, &def, &ours), FL_OK);
    give_update(&f, 100, 0, host_time(&f), 1.0);
    assert_int_equal(count_of(&f, FL_SESSION_FOREIGN), 1);
    assert_int_equal(entity_count(&f), 1);
    give_update(&f, 149, 0, host_time(&f), 1.0); // ours once, and given away before we were here
    give_update(&f, 99, 0, host_time(&f), 1.0);  // a fellow's
    give_update(&f, 0, 0, host_time(&f), 1.0);   // the host's own
    assert_int_equal(entity_count(&f), 4);
    assert_int_equal(count_of(&f, FL_SESSION_FOREIGN), 1);
    close_all(&f);
}

static void an_update_that_is_older_than_what_is_shown_is_ignored_and_counted(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    uint32_t number = (uint32_t)f.first;
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
        give_update(&f, (uint32_t)f.first, 0, told, 5.0);
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
    uint32_t number = (uint32_t)f.first;
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
    payload[0] = 99; // another one
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

// One section of each kind that a host may send, and its size. Entity 3 is the host's.
static int32_t make_section(uint8_t *bytes, int32_t kind)
{
    memset(bytes, 0, 64);
    bytes[0] = (uint8_t)kind;
    switch (kind) {
    case 3: // STATE
        put(bytes + 1, 3, 2);
        put(bytes + 4, 1, 2);
        bytes[6] = 5;
        return 7 + 5;
    case 4:           // INPUTS of two bytes
        bytes[3] = 1; // the host's incarnation
        put(bytes + 4, 10, 4);
        bytes[8] = 3;
        return 9 + 3 * 2;
    case 6: // MAPPING
        bytes[1] = 1;
        return 2 + 17;
    case 7: // REPORT
        put(bytes + 1, 3, 2);
        put(bytes + 3, 2, 2);
        bytes[13] = 1;
        return 14 + 6;
    default:
        return 0;
    }
}

static void every_truncation_of_every_section_is_dropped_and_counted(void **state)
{
    (void)state;
    static const int32_t kinds[] = {3, 4, 6, 7};
    for (int32_t k = 0; k < 4; k++) {
        Fixture f;
        open_client(&f);
        uint8_t bytes[65];
        int32_t size = make_section(bytes, kinds[k]);
        uint64_t dropped = 0;
        for (int32_t cut = 1; cut < size; cut++) {
            give_payload(&f, bytes, cut);
            assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), ++dropped);
        }
        give_payload(&f, bytes, size + 1); // and a kind that there is not
        assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), ++dropped);
        give_payload(&f, bytes, size);
        assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), dropped);
        assert_int_equal(count_of(&f, FL_SESSION_STATES_TAKEN), kinds[k] == 3 ? 1 : 0);
        assert_int_equal(count_of(&f, FL_SESSION_INPUTS_TAKEN), kinds[k] == 4 ? 3 : 0);
        close_all(&f);
    }
}

// Random values in every field: whatever comes of it, nothing breaks, and what is not taken is
// counted.
static void sections_with_random_bytes_do_no_harm(void **state)
{
    (void)state;
    FlRandom random = {.seed = 5};
    for (int32_t round = 0; round < 40; round++) {
        Fixture f;
        if (round % 2 == 0) {
            open_client(&f);
        } else {
            open_host(&f);
        }
        for (int32_t i = 0; i < 100; i++) {
            uint8_t bytes[256];
            int32_t size = 1 + (int32_t)fl_random_below(&random, 120);
            for (int32_t b = 0; b < size; b++) {
                bytes[b] = (uint8_t)fl_random_below(&random, 256);
                uint64_t small = fl_random_below(&random, 2);
                bytes[b] = small == 0 ? bytes[b] % 4 : bytes[b];
            }
            bytes[0] = (uint8_t)(1 + fl_random_below(&random, 7));
            give_payload(&f, bytes, size);
            assert_true(entity_count(&f) <= f.def.entity_capacity);
        }
        assert_true(count_of(&f, FL_SESSION_MALFORMED) > 20);
        hear_all(&f);
        close_all(&f);
    }
}

static void what_is_the_hosts_to_say_a_client_may_not(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    uint8_t bytes[FL_GROUP_MESSAGE_BYTES];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    FlMemberMessage member = {.number = 5, .incarnation = 1, .present = true};
    fl_member_message_write(&writer, &member);
    give_message(&f, bytes, fl_writer_size(&writer));
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), 1);
    assert_int_equal(fl_peer_count(f.session), 1);
    fl_writer_init(&writer, bytes, sizeof bytes);
    FlMeetMessage meet = {.member = 1, .incarnation = 1, .conversation = 7};
    meet.address = scene_address(3);
    fl_meet_message_write(&writer, &meet);
    give_message(&f, bytes, fl_writer_size(&writer));
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), 2);
    FlEntityEndMessage end = {0, 0}; // the host's entity
    FlEntityDef def = fl_entity_def_default();
    FlEntityId ours;
    assert_int_equal(fl_entity_create(f.session, &def, &ours), FL_OK);
    fl_writer_init(&writer, bytes, sizeof bytes);
    fl_entity_end_message_write(&writer, &end);
    give_message(&f, bytes, fl_writer_size(&writer));
    FlGiveMessage present = {0, 0, 1};
    fl_writer_init(&writer, bytes, sizeof bytes);
    fl_give_message_write(&writer, &present);
    give_message(&f, bytes, fl_writer_size(&writer));
    FlScopeMessage scope = {0, 0, 1, true};
    fl_writer_init(&writer, bytes, sizeof bytes);
    fl_scope_message_write(&writer, &scope);
    give_message(&f, bytes, fl_writer_size(&writer));
    assert_int_equal(count_of(&f, FL_SESSION_FOREIGN), 3);
    assert_true(fl_entity_is_ours(f.session, ours));
    FlEventHead head = {.from = 0, .type = 9}; // in the host's name
    fl_writer_init(&writer, bytes, sizeof bytes);
    fl_event_head_write(&writer, &head);
    give_message(&f, bytes, fl_writer_size(&writer));
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), 3);
    FlEvent event;
    assert_int_equal(fl_event_take(f.session, &event), FL_NOT_FOUND);
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
    uint32_t number = (uint32_t)f.first;
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
    here.time = f.now;
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
    hear_all(&f); // of its announcement
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
    give_update(&f, (uint32_t)f.first, 0, host_time(&f), 1.0);
    FlEntityId theirs = fl_entity_next(f.session, id);
    assert_true(theirs.index1 != 0 && !fl_entity_is_ours(f.session, theirs));
    assert_int_equal(fl_entity_set(f.session, theirs, &here), FL_BAD_VALUE);
    assert_int_equal(fl_entity_cut(f.session, theirs), FL_BAD_VALUE);
    close_all(&f);
}

static void a_definition_that_cannot_work_is_refused_at_once(void **state)
{
    (void)state;
    enum { BAD = 22 };
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
        case 13:
            def.topology = (FlTopology)3;
            break;
        case 14:
            def.line_capacity = 0;
            break;
        case 15:
            def.line_capacity = def.peer_capacity + 1;
            break;
        case 16:
            def.item_capacity = 1000;
            break;
        case 17:
            def.path_capacity = 7;
            break;
        case 18:
            def.input_bytes = 65;
            break;
        case 19:
            def.input_ticks = 3;
            break;
        case 20:
            def.input_ticks = 512;
            break;
        case 21:
            def.gather_ns = -1;
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
        cmocka_unit_test(the_host_welcomes_as_it_is_written),
        cmocka_unit_test(an_answer_that_no_host_would_give_is_dropped_and_counted),
        cmocka_unit_test(a_welcome_that_no_host_would_say_is_dropped_and_counted),
        cmocka_unit_test(a_welcome_to_more_players_than_we_have_room_for_ends_it_with_advice),
        cmocka_unit_test(a_goodbye_is_believed_only_with_nonce_and_conversation),
        cmocka_unit_test(a_datagram_from_nobody_we_know_is_dropped_and_counted),
        cmocka_unit_test(a_peer_may_speak_of_its_own_entities_only),
        cmocka_unit_test(a_host_may_speak_of_everybodys_entities_but_not_of_ours),
        cmocka_unit_test(an_update_that_is_older_than_what_is_shown_is_ignored_and_counted),
        cmocka_unit_test(an_update_is_placed_at_its_arrival_as_the_sender_will_hear_of_it),
        cmocka_unit_test(a_payload_with_a_fault_has_no_effect_at_all),
        cmocka_unit_test(every_truncation_of_every_section_is_dropped_and_counted),
        cmocka_unit_test(sections_with_random_bytes_do_no_harm),
        cmocka_unit_test(what_is_the_hosts_to_say_a_client_may_not),
        cmocka_unit_test(more_entities_than_there_is_room_for_are_dropped_and_counted),
        cmocka_unit_test(a_teleport_at_the_very_time_of_the_last_update_is_shown),
        cmocka_unit_test(entities_answer_what_is_wrong_with_a_call),
        cmocka_unit_test(a_definition_that_cannot_work_is_refused_at_once),
        cmocka_unit_test(every_counter_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
