// Calls through whole sessions: over random networks with loss up to 30 %, in every topology, plain
// and sealed, while things change hands. Every call is decided once at most, its caller learns what
// was decided, everybody ends up with the same state; nothing is allocated. And hits: what the
// shooter saw is believed, what it cannot have seen is not. And lies about numbers: nobody can use
// up another's.
#include "session_inside.h"
#include "session_net.h"

enum { NODES = 4, THINGS = 3, CALLS = 4096 };

typedef struct Made {
    int32_t caller;
    uint32_t id;
    uint32_t thing;
    int32_t decided; // 0 not, 1 refused, 2 applied
    int32_t told;    // the same; 3 unknown
} Made;

typedef struct Scene {
    Net net;
    uint32_t number[THINGS];
    Made made[CALLS];
    int32_t made_count;
    int64_t given;
} Scene;

// ---------------------------------------------------------------- the game

// A thing's state: which call changed it last.
static void write_state(int32_t call, uint8_t state[4])
{
    state[0] = (uint8_t)call;
    state[1] = (uint8_t)(call >> 8);
    state[2] = 0x55;
    state[3] = 0xaa;
}

static void make_call(Scene *scene, int32_t node)
{
    Net *net = &scene->net;
    int32_t n = scene->made_count;
    uint64_t thing = fl_random_below(&net->random, THINGS);
    uint64_t predicts = fl_random_below(&net->random, 2);
    uint8_t state[4];
    write_state(n, state);
    FlCallDef def = {.kind = FL_CALL_OWN, .bytes = state, .count = 2};
    if (predicts == 1) {
        def.predicted = state;
        def.predicted_count = sizeof state;
    }
    FlEntityId id = net_entity(net, node, scene->number[thing]);
    Made made = {.caller = node, .thing = scene->number[thing]};
    FlResult result =
        fl_call_send(net->node[node].session, net_local(net, node), id, &def, &made.id);
    assert_true(result == FL_OK || result == FL_WOULD_BLOCK || result == FL_STALE_ID);
    if (result == FL_OK) {
        scene->made[scene->made_count++] = made;
        assert_true(scene->made_count < CALLS);
    }
}

static void decide_all(Scene *scene, int32_t node)
{
    Net *net = &scene->net;
    FlSession *session = net->node[node].session;
    FlCall call;
    while (fl_call_take(session, &call) == FL_OK) {
        assert_int_equal(call.count, 2);
        int32_t n = call.bytes[0] | call.bytes[1] << 8;
        assert_true(n < scene->made_count);
        Made *made = &scene->made[n];
        assert_int_equal(made->decided, 0); // once
        assert_true(fl_entity_is_ours(session, call.entity));
        assert_int_equal(call.key.from, net_number(net, made->caller));
        bool applied = fl_random_below(&net->random, 3) > 0;
        uint8_t state[4];
        write_state(n, state);
        FlTime now = net_local(net, node);
        FlResult result = fl_call_answer(session, now, &call, applied, applied ? state : NULL, 4);
        assert_int_equal(result, FL_OK);
        assert_int_equal(fl_call_answer(session, now, &call, applied, NULL, 0), FL_STALE_ID);
        made->decided = applied ? 2 : 1;
    }
}

static void learn_all(Scene *scene, int32_t node)
{
    Net *net = &scene->net;
    FlCallDone done;
    while (fl_call_take_done(net->node[node].session, net_local(net, node), &done) == FL_OK) {
        int32_t n = 0;
        while (n < scene->made_count &&
               (scene->made[n].id != done.id || scene->made[n].caller != node)) {
            n++;
        }
        assert_true(n < scene->made_count && scene->made[n].told == 0);
        scene->made[n].told = done.verdict == FL_CALL_APPLIED   ? 2
                              : done.verdict == FL_CALL_REFUSED ? 1
                                                                : 3;
    }
}

static void give(Scene *scene, int32_t node)
{
    Net *net = &scene->net;
    FlSession *session = net->node[node].session;
    uint64_t thing = fl_random_below(&net->random, THINGS);
    uint64_t ahead = 1 + fl_random_below(&net->random, NODES - 1);
    FlEntityId id = net_entity(net, node, scene->number[thing]);
    FlPeerId to = net_peer(net, node, (node + (int32_t)ahead) % NODES);
    if (fl_entity_is_ours(session, id) &&
        fl_entity_give(session, net_local(net, node), id, to) == FL_OK) {
        scene->given++;
    }
}

