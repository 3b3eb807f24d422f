// The server: its memory, what goes out when, and what happened.
//
// Three tables, none of which is ever searched from end to end for a packet:
//
//     address ──▶ slot          connected clients (slot.c, path.c)
//     address ──▶ pending       handshakes: keys, and nothing else that costs (request.c)
//     proof   ──▶ seen          tokens used, and by which address
//
// Times are kept by a sweep: `sweep_at` is never later than the first moment at which a slot or a
// handshake needs attention, so between those moments nothing is looked through.
//
// Invariant: an address that has not proved itself gets at most one packet for each of its own, and
// a shorter one.
#include "server.h"
#include "private.h"

#include <float.h>
#include <string.h>

#define COOKIE 0x5ea15e7eu
#define NOTES_EXTRA 64
#define EVENTS_PER_SLOT 4

// ---------------------------------------------------------------- definition

FlSealServerDef fl_seal_server_def_default(void)
{
    FlSealServerDef def = fl__seal_server_def_standard();
    def.keep_alive_ns = FL_SEC(1);
    def.token_life_s = 3600;
    def.invite_capacity = 16;
    def.replace = true;
    def.rebind = true;
    def.spend = true;
    return def;
}

FlSealServerDef fl__seal_server_def_standard(void)
{
    FlSealServerDef def = {
        .slot_capacity = 64,
        .pending_capacity = 256,
        .token_capacity = 4096,
        .strangers_s = 2000.0,
        .known_s = 2000.0,
        .burst = 200.0,
        .keep_alive_ns = FL_MS(100),
        .disconnect_count = 10,
        .cookie = COOKIE,
    };
    return def;
}

static bool addresses_good(const FlSealServerDef *def)
{
    for (int32_t i = 0; i < def->address_count; i++) {
        if (!fl__address_writable(def->address[i])) {
            return false;
        }
    }
    return true;
}

FlResult fl_seal_server_def_problem(const FlSealServerDef *def, FlError *error)
{
    static const Fl__Rule rules[] = {
        FL__COOKIE(FlSealServerDef, "fl_seal_server_def_default", COOKIE),
        FL__WHOLE(FlSealServerDef, address_count, 1, 8),
        FL__WHOLE(FlSealServerDef, slot_capacity, 1, 65536),
        FL__WHOLE(FlSealServerDef, pending_capacity, 1, 65536),
        FL__WHOLE(FlSealServerDef, token_capacity, 1, 1 << 20),
        FL__WHOLE(FlSealServerDef, invite_capacity, 0, 65536),
        FL__ABOVE(FlSealServerDef, strangers_s, 0.0, DBL_MAX),
        FL__ABOVE(FlSealServerDef, known_s, 0.0, DBL_MAX),
        FL__REAL(FlSealServerDef, burst, 1.0, DBL_MAX),
        FL__WHOLE(FlSealServerDef, keep_alive_ns, 1, FL_FOREVER),
        FL__WHOLE(FlSealServerDef, disconnect_count, 0, 100),
    };
    (void)fl__def_problem(def, rules, sizeof rules / sizeof rules[0], error);
    return fl__def_wrong(error, error->code == FL_OK && !addresses_good(def),
                         "address must be as clients reach us: IPv4 or IPv6, with a port, and "
                         "without a scope.");
}

// ---------------------------------------------------------------- memory, in one piece

static void place_map(Fl__Block *block, Map *map, int32_t capacity)
{
    map->head = fl__block_take(block, (size_t)fl__map_heads(capacity), sizeof *map->head);
    map->next = fl__block_take(block, (size_t)capacity, sizeof *map->next);
    map->key = fl__block_take(block, (size_t)capacity, sizeof *map->key);
}

static int32_t note_capacity(const FlSealServerDef *def)
{
    return def->slot_capacity + NOTES_EXTRA;
}

