// A session and somebody who speaks to it byte by byte. The layouts are written out here a second
// time, from spec/WIRE.md section 7.
#ifndef TESTS_SCENE_SESSION_STRANGER_H
#define TESTS_SCENE_SESSION_STRANGER_H

#include "link/link.h"
#include "session_inside.h"
#include "session_net.h"

enum { JOIN_SIZE = 22, ACCEPT_SIZE = 13, REFUSE_SIZE = 12, BYE_SIZE = 13, WELCOME_SIZE = 22 };

static inline void put(uint8_t *bytes, uint64_t value, int32_t size)
{
    for (int32_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
}

static inline uint64_t get(const uint8_t *bytes, int32_t size)
{
    uint64_t value = 0;
    for (int32_t i = 0; i < size; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

static inline void make_join(uint8_t bytes[JOIN_SIZE], uint64_t protocol, uint64_t nonce)
{
    memset(bytes, 0, JOIN_SIZE);
    bytes[2] = 1;
    put(bytes + 3, protocol, 8);
    put(bytes + 11, nonce, 8);
    bytes[19] = 2; // of ABOUT: no name, nothing about it
}

static inline void make_accept(uint8_t bytes[ACCEPT_SIZE], uint64_t nonce, uint64_t conversation)
{
    memset(bytes, 0, ACCEPT_SIZE);
    bytes[2] = 2;
    put(bytes + 3, nonce, 8);
    put(bytes + 11, conversation, 2);
}

/// A WELCOME as it is on the wire: a section of a payload.
typedef struct Words {
    int64_t offset;
    uint64_t self, members, host, topology, share, term;
} Words;

static inline void make_welcome(uint8_t bytes[WELCOME_SIZE], const Words *w)
{
    bytes[0] = 5;
    put(bytes + 1, (uint64_t)w->offset, 8);
    put(bytes + 9, w->self, 2);
    put(bytes + 11, w->members, 2);
    put(bytes + 13, w->host, 2);
    put(bytes + 15, w->topology, 1);
    put(bytes + 16, w->share, 4);
    put(bytes + 20, w->term, 2);
}

static inline Words read_welcome(const uint8_t bytes[WELCOME_SIZE])
{
    assert_int_equal(bytes[0], 5);
    Words words = {.offset = (int64_t)get(bytes + 1, 8),
                   .self = get(bytes + 9, 2),
                   .members = get(bytes + 11, 2),
                   .host = get(bytes + 13, 2),
                   .topology = get(bytes + 15, 1),
                   .share = get(bytes + 16, 4),
                   .term = get(bytes + 20, 2)};
    return words;
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

static inline uint64_t count_of(const Fixture *f, FlSessionCount which)
{
    return fl_session_count(f->session, which);
}

static inline void give(Fixture *f, const uint8_t *bytes, int32_t count)
{
    fl_session_receive(f->session, f->other, bytes, count, f->now);
}

static inline int32_t outgoing(Fixture *f, uint8_t *bytes)
{
    FlOutgoing out;
    if (fl_session_next(f->session, f->now, &out) != FL_OK) {
        return 0;
    }
    assert_true(fl_address_equal(out.to, f->other));
    memcpy(bytes, out.bytes, (size_t)out.count);
    return out.count;
}

static inline void open_session(Fixture *f, FlRole role)
{
    memset(f, 0, sizeof *f);
    f->now = FL_SEC(1000);
    f->other = net_address(1, NET_PORT);
    f->def = fl_session_def_default();
    f->def.tuning.show.convergence = FL_CONVERGENCE_AT_ONCE; // compared with what came
    f->def.role = role;
    f->def.host = f->other;
    f->def.seed = 99;
    f->def.input_bytes = 2;
    assert_int_equal(fl_session_create(&f->def, f->now, &f->session), FL_OK);
}

static inline void open_other_link(Fixture *f)
{
    FlLinkDef def = fl_link_def_default();
    def.conversation = (uint16_t)f->conversation;
    assert_int_equal(fl_link_create(&def, f->now, &f->link), FL_OK);
}

/// The other hears what the session has to say. The first packet with a payload is a host's
/// welcome.
static inline void hear_all(Fixture *f)
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
static inline void give_packet(Fixture *f, const uint8_t *payload, int32_t count)
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
static inline void give_payload(Fixture *f, const uint8_t *payload, int32_t count)
{
    f->now += FL_MS(20);
    give_packet(f, payload, count);
}

/// A host that let somebody in, whose link is now ours to misuse.
static inline void open_host(Fixture *f)
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
static inline void give_message(Fixture *f, const uint8_t *message, int32_t count)
{
    assert_int_equal(fl_link_send(f->link, FL_DELIVERY_ORDERED, message, count), FL_OK);
    for (int32_t i = 0; i < 3; i++) { // until it has all gone
        give_payload(f, NULL, 0);
    }
}

static inline void give_member(Fixture *f, uint16_t number)
{
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    MemberMessage message = {.number = number, .incarnation = 1, .present = true};
    fl__member_message_write(&writer, &message);
    give_message(f, bytes, fl_writer_size(&writer));
}

/// A client that somebody talks to, but has not let in.
static inline void open_accepted(Fixture *f)
{
    open_session(f, FL_ROLE_CLIENT);
    uint8_t bytes[FL_SESSION_DATAGRAM_BYTES];
    assert_int_equal(outgoing(f, bytes), JOIN_SIZE);
    f->nonce = get(bytes + 11, 8);
    f->conversation = 0x1234;
    make_accept(bytes, f->nonce, f->conversation);
    give(f, bytes, ACCEPT_SIZE);
    open_other_link(f);
    Words welcome = {FL_SEC(7), 2, 17, 0, 0, 50, 1};
    f->welcome = welcome;
    f->first = 100;
    f->count = 50;
}

/// A client that was let in by somebody, as number 2 of 17.
static inline void open_client(Fixture *f)
{
    open_accepted(f);
    uint8_t bytes[WELCOME_SIZE];
    make_welcome(bytes, &f->welcome);
    give_payload(f, bytes, WELCOME_SIZE);
    give_member(f, 0);
    give_member(f, 2);
    assert_int_equal(fl_peer_count(f->session), 1);
}

static inline void close_all(Fixture *f)
{
    fl_session_close(f->session);
    fl_link_destroy(f->link);
}

/// An update of that entity, as bytes; its time is the session's.
static inline int32_t make_update(const Fixture *f, uint8_t *bytes, uint32_t entity, uint32_t life,
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
static inline FlTime host_time(const Fixture *f)
{
    return f->def.role == FL_ROLE_HOST
               ? fl_session_time(f->session, f->now)
               : fl__link_clock(f->link, f->now) + (FlTime)f->welcome.offset;
}

static inline void give_update(Fixture *f, uint32_t entity, uint32_t life, FlTime time, double x)
{
    uint8_t payload[2 + FL_UPDATE_BYTES_MAX] = {1, 1};
    int32_t size = make_update(f, payload + 2, entity, life, time, x);
    give_payload(f, payload, 2 + size);
}

static inline int32_t entity_count(const Fixture *f)
{
    int32_t count = 0;
    FlEntityId id = {0};
    while (fl_entity_next(f->session, &id)) {
        count++;
    }
    return count;
}

/// Where the first entity is shown now.
static inline double first_x(const Fixture *f)
{
    FlPose pose;
    FlEntityId id = {0};
    (void)fl_entity_next(f->session, &id);
    assert_true(fl_entity_pose_at(f->session, f->now, id, &pose));
    return pose.position.x;
}

#endif
