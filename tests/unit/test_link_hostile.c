// What strangers, vandals and bad lines send: a link must drop it, count it, and be as before.
//
// "As before" is taken literally: a copy of the link and of all its buffers is compared byte for
// byte. Where a damaged packet still makes sense (nothing here is sealed) it may be taken; then the
// link's invariants must hold, and the copy is put back.
#include "support.h"

#include "link/private.h"
#include "scene/link_world.h"

// ---------------------------------------------------------------- a link and its copy

typedef struct Copy {
    FlLink link;
    uint8_t *block;
    size_t block_bytes;
} Copy;

static Copy copy_take(const FlLink *link)
{
    Copy copy;
    size_t link_bytes;
    memcpy(&copy.link, link, sizeof *link);
    fl__link_memory(&link->def, &link_bytes, &copy.block_bytes);
    copy.block = (uint8_t *)malloc(copy.block_bytes);
    assert_non_null(copy.block);
    memcpy(copy.block, link->out, copy.block_bytes);
    return copy;
}

static void copy_put_back(const Copy *copy, FlLink *link)
{
    memcpy(link, &copy->link, sizeof *link);
    memcpy(link->out, copy->block, copy->block_bytes);
}

/// The same but for the counters of drops.
static bool copy_is_same(const Copy *copy, const FlLink *link)
{
    FlLink now;
    memcpy(&now, link, sizeof now);
    memcpy(now.drops, copy->link.drops, sizeof now.drops);
    return memcmp(&now, &copy->link, sizeof now) == 0 &&
           memcmp(link->out, copy->block, copy->block_bytes) == 0;
}

static void check_invariants(const FlLink *link)
{
    const Arrivals *a = &link->arrivals;
    const Outbox *o = &link->out->outbox;
    assert_true(a->first_serial <= a->next_serial);
    assert_true(a->next_serial - a->first_serial <= a->capacity);
    assert_true(a->horizon <= a->newest && a->horizon >= a->newest - IN_WINDOW);
    assert_true(a->fresh_count >= 0 && a->loss >= 0.0 && a->loss <= 1.0);
    assert_true(o->undecided <= o->next && o->undecided_count <= o->capacity);
    assert_true(o->fate_next - o->fate_first + o->undecided_count <= 2 * o->capacity);
    assert_true(o->reported < o->next);
    for (int32_t i = 0; i < STREAM_COUNT; i++) {
        const Stream *s = &link->out->stream[i];
        assert_true(s->out_first <= s->out_next && s->out_next - s->out_first <= FL_LINK_WINDOW);
        assert_true(s->in_offset >= 0 && s->in_offset < FL_LINK_FRAGMENT_BYTES);
        assert_true(s->in_ring.put - s->in_ring.taken <= s->in_ring.capacity);
    }
}

// ---------------------------------------------------------------- a conversation, and its bytes

enum { RECORDED = 24 };

typedef struct Scene {
    World world;
    uint8_t bytes[RECORDED][FL_LINK_PACKET_BYTES]; // packets that end 1 could get next
    int32_t size[RECORDED];
    uint32_t drops[FL_LINK_DROPS];
} Scene;

/// A pair in the middle of everything: losses, reports under way, messages half arrived.
static void scene_open(Scene *scene, bool external_sequence)
{
    memset(scene, 0, sizeof *scene);
    WorldDef def = world_def_default(21);
    for (int32_t i = 0; i < 2; i++) {
        def.way[i].delay_ns = FL_MS(50);
        def.way[i].jitter_ns = FL_MS(30);
        def.way[i].shape = FL_SHAPE_UNIFORM;
        def.way[i].loss_ppm = 300000;
        def.link[i].external_sequence = external_sequence;
    }
    world_open(&scene->world, &def);
    for (int32_t i = 0; i < 2; i++) {
        world_stream(&scene->world, i, FL_MS(30), 30);
        scene->world.end[i].talk[FL_DELIVERY_ORDERED].bytes = 3000;
        for (int32_t kind = 0; kind < WORLD_KINDS; kind++) {
            world_say(&scene->world, i, (FlDelivery)kind, 10000, FL_MS(40));
        }
    }
    world_run(&scene->world, FL_SEC(6), NULL);
    for (int32_t k = 0; k < RECORDED; k++) {
        scene->world.now += FL_MS(7);
        FlWriter w;
        uint64_t sequence;
        FlTime now = world_clock(&scene->world, 0);
        assert_int_equal(fl_link_begin(scene->world.end[0].link, now, scene->bytes[k], &w), FL_OK);
        for (int32_t i = 0; i < k && (w.capacity_bits - w.bit_count) >= 8; i++) {
            fl_writer_put(&w, (uint64_t)i, 8);
        }
        scene->size[k] = fl_link_finish(scene->world.end[0].link, now, &w, 0, &sequence);
    }
}

