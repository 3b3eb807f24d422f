// The standard by hand: tokens and packets straight from netcode 1.02's text and libsodium, without
// a line of ours. What it builds our code must take, what our code builds it must read.
//
// Deliberately naive: bytes are appended one by one, in the order in which the text names them.
#ifndef TESTS_UNIT_TEST_SEAL_HAND_H
#define TESTS_UNIT_TEST_SEAL_HAND_H

#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct Hand {
    uint8_t bytes[2048];
    int32_t count;
} Hand;

static inline void hand_number(Hand *h, uint64_t value, int32_t bytes)
{
    for (int32_t i = 0; i < bytes; i++) {
        h->bytes[h->count++] = (uint8_t)(value & 0xff);
        value >>= 8;
    }
}

static inline void hand_bytes(Hand *h, const void *bytes, int32_t count)
{
    memcpy(h->bytes + h->count, bytes, (size_t)count);
    h->count += count;
}

static inline void hand_version(Hand *h)
{
    hand_bytes(h, "NETCODE 1.02", 13);
}

static inline uint64_t hand_get(const uint8_t *bytes, int32_t count)
{
    uint64_t value = 0;
    for (int32_t i = 0; i < count; i++) {
        value |= (uint64_t)bytes[i] << 8 * i;
    }
    return value;
}

/// The 12-byte nonce of a sequence number: four zeros, then eight bytes, lowest first.
static inline void hand_nonce(uint64_t sequence, uint8_t nonce[12])
{
    Hand h = {.count = 0};
    hand_number(&h, 0, 4);
    hand_number(&h, sequence, 8);
    memcpy(nonce, h.bytes, 12);
}

/// An address list of one: a.b.c.d:port.
static inline void hand_address(Hand *h, const uint8_t ip[4], uint16_t port)
{
    hand_number(h, 1, 4);
    hand_number(h, 1, 1);
    hand_bytes(h, ip, 4);
    hand_number(h, port, 2);
}

typedef struct HandToken {
    uint64_t protocol, create, expire, client;
    int32_t timeout;
    uint8_t ip[4];
    uint16_t port;
    uint8_t nonce[24], up[32], down[32], user[256];
} HandToken;

/// The private part: 1008 bytes of text, sealed, and 16 of proof.
static inline void hand_private(const HandToken *t, const uint8_t key[32], uint8_t out[1024])
{
    Hand plain = {.count = 0};
    hand_number(&plain, t->client, 8);
    hand_number(&plain, (uint32_t)t->timeout, 4);
    hand_address(&plain, t->ip, t->port);
    hand_bytes(&plain, t->up, 32);
    hand_bytes(&plain, t->down, 32);
    hand_bytes(&plain, t->user, 256);
    memset(plain.bytes + plain.count, 0, (size_t)(1008 - plain.count));

    Hand covered = {.count = 0};
    hand_version(&covered);
    hand_number(&covered, t->protocol, 8);
    hand_number(&covered, t->expire, 8);
    unsigned long long size = 0;
    crypto_aead_xchacha20poly1305_ietf_encrypt(out, &size, plain.bytes, 1008, covered.bytes,
                                               (unsigned long long)covered.count, NULL, t->nonce,
                                               key);
}

static inline void hand_token(const HandToken *t, const uint8_t key[32], uint8_t out[2048])
{
    uint8_t sealed[1024];
    hand_private(t, key, sealed);
    Hand h = {.count = 0};
    hand_version(&h);
    hand_number(&h, t->protocol, 8);
    hand_number(&h, t->create, 8);
    hand_number(&h, t->expire, 8);
    hand_bytes(&h, t->nonce, 24);
    hand_bytes(&h, sealed, 1024);
    hand_number(&h, (uint32_t)t->timeout, 4);
    hand_address(&h, t->ip, t->port);
    hand_bytes(&h, t->up, 32);
    hand_bytes(&h, t->down, 32);
    memset(out, 0, 2048);
    memcpy(out, h.bytes, (size_t)h.count);
}

static inline int32_t hand_request(const HandToken *t, const uint8_t key[32], uint8_t out[1078])
{
    uint8_t sealed[1024];
    hand_private(t, key, sealed);
    Hand h = {.count = 0};
    hand_number(&h, 0, 1);
    hand_version(&h);
    hand_number(&h, t->protocol, 8);
    hand_number(&h, t->expire, 8);
    hand_bytes(&h, t->nonce, 24);
    hand_bytes(&h, sealed, 1024);
    memcpy(out, h.bytes, (size_t)h.count);
    return h.count;
}

static inline Hand hand_covered(uint64_t protocol, uint8_t prefix)
{
    Hand covered = {.count = 0};
    hand_version(&covered);
    hand_number(&covered, protocol, 8);
    hand_number(&covered, prefix, 1);
    return covered;
}

/// A sealed packet; returns its size.
static inline int32_t hand_packet(uint64_t protocol, const uint8_t key[32], int32_t kind,
                                  uint64_t sequence, const void *body, int32_t count, uint8_t *out)
{
    int32_t length = 1;
    for (uint64_t rest = sequence >> 8; rest != 0; rest >>= 8) {
        length++;
    }
    uint8_t prefix = (uint8_t)(length << 4 | kind);
    Hand head = {.count = 0};
    hand_number(&head, prefix, 1);
    hand_number(&head, sequence, length);
    Hand covered = hand_covered(protocol, prefix);
    uint8_t nonce[12];
    hand_nonce(sequence, nonce);
    memcpy(out, head.bytes, (size_t)head.count);
    unsigned long long size = 0;
    crypto_aead_chacha20poly1305_ietf_encrypt(out + head.count, &size, body,
                                              (unsigned long long)count, covered.bytes,
                                              (unsigned long long)covered.count, NULL, nonce, key);
    return head.count + (int32_t)size;
}

typedef struct HandOpened {
    bool genuine;
    int32_t kind;
    uint64_t sequence;
    uint8_t body[1300];
    int32_t count;
} HandOpened;

static inline HandOpened hand_open(uint64_t protocol, const uint8_t key[32], const uint8_t *bytes,
                                   int32_t count)
{
    HandOpened opened = {.kind = bytes[0] & 15};
    int32_t length = bytes[0] >> 4;
    opened.sequence = hand_get(bytes + 1, length);
    Hand covered = hand_covered(protocol, bytes[0]);
    uint8_t nonce[12];
    hand_nonce(opened.sequence, nonce);
    unsigned long long size = 0;
    opened.genuine =
        crypto_aead_chacha20poly1305_ietf_decrypt(
            opened.body, &size, NULL, bytes + 1 + length, (unsigned long long)(count - 1 - length),
            covered.bytes, (unsigned long long)covered.count, nonce, key) == 0;
    opened.count = (int32_t)size;
    return opened;
}

/// A challenge token under a key of the test's own.
static inline void hand_challenge(uint64_t client, const uint8_t user[256], uint64_t sequence,
                                  const uint8_t key[32], uint8_t out[300])
{
    Hand plain = {.count = 0};
    hand_number(&plain, client, 8);
    hand_bytes(&plain, user, 256);
    memset(plain.bytes + plain.count, 0, (size_t)(284 - plain.count));
    uint8_t nonce[12];
    hand_nonce(sequence, nonce);
    unsigned long long size = 0;
    crypto_aead_chacha20poly1305_ietf_encrypt(out, &size, plain.bytes, 284, NULL, 0, NULL, nonce,
                                              key);
}

#endif
