// Events: whatever was sent arrives at whom it was for, once; what is ordered arrives in order.
// Over networks with loss up to 30 %, reordering and duplicates, in every topology, plain and
// sealed. Who does not take its events is sent away, and holds up nobody.
//
// An event says who sent it and the how manieth it is; the rest of it follows from that. Each
// sender keeps a list of whom each was for.
#include "session_net.h"

enum { NODES = 5, EVENTS = 4096, LONGEST = 300 };

typedef struct Sent {
    uint32_t to; // bits by node
    FlDelivery delivery;
    int32_t count;
} Sent;

typedef struct Scene {
    Net net;
    Sent sent[NET_NODES][EVENTS];
    int32_t sent_count[NET_NODES];
    uint8_t got[NET_NODES][NET_NODES][EVENTS]; // [at][from]
    int32_t last[NET_NODES][NET_NODES];        // [at][from]: the last ordered one, plus one
    bool deaf[NET_NODES];                      // takes nothing
    int64_t taken, blocked;
} Scene;

static uint8_t filler(int32_t node, int32_t n, int32_t i)
{
    return (uint8_t)(node * 31 + n * 7 + i);
}

static int32_t write_event(int32_t node, int32_t n, int32_t count, uint8_t bytes[LONGEST])
{
    bytes[0] = (uint8_t)node;
    bytes[1] = (uint8_t)n;
    bytes[2] = (uint8_t)(n >> 8);
    for (int32_t i = 3; i < count; i++) {
        bytes[i] = filler(node, n, i);
    }
    return count;
}

// From the last type down: all sixteen bits are the game's.
static uint16_t type_of(int32_t n)
{
    return (uint16_t)(UINT16_MAX - n * 3);
}

// ---------------------------------------------------------------- sending

static FlResult send_to(Scene *scene, int32_t node, uint32_t to, bool all, const FlEvent *event)
{
    const Net *net = &scene->net;
    FlSession *session = net->node[node].session;
    FlPeerId peers[NET_NODES];
    int32_t count = 0;
    FlPeerId everybody = {0};
    for (int32_t i = 0; i < net->count; i++) {
        if ((to >> i & 1u) != 0) {
            peers[count++] = net_peer(net, node, i);
        }
    }
    if (all) {
        return fl_event_send(session, everybody, event);
    }
    return count == 1 ? fl_event_send(session, peers[0], event)
                      : fl_event_send_some(session, peers, count, event);
}

static void say_something(Scene *scene, int32_t node)
{
    FlRandom *random = &scene->net.random;
    uint32_t others = ((1u << scene->net.count) - 1u) & ~(1u << node);
    bool all = fl_random_below(random, 3) == 0;
    uint32_t some = (uint32_t)fl_random_below(random, 32) & others;
    uint32_t to = all || some == 0 ? others : some;
    all = to == others && all;
    FlDelivery delivery = (FlDelivery)fl_random_below(random, 3);
    uint64_t longest = delivery == FL_DELIVERY_ORDERED ? LONGEST : FL_EVENT_SHORT_BYTES;
    int32_t count = 3 + (int32_t)fl_random_below(random, longest - 3);
    int32_t n = scene->sent_count[node];
    assert_true(n < EVENTS);
    uint8_t bytes[LONGEST];
    FlEvent event = {.type = type_of(n),
                     .delivery = delivery,
                     .bytes = bytes,
                     .count = write_event(node, n, count, bytes)};
    FlResult result = send_to(scene, node, to, all, &event);
    if (result == FL_WOULD_BLOCK) { // nobody got it
        scene->blocked++;
        return;
    }
    assert_int_equal(result, FL_OK);
    Sent sent = {to, delivery, count};
    scene->sent[node][n] = sent;
    scene->sent_count[node]++;
}

// ---------------------------------------------------------------- taking

static void check(Scene *scene, int32_t at, const FlEvent *event)
{
    const Net *net = &scene->net;
    assert_true(event->count >= 3);
    int32_t from = event->bytes[0];
    int32_t n = event->bytes[1] | event->bytes[2] << 8;
    assert_true(from < net->count && n < scene->sent_count[from]);
    const Sent *sent = &scene->sent[from][n];
    assert_int_equal(event->from.index1, net_number(net, from) + 1);
    assert_int_equal(event->type, type_of(n));
    assert_int_equal(event->delivery, sent->delivery);
    assert_int_equal(event->count, sent->count);
    for (int32_t i = 3; i < event->count; i++) {
        assert_int_equal(event->bytes[i], filler(from, n, i));
    }
    assert_true((sent->to >> at & 1u) != 0);
    assert_int_equal(scene->got[at][from][n], 0);
    scene->got[at][from][n] = 1;
    if (sent->delivery == FL_DELIVERY_ORDERED) {
        assert_true(n >= scene->last[at][from]);
        scene->last[at][from] = n + 1;
    }
    scene->taken++;
}

