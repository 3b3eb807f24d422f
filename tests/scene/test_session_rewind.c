// A frame that a judge rewinds to is the frame that was drawn: the truth here is each client's own
// log of drawn poses, smoothing on, over random networks.
//
// Clients draw every frame and shoot now and then: an event with the frame's session time. The
// judge rewinds to it as soon as it can, and what it finds is what was drawn, to the last bit.
#include "session_net.h"

#include "fairlead/rewind.h"
#include "play/play.h"
#include "session/session.h"
#include "show/show.h"

enum { NODES = 4, THINGS = 8, SHOTS = 4096, WAITS = 64 };

typedef struct Shot {
    int32_t shooter; // node
    FlTime time;     // of its frame
    FlVec3 truth[THINGS];
    bool drawn[THINGS];
    FlPose pose[THINGS];
} Shot;

typedef struct Scene {
    Net net;
    NetWalk walk[THINGS];
    int32_t things;
    FlShowDef show;
    Shot shot[SHOTS];
    int32_t shots;
    int32_t waiting[NODES][WAITS]; // [judge] shots that are to be judged there
    int32_t wait_count[NODES];
    int64_t judged, waited, late, beyond, unseen;
    int64_t poses, exact, close, apart; // the same to the bit; below 1 cm; else
    double furthest;
    double lied;     // from the truth, at most
    bool deathless;  // no respawns
    FlTime withheld; // a liar reports what came up to so much later, or not at all
} Scene;

// ---------------------------------------------------------------- shooting

static void draw(Scene *scene, int32_t node, Shot *shot)
{
    Net *net = &scene->net;
    FlTime now = net_local(net, node);
    shot->shooter = node;
    shot->time = fl_session_time(net->node[node].session, now);
    for (int32_t t = 0; t < scene->things; t++) {
        FlEntityId id = net_entity(net, node, scene->walk[t].number);
        shot->truth[t] = scene->walk[t].position;
        shot->drawn[t] = scene->walk[t].owner != node &&
                         fl_entity_pose_at(net->node[node].session, now, id, &shot->pose[t]);
    }
}

// Every judge gets it: the host of a star, every owner else.
static void shoot(Scene *scene, int32_t node)
{
    Net *net = &scene->net;
    if (scene->shots == SHOTS) {
        return;
    }
    int32_t number = scene->shots;
    draw(scene, node, &scene->shot[number]);
    FlEvent event = {.type = 1,
                     .delivery = FL_DELIVERY_QUICKEST,
                     .bytes = (const uint8_t *)&number,
                     .count = sizeof number};
    FlPeerId all = {0, 0};
    FlPeerId to = net->def.topology == FL_TOPOLOGY_STAR ? net_peer(net, node, 0) : all;
    if (fl_event_send(net->node[node].session, to, &event) == FL_OK) {
        scene->shots++;
    }
}

// ---------------------------------------------------------------- judging

static void compare(Scene *scene, const FlPose *rewound, const FlPose *drawn)
{
    double off = fl_vec3_distance(rewound->position, drawn->position);
    bool same = off == 0.0 && rewound->velocity.x == drawn->velocity.x &&
                rewound->velocity.y == drawn->velocity.y && rewound->yaw == drawn->yaw;
    scene->poses++;
    scene->exact += same ? 1 : 0;
    scene->close += !same && off < 0.01 ? 1 : 0;
    scene->apart += off >= 0.01 ? 1 : 0;
    scene->furthest = off > scene->furthest ? off : scene->furthest;
}

#define LIAR 3

// What a liar may win: the picture is the truth to within the trigger's distance at some time not
// longer than rewind_ns before the frame, and both move at top speed since then.
static void bound_lie(Scene *scene, const FlPose *pose, FlVec3 truth)
{
    double off = fl_vec3_distance(pose->position, truth);
    scene->lied = off > scene->lied ? off : scene->lied;
}

static void judge(Scene *scene, int32_t at, const Shot *shot, const FlRewind *frame)
{
    Net *net = &scene->net;
    FlSession *session = net->node[at].session;
    for (int32_t t = 0; t < scene->things; t++) {
        bool ours = scene->walk[t].owner == at || net->def.topology == FL_TOPOLOGY_STAR;
        FlPose pose;
        FlEntityId id = net_entity(net, at, scene->walk[t].number);
        if (!ours || scene->walk[t].owner == shot->shooter) {
            continue;
        }
        FlResult result = fl_rewind_pose(session, frame, id, &pose);
        if (result == FL_OUT_OF_ORDER) {
            scene->beyond++;
        } else if (scene->withheld > 0 && shot->shooter == LIAR) {
            scene->poses += result == FL_OK ? 1 : 0;
            if (result == FL_OK) {
                bound_lie(scene, &pose, shot->truth[t]);
            }
        } else if ((result == FL_OK) != shot->drawn[t]) {
            scene->unseen++;
        } else if (result == FL_OK) {
            compare(scene, &pose, &shot->pose[t]);
        }
    }
}

