// Prediction and reconciliation over whole sessions: without loss nothing is ever corrected; with
// it, a client's confirmed states are the host's to the bit; whatever a client sends, it gets one
// step per tick; pauses, stalls, comings and goings are survived.
#include "session_hostile.h"
#include "session_predict.h"

enum { A = 1, B = 2, C = 3, TWO = 3, THREE = 4 };

static FlImpairSettings line(FlTime delay, FlTime jitter, int32_t loss_percent)
{
    FlImpairSettings settings = fl_impair_def_default().settings;
    settings.delay_ns = delay;
    settings.jitter_ns = jitter;
    settings.shape = FL_SHAPE_NORMAL;
    settings.loss_ppm = loss_percent * 10000;
    return settings;
}

static Game game; // large

// ---------------------------------------------------------------- what must hold

static void a_perfect_network_needs_no_correction(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        FlImpairSettings weather = line(FL_MS(15) * (FlTime)seed, 0, 0);
        game_open(&game, seed, &weather);
        game_start(&game, THREE);
        game_run(&game, FL_SEC(20));
        for (int32_t i = A; i < THREE; i++) {
            FlPredictStats stats = game_stats(&game, i);
            assert_true(stats.confirmed > 300 && stats.ticks > 1000);
            assert_int_equal(stats.missed, 0);
            assert_int_equal(stats.differing, 0);
            assert_int_equal(stats.replayed, 0);
            assert_true(game.node[i].compared > 1000);
        }
        net_close(&game.net);
    }
}

static void with_loss_confirmed_states_are_the_hosts(void **state)
{
    (void)state;
    uint64_t corrections = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        game_open(&game, seed, &(FlImpairSettings){0});
        game.net.weather = net_storm(&game.net.random, 15);
        game_start(&game, THREE);
        for (int32_t i = 0; i < 6; i++) { // every frame compares
            game_run(&game, FL_SEC(4));
            FlImpairSettings other = net_storm(&game.net.random, 15);
            net_weather(&game.net, &other);
        }
        FlImpairSettings calm = line(FL_MS(40), 0, 0);
        net_weather(&game.net, &calm);
        game_run(&game, FL_SEC(2));
        for (int32_t i = A; i < THREE; i++) {
            FlPredictStats stats = game_stats(&game, i);
            corrections += stats.corrections;
            assert_true(game.node[i].compared > 1000);
            assert_true(stats.confirmed > 300);
        }
        uint64_t differing = game_stats(&game, A).differing;
        game_run(&game, FL_SEC(5)); // and now nothing is corrected any more
        assert_int_equal(game_stats(&game, A).differing, differing);
        net_close(&game.net);
    }
    assert_true(corrections > 0); // or nothing was tested
}

// Loss that is not congestion pushes the budget down to its floor: inputs must fit there.
static void on_a_bad_line_inputs_still_come_in_time(void **state)
{
    (void)state;
    FlImpairSettings weather = line(FL_MS(200), FL_MS(20), 10);
    game_open(&game, 1, &weather);
    FlLinkDef *link = &game.net.def.tuning.link;
    link->rate_bytes_s = link->rate_min_bytes_s;
    game.net.def.rewind_ns = FL_SEC(1); // reports of arrivals take most of the budget
    game_start(&game, TWO);
    game_run(&game, FL_SEC(40));
    FlPredictStats stats = game_stats(&game, A);
    print_message("             %llu of %llu missed, lead %.0f ms\n",
                  (unsigned long long)stats.missed, (unsigned long long)stats.ticks,
                  1e3 * fl_span_seconds(stats.lead_ns));
    assert_true(stats.ticks > 2000);
    assert_true(stats.missed * 50 < stats.ticks);
    net_close(&game.net);
}

// What a client predicts for a tick is what the host has when that tick comes.
static void predicted_states_are_those_that_the_host_reaches(void **state)
{
    (void)state;
    FlImpairSettings weather = line(FL_MS(60), 0, 0);
    game_open(&game, 3, &weather);
    game_start(&game, TWO);
    game_run(&game, FL_SEC(5));
    for (int32_t i = 0; i < 100; i++) {
        int64_t tick;
        FlSession *session = game.net.node[A].session;
        Body predicted;
        memcpy(&predicted, fl_predict_state(session, fl_peer_self(session), &tick),
               sizeof predicted);
        assert_true(tick > game.logged[A]);
        game_run(&game, FL_MS(200));
        assert_true(tick <= game.logged[A]);
        assert_memory_equal(&predicted, &game.log[A][tick % GAME_TICKS], sizeof predicted);
    }
    net_close(&game.net);
}

