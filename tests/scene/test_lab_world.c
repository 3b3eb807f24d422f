// lab/world/world: sessions in virtual time, and what puppets show.
#include "../unit/support.h"

#include "lab/actors/puppet.h"
#include "lab/world/world.h"

// ---------------------------------------------------------------- a small world

typedef struct Scene {
    World *world;
    Puppet puppet;
    Circle circle;
    int32_t clients;
    Eye eyes[16];
    // what the looker saw
    int64_t looks, errors, newest;
    double worst, worst_session, mean_sum;
    FlTime clock_worst;
} Scene;

static FlTime look(void *ctx, World *world, FlTime now)
{
    Scene *scene = (Scene *)ctx;
    for (int32_t i = 1; i <= scene->clients; i++) {
        Look seen;
        scene->eyes[i].receiver = i;
        puppet_look(&scene->puppet, world, &scene->eyes[i], &seen);
        scene->looks++;
        scene->newest += seen.newest ? 1 : 0;
        if (isfinite(seen.error)) {
            scene->errors++;
            scene->worst = fmax(scene->worst, seen.error);
            scene->mean_sum += seen.error;
        }
        if (isfinite(seen.session_error)) {
            scene->worst_session = fmax(scene->worst_session, seen.session_error);
        }
        FlTime clock = seen.clock_error < 0 ? -seen.clock_error : seen.clock_error;
        scene->clock_worst = clock > scene->clock_worst ? clock : scene->clock_worst;
    }
    return now + FL_MS(10);
}

static void open_scene(Scene *scene, int32_t clients, bool sealed, uint64_t seed,
                       const FlImpairSettings *way)
{
    memset(scene, 0, sizeof *scene);
    WorldDef def = world_def_default();
    def.seed = seed;
    def.sealed = sealed;
    scene->clients = clients;
    assert_int_equal(world_create(&def, &scene->world), FL_OK);
    for (int32_t i = 0; i <= clients; i++) {
        WorldNodeDef node = world_node_def_default();
        int32_t index;
        node.session.role = i == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
        node.clock_offset = FL_SEC(1000) * (i - 1);
        node.clock_drift_ppm = 40.0 * i - 60.0;
        assert_int_equal(world_node_add(scene->world, &node, &index), FL_OK);
        assert_int_equal(index, i);
        if (i > 0) {
            assert_int_equal(world_ways_set(scene->world, 0, i, way), FL_OK);
        }
    }
    scene->circle = (Circle){20.0, 0.5, fl_vec3(0.0, 0.0, 0.0), 0.0};
    scene->puppet = (Puppet){
        .source = source_circle(&scene->circle, FL_SEC(3600)),
        .begin = FL_SEC(5),
        .def = fl_entity_def_default(),
    };
    scene->puppet.def.model = FL_MODEL_CIRCULAR;
    assert_int_equal(puppet_enter(&scene->puppet, scene->world), FL_OK);
    assert_int_equal(world_actor_add(scene->world, WORLD_LOOKER, FL_SEC(8), look, scene), FL_OK);
}

static FlImpairSettings way_of(FlTime delay, FlTime jitter, int32_t loss_ppm)
{
    FlImpairSettings way = fl_impair_def_default().settings;
    way.delay_ns = delay;
    way.jitter_ns = jitter;
    way.shape = FL_SHAPE_UNIFORM;
    way.loss_ppm = loss_ppm;
    return way;
}

// ---------------------------------------------------------------- tests

static void everybody_gets_in_and_sees_the_entity(void **state)
{
    (void)state;
    for (int32_t sealed = 0; sealed < 2; sealed++) {
        Scene scene;
        FlImpairSettings way = way_of(FL_MS(100), 0, 0);
        open_scene(&scene, 3, sealed == 1, 1, &way);
        world_run(scene.world, FL_SEC(4));
        assert_true(world_all_in(scene.world));
        world_run(scene.world, FL_SEC(30));
        assert_int_equal(scene.errors, scene.looks - scene.clients); // the first look of each
        assert_true(scene.newest > scene.looks / 2);
        assert_true(scene.worst < 0.3); // 0.1 m, rounding, and 20 m/s by the clocks' error
        WorldStats stats = world_stats(scene.world);
        assert_int_equal(stats.crowded, 0);
        assert_int_equal(stats.unroutable, 0);
        assert_int_equal(stats.lost, 0);
        assert_int_equal(stats.hurried, 0);
        world_destroy(scene.world);
    }
}

