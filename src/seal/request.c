// From a request to a slot: the server's side of the handshake.
//
// REQUEST: let me in.                                             spec/WIRE.md section 9.3
//
//   bytes  field         valid
//   1      prefix        0
//   13     version       "NETCODE 1.02" and a zero byte
//   8      protocol id   this server's
//   8      expire        later than now
//   24     nonce
//   1024   private part  of the connect token, sealed
//
// The tests are the standard's, in the standard's order, the cheap ones first. Deciphering is what
// costs (about 2 us), so it is rationed: tokens that were here before from the same address have a
// bucket of their own, which a flood of strangers cannot empty.
//
// A genuine request reserves its keys (a Pending) and no slot. The challenge that answers it is
// shorter than the request, and only who reads it can respond: that proves the address.
//
// A backend's tokens are few, an invite's holder mints as many as he likes. So an invite may keep
// busy only as many handshakes as it has uses, and never more than half of them; what goes beyond
// is neither remembered nor answered, else he could crowd out everybody else.
#include "private.h"
#include "server.h"

#include <string.h>

// A handshake of an invite's keeps its share busy this long, whatever its holder wrote into his
// token: not so short that he uses up our memory of tokens, not so long that others wait for it.
#define INVITE_PENDING_LEAST_S 1
#define INVITE_PENDING_MOST_S 10

typedef struct Request {
    TokenSeal seal;
    uint8_t *sealed;
    const uint8_t *proof;
    ServerInvite *invite; // NULL: the backend's
    PrivateToken token;
} Request;

// ---------------------------------------------------------------- reading a request

static FlSealDrop parse_request(const FlSealServer *server, FlTime now, uint8_t *bytes,
                                int32_t count, Request *request)
{
    if (count != FL_SEAL_REQUEST_BYTES) {
        return count < FL_SEAL_REQUEST_BYTES ? FL_SEAL_DROP_SHORT : FL_SEAL_DROP_LARGE;
    }
    const uint8_t *at = bytes + 1;
    if (memcmp(at, fl__version, VERSION_BYTES) != 0) {
        return FL_SEAL_DROP_VERSION;
    }
    at += VERSION_BYTES;
    request->seal.protocol_id = fl__load_u64(at);
    if (request->seal.protocol_id != server->def.protocol_id) {
        return FL_SEAL_DROP_PROTOCOL;
    }
    request->seal.expire_s = fl__load_u64(at + 8);
    uint64_t unix_s = fl__server_unix(server, now);
    if (request->seal.expire_s <= unix_s) {
        return FL_SEAL_DROP_EXPIRED;
    }
    uint64_t life_s = server->def.token_life_s;
    if (life_s != 0 && request->seal.expire_s - unix_s > life_s) {
        return FL_SEAL_DROP_LIFE;
    }
    memcpy(request->seal.nonce, at + 16, NONCE_BYTES);
    request->sealed = bytes + FL_SEAL_REQUEST_BYTES - PRIVATE_BYTES;
    request->proof = bytes + FL_SEAL_REQUEST_BYTES - PROOF_BYTES;
    return FL_SEAL_DROP_NONE;
}

static int32_t find_seen(const FlSealServer *server, const Request *request) // -1: none
{
    return fl__map_find(&server->seen_by_proof, fl__map_proof(request->proof));
}

static bool afford(FlSealServer *server, FlTime now, FlAddress from, const Request *request)
{
    int32_t seen = find_seen(server, request);
    bool known = seen >= 0 && fl_address_equal(server->seen[seen].address, from);
    return known ? fl__bucket_take(&server->known, now, server->def.known_s, server->def.burst)
                 : fl__bucket_take(&server->strangers, now, server->def.strangers_s,
                                   server->def.burst);
}