static void frame(Scene *scene, bool busy)
{
    for (int32_t node = 0; node < NODES; node++) {
        net_drop_notices(scene->net.node[node].session);
        decide_all(scene, node);
        learn_all(scene, node);
        if (busy && fl_random_below(&scene->net.random, 30) == 0) {
            make_call(scene, node);
        }
        if (busy && fl_random_below(&scene->net.random, 60) == 0) {
            give(scene, node);
        }
    }
    net_frame(&scene->net);
}

// ---------------------------------------------------------------- decided once, known to all

static void open_scene(Scene *scene, uint64_t seed, FlTopology topology)
{
    memset(scene, 0, sizeof *scene);
    Net *net = &scene->net;
    net_open(net, seed, topology, seed % 2 == 0);
    net->weather = net_storm(&net->random, 30);
    net->def.tuning.calls.life_ns = FL_SEC(12); // nothing ends for slowness
    net->def.tuning.calls.received_capacity = 2048;
    net->def.tuning.calls.asked_capacity = 64;
    net_start_together(net, NODES);
    FlEntityDef def = fl_entity_def_default();
    for (int32_t t = 0; t < THINGS; t++) {
        FlEntityId id;
        scene->number[t] = net_make(net, t, &def, &id);
    }
    for (int32_t f = 0; f < 100; f++) {
        frame(scene, false);
    }
}

static bool all_told(const Scene *scene)
{
    for (int32_t n = 0; n < scene->made_count; n++) {
        if (scene->made[n].told == 0) {
            return false;
        }
    }
    return true;
}

static bool same_states(const Scene *scene)
{
    for (int32_t t = 0; t < THINGS; t++) {
        const uint8_t *first = NULL;
        int32_t first_count = 0;
        for (int32_t node = 0; node < NODES; node++) {
            const uint8_t *bytes;
            int32_t count;
            FlSession *session = scene->net.node[node].session;
            FlEntityId id = net_entity(&scene->net, node, scene->number[t]);
            bool known = fl_entity_state_get(session, id, &bytes, &count) == FL_OK && count == 4;
            if (!known || (first != NULL && memcmp(first, bytes, 4) != 0)) {
                return false;
            }
            first = bytes;
            first_count = count;
        }
        assert_int_equal(first_count, 4);
    }
    return true;
}

static void calls_are_decided_once_and_both_ends_agree(void **state)
{
    FlTopology topology = net_topology(state);
    const char *name = (const char *)*state;
    static Scene scene;
    int64_t made = 0;
    int64_t given = 0;
    uint64_t elided = 0;
    uint64_t duplicates = 0;
    uint64_t bytes = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        open_scene(&scene, seed, topology);
        for (int32_t f = 0; f < 800; f++) {
            frame(&scene, true);
        }
        for (int32_t f = 0; f < 1500 && !(all_told(&scene) && same_states(&scene)); f++) {
            frame(&scene, false);
        }
        for (int32_t n = 0; n < scene.made_count; n++) {
            assert_int_not_equal(scene.made[n].decided, 0);
            assert_int_equal(scene.made[n].told, scene.made[n].decided);
        }
        assert_true(same_states(&scene));
        assert_int_equal(net_count(&scene.net, FL_SESSION_MALFORMED), 0);
        made += scene.made_count;
        given += scene.given;
        for (int32_t i = 0; i < NODES; i++) {
            FlCallStats stats = fl__call_stats(scene.net.node[i].session);
            elided += stats.count[FL_CALLS_ELIDED];
            duplicates += stats.count[FL_CALLS_DUPLICATE];
            bytes += stats.count[FL_CALLS_BYTES_OUT];
        }
        net_close(&scene.net);
    }
    print_message("             %s: %lld calls, things given %lld times; %llu answers elided, %llu "
                  "duplicates, %.1f bytes a call\n",
                  name, (long long)made, (long long)given, (unsigned long long)elided,
                  (unsigned long long)duplicates, (double)bytes / (double)made);
    assert_true(made > 500 && given > 20 && elided > 0 && duplicates > 0);
}