static void scene_close(Scene *scene)
{
    world_close(&scene->world);
}

/// Gives bytes to end 1, which drops them without a trace or survives them.
static FlLinkDrop attack(Scene *scene, const Copy *copy, uint64_t sequence, const uint8_t *bytes,
                         int32_t size)
{
    FlLink *link = scene->world.end[1].link;
    FlTime now = world_clock(&scene->world, 1);
    uint8_t *exact = (uint8_t *)malloc(size > 0 ? (size_t)size : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, size > 0 ? (size_t)size : 0);
    FlLinkPacket packet;
    FlLinkDrop drop = fl_link_receive(link, now, sequence, exact, size, &packet);
    free(exact);
    scene->drops[drop]++;
    assert_int_equal(link->drops[drop], copy->link.drops[drop] + 1);
    if (drop != FL_LINK_DROP_NONE) {
        assert_true(copy_is_same(copy, link));
        assert_null(packet.payload);
        link->drops[drop]--;
    } else {
        check_invariants(link);
        FlLinkStats stats;
        fl_link_stats(link, now, &stats);
        (void)fl_link_deadline(link, now);
        copy_put_back(copy, link);
    }
    return drop;
}

static Copy scene_copy(Scene *scene)
{
    fl_link_update(scene->world.end[1].link, world_clock(&scene->world, 1)); // its time is now
    return copy_take(scene->world.end[1].link);
}

static void free_copy(Copy *copy)
{
    free(copy->block);
}

static void every_truncation_of_real_packets_is_dropped_or_harmless(void **state)
{
    (void)state;
    for (int32_t below = 0; below < 2; below++) {
        Scene scene;
        scene_open(&scene, below != 0);
        Copy copy = scene_copy(&scene);
        for (int32_t k = 0; k < RECORDED; k++) {
            for (int32_t size = 0; size <= scene.size[k]; size++) {
                (void)attack(&scene, &copy, 1000 + (uint64_t)k, scene.bytes[k], size);
            }
            assert_int_equal(attack(&scene, &copy, 1000, scene.bytes[k], scene.size[k]),
                             FL_LINK_DROP_NONE);
        }
        assert_true(scene.drops[FL_LINK_DROP_SHORT] > 1000);
        free_copy(&copy);
        scene_close(&scene);
    }
}

static void every_bit_flip_of_real_packets_is_dropped_or_harmless(void **state)
{
    (void)state;
    Scene scene;
    scene_open(&scene, false);
    Copy copy = scene_copy(&scene);
    int32_t step = CASES(10) > 5 ? 1 : 7; // every bit; with sanitizers some
    for (int32_t k = 0; k < RECORDED; k++) {
        for (int32_t bit = 0; bit < 8 * scene.size[k]; bit += bit < 800 ? 1 : step * 11) {
            scene.bytes[k][bit / 8] ^= (uint8_t)(1u << (bit % 8));
            FlLinkDrop drop = attack(&scene, &copy, 0, scene.bytes[k], scene.size[k]);
            scene.bytes[k][bit / 8] ^= (uint8_t)(1u << (bit % 8));
            assert_true(bit >= 16 || drop == FL_LINK_DROP_CONVERSATION);
            assert_true(bit < 60 || bit >= 64 || drop == FL_LINK_DROP_MALFORMED); // zero bits
        }
    }
    assert_true(scene.drops[FL_LINK_DROP_MALFORMED] > 100);
    assert_true(scene.drops[FL_LINK_DROP_SHORT] > 100);
    assert_true(scene.drops[FL_LINK_DROP_WINDOW] > 100);
    assert_true(scene.drops[FL_LINK_DROP_LATE] > 10);
    assert_true(scene.drops[FL_LINK_DROP_UNSENT] > 10);
    free_copy(&copy);
    scene_close(&scene);
}