// An invite's tokens have its id at the start of their nonce, and are sealed with its key.
static FlSealDrop open_request(FlSealServer *server, FlTime now, Request *request)
{
    request->invite = fl__invite_find(server, fl__load_u64(request->seal.nonce));
    if (request->invite != NULL &&
        !fl__invite_good(request->invite, fl__server_unix(server, now))) {
        return FL_SEAL_DROP_INVITE;
    }
    server->stats.requests_decrypted++;
    const uint8_t *key = request->invite != NULL ? request->invite->key : server->def.private_key;
    if (!fl__private_open(request->sealed, &request->seal, key)) {
        return FL_SEAL_DROP_KEY;
    }
    if (!fl__private_read(request->sealed, &request->token)) {
        return FL_SEAL_DROP_TOKEN;
    }
    if (request->invite != NULL &&
        !fl__invite_owns(request->invite->id, request->token.client_id)) {
        return FL_SEAL_DROP_TOKEN;
    }
    if (request->invite != NULL && !fl__invite_admits(request->invite, request->token.client_id)) {
        return FL_SEAL_DROP_INVITE;
    }
    return FL_SEAL_DROP_NONE;
}

// Our place in the token's list; -1: it does not name us.
static int32_t place_of(const FlSealServer *server, const PrivateToken *token)
{
    for (int32_t i = 0; i < token->address_count; i++) {
        for (int32_t k = 0; k < server->def.address_count; k++) {
            if (fl_address_equal(token->address[i], server->def.address[k])) {
                return i;
            }
        }
    }
    return -1;
}

// ---------------------------------------------------------------- who is in already

static Slot *slot_at(const FlSealServer *server, FlAddress address)
{
    int32_t index = fl__map_find(&server->slot_by_address, fl__map_address(address));
    return index < 0 ? NULL : &server->slots[index];
}

static Slot *slot_of_client(const FlSealServer *server, uint64_t client_id)
{
    int32_t index = fl__map_find(&server->slot_by_client, fl__map_number(client_id));
    return index < 0 ? NULL : &server->slots[index];
}

// Ours: the same client with a newer token takes the place of its older self. Invites get into
// wrong hands more easily: whoever came with one is not replaced while something comes from it.
#define INVITE_SILENCE FL_SEC(4) // two keep-alives may be lost

static bool may_replace(const FlSealServer *server, FlTime now, const Slot *slot,
                        uint64_t client_id, uint64_t expire_s, uint64_t serial)
{
    bool lively = slot->invite_id != 0 && fl_span(now, slot->received_at) < INVITE_SILENCE;
    return server->def.replace && slot->client_id == client_id && slot->expire_s <= expire_s &&
           slot->serial != serial && !lively;
}

static FlSealDrop check_free(const FlSealServer *server, FlTime now, FlAddress from,
                             uint64_t client_id, uint64_t expire_s, uint64_t serial)
{
    const Slot *there = slot_at(server, from);
    if (there != NULL && !may_replace(server, now, there, client_id, expire_s, serial)) {
        return FL_SEAL_DROP_CONNECTED;
    }
    const Slot *older = slot_of_client(server, client_id);
    if (older != NULL && !may_replace(server, now, older, client_id, expire_s, serial)) {
        return FL_SEAL_DROP_CLIENT;
    }
    return FL_SEAL_DROP_NONE;
}

static bool has_room(const FlSealServer *server, uint64_t client_id)
{
    return server->free_count > 0 || slot_of_client(server, client_id) != NULL; // it will be freed
}

// ---------------------------------------------------------------- tokens seen

static int32_t remember(FlSealServer *server, FlTime now, FlAddress from, const Request *request)
{
    int32_t index = server->seen_next;
    Seen *seen = &server->seen[index];
    server->seen_next = (index + 1) % server->def.token_capacity;
    if (seen->serial != 0) {
        bool early = seen->expire_s > fl__server_unix(server, now);
        server->stats.tokens_forgotten += early ? 1 : 0;
        fl__map_remove(&server->seen_by_proof, index);
    }
    *seen = (Seen){.serial = ++server->serial, .expire_s = request->seal.expire_s, .address = from};
    fl__map_put(&server->seen_by_proof, fl__map_proof(request->proof), index);
    return index;
}

