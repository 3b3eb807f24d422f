// Connect tokens: who is admitted where, until when, with which keys.
//
// The public part is the client's; the private part is sealed with a key that only the backend and
// its servers have, and travels through the client unread.              spec/WIRE.md section 9.1
//
//   bytes  field            the private part, 1024 bytes
//   8      client id
//   4      timeout          seconds, two's complement; negative: never
//   4      address count    1..32
//   7, 19  address          per address: type 1: 4 bytes, port; type 2: 8 groups of 2 bytes, port
//   32     key to server
//   32     key to client
//   256    user data
//          zero up to 1008
//   16     proof
//
//   bytes  field            the token, 2048 bytes
//   13     version          "NETCODE 1.02" and a zero byte
//   8      protocol id
//   8      create           Unix time, seconds
//   8      expire
//   24     nonce            random
//   1024   private part     sealed: XChaCha20-Poly1305; the proof covers version, protocol, expire
//   4      timeout
//   4      address count
//   7, 19  address
//   32     key to server
//   32     key to client
//          zero up to 2048
#include "private.h"

#include <inttypes.h>

#include "wire/wire.h"

#include <string.h>

#define PRIVATE_PLAIN (PRIVATE_BYTES - PROOF_BYTES)
#define OPEN_BYTES (VERSION_BYTES + 8 + 8 + 8) // of the token, before its nonce
#define COVERED_BYTES (VERSION_BYTES + 8 + 8)

// ---------------------------------------------------------------- addresses

enum { TYPE_IPV4 = 1, TYPE_IPV6 = 2 };

bool fl__address_writable(FlAddress address)
{
    bool known = address.family == FL_FAMILY_IPV4 || address.family == FL_FAMILY_IPV6;
    return known && address.port != 0 && address.scope == 0;
}

void fl__address_write(FlWriter *w, FlAddress address)
{
    if (address.family == FL_FAMILY_IPV4) {
        fl_writer_put(w, TYPE_IPV4, 8);
        fl_writer_bytes(w, address.ip, 4);
    } else {
        fl_writer_put(w, TYPE_IPV6, 8);
        for (int32_t i = 0; i < 16; i += 2) { // groups are numbers here, so little-endian
            fl_writer_put(w, (uint64_t)address.ip[i] << 8 | address.ip[i + 1], 16);
        }
    }
    fl_writer_put(w, address.port, 16);
}

FlAddress fl__address_read(FlReader *r)
{
    FlAddress address = {0};
    uint64_t type = fl_reader_take(r, 8);
    if (type == TYPE_IPV4) {
        address.family = FL_FAMILY_IPV4;
        for (int32_t i = 0; i < 4; i++) {
            address.ip[i] = (uint8_t)fl_reader_take(r, 8);
        }
    } else if (type == TYPE_IPV6) {
        address.family = FL_FAMILY_IPV6;
        for (int32_t i = 0; i < 16; i += 2) {
            uint64_t group = fl_reader_take(r, 16);
            address.ip[i] = (uint8_t)(group >> 8);
            address.ip[i + 1] = (uint8_t)group;
        }
    } else {
        fl__reader_fail(r);
    }
    address.port = (uint16_t)fl_reader_take(r, 16);
    return address;
}

static void write_addresses(FlWriter *w, const FlAddress *address, int32_t count)
{
    fl_writer_put(w, (uint64_t)count, 32);
    for (int32_t i = 0; i < count; i++) {
        fl__address_write(w, address[i]);
    }
}

static int32_t read_addresses(FlReader *r, FlAddress *address)
{
    uint64_t count = fl_reader_take(r, 32);
    if (count < 1 || count > FL_SEAL_ADDRESSES) {
        fl__reader_fail(r);
        return 0;
    }
    for (uint64_t i = 0; i < count; i++) {
        address[i] = fl__address_read(r);
    }
    return (int32_t)count;
}

static void read_bytes(FlReader *r, uint8_t *to, int32_t count)
{
    const uint8_t *bytes = fl_reader_bytes(r, count);
    if (bytes != NULL) {
        memcpy(to, bytes, (size_t)count);
    }
}

static void read_zeros(FlReader *r)
{
    while (fl_reader_left(r) > 0 && !r->failed) {
        if (fl_reader_take(r, 8) != 0) {
            fl__reader_fail(r);
        }
    }
}

// ---------------------------------------------------------------- the private part