static void take_all(Scene *scene)
{
    for (int32_t at = 0; at < scene->net.count; at++) {
        FlEvent event;
        FlSession *session = scene->net.node[at].session;
        while (session != NULL && !scene->deaf[at] && fl_event_take(session, &event) == FL_OK) {
            check(scene, at, &event);
        }
    }
}

// Events that are still to come, at those who take them and are there.
static int32_t missing(const Scene *scene)
{
    int32_t count = 0;
    for (int32_t from = 0; from < scene->net.count; from++) {
        for (int32_t n = 0; n < scene->sent_count[from]; n++) {
            for (int32_t at = 0; at < scene->net.count; at++) {
                bool wanted = (scene->sent[from][n].to >> at & 1u) != 0 && !scene->deaf[at];
                count += wanted && scene->got[at][from][n] == 0 ? 1 : 0;
            }
        }
    }
    return count;
}

static void open_scene(Scene *scene, uint64_t seed, FlTopology topology)
{
    memset(scene, 0, sizeof *scene);
    net_open(&scene->net, seed, topology, seed % 2 == 0);
    scene->net.weather = net_storm(&scene->net.random, 30);
    net_start_together(&scene->net, NODES);
}

static void frame(Scene *scene, int32_t chance)
{
    for (int32_t node = 0; node < NODES; node++) {
        uint64_t luck = fl_random_below(&scene->net.random, 100);
        bool there = net_in(&scene->net, node) && !scene->deaf[node];
        if (there && luck < (uint64_t)chance) {
            say_something(scene, node);
        }
    }
    net_frame(&scene->net);
    take_all(scene);
}

static void events_arrive_once_and_in_order(void **state)
{
    FlTopology topology = net_topology(state);
    const char *name = (const char *)*state;
    static Scene scene;
    int64_t taken = 0;
    int64_t blocked = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        open_scene(&scene, seed, topology);
        for (int32_t f = 0; f < 400; f++) {
            frame(&scene, seed % 4 == 0 ? 60 : 15); // sometimes more than the lines carry
        }
        for (int32_t f = 0; f < 3000 && missing(&scene) > 0; f++) {
            frame(&scene, 0);
        }
        assert_int_equal(missing(&scene), 0);
        for (int32_t f = 0; f < 100; f++) { // nothing comes again
            frame(&scene, 0);
        }
        assert_int_equal(net_count(&scene.net, FL_SESSION_MALFORMED), 0);
        assert_int_equal(net_count(&scene.net, FL_SESSION_STALLED), 0);
        taken += scene.taken;
        blocked += scene.blocked;
        net_close(&scene.net);
    }
    print_message("             %s: %lld events taken; %lld times somebody had to wait\n", name,
                  (long long)taken, (long long)blocked);
    assert_true(taken > 5000);
}

static void who_does_not_take_its_events_does_not_hold_up_the_others(void **state)
{
    (void)state;
    static Scene scene;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        open_scene(&scene, seed, FL_TOPOLOGY_STAR);
        scene.deaf[3] = true;
        int32_t f = 0;
        for (; f < 3000 && fl_peer_count(scene.net.node[0].session) == NODES - 1; f++) {
            frame(&scene, scene.sent_count[0] < EVENTS / 2 ? 50 : 0);
        }
        assert_true(f < 3000);
        assert_int_equal(fl_session_count(scene.net.node[0].session, FL_SESSION_STALLED), 1);
        assert_int_equal(scene.blocked, 0); // each receiver has a queue of its own
        net_crash(&scene.net, 3);
        for (f = 0; f < 3000 && missing(&scene) > 0; f++) {
            frame(&scene, 0);
        }
        assert_int_equal(missing(&scene), 0);
        net_close(&scene.net);
    }
}

