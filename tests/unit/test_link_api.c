// The calls of link.h one by one: definitions, memory, packets by hand, deadlines, endings.
#include "support.h"

#include "link/private.h"

_Static_assert(sizeof(FlLink) <= 1024, "a link without its buffers fits into 1 KiB");

// ---------------------------------------------------------------- two links by hand

typedef struct Sealed {
    uint8_t bytes[FL_LINK_PACKET_BYTES];
    int32_t size;
    uint64_t sequence;
} Sealed;

static FlLink *open_link(const FlLinkDef *def, FlTime now)
{
    FlLink *link;
    assert_int_equal(fl_link_create(def, now, &link), FL_OK);
    return link;
}

static Sealed pack(FlLink *link, FlTime now, int32_t payload_bytes, uint64_t tag)
{
    Sealed sealed;
    FlWriter w;
    assert_int_equal(fl_link_begin(link, now, sealed.bytes, &w), FL_OK);
    int32_t room = (w.capacity_bits - w.bit_count) / 8;
    for (int32_t i = 0; i < payload_bytes && i < room; i++) {
        fl_writer_put(&w, (uint64_t)(i + (int32_t)tag) & 0xffu, 8);
    }
    sealed.size = fl_link_finish(link, now, &w, tag, &sealed.sequence);
    return sealed;
}

static FlLinkPacket unpack(FlLink *link, FlTime arrival, const Sealed *sealed)
{
    FlLinkPacket packet;
    assert_int_equal(
        fl_link_receive(link, arrival, sealed->sequence, sealed->bytes, sealed->size, &packet),
        FL_LINK_DROP_NONE);
    return packet;
}

static FlFateEvent fate_of(FlLink *link)
{
    FlFateEvent event;
    assert_int_equal(fl_link_take_fate(link, &event), FL_OK);
    return event;
}

// ---------------------------------------------------------------- definition

static void every_setting_out_of_range_is_refused(void **state)
{
    (void)state;
    FlLinkDef good = fl_link_def_default();
    FlLinkDef bad[32];
    int32_t count = 0;
#define BAD(field, value)                                                                          \
    bad[count] = good;                                                                             \
    bad[count++].field = (value)
    BAD(ack_delay_ns, -1);
    BAD(ack_delay_ns, FL_SEC(10) + 1);
    BAD(keep_alive_ns, 0);
    BAD(timeout_ns, 0);
    BAD(timeout_ns, FL_SEC(1800) + 1);
    BAD(timeout_ns, FL_FOREVER);
    BAD(reorder_ns, 0);
    BAD(packet_bytes, FL_LINK_PACKET_LEAST - 1);
    BAD(packet_bytes, FL_LINK_PACKET_BYTES + 1);
    BAD(overhead_bytes, -1);
    BAD(overhead_bytes, INT32_MAX);
    BAD(rate_bytes_s, good.rate_min_bytes_s - 1.0);
    BAD(rate_bytes_s, good.rate_max_bytes_s + 1.0);
    BAD(rate_bytes_s, (double)NAN);
    BAD(rate_min_bytes_s, 0.0);
    BAD(rate_min_bytes_s, (double)NAN);
    BAD(rate_max_bytes_s, (double)INFINITY);
    BAD(sent_capacity, 8);
    BAD(sent_capacity, 17);
    BAD(sent_capacity, 8192);
    BAD(sent_capacity, INT32_MIN);
    BAD(send_bytes, 255);
    BAD(send_bytes, 2 * FL_LINK_MESSAGE_BYTES + 1);
    BAD(receive_bytes, 255);
    BAD(receive_bytes, 2 * FL_LINK_MESSAGE_BYTES + 1);
#undef BAD
    for (int32_t i = 0; i < count; i++) {
        FlLink *link = (FlLink *)&good; // must be set to nothing
        assert_int_equal(fl_link_create(&bad[i], 0, &link), FL_BAD_VALUE);
        assert_null(link);
    }
    // The ends of the ranges are in.
    FlLinkDef edge = good;
    edge.ack_delay_ns = 0;
    edge.keep_alive_ns = edge.reorder_ns = FL_FOREVER;
    edge.timeout_ns = FL_SEC(1800);
    edge.rate_min_bytes_s = edge.rate_bytes_s = edge.rate_max_bytes_s = 1.0;
    edge.sent_capacity = 16;
    edge.send_bytes = edge.receive_bytes = 256;
    edge.overhead_bytes = 0;
    fl_link_destroy(open_link(&edge, INT64_MIN / 2));
    edge.sent_capacity = 4096;
    edge.send_bytes = edge.receive_bytes = 2 * FL_LINK_MESSAGE_BYTES;
    fl_link_destroy(open_link(&edge, INT64_MAX / 2));
    fl_link_destroy(NULL);
}

