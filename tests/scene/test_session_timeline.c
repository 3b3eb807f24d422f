// Timelines over whole sessions: with loss, reordering and duplicates, with players (and hosts)
// that leave, crash and come, everybody settles the same states; a fault is named by its tick; and
// nothing can be written to the session from within a step.
#include "session_inside.h"
#include "session_net.h"

#include "agree/lags.h"
#include "agree/timeline.h"
#include "play/play.h"

enum {
    BYTES = 2,
    BYTES_AT_MOST = 64,
    HISTORY = 1024,
    LONGEST = 4000,
    TICK_MS = 20,
    STATE_AT_MOST = 200000,
};

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
    int32_t tick_ms;
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
    assert_int_equal(fl_entity_create(player->session, &def).index1, 0);
    assert_int_equal(fl_input_set(player->session, player->next, bytes), FL_REPLAYING);
    (void)fl_entity_next(player->session, &id);
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
    scene->tick_ms = TICK_MS;
    scene->net.def.input_bytes = BYTES;
    scene->net.def.input_ticks = 256;
    scene->net.def.timeout_ns = FL_SEC(3);
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
    return net_time(&scene->net, node) / FL_MS(scene->tick_ms);
}

// All who are in begin together, at a tick that is still to come.
static void begin(Scene *scene, int32_t count)
{
    net_start_together(&scene->net, count);
    int64_t tick = tick_now(scene, 0) + 10;
    State state = {.sum = 99, .tick = (uint64_t)tick};
    static uint8_t start[STATE_AT_MOST];
    memcpy(start, &state, sizeof state);
    for (int32_t i = 0; i < count; i++) {
        open_player(scene, i, true);
        fl_timeline_begin(scene->player[i].timeline, tick, start);
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
    int64_t first = fl__timeline_first(player->timeline, self);
    if (player->next == INT64_MAX && first != FL_TIMELINE_NEVER) {
        player->next = first;
    }
    while (player->next < now) {
        uint64_t draw = fl_random_at(scene->net.seed, (uint64_t)self, (uint64_t)player->next / 3);
        uint8_t bytes[BYTES_AT_MOST] = {(uint8_t)draw, (uint8_t)node};
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

// Everybody settled the same. Returns the tick up to which all have.
static int64_t check_states(Scene *scene)
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
        FlTimelineFigures desync = fl_timeline_figures(a->timeline);
        assert_true(desync.desync_at == FL_TIMELINE_NEVER);
        assert_int_equal(fl_session_count(a->session, FL_SESSION_UNTIMELY), 0);
    }
    return least;
}

// And up to a few seconds ago.
static void check_goes_on(Scene *scene)
{
    int64_t least = check_states(scene);
    int64_t now = tick_now(scene, scene->net.node[0].session != NULL ? 0 : 1);
    if (least < now - 150) {
        fail_msg("seed %llu: settled %lld of %lld", (unsigned long long)scene->net.seed,
                 (long long)least, (long long)now);
    }
}

static void check_settles(Scene *scene)
{
    check_goes_on(scene);
    for (int32_t i = 0; i < scene->net.count; i++) {
        const FlSession *session = scene->net.node[i].session;
        // a new host may be told so before it knows
        if (session != NULL && scene->net.node[0].session != NULL) {
            assert_int_equal(fl_session_count(session, FL_SESSION_MALFORMED), 0);
        }
    }
}

// Somebody joins, and the host lets it play `lead` ticks from now.
static void let_in(Scene *scene, int32_t node, int32_t lead)
{
    net_start(&scene->net, node);
    for (int32_t f = 0; f < 1000 && !net_together(&scene->net); f++) {
        frames(scene, 1);
    }
    frames(scene, 100); // direct lines, too
    open_player(scene, node, false);
    FlResult result = FL_WOULD_BLOCK;
    for (int32_t f = 0; f < 200 && result == FL_WOULD_BLOCK; f++) {
        result = fl_session_player(scene->net.node[0].session, net_peer(&scene->net, 0, node),
                                   tick_now(scene, 0) + lead);
        frames(scene, 1);
    }
    assert_int_equal(result, FL_OK);
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
    return !fl__timeline_plays(scene->player[at].timeline, number, FL_TIMELINE_NEVER - 1);
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
        FlTimelineFigures at_host = fl_timeline_figures(scene.player[0].timeline);
        assert_int_equal(at_host.desync_at, fault + 1); // the state after it
        assert_int_equal(at_host.desync_player, net_number(&scene.net, 2));
        FlTimelineFigures own = fl_timeline_figures(scene.player[2].timeline);
        assert_int_equal(own.desync_at, fault + 1);
        assert_int_equal(own.desync_player, net_number(&scene.net, 0));
        assert_true(fl_timeline_figures(scene.player[1].timeline).desync_at == FL_TIMELINE_NEVER);
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
    id = fl_entity_create(scene.player[1].session, &def);
    assert_int_not_equal(id.index1, 0);
    scene.player[1].writes = true;
    frames(&scene, 100);
    check_settles(&scene);
    assert_true(scene.player[1].refused > 300);
    assert_int_equal(fl_session_count(scene.player[1].session, FL_SESSION_REPLAY_WRITES),
                     scene.player[1].refused);
    assert_int_equal(fl_session_count(scene.player[0].session, FL_SESSION_REPLAY_WRITES), 0);
    assert_int_equal(fl_session_count(scene.player[0].session, FL_SESSION_EVENTS_TAKEN), 0);
    close_scene(&scene);
}

// Otherwise whoever is asked what it has of a player who left cannot answer, and is sent away.
static void there_is_no_timeline_without_everybodys_inputs(void **unused)
{
    (void)unused;
    static Scene scene;
    open_scene(&scene, 1, FL_TOPOLOGY_STAR);
    scene.net.def.inputs_to_host = true;
    net_start_together(&scene.net, 2);
    Player *player = &scene.player[0];
    assert_int_equal(fl_timeline_create(&scene.def, &player->timeline), FL_OK);
    assert_int_equal(fl_session_timeline(scene.net.node[1].session, player->timeline, true),
                     FL_BAD_VALUE);
    close_scene(&scene);
}

static void without_memory_the_old_timeline_stays(void **unused)
{
    (void)unused;
    static Scene scene;
    open_scene(&scene, 1, FL_TOPOLOGY_STAR);
    begin(&scene, 2);
    Player *player = &scene.player[0];
    NetMemory *memory = &scene.net.node[0].memory;
    memory->fail_at = memory->calls + 1;
    assert_int_equal(fl_session_timeline(player->session, player->timeline, true), FL_NO_MEMORY);
    frames(&scene, 300);
    check_settles(&scene);
    close_scene(&scene);
}

// "These are all its inputs", to the host, from one who is not to say so.
static void lie(Scene *scene, int32_t liar, int32_t number, int64_t newest)
{
    FlSession *session = scene->net.node[liar].session;
    FlTickRangeMessage m = {.player = number,
                            .of = session->play->agreed.of[number],
                            .final = true,
                            .newest = newest,
                            .first = newest + 1};
    uint8_t bytes[FL_EVENT_SHORT_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__tick_range_message_write(&w, BYTES, &m);
    FlResult result = fl__routed_send_ordered(session, session->host, MESSAGE_TICK_RANGE, bytes,
                                              fl_writer_size(&w));
    assert_int_equal(result, FL_OK);
}

static void a_client_cannot_say_when_somebody_left(void **unused)
{
    (void)unused;
    static Scene scene;
    const int64_t off[] = {100000, -30, -2, 0, 3};
    for (uint64_t seed = 0; seed < 15; seed++) {
        open_scene(&scene, seed + 1, (FlTopology)(seed % 3));
        begin(&scene, 5);
        frames(&scene, 60);
        int32_t number = net_number(&scene.net, 3);
        int64_t known = fl__timeline_known(scene.player[0].timeline, number);
        net_leave(&scene.net, 3);
        close_player(&scene, 3);
        for (int32_t f = 0; f < 40; f++) {
            lie(&scene, 1, number, known + off[seed % 5]);
            frames(&scene, 1);
        }
        frames(&scene, 400);
        check_goes_on(&scene);
        close_scene(&scene);
    }
}

// The new host may believe a word of its predecessor, but not one that cannot be.
static void a_new_host_does_not_believe_everything(void **unused)
{
    (void)unused;
    static Scene scene;
    const int64_t off[] = {100000, -30};
    for (uint64_t seed = 0; seed < 4; seed++) {
        open_scene(&scene, seed + 1, FL_TOPOLOGY_MESH);
        begin(&scene, 5);
        frames(&scene, 60);
        int32_t number = net_number(&scene.net, 0);
        int64_t known = fl__timeline_known(scene.player[1].timeline, number);
        net_leave(&scene.net, 0);
        close_player(&scene, 0);
        for (int32_t f = 0; f < 40; f++) {
            if (inside_host(scene.net.node[2].session) != number) {
                lie(&scene, 2, number, known + off[seed % 2]);
            }
            frames(&scene, 1);
        }
        frames(&scene, 400);
        check_goes_on(&scene);
        close_scene(&scene);
    }
}

// The way between the host and one who then crashes fails; a newcomer still hears both, and has
// settled inputs from after the host's last.
static void a_newcomer_is_asked_what_it_has_of_a_leaver(void **unused)
{
    (void)unused;
    static Scene scene;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        open_scene(&scene, seed, FL_TOPOLOGY_MESH);
        scene.net.weather = net_fair();
        begin(&scene, 2);
        frames(&scene, 60);
        let_in(&scene, 2, 30);
        frames(&scene, 10);
        int32_t number = net_number(&scene.net, 1);
        net_cut(&scene.net, 0, 1, true);
        frames(&scene, 100);
        net_crash(&scene.net, 1);
        close_player(&scene, 1);
        int64_t first = fl__timeline_first(scene.player[2].timeline, net_number(&scene.net, 2));
        assert_true(fl__timeline_known(scene.player[0].timeline, number) < first);
        assert_true(fl__timeline_known(scene.player[2].timeline, number) > first);
        frames(&scene, 700);
        check_settles(&scene);
        close_scene(&scene);
    }
}

// One leaves, and another one plays on but never says what it has of it: a game of somebody else's
// making. The others wait as long as for anybody who is silent, and go on without it.
static void who_never_says_what_it_has_of_a_leaver_stops_nobody(void **unused)
{
    (void)unused;
    static Scene scene;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        open_scene(&scene, seed, (FlTopology)(seed % 3));
        begin(&scene, 4);
        frames(&scene, 60);
        FlPeerId silent = net_peer(&scene.net, 0, 2);
        if (seed <= 3) {
            net_leave(&scene.net, 3);
        } else {
            net_crash(&scene.net, 3);
        }
        close_player(&scene, 3);
        for (int32_t f = 0; f < 600; f++) {
            scene.player[2].session->play->agreed.reports_due = 0;
            scene.player[2].session->play->agreed.report_again = INT64_MAX;
            frames(&scene, 1);
        }
        assert_int_equal(fl_session_state(scene.player[2].session), FL_SESSION_ENDED);
        const char *why = fl_session_end_text(scene.player[2].session);
        assert_non_null(strstr(why, fl_left_text(FL_LEFT_UNANSWERED)));
        for (int32_t at = 0; at < 2; at++) {
            assert_true(net_was_told(scene.player[at].session, FL_LEFT_UNANSWERED));
        }
        close_player(&scene, 2); // what it settled is its own affair
        net_crash(&scene.net, 2);
        check_settles(&scene);
        FlPeerStatus status;
        assert_int_equal(fl_peer_status(scene.player[0].session, silent, &status), FL_STALE_ID);
        assert_int_equal(fl_session_count(scene.player[0].session, FL_SESSION_STALLED), 1);
        close_scene(&scene);
    }
}

