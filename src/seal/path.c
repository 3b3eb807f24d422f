// Rebinding: a client whose address changed keeps its connection. Ours, not the standard's.
//
//     client                                      server
//       │ ── MOVE (slot in clear, 16 sealed bytes) ─▶│  genuine, but from a new address
//       │ ◀── PATH (8 random bytes, sealed) ──────── │  to the new address; never longer
//       │ ── ANSWER (slot, the same 8 bytes) ──────▶ │  who answers is there: the address is taken
//
// Why a kind of its own: packets of the standard do not say whose they are, the address does. To
// try every key on every stranger's packet would be an invitation to flood us. A MOVE names its
// slot, so one key is tried, and that rationed like the requests of strangers.
//
// MOVE and ANSWER have sequence numbers like all others, so neither can be repeated by an attacker
// who saw it. Payloads from the new address are dropped until it has answered.
#include "private.h"
#include "server.h"

#include <string.h>

static FlSealDrop answer_at_home(FlSealServer *server, Slot *slot)
{
    slot->path.address.family = FL_FAMILY_NONE;
    slot->said_at = NEVER; // a keep-alive, at once: your address is known
    fl__server_wake(server, NEVER);
    return FL_SEAL_DROP_NONE;
}

static FlSealDrop challenge_path(FlSealServer *server, Slot *slot, FlAddress from, int32_t count)
{
    Path *path = &slot->path;
    if (!fl_address_equal(path->address, from)) {
        path->address = from;
        path->credit_bytes = 0;
        fl__random_fill(&server->def.random, path->token, sizeof path->token);
    }
    int32_t longest = FL_SEAL_HEAD_BYTES + PATH_BYTES + FL_SEAL_TAIL_BYTES;
    path->credit_bytes += count;
    if (path->credit_bytes < longest || slot->next > slot->last) {
        return FL_SEAL_DROP_NONE;
    }
    Note *note = fl__server_note(server);
    if (note == NULL) {
        return FL_SEAL_DROP_NONE;
    }
    path->credit_bytes = 0; // what is left over is not saved up
    *note = (Note){.kind = KIND_PATH,
                   .left = 1,
                   .to = from,
                   .sequence = slot->next++,
                   .body_bytes = PATH_BYTES};
    memcpy(note->body, path->token, PATH_BYTES);
    memcpy(note->key, slot->to_client_key, FL_SEAL_KEY_BYTES);
    return FL_SEAL_DROP_NONE;
}

static FlSealDrop move_to(FlSealServer *server, Slot *slot, FlAddress from, const uint8_t *answer)
{
    Path *path = &slot->path;
    if (!fl_address_equal(path->address, from) ||
        sodium_memcmp(path->token, answer, PATH_BYTES) != 0) {
        return FL_SEAL_DROP_PATH;
    }
    int32_t index = (int32_t)(slot - server->slots);
    fl__map_remove(&server->slot_by_address, index);
    fl__map_put(&server->slot_by_address, fl__map_address(from), index);
    slot->address = from;
    memset(path, 0, sizeof *path);
    slot->said_at = NEVER;
    fl__server_wake(server, NEVER);
    server->stats.moved++;
    FlSealEvent event = {.kind = FL_SEAL_EVENT_MOVED,
                         .peer = fl__slot_peer(server, slot),
                         .client_id = slot->client_id,
                         .invite_id = slot->invite_id,
                         .address = from};
    fl__server_event(server, &event);
    return FL_SEAL_DROP_NONE;
}

FlSealDrop fl__path_take(FlSealServer *server, FlTime now, FlAddress from, int32_t count,
                         const Packet *packet)
{
    if (packet->hint >= (uint32_t)server->def.slot_capacity ||
        (server->slots[packet->hint].generation & 1u) == 0) {
        return FL_SEAL_DROP_STRANGER;
    }
    Slot *slot = &server->slots[packet->hint];
    bool at_home = fl_address_equal(slot->address, from);
    if (!at_home &&
        !fl__bucket_take(&server->strangers, now, server->def.strangers_s, server->def.burst)) {
        return FL_SEAL_DROP_RATE;
    }
    FlSealDrop drop =
        fl__packet_take(server->def.protocol_id, slot->to_server_key, &slot->replay, packet);
    if (drop != FL_SEAL_DROP_NONE) {
        return drop;
    }
    slot->received_at = now;
    slot->confirmed = true;
    if (at_home) {
        return answer_at_home(server, slot);
    }
    if (fl__map_find(&server->slot_by_address, fl__map_address(from)) >= 0) {
        return FL_SEAL_DROP_CONNECTED; // another client is there
    }
    return packet->kind == KIND_MOVE ? challenge_path(server, slot, from, count)
                                     : move_to(server, slot, from, packet->body);
}
