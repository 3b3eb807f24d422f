// Sockets over loopback, with ports the system chooses.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include "fairlead/net.h"
#include "net/private.h"

static const char *const loopbacks[] = {"127.0.0.1:0", "[::1]:0"};

static FlAddress address_of(const char *text)
{
    FlAddress address;
    assert_int_equal(fl_address_parse(text, &address), FL_OK);
    return address;
}

static FlNet *open_at(const char *text)
{
    FlNetDef def = fl_net_def_default();
    def.bind = address_of(text);
    FlNet *net = NULL;
    assert_int_equal(fl_net_create(&def, &net), FL_OK);
    return net;
}

static bool has_ipv6(void)
{
    FlNetDef def = fl_net_def_default();
    def.bind = address_of("[::1]:0");
    FlNet *net = NULL;
    bool there = fl_net_create(&def, &net) == FL_OK;
    fl_net_destroy(net);
    return there;
}

static void send_one(FlNet *from, FlAddress to, const void *data, int32_t bytes)
{
    FlDatagram datagram = {to, data, bytes, 0};
    int32_t done = 0;
    assert_int_equal(fl_net_send_batch(from, &datagram, 1, &done), FL_OK);
    assert_int_equal(done, 1);
}

static FlTime soon(void)
{
    return fl_net_now() + FL_SEC(5);
}

// ---------------------------------------------------------------- addresses

static void addresses_go_to_text_and_back(void **state)
{
    (void)state;
    const char *const texts[] = {
        "127.0.0.1:4000",
        "0.0.0.0:0",
        "255.255.255.255:65535",
        "[::1]:4000",
        "[::]:1",
        "[2001:db8::8:800:200c:417a]:53",
        "[fe80::1%2]:9",
        "[fe80::1%4294967295]:9",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[FL_ADDRESS_TEXT_BYTES];
        FlAddress address = address_of(texts[i]);
        assert_string_equal(fl_address_format(address, text), texts[i]);
        FlAddress again = address_of(text);
        assert_true(fl_address_equal(address, again));
        assert_int_equal(fl__address_hash(address), fl__address_hash(again));
        again.port ^= 1;
        assert_false(fl_address_equal(address, again));
        assert_int_not_equal(fl__address_hash(address), fl__address_hash(again));
    }
    char text[FL_ADDRESS_TEXT_BYTES];
    FlAddress nowhere = {.family = FL_FAMILY_NONE};
    assert_string_equal(fl_address_format(nowhere, text), "nowhere");
}

static void malformed_addresses_are_refused(void **state)
{
    (void)state;
    const char *const texts[] = {
        "",
        ":",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "127.0.0:1",
        "1.2.3.4.5:6",
        "::1:4000",
        "[::1]",
        "[::1]4000",
        "[]:4",
        "[::1:4",
        "[::1%]:4",
        "[::1%eth0]:4",
        "[::1%99999999999]:4",
        "[127.0.0.1]:4",
        "127.0.0.1:0x10",
        "127.0.0.1: 1",
        "[",
        "]:1",
        "[]",
        "[:",
        "[::g]:1",
        "127.0.0.1:4000 ",
        "%:1",
        "localhost:4000",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        FlAddress address;
        assert_int_equal(fl_address_parse(texts[i], &address), FL_BAD_VALUE);
        assert_int_equal(address.family, FL_FAMILY_NONE);
    }
    char name[400];
    memset(name, 'a', sizeof name);
    memcpy(name + sizeof name - 5, ":123", 5);
    FlAddress address;
    assert_int_equal(fl_address_resolve(name, FL_FAMILY_NONE, &address), FL_BAD_VALUE);
}

static void names_resolve(void **state)
{
    (void)state;
    FlAddress address;
    assert_int_equal(fl_address_resolve("localhost:4000", FL_FAMILY_NONE, &address), FL_OK);
    assert_int_equal(address.port, 4000);
    assert_int_equal(address.family, FL_FAMILY_IPV4);
    assert_int_equal(fl_address_resolve("127.0.0.1:1", FL_FAMILY_IPV6, &address), FL_NO_ADDRESS);
    assert_int_equal(address.family, FL_FAMILY_NONE);
    assert_int_equal(fl_address_resolve("no host:1", FL_FAMILY_NONE, &address), FL_NO_ADDRESS);
    assert_int_equal(fl_address_resolve("::1:1", FL_FAMILY_NONE, &address), FL_BAD_VALUE);
}

