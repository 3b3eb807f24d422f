// What the tests of crowds' packets share: crowds, packets made by hand, and all that a crowd
// knows in one number, to see that something had no effect.
#ifndef FAIRLEAD_TESTS_CROWD_SUPPORT_H
#define FAIRLEAD_TESTS_CROWD_SUPPORT_H

#include "support.h"

#include "crowd/private.h"

static inline FlWorld crowd_world(void)
{
    FlWorldDef def = fl_world_def_default();
    def.low = fl_vec3(-500, -500, 0);
    def.high = fl_vec3(500, 500, 0);
    def.top_speed = 40.0;
    def.entity_capacity = 4096;
    FlWorld world;
    assert_int_equal(fl_world_init(&def, &world), FL_OK);
    return world;
}

/// A member comes or goes, and its avatar: the entity of the same number.
static inline void crowd_member(FlCrowd *crowd, int32_t member, bool present)
{
    fl__crowd_member(crowd, member, present);
    if (member >= crowd->def.first) {
        fl__crowd_entity(crowd, (uint32_t)member, present ? member : FL__NOBODY, 0);
    }
}

/// Ours is there from the first state on.
static inline FlResult crowd_set(FlCrowd *crowd, const FlState *state)
{
    uint32_t self = (uint32_t)crowd->def.self;
    FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, state);
    FlUpdate update = {self, 0, motion};
    uint8_t packed[FL_UPDATE_BYTES_MAX];
    bool wide;
    FlWriter w;
    fl_writer_init(&w, packed, sizeof packed);
    FlResult result = fl_update_round(&crowd->world, &motion, &update.motion, &wide);
    if (result != FL_OK) {
        return result;
    }
    fl__crowd_entity(crowd, self, crowd->def.self, 0);
    assert_true(fl_update_encode(&w, &crowd->world, &update));
    return fl__crowd_export(crowd, self, packed, fl_writer_size(&w), update.motion.time);
}

/// Player `self` of `players`, who are all there; the numbers begin with 1.
static inline FlCrowd *crowd_make(int32_t self, int32_t players, FlTime now)
{
    FlCrowdDef def = fl__crowd_def_default();
    def.self = self;
    def.member_capacity = players + 1;
    def.light_capacity = 24;
    def.focus_count = 2;
    def.entity_capacity = 4096;
    FlWorld world = crowd_world();
    FlCrowd *crowd;
    assert_int_equal(fl__crowd_create(&def, &world, now, &crowd), FL_OK);
    for (int32_t m = 1; m <= players; m++) {
        crowd_member(crowd, m, true);
    }
    fl__crowd_plan(crowd, fl__plane_order_for(players));
    return crowd;
}

/// Where a player is: it runs along a line at less than the top speed, there and back.
static inline FlState crowd_state(int32_t player, FlTime time)
{
    double way = fmod(30.0 * fl_span_seconds(time) + 70.0 * player, 1600.0);
    bool back = way >= 800.0;
    FlState state = {.time = time};
    state.position = fl_vec3((back ? 1600.0 - way : way) - 400.0, 20.0 * player - 400.0, 0.0);
    state.velocity = fl_vec3(back ? -30.0 : 30.0, 0.0, 0.0);
    return state;
}

// ---------------------------------------------------------------- packets by hand

enum {
    HEARTBEAT = 1,
    STREAM = 2,
    BATCH = 3,
    LOOK = 4,
    REDIRECT = 5,
    PART = 6,
    BATCH_EPOCH = 7,
    MISSED = 8,
    MESSAGE = 9,
    GUIDED = 10
};

typedef struct Craft {
    uint8_t bytes[FL_CROWD_PACKET_BYTES + 100];
    FlWriter w;
} Craft;

static inline void craft_begin(Craft *craft, uint16_t number)
{
    fl_writer_init(&craft->w, craft->bytes, sizeof craft->bytes);
    fl_writer_put(&craft->w, number, 16);
}

static inline void craft_put(Craft *craft, uint64_t value, int32_t bits)
{
    fl_writer_put(&craft->w, value, bits);
}

static inline void craft_update(Craft *craft, int32_t of, uint32_t life, const FlState *state)
{
    FlWorld world = crowd_world();
    FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, state);
    FlUpdate update = {(uint32_t)of, life, motion};
    bool wide;
    assert_int_equal(fl_update_round(&world, &motion, &update.motion, &wide), FL_OK);
    assert_true(fl_update_encode(&craft->w, &world, &update));
}

static inline void craft_stream(Craft *craft, int32_t hops, int32_t of, const FlState *state)
{
    craft_put(craft, STREAM, 8);
    craft_put(craft, (uint64_t)hops, 8);
    craft_update(craft, of, 0, state);
}

static inline void craft_batch(Craft *craft, int32_t of, const FlState *state)
{
    craft_put(craft, BATCH, 8);
    craft_put(craft, 1, 8);
    craft_update(craft, of, 0, state);
}

static inline void craft_heartbeat(Craft *craft, FlTime now, int32_t spare, uint16_t newest,
                                   uint32_t before)
{
    craft_put(craft, HEARTBEAT, 8);
    craft_put(craft, (uint64_t)(now / FL_MS(1)) & 0xffffu, 16);
    craft_put(craft, (uint64_t)spare, 8);
    craft_put(craft, 0, 8);
    craft_put(craft, newest, 16);
    craft_put(craft, before, 32);
}

static inline void craft_look(Craft *craft, int32_t of, uint8_t attention)
{
    craft_put(craft, LOOK, 8);
    craft_put(craft, (uint64_t)of, 16);
    craft_put(craft, attention, 8);
    craft_put(craft, 0xffff, 16);
}

static inline int32_t craft_size(const Craft *craft)
{
    assert_false(craft->w.failed);
    return fl_writer_size(&craft->w);
}

static inline void craft_give(const Craft *craft, FlCrowd *to, int32_t from, FlTime now)
{
    fl__crowd_receive(to, from, craft->bytes, craft_size(craft), now);
}

// ---------------------------------------------------------------- all that it knows

static inline uint64_t crowd_hash(uint64_t hash, const void *bytes, size_t count)
{
    const uint8_t *at = (const uint8_t *)bytes;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/// Everything but the counters.
static inline uint64_t crowd_fingerprint(const FlCrowd *c)
{
    size_t members = (size_t)c->def.member_capacity;
    size_t lights = (size_t)c->def.light_capacity;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    hash = crowd_hash(hash, c->present, members * sizeof *c->present);
    hash = crowd_hash(hash, c->looks, members * sizeof *c->looks);
    hash = crowd_hash(hash, c->known, members * sizeof *c->known);
    hash = crowd_hash(hash, c->more, members * sizeof *c->more);
    hash = crowd_hash(hash, c->light_of, members * sizeof *c->light_of);
    hash = crowd_hash(hash, c->lights, lights * sizeof *c->lights);
    hash = crowd_hash(hash, c->arrived, lights * lights * sizeof *c->arrived);
    hash = crowd_hash(hash, c->pending, lights * lights * sizeof *c->pending);
    hash = crowd_hash(hash, c->sources, (size_t)c->def.focus_count * sizeof *c->sources);
    hash = crowd_hash(hash, c->watchers, (size_t)c->def.stream_capacity * sizeof *c->watchers);
    hash = crowd_hash(hash, c->redirects, sizeof c->redirects);
    hash = crowd_hash(hash, &c->some_over, sizeof c->some_over);
    return crowd_hash(hash, c->own, (size_t)c->def.detail_capacity * sizeof *c->own);
}

#endif
