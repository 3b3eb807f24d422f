// Actions through whole sessions: star, mesh, hybrid; plain and sealed; losses, joining, leaving.
#include "play/play.h"
#include "unit/support.h"

#include "lab/experiments/simultaneity/simultaneity_sessions.h"

enum { PEERS = 6, ACTIONS = 2000 };

typedef struct Played {
    FlTime local;
    int32_t place;
} Played;

typedef struct Scene {
    NetDef def;
    Crowd *crowd;
    FlRandom random;
    int32_t actions;
    int32_t writer[ACTIONS];
    FlTime stamp[ACTIONS], play[ACTIONS];
    Played played[PEERS][ACTIONS];
    int32_t places[PEERS];
    int64_t late;
} Scene;

static void note_play(void *ctx, const NetPlay *play)
{
    Scene *scene = (Scene *)ctx;
    uint32_t number;
    assert_int_equal(play->action->count, sizeof number);
    memcpy(&number, play->action->bytes, sizeof number);
    Played *played = &scene->played[play->peer][number];
    assert_int_equal(played->place, 0);
    played->place = ++scene->places[play->peer];
    played->local = play->local;
    scene->play[number] = play->action->play;
    scene->late += play->action->late ? 1 : 0;
    assert_int_equal(play->action->writer, scene->writer[number]);
}

static Scene *scene_begin(uint64_t stream, int32_t peers)
{
    Scene *scene = (Scene *)calloc(1, sizeof *scene);
    assert_non_null(scene);
    scene->random = random_stream(stream);
    NetDef *def = &scene->def;
    def->seed = stream;
    def->peers = peers;
    def->lags = fl__lags_def_default();
    def->lags.again_ns = FL_FOREVER;
    def->lags.margin_ns = FL_MS(10);
    def->way = fl_impair_def_default().settings;
    def->play_fn = note_play;
    def->ctx = scene;
    for (int32_t i = 0; i < peers; i++) {
        def->clock[i] = random_time(&scene->random, FL_SEC(0), FL_SEC(600));
        for (int32_t j = 0; j < peers; j++) {
            def->delay[i][j] = random_time(&scene->random, FL_MS(5), FL_MS(120));
        }
    }
    return scene;
}

static void scene_end(Scene *scene)
{
    crowd_destroy(scene->crowd);
    free(scene);
}

static void run_on(Scene *scene, FlTime span)
{
    crowd_run(scene->crowd, world_now(crowd_world(scene->crowd)) + span);
}

static void start(Scene *scene, FlTopology topology, bool sealed)
{
    assert_int_equal(crowd_create(&scene->def, topology, sealed, &scene->crowd), FL_OK);
    for (int32_t i = 0; i < 40 && !crowd_is_ready(scene->crowd); i++) {
        run_on(scene, FL_MS(500));
    }
    assert_true(crowd_is_ready(scene->crowd));
}

static void act(Scene *scene, int32_t peer)
{
    uint32_t number = (uint32_t)scene->actions++;
    World *world = crowd_world(scene->crowd);
    assert_true(scene->actions <= ACTIONS);
    scene->writer[number] = peer;
    scene->stamp[number] = world_local(world, peer, world_now(world));
    assert_int_equal(crowd_act(scene->crowd, peer, &number, sizeof number), FL_OK);
}

static void act_for(Scene *scene, FlTime span, FlTime pause)
{
    World *world = crowd_world(scene->crowd);
    FlTime until = world_now(world) + span;
    while (world_now(world) < until) {
        run_on(scene, random_time(&scene->random, 1, pause));
        act(scene, (int32_t)fl_random_below(&scene->random, (uint64_t)scene->def.peers));
    }
}

static void check_one_order(const Scene *scene)
{
    for (int32_t p = 0; p < scene->def.peers; p++) {
        assert_int_equal(scene->places[p], scene->actions);
    }
    for (int32_t k = 0; k < scene->actions; k++) {
        for (int32_t p = 1; p < scene->def.peers; p++) {
            assert_int_equal(scene->played[p][k].place, scene->played[0][k].place);
        }
    }
}

/// The same time between any two actions everywhere, and as at their writer; by each one's clock.
static void check_one_timing(const Scene *scene)
{
    int32_t last[PEERS];
    memset(last, -1, sizeof last);
    for (int32_t k = 0; k < scene->actions; k++) {
        int32_t before = last[scene->writer[k]];
        last[scene->writer[k]] = k;
        for (int32_t p = 0; p < scene->def.peers; p++) {
            const Played *played = scene->played[p];
            assert_int_equal(played[k].local - played[0].local,
                             scene->played[0][k].local - scene->played[0][0].local);
            if (before >= 0) {
                assert_int_equal(played[k].local - played[before].local,
                                 scene->stamp[k] - scene->stamp[before]);
            }
        }
    }
}

