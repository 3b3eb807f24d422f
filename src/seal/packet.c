// Packets: everything after the request is sealed.                spec/WIRE.md section 9.3
//
//   bytes  field       valid
//   1      prefix      low 4 bits: kind; high 4 bits: bytes of the sequence number, 1 to 8
//   1..8   sequence    little-endian, high zero bytes left out
//   4      slot        MOVE, ANSWER and HELLO only (ours): whose it is, in clear
//   n      body        by kind; sealed
//   16     proof       of the body, the version, the protocol id and the prefix
//
// ChaCha20-Poly1305 as in RFC 8439. The nonce is four zero bytes and the sequence number,
// little-endian, so a number must never be used twice with one key. What the proof covers besides
// the body: "NETCODE 1.02" with its zero, the protocol id, the prefix.
#include "private.h"

#include <string.h>

const uint8_t fl__version[VERSION_BYTES] = "NETCODE 1.02";

// ---------------------------------------------------------------- times and numbers

void fl__nonce(uint64_t sequence, uint8_t nonce[12])
{
    memset(nonce, 0, 4);
    fl__store_u64(nonce + 4, sequence);
}

bool fl__silent_for(FlTime now, FlTime since, int32_t seconds)
{
    return seconds >= 0 && fl_span(now, since) >= FL_SEC(seconds);
}

FlTime fl__silent_at(FlTime since, int32_t seconds)
{
    return seconds < 0 ? FL_FOREVER : fl_time_add(since, FL_SEC(seconds));
}

FlResult fl__sequence_take(uint64_t *next, uint64_t last, uint64_t sequence)
{
    if (sequence < *next) {
        return FL_OUT_OF_ORDER;
    }
    if (sequence > last) {
        return FL_FULL;
    }
    *next = sequence + 1;
    return FL_OK;
}

// ---------------------------------------------------------------- sealing

#define COVERED_BYTES (VERSION_BYTES + 8 + 1)

static void write_covered(uint64_t protocol_id, uint8_t prefix, uint8_t covered[COVERED_BYTES])
{
    memcpy(covered, fl__version, VERSION_BYTES);
    fl__store_u64(covered + VERSION_BYTES, protocol_id);
    covered[VERSION_BYTES + 8] = prefix;
}

static int32_t sequence_bytes(uint64_t sequence)
{
    int32_t count = 1;
    while (count < 8 && sequence >> 8 * count != 0) {
        count++;
    }
    return count;
}

static bool has_hint(Kind kind)
{
    return kind == KIND_MOVE || kind == KIND_ANSWER || kind == KIND_HELLO;
}

int32_t fl__packet_size(Kind kind, uint64_t sequence, int32_t body_bytes)
{
    int32_t hint = has_hint(kind) ? HINT_BYTES : 0;
    return 1 + sequence_bytes(sequence) + hint + body_bytes + FL_SEAL_TAIL_BYTES;
}

// Seals the body where it lies; returns the prefix.
static uint8_t seal_body(uint64_t protocol_id, const uint8_t *key, Kind kind, uint64_t sequence,
                         uint8_t *body, int32_t body_bytes)
{
    uint8_t prefix = (uint8_t)(sequence_bytes(sequence) << 4 | (int32_t)kind);
    uint8_t covered[COVERED_BYTES];
    uint8_t nonce[12];
    write_covered(protocol_id, prefix, covered);
    fl__nonce(sequence, nonce);
    crypto_aead_chacha20poly1305_ietf_encrypt(body, NULL, body, (unsigned long long)body_bytes,
                                              covered, sizeof covered, NULL, nonce, key);
    return prefix;
}

static uint8_t *write_head(uint8_t *end, uint8_t prefix, uint64_t sequence)
{
    int32_t count = prefix >> 4;
    uint8_t *start = end - count - 1;
    start[0] = prefix;
    for (int32_t i = 0; i < count; i++) {
        start[1 + i] = (uint8_t)(sequence >> 8 * i);
    }
    return start;
}

int32_t fl__packet_seal(uint64_t protocol_id, const uint8_t *key, Kind kind, uint64_t sequence,
                        uint8_t *body, int32_t body_bytes, uint8_t **start)
{
    uint8_t prefix = seal_body(protocol_id, key, kind, sequence, body, body_bytes);
    *start = write_head(body, prefix, sequence);
    return (int32_t)(body - *start) + body_bytes + FL_SEAL_TAIL_BYTES;
}

FlResult fl__payload_seal(const PayloadWay *way, uint64_t *next, uint64_t sequence, uint8_t *buffer,
                          int32_t payload_bytes, FlSealed *out)
{
    if (payload_bytes < 1 || payload_bytes > FL_SEAL_PAYLOAD_BYTES) {
        return FL_BAD_VALUE;
    }
    FlResult taken = fl__sequence_take(next, way->last, sequence);
    if (taken != FL_OK) {
        return taken;
    }
    uint8_t *start;
    out->count = fl__packet_seal(way->protocol_id, way->key, KIND_PAYLOAD, sequence,
                                 buffer + FL_SEAL_HEAD_BYTES, payload_bytes, &start);
    out->bytes = start;
    out->to = way->to;
    return FL_OK;
}