static void every_reason_for_a_drop_has_a_name(void **state)
{
    (void)state;
    for (int32_t i = 0; i < FL_LINK_DROPS; i++) {
        const char *name = fl__link_drop_name((FlLinkDrop)i);
        assert_true(strlen(name) > 2 && strcmp(name, "unknown") != 0);
    }
    assert_string_equal(fl__link_drop_name(FL_LINK_DROP_CROWDED), "crowded");
    assert_string_equal(fl__link_drop_name(FL_LINK_DROPS), "unknown");
}

// ---------------------------------------------------------------- memory

typedef struct Counter {
    int32_t calls;
    int32_t fail_at; // this call fails; -1: none
    size_t live;
} Counter;

static void *counting_alloc(void *ctx, size_t size, size_t align)
{
    Counter *counter = (Counter *)ctx;
    (void)align;
    if (counter->calls++ == counter->fail_at) {
        return NULL;
    }
    counter->live += size;
    return malloc(size);
}

static void counting_free(void *ctx, void *ptr, size_t size)
{
    Counter *counter = (Counter *)ctx;
    counter->live -= size;
    free(ptr);
}

static void memory_is_what_is_said_and_all_of_it_is_given_back(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    Counter counter = {.fail_at = -1};
    FlAlloc alloc = {counting_alloc, counting_free, &counter};
    def.alloc = alloc;
    size_t link_bytes;
    size_t buffer_bytes;
    fl__link_memory(&def, &link_bytes, &buffer_bytes);
    assert_true(link_bytes <= 1024);
    print_message("             %zu bytes a link, %zu of buffers by default\n", link_bytes,
                  buffer_bytes);
    FlLink *link = open_link(&def, 0);
    assert_int_equal(counter.live, link_bytes + buffer_bytes);
    fl_link_destroy(link);
    assert_int_equal(counter.live, 0);
    // Small ones are possible.
    def.sent_capacity = 16;
    def.send_bytes = def.receive_bytes = 256;
    fl__link_memory(&def, &link_bytes, &buffer_bytes);
    print_message("             %zu of buffers at least\n", buffer_bytes);
    assert_true(buffer_bytes < 76000);
}

static void every_allocation_that_fails_is_answered_without_a_leak(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    Counter counter = {0};
    FlAlloc alloc = {counting_alloc, counting_free, &counter};
    def.alloc = alloc;
    FlResult result = FL_NO_MEMORY;
    FlLink *link = NULL;
    for (int32_t n = 0; result != FL_OK; n++) {
        assert_true(n < 10);
        counter.calls = 0;
        counter.fail_at = n;
        result = fl_link_create(&def, 0, &link);
        assert_int_equal(result, n < 2 ? FL_NO_MEMORY : FL_OK);
        assert_int_equal(result == FL_OK, link != NULL);
        assert_true(result == FL_OK || counter.live == 0);
    }
    fl_link_destroy(link);
    assert_int_equal(counter.live, 0);
}

