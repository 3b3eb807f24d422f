// Two links and the network between them, in virtual time. Shared by the link's scenes.
//
// The world knows what really became of every packet and every message, and checks on the spot what
// the links say about it: a packet told lost is never taken, one told delivered was taken at just
// that time, payloads and messages arrive as they were sent. world_check() does the accounts at the
// end.
#ifndef TESTS_SCENE_LINK_WORLD_H
#define TESTS_SCENE_LINK_WORLD_H

#include "fairlead/impair.h"
#include "fairlead/link.h"

#include "impair/impair.h"
#include "link/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants some of the above first
#include <cmocka.h>

// ---------------------------------------------------------------- definition

typedef struct WorldDef {
    FlLinkDef link[2];
    FlImpairSettings way[2]; ///< From end 0 to end 1, and back.
    uint64_t seed;
    FlTime clock_offset[2];   ///< The ends' clocks minus world time at the beginning,
    double clock_drift[2];    ///< and how much faster they run.
    uint64_t first_number[2]; ///< external_sequence: where the carrier's numbers begin,
    int32_t gap_percent[2];   ///< how often it takes some for itself,
    int32_t gap_most[2];      ///< and how many at most.
} WorldDef;

/// Default links, the first with keep-alives; a perfect network; clocks days apart and drifting.
static inline WorldDef world_def_default(uint64_t seed)
{
    WorldDef def = {
        .link = {fl_link_def_default(), fl_link_def_default()},
        .way = {fl_impair_def_default().settings, fl_impair_def_default().settings},
        .seed = seed,
        .clock_offset = {0, FL_SEC(86400) * 3},
        .clock_drift = {0.0, 100e-6},
    };
    def.link[0].conversation = def.link[1].conversation = 0xbee5;
    def.link[1].keep_alive_ns = FL_FOREVER;
    return def;
}

// ---------------------------------------------------------------- state

/// Packets after which a fate that is not decided is given up: a quarter of the numbers that
/// travel.
#define WORLD_SEQUENCE_SPAN 16384

/// What really became of a packet, by its tag.
typedef struct WorldTruth {
    uint64_t sequence;
    FlTime sent;    // on the sender's clock
    FlTime arrived; // on the other link's clock, as it reports it
    int32_t bytes;
    int32_t payload_bytes;
    uint8_t told; // how many times a fate was told
    uint8_t fate;
    bool taken;   // the other link accepted it
    bool crowded; // too much was under way when it was sent
} WorldTruth;

enum { WORLD_KINDS = 3 };

/// Messages of one kind of delivery, one way.
typedef struct WorldTalk {
    int32_t wanted;
    int32_t queued;
    int32_t heard;
    uint8_t *seen; // per message
    FlTime next;   // when the next may be queued,
    FlTime period; // and how often
    int32_t bytes; // of the largest
} WorldTalk;

typedef struct WorldEnd {
    FlLink *link;
    FlTime clock_offset;
    double clock_drift;
    FlImpair *impair; // the way out
    FlFlight *flight;
    WorldTruth *truth;
    uint64_t truth_capacity;
    uint64_t next_tag;
    uint64_t first_tag;    // of this conversation
    uint64_t next_number;  // the lowest that the carrier has left
    FlRandom carrier;      // how it takes numbers for itself
    uint64_t given;        // packets handed to the link in this conversation,
    uint64_t taken;        // and how many it took
    FlTime next_payload;   // when the next payload packet goes; FL_FOREVER: never
    FlTime payload_period; // and how often
    int32_t payload_bytes;
    WorldTalk talk[WORLD_KINDS];       // what it says
    uint64_t packet_count, byte_count; // said, headers counted
} WorldEnd;

typedef struct World {
    FlTime now;
    WorldEnd end[2];
    bool cut[2];        // nothing gets through that way
    bool deaf[2];       // that end's messages are not taken
    bool clock_was_set; // so the times of what was sent before are on another clock now
    uint64_t hash;      // of all packets, both ways
    uint8_t *message;   // scratch, two of the largest messages
    WorldDef def;
} World;

// ---------------------------------------------------------------- what is said

/// Byte k of a thing with that number.
static inline uint8_t world_byte(uint64_t number, int32_t k)
{
    uint64_t x =
        (number + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)k * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint8_t)(x >> 56 ^ x >> 29);
}