static void an_own_action_shows_in_the_same_frame(void **state)
{
    (void)state;
    FlImpairSettings weather = line(FL_MS(150), 0, 0);
    game_open(&game, 4, &weather);
    game_start(&game, TWO);
    game.node[A].steady = true;
    game_run(&game, FL_SEC(5));
    FlSession *session = game.net.node[A].session;
    int64_t tick;
    Body before;
    memcpy(&before, fl_predict_state(session, fl_peer_self(session), &tick), sizeof before);
    assert_true(before.vx == 0.0);
    game.node[A].input[0] = 127;
    game_run(&game, FL_MS(17)); // a frame
    Body after;
    memcpy(&after, fl_predict_state(session, fl_peer_self(session), &tick), sizeof after);
    assert_true(after.vx > 0.0 && after.x > before.x);
    assert_true(game_body(&game, A)->vx == 0.0); // the host does not know of it yet
    net_close(&game.net);
}

static void the_picture_never_jumps(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        FlImpairSettings weather = line(FL_MS(80), FL_MS(15), 10);
        game_open(&game, seed, &weather);
        game_start(&game, TWO);
        game_run(&game, FL_SEC(10));
        weather = line(FL_MS(250), FL_MS(15), 10);
        net_weather(&game.net, &weather);
        game_run(&game, FL_SEC(20));
        assert_true(game_stats(&game, A).corrections > 0);
        // Both axes at top speed, time running a quarter faster, and as much again for the glide.
        assert_true(game.node[A].longest < 2.0 * 1.25 * 1.42 * TOP_SPEED / GAME_HZ);
        net_close(&game.net);
    }
}

static void others_are_where_they_stood_when_a_tick_is_played_again(void **state)
{
    (void)state;
    FlImpairSettings weather = line(FL_MS(50), 0, 0);
    game_open(&game, 6, &weather);
    game_start(&game, TWO);
    game.platforms = true;
    FlSession *host = game.net.node[HOST].session;
    FlEntityId platform = fl_entity_create(host, NULL);
    game.node[HOST].platform = platform;
    uint64_t differing = 0;
    for (int32_t i = 0; i < 900; i++) {
        FlTime now = net_local(&game.net, HOST);
        double speed = i < 600 ? 2.0 : -2.0; // turns back once
        double t = (double)fl_session_time(host, now) * 1e-9;
        FlState truth = {.time = now,
                         .position = fl_vec3(speed * t, 0.0, 0.0),
                         .velocity = fl_vec3(speed, 0.0, 0.0)};
        assert_int_equal(fl_entity_set(host, platform, &truth), FL_OK);
        FlEntityId seen = {0};
        (void)fl_entity_next(game.net.node[A].session, &seen);
        game.node[A].platform = seen;
        game_run(&game, FL_MS(17));
        differing = i == 100 ? game_stats(&game, A).differing : differing;
        if (i == 590) { // both carry it alike, replayed or not
            assert_int_equal(game_stats(&game, A).differing, differing);
        }
    }
    FlPredictStats stats = game_stats(&game, A);
    assert_true(stats.differing > differing);      // it did turn back, which no one could know
    assert_true(stats.differing < differing + 10); // and then all agree again
    FlMotion newest;
    assert_int_equal(fl_entity_newest(game.net.node[A].session, game.node[A].platform, &newest),
                     FL_OK);
    assert_true(newest.velocity.x < -1.9 && newest.velocity.x > -2.1);
    net_close(&game.net);
}

// ---------------------------------------------------------------- the network changes

static void the_lead_follows_the_network(void **state)
{
    (void)state;
    FlImpairSettings weather = line(FL_MS(20), 0, 0);
    game_open(&game, 7, &weather);
    game_start(&game, TWO);
    game_run(&game, FL_SEC(10));
    FlTime near = game_stats(&game, A).lead_ns;
    assert_true(near < FL_MS(40));
    weather = line(FL_MS(150), FL_MS(10), 3);
    net_weather(&game.net, &weather);
    game_run(&game, FL_SEC(5));
    uint64_t missed = game_stats(&game, A).missed;
    assert_true(missed > 0);
    game_run(&game, FL_SEC(20));
    FlTime far = game_stats(&game, A).lead_ns;
    assert_true(far > FL_MS(150) && far < FL_MS(280));
    assert_true(game_stats(&game, A).missed < missed + 10);
    weather = line(FL_MS(20), 0, 0);
    net_weather(&game.net, &weather);
    game_run(&game, FL_SEC(40));
    assert_true(game_stats(&game, A).lead_ns < FL_MS(40));
    net_close(&game.net);
}