static void judge_waiting(Scene *scene, int32_t at)
{
    Net *net = &scene->net;
    int32_t kept = 0;
    for (int32_t i = 0; i < scene->wait_count[at]; i++) {
        int32_t number = scene->waiting[at][i];
        const Shot *shot = &scene->shot[number];
        FlRewind frame;
        FlResult result = fl_rewind_to(net->node[at].session, net_local(net, at),
                                       net_peer(net, at, shot->shooter), shot->time, &frame);
        if (result == FL_WOULD_BLOCK) {
            scene->waited++;
            scene->waiting[at][kept++] = number;
        } else if (result == FL_OK) {
            scene->judged++;
            judge(scene, at, shot, &frame);
        } else {
            assert_int_equal(result, FL_OUT_OF_ORDER);
            scene->late++;
        }
    }
    scene->wait_count[at] = kept;
}

static void judge_all(Scene *scene)
{
    for (int32_t at = 0; at < NODES; at++) {
        FlEvent event;
        while (fl_event_take(scene->net.node[at].session, &event) == FL_OK) {
            assert_true(event.count == sizeof(int32_t) && scene->wait_count[at] < WAITS);
            memcpy(&scene->waiting[at][scene->wait_count[at]++], event.bytes, sizeof(int32_t));
        }
        judge_waiting(scene, at);
    }
}

// ---------------------------------------------------------------- playing

static void open_scene_with(Scene *scene, uint64_t seed, FlTopology topology, const char *show,
                            FlTime rewind_ns)
{
    memset(scene, 0, sizeof *scene);
    Net *net = &scene->net;
    net_open(net, seed, topology, seed % 2 == 0);
    net->weather = net_storm(&net->random, 5);
    net->def.rewind_ns = rewind_ns;
    assert_int_equal(fl__show_parse(show, &net->def.tuning.show), FL_OK);
    net->def.tuning.show.speed_limit = 15.0;
    net_start_together(net, NODES);
    net_frames(net, 100); // the clocks settle
    for (int32_t t = 0; t < THINGS; t++) {
        FlEntityDef def = fl_entity_def_default();
        assert_int_equal(net_walk_begin(net, &scene->walk[t], t % NODES, &def), FL_OK);
        scene->things++;
    }
}

static void open_scene(Scene *scene, uint64_t seed, FlTopology topology, const char *show)
{
    open_scene_with(scene, seed, topology, show, FL_SEC(1));
}

static void frame(Scene *scene, bool shots)
{
    Net *net = &scene->net;
    for (int32_t t = 0; t < scene->things; t++) {
        NetWalk *walk = &scene->walk[t];
        uint64_t chance = fl_random_below(&net->random, 200);
        if (chance < 12) {
            net_walk_turn(net, walk);
            walk->turn_rate = chance < 6 ? fl_random_between(&net->random, -1.0, 1.0) : 0.0;
        }
        if (chance == 0 && !scene->deathless) {
            walk->position.x += 30.0;
            FlEntityId id = net_entity(net, walk->owner, walk->number);
            assert_int_equal(fl_entity_cut(net->node[walk->owner].session, id), FL_OK);
        }
        assert_int_equal(net_walk_step(net, walk), FL_OK);
    }
    for (int32_t node = 1; node < NODES && shots; node++) {
        if (fl_random_below(&net->random, 10) == 0) {
            shoot(scene, node);
        }
    }
    net_frame(net);
    judge_all(scene);
}

static void play(Scene *scene, int32_t frames)
{
    for (int32_t f = 0; f < frames; f++) {
        frame(scene, f > 100 && f < frames - 100);
    }
}

static void print(const Scene *total, const char *what)
{
    print_message(
        "             %s: %lld shots judged (%lld waits, %lld too late), %lld poses: %lld "
        "exact, %lld below 1 cm, %lld further, furthest %.3f m; %lld too far behind, "
        "%lld seen by one only\n",
        what, (long long)total->judged, (long long)total->waited, (long long)total->late,
        (long long)total->poses, (long long)total->exact, (long long)total->close,
        (long long)total->apart, total->furthest, (long long)total->beyond,
        (long long)total->unseen);
}

