// Channels: reliable events arrive once and in the order of their source and channel, and wait for
// none of another channel; over a bad line, through a host, with those who come later, and after
// the host has changed. Where bytes are short the important channel goes first.
#include "session_net.h"

enum { NODES = 4, LATE = 3, CHANNELS = 8, FRAMES = 300, BYTES = 8 };

typedef struct Seen {
    int32_t next[FL_EVENT_CHANNELS]; // of each channel: the round that must come next; -1: any
    int32_t count;
} Seen;

typedef struct Scene {
    Net net;
    Seen seen[NODES][NODES]; // at, from
    int32_t sent[NODES][FL_EVENT_CHANNELS];
    double late_ms; // in all,
    int32_t taken;
    int32_t frame;
    bool one_channel;
    bool gaps; // a host is gone, and what it had not relayed
} Scene;

static int32_t node_of(const Net *net, int32_t number)
{
    for (int32_t i = 0; i < NODES; i++) {
        if (net->node[i].session != NULL && net_number(net, i) == number) {
            return i;
        }
    }
    return -1;
}

static void take_all(Scene *scene, int32_t at)
{
    Net *net = &scene->net;
    FlEvent event;
    while (net->node[at].session != NULL && fl_event_take(net->node[at].session, &event) == FL_OK) {
        assert_int_equal(event.count, BYTES);
        assert_int_equal(event.delivery, FL_DELIVERY_ORDERED);
        int32_t round = event.bytes[0] | event.bytes[1] << 8;
        int32_t frame = event.bytes[2] | event.bytes[3] << 8;
        int32_t from = node_of(net, event.number);
        assert_true(from != at);
        assert_int_equal(event.type, event.channel);
        if (from < 0) {
            continue; // it has left
        }
        Seen *seen = &scene->seen[at][from];
        int32_t *next = &seen->next[event.channel];
        assert_true(*next < 0 || round == *next || (scene->gaps && round > *next));
        *next = round + 1;
        seen->count++;
        scene->late_ms += NET_FRAME_MS * (double)(scene->frame - frame);
        scene->taken++;
    }
}

// One event on a channel that changes with every frame, to all.
static void send_frame(Scene *scene, int32_t from)
{
    Net *net = &scene->net;
    int32_t frame = scene->frame;
    uint8_t channel = scene->one_channel ? 1 : (uint8_t)((frame + from) % CHANNELS);
    int32_t round = scene->sent[from][channel];
    uint8_t bytes[BYTES] = {(uint8_t)round, (uint8_t)(round >> 8), (uint8_t)frame,
                            (uint8_t)(frame >> 8)};
    FlEvent event = {.type = channel,
                     .delivery = FL_DELIVERY_ORDERED,
                     .channel = channel,
                     .bytes = bytes,
                     .count = BYTES};
    FlResult result = fl_event_send(net->node[from].session, (FlPeerId){0}, &event);
    assert_true(result == FL_OK || result == FL_WOULD_BLOCK);
    scene->sent[from][channel] += result == FL_OK ? 1 : 0;
}

static void run(Scene *scene, int32_t frames, bool sends)
{
    Net *net = &scene->net;
    for (int32_t f = 0; f < frames; f++) {
        for (int32_t i = 0; i < NODES && sends; i++) {
            if (net->node[i].session != NULL &&
                fl_session_state(net->node[i].session) == FL_SESSION_RUNNING) {
                send_frame(scene, i);
            }
        }
        scene->frame++;
        net_frame(net);
        for (int32_t i = 0; i < NODES; i++) {
            take_all(scene, i);
        }
    }
}

static void all_arrived(const Scene *scene, int32_t at, int32_t from)
{
    for (int32_t c = 0; c < FL_EVENT_CHANNELS; c++) {
        assert_int_equal(scene->seen[at][from].next[c], scene->sent[from][c]);
    }
}