// ---------------------------------------------------------------- players who do what they like

// It sends full speed for as many ticks as it can, from the past to far ahead.
static void many_inputs_move_nobody_faster(void **state)
{
    (void)state;
    FlImpairSettings weather = line(FL_MS(30), 0, 0);
    game_open(&game, 8, &weather);
    game_start(&game, THREE);
    game_run(&game, FL_SEC(3));
    FlSession *session = game.net.node[A].session;
    game.node[A].idle = true;
    uint8_t full[GAME_INPUT] = {127, 127};
    int64_t next = fl_input_newest(session, fl_peer_self(session)) + 1;
    Body before = *game_body(&game, A);
    int64_t begun = game.logged[A];
    for (int32_t frame = 0; frame < 300; frame++) {
        for (int32_t i = 0; i < 50; i++) { // fifty ticks in each
            (void)(fl_input_set(session, next++, full) == FL_OK);
        }
        game_run(&game, FL_MS(17));
    }
    Body after = *game_body(&game, A);
    int64_t ticks = game.logged[A] - begun;
    assert_int_equal(after.ticks - before.ticks, ticks);
    assert_true(after.x - before.x <= TOP_SPEED * (double)ticks / GAME_HZ);
    // The others play on as if nothing were.
    assert_int_equal(game_stats(&game, B).corrections, 0);
    assert_true(fl_session_state(game.net.node[B].session) == FL_SESSION_RUNNING);
    net_close(&game.net);
}

static void inputs_of_the_past_and_of_the_far_future_count_for_nothing(void **state)
{
    (void)state;
    FlImpairSettings weather = line(FL_MS(30), 0, 0);
    game_open(&game, 9, &weather);
    game_start(&game, TWO);
    game.node[A].idle = true;
    game_run(&game, FL_SEC(2));
    FlSession *session = game.net.node[A].session;
    uint8_t full[GAME_INPUT] = {127, 127};
    for (int64_t tick = 0; tick < 60; tick++) {
        assert_int_equal(fl_input_set(session, tick, full), FL_OK);
    }
    game_run(&game, FL_SEC(1));
    assert_true(game_body(&game, A)->vx == 0.0);
    assert_int_equal(fl_input_set(session, INT64_C(1) << 30, full), FL_OK);
    game_run(&game, FL_SEC(1));
    assert_true(game_body(&game, A)->vx == 0.0);
    net_close(&game.net);
}

// A client that says what the host says: where it is.
static void a_client_does_not_say_where_it_is(void **state)
{
    (void)state;
    FlImpairSettings weather = line(FL_MS(30), 0, 0);
    game_open(&game, 10, &weather);
    game_start(&game, TWO);
    game.node[A].steady = true;
    game_run(&game, FL_SEC(2));
    Hostile hostile;
    hostile_begin(&hostile, game.net.node[A].session);
    Body lie = {.x = 1000.0};
    uint8_t section[12 + sizeof(Body)] = {0};
    FlWriter w;
    fl_writer_init(&w, section, sizeof section);
    fl_writer_put(&w, SECTION_OWN, 8);
    fl_writer_put(&w, (uint64_t)game.logged[A] + 5, 32);
    fl_writer_put(&w, 0, 24);
    fl_writer_put(&w, 0x8000, 16);
    fl_writer_put(&w, sizeof lie, 16);
    fl_writer_bytes(&w, (const uint8_t *)&lie, sizeof lie);
    uint64_t foreign = fl_session_count(game.net.node[HOST].session, FL_SESSION_FOREIGN);
    double before = game_body(&game, A)->x;
    hostile_section(&hostile, 0, section, fl_writer_size(&w));
    game_run(&game, FL_SEC(1));
    assert_true(game_body(&game, A)->x == before);
    assert_true(fl_session_count(game.net.node[HOST].session, FL_SESSION_FOREIGN) > foreign);
    net_close(&game.net);
}

