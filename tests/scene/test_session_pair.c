// A host and its clients play over bad networks, in virtual time: plain and sealed.
#include "session_tanks.h"

#include "unit/support.h"

static SceneNode *with_tank(Scene *scene, int32_t node, int32_t tank, SceneDrive drive)
{
    scene->node[node].tank[tank].drive = drive;
    return &scene->node[node];
}

static uint64_t count_of(const Scene *scene, int32_t node, FlSessionCount which)
{
    return fl_session_count(scene->net.node[node].session, which);
}

// ---------------------------------------------------------------- poses

static void every_pose_is_explained_by_the_trigger_the_way_and_the_clocks(void **state)
{
    int64_t looks = 0;
    int64_t wrong = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)CASES(10); seed++) {
        Scene scene;
        scene_open(&scene, 3, seed, state);
        (void)with_tank(&scene, 0, 0, drive_straight);
        (void)with_tank(&scene, 0, 1, drive_circle);
        (void)with_tank(&scene, 0, 2, drive_stop_and_go);
        (void)with_tank(&scene, 1, 0, drive_circle);
        (void)with_tank(&scene, 1, 1, drive_respawn);
        (void)with_tank(&scene, 2, 0, drive_stop_and_go);
        (void)with_tank(&scene, 3, 0, drive_respawn);
        scene_network(&scene, 1, FL_MS(50), FL_MS(10), 0);
        scene_network(&scene, 2, FL_MS(150), FL_MS(100), 100000);
        scene_network(&scene, 3, FL_MS(5), 0, 20000);
        scene_start_all(&scene);
        net_run(&scene.net, FL_SEC(30));
        if (seed == 1) {
            scene_say_seen(&scene);
        }
        assert_true(scene.seen.poses > 20000);
        assert_true(scene.seen.newest * 10 > scene.seen.poses * 8);
        looks += scene.seen.clock_looks;
        wrong += scene.seen.clock_wrong;
        scene_close(&scene);
    }
    print_message("             clocks: %lld of %lld times by more than claimed\n",
                  (long long)wrong, (long long)looks);
    assert_true(wrong * 1000 <= looks);
}

static void a_lossless_line_shows_each_update_one_way_after_its_frame(void **state)
{
    static const SceneDrive drives[] = {drive_straight, drive_circle, drive_stop_and_go,
                                        drive_respawn};
    for (int32_t i = 0; i < 4; i++) {
        Scene scene;
        scene_open(&scene, 1, 7, state);
        (void)with_tank(&scene, 0, 0, drives[i]);
        (void)with_tank(&scene, 1, 0, drives[3 - i]);
        scene_network(&scene, 1, FL_MS(100), 0, 0);
        scene_start_all(&scene);
        net_run(&scene.net, FL_SEC(3));
        scene_forget_seen(&scene);
        net_run(&scene.net, FL_SEC(30));
        scene_say_seen(&scene);
        // The frame before the trigger, the way, and up to the frame that looks.
        assert_true(scene.seen.longest_wait <= FL_MS(100) + 2 * FL_SEC(1) / SCENE_FRAME_HZ + 1);
        // The newest: within the trigger's distance and half a millisecond of driving.
        assert_true(scene.seen.worst_newest <= 0.1 + SCENE_TOP_SPEED * 0.0005);
        scene_close(&scene);
    }
}

static void a_tank_that_drives_straight_is_seen_where_it_is_however_long_the_way(void **state)
{
    Scene scene;
    scene_open(&scene, 1, 7, state);
    (void)with_tank(&scene, 0, 0, drive_straight);
    scene_network(&scene, 1, FL_MS(400), FL_MS(50), 200000);
    scene_start_all(&scene);
    net_run(&scene.net, FL_SEC(10));
    scene_forget_seen(&scene);
    net_run(&scene.net, FL_SEC(40));
    scene_say_seen(&scene);
    assert_true(scene.seen.poses == 1800);
    assert_true(scene.seen.worst < 0.1 + SCENE_TOP_SPEED * 0.006);
    scene_close(&scene);
}