void fl__private_write(const PrivateToken *token, uint8_t bytes[PRIVATE_BYTES])
{
    memset(bytes, 0, PRIVATE_BYTES);
    FlWriter w;
    fl_writer_init(&w, bytes, PRIVATE_PLAIN);
    fl_writer_put(&w, token->client_id, 64);
    fl_writer_put(&w, (uint32_t)token->timeout_s, 32);
    write_addresses(&w, token->address, token->address_count);
    fl_writer_bytes(&w, token->to_server_key, FL_SEAL_KEY_BYTES);
    fl_writer_bytes(&w, token->to_client_key, FL_SEAL_KEY_BYTES);
    fl_writer_bytes(&w, token->user_data, FL_SEAL_USER_BYTES);
    FL_ASSERT(!w.failed);
}

bool fl__private_read(const uint8_t bytes[PRIVATE_BYTES], PrivateToken *token)
{
    memset(token, 0, sizeof *token);
    FlReader r;
    fl_reader_init(&r, bytes, PRIVATE_PLAIN);
    token->client_id = fl_reader_take(&r, 64);
    token->timeout_s = (int32_t)(uint32_t)fl_reader_take(&r, 32);
    token->address_count = read_addresses(&r, token->address);
    read_bytes(&r, token->to_server_key, FL_SEAL_KEY_BYTES);
    read_bytes(&r, token->to_client_key, FL_SEAL_KEY_BYTES);
    read_bytes(&r, token->user_data, FL_SEAL_USER_BYTES);
    return !r.failed; // what pads a genuine token is its backend's business
}

static void write_covered(const TokenSeal *seal, uint8_t covered[COVERED_BYTES])
{
    memcpy(covered, fl__version, VERSION_BYTES);
    fl__store_u64(covered + VERSION_BYTES, seal->protocol_id);
    fl__store_u64(covered + VERSION_BYTES + 8, seal->expire_s);
}

void fl__private_seal(uint8_t bytes[PRIVATE_BYTES], const TokenSeal *seal,
                      const uint8_t key[FL_SEAL_KEY_BYTES])
{
    uint8_t covered[COVERED_BYTES];
    write_covered(seal, covered);
    crypto_aead_xchacha20poly1305_ietf_encrypt(bytes, NULL, bytes, PRIVATE_PLAIN, covered,
                                               sizeof covered, NULL, seal->nonce, key);
}

bool fl__private_open(uint8_t bytes[PRIVATE_BYTES], const TokenSeal *seal,
                      const uint8_t key[FL_SEAL_KEY_BYTES])
{
    uint8_t covered[COVERED_BYTES];
    write_covered(seal, covered);
    return crypto_aead_xchacha20poly1305_ietf_decrypt(bytes, NULL, NULL, bytes, PRIVATE_BYTES,
                                                      covered, sizeof covered, seal->nonce,
                                                      key) == 0;
}

// ---------------------------------------------------------------- the token

FlResult fl_seal_token_def_problem(const FlSealTokenDef *def, FlError *error)
{
    fl__error_clear(error);
    if (!fl__whole_in(error, "address_count", def->address_count, 1, FL_SEAL_ADDRESSES)) {
        return error->code;
    }
    if (def->create_s >= def->expire_s) {
        fl__error_set(error, FL_BAD_VALUE,
                      "expire_s is %" PRIu64 ": it must be above create_s, %" PRIu64 ".",
                      def->expire_s, def->create_s);
    } else if (def->timeout_s == 0) {
        fl__error_set(error, FL_BAD_VALUE,
                      "timeout_s is 0: it must be above 0, or negative for never.");
    }
    for (int32_t i = 0; error->code == FL_OK && i < def->address_count; i++) {
        if (!fl__address_writable(def->address[i])) {
            fl__error_set(error, FL_BAD_VALUE,
                          "address[%d] is none a token can carry: it must be IPv4 or IPv6, with a "
                          "port and without a scope.",
                          i);
        }
    }
    return error->code;
}

static void fill_private(const FlSealTokenDef *def, const FlSealRandom *random, PrivateToken *token)
{
    memset(token, 0, sizeof *token);
    token->client_id = def->client_id;
    token->timeout_s = def->timeout_s;
    token->address_count = def->address_count;
    memcpy(token->address, def->address, sizeof token->address);
    memcpy(token->user_data, def->user_data, sizeof token->user_data);
    fl__random_fill(random, token->to_server_key, sizeof token->to_server_key);
    fl__random_fill(random, token->to_client_key, sizeof token->to_client_key);
}