static void traffic_allocates_nothing(void **state)
{
    (void)state;
    Counter counter = {.fail_at = -1};
    FlLinkDef def = fl_link_def_default();
    FlAlloc alloc = {counting_alloc, counting_free, &counter};
    def.alloc = alloc;
    FlLink *end[2] = {open_link(&def, 0), open_link(&def, 0)};
    int32_t calls = counter.calls;
    FlRandom random = random_stream(501);
    uint8_t message[4096] = {0};
    int32_t taken = 0;
    for (FlTime now = 0; now < FL_SEC(60); now += FL_MS(20)) {
        for (int32_t i = 0; i < 2; i++) {
            int32_t sizes[] = {3000, 200, 20};
            for (int32_t kind = 0; kind < 3; kind++) {
                FlResult sent = fl_link_send(end[i], (FlDelivery)kind, message, sizes[kind]);
                assert_true(sent == FL_OK || sent == FL_WOULD_BLOCK);
            }
            fl_link_update(end[i], now);
            Sealed sealed = pack(end[i], now, 30, 0);
            FlLinkPacket packet;
            if (!random_chance(&random, 4)) {
                (void)fl_link_receive(end[1 - i], now, 0, sealed.bytes, sealed.size, &packet);
            }
            int32_t count;
            while (fl_link_take(end[i], message, sizeof message, &count) == FL_OK) {
                taken++;
            }
            FlFateEvent event;
            while (fl_link_take_fate(end[i], &event) == FL_OK) {
            }
            FlLinkStats stats;
            fl_link_stats(end[i], now, &stats);
        }
    }
    assert_true(taken > 1000);
    fl__link_close(end[0]);
    assert_int_equal(counter.calls, calls);
    fl_link_destroy(end[0]);
    fl_link_destroy(end[1]);
    assert_int_equal(counter.live, 0);
}

// ---------------------------------------------------------------- packets

static void a_packet_brings_payload_stamp_and_arrival_in_whole_steps(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    FlTime here = FL_SEC(1000000) + 123;
    FlTime there = -FL_SEC(5) + 456;
    FlLink *a = open_link(&def, here);
    FlLink *b = open_link(&def, there);
    Sealed sealed = pack(a, here + FL_MS(70) + 99999, 30, 5);
    assert_int_equal(sealed.size, 8 + 30);
    FlLinkPacket packet = unpack(b, there + FL_MS(90) + 1, &sealed);
    assert_int_equal(packet.payload_bytes, 30);
    assert_ptr_equal(packet.payload, sealed.bytes + 8);
    assert_int_equal(packet.payload[0], 5);
    assert_int_equal(packet.stamp, FL_MS(70));
    assert_int_equal(packet.arrived, FL_MS(90));
    // The answer: eight bytes of head, eight for one report.
    assert_int_equal(fl_link_deadline(b, there + FL_MS(91)), there + FL_MS(90) + FL_MS(25));
    assert_false(fl__link_wants_to_send(b, there + FL_MS(114)));
    assert_true(fl__link_wants_to_send(b, there + FL_MS(115)));
    Sealed answer = pack(b, there + FL_MS(115), 0, 0);
    assert_int_equal(answer.size, 16);
    FlLinkPacket nothing = unpack(a, here + FL_MS(140), &answer);
    assert_int_equal(nothing.payload_bytes, 0);
    FlFateEvent event = fate_of(a);
    assert_int_equal(event.tag, 5);
    assert_int_equal(event.fate, FL_FATE_DELIVERED);
    assert_int_equal(event.sent, here + FL_MS(70) + 99999);
    assert_int_equal(event.arrived_remote, packet.arrived);
    assert_int_equal(event.bytes, 38 + 28);
    assert_int_equal(fl_link_take_fate(a, &event), FL_NOT_FOUND);
    assert_int_equal(event.tag, 0);
    fl_link_destroy(a);
    fl_link_destroy(b);
}

static void a_carrier_that_numbers_packets_saves_four_bytes(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    def.external_sequence = true;
    FlLink *a = open_link(&def, 0);
    FlLink *b = open_link(&def, 0);
    Sealed first = pack(a, FL_MS(1), 10, 0);
    Sealed second = pack(a, FL_MS(2), 10, 0);
    assert_int_equal(first.size, 4 + 10);
    assert_int_equal(second.sequence, 1);
    (void)unpack(b, FL_MS(3), &second);
    (void)unpack(b, FL_MS(3), &first);
    FlLinkPacket packet;
    // Authentic, but a number from the other end of the world: taken, and in no time.
    assert_int_equal(
        fl_link_receive(b, FL_MS(4), (uint64_t)1 << 60, first.bytes, first.size, &packet),
        FL_LINK_DROP_NONE);
    assert_int_equal(fl_link_receive(b, FL_MS(4), UINT64_MAX, first.bytes, first.size, &packet),
                     FL_LINK_DROP_MALFORMED);
    assert_int_equal(fl_link_receive(b, FL_MS(4), INT64_MAX, first.bytes, first.size, &packet),
                     FL_LINK_DROP_MALFORMED);
    fl_link_destroy(a);
    fl_link_destroy(b);
}