static void who_stops_sending_comes_to_rest(void **state)
{
    (void)state;
    FlImpairSettings weather = line(FL_MS(30), 0, 0);
    game_open(&game, 11, &weather);
    game_start(&game, THREE);
    game.node[A].steady = true;
    game.node[A].input[0] = 127;
    game_run(&game, FL_SEC(3));
    assert_true(game_body(&game, A)->vx > 1.0);
    game.node[A].idle = true;
    game_run(&game, FL_SEC(5));
    assert_true(game_body(&game, A)->vx < 0.01);
    assert_true(game_host_stats(&game, A).missed > 250);
    game.node[A].idle = false; // and goes on, at a later tick
    game_run(&game, FL_SEC(3));
    assert_true(game_body(&game, A)->vx > 1.0);
    uint64_t differing = game_stats(&game, A).differing;
    game_run(&game, FL_SEC(5));
    assert_int_equal(game_stats(&game, A).differing, differing);
    assert_int_equal(game_stats(&game, B).differing, 0);
    net_close(&game.net);
}

// ---------------------------------------------------------------- pauses

// All but the last: over a silent connection payload goes rarely (fl__link_silent).
static void a_host_that_stalls_for_three_seconds_plays_what_was_sent_meanwhile(void **state)
{
    (void)state;
    FlImpairSettings weather = line(FL_MS(40), 0, 0);
    game_open(&game, 12, &weather);
    game_start(&game, THREE);
    game_run(&game, FL_SEC(5));
    uint64_t ticks = game_stats(&game, A).ticks;
    game.net.node[HOST].frozen = true;
    game_run(&game, FL_SEC(3));
    assert_true(game_stats(&game, A).ticks > ticks + 170); // it plays on
    game.node[HOST].idle = true;                           // it receives before it plays
    net_wake(&game.net, HOST);
    game.node[HOST].idle = false;
    uint64_t missed = 0;
    for (int32_t second = 0; second < 5; second++) {
        game_run(&game, FL_SEC(1));
        missed = second == 0 ? game_stats(&game, A).missed : missed;
    }
    assert_int_equal(game_stats(&game, A).missed, missed);
    for (int32_t i = A; i < THREE; i++) {
        assert_true(game_stats(&game, i).missed < 30); // of 180
        assert_true(game_stats(&game, i).differing < 5);
        assert_true(game_stats(&game, i).lead_ns < FL_MS(80)); // a stall is no long way
    }
    net_close(&game.net);
}

static void a_longer_stall_stops_players_and_they_go_on(void **state)
{
    (void)state;
    FlImpairSettings weather = line(FL_MS(40), 0, 0);
    game_open(&game, 13, &weather);
    game.net.def.timeout_ns = FL_SEC(30);
    game_start(&game, TWO);
    game_run(&game, FL_SEC(5));
    game.net.node[HOST].frozen = true;
    game_run(&game, FL_SEC(8));
    assert_true(game_stats(&game, A).waits > 100);
    net_wake(&game.net, HOST);
    game_run(&game, FL_SEC(3));
    uint64_t differing = game_stats(&game, A).differing;
    uint64_t ticks = game_stats(&game, A).ticks;
    game_run(&game, FL_SEC(3));
    assert_int_equal(game_stats(&game, A).differing, differing);
    assert_true(game_stats(&game, A).ticks > ticks + 170);
    net_close(&game.net);
}

static void a_player_that_was_away_goes_on(void **state)
{
    (void)state;
    const FlTime away[] = {FL_MS(300), FL_SEC(3), FL_SEC(25)};
    for (size_t i = 0; i < sizeof away / sizeof *away; i++) {
        FlImpairSettings weather = line(FL_MS(40), 0, 0);
        game_open(&game, 14 + i, &weather);
        game.net.def.timeout_ns = FL_SEC(60);
        game_start(&game, THREE);
        game_run(&game, FL_SEC(5));
        game.net.node[A].frozen = true;
        game_run(&game, away[i]);
        net_wake(&game.net, A);
        game_run(&game, FL_SEC(3));
        uint64_t differing = game_stats(&game, A).differing;
        uint64_t missed = game_stats(&game, A).missed;
        game_run(&game, FL_SEC(5));
        assert_int_equal(game_stats(&game, A).differing, differing);
        assert_int_equal(game_stats(&game, A).missed, missed);
        assert_int_equal(game_stats(&game, B).differing, 0);
        net_close(&game.net);
    }
}

// ---------------------------------------------------------------- coming and going

