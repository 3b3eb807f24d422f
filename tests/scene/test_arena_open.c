// An open game of the arena over real sessions: players come and go, somebody only looks on, the
// host leaves, and its things are there for everybody afterwards.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "arena/node.h"
#include "lab/world/play.h"
#include "lab/world/world.h"

#define TICK_NS (FL_SEC(1) / ARENA_TICK_HZ)
#define NODES 6

typedef struct Place {
    struct Scene *scene;
    int32_t index;
    bool there, watches;
    ArenaNode node;
    int64_t tick;
} Place;

typedef struct Scene {
    ArenaGame *game;
    World *world;
    Place places[NODES];
} Scene;

static void take_place(Place *place, FlTime local)
{
    FlSession *session = world_session(place->scene->world, place->index);
    ArenaNodeDef def = {.game = place->scene->game,
                        .send = fl_send_make(FL_SEND_FOCUS_EQUAL),
                        .trigger = {.distance = 4.0, .angle = 0.15, .silence_ns = FL_SEC(1)},
                        .model = FL_MODEL_AUTO,
                        .guided = true,
                        .attentive = true,
                        .open = true,
                        .watches = place->watches,
                        .run_speed = ARENA_RUN_SPEED,
                        .seed = 7,
                        .character = place->index,
                        .skill = 4};
    if (fl_session_state(session) == FL_SESSION_RUNNING &&
        fl_session_time_error(session) != FL_FOREVER) {
        place->there = arena_node_start(&place->node, &def, session) == FL_OK;
        assert_true(place->there);
        place->tick = fl_session_time(session, local) / TICK_NS;
    }
}

static FlTime drive(void *ctx, World *world, FlTime now)
{
    Place *place = (Place *)ctx;
    FlTime local = world_local(world, place->index, now);
    FlSession *session = world_session(world, place->index);
    if (!place->there) {
        take_place(place, local);
    } else if (fl_session_state(session) == FL_SESSION_RUNNING) {
        int64_t target = fl_session_time(session, local) / TICK_NS;
        arena_node_serve(&place->node, local);
        if (target > place->tick) {
            place->tick = target;
            arena_node_skip(&place->node, (int32_t)target - 1);
            arena_node_step(&place->node, NULL, local);
        }
    }
    world_touch(world, place->index);
    return now + TICK_NS / 5;
}

static void join(Scene *scene, int32_t index, bool watches)
{
    FlImpairSettings way = play_way(FL_MS(20), 0, 0.0);
    WorldNodeDef def = world_node_def_default();
    def.session = arena_node_session(scene->game, NODES);
    def.session.world = arena_wire_world(scene->game, 64);
    def.session.entity_capacity = 64;
    def.session.role = index == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    def.clock_offset = FL_SEC(index);
    int32_t made;
    assert_int_equal(world_node_add(scene->world, &def, &made), FL_OK);
    assert_int_equal(made, index);
    for (int32_t j = 0; j < index; j++) {
        assert_int_equal(world_ways_set(scene->world, j, index, &way), FL_OK);
    }
    scene->places[index] = (Place){.scene = scene, .index = index, .watches = watches};
    assert_int_equal(world_actor_add(scene->world, WORLD_MOVER, world_now(scene->world) + FL_MS(1),
                                     drive, &scene->places[index]),
                     FL_OK);
}

static Scene *scene_make(void)
{
    static Scene scene; // some hundred KB
    scene = (Scene){0};
    ArenaDef arena = arena_def_default();
    arena.player_count = ARENA_PLAYER_CAPACITY;
    WorldDef world = world_def_default();
    world.sealed = false;
    assert_int_equal(arena_create(&arena, &scene.game), FL_OK);
    assert_int_equal(world_create(&world, &scene.world), FL_OK);
    return &scene;
}

static void scene_end(Scene *scene)
{
    for (int32_t i = 0; i < NODES; i++) {
        arena_node_stop(&scene->places[i].node);
    }
    world_destroy(scene->world);
    arena_destroy(scene->game);
}

static void run(Scene *scene, double seconds)
{
    world_run(scene->world, world_now(scene->world) + fl_span_from_seconds(seconds));
}

static int32_t seen_by(const Place *place)
{
    int32_t count = 0;
    for (int32_t i = 0; i < ARENA_PLAYER_CAPACITY; i++) {
        const ArenaPlayer *p = &place->node.view.player[i];
        bool known = place->node.seen[i].known;
        assert_true(known || i == place->node.player || p->alive == 0); // nobody is made up
        count += known ? 1 : 0;
    }
    return count;
}