// Numbers as a seal gives them: from anywhere on, some taken by its own packets.
static void a_carriers_numbers_begin_anywhere_and_have_gaps(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    def.external_sequence = true;
    FlLink *a = open_link(&def, 0);
    FlLink *b = open_link(&def, 0);
    uint64_t number[2] = {5000000, (uint64_t)1 << 61};
    uint64_t sent = 0;
    for (FlTime now = FL_MS(50); now < FL_SEC(60); now += FL_MS(50)) {
        fl_link_number_from(a, number[0]);
        fl_link_number_from(a, number[0] - 3); // was used: nothing changes
        fl_link_number_from(b, number[1]);
        Sealed there = pack(a, now, 10, sent++);
        (void)unpack(b, now + FL_MS(5), &there);
        Sealed back = pack(b, now + FL_MS(10), 10, 0);
        assert_int_equal(there.sequence, number[0]);
        assert_int_equal(back.sequence, number[1]);
        (void)unpack(a, now + FL_MS(20), &back);
        number[0] += 1 + sent % 40 * (sent % 2);
        number[1] += 1;
        FlFateEvent event;
        while (fl_link_take_fate(a, &event) == FL_OK || fl_link_take_fate(b, &event) == FL_OK) {
            assert_int_equal(event.fate, FL_FATE_DELIVERED);
        }
    }
    FlLinkStats stats;
    fl_link_stats(a, FL_SEC(60), &stats);
    assert_int_equal(stats.packets_out, sent);
    assert_int_equal(stats.delivered, sent);
    assert_true(stats.loss_out == 0.0 && stats.loss_in == 0.0);
    fl_link_destroy(a);
    fl_link_destroy(b);
}

static void a_leap_of_16384_numbers_ends_a_conversation_and_a_smaller_one_does_not(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    def.external_sequence = true;
    for (int32_t i = 0; i < 2; i++) {
        FlLink *a = open_link(&def, 0);
        fl_link_number_from(a, 900000); // before the first packet any leap will do
        Sealed first = pack(a, FL_MS(1), 10, 7);
        assert_int_equal(first.sequence, 900000);
        fl_link_number_from(a, 900000 + SEQUENCE_SPAN - 2 + (uint64_t)i);
        uint8_t buffer[FL_LINK_PACKET_BYTES];
        FlWriter w;
        FlResult result = fl_link_begin(a, FL_MS(2), buffer, &w);
        assert_int_equal(result, i == 0 ? FL_OK : FL_STALE_ID);
        if (i == 1) {
            FlFateEvent event = fate_of(a);
            assert_true(event.fate == FL_FATE_UNKNOWN && event.tag == 7);
        }
        fl_link_destroy(a);
    }
}

static void an_arrival_before_the_last_now_is_reported_as_it_was(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    FlLink *a = open_link(&def, 0);
    FlLink *b = open_link(&def, 0);
    Sealed sealed = pack(a, FL_MS(10), 10, 1);
    fl_link_update(b, FL_MS(46)); // a frame begins; the packet has been in the socket since 30
    assert_int_equal(unpack(b, FL_MS(30), &sealed).arrived, FL_MS(30));
    Sealed answer = pack(b, FL_MS(46), 0, 0);
    (void)unpack(a, FL_MS(60), &answer);
    assert_int_equal(fate_of(a).arrived_remote, FL_MS(30));
    // But nothing arrives before the link was there, or seconds ago.
    Sealed next = pack(a, FL_MS(70), 10, 2);
    assert_int_equal(unpack(b, -FL_SEC(9), &next).arrived, 0);
    Sealed last = pack(a, FL_MS(80), 10, 3);
    fl_link_update(b, FL_SEC(9));
    assert_int_equal(unpack(b, FL_SEC(1), &last).arrived, FL_SEC(7));
    fl_link_destroy(a);
    fl_link_destroy(b);
}

