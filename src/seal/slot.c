// One connection at the server: packets in and out, and how it ends.
#include "private.h"
#include "server.h"

#include <string.h>

#define UNCONFIRMED_NS FL_MS(100) // between keep-alives that tell a client that it is in

// ---------------------------------------------------------------- names

Slot *fl__slot_of(const FlSealServer *server, FlSealPeer peer)
{
    if (peer.index1 < 1 || peer.index1 > (uint32_t)server->def.slot_capacity) {
        return NULL;
    }
    Slot *slot = &server->slots[peer.index1 - 1];
    bool live = (slot->generation & 1u) != 0 && slot->generation == peer.generation;
    return live ? slot : NULL;
}

FlSealPeer fl__slot_peer(const FlSealServer *server, const Slot *slot)
{
    FlSealPeer peer = {(uint32_t)(slot - server->slots) + 1, slot->generation};
    return peer;
}

static FlSealPeer peer_found(const FlSealServer *server, int32_t index)
{
    FlSealPeer none = {0};
    return index < 0 ? none : fl__slot_peer(server, &server->slots[index]);
}

FlSealPeer fl__seal_server_at(const FlSealServer *server, FlAddress address)
{
    return peer_found(server, fl__map_find(&server->slot_by_address, fl__map_address(address)));
}

FlSealPeer fl__seal_server_client(const FlSealServer *server, uint64_t client_id)
{
    return peer_found(server, fl__map_find(&server->slot_by_client, fl__map_number(client_id)));
}

FlResult fl_seal_server_status(const FlSealServer *server, FlSealPeer peer,
                               FlSealPeerStatus *status)
{
    memset(status, 0, sizeof *status);
    const Slot *slot = fl__slot_of(server, peer);
    if (slot == NULL) {
        return FL_STALE_ID;
    }
    status->address = slot->address;
    status->client_id = slot->client_id;
    status->invite_id = slot->invite_id;
    status->user_data = slot->user_data;
    status->confirmed = slot->confirmed;
    return FL_OK;
}

// ---------------------------------------------------------------- beginning and end

static void tell(FlSealServer *server, const Slot *slot, FlSealEventKind kind, FlSealGone gone)
{
    FlSealEvent event = {
        .kind = kind,
        .gone = gone,
        .peer = fl__slot_peer(server, slot),
        .client_id = slot->client_id,
        .invite_id = slot->invite_id,
        .address = slot->address,
    };
    fl__server_event(server, &event);
}

// Numbers used with a token's keys are remembered as long as the token is.
static Seen *seen_of(FlSealServer *server, const Slot *slot)
{
    Seen *seen = &server->seen[slot->token];
    return seen->serial == slot->serial ? seen : NULL;
}

// Numbers that no server has used with these keys: a range for each server of the token's list, and
// in it beyond what this one may have used before it was started again, by its clock and by what
// the client says.
static void give_numbers(const FlSealServer *server, Slot *slot, const Pending *pending,
                         uint64_t unix_s)
{
    uint64_t life_s = server->def.token_life_s;
    slot->next = 0;
    slot->last = LAST_SEQUENCE;
    if (life_s == 0) {
        return; // the standard's
    }
    uint64_t left_s = slot->expire_s > unix_s ? slot->expire_s - unix_s : 0;
    uint64_t first = life_s > left_s ? fl__first_sequence(life_s - left_s) : 0;
    first = pending->floor > first && pending->floor < FIRST_NUMBERS ? pending->floor : first;
    uint64_t range = (uint64_t)pending->place << RANGE_BITS;
    slot->next = range + first;
    slot->last = range + RANGE_MASK;
}

static void fill_slot(Slot *slot, const Pending *pending, FlTime now)
{
    uint32_t generation = slot->generation + 1;
    memset(slot, 0, sizeof *slot);
    slot->generation = generation;
    slot->token = pending->token;
    slot->serial = pending->serial;
    slot->address = pending->address;
    slot->client_id = pending->client_id;
    slot->invite_id = pending->invite_id;
    slot->expire_s = pending->expire_s;
    slot->timeout_s = pending->timeout_s;
    slot->received_at = now;
    slot->said_at = NEVER; // a keep-alive is due
    memcpy(slot->to_server_key, pending->to_server_key, FL_SEAL_KEY_BYTES);
    memcpy(slot->to_client_key, pending->to_client_key, FL_SEAL_KEY_BYTES);
    memcpy(slot->user_data, pending->user_data, FL_SEAL_USER_BYTES);
}

Slot *fl__slot_open(FlSealServer *server, FlTime now, const Pending *pending)
{
    FL_ASSERT(server->free_count > 0);
    int32_t index = server->free_slots[--server->free_count];
    Slot *slot = &server->slots[index];
    fill_slot(slot, pending, now);
    give_numbers(server, slot, pending, fl__server_unix(server, now));
    Seen *seen = seen_of(server, slot);
    if (seen != NULL) {
        slot->next = seen->next > slot->next ? seen->next : slot->next;
        seen->spent = true;
    }
    fl__map_put(&server->slot_by_address, fl__map_address(slot->address), index);
    fl__map_put(&server->slot_by_client, fl__map_number(slot->client_id), index);
    fl__server_wake(server, now);
    server->stats.accepted++;
    tell(server, slot, FL_SEAL_EVENT_CONNECTED, FL_SEAL_GONE_LEFT);
    return slot;
}