static void one_order_and_one_timing_however_sessions_talk(void **state)
{
    (void)state;
    const FlTopology topologies[] = {FL_TOPOLOGY_STAR, FL_TOPOLOGY_MESH, FL_TOPOLOGY_HYBRID};
    for (int32_t k = 0; k < 6; k++) {
        Scene *scene = scene_begin(8900 + (uint64_t)k, 3 + k % (PEERS - 2));
        scene->def.lags.margin_ns = FL_MS(40); // no reason for a round meanwhile
        start(scene, topologies[k % 3], k >= 3);
        run_on(scene, FL_SEC(3));              // what joining brings along is over,
        act_for(scene, FL_SEC(3), FL_MS(120)); // and lines are not full
        run_on(scene, FL_SEC(2));
        assert_int_equal(scene->late, 0);
        check_one_order(scene);
        check_one_timing(scene);
        scene_end(scene);
    }
}

static void losses_are_measured_too_and_no_action_is_lost(void **state)
{
    (void)state;
    for (int32_t k = 0; k < 2; k++) {
        Scene *scene = scene_begin(8920 + (uint64_t)k, 4);
        scene->def.way.loss_ppm = 50000;
        scene->def.way.duplicate_ppm = 20000;
        scene->def.way.jitter_ns = FL_MS(4);
        scene->def.lags.margin_ns = FL_MS(20);
        start(scene, k == 0 ? FL_TOPOLOGY_STAR : FL_TOPOLOGY_MESH, false);
        act_for(scene, FL_SEC(8), FL_MS(40));
        run_on(scene, FL_SEC(3));
        for (int32_t p = 0; p < 4; p++) {
            assert_int_equal(scene->places[p], scene->actions);
        }
        print_message("             %d actions at 4 peers, %lld late\n", (int)scene->actions,
                      (long long)scene->late);
        if (scene->late == 0) {
            check_one_order(scene);
        }
        scene_end(scene);
    }
}

static void who_leaves_is_not_waited_for(void **state)
{
    (void)state;
    Scene *scene = scene_begin(8930, 4);
    start(scene, FL_TOPOLOGY_STAR, false);
    World *world = crowd_world(scene->crowd);
    act_for(scene, FL_SEC(1), FL_MS(100));
    run_on(scene, FL_SEC(1));
    fl_session_leave(world_session(world, 3), world_local(world, 3, world_now(world)));
    world_touch(world, 3);
    run_on(scene, FL_SEC(4));
    int32_t first = scene->actions;
    scene->def.peers = 3;
    act_for(scene, FL_SEC(1), FL_MS(100));
    run_on(scene, FL_SEC(2));
    assert_int_equal(scene->late, 0);
    for (int32_t p = 0; p < 3; p++) {
        FlSession *session = world_session(world, p);
        FlTime local = world_local(world, p, world_now(world));
        assert_int_equal(fl__lags_status(fl__session_lags(session), local).members, 7);
        assert_int_equal(scene->places[p], scene->actions);
        for (int32_t k = first; k < scene->actions; k++) {
            assert_int_equal(scene->played[p][k].place, scene->played[0][k].place);
        }
    }
    uint32_t number = 0;
    assert_int_equal(crowd_act(scene->crowd, 3, &number, 4), FL_STALE_ID);
    scene_end(scene);
}

static void without_actions_there_is_nothing_to_send_or_take(void **state)
{
    (void)state;
    FlSessionDef def = fl_session_def_default();
    def.role = FL_ROLE_HOST;
    FlSession *session;
    assert_int_equal(fl_session_create(&def, 0, &session), FL_OK);
    FlAction action;
    assert_null(fl__session_lags(session));
    assert_int_equal(fl_action_send(session, 0, 1, "x", 1), FL_BAD_VALUE);
    assert_int_equal(fl_action_take(session, 0, &action), FL_NOT_FOUND);
    assert_int_equal(fl__action_deadline(session), FL_FOREVER);
    fl_session_close(session);
    def.action_capacity = 4;
    def.peer_capacity = 64; // a bit each
    assert_int_equal(fl_session_create(&def, 0, &session), FL_BAD_VALUE);
    def.peer_capacity = 63;
    assert_int_equal(fl_session_create(&def, 0, &session), FL_OK);
    FlOutgoing out;
    assert_int_equal(fl_action_send(session, 0, 1, "x", 1), FL_OK); // alone: played at once
    assert_int_equal(fl_session_next(session, 0, &out), FL_NOT_FOUND);
    assert_int_equal(fl_action_take(session, 0, &action), FL_OK);
    assert_true(action.at == 0 && action.type == 1 && action.bytes[0] == 'x' && !action.late);
    assert_int_equal(fl_action_send(session, 0, 1, NULL, FL_ACTION_BYTES + 1), FL_BAD_VALUE);
    for (int32_t i = 0; i < 4; i++) {
        assert_int_equal(fl_action_send(session, 1, 1, NULL, 0), FL_OK);
    }
    assert_int_equal(fl_action_send(session, 1, 1, NULL, 0), FL_WOULD_BLOCK);
    fl_session_close(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_order_and_one_timing_however_sessions_talk),
        cmocka_unit_test(losses_are_measured_too_and_no_action_is_lost),
        cmocka_unit_test(who_leaves_is_not_waited_for),
        cmocka_unit_test(without_actions_there_is_nothing_to_send_or_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
