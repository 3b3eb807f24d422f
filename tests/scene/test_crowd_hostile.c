// Crowds with somebody in them who means harm, or whose network does.
#include "scene/crowd_world.h"
#include "scene/session_inside.h"

#include "crowd/private.h"

static int32_t look_at_first(int32_t player, int32_t i, int32_t count)
{
    (void)player;
    (void)i;
    (void)count;
    return 1;
}

static int32_t look_near(int32_t player, int32_t i, int32_t count)
{
    return 1 + (player + i) % (count - 1);
}

static FlTime session_now(const CrowdScene *scene, int32_t node)
{
    return fl_session_time(scene->nodes[node].session, scene->now);
}

static int32_t node_of(const CrowdScene *scene, int32_t number)
{
    int32_t node = 1;
    while (crowd_number(scene, node) != number) {
        node++;
    }
    return node;
}

// ---------------------------------------------------------------- a host

// Who reserved more than the host lets in has members there that no crowd has.
static void a_host_that_introduces_somebody_beyond_its_seats_is_not_heeded(void **state)
{
    (void)state;
    CrowdScene scene;
    crowd_open(&scene, 2);
    for (int32_t i = 0; i < scene.count; i++) {
        FlSessionDef def = crowd_session_def(&scene, i);
        def.peer_capacity = i == 1 ? 2000 : def.peer_capacity;
        def.world.entity_capacity = 4096;
        crowd_start(&scene, i, &def);
    }
    crowd_run(&scene, FL_SEC(5));
    FlSession *host = scene.nodes[0].session;
    int32_t to = crowd_number(&scene, 1);
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter w;
    MemberMessage member = {.number = 1900, .incarnation = 1, .present = true, .client_id = 5};
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__member_message_write(&w, &member);
    assert_int_equal(inside_say(host, to, &w), FL_OK);
    MeetMessage meet = {
        .member = 1900, .incarnation = 1, .conversation = 77, .address = crowd_address(2)};
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__meet_message_write(&w, &meet);
    assert_int_equal(inside_say(host, to, &w), FL_OK);
    crowd_run(&scene, FL_SEC(2));
    assert_true(fl_peer_of_number(scene.nodes[1].session, 1900).index1 != 0);
    assert_int_equal(fl__crowd_stats(fl__light_crowd(scene.nodes[1].session)).lights, 1);
    crowd_close(&scene);
}

// ---------------------------------------------------------------- a network

static double oldest_word_of(const CrowdScene *scene, int32_t number)
{
    double oldest = 0.0;
    for (int32_t i = 1; i < scene->count; i++) {
        FlCrowdView view;
        FlCrowd *crowd = fl__light_crowd(scene->nodes[i].session);
        if (crowd_number(scene, i) != number) {
            assert_int_equal(fl__crowd_view(crowd, (uint32_t)number, true, &view), FL_OK);
            double age = fl_span_seconds(fl_span(session_now(scene, i), view.stamp));
            oldest = age > oldest ? age : oldest;
        }
    }
    return oldest;
}

static void who_changes_its_address_is_seen_again_within_three_seconds(void **state)
{
    (void)state;
    CrowdScene scene;
    crowd_open(&scene, 8);
    crowd_seal(&scene);
    scene.target_fn = look_near;
    scene.targets = 2;
    crowd_start_all(&scene);
    crowd_run(&scene, FL_SEC(10));
    scene.nodes[3].moved = true;
    crowd_run(&scene, FL_SEC(3));
    assert_true(oldest_word_of(&scene, crowd_number(&scene, 3)) < 2.0);
    crowd_close(&scene);
}

static int32_t know(const CrowdScene *scene, int32_t number)
{
    int32_t count = 0;
    for (int32_t i = 1; i < scene->count; i++) {
        FlCrowdView view;
        FlCrowd *crowd = fl__light_crowd(scene->nodes[i].session);
        count += fl__crowd_view(crowd, (uint32_t)number, true, &view) == FL_OK ? 1 : 0;
    }
    return count;
}