FlResult fl__token_make(const FlSealTokenDef *def, const uint8_t key[FL_SEAL_KEY_BYTES],
                        const uint8_t nonce[NONCE_BYTES], const FlSealRandom *random,
                        uint8_t token[FL_SEAL_TOKEN_BYTES])
{
    memset(token, 0, FL_SEAL_TOKEN_BYTES);
    FlError error;
    if (fl_seal_token_def_problem(def, &error) != FL_OK) {
        return FL_BAD_VALUE;
    }
    PrivateToken inner;
    fill_private(def, random, &inner);
    uint8_t sealed[PRIVATE_BYTES];
    TokenSeal seal = {.protocol_id = def->protocol_id, .expire_s = def->expire_s};
    memcpy(seal.nonce, nonce, NONCE_BYTES);
    fl__private_write(&inner, sealed);
    fl__private_seal(sealed, &seal, key);

    FlWriter w;
    fl_writer_init(&w, token, FL_SEAL_TOKEN_BYTES);
    fl_writer_bytes(&w, fl__version, VERSION_BYTES);
    fl_writer_put(&w, def->protocol_id, 64);
    fl_writer_put(&w, def->create_s, 64);
    fl_writer_put(&w, def->expire_s, 64);
    fl_writer_bytes(&w, nonce, NONCE_BYTES);
    fl_writer_bytes(&w, sealed, PRIVATE_BYTES);
    fl_writer_put(&w, (uint32_t)def->timeout_s, 32);
    write_addresses(&w, def->address, def->address_count);
    fl_writer_bytes(&w, inner.to_server_key, FL_SEAL_KEY_BYTES);
    fl_writer_bytes(&w, inner.to_client_key, FL_SEAL_KEY_BYTES);
    FL_ASSERT(!w.failed);
    sodium_memzero(&inner, sizeof inner);
    return FL_OK;
}

FlResult fl_seal_token_make(const FlSealTokenDef *def, const uint8_t private_key[FL_SEAL_KEY_BYTES],
                            const FlSealRandom *random, uint8_t token[FL_SEAL_TOKEN_BYTES])
{
    if (!fl__sodium_ready()) {
        memset(token, 0, FL_SEAL_TOKEN_BYTES);
        return FL_SYSTEM;
    }
    uint8_t nonce[NONCE_BYTES];
    fl__random_fill(random, nonce, sizeof nonce);
    return fl__token_make(def, private_key, nonce, random, token);
}

FlResult fl__seal_token_read(const uint8_t token[FL_SEAL_TOKEN_BYTES], FlSealToken *out)
{
    memset(out, 0, sizeof *out);
    FlReader r;
    fl_reader_init(&r, token, FL_SEAL_TOKEN_BYTES);
    const uint8_t *version = fl_reader_bytes(&r, VERSION_BYTES);
    bool ours = version != NULL && memcmp(version, fl__version, VERSION_BYTES) == 0;
    out->protocol_id = fl_reader_take(&r, 64);
    out->create_s = fl_reader_take(&r, 64);
    out->expire_s = fl_reader_take(&r, 64);
    (void)fl_reader_bytes(&r, NONCE_BYTES + PRIVATE_BYTES);
    out->timeout_s = (int32_t)(uint32_t)fl_reader_take(&r, 32);
    out->address_count = read_addresses(&r, out->address);
    read_bytes(&r, out->to_server_key, FL_SEAL_KEY_BYTES);
    read_bytes(&r, out->to_client_key, FL_SEAL_KEY_BYTES);
    read_zeros(&r);
    if (!ours || r.failed || out->create_s > out->expire_s) {
        fl_wipe(out, sizeof *out);
        return FL_BAD_VALUE;
    }
    return FL_OK;
}

void fl__request_write(const uint8_t token[FL_SEAL_TOKEN_BYTES],
                       uint8_t request[FL_SEAL_REQUEST_BYTES])
{
    // All of it stands in the token, but for the time of creation.
    request[0] = KIND_REQUEST;
    memcpy(request + 1, token, VERSION_BYTES + 8);
    memcpy(request + 1 + VERSION_BYTES + 8, token + VERSION_BYTES + 16,
           8 + NONCE_BYTES + PRIVATE_BYTES);
    _Static_assert(1 + OPEN_BYTES - 8 + NONCE_BYTES + PRIVATE_BYTES == FL_SEAL_REQUEST_BYTES,
                   "a request is a prefix and the token without its time of creation");
}

// 1024 numbers a second: more than anybody sends to one peer. So whoever starts again with the same
// token and a clock that goes on starts beyond the numbers that were used with these keys before.
// An hour takes 22 bits.
uint64_t fl__first_sequence(uint64_t age_s)
{
    return age_s < FIRST_NUMBERS / 1024 ? age_s * 1024 : FIRST_NUMBERS;
}