// ---------------------------------------------------------------- there and back

static void a_datagram_arrives_whole_from_whom_and_when(void **state)
{
    (void)state;
    for (int32_t i = 0; i < (has_ipv6() ? 2 : 1); i++) {
        FlNet *a = open_at(loopbacks[i]);
        FlNet *b = open_at(loopbacks[i]);
        assert_int_not_equal(fl_net_address(a).port, 0);
        FlDatagram got[4];
        assert_int_equal(fl_net_receive_batch(b, got, 4), 0);
        FlTime before = fl_net_now();
        send_one(a, fl_net_address(b), "tank", 4);
        FlTime sent = fl_net_now();
        assert_true(fl_net_wait(&b, 1, soon(), NULL));
        struct timespec pause = {0, 20 * 1000 * 1000};
        nanosleep(&pause, NULL); // the stamp must tell the arrival, not the call
        assert_int_equal(fl_net_receive_batch(b, got, 4), 1);
        assert_int_equal(got[0].bytes, 4);
        assert_memory_equal(got[0].data, "tank", 4);
        assert_true(fl_address_equal(got[0].address, fl_net_address(a)));
        FlNetStats stats = fl_net_stats(b);
        assert_int_equal(stats.received_count, 1);
        assert_int_equal(stats.received_bytes, 4);
        assert_int_equal(stats.stamp_missing_count + stats.stamp_rejected_count, 0);
        assert_true(got[0].arrival >= before - FL_US(100));
        assert_true(got[0].arrival <= sent + FL_SEC(2)); // loopback delivers within the send
        send_one(b, got[0].address, NULL, 0);            // an empty datagram is a datagram
        assert_true(fl_net_wait(&a, 1, soon(), NULL));
        assert_int_equal(fl_net_receive_batch(a, got, 4), 1);
        assert_int_equal(got[0].bytes, 0);
        fl_net_destroy(a);
        fl_net_destroy(b);
    }
}

static void batches_keep_content_and_order(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    FlNet *a = open_at("127.0.0.1:0");
    FlNet *b = open_at("127.0.0.1:0");
    int32_t numbers[COUNT];
    FlDatagram out[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        numbers[i] = i;
        out[i] = (FlDatagram){fl_net_address(b), &numbers[i], 4, 0};
    }
    int32_t done = 0;
    assert_int_equal(fl_net_send_batch(a, out, COUNT, &done), FL_OK);
    assert_int_equal(done, COUNT);
    int32_t next = 0;
    FlTime last = 0;
    while (next < COUNT) {
        assert_true(fl_net_wait(&b, 1, soon(), NULL));
        FlDatagram got[FL_NET_BATCH + 10];
        int32_t count = fl_net_receive_batch(b, got, FL_NET_BATCH + 10);
        assert_in_range(count, 1, FL_NET_BATCH);
        for (int32_t i = 0; i < count; i++) {
            assert_memory_equal(got[i].data, &numbers[next++], 4);
            assert_true(got[i].arrival >= last);
            last = got[i].arrival;
        }
    }
    assert_int_equal(fl_net_stats(a).sent_count, COUNT);
    fl_net_destroy(a);
    fl_net_destroy(b);
}

static void an_ipv6_socket_serves_ipv4_under_its_own_address(void **state)
{
    (void)state;
    if (!has_ipv6()) {
        skip();
    }
    FlNet *server = open_at("[::]:0");
    FlNet *client = open_at("127.0.0.1:0");
    FlAddress to = address_of("127.0.0.1:0");
    to.port = fl_net_address(server).port;
    send_one(client, to, "hi", 2);
    assert_true(fl_net_wait(&server, 1, soon(), NULL));
    FlDatagram got;
    assert_int_equal(fl_net_receive_batch(server, &got, 1), 1);
    assert_true(fl_address_equal(got.address, fl_net_address(client)));
    send_one(server, got.address, "yo", 2);
    assert_true(fl_net_wait(&client, 1, soon(), NULL));
    fl_net_destroy(server);
    fl_net_destroy(client);
}