static void open_large_scene(Scene *scene, uint64_t seed)
{
    open_scene(scene, seed, (FlTopology)(seed % 3));
    scene->net.weather = net_fair();
    scene->net.weather.rate_bytes_s = 150000;
    scene->def.state_bytes = STATE_AT_MOST;
    scene->def.save_every = 64;
    begin(scene, 3);
    frames(scene, 60);
    let_in(scene, 3, 100);
}

static bool plays_here(const Scene *scene, int32_t node)
{
    int32_t number = net_number(&scene->net, node);
    return fl__timeline_first(scene->player[node].timeline, number) != FL_TIMELINE_NEVER;
}

// It takes seconds; nobody waits for it meanwhile; and somebody may leave meanwhile.
static void a_large_state_reaches_a_newcomer(void **unused)
{
    (void)unused;
    static Scene scene;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        open_large_scene(&scene, seed);
        int32_t f = 0;
        for (; f < 600 && !plays_here(&scene, 3); f++) {
            frames(&scene, 1);
            bool leaves = seed > 3 && f == 30;
            if (leaves) {
                net_leave(&scene.net, 1);
                close_player(&scene, 1);
            }
            assert_true(scene.player[0].last_settled > tick_now(&scene, 0) - 100);
        }
        assert_true(f > 60 && f < 600);
        frames(&scene, 300);
        check_settles(&scene);
        State state;
        int64_t tick;
        memcpy(&state, fl_timeline_settled(scene.player[3].timeline, &tick), sizeof state);
        assert_true(state.played[net_number(&scene.net, 3)] > 50);
        close_scene(&scene);
    }
}

