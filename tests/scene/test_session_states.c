// What a game reads off a session's state: RUNNING means in, with a number and the time, over
// whatever network; and a loop that waits for deadlines sees an end by itself.
#include "session_net.h"

enum { NODES = 4, STEP_MS = 2 };

static void check_running_is_in(const Net *net)
{
    for (int32_t i = 0; i < net->count; i++) {
        const FlSession *session = net->node[i].session;
        if (session == NULL || fl_session_state(session) != FL_SESSION_RUNNING) {
            continue;
        }
        assert_true(fl_peer_self(session).index1 != 0);
        assert_true(fl_peer_host(session).index1 != 0);
        assert_true(fl_session_time_error(session) != FL_FOREVER);
        assert_true(i == 0 || fl_session_time(session, net_local(net, i)) != 0);
    }
}

static int32_t running(const Net *net)
{
    int32_t count = 0;
    for (int32_t i = 0; i < net->count; i++) {
        count += fl_session_state(net->node[i].session) == FL_SESSION_RUNNING ? 1 : 0;
    }
    return count;
}

// 16 networks each for star, mesh and hybrid, open and sealed.
static void running_means_in_over_bad_lines(void **state)
{
    (void)state;
    static Net net;
    for (uint64_t seed = 1; seed <= 96; seed++) {
        net_open(&net, seed, (FlTopology)(seed % 3), seed % 2 == 0);
        net.weather = net_storm(&net.random, 40);
        net_start_all(&net, NODES);
        FlTime until = net.now + FL_SEC(30);
        while (running(&net) < NODES && net.now < until) {
            net_run(&net, net.now + FL_MS(STEP_MS));
            check_running_is_in(&net);
        }
        assert_int_equal(running(&net), NODES);
        net_run(&net, net.now + FL_MS(100));
        check_running_is_in(&net);
        net_close(&net);
    }
}

// As a game does it: look at the state, pump, wait for the deadline and for nothing longer.
static int32_t turns_until_the_end(Net *net, int32_t node)
{
    FlSession *session = net->node[node].session;
    int32_t turns = 0;
    while (fl_session_state(session) != FL_SESSION_ENDED) {
        net_pump(net, node);
        FlTime deadline = net_true(net, node, fl_session_deadline(session, net_local(net, node)));
        FlTime wait = fl__flight_next(net->flight);
        wait = deadline < wait ? deadline : wait;
        assert_true(wait != FL_FOREVER); // it would never return
        net->now = wait > net->now ? wait : net->now;
        net_deliver(net);
        assert_true(++turns < 100000);
    }
    return turns;
}

static void a_loop_over_deadlines_ends_when_nobody_answers(void **state)
{
    (void)state;
    static Net net;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        net_open(&net, seed, FL_TOPOLOGY_STAR, seed % 2 == 0);
        net.def.join_timeout_ns = FL_SEC(2);
        net.node[0].address = net_address(0, 4000);
        assert_int_equal(net_start_at(&net, 1, 0), FL_OK); // nobody is there
        (void)turns_until_the_end(&net, 1);
        net_close(&net);
    }
}

static void a_loop_over_deadlines_ends_when_the_host_is_gone(void **state)
{
    (void)state;
    static Net net;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        net_open(&net, seed, FL_TOPOLOGY_STAR, seed % 2 == 0);
        net_start_together(&net, 2);
        if (seed <= 2) {
            net_leave(&net, 0);
        } else {
            net_crash(&net, 0);
        }
        (void)turns_until_the_end(&net, 1);
        net_close(&net);
    }
}

// The end itself is a reason to look, once at once and then again and again, but not all the time.
static void the_deadline_of_an_ended_session_is_now_and_then_soon(void **state)
{
    (void)state;
    static Net net;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        net_open(&net, seed, FL_TOPOLOGY_STAR, seed % 2 == 0);
        net_start_together(&net, 2);
        fl_session_leave(net.node[1].session, net_local(&net, 1));
        net_pump(&net, 1);
        FlTime now = net_local(&net, 1);
        FlSession *session = net.node[1].session;
        assert_true(fl_session_deadline(session, now) == now);
        FlTime later = now + FL_SEC(1);
        FlTime wait = fl_session_deadline(session, later) - later;
        assert_true(wait >= FL_MS(10) && wait <= FL_SEC(1));
        net_close(&net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running_means_in_over_bad_lines),
        cmocka_unit_test(a_loop_over_deadlines_ends_when_nobody_answers),
        cmocka_unit_test(a_loop_over_deadlines_ends_when_the_host_is_gone),
        cmocka_unit_test(the_deadline_of_an_ended_session_is_now_and_then_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
