// Reliable data: src/link/stream.c, and FRAGMENT on the wire. Two ends of a stream are joined by
// hand here; the scenes do the same with networks between.
#include "support.h"

#include "link/private.h"

enum { RING = 4096 };

typedef struct Pipe {
    Stream stream;
    OutSlot out[FL_LINK_WINDOW];
    InSlot in[FL_LINK_WINDOW];
    uint8_t out_ring[RING], in_ring[RING];
} Pipe;

static void pipe_init(Pipe *p, bool ordered)
{
    memset(p, 0, sizeof *p);
    p->stream.out = p->out;
    p->stream.in = p->in;
    p->stream.ordered = ordered;
    p->stream.packet_end = FL_LINK_PACKET_BYTES - PAYLOAD_RESERVE;
    if (ordered) {
        Fl__Ring out = {.bytes = p->out_ring, .capacity = RING};
        Fl__Ring in = {.bytes = p->in_ring, .capacity = RING};
        p->stream.out_ring = out;
        p->stream.in_ring = in;
    }
}

static const Repeat PATIENT = {
    .timeout_ns = FL_MS(100),
    .latest_ns = FL_SEC(1),
    .margin_ns = FL_MS(10),
    .delivered_after = NEVER,
};

typedef struct Packet {
    uint8_t bytes[FL_LINK_PACKET_BYTES];
    int32_t size;
    Fragments fragments;
} Packet;

/// What the stream would send at `now`, noted as sent.
static Packet send_at(Pipe *p, double budget, FlTime now, const Repeat *repeat)
{
    Packet packet;
    memset(&packet, 0, sizeof packet);
    FlWriter w;
    fl_writer_init(&w, packet.bytes, FL_LINK_PACKET_BYTES);
    fl__stream_encode(&p->stream, p->stream.ordered ? 0 : 1, &w, budget, now, repeat,
                      &packet.fragments);
    assert_false(w.failed);
    packet.size = fl_writer_size(&w);
    if (packet.fragments.count > 0) {
        packet.bytes[packet.fragments.last_at] &= 0xfeu;
    }
    for (int32_t i = 0; i < packet.fragments.count; i++) {
        fl__stream_sent(&p->stream, packet.fragments.refs[i].serial, now);
    }
    return packet;
}

/// Gives a packet to the other end. False: something in it found no room.
static bool deliver(Pipe *p, const Packet *packet)
{
    FlReader r;
    fl_reader_init(&r, packet->bytes, packet->size);
    bool more = packet->fragments.count > 0;
    bool all = true;
    for (int32_t i = 0; more; i++) {
        FragmentMessage m;
        bool room;
        assert_int_equal(fl__fragment_decode(&r, &m, &more), FL_LINK_DROP_NONE);
        assert_int_equal(m.stream, p->stream.ordered ? 0 : 1);
        assert_int_equal(m.serial, packet->fragments.refs[i].serial);
        assert_int_equal(fl__stream_check(&p->stream, &m, &room), FL_LINK_DROP_NONE);
        fl__stream_accept(&p->stream, &m);
        all = all && room;
    }
    assert_int_equal(fl_reader_left(&r), 0);
    return all;
}

static void acknowledge(Pipe *p, const Packet *packet)
{
    for (int32_t i = 0; i < packet->fragments.count; i++) {
        fl__stream_acked(&p->stream, packet->fragments.refs[i].serial);
    }
}

static int32_t fill(uint8_t *bytes, int32_t n, int32_t size)
{
    for (int32_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(n * 31 + i * 7);
    }
    return size;
}

static void expect_message(Pipe *p, int32_t n, int32_t size)
{
    uint8_t got[RING], want[RING];
    int32_t count;
    assert_int_equal(fl__stream_take(&p->stream, got, RING, &count), FL_OK);
    assert_int_equal(count, size);
    (void)fill(want, n, size);
    assert_memory_equal(got, want, (size_t)size);
}

// ---------------------------------------------------------------- FRAGMENT

