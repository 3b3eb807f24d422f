// A crowd outlives its host: killed or gone, sealed or not, with 20 and with 100 players.
#include "scene/crowd_world.h"

#define LEADERS_EVERY 5 // players 3, 8, 13, ... may take over
#define WATCHED 3
#define STAYS_KIND 77

static bool may_lead(int32_t node)
{
    return node % LEADERS_EVERY == 3;
}

static int32_t look_at_next(int32_t player, int32_t i, int32_t count)
{
    return 1 + (player + i) % (count - 1);
}

typedef struct Ages {
    FlTime watched, rest; // the oldest newest update that any player had
} Ages;

static FlSession *session_of(const CrowdScene *scene, int32_t node)
{
    return scene->nodes[node].session;
}

static void open_crowd(CrowdScene *scene, int32_t players, bool sealed)
{
    crowd_open(scene, players);
    scene->target_fn = look_at_next;
    scene->targets = WATCHED;
    if (sealed) {
        crowd_seal(scene);
    }
    for (int32_t i = 0; i < scene->count; i++) {
        FlSessionDef def = crowd_session_def(scene, i);
        def.tuning.direct_capacity = may_lead(i) ? def.peer_capacity : 1;
        crowd_start(scene, i, &def);
    }
}

// A thing of the host's that survives_owner, with a state.
static FlEntityId make_flag(CrowdScene *scene)
{
    FlEntityDef def = fl_entity_def_default();
    def.kind = STAYS_KIND;
    def.survives_owner = true;
    FlEntityId flag = fl_entity_create(session_of(scene, 0), &def);
    assert_true(flag.index1 != 0);
    assert_int_equal(fl_entity_state_set(session_of(scene, 0), flag, "red", 3), FL_OK);
    return flag;
}

static FlEntityId avatar_at(const CrowdScene *scene, int32_t node, int32_t of)
{
    FlEntityStatus status;
    assert_int_equal(fl_entity_status(session_of(scene, of), scene->nodes[of].avatar, &status),
                     FL_OK);
    return fl_entity_of_number(session_of(scene, node), status.number);
}

static FlTime age_at(const CrowdScene *scene, int32_t node, int32_t of, bool *watched)
{
    FlEntityStatus status;
    FlEntityId id = avatar_at(scene, node, of);
    assert_int_equal(fl_entity_status(session_of(scene, node), id, &status), FL_OK);
    *watched = status.watched;
    assert_true(status.newest != FL_FOREVER);
    return fl_session_time(session_of(scene, node), scene->now) - status.newest;
}

static void look_at_ages(const CrowdScene *scene, Ages *ages)
{
    for (int32_t i = 1; i < scene->count; i++) {
        for (int32_t of = 1; of < scene->count; of++) {
            bool watched;
            FlTime age = of != i ? age_at(scene, i, of, &watched) : 0;
            FlTime *most = of != i && watched ? &ages->watched : &ages->rest;
            *most = age > *most ? age : *most;
        }
    }
}

static Ages run_looking(CrowdScene *scene, FlTime span)
{
    Ages ages = {0};
    for (FlTime until = scene->now + span; scene->now < until;) {
        crowd_run(scene, FL_MS(100));
        look_at_ages(scene, &ages);
    }
    return ages;
}

// The node that hosts, of those that are there; 0: none.
static int32_t host_of(const CrowdScene *scene)
{
    int32_t host = 0;
    for (int32_t i = 1; i < scene->count; i++) {
        if (scene->nodes[i].deaf) {
            continue;
        }
        FlSession *session = session_of(scene, i);
        bool leads = fl_peer_host(session).index1 == fl_peer_self(session).index1;
        assert_true(!leads || host == 0);
        host = leads ? i : host;
    }
    return host;
}

// All but `gone` of them.
static void assert_all_are_there(const CrowdScene *scene, int32_t gone)
{
    int32_t host = host_of(scene);
    assert_true(host != 0 && may_lead(host));
    uint32_t number = fl_peer_self(session_of(scene, host)).index1;
    for (int32_t i = 1; i < scene->count; i++) {
        if (scene->nodes[i].deaf) {
            continue;
        }
        FlSession *session = session_of(scene, i);
        assert_int_equal(fl_session_state(session), FL_SESSION_RUNNING);
        assert_int_equal(fl_peer_host(session).index1, number);
        assert_int_equal(fl_peer_count(session), scene->count - 2 - gone);
        assert_int_equal(fl_session_count(session, FL_SESSION_MALFORMED), 0);
        assert_int_equal(fl_session_count(session, FL_SESSION_FOREIGN), 0);
    }
}

