// spec/vectors/link.json: packets and what they mean, for decoders in other languages.
// The Python test test_link_vectors.py reads it with a decoder written from spec/WIRE.md alone.
#include "vectors.h"

#include "link/private.h"
#include "wire/wire.h"

static void say_bytes(Text *text, const uint8_t *bytes, int32_t count)
{
    say(text, "\"");
    for (int32_t i = 0; i < count; i++) {
        say(text, "%02x", bytes[i]);
    }
    say(text, "\"");
}

// ---------------------------------------------------------------- packets of real conversations

typedef struct Sealed {
    uint8_t bytes[FL_LINK_PACKET_BYTES];
    int32_t size;
    uint64_t sequence;
    FlTime stamp;
} Sealed;

static Sealed pack(FlLink *link, FlTime now, const char *payload)
{
    Sealed sealed;
    FlWriter w;
    assert_int_equal(fl_link_begin(link, now, sealed.bytes, &w), FL_OK);
    fl_writer_bytes(&w, payload, (int32_t)strlen(payload));
    sealed.size = fl_link_finish(link, now, &w, 0, &sealed.sequence);
    sealed.stamp = link->now / FL_LINK_STEP_NS * FL_LINK_STEP_NS;
    FlFateEvent event;
    while (fl_link_take_fate(link, &event) == FL_OK) {
    }
    return sealed;
}

static void say_arrivals(Text *text, FlReader *r, int64_t next, FlTime stamp)
{
    ArrivalsMessage m;
    assert_int_equal(fl__arrivals_decode(r, next, stamp / FL_LINK_STEP_NS, &m), FL_LINK_DROP_NONE);
    fl_reader_align(r);
    say(text, ",\n   \"settled\": %lld, \"reports\": [", (long long)m.settled);
    for (int32_t i = 0; i < m.count; i++) {
        say(text, "%s[%lld, %lld, %s]", i == 0 ? "" : ", ", (long long)m.sequence[i],
            (long long)m.arrived_steps[i], m.refused[i] ? "true" : "false");
    }
    say(text, "]");
}

static void say_fragments(Text *text, FlReader *r, const FlLink *reader)
{
    bool more = true;
    say(text, ",\n   \"fragments\": [");
    for (int32_t i = 0; more; i++) {
        FragmentMessage m;
        assert_int_equal(fl__fragment_decode(r, &m, &more), FL_LINK_DROP_NONE);
        int64_t first = reader->out->stream[m.stream].in_next;
        say(text, "%s[%d, %lld, %d, ", i == 0 ? "" : ", ", m.stream,
            (long long)fl__unwrap(first, m.serial, 16), m.after);
        say_bytes(text, m.bytes, m.length);
        say(text, "]");
    }
    say(text, "]");
}

/// A packet, what its reader knew, and what it says.
static void say_packet(Text *text, const char *why, const Sealed *p, const FlLink *reader,
                       FlTime arrival)
{
    FlTime clock = fl__link_clock(reader, arrival);
    const Stream *streams = reader->out->stream;
    say(text, "%s\n  {\"why\": \"%s\",\n   \"bytes\": ", text->at[-1] == '[' ? "" : ",", why);
    say_bytes(text, p->bytes, p->size);
    say(text, ",\n   \"conversation\": %d, \"newest_taken\": %lld, \"next_own\": %lld, ",
        reader->def.conversation, (long long)reader->arrivals.newest,
        (long long)reader->out->outbox.next);
    if (reader->out->peer_stamp == NEVER) {
        say(text, "\"stamp_expected\": null, ");
    } else {
        FlTime expected = reader->out->peer_stamp + (clock - reader->out->peer_stamp_at);
        say(text, "\"stamp_expected\": %lld, ", (long long)(expected / FL_LINK_STEP_NS));
    }
    if (reader->def.external_sequence) {
        say(text, "\"carrier_sequence\": %llu, ", (unsigned long long)p->sequence);
    }
    say(text, "\"first_fragments\": [%lld, %lld],\n   ", (long long)streams[0].in_next,
        (long long)streams[1].in_next);
    uint8_t flags = p->bytes[reader->def.external_sequence ? 3 : 7];
    say(text, "\"sequence\": %llu, \"stamp\": %lld, \"answer\": %s",
        (unsigned long long)p->sequence, (long long)(p->stamp / FL_LINK_STEP_NS),
        (flags & 4) != 0 ? "true" : "false");
    FlReader r;
    fl_reader_init(&r, p->bytes, p->size);
    (void)fl_reader_bytes(&r, reader->def.external_sequence ? 4 : 8);
    if ((flags & 8) != 0) {
        uint64_t low = fl_reader_take(&r, 16);
        say(text, ", \"oldest\": %lld", (long long)fl__unwrap((int64_t)p->sequence, low, 16));
    }
    if ((flags & 1) != 0) {
        say_arrivals(text, &r, reader->out->outbox.next, p->stamp);
    }
    if ((flags & 2) != 0) {
        say_fragments(text, &r, reader);
    }
    int32_t left = fl_reader_left(&r);
    say(text, ",\n   \"payload\": ");
    say_bytes(text, fl_reader_bytes(&r, left), left);
    say(text, "}");
}