static void fragments_come_out_as_they_went_in_and_every_truncation_is_short(void **state)
{
    (void)state;
    FlRandom random = random_stream(201);
    for (int32_t n = 0; n < CASES(400); n++) {
        uint8_t bytes[8 + FL_LINK_FRAGMENT_BYTES] = {0};
        uint64_t more = fl_random_below(&random, 2);
        uint64_t stream = fl_random_below(&random, 2);
        uint64_t serial = fl_random_below(&random, 65536);
        int32_t length = 1 + (int32_t)fl_random_below(&random, FL_LINK_FRAGMENT_BYTES);
        FlWriter w;
        fl_writer_init(&w, bytes, (int32_t)sizeof bytes);
        fl_writer_put(&w, more, 1);
        fl_writer_put(&w, stream, 1);
        fl_writer_put(&w, serial, 16);
        fl_writer_put(&w, (uint64_t)length - 1, 8);
        uint8_t after = stream == 0 ? 0 : (uint8_t)fl_random_below(&random, FL_LINK_WINDOW);
        fl_writer_put(&w, after, 6);
        uint8_t data[FL_LINK_FRAGMENT_BYTES];
        fl_writer_bytes(&w, data, fill(data, n, length));
        int32_t size = fl_writer_size(&w);
        assert_int_equal(size, 4 + length);
        FlReader r;
        FragmentMessage m;
        bool got_more;
        fl_reader_init(&r, bytes, size);
        assert_int_equal(fl__fragment_decode(&r, &m, &got_more), FL_LINK_DROP_NONE);
        assert_int_equal(got_more, more);
        assert_int_equal(m.stream, stream);
        assert_int_equal(m.serial, serial);
        assert_int_equal(m.length, length);
        assert_int_equal(m.after, after);
        assert_memory_equal(m.bytes, data, (size_t)length);
        for (int32_t cut = 0; cut < size; cut++) {
            uint8_t *exact = (uint8_t *)malloc((size_t)cut + 1);
            assert_non_null(exact);
            memcpy(exact, bytes, (size_t)cut);
            fl_reader_init(&r, exact, cut);
            assert_int_equal(fl__fragment_decode(&r, &m, &got_more), FL_LINK_DROP_SHORT);
            free(exact);
        }
        // The ordered stream has no channels.
        bytes[0] &= 0xfdu;
        bytes[3] |= (uint8_t)(4u << fl_random_below(&random, 6));
        fl_reader_init(&r, bytes, size);
        assert_int_equal(fl__fragment_decode(&r, &m, &got_more), FL_LINK_DROP_MALFORMED);
    }
}

static void a_channel_keeps_its_order_and_waits_for_no_other(void **state)
{
    (void)state;
    static Pipe p;
    pipe_init(&p, false);
    Packet packet[4];
    static const uint32_t CHANNEL[4] = {1, 1, 2, 1};
    for (uint8_t i = 0; i < 4; i++) {
        assert_int_equal(fl__stream_send_channel(&p.stream, &i, 1, CHANNEL[i], 0), FL_OK);
        packet[i] = send_at(&p, 1e9, FL_MS(1), &PATIENT);
        assert_int_equal(packet[i].fragments.count, 1);
    }
    uint8_t got;
    int32_t count;
    assert_true(deliver(&p, &packet[3]));
    assert_true(deliver(&p, &packet[1]));
    assert_int_equal(fl__stream_take(&p.stream, &got, 1, &count), FL_NOT_FOUND);
    assert_true(deliver(&p, &packet[2]));
    assert_int_equal(fl__stream_take(&p.stream, &got, 1, &count), FL_OK);
    assert_int_equal(got, 2);
    assert_int_equal(fl__stream_take(&p.stream, &got, 1, &count), FL_NOT_FOUND);
    assert_true(deliver(&p, &packet[0]));
    static const uint8_t THEN[] = {0, 1, 3};
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(fl__stream_take(&p.stream, &got, 1, &count), FL_OK);
        assert_int_equal(got, THEN[i]);
    }
    assert_int_equal(p.stream.in_next, 4);
}

static void what_is_important_goes_first_and_nothing_for_ever(void **state)
{
    (void)state;
    static Pipe p;
    pipe_init(&p, false);
    uint8_t data[FL_LINK_FRAGMENT_BYTES] = {0};
    static const uint8_t PRIORITY[] = {0, 9, 5, 9, 0};
    for (int32_t i = 0; i < 5; i++) {
        assert_int_equal(fl__stream_send_channel(&p.stream, data, sizeof data,
                                                 1 + (uint32_t)PRIORITY[i], PRIORITY[i]),
                         FL_OK);
    }
    Packet packet = send_at(&p, 1e9, FL_MS(1), &PATIENT);
    static const uint16_t ORDER[] = {1, 3, 2, 0};
    assert_int_equal(packet.fragments.count, 4);
    for (int32_t i = 0; i < 4; i++) {
        assert_int_equal(packet.fragments.refs[i].serial, ORDER[i]);
    }
}