// Sequence 65535 is followed by 0, step 2^24 - 1 by 0: at 20 Hz after 55 and 70 minutes.
static void sequences_and_times_come_round_and_nobody_notices(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    FlLink *a = open_link(&def, FL_SEC(77));
    FlLink *b = open_link(&def, 0);
    int32_t packets = 140000;
    FlTime now = 0;
    for (int32_t i = 0; i < packets; i++) {
        now = FL_MS(100) * i; // nearly four hours
        Sealed sealed = pack(a, FL_SEC(77) + now, 1, (uint64_t)i);
        FlLinkPacket packet = unpack(b, now + FL_MS(40), &sealed);
        assert_int_equal(packet.stamp, now);
        assert_int_equal(packet.arrived, now + FL_MS(40));
        Sealed answer = pack(b, now + FL_MS(41), 0, 0);
        packet = unpack(a, FL_SEC(77) + now + FL_MS(80), &answer);
        assert_int_equal(packet.stamp, now + FL_MS(41));
        FlFateEvent event = fate_of(a);
        assert_int_equal(event.tag, i);
        assert_int_equal(event.fate, FL_FATE_DELIVERED);
        assert_int_equal(event.arrived_remote, now + FL_MS(40));
        assert_true(i == 0 || fate_of(b).fate == FL_FATE_DELIVERED);
    }
    FlLinkStats stats;
    fl_link_stats(a, FL_SEC(77) + now, &stats);
    assert_int_equal(stats.delivered, packets);
    assert_int_equal(stats.rtt_average_ns, FL_MS(79));
    fl_link_destroy(a);
    fl_link_destroy(b);
}

static void fates_come_in_the_order_of_sending(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    FlLink *a = open_link(&def, 0);
    FlLink *b = open_link(&def, 0);
    for (uint64_t i = 0; i < 5; i++) {
        Sealed sealed = pack(a, FL_MS(10), 1, i);
        if (i != 1) {
            (void)unpack(b, FL_MS(20 - (int64_t)i), &sealed);
        }
    }
    Sealed answer = pack(b, FL_MS(30), 0, 0);
    (void)unpack(a, FL_MS(40), &answer);
    uint64_t tags[] = {0, 2, 3, 4};
    for (int32_t i = 0; i < 4; i++) {
        assert_int_equal(fate_of(a).tag, tags[i]);
    }
    fl_link_destroy(a);
    fl_link_destroy(b);
}

static void fates_nobody_polls_stop_the_sender(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    def.sent_capacity = 16;
    FlLink *a = open_link(&def, 0);
    for (int32_t i = 0; i < 32; i++) {
        (void)pack(a, FL_MS(i), 1, (uint64_t)i);
    }
    uint8_t buffer[FL_LINK_PACKET_BYTES];
    FlWriter w;
    assert_int_equal(fl_link_begin(a, FL_MS(40), buffer, &w), FL_WOULD_BLOCK);
    assert_int_equal(fate_of(a).tag, 16); // the first without a place
    (void)pack(a, FL_MS(40), 1, 32);
    fl__link_close(a);
    for (int32_t i = 0; i < 32; i++) {
        assert_int_equal(fate_of(a).fate, FL_FATE_UNKNOWN);
    }
    FlFateEvent event;
    assert_int_equal(fl_link_take_fate(a, &event), FL_NOT_FOUND);
    fl_link_destroy(a);
}

static void a_packet_begun_before_the_end_has_a_fate_too(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    FlLink *a = open_link(&def, 0);
    uint8_t buffer[FL_LINK_PACKET_BYTES];
    FlWriter w;
    uint64_t sequence;
    assert_int_equal(fl_link_begin(a, 0, buffer, &w), FL_OK);
    fl__link_close(a);
    assert_int_equal(fl_link_finish(a, 0, &w, 9, &sequence), 8);
    FlFateEvent event = fate_of(a);
    assert_int_equal(event.tag, 9);
    assert_int_equal(event.fate, FL_FATE_UNKNOWN);
    assert_int_equal(fl_link_begin(a, 0, buffer, &w), FL_STALE_ID);
    fl_link_destroy(a);
}

