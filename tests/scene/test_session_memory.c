// Where a session's memory comes from, and what happens when there is none.
#include "session/session.h"
#include "session_tanks.h"

static void chat(Scene *scene, int32_t node)
{
    FlSession *session = scene->net.node[node].session;
    uint8_t bytes[600];
    memset(bytes, node, sizeof bytes);
    FlEvent longer = {.bytes = bytes, .count = (int32_t)sizeof bytes};
    FlEvent shorter = {.delivery = FL_DELIVERY_QUICKEST, .bytes = bytes, .count = 20};
    FlPeerId peer = {0};
    while (fl_peer_next(session, &peer)) {
        FlResult ordered = fl_event_send(session, peer, &longer);
        FlResult quickest = fl_event_send(session, peer, &shorter);
        assert_true(ordered == FL_OK || ordered == FL_WOULD_BLOCK);
        assert_true(quickest == FL_OK || quickest == FL_WOULD_BLOCK);
    }
    FlEvent event;
    while (fl_event_take(session, &event) == FL_OK) {
    }
    net_drop_notices(session);
}

static void open_scene(Scene *scene, void **state)
{
    scene_open(scene, 2, 21, state);
    scene->visit = chat;
    for (int32_t i = 0; i < 3; i++) {
        scene->node[i].tank[0].drive = drive_circle;
        scene->node[i].tank[1].drive = drive_respawn;
        scene->node[i].tank[2].drive = drive_stop_and_go;
    }
    scene_network(scene, 1, FL_MS(40), FL_MS(20), 50000);
    scene_network(scene, 2, FL_MS(90), FL_MS(30), 50000);
}

static void nothing_is_allocated_once_everybody_is_in(void **state)
{
    Scene scene;
    open_scene(&scene, state);
    scene_start_all(&scene);
    net_run_until(&scene.net, FL_SEC(5), net_all_running);
    assert_true(net_all_running(&scene.net));
    net_run(&scene.net, scene.net.now + FL_SEC(1));
    int32_t before[3];
    for (int32_t i = 0; i < 3; i++) {
        before[i] = scene.net.node[i].memory.calls;
        assert_true(before[i] > 0);
        print_message("             node %d holds %lld bytes\n", i,
                      (long long)scene.net.node[i].memory.live_bytes);
    }
    net_run(&scene.net, scene.net.now + FL_SEC(30));
    assert_true(scene.seen.poses > 1000);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(scene.net.node[i].memory.calls, before[i]);
    }
    scene_close(&scene);
}

static void a_session_for_which_there_is_no_memory_is_not_made(void **state)
{
    for (int32_t role = 0; role < 2; role++) {
        Scene scene;
        scene_open(&scene, 1, 21, state);
        NetMemory *memory = &scene.net.node[role].memory;
        FlResult result = FL_NO_MEMORY;
        int32_t n = 0;
        while (result != FL_OK) {
            memory->calls = 0;
            memory->fail_at = ++n;
            result = net_begin(&scene.net, role, 0);
            assert_int_equal(result, scene.net.node[role].session != NULL ? FL_OK : FL_NO_MEMORY);
            net_crash(&scene.net, role); // checks that all is given back
            assert_true(n < 120);        // it ends
        }
        assert_true(n > 20); // there was something to fail
        scene_close(&scene);
    }
}

// What a connection takes: its manifest, the event that it may hold up, and its link.
static int32_t allocations_of_a_line(void **state)
{
    Scene scene;
    open_scene(&scene, state);
    scene_start_all(&scene);
    int32_t before = scene.net.node[1].memory.calls;
    net_run_until(&scene.net, FL_SEC(4), net_all_running);
    int32_t count = scene.net.node[1].memory.calls - before;
    scene_close(&scene);
    return count;
}

static void a_link_for_which_there_is_no_memory_is_made_at_the_next_request(void **state)
{
    int32_t most = allocations_of_a_line(state);
    assert_true(most >= 3);
    // A sealed host has let the client in before it knows: it sends it away again.
    for (int32_t node = *state != NULL ? 1 : 0; node < 2; node++) {
        for (int32_t nth = 1; nth <= most; nth++) {
            Scene scene;
            open_scene(&scene, state);
            scene_start_all(&scene);
            NetMemory *memory = &scene.net.node[node].memory;
            memory->fail_at = memory->calls + nth;
            net_run_until(&scene.net, FL_SEC(4), net_all_running);
            assert_true(net_all_running(&scene.net));
            FlSession *session = scene.net.node[node].session;
            assert_int_equal(fl_session_count(session, FL_SESSION_OUT_OF_MEMORY), 1);
            net_run(&scene.net, scene.net.now + FL_SEC(3));
            assert_true(scene.seen.poses > 100);
            scene_close(&scene);
        }
    }
}

static void what_a_definition_says_it_takes_is_what_is_taken(void **state)
{
    (void)state;
    for (int32_t role = 0; role < 2; role++) {
        NetMemory memory = {0};
        FlSessionDef def = fl_session_def_default();
        FlAlloc alloc = {net_alloc, net_free, &memory};
        def.role = (FlRole)role;
        def.alloc = alloc;
        FlSession *session;
        assert_int_equal(fl_session_create(&def, 0, &session), FL_OK);
        FlSessionMemory said = fl__session_memory(&def);
        // Lines come as peers join.
        int32_t lines = role == FL_ROLE_HOST ? def.peer_capacity : 1; // to the host
        int64_t full = memory.live_bytes + (int64_t)said.connection * lines;
        print_message("             %lld bytes when made, %lld with all lines; said: %zu\n",
                      (long long)memory.live_bytes, (long long)full, said.all);
        assert_true((double)said.all > 0.8 * (double)memory.live_bytes);
        assert_true((double)said.all < 1.25 * (double)full);
        assert_true(said.connection > 0 && said.entity > 0 && said.pair > 0);
        fl_session_close(session);
        assert_int_equal(memory.live_bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_BOTH(nothing_is_allocated_once_everybody_is_in),
        SCENE_BOTH(a_session_for_which_there_is_no_memory_is_not_made),
        SCENE_BOTH(a_link_for_which_there_is_no_memory_is_made_at_the_next_request),
        cmocka_unit_test(what_a_definition_says_it_takes_is_what_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
