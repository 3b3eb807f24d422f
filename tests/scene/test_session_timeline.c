// Timelines over whole sessions: with loss, reordering and duplicates, with players (and hosts)
// that leave, crash and come, everybody settles the same states; a fault is named by its tick; and
// nothing can be written to the session from within a step.
#include "session_net.h"

enum { BYTES = 2, HISTORY = 1024, LONGEST = 4000, TICK_MS = 20 };

typedef struct State {
    uint64_t sum;
    uint64_t tick;
    uint64_t played[NET_NODES + 1]; // per player
} State;

typedef struct Player {
    FlTimeline *timeline;
    FlSession *session;
    int64_t next; // the tick whose input is handed in next
    int64_t first_settled, last_settled;
    uint64_t sums[LONGEST];
    int64_t fault_at; // a game that is not the same from here on
    bool writes;      // tries to write within a step
    uint64_t refused;
} Player;

typedef struct Scene {
    Net net;
    Player player[NET_NODES];
    FlTimelineDef def;
} Scene;

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static void try_to_write(Player *player)
{
    FlEvent event = {.type = 1};
    FlEntityDef def = fl_entity_def_default();
    FlEntityId id;
    FlState truth = {0};
    uint8_t bytes[BYTES] = {0};
    FlPeerId nobody = {0};
    assert_int_equal(fl_event_send(player->session, nobody, &event), FL_REPLAYING);
    assert_int_equal(fl_entity_create(player->session, &def, &id), FL_REPLAYING);
    assert_int_equal(fl_input_set(player->session, player->next, bytes), FL_REPLAYING);
    id = fl_entity_next(player->session, id);
    if (id.index1 != 0) {
        assert_int_equal(fl_entity_set(player->session, id, &truth), FL_REPLAYING);
        assert_int_equal(fl_entity_state_set(player->session, id, bytes, 1), FL_REPLAYING);
        player->refused += 2;
    }
    player->refused += 3;
}

static void step(void *ctx, void *bytes, int64_t tick, const FlTimelineInputs *inputs)
{
    Player *player = (Player *)ctx;
    State *state = (State *)bytes;
    assert_int_equal((int64_t)state->tick, tick);
    for (int32_t p = 0; p <= NET_NODES; p++) {
        uint64_t word = UINT64_MAX;
        if (inputs->of[p] != NULL) {
            word = (uint64_t)(inputs->of[p][0] | inputs->of[p][1] << 8);
            state->played[p]++;
        }
        state->sum = mix(state->sum, word);
    }
    state->sum += tick >= player->fault_at ? 1 : 0;
    state->tick++;
    if (player->writes) {
        try_to_write(player);
    }
}

static void settled(void *ctx, int64_t tick, const void *bytes)
{
    Player *player = (Player *)ctx;
    State state;
    memcpy(&state, bytes, sizeof state);
    assert_true(tick < LONGEST);
    player->first_settled = player->first_settled == 0 ? tick : player->first_settled;
    player->last_settled = tick;
    player->sums[tick] = state.sum;
}

// ---------------------------------------------------------------- running

static void open_scene(Scene *scene, uint64_t seed, FlTopology topology)
{
    memset(scene, 0, sizeof *scene);
    net_open(&scene->net, seed, topology, seed % 2 == 0);
    scene->net.def.input_bytes = BYTES;
    scene->net.def.input_ticks = 256;
    scene->net.def.link.timeout_ns = FL_SEC(3);
    scene->net.weather = net_storm(&scene->net.random, 10);
    scene->def = fl_timeline_def_default();
    scene->def.player_capacity = NET_NODES + 1;
    scene->def.state_bytes = sizeof(State);
    scene->def.input_bytes = BYTES;
    scene->def.history_ticks = HISTORY;
    scene->def.game.step_fn = step;
    scene->def.game.settled_fn = settled;
}