static void a_fragment_is_inside_the_window_or_one_window_beyond_or_impossible(void **state)
{
    (void)state;
    Pipe p;
    for (int32_t ordered = 0; ordered < 2; ordered++) {
        pipe_init(&p, ordered != 0);
        int64_t nexts[] = {0, 40, 65500, 200000};
        for (int32_t k = 0; k < 4; k++) {
            p.stream.in_next = nexts[k];
            for (int64_t n = nexts[k] - 200; n < nexts[k] + 200; n++) {
                uint8_t byte = 1;
                FragmentMessage m = {.serial = (uint16_t)n, .length = 1, .bytes = &byte};
                bool room;
                FlLinkDrop drop = fl__stream_check(&p.stream, &m, &room);
                bool possible = n >= 0 && n < nexts[k] + 2 * FL_LINK_WINDOW;
                assert_int_equal(drop, possible ? FL_LINK_DROP_NONE : FL_LINK_DROP_WINDOW);
                assert_true(!possible || room == (n < nexts[k] + FL_LINK_WINDOW));
            }
        }
    }
}

// Beyond the window it would have another fragment's place.
static void what_has_no_room_is_not_taken_for_something_else(void **state)
{
    (void)state;
    for (int32_t ordered = 0; ordered < 2; ordered++) {
        Pipe p;
        pipe_init(&p, ordered != 0);
        uint8_t bytes[2] = {1, 'x'};
        FragmentMessage m = {.serial = FL_LINK_WINDOW, .length = 2, .bytes = bytes};
        fl__stream_accept(&p.stream, &m);
        uint8_t got[RING];
        int32_t count;
        assert_int_equal(fl__stream_take(&p.stream, got, RING, &count), FL_NOT_FOUND);
        m.serial = 0;
        fl__stream_accept(&p.stream, &m);
        assert_int_equal(fl__stream_take(&p.stream, got, RING, &count), FL_OK);
    }
}

static void of_two_versions_of_a_fragment_the_first_counts(void **state)
{
    (void)state;
    for (int32_t ordered = 0; ordered < 2; ordered++) {
        Pipe p;
        pipe_init(&p, ordered != 0);
        uint8_t first[2] = {1, 'a'};
        uint8_t second[3] = {2, 'b', 'c'};
        FragmentMessage m = {.serial = 1, .length = 2, .bytes = first};
        fl__stream_accept(&p.stream, &m);
        FragmentMessage forged = {.serial = 1, .length = 3, .bytes = second};
        fl__stream_accept(&p.stream, &forged);
        m.serial = 0;
        fl__stream_accept(&p.stream, &m);
        for (int32_t i = 0; i < 2; i++) {
            uint8_t got[RING];
            int32_t count;
            assert_int_equal(fl__stream_take(&p.stream, got, RING, &count), FL_OK);
            assert_int_equal(got[count - 1], 'a');
        }
    }
}

// ---------------------------------------------------------------- queueing and taking

