// Attention and the focus policies in whole sessions: what players look at reaches whoever serves
// them, over bad networks and by whatever way; who looks is served; and no second's bytes are ever
// more than the upload, whatever else is sent.
#include "session_inside.h"
#include "session_net.h"

// ---------------------------------------------------------------- helpers

static void open_net(Net *net, uint64_t seed, FlTopology topology, bool sealed, int32_t nodes,
                     double upload_bytes_s)
{
    net_open(net, seed, topology, sealed);
    net->def.upload_bytes_s = upload_bytes_s;
    net_start_together(net, nodes);
}

static void walk_all(Net *net, NetWalk *walk, const FlEntityDef *def, int32_t nodes)
{
    for (int32_t i = 0; i < nodes; i++) {
        FlResult result = FL_WOULD_BLOCK;
        for (int32_t f = 0; f < 500 && result == FL_WOULD_BLOCK; f++) {
            result = net_walk_begin(net, &walk[i], i, def);
            net_frame(net);
        }
        assert_int_equal(result, FL_OK);
    }
}

// A frame of a game in which everybody turns all the time: there is something to tell at each.
static void play_frame(Net *net, NetWalk *walk, int32_t nodes)
{
    for (int32_t i = 0; i < nodes; i++) {
        net_walk_turn(net, &walk[i]);
        (void)net_walk_step(net, &walk[i]);
        net_drop_notices(net->node[i].session);
    }
    for (int32_t i = 0; i < nodes; i++) {
        net_pump(net, i);
    }
}

// What the server of a pair knows: the owner in a mesh, the host in a star.
static double known_attention(const Net *net, int32_t looker, const NetWalk *walk, bool star)
{
    int32_t at = star ? 0 : walk->owner;
    double attention;
    FlSendClass send_class;
    FlResult result = fl_entity_interest(net->node[at].session, net_entity(net, at, walk->number),
                                         net_peer(net, at, looker), &attention, &send_class);
    assert_int_equal(result, FL_OK);
    return attention;
}

// ---------------------------------------------------------------- attention travels

enum { FEW = 4 };

static void check_attention(uint64_t seed, FlTopology topology, bool sealed)
{
    static Net net;
    NetWalk walk[FEW];
    double said[FEW][FEW] = {{0.0}};
    open_net(&net, seed, topology, sealed, FEW, 0.0);
    FlEntityDef def = fl_entity_def_default();
    def.send = fl_send_make(FL_SEND_FOCUS);
    walk_all(&net, walk, &def, FEW);
    FlImpairSettings storm = net_storm(&net.random, 30);
    net_weather(&net, &storm);
    for (int32_t f = 0; f < 250; f++) {
        int32_t at = (int32_t)fl_random_below(&net.random, FEW);
        int32_t of = (int32_t)fl_random_below(&net.random, FEW);
        double value = fl_random_between(&net.random, 0.0, 1.0);
        value = fl_random_below(&net.random, 4) == 0 ? 0.0 : value;
        FlEntityId id = net_entity(&net, at, walk[of].number);
        FlResult want = at == of ? FL_BAD_VALUE : FL_OK;
        if (id.index1 != 0) {
            assert_int_equal(fl_entity_attention(net.node[at].session, id, value), want);
            said[at][of] = value;
        }
        play_frame(&net, walk, FEW);
        net_run(&net, net.now + FL_MS(NET_FRAME_MS));
    }
    for (int32_t f = 0; f < 200; f++) { // what was lost comes again
        play_frame(&net, walk, FEW);
        net_run(&net, net.now + FL_MS(NET_FRAME_MS));
    }
    bool star = topology == FL_TOPOLOGY_STAR;
    for (int32_t at = 0; at < FEW; at++) {
        for (int32_t of = 0; of < FEW; of++) {
            if (at == of || (star && at == 0)) {
                continue; // nobody serves the host of a star but the owners, by base
            }
            double off = fabs(known_attention(&net, at, &walk[of], star) - said[at][of]);
            assert_true(off <= 8.5 / 255.0);
        }
    }
    assert_true(net_count(&net, FL_SESSION_ATTENTION_TAKEN) > 100);
    assert_int_equal(net_count(&net, FL_SESSION_MALFORMED), 0);
    net_close(&net);
}

