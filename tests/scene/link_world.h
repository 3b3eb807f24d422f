// Two links and the network between them, in virtual time. Shared by the link's scenes.
#ifndef TESTS_SCENE_LINK_WORLD_H
#define TESTS_SCENE_LINK_WORLD_H

#include "fairlead/impair.h"
#include "fairlead/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

#define WORLD_PACKETS 400000

/// What really became of a packet, by its tag.
typedef struct WorldTruth {
    bool taken;     // the other link accepted it
    FlTime arrived; // on the other link's clock, as it reports it
    int32_t told;   // how many times a fate was told
    FlPacketFate fate;
    FlTime told_arrived;
} WorldTruth;

typedef struct WorldEnd {
    FlLink *link;
    FlTime clock_offset; // this end's clock minus world time,
    double clock_drift;  // and how much faster it runs
    FlImpair *impair;    // the way out
    FlFlight *flight;
    WorldTruth *truth;
    uint64_t next_tag;
    FlTime next_payload;   // when the next payload packet goes; FL_FOREVER: never
    FlTime payload_period; // and how often
    int32_t payload_bytes;
} WorldEnd;

typedef struct World {
    FlTime now;
    WorldEnd end[2];
    bool cut; // nothing gets through
} World;

static inline FlTime world_clock(const World *world, int32_t i)
{
    const WorldEnd *end = &world->end[i];
    return world->now + end->clock_offset + (FlTime)((double)world->now * end->clock_drift);
}

static inline void world_open(World *world, const FlLinkDef *def, const FlImpairSettings *settings,
                              uint64_t seed)
{
    memset(world, 0, sizeof *world);
    for (int32_t i = 0; i < 2; i++) {
        WorldEnd *end = &world->end[i];
        FlImpairDef impair = fl_impair_def_default();
        impair.settings = *settings;
        impair.seed = seed;
        impair.link = fl_impair_link((uint16_t)i, (uint16_t)(1 - i));
        assert_int_equal(fl_impair_create(&impair, &end->impair), FL_OK);
        FlFlightDef flight = fl_flight_def_default();
        assert_int_equal(fl_flight_create(&flight, &end->flight), FL_OK);
        end->clock_offset = i == 0 ? 0 : FL_SEC(86400) * 3;
        end->clock_drift = i == 0 ? 0.0 : 100e-6;
        end->next_payload = FL_FOREVER;
        end->truth = (WorldTruth *)calloc(WORLD_PACKETS, sizeof(WorldTruth));
        assert_non_null(end->truth);
        FlLinkDef own = *def;
        own.keep_alive_ns = i == 0 ? def->keep_alive_ns : FL_FOREVER;
        assert_int_equal(fl_link_create(&own, world_clock(world, i), &end->link), FL_OK);
    }
}

static inline void world_close(World *world)
{
    for (int32_t i = 0; i < 2; i++) {
        fl_link_destroy(world->end[i].link);
        fl_impair_destroy(world->end[i].impair);
        fl_flight_destroy(world->end[i].flight);
        free(world->end[i].truth);
    }
}

static inline void world_send(World *world, int32_t i, int32_t payload_bytes)
{
    WorldEnd *end = &world->end[i];
    uint8_t buffer[8 + FL_LINK_PACKET_BYTES];
    FlTime now = world_clock(world, i);
    FlWriter writer;
    if (fl_link_begin(end->link, now, buffer, &writer) != FL_OK) {
        return;
    }
    for (int32_t k = 0; k < payload_bytes; k++) {
        fl_writer_put(&writer, (uint64_t)(k * 7 + 1) & 0xffu, 8);
    }
    uint64_t tag = end->next_tag++;
    assert_true(tag < WORLD_PACKETS);
    uint64_t sequence;
    int32_t size = fl_link_finish(end->link, now, &writer, tag, &sequence);
    FlFate fate = fl_impair_send(end->impair, world->now, size);
    for (int32_t c = 0; c < fate.copy_count && !world->cut; c++) {
        assert_int_equal(fl_flight_push(end->flight, fate.deliver_at[c], tag, buffer, size), FL_OK);
    }
}

static inline void world_deliver(World *world, int32_t from)
{
    FlFlightPacket packet;
    WorldEnd *sender = &world->end[from];
    FlLink *link = world->end[1 - from].link;
    while (fl_flight_take(sender->flight, world->now, &packet, 1) == 1) {
        FlLinkPacket got;
        FlLinkDrop drop =
            fl_link_receive(link, world_clock(world, 1 - from), 0, packet.data, packet.bytes, &got);
        if (drop == FL_LINK_DROP_NONE) {
            assert_false(sender->truth[packet.tag].taken);
            sender->truth[packet.tag].taken = true;
            sender->truth[packet.tag].arrived = got.arrived;
        }
    }
}

static inline void world_poll_fates(World *world, int32_t i)
{
    WorldEnd *end = &world->end[i];
    FlFateEvent event;
    while (fl_link_poll_fate(end->link, &event) == FL_OK) {
        WorldTruth *truth = &end->truth[event.tag];
        truth->told++;
        truth->fate = event.fate;
        truth->told_arrived = event.arrived_remote;
    }
}

static inline void world_step_end(World *world, int32_t i)
{
    WorldEnd *end = &world->end[i];
    fl_link_update(end->link, world_clock(world, i));
    if (world->now >= end->next_payload) {
        end->next_payload += end->payload_period;
        world_send(world, i, end->payload_bytes);
    }
    for (int32_t n = 0; n < 64 && fl_link_wants_to_send(end->link, world_clock(world, i)); n++) {
        world_send(world, i, 0);
    }
    world_poll_fates(world, i);
}

/// When something happens next at one end, in world time.
static inline FlTime world_next(const World *world, int32_t i)
{
    const WorldEnd *end = &world->end[i];
    FlTime next = fl_flight_next(world->end[1 - i].flight);
    next = end->next_payload < next ? end->next_payload : next;
    FlTime deadline = fl_link_deadline(end->link, world_clock(world, i));
    if (deadline != FL_FOREVER) {
        FlTime ahead = deadline - world_clock(world, i);
        FlTime due =
            world->now + (ahead > 1000 ? ahead : 1000); // the clocks' rates differ a little
        next = due < next ? due : next;
    }
    return next;
}

/// Runs from event to event until `until`, or until `done` says so.
static inline void world_run(World *world, FlTime until, bool (*done)(World *, void *), void *ctx)
{
    while (world->now < until) {
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
        if (done != NULL && done(world, ctx)) {
            return;
        }
    }
}

#endif