static void players_come_late_leave_and_are_kicked(void **state)
{
    (void)state;
    FlImpairSettings weather = line(FL_MS(40), 0, 0);
    game_open(&game, 20, &weather);
    game_start(&game, THREE);
    game_run(&game, FL_SEC(5));
    game_join(&game, C); // late
    game_run(&game, FL_SEC(5));
    assert_int_equal(game_stats(&game, C).differing, 0);
    assert_true(game_stats(&game, C).ticks > 200);
    FlSession *host = game.net.node[HOST].session;
    FlPeerId left = net_peer(&game.net, HOST, A);
    net_leave(&game.net, A);
    FlPeerId kicked = net_peer(&game.net, HOST, B);
    assert_int_equal(fl_peer_kick(host, net_local(&game.net, HOST), kicked, "out"), FL_OK);
    game_run(&game, FL_SEC(2));
    int64_t tick;
    assert_null(fl_predict_state(host, left, &tick));
    assert_null(fl_predict_state(host, kicked, &tick));
    assert_false(fl_predict_tick(game.net.node[B].session, net_local(&game.net, B), "ab"));
    game_join(&game, A); // again, with a number that may be the old one
    game_run(&game, FL_SEC(5));
    assert_int_equal(game_stats(&game, A).differing, 0);
    assert_true(game_stats(&game, A).ticks > 200);
    assert_int_equal(game_stats(&game, C).differing, 0);
    net_close(&game.net);
}

static void the_hosts_word_counts_at_once(void **state)
{
    (void)state;
    FlImpairSettings weather = line(FL_MS(40), 0, 0);
    game_open(&game, 21, &weather);
    game_start(&game, TWO);
    game.node[A].steady = true;
    game_run(&game, FL_SEC(3));
    Body pushed = *game_body(&game, A);
    pushed.y += 2.0;
    FlSession *host = game.net.node[HOST].session;
    assert_int_equal(fl_predict_player(host, net_peer(&game.net, HOST, A), &pushed), FL_OK);
    game_log(&game);
    game_run(&game, FL_MS(80));
    FlSession *session = game.net.node[A].session;
    int64_t tick;
    const Body *own = (const Body *)fl_predict_state(session, fl_peer_self(session), &tick);
    assert_true(own->y == pushed.y);
    FlPredictStats stats = game_stats(&game, A);
    assert_int_equal(stats.corrections, 1);
    assert_int_equal(stats.decided, 1);
    FlPose pose;
    assert_true(fl_predict_pose(session, net_local(&game.net, A), &pose));
    assert_true(pose.position.y < pushed.y - 0.2); // the picture glides
    game_run(&game, FL_MS(300));
    assert_true(fl_predict_pose(session, net_local(&game.net, A), &pose));
    assert_true(fabs(pose.position.y - pushed.y) < 1e-9);
    net_close(&game.net);
}

static void a_host_may_play_too(void **state)
{
    (void)state;
    FlImpairSettings weather = line(FL_MS(40), 0, 0);
    game_open(&game, 22, &weather);
    game_start(&game, TWO);
    game_run(&game, FL_SEC(2));
    FlSession *host = game.net.node[HOST].session;
    Body body = {0};
    uint8_t full[GAME_INPUT] = {127, 0};
    assert_int_equal(fl_predict_player(host, fl_peer_self(host), &body), FL_OK);
    game_run(&game, FL_MS(20));
    while (!fl_predict_tick(host, net_local(&game.net, HOST), full)) {
        game.net.now += FL_MS(1);
    }
    FlPose pose;
    assert_true(fl_predict_pose(host, net_local(&game.net, HOST), &pose));
    assert_true(pose.velocity.x > 0.0);
    assert_int_equal(fl_predict_player(host, fl_peer_self(host), NULL), FL_OK);
    assert_false(fl_predict_pose(host, net_local(&game.net, HOST), &pose));
    net_close(&game.net);
}

// ---------------------------------------------------------------- limits

static void bad_definitions_are_refused(void **state)
{
    (void)state;
    FlImpairSettings weather = line(FL_MS(40), 0, 0);
    game_open(&game, 23, &weather);
    game_start(&game, TWO);
    FlSession *session = game.net.node[A].session;
    FlPredictDef def = game.node[A].def;
    def.state_bytes = FL_PREDICT_STATE_BYTES + 1;
    assert_int_equal(fl_session_predict(session, &def), FL_BAD_VALUE);
    def = game.node[A].def;
    def.history_ticks = 100;
    assert_int_equal(fl_session_predict(session, &def), FL_BAD_VALUE);
    def = game.node[A].def;
    def.send_hz = 61;
    assert_int_equal(fl_session_predict(session, &def), FL_BAD_VALUE);
    def = game.node[A].def;
    def.step_fn = NULL;
    assert_int_equal(fl_session_predict(session, &def), FL_BAD_VALUE);
    assert_int_equal(fl_predict_player(session, fl_peer_self(session), NULL), FL_STALE_ID);
    assert_int_equal(fl_session_predict(session, NULL), FL_OK);
    assert_int_equal(fl_predict_player(session, fl_peer_self(session), NULL), FL_NOT_FOUND);
    assert_false(fl_predict_tick(session, net_local(&game.net, A), "ab"));
    net_close(&game.net);
}