static void expects_anything(Scene *scene, int32_t at)
{
    for (int32_t from = 0; from < NODES; from++) {
        memset(scene->seen[at][from].next, 0xff, sizeof scene->seen[at][from].next);
    }
}

static void each_arrives_once_and_in_the_order_of_its_channel(void **state)
{
    static Scene scene;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        memset(&scene, 0, sizeof scene);
        Net *net = &scene.net;
        net_open(net, seed, net_topology(state), seed % 2 == 0);
        net->weather = net_storm(&net->random, 15);
        net_start_together(net, LATE);
        run(&scene, FRAMES, true);
        expects_anything(&scene, LATE); // it hears what is sent from now on, in order
        net_start(net, LATE);
        run(&scene, FRAMES, true);
        run(&scene, 400, false);
        for (int32_t at = 0; at < LATE; at++) {
            for (int32_t from = 0; from < NODES; from++) {
                if (at != from) {
                    all_arrived(&scene, at, from);
                }
            }
        }
        assert_true(scene.seen[LATE][1].count > FRAMES / 4);
        assert_int_equal(net_count(net, FL_SESSION_MALFORMED), 0);
        assert_int_equal(net_count(net, FL_SESSION_FOREIGN), 0);
        net_close(net);
    }
}

// With 5 % lost on every way, and so twice where a host relays.
static double mean_lateness(bool one_channel, int32_t loss_ppm)
{
    static Scene scene;
    memset(&scene, 0, sizeof scene);
    scene.one_channel = one_channel;
    Net *net = &scene.net;
    net_open(net, 7, FL_TOPOLOGY_STAR, false);
    net->weather = net_fair();
    net->weather.loss_ppm = loss_ppm;
    net_start_together(net, NODES);
    run(&scene, 2 * FRAMES, true);
    run(&scene, 200, false);
    all_arrived(&scene, 2, 1);
    all_arrived(&scene, 1, 0);
    net_close(net);
    return scene.late_ms / scene.taken;
}

static void no_channel_waits_for_what_another_lost(void **state)
{
    (void)state;
    double way = mean_lateness(false, 0);
    double apart = mean_lateness(false, 50000) - way;
    double together = mean_lateness(true, 50000) - way;
    print_message("             loss costs %.1f ms on eight channels, %.1f on one\n", apart,
                  together);
    assert_true(apart < 0.6 * together);
}

// The first on channel 1 is lost, again and again; all on channel 2 arrive meanwhile.
static void one_that_is_lost_holds_up_its_own_channel_only(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 3, FL_TOPOLOGY_STAR, false);
    net_start_together(&net, 2);
    uint8_t bytes[BYTES] = {0};
    FlEvent event = {.channel = 1, .bytes = bytes, .count = BYTES};
    FlSession *from = net.node[0].session;
    FlImpairSettings dead = net.weather;
    dead.loss_ppm = 1000000;
    net_way(&net, 0, 1, &dead);
    assert_int_equal(fl_event_send(from, (FlPeerId){0}, &event), FL_OK);
    net_frame(&net); // it goes, and is lost
    net_way(&net, 0, 1, &net.weather);
    bytes[0] = 1;
    assert_int_equal(fl_event_send(from, (FlPeerId){0}, &event), FL_OK);
    event.channel = 2;
    assert_int_equal(fl_event_send(from, (FlPeerId){0}, &event), FL_OK);
    net_frames(&net, 2); // 40 ms: what goes at once has arrived, what is repeated has not
    FlEvent got;
    assert_int_equal(fl_event_take(net.node[1].session, &got), FL_OK);
    assert_int_equal(got.channel, 2);
    assert_int_equal(fl_event_take(net.node[1].session, &got), FL_NOT_FOUND);
    net_frames(&net, 50);
    for (int32_t i = 0; i < 2; i++) {
        assert_int_equal(fl_event_take(net.node[1].session, &got), FL_OK);
        assert_int_equal(got.channel, 1);
        assert_int_equal(got.bytes[0], i);
    }
    net_close(&net);
}

