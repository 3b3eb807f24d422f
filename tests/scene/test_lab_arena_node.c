// Peers of an arena game: nobody acts for somebody else, and replicas that have to catch up run
// and do not jump.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lab/actors/arena_mesh.h"

#include <string.h>

static void open_mesh(ArenaMesh *mesh, ArenaMode mode, int32_t players, double kbps, uint64_t seed)
{
    ArenaMeshDef def = {
        .mode = mode,
        .map = ARENA_MAP_YARD,
        .players = players,
        .kbps = kbps,
        .focus_share = FL_FOCUS_SHARE,
        .rtt_ms = 20.0,
        .top_speed = ARENA_SPEED_BOUND,
        .seed = seed,
    };
    LabError error = {{0}};
    assert_int_equal(arena_mesh_create(mesh, &def, 0, &error), LAB_OK);
}

static void ask(ArenaMesh *mesh, int32_t from, const ArenaDeed *deed)
{
    ArenaNode *node = &mesh->nodes[from];
    uint8_t bytes[ARENA_DEED_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    assert_true(arena_deed_encode(&w, deed));
    FlCallDef call = {.kind = FL_CALL_OWN, .bytes = bytes, .count = sizeof bytes};
    uint32_t serial;
    FlTime now = world_local(mesh->world, from, world_now(mesh->world));
    FlEntityId target = node->seen[deed->target].entity;
    assert_int_equal(fl_call_send(node->session, now, target, &call, &serial), FL_OK);
    world_touch(mesh->world, from);
    world_run(mesh->world, world_now(mesh->world) + FL_MS(100));
}

static void a_deed_of_somebody_else_is_refused_and_counted(void **state)
{
    (void)state;
    static ArenaMesh mesh;
    open_mesh(&mesh, ARENA_MODE_HIBW, 3, 108.0, 4);
    world_run(mesh.world, mesh.begin + FL_MS(520));
    const ArenaNode *victim = &mesh.nodes[1];
    int32_t target = victim->player;
    int32_t before = victim->view.player[target].score;
    ArenaDeed deed = {.kind = ARENA_DEED_SCORE,
                      .actor = mesh.nodes[2].player,
                      .target = target,
                      .weapon = ARENA_WEAPON_GUN,
                      .amount = 1};
    ask(&mesh, 0, &deed);
    assert_int_equal(victim->stats.forged, 1);
    assert_int_equal(victim->view.player[target].score, before);
    deed.actor = mesh.nodes[0].player;
    ask(&mesh, 0, &deed);
    assert_int_equal(victim->stats.forged, 1);
    assert_int_equal(victim->view.player[target].score, before + 1);
    arena_mesh_destroy(&mesh);
}

// ---------------------------------------------------------------- shots that are checked

enum { SHOOTERS = 8 };

static void open_checked(ArenaMesh *mesh, ArenaMode mode, uint64_t seed)
{
    ArenaMeshDef def = {
        .mode = mode,
        .map = ARENA_MAP_YARD,
        .players = SHOOTERS,
        .kbps = 256.0,
        .focus_share = FL_FOCUS_SHARE,
        .rtt_ms = 60.0,
        .far_ms = 60.0,
        .jitter_ms = 10.0,
        .loss = 0.02,
        .rewind_ns = FL_SEC(1),
        .top_speed = ARENA_SPEED_BOUND,
        .seed = seed,
    };
    LabError error = {{0}};
    assert_int_equal(arena_mesh_create(mesh, &def, 0, &error), LAB_OK);
}

static ArenaNodeStats sum_of(const ArenaMesh *mesh)
{
    ArenaNodeStats all = {0};
    for (int32_t i = 0; i < SHOOTERS; i++) {
        all.checked += mesh->nodes[i].stats.checked;
        all.impossible += mesh->nodes[i].stats.impossible;
        all.unchecked += mesh->nodes[i].stats.unchecked;
    }
    return all;
}

// With smoothing, without, and as replicas that bots walk.
static void honest_shots_met_their_target_on_the_screen(void **state)
{
    (void)state;
    const ArenaMode modes[] = {ARENA_MODE_HIBW, ARENA_MODE_OURS};
    for (int32_t m = 0; m < 2; m++) {
        static ArenaMesh mesh;
        open_checked(&mesh, modes[m], 4);
        world_run(mesh.world, mesh.begin + FL_SEC(40));
        ArenaNodeStats all = sum_of(&mesh);
        print_message("             %s: %d shots checked, %d impossible, %d not known\n",
                      arena_mode_name(modes[m]), (int)all.checked, (int)all.impossible,
                      (int)all.unchecked);
        assert_true(all.checked > 100);
        assert_true(all.impossible * 100 <= all.checked && all.unchecked * 20 <= all.checked);
        arena_mesh_destroy(&mesh);
    }
}

// A cheat's aim is its own; what was on its screen is not. It says that it shot upwards and hit.
static void a_shot_that_missed_on_the_screen_is_refused(void **state)
{
    (void)state;
    static ArenaMesh mesh;
    open_checked(&mesh, ARENA_MODE_HIBW, 5);
    world_run(mesh.world, mesh.begin + FL_SEC(5));
    ArenaNode *cheat = &mesh.nodes[0];
    const ArenaNode *victim = &mesh.nodes[1];
    uint64_t before = victim->stats.impossible;
    FlTime now = world_local(mesh.world, 0, world_now(mesh.world));
    ArenaDeed deed = {.kind = ARENA_DEED_DAMAGE,
                      .actor = cheat->player,
                      .target = victim->player,
                      .which = cheat->view.player[victim->player].life,
                      .weapon = ARENA_WEAPON_GUN,
                      .amount = 1,
                      .z = 300};
    uint8_t bytes[64];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    assert_true(arena_deed_encode(&w, &deed));
    fl_writer_put(&w, (uint64_t)fl_session_time(cheat->session, now), 64);
    for (int32_t i = 0; i < 3; i++) {
        fl_writer_put(&w, 0, 32);
    }
    FlCallDef call = {.kind = FL_CALL_OWN, .bytes = bytes, .count = fl_writer_size(&w)};
    uint32_t serial;
    FlEntityId target = cheat->seen[victim->player].entity;
    assert_int_equal(fl_call_send(cheat->session, now, target, &call, &serial), FL_OK);
    world_touch(mesh.world, 0);
    world_run(mesh.world, world_now(mesh.world) + FL_MS(500));
    assert_true(victim->stats.impossible > before);
    arena_mesh_destroy(&mesh);
}

enum { PLAYERS = 12 };

/// Of one viewer's replicas: where they were a tick ago, and what they were.
typedef struct Before {
    FlVec3 at[PLAYERS];
    bool nearing[PLAYERS];
} Before;

static void watch(const ArenaNode *node, Before *before, int32_t *nearing, int32_t *jumps)
{
    for (int32_t i = 0; i < PLAYERS; i++) {
        const ArenaSeen *seen = &node->seen[i];
        FlVec3 at = arena_node_shown(node, i);
        bool runs = seen->known && seen->mode == FL_GUIDE_NEARING;
        if (runs && before->nearing[i]) {
            double step = fl_vec3_distance(at, before->at[i]);
            (*nearing)++;
            *jumps += step > 1.1 * ARENA_SPEED_BOUND / ARENA_TICK_HZ ? 1 : 0;
        }
        before->at[i] = at;
        before->nearing[i] = runs;
    }
}

enum { SEEDS = 4 };

static void catch_up(uint64_t seed, ArenaNear *near, int32_t *nearing, int32_t *jumps)
{
    static ArenaMesh mesh;
    static Before before[PLAYERS];
    memset(before, 0, sizeof before);
    open_mesh(&mesh, ARENA_MODE_DONNY, PLAYERS, 30.0, seed);
    for (int32_t t = 0; t < 20 * ARENA_TICK_HZ; t++) {
        world_run(mesh.world, mesh.begin + t * (FL_SEC(1) / ARENA_TICK_HZ));
        for (int32_t i = 0; i < PLAYERS; i++) {
            watch(&mesh.nodes[i], &before[i], nearing, jumps);
        }
    }
    for (int32_t i = 0; i < PLAYERS; i++) {
        const ArenaNear *one = &mesh.nodes[i].stats.near;
        near->count += one->count;
        near->within += one->within;
        near->given_up += one->given_up;
    }
    arena_mesh_destroy(&mesh);
}

static void a_replica_that_has_to_catch_up_runs_and_gets_there(void **state)
{
    (void)state;
    ArenaNear near = {0};
    int32_t nearing = 0;
    int32_t jumps = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        catch_up(seed, &near, &nearing, &jumps);
    }
    print_message("             %d ticks, %d jumps; %d near, %d of them soon, %d given up\n",
                  (int)nearing, (int)jumps, (int)near.count, (int)near.within, (int)near.given_up);
    assert_true(nearing > SEEDS * 500 && jumps == 0);
    // Since replicas keep out of walls their ways are longer: 60 % of them are there soon, of 16
    // seeds; 64 % were when they ran through.
    assert_true(2 * near.within > near.count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deed_of_somebody_else_is_refused_and_counted),
        cmocka_unit_test(honest_shots_met_their_target_on_the_screen),
        cmocka_unit_test(a_shot_that_missed_on_the_screen_is_refused),
        cmocka_unit_test(a_replica_that_has_to_catch_up_runs_and_gets_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