static void a_newcomer_that_leaves_before_it_has_its_state_stops_nobody(void **unused)
{
    (void)unused;
    static Scene scene;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        open_large_scene(&scene, seed);
        frames(&scene, 20);
        assert_false(plays_here(&scene, 3));
        net_leave(&scene.net, 3);
        close_player(&scene, 3);
        frames(&scene, 300);
        check_settles(&scene);
        let_in(&scene, 3, 100); // another one has its number
        frames(&scene, 500);
        assert_true(plays_here(&scene, 3));
        check_settles(&scene);
        close_scene(&scene);
    }
}

// The round that all have solved last; 0: not all the same.
/// At which play time each has settled each tick; INT64_MIN: not yet.
static FlTime settled_at[NET_NODES][LONGEST];

static void note_settled(const Scene *scene, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const Player *player = &scene->player[i];
        FlTime play =
            fl__lags_play_time(fl__session_lags(player->session), net_local(&scene->net, i));
        for (int64_t tick = player->last_settled;
             tick > 0 && settled_at[i][tick] == INT64_MIN && tick >= player->first_settled;
             tick--) {
            settled_at[i][tick] = play;
        }
    }
}

/// How far apart in play time a tick was settled by two, at most.
static FlTime settled_apart(int32_t count, int64_t first, int32_t *compared)
{
    FlTime apart = 0;
    for (int64_t tick = first; tick < LONGEST; tick++) {
        FlTime least = INT64_MAX, most = INT64_MIN;
        bool all = true;
        for (int32_t i = 0; i < count; i++) {
            FlTime at = settled_at[i][tick];
            all = all && at != INT64_MIN;
            least = at < least ? at : least;
            most = at > most ? at : most;
        }
        *compared += all ? 1 : 0;
        apart = all && most - least > apart ? most - least : apart;
    }
    return apart;
}