// Packets may come in between fl_link_begin and fl_link_finish.
static void a_packet_may_arrive_while_another_is_made(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    def.sent_capacity = 16;
    FlLink *a = open_link(&def, 0);
    FlLink *b = open_link(&def, 0);
    FlRandom random = random_stream(502);
    int32_t heard = 0;
    int32_t said = 0;
    for (FlTime now = 0; now < FL_SEC(200); now += FL_MS(30)) {
        while (fl_link_send(a, FL_DELIVERY_UNORDERED, &said, 4) == FL_OK) {
            said++;
        }
        Sealed out;
        FlWriter w;
        assert_int_equal(fl_link_begin(a, now, out.bytes, &w), FL_OK);
        for (int32_t k = 0; k < 2; k++) {
            Sealed in = pack(b, now, 1, 0);
            FlLinkPacket packet;
            (void)fl_link_receive(a, now, 0, in.bytes, in.size, &packet);
        }
        out.size = fl_link_finish(a, now, &w, 0, &out.sequence);
        FlLinkPacket packet;
        if (!random_chance(&random, 3)) {
            (void)fl_link_receive(b, now, 0, out.bytes, out.size, &packet);
        }
        int32_t n;
        int32_t count;
        while (fl_link_take(b, &n, 4, &count) == FL_OK) {
            heard++;
        }
        FlFateEvent event;
        while (fl_link_take_fate(a, &event) == FL_OK || fl_link_take_fate(b, &event) == FL_OK) {
        }
    }
    assert_true(heard > 2000 && heard <= said && said - heard <= FL_LINK_WINDOW);
    fl_link_destroy(a);
    fl_link_destroy(b);
}

// ---------------------------------------------------------------- budget and deadlines

static void the_payload_budget_leaves_reliable_data_its_part(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    def.rate_min_bytes_s = def.rate_bytes_s = def.rate_max_bytes_s = 1000.0;
    FlLink *a = open_link(&def, 0);
    uint8_t bytes[256] = {0};
    int32_t whole = FL_LINK_PACKET_BYTES - 8;
    assert_int_equal(fl_link_payload_budget(a, 0), whole); // the burst is four packets
    assert_int_equal(fl_link_send(a, FL_DELIVERY_UNORDERED, bytes, 256), FL_OK);
    assert_int_equal(fl_link_payload_budget(a, 0), whole - 260);
    assert_int_equal(fl_link_send(a, FL_DELIVERY_ORDERED, bytes, 100), FL_OK);
    assert_int_equal(fl_link_payload_budget(a, 0), whole - 260 - 105);
    FlWriter w;
    uint8_t buffer[FL_LINK_PACKET_BYTES];
    uint64_t sequence;
    assert_int_equal(fl_link_begin(a, 0, buffer, &w), FL_OK);
    assert_int_equal(fl_link_payload_budget(a, 0), whole - 260 - 105); // of this packet
    (void)fl_link_finish(a, 0, &w, 0, &sequence);
    // Overdrawn by payload that did not ask: nothing for a while.
    for (int32_t i = 0; i < 6; i++) {
        (void)pack(a, 0, 1000, 0);
    }
    assert_int_equal(fl_link_payload_budget(a, 0), 0);
    FlTime later = FL_SEC(4);
    assert_true(fl_link_payload_budget(a, later) > 0);
    fl_link_destroy(a);
}

static void reliable_data_waits_for_its_budget_and_the_deadline_says_when(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    def.rate_min_bytes_s = def.rate_bytes_s = def.rate_max_bytes_s = 1000.0;
    def.keep_alive_ns = FL_FOREVER;
    FlLink *a = open_link(&def, 0);
    for (int32_t i = 0; i < 5; i++) {
        (void)pack(a, 0, 1000, 0); // 5180 of 4800
    }
    uint8_t bytes[256] = {0};
    assert_int_equal(fl_link_send(a, FL_DELIVERY_ORDERED, bytes, 200), FL_OK);
    assert_false(fl__link_wants_to_send(a, 0));
    // It takes 28 + 8 + 4 + 202 bytes, of which 380 are missing.
    FlTime due = fl_link_deadline(a, 0);
    assert_in_range(due, FL_MS(380 + 242), FL_MS(380 + 242) + 10);
    assert_false(fl__link_wants_to_send(a, due - FL_MS(1)));
    assert_true(fl__link_wants_to_send(a, due));
    assert_int_equal(pack(a, due, 0, 0).size, 8 + 4 + 202);
    // Then again, if there is no answer: after half of the silence so far.
    assert_int_equal(fl_link_deadline(a, due), due + due / 2);
    fl_link_destroy(a);
}

