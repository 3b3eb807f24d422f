// A player who says nothing for a while, be it gone for good or held up: it gets no more than what
// can be awaited, nothing goes out whose arrival nobody would learn of, and the others do not
// notice.
#include "session_net.h"

enum { CLIENTS = 7, ITEMS = 64 };

typedef struct Match {
    Net net;
    NetWalk walk[NET_NODES];
} Match;

static void match_run(Match *match, FlTime span)
{
    Net *net = &match->net;
    FlTime until = net->now + span;
    while (net->now < until) {
        for (int32_t i = 1; i <= CLIENTS; i++) {
            if (!net->node[i].asleep) {
                net_walk_turn(net, &match->walk[i]); // there is always something to tell
                assert_int_equal(net_walk_step(net, &match->walk[i]), FL_OK);
            }
        }
        net_frame(net);
    }
}

static void match_open(Match *match, FlTopology topology, bool sealed)
{
    Net *net = &match->net;
    net_open(net, 26, topology, sealed);
    net->def.tuning.item_capacity = ITEMS;
    FlEntityDef def = fl_entity_def_default();
    net_start_together(net, CLIENTS + 1);
    for (int32_t i = 1; i <= CLIENTS; i++) {
        assert_int_equal(net_walk_begin(net, &match->walk[i], i, &def), FL_OK);
    }
    match_run(match, FL_SEC(2));
}

// Age of the oldest of the others' newest updates, as node `at` has them.
static FlTime oldest_at(const Match *match, int32_t at)
{
    const Net *net = &match->net;
    FlTime oldest = 0;
    for (int32_t i = 1; i <= CLIENTS; i++) {
        FlEntityStatus status;
        if (i == at || net->node[i].asleep) {
            continue;
        }
        FlEntityId id = net_entity(net, at, match->walk[i].number);
        assert_int_equal(fl_entity_status(net->node[at].session, id, &status), FL_OK);
        FlTime age = fl_span(net_time(net, at), status.newest);
        oldest = age > oldest ? age : oldest;
    }
    return oldest;
}

static void check_silent(FlTopology topology, bool sealed)
{
    Match *match = calloc(1, sizeof *match);
    assert_non_null(match);
    Net *net = &match->net;
    match_open(match, topology, sealed);
    net->node[CLIENTS].asleep = true;
    match_run(match, FL_SEC(6));
    for (int32_t i = 1; i < CLIENTS; i++) {
        assert_true(oldest_at(match, i) < FL_MS(500));
    }
    net->node[CLIENTS].asleep = false;
    match->walk[CLIENTS].at = net->now; // it stood still meanwhile
    match_run(match, FL_SEC(2));
    assert_int_equal(fl_session_state(net->node[CLIENTS].session), FL_SESSION_RUNNING);
    for (int32_t i = 1; i <= CLIENTS; i++) {
        assert_true(oldest_at(match, i) < FL_MS(500));
    }
    net->node[CLIENTS].asleep = true; // and for good
    match_run(match, FL_SEC(12));
    assert_int_equal(fl_peer_count(net->node[0].session), CLIENTS - 1);
    assert_int_equal(net_count(net, FL_SESSION_UNTRACKED), 0);
    assert_int_equal(net_count(net, FL_SESSION_STALLED), 0);
    net->node[CLIENTS].asleep = false;
    net_close(net);
    free(match);
}

static void who_is_silent_gets_no_more_than_can_be_awaited(void **state)
{
    check_silent(FL_TOPOLOGY_STAR, *state != NULL);
    check_silent(FL_TOPOLOGY_HYBRID, *state != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_silent_gets_no_more_than_can_be_awaited),
        {"sealed_who_is_silent_gets_no_more_than_can_be_awaited",
         who_is_silent_gets_no_more_than_can_be_awaited, NULL, NULL, (void *)"sealed"},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