int32_t fl__packet_control(uint64_t protocol_id, const uint8_t *key, Kind kind, uint64_t sequence,
                           uint32_t hint, const void *body, int32_t body_bytes, uint8_t *buffer,
                           const uint8_t **start)
{
    FL_ASSERT(body_bytes <= 8 + CHALLENGE_BYTES);
    uint8_t *sealed = buffer + FL_SEAL_HEAD_BYTES + HINT_BYTES;
    if (body_bytes > 0) {
        memcpy(sealed, body, (size_t)body_bytes);
    }
    uint8_t prefix = seal_body(protocol_id, key, kind, sequence, sealed, body_bytes);
    uint8_t *head_end = sealed;
    if (has_hint(kind)) {
        head_end = sealed - HINT_BYTES;
        fl__store_u32(head_end, hint);
    }
    *start = write_head(head_end, prefix, sequence);
    return (int32_t)(sealed - *start) + body_bytes + FL_SEAL_TAIL_BYTES;
}

// ---------------------------------------------------------------- opening

// Sizes of bodies by kind.
static const struct {
    int32_t low, high;
} body_size[KINDS] = {
    [KIND_DENIED] = {0, 0},
    [KIND_CHALLENGE] = {8 + CHALLENGE_BYTES, 8 + CHALLENGE_BYTES},
    [KIND_RESPONSE] = {8 + CHALLENGE_BYTES, 8 + CHALLENGE_BYTES},
    [KIND_KEEP_ALIVE] = {8, 8},
    [KIND_PAYLOAD] = {1, FL_SEAL_PAYLOAD_BYTES},
    [KIND_DISCONNECT] = {0, 0},
    [KIND_MOVE] = {MOVE_BYTES, MOVE_BYTES},
    [KIND_PATH] = {PATH_BYTES, PATH_BYTES},
    [KIND_ANSWER] = {PATH_BYTES, PATH_BYTES},
    [KIND_HELLO] = {HELLO_BYTES, HELLO_BYTES},
};

// The standard's tests, in the standard's order.
FlSealDrop fl__packet_parse(uint8_t *bytes, int32_t count, uint32_t kinds, Packet *packet)
{
    if (count < 1 + 1 + FL_SEAL_TAIL_BYTES) {
        return FL_SEAL_DROP_SHORT;
    }
    packet->prefix = bytes[0];
    uint32_t kind = packet->prefix & 0x0fu;
    if (kind >= KINDS || (KIND_BIT(kind) & kinds) == 0) {
        return FL_SEAL_DROP_KIND;
    }
    packet->kind = (Kind)kind;
    int32_t number_bytes = packet->prefix >> 4;
    if (number_bytes < 1 || number_bytes > 8) {
        return FL_SEAL_DROP_SEQUENCE;
    }
    int32_t head = 1 + number_bytes + (has_hint(packet->kind) ? HINT_BYTES : 0);
    packet->body_bytes = count - head - FL_SEAL_TAIL_BYTES;
    if (packet->body_bytes < body_size[kind].low) {
        return FL_SEAL_DROP_SHORT;
    }
    if (packet->body_bytes > body_size[kind].high) {
        return FL_SEAL_DROP_LARGE;
    }
    packet->body = bytes + head;
    packet->sequence = 0;
    for (int32_t i = number_bytes; i > 0; i--) {
        packet->sequence = packet->sequence << 8 | bytes[i];
    }
    packet->hint = has_hint(packet->kind) ? fl__load_u32(bytes + 1 + number_bytes) : 0;
    return FL_SEAL_DROP_NONE;
}

// Verified first, deciphered then: a datagram that is not this key's stays as it is, for another to
// try. (libsodium's own decryption in place would clear it.)
bool fl__packet_open(uint64_t protocol_id, const uint8_t *key, const Packet *packet)
{
    uint8_t covered[COVERED_BYTES];
    uint8_t nonce[12];
    write_covered(protocol_id, packet->prefix, covered);
    fl__nonce(packet->sequence, nonce);
    unsigned long long body_bytes = (unsigned long long)packet->body_bytes;
    if (crypto_aead_chacha20poly1305_ietf_decrypt_detached(
            NULL, NULL, packet->body, body_bytes, packet->body + packet->body_bytes, covered,
            sizeof covered, nonce, key) != 0) {
        return false;
    }
    const uint32_t first_block = 1; // block 0 keys the proof: RFC 8439, section 2.8
    crypto_stream_chacha20_ietf_xor_ic(packet->body, packet->body, body_bytes, nonce, first_block,
                                       key);
    return true;
}
