// Crowds of players, in sessions, plain and sealed: everybody soon knows everybody, who is watched
// is seen at full rate and the others once a second, and nobody sends more than its upload bears.
#include "scene/crowd_world.h"

enum { MOST = 140 };

// ---------------------------------------------------------------- what everybody sees

typedef struct Pair {
    FlTime stamp;
    FlTime arrived;  // when it last changed,
    FlTime gap;      // and the longest time between two changes
    int32_t changes; // since the count began
    bool watched;    // all the time since then
} Pair;

typedef struct Sight {
    CrowdScene scene;
    Pair pairs[MOST][MOST];
    FlTime began;
} Sight;

static FlCrowd *crowd_of(const Sight *sight, int32_t node)
{
    const CrowdNode *n = &sight->scene.nodes[node];
    return n->session != NULL ? fl__light_crowd(n->session) : NULL;
}

// Numbers are given in order of arrival; pairs are by number.
static void sample(Sight *sight, bool begin)
{
    CrowdScene *scene = &sight->scene;
    for (int32_t i = 1; i < scene->count; i++) {
        FlCrowd *crowd = crowd_of(sight, i);
        int32_t self = crowd_number(scene, i);
        for (int32_t j = 1; j < scene->count && crowd != NULL; j++) {
            FlCrowdView view;
            Pair *pair = &sight->pairs[self][j];
            bool known = j != self && fl__crowd_view(crowd, (uint32_t)j, true, &view) == FL_OK;
            FlTime stamp = known ? view.stamp : INT64_MIN;
            bool fresh = stamp != pair->stamp;
            if (begin) {
                Pair start = {.stamp = stamp, .arrived = scene->now, .watched = true};
                *pair = start;
            } else if (fresh) {
                pair->changes++;
                FlTime gap = scene->now - pair->arrived;
                pair->gap = gap > pair->gap ? gap : pair->gap;
                pair->arrived = scene->now;
                pair->stamp = stamp;
            }
            pair->watched = pair->watched && known && view.watched;
        }
    }
}

static void count_arrivals(Sight *sight, FlTime span)
{
    FlTime until = sight->scene.now + span;
    sight->began = sight->scene.now;
    sample(sight, true);
    while (sight->scene.now < until) {
        crowd_step(&sight->scene);
        sample(sight, false);
    }
}

static int32_t unknown_pairs(const Sight *sight)
{
    const CrowdScene *scene = &sight->scene;
    int32_t count = 0;
    for (int32_t i = 1; i < scene->count; i++) {
        FlCrowd *crowd = crowd_of(sight, i);
        int32_t self = crowd_number(scene, i);
        for (int32_t j = 1; j < scene->count; j++) {
            FlCrowdView view;
            bool known = j == self || (crowd != NULL &&
                                       fl__crowd_view(crowd, (uint32_t)j, true, &view) == FL_OK);
            count += known ? 0 : 1;
        }
    }
    return count;
}

static void open_sight(Sight *sight, int32_t players, bool sealed, double kbps)
{
    assert_true(players < MOST);
    crowd_open(&sight->scene, players);
    if (sealed) {
        crowd_seal(&sight->scene);
    }
    for (int32_t i = 1; i <= players; i++) {
        sight->scene.nodes[i].kbps = kbps;
    }
    sight->scene.target_fn = crowd_look_near;
    sight->scene.targets = 4;
}

// Until the last one is in and knows the time.
static FlTime run_until_in(Sight *sight)
{
    CrowdScene *scene = &sight->scene;
    int32_t in = 0;
    while (in < scene->count - 1 && scene->now < FL_SEC(20)) {
        crowd_step(scene);
        in = 0;
        for (int32_t i = 1; i < scene->count; i++) {
            const FlSession *session = scene->nodes[i].session;
            bool there = crowd_of(sight, i) != NULL && fl_session_time_error(session) != FL_FOREVER;
            in += there ? 1 : 0;
        }
    }
    assert_int_equal(in, scene->count - 1);
    return scene->now;
}

// Nobody is rude, nobody is too loud, nobody has too many light connections.
static void check_manners(Sight *sight)
{
    CrowdScene *scene = &sight->scene;
    double fullest = 0.0;
    int32_t lights = 0;
    for (int32_t i = 1; i < scene->count; i++) {
        const CrowdNode *node = &scene->nodes[i];
        if (node->kbps > 0.0) {
            double share = (double)node->worst / (node->kbps * 125.0);
            fullest = share > fullest ? share : fullest;
        }
        FlCrowdStats stats = fl__crowd_stats(crowd_of(sight, i));
        lights = stats.lights > lights ? stats.lights : lights;
        assert_int_equal(stats.malformed, 0);
        assert_int_equal(stats.contradictions, 0);
        assert_int_equal(stats.early, 0);
    }
    print_message(
        "             %d players%s: %d lanes at most, fullest second %.3f of its upload\n",
        scene->count - 1, scene->sealed ? ", sealed" : "", lights, fullest);
    assert_in_range(lights, 1, 64);
    assert_true(fullest <= 1.0);
}

// ---------------------------------------------------------------- tests