static void calls_take_no_memory(void **state)
{
    (void)state;
    static Scene scene;
    open_scene(&scene, 3, FL_TOPOLOGY_HYBRID);
    for (int32_t f = 0; f < 200; f++) {
        frame(&scene, true);
    }
    int32_t before[NODES];
    for (int32_t i = 0; i < NODES; i++) {
        before[i] = scene.net.node[i].memory.calls;
    }
    int32_t made = scene.made_count;
    for (int32_t f = 0; f < 500; f++) {
        frame(&scene, true);
    }
    assert_true(scene.made_count > made + 50);
    for (int32_t i = 0; i < NODES; i++) {
        assert_int_equal(scene.net.node[i].memory.calls, before[i]);
    }
    net_close(&scene.net);
}

// ---------------------------------------------------------------- what goes

static void calls_on_what_goes_are_unknown_and_on_what_stays_find_a_new_owner(void **state)
{
    (void)state;
    static Scene scene;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        memset(&scene, 0, sizeof scene);
        Net *net = &scene.net;
        net_open(net, seed, (FlTopology)(seed % 3), seed % 2 == 0);
        net->def.tuning.calls.life_ns = FL_SEC(30);
        net_start_together(net, NODES);
        FlEntityDef def = fl_entity_def_default();
        for (int32_t t = 0; t < 2; t++) {
            FlEntityId id;
            def.survives_owner = t == 1;
            scene.number[t] = net_make(net, 2, &def, &id);
            assert_int_equal(fl_entity_state_set(net->node[2].session, id, "was", 3), FL_OK);
        }
        net_run(net, net->now + FL_SEC(2));
        net_crash(net, 2);
        FlCallDef call = {.kind = FL_CALL_DOOR};
        for (int32_t t = 0; t < 2; t++) {
            uint32_t id;
            FlEntityId thing = net_entity(net, 1, scene.number[t]);
            FlResult result =
                fl_call_send(net->node[1].session, net_local(net, 1), thing, &call, &id);
            assert_int_equal(result, FL_OK);
        }
        net_run(net, net->now + FL_SEC(20));
        assert_int_equal(net_entity(net, 1, scene.number[0]).index1, 0); // it went
        FlEntityId left = net_entity(net, 0, scene.number[1]);
        assert_true(fl_entity_is_ours(net->node[0].session, left));
        for (int32_t t = 0; t < 2; t++) {
            FlCallDone done;
            assert_int_equal(fl_call_take_done(net->node[1].session, net_local(net, 1), &done),
                             FL_OK);
            assert_int_equal(done.verdict, FL_CALL_UNKNOWN);
            assert_int_equal(done.why, FL_CALL_OWNER_GONE);
        }
        for (int32_t i = 0; i < NODES; i++) {
            const uint8_t *bytes;
            int32_t count;
            if (i != 2) {
                FlEntityId id = net_entity(net, i, scene.number[1]);
                FlResult result = fl_entity_state_get(net->node[i].session, id, &bytes, &count);
                assert_true(result == FL_OK && count == 3 && memcmp(bytes, "was", 3) == 0);
            }
        }
        net_close(net);
    }
}

// ---------------------------------------------------------------- hits

typedef struct Shots {
    int32_t owner; // node that owns the target, and decides
    int32_t honest, believed, cheats, caught;
} Shots;

