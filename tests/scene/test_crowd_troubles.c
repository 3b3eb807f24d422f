// Crowds in trouble: who passes updates on falls silent or leaves, datagrams are lost, players come
// and go. And what must not depend on luck: the same seed gives the same bytes, and nothing is
// allocated while they play.
#include "scene/crowd_world.h"

#include "crowd/private.h"

static FlCrowd *crowd_of(const CrowdScene *scene, int32_t node)
{
    FlSession *session = scene->nodes[node].session;
    bool runs = session != NULL && fl_session_state(session) == FL_SESSION_RUNNING;
    return runs ? fl__light_crowd(session) : NULL;
}

static void open_scene(CrowdScene *scene, int32_t players, bool sealed, double kbps)
{
    crowd_open(scene, players);
    if (sealed) {
        crowd_seal(scene);
    }
    for (int32_t i = 1; i <= players; i++) {
        scene->nodes[i].kbps = kbps;
    }
    scene->target_fn = crowd_look_near;
    scene->targets = 4;
}

// ---------------------------------------------------------------- one who passes on is lost

typedef struct Gaps {
    FlTime stamp[160];
    FlTime since[160];
    FlTime longest;
    int32_t at; // whose
} Gaps;

// Between two new updates of player 1, for everybody but those who are mute or gone.
static void watch_gaps(CrowdScene *scene, Gaps *gaps, FlTime span)
{
    FlTime until = scene->now + span;
    for (int32_t i = 1; i < scene->count; i++) {
        gaps->stamp[i] = INT64_MIN;
        gaps->since[i] = scene->now;
    }
    while (scene->now < until) {
        crowd_step(scene);
        for (int32_t i = 1; i < scene->count; i++) {
            FlCrowd *crowd = crowd_of(scene, i);
            FlCrowdView view;
            if (crowd == NULL || scene->nodes[i].silent || crowd_number(scene, i) == 1 ||
                fl__crowd_view(crowd, 1, true, &view) != FL_OK) {
                continue;
            }
            FlTime gap = scene->now - gaps->since[i];
            gaps->at = gap > gaps->longest ? i : gaps->at;
            gaps->longest = gap > gaps->longest ? gap : gaps->longest;
            if (view.stamp != gaps->stamp[i]) {
                gaps->stamp[i] = view.stamp;
                gaps->since[i] = scene->now;
            }
        }
    }
}

// Who passes player 1's updates on to most.
static int32_t busiest(const CrowdScene *scene)
{
    int32_t best = 0;
    int32_t most = 0;
    for (int32_t i = 1; i < scene->count; i++) {
        FlCrowd *crowd = crowd_of(scene, i);
        int32_t serves = crowd != NULL ? fl__crowd_stats(crowd).passed_on : 0;
        best = serves > most ? i : best;
        most = serves > most ? serves : most;
    }
    assert_true(most >= 2);
    return best;
}

static void lose_one(int32_t players, double kbps, bool silent, double loss)
{
    static CrowdScene scene;
    open_scene(&scene, players, false, kbps);
    scene.target_fn = crowd_look_at_first;
    scene.targets = 1;
    crowd_start_all(&scene);
    crowd_run(&scene, FL_SEC(12));
    scene.loss = loss;
    int32_t lost = busiest(&scene);
    int32_t served = fl__crowd_stats(crowd_of(&scene, lost)).passed_on;
    if (silent) {
        scene.nodes[lost].silent = true;
    } else {
        fl_session_leave(scene.nodes[lost].session, scene.now);
    }
    Gaps gaps = {.longest = 0};
    watch_gaps(&scene, &gaps, FL_SEC(4));
    print_message("             %d players, %s (%d behind it): longest gap %.0f ms\n", players,
                  silent ? "falls silent" : "leaves", served, 1e3 * fl_span_seconds(gaps.longest));
    assert_true(gaps.longest < FL_SEC(1));
    crowd_close(&scene);
}