static FlTime settle_with(uint64_t seed, int32_t tick_hz, uint64_t *waits)
{
    static Scene scene;
    open_scene(&scene, seed, FL_TOPOLOGY_MESH);
    Net *net = &scene.net;
    net->weather = net_fair();
    net->def.action_capacity = 64;
    net->def.tuning.lags.window_ns = FL_SEC(4);
    net->def.tuning.lags.again_ns = FL_SEC(4);
    scene.def.tick_hz = tick_hz;
    scene.def.lag_ticks = tick_hz > 0 ? 2 : 0; // inputs go out in the frame after their tick
    begin(&scene, 5);
    for (int32_t i = 0; i < 5; i++) {
        for (int32_t j = 0; j < 5; j++) {
            FlImpairSettings way = net_fair();
            way.delay_ns = FL_MS(20) + (FlTime)fl_random_below(&net->random, FL_MS(130));
            if (i != j) {
                net_way(net, i, j, &way);
            }
        }
        for (int32_t tick = 0; tick < LONGEST; tick++) {
            settled_at[i][tick] = INT64_MIN;
        }
    }
    frames(&scene, 600); // old measurements are forgotten
    int64_t first = tick_now(&scene, 0);
    uint64_t before = 0, after = 0;
    for (int32_t i = 0; i < 5; i++) {
        before += fl_timeline_figures(scene.player[i].timeline).waits;
    }
    for (int32_t f = 0; f < 400; f++) {
        frames(&scene, 1);
        note_settled(&scene, 5);
    }
    for (int32_t i = 0; i < 5; i++) {
        after += fl_timeline_figures(scene.player[i].timeline).waits;
    }
    int32_t compared = 0;
    FlTime apart = settled_apart(5, first, &compared);
    assert_true(compared > 300);
    (void)check_states(&scene);
    close_scene(&scene);
    *waits = after - before;
    return apart;
}

// As soon as it has all inputs each settles at another time than others. By measured lags all
// settle a tick at one play time, but for the frame in which they look and the one since their last
// pump, and wait for no input.
static void by_measured_lags_everybody_settles_at_one_play_time(void **unused)
{
    (void)unused;
    FlTime most = 0;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        uint64_t waits;
        FlTime soonest = settle_with(seed, 0, &waits);
        FlTime apart = settle_with(seed, 1000 / TICK_MS, &waits);
        assert_true(apart <= FL_MS(2 * TICK_MS) && apart <= soonest);
        most = soonest > most ? soonest : most;
        assert_int_equal(waits, 0);
    }
    assert_true(most > FL_MS(4 * TICK_MS));
}

