// Unreliable events: each arrives at most once, at those it is for and at no other, whatever the
// network does; on a channel where only the newest counts none is taken after a newer one; those
// that must arrive do so as before. Where bytes are short the important ones go, and what waits
// is not starved.
#include "session_net.h"

#include "fairlead/call.h"

enum { NODES = 4, TYPE = 9, ROUNDS = 400 };

typedef struct Seen {
    int32_t count[ROUNDS]; // arrivals of each, by round
    int32_t newest;        // plus one, on the channel where only the newest counts
    int32_t ordered;       // the next one that must come
} Seen;

typedef struct Scene {
    Net net;
    Seen seen[NODES][NODES]; // at, from
    bool sent_to[NODES][NODES][ROUNDS];
} Scene;

static FlEvent event_of(uint16_t type, FlDelivery delivery, uint8_t channel, int32_t round,
                        uint8_t bytes[3])
{
    bytes[0] = (uint8_t)round;
    bytes[1] = (uint8_t)(round >> 8);
    bytes[2] = (uint8_t)(round * 7);
    FlEvent event = {
        .type = type, .delivery = delivery, .channel = channel, .bytes = bytes, .count = 3};
    return event;
}

static void take_all(Scene *scene, int32_t at)
{
    FlEvent event;
    while (fl_event_take(scene->net.node[at].session, &event) == FL_OK) {
        assert_int_equal(event.count, 3);
        int32_t round = event.bytes[0] | event.bytes[1] << 8;
        int32_t from = -1;
        for (int32_t i = 0; i < NODES; i++) {
            from = net_number(&scene->net, i) == event.number ? i : from;
        }
        assert_true(from >= 0 && from != at && event.bytes[2] == (uint8_t)(round * 7));
        Seen *seen = &scene->seen[at][from];
        if (event.delivery == FL_DELIVERY_UNRELIABLE) {
            assert_int_equal(event.channel, 3);
            assert_true(scene->sent_to[from][at][round]);
            assert_int_equal(seen->count[round]++, 0);
        } else if (event.delivery == FL_DELIVERY_NEWEST) {
            assert_true(round >= seen->newest);
            seen->newest = round + 1;
        } else {
            assert_int_equal(round, seen->ordered);
            seen->ordered++;
        }
    }
}

static void send_round(Scene *scene, int32_t from, int32_t round)
{
    Net *net = &scene->net;
    FlSession *session = net->node[from].session;
    uint8_t bytes[3];
    FlEvent newest = event_of(TYPE, FL_DELIVERY_NEWEST, 4, round, bytes);
    assert_int_equal(fl_event_send(session, (FlPeerId){0}, &newest), FL_OK);
    FlEvent lost = event_of(TYPE, FL_DELIVERY_UNRELIABLE, 3, round, bytes);
    int32_t one = (from + 1 + round % (NODES - 1)) % NODES;
    int32_t two = (one + 1) % NODES == from ? (one + 2) % NODES : (one + 1) % NODES;
    FlPeerId some[2] = {net_peer(net, from, one), net_peer(net, from, two)};
    bool all = round % 3 == 0;
    FlResult result = all ? fl_event_send(session, (FlPeerId){0}, &lost)
                          : fl_event_send_some(session, some, 1 + round % 2, &lost);
    assert_int_equal(result, FL_OK);
    for (int32_t to = 0; to < NODES; to++) {
        scene->sent_to[from][to][round] =
            to != from && (all || to == one || (to == two && round % 2 == 1));
    }
}

static void each_arrives_at_most_once_and_only_where_it_is_for(void **state)
{
    const char *name = (const char *)*state;
    static Scene scene;
    int64_t sent = 0;
    int64_t got = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        memset(&scene, 0, sizeof scene);
        Net *net = &scene.net;
        net_open(net, seed, net_topology(state), seed % 2 == 0);
        net->weather = net_storm(&net->random, 20);
        net_start_together(net, NODES);
        int32_t ordered[NODES] = {0};
        for (int32_t round = 0; round < ROUNDS; round++) {
            for (int32_t from = 0; from < NODES; from++) {
                send_round(&scene, from, round);
                uint8_t bytes[3];
                FlEvent sure = event_of(TYPE, FL_DELIVERY_ORDERED, 0, ordered[from], bytes);
                FlResult result = fl_event_send(net->node[from].session, (FlPeerId){0}, &sure);
                ordered[from] += result == FL_OK ? 1 : 0;
            }
            net_frame(net);
            for (int32_t at = 0; at < NODES; at++) {
                take_all(&scene, at);
            }
        }
        for (int32_t f = 0; f < 400; f++) {
            net_frame(net);
            for (int32_t at = 0; at < NODES; at++) {
                take_all(&scene, at);
            }
        }
        for (int32_t at = 0; at < NODES; at++) {
            for (int32_t from = 0; from < NODES; from++) {
                const Seen *seen = &scene.seen[at][from];
                assert_true(at == from || seen->ordered == ordered[from]);
                assert_true(at == from || seen->newest > ROUNDS - 50);
                for (int32_t round = 0; round < ROUNDS; round++) {
                    sent += scene.sent_to[from][at][round] ? 1 : 0;
                    got += seen->count[round];
                }
            }
        }
        assert_int_equal(net_count(net, FL_SESSION_MALFORMED), 0);
        assert_int_equal(net_count(net, FL_SESSION_FOREIGN), 0);
        net_close(net);
    }
    print_message("             %s: %lld of %lld arrived\n", name, (long long)got, (long long)sent);
    assert_true(got > sent / 2 && got < sent); // up to 20 % are lost on each of up to two ways
}