static void random_bytes_are_dropped_or_harmless(void **state)
{
    (void)state;
    FlRandom random = random_stream(601);
    for (int32_t below = 0; below < 2; below++) {
        Scene scene;
        scene_open(&scene, below != 0);
        Copy copy = scene_copy(&scene);
        for (int32_t n = 0; n < CASES(20000); n++) {
            uint8_t bytes[FL_LINK_PACKET_BYTES];
            int32_t size = (int32_t)fl_random_below(&random, random_chance(&random, 2) ? 40 : 1201);
            for (int32_t i = 0; i < size; i++) {
                bytes[i] = (uint8_t)fl_random_next(&random);
            }
            if (!random_chance(&random, 8)) {
                // The head of a real packet, so that something gets to the rest.
                int32_t head = below != 0 ? 4 : 8;
                memcpy(bytes, scene.bytes[n % RECORDED], (size_t)(size < head ? size : head));
            }
            (void)attack(&scene, &copy, fl_random_below(&random, 1200), bytes, size);
        }
        assert_true(scene.drops[FL_LINK_DROP_MALFORMED] > 100);
        assert_true(scene.drops[FL_LINK_DROP_SHORT] > 100);
        free_copy(&copy);
        scene_close(&scene);
    }
}

static void replays_are_duplicates_and_too_long_packets_are_not_even_read(void **state)
{
    (void)state;
    Scene scene;
    scene_open(&scene, false);
    FlLinkPacket packet;
    FlLink *link = scene.world.end[1].link;
    FlTime now = world_clock(&scene.world, 1);
    for (int32_t k = 0; k < RECORDED; k++) {
        assert_int_equal(fl_link_receive(link, now, 0, scene.bytes[k], scene.size[k], &packet),
                         FL_LINK_DROP_NONE);
    }
    Copy copy = scene_copy(&scene);
    for (int32_t round = 0; round < 3; round++) {
        for (int32_t k = 0; k < RECORDED; k++) {
            assert_int_equal(attack(&scene, &copy, 0, scene.bytes[k], scene.size[k]),
                             FL_LINK_DROP_DUPLICATE);
        }
    }
    uint8_t large[FL_LINK_PACKET_BYTES + 1] = {0};
    assert_int_equal(attack(&scene, &copy, 0, large, FL_LINK_PACKET_BYTES + 1), FL_LINK_DROP_LARGE);
    assert_int_equal(attack(&scene, &copy, 0, large, -1), FL_LINK_DROP_LARGE);
    assert_int_equal(attack(&scene, &copy, 0, large, 0), FL_LINK_DROP_SHORT);
    free_copy(&copy);
    fl__link_close(link);
    copy = scene_copy(&scene);
    assert_int_equal(attack(&scene, &copy, 0, scene.bytes[0], scene.size[0]), FL_LINK_DROP_GONE);
    free_copy(&copy);
    scene_close(&scene);
}

// ---------------------------------------------------------------- by hand

/// A packet with any head; the rest follows.
static FlWriter head(uint8_t *bytes, uint64_t sequence, uint64_t stamp, uint64_t flags)
{
    FlWriter w;
    fl_writer_init(&w, bytes, FL_LINK_PACKET_BYTES);
    fl_writer_put(&w, 0, 16);
    fl_writer_put(&w, sequence & 0xffffu, 16);
    fl_writer_put(&w, stamp & 0xffffffu, 24);
    fl_writer_put(&w, flags, 8);
    return w;
}

static void put_fragment(FlWriter *w, bool more, uint64_t stream, uint64_t serial, uint8_t byte)
{
    fl_writer_put(w, more ? 1 : 0, 1);
    fl_writer_put(w, stream, 1);
    fl_writer_put(w, serial & 0xffffu, 16);
    fl_writer_put(w, 0, 8);
    fl_writer_align(w);
    fl_writer_bytes(w, &byte, 1);
}