static void lags_that_nobody_measures_settle_nothing(void **unused)
{
    (void)unused;
    static Scene scene;
    open_scene(&scene, 1, FL_TOPOLOGY_STAR);
    net_start_together(&scene.net, 2);
    scene.def.tick_hz = 50;
    FlTimeline *timeline;
    assert_int_equal(fl_timeline_create(&scene.def, &timeline), FL_OK);
    assert_int_equal(fl_session_timeline(scene.net.node[0].session, timeline, true), FL_BAD_VALUE);
    fl_timeline_destroy(timeline);
    close_scene(&scene);
}

static void say_enter(FlSession *host, int32_t number, int64_t tick)
{
    FlEnterMessage m = {number, (uint8_t)inside_incarnation(host, number), tick};
    uint8_t bytes[FL_EVENT_SHORT_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__enter_message_write(&w, &m);
    assert_int_equal(
        fl__routed_send_ordered(host, number, MESSAGE_ENTER, bytes, fl_writer_size(&w)), FL_OK);
}

// A host that tells a newcomer to play from before the state that it has.
static void who_cannot_enter_has_not_begun(void **unused)
{
    (void)unused;
    static Scene scene;
    open_scene(&scene, 1, FL_TOPOLOGY_STAR);
    scene.net.weather = net_fair();
    net_start_together(&scene.net, 2);
    open_player(&scene, 1, false);
    FlSession *host = scene.net.node[0].session;
    FlSession *newcomer = scene.net.node[1].session;
    State state = {.sum = 99, .tick = 500};
    FlSnapshotMessage m = {500, 0, sizeof state, (const uint8_t *)&state};
    uint8_t bytes[FL_EVENT_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__snapshot_message_write(&w, &m);
    int32_t number = net_number(&scene.net, 1);
    assert_int_equal(
        fl__routed_send_ordered(host, number, MESSAGE_SNAPSHOT, bytes, fl_writer_size(&w)), FL_OK);
    say_enter(host, number, 490);
    frames(&scene, 20);
    assert_int_equal(fl_session_count(newcomer, FL_SESSION_UNTIMELY), 1);
    assert_int_equal(fl_session_advance(newcomer, 520), FL_WOULD_BLOCK);
    say_enter(host, number, 510);
    frames(&scene, 20);
    assert_int_equal(fl_session_count(newcomer, FL_SESSION_UNTIMELY), 1);
    assert_int_equal(fl_session_advance(newcomer, 520), FL_OK);
    close_scene(&scene);
}

// More of a leaver's inputs than a link's queue takes at once.
static void long_inputs_of_a_leaver_reach_everybody(void **unused)
{
    (void)unused;
    static Scene scene;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        open_scene(&scene, seed, (FlTopology)(seed % 3));
        scene.net.weather = net_fair();
        scene.net.def.input_bytes = scene.def.input_bytes = BYTES_AT_MOST;
        begin(&scene, 5);
        frames(&scene, 900);
        if (seed <= 3) {
            net_leave(&scene.net, 3);
        } else {
            net_crash(&scene.net, 3);
        }
        close_player(&scene, 3);
        frames(&scene, 700);
        check_settles(&scene);
        close_scene(&scene);
    }
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
        cmocka_unit_test(there_is_no_timeline_without_everybodys_inputs),
        cmocka_unit_test(without_memory_the_old_timeline_stays),
        cmocka_unit_test(a_client_cannot_say_when_somebody_left),
        cmocka_unit_test(a_new_host_does_not_believe_everything),
        cmocka_unit_test(a_newcomer_is_asked_what_it_has_of_a_leaver),
        cmocka_unit_test(who_never_says_what_it_has_of_a_leaver_stops_nobody),
        cmocka_unit_test(a_large_state_reaches_a_newcomer),
        cmocka_unit_test(a_newcomer_that_leaves_before_it_has_its_state_stops_nobody),
        cmocka_unit_test(by_measured_lags_everybody_settles_at_one_play_time),
        cmocka_unit_test(lags_that_nobody_measures_settle_nothing),
        cmocka_unit_test(who_cannot_enter_has_not_begun),
        cmocka_unit_test(long_inputs_of_a_leaver_reach_everybody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