// A host with a narrow upload sends more than there are bytes for.
static void the_important_go_first_and_none_waits_for_ever(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 5, FL_TOPOLOGY_STAR, false);
    net.def.upload_bytes_s = 6000.0;
    net_start_together(&net, 2);
    int32_t got[2] = {0, 0};
    uint8_t bytes[100] = {0};
    for (int32_t f = 0; f < 500; f++) {
        for (int32_t i = 0; i < 4; i++) { // 20000 bytes a second
            FlEvent event = {.type = (uint16_t)(i == 0),
                             .delivery = FL_DELIVERY_UNRELIABLE,
                             .priority = i == 0 ? 100 : 0,
                             .bytes = bytes,
                             .count = sizeof bytes};
            assert_int_equal(fl_event_send(net.node[0].session, (FlPeerId){0}, &event), FL_OK);
        }
        net_frame(&net);
        FlEvent event;
        while (fl_event_take(net.node[1].session, &event) == FL_OK) {
            got[event.type]++;
        }
    }
    print_message("             %d of 500 important ones, %d of 1500 others\n", got[1], got[0]);
    assert_true(got[1] > 5 * got[0] / 3 && got[1] > 200); // each of them five times as likely
    assert_true(fl_session_count(net.node[0].session, FL_SESSION_EVENTS_DROPPED) > 1000);
    net_close(&net);
}

static void a_message_goes_to_those_near_a_place(void **state)
{
    static Net net;
    net_open(&net, 6, net_topology(state), false);
    net_start_together(&net, NODES);
    for (int32_t i = 0; i < NODES; i++) {
        FlEntityId id;
        (void)net_make(&net, i, NULL, &id);
        FlState at = {.time = net_local(&net, i),
                      .position = fl_vec3(100.0 * i, 0.0, 0.0),
                      .facing = fl_facing_none()};
        assert_int_equal(fl_entity_set(net.node[i].session, id, &at), FL_OK);
    }
    net_frames(&net, 60);
    static const FlDelivery HOW[] = {FL_DELIVERY_ORDERED, FL_DELIVERY_QUICKEST,
                                     FL_DELIVERY_UNRELIABLE};
    for (int32_t n = 0; n < 3; n++) {
        uint8_t bytes[3];
        FlEvent event = event_of(TYPE, HOW[n], 0, n, bytes);
        FlVec3 place = fl_vec3(250.0, 0.0, 0.0);
        FlSession *session = net.node[1].session;
        assert_int_equal(fl_event_send_near(session, place, 60.0, &event), FL_OK);
        assert_int_equal(fl_event_send_near(session, fl_vec3(0.0, 900.0, 0.0), 60.0, &event),
                         FL_OK); // no peer is there
        assert_int_equal(fl_event_send_near(session, place, -1.0, &event), FL_BAD_VALUE);
        net_frames(&net, 20);
        for (int32_t at = 0; at < NODES; at++) {
            bool near = at == 2 || at == 3;
            FlEvent got;
            assert_int_equal(fl_event_take(net.node[at].session, &got) == FL_OK, near);
            assert_int_equal(fl_event_take(net.node[at].session, &got), FL_NOT_FOUND);
        }
    }
    net_close(&net);
}