static double mean_error_of(void **state, FlTimeMode mode, FlTime delay, FlTime jitter)
{
    Scene scene;
    scene_open(&scene, 1, 9, state);
    (void)with_tank(&scene, 0, 0, drive_straight);
    scene.node[0].tank[0].def.trigger.silence_ns = FL_MS(100); // so that there is jitter to see
    scene.unexplained = mode != FL_TIME_GLOBAL;
    scene_network(&scene, 1, delay, jitter, 0);
    scene_start(&scene, 0);
    scene.net.def.tuning.time_mode = mode;
    scene_start(&scene, 1);
    net_run(&scene.net, FL_SEC(10));
    scene_forget_seen(&scene);
    net_run(&scene.net, FL_SEC(40));
    double mean = scene.seen.sum / (double)scene.seen.poses;
    assert_true(scene.seen.poses + scene.seen.early == 1800 && scene.seen.early < 180);
    scene_close(&scene);
    return mean;
}

static void global_time_beats_one_way_delays_and_those_beat_the_local_clock(void **state)
{
    double local = mean_error_of(state, FL_TIME_LOCAL, FL_MS(300), FL_MS(60));
    double one_way = mean_error_of(state, FL_TIME_ONE_WAY, FL_MS(300), FL_MS(60));
    double global = mean_error_of(state, FL_TIME_GLOBAL, FL_MS(300), FL_MS(60));
    print_message(
        "             20 m/s, 300 +- 60 ms: local %.3f m, one-way %.3f m, global %.3f m\n", local,
        one_way, global);
    assert_true(fabs(local - 6.0) < 0.5); // speed times delay
    assert_true(one_way < 20.0 * 0.060);  // speed times jitter
    assert_true(one_way < local / 5.0);
    assert_true(global < one_way / 5.0);
    // Where nothing jitters, the one-way delay is as good as the clocks it was measured with.
    double steady = mean_error_of(state, FL_TIME_ONE_WAY, FL_MS(300), 0);
    assert_true(steady < 0.02);
}

static void an_update_that_was_overtaken_is_ignored_and_counted(void **state)
{
    Scene scene; // which checks that the newest is shown
    scene_open(&scene, 1, 9, state);
    (void)with_tank(&scene, 0, 0, drive_stop_and_go);
    scene.node[0].tank[0].def.model = FL_MODEL_LINEAR; // has much to say
    scene_network(&scene, 1, FL_MS(200), FL_MS(190), 0);
    scene_start_all(&scene);
    net_run(&scene.net, FL_SEC(30));
    uint64_t overtaken = count_of(&scene, 1, FL_SESSION_UPDATES_OVERTAKEN);
    uint64_t taken = count_of(&scene, 1, FL_SESSION_UPDATES_TAKEN);
    assert_true(overtaken > 10 && taken > 10);
    assert_true(overtaken + taken <= count_of(&scene, 0, FL_SESSION_UPDATES_SENT));
    scene_close(&scene);
}

// ---------------------------------------------------------------- time

static void session_time_is_within_its_claim_on_every_line(void **state)
{
    static const struct Line {
        FlTime delay, jitter;
        int32_t loss_ppm;
    } lines[] = {
        {FL_MS(1), 0, 0},
        {FL_MS(20), FL_MS(10), 10000},
        {FL_MS(100), FL_MS(90), 50000},
        {FL_MS(400), FL_MS(180), 200000},
    };
    int64_t looks = 0;
    int64_t wrong = 0;
    for (int32_t i = 0; i < 4; i++) {
        for (int32_t seed = 1; seed <= CASES(25); seed++) {
            Scene scene; // which checks that it never goes back
            scene_open(&scene, 2, (uint64_t)seed, state);
            (void)with_tank(&scene, 0, 0, drive_circle);
            (void)with_tank(&scene, 1, 0, drive_stop_and_go);
            for (int32_t c = 1; c < 3; c++) {
                scene_network(&scene, c, lines[i].delay, lines[i].jitter, lines[i].loss_ppm);
                scene.net.def.join_timeout_ns = FL_SEC(20);
            }
            scene_start_all(&scene);
            net_run(&scene.net, FL_SEC(60));
            looks += scene.seen.clock_looks;
            wrong += scene.seen.clock_wrong;
            scene_close(&scene);
        }
    }
    print_message("             %lld looks, %lld off by more than claimed\n", (long long)looks,
                  (long long)wrong);
    assert_true(looks > 4 * 6500 * CASES(25));
    // The claim is one in a thousand. The looks of a run hang together (one client's bad second in
    // two hundred runs of a minute is 60 of 700 000), so twice that is what chance explains.
    assert_true(wrong * 500 <= looks);
}