static void a_queue_says_when_it_is_full_and_what_it_never_takes(void **state)
{
    (void)state;
    Pipe p;
    uint8_t bytes[RING + 8] = {0};
    pipe_init(&p, true);
    assert_int_equal(fl__stream_send(&p.stream, bytes, 0, false), FL_BAD_VALUE);
    assert_int_equal(fl__stream_send(&p.stream, bytes, -1, false), FL_BAD_VALUE);
    assert_int_equal(fl__stream_send(&p.stream, bytes, RING - 1, false), FL_BAD_VALUE); // + 2
    assert_int_equal(fl__stream_send(&p.stream, bytes, RING - 2, false), FL_OK);
    assert_int_equal(fl__stream_send(&p.stream, bytes, 1, false), FL_WOULD_BLOCK);
    // Once cut into fragments there is room again, for a window's worth.
    (void)send_at(&p, 1e9, 0, &PATIENT);
    assert_int_equal(fl__stream_send(&p.stream, bytes, RING - 2, false), FL_OK);

    pipe_init(&p, false);
    assert_int_equal(fl__stream_send(&p.stream, bytes, 0, false), FL_BAD_VALUE);
    assert_int_equal(fl__stream_send(&p.stream, bytes, FL_LINK_FRAGMENT_BYTES + 1, false),
                     FL_BAD_VALUE);
    for (int32_t i = 0; i < FL_LINK_WINDOW; i++) {
        assert_int_equal(fl__stream_send(&p.stream, bytes, FL_LINK_FRAGMENT_BYTES, i % 2 == 0),
                         FL_OK);
    }
    assert_int_equal(fl__stream_send(&p.stream, bytes, 1, true), FL_WOULD_BLOCK);
}

static void a_buffer_too_small_leaves_the_message_where_it_is(void **state)
{
    (void)state;
    for (int32_t ordered = 0; ordered < 2; ordered++) {
        Pipe p;
        pipe_init(&p, ordered != 0);
        uint8_t bytes[RING];
        int32_t count = 77;
        assert_int_equal(fl__stream_take(&p.stream, bytes, RING, &count), FL_NOT_FOUND);
        assert_int_equal(count, 0);
        assert_int_equal(fl__stream_send(&p.stream, bytes, fill(bytes, 3, 200), false), FL_OK);
        Packet packet = send_at(&p, 1e9, 0, &PATIENT);
        assert_true(deliver(&p, &packet));
        assert_int_equal(fl__stream_take(&p.stream, bytes, 199, &count), FL_FULL);
        assert_int_equal(count, 200);
        expect_message(&p, 3, 200);
        assert_int_equal(fl__stream_take(&p.stream, bytes, RING, &count), FL_NOT_FOUND);
    }
}

static void lengths_of_all_sizes_survive(void **state)
{
    (void)state;
    int32_t sizes[] = {1, 2, 127, 128, 129, 255, 256, 257, 1000, 4000, RING - 2};
    Pipe p;
    pipe_init(&p, true);
    for (int32_t round = 0; round < 50; round++) {
        int32_t size = sizes[(round * 7) % 11];
        uint8_t bytes[RING];
        assert_int_equal(fl__stream_send(&p.stream, bytes, fill(bytes, round, size), false), FL_OK);
        while (fl__stream_due(&p.stream, &PATIENT) == NEVER) {
            Packet packet = send_at(&p, 1e9, 0, &PATIENT);
            assert_true(deliver(&p, &packet));
            acknowledge(&p, &packet);
        }
        expect_message(&p, round, size);
    }
}

// A fragment ends one message and begins another: what fits of it must go into a ring that the
// first message fills, or neither would ever be taken.
static void a_fragment_may_be_larger_than_the_rest_of_the_ring(void **state)
{
    (void)state;
    Pipe p;
    pipe_init(&p, true);
    p.stream.in_ring.capacity = 300;
    uint8_t bytes[RING];
    for (int32_t n = 0; n < 4; n++) {
        assert_int_equal(fl__stream_send(&p.stream, bytes, fill(bytes, n, 298), false), FL_OK);
    }
    for (int32_t n = 0; n < 4; n++) {
        Packet packet = send_at(&p, 1e9, 0, &PATIENT);
        assert_true(deliver(&p, &packet));
        acknowledge(&p, &packet);
    }
    for (int32_t n = 0; n < 4; n++) {
        expect_message(&p, n, 298);
    }
}

static void nonsense_lengths_break_the_stream(void **state)
{
    (void)state;
    struct {
        uint8_t bytes[3];
        int32_t count;
        bool broken;
    } cases[] = {
        {{0x01}, 1, false},            // one byte is to come
        {{0x00}, 1, true},             // an empty message
        {{0x80}, 1, false},            // not all here yet
        {{0x80, 0x00}, 2, true},       // padded zero
        {{0x81, 0x00}, 2, true},       // padded one
        {{0xff, 0xff}, 2, false},      // not all here yet
        {{0xff, 0x1f}, 2, true},       // 4095: with its two bytes one more than fits
        {{0xfe, 0x1f}, 2, false},      // 4094
        {{0xff, 0xff, 0x01}, 3, true}, // 32767 never fits
        {{0xff, 0xff, 0xff}, 3, true}, // no end
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Pipe p;
        pipe_init(&p, true);
        FragmentMessage m = {.length = cases[i].count, .bytes = cases[i].bytes};
        fl__stream_accept(&p.stream, &m);
        assert_int_equal(fl__stream_broken(&p.stream), cases[i].broken);
        uint8_t buffer[RING];
        int32_t count;
        assert_int_equal(fl__stream_take(&p.stream, buffer, RING, &count), FL_NOT_FOUND);
    }
}

