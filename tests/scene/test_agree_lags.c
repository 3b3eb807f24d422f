// Lags and order at work: peers with clocks of their own, over an emulated network.
//
// Every action carries its number. The scene notes when each peer played it, by its own clock and
// in true time, and in which place; and then asks what the paper promises: one order everywhere,
// and the same time between any two actions everywhere.
#include "unit/support.h"

#include "agree/agree.h"
#include "lab/experiments/simultaneity/simultaneity_net.h"

enum { PEERS = 8, ACTIONS = 4000 };

typedef struct Played {
    FlTime local, at;
    int32_t place; // from 1; 0: not played
    bool late;
} Played;

typedef struct Scene {
    NetDef def;
    Net *net;
    FlRandom random;
    int32_t actions;
    int32_t writer[ACTIONS];
    FlTime done[ACTIONS], stamp[ACTIONS], play[ACTIONS];
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
    assert_true(number < (uint32_t)scene->actions);
    Played *played = &scene->played[play->peer][number];
    assert_int_equal(played->place, 0); // once only
    played->local = play->local;
    played->at = play->at;
    played->place = ++scene->places[play->peer];
    played->late = play->action->late;
    scene->late += play->action->late ? 1 : 0;
    scene->play[number] = play->action->play;
}

static Scene *scene_begin(uint64_t stream, FlLagsChoice choice, int32_t peers)
{
    Scene *scene = (Scene *)calloc(1, sizeof *scene);
    assert_non_null(scene);
    scene->random = random_stream(stream);
    NetDef *def = &scene->def;
    def->seed = stream;
    def->peers = peers;
    def->control = NET_LAGS;
    def->lags = fl__lags_def_default();
    def->lags.choice = choice;
    def->lags.margin_ns = 0;
    def->lags.provision_ns = FL_MS(300);
    def->lags.again_ns = FL_FOREVER;
    def->way = fl_impair_def_default().settings;
    def->play_fn = note_play;
    def->ctx = scene;
    for (int32_t i = 0; i < peers; i++) {
        def->clock[i] = random_time(&scene->random, -FL_SEC(600), FL_SEC(600));
        for (int32_t j = 0; j < peers; j++) {
            def->delay[i][j] = random_time(&scene->random, FL_MS(5), FL_MS(195));
        }
    }
    return scene;
}

static void scene_start(Scene *scene)
{
    assert_int_equal(net_create(&scene->def, &scene->net), FL_OK);
}

static void scene_end(Scene *scene)
{
    net_destroy(scene->net);
    free(scene);
}

static FlResult act(Scene *scene, int32_t peer)
{
    uint32_t number = (uint32_t)scene->actions++;
    assert_true(scene->actions <= ACTIONS);
    scene->writer[number] = peer;
    scene->done[number] = net_now(scene->net);
    scene->stamp[number] = net_local(scene->net, peer, net_now(scene->net));
    FlResult result = net_act(scene->net, peer, &number, sizeof number);
    scene->actions -= result != FL_OK ? 1 : 0;
    return result;
}

/// Everybody who can acts now and then, for so long.
static void act_for(Scene *scene, FlTime span, uint64_t members)
{
    FlTime until = net_now(scene->net) + span;
    while (net_now(scene->net) < until) {
        FlTime pause = random_time(&scene->random, 1, FL_MS(20));
        net_run(scene->net, net_now(scene->net) + pause);
        int32_t peer = (int32_t)fl_random_below(&scene->random, (uint64_t)scene->def.peers);
        if ((members >> peer & 1u) != 0) {
            assert_int_equal(act(scene, peer), FL_OK);
        }
    }
}

static void run_on(Scene *scene, FlTime span)
{
    net_run(scene->net, net_now(scene->net) + span);
}

static uint64_t all(const Scene *scene)
{
    return (UINT64_C(1) << scene->def.peers) - 1;
}