/// Message n of a kind: its number, then bytes that follow from it. Returns its size.
static inline int32_t world_message(const WorldTalk *talk, int32_t from, int32_t kind, int32_t n,
                                    uint8_t *bytes)
{
    uint64_t number = (uint64_t)n << 8 | (uint64_t)(from << 4 | kind);
    int32_t longest = talk->bytes > 8 ? talk->bytes : 8;
    uint64_t x = number * UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    // Mostly short ones, now and then one of the largest.
    int32_t most = x % 16 == 0 ? longest : (longest < 48 ? longest : 48);
    int32_t size = x % 64 == 0 ? longest : 8 + (int32_t)(x / 64 % (uint64_t)(most - 8 + 1));
    for (int32_t i = 0; i < size; i++) {
        bytes[i] = i < 8 ? (uint8_t)(number >> (8 * i)) : world_byte(number, i);
    }
    return size;
}

static inline FlTime world_clock(const World *world, int32_t i)
{
    const WorldEnd *end = &world->end[i];
    return world->now + end->clock_offset + (FlTime)((double)world->now * end->clock_drift);
}

// ---------------------------------------------------------------- making and ending

static inline void world_link_open(World *world, int32_t i)
{
    WorldEnd *end = &world->end[i];
    fl_link_destroy(end->link);
    assert_int_equal(fl_link_create(&world->def.link[i], world_clock(world, i), &end->link), FL_OK);
    end->first_tag = end->next_tag;
    end->given = end->taken = 0;
    end->next_number = world->def.first_number[i];
}

static inline void world_open(World *world, const WorldDef *def)
{
    memset(world, 0, sizeof *world);
    world->def = *def;
    world->hash = UINT64_C(0xcbf29ce484222325);
    for (int32_t i = 0; i < 2; i++) {
        WorldEnd *end = &world->end[i];
        FlImpairDef impair = fl_impair_def_default();
        impair.settings = def->way[i];
        impair.seed = def->seed;
        impair.link = fl_impair_link((uint16_t)i, (uint16_t)(1 - i));
        assert_int_equal(fl_impair_create(&impair, &end->impair), FL_OK);
        FlFlightDef flight = fl__flight_def_default();
        flight.packet_bytes = FL_LINK_PACKET_BYTES;
        assert_int_equal(fl__flight_create(&flight, &end->flight), FL_OK);
        end->clock_offset = def->clock_offset[i];
        end->clock_drift = def->clock_drift[i];
        end->carrier.seed = def->seed;
        end->carrier.stream = 77 + (uint64_t)i;
        end->next_payload = FL_FOREVER;
        for (int32_t kind = 0; kind < WORLD_KINDS; kind++) {
            end->talk[kind].bytes = 200;
        }
        world_link_open(world, i);
    }
    world->message = (uint8_t *)malloc(2 * FL_LINK_MESSAGE_BYTES);
    assert_non_null(world->message);
}

static inline void world_close(World *world)
{
    for (int32_t i = 0; i < 2; i++) {
        fl_link_destroy(world->end[i].link);
        fl_impair_destroy(world->end[i].impair);
        fl__flight_destroy(world->end[i].flight);
        free(world->end[i].truth);
        for (int32_t kind = 0; kind < WORLD_KINDS; kind++) {
            free(world->end[i].talk[kind].seen);
        }
    }
    free(world->message);
}

/// End i sends payloads of that size at that pace, from now on.
static inline void world_stream(World *world, int32_t i, FlTime period, int32_t bytes)
{
    world->end[i].next_payload = period == FL_FOREVER ? FL_FOREVER : world->now;
    world->end[i].payload_period = period;
    world->end[i].payload_bytes = bytes;
}

/// End i says `wanted` messages of a kind; as fast as they are taken if period is 0.
static inline void world_say(World *world, int32_t i, FlDelivery kind, int32_t wanted,
                             FlTime period)
{
    WorldTalk *talk = &world->end[i].talk[kind];
    talk->wanted = wanted;
    talk->period = period;
    talk->next = world->now;
    talk->seen = (uint8_t *)calloc((size_t)wanted + 1, 1);
    assert_non_null(talk->seen);
}

// ---------------------------------------------------------------- packets

static inline WorldTruth *world_new_truth(WorldEnd *end)
{
    if (end->next_tag == end->truth_capacity) {
        end->truth_capacity = end->truth_capacity * 2 + 256;
        end->truth =
            (WorldTruth *)realloc(end->truth, (size_t)end->truth_capacity * sizeof(WorldTruth));
        assert_non_null(end->truth);
    }
    WorldTruth *truth = &end->truth[end->next_tag++];
    memset(truth, 0, sizeof *truth);
    return truth;
}

