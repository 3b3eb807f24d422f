// Somebody else's entity shown as of Δ ago, with a Δ that changes; and when it was last heard of.
#include "lab/world/world.h"

#include "unit/support.h"

#define SPEED 20.0
#define DELAY FL_MS(60)

typedef struct Scene {
    World *world;
    FlEntityId own;   // at the host
    FlEntityId other; // the same at the client
} Scene;

static FlTime drive(void *ctx, World *world, FlTime now)
{
    Scene *scene = (Scene *)ctx;
    FlState state = {.time = world_local(world, 0, now)};
    state.position = fl_vec3(SPEED * fl_span_seconds(now), 0.0, 0.0);
    state.velocity = fl_vec3(SPEED, 0.0, 0.0);
    FlSession *host = world_session(world, 0);
    if (scene->own.index1 == 0) {
        FlEntityDef def = fl_entity_def_default();
        def.model = FL_MODEL_LINEAR;
        def.trigger.silence_ns = FL_MS(100);
        scene->own = fl_entity_create(host, &def);
        assert_int_not_equal(scene->own.index1, 0);
    }
    assert_int_equal(fl_entity_set(host, scene->own, &state), FL_OK);
    world_touch(world, 0);
    return now + FL_MS(20);
}

static void start(Scene *scene)
{
    WorldDef def = world_def_default();
    assert_int_equal(world_create(&def, &scene->world), FL_OK);
    for (int32_t i = 0; i < 2; i++) {
        WorldNodeDef node = world_node_def_default();
        node.session.role = i == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
        node.clock_offset = i * FL_SEC(50);
        int32_t index;
        assert_int_equal(world_node_add(scene->world, &node, &index), FL_OK);
    }
    FlImpairSettings way = fl_impair_def_default().settings;
    way.delay_ns = DELAY;
    assert_int_equal(world_ways_set(scene->world, 0, 1, &way), FL_OK);
    world_run(scene->world, FL_SEC(4));
    assert_int_equal(world_actor_add(scene->world, WORLD_MOVER, FL_SEC(4), drive, scene), FL_OK);
    world_run(scene->world, FL_SEC(5));
    (void)fl_entity_next(world_session(scene->world, 1), &scene->other);
    assert_int_not_equal(scene->other.index1, 0);
}

/// How long ago the client sees the car where it was.
static double shown_ago_ms(Scene *scene)
{
    FlTime now = world_now(scene->world);
    FlPose pose;
    FlSession *client = world_session(scene->world, 1);
    FlTime local = world_local(scene->world, 1, now);
    assert_true(fl_entity_pose_at(client, local, scene->other, &pose));
    return (fl_span_seconds(now) - pose.position.x / SPEED) * 1e3;
}

static void a_change_of_delta_shows_others_later(void **state)
{
    (void)state;
    Scene scene = {0};
    start(&scene);
    FlSession *client = world_session(scene.world, 1);
    check_near(shown_ago_ms(&scene), 0.0, 1.0);
    FlShowDef show = fl_show_def_default();
    show.hold = FL_HOLD_ADAPTIVE;
    assert_int_equal(fl_entity_show(client, scene.other, &show), FL_OK);
    world_run(scene.world, FL_SEC(6));
    check_near(shown_ago_ms(&scene), 100.0, 1.0);
    FlTime time = fl_session_time(client, world_local(scene.world, 1, FL_SEC(6)));
    FlDeltaChange change = {FL_MS(40), time + FL_MS(500)};
    assert_int_equal(fl_entity_delta(client, scene.other, &change), FL_OK);
    world_run(scene.world, FL_MS(6490));
    check_near(shown_ago_ms(&scene), 100.0, 1.0); // not yet
    world_run(scene.world, FL_SEC(8));
    check_near(shown_ago_ms(&scene), 40.0, 1.0);
    change.from -= 1;
    assert_int_equal(fl_entity_delta(client, scene.other, &change), FL_OUT_OF_ORDER);
    world_destroy(scene.world);
}

static void delta_changes_only_what_others_own_and_is_adaptive(void **state)
{
    (void)state;
    Scene scene = {0};
    start(&scene);
    FlDeltaChange change = {FL_MS(40), FL_SEC(100)};
    FlSession *client = world_session(scene.world, 1);
    FlSession *host = world_session(scene.world, 0);
    assert_int_equal(fl_entity_delta(client, scene.other, &change), FL_BAD_VALUE); // at once
    assert_int_equal(fl_entity_delta(host, scene.own, &change), FL_BAD_VALUE);     // ours
    assert_int_equal(fl_entity_delta(client, (FlEntityId){0}, &change), FL_STALE_ID);
    world_destroy(scene.world);
}

static void the_last_update_heard_of_has_its_time_and_its_arrival(void **state)
{
    (void)state;
    Scene scene = {0};
    start(&scene);
    FlEntityStatus status;
    FlSession *client = world_session(scene.world, 1);
    assert_int_equal(fl_entity_status(client, scene.other, &status), FL_OK);
    FlTime way = status.received_at - status.received;
    check_near(fl_span_seconds(way) * 1e3, fl_span_seconds(DELAY) * 1e3, 1.0);
    assert_int_equal(status.received, status.newest); // nothing overtakes on this way
    FlTime before = status.received;
    world_run(scene.world, FL_SEC(6));
    assert_int_equal(fl_entity_status(client, scene.other, &status), FL_OK);
    assert_true(status.received - before >= FL_MS(800));
    assert_int_equal(fl_entity_status(world_session(scene.world, 0), scene.own, &status), FL_OK);
    assert_int_equal(status.received, FL_FOREVER); // ours is not heard of
    world_destroy(scene.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_of_delta_shows_others_later),
        cmocka_unit_test(delta_changes_only_what_others_own_and_is_adaptive),
        cmocka_unit_test(the_last_update_heard_of_has_its_time_and_its_arrival),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