/// Actions from `first` on: how far the time between two of them differs between two peers, at
/// most; by their own clocks, or in true time. All of them must have been played there.
static FlTime unevenness(const Scene *scene, int32_t first, uint64_t members, bool local)
{
    FlTime worst = 0;
    for (int32_t p = 0; p < scene->def.peers; p++) {
        for (int32_t q = 0; q < p; q++) {
            if ((members >> p & 1u) == 0 || (members >> q & 1u) == 0) {
                continue;
            }
            FlTime least = INT64_MAX;
            FlTime most = INT64_MIN;
            for (int32_t k = first; k < scene->actions; k++) {
                const Played *here = &scene->played[p][k];
                const Played *there = &scene->played[q][k];
                assert_true(here->place > 0 && there->place > 0);
                FlTime apart = local ? here->local - there->local : here->at - there->at;
                least = apart < least ? apart : least;
                most = apart > most ? apart : most;
            }
            worst = most - least > worst ? most - least : worst;
        }
    }
    return worst;
}

/// By the order of play times, which is the same for all: is it also the order in which they were
/// played, from `first` on?
static void check_one_order(const Scene *scene, int32_t first, uint64_t members)
{
    for (int32_t k = first; k < scene->actions; k++) {
        for (int32_t j = first; j < k; j++) {
            bool before = scene->play[k] < scene->play[j] ||
                          (scene->play[k] == scene->play[j] && scene->writer[k] < scene->writer[j]);
            for (int32_t p = 0; p < scene->def.peers; p++) {
                if ((members >> p & 1u) != 0) {
                    assert_int_equal(scene->played[p][k].place < scene->played[p][j].place, before);
                }
            }
        }
    }
}

/// Local clocks: between two of one writer's actions lies the same time everywhere as at the
/// writer.
static void check_legal(const Scene *scene)
{
    int32_t last[PEERS];
    for (int32_t i = 0; i < PEERS; i++) {
        last[i] = -1;
    }
    for (int32_t k = 0; k < scene->actions; k++) {
        int32_t before = last[scene->writer[k]];
        last[scene->writer[k]] = k;
        for (int32_t p = 0; p < scene->def.peers && before >= 0; p++) {
            assert_int_equal(scene->played[p][k].local - scene->played[p][before].local,
                             scene->stamp[k] - scene->stamp[before]);
        }
    }
}

// ---------------------------------------------------------------- still networks

static void one_order_and_one_timing_without_common_clocks(void **state)
{
    (void)state;
    for (int32_t k = 0; k < CASES(60); k++) {
        FlLagsChoice choice = (FlLagsChoice)(k % FL_LAGS_CHOICES);
        Scene *scene = scene_begin(8100 + (uint64_t)k, choice, 2 + k % (PEERS - 1));
        scene_start(scene);
        assert_int_equal(act(scene, 0), FL_WOULD_BLOCK); // nobody could play it
        run_on(scene, FL_SEC(2));
        assert_true(net_is_ready(scene->net));
        act_for(scene, FL_SEC(1), all(scene));
        run_on(scene, FL_SEC(1));
        assert_int_equal(scene->late, 0);
        assert_int_equal(unevenness(scene, 0, all(scene), true), 0);
        assert_int_equal(unevenness(scene, 0, all(scene), false), 0);
        check_one_order(scene, 0, all(scene));
        check_legal(scene);
        scene_end(scene);
    }
}

static void an_own_action_is_decided_after_the_offset_that_is_said(void **state)
{
    (void)state;
    Scene *scene = scene_begin(8201, FL_LAGS_FREE, 5);
    scene_start(scene);
    run_on(scene, FL_SEC(2));
    act_for(scene, FL_SEC(1), all(scene));
    run_on(scene, FL_SEC(1));
    for (int32_t k = 0; k < scene->actions; k++) {
        for (int32_t p = 0; p < 5; p++) {
            FlTime offset = fl__lags_offset(net_lags(scene->net, p), scene->writer[k]);
            assert_int_equal(scene->played[p][k].local, scene->stamp[k] + offset);
        }
    }
    scene_end(scene);
}

// ---------------------------------------------------------------- networks that change