static void who_loses_its_source_has_another_within_a_second(void **state)
{
    (void)state;
    lose_one(30, 108.0, true, 0.0);
    lose_one(30, 108.0, false, 0.0);
    lose_one(60, 108.0, true, 0.0);
    lose_one(60, 108.0, false, 0.0);
    lose_one(100, 150.0, true, 0.01);
    lose_one(100, 150.0, false, 0.01);
}

// ---------------------------------------------------------------- one who carries is silent

enum { CARRY_PLAYERS = 57 };

typedef struct Carries {
    CrowdScene scene;
    FlTime stamp[CARRY_PLAYERS + 1][CARRY_PLAYERS + 1];
    FlTime since[CARRY_PLAYERS + 1][CARRY_PLAYERS + 1];
    FlTime longest;
} Carries;

// It is there, and sends what is its own: what it should carry it keeps.
static void withhold(const CrowdScene *scene, int32_t node)
{
    FlCrowd *crowd = crowd_of(scene, node);
    for (int32_t i = 0; i < crowd->def.light_capacity; i++) {
        crowd->lights[i].carries = 0;
    }
}

// The longest between two new updates of any player at any other, but of and at `lost`.
static void watch_all_gaps(Carries *c, int32_t lost, bool withholds, FlTime span)
{
    FlTime until = c->scene.now + span;
    c->longest = 0;
    for (int32_t i = 1; i <= CARRY_PLAYERS; i++) {
        for (int32_t j = 1; j <= CARRY_PLAYERS; j++) {
            c->since[i][j] = c->scene.now;
        }
    }
    while (c->scene.now < until) {
        if (withholds) {
            withhold(&c->scene, lost);
        }
        crowd_step(&c->scene);
        for (int32_t i = 1; i <= CARRY_PLAYERS; i++) {
            for (int32_t j = 1; j <= CARRY_PLAYERS; j++) {
                FlCrowdView view;
                int32_t number = crowd_number(&c->scene, j);
                if (i == j || i == lost || j == lost ||
                    fl__crowd_view(crowd_of(&c->scene, i), (uint32_t)number, false, &view) !=
                        FL_OK) {
                    continue;
                }
                if (view.stamp != c->stamp[i][j]) {
                    c->stamp[i][j] = view.stamp;
                    c->since[i][j] = c->scene.now;
                }
                FlTime gap = c->scene.now - c->since[i][j];
                c->longest = gap > c->longest ? gap : c->longest;
            }
        }
    }
}

// Updates come once a second; without a carrier they come a second later at most.
static void a_silent_carrier_interrupts_no_player_for_more_than_a_second(void **state)
{
    (void)state;
    static Carries carries;
    for (int32_t k = 0; k < 4; k++) {
        bool withholds = k % 2 == 1;
        open_scene(&carries.scene, CARRY_PLAYERS, k >= 2, 108.0);
        carries.scene.targets = 2;
        crowd_start_all(&carries.scene);
        crowd_run(&carries.scene, FL_SEC(12));
        watch_all_gaps(&carries, 0, false, FL_SEC(4));
        FlTime usual = carries.longest;
        carries.scene.nodes[20].silent = !withholds;
        watch_all_gaps(&carries, 20, withholds, FL_SEC(9)); // the host misses it later
        print_message("             a carrier %s%s: %.0f ms between updates at most, before %.0f\n",
                      withholds ? "withholds" : "is silent", k >= 2 ? ", sealed" : "",
                      1e3 * fl_span_seconds(carries.longest), 1e3 * fl_span_seconds(usual));
        assert_true(carries.longest <= usual + FL_SEC(1));
        crowd_close(&carries.scene);
    }
}

// ---------------------------------------------------------------- loss