static void a_host_that_paused_is_back_at_the_time_that_went_on_without_it(void **state)
{
    Scene scene;
    scene_open(&scene, 2, 4, state);
    (void)with_tank(&scene, 0, 0, drive_circle);
    (void)with_tank(&scene, 1, 0, drive_circle);
    scene_network(&scene, 1, FL_MS(30), FL_MS(5), 0);
    scene_start_all(&scene);
    net_run(&scene.net, FL_SEC(10));
    scene.net.node[0].frozen = true;
    net_run(&scene.net, FL_SEC(17));
    net_wake(&scene.net, 0);
    net_run(&scene.net, FL_SEC(18));
    scene_forget_seen(&scene);
    net_run(&scene.net, FL_SEC(40));
    scene_say_seen(&scene);
    assert_int_equal(fl_peer_count(scene.net.node[0].session), 2);
    assert_true(scene.seen.clock_looks > 2000);
    assert_true(scene.seen.clock_worst < FL_MS(20));
    assert_true(scene.seen.clock_wrong * 1000 <= scene.seen.clock_looks);
    scene_close(&scene);
}

static void a_client_that_paused_is_back_at_the_hosts_time(void **state)
{
    Scene scene;
    scene_open(&scene, 1, 4, state);
    (void)with_tank(&scene, 0, 0, drive_circle);
    (void)with_tank(&scene, 1, 0, drive_circle);
    scene_network(&scene, 1, FL_MS(30), FL_MS(5), 0);
    scene_start_all(&scene);
    net_run(&scene.net, FL_SEC(10));
    scene.net.node[1].frozen = true;
    net_run(&scene.net, FL_SEC(17));
    net_wake(&scene.net, 1);
    net_run(&scene.net, FL_SEC(20));
    scene_forget_seen(&scene);
    net_run(&scene.net, FL_SEC(40));
    scene_say_seen(&scene);
    assert_int_equal(fl_session_state(scene.net.node[1].session), FL_SESSION_RUNNING);
    assert_true(scene.seen.clock_worst < FL_MS(20));
    assert_true(scene.seen.clock_wrong * 1000 <= scene.seen.clock_looks);
    scene_close(&scene);
}

// ---------------------------------------------------------------- messages

enum { TALK_MESSAGES = 1500 };

typedef struct Talk {
    int32_t said[SCENE_NODES][SCENE_NODES]; // from, to
    int32_t heard[SCENE_NODES][SCENE_NODES];
} Talk;

static int32_t make_message(uint8_t *bytes, int32_t from, int32_t to, int32_t n)
{
    int32_t size = 4 + (n * 31) % 90;
    memset(bytes, from * 16 + to, (size_t)size);
    bytes[2] = (uint8_t)n;
    bytes[3] = (uint8_t)(n >> 8);
    return size;
}

/// `to` as `node` knows it; {0}: not yet.
static FlPeerId peer_at(const Scene *scene, int32_t node, int32_t to)
{
    FlPeerId none = {0};
    const FlSession *other = scene->net.node[to].session;
    return node == to || other == NULL
               ? none
               : fl_peer_of_number(scene->net.node[node].session, inside_self(other));
}