static void at_equal_session_time_what_is_shown_is_what_was_told(void **state)
{
    (void)state;
    FlRandom r = random_stream(5);
    for (int32_t i = 0; i < CASES(10); i++) {
        Scene scene;
        FlTime delay = random_time(&r, FL_MS(1), FL_MS(400));
        FlTime jitter = random_time(&r, 0, delay);
        int32_t loss = (int32_t)fl_random_below(&r, 100000);
        FlImpairSettings way = way_of(delay, jitter, loss);
        open_scene(&scene, 2, i % 2 == 0, (uint64_t)i, &way);
        world_run(scene.world, FL_SEC(40));
        assert_true(scene.newest > 100);
        check_near(scene.worst_session, 0.0, 1e-9);
        world_destroy(scene.world);
    }
}

static void clocks_run_as_they_were_told(void **state)
{
    (void)state;
    Scene scene;
    FlImpairSettings way = way_of(FL_MS(10), 0, 0);
    open_scene(&scene, 2, false, 1, &way);
    FlRandom r = random_stream(6);
    for (int32_t i = 0; i < 1000; i++) {
        int32_t node = (int32_t)fl_random_below(&r, 3);
        FlTime time = random_time(&r, 0, FL_SEC(10000));
        FlTime local = world_local(scene.world, node, time);
        FlTime expected =
            time + FL_SEC(1000) * (node - 1) + (FlTime)((double)time * (40.0 * node - 60.0) * 1e-6);
        assert_true(llabs(local - expected) <= 1);
        // the first moment at which the clock shows that, or the last at which it shows less, plus
        // 1
        FlTime first = world_time_of(scene.world, node, local);
        assert_true(first <= time);
        assert_true(world_local(scene.world, node, first) >= local);
        assert_true(world_local(scene.world, node, first - 1) < local);
    }
    assert_int_equal(world_time_of(scene.world, 1, FL_FOREVER), FL_FOREVER);
    world_destroy(scene.world);
}

static uint64_t hash_of_run(uint64_t seed, bool sealed)
{
    Scene scene;
    FlImpairSettings way = way_of(FL_MS(80), FL_MS(30), 20000);
    open_scene(&scene, 3, sealed, seed, &way);
    world_run(scene.world, FL_SEC(20));
    uint64_t hash = world_stats(scene.world).hash;
    world_destroy(scene.world);
    return hash;
}

static void the_same_seed_gives_the_same_bytes(void **state)
{
    (void)state;
    for (int32_t sealed = 0; sealed < 2; sealed++) {
        uint64_t hash = hash_of_run(7, sealed == 1);
        assert_true(hash_of_run(7, sealed == 1) == hash);
        assert_true(hash_of_run(8, sealed == 1) != hash);
    }
}

/// Running in two steps is running in one.
static void stopping_between_changes_nothing(void **state)
{
    (void)state;
    FlImpairSettings way = way_of(FL_MS(80), FL_MS(30), 20000);
    Scene scene;
    open_scene(&scene, 2, true, 3, &way);
    FlRandom r = random_stream(8);
    for (FlTime t = 0; t < FL_SEC(15);) {
        t += random_time(&r, 1, FL_MS(500));
        world_run(scene.world, t < FL_SEC(15) ? t : FL_SEC(15));
    }
    uint64_t hash = world_stats(scene.world).hash;
    world_destroy(scene.world);
    open_scene(&scene, 2, true, 3, &way);
    world_run(scene.world, FL_SEC(15));
    assert_true(world_stats(scene.world).hash == hash);
    world_destroy(scene.world);
}

/// Three peers of a mesh, or of a star, with a short way between the two clients; by the local
/// clock the error tells which way updates took.
static double error_between_clients(FlTopology topology)
{
    static Circle circle = {20.0, 0.5, {0.0, 0.0, 0.0}, 0.0};
    WorldDef def = world_def_default();
    World *world;
    assert_int_equal(world_create(&def, &world), FL_OK);
    for (int32_t i = 0; i < 3; i++) {
        WorldNodeDef node = world_node_def_default();
        int32_t index;
        node.session.role = i == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
        node.session.topology = topology;
        node.session.tuning.direct_capacity = 4;
        node.session.tuning.time_mode = FL_TIME_LOCAL;
        assert_int_equal(world_node_add(world, &node, &index), FL_OK);
    }
    FlImpairSettings slow = way_of(FL_MS(200), 0, 0);
    FlImpairSettings fast = way_of(FL_MS(20), 0, 0);
    assert_int_equal(world_ways_set(world, 0, 1, &slow), FL_OK);
    assert_int_equal(world_ways_set(world, 0, 2, &slow), FL_OK);
    assert_int_equal(world_ways_set(world, 1, 2, &fast), FL_OK);
    Puppet puppet = {.source = source_circle(&circle, FL_SEC(100)),
                     .begin = FL_SEC(8),
                     .node = 1,
                     .def = fl_entity_def_default()};
    puppet.def.model = FL_MODEL_CIRCULAR;
    assert_int_equal(puppet_enter(&puppet, world), FL_OK);
    world_run(world, FL_SEC(20));
    Eye eye = {.receiver = 2};
    Look seen;
    puppet_look(&puppet, world, &eye, &seen); // what the first look sees does not count
    puppet_look(&puppet, world, &eye, &seen);
    world_destroy(world);
    return seen.error;
}