static void a_network_that_gets_slower_is_noticed_and_nothing_is_lost(void **state)
{
    (void)state;
    for (int32_t k = 0; k < CASES(20); k++) {
        FlLagsChoice choice = (FlLagsChoice)(k % FL_LAGS_CHOICES);
        Scene *scene = scene_begin(8300 + (uint64_t)k, choice, 6);
        scene_start(scene);
        run_on(scene, FL_SEC(2));
        act_for(scene, FL_SEC(1), all(scene));
        for (int32_t i = 0; i < 3; i++) { // three ways of thirty
            int32_t from = (int32_t)fl_random_below(&scene->random, 6);
            int32_t to = (from + 1 + (int32_t)fl_random_below(&scene->random, 5)) % 6;
            net_delay(scene->net, from, to, FL_MS(400));
        }
        act_for(scene, FL_SEC(3), all(scene));
        int64_t late = scene->late;
        int32_t first = scene->actions;
        act_for(scene, FL_SEC(8), all(scene)); // what falls has fallen by then
        run_on(scene, FL_SEC(2));
        assert_true(late > 0);
        assert_int_equal(scene->late, late);
        check_one_order(scene, first, all(scene));
        for (int32_t p = 0; p < 6; p++) {
            assert_int_equal(scene->places[p], scene->actions);
        }
        first = scene->actions;
        act_for(scene, FL_SEC(1), all(scene));
        run_on(scene, FL_SEC(2));
        assert_int_equal(unevenness(scene, first, all(scene), true), 0);
        scene_end(scene);
    }
}

static void a_network_that_gets_faster_makes_lags_shorter_and_nothing_late(void **state)
{
    (void)state;
    for (int32_t k = 0; k < CASES(20); k++) {
        FlLagsChoice choice = (FlLagsChoice)(k % FL_LAGS_CHOICES);
        Scene *scene = scene_begin(8400 + (uint64_t)k, choice, 6);
        scene->def.lags.again_ns = FL_SEC(1);
        scene->def.lags.window_ns = FL_SEC(1);
        scene_start(scene);
        run_on(scene, FL_SEC(2));
        FlTime before = fl__lags_status(net_lags(scene->net, 0), 0).mean_ns;
        act_for(scene, FL_SEC(1), all(scene));
        for (int32_t from = 0; from < 6; from++) {
            for (int32_t to = 0; to < 6; to++) {
                if (from != to) {
                    net_delay(scene->net, from, to, scene->def.delay[from][to] / 3);
                }
            }
        }
        act_for(scene, FL_SEC(6), all(scene));
        run_on(scene, FL_SEC(2));
        assert_int_equal(scene->late, 0);
        assert_true(fl__lags_status(net_lags(scene->net, 0), 0).mean_ns < before);
        check_one_order(scene, 0, all(scene));
        scene_end(scene);
    }
}

static void whoever_comes_and_goes_makes_nothing_late(void **state)
{
    (void)state;
    for (int32_t k = 0; k < CASES(30); k++) {
        FlLagsChoice choice = (FlLagsChoice)(k % FL_LAGS_CHOICES);
        Scene *scene = scene_begin(8500 + (uint64_t)k, choice, PEERS);
        uint64_t members = 0x0f;
        for (int32_t i = 4; i < PEERS; i++) {
            scene->def.absent[i] = true;
        }
        scene_start(scene);
        run_on(scene, FL_SEC(2));
        act_for(scene, FL_MS(500), members);
        uint64_t stayed = members;
        for (int32_t change = 0; change < 6; change++) {
            int32_t peer = (int32_t)fl_random_below(&scene->random, PEERS);
            bool comes = (members >> peer & 1u) == 0;
            members ^= UINT64_C(1) << peer;
            if (members == 0) {
                members = UINT64_C(1) << peer;
                continue;
            }
            stayed &= comes ? stayed : members;
            net_member(scene->net, peer, comes);
            // Whoever was there acts on while the newcomer is measured.
            act_for(scene, FL_MS(200) + change % 2 * FL_SEC(2),
                    comes ? members & ~(UINT64_C(1) << peer) : members);
            net_run(scene->net, net_now(scene->net) + (change % 2 == 0 ? FL_SEC(2) : 0));
        }
        run_on(scene, FL_SEC(5));
        assert_true(net_is_ready(scene->net));
        int32_t first = scene->actions;
        act_for(scene, FL_SEC(1), members);
        run_on(scene, FL_SEC(2));
        assert_int_equal(scene->late, 0);
        assert_int_equal(unevenness(scene, first, members, true), 0);
        check_one_order(scene, first, members);
        for (int32_t p = 0; p < PEERS; p++) { // who stayed has played what those who stayed did
            for (int32_t i = 0; i < scene->actions && (stayed >> p & 1u) != 0; i++) {
                bool theirs = (stayed >> scene->writer[i] & 1u) != 0;
                assert_true(!theirs || scene->played[p][i].place > 0);
            }
        }
        scene_end(scene);
    }
}