static void open_player(Scene *scene, int32_t node, bool begun)
{
    Player *player = &scene->player[node];
    FlTimelineDef def = scene->def;
    memset(player, 0, sizeof *player);
    def.game.ctx = player;
    player->session = scene->net.node[node].session;
    player->fault_at = INT64_MAX;
    player->next = INT64_MAX;
    assert_int_equal(fl_timeline_create(&def, &player->timeline), FL_OK);
    assert_int_equal(fl_session_timeline(player->session, player->timeline, begun), FL_OK);
}

static void close_player(Scene *scene, int32_t node)
{
    fl_timeline_destroy(scene->player[node].timeline);
    scene->player[node].timeline = NULL;
}

static void close_scene(Scene *scene)
{
    net_close(&scene->net);
    for (int32_t i = 0; i < NET_NODES; i++) {
        close_player(scene, i);
    }
}

static int64_t tick_now(const Scene *scene, int32_t node)
{
    return net_time(&scene->net, node) / FL_MS(TICK_MS);
}

// All who are in begin together, at a tick that is still to come.
static void begin(Scene *scene, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        net_start(&scene->net, i);
    }
    net_gather(&scene->net);
    int64_t tick = tick_now(scene, 0) + 10;
    State state = {.sum = 99, .tick = (uint64_t)tick};
    for (int32_t i = 0; i < count; i++) {
        open_player(scene, i, true);
        fl_timeline_begin(scene->player[i].timeline, tick, &state);
        assert_int_equal(
            fl_session_timeline(scene->player[i].session, scene->player[i].timeline, true), FL_OK);
        for (int32_t p = 0; p < count; p++) {
            int32_t number = net_number(&scene->net, p);
            assert_int_equal(fl_timeline_enter(scene->player[i].timeline, number, tick), FL_OK);
        }
        scene->player[i].next = tick;
    }
}

static void act(Scene *scene, int32_t node)
{
    Player *player = &scene->player[node];
    int64_t now = tick_now(scene, node);
    int32_t self = net_number(&scene->net, node);
    int64_t first = fl_timeline_first(player->timeline, self);
    if (player->next == INT64_MAX && first != FL_TIMELINE_NEVER) {
        player->next = first;
    }
    while (player->next < now) {
        uint64_t draw = fl_random_at(scene->net.seed, (uint64_t)self, (uint64_t)player->next / 3);
        uint8_t bytes[BYTES] = {(uint8_t)draw, (uint8_t)node};
        if (fl_input_set(player->session, player->next, bytes) != FL_OK) {
            break;
        }
        player->next++;
    }
    FlResult result = fl_session_advance(player->session, now);
    assert_true(result == FL_OK || result == FL_WOULD_BLOCK);
}

static void act_all(Scene *scene)
{
    for (int32_t i = 0; i < scene->net.count; i++) {
        if (scene->player[i].timeline != NULL && net_in(&scene->net, i)) {
            act(scene, i);
        }
    }
}

static void frames(Scene *scene, int32_t count)
{
    for (int32_t f = 0; f < count; f++) {
        act_all(scene);
        net_frame(&scene->net);
    }
}

// Everybody settled the same, up to a few seconds ago. Returns the tick up to which all have.
static int64_t check_same(Scene *scene)
{
    int64_t least = INT64_MAX;
    for (int32_t i = 0; i < scene->net.count; i++) {
        const Player *a = &scene->player[i];
        if (a->timeline == NULL) {
            continue;
        }
        least = a->last_settled < least ? a->last_settled : least;
        for (int32_t j = 0; j < i; j++) {
            const Player *b = &scene->player[j];
            int64_t from =
                a->first_settled > b->first_settled ? a->first_settled : b->first_settled;
            for (int64_t t = from; b->timeline != NULL && t <= a->last_settled; t++) {
                if (t <= b->last_settled && a->sums[t] != b->sums[t]) {
                    fail_msg("seed %llu: nodes %d and %d differ at %lld (from %lld)",
                             (unsigned long long)scene->net.seed, i, j, (long long)t,
                             (long long)from);
                }
            }
        }
        FlDesync desync = fl_timeline_desync(a->timeline);
        assert_true(desync.tick == FL_TIMELINE_NEVER);
        assert_int_equal(fl_session_count(a->session, FL_SESSION_UNTIMELY), 0);
        if (scene->net.node[0].session != NULL) { // else a new host may be told so before it knows
            assert_int_equal(fl_session_count(a->session, FL_SESSION_MALFORMED), 0);
        }
    }
    return least;
}