static void in_a_mesh_updates_go_straight(void **state)
{
    (void)state;
    check_near(error_between_clients(FL_TOPOLOGY_STAR), 20.0 * 0.4, 0.5);
    check_near(error_between_clients(FL_TOPOLOGY_MESH), 20.0 * 0.02, 0.2);
    check_near(error_between_clients(FL_TOPOLOGY_HYBRID), 20.0 * 0.02, 0.2);
}

static void without_a_way_datagrams_are_counted_and_lost(void **state)
{
    (void)state;
    WorldDef def = world_def_default();
    World *world;
    assert_int_equal(world_create(&def, &world), FL_OK);
    for (int32_t i = 0; i < 2; i++) {
        WorldNodeDef node = world_node_def_default();
        int32_t index;
        node.session.role = i == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
        assert_int_equal(world_node_add(world, &node, &index), FL_OK);
    }
    world_run(world, FL_SEC(2));
    WorldStats stats = world_stats(world);
    assert_true(stats.datagrams > 0);
    assert_true(stats.unroutable == stats.datagrams);
    assert_false(world_all_in(world));
    world_destroy(world);
}

// ---------------------------------------------------------------- ways by default

static World *ticking(uint64_t seed, const FlImpairSettings *way, FlTime side_ns, FlTime tick_ns)
{
    WorldDef def = world_def_default();
    World *world;
    def.seed = seed;
    def.sealed = false;
    def.tick_ns = tick_ns;
    assert_int_equal(world_create(&def, &world), FL_OK);
    assert_int_equal(world_way_default(world, way, side_ns), FL_OK);
    for (int32_t i = 0; i < 6; i++) {
        WorldNodeDef node = world_node_def_default();
        int32_t index;
        node.session.role = i == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
        assert_int_equal(world_node_add(world, &node, &index), FL_OK);
    }
    return world;
}

static World *plain_pair(uint64_t seed, const FlImpairSettings *way, FlTime side_ns)
{
    return ticking(seed, way, side_ns, 0);
}

/// The shortest round trip to the host that a client has measured.
static FlTime round_trip(World *world, int32_t client)
{
    FlSession *session = world_session(world, client);
    FlLinkStats stats;
    assert_int_equal(fl_peer_stats(session, world_now(world), fl_peer_host(session), &stats),
                     FL_OK);
    return stats.rtt_min_ns;
}

static void by_default_a_way_is_as_long_as_two_nodes_are_apart(void **state)
{
    (void)state;
    FlImpairSettings way = way_of(FL_MS(5), 0, 0);
    World *world = plain_pair(4, &way, FL_MS(100));
    world_run(world, FL_SEC(20));
    assert_true(world_all_in(world));
    assert_int_equal(world_stats(world).unroutable, 0);
    assert_int_equal(world_stats(world).lost, 0);
    for (int32_t i = 1; i < 6; i++) {
        FlTime length = world_way_length(world, 0, i);
        assert_true(length > 0 && length < FL_MS(142));
        assert_int_equal(length, world_way_length(world, i, 0));
        FlTime trip = round_trip(world, i);
        assert_true(trip >= 2 * (FL_MS(5) + length) - FL_MS(1));
        assert_true(trip <= 2 * (FL_MS(5) + length) + FL_MS(2));
    }
    world_destroy(world);
}

static void a_way_of_its_own_comes_before_the_default(void **state)
{
    (void)state;
    FlImpairSettings way = way_of(FL_MS(5), 0, 0);
    FlImpairSettings own = way_of(FL_MS(300), 0, 0);
    World *world = plain_pair(4, &way, 0);
    assert_int_equal(world_ways_set(world, 0, 2, &own), FL_OK);
    world_run(world, FL_SEC(20));
    assert_true(round_trip(world, 1) < FL_MS(13));
    assert_true(round_trip(world, 2) >= FL_MS(599));
    world_destroy(world);
}

