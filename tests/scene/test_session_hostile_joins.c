// Those who are banned keep nobody out: however often they come back, from whatever port, and
// whether or not they take their refusal.
#include "session_hostile.h"

enum { HOST, BANNED, LAST_BANNED = 3, HONEST, SEATS = 3 };

// It hears of the host, and then says no more: nothing shows that it can read why it is refused.
static void fall_silent(Net *net, const NetHead *head, const FlOutgoing *out)
{
    (void)out;
    int32_t node = head->to;
    bool knocks = head->from == HOST && node >= BANNED && node <= LAST_BANNED;
    if (knocks && net->sent[HOST][node] >= 2) { // a challenge, and that it is connected
        net_way(net, node, HOST, NULL);
    }
}

static void who_is_banned_takes_no_seat(void **state)
{
    bool silent = *state != NULL;
    static Net net;
    net_open(&net, 8, FL_TOPOLOGY_STAR, true);
    net.def.peer_capacity = net.def.tuning.direct_capacity = SEATS;
    net.on_send = silent ? fall_silent : NULL;
    net_start(&net, HOST);
    FlSession *host = net.node[HOST].session;
    for (int32_t i = BANNED; i <= LAST_BANNED; i++) {
        FlBan ban = {.until = FL_FOREVER, .address = net_address(i, 0), .text = "Enough."};
        assert_int_equal(fl_session_ban(host, net_local(&net, HOST), &ban), FL_OK);
        net_start(&net, i);
    }
    for (int32_t s = 0; s < 40; s++) { // twenty seconds
        for (int32_t i = BANNED; i <= LAST_BANNED; i++) {
            bool again = silent ? s % 6 == 2 * (i - BANNED)
                                : fl_session_state(net.node[i].session) == FL_SESSION_ENDED;
            if (again) {
                net_ways(&net, i, HOST, NULL); // made anew by net_begin
                net.node[i].address.port++;
                net.sent[HOST][i] = 0;
                assert_int_equal(net_begin(&net, i, HOST), FL_OK);
            }
        }
        if (s == 10) {
            net_start(&net, HONEST);
        }
        net_run(&net, net.now + FL_MS(500));
        assert_true(fl_peer_count(host) <= (s >= 10 ? 1 : 0));
    }
    assert_true(net_in(&net, HONEST));
    assert_true(net.node[HONEST].running_at < FL_SEC(11)); // it came after 5.5
    net_close(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {.name = "who_is_banned_takes_no_seat", .test_func = who_is_banned_takes_no_seat},
        {.name = "who_is_banned_and_falls_silent_takes_no_seat",
         .test_func = who_is_banned_takes_no_seat,
         .initial_state = (void *)"silent"},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