// ---------------------------------------------------------------- windows

static void messages_arrive_once_whatever_is_lost_doubled_or_overtaken(void **state)
{
    (void)state;
    FlRandom random = random_stream(202);
    for (int32_t ordered = 0; ordered < 2; ordered++) {
        Pipe p;
        pipe_init(&p, ordered != 0);
        int32_t total = CASES(80000); // past 65536 fragments: serials come round
        int32_t queued = 0;
        int32_t heard = 0;
        static uint8_t seen[100000];
        memset(seen, 0, sizeof seen);
        Packet late = {.size = 0};
        FlTime now = 0;
        while (heard < total) {
            uint8_t bytes[RING] = {0};
            for (int32_t k = 0; k < 20 && queued < total; k++) {
                memcpy(bytes, &queued, 4);
                int32_t size = ordered != 0 ? 180 + queued % 100 : 4 + queued % 100;
                if (fl__stream_send(&p.stream, bytes, size, false) != FL_OK) {
                    break;
                }
                queued++;
            }
            now += FL_MS(60);
            Packet packet = send_at(&p, 1e9, now, &PATIENT);
            bool lost = random_chance(&random, 4);
            bool whole = lost || deliver(&p, &packet);
            if (random_chance(&random, 4)) {
                whole = (lost || deliver(&p, &packet)) && whole; // twice
            }
            if (random_chance(&random, 4)) {
                (void)deliver(&p, &late); // an old one again
                late = packet;
            }
            assert_true(whole); // messages are taken at once, so there is always room
            if (!lost && !random_chance(&random, 5)) { // acks get lost too
                acknowledge(&p, &packet);
                acknowledge(&p, &packet);
            }
            int32_t count;
            while (fl__stream_take(&p.stream, bytes, RING, &count) == FL_OK) {
                int32_t n;
                memcpy(&n, bytes, 4);
                assert_true(n < queued);
                assert_int_equal(seen[n]++, 0);
                assert_true(ordered == 0 || n == heard);
                heard++;
            }
        }
    }
}

static void what_is_not_taken_is_refused_and_comes_again(void **state)
{
    (void)state;
    for (int32_t ordered = 0; ordered < 2; ordered++) {
        Pipe p;
        pipe_init(&p, ordered != 0);
        uint8_t bytes[RING];
        int32_t queued = 0;
        int32_t refused = 0;
        FlTime now = 0;
        for (int32_t round = 0; round < 60; round++) {
            while (fl__stream_send(&p.stream, bytes, fill(bytes, queued, 250), false) == FL_OK) {
                queued++;
            }
            now += FL_MS(300);
            Packet packet = send_at(&p, 1e9, now, &PATIENT);
            if (deliver(&p, &packet)) {
                acknowledge(&p, &packet);
            } else {
                refused++;
                for (int32_t i = 0; i < packet.fragments.count; i++) {
                    fl__stream_refused(&p.stream, packet.fragments.refs[i].serial);
                }
            }
        }
        assert_true(refused > 0);
        assert_true(queued < 200); // rings and windows: that is all that waits anywhere
        int32_t heard = 0;
        for (int32_t round = 0; heard < queued && round < 300; round++) {
            int32_t count;
            while (fl__stream_take(&p.stream, bytes, RING, &count) == FL_OK) {
                uint8_t want[RING];
                (void)fill(want, heard++, 250);
                assert_memory_equal(bytes, want, 250); // nothing was lost here: in order, too
            }
            now += FL_SEC(1);
            Packet packet = send_at(&p, 1e9, now, &PATIENT);
            if (deliver(&p, &packet)) {
                acknowledge(&p, &packet);
            }
        }
        assert_int_equal(heard, queued);
    }
}