static void add_up(Scene *total, const Scene *scene)
{
    total->judged += scene->judged;
    total->waited += scene->waited;
    total->late += scene->late;
    total->beyond += scene->beyond;
    total->unseen += scene->unseen;
    total->poses += scene->poses;
    total->exact += scene->exact;
    total->close += scene->close;
    total->apart += scene->apart;
    total->furthest = scene->furthest > total->furthest ? scene->furthest : total->furthest;
}

static void check(FlTopology topology, const char *show)
{
    static Scene total;
    memset(&total, 0, sizeof total);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        static Scene scene;
        open_scene(&scene, seed, topology, show);
        play(&scene, 1200);
        add_up(&total, &scene);
        net_close(&scene.net);
    }
    print(&total, show);
    assert_true(total.judged > 500 && total.poses > 3000);
    assert_int_equal(total.exact, total.poses);
    assert_true(total.unseen <= total.poses / 500 && total.beyond <= total.poses / 50);
}

static void a_smoothed_frame_is_rewound_as_it_was_drawn(void **state)
{
    check(net_topology(state), "at_once/timestamped/smooth");
}

static void a_frame_without_smoothing_is_rewound_as_it_was_drawn(void **state)
{
    check(net_topology(state), "at_once/timestamped/at_once");
}

static void a_held_frame_is_rewound_as_it_was_drawn(void **state)
{
    check(net_topology(state), "best");
    check(net_topology(state), "reckoned/interpolated/smooth");
}

static void a_frame_of_every_placement_is_rewound_as_it_was_drawn(void **state)
{
    check(net_topology(state), "at_once/first_order/steps");
    check(net_topology(state), "at_once/higher_order/smooth");
    check(net_topology(state), "causality/snap/at_once");
}

// ---------------------------------------------------------------- other settings

// Some things are shown otherwise, and Δ of some changes, as each client likes.
static void settings_are_known_to_whoever_judges(void **state)
{
    static Scene scene;
    open_scene(&scene, 9, net_topology(state), "at_once/timestamped/smooth");
    play(&scene, 300);
    Net *net = &scene.net;
    for (int32_t node = 1; node < NODES; node++) {
        for (int32_t t = 0; t < THINGS; t++) {
            FlShowDef def;
            assert_int_equal(
                fl__show_parse(t % 2 == 0 ? "best" : "adaptive/timestamped/smooth", &def), FL_OK);
            def.delta_ns = FL_MS(60 + 10 * node);
            FlEntityId id = net_entity(net, node, scene.walk[t].number);
            FlDeltaChange change = {FL_MS(150), net_time(net, node) + FL_MS(300)};
            FlSession *session = net->node[node].session;
            if (scene.walk[t].owner != node && (t + node) % 3 != 0) {
                assert_int_equal(fl_entity_show(session, id, &def), FL_OK);
                assert_true(t % 2 == 0 || fl_entity_delta(session, id, &change) == FL_OK);
            }
        }
    }
    Scene before = scene;
    play(&scene, 200); // nothing is shot within the first second
    assert_int_equal(scene.judged, before.judged);
    play(&scene, 900);
    print(&scene, "shown in many ways");
    assert_true(scene.poses > before.poses + 1000 && scene.exact == scene.poses);
    net_close(net);
}

static void hold_back(Net *net, const NetHead *head, const void *bytes, int32_t count)
{
    const Scene *scene = (const Scene *)(const void *)net; // its first field
    NetHead late = *head;
    uint64_t luck = fl_random_at(net->seed, 5, (uint64_t)head->serial);
    FlTime until = head->arrived + (FlTime)(luck % (uint64_t)scene->withheld);
    if (head->to == LIAR && scene->shots > 0 && net->now < until) {
        net_push(net, until, &late, bytes, count);
        return;
    }
    late.arrived = net->now;
    net_receive(net, &late, bytes, count);
}

static void a_liar_gains_no_more_than_the_bound(void **state)
{
    static Scene scene;
    double top_speed = sqrt(200.0);
    int64_t beyond = 0;
    for (int32_t i = 1; i <= 4; i++) {
        open_scene(&scene, (uint64_t)i, net_topology(state), "at_once/timestamped/at_once");
        scene.withheld = FL_MS(500) * i;
        scene.deathless = true;
        scene.net.on_receive = hold_back;
        FlTime rewind = scene.net.def.rewind_ns;
        for (int32_t f = 0; f < 1200; f++) {
            frame(&scene, true);
        }
        double bound = 0.1 + 0.05 + 2.0 * top_speed * fl_span_seconds(rewind);
        print_message(
            "             withheld up to %d ms: %lld poses, at most %.2f m from the truth "
            "(bound %.2f), %lld refused\n",
            500 * i, (long long)scene.poses, scene.lied, bound, (long long)scene.beyond);
        assert_true(scene.lied <= bound);
        beyond += scene.beyond;
        net_close(&scene.net);
    }
    assert_true(beyond > 100);
}