// The state of an avatar reaches those who watch it.
static void assert_states_work(CrowdScene *scene, const char *text)
{
    for (int32_t i = 1; i < scene->count; i++) {
        FlSession *session = session_of(scene, i);
        assert_int_equal(
            fl_entity_state_set(session, scene->nodes[i].avatar, text, (int32_t)strlen(text)),
            FL_OK);
    }
    crowd_run(scene, FL_SEC(4));
    for (int32_t i = 1; i < scene->count; i++) {
        for (int32_t of = 1; of < scene->count; of++) {
            bool watched;
            if (of == i || (age_at(scene, i, of, &watched), !watched)) {
                continue;
            }
            const uint8_t *bytes;
            int32_t count;
            FlEntityId id = avatar_at(scene, i, of);
            assert_int_equal(fl_entity_state_get(session_of(scene, i), id, &bytes, &count), FL_OK);
            assert_int_equal(count, strlen(text));
            assert_memory_equal(bytes, text, (size_t)count);
        }
    }
}

static void assert_a_call_works(CrowdScene *scene, int32_t from, int32_t of)
{
    FlSession *asks = session_of(scene, from);
    FlSession *owner = session_of(scene, of);
    FlCallDef def = {.kind = 200, .bytes = "open", .count = 4};
    uint32_t serial;
    FlEntityId id = avatar_at(scene, from, of);
    assert_int_equal(fl_call_send(asks, scene->now, id, &def, &serial), FL_OK);
    FlCallDone done = {.id = UINT32_MAX};
    for (int32_t frame = 0; frame < 60 && done.id != serial; frame++) {
        FlCall call;
        if (fl_call_take(owner, &call) == FL_OK) {
            assert_int_equal(fl_call_answer(owner, scene->now, &call, true, "yes", 3), FL_OK);
        }
        crowd_run(scene, CROWD_FRAME);
        (void)fl_call_take_done(asks, scene->now, &done);
    }
    assert_int_equal(done.verdict, FL_CALL_APPLIED);
}

static void assert_the_flag_is_there(const CrowdScene *scene, uint32_t number)
{
    int32_t host = host_of(scene);
    const uint8_t *bytes;
    int32_t count;
    for (int32_t i = 1; i < scene->count; i++) {
        FlEntityStatus status;
        FlEntityId flag = fl_entity_of_number(session_of(scene, i), number);
        assert_int_equal(fl_entity_status(session_of(scene, i), flag, &status), FL_OK);
        assert_int_equal(status.kind, STAYS_KIND);
        assert_int_equal(status.ours, i == host);
    }
    FlEntityId flag = fl_entity_of_number(session_of(scene, host), number);
    assert_int_equal(fl_entity_state_get(session_of(scene, host), flag, &bytes, &count), FL_OK);
    assert_int_equal(count, 3);
    assert_memory_equal(bytes, "red", 3);
}

static void lose_host(CrowdScene *scene, bool leaves)
{
    if (leaves) {
        fl_session_leave(session_of(scene, 0), scene->now);
        crowd_run(scene, FL_MS(200));
    }
    scene->nodes[0].deaf = true;
}

// While the host changes motion goes on as before: what is watched every frame, the rest once a
// second.
static void play(int32_t players, bool sealed, bool leaves)
{
    static CrowdScene scene;
    open_crowd(&scene, players, sealed);
    crowd_run(&scene, FL_SEC(2));
    FlEntityId flag = make_flag(&scene);
    FlEntityStatus status;
    assert_int_equal(fl_entity_status(session_of(&scene, 0), flag, &status), FL_OK);
    crowd_run(&scene, FL_SEC(8));
    Ages before = run_looking(&scene, FL_SEC(3));
    lose_host(&scene, leaves);
    Ages during = run_looking(&scene, FL_SEC(16));
    printf("%d players, %s, host %s: watched %.0f then %.0f ms, rest %.0f then %.0f ms\n", players,
           sealed ? "sealed" : "plain", leaves ? "leaves" : "killed",
           1e3 * fl_span_seconds(before.watched), 1e3 * fl_span_seconds(during.watched),
           1e3 * fl_span_seconds(before.rest), 1e3 * fl_span_seconds(during.rest));
    assert_all_are_there(&scene, 0);
    assert_true(during.watched <= before.watched + FL_MS(50));
    assert_true(during.rest <= before.rest + FL_MS(300));
    assert_the_flag_is_there(&scene, status.number);
    assert_states_work(&scene, "armed");
    assert_a_call_works(&scene, 2, 7);
    assert_a_call_works(&scene, 4, host_of(&scene));
    scene.target_fn = crowd_look_near; // whom nobody was introduced to before
    crowd_run(&scene, FL_SEC(4));
    assert_states_work(&scene, "hit");
    crowd_close(&scene);
}