/// Says a packet and gives it to its reader.
static void show(Text *text, const char *why, const Sealed *p, FlLink *reader, FlTime arrival)
{
    if (why != NULL) {
        say_packet(text, why, p, reader, arrival);
    }
    FlLinkPacket packet;
    assert_int_equal(fl_link_receive(reader, arrival, p->sequence, p->bytes, p->size, &packet),
                     FL_LINK_DROP_NONE);
    assert_int_equal(packet.stamp, p->stamp);
}

static FlLink *open_link(const FlLinkDef *def, FlTime now)
{
    FlLink *link;
    assert_int_equal(fl_link_create(def, now, &link), FL_OK);
    return link;
}

static FlLinkDef plain_def(void)
{
    FlLinkDef def = fl_link_def_default();
    def.conversation = 0x1234;
    def.sent_capacity = 16;
    def.send_bytes = def.receive_bytes = 512;
    return def;
}

static void say_plain_packets(Text *text)
{
    FlLinkDef def = plain_def();
    FlLink *a = open_link(&def, 0);
    FlLink *b = open_link(&def, FL_SEC(100));
    Sealed p = pack(a, FL_MS(40), "");
    show(text, "nothing but a head", &p, b, FL_SEC(100) + FL_MS(60));
    p = pack(a, FL_MS(50), "move");
    show(text, "a payload, which wants an answer", &p, b, FL_SEC(100) + FL_MS(70) + FL_US(300));
    Sealed lost = pack(a, FL_MS(60), "lost");
    (void)lost;
    Sealed late = pack(a, FL_MS(70), "overtaken");
    p = pack(a, FL_MS(80), "overtakes");
    show(text, NULL, &p, b, FL_SEC(100) + FL_MS(90));
    show(text, "overtaken by the one before", &late, b, FL_SEC(100) + FL_MS(130));
    p = pack(b, FL_SEC(100) + FL_MS(131), "");
    show(text, "four reports: one out of order, a gap, a long change", &p, a, FL_MS(150));
    assert_int_equal(fl_link_send(a, FL_DELIVERY_ORDERED, "ordered", 7), FL_OK);
    assert_int_equal(fl_link_send(a, FL_DELIVERY_UNORDERED, "unordered", 9), FL_OK);
    assert_int_equal(fl_link_send(a, FL_DELIVERY_QUICKEST, "quick", 5), FL_OK);
    p = pack(a, FL_MS(160), "and motion");
    show(text, "a report, three fragments and a payload", &p, b, FL_SEC(100) + FL_MS(180));
    p = pack(a, FL_MS(170), "");
    show(text, "the quickest rides again", &p, b, FL_SEC(100) + FL_MS(190));
    static const uint32_t CHANNEL[] = {7, 8, 7, 8};
    for (int32_t i = 0; i < 4; i++) {
        uint8_t priority = CHANNEL[i] == 8 ? 1 : 0;
        assert_int_equal(fl__link_send_channel(a, CHANNEL[i], priority, "channel", 7), FL_OK);
    }
    p = pack(a, FL_MS(171), "");
    show(text, "two channels, the important one first", &p, b, FL_SEC(100) + FL_MS(191));
    p = pack(b, FL_SEC(104), "much later");
    show(text, "settled after a second", &p, a, FL_SEC(4) + FL_MS(10));
    p = pack(b, FL_SEC(104) + FL_MS(10), "");
    show(text, "nothing to report", &p, a, FL_SEC(4) + FL_MS(20));
    fl_link_destroy(a);
    fl_link_destroy(b);
}