// ---------------------------------------------------------------- calls

static void call_hit(Scene *scene, int32_t node, int32_t thing)
{
    Net *net = &scene->net;
    FlSession *session = net->node[node].session;
    FlTime now = net_local(net, node);
    FlEntityId id = net_entity(net, node, scene->walk[thing].number);
    FlPose pose;
    if (!fl_entity_pose_at(session, now, id, &pose)) {
        return;
    }
    FlHitCall hit = {.shooter = (uint16_t)scene->walk[node].number,
                     .damage = 1,
                     .time = fl_session_time(session, now),
                     .target = pose.position};
    FlWorld world;
    uint8_t bytes[FL_CALL_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    assert_int_equal(fl_world_init(&net->def.world, &world), FL_OK);
    if (fl_hit_call_write(&w, &world, &hit)) {
        FlCallDef call = {.kind = FL_CALL_DAMAGE, .bytes = bytes, .count = fl_writer_size(&w)};
        uint32_t serial;
        (void)!fl_call_send(session, now, id, &call, &serial);
    }
}

// The host's things are hit where they are drawn; the host looks at its own calls.
static uint64_t impossible_hits(FlTime rewind_ns, uint64_t *received)
{
    static Scene scene;
    open_scene_with(&scene, 6, FL_TOPOLOGY_STAR, "at_once/timestamped/smooth", rewind_ns);
    Net *net = &scene.net;
    FlHitRules rules = fl_hit_rules_default();
    rules.tolerance = 0.02; // the target's place travels in centimetres
    fl_call_hit_rules(net->node[0].session, &rules);
    for (int32_t f = 0; f < 800; f++) {
        for (int32_t node = 1; node < NODES && f > 100; node++) {
            FlCallDone done;
            while (fl_call_take_done(net->node[node].session, net_local(net, node), &done) ==
                   FL_OK) {
            }
            if (f % 10 == 0) {
                call_hit(&scene, node, (f / 10) % 2 * NODES);
            }
        }
        frame(&scene, false);
        FlCall call;
        while (fl_call_take(net->node[0].session, &call) == FL_OK) {
            assert_int_equal(
                fl_call_answer(net->node[0].session, net_local(net, 0), &call, true, NULL, 0),
                FL_OK);
        }
    }
    FlCallStats stats = fl__call_stats(net->node[0].session);
    *received = stats.count[FL_CALLS_RECEIVED];
    net_close(net);
    return stats.count[FL_CALLS_IMPOSSIBLE];
}

static void a_hit_on_a_smoothed_view_is_known_to_the_centimetre(void **state)
{
    (void)state;
    uint64_t received, without;
    uint64_t impossible = impossible_hits(FL_SEC(1), &received);
    uint64_t refused = impossible_hits(0, &without);
    print_message("             %llu hits, %llu impossible; without rewinding %llu of %llu\n",
                  (unsigned long long)received, (unsigned long long)impossible,
                  (unsigned long long)refused, (unsigned long long)without);
    assert_true(received > 100 && impossible <= received / 50 && refused > received / 10);
}

// ---------------------------------------------------------------- limits

static void what_is_too_old_or_not_yet_is_answered_so(void **state)
{
    static Scene scene;
    open_scene(&scene, 3, net_topology(state), "at_once/timestamped/at_once");
    play(&scene, 150);
    Net *net = &scene.net;
    FlSession *host = net->node[0].session;
    FlTime now = net_local(net, 0);
    FlTime time = fl_session_time(host, now);
    FlRewind frame;
    FlPeerId peer = net_peer(net, 0, 1);
    FlPeerId none = {77, 1};
    FlPose pose;
    FlEntityId id = net_entity(net, 0, scene.walk[0].number);
    assert_int_equal(fl_rewind_to(host, now, none, time, &frame), FL_STALE_ID);
    assert_int_equal(fl_rewind_to(host, now, peer, time - FL_MS(1001), &frame), FL_OUT_OF_ORDER);
    assert_int_equal(fl_rewind_to(host, now, peer, time + FL_MS(900), &frame), FL_WOULD_BLOCK);
    assert_int_equal(fl_rewind_to(host, now, peer, time + FL_MS(1001), &frame), FL_BAD_VALUE);
    assert_int_equal(fl_rewind_pose(host, &frame, id, &pose), FL_STALE_ID);
    assert_int_equal(fl_rewind_to(host, now, peer, time - FL_MS(400), &frame), FL_OK);
    FlVec3 claim = {0.0, 0.0, 0.0};
    assert_int_equal(fl_rewind_pose(host, &frame, id, &pose), FL_OK);
    assert_int_equal(fl_rewind_claim(host, &frame, id, pose.position, 1.0, &pose), FL_BAD_VALUE);
    assert_int_equal(fl_rewind_claim(host, &frame, net_entity(net, 0, 9999), claim, 1.0, &pose),
                     FL_STALE_ID);
    int32_t count = 0;
    for (FlEntityId each = {0, 0}; fl_rewind_next(host, &frame, &each, &pose);) {
        count++;
    }
    assert_int_equal(count, THINGS - 2); // all but its own
    assert_int_equal(fl_rewind_to(host, now, fl_peer_self(host), time, &frame), FL_OK);
    FlPose drawn;
    id = net_entity(net, 0, scene.walk[1].number);
    assert_int_equal(fl_rewind_pose(host, &frame, id, &pose), FL_OK);
    assert_true(fl_entity_pose_at(host, now, id, &drawn));
    assert_true(fl_vec3_distance(pose.position, drawn.position) == 0.0);
    net_close(net);
}

static void a_shooters_own_place_is_what_it_had_said(void **state)
{
    static Scene scene;
    open_scene(&scene, 4, net_topology(state), "at_once/timestamped/at_once");
    scene.deathless = true;
    play(&scene, 200);
    Net *net = &scene.net;
    double furthest = 0.0;
    int32_t near = 0;
    for (int32_t i = 0; i < 300; i++) {
        FlTime time = net_time(net, 1);
        FlVec3 truth = net_walk_at(&scene.walk[1], net->now);
        for (int32_t f = 0; f < 20; f++) {
            frame(&scene, false);
        }
        FlRewind frame;
        FlPose pose;
        FlSession *host = net->node[0].session;
        FlEntityId id = net_entity(net, 0, scene.walk[1].number);
        if (fl_rewind_to(host, net_local(net, 0), net_peer(net, 0, 1), time, &frame) == FL_OK &&
            fl_rewind_pose(host, &frame, id, &pose) == FL_OK) {
            double off = fl_vec3_distance(pose.position, truth);
            furthest = off > furthest ? off : furthest;
            near += off <= 0.12 ? 1 : 0; // its trigger, and a frame
        }
    }
    print_message("             %d of 300 within its trigger, at most %.3f m off\n", near,
                  furthest);
    assert_true(near > 280);
    net_close(net);
}

static void without_rewind_ns_nothing_is_kept(void **state)
{
    (void)state;
    FlSessionDef with = fl_session_def_default();
    FlSessionDef without = with;
    with.rewind_ns = FL_MS(500);
    assert_true(fl__session_memory(&without).pair < 256 && fl__session_memory(&with).pair > 3072);
    static Net net;
    net_open(&net, 1, FL_TOPOLOGY_STAR, false);
    net_start_together(&net, 2);
    FlSession *host = net.node[0].session;
    FlRewind frame;
    assert_int_equal(
        fl_rewind_to(host, net_local(&net, 0), net_peer(&net, 0, 1), net_time(&net, 0), &frame),
        FL_BAD_VALUE);
    net_close(&net);
}

#define STAR(test)                                                                                 \
    {                                                                                              \
        .name = #test, .test_func = test, .initial_state = (void *)"star"                          \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TOPOLOGIES(a_smoothed_frame_is_rewound_as_it_was_drawn),
        STAR(a_frame_without_smoothing_is_rewound_as_it_was_drawn),
        STAR(a_held_frame_is_rewound_as_it_was_drawn),
        STAR(a_frame_of_every_placement_is_rewound_as_it_was_drawn),
        STAR(settings_are_known_to_whoever_judges),
        STAR(a_liar_gains_no_more_than_the_bound),
        STAR(a_hit_on_a_smoothed_view_is_known_to_the_centimetre),
        STAR(what_is_too_old_or_not_yet_is_answered_so),
        STAR(a_shooters_own_place_is_what_it_had_said),
        STAR(without_rewind_ns_nothing_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
