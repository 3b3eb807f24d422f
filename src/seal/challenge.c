// Challenge tokens: how a server proves an address without remembering more than its keys.
//
//   bytes  field       (sealed with the server's own random key)     spec/WIRE.md section 9.2
//   8      client id
//   256    user data
//   20     zero
//   16     proof
//
// The key is drawn when the server is made, so the numbers may start at zero.
#include "private.h"

#include <string.h>

void fl__challenge_seal(const Challenge *challenge, uint64_t sequence,
                        const uint8_t key[FL_SEAL_KEY_BYTES], uint8_t bytes[CHALLENGE_BYTES])
{
    uint8_t nonce[12];
    fl__nonce(sequence, nonce);
    memset(bytes, 0, CHALLENGE_BYTES);
    fl__store_u64(bytes, challenge->client_id);
    memcpy(bytes + 8, challenge->user_data, FL_SEAL_USER_BYTES);
    crypto_aead_chacha20poly1305_ietf_encrypt(bytes, NULL, bytes, CHALLENGE_BYTES - PROOF_BYTES,
                                              NULL, 0, NULL, nonce, key);
}

bool fl__challenge_open(const uint8_t bytes[CHALLENGE_BYTES], uint64_t sequence,
                        const uint8_t key[FL_SEAL_KEY_BYTES], Challenge *challenge)
{
    uint8_t nonce[12];
    uint8_t plain[CHALLENGE_BYTES - PROOF_BYTES];
    fl__nonce(sequence, nonce);
    if (crypto_aead_chacha20poly1305_ietf_decrypt(plain, NULL, NULL, bytes, CHALLENGE_BYTES, NULL,
                                                  0, nonce, key) != 0) {
        return false;
    }
    challenge->client_id = fl__load_u64(plain);
    memcpy(challenge->user_data, plain + 8, FL_SEAL_USER_BYTES);
    return true;
}
