// A crowd that arrives at once: 64 players ask in the same millisecond, and all play soon after,
// through the host, directly or both, sealed or not; also where the host's upload is a home's.
#define NET_NODES 65
#define NET_FLIGHT 16384
#include "session_net.h"

enum {
    PLAYERS = 64,
    DIRECT = 16,          // lines of a client, as `fairlead bots` has
    FRAME_HZ = 20,        // of a game
    HOME_BYTES_S = 32000, // an upload that cannot carry what all there want
};

typedef struct Rush {
    Net net;
    NetWalk walk[NET_NODES];
    FlTime running_at[NET_NODES], playing_at[NET_NODES]; // 0: not yet
} Rush;

// ---------------------------------------------------------------- running

static void rush_play(Net *net, int32_t i)
{
    Rush *rush = (Rush *)net; // its first member
    FlSession *session = net->node[i].session;
    net_drop_notices(session);
    rush->running_at[i] = net->node[i].running_at < 0 ? 0 : net->node[i].running_at;
    FlEntityDef def = fl_entity_def_default();
    NetWalk *walk = &rush->walk[i];
    if (rush->playing_at[i] == 0 && net_in(net, i) && net_walk_begin(net, walk, i, &def) == FL_OK) {
        rush->playing_at[i] = net->now;
    }
    if (rush->playing_at[i] != 0) {
        walk->turn_rate = 1.0;
        (void)(net_walk_step(net, walk) == FL_OK);
    }
    net->node[i].due = net->now;
}

static Rush *rush_open(FlTopology topology, bool sealed, double upload_bytes_s)
{
    Rush *rush = calloc(1, sizeof *rush);
    assert_non_null(rush);
    Net *net = &rush->net;
    net_open(net, 22, topology, sealed);
    net->frame_hz = FRAME_HZ;
    net->drive = rush_play;
    net->def.peer_capacity = PLAYERS;
    net->def.tuning.direct_capacity = DIRECT;
    net->def.world.entity_capacity = 4 * NET_NODES;
    net->def.entity_capacity = 4 * NET_NODES;
    net->def.tuning.item_capacity = 256;
    net->def.tuning.path_capacity = 16;
    net->def.tuning.gather_ns = FL_MS(5);
    net->def.join_timeout_ns = fl_session_def_default().join_timeout_ns;
    net->def.upload_bytes_s = upload_bytes_s;
    net_start(net, 0);
    net->def.upload_bytes_s = 0.0;
    for (int32_t i = 1; i <= PLAYERS; i++) {
        net_start(net, i);
    }
    return rush;
}

static void rush_close(Rush *rush)
{
    net_close(&rush->net);
    free(rush);
}

// ---------------------------------------------------------------- asking

static FlTime latest(const FlTime at[NET_NODES], int32_t *missing)
{
    FlTime last = 0;
    *missing = 0;
    for (int32_t i = 1; i <= PLAYERS; i++) {
        *missing += at[i] == 0 ? 1 : 0;
        last = at[i] > last ? at[i] : last;
    }
    return last;
}

// The fewest of the others' things that a player has been told the place of.
static int32_t fewest_seen(Rush *rush)
{
    int32_t fewest = INT32_MAX;
    for (int32_t i = 1; i <= PLAYERS; i++) {
        int32_t seen = 0;
        for (int32_t of = 1; of <= PLAYERS; of++) {
            FlPose pose;
            FlEntityId id = net_entity(&rush->net, i, rush->walk[of].number);
            seen += rush->playing_at[of] != 0 && of != i && id.index1 != 0 &&
                            fl_entity_pose_at(rush->net.node[i].session, net_local(&rush->net, i),
                                              id, &pose)
                        ? 1
                        : 0;
        }
        fewest = seen < fewest ? seen : fewest;
    }
    return fewest;
}

static bool is_done(Rush *rush, FlTopology topology, bool all_seen)
{
    int32_t idle;
    (void)latest(rush->playing_at, &idle);
    bool meets_all = topology != FL_TOPOLOGY_MESH; // a mesh has no way but its lines
    return idle == 0 && (!all_seen || !meets_all || fewest_seen(rush) == PLAYERS - 1);
}

// All must be in and play by `until`; with `all_seen`, and know where all others are.
static void check_rush(FlTopology topology, bool sealed, double upload_bytes_s, FlTime until)
{
    bool all_seen = upload_bytes_s == 0.0;
    Rush *rush = rush_open(topology, sealed, upload_bytes_s);
    while (rush->net.now < until && !is_done(rush, topology, all_seen)) {
        net_run(&rush->net, rush->net.now + FL_MS(100));
    }
    int32_t outside;
    int32_t idle;
    FlTime running = latest(rush->running_at, &outside);
    FlTime playing = latest(rush->playing_at, &idle);
    print_message("             topology %d, %s: running by %.2f s (%d not), playing by %.2f s (%d "
                  "not), %lld datagrams\n",
                  (int)topology, sealed ? "sealed" : "open", fl_span_seconds(running), outside,
                  fl_span_seconds(playing), idle, (long long)rush->net.datagrams);
    net_print(&rush->net, 0);
    for (int32_t i = 1; i <= PLAYERS; i++) {
        assert_string_equal(fl_session_end_text(rush->net.node[i].session), "");
    }
    assert_int_equal(outside, 0);
    assert_int_equal(idle, 0);
    assert_true(is_done(rush, topology, all_seen));
    uint64_t held = fl_session_count(rush->net.node[0].session, FL_SESSION_UPDATES_HELD_BACK);
    assert_true((held > 0) == (upload_bytes_s > 0.0)); // it says what it could not carry
    rush_close(rush);
}

static const FlTopology topologies[] = {FL_TOPOLOGY_STAR, FL_TOPOLOGY_MESH, FL_TOPOLOGY_HYBRID};

static void players_who_come_at_once_all_play(void **state)
{
    (void)state;
    for (int32_t i = 0; i < 6; i++) {
        check_rush(topologies[i / 2], i % 2 == 1, 0.0, FL_SEC(2));
    }
}

// Before, the first lines had all the bytes, and the others gave up after 5 s.
static void a_small_upload_lets_everybody_in_too(void **state)
{
    (void)state;
    for (int32_t i = 0; i < 3; i++) {
        check_rush(topologies[i], i != 0, HOME_BYTES_S, FL_SEC(10));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(players_who_come_at_once_all_play),
        cmocka_unit_test(a_small_upload_lets_everybody_in_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