// `index` is the token's place in the history, or -1.
static FlSealDrop check_token(const FlSealServer *server, FlAddress from, int32_t index)
{
    if (index < 0) {
        return FL_SEAL_DROP_NONE;
    }
    const Seen *seen = &server->seen[index];
    if (!fl_address_equal(seen->address, from)) {
        return FL_SEAL_DROP_REUSED;
    }
    return seen->spent && server->def.spend ? FL_SEAL_DROP_SPENT : FL_SEAL_DROP_NONE;
}

// ---------------------------------------------------------------- answers

static void deny(FlSealServer *server, FlAddress to, const uint8_t *key)
{
    Note *note = fl__server_note(server);
    if (note == NULL) {
        return; // it will ask again
    }
    *note = (Note){.kind = KIND_DENIED, .left = 1, .to = to, .sequence = server->global_sequence++};
    memcpy(note->key, key, FL_SEAL_KEY_BYTES);
    server->stats.denials++;
}

static void queue_challenge(FlSealServer *server, int32_t index)
{
    Pending *pending = &server->pendings[index];
    pending->due = true;
    if (!pending->queued) {
        pending->queued = true;
        Ring *ring = &server->challenge_ring;
        FL_ASSERT(ring->count < ring->capacity);
        server->challenge_queue[(ring->first + ring->count++) % ring->capacity] = index;
    }
}

static void give_challenge(FlSealServer *server, Pending *pending, FlSealed *out)
{
    Challenge challenge = {.client_id = pending->client_id};
    memcpy(challenge.user_data, pending->user_data, FL_SEAL_USER_BYTES);
    uint8_t body[8 + CHALLENGE_BYTES];
    uint64_t sequence = server->challenge_sequence++;
    fl__store_u64(body, sequence);
    fl__challenge_seal(&challenge, sequence, server->challenge_key, body + 8);
    out->to = pending->address;
    out->count = fl__packet_control(server->def.protocol_id, pending->to_client_key, KIND_CHALLENGE,
                                    server->global_sequence++, 0, body, sizeof body, server->packet,
                                    &out->bytes);
    pending->due = false;
    server->stats.challenges++;
}

bool fl__challenge_next(FlSealServer *server, FlSealed *out)
{
    Ring *ring = &server->challenge_ring;
    while (ring->count > 0) {
        Pending *pending = &server->pendings[server->challenge_queue[ring->first]];
        ring->first = (ring->first + 1) % ring->capacity;
        ring->count--;
        pending->queued = false;
        if (pending->used && pending->due) {
            give_challenge(server, pending, out);
            return true;
        }
    }
    return false;
}

// ---------------------------------------------------------------- handshakes

static void count_pending(FlSealServer *server, uint64_t invite_id, int32_t by)
{
    ServerInvite *invite = fl__invite_find(server, invite_id);
    if (invite != NULL) {
        invite->pending_count += by;
    }
}

// False: the invite's share of handshakes is busy. The request of a handshake that is under way
// takes nothing more.
static bool invite_has_share(const FlSealServer *server, FlAddress from, const Request *request,
                             uint64_t serial)
{
    const ServerInvite *invite = request->invite;
    if (invite == NULL) {
        return true;
    }
    int32_t index = fl__map_find(&server->pending_by_address, fl__map_address(from));
    if (index >= 0 && server->pendings[index].invite_id == invite->id) {
        return server->pendings[index].serial == serial;
    }
    uint32_t half = (uint32_t)(server->def.pending_capacity + 1) / 2;
    uint32_t open = invite->uses_left > 0 ? invite->uses_left : 1; // whoever comes back
    uint32_t share = open < half ? open : half;
    return (uint32_t)invite->pending_count < share;
}