// Frames until the owner knows it, while nothing else goes; 100: it does not.
static int32_t frames_until_known(double value)
{
    static Net net;
    NetWalk walk[FEW];
    open_net(&net, 9, FL_TOPOLOGY_MESH, false, FEW, 0.0);
    FlEntityDef def = fl_entity_def_default();
    def.send = fl_send_make(FL_SEND_FOCUS_EQUAL);
    walk_all(&net, walk, &def, FEW);
    for (int32_t f = 0; f < 100; f++) {
        net_run(&net, net.now + FL_MS(NET_FRAME_MS));
    }
    FlEntityId id = net_entity(&net, 2, walk[1].number);
    assert_int_equal(fl_entity_attention(net.node[2].session, id, value), FL_OK);
    net_pump(&net, 2);
    int32_t f = 0;
    for (; f < 100 && !(known_attention(&net, 2, &walk[1], false) > 0.0); f++) {
        net_run(&net, net.now + FL_MS(NET_FRAME_MS));
    }
    net_close(&net);
    return f;
}

static void a_choice_waits_for_no_packet(void **state)
{
    (void)state;
    int32_t chosen = frames_until_known(0.5);
    int32_t looked_at = frames_until_known(0.45);
    print_message("             known after %d frames, %d if not chosen\n", (int)chosen,
                  (int)looked_at);
    assert_true(chosen <= 4 && looked_at > 2 * chosen);
}

static void whoever_serves_a_player_knows_what_it_looks_at(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        check_attention(seed, FL_TOPOLOGY_STAR, false);
        check_attention(seed, FL_TOPOLOGY_MESH, false);
        check_attention(seed, FL_TOPOLOGY_MESH, true);
    }
}