static void say_goodbye(FlSealServer *server, Slot *slot)
{
    int32_t count = server->def.disconnect_count;
    if (count == 0 || slot->next > slot->last - (uint64_t)count) {
        return;
    }
    Note *note = fl__server_note(server);
    if (note == NULL) {
        return; // it will time out
    }
    *note =
        (Note){.kind = KIND_DISCONNECT, .left = count, .to = slot->address, .sequence = slot->next};
    memcpy(note->key, slot->to_client_key, FL_SEAL_KEY_BYTES);
    slot->next += (uint64_t)count;
}

void fl__slot_close(FlSealServer *server, Slot *slot, FlSealGone gone)
{
    if (gone == FL_SEAL_GONE_KICKED || gone == FL_SEAL_GONE_REPLACED) {
        say_goodbye(server, slot);
    }
    tell(server, slot, FL_SEAL_EVENT_GONE, gone);
    Seen *seen = seen_of(server, slot);
    if (seen != NULL) {
        seen->next = slot->next;
    }
    int32_t index = (int32_t)(slot - server->slots);
    fl__map_remove(&server->slot_by_address, index);
    fl__map_remove(&server->slot_by_client, index);
    uint32_t generation = slot->generation + 1;
    sodium_memzero(slot, sizeof *slot);
    slot->generation = generation;
    server->free_slots[server->free_count++] = index;
}

void fl_seal_server_disconnect(FlSealServer *server, FlTime now, FlSealPeer peer)
{
    (void)now;
    Slot *slot = fl__slot_of(server, peer);
    if (slot != NULL) {
        fl__slot_close(server, slot, FL_SEAL_GONE_KICKED);
    }
}

void fl__seal_server_drop(FlSealServer *server, FlSealPeer peer)
{
    Slot *slot = fl__slot_of(server, peer);
    if (slot != NULL) {
        fl__slot_close(server, slot, FL_SEAL_GONE_TIMED_OUT);
    }
}

// ---------------------------------------------------------------- packets in

FlSealDrop fl__slot_take(FlSealServer *server, FlTime now, Slot *slot, const Packet *packet,
                         FlSealPayload *payload)
{
    FlSealDrop drop =
        fl__packet_take(server->def.protocol_id, slot->to_server_key, &slot->replay, packet);
    if (drop != FL_SEAL_DROP_NONE) {
        return drop;
    }
    slot->received_at = now;
    if (packet->kind == KIND_DISCONNECT) {
        fl__slot_close(server, slot, FL_SEAL_GONE_LEFT);
        return FL_SEAL_DROP_NONE;
    }
    slot->confirmed = true;
    if (packet->kind == KIND_PAYLOAD) {
        payload->bytes = packet->body;
        payload->count = packet->body_bytes;
        payload->sequence = packet->sequence;
    }
    return FL_SEAL_DROP_NONE;
}

// ---------------------------------------------------------------- packets out

void fl__slot_keep_alive(const FlSealServer *server, const Slot *slot, uint8_t body[8])
{
    fl__store_u32(body, (uint32_t)(slot - server->slots));
    fl__store_u32(body + 4, (uint32_t)server->def.slot_capacity);
}

static FlTime keep_alive_at(const FlSealServer *server, const Slot *slot)
{
    if (slot->said_at == NEVER) {
        return NEVER;
    }
    FlTime every = server->def.keep_alive_ns;
    if (!slot->confirmed && every > UNCONFIRMED_NS) {
        every = UNCONFIRMED_NS;
    }
    return fl_time_add(slot->said_at, every);
}

bool fl__slot_due(const FlSealServer *server, const Slot *slot, FlTime now)
{
    return now >= keep_alive_at(server, slot);
}

FlTime fl__slot_deadline(const FlSealServer *server, const Slot *slot)
{
    FlTime end = fl__silent_at(slot->received_at, slot->timeout_s);
    FlTime due = keep_alive_at(server, slot);
    return fl_time_min(due, end);
}

uint64_t fl_seal_server_sequence(const FlSealServer *server, FlSealPeer peer)
{
    const Slot *slot = fl__slot_of(server, peer);
    if (slot == NULL) {
        return 0;
    }
    return slot->confirmed ? slot->next : slot->next + 1; // a keep-alive goes first
}

FlResult fl_seal_server_seal(FlSealServer *server, FlSealPeer peer, FlTime now, uint64_t sequence,
                             uint8_t *buffer, int32_t payload_bytes, FlSealed out[2],
                             int32_t *out_count)
{
    *out_count = 0;
    memset(out, 0, 2 * sizeof *out);
    Slot *slot = fl__slot_of(server, peer);
    if (slot == NULL) {
        return FL_STALE_ID;
    }
    const PayloadWay way = {server->def.protocol_id, slot->to_client_key, slot->address,
                            slot->last};
    uint64_t next = fl_seal_server_sequence(server, peer);
    FlSealed payload;
    FlResult result = fl__payload_seal(&way, &next, sequence, buffer, payload_bytes, &payload);
    if (result != FL_OK) {
        return result;
    }
    if (!slot->confirmed) {
        uint8_t body[8];
        fl__slot_keep_alive(server, slot, body);
        FlSealed *first = &out[(*out_count)++];
        first->to = slot->address;
        first->count =
            fl__packet_control(server->def.protocol_id, slot->to_client_key, KIND_KEEP_ALIVE,
                               sequence - 1, 0, body, sizeof body, server->packet, &first->bytes);
    }
    out[(*out_count)++] = payload;
    slot->next = next;
    slot->said_at = now;
    server->stats.bytes_out += (uint64_t)out[0].count + (uint64_t)out[1].count;
    return FL_OK;
}