static void place_all(Fl__Block *block, FlSealServer *server)
{
    const FlSealServerDef *def = &server->def;
    size_t slots = (size_t)def->slot_capacity;
    size_t pendings = (size_t)def->pending_capacity;
    (void)fl__block_take(block, 1, sizeof *server);
    server->slots = fl__block_take(block, slots, sizeof *server->slots);
    server->free_slots = fl__block_take(block, slots, sizeof *server->free_slots);
    place_map(block, &server->slot_by_address, def->slot_capacity);
    place_map(block, &server->slot_by_client, def->slot_capacity);
    server->pendings = fl__block_take(block, pendings, sizeof *server->pendings);
    server->free_pendings = fl__block_take(block, pendings, sizeof *server->free_pendings);
    server->challenge_queue = fl__block_take(block, pendings, sizeof(int32_t));
    place_map(block, &server->pending_by_address, def->pending_capacity);
    server->seen = fl__block_take(block, (size_t)def->token_capacity, sizeof *server->seen);
    place_map(block, &server->seen_by_proof, def->token_capacity);
    server->invites = fl__block_take(block, (size_t)def->invite_capacity, sizeof *server->invites);
    place_map(block, &server->invite_by_id, def->invite_capacity);
    server->notes = fl__block_take(block, (size_t)note_capacity(def), sizeof *server->notes);
    server->events = fl__block_take(block, slots * EVENTS_PER_SLOT, sizeof *server->events);
}

static size_t bytes_for(const FlSealServerDef *def)
{
    FlSealServer measured = {.def = *def};
    Fl__Block counted = {0};
    place_all(&counted, &measured);
    return counted.bytes;
}

FlSealMemory fl__seal_server_memory(const FlSealServerDef *def)
{
    size_t maps = sizeof(MapKey) + 2 * sizeof(int32_t); // a map's part for one entry
    FlSealMemory memory = {
        .all = bytes_for(def),
        .slot = sizeof(Slot) + sizeof(int32_t) + 2 * maps + sizeof(Note) +
                EVENTS_PER_SLOT * sizeof(FlSealEvent),
        .pending = sizeof(Pending) + 2 * sizeof(int32_t) + maps,
        .token = sizeof(Seen) + maps,
    };
    return memory;
}

// ---------------------------------------------------------------- making one

static void start_map(FlSealServer *server, Map *map, int32_t capacity)
{
    fl__random_fill(&server->def.random, map->secret, sizeof map->secret);
    fl__map_init(map, capacity);
}

static void fill_free(int32_t *list, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        list[i] = count - 1 - i; // the last is taken first: slots are given out from 0 on
    }
}

static void start(FlSealServer *server, FlTime now)
{
    const FlSealServerDef *def = &server->def;
    start_map(server, &server->slot_by_address, def->slot_capacity);
    start_map(server, &server->slot_by_client, def->slot_capacity);
    start_map(server, &server->pending_by_address, def->pending_capacity);
    start_map(server, &server->seen_by_proof, def->token_capacity);
    start_map(server, &server->invite_by_id, def->invite_capacity);
    fill_free(server->free_slots, def->slot_capacity);
    server->free_count = def->slot_capacity;
    fill_free(server->free_pendings, def->pending_capacity);
    server->free_pending_count = def->pending_capacity;
    server->challenge_ring.capacity = def->pending_capacity;
    server->note_ring.capacity = note_capacity(def);
    server->event_ring.capacity = def->slot_capacity * EVENTS_PER_SLOT;

    // Before a client has a slot, its keys are used with numbers of the upper half, which no
    // connection reaches. A random start, so that a server started again repeats none of them.
    uint8_t draw[8];
    fl__random_fill(&def->random, draw, sizeof draw);
    server->global_sequence = UINT64_C(1) << 63 | fl__load_u64(draw) >> 2;
    fl__random_fill(&def->random, server->challenge_key, sizeof server->challenge_key);

    server->started_at = now;
    server->strangers = (Bucket){def->burst, now};
    server->known = (Bucket){def->burst, now};
    server->sweep_at = FL_FOREVER;
    server->sweep_index = -1;
}