static void misuse_of_unreliable_events_is_answered(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 7, FL_TOPOLOGY_STAR, false);
    net_start_together(&net, 2);
    uint8_t bytes[FL_EVENT_SHORT_BYTES + 1] = {0};
    FlEvent event = {.delivery = FL_DELIVERY_NEWEST, .bytes = bytes, .count = sizeof bytes};
    FlSession *session = net.node[0].session;
    FlPeerId all = {0};
    assert_int_equal(fl_event_send(session, all, &event), FL_BAD_VALUE);
    event.count--;
    assert_int_equal(fl_event_send(session, all, &event), FL_OK);
    event.channel = FL_EVENT_CHANNELS;
    assert_int_equal(fl_event_send(session, all, &event), FL_BAD_VALUE);
    event.channel = 0;
    event.delivery = (FlDelivery)(FL_DELIVERY_NEWEST + 1);
    assert_int_equal(fl_event_send(session, all, &event), FL_BAD_VALUE);
    net_frames(&net, 20);
    assert_int_equal(fl_event_take(net.node[1].session, &event), FL_OK);
    assert_int_equal(event.count, FL_EVENT_SHORT_BYTES);
    net_close(&net);
}

// ---------------------------------------------------------------- typed arguments

static void a_call_carries_typed_arguments_of_a_version(void **state)
{
    (void)state;
    enum { HEAL = 40 };
    static const FlFieldDef ARGUMENTS[] = {
        {.name = "amount", .type = FL_FIELD_INT, .low = 1, .high = 50},
        {.name = "where", .type = FL_FIELD_REAL, .high = 10.0, .step = 0.5},
        {.name = "note", .type = FL_FIELD_BYTES, .size = 8},
    };
    FlKindDef def = {.name = "heal", .version = 1, .fields = ARGUMENTS, .field_count = 3};
    static Net net;
    net_open(&net, 8, FL_TOPOLOGY_STAR, false);
    net_start_together(&net, 3);
    FlError error;
    assert_int_equal(fl_kind_define(net.node[0].session, HEAL, &def, &error), FL_OK);
    assert_int_equal(fl_kind_define(net.node[1].session, HEAL, &def, &error), FL_OK);
    def.version = 2;
    assert_int_equal(fl_kind_define(net.node[2].session, HEAL, &def, &error), FL_OK);
    FlEntityId id;
    uint32_t number = net_make(&net, 0, NULL, &id);
    net_frames(&net, 20);
    FlValue values[FL_FIELDS] = {
        {.integer = 30}, {.real = 2.5}, {.bytes = (const uint8_t *)"potion", .count = 6}};
    for (int32_t caller = 1; caller < 3; caller++) {
        FlSession *session = net.node[caller].session;
        uint8_t bytes[FL_CALL_BYTES];
        FlCallDef call = {.kind = 300, .bytes = bytes};
        uint32_t serial;
        assert_int_equal(fl_record_write(session, HEAL, values, bytes, sizeof bytes, &call.count),
                         FL_OK);
        FlEntityId there = net_entity(&net, caller, number);
        FlResult sent = fl_call_send(session, net_local(&net, caller), there, &call, &serial);
        assert_int_equal(sent, FL_OK);
        net_frames(&net, 20);
        FlCall got;
        assert_int_equal(fl_call_take(net.node[0].session, &got), FL_OK);
        FlValue read[FL_FIELDS];
        uint8_t kind;
        FlResult result = fl_record_read(net.node[0].session, got.bytes, got.count, &kind, read);
        assert_int_equal(kind, HEAL);
        assert_int_equal(result, caller == 1 ? FL_OK : FL_NOT_FOUND); // of another version
        if (caller == 1) {
            assert_int_equal(read[0].integer, 30);
            assert_true(read[1].real == 2.5);
            assert_int_equal(read[2].count, 6);
            assert_memory_equal(read[2].bytes, "potion", 6);
        }
        for (int32_t cut = 0; cut < got.count && caller == 1; cut++) {
            assert_int_not_equal(fl_record_read(net.node[0].session, got.bytes, cut, &kind, read),
                                 FL_OK);
        }
        assert_int_equal(
            fl_call_answer(net.node[0].session, net_local(&net, 0), &got, true, NULL, 0), FL_OK);
    }
    int32_t count;
    uint8_t bytes[4];
    FlSession *session = net.node[0].session;
    assert_int_equal(fl_record_write(session, 1, values, bytes, 4, &count), FL_NOT_FOUND);
    assert_int_equal(fl_record_write(session, HEAL, values, bytes, 4, &count), FL_BAD_VALUE);
    values[0].integer = 51;
    uint8_t more[64];
    assert_int_equal(fl_record_write(session, HEAL, values, more, 64, &count), FL_BAD_VALUE);
    net_close(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TOPOLOGIES(each_arrives_at_most_once_and_only_where_it_is_for),
        cmocka_unit_test(the_important_go_first_and_none_waits_for_ever),
        NET_TOPOLOGIES(a_message_goes_to_those_near_a_place),
        cmocka_unit_test(misuse_of_unreliable_events_is_answered),
        cmocka_unit_test(a_call_carries_typed_arguments_of_a_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
