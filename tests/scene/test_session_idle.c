// What a sealed session costs while nothing happens: bytes that a machine sends a second, headers
// counted, to its host and for every further peer of a mesh.
#include "session_net.h"

// Bytes a second that a client sends, on average over all clients and two minutes.
static double idle_bytes_s(int32_t nodes, FlTopology topology)
{
    static Net net;
    net_open(&net, 7, topology, true);
    net_start_all(&net, nodes);
    net_run(&net, FL_SEC(60));
    assert_true(net_together(&net));
    memset(net.bytes, 0, sizeof net.bytes);
    net_run(&net, FL_SEC(180));
    assert_true(net_together(&net));
    double sum = 0.0;
    for (int32_t i = 1; i < nodes; i++) {
        sum += (double)net.bytes[i];
    }
    net_close(&net);
    return sum / 120.0 / (double)(nodes - 1);
}

static void an_idle_machine_says_little_to_its_host_and_less_to_its_peers(void **state)
{
    (void)state;
    double alone = idle_bytes_s(2, FL_TOPOLOGY_MESH);
    double among = idle_bytes_s(NET_NODES, FL_TOPOLOGY_MESH);
    double each = (among - alone) / (NET_NODES - 2);
    print_message("             %.1f bytes/s to the host, %.1f to each further peer\n", alone,
                  each);
    assert_true(alone <= 60.0);
    assert_true(each <= 4.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_machine_says_little_to_its_host_and_less_to_its_peers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