FlResult fl_seal_server_create(const FlSealServerDef *def, FlTime now, FlSealServer **server)
{
    FL_ASSERT(def->cookie == COOKIE);
    *server = NULL;
    FlError error;
    if (fl_seal_server_def_problem(def, &error) != FL_OK) {
        return error.code;
    }
    if (!fl__sodium_ready()) {
        return FL_SYSTEM;
    }
    size_t bytes = bytes_for(def);
    uint8_t *memory = fl_alloc(&def->alloc, bytes, _Alignof(max_align_t));
    if (memory == NULL) {
        return FL_NO_MEMORY;
    }
    FlSealServer *made = (FlSealServer *)(void *)memory;
    made->def = *def;
    made->memory = memory;
    made->memory_bytes = bytes;
    Fl__Block block = {memory, 0};
    place_all(&block, made);
    start(made, now);
    *server = made;
    return FL_OK;
}

void fl_seal_server_destroy(FlSealServer *server)
{
    if (server == NULL) {
        return;
    }
    FlAlloc alloc = server->def.alloc;
    void *memory = server->memory;
    size_t bytes = server->memory_bytes;
    fl_free(&alloc, memory, bytes);
}

// ---------------------------------------------------------------- small things for all

static void ring_pop(Ring *ring)
{
    ring->first = (ring->first + 1) % ring->capacity;
    ring->count--;
}

FlResult fl_seal_server_take_event(FlSealServer *server, FlSealEvent *event)
{
    memset(event, 0, sizeof *event);
    if (server->event_ring.count == 0) {
        return FL_NOT_FOUND;
    }
    *event = server->events[server->event_ring.first];
    ring_pop(&server->event_ring);
    return FL_OK;
}

// ---------------------------------------------------------------- packets in

static uint32_t kinds_taken(const FlSealServer *server)
{
    uint32_t kinds = KIND_BIT(KIND_RESPONSE) | KIND_BIT(KIND_KEEP_ALIVE) | KIND_BIT(KIND_PAYLOAD) |
                     KIND_BIT(KIND_DISCONNECT);
    return server->def.rebind ? kinds | KIND_BIT(KIND_MOVE) | KIND_BIT(KIND_ANSWER) : kinds;
}

static FlSealDrop receive(FlSealServer *server, FlTime now, FlAddress from, uint8_t *bytes,
                          int32_t count, FlSealPeer *peer, FlSealPayload *payload)
{
    if (count >= 1 && bytes[0] == KIND_REQUEST) {
        return fl__request_take(server, now, from, bytes, count);
    }
    Packet packet;
    FlSealDrop drop = fl__packet_parse(bytes, count, kinds_taken(server), &packet);
    if (drop != FL_SEAL_DROP_NONE) {
        return drop;
    }
    if (packet.kind == KIND_RESPONSE) {
        return fl__response_take(server, now, from, &packet);
    }
    if (packet.kind == KIND_MOVE || packet.kind == KIND_ANSWER) {
        return fl__path_take(server, now, from, count, &packet);
    }
    int32_t index = fl__map_find(&server->slot_by_address, fl__map_address(from));
    if (index < 0) {
        return FL_SEAL_DROP_STRANGER;
    }
    *peer = fl__slot_peer(server, &server->slots[index]);
    return fl__slot_take(server, now, &server->slots[index], &packet, payload);
}

FlSealDrop fl_seal_server_receive(FlSealServer *server, FlTime now, FlAddress from, uint8_t *bytes,
                                  int32_t count, FlSealPeer *peer, FlSealPayload *payload)
{
    memset(peer, 0, sizeof *peer);
    memset(payload, 0, sizeof *payload);
    server->stats.bytes_in += count > 0 ? (uint64_t)count : 0;
    FlSealDrop drop = receive(server, now, from, bytes, count, peer, payload);
    if (drop != FL_SEAL_DROP_NONE) {
        memset(peer, 0, sizeof *peer);
    }
    server->stats.drops[drop]++;
    return drop;
}

