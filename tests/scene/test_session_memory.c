// Where a session's memory comes from, and what happens when there is none.
#include "session_world.h"

static void chat(Scene *scene, int32_t node)
{
    FlSession *session = scene->node[node].session;
    uint8_t bytes[600];
    int32_t count;
    int32_t peer;
    memset(bytes, node, sizeof bytes);
    for (peer = 0; peer < fl_session_peer_count(session); peer++) {
        int32_t size = (int32_t)sizeof bytes;
        FlResult ordered = fl_session_send(session, peer, FL_DELIVERY_ORDERED, bytes, size);
        FlResult quickest = fl_session_send(session, peer, FL_DELIVERY_QUICKEST, bytes, 20);
        assert_true(ordered == FL_OK || ordered == FL_WOULD_BLOCK);
        assert_true(quickest == FL_OK || quickest == FL_WOULD_BLOCK);
    }
    while (fl_session_take(session, bytes, (int32_t)sizeof bytes, &count, &peer) == FL_OK) {
    }
}

static void open_scene(Scene *scene)
{
    scene_open(scene, 2, 21);
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
    (void)state;
    Scene scene;
    open_scene(&scene);
    scene_start_all(&scene);
    scene_run(&scene, FL_SEC(5), scene_all_in);
    assert_true(scene_all_in(&scene));
    int32_t before[3];
    for (int32_t i = 0; i < 3; i++) {
        before[i] = scene.node[i].memory.alloc_count;
        assert_true(before[i] > 0);
        print_message("             node %d holds %lld bytes\n", i,
                      (long long)scene.node[i].memory.live_bytes);
    }
    scene_run(&scene, scene.now + FL_SEC(30), NULL);
    assert_true(scene.seen.poses > 1000);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(scene.node[i].memory.alloc_count, before[i]);
    }
    scene_close(&scene);
}

static void a_session_for_which_there_is_no_memory_is_not_made(void **state)
{
    (void)state;
    for (int32_t role = 0; role < 2; role++) {
        SceneMemory memory = {0};
        FlSessionDef def = fl_session_def_default();
        FlAlloc alloc = {scene_alloc, scene_free, &memory};
        def.role = (FlRole)role;
        def.alloc = alloc;
        FlResult result = FL_NO_MEMORY;
        int32_t n = 0;
        while (result != FL_OK) {
            FlSession *session = NULL;
            memory.alloc_count = 0;
            memory.fail_at = ++n;
            result = fl_session_create(&def, 0, &session);
            assert_int_equal(result, session != NULL ? FL_OK : FL_NO_MEMORY);
            fl_session_destroy(session);
            assert_int_equal(memory.live_bytes, 0);
            assert_true(n < 30);
        }
        assert_true(n > 4); // there was something to fail
    }
}

static void a_link_for_which_there_is_no_memory_is_made_at_the_next_request(void **state)
{
    (void)state;
    for (int32_t node = 0; node < 2; node++) {
        for (int32_t nth = 1; nth <= 2; nth++) {
            Scene scene;
            open_scene(&scene);
            scene_start_all(&scene);
            SceneMemory *memory = &scene.node[node].memory;
            memory->fail_at = memory->alloc_count + nth;
            scene_run(&scene, FL_SEC(4), scene_all_in);
            assert_true(scene_all_in(&scene));
            FlSession *session = scene.node[node].session;
            assert_int_equal(fl_session_count(session, FL_SESSION_OUT_OF_MEMORY), 1);
            scene_run(&scene, scene.now + FL_SEC(3), NULL);
            assert_true(scene.seen.poses > 100);
            scene_close(&scene);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_allocated_once_everybody_is_in),
        cmocka_unit_test(a_session_for_which_there_is_no_memory_is_not_made),
        cmocka_unit_test(a_link_for_which_there_is_no_memory_is_made_at_the_next_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