static void talk_on(Scene *scene, int32_t node)
{
    Talk *talk = (Talk *)scene->ctx;
    FlSession *session = scene->net.node[node].session;
    uint8_t bytes[128];
    for (int32_t to = 0; to < scene->net.count; to++) {
        FlPeerId peer = peer_at(scene, node, to);
        while (peer.index1 != 0 && talk->said[node][to] < TALK_MESSAGES) {
            FlEvent event = {.type = (uint16_t)talk->said[node][to], .bytes = bytes};
            event.count = make_message(bytes, node, to, talk->said[node][to]);
            if (fl_event_send(session, peer, &event) != FL_OK) {
                break;
            }
            talk->said[node][to]++;
        }
    }
    FlEvent got;
    while (fl_event_take(session, &got) == FL_OK) {
        int32_t from = got.bytes[0] / 16;
        FlPeerId sender = peer_at(scene, node, from);
        assert_memory_equal(&got.from, &sender, sizeof sender);
        assert_int_equal(got.type, talk->heard[from][node]);
        assert_int_equal(got.delivery, FL_DELIVERY_ORDERED);
        int32_t size = make_message(bytes, from, node, talk->heard[from][node]++);
        assert_int_equal(got.count, size);
        assert_memory_equal(got.bytes, bytes, (size_t)size);
    }
}

static bool all_is_said(const Net *net)
{
    const Talk *talk = (const Talk *)((const Scene *)net)->ctx;
    for (int32_t i = 0; i < net->count; i++) {
        for (int32_t j = 0; j < net->count; j++) {
            if (i != j && talk->heard[i][j] < TALK_MESSAGES) {
                return false;
            }
        }
    }
    return true;
}

static void
everybodys_messages_to_everybody_arrive_once_and_in_order_beside_the_motion(void **state)
{
    Scene scene; // which checks the poses meanwhile
    Talk talk;
    memset(&talk, 0, sizeof talk);
    scene_open(&scene, 3, 6, state);
    scene.visit = talk_on;
    scene.ctx = &talk;
    for (int32_t i = 0; i < 4; i++) {
        (void)with_tank(&scene, i, 0, drive_circle);
        (void)with_tank(&scene, i, 1, drive_stop_and_go);
    }
    for (int32_t i = 1; i < 4; i++) {
        scene_network(&scene, i, FL_MS(20 * i), FL_MS(10), 300000);
        scene.net.def.join_timeout_ns = FL_SEC(20);
    }
    scene_start_all(&scene);
    net_run_until(&scene.net, FL_SEC(120), all_is_said);
    print_message("             12 x %d messages in %.1f s at 30 %% loss\n", TALK_MESSAGES,
                  fl_span_seconds(scene.net.now));
    scene_say_seen(&scene);
    assert_true(all_is_said(&scene.net));
    FlSession *host = scene.net.node[0].session;
    FlEvent event;
    assert_int_equal(fl_event_take(host, &event), FL_NOT_FOUND);
    assert_int_equal(count_of(&scene, 0, FL_SESSION_EVENTS_RELAYED), 6 * TALK_MESSAGES);
    FlEvent more = {.bytes = (const uint8_t *)"x", .count = 1};
    FlPeerId gone = fl_peer_of_number(host, 1);
    gone.generation++;
    assert_int_equal(fl_event_send(host, gone, &more), FL_STALE_ID);
    assert_int_equal(fl_event_send(host, fl_peer_self(host), &more), FL_STALE_ID);
    FlLinkStats stats;
    memset(&stats, 7, sizeof stats);
    assert_int_equal(fl_peer_stats(host, 0, gone, &stats), FL_STALE_ID);
    assert_int_equal(stats.packets_out, 0);
    FlPeerId fellow = peer_at(&scene, 1, 2); // whom only the host has a link to
    assert_int_equal(fl_peer_stats(scene.net.node[1].session, 0, fellow, &stats), FL_NOT_FOUND);
    scene_close(&scene);
}

// ---------------------------------------------------------------- a small budget

enum { CROWD = 60 };