static void say_carried_packets(Text *text)
{
    FlLinkDef def = plain_def();
    def.external_sequence = true;
    FlLink *a = open_link(&def, 0);
    FlLink *b = open_link(&def, 0);
    Sealed p = pack(a, FL_SEC(2), "sealed");
    show(text, "the carrier has the number", &p, b, FL_SEC(2) + FL_MS(20));
    p = pack(b, FL_SEC(2) + FL_MS(30), "");
    show(text, "and so has the answer", &p, a, FL_SEC(2) + FL_MS(50));
    fl_link_destroy(a);
    fl_link_destroy(b);
}

// Both circles come round: a packet a second, then many.
static void say_packets_far_on(Text *text)
{
    FlLinkDef def = plain_def();
    FlLink *a = open_link(&def, 0);
    FlLink *b = open_link(&def, 0);
    for (int32_t i = 0; i < 4190 + 65536; i++) {
        FlTime now = i < 4190 ? FL_SEC(i) : FL_SEC(4190) + FL_US(250) * (i - 4190);
        bool wraps = now / FL_LINK_STEP_NS >= (1 << 24) - 1 && now < FL_SEC(4195);
        bool shown = (wraps && i % 4 == 0 && i < 4190 + 17240) || i == 65535 || i == 65536;
        Sealed p = pack(a, now, "");
        show(text, shown ? "numbers or times come round" : NULL, &p, b, now + FL_MS(1));
        p = pack(b, now + FL_MS(1), "");
        show(text, shown ? "and those of the answer" : NULL, &p, a, now + FL_MS(2));
    }
    fl_link_destroy(a);
    fl_link_destroy(b);
}

static void say_crowded_packets(Text *text)
{
    FlLinkDef def = plain_def();
    def.rate_min_bytes_s = def.rate_bytes_s = def.rate_max_bytes_s = 1e6;
    FlLink *a = open_link(&def, 0);
    FlLink *b = open_link(&def, 0);
    uint8_t bytes[200];
    memset(bytes, 'm', sizeof bytes);
    FlTime now = 0;
    bool told_refused = false;
    for (int32_t i = 0; i < 60 && !told_refused; i++) { // nobody takes messages at b
        while (fl_link_send(a, FL_DELIVERY_UNORDERED, bytes, 3 + i % 3) == FL_OK) {
        }
        now += FL_MS(30);
        Sealed p = pack(a, now, "x");
        show(text, NULL, &p, b, now);
        p = pack(b, now, "");
        told_refused = b->out->refused > 0;
        show(text, told_refused ? "reliable data found no room" : NULL, &p, a, now);
    }
    assert_true(told_refused);
    for (int32_t i = 0; i < 12; i++) {
        now += FL_MS(5);
        (void)pack(a, now, "lost");
    }
    Sealed p = pack(a, now, "");
    show(text, "much is under way: oldest", &p, b, now + FL_MS(1));
    fl_link_destroy(a);
    fl_link_destroy(b);
}

// ---------------------------------------------------------------- packets to be dropped

/// Bytes by hand, for a reader that has taken nothing and sent one packet.
static FlWriter head(uint8_t *bytes, uint64_t conversation, uint64_t sequence, uint64_t stamp,
                     uint64_t flags)
{
    FlWriter w;
    memset(bytes, 0, FL_LINK_PACKET_BYTES);
    fl_writer_init(&w, bytes, FL_LINK_PACKET_BYTES);
    fl_writer_put(&w, conversation, 16);
    fl_writer_put(&w, sequence, 16);
    fl_writer_put(&w, stamp, 24);
    fl_writer_put(&w, flags, 8);
    return w;
}

static void put_arrivals(FlWriter *w, uint64_t newest, uint64_t settled, uint64_t count,
                         uint64_t refusals, uint64_t arrived)
{
    fl_writer_put(w, newest, 16);
    fl_writer_put(w, settled, 16);
    fl_writer_put(w, count, 5);
    fl_writer_put(w, refusals, 1);
    fl_writer_put(w, arrived, 24);
}

static void put_fragment(FlWriter *w, uint64_t more, uint64_t stream, uint64_t serial,
                         uint64_t padding)
{
    fl_writer_put(w, more, 1);
    fl_writer_put(w, stream, 1);
    fl_writer_put(w, serial, 16);
    fl_writer_put(w, 1, 8);
    fl_writer_put(w, padding, 6);
    fl_writer_bytes(w, "\1x", 2);
}

