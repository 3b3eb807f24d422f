// Hashes of settled states: ours, compared with others'.
//
// 16 bits a tick travel: a difference is overlooked once in 65 536 ticks, and states that differ
// stay different, so the next tick names it.
#include "private.h"

#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

uint64_t fl__timeline_hash_of(const FlTimeline *timeline, const void *bytes)
{
    if (timeline->def.game.hash_fn != NULL) {
        return timeline->def.game.hash_fn(timeline->def.game.ctx, bytes);
    }
    const uint8_t *at = (const uint8_t *)bytes;
    size_t left = (size_t)timeline->def.state_bytes;
    uint64_t hash = mix(UINT64_C(0x54494d454c494e45), left);
    for (; left >= 8; left -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = mix(hash, word);
    }
    uint64_t rest = 0;
    memcpy(&rest, at, left);
    return mix(mix(hash, rest), hash >> 1);
}

static void compare(FlTimeline *t, int32_t player, int64_t tick, uint16_t hash)
{
    t->figures.compared++;
    if (hash == t->hash[fl__timeline_slot(t, tick)]) {
        return;
    }
    t->figures.differing++;
    if (tick < t->figures.desync_at) {
        t->figures.desync_at = tick;
        t->figures.desync_player = player;
    }
}

void fl__timeline_settled(FlTimeline *timeline)
{
    FlTimeline *t = timeline;
    int64_t tick = t->settled_tick;
    int64_t slot = fl__timeline_slot(t, tick);
    uint64_t hash = fl__timeline_hash_of(t, t->settled);
    t->hash[slot] = (uint16_t)hash;
    t->figures.settled++;
    if (t->shown_at[slot] == tick) {
        t->figures.shown++;
        t->figures.corrected += t->shown_hash[slot] != hash ? 1 : 0;
    }
    for (int32_t p = 0; p < t->def.player_capacity && t->received_bits[slot] != 0; p++) {
        if ((t->received_bits[slot] >> p & 1u) != 0) {
            compare(t, p, tick, t->received_hash[slot * t->def.player_capacity + p]);
        }
    }
    t->received_bits[slot] = 0;
    if (t->def.game.settled_fn != NULL) {
        t->def.game.settled_fn(t->def.game.ctx, tick, t->settled);
    }
}

static bool is_remembered(const FlTimeline *t, int64_t tick)
{
    return tick >= t->origin && tick <= t->settled_tick &&
           tick > t->settled_tick - t->def.history_ticks;
}

FlResult fl__timeline_hash(const FlTimeline *timeline, int64_t tick, uint16_t *hash)
{
    *hash = 0;
    if (!is_remembered(timeline, tick)) {
        return FL_NOT_FOUND;
    }
    *hash = timeline->hash[fl__timeline_slot(timeline, tick)];
    return FL_OK;
}

void fl__timeline_hash_received(FlTimeline *timeline, int32_t player, int64_t tick, uint16_t hash)
{
    FlTimeline *t = timeline;
    FL_ASSERT(player >= 0 && player < t->def.player_capacity);
    if (is_remembered(t, tick)) {
        compare(t, player, tick, hash);
    } else if (tick > t->settled_tick && tick < t->settled_tick + t->def.history_ticks) {
        int64_t slot = fl__timeline_slot(t, tick);
        t->received_bits[slot] |= UINT64_C(1) << player;
        t->received_hash[slot * t->def.player_capacity + player] = hash;
    }
}