// ---------------------------------------------------------------- when

static void a_fragment_is_repeated_after_a_growing_while_or_when_overtaken(void **state)
{
    (void)state;
    Pipe p;
    pipe_init(&p, false);
    assert_int_equal(fl__stream_due(&p.stream, &PATIENT), FL_FOREVER);
    assert_int_equal(fl__stream_due_bytes(&p.stream, &PATIENT, 0), 0);
    assert_int_equal(fl__stream_send(&p.stream, "hello", 5, false), FL_OK);
    assert_int_equal(fl__stream_due(&p.stream, &PATIENT), NEVER);
    assert_int_equal(fl__stream_due_bytes(&p.stream, &PATIENT, 0), 9);
    FlTime now = FL_MS(50);
    FlTime waits[] = {FL_MS(100), FL_MS(200), FL_MS(300), FL_MS(400), FL_MS(400)};
    for (int32_t i = 0; i < 5; i++) {
        assert_int_equal(send_at(&p, 1e9, now, &PATIENT).size, 9);
        assert_int_equal(fl__stream_due(&p.stream, &PATIENT), now + waits[i]);
        assert_int_equal(send_at(&p, 1e9, now + waits[i] / 2, &PATIENT).size, 0);
        now += waits[i];
    }
    Repeat hasty = PATIENT;
    hasty.latest_ns = FL_MS(250);
    (void)send_at(&p, 1e9, now, &PATIENT);
    assert_int_equal(fl__stream_due(&p.stream, &hasty), now + FL_MS(250));
    // A packet sent 10 ms later has arrived: this is not proof enough; one sent 11 ms later is.
    Repeat overtaken = PATIENT;
    overtaken.delivered_after = now + FL_MS(10);
    assert_int_equal(fl__stream_due(&p.stream, &overtaken), now + FL_MS(400));
    overtaken.delivered_after = now + FL_MS(11);
    assert_int_equal(fl__stream_due(&p.stream, &overtaken), NEVER);
    // Unless it did arrive and found no room.
    fl__stream_refused(&p.stream, 0);
    assert_int_equal(fl__stream_due(&p.stream, &overtaken), now + FL_MS(600));
    // Sent again, it may be lost again.
    (void)send_at(&p, 1e9, now + FL_MS(600), &overtaken);
    overtaken.delivered_after = now + FL_MS(700);
    assert_int_equal(fl__stream_due(&p.stream, &overtaken), NEVER);
    fl__stream_acked(&p.stream, 0);
    assert_int_equal(fl__stream_due(&p.stream, &overtaken), FL_FOREVER);
    // Late news about what is done with changes nothing.
    fl__stream_refused(&p.stream, 0);
    fl__stream_acked(&p.stream, 0);
    fl__stream_sent(&p.stream, 0, now);
    assert_int_equal(fl__stream_due(&p.stream, &overtaken), FL_FOREVER);
}

static void the_quickest_ride_in_every_packet_until_acknowledged(void **state)
{
    (void)state;
    Pipe p;
    pipe_init(&p, false);
    assert_int_equal(fl__stream_send(&p.stream, "slow", 4, false), FL_OK);
    assert_int_equal(fl__stream_send(&p.stream, "quick", 5, true), FL_OK);
    Packet first = send_at(&p, 1e9, 0, &PATIENT);
    assert_int_equal(first.fragments.count, 2);
    for (int32_t i = 1; i < 20; i++) {
        Packet packet = send_at(&p, i % 2 == 0 ? 1e9 : -1e9, i * FL_MS(1), &PATIENT);
        assert_int_equal(packet.fragments.count, 1); // whatever the budget says
        assert_int_equal(packet.fragments.refs[0].serial, 1);
    }
    fl__stream_refused(&p.stream, 1);
    assert_int_equal(send_at(&p, 1e9, FL_MS(30), &PATIENT).fragments.count, 0);
    acknowledge(&p, &first);
    assert_int_equal(send_at(&p, 1e9, FL_SEC(30), &PATIENT).fragments.count, 0);
}

