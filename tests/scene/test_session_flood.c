// Actions that nobody can play, in whole sessions: they take nobody's room but their sender's.
#include "play/play.h"
#include "session_net.h"

#include "agree/lags.h"
#include "session_inside.h"

enum { NODES = 3, CAPACITY = 64, HOST = 0, LIAR = 1, GOOD = 2 };

typedef struct Scene {
    Net net;
    uint32_t lies;
    uint32_t sent[NODES];         // by each, without lies
    int32_t played[NODES][NODES]; // [where][whose], without lies
    uint32_t oldest[NODES][NODES], newest[NODES][NODES];
} Scene;

enum { TYPE_LIE = 9, TYPE_GOOD = 1 };

static Scene *scene_begin(FlTopology topology)
{
    Scene *scene = (Scene *)calloc(1, sizeof *scene);
    assert_non_null(scene);
    net_open(&scene->net, 1, topology, false);
    scene->net.def.action_capacity = CAPACITY;
    return scene;
}

static void scene_end(Scene *scene)
{
    net_close(&scene->net);
    free(scene);
}

static void note(Scene *scene, int32_t where, const FlAction *action)
{
    if (action->type == TYPE_GOOD) {
        uint32_t number;
        int32_t whose = action->number;
        assert_int_equal(action->count, sizeof number);
        memcpy(&number, action->bytes, sizeof number);
        bool first = scene->played[where][whose]++ == 0;
        scene->oldest[where][whose] = first ? number : scene->oldest[where][whose];
        scene->newest[where][whose] = number;
    }
}

static void run(Scene *scene, int32_t frames)
{
    Net *net = &scene->net;
    for (int32_t k = 0; k < frames; k++) {
        for (int32_t i = 0; i < NODES; i++) {
            FlNotice notice;
            FlAction action;
            FlSession *session = net->node[i].session;
            while (session != NULL && fl_notice_take(session, &notice) == FL_OK) {
            }
            while (session != NULL &&
                   fl_action_take(session, net_local(net, i), &action) == FL_OK) {
                note(scene, i, &action);
            }
        }
        net_frame(net);
    }
}

static void start(Scene *scene, int32_t first, int32_t last)
{
    for (int32_t i = first; i <= last; i++) {
        net_start(&scene->net, i);
    }
    net_gather(&scene->net);
}

static bool plays(const Scene *scene, int32_t node)
{
    const FlLags *lags = fl__session_lags(scene->net.node[node].session);
    return fl__lags_status(lags, net_local(&scene->net, node)).plays;
}

/// An action of a liar's with a play time of its choice, to all.
static void lie_as(Scene *scene, int32_t node, FlTime play)
{
    FlSession *liar = scene->net.node[node].session;
    int32_t line = inside_line_of(liar, inside_host(liar));
    FlOrdered action = {.play = play, .sequence = 1000 + scene->lies++, .type = TYPE_LIE};
    action.stamp = net_local(&scene->net, node);
    uint8_t bytes[FL_ACTION_HEAD_BYTES + FL_ACTION_BYTES];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    fl__action_write(&writer, &action);
    RouteHead head = {.kind = MESSAGE_ACTION,
                      .from = (uint16_t)liar->self,
                      .delivery = FL_DELIVERY_UNORDERED,
                      .to_count = ROUTE_TO_ALL};
    while (fl__routed_send_over(liar, line, &head, bytes, fl_writer_size(&writer)) != FL_OK) {
        run(scene, 1);
    }
}

static void lie(Scene *scene, FlTime play)
{
    lie_as(scene, LIAR, play);
}

static void act(Scene *scene, int32_t node)
{
    FlTime now = net_local(&scene->net, node);
    uint32_t number = scene->sent[node]++;
    assert_int_equal(
        fl_action_send(scene->net.node[node].session, now, TYPE_GOOD, &number, sizeof number),
        FL_OK);
}

