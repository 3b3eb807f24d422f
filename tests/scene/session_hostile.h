// A member with valid keys that sends what it should not: any message, and any section of a packet.
// Its session is a real one, so everything else about it is in order.
#ifndef TESTS_SCENE_SESSION_HOSTILE_H
#define TESTS_SCENE_SESSION_HOSTILE_H

#include "session_inside.h"
#include "session_net.h"

enum { HOSTILE_BYTES = 600 };

/// What its next packet to a member carries besides.
typedef struct Hostile {
    FlSession *session;
    int32_t to; // member
    int32_t count;
    uint8_t bytes[HOSTILE_BYTES];
} Hostile;

static inline Want hostile_want(const void *self, int32_t connection, FlTime now)
{
    const Hostile *h = (const Hostile *)self;
    Want want = fl__want_none();
    if (h->count > 0 && fl__connection_member(h->session, connection) == h->to) {
        want.at = now;
        want.bytes = h->count;
        want.first = h->count;
    }
    return want;
}

static inline void hostile_write(void *self, PacketOut *out)
{
    Hostile *h = (Hostile *)self;
    bool goes = h->count > 0 && fl__connection_member(h->session, out->connection) == h->to;
    if (goes && out->left >= h->count) {
        fl_writer_bytes(out->w, h->bytes, h->count);
        out->left -= h->count;
        h->count = 0;
    }
}

static const Feature HOSTILE = {.name = "hostile", .want = hostile_want, .write = hostile_write};

static inline void hostile_begin(Hostile *h, FlSession *session)
{
    memset(h, 0, sizeof *h);
    h->session = session;
    fl__feature_add(session, &HOSTILE, h);
}

/// Sends a section to a member with the next packet.
static inline void hostile_section(Hostile *h, int32_t to, const uint8_t *bytes, int32_t count)
{
    assert_true(count <= HOSTILE_BYTES);
    h->to = to;
    h->count = count;
    memcpy(h->bytes, bytes, (size_t)count);
    int32_t connection = inside_line_of(h->session, to);
    if (connection != FL__NONE) {
        fl__connection_wake(h->session, connection);
    }
}

/// Sends a message to a member to which it has a connection; else nothing.
static inline void hostile_message(FlSession *session, int32_t to, const FlWriter *w)
{
    assert_false(w->failed);
    if (inside_line_of(session, to) != FL__NONE) {
        (void)inside_say(session, to, w);
    }
}

/// "This entity is mine", or another's.
static inline void hostile_entity(FlSession *session, int32_t to, uint32_t number, uint16_t epoch,
                                  uint16_t born, int32_t owner)
{
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter w;
    FlEntityDef def = fl_entity_def_default();
    EntityMessage m = {
        .number = (uint16_t)number, .epoch = epoch, .born = born, .owner = (uint16_t)owner};
    m.definition = TRAITS_KEPT - 1; // which nothing else uses
    m.trait_bytes = fl__traits_write(&def, m.traits);
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__entity_message_write(&w, &m);
    hostile_message(session, to, &w);
}

/// An update: MOTION_EPOCH with one entity at (x, 0, 0).
static inline void hostile_motion(Hostile *h, int32_t to, uint32_t number, uint16_t epoch,
                                  FlTime time, double x)
{
    uint8_t bytes[HOSTILE_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_writer_put(&w, SECTION_MOTION_EPOCH, 8);
    fl_writer_put(&w, 1, 8);
    fl_writer_put(&w, epoch & 0xffu, 8);
    FlState state = {.time = time, .position = fl_vec3(x, 0.0, 0.0)};
    FlUpdate update = {number, 0, fl_motion_make(FL_MODEL_STILL, &state)};
    assert_true(fl_update_encode(&w, &h->session->world, &update));
    hostile_section(h, to, bytes, fl_writer_size(&w));
}

/// A state blob of one letter.
static inline void hostile_state(Hostile *h, int32_t to, uint32_t number, uint16_t epoch,
                                 uint16_t version, char letter)
{
    uint8_t bytes[16];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_writer_put(&w, SECTION_STATE, 8);
    fl_writer_put(&w, number, 16);
    fl_writer_put(&w, epoch & 0xffu, 8);
    fl_writer_put(&w, version, 16);
    fl_writer_put(&w, 1, 8);
    fl_writer_put(&w, (uint64_t)letter, 8);
    hostile_section(h, to, bytes, fl_writer_size(&w));
}

// ---------------------------------------------------------------- what others have

/// It is in the session; an attacker may have been sent away.
static inline bool net_is_member(const Net *net, int32_t node)
{
    const FlSession *session = net->node[node].session;
    return session != NULL && fl_session_state(session) == FL_SESSION_RUNNING;
}

static inline uint16_t net_epoch(const Net *net, int32_t at, uint32_t number)
{
    FlEntityStatus status;
    FlEntityId id = net_entity(net, at, number);
    assert_int_equal(fl_entity_status(net->node[at].session, id, &status), FL_OK);
    return status.epoch;
}

/// Node `owner` owns it, at everybody who is there.
static inline void assert_owner(const Net *net, uint32_t number, int32_t owner)
{
    for (int32_t i = 0; i < net->count; i++) {
        if (net_is_member(net, i)) {
            FlEntityId id = net_entity(net, i, number);
            assert_true(id.index1 != 0);
            assert_int_equal(inside_owner(net->node[i].session, id), net_number(net, owner));
            assert_int_equal(fl_entity_is_ours(net->node[i].session, id), i == owner);
        }
    }
}

/// Its state is this letter, at everybody who is there but `except`.
static inline void assert_state(const Net *net, uint32_t number, char letter, int32_t except)
{
    for (int32_t i = 0; i < net->count; i++) {
        if (net_is_member(net, i) && i != except) {
            const uint8_t *bytes;
            int32_t count;
            FlEntityId id = net_entity(net, i, number);
            assert_int_equal(fl_entity_state_get(net->node[i].session, id, &bytes, &count), FL_OK);
            assert_int_equal(count, 1);
            assert_int_equal(bytes[0], letter);
        }
    }
}

static inline void set_state(Net *net, int32_t node, uint32_t number, char letter)
{
    FlEntityId id = net_entity(net, node, number);
    assert_int_equal(fl_entity_state_set(net->node[node].session, id, &letter, 1), FL_OK);
}

static inline void give_to(Net *net, int32_t from, uint32_t number, int32_t to)
{
    FlEntityId id = net_entity(net, from, number);
    assert_int_equal(
        fl_entity_give(net->node[from].session, net_local(net, from), id, net_peer(net, from, to)),
        FL_OK);
}

#endif