static void check_settles(Scene *scene)
{
    int64_t least = check_same(scene);
    int64_t now = tick_now(scene, scene->net.node[0].session != NULL ? 0 : 1);
    if (least < now - 150) {
        fail_msg("seed %llu: settled %lld of %lld", (unsigned long long)scene->net.seed,
                 (long long)least, (long long)now);
    }
}

// ---------------------------------------------------------------- tests

static void everybody_settles_the_same(void **unused)
{
    (void)unused;
    static Scene scene;
    uint64_t rollbacks = 0;
    for (uint64_t seed = 1; seed <= 9; seed++) {
        open_scene(&scene, seed, (FlTopology)(seed % 3));
        begin(&scene, 5);
        frames(&scene, 300);
        check_settles(&scene);
        for (int32_t i = 0; i < 5; i++) {
            FlTimelineFigures figures = fl_timeline_figures(scene.player[i].timeline);
            rollbacks += figures.rollbacks;
            assert_true(figures.compared > 100);
            assert_int_equal(figures.dropped, 0);
        }
        close_scene(&scene);
    }
    print_message("             %llu rollbacks\n", (unsigned long long)rollbacks);
    assert_true(rollbacks > 1000);
}

// One says goodbye or is gone without a word; in a mesh it may be the host.
static void who_leaves_has_the_same_last_tick_everywhere(void **unused)
{
    (void)unused;
    static Scene scene;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        FlTopology topology = (FlTopology)(seed % 3);
        open_scene(&scene, seed, topology);
        begin(&scene, 5);
        frames(&scene, 60);
        int32_t who = topology == FL_TOPOLOGY_MESH ? 0 : 2;
        if (seed % 4 < 2) {
            net_crash(&scene.net, who);
        } else {
            net_leave(&scene.net, who);
        }
        close_player(&scene, who);
        frames(&scene, 100);
        if (seed % 8 >= 4) { // another one, perhaps before that is settled
            net_crash(&scene.net, 4);
            close_player(&scene, 4);
        }
        frames(&scene, 500);
        check_settles(&scene);
        close_scene(&scene);
    }
}

static bool knows_the_end(const Scene *scene, int32_t at, int32_t number)
{
    return !fl_timeline_plays(scene->player[at].timeline, number, FL_TIMELINE_NEVER - 1);
}

// The host says what somebody's last tick was, but to one only, and is gone.
static void the_last_word_of_a_host_that_is_gone_counts(void **unused)
{
    (void)unused;
    static Scene scene;
    int32_t alone = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        open_scene(&scene, seed, FL_TOPOLOGY_MESH);
        begin(&scene, 5);
        frames(&scene, 60);
        int32_t number = net_number(&scene.net, 3);
        net_crash(&scene.net, 3);
        close_player(&scene, 3);
        int32_t heir = 1 + (int32_t)(seed % 2) * 3; // who hears it
        for (int32_t f = 0; f < 500 && !knows_the_end(&scene, 0, number); f++) {
            act_all(&scene);
            if (knows_the_end(&scene, 0, number)) { // it has just said so, and nothing has gone out
                net_cut(&scene.net, 0, 2, true);
                net_cut(&scene.net, 0, heir == 1 ? 4 : 1, true);
            }
            net_frame(&scene.net);
        }
        frames(&scene, 25);
        alone += knows_the_end(&scene, heir, number) && !knows_the_end(&scene, 2, number) ? 1 : 0;
        net_crash(&scene.net, 0);
        close_player(&scene, 0);
        frames(&scene, 500);
        check_settles(&scene);
        close_scene(&scene);
    }
    assert_true(alone >= 5);
}