/// An event from one node reaches another.
static void check_hears(Scene *scene, int32_t from, int32_t to)
{
    FlEvent event = {.type = 1, .delivery = FL_DELIVERY_ORDERED, .bytes = (const uint8_t *)"hi"};
    FlEvent got;
    FlPeerId all = {0};
    event.count = 2;
    assert_int_equal(fl_event_send(scene->net.node[from].session, all, &event), FL_OK);
    run(scene, 50);
    assert_int_equal(fl_event_take(scene->net.node[to].session, &got), FL_OK);
}

static void actions_far_ahead_make_nobody_deaf(void **state)
{
    (void)state;
    for (int32_t topology = 0; topology < 2; topology++) {
        Scene *scene = scene_begin(topology == 0 ? FL_TOPOLOGY_STAR : FL_TOPOLOGY_MESH);
        start(scene, 0, NODES - 1);
        run(scene, 250);
        assert_true(plays(scene, HOST) && plays(scene, GOOD));
        lie(scene, INT64_MAX - 1);
        run(scene, 5);
        assert_int_equal(fl__action_deadline(scene->net.node[HOST].session), FL_FOREVER); // at once
        for (int32_t k = 1; k < 2 * CAPACITY; k++) {
            lie(scene, INT64_MAX - k % 2);
        }
        run(scene, 100);
        check_hears(scene, GOOD, HOST);
        check_hears(scene, HOST, GOOD);
        assert_int_equal(fl__action_deadline(scene->net.node[HOST].session), FL_FOREVER);
        assert_int_equal(fl_session_count(scene->net.node[HOST].session, FL_SESSION_ACTIONS_LOST),
                         2 * CAPACITY);
        scene_end(scene);
    }
}

static void who_sends_more_than_its_share_takes_nothing_from_the_others(void **state)
{
    (void)state;
    Scene *scene = scene_begin(FL_TOPOLOGY_STAR);
    start(scene, 0, NODES - 1);
    run(scene, 250);
    for (int32_t k = 0; k < 300; k++) { // 6 s; as far ahead as is believed
        const FlLags *lags = fl__session_lags(scene->net.node[HOST].session);
        FlTime play = fl__lags_play_time(lags, net_local(&scene->net, HOST));
        lie(scene, play + FL_SEC(3));
        lie(scene, play + FL_SEC(3));
        if (k % 5 == 0) {
            act(scene, HOST);
            act(scene, GOOD);
        }
        run(scene, 1);
    }
    check_hears(scene, GOOD, HOST);
    check_hears(scene, HOST, GOOD);
    run(scene, 250);
    assert_true(fl_session_count(scene->net.node[HOST].session, FL_SESSION_ACTIONS_LOST) > 0);
    const int32_t honest[] = {HOST, GOOD};
    for (int32_t i = 0; i < 2; i++) {
        for (int32_t j = 0; j < 2; j++) {
            int32_t whose = net_number(&scene->net, honest[j]);
            assert_int_equal(scene->played[honest[i]][whose], scene->sent[honest[j]]);
        }
    }
    scene_end(scene);
}

static void who_does_not_play_hears_everything_else(void **state)
{
    (void)state;
    Scene *scene = scene_begin(FL_TOPOLOGY_STAR);
    scene->net.def.tuning.lags.limit_ns = FL_MS(1); // nobody is that near
    start(scene, 0, 0);
    run(scene, 50);
    start(scene, 1, NODES - 1);
    run(scene, 250);
    assert_true(plays(scene, HOST)); // alone so far
    assert_false(plays(scene, GOOD));
    for (int32_t k = 0; k < 3 * CAPACITY; k++) {
        act(scene, HOST);
        run(scene, 2);
    }
    run(scene, 50);
    check_hears(scene, HOST, GOOD);
    const FlSession *good = scene->net.node[GOOD].session;
    assert_int_equal(fl_session_count(good, FL_SESSION_ACTIONS_TAKEN), 0);
    assert_int_equal(fl_session_count(good, FL_SESSION_ACTIONS_LOST),
                     3 * CAPACITY - CAPACITY / NODES);
    scene_end(scene);
}