static uint64_t taken_by_view(const Scene *scene, int32_t place)
{
    uint64_t taken = 0;
    for (int32_t i = 0; i < arena_item_count(scene->game); i++) {
        taken += scene->places[place].node.view.item[i].taken;
    }
    return taken;
}

static void who_comes_is_seen_and_who_goes_is_not(void **state)
{
    (void)state;
    Scene *scene = scene_make();
    join(scene, 0, false);
    run(scene, 1.0);
    assert_int_equal(seen_by(&scene->places[0]), 0);
    join(scene, 1, false);
    join(scene, 2, true); // looks on
    join(scene, 3, false);
    run(scene, 4.0);
    const int32_t see[4] = {2, 2, 3, 2};
    for (int32_t i = 0; i < 4; i++) {
        assert_int_equal(seen_by(&scene->places[i]), see[i]);
    }
    fl_session_leave(world_session(scene->world, 3), world_local(scene->world, 3, FL_SEC(5)));
    world_touch(scene->world, 3);
    run(scene, 2.0);
    assert_int_equal(seen_by(&scene->places[0]), 1);
    assert_int_equal(seen_by(&scene->places[2]), 2);
    join(scene, 4, false); // takes the number that is free, and is somebody else
    run(scene, 4.0);
    assert_int_equal(seen_by(&scene->places[0]), 2);
    assert_int_equal(seen_by(&scene->places[4]), 2);
    scene_end(scene);
}

static void things_outlive_the_host_that_kept_them(void **state)
{
    (void)state;
    Scene *scene = scene_make();
    for (int32_t i = 0; i < 5; i++) {
        join(scene, i, i == 0); // the host only keeps the things
    }
    run(scene, 30.0);
    uint64_t before = taken_by_view(scene, 0);
    assert_true(before > 0);
    assert_int_equal(taken_by_view(scene, 1), before);
    fl_session_leave(world_session(scene->world, 0),
                     world_local(scene->world, 0, world_now(scene->world)));
    world_touch(scene->world, 0);
    run(scene, 2.0);
    uint64_t blocked = 0;
    for (int32_t i = 1; i < 5; i++) {
        blocked += scene->places[i].node.stats.blocked;
    }
    run(scene, 30.0);
    uint64_t after = taken_by_view(scene, 1);
    assert_true(after > before);
    int32_t keepers = 0;
    for (int32_t i = 1; i < 5; i++) {
        const ArenaNode *node = &scene->places[i].node;
        keepers += fl_entity_is_ours(node->session, node->things) ? 1 : 0;
        blocked -= node->stats.blocked;
        assert_int_equal(taken_by_view(scene, i), after);
    }
    assert_int_equal(keepers, 1);
    assert_int_equal(blocked, 0); // whatever was asked could be asked
    scene_end(scene);
}

static void a_missile_that_is_not_the_tellers_own_is_not_shown(void **state)
{
    (void)state;
    Scene *scene = scene_make();
    join(scene, 0, true);
    join(scene, 1, true);
    join(scene, 2, true);
    run(scene, 2.0);
    ArenaNode *node = &scene->places[0].node;
    FlSession *liar = world_session(scene->world, 1);
    for (int32_t owner = 1; owner <= 2; owner++) {
        ArenaMissile missile = {.z = 100.0, .owner = owner, .born = node->view.tick, .number = 1};
        uint8_t bytes[ARENA_MISSILE_BYTES];
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        assert_true(arena_missile_encode(&w, &missile));
        FlEvent event = {.type = 1,
                         .delivery = FL_DELIVERY_UNORDERED,
                         .bytes = bytes,
                         .count = (int32_t)sizeof bytes};
        assert_int_equal(fl_event_send(liar, (FlPeerId){0}, &event), FL_OK);
    }
    world_touch(scene->world, 1);
    run(scene, 0.2);
    assert_int_equal(node->view.missile_count, 1);
    assert_int_equal(node->view.missile[0].owner, 1);
    scene_end(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_comes_is_seen_and_who_goes_is_not),
        cmocka_unit_test(things_outlive_the_host_that_kept_them),
        cmocka_unit_test(a_missile_that_is_not_the_tellers_own_is_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