static FlLinkDrop give(FlLink *link, FlTime now, const FlWriter *w)
{
    FlLinkPacket packet;
    assert_false(w->failed);
    return fl_link_receive(link, now, 0, w->bytes, fl_writer_size(w), &packet);
}

static FlLink *fresh_link(void)
{
    FlLinkDef def = fl_link_def_default();
    FlLink *link;
    assert_int_equal(fl_link_create(&def, 0, &link), FL_OK);
    return link;
}

static void each_reason_is_told_apart(void **state)
{
    (void)state;
    FlLink *link = fresh_link();
    uint8_t bytes[FL_LINK_PACKET_BYTES];
    FlTime now = FL_MS(100);
    // Flags that nobody sets.
    for (uint64_t flag = 16; flag < 256; flag *= 2) {
        FlWriter w = head(bytes, 0, 0, flag);
        assert_int_equal(give(link, now, &w), FL_LINK_DROP_MALFORMED);
    }
    // Another conversation; a packet that ends in its head.
    FlWriter w = head(bytes, 0, 0, 0);
    bytes[0] = 1;
    assert_int_equal(give(link, now, &w), FL_LINK_DROP_CONVERSATION);
    w = head(bytes, 0, 0, 0);
    w.bit_count -= 8;
    assert_int_equal(give(link, now, &w), FL_LINK_DROP_SHORT);
    // Oldest after the packet's own number, and cut short.
    w = head(bytes, 5, 0, 8);
    fl_writer_put(&w, 6, 16);
    assert_int_equal(give(link, now, &w), FL_LINK_DROP_MALFORMED);
    w = head(bytes, 5, 0, 8);
    fl_writer_put(&w, 6, 8);
    assert_int_equal(give(link, now, &w), FL_LINK_DROP_SHORT);
    // Acknowledges what was never sent; and nothing was.
    w = head(bytes, 0, 0, 1);
    fl_writer_put(&w, 0, 16);
    fl_writer_put(&w, 0, 16);
    fl_writer_put(&w, 1, 5);
    fl_writer_put(&w, 0, 1);
    fl_writer_put(&w, 0, 24);
    fl_writer_align(&w);
    assert_int_equal(give(link, now, &w), FL_LINK_DROP_UNSENT);
    // Bits set between reports and fragments.
    bytes[15] |= 0x80u;
    assert_int_equal(give(link, now, &w), FL_LINK_DROP_UNSENT);
    uint8_t buffer[FL_LINK_PACKET_BYTES];
    uint64_t sequence;
    FlWriter own;
    assert_int_equal(fl_link_begin(link, now, buffer, &own), FL_OK);
    (void)fl_link_finish(link, now, &own, 0, &sequence);
    assert_int_equal(give(link, now, &w), FL_LINK_DROP_MALFORMED);
    bytes[15] &= 0x7fu;
    assert_int_equal(give(link, now, &w), FL_LINK_DROP_NONE); // now it was sent
    // Fragments: one beyond both windows, one before the first, seventeen of them.
    w = head(bytes, 1, 0, 2);
    put_fragment(&w, false, 0, 2 * FL_LINK_WINDOW, 0);
    assert_int_equal(give(link, now, &w), FL_LINK_DROP_WINDOW);
    w = head(bytes, 1, 0, 2);
    put_fragment(&w, false, 1, 65535, 0);
    assert_int_equal(give(link, now, &w), FL_LINK_DROP_WINDOW);
    w = head(bytes, 1, 0, 2);
    for (uint64_t i = 0; i < FRAGMENTS_PER_PACKET + 1; i++) {
        put_fragment(&w, i < FRAGMENTS_PER_PACKET, 1, i, 0);
    }
    assert_int_equal(give(link, now, &w), FL_LINK_DROP_MALFORMED);
    w = head(bytes, 1, 0, 2);
    assert_int_equal(give(link, now, &w), FL_LINK_DROP_SHORT); // says reliable, has nothing
    // A stamp before the peer's clock began.
    w = head(bytes, 2, 0xffffff, 0);
    assert_int_equal(give(link, now, &w), FL_LINK_DROP_MALFORMED);
    // And one that hostile leaps have brought to the end of time.
    FlTime peer_stamp = link->out->peer_stamp;
    link->out->peer_stamp = INT64_MAX / 2 / FL_LINK_STEP_NS * FL_LINK_STEP_NS;
    link->out->peer_stamp_at = now;
    w = head(bytes, 2, (uint64_t)(link->out->peer_stamp / FL_LINK_STEP_NS + 1000), 0);
    assert_int_equal(give(link, now, &w), FL_LINK_DROP_MALFORMED);
    link->out->peer_stamp = peer_stamp;
    // Overtaken long ago.
    w = head(bytes, 5, 0, 0);
    assert_int_equal(give(link, now, &w), FL_LINK_DROP_NONE);
    fl_link_update(link, now);
    assert_int_equal(fl_link_begin(link, now + FL_MS(400), buffer, &own), FL_OK);
    (void)fl_link_finish(link, now + FL_MS(400), &own, 0, &sequence);
    assert_int_equal(fl_link_begin(link, now + FL_SEC(2), buffer, &own), FL_OK);
    (void)fl_link_finish(link, now + FL_SEC(2), &own, 0, &sequence);
    w = head(bytes, 4, 0, 0);
    assert_int_equal(give(link, now + FL_SEC(2), &w), FL_LINK_DROP_LATE);
    fl_link_destroy(link);
}