static void a_value_that_no_sender_writes_has_no_effect(void **state)
{
    (void)state;
    static Net net;
    open_net(&net, 1, FL_TOPOLOGY_STAR, false, 2, 0.0);
    NetWalk walk[2];
    FlEntityDef def = fl_entity_def_default();
    walk_all(&net, walk, &def, 2);
    FlSession *host = net.node[0].session;
    uint16_t own = (uint16_t)walk[0].number;
    const uint8_t good[4] = {1, (uint8_t)own, (uint8_t)(own >> 8), 200};
    const uint8_t none[1] = {0};
    const uint8_t many[64] = {17};
    const uint8_t no_entity[4] = {1, 0xff, 0xff, 200};
    const uint8_t theirs[4] = {1, (uint8_t)walk[1].number, (uint8_t)(walk[1].number >> 8), 200};
    const struct {
        const uint8_t *bytes;
        int32_t count;
        bool sound;
    } rows[] = {{good, 4, true},  {none, 1, false},      {many, 64, false},
                {good, 3, false}, {no_entity, 4, false}, {theirs, 4, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool sound = inside_reads(host, &fl__feature_attention, 0, SECTION_ATTENTION, rows[i].bytes,
                                  rows[i].count, net_time(&net, 0), true);
        assert_int_equal(sound, rows[i].sound);
    }
    assert_true(known_attention(&net, 1, &walk[0], true) == 200.0 / 255.0);
    assert_int_equal(fl_session_count(host, FL_SESSION_ATTENTION_TAKEN), 1);
    assert_int_equal(fl_session_count(host, FL_SESSION_ATTENTION_STRAY), 1);
    net_close(&net);
}

// ---------------------------------------------------------------- who looks is served

static void check_served(FlTopology topology, const FlSend *send, bool host_computes)
{
    static Net net;
    NetWalk walk[NET_NODES];
    open_net(&net, 3, topology, false, NET_NODES, topology == FL_TOPOLOGY_STAR ? 16000.0 : 7000.0);
    FlEntityDef def = fl_entity_def_default();
    def.send = *send;
    def.trigger.distance = 0.02;
    walk_all(&net, walk, &def, NET_NODES);
    // Node 1's entity is looked at by nodes 2 and 3.
    int32_t server = topology == FL_TOPOLOGY_STAR ? 0 : 1;
    for (int32_t f = 0; f < 50; f++) { // until all know it
        play_frame(&net, walk, NET_NODES);
        net_run(&net, net.now + FL_MS(NET_FRAME_MS));
    }
    FlEntityId own = net_entity(&net, server, walk[1].number);
    uint32_t before[NET_NODES] = {0};
    for (int32_t f = 0; f < 600; f++) {
        for (int32_t at = 2; at < NET_NODES; at++) {
            double value = at < 4 ? 0.8 : 0.0;
            FlEntityId id = net_entity(&net, at, walk[1].number);
            FlResult result = host_computes
                                  ? fl_peer_attention(net.node[server].session,
                                                      net_peer(&net, server, at), own, value)
                                  : fl_entity_attention(net.node[at].session, id, value);
            assert_int_equal(result, FL_OK);
        }
        if (f == 100) {
            for (int32_t at = 2; at < NET_NODES; at++) {
                FlLedgerView view;
                assert_int_equal(fl_entity_view(net.node[server].session, net_local(&net, server),
                                                own, net_peer(&net, server, at), &view),
                                 FL_OK);
                before[at] = view.sent;
            }
        }
        play_frame(&net, walk, NET_NODES);
        net_run(&net, net.now + FL_MS(NET_FRAME_MS));
    }
    for (int32_t at = 2; at < NET_NODES; at++) {
        FlLedgerView view;
        double attention;
        FlSendClass send_class;
        FlPeerId peer = net_peer(&net, server, at);
        assert_int_equal(
            fl_entity_view(net.node[server].session, net_local(&net, server), own, peer, &view),
            FL_OK);
        assert_int_equal(
            fl_entity_interest(net.node[server].session, own, peer, &attention, &send_class),
            FL_OK);
        uint32_t sent = view.sent - before[at]; // in ten seconds
        assert_int_equal(send_class, at < 4 ? FL_CLASS_FOCUS : FL_CLASS_BEST_EFFORT);
        if (at < 4) {
            assert_true(sent >= 150);
        } else {
            assert_true(sent >= 10 && sent <= 120);
        }
    }
    net_close(&net);
}

static void who_looks_is_served_at_every_frame_and_nobody_is_forgotten(void **state)
{
    (void)state;
    FlSend focus = fl_send_make(FL_SEND_FOCUS);
    FlSend equal = fl_send_make(FL_SEND_FOCUS_EQUAL);
    check_served(FL_TOPOLOGY_MESH, &focus, false);
    check_served(FL_TOPOLOGY_MESH, &equal, false);
    check_served(FL_TOPOLOGY_STAR, &focus, false);
    check_served(FL_TOPOLOGY_STAR, &equal, true);
}

// ---------------------------------------------------------------- the upload

enum { GRID = 999 }; // ms: a second by the clocks of nodes, which are off by up to 100 ppm

typedef struct Meter {
    int64_t at[GRID + 1]; // bytes sent by the node up to each of the last milliseconds
    int64_t steps;
    int64_t peak;
} Meter;

static void measure(Meter *meter, int64_t bytes)
{
    meter->at[meter->steps++ % (GRID + 1)] = bytes;
    if (meter->steps > GRID + 1) {
        int64_t sent = bytes - meter->at[meter->steps % (GRID + 1)];
        meter->peak = sent > meter->peak ? sent : meter->peak;
    }
}

static void chatter(Net *net, int32_t node)
{
    static const uint8_t bytes[700];
    FlPeerId all = {0};
    FlEvent event = {.type = 1, .bytes = bytes};
    event.count = (int32_t)fl_random_below(&net->random, sizeof bytes);
    (void)!fl_event_send(net->node[node].session, all, &event);
    while (fl_event_take(net->node[node].session, &event) == FL_OK) {
    }
}

static void check_upload(uint64_t seed, FlTopology topology, bool sealed)
{
    static Net net;
    static Meter meter[NET_NODES];
    memset(meter, 0, sizeof meter);
    FlRandom random = {.seed = seed, .stream = 9};
    int32_t nodes = 6;
    double upload = fl_random_between(&random, 3000.0, 9000.0);
    open_net(&net, seed, topology, sealed, nodes, upload);
    FlEntityDef def = fl_entity_def_default();
    def.send = seed % 2 == 0 ? fl_send_make(FL_SEND_FOCUS) : fl_send_make(FL_SEND_FOCUS_EQUAL);
    def.trigger.distance = 0.02;
    NetWalk walk[NET_NODES];
    walk_all(&net, walk, &def, nodes);
    FlImpairSettings storm = net_storm(&net.random, 10);
    net_weather(&net, &storm);
    bool talks = fl_random_below(&random, 2) == 0;
    for (int32_t f = 0; f < 400; f++) {
        int32_t at = (int32_t)fl_random_below(&net.random, (uint64_t)nodes);
        int32_t of = (int32_t)fl_random_below(&net.random, (uint64_t)nodes);
        double value = fl_random_between(&net.random, 0.0, 1.0);
        (void)!fl_entity_attention(net.node[at].session, net_entity(&net, at, walk[of].number),
                                   value);
        if (talks && f % 10 == 0) {
            chatter(&net, at);
        }
        play_frame(&net, walk, nodes);
        for (int32_t ms = 0; ms < NET_FRAME_MS; ms++) {
            net_run(&net, net.now + FL_MS(1));
            for (int32_t i = 0; i < nodes; i++) {
                measure(&meter[i], net.bytes[i]);
            }
        }
    }
    int64_t peak = 0;
    for (int32_t i = 0; i < nodes; i++) {
        peak = meter[i].peak > peak ? meter[i].peak : peak;
        assert_true(meter[i].peak <= (int64_t)upload);
    }
    print_message("             %s%s: %.0f of %.0f bytes in the fullest second%s\n",
                  sealed ? "sealed " : "", topology == FL_TOPOLOGY_STAR ? "star" : "mesh",
                  (double)peak, upload, talks ? ", with events" : "");
    assert_true((double)peak > 0.9 * upload - 320.0); // and it is used
    net_close(&net);
}

static void no_second_has_more_bytes_than_the_upload(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        check_upload(seed, FL_TOPOLOGY_MESH, false);
        check_upload(seed + 10, FL_TOPOLOGY_MESH, true);
        check_upload(seed + 20, FL_TOPOLOGY_STAR, seed % 2 == 0);
    }
    check_upload(155, FL_TOPOLOGY_MESH, true); // five pairs ask for moves in one full second
}