static inline void world_hash(World *world, const uint8_t *bytes, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        world->hash = (world->hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    world->hash = (world->hash ^ (uint64_t)count) * UINT64_C(0x100000001b3);
}

static inline void world_poll_fates(World *world, int32_t i)
{
    WorldEnd *end = &world->end[i];
    FlFateEvent event;
    while (fl_link_take_fate(end->link, &event) == FL_OK) {
        assert_true(event.tag < end->next_tag);
        WorldTruth *truth = &end->truth[event.tag];
        assert_int_equal(truth->told, 0);
        truth->told = 1;
        truth->fate = (uint8_t)event.fate;
        assert_int_equal(event.bytes, truth->bytes);
        assert_true(event.sent == truth->sent || world->clock_was_set);
        if (event.fate == FL_FATE_DELIVERED) {
            assert_true(truth->taken);
            assert_int_equal(event.arrived_remote, truth->arrived);
        } else if (event.fate == FL_FATE_LOST) {
            assert_false(truth->taken);
        } else {
            // Where nine of ten packets are lost, a report may not get through before the packet's
            // number comes round: then nobody will ever know.
            bool came_round = end->next_number - truth->sequence >= WORLD_SEQUENCE_SPAN;
            assert_true(truth->crowded || came_round || !fl__link_alive(end->link));
        }
    }
    assert_int_equal(fl_link_take_fate(end->link, &event), FL_NOT_FOUND);
}

/// Is the place of packet `tag` in its link's ring still taken by an earlier one?
static inline bool world_is_crowded(const World *world, int32_t i, uint64_t tag)
{
    const WorldEnd *end = &world->end[i];
    uint64_t capacity = (uint64_t)world->def.link[i].sent_capacity;
    for (uint64_t back = capacity; tag - end->first_tag >= back; back += capacity) {
        if (end->truth[tag - back].told == 0) {
            return true;
        }
    }
    return false;
}

#define WORLD_CARRIERS_OWN ((uint64_t)1 << 63) ///< In a flight's tag: the rest is its number.

/// The carrier numbers the packets of end i, and takes some numbers for its own packets; but every
/// second one goes unused.
static inline void world_take_numbers(World *world, int32_t i)
{
    WorldEnd *end = &world->end[i];
    if (!world->def.link[i].external_sequence) {
        return;
    }
    if ((int32_t)fl_random_below(&end->carrier, 100) < world->def.gap_percent[i]) {
        uint64_t count = 1 + fl_random_below(&end->carrier, (uint64_t)world->def.gap_most[i]);
        for (uint64_t k = 0; k < count; k++, end->next_number++) {
            FlFate fate = fl_impair_send(end->impair, world->now, 1);
            for (int32_t c = 0; c < fate.copy_count && k % 2 == 0 && !world->cut[i]; c++) {
                uint64_t tag = WORLD_CARRIERS_OWN | end->next_number;
                assert_int_equal(fl__flight_push(end->flight, fate.deliver_at[c], tag, &tag, 1),
                                 FL_OK);
            }
        }
    }
    fl_link_number_from(end->link, end->next_number);
}

/// Builds one packet at end i and gives it to the network. False: the link would not.
static inline bool world_send(World *world, int32_t i, int32_t payload_bytes)
{
    WorldEnd *end = &world->end[i];
    uint8_t buffer[FL_LINK_PACKET_BYTES];
    FlTime now = world_clock(world, i);
    FlWriter writer;
    world_poll_fates(world, i);
    world_take_numbers(world, i);
    if (fl_link_begin(end->link, now, buffer, &writer) != FL_OK) {
        return false;
    }
    int32_t room = (writer.capacity_bits - writer.bit_count) / 8;
    payload_bytes = payload_bytes < room ? payload_bytes : room;
    uint64_t tag = end->next_tag;
    for (int32_t k = 0; k < payload_bytes; k++) {
        fl_writer_put(&writer, world_byte(tag, k), 8);
    }
    uint64_t sequence;
    int32_t size = fl_link_finish(end->link, now, &writer, tag, &sequence);
    assert_true(size > 0 && size <= FL_LINK_PACKET_BYTES);
    assert_int_equal(sequence, end->next_number);
    end->next_number++;
    int32_t overhead = world->def.link[i].overhead_bytes;
    WorldTruth *truth = world_new_truth(end);
    truth->sequence = sequence;
    truth->sent = now;
    truth->bytes = size + overhead;
    truth->payload_bytes = payload_bytes;
    truth->crowded = world_is_crowded(world, i, tag);
    end->packet_count++;
    end->byte_count += (uint64_t)(size + overhead);
    world_hash(world, buffer, size);
    FlFate fate = fl_impair_send(end->impair, world->now, size);
    for (int32_t c = 0; c < fate.copy_count && !world->cut[i]; c++) {
        assert_int_equal(fl__flight_push(end->flight, fate.deliver_at[c], tag, buffer, size),
                         FL_OK);
    }
    return true;
}

/// What the link at the far end took must be what was sent, once, and never after it was told lost.
static inline void world_note_taken(WorldEnd *sender, const FlFlightPacket *packet,
                                    const FlLinkPacket *got)
{
    WorldTruth *truth = &sender->truth[packet->tag];
    assert_false(truth->taken);
    assert_true(packet->tag >= sender->first_tag);
    assert_true(truth->told == 0 || truth->fate == FL_FATE_UNKNOWN);
    truth->taken = true;
    truth->arrived = got->arrived;
    assert_int_equal(got->arrived % FL_LINK_STEP_NS, 0);
    assert_int_equal(got->payload_bytes, truth->payload_bytes);
    for (int32_t k = 0; k < got->payload_bytes; k++) {
        assert_int_equal(got->payload[k], world_byte(packet->tag, k));
    }
}

static inline void world_deliver(World *world, int32_t from)
{
    FlFlightPacket packet;
    WorldEnd *sender = &world->end[from];
    WorldEnd *end = &world->end[1 - from];
    while (fl__flight_take(sender->flight, world->now, &packet, 1) == 1) {
        if ((packet.tag & WORLD_CARRIERS_OWN) != 0) {
            fl__link_number_received(end->link, packet.tag & ~WORLD_CARRIERS_OWN);
            continue;
        }
        FlLinkPacket got;
        FlLinkDrop drop =
            fl_link_receive(end->link, world_clock(world, 1 - from),
                            sender->truth[packet.tag].sequence, packet.data, packet.bytes, &got);
        end->given++;
        if (drop == FL_LINK_DROP_NONE) {
            end->taken++;
            world_note_taken(sender, &packet, &got);
        }
    }
}

// ---------------------------------------------------------------- messages

static inline void world_queue_messages(World *world, int32_t i)
{
    for (int32_t kind = 0; kind < WORLD_KINDS; kind++) {
        WorldTalk *talk = &world->end[i].talk[kind];
        while (talk->queued < talk->wanted && world->now >= talk->next) {
            int32_t size = world_message(talk, i, kind, talk->queued, world->message);
            FlResult result =
                fl_link_send(world->end[i].link, (FlDelivery)kind, world->message, size);
            if (result == FL_STALE_ID || result == FL_WOULD_BLOCK) {
                break;
            }
            assert_int_equal(result, FL_OK);
            talk->queued++;
            talk->next += talk->period;
        }
    }
}

static inline void world_take_messages(World *world, int32_t i)
{
    uint8_t *got = world->message;
    uint8_t *want = world->message + FL_LINK_MESSAGE_BYTES;
    int32_t count;
    while (!world->deaf[i] &&
           fl_link_take(world->end[i].link, got, FL_LINK_MESSAGE_BYTES, &count) == FL_OK) {
        assert_true(count >= 8);
        int32_t kind = got[0] & 15;
        assert_int_equal(got[0] >> 4, 1 - i);
        assert_true(kind < WORLD_KINDS);
        WorldTalk *talk = &world->end[1 - i].talk[kind];
        int32_t n = got[1] | got[2] << 8 | got[3] << 16;
        assert_true(n < talk->queued);
        assert_int_equal(talk->seen[n]++, 0);
        if (kind == FL_DELIVERY_ORDERED) {
            assert_int_equal(n, talk->heard);
        }
        talk->heard++;
        assert_int_equal(count, world_message(talk, 1 - i, kind, n, want));
        assert_memory_equal(got, want, (size_t)count);
    }
}

static inline bool world_all_heard(const World *world)
{
    for (int32_t i = 0; i < 2; i++) {
        for (int32_t kind = 0; kind < WORLD_KINDS; kind++) {
            if (world->end[i].talk[kind].heard < world->end[i].talk[kind].wanted) {
                return false;
            }
        }
    }
    return true;
}

// ---------------------------------------------------------------- running

enum { WORLD_SENDS_PER_STEP = 64 };

static inline void world_step_end(World *world, int32_t i)
{
    WorldEnd *end = &world->end[i];
    fl_link_update(end->link, world_clock(world, i));
    world_take_messages(world, i);
    world_queue_messages(world, i);
    if (world->now >= end->next_payload) {
        end->next_payload += end->payload_period;
        (void)world_send(world, i, end->payload_bytes);
    }
    int32_t sends = 0;
    while (fl__link_wants_to_send(end->link, world_clock(world, i)) && world_send(world, i, 0)) {
        assert_true(++sends < WORLD_SENDS_PER_STEP); // one that never has enough would spin
    }
    world_poll_fates(world, i);
}

/// When something happens next at one end, in world time.
static inline FlTime world_next(const World *world, int32_t i)
{
    const WorldEnd *end = &world->end[i];
    FlTime next = fl__flight_next(world->end[1 - i].flight);
    next = end->next_payload < next ? end->next_payload : next;
    for (int32_t kind = 0; kind < WORLD_KINDS; kind++) {
        const WorldTalk *talk = &end->talk[kind];
        if (talk->queued < talk->wanted && talk->next > world->now && talk->next < next) {
            next = talk->next;
        }
    }
    FlTime deadline = fl_link_deadline(end->link, world_clock(world, i));
    if (deadline != FL_FOREVER) {
        FlTime ahead = deadline - world_clock(world, i);
        assert_true(ahead >= 0);
        FlTime due = world->now + (ahead > 1000 ? ahead : 1000); // the clocks' rates differ
        next = due < next ? due : next;
    }
    return next;
}

/// Runs from event to event until `until`, or until `done` says so.
static inline void world_run(World *world, FlTime until, bool (*done)(const World *))
{
    for (int32_t i = 0; i < 2; i++) {
        world_step_end(world, i);
    }
    while (world->now < until && (done == NULL || !done(world))) {
        FlTime a = world_next(world, 0);
        FlTime b = world_next(world, 1);
        FlTime next = a < b ? a : b;
        world->now = next < until ? (next > world->now ? next : world->now) : until;
        for (int32_t i = 0; i < 2; i++) {
            world_deliver(world, i);
        }
        for (int32_t i = 0; i < 2; i++) {
            world_step_end(world, i);
        }
    }
}

// ---------------------------------------------------------------- accounts

typedef struct WorldFates {
    uint64_t delivered, lost, unknown, untold;
} WorldFates;

static inline WorldFates world_fates(const World *world, int32_t i)
{
    const WorldEnd *end = &world->end[i];
    WorldFates fates = {0};
    for (uint64_t tag = end->first_tag; tag < end->next_tag; tag++) {
        const WorldTruth *truth = &end->truth[tag];
        uint64_t *counter[] = {&fates.delivered, &fates.lost, &fates.unknown};
        *(truth->told != 0 ? counter[truth->fate] : &fates.untold) += 1;
    }
    return fates;
}

/// Does what the links counted add up?
static inline void world_check(const World *world)
{
    for (int32_t i = 0; i < 2; i++) {
        const WorldEnd *end = &world->end[i];
        FlLinkStats stats;
        fl_link_stats(end->link, world_clock(world, i), &stats);
        WorldFates fates = world_fates(world, i);
        assert_int_equal(stats.packets_out, end->next_tag - end->first_tag);
        assert_int_equal(stats.delivered, fates.delivered);
        assert_int_equal(stats.lost, fates.lost);
        assert_int_equal(stats.unknown, fates.unknown);
        uint64_t bytes = 0;
        for (uint64_t tag = end->first_tag; tag < end->next_tag; tag++) {
            bytes += (uint64_t)end->truth[tag].bytes;
        }
        assert_int_equal(stats.bytes_out, bytes);
        assert_int_equal(stats.packets_in, end->taken);
        assert_int_equal(stats.drops[FL_LINK_DROP_NONE], end->taken);
        uint64_t given = 0;
        for (int32_t drop = 0; drop < FL_LINK_DROPS; drop++) {
            given += stats.drops[drop];
        }
        assert_int_equal(given, end->given);
        // Nothing here is hostile.
        assert_int_equal(stats.drops[FL_LINK_DROP_SHORT], 0);
        assert_int_equal(stats.drops[FL_LINK_DROP_MALFORMED], 0);
        assert_int_equal(stats.drops[FL_LINK_DROP_UNSENT], 0);
        assert_int_equal(stats.drops[FL_LINK_DROP_WINDOW], 0);
        assert_int_equal(stats.drops[FL_LINK_DROP_LARGE], 0);
    }
}

/// Ends both ends here: every packet of theirs has now exactly one fate, and a true one.
static inline void world_end(World *world)
{
    for (int32_t i = 0; i < 2; i++) {
        fl__link_close(world->end[i].link);
        world_poll_fates(world, i);
        assert_int_equal(world_fates(world, i).untold, 0);
    }
    world_check(world);
}

#endif