static void say_dropped(Text *text, const char *why, const FlWriter *w)
{
    FlLinkDef def = plain_def();
    FlLink *reader = open_link(&def, 0);
    (void)pack(reader, FL_MS(1), "");
    (void)pack(reader, FL_MS(1), "");
    assert_false(w->failed);
    int32_t size = fl_writer_size(w);
    FlLinkPacket packet;
    FlLinkDrop drop = fl_link_receive(reader, FL_MS(50), 0, w->bytes, size, &packet);
    assert_int_not_equal(drop, FL_LINK_DROP_NONE);
    say(text, "%s\n  {\"why\": \"%s\", \"reason\": \"%s\",\n   \"bytes\": ",
        text->at[-1] == '[' ? "" : ",", why, fl__link_drop_name(drop));
    say_bytes(text, w->bytes, size);
    say(text, "}");
    fl_link_destroy(reader);
}

static void say_heads_to_drop(Text *text)
{
    uint8_t b[FL_LINK_PACKET_BYTES];
    FlWriter w = head(b, 0x1235, 0, 100, 0);
    say_dropped(text, "another conversation", &w);
    w.bit_count = 32;
    say_dropped(text, "another conversation, and cut", &w);
    w = head(b, 0x1234, 0, 100, 0);
    w.bit_count = 56;
    say_dropped(text, "cut in the head", &w);
    for (uint64_t flag = 16; flag < 256; flag *= 2) {
        w = head(b, 0x1234, 0, 100, flag);
        say_dropped(text, "a zero bit set", &w);
    }
    w = head(b, 0x1234, 0x8000, 100, 0);
    say_dropped(text, "a sequence before the first", &w);
    w = head(b, 0x1234, 3, 100, 8);
    fl_writer_put(&w, 4, 16);
    say_dropped(text, "oldest after the packet itself", &w);
    w = head(b, 0x1234, 3, 100, 8);
    fl_writer_put(&w, 3, 8);
    say_dropped(text, "cut in oldest", &w);
}

static void say_arrivals_to_drop(Text *text)
{
    uint8_t b[FL_LINK_PACKET_BYTES];
    FlWriter w = head(b, 0x1234, 0, 100, 1);
    put_arrivals(&w, 2, 0, 1, 0, 90);
    say_dropped(text, "reports what was not sent", &w);
    w = head(b, 0x1234, 0, 100, 1);
    put_arrivals(&w, 1, 0, 0, 0, 90);
    say_dropped(text, "no reports", &w);
    w = head(b, 0x1234, 0, 100, 1);
    put_arrivals(&w, 0, 1, 1, 0, 90);
    say_dropped(text, "settled beyond what is reported", &w);
    w = head(b, 0x1234, 0, 100, 1);
    put_arrivals(&w, 1, 0xffff, 1, 0, 90);
    say_dropped(text, "settled before the first", &w);
    w = head(b, 0x1234, 0, 100, 1);
    put_arrivals(&w, 1, 0, 1, 0, 101);
    say_dropped(text, "arrived after the stamp, that is 70 minutes before", &w);
    w = head(b, 0x1234, 0, 100, 1);
    put_arrivals(&w, 1, 0, 1, 1, 90);
    fl_writer_put(&w, 0, 1);
    say_dropped(text, "refusals without one", &w);
    w = head(b, 0x1234, 0, 100, 1);
    put_arrivals(&w, 1, 0, 2, 0, 90);
    fl_writer_put(&w, 2, 2);
    fl_writer_put(&w, 255, 16);
    say_dropped(text, "a long change where a short one does", &w);
    w = head(b, 0x1234, 0, 100, 1);
    put_arrivals(&w, 1, 0, 2, 0, 90);
    fl_writer_put(&w, 0, 2);
    fl_writer_put(&w, 21, 8);
    say_dropped(text, "the second arrived after the stamp", &w);
    w = head(b, 0x1234, 0, 100, 1);
    put_arrivals(&w, 1, 0, 2, 0, 90);
    say_dropped(text, "cut in the reports", &w);
    w = head(b, 0x1234, 0, 100, 1);
    put_arrivals(&w, 1, 0, 1, 0, 90);
    fl_writer_put(&w, 1, 2);
    say_dropped(text, "a bit set in the padding", &w);
}