static void messages_may_get_lost_doubled_and_reordered(void **state)
{
    (void)state;
    for (int32_t k = 0; k < CASES(20); k++) {
        FlLagsChoice choice = (FlLagsChoice)(k % FL_LAGS_CHOICES);
        Scene *scene = scene_begin(8600 + (uint64_t)k, choice, 5);
        scene->def.way.loss_ppm = 200000;
        scene->def.way.duplicate_ppm = 100000;
        scene->def.way.jitter_ns = FL_MS(5);
        scene->def.lags.margin_ns = FL_MS(20);
        scene->def.lags.retry_ns = FL_MS(500);
        scene_start(scene);
        for (int32_t i = 0; i < 120 && !net_is_ready(scene->net); i++) {
            run_on(scene, FL_MS(500));
        }
        assert_true(net_is_ready(scene->net));
        FlTime mean = fl__lags_status(net_lags(scene->net, 0), 0).mean_ns;
        assert_true(mean > 0 && mean < FL_MS(450));
        scene_end(scene);
    }
}

// ---------------------------------------------------------------- clocks that drift

static void drift_shows_as_drift_times_time_until_a_round_takes_it_out(void **state)
{
    (void)state;
    for (int32_t k = 0; k < CASES(9); k++) {
        FlLagsChoice choice = (FlLagsChoice)(k % FL_LAGS_CHOICES);
        Scene *scene = scene_begin(8700 + (uint64_t)k, choice, 4);
        bool again = k % 2 == 1;
        scene->def.lags.margin_ns = FL_MS(8);
        scene->def.lags.window_ns = FL_SEC(1);
        scene->def.lags.again_ns = again ? FL_SEC(2) : FL_FOREVER;
        for (int32_t i = 0; i < 4; i++) {
            scene->def.drift_ppb[i] = random_time(&scene->random, -100000, 100000);
        }
        scene_start(scene);
        run_on(scene, FL_SEC(2));
        FlTime start = net_now(scene->net);
        while (net_now(scene->net) < start + FL_SEC(15)) {
            act_for(scene, FL_MS(100), all(scene));
            run_on(scene, FL_MS(400));
        }
        run_on(scene, FL_SEC(1));
        int64_t drift = 0;
        for (int32_t i = 0; i < 4; i++) {
            for (int32_t j = 0; j < i; j++) {
                int64_t apart = scene->def.drift_ppb[i] - scene->def.drift_ppb[j];
                apart = apart < 0 ? -apart : apart;
                drift = apart > drift ? apart : drift;
            }
        }
        FlTime since = again ? FL_SEC(4) : FL_SEC(16);
        FlTime bound = drift * since / 1000000000 + FL_US(1);
        FlTime worst = unevenness(scene, 0, all(scene), false);
        assert_int_equal(scene->late, 0);
        assert_true(worst <= bound);
        assert_true(again || worst > bound / 4); // there is something to take out
        check_one_order(scene, 0, all(scene));
        scene_end(scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_order_and_one_timing_without_common_clocks),
        cmocka_unit_test(an_own_action_is_decided_after_the_offset_that_is_said),
        cmocka_unit_test(a_network_that_gets_slower_is_noticed_and_nothing_is_lost),
        cmocka_unit_test(a_network_that_gets_faster_makes_lags_shorter_and_nothing_late),
        cmocka_unit_test(whoever_comes_and_goes_makes_nothing_late),
        cmocka_unit_test(messages_may_get_lost_doubled_and_reordered),
        cmocka_unit_test(drift_shows_as_drift_times_time_until_a_round_takes_it_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