// On a fast line nothing is repeated in a hurry all the same.
static void an_answer_has_at_least_20_ms(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    def.ack_delay_ns = 0;
    def.keep_alive_ns = FL_FOREVER;
    FlLink *a = open_link(&def, 0);
    FlLink *b = open_link(&def, 0);
    FlTime now = 0;
    for (int32_t i = 0; i < 100; i++) {
        now += FL_MS(10);
        Sealed sealed = pack(a, now, 1, 0);
        (void)unpack(b, now, &sealed);
        Sealed answer = pack(b, now, 1, 0);
        (void)unpack(a, now, &answer);
    }
    assert_int_equal(fl_link_send(a, FL_DELIVERY_UNORDERED, "x", 1), FL_OK);
    (void)pack(a, now, 0, 0);
    assert_int_equal(fl_link_deadline(a, now), now + FL_MS(20));
    fl_link_destroy(a);
    fl_link_destroy(b);
}

// A common budget may be smaller than a fragment: it goes when the bucket is full.
static void a_bucket_smaller_than_a_fragment_does_not_block_it(void **state)
{
    (void)state;
    FlBudget common;
    fl__budget_init(&common, 1000.0, 100.0, 0);
    FlLinkDef def = fl_link_def_default();
    def.common = &common;
    FlLink *a = open_link(&def, 0);
    uint8_t bytes[256] = {0};
    assert_int_equal(fl_link_send(a, FL_DELIVERY_UNORDERED, bytes, 256), FL_OK);
    assert_true(fl__link_wants_to_send(a, 0));
    assert_int_equal(pack(a, 0, 0, 0).size, 8 + 260);
    assert_true(common.tokens < -150.0);
    assert_int_equal(fl_link_payload_budget(a, 0), 0); // its own budget would have some
    fl_link_destroy(a);
}

// A long message and payload as long as the budget allows, over a carrier that takes short packets.
static void no_packet_is_longer_than_the_carrier_takes(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    def.packet_bytes = FL_LINK_PACKET_LEAST;
    FlLink *a = open_link(&def, 0);
    uint8_t bytes[4000] = {0};
    assert_int_equal(fl_link_send(a, FL_DELIVERY_ORDERED, bytes, sizeof bytes), FL_OK);
    int32_t longest = 0;
    for (FlTime now = 0; now < FL_MS(200); now += FL_MS(10)) {
        uint8_t packet[FL_LINK_PACKET_BYTES];
        FlWriter writer;
        assert_int_equal(fl_link_begin(a, now, packet, &writer), FL_OK);
        int32_t payload = fl_link_payload_budget(a, now);
        assert_true(payload <= FL_LINK_PACKET_LEAST - fl_writer_size(&writer));
        fl_writer_bytes(&writer, bytes, payload);
        uint64_t sequence;
        int32_t size = fl_link_finish(a, now, &writer, 0, &sequence);
        assert_in_range(size, 1, FL_LINK_PACKET_LEAST);
        longest = size > longest ? size : longest;
    }
    assert_int_equal(longest, FL_LINK_PACKET_LEAST);
    fl_link_destroy(a);
}

static void an_unanswered_question_is_asked_again_and_then_the_peer_is_gone(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    FlLink *a = open_link(&def, 0);
    assert_int_equal(fl_link_deadline(a, 0), FL_MS(1500));
    FlTime now = 0;
    int32_t asked = 0;
    while (fl__link_alive(a)) {
        now = fl_link_deadline(a, now);
        assert_true(now <= FL_SEC(10));
        fl_link_update(a, now);
        if (fl__link_wants_to_send(a, now)) {
            Sealed sealed = pack(a, now, 0, 0);
            assert_int_equal(sealed.size, 8);
            assert_int_equal(sealed.bytes[7], 4); // answer, please
            asked++;
        }
    }
    assert_int_equal(now, FL_SEC(10));
    // First after 1.5 s, then every 375 ms, and every 250 ms once half the time is over.
    assert_in_range(asked, 28, 33);
    fl_link_destroy(a);
}