static void a_peer_that_confirms_nothing_is_crowded_out_and_its_reports_still_count(void **state)
{
    (void)state;
    FlLink *link = fresh_link();
    uint8_t bytes[FL_LINK_PACKET_BYTES];
    int32_t capacity = link->def.sent_capacity;
    for (int32_t i = 0; i < capacity; i++) {
        FlWriter w = head(bytes, (uint64_t)i, 0, 4);
        assert_int_equal(give(link, FL_MS(1), &w), FL_LINK_DROP_NONE);
    }
    FlWriter w = head(bytes, (uint64_t)capacity, 0, 4);
    assert_int_equal(give(link, FL_MS(1), &w), FL_LINK_DROP_CROWDED);
    // It was heard, though: a peer that is crowded out is not gone.
    assert_int_equal(give(link, FL_SEC(9), &w), FL_LINK_DROP_CROWDED);
    fl_link_update(link, FL_SEC(18));
    assert_true(fl__link_alive(link));
    // We tell 31 in a packet, and the crowded one confirms it: there is room.
    uint8_t buffer[FL_LINK_PACKET_BYTES];
    uint64_t sequence;
    FlWriter own;
    assert_int_equal(fl_link_begin(link, FL_SEC(18), buffer, &own), FL_OK);
    (void)fl_link_finish(link, FL_SEC(18), &own, 0, &sequence);
    w = head(bytes, (uint64_t)capacity, 100, 1);
    fl_writer_put(&w, 0, 16);
    fl_writer_put(&w, 0, 16);
    fl_writer_put(&w, 1, 5);
    fl_writer_put(&w, 0, 1);
    fl_writer_put(&w, 50, 24);
    fl_writer_align(&w);
    assert_int_equal(give(link, FL_SEC(18), &w), FL_LINK_DROP_NONE);
    FlFateEvent event;
    assert_int_equal(fl_link_take_fate(link, &event), FL_OK);
    assert_int_equal(event.arrived_remote, 50 * FL_LINK_STEP_NS);
    fl_link_destroy(link);
}

static void an_oldest_makes_room_at_once(void **state)
{
    (void)state;
    FlLink *link = fresh_link();
    uint8_t bytes[FL_LINK_PACKET_BYTES];
    int32_t capacity = link->def.sent_capacity;
    for (int32_t i = 0; i < capacity; i++) {
        FlWriter w = head(bytes, (uint64_t)i, 0, 0);
        assert_int_equal(give(link, FL_MS(1), &w), FL_LINK_DROP_NONE);
    }
    FlWriter w = head(bytes, (uint64_t)capacity, 0, 8);
    fl_writer_put(&w, 10, 16);
    assert_int_equal(give(link, FL_MS(1), &w), FL_LINK_DROP_NONE);
    assert_int_equal(link->arrivals.next_serial - link->arrivals.first_serial, capacity - 9);
    fl_link_destroy(link);
}