void fl__pending_remove(FlSealServer *server, int32_t index)
{
    Pending *pending = &server->pendings[index];
    bool queued = pending->queued;
    count_pending(server, pending->invite_id, -1);
    fl__map_remove(&server->pending_by_address, index);
    sodium_memzero(pending, sizeof *pending);
    pending->queued = queued; // its place in the queue stays until its turn
    server->free_pendings[server->free_pending_count++] = index;
}

static int32_t pending_seconds(const Request *request)
{
    int32_t seconds = request->token.timeout_s;
    if (request->invite == NULL) {
        return seconds;
    }
    if (seconds < 0 || seconds > INVITE_PENDING_MOST_S) {
        return INVITE_PENDING_MOST_S;
    }
    return seconds < INVITE_PENDING_LEAST_S ? INVITE_PENDING_LEAST_S : seconds;
}

static void fill_pending(FlSealServer *server, Pending *pending, FlTime now, FlAddress from,
                         const Request *request, int32_t seen)
{
    bool queued = pending->queued;
    if (pending->used) {
        count_pending(server, pending->invite_id, -1);
    }
    const PrivateToken *token = &request->token;
    uint64_t left_s = request->seal.expire_s - fl__server_unix(server, now);
    FlTime end = left_s < 3600 ? fl_time_add(now, FL_SEC((int64_t)left_s)) : now + FL_SEC(3600);
    FlTime silence = fl__silent_at(now, pending_seconds(request));
    *pending = (Pending){
        .used = true,
        .queued = queued,
        .token = seen,
        .serial = server->seen[seen].serial,
        .address = from,
        .client_id = token->client_id,
        .invite_id = request->invite != NULL ? request->invite->id : 0,
        .expire_s = request->seal.expire_s,
        .timeout_s = token->timeout_s,
        .place = place_of(server, token),
        .until = fl_time_min(silence, end),
        .challenge_from = server->challenge_sequence,
    };
    count_pending(server, pending->invite_id, 1);
    memcpy(pending->to_server_key, token->to_server_key, FL_SEAL_KEY_BYTES);
    memcpy(pending->to_client_key, token->to_client_key, FL_SEAL_KEY_BYTES);
    memcpy(pending->user_data, token->user_data, FL_SEAL_USER_BYTES);
}

static FlSealDrop add_pending(FlSealServer *server, FlTime now, FlAddress from,
                              const Request *request, int32_t seen)
{
    MapKey key = fl__map_address(from);
    int32_t index = fl__map_find(&server->pending_by_address, key);
    if (index < 0) {
        if (server->free_pending_count == 0) {
            return FL_SEAL_DROP_CROWDED;
        }
        index = server->free_pendings[--server->free_pending_count];
        fl__map_put(&server->pending_by_address, key, index);
        fill_pending(server, &server->pendings[index], now, from, request, seen);
    } else if (server->pendings[index].serial !=
               server->seen[seen].serial) { // another token: begin anew
        fill_pending(server, &server->pendings[index], now, from, request, seen);
    }
    fl__server_wake(server, server->pendings[index].until);
    queue_challenge(server, index);
    return FL_SEAL_DROP_NONE;
}

static FlSealDrop admit(FlSealServer *server, FlTime now, FlAddress from, const Request *request)
{
    const PrivateToken *token = &request->token;
    if (place_of(server, token) < 0) {
        return FL_SEAL_DROP_ADDRESS;
    }
    int32_t seen = find_seen(server, request);
    uint64_t serial = seen >= 0 ? server->seen[seen].serial : 0;
    FlSealDrop drop =
        check_free(server, now, from, token->client_id, request->seal.expire_s, serial);
    if (drop != FL_SEAL_DROP_NONE) {
        return drop;
    }
    drop = check_token(server, from, seen);
    if (drop != FL_SEAL_DROP_NONE) {
        return drop;
    }
    if (!invite_has_share(server, from, request, serial)) {
        return FL_SEAL_DROP_CROWDED;
    }
    bool room = has_room(server, token->client_id);
    if (seen < 0 && (room || request->invite == NULL)) {
        seen = remember(server, now, from, request);
    }
    if (!room) {
        deny(server, from, token->to_client_key);
        return FL_SEAL_DROP_FULL;
    }
    return add_pending(server, now, from, request, seen);
}