static void everybody_knows_everybody_within_four_seconds(void **state)
{
    (void)state;
    static Sight sight;
    const int32_t players[] = {2, 5, 7, 16, 60, 133};
    for (int32_t i = 0; i < 12; i++) {
        open_sight(&sight, players[i / 2], i % 2 == 1, 400.0);
        crowd_start_all(&sight.scene);
        FlTime in = run_until_in(&sight);
        int32_t unknown = unknown_pairs(&sight);
        while (unknown > 0 && sight.scene.now < in + FL_SEC(4)) {
            crowd_run(&sight.scene, FL_MS(100));
            unknown = unknown_pairs(&sight);
        }
        print_message("             all in after %.2f s, all known %.2f s later\n",
                      fl_span_seconds(in), fl_span_seconds(sight.scene.now - in));
        assert_int_equal(unknown, 0);
        check_manners(&sight);
        crowd_close(&sight.scene);
    }
}

static void check_rates(const Sight *sight, double seconds, double watched_hz, double others_hz)
{
    int32_t count = sight->scene.count;
    double slowest_watched = 1e9;
    double slowest = 1e9;
    int32_t watched = 0;
    for (int32_t a = 1; a < count; a++) {
        for (int32_t b = 1; b < count; b++) {
            const Pair *pair = &sight->pairs[a][b];
            double hz = pair->changes / seconds;
            if (a != b && pair->watched) {
                slowest_watched = hz < slowest_watched ? hz : slowest_watched;
                watched++;
            } else if (a != b) {
                slowest = hz < slowest ? hz : slowest;
            }
        }
    }
    print_message("             %.1f watched each, at %.2f Hz or more; the others at %.3f Hz or "
                  "more\n",
                  (double)watched / (count - 1), slowest_watched, slowest);
    assert_true(watched == sight->scene.targets * (count - 1));
    assert_true(slowest_watched >= watched_hz);
    assert_true(slowest >= others_hz);
}

static void who_is_watched_is_seen_at_full_rate_and_the_others_once_a_second(void **state)
{
    (void)state;
    static Sight sight;
    for (int32_t i = 0; i < 2; i++) {
        open_sight(&sight, i == 0 ? 60 : 133, i == 0, 150.0);
        crowd_start_all(&sight.scene);
        (void)run_until_in(&sight);
        crowd_run(&sight.scene, FL_SEC(6));
        count_arrivals(&sight, i == 0 ? FL_SEC(20) : FL_SEC(10));
        check_rates(&sight, i == 0 ? 20.0 : 10.0, 19.5, i == 0 ? 0.95 : 0.9); // whole numbers
        check_manners(&sight);
        crowd_close(&sight.scene);
    }
}

// All look at one, who can send to few.
static void sixty_watch_one(void **state)
{
    (void)state;
    static Sight sight;
    open_sight(&sight, 60, false, 108.0);
    sight.scene.target_fn = crowd_look_at_first;
    sight.scene.targets = 1;
    crowd_start_all(&sight.scene);
    (void)run_until_in(&sight);
    crowd_run(&sight.scene, FL_SEC(8));
    count_arrivals(&sight, FL_SEC(5));
    int32_t direct = 0;
    FlTime gap = 0;
    for (int32_t a = 2; a <= 60; a++) {
        const Pair *pair = &sight.pairs[a][1];
        assert_true(pair->watched);
        gap = pair->gap > gap ? pair->gap : gap;
        assert_true(pair->changes >= 5 * 19);
    }
    for (int32_t i = 1; i <= 60; i++) {
        FlCrowdView view;
        int32_t self = crowd_number(&sight.scene, i);
        if (self != 1) {
            assert_int_equal(fl__crowd_view(crowd_of(&sight, i), 1, true, &view), FL_OK);
            direct += view.via == 1 ? 1 : 0;
        }
    }
    print_message("             %d of 59 directly, longest gap %.0f ms\n", direct,
                  fl_span_seconds(gap) * 1e3);
    assert_in_range(direct, 1, 30); // the rest by others
    check_manners(&sight);
    crowd_close(&sight.scene);
}

static void uploads_may_differ_much(void **state)
{
    (void)state;
    static Sight sight;
    open_sight(&sight, 60, true, 1000.0);
    for (int32_t i = 1; i <= 60; i += 2) {
        sight.scene.nodes[i].kbps = i % 4 == 1 ? 64.0 : 150.0;
    }
    crowd_start_all(&sight.scene);
    (void)run_until_in(&sight);
    crowd_run(&sight.scene, FL_SEC(8));
    count_arrivals(&sight, FL_SEC(5));
    check_rates(&sight, 5.0, 18.0, 0.7);
    check_manners(&sight);
    crowd_close(&sight.scene);
}

// Less than they would need: they see less, and send no more.
static void an_upload_that_is_too_small_is_not_exceeded_either(void **state)
{
    (void)state;
    static Sight sight;
    for (int32_t sealed = 0; sealed < 2; sealed++) {
        open_sight(&sight, 100, sealed == 1, 32.0);
        sight.scene.loss = 0.05;
        crowd_start_all(&sight.scene);
        (void)run_until_in(&sight);
        crowd_run(&sight.scene, FL_SEC(6));
        check_manners(&sight);
        crowd_close(&sight.scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_knows_everybody_within_four_seconds),
        cmocka_unit_test(who_is_watched_is_seen_at_full_rate_and_the_others_once_a_second),
        cmocka_unit_test(sixty_watch_one),
        cmocka_unit_test(uploads_may_differ_much),
        cmocka_unit_test(an_upload_that_is_too_small_is_not_exceeded_either),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