static void nonsense_in_the_ordered_stream_ends_the_conversation(void **state)
{
    (void)state;
    // A length of zero; and one larger than the buffers, hidden behind a good message.
    for (int32_t k = 0; k < 2; k++) {
        FlLink *link = fresh_link();
        uint8_t bytes[FL_LINK_PACKET_BYTES];
        FlWriter w = head(bytes, 0, 0, 2);
        if (k == 0) {
            put_fragment(&w, false, 0, 0, 0);
        } else {
            uint8_t good_then_bad[] = {1, 'x', 0xff, 0xff, 0x3f};
            fl_writer_put(&w, 0, 18);
            fl_writer_put(&w, sizeof good_then_bad - 1, 8);
            fl_writer_align(&w);
            fl_writer_bytes(&w, good_then_bad, sizeof good_then_bad);
        }
        assert_int_equal(give(link, FL_MS(1), &w), FL_LINK_DROP_NONE);
        assert_int_equal(fl__link_alive(link), k == 1);
        uint8_t message[8];
        int32_t count;
        assert_int_equal(fl_link_take(link, message, 8, &count), k == 0 ? FL_NOT_FOUND : FL_OK);
        assert_false(fl__link_alive(link));
        FlLinkStats stats;
        fl_link_stats(link, FL_MS(1), &stats);
        assert_int_equal(stats.drops[FL_LINK_DROP_MALFORMED], 1);
        fl_link_destroy(link);
    }
}

static void the_same_fragment_over_and_over_is_one_message(void **state)
{
    (void)state;
    FlLink *link = fresh_link();
    uint8_t bytes[FL_LINK_PACKET_BYTES];
    for (uint64_t i = 0; i < 20; i++) {
        FlWriter w = head(bytes, i, i, 2);
        for (uint64_t k = 0; k < FRAGMENTS_PER_PACKET; k++) {
            put_fragment(&w, k + 1 < FRAGMENTS_PER_PACKET, 1, 3, 'x');
        }
        assert_int_equal(give(link, FL_MS(1), &w), FL_LINK_DROP_NONE);
    }
    uint8_t message[8];
    int32_t count;
    assert_int_equal(fl_link_take(link, message, 8, &count), FL_OK);
    assert_int_equal(fl_link_take(link, message, 8, &count), FL_NOT_FOUND);
    fl_link_destroy(link);
}

static void leaping_numbers_and_stamps_cost_no_time(void **state)
{
    (void)state;
    FlLink *link = fresh_link();
    uint8_t bytes[FL_LINK_PACKET_BYTES];
    FlRandom random = random_stream(602);
    double before = processor_seconds();
    uint64_t sequence = 0;
    for (int32_t i = 0; i < 20000; i++) {
        sequence += 32767;
        FlWriter w = head(bytes, sequence, fl_random_next(&random), 8);
        fl_writer_put(&w, sequence & 0xffffu, 16);
        (void)give(link, FL_MS(i), &w);
        check_invariants(link);
    }
    assert_true(processor_seconds() - before < 5.0);
    fl_link_destroy(link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_truncation_of_real_packets_is_dropped_or_harmless),
        cmocka_unit_test(every_bit_flip_of_real_packets_is_dropped_or_harmless),
        cmocka_unit_test(random_bytes_are_dropped_or_harmless),
        cmocka_unit_test(replays_are_duplicates_and_too_long_packets_are_not_even_read),
        cmocka_unit_test(each_reason_is_told_apart),
        cmocka_unit_test(a_peer_that_confirms_nothing_is_crowded_out_and_its_reports_still_count),
        cmocka_unit_test(an_oldest_makes_room_at_once),
        cmocka_unit_test(nonsense_in_the_ordered_stream_ends_the_conversation),
        cmocka_unit_test(the_same_fragment_over_and_over_is_one_message),
        cmocka_unit_test(leaping_numbers_and_stamps_cost_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