FlSealDrop fl__request_take(FlSealServer *server, FlTime now, FlAddress from, uint8_t *bytes,
                            int32_t count)
{
    server->stats.requests++;
    Request request;
    FlSealDrop drop = parse_request(server, now, bytes, count, &request);
    if (drop != FL_SEAL_DROP_NONE) {
        return drop;
    }
    if (!afford(server, now, from, &request)) {
        return FL_SEAL_DROP_RATE;
    }
    drop = open_request(server, now, &request);
    if (drop == FL_SEAL_DROP_NONE) {
        drop = admit(server, now, from, &request);
    }
    sodium_memzero(&request.token, sizeof request.token);
    sodium_memzero(request.sealed, PRIVATE_BYTES); // it was opened in the datagram
    return drop;
}

// ---------------------------------------------------------------- the response

static FlSealDrop accept(FlSealServer *server, FlTime now, int32_t index)
{
    Pending *pending = &server->pendings[index];
    FlSealDrop drop = check_free(server, now, pending->address, pending->client_id,
                                 pending->expire_s, pending->serial);
    if (drop != FL_SEAL_DROP_NONE) {
        return drop;
    }
    ServerInvite *invite = fl__invite_find(server, pending->invite_id);
    if (pending->invite_id != 0 &&
        (invite == NULL || !fl__invite_good(invite, fl__server_unix(server, now)) ||
         !fl__invite_admits(invite, pending->client_id))) {
        return FL_SEAL_DROP_INVITE;
    }
    if (!has_room(server, pending->client_id)) {
        deny(server, pending->address, pending->to_client_key);
        return FL_SEAL_DROP_FULL;
    }
    Slot *older = slot_of_client(server, pending->client_id);
    if (older != NULL) {
        fl__slot_close(server, older, FL_SEAL_GONE_REPLACED);
    }
    if (invite != NULL) {
        fl__invite_spend(invite, pending->client_id);
    }
    fl__slot_open(server, now, pending);
    fl__pending_remove(server, index);
    return FL_SEAL_DROP_NONE;
}

FlSealDrop fl__response_take(FlSealServer *server, FlTime now, FlAddress from, const Packet *packet)
{
    int32_t index = fl__map_find(&server->pending_by_address, fl__map_address(from));
    if (index < 0) {
        // The keep-alive that answered it was lost; another one comes by itself.
        return slot_at(server, from) != NULL ? FL_SEAL_DROP_CONNECTED : FL_SEAL_DROP_STRANGER;
    }
    Pending *pending = &server->pendings[index];
    if (now >= pending->until) {
        return FL_SEAL_DROP_STRANGER; // too late; the next sweep removes it
    }
    if (!fl__packet_open(server->def.protocol_id, pending->to_server_key, packet)) {
        return FL_SEAL_DROP_TAMPERED;
    }
    // An answer to a challenge of an earlier handshake proves nothing about who is there now: it
    // may have been recorded. The standard is silent here; who follows it answers what it was
    // asked.
    Challenge challenge;
    uint64_t sequence = fl__load_u64(packet->body);
    if (sequence < pending->challenge_from ||
        !fl__challenge_open(packet->body + 8, sequence, server->challenge_key, &challenge) ||
        challenge.client_id != pending->client_id) {
        return FL_SEAL_DROP_CHALLENGE;
    }
    pending->floor = packet->sequence;
    return accept(server, now, index);
}
