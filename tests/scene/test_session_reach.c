// REACH: who says that it hears somebody directly gets that one's things from the host no more. It
// costs the host what changes: a repetition nothing, a change the things of that one member, and
// changes that come fast are looked at together. Where nobody is introduced no sender writes it.
//
// A visit is seen by putting the ledger wrong on purpose: whoever looks at that pair puts it right.
#include "session_inside.h"
#include "session_net.h"

#include "send/send.h"

enum { OWNER = 1, SAYER = 2, OTHER = 3, NODES = 4 };

typedef struct Scene {
    Net net;
    uint32_t number[NODES]; // an entity of each
} Scene;

static void open_scene(Scene *scene, FlTopology topology)
{
    memset(scene, 0, sizeof *scene);
    Net *net = &scene->net;
    net_open(net, 21, topology, false);
    for (int32_t i = 0; i < NODES; i++) {
        net_start(net, i);
        net_gather(net);
    }
    for (int32_t i = 0; i < NODES; i++) {
        NetWalk walk = {0};
        FlEntityDef def = fl_entity_def_default();
        assert_int_equal(net_walk_begin(net, &walk, i, &def), FL_OK);
        scene->number[i] = walk.number;
        net_frame(net);
        assert_int_equal(net_walk_step(net, &walk), FL_OK);
    }
    net_frames(net, 200);
}

static void say(Scene *scene, int32_t whom, bool direct)
{
    FlSession *session = scene->net.node[SAYER].session;
    int32_t member = net_number(&scene->net, whom);
    ReachMessage reach = {(uint16_t)member, inside_incarnation(session, member), direct};
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__reach_message_write(&w, &reach);
    assert_int_equal(fl__host_send(session, &w), FL_OK);
}

// Of the pair of somebody's entity and the one who says it, at the host.
static bool watched(const Scene *scene, int32_t whose)
{
    FlSession *host = scene->net.node[0].session;
    int32_t line = inside_line_of(host, net_number(&scene->net, SAYER));
    return fl__ledger_watches(fl__ledger(host), fl__entity_slot_of(host, scene->number[whose]),
                              line);
}

static void put_wrong(Scene *scene, int32_t whose, bool watch)
{
    FlSession *host = scene->net.node[0].session;
    int32_t line = inside_line_of(host, net_number(&scene->net, SAYER));
    int32_t slot = fl__entity_slot_of(host, scene->number[whose]);
    fl_ledger_watch(fl__ledger(host), slot, line, watch, net_time(&scene->net, 0));
    assert_int_equal(watched(scene, whose), watch);
}

static void a_repetition_costs_nothing(void **state)
{
    (void)state;
    static Scene scene;
    open_scene(&scene, FL_TOPOLOGY_HYBRID);
    assert_false(watched(&scene, OWNER)); // it hears it directly, and has said so
    assert_false(watched(&scene, OTHER));
    put_wrong(&scene, OWNER, true);
    put_wrong(&scene, OTHER, true);
    for (int32_t f = 0; f < 20; f++) {
        for (int32_t i = 0; i < 10; i++) {
            say(&scene, OWNER, true);
        }
        net_frame(&scene.net);
    }
    assert_true(watched(&scene, OWNER) && watched(&scene, OTHER)); // nobody looked
    net_close(&scene.net);
}

static void a_change_costs_what_that_member_owns_and_fast_ones_count_once(void **state)
{
    (void)state;
    static Scene scene;
    open_scene(&scene, FL_TOPOLOGY_HYBRID);
    Net *net = &scene.net;
    put_wrong(&scene, OTHER, true);
    int32_t visits = 0;
    bool before = watched(&scene, OWNER);
    FlTime until = net->now + FL_SEC(1);
    for (int32_t i = 0; net->now < until; i++) {
        for (int32_t n = 0; n < 11; n++) { // odd: each time it ends otherwise
            say(&scene, OWNER, (i + n) % 2 == 0);
        }
        net_pump(net, SAYER);
        net_run(net, net->now + FL_MS(4));
        visits += watched(&scene, OWNER) != before ? 1 : 0;
        before = watched(&scene, OWNER);
    }
    print_message("             %d visits in a second of changes\n", visits);
    assert_true(visits > 0 && visits <= 21);   // at most one in 50 ms
    assert_true(watched(&scene, OTHER));       // of whom nothing was said
    for (int32_t last = 0; last < 2; last++) { // and the last word counts
        say(&scene, OWNER, last == 1);
        net_frames(net, 10);
        assert_int_equal(watched(&scene, OWNER), last == 0);
    }
    net_close(net);
}

static void where_nobody_is_introduced_it_is_malformed(void **state)
{
    (void)state;
    static Scene scene;
    open_scene(&scene, FL_TOPOLOGY_STAR);
    FlSession *host = scene.net.node[0].session;
    uint64_t malformed = fl_session_count(host, FL_SESSION_MALFORMED);
    say(&scene, OWNER, true);
    net_frames(&scene.net, 10);
    assert_int_equal(fl_session_count(host, FL_SESSION_MALFORMED), malformed + 1);
    assert_true(watched(&scene, OWNER)); // it is passed on as before
    net_close(&scene.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_repetition_costs_nothing),
        cmocka_unit_test(a_change_costs_what_that_member_owns_and_fast_ones_count_once),
        cmocka_unit_test(where_nobody_is_introduced_it_is_malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