// What became of packets to it is not told any more: whoever sends again what is not known to have
// arrived must not fill the way.
static void a_peer_that_does_not_answer_is_tried_ever_more_rarely(void **state)
{
    (void)state;
    FlLinkDef def = fl_link_def_default();
    def.timeout_ns = FL_SEC(60);
    FlLink *a = open_link(&def, 0);
    FlLink *b = open_link(&def, 0);
    Sealed last = {.size = 0};
    int32_t in_second[20] = {0};
    for (FlTime now = 0; now < FL_SEC(20); now += FL_MS(20)) {
        fl_link_update(a, now);
        FlFateEvent event;
        while (fl_link_take_fate(a, &event) == FL_OK) {
        }
        assert_int_equal(fl__link_silence(a, now).unanswered_ns, now);
        assert_int_equal(fl__link_silence(a, now).payload_at > now,
                         fl_link_payload_budget(a, now) == 0);
        if (fl_link_payload_budget(a, now) > 0 || fl__link_wants_to_send(a, now)) {
            last = pack(a, now, 20, 0);
            in_second[now / FL_SEC(1)]++;
        }
    }
    assert_int_equal(in_second[0], 50);
    assert_in_range(in_second[1], 1, 4);
    assert_in_range(in_second[10], 0, 1);
    assert_in_range(in_second[18] + in_second[19], 1, 2);
    assert_true(fl__link_silence(a, FL_SEC(20)).silent);
    (void)unpack(b, FL_SEC(20), &last); // and there it is
    Sealed answer = pack(b, FL_SEC(20), 0, 0);
    (void)unpack(a, FL_SEC(20), &answer);
    FlLinkSilence silence = fl__link_silence(a, FL_SEC(20));
    assert_true(!silence.silent && silence.unanswered_ns == 0 && silence.silent_ns == 0);
    assert_true(fl_link_payload_budget(a, FL_SEC(20)) > 0);
    fl_link_destroy(a);
    fl_link_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_setting_out_of_range_is_refused),
        cmocka_unit_test(every_reason_for_a_drop_has_a_name),
        cmocka_unit_test(memory_is_what_is_said_and_all_of_it_is_given_back),
        cmocka_unit_test(every_allocation_that_fails_is_answered_without_a_leak),
        cmocka_unit_test(traffic_allocates_nothing),
        cmocka_unit_test(a_packet_brings_payload_stamp_and_arrival_in_whole_steps),
        cmocka_unit_test(a_carrier_that_numbers_packets_saves_four_bytes),
        cmocka_unit_test(a_carriers_numbers_begin_anywhere_and_have_gaps),
        cmocka_unit_test(a_leap_of_16384_numbers_ends_a_conversation_and_a_smaller_one_does_not),
        cmocka_unit_test(an_arrival_before_the_last_now_is_reported_as_it_was),
        cmocka_unit_test(sequences_and_times_come_round_and_nobody_notices),
        cmocka_unit_test(fates_come_in_the_order_of_sending),
        cmocka_unit_test(fates_nobody_polls_stop_the_sender),
        cmocka_unit_test(a_packet_begun_before_the_end_has_a_fate_too),
        cmocka_unit_test(a_packet_may_arrive_while_another_is_made),
        cmocka_unit_test(the_payload_budget_leaves_reliable_data_its_part),
        cmocka_unit_test(reliable_data_waits_for_its_budget_and_the_deadline_says_when),
        cmocka_unit_test(an_answer_has_at_least_20_ms),
        cmocka_unit_test(a_bucket_smaller_than_a_fragment_does_not_block_it),
        cmocka_unit_test(no_packet_is_longer_than_the_carrier_takes),
        cmocka_unit_test(an_unanswered_question_is_asked_again_and_then_the_peer_is_gone),
        cmocka_unit_test(a_peer_that_does_not_answer_is_tried_ever_more_rarely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