static void a_newcomer_to_busy_players_has_the_newest_actions_when_it_begins_to_play(void **state)
{
    (void)state;
    Scene *scene = scene_begin(FL_TOPOLOGY_STAR);
    start(scene, 0, LIAR); // who is honest here
    run(scene, 250);
    start(scene, GOOD, GOOD);
    for (int32_t more = 50; more > 0; more -= plays(scene, GOOD) ? 1 : 0) {
        act(scene, HOST);
        run(scene, 1);
    }
    run(scene, 100);
    int32_t host = net_number(&scene->net, HOST);
    uint32_t newest = scene->newest[GOOD][host];
    assert_int_equal(newest, scene->sent[HOST] - 1);
    assert_int_equal(newest - scene->oldest[GOOD][host] + 1, scene->played[GOOD][host]); // no gap
    assert_true(fl_session_count(scene->net.node[GOOD].session, FL_SESSION_ACTIONS_LOST) > 0);
    assert_int_equal(scene->played[LIAR][host], scene->sent[HOST]);
    scene_end(scene);
}

static void what_came_before_one_plays_and_cannot_be_played_goes(void **state)
{
    (void)state;
    Scene *scene = scene_begin(FL_TOPOLOGY_STAR);
    start(scene, 0, LIAR);
    run(scene, 250);
    start(scene, GOOD, GOOD);
    run(scene, 10);
    assert_false(plays(scene, GOOD));
    for (int32_t k = 0; k < CAPACITY; k++) {
        lie(scene, INT64_MAX - 1);
    }
    run(scene, 20);
    assert_false(plays(scene, GOOD));
    assert_true(fl_session_count(scene->net.node[GOOD].session, FL_SESSION_ACTIONS_LOST) > 0);
    run(scene, 250);
    assert_true(plays(scene, GOOD));
    assert_int_equal(fl__action_deadline(scene->net.node[GOOD].session), FL_FOREVER);
    assert_int_equal(fl_session_count(scene->net.node[GOOD].session, FL_SESSION_ACTIONS_LOST),
                     CAPACITY);
    scene_end(scene);
}

/// One who does not play yet, and many who say what it keeps, and go.
static void who_is_gone_leaves_its_room_to_those_who_are_there(void **state)
{
    (void)state;
    Scene *scene = scene_begin(FL_TOPOLOGY_STAR);
    scene->net.def.tuning.lags.provision_ns = FL_SEC(15);
    start(scene, 0, 0);
    run(scene, 50);
    start(scene, 1, NET_NODES - 1);
    run(scene, 50);
    for (int32_t node = NET_NODES - 1; node >= NODES; node--) { // shares grow as they go
        for (int32_t k = 0; k < CAPACITY / 2; k++) {
            lie_as(scene, node, FL_SEC(1));
        }
        run(scene, 10);
        net_leave(&scene->net, node);
        run(scene, 10);
    }
    for (int32_t k = 0; k < CAPACITY; k++) {
        act(scene, HOST);
        run(scene, 2);
    }
    assert_false(plays(scene, GOOD));
    for (int32_t k = 0; k < 1000 && !plays(scene, GOOD); k++) {
        run(scene, 1);
    }
    run(scene, 100);
    int32_t host = net_number(&scene->net, HOST);
    assert_int_equal(scene->newest[GOOD][host], scene->sent[HOST] - 1);
    assert_int_equal(scene->played[GOOD][host], CAPACITY / NODES); // all of its share
    scene_end(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(actions_far_ahead_make_nobody_deaf),
        cmocka_unit_test(who_sends_more_than_its_share_takes_nothing_from_the_others),
        cmocka_unit_test(who_does_not_play_hears_everything_else),
        cmocka_unit_test(a_newcomer_to_busy_players_has_the_newest_actions_when_it_begins_to_play),
        cmocka_unit_test(what_came_before_one_plays_and_cannot_be_played_goes),
        cmocka_unit_test(who_is_gone_leaves_its_room_to_those_who_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