// Node 1 shoots at node 2's walker: where it sees it, or five metres beside.
static void shoot_with(Scene *scene, const NetWalk *walks, const NetWalk *gun, bool cheat)
{
    Net *net = &scene->net;
    FlSession *session = net->node[1].session;
    FlEntityId target = net_entity(net, 1, walks[1].number);
    FlPose pose;
    if (!fl_entity_pose_at(session, net_local(net, 1), target, &pose)) {
        return;
    }
    FlHitCall hit = {.shooter = (uint16_t)gun->number, .damage = 10, .time = net_time(net, 1)};
    double beside = cheat && gun == &walks[0] ? 5.0 : 0.0;
    hit.target = fl_vec3(pose.position.x + beside, pose.position.y, 0.0);
    FlWorld world;
    assert_int_equal(fl_world_init(&net->def.world, &world), FL_OK);
    uint8_t bytes[FL_CALL_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    assert_true(fl_hit_call_write(&w, &world, &hit));
    FlCallDef def = {.kind = FL_CALL_DAMAGE, .bytes = bytes, .count = fl_writer_size(&w)};
    Made *made = &scene->made[scene->made_count];
    if (fl_call_send(session, net_local(net, 1), target, &def, &made->id) == FL_OK) {
        made->caller = cheat ? 1 : 0;
        scene->made_count++;
    }
}

static void shoot(Scene *scene, const NetWalk *walks, bool cheat)
{
    shoot_with(scene, walks, &walks[0], cheat);
}

static void count_shots(Scene *scene, Shots *shots)
{
    Net *net = &scene->net;
    FlSession *owner = net->node[shots->owner].session;
    FlCall call;
    while (fl_call_take(owner, &call) == FL_OK) {
        assert_int_equal((int32_t)call.from.index1 - 1, net_number(net, 1));
        FlResult result = fl_call_answer(owner, net_local(net, shots->owner), &call, true, NULL, 0);
        assert_int_equal(result, FL_OK);
    }
    FlCallDone done;
    while (fl_call_take_done(net->node[1].session, net_local(net, 1), &done) == FL_OK) {
        int32_t n = 0;
        while (scene->made[n].id != done.id) {
            n++;
        }
        bool cheat = scene->made[n].caller == 1;
        shots->honest += cheat ? 0 : 1;
        shots->believed += !cheat && done.verdict == FL_CALL_APPLIED ? 1 : 0;
        shots->cheats += cheat ? 1 : 0;
        shots->caught += cheat && done.verdict == FL_CALL_REFUSED ? 1 : 0;
    }
}

// Everybody owns its avatar, or the host owns all of them: a server that plays for everybody.
static void run_shots(FlTopology topology, bool host_owns, bool with_anothers, Shots *shots)
{
    static Scene scene;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        memset(&scene, 0, sizeof scene);
        Net *net = &scene.net;
        net_open(net, seed, topology, seed % 2 == 0);
        net->weather = net_storm(&net->random, 5);
        net_start_together(net, 3);
        FlHitRules rules = fl_hit_rules_default();
        NetWalk walks[2];
        FlEntityDef def = fl_entity_def_default();
        for (int32_t i = 0; i < 3; i++) {
            fl_call_hit_rules(net->node[i].session, &rules);
        }
        for (int32_t i = 0; i < 2; i++) {
            int32_t owner = host_owns ? 0 : i + 1;
            assert_int_equal(net_walk_begin(net, &walks[i], owner, &def), FL_OK);
        }
        shots->owner = walks[1].owner;
        for (int32_t f = 0; f < 700; f++) {
            for (int32_t i = 0; i < 2; i++) {
                if (fl_random_below(&net->random, 20) == 0) {
                    net_walk_turn(net, &walks[i]);
                }
                assert_int_equal(net_walk_step(net, &walks[i]), FL_OK);
            }
            if (f > 200 && f < 600 && f % 5 == 0) {
                bool cheat = f % 2 == 0;
                shoot_with(&scene, walks, &walks[with_anothers && cheat ? 1 : 0], cheat);
            }
            net_frame(net);
            count_shots(&scene, shots);
        }
        net_close(net);
    }
    print_message("             %s, %s: %d of %d honest hits believed, %d of %d others caught\n",
                  topology == FL_TOPOLOGY_STAR   ? "star"
                  : topology == FL_TOPOLOGY_MESH ? "mesh"
                                                 : "hybrid",
                  host_owns ? "the host owns all" : "everybody its own", shots->believed,
                  shots->honest, shots->caught, shots->cheats);
    assert_true(shots->honest > 100 && shots->cheats > 100);
    assert_int_equal(shots->caught, shots->cheats);
    assert_true(shots->believed * 100 >= shots->honest * 95);
}

static void what_the_shooter_saw_is_believed_and_nothing_else(void **state)
{
    (void)state;
    for (int32_t topology = 0; topology < 3; topology++) {
        Shots shots = {0};
        run_shots((FlTopology)topology, false, false, &shots);
    }
}

static void who_shoots_is_who_calls_where_the_host_owns_the_avatars(void **state)
{
    (void)state;
    for (int32_t topology = 0; topology < 3; topology++) {
        Shots shots = {0};
        run_shots((FlTopology)topology, true, false, &shots);
    }
}