// What somebody said last is taken when it has left, and perhaps another one has its number.
static void who_sent_an_event_and_left_is_still_known_by_its_number(void **state)
{
    (void)state;
    static Net net;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        net_open(&net, seed, (FlTopology)(seed % 3), seed % 2 == 0);
        net_start_together(&net, 3);
        int32_t number = net_number(&net, 2);
        FlPeerId all = {0};
        FlEvent last = {.type = 7, .delivery = FL_DELIVERY_ORDERED};
        assert_int_equal(fl_event_send(net.node[2].session, all, &last), FL_OK);
        net_frames(&net, 10);
        net_leave(&net, 2);
        net_frames(&net, 10);
        bool replaced = seed > 6;
        if (replaced) {
            net_start(&net, 2);
            net_gather(&net);
            assert_int_equal(net_number(&net, 2), number);
        }
        for (int32_t at = 0; at < 2; at++) {
            FlEvent event;
            assert_int_equal(fl_event_take(net.node[at].session, &event), FL_OK);
            assert_int_equal(event.type, 7);
            assert_int_equal(event.from.index1, 0); // it has left, whoever has its number now
            assert_int_equal(event.number, number);
        }
        if (replaced) {
            assert_int_equal(fl_event_send(net.node[2].session, all, &last), FL_OK);
            net_frames(&net, 10);
            FlEvent event;
            assert_int_equal(fl_event_take(net.node[0].session, &event), FL_OK);
            assert_int_equal(event.from.index1, number + 1);
            assert_int_equal(event.number, number);
        }
        net_close(&net);
    }
}

// ---------------------------------------------------------------- slow readers

enum { SLOW = 3, SLOW_EVENTS = 1200, SAY_EVERY = 5 /* frames */ };

/// Two send to all the others, ten times a second.
typedef struct Talk {
    Net net;
    FlDelivery delivery;
    int32_t length;
    int32_t slow_every; // frames: then the slow one takes an event
    FlTime sent_at[2][SLOW_EVENTS];
    int32_t sent[2];
    int32_t got[NODES][2]; // also: the next one expected
    FlTime latest[NODES];  // of what came since it was last asked
    FlLeft left;           // how the slow one did
    bool gone;
} Talk;

static void talk_send(Talk *talk, int32_t who)
{
    static const uint8_t zeros[FL_EVENT_BYTES];
    Net *net = &talk->net;
    uint8_t bytes[FL_EVENT_BYTES];
    memcpy(bytes, zeros, sizeof bytes);
    bytes[0] = (uint8_t)talk->sent[who];
    bytes[1] = (uint8_t)(talk->sent[who] >> 8);
    FlEvent event = {
        .type = (uint16_t)who, .delivery = talk->delivery, .bytes = bytes, .count = talk->length};
    FlPeerId all = {0};
    FlResult result = fl_event_send(net->node[1 + who].session, all, &event);
    if (result == FL_WOULD_BLOCK) {
        return; // what was due then goes with the next
    }
    assert_int_equal(result, FL_OK);
    talk->sent[who]++;
}

static bool talk_take(Talk *talk, int32_t at)
{
    FlEvent event;
    Net *net = &talk->net;
    if (fl_event_take(net->node[at].session, &event) != FL_OK) {
        return false;
    }
    int32_t n = event.bytes[0] | event.bytes[1] << 8;
    int32_t *next = &talk->got[at][event.type];
    assert_true(talk->delivery != FL_DELIVERY_ORDERED || n == *next);
    (*next)++;
    FlTime late = net->now - talk->sent_at[event.type][n];
    talk->latest[at] = late > talk->latest[at] ? late : talk->latest[at];
    return at != SLOW; // which takes one at a time
}

static void talk_frame(Talk *talk, int32_t f)
{
    Net *net = &talk->net;
    int32_t due = f / SAY_EVERY < SLOW_EVENTS ? f / SAY_EVERY : SLOW_EVENTS;
    for (int32_t who = 0; who < 2; who++) {
        if (f % SAY_EVERY == 0 && due > 0) {
            talk->sent_at[who][due - 1] = net->now; // when it was meant to go
        }
        int32_t before = -1;
        while (talk->sent[who] < due && talk->sent[who] != before) {
            before = talk->sent[who];
            talk_send(talk, who);
        }
    }
    net_frame(net);
    for (int32_t at = 0; at < NODES; at++) {
        while ((at != SLOW || f % talk->slow_every == 0) && talk_take(talk, at)) {
        }
    }
    FlNotice notice;
    while (fl_notice_take(net->node[4].session, &notice) == FL_OK) {
        talk->gone = talk->gone || notice.kind == FL_NOTICE_PEER_LEFT;
        talk->left = notice.kind == FL_NOTICE_PEER_LEFT ? notice.left : talk->left;
    }
}