static void a_session_without_inputs_to_the_host_has_no_prediction(void **state)
{
    (void)state;
    FlImpairSettings weather = line(FL_MS(40), 0, 0);
    game_open(&game, 24, &weather);
    game.net.def.inputs_to_host = false;
    net_start(&game.net, HOST);
    FlPredictDef def = fl_predict_def_default();
    def.step_fn = game_step;
    def.state_bytes = sizeof(Body);
    assert_int_equal(fl_session_predict(game.net.node[HOST].session, &def), FL_BAD_VALUE);
    net_close(&game.net);
}

static void playing_allocates_nothing(void **state)
{
    (void)state;
    FlImpairSettings weather = line(FL_MS(20), FL_MS(2), 5);
    game_open(&game, 25, &weather);
    game_start(&game, THREE);
    game_run(&game, FL_SEC(5));
    weather = line(FL_MS(120), FL_MS(10), 5);
    net_weather(&game.net, &weather);
    int32_t calls[THREE];
    for (int32_t i = 0; i < THREE; i++) {
        calls[i] = game.net.node[i].memory.calls;
    }
    game_run(&game, FL_SEC(10));
    assert_true(game_stats(&game, A).replayed > 0);
    for (int32_t i = 0; i < THREE; i++) {
        assert_int_equal(game.net.node[i].memory.calls, calls[i]);
    }
    net_close(&game.net);
}

static void without_memory_nothing_is_attached(void **state)
{
    (void)state;
    for (int32_t n = 1; n <= 20; n++) {
        FlImpairSettings weather = line(FL_MS(60), 0, 0);
        game_open(&game, 26, &weather);
        net_start(&game.net, HOST);
        NetMemory *memory = &game.net.node[HOST].memory;
        int64_t live = memory->live_bytes;
        memory->fail_at = memory->calls + n;
        FlPredictDef def = fl_predict_def_default();
        def.step_fn = game_step;
        def.state_bytes = sizeof(Body);
        FlResult result = fl_session_predict(game.net.node[HOST].session, &def);
        memory->fail_at = 0;
        assert_true(result == FL_NO_MEMORY ? memory->live_bytes == live : n > 10);
        net_close(&game.net);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_perfect_network_needs_no_correction),
        cmocka_unit_test(with_loss_confirmed_states_are_the_hosts),
        cmocka_unit_test(on_a_bad_line_inputs_still_come_in_time),
        cmocka_unit_test(predicted_states_are_those_that_the_host_reaches),
        cmocka_unit_test(an_own_action_shows_in_the_same_frame),
        cmocka_unit_test(the_picture_never_jumps),
        cmocka_unit_test(others_are_where_they_stood_when_a_tick_is_played_again),
        cmocka_unit_test(the_lead_follows_the_network),
        cmocka_unit_test(many_inputs_move_nobody_faster),
        cmocka_unit_test(inputs_of_the_past_and_of_the_far_future_count_for_nothing),
        cmocka_unit_test(a_client_does_not_say_where_it_is),
        cmocka_unit_test(who_stops_sending_comes_to_rest),
        cmocka_unit_test(a_host_that_stalls_for_three_seconds_plays_what_was_sent_meanwhile),
        cmocka_unit_test(a_longer_stall_stops_players_and_they_go_on),
        cmocka_unit_test(a_player_that_was_away_goes_on),
        cmocka_unit_test(players_come_late_leave_and_are_kicked),
        cmocka_unit_test(the_hosts_word_counts_at_once),
        cmocka_unit_test(a_host_may_play_too),
        cmocka_unit_test(bad_definitions_are_refused),
        cmocka_unit_test(a_session_without_inputs_to_the_host_has_no_prediction),
        cmocka_unit_test(playing_allocates_nothing),
        cmocka_unit_test(without_memory_nothing_is_attached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