static void a_connected_socket_hears_its_peer_alone(void **state)
{
    (void)state;
    FlNet *server = open_at("127.0.0.1:0");
    FlNet *stranger = open_at("127.0.0.1:0");
    FlNetDef def = fl_net_def_default();
    def.bind = address_of("127.0.0.1:0");
    def.peer = fl_net_address(server);
    FlNet *client = NULL;
    assert_int_equal(fl_net_create(&def, &client), FL_OK);
    send_one(stranger, fl_net_address(client), "no", 2);
    FlAddress nowhere = {.family = FL_FAMILY_NONE};
    send_one(client, nowhere, "yes", 3);
    assert_true(fl_net_wait(&server, 1, soon(), NULL));
    FlDatagram got;
    assert_int_equal(fl_net_receive_batch(server, &got, 1), 1);
    assert_memory_equal(got.data, "yes", 3);
    assert_int_equal(fl_net_receive_batch(client, &got, 1), 0);
    def.peer = address_of("[::1]:5");
    FlNet *mixed = NULL;
    assert_int_equal(fl_net_create(&def, &mixed), FL_BAD_VALUE);
    assert_null(mixed);
    fl_net_destroy(server);
    fl_net_destroy(stranger);
    fl_net_destroy(client);
}

// ---------------------------------------------------------------- what goes wrong

static void a_port_in_use_is_said_so(void **state)
{
    (void)state;
    FlNet *first = open_at("127.0.0.1:0");
    FlNetDef def = fl_net_def_default();
    def.bind = fl_net_address(first);
    FlNet *second = NULL;
    assert_int_equal(fl_net_create(&def, &second), FL_ADDRESS_IN_USE);
    assert_null(second);
    assert_int_equal(errno, EADDRINUSE);
    def.bind = address_of("192.0.2.1:0"); // documentation's own network: nobody has it
    assert_int_equal(fl_net_create(&def, &second), FL_NO_ADDRESS);
    def.bind = (FlAddress){.family = FL_FAMILY_NONE};
    assert_int_equal(fl_net_create(&def, &second), FL_BAD_VALUE);
    fl_net_destroy(first);
}

static void datagrams_too_large_are_dropped_and_counted(void **state)
{
    (void)state;
    static uint8_t big[65536];
    FlNetDef def = fl_net_def_default();
    def.bind = address_of("127.0.0.1:0");
    def.packet_bytes = 100;
    FlNet *small = NULL;
    assert_int_equal(fl_net_create(&def, &small), FL_OK);
    FlNet *sender = open_at("127.0.0.1:0");
    send_one(sender, fl_net_address(small), big, 101);
    send_one(sender, fl_net_address(small), big, 65536); // larger than any datagram
    send_one(sender, fl_net_address(small), big, 100);
    assert_int_equal(fl_net_stats(sender).too_large_count, 1);
    assert_int_equal(fl_net_stats(sender).sent_count, 2);
    assert_true(fl_net_wait(&small, 1, soon(), NULL));
    FlDatagram got[4];
    assert_int_equal(fl_net_receive_batch(small, got, 4), 1);
    assert_int_equal(got[0].bytes, 100);
    assert_int_equal(fl_net_stats(small).truncated_count, 1);
    fl_net_destroy(small);
    fl_net_destroy(sender);
}

static void nobody_listening_is_counted_and_not_fatal(void **state)
{
    (void)state;
    FlNet *gone = open_at("127.0.0.1:0");
    FlNetDef def = fl_net_def_default();
    def.bind = address_of("127.0.0.1:0");
    def.peer = fl_net_address(gone);
    FlNet *client = NULL;
    assert_int_equal(fl_net_create(&def, &client), FL_OK);
    fl_net_destroy(gone);
    FlAddress nowhere = {.family = FL_FAMILY_NONE};
    for (int32_t i = 0; i < 6; i++) {
        send_one(client, nowhere, "anybody?", 8);
        FlDatagram got;
        if (i % 2 == 0) { // both ways of hearing of it: while receiving and while sending
            assert_int_equal(fl_net_receive_batch(client, &got, 1), 0);
        }
    }
    FlNetStats stats = fl_net_stats(client);
    assert_int_equal(stats.sent_count, 6);
    assert_in_range(stats.refused_count, 3, 6);
    fl_net_destroy(client);
}