static void order_holds_when_the_host_changes(void **state)
{
    static Scene scene;
    memset(&scene, 0, sizeof scene);
    Net *net = &scene.net;
    net_open(net, 11, net_topology(state), false);
    net->weather = net_fair();
    net->weather.loss_ppm = 30000;
    net_start_together(net, NODES);
    run(&scene, FRAMES / 2, true);
    scene.gaps = true;
    net_crash(net, 0);
    run(&scene, 1000, true);
    scene.gaps = false; // all know the new host
    int32_t before = scene.seen[2][1].count;
    run(&scene, FRAMES, true);
    run(&scene, 300, false);
    for (int32_t at = 1; at < NODES; at++) {
        for (int32_t from = 1; from < NODES; from++) {
            if (at != from) {
                all_arrived(&scene, at, from);
            }
        }
    }
    assert_true(scene.seen[2][1].count - before > FRAMES / 2);
    net_close(net);
}

// A host with a narrow upload: what is important passes what has waited longer.
static void the_important_channel_goes_first(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 5, FL_TOPOLOGY_STAR, false);
    net.def.upload_bytes_s = 6000.0;
    net_start_together(&net, 2);
    uint8_t bytes[150] = {0};
    FlEvent event = {.bytes = bytes, .count = sizeof bytes};
    int32_t queued = 0;
    for (int32_t i = 0; i < 30; i++) {
        event.channel = (uint8_t)(1 + i % 2);
        event.priority = i % 2 == 0 ? 0 : 100;
        bytes[0] = (uint8_t)i;
        queued += fl_event_send(net.node[0].session, (FlPeerId){0}, &event) == FL_OK ? 1 : 0;
    }
    assert_int_equal(queued, 30);
    int32_t got[2] = {0, 0};
    int32_t passed = 0; // less important ones that came before an important one
    for (int32_t f = 0; f < 150; f++) {
        net_frame(&net);
        while (fl_event_take(net.node[1].session, &event) == FL_OK) {
            int32_t channel = event.channel - 1;
            assert_int_equal(event.bytes[0], 2 * got[channel] + channel); // in order
            passed += channel == 1 ? got[0] : 0;
            got[channel]++;
        }
    }
    assert_int_equal(got[0], 15);
    assert_int_equal(got[1], 15);
    print_message("             %d times before a more important one, of 225\n", passed);
    assert_true(passed < 60); // 105 if they took turns
    net_close(&net);
}

static void misuse_of_channels_is_answered(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 7, FL_TOPOLOGY_STAR, false);
    net_start_together(&net, 2);
    uint8_t bytes[FL_EVENT_SHORT_BYTES + 1] = {0};
    FlEvent event = {.channel = 15, .bytes = bytes, .count = sizeof bytes};
    FlSession *session = net.node[0].session;
    assert_int_equal(fl_event_send(session, (FlPeerId){0}, &event), FL_BAD_VALUE);
    event.count--;
    assert_int_equal(fl_event_send(session, (FlPeerId){0}, &event), FL_OK);
    event.channel = FL_EVENT_CHANNELS;
    assert_int_equal(fl_event_send(session, (FlPeerId){0}, &event), FL_BAD_VALUE);
    net_frames(&net, 20);
    assert_int_equal(fl_event_take(net.node[1].session, &event), FL_OK);
    assert_int_equal(event.count, FL_EVENT_SHORT_BYTES);
    assert_int_equal(event.channel, 15);
    net_close(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TOPOLOGIES(each_arrives_once_and_in_the_order_of_its_channel),
        cmocka_unit_test(no_channel_waits_for_what_another_lost),
        cmocka_unit_test(one_that_is_lost_holds_up_its_own_channel_only),
        NET_TOPOLOGY(order_holds_when_the_host_changes, "mesh"),
        NET_TOPOLOGY(order_holds_when_the_host_changes, "hybrid"),
        cmocka_unit_test(the_important_channel_goes_first),
        cmocka_unit_test(misuse_of_channels_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