static void nobody_shoots_with_what_another_player_owns(void **state)
{
    (void)state;
    Shots shots = {0};
    run_shots(FL_TOPOLOGY_STAR, false, true, &shots);
}

// The owner's game hangs for 1.5 s: the host passes copies on that are too old by then.
static void a_hit_has_one_verdict_however_long_its_owner_takes(void **state)
{
    (void)state;
    static Scene scene;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        memset(&scene, 0, sizeof scene);
        Net *net = &scene.net;
        net_open(net, seed, FL_TOPOLOGY_STAR, seed % 2 == 0);
        net_start_together(net, 3);
        FlHitRules rules = fl_hit_rules_default();
        NetWalk walks[2];
        FlEntityDef def = fl_entity_def_default();
        for (int32_t i = 0; i < 2; i++) { // the host, and the shooter; the owner has none
            fl_call_hit_rules(net->node[i].session, &rules);
            assert_int_equal(net_walk_begin(net, &walks[i], i + 1, &def), FL_OK);
        }
        Shots shots = {.owner = 2};
        for (int32_t f = 0; f < 500; f++) {
            for (int32_t i = 0; i < 2; i++) {
                assert_int_equal(net_walk_step(net, &walks[i]), FL_OK);
            }
            if (f == 300 || f == 301) {
                shoot(&scene, walks, f == 301);
            }
            net_frame(net);
            if (f < 300 || f > 375) {
                count_shots(&scene, &shots);
            }
        }
        assert_true(shots.honest == 1 && shots.believed == 1);
        assert_true(shots.cheats == 1 && shots.caught == 1);
        FlCallStats stats = fl__call_stats(net->node[2].session);
        assert_int_equal(stats.count[FL_CALLS_DECIDED_APPLIED], 1);
        assert_int_equal(stats.count[FL_CALLS_DECIDED_REFUSED], 1);
        assert_true(stats.count[FL_CALLS_DUPLICATE] > 2);
        net_close(net);
    }
}

// ---------------------------------------------------------------- lies about numbers

static void say_claim(Net *net, int32_t node, uint32_t number, uint16_t epoch, bool ended)
{
    FlSession *session = net->node[node].session;
    int32_t to = inside_host(session); // or who has taken over, and is not followed yet
    for (int32_t i = 0; i < net->count; i++) {
        bool leads = net->node[i].session != NULL && fl__is_host(net->node[i].session);
        to = leads ? net_number(net, i) : to;
    }
    ClaimMessage m = {.number = (uint16_t)number, .epoch = epoch, .ended = ended};
    uint8_t bytes[64];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__claim_message_write(&w, &m);
    assert_int_equal(inside_say(session, to, &w), FL_OK);
}

/// The first of the numbers that are a member's to give, and how many those are.
static uint32_t numbers_of(const Net *net, int32_t member, uint32_t *count)
{
    *count = (uint32_t)(net->def.world.entity_capacity / (net->def.peer_capacity + 1));
    return *count * (uint32_t)member;
}

static void lie_about(Net *net, int32_t liar, int32_t victim, uint16_t epoch)
{
    uint32_t count;
    uint32_t first = numbers_of(net, net_number(net, victim), &count);
    count = count < 8 ? count : 8;
    for (uint32_t n = first; n < first + count; n++) {
        say_claim(net, liar, n, epoch, n % 2 == 0);
    }
}

// What a node makes is known to everybody.
static void assert_numbers_work(Net *net, int32_t node)
{
    uint32_t numbers[4];
    FlEntityDef def = fl_entity_def_default();
    for (int32_t k = 0; k < 4; k++) {
        FlEntityId id;
        numbers[k] = net_make(net, node, &def, &id);
    }
    net_run(net, net->now + FL_SEC(2));
    for (int32_t i = 0; i < net->count; i++) {
        for (int32_t k = 0; k < 4 && net->node[i].session != NULL; k++) {
            assert_int_not_equal(net_entity(net, i, numbers[k]).index1, 0);
        }
    }
}