static void the_default_way_loses_its_share_and_repeats_itself(void **state)
{
    (void)state;
    FlImpairSettings way = way_of(FL_MS(20), FL_MS(10), 100000);
    World *world = plain_pair(9, &way, FL_MS(30));
    world_run(world, FL_SEC(60));
    WorldStats stats = world_stats(world);
    double share = (double)stats.lost / (double)stats.datagrams;
    assert_true(share > 0.07 && share < 0.13);
    world_destroy(world);
    world = plain_pair(9, &way, FL_MS(30));
    world_run(world, FL_SEC(60));
    assert_true(world_stats(world).hash == stats.hash);
    world_destroy(world);
}

static void what_lasts_longer_than_a_datagram_cannot_be_shared(void **state)
{
    (void)state;
    FlImpairSettings way = way_of(FL_MS(20), 0, 0);
    World *world = plain_pair(1, &way, 0);
    way.keep_order = true;
    assert_int_equal(world_way_default(world, &way, 0), FL_BAD_VALUE);
    way.keep_order = false;
    way.rate_bytes_s = 10000;
    assert_int_equal(world_way_default(world, &way, 0), FL_BAD_VALUE);
    world_destroy(world);
}

static void a_node_looks_at_the_first_of_its_own_ticks(void **state)
{
    (void)state;
    FlImpairSettings way = way_of(FL_MS(5), 0, 0);
    World *world = ticking(1, &way, 0, FL_MS(20));
    FlRandom r = random_stream(9);
    for (int32_t i = 0; i < CASES(1000); i++) {
        int32_t node = (int32_t)fl_random_below(&r, 6);
        FlTime time = random_time(&r, 0, FL_SEC(1000));
        FlTime tick = world_tick(world, node, time);
        assert_true(tick >= time && tick < time + FL_MS(20));
        assert_int_equal(world_tick(world, node, tick), tick);
        assert_int_equal(world_tick(world, node, tick + 1), tick + FL_MS(20));
        assert_true(node == 0 || world_tick(world, 0, tick) != tick); // nobody else's
    }
    assert_int_equal(world_tick(world, 1, FL_FOREVER), FL_FOREVER);
    world_destroy(world);
}

/// Datagrams wait for the tick, but are known to have come when they came.
static void ticks_delay_answers_and_not_arrivals(void **state)
{
    (void)state;
    FlImpairSettings way = way_of(FL_MS(5), 0, 0);
    World *world = ticking(1, &way, 0, FL_MS(20));
    world_run(world, FL_SEC(20));
    assert_true(world_all_in(world));
    for (int32_t i = 1; i < 6; i++) {
        assert_true(round_trip(world, i) >= FL_MS(10) && round_trip(world, i) < FL_MS(13));
    }
    world_destroy(world);
}

/// A quiet world costs nothing: no fixed tick.
static void nothing_happens_between_deadlines(void **state)
{
    (void)state;
    Scene scene;
    FlImpairSettings way = way_of(FL_MS(50), 0, 0);
    memset(&scene, 0, sizeof scene);
    WorldDef def = world_def_default();
    assert_int_equal(world_create(&def, &scene.world), FL_OK);
    for (int32_t i = 0; i < 2; i++) {
        WorldNodeDef node = world_node_def_default();
        int32_t index;
        node.session.role = i == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
        assert_int_equal(world_node_add(scene.world, &node, &index), FL_OK);
    }
    assert_int_equal(world_ways_set(scene.world, 0, 1, &way), FL_OK);
    world_run(scene.world, FL_SEC(10));
    uint64_t before = world_stats(scene.world).pumps;
    world_run(scene.world, FL_SEC(110));
    uint64_t pumps = world_stats(scene.world).pumps - before;
    print_message("             %llu pumps of two idle nodes in 100 s\n",
                  (unsigned long long)pumps);
    assert_true(pumps < 2000);
    world_destroy(scene.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_gets_in_and_sees_the_entity),
        cmocka_unit_test(at_equal_session_time_what_is_shown_is_what_was_told),
        cmocka_unit_test(clocks_run_as_they_were_told),
        cmocka_unit_test(the_same_seed_gives_the_same_bytes),
        cmocka_unit_test(stopping_between_changes_nothing),
        cmocka_unit_test(in_a_mesh_updates_go_straight),
        cmocka_unit_test(by_default_a_way_is_as_long_as_two_nodes_are_apart),
        cmocka_unit_test(a_way_of_its_own_comes_before_the_default),
        cmocka_unit_test(the_default_way_loses_its_share_and_repeats_itself),
        cmocka_unit_test(what_lasts_longer_than_a_datagram_cannot_be_shared),
        cmocka_unit_test(a_node_looks_at_the_first_of_its_own_ticks),
        cmocka_unit_test(ticks_delay_answers_and_not_arrivals),
        cmocka_unit_test(without_a_way_datagrams_are_counted_and_lost),
        cmocka_unit_test(nothing_happens_between_deadlines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