static void check_all_know_all(const CrowdScene *scene, FlTime age_at_most)
{
    for (int32_t i = 1; i < scene->count; i++) {
        FlCrowd *crowd = crowd_of(scene, i);
        if (crowd == NULL) {
            continue;
        }
        FlTime time = fl_session_time(scene->nodes[i].session, scene->now);
        for (int32_t j = 1; j < scene->count; j++) {
            FlCrowdView view;
            int32_t number = crowd_of(scene, j) != NULL ? crowd_number(scene, j) : 0;
            if (i != j && number > 0) {
                assert_int_equal(fl__crowd_view(crowd, (uint32_t)number, true, &view), FL_OK);
                assert_true(time - view.stamp <= age_at_most);
                assert_true(view.stamp - time <= FL_MS(250));
                FlVec3 there = fl_motion_position(&view.motion, view.stamp);
                FlState truth = crowd_truth(number, view.stamp - time + scene->now);
                assert_true(fl_vec3_distance(there, truth.position) < 1.0);
            }
        }
        FlCrowdStats stats = fl__crowd_stats(crowd);
        assert_int_equal(stats.malformed, 0);
        assert_int_equal(stats.contradictions, 0);
        assert_int_equal(stats.early, 0);
        assert_in_range(stats.lights, 1, 64);
    }
}

static void with_one_in_twenty_lost_all_still_see_all(void **state)
{
    (void)state;
    static CrowdScene scene;
    for (int32_t sealed = 0; sealed < 2; sealed++) {
        open_scene(&scene, 57, sealed == 1, 200.0);
        scene.loss = 0.05;
        crowd_start_all(&scene);
        crowd_run(&scene, FL_SEC(10));
        int32_t watched = 0;
        for (int32_t s = 0; s < 10; s++) {
            crowd_run(&scene, FL_SEC(1));
            check_all_know_all(&scene, FL_SEC(7)); // five losses in a row
            for (int32_t i = 1; i < scene.count; i++) {
                int32_t self = crowd_number(&scene, i);
                for (int32_t k = 0; k < 4; k++) {
                    FlCrowdView view;
                    int32_t of = crowd_look_near(self, k, scene.count);
                    FlResult result =
                        fl__crowd_view(crowd_of(&scene, i), (uint32_t)of, true, &view);
                    assert_int_equal(result, FL_OK);
                    watched += view.watched ? 1 : 0;
                }
            }
        }
        assert_true(watched > 10 * 57 * 4 * 99 / 100);
        crowd_close(&scene);
    }
}

// ---------------------------------------------------------------- coming and going

static void crowd_stop(CrowdScene *scene, int32_t i, bool politely)
{
    FlSession *session = scene->nodes[i].session;
    if (politely) {
        fl_session_leave(session, scene->now);
        FlOutgoing out;
        while (fl_session_next(session, scene->now, &out) == FL_OK) {
            crowd_send(scene, i, &out);
        }
    }
    fl_session_close(session);
    scene->nodes[i].session = NULL;
}

static void come_and_go(bool sealed, int32_t seconds)
{
    static CrowdScene scene;
    open_scene(&scene, 70, sealed, 300.0);
    FlRandom r = {.seed = sealed ? 21 : 20};
    for (int32_t i = 0; i <= 40; i++) {
        FlSessionDef def = crowd_session_def(&scene, i);
        crowd_start(&scene, i, &def);
    }
    int32_t came = 0;
    for (int32_t step = 0; step < seconds * 10; step++) {
        int32_t i = 1 + (int32_t)fl_random_below(&r, 70);
        bool now = fl_random_below(&r, 4) == 0;
        bool politely = fl_random_below(&r, 2) == 0;
        if (now && scene.nodes[i].session != NULL) {
            crowd_stop(&scene, i, politely);
        } else if (now) {
            FlSessionDef def = crowd_session_def(&scene, i);
            def.seed += (uint64_t)step * 1000;
            crowd_start(&scene, i, &def);
            came++;
        }
        crowd_run(&scene, FL_MS(100));
    }
    crowd_run(&scene, FL_SEC(16)); // who vanished is missed, and all settles
    int32_t there = 0;
    for (int32_t i = 1; i < scene.count; i++) {
        there += crowd_of(&scene, i) != NULL ? 1 : 0;
        assert_true((scene.nodes[i].session == NULL) == (crowd_of(&scene, i) == NULL));
    }
    print_message("             %d came, %d are there%s\n", came, there, sealed ? ", sealed" : "");
    assert_in_range(there, 10, 70);
    check_all_know_all(&scene, FL_MS(2600));
    crowd_close(&scene);
}