typedef struct Crowd {
    FlEntityId id[CROWD];
    int32_t large; // how many of them take long updates
} Crowd;

static void make_crowd(Scene *scene)
{
    Crowd *crowd = (Crowd *)scene->ctx;
    FlEntityDef def = fl_entity_def_default();
    for (int32_t i = 0; i < CROWD && crowd->id[i].index1 == 0; i++) {
        crowd->id[i] = fl_entity_create(scene->net.node[0].session, &def);
        assert_int_not_equal(crowd->id[i].index1, 0);
    }
}

// Sixty things that jump about so that every frame is news.
static void move_crowd(Scene *scene, int32_t node)
{
    Crowd *crowd = (Crowd *)scene->ctx;
    FlTime now = net_local(&scene->net, 0);
    make_crowd(scene);
    for (int32_t i = 0; i < CROWD && node == 0; i++) {
        FlState state = {.time = now};
        state.position.x = (double)(scene->net.frame * 7 % 400);
        state.position.y = (double)i;
        state.facing = fl_facing_none();
        if (i >= CROWD - crowd->large) {
            state.position.z = 1e6; // far outside the world
            state.facing = fl_facing_free(fl__quat_identity(), fl_vec3(0.0, 0.0, 0.0));
        }
        assert_int_equal(fl_entity_set(scene->net.node[0].session, crowd->id[i], &state), FL_OK);
    }
}

/// The host's, that is.
static void start_with_a_small_budget(Scene *scene)
{
    FlLinkDef *link = &scene->net.def.tuning.link;
    link->rate_bytes_s = link->rate_max_bytes_s = link->rate_min_bytes_s = 4000.0;
    scene_start(scene, 0);
    *link = fl_link_def_default();
    scene_start(scene, 1);
}

static void a_small_budget_is_shared_by_all(int32_t large, void **state)
{
    Scene scene;
    Crowd crowd;
    memset(&crowd, 0, sizeof crowd);
    crowd.large = large;
    scene_open(&scene, 1, 6, state);
    scene.visit = move_crowd;
    scene.ctx = &crowd;
    scene_network(&scene, 1, FL_MS(20), 0, 0);
    start_with_a_small_budget(&scene);
    net_run(&scene.net, FL_SEC(3));
    FlLinkStats before;
    FlTime now = net_local(&scene.net, 0);
    FlPeerId client = fl_peer_of_number(scene.net.node[0].session, 1);
    assert_int_equal(fl_peer_stats(scene.net.node[0].session, now, client, &before), FL_OK);
    uint64_t taken = count_of(&scene, 1, FL_SESSION_UPDATES_TAKEN);
    net_run(&scene.net, FL_SEC(23));
    FlLinkStats after;
    now = net_local(&scene.net, 0);
    assert_int_equal(fl_peer_stats(scene.net.node[0].session, now, client, &after), FL_OK);
    taken = count_of(&scene, 1, FL_SESSION_UPDATES_TAKEN) - taken;
    double rate = (double)(after.bytes_out - before.bytes_out) / 20.0;
    double each = (double)(after.bytes_out - before.bytes_out) / (double)taken;
    // All were heard of lately: nobody waits behind the others for ever.
    FlTime oldest = 0;
    int32_t known = 0;
    FlEntityId id = {0};
    while (fl_entity_next(scene.net.node[1].session, &id)) {
        known++;
        FlEntityStatus status;
        assert_int_equal(fl_entity_status(scene.net.node[1].session, id, &status), FL_OK);
        FlTime age = scene.net.node[1].time_last - status.newest;
        oldest = age > oldest ? age : oldest;
    }
    print_message("             %.0f bytes/s, %.0f bytes per update with all headers, the oldest "
                  "heard %.1f s ago\n",
                  rate, each, fl_span_seconds(oldest));
    assert_true(rate <= 4000.0 * 1.05 && rate >= 4000.0 * 0.9);
    assert_int_equal(known, CROWD);
    assert_true(oldest < FL_SEC(3));
    scene_close(&scene);
}