static void twenty_outlive_a_host_that_is_killed(void **state)
{
    (void)state;
    play(20, false, false);
    play(20, true, false);
}

static void twenty_outlive_a_host_that_leaves(void **state)
{
    (void)state;
    play(20, false, true);
    play(20, true, true);
}

static void a_hundred_outlive_a_host_that_is_killed(void **state)
{
    (void)state;
    play(100, false, false);
    play(100, true, false);
}

static void a_hundred_outlive_a_host_that_leaves(void **state)
{
    (void)state;
    play(100, true, true);
}

// The first that may take over is gone as well: the second does. Then that one dies, too, and
// others have been made ready meanwhile.
static void it_outlives_its_successors(void **state)
{
    (void)state;
    for (int32_t sealed = 0; sealed < 2; sealed++) {
        static CrowdScene scene;
        open_crowd(&scene, 20, sealed == 1);
        crowd_run(&scene, FL_SEC(8));
        int32_t first = 0;
        for (int32_t i = 1; i < scene.count; i++) { // numbers are given in order of arrival
            bool lower = first == 0 || crowd_number(&scene, i) < crowd_number(&scene, first);
            first = may_lead(i) && lower ? i : first;
        }
        scene.nodes[first].deaf = true;
        lose_host(&scene, false);
        crowd_run(&scene, FL_SEC(26));
        int32_t second = host_of(&scene);
        assert_true(second != first);
        assert_all_are_there(&scene, 1);
        scene.nodes[second].deaf = true;
        crowd_run(&scene, FL_SEC(16));
        assert_true(host_of(&scene) != second);
        assert_all_are_there(&scene, 2);
        crowd_close(&scene);
    }
}

static void without_whoever_may_take_over_it_ends_and_says_why(void **state)
{
    (void)state;
    CrowdScene scene;
    crowd_open(&scene, 8);
    crowd_start_all(&scene);
    crowd_run(&scene, FL_SEC(4));
    lose_host(&scene, true);
    crowd_run(&scene, FL_SEC(2));
    for (int32_t i = 1; i < scene.count; i++) {
        assert_int_equal(fl_session_state(session_of(&scene, i)), FL_SESSION_ENDED);
        assert_int_equal(fl_session_end(session_of(&scene, i)), FL_END_HOST_LEFT);
    }
    crowd_close(&scene);
}

// Where there are no keys, a new host lets newcomers in: they see all, and all see them.
static void a_new_host_lets_newcomers_in(void **state)
{
    (void)state;
    static CrowdScene scene;
    open_crowd(&scene, 12, false);
    int32_t late = 12;
    fl_session_close(session_of(&scene, late));
    scene.nodes[late].session = NULL;
    scene.nodes[late].deaf = true;
    crowd_run(&scene, FL_SEC(6));
    lose_host(&scene, true);
    crowd_run(&scene, FL_SEC(6));
    FlSessionDef def = crowd_session_def(&scene, late);
    def.host = crowd_address(host_of(&scene));
    scene.nodes[late].deaf = false;
    crowd_start(&scene, late, &def);
    crowd_run(&scene, FL_SEC(8));
    assert_all_are_there(&scene, 0);
    Ages ages = run_looking(&scene, FL_SEC(2));
    assert_true(ages.rest < FL_MS(2500));
    crowd_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twenty_outlive_a_host_that_is_killed),
        cmocka_unit_test(twenty_outlive_a_host_that_leaves),
        cmocka_unit_test(a_hundred_outlive_a_host_that_is_killed),
        cmocka_unit_test(a_hundred_outlive_a_host_that_leaves),
        cmocka_unit_test(it_outlives_its_successors),
        cmocka_unit_test(without_whoever_may_take_over_it_ends_and_says_why),
        cmocka_unit_test(a_new_host_lets_newcomers_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