static void an_address_out_of_reach_is_dropped_and_the_rest_sent(void **state)
{
    (void)state;
    FlNet *a = open_at("127.0.0.1:0");
    FlNet *b = open_at("127.0.0.1:0");
    FlDatagram out[] = {
        {address_of("[::1]:9"), "x", 1, 0}, // not from an IPv4 socket
        {fl_net_address(b), "y", 1, 0},
        {{.family = FL_FAMILY_NONE}, "z", 1, 0},
        {fl_net_address(b), "w", 1, 0},
    };
    int32_t done = 0;
    assert_int_equal(fl_net_send_batch(a, out, 4, &done), FL_OK);
    assert_int_equal(done, 4);
    assert_int_equal(fl_net_stats(a).unreachable_count, 2);
    assert_int_equal(fl_net_stats(a).sent_count, 2);
    fl_net_destroy(a);
    fl_net_destroy(b);
}

static void what_the_kernel_drops_is_counted(void **state)
{
    (void)state;
    FlNetDef def = fl_net_def_default();
    def.bind = address_of("127.0.0.1:0");
    def.buffer_bytes = 4096;
    FlNet *slow = NULL;
    assert_int_equal(fl_net_create(&def, &slow), FL_OK);
    FlNet *sender = open_at("127.0.0.1:0");
    static uint8_t bytes[1000];
    for (int32_t i = 0; i < 200; i++) {
        send_one(sender, fl_net_address(slow), bytes, 1000);
    }
    FlDatagram got[FL_NET_BATCH];
    uint64_t count = 0;
    for (int32_t n = 1; n > 0; count += (uint64_t)n) {
        n = fl_net_receive_batch(slow, got, FL_NET_BATCH);
    }
    send_one(sender, fl_net_address(slow), bytes, 1); // the count travels with the next datagram
    assert_true(fl_net_wait(&slow, 1, soon(), NULL));
    assert_int_equal(fl_net_receive_batch(slow, got, FL_NET_BATCH), 1);
    assert_true(count < 200);
    assert_int_equal(fl_net_stats(slow).kernel_dropped_count, 200 - count);
    fl_net_destroy(slow);
    fl_net_destroy(sender);
}

// A wall clock set forward or back by a second between arrival and reading moves the stamp by as
// much.
static void stamps_of_a_clock_that_was_set_are_not_believed(void **state)
{
    (void)state;
    FlTime empty_at = FL_SEC(100);
    FlTime now = FL_SEC(100) + FL_MS(50);
    assert_true(fl__stamp_plausible(FL_SEC(100) + FL_MS(20), empty_at, now));
    assert_true(fl__stamp_plausible(empty_at - FL_US(5), empty_at, now));
    assert_true(fl__stamp_plausible(now + FL_US(5), empty_at, now));
    assert_false(fl__stamp_plausible(FL_SEC(101) + FL_MS(20), empty_at, now));
    assert_false(fl__stamp_plausible(FL_SEC(99) + FL_MS(20), empty_at, now));
    assert_false(fl__stamp_plausible(0, empty_at, now));
}

// Half of the pause would be added to every stamp of the call.
static void clocks_read_with_a_pause_between_are_no_pair(void **state)
{
    (void)state;
    FlTime offset;
    FlTime before = FL_SEC(100);
    assert_true(fl__clocks_pair(before, FL_SEC(900), before + FL_US(2), &offset));
    assert_int_equal(offset, FL_US(1) - FL_SEC(800));
    assert_false(fl__clocks_pair(before, FL_SEC(900), before + FL_MS(1), &offset));
    assert_false(fl__clocks_pair(before, FL_SEC(900) + FL_SEC(1), before + FL_SEC(1), &offset));
}

// ---------------------------------------------------------------- waiting

static void waiting_ends_at_the_deadline_and_not_before(void **state)
{
    (void)state;
    FlNet *net = open_at("127.0.0.1:0");
    for (int32_t i = 0; i < 20; i++) {
        FlTime deadline = fl_net_now() + FL_US(1500);
        assert_false(fl_net_wait(&net, 1, deadline, NULL));
        assert_true(fl_net_now() >= deadline);
    }
    FlTime start = fl_net_now();
    assert_false(fl_net_wait(&net, 1, start - FL_SEC(1), NULL));
    assert_false(fl_net_wait(&net, 1, INT64_MIN, NULL));
    assert_true(fl_net_now() - start < FL_SEC(1));
    fl_net_destroy(net);
}

