// The keys of a pair: the two agree on them, the host that introduced them cannot know them.
//
// Each end draws an X25519 key for this introduction alone and sends the public half in a HELLO,
// sealed with a key that only the host and the two introduced know. From the shared secret, the
// introduction's key, everything that both have said and the root of the keys before (zeros at
// first) comes a root, and from that all other keys:
//
//   introduction key ─kdf─▶ 1 hello to server, 2 hello to client, 3 hints (4 bytes to server, 4 to
//                           client)
//   root = BLAKE2b-256 keyed with the introduction key, of: root before, X25519 secret, protocol
//          id, client's id, server's id (8 bytes each), client's public key, server's public key
//   root ─kdf─▶ 4 to server, 5 to client, 6 the client's proof, 7 the server's proof, 8 binding
//
// A proof in a HELLO shows that its sender has the same root. Whoever has the introduction's key
// but was not in the middle of the HELLOs knows none of it, also later: secrets are wiped as soon
// as they have served. The root before is mixed in, so that a renewal can only add: who lies while
// renewing must know the old keys as well. Reasons: docs/decisions/0022.
#include "private.h"

#include <string.h>

enum {
    HELLO_TO_SERVER = 1,
    HELLO_TO_CLIENT,
    HINTS,
    TO_SERVER,
    TO_CLIENT,
    PROOF_CLIENT,
    PROOF_SERVER,
    BINDING
};

static void derive(uint8_t *key, size_t bytes, uint64_t id, const uint8_t from[FL_SEAL_KEY_BYTES])
{
    (void)crypto_kdf_derive_from_key(key, bytes, id, "fairlead", from); // fails for no size of ours
}

static bool is_client(const FlSealIntroduction *m)
{
    return m->own_id < m->peer_id;
}

void fl__agreement_begin(Agreement *a, const FlSealIntroduction *m, const FlSealRandom *random)
{
    bool client = is_client(m);
    uint8_t hints[16];
    sodium_memzero(a, sizeof *a);
    a->open = true;
    memcpy(a->introduction_key, m->key, sizeof a->introduction_key);
    derive(a->hello_out, FL_SEAL_KEY_BYTES, client ? HELLO_TO_SERVER : HELLO_TO_CLIENT, m->key);
    derive(a->hello_in, FL_SEAL_KEY_BYTES, client ? HELLO_TO_CLIENT : HELLO_TO_SERVER, m->key);
    derive(hints, sizeof hints, HINTS, m->key);
    a->hint_out = fl__load_u32(hints + (client ? 0 : 4));
    a->hint_in = fl__load_u32(hints + (client ? 4 : 0));
    fl__random_fill(random, a->secret, sizeof a->secret);
    (void)crypto_scalarmult_base(a->own_public, a->secret);
}

static void mix_root(Agreement *a, const FlSealIntroduction *m,
                     const uint8_t before[FL_SEAL_KEY_BYTES],
                     const uint8_t shared[FL_SEAL_KEY_BYTES])
{
    bool client = is_client(m);
    uint8_t ids[24];
    fl__store_u64(ids, m->protocol_id);
    fl__store_u64(ids + 8, client ? m->own_id : m->peer_id);
    fl__store_u64(ids + 16, client ? m->peer_id : m->own_id);
    crypto_generichash_state hash;
    crypto_generichash_init(&hash, a->introduction_key, FL_SEAL_KEY_BYTES, FL_SEAL_KEY_BYTES);
    crypto_generichash_update(&hash, before, FL_SEAL_KEY_BYTES);
    crypto_generichash_update(&hash, shared, FL_SEAL_KEY_BYTES);
    crypto_generichash_update(&hash, ids, sizeof ids);
    crypto_generichash_update(&hash, client ? a->own_public : a->peer_public, FL_SEAL_KEY_BYTES);
    crypto_generichash_update(&hash, client ? a->peer_public : a->own_public, FL_SEAL_KEY_BYTES);
    crypto_generichash_final(&hash, a->fresh.root, FL_SEAL_KEY_BYTES);
    sodium_memzero(&hash, sizeof hash);
}

bool fl__agreement_meet(Agreement *a, const FlSealIntroduction *m,
                        const uint8_t before[FL_SEAL_KEY_BYTES],
                        const uint8_t peer_public[FL_SEAL_KEY_BYTES])
{
    uint8_t shared[FL_SEAL_KEY_BYTES];
    if (crypto_scalarmult(shared, a->secret, peer_public) != 0) {
        return false; // a point of small order: no secret would come of it
    }
    bool client = is_client(m);
    memcpy(a->peer_public, peer_public, FL_SEAL_KEY_BYTES);
    mix_root(a, m, before, shared);
    const uint8_t *root = a->fresh.root;
    derive(a->fresh.out, FL_SEAL_KEY_BYTES, client ? TO_SERVER : TO_CLIENT, root);
    derive(a->fresh.in, FL_SEAL_KEY_BYTES, client ? TO_CLIENT : TO_SERVER, root);
    derive(a->proof_out, PROOF_BYTES, client ? PROOF_CLIENT : PROOF_SERVER, root);
    derive(a->proof_in, PROOF_BYTES, client ? PROOF_SERVER : PROOF_CLIENT, root);
    a->met = true;
    sodium_memzero(shared, sizeof shared);
    sodium_memzero(a->secret, sizeof a->secret);
    sodium_memzero(a->introduction_key, sizeof a->introduction_key);
    return true;
}

void fl__keys_binding(const PairKeys *keys, uint8_t binding[FL_SEAL_BINDING_BYTES])
{
    derive(binding, FL_SEAL_BINDING_BYTES, BINDING, keys->root);
}