static void others_get_theirs_beside_a_slow_reader(FlDelivery delivery, int32_t length,
                                                   int32_t slow_every)
{
    static Talk talk;
    memset(&talk, 0, sizeof talk);
    talk.delivery = delivery;
    talk.length = length;
    talk.slow_every = slow_every;
    Net *net = &talk.net;
    net_open(net, 9, FL_TOPOLOGY_STAR, false);
    net_start_together(net, NODES);
    int32_t gone_at = 0;
    for (int32_t f = 0; f < SAY_EVERY * SLOW_EVENTS + 100; f++) {
        talk_frame(&talk, f);
        if (talk.gone && gone_at == 0) {
            gone_at = f;
            print_message("             sent away after %.1f s, others were up to %.2f s late\n",
                          f * NET_FRAME_MS / 1000.0, fl_span_seconds(talk.latest[4]));
        }
        if (gone_at > 0 && f == gone_at + 500) { // what waited has come
            assert_true(talk.latest[4] < FL_MS(300));
            memset(talk.latest, 0, sizeof talk.latest);
        }
    }
    print_message("             %d of %d events came to another\n", talk.got[4][0], SLOW_EVENTS);
    assert_true(talk.gone);
    assert_int_equal(talk.left, FL_LEFT_STALLED);
    assert_int_equal(fl_session_count(net->node[0].session, FL_SESSION_STALLED), 1);
    assert_non_null(strstr(fl_session_end_text(net->node[SLOW].session), "fl_event_take"));
    for (int32_t at = 0; at < NODES; at++) {
        for (int32_t who = 0; who < 2 && at != SLOW; who++) {
            assert_int_equal(talk.got[at][who], at == 1 + who ? 0 : SLOW_EVENTS);
        }
        assert_true(at == SLOW || talk.latest[at] < FL_MS(300));
    }
    net_close(net);
}

static void a_slow_reader_of_ordered_events_is_sent_away_and_others_get_theirs(void **state)
{
    (void)state;
    others_get_theirs_beside_a_slow_reader(FL_DELIVERY_ORDERED, 800, 50);
}

static void a_slow_reader_of_unordered_events_is_sent_away_and_others_get_theirs(void **state)
{
    (void)state;
    others_get_theirs_beside_a_slow_reader(FL_DELIVERY_UNORDERED, 150, 15);
}

// As much as goes in, to one that takes it as fast as a poor line carries it: slow is not stalled.
static void a_full_queue_that_drains_is_nobodys_fault(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 3, FL_TOPOLOGY_STAR, false);
    net.weather.rate_bytes_s = 8000;
    net_start_together(&net, 3);
    static uint8_t bytes[FL_EVENT_BYTES];
    FlEvent event = {.delivery = FL_DELIVERY_ORDERED, .bytes = bytes, .count = 1000};
    FlPeerId all = {0};
    int32_t sent = 0;
    int32_t got = 0;
    for (int32_t f = 0; f < 3000; f++) {
        while (fl_event_send(net.node[0].session, all, &event) == FL_OK) {
            sent++;
        }
        net_frame(&net);
        for (int32_t i = 1; i < 3; i++) {
            FlEvent taken;
            while (fl_event_take(net.node[i].session, &taken) == FL_OK) {
                got++;
            }
        }
    }
    assert_true(sent > 200 && got > 400);
    assert_int_equal(net_count(&net, FL_SESSION_STALLED), 0);
    assert_int_equal(fl_peer_count(net.node[0].session), 2);
    net_close(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TOPOLOGIES(events_arrive_once_and_in_order),
        cmocka_unit_test(who_sent_an_event_and_left_is_still_known_by_its_number),
        cmocka_unit_test(who_does_not_take_its_events_does_not_hold_up_the_others),
        cmocka_unit_test(a_slow_reader_of_ordered_events_is_sent_away_and_others_get_theirs),
        cmocka_unit_test(a_slow_reader_of_unordered_events_is_sent_away_and_others_get_theirs),
        cmocka_unit_test(a_full_queue_that_drains_is_nobodys_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
