// Packets from a stranger, to a link that just began and to one in the middle of a conversation.
//
// Byte 0, bit 0: in the middle; bit 1: the carrier numbers packets; bit 2: give each packet the
// head that would be next, so that the rest is read. Then packets: a byte of length (times four,
// plus what is left of the input in its end), a byte that says how much later it comes, and the
// bytes.
//
// Whatever is dropped must leave the link and all its buffers as they were, byte for byte, but for
// the counter; whatever is taken must leave its invariants true.
#include "fuzz.h"

#include "link/link.h"
#include "link/private.h"

#include <stdlib.h>
#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : fl_assert_failed(#condition, __FILE__, __LINE__))

static FlLinkDef small_def(uint8_t mode)
{
    FlLinkDef def = fl_link_def_default();
    def.sent_capacity = 16;
    def.send_bytes = def.receive_bytes = 700;
    def.external_sequence = (mode & 2) != 0;
    return def;
}

static FlLink *open_link(const FlLinkDef *def)
{
    FlLink *link;
    CHECK(fl_link_create(def, 0, &link) == FL_OK);
    return link;
}

static int32_t pack(FlLink *link, FlTime now, uint8_t *bytes, uint64_t *sequence)
{
    FlWriter w;
    CHECK(fl_link_begin(link, now, bytes, &w) == FL_OK);
    return fl_link_finish(link, now, &w, 0, sequence);
}

// Two links talk for a while, some of it lost; then the second one is left to the stranger.
static FlTime converse(FlLink *peer, FlLink *link)
{
    uint8_t bytes[FL_LINK_PACKET_BYTES];
    FlFateEvent event;
    FlLinkPacket packet;
    uint64_t sequence;
    FlTime now = 0;
    for (int32_t i = 0; i < 14; i++) {
        now += FL_MS(40);
        for (int32_t kind = 0; kind < 3; kind++) {
            CHECK(fl_link_send(peer, (FlDelivery)kind, "a message", 9) == FL_OK);
            CHECK(fl_link_send(link, (FlDelivery)kind, "another", 7) == FL_OK);
        }
        int32_t size = pack(peer, now, bytes, &sequence);
        if (i % 3 != 1) {
            CHECK(fl_link_receive(link, now, sequence, bytes, size, &packet) == 0);
        }
        size = pack(link, now, bytes, &sequence);
        if (i % 4 != 2) {
            CHECK(fl_link_receive(peer, now, sequence, bytes, size, &packet) == 0);
        }
        while (fl_link_take_fate(peer, &event) == FL_OK || fl_link_take_fate(link, &event) == 0) {
        }
    }
    return now;
}

static void check_invariants(const FlLink *link)
{
    const Arrivals *a = &link->arrivals;
    const Outbox *o = &link->out->outbox;
    CHECK(a->first_serial <= a->next_serial && a->next_serial - a->first_serial <= a->capacity);
    CHECK(a->horizon <= a->newest && a->horizon >= a->newest - IN_WINDOW && a->fresh_count >= 0);
    CHECK(o->undecided <= o->next && o->reported < o->next);
    CHECK(o->fate_next - o->fate_first + o->undecided_count <= 2 * o->capacity);
    for (int32_t i = 0; i < STREAM_COUNT; i++) {
        const Stream *s = &link->out->stream[i];
        CHECK(s->out_first <= s->out_next && s->out_next - s->out_first <= FL_LINK_WINDOW);
        CHECK(s->in_ring.put - s->in_ring.taken <= s->in_ring.capacity);
        CHECK(s->in_offset >= 0 && s->in_offset < FL_LINK_FRAGMENT_BYTES);
    }
}

typedef struct Stage {
    FlLink *link;
    FlTime now;
    uint8_t mode;
    uint8_t *before; // a copy of the buffers
    size_t buffer_bytes;
} Stage;

static void write_next_head(const Stage *stage, uint8_t *bytes, int32_t size)
{
    uint8_t head[7];
    FlWriter w;
    fl_writer_init(&w, head, 7);
    if ((stage->mode & 2) == 0) {
        fl_writer_put(&w, 0, 16);
        fl_writer_put(&w, (uint64_t)(stage->link->arrivals.newest + 1) & 0xffffu, 16);
    }
    fl_writer_put(&w, (uint64_t)(stage->now / FL_LINK_STEP_NS) & 0xffffffu, 24);
    int32_t count = fl_writer_size(&w);
    memcpy(bytes, head, (size_t)(size < count ? size : count));
}

static void receive(Stage *stage, uint8_t *bytes, int32_t size)
{
    FlLink *link = stage->link;
    if ((stage->mode & 4) != 0) {
        write_next_head(stage, bytes, size);
    }
    fl_link_update(link, stage->now);
    FlLink before;
    memcpy(&before, link, sizeof before);
    memcpy(stage->before, link->out, stage->buffer_bytes);
    FlLinkPacket packet;
    uint64_t sequence = (uint64_t)(link->arrivals.newest + 1);
    FlLinkDrop drop = fl_link_receive(link, stage->now, sequence, bytes, size, &packet);
    if (drop != FL_LINK_DROP_NONE && drop != FL_LINK_DROP_CROWDED) {
        before.drops[drop]++;
        CHECK(memcmp(&before, link, sizeof before) == 0);
        CHECK(memcmp(stage->before, link->out, stage->buffer_bytes) == 0);
    }
    CHECK(packet.payload_bytes <= size);
    check_invariants(link);
}

// What the owner of the link would do after a packet.
static void live_on(Stage *stage)
{
    uint8_t bytes[FL_LINK_PACKET_BYTES];
    int32_t count;
    while (fl_link_take(stage->link, bytes, FL_LINK_PACKET_BYTES, &count) == FL_OK) {
    }
    FlFateEvent event;
    while (fl_link_take_fate(stage->link, &event) == FL_OK) {
    }
    uint64_t sequence;
    if (fl__link_wants_to_send(stage->link, stage->now)) {
        CHECK(pack(stage->link, stage->now, bytes, &sequence) > 0);
    }
    FlLinkStats stats;
    fl_link_stats(stage->link, stage->now, &stats);
    (void)fl_link_deadline(stage->link, stage->now);
    (void)fl_link_payload_budget(stage->link, stage->now);
    check_invariants(stage->link);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    FlLinkDef def = small_def(data[0]);
    Stage stage = {.link = open_link(&def), .mode = data[0]};
    size_t link_bytes;
    fl__link_memory(&def, &link_bytes, &stage.buffer_bytes);
    stage.before = (uint8_t *)malloc(stage.buffer_bytes);
    CHECK(stage.before != NULL);
    if ((stage.mode & 1) != 0) {
        FlLink *peer = open_link(&def);
        stage.now = converse(peer, stage.link);
        fl_link_destroy(peer);
    }
    size_t at = 1;
    while (at + 2 <= size) {
        size_t length = (size_t)data[at] * 4 + size % 4;
        stage.now += FL_US(100) << data[at + 1] % 20;
        at += 2;
        length = length < size - at ? length : size - at;
        uint8_t *exact = (uint8_t *)malloc(length + 1);
        CHECK(exact != NULL);
        memcpy(exact, data + at, length);
        receive(&stage, exact, (int32_t)length);
        free(exact);
        live_on(&stage);
        at += length;
    }
    free(stage.before);
    fl_link_destroy(stage.link);
    return 0;
}