static void with_a_small_budget_everybody_has_a_turn(void **state)
{
    a_small_budget_is_shared_by_all(0, state);
}

static void with_a_small_budget_large_updates_have_their_turn_too(void **state)
{
    a_small_budget_is_shared_by_all(CROWD / 4, state);
    a_small_budget_is_shared_by_all(CROWD, state);
}

static void what_waits_for_the_budget_goes_when_there_is_some_without_another_frame(void **state)
{
    Scene scene;
    Crowd crowd;
    memset(&crowd, 0, sizeof crowd);
    crowd.large = CROWD;
    scene_open(&scene, 1, 6, state);
    scene.ctx = &crowd;
    scene.node[0].no_frames = scene.node[1].no_frames = true;
    start_with_a_small_budget(&scene);
    make_crowd(&scene); // and announces it
    net_run(&scene.net, FL_SEC(10));
    net_way(&scene.net, 0, 1, NULL); // so that no answer wakes the host
    move_crowd(&scene, 0);           // takes most of what was saved up
    scene.net.node[0].due = scene.net.now;
    net_run(&scene.net, scene.net.now + FL_MS(50));
    assert_int_equal(count_of(&scene, 0, FL_SESSION_UPDATES_SENT), CROWD);
    move_crowd(&scene, 0); // and then nothing more
    scene.net.node[0].due = scene.net.now;
    net_run(&scene.net, scene.net.now + FL_MS(10));
    assert_true(count_of(&scene, 0, FL_SESSION_UPDATES_SENT) < 2 * CROWD);
    net_run(&scene.net, scene.net.now + FL_MS(990));
    assert_int_equal(count_of(&scene, 0, FL_SESSION_UPDATES_SENT), 2 * CROWD);
    scene_close(&scene);
}

// ---------------------------------------------------------------- an old motion

static void what_is_old_is_told_to_a_late_comer_from_a_later_time_and_to_nobody_else(void **state)
{
    Scene scene; // which checks that each shows to the bit what travelled
    scene_open(&scene, 4, 8, state);
    for (int32_t i = 0; i < 2; i++) { // the host's own, and one that it passes on
        (void)with_tank(&scene, i, 0, drive_circle);
        scene.node[i].tank[0].def.trigger.silence_ns = FL_FOREVER;
        scene.node[i].tank[0].def.model = FL_MODEL_CIRCULAR;
    }
    for (int32_t i = 1; i < 5; i++) {
        scene_network(&scene, i, FL_MS(30), 0, 0);
    }
    scene_start(&scene, 0);
    for (int32_t i = 1; i < 5; i++) {
        scene_start(&scene, i);
        FlTime joined = net_local(&scene.net, 0) - net_local_at(&scene.net, 0, 0);
        net_run(&scene.net, scene.net.now + FL_SEC(12));
        for (int32_t j = 0; j <= i; j++) {
            for (int32_t owner = 0; owner < 2; owner++) {
                const SceneHeard *heard = &scene.node[j].heard[owner][0];
                const SceneTank *tank = &scene.node[owner].tank[0];
                if (j == owner) {
                    continue;
                }
                assert_int_equal(heard->newest1, tank->told_count);
                bool late = j > 1; // came when it was old
                FlTime told = tank->told[0].motion.time;
                assert_true(tank->told_count > 1 || late == (heard->motion.time > told));
                assert_true(j < i || !late || tank->told_count > 1 ||
                            heard->motion.time > joined - FL_SEC(5));
            }
        }
    }
    scene_say_seen(&scene);
    print_message("             told from a later time: off by %.4f m at worst\n",
                  scene.seen.worst_retold);
    assert_true(scene.seen.worst_retold > 0.0 && scene.seen.worst_retold < 0.1);
    scene_close(&scene);
}