static void say_fragments_to_drop(Text *text)
{
    uint8_t b[FL_LINK_PACKET_BYTES];
    FlWriter w = head(b, 0x1234, 0, 100, 2);
    say_dropped(text, "no fragment where one should be", &w);
    w = head(b, 0x1234, 0, 100, 2);
    put_fragment(&w, 1, 0, 0, 0);
    say_dropped(text, "no second one where one should be", &w);
    w = head(b, 0x1234, 0, 100, 2);
    put_fragment(&w, 0, 0, 0, 32);
    say_dropped(text, "an ordered fragment after another", &w);
    w = head(b, 0x1234, 0, 100, 2);
    put_fragment(&w, 0, 1, 3, 4);
    say_dropped(text, "after a fragment before the first", &w);
    w = head(b, 0x1234, 0, 100, 2);
    put_fragment(&w, 0, 0, 0, 0);
    w.bit_count -= 8;
    say_dropped(text, "a fragment's last byte is missing", &w);
    w = head(b, 0x1234, 0, 100, 2);
    put_fragment(&w, 0, 1, 128, 0);
    say_dropped(text, "beyond what a sender may have under way", &w);
    w = head(b, 0x1234, 0, 100, 2);
    put_fragment(&w, 0, 1, 0xffff, 0);
    say_dropped(text, "a fragment before the first", &w);
    w = head(b, 0x1234, 0, 100, 2);
    for (uint64_t i = 0; i < 17; i++) {
        put_fragment(&w, i < 16 ? 1 : 0, 1, i, 0);
    }
    say_dropped(text, "seventeen fragments", &w);
}

// ---------------------------------------------------------------- streams

static void say_stream(Text *text)
{
    FlLinkDef def = plain_def();
    def.send_bytes = 4096;
    FlLink *a = open_link(&def, 0);
    int32_t sizes[] = {1, 2, 127, 128, 300, 5, 700, 16};
    uint8_t bytes[1024];
    say(text, "\n  {\"messages\": [");
    for (int32_t n = 0; n < 8; n++) {
        for (int32_t i = 0; i < sizes[n]; i++) {
            bytes[i] = (uint8_t)(n * 16 + i);
        }
        assert_int_equal(fl_link_send(a, FL_DELIVERY_ORDERED, bytes, sizes[n]), FL_OK);
        say(text, "%s\n    ", n == 0 ? "" : ",");
        say_bytes(text, bytes, sizes[n]);
    }
    say(text, "],\n   \"fragments\": [");
    enum { FRAGMENTS = 6 };
    uint8_t fragment[FRAGMENTS][FL_LINK_FRAGMENT_BYTES];
    int32_t length[FRAGMENTS];
    for (int32_t found = 0; found < FRAGMENTS;) {
        Sealed p = pack(a, FL_MS(1), "");
        FlReader r;
        fl_reader_init(&r, p.bytes, p.size);
        (void)fl_reader_bytes(&r, 8);
        assert_true(p.size > 8);
        bool more = true;
        for (; more; found++) {
            FragmentMessage m;
            assert_int_equal(fl__fragment_decode(&r, &m, &more), FL_LINK_DROP_NONE);
            assert_true(m.serial < FRAGMENTS);
            memcpy(fragment[m.serial], m.bytes, (size_t)m.length);
            length[m.serial] = m.length;
        }
    }
    for (int32_t i = 0; i < FRAGMENTS; i++) {
        say(text, "%s\n    ", i == 0 ? "" : ",");
        say_bytes(text, fragment[i], length[i]);
    }
    say(text, "]}");
    fl_link_destroy(a);
}

// ---------------------------------------------------------------- the file

void vectors_link(Text *text)
{
    say(text, "{\"wire_version\": %u,\n \"packets\": [", FL_WIRE_VERSION);
    say_plain_packets(text);
    say_carried_packets(text);
    say_packets_far_on(text);
    say_crowded_packets(text);
    say(text, "\n ],\n \"dropped\": [");
    say_heads_to_drop(text);
    say_arrivals_to_drop(text);
    say_fragments_to_drop(text);
    say(text, "\n ],\n \"streams\": [");
    say_stream(text);
    say(text, "\n ]\n}\n");
}