static void waiting_uses_no_processor_time(void **state)
{
    (void)state;
    FlNet *net = open_at("127.0.0.1:0");
    struct timespec before;
    struct timespec after;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    assert_false(fl_net_wait(&net, 1, fl_net_now() + FL_MS(200), NULL));
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    FlTime used = FL_SEC(after.tv_sec - before.tv_sec) + after.tv_nsec - before.tv_nsec;
    assert_true(used < FL_MS(10));
    fl_net_destroy(net);
}

static void waiting_for_several_tells_which(void **state)
{
    (void)state;
    FlNet *nets[3] = {open_at("127.0.0.1:0"), open_at("127.0.0.1:0"), open_at("127.0.0.1:0")};
    bool ready[3] = {true, true, true};
    assert_false(fl_net_wait(nets, 3, fl_net_now(), ready));
    assert_false(ready[0] || ready[1] || ready[2]);
    send_one(nets[0], fl_net_address(nets[2]), "x", 1);
    assert_true(fl_net_wait(nets, 3, soon(), ready));
    assert_false(ready[0] || ready[1]);
    assert_true(ready[2]);
    for (int32_t i = 0; i < 3; i++) {
        fl_net_destroy(nets[i]);
    }
}

static void on_alarm(int number)
{
    (void)number;
}

static void a_signal_ends_the_wait_early(void **state)
{
    (void)state;
    FlNet *net = open_at("127.0.0.1:0");
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = {{0, 0}, {0, 30000}};
    setitimer(ITIMER_REAL, &timer, NULL);
    FlTime start = fl_net_now();
    assert_false(fl_net_wait(&net, 1, start + FL_SEC(20), NULL));
    assert_true(fl_net_now() - start < FL_SEC(10));
    fl_net_destroy(net);
}

// ---------------------------------------------------------------- memory

static int32_t made;

static void *counting_alloc(void *ctx, size_t size, size_t align)
{
    (void)align;
    if (ctx != NULL) {
        return NULL;
    }
    made++;
    return malloc(size);
}

static void counting_free(void *ctx, void *ptr, size_t size)
{
    (void)ctx;
    (void)size;
    made--;
    free(ptr);
}

static void traffic_allocates_nothing(void **state)
{
    (void)state;
    FlNetDef def = fl_net_def_default();
    def.bind = address_of("127.0.0.1:0");
    def.alloc = (FlAlloc){counting_alloc, counting_free, NULL};
    FlNet *net = NULL;
    assert_int_equal(fl_net_create(&def, &net), FL_OK);
    assert_int_equal(made, 1);
    for (int32_t i = 0; i < 100; i++) {
        send_one(net, fl_net_address(net), "me", 2);
        assert_true(fl_net_wait(&net, 1, soon(), NULL));
        FlDatagram got;
        assert_int_equal(fl_net_receive_batch(net, &got, 1), 1);
    }
    assert_int_equal(made, 1);
    fl_net_destroy(net);
    fl_net_destroy(NULL);
    assert_int_equal(made, 0);
    def.alloc.ctx = &made;
    assert_int_equal(fl_net_create(&def, &net), FL_NO_MEMORY);
    assert_null(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_go_to_text_and_back),
        cmocka_unit_test(malformed_addresses_are_refused),
        cmocka_unit_test(names_resolve),
        cmocka_unit_test(a_datagram_arrives_whole_from_whom_and_when),
        cmocka_unit_test(batches_keep_content_and_order),
        cmocka_unit_test(an_ipv6_socket_serves_ipv4_under_its_own_address),
        cmocka_unit_test(a_connected_socket_hears_its_peer_alone),
        cmocka_unit_test(a_port_in_use_is_said_so),
        cmocka_unit_test(datagrams_too_large_are_dropped_and_counted),
        cmocka_unit_test(nobody_listening_is_counted_and_not_fatal),
        cmocka_unit_test(an_address_out_of_reach_is_dropped_and_the_rest_sent),
        cmocka_unit_test(what_the_kernel_drops_is_counted),
        cmocka_unit_test(stamps_of_a_clock_that_was_set_are_not_believed),
        cmocka_unit_test(clocks_read_with_a_pause_between_are_no_pair),
        cmocka_unit_test(waiting_ends_at_the_deadline_and_not_before),
        cmocka_unit_test(waiting_uses_no_processor_time),
        cmocka_unit_test(waiting_for_several_tells_which),
        cmocka_unit_test(a_signal_ends_the_wait_early),
        cmocka_unit_test(traffic_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