static void nobody_can_use_up_anothers_numbers(void **state)
{
    (void)state;
    static Net net;
    for (int32_t topology = 0; topology < 3; topology++) {
        net_open(&net, 1, (FlTopology)topology, false);
        net_start_together(&net, 3);
        lie_about(&net, 1, 2, 20000);
        lie_about(&net, 1, 0, 20000);
        FlSession *host = net.node[0].session;
        uint32_t count;
        uint32_t free = numbers_of(&net, NET_NODES - 1, &count); // where nobody is yet
        uint16_t epoch;
        say_claim(&net, 1, free, 20000, true);
        net_run(&net, net.now + FL_SEC(1));
        assert_false(inside_knows_number(host, free, &epoch)); // it has not asked
        assert_numbers_work(&net, 2);
        assert_numbers_work(&net, 0);
        net_close(&net);
    }
}

static int32_t asking_host(const Net *net, int32_t of)
{
    for (int32_t i = 0; i < net->count; i++) {
        const FlSession *session = net->node[i].session;
        if (session != NULL && i != of && fl__is_host(session) &&
            inside_waits_for(session, net_number(net, of))) {
            return i;
        }
    }
    return -1;
}

// A new host asks everybody, and one lies before it answers.
static void nor_when_a_new_host_asks(void **state)
{
    (void)state;
    static Net net;
    for (int32_t trial = 0; trial < 4; trial++) {
        net_open(&net, (uint64_t)trial + 1, FL_TOPOLOGY_MESH, false);
        net_start_together(&net, NODES);
        net_run(&net, net.now + FL_SEC(1));
        net_crash(&net, 0);
        int32_t liar = 3;
        int32_t host = -1;
        for (int32_t f = 0; f < 2000 && host < 0; f++) {
            net_frame(&net);
            host = asking_host(&net, liar);
        }
        assert_true(host > 0);
        uint64_t before = fl_session_count(net.node[host].session, FL_SESSION_FOREIGN);
        int32_t victim = host == 1 ? 2 : 1;
        uint16_t epoch = trial % 2 == 0 ? 20000 : 7; // far, and so near that it could be
        lie_about(&net, liar, victim, epoch);
        lie_about(&net, liar, host, epoch);
        net_run(&net, net.now + FL_MS(100));
        assert_int_equal(fl_session_count(net.node[host].session, FL_SESSION_FOREIGN), before + 16);
        net_run(&net, net.now + FL_SEC(5));
        assert_false(inside_asks(net.node[host].session));
        assert_numbers_work(&net, victim);
        assert_numbers_work(&net, host);
        assert_numbers_work(&net, liar);
        net_close(&net);
    }
}

// Of who is gone it may say what it knows: then the next one there begins after it.
static void what_a_new_host_missed_of_those_gone_it_is_told(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 5, FL_TOPOLOGY_MESH, false);
    net_start_together(&net, NODES);
    net_run(&net, net.now + FL_SEC(1));
    uint32_t count;
    uint32_t gone = numbers_of(&net, net_number(&net, 0), &count);
    net_crash(&net, 0);
    int32_t host = -1;
    for (int32_t f = 0; f < 2000 && host < 0; f++) {
        net_frame(&net);
        host = asking_host(&net, 3);
    }
    assert_true(host > 0);
    FlSession *session = net.node[host].session;
    say_claim(&net, 3, gone, 3, true);
    say_claim(&net, 3, gone, 20000, true); // nobody lives so many lives in so short a time
    net_run(&net, net.now + FL_MS(100));
    uint16_t epoch;
    assert_true(inside_knows_number(session, gone, &epoch));
    assert_int_equal(epoch, 3);
    net_close(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TOPOLOGIES(calls_are_decided_once_and_both_ends_agree),
        cmocka_unit_test(calls_take_no_memory),
        cmocka_unit_test(calls_on_what_goes_are_unknown_and_on_what_stays_find_a_new_owner),
        cmocka_unit_test(what_the_shooter_saw_is_believed_and_nothing_else),
        cmocka_unit_test(who_shoots_is_who_calls_where_the_host_owns_the_avatars),
        cmocka_unit_test(nobody_shoots_with_what_another_player_owns),
        cmocka_unit_test(a_hit_has_one_verdict_however_long_its_owner_takes),
        cmocka_unit_test(nobody_can_use_up_anothers_numbers),
        cmocka_unit_test(nor_when_a_new_host_asks),
        cmocka_unit_test(what_a_new_host_missed_of_those_gone_it_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