// It is introduced before it knows what time it is.
static void who_is_lost_and_comes_back_is_seen_by_all_within_three_seconds(void **state)
{
    (void)state;
    for (int32_t sealed = 0; sealed < 2; sealed++) {
        CrowdScene scene;
        crowd_open(&scene, 20);
        if (sealed == 1) {
            crowd_seal(&scene);
        }
        crowd_start_all(&scene);
        crowd_run(&scene, FL_SEC(10));
        int32_t number = crowd_number(&scene, 5);
        assert_int_equal(know(&scene, number), 19);
        fl_session_close(scene.nodes[5].session);
        scene.nodes[5].session = NULL;
        crowd_run(&scene, FL_MS(200));
        FlSessionDef def = crowd_session_def(&scene, 5);
        def.seed = 777;
        scene.nodes[5].keys.seed = 4242;
        crowd_start(&scene, 5, &def);
        crowd_run(&scene, FL_SEC(3));
        assert_int_equal(crowd_number(&scene, 5), number);
        assert_int_equal(know(&scene, number), 19);
        crowd_close(&scene);
    }
}

// ---------------------------------------------------------------- a member

static void put_16(uint8_t *bytes, int32_t value)
{
    bytes[0] = (uint8_t)(value & 0xff);
    bytes[1] = (uint8_t)(value >> 8);
}

// A LOOK at everybody, with a word that somebody was no good in each.
static void look_at_all(FlCrowd *victim, int32_t from, int32_t players, int32_t number, FlTime now)
{
    uint8_t bytes[FL_CROWD_PACKET_BYTES];
    int32_t count = 2;
    put_16(bytes, number);
    for (int32_t k = 1; k <= players; k++) {
        if (k != from) {
            bytes[count] = 4;
            put_16(bytes + count + 1, k);
            bytes[count + 3] = 200;
            put_16(bytes + count + 4, k);
            count += 6;
        }
    }
    fl__crowd_receive(victim, from, bytes, count, now);
}

static int32_t somebody_with_a_light(const FlCrowd *crowd, int32_t players)
{
    int32_t member = 2;
    while (member < players && fl__crowd_light(crowd, member) == NULL) {
        member++;
    }
    assert_non_null(fl__crowd_light(crowd, member));
    return member;
}

static double watched_share(const CrowdScene *scene, int32_t number)
{
    int32_t watched = 0;
    for (int32_t i = 1; i < scene->count; i++) {
        FlCrowdView view;
        FlCrowd *crowd = fl__light_crowd(scene->nodes[i].session);
        bool seen = crowd_number(scene, i) != number &&
                    fl__crowd_view(crowd, (uint32_t)number, true, &view) == FL_OK && view.watched;
        watched += seen ? 1 : 0;
    }
    return (double)watched / (scene->count - 2);
}

static void who_asks_for_everybody_all_the_time_keeps_nobody_from_being_served(void **state)
{
    (void)state;
    const int32_t players = 60;
    CrowdScene scene;
    crowd_open(&scene, players);
    scene.target_fn = look_at_first;
    scene.targets = 1;
    for (int32_t i = 1; i <= players; i++) {
        scene.nodes[i].kbps = i == 1 ? 64.0 : 100.0;
    }
    crowd_start_all(&scene);
    crowd_run(&scene, FL_SEC(3));
    int32_t owner = node_of(&scene, 1);
    FlCrowd *victim = fl__light_crowd(scene.nodes[owner].session);
    int32_t foe = somebody_with_a_light(victim, players);
    double share = 0.0;
    for (int32_t step = 0; step < 1600; step++) {
        if (step % 2 == 0) {
            look_at_all(victim, foe, players, step, session_now(&scene, owner));
        }
        crowd_step(&scene);
        share += step >= 200 ? watched_share(&scene, 1) / 1400.0 : 0.0;
    }
    print_message("             %.1f %% are watched\n", 100.0 * share);
    assert_true(share > 0.9);
    crowd_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_that_introduces_somebody_beyond_its_seats_is_not_heeded),
        cmocka_unit_test(who_changes_its_address_is_seen_again_within_three_seconds),
        cmocka_unit_test(who_is_lost_and_comes_back_is_seen_by_all_within_three_seconds),
        cmocka_unit_test(who_asks_for_everybody_all_the_time_keeps_nobody_from_being_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