static void the_quickest_leave_room_for_what_is_new(void **state)
{
    (void)state;
    Pipe p;
    pipe_init(&p, false);
    for (int32_t i = 0; i < 40; i++) { // none is acknowledged: a long way
        bool quickest = i % 5 != 4;
        assert_int_equal(fl__stream_send(&p.stream, "news", 4, quickest), FL_OK);
        Packet packet = send_at(&p, 1e9, i * FL_MS(1), &PATIENT);
        assert_true(packet.fragments.count > 0);
        assert_int_equal(packet.fragments.refs[packet.fragments.count - 1].serial, i);
    }
}

static void fragments_stop_with_the_budget_and_the_last_may_overdraw_it(void **state)
{
    (void)state;
    Pipe p;
    pipe_init(&p, false);
    uint8_t bytes[100] = {0};
    for (int32_t i = 0; i < 8; i++) {
        assert_int_equal(fl__stream_send(&p.stream, bytes, 96, false), FL_OK); // 100 with header
    }
    assert_int_equal(send_at(&p, 0.0, 0, &PATIENT).fragments.count, 0);
    assert_int_equal(send_at(&p, 1.0, 0, &PATIENT).fragments.count, 1);
    assert_int_equal(send_at(&p, 200.0, 0, &PATIENT).fragments.count, 2);
    assert_int_equal(send_at(&p, 201.0, 0, &PATIENT).fragments.count, 3);
    assert_int_equal(send_at(&p, 1e9, 0, &PATIENT).fragments.count, 2);
}

static void a_packet_takes_what_fits_and_at_most_sixteen(void **state)
{
    (void)state;
    Pipe p;
    pipe_init(&p, false);
    uint8_t bytes[256] = {0};
    for (int32_t i = 0; i < 40; i++) {
        assert_int_equal(fl__stream_send(&p.stream, bytes, i < 20 ? 256 : 1, false), FL_OK);
    }
    int32_t most = FL_LINK_PACKET_BYTES - PAYLOAD_RESERVE;
    assert_int_equal(fl__stream_due_bytes(&p.stream, &PATIENT, 0), most);
    Packet packet = send_at(&p, 1e9, 0, &PATIENT);
    // Four large ones are 1040 bytes; then small ones fill what is left, but for motion's part.
    assert_int_equal(packet.fragments.count, 4 + 6);
    assert_int_equal(packet.size, 4 * 260 + 6 * 5);
    assert_true(packet.size <= most && packet.size > most - 5);
    assert_true(deliver(&p, &packet));
    pipe_init(&p, false);
    for (int32_t i = 0; i < 20; i++) {
        assert_int_equal(fl__stream_send(&p.stream, bytes, 1, false), FL_OK);
    }
    assert_int_equal(send_at(&p, 1e9, 0, &PATIENT).fragments.count, FRAGMENTS_PER_PACKET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fragments_come_out_as_they_went_in_and_every_truncation_is_short),
        cmocka_unit_test(a_channel_keeps_its_order_and_waits_for_no_other),
        cmocka_unit_test(what_is_important_goes_first_and_nothing_for_ever),
        cmocka_unit_test(a_fragment_is_inside_the_window_or_one_window_beyond_or_impossible),
        cmocka_unit_test(what_has_no_room_is_not_taken_for_something_else),
        cmocka_unit_test(of_two_versions_of_a_fragment_the_first_counts),
        cmocka_unit_test(a_queue_says_when_it_is_full_and_what_it_never_takes),
        cmocka_unit_test(a_buffer_too_small_leaves_the_message_where_it_is),
        cmocka_unit_test(lengths_of_all_sizes_survive),
        cmocka_unit_test(a_fragment_may_be_larger_than_the_rest_of_the_ring),
        cmocka_unit_test(nonsense_lengths_break_the_stream),
        cmocka_unit_test(messages_arrive_once_whatever_is_lost_doubled_or_overtaken),
        cmocka_unit_test(what_is_not_taken_is_refused_and_comes_again),
        cmocka_unit_test(a_fragment_is_repeated_after_a_growing_while_or_when_overtaken),
        cmocka_unit_test(the_quickest_ride_in_every_packet_until_acknowledged),
        cmocka_unit_test(the_quickest_leave_room_for_what_is_new),
        cmocka_unit_test(fragments_stop_with_the_budget_and_the_last_may_overdraw_it),
        cmocka_unit_test(a_packet_takes_what_fits_and_at_most_sixteen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