static void play_some(Net *net, NetWalk *walk, int32_t nodes, int32_t seconds)
{
    for (int32_t f = 0; f < seconds * 1000 / NET_FRAME_MS; f++) {
        play_frame(net, walk, nodes);
        net_run(net, net->now + FL_MS(NET_FRAME_MS));
    }
}

static uint64_t count_of(const Net *net, FlSessionCount which)
{
    return fl_session_count(net->node[1].session, which);
}

static void check_used(int32_t least)
{
    static Net net;
    enum { NODES = 6, SECONDS = 10 };
    const double upload = least > 0 ? 6000.0 : 3500.0;
    net_open(&net, 3, FL_TOPOLOGY_MESH, false);
    net.def.upload_bytes_s = upload;
    net.def.tuning.update_least_bytes = least;
    net_start_together(&net, NODES);
    FlEntityDef def = fl_entity_def_default();
    def.send = fl_send_make(FL_SEND_FOCUS);
    def.trigger.distance = 0.02;
    NetWalk walk[NET_NODES];
    walk_all(&net, walk, &def, NODES);
    play_some(&net, walk, NODES, 3);
    uint64_t before = count_of(&net, FL_SESSION_BYTES_COUNTED);
    uint64_t updates = count_of(&net, FL_SESSION_UPDATES_SENT);
    int64_t sent = net.bytes[1];
    play_some(&net, walk, NODES, SECONDS);
    uint64_t counted = count_of(&net, FL_SESSION_BYTES_COUNTED) - before;
    updates = count_of(&net, FL_SESSION_UPDATES_SENT) - updates;
    sent = net.bytes[1] - sent;
    double second = (double)counted / SECONDS;
    print_message("             %.0f of %.0f bytes a second, %.0f on the wire, %.1f updates\n",
                  second, upload, (double)sent / SECONDS, (double)updates / SECONDS);
    assert_true(least > 0 ? counted >= updates * (uint64_t)least : counted == (uint64_t)sent);
    // held back: for headers, for words, and what is too little for updates
    assert_true(second <= upload && second > 0.98 * upload - 320.0 - 2.0 * 126.0);
    net_close(&net);
}

static void an_upload_is_used_however_long_updates_are_taken_to_be(void **state)
{
    (void)state;
    check_used(0);
    check_used(126);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_choice_waits_for_no_packet),
        cmocka_unit_test(whoever_serves_a_player_knows_what_it_looks_at),
        cmocka_unit_test(a_value_that_no_sender_writes_has_no_effect),
        cmocka_unit_test(who_looks_is_served_at_every_frame_and_nobody_is_forgotten),
        cmocka_unit_test(no_second_has_more_bytes_than_the_upload),
        cmocka_unit_test(an_upload_is_used_however_long_updates_are_taken_to_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