// ---------------------------------------------------------------- packets out

static bool note_next(FlSealServer *server, FlSealed *out)
{
    if (server->note_ring.count == 0) {
        return false;
    }
    Note *note = &server->notes[server->note_ring.first];
    out->to = note->to;
    out->count = fl__packet_control(server->def.protocol_id, note->key, note->kind, note->sequence,
                                    0, note->body, note->body_bytes, server->packet, &out->bytes);
    note->sequence++;
    note->left--;
    if (note->left <= 0) {
        sodium_memzero(note, sizeof *note);
        ring_pop(&server->note_ring);
    }
    return true;
}

static void keep_alive(FlSealServer *server, Slot *slot, FlTime now, FlSealed *out)
{
    uint8_t body[8];
    fl__slot_keep_alive(server, slot, body);
    out->to = slot->address;
    out->count = fl__packet_control(server->def.protocol_id, slot->to_client_key, KIND_KEEP_ALIVE,
                                    slot->next, 0, body, sizeof body, server->packet, &out->bytes);
    slot->next++;
    slot->said_at = now;
}

static void sweep_pendings(FlSealServer *server, FlTime now)
{
    for (int32_t i = 0; i < server->def.pending_capacity; i++) {
        Pending *pending = &server->pendings[i];
        if (pending->used && now >= pending->until) {
            fl__pending_remove(server, i);
        } else if (pending->used && pending->until < server->sweep_next) {
            server->sweep_next = pending->until;
        }
    }
}

// One step of the sweep: true if it found a keep-alive to send.
static bool sweep_slot(FlSealServer *server, Slot *slot, FlTime now, FlSealed *out)
{
    if ((slot->generation & 1u) == 0) {
        return false;
    }
    if (fl__silent_for(now, slot->received_at, slot->timeout_s)) {
        fl__slot_close(server, slot, FL_SEAL_GONE_TIMED_OUT);
        return false;
    }
    bool due = fl__slot_due(server, slot, now) && slot->next <= slot->last;
    if (due) {
        keep_alive(server, slot, now, out);
    }
    FlTime deadline = fl__slot_deadline(server, slot);
    server->sweep_next = fl_time_min(deadline, server->sweep_next);
    return due;
}

static bool sweep(FlSealServer *server, FlTime now, FlSealed *out)
{
    if (server->sweep_index < 0) {
        if (now < server->sweep_at) {
            return false;
        }
        server->sweep_index = 0;
        server->sweep_next = FL_FOREVER;
        sweep_pendings(server, now);
    }
    while (server->sweep_index < server->def.slot_capacity) {
        if (sweep_slot(server, &server->slots[server->sweep_index++], now, out)) {
            return true;
        }
    }
    server->sweep_index = -1;
    server->sweep_at = server->sweep_next;
    return false;
}

FlResult fl_seal_server_next(FlSealServer *server, FlTime now, FlSealed *out)
{
    memset(out, 0, sizeof *out);
    // Clients that are in come first, strangers last. Closing a slot in the sweep may add notes.
    if (sweep(server, now, out) || note_next(server, out) || fl__challenge_next(server, out)) {
        server->stats.bytes_out += (uint64_t)out->count;
        return FL_OK;
    }
    return FL_NOT_FOUND;
}

FlTime fl_seal_server_deadline(const FlSealServer *server)
{
    bool waiting =
        server->note_ring.count > 0 || server->challenge_ring.count > 0 || server->sweep_index >= 0;
    return waiting ? NEVER : server->sweep_at;
}

FlSealServerStats fl__seal_server_stats(const FlSealServer *server)
{
    FlSealServerStats stats = server->stats;
    stats.connected = server->def.slot_capacity - server->free_count;
    stats.pending = server->def.pending_capacity - server->free_pending_count;
    return stats;
}
