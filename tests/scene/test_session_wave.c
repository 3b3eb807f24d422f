// A new kind of data is one file and one row: the feature "wave" (wave_feature.h) in real sessions.
#include "session_net.h"
#include "wave_feature.h"

enum { NODES = 4 };

typedef struct Scene {
    Net net;
    Wave wave[NODES];
} Scene;

static void open_scene(Scene *scene, uint64_t seed, FlTopology topology, bool sealed)
{
    memset(scene, 0, sizeof *scene);
    FlRandom random = {.seed = seed};
    FlImpairSettings storm = net_storm(&random, 10);
    net_open(&scene->net, seed, topology, sealed);
    net_weather(&scene->net, &storm);
    for (int32_t i = 0; i < NODES; i++) {
        net_start(&scene->net, i);
        scene->wave[i].session = scene->net.node[i].session;
        fl__feature_add(scene->net.node[i].session, &WAVE, &scene->wave[i]);
    }
    net_gather(&scene->net);
}

static void run(Scene *scene, int32_t frames)
{
    net_frames(&scene->net, frames);
}

static uint32_t word_of(int32_t member, uint8_t value)
{
    return (uint32_t)member | (uint32_t)value << 16;
}

static void show_all(Scene *scene, uint8_t value)
{
    for (int32_t i = 0; i < NODES; i++) {
        if (scene->net.node[i].session != NULL) {
            Wave *wave = &scene->wave[i];
            int32_t self = wave->session->self;
            wave->word[self] = word_of(self, (uint8_t)(value + i));
            wave_send(wave, wave->word[self], FL__NONE, true);
        }
    }
}

// Everybody who is there sees everybody's.
static void check_seen(const Scene *scene, uint8_t value)
{
    for (int32_t at = 0; at < NODES; at++) {
        for (int32_t of = 0; of < NODES; of++) {
            if (scene->net.node[at].session != NULL && scene->net.node[of].session != NULL) {
                int32_t member = net_number(&scene->net, of);
                assert_int_equal(scene->wave[at].word[member] >> 16, value + of);
            }
        }
    }
}

static void everybody_sees_everybodys_newest_and_receives_each(void **state)
{
    (void)state;
    static Scene scene;
    uint32_t lost = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        open_scene(&scene, seed, (FlTopology)(seed % 3), seed > 3);
        for (int32_t round = 1; round <= 20; round++) {
            show_all(&scene, (uint8_t)(10 * round));
            run(&scene, 20);
        }
        run(&scene, 200);
        check_seen(&scene, (uint8_t)(10 * 20));
        for (int32_t at = 0; at < NODES; at++) {
            for (int32_t of = 0; of < NODES; of++) {
                uint32_t received = scene.wave[at].received[net_number(&scene.net, of)];
                assert_int_equal(received, at == of ? 0 : 20); // once each, whatever got lost
            }
            assert_true(scene.wave[at].delivered > 10); // of 20 at least, and some were overtaken
            assert_int_equal(scene.wave[at].refused, 0);
            lost += scene.wave[at].lost;
        }
        assert_int_equal(net_count(&scene.net, FL_SESSION_MALFORMED), 0);
        net_close(&scene.net);
    }
    assert_true(lost > 0);
}

static void it_survives_a_change_of_host(void **state)
{
    (void)state;
    static Scene scene;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        open_scene(&scene, seed, seed % 2 == 0 ? FL_TOPOLOGY_MESH : FL_TOPOLOGY_HYBRID, seed > 2);
        show_all(&scene, 10);
        run(&scene, 100);
        net_leave(&scene.net, 0);
        net_gather(&scene.net);
        show_all(&scene, 20);
        run(&scene, 200);
        check_seen(&scene, 20);
        net_close(&scene.net);
    }
}

static void nobody_waves_for_another(void **state)
{
    (void)state;
    static Scene scene;
    open_scene(&scene, 7, FL_TOPOLOGY_STAR, false);
    show_all(&scene, 10);
    run(&scene, 100);
    int32_t victim = net_number(&scene.net, 2);
    scene.wave[1].word[victim] = word_of(victim, 99);
    wave_send(&scene.wave[1], word_of(victim, 99), FL__NONE, true);
    run(&scene, 100);
    assert_true(scene.wave[0].refused >= 2); // the section and the message
    assert_int_equal(scene.wave[0].word[victim] >> 16, 12);
    assert_int_equal(scene.wave[3].word[victim] >> 16, 12);
    assert_int_equal(scene.wave[3].received[victim], 1);
    net_close(&scene.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_sees_everybodys_newest_and_receives_each),
        cmocka_unit_test(it_survives_a_change_of_host),
        cmocka_unit_test(nobody_waves_for_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