static void a_state_behind_the_present_is_taken_although_the_motion_is_told_from_later(void **state)
{
    Scene scene;
    scene_open(&scene, 1, 8, state);
    scene_start(&scene, 0);
    FlEntityDef def = fl_entity_def_default();
    def.trigger.silence_ns = FL_FOREVER;
    FlEntityId id;
    FlSession *host = scene.net.node[0].session;
    id = fl_entity_create(host, &def);
    assert_int_not_equal(id.index1, 0);
    bool joined = false;
    for (FlTime at = FL_SEC(1); at < FL_SEC(12); at += FL_MS(16)) {
        net_run(&scene.net, at);
        if (at > FL_SEC(10) && !joined) {
            scene_start(&scene, 1);
            joined = true;
        }
        FlState behind = {.time = net_local_at(&scene.net, 0, at - FL_MS(80))}; // five frames
        assert_int_equal(fl_entity_set(host, id, &behind), FL_OK);
    }
    net_run(&scene.net, FL_SEC(13));
    assert_int_equal(count_of(&scene, 1, FL_SESSION_UPDATES_TAKEN), 1);
    scene_close(&scene);
}

// ---------------------------------------------------------------- the same everywhere

static void a_scene_is_the_same_bytes_with_every_compiler(void **state)
{
    Scene scene;
    scene_open(&scene, 3, 2024, state);
    (void)with_tank(&scene, 0, 0, drive_circle);
    (void)with_tank(&scene, 0, 1, drive_stop_and_go);
    (void)with_tank(&scene, 1, 0, drive_straight);
    (void)with_tank(&scene, 1, 1, drive_respawn);
    (void)with_tank(&scene, 2, 0, drive_stop_and_go);
    (void)with_tank(&scene, 3, 0, drive_circle);
    Talk talk;
    memset(&talk, 0, sizeof talk);
    scene.visit = talk_on;
    scene.ctx = &talk;
    scene_network(&scene, 1, FL_MS(50), FL_MS(20), 100000);
    scene_network(&scene, 2, FL_MS(120), FL_MS(60), 100000);
    scene_network(&scene, 3, FL_MS(10), FL_MS(2), 100000);
    scene_start_all(&scene);
    net_run(&scene.net, FL_SEC(30));
    print_message("             %lld datagrams, hash 0x%016llx\n", (long long)scene.net.datagrams,
                  (unsigned long long)scene.hash);
    assert_true(scene.net.datagrams > 1000);
    // Of every byte sent: changes with anything that link, clock, motion or session say
    // differently.
    assert_int_equal(scene.hash, scene.net.sealed ? UINT64_C(0x71e6f305dd97cd0f)
                                                  : UINT64_C(0x5b82cb256697fb4c));
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_BOTH(every_pose_is_explained_by_the_trigger_the_way_and_the_clocks),
        SCENE_BOTH(a_lossless_line_shows_each_update_one_way_after_its_frame),
        SCENE_BOTH(a_tank_that_drives_straight_is_seen_where_it_is_however_long_the_way),
        cmocka_unit_test(global_time_beats_one_way_delays_and_those_beat_the_local_clock),
        SCENE_BOTH(an_update_that_was_overtaken_is_ignored_and_counted),
        SCENE_BOTH(session_time_is_within_its_claim_on_every_line),
        SCENE_BOTH(a_host_that_paused_is_back_at_the_time_that_went_on_without_it),
        SCENE_BOTH(a_client_that_paused_is_back_at_the_hosts_time),
        SCENE_BOTH(everybodys_messages_to_everybody_arrive_once_and_in_order_beside_the_motion),
        SCENE_BOTH(with_a_small_budget_everybody_has_a_turn),
        SCENE_BOTH(with_a_small_budget_large_updates_have_their_turn_too),
        SCENE_BOTH(what_waits_for_the_budget_goes_when_there_is_some_without_another_frame),
        SCENE_BOTH(what_is_old_is_told_to_a_late_comer_from_a_later_time_and_to_nobody_else),
        SCENE_BOTH(a_state_behind_the_present_is_taken_although_the_motion_is_told_from_later),
        SCENE_BOTH(a_scene_is_the_same_bytes_with_every_compiler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