static void who_comes_late_gets_a_state_and_plays(void **unused)
{
    (void)unused;
    static Scene scene;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        open_scene(&scene, seed, (FlTopology)(seed % 3));
        begin(&scene, 3);
        frames(&scene, 60);
        net_start(&scene.net, 3);
        for (int32_t f = 0; f < 1000 && !net_together(&scene.net); f++) {
            frames(&scene, 1);
        }
        open_player(&scene, 3, false);
        FlSession *host = scene.net.node[0].session;
        FlResult result = FL_WOULD_BLOCK;
        for (int32_t f = 0; f < 200 && result == FL_WOULD_BLOCK; f++) {
            result = fl_session_player(host, net_peer(&scene.net, 0, 3), tick_now(&scene, 0) + 100);
            frames(&scene, 1);
        }
        assert_int_equal(result, FL_OK);
        frames(&scene, 300);
        check_settles(&scene);
        int64_t tick;
        State state;
        memcpy(&state, fl_timeline_settled(scene.player[0].timeline, &tick), sizeof state);
        assert_true(state.played[net_number(&scene.net, 3)] > 50);
        net_crash(&scene.net, 1);
        close_player(&scene, 1);
        frames(&scene, 500);
        check_settles(&scene);
        close_scene(&scene);
    }
}

static void a_game_that_differs_is_named_by_its_first_tick(void **unused)
{
    (void)unused;
    static Scene scene;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        open_scene(&scene, seed, (FlTopology)(seed % 3));
        begin(&scene, 4);
        int64_t fault = scene.player[0].next + 40 + (int64_t)seed;
        scene.player[2].fault_at = fault;
        frames(&scene, 300);
        FlDesync at_host = fl_timeline_desync(scene.player[0].timeline);
        assert_int_equal(at_host.tick, fault + 1); // the state after it
        assert_int_equal(at_host.player, net_number(&scene.net, 2));
        FlDesync own = fl_timeline_desync(scene.player[2].timeline);
        assert_int_equal(own.tick, fault + 1);
        assert_int_equal(own.player, net_number(&scene.net, 0));
        assert_true(fl_timeline_desync(scene.player[1].timeline).tick == FL_TIMELINE_NEVER);
        close_scene(&scene);
    }
}

static void a_step_cannot_write_to_the_session(void **unused)
{
    (void)unused;
    static Scene scene;
    open_scene(&scene, 2, FL_TOPOLOGY_STAR);
    begin(&scene, 2);
    FlEntityDef def = fl_entity_def_default();
    FlEntityId id;
    assert_int_equal(fl_entity_create(scene.player[1].session, &def, &id), FL_OK);
    scene.player[1].writes = true;
    frames(&scene, 100);
    check_settles(&scene);
    assert_true(scene.player[1].refused > 300);
    assert_int_equal(fl_session_count(scene.player[1].session, FL_SESSION_REPLAY_WRITES),
                     scene.player[1].refused);
    assert_int_equal(fl_session_count(scene.player[0].session, FL_SESSION_REPLAY_WRITES), 0);
    assert_int_equal(fl_session_count(scene.player[0].session, FL_SESSION_EVENTS_TAKEN), 0);
    FlEvent event = {.type = FL_EVENT_TYPES};
    FlPeerId nobody = {0};
    assert_int_equal(fl_event_send(scene.player[1].session, nobody, &event), FL_BAD_VALUE);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_settles_the_same),
        cmocka_unit_test(who_leaves_has_the_same_last_tick_everywhere),
        cmocka_unit_test(the_last_word_of_a_host_that_is_gone_counts),
        cmocka_unit_test(who_comes_late_gets_a_state_and_plays),
        cmocka_unit_test(a_game_that_differs_is_named_by_its_first_tick),
        cmocka_unit_test(a_step_cannot_write_to_the_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