static void players_come_and_go_and_all_settles(void **state)
{
    (void)state;
    come_and_go(false, 60);
    come_and_go(true, 20);
}

// ---------------------------------------------------------------- exactly

static uint64_t digest_of(uint64_t seed, bool sealed)
{
    static CrowdScene scene;
    open_scene(&scene, 20, sealed, 150.0);
    scene.random.seed = seed;
    scene.loss = 0.02;
    crowd_start_all(&scene);
    crowd_run(&scene, FL_SEC(5));
    uint64_t digest = scene.digest;
    crowd_close(&scene);
    return digest;
}

static void the_same_seed_gives_the_same_bytes(void **state)
{
    (void)state;
    for (int32_t sealed = 0; sealed < 2; sealed++) {
        uint64_t digest = digest_of(3, sealed == 1);
        assert_true(digest == digest_of(3, sealed == 1));
        assert_true(digest != digest_of(4, sealed == 1));
    }
}

typedef struct Memory {
    int64_t calls, live, fail_at;
} Memory;

static void *count_alloc(void *ctx, size_t size, size_t align)
{
    Memory *memory = (Memory *)ctx;
    (void)align;
    if (++memory->calls == memory->fail_at) {
        return NULL;
    }
    memory->live++;
    return malloc(size);
}

static void count_free(void *ctx, void *ptr, size_t size)
{
    Memory *memory = (Memory *)ctx;
    (void)size;
    memory->live--;
    free(ptr);
}

// Light connections' seals are made as light connections come; once these are there nothing is.
static void nothing_is_allocated_while_they_play(void **state)
{
    (void)state;
    static CrowdScene scene;
    for (int32_t sealed = 0; sealed < 2; sealed++) {
        Memory memory = {0};
        open_scene(&scene, 31, sealed == 1, 200.0);
        for (int32_t i = 0; i < scene.count; i++) {
            FlSessionDef def = crowd_session_def(&scene, i);
            FlAlloc alloc = {count_alloc, count_free, &memory};
            def.alloc = alloc;
            crowd_start(&scene, i, &def);
        }
        crowd_run(&scene, FL_SEC(12));
        int64_t before = memory.calls;
        crowd_run(&scene, FL_SEC(6));
        assert_int_equal(memory.calls, before);
        assert_true(before > 0);
        crowd_close(&scene);
        assert_int_equal(memory.live, 0);
    }
}

// True: it came to that.
static bool fail_once(bool sealed, int32_t node, int64_t n)
{
    static CrowdScene scene;
    Memory memory = {0};
    open_scene(&scene, 4, sealed, 0.0);
    for (int32_t i = 0; i < scene.count; i++) {
        FlSessionDef def = crowd_session_def(&scene, i);
        if (i == node) {
            FlAlloc alloc = {count_alloc, count_free, &memory};
            def.alloc = alloc;
        }
        crowd_start(&scene, i, &def);
    }
    memory.fail_at = memory.calls + n;
    crowd_run(&scene, FL_MS(1200));
    crowd_close(&scene);
    assert_int_equal(memory.live, 0);
    return memory.calls >= memory.fail_at;
}

static void whichever_allocation_fails_nothing_crashes_or_leaks(void **state)
{
    (void)state;
    int32_t failed = 0;
    for (int32_t kind = 0; kind < 4; kind++) { // host or player, plain or sealed
        for (int64_t n = 1; fail_once(kind % 2 == 1, kind / 2, n); n++) {
            failed++;
        }
    }
    print_message("             %d allocations failed\n", failed);
    assert_true(failed > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_carrier_interrupts_no_player_for_more_than_a_second),
        cmocka_unit_test(who_loses_its_source_has_another_within_a_second),
        cmocka_unit_test(with_one_in_twenty_lost_all_still_see_all),
        cmocka_unit_test(players_come_and_go_and_all_settles),
        cmocka_unit_test(the_same_seed_gives_the_same_bytes),
        cmocka_unit_test(nothing_is_allocated_while_they_play),
        cmocka_unit_test(whichever_allocation_fails_nothing_crashes_or_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
